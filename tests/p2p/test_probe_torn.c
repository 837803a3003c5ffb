/* SPDX-License-Identifier: Apache-2.0 */
#include <peal/topology.h>
#include "p2p/probe.h"
#include "runtime/harness.h"
#include "runtime/runtime.h"

/*
 * Shows the verdict of a pair that tears stores of 16 bytes. Shows the policies
 * of links over such a pair.
 */

PEAL_DECLARE_PROGRAM(torn_stores);

#define ATOM16 (1u << PEAL_POLICY_ATOM16)
#define ATOM8 (1u << PEAL_POLICY_ATOM8)
#define MESSAGES 400
#define BURST 8

static struct peal_runtime *rt;
static struct peali_backend_ops by_atoms;

static void forget(void)
{
	char command[160];

	snprintf(command, sizeof(command), "rm -f '%s/probe.json'",
		 harness_cache);
	CHECK(!system(command));
}

static struct peal_pair_info ask(int from, int to)
{
	struct peal_pair_info info;

	CHECK_OK(peali_probe_verify(rt->peers, from, to, &info));
	return info;
}

static uint32_t known(void)
{
	struct peal_device_info info;

	CHECK_OK(peal_device_info(rt, 0, &info));
	return info.policies;
}

static enum peal_slot_policy atom16(struct peali_backend *backend)
{
	(void)backend;
	return PEAL_POLICY_ATOM16;
}

/* Opens a runtime. Its emulated devices prefer atoms of 16 bytes, as CUDA. */
static void begin(const char *links)
{
	rt = harness_open(2, links);
	forget();
	if (test_on_gpu())
		return;
	by_atoms = peali_host_backend;
	by_atoms.default_policy = atom16;
	rt->devices.device[0].backend->ops = &by_atoms;
}

/* ---- verdicts ------------------------------------------------------------ */

PEAL_TEST(pair_with_torn_stores_is_ok_without_atom16)
{
	struct peal_pair_info info;

	begin("0>1:nvlink!torn");
	info = ask(0, 1);
	CHECK_EQ(info.verdict, PEAL_VERDICT_OK);
	CHECK_EQ(info.policies, known() & ~ATOM16);
	/* a program for CUDA knows no other policy */
	CHECK_EQ(info.route == PEAL_ROUTE_PEER, info.policies != 0);
	if (known() & ATOM16)
		CHECK_CONTAINS(info.reason, "16-byte stores arrive torn");
	info = ask(1, 0);
	CHECK_EQ(info.verdict, PEAL_VERDICT_OK);
	CHECK_EQ(info.policies, known());
	CHECK_EQ(info.route, PEAL_ROUTE_PEER);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(sound_pair_carries_all_policies)
{
	begin("0>1:nvlink,1>0:none");
	CHECK_EQ(ask(0, 1).policies, known());
	CHECK_EQ(ask(0, 0).policies, known());
	CHECK_EQ(ask(1, 0).policies, 0);
	CHECK_OK(peal_runtime_close(rt));
	begin("0>1:nvlink!lost,1>0:pcie!swapped");
	CHECK_EQ(ask(0, 1).policies, 0);
	CHECK_EQ(ask(1, 0).policies, 0);
	CHECK_OK(peal_runtime_close(rt));
}

/* Messages that change places are wrong in two slots. */
PEAL_TEST(wrong_messages_are_at_most_all_messages)
{
	unsigned long long wrong = 1, all = 0;
	struct peal_pair_info info;

	begin("0>1:nvlink!swapped");
	info = ask(0, 1);
	CHECK_EQ(info.verdict, PEAL_VERDICT_WRONG_DATA);
	CHECK_EQ(sscanf(info.reason, "wrong data in %llu of %llu", &wrong,
			&all),
		 2);
	CHECK(wrong <= all);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(both_directions_with_torn_stores_are_ok)
{
	begin("0-1:nvlink!torn");
	CHECK_EQ(ask(0, 1).verdict, PEAL_VERDICT_OK);
	CHECK_EQ(ask(0, 1).policies, known() & ~ATOM16);
	CHECK_EQ(ask(1, 0).verdict, PEAL_VERDICT_OK);
	CHECK_EQ(ask(1, 0).policies, known() & ~ATOM16);
	CHECK_OK(peal_runtime_close(rt));
}

/* The way back has no access, so the probe verifies one direction. */
PEAL_TEST(one_direction_with_torn_stores_is_ok)
{
	begin("0>1:nvlink!torn,1>0:none");
	CHECK_EQ(ask(0, 1).verdict, PEAL_VERDICT_OK);
	CHECK_EQ(ask(0, 1).policies, known() & ~ATOM16);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(torn_stores_are_known_to_the_next_process)
{
	struct peal_pair_info info;
	int i;

	begin("0>1:nvlink!torn");
	ask(0, 1);
	CHECK_OK(peal_runtime_close(rt));
	for (i = 0; i < 2; i++) {
		rt = harness_open(2, "0>1:nvlink!torn");
		CHECK_OK(peal_topology_pair(rt, 0, 1, &info));
		CHECK_EQ(info.cached, 1);
		CHECK_EQ(info.policies, known() & ~ATOM16);
		CHECK_EQ(ask(1, 0).policies, known());
		CHECK_OK(peal_runtime_close(rt));
	}
}

/* ---- links --------------------------------------------------------------- */

/** Messages by an actor on device 0, a link, and an actor on device 1. */
struct route {
	struct peal_kernel *kernel[2];
	struct peal_endpoint *endpoint;
	uint64_t actor[2];
};

static void lay(struct route *r)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .drain_when_inputs_end = 1 };

	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_torn_stores, &o,
				    &r->kernel[0]));
	r->kernel[1] = harness_launch(rt, 1);
	r->endpoint = harness_endpoint(rt);
	r->actor[0] = harness_spawn(r->kernel[0], "echo", 0);
	r->actor[1] = harness_spawn(r->kernel[1], "echo", 0);
	harness_from(rt, r->endpoint, 0, r->actor[0],
		     (struct peal_link_options){ 0 });
	harness_to(rt, r->actor[1], r->endpoint,
		   (struct peal_link_options){ 0 });
}

/*
 * Sends messages along the route, some at a time so that the reader is awake.
 * Returns how many arrive changed.
 */
static uint32_t count_changed(struct route *r)
{
	struct relay_message m;
	struct peal_received got;
	uint32_t n = 0, i;

	for (i = 0; i < MESSAGES; i++) {
		if (i % BURST == 0)
			harness_send(r->endpoint, 0, 1, i, BURST);
		CHECK_OK(peal_receive(r->endpoint, &m, sizeof(m), &got,
				      MAX_WAIT));
		n += !harness_intact(&m, sizeof(m), 1, i);
	}
	return n;
}

PEAL_TEST(link_over_torn_stores_has_right_data)
{
	struct peal_link_info info;
	struct route r;

	begin("0>1:nvlink!torn");
	lay(&r);
	info = harness_info(harness_link(rt, r.actor[0], 0, r.actor[1],
					 (struct peal_link_options){ 0 }));
	CHECK_EQ(info.route == PEAL_ROUTE_PEER, (known() & ~ATOM16) != 0);
	if (info.route == PEAL_ROUTE_PEER)
		CHECK_EQ(info.policy, PEAL_POLICY_ATOM8);
	/* host code of the program would tear stores to the host as well */
	if (info.policy == PEAL_POLICY_ATOM8)
		CHECK_EQ(count_changed(&r), 0);
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* The control: without the probe's result the link is broken. */
PEAL_TEST(link_with_atom16_over_torn_stores_has_wrong_data)
{
	struct peal_link_info info;
	struct route r;

	HOST_CASE("the program tears stores of emulated devices");
	begin("0>1:nvlink");
	lay(&r);
	info = harness_info(harness_link(rt, r.actor[0], 0, r.actor[1],
					 (struct peal_link_options){ 0 }));
	CHECK_EQ(info.route, PEAL_ROUTE_PEER);
	CHECK_EQ(info.policy, PEAL_POLICY_ATOM16);
	CHECK(count_changed(&r) > 0);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(link_with_atom16_takes_another_route)
{
	struct peal_link_options o = { .size = sizeof(o),
				       .policy = PEAL_POLICY_ATOM16 };
	struct peal_link_info info;
	struct peal_link *link;
	struct route r;

	begin("0>1:nvlink!torn");
	if (!(known() & ATOM16)) {
		CHECK_OK(peal_runtime_close(rt));
		test_leave_out("the devices have no atoms of 16 bytes");
	}
	lay(&r);
	o.require = PEAL_ROUTE_PEER;
	CHECK_EQ(peal_connect(rt, r.actor[0], 0, r.actor[1], &o, &link),
		 PEAL_ENOPEER);
	CHECK_CONTAINS(peal_last_error()->text, "16-byte stores arrive torn");
	o.require = 0;
	link = harness_link(rt, r.actor[0], 0, r.actor[1], o);
	info = harness_info(link);
	CHECK_EQ(info.route, PEAL_ROUTE_MAPPED_HOST);
	CHECK_CONTAINS(info.route_reason, "16-byte stores arrive torn");
	CHECK_EQ(peal_link_set_route(link, PEAL_ROUTE_PEER, MAX_WAIT),
		 PEAL_ENOPEER);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(link_with_other_policies_takes_the_peer_route)
{
	struct peal_link_options o = { .policy = PEAL_POLICY_ATOM8 };
	struct route r;

	begin("0>1:nvlink!torn");
	if (!(known() & ATOM8)) {
		CHECK_OK(peal_runtime_close(rt));
		test_leave_out("the devices have no atoms of 8 bytes");
	}
	lay(&r);
	CHECK_EQ(harness_info(harness_link(rt, r.actor[0], 0, r.actor[1], o))
			 .route,
		 PEAL_ROUTE_PEER);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST_MAIN(RUN(pair_with_torn_stores_is_ok_without_atom16);
	       RUN(sound_pair_carries_all_policies);
	       RUN(wrong_messages_are_at_most_all_messages);
	       RUN(both_directions_with_torn_stores_are_ok);
	       RUN(one_direction_with_torn_stores_is_ok);
	       RUN(torn_stores_are_known_to_the_next_process);
	       RUN(link_over_torn_stores_has_right_data);
	       RUN(link_with_atom16_over_torn_stores_has_wrong_data);
	       RUN(link_with_atom16_takes_another_route);
	       RUN(link_with_other_policies_takes_the_peer_route);)
