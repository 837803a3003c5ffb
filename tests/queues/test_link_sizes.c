/* SPDX-License-Identifier: Apache-2.0 */
/* labels: stress quick */
#include "link_pair.h"
#include "queues/publication.h"
#include "stress.h"
#include "yield.h"

/*
 * Shows that a link conserves messages of each size between two threads. The
 * rounds cover all policies, 1, 2 and 256 slots, numbers that wrap, and pauses.
 */

#define SEED 9001ULL
#define MESSAGES IDENTITY_COUNT(100000)

struct flow {
	struct link_pair l;
	uint64_t bytes, messages;
	unsigned long long seed;
	/* 1: sends one message twice and loses another (negative control) */
	int doubles;
};

static void *produce(void *argument)
{
	struct flow *f = (struct flow *)argument;
	unsigned long long random = f->seed;
	struct peal_header header = { 0, 0, 0 };
	void *to = NULL;
	uint64_t i;

	for (i = 0; i < f->messages; i++) {
		uint64_t sequence = f->doubles && i == f->messages / 2 ? i - 1 :
									 i;

		stress_pause(&random);
		while (peal_link_reserve(&f->l.p, f->bytes, &to))
			test_yield();
		stress_fill(to, f->bytes, 0, sequence);
		header.type = (uint16_t)sequence;
		peal_link_commit(&f->l.p, header, f->bytes);
	}
	while (peal_link_push_mark(&f->l.p, PEAL_KIND_END))
		test_yield();
	return NULL;
}

/* Returns 1 if each message came once, in order and whole. */
static int consume(struct flow *f)
{
	struct peal_link_consumer *c = &f->l.c;
	unsigned long long random = f->seed + 1;
	struct peal_message m;
	uint64_t next = 0;
	int sound = 1, result;

	for (;;) {
		result = peal_link_peek(c, &m);
		if (result == PEAL_EAGAIN) {
			peal_link_flush_credit(c);
			test_yield();
			continue;
		}
		CHECK(!result);
		if (m.kind == PEAL_KIND_END)
			break;
		stress_pause(&random);
		sound &= m.header.type == (uint16_t)next;
		sound &= m.length == f->bytes &&
			 stress_check(m.data, m.length, &next, 1);
		peal_link_release(c, &m);
	}
	peal_link_release_mark(c, m.kind);
	return sound && next == f->messages;
}

static int run(struct flow *f, struct peali_ring_spec spec, uint64_t start)
{
	pthread_t thread;
	int sound;

	link_pair_open(&f->l, spec);
	link_pair_start_at(&f->l, start, 0);
	CHECK(!pthread_create(&thread, NULL, produce, f));
	sound = consume(f);
	CHECK(!pthread_join(thread, NULL));
	CHECK_EQ(f->l.counts->accepted, f->messages);
	CHECK_EQ(f->l.counts->accepted_bytes, f->messages * f->bytes);
	link_pair_conserved(&f->l);
	link_pair_close(&f->l);
	return sound;
}

/*
 * Runs one round. Its number selects the policy, the capacity and the first
 * message number. `bytes` 0: the largest payload of a slot.
 */
static void one(uint32_t bytes, int slab, uint64_t round)
{
	static const uint32_t capacities[] = { 1, 2, 256 };
	/* largest payload of a slot, by policy */
	static const uint32_t largest[] = { 0, 4080, 3064, 1016 };
	uint32_t policy = link_policies[round % LINK_POLICIES];
	uint32_t capacity = capacities[round / LINK_POLICIES % 3];
	uint64_t starts[] = { 65536ULL * capacity - 500, 0ULL - 500,
			      PEAL_SLOT_REFRESH_LAPS * (uint64_t)capacity -
				      500 };
	struct peali_ring_spec spec = { .capacity = capacity,
					.message_bytes = bytes,
					.policy = policy };
	struct flow f = { .bytes = bytes, .seed = SEED + round };

	if (!bytes)
		f.bytes = spec.message_bytes = largest[policy];
	if (slab)
		spec.slab_bytes = 2ULL * bytes; /* the minimum */
	else
		spec.slot_bytes = peali_publication_slot(
			policy, (uint32_t)sizeof(struct peal_header) +
					(uint32_t)f.bytes);
	f.messages = stress_count(MESSAGES, f.bytes, capacity);
	CHECK(run(&f, spec, starts[round % 3]));
	stress_verified += f.messages;
}

static void all(uint32_t bytes, int slab)
{
	struct stress_clock clock = stress_begin(3 * LINK_POLICIES);
	uint64_t round;

	while (stress_next(&clock, &round))
		one(bytes, slab, round);
}

#define SIZES(X)                                                               \
	X(links_of_8_bytes_conserve, 8, 0)                                     \
	X(links_of_16_bytes_conserve, 16, 0)                                   \
	X(links_of_48_bytes_conserve, 48, 0)                                   \
	X(links_of_64_bytes_conserve, 64, 0)                                   \
	X(links_of_256_bytes_conserve, 256, 0)                                 \
	X(links_of_the_largest_slots_conserve, 0, 0)                           \
	X(links_of_a_page_in_the_slab_conserve, 4096, 1)

SIZES(STRESS_TEST)

/* Negative control: the counters agree, the messages do not. */
PEAL_TEST(substituted_message_is_caught)
{
	struct peali_ring_spec spec = { .capacity = 64, .message_bytes = 8 };
	struct flow f = {
		.bytes = 8, .messages = 1000, .seed = SEED, .doubles = 1
	};

	CHECK(!run(&f, spec, 0));
}

PEAL_TEST_MAIN(SIZES(STRESS_RUN) RUN(substituted_message_is_caught);
	       stress_print_total();)
