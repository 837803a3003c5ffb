/* SPDX-License-Identifier: Apache-2.0 */
#include "identity.h"
#include "link_pair.h"
#include "yield.h"

/*
 * Shows that a receiver with a mirror gets the same messages as a receiver
 * without one. The test drives the receiver as a worker's loop does. The leader
 * reads the head slot, and all lanes copy the next slots to the mirror.
 */

#define MIRRORS (LINK_POLICIES - 1) /* all but sequence */
#define MESSAGES IDENTITY_COUNT(200000)
#define MAX_WAIT 2000000

static const uint32_t *mirror_policies = link_policies + 1;

struct fixture {
	struct link_pair l;
	uint8_t *stage;
	uint32_t lanes;
	uint64_t fetches, fetched;
};

static void open_at(struct fixture *f, struct peali_ring_spec spec,
		    uint32_t lanes, uint64_t number)
{
	memset(f, 0, sizeof(*f));
	link_pair_open(&f->l, spec);
	f->lanes = lanes;
	f->stage = (uint8_t *)link_memory((f->l.spec.capacity + 1ull) *
					  f->l.spec.slot_bytes);
	f->l.views[1].stage = (uintptr_t)f->stage;
	f->l.views[1].mirror = 1;
	link_pair_init(&f->l);
	if (!number)
		return;
	link_pair_start_at(&f->l, number, 0);
	/* the mirror after the receiver took the last message */
	memcpy(f->stage + f->l.spec.slot_bytes, f->l.c.source,
	       (size_t)f->l.spec.capacity * f->l.spec.slot_bytes);
}

static void close_pair(struct fixture *f)
{
	link_pair_conserved(&f->l);
	link_pair_close(&f->l);
	free(f->stage);
}

static void fetch(struct fixture *f)
{
	uint32_t lane, slots = 0;

	for (lane = 0; lane < f->lanes; lane++)
		slots = peali_mirror_fetch(&f->l.c, lane, f->lanes);
	peali_mirror_fetched(&f->l.c, slots);
	f->fetches++;
	f->fetched += slots;
}

/* Looks for a message as a worker's loop does: with a fetch if necessary. */
static int peek(struct fixture *f, struct peal_message *m)
{
	int result = peal_link_peek(&f->l.c, m);

	if (result == PEAL_EAGAIN && f->l.c.more) {
		fetch(f);
		result = peal_link_peek(&f->l.c, m);
	}
	return result;
}

static uint64_t bytes_of(const struct fixture *f, uint64_t i)
{
	return i * 7 % (f->l.spec.message_bytes + 1);
}

static int send(struct fixture *f, uint64_t i)
{
	struct peal_header h = { 0, (uint16_t)i, 0 };
	uint8_t body[4096];

	link_fill(body, bytes_of(f, i), i);
	return peal_link_push(&f->l.p, h, body, bytes_of(f, i));
}

static void check(const struct fixture *f, const struct peal_message *m,
		  uint64_t i)
{
	CHECK_EQ(m->header.type, (uint16_t)i);
	CHECK_EQ(m->length, bytes_of(f, i));
	CHECK(link_filled(m->data, m->length, i));
}

static void take(struct fixture *f, uint64_t i)
{
	struct peal_message m;

	CHECK_OK(peek(f, &m));
	check(f, &m, i);
	peal_link_release(&f->l.c, &m);
}

static struct peali_ring_spec shape(uint32_t policy, uint32_t capacity,
				    uint32_t slot, uint64_t message)
{
	struct peali_ring_spec s = { .policy = policy,
				     .capacity = capacity,
				     .slot_bytes = slot,
				     .message_bytes = message };

	return s;
}

/* Sends and takes bursts of all lengths up to a full ring, over laps. */
static void bursts(struct peali_ring_spec spec, uint32_t lanes, uint64_t start)
{
	struct fixture f;
	struct peal_message m;
	uint64_t sent = 0, taken = 0, n;

	open_at(&f, spec, lanes, start);
	while (sent < 6ull * spec.capacity + 50) {
		for (n = 0; n <= sent % spec.capacity; n++)
			if (!send(&f, sent))
				sent++;
		for (n = 0; n < 1 + sent % 3 * spec.capacity && taken < sent;
		     n++)
			take(&f, taken++);
		if (taken == sent)
			peal_link_flush_credit(&f.l.c);
	}
	while (taken < sent)
		take(&f, taken++);
	CHECK_EQ(peek(&f, &m), PEAL_EAGAIN);
	close_pair(&f);
}

PEAL_TEST(bursts_of_any_length_arrive_whole_in_order)
{
	static const uint32_t lanes[] = { 1, 3, 32 };
	static const uint64_t starts[] = { 0, 0xffffull << 4,
					   0x4000ull * 16 - 5 };
	size_t p, l, s;

	for (p = 0; p < MIRRORS; p++)
		for (l = 0; l < 3; l++)
			for (s = 0; s < 3; s++) {
				bursts(shape(mirror_policies[p], 16, 64, 20),
				       lanes[l], starts[s]);
				bursts(shape(mirror_policies[p], 16, 512, 200),
				       lanes[l], starts[s]);
			}
	for (p = 0; p < MIRRORS; p++) {
		bursts(shape(mirror_policies[p], 1, 64, 20), 32, 0);
		bursts(shape(mirror_policies[p], 2, 32, 8), 32, 0);
		bursts(shape(mirror_policies[p], 8, 64, 3000), 32, 0);
	}
}

PEAL_TEST(fetched_slots_are_not_read_again)
{
	struct fixture f;
	uint64_t i;

	open_at(&f, shape(PEAL_POLICY_ATOM8, 64, 64, 20), 32, 0);
	for (i = 0; i < 40; i++)
		CHECK_OK(send(&f, i));
	take(&f, 0); /* read by the leader; more slots follow */
	CHECK_EQ(f.fetches, 0);
	take(&f, 1);
	CHECK_EQ(f.fetches, 1);
	CHECK_EQ(f.fetched, 16); /* 32 lanes, 4 atoms each, 8 in a slot */
	memset((void *)(uintptr_t)(f.l.c.source + 2 * 64), 0xa5, 15 * 64);
	for (i = 2; i < 17; i++)
		take(&f, i);
	CHECK_EQ(f.fetches, 1);
	for (; i < 40; i++)
		take(&f, i);
	CHECK_EQ(f.fetches, 3);
	close_pair(&f);
}

PEAL_TEST(single_message_needs_no_fetch)
{
	struct peal_message m;
	struct fixture f;
	uint64_t i;

	open_at(&f, shape(PEAL_POLICY_ATOM8, 4, 64, 20), 32, 0);
	for (i = 0; i < 20; i++) {
		CHECK_OK(send(&f, i));
		take(&f, i);
		CHECK_EQ(peek(&f, &m), PEAL_EAGAIN);
	}
	CHECK_EQ(f.fetches, 0);
	close_pair(&f);
}

/* Writes the atoms of message i that lane `lane` of two lanes writes. */
static void pack_half(struct fixture *f, uint64_t i, uint32_t lane)
{
	uint32_t length = (uint32_t)(8 + bytes_of(f, i));
	uint8_t content[4096] = { 0 };
	struct peal_header h = { 0, (uint16_t)i, 0 };

	peal_header_store(content, h);
	link_fill(content + 8, bytes_of(f, i), i);
	peal_slot_pack(f->l.spec.policy,
		       f->l.p.slots + i % 8 * f->l.spec.slot_bytes, 1,
		       PEAL_KIND_DATA, content, length, lane, 2);
}

PEAL_TEST(incomplete_slot_atoms_are_fetched_again)
{
	struct peal_message m;
	struct fixture f;
	uint64_t i;

	for (i = 0; i < 4; i++) { /* odd i: one more look before the atoms */
		open_at(&f, shape(PEAL_POLICY_ATOM8, 8, 256, 100), 32, 0);
		pack_half(&f, 0, 0);
		pack_half(&f, 1, 0);
		CHECK_EQ(peek(&f, &m), PEAL_EAGAIN);
		pack_half(&f, 0, 1);
		CHECK_OK(peek(&f, &m));
		check(&f, &m, 0);
		peal_link_release(&f.l.c, &m);
		CHECK_EQ(peek(&f, &m), PEAL_EAGAIN);
		if (i & 1)
			CHECK_EQ(peek(&f, &m), PEAL_EAGAIN);
		pack_half(&f, 1, 1);
		CHECK_OK(peek(&f, &m));
		check(&f, &m, 1);
		peal_link_release(&f.l.c, &m);
		f.l.p.tail = f.l.counts->accepted = 2;
		close_pair(&f);
	}
}

PEAL_TEST(mark_arrives_through_prefetched_slots)
{
	struct peal_message m;
	struct fixture f;
	uint64_t i;

	open_at(&f, shape(PEAL_POLICY_ATOM8, 8, 64, 20), 32, 0);
	for (i = 0; i < 5; i++)
		CHECK_OK(send(&f, i));
	CHECK_OK(peal_link_push_mark(&f.l.p, PEAL_KIND_END));
	for (i = 0; i < 5; i++)
		take(&f, i);
	CHECK_OK(peek(&f, &m));
	CHECK_EQ(m.kind, PEAL_KIND_END);
	peal_link_release_mark(&f.l.c, m.kind);
	CHECK_EQ(peek(&f, &m), PEAL_EEND);
	close_pair(&f);
}

PEAL_TEST(random_tags_yield_no_oversized_message)
{
	unsigned long long random = 77;
	struct peal_message m;
	struct fixture f;
	uint64_t round, i;

	for (round = 0; round < 3000; round++) {
		open_at(&f, shape(PEAL_POLICY_ATOM8, 4, 64, 20), 32, 0);
		for (i = 0; i < 4 * 64 / 8; i++)
			((uint64_t *)(void *)f.l.p.slots)[i] =
				(uint64_t)(1 << 8 | (test_random(&random) & 255))
					<< 40 |
				(test_random(&random) & 0xff00000000);
		for (i = 0; i < 8; i++) {
			int result = peek(&f, &m);

			if (result)
				break;
			CHECK(m.length <= 20);
			peal_link_release_dead(&f.l.c, PEAL_REASON_PROTOCOL);
		}
		f.l.p.tail = f.l.c.head;
		f.l.counts->accepted = f.l.c.head;
		close_pair(&f);
	}
}

/* ---- two threads --------------------------------------------------------- */

static void *produce(void *argument)
{
	struct fixture *f = (struct fixture *)argument;
	uint64_t i = 0;

	while (i < MESSAGES)
		if (!send(f, i))
			i++;
		else
			test_yield();
	return NULL;
}

PEAL_TEST(prefetch_follows_a_concurrent_sender)
{
	struct peal_message m;
	pthread_t thread;
	struct fixture f;
	uint64_t i = 0, idle = 0;
	size_t p;

	for (p = 0; p < MIRRORS; p++) {
		open_at(&f, shape(mirror_policies[p], 64, 64, 20), 32, 0);
		CHECK(!pthread_create(&thread, NULL, produce, &f));
		for (i = idle = 0; i < MESSAGES && idle < MAX_WAIT; idle++) {
			if (peek(&f, &m)) {
				peal_link_flush_credit(&f.l.c);
				test_yield();
				continue;
			}
			check(&f, &m, i++);
			peal_link_release(&f.l.c, &m);
			idle = 0;
		}
		CHECK_EQ(i, MESSAGES);
		pthread_join(thread, NULL);
		printf("    %llu messages, %llu fetches of %llu slots\n",
		       (unsigned long long)MESSAGES,
		       (unsigned long long)f.fetches,
		       (unsigned long long)f.fetched);
		close_pair(&f);
	}
}

PEAL_TEST_MAIN(RUN(bursts_of_any_length_arrive_whole_in_order);
	       RUN(fetched_slots_are_not_read_again);
	       RUN(single_message_needs_no_fetch);
	       RUN(incomplete_slot_atoms_are_fetched_again);
	       RUN(mark_arrives_through_prefetched_slots);
	       RUN(random_tags_yield_no_oversized_message);
	       RUN(prefetch_follows_a_concurrent_sender);)
