/* SPDX-License-Identifier: Apache-2.0 */
/* labels: stress quick */
#include "link_pair.h"
#include "stress.h"
#include "yield.h"

/*
 * Shows that a link conserves messages between two threads while it goes
 * through several rings. Each message contains its sequence number, and the
 * consumer checks every byte. Short messages have the number in their header.
 */

#define SEED 7001ULL
#define MESSAGES IDENTITY_COUNT(60000)
#define RINGS 3

/* Faults of the producer that the consumer must find. */
enum fault { FAULT_NONE, FAULT_LOSE_AND_DOUBLE, FAULT_SWAP, FAULT_BYTE };

struct shape {
	struct peali_ring_spec spec; /* the test sets the policy */
	uint64_t least; /* smallest payload bytes */
	uint64_t start; /* number of the first message of each ring */
};

struct stress {
	struct link_pair rings[RINGS];
	struct peal_link_counts *counts;
	uint64_t each; /* messages of a ring */
	uint64_t least, most;
	enum fault fault;
	unsigned long long seed;
	uint64_t accepted_bytes, taken_bytes, dead;
	struct identity id;
	atomic_int unexpected; /* 1: an end got a result that must not occur */
};

static uint16_t body_check(const uint8_t *body, uint64_t bytes, uint64_t seed)
{
	uint64_t sum = seed + bytes, word, i;

	for (i = 0; i + 8 <= bytes; i += 8) {
		memcpy(&word, body + i, 8);
		sum = (sum ^ word) * 0x9e3779b97f4a7c15ULL;
	}
	for (; i < bytes; i++)
		sum = (sum ^ body[i]) * 0x100000001b3ULL;
	return (uint16_t)(sum >> 48);
}

/* Fills a body by its sequence number. Returns a header made of both. */
static struct peal_header body_fill(uint8_t *body, uint64_t bytes,
				    uint64_t sequence)
{
	unsigned long long random = sequence;
	struct peal_header h = { (uint32_t)sequence, 0, (uint16_t)bytes };
	uint64_t i, word = 0;

	for (i = 0; i < bytes; i++, word >>= 8) {
		if (i % 8 == 0)
			word = test_random(&random);
		body[i] = (uint8_t)word;
	}
	h.type = body_check(body, bytes, sequence);
	return h;
}

static uint64_t body_bytes(const struct stress *s, unsigned long long *random)
{
	uint64_t r = test_random(random), span = s->most - s->least + 1;

	if (r % 4 == 0) /* in three of four cases a short body */
		return s->least + (r >> 8) % span;
	return s->least + (r >> 8) % (span < 40 ? span : 40);
}

/* ---- producer ------------------------------------------------------------ */

/* Returns the sequence number that the fault sends instead. */
static uint64_t faulty(const struct stress *s, uint64_t sequence)
{
	uint64_t at = s->each / 2;

	if (s->fault == FAULT_LOSE_AND_DOUBLE && sequence == at)
		return at - 1;
	if (s->fault == FAULT_SWAP && (sequence == at || sequence == at + 1))
		return 2 * at + 1 - sequence;
	return sequence;
}

/* Sends one message by push, or by reserve and commit. Returns the result. */
static int send_one(struct stress *s, struct peal_link_producer *p,
		    uint8_t *body, uint64_t bytes, uint64_t sequence,
		    unsigned long long *random)
{
	struct peal_header h;
	void *to = NULL;
	int result;

	if (test_random(random) % 2) {
		h = body_fill(body, bytes, sequence);
		if (s->fault == FAULT_BYTE && sequence == s->each / 2)
			h.type ^= 1;
		return peal_link_push(p, h, body, bytes);
	}
	result = peal_link_reserve(p, bytes, &to);
	if (result)
		return result;
	h = body_fill((uint8_t *)to, bytes, sequence);
	if (s->fault == FAULT_BYTE && sequence == s->each / 2)
		h.type ^= 1;
	peal_link_commit(p, h, bytes);
	return 0;
}

/*
 * Sends n messages by one push. They share a header, so each body contains its
 * sequence number. The header marks this by flags of 0xffff, a length that no
 * body has.
 */
static int send_bulk(struct peal_link_producer *p, uint8_t *body,
		     uint64_t bytes, uint64_t n, uint64_t sequence)
{
	struct peal_header h = { 0, 0, 0xffff };
	uint64_t i;

	for (i = 0; i < n; i++) {
		struct identity_message m = identity_make(0, sequence + i);

		body_fill(body + i * bytes, bytes, sequence + i);
		memcpy(body + i * bytes, &m, sizeof(m));
	}
	return peal_link_push_bulk(p, h, body, bytes, n);
}

static uint64_t send_some(struct stress *s, struct peal_link_producer *p,
			  uint8_t *body, uint64_t sequence, uint64_t left,
			  unsigned long long *random)
{
	uint64_t bytes = body_bytes(s, random), n = 1;
	int result;

	identity_disturb(random);
	if (bytes >= sizeof(struct identity_message) &&
	    bytes <= p->payload_max && !s->fault)
		n = 1 + test_random(random) % peal_link_capacity(p);
	if (n > 8)
		n = 8;
	if (n > left)
		n = left;
	if (n > 1)
		result = send_bulk(p, body, bytes, n, sequence);
	else
		result = send_one(s, p, body, bytes, faulty(s, sequence),
				  random);
	if (result == 0) {
		s->accepted_bytes += n * bytes;
		return n;
	}
	if (result != PEAL_EAGAIN)
		s->unexpected = 1;
	test_yield();
	return 0;
}

static void *produce(void *argument)
{
	struct stress *s = (struct stress *)argument;
	unsigned long long random = s->seed;
	uint8_t *body = (uint8_t *)malloc(8 * s->most + 16);
	uint64_t sequence = 0, ring, end;

	CHECK(body);
	for (ring = 0; ring < RINGS && !s->unexpected; ring++) {
		struct link_pair *l = &s->rings[ring];
		uint32_t mark = ring + 1 < RINGS ? PEAL_KIND_SEAL :
						   PEAL_KIND_END;

		/* the counters continue, the ring position stays as prepared */
		l->p.accepted_base = s->counts->accepted - l->p.tail;
		l->p.accepted_bytes = s->counts->accepted_bytes;
		end = sequence + s->each;
		while (sequence < end && !s->unexpected)
			sequence += send_some(s, &l->p, body, sequence,
					      end - sequence, &random);
		while (peal_link_push_mark(&l->p, mark) == PEAL_EAGAIN)
			test_yield();
	}
	free(body);
	return NULL;
}

/* ---- consumer ------------------------------------------------------------ */

static void check(struct stress *s, const struct peal_message *m)
{
	struct identity_message id = identity_make(0, m->sequence);
	const uint8_t *body = (const uint8_t *)m->data;
	int intact;

	if (m->header.flags == 0xffff && m->length >= sizeof(id)) {
		uint8_t *copy = (uint8_t *)malloc(m->length);

		CHECK(copy);
		memcpy(&id, body, sizeof(id));
		body_fill(copy, m->length, id.sequence);
		intact = !memcmp(copy + sizeof(id), body + sizeof(id),
				 m->length - sizeof(id));
		free(copy);
	} else {
		/* 32 bits of the sequence are enough for these counts */
		id = identity_make(0, m->header.actor);
		intact = (uint16_t)m->length == m->header.flags &&
			 body_check(body, m->length, m->header.actor) ==
				 m->header.type;
	}
	identity_tick(&s->id, &id, intact);
	s->taken_bytes += m->length;
}

/* Takes one message by one of several calls. Returns a mark's kind, else 0. */
static uint32_t take(struct stress *s, struct peal_link_consumer *c,
		     uint8_t *to, unsigned long long *random)
{
	struct peal_message m;
	int result = peal_link_peek(c, &m);

	if (result == PEAL_EAGAIN) {
		peal_link_flush_credit(c);
		test_yield();
		return 0;
	}
	if (result) {
		s->unexpected = 1;
		return PEAL_KIND_END;
	}
	if (peali_kind_is_mark(m.kind)) { /* data may have any flags */
		peal_link_release_mark(c, m.kind);
		return m.kind;
	}
	if (m.sequence != s->id.received)
		s->unexpected = 1;
	identity_disturb(random);
	if (test_random(random) % 4 == 0) {
		if (peal_link_pop(c, to, s->most, &m))
			s->unexpected = 1;
		check(s, &m);
		return 0;
	}
	check(s, &m);
	if (test_random(random) % 16) {
		peal_link_release(c, &m);
	} else {
		peal_link_release_dead(c, (uint32_t)(s->dead++ % 4));
		s->taken_bytes -=
			m.length; /* delivered_bytes omits dead ones */
	}
	return 0;
}

static void consume(struct stress *s)
{
	uint8_t *to = (uint8_t *)malloc(s->most + 1);
	unsigned long long random = s->seed + 1;
	uint64_t ring;

	CHECK(to);
	for (ring = 0; ring < RINGS && !s->unexpected; ring++) {
		struct peal_link_consumer *c = &s->rings[ring].c;
		struct peal_link_consumer fresh;

		/* the counters that a receiver finds after a SEAL */
		peal_link_consumer_init(&fresh, &s->rings[ring].views[1]);
		c->sequence_base = fresh.sequence_base - c->head;
		c->delivered_base = fresh.delivered_base - c->head;
		c->delivered_bytes = fresh.delivered_bytes;
		c->switches = fresh.switches;
		while (!take(s, c, to, &random) && !s->unexpected)
			;
	}
	free(to);
}

/* ---- runs ---------------------------------------------------------------- */

/*
 * Returns 1 if each message came once, in order and whole. Sets *counted to 1
 * if the counters agree.
 */
static int stress(uint32_t policy, const struct shape *shape, enum fault fault,
		  uint64_t round, int *counted)
{
	struct stress *s = (struct stress *)calloc(1, sizeof(*s));
	struct peali_ring_spec spec = shape->spec;
	pthread_t thread;
	uint64_t i, accepted, dead = 0;
	int sound;

	CHECK(s);
	spec.policy = policy;
	s->counts = (struct peal_link_counts *)link_memory(sizeof(*s->counts));
	for (i = 0; i < RINGS; i++) {
		link_pair_open_next(&s->rings[i], spec, s->counts);
		link_pair_start_at(&s->rings[i],
				   shape->start + i * spec.capacity, 0);
	}
	s->each = MESSAGES / RINGS / (fault ? 10 : 1);
	s->least = shape->least;
	s->most = spec.message_bytes;
	s->fault = fault;
	s->seed = SEED + policy + 1000 * round;
	accepted = s->each * RINGS;
	identity_begin(&s->id, 1, accepted);
	CHECK(!pthread_create(&thread, NULL, produce, s));
	consume(s);
	CHECK(!pthread_join(thread, NULL));
	CHECK(!s->unexpected);
	for (i = 0; i < PEAL_REASON_COUNT; i++)
		dead += s->counts->dead[i];
	CHECK_EQ(s->counts->accepted, accepted);
	CHECK_EQ(s->counts->accepted_bytes, s->accepted_bytes);
	CHECK_EQ(s->counts->delivered_bytes, s->taken_bytes);
	CHECK_EQ(dead, s->dead);
	CHECK_EQ(s->counts->ended, 1);
	CHECK_EQ(s->counts->seals, RINGS - 1);
	CHECK_EQ(s->counts->switches, RINGS - 1);
	*counted = s->counts->delivered + dead == accepted;
	sound = identity_end(&s->id, &accepted);
	for (i = 0; i < RINGS; i++)
		link_pair_close(&s->rings[i]);
	free(s->counts);
	free(s);
	return sound;
}

#define NEAR_LAP(capacity) (65536ULL * (capacity)-500 * (capacity))
#define NEAR_REFRESH(capacity) (16384ULL * (capacity)-100 * (capacity))
#define NEAR_END (0ULL - 5000)

static const struct shape shapes[] = {
	{ { 1, 64, 0, 20, 0 }, 0, 1 },
	{ { 1, 64, 0, 200, 0 }, 0, NEAR_LAP(1) },
	{ { 2, 64, 0, 100, 0 }, 0, NEAR_END },
	{ { 2, 128, 0, 48, 0 }, 0, NEAR_REFRESH(2) },
	{ { 4, 128, 0, 56, 0 }, 16, NEAR_LAP(4) },
	{ { 64, 64, 0, 20, 0 }, 0, 0ULL - 64 },
	{ { 64, 512, 0, 200, 0 }, 0, NEAR_LAP(64) },
	{ { 16, 64, 0, 4000, 2 * 4000 }, 0, NEAR_END },
	{ { 256, 64, 0, 1000, 0 }, 0, 1 },
};

static void all_shapes(uint32_t policy)
{
	struct stress_clock clock = stress_begin(1);
	uint64_t round;
	size_t i;
	int counted;

	while (stress_next(&clock, &round)) {
		printf("    policy %u, seed %llu\n", policy,
		       SEED + policy + 1000 * round);
		for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
			CHECK(stress(policy, &shapes[i], FAULT_NONE, round,
				     &counted));
			CHECK(counted);
			stress_verified += MESSAGES / RINGS * RINGS;
		}
	}
}

PEAL_TEST(sequence_links_deliver_exactly_once_in_order)
{
	all_shapes(PEAL_POLICY_SEQUENCE);
}

#if PEAL_HAVE_ATOM16
PEAL_TEST(atom16_links_deliver_exactly_once_in_order)
{
	all_shapes(PEAL_POLICY_ATOM16);
}
#endif

PEAL_TEST(atom8_links_deliver_exactly_once_in_order)
{
	all_shapes(PEAL_POLICY_ATOM8);
}

/* Negative control: the counters agree, the identities do not. */
PEAL_TEST(lost_and_duplicated_message_is_caught)
{
	int counted;

	CHECK(stress(PEAL_POLICY_SEQUENCE, &shapes[5], FAULT_NONE, 0,
		     &counted));
	CHECK(!stress(PEAL_POLICY_SEQUENCE, &shapes[5], FAULT_LOSE_AND_DOUBLE,
		      0, &counted));
	CHECK(counted);
}

PEAL_TEST(swapped_messages_are_caught)
{
	int counted;

	CHECK(!stress(PEAL_POLICY_ATOM8, &shapes[5], FAULT_SWAP, 0, &counted));
	CHECK(counted);
}

PEAL_TEST(changed_bit_is_caught)
{
	int counted;

	CHECK(!stress(PEAL_POLICY_ATOM8, &shapes[5], FAULT_BYTE, 0, &counted));
	CHECK(counted);
}

#if PEAL_HAVE_ATOM16
#define RUN_ATOM16 RUN(atom16_links_deliver_exactly_once_in_order);
#else
#define RUN_ATOM16
#endif

PEAL_TEST_MAIN(RUN(sequence_links_deliver_exactly_once_in_order);
	       RUN_ATOM16 RUN(atom8_links_deliver_exactly_once_in_order);
	       RUN(lost_and_duplicated_message_is_caught);
	       RUN(swapped_messages_are_caught); RUN(changed_bit_is_caught);
	       stress_print_total();)
