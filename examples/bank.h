/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_EXAMPLES_BANK_H
#define PEAL_EXAMPLES_BANK_H

/* What 16_bank.c and programs/bank.c agree on. */

#include <peal/device/message_of.h>

#define PORT_HOST 0
#define PORT_AWAY 1 /* to the accounts of the other device */

/** What a handler fails at: one in so many. */
#define BAD_LUCK 50

/** To the account that pays, and from there to the one that is paid. */
struct transfer {
	uint64_t from, to; /* addresses */
	uint64_t amount;
	uint32_t paid; /* 0: `from` has it; 1: it is in this message */
	uint32_t luck; /* any number */
};

/** To the host: a transfer is over. */
struct receipt {
	uint64_t amount; /* 0: the account does not have so much */
};

/** What the host hears when an account has failed on a transfer. */
struct letter {
	struct peal_dead_letter about;
	struct transfer transfer;
};

/** What an account begins with, and begins anew with. */
struct account_state {
	uint64_t ledger; /* address of its line there: its balance */
	uint64_t balance; /* a copy; valid once it is open */
	uint64_t open;
};

PEAL_MESSAGE_OF(transfer, struct transfer, 1)
PEAL_MESSAGE_OF(receipt, struct receipt, 2)

#endif
