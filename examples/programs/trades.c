/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handler of 27_batches.c: an account of trades. Each lane books a trade of its
 * own. All trades are for one actor, so the lanes share its state and add to it
 * by atomic functions.
 */
#include <peal/device/kernel.h>

#include "../trades.h"

static PEAL_DEV int book(struct peal_worker *w, struct peal_batch *b)
{
	struct trades *total = (struct trades *)peal_batch_state(b);
	struct trade t = { 0, 0, 0 };
	int has = peal_batch_load(b, &t, sizeof(t));

	if (has) {
		t.value = t.price * t.shares;
		peal_add_relaxed_dev(&total->trades, 1);
		peal_add_relaxed_dev(&total->value, t.value);
	}
	if (peal_is_leader(w))
		total->batches++;
	return peal_batch_emit(w, b, has, 0, 0, &t, sizeof(t));
}

#define HANDLERS(X)                                                            \
	X(book, sizeof(struct trades), PEAL_BATCH_SHARED(PEAL_EMITS(1, 1)))
PEAL_PROGRAM(trades, HANDLERS);
