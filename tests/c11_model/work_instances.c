/* SPDX-License-Identifier: Apache-2.0 */
#include <peal/device/work_abandon.h>
#include <peal/device/work_consumer.h>

#include "c11_model/instances.h"
#include "queues/work.h"

/*
 * Instances of the work queue. The first threads are producers, the next ones
 * are consumers. A last thread may poison the ticket of a dead producer.
 */

#define MESSAGES 4 /* at most, of a producer and of a consumer */

enum work_how {
	HOW_PUSH, /* puts `bulk` messages per call */
	HOW_TICKETS, /* takes all tickets, then puts all messages */
	HOW_BACKWARDS /* as HOW_TICKETS, but puts the last message first */
};

/* Planted faults that the checker must find. */
enum work_fault {
	FAULT_NONE,
	FAULT_TAG_FIRST, /* the tag is stored before the content */
	FAULT_NO_LEASE, /* a ticket is taken without a leased slot */
	FAULT_TOLD_FIRST, /* a slot is freed before it is read */
	FAULT_TURN, /* a turn is taken by a load and a store */
	FAULT_OVER, /* a claim past the tickets is kept */
	FAULT_ALIVE, /* the ticket of a live producer is poisoned */
	FAULT_SHORT /* a bulk is put although one slot is leased */
};

struct work_case {
	uint32_t policy, slots, lease, bytes;
	uint32_t producers, consumers;
	uint32_t n[4]; /* messages that each thread puts or takes */
	uint32_t bulk, burst; /* messages per put and per take; 0: 1 */
	uint32_t single; /* bit per thread: puts one message at a time */
	uint32_t block_log2;
	uint64_t number; /* messages that the queue has passed before */
	enum work_how how;
	/* of producer 0 in setup: messages put, and further tickets taken */
	uint32_t there, late;
	int granted; /* 1: setup grants the slots of all messages */
	int joins; /* 1: each thread makes its own place */
	int returns; /* 1: producer 0 leases once more and returns the lease */
	int dies; /* 1: producer 0 takes a last ticket and puts no message */
	enum work_fault fault;
};

/* The messages that a consumer got, in this order. */
struct work_took {
	uint32_t n;
	uint8_t producer[MESSAGES], message[MESSAGES];
};

static struct work {
	struct peal_work *q;
	struct peal_work_producer *p[4];
	struct peal_work_consumer *c[4];
	struct work_took *took;
	uint8_t *stages;
	uint64_t *gone; /* 1: producer 0 never writes again */
} w;

/* ---- setup --------------------------------------------------------------- */

/* Sets the queue to its state after `number` messages, all taken. */
static void age_queue(const struct work_case *k)
{
	uint8_t content[128] = { 0 };
	uint32_t length = peal_slot_content_max(k->policy, w.q->slot_bytes), i;

	for (i = 1; i <= k->slots; i++) {
		uint64_t number = k->number - i;
		uint8_t *slot = peali_work_slot(w.q, number);
		uint32_t lap = peali_work_lap(w.q, number);

		*peali_work_taken(w.q, number) +=
			(number >> w.q->capacity_log2) + 1;
		if (k->policy == PEAL_POLICY_SEQUENCE)
			peal_slot_publish(slot, lap, PEAL_KIND_DATA, length);
		else
			peal_slot_pack(k->policy, slot, lap, PEAL_KIND_DATA,
				       content, length, 0, 1);
	}
	w.q->leased = w.q->ticket = k->number;
	w.q->claimed = w.q->turn = k->number;
}

static void name_words(const struct work_case *k)
{
	static const char *const slots[] = { "slot0", "slot1", "slot2",
					     "slot3" };
	static const char *const blocks[] = { "block0", "block1", "block2",
					      "block3" };
	uint32_t i;

	model_name(&w.q->leased, 8, "leased");
	model_name(&w.q->ticket, 8, "ticket");
	model_name(&w.q->claimed, 8, "claimed");
	model_name(&w.q->turn, 8, "turn");
	for (i = 0; i < k->slots; i++) {
		model_name(peali_work_slot(w.q, i), w.q->slot_bytes, slots[i]);
		model_name(peali_work_taken(w.q, i), 8,
			   blocks[i >> k->block_log2]);
	}
}

static void make_queue(const struct work_case *k)
{
	struct peali_work_spec s;

	memset(&s, 0, sizeof(s));
	s.slots = k->slots;
	s.message_bytes = k->bytes ? k->bytes : 1;
	s.n_producers = 1; /* more would need more slots */
	s.lease = k->lease;
	s.policy = k->policy;
	if (peali_work_spec_complete(&s, 14, PEAL_POLICY_SEQUENCE, "model"))
		model_fail("the work queue's options are refused");
	w.q = (struct peal_work *)model_memory("queue", peali_work_bytes(&s));
	peali_work_header(w.q, &s);
	w.q->solo = k->producers == 1;
	w.q->block_log2 = k->block_log2; /* the default for so few slots is 0 */
	name_words(k);
}

static void make_place(const struct work_case *k, uint32_t self)
{
	if (self < k->producers)
		peal_work_producer_init(w.q, w.p[self]);
	else if (self < k->producers + k->consumers)
		peal_work_consumer_init(w.q, w.c[self], w.stages + 64 * self);
}

static struct peal_header header_of(uint32_t self, uint32_t message)
{
	struct peal_header header = { self, (uint16_t)message, 3 };

	return header;
}

static void put_at(const struct work_case *k, uint32_t self, uint32_t message,
		   uint64_t number)
{
	uint8_t data[64], *slot = peali_work_slot(w.q, number);

	instance_fill(data, k->bytes, self, message);
	if (k->fault == FAULT_TAG_FIRST)
		peal_slot_publish(slot, peali_work_lap(w.q, number),
				  PEAL_KIND_DATA, 8 + k->bytes);
	peal_work_put_at(w.q, number, header_of(self, message), data, k->bytes);
}

/* Puts and grants as the case has it before its threads begin. */
static void put_before(const struct work_case *k)
{
	uint64_t n = k->there + k->late;
	uint32_t i;

	w.q->leased += n;
	w.q->ticket += n;
	for (i = 0; i < k->there; i++)
		put_at(k, 0, i, k->number + i);
	for (i = 0; i < k->producers && k->granted; i++) {
		w.p[i]->granted = i ? k->n[i] : k->n[i] - n;
		w.q->leased += w.p[i]->granted;
	}
}

static void work_setup(const void *config)
{
	const struct work_case *k = (const struct work_case *)config;
	uint32_t i;

	make_queue(k);
	w.took = (struct work_took *)model_memory("took", 4 * sizeof(*w.took));
	w.stages = (uint8_t *)model_memory("stages", 4 * 64);
	w.gone = (uint64_t *)model_memory("gone", sizeof(*w.gone));
	if (k->number)
		age_queue(k);
	for (i = 0; i < 4; i++) {
		w.p[i] = (struct peal_work_producer *)model_memory(
			"producer", sizeof(*w.p[i]));
		w.c[i] = (struct peal_work_consumer *)model_memory(
			"consumer", sizeof(*w.c[i]));
		if (!k->joins)
			make_place(k, i);
	}
	put_before(k);
}

/* ---- producers ----------------------------------------------------------- */

/* Puts all remaining messages, or those of its late tickets. Returns the number
 * of the next message. */
static uint32_t put_tickets(const struct work_case *k, uint32_t self)
{
	uint32_t from = self ? 0 : k->there, n = k->n[self] - from, i;
	uint64_t first = k->number + from;

	if (k->late && !self)
		n = k->late;
	else
		MODEL_UNTIL(!peal_work_take_tickets(w.q, w.p[self], n, &first));
	for (i = 0; i < n; i++) {
		uint32_t at = k->how == HOW_BACKWARDS ? n - 1 - i : i;

		put_at(k, self, from + at, first + at);
	}
	return from + n;
}

static uint32_t bulk_of(const struct work_case *k, uint32_t self)
{
	return k->bulk && !(k->single >> self & 1) ? k->bulk : 1;
}

static int try_push(const struct work_case *k, uint32_t self, uint32_t i)
{
	uint32_t n = bulk_of(k, self), m;
	uint8_t data[128];

	for (m = 0; m < n; m++)
		instance_fill(data + m * k->bytes, k->bytes, self, i + m);
	if (k->fault == FAULT_NO_LEASE)
		w.p[self]->granted = 1;
	if (k->fault == FAULT_SHORT && peal_work_admit(w.q, w.p[self], 1))
		w.p[self]->granted = n;
	return peal_work_push_bulk(w.q, w.p[self], header_of(self, i), data,
				   k->bytes, n);
}

static void put(const struct work_case *k, uint32_t self)
{
	uint32_t i = self ? 0 : k->there;
	uint64_t number;

	if (k->how != HOW_PUSH || (k->late && !self))
		i = put_tickets(k, self);
	for (; i < k->n[self]; i += bulk_of(k, self))
		MODEL_UNTIL(!try_push(k, self, i));
	if (k->returns && !self) {
		MODEL_UNTIL(peal_work_admit(w.q, w.p[self], 1));
		peal_work_lease_release(w.q, w.p[self]);
	}
	if (k->dies && !self) {
		MODEL_UNTIL(
			!peal_work_take_tickets(w.q, w.p[self], 1, &number));
		peal_store_release_dev(w.gone, 1);
	}
}

/* Poisons the open ticket of a dead producer; of a live one as a fault. */
static void look_after(const struct work_case *k)
{
	uint64_t number = 0;

	if (k->fault == FAULT_ALIVE) {
		if (peal_work_open_ticket(w.q, 0, &number))
			peal_work_abandon_ticket(w.q, number);
		return;
	}
	MODEL_UNTIL(peal_load_acquire_dev(w.gone));
	model_expect(peal_work_open_ticket(w.q, 0, &number));
	model_expect(!peal_work_abandon_ticket(w.q, number));
	model_expect(peal_work_abandon_ticket(w.q, number) == PEAL_EINVAL);
	peal_work_lease_release(w.q, w.p[0]);
}

/* ---- consumers ----------------------------------------------------------- */

static void note(const struct work_case *k, uint32_t self, const uint8_t *data,
		 const struct peal_work_received *got)
{
	struct work_took *took = &w.took[self];
	uint32_t producer = got->header.actor, message = got->header.type;

	model_expect(got->length == k->bytes && got->header.flags == 3);
	model_expect(producer < k->producers && took->n < MESSAGES);
	if (k->bulk) /* all messages of a bulk have the header of the first */
		message = (uint32_t)(data[0] - 1) % 64 / 16;
	model_expect(message < k->n[producer]);
	model_expect(instance_filled(data, k->bytes, producer, message));
	took->producer[took->n] = (uint8_t)producer;
	took->message[took->n++] = (uint8_t)message;
}

static int take_told_first(struct peal_work_consumer *c, void *to,
			   uint64_t bytes, struct peal_work_received *got)
{
	uint64_t first = 0;

	if (!peali_work_claim(w.q, c, 1, &first))
		return PEAL_EAGAIN;
	peali_work_done(w.q, c, first, 1);
	return peali_work_read(w.q, c->stage, first, (uint8_t *)to,
			       (uint32_t)bytes, got);
}

/* Claims and reads a message, but takes the turn by a load and a store. */
static int take_by_store(struct peal_work_consumer *c, void *to, uint64_t bytes,
			 struct peal_work_received *got)
{
	uint64_t turn = peal_load_acquire_dev(&w.q->turn);

	if (!peali_work_read(w.q, c->stage, turn, (uint8_t *)to, bytes, got))
		return PEAL_EAGAIN;
	peal_store_release_dev(&w.q->turn, turn + 1);
	peal_add_relaxed_dev(&w.q->claimed, 1);
	peali_work_done(w.q, c, turn, 1);
	c->taken++;
	return 1;
}

static int try_take(const struct work_case *k, struct peal_work_consumer *c,
		    uint8_t *to, uint32_t n, struct peal_work_received *got)
{
	uint64_t bytes = k->bytes ? k->bytes : 1;

	if (k->fault == FAULT_TOLD_FIRST)
		return take_told_first(c, to, bytes, got);
	if (k->fault == FAULT_TURN)
		return take_by_store(c, to, bytes, got);
	return peal_work_pop_burst(w.q, c, to, bytes, n, got);
}

static void take(const struct work_case *k, uint32_t self)
{
	struct peal_work_consumer *c = w.c[self];
	struct peal_work_received got[2];
	uint32_t burst = k->burst ? k->burst : 1, left, n;
	uint8_t to[128];
	int result, i;

	if (k->fault == FAULT_OVER)
		peal_add_relaxed_dev(&w.q->claimed, 1);
	for (left = k->n[self]; left; left -= (uint32_t)result) {
		n = left < burst ? left : burst;
		MODEL_UNTIL((result = try_take(k, c, to, n, got)) !=
			    PEAL_EAGAIN);
		model_expect(result > 0 && result <= (int)n);
		for (i = 0; i < result; i++)
			note(k, self, to + (uint32_t)i * k->bytes, &got[i]);
	}
	if (k->dies)
		MODEL_UNTIL(try_take(k, c, to, 1, got) != PEAL_EAGAIN ||
			    c->dead);
	peal_work_unclaim(w.q, c);
}

static void work_thread(const void *config, uint32_t self)
{
	const struct work_case *k = (const struct work_case *)config;

	if (k->joins)
		make_place(k, self);
	if (self < k->producers)
		put(k, self);
	else if (self < k->producers + k->consumers)
		take(k, self);
	else
		look_after(k);
}

/* ---- the end ------------------------------------------------------------- */

/* Returns how often a message was taken. */
static uint32_t times(uint32_t producer, uint32_t message)
{
	uint32_t n = 0, i, m;

	for (i = 0; i < 4; i++)
		for (m = 0; m < w.took[i].n; m++)
			n += w.took[i].producer[m] == producer &&
			     w.took[i].message[m] == message;
	return n;
}

/* Checks that the consumer got the messages of each producer in order. */
static void expect_order(uint32_t consumer)
{
	const struct work_took *took = &w.took[consumer];
	uint32_t i, m;

	for (i = 0; i < took->n; i++)
		for (m = 0; m < i; m++)
			model_expect(took->producer[m] != took->producer[i] ||
				     took->message[m] < took->message[i]);
}

static void expect_words(const struct work_case *k, uint64_t end,
			 uint64_t granted)
{
	uint64_t taken = 0, i;

	model_expect(w.q->ticket == end && w.q->leased == end + granted);
	model_expect(w.q->claimed == end && w.q->turn == end);
	for (i = 0; i < k->slots; i++) /* next number of each slot */
		taken += (end + i) >> w.q->capacity_log2;
	for (i = 0; i < k->slots; i += 1ULL << k->block_log2)
		taken -= *peali_work_taken(w.q, i);
	model_expect(!taken);
}

static void work_check(const void *config)
{
	const struct work_case *k = (const struct work_case *)config;
	uint32_t dead = 0, i, m;
	uint64_t end = k->number + (uint64_t)k->dies, granted = 0;

	for (i = 0; i < k->producers; i++) {
		end += k->n[i];
		granted += w.p[i]->granted;
		for (m = 0; m < k->n[i]; m++)
			model_expect(times(i, m) == 1);
	}
	for (i = 0; i < 4; i++) {
		dead += (uint32_t)w.c[i]->dead;
		model_expect(!w.c[i]->kept);
		model_expect(w.c[i]->taken == w.took[i].n);
	}
	model_expect(dead == (uint32_t)k->dies);
	expect_words(k, end, granted);
	for (i = 0; i < 4; i++)
		expect_order(i);
}

/* ---- the list ------------------------------------------------------------ */

/* On GPUs atoms are relaxed. */
static const char *const gpu_atoms[] = { "peal_atom8_store", "peal_atom8_load",
					 NULL };
/* On GPUs the ticket is relaxed, too. */
static const char *const gpu_ticket[] = { "peal_atom8_store", "peal_atom8_load",
					  "peali_work_ticket", NULL };

#define WORK(name, threads, gpu, causal, ...)                                  \
	{                                                                      \
		name, threads, &(const struct work_case){ __VA_ARGS__ },       \
			work_setup, work_thread, work_check, gpu, causal       \
	}
#define QUEUE(policy_, slots_, lease_, bytes_)                                 \
	.policy = PEAL_POLICY_##policy_, .slots = slots_, .lease = lease_,     \
	.bytes = bytes_
/* Numbers of producers and consumers, then the messages of each thread. */
#define ENDS(producers_, consumers_, ...)                                      \
	.producers = producers_, .consumers = consumers_, .n = { __VA_ARGS__ }
/* The 16 bits of the lap wrap during the instance, or the 64 of the number. */
#define LAP_ROUND(slots_) .number = 65536ull * (slots_)-1
#define NUMBER_ROUND .number = 0ull - 1

static const struct model_instance instances[] = {
	WORK("work sequence, 1 slot, 1 to 1", 2, NULL, 0,
	     QUEUE(SEQUENCE, 1, 1, 8), ENDS(1, 1, 3, 3)),
	WORK("work sequence, 2 slots, 1 to 1, joins", 2, NULL, 0,
	     QUEUE(SEQUENCE, 2, 1, 8), ENDS(1, 1, 3, 3), .joins = 1),
	WORK("work sequence, 2 slots, lap goes round", 2, NULL, 0,
	     QUEUE(SEQUENCE, 2, 2, 8), ENDS(1, 1, 3, 3), LAP_ROUND(2)),
	WORK("work sequence, 2 slots, number goes round", 2, NULL, 0,
	     QUEUE(SEQUENCE, 2, 1, 8), ENDS(1, 1, 2, 2), NUMBER_ROUND),
	WORK("work sequence, 4 slots, bulk and burst", 2, NULL, 0,
	     QUEUE(SEQUENCE, 4, 2, 8), ENDS(1, 1, 4, 4), .bulk = 2, .burst = 2),
	WORK("work sequence, 2 slots, two late ones", 2, NULL, 0,
	     QUEUE(SEQUENCE, 2, 2, 8), ENDS(1, 1, 2, 2), .how = HOW_TICKETS,
	     .late = 2, .burst = 2),
	WORK("work sequence, 2 slots, backwards", 2, NULL, 0,
	     QUEUE(SEQUENCE, 2, 2, 8), ENDS(1, 1, 2, 2), .how = HOW_BACKWARDS),
	WORK("work sequence, 1 slot, 1 to 2", 3, NULL, 0,
	     QUEUE(SEQUENCE, 1, 1, 8), ENDS(1, 2, 2, 1, 1)),
	WORK("work sequence, 2 slots, 1 to 2, granted", 3, NULL, 0,
	     QUEUE(SEQUENCE, 2, 2, 8), ENDS(1, 2, 2, 1, 1), .there = 1,
	     .granted = 1),
	WORK("work sequence, 2 slots, a producer dies", 3, NULL, 0,
	     QUEUE(SEQUENCE, 2, 2, 8), ENDS(1, 1, 1, 1), .dies = 1),
	WORK("work atom16, 1 slot, 1 to 1", 2, gpu_atoms, 0,
	     QUEUE(ATOM16, 1, 1, 8), ENDS(1, 1, 2, 2)),
	WORK("work atom16, 2 slots, lap goes round", 2, gpu_atoms, 0,
	     QUEUE(ATOM16, 2, 1, 8), ENDS(1, 1, 2, 2), LAP_ROUND(2)),
	WORK("work atom16, 2 slots, bulk and burst", 2, gpu_atoms, 0,
	     QUEUE(ATOM16, 2, 2, 4), ENDS(1, 1, 2, 2), .bulk = 2, .burst = 2),
	WORK("work atom16, 1 slot, 1 to 2", 3, gpu_atoms, 0,
	     QUEUE(ATOM16, 1, 1, 4), ENDS(1, 2, 2, 1, 1)),
	WORK("work atom16, 2 slots, 2 + 1 to 1", 3, gpu_atoms, 0,
	     QUEUE(ATOM16, 2, 1, 4), ENDS(2, 1, 2, 1, 3)),
	WORK("work atom16, 2 slots, 2 + 1 to 1, ticket of GPUs", 3, gpu_ticket,
	     1, QUEUE(ATOM16, 2, 1, 4), ENDS(2, 1, 2, 1, 3)),
	WORK("work atom16, 1 slot, 1 + 1 to 2, ticket of GPUs", 4, gpu_ticket,
	     1, QUEUE(ATOM16, 1, 1, 4), ENDS(2, 2, 1, 1, 1, 1)),
	WORK("work atom16, 2 slots, a producer dies", 3, gpu_atoms, 0,
	     QUEUE(ATOM16, 2, 2, 4), ENDS(1, 1, 1, 1), .dies = 1),
	WORK("work atom8, 1 slot, 1 to 1", 2, gpu_atoms, 0,
	     QUEUE(ATOM8, 1, 1, 0), ENDS(1, 1, 2, 2)),
	WORK("work atom8, 2 slots, lap goes round", 2, gpu_atoms, 0,
	     QUEUE(ATOM8, 2, 1, 4), ENDS(1, 1, 2, 2), LAP_ROUND(2)),

	WORK("work sequence, 2 slots, returned", 3, NULL, 0,
	     QUEUE(SEQUENCE, 2, 1, 8), ENDS(2, 1, 1, 1, 2), .returns = 1),
	WORK("work sequence, 2 slots, blocks of 2", 3, NULL, 0,
	     QUEUE(SEQUENCE, 2, 1, 8), ENDS(1, 2, 3, 1, 2), .block_log2 = 1,
	     .there = 2),
	WORK("work sequence, 2 slots, 2 to 1", 3, NULL, 0,
	     QUEUE(SEQUENCE, 2, 1, 8), ENDS(2, 1, 1, 1, 2)),
	WORK("work sequence, 2 slots, 2 + 1 to 1", 3, NULL, 0,
	     QUEUE(SEQUENCE, 2, 1, 8), ENDS(2, 1, 2, 1, 3)),
	/* a bulk of two may find only one free slot */
	WORK("work sequence, 2 slots, a bulk and one to 1", 3, NULL, 0,
	     QUEUE(SEQUENCE, 2, 1, 8), ENDS(2, 1, 1, 2, 3), .bulk = 2,
	     .single = 1),
};

INSTANCE_LIST(work_instances, instances);

/* These take longer. They are not run again for each removed order. */
static const struct model_instance deep[] = {
	WORK("work sequence, 2 slots, 1 to 2", 3, NULL, 0,
	     QUEUE(SEQUENCE, 2, 2, 8), ENDS(1, 2, 2, 1, 1)),
	WORK("work sequence, 2 slots, 1 to 2, late", 3, NULL, 0,
	     QUEUE(SEQUENCE, 2, 2, 8), ENDS(1, 2, 2, 1, 1), .late = 2,
	     .how = HOW_BACKWARDS),
	WORK("work sequence, 2 slots, 2 to 2", 4, NULL, 0,
	     QUEUE(SEQUENCE, 2, 1, 8), ENDS(2, 2, 1, 1, 1, 1), .granted = 1),
};

INSTANCE_LIST(deep_work_instances, deep);

static const struct model_instance broken[] = {
	WORK("work, tag before content", 2, NULL, 0, QUEUE(SEQUENCE, 2, 2, 8),
	     ENDS(1, 1, 1, 1), .how = HOW_TICKETS, .fault = FAULT_TAG_FIRST),
	WORK("work, a ticket without room", 2, NULL, 0,
	     QUEUE(SEQUENCE, 1, 1, 8), ENDS(1, 1, 2, 2),
	     .fault = FAULT_NO_LEASE),
	WORK("work, room before the content is read", 2, NULL, 0,
	     QUEUE(SEQUENCE, 1, 1, 8), ENDS(1, 1, 2, 2),
	     .fault = FAULT_TOLD_FIRST),
	WORK("work, a turn by load and store", 3, NULL, 0,
	     QUEUE(SEQUENCE, 2, 2, 8), ENDS(1, 2, 2, 1, 1),
	     .fault = FAULT_TURN),
	WORK("work, claims past the tickets are kept", 2, NULL, 0,
	     QUEUE(SEQUENCE, 2, 2, 8), ENDS(1, 1, 2, 2), .fault = FAULT_OVER),
	WORK("work, a ticket is poisoned whose producer lives", 3, NULL, 0,
	     QUEUE(SEQUENCE, 2, 2, 8), ENDS(1, 1, 2, 2), .late = 2,
	     .fault = FAULT_ALIVE),
	WORK("work, a bulk in the room of one", 3, NULL, 0,
	     QUEUE(SEQUENCE, 2, 1, 8), ENDS(2, 1, 1, 2, 3), .bulk = 2,
	     .single = 1, .fault = FAULT_SHORT),
	/* With `causal` this is correct. */
	WORK("work atom16, ticket of GPUs by C11 alone", 3, gpu_ticket, 0,
	     QUEUE(ATOM16, 2, 1, 4), ENDS(2, 1, 2, 1, 3)),
	WORK("work sequence, ticket of GPUs", 3, gpu_ticket, 1,
	     QUEUE(SEQUENCE, 2, 1, 8), ENDS(2, 1, 2, 1, 3)),
};

INSTANCE_LIST(broken_work_instances, broken);
