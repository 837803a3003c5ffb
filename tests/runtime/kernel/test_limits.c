/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that a mailbox limit holds exactly, also with concurrent senders. The
 * policy decides whether an excess message is refused or dropped. Refusals and
 * drops are counted, and a drop makes a dead letter.
 */

#include <peal/monitor.h>
#include <peal/request.h>
#include "runtime/limit_fixture.h"

#define LIMIT 5
#define SENT 20

static const struct peal_kernel_options usual = { .mailbox.slots = 0 };
static const struct peal_link_options none = { .capacity = 0 };

/*
 * Checks that the actor has handled LIMIT of SENT messages, in order. For
 * PEAL_OVERFLOW_DROP_OLDEST these are the last messages, otherwise the first.
 */
static void check_handled(struct fixture *s, uint32_t full)
{
	struct limits_note note = fixture_note(s);
	uint64_t first = full == PEAL_OVERFLOW_DROP_OLDEST ? SENT - LIMIT : 0,
		 i;

	CHECK_EQ(note.seen, LIMIT);
	for (i = 0; i < LIMIT; i++)
		CHECK_EQ(note.log[i], first + i);
}

static void check_mailbox(struct fixture *s, uint64_t waiting, uint64_t most,
			  uint64_t dropped, uint64_t refused)
{
	struct peal_actor_mailbox_info m = fixture_mailbox(s);

	CHECK_EQ(m.waiting, waiting);
	CHECK_EQ(m.max_waiting, most);
	CHECK_EQ(m.dropped, dropped);
	CHECK_EQ(m.refused, refused);
}

/* ---- policies ------------------------------------------------------------ */

PEAL_TEST(limit_is_exact_for_every_overflow_policy)
{
	uint32_t full;

	for (full = PEAL_OVERFLOW_FAIL; full <= PEAL_OVERFLOW_DROP_OLDEST;
	     full++) {
		uint64_t fails = full == PEAL_OVERFLOW_FAIL ? SENT - LIMIT : 0;
		uint64_t drops = SENT - LIMIT - fails;
		struct fixture s;

		fixture_open(&s, usual, "note", LIMIT, full);
		fixture_hold(&s);
		fixture_order(&s, 0, LIMITS_TELL, 0, SENT);
		check_mailbox(&s, LIMIT, LIMIT, drops, fails);
		CHECK_EQ(fixture_mailbox(&s).limit, LIMIT);
		CHECK_EQ(fixture_mailbox(&s).overflow, full);
		EVENTUALLY(fixture_info(&s).mailbox_sends == SENT - fails);
		fixture_let_go(&s);
		fixture_done(&s);
		check_mailbox(&s, 0, LIMIT, drops, fails);
		/* the mailbox has free slots again */
		fixture_order(&s, 0, LIMITS_TELL, 100, LIMIT);
		EVENTUALLY(fixture_info(&s).mailbox_done ==
			   SENT + LIMIT - fails);
		EVENTUALLY(fixture_info(&s).mailbox_dropped == drops);
		EVENTUALLY(fixture_info(&s).mailbox_dead == drops);
		fixture_drain(&s);
		CHECK_EQ(fixture_teller(&s, 0).told, SENT + LIMIT - fails);
		CHECK_EQ(fixture_teller(&s, 0).refused, fails);
		CHECK_EQ(fixture_note(&s).seen, 2 * LIMIT);
		/* the counters of a kernel that has ended */
		check_mailbox(&s, 0, LIMIT, drops, fails);
		fixture_close(&s);
	}
}

PEAL_TEST(overflow_drops_newest_or_oldest_messages)
{
	uint32_t full;

	for (full = PEAL_OVERFLOW_FAIL; full <= PEAL_OVERFLOW_DROP_OLDEST;
	     full++) {
		struct fixture s;

		fixture_open(&s, usual, "note", LIMIT, full);
		fixture_hold(&s);
		fixture_order(&s, 0, LIMITS_TELL, 0, SENT);
		fixture_let_go(&s);
		fixture_drain(&s);
		check_handled(&s, full);
		fixture_close(&s);
	}
}

/*
 * Two workers tell at the same time: first while the actor's worker is held,
 * then while it runs.
 */
PEAL_TEST(limit_holds_for_concurrent_senders)
{
	const uint32_t orders = IDENTITY_SANITIZED ? 100 : 1000;
	uint32_t full, i, t;

	for (full = PEAL_OVERFLOW_FAIL; full <= PEAL_OVERFLOW_DROP_OLDEST;
	     full++) {
		struct limits_order burst = { .n = LIMITS_BURST };
		uint64_t all = 0, refused = 0, held;
		struct peal_actor_mailbox_info m;
		struct fixture s;

		fixture_open(&s, usual, "note", LIMIT, full);
		fixture_hold(&s);
		for (i = 0; i < 3; i++)
			for (t = 0; t < FIXTURE_TELLERS; t++)
				fixture_order_as(&s, t, burst);
		for (t = 0; t < FIXTURE_TELLERS; t++)
			EVENTUALLY(harness_info(s.to[t]).delivered == 3);
		held = 3 * FIXTURE_TELLERS * LIMITS_BURST;
		m = fixture_mailbox(&s);
		CHECK_EQ(m.waiting, LIMIT);
		CHECK_EQ(m.dropped + m.refused, held - LIMIT);
		fixture_let_go(&s);
		for (i = 0; i < orders; i++)
			for (t = 0; t < FIXTURE_TELLERS; t++)
				fixture_order_as(&s, t, burst);
		fixture_drain(&s);
		m = fixture_mailbox(&s);
		for (t = 0; t < FIXTURE_TELLERS; t++) {
			all += fixture_teller(&s, t).told;
			refused += fixture_teller(&s, t).refused;
		}
		CHECK_EQ(all + refused, held + (uint64_t)orders *
							FIXTURE_TELLERS *
							LIMITS_BURST);
		EVENTUALLY(fixture_info(&s).mailbox_sends == all);
		CHECK_EQ(m.waiting, 0);
		CHECK_EQ(m.max_waiting, LIMIT);
		CHECK_EQ(m.refused, refused);
		EVENTUALLY(m.dropped == fixture_info(&s).mailbox_dropped);
		CHECK_EQ(fixture_note(&s).seen + m.dropped, all);
		fixture_close(&s);
	}
}

/*
 * Refused and dropped messages take no mailbox slot. Otherwise no slot would be
 * left for the messages to the other actor.
 */
PEAL_TEST(refused_and_dropped_messages_take_no_slot)
{
	struct peal_kernel_options few = { .mailbox.slots = 128 };
	uint32_t full, i;

	for (full = PEAL_OVERFLOW_FAIL; full <= PEAL_OVERFLOW_DROP_NEWEST;
	     full++) {
		struct limits_order o = { .n = LIMITS_BURST };
		struct fixture s;

		fixture_open(&s, few, "note", 1, full);
		fixture_hold(&s);
		for (i = 0; i < 40; i++)
			fixture_order(&s, 0, LIMITS_TELL, 0, LIMITS_BURST);
		EVENTUALLY(fixture_mailbox(&s).waiting == 1);
		/* another actor, on a worker that is not held */
		o.actor = (uint32_t)harness_spawn(s.k, "note", 1);
		for (i = 0; i < 40; i++)
			fixture_order_as(&s, 0, o);
		EVENTUALLY(harness_info(s.to[0]).delivered == 80);
		fixture_let_go(&s);
		fixture_drain(&s);
		CHECK_EQ(fixture_note(&s).seen, 1);
		CHECK_EQ(fixture_teller(&s, 0).told +
				 fixture_teller(&s, 0).refused,
			 80 * LIMITS_BURST);
		fixture_close(&s);
	}
}

/* ---- links, timers and deadlines ----------------------------------------- */

PEAL_TEST(link_messages_via_other_worker_are_counted)
{
	uint32_t full;

	for (full = PEAL_OVERFLOW_FAIL; full <= PEAL_OVERFLOW_DROP_OLDEST;
	     full++) {
		int oldest = full == PEAL_OVERFLOW_DROP_OLDEST;
		uint64_t over = SENT - LIMIT;
		struct fixture s;

		fixture_open(&s, usual, "note", LIMIT, full);
		fixture_hold(&s);
		fixture_send(&s, 1, 0, SENT);
		EVENTUALLY(harness_info(s.to[1]).queued == 0);
		check_mailbox(&s, LIMIT, LIMIT, over, 0);
		EVENTUALLY(harness_info(s.to[1]).dead[PEAL_REASON_FULL] ==
			   (oldest ? 0 : over));
		fixture_let_go(&s);
		fixture_drain(&s);
		EVENTUALLY(fixture_info(&s).mailbox_dropped ==
			   (oldest ? over : 0));
		check_handled(&s, full);
		fixture_close(&s);
	}
}

/*
 * Messages of a link to the actor's own worker wait in the link, not in a
 * mailbox.
 */
PEAL_TEST(link_messages_to_own_worker_are_not_counted)
{
	struct fixture s;
	uint64_t i;

	fixture_open(&s, usual, "note", LIMIT, PEAL_OVERFLOW_DROP_NEWEST);
	fixture_hold(&s);
	for (i = 0; i < SENT; i++)
		CHECK_OK(peal_send(s.e, FIXTURE_PORT_NEAR, 0, &i, sizeof(i),
				   MAX_WAIT, NULL));
	check_mailbox(&s, 0, 0, 0, 0);
	fixture_let_go(&s);
	fixture_drain(&s);
	CHECK_EQ(fixture_note(&s).seen, SENT);
	fixture_close(&s);
}

/*
 * The limit does not apply to timers and down messages. The kernel options
 * `timers` and `max_monitors` bound their number.
 */
PEAL_TEST(timers_and_down_messages_are_not_counted)
{
	struct peal_kernel_options o = { .max_timers = 64, .max_monitors = 8 };
	uint64_t ended;
	struct fixture s;

	fixture_open(&s, o, "note", LIMIT, PEAL_OVERFLOW_DROP_NEWEST);
	fixture_hold(&s);
	fixture_order(&s, 0, LIMITS_TELL, 0, LIMIT);
	fixture_order(&s, 0, LIMITS_AFTER, 100, LIMIT);
	EVENTUALLY(fixture_info(&s).timers.fired == LIMIT);
	ended = harness_spawn(s.k, "note", 0);
	CHECK_OK(peal_monitor(s.k, s.actor, ended, NULL, NULL));
	CHECK_OK(peal_actor_retire(s.rt, ended));
	EVENTUALLY(fixture_info(&s).mailbox_sends == 2 * LIMIT + 1);
	check_mailbox(&s, LIMIT, LIMIT, 0, 0);
	fixture_let_go(&s);
	fixture_drain(&s);
	CHECK_EQ(fixture_note(&s).seen, 2 * LIMIT + 1);
	fixture_close(&s);
}

/* A message counts towards the limit even after its deadline. */
PEAL_TEST(expired_messages_count_to_the_limit)
{
	struct limits_order past = { .what = LIMITS_BEFORE,
				     .n = SENT - LIMIT - 1,
				     .ns = PEAL_DEADLINE_PAST };
	uint64_t kept[16];
	struct peal_dead_letter *letter = (struct peal_dead_letter *)kept;
	struct peal_received r;
	uint32_t full;

	for (full = PEAL_OVERFLOW_FAIL; full <= PEAL_OVERFLOW_DROP_OLDEST;
	     full++) {
		int oldest = full == PEAL_OVERFLOW_DROP_OLDEST;
		uint64_t i, expired = 0;
		struct fixture s;

		fixture_open(&s, usual, "note", LIMIT, full);
		fixture_take_letters(&s);
		fixture_hold(&s);
		fixture_order_as(&s, 0, past);
		EVENTUALLY(harness_info(s.to[0]).delivered == 1);
		EVENTUALLY(fixture_mailbox(&s).waiting == LIMIT);
		fixture_let_go(&s);
		fixture_done(&s);
		check_mailbox(&s, 0, LIMIT,
			      full == PEAL_OVERFLOW_FAIL ? 0 : past.n - LIMIT,
			      full == PEAL_OVERFLOW_FAIL ? past.n - LIMIT : 0);
		EVENTUALLY(fixture_info(&s).mailbox_expired == LIMIT);
		for (i = 0; i < fixture_info(&s).mailbox_dead; i++) {
			CHECK_OK(peal_receive(s.letters, kept, sizeof(kept), &r,
					      MAX_WAIT));
			expired += letter->reason == PEAL_REASON_EXPIRED;
			if (letter->reason == PEAL_REASON_FULL && !oldest) {
				CHECK_EQ(letter->flags, 0);
				CHECK_EQ(letter->length, 8);
				CHECK(kept[6] >= LIMIT);
				continue;
			}
			CHECK_EQ(letter->flags, PEAL_FLAG_DEADLINE);
			CHECK_EQ(letter->length, 16);
			CHECK_EQ(kept[6], PEAL_DEADLINE_PAST);
			if (letter->reason == PEAL_REASON_FULL)
				CHECK(kept[7] < past.n - LIMIT);
		}
		CHECK_EQ(expired, LIMIT);
		fixture_drain(&s);
		CHECK_EQ(fixture_note(&s).seen, 0);
		fixture_close(&s);
	}
}

/* ---- dead letters and requests ------------------------------------------- */

PEAL_TEST(dropped_messages_make_replayable_letters)
{
	uint64_t kept[8];
	struct peal_dead_letter *letter = (struct peal_dead_letter *)kept;
	struct peal_received r;
	uint32_t full, by_link;

	CHECK(!strcmp(peal_reason_name(PEAL_REASON_FULL), "full"));
	for (full = PEAL_OVERFLOW_DROP_NEWEST;
	     full <= PEAL_OVERFLOW_DROP_OLDEST; full++)
		for (by_link = 0; by_link < 2; by_link++) {
			int oldest = full == PEAL_OVERFLOW_DROP_OLDEST;
			struct fixture s;
			uint64_t i;

			fixture_open(&s, usual, "note", LIMIT, full);
			fixture_take_letters(&s);
			fixture_hold(&s);
			if (by_link)
				fixture_send(&s, 0, 0, SENT);
			else
				fixture_order(&s, 0, LIMITS_TELL, 0, SENT);
			EVENTUALLY(fixture_mailbox(&s).dropped == SENT - LIMIT);
			fixture_let_go(&s);
			for (i = 0; i < SENT - LIMIT; i++) {
				CHECK_OK(peal_receive(s.letters, kept,
						      sizeof(kept), &r,
						      MAX_WAIT));
				CHECK_EQ(r.dead_letter, 1);
				CHECK_EQ(letter->to, s.actor);
				CHECK_EQ(letter->reason, PEAL_REASON_FULL);
				CHECK_EQ(letter->error, 0);
				CHECK_EQ(letter->flags, 0);
				CHECK_EQ(letter->length, 8);
				CHECK_EQ(letter->link,
					 by_link && !oldest ?
						 harness_info(s.to[0]).id :
						 PEAL_NO_LINK);
				CHECK_EQ(letter->worker,
					 oldest ? FIXTURE_TELLERS : 0);
				CHECK_EQ(kept[6], oldest ? i : LIMIT + i);
			}
			fixture_done(&s);
			CHECK_OK(peal_dead_letter_replay(s.e, 0, 0, letter,
							 r.length, MAX_WAIT));
			EVENTUALLY(harness_info(s.to[0]).queued == 0);
			fixture_drain(&s);
			CHECK_EQ(fixture_note(&s).seen, LIMIT + 1);
			CHECK_EQ(fixture_note(&s).log[LIMIT], kept[6]);
			fixture_close(&s);
		}
}

/*
 * Opens a requester with a link to a teller's worker and an input from the
 * actor.
 */
static struct peal_requester *ask_from(struct fixture *s)
{
	struct peal_requester *r = NULL;

	CHECK_OK(peal_requester_create(s->rt, s->teller[0], NULL, &r));
	CHECK_OK(peal_requester_listen(r, s->actor, 0));
	return r;
}

static void begin(struct peal_requester *r, uint64_t to, uint64_t number,
		  uint64_t *request)
{
	CHECK_OK(peal_request_start_to(r, to, 0, &number, sizeof(number),
				       MAX_WAIT, request));
}

static void check_answer(struct peal_requester *r, uint64_t request,
			 uint64_t number)
{
	struct peal_received got;
	uint64_t answer = 0;

	CHECK_OK(peal_request_wait(r, request, &answer, sizeof(answer), &got,
				   MAX_WAIT));
	CHECK_EQ(answer, number);
}

/*
 * A dropped request ends before its timeout. Otherwise the result would be
 * PEAL_ETIMEDOUT.
 */
PEAL_TEST(dropped_request_fails_at_once)
{
	uint32_t full;

	for (full = PEAL_OVERFLOW_FAIL; full <= PEAL_OVERFLOW_DROP_OLDEST;
	     full++) {
		int oldest = full == PEAL_OVERFLOW_DROP_OLDEST;
		struct peal_requester_info info;
		struct peal_requester *r;
		uint64_t request[3], answer = 7;
		struct peal_received got;
		struct fixture s;

		fixture_open(&s, usual, "answer", 2, full);
		r = ask_from(&s);
		fixture_hold(&s);
		begin(r, s.actor, 0, &request[0]);
		begin(r, s.actor, 1, &request[1]);
		EVENTUALLY(fixture_mailbox(&s).waiting == 2);
		begin(r, s.actor, 2, &request[2]);
		EVENTUALLY(fixture_mailbox(&s).dropped == 1);
		if (oldest)
			fixture_let_go(&s);
		CHECK_FAILS(peal_request_wait(r, request[oldest ? 0 : 2],
					      &answer, sizeof(answer), &got,
					      MAX_WAIT),
			    PEAL_ENOSPC, "no actor handles the request");
		CHECK_EQ(got.error_reply, 1);
		CHECK_EQ(answer, 7);
		if (!oldest)
			CHECK_FAILS(peal_request_to(r, s.actor, 0, &answer,
						    sizeof(answer), &answer,
						    sizeof(answer), NULL,
						    MAX_WAIT),
				    PEAL_ENOSPC, "no actor handles");
		fixture_let_go(&s);
		check_answer(r, request[1], 1);
		check_answer(r, request[oldest ? 2 : 0], oldest ? 2 : 0);
		CHECK_OK(peal_requester_info(r, &info));
		CHECK_EQ(info.replied, 2);
		CHECK_EQ(info.error_replies, oldest ? 1 : 2);
		CHECK_OK(peal_requester_destroy(r));
		fixture_close(&s);
	}
}

/*
 * A handler forwards the request, and the actor's mailbox drops it. The next
 * requester then reuses the reject table.
 */
PEAL_TEST(dropped_delegated_request_fails_at_once)
{
	struct limits_order on = { .what = LIMITS_DELEGATE, .n = 1 };
	uint32_t i;
	struct fixture s;

	fixture_open(&s, usual, "answer", 1, PEAL_OVERFLOW_DROP_NEWEST);
	on.actor = (uint32_t)s.actor;
	for (i = 0; i < 3; i++) {
		struct peal_requester *r = ask_from(&s);
		uint64_t request = 0, answer;

		fixture_hold(&s);
		fixture_order(&s, 0, LIMITS_TELL, 0, 1);
		CHECK_FAILS(peal_request(r, limits_order_number, &on,
					 sizeof(on), &answer, sizeof(answer),
					 NULL, MAX_WAIT),
			    PEAL_ENOSPC, "no actor handles");
		fixture_let_go(&s);
		fixture_done(&s);
		begin(r, s.actor, 9, &request);
		check_answer(r, request, 9);
		CHECK_OK(peal_requester_destroy(r));
	}
	EVENTUALLY(fixture_mailbox(&s).dropped == 3);
	fixture_close(&s);
}

/* ---- restart, retirement and end ----------------------------------------- */

/*
 * A message that fails no longer counts as waiting. The actor handles the other
 * waiting messages after its restart.
 */
PEAL_TEST(restart_keeps_waiting_messages)
{
	struct peal_kernel_options o = { .max_supervisors = 1 };
	uint64_t number = 3;
	struct fixture s;

	fixture_open(&s, o, "note", LIMIT, PEAL_OVERFLOW_DROP_NEWEST);
	fixture_hold(&s);
	CHECK_OK(peal_send_to(s.e, 0, s.actor, LIMITS_FAIL, &number,
			      sizeof(number), MAX_WAIT, NULL));
	EVENTUALLY(fixture_mailbox(&s).waiting == 1);
	fixture_order(&s, 0, LIMITS_TELL, 0, SENT);
	check_mailbox(&s, LIMIT, LIMIT, SENT - LIMIT + 1, 0);
	fixture_let_go(&s);
	fixture_done(&s);
	check_mailbox(&s, 0, LIMIT, SENT - LIMIT + 1, 0);
	EVENTUALLY(fixture_info(&s).failed == 1);
	fixture_drain(&s);
	CHECK_EQ(fixture_note(&s).seen, LIMIT - 1);
	fixture_close(&s);
}

/*
 * Messages for the retired actor become dead. The next actor's limit counts
 * from 0.
 */
PEAL_TEST(reused_slot_starts_with_zero_limit_count)
{
	struct peal_kernel_options o = { .mailbox.max_limits = 1 };
	uint64_t more = 0;
	struct fixture s;

	fixture_open(&s, o, "note", LIMIT, PEAL_OVERFLOW_DROP_OLDEST);
	CHECK_FAILS(peal_actor_spawn(
			    s.k, "note",
			    &(struct peal_actor_options){
				    .size = sizeof(struct peal_actor_options),
				    .mailbox_limit = 1,
				    .mailbox_overflow = PEAL_OVERFLOW_FAIL },
			    &more),
		    PEAL_ENOSPC,
		    "'limits': has too few of its 1 limits left "
		    "for the actors (1, allowed 0)");
	CHECK_OK(peal_link_destroy(s.near));
	fixture_hold(&s);
	fixture_order(&s, 0, LIMITS_TELL, 0, SENT);
	fixture_let_go(&s);
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	CHECK_OK(peal_kernel_resume(s.k));
	fixture_hold(&s);
	fixture_order(&s, 0, LIMITS_TELL, 0, SENT);
	fixture_let_go(&s);
	CHECK_OK(peal_actor_retire(s.rt, s.actor));
	CHECK_EQ(peal_actor_mailbox(s.rt, s.actor,
				    &(struct peal_actor_mailbox_info){ 0 }),
		 PEAL_ENOENT);
	fixture_done(&s);
	s.actor = fixture_spawn(&s, "note", 2, PEAL_OVERFLOW_FAIL);
	check_mailbox(&s, 0, 0, 0, 0);
	fixture_hold(&s);
	fixture_order(&s, 0, LIMITS_TELL, 0, 3);
	check_mailbox(&s, 2, 2, 0, 1);
	fixture_let_go(&s);
	fixture_done(&s);
	fixture_close(&s);
}

/* Each of 60 actors has its own limit, also in reused actor slots. */
PEAL_TEST(sixty_actors_have_separate_limits)
{
	enum { MANY = 60 };
	struct peal_kernel_options o = { .max_actors = 200,
					 .mailbox.max_limits = 80 };
	struct peal_actor_options a = { .size = sizeof(a),
					.worker = PEAL_WORKER(FIXTURE_TELLERS),
					.mailbox_limit = 2,
					.mailbox_overflow =
						PEAL_OVERFLOW_FAIL };
	struct limits_order three = { .n = 3 };
	uint64_t actor[MANY], again[MANY / 2];
	struct fixture s;
	uint32_t i;

	fixture_open(&s, o, "note", 1, PEAL_OVERFLOW_FAIL);
	CHECK_OK(peal_actor_spawn_many(s.k, "note", &a, MANY, actor));
	for (i = 0; i < MANY / 2; i++)
		CHECK_OK(peal_actor_retire(s.rt, actor[2 * i]));
	CHECK_OK(peal_actor_spawn_many(s.k, "note", &a, MANY / 2, again));
	for (i = 0; i < MANY / 2; i++)
		actor[2 * i] = again[i];
	fixture_hold(&s);
	for (i = 0; i < MANY; i++) {
		three.actor = (uint32_t)actor[i];
		fixture_order_as(&s, i % FIXTURE_TELLERS, three);
	}
	for (i = 0; i < FIXTURE_TELLERS; i++)
		EVENTUALLY(harness_info(s.to[i]).delivered ==
			   MANY / FIXTURE_TELLERS);
	for (i = 0; i < MANY; i++) {
		s.actor = actor[i];
		check_mailbox(&s, 2, 2, 0, 1);
	}
	fixture_let_go(&s);
	fixture_done(&s);
	EVENTUALLY(fixture_info(&s).mailbox_sends == 2 * MANY);
	fixture_close(&s);
}

/*
 * Messages that wait when the kernel stops count as told, not as done. A worker
 * of a GPU reads the control words after up to 96 messages, so more are sent.
 */
PEAL_TEST(stop_counts_waiting_messages)
{
	enum { MANY = 200 };
	const struct peal_kernel_options o = { .mailbox.slots = 1024 };
	struct fixture s;

	fixture_open(&s, o, "note", LIMIT, PEAL_OVERFLOW_DROP_OLDEST);
	fixture_hold(&s);
	fixture_order(&s, 0, LIMITS_TELL, 0, MANY);
	CHECK_OK(peal_kernel_stop(s.k, 0));
	fixture_let_go(&s);
	CHECK_OK(peal_kernel_stop(s.k, MAX_WAIT));
	EVENTUALLY(fixture_info(&s).mailbox_sends == MANY);
	CHECK(fixture_info(&s).mailbox_done < MANY - LIMIT);
	check_mailbox(&s, LIMIT, LIMIT, MANY - LIMIT, 0);
	fixture_close(&s);
}

/* ---- refusals ------------------------------------------------------------ */

static void refuse(struct peal_kernel *k, uint32_t limit, uint32_t full,
		   int code, const char *text)
{
	struct peal_actor_options o = { .size = sizeof(o),
					.mailbox_limit = limit,
					.mailbox_overflow = full };
	uint64_t address = 0;

	CHECK_FAILS(peal_actor_spawn(k, "note", &o, &address), code, text);
}

PEAL_TEST(invalid_limits_are_refused)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .mailbox.max_limits = 1 };
	struct peal_actor_mailbox_info m;
	struct peal_kernel *plain = NULL;
	struct fixture s;

	fixture_open(&s, usual, "note", LIMIT, PEAL_OVERFLOW_FAIL);
	CHECK_FAILS(peal_kernel_launch(s.rt, 0, &peal_program_limits, &o,
				       &plain),
		    PEAL_EINVAL,
		    "'mailbox.max_limits': needs mailboxes, and "
		    "mailbox.slots is 0 (1, allowed 0)");
	o.mailbox.slots = 64;
	o.mailbox.max_limits = PEAL_LIMITS_MAX + 1;
	CHECK_FAILS(peal_kernel_launch(s.rt, 0, &peal_program_limits, &o,
				       &plain),
		    PEAL_EINVAL,
		    "'mailbox.max_limits': is out of range (8192, allowed "
		    "0..8191)");
	o.mailbox.max_limits = 0;
	CHECK_OK(peal_kernel_launch(s.rt, 0, &peal_program_limits, &o, &plain));
	refuse(plain, 1, PEAL_OVERFLOW_FAIL, PEAL_ENOTSUP,
	       "set mailbox.max_limits");
	refuse(s.k, 1, 0, PEAL_EINVAL, "select the action");
	refuse(s.k, 0, PEAL_OVERFLOW_FAIL, PEAL_EINVAL,
	       "'mailbox_overflow': "
	       "needs a mailbox_limit, which is 0 (1, allowed 0)");
	refuse(s.k, 1, 4, PEAL_EINVAL,
	       "'mailbox_overflow': is out of range "
	       "(4, allowed 0..3)");
	refuse(s.k, PEAL_LIMIT_MAX + 1, 1, PEAL_EINVAL,
	       "'mailbox_limit': is "
	       "out of range (1048577, allowed 0..1048576)");
	CHECK_FAILS(peal_actor_mailbox(s.rt, s.teller[0], &m), PEAL_ENOTSUP,
		    "has no limit, so its messages are not counted");
	CHECK_FAILS(peal_actor_mailbox(s.rt, 4711, &m), PEAL_ENOENT,
		    "'address': is the address of no actor");
	CHECK_FAILS(peal_actor_mailbox(NULL, s.actor, &m), PEAL_EINVAL, "NULL");
	CHECK_FAILS(peal_actor_mailbox(s.rt, s.actor, NULL), PEAL_EINVAL,
		    "NULL");
	harness_from(s.rt, s.e, 20, harness_spawn(plain, "note", 0), none);
	CHECK_OK(peal_kernel_stop(plain, MAX_WAIT));
	fixture_close(&s);
}

PEAL_TEST_MAIN(RUN_LANES(limit_is_exact_for_every_overflow_policy);
	       RUN_LANES(overflow_drops_newest_or_oldest_messages);
	       RUN_LANES(limit_holds_for_concurrent_senders);
	       RUN_LANES(refused_and_dropped_messages_take_no_slot);
	       RUN_LANES(link_messages_via_other_worker_are_counted);
	       RUN_LANES(link_messages_to_own_worker_are_not_counted);
	       RUN_LANES(timers_and_down_messages_are_not_counted);
	       RUN_LANES(expired_messages_count_to_the_limit);
	       RUN_LANES(dropped_messages_make_replayable_letters);
	       RUN_LANES(dropped_request_fails_at_once);
	       RUN_LANES(dropped_delegated_request_fails_at_once);
	       RUN_LANES(restart_keeps_waiting_messages);
	       RUN_LANES(reused_slot_starts_with_zero_limit_count);
	       RUN_LANES(sixty_actors_have_separate_limits);
	       RUN_LANES(stop_counts_waiting_messages); lanes = 1;
	       RUN(invalid_limits_are_refused);)
