/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel of 16_bank: an account, which pays and is paid. Its balance is in a
 * ledger outside of its state, so that it is there when the account begins anew;
 * the state has a copy. The handler fails now and then, before it has done
 * anything but spoil that copy: so its message can be sent once more.
 */
#include <peal/device/kernel.h>

#include "../bank.h"

/* To who is paid; the upper half of an address is the same for all actors of a
 * kernel, the lower one is the actor's number there. */
static PEAL_DEV int pay(struct peal_worker *w, struct transfer t)
{
	t.paid = 1;
	t.luck /= BAD_LUCK;
	if (t.to >> 32 == t.from >> 32)
		return transfer_tell(w, (uint32_t)t.to, &t);
	return peal_emit_to(w, PORT_AWAY, (uint32_t)t.to, transfer_number, &t,
			    sizeof(t));
}

/* All lanes go through the same steps, each with a copy of the state; the
 * leader's is kept. */
static PEAL_DEV int client(struct peal_worker *w)
{
	struct account_state *kept = (struct account_state *)peal_state(w);
	uint64_t *ledger = (uint64_t *)(uintptr_t)kept->ledger;
	const struct transfer *t = transfer_in(w);
	struct account_state a = *kept;
	struct receipt receipt = { 0 };
	int pays;

	if (!t)
		return PEAL_EPROTO;
	if (!a.open) /* it has just begun, or begun anew */
		a.balance = *ledger;
	a.open = 1;
	pays = !t->paid && a.balance >= t->amount;
	if (pays)
		a.balance -= t->amount;
	else if (t->paid)
		a.balance += receipt.amount = t->amount;
	peal_sync(w); /* all lanes have read what the leader writes now */
	if (peal_is_leader(w))
		*kept = a;
	if (t->luck % BAD_LUCK == 0)
		return PEAL_EPROTO; /* it is not in the ledger yet */
	if (peal_is_leader(w))
		*ledger = a.balance;
	return pays ? pay(w, *t) : receipt_emit(w, PORT_HOST, &receipt);
}

#define HANDLERS(X)                                                            \
	X(client, sizeof(struct account_state), PEAL_LIMITS(2, 1, 1, 0, 0))
PEAL_PROGRAM(bank, HANDLERS);
