/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device/host/clock_skew.h"

#include <string.h>

#include "runtime/base/error.h"

#define SECONDS_MAX 100000000LL /* three years */
#define PPM_MAX 500

/*
 * Reads a number of at most `most`, with an optional minus sign. Returns 1 and
 * skips the number, or 0.
 */
static int read_number(const char **at, int64_t most, int64_t *out)
{
	const char *begin = *at + (**at == '-'), *p = begin;
	int64_t value = 0;

	for (; *p >= '0' && *p <= '9' && value <= most; p++)
		value = value * 10 + (*p - '0');
	if (p == begin || value > most)
		return 0;
	*out = **at == '-' ? -value : value;
	*at = p;
	return 1;
}

static int refuse(const char *text, const char *at, const char *allowed)
{
	return peali_fail(PEAL_EINVAL, "settings",
			  "PEAL_HOST_CLOCKS, column %d: '%.*s': %s",
			  (int)(at - text) + 1, (int)strcspn(at, ","), at,
			  allowed);
}

int peali_clock_skew_parse(const char *text, int n_devices, int device,
			   struct peali_clock_skew *out)
{
	const char *at = text;
	int64_t number, seconds, ppm;

	memset(out, 0, sizeof(*out));
	while (*at) {
		ppm = 0;
		if (*at == '-' || !read_number(&at, n_devices - 1, &number))
			return refuse(text, at,
				      "expected a device, as in 0:7200:50; "
				      "PEAL_HOST_DEVICES sets how many there "
				      "are, numbered from 0");
		if (*at++ != ':' || !read_number(&at, SECONDS_MAX, &seconds))
			return refuse(text, at - 1,
				      "expected :SECONDS behind a device, at "
				      "most 100000000 ahead or behind");
		if (*at == ':' && (at++, !read_number(&at, PPM_MAX, &ppm)))
			return refuse(text, at,
				      "expected the drift in millionths, "
				      "from -500 to 500");
		if (*at && *at != ',')
			return refuse(text, at, "expected a comma");
		at += *at == ',';
		if (number == device) {
			out->ahead_ns = seconds * 1000000000;
			out->ppm = (int32_t)ppm;
		}
	}
	return 0;
}
