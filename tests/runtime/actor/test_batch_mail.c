/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches of mail, and messages that batch handlers tell. A letter makes an
 * actor tell items to other actors. The host receives their echoes.
 */
#include "runtime/batch_fixture.h"

static const struct peal_link_options letters = {
	.capacity = CAPACITY,
	.message_bytes = sizeof(struct batch_letter) + PEAL_DEADLINE_BYTES
};

/* Opens a kernel with mailboxes. Its actor 0 gets the letters. */
static void open_mail(struct fixture *s, const struct peal_program *program,
		      struct peal_kernel_options o, const char *handler)
{
	if (!o.mailbox.slots)
		o.mailbox.slots = 256;
	o.mailbox.message_bytes = ITEM_BYTES + PEAL_SENDER_BYTES;
	open_kernel(s, program, o);
	s->actor[0] = harness_spawn(s->k, handler, 0);
	s->link = harness_from(s->rt, s->in, 0, s->actor[0], letters);
	s->n = 1;
}

/* Adds an actor that emits to the host. Returns its address. */
static uint64_t add_echo(struct fixture *s, const char *handler,
			 struct peal_actor_options o)
{
	struct peal_link_options wide = usual;

	CHECK(s->n < ACTORS);
	o.size = sizeof(o);
	wide.capacity = 4 * CAPACITY;
	CHECK_OK(peal_actor_spawn(s->k, handler, &o, &s->actor[s->n]));
	s->answers[s->n] = harness_to(s->rt, s->actor[s->n], s->out, wide);
	return s->actor[s->n++];
}

static uint64_t add_on(struct fixture *s, const char *handler, int worker)
{
	struct peal_actor_options o = { .worker = PEAL_WORKER(worker) };

	return add_echo(s, handler, o);
}

/* Adds an actor on worker 0 that takes at most `limit` waiting messages. */
static uint64_t add_limited(struct fixture *s, uint64_t limit,
			    uint32_t overflow)
{
	struct peal_actor_options o = { .worker = PEAL_WORKER(0),
					.mailbox_limit = (uint32_t)limit,
					.mailbox_overflow = overflow };

	return add_echo(s, "shared", o);
}

static void begin(struct fixture *s)
{
	CHECK_OK(peal_kernel_resume(s->k));
}

/* Waits until n messages are told and done. A device stores each count for itself:
 * the host may see a later count first. */
static void wait_mail(struct fixture *s, uint64_t n)
{
	struct peal_kernel_info info;

	EVENTUALLY(!peal_kernel_info(s->k, &info) && info.mailbox_done == n &&
		   info.mailbox_sends == n);
}

/* Waits until n messages are told and done, and `dead` of them are dead. */
static void wait_dead_mail(struct fixture *s, uint64_t n, uint64_t dead)
{
	struct peal_kernel_info info;

	wait_mail(s, n);
	EVENTUALLY(!peal_kernel_info(s->k, &info) && info.mailbox_dead == dead);
}

/* Waits until the limits of actors have dropped at least n messages, and all dead
 * messages are dropped ones. Returns their number. */
static uint64_t wait_dropped_mail(struct fixture *s, uint64_t n)
{
	struct peal_kernel_info info;

	EVENTUALLY(!peal_kernel_info(s->k, &info) &&
		   info.mailbox_dropped >= n &&
		   info.mailbox_dead == info.mailbox_dropped);
	return info.mailbox_dropped;
}

/* Receives the echoes of n items, of any actor. Counts them in `seen`. */
static void receive_any(struct fixture *s, uint64_t n, uint8_t *seen)
{
	struct peal_received r;
	struct batch_item item;
	uint64_t i;

	for (i = 0; i < n; i++) {
		CHECK_OK(peal_receive(s->out, &item, sizeof(item), &r,
				      MAX_WAIT));
		CHECK_EQ(item.check, batch_check(item.number));
		seen[item.number]++;
	}
	expect_no_more(s);
}

/* An actor has had batches of several messages. Their number varies: a worker may
 * fetch the later slots of a link in host memory later. */
static void expect_batches(struct fixture *s, uint32_t actor)
{
	uint64_t most = state_of(s, actor).largest;

	CHECK(most <= largest());
	CHECK((most > 1) == (lanes > 1));
}

/* ---- one kernel ------------------------------------------------------------ */

PEAL_TEST(mail_for_one_actor_shares_a_batch)
{
	struct peal_kernel_options o = { .size = 0 };
	struct fixture s;
	uint64_t i, to;

	open_mail(&s, &peal_program_batches, o, "teller");
	to = add_on(&s, "shared", 0);
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	for (i = 0; i < N; i++)
		send_letter(&s, BATCH_ECHO, to, i, 1);
	begin(&s);
	for (i = 0; i < N; i++)
		receive_from(&s, 1, i);
	wait_dead_mail(&s, N, 0);
	CHECK_EQ(wait_ended(&s, N).delivered, N);
	expect_batches(&s, 0);
	expect_batches(&s, 1);
	CHECK_EQ(state_of(&s, 1).handled, N);
	close_fixture(&s);
}

/* Letter i is for actor i % ACTORS on its way to two workers. */
PEAL_TEST(lanes_tell_actors_of_several_workers)
{
	struct peal_kernel_options o = { .workers = 2,
					 .max_ports = 2 * ACTORS };
	uint64_t next[ACTORS] = { 0 }, i;
	const uint32_t n = 8;
	struct peal_received r;
	struct batch_item item;
	struct fixture s;

	open_mail(&s, &peal_program_batches, o, "teller");
	for (i = 0; i < n; i++)
		add_on(&s, "each", i & 1);
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	for (i = 0; i < N; i++)
		send_letter(&s, BATCH_ECHO, s.actor[1 + i % n], i, 1);
	begin(&s);
	for (i = 0; i < N; i++) {
		uint64_t at;

		CHECK_OK(
			peal_receive(s.out, &item, sizeof(item), &r, MAX_WAIT));
		at = item.number % n;
		CHECK_EQ(r.from, s.actor[1 + at]);
		CHECK_EQ(item.number, next[at]++ * n + at);
	}
	wait_mail(&s, N);
	expect_batches(&s, 0);
	expect_batches(&s, 1);
	expect_no_more(&s);
	close_fixture(&s);
}

/* The kernel has so few slots that the teller waits for them. */
PEAL_TEST(a_batch_tells_as_much_as_has_slots)
{
	struct peal_kernel_options o = { .mailbox.slots = 64 };
	uint8_t seen[N] = { 0 };
	struct fixture s;
	uint64_t i, to;

	open_mail(&s, &peal_program_batches, o, "teller");
	to = add_on(&s, "shared", 0);
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	for (i = 0; i < N; i++)
		send_letter(&s, BATCH_ECHO, to, i, 2);
	begin(&s);
	receive_any(&s, 2 * N, seen);
	for (i = 0; i < N; i++)
		CHECK_EQ(seen[i], 2);
	wait_mail(&s, 2 * N);
	CHECK(state_of(&s, 0).largest < 32);
	close_fixture(&s);
}

/* ---- failures --------------------------------------------------------------- */

PEAL_TEST(only_the_mail_that_fails_is_dead)
{
	struct peal_kernel_options o = { .max_supervisors = 1 };
	struct peal_supervisor_options so = { .size = sizeof(so),
					      .max_restarts = 30,
					      .period_ns = 3600 * SECOND };
	struct peal_actor_options ao = { .worker = PEAL_WORKER(0) };
	struct peal_supervisor_info info;
	uint8_t seen[N] = { 0 };
	uint64_t i, failed = 0;
	struct fixture s;

	open_mail(&s, &peal_program_batches, o, "teller");
	CHECK_OK(peal_supervisor_create(s.k, &so, &ao.supervisor));
	for (i = 0; i < 10; i++)
		add_echo(&s, "each", ao);
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	for (i = 0; i < N; i++) {
		failed += i % 7 == 3;
		send_letter(&s, i % 7 == 3 ? BATCH_FAIL : BATCH_ECHO,
			    s.actor[1 + i % 10], i, 1);
	}
	begin(&s);
	receive_any(&s, N - failed, seen);
	for (i = 0; i < N; i++)
		CHECK_EQ(seen[i], i % 7 != 3);
	wait_dead_mail(&s, N, failed);
	CHECK_OK(peal_supervisor_info(ao.supervisor, &info));
	CHECK_EQ(info.failures, failed);
	close_fixture(&s);
}

/* What a letter with a fault makes of itself: it is dead with this error. */
static void expect_dead_letters(uint64_t slots, uint32_t times, uint64_t bytes,
				uint64_t to_offset, uint64_t told)
{
	struct peal_kernel_options o = { .mailbox.slots = slots };
	struct batch_letter l = { .times = times, .bytes = bytes };
	struct fixture s;
	uint64_t i, to;

	open_mail(&s, &peal_program_batches_checked, o, "teller");
	to = add_on(&s, "shared", 0);
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	for (i = 0; i < N; i++) {
		l.to = (uint32_t)(to + (i % 4 == 1 ? to_offset : 0));
		l.item = item_of(i);
		if (i % 4 != 1) { /* without a fault */
			struct batch_letter right = l;

			right.times = 1;
			right.bytes = ITEM_BYTES;
			CHECK_OK(peal_send(s.in, 0, BATCH_SILENT, &right,
					   sizeof(right), MAX_WAIT, NULL));
			continue;
		}
		CHECK_OK(peal_send(s.in, 0, BATCH_SILENT, &l, sizeof(l),
				   MAX_WAIT, NULL));
	}
	begin(&s);
	CHECK_EQ(wait_ended(&s, N).dead[PEAL_REASON_HANDLER], N / 4);
	wait_mail(&s, N - N / 4 + told);
	close_fixture(&s);
}

PEAL_TEST(a_letter_that_cannot_be_told_is_dead)
{
	/* too long for the mailboxes */
	expect_dead_letters(256, 1, sizeof(struct batch_letter), 0, 0);
	/* no such actor, and a number beyond all actors */
	expect_dead_letters(256, 1, ITEM_BYTES, 1, 0);
	expect_dead_letters(256, 1, ITEM_BYTES, 0xfffff0, 0);
}

/* All letters tell once more than they may. Each batch may tell as much as all
 * its letters may. */
PEAL_TEST(mail_beyond_the_declared_number_fails)
{
	struct peal_kernel_options o = { .size = 0 };
	struct fixture s;
	uint64_t i, to;

	open_mail(&s, &peal_program_batches_checked, o, "teller");
	to = add_on(&s, "shared", 0);
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	for (i = 0; i < N; i++)
		send_letter(&s, BATCH_SILENT, to, i, BATCH_TELLS + 1);
	begin(&s);
	CHECK_EQ(wait_ended(&s, N).dead[PEAL_REASON_HANDLER], N);
	wait_mail(&s, BATCH_TELLS * N);
	close_fixture(&s);
}

PEAL_TEST(a_kernel_without_mailboxes_tells_nothing)
{
	struct peal_kernel_options o = { .size = 0 };
	struct fixture s;
	uint64_t i;

	open_kernel(&s, &peal_program_batches, o);
	s.actor[0] = harness_spawn(s.k, "teller", 0);
	s.link = harness_from(s.rt, s.in, 0, s.actor[0], letters);
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	for (i = 0; i < N; i++)
		send_letter(&s, BATCH_ECHO, s.actor[0], i, i % 2);
	begin(&s);
	CHECK_EQ(wait_ended(&s, N).dead[PEAL_REASON_HANDLER], N / 2);
	close_fixture(&s);
}

/* ---- pools, limits and other mail ------------------------------------------ */

/* A third of the items is for a pool, and a third for an actor with a limit. */
PEAL_TEST(lanes_tell_pools_and_limited_actors)
{
	struct peal_kernel_options o = { .workers = 2,
					 .max_pools = 1,
					 .mailbox.max_limits = 1 };
	struct peal_pool_options po = { .size = sizeof(po),
					.capacity = 128,
					.message_bytes = ITEM_BYTES };
	uint8_t seen[N] = { 0 };
	uint64_t to[3], i;
	struct fixture s;

	open_mail(&s, &peal_program_batches_checked, o, "teller");
	to[0] = add_on(&s, "shared", 1);
	to[1] = add_limited(&s, N, PEAL_OVERFLOW_DROP_NEWEST);
	CHECK_OK(peal_pool_create(s.k, &po, &to[2]));
	CHECK_OK(peal_pool_join(s.rt, to[2], add_on(&s, "shared", 1)));
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	for (i = 0; i < N; i++)
		send_letter(&s, BATCH_ECHO, to[i % 3], i, 1);
	begin(&s);
	receive_any(&s, N, seen);
	for (i = 0; i < N; i++)
		CHECK_EQ(seen[i], 1);
	wait_dead_mail(&s, N, 0);
	expect_batches(&s, 0);
	CHECK_EQ(state_of(&s, 1).handled, (N + 2) / 3);
	CHECK_EQ(state_of(&s, 2).handled, (N + 1) / 3);
	CHECK_EQ(state_of(&s, 3).handled, N / 3);
	close_fixture(&s);
}

/* Begins with 32 letters for an actor that takes at most 5 waiting messages. */
static void tell_limited(struct fixture *s, const struct peal_program *program,
			 uint32_t overflow)
{
	struct peal_kernel_options o = { .mailbox.max_limits = 1 };
	uint64_t i, to;

	open_mail(s, program, o, "teller");
	to = add_limited(s, 5, overflow);
	CHECK_OK(peal_kernel_suspend(s->k, MAX_WAIT));
	for (i = 0; i < 32; i++)
		send_letter(s, BATCH_ECHO, to, i, 1);
	begin(s);
}

/* The messages above the limit of an actor are dead. */
PEAL_TEST(limits_hold_for_each_lane)
{
	struct fixture s;
	uint64_t handled;

	tell_limited(&s, &peal_program_batches, PEAL_OVERFLOW_DROP_NEWEST);
	CHECK_EQ(wait_ended(&s, 32).delivered, 32);
	wait_mail(&s, 32);
	handled = state_of(&s, 1).handled;
	CHECK_EQ(wait_dropped_mail(&s, 32 - handled), 32 - handled);
	if (state_of(&s, 0).largest == 32)
		CHECK_EQ(handled, 5);
	close_fixture(&s);
}

/* Letters beyond the limit fail, and do not count as told. */
PEAL_TEST(a_letter_above_a_limit_fails)
{
	struct peal_link_info info;
	struct fixture s;

	tell_limited(&s, &peal_program_batches_checked, PEAL_OVERFLOW_FAIL);
	info = wait_ended(&s, 32);
	wait_dead_mail(&s, info.delivered, 0);
	CHECK_EQ(info.delivered + info.dead[PEAL_REASON_HANDLER], 32);
	CHECK_EQ(state_of(&s, 1).handled, info.delivered);
	if (state_of(&s, 0).largest == 32)
		CHECK_EQ(info.delivered, 5);
	close_fixture(&s);
}

/* The letters have a deadline, so each is a batch of one. The limit makes one of
 * two items dead while other lanes still read the letter. */
PEAL_TEST(a_drop_in_a_batch_of_one_keeps_its_letter)
{
	struct peal_kernel_options o = { .mailbox.max_limits = 1 };
	struct peal_send_options so = { .size = sizeof(so),
					.deadline = peal_deadline_from_now(
						3600 * SECOND) };
	struct batch_letter l = { .times = 2, .bytes = ITEM_BYTES };
	struct fixture s;
	uint64_t i;

	open_mail(&s, &peal_program_batches_checked, o, "teller");
	l.to = (uint32_t)add_limited(&s, 1, PEAL_OVERFLOW_DROP_NEWEST);
	l.item = item_of(1);
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	for (i = 0; i < 4; i++)
		CHECK_OK(peal_send(s.in, 0, BATCH_SILENT, &l, sizeof(l),
				   MAX_WAIT, &so));
	begin(&s);
	CHECK_EQ(wait_ended(&s, 4).delivered, 4);
	wait_mail(&s, 8);
	wait_dropped_mail(&s, 4);
	CHECK_EQ(state_of(&s, 0).largest, 1);
	close_fixture(&s);
}

/* The pool has too few slots for a batch of 32. Its handlers tell the actor. */
PEAL_TEST(a_small_pool_makes_batches_smaller)
{
	struct peal_kernel_options o = { .max_pools = 1 };
	struct peal_pool_options po = { .size = sizeof(po),
					.capacity = 32,
					.message_bytes = ITEM_BYTES };
	struct fixture s;
	uint64_t i, pool;

	open_mail(&s, &peal_program_batches_checked, o, "teller");
	add_on(&s, "shared", 0);
	CHECK_OK(peal_pool_create(s.k, &po, &pool));
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	for (i = 0; i < N; i++)
		send_letter(&s, BATCH_ECHO, i == 50 ? pool : s.actor[1], i,
			    1 + i % 2);
	begin(&s);
	CHECK_EQ(wait_ended(&s, N).delivered, N);
	expect_batches(&s, 0);
	CHECK(state_of(&s, 0).largest < 32);
	CHECK_OK(peal_pool_join(s.rt, pool, add_on(&s, "shared", 0)));
	wait_dead_mail(&s, N + N / 2, 0);
	close_fixture(&s);
}

/* Item numbers of a flood by one letter arrive in their order. */
static uint64_t flooded(uint32_t how, uint32_t priority)
{
	struct peal_kernel_options o = { .mailbox.priority = priority };
	struct fixture s;
	uint64_t i, most;

	open_mail(&s, &peal_program_batches, o, "flood");
	add_on(&s, "shared", 0);
	send_letter(&s, (uint16_t)how, s.actor[1], 0, BATCH_FLOOD);
	for (i = 0; i < BATCH_FLOOD; i++)
		receive_from(&s, 1, i);
	wait_dead_mail(&s, BATCH_FLOOD, 0);
	most = state_of(&s, 1).largest;
	close_fixture(&s);
	return most;
}

PEAL_TEST(mail_with_a_word_has_a_turn_of_its_own)
{
	uint64_t most = flooded(BATCH_FLOOD_MIXED, 0);

	CHECK_EQ(most, lanes < 3 ? lanes : 3);
	CHECK_EQ(flooded(BATCH_FLOOD_PLAIN, 0), largest());
}

/* The letter's message is in the turn of high sources, too: less than 32. */
PEAL_TEST(mail_of_high_priority_shares_a_batch)
{
	uint64_t most = flooded(BATCH_FLOOD_HIGH, 1);

	CHECK(most <= largest());
	if (lanes >= 4)
		CHECK(most >= 2);
	/* low sources have turns of one message while others are high */
	CHECK_EQ(flooded(BATCH_FLOOD_PLAIN, 1), 1);
}

/* A lane waits at a gate until the kernel is aborted. The batch is handled, and
 * no later mail is. */
PEAL_TEST(an_abort_ends_after_the_batch_of_mail)
{
	struct peal_kernel_options o = { .size = 0 };
	struct peal_kernel_info info;
	struct fixture s;
	uint64_t i, to;

	open_mail(&s, &peal_program_batches, o, "teller");
	to = add_on(&s, "shared", 0);
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	for (i = 0; i < N; i++)
		send_letter(&s, i == 40 ? BATCH_HOLD : BATCH_SILENT, to, i, 1);
	begin(&s);
	EVENTUALLY(peal_load_relaxed_sys(&s.gate[1]));
	CHECK_OK(peal_kernel_abort(s.k, MAX_WAIT));
	CHECK_OK(peal_kernel_info(s.k, &info));
	CHECK_EQ(info.mailbox_dead, 0);
	CHECK(info.mailbox_done >= 41);
	CHECK(info.mailbox_done <= 40 + largest());
	CHECK(info.mailbox_sends >= info.mailbox_done);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST_MAIN(RUN_LANES(mail_for_one_actor_shares_a_batch);
	       RUN_LANES(lanes_tell_actors_of_several_workers);
	       RUN_LANES(a_batch_tells_as_much_as_has_slots);
	       RUN_LANES(only_the_mail_that_fails_is_dead);
	       RUN_LANES(a_letter_that_cannot_be_told_is_dead);
	       RUN_LANES(mail_beyond_the_declared_number_fails);
	       RUN_LANES(a_kernel_without_mailboxes_tells_nothing);
	       RUN_LANES(lanes_tell_pools_and_limited_actors);
	       RUN_LANES(limits_hold_for_each_lane);
	       RUN_LANES(a_letter_above_a_limit_fails);
	       RUN_LANES(a_drop_in_a_batch_of_one_keeps_its_letter);
	       RUN_LANES(a_small_pool_makes_batches_smaller);
	       RUN_LANES(mail_with_a_word_has_a_turn_of_its_own);
	       RUN_LANES(mail_of_high_priority_shares_a_batch);
	       RUN_LANES(an_abort_ends_after_the_batch_of_mail);)
