/* SPDX-License-Identifier: Apache-2.0 */
#include <peal/topology.h>
#include "p2p/probe.h"
#include "runtime/harness.h"
#include "runtime/runtime.h"

/*
 * Shows the routes that links choose, and that a link does not measure a pair.
 */

static struct peal_runtime *rt;
static struct peal_kernel *kernel[2];

static struct peal_link *link_up(int from, int to)
{
	struct peal_link_options o = { .size = sizeof(o) };

	return harness_link(rt, harness_spawn(kernel[from], "echo", 0), 0,
			    harness_spawn(kernel[to], "sink", 0), o);
}

static enum peal_route route_of(struct peal_link *link)
{
	struct peal_link_info info;

	CHECK_OK(peal_link_info(link, &info));
	return info.route;
}

static void begin(const char *links)
{
	struct peal_kernel_options o = { 0 };
	int i;

	rt = harness_open(2, links);
	for (i = 0; i < 2; i++)
		kernel[i] = harness_launch_with(rt, i, o);
}

static void end(void)
{
	struct peal_link *link;
	int i;

	for (i = 0; i < 2; i++)
		CHECK_OK(peal_kernel_stop(kernel[i], MAX_WAIT));
	while (peal_link_list(rt, NULL, 0)) {
		peal_link_list(rt, &link, 1);
		CHECK_OK(peal_link_destroy(link));
	}
	for (i = 0; i < 2; i++)
		CHECK_OK(peal_kernel_destroy(kernel[i]));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(link_needs_no_measurement_before_the_topology)
{
	struct peal_pair_info info;

	begin("0>1:nvlink,1>0:pcie");
	CHECK_EQ(route_of(link_up(0, 1)), PEAL_ROUTE_PEER);
	CHECK_OK(peali_probe_verify(rt->peers, 0, 1, &info));
	CHECK_EQ(info.verdict, PEAL_VERDICT_OK);
	CHECK_EQ(info.latency_ns, 0);
	CHECK_EQ(info.bandwidth_bytes_per_s, 0);
	/* measured while kernels and the link exist */
	CHECK_OK(peal_topology_pair(rt, 0, 1, &info));
	CHECK_EQ(info.verdict, PEAL_VERDICT_OK);
	CHECK(info.latency_ns > 0);
	CHECK(info.bandwidth_bytes_per_s > 0);
	CHECK_EQ(route_of(link_up(1, 0)), PEAL_ROUTE_PEER);
	CHECK_OK(peali_probe_verify(rt->peers, 1, 0, &info));
	CHECK_EQ(info.latency_ns, 0);
	end();
}

PEAL_TEST(link_over_broken_pair_uses_other_route)
{
	begin("0>1:nvlink!lost");
	CHECK(route_of(link_up(0, 1)) != PEAL_ROUTE_PEER);
	CHECK(route_of(link_up(1, 0)) != PEAL_ROUTE_PEER);
	end();
}

PEAL_TEST_MAIN(RUN(link_needs_no_measurement_before_the_topology);
	       RUN(link_over_broken_pair_uses_other_route);)
