/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the verdict of the probe for each state of a pair. */
#include <peal/device.h>
#include <peal/topology.h>
#include "machine.h"

static struct peal_runtime *rt;

static struct peal_pair_info ask(int from, int to)
{
	struct peal_pair_info info;

	CHECK_OK(peal_topology_pair(rt, from, to, &info));
	CHECK_EQ(info.from, from);
	CHECK_EQ(info.to, to);
	CHECK(info.reason[0]);
	return info;
}

PEAL_TEST(a_sound_pair_is_ok_and_measured)
{
	struct peal_pair_info info;

	rt = machine_open("2", "0>1:nvlink,1>0:pcie");
	info = ask(0, 1);
	CHECK_EQ(info.verdict, PEAL_VERDICT_OK);
	CHECK_EQ(info.route, PEAL_ROUTE_PEER);
	CHECK_EQ(info.atomics, 1);
	CHECK(machine_is_link(info.kind));
	CHECK(info.latency_ns > 0 && info.latency_ns < 100000000);
	CHECK(info.bandwidth_bytes_per_s > 1000000);
	info = ask(1, 0);
	CHECK_EQ(info.verdict, PEAL_VERDICT_OK);
	CHECK_EQ(info.route, PEAL_ROUTE_PEER);
	CHECK_EQ(info.atomics, 0);
	CHECK(!strcmp(info.kind, "pcie"));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(device_to_itself_is_ok_and_local)
{
	struct peal_pair_info info;

	rt = machine_open("2", "");
	info = ask(1, 1);
	CHECK_EQ(info.verdict, PEAL_VERDICT_OK);
	CHECK_EQ(info.route, PEAL_ROUTE_LOCAL);
	CHECK(!strcmp(info.kind, "self"));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(a_pair_without_access_is_no_access_and_not_measured)
{
	struct peal_pair_info info;

	rt = machine_open("2", "0>1:none");
	info = ask(0, 1);
	CHECK_EQ(info.verdict, PEAL_VERDICT_NO_ACCESS);
	CHECK(info.route != PEAL_ROUTE_PEER);
	CHECK(!strcmp(info.kind, "none"));
	CHECK_EQ(info.bandwidth_bytes_per_s, 0);
	/* the other direction has access, but its credits have none */
	info = ask(1, 0);
	CHECK_EQ(info.verdict, PEAL_VERDICT_OK);
	CHECK(info.route != PEAL_ROUTE_PEER);
	CHECK(info.latency_ns > 0);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(lost_stores_are_never_visible)
{
	struct peal_pair_info info;

	rt = machine_open("2", "0>1:nvlink!lost");
	info = ask(0, 1);
	CHECK_EQ(info.verdict, PEAL_VERDICT_NEVER_VISIBLE);
	CHECK(info.route != PEAL_ROUTE_PEER);
	CHECK_EQ(info.bandwidth_bytes_per_s, 0);
	CHECK_EQ(peal_peer_can_access(rt, 0, 1), 1);
	info = ask(1, 0);
	CHECK_EQ(info.verdict, PEAL_VERDICT_OK);
	CHECK(info.route != PEAL_ROUTE_PEER);
	CHECK(info.latency_ns > 0);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(misplaced_stores_are_wrong_data)
{
	struct peal_pair_info info;
	uint64_t beside;

	rt = machine_open("2", "1>0:pcie!swapped");
	beside = machine_alloc(rt, 0, 1 << 20);
	machine_fill(rt, 0, beside, 1 << 20, 77);
	info = ask(1, 0);
	CHECK_EQ(info.verdict, PEAL_VERDICT_WRONG_DATA);
	CHECK(info.route != PEAL_ROUTE_PEER);
	CHECK_EQ(ask(0, 1).verdict, PEAL_VERDICT_OK);
	/* the margins of the probe's area have protected other memory */
	CHECK(machine_holds(rt, 0, beside, 1 << 20, 77));
	CHECK_OK(peal_memory_free(rt, 0, beside));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(pair_broken_both_ways_fails_both_ways)
{
	rt = machine_open("2", "0>1:nvlink!lost,1>0:nvlink!swapped");
	CHECK_EQ(ask(0, 1).verdict, PEAL_VERDICT_NEVER_VISIBLE);
	CHECK_EQ(ask(1, 0).verdict, PEAL_VERDICT_WRONG_DATA);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(probe_off_leaves_verdict_unknown_without_peers)
{
	struct peal_pair_info info;

	rt = machine_open("3", "0-2:none");
	setenv("PEAL_PROBE", "off", 1);
	info = ask(0, 1);
	CHECK_EQ(info.verdict, PEAL_VERDICT_UNKNOWN);
	CHECK(info.route != PEAL_ROUTE_PEER);
	CHECK_EQ(info.latency_ns, 0);
	CHECK_EQ(ask(0, 2).verdict, PEAL_VERDICT_NO_ACCESS);
	CHECK_EQ(ask(1, 1).verdict, PEAL_VERDICT_OK);
	CHECK_OK(peal_runtime_close(rt));
	unsetenv("PEAL_PROBE");
}

PEAL_TEST(probe_releases_memory_and_access)
{
	struct peal_device_info before, after;
	struct peal_peer_capability c;

	rt = machine_open("2", "");
	CHECK_OK(peal_device_info(rt, 1, &before));
	CHECK_OK(peal_peer_capability(rt, 0, 1, &c));
	CHECK_EQ(c.verdict, PEAL_VERDICT_OK);
	CHECK_EQ(c.enabled, 0);
	CHECK_OK(peal_device_info(rt, 1, &after));
	CHECK_EQ(before.memory_used_bytes, after.memory_used_bytes);
	CHECK_EQ(peal_peer_disable(rt, 0, 1, -1), PEAL_EINVAL);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(full_device_returns_enomem_and_is_probed_again)
{
	struct peal_pair_info info;
	uint64_t all;

	HOST_CASE("the size of a heap is set for the host backend");
	machine_forget();
	setenv("PEAL_HOST_MEMORY", "4M", 1);
	rt = machine_open("2", "");
	all = machine_alloc(rt, 1, 4 << 20);
	CHECK_EQ(peal_topology_pair(rt, 0, 1, &info), PEAL_ENOMEM);
	CHECK_OK(peal_memory_free(rt, 1, all));
	CHECK_EQ(ask(0, 1).verdict, PEAL_VERDICT_OK);
	CHECK_OK(peal_runtime_close(rt));
	setenv("PEAL_HOST_MEMORY", "1G", 1);
}

PEAL_TEST(invalid_pair_returns_enodev)
{
	struct peal_pair_info info;

	rt = machine_open("2", "");
	CHECK_EQ(peal_topology_pair(rt, 0, 2, &info), PEAL_ENODEV);
	CHECK_CONTAINS(peal_last_error()->text, "device 2: does not exist (2");
	CHECK_EQ(peal_topology_pair(rt, -1, 0, &info), PEAL_ENODEV);
	CHECK_EQ(peal_topology_pair(NULL, 0, 1, &info), PEAL_EINVAL);
	CHECK_EQ(peal_topology_pair(rt, 0, 1, NULL), PEAL_EINVAL);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(routes_and_verdicts_have_names)
{
	int routes[] = { 0, 1, 2, 4, 8 }, i;

	for (i = 0; i < 5; i++)
		CHECK_EQ(peal_route_parse(
				 peal_route_name((enum peal_route)routes[i])),
			 routes[i]);
	CHECK(!strcmp(peal_route_name(PEAL_ROUTE_MAPPED_HOST), "mapped-host"));
	CHECK_EQ(peal_route_parse("Peer"), PEAL_EINVAL);
	check_error("peal_route_parse", "mapped-host");
	CHECK_EQ(peal_route_parse(""), PEAL_EINVAL);
	CHECK_EQ(peal_route_parse(NULL), PEAL_EINVAL);
	CHECK(!strcmp(peal_verdict_name(PEAL_VERDICT_NEVER_VISIBLE),
		      "never-visible"));
	for (i = -3; i < 300; i++)
		CHECK(peal_verdict_name((enum peal_verdict)i)[0] &&
		      peal_route_name((enum peal_route)i)[0]);
}

PEAL_TEST_MAIN(machine_begin(); RUN(a_sound_pair_is_ok_and_measured);
	       RUN(device_to_itself_is_ok_and_local);
	       RUN(a_pair_without_access_is_no_access_and_not_measured);
	       RUN(lost_stores_are_never_visible);
	       RUN(misplaced_stores_are_wrong_data);
	       RUN(pair_broken_both_ways_fails_both_ways);
	       RUN(probe_off_leaves_verdict_unknown_without_peers);
	       RUN(probe_releases_memory_and_access);
	       RUN(full_device_returns_enomem_and_is_probed_again);
	       RUN(invalid_pair_returns_enodev);
	       RUN(routes_and_verdicts_have_names);)
