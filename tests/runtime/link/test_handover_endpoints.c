/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links with an endpoint change their route. Each message arrives once and in
 * order, while another thread sends or receives at the endpoint.
 */
#include "runtime/harness.h"

#define CAPACITY 4
#define SWITCHES (IDENTITY_SANITIZED || test_on_gpu() ? 20u : 100u)

static const enum peal_route routes[] = { PEAL_ROUTE_STAGED,
					  PEAL_ROUTE_MAPPED_HOST };

struct fixture {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *kernel;
	uint64_t actor;
	struct peal_link *in, *out; /* to and from the kernel */
	atomic_int stop; /* 1: the other thread ends */
	atomic_ullong sent;
};

/* endpoint -> actor; `echo` also -> endpoint. */
static void begin(struct fixture *s, const char *handler, uint32_t capacity,
		  uint32_t require)
{
	struct peal_link_options o = { .capacity = capacity,
				       .require = require };

	memset(s, 0, sizeof(*s));
	s->rt = harness_open(1, "");
	s->e = harness_endpoint(s->rt);
	s->kernel = harness_launch(s->rt, 0);
	s->actor = harness_spawn(s->kernel, handler, 0);
	s->in = harness_from(s->rt, s->e, 0, s->actor, o);
	if (!strcmp(handler, "echo"))
		s->out = harness_to(s->rt, s->actor, s->e, o);
}

static void end(struct fixture *s, uint64_t n)
{
	struct peal_received r;
	char buffer[64];

	CHECK_OK(peal_send_end(s->e, 0, MAX_WAIT));
	if (s->out)
		CHECK_EQ(peal_receive(s->e, buffer, sizeof(buffer), &r,
				      MAX_WAIT),
			 PEAL_EEND);
	CHECK_OK(peal_kernel_wait(s->kernel, MAX_WAIT));
	harness_delivered(s->in, n);
	if (s->out)
		harness_delivered(s->out, n);
	CHECK_OK(peal_runtime_shutdown(s->rt));
}

/* ---- with another thread ------------------------------------------------- */

static void switch_routes(struct peal_link *link)
{
	struct peal_link_info info = harness_info(link);
	uint64_t before;
	uint32_t i;

	for (i = 0; i < SWITCHES; i++) {
		before = info.delivered;
		CHECK_OK(peal_link_set_route(link, routes[i % 2], MAX_WAIT));
		EVENTUALLY((info = harness_info(link)).delivered > before);
		CHECK_EQ(info.route, routes[i % 2]);
	}
	CHECK_EQ(info.handovers, SWITCHES);
	CHECK(info.staged > 0);
	CHECK(info.staged < info.accepted);
}

static void *send_all(void *argument)
{
	struct fixture *s = argument;
	uint64_t n;

	for (n = 0; !atomic_load(&s->stop); n++)
		harness_send(s->e, 0, 5, n, 1);
	atomic_store(&s->sent, n);
	CHECK_OK(peal_send_end(s->e, 0, MAX_WAIT));
	return NULL;
}

PEAL_TEST(handovers_keep_messages_of_a_sending_thread)
{
	struct relay_sink sink;
	struct fixture s;
	pthread_t thread;

	begin(&s, "sink", 16, 0);
	CHECK(!pthread_create(&thread, NULL, send_all, &s));
	switch_routes(s.in);
	atomic_store(&s.stop, 1);
	CHECK(!pthread_join(thread, NULL));
	CHECK_OK(peal_kernel_wait(s.kernel, MAX_WAIT));
	CHECK_OK(peal_actor_state(s.rt, s.actor, &sink, sizeof(sink)));
	CHECK_EQ(sink.received, atomic_load(&s.sent));
	CHECK_EQ(sink.damaged, 0);
	CHECK_EQ(sink.misordered, 0);
	harness_delivered(s.in, atomic_load(&s.sent));
	harness_conserved(s.rt);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/* Receives all messages of producer 5, until the end. */
static void *receive_all(void *argument)
{
	struct fixture *s = argument;
	struct relay_message m;
	struct peal_received r;
	uint64_t n = 0;
	int result;

	for (;; n++) {
		result = peal_receive(s->e, &m, sizeof(m), &r, MAX_WAIT);
		if (result)
			break;
		CHECK_EQ(r.length, sizeof(m));
		CHECK_EQ(r.sequence, n);
		CHECK(harness_intact(&m, sizeof(m), 5, n));
	}
	CHECK_EQ(result, PEAL_EEND);
	atomic_store(&s->sent, n);
	return NULL;
}

/* An actor that sends by itself, until its link to itself is destroyed. */
PEAL_TEST(handovers_keep_messages_of_a_receiving_thread)
{
	struct relay_order order = { 5, UINT64_MAX };
	struct peal_link_options few = { .capacity = 2 * RELAY_BURST };
	struct peal_endpoint *starter;
	struct peal_kernel *source;
	struct peal_link *link, *self;
	struct fixture s = { 0 };
	uint64_t burst;
	pthread_t thread;

	s.rt = harness_open(1, "");
	s.e = harness_endpoint(s.rt);
	starter = harness_endpoint(s.rt);
	source = harness_launch(s.rt, 0);
	burst = harness_spawn(source, "burst", 0);
	link = harness_to(s.rt, burst, s.e, few);
	self = harness_link(s.rt, burst, 1, burst, few);
	harness_from(s.rt, starter, 0, burst, few);
	CHECK_OK(peal_send(starter, 0, 0, &order, sizeof(order), MAX_WAIT,
			   NULL));
	CHECK(!pthread_create(&thread, NULL, receive_all, &s));
	switch_routes(link);
	CHECK_OK(peal_link_destroy(self));
	CHECK_OK(peal_send_end(starter, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(source, MAX_WAIT));
	CHECK(!pthread_join(thread, NULL));
	harness_delivered(link, atomic_load(&s.sent));
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/* ---- with one thread ----------------------------------------------------- */

/* Fills a link to a suspended kernel. Returns the number of messages. */
static uint64_t fill(struct fixture *s)
{
	struct relay_message m;
	uint64_t n = 0;
	int result;

	CHECK_OK(peal_kernel_suspend(s->kernel, MAX_WAIT));
	for (;; n++) {
		harness_fill(&m, sizeof(m), 1, n);
		result =
			peal_send(s->e, 0, (uint16_t)n, &m, sizeof(m), 0, NULL);
		if (result)
			break;
	}
	CHECK_EQ(result, PEAL_EAGAIN);
	return n;
}

PEAL_TEST(full_link_hands_over_after_the_receiver_takes_messages)
{
	struct fixture s;
	uint64_t n;
	char byte = 0;

	begin(&s, "echo", CAPACITY, PEAL_ROUTE_MAPPED_HOST);
	n = fill(&s);
	CHECK_EQ(n, CAPACITY);
	CHECK_FAILS(peal_link_set_route(s.in, PEAL_ROUTE_STAGED, 0),
		    PEAL_ETIMEDOUT, "endpoint '");
	CHECK_CONTAINS(peal_last_error()->text, "sends at port 0");
	CHECK_FAILS(peal_link_set_route(s.in, PEAL_ROUTE_MAPPED_HOST, 0),
		    PEAL_EBUSY, "handover");
	/* the mark needs a slot, too */
	CHECK_EQ(peal_send(s.e, 0, 0, &byte, 1, 0, NULL), PEAL_EAGAIN);
	CHECK_EQ(harness_info(s.in).accepted, n);
	CHECK_OK(peal_kernel_resume(s.kernel));
	harness_send(s.e, 0, 1, n, 3);
	harness_receive(s.e, 1, 0, n + 3);
	CHECK_EQ(harness_info(s.in).route, PEAL_ROUTE_STAGED);
	CHECK_EQ(peal_link_set_route(s.out, PEAL_ROUTE_STAGED, 0),
		 PEAL_ETIMEDOUT);
	harness_send(s.e, 0, 1, n + 3, 3);
	harness_receive(s.e, 1, n + 3, 3);
	end(&s, n + 6);
}

/* The place of a reserved message is in the old ring until the commit. */
PEAL_TEST(reserved_message_is_sent_before_the_handover)
{
	struct relay_message m;
	struct fixture s;
	void *place;

	begin(&s, "echo", CAPACITY, 0);
	CHECK_OK(peal_send_reserve(s.e, 0, sizeof(m), MAX_WAIT, &place));
	CHECK_EQ(peal_link_set_route(s.in, PEAL_ROUTE_STAGED, 0),
		 PEAL_ETIMEDOUT);
	harness_fill(&m, sizeof(m), 1, 0);
	memcpy(place, &m, sizeof(m));
	CHECK_OK(peal_send_commit(s.e, 0, 0));
	harness_receive(s.e, 1, 0, 1);
	harness_send(s.e, 0, 1, 1, 5);
	harness_receive(s.e, 1, 1, 5);
	CHECK_EQ(peal_link_set_route(s.in, PEAL_ROUTE_MAPPED_HOST, 0),
		 PEAL_ETIMEDOUT); /* it continues behind the END */
	end(&s, 6);
}

/* A held message is in the old ring until its release. */
PEAL_TEST(held_message_stays_valid_during_a_handover)
{
	struct peal_received r;
	struct fixture s;

	begin(&s, "echo", CAPACITY, 0);
	harness_send(s.e, 0, 1, 0, 1);
	CHECK_OK(peal_receive_peek(s.e, &r, MAX_WAIT));
	CHECK_FAILS(peal_link_set_route(s.out, PEAL_ROUTE_STAGED, 50 * MS),
		    PEAL_ETIMEDOUT, "receiver");
	harness_send(s.e, 0, 1, 1, 3);
	EVENTUALLY(harness_info(s.out).accepted == 4);
	CHECK_OK(peal_receive_peek(s.e, &r, 0));
	CHECK_EQ(r.length, sizeof(struct relay_message));
	CHECK(harness_intact(r.data, r.length, 1, 0));
	CHECK_OK(peal_receive_release(s.e));
	harness_receive(s.e, 1, 1, 3);
	CHECK_EQ(harness_info(s.out).staged, 3);
	end(&s, 4);
}

PEAL_TEST(ended_ends_refuse_a_handover)
{
	struct fixture s;

	begin(&s, "sink", CAPACITY, 0);
	CHECK_FAILS(peal_link_set_route(s.in, PEAL_ROUTE_PEER, 0), PEAL_ENOPEER,
		    "as one end is the host (peer, allowed mapped-host or "
		    "staged)");
	CHECK_FAILS(peal_link_set_route(s.in, PEAL_ROUTE_MAPPED_HOST, 0),
		    PEAL_EALREADY, "mapped-host");
	CHECK_EQ(peal_link_set_route(s.in, PEAL_ROUTE_STAGED, 0),
		 PEAL_ETIMEDOUT);
	CHECK_OK(peal_send_end(s.e, 0, MAX_WAIT)); /* behind the SEAL */
	CHECK_OK(peal_kernel_wait(s.kernel, MAX_WAIT));
	CHECK_FAILS(peal_link_set_route(s.in, PEAL_ROUTE_MAPPED_HOST, 0),
		    PEAL_ESTOPPED, "sender");
	CHECK_OK(peal_runtime_shutdown(s.rt));
	begin(&s, "sink", CAPACITY, 0);
	CHECK_OK(peal_kernel_stop(s.kernel, MAX_WAIT));
	CHECK_FAILS(peal_link_set_route(s.in, PEAL_ROUTE_STAGED, 0),
		    PEAL_ESTOPPED, "receiver");
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/* A port and an input that were in a hand-over serve other links later. */
PEAL_TEST(link_is_destroyed_during_a_handover)
{
	struct peal_link_options o = { .capacity = CAPACITY };
	struct peal_runtime_info info;
	struct fixture s;
	int i;

	begin(&s, "echo", CAPACITY, 0);
	for (i = 0; i < 2; i++) { /* HIP has queues for 3 kernels */
		CHECK_EQ(peal_link_set_route(s.in, PEAL_ROUTE_STAGED, 0),
			 PEAL_ETIMEDOUT);
		CHECK_EQ(peal_link_set_route(s.out, PEAL_ROUTE_STAGED, 0),
			 PEAL_ETIMEDOUT);
		CHECK_OK(peal_link_destroy(s.in));
		CHECK_OK(peal_link_destroy(s.out));
		CHECK_OK(peal_runtime_info(s.rt, &info));
		CHECK_EQ(info.link_bytes, 0);
		s.kernel = harness_launch(s.rt, 0);
		s.actor = harness_spawn(s.kernel, "echo", 0);
		s.in = harness_from(s.rt, s.e, 0, s.actor, o);
		s.out = harness_to(s.rt, s.actor, s.e, o);
		harness_send(s.e, 0, 1, 0, 3);
		harness_receive(s.e, 1, 0, 3);
	}
	end(&s, 3);
}

/* The stager carries the last messages after the end of the sender's kernel. */
PEAL_TEST(staged_link_to_an_endpoint_keeps_messages_of_an_ended_kernel)
{
	struct peal_received r;
	struct fixture s;
	char buffer[64];

	begin(&s, "echo", CAPACITY, PEAL_ROUTE_STAGED);
	CHECK_EQ(harness_info(s.in).route, PEAL_ROUTE_STAGED);
	harness_send(s.e, 0, 1, 0, 2 * CAPACITY);
	EVENTUALLY(harness_info(s.out).accepted == 2 * CAPACITY);
	CHECK_OK(peal_kernel_stop(s.kernel, MAX_WAIT));
	harness_receive(s.e, 1, 0, 2 * CAPACITY);
	CHECK_EQ(peal_receive(s.e, buffer, sizeof(buffer), &r, MAX_WAIT),
		 PEAL_ESTOPPED);
	harness_delivered(s.out, 2 * CAPACITY);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST_MAIN(
	RUN(handovers_keep_messages_of_a_sending_thread);
	RUN(handovers_keep_messages_of_a_receiving_thread);
	RUN(full_link_hands_over_after_the_receiver_takes_messages);
	RUN(reserved_message_is_sent_before_the_handover);
	RUN(held_message_stays_valid_during_a_handover);
	RUN(ended_ends_refuse_a_handover);
	RUN(link_is_destroyed_during_a_handover);
	RUN(staged_link_to_an_endpoint_keeps_messages_of_an_ended_kernel);)
