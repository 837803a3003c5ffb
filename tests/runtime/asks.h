/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_ASKS_H
#define PEAL_TESTS_ASKS_H

#include <peal/abi/ask.h>

/* Message types, messages and states of programs/asks.c and its tests. */

#define ASKS_OPEN 64 /* most asks that an actor notes */
#define ASKS_TELLS 8

enum asks_type {
	ASKS_ORDER = 1, /* struct asks_order: asks as ordered */
	ASKS_REQUEST = 2, /* struct asks_request */
	ASKS_ANSWER = 3, /* answer to an ask of an order */
	ASKS_CHAINED = 4, /* answer to an ask of ASKS_CHAIN */
	ASKS_RELEASE = 5, /* replies to the kept request */
	ASKS_PLAIN = 6, /* a uint64_t, not a request */
	ASKS_FAIL_NOW = 7, /* the handler fails */
	ASKS_TIMER = 8, /* a uint64_t: ns until it tells itself */
	ASKS_REPLIED = 99 /* type of replies; no handler sees it */
};

/** Ways to serve a request. */
enum asks_how {
	ASKS_REPLY, /* replies with 2 * value + 1 */
	ASKS_REFUSE, /* refuses with `error` */
	ASKS_KEEP, /* keeps the request for ASKS_RELEASE */
	ASKS_FAIL,
	ASKS_TWICE, /* replies twice */
	ASKS_LONG, /* tries a reply that is too long, then replies */
	ASKS_BOTH, /* replies, then fails */
	ASKS_DELEGATE, /* forwards to `other`, which replies */
	ASKS_CHAIN, /* asks `other`, then replies */
	ASKS_TELL, /* tells the asking actor, replies, tells again */
	ASKS_IGNORE /* returns 0 and does not ask for the number */
};

struct asks_request {
	uint32_t how, other; /* enum asks_how; number of another actor */
	uint64_t value;
	int32_t error;
	uint32_t from; /* number of the asking actor */
};

/** An order to ask n times. The value grows by 1 with each ask. The actor
 * reports the outcome to the host. */
struct asks_order {
	struct asks_request request;
	uint64_t timeout_ns;
	uint32_t to, n;
	uint32_t bytes; /* of a request; 0: sizeof(struct asks_request) */
	uint16_t quiet; /* 1: counts its answers, reports none to the host */
	uint16_t again; /* further asks, each made at an answer */
};

struct asks_ordered {
	int64_t result; /* of the latest peal_ask() */
	uint64_t n; /* successful calls */
};

/** An answer, passed on to the host. */
struct asks_answer {
	int64_t error;
	uint64_t value; /* of the reply */
	uint64_t known; /* 1: its ask was open */
	uint64_t late_ns; /* ns from the ask to the answer */
};

struct asks_state {
	uint64_t open[ASKS_OPEN]; /* asks with ASKS_ANSWER; 0: free */
	uint64_t asked_ns[ASKS_OPEN];
	uint64_t value[ASKS_OPEN];
	uint64_t kept; /* number of a request; 0: none */
	uint64_t kept_value;
	uint64_t chain[ASKS_TELLS]; /* asks with ASKS_CHAINED; 0: free */
	uint64_t chain_request[ASKS_TELLS]; /* requests that they serve */
	uint64_t chain_value[ASKS_TELLS];
	uint64_t replies, errors, wrong, unknown; /* answers by outcome */
	/* `order`: a digit for each of the latest three messages, 9 for an
	 * answer. `last`: value of the latest ASKS_PLAIN */
	uint64_t order, last;
	uint64_t requests;
	struct asks_order order_in; /* the latest order */
};

#endif
