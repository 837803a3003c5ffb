/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_BANK_H
#define PEAL_TESTS_BANK_H

#include <peal/device/platform.h>

/*
 * Shared by the handler of programs/bank.c and the test. A transfer moves an
 * amount from account to account, in legs. The first leg takes the amount off
 * an account. Each later leg adds it to an account. This account passes it on,
 * unless the leg is the last one.
 */

#define BANK_DEVICES 2
#define BANK_OF_EACH 5 /* accounts of a device */
#define BANK_ACCOUNTS (BANK_DEVICES * BANK_OF_EACH)
#define BANK_WORKERS 3 /* of a device, at most; each has a clerk */
#define BANK_TRANSFERS 24 /* at most */
#define BANK_LEGS 6 /* of a transfer, at most */
#define BANK_INITIAL 1000 /* balance of an account, also after a restart */

#define BANK_HOST 0 /* ports of the clerks, which get no messages */
#define BANK_REMOTE 1

/* The first actor number of an account in its kernel. */
#define BANK_NUMBER(account) (BANK_WORKERS + (account) % BANK_OF_EACH)
/* Ways of a leg: the port of clerk 0, 1 or 2, or a mailbox. Legs on one way
 * arrive in order. */
#define BANK_BY_MAIL BANK_WORKERS
#define BANK_WAYS (BANK_WORKERS + 1)
#define BANK_CUSTOMER BANK_ACCOUNTS /* number of the host as a sender */

/** Types of messages. */
#define BANK_LEG 1 /* struct bank_leg, to an account */
#define BANK_CLOSE 2 /* to an account: asks for its balance */
#define BANK_OVER 3 /* struct bank_over, to the host: a transfer is over */
#define BANK_BALANCE 4 /* struct bank_balance, to the host */

#define BANK_ERROR (-71) /* PEAL_EPROTO */

/** Faults of the handler that the test plants, beside peali_sim_fault. */
#define BANK_TWICE 101 /* a leg from the other device is added twice */
#define BANK_FORGETS 102 /* a restarted account does not record its loss */
#define BANK_DROPS 103 /* an account that is about to fail drops the amount */

struct bank_leg {
	uint64_t random; /* selects the account of the leg and its failure */
	uint32_t id, leg, legs; /* of a transfer; leg 0, 1, ... legs - 1 */
	uint32_t amount;
	uint32_t from; /* account that has sent it; or BANK_CUSTOMER */
	uint32_t fails; /* how many of 16 legs fail */
	uint32_t fault;
	/* order: number of the leg from this sender, on this way, to this
	 * account; from 1 */
	uint32_t way, order;
	uint32_t reserved;
};

struct bank_over {
	uint32_t id, leg;
	uint32_t refused, reserved; /* 1: the first account has too little */
};

struct bank_balance {
	uint64_t account, balance;
};

/** The state of an account. A restart resets all of it. */
struct bank_account {
	uint64_t balance;
	uint64_t began; /* 1: it has handled a message since its begin */
	uint64_t number; /* among all accounts */
	uint64_t book; /* address of its device's struct bank_book */
};

/** The record of an account, outside of its state. */
struct bank_line {
	uint64_t balance;
	/* lost by restarts: each time the old balance minus the initial one */
	uint64_t forfeited;
	uint64_t lives; /* times that it has begun */
	uint64_t spoilt; /* times that its state differed from this record */
};

/** The records in a device's memory. */
struct bank_book {
	struct bank_line line[BANK_ACCOUNTS];
	uint64_t done[BANK_TRANSFERS][BANK_LEGS]; /* how often each was done */
	/* [way][sender][receiver]: legs that accounts of the device have sent;
	 * the order of the latest leg that they got */
	uint64_t sent[BANK_WAYS][BANK_ACCOUNTS][BANK_ACCOUNTS];
	uint64_t got[BANK_WAYS][BANK_CUSTOMER + 1][BANK_ACCOUNTS];
	uint64_t disorder; /* legs that arrived behind later ones */
};

/* When the handler of a leg fails. */
#define BANK_NEVER 0
#define BANK_BEFORE 1 /* before it has done anything */
#define BANK_AFTER 2 /* after it has done everything */

static PEAL_HD PEAL_INLINE uint32_t bank_failure(const struct bank_leg *leg)
{
	if ((leg->random >> 20 & 15) >= leg->fails)
		return BANK_NEVER;
	return leg->random >> 19 & 1 ? BANK_AFTER : BANK_BEFORE;
}

/* Returns the account of a leg. */
static PEAL_HD PEAL_INLINE uint32_t bank_owner(const struct bank_leg *leg)
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
