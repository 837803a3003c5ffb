/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handler of 10_request.c: an account. It changes its balance by the amount
 * of each request and replies with the new balance.
 */
#include <peal/device/kernel.h>

#include "../account.h"

static PEAL_DEV int account(struct peal_worker *w)
{
	struct balance *kept = (struct balance *)peal_state(w);
	const struct movement *m = movement_data(w);
	struct balance after;

	if (!m)
		return peal_reply_error(w, 0, PEAL_EPROTO);
	after.amount = kept->amount + m->amount;
	if (after.amount < 0)
		return peal_reply_error(w, 0, PEAL_ENOSPC);
	/* all lanes have read the state before the leader writes */
	peal_sync(w);
	if (peal_is_leader(w))
		*kept = after;
	return balance_reply(w, 0, &after);
}

#define HANDLERS(X) X(account, sizeof(struct balance), PEAL_EMITS(1, 1))
PEAL_PROGRAM(account, HANDLERS);
