/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows the probe with several threads and devices: it probes each requested
 * pair once, and no other pair.
 */
#include <pthread.h>

#include <peal/device/impl/base/host_support.h>
#include <peal/topology.h>
#include "machine.h"

static struct peal_runtime *rt;

static void *ask_all(void *argument)
{
	int n = (int)(uintptr_t)argument, from, to;
	struct peal_pair_info info;

	for (from = 0; from < n; from++) {
		for (to = 0; to < n; to++) {
			CHECK_OK(peal_topology_pair(rt, from, to, &info));
			CHECK_EQ(info.verdict, PEAL_VERDICT_OK);
		}
	}
	return NULL;
}

PEAL_TEST(concurrent_queries_get_one_verdict)
{
	pthread_t thread[4];
	struct peal_pair_info a, b;
	int i;

	machine_forget();
	rt = machine_open("3", "");
	for (i = 0; i < 4; i++)
		CHECK(!pthread_create(&thread[i], NULL, ask_all,
				      (void *)(uintptr_t)3));
	for (i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	CHECK_OK(peal_topology_pair(rt, 0, 1, &a));
	CHECK_OK(peal_topology_pair(rt, 0, 1, &b));
	CHECK_EQ(a.latency_ns, b.latency_ns);
	CHECK_EQ(a.cached, 0);
	CHECK_OK(peal_runtime_close(rt));
}

static void *enable_and_disable(void *argument)
{
	int i;

	(void)argument;
	for (i = 0; i < 200; i++) {
		CHECK_OK(peal_peer_enable(rt, 0, 1, -1));
		usleep(100);
		CHECK_OK(peal_peer_disable(rt, 0, 1, -1));
	}
	return NULL;
}

PEAL_TEST(access_may_change_while_pair_is_probed)
{
	struct peal_pair_info info;
	pthread_t thread;

	machine_forget();
	rt = machine_open("2", "");
	CHECK(!pthread_create(&thread, NULL, enable_and_disable, NULL));
	CHECK_OK(peal_topology_pair(rt, 0, 1, &info));
	CHECK_EQ(info.verdict, PEAL_VERDICT_OK);
	pthread_join(thread, NULL);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(only_the_queried_pair_is_probed)
{
	struct peal_pair_info info;
	uint64_t began, spent;

	machine_forget();
	setenv("PEAL_HOST_MEMORY", "16M", 1);
	rt = machine_open("16", "");
	CHECK_OK(peal_topology_pair(rt, 3, 12, &info));
	CHECK_EQ(info.verdict, PEAL_VERDICT_OK);
	CHECK_EQ(info.cached, 0);
	/* the second request finds the result in memory */
	began = peal_clock_ns();
	CHECK_OK(peal_topology_pair(rt, 3, 12, &info));
	CHECK_OK(peal_topology_pair(rt, 12, 12, &info));
	spent = peal_clock_ns() - began;
	CHECK(spent < 1000000000);
	CHECK_OK(peal_runtime_close(rt));
	rt = machine_open("16", "");
	CHECK_OK(peal_topology_pair(rt, 3, 12, &info));
	CHECK_EQ(info.cached, 1);
	CHECK_OK(peal_topology_pair(rt, 3, 13, &info));
	CHECK_EQ(info.cached, 0);
	CHECK_OK(peal_runtime_close(rt));
	setenv("PEAL_HOST_MEMORY", "1G", 1);
}

PEAL_TEST_MAIN(machine_begin(); RUN(concurrent_queries_get_one_verdict);
	       RUN(access_may_change_while_pair_is_probed);
	       RUN(only_the_queried_pair_is_probed);)
