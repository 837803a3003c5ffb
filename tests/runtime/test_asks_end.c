/* SPDX-License-Identifier: Apache-2.0 */
/* Each ask has one answer, also if a pool, an actor or a kernel ends. Asks
 * beyond a limit fail. */
#include "runtime/ask_scene.h"
#include "runtime/kernel/kernel.h"

/* ---- pools --------------------------------------------------------------- */

static struct scene pool_open(struct peal_pool_options p, uint64_t *pool_out)
{
	struct peal_kernel_options none = { .asks = 0 };
	struct scene s = { .rt = harness_open(1, "") };

	s.e = harness_endpoint(s.rt);
	scene_launch(&s, none, &peal_program_ask_pools);
	p.size = sizeof(p);
	CHECK_OK(peal_pool_create(s.k, &p, pool_out));
	return s;
}

PEAL_TEST(a_member_of_a_pool_replies_refuses_and_fails)
{
	struct peal_pool_options p = { .capacity = 16 };
	uint64_t pool = 0, member[2];
	struct scene s = pool_open(p, &pool);
	struct asks_order o = { .to = (uint32_t)pool, .n = 1 };
	uint32_t i;

	for (i = 0; i < 2; i++) {
		member[i] = harness_spawn(s.k, "server", (int)i);
		CHECK_OK(peal_pool_join(s.rt, pool, member[i]));
	}
	for (i = 0; i < 20; i++) {
		scene_ask(&s, i % 2, pool, ASKS_REPLY, 0);
		scene_expect(&s, 0, 41);
		scene_ask(&s, i % 2, pool, ASKS_FAIL, 0);
		scene_expect(&s, PEAL_EHANDLER, 0);
		o.request.how = ASKS_REFUSE;
		o.request.error = PEAL_EPERM;
		CHECK_EQ(scene_order(&s, i % 2, o).result, 0);
		scene_expect(&s, PEAL_EPERM, 0);
	}
	o.request.how = ASKS_CHAIN;
	o.request.other = (uint32_t)pool;
	o.request.value = 20;
	o.to = (uint32_t)s.party[1];
	CHECK_EQ(scene_order(&s, 0, o).result, 0);
	scene_expect(&s, 0, 41);
	for (i = 0; i < 2; i++)
		CHECK_OK(peal_pool_leave(s.rt, pool, member[i]));
	CHECK_OK(peal_pool_destroy(s.rt, pool));
	CHECK_EQ(scene_close(&s).failed, 20);
}

/* Runs without and with a receiver of dead letters. */
PEAL_TEST(asks_in_a_pool_that_is_destroyed_fail_at_once)
{
	struct peal_pool_options p = { .capacity = 16 };
	struct asks_order o = { .n = 5 };
	uint64_t pool = 0;
	struct scene s;
	uint32_t i, heard;

	for (heard = 0; heard < 2; heard++) {
		s = pool_open(p, &pool);
		if (heard)
			scene_letters(&s);
		o.to = (uint32_t)pool;
		CHECK_EQ(scene_order(&s, 0, o).n, 5);
		CHECK_EQ(scene_order(&s, 1, o).n, 5);
		CHECK_OK(peal_pool_destroy(s.rt, pool));
		for (i = 0; i < 10; i++)
			scene_expect(&s, PEAL_ENOENT, 0);
		if (heard)
			CHECK_OK(peal_dead_letters(s.k, 0, NULL));
		CHECK_EQ(scene_close(&s).failed, 10);
	}
}

/* ---- limits of open asks ------------------------------------------------- */

/* Two actors ask each other and themselves up to the limit. Requests fill the
 * small mailboxes, but each ask gets its answer. */
PEAL_TEST(a_storm_of_asks_is_answered_or_refused_to_begin)
{
	struct peal_kernel_options tight = { .asks = 5, .mailbox_slots = 32 };
	struct scene s = scene_open(tight);
	struct asks_order o = { .n = ASKS_TELLS, .quiet = 1 };
	struct asks_ordered out;
	struct peal_ask_counts a;
	uint64_t asked = 0, full = 0;
	uint32_t i, how;

	for (i = 0; i < 400; i++) {
		how = i % 4;
		o.request.how = how == 3 ? ASKS_DELEGATE :
				how == 2 ? ASKS_REFUSE :
					   ASKS_REPLY;
		o.request.error = PEAL_EPERM;
		o.request.other = (uint32_t)s.party[i / 3 % 2];
		o.to = (uint32_t)s.party[i % 2];
		out = scene_order(&s, i / 2 % 2, o);
		asked += out.n;
		CHECK(!out.result || out.result == PEAL_ENOSPC);
		full += out.result != 0;
	}
	EVENTUALLY(scene_counts(&s).open == 0);
	a = scene_counts(&s);
	CHECK_EQ(a.asked, asked);
	CHECK_EQ(a.answered + a.refused, asked);
	CHECK(full > 0);
	for (i = how = 0; i < 2; i++) {
		struct asks_state state = scene_state(&s, s.party[i]);

		CHECK_EQ(state.unknown, 0);
		CHECK_EQ(state.wrong, 0);
		how += (uint32_t)(state.replies + state.errors);
	}
	CHECK_EQ(how, asked);
	scene_close(&s);
}

/* The asked actor keeps all requests. Asks beyond the limit fail. Each timeout
 * allows another ask. */
PEAL_TEST(what_is_open_is_limited_for_each_worker)
{
	struct peal_kernel_options few = { .asks = 3 };
	struct scene s = scene_open(few);
	struct asks_order o = { .to = (uint32_t)s.party[1], .n = 8 };
	uint32_t round;

	o.request.how = ASKS_KEEP;
	o.quiet = 1;
	o.timeout_ns = 10 * MS;
	for (round = 0; round < 5; round++) {
		CHECK_EQ(scene_order(&s, 0, o).n, 3);
		/* each worker has its own limit */
		CHECK_EQ(scene_order(&s, 1, o).n, 3);
		EVENTUALLY(scene_counts(&s).open == 0);
	}
	CHECK_EQ(scene_state(&s, s.party[0]).errors, 15);
	CHECK_EQ(scene_state(&s, s.party[1]).errors, 15);
	CHECK_EQ(scene_close(&s).timed_out, 30);
}

/* ---- mailbox limits of the asked actor ----------------------------------- */

/* Makes four asks to an actor that cannot run, with a mailbox limit of two. */
static void ask_a_full_one(uint32_t full)
{
	struct peal_kernel_options limited = { .max_limits = 1 };
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = 2,
					.mailbox_limit = 2,
					.mailbox_full = full };
	struct peal_link_options none = { .capacity = 0 };
	struct scene s = scene_open(limited);
	struct peal_actor_mailbox_info info;
	struct asks_ordered ordered;
	struct asks_order order = { .n = 4 };
	struct peal_received r;
	uint8_t letter[256];
	int drops = full == PEAL_FULL_DROP_OLDEST;
	uint64_t mute, i, first = drops ? 22 : 20;

	scene_letters(&s);
	CHECK_OK(peal_actor_spawn(s.k, "mute", &o, &mute));
	order.to = (uint32_t)mute;
	order.request.value = 20;
	ordered = scene_order(&s, 0, order);
	CHECK_EQ(ordered.n, drops ? 4 : 2);
	CHECK_EQ(ordered.result, drops ? 0 : PEAL_ENOSPC);
	CHECK_OK(peal_actor_mailbox(s.rt, mute, &info));
	CHECK_EQ(info.waiting, 2);
	CHECK_EQ(info.refused, drops ? 0 : 1);
	CHECK_EQ(info.dropped, drops ? 2 : 0);
	harness_to(s.rt, mute, s.e, none); /* now the actor can run */
	for (i = 0; drops && i < 2; i++) {
		scene_letter(&s, PEAL_REASON_FULL);
		scene_expect(&s, PEAL_ENOSPC, 0);
	}
	for (i = first; i < first + 2; i++)
		scene_expect(&s, 0, 2 * i + 1);
	EVENTUALLY(scene_counts(&s).open == 0);
	CHECK_EQ(peal_receive(s.ear, letter, sizeof(letter), &r, 0),
		 PEAL_EAGAIN);
	CHECK_OK(peal_dead_letters(s.k, 0, NULL));
	scene_close(&s);
}

PEAL_TEST(who_asks_one_whose_limit_is_reached_is_told_at_once)
{
	ask_a_full_one(PEAL_FULL_FAIL);
	ask_a_full_one(PEAL_FULL_DROP_NEWEST);
}

PEAL_TEST(an_ask_that_is_dropped_as_the_oldest_is_answered_with_that)
{
	ask_a_full_one(PEAL_FULL_DROP_OLDEST);
}

/* ---- ends of the kernel -------------------------------------------------- */

/* Returns 1 if the drain waited for the open asks, 0 if they ended before. */
static int drain_waits(uint64_t timeout_ns)
{
	struct peal_kernel_options none = { .asks = 0 };
	struct scene s = scene_open(none);
	struct asks_order o = { .to = (uint32_t)s.party[1],
				.n = 3,
				.quiet = 1 };
	uint32_t i;
	int result, waits;

	o.request.how = ASKS_KEEP;
	o.timeout_ns = timeout_ns;
	CHECK_EQ(scene_order(&s, 0, o).n, 3);
	for (i = 0; i < 2; i++)
		CHECK_OK(peal_send_end(s.e, i, PATIENCE));
	CHECK_OK(peal_kernel_drain(s.k, 0));
	EVENTUALLY(peal_load_acquire_sys(&s.k->status[0].drained) &&
		   peal_load_acquire_sys(&s.k->status[1].drained));
	result = peal_kernel_wait(s.k, 0);
	waits = scene_counts(&s).open == 3;
	if (waits) {
		CHECK_EQ(result, PEAL_ETIMEDOUT);
		CHECK_CONTAINS(peal_last_error()->text, "3 asks of worker 0");
	}
	CHECK_OK(peal_kernel_wait(s.k, PATIENCE));
	CHECK_EQ(scene_account(&s).timed_out, 3);
	CHECK_EQ(scene_state(&s, s.party[0]).errors, 3);
	CHECK_OK(peal_runtime_shutdown(s.rt));
	return waits;
}

PEAL_TEST(a_drain_waits_for_answers)
{
	scene_in_time(drain_waits);
}

/* The kernel ends after its inputs and after all delegated asks. */
PEAL_TEST(an_end_with_inputs_waits_for_chains)
{
	struct peal_kernel_options end = { .end_with_inputs = 1 };
	struct asks_order o = { .n = 4, .quiet = 1 };
	struct peal_kernel_info info;
	struct scene s;
	uint32_t i, round;

	for (round = 0; round < 10; round++) {
		s = scene_open(end);
		o.request.how = ASKS_DELEGATE;
		o.request.other = (uint32_t)s.party[round % 2];
		for (i = 0; i < 2; i++) {
			o.to = (uint32_t)s.party[1 - i];
			CHECK_OK(peal_send(s.e, i, ASKS_ORDER, &o, sizeof(o),
					   PATIENCE));
			CHECK_OK(peal_send_end(s.e, i, PATIENCE));
		}
		CHECK_OK(peal_kernel_wait(s.k, PATIENCE));
		CHECK_OK(peal_kernel_info(s.k, &info));
		CHECK_EQ(info.told, info.mail_done);
		CHECK_EQ(scene_counts(&s).open, 0);
		CHECK_OK(peal_runtime_shutdown(s.rt));
	}
}

PEAL_TEST(a_stop_counts_what_is_open)
{
	struct peal_kernel_options none = { .asks = 0 };
	struct scene s = scene_open(none);
	struct asks_order o = { .to = (uint32_t)s.party[1], .n = 5 };
	struct peal_ask_counts a;

	o.request.how = ASKS_KEEP;
	CHECK_EQ(scene_order(&s, 0, o).n, 5);
	CHECK_OK(peal_kernel_stop(s.k, PATIENCE));
	a = scene_account(&s);
	CHECK_EQ(a.stopped, 5);
	CHECK_EQ(a.open, 0);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/* ---- ends of actors ------------------------------------------------------ */

static struct peal_supervisor *restarts(struct scene *s, uint32_t n)
{
	struct peal_supervisor_options o = { .size = sizeof(o),
					     .restarts = n,
					     .period_ns = NEVER };
	struct peal_supervisor *supervisor = NULL;

	CHECK_OK(peal_supervisor_create(s->k, &o, &supervisor));
	return supervisor;
}

/* The restarted asker gets the answer, but has lost the ask. */
PEAL_TEST(who_asks_and_begins_anew_gets_an_answer_that_it_does_not_know)
{
	struct peal_kernel_options o = { .max_supervisors = 2 };
	struct scene s = scene_open(o);
	uint64_t asker = scene_party(&s, 0, restarts(&s, 5));
	struct asks_answer a;

	CHECK(asker);
	scene_ask(&s, 2, s.party[1], ASKS_KEEP, 0);
	scene_tell(&s, 2, ASKS_FAIL_NOW, 0);
	scene_tell(&s, 2, ASKS_PLAIN, 5);
	EVENTUALLY(scene_state(&s, asker).last == 5);
	scene_requested(&s, s.party[1], 1);
	scene_tell(&s, 1, ASKS_RELEASE, 0);
	a = scene_answer(&s);
	CHECK_EQ(a.value, 41);
	CHECK_EQ(a.known, 0);
	CHECK_EQ(scene_close(&s).answered, 1);
}

/* A restart loses the request that the asked actor kept. After too many
 * failures the supervisor gives up the actor. */
PEAL_TEST(who_is_asked_begins_anew_and_is_given_up)
{
	struct peal_kernel_options o = { .max_supervisors = 2 };
	struct scene s = scene_open(o);
	uint64_t asked = scene_party(&s, 1, restarts(&s, 2));

	scene_ask(&s, 0, asked, ASKS_KEEP, 100 * MS);
	scene_ask(&s, 0, asked, ASKS_FAIL, 0); /* and restarts */
	scene_expect(&s, PEAL_EHANDLER, 0);
	scene_ask(&s, 0, asked, ASKS_REPLY, 0);
	scene_expect(&s, 0, 41);
	scene_expect(&s, PEAL_ETIMEDOUT, 0);
	scene_ask(&s, 0, asked, ASKS_FAIL, 0);
	scene_expect(&s, PEAL_EHANDLER, 0);
	scene_ask(&s, 0, asked, ASKS_FAIL, 0);
	scene_expect(&s, PEAL_EHANDLER, 0);
	scene_ask(&s, 0, asked, ASKS_REPLY, 0);
	scene_expect(&s, PEAL_ESTOPPED, 0);
	CHECK_EQ(scene_close(&s).failed, 4);
}

/* Returns 1, or 0 if an ask ended before its actor was retired. */
static int retire_in_time(uint64_t timeout_ns)
{
	struct peal_kernel_options none = { .asks = 4 };
	struct scene s = scene_open(none);
	uint64_t asker = harness_spawn(s.k, "party", 0);
	struct peal_link_options link = { .capacity = 0 };
	struct asks_order o = { .to = (uint32_t)s.party[1], .n = 3 };
	struct peal_link *in, *out;
	struct peal_ask_counts a;
	struct peal_kernel_info info;

	scene_letters(&s);
	in = harness_from(s.rt, s.e, 8, asker, link);
	out = harness_to(s.rt, asker, s.e, link);
	o.request.how = ASKS_KEEP;
	o.timeout_ns = timeout_ns;
	CHECK_EQ(scene_order(&s, 8, o).n, 3);
	CHECK_OK(peal_link_destroy(in));
	CHECK_OK(peal_link_destroy(out));
	CHECK_OK(peal_actor_retire(s.rt, asker));
	if (scene_counts(&s).open < 3) {
		CHECK_OK(peal_runtime_shutdown(s.rt));
		return 0;
	}
	scene_requested(&s, s.party[1], 3);
	scene_tell(&s, 1, ASKS_RELEASE, 0);
	scene_letter(&s, PEAL_REASON_NO_ACTOR);
	scene_letter(&s, PEAL_REASON_NO_ACTOR);
	scene_letter(&s, PEAL_REASON_NO_ACTOR);
	EVENTUALLY(scene_counts(&s).open == 0);
	a = scene_counts(&s);
	CHECK_EQ(a.answered + a.timed_out, 3);
	CHECK(a.timed_out >= 2);
	EVENTUALLY(!peal_kernel_info(s.k, &info) && info.mail_dead == 3);
	CHECK_OK(peal_dead_letters(s.k, 0, NULL));
	scene_close(&s);
	return 1;
}

/* Answers to a retired actor are dead letters. Its asks end. */
PEAL_TEST(answers_for_who_was_retired_are_dead)
{
	scene_in_time(retire_in_time);
}

/* ---- dead letters -------------------------------------------------------- */

/* The ask has ended. The replay of its dead request is a plain message. */
PEAL_TEST(a_dead_ask_is_sent_again_as_a_plain_message)
{
	struct peal_kernel_options none = { .asks = 0 };
	struct scene s = scene_open(none);
	uint64_t mute = harness_spawn(s.k, "mute", 1);
	uint8_t buffer[256];
	const struct peal_dead_letter *letter = (const void *)buffer;
	struct peal_received r;
	struct asks_state state;

	scene_letters(&s);
	scene_ask(&s, 0, mute, ASKS_KEEP, 0);
	CHECK_OK(peal_actor_retire(s.rt, mute));
	scene_expect(&s, PEAL_ENOENT, 0);
	CHECK_OK(peal_receive(s.ear, buffer, sizeof(buffer), &r, PATIENCE));
	CHECK_EQ(letter->length,
		 sizeof(struct asks_request) + PEAL_REQUEST_BYTES);
	CHECK_OK(peal_dead_letter_replay(s.e, 1, s.party[1], letter, r.length,
					 PATIENCE));
	EVENTUALLY(scene_state(&s, s.party[1]).requests == 1);
	state = scene_state(&s, s.party[1]);
	CHECK_EQ(state.kept, 0); /* it had no request number */
	CHECK_EQ(state.kept_value, 20);
	CHECK_OK(peal_dead_letters(s.k, 0, NULL));
	scene_close(&s);
}

PEAL_TEST_MAIN(
	RUN_LANES(a_member_of_a_pool_replies_refuses_and_fails);
	RUN_LANES(asks_in_a_pool_that_is_destroyed_fail_at_once);
	RUN_LANES(a_storm_of_asks_is_answered_or_refused_to_begin);
	RUN_LANES(what_is_open_is_limited_for_each_worker);
	RUN_LANES(who_asks_one_whose_limit_is_reached_is_told_at_once);
	RUN_LANES(an_ask_that_is_dropped_as_the_oldest_is_answered_with_that);
	RUN_LANES(a_drain_waits_for_answers);
	RUN_LANES(an_end_with_inputs_waits_for_chains);
	RUN_LANES(a_stop_counts_what_is_open);
	RUN_LANES(who_asks_and_begins_anew_gets_an_answer_that_it_does_not_know);
	RUN_LANES(who_is_asked_begins_anew_and_is_given_up);
	RUN_LANES(answers_for_who_was_retired_are_dead);
	RUN_LANES(a_dead_ask_is_sent_again_as_a_plain_message);)
