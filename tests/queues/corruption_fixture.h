/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_VICTIM_H
#define TEST_VICTIM_H

/*
 * Fills mailboxes, work queues and topics with nonsense while calls of both
 * sides continue. The nonsense covers every word behind the header's first
 * line. Queue, stages and buffers all end at a page without access.
 */

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <peal/device/mailbox.h>

#include "queues/mailbox.h"
#include "topic_ring.h"
#include "work_pool.h"

#define SEED 6601ULL
#define CALLS IDENTITY_COUNT(200000)
#define LINE PEAL_SHARED_LINE
#define BYTES 40 /* of the largest message */
#define BURST 8
#define SLOTS 4
/* ThreadSanitizer would report the attacker's writes as races. */
#define AT_ONCE (!PEAL_TSAN)
#ifndef VICTIM_CALL
#define VICTIM_CALL(call) call
#endif

/* ---- memory -------------------------------------------------------------- */

struct area {
	uint8_t *at, *base;
	size_t whole;
};

/* Maps `bytes` bytes between two pages without access, up to the second one. */
static inline struct area area_open(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t inner = (bytes + page - 1) / page * page;
	struct area a = { NULL, NULL, inner + 2 * page };

	a.base = (uint8_t *)mmap(NULL, a.whole, PROT_NONE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(a.base != MAP_FAILED);
	CHECK(!mprotect(a.base + page, inner, PROT_READ | PROT_WRITE));
	a.at = a.base + page + inner - bytes;
	return a;
}

static inline void area_close(struct area a)
{
	CHECK(!munmap(a.base, a.whole));
}

/* ---- a queue under attack ------------------------------------------------ */

struct stage;

struct kind {
	const char *name;
	uint64_t (*bytes)(uint32_t policy);
	void (*make)(struct stage *s); /* writes the header to zeroed memory */
	void (*producer)(struct stage *s);
	void (*consumer)(struct stage *s);
	void (*put)(struct stage *s, uint32_t n);
	/* Returns the number of messages. Checks their lengths. */
	int (*take)(struct stage *s, uint32_t n);
	/* Takes from an invalid slot. Checks that the take fails. */
	void (*take_odd)(struct stage *s);
	uint64_t numbers[3]; /* offsets of the position counters */
};

struct stage {
	const struct kind *kind;
	struct area queue, data, payloads, got, atoms;
	uint32_t policy, slot_bytes;
	uint64_t slots_offset, bytes;
	uint8_t first_line[LINE];
	struct peal_mailbox_lease lease;
	struct peal_work_producer worker;
	struct peal_work_consumer taker;
	struct peal_topic_publisher publisher;
	struct peal_topic_subscriber subscriber;
	atomic_int over;
	unsigned long long random; /* of the attacker */
	uint64_t taken;
};

#define QUEUE(s, type) ((struct type *)(void *)(s)->queue.at)

static inline void check_lengths(struct stage *s, int n, uint64_t length)
{
	CHECK(n >= 1 && n <= BURST);
	CHECK(length <= BYTES);
	s->taken++;
}

/* mailbox */

static inline struct peali_mailbox_spec mailbox_spec(uint32_t policy)
{
	struct peali_mailbox_spec spec = { .slots = SLOTS,
					   .message_bytes = BYTES,
					   .n_workers = 1,
					   .policy = policy };

	CHECK_OK(peali_mailbox_spec_complete(&spec, 14, policy, "test"));
	return spec;
}

static inline uint64_t mailbox_bytes(uint32_t policy)
{
	struct peali_mailbox_spec spec = mailbox_spec(policy);

	return peali_mailbox_bytes(&spec);
}

static inline void mailbox_make(struct stage *s)
{
	struct peali_mailbox_spec spec = mailbox_spec(s->policy);

	peali_mailbox_header(QUEUE(s, peal_mailbox), &spec);
	s->slots_offset = QUEUE(s, peal_mailbox)->slots_offset;
	s->slot_bytes = spec.slot_bytes;
}

static inline void mailbox_producer(struct stage *s)
{
	memset(&s->lease, 0, sizeof(s->lease));
}

static inline void mailbox_consumer(struct stage *s)
{
	(void)s; /* its state is in the queue's memory */
}

static inline void mailbox_put(struct stage *s, uint32_t n)
{
	struct peal_mailbox *m = QUEUE(s, peal_mailbox);
	struct peal_header h = { 1, 2, 3 };

	if (n > m->lease)
		n = m->lease;
	if (s->random & 64)
		peal_mailbox_lease_release(m, &s->lease);
	peal_mailbox_put_bulk(m, &s->lease, h, s->data.at, BYTES, n);
}

static inline int mailbox_take(struct stage *s, uint32_t n)
{
	struct peal_mailbox *m = QUEUE(s, peal_mailbox);
	const uint32_t header = sizeof(struct peal_header);
	struct peal_slot_view view = { 0, 0, 0 };
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (!peal_mailbox_peek(m, &view)) {
			peal_mailbox_flush(m);
			peal_mailbox_abandon(m, m->ticket);
			break;
		}
		CHECK(view.length >= header);
		check_lengths(s, 1, view.length - header);
		memcpy(s->payloads.at, view.content + header,
		       view.length - header);
		peal_mailbox_release(m);
	}
	return (int)i;
}

static inline void mailbox_take_odd(struct stage *s)
{
	struct peal_mailbox *m = QUEUE(s, peal_mailbox);
	struct peal_slot_view view = { 0, 0, 0 };
	struct peal_header h;

	CHECK(peal_mailbox_peek(m, &view));
	memcpy(&h, view.content, sizeof(h));
	CHECK_EQ(view.kind, PEAL_KIND_EMPTY);
	CHECK_EQ(view.length, sizeof(h));
	CHECK_EQ(h.actor, ~0u);
	peal_mailbox_release(m);
	CHECK(!peal_mailbox_peek(m, &view));
}

/* work queue */

static inline struct peali_work_spec work_spec(uint32_t policy)
{
	struct peali_work_spec spec = { .slots = SLOTS,
					.message_bytes = BYTES,
					.n_producers = 1,
					.bulk = 2,
					.lease = 3,
					.policy = policy };

	CHECK_OK(peali_work_spec_complete(&spec, 14, policy, "test"));
	return spec;
}

static inline uint64_t work_bytes(uint32_t policy)
{
	struct peali_work_spec spec = work_spec(policy);

	return peali_work_bytes(&spec);
}

static inline void work_make(struct stage *s)
{
	struct peali_work_spec spec = work_spec(s->policy);

	peali_work_header(QUEUE(s, peal_work), &spec);
	QUEUE(s, peal_work)->solo = 0;
	s->slots_offset = QUEUE(s, peal_work)->slots_offset;
	s->slot_bytes = spec.slot_bytes;
}

static inline void work_producer(struct stage *s)
{
	peal_work_producer_init(QUEUE(s, peal_work), &s->worker);
}

static inline void work_consumer(struct stage *s)
{
	peal_work_consumer_init(QUEUE(s, peal_work), &s->taker, s->atoms.at);
}

static inline void work_put_some(struct stage *s, uint32_t n)
{
	struct peal_work *q = QUEUE(s, peal_work);
	struct peal_header h = { 1, 2, 3 };
	uint64_t number = s->random;

	if (s->random & 64)
		peal_work_lease_release(q, &s->worker);
	peal_work_push_bulk(q, &s->worker, h, s->data.at, BYTES, n);
	/* as the code that handles dead producers does */
	if (s->random % 8 == 0 && peal_work_open_ticket(q, 0, &number))
		peal_work_abandon_ticket(q, number);
}

static inline int work_take_some(struct stage *s, uint32_t n)
{
	struct peal_work_received *got =
		(struct peal_work_received *)(void *)s->got.at;
	struct peal_work *q = QUEUE(s, peal_work);
	int i, r;

	r = peal_work_pop_burst(q, &s->taker, s->payloads.at, BYTES, n, got);
	for (i = 0; i < r; i++)
		check_lengths(s, r, got[i].length);
	if (s->random % 16 == 0)
		peal_work_unclaim(q, &s->taker);
	return r;
}

static inline void work_take_odd(struct stage *s)
{
	CHECK_EQ(work_take_some(s, 1), PEAL_EAGAIN);
	CHECK_EQ(s->taker.dead, 1);
	CHECK_EQ(s->taker.taken, 0);
}

/* topic */

static inline struct peali_topic_spec topic_spec(uint32_t policy, uint32_t mode)
{
	struct peali_topic_spec spec = { .slots = SLOTS,
					 .message_bytes = BYTES,
					 .n_subscribers = 2,
					 .mode = mode,
					 .policy = policy };

	CHECK_OK(peali_topic_spec_complete(&spec, 14, policy, "test"));
	return spec;
}

static inline uint64_t topic_bytes(uint32_t policy)
{
	struct peali_topic_spec spec = topic_spec(policy, PEAL_TOPIC_WAIT);

	return peali_topic_bytes(&spec);
}

static inline void topic_make(struct stage *s, uint32_t mode)
{
	struct peali_topic_spec spec = topic_spec(s->policy, mode);

	peali_topic_header(QUEUE(s, peal_topic), &spec);
	s->slots_offset = QUEUE(s, peal_topic)->slots_offset;
	s->slot_bytes = spec.slot_bytes;
}

static inline void topic_make_wait(struct stage *s)
{
	topic_make(s, PEAL_TOPIC_WAIT);
}

static inline void topic_make_overwrite(struct stage *s)
{
	topic_make(s, PEAL_TOPIC_OVERWRITE);
}

static inline void topic_producer(struct stage *s)
{
	peal_topic_publisher_init(QUEUE(s, peal_topic), &s->publisher);
}

static inline void topic_consumer(struct stage *s)
{
	CHECK_OK(peal_topic_join(QUEUE(s, peal_topic), &s->subscriber, 1,
				 (int)(s->random & 1), s->atoms.at));
}

static inline void topic_put_some(struct stage *s, uint32_t n)
{
	struct peal_header h = { 1, 2, 3 };

	peal_topic_publish_bulk(QUEUE(s, peal_topic), &s->publisher, h,
				s->data.at, BYTES, n);
}

static inline int topic_take_some(struct stage *s, uint32_t n)
{
	struct peal_topic_received *got =
		(struct peal_topic_received *)(void *)s->got.at;
	int i, r;

	r = peal_topic_take_burst(QUEUE(s, peal_topic), &s->subscriber,
				  s->payloads.at, BYTES, n, got);
	for (i = 0; i < r; i++)
		check_lengths(s, r, got[i].length);
	return r;
}

static inline void topic_take_odd(struct stage *s)
{
	CHECK_EQ(topic_take_some(s, 1), PEAL_EAGAIN);
	CHECK_EQ(s->subscriber.lost, 1);
	CHECK_EQ(s->subscriber.taken, 0);
}

#define WORD(type, field) offsetof(struct type, field)

static const struct kind kinds[] = {
	{ "mailbox",
	  mailbox_bytes,
	  mailbox_make,
	  mailbox_producer,
	  mailbox_consumer,
	  mailbox_put,
	  mailbox_take,
	  mailbox_take_odd,
	  { WORD(peal_mailbox, taken), WORD(peal_mailbox, ticket),
	    WORD(peal_mailbox, head) } },
	{ "work queue",
	  work_bytes,
	  work_make,
	  work_producer,
	  work_consumer,
	  work_put_some,
	  work_take_some,
	  work_take_odd,
	  { WORD(peal_work, claimed), WORD(peal_work, turn),
	    WORD(peal_work, ticket) } },
	{ "topic that waits",
	  topic_bytes,
	  topic_make_wait,
	  topic_producer,
	  topic_consumer,
	  topic_put_some,
	  topic_take_some,
	  topic_take_odd,
	  { WORD(peal_topic, tail), WORD(peal_topic, tail),
	    WORD(peal_topic, promised) } },
	{ "topic that overwrites",
	  topic_bytes,
	  topic_make_overwrite,
	  topic_producer,
	  topic_consumer,
	  topic_put_some,
	  topic_take_some,
	  topic_take_odd,
	  { WORD(peal_topic, tail), WORD(peal_topic, tail),
	    WORD(peal_topic, promised) } },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* ---- the attacker -------------------------------------------------------- */

static inline uint64_t nonsense(unsigned long long *random)
{
	static const uint64_t edges[] = {
		0,     1,	  7,	     8,		 9,
		BYTES, BYTES + 8, BYTES + 9, 47,	 48,
		64,    255,	  256,	     4096,	 ~0u - 7,
		~0u,   ~0ULL,	  0ULL - 8,  1ULL << 31, 1ULL << 63
	};
	uint64_t r = test_random(random);

	switch (r & 3) {
	case 0:
		return edges[(r >> 8) % (sizeof(edges) / sizeof(edges[0]))];
	case 1:
		return (r >> 8) % 256;
	case 2:
		return (r >> 8) % 4096;
	default:
		return test_random(random);
	}
}

static inline uint64_t *word_at(struct stage *s, uint64_t offset)
{
	return (uint64_t *)(void *)(s->queue.at + offset);
}

/* Writes the tag that a reader expects. Its content may be missing. */
static inline void plant(struct stage *s, unsigned long long *random)
{
	uint64_t number = peal_load_relaxed_sys(
		word_at(s, s->kind->numbers[test_random(random) % 3]));
	uint64_t kind = test_random(random) % 4 ? PEAL_KIND_DATA :
						  nonsense(random);
	uint64_t low = nonsense(random);
	uint32_t atom =
		test_random(random) % 2 ?
			0 :
			(uint32_t)test_random(random) %
				peali_slot_atoms(s->policy, s->slot_bytes);
	uint32_t lap, tag;
	uint8_t *slot;

	number += test_random(random) % (SLOTS + 2) - 2;
	lap = (uint32_t)(number / SLOTS) + 1;
	slot = s->queue.at + s->slots_offset + number % SLOTS * s->slot_bytes;
	if (s->policy == PEAL_POLICY_SEQUENCE) {
		peal_slot_publish(slot, lap, (uint32_t)kind, (uint32_t)low);
		return;
	}
	if (test_random(random) % 2)
		kind |= PEAL_TAG_MANY;
	tag = peali_tag32(lap, (uint32_t)kind, (uint32_t)low);
	slot += s->policy == PEAL_POLICY_ATOM16 ? 16 * atom + 12 : 8 * atom + 4;
	peal_store_relaxed_sys_u32((uint32_t *)(void *)slot, tag);
}

/* Writes a random or an almost correct value to the queue. */
static inline void attack(struct stage *s, unsigned long long *random)
{
	uint64_t *word;

	switch (test_random(random) % 16) {
	case 0: /* any word behind the first line */
		word = word_at(s, LINE + test_random(random) %
						  ((s->bytes - LINE) / 8) * 8);
		peal_store_relaxed_sys(word, nonsense(random));
		break;
	case 1: /* a position counter, changed by a few */
		word = word_at(s, s->kind->numbers[test_random(random) % 3]);
		peal_store_relaxed_sys(word, peal_load_relaxed_sys(word) +
						     nonsense(random) % 7 - 3);
		break;
	case 2: /* a word of the lines of counters */
		word = word_at(s, LINE + test_random(random) % (LINE / 4) * 8);
		peal_store_relaxed_sys(word, nonsense(random));
		break;
	default:
		plant(s, random);
	}
}

/* ---- the victim ---------------------------------------------------------- */

static inline void stage_reset(struct stage *s)
{
	memset(s->queue.at, 0, s->bytes);
	s->kind->make(s);
	memcpy(s->first_line, s->queue.at, LINE);
	s->kind->producer(s);
	s->kind->consumer(s);
}

static inline struct stage *stage_open(const struct kind *kind, uint32_t policy)
{
	struct stage *s = (struct stage *)calloc(1, sizeof(*s));

	CHECK(s);
	s->kind = kind;
	s->policy = policy;
	s->random = SEED + policy;
	s->bytes = kind->bytes(policy);
	s->queue = area_open(s->bytes);
	s->data = area_open((uint64_t)BURST * BYTES);
	s->payloads = area_open((uint64_t)BURST * BYTES);
	s->got = area_open(BURST * sizeof(struct peal_work_received));
	kind->make(s);
	/* read in 8-byte words */
	s->atoms = area_open(
		(peal_slot_content_max(policy, s->slot_bytes) + 7) / 8 * 8);
	stage_reset(s);
	return s;
}

static inline void stage_close(struct stage *s)
{
	CHECK(!memcmp(s->first_line, s->queue.at, LINE));
	area_close(s->queue);
	area_close(s->data);
	area_close(s->payloads);
	area_close(s->got);
	area_close(s->atoms);
	free(s);
}

/* Makes one call of each side. Sometimes initializes a side again. */
static inline void step(struct stage *s, unsigned long long *random)
{
	uint64_t r = test_random(random);

	/* includes bulks that are larger than the queue */
	VICTIM_CALL(s->kind->put(s, 1 + (uint32_t)(r % BURST)));
	VICTIM_CALL(s->kind->take(s, 1 + (uint32_t)(r >> 8) % BURST));
	if ((r >> 16) % 64 == 0)
		s->kind->producer(s);
	if ((r >> 24) % 64 == 0)
		s->kind->consumer(s);
}

/* Alternates between writes of nonsense and a call of each side. */
static inline void suffer_by_turns(const struct kind *kind, uint32_t policy)
{
	struct stage *s = stage_open(kind, policy);
	uint64_t i, n;

	for (i = 0; i < CALLS; i++) {
		for (n = test_random(&s->random) % 4; n--;)
			attack(s, &s->random);
		step(s, &s->random);
		if (i % 256 == 255)
			stage_reset(s);
	}
	printf("    %s, policy %u: %llu messages in %llu calls\n", kind->name,
	       policy, (unsigned long long)s->taken, (unsigned long long)i);
	CHECK(s->taken > CALLS / 100);
	stage_close(s);
}

static inline void *attack_all_along(void *argument)
{
	struct stage *s = (struct stage *)argument;
	unsigned long long random = SEED * 3;

	while (!atomic_load_explicit(&s->over, memory_order_relaxed))
		attack(s, &random);
	return NULL;
}

/* Runs the attacker as a thread: a word can change while a call reads it. */
static inline void suffer_at_once(const struct kind *kind, uint32_t policy)
{
	struct stage *s = stage_open(kind, policy);
	pthread_t thread;
	uint64_t i;

	CHECK(!pthread_create(&thread, NULL, attack_all_along, s));
	for (i = 0; i < CALLS; i++) {
		step(s, &s->random);
		if (i % 4096 == 4095)
			stage_reset(s);
	}
	atomic_store(&s->over, 1);
	CHECK(!pthread_join(thread, NULL));
	printf("    %s, policy %u: %llu messages in %llu calls\n", kind->name,
	       policy, (unsigned long long)s->taken, (unsigned long long)i);
	CHECK(s->taken > 0);
	stage_close(s);
}

/* Returns 1 if a child process that runs the same steps fails. */
static inline int ends_badly(struct kind kind, uint32_t policy)
{
	pid_t child;
	int status;

	fflush(stdout);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		/* the child's output is not a finding */
		CHECK(freopen("/dev/null", "w", stderr));
		CHECK(freopen("/dev/null", "w", stdout));
		suffer_by_turns(&kind, policy);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	return !WIFEXITED(status) || WEXITSTATUS(status);
}

#endif
