/* SPDX-License-Identifier: Apache-2.0 */
/* labels: stress quick */
#include <peal/device/mailbox.h>

#include "link_pair.h"
#include "queues/mailbox.h"
#include "stress.h"

/*
 * Shows that a mailbox conserves the messages of four producers, in order per
 * producer. It never holds more messages than slots, and every producer makes
 * progress.
 */

#define SEED 8001ULL
#define PRODUCERS 4
#define EACH IDENTITY_COUNT(16000)

struct box {
	struct peal_mailbox *m;
	struct producer {
		PEAL_ALIGNED(128) struct peal_mailbox_lease lease;
		unsigned long long random;
		uint64_t admitted; /* puts that remain of the last admission */
		uint64_t returns;
		/* messages of an incomplete bulk */
		struct identity_message held[PEALI_MAILBOX_LEASE_MAX];
		uint64_t n_held, n_wanted;
	} producers[PRODUCERS];
	uint32_t tells; /* most puts of one admission */
	uint64_t taken;
	int hoard; /* 1: producers keep their leases when they rest */
	int bulk; /* 1: producers put bulks of up to `tells` messages */
};

static void box_make(struct box *b, struct peali_mailbox_spec spec)
{
	uint32_t i;

	memset(b, 0, sizeof(*b));
	CHECK_OK(peali_mailbox_spec_complete(&spec, 14, PEAL_POLICY_SEQUENCE,
					     "test"));
	b->m = (struct peal_mailbox *)link_memory(peali_mailbox_bytes(&spec));
	peali_mailbox_header(b->m, &spec);
	b->tells = spec.tells;
	for (i = 0; i < PRODUCERS; i++)
		b->producers[i].random = SEED + i;
}

static void box_open(struct box *b, uint32_t policy, uint32_t slots,
		     uint32_t tells, uint32_t lease)
{
	struct peali_mailbox_spec spec = { slots, 16,	 PRODUCERS, tells,
					   0,	  lease, policy };

	box_make(b, spec);
}

/* Sets the mailbox to the state after `number` messages. */
static void box_start_at(struct box *b, uint64_t number)
{
	uint64_t capacity = 1ULL << b->m->capacity_log2, k;
	static const uint8_t content[8];

	for (k = 1; k <= capacity; k++) {
		uint8_t *slot = peali_mailbox_slot(b->m, number - k);
		uint32_t lap = peali_mailbox_lap(b->m, number - k);

		if (b->m->policy == PEAL_POLICY_SEQUENCE) {
			peal_slot_publish(slot, lap, PEAL_KIND_DATA, 8);
			continue;
		}
		peal_slot_refresh(b->m->policy, slot, b->m->slot_bytes, lap, 8,
				  0, 1);
		peal_slot_pack(b->m->policy, slot, lap, PEAL_KIND_DATA, content,
			       8, 0, 1);
	}
	b->m->leased = b->m->ticket = b->m->head = b->m->taken = number;
}

#define HEADER_OF_BULK 4 /* flags: several messages share the header */

/*
 * Collects messages until the bulk is complete, then puts it. Returns 0 if the
 * mailbox is full.
 */
static int box_put_bulk(struct box *b, struct producer *p, uint32_t producer,
			const struct identity_message *m)
{
	struct peal_header h = { producer, 0, HEADER_OF_BULK };
	int result;

	if (!p->n_held)
		p->n_wanted = 1 + test_random(&p->random) % b->tells;
	p->held[p->n_held] = *m;
	if (p->n_held + 1 < p->n_wanted && m->sequence + 1 < EACH) {
		p->n_held++;
		return 1;
	}
	result = peal_mailbox_put_bulk(b->m, &p->lease, h, p->held, sizeof(*m),
				       p->n_held + 1);
	if (result == PEAL_EAGAIN)
		return 0;
	CHECK_EQ(result, 0);
	p->n_held = 0;
	return 1;
}

static int box_put(void *queue, uint32_t producer,
		   const struct identity_message *m)
{
	struct box *b = (struct box *)queue;
	struct producer *p = &b->producers[producer];
	struct peal_header h = { producer, (uint16_t)m->sequence, 3 };

	stress_pause(&p->random);
	if (b->bulk)
		return box_put_bulk(b, p, producer, m);
	/* as for a handler: one admission for all its puts */
	if (!p->admitted) {
		uint64_t n = 1 + test_random(&p->random) % b->tells;

		if (!peal_mailbox_admit(b->m, &p->lease, n))
			return 0;
		p->admitted = n;
	}
	p->admitted--;
	/* after an admission a put never fails */
	CHECK_EQ(peal_mailbox_put(b->m, &p->lease, h, m, sizeof(*m)), 0);
	return 1;
}

static void box_rest(void *queue, uint32_t producer)
{
	struct box *b = (struct box *)queue;
	struct producer *p = &b->producers[producer];

	/* some producers keep their request, some return the lease */
	if (b->hoard || p->admitted || test_random(&p->random) % 4)
		return;
	p->returns += p->lease.granted;
	peal_mailbox_lease_release(b->m, &p->lease);
}

static int box_take(void *queue, struct identity_message *m)
{
	struct box *b = (struct box *)queue;
	struct peal_slot_view view;
	struct peal_header h;

	if (!peal_mailbox_peek(b->m, &view)) {
		peal_mailbox_flush(b->m); /* as an idle worker does */
		return 0;
	}
	CHECK_EQ(view.kind, PEAL_KIND_DATA);
	CHECK_EQ(view.length, sizeof(h) + sizeof(*m));
	memcpy(&h, view.content, sizeof(h));
	memcpy(m, view.content + sizeof(h), sizeof(*m));
	CHECK_EQ(h.actor, m->producer);
	if (h.flags != HEADER_OF_BULK)
		CHECK_EQ(h.type, (uint16_t)m->sequence);
	stress_pause_here();
	peal_mailbox_release(b->m);
	b->taken++;
	return 1;
}

/* Checks that the mailbox holds at most its capacity. */
static void box_watch(void *queue)
{
	struct box *b = (struct box *)queue;
	uint64_t tickets = peal_load_acquire_dev(&b->m->ticket);
	uint64_t head = peal_load_relaxed_dev(&b->m->head);

	/* the consumer calls this, so `head` does not move */
	CHECK(tickets - head <= 1ULL << b->m->capacity_log2);
}

static const struct identity_queue mailbox = { NULL, box_put, box_take,
					       box_rest, box_watch };

static void run(struct box *b, uint64_t round, const char *what)
{
	struct identity_queue q = mailbox;
	uint64_t start = b->m->ticket, granted = 0, asked = 0;
	struct identity_result r;
	int i;

	q.queue = b;
	r = identity_run(&q, PRODUCERS, EACH, 20000, SEED + 10000 * round);
	if (!r.sound)
		identity_print(what, &r);
	CHECK(r.sound);
	CHECK_EQ(r.unfinished, 0);
	CHECK_EQ(r.received, PRODUCERS * EACH);
	/* the mailbox's own counters */
	CHECK_EQ(b->m->ticket - start, PRODUCERS * EACH);
	CHECK_EQ(b->m->taken - start, PRODUCERS * EACH);
	peal_mailbox_flush(b->m);
	CHECK_EQ(b->m->head, b->m->taken);
	for (i = 0; i < PRODUCERS; i++) {
		granted += b->producers[i].lease.granted;
		asked += b->producers[i].lease.asked;
	}
	CHECK_EQ(b->m->leased - b->m->returned - b->m->head, granted + asked);
	stress_verified += r.received;
	free(b->m);
}

PEAL_TEST(four_producers_put_exactly_once_in_order)
{
	static const struct {
		uint32_t slots, tells, lease;
	} cases[] = {
		{ 4, 1, 1 },  { 8, 1, 2 },  { 16, 2, 3 },
		{ 32, 4, 0 }, { 32, 1, 8 }, { 256, 8, 32 },
	};
	struct stress_clock clock = stress_begin(1);
	struct box b;
	uint64_t round;
	size_t i;

	while (stress_next(&clock, &round))
		EACH_POLICY(policy)
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		box_open(&b, policy, cases[i].slots, cases[i].tells,
			 cases[i].lease);
		run(&b, round, "leases returned at random");
	}
}

PEAL_TEST(four_producers_put_bulks_exactly_once_in_order)
{
	static const struct {
		uint32_t slots, tells, lease;
	} cases[] = { { 8, 1, 2 }, { 16, 2, 3 }, { 64, 8, 9 }, { 256, 32, 0 } };
	struct stress_clock clock = stress_begin(1);
	struct box b;
	uint64_t round;
	size_t i;

	while (stress_next(&clock, &round))
		EACH_POLICY(policy)
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		box_open(&b, policy, cases[i].slots, cases[i].tells,
			 cases[i].lease);
		b.bulk = 1;
		if (i == 1)
			box_start_at(&b, 65536ULL * 16 - 1001);
		run(&b, round, "in bulks");
	}
}

/* The mailbox has the fewest slots allowed. No producer returns any slot. */
PEAL_TEST(hoarded_leases_starve_no_producer)
{
	static const struct {
		uint32_t slots, tells, lease;
	} cases[] = { { 4, 1, 1 }, { 16, 1, 4 }, { 64, 4, 13 }, { 64, 8, 9 } };
	struct stress_clock clock = stress_begin(1);
	struct box b;
	uint64_t round;
	size_t i;

	while (stress_next(&clock, &round))
		EACH_POLICY(policy)
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_EQ(cases[i].slots,
			 PRODUCERS * (cases[i].lease + cases[i].tells - 1));
		box_open(&b, policy, cases[i].slots, cases[i].tells,
			 cases[i].lease);
		b.hoard = 1;
		run(&b, round, "leases hoarded");
	}
}

PEAL_TEST(number_wrap_loses_and_duplicates_nothing)
{
	/* the lap wraps, the numbers wrap, a lap of refreshes */
	static const uint64_t starts[] = { 65536ULL * 16 - 1000, 0ULL - 1000,
					   PEAL_SLOT_REFRESH_LAPS * 16ULL -
						   1000 };
	struct stress_clock clock = stress_begin(1);
	struct box b;
	uint64_t round;
	size_t i;

	while (stress_next(&clock, &round))
		EACH_POLICY(policy)
	for (i = 0; i < 3; i++) {
		box_open(&b, policy, 16, 1, 0);
		box_start_at(&b, starts[i]);
		run(&b, round, "near the wrap");
	}
}

/* ---- one thread ---------------------------------------------------------- */

static int put(struct box *b, uint32_t producer, uint64_t sequence)
{
	struct identity_message m = identity_make(producer, sequence);
	struct peal_header h = { producer, (uint16_t)sequence, 3 };

	return peal_mailbox_put(b->m, &b->producers[producer].lease, h, &m,
				sizeof(m));
}

static void fill_and_drain(uint32_t policy)
{
	struct identity_message m;
	uint8_t image[16 * 48];
	size_t bytes;
	struct box b;
	uint64_t i;

	box_open(&b, policy, 16, 1, 4);
	bytes = (size_t)16 * b.m->slot_bytes;
	CHECK(bytes <= sizeof(image));
	for (i = 0; i < 16; i++)
		CHECK_EQ(put(&b, (uint32_t)(i / 4), i % 4), 0);
	memcpy(image, (uint8_t *)b.m + b.m->slots_offset, bytes);
	for (i = 0; i < 8; i++)
		CHECK_EQ(put(&b, (uint32_t)(i / 2), 4), PEAL_EAGAIN);
	CHECK(!memcmp(image, (uint8_t *)b.m + b.m->slots_offset, bytes));
	CHECK_EQ(b.m->ticket, 16);
	/* a return does not include requested slots that are not granted */
	for (i = 0; i < 4; i++)
		peal_mailbox_lease_release(b.m, &b.producers[i].lease);
	CHECK_EQ(b.m->returned, 0);
	for (i = 0; i < 4; i++) {
		CHECK(box_take(&b, &m));
		CHECK_EQ(m.sequence, i);
	}
	/* leases are granted in the order of their requests */
	CHECK_EQ(put(&b, 3, 4), PEAL_EAGAIN);
	CHECK_EQ(put(&b, 0, 4), 0);
	for (i = 0; i < 13; i++)
		CHECK(box_take(&b, &m));
	CHECK(!box_take(&b, &m));
	CHECK_EQ(m.producer, 0);
	CHECK_EQ(m.sequence, 4);
	free(b.m);
}

PEAL_TEST(full_mailbox_returns_eagain_and_writes_nothing)
{
	EACH_POLICY(policy)
	fill_and_drain(policy);
}

/*
 * Puts and takes a message of `bytes` bytes. It begins `off` bytes after an
 * aligned address.
 */
static void carry(struct box *b, uint32_t bytes, uint32_t off)
{
	PEAL_ALIGNED(8) uint8_t data[112];
	struct peal_header h = { 0x01020304u + bytes, (uint16_t)(7 * off), 9 };
	struct peal_slot_view view;
	struct peal_header got;

	CHECK(!peal_mailbox_ready(b->m));
	CHECK(!peal_mailbox_peek(b->m, &view));
	link_fill(data + off, bytes, bytes);
	CHECK_EQ(peal_mailbox_put(b->m, &b->producers[0].lease, h, data + off,
				  bytes),
		 0);
	CHECK(peal_mailbox_ready(b->m));
	CHECK(peal_mailbox_peek(b->m, &view));
	CHECK_EQ(view.kind, PEAL_KIND_DATA);
	CHECK_EQ(view.length, sizeof(h) + bytes);
	memcpy(&got, view.content, sizeof(got));
	CHECK_EQ(got.actor, h.actor);
	CHECK_EQ(got.type, h.type);
	CHECK_EQ(got.flags, h.flags);
	CHECK(!memcmp(view.content + sizeof(h), data + off, bytes));
	peal_mailbox_release(b->m);
}

PEAL_TEST(messages_of_every_size_and_alignment_arrive_whole)
{
	struct box b;
	uint32_t bytes, off;

	EACH_POLICY(policy)
	{
		struct peali_mailbox_spec spec = { 4, 100, 1, 1, 0, 1, policy };

		box_make(&b, spec);
		for (bytes = 0; bytes <= 100; bytes++)
			for (off = 0; off < 8; off++)
				carry(&b, bytes, off);
		/* each overwrites a longer message */
		for (bytes = 101; bytes--;)
			carry(&b, bytes, bytes % 4);
		free(b.m);
	}
}

/* Otherwise an atom behind a short message could look new after 65,536 laps. */
PEAL_TEST(every_atom_is_rewritten_periodically)
{
	const uint32_t laps = PEAL_SLOT_REFRESH_LAPS;
	uint32_t lap, last, word[3];
	struct box b;

	EACH_POLICY(policy)
	{
		struct peali_mailbox_spec spec = { 1, 100, 1, 1, 0, 1, policy };

		if (policy == PEAL_POLICY_SEQUENCE)
			continue;
		box_make(&b, spec);
		for (lap = 1; lap <= laps; lap++)
			carry(&b, 0, 0);
		last = peal_slot_content_max(policy, b.m->slot_bytes) /
			       peali_atom_payload(policy) -
		       1;
		CHECK_EQ(peali_atom_read(policy, peali_mailbox_slot(b.m, 0),
					 last, word),
			 peali_tag32(laps, PEAL_KIND_EMPTY, 0));
		free(b.m);
	}
}

PEAL_TEST(head_is_published_by_quarters_and_when_idle)
{
	struct identity_message m;
	struct box b;
	uint64_t i;

	EACH_POLICY(policy)
	{
		box_open(&b, policy, 32, 1, 8);
		for (i = 0; i < 10; i++)
			CHECK_EQ(put(&b, (uint32_t)(i % 4), i / 4), 0);
		for (i = 1; i <= 10; i++) {
			CHECK(box_take(&b, &m));
			CHECK_EQ(b.m->taken, i);
			CHECK_EQ(b.m->head, i < 8 ? 0 : 8);
		}
		CHECK(!box_take(&b, &m));
		CHECK_EQ(b.m->head, 10);
		free(b.m);
	}
}

PEAL_TEST(oversized_message_is_refused)
{
	static const uint8_t data[64];
	struct peal_header h = { 0, 0, 0 };
	struct box b;

	box_open(&b, PEAL_POLICY_DEFAULT, 16, 1, 4);
	CHECK_EQ(peal_mailbox_put(b.m, &b.producers[0].lease, h, data, 17),
		 PEAL_EMSGSIZE);
	CHECK_EQ(peal_mailbox_put(b.m, &b.producers[0].lease, h, data, ~0ULL),
		 PEAL_EMSGSIZE);
	CHECK_EQ(b.m->ticket, 0);
	CHECK_EQ(b.m->leased, 0);
	CHECK_EQ(peal_mailbox_put(b.m, &b.producers[0].lease, h, data, 16), 0);
	free(b.m);
}

static void put_all_or_nothing(uint32_t policy)
{
	struct peal_header h = { 0, 0, HEADER_OF_BULK };
	struct identity_message in[8], out;
	uint8_t image[16 * 48];
	struct box b;
	uint64_t i;

	for (i = 0; i < 8; i++)
		in[i] = identity_make(0, i);
	box_open(&b, policy, 16, 1, 4);
	CHECK_EQ(peal_mailbox_put_bulk(b.m, &b.producers[0].lease, h, in, 16,
				       5),
		 PEAL_EMSGSIZE); /* more than the lease */
	CHECK_EQ(peal_mailbox_put_bulk(b.m, &b.producers[0].lease, h, in, 17,
				       1),
		 PEAL_EMSGSIZE);
	CHECK_EQ(b.m->ticket, 0);
	for (i = 0; i < 4; i++)
		CHECK_EQ(peal_mailbox_put_bulk(b.m, &b.producers[0].lease, h,
					       in, 16, 4),
			 0);
	CHECK_EQ(b.m->ticket, 16);
	memcpy(image, (uint8_t *)b.m + b.m->slots_offset,
	       (size_t)16 * b.m->slot_bytes);
	CHECK_EQ(peal_mailbox_put_bulk(b.m, &b.producers[1].lease, h, in, 16,
				       1),
		 PEAL_EAGAIN);
	CHECK(!memcmp(image, (uint8_t *)b.m + b.m->slots_offset,
		      (size_t)16 * b.m->slot_bytes));
	for (i = 0; i < 16; i++) {
		CHECK(box_take(&b, &out));
		CHECK(!memcmp(&out, &in[i % 4], sizeof(out)));
	}
	CHECK(!box_take(&b, &out));
	CHECK_EQ(peal_mailbox_put_bulk(b.m, &b.producers[0].lease, h, in, 16,
				       0),
		 0);
	CHECK(!box_take(&b, &out));
	free(b.m);
}

PEAL_TEST(put_bulk_is_all_or_nothing)
{
	EACH_POLICY(policy)
	put_all_or_nothing(policy);
}

/*
 * Returns 1 if all messages of two bulks come out. `one_ticket`: each bulk
 * takes only one ticket (negative control).
 */
static int bulks_are_whole(int one_ticket)
{
	struct peal_header h = { 0, 0, HEADER_OF_BULK };
	struct identity_message m[4];
	const uint64_t accepted[1] = { 8 };
	struct identity id;
	struct box b;
	uint64_t i, k;

	box_open(&b, PEAL_POLICY_DEFAULT, 16, 1, 4);
	identity_begin(&id, 1, 8);
	for (i = 0; i < 2; i++) {
		for (k = 0; k < 4; k++)
			m[k] = identity_make(0, 4 * i + k);
		CHECK_EQ(peal_mailbox_put_bulk(b.m, &b.producers[0].lease, h, m,
					       sizeof(*m), 4),
			 0);
		if (one_ticket)
			b.m->ticket -= 3;
	}
	while (box_take(&b, m))
		identity_tick(&id, m, 1);
	free(b.m);
	return identity_end(&id, accepted);
}

PEAL_TEST(bulk_with_one_ticket_is_caught)
{
	CHECK(bulks_are_whole(0));
	CHECK(!bulks_are_whole(1));
}

PEAL_TEST(returned_leases_admit_other_senders)
{
	struct box b;
	uint32_t i;

	box_open(&b, PEAL_POLICY_DEFAULT, 16, 1, 4);
	for (i = 0; i < 4; i++)
		CHECK_EQ(put(&b, i, 0), 0);
	for (i = 1; i < 4; i++)
		CHECK_EQ(put(&b, 0, i), 0);
	CHECK_EQ(put(&b, 0, 4), PEAL_EAGAIN); /* others hold 3 * 3 slots */
	peal_mailbox_lease_release(b.m, &b.producers[1].lease);
	CHECK_EQ(b.m->returned, 3);
	/* three of four requested slots are granted */
	for (i = 4; i < 7; i++)
		CHECK_EQ(put(&b, 0, i), 0);
	CHECK_EQ(b.producers[0].lease.asked, 1);
	CHECK_EQ(put(&b, 0, 7), PEAL_EAGAIN);
	peal_mailbox_lease_release(b.m, &b.producers[2].lease);
	CHECK_EQ(put(&b, 0, 7), 0);
	CHECK_EQ(b.m->returned, 6);
	free(b.m);
}

/*
 * Each producer keeps the other 3 slots of its lease, then requests 4 at a
 * time. Returns 1 if all producers are admitted, one after another.
 */
static int all_admitted(uint32_t slots)
{
	struct identity_message m;
	struct box b;
	uint32_t i;
	int all = 1;

	box_open(&b, PEAL_POLICY_DEFAULT, slots, 1, 4);
	for (i = 0; i < PRODUCERS; i++)
		CHECK_EQ(put(&b, i, 0), 0);
	for (i = 0; i < PRODUCERS; i++)
		CHECK(box_take(&b, &m));
	CHECK(!box_take(&b, &m));
	for (i = 0; i < PRODUCERS; i++)
		all &= peal_mailbox_admit(b.m, &b.producers[i].lease, 4);
	free(b.m);
	return all;
}

/* The options require 4 * (4 + 4 - 1) = 28 slots. */
PEAL_TEST(undersized_mailbox_starves_a_producer)
{
	CHECK(all_admitted(32));
	CHECK(!all_admitted(16));
}

/* ---- negative control: no admission ------------------------------------- */

static int unadmitted_put(void *queue, uint32_t producer,
			  const struct identity_message *m)
{
	struct box *b = (struct box *)queue;
	/* as if granted, without an admission */
	struct peal_mailbox_lease lease = { 1, 0, 0, 0 };
	struct peal_header h = { producer, (uint16_t)m->sequence, 3 };

	return peal_mailbox_put(b->m, &lease, h, m, sizeof(*m)) == 0;
}

static void lose_without_admission(uint32_t policy)
{
	struct identity_message m;
	struct identity id;
	const uint64_t accepted[1] = { 40 };
	struct box b;
	uint64_t i;

	box_open(&b, policy, 16, 1, 4);
	identity_begin(&id, 1, 40);
	for (i = 0; i < 40; i++) {
		m = identity_make(0, i);
		CHECK(unadmitted_put(&b, 0, &m));
	}
	CHECK(b.m->ticket - b.m->head > 1ULL << b.m->capacity_log2);
	while (box_take(&b, &m))
		identity_tick(&id, &m, 1);
	CHECK(!identity_end(&id, accepted));
	CHECK(id.lost);
	free(b.m);
}

PEAL_TEST(mailbox_without_admission_is_caught)
{
	EACH_POLICY(policy)
	lose_without_admission(policy);
}

PEAL_TEST_MAIN(RUN(full_mailbox_returns_eagain_and_writes_nothing);
	       RUN(messages_of_every_size_and_alignment_arrive_whole);
	       RUN(every_atom_is_rewritten_periodically);
	       RUN(head_is_published_by_quarters_and_when_idle);
	       RUN(oversized_message_is_refused);
	       RUN(put_bulk_is_all_or_nothing);
	       RUN(bulk_with_one_ticket_is_caught);
	       RUN(returned_leases_admit_other_senders);
	       RUN(undersized_mailbox_starves_a_producer);
	       RUN(mailbox_without_admission_is_caught);
	       RUN(four_producers_put_exactly_once_in_order);
	       RUN(four_producers_put_bulks_exactly_once_in_order);
	       RUN(hoarded_leases_starve_no_producer);
	       RUN(number_wrap_loses_and_duplicates_nothing);
	       stress_print_total();)
