/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_STRESS_H
#define TEST_STRESS_H

/*
 * Runs stress tests for a chosen time. By default each case runs its rounds
 * once. If PEAL_STRESS_SECONDS is set, each case repeats its rounds for this
 * time. Each round then has a new seed, and pauses last up to seconds. At the
 * end the test prints the number of verified messages. `./dev stress` adds
 * these numbers up.
 */

#include "queues/identity.h"
#include "queues/stress_word.h"

/* Messages with correct identity and content. */
static atomic_ullong stress_verified;

static inline uint64_t stress_seconds(void)
{
	const char *text = getenv("PEAL_STRESS_SECONDS");

	return text ? strtoull(text, NULL, 10) : 0;
}

struct stress_clock {
	uint64_t until_ms; /* 0: one pass over the rounds */
	uint64_t rounds, round; /* of a pass; the next round */
};

static inline struct stress_clock stress_begin(uint64_t rounds)
{
	uint64_t seconds = stress_seconds();
	struct stress_clock c = { 0, rounds, 0 };

	if (seconds)
		c.until_ms = identity_now_ms() + seconds * 1000;
	return c;
}

/* Returns 1 if there is another round. Its number selects its seed. */
static inline int stress_next(struct stress_clock *c, uint64_t *round_out)
{
	if (c->until_ms ? c->round && identity_now_ms() >= c->until_ms :
			  c->round >= c->rounds)
		return 0;
	*round_out = c->round++;
	return 1;
}

/* Pauses sometimes: up to 512 us, in a long stress up to 2 s. */
static inline void stress_pause(unsigned long long *random)
{
	unsigned long long r = test_random(random);
	uint64_t us, longest;
	struct timespec t;

	if (r % (1 << 16))
		return;
	longest = stress_seconds() && (r >> 24) % 64 == 0 ? 22 : 10;
	us = 1ULL << (r >> 32) % longest;
	t.tv_sec = (time_t)(us / 1000000);
	t.tv_nsec = (long)(us % 1000000) * 1000;
	nanosleep(&t, NULL);
}

/* Calls stress_pause with random numbers of the calling thread. */
static inline void stress_pause_here(void)
{
	static atomic_ullong threads;
	static _Thread_local unsigned long long random;

	if (!random)
		random = 4001 * (1 + atomic_fetch_add(&threads, 1));
	stress_pause(&random);
}

/*
 * Returns the number of messages of a round. Long messages and small queues get
 * fewer, a timed stress gets more.
 */
static inline uint64_t stress_count(uint64_t messages, uint64_t bytes,
				    uint64_t capacity)
{
	if (bytes > 1000)
		messages /= 4;
	if (capacity <= 8) /* the threads take turns */
		return messages / 8;
	return stress_seconds() ? messages * 16 : messages;
}

/*
 * Defines a case of a list X(name, numbers...). The case calls all(numbers...)
 * of the test.
 */
#define STRESS_TEST(name, ...)                                                 \
	PEAL_TEST(name)                                                        \
	{                                                                      \
		all(__VA_ARGS__);                                              \
	}
#define STRESS_RUN(name, ...) RUN(name);

/* Prints the number of verified messages. Call it after all cases. */
static inline void stress_print_total(void)
{
	printf("verified messages: %llu\n", atomic_load(&stress_verified));
}

/* ---- content: producer, sequence number, words made of both -------------- */

/* Writes a message to `to`. `bytes` is a multiple of 8. */
static inline void stress_fill(void *to, uint64_t bytes, uint64_t producer,
			       uint64_t sequence)
{
	uint64_t id = stress_id(producer, sequence), word, i;
	uint8_t *out = (uint8_t *)to;

	for (i = 0; i < bytes / 8; i++) {
		word = stress_word(id, i);
		memcpy(out + 8 * i, &word, 8);
	}
}

/* Returns 1 if the words after the first one belong to message `id`. */
static inline int stress_whole(const void *from, uint64_t bytes, uint64_t id)
{
	const uint8_t *in = (const uint8_t *)from;
	uint64_t word, odd = 0, i;

	for (i = 1; i < bytes / 8; i++) {
		memcpy(&word, in + 8 * i, 8);
		odd |= word ^ stress_word(id, i);
	}
	return !odd;
}

/*
 * Checks that a message is whole and the next one of its producer. A lost,
 * doubled or overtaken message does not have the next number. Increments the
 * producer's `next`. Returns 1 if the message is correct.
 */
static inline int stress_check(const void *from, uint64_t bytes, uint64_t *next,
			       uint32_t producers)
{
	uint64_t id;

	memcpy(&id, from, 8);
	if (id >> 56 >= producers || (id << 8) >> 8 != next[id >> 56])
		return 0;
	next[id >> 56]++;
	return stress_whole(from, bytes, id);
}

/* ---- messages for several takers, with a common list --------------------- */

struct stress_list {
	uint32_t producers;
	uint64_t each; /* messages of each producer */
	atomic_uchar *seen; /* [producers * each] */
};

static inline void stress_list_open(struct stress_list *l, uint32_t producers,
				    uint64_t each)
{
	l->producers = producers;
	l->each = each;
	l->seen = (atomic_uchar *)calloc(producers, each);
	CHECK(l->seen);
}

/*
 * Marks a message as taken. Returns 1 if it is whole, was not taken before, and
 * follows this taker's earlier messages of its producer. `next`: the taker's
 * next sequence per producer; NULL: any order is correct.
 */
static inline int stress_tick(struct stress_list *l, const void *from,
			      uint64_t bytes, uint64_t *next)
{
	uint64_t id, sequence;

	memcpy(&id, from, 8);
	sequence = (id << 8) >> 8;
	if (id >> 56 >= l->producers || sequence >= l->each)
		return 0;
	if (atomic_exchange(&l->seen[(id >> 56) * l->each + sequence], 1))
		return 0;
	if (next && sequence < next[id >> 56])
		return 0;
	if (next)
		next[id >> 56] = sequence + 1;
	return stress_whole(from, bytes, id);
}

/* Frees the list. Returns 1 if every message was taken. */
static inline int stress_list_close(struct stress_list *l)
{
	uint64_t i, left = 0;

	for (i = 0; i < l->producers * l->each; i++)
		left += !l->seen[i];
	free(l->seen);
	return !left;
}

#endif
