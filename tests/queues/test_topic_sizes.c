/* SPDX-License-Identifier: Apache-2.0 */
/* labels: stress quick */
#include "stress.h"
#include "topic_ring.h"
#include "yield.h"

/*
 * Shows that taken and missed messages of each subscriber are together all
 * messages. The rounds cover all sizes, policies and modes, 1, 2 and 256 slots,
 * numbers that wrap, and pauses.
 */

#define SEED 9801ULL
#define READERS 3
#define MESSAGES IDENTITY_COUNT(6000)
#define MANY 8 /* most messages of a call */

/* Faults that the readers must find. */
enum fault {
	FAULT_NONE,
	FAULT_DOUBLE, /* one message is published in place of another */
	FAULT_BYTE,
	FAULT_UNTOLD /* a reader gets no count of missed messages */
};

struct flow {
	struct peal_topic *t;
	uint64_t bytes, messages, start;
	uint32_t n_readers, bulk;
	unsigned long long seed;
	enum fault fault;
	atomic_uint joined;
	struct reader {
		PEAL_ALIGNED(128) struct peal_topic_subscriber s;
		struct flow *flow;
		uint32_t index;
		int odd;
		pthread_t thread;
	} readers[READERS];
};

static void fill(struct flow *f, uint8_t *to, uint64_t i)
{
	if (f->fault == FAULT_DOUBLE && i == f->messages / 2)
		i--;
	stress_fill(to, f->bytes, 0, i);
	if (f->fault == FAULT_BYTE && i == f->messages / 2)
		to[f->bytes - 1] ^= 1;
}

static void publish(struct flow *f)
{
	unsigned long long random = f->seed;
	struct peal_topic_publisher p;
	struct peal_header h = { 0, 0, 5 };
	uint8_t *body = (uint8_t *)malloc(MANY * f->bytes);
	uint64_t i, k, n;

	CHECK(body);
	peal_topic_publisher_init(f->t, &p);
	for (i = 0; i < f->messages; i += n) {
		n = 1 + test_random(&random) % f->bulk;
		if (n > f->messages - i)
			n = f->messages - i;
		for (k = 0; k < n; k++)
			fill(f, body + k * f->bytes, i + k);
		stress_pause(&random);
		/* the publisher may never wait: let the readers run */
		if (test_random(&random) % 16 == 0)
			test_yield();
		while (peal_topic_publish_bulk(f->t, &p, h, body, f->bytes, n))
			test_yield();
	}
	free(body);
}

/* Checks the messages of one call. `next`: the expected number. */
static void look_at(struct reader *r, const uint8_t *body,
		    struct peal_topic_received *got, int n, uint64_t *next)
{
	struct flow *f = r->flow;
	uint64_t sequence;
	int i;

	for (i = 0; i < n; i++, body += f->bytes) {
		if (f->fault == FAULT_UNTOLD)
			got[i].missed = 0;
		r->odd |= got[i].number != *next + got[i].missed;
		*next = got[i].number + 1;
		sequence = got[i].number - f->start;
		r->odd |= got[i].length != f->bytes || got[i].flags != 5 ||
			  !stress_check(body, f->bytes, &sequence, 1);
	}
}

/* Takes until each message was taken or reported as missed. */
static void take_all(struct reader *r)
{
	struct flow *f = r->flow;
	unsigned long long random = f->seed + 77 + r->index;
	uint8_t *body = (uint8_t *)malloc(MANY * f->bytes);
	uint64_t next = f->start;
	struct peal_topic_received got[MANY];
	int n;

	CHECK(body);
	while (r->s.number - f->start < f->messages) {
		n = peal_topic_take_burst(f->t, &r->s, body, f->bytes,
					  1 + test_random(&random) % MANY, got);
		if (n == PEAL_EAGAIN) {
			test_yield();
			continue;
		}
		CHECK(n >= 1 && n <= MANY);
		stress_pause(&random);
		look_at(r, body, got, n, &next);
	}
	r->odd |= r->s.number - f->start != f->messages;
	r->odd |= next + r->s.missed != r->s.number;
	r->odd |= r->s.taken + r->s.lost != f->messages;
	free(body);
}

static void *subscribe(void *argument)
{
	struct reader *r = (struct reader *)argument;
	struct flow *f = r->flow;
	unsigned long long random = f->seed + r->index;
	void *stage = link_memory(
		peal_slot_content_max(f->t->policy, f->t->slot_bytes));

	CHECK_OK(peal_topic_join(f->t, &r->s, r->index, 1, stage));
	atomic_fetch_add(&f->joined, 1);
	/* some readers begin late */
	if (test_random(&random) % 2)
		test_yield();
	take_all(r);
	peal_topic_leave(&r->s);
	free(stage);
	return NULL;
}

static void flow_open(struct flow *f, struct peali_topic_spec spec,
		      uint64_t start)
{
	struct topic_ring r;

	CHECK_OK(peali_topic_spec_complete(&spec, 14, PEAL_POLICY_SEQUENCE,
					   "test"));
	f->t = (struct peal_topic *)link_memory(peali_topic_bytes(&spec));
	peali_topic_header(f->t, &spec);
	f->bulk = spec.slots < MANY ? spec.slots : MANY;
	f->start = start;
	r.t = f->t;
	topic_ring_start_at(&r, start);
}

/* Returns 1 if all messages were whole, in order, and correctly counted. */
static int run(struct flow *f, struct peali_topic_spec spec, uint64_t start)
{
	uint64_t taken = 0;
	uint32_t i;
	int odd = 0;

	spec.n_subscribers = f->n_readers;
	flow_open(f, spec, start);
	for (i = 0; i < f->n_readers; i++) {
		f->readers[i].flow = f;
		f->readers[i].index = i;
		CHECK(!pthread_create(&f->readers[i].thread, NULL, subscribe,
				      &f->readers[i]));
	}
	while (atomic_load(&f->joined) < f->n_readers)
		test_yield();
	publish(f);
	for (i = 0; i < f->n_readers; i++) {
		struct reader *r = &f->readers[i];

		CHECK(!pthread_join(r->thread, NULL));
		odd |= r->odd;
		taken += r->s.taken;
		if (spec.mode == PEAL_TOPIC_WAIT)
			CHECK_EQ(r->s.lost, 0);
	}
	CHECK_EQ(f->t->tail - start, f->messages);
	if (f->fault == FAULT_NONE)
		stress_verified += taken;
	free(f->t);
	return !odd;
}

/*
 * Runs one round. Its number selects the policy, slots, readers and the first
 * message number. `bytes` 0: the largest payload of a slot.
 */
static void one(uint32_t mode, uint32_t bytes, uint64_t round)
{
	static const uint32_t slots[] = { 1, 2, 256 };
	static const uint32_t largest[] = { 0, 4080, 3064, 1016 };
	uint32_t policy = link_policies[round % LINK_POLICIES];
	uint32_t capacity = slots[round / LINK_POLICIES % 3];
	const uint64_t wraps[] = { 65536ULL * capacity, 0,
				   PEAL_SLOT_REFRESH_LAPS *
					   (uint64_t)capacity };
	struct peali_topic_spec spec = { .slots = capacity,
					 .message_bytes = bytes,
					 .mode = mode,
					 .policy = policy };
	struct flow f;

	memset(&f, 0, sizeof(f));
	f.bytes = bytes;
	f.seed = SEED + 1000 * round;
	f.n_readers = 1 + (uint32_t)((round + round / 9) % READERS);
	if (!bytes)
		f.bytes = spec.message_bytes = largest[policy];
	f.messages = stress_count(MESSAGES, f.bytes, capacity);
	CHECK(run(&f, spec, wraps[round / 9 % 3] - f.messages / 4));
}

static void all(uint32_t mode, uint32_t bytes)
{
	/* every policy, capacity and number of readers */
	struct stress_clock clock = stress_begin(3 * READERS * LINK_POLICIES);
	uint64_t round;

	while (stress_next(&clock, &round))
		one(mode, bytes, round);
}

/* A case for each mode and size: name(mode, bytes). */
#define SIZES(X)                                                               \
	X(topics_of_8_bytes_that_wait_conserve, 0, 8)                          \
	X(topics_of_16_bytes_that_wait_conserve, 0, 16)                        \
	X(topics_of_48_bytes_that_wait_conserve, 0, 48)                        \
	X(topics_of_64_bytes_that_wait_conserve, 0, 64)                        \
	X(topics_of_256_bytes_that_wait_conserve, 0, 256)                      \
	X(topics_of_1000_bytes_that_wait_conserve, 0, 1000)                    \
	X(topics_of_the_largest_slots_that_wait_conserve, 0, 0)                \
	X(topics_of_8_bytes_that_overwrite_tell_all, 1, 8)                     \
	X(topics_of_16_bytes_that_overwrite_tell_all, 1, 16)                   \
	X(topics_of_48_bytes_that_overwrite_tell_all, 1, 48)                   \
	X(topics_of_64_bytes_that_overwrite_tell_all, 1, 64)                   \
	X(topics_of_256_bytes_that_overwrite_tell_all, 1, 256)                 \
	X(topics_of_1000_bytes_that_overwrite_tell_all, 1, 1000)               \
	X(topics_of_the_largest_slots_that_overwrite_tell_all, 1, 0)

SIZES(STRESS_TEST)

/* ---- negative controls --------------------------------------------------- */

/* Returns 1 if the readers find no fault. */
static int passes(enum fault fault, uint32_t mode, uint32_t slots)
{
	struct peali_topic_spec spec = { .slots = slots,
					 .message_bytes = 64,
					 .mode = mode };
	struct flow f;

	memset(&f, 0, sizeof(f));
	f.bytes = 64;
	f.messages = 1000;
	f.seed = SEED;
	f.n_readers = 2;
	f.fault = fault;
	return run(&f, spec, 0);
}

PEAL_TEST(substituted_message_is_caught)
{
	CHECK(passes(FAULT_NONE, PEAL_TOPIC_WAIT, 16));
	CHECK(!passes(FAULT_DOUBLE, PEAL_TOPIC_WAIT, 16));
}

PEAL_TEST(changed_bit_is_caught)
{
	CHECK(!passes(FAULT_BYTE, PEAL_TOPIC_WAIT, 16));
}

PEAL_TEST(reader_without_missed_count_is_caught)
{
	int tries = 0;

	/* a reader misses some of 1000 messages in one slot, sooner or later */
	while (passes(FAULT_UNTOLD, PEAL_TOPIC_OVERWRITE, 1))
		CHECK(++tries < 200);
}

PEAL_TEST_MAIN(SIZES(STRESS_RUN) RUN(substituted_message_is_caught);
	       RUN(changed_bit_is_caught);
	       RUN(reader_without_missed_count_is_caught);
	       stress_print_total();)
