/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/harness.h"

/*
 * All messages of a burst come back in order, for any number of lanes and any
 * length of the burst. On GPUs a worker of many lanes fetches many slots at a
 * time.
 */

#define BYTES_MAX 700
#define BURSTS 12

struct line {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *k;
	struct peal_link *to;
	uint64_t sent;
};

static uint64_t bytes_of(const struct line *l, uint64_t i)
{
	uint64_t most = harness_info(l->to).message_bytes;

	return sizeof(struct relay_message) +
	       i * 37 % (most + 1 - sizeof(struct relay_message));
}

static struct line open_line(uint32_t lanes, uint32_t capacity, uint64_t bytes)
{
	struct peal_kernel_options o = { .lanes = lanes,
					 .drain_when_inputs_end = 1 };
	struct peal_link_options in = { .capacity = capacity,
					.message_bytes = bytes };
	struct peal_link_options out = { .capacity = 256,
					 .message_bytes = bytes };
	struct line l = { .rt = harness_open(1, "") };
	uint64_t echo;

	l.e = harness_endpoint(l.rt);
	l.k = harness_launch_with(l.rt, 0, o);
	echo = harness_spawn(l.k, "echo", 0);
	l.to = harness_from(l.rt, l.e, 0, echo, in);
	harness_to(l.rt, echo, l.e, out);
	return l;
}

static void send(struct line *l, uint64_t n)
{
	uint8_t body[BYTES_MAX];

	for (; n; n--, l->sent++) {
		harness_fill(body, bytes_of(l, l->sent), 1, l->sent);
		CHECK_OK(peal_send(l->e, 0, (uint16_t)l->sent, body,
				   bytes_of(l, l->sent), MAX_WAIT, NULL));
	}
}

static void receive(struct line *l, uint64_t n)
{
	struct peal_received r;
	uint8_t body[BYTES_MAX];
	uint64_t i;

	for (i = l->sent - n; i < l->sent; i++) {
		CHECK_OK(peal_receive(l->e, body, sizeof(body), &r, MAX_WAIT));
		CHECK_EQ(r.type, (uint16_t)i);
		CHECK_EQ(r.length, bytes_of(l, i));
		CHECK(harness_intact(body, r.length, 1, i));
	}
}

static void close_line(struct line *l)
{
	CHECK_OK(peal_kernel_wait(l->k, MAX_WAIT));
	harness_conserved(l->rt);
	CHECK_OK(peal_runtime_shutdown(l->rt));
}

/* The host sends each burst while the kernel is suspended. */
static void bursts(uint32_t lanes, uint32_t capacity, uint64_t bytes)
{
	struct line l = open_line(lanes, capacity, bytes);
	uint64_t i, n;

	for (i = 0; i < BURSTS; i++) {
		n = 1 + i * 7 % capacity;
		CHECK_OK(peal_kernel_suspend(l.k, MAX_WAIT));
		send(&l, n);
		CHECK_OK(peal_kernel_resume(l.k));
		receive(&l, n);
	}
	CHECK_OK(peal_kernel_suspend(l.k, MAX_WAIT));
	send(&l, capacity - 1);
	CHECK_OK(peal_send_end(l.e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_resume(l.k));
	receive(&l, capacity - 1);
	close_line(&l);
}

PEAL_TEST(bursts_return_for_any_lane_count)
{
	static const uint32_t lanes[] = { 1, 4, 32 };
	int i;

	for (i = 0; i < 3; i++) {
		bursts(lanes[i], 64, 48);
		bursts(lanes[i], 4, 48);
		bursts(lanes[i], 16, 500);
		bursts(lanes[i], 16, 700); /* payloads in a slab */
	}
}

/* A link between two devices alternates between two routes by host memory. */
PEAL_TEST(stream_survives_route_changes)
{
	static const enum peal_route routes[] = { PEAL_ROUTE_STAGED,
						  PEAL_ROUTE_MAPPED_HOST };
	struct peal_link_options o = { .capacity = 64 };
	struct peal_kernel_options lanes = { .lanes = 32 };
	struct relay_order order = { 3, 20000 };
	struct peal_runtime *rt = harness_open(2, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = harness_launch_with(rt, 0, lanes);
	struct peal_kernel *l = harness_launch_with(rt, 1, lanes);
	uint64_t from = harness_spawn(k, "burst", 0), i;
	uint64_t to = harness_spawn(l, "sink", 0);
	struct peal_link *link;
	struct relay_sink sink;

	harness_from(rt, e, 0, from, o);
	harness_link(rt, from, 1, from, o);
	o.require = PEAL_ROUTE_MAPPED_HOST | PEAL_ROUTE_STAGED;
	link = harness_link(rt, from, 0, to, o);
	CHECK_OK(peal_send(e, 0, 0, &order, sizeof(order), MAX_WAIT, NULL));
	for (i = 0; i < 6; i++)
		CHECK_OK(peal_link_set_route(link, routes[i % 2], MAX_WAIT));
	EVENTUALLY(harness_info(link).delivered == order.count);
	CHECK_OK(peal_kernel_suspend(l, MAX_WAIT));
	CHECK_OK(peal_actor_state(rt, to, &sink, sizeof(sink)));
	CHECK_EQ(sink.received, order.count);
	CHECK_EQ(sink.next, order.count);
	CHECK_EQ(sink.damaged + sink.misordered, 0);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(fetched_messages_of_stopped_worker_stay_unhandled)
{
	struct line l = open_line(32, 64, 48);
	struct peal_link_info info;

	CHECK_OK(peal_kernel_suspend(l.k, MAX_WAIT));
	send(&l, 60);
	CHECK_OK(peal_kernel_resume(l.k));
	CHECK_OK(peal_kernel_stop(l.k, MAX_WAIT));
	EVENTUALLY(harness_info(l.to).queued == 0);
	info = harness_info(l.to);
	CHECK(harness_holds(&info));
	CHECK_EQ(info.delivered + info.dead[PEAL_REASON_STOPPED], 60);
	CHECK_OK(peal_runtime_shutdown(l.rt));
}

PEAL_TEST(burst_of_ended_sender_arrives_whole)
{
	struct peal_kernel_options lanes = { .lanes = 32 };
	struct peal_link_options o = { .capacity = 64 };
	struct relay_order order = { 3, 60 };
	struct peal_runtime *rt = harness_open(2, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = harness_launch_with(rt, 0, lanes);
	struct peal_kernel *l = harness_launch_with(rt, 1, lanes);
	uint64_t from = harness_spawn(k, "burst", 0);
	uint64_t to = harness_spawn(l, "sink", 0);
	struct peal_link *link;

	harness_from(rt, e, 0, from, o);
	harness_link(rt, from, 1, from, o);
	o.require = PEAL_ROUTE_MAPPED_HOST;
	link = harness_link(rt, from, 0, to, o);
	CHECK_OK(peal_kernel_suspend(l, MAX_WAIT));
	CHECK_OK(peal_send(e, 0, 0, &order, sizeof(order), MAX_WAIT, NULL));
	EVENTUALLY(harness_info(link).accepted == order.count);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_kernel_resume(l));
	EVENTUALLY(harness_info(link).delivered == order.count);
	CHECK_OK(peal_kernel_stop(l, MAX_WAIT));
	harness_conserved(rt);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(concurrent_bursts_all_arrive)
{
	struct peal_kernel_options o = { .lanes = 32 };
	struct peal_link_options in = { .capacity = 128 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = harness_launch_with(rt, 0, o);
	struct peal_link *link[8];
	uint32_t i;

	for (i = 0; i < 8; i++)
		link[i] =
			harness_from(rt, e, i, harness_spawn(k, "sink", 0), in);
	CHECK_OK(peal_kernel_suspend(k, MAX_WAIT));
	for (i = 0; i < 8; i++)
		harness_send(e, i, i, 0, 100);
	CHECK_OK(peal_kernel_resume(k));
	for (i = 0; i < 8; i++)
		EVENTUALLY(harness_info(link[i]).delivered == 100);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	harness_conserved(rt);
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* Sends n messages by a port, and waits until they are at the endpoint. */
static void echo_by(struct peal_endpoint *e, uint32_t port,
		    struct peal_link *back, uint64_t n)
{
	uint64_t before = harness_info(back).accepted, i;

	for (i = 0; i < n; i++)
		CHECK_OK(peal_send(e, port, (uint16_t)port, &i, sizeof(i),
				   MAX_WAIT, NULL));
	EVENTUALLY(harness_info(back).accepted == before + n);
}

/* Receives n messages that are all of one port. */
static void receive_by(struct peal_endpoint *e, uint32_t port, uint64_t n)
{
	struct peal_received r;
	uint64_t word;

	while (n--) {
		CHECK_OK(peal_receive(e, &word, sizeof(word), &r, MAX_WAIT));
		CHECK_EQ(r.type, port);
	}
}

/* An input counts only its own messages, not those of the input before. */
PEAL_TEST(each_input_has_32_messages_in_a_row)
{
	struct peal_link_options wide = { .capacity = 256 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = harness_launch(rt, 0);
	struct peal_link *back[2];
	uint64_t echo;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		echo = harness_spawn(k, "echo", 0);
		harness_from(rt, e, i, echo, wide);
		back[i] = harness_to(rt, echo, e, wide);
	}
	echo_by(e, 0, back[0], 31);
	receive_by(e, 0, 31);
	echo_by(e, 1, back[1], 40);
	receive_by(e, 1, 1);
	echo_by(e, 0, back[0], 40);
	receive_by(e, 1, 31);
	receive_by(e, 0, 32);
	receive_by(e, 1, 8);
	receive_by(e, 0, 8);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST_MAIN(RUN(each_input_has_32_messages_in_a_row);
	       RUN(bursts_return_for_any_lane_count);
	       RUN(stream_survives_route_changes);
	       RUN(fetched_messages_of_stopped_worker_stay_unhandled);
	       RUN(burst_of_ended_sender_arrives_whole);
	       RUN(concurrent_bursts_all_arrive);)
