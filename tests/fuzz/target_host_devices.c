/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emulated devices. The first byte is the number of devices. The rest is the
 * value of PEAL_HOST_LINKS, PEAL_HOST_CLOCKS and PEAL_HOST_DISABLE.
 */
#include "fuzz/fuzz.h"

#include <peal/device.h>
#include <peal/errors.h>

#include "runtime/device/host/clock_skew.h"
#include "runtime/device/host/disabled.h"
#include "runtime/device/host/links.h"

static void check_error(int result, const char *variable)
{
	FUZZ_CHECK(result == PEAL_EINVAL);
	FUZZ_CHECK(strstr(peal_last_error()->text, variable));
}

static void check_links(const char *text, int n)
{
	struct peali_link_pair *pairs =
		malloc((size_t)(n * n) * sizeof(*pairs));
	int i, result = peali_links_parse(text, n, pairs);

	if (result)
		check_error(result, "PEAL_HOST_LINKS");
	for (i = 0; !result && i < n * n; i++) {
		FUZZ_CHECK(pairs[i].kind < PEALI_LINK_KINDS);
		FUZZ_CHECK(pairs[i].fault < PEALI_LINK_FAULTS);
		FUZZ_CHECK(peali_link_kind_name(pairs[i].kind));
	}
	free(pairs);
}

static void check_clock(const char *text, int n, int device)
{
	struct peali_clock_skew skew;
	int result = peali_clock_skew_parse(text, n, device, &skew);

	if (result) {
		check_error(result, "PEAL_HOST_CLOCKS");
		return;
	}
	FUZZ_CHECK(skew.ppm >= -500 && skew.ppm <= 500);
	FUZZ_CHECK(skew.ahead_ns / 1000000000 <= 100000000);
	FUZZ_CHECK(skew.ahead_ns / 1000000000 >= -100000000);
}

static void check_disabled(const char *text, int n, int device)
{
	uint32_t set = 0;
	int result = peali_disabled_parse(text, n, device, &set);

	if (result)
		check_error(result, "PEAL_HOST_DISABLE");
	FUZZ_CHECK(!(set & ~(uint32_t)(PEAL_CAN_UNIFIED | PEAL_CAN_ATOMICS |
				       PEAL_CAN_COOPERATIVE)));
}

FUZZ_TARGET(host_devices)
{
	struct fuzz_input in = { data, size };
	int n = 1 + fuzz_u8(&in) % 64;
	char *text = fuzz_text(in.at, in.left);

	check_links(text, n);
	check_clock(text, n, n / 2);
	check_disabled(text, n, n / 2);
	free(text);
	return 0;
}
