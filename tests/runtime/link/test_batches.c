/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch handlers: each message is handled once, in the order of its actor, and
 * ends with its own result.
 */
#include "runtime/batch_fixture.h"

/* ---- messages of a batch --------------------------------------------------- */

PEAL_TEST(messages_for_one_actor_share_a_batch)
{
	struct fixture s;
	struct batch_state state;

	open_fixture(&s, "shared", 1);
	send_all(&s, BATCH_ECHO);
	receive_all(&s);
	CHECK_EQ(wait_ended(&s, N).delivered, N);
	/* a GPU may show bytes later than their messages */
	EVENTUALLY(harness_info(s.link).delivered_bytes == N * ITEM_BYTES);
	EVENTUALLY(harness_info(s.answers[0]).accepted_bytes == N * ITEM_BYTES);
	state = state_of(&s, 0);
	CHECK_EQ(state.handled, N);
	CHECK_EQ(state.largest, largest());
	expect_no_more(&s);
	close_fixture(&s);
}

PEAL_TEST(messages_for_one_actor_are_in_batches_of_their_own)
{
	struct fixture s;
	struct batch_state state;

	open_fixture(&s, "each", 1);
	send_all(&s, BATCH_ECHO);
	receive_all(&s);
	state = state_of(&s, 0);
	CHECK_EQ(state.handled, N);
	CHECK_EQ(state.largest, 1);
	close_fixture(&s);
}

/* Message i is for actor i % ACTORS. */
PEAL_TEST(messages_for_many_actors_share_a_batch)
{
	uint64_t next[ACTORS] = { 0 }, most = 0, i;
	struct peal_received r;
	struct batch_item item;
	struct fixture s;

	open_fixture(&s, "each", ACTORS);
	for (i = 0; i < N; i++)
		send_to(&s, (uint32_t)i % ACTORS, BATCH_ECHO, i, 0);
	CHECK_OK(peal_kernel_resume(s.k));
	for (i = 0; i < N; i++) {
		uint32_t actor;

		CHECK_OK(
			peal_receive(s.out, &item, sizeof(item), &r, MAX_WAIT));
		actor = (uint32_t)(item.number % ACTORS);
		CHECK_EQ(r.from, s.actor[actor]);
		CHECK_EQ(item.number, next[actor]++ * ACTORS + actor);
		CHECK_EQ(item.check, batch_check(item.number));
	}
	for (i = 0; i < ACTORS; i++) {
		struct batch_state state = state_of(&s, (uint32_t)i);

		CHECK_EQ(state.handled, next[i]);
		CHECK_EQ(state.self, (uint32_t)s.actor[i]);
		most = state.largest > most ? state.largest : most;
	}
	CHECK_EQ(most, largest());
	expect_no_more(&s);
	close_fixture(&s);
}

/* Actors of three handlers in turn, and twice the same one. */
PEAL_TEST(a_batch_ends_before_another_handler)
{
	static const uint32_t turn[] = { 0, 1, 1, 2, 0, 0, 0, 2, 1, 0 };
	struct peal_kernel_options none = { .size = 0 };
	uint64_t next[3] = { 0 }, sent[3][N], n_sent[3] = { 0 }, i;
	struct peal_received r;
	struct batch_item item;
	struct fixture s;

	open_kernel(&s, &peal_program_batches, none);
	add_actor(&s, "shared", NULL, usual, usual);
	add_actor(&s, "each", NULL, usual, usual);
	add_actor(&s, "plain", NULL, usual, usual);
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	for (i = 0; i < N; i++) {
		uint32_t to = turn[i % 10];

		sent[to][n_sent[to]++] = i;
		send_to(&s, to, BATCH_ECHO, i, 0);
	}
	CHECK_OK(peal_kernel_resume(s.k));
	for (i = 0; i < N; i++) {
		uint32_t from;

		CHECK_OK(
			peal_receive(s.out, &item, sizeof(item), &r, MAX_WAIT));
		for (from = 0; s.actor[from] != r.from; from++)
			CHECK(from < 3);
		CHECK_EQ(item.number, sent[from][next[from]++]);
	}
	CHECK_EQ(wait_ended(&s, N).delivered, N);
	/* three in a row; fewer if the worker fetches the others later */
	CHECK(state_of(&s, 0).largest <= 3);
	if (lanes >= 4)
		CHECK(state_of(&s, 0).largest >= 2);
	close_fixture(&s);
}

/* ---- results -------------------------------------------------------------- */

/*
 * All failures of an actor in a batch count as one for its supervisor. Then it
 * restarts once.
 */
PEAL_TEST(failures_of_an_actor_in_a_batch_restart_it_once)
{
	struct peal_kernel_options o = { .max_supervisors = 1 };
	struct peal_supervisor_options so = { .size = sizeof(so),
					      .max_restarts = 30,
					      .period_ns = 3600 * SECOND };
	struct peal_supervisor *supervisor = NULL;
	struct peal_supervisor_info info;
	struct peal_link_info link;
	struct fixture s;
	uint32_t i;

	open_kernel(&s, &peal_program_batches, o);
	CHECK_OK(peal_supervisor_create(s.k, &so, &supervisor));
	add_actor(&s, "shared", supervisor, usual, usual);
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	for (i = 0; i < 32; i++)
		send_to(&s, 0, i % 4 == 1 ? BATCH_FAIL : BATCH_ECHO, i, 0);
	CHECK_OK(peal_kernel_resume(s.k));
	link = wait_ended(&s, 32);
	CHECK_EQ(link.dead[PEAL_REASON_HANDLER], 8);
	CHECK_EQ(link.delivered, 24);
	CHECK_OK(peal_supervisor_info(supervisor, &info));
	CHECK(info.failures >= 1);
	CHECK(info.failures <= 8);
	if (lanes == 1)
		CHECK_EQ(info.failures, 8);
	else if (state_of(&s, 0).largest == 32)
		CHECK_EQ(info.failures, 1);
	close_fixture(&s);
}

/* Every seventh message fails, and every fifth emits nothing. */
static uint16_t mixed_action(uint64_t number)
{
	return number % 7 == 3 ? BATCH_FAIL :
	       number % 5 == 1 ? BATCH_SILENT :
				 BATCH_ECHO;
}

static void expect_mixed(const char *handler, uint32_t actors)
{
	uint64_t i, n_failed = 0, echoes = 0;
	struct peal_received r;
	struct batch_item item;
	struct peal_link_info info;
	uint8_t seen[N] = { 0 };
	struct fixture s;

	open_fixture(&s, handler, actors);
	for (i = 0; i < N; i++) {
		n_failed += mixed_action(i) == BATCH_FAIL;
		echoes += mixed_action(i) == BATCH_ECHO;
		send_to(&s, (uint32_t)i % actors, mixed_action(i), i, 0);
	}
	CHECK_OK(peal_kernel_resume(s.k));
	for (i = 0; i < echoes; i++) {
		CHECK_OK(
			peal_receive(s.out, &item, sizeof(item), &r, MAX_WAIT));
		CHECK(item.number < N);
		CHECK_EQ(mixed_action(item.number), BATCH_ECHO);
		CHECK_EQ(r.from, s.actor[item.number % actors]);
		CHECK(!seen[item.number]);
		seen[item.number] = 1;
	}
	info = wait_ended(&s, N);
	CHECK_EQ(info.dead[PEAL_REASON_HANDLER], n_failed);
	CHECK_EQ(info.delivered, N - n_failed);
	EVENTUALLY(harness_info(s.link).delivered_bytes ==
		   info.delivered * ITEM_BYTES);
	expect_no_more(&s);
	close_fixture(&s);
}

PEAL_TEST(only_the_messages_that_fail_are_dead)
{
	expect_mixed("shared", 1);
	expect_mixed("each", ACTORS);
	expect_mixed("each", 3);
}

/* A failed actor restarts with an empty state. The others keep theirs. */
PEAL_TEST(a_failure_in_a_batch_restarts_its_actor)
{
	struct peal_kernel_options o = { .max_supervisors = 1 };
	struct peal_supervisor_options so = { .size = sizeof(so),
					      .max_restarts = 30,
					      .period_ns = 3600 * SECOND };
	struct peal_supervisor *supervisor = NULL;
	struct peal_supervisor_info info;
	struct fixture s;
	uint32_t i;

	open_kernel(&s, &peal_program_batches, o);
	CHECK_OK(peal_supervisor_create(s.k, &so, &supervisor));
	for (i = 0; i < 8; i++)
		add_actor(&s, "each", supervisor, usual, usual);
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	for (i = 0; i < 24; i++)
		send_to(&s, i % 8, i == 10 || i == 13 ? BATCH_FAIL : BATCH_ECHO,
			i, 0);
	CHECK_OK(peal_kernel_resume(s.k));
	CHECK_EQ(wait_ended(&s, 24).dead[PEAL_REASON_HANDLER], 2);
	for (i = 0; i < 8; i++)
		CHECK_EQ(state_of(&s, i).handled, i == 2 || i == 5 ? 1 : 3);
	CHECK_OK(peal_supervisor_info(supervisor, &info));
	CHECK_EQ(info.failures, 2);
	close_fixture(&s);
}

PEAL_TEST(messages_of_another_length_are_malformed)
{
	struct batch_item item = item_of(7);
	struct fixture s;
	uint64_t i;

	open_fixture(&s, "sized", 1);
	for (i = 0; i < N; i++)
		CHECK_OK(peal_send(s.in, 0, BATCH_ECHO, &item,
				   i % 4 ? sizeof(item) : i % 24, MAX_WAIT,
				   NULL));
	CHECK_OK(peal_kernel_resume(s.k));
	for (i = 0; i < N - N / 4; i++)
		receive_from(&s, 0, 7);
	CHECK_EQ(wait_ended(&s, N).dead[PEAL_REASON_HANDLER], N / 4);
	CHECK_EQ(state_of(&s, 0).handled, N - N / 4);
	CHECK_EQ(state_of(&s, 0).inits, 1);
	close_fixture(&s);
}

/* ---- messages with a turn of their own ------------------------------------ */

PEAL_TEST(expired_messages_of_a_batch_are_dead)
{
	uint64_t far = peal_deadline_from_now(3600 * SECOND), i, n_dead = 0;
	uint64_t past = peal_deadline_from_now(1);
	struct peal_kernel_options none = { .size = 0 };
	struct peal_link_options wide = usual;
	struct fixture s;

	open_kernel(&s, &peal_program_batches, none);
	wide.message_bytes += PEAL_DEADLINE_BYTES;
	add_actor(&s, "shared", NULL, wide, usual);
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	for (i = 0; i < N; i++)
		send_to(&s, 0, BATCH_ECHO, i,
			i % 10 == 4 ? past :
			i % 10 == 8 ? far :
				      0);
	CHECK_OK(peal_kernel_resume(s.k));
	for (i = 0; i < N; i++) {
		if (i % 10 == 4)
			n_dead++;
		else
			receive_from(&s, 0, i);
	}
	CHECK_EQ(wait_ended(&s, N).dead[PEAL_REASON_EXPIRED], n_dead);
	expect_no_more(&s);
	close_fixture(&s);
}

PEAL_TEST(messages_for_no_actor_are_dead)
{
	struct batch_item item = item_of(1);
	struct fixture s;
	uint64_t i;

	open_fixture(&s, "shared", 1);
	s.actor[1] = harness_spawn(s.k, "shared", 0);
	CHECK_OK(peal_kernel_resume(s.k));
	CHECK_OK(peal_actor_retire(s.rt, s.actor[1]));
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	for (i = 0; i < N; i++)
		CHECK_OK(peal_send_to(s.in, 0, s.actor[i % 10 == 5], BATCH_ECHO,
				      &item, sizeof(item), MAX_WAIT, NULL));
	CHECK_OK(peal_kernel_resume(s.k));
	CHECK_EQ(wait_ended(&s, N).dead[PEAL_REASON_NO_ACTOR], N / 10);
	for (i = 0; i < N - N / 10; i++)
		receive_from(&s, 0, 1);
	close_fixture(&s);
}

/* Byte k of text i. */
static uint8_t text_byte(uint64_t i, uint64_t k)
{
	return (uint8_t)(batch_check(i) >> 8 * (k % 8)) ^ (uint8_t)k;
}

/* Texts of all lengths, in slots of any size. Some need a slab. */
static void expect_texts(uint32_t slot_bytes)
{
	struct peal_link_options o = { .capacity = 64,
				       .slot_bytes = slot_bytes,
				       .message_bytes = BATCH_TEXT_MOST };
	struct peal_kernel_options none = { .size = 0 };
	uint8_t text[BATCH_TEXT_MOST];
	struct peal_received r;
	struct fixture s;
	uint64_t i, k, round, n;

	open_kernel(&s, &peal_program_batches, none);
	add_actor(&s, "text", NULL, o, o);
	for (round = 0; round < 8; round++) {
		CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
		for (i = 0; i < 32; i++) {
			n = (round * 32 + i) * 37 % (BATCH_TEXT_MOST + 1);
			for (k = 0; k < n; k++)
				text[k] = text_byte(round * 32 + i, k);
			CHECK_OK(peal_send(s.in, 0, (uint16_t)i, text, n,
					   MAX_WAIT, NULL));
		}
		CHECK_OK(peal_kernel_resume(s.k));
		for (i = 0; i < 32; i++) {
			CHECK_OK(peal_receive(s.out, text, sizeof(text), &r,
					      MAX_WAIT));
			CHECK_EQ(r.type, i);
			n = (round * 32 + i) * 37 % (BATCH_TEXT_MOST + 1);
			CHECK_EQ(r.length, n);
			for (k = 0; k < n; k++)
				CHECK_EQ(text[k], text_byte(round * 32 + i, k));
		}
	}
	close_fixture(&s);
}

PEAL_TEST(texts_of_all_lengths_arrive)
{
	expect_texts(320);
	expect_texts(64);
}

/* Each atom policy on the host, too. */
PEAL_TEST(batches_work_with_each_policy)
{
	uint32_t policy;

	for (policy = PEAL_POLICY_SEQUENCE; policy <= PEAL_POLICY_ATOM8;
	     policy++) {
		struct peal_kernel_options none = { .size = 0 };
		struct peal_link_options o = usual;
		struct fixture s;

		open_kernel(&s, &peal_program_batches, none);
		o.policy = harness_policy(s.rt, policy);
		add_actor(&s, "shared", NULL, o, o);
		CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
		send_all(&s, BATCH_ECHO);
		receive_all(&s);
		CHECK_EQ(state_of(&s, 0).largest, largest());
		close_fixture(&s);
	}
}

/* ---- turns of other inputs ------------------------------------------------ */

/*
 * Fills the inputs of a batch actor and of an actor that takes notes. The notes
 * say how many messages the batch actor gets between two notes. *largest_out: messages of the largest batch.
 */
static struct batch_notes notes_with(uint32_t batch_priority,
				     uint32_t note_priority,
				     uint64_t *largest_out)
{
	struct peal_kernel_options none = { .size = 0 };
	struct peal_link_options deep = usual, other = usual;
	struct batch_notes notes;
	struct fixture s;
	uint64_t i, to;

	open_kernel(&s, &peal_program_batches, none);
	deep.capacity = other.capacity = 1024;
	deep.priority = batch_priority;
	other.priority = note_priority;
	add_actor(&s, "shared", NULL, deep, usual);
	to = harness_spawn(s.k, "note", 0);
	harness_link(s.rt, peal_endpoint_address(s.in), 1, to, other);
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	for (i = 0; i < 1000; i++) {
		struct batch_item item = item_of(i);

		item.gate = harness_address(s.gate);
		send_to(&s, 0, BATCH_COUNT, i, 0);
		CHECK_OK(peal_send(s.in, 1, 1, &item, sizeof(item), MAX_WAIT,
				   NULL));
	}
	CHECK_OK(peal_kernel_resume(s.k));
	wait_ended(&s, 1000);
	*largest_out = state_of(&s, 0).largest;
	do {
		CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
		CHECK_OK(peal_actor_state(s.rt, to, &notes, sizeof(notes)));
		CHECK_OK(peal_kernel_resume(s.k));
	} while (notes.notes < 1000);
	CHECK_EQ(s.gate[0], 1000);
	close_fixture(&s);
	return notes;
}

PEAL_TEST(another_input_has_its_turn_after_four_batches)
{
	uint64_t most = 0;
	struct batch_notes notes = notes_with(0, 0, &most);

	CHECK_EQ(most, largest());
	CHECK(notes.most_between <= (lanes < 8 ? 39 : 4 * largest()));
	CHECK(notes.most_between >= 8);
}

/* 32 messages of high priority, then another one. */
PEAL_TEST(batches_keep_the_turns_of_priorities)
{
	uint64_t most = 0;
	struct batch_notes notes;

	notes = notes_with(PEAL_PRIORITY_HIGH, 0, &most);
	CHECK_EQ(most, largest());
	CHECK(notes.most_between <= 32);
	notes = notes_with(0, PEAL_PRIORITY_HIGH, &most);
	CHECK_EQ(most, 1); /* a turn of one message */
}

/* ---- long runs and ends --------------------------------------------------- */

/* The ring wraps around many times, with batches of all sizes. */
PEAL_TEST(a_long_stream_keeps_its_order)
{
	const uint64_t n = 6000;
	struct peal_kernel_options none = { .size = 0 };
	struct peal_link_options o = usual;
	uint64_t sent = 0, got = 0, random = 1, burst;
	struct fixture s;

	open_kernel(&s, &peal_program_batches, none);
	o.capacity = 64;
	add_actor(&s, "shared", NULL, o, o);
	while (got < n) {
		random = random * 6364136223846793005ULL + 1;
		burst = 1 + (random >> 40) % 60;
		while (burst-- && sent < n && sent - got < 60)
			send_to(&s, 0, BATCH_ECHO, sent++, 0);
		burst = 1 + (random >> 50) % 60;
		while (burst-- && got < sent)
			receive_from(&s, 0, got++);
	}
	CHECK_EQ(wait_ended(&s, n).delivered, n);
	close_fixture(&s);
}

/*
 * A kernel is aborted while the handler runs for a batch. The handler then
 * returns, so its messages are delivered. The later messages are dead.
 */
PEAL_TEST(an_abort_ends_after_the_batch)
{
	struct peal_link_info info;
	struct fixture s;
	uint64_t i;

	open_fixture(&s, "shared", 1);
	for (i = 0; i < N; i++)
		send_to(&s, 0, i == 40 ? BATCH_HOLD : BATCH_SILENT, i, 0);
	CHECK_OK(peal_kernel_resume(s.k));
	EVENTUALLY(peal_load_relaxed_sys(&s.gate[1]));
	CHECK_OK(peal_kernel_abort(s.k, MAX_WAIT));
	info = harness_info(s.link);
	CHECK(harness_holds(&info));
	CHECK(info.delivered >= 41);
	CHECK(info.delivered <= 40 + largest());
	CHECK_EQ(info.undelivered, N - info.delivered);
	CHECK_EQ(info.undelivered_first, info.delivered);
	CHECK_EQ(info.dead[PEAL_REASON_STOPPED], info.undelivered);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST_MAIN(RUN_LANES(messages_for_one_actor_share_a_batch);
	       RUN_LANES(messages_for_one_actor_are_in_batches_of_their_own);
	       RUN_LANES(messages_for_many_actors_share_a_batch);
	       RUN_LANES(a_batch_ends_before_another_handler);
	       RUN_LANES(failures_of_an_actor_in_a_batch_restart_it_once);
	       RUN_LANES(only_the_messages_that_fail_are_dead);
	       RUN_LANES(a_failure_in_a_batch_restarts_its_actor);
	       RUN_LANES(messages_of_another_length_are_malformed);
	       RUN_LANES(expired_messages_of_a_batch_are_dead);
	       RUN_LANES(messages_for_no_actor_are_dead);
	       RUN_LANES(texts_of_all_lengths_arrive);
	       RUN_LANES(batches_work_with_each_policy);
	       RUN_LANES(another_input_has_its_turn_after_four_batches);
	       RUN_LANES(batches_keep_the_turns_of_priorities);
	       RUN_LANES(a_long_stream_keeps_its_order);
	       RUN_LANES(an_abort_ends_after_the_batch);)
