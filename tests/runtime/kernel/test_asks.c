/* SPDX-License-Identifier: Apache-2.0 */
/* Each ask has one answer: a reply or an error. The end of the asked actor does
 * not change that. A further reply is late. */
#include "runtime/ask_fixture.h"

/* ---- answers ------------------------------------------------------------- */

PEAL_TEST(reply_arrives_from_same_other_and_own_actor)
{
	struct peal_kernel_options o = { .max_asks = 1 };
	struct fixture s = fixture_open(o);
	uint64_t here = harness_spawn(s.k, "server", 0);
	uint64_t there = harness_spawn(s.k, "server", 1);
	struct peal_kernel_info info;
	uint32_t i;

	for (i = 0; i < 20; i++) {
		fixture_ask(&s, 0, here, ASKS_REPLY, 0);
		fixture_expect(&s, 0, 41);
		fixture_ask(&s, 0, there, ASKS_REPLY, 0);
		fixture_expect(&s, 0, 41);
		fixture_ask(&s, 0, s.party[0], ASKS_REPLY, 0);
		fixture_expect(&s, 0, 41);
		fixture_ask(&s, 1, s.party[0], ASKS_REPLY, 0);
		fixture_expect(&s, 0, 41);
	}
	CHECK_OK(peal_kernel_info(s.k, &info));
	CHECK_EQ(info.failed, 0);
	CHECK_EQ(fixture_close(&s).answered, 80);
}

PEAL_TEST(refusal_error_is_passed_or_mapped)
{
	static const int32_t as_it_is[] = { PEAL_EPERM, PEAL_ENOSPC,
					    PEAL_ENOENT };
	static const int32_t mapped[] = {
		PEAL_EAGAIN, PEAL_ETIMEDOUT, PEAL_EMSGSIZE, PEAL_EBUSY, 0, 5
	};
	struct peal_kernel_options none = { .max_asks = 0 };
	struct fixture s = fixture_open(none);
	struct asks_order o = { .to = (uint32_t)s.party[1], .n = 1 };
	uint32_t i;

	o.request.how = ASKS_REFUSE;
	for (i = 0; i < 3; i++) {
		o.request.error = as_it_is[i];
		CHECK_EQ(fixture_order(&s, 0, o).result, 0);
		fixture_expect(&s, as_it_is[i], 0);
	}
	for (i = 0; i < 6; i++) {
		o.request.error = mapped[i];
		CHECK_EQ(fixture_order(&s, 0, o).result, 0);
		fixture_expect(&s, PEAL_EHANDLER, 0);
	}
	CHECK_EQ(fixture_close(&s).error_replies, 9);
}

/* The asked actor replies later, forwards to another actor, or asks another
 * actor first. */
PEAL_TEST(deferred_delegated_and_chained_replies_arrive)
{
	struct peal_kernel_options none = { .max_asks = 1 };
	struct fixture s = fixture_open(none);
	uint64_t server = harness_spawn(s.k, "server", 1);
	struct peal_link_options link = { .capacity = 0 };
	struct asks_order o = { .to = (uint32_t)s.party[1], .n = 1 };
	uint32_t how;

	harness_from(s.rt, s.e, s.next_port++, server, link);
	fixture_ask(&s, 0, server, ASKS_KEEP, 0);
	fixture_requested(&s, server, 1);
	EVENTUALLY(fixture_counts(&s).open == 1);
	fixture_tell(&s, 2, ASKS_RELEASE, 0);
	fixture_expect(&s, 0, 41);
	for (how = ASKS_DELEGATE; how <= ASKS_CHAIN; how++) {
		o.request.how = how;
		o.request.value = 20;
		/* `other`: an actor of the asked worker, then the asker */
		o.request.other = (uint32_t)server;
		CHECK_EQ(fixture_order(&s, 0, o).result, 0);
		fixture_expect(&s, 0, 41);
		o.request.other = (uint32_t)s.party[0];
		CHECK_EQ(fixture_order(&s, 0, o).result, 0);
		fixture_expect(&s, 0, 41);
	}
	CHECK_EQ(fixture_close(&s).answered, 7);
}

PEAL_TEST(answer_keeps_order_with_messages_of_its_worker)
{
	struct peal_kernel_options none = { .max_asks = 0 };
	struct fixture s = fixture_open(none);
	uint32_t i;

	for (i = 0; i < 5; i++) {
		fixture_ask(&s, 0, s.party[1], ASKS_TELL, 0);
		fixture_expect(&s, 0, 41);
		EVENTUALLY(fixture_state(&s, s.party[0]).last == 2);
		CHECK_EQ(fixture_state(&s, s.party[0]).order, 192);
		fixture_tell(&s, 0, ASKS_PLAIN, 0);
		EVENTUALLY(fixture_state(&s, s.party[0]).last == 0);
	}
	fixture_close(&s);
}

/* The limit is one open ask. The handler of the answer can ask again. */
PEAL_TEST(answer_handler_can_ask_again)
{
	struct peal_kernel_options one = { .max_asks = 1 };
	struct fixture s = fixture_open(one);
	struct asks_order o = { .to = (uint32_t)s.party[1],
				.n = 1,
				.again = 30 };
	uint32_t i;

	o.request.value = 20;
	CHECK_EQ(fixture_order(&s, 0, o).result, 0);
	for (i = 0; i < 31; i++)
		fixture_expect(&s, 0, 41);
	CHECK_EQ(fixture_close(&s).answered, 31);
}

/* ---- no answer in time --------------------------------------------------- */

PEAL_TEST(timed_out_ask_makes_its_reply_late)
{
	struct peal_kernel_options one = { .max_asks =
						   1 }; /* two table entries */
	struct fixture s = fixture_open(one);
	struct asks_answer a;

	fixture_letters(&s);
	fixture_ask(&s, 0, s.party[1], ASKS_KEEP, 20 * MS);
	a = fixture_answer(&s);
	CHECK_EQ(a.error, PEAL_ETIMEDOUT);
	CHECK(a.known && a.late_ns >= 19 * MS);
	fixture_requested(&s, s.party[1], 1);
	fixture_tell(&s, 1, ASKS_RELEASE, 0);
	fixture_letter(&s, PEAL_REASON_LATE);
	EVENTUALLY(fixture_counts(&s).late == 1);
	/* new asks reuse the entry; a reply to the old number is late */
	fixture_ask(&s, 0, s.party[0], ASKS_REPLY, 0);
	fixture_expect(&s, 0, 41);
	fixture_ask(&s, 0, s.party[0], ASKS_KEEP, 0);
	fixture_tell(&s, 1, ASKS_RELEASE, 0);
	EVENTUALLY(fixture_counts(&s).late == 2);
	EVENTUALLY(fixture_counts(&s).open == 1);
	fixture_requested(&s, s.party[0], 2);
	fixture_tell(&s, 0, ASKS_RELEASE, 0);
	fixture_expect(&s, 0, 41);
	EVENTUALLY(fixture_counts(&s).timed_out == 1);
	CHECK_OK(peal_dead_letter_connect(s.k, 0, NULL));
	CHECK_EQ(fixture_close(&s).late, 2);
}

PEAL_TEST(second_reply_is_late_and_oversized_reply_fails)
{
	struct peal_kernel_options none = { .max_asks = 0 };
	struct fixture s = fixture_open(none);

	fixture_ask(&s, 0, s.party[1], ASKS_TWICE, 0);
	fixture_expect(&s, 0, 41);
	fixture_ask(&s, 0, s.party[1], ASKS_LONG, 0);
	fixture_expect(&s, 0, 41);
	EVENTUALLY(fixture_counts(&s).late == 1);
	CHECK_EQ(fixture_close(&s).answered, 2);
}

/* A handler that fails after its reply makes no second answer. */
PEAL_TEST(failing_handler_refuses_its_unanswered_ask)
{
	struct peal_kernel_options none = { .max_asks = 0 };
	struct fixture s = fixture_open(none);
	uint64_t server = harness_spawn(s.k, "server", 1);

	fixture_ask(&s, 0, server, ASKS_FAIL, 0);
	fixture_expect(&s, PEAL_EHANDLER, 0);
	fixture_ask(&s, 0, s.party[0], ASKS_FAIL, 0);
	fixture_expect(&s, PEAL_EHANDLER, 0);
	fixture_ask(&s, 0, server, ASKS_BOTH, 0);
	fixture_expect(&s, 0, 41);
	EVENTUALLY(fixture_counts(&s).open == 0);
	CHECK_EQ(fixture_counts(&s).late, 0);
	CHECK_EQ(fixture_close(&s).failed, 2);
}

PEAL_TEST(ask_ends_at_once_if_the_handler_sends_no_reply)
{
	struct peal_kernel_options none = { .max_asks = 0 };
	struct fixture s = fixture_open(none);
	struct peal_ask_counts counts;

	fixture_ask(&s, 0, s.party[1], ASKS_IGNORE, 0);
	fixture_expect(&s, PEAL_ENOREPLY, 0);
	fixture_ask(&s, 0, s.party[0], ASKS_IGNORE, 0);
	fixture_expect(&s, PEAL_ENOREPLY, 0);
	fixture_ask(&s, 0, s.party[1], ASKS_REPLY, 0);
	fixture_expect(&s, 0, 41);
	counts = fixture_close(&s);
	CHECK_EQ(counts.failed, 2);
	CHECK_EQ(counts.answered, 1);
}

/* The requests wait in the mailbox when their actor is retired. */
PEAL_TEST(retire_answers_queued_asks_at_once)
{
	struct peal_kernel_options none = { .max_asks = 0 };
	struct fixture s = fixture_open(none);
	uint64_t mute = harness_spawn(s.k, "mute", 1);
	struct asks_order o = { .to = (uint32_t)mute, .n = 3 };
	uint32_t i;

	fixture_letters(&s);
	CHECK_EQ(fixture_order(&s, 0, o).n, 3);
	CHECK_OK(peal_actor_retire(s.rt, mute));
	for (i = 0; i < 3; i++) {
		fixture_expect(&s, PEAL_ENOENT, 0);
		fixture_letter(&s, PEAL_REASON_NO_ACTOR);
	}
	CHECK_EQ(fixture_order(&s, 0, o).result, PEAL_ENOENT);
	CHECK_OK(peal_dead_letter_connect(s.k, 0, NULL));
	CHECK_EQ(fixture_close(&s).failed, 3);
}

/* Orders more asks at the limit. Returns 1 if they fail with PEAL_ENOSPC, or 0
 * if an earlier ask ended first. */
static int is_refused(struct fixture *s, struct asks_order o)
{
	uint8_t bytes[64];
	const struct asks_ordered *out = (const void *)bytes;
	struct peal_received r;

	CHECK_OK(peal_send(s->e, 0, ASKS_ORDER, &o, sizeof(o), MAX_WAIT, NULL));
	CHECK_OK(peal_receive(s->e, bytes, sizeof(bytes), &r, MAX_WAIT));
	if (r.type != ASKS_ORDER)
		return 0;
	CHECK_EQ(out->result, PEAL_ENOSPC);
	return 1;
}

static int make_no_ask(uint64_t timeout_ns)
{
	struct peal_kernel_options two = { .max_asks = 2 };
	struct fixture s = fixture_open(two);
	struct asks_order o = { .to = (uint32_t)s.party[1], .n = 1 };

	o.bytes = 41;
	CHECK_EQ(fixture_order(&s, 0, o).result, PEAL_EMSGSIZE);
	o.bytes = 0;
	o.to = 63;
	CHECK_EQ(fixture_order(&s, 0, o).result, PEAL_ENOENT);
	o.to = 1 << 23;
	CHECK_EQ(fixture_order(&s, 0, o).result, PEAL_ENOENT);
	o.to = (uint32_t)s.party[1];
	o.request.how = ASKS_KEEP;
	o.n = 3;
	o.timeout_ns = timeout_ns;
	CHECK_EQ(fixture_order(&s, 0, o).n, 2);
	if (!is_refused(&s, o)) {
		CHECK_OK(peal_runtime_shutdown(s.rt));
		return 0;
	}
	fixture_expect(&s, PEAL_ETIMEDOUT, 0);
	fixture_expect(&s, PEAL_ETIMEDOUT, 0);
	CHECK_EQ(fixture_close(&s).asked, 2);
	return 1;
}

PEAL_TEST(invalid_asks_return_an_error)
{
	fixture_in_time(make_no_ask);
}

/* ---- options ------------------------------------------------------------- */

static void refused(struct peal_kernel_options o, const char *text)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = NULL;

	o.size = sizeof(o);
	o.lanes = lanes;
	CHECK_FAILS(peal_kernel_launch(rt, 0, &peal_program_asks, &o, &k),
		    PEAL_EINVAL, text);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(invalid_ask_options_are_refused)
{
	struct peal_kernel_options many = { .max_asks = 65536,
					    .mailbox.slots = 64 };
	struct peal_kernel_options alone = { .max_asks = 1 };
	struct peal_kernel_options small = { .max_asks = 1,
					     .mailbox.slots = 64,
					     .mailbox.message_bytes = 8 };
	struct peal_kernel_options big = { .max_asks = 1,
					   .mailbox.slots = 1 << 20 };
	struct peal_kernel_options odd = { .max_asks = 1, .mailbox.slots = 65 };

	refused(many, "'max_asks': is out of range (65536, allowed 0..65535)");
	refused(alone, "mailbox.slots is 0");
	refused(small, "'mailbox.message_bytes': is too small for the answers "
		       "of max_asks (8, allowed 12 or more)");
	refused(big,
		"'mailbox.slots': is too large with mailbox.forward_slots 0 "
		"and max_asks 1 (1048576, allowed 1048576 slots in all)");
	refused(odd, "'mailbox.slots': must be a power of two (65, allowed "
		     "1..1048576)");
}

/* A kernel with timers and without asks refuses asks. */
PEAL_TEST(kernel_with_timers_only_refuses_asks)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .lanes = lanes,
					 .workers = 2,
					 .mailbox.slots = 64,
					 .max_timers = 4 };
	struct fixture s = { .rt = harness_open(1, "") };
	struct asks_order ask = { .n = 1 };

	s.e = harness_endpoint(s.rt);
	s.workers = 1;
	CHECK_OK(peal_kernel_launch(s.rt, 0, &peal_program_asks, &o, &s.k));
	s.party[0] = fixture_party(&s, 0, NULL);
	ask.to = (uint32_t)s.party[0];
	CHECK_EQ(fixture_order(&s, 0, ask).result, PEAL_ENOTSUP);
	CHECK_EQ(fixture_close(&s).asked, 0);
}

/* Sets a timer at a limit of one, then two more: without and with open asks.
 * Returns 1 if both fail with PEAL_ENOSPC, or 0 if the first timer expired
 * before. */
static int fill_timers(uint64_t ns)
{
	struct peal_kernel_options o = { .max_asks = 4, .max_timers = 1 };
	struct asks_order ask = { .n = 8, .timeout_ns = 20 * MS, .quiet = 1 };
	struct fixture s = fixture_open(o);
	int64_t result[2];

	ask.request.how = ASKS_KEEP;
	ask.to = (uint32_t)s.party[1];
	fixture_tell(&s, 0, ASKS_TIMER, ns);
	CHECK_EQ(fixture_ordered(&s).result, 0);
	fixture_tell(&s, 0, ASKS_TIMER, ns);
	result[0] = fixture_ordered(&s).result;
	CHECK_EQ(fixture_order(&s, 0, ask).n, 4);
	fixture_tell(&s, 0, ASKS_TIMER, ns);
	result[1] = fixture_ordered(&s).result;
	CHECK_EQ(fixture_close(&s).timed_out, 4);
	return result[0] == PEAL_ENOSPC && result[1] == PEAL_ENOSPC;
}

/* Timers and asks have separate limits. */
PEAL_TEST(timer_limit_is_separate_from_ask_limit)
{
	struct peal_kernel_options o = { .max_asks = 4 };
	struct fixture s;

	fixture_in_time(fill_timers);
	s = fixture_open(o);
	fixture_tell(&s, 0, ASKS_TIMER, 1);
	CHECK_EQ(fixture_ordered(&s).result, PEAL_ENOTSUP);
	fixture_close(&s);
}

PEAL_TEST_MAIN(RUN_LANES(reply_arrives_from_same_other_and_own_actor);
	       RUN_LANES(refusal_error_is_passed_or_mapped);
	       RUN_LANES(deferred_delegated_and_chained_replies_arrive);
	       RUN_LANES(answer_keeps_order_with_messages_of_its_worker);
	       RUN_LANES(answer_handler_can_ask_again);
	       RUN_LANES(timed_out_ask_makes_its_reply_late);
	       RUN_LANES(second_reply_is_late_and_oversized_reply_fails);
	       RUN_LANES(failing_handler_refuses_its_unanswered_ask);
	       RUN_LANES(ask_ends_at_once_if_the_handler_sends_no_reply);
	       RUN_LANES(retire_answers_queued_asks_at_once);
	       RUN_LANES(invalid_asks_return_an_error);
	       RUN_LANES(invalid_ask_options_are_refused);
	       RUN_LANES(kernel_with_timers_only_refuses_asks);
	       RUN_LANES(timer_limit_is_separate_from_ask_limit);)
