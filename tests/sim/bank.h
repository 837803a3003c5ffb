/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_BANK_H
#define PEAL_TESTS_BANK_H

#include <peal/device/platform.h>

/*
 * What the handler of programs/bank.c and the test agree on. Money goes from
 * account to account in legs: the first one takes it off an account, each of the
 * others adds it to one, which then passes it on, and the last one keeps it.
 */

#define BANK_DEVICES 2
#define BANK_OF_EACH 5 /* accounts of a device */
#define BANK_ACCOUNTS (BANK_DEVICES * BANK_OF_EACH)
#define BANK_WORKERS 3 /* of a device, at most; each has a clerk */
#define BANK_TRANSFERS 24 /* at most */
#define BANK_LEGS 6 /* of a transfer, at most */
#define BANK_INITIAL 1000 /* of an account; and when it begins anew */

#define BANK_HOST 0 /* ports: the clerks', whom nobody sends anything */
#define BANK_AWAY 1

/* The first number in its kernel that an account has. */
#define BANK_NUMBER(account) (BANK_WORKERS + (account) % BANK_OF_EACH)
/* Ways that a leg can take: by the clerks' ports, by mailboxes. What takes one way
 * is in order. */
#define BANK_BY_MAIL BANK_WORKERS
#define BANK_WAYS (BANK_WORKERS + 1)
#define BANK_CUSTOMER BANK_ACCOUNTS /* as who has sent it: the host */

/** Types of messages. */
#define BANK_LEG 1 /* struct bank_leg, to an account */
#define BANK_CLOSE 2 /* to an account: what has it? */
#define BANK_OVER 3 /* struct bank_over, to the host: a transfer is over */
#define BANK_BALANCE 4 /* struct bank_balance, to the host */

#define BANK_ERROR (-71) /* PEAL_EPROTO */

/** Mistakes of the handler's own that the test plants, beside peali_sim_fault. */
#define BANK_TWICE 101 /* what comes from the other device is added twice */
#define BANK_FORGETS 102 /* who begins anew does not say what is gone by that */
#define BANK_DROPS 103 /* who is about to fail does not keep what it was sent */

struct bank_leg {
	uint64_t random; /* whose leg it is, and how it fails */
	uint32_t id, leg, legs; /* of a transfer; leg 0, 1, ... legs - 1 */
	uint32_t amount;
	uint32_t from; /* account that has sent it; or BANK_CUSTOMER */
	uint32_t fails; /* of 16 legs so many */
	uint32_t fault;
	uint32_t way, order; /* the so manyth of who has sent it, that way to
			      * that account; from 1 */
	uint32_t reserved;
};

struct bank_over {
	uint32_t id, leg;
	uint32_t refused, reserved; /* 1: the first account has not so much */
};

struct bank_balance {
	uint64_t account, balance;
};

/** A state. It begins anew with all of that as it was at first. */
struct bank_account {
	uint64_t balance;
	uint64_t began; /* 1: it has had a message since */
	uint64_t number; /* of all accounts */
	uint64_t book; /* address of its device's struct bank_book */
};

/** What is written down of an account, outside of its state. */
struct bank_line {
	uint64_t balance;
	uint64_t forfeited; /* by beginning anew; what it got by that is taken
			     * off */
	uint64_t lives; /* times that it has begun */
	uint64_t spoilt; /* times that its state was not what is written here */
};

/** In a device's memory. */
struct bank_book {
	struct bank_line line[BANK_ACCOUNTS];
	uint64_t done[BANK_TRANSFERS][BANK_LEGS]; /* times that a leg was */
	/* legs that accounts of the device have sent, and the last that they
	 * have got */
	uint64_t sent[BANK_WAYS][BANK_ACCOUNTS][BANK_ACCOUNTS];
	uint64_t got[BANK_WAYS][BANK_CUSTOMER + 1][BANK_ACCOUNTS];
	uint64_t disorder; /* legs that came behind later ones */
};

/* How the handler of a leg fails. */
#define BANK_NEVER 0
#define BANK_BEFORE 1 /* it has done nothing */
#define BANK_AFTER 2 /* it has done everything */

static PEAL_HD PEAL_INLINE uint32_t bank_failure(const struct bank_leg *leg)
{
	if ((leg->random >> 20 & 15) >= leg->fails)
		return BANK_NEVER;
	return leg->random >> 19 & 1 ? BANK_AFTER : BANK_BEFORE;
}

/* The account whose leg it is. */
static PEAL_HD PEAL_INLINE uint32_t bank_whose(const struct bank_leg *leg)
{
	return (uint32_t)(leg->random >> 33) % BANK_ACCOUNTS;
}

static PEAL_HD PEAL_INLINE uint64_t bank_random(uint64_t random)
{
	uint64_t z = random + 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	return z ^ (z >> 27);
}

#endif
