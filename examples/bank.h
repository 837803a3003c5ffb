/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_EXAMPLES_BANK_H
#define PEAL_EXAMPLES_BANK_H

/* The types that 16_bank.c and programs/bank.c share. */

#include <peal/device/typed_message.h>

#define PORT_HOST 0
#define PORT_REMOTE 1 /* to the accounts of the other branch */

/** The handler fails on one in BAD_LUCK messages. */
#define BAD_LUCK 50

/**
 * A transfer: first to the account that pays, which sends it to the account
 * that is paid.
 */
struct transfer {
	uint64_t from, to; /* addresses */
	uint64_t amount;
	/* 0: the payer still has the amount; 1: it is in this message */
	uint32_t paid;
	uint32_t luck; /* a random number: decides if the handler fails */
};

/** To the host: a transfer has ended. */
struct receipt {
	uint64_t amount; /* 0: the payer's balance was too small */
};

/** A dead letter: a transfer that an account has failed on. */
struct letter {
	struct peal_dead_letter about;
	struct transfer transfer;
};

/** State of an account, as the host spawns it and as a restart restores it. */
struct account_state {
	uint64_t ledger; /* address of its balance in the ledger */
	uint64_t balance; /* a copy of the ledger's; valid if `open` is 1 */
	uint64_t open;
};

PEAL_TYPED_MESSAGE(transfer, struct transfer, 1)
PEAL_TYPED_MESSAGE(receipt, struct receipt, 2)

#endif
