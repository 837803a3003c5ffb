/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device/host/clock_skew.h"

#include <string.h>

#include "runtime/base/text.h"
#include "runtime/device/host/host.h"

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
	return peali_host_refuse("PEAL_HOST_CLOCKS", text, at, strcspn(at, ","),
				 allowed, "0:7200:50,1:-86400");
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
				      PEALI_PRINT("device 0..%d",
						  n_devices - 1));
		if (*at++ != ':' || !read_number(&at, SECONDS_MAX, &seconds))
			return refuse(text, at - 1,
				      ":SECONDS behind a device, "
				      "-100000000..100000000");
		if (*at == ':' && (at++, !read_number(&at, PPM_MAX, &ppm)))
			return refuse(text, at,
				      "a drift in millionths, -500..500");
		if (*at && *at != ',')
			return refuse(text, at, "a comma");
		at += *at == ',';
		if (number == device) {
			out->ahead_ns = seconds * 1000000000;
			out->ppm = (int32_t)ppm;
		}
	}
	return 0;
}
