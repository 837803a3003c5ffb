/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime that has nothing to do leaves the processor to others. */
#include "runtime/harness.h"

#include <sys/resource.h>

#define DEVICES 4
/* Of a core; the bench measures it properly. */
#define MOST 0.20

static double cpu_seconds(void)
{
	struct rusage u;

	CHECK(!getrusage(RUSAGE_SELF, &u));
	return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

PEAL_TEST(four_silent_devices_use_less_than_a_fifth_of_a_core)
{
	struct peal_runtime *rt = harness_open(DEVICES, "2-3:none");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_link_options none = { .capacity = 0 };
	uint64_t actor[DEVICES];
	double before, used;
	int i;

	for (i = 0; i < DEVICES; i++)
		actor[i] = harness_spawn(harness_launch(rt, i), "echo", 0);
	harness_from(rt, e, 0, actor[0], none);
	for (i = 1; i < DEVICES; i++) {
		none.require = i == 3 ? PEAL_ROUTE_STAGED : 0;
		harness_link(rt, actor[i - 1], 0, actor[i], none);
	}
	none.require = 0;
	harness_to(rt, actor[3], e, none);
	harness_send(e, 0, 1, 0, 50);
	harness_receive(e, 1, 0, 50);
	identity_sleep_us(999999);
	before = cpu_seconds();
	identity_sleep_us(999999);
	used = cpu_seconds() - before;
	printf("    %.1f %% of a core\n", used * 100);
	CHECK(used < (IDENTITY_SANITIZED ? 2 * MOST : MOST));
	harness_send(e, 0, 1, 50, 10); /* and wakes up again */
	harness_receive(e, 1, 50, 10);
	harness_conserved(rt);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST_MAIN(RUN(four_silent_devices_use_less_than_a_fifth_of_a_core);)
