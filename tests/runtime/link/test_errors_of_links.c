/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of endpoints and links, and the timeouts of their calls. */
#include <peal/dead_letter.h>
#include <peal/graph.h>
#include <peal/request.h>

#include "runtime/harness.h"

PEAL_DECLARE_PROGRAM(tasks);

/* Two endpoints, and a kernel with three actors. */
static struct peal_runtime *rt;
static struct peal_endpoint *e, *other;
static struct peal_kernel *k;
static uint64_t echo, sink, lanes;

static void begin(const char *links)
{
	struct peal_kernel_options o = { .max_inputs = 3, .name = "stays" };

	rt = harness_open(2, links);
	e = harness_endpoint(rt);
	other = harness_endpoint(rt);
	k = harness_launch_with(rt, 0, o);
	echo = harness_spawn(k, "echo", 0);
	sink = harness_spawn(k, "sink", 0);
	lanes = harness_spawn(k, "lanes", 0);
}

static void end(void)
{
	harness_conserved(rt);
	CHECK_OK(peal_runtime_shutdown(rt));
}

static int connect_with(uint64_t from, uint32_t port, uint64_t to,
			struct peal_link_options o)
{
	o.size = sizeof(o);
	return peal_connect(rt, from, port, to, &o, NULL);
}

static int connect(uint64_t from, uint32_t port, uint64_t to)
{
	return peal_connect(rt, from, port, to, NULL, NULL);
}

PEAL_TEST(connect_names_the_missing_end_or_port)
{
	uint64_t here;

	begin("");
	here = peal_endpoint_address(e);
	CHECK_EQ(peal_connect(NULL, here, 0, sink, NULL, NULL), PEAL_EINVAL);
	CHECK_FAILS(connect(0xabcdef, 0, sink), PEAL_ENOENT,
		    "'from': is the "
		    "address of no actor or endpoint");
	CHECK_CONTAINS(peal_last_error()->text, "0xabcdef");
	CHECK_FAILS(connect(here, 0, sink + 20), PEAL_ENOENT,
		    "'to': is the "
		    "address of no actor or pool");
	CHECK_EQ(connect(here + 1, 0, sink), PEAL_ENOENT);
	CHECK_FAILS(connect(here, 64, sink), PEAL_ENOENT,
		    "'endpoint': has no "
		    "such port (64, allowed 0..63)");
	CHECK_FAILS(connect(echo, 1, sink), PEAL_ENOENT,
		    "'stays': has no such "
		    "port (1, allowed 0)");
	CHECK_CONTAINS(peal_last_error()->text,
		       "'stays': has no such port (1, allowed 0)");
	CHECK_FAILS(connect(sink, 0, here), PEAL_ENOENT,
		    "'stays': has no such "
		    "port (0, allowed none); use a handler with ports");
	CHECK_FAILS(connect(here, 0, peal_endpoint_address(other)), PEAL_EINVAL,
		    "argument 'to': is an endpoint, as `from` is (");
	CHECK_CONTAINS(peal_last_error()->text,
		       "); pass the address of an actor or a pool");
	CHECK_FAILS(connect(echo, 0, 1234), PEAL_ENOENT,
		    "argument 'to': is the address of no actor, pool or "
		    "endpoint (0x4d2, ");
	CHECK_FAILS(connect(1234, 0, echo), PEAL_ENOENT,
		    "argument 'from': is the address of no actor or endpoint "
		    "(0x4d2, ");
	CHECK_OK(connect(here, 0, sink));
	CHECK_FAILS(connect(here, 0, echo), PEAL_EEXIST, "link 1");
	CHECK_OK(connect(here, 1, sink));
	CHECK_OK(connect(here, 2, sink));
	CHECK_FAILS(connect(here, 3, echo), PEAL_ENOSPC, "max_inputs");
	CHECK_FAILS(peal_endpoint_destroy(e), PEAL_EBUSY, "endpoint");
	CHECK_FAILS(peal_actor_retire(rt, sink), PEAL_EBUSY, "(in all 3)");
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_FAILS(peal_kernel_destroy(k), PEAL_EBUSY, "link 3");
	CHECK_FAILS(connect(here, 3, echo), PEAL_ESTOPPED, "'stays'");
	end();
}

PEAL_TEST(connect_names_the_option_out_of_range)
{
	struct peal_link_options size = { .size = 4096 };
	uint64_t here;

	begin("0-1:none");
	here = peal_endpoint_address(e);
	CHECK_EQ(peal_connect(rt, here, 0, sink, &size, NULL), PEAL_EINVAL);
	size.size = 0;
	CHECK_FAILS(peal_connect(rt, here, 0, sink, &size, NULL), PEAL_EINVAL,
		    "size");
	size.size = offsetof(struct peal_link_options, message_bytes) + 4;
	CHECK_FAILS(peal_connect(rt, here, 0, sink, &size, NULL), PEAL_EINVAL,
		    "no version of the struct");
#define REFUSED(error, part, ...)                                              \
	do {                                                                   \
		struct peal_link_options o = { __VA_ARGS__ };                  \
		CHECK_FAILS(connect_with(here, 0, echo, o), error, part);      \
	} while (0)
	REFUSED(PEAL_EINVAL,
		"'capacity': must be a power of two (3, allowed "
		"1..1048576)",
		.capacity = 3);
	REFUSED(PEAL_EINVAL,
		"'capacity': is out of range (2097152, allowed "
		"1..1048576)",
		.capacity = 1 << 21);
	REFUSED(PEAL_EINVAL, "message_bytes", .message_bytes = 257ULL << 20);
	REFUSED(PEAL_EINVAL, "message_bytes", .message_bytes = UINT64_MAX);
	REFUSED(PEAL_EINVAL,
		"'slot_bytes': must be a multiple of 16 for policy",
		.slot_bytes = 40);
	REFUSED(PEAL_EINVAL, "'slot_bytes': is out of range for policy",
		.slot_bytes = 8192);
	REFUSED(PEAL_EINVAL,
		"'policy': is no policy (9, allowed 0 (default), "
		"1 (sequence), 2 (atom16) or 3 (atom8))",
		.policy = 9);
	REFUSED(PEAL_EMSGSIZE,
		"'slab_bytes': is too small for two messages of "
		"5000 bytes (100, allowed 10016..1099511627776)",
		.message_bytes = 5000, .slab_bytes = 100);
	REFUSED(PEAL_EMSGSIZE,
		"'slot_bytes': is too small for a slab "
		"descriptor, which messages of 100 bytes need (16, allowed ",
		.message_bytes = 100, .slot_bytes = 16);
	REFUSED(PEAL_EINVAL, "0x10", .require = 16);
	REFUSED(PEAL_EINVAL, "0x100", .forbid = 256);
	REFUSED(PEAL_EINVAL,
		"'priority_reserved': is out of range (1, allowed ",
		.priority_reserved = 1);
	REFUSED(PEAL_ENOPEER,
		"option 'require': has no route from the host to device 0, as "
		"one end is the host (peer, allowed mapped-host or staged); "
		"use mapped-host",
		.require = PEAL_ROUTE_PEER);
	REFUSED(PEAL_ENOPEER,
		"option 'require': has no route from the host to device 0",
		.require = PEAL_ROUTE_LOCAL, .forbid = PEAL_ROUTE_LOCAL);
	REFUSED(PEAL_ENOPEER,
		"option 'forbid': leaves no route from the host to device 0 "
		"(0xc, allowed masks without mapped-host or staged); use 0x8",
		.forbid = PEAL_ROUTE_MAPPED_HOST | PEAL_ROUTE_STAGED);
	REFUSED(PEAL_EINVAL,
		"option 'forbid': leaves no route from the host to device 0 "
		"(0xf, allowed masks without mapped-host or staged); use 0xb",
		.forbid = 15);
	REFUSED(PEAL_ENOMEM, "", .capacity = 1 << 20,
		.message_bytes = 256 << 20, .slab_bytes = 1ULL << 40);
	CHECK_EQ(peal_link_list(rt, NULL, 0), 0);
	end();
}

PEAL_TEST(connect_names_the_pair_without_the_route)
{
	struct peal_link_options peer = { .require = PEAL_ROUTE_PEER };
	struct peal_link_options none = { .forbid = PEAL_ROUTE_MAPPED_HOST |
						    PEAL_ROUTE_STAGED };
	struct peal_link_options local = { .require = PEAL_ROUTE_LOCAL };
	struct peal_kernel *there;
	uint64_t far;

	begin("0>1:none");
	there = harness_launch(rt, 1);
	far = harness_spawn(there, "sink", 0);
	CHECK_FAILS(connect_with(echo, 0, far, peer), PEAL_ENOPEER, "device 0");
	CHECK_CONTAINS(peal_last_error()->text, "device 1");
	CHECK_CONTAINS(peal_last_error()->text, "peer");
	CHECK_FAILS(connect_with(echo, 0, far, none), PEAL_ENOPEER, "device 1");
	CHECK_FAILS(connect_with(echo, 0, far, local), PEAL_ENOPEER, "local");
	CHECK_FAILS(connect_with(echo, 0, sink, peer), PEAL_ENOPEER,
		    "device 0");
	CHECK_OK(connect(echo, 0, far));
	end();
}

PEAL_TEST(connect_checks_declared_message_sizes)
{
	struct peal_link_options small = { .message_bytes = 40 };

	begin("");
	CHECK_FAILS(connect_with(lanes, 0, peal_endpoint_address(e), small),
		    PEAL_EMSGSIZE,
		    "'message_bytes': is too small for the "
		    "messages of the handlers (40, allowed 48..268435456)");
	CHECK_OK(connect(lanes, 0, peal_endpoint_address(e)));
	end();
}

PEAL_TEST(endpoints_refuse_invalid_calls)
{
	struct peal_endpoint_options o = { .size = sizeof(o),
					   .max_ports = 5000 };
	struct peal_endpoint *none = NULL;
	struct peal_received r;
	char buffer[8];
	void *place;

	begin("");
	CHECK_FAILS(peal_endpoint_create(rt, &o, &none), PEAL_EINVAL, "5000");
	o.size = 0;
	CHECK_EQ(peal_endpoint_create(rt, &o, &none), PEAL_EINVAL);
	CHECK_EQ(peal_endpoint_create(NULL, NULL, &none), PEAL_EINVAL);
	CHECK_EQ(peal_endpoint_create(rt, NULL, NULL), PEAL_EINVAL);
	CHECK(!none);
	CHECK_EQ(peal_endpoint_address(NULL), 0);
	CHECK_OK(peal_endpoint_destroy(NULL));
	CHECK_EQ(peal_send(NULL, 0, 0, "", 0, 0, NULL), PEAL_EINVAL);
	CHECK_FAILS(peal_send(e, 0, 0, "", 0, 0, NULL), PEAL_ENOTCONN,
		    "port 0");
	CHECK_FAILS(peal_send(e, 99, 0, "", 0, 0, NULL), PEAL_ENOTCONN,
		    "endpoint 'endpoint': has no such port (99, allowed "
		    "0..63); use 63");
	CHECK_EQ(peal_send_end(e, 0, 0), PEAL_ENOTCONN);
	CHECK_EQ(peal_send_end(NULL, 0, 0), PEAL_EINVAL);
	CHECK_EQ(peal_send_commit(e, 0, 0), PEAL_ENOTCONN);
	CHECK_EQ(peal_send_reserve(e, 0, 1, 0, &place), PEAL_ENOTCONN);
	CHECK_EQ(peal_receive(e, buffer, 8, &r, 0), PEAL_ENOTCONN);
	CHECK_EQ(peal_receive(e, buffer, 8, &r, -1), PEAL_ENOTCONN);
	CHECK_EQ(peal_receive(NULL, buffer, 8, &r, 0), PEAL_EINVAL);
	CHECK_EQ(peal_receive(e, NULL, 8, &r, 0), PEAL_EINVAL);
	CHECK_EQ(peal_receive(e, buffer, 8, NULL, 0), PEAL_EINVAL);
	CHECK_EQ(peal_receive_peek(NULL, &r, 0), PEAL_EINVAL);
	CHECK_EQ(peal_receive_peek(e, NULL, 0), PEAL_EINVAL);
	CHECK_EQ(peal_receive_release(NULL), PEAL_EINVAL);
	CHECK_OK(connect(peal_endpoint_address(e), 0, sink));
	CHECK_EQ(peal_send(e, 0, 0, NULL, 1, 0, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_send_reserve(e, 0, 1, 0, NULL), PEAL_EINVAL);
	CHECK_FAILS(peal_send(e, 0, 0, buffer, 49, 0, NULL), PEAL_EMSGSIZE,
		    "'endpoint': has a link for shorter messages (49 bytes, "
		    "allowed 0..48)");
	CHECK_EQ(peal_send_reserve(e, 0, UINT64_MAX, 0, &place), PEAL_EMSGSIZE);
	end();
}

PEAL_TEST(short_buffer_keeps_message_and_reports_length)
{
	struct peal_link_options none = { .capacity = 0 };
	struct peal_received r;
	char buffer[64];

	begin("");
	harness_from(rt, e, 0, echo, none);
	harness_to(rt, echo, e, none);
	harness_send(e, 0, 1, 0, 1);
	CHECK_FAILS(peal_receive(e, buffer, 8, &r, MAX_WAIT), PEAL_EMSGSIZE,
		    "24");
	CHECK_EQ(r.length, 24);
	CHECK_EQ(peal_receive(e, buffer, 0, &r, 0), PEAL_EMSGSIZE);
	harness_receive(e, 1, 0, 1);
	end();
}

PEAL_TEST(zero_finite_and_infinite_timeouts_hold)
{
	struct peal_link_options one = { .capacity = 1 };
	struct peal_received r;
	uint64_t began;
	char buffer[64];

	begin("");
	harness_from(rt, e, 0, echo, one);
	harness_to(rt, echo, e, one);
	CHECK_EQ(peal_receive(e, buffer, 64, &r, 0), PEAL_EAGAIN);
	began = harness_now_ns();
	CHECK_FAILS(peal_receive(e, buffer, 64, &r, 30 * MS), PEAL_ETIMEDOUT,
		    "no message arrived");
	CHECK(harness_now_ns() - began >= (uint64_t)(30 * MS));
	CHECK_OK(peal_kernel_suspend(k, INT64_MAX));
	CHECK_OK(peal_send(e, 0, 0, "x", 1, INT64_MAX, NULL));
	CHECK_EQ(peal_send(e, 0, 0, "x", 1, 0, NULL), PEAL_EAGAIN);
	began = harness_now_ns();
	CHECK_FAILS(peal_send(e, 0, 0, "x", 1, 30 * MS, NULL), PEAL_ETIMEDOUT,
		    "full");
	CHECK(harness_now_ns() - began >= (uint64_t)(30 * MS));
	CHECK_EQ(peal_send_end(e, 0, 0), PEAL_EAGAIN);
	CHECK_EQ(peal_send_end(e, 0, 1), PEAL_ETIMEDOUT);
	CHECK_OK(peal_kernel_resume(k));
	CHECK_OK(peal_receive(e, buffer, 64, &r, INT64_MAX));
	CHECK_OK(peal_send(e, 0, 0, "y", 1, -1, NULL));
	CHECK_OK(peal_receive(e, buffer, 64, &r, -1));
	CHECK_EQ(r.sequence, 1);
	CHECK_EQ(buffer[0], 'y');
	end();
}

PEAL_TEST(link_calls_refuse_null)
{
	struct peal_link_options none = { .capacity = 0 };
	struct peal_link_info info;
	struct peal_link *link, *found[2] = { NULL, NULL };

	begin("");
	CHECK_EQ(peal_link_info(NULL, &info), PEAL_EINVAL);
	link = harness_from(rt, e, 0, sink, none);
	CHECK_EQ(peal_link_info(link, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_link_list(NULL, NULL, 0), PEAL_EINVAL);
	CHECK_EQ(peal_link_list(rt, NULL, 1), PEAL_EINVAL);
	CHECK_EQ(peal_link_list(rt, found, 2), 1);
	CHECK(found[0] == link && !found[1]);
	harness_from(rt, e, 1, sink, none);
	CHECK_EQ(peal_link_list(rt, found, 1), 2);
	CHECK(found[0] == link); /* the oldest first */
	CHECK_OK(peal_link_destroy(NULL));
	end();
}

/* The error has the name of the public function that the test calls. */
#define FAILS_IN(name, ...)                                                    \
	do {                                                                   \
		CHECK(name(__VA_ARGS__) < 0);                                  \
		CHECK(!strcmp(peal_last_error()->call, #name));                \
	} while (0)

PEAL_TEST(error_names_the_public_call)
{
	struct peal_link_options huge = { .size = sizeof(huge),
					  .slab_bytes = 1ULL << 40,
					  .message_bytes = 1 << 20 };
	struct peal_graph_task task = { .handler = "ecko", .count = 1 };
	const int devices[] = { 1 };
	struct peal_requester *r = NULL;
	struct peal_graph *graph;
	uint64_t out[2], here, n = 0;
	void *place;

	begin("");
	here = peal_endpoint_address(e);
	/* a misspelled handler */
	FAILS_IN(peal_actor_spawn, k, "ecko", NULL, out);
	CHECK_CONTAINS(
		peal_last_error()->text,
		"'relay': has no such handler "
		"(ecko, allowed echo, sink, nearby, burst, moody, gate, hop, "
		"forward, die, ...); use echo");
	FAILS_IN(peal_actor_spawn_many, k, "ecko", NULL, 2, out);
	FAILS_IN(peal_program_handler, &peal_program_relay, "ecko");
	CHECK_OK(peal_graph_create(rt, devices, 1, &peal_program_tasks, NULL,
				   &graph));
	FAILS_IN(peal_graph_add_task, graph, &task, NULL);
	CHECK_OK(peal_graph_destroy(graph));
	/* a port without a link */
	FAILS_IN(peal_send, e, 9, 0, &n, sizeof(n), 0, NULL);
	FAILS_IN(peal_send_to, e, 9, echo, 0, &n, sizeof(n), 0, NULL);
	FAILS_IN(peal_send_reserve, e, 9, sizeof(n), 0, &place);
	FAILS_IN(peal_send_commit, e, 9, 0);
	FAILS_IN(peal_send_end, e, 9, 0);
	/* calls that make links, and calls without memory */
	FAILS_IN(peal_requester_create, rt, 0xabcdef, NULL, &r);
	FAILS_IN(peal_dead_letter_connect, k, 0xabcdef, NULL);
	FAILS_IN(peal_connect, rt, here, 0, sink, &huge, NULL);
	CHECK_OK(peal_requester_create(rt, sink, NULL, &r));
	FAILS_IN(peal_requester_listen, r, sink, 3);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_requester_destroy(r));
	end();
}

PEAL_TEST_MAIN(RUN(connect_names_the_missing_end_or_port);
	       RUN(connect_names_the_option_out_of_range);
	       RUN(connect_names_the_pair_without_the_route);
	       RUN(connect_checks_declared_message_sizes);
	       RUN(endpoints_refuse_invalid_calls);
	       RUN(short_buffer_keeps_message_and_reports_length);
	       RUN(zero_finite_and_infinite_timeouts_hold);
	       RUN(link_calls_refuse_null); RUN(error_names_the_public_call);)
