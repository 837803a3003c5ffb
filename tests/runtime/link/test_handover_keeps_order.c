/* SPDX-License-Identifier: Apache-2.0 */
/* labels: stress quick */
/* A link changes its route many times while messages flow. Each message arrives
 * once and in order. */
#include "queues/stress.h"
#include "runtime/harness.h"

#define SWITCHES 100
#define COUNT IDENTITY_COUNT(10000000ULL)

/* A kernel that emits numbered messages by itself, and one that checks. */
struct flow {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *source, *target;
	uint64_t from, to;
	struct peal_link *start, *self, *link;
	struct harness_sampler sampler;
};

static void begin(struct flow *f, int from, int to, uint32_t route)
{
	struct relay_order order = { 5, UINT64_MAX };
	struct peal_link_options o = { .capacity = 256, .require = route };
	struct peal_link_options few = { .capacity = 2 * RELAY_BURST };

	memset(f, 0, sizeof(*f));
	f->rt = harness_open(2, "0-1:nvlink");
	f->e = harness_endpoint(f->rt);
	f->source = harness_launch(f->rt, from);
	f->target = harness_launch(f->rt, to);
	f->from = harness_spawn(f->source, "burst", 0);
	f->to = harness_spawn(f->target, "sink", 0);
	f->link = harness_link(f->rt, f->from, 0, f->to, o);
	f->self = harness_link(f->rt, f->from, 1, f->from, few);
	f->start = harness_from(f->rt, f->e, 0, f->from, few);
	/* rings of the old and the new route: a staged route has two */
	harness_watch_add(&f->sampler, f->link, 3);
	harness_watch_add(&f->sampler, f->self, 1);
	harness_watch(&f->sampler);
	CHECK_OK(peal_send(f->e, 0, 0, &order, sizeof(order), MAX_WAIT, NULL));
}

/* Waits until the link has accepted `count` messages. */
static void await_sent(struct flow *f, uint64_t count)
{
	EVENTUALLY(harness_info(f->link).accepted >= count);
}

/* Makes `times` hand-overs, spread evenly over `count` messages. */
static void switch_routes(struct flow *f, const enum peal_route *routes,
			  uint64_t n_routes, uint64_t times, uint64_t count)
{
	uint64_t i;

	for (i = 0; i < times; i++) {
		await_sent(f, i * (count / times));
		CHECK_OK(peal_link_set_route(f->link, routes[i % n_routes],
					     MAX_WAIT));
		CHECK_EQ(harness_info(f->link).route, routes[i % n_routes]);
	}
	await_sent(f, count);
	CHECK_EQ(harness_info(f->link).handovers, times);
}

/* Ends the flow: destroys the link of the source to itself. Compares the counts
 * of source and sink. */
static void end(struct flow *f, uint64_t least)
{
	struct relay_source source;
	struct relay_sink sink;

	harness_watch_end(&f->sampler);
	CHECK_OK(peal_link_destroy(f->self));
	CHECK_OK(peal_send_end(f->e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(f->source, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(f->target, MAX_WAIT));
	CHECK_OK(peal_actor_state(f->rt, f->from, &source, sizeof(source)));
	CHECK_OK(peal_actor_state(f->rt, f->to, &sink, sizeof(sink)));
	CHECK(source.sent >= least);
	CHECK_EQ(sink.received, source.sent);
	CHECK_EQ(sink.next, source.sent);
	CHECK_EQ(sink.damaged, 0);
	CHECK_EQ(sink.misordered, 0);
	harness_delivered(f->link, source.sent);
	harness_conserved(f->rt);
	CHECK_OK(peal_runtime_shutdown(f->rt));
	printf("    %llu messages\n", (unsigned long long)source.sent);
	stress_verified += source.sent;
}

PEAL_TEST(handover_between_peer_and_staged_keeps_messages)
{
	static const enum peal_route routes[] = { PEAL_ROUTE_STAGED,
						  PEAL_ROUTE_PEER };
	struct stress_clock clock = stress_begin(1);
	struct peal_link_info info;
	uint64_t round;
	struct flow f;

	while (stress_next(&clock, &round)) {
		begin(&f, 0, 1, PEAL_ROUTE_PEER);
		switch_routes(&f, routes, 2, test_part(SWITCHES), COUNT);
		info = harness_info(f.link);
		CHECK(info.staged > 0);
		CHECK(info.staged < info.accepted);
		end(&f, COUNT);
	}
}

PEAL_TEST(handover_on_one_device_keeps_messages)
{
	static const enum peal_route routes[] = { PEAL_ROUTE_MAPPED_HOST,
						  PEAL_ROUTE_STAGED,
						  PEAL_ROUTE_LOCAL };
	struct stress_clock clock = stress_begin(1);
	uint64_t round;
	struct flow f;

	while (stress_next(&clock, &round)) {
		begin(&f, 0, 0, PEAL_ROUTE_LOCAL);
		switch_routes(&f, routes, 3, test_part(30), COUNT / 10);
		end(&f, COUNT / 10);
	}
}

PEAL_TEST_MAIN(RUN(handover_between_peer_and_staged_keeps_messages);
	       RUN(handover_on_one_device_keeps_messages);
	       stress_print_total();)
