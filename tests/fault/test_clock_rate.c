/* SPDX-License-Identifier: Apache-2.0 */
/* labels: double */
/*
 * Shows that handlers on AMD devices read ns at each rate of the clock. The
 * double makes the clock fast or slow if the program has another rate.
 */
#include <peal/clock.h>

#include "runtime/harness.h"

/* Leaves the case out on CUDA, where the clock has ns. */
static void need_hip(void)
{
	if (strcmp(getenv("PEAL_BACKENDS"), "hip") != 0)
		test_leave_out("the clock of CUDA devices has ns");
}

/* Checks that bounds of the clock hold after some time of the device. */
static void check_rate(const char *khz)
{
	struct peal_clock first, second;
	uint64_t by_first, by_second, u, v;
	struct peal_runtime *rt;
	struct peal_kernel *k = NULL;

	setenv("PEAL_DOUBLE_CLOCK_KHZ", khz, 1);
	rt = harness_open(1, "");
	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_relay, NULL, &k));
	CHECK_OK(peal_kernel_clock(k, &first));
	EVENTUALLY(!peal_kernel_clock(k, &second) &&
		   second.at - first.at > 100 * MS);
	by_first = peal_clock_to_host(&first, second.at, &u);
	by_second = peal_clock_to_host(&second, second.at, &v);
	/* the second bounds lie within the first ones of a sound clock */
	CHECK(v <= u + 1);
	CHECK(by_first - by_second + u <= 2 * u);
	CHECK_OK(peal_runtime_shutdown(rt));
	unsetenv("PEAL_DOUBLE_CLOCK_KHZ");
}

PEAL_TEST(clock_of_25_mhz_has_ns)
{
	need_hip();
	check_rate("25000");
}

PEAL_TEST(clock_of_100_mhz_has_ns)
{
	need_hip();
	check_rate("100000");
}

/* A tick has no whole number of ns. */
PEAL_TEST(clock_of_27_mhz_has_ns)
{
	need_hip();
	check_rate("27000");
}

PEAL_TEST_MAIN(RUN(clock_of_25_mhz_has_ns); RUN(clock_of_100_mhz_has_ns);
	       RUN(clock_of_27_mhz_has_ns);)
