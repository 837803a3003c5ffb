/* SPDX-License-Identifier: Apache-2.0 */
/* labels: fast alone */
/* An idle runtime uses little CPU time: its threads sleep. */
#include "runtime/harness.h"

#include <sys/resource.h>

#define DEVICES 4
/*
 * MOST: CPU time in s per second, without the cost of the sleeps. MOST_SLEEPS:
 * sleeps per second. On some virtual machines one sleep takes 40 us of CPU
 * time. The bench measures exactly.
 */
#define MOST 0.20
#define MOST_SLEEPS 2000
/* Sleeps per second on a driver double. Its threads act as workers of a GPU. No
 * call wakes them, so they poll. */
#define MOST_SLEEPS_UNRUNG 60000

/** CPU use of the process since its start. */
struct use {
	double at; /* monotonic time, s */
	double seconds; /* CPU time, s */
	double sleeps; /* voluntary context switches of all threads */
};

static struct use used_so_far(void)
{
	struct rusage u;
	struct use use;

	CHECK(!getrusage(RUSAGE_SELF, &u));
	use.seconds = (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
		      (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
	use.sleeps = (double)u.ru_nvcsw;
	use.at = (double)harness_now_ns() / 1e9;
	return use;
}

/* Returns the CPU time of a short sleep on this machine, in s. */
static double sleep_seconds(void)
{
	struct use before = used_so_far(), after;
	int i;

	for (i = 0; i < 500; i++)
		identity_sleep_us(100);
	after = used_so_far();
	return (after.seconds - before.seconds) / 500;
}

PEAL_TEST(idle_workers_of_four_devices_sleep)
{
	double each = sleep_seconds(), seconds, sleeps;
	struct peal_runtime *rt = harness_open(DEVICES, "2-3:none");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_link_options none = { .capacity = 0 };
	uint64_t actor[DEVICES];
	struct peal_device_info info;
	struct use before, after;
	int i;

	CHECK_OK(peal_device_info(rt, 0, &info));
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
	identity_sleep_us(200000); /* until all threads sleep */
	before = used_so_far();
	identity_sleep_us(500000);
	after = used_so_far();
	/* per second */
	seconds = (after.seconds - before.seconds) / (after.at - before.at);
	sleeps = (after.sleeps - before.sleeps) / (after.at - before.at);
	printf("    %.1f %% of a core, %.0f sleeps of %.1f us of it\n",
	       seconds * 100, sleeps, each * 1e6);
	CHECK(sleeps < (strcmp(info.backend, "host") ? MOST_SLEEPS_UNRUNG :
						       MOST_SLEEPS));
	CHECK(seconds - 1.5 * sleeps * each <
	      (IDENTITY_SANITIZED ? 2 * MOST : MOST));
	harness_send(e, 0, 1, 50, 10); /* it wakes up */
	harness_receive(e, 1, 50, 10);
	harness_conserved(rt);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST_MAIN(RUN(idle_workers_of_four_devices_sleep);)
