/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that the counters of a link are right while it works, after its end and
 * after its destruction.
 */
#include "runtime/harness.h"

/*
 * After the end of a link its messages are queued, not dead, and the link has
 * no error.
 */
static void ended_link_is_only_queued(const char *links, uint32_t route)
{
	struct peal_link_options any = { .capacity = 64 };
	struct peal_link_options o = { .capacity = 64, .require = route };
	struct peal_runtime *rt = harness_open(2, links);
	struct peal_kernel *a = harness_launch(rt, 0);
	struct peal_kernel *b = harness_launch(rt, 1);
	struct peal_endpoint *e = harness_endpoint(rt);
	uint64_t echo = harness_spawn(a, "echo", -1);
	uint64_t sink = harness_spawn(b, "sink", -1);
	struct peal_link *link = harness_link(rt, echo, 0, sink, o);
	struct peal_link_info info;
	int i;

	harness_from(rt, e, 0, echo, any);
	CHECK_OK(peal_kernel_suspend(b, MAX_WAIT));
	harness_send(e, 0, 1, 0, 20);
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(a, MAX_WAIT));
	/* time for the stager to pass the END mark on */
	for (i = 0; i < 50; i++) {
		info = harness_info(link);
		CHECK(harness_holds(&info));
		CHECK_EQ(info.queued, 20);
		CHECK_EQ(harness_dead(&info), 0);
		CHECK_EQ(info.error, 0);
		identity_sleep_us(1000);
	}
	CHECK_OK(peal_kernel_resume(b));
	CHECK_OK(peal_kernel_wait(b, MAX_WAIT));
	harness_delivered(link, 20);
	CHECK_EQ(harness_info(link).error, 0);
	harness_conserved(rt);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(ended_link_counts_its_messages_as_queued_on_every_route)
{
	ended_link_is_only_queued("", PEAL_ROUTE_PEER);
	ended_link_is_only_queued("", PEAL_ROUTE_MAPPED_HOST);
	ended_link_is_only_queued("0-1:none", PEAL_ROUTE_STAGED);
}

PEAL_TEST(held_message_is_counted_with_its_link)
{
	struct peal_link_options o = { .capacity = 4 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = harness_launch(rt, 0);
	struct peal_endpoint *e = harness_endpoint(rt);
	uint64_t echo = harness_spawn(k, "echo", -1);
	struct peal_link *back = harness_to(rt, echo, e, o);
	struct peal_received r;
	struct peal_link_info info;

	harness_from(rt, e, 0, echo, o);
	harness_send(e, 0, 1, 0, 1);
	CHECK_OK(peal_receive_peek(e, &r, MAX_WAIT));
	CHECK_OK(peal_link_destroy(back));
	back = harness_to(rt, echo, e, o);
	CHECK_EQ(peal_receive_release(e), PEAL_EINVAL);
	/* the new link does not count the held message */
	info = harness_info(back);
	CHECK_EQ(info.delivered, 0);
	harness_send(e, 0, 1, 1, 1);
	harness_receive(e, 1, 1, 1);
	harness_delivered(back, 1);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(end_drops_the_reserved_message)
{
	struct peal_link_options o = { .capacity = 4 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = harness_launch(rt, 0);
	struct peal_endpoint *e = harness_endpoint(rt);
	uint64_t sink = harness_spawn(k, "sink", -1);
	struct peal_link *link = harness_from(rt, e, 0, sink, o);
	void *place = NULL;

	harness_send(e, 0, 1, 0, 1);
	CHECK_OK(peal_send_reserve(e, 0, 24, 0, &place));
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	CHECK_EQ(peal_send_commit(e, 0, 0), PEAL_EINVAL);
	CHECK_OK(peal_kernel_wait(k, MAX_WAIT));
	harness_delivered(link, 1);
	CHECK_OK(peal_runtime_shutdown(rt));
}

/*
 * Each round needs RELAY_BURST free slots and uses RELAY_BURST - 3 of them. The
 * sender gets all slots back only if an idle receiver returns its credit.
 */
PEAL_TEST(idle_receiver_returns_its_credit)
{
	struct peal_link_options tight = { .capacity = RELAY_BURST };
	struct peal_link_options wide = { .capacity = 4 * RELAY_BURST };
	struct peal_runtime *rt = harness_open(2, "");
	struct peal_kernel *a = harness_launch(rt, 0);
	struct peal_kernel *b = harness_launch(rt, 1);
	struct peal_endpoint *e = harness_endpoint(rt);
	uint64_t burst = harness_spawn(a, "burst", -1);
	uint64_t sink = harness_spawn(b, "sink", -1);
	struct peal_link *link = harness_link(rt, burst, 0, sink, tight);
	struct relay_order order = { 1, 0 };
	int i;

	harness_link(rt, burst, 1, burst, wide);
	harness_from(rt, e, 0, burst, wide);
	for (i = 0; i < 10; i++) {
		order.count += RELAY_BURST - 3;
		CHECK_OK(peal_send(e, 0, 0, &order, sizeof(order), MAX_WAIT,
				   NULL));
		EVENTUALLY(harness_info(link).delivered == order.count);
	}
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(drain_names_the_unconnected_port)
{
	struct peal_link_options o = { .capacity = 4 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = harness_launch(rt, 0);
	struct peal_endpoint *e = harness_endpoint(rt);
	uint64_t echo = harness_spawn(k, "echo", -1);
	struct peal_worker_info info;

	harness_from(rt, e, 0, echo, o);
	harness_send(e, 0, 1, 0, 1);
	EVENTUALLY(!peal_worker_info(k, 0, &info) && info.blocked_port == 0);
	CHECK_EQ(info.blocked_actor, 0);
	CHECK_FAILS(peal_kernel_drain(k, 100 * MS), PEAL_ETIMEDOUT,
		    "actor 0: its port 0 is not connected");
	harness_to(rt, echo, e, o);
	harness_receive(e, 1, 0, 1);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST_MAIN(RUN(ended_link_counts_its_messages_as_queued_on_every_route);
	       RUN(held_message_is_counted_with_its_link);
	       RUN(end_drops_the_reserved_message);
	       RUN(idle_receiver_returns_its_credit);
	       RUN(drain_names_the_unconnected_port);)
