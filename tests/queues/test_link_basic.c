/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows the results of each link call in one thread. The cases cover sizes,
 * order, refusals, marks, credit, and numbers and slabs that wrap.
 */
#include "link_pair.h"

static const struct peal_header none = { 0, 0, 0 };

static struct peali_ring_spec spec(uint32_t capacity, uint32_t policy,
				   uint64_t message_bytes, uint64_t slab_bytes)
{
	struct peali_ring_spec s = { capacity, 0, policy, message_bytes,
				     slab_bytes };

	return s;
}

static void push(struct link_pair *l, uint64_t bytes, uint64_t sequence)
{
	struct peal_header h = { (uint32_t)sequence, (uint16_t)bytes, 7 };
	uint8_t *data = (uint8_t *)malloc(bytes + 1);

	CHECK(data);
	link_fill(data, bytes, sequence);
	CHECK_EQ(peal_link_push(&l->p, h, data, bytes), 0);
	free(data);
}

static void pop(struct link_pair *l, uint64_t bytes, uint64_t sequence)
{
	struct peal_message m;

	CHECK_EQ(peal_link_peek(&l->c, &m), 0);
	CHECK_EQ(m.kind,
		 bytes > l->p.payload_max ? PEAL_KIND_SLAB : PEAL_KIND_DATA);
	CHECK_EQ(m.length, bytes);
	CHECK_EQ(m.sequence, sequence);
	CHECK_EQ(m.header.actor, (uint32_t)sequence);
	CHECK_EQ(m.header.type, (uint16_t)bytes);
	CHECK_EQ(m.header.flags, 7);
	CHECK(link_filled(m.data, bytes, sequence));
	peal_link_release(&l->c, &m);
}

/* The state that a refused call must not change. */
struct image {
	uint8_t *ring;
	uint64_t accepted, bytes, tail, slab_tail;
};

static void image_take(struct image *i, const struct link_pair *l)
{
	i->ring = (uint8_t *)malloc(l->ring->total_bytes);
	CHECK(i->ring);
	memcpy(i->ring, l->ring, l->ring->total_bytes);
	i->accepted = l->counts->accepted;
	i->bytes = l->counts->accepted_bytes;
	i->tail = l->p.tail;
	i->slab_tail = l->p.slab_tail;
}

static void image_equal(struct image *i, const struct link_pair *l)
{
	CHECK(!memcmp(i->ring, l->ring, l->ring->total_bytes));
	CHECK_EQ(i->accepted, l->counts->accepted);
	CHECK_EQ(i->bytes, l->counts->accepted_bytes);
	CHECK_EQ(i->tail, l->p.tail);
	CHECK_EQ(i->slab_tail, l->p.slab_tail);
	free(i->ring);
}

/* A size beyond every limit. `volatile` hides it from the compiler. */
static volatile uint64_t huge = ~0ULL;

PEAL_TEST(messages_of_every_size_arrive_whole_and_in_order)
{
	EACH_POLICY(policy)
	{
		struct link_pair l;
		uint64_t bytes, n = 0, sum = 0;

		link_pair_open(&l, spec(4, policy, 300, 0));
		for (bytes = 0; bytes <= 300; bytes++) {
			push(&l, bytes, n);
			push(&l, 300 - bytes, n + 1);
			pop(&l, bytes, n++);
			pop(&l, 300 - bytes, n++);
			sum += 300;
		}
		CHECK_EQ(l.counts->accepted, n);
		CHECK_EQ(l.counts->delivered, n);
		CHECK_EQ(l.counts->accepted_bytes, sum);
		CHECK_EQ(l.counts->delivered_bytes, sum);
		link_pair_conserved(&l);
		link_pair_close(&l);
	}
}

PEAL_TEST(empty_link_returns_eagain)
{
	EACH_POLICY(policy)
	{
		struct peal_message m;
		struct link_pair l;
		uint64_t lengths[2];
		uint8_t to[64];

		link_pair_open(&l, spec(4, policy, 48, 0));
		CHECK_EQ(peal_link_peek(&l.c, &m), PEAL_EAGAIN);
		CHECK_EQ(peal_link_pop(&l.c, to, 48, &m), PEAL_EAGAIN);
		CHECK_EQ(peal_link_pop_burst(&l.c, to, 16, 2, lengths),
			 PEAL_EAGAIN);
		push(&l, 9, 0);
		pop(&l, 9, 0);
		CHECK_EQ(peal_link_peek(&l.c, &m), PEAL_EAGAIN);
		link_pair_conserved(&l);
		link_pair_close(&l);
	}
}

PEAL_TEST(push_to_full_link_returns_eagain_and_writes_nothing)
{
	EACH_POLICY(policy)
	{
		struct link_pair l;
		struct image before;
		uint8_t data[128] = { 0 };
		void *to;
		int i;

		link_pair_open(&l, spec(4, policy, 48, 0));
		for (i = 0; i < 4; i++)
			push(&l, 40, (uint64_t)i);
		image_take(&before, &l);
		memset(data, 0x5a, sizeof(data));
		CHECK_EQ(peal_link_push(&l.p, none, data, 8), PEAL_EAGAIN);
		CHECK_EQ(peal_link_reserve(&l.p, 8, &to), PEAL_EAGAIN);
		CHECK_EQ(peal_link_push_bulk(&l.p, none, data, 8, 2),
			 PEAL_EAGAIN);
		CHECK_EQ(peal_link_push_mark(&l.p, PEAL_KIND_END), PEAL_EAGAIN);
		CHECK_EQ(peal_link_fits(&l.p, 1), 0);
		image_equal(&before, &l);
		CHECK_EQ(l.counts->full, 1); /* attempts for one message */
		CHECK_EQ(l.counts->ended, 0);
		pop(&l, 40, 0);
		CHECK_EQ(peal_link_fits(&l.p, 1), 1);
		push(&l, 40, 4);
		for (i = 1; i < 5; i++)
			pop(&l, 40, (uint64_t)i);
		link_pair_conserved(&l);
		link_pair_close(&l);
	}
}

PEAL_TEST(push_bulk_sends_all_or_nothing)
{
	EACH_POLICY(policy)
	{
		uint8_t data[8 * 24], to[8 * 24];
		uint64_t lengths[8];
		struct link_pair l;
		struct image before;
		int i;

		link_pair_open(&l, spec(8, policy, 24, 0));
		for (i = 0; i < 8; i++)
			link_fill(data + i * 24, 24, (uint64_t)i);
		CHECK_EQ(peal_link_push_bulk(&l.p, none, data, 24, 0), 0);
		CHECK_EQ(peal_link_push_bulk(&l.p, none, data, 24, 5), 0);
		image_take(&before, &l);
		CHECK_EQ(peal_link_push_bulk(&l.p, none, data, 24, 4),
			 PEAL_EAGAIN);
		CHECK_EQ(peal_link_push_bulk(&l.p, none, data, 24, 9),
			 PEAL_EMSGSIZE);
		CHECK_EQ(peal_link_push_bulk(&l.p, none, data, 24, huge),
			 PEAL_EMSGSIZE);
		CHECK_EQ(peal_link_push_bulk(&l.p, none, data, 25, 1),
			 PEAL_EMSGSIZE);
		CHECK_EQ(peal_link_push_bulk(&l.p, none, data, huge, 1),
			 PEAL_EMSGSIZE);
		image_equal(&before, &l);
		CHECK_EQ(peal_link_push_bulk(&l.p, none, data + 5 * 24, 24, 3),
			 0);
		CHECK_EQ(peal_link_pop_burst(&l.c, to, 24, 3, lengths), 3);
		CHECK_EQ(peal_link_pop_burst(&l.c, to + 72, 24, 8, lengths), 5);
		CHECK(!memcmp(to, data, sizeof(to)));
		CHECK_EQ(l.counts->accepted_bytes, 8 * 24);
		CHECK_EQ(l.counts->delivered_bytes, 8 * 24);
		link_pair_conserved(&l);
		link_pair_close(&l);
	}
}

PEAL_TEST(pop_burst_stops_before_marks_and_long_messages)
{
	EACH_POLICY(policy)
	{
		uint64_t lengths[8];
		struct peal_message m;
		struct link_pair l;
		uint8_t to[8 * 16];

		link_pair_open(&l, spec(8, policy, 1000, 0));
		push(&l, 3, 0);
		push(&l, 16, 1);
		push(&l, 700, 2);
		push(&l, 0, 3);
		CHECK_EQ(peal_link_push_mark(&l.p, PEAL_KIND_END), 0);
		CHECK_EQ(peal_link_pop_burst(&l.c, to, 16, 8, lengths), 2);
		CHECK_EQ(lengths[0], 3);
		CHECK_EQ(lengths[1], 16);
		CHECK(link_filled(to, 3, 0) && link_filled(to + 16, 16, 1));
		CHECK_EQ(peal_link_pop_burst(&l.c, to, 16, 8, lengths), 0);
		CHECK_EQ(peal_link_pop(&l.c, to, 16, &m), PEAL_EMSGSIZE);
		CHECK_EQ(m.length, 700);
		pop(&l, 700, 2);
		CHECK_EQ(peal_link_pop_burst(&l.c, to, 16, 8, lengths), 1);
		CHECK_EQ(lengths[0], 0);
		CHECK_EQ(peal_link_pop_burst(&l.c, to, 16, 8, lengths), 0);
		CHECK_EQ(peal_link_pop(&l.c, to, 16, &m), PEAL_EEND);
		CHECK_EQ(peal_link_pop_burst(&l.c, to, 16, 8, lengths),
			 PEAL_EEND);
		link_pair_conserved(&l);
		link_pair_close(&l);
	}
}

PEAL_TEST(commit_sends_the_reserved_bytes)
{
	EACH_POLICY(policy)
	{
		struct peal_header h = { 5, 6, 7 };
		struct peal_message m;
		struct link_pair l;
		void *to, *again;

		link_pair_open(&l, spec(4, policy, 2000, 0));
		CHECK_EQ(peal_link_reserve(&l.p, 20, &to), 0);
		memset(to, 1, 20);
		CHECK_EQ(peal_link_peek(&l.c, &m), PEAL_EAGAIN);
		CHECK_EQ(peal_link_reserve(&l.p, 2000, &to), 0);
		CHECK((uint8_t *)to == l.p.slab);
		CHECK_EQ(peal_link_reserve(&l.p, 1500, &again), 0);
		CHECK(to == again);
		link_fill(to, 1400, 0);
		CHECK_EQ(l.counts->accepted, 0);
		peal_link_commit(&l.p, h, 1400);
		CHECK_EQ(peal_link_reserve(&l.p, 20, &to), 0);
		link_fill(to, 11, 1);
		peal_link_commit(&l.p, h, 11);
		CHECK_EQ(peal_link_peek(&l.c, &m), 0);
		CHECK((const uint8_t *)m.data == l.c.slab);
		CHECK_EQ(m.length, 1400);
		CHECK(link_filled(m.data, 1400, 0));
		CHECK_EQ(m.header.actor, 5);
		CHECK_EQ(m.header.type, 6);
		CHECK_EQ(m.header.flags, 7);
		peal_link_release(&l.c, &m);
		CHECK_EQ(peal_link_peek(&l.c, &m), 0);
		CHECK_EQ(m.length, 11);
		CHECK(link_filled(m.data, 11, 1));
		peal_link_release(&l.c, &m);
		CHECK_EQ(l.counts->accepted_bytes, 1411);
		link_pair_conserved(&l);
		link_pair_close(&l);
	}
}

PEAL_TEST(peek_keeps_message_until_release)
{
	EACH_POLICY(policy)
	{
		struct peal_message a, b;
		struct link_pair l;

		link_pair_open(&l, spec(4, policy, 48, 0));
		push(&l, 30, 0);
		push(&l, 31, 1);
		CHECK_EQ(peal_link_peek(&l.c, &a), 0);
		CHECK_EQ(peal_link_peek(&l.c, &b), 0);
		CHECK_EQ(a.sequence, b.sequence);
		CHECK_EQ(l.counts->delivered, 0);
		pop(&l, 30, 0);
		CHECK_EQ(peal_link_peek(&l.c, &a), 0);
		CHECK_EQ(a.sequence, 1);
		peal_link_release_dead(&l.c, PEAL_REASON_NO_ACTOR);
		CHECK_EQ(peal_link_peek(&l.c, &a), PEAL_EAGAIN);
		CHECK_EQ(l.counts->delivered, 1);
		CHECK_EQ(l.counts->delivered_bytes, 30);
		CHECK_EQ(l.counts->dead[PEAL_REASON_NO_ACTOR], 1);
		link_pair_conserved(&l);
		link_pair_close(&l);
	}
}

PEAL_TEST(oversized_message_is_refused_without_write)
{
	EACH_POLICY(policy)
	{
		static const uint8_t data[4096];
		struct link_pair l;
		struct image before;
		void *to;

		link_pair_open(&l, spec(4, policy, 1000, 0));
		image_take(&before, &l);
		CHECK_EQ(peal_link_push(&l.p, none, data, 1001), PEAL_EMSGSIZE);
		CHECK_EQ(peal_link_push(&l.p, none, data, huge), PEAL_EMSGSIZE);
		CHECK_EQ(peal_link_reserve(&l.p, 1001, &to), PEAL_EMSGSIZE);
		CHECK_EQ(peal_link_reserve(&l.p, huge, &to), PEAL_EMSGSIZE);
		CHECK_EQ(peal_link_push_bulk(&l.p, none, data, 1000, 1),
			 PEAL_EMSGSIZE);
		image_equal(&before, &l);
		CHECK_EQ(l.counts->full, 0);
		link_pair_close(&l);
		/* the slot is larger than the link's messages */
		link_pair_open(&l, (struct peali_ring_spec){ 4, 128, policy, 20,
							     0 });
		image_take(&before, &l);
		CHECK_EQ(peal_link_push(&l.p, none, data, 21), PEAL_EMSGSIZE);
		CHECK_EQ(peal_link_push_bulk(&l.p, none, data, 21, 1),
			 PEAL_EMSGSIZE);
		image_equal(&before, &l);
		link_pair_conserved(&l);
		link_pair_close(&l);
	}
}

PEAL_TEST(end_closes_both_ends_after_last_message)
{
	EACH_POLICY(policy)
	{
		struct peal_message m;
		struct link_pair l;
		uint8_t to[64] = { 0 };
		void *place;

		link_pair_open(&l, spec(4, policy, 48, 0));
		push(&l, 12, 0);
		CHECK_EQ(peal_link_push_mark(&l.p, PEAL_KIND_END), 0);
		CHECK_EQ(peal_link_push(&l.p, none, to, 1), PEAL_EPIPE);
		CHECK_EQ(peal_link_push_bulk(&l.p, none, to, 1, 1), PEAL_EPIPE);
		CHECK_EQ(peal_link_reserve(&l.p, 1, &place), PEAL_EPIPE);
		CHECK_EQ(peal_link_push_mark(&l.p, PEAL_KIND_END), PEAL_EPIPE);
		CHECK_EQ(peal_link_fits(&l.p, 1), 1);
		peal_link_drop_closed(&l.p, 10);
		pop(&l, 12, 0);
		CHECK_EQ(peal_link_peek(&l.c, &m), 0);
		CHECK_EQ(m.kind, PEAL_KIND_END);
		CHECK_EQ(peal_link_peek(&l.c, &m), 0);
		CHECK_EQ(peal_link_pop(&l.c, to, 48, &m), PEAL_EEND);
		CHECK_EQ(peal_link_peek(&l.c, &m), PEAL_EEND);
		CHECK_EQ(peal_link_pop(&l.c, to, 48, &m), PEAL_EEND);
		CHECK_EQ(l.counts->ended, 1);
		CHECK_EQ(l.counts->accepted, 2);
		CHECK_EQ(l.counts->accepted_bytes, 22);
		CHECK_EQ(l.counts->closed, 1);
		CHECK_EQ(l.counts->delivered, 1);
		link_pair_conserved(&l);
		link_pair_close(&l);
	}
}

PEAL_TEST(seal_passes_counts_to_the_next_ring)
{
	EACH_POLICY(policy)
	{
		struct link_pair old, next;
		struct peal_message m;
		uint8_t to[64];

		link_pair_open(&old, spec(4, policy, 48, 0));
		push(&old, 10, 0);
		push(&old, 11, 1);
		peal_link_drop_closed(&old.p, 5);
		CHECK_EQ(peal_link_push_mark(&old.p, PEAL_KIND_SEAL), 0);
		link_pair_open_next(&next, spec(2, policy, 48, 0), old.counts);
		push(&next, 12, 2);
		pop(&old, 10, 0);
		CHECK_EQ(peal_link_peek(&old.c, &m), 0);
		peal_link_release_dead(&old.c, PEAL_REASON_HANDLER);
		CHECK_EQ(peal_link_pop(&old.c, to, 48, &m), 0);
		CHECK_EQ(m.kind, PEAL_KIND_SEAL);
		CHECK_EQ(peal_link_pop(&old.c, to, 48, &m), 0);
		CHECK_EQ(m.kind, PEAL_KIND_SEAL);
		peal_link_release_mark(&old.c, m.kind);
		CHECK_EQ(peal_link_peek(&old.c, &m), PEAL_EAGAIN);
		peal_link_consumer_init(&next.c, &next.views[1]);
		pop(&next, 12, 2);
		CHECK_EQ(old.counts->accepted, 4);
		CHECK_EQ(old.counts->accepted_bytes, 10 + 11 + 5 + 12);
		CHECK_EQ(old.counts->delivered, 2);
		CHECK_EQ(old.counts->seals, 1);
		CHECK_EQ(old.counts->switches, 1);
		link_pair_conserved(&next);
		link_pair_close(&next);
		link_pair_close(&old);
	}
}

PEAL_TEST(credit_returns_by_quarters_and_when_idle)
{
	EACH_POLICY(policy)
	{
		struct link_pair l;
		uint64_t i;

		link_pair_open(&l, spec(16, policy, 48, 0));
		for (i = 0; i < 16; i++)
			push(&l, 8, i);
		for (i = 0; i < 3; i++)
			pop(&l, 8, i);
		CHECK_EQ(l.credit->slots, 0);
		CHECK_EQ(peal_link_free_slots(&l.p, 1), 0);
		pop(&l, 8, 3);
		CHECK_EQ(l.credit->slots, 4);
		CHECK_EQ(peal_link_free_slots(&l.p, 1), 4);
		pop(&l, 8, 4);
		CHECK_EQ(l.credit->slots, 4);
		peal_link_flush_credit(&l.c);
		CHECK_EQ(l.credit->slots, 5);
		CHECK_EQ(peal_link_free_slots(&l.p, 5), 5);
		for (i = 5; i < 16; i++)
			pop(&l, 8, i);
		link_pair_conserved(&l);
		link_pair_close(&l);
	}
}

PEAL_TEST(capacity_one_and_two_never_stall)
{
	EACH_POLICY(policy)
	{
		uint32_t capacity;

		for (capacity = 1; capacity <= 2; capacity++) {
			struct link_pair l;
			uint64_t i, k;

			link_pair_open(&l, spec(capacity, policy, 700, 0));
			for (i = 0; i < 300; i += capacity) {
				for (k = 0; k < capacity; k++)
					push(&l, i * 2 + k, i + k);
				CHECK_EQ(peal_link_push(&l.p, none, "", 0),
					 PEAL_EAGAIN);
				for (k = 0; k < capacity; k++)
					pop(&l, i * 2 + k, i + k);
			}
			link_pair_conserved(&l);
			link_pair_close(&l);
		}
	}
}

/* Laps wrap at 16 bits, numbers at 64. No message is seen early or twice. */
PEAL_TEST(number_wrap_loses_and_duplicates_nothing)
{
	EACH_POLICY(policy)
	{
		uint32_t capacity;

		for (capacity = 1; capacity <= 8; capacity *= 2) {
			const uint64_t starts[] = { 16384ULL * capacity - 9,
						    65535ULL * capacity - 3,
						    65536ULL * capacity,
						    65537ULL * capacity - 1,
						    0ULL - capacity - 3,
						    0ULL - 1 };
			size_t s;

			for (s = 0; s < 6; s++) {
				struct peal_message m;
				struct link_pair l;
				uint64_t i, k;

				link_pair_open(&l,
					       spec(capacity, policy, 48, 0));
				link_pair_start_at(&l, starts[s], 0);
				for (i = 0; i < 40; i += k) {
					for (k = 0; k < capacity; k++)
						push(&l, (i + k) % 49, i + k);
					CHECK_EQ(peal_link_fits(&l.p, 1), 0);
					for (k = 0; k < capacity; k++)
						pop(&l, (i + k) % 49, i + k);
					CHECK_EQ(peal_link_peek(&l.c, &m),
						 PEAL_EAGAIN);
				}
				link_pair_conserved(&l);
				link_pair_close(&l);
			}
		}
	}
}

PEAL_TEST(slab_messages_wrap_with_gap_and_stay_contiguous)
{
	EACH_POLICY(policy)
	{
		struct peal_message m;
		struct link_pair l;
		uint64_t i, before, gaps = 0;

		link_pair_open(&l, spec(8, policy, 1000, 2 * 1008 + 160));
		for (i = 0; i < 500; i++) {
			uint64_t bytes = 600 + i * 37 % 401;

			before = l.p.slab_tail;
			push(&l, bytes, i);
			gaps += l.p.slab_tail - before !=
				PEAL_SLAB_ROUND(bytes);
			CHECK_EQ(peal_link_peek(&l.c, &m), 0);
			CHECK((const uint8_t *)m.data >= l.c.slab);
			CHECK((const uint8_t *)m.data + bytes <=
			      l.c.slab + l.spec.slab_bytes);
			pop(&l, bytes, i);
			CHECK_EQ(l.c.slab_head, l.p.slab_tail);
		}
		CHECK(gaps > 50);
		link_pair_conserved(&l);
		link_pair_close(&l);
	}
}

PEAL_TEST(full_slab_returns_eagain_and_writes_nothing)
{
	EACH_POLICY(policy)
	{
		static const uint8_t data[1000] = { 1 };
		struct link_pair l;
		struct image before;
		void *to;

		link_pair_open(&l, spec(8, policy, 1000, 3 * 1008));
		push(&l, 1000, 0);
		push(&l, 1000, 1);
		push(&l, 900, 2);
		image_take(&before, &l);
		CHECK_EQ(peal_link_push(&l.p, none, data, 1000), PEAL_EAGAIN);
		CHECK_EQ(peal_link_push(&l.p, none, data, 100), PEAL_EAGAIN);
		CHECK_EQ(peal_link_reserve(&l.p, 1000, &to), PEAL_EAGAIN);
		image_equal(&before, &l);
		CHECK_EQ(l.counts->full, 1);
		CHECK_EQ(peal_link_fits(&l.p, 1), 0);
		push(&l, 8, 3); /* a slot is free */
		pop(&l, 1000, 0);
		push(&l, 1000, 4);
		pop(&l, 1000, 1);
		pop(&l, 900, 2);
		pop(&l, 8, 3);
		pop(&l, 1000, 4);
		link_pair_conserved(&l);
		link_pair_close(&l);
	}
}

PEAL_TEST(messages_of_48_mib_arrive_whole)
{
	const uint64_t most = 48ULL << 20;

	EACH_POLICY(policy)
	{
		struct link_pair l;
		uint64_t i;

		link_pair_open(&l, spec(1, policy, most, 0));
		CHECK_EQ(l.spec.slab_bytes, 2 * most);
		for (i = 0; i < 3; i++) {
			struct peal_header h = { (uint32_t)i, 0, 0 };
			uint64_t bytes = most - i * 1001;
			struct peal_message m;
			void *to = NULL;

			CHECK_EQ(peal_link_reserve(&l.p, bytes, &to), 0);
			memset(to, (int)i + 1, bytes);
			peal_link_commit(&l.p, h, bytes);
			CHECK_EQ(peal_link_peek(&l.c, &m), 0);
			CHECK_EQ(m.length, bytes);
			CHECK(m.data == to);
			CHECK_EQ(((const uint8_t *)m.data)[bytes - 1], i + 1);
			peal_link_release(&l.c, &m);
		}
		link_pair_conserved(&l);
		link_pair_close(&l);
	}
}

static void fits_by_chance(uint32_t policy, uint32_t n, uint64_t *refused)
{
	unsigned long long seed = policy * 100 + n;
	uint64_t round, i, lengths[8], next = 0, first = 0;
	struct link_pair l;

	link_pair_open(&l, (struct peali_ring_spec){ 8, 64, policy, 500,
						     (n + 1) * 512 });
	CHECK_OK(peali_ring_spec_emits(&l.spec, n, "test"));
	for (round = 0; round < 2000; round++) {
		if (peal_link_fits(&l.p, n)) {
			for (i = 0; i < n; i++, next++) {
				lengths[next % 8] = test_random(&seed) % 501;
				push(&l, lengths[next % 8], next);
			}
		} else {
			++*refused;
		}
		for (i = test_random(&seed) % 9; first < next && i; i--) {
			pop(&l, lengths[first % 8], first);
			first++;
		}
		peal_link_flush_credit(&l.c);
		if (first == next)
			CHECK(peal_link_fits(&l.p, n));
	}
	link_pair_close(&l);
}

/*
 * If peal_link_fits(n) is 1, any n messages fit. An empty link always fits n.
 */
PEAL_TEST(fits_guarantees_n_messages_at_any_slab_offset)
{
	EACH_POLICY(policy)
	{
		uint64_t refused = 0;
		uint32_t n;

		for (n = 1; n <= 4; n++)
			fits_by_chance(policy, n, &refused);
		CHECK(refused > 100);
	}
}

/*
 * A long message writes the slot's last atom on lap 1. Later short messages do
 * not write this atom. On lap 65537 its old tag is the expected tag, before the
 * producer writes the slot. The second case is an atom that was never written,
 * on lap 65536.
 */
PEAL_TEST(stale_atom_is_never_read_as_current)
{
	EACH_POLICY(policy)
	{
		struct peal_message m;
		struct link_pair l;
		uint32_t each, atoms, first;
		uint64_t i;

		if (policy == PEAL_POLICY_SEQUENCE)
			continue;
		each = peali_atom_payload(policy);
		atoms = (8 + 40 + each - 1) / each;
		for (first = 0; first < 2; first++) {
			const uint64_t lap = first ? 65537 : 65536;
			uint8_t content[64] = { 0 };

			link_pair_open(&l, spec(1, policy, 40, 0));
			for (i = 0; i < lap - 1; i++) {
				uint64_t bytes = first && i == 0 ? 40 : 1;

				push(&l, bytes, i);
				pop(&l, bytes, i);
			}
			peali_atom_write(policy, l.p.slots, 0,
					 peali_tag32((uint32_t)lap,
						     PEAL_KIND_DATA |
							     PEAL_TAG_MANY,
						     atoms - 1),
					 content, each);
			CHECK_EQ(peal_link_peek(&l.c, &m), PEAL_EAGAIN);
			push(&l, 40, i);
			pop(&l, 40, i);
			link_pair_conserved(&l);
			link_pair_close(&l);
		}
	}
}

PEAL_TEST_MAIN(RUN(messages_of_every_size_arrive_whole_and_in_order);
	       RUN(empty_link_returns_eagain);
	       RUN(push_to_full_link_returns_eagain_and_writes_nothing);
	       RUN(push_bulk_sends_all_or_nothing);
	       RUN(pop_burst_stops_before_marks_and_long_messages);
	       RUN(commit_sends_the_reserved_bytes);
	       RUN(peek_keeps_message_until_release);
	       RUN(oversized_message_is_refused_without_write);
	       RUN(end_closes_both_ends_after_last_message);
	       RUN(seal_passes_counts_to_the_next_ring);
	       RUN(credit_returns_by_quarters_and_when_idle);
	       RUN(capacity_one_and_two_never_stall);
	       RUN(number_wrap_loses_and_duplicates_nothing);
	       RUN(slab_messages_wrap_with_gap_and_stay_contiguous);
	       RUN(full_slab_returns_eagain_and_writes_nothing);
	       RUN(messages_of_48_mib_arrive_whole);
	       RUN(fits_guarantees_n_messages_at_any_slab_offset);
	       RUN(stale_atom_is_never_read_as_current);)
