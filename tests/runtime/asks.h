/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_ASKS_H
#define PEAL_TESTS_ASKS_H

#include <peal/abi/ask.h>

/* What the handlers of programs/asks.c and the tests agree on. */

#define ASKS_OPEN 64 /* that an actor keeps the numbers of */
#define ASKS_TELLS 8

enum asks_type {
	ASKS_ORDER = 1, /* struct asks_order: it asks */
	ASKS_REQUEST = 2, /* struct asks_request */
	ASKS_ANSWER = 3, /* of an ask that was ordered */
	ASKS_CHAINED = 4, /* of one that a request was answered by */
	ASKS_RELEASE = 5, /* it replies to what it has kept */
	ASKS_PLAIN = 6, /* a uint64_t, of no request */
	ASKS_FAIL_NOW = 7, /* it fails */
	ASKS_TIMER = 8, /* a uint64_t: it tells itself so much later */
	ASKS_REPLIED = 99 /* of replies: nobody sees it */
};

/** What is done with a request. */
enum asks_how {
	ASKS_REPLY, /* twice the value and one more */
	ASKS_REFUSE, /* with the error */
	ASKS_KEEP, /* for a later ASKS_RELEASE */
	ASKS_FAIL,
	ASKS_TWICE, /* it replies twice */
	ASKS_LONG, /* a reply that is too long, then one that is not */
	ASKS_BOTH, /* it replies, and fails */
	ASKS_DELEGATE, /* to the other, who replies */
	ASKS_CHAIN, /* the other is asked, its reply goes on, plus one */
	ASKS_TELL /* tells who asks, replies, tells */
};

struct asks_request {
	uint32_t how, other; /* another actor */
	uint64_t value;
	int32_t error;
	uint32_t from; /* who asks */
};

/** Asks n times, with one value after another, and says what came of it. */
struct asks_order {
	struct asks_request request;
	uint64_t timeout_ns;
	uint32_t to, n;
	uint32_t bytes; /* of a request; 0: a struct asks_request */
	uint16_t quiet; /* 1: its answers are counted and not passed on */
	uint16_t again; /* so often it asks once more when it is answered */
};

struct asks_ordered {
	int64_t result; /* of the latest call */
	uint64_t n; /* that were successful */
};

/** An answer, passed on to the host. */
struct asks_answer {
	int64_t error;
	uint64_t value; /* replied */
	uint64_t known; /* 1: of an ask that was open */
	uint64_t late_ns; /* after it was asked */
};

struct asks_state {
	uint64_t open[ASKS_OPEN]; /* numbers of asks, by ASKS_ANSWER */
	uint64_t asked_ns[ASKS_OPEN];
	uint64_t value[ASKS_OPEN];
	uint64_t kept; /* the number of a request */
	uint64_t kept_value;
	uint64_t chain[ASKS_TELLS]; /* numbers of asks by ASKS_CHAINED, */
	uint64_t chain_request[ASKS_TELLS]; /* and of the requests for which */
	uint64_t chain_value[ASKS_TELLS];
	uint64_t replies, errors, wrong,
		unknown; /* answers that were counted */
	uint64_t order, last; /* the latest three that came: the values of
			       * ASKS_PLAIN, 9 for an answer */
	uint64_t requests;
	struct asks_order order_in; /* the latest */
};

#endif
