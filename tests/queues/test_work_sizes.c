/* SPDX-License-Identifier: Apache-2.0 */
/* labels: stress quick */
#include <peal/device/work_set.h>

#include "stress.h"
#include "work_pool.h"
#include "yield.h"

/*
 * Shows that a work queue, and a set of two, conserve messages of each size.
 * The rounds cover all policies, 1, 2 and 256 slots, and one and two threads of
 * each side. They use bulks, bursts, numbers that wrap, and pauses.
 */

#define SEED 9701ULL
#define SIDE 2 /* most threads of a side, and shards of a set */
#define MESSAGES IDENTITY_COUNT(6000) /* of each producer */
#define MANY 8 /* most messages of a call */

/* Faults of a producer that the consumers must find. */
enum fault {
	FAULT_NONE,
	FAULT_DOUBLE, /* one message in place of another */
	FAULT_SWAP, /* two messages in the wrong order */
	FAULT_BYTE
};

struct flow {
	struct peal_work_set *set; /* one shard: a work queue */
	struct stress_list list;
	uint32_t shards, producers, consumers, bulk;
	uint64_t bytes, messages;
	unsigned long long seed;
	enum fault fault;
	atomic_ullong taken;
	atomic_int odd;
	struct side {
		PEAL_ALIGNED(128) struct flow *flow;
		uint32_t index;
		pthread_t thread;
		struct peal_work_producer p[SIDE];
		struct peal_work_member m;
	} at[2 * SIDE];
};

static struct peal_work *shard(struct flow *f, uint32_t index)
{
	return peal_work_set_shard(f->set, index);
}

/* Writes message i of a producer, or its faulty replacement. */
static void fill(struct flow *f, uint8_t *to, uint32_t producer, uint64_t i)
{
	uint64_t at = f->messages / 2;

	if (f->fault == FAULT_DOUBLE && i == at)
		i--;
	else if (f->fault == FAULT_SWAP && (i == at || i == at + 1))
		i = 2 * at + 1 - i;
	stress_fill(to, f->bytes, producer, i);
	if (f->fault == FAULT_BYTE && i == at)
		to[f->bytes - 1] ^= 1;
}

static void *produce(void *argument)
{
	struct side *s = (struct side *)argument;
	struct flow *f = s->flow;
	unsigned long long random = f->seed + s->index;
	struct peal_header h = { s->index, 0, 3 };
	uint8_t *body = (uint8_t *)malloc(MANY * f->bytes);
	uint64_t i, k, n;
	uint32_t to;

	CHECK(body);
	for (i = 0; i < f->messages; i += n) {
		n = 1 + test_random(&random) % f->bulk;
		if (n > f->messages - i)
			n = f->messages - i;
		for (k = 0; k < n; k++)
			fill(f, body + k * f->bytes, s->index, i + k);
		to = (uint32_t)(test_random(&random) % f->shards);
		stress_pause(&random);
		while (peal_work_push_bulk(shard(f, to), &s->p[to], h, body,
					   f->bytes, n)) {
			/* some producers keep their lease, some return it */
			if (test_random(&random) % 4 == 0)
				peal_work_lease_release(shard(f, to),
							&s->p[to]);
			test_yield();
		}
	}
	for (to = 0; to < f->shards; to++)
		peal_work_lease_release(shard(f, to), &s->p[to]);
	free(body);
	return NULL;
}

/*
 * Checks the messages of one call. Sets have no order: messages change shards.
 */
static int look_at(struct side *s, const uint8_t *body,
		   const struct peal_work_received *got, int n, uint64_t *next)
{
	struct flow *f = s->flow;
	int i, sound = 1;

	for (i = 0; i < n; i++)
		sound &= got[i].length == f->bytes &&
			 stress_tick(&f->list, body + i * (int)f->bytes,
				     f->bytes, f->shards > 1 ? NULL : next);
	return sound;
}

static void *consume(void *argument)
{
	struct side *s = (struct side *)argument;
	struct flow *f = s->flow;
	unsigned long long random = f->seed + 77 + s->index;
	uint8_t *body = (uint8_t *)malloc(MANY * f->bytes);
	uint64_t all = f->producers * f->messages;
	struct peal_work_received got[MANY];
	uint64_t next[SIDE] = { 0 };
	uint32_t n;
	int r;

	CHECK(body);
	while (atomic_load(&f->taken) < all) {
		n = 1 + (uint32_t)test_random(&random) % MANY;
		r = peal_work_set_pop_burst(&s->m, body, f->bytes, n, got);
		if (r == PEAL_EAGAIN) {
			test_yield();
			continue;
		}
		CHECK(r >= 1 && r <= (int)n);
		if (!look_at(s, body, got, r, next))
			atomic_store(&f->odd, 1);
		stress_pause(&random);
		atomic_fetch_add(&f->taken, (unsigned long long)r);
		if (f->shards > 1 && test_random(&random) % 16 == 0)
			peal_work_set_unclaim(&s->m);
	}
	peal_work_set_unclaim(&s->m);
	free(body);
	return NULL;
}

static void flow_open(struct flow *f, struct peali_work_spec spec,
		      uint64_t start)
{
	uint32_t i, k;

	CHECK_OK(peali_work_spec_complete(&spec, 14, PEAL_POLICY_SEQUENCE,
					  "test"));
	f->bulk = spec.bulk;
	f->set = (struct peal_work_set *)link_memory(
		peali_work_set_bytes(&spec, f->shards));
	peali_work_set_header(f->set, &spec, f->shards);
	for (i = 0; i < f->shards; i++) {
		peali_work_header(shard(f, i), &spec);
		work_queue_start_at(shard(f, i), start);
	}
	for (i = 0; i < 2 * SIDE; i++) {
		f->at[i].flow = f;
		f->at[i].index = i % SIDE;
		for (k = 0; k < f->shards; k++)
			peal_work_producer_init(shard(f, k), &f->at[i].p[k]);
		peal_work_member_init(&f->at[i].m, f->set, i % f->shards,
				      link_memory(peal_slot_content_max(
					      spec.policy, spec.slot_bytes)));
	}
	stress_list_open(&f->list, f->producers, f->messages);
}

/* Checks by the queues' own counters that all messages were taken. */
static void flow_close(struct flow *f, uint64_t start)
{
	uint64_t put = 0, taken = 0;
	uint32_t i;

	for (i = 0; i < f->shards; i++) {
		struct peal_work *q = shard(f, i);

		CHECK_EQ(q->turn, q->ticket);
		CHECK_EQ(q->claimed, q->ticket);
		CHECK_EQ(q->leased, q->ticket);
		put += q->ticket - start;
	}
	for (i = 0; i < 2 * SIDE; i++) {
		struct peal_work_member *m = &f->at[i].m;

		CHECK_EQ(m->mine.dead + m->guest.dead, 0);
		taken += m->mine.taken + m->guest.taken;
		free(m->mine.stage);
	}
	CHECK_EQ(put, f->producers * f->messages);
	CHECK_EQ(taken, put);
	free(f->set);
}

/*
 * Returns 1 if each message came once, whole, and in order for each consumer.
 */
static int run(struct flow *f, struct peali_work_spec spec, uint64_t start)
{
	uint32_t i;
	int all;

	flow_open(f, spec, start);
	for (i = 0; i < f->producers; i++)
		CHECK(!pthread_create(&f->at[i].thread, NULL, produce,
				      &f->at[i]));
	for (i = SIDE; i < SIDE + f->consumers; i++)
		CHECK(!pthread_create(&f->at[i].thread, NULL, consume,
				      &f->at[i]));
	for (i = 0; i < f->producers; i++)
		CHECK(!pthread_join(f->at[i].thread, NULL));
	for (i = SIDE; i < SIDE + f->consumers; i++)
		CHECK(!pthread_join(f->at[i].thread, NULL));
	flow_close(f, start);
	all = stress_list_close(&f->list);
	return all && !atomic_load(&f->odd);
}

/*
 * Runs one round. Its number selects the policy, slots, threads and the first
 * message number. `bytes` 0: the largest payload of a slot.
 */
static void one(uint32_t shards, uint32_t bytes, uint64_t round)
{
	static const uint32_t slots[] = { 1, 2, 256 };
	static const uint32_t largest[] = { 0, 4080, 3064, 1016 };
	uint32_t policy = link_policies[round % LINK_POLICIES];
	uint32_t capacity = slots[round / LINK_POLICIES % 3];
	const uint64_t wraps[] = { 65536ULL * capacity, 0,
				   PEAL_SLOT_REFRESH_LAPS *
					   (uint64_t)capacity };
	struct peali_work_spec spec = { .slots = capacity,
					.message_bytes = bytes,
					.bulk = capacity > 2 ? MANY : 1,
					.policy = policy };
	struct flow f;

	memset(&f, 0, sizeof(f));
	f.shards = shards;
	/* one slot is not enough for two producers */
	f.producers = capacity == 1 ? 1 : 1 + round % 2;
	f.consumers = 1 + round / 2 % 2;
	f.bytes = bytes;
	f.seed = SEED + 1000 * round;
	if (!bytes)
		f.bytes = spec.message_bytes = largest[policy];
	spec.n_producers = f.producers;
	f.messages = stress_count(MESSAGES, f.bytes, capacity);
	CHECK(run(&f, spec, wraps[round / 9 % 3] - f.messages / 4));
	stress_verified += f.producers * f.messages;
}

static void all(uint32_t shards, uint32_t bytes)
{
	/* every policy, capacity and number of threads */
	struct stress_clock clock = stress_begin(3 * 4 * LINK_POLICIES);
	uint64_t round;

	while (stress_next(&clock, &round))
		one(shards, bytes, round);
}

/* A case for each kind and size: name(shards, bytes). */
#define SIZES(X)                                                               \
	X(work_queues_of_8_bytes_conserve, 1, 8)                               \
	X(work_queues_of_16_bytes_conserve, 1, 16)                             \
	X(work_queues_of_48_bytes_conserve, 1, 48)                             \
	X(work_queues_of_64_bytes_conserve, 1, 64)                             \
	X(work_queues_of_256_bytes_conserve, 1, 256)                           \
	X(work_queues_of_1000_bytes_conserve, 1, 1000)                         \
	X(work_queues_of_the_largest_slots_conserve, 1, 0)                     \
	X(sets_of_8_bytes_conserve, 2, 8)                                      \
	X(sets_of_16_bytes_conserve, 2, 16)                                    \
	X(sets_of_48_bytes_conserve, 2, 48)                                    \
	X(sets_of_64_bytes_conserve, 2, 64)                                    \
	X(sets_of_256_bytes_conserve, 2, 256)                                  \
	X(sets_of_1000_bytes_conserve, 2, 1000)                                \
	X(sets_of_the_largest_slots_conserve, 2, 0)

SIZES(STRESS_TEST)

/* ---- negative controls --------------------------------------------------- */

/* Returns 1 if the consumers find no fault. */
static int passes(enum fault fault, uint32_t shards)
{
	struct peali_work_spec spec = { .slots = 16,
					.message_bytes = 64,
					.n_producers = 1 };
	struct flow f;

	memset(&f, 0, sizeof(f));
	f.shards = shards;
	f.producers = f.consumers = 1;
	f.bytes = 64;
	f.messages = 1000;
	f.seed = SEED;
	f.fault = fault;
	return run(&f, spec, 0);
}

PEAL_TEST(substituted_message_is_caught)
{
	CHECK(passes(FAULT_NONE, 1));
	CHECK(passes(FAULT_NONE, 2));
	CHECK(!passes(FAULT_DOUBLE, 1));
	CHECK(!passes(FAULT_DOUBLE, 2));
}

PEAL_TEST(reordered_messages_are_caught)
{
	CHECK(!passes(FAULT_SWAP, 1));
	CHECK(passes(FAULT_SWAP, 2)); /* a set has no order */
}

PEAL_TEST(changed_bit_is_caught)
{
	CHECK(!passes(FAULT_BYTE, 1));
	CHECK(!passes(FAULT_BYTE, 2));
}

PEAL_TEST_MAIN(SIZES(STRESS_RUN) RUN(substituted_message_is_caught);
	       RUN(reordered_messages_are_caught); RUN(changed_bit_is_caught);
	       stress_print_total();)
