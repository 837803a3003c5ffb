/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_WAKE_H
#define PEAL_BENCH_WAKE_H

/*
 * Measures waking: the time from a message to its receipt by a waiting thread
 * (the waiter). The waiter sleeps for sure, or has waited for some time. The
 * sender has the clock. It polls for the answer, a number in a cache line. So
 * every time includes the way back, for ours and for baselines.
 */

#include <pthread.h>
#include <stdint.h>

#include <peal/device/atomic.h>
#include <peal/queue.h>

#include "bench/cacheline_bounce.h"
#include "bench/report.h"
#include "bench/fixture.h"

#define PEALI_WAKE_LATE 1 /* result of take: no number arrived in time */

struct peali_wake;

/* A way to wait and to wake, ours or a baseline. */
struct peali_wake_method {
	const char *name;
	/* 1: our bells wake the waiter, and their wakes are counted */
	int rings;
	/*
	 * Both return 0, or -1 with a message. close is called after a failed
	 * open, too.
	 */
	int (*open)(struct peali_wake *w);
	int (*close)(struct peali_wake *w);
	/* Stores a number and wakes the waiter. Returns 0 or -1. */
	int (*put)(struct peali_wake *w, uint64_t number);
	/*
	 * Called by the waiter: waits for a number. Returns 0 or
	 * PEALI_WAKE_LATE.
	 */
	int (*take)(struct peali_wake *w, uint64_t *number_out);
	/*
	 * For ways without a thread of this benchmark: polls for the answer.
	 * Returns 1 if it has arrived.
	 */
	int (*answered)(struct peali_wake *w, uint64_t *number_out);
	const char *thread; /* name of the thread that waits then */
};

/* A round of a way. */
struct peali_wake {
	const struct peali_wake_method *method;
	struct peali_cores cores; /* a: of the waiter; b: of the sender */
	struct peali_fixture *fixture; /* for ways with a runtime */
	/*
	 * ns from the last answer to the next number; 0: until the waiter
	 * sleeps
	 */
	uint64_t gap_ns;
	uint64_t limit_ns; /* time-out, ns; 0: 10 s */
	/* The other fields are private. */
	uint32_t thread_id; /* of the waiter; 0: it has not started */
	uint64_t n; /* messages of the round */
	uint64_t over; /* 1: there are no more messages */
	union {
		struct {
			struct peal_queue *queue;
			struct peal_queue_end *producer, *consumer;
		} queue;
		struct {
			int port;
		} worker;
		struct {
			pthread_mutex_t mutex;
			pthread_cond_t cond;
			uint64_t number; /* 0: none */
		} cond;
		int fd[2];
	} at;
	PEAL_ALIGNED(PEAL_SHARED_LINE)
	uint64_t number; /* written by the sender; 0: none */
	uint32_t full; /* futex word; 1: there is a number */
	/* written by the waiter */
	PEAL_ALIGNED(PEAL_SHARED_LINE) uint64_t answer;
	/* of the sender: count of wakes at the last call of was_woken */
	uint64_t wakes_before;
};

/* Our ways, and ways of the system as baselines. */
extern const struct peali_wake_method peali_wake_queue, peali_wake_worker;
extern const struct peali_wake_method peali_wake_futex, peali_wake_cond,
	peali_wake_eventfd, peali_wake_pipe;
/* Never sleeps: the limit for messages that arrive early. */
extern const struct peali_wake_method peali_wake_poll;

/**
 * Sends n messages, each with a number that the waiter sends back.
 *
 * @param w the caller has set method, cores, fixture, gap_ns and limit_ns.
 * @param samples gets the samples in its open round, in ns. With gap_ns 0 only
 *     messages count that have woken the waiter.
 * @return 0, or -1 with a message: a number was changed or did not arrive, or
 *     the waiter never slept.
 */
int peali_wake_round(struct peali_wake *w, uint64_t n,
		     struct peali_samples *samples);

/** Returns the time in ns after which a side gives up. */
uint64_t peali_wake_limit_ns(const struct peali_wake *w);

/** Measures all rows of waking. Returns 0, or -1 with a message. */
int peali_wake_rows(struct peali_report *report, struct peali_fixture *fixture,
		    const struct peali_bench_options *options);

#endif
