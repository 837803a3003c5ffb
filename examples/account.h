/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_EXAMPLES_ACCOUNT_H
#define PEAL_EXAMPLES_ACCOUNT_H

/* What 10_request.c and programs/account.c agree on. */

#include <peal/device/message_of.h>

/** A request: so much comes into the account, or goes out of it. */
struct movement {
	int64_t amount;
};

/** Its reply. A movement that would leave less than nothing is refused. */
struct balance {
	int64_t amount;
};

PEAL_MESSAGE_OF(movement, struct movement, 1)
PEAL_MESSAGE_OF(balance, struct balance, 2)

#endif
