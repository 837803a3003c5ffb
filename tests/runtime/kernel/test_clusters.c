/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links between workers of a cluster lie in the cluster's shared memory and
 * lose no message. On a device without clusters, the cases use links in device
 * memory.
 */
#include "runtime/harness.h"

#define COUNT 3000
#define WORKERS 4

/* Endpoint -> echo on each worker in turn -> endpoint. */
struct chain {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *k;
	struct peal_link *in, *out, *between[WORKERS - 1];
	uint64_t echo[WORKERS];
	uint32_t clusters; /* workers per cluster; 0: no clusters */
};

static uint32_t device_clusters(struct peal_runtime *rt)
{
	struct peal_device_info info;

	CHECK_OK(peal_device_info(rt, 0, &info));
	return info.max_cluster_workers;
}

static void open_chain(struct chain *c, struct peal_kernel_options o,
		       uint32_t capacity)
{
	struct peal_link_options few = { .capacity = capacity };
	struct peal_kernel_info info;
	uint32_t i;

	memset(c, 0, sizeof(*c));
	o.workers = WORKERS;
	c->rt = harness_open(1, "");
	c->e = harness_endpoint(c->rt);
	c->k = harness_launch_with(c->rt, 0, o);
	CHECK_OK(peal_kernel_info(c->k, &info));
	c->clusters = info.cluster_workers;
	CHECK_EQ(c->clusters, device_clusters(c->rt) && o.cluster.workers > 1 ?
				      o.cluster.workers :
				      0);
	for (i = 0; i < WORKERS; i++)
		c->echo[i] = harness_spawn(c->k, "echo", (int)i);
	c->in = harness_from(c->rt, c->e, 0, c->echo[0], few);
	for (i = 0; i + 1 < WORKERS; i++)
		c->between[i] =
			harness_link(c->rt, c->echo[i], 0, c->echo[i + 1], few);
	c->out = harness_to(c->rt, c->echo[WORKERS - 1], c->e, few);
}

static void *send_count(void *argument)
{
	harness_send(argument, 0, 1, 0, COUNT);
	return NULL;
}

static void close_chain(struct chain *c)
{
	uint32_t i;

	/* the kernel's own links are inputs: it does not end by itself */
	for (i = 0; i + 1 < WORKERS; i++)
		EVENTUALLY(harness_info(c->between[i]).delivered == COUNT);
	CHECK_OK(peal_kernel_stop(c->k, MAX_WAIT));
	for (i = 0; i + 1 < WORKERS; i++)
		harness_delivered(c->between[i], COUNT);
	harness_delivered(c->in, COUNT);
	harness_delivered(c->out, COUNT);
	CHECK_OK(peal_runtime_shutdown(c->rt));
}

/* Sends COUNT messages through the chain and checks each of them. */
static void flow(struct chain *c)
{
	pthread_t sender;

	CHECK(!pthread_create(&sender, NULL, send_count, c->e));
	harness_receive(c->e, 1, 0, COUNT);
	CHECK(!pthread_join(sender, NULL));
}

/* Checks the state of a sink. Suspends its running kernel meanwhile. */
static void expect_seen(struct peal_kernel *k, struct peal_runtime *rt,
			uint64_t actor, uint64_t count, uint64_t epochs)
{
	struct relay_sink sink;

	CHECK_OK(peal_kernel_suspend(k, MAX_WAIT));
	CHECK_OK(peal_actor_state(rt, actor, &sink, sizeof(sink)));
	CHECK_OK(peal_kernel_resume(k));
	CHECK_EQ(sink.received, count);
	CHECK_EQ(sink.damaged, 0);
	CHECK_EQ(sink.misordered, 0);
	CHECK(sink.epochs >= epochs);
}

static void expect_in_cluster(struct peal_link *link, int expected)
{
	struct peal_link_info info = harness_info(link);

	CHECK_EQ(info.in_cluster, expected);
	CHECK_EQ(info.route, PEAL_ROUTE_LOCAL);
}

PEAL_TEST(links_within_a_cluster_use_cluster_memory)
{
	struct peal_kernel_options o = { .cluster.workers = 4 };
	struct chain c;
	uint32_t i;

	open_chain(&c, o, 16);
	for (i = 0; i + 1 < WORKERS; i++)
		expect_in_cluster(c.between[i], c.clusters != 0);
	CHECK_EQ(harness_info(c.in).in_cluster, 0);
	CHECK_EQ(harness_info(c.out).in_cluster, 0);
	flow(&c);
	close_chain(&c);
}

PEAL_TEST(links_between_clusters_use_device_memory)
{
	struct peal_kernel_options o = { .cluster.workers = 2 };
	struct chain c;

	open_chain(&c, o, 16);
	expect_in_cluster(c.between[0], c.clusters != 0);
	expect_in_cluster(c.between[1], 0);
	expect_in_cluster(c.between[2], c.clusters != 0);
	flow(&c);
	close_chain(&c);
}

PEAL_TEST(kernel_without_clusters_reports_none)
{
	struct peal_kernel_options o = { .cluster.workers = 1 };
	struct peal_kernel_info info;
	struct chain c;

	open_chain(&c, o, 16);
	c.clusters = 0;
	CHECK_OK(peal_kernel_info(c.k, &info));
	CHECK_EQ(info.cluster_workers, 0);
	CHECK_EQ(info.cluster_bytes, 0);
	expect_in_cluster(c.between[0], 0);
	flow(&c);
	close_chain(&c);
}

/* Messages in a cluster's memory survive the end of an epoch. */
static void epochs_of(uint32_t lanes, uint32_t capacity)
{
	struct peal_kernel_options o = { .cluster.workers = 4,
					 .cluster.bytes = 4096,
					 .lanes = lanes,
					 .epoch_ns = 300000 };
	struct peal_actor_options at = { .size = sizeof(at), .worker = 4 };
	struct peal_link_options few = { .capacity = capacity };
	struct peal_link *link;
	struct chain c;
	uint64_t actor;

	open_chain(&c, o, capacity);
	/* a sink replaces the endpoint and counts the epochs */
	CHECK_OK(peal_link_destroy(c.out));
	CHECK_OK(peal_actor_spawn(c.k, "sink", &at, &actor));
	link = harness_link(c.rt, c.echo[WORKERS - 1], 0, actor, few);
	expect_in_cluster(link, c.clusters != 0);
	harness_send(c.e, 0, 1, 0, COUNT);
	EVENTUALLY(harness_info(link).delivered == COUNT);
	expect_seen(c.k, c.rt, actor, COUNT, 4);
	CHECK_OK(peal_kernel_stop(c.k, MAX_WAIT));
	harness_delivered(c.between[0], COUNT);
	harness_delivered(c.between[2], COUNT);
	CHECK_OK(peal_runtime_shutdown(c.rt));
}

PEAL_TEST(epochs_keep_cluster_memory)
{
	epochs_of(1, 16);
	epochs_of(4, 4);
}

PEAL_TEST(resumed_cluster_continues)
{
	struct peal_kernel_options o = { .cluster.workers = 4,
					 .epoch_ns = 1 * MS };
	pthread_t sender;
	struct chain c;
	int i;

	open_chain(&c, o, 8);
	CHECK(!pthread_create(&sender, NULL, send_count, c.e));
	for (i = 0; i < 10; i++) {
		harness_receive(c.e, 1, (uint64_t)i * 20, 20);
		CHECK_OK(peal_kernel_suspend(c.k, MAX_WAIT));
		identity_sleep_us(3000);
		CHECK_OK(peal_kernel_resume(c.k));
	}
	harness_receive(c.e, 1, 200, COUNT - 200);
	CHECK(!pthread_join(sender, NULL));
	close_chain(&c);
}

PEAL_TEST(cluster_stops_with_full_rings)
{
	struct peal_kernel_options o = { .cluster.workers = 4 };
	struct chain c;
	uint32_t i;

	open_chain(&c, o, 4);
	for (i = 0; i < 1000; i++) {
		struct relay_message m = { 1, i, relay_check(1, i) };
		int r = peal_send(c.e, 0, 0, &m, sizeof(m), 20 * MS, NULL);

		if (r == PEAL_ETIMEDOUT)
			break; /* all rings are full */
		CHECK_OK(r);
	}
	CHECK(i < 1000);
	CHECK_OK(peal_kernel_stop(c.k, MAX_WAIT));
	for (i = 0; i + 1 < WORKERS; i++) {
		struct peal_link_info info = harness_info(c.between[i]);

		CHECK(harness_holds(&info));
		CHECK_EQ(info.undelivered, info.accepted - info.delivered);
		CHECK(info.undelivered > 0);
	}
	CHECK_OK(peal_runtime_shutdown(c.rt));
}

/* A link in reused memory sees no data of the destroyed link. */
PEAL_TEST(reused_cluster_memory_is_clean)
{
	struct peal_kernel_options o = { .workers = 2,
					 .cluster.workers = 2,
					 .cluster.bytes = 1024 };
	struct peal_link_options few = { .capacity = 16, .slot_bytes = 64 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = harness_launch_with(rt, 0, o);
	uint64_t echo = harness_spawn(k, "echo", 0);
	uint64_t sink = harness_spawn(k, "sink", 1);
	int clusters = device_clusters(rt) != 0;
	struct peal_link *link, *second;
	uint64_t sent = 0, other;
	int i;

	harness_from(rt, e, 0, echo, few);
	for (i = 0; i < 5; i++) {
		link = harness_link(rt, echo, 0, sink, few);
		expect_in_cluster(link, clusters);
		/* some laps of the ring, and a part of one */
		harness_send(e, 0, 1, sent, 16u * (unsigned)i + 9);
		sent += 16u * (unsigned)i + 9;
		EVENTUALLY(harness_info(link).delivered ==
			   16u * (unsigned)i + 9);
		expect_seen(k, rt, sink, sent, 1);
		CHECK_OK(peal_link_destroy(link));
	}
	/* the cluster's memory holds one link, the next uses device memory */
	link = harness_link(rt, echo, 0, sink, few);
	other = harness_spawn(k, "echo", 0);
	second = harness_link(rt, other, 0, sink, few);
	expect_in_cluster(link, clusters);
	expect_in_cluster(second, 0);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* The receiver counts the messages with slots in the cluster's memory. */
PEAL_TEST(slots_lie_in_the_reported_memory)
{
	struct peal_kernel_options o = { .workers = 2,
					 .cluster.workers = 2,
					 .cluster.bytes = 128 << 10,
					 .epoch_ns = 300000 };
	struct peal_link_options few = { .capacity = 64 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = harness_launch_with(rt, 0, o);
	uint64_t echo = harness_spawn(k, "echo", 0);
	uint64_t nearby = harness_spawn(k, "nearby", 1);
	struct peal_link *link;
	struct relay_nearby state;

	harness_from(rt, e, 0, echo, few);
	link = harness_link(rt, echo, 0, nearby, few);
	expect_in_cluster(link, device_clusters(rt) != 0);
	harness_send(e, 0, 1, 0, COUNT);
	EVENTUALLY(harness_info(link).delivered == COUNT);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_actor_state(rt, nearby, &state, sizeof(state)));
	CHECK_EQ(state.received, COUNT);
	CHECK_EQ(state.in_cluster, device_clusters(rt) ? COUNT : 0);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(link_of_actor_to_itself_delivers)
{
	struct relay_order order = { 7, 500 };
	struct peal_kernel_options o = { .workers = 2, .cluster.workers = 2 };
	struct peal_link_options few = { .capacity = 2 * RELAY_BURST };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = harness_launch_with(rt, 0, o);
	uint64_t burst = harness_spawn(k, "burst", 1);
	uint64_t sink = harness_spawn(k, "sink", 0);
	struct peal_link *own, *to;

	to = harness_link(rt, burst, 0, sink, few);
	own = harness_link(rt, burst, 1, burst, few);
	harness_from(rt, e, 0, burst, few);
	expect_in_cluster(own, device_clusters(rt) != 0);
	CHECK_OK(peal_send(e, 0, 0, &order, sizeof(order), MAX_WAIT, NULL));
	EVENTUALLY(harness_info(to).delivered == order.count);
	expect_seen(k, rt, sink, order.count, 1);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

static void *receive_count(void *argument)
{
	harness_receive(argument, 1, 0, COUNT);
	return NULL;
}

/* A link leaves the cluster's memory and returns while messages flow. */
PEAL_TEST(link_leaves_cluster_memory_and_returns)
{
	struct peal_kernel_options o = { .cluster.workers = 4 };
	pthread_t sender, receiver;
	struct peal_link *link;
	struct chain c;
	int i;

	open_chain(&c, o, 16);
	link = c.between[1];
	CHECK(!pthread_create(&sender, NULL, send_count, c.e));
	CHECK(!pthread_create(&receiver, NULL, receive_count, c.e));
	for (i = 0; i < 10; i++) {
		EVENTUALLY(harness_info(link).delivered >= 200u * (unsigned)i);
		CHECK_OK(peal_link_set_route(
			link, i & 1 ? PEAL_ROUTE_LOCAL : PEAL_ROUTE_MAPPED_HOST,
			MAX_WAIT));
		if (i & 1)
			expect_in_cluster(link, c.clusters != 0);
		else
			CHECK_EQ(harness_info(link).in_cluster, 0);
	}
	CHECK(!pthread_join(sender, NULL));
	CHECK(!pthread_join(receiver, NULL));
	CHECK_EQ(harness_info(link).handovers, 10);
	close_chain(&c);
}

static void refused(struct peal_runtime *rt, struct peal_kernel_options o,
		    int error, const char *part)
{
	struct peal_kernel *k = NULL;

	o.size = sizeof(o);
	CHECK_EQ(peal_kernel_launch(rt, 0, &peal_program_relay, &o, &k), error);
	CHECK(strstr(peal_last_error()->text, part));
	CHECK(!k);
}

PEAL_TEST(invalid_cluster_options_are_refused)
{
	struct peal_kernel_options three = { .workers = 6,
					     .cluster.workers = 3 };
	struct peal_kernel_options many = { .workers = 16,
					    .cluster.workers = 16 };
	struct peal_kernel_options uneven = { .workers = 6,
					      .cluster.workers = 4 };
	struct peal_kernel_options huge = { .workers = 2,
					    .cluster.workers = 2,
					    .cluster.bytes = 2 << 20 };
	struct peal_kernel_options large = { .workers = 2,
					     .cluster.workers = 2,
					     .cluster.bytes = 1 << 20 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_device_info info;

	refused(rt, three, PEAL_EINVAL,
		"'cluster.workers': must be a power of two (3, allowed 0, 1,");
	refused(rt, many, PEAL_EINVAL,
		"'cluster.workers': is out of range (16");
	refused(rt, uneven, PEAL_EINVAL,
		"must be a multiple of cluster.workers (6, allowed multiples "
		"of 4); use 8");
	refused(rt, huge, PEAL_EINVAL, "cluster.bytes");
	if (device_clusters(rt)) {
		refused(rt, large, PEAL_ENOSPC,
			"'cluster.bytes': is too large for");
		/* a compute unit fits one worker with 200 KiB */
		CHECK_OK(peal_device_info(rt, 0, &info));
		many.workers = info.compute_units / 2 * 2 + 2;
		many.cluster.workers = 2;
		many.cluster.bytes = 200 << 10;
		refused(rt, many, PEAL_ENOSPC, "cluster.workers 2, ");
		/* a cluster must fit into one group of compute units */
		many.workers = info.compute_units / 8 * 8;
		many.cluster.workers = 8;
		if (info.emulated)
			refused(rt, many, PEAL_ENOSPC, "allowed 1..8); use 8");
	}
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST_MAIN(RUN(links_within_a_cluster_use_cluster_memory);
	       RUN(links_between_clusters_use_device_memory);
	       RUN(kernel_without_clusters_reports_none);
	       RUN(epochs_keep_cluster_memory); RUN(resumed_cluster_continues);
	       RUN(cluster_stops_with_full_rings);
	       RUN(reused_cluster_memory_is_clean);
	       RUN(slots_lie_in_the_reported_memory);
	       RUN(link_of_actor_to_itself_delivers);
	       RUN(link_leaves_cluster_memory_and_returns);
	       RUN(invalid_cluster_options_are_refused);)
