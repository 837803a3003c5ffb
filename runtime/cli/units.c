/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text: sizes, durations, rates, ranges. */
#include "runtime/cli/output.h"

#include <math.h>
#include <string.h>

/* Returns the decimals of a number: 0 if three digits stand before them. */
static int decimals_of(double value)
{
	return value < 99.95;
}

const char *peali_bytes_text(uint64_t bytes, char *text, size_t size)
{
	static const char *const units[] = { "B",   "KiB", "MiB", "GiB",
					     "TiB", "PiB", "EiB" };
	double value = (double)bytes;
	int unit = 0;

	for (; value >= 1024; unit++)
		value /= 1024;
	snprintf(text, size, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return text;
}

const char *peali_size_text(uint64_t bytes, char *text, size_t size)
{
	static const char *const units[] = { "B",   "KiB", "MiB", "GiB",
					     "TiB", "PiB", "EiB" };
	int unit = 0;

	for (; bytes && bytes % 1024 == 0; unit++)
		bytes /= 1024;
	snprintf(text, size, "%llu %s", (unsigned long long)bytes, units[unit]);
	return text;
}

const char *peali_duration_text(double ns, char *text, size_t size)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	int unit = 0;

	for (; ns >= 999.5 && unit < 3; unit++)
		ns /= 1000;
	if (!unit && ns >= floor(ns) && ns <= floor(ns))
		snprintf(text, size, "%.0f ns", ns);
	else
		snprintf(text, size, "%.*f %s", decimals_of(ns), ns,
			 units[unit]);
	return text;
}

const char *peali_rate_text(double per_s, const char *unit, char *text,
			    size_t size)
{
	static const char *const prefixes[] = { "", "k", "M", "G", "T" };
	int prefix = 0;

	for (; per_s >= 999.5 && prefix < 4; prefix++)
		per_s /= 1000;
	snprintf(text, size, "%.*f%s%s%s/s", decimals_of(per_s), per_s,
		 prefix || *unit ? " " : "", prefixes[prefix], unit);
	return text;
}

void peali_range_append(char *text, size_t size, const char *between, int first,
			int last)
{
	size_t used = strlen(text);
	char entry[32];

	if (first == last)
		snprintf(entry, sizeof(entry), "%d", first);
	else
		snprintf(entry, sizeof(entry), "%d-%d", first, last);
	if (used + strlen(between) + strlen(entry) < size)
		snprintf(text + used, size - used, "%s%s", used ? between : "",
			 entry);
}
