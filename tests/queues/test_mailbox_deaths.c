/* SPDX-License-Identifier: Apache-2.0 */
/* labels: stress quick */
#include <peal/device/mailbox.h>

#include "link_pair.h"
#include "queues/mailbox.h"
#include "stress.h"
#include "yield.h"

/*
 * Shows that a mailbox loses only the messages of producers that die. Three of
 * four producer threads die between ticket and tag. The consumer gives their
 * tickets up as `runtime/kernel/reclaim.c` does.
 */

#define SEED 9901ULL
#define PRODUCERS 4
#define MESSAGES IDENTITY_COUNT(20000) /* of each producer that lives */
#define BYTES 48

struct flow {
	struct peal_mailbox *m;
	unsigned long long seed;
	_Atomic uint64_t step; /* live producers must answer with this number */
	struct producer {
		PEAL_ALIGNED(128) struct peal_mailbox_lease lease;
		struct flow *flow;
		uint32_t index;
		uint64_t lives; /* messages before its death, or all */
		int mortal;
		_Atomic uint64_t answered;
		atomic_int gone; /* 1: dead or done */
	} producers[PRODUCERS];
};

static void *produce(void *argument)
{
	struct producer *p = (struct producer *)argument;
	struct flow *f = p->flow;
	unsigned long long random = f->seed + p->index;
	struct peal_header header = { p->index, 0, 0 };
	uint8_t body[BYTES];
	uint64_t i, number;

	for (i = 0; i < p->lives + (uint64_t)p->mortal; i++) {
		stress_fill(body, BYTES, p->index, i);
		for (;;) {
			atomic_store(&p->answered, atomic_load(&f->step));
			if (peal_mailbox_admit(f->m, &p->lease, 1))
				break;
			test_yield();
		}
		p->lease.granted--;
		number = peali_mailbox_ticket(f->m, 1);
		if (i == p->lives)
			break; /* dead: no other thread knows of the ticket */
		if (test_random(&random) % 64 == 0) /* slow but alive */
			test_yield();
		stress_pause(&random);
		peali_mailbox_write(f->m, number, header, body, BYTES);
	}
	atomic_store(&p->gone, 1);
	return NULL;
}

/* The consumer's search for the tickets of dead producers. */
struct repair {
	uint64_t noted, until;
	/* producers that the search covers; 1: a search runs */
	int n_gone, asked;
};

static int count_gone(struct flow *f)
{
	int i, n = 0;

	for (i = 0; i < PRODUCERS; i++)
		n += atomic_load(&f->producers[i].gone);
	return n;
}

/* Continues the search. Never waits. */
static void repair(struct flow *f, struct repair *m)
{
	int n = count_gone(f), i, done = 0;

	if (!m->asked && n == m->n_gone)
		return;
	if (!m->asked) {
		m->n_gone = n;
		m->noted = peal_load_relaxed_dev(&f->m->ticket);
		atomic_fetch_add(&f->step, 1);
		m->asked = 1;
	}
	for (i = 0; i < PRODUCERS; i++)
		done += atomic_load(&f->producers[i].gone) ||
			atomic_load(&f->producers[i].answered) ==
				atomic_load(&f->step);
	if (done < PRODUCERS)
		return;
	m->until = m->noted;
	m->asked = 0;
}

/*
 * Returns 1 if each message came once, whole, and in order per producer. Only
 * the tickets of dead producers may be dead.
 */
static int consume(struct flow *f)
{
	const uint32_t header = (uint32_t)sizeof(struct peal_header);
	struct repair repair_state = { 0, 0, 0, 0 };
	uint64_t next[PRODUCERS] = { 0 }, dead = 0;
	unsigned long long random = f->seed + 77;
	struct peal_slot_view view;
	int i, over, sound = 1;

	for (;;) {
		over = count_gone(f) == PRODUCERS;
		if (!peal_mailbox_peek(f->m, &view)) {
			peal_mailbox_flush(f->m);
			if (over && f->m->taken == f->m->ticket)
				break;
			if (!peal_mailbox_abandon(f->m, repair_state.until))
				test_yield();
			repair(f, &repair_state); /* before the next peek */
			continue;
		}
		stress_pause(&random);
		if (view.kind == PEAL_KIND_DEAD)
			dead++;
		else
			sound &= stress_check(view.content + header, BYTES,
					      next, PRODUCERS);
		peal_mailbox_release(f->m);
	}
	for (i = 0; i < PRODUCERS; i++)
		sound &= next[i] == f->producers[i].lives;
	return sound && dead == PRODUCERS - 1;
}

static int run(uint32_t policy, uint64_t round)
{
	struct peali_mailbox_spec spec = { .slots = round % 2 ? 8 : 64,
					   .message_bytes = BYTES,
					   .n_workers = PRODUCERS,
					   .tells = 1,
					   .policy = policy };
	struct flow *f = (struct flow *)link_memory(sizeof(*f));
	unsigned long long random = SEED + round;
	pthread_t threads[PRODUCERS];
	uint64_t verified = 0;
	uint32_t i;
	int sound;

	CHECK_OK(peali_mailbox_spec_complete(&spec, 14, PEAL_POLICY_SEQUENCE,
					     "test"));
	f->m = (struct peal_mailbox *)link_memory(peali_mailbox_bytes(&spec));
	peali_mailbox_header(f->m, &spec);
	f->seed = random;
	for (i = 0; i < PRODUCERS; i++) {
		struct producer *p = &f->producers[i];

		p->flow = f;
		p->index = i;
		p->mortal = i > 0;
		p->lives = p->mortal ? test_random(&random) % MESSAGES :
				       MESSAGES;
		verified += p->lives;
	}
	for (i = 0; i < PRODUCERS; i++)
		CHECK(!pthread_create(&threads[i], NULL, produce,
				      &f->producers[i]));
	sound = consume(f);
	for (i = 0; i < PRODUCERS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	if (sound)
		stress_verified += verified;
	free(f->m);
	free(f);
	return sound;
}

PEAL_TEST(dead_producer_loses_at_most_one_message)
{
	struct stress_clock clock = stress_begin(6);
	uint64_t round;

	while (stress_next(&clock, &round))
		CHECK(run(link_policies[round % LINK_POLICIES], round));
}

PEAL_TEST_MAIN(RUN(dead_producer_loses_at_most_one_message);
	       stress_print_total();)
