/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that an actor handles each number of a sender once, by links and
 * mailboxes and after a migration. A duplicate is dead and counted, but no
 * failure.
 */
#include "runtime/both_lanes.h"
#include "runtime/once.h"

PEAL_DECLARE_PROGRAM(once);

/* ---- the window of numbers ----------------------------------------------- */

PEAL_TEST(each_number_is_new_once_and_only_old_ones_are_taken_for_known)
{
	enum { MOST = 4096, TURNS = 200000 };
	static uint8_t had[MOST];
	struct peal_once_sender sender = { 0 };
	unsigned long long random = 77;
	uint64_t largest = 0, number;
	uint32_t i, taken = 0, known = 0;
	int result;

	for (i = 0; i < TURNS; i++) {
		/* mostly near the largest, rarely above it */
		number = test_random(&random) % (i % 9 ? 260 : MOST);
		number = number > largest + 3 ? number % (largest + 4) :
						largest + 3 - number;
		if (number >= MOST)
			continue;
		result = peal_once_note(&sender, 1, 5, number);
		CHECK(result == 0 || result == PEAL_EDUPLICATE);
		if (!result)
			CHECK_EQ(had[number]++, 0);
		else if (number + PEAL_ONCE_WINDOW > largest)
			CHECK_EQ(had[number], 1);
		if (number > largest)
			largest = number;
		taken += !result;
		known += result != 0;
	}
	CHECK(taken > MOST / 2);
	CHECK(known > MOST);
}

PEAL_TEST(a_leap_forgets_what_lies_far_below)
{
	struct peal_once_sender sender = { 0 };
	uint64_t far = 1ULL << 60;
	uint32_t i;

	for (i = 0; i < 500; i++)
		CHECK_OK(peal_once_note(&sender, 1, 0, i));
	CHECK_OK(peal_once_note(&sender, 1, 0, far));
	for (i = 1; i < PEAL_ONCE_WINDOW; i++)
		CHECK_OK(peal_once_note(&sender, 1, 0, far - i));
	for (i = 0; i < PEAL_ONCE_WINDOW; i++)
		CHECK_EQ(peal_once_note(&sender, 1, 0, far - i),
			 PEAL_EDUPLICATE);
	CHECK_EQ(peal_once_note(&sender, 1, 0, 499), PEAL_EDUPLICATE);
	CHECK_EQ(peal_once_note(&sender, 1, 0, 501), PEAL_EDUPLICATE);
	CHECK_OK(peal_once_note(&sender, 1, 0, ~0ULL - 1));
	CHECK_EQ(peal_once_note(&sender, 1, 0, ~0ULL), PEAL_EINVAL);
}

PEAL_TEST(there_is_a_place_for_each_sender_and_no_more)
{
	struct peal_once_sender senders[2];

	memset(senders, 0, sizeof(senders));
	CHECK_OK(peal_once_note(senders, 2, 0, 7));
	CHECK_OK(peal_once_note(senders, 2, ~0ULL, 7));
	CHECK_EQ(peal_once_note(senders, 2, 1, 7), PEAL_ENOSPC);
	CHECK_EQ(peal_once_note(senders, 2, 0, 7), PEAL_EDUPLICATE);
	CHECK_EQ(peal_once_forget(senders, 2, 1), PEAL_ENOENT);
	CHECK_OK(peal_once_forget(senders, 2, 0));
	CHECK_EQ(peal_once_forget(senders, 2, 0), PEAL_ENOENT);
	/* sender 1 inherits no numbers of sender 0 */
	CHECK_OK(peal_once_note(senders, 2, 1, 7));
	CHECK_OK(peal_once_note(senders, 2, 1, 6));
	CHECK_EQ(peal_once_note(senders, 2, ~0ULL, 7), PEAL_EDUPLICATE);
}

/* ---- actors -------------------------------------------------------------- */

struct scene {
	struct peal_runtime *rt;
	struct peal_kernel *k;
	struct peal_endpoint *e;
	uint64_t keeper, herald;
	struct peal_link *link, *by; /* to the keeper, to the herald */
};

static struct scene scene_open(struct peal_supervisor_options *supervisor)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = 2,
					 .lanes = lanes,
					 .mailbox_slots = 64,
					 .max_supervisors = 1,
					 .timers = 8,
					 .asks = 8 };
	struct peal_actor_options ao = { .size = sizeof(ao), .worker = 1 };
	struct peal_link_options none = { .capacity = 0 };
	struct scene s = { .rt = harness_open(1, "") };

	s.e = harness_endpoint(s.rt);
	CHECK_OK(peal_kernel_launch(s.rt, 0, &peal_program_once, &o, &s.k));
	if (supervisor)
		CHECK_OK(peal_supervisor_create(s.k, supervisor,
						&ao.supervisor));
	CHECK_OK(peal_actor_spawn(s.k, "keeper", &ao, &s.keeper));
	s.herald = harness_spawn(s.k, "herald", 1);
	s.link = harness_from(s.rt, s.e, 0, s.keeper, none);
	s.by = harness_from(s.rt, s.e, 1, s.herald, none);
	return s;
}

static void note(struct scene *s, uint32_t port, uint16_t type, uint64_t sender,
		 uint64_t number, uint32_t asks)
{
	struct once_note n = { sender, number, 1 + (uint32_t)s->keeper, asks };

	CHECK_OK(peal_send(s->e, port, type, &n, sizeof(n), PATIENCE));
}

static struct peal_kernel_info info_of(const struct scene *s)
{
	struct peal_kernel_info info;

	CHECK_OK(peal_kernel_info(s->k, &info));
	return info;
}

static void quiet(struct scene *s)
{
	harness_conserved(s->rt);
	EVENTUALLY(info_of(s).told == info_of(s).mail_done);
}

/* Checks the number of new messages and the sum of their numbers. */
static void kept(struct scene *s, uint64_t count, uint64_t sum)
{
	struct once_keeper k;

	quiet(s);
	CHECK_OK(peal_kernel_suspend(s->k, PATIENCE));
	CHECK_OK(peal_actor_state(s->rt, s->keeper, &k, sizeof(k)));
	CHECK_OK(peal_kernel_resume(s->k));
	CHECK_EQ(k.count, count);
	CHECK_EQ(k.sum, sum);
}

static void scene_close(struct scene *s, uint64_t failed)
{
	quiet(s);
	CHECK_EQ(info_of(s).failed, failed);
	CHECK_OK(peal_runtime_shutdown(s->rt));
}

PEAL_TEST(what_comes_twice_by_a_link_is_handled_once)
{
	struct scene s = scene_open(NULL);
	struct peal_link_info info;
	uint64_t i;

	for (i = 0; i < 100; i++)
		note(&s, 0, ONCE_ADD, 1 + i % 2, i, 0);
	for (i = 99; i >= 90; i--) /* again, in reverse order */
		note(&s, 0, ONCE_ADD, 1 + i % 2, i, 0);
	/* a number of the other sender */
	note(&s, 0, ONCE_ADD, 1, 91, 0);
	kept(&s, 101, 99 * 50 + 91);
	info = harness_info(s.link);
	CHECK_EQ(info.dead[PEAL_REASON_DUPLICATE], 10);
	CHECK_EQ(info.delivered, 101);
	CHECK(!strcmp(peal_reason_name(PEAL_REASON_DUPLICATE), "duplicate"));
	scene_close(&s, 0);
}

/* Receives the dead letter of a duplicate. */
static void letter_comes(struct peal_endpoint *ear)
{
	struct {
		struct peal_dead_letter about;
		uint8_t kept[256];
	} letter;
	struct peal_received r;

	CHECK_OK(peal_receive(ear, &letter, sizeof(letter), &r, PATIENCE));
	CHECK(r.dead_letter);
	CHECK_EQ(letter.about.reason, PEAL_REASON_DUPLICATE);
	CHECK_EQ(letter.about.error, PEAL_EDUPLICATE);
}

PEAL_TEST(what_comes_by_mail_is_known_to_links_and_the_other_way_round)
{
	struct scene s = scene_open(NULL);
	struct peal_endpoint *ear = harness_endpoint(s.rt);
	struct peal_link_options lo = { .size = sizeof(lo) };

	CHECK_OK(peal_dead_letters(s.k, peal_endpoint_address(ear), &lo));
	note(&s, 1, ONCE_ADD, 9, 4, 0);
	quiet(&s);
	note(&s, 0, ONCE_ADD, 9, 4, 0);
	letter_comes(ear);
	note(&s, 0, ONCE_ADD, 9, 5, 0);
	quiet(&s);
	note(&s, 1, ONCE_ADD, 9, 5, 0);
	letter_comes(ear);
	kept(&s, 2, 9);
	EVENTUALLY(harness_info(s.link).dead[PEAL_REASON_DUPLICATE] == 1);
	CHECK_EQ(info_of(&s).mail_duplicate, 1);
	CHECK_EQ(info_of(&s).mail_dead, 1);
	scene_close(&s, 0);
}

PEAL_TEST(an_ask_that_comes_again_is_answered_so)
{
	struct scene s = scene_open(NULL);
	struct once_herald h;

	note(&s, 1, ONCE_ADD, 3, 1, 1);
	note(&s, 1, ONCE_ADD, 3, 1, 1);
	EVENTUALLY(info_of(&s).asks.asked == 2 && !info_of(&s).asks.open);
	kept(&s, 1, 1);
	CHECK_OK(peal_kernel_suspend(s.k, PATIENCE));
	CHECK_OK(peal_actor_state(s.rt, s.herald, &h, sizeof(h)));
	CHECK_OK(peal_kernel_resume(s.k));
	CHECK_EQ(h.answers, 2);
	CHECK_EQ(h.duplicates, 1);
	scene_close(&s, 0);
}

PEAL_TEST(one_sender_too_many_is_failed_on)
{
	struct scene s = scene_open(NULL);
	uint64_t i;

	for (i = 0; i <= ONCE_SENDERS; i++)
		note(&s, 0, ONCE_ADD, 10 + i, 1, 0);
	kept(&s, ONCE_SENDERS, ONCE_SENDERS);
	EVENTUALLY(harness_info(s.link).dead[PEAL_REASON_HANDLER] == 1);
	note(&s, 0, ONCE_FORGET, 11, 0, 0);
	note(&s, 0, ONCE_ADD, 10 + ONCE_SENDERS, 1, 0);
	kept(&s, ONCE_SENDERS + 1, ONCE_SENDERS + 1);
	scene_close(&s, 1);
}

PEAL_TEST(who_moves_remembers)
{
	struct scene s = scene_open(NULL);
	struct peal_migrate_options o = { .size = sizeof(o), .worker = 2 };
	uint64_t now;

	note(&s, 0, ONCE_ADD, 2, 1, 0);
	quiet(&s);
	CHECK_OK(peal_actor_migrate(s.rt, s.keeper, &o, &now));
	note(&s, 0, ONCE_ADD, 2, 1, 0);
	note(&s, 0, ONCE_ADD, 2, 2, 0);
	kept(&s, 2, 3);
	/* the duplicate was forwarded by mail */
	CHECK_EQ(info_of(&s).mail_duplicate, 1);
	scene_close(&s, 0);
}

/*
 * A supervisor does not count duplicates as failures. A restarted actor has
 * forgotten all numbers.
 */
PEAL_TEST(who_begins_anew_has_forgotten)
{
	struct peal_supervisor_options so = { .size = sizeof(so),
					      .strategy = PEAL_ONE_FOR_ONE,
					      .restarts = 1,
					      .period_ns = 60 * SECOND };
	struct scene s = scene_open(&so);
	int i;

	note(&s, 0, ONCE_ADD, 2, 1, 0);
	for (i = 0; i < 5; i++)
		note(&s, 0, ONCE_ADD, 2, 1, 0);
	kept(&s, 1, 1);
	note(&s, 0, ONCE_FAIL, 2, 2, 0);
	note(&s, 0, ONCE_ADD, 2, 2, 0);
	note(&s, 0, ONCE_ADD, 2, 1, 0);
	kept(&s, 2, 3);
	EVENTUALLY(harness_info(s.link).dead[PEAL_REASON_DUPLICATE] == 5);
	scene_close(&s, 1);
}

PEAL_TEST(who_goes_on_after_a_failure_has_had_that_message)
{
	struct scene s = scene_open(NULL);

	note(&s, 0, ONCE_FAIL, 2, 2, 0);
	note(&s, 0, ONCE_ADD, 2, 2, 0);
	kept(&s, 0, 0);
	EVENTUALLY(harness_info(s.link).dead[PEAL_REASON_DUPLICATE] == 1);
	scene_close(&s, 1);
}

PEAL_TEST_MAIN(
	RUN(each_number_is_new_once_and_only_old_ones_are_taken_for_known);
	RUN(a_leap_forgets_what_lies_far_below);
	RUN(there_is_a_place_for_each_sender_and_no_more);
	RUN_LANES(what_comes_twice_by_a_link_is_handled_once);
	RUN_LANES(what_comes_by_mail_is_known_to_links_and_the_other_way_round);
	RUN_LANES(an_ask_that_comes_again_is_answered_so);
	RUN_LANES(one_sender_too_many_is_failed_on);
	RUN_LANES(who_moves_remembers);
	RUN_LANES(who_begins_anew_has_forgotten);
	RUN_LANES(who_goes_on_after_a_failure_has_had_that_message);)
