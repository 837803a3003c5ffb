/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows the end of links: a kernel at one end stops, or the link is destroyed.
 * The receiver still gets all queued messages. Messages that the sender emits
 * later are dead or dropped.
 */
#include "runtime/harness.h"

/* endpoint -> first -> second -> endpoint, on two devices. */
struct chain {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *first, *second;
	uint64_t a, b;
	struct peal_link *in, *link, *out;
};

static void open_chain(struct chain *c, uint32_t route)
{
	struct peal_link_options o = { .capacity = 64 };

	c->rt = harness_open(2, "");
	c->e = harness_endpoint(c->rt);
	c->first = harness_launch(c->rt, 0);
	c->second = harness_launch(c->rt, 1);
	c->a = harness_spawn(c->first, "echo", 0);
	c->b = harness_spawn(c->second, "echo", 0);
	c->in = harness_from(c->rt, c->e, 0, c->a, o);
	c->out = harness_to(c->rt, c->b, c->e, o);
	o.require = route;
	c->link = harness_link(c->rt, c->a, 0, c->b, o);
}

static int receive_result(struct chain *c)
{
	struct peal_received r;
	char buffer[64];

	return peal_receive(c->e, buffer, sizeof(buffer), &r, MAX_WAIT);
}

PEAL_TEST(receiver_gets_all_messages_of_stopped_sender)
{
	static const uint32_t routes[] = { PEAL_ROUTE_PEER, PEAL_ROUTE_STAGED };
	struct chain c;
	int i;

	for (i = 0; i < 2; i++) {
		open_chain(&c, routes[i]);
		CHECK_OK(peal_kernel_suspend(c.second, MAX_WAIT));
		harness_send(c.e, 0, 1, 0, 40);
		EVENTUALLY(harness_info(c.link).accepted == 40);
		CHECK_OK(peal_kernel_stop(c.first, MAX_WAIT));
		identity_sleep_us(50000);
		CHECK_EQ(harness_info(c.link).queued, 40);
		CHECK_OK(peal_kernel_resume(c.second));
		harness_receive(c.e, 1, 0, 40);
		/* the second kernel has no input left, so it ends in order */
		CHECK_EQ(receive_result(&c), PEAL_EEND);
		CHECK_OK(peal_kernel_wait(c.second, MAX_WAIT));
		harness_delivered(c.link, 40);
		harness_conserved(c.rt);
		CHECK_OK(peal_runtime_shutdown(c.rt));
	}
}

PEAL_TEST(endpoint_gets_all_messages_then_estopped)
{
	struct chain c;

	open_chain(&c, 0);
	harness_send(c.e, 0, 1, 0, 30);
	EVENTUALLY(harness_info(c.out).accepted == 30);
	CHECK_OK(peal_kernel_stop(c.second, MAX_WAIT));
	harness_receive(c.e, 1, 0, 30);
	CHECK_FAILS(receive_result(&c), PEAL_ESTOPPED, "stopped before");
	harness_delivered(c.out, 30);
	harness_conserved(c.rt);
	CHECK_OK(peal_runtime_shutdown(c.rt));
}

PEAL_TEST(messages_to_stopped_receiver_count_as_closed)
{
	struct peal_link_info info;
	struct chain c;

	open_chain(&c, 0);
	harness_send(c.e, 0, 1, 0, 10);
	harness_receive(c.e, 1, 0, 10);
	CHECK_OK(peal_kernel_stop(c.second, MAX_WAIT));
	/* many times more than fit */
	harness_send(c.e, 0, 1, 10, 1000);
	CHECK_OK(peal_send_end(c.e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(c.first, MAX_WAIT));
	harness_delivered(c.in, 1010);
	info = harness_info(c.link);
	CHECK(harness_holds(&info));
	CHECK_EQ(info.accepted, 1010);
	CHECK_EQ(info.delivered, 10);
	CHECK_EQ(info.queued, 0);
	CHECK(info.dead[PEAL_REASON_CLOSED] > 900);
	CHECK_EQ(info.dead[PEAL_REASON_CLOSED] + info.dead[PEAL_REASON_STOPPED],
		 1000);
	CHECK_EQ(info.undelivered, info.dead[PEAL_REASON_STOPPED]);
	CHECK_EQ(info.undelivered_first, 10);
	harness_conserved(c.rt);
	CHECK_OK(peal_runtime_shutdown(c.rt));
}

PEAL_TEST(port_of_destroyed_link_drops_messages)
{
	struct peal_link_options o = { .capacity = 64 };
	struct peal_link_info info;
	struct peal_link *other;
	struct chain c;
	uint64_t sink;

	open_chain(&c, 0);
	harness_send(c.e, 0, 1, 0, 5);
	harness_receive(c.e, 1, 0, 5);
	sink = harness_spawn(c.second, "sink", 0);
	/* keeps the second kernel from ending */
	harness_from(c.rt, c.e, 2, sink, o);
	CHECK_OK(peal_link_destroy(c.link));
	/* this link may get the memory of the destroyed link */
	other = harness_from(c.rt, c.e, 1, sink, o);
	harness_send(c.e, 0, 1, 5, 20);
	EVENTUALLY(harness_info(c.in).queued == 0);
	info = harness_info(other);
	CHECK_EQ(info.accepted, 0);
	CHECK_EQ(harness_dead(&info), 0);
	c.link = harness_link(c.rt, c.a, 0, c.b, o); /* the port is free */
	harness_send(c.e, 0, 1, 25, 5);
	harness_receive(c.e, 1, 25, 5);
	harness_delivered(c.link, 5);
	harness_conserved(c.rt);
	CHECK_OK(peal_runtime_shutdown(c.rt));
}

PEAL_TEST(destroyed_link_ends_the_receivers_input)
{
	struct chain c;

	open_chain(&c, 0);
	harness_send(c.e, 0, 1, 0, 5);
	harness_receive(c.e, 1, 0, 5);
	CHECK_OK(peal_link_destroy(c.link));
	CHECK_EQ(receive_result(&c), PEAL_EEND);
	CHECK_OK(peal_kernel_wait(c.second, MAX_WAIT));
	harness_conserved(c.rt);
	CHECK_OK(peal_runtime_shutdown(c.rt));
}

PEAL_TEST(self_link_needs_a_slot_for_the_current_message)
{
	struct peal_link_options o = { .size = sizeof(o),
				       .capacity = RELAY_BURST };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = harness_launch(rt, 0);
	uint64_t actor = harness_spawn(k, "burst", 0);

	CHECK_FAILS(peal_connect(rt, actor, 1, actor, &o, NULL), PEAL_EINVAL,
		    "'capacity': is too small for a sender that emits up to 17 "
		    "messages at a time (16, allowed 32..1048576)");
	o.capacity = 2 * RELAY_BURST;
	CHECK_OK(peal_connect(rt, actor, 1, actor, &o, NULL));
	CHECK_OK(peal_runtime_shutdown(rt));
}

struct stream {
	struct peal_endpoint *e;
	_Atomic int result, sent;
};

static void *send_until_refused(void *argument)
{
	struct stream *s = argument;
	struct relay_message m;
	uint64_t i = 0;
	int result;

	do {
		harness_fill(&m, sizeof(m), 1, i);
		result = peal_send(s->e, 0, (uint16_t)i, &m, sizeof(m), -1,
				   NULL);
		i += !result;
		atomic_store(&s->sent, (int)i);
	} while (!result);
	atomic_store(&s->result, result);
	return NULL;
}

PEAL_TEST(receiver_may_stop_while_a_thread_sends)
{
	struct peal_link_options o = { .capacity = 16 };
	struct peal_link_info info;
	struct peal_endpoint *e;
	struct peal_runtime *rt;
	struct peal_kernel *k;
	struct peal_link *link;
	struct stream s;
	pthread_t thread;
	int i;

	rt = harness_open(1, "");
	for (i = 0; i < 20; i++) {
		e = harness_endpoint(rt);
		k = harness_launch(rt, 0);
		link = harness_from(rt, e, 0, harness_spawn(k, "sink", 0), o);
		s.e = e;
		atomic_store(&s.result, 0);
		atomic_store(&s.sent, 0);
		CHECK(!pthread_create(&thread, NULL, send_until_refused, &s));
		EVENTUALLY(atomic_load(&s.sent) > 10 * i);
		CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
		CHECK_FAILS(peal_runtime_close(rt), PEAL_EBUSY, "1 kernel");
		CHECK(!pthread_join(thread, NULL));
		CHECK_EQ(atomic_load(&s.result), PEAL_ESTOPPED);
		info = harness_info(link);
		CHECK(harness_holds(&info));
		CHECK_EQ(info.accepted, (uint64_t)atomic_load(&s.sent));
		CHECK_EQ(info.undelivered_first, info.delivered);
		CHECK_OK(peal_link_destroy(link));
		CHECK_OK(peal_kernel_destroy(k));
		CHECK_OK(peal_endpoint_destroy(e));
	}
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST_MAIN(RUN(receiver_gets_all_messages_of_stopped_sender);
	       RUN(endpoint_gets_all_messages_then_estopped);
	       RUN(messages_to_stopped_receiver_count_as_closed);
	       RUN(port_of_destroyed_link_drops_messages);
	       RUN(destroyed_link_ends_the_receivers_input);
	       RUN(self_link_needs_a_slot_for_the_current_message);
	       RUN(receiver_may_stop_while_a_thread_sends);)
