/* SPDX-License-Identifier: Apache-2.0 */
#include "link_pair.h"

/*
 * Shows that a link survives any word that the other side writes. The link
 * closes with PEAL_EPROTO, or the message lies within the slot, the stage or
 * the slab. AddressSanitizer checks the bounds, and the test checks the
 * addresses.
 */

#define SEED 20240229ULL
/* ThreadSanitizer finds nothing here: there is only one thread. */
#define ROUNDS (PEAL_TSAN ? 100000 : 250000)

static const struct peal_header none = { 0, 0, 0 };

static void open_link(struct link_pair *l, uint32_t policy)
{
	struct peali_ring_spec s = { 4, 64, policy, 500, 4 * 512 };

	link_pair_open(l, s);
}

/* Writes a slot as the peer could: any content and length under any tag. */
static void write_slot(struct link_pair *l, uint32_t kind,
		       const uint8_t *content, uint32_t length)
{
	uint64_t index = l->c.head & (l->spec.capacity - 1);
	uint8_t *slot = l->c.slots + index * l->spec.slot_bytes;
	uint32_t lap = (uint32_t)(l->c.head >> l->c.capacity_log2) + 1;
	uint32_t most = peal_slot_content_max(l->spec.policy, 64);

	if (l->spec.policy == PEAL_POLICY_SEQUENCE) {
		memcpy(slot + 8, content, length < most ? length : most);
		peal_slot_publish(slot, lap, kind, length);
	} else {
		peal_slot_pack(l->spec.policy, slot, lap, kind, content,
			       length < most ? length : most, 0, 1);
	}
}

/* Writes the tag of one atom, or the sequence tag. */
static void write_tag(struct link_pair *l, uint32_t atom, uint32_t kind,
		      uint32_t low)
{
	uint64_t index = l->c.head & (l->spec.capacity - 1);
	uint8_t *slot = l->c.slots + index * l->spec.slot_bytes;
	uint32_t lap = (uint32_t)(l->c.head >> l->c.capacity_log2) + 1;
	static const uint8_t content[16];

	if (l->spec.policy == PEAL_POLICY_SEQUENCE)
		peal_slot_publish(slot, lap, kind, low);
	else
		peali_atom_write(l->spec.policy, slot, atom,
				 peali_tag32(lap, kind, low), content, 12);
}

static void write_descriptor(struct link_pair *l, uint64_t offset,
			     uint32_t length)
{
	struct peal_slab_descriptor d = { offset, length, 0 };
	uint8_t content[24] = { 0 };

	memcpy(content + 8, &d, sizeof(d));
	write_slot(l, PEAL_KIND_SLAB, content, sizeof(content));
}

static void expect_eproto(struct link_pair *l)
{
	struct peal_message m;
	uint64_t lengths[1];
	uint8_t to[64];

	CHECK_EQ(peal_link_peek(&l->c, &m), PEAL_EPROTO);
	CHECK_EQ(l->counts->error, (uint64_t)-PEAL_EPROTO);
	CHECK_EQ(peal_link_peek(&l->c, &m), PEAL_EPROTO);
	CHECK_EQ(peal_link_pop(&l->c, to, 64, &m), PEAL_EPROTO);
	CHECK_EQ(peal_link_pop_burst(&l->c, to, 64, 1, lengths), PEAL_EPROTO);
	CHECK_EQ(l->counts->delivered, 0);
	link_pair_close(l);
}

/* Returns 1 for the kinds of a slot that a link can have. */
static int is_known(uint32_t kind)
{
	return (kind >= PEAL_KIND_DATA && kind <= PEAL_KIND_SEAL) ||
	       kind == PEAL_KIND_GATE;
}

PEAL_TEST(unknown_kinds_close_the_link)
{
	static const uint8_t content[64];
	uint32_t kind;

	EACH_POLICY(policy)
	for (kind = 0; kind < 256; kind++) {
		struct link_pair l;

		if (is_known(kind))
			continue;
		if (kind == (PEAL_KIND_DATA | PEAL_KIND_TIMED) ||
		    kind == (PEAL_KIND_SLAB | PEAL_KIND_TIMED))
			continue;
		if (policy != PEAL_POLICY_SEQUENCE && kind & PEAL_TAG_MANY)
			continue;
		open_link(&l, policy);
		write_slot(&l, kind, content, 24);
		expect_eproto(&l);
	}
}

PEAL_TEST(lengths_out_of_range_close_the_link)
{
	static const uint32_t lengths[] = { 0,	     1,	       7,	57,
					    64,	     65,       500,	4096,
					    1 << 30, 1u << 31, ~0u - 7, ~0u };
	struct link_pair l;
	uint32_t kind;
	size_t i;

	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		for (kind = PEAL_KIND_DATA; kind <= PEAL_KIND_GATE; kind++) {
			if (!is_known(kind))
				continue;
			open_link(&l, PEAL_POLICY_SEQUENCE);
			write_tag(&l, 0, kind, lengths[i]);
			expect_eproto(&l);
		}
	open_link(&l, PEAL_POLICY_SEQUENCE);
	write_tag(&l, 0, PEAL_KIND_SLAB, 23); /* too short for a descriptor */
	expect_eproto(&l);
}

PEAL_TEST(oversized_message_closes_the_link)
{
	static const uint8_t content[64];

	EACH_POLICY(policy)
	{
		struct peali_ring_spec s = { 4, 64, policy, 9, 0 };
		struct peal_message m;
		struct link_pair l;

		link_pair_open(&l, s);
		write_slot(&l, PEAL_KIND_DATA, content, 8 + 9);
		CHECK_EQ(peal_link_peek(&l.c, &m), 0);
		write_slot(&l, PEAL_KIND_DATA, content, 8 + 10);
		expect_eproto(&l);
		open_link(&l, policy);
		write_descriptor(&l, 0, 500);
		CHECK_EQ(peal_link_peek(&l.c, &m), 0);
		write_descriptor(&l, 0, 501);
		expect_eproto(&l);
	}
}

PEAL_TEST(atom_counts_out_of_range_close_the_link)
{
	EACH_POLICY(policy)
	{
		uint32_t each = peali_atom_payload(policy), low;
		uint32_t atoms = peal_slot_content_max(policy, 64) / each;

		if (policy == PEAL_POLICY_SEQUENCE)
			continue;
		for (low = 0; low < 256; low++) {
			struct peal_message m;
			struct link_pair l;

			open_link(&l, policy);
			write_tag(&l, 0, PEAL_KIND_DATA, low);
			if (low >= 8 && low <= each) {
				CHECK_EQ(peal_link_peek(&l.c, &m), 0);
				CHECK_EQ(m.length, low - 8);
				link_pair_close(&l);
			} else {
				expect_eproto(&l);
			}
			open_link(&l, policy);
			write_tag(&l, 0, PEAL_KIND_DATA | PEAL_TAG_MANY, low);
			if (low > 0 && low < atoms) {
				/* the other atoms are missing */
				CHECK_EQ(peal_link_peek(&l.c, &m), PEAL_EAGAIN);
				link_pair_close(&l);
			} else {
				expect_eproto(&l);
			}
		}
	}
}

PEAL_TEST(slab_descriptors_out_of_range_close_the_link)
{
	static const struct {
		uint64_t offset;
		uint32_t length;
	} cases[] = {
		{ 1, 100 },	    { 8, 100 },		  { 15, 1 },
		{ 2048, 1 },	    { 2048, 0 },	  { 4096, 100 },
		{ 2032, 17 },	    { 1600, 449 },	  { 0, 501 },
		{ 0, 2049 },	    { 0, ~0u },		  { 16, ~0u },
		{ 0, 1u << 31 },    { ~15ULL, 16 },	  { ~15ULL, ~0u },
		{ 1ULL << 63, 16 }, { 0ULL - 2048, 100 }, { ~0ULL, 1 },
	};
	size_t i;

	EACH_POLICY(policy)
	{
		struct peal_message m;
		struct link_pair l;

		for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			open_link(&l, policy);
			write_descriptor(&l, cases[i].offset, cases[i].length);
			expect_eproto(&l);
		}
		/* the last descriptors in range */
		open_link(&l, policy);
		write_descriptor(&l, 2032, 16);
		CHECK_EQ(peal_link_peek(&l.c, &m), 0);
		write_descriptor(&l, 1536, 500);
		CHECK_EQ(peal_link_peek(&l.c, &m), 0);
		CHECK(link_filled(m.data, 0, 0));
		/* inside the released bytes */
		peal_link_release(&l.c, &m);
		write_descriptor(&l, 1536, 16);
		CHECK_EQ(peal_link_peek(&l.c, &m), PEAL_EPROTO);
		link_pair_close(&l);
		/* after the wrap: up to the released bytes, then beyond them */
		open_link(&l, policy);
		write_descriptor(&l, 0, 500);
		CHECK_EQ(peal_link_peek(&l.c, &m), 0);
		peal_link_release(&l.c, &m);
		write_descriptor(&l, 2048, 500);
		CHECK_EQ(peal_link_peek(&l.c, &m), 0);
		write_descriptor(&l, 2064, 500);
		CHECK_EQ(peal_link_peek(&l.c, &m), PEAL_EPROTO);
		link_pair_close(&l);
	}
}

PEAL_TEST(slab_message_without_slab_closes_the_link)
{
	EACH_POLICY(policy)
	{
		struct peali_ring_spec s = { 4, 64, policy, 20, 0 };
		struct link_pair l;

		link_pair_open(&l, s);
		CHECK_EQ(l.spec.slab_bytes, 0);
		write_descriptor(&l, 0, 16);
		expect_eproto(&l);
	}
}

static void expect_closed_producer(struct link_pair *l)
{
	uint8_t data[500] = { 0 };
	void *to;

	CHECK_EQ(peal_link_push(&l->p, none, data, 1), PEAL_EPROTO);
	CHECK_EQ(peal_link_push(&l->p, none, data, 500), PEAL_EPROTO);
	CHECK_EQ(peal_link_push_bulk(&l->p, none, data, 1, 2), PEAL_EPROTO);
	CHECK_EQ(peal_link_reserve(&l->p, 1, &to), PEAL_EPROTO);
	CHECK_EQ(peal_link_push_mark(&l->p, PEAL_KIND_END), PEAL_EPROTO);
	/* 1: the message is counted as dropped */
	CHECK_EQ(peal_link_fits(&l->p, 1), 1);
	link_pair_close(l);
}

PEAL_TEST(credits_beyond_the_tail_or_backwards_close_the_producer)
{
	static const uint64_t slots[] = {
		5, 6, 1ULL << 32, 1ULL << 63, ~0ULL, 0
	};
	uint8_t data[500] = { 0 };
	size_t i, k;

	EACH_POLICY(policy)
	for (i = 0; i < 6; i++) {
		struct peal_message m;
		struct link_pair l;

		open_link(&l, policy);
		for (k = 0; k < 4; k++)
			CHECK_EQ(peal_link_push(&l.p, none, data, 1), 0);
		if (!slots[i]) {
			/* a correct credit of 1, then 0 again */
			CHECK_EQ(peal_link_peek(&l.c, &m), 0);
			peal_link_release(&l.c, &m);
			CHECK_EQ(peal_link_push(&l.p, none, data, 1), 0);
		}
		l.credit->slots = slots[i];
		expect_closed_producer(&l);
	}
}

PEAL_TEST(slab_credits_beyond_the_tail_or_backwards_close_the_producer)
{
	static const uint64_t slab[] = { 2049, 4096, 1ULL << 63, ~0ULL, 0 };
	uint8_t data[500] = { 0 };
	size_t i, k;

	EACH_POLICY(policy)
	for (i = 0; i < 5; i++) {
		struct peal_message m;
		struct link_pair l;

		open_link(&l, policy);
		for (k = 0; k < 4; k++)
			CHECK_EQ(peal_link_push(&l.p, none, data, 500), 0);
		if (!slab[i]) {
			CHECK_EQ(peal_link_peek(&l.c, &m), 0);
			peal_link_release(&l.c, &m);
			CHECK_EQ(peal_link_push(&l.p, none, data, 500), 0);
		}
		l.credit->slab = slab[i];
		expect_closed_producer(&l);
	}
}

/* ---- fuzz ---------------------------------------------------------------- */

static uint64_t nonsense(unsigned long long *random)
{
	static const uint64_t edges[] = {
		0,   1,	    7,		8,	    15,	       16,	   17,
		24,  63,    64,		500,	    512,       2047,	   2048,
		~0u, ~0ULL, 1ULL << 31, 1ULL << 63, 0ULL - 16, 0ULL - 2048
	};
	uint64_t r = test_random(random);

	switch (r & 3) {
	case 0:
		return edges[(r >> 8) % (sizeof(edges) / sizeof(edges[0]))];
	case 1:
		return (r >> 8) % 4096;
	case 2:
		return (r >> 8) % 256 * 16;
	default:
		return test_random(random);
	}
}

static void scribble(struct link_pair *l, unsigned long long *random)
{
	uint64_t index = l->c.head & (l->spec.capacity - 1);
	uint8_t *slot = l->c.slots + index * l->spec.slot_bytes;
	uint32_t n = 1 + (uint32_t)(test_random(random) % 3);
	uint8_t content[64];
	uint32_t i;

	for (i = 0; i < sizeof(content); i++)
		content[i] = (uint8_t)nonsense(random);
	switch (test_random(random) % 6) {
	case 0:
		write_slot(l, (uint32_t)nonsense(random) & 0xff, content,
			   (uint32_t)nonsense(random));
		break;
	case 1:
		write_slot(l, 1 + (uint32_t)(test_random(random) % 4), content,
			   (uint32_t)(test_random(random) % 64));
		break;
	case 2:
		write_tag(l, (uint32_t)(test_random(random) % 4),
			  (uint32_t)nonsense(random) & 0xff,
			  (uint32_t)nonsense(random));
		break;
	case 3:
		write_descriptor(l, l->c.slab_head + nonsense(random),
				 (uint32_t)nonsense(random));
		break;
	case 4:
		write_descriptor(l, nonsense(random),
				 (uint32_t)nonsense(random));
		break;
	default:
		while (n--)
			slot[test_random(random) % 64] =
				(uint8_t)nonsense(random);
	}
}

static int inside(const void *data, uint64_t length, const void *area,
		  uint64_t bytes)
{
	uintptr_t d = (uintptr_t)data, a = (uintptr_t)area;

	return d >= a && d - a <= bytes && length <= bytes - (d - a);
}

/* Takes a message, if there is a valid one. Returns 1 if the link has ended. */
static int take(struct link_pair *l, unsigned long long *random, uint64_t *sum)
{
	const struct peal_link_consumer *c = &l->c;
	struct peal_message m;
	uint64_t i;
	int result = peal_link_peek(&l->c, &m);

	if (result == PEAL_EAGAIN)
		return 0;
	if (result)
		return 1;
	if (peali_kind_is_mark(m.kind)) {
		CHECK(is_known(m.kind));
		peal_link_release_mark(&l->c, m.kind);
		return m.kind == PEAL_KIND_END;
	}
	m.kind &= ~(uint32_t)PEAL_KIND_TIMED;
	CHECK(m.kind == PEAL_KIND_DATA || m.kind == PEAL_KIND_SLAB);
	CHECK(m.length <= l->spec.message_bytes);
	if (m.kind == PEAL_KIND_SLAB)
		CHECK(inside(m.data, m.length, c->slab, c->slab_bytes));
	else if (l->spec.policy == PEAL_POLICY_SEQUENCE)
		CHECK(inside(m.data, m.length, c->slots, 4 * 64));
	else
		CHECK(inside(m.data, m.length, c->stage,
			     peali_ring_stage_bytes(&l->spec)));
	for (i = 0; i < m.length; i++)
		*sum += ((const uint8_t *)m.data)[i];
	if (test_random(random) % 8)
		peal_link_release(&l->c, &m);
	else
		peal_link_release_dead(&l->c, PEAL_REASON_HANDLER);
	return 0;
}

PEAL_TEST(random_slots_keep_the_consumer_in_bounds)
{
	EACH_POLICY(policy)
	{
		unsigned long long random = SEED + policy;
		uint64_t closed = 0, opened = 1, sum = 0;
		struct link_pair l;
		long i;

		printf("    policy %u, seed %llu\n", policy, random);
		open_link(&l, policy);
		for (i = 0; i < ROUNDS; i++) {
			scribble(&l, &random);
			if (!take(&l, &random, &sum))
				continue;
			closed++;
			memset(l.c.slots, 0, 4 * 64);
			link_pair_init(&l);
			if (test_random(&random) % 2)
				link_pair_start_at(&l, nonsense(&random), 0);
			opened++;
		}
		CHECK(closed > ROUNDS / 10);
		CHECK(l.counts->delivered > ROUNDS / 100);
		CHECK(sum);
		link_pair_close(&l);
	}
}

/* For any credit, the producer writes only within its ring and slab. */
PEAL_TEST(random_credits_keep_the_producer_in_bounds)
{
	static const uint8_t data[512] = { 1 };

	EACH_POLICY(policy)
	{
		unsigned long long random = SEED * 3 + policy;
		uint64_t closed = 0, sent = 0;
		struct link_pair l;
		long i;

		printf("    policy %u, seed %llu\n", policy, random);
		open_link(&l, policy);
		for (i = 0; i < ROUNDS; i++) {
			uint64_t bytes = test_random(&random) % 512;
			int result;

			if (test_random(&random) % 4)
				l.credit->slots =
					l.p.tail - test_random(&random) % 5;
			else
				l.credit->slots = nonsense(&random);
			l.credit->slab = test_random(&random) % 4 ?
						 l.p.slab_tail :
						 nonsense(&random);
			result = peal_link_push(&l.p, none, data, bytes);
			CHECK(l.p.tail - l.p.credit <= 4);
			CHECK(l.p.slab_tail - l.p.slab_credit <= 2048);
			if (result == PEAL_EPROTO) {
				closed++;
				l.credit->slots = l.credit->slab = 0;
				link_pair_init(&l);
				continue;
			}
			CHECK(result == 0 || result == PEAL_EAGAIN ||
			      (result == PEAL_EMSGSIZE && bytes > 500));
			sent += result == 0;
		}
		CHECK(closed > ROUNDS / 100);
		CHECK(sent > ROUNDS / 10);
		link_pair_close(&l);
	}
}

PEAL_TEST_MAIN(RUN(unknown_kinds_close_the_link);
	       RUN(lengths_out_of_range_close_the_link);
	       RUN(oversized_message_closes_the_link);
	       RUN(atom_counts_out_of_range_close_the_link);
	       RUN(slab_descriptors_out_of_range_close_the_link);
	       RUN(slab_message_without_slab_closes_the_link);
	       RUN(credits_beyond_the_tail_or_backwards_close_the_producer);
	       RUN(slab_credits_beyond_the_tail_or_backwards_close_the_producer);
	       RUN(random_slots_keep_the_consumer_in_bounds);
	       RUN(random_credits_keep_the_producer_in_bounds);)
