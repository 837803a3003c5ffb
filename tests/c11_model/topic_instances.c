/* SPDX-License-Identifier: Apache-2.0 */
#include <peal/device/topic_subscriber.h>

#include "c11_model/instances.h"
#include "queues/topic.h"

/*
 * Instances of the topic. Thread 0 publishes, the next threads subscribe. A
 * last thread may publish after thread 0 has ended.
 */

#define SUBSCRIBERS 2

/* Planted faults that the checker must find. */
enum topic_fault {
	FAULT_NONE,
	FAULT_TAG_FIRST, /* the tag is stored before the content */
	FAULT_NO_LOOK, /* the publisher ignores the cursors */
	FAULT_TOLD_FIRST, /* the cursor moves before the message is read */
	FAULT_NO_GATE, /* a subscriber joins without the gate */
	FAULT_TAG_KEPT, /* a slot is overwritten while its old tag is there */
	FAULT_ONE_LOOK, /* a reader does not check the tag again */
	FAULT_ONE_ERA /* a reader checks the tag again, but not the era */
};

struct topic_case {
	uint32_t policy, slots, bytes, mode;
	uint32_t subscribers, n; /* messages */
	uint32_t bulk, burst; /* published and taken at a time; 0: 1 */
	uint32_t there; /* how many of the n messages setup publishes */
	uint32_t later; /* how many of them the last thread publishes */
	uint32_t joins; /* bit per thread: joins while messages are published */
	int oldest; /* 1: begins with the oldest message */
	/* messages after which the thread leaves; 0: it takes all */
	uint32_t takes[1 + SUBSCRIBERS];
	int again; /* 1: joins again after it has left, at the same cursor */
	uint64_t number; /* messages that the topic has passed before */
	uint64_t jump; /* numbers left out before message jump_at */
	uint32_t jump_at;
	uint32_t tries; /* takes of a subscriber, in vain or not; 0: until it
			 * has the last message */
	int looks; /* 1: each failed take looks at the tail */
	enum topic_fault fault;
};

static struct topic {
	struct peal_topic *t;
	struct peal_topic_publisher *p;
	struct peal_topic_subscriber *s[1 + SUBSCRIBERS];
	uint64_t *first; /* per subscriber: number at which it began */
	uint8_t *stages;
	uint64_t *ended; /* 1: thread 0 publishes no more */
} t;

/* ---- setup --------------------------------------------------------------- */

static void name_words(const struct topic_case *k)
{
	static const char *const slots[] = { "slot0", "slot1", "slot2",
					     "slot3" };
	static const char *const numbers[] = { "cursor0", "cursor1" };
	static const char *const actives[] = { "active0", "active1" };
	uint32_t i;

	model_name(&t.t->tail, 8, "tail");
	model_name(&t.t->promised, 8, "promised");
	model_name(&t.t->gate, 8, "gate");
	for (i = 0; i < k->slots; i++)
		model_name(peali_topic_slot(t.t, i), t.t->slot_bytes, slots[i]);
	for (i = 0; i < SUBSCRIBERS; i++) {
		model_name(&peali_topic_cursor(t.t, i)->number, 8, numbers[i]);
		model_name(&peali_topic_cursor(t.t, i)->active, 8, actives[i]);
	}
}

static void make_topic(const struct topic_case *k)
{
	struct peali_topic_spec s;

	memset(&s, 0, sizeof(s));
	s.slots = k->slots;
	s.message_bytes = k->bytes;
	s.n_subscribers = SUBSCRIBERS;
	s.mode = k->mode;
	s.policy = k->policy;
	if (peali_topic_spec_complete(&s, 14, PEAL_POLICY_SEQUENCE, "model"))
		model_fail("the topic's options are refused");
	t.t = (struct peal_topic *)model_memory("topic", peali_topic_bytes(&s));
	peali_topic_header(t.t, &s);
	name_words(k);
}

/* Sets the topic to its state after `number` messages without subscribers. */
static void age_topic(const struct topic_case *k)
{
	struct peal_header header = { 0, 0, 0 };
	uint8_t content[64] = { 0 };
	uint32_t i;

	for (i = 1; i <= k->slots; i++)
		peali_topic_write(t.t, k->number - i, header, content,
				  k->bytes);
	t.t->first = t.t->tail = t.t->promised = k->number;
}

static int try_publish(const struct topic_case *k, uint32_t i, uint32_t n)
{
	struct peal_header header = { 99, (uint16_t)i, 5 };
	uint8_t data[64];
	uint32_t m;

	for (m = 0; m < n; m++)
		instance_fill(data + m * k->bytes, k->bytes, 0, i + m);
	return peal_topic_publish_bulk(t.t, t.p, header, data, k->bytes, n);
}

static void join(const struct topic_case *k, uint32_t self)
{
	struct peal_topic_subscriber *s = t.s[self];
	uint8_t *stage = t.stages + 64 * self;

	model_expect(!peal_topic_join(t.t, s, self - 1, k->oldest, stage));
	t.first[self] = s->number;
}

static void topic_setup(const void *config)
{
	const struct topic_case *k = (const struct topic_case *)config;
	uint32_t i;

	make_topic(k);
	t.p = (struct peal_topic_publisher *)model_memory("publisher",
							  sizeof(*t.p));
	t.first = (uint64_t *)model_memory("first", 4 * sizeof(*t.first));
	t.stages = (uint8_t *)model_memory("stages", 4 * 64);
	t.ended = (uint64_t *)model_memory("ended", sizeof(*t.ended));
	if (k->number)
		age_topic(k);
	peal_topic_publisher_init(t.t, t.p);
	for (i = 1; i <= SUBSCRIBERS; i++) {
		t.s[i] = (struct peal_topic_subscriber *)model_memory(
			"subscriber", sizeof(*t.s[i]));
		if (i <= k->subscribers && !(k->joins >> i & 1))
			join(k, i);
	}
	for (i = 0; i < k->there; i++)
		model_expect(!try_publish(k, i, 1));
}

/* ---- publishers ---------------------------------------------------------- */

/* Returns 1 if the cursors seem to leave n free slots. It does not pass the
 * gate: the gate's add would make each try of a wait a new one. */
static int seems_free(uint32_t n)
{
	uint32_t i;

	for (i = 0; i < SUBSCRIBERS; i++) {
		struct peal_topic_cursor *c = peali_topic_cursor(t.t, i);

		if (peal_load_relaxed_dev(&c->active) &&
		    t.p->tail + n - peal_load_relaxed_dev(&c->number) >
			    peal_topic_capacity(t.t))
			return 0;
	}
	return 1;
}

/* Writes as peali_topic_write does, with the planted fault. */
static void write_faultily(const struct topic_case *k, uint32_t i)
{
	uint8_t *slot = peali_topic_slot(t.t, t.p->tail), data[64];
	uint32_t lap = peali_topic_lap(t.t, t.p->tail);
	struct peal_header header = { 0, (uint16_t)i, 5 };
	uint64_t *word = (uint64_t *)(void *)(slot + 8);

	instance_fill(data, k->bytes, 0, i);
	if (k->fault == FAULT_TAG_FIRST) {
		peal_slot_publish(slot, lap, PEAL_KIND_DATA, 8 + k->bytes);
		peal_header_store(word, header);
		peal_copy(word + 1, data, k->bytes);
	} else {
		peal_store_release_sys(word, peali_header_word(header));
		peal_store_release_sys(word + 1, peali_topic_word(data, 8));
		peal_slot_publish(slot, lap, PEAL_KIND_DATA, 8 + k->bytes);
	}
	peal_store_relaxed_dev(&t.t->tail, ++t.p->tail);
}

/* Sets the publisher behind the numbers that it leaves out. Their messages
 * would only give the reader more values to notice. */
static void jump(const struct topic_case *k)
{
	t.p->tail += k->jump;
	t.p->limit += k->jump;
}

static void publish(const struct topic_case *k, uint32_t i, uint32_t end)
{
	uint32_t n = k->bulk ? k->bulk : 1;

	for (; i < end; i += n) {
		if (k->jump && i == k->jump_at)
			jump(k);
		if (k->fault == FAULT_TAG_FIRST || k->fault == FAULT_TAG_KEPT) {
			write_faultily(k, i);
			continue;
		}
		if (k->fault == FAULT_NO_LOOK)
			t.p->limit = t.p->tail + n;
		while (try_publish(k, i, n))
			MODEL_UNTIL(seems_free(n));
	}
}

/* ---- subscribers --------------------------------------------------------- */

static void join_without_gate(uint32_t self)
{
	struct peal_topic_subscriber *s = t.s[self];

	s->cursor = peali_topic_cursor(t.t, self - 1);
	s->number = s->told = peal_load_relaxed_dev(&t.t->tail);
	peal_store_relaxed_dev(&s->cursor->number, s->number);
	peal_store_release_dev(&s->cursor->active, 1);
	t.first[self] = s->number;
}

static int take_once_looked(const struct topic_case *k,
			    struct peal_topic_subscriber *s, uint8_t *to,
			    struct peal_topic_received *got)
{
	const uint8_t *slot = peali_topic_slot(t.t, s->number);
	uint64_t tag =
		peal_load_acquire_sys((const uint64_t *)(const void *)slot);
	uint64_t header;

	if ((uint32_t)(tag >> 40) !=
	    peal_tag_high(peali_topic_lap(t.t, s->number), PEAL_KIND_DATA))
		return peal_topic_take(t.t, s, to, 8, got);
	if (!peali_topic_read_words(slot, tag, &header, to,
				    (uint32_t)tag - 8) &&
	    k->fault == FAULT_ONE_ERA &&
	    peal_load_acquire_sys((const uint64_t *)(const void *)slot) != tag)
		return PEAL_EAGAIN;
	s->taken++;
	got->number = s->number++;
	got->missed = s->missed;
	s->missed = 0;
	got->length = (uint32_t)tag - 8;
	got->type = (uint16_t)(header >> 32);
	got->flags = (uint16_t)(header >> 48);
	return 1;
}

static int try_take(const struct topic_case *k, struct peal_topic_subscriber *s,
		    uint8_t *to, struct peal_topic_received *got)
{
	s->looks = k->looks ? PEAL_TOPIC_LOOKS - 1 : 0;
	if (k->fault == FAULT_ONE_LOOK || k->fault == FAULT_ONE_ERA)
		return take_once_looked(k, s, to, got);
	if (k->fault == FAULT_TOLD_FIRST &&
	    peal_load_relaxed_dev(&s->cursor->number) == s->number)
		peal_store_release_dev(&s->cursor->number, s->number + 1);
	return peal_topic_take_burst(t.t, s, to, k->bytes,
				     k->burst ? k->burst : 1, got);
}

/* Checks that the message is whole, and that `missed` counts those between it
 * and `next`. */
static void expect_message(const struct topic_case *k, uint64_t next,
			   const uint8_t *data,
			   const struct peal_topic_received *got)
{
	uint64_t at = got->number - k->number;
	uint32_t i =
		(uint32_t)(k->jump && at >= k->jump_at ? at - k->jump : at);
	uint32_t typed = i < k->there || !k->bulk ? i : i - i % k->bulk;

	model_expect(i < k->n && (!k->jump || at < k->jump_at ||
				  at >= k->jump_at + k->jump));
	model_expect(got->length == k->bytes && got->flags == 5);
	model_expect(got->type == typed);
	model_expect(instance_filled(data, k->bytes, 0, i));
	model_expect(got->number == next + got->missed);
	model_expect(k->mode == PEAL_TOPIC_OVERWRITE || !got->missed);
}

/* Takes messages until `most` or the last one. */
static void take(const struct topic_case *k, struct peal_topic_subscriber *s,
		 uint64_t most)
{
	struct peal_topic_received got[2];
	uint64_t next = s->number;
	uint8_t to[64];
	uint32_t tries = 0;
	int result, i;

	while (next - k->number < k->n + k->jump && s->taken < most) {
		if (k->tries && tries++ == k->tries)
			break;
		if (k->tries)
			result = try_take(k, s, to, got);
		else
			MODEL_UNTIL((result = try_take(k, s, to, got)) !=
				    PEAL_EAGAIN);
		model_expect(result > 0 || (k->tries && result == PEAL_EAGAIN));
		for (i = 0; i < result; i++) {
			expect_message(k, next, to + (uint32_t)i * k->bytes,
				       &got[i]);
			next = got[i].number + 1;
		}
	}
}

static void subscribe(const struct topic_case *k, uint32_t self)
{
	struct peal_topic_subscriber *s = t.s[self];

	if (k->joins >> self & 1 && k->fault == FAULT_NO_GATE)
		join_without_gate(self);
	else if (k->joins >> self & 1)
		join(k, self);
	if (k->takes[self]) {
		take(k, s, k->takes[self]);
		peal_topic_leave(s);
		if (!k->again)
			return;
		join(k, self);
	}
	take(k, s, ~0ull);
	peal_topic_flush(s);
}

static void topic_thread(const void *config, uint32_t self)
{
	const struct topic_case *k = (const struct topic_case *)config;

	if (!self) {
		publish(k, k->there, k->n - k->later);
		if (k->later)
			peal_store_release_dev(t.ended, 1);
	} else if (self <= k->subscribers) {
		subscribe(k, self);
	} else {
		MODEL_UNTIL(peal_load_acquire_dev(t.ended));
		peal_topic_publisher_init(t.t, t.p);
		publish(k, k->n - k->later, k->n);
	}
}

static void topic_check(const void *config)
{
	const struct topic_case *k = (const struct topic_case *)config;
	uint64_t end = k->number + k->n + k->jump;
	uint32_t i;

	model_expect(t.t->tail == end && t.p->tail == end);
	for (i = 1; i <= k->subscribers; i++) {
		const struct peal_topic_subscriber *s = t.s[i];

		model_expect(s->number == t.first[i] + s->taken + s->lost);
		model_expect(s->cursor->active == (!k->takes[i] || k->again));
		if ((k->takes[i] && !k->again) || k->tries)
			continue;
		model_expect(s->number == end && s->cursor->number == end);
	}
}

/* ---- the list ------------------------------------------------------------ */

/* On GPUs atoms are relaxed. */
static const char *const gpu_atoms[] = { "peal_atom8_store", "peal_atom8_load",
					 NULL };

#define TOPIC(name, threads, gpu, ...)                                         \
	{                                                                      \
		name, threads, &(const struct topic_case){ __VA_ARGS__ },      \
			topic_setup, topic_thread, topic_check, gpu, 0         \
	}
#define SLOTS(policy_, mode_, slots_, bytes_)                                  \
	.policy = PEAL_POLICY_##policy_, .mode = PEAL_TOPIC_##mode_,           \
	.slots = slots_, .bytes = bytes_
/* Numbers of subscribers and messages. */
#define TO(subscribers_, n_) .subscribers = subscribers_, .n = n_
/* The 16 bits of the lap wrap during the instance. */
#define LAP_ROUND(slots_) .number = 65536ull * (slots_)-1
/* The last of 3 messages has the tag of the first one, in 1 slot. The second
 * has the lap after the first, or the lap before the last. */
#define JUMP_LAST .jump = 65534, .jump_at = 2, .looks = 1, .tries = 1
#define JUMP_FIRST .jump = 65534, .jump_at = 1, .looks = 1, .tries = 1
/* Bits of `joins` for threads 1 and 2. */
#define FIRST 2
#define SECOND 4

static const struct model_instance instances[] = {
	TOPIC("topic wait, sequence, 1 slot", 2, NULL,
	      SLOTS(SEQUENCE, WAIT, 1, 8), TO(1, 3)),
	TOPIC("topic wait, sequence, 2 slots, lap goes round", 2, NULL,
	      SLOTS(SEQUENCE, WAIT, 2, 8), TO(1, 4), LAP_ROUND(2)),
	TOPIC("topic wait, sequence, 4 slots, bulk and burst", 2, NULL,
	      SLOTS(SEQUENCE, WAIT, 4, 8), TO(1, 6), .bulk = 2, .burst = 2),
	TOPIC("topic wait, sequence, 1 slot, to 2", 3, NULL,
	      SLOTS(SEQUENCE, WAIT, 1, 8), TO(2, 2)),
	TOPIC("topic wait, sequence, 1 slot, joins", 2, NULL,
	      SLOTS(SEQUENCE, WAIT, 1, 8), TO(1, 2), .joins = FIRST),
	TOPIC("topic wait, sequence, 2 slots, joins, oldest", 2, NULL,
	      SLOTS(SEQUENCE, WAIT, 2, 8), TO(1, 3), .joins = FIRST,
	      .oldest = 1, .there = 1),
	TOPIC("topic wait, sequence, 1 slot, leaves", 2, NULL,
	      SLOTS(SEQUENCE, WAIT, 1, 8), TO(1, 3), .takes = { 0, 1 }),
	TOPIC("topic wait, sequence, 2 slots, leaves, joins again", 2, NULL,
	      SLOTS(SEQUENCE, WAIT, 2, 8), TO(1, 3), .takes = { 0, 1 },
	      .again = 1, .oldest = 1),
	TOPIC("topic wait, sequence, 2 slots, one after another", 3, NULL,
	      SLOTS(SEQUENCE, WAIT, 2, 8), TO(1, 3), .later = 1),
	TOPIC("topic wait, atom16, 1 slot", 2, gpu_atoms,
	      SLOTS(ATOM16, WAIT, 1, 8), TO(1, 2)),
	TOPIC("topic wait, atom16, 1 slot, joins", 2, gpu_atoms,
	      SLOTS(ATOM16, WAIT, 1, 4), TO(1, 2), .joins = FIRST),
	TOPIC("topic overwrite, sequence, 1 slot", 2, NULL,
	      SLOTS(SEQUENCE, OVERWRITE, 1, 8), TO(1, 3)),
	TOPIC("topic overwrite, sequence, 2 slots, two words", 2, NULL,
	      SLOTS(SEQUENCE, OVERWRITE, 2, 12), TO(1, 3), LAP_ROUND(2),
	      .looks = 1),
	TOPIC("topic overwrite, sequence, 1 slot, joins", 2, NULL,
	      SLOTS(SEQUENCE, OVERWRITE, 1, 8), TO(1, 2), .joins = FIRST),
	TOPIC("topic overwrite, atom16, 1 slot", 2, gpu_atoms,
	      SLOTS(ATOM16, OVERWRITE, 1, 8), TO(1, 2)),
	TOPIC("topic overwrite, sequence, 1 slot, 65,536 laps", 2, NULL,
	      SLOTS(SEQUENCE, OVERWRITE, 1, 8), TO(1, 3), JUMP_FIRST),
	TOPIC("topic overwrite, sequence, 1 slot, 1 and 65,536 laps", 2, NULL,
	      SLOTS(SEQUENCE, OVERWRITE, 1, 8), TO(1, 3), JUMP_LAST),
	TOPIC("topic overwrite, atom8, 1 slot, 65,536 laps", 2, NULL,
	      SLOTS(ATOM8, OVERWRITE, 1, 4), TO(1, 3), JUMP_FIRST),
};

INSTANCE_LIST(topic_instances, instances);

/* These take longer. They are not run again for each removed order. */
static const struct model_instance deep[] = {
	TOPIC("topic wait, sequence, 2 slots, to 2, joins", 3, NULL,
	      SLOTS(SEQUENCE, WAIT, 2, 8), TO(2, 3), .there = 1,
	      .joins = SECOND),
	TOPIC("topic wait, sequence, 1 slot, to 2, both join", 3, NULL,
	      SLOTS(SEQUENCE, WAIT, 1, 8), TO(2, 2), .there = 1,
	      .joins = FIRST | SECOND),
	TOPIC("topic wait, sequence, 1 slot, to 2, one leaves", 3, NULL,
	      SLOTS(SEQUENCE, WAIT, 1, 8), TO(2, 3), .takes = { 0, 1, 0 }),
	TOPIC("topic overwrite, sequence, 1 slot, to 2", 3, NULL,
	      SLOTS(SEQUENCE, OVERWRITE, 1, 8), TO(2, 2)),
	TOPIC("topic overwrite, atom8, 1 slot", 2, gpu_atoms,
	      SLOTS(ATOM8, OVERWRITE, 1, 4), TO(1, 2)),
};

INSTANCE_LIST(deep_topic_instances, deep);

static const struct model_instance broken[] = {
	TOPIC("topic, tag before content", 2, NULL, SLOTS(SEQUENCE, WAIT, 2, 8),
	      TO(1, 1), .fault = FAULT_TAG_FIRST),
	TOPIC("topic, no look at the cursors", 2, NULL,
	      SLOTS(SEQUENCE, WAIT, 1, 8), TO(1, 2), .fault = FAULT_NO_LOOK),
	TOPIC("topic, told before the content is read", 2, NULL,
	      SLOTS(SEQUENCE, WAIT, 1, 8), TO(1, 2), .fault = FAULT_TOLD_FIRST),
	TOPIC("topic, joins past the gate", 2, NULL,
	      SLOTS(SEQUENCE, WAIT, 1, 8), TO(1, 2), .joins = FIRST,
	      .fault = FAULT_NO_GATE),
	TOPIC("topic, overwritten under its tag", 2, NULL,
	      SLOTS(SEQUENCE, OVERWRITE, 1, 8), TO(1, 2),
	      .fault = FAULT_TAG_KEPT),
	TOPIC("topic, no second look at the tag", 2, NULL,
	      SLOTS(SEQUENCE, OVERWRITE, 1, 8), TO(1, 2),
	      .fault = FAULT_ONE_LOOK),
	TOPIC("topic, no second look at the era", 2, NULL,
	      SLOTS(SEQUENCE, OVERWRITE, 1, 8), TO(1, 3), JUMP_FIRST,
	      .fault = FAULT_ONE_ERA),
};

INSTANCE_LIST(broken_topic_instances, broken);
