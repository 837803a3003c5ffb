/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_QUEUE_H
#define PEAL_BENCH_QUEUE_H

/*
 * A queue of the benchmark `queues`: ours or a baseline, in C or C++. Each kind
 * is a struct of functions in its own file (kinds/, baseline/). The loops are
 * compiled with the queue's functions inline, once per message size. So no kind
 * pays for a call per message.
 *
 * A message is an array of 64-bit words. Word i is the producer's base word i
 * plus the number of the message. The high byte of base word 0 is the producer.
 * All kinds fill and check messages by the same functions. A message counts
 * when it has been checked.
 */

#include <peal/device/atomic.h>

#include "ringkernels/bench_program.h"

PEAL_BEGIN_C

#define PEALI_BENCH_QUEUE_ENDS 4 /* most producers, and most consumers */
#define PEALI_BENCH_QUEUE_BURST 32
#define PEALI_BENCH_QUEUE_PRODUCER_SHIFT 56
#define PEALI_BENCH_QUEUE_POLLS 65536 /* polls per reading of the clock */

struct peali_bench_queue_shape {
	uint32_t bytes; /* of a message: 8, 48, 64, 256 or 4096 */
	uint32_t burst; /* 1 or PEALI_BENCH_QUEUE_BURST */
	uint32_t producers, consumers;
	uint32_t slots; /* a power of two */
	uint32_t every; /* 1: each consumer gets all messages (a topic) */
	uint32_t trips; /* 1: for round trips */
	/* 1: a thread both sends and receives, so it must not sleep */
	uint32_t both;
};

/* Action of a waiting thread between two polls. */
enum peali_bench_queue_gap {
	PEALI_GAP_NONE = 0,
	PEALI_GAP_PAUSE = 1, /* peal_pause */
	PEALI_GAP_FENCES = 2, /* peal_poll_gap */
	PEALI_GAPS = 3,
	PEALI_GAP_YIELD = 3 /* for threads that share a core */
};

/*
 * An end of a queue: one producer or one consumer. While its thread runs, no
 * other thread uses it.
 */
struct peali_bench_queue_end {
	struct peali_bench_queue_shape shape;
	uint32_t index; /* among producers, or among consumers */
	enum peali_bench_queue_gap gap;
	uint64_t *stop; /* 1: a thread has given up */
	uint64_t until_ns; /* time to give up, unless messages have moved */
	uint64_t limit_ns, moved_before;
	uint64_t polls;
	/* fields of a producer */
	uint64_t sent; /* number of the next message */
	uint64_t limit; /* messages to send */
	/* messages in the stage, and the first one that is not sent */
	uint32_t staged, staged_from;
	/* fields of a consumer */
	uint64_t taken;
	uint64_t wrong; /* wrong messages */
	uint64_t next[PEALI_BENCH_QUEUE_ENDS]; /* smallest number to expect */
	uint64_t sum[PEALI_BENCH_QUEUE_ENDS]; /* sum of the numbers received */
	uint64_t squares[PEALI_BENCH_QUEUE_ENDS];
	/* base words of the producers */
	const uint64_t *base[PEALI_BENCH_QUEUE_ENDS];
	PEAL_ALIGNED(PEAL_SHARED_LINE)
	uint64_t stage[PEALI_BENCH_QUEUE_BURST * PEALI_BENCH_WORDS];
	/*
	 * Read by other threads. Consumer: copy of `taken`. Producer: sent + 1
	 * at its end.
	 */
	PEAL_ALIGNED(PEAL_SHARED_LINE) uint64_t told;
};

struct peali_bench_queue_kind {
	const char *name;
	/* reason why this build does not have the kind; NULL: it does */
	const char *missing;
	/* Makes an empty queue. Returns NULL if there is no memory. */
	void *(*open)(const struct peali_bench_queue_shape *shape);
	void (*close)(void *queue);
	/*
	 * Sends or receives up to n messages, until the queue is full or empty.
	 * Returns the number of messages.
	 */
	uint64_t (*send)(void *queue, struct peali_bench_queue_end *end,
			 uint64_t n);
	uint64_t (*take)(void *queue, struct peali_bench_queue_end *end,
			 uint64_t n);
	/*
	 * Makes n round trips of one message: out by queues[0], back by
	 * queues[1]. Parameter first: 1 if this side sends first. Returns the
	 * number of trips. It is less than n if a thread gave up.
	 */
	uint64_t (*trips)(void *const queues[2],
			  struct peali_bench_queue_end *out,
			  struct peali_bench_queue_end *in, uint64_t n,
			  int first);
};

/* Returns 1 if it is time to give up. Reads the clock. */
int peali_bench_queue_give_up(struct peali_bench_queue_end *end);

/*
 * Returns zeroed memory in whole shared lines, or NULL. The caller frees it by
 * free().
 */
void *peali_bench_queue_memory(uint64_t bytes);

/* Lets another thread run on this core. */
void peali_bench_queue_yield(void);

/* Waits between two polls. Returns 1 if it is time to give up. */
static PEAL_INLINE int peali_bench_queue_wait(struct peali_bench_queue_end *end)
{
	if (end->gap == PEALI_GAP_PAUSE)
		peal_pause();
	else if (end->gap == PEALI_GAP_FENCES)
		peal_poll_gap();
	else if (end->gap == PEALI_GAP_YIELD) {
		/*
		 * A yield may take a time slice of each thread on the core. So
		 * read the clock sooner.
		 */
		peali_bench_queue_yield();
		end->polls |= PEALI_BENCH_QUEUE_POLLS / 64 - 1;
	}
	return PEAL_UNLIKELY(++end->polls % PEALI_BENCH_QUEUE_POLLS == 0) &&
	       peali_bench_queue_give_up(end);
}

/* Returns how many messages a call may send now. */
static PEAL_INLINE uint32_t
peali_bench_queue_space(const struct peali_bench_queue_end *end, uint32_t burst)
{
	uint64_t left = end->limit - end->sent;

	return left < burst ? (uint32_t)left : burst;
}

/* Writes the message `ahead` places after the next one. */
static PEAL_INLINE void
peali_bench_queue_fill(const struct peali_bench_queue_end *end, void *to,
		       uint32_t bytes, uint32_t ahead)
{
	const struct peali_bench_share share = { bytes / 8, 0, 1 };

	peali_bench_fill((uint64_t *)to, end->base[end->index],
			 end->sent + ahead, share);
}

/*
 * Fills the stage with the next messages, for queues that copy. The messages
 * stay in the stage while the queue is full. Returns the number of messages
 * there. *from_out is the first one.
 */
static PEAL_INLINE uint32_t
peali_bench_queue_stage(struct peali_bench_queue_end *end, uint32_t bytes,
			uint32_t burst, uint64_t **from_out)
{
	if (end->staged_from == end->staged) {
		end->staged = peali_bench_queue_space(end, burst);
		end->staged_from = 0;
		for (uint32_t i = 0; i < end->staged; i++)
			peali_bench_queue_fill(
				end, end->stage + i * (bytes / 8), bytes, i);
	}
	*from_out = end->stage + end->staged_from * (bytes / 8);
	return end->staged - end->staged_from;
}

/* Marks the next n messages of the stage as sent. Returns n. */
static PEAL_INLINE uint32_t
peali_bench_queue_unstage(struct peali_bench_queue_end *end, uint32_t n)
{
	end->staged_from += n;
	return n;
}

/* Counts a received message and checks its words and its order. */
static PEAL_INLINE void
peali_bench_queue_check(struct peali_bench_queue_end *end, const void *from,
			uint32_t bytes)
{
	const struct peali_bench_share share = { bytes / 8, 0, 1 };
	const uint64_t *words = (const uint64_t *)from;
	uint64_t number = end->taken++;
	uint32_t p = 0;

	if (end->shape.producers > 1 || end->shape.consumers > 1) {
		p = (uint32_t)(words[0] >> PEALI_BENCH_QUEUE_PRODUCER_SHIFT);
		/* the check below finds the wrong word */
		p = p < end->shape.producers ? p : 0;
		number = words[0] - end->base[p][0];
		if (end->shape.consumers > 1 && !end->shape.every)
			end->wrong += number < end->next[p];
		else
			end->wrong += number != end->next[p];
		end->next[p] = number + 1;
		end->sum[p] += number;
		end->squares[p] += number * number;
	}
	end->wrong +=
		peali_bench_check(words, end->base[p], number, 0, share) != 0;
}

/* Counts a message of a wrong length. */
static PEAL_INLINE void
peali_bench_queue_note_wrong(struct peali_bench_queue_end *end)
{
	end->taken++;
	end->wrong++;
}

PEAL_END_C

/*
 * Defines NAME_send, NAME_take and NAME_trips from two inline functions, with
 * size and burst as constants:
 *
 *	uint32_t put(void *queue, struct peali_bench_queue_end *end,
 *		     uint32_t bytes, uint32_t burst);
 *				sends up to burst of the next messages
 *	uint32_t get(...);		receives up to burst and checks each
 *
 * Both return the number of messages; 0: the queue is full, or empty.
 */
#define PEALI_BENCH_QUEUE_LOOPS(name, put, get)                                \
	static PEAL_INLINE uint64_t name##_send_sized(                         \
		void *queue, struct peali_bench_queue_end *end, uint64_t n,    \
		uint32_t bytes, uint32_t burst)                                \
	{                                                                      \
		const uint64_t first = end->sent;                              \
                                                                               \
		n = n < end->limit - first ? n : end->limit - first;           \
		while (end->sent - first < n) {                                \
			uint32_t k = put(queue, end, bytes, burst);            \
                                                                               \
			if (!k)                                                \
				break;                                         \
			end->sent += k;                                        \
		}                                                              \
		return end->sent - first;                                      \
	}                                                                      \
	static PEAL_INLINE uint64_t name##_take_sized(                         \
		void *queue, struct peali_bench_queue_end *end, uint64_t n,    \
		uint32_t bytes, uint32_t burst)                                \
	{                                                                      \
		const uint64_t first = end->taken;                             \
                                                                               \
		while (end->taken - first < n)                                 \
			if (!get(queue, end, bytes, burst))                    \
				break;                                         \
		return end->taken - first;                                     \
	}                                                                      \
	static PEAL_INLINE uint64_t name##_trips_sized(                        \
		void *const *queues, struct peali_bench_queue_end *out,        \
		struct peali_bench_queue_end *in, uint64_t n, int first,       \
		uint32_t bytes)                                                \
	{                                                                      \
		for (uint64_t i = 0; i < n; i++) {                             \
			if (!first)                                            \
				while (!get(queues[1], in, bytes, 1))          \
					if (peali_bench_queue_wait(in))        \
						return i;                      \
			while (!put(queues[0], out, bytes, 1))                 \
				if (peali_bench_queue_wait(out))               \
					return i;                              \
			out->sent++;                                           \
			if (first)                                             \
				while (!get(queues[1], in, bytes, 1))          \
					if (peali_bench_queue_wait(in))        \
						return i;                      \
		}                                                              \
		return n;                                                      \
	}                                                                      \
	static uint64_t name##_send(                                           \
		void *queue, struct peali_bench_queue_end *end, uint64_t n)    \
	{                                                                      \
		PEALI_BENCH_QUEUE_EACH_SIZE(name##_send_sized, end->shape,     \
					    queue, end, n)                     \
	}                                                                      \
	static uint64_t name##_take(                                           \
		void *queue, struct peali_bench_queue_end *end, uint64_t n)    \
	{                                                                      \
		PEALI_BENCH_QUEUE_EACH_SIZE(name##_take_sized, end->shape,     \
					    queue, end, n)                     \
	}                                                                      \
	static uint64_t name##_trips(void *const *queues,                      \
				     struct peali_bench_queue_end *out,        \
				     struct peali_bench_queue_end *in,         \
				     uint64_t n, int first)                    \
	{                                                                      \
		switch (out->shape.bytes) {                                    \
		case 8:                                                        \
			return name##_trips_sized(queues, out, in, n, first,   \
						  8);                          \
		case 48:                                                       \
			return name##_trips_sized(queues, out, in, n, first,   \
						  48);                         \
		case 64:                                                       \
			return name##_trips_sized(queues, out, in, n, first,   \
						  64);                         \
		case 256:                                                      \
			return name##_trips_sized(queues, out, in, n, first,   \
						  256);                        \
		default:                                                       \
			return name##_trips_sized(queues, out, in, n, first,   \
						  4096);                       \
		}                                                              \
	}

#define PEALI_BENCH_QUEUE_EACH_BURST(sized, shape, size, ...)                  \
	case size:                                                             \
		if ((shape).burst == 1)                                        \
			return sized(__VA_ARGS__, size, 1);                    \
		return sized(__VA_ARGS__, size, PEALI_BENCH_QUEUE_BURST);
#define PEALI_BENCH_QUEUE_EACH_SIZE(sized, shape, ...)                         \
	switch ((shape).bytes) {                                               \
		PEALI_BENCH_QUEUE_EACH_BURST(sized, shape, 8, __VA_ARGS__)     \
		PEALI_BENCH_QUEUE_EACH_BURST(sized, shape, 48, __VA_ARGS__)    \
		PEALI_BENCH_QUEUE_EACH_BURST(sized, shape, 64, __VA_ARGS__)    \
		PEALI_BENCH_QUEUE_EACH_BURST(sized, shape, 256, __VA_ARGS__)   \
		PEALI_BENCH_QUEUE_EACH_BURST(sized, shape, 4096, __VA_ARGS__)  \
	default:                                                               \
		return 0;                                                      \
	}

#endif
