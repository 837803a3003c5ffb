/* SPDX-License-Identifier: Apache-2.0 */
/* Each ask has one answer, also if a pool, an actor or a kernel ends. Asks
 * beyond a limit fail. */

#include <peal/dead_letter.h>
#include <peal/pool.h>
#include <peal/supervisor.h>
#include "runtime/ask_fixture.h"
#include "runtime/kernel/kernel.h"

/* ---- pools --------------------------------------------------------------- */

static struct fixture pool_open(struct peal_pool_options p, uint64_t *pool_out)
{
	struct peal_kernel_options none = { .max_asks = 0 };
	struct fixture s = { .rt = harness_open(1, "") };

	s.e = harness_endpoint(s.rt);
	fixture_launch(&s, none, &peal_program_ask_pools);
	p.size = sizeof(p);
	CHECK_OK(peal_pool_create(s.k, &p, pool_out));
	return s;
}

PEAL_TEST(pool_member_replies_refuses_and_fails)
{
	struct peal_pool_options p = { .capacity = 16 };
	uint64_t pool = 0, member[2];
	struct fixture s = pool_open(p, &pool);
	struct asks_order o = { .to = (uint32_t)pool, .n = 1 };
	uint32_t i;

	for (i = 0; i < 2; i++) {
		member[i] = harness_spawn(s.k, "server", (int)i);
		CHECK_OK(peal_pool_join(s.rt, pool, member[i]));
	}
	for (i = 0; i < 20; i++) {
		fixture_ask(&s, i % 2, pool, ASKS_REPLY, 0);
		fixture_expect(&s, 0, 41);
		fixture_ask(&s, i % 2, pool, ASKS_FAIL, 0);
		fixture_expect(&s, PEAL_EHANDLER, 0);
		o.request.how = ASKS_REFUSE;
		o.request.error = PEAL_EPERM;
		CHECK_EQ(fixture_order(&s, i % 2, o).result, 0);
		fixture_expect(&s, PEAL_EPERM, 0);
	}
	o.request.how = ASKS_CHAIN;
	o.request.other = (uint32_t)pool;
	o.request.value = 20;
	o.to = (uint32_t)s.party[1];
	CHECK_EQ(fixture_order(&s, 0, o).result, 0);
	fixture_expect(&s, 0, 41);
	for (i = 0; i < 2; i++)
		CHECK_OK(peal_pool_leave(s.rt, pool, member[i]));
	CHECK_OK(peal_pool_destroy(s.rt, pool));
	CHECK_EQ(fixture_close(&s).failed, 20);
}

/* Runs without and with a receiver of dead letters. */
PEAL_TEST(asks_in_destroyed_pool_fail_at_once)
{
	struct peal_pool_options p = { .capacity = 16 };
	struct asks_order o = { .n = 5 };
	uint64_t pool = 0;
	struct fixture s;
	uint32_t i, heard;

	for (heard = 0; heard < 2; heard++) {
		s = pool_open(p, &pool);
		if (heard)
			fixture_letters(&s);
		o.to = (uint32_t)pool;
		CHECK_EQ(fixture_order(&s, 0, o).n, 5);
		CHECK_EQ(fixture_order(&s, 1, o).n, 5);
		CHECK_OK(peal_pool_destroy(s.rt, pool));
		for (i = 0; i < 10; i++)
			fixture_expect(&s, PEAL_ENOENT, 0);
		if (heard)
			CHECK_OK(peal_dead_letter_connect(s.k, 0, NULL));
		CHECK_EQ(fixture_close(&s).failed, 10);
	}
}

/* ---- limits of open asks ------------------------------------------------- */

/* Two actors ask each other and themselves up to the limit. Requests fill the
 * small mailboxes, but each ask gets its answer. */
PEAL_TEST(ask_storm_is_answered_or_refused)
{
	struct peal_kernel_options tight = { .max_asks = 5,
					     .mailbox.slots = 32 };
	struct fixture s = fixture_open(tight);
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
		out = fixture_order(&s, i / 2 % 2, o);
		asked += out.n;
		CHECK(!out.result || out.result == PEAL_ENOSPC);
		full += out.result != 0;
	}
	EVENTUALLY(fixture_counts(&s).open == 0);
	a = fixture_counts(&s);
	CHECK_EQ(a.asked, asked);
	CHECK_EQ(a.answered + a.error_replies, asked);
	CHECK(full > 0);
	for (i = how = 0; i < 2; i++) {
		struct asks_state state = fixture_state(&s, s.party[i]);

		CHECK_EQ(state.unknown, 0);
		CHECK_EQ(state.wrong, 0);
		how += (uint32_t)(state.replies + state.errors);
	}
	CHECK_EQ(how, asked);
	fixture_close(&s);
}

/* The asked actor keeps all requests. Asks beyond the limit fail. Each timeout
 * allows another ask. */
PEAL_TEST(open_asks_are_limited_per_worker)
{
	struct peal_kernel_options few = { .max_asks = 3 };
	struct fixture s = fixture_open(few);
	struct asks_order o = { .to = (uint32_t)s.party[1], .n = 8 };
	uint32_t round;

	o.request.how = ASKS_KEEP;
	o.quiet = 1;
	o.timeout_ns = 10 * MS;
	for (round = 0; round < 5; round++) {
		CHECK_EQ(fixture_order(&s, 0, o).n, 3);
		/* each worker has its own limit */
		CHECK_EQ(fixture_order(&s, 1, o).n, 3);
		EVENTUALLY(fixture_counts(&s).open == 0);
	}
	CHECK_EQ(fixture_state(&s, s.party[0]).errors, 15);
	CHECK_EQ(fixture_state(&s, s.party[1]).errors, 15);
	CHECK_EQ(fixture_close(&s).timed_out, 30);
}

/* ---- mailbox limits of the asked actor ----------------------------------- */

/* Makes four asks to an actor that cannot run, with a mailbox limit of two. */
static void ask_a_full_one(uint32_t full)
{
	struct peal_kernel_options limited = { .mailbox.max_limits = 1 };
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = 2,
					.mailbox_limit = 2,
					.mailbox_overflow = full };
	struct peal_link_options none = { .capacity = 0 };
	struct fixture s = fixture_open(limited);
	struct peal_actor_mailbox_info info;
	struct asks_ordered ordered;
	struct asks_order order = { .n = 4 };
	struct peal_received r;
	uint8_t letter[256];
	int drops = full == PEAL_OVERFLOW_DROP_OLDEST;
	uint64_t mute, i, first = drops ? 22 : 20;

	fixture_letters(&s);
	CHECK_OK(peal_actor_spawn(s.k, "mute", &o, &mute));
	order.to = (uint32_t)mute;
	order.request.value = 20;
	ordered = fixture_order(&s, 0, order);
	CHECK_EQ(ordered.n, drops ? 4 : 2);
	CHECK_EQ(ordered.result, drops ? 0 : PEAL_ENOSPC);
	CHECK_OK(peal_actor_mailbox(s.rt, mute, &info));
	CHECK_EQ(info.waiting, 2);
	CHECK_EQ(info.refused, drops ? 0 : 1);
	CHECK_EQ(info.dropped, drops ? 2 : 0);
	harness_to(s.rt, mute, s.e, none); /* now the actor can run */
	for (i = 0; drops && i < 2; i++) {
		fixture_letter(&s, PEAL_REASON_FULL);
		fixture_expect(&s, PEAL_ENOSPC, 0);
	}
	for (i = first; i < first + 2; i++)
		fixture_expect(&s, 0, 2 * i + 1);
	EVENTUALLY(fixture_counts(&s).open == 0);
	CHECK_EQ(peal_receive(s.ear, letter, sizeof(letter), &r, 0),
		 PEAL_EAGAIN);
	CHECK_OK(peal_dead_letter_connect(s.k, 0, NULL));
	fixture_close(&s);
}

PEAL_TEST(ask_to_full_mailbox_fails_at_once)
{
	ask_a_full_one(PEAL_OVERFLOW_FAIL);
	ask_a_full_one(PEAL_OVERFLOW_DROP_NEWEST);
}

PEAL_TEST(ask_dropped_as_oldest_gets_an_error_answer)
{
	ask_a_full_one(PEAL_OVERFLOW_DROP_OLDEST);
}

/* ---- ends of the kernel -------------------------------------------------- */

/* Returns 1 if the drain waited for the open asks, 0 if they ended before. */
static int drain_waits(uint64_t timeout_ns)
{
	struct peal_kernel_options none = { .max_asks = 0 };
	struct fixture s = fixture_open(none);
	struct asks_order o = { .to = (uint32_t)s.party[1],
				.n = 3,
				.quiet = 1 };
	uint32_t i;
	int result, waits;

	o.request.how = ASKS_KEEP;
	o.timeout_ns = timeout_ns;
	CHECK_EQ(fixture_order(&s, 0, o).n, 3);
	for (i = 0; i < 2; i++)
		CHECK_OK(peal_send_end(s.e, i, MAX_WAIT));
	CHECK_OK(peal_kernel_drain(s.k, 0));
	EVENTUALLY(peal_load_acquire_sys(&s.k->status[0].drained) &&
		   peal_load_acquire_sys(&s.k->status[1].drained));
	EVENTUALLY(fixture_counts(&s).asked == 3); /* published with delay */
	result = peal_kernel_wait(s.k, 0);
	waits = fixture_counts(&s).open == 3;
	if (waits) {
		CHECK_EQ(result, PEAL_ETIMEDOUT);
		CHECK_CONTAINS(peal_last_error()->text, "open asks: 3");
	}
	CHECK_OK(peal_kernel_wait(s.k, MAX_WAIT));
	CHECK_EQ(fixture_account(&s).timed_out, 3);
	CHECK_EQ(fixture_state(&s, s.party[0]).errors, 3);
	CHECK_OK(peal_runtime_shutdown(s.rt));
	return waits;
}

PEAL_TEST(drain_waits_for_answers)
{
	fixture_in_time(drain_waits);
}

/* The kernel ends after its inputs and after all forwarded asks. */
PEAL_TEST(drain_when_inputs_end_waits_for_ask_chains)
{
	struct peal_kernel_options end = { .drain_when_inputs_end = 1 };
	struct asks_order o = { .n = 4, .quiet = 1 };
	struct peal_kernel_info info;
	struct fixture s;
	uint32_t i, round;

	for (round = 0; round < 10; round++) {
		s = fixture_open(end);
		o.request.how = ASKS_DELEGATE;
		o.request.other = (uint32_t)s.party[round % 2];
		for (i = 0; i < 2; i++) {
			o.to = (uint32_t)s.party[1 - i];
			CHECK_OK(peal_send(s.e, i, ASKS_ORDER, &o, sizeof(o),
					   MAX_WAIT, NULL));
			CHECK_OK(peal_send_end(s.e, i, MAX_WAIT));
		}
		CHECK_OK(peal_kernel_wait(s.k, MAX_WAIT));
		CHECK_OK(peal_kernel_info(s.k, &info));
		CHECK_EQ(info.mailbox_sends, info.mailbox_done);
		CHECK_EQ(fixture_counts(&s).open, 0);
		CHECK_OK(peal_runtime_shutdown(s.rt));
	}
}

PEAL_TEST(stop_counts_open_asks)
{
	struct peal_kernel_options none = { .max_asks = 0 };
	struct fixture s = fixture_open(none);
	struct asks_order o = { .to = (uint32_t)s.party[1], .n = 5 };
	struct peal_ask_counts a;

	o.request.how = ASKS_KEEP;
	CHECK_EQ(fixture_order(&s, 0, o).n, 5);
	CHECK_OK(peal_kernel_stop(s.k, MAX_WAIT));
	a = fixture_account(&s);
	CHECK_EQ(a.stopped, 5);
	CHECK_EQ(a.open, 0);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/* ---- ends of actors ------------------------------------------------------ */

static struct peal_supervisor *restarts(struct fixture *s, uint32_t n)
{
	struct peal_supervisor_options o = { .size = sizeof(o),
					     .max_restarts = n,
					     .period_ns = NEVER };
	struct peal_supervisor *supervisor = NULL;

	CHECK_OK(peal_supervisor_create(s->k, &o, &supervisor));
	return supervisor;
}

/* The restarted asker gets the answer, but has lost the ask. */
PEAL_TEST(restarted_asker_gets_answer_of_unknown_ask)
{
	struct peal_kernel_options o = { .max_supervisors = 2 };
	struct fixture s = fixture_open(o);
	uint64_t asker = fixture_party(&s, 0, restarts(&s, 5));
	struct asks_answer a;

	CHECK(asker);
	fixture_ask(&s, 2, s.party[1], ASKS_KEEP, 0);
	fixture_tell(&s, 2, ASKS_FAIL_NOW, 0);
	fixture_tell(&s, 2, ASKS_PLAIN, 5);
	EVENTUALLY(fixture_state(&s, asker).last == 5);
	fixture_requested(&s, s.party[1], 1);
	fixture_tell(&s, 1, ASKS_RELEASE, 0);
	a = fixture_answer(&s);
	CHECK_EQ(a.value, 41);
	CHECK_EQ(a.known, 0);
	CHECK_EQ(fixture_close(&s).answered, 1);
}

/* A restart loses the request that the asked actor kept. After too many
 * failures the supervisor gives up the actor. */
PEAL_TEST(asks_end_if_asked_actor_restarts_or_is_down)
{
	struct peal_kernel_options o = { .max_supervisors = 2 };
	struct fixture s = fixture_open(o);
	uint64_t asked = fixture_party(&s, 1, restarts(&s, 2));

	fixture_ask(&s, 0, asked, ASKS_KEEP, 100 * MS);
	fixture_ask(&s, 0, asked, ASKS_FAIL, 0); /* and restarts */
	fixture_expect(&s, PEAL_EHANDLER, 0);
	fixture_ask(&s, 0, asked, ASKS_REPLY, 0);
	fixture_expect(&s, 0, 41);
	fixture_expect(&s, PEAL_ETIMEDOUT, 0);
	fixture_ask(&s, 0, asked, ASKS_FAIL, 0);
	fixture_expect(&s, PEAL_EHANDLER, 0);
	fixture_ask(&s, 0, asked, ASKS_FAIL, 0);
	fixture_expect(&s, PEAL_EHANDLER, 0);
	fixture_ask(&s, 0, asked, ASKS_REPLY, 0);
	fixture_expect(&s, PEAL_ESTOPPED, 0);
	CHECK_EQ(fixture_close(&s).failed, 4);
}

/* Receives the letters of three answers to a retired actor. Returns 0 if an ask
 * ended before its answer. */
static int answers_in_time(struct fixture *s)
{
	uint32_t reason, i;
	int in_time = 1;

	for (i = 0; i < 3; i++) {
		reason = fixture_next_letter(s);
		if (reason == PEAL_REASON_LATE)
			in_time = 0;
		else
			CHECK_EQ(reason, PEAL_REASON_NO_ACTOR);
	}
	return in_time;
}

/* Returns 1, or 0 if an ask ended too early. */
static int retire_in_time(uint64_t timeout_ns)
{
	struct peal_kernel_options none = { .max_asks = 4 };
	struct fixture s = fixture_open(none);
	uint64_t asker = harness_spawn(s.k, "party", 0);
	struct peal_link_options link = { .capacity = 0 };
	struct asks_order o = { .to = (uint32_t)s.party[1], .n = 3 };
	struct peal_link *in, *out;
	struct peal_ask_counts a;
	struct peal_kernel_info info;

	fixture_letters(&s);
	in = harness_from(s.rt, s.e, 8, asker, link);
	out = harness_to(s.rt, asker, s.e, link);
	o.request.how = ASKS_KEEP;
	o.timeout_ns = timeout_ns;
	CHECK_EQ(fixture_order(&s, 8, o).n, 3);
	CHECK_OK(peal_link_destroy(in));
	CHECK_OK(peal_link_destroy(out));
	CHECK_OK(peal_actor_retire(s.rt, asker));
	if (fixture_counts(&s).open < 3) {
		CHECK_OK(peal_runtime_shutdown(s.rt));
		return 0;
	}
	fixture_requested(&s, s.party[1], 3);
	fixture_tell(&s, 1, ASKS_RELEASE, 0);
	if (!answers_in_time(&s)) {
		CHECK_OK(peal_runtime_shutdown(s.rt));
		return 0;
	}
	EVENTUALLY(fixture_counts(&s).open == 0);
	a = fixture_counts(&s);
	CHECK_EQ(a.answered + a.timed_out, 3);
	CHECK(a.timed_out >= 2);
	EVENTUALLY(!peal_kernel_info(s.k, &info) && info.mailbox_dead == 3);
	CHECK_OK(peal_dead_letter_connect(s.k, 0, NULL));
	fixture_close(&s);
	return 1;
}

/* Answers to a retired actor are dead letters. Its asks end. */
PEAL_TEST(answers_to_retired_asker_are_dead)
{
	fixture_in_time(retire_in_time);
}

/* ---- dead letters -------------------------------------------------------- */

/* The ask has ended. The replay of its dead request is a plain message. */
PEAL_TEST(replayed_dead_ask_is_a_plain_message)
{
	struct peal_kernel_options none = { .max_asks = 0 };
	struct fixture s = fixture_open(none);
	uint64_t mute = harness_spawn(s.k, "mute", 1);
	uint8_t buffer[256];
	const struct peal_dead_letter *letter = (const void *)buffer;
	struct peal_received r;
	struct asks_state state;

	fixture_letters(&s);
	fixture_ask(&s, 0, mute, ASKS_KEEP, 0);
	CHECK_OK(peal_actor_retire(s.rt, mute));
	fixture_expect(&s, PEAL_ENOENT, 0);
	CHECK_OK(peal_receive(s.ear, buffer, sizeof(buffer), &r, MAX_WAIT));
	CHECK_EQ(letter->length,
		 sizeof(struct asks_request) + PEAL_REQUEST_BYTES);
	CHECK_OK(peal_dead_letter_replay(s.e, 1, s.party[1], letter, r.length,
					 MAX_WAIT));
	EVENTUALLY(fixture_state(&s, s.party[1]).requests == 1);
	state = fixture_state(&s, s.party[1]);
	CHECK_EQ(state.kept, 0); /* it had no request number */
	CHECK_EQ(state.kept_value, 20);
	CHECK_OK(peal_dead_letter_connect(s.k, 0, NULL));
	fixture_close(&s);
}

PEAL_TEST_MAIN(RUN_LANES(pool_member_replies_refuses_and_fails);
	       RUN_LANES(asks_in_destroyed_pool_fail_at_once);
	       RUN_LANES(ask_storm_is_answered_or_refused);
	       RUN_LANES(open_asks_are_limited_per_worker);
	       RUN_LANES(ask_to_full_mailbox_fails_at_once);
	       RUN_LANES(ask_dropped_as_oldest_gets_an_error_answer);
	       RUN_LANES(drain_waits_for_answers);
	       RUN_LANES(drain_when_inputs_end_waits_for_ask_chains);
	       RUN_LANES(stop_counts_open_asks);
	       RUN_LANES(restarted_asker_gets_answer_of_unknown_ask);
	       RUN_LANES(asks_end_if_asked_actor_restarts_or_is_down);
	       RUN_LANES(answers_to_retired_asker_are_dead);
	       RUN_LANES(replayed_dead_ask_is_a_plain_message);)
