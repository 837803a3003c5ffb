/* SPDX-License-Identifier: Apache-2.0 */
/* Batch handlers send: each lane a message of its own, in the order of the lanes. */
#include "runtime/batch_fixture.h"

/* Two actors share a port. Their messages share its slots. */
static void expect_shared_ports(const char *handler, uint32_t capacity)
{
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = PEAL_WORKER(0) };
	struct peal_kernel_options none = { .size = 0 };
	struct peal_link_options out = usual;
	struct peal_received r;
	struct batch_item item;
	struct fixture s;
	uint64_t i;

	open_kernel(&s, &peal_program_batches_checked, none);
	out.capacity = capacity;
	add_actor(&s, handler, NULL, usual, out);
	o.share_ports_with = s.actor[0];
	CHECK_OK(peal_actor_spawn(s.k, handler, &o, &s.actor[1]));
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	for (i = 0; i < N; i++)
		send_to(&s, i & 1, BATCH_ECHO, i, 0);
	CHECK_OK(peal_kernel_resume(s.k));
	for (i = 0; i < N; i++) {
		CHECK_OK(
			peal_receive(s.out, &item, sizeof(item), &r, MAX_WAIT));
		CHECK_EQ(item.number, i);
	}
	CHECK_EQ(wait_ended(&s, N).delivered, N);
	close_fixture(&s);
}

PEAL_TEST(actors_with_shared_ports_lose_nothing)
{
	expect_shared_ports("each", 2 * CAPACITY);
	expect_shared_ports("shared", 2 * CAPACITY);
	expect_shared_ports("each", 8);
	expect_shared_ports("shared", 2);
}

static void expect_twice(const char *handler)
{
	uint64_t next[2] = { 0 }; /* number of the next first or second echo */
	uint8_t seen[N] = { 0 };
	struct peal_link_options wide = usual;
	struct peal_kernel_options none = { .size = 0 };
	struct fixture s;
	uint64_t i;

	open_kernel(&s, &peal_program_batches, none);
	wide.capacity = 2 * CAPACITY;
	add_actor(&s, handler, NULL, usual, wide);
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	send_all(&s, BATCH_TWICE);
	CHECK_EQ(wait_ended(&s, N).delivered, N);
	harness_delivered(s.link, N);
	EVENTUALLY(harness_info(s.answers[0]).accepted == 2 * N);
	for (i = 0; i < 2 * N; i++) { /* each call in the order of the lanes */
		struct peal_received r;
		struct batch_item item;

		CHECK_OK(
			peal_receive(s.out, &item, sizeof(item), &r, MAX_WAIT));
		CHECK(item.number < N);
		CHECK_EQ(item.number, next[seen[item.number]]);
		next[seen[item.number]]++;
		seen[item.number]++;
	}
	close_fixture(&s);
}

PEAL_TEST(a_message_may_emit_several_messages)
{
	expect_twice("shared");
	expect_twice("each");
}

/* Sends messages that fail, among good ones. */
static void expect_errors(const struct peal_program *program,
			  const char *handler, uint16_t action)
{
	struct peal_kernel_options none = { .size = 0 };
	struct peal_link_options wide = usual;
	struct peal_link_info info;
	struct fixture s;
	uint64_t i;

	open_kernel(&s, program, none);
	wide.capacity = 4 * CAPACITY;
	add_actor(&s, handler, NULL, usual, wide);
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	for (i = 0; i < N; i++)
		send_to(&s, 0, i % 50 == 20 ? action : BATCH_ECHO, i, 0);
	CHECK_OK(peal_kernel_resume(s.k));
	info = wait_ended(&s, N);
	CHECK_EQ(info.dead[PEAL_REASON_HANDLER], 2);
	close_fixture(&s);
}

PEAL_TEST(a_message_that_sends_wrongly_is_dead)
{
	const struct peal_program *program = &peal_program_batches;

	expect_errors(program, "shared", BATCH_TOO_LONG);
	expect_errors(program, "each", BATCH_TOO_LONG);
	expect_errors(program, "shared", BATCH_WRONG_PORT);
	expect_errors(program, "each", BATCH_WRONG_PORT);
}

/* All messages of the batch send too often, so each of them fails. */
PEAL_TEST(messages_beyond_the_declared_number_fail)
{
	struct peal_kernel_options none = { .size = 0 };
	struct peal_link_options wide = usual;
	struct fixture s;

	open_kernel(&s, &peal_program_batches_checked, none);
	wide.capacity = 4 * CAPACITY;
	add_actor(&s, "shared", NULL, usual, wide);
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	send_all(&s, BATCH_TOO_OFTEN);
	CHECK_EQ(wait_ended(&s, N).dead[PEAL_REASON_HANDLER], N);
	EVENTUALLY(harness_info(s.answers[0]).accepted == BATCH_EMITS * N);
	close_fixture(&s);
}

/* The answers have 8 slots, and the host takes them late. */
static void expect_pressure(const char *handler)
{
	struct peal_kernel_options none = { .size = 0 };
	struct peal_link_options narrow = usual;
	struct fixture s;

	open_kernel(&s, &peal_program_batches, none);
	narrow.capacity = 8;
	add_actor(&s, handler, NULL, usual, narrow);
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	send_all(&s, BATCH_ECHO);
	EVENTUALLY(harness_info(s.answers[0]).full_count);
	receive_all(&s);
	CHECK_EQ(wait_ended(&s, N).delivered, N);
	expect_no_more(&s);
	close_fixture(&s);
}

PEAL_TEST(a_batch_ends_where_the_free_slots_end)
{
	expect_pressure("shared");
	expect_pressure("each");
}

/* The receiver of the answers has ended. */
PEAL_TEST(a_batch_to_a_closed_link_is_delivered)
{
	struct peal_kernel_options none = { .size = 0 };
	struct peal_link_info info;
	struct peal_kernel *end;
	struct fixture s;

	open_kernel(&s, &peal_program_batches, none);
	end = harness_launch(s.rt, 0);
	add_actor(&s, "shared", NULL, usual, usual);
	CHECK_OK(peal_link_destroy(s.answers[0]));
	s.answers[0] = harness_link(s.rt, s.actor[0], 0,
				    harness_spawn(end, "sink", -1), usual);
	CHECK_OK(peal_kernel_stop(end, MAX_WAIT));
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	send_all(&s, BATCH_ECHO);
	CHECK_EQ(wait_ended(&s, N).delivered, N);
	do { /* a GPU shows the counts in any order */
		info = harness_info(s.answers[0]);
	} while (info.accepted != N || harness_dead(&info) != N);
	close_fixture(&s);
}

PEAL_TEST_MAIN(RUN_LANES(actors_with_shared_ports_lose_nothing);
	       RUN_LANES(a_message_may_emit_several_messages);
	       RUN_LANES(a_message_that_sends_wrongly_is_dead);
	       RUN_LANES(messages_beyond_the_declared_number_fail);
	       RUN_LANES(a_batch_ends_where_the_free_slots_end);
	       RUN_LANES(a_batch_to_a_closed_link_is_delivered);)
