/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_EXAMPLES_ACCOUNT_H
#define PEAL_EXAMPLES_ACCOUNT_H

/* The messages between 10_request.c and programs/account.c. */

#include <peal/device/typed_message.h>

/** A request to change the balance of the account. */
struct movement {
	int64_t amount;
};

/**
 * The reply: the balance after the request. The account refuses a request that
 * would make the balance negative.
 */
struct balance {
	int64_t amount;
};

PEAL_TYPED_MESSAGE(movement, struct movement, 1)
PEAL_TYPED_MESSAGE(balance, struct balance, 2)

#endif
