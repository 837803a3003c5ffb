/* SPDX-License-Identifier: Apache-2.0 */
#include <peal/device/link_consumer.h>
#include <peal/device/link_producer.h>

#include "c11_model/instances.h"
#include "queues/ring.h"

/* Instances of the link. Thread 0 sends, thread 1 receives. Thread 2 reads the
 * counts or frees a ring. */

enum link_how {
	HOW_SINGLE, /* push, pop */
	HOW_BULK, /* push_bulk of two, pop_burst of two */
	HOW_RESERVE, /* fits, reserve, commit; ready, peek, release */
	HOW_WATCHED, /* as HOW_SINGLE; thread 2 reads the counts */
	HOW_SEALED, /* the last message goes over a second ring */
	HOW_LEFT /* no receiver; thread 1 frees the ring after the SEAL */
};

/* Planted faults that the checker must find. */
enum link_fault {
	FAULT_NONE,
	FAULT_TAG_FIRST, /* the tag is stored before the content */
	FAULT_NO_CREDIT, /* the sender ignores the credit */
	FAULT_CREDIT_FIRST, /* credit is given before the content is read */
	FAULT_NO_FLUSH, /* credit is given for every second message only */
	FAULT_SLOTS /* the sender assumes twice as many slots */
};

struct link_case {
	uint32_t policy, capacity, slot_bytes;
	uint64_t message_bytes;
	uint32_t n, lengths[4];
	enum link_how how;
	uint64_t number; /* messages that the link has passed before */
	uint64_t position; /* slab bytes of these messages */
	int end; /* 1: an END mark follows */
	int dead; /* 1: the second message is released as dead */
	enum link_fault fault;
};

static struct link {
	struct peal_link_view views[2][2]; /* [ring][0: sender, 1: receiver] */
	struct peal_link_counts *counts;
	struct peal_ring *rings[2];
	struct peal_link_producer *p;
	struct peal_link_consumer *c;
} l;

/* ---- setup --------------------------------------------------------------- */

static struct peali_ring_spec spec_of(const struct link_case *k)
{
	struct peali_ring_spec s;

	memset(&s, 0, sizeof(s));
	s.capacity = k->capacity;
	s.slot_bytes = k->slot_bytes;
	s.policy = k->policy;
	s.message_bytes = k->message_bytes;
	if (k->message_bytes > peal_slot_content_max(k->policy, k->slot_bytes) -
				       sizeof(struct peal_header))
		s.slab_bytes = 2 * PEAL_SLAB_ROUND(k->message_bytes);
	if (peali_ring_spec_complete(&s, 14, PEAL_POLICY_SEQUENCE, "model"))
		model_fail("the ring's options are refused");
	return s;
}

static struct peal_credit *make_ring(const struct link_case *k, int which)
{
	static const char *const names[2][3] = {
		{ "ring", "credit.slots", "credit.slab" },
		{ "ring2", "credit2.slots", "credit2.slab" },
	};
	static const char *const slots[2][4] = {
		{ "slot0", "slot1", "slot2", "slot3" },
		{ "ring2's slot0", "ring2's slot1" },
	};
	struct peali_ring_spec s = spec_of(k);
	uint64_t bytes = sizeof(struct peal_ring) + s.capacity * s.slot_bytes;
	struct peal_ring *ring = (struct peal_ring *)model_memory(
		names[which][0], s.slab_bytes ? peali_ring_bytes(&s) : bytes);
	struct peal_credit *credit = (struct peal_credit *)model_memory(
		names[which][1], sizeof(*credit));
	uint32_t i;

	peali_ring_header(ring, &s, 1);
	model_name(&credit->slots, 8, names[which][1]);
	model_name(&credit->slab, 8, names[which][2]);
	model_name((uint8_t *)ring + ring->slab_offset, s.slab_bytes, "slab");
	for (i = 0; i < k->capacity; i++)
		model_name((uint8_t *)ring + 128 + i * s.slot_bytes,
			   s.slot_bytes, slots[which][i]);
	l.rings[which] = ring;
	for (i = 0; i < 2; i++) {
		struct peal_link_view *v = &l.views[which][i];

		v->ring = (uintptr_t)ring;
		v->credit = (uintptr_t)credit;
		v->counts = (uintptr_t)l.counts;
		v->message_bytes = s.message_bytes;
		v->bell = 0;
	}
	return credit;
}

/* Sets the slots to their state after `number` messages. */
static void age_slots(const struct link_case *k)
{
	uint8_t content[512] = { 0 }, *slots = (uint8_t *)l.rings[0] + 128;
	uint32_t length = peal_slot_content_max(k->policy, k->slot_bytes);
	uint32_t log2 = l.rings[0]->capacity_log2, i;

	for (i = 1; i <= k->capacity; i++) {
		uint64_t number = k->number - i;
		uint32_t lap = (uint32_t)(number >> log2) + 1;
		uint8_t *slot =
			slots + (number & (k->capacity - 1)) * k->slot_bytes;

		if (k->policy == PEAL_POLICY_SEQUENCE)
			peal_slot_publish(slot, lap, PEAL_KIND_DATA, length);
		else
			peal_slot_pack(k->policy, slot, lap, PEAL_KIND_DATA,
				       content, length, 0, 1);
	}
}

/* Sets both ends to their state after `number` messages. */
static void age_ends(const struct link_case *k, struct peal_credit *credit)
{
	credit->slots = k->number;
	credit->slab = k->position;
	l.p->tail = l.p->credit = k->number;
	l.p->accepted_base -= k->number;
	l.p->slab_tail = l.p->slab_credit = k->position;
	peali_producer_place(l.p);
	l.c->head = k->number;
	l.c->sequence_base -= k->number;
	l.c->delivered_base -= k->number;
	l.c->slab_head = l.c->slab_next = k->position;
	peali_consumer_place(l.c);
	peali_consumer_told(l.c);
}

static void link_setup(const void *config)
{
	const struct link_case *k = (const struct link_case *)config;
	uint64_t stage = peal_slot_content_max(k->policy, k->slot_bytes);
	struct peal_credit *credit;
	uint32_t i;

	l.counts = (struct peal_link_counts *)model_memory("counts",
							   sizeof(*l.counts));
	model_name(&l.counts->accepted, 8, "counts.accepted");
	model_name(&l.counts->delivered, 8, "counts.delivered");
	model_name(&l.counts->switches, 8, "counts.switches");
	model_name(&l.counts->seals, 8, "counts.seals");
	credit = make_ring(k, 0);
	if (k->how == HOW_SEALED)
		make_ring(k, 1);
	for (i = 0; i < 2; i++)
		l.views[0][i].stage = l.views[1][i].stage =
			(uintptr_t)model_memory(i ? "consumer's stage" :
						    "producer's stage",
						(stage + 15) / 16 * 16);
	l.p = (struct peal_link_producer *)model_memory("producer",
							sizeof(*l.p));
	l.c = (struct peal_link_consumer *)model_memory("consumer",
							sizeof(*l.c));
	peal_link_producer_init(l.p, &l.views[0][0]);
	peal_link_consumer_init(l.c, &l.views[0][1]);
	if (k->number)
		age_slots(k);
	age_ends(k, credit);
	if (k->fault == FAULT_SLOTS)
		l.p->capacity_log2++;
	peali_producer_place(l.p);
}

/* ---- the sender ---------------------------------------------------------- */

static struct peal_header header_of(uint32_t i)
{
	struct peal_header header = { 7, (uint16_t)(i + 1), 0 };

	return header;
}

static int push_tag_first(const struct link_case *k, uint32_t i)
{
	if (!peal_link_free_slots(l.p, 1))
		return PEAL_EAGAIN;
	peali_link_count(l.p, 1, k->lengths[i]);
	peal_slot_publish(l.p->slot, l.p->lap, PEAL_KIND_DATA,
			  8 + k->lengths[i]);
	peal_header_store(l.p->slot + 8, header_of(i));
	instance_fill(l.p->slot + 16, k->lengths[i], 0, i);
	peali_producer_step(l.p);
	return 0;
}

/* Returns 0 once the message was sent. */
static int try_push(const struct link_case *k, uint32_t i)
{
	uint8_t data[64];

	if (k->fault == FAULT_TAG_FIRST)
		return push_tag_first(k, i);
	if (k->fault == FAULT_NO_CREDIT)
		l.p->limit = l.p->tail + 1;
	instance_fill(data, k->lengths[i], 0, i);
	return peal_link_push(l.p, header_of(i), data, k->lengths[i]);
}

static int try_bulk(const struct link_case *k, uint32_t i)
{
	uint8_t data[128];

	instance_fill(data, k->lengths[i], 0, i);
	instance_fill(data + k->lengths[i], k->lengths[i], 0, i + 1);
	return peal_link_push_bulk(l.p, header_of(i), data, k->lengths[i], 2);
}

static int try_reserve(const struct link_case *k, uint32_t i)
{
	void *to = NULL;
	int result;

	if (!peal_link_fits(l.p, 1))
		return PEAL_EAGAIN;
	result = peal_link_reserve(l.p, k->lengths[i], &to);
	model_expect(!result);
	instance_fill(to, k->lengths[i], 0, i);
	peal_link_commit(l.p, header_of(i), k->lengths[i]);
	return 0;
}

static void send(const struct link_case *k)
{
	uint32_t i;

	for (i = 0; i < k->n; i += k->how == HOW_BULK ? 2 : 1) {
		if (k->how == HOW_SEALED && i + 1 == k->n) {
			MODEL_UNTIL(!peal_link_push_mark(l.p, PEAL_KIND_SEAL));
			peal_link_producer_init(l.p, &l.views[1][0]);
		}
		if (k->how == HOW_BULK)
			MODEL_UNTIL(!try_bulk(k, i))
		else if (k->how == HOW_RESERVE)
			MODEL_UNTIL(!try_reserve(k, i))
		else
			MODEL_UNTIL(!try_push(k, i))
	}
	if (k->end)
		MODEL_UNTIL(!peal_link_push_mark(l.p, PEAL_KIND_END));
	if (k->how == HOW_LEFT)
		model_expect(!peal_link_push_mark(l.p, PEAL_KIND_SEAL));
}

/* ---- the receiver -------------------------------------------------------- */

static void expect_message(const struct link_case *k,
			   const struct peal_message *m, uint32_t i)
{
	uint32_t typed = k->how == HOW_BULK ? i & ~1u : i;

	model_expect(m->kind == PEAL_KIND_DATA || m->kind == PEAL_KIND_SLAB);
	model_expect(m->length == k->lengths[i]);
	model_expect(m->header.actor == 7);
	model_expect(m->header.type == typed + 1);
	model_expect(instance_filled(m->data, m->length, 0, i));
}

static void receive_faultily(const struct link_case *k, uint32_t i)
{
	struct peal_message m;

	MODEL_UNTIL(!peal_link_peek(l.c, &m));
	if (k->fault == FAULT_NO_FLUSH && i % 2 == 0)
		l.c->credit_due += 2;
	if (k->fault == FAULT_CREDIT_FIRST)
		peal_link_release(l.c, &m);
	expect_message(k, &m, i);
	if (k->fault != FAULT_CREDIT_FIRST)
		peal_link_release(l.c, &m);
}

static void receive_one(const struct link_case *k, uint32_t i)
{
	uint8_t to[64];
	struct peal_message m;
	int result;

	if (k->fault) {
		receive_faultily(k, i);
		return;
	}
	if (k->how == HOW_RESERVE || k->dead) {
		if (k->how == HOW_RESERVE)
			MODEL_UNTIL(peal_link_ready(l.c));
		MODEL_UNTIL((result = peal_link_peek(l.c, &m)) != PEAL_EAGAIN);
		model_expect(!result);
		expect_message(k, &m, i);
		if (k->dead && i == 1)
			peal_link_release_dead(l.c, PEAL_REASON_HANDLER);
		else
			peal_link_release(l.c, &m);
		return;
	}
	MODEL_UNTIL((result = peal_link_pop(l.c, to, sizeof(to), &m)) !=
		    PEAL_EAGAIN);
	model_expect(!result);
	if (m.kind == PEAL_KIND_SEAL) {
		model_expect(k->how == HOW_SEALED && i + 1 == k->n);
		peal_link_release_mark(l.c, m.kind);
		peal_link_consumer_init(l.c, &l.views[1][1]);
		receive_one(k, i);
		return;
	}
	expect_message(k, &m, i);
}

/* Receives one or two messages; returns how many. */
static uint32_t receive_burst(const struct link_case *k, uint32_t i)
{
	uint8_t to[128];
	uint64_t lengths[2];
	uint32_t max_bytes = k->lengths[i], n;
	int result;

	MODEL_UNTIL((result = peal_link_pop_burst(l.c, to, max_bytes, 2,
						  lengths)) != PEAL_EAGAIN);
	model_expect(result > 0 && i + (uint32_t)result <= k->n);
	for (n = 0; n < (uint32_t)result; n++) {
		model_expect(lengths[n] == k->lengths[i + n]);
		model_expect(instance_filled(to + n * max_bytes, lengths[n], 0,
					     i + n));
	}
	return n;
}

static void receive(const struct link_case *k)
{
	struct peal_message m;
	uint32_t i;
	int result;

	for (i = 0; i < k->n;)
		if (k->how == HOW_BULK)
			i += receive_burst(k, i);
		else
			receive_one(k, i++);
	if (k->end) {
		MODEL_UNTIL((result = peal_link_pop(l.c, &i, 4, &m)) !=
			    PEAL_EAGAIN);
		model_expect(result == PEAL_EEND);
		model_expect(peal_link_peek(l.c, &m) == PEAL_EEND);
	} else {
		model_expect(peal_link_peek(l.c, &m) == PEAL_EAGAIN);
	}
	peal_link_flush_credit(l.c);
}

/* ---- thread 2 ------------------------------------------------------------ */

/* Checks that a message seen as delivered is also seen as accepted. */
static void watch(void)
{
	uint64_t delivered = peal_load_acquire_sys(&l.counts->delivered) +
			     peal_load_acquire_sys(&l.counts->dead[2]);

	model_expect(peal_load_relaxed_sys(&l.counts->accepted) >= delivered);
}

/* Overwrites the old ring's slots after the receiver's switch. HOW_LEFT has no
 * receiver: the slots are overwritten after the SEAL. */
static void free_ring(const struct link_case *k)
{
	const uint64_t *left = k->how == HOW_LEFT ? &l.counts->seals :
						    &l.counts->switches;

	MODEL_UNTIL(peal_load_acquire_sys(left) == 1);
	memset((uint8_t *)l.rings[0] + sizeof(struct peal_ring), 0xff,
	       k->capacity * k->slot_bytes);
}

static void link_thread(const void *config, uint32_t self)
{
	const struct link_case *k = (const struct link_case *)config;

	if (self == 0)
		send(k);
	else if (k->how == HOW_LEFT)
		free_ring(k);
	else if (self == 1)
		receive(k);
	else if (k->how == HOW_SEALED)
		free_ring(k);
	else
		watch();
}

static void link_check(const void *config)
{
	const struct link_case *k = (const struct link_case *)config;
	const struct peal_link_counts *n = l.counts;

	model_expect(n->accepted == k->n);
	if (k->how == HOW_LEFT)
		return;
	model_expect(n->accepted ==
		     n->delivered + n->dead[PEAL_REASON_HANDLER]);
	model_expect(n->dead[PEAL_REASON_HANDLER] == (uint64_t)k->dead);
	model_expect(l.p->tail == l.c->head);
	model_expect(l.p->slab_tail == l.c->slab_head);
	model_expect(!l.p->state == !k->end && !l.c->state == !k->end);
}

/* ---- the list ------------------------------------------------------------ */

/* On GPUs atoms and counts are relaxed: only tags and fences give order. */
static const char *const as_on_gpus[] = { "peal_atom8_store", "peal_atom8_load",
					  "peali_store_count", NULL };

#define LINK(name, threads, gpu, ...)                                          \
	{                                                                      \
		name, threads, &(const struct link_case){ __VA_ARGS__ },       \
			link_setup, link_thread, link_check, gpu, 0            \
	}
#define RING(policy_, slots_, slot_bytes_)                                     \
	.policy = PEAL_POLICY_##policy_, .capacity = slots_,                   \
	.slot_bytes = slot_bytes_
/* The largest length, the number of messages and the length of each. */
#define SENDS(most_, n_, ...)                                                  \
	.message_bytes = most_, .n = n_, .lengths = { __VA_ARGS__ }

/* The 16 bits of the lap wrap during the instance. */
#define ROUND(slots_) .number = 65536ull * (slots_)-1
/* A slab of two messages of 24 bytes wraps during the instance. */
#define SLAB_ROUND .position = 64ull * 1000 + 32

static const struct model_instance instances[] = {
	LINK("link sequence, 1 slot", 2, NULL, RING(SEQUENCE, 1, 32),
	     SENDS(8, 4, 8, 3, 5, 8)),
	LINK("link sequence, 2 slots", 2, NULL, RING(SEQUENCE, 2, 32),
	     SENDS(16, 4, 16, 8, 1, 16)),
	LINK("link sequence, 1 slot, END", 2, NULL, RING(SEQUENCE, 1, 32),
	     SENDS(8, 3, 8, 8, 8), .end = 1),
	LINK("link sequence, 2 slots, lap goes round", 2, NULL,
	     RING(SEQUENCE, 2, 32), SENDS(8, 4, 8, 8, 8, 8), ROUND(2),
	     .how = HOW_RESERVE),
	LINK("link sequence, 2 slots, bulk and burst", 2, NULL,
	     RING(SEQUENCE, 2, 32), SENDS(8, 4, 8, 8, 8, 8), .how = HOW_BULK),
	LINK("link sequence, 4 slots, slab", 2, NULL, RING(SEQUENCE, 4, 32),
	     SENDS(24, 4, 24, 17, 24, 20), SLAB_ROUND),
	LINK("link sequence, 4 slots, slab, reserve first", 2, NULL,
	     RING(SEQUENCE, 4, 32), SENDS(24, 4, 24, 24, 8, 24),
	     .how = HOW_RESERVE),
	LINK("link sequence, 2 slots, one dead, watched", 3, NULL,
	     RING(SEQUENCE, 2, 32), SENDS(8, 3, 8, 8, 8), .dead = 1,
	     .how = HOW_WATCHED),
	LINK("link sequence, 1 slot, SEAL, freed", 3, NULL,
	     RING(SEQUENCE, 1, 32), SENDS(8, 2, 8, 8), .how = HOW_SEALED),
	LINK("link sequence, 2 slots, left, freed", 2, NULL,
	     RING(SEQUENCE, 2, 32), SENDS(8, 1, 8), .how = HOW_LEFT),

	LINK("link atom16, 1 slot", 2, as_on_gpus, RING(ATOM16, 1, 32),
	     SENDS(16, 3, 16, 4, 9)),
	LINK("link atom16, 2 slots", 2, as_on_gpus, RING(ATOM16, 2, 32),
	     SENDS(16, 4, 16, 4, 4, 4)),
	LINK("link atom16, 1 slot, END", 2, as_on_gpus, RING(ATOM16, 1, 32),
	     SENDS(8, 2, 8, 8), .end = 1),
	LINK("link atom16, 2 slots, lap goes round", 2, as_on_gpus,
	     RING(ATOM16, 2, 32), SENDS(16, 4, 16, 4, 16, 4), ROUND(2),
	     .how = HOW_RESERVE),
	LINK("link atom16, 2 slots, bulk and burst", 2, as_on_gpus,
	     RING(ATOM16, 2, 32), SENDS(4, 4, 4, 4, 4, 4), .how = HOW_BULK),
	LINK("link atom16, 4 slots, slab", 2, as_on_gpus, RING(ATOM16, 4, 32),
	     SENDS(24, 3, 24, 17, 24), SLAB_ROUND),
	LINK("link atom16, 1 slot, SEAL", 2, as_on_gpus, RING(ATOM16, 1, 32),
	     SENDS(8, 2, 8, 8), .how = HOW_SEALED),

	LINK("link atom8, 1 slot", 2, as_on_gpus, RING(ATOM8, 1, 32),
	     SENDS(4, 3, 4, 0, 0)),
	LINK("link atom8, 2 slots", 2, as_on_gpus, RING(ATOM8, 2, 32),
	     SENDS(4, 3, 0, 2, 0)),
	LINK("link atom8, 1 slot, END", 2, as_on_gpus, RING(ATOM8, 1, 32),
	     SENDS(4, 1, 4), .end = 1),
	LINK("link atom8, 2 slots, lap goes round", 2, as_on_gpus,
	     RING(ATOM8, 2, 32), SENDS(4, 2, 4, 4), ROUND(2),
	     .how = HOW_RESERVE),
	LINK("link atom8, 2 slots, bulk and burst", 2, as_on_gpus,
	     RING(ATOM8, 2, 32), SENDS(4, 2, 0, 0), .how = HOW_BULK),
	LINK("link atom8, 2 slots, slab", 2, as_on_gpus, RING(ATOM8, 2, 48),
	     SENDS(24, 1, 24), SLAB_ROUND),
	LINK("link atom8 of the host, 1 slot", 2, NULL, RING(ATOM8, 1, 32),
	     SENDS(4, 2, 4, 4)),
};

INSTANCE_LIST(link_instances, instances);

static const struct model_instance broken[] = {
	LINK("link, tag before content", 2, NULL, RING(SEQUENCE, 2, 32),
	     SENDS(8, 1, 8), .fault = FAULT_TAG_FIRST),
	LINK("link, no look at the credit", 2, NULL, RING(SEQUENCE, 1, 32),
	     SENDS(8, 2, 8, 8), .fault = FAULT_NO_CREDIT),
	LINK("link atom16, no look at the credit", 2, as_on_gpus,
	     RING(ATOM16, 1, 32), SENDS(4, 2, 4, 4), .fault = FAULT_NO_CREDIT),
	LINK("link, credit before the content is read", 2, NULL,
	     RING(SEQUENCE, 1, 32), SENDS(8, 2, 8, 8),
	     .fault = FAULT_CREDIT_FIRST),
	LINK("link, credit that is kept", 2, NULL, RING(SEQUENCE, 1, 32),
	     SENDS(8, 3, 8, 8, 8), .fault = FAULT_NO_FLUSH),
	LINK("link, slots that there are not", 2, NULL, RING(SEQUENCE, 1, 32),
	     SENDS(8, 2, 8, 8), .fault = FAULT_SLOTS),
};

INSTANCE_LIST(broken_link_instances, broken);
