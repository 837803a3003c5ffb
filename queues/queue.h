/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_QUEUE_H
#define PEALI_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>

#include <peal/device/consumer.h>
#include <peal/device/host.h>
#include <peal/device/mailbox.h>
#include <peal/device/producer.h>
#include <peal/device/take_topic.h>
#include <peal/device/take_work.h>
#include <peal/device/topic.h>
#include <peal/queue_of.h>

#include "queues/calls.h"
#include "queues/policy.h"
#include "queues/queue_plan.h"
#include "runtime/backend/backend.h"
#include "runtime/backend/round.h"

/*
 * Inside of peal/queue.h: what all kinds share is in queue.c, one file for each
 * kind fills a struct peali_queue_kind.
 */

/* Whether a call on an end that another thread is in is told so. */
#if !defined(NDEBUG) || PEAL_ASAN || PEAL_TSAN
#define PEALI_QUEUE_CHECKED 1
#else
#define PEALI_QUEUE_CHECKED 0
#endif

/* Messages of an end, over all who ever had it. Only writer: its thread. */
struct peali_queue_count {
	uint64_t messages;
	uint64_t calls; /* queues/calls.h */
	uint8_t reserved[PEAL_SHARED_LINE - 16];
};

/* Of one thread, which writes to it in each call: in lines of its own. */
struct peal_queue_end {
	PEAL_ALIGNED(PEAL_SHARED_LINE) struct peal_queue *queue;
	uint32_t role; /* enum peal_queue_role */
	int open;
	int lost; /* its thread died in a call: not given to another */
	struct peal_bell *bell;
	struct peali_queue_count *count;
	atomic_int busy; /* if PEALI_QUEUE_CHECKED */
	union { /* goes on when the end is opened again */
		struct peal_link_producer producer;
		struct peal_link_consumer consumer;
		struct peal_mailbox_lease lease;
		struct peal_work_producer worker;
		struct peal_work_consumer taker;
		struct peal_topic_publisher publisher;
		struct peal_topic_subscriber subscriber;
	} at;
};

/* Ends of one role. */
struct peali_queue_side {
	struct peal_queue_end *end; /* [most] */
	struct peal_bell *bells; /* [most] */
	struct peali_queue_count *counts; /* [most] */
	uint32_t most;
	uint32_t opened, closed; /* times; under the queue's lock */
	int broken; /* an end of a kind that cannot do without it is lost */
	atomic_int gone; /* all that were ever opened are closed; or broken */
};

/* A look for gaps of producers that died, under way while deaths is not 0. */
struct peali_queue_look {
	int deaths; /* so many are covered by it */
	uint64_t until; /* the tickets before that one are looked at */
	uint64_t calls[PEAL_QUEUE_ENDS]; /* of the producers, when it began */
};

struct peal_queue {
	const struct peali_queue_kind *kind;
	uint64_t least; /* message_bytes where all have them, else 0 */
	struct peal_queue_options options; /* completed */
	char name[32];
	pthread_mutex_t lock; /* opening and closing of ends */
	struct peali_queue_side side[2];
	uint32_t bulk; /* the most messages that are put at a time */
	uint8_t *memory; /* `bytes`, for the kind */
	uint64_t bytes;
	uint8_t *stages; /* in that memory, one for each end that unpacks, */
	uint64_t stage; /* of so many bytes */
	atomic_int owed; /* producers closed while they waited for a lease */
	atomic_int died; /* producers, whose gaps were not looked for yet */
	struct peali_queue_look look; /* under the lock */
};

struct peali_queue_kind {
	uint32_t kind;
	const char *name;
	uint32_t producers, consumers; /* that it can serve */
	int to_each; /* 1: every consumer gets every message */
	int leases; /* 1: producers lease room, so that each has its part */
	/* Fills in plan->spec and what follows it; or says what is wrong. */
	int (*plan)(struct peali_queue_plan *plan, const char *call);
	/* Writes the queue's header; how many bytes that are. */
	uint64_t (*header)(const struct peali_queue_plan *plan, void *out);
	/* Makes all ends, in zeroed memory with that header. */
	void (*make)(struct peal_queue *q);
	/*
	 * Puts n, at most q->bulk; or takes up to n, at `each` bytes from one
	 * to the next. Rings who waits for that. 0 or how many were taken;
	 * PEAL_EAGAIN and what else the device function says.
	 */
	int (*push)(struct peal_queue_end *end, const void *data,
		    uint64_t bytes, uint32_t n);
	int (*pop)(struct peal_queue_end *end, void *buffer, uint64_t each,
		   uint32_t n, uint64_t *lengths);
	/* Gives to the others what the end holds back, before it waits. */
	void (*settle)(struct peal_queue_end *end);
	/* All producers are closed: whether there is nothing more for this
	 * consumer. NULL: there is not, once pop says PEAL_EAGAIN. */
	int (*drained)(const struct peal_queue_end *end);
	/*
	 * Tickets that were taken, an acquire; and, for a consumer to whom pop
	 * says PEAL_EAGAIN, gives up those before `until` that were not put:
	 * whoever had them is dead. 1: look again, and call again. Under the
	 * queue's lock. NULL: nobody leaves a gap.
	 */
	uint64_t (*tickets)(const struct peal_queue *q);
	int (*bury)(struct peal_queue_end *end, uint64_t until);
	/* The end's thread died inside of push, pop or settle: 1 another may
	 * have the end. NULL: none may. */
	int (*died)(struct peal_queue_end *end);
	/* Under the lock: another died while it gave leases back for ends that
	 * are closed. NULL: nobody does. */
	void (*relock)(struct peal_queue *q);
	/* No producer is open: frees what those that died have leased, so that
	 * their ends may be opened. NULL: nothing does. */
	void (*regain)(struct peal_queue *q);
	/* At opening, under the queue's lock, and at closing. NULL: nothing. */
	void (*enter)(struct peal_queue_end *end);
	void (*leave)(struct peal_queue_end *end);
	/* Messages that a consumer did not get. NULL: it gets all. */
	uint64_t (*missed)(const struct peal_queue_end *end);
};

extern const struct peali_queue_kind peali_queue_link, peali_queue_mailbox,
	peali_queue_work, peali_queue_topic;

/* What threads of this machine can do. */
static inline uint32_t peali_queue_policies(void)
{
	return peali_host_backend.policies(NULL);
}

/* For plan->stage. */
static inline uint64_t peali_queue_stage(uint32_t policy, uint32_t slot_bytes)
{
	return peali_whole_lines(peali_policy_stage(policy, slot_bytes));
}

/* Messages of all ends of a role: accepted, or delivered. */
uint64_t peali_queue_count(const struct peal_queue *q,
			   enum peal_queue_role role);

/* queue_mend.c. Takes the lock; and mends what a thread left half done that died
 * while it had it. */
void peali_queue_lock(struct peal_queue *q);
/* 1, or another has it: for pushes and pops, which wait for nobody. */
int peali_queue_trylock(struct peal_queue *q);

/* Under the lock: the end's thread died inside of a call; all
 * producers are closed. */
void peali_queue_died(struct peal_queue_end *end);
void peali_queue_regain(struct peal_queue *q);

/* Gives up gaps of those that died. 1: there may be something to take now; 0, and
 * died is not 0: not all of them yet. */
int peali_queue_mend(struct peal_queue_end *end);

/* Wakes up to n of the ends of a role that sleep. */
void peali_queue_ring(struct peal_queue *q, enum peal_queue_role role,
		      uint32_t n);

#endif
