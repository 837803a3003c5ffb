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

/* ---- every counter, on every kind of link -------------------------------- */

#define SLOTS 4
#define SENT 12

/* A link, and the gates that let its receiver take one message at a time. */
struct slow {
	struct peal_runtime *rt;
	struct peal_kernel *from, *to; /* NULL: the host */
	struct peal_endpoint *e;
	struct peal_link *link, *source; /* source: to the sending actor */
	uint64_t holds; /* messages that the link holds */
	uint64_t *words; /* gates of the SENT messages */
};

/* Opens a link from device 0, or the host, to device `to`, or the host. */
static void slow_open(struct slow *s, int devices, const char *pairs, int from,
		      int to, uint32_t route)
{
	struct peal_link_options o = { .capacity = SLOTS, .require = route };
	struct peal_link_options wide = { .capacity = 64 };
	uint64_t sender, receiver;

	memset(s, 0, sizeof(*s));
	s->rt = harness_open(devices, pairs);
	s->words = (uint64_t *)harness_pinned(s->rt, SENT * sizeof(*s->words));
	s->e = harness_endpoint(s->rt);
	s->holds = route == PEAL_ROUTE_STAGED ? 2 * SLOTS : SLOTS;
	sender = receiver = peal_endpoint_address(s->e);
	if (from >= 0) {
		s->from = harness_launch(s->rt, from);
		sender = harness_spawn(s->from, "echo", -1);
		s->source = harness_from(s->rt, s->e, 1, sender, wide);
	}
	if (to >= 0) {
		s->to = harness_launch(s->rt, to);
		receiver = harness_spawn(s->to, "gate", -1);
	}
	s->link = harness_link(s->rt, sender, 0, receiver, o);
}

/* Sends message i. From the host, a full link refuses it several times. */
static int slow_send(struct slow *s, uint64_t i)
{
	struct relay_gate gate = { harness_address(&s->words[i]) };
	int result, tries = 3;

	if (s->from)
		return peal_send(s->e, 1, 0, &gate, sizeof(gate), MAX_WAIT,
				 NULL);
	do
		result = peal_send(s->e, 0, 0, &gate, sizeof(gate), 0, NULL);
	while (result == PEAL_EAGAIN && --tries);
	return result;
}

/* Lets the receiver take message i. */
static void slow_take(struct slow *s, uint64_t i)
{
	struct relay_gate gate;
	struct peal_received r;

	if (s->to)
		peal_store_release_sys(&s->words[i], 1);
	else
		CHECK_OK(peal_receive(s->e, &gate, sizeof(gate), &r, MAX_WAIT));
}

/* Each message beyond the capacity waits once, until the receiver takes one. */
static void slow_stream(struct slow *s)
{
	struct peal_link_info info;
	uint64_t i;
	int result;

	for (i = 0; i < SENT; i++) {
		result = slow_send(s, i);
		if (i >= s->holds) {
			CHECK_EQ(result, s->from ? 0 : PEAL_EAGAIN);
			EVENTUALLY(harness_info(s->link).full_count ==
				   i + 1 - s->holds);
			CHECK_EQ(harness_info(s->link).accepted, i);
			slow_take(s, i - s->holds);
			if (!s->from)
				EVENTUALLY(!slow_send(s, i));
		} else {
			CHECK_OK(result);
		}
		EVENTUALLY((info = harness_info(s->link)).accepted == i + 1 &&
			   (s->holds == SLOTS || i >= SLOTS ||
			    info.staged == i + 1));
	}
	for (i = SENT - s->holds; i < SENT; i++)
		slow_take(s, i);
	EVENTUALLY(harness_info(s->link).delivered == SENT);
}

static void slow_counts(int devices, const char *pairs, int from, int to,
			uint32_t route)
{
	const uint64_t bytes = SENT * sizeof(struct relay_gate);
	struct peal_kernel_info k;
	struct peal_link_info info;
	struct slow s;

	slow_open(&s, devices, pairs, from, to, route);
	slow_stream(&s);
	/* a device may show the bytes later than the messages */
	EVENTUALLY((info = harness_info(s.link)).delivered_bytes == bytes &&
		   info.accepted_bytes == bytes);
	CHECK(harness_holds(&info));
	CHECK(!route || info.route == route);
	CHECK_EQ(info.accepted, SENT);
	CHECK_EQ(info.accepted_bytes, bytes);
	CHECK_EQ(info.queued, 0);
	CHECK_EQ(info.full_count, SENT - s.holds);
	CHECK_EQ(info.staged, route == PEAL_ROUTE_STAGED ? SENT : 0);
	CHECK_EQ(harness_dead(&info) + info.dead_letters_dropped +
			 info.handovers + info.undelivered,
		 0);
	CHECK_EQ(info.undelivered_first, SENT);
	CHECK_EQ(info.error + info.ended, 0);
	if (s.from) {
		CHECK_EQ(harness_info(s.source).full_count, 0);
		EVENTUALLY(!peal_kernel_info(s.from, &k) && k.handled == SENT &&
			   k.emitted == SENT);
		CHECK_EQ(k.failed + k.mailbox_sends + k.inits + k.exits, 0);
	}
	if (s.to) {
		EVENTUALLY(!peal_kernel_info(s.to, &k) && k.handled == SENT);
		CHECK_EQ(k.emitted + k.failed + k.mailbox_sends, 0);
	}
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST(counters_of_links_with_the_host_are_exact)
{
	slow_counts(1, "", -1, 0, 0);
	slow_counts(1, "", 0, -1, 0);
}

PEAL_TEST(counters_of_links_between_devices_are_exact)
{
	slow_counts(1, "", 0, 0, PEAL_ROUTE_LOCAL);
	slow_counts(2, "", 0, 1, PEAL_ROUTE_PEER);
	slow_counts(2, "", 0, 1, PEAL_ROUTE_MAPPED_HOST);
	slow_counts(2, "0-1:none", 0, 1, PEAL_ROUTE_STAGED);
}

/* A link that drops messages as dead is not full. */
PEAL_TEST(lost_dead_letters_count_as_one_wait)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = harness_launch(rt, 0);
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_link_options o = { .size = sizeof(o), .capacity = SLOTS };
	struct peal_link *link =
		harness_from(rt, e, 0, harness_spawn(k, "moody", -1), o);
	struct peal_link *letters;

	CHECK_OK(peal_dead_letter_connect(k, peal_endpoint_address(e), &o));
	letters = harness_letters(rt, k, 0);
	CHECK(letters);
	for (int i = 0; i < SENT; i++)
		CHECK_OK(peal_send(e, 0, 1, "", 0, MAX_WAIT, NULL));
	EVENTUALLY(harness_info(link).dead[PEAL_REASON_HANDLER] == SENT);
	/* the last slot of the link is for a mark */
	EVENTUALLY(harness_info(letters).dead_letters_dropped ==
		   SENT - (SLOTS - 1));
	CHECK_EQ(harness_info(letters).accepted, SLOTS - 1);
	CHECK_EQ(harness_info(letters).full_count, 1);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST_MAIN(RUN(counters_of_links_with_the_host_are_exact);
	       RUN(counters_of_links_between_devices_are_exact);
	       RUN(lost_dead_letters_count_as_one_wait);
	       RUN(ended_link_counts_its_messages_as_queued_on_every_route);
	       RUN(held_message_is_counted_with_its_link);
	       RUN(end_drops_the_reserved_message);
	       RUN(idle_receiver_returns_its_credit);
	       RUN(drain_names_the_unconnected_port);)
