/* SPDX-License-Identifier: Apache-2.0 */
#include <peal/device/impl/base/host_support.h>
#include <peal/topology.h>
#include "machine.h"
#include "p2p/probe.h"
#include "runtime/runtime.h"

/*
 * Shows that a link needs only the verdict of the probe. Latency and bandwidth
 * of a confirmed pair are measured on request.
 */

static struct peal_runtime *rt;

static struct peal_pair_info verified(int from, int to)
{
	struct peal_pair_info info;

	CHECK_OK(peali_probe_verify(rt->peers, from, to, &info));
	CHECK_EQ(info.from, from);
	CHECK_EQ(info.to, to);
	CHECK(info.reason[0]);
	return info;
}

static struct peal_pair_info measured(int from, int to)
{
	struct peal_pair_info info;

	CHECK_OK(peal_topology_pair(rt, from, to, &info));
	return info;
}

static void check_unmeasured(const struct peal_pair_info *info)
{
	CHECK_EQ(info->latency_ns, 0);
	CHECK_EQ(info->bandwidth_bytes_per_s, 0);
}

PEAL_TEST(verification_does_not_measure_but_topology_does)
{
	struct peal_pair_info info;

	machine_forget();
	rt = machine_open("2", "0>1:nvlink,1>0:pcie");
	info = verified(0, 1);
	CHECK_EQ(info.verdict, PEAL_VERDICT_OK);
	CHECK_EQ(info.route, PEAL_ROUTE_PEER);
	CHECK_EQ(info.cached, 0);
	check_unmeasured(&info);
	CHECK_CONTAINS(info.reason, "verified: ");
	info = measured(0, 1);
	CHECK_EQ(info.verdict, PEAL_VERDICT_OK);
	CHECK(info.latency_ns > 0);
	CHECK(info.bandwidth_bytes_per_s > 0);
	/* the other direction is confirmed, but not measured */
	info = verified(1, 0);
	CHECK_EQ(info.route, PEAL_ROUTE_PEER);
	check_unmeasured(&info);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(cached_verification_is_measured_by_next_process)
{
	struct peal_pair_info info, again;

	machine_forget();
	rt = machine_open("2", "");
	verified(0, 1);
	CHECK_OK(peal_runtime_close(rt));
	rt = machine_open("2", "");
	info = verified(0, 1);
	CHECK_EQ(info.cached, 1);
	check_unmeasured(&info);
	info = verified(1, 0);
	CHECK_EQ(info.cached, 1);
	info = measured(0, 1);
	CHECK_EQ(info.verdict, PEAL_VERDICT_OK);
	CHECK_EQ(info.cached, 1);
	CHECK(info.latency_ns > 0);
	CHECK_OK(peal_runtime_close(rt));
	rt = machine_open("2", "");
	again = verified(0, 1);
	CHECK_EQ(again.cached, 1);
	CHECK_EQ(again.latency_ns, info.latency_ns);
	CHECK_EQ(again.bandwidth_bytes_per_s, info.bandwidth_bytes_per_s);
	info = verified(1, 0);
	check_unmeasured(&info);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(fresh_verification_keeps_cached_measurements)
{
	struct peal_pair_info info;

	machine_forget();
	rt = machine_open("2", "");
	measured(0, 1);
	CHECK_OK(peal_runtime_close(rt));
	setenv("PEAL_PROBE", "fresh", 1);
	rt = machine_open("2", "");
	info = verified(0, 1);
	CHECK_EQ(info.cached, 0);
	CHECK_OK(peal_runtime_close(rt));
	unsetenv("PEAL_PROBE");
	rt = machine_open("2", "");
	CHECK(verified(0, 1).latency_ns > 0);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(concurrent_cache_writers_keep_all_results)
{
	struct peal_runtime *one, *two;
	int i;

	HOST_CASE("a process has one runtime for GPUs");
	machine_forget();
	one = machine_open("4", "");
	two = machine_open("4", "");
	/* each runtime saves its first result at once, the others later */
	for (i = 1; i < 4; i++) {
		rt = one;
		verified(0, i);
		rt = two;
		verified(i, i % 3 + 1);
	}
	CHECK_OK(peal_runtime_close(one));
	CHECK_OK(peal_runtime_close(two));
	rt = machine_open("4", "");
	for (i = 0; i < 16; i++) {
		if (i / 4 != i % 4)
			CHECK_EQ(verified(i / 4, i % 4).cached, 1);
	}
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(verification_detects_broken_pairs)
{
	struct peal_pair_info info;

	machine_forget();
	rt = machine_open("3", "0>1:nvlink!lost,2>0:pcie!swapped,1-2:none");
	info = verified(0, 1);
	CHECK_EQ(info.verdict, PEAL_VERDICT_NEVER_VISIBLE);
	CHECK(info.route != PEAL_ROUTE_PEER);
	info = verified(1, 0);
	CHECK_EQ(info.verdict, PEAL_VERDICT_OK);
	CHECK(info.route != PEAL_ROUTE_PEER);
	info = verified(0, 2);
	CHECK_EQ(info.verdict, PEAL_VERDICT_OK);
	CHECK(info.route != PEAL_ROUTE_PEER);
	CHECK_CONTAINS(info.reason, "the path of credits");
	CHECK_EQ(verified(2, 0).verdict, PEAL_VERDICT_WRONG_DATA);
	CHECK_EQ(verified(1, 2).verdict, PEAL_VERDICT_NO_ACCESS);
	CHECK_EQ(verified(1, 1).route, PEAL_ROUTE_LOCAL);
	CHECK_OK(peal_runtime_close(rt));
}

/* At each page of the heap the probe finds the fault. */
PEAL_TEST(misplaced_stores_are_wrong_data_at_any_page)
{
	uint64_t before;
	int pages;

	for (pages = 1; pages < 4; pages++) {
		machine_forget();
		rt = machine_open("2", "1>0:pcie!swapped");
		before = machine_alloc(rt, 0, (uint64_t)pages * 4096);
		CHECK_EQ(verified(1, 0).verdict, PEAL_VERDICT_WRONG_DATA);
		CHECK_EQ(verified(0, 1).verdict, PEAL_VERDICT_OK);
		CHECK_OK(peal_memory_free(rt, 0, before));
		CHECK_OK(peal_runtime_close(rt));
	}
}

/* Probes all pairs of n devices. Returns the time in ms. */
static double verify_all(int n, int cached)
{
	uint64_t began = peal_clock_ns();
	struct peal_pair_info info;
	int i;

	for (i = 0; i < n * n; i++) {
		if (i / n == i % n)
			continue;
		info = verified(i / n, i % n);
		CHECK_EQ(info.route, PEAL_ROUTE_PEER);
		CHECK_EQ(info.cached, cached);
		check_unmeasured(&info);
	}
	return (double)(peal_clock_ns() - began) / 1e6;
}

PEAL_TEST(sixteen_devices_verify_all_pairs_in_one_pass)
{
	double ms;

	machine_forget();
	setenv("PEAL_HOST_MEMORY", "16M", 1);
	rt = machine_open("16", "");
	ms = verify_all(16, 0);
	CHECK_OK(peal_runtime_close(rt));
	rt = machine_open("16", "");
	printf("    240 pairs: %.1f ms; from the disk: %.1f ms\n", ms,
	       verify_all(16, 1));
	CHECK_OK(peal_runtime_close(rt));
	setenv("PEAL_HOST_MEMORY", "1G", 1);
}

PEAL_TEST_MAIN(machine_begin();
	       RUN(verification_does_not_measure_but_topology_does);
	       RUN(cached_verification_is_measured_by_next_process);
	       RUN(fresh_verification_keeps_cached_measurements);
	       RUN(concurrent_cache_writers_keep_all_results);
	       RUN(verification_detects_broken_pairs);
	       RUN(misplaced_stores_are_wrong_data_at_any_page);
	       RUN(sixteen_devices_verify_all_pairs_in_one_pass);)
