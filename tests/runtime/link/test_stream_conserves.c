/* SPDX-License-Identifier: Apache-2.0 */
/* Streams through kernels deliver every message once and in order. The counters
 * of all links agree. */
#include <peal/peer.h>
#include "runtime/harness.h"

#define KERNELS_MAX 3

/* A chain of echo kernels from an endpoint to the same endpoint. */
struct chain {
	struct peal_runtime *rt;
	uint32_t n_kernels;
	int device[KERNELS_MAX];
	struct peal_link_options options; /* of every link */
	uint32_t route; /* that links between kernels must have; 0: any */
	uint64_t bytes, count; /* per message; number of messages */
	int in_place; /* 1: reserve and commit, peek and release */
	struct peal_endpoint *endpoint;
	struct peal_kernel *kernel[KERNELS_MAX];
	struct peal_link *link[KERNELS_MAX + 1];
	struct harness_sampler sampler;
};

/* Messages of the same chain differ in length if they are long enough. */
static uint64_t length_of(const struct chain *c, uint64_t i)
{
	return c->bytes < 40 ? c->bytes : c->bytes - i % 3 * (c->bytes / 3);
}

/* Launches a kernel of one worker, which ends when its inputs end. */
static struct peal_kernel *launch(struct peal_runtime *rt, int device)
{
	const struct peal_kernel_options o = { .size = sizeof(o),
					       .drain_when_inputs_end = 1 };
	struct peal_kernel *k = NULL;

	CHECK_OK(peal_kernel_launch(rt, device, &peal_program_relay, &o, &k));
	return k;
}

/* A peer route has enabled access between its devices. */
static void check_access(struct peal_runtime *rt, int from, int to)
{
	struct peal_peer_capability c;

	CHECK_OK(peal_peer_capability(rt, from, to, &c));
	CHECK_EQ(c.enabled, 1);
	CHECK_OK(peal_peer_capability(rt, to, from, &c));
	CHECK_EQ(c.enabled, 1);
}

static void build(struct chain *c)
{
	uint64_t actor[KERNELS_MAX];
	struct peal_link_options o = c->options;
	struct peal_link_info info;
	uint32_t i;

	c->endpoint = harness_endpoint(c->rt);
	for (i = 0; i < c->n_kernels; i++) {
		c->kernel[i] = launch(c->rt, c->device[i]);
		actor[i] = harness_spawn(c->kernel[i], "echo", 0);
	}
	o.message_bytes = c->bytes ? c->bytes : 1;
	c->link[0] = harness_from(c->rt, c->endpoint, 0, actor[0], o);
	c->link[i] = harness_to(c->rt, actor[i - 1], c->endpoint, o);
	o.size = sizeof(o);
	o.require = c->route;
	for (i = 1; i < c->n_kernels; i++) {
		CHECK_OK(peal_connect(c->rt, actor[i - 1], 0, actor[i], &o,
				      &c->link[i]));
		info = harness_info(c->link[i]);
		CHECK(!c->route || info.route == c->route);
		if (info.route == PEAL_ROUTE_PEER)
			check_access(c->rt, c->device[i - 1], c->device[i]);
	}
	memset(&c->sampler, 0, sizeof(c->sampler));
	for (i = 0; i <= c->n_kernels; i++) {
		info = harness_info(c->link[i]);
		harness_watch_add(&c->sampler, c->link[i],
				  info.route == PEAL_ROUTE_STAGED ? 2 : 1);
	}
	harness_watch(&c->sampler);
}

static void *send_all(void *argument)
{
	struct chain *c = argument;
	void *buffer = malloc(c->bytes + 1), *place;
	uint64_t i, n;

	CHECK(buffer);
	for (i = 0; i < c->count; i++) {
		n = length_of(c, i);
		place = buffer;
		if (c->in_place)
			CHECK_OK(peal_send_reserve(c->endpoint, 0, n, MAX_WAIT,
						   &place));
		harness_fill(place, n, 7, i);
		if (c->in_place)
			CHECK_OK(peal_send_commit(c->endpoint, 0, (uint16_t)i));
		else
			CHECK_OK(peal_send(c->endpoint, 0, (uint16_t)i, place,
					   n, MAX_WAIT, NULL));
	}
	CHECK_OK(peal_send_end(c->endpoint, 0, MAX_WAIT));
	free(buffer);
	return NULL;
}

static void receive_all(struct chain *c)
{
	void *buffer = malloc(c->bytes + 1);
	struct peal_received r;
	uint64_t i;

	CHECK(buffer);
	for (i = 0; i < c->count; i++) {
		if (c->in_place)
			CHECK_OK(peal_receive_peek(c->endpoint, &r, MAX_WAIT));
		else
			CHECK_OK(peal_receive(c->endpoint, buffer, c->bytes, &r,
					      MAX_WAIT));
		CHECK_EQ(r.length, length_of(c, i));
		CHECK_EQ(r.sequence, i);
		CHECK_EQ(r.type, (uint16_t)i);
		CHECK(harness_intact(r.data, r.length, 7, i));
		if (c->in_place)
			CHECK_OK(peal_receive_release(c->endpoint));
	}
	CHECK_EQ(peal_receive(c->endpoint, buffer, c->bytes, &r, MAX_WAIT),
		 PEAL_EEND);
	free(buffer);
}

static void take_down(struct chain *c)
{
	struct peal_link_info info;
	uint64_t bytes = 0, i;

	for (i = 0; i < c->n_kernels; i++)
		CHECK_OK(peal_kernel_wait(c->kernel[i], MAX_WAIT));
	harness_watch_end(&c->sampler);
	for (i = 0; i < c->count; i++)
		bytes += length_of(c, i);
	for (i = 0; i <= c->n_kernels; i++) {
		harness_delivered(c->link[i], c->count);
		info = harness_info(c->link[i]);
		CHECK_EQ(info.accepted_bytes, bytes);
		CHECK_EQ(info.delivered_bytes, bytes);
		CHECK_EQ(info.ended, 1);
		CHECK_EQ(info.staged,
			 info.route == PEAL_ROUTE_STAGED ? c->count : 0);
		CHECK_OK(peal_link_destroy(c->link[i]));
	}
	for (i = 0; i < c->n_kernels; i++)
		CHECK_OK(peal_kernel_destroy(c->kernel[i]));
	CHECK_OK(peal_endpoint_destroy(c->endpoint));
}

static void run(struct chain *c)
{
	pthread_t sender;

	build(c);
	CHECK(!pthread_create(&sender, NULL, send_all, c));
	receive_all(c);
	CHECK(!pthread_join(sender, NULL));
	take_down(c);
}

/* A chain over the devices 0, 1, 2 of 1,000 messages of 24 bytes. */
static struct chain chain_of(struct peal_runtime *rt, uint32_t n)
{
	struct chain c = { .rt = rt,
			   .n_kernels = n,
			   .device = { 0, 1, 2 },
			   .bytes = 24,
			   .count = 1000 };

	return c;
}

PEAL_TEST(chains_of_one_to_three_devices_conserve)
{
	struct peal_runtime *rt = harness_open(3, "");
	uint32_t n;

	for (n = 1; n <= 3; n++) {
		struct chain c = chain_of(rt, n);

		c.count = 10000;
		run(&c);
	}
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(every_route_conserves_the_stream)
{
	static const struct {
		const char *links;
		uint32_t route;
		int second; /* device of the second kernel */
	} cases[] = {
		{ "", PEAL_ROUTE_LOCAL, 0 },
		{ "", PEAL_ROUTE_MAPPED_HOST, 0 },
		{ "", PEAL_ROUTE_STAGED, 0 },
		{ "0-1:nvlink", PEAL_ROUTE_PEER, 1 },
		{ "0-1:pcie", PEAL_ROUTE_PEER, 1 },
		{ "0-1:pcie", PEAL_ROUTE_MAPPED_HOST, 1 },
		{ "0-1:none", PEAL_ROUTE_MAPPED_HOST, 1 },
		{ "0-1:none", PEAL_ROUTE_STAGED, 1 },
		{ "0>1:none", PEAL_ROUTE_STAGED, 1 },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct peal_runtime *rt = harness_open(2, cases[i].links);
		struct chain c = chain_of(rt, 2);

		c.device[1] = cases[i].second;
		c.route = cases[i].route;
		run(&c);
		c.options.policy = harness_policy(rt, PEAL_POLICY_ATOM8);
		c.bytes = 700; /* payloads in the slab */
		c.in_place = 1;
		run(&c);
		CHECK_OK(peal_runtime_close(rt));
	}
}

PEAL_TEST(pair_without_peers_never_uses_the_peer_route)
{
	struct peal_runtime *rt = harness_open(2, "0-1:none");
	struct chain c = chain_of(rt, 2);

	build(&c);
	CHECK(harness_info(c.link[1]).route == PEAL_ROUTE_MAPPED_HOST ||
	      harness_info(c.link[1]).route == PEAL_ROUTE_STAGED);
	CHECK_CONTAINS(harness_info(c.link[1]).route_reason, "device 0");
	CHECK_CONTAINS(harness_info(c.link[1]).route_reason, "device 1");
	harness_watch_end(&c.sampler);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(messages_of_every_size_arrive_whole)
{
	static const uint64_t sizes[] = { 0, 1, 24, 48, 512, 513, 102400 };
	struct peal_runtime *rt = harness_open(2, "");
	uint32_t route;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (route = PEAL_ROUTE_PEER; route <= PEAL_ROUTE_STAGED;
		     route <<= 1) {
			struct chain c = chain_of(rt, 2);

			c.bytes = sizes[i];
			c.count = sizes[i] > 1000 ? 40 : 400;
			c.route = route;
			c.in_place = i % 2;
			run(&c);
		}
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(messages_of_20_mib_arrive_whole)
{
	struct peal_runtime *rt = harness_open(2, "");
	uint32_t route;

	for (route = PEAL_ROUTE_PEER; route <= PEAL_ROUTE_STAGED; route <<= 1) {
		struct chain c = chain_of(rt, 2);

		c.bytes = test_part(20 << 20);
		c.options.capacity = 1;
		c.count = IDENTITY_SANITIZED ? 1 : 4;
		c.route = route;
		run(&c);
	}
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(every_policy_and_capacity_conserves_the_stream)
{
	static const uint32_t capacities[] = { 1, 2, 64 };
	struct peal_runtime *rt = harness_open(2, "");
	struct peal_device_info device;
	uint32_t policy, i;

	CHECK_OK(peal_device_info(rt, 0, &device));
	for (policy = PEAL_POLICY_SEQUENCE; policy <= PEAL_POLICY_ATOM8;
	     policy++)
		for (i = 0; i < 3; i++) {
			struct chain c = chain_of(rt, 2);

			if (!(device.policies & 1u << policy))
				continue;
			c.options.policy = policy;
			c.options.capacity = capacities[i];
			c.in_place = policy != PEAL_POLICY_SEQUENCE;
			run(&c);
			CHECK(policy == c.options.policy);
			c.bytes = 100; /* several atoms */
			run(&c);
		}
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(reserve_without_commit_sends_nothing)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct chain c = chain_of(rt, 1);
	struct peal_received r;
	void *place;

	build(&c);
	CHECK_FAILS(peal_send_commit(c.endpoint, 0, 0), PEAL_EINVAL, "port 0");
	CHECK_OK(peal_send_reserve(c.endpoint, 0, 24, 0, &place));
	memset(place, 0xee, 24);
	CHECK_OK(peal_send_reserve(c.endpoint, 0, 24, 0, &place));
	harness_fill(place, 24, 3, 0);
	CHECK_OK(peal_send_commit(c.endpoint, 0, 0));
	CHECK_EQ(peal_send_commit(c.endpoint, 0, 0), PEAL_EINVAL);
	CHECK_OK(peal_receive_peek(c.endpoint, &r, MAX_WAIT));
	CHECK(harness_intact(r.data, 24, 3, 0));
	CHECK_OK(peal_receive_peek(c.endpoint, &r, 0)); /* the same message */
	CHECK_EQ(r.sequence, 0);
	CHECK_OK(peal_receive_release(c.endpoint));
	CHECK_EQ(peal_receive_release(c.endpoint), PEAL_EINVAL);
	CHECK_EQ(peal_receive_peek(c.endpoint, &r, 0), PEAL_EAGAIN);
	harness_watch_end(&c.sampler);
	harness_delivered(c.link[0], 1);
	harness_delivered(c.link[1], 1);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST_MAIN(RUN(chains_of_one_to_three_devices_conserve);
	       RUN(every_route_conserves_the_stream);
	       RUN(pair_without_peers_never_uses_the_peer_route);
	       RUN(messages_of_every_size_arrive_whole);
	       RUN(messages_of_20_mib_arrive_whole);
	       RUN(every_policy_and_capacity_conserves_the_stream);
	       RUN(reserve_without_commit_sends_nothing);)
