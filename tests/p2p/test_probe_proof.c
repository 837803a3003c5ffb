/* SPDX-License-Identifier: Apache-2.0 */
#include <peal/device/host.h>
#include <peal/topology.h>
#include "machine.h"
#include "p2p/probe.h"
#include "runtime/runtime.h"

/*
 * Shows that a link needs only the verdict of the probe. Latency and bandwidth
 * of a confirmed pair are measured on request.
 */

static struct peal_runtime *rt;

static struct peal_pair_info proved(int from, int to)
{
	struct peal_pair_info info;

	CHECK_OK(peali_probe_prove(rt->peers, from, to, &info));
	CHECK_EQ(info.from, from);
	CHECK_EQ(info.to, to);
	CHECK(info.why[0]);
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

PEAL_TEST(a_proof_measures_nothing_and_the_topology_does_later)
{
	struct peal_pair_info info;

	machine_forget();
	rt = machine_open("2", "0>1:nvlink,1>0:pcie");
	info = proved(0, 1);
	CHECK_EQ(info.verdict, PEAL_VERDICT_OK);
	CHECK_EQ(info.route, PEAL_ROUTE_PEER);
	CHECK_EQ(info.cached, 0);
	check_unmeasured(&info);
	CHECK_CONTAINS(info.why, "proved: ");
	info = measured(0, 1);
	CHECK_EQ(info.verdict, PEAL_VERDICT_OK);
	CHECK(info.latency_ns > 0);
	CHECK(info.bandwidth_bytes_per_s > 0);
	/* the other direction is confirmed, but not measured */
	info = proved(1, 0);
	CHECK_EQ(info.route, PEAL_ROUTE_PEER);
	check_unmeasured(&info);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(a_proof_on_disk_is_measured_by_a_later_process)
{
	struct peal_pair_info info, again;

	machine_forget();
	rt = machine_open("2", "");
	proved(0, 1);
	CHECK_OK(peal_runtime_close(rt));
	rt = machine_open("2", "");
	info = proved(0, 1);
	CHECK_EQ(info.cached, 1);
	check_unmeasured(&info);
	info = proved(1, 0);
	CHECK_EQ(info.cached, 1);
	info = measured(0, 1);
	CHECK_EQ(info.verdict, PEAL_VERDICT_OK);
	CHECK_EQ(info.cached, 1);
	CHECK(info.latency_ns > 0);
	CHECK_OK(peal_runtime_close(rt));
	rt = machine_open("2", "");
	again = proved(0, 1);
	CHECK_EQ(again.cached, 1);
	CHECK_EQ(again.latency_ns, info.latency_ns);
	CHECK_EQ(again.bandwidth_bytes_per_s, info.bandwidth_bytes_per_s);
	info = proved(1, 0);
	check_unmeasured(&info);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(a_fresh_proof_does_not_undo_measurements_on_disk)
{
	struct peal_pair_info info;

	machine_forget();
	rt = machine_open("2", "");
	measured(0, 1);
	CHECK_OK(peal_runtime_close(rt));
	setenv("PEAL_PROBE", "fresh", 1);
	rt = machine_open("2", "");
	info = proved(0, 1);
	CHECK_EQ(info.cached, 0);
	CHECK_OK(peal_runtime_close(rt));
	unsetenv("PEAL_PROBE");
	rt = machine_open("2", "");
	CHECK(proved(0, 1).latency_ns > 0);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(runtimes_that_write_at_once_keep_each_others_proofs)
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
		proved(0, i);
		rt = two;
		proved(i, i % 3 + 1);
	}
	CHECK_OK(peal_runtime_close(one));
	CHECK_OK(peal_runtime_close(two));
	rt = machine_open("4", "");
	for (i = 0; i < 16; i++) {
		if (i / 4 != i % 4)
			CHECK_EQ(proved(i / 4, i % 4).cached, 1);
	}
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(what_is_broken_is_broken_for_a_proof_too)
{
	struct peal_pair_info info;

	machine_forget();
	rt = machine_open("3", "0>1:nvlink!lost,2>0:pcie!swapped,1-2:none");
	info = proved(0, 1);
	CHECK_EQ(info.verdict, PEAL_VERDICT_NEVER_VISIBLE);
	CHECK(info.route != PEAL_ROUTE_PEER);
	info = proved(1, 0);
	CHECK_EQ(info.verdict, PEAL_VERDICT_OK);
	CHECK(info.route != PEAL_ROUTE_PEER);
	info = proved(0, 2);
	CHECK_EQ(info.verdict, PEAL_VERDICT_OK);
	CHECK(info.route != PEAL_ROUTE_PEER);
	CHECK_CONTAINS(info.why, "the way back");
	CHECK_EQ(proved(2, 0).verdict, PEAL_VERDICT_WRONG_DATA);
	CHECK_EQ(proved(1, 2).verdict, PEAL_VERDICT_NO_ACCESS);
	CHECK_EQ(proved(1, 1).route, PEAL_ROUTE_LOCAL);
	CHECK_OK(peal_runtime_close(rt));
}

/* At each page of the heap the probe finds the fault. */
PEAL_TEST(stores_that_land_elsewhere_are_wrong_data_at_any_page)
{
	uint64_t before;
	int pages;

	for (pages = 1; pages < 4; pages++) {
		machine_forget();
		rt = machine_open("2", "1>0:pcie!swapped");
		before = machine_alloc(rt, 0, (uint64_t)pages * 4096);
		CHECK_EQ(proved(1, 0).verdict, PEAL_VERDICT_WRONG_DATA);
		CHECK_EQ(proved(0, 1).verdict, PEAL_VERDICT_OK);
		CHECK_OK(peal_memory_free(rt, 0, before));
		CHECK_OK(peal_runtime_close(rt));
	}
}

/* Probes all pairs of n devices. Returns the time in ms. */
static double prove_all(int n, int cached)
{
	uint64_t began = peal_clock_ns();
	struct peal_pair_info info;
	int i;

	for (i = 0; i < n * n; i++) {
		if (i / n == i % n)
			continue;
		info = proved(i / n, i % n);
		CHECK_EQ(info.route, PEAL_ROUTE_PEER);
		CHECK_EQ(info.cached, cached);
		check_unmeasured(&info);
	}
	return (double)(peal_clock_ns() - began) / 1e6;
}

PEAL_TEST(all_pairs_of_sixteen_devices_are_proved_in_one_go)
{
	double ms;

	machine_forget();
	setenv("PEAL_HOST_MEMORY", "16M", 1);
	rt = machine_open("16", "");
	ms = prove_all(16, 0);
	CHECK_OK(peal_runtime_close(rt));
	rt = machine_open("16", "");
	printf("    240 pairs: %.1f ms; from the disk: %.1f ms\n", ms,
	       prove_all(16, 1));
	CHECK_OK(peal_runtime_close(rt));
	setenv("PEAL_HOST_MEMORY", "1G", 1);
}

PEAL_TEST_MAIN(machine_begin();
	       RUN(a_proof_measures_nothing_and_the_topology_does_later);
	       RUN(a_proof_on_disk_is_measured_by_a_later_process);
	       RUN(a_fresh_proof_does_not_undo_measurements_on_disk);
	       RUN(runtimes_that_write_at_once_keep_each_others_proofs);
	       RUN(what_is_broken_is_broken_for_a_proof_too);
	       RUN(stores_that_land_elsewhere_are_wrong_data_at_any_page);
	       RUN(all_pairs_of_sixteen_devices_are_proved_in_one_go);)
