/* SPDX-License-Identifier: Apache-2.0 */
/* labels: stress quick */
#include <peal/device/mailbox.h>

#include "link_pair.h"
#include "queues/mailbox.h"
#include "stress.h"
#include "yield.h"

/*
 * Shows that a mailbox conserves messages of each size. Three producer threads
 * and a consumer use it. The rounds cover all policies, few and many slots,
 * numbers that wrap, and pauses.
 */

#define SEED 9501ULL
#define PRODUCERS 3
#define MESSAGES IDENTITY_COUNT(30000) /* of each producer */

struct flow {
	struct peal_mailbox *m;
	uint64_t bytes, messages;
	unsigned long long seed;
	int doubles; /* sends one message in place of another */
	struct producer {
		PEAL_ALIGNED(128) struct peal_mailbox_lease lease;
		struct flow *flow;
		uint32_t index;
	} producers[PRODUCERS];
};

static void *produce(void *argument)
{
	struct producer *p = (struct producer *)argument;
	struct flow *f = p->flow;
	unsigned long long random = f->seed + p->index;
	struct peal_header header = { p->index, 0, 0 };
	uint8_t *body = (uint8_t *)malloc(f->bytes);
	uint64_t i;

	CHECK(body);
	for (i = 0; i < f->messages; i++) {
		uint64_t sequence = f->doubles && i == f->messages / 2 ? i - 1 :
									 i;

		stress_fill(body, f->bytes, p->index, sequence);
		stress_pause(&random);
		while (peal_mailbox_put(f->m, &p->lease, header, body,
					f->bytes)) {
			/* some producers keep their lease, some return it */
			if (test_random(&random) % 4 == 0)
				peal_mailbox_lease_release(f->m, &p->lease);
			test_yield();
		}
	}
	peal_mailbox_lease_release(f->m, &p->lease);
	free(body);
	return NULL;
}

/* Takes all messages. Returns 1 if each came once, whole, in producer order. */
static int consume(struct flow *f)
{
	unsigned long long random = f->seed + 77;
	uint64_t next[PRODUCERS] = { 0 }, taken = 0;
	struct peal_slot_view view;
	int sound = 1;

	while (taken < PRODUCERS * f->messages) {
		if (!peal_mailbox_peek(f->m, &view)) {
			peal_mailbox_flush(f->m);
			test_yield();
			continue;
		}
		stress_pause(&random);
		sound &= view.kind == PEAL_KIND_DATA &&
			 view.length == sizeof(struct peal_header) + f->bytes &&
			 stress_check(view.content + sizeof(struct peal_header),
				      f->bytes, next, PRODUCERS);
		peal_mailbox_release(f->m);
		taken++;
	}
	peal_mailbox_flush(f->m);
	return sound;
}

/* Sets the empty mailbox to the state after `number` messages. */
static void start_at(struct peal_mailbox *m, uint64_t number)
{
	uint32_t length = peal_slot_content_max(m->policy, m->slot_bytes);
	uint8_t *content = (uint8_t *)calloc(1, length);
	uint64_t k;

	CHECK(content);
	for (k = 1; k <= 1ULL << m->capacity_log2; k++) {
		uint8_t *slot = peali_mailbox_slot(m, number - k);
		uint32_t lap = peali_mailbox_lap(m, number - k);

		if (m->policy == PEAL_POLICY_SEQUENCE)
			peal_slot_publish(slot, lap, PEAL_KIND_DATA, length);
		else
			peal_slot_pack(m->policy, slot, lap, PEAL_KIND_DATA,
				       content, length, 0, 1);
	}
	free(content);
	m->leased = m->ticket = m->head = m->taken = number;
}

static int run(struct flow *f, struct peali_mailbox_spec spec, uint64_t start)
{
	pthread_t threads[PRODUCERS];
	uint32_t i;
	int sound;

	CHECK_OK(peali_mailbox_spec_complete(&spec, 14, PEAL_POLICY_SEQUENCE,
					     "test"));
	f->m = (struct peal_mailbox *)link_memory(peali_mailbox_bytes(&spec));
	peali_mailbox_header(f->m, &spec);
	start_at(f->m, start);
	for (i = 0; i < PRODUCERS; i++) {
		f->producers[i].flow = f;
		f->producers[i].index = i;
		CHECK(!pthread_create(&threads[i], NULL, produce,
				      &f->producers[i]));
	}
	sound = consume(f);
	for (i = 0; i < PRODUCERS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	/* the mailbox's own counters */
	CHECK_EQ(f->m->ticket - start, PRODUCERS * f->messages);
	CHECK_EQ(f->m->head, f->m->ticket);
	free(f->m);
	return sound;
}

/*
 * Runs one round. Its number selects the policy, the slots and the first
 * message number.
 */
static void one(uint32_t bytes, uint64_t round)
{
	static const uint32_t slots[] = { 4, 8, 256 };
	static const uint32_t largest[] = { 0, 4080, 3064, 1016 };
	uint32_t policy = link_policies[round % LINK_POLICIES];
	uint32_t capacity = slots[round / LINK_POLICIES % 3];
	uint64_t starts[] = { 65536ULL * capacity - 500, 0ULL - 500,
			      PEAL_SLOT_REFRESH_LAPS * (uint64_t)capacity -
				      500 };
	struct peali_mailbox_spec spec = { .slots = capacity,
					   .message_bytes = bytes,
					   .n_workers = PRODUCERS,
					   .tells = 1,
					   .policy = policy };
	struct flow f = { .bytes = bytes, .seed = SEED + round };

	if (!bytes)
		f.bytes = spec.message_bytes = largest[policy];
	f.messages = stress_count(MESSAGES, f.bytes, capacity);
	CHECK(run(&f, spec, starts[round % 3]));
	stress_verified += PRODUCERS * f.messages;
}

static void all(uint32_t bytes)
{
	struct stress_clock clock = stress_begin(3 * LINK_POLICIES);
	uint64_t round;

	while (stress_next(&clock, &round))
		one(bytes, round);
}

#define SIZES(X)                                                               \
	X(mailboxes_of_8_bytes_conserve, 8)                                    \
	X(mailboxes_of_16_bytes_conserve, 16)                                  \
	X(mailboxes_of_48_bytes_conserve, 48)                                  \
	X(mailboxes_of_64_bytes_conserve, 64)                                  \
	X(mailboxes_of_256_bytes_conserve, 256)                                \
	X(mailboxes_of_the_largest_slots_conserve, 0)

SIZES(STRESS_TEST)

/* Negative control: the counters agree, the messages do not. */
PEAL_TEST(substituted_message_is_caught)
{
	struct peali_mailbox_spec spec = { .slots = 16,
					   .message_bytes = 8,
					   .n_workers = PRODUCERS,
					   .tells = 1 };
	struct flow f = {
		.bytes = 8, .messages = 1000, .seed = SEED, .doubles = 1
	};

	CHECK(!run(&f, spec, 0));
}

PEAL_TEST_MAIN(SIZES(STRESS_RUN) RUN(substituted_message_is_caught);
	       stress_print_total();)
