/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_QUEUE_H
#define PEALI_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>

#include <peal/device/link_consumer.h>
#include <peal/device/impl/base/host_support.h>
#include <peal/device/mailbox.h>
#include <peal/device/link_producer.h>
#include <peal/device/topic_subscriber.h>
#include <peal/device/work_consumer.h>
#include <peal/device/topic.h>
#include <peal/queue.h>

#include "queues/call_guard.h"
#include "queues/publication.h"
#include "queues/queue_select.h"
#include "runtime/base/math.h"
#include "runtime/device/backend.h"

/*
 * Internals of the queues of host threads (peal/queue.h). queue.c has the code
 * that all kinds share. One file per kind fills a struct peali_queue_kind:
 * queue_link.c, queue_mailbox.c, queue_work.c and queue_topic.c.
 */

/* 1: a call on an end that another thread is using fails with PEAL_EBUSY. */
#if !defined(NDEBUG) || PEAL_ASAN || PEAL_TSAN
#define PEALI_QUEUE_CHECKED 1
#else
#define PEALI_QUEUE_CHECKED 0
#endif

/* Counters of an end, over all its openings. Only the end's thread writes. */
struct peali_queue_count {
	uint64_t messages;
	uint64_t calls; /* odd inside a call (queues/call_guard.h) */
	uint8_t reserved[PEAL_SHARED_LINE - 16];
};

/* An end. Only the end's thread writes here, so an end has lines of its own. */
struct peal_queue_end {
	PEAL_ALIGNED(PEAL_SHARED_LINE) struct peal_queue *queue;
	uint32_t role; /* enum peal_queue_role */
	int open;
	int lost; /* 1: its thread died in a call; do not open it again */
	struct peal_bell *bell;
	struct peali_queue_count *count;
	/* 1: a thread is in a call (PEALI_QUEUE_CHECKED only) */
	atomic_int busy;
	union { /* kept from one opening of the end to the next */
		struct peal_link_producer producer;
		struct peal_link_consumer consumer;
		struct peal_mailbox_lease lease;
		struct peal_work_producer worker;
		struct peal_work_consumer taker;
		struct peal_topic_publisher publisher;
		struct peal_topic_subscriber subscriber;
	} at;
};

/* All ends of one role. */
struct peali_queue_side {
	struct peal_queue_end *end; /* [most] */
	struct peal_bell *bells; /* [most] */
	struct peali_queue_count *counts; /* [most] */
	uint32_t most;
	uint32_t opened, closed; /* times; the lock protects both */
	/*
	 * 1: an end's thread died in a call, and the kind cannot continue. The
	 * lock protects it.
	 */
	int broken;
	/* 1: `broken` is 1, or all ends that were ever opened are closed */
	atomic_int gone;
};

/*
 * A search for the gaps of dead producers: tickets that will never be
 * published. The search runs while `deaths` is not 0.
 */
struct peali_queue_look {
	int deaths; /* dead producers that this search covers */
	uint64_t until; /* the search covers the tickets below this number */
	/* call words of the producers at the start of the search */
	uint64_t calls[PEAL_QUEUE_ENDS];
};

struct peal_queue {
	const struct peali_queue_kind *kind;
	/* exact bytes of every message; 0: up to message_bytes */
	uint64_t least;
	struct peal_queue_options options; /* with defaults filled in */
	char name[32];
	/* robust; serializes opening and closing of ends */
	pthread_mutex_t lock;
	struct peali_queue_side side[2];
	uint32_t bulk; /* most messages of one push */
	uint8_t *memory; /* `bytes` bytes: the layout of the kind */
	uint64_t bytes;
	/* inside `memory`: one per end that unpacks messages */
	uint8_t *stages;
	uint64_t stage; /* bytes of each stage; 0: messages are not unpacked */
	atomic_int owed; /* closed producers with an ungranted lease request */
	atomic_int died; /* dead producers; their gaps are not closed yet */
	struct peali_queue_look look; /* the lock protects it */
};

struct peali_queue_kind {
	uint32_t kind;
	const char *name;
	uint32_t producers, consumers; /* most ends of each role */
	int to_each; /* 1: every consumer gets every message */
	int leases; /* 1: producers lease slots, and each can get its share */
	/* Fills plan->spec and all later fields. Returns 0 or an error. */
	int (*plan)(struct peali_queue_plan *plan, const char *call);
	/* Writes the queue's header to `out`. Returns its bytes. */
	uint64_t (*header)(const struct peali_queue_plan *plan, void *out);
	/* Initializes all ends. All memory behind the header is zero. */
	void (*make)(struct peal_queue *q);
	/*
	 * `push` puts n messages, at most q->bulk, and returns 0. `pop` takes
	 * up to n messages and returns the number. Message i begins `each` * i
	 * bytes behind the buffer's start. Each call wakes the ends that wait
	 * for it. Errors are those of the device function, for example
	 * PEAL_EAGAIN.
	 */
	int (*push)(struct peal_queue_end *end, const void *data,
		    uint64_t bytes, uint32_t n);
	int (*pop)(struct peal_queue_end *end, void *buffer, uint64_t each,
		   uint32_t n, uint64_t *lengths);
	/*
	 * Passes held-back slots to the other ends: a producer's unused lease,
	 * a consumer's freed slots. Called before a wait and at closing.
	 */
	void (*settle)(struct peal_queue_end *end);
	/*
	 * All producers are closed. Returns 1 if no message remains for this
	 * consumer. NULL: none remains once `pop` returns PEAL_EAGAIN.
	 */
	int (*drained)(const struct peal_queue_end *end);
	/*
	 * `tickets` returns the number of tickets ever taken, with an acquire.
	 *
	 * `skip_dead` gives up the unpublished tickets of dead producers below
	 * `until`. Call `skip_dead` for a consumer after its `pop` has returned
	 * PEAL_EAGAIN. The caller holds q->lock. `skip_dead` returns 1 if the
	 * consumer must pop again and then call `skip_dead` again.
	 *
	 * NULL: the kind has no gaps.
	 */
	uint64_t (*tickets)(const struct peal_queue *q);
	int (*skip_dead)(struct peal_queue_end *end, uint64_t until);
	/*
	 * The end's thread died inside `push`, `pop` or `settle`. Returns 1 if
	 * the end may be opened again. NULL: the end is lost. The caller holds
	 * q->lock.
	 */
	int (*died)(struct peal_queue_end *end);
	/*
	 * Repairs the leases of closed ends after the death of a thread that
	 * was returning such leases. The caller holds q->lock. NULL: the kind
	 * does not return leases for closed ends.
	 */
	void (*relock)(struct peal_queue *q);
	/*
	 * Frees the leases of dead producers, so that their ends can be opened
	 * again. No producer is open. The caller holds q->lock. NULL: the ends
	 * stay lost.
	 */
	void (*reclaim)(struct peal_queue *q);
	/*
	 * `enter` runs at opening; the caller holds q->lock. `leave` runs at
	 * closing, without the lock. NULL: nothing to do.
	 */
	void (*enter)(struct peal_queue_end *end);
	void (*leave)(struct peal_queue_end *end);
	/* Returns the messages that a consumer missed. NULL: never any. */
	uint64_t (*missed)(const struct peal_queue_end *end);
};

extern const struct peali_queue_kind peali_queue_link, peali_queue_mailbox,
	peali_queue_work, peali_queue_topic;

/* Returns the mask of policies that host threads support. */
static inline uint32_t peali_queue_policies(void)
{
	return peali_host_backend.policies(NULL);
}

/* Returns the bytes of a stage in whole lines, for plan->stage. */
static inline uint64_t peali_queue_stage(uint32_t policy, uint32_t slot_bytes)
{
	return peali_whole_lines(peali_publication_stage(policy, slot_bytes));
}

/* Returns the messages of all ends of a role: accepted, or delivered. */
uint64_t peali_queue_count(const struct peal_queue *q,
			   enum peal_queue_role role);

/*
 * Takes the lock (queue_recover.c). If the previous owner died, restores the
 * fields that the lock protects.
 */
void peali_queue_lock(struct peal_queue *q);
/*
 * Takes the lock if it is free, else returns 0. For push and pop, which never
 * wait for the lock.
 */
int peali_queue_trylock(struct peal_queue *q);

/*
 * Records that the end's thread died inside a call. The end is lost unless the
 * kind allows another opening. The caller holds q->lock.
 */
void peali_queue_owner_died(struct peal_queue_end *end);
/*
 * Frees the leases of dead producers, so that their ends can be opened again.
 * All producers are closed. The caller holds q->lock.
 */
void peali_queue_reclaim_lock(struct peal_queue *q);

/*
 * Gives up the gaps of dead producers. Returns 1 if there may be a message to
 * take now. Returns 0 with q->died not 0 if the search is not finished.
 */
int peali_queue_recover(struct peal_queue_end *end);

/* Wakes up to n of the sleeping ends of a role. */
void peali_queue_ring(struct peal_queue *q, enum peal_queue_role role,
		      uint32_t n);

#endif
