/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_LIMIT_H
#define PEAL_ABI_LIMIT_H

#include <peal/device/platform.h>

/*
 * Limits of the messages that wait for an actor in a mailbox
 * (impl/worker/limit.h). Also the refusal tables, by which a worker reports
 * that a request of the host gets no reply.
 */

/** The effect of a message for an actor that has reached its limit. */
enum peal_mailbox_overflow {
	PEAL_OVERFLOW_WAIT = 0, /* no limit: senders wait for free slots */
	PEAL_OVERFLOW_FAIL = 1, /* peal_tell returns PEAL_ENOSPC; a message of a
			     * link is dead, reason "full" */
	PEAL_OVERFLOW_DROP_NEWEST = 2, /* the message is dead ("full"); but
				    * peal_ask returns PEAL_ENOSPC */
	PEAL_OVERFLOW_DROP_OLDEST = 3 /* the first waiting message is dead,
				   * reason "full"; those of high priority
				   * come first */
};

/** The largest limit. */
#define PEAL_LIMIT_MAX (1u << 20)

/** The word of a record. Bits 0..23: waiting messages. Bits 24..47: dropped
 * messages still in the mailbox. Bits 48..63: changed for each actor. */
#define PEAL_LIMIT_DROPPED_ONE (1ULL << 24)
#define PEAL_LIMIT_TURN_ONE (1ULL << 48)
#define PEAL_LIMIT_TURN(word) ((word) >> 48)
#define PEAL_LIMIT_DROPPED(word) ((uint32_t)((word) >> 24) & 0xffffffu)
#define PEAL_LIMIT_WAITING(word) ((uint32_t)(word)&0xffffffu)

/** An actor's limit. */
struct peal_limit_record {
	/* written by the actor's worker before the store to `word` */
	uint32_t actor; /* its number */
	uint32_t limit; /* most messages that wait */
	uint32_t full; /* enum peal_mailbox_overflow */
	uint32_t reserved;
	/* changed by any worker, by compare-and-swap */
	uint64_t word;
	uint64_t most; /* largest number of waiting messages so far */
	/* added to by any worker */
	uint64_t dropped; /* messages dropped because of the limit */
	uint64_t refused; /* messages for which a handler got PEAL_ENOSPC */
	uint64_t line_reserved[2];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_limit_record) == 64, "limit size");

/** The counters of an actor's limit, as in its record. */
struct peal_limit_report {
	uint64_t waiting, most, dropped, refused;
};

/** Control message: asks for a struct peal_limit_report. */
struct peal_control_limit {
	uint32_t index; /* of the record */
	uint32_t reserved;
	uint64_t report; /* address of a struct peal_limit_report */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_control_limit) == 16, "limit message");

/* ---- refusal tables ------------------------------------------------------ */

/** The most refusal tables of a runtime. */
#define PEAL_REJECT_TABLES_MAX 1024u

/** The number of a request. `nth`: a count of the requester, 36 bits, from a
 * random number on. A number repeats after 2^36 requests, 19 hours at a million
 * per second. `table`: 1 + its refusal table; 0: none. `place`: 1 + index of
 * the entry there. */
#define PEAL_REQUEST_NUMBER(nth, table, place)                                 \
	(((uint64_t)(nth) << 28 >> 1 & ~PEAL_REQUEST_PLACES) |                 \
	 (uint64_t)(table) << 16 | (place))
#define PEAL_REQUEST_PLACES 0x7ffffffULL /* bits of table and place */
#define PEAL_REQUEST_TABLE(number) ((uint32_t)((number) >> 16) & 0x7ffu)
#define PEAL_REQUEST_PLACE(number) ((uint32_t)(number)&0xffffu)
PEAL_STATIC_ASSERT(PEAL_REJECT_TABLES_MAX <= 0x7ff - 1, "11 bits of a number");

/**
 * The word of an entry: which request has ended, and why. Bits 27..62: the
 * count in the request's number. Bits 16..26: -PEAL_E... Bits 0..15: the result
 * of the handler that failed, negated, from -32767 to 32767; 0: not known.
 */
#define PEAL_REJECT_WORD(number, error, detail)                                \
	(((number) & ~PEAL_REQUEST_PLACES) |                                   \
	 (uint64_t)((uint32_t) - (error)&0x7ffu) << 16 |                       \
	 ((uint32_t) - (detail)&0xffffu))
#define PEAL_REJECT_ERROR(word) (-(int32_t)((word) >> 16 & 0x7ffu))
#define PEAL_REJECT_DETAIL(word) (-(int32_t)(int16_t)((word)&0xffffu))
/** 1: the request of `word` began before that of `other`, which may be 0. */
#define PEAL_REJECT_IS_OLDER(word, other)                                      \
	((other) != 0 && ((((word) >> 27) - ((other) >> 27)) &                 \
			  0xfffffffffULL) > 0x7ffffffffULL)

/** An entry. Writer: the worker that has dropped the request. */
struct peal_reject_entry {
	uint64_t word; /* PEAL_REJECT_WORD; 0: none yet */
};

/** A requester's refusal table, in host memory; its entries follow. */
struct peal_reject_table {
	/* written by any worker; another value each time */
	uint64_t latest; /* number of the last refused request */
	uint8_t latest_reserved[PEAL_SHARED_LINE - 8];
	/* written by the host before a worker sees the table */
	uint64_t bell; /* host only: the requester's struct peal_bell */
	uint32_t places; /* number of entries */
	uint8_t host_reserved[PEAL_SHARED_LINE - 12];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_reject_table) == 2 * PEAL_SHARED_LINE,
		   "table size");

#endif
