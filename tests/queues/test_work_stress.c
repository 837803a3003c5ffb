/* SPDX-License-Identifier: Apache-2.0 */
/* labels: stress quick */
#include "identity_many.h"
#include "stress.h"
#include "work_pool.h"
#include "yield.h"

/*
 * Shows that each message of a work queue goes to one consumer, once, in order
 * per producer and consumer. Negative controls: queues without one of their
 * precautions must fail.
 */

#define SEED 9001ULL
#define PRODUCERS 3
#define CONSUMERS 3
#define EACH IDENTITY_COUNT(20000)

static uint32_t pool_put(void *queue, uint32_t producer,
			 const struct identity_message *m, uint32_t n)
{
	struct work_pool *w = (struct work_pool *)queue;
	struct peal_header h = { producer, 0, 3 };

	stress_pause_here();
	return peal_work_push_bulk(w->q, &w->at[producer].p, h, m, sizeof(*m),
				   n) ?
		       0 :
		       n;
}

static uint32_t pool_take(void *queue, uint32_t consumer,
			  struct identity_message *m, uint32_t n)
{
	struct work_pool *w = (struct work_pool *)queue;
	struct peal_work_received got[IDENTITY_BATCH];
	int i, r = peal_work_pop_burst(w->q, &w->at[consumer].c, m, sizeof(*m),
				       n, got);

	stress_pause_here();
	CHECK(r == PEAL_EAGAIN || (r >= 1 && r <= (int)n));
	for (i = 0; i < r; i++) {
		CHECK_EQ(got[i].length, sizeof(*m));
		CHECK_EQ(got[i].header.actor, m[i].producer);
		/* no message before its ticket, no slot freed twice */
		CHECK((int64_t)(peal_load_relaxed_dev(&w->q->ticket) -
				got[i].number) > 0);
	}
	return r > 0 ? (uint32_t)r : 0;
}

static void pool_rest(void *queue, int producer, int consumer)
{
	struct work_pool *w = (struct work_pool *)queue;

	if (producer >= 0)
		peal_work_lease_release(w->q, &w->at[producer].p);
	else
		peal_work_flush(w->q, &w->at[consumer].c);
}

static struct identity_many pool_queue(struct work_pool *w, uint64_t round)
{
	struct identity_many q = {
		w,     PRODUCERS, CONSUMERS, EACH,
		1,     1,	  0,	     SEED + 10000 * round,
		20000, pool_put,  pool_take, pool_rest
	};

	return q;
}

static void run(struct work_pool *w, const struct identity_many *q)
{
	uint64_t start = w->q->ticket;
	struct identity_result r = identity_many_run(q);

	if (!r.sound)
		identity_print("work queue", &r);
	CHECK(r.sound);
	CHECK_EQ(r.received, q->producers * q->each);
	stress_verified += r.received;
	work_pool_conserved(w, start);
	work_pool_close(w);
}

PEAL_TEST(each_message_goes_to_one_consumer_once_and_in_order)
{
	static const uint32_t slots[] = { 4, 16, 64, 512 };
	struct stress_clock clock = stress_begin(1);
	struct identity_many q;
	struct work_pool w;
	uint64_t round;
	size_t i;

	while (stress_next(&clock, &round))
		EACH_POLICY(policy)
	for (i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
		work_pool_open(&w, policy, slots[i], PRODUCERS, 1);
		q = pool_queue(&w, round);
		run(&w, &q);
	}
}

PEAL_TEST(bulks_and_bursts_conserve_messages)
{
	struct stress_clock clock = stress_begin(1);
	struct identity_many q;
	struct work_pool w;
	uint64_t round;

	while (stress_next(&clock, &round))
		EACH_POLICY(policy)
		{
			work_pool_open(&w, policy, 256, PRODUCERS, 32);
			q = pool_queue(&w, round);
			q.bulk = q.burst = 32;
			q.each *= 4;
			run(&w, &q);
		}
}

PEAL_TEST(solo_producer_conserves_messages_without_adds)
{
	struct stress_clock clock = stress_begin(1);
	struct identity_many q;
	struct work_pool w;
	uint64_t round;

	while (stress_next(&clock, &round))
		EACH_POLICY(policy)
		{
			work_pool_open(&w, policy, 64, 1, 8);
			CHECK(w.q->solo);
			q = pool_queue(&w, round);
			q.producers = 1;
			q.bulk = q.burst = 8;
			q.each *= 3;
			run(&w, &q);
		}
}

PEAL_TEST(capacity_one_and_two_conserve_messages)
{
	struct stress_clock clock = stress_begin(1);
	struct identity_many q;
	struct work_pool w;
	uint64_t round;
	uint32_t slots;

	while (stress_next(&clock, &round))
		EACH_POLICY(policy)
	for (slots = 1; slots <= 2; slots++) {
		work_pool_open(&w, policy, slots, slots, 1);
		q = pool_queue(&w, round);
		q.producers = slots;
		q.each /= 4;
		run(&w, &q);
	}
}

PEAL_TEST(ticket_wrap_under_load_conserves_messages)
{
	static const uint64_t starts[] = { 65536ULL * 16 - 1000, 0ULL - 1000,
					   PEAL_SLOT_REFRESH_LAPS * 16ULL -
						   1000 };
	struct stress_clock clock = stress_begin(1);
	struct identity_many q;
	struct work_pool w;
	uint64_t round;
	size_t i;

	while (stress_next(&clock, &round))
		EACH_POLICY(policy)
	for (i = 0; i < 3; i++) {
		work_pool_open(&w, policy, 16, PRODUCERS, 1);
		work_pool_start_at(&w, starts[i]);
		q = pool_queue(&w, round);
		q.burst = 4;
		run(&w, &q);
	}
}

/* ---- lost tickets and returned claims ------------------------------------ */

struct shaken {
	struct work_pool w;
	atomic_ullong vanished;
	atomic_ullong poisoned;
};

/* Puts. Sometimes also takes a ticket and puts no message for it. */
static uint32_t shaken_put(void *queue, uint32_t producer,
			   const struct identity_message *m, uint32_t n)
{
	struct shaken *s = (struct shaken *)queue;
	uint64_t number;

	if (m->sequence % 97 == 5 &&
	    !peal_work_take_tickets(s->w.q, &s->w.at[producer].p, 1, &number)) {
		atomic_fetch_add(&s->vanished, 1);
		test_yield();
		/* as the code that handles dead producers does */
		CHECK_EQ(peal_work_abandon_ticket(s->w.q, number), 0);
		CHECK_EQ(peal_work_abandon_ticket(s->w.q, number), PEAL_EINVAL);
	}
	return pool_put(&s->w, producer, m, n);
}

static uint32_t shaken_take(void *queue, uint32_t consumer,
			    struct identity_message *m, uint32_t n)
{
	return pool_take(&((struct shaken *)queue)->w, consumer, m, n);
}

static void shaken_rest(void *queue, int producer, int consumer)
{
	struct shaken *s = (struct shaken *)queue;

	if (consumer >= 0)
		peal_work_unclaim(s->w.q, &s->w.at[consumer].c);
	pool_rest(&s->w, producer, consumer);
}

PEAL_TEST(vanished_producers_and_unclaims_lose_nothing)
{
	struct stress_clock clock = stress_begin(1);
	struct identity_result r;
	struct identity_many q;
	uint64_t dead, i, round;
	struct shaken *s = (struct shaken *)aligned_alloc(
		128, (sizeof(*s) + 127) / 128 * 128);

	CHECK(s);
	while (stress_next(&clock, &round))
		EACH_POLICY(policy)
		{
			memset(s, 0, sizeof(*s));
			work_pool_open(&s->w, policy, 32, PRODUCERS, 4);
			q = pool_queue(&s->w, round);
			q.queue = s;
			q.put = shaken_put;
			q.take = shaken_take;
			q.rest = shaken_rest;
			q.bulk = q.burst = 4;
			q.unordered = 1; /* returned claims come out of order */
			r = identity_many_run(&q);
			if (!r.sound)
				identity_print("shaken", &r);
			CHECK(r.sound);
			stress_verified += r.received;
			/*
			 * the last consumer may have left dead slots and claims
			 */
			for (i = 0; i < 200; i++) {
				struct identity_message m;

				CHECK(work_take(&s->w, i % CONSUMERS, &m) < 0);
			}
			for (i = dead = 0; i < CONSUMERS; i++)
				dead += s->w.at[i].c.dead;
			CHECK(dead > 0);
			CHECK_EQ(dead, atomic_load(&s->vanished));
			work_pool_conserved(&s->w, 0);
			work_pool_close(&s->w);
		}
	free(s);
}

/* ---- negative controls --------------------------------------------------- */

/* Reads and writes the turn, instead of adding to it. */
static uint32_t unadded_take(void *queue, uint32_t consumer,
			     struct identity_message *m, uint32_t n)
{
	struct work_pool *w = (struct work_pool *)queue;
	struct peal_work_consumer *c = &w->at[consumer].c;
	uint64_t number = peal_load_relaxed_dev(&w->q->turn);
	struct peal_work_received got;

	(void)n;
	if (number == peal_load_relaxed_dev(&w->q->ticket))
		return 0;
	if (number % 16 == 3)
		test_yield();
	if (peali_work_read(w->q, c->stage, number, (uint8_t *)m, sizeof(*m),
			    &got) != 1)
		return 0;
	peal_store_relaxed_dev(&w->q->turn, number + 1);
	peali_work_done(w->q, c, number, 1);
	peal_work_flush(w->q, c);
	return 1;
}

/* Reports a slot as free before it is read. */
static uint32_t early_take(void *queue, uint32_t consumer,
			   struct identity_message *m, uint32_t n)
{
	struct work_pool *w = (struct work_pool *)queue;
	struct peal_work_consumer *c = &w->at[consumer].c;
	struct peal_work_received got;
	uint64_t first;
	int i;

	(void)n;
	if (!peali_work_claim(w->q, c, 1, &first))
		return 0;
	peali_work_done(w->q, c, first, 1);
	peal_work_flush(w->q, c);
	test_yield();
	for (i = 0; i < 1000; i++)
		if (peali_work_read(w->q, c->stage, first, (uint8_t *)m,
				    sizeof(*m), &got) == 1)
			return 1;
	return 0;
}

/* Puts without an admission. */
static uint32_t unadmitted_put(void *queue, uint32_t producer,
			       const struct identity_message *m, uint32_t n)
{
	struct work_pool *w = (struct work_pool *)queue;

	w->at[producer].p.granted = n;
	return pool_put(queue, producer, m, n);
}

/*
 * Repeats a run until its fault shows. The fault needs two threads at one
 * place.
 */
static void caught(const char *what, struct identity_many change)
{
	struct identity_result r;
	struct identity_many q;
	struct work_pool w;
	int tries = 0;

	do {
		work_pool_open(&w, PEAL_POLICY_ATOM8, 16, PRODUCERS, 1);
		q = pool_queue(&w, 0);
		q.each = 2000;
		q.quiet_ms = 300;
		q.put = change.put ? change.put : q.put;
		q.take = change.take ? change.take : q.take;
		q.rest = NULL;
		r = identity_many_run(&q);
		work_pool_close(&w);
	} while (r.sound && ++tries < 200);
	identity_print(what, &r);
	CHECK(!r.sound);
}

PEAL_TEST(broken_variants_are_caught)
{
	struct identity_many change;

	memset(&change, 0, sizeof(change));
	change.take = unadded_take;
	caught("turn without an add", change);
	change.take = early_take;
	caught("told before it is read", change);
	change.take = NULL;
	change.put = unadmitted_put;
	caught("without admission", change);
}

PEAL_TEST_MAIN(RUN(each_message_goes_to_one_consumer_once_and_in_order);
	       RUN(bulks_and_bursts_conserve_messages);
	       RUN(solo_producer_conserves_messages_without_adds);
	       RUN(capacity_one_and_two_conserve_messages);
	       RUN(ticket_wrap_under_load_conserves_messages);
	       RUN(vanished_producers_and_unclaims_lose_nothing);
	       RUN(broken_variants_are_caught); stress_print_total();)
