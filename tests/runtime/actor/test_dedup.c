/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that an actor handles each number of a sender once, by links and
 * mailboxes and after a migration. A duplicate is dead and counted, but no
 * failure.
 */

#include <peal/dead_letter.h>
#include <peal/migration.h>
#include <peal/supervisor.h>
#include "runtime/both_lanes.h"
#include "runtime/dedup.h"

PEAL_DECLARE_PROGRAM(dedup);

/* ---- the window of numbers ----------------------------------------------- */

PEAL_TEST(each_number_is_new_once)
{
	enum { MOST = 4096, TURNS = 200000 };
	static uint8_t had[MOST];
	struct peal_dedup_sender sender = { 0 };
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
		result = peal_dedup_record(&sender, 1, 5, number);
		CHECK(result == 0 || result == PEAL_EDUPLICATE);
		if (!result)
			CHECK_EQ(had[number]++, 0);
		else if (number + PEAL_DEDUP_WINDOW > largest)
			CHECK_EQ(had[number], 1);
		if (number > largest)
			largest = number;
		taken += !result;
		known += result != 0;
	}
	CHECK(taken > MOST / 2);
	CHECK(known > MOST);
}

PEAL_TEST(leap_forgets_numbers_below_the_window)
{
	struct peal_dedup_sender sender = { 0 };
	uint64_t far = 1ULL << 60;
	uint32_t i;

	for (i = 0; i < 500; i++)
		CHECK_OK(peal_dedup_record(&sender, 1, 0, i));
	CHECK_OK(peal_dedup_record(&sender, 1, 0, far));
	for (i = 1; i < PEAL_DEDUP_WINDOW; i++)
		CHECK_OK(peal_dedup_record(&sender, 1, 0, far - i));
	for (i = 0; i < PEAL_DEDUP_WINDOW; i++)
		CHECK_EQ(peal_dedup_record(&sender, 1, 0, far - i),
			 PEAL_EDUPLICATE);
	CHECK_EQ(peal_dedup_record(&sender, 1, 0, 499), PEAL_EDUPLICATE);
	CHECK_EQ(peal_dedup_record(&sender, 1, 0, 501), PEAL_EDUPLICATE);
	CHECK_OK(peal_dedup_record(&sender, 1, 0, ~0ULL - 1));
	CHECK_EQ(peal_dedup_record(&sender, 1, 0, ~0ULL), PEAL_EINVAL);
}

PEAL_TEST(sender_beyond_the_table_returns_enospc)
{
	struct peal_dedup_sender senders[2];

	memset(senders, 0, sizeof(senders));
	CHECK_OK(peal_dedup_record(senders, 2, 0, 7));
	CHECK_OK(peal_dedup_record(senders, 2, ~0ULL, 7));
	CHECK_EQ(peal_dedup_record(senders, 2, 1, 7), PEAL_ENOSPC);
	CHECK_EQ(peal_dedup_record(senders, 2, 0, 7), PEAL_EDUPLICATE);
	CHECK_EQ(peal_dedup_forget(senders, 2, 1), PEAL_ENOENT);
	CHECK_OK(peal_dedup_forget(senders, 2, 0));
	CHECK_EQ(peal_dedup_forget(senders, 2, 0), PEAL_ENOENT);
	/* sender 1 inherits no numbers of sender 0 */
	CHECK_OK(peal_dedup_record(senders, 2, 1, 7));
	CHECK_OK(peal_dedup_record(senders, 2, 1, 6));
	CHECK_EQ(peal_dedup_record(senders, 2, ~0ULL, 7), PEAL_EDUPLICATE);
}

/* ---- actors -------------------------------------------------------------- */

struct fixture {
	struct peal_runtime *rt;
	struct peal_kernel *k;
	struct peal_endpoint *e;
	uint64_t keeper, herald;
	struct peal_link *link, *by; /* to the keeper, to the herald */
};

static struct fixture fixture_open(struct peal_supervisor_options *supervisor)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = 2,
					 .lanes = lanes,
					 .mailbox.slots = 64,
					 .max_supervisors = 1,
					 .max_timers = 8,
					 .max_asks = 8 };
	struct peal_actor_options ao = { .size = sizeof(ao), .worker = 1 };
	struct peal_link_options none = { .capacity = 0 };
	struct fixture s = { .rt = harness_open(1, "") };

	s.e = harness_endpoint(s.rt);
	CHECK_OK(peal_kernel_launch(s.rt, 0, &peal_program_dedup, &o, &s.k));
	if (supervisor)
		CHECK_OK(peal_supervisor_create(s.k, supervisor,
						&ao.supervisor));
	CHECK_OK(peal_actor_spawn(s.k, "keeper", &ao, &s.keeper));
	s.herald = harness_spawn(s.k, "herald", 1);
	s.link = harness_from(s.rt, s.e, 0, s.keeper, none);
	s.by = harness_from(s.rt, s.e, 1, s.herald, none);
	return s;
}

static void note(struct fixture *s, uint32_t port, uint16_t type,
		 uint64_t sender, uint64_t number, uint32_t asks)
{
	struct dedup_note n = { sender, number, 1 + (uint32_t)s->keeper, asks };

	CHECK_OK(peal_send(s->e, port, type, &n, sizeof(n), MAX_WAIT, NULL));
}

static struct peal_kernel_info info_of(const struct fixture *s)
{
	struct peal_kernel_info info;

	CHECK_OK(peal_kernel_info(s->k, &info));
	return info;
}

static void quiet(struct fixture *s)
{
	harness_conserved(s->rt);
	EVENTUALLY(info_of(s).mailbox_sends == info_of(s).mailbox_done);
}

/* Checks the number of new messages and the sum of their numbers. */
static void kept(struct fixture *s, uint64_t count, uint64_t sum)
{
	struct dedup_keeper k;

	quiet(s);
	CHECK_OK(peal_kernel_suspend(s->k, MAX_WAIT));
	CHECK_OK(peal_actor_state(s->rt, s->keeper, &k, sizeof(k)));
	CHECK_OK(peal_kernel_resume(s->k));
	CHECK_EQ(k.count, count);
	CHECK_EQ(k.sum, sum);
}

static void fixture_close(struct fixture *s, uint64_t failed)
{
	quiet(s);
	CHECK_EQ(info_of(s).failed, failed);
	CHECK_OK(peal_runtime_shutdown(s->rt));
}

PEAL_TEST(duplicate_by_link_is_handled_once)
{
	struct fixture s = fixture_open(NULL);
	struct peal_link_info info;
	uint64_t i;

	for (i = 0; i < 100; i++)
		note(&s, 0, DEDUP_ADD, 1 + i % 2, i, 0);
	for (i = 99; i >= 90; i--) /* again, in reverse order */
		note(&s, 0, DEDUP_ADD, 1 + i % 2, i, 0);
	/* a number of the other sender */
	note(&s, 0, DEDUP_ADD, 1, 91, 0);
	kept(&s, 101, 99 * 50 + 91);
	info = harness_info(s.link);
	CHECK_EQ(info.dead[PEAL_REASON_DUPLICATE], 10);
	CHECK_EQ(info.delivered, 101);
	CHECK(!strcmp(peal_reason_name(PEAL_REASON_DUPLICATE), "duplicate"));
	fixture_close(&s, 0);
}

/* Receives the dead letter of a duplicate. */
static void letter_comes(struct peal_endpoint *ear)
{
	struct {
		struct peal_dead_letter about;
		uint8_t kept[256];
	} letter;
	struct peal_received r;

	CHECK_OK(peal_receive(ear, &letter, sizeof(letter), &r, MAX_WAIT));
	CHECK(r.dead_letter);
	CHECK_EQ(letter.about.reason, PEAL_REASON_DUPLICATE);
	CHECK_EQ(letter.about.error, PEAL_EDUPLICATE);
}

PEAL_TEST(dedup_covers_links_and_mailboxes_together)
{
	struct fixture s = fixture_open(NULL);
	struct peal_endpoint *ear = harness_endpoint(s.rt);
	struct peal_link_options lo = { .size = sizeof(lo) };

	CHECK_OK(
		peal_dead_letter_connect(s.k, peal_endpoint_address(ear), &lo));
	note(&s, 1, DEDUP_ADD, 9, 4, 0);
	quiet(&s);
	note(&s, 0, DEDUP_ADD, 9, 4, 0);
	letter_comes(ear);
	note(&s, 0, DEDUP_ADD, 9, 5, 0);
	quiet(&s);
	note(&s, 1, DEDUP_ADD, 9, 5, 0);
	letter_comes(ear);
	kept(&s, 2, 9);
	EVENTUALLY(harness_info(s.link).dead[PEAL_REASON_DUPLICATE] == 1);
	CHECK_EQ(info_of(&s).mailbox_duplicates, 1);
	CHECK_EQ(info_of(&s).mailbox_dead, 1);
	fixture_close(&s, 0);
}

PEAL_TEST(duplicate_ask_is_answered_as_duplicate)
{
	struct fixture s = fixture_open(NULL);
	struct dedup_herald h;

	note(&s, 1, DEDUP_ADD, 3, 1, 1);
	note(&s, 1, DEDUP_ADD, 3, 1, 1);
	EVENTUALLY(info_of(&s).asks.asked == 2 && !info_of(&s).asks.open);
	kept(&s, 1, 1);
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	CHECK_OK(peal_actor_state(s.rt, s.herald, &h, sizeof(h)));
	CHECK_OK(peal_kernel_resume(s.k));
	CHECK_EQ(h.answers, 2);
	CHECK_EQ(h.duplicates, 1);
	fixture_close(&s, 0);
}

PEAL_TEST(sender_beyond_the_table_fails_the_handler)
{
	struct fixture s = fixture_open(NULL);
	uint64_t i;

	for (i = 0; i <= DEDUP_SENDERS; i++)
		note(&s, 0, DEDUP_ADD, 10 + i, 1, 0);
	kept(&s, DEDUP_SENDERS, DEDUP_SENDERS);
	EVENTUALLY(harness_info(s.link).dead[PEAL_REASON_HANDLER] == 1);
	note(&s, 0, DEDUP_FORGET, 11, 0, 0);
	note(&s, 0, DEDUP_ADD, 10 + DEDUP_SENDERS, 1, 0);
	kept(&s, DEDUP_SENDERS + 1, DEDUP_SENDERS + 1);
	fixture_close(&s, 1);
}

PEAL_TEST(migration_keeps_dedup_state)
{
	struct fixture s = fixture_open(NULL);
	struct peal_migration_options o = { .size = sizeof(o), .worker = 2 };
	uint64_t now;

	note(&s, 0, DEDUP_ADD, 2, 1, 0);
	quiet(&s);
	CHECK_OK(peal_actor_migrate(s.rt, s.keeper, &o, &now));
	note(&s, 0, DEDUP_ADD, 2, 1, 0);
	note(&s, 0, DEDUP_ADD, 2, 2, 0);
	kept(&s, 2, 3);
	/* the duplicate was forwarded by mail */
	CHECK_EQ(info_of(&s).mailbox_duplicates, 1);
	fixture_close(&s, 0);
}

/*
 * A supervisor does not count duplicates as failures. A restarted actor has
 * forgotten all numbers.
 */
PEAL_TEST(restart_clears_dedup_state)
{
	struct peal_supervisor_options so = { .size = sizeof(so),
					      .strategy = PEAL_ONE_FOR_ONE,
					      .max_restarts = 1,
					      .period_ns = 60 * SECOND };
	struct fixture s = fixture_open(&so);
	int i;

	note(&s, 0, DEDUP_ADD, 2, 1, 0);
	for (i = 0; i < 5; i++)
		note(&s, 0, DEDUP_ADD, 2, 1, 0);
	kept(&s, 1, 1);
	note(&s, 0, DEDUP_FAIL, 2, 2, 0);
	note(&s, 0, DEDUP_ADD, 2, 2, 0);
	note(&s, 0, DEDUP_ADD, 2, 1, 0);
	kept(&s, 2, 3);
	EVENTUALLY(harness_info(s.link).dead[PEAL_REASON_DUPLICATE] == 5);
	fixture_close(&s, 1);
}

PEAL_TEST(failed_message_counts_as_seen)
{
	struct fixture s = fixture_open(NULL);

	note(&s, 0, DEDUP_FAIL, 2, 2, 0);
	note(&s, 0, DEDUP_ADD, 2, 2, 0);
	kept(&s, 0, 0);
	EVENTUALLY(harness_info(s.link).dead[PEAL_REASON_DUPLICATE] == 1);
	fixture_close(&s, 1);
}

PEAL_TEST_MAIN(RUN(each_number_is_new_once);
	       RUN(leap_forgets_numbers_below_the_window);
	       RUN(sender_beyond_the_table_returns_enospc);
	       RUN_LANES(duplicate_by_link_is_handled_once);
	       RUN_LANES(dedup_covers_links_and_mailboxes_together);
	       RUN_LANES(duplicate_ask_is_answered_as_duplicate);
	       RUN_LANES(sender_beyond_the_table_fails_the_handler);
	       RUN_LANES(migration_keeps_dedup_state);
	       RUN_LANES(restart_clears_dedup_state);
	       RUN_LANES(failed_message_counts_as_seen);)
