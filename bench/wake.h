/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_WAKE_H
#define PEAL_BENCH_WAKE_H

/*
 * How long it takes from a message that is put to its receipt by who waits for
 * it: asleep for sure, or waiting for some time. The one who puts has the
 * clock, and polls for the answer, a number in a cache line; so the way back is
 * in every figure, ours and the peers'.
 */

#include <pthread.h>
#include <stdint.h>

#include <peal/device/atomic.h>
#include <peal/queue.h>

#include "bench/bare.h"
#include "bench/report.h"
#include "bench/stand.h"

#define PEALI_WAKE_LATE 1 /* of take: nothing came for so long */

struct peali_wake;

/* A way to wait and to be woken, ours or a peer's. */
struct peali_wake_way {
	const char *name;
	int rings; /* 1: by our bells, whose wakes are counted */
	/* 0, or -1 with a message; close is for both. */
	int (*open)(struct peali_wake *w);
	int (*close)(struct peali_wake *w);
	/* Puts a number, and wakes who waits; 0 or -1. */
	int (*put)(struct peali_wake *w, uint64_t number);
	/* In the waiting thread: waits for a number; 0 or PEALI_WAKE_LATE. */
	int (*take)(struct peali_wake *w, uint64_t *number_out);
	/* Without such a thread: looks for the answer; 1 if it is there. */
	int (*answered)(struct peali_wake *w, uint64_t *number_out);
	const char *thread; /* and the name of who waits */
};

struct peali_wake {
	const struct peali_wake_way *way;
	struct peali_cores cores; /* of who waits, of who puts */
	struct peali_stand *stand; /* for ways with a runtime */
	uint64_t gap_ns; /* put so long after the last answer; 0: asleep */
	uint64_t limit_ns; /* give up then; 0: 10 s */
	/* the rest is private */
	uint32_t thread_id; /* of who waits; 0: it is not there yet */
	uint64_t n; /* messages of the round */
	uint64_t over; /* 1: there will be no more */
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
	uint64_t number; /* who puts: 0 is none */
	uint32_t full; /* a futex: 1: there is a number */
	PEAL_ALIGNED(PEAL_SHARED_LINE) uint64_t answer; /* who waits */
	uint64_t wakes_before; /* who puts */
};

/* Ours, and those of the system that it is compared with. */
extern const struct peali_wake_way peali_wake_queue, peali_wake_worker;
extern const struct peali_wake_way peali_wake_futex, peali_wake_cond,
	peali_wake_eventfd, peali_wake_pipe;
/* Never sleeps: the limit of what comes early. */
extern const struct peali_wake_way peali_wake_poll;

/**
 * A round of n messages, each with a number that who waits sends back.
 *
 * @param w       way, cores, gap_ns and the rest of what is not private.
 * @param samples they are added to its open round, in ns; with gap_ns 0 those
 *                alone for which somebody was woken.
 * @return 0, or -1 with a message: a number was changed or never came, or who
 *         is to be asleep never slept.
 */
int peali_wake_round(struct peali_wake *w, uint64_t n,
		     struct peali_samples *samples);

/** How long a side waits before it gives up. */
uint64_t peali_wake_limit_ns(const struct peali_wake *w);

/** All rows of waking, in about so many seconds; 0, or -1 with a message. */
int peali_wake_rows(struct peali_report *report, struct peali_stand *stand,
		    const struct peali_bench_options *options);

#endif
