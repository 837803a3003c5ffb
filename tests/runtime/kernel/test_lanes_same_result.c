/* SPDX-License-Identifier: Apache-2.0 */
/* Shows that a handler gives the same bytes with any number of lanes. */
#include "runtime/harness.h"

#include <peal/abi/stage.h>
#include "ringkernels/reference.h"

static const uint32_t lane_counts[] = { 1, 4, 32 };

static struct peal_kernel *launch(struct peal_runtime *rt, uint32_t lanes)
{
	struct peal_kernel_options o = { .lanes = lanes,
					 .drain_when_inputs_end = 1 };

	return harness_launch_with(rt, 0, o);
}

/* ---- collectives --------------------------------------------------------- */

static void collect(uint32_t n)
{
	struct peal_link_options none = { .capacity = 0 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = launch(rt, n);
	uint64_t actor = harness_spawn(k, "lanes", 0);
	struct peal_received r;
	struct relay_lanes out;
	uint32_t mixed = 0;
	uint32_t i;

	for (i = 1; i <= n; i++)
		mixed ^= i;
	harness_from(rt, e, 0, actor, none);
	harness_to(rt, actor, e, none);
	for (i = 0; i < 3; i++)
		CHECK_OK(peal_send(e, 0, 0, "", 0, MAX_WAIT, NULL));
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	for (i = 0; i < 3; i++) {
		CHECK_OK(peal_receive(e, &out, sizeof(out), &r, MAX_WAIT));
		CHECK_EQ(r.length, sizeof(out));
		CHECK_EQ(out.sum, n * (n - 1) / 2);
		CHECK_EQ(out.last, (n - 1) * 3);
		CHECK_EQ(out.leader, 77);
		CHECK_EQ(out.any, 1);
		CHECK_EQ(out.all, 1);
		CHECK_EQ(out.none, n == 1);
		CHECK_EQ(out.elected, n == 1 ? -1 : (int)(n + 1) / 2);
		CHECK_EQ(out.lanes, n);
		CHECK_EQ(out.mixed, mixed);
	}
	CHECK_OK(peal_kernel_wait(k, MAX_WAIT));
	harness_conserved(rt);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(lane_collectives_match_their_definition)
{
	collect(1);
	collect(4);
	collect(32);
	collect(33);
}

/* ---- echo, burst and sink ------------------------------------------------ */

static void echo_sizes(uint32_t lanes, uint32_t policy)
{
	static const uint64_t sizes[] = { 0, 1, 7, 24, 63, 100, 511, 5000 };
	struct peal_link_options o = { .message_bytes = 5000,
				       .slot_bytes = 128 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = launch(rt, lanes);
	uint64_t actor = harness_spawn(k, "echo", 0);
	struct peal_received r;
	uint8_t buffer[5000];
	uint64_t i;

	o.policy = harness_policy(rt, policy);
	harness_from(rt, e, 0, actor, o);
	harness_to(rt, actor, e, o);
	for (i = 0; i < 80; i++) {
		uint64_t n = sizes[i % 8];

		harness_fill(buffer, n, 4, i);
		CHECK_OK(peal_send(e, 0, 9, buffer, n, MAX_WAIT, NULL));
		CHECK_OK(peal_receive(e, buffer, sizeof(buffer), &r, MAX_WAIT));
		CHECK_EQ(r.length, n);
		CHECK_EQ(r.type, 9);
		CHECK(harness_intact(buffer, n, 4, i));
	}
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(k, MAX_WAIT));
	harness_conserved(rt);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(echo_is_equal_for_any_lane_count)
{
	size_t i;

	for (i = 0; i < 3; i++) {
		echo_sizes(lane_counts[i], PEAL_POLICY_SEQUENCE);
		echo_sizes(lane_counts[i], PEAL_POLICY_ATOM8);
	}
}

static void burst_to_sink(uint32_t lanes)
{
	struct peal_link_options o = { .capacity = 64 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = launch(rt, lanes), *l = launch(rt, lanes);
	uint64_t from = harness_spawn(k, "burst", 0);
	uint64_t to = harness_spawn(l, "sink", 0);
	struct relay_order order = { 3, 1000 };
	struct peal_link *link, *self;
	struct relay_sink sink;

	harness_from(rt, e, 0, from, o);
	link = harness_link(rt, from, 0, to, o);
	self = harness_link(rt, from, 1, from, o);
	CHECK_OK(peal_send(e, 0, 0, &order, sizeof(order), MAX_WAIT, NULL));
	EVENTUALLY(harness_info(link).delivered == 1000);
	CHECK_OK(peal_link_destroy(self));
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(l, MAX_WAIT));
	CHECK_OK(peal_actor_state(rt, to, &sink, sizeof(sink)));
	CHECK_EQ(sink.received, 1000);
	CHECK_EQ(sink.next, 1000);
	CHECK_EQ(sink.damaged, 0);
	CHECK_EQ(sink.misordered, 0);
	harness_conserved(rt);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(burst_and_sink_counts_ignore_lane_count)
{
	size_t i;

	for (i = 0; i < 3; i++)
		burst_to_sink(lane_counts[i]);
}

/* ---- stages -------------------------------------------------------------- */

#define ITEMS 7
#define BODY_MAX 4096

static const struct peal_item items[ITEMS] = {
	{ .width = 1, .height = 1, .body_bytes = 1 },
	{ .width = 3, .height = 1, .body_bytes = 3 },
	{ .width = 0, .height = 0, .body_bytes = 0 },
	{ .width = 7, .height = 5, .body_bytes = 41 },
	{ .width = 33, .height = 9, .body_bytes = 297 },
	{ .width = 64, .height = 48, .body_bytes = 3072 + 1024 },
	{ .width = 641, .height = 3, .body_bytes = 1923 },
};

/* Makes test item n: a head, and a body of random floats or bytes. */
static void make_item(uint32_t kind, uint32_t n, struct peal_item *head,
		      uint8_t *body)
{
	unsigned long long random = n + 1;
	uint32_t i;
	float f;

	*head = items[n];
	head->sequence = n;
	for (i = 0; i < head->body_bytes; i++)
		body[i] = (uint8_t)test_random(&random);
	if (kind != PEAL_STAGE_AFFINE && kind != PEAL_STAGE_SQRT)
		return;
	for (i = 0; i + 4 <= head->body_bytes; i += 4) {
		f = (float)(test_random(&random) % 1000000) / 7;
		memcpy(body + i, &f, 4);
	}
}

/* Sends item n through the stage and compares the result with the reference. */
static void check_item(struct peal_endpoint *e,
		       const struct peal_stage_config *config, uint32_t n,
		       uint64_t *crc_sum)
{
	static uint8_t in[sizeof(struct peal_item) + BODY_MAX];
	static uint8_t want[BODY_MAX + 4], got[sizeof(in)];
	struct peal_item *head = (struct peal_item *)(void *)in;
	uint8_t *body = in + sizeof(*head);
	uint64_t bytes = sizeof(*head) + items[n].body_bytes;
	struct peal_received r;

	make_item(config->kind, n, head, body);
	CHECK_OK(peali_stage_reference(config, head, body, want));
	*crc_sum += peali_crc32c_reference(body, head->body_bytes);
	CHECK_OK(peal_send(e, 0, 5, in, bytes, MAX_WAIT, NULL));
	CHECK_OK(peal_receive(e, got, sizeof(got), &r, MAX_WAIT));
	CHECK_EQ(r.length, bytes);
	CHECK(!memcmp(got, in, sizeof(*head)));
	CHECK(!memcmp(got + sizeof(*head), want, head->body_bytes));
}

static void run_stage(const struct peal_stage_config *config, uint32_t lanes)
{
	struct peal_link_options o = {
		.message_bytes = sizeof(struct peal_item) + BODY_MAX
	};
	struct peal_actor_options a = { .size = sizeof(a),
					.init = config,
					.init_bytes = sizeof(*config) };
	struct peal_kernel_options options = { .size = sizeof(options),
					       .lanes = lanes,
					       .drain_when_inputs_end = 1 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_stage_state state;
	uint64_t actor = 0, crc_sum = 0;
	struct peal_kernel *k = NULL;
	uint32_t n;

	CHECK_OK(peal_kernel_launch(rt, 0, peal_program_find(rt, "peal_stages"),
				    &options, &k));
	CHECK_OK(peal_actor_spawn(k, "stage", &a, &actor));
	harness_from(rt, e, 0, actor, o);
	harness_to(rt, actor, e, o);
	for (n = 0; n < ITEMS; n++)
		check_item(e, config, n, &crc_sum);
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(k, MAX_WAIT));
	CHECK_OK(peal_actor_state(rt, actor, &state, sizeof(state)));
	CHECK_EQ(state.items, ITEMS);
	if (config->kind != PEAL_STAGE_CRC32C)
		crc_sum = 0;
	CHECK_EQ(state.crc_sum, crc_sum);
	harness_conserved(rt);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(stages_match_reference_for_any_lane_count)
{
	struct peal_stage_config config = {
		.level = 96, .a = 1.5f, .b = -0.25f, .key = 0x5a
	};
	size_t i;

	for (config.kind = 0; config.kind < PEAL_STAGE_KINDS; config.kind++)
		for (i = 0; i < 3; i++)
			run_stage(&config, lane_counts[i]);
}

PEAL_TEST_MAIN(RUN(lane_collectives_match_their_definition);
	       RUN(echo_is_equal_for_any_lane_count);
	       RUN(burst_and_sink_counts_ignore_lane_count);
	       RUN(stages_match_reference_for_any_lane_count);)
