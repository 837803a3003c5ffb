/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handler of 16_bank.c: an account that pays and is paid.
 *
 * The balance lies in a ledger outside of the state, so it survives a restart.
 * The state has a copy of it. The handler sometimes fails. By then it has
 * changed only the copy, and the restart resets the copy. So the host can send
 * the same message again.
 */
#include <peal/device/kernel.h>

#include "../bank.h"

/*
 * Sends the amount to the account that is paid. All actors of a kernel have the
 * same upper half of their addresses. The lower half is the actor's number in
 * the kernel, which peal_tell needs.
 */
static PEAL_DEV int pay(struct peal_worker *w, struct transfer t)
{
	t.paid = 1;
	t.luck /= BAD_LUCK;
	if (t.to >> 32 == t.from >> 32)
		return transfer_tell(w, (uint32_t)t.to, &t, 0);
	return peal_emit_to(w, PORT_REMOTE, (uint32_t)t.to, transfer_number, &t,
			    sizeof(t), 0);
}

/*
 * All lanes do the same steps with copies of the state. Only the leader stores
 * its copy.
 */
static PEAL_DEV int client(struct peal_worker *w)
{
	struct account_state *kept = (struct account_state *)peal_state(w);
	uint64_t *ledger = (uint64_t *)(uintptr_t)kept->ledger;
	const struct transfer *t = transfer_data(w);
	struct account_state a = *kept;
	struct receipt receipt = { 0 };
	int pays;

	if (!t)
		return PEAL_EPROTO;
	if (!a.open) /* the account is new, or was restarted */
		a.balance = *ledger;
	a.open = 1;
	pays = !t->paid && a.balance >= t->amount;
	if (pays)
		a.balance -= t->amount;
	else if (t->paid)
		a.balance += receipt.amount = t->amount;
	/* all lanes have read the state before the leader writes */
	peal_sync(w);
	if (peal_is_leader(w))
		*kept = a;
	if (t->luck % BAD_LUCK == 0)
		return PEAL_EPROTO; /* the failure: the ledger is unchanged */
	if (peal_is_leader(w))
		*ledger = a.balance;
	return pays ? pay(w, *t) : receipt_emit(w, PORT_HOST, &receipt, 0);
}

#define HANDLERS(X)                                                            \
	X(client, sizeof(struct account_state), PEAL_LIMITS(2, 1, 1, 0, 0))
PEAL_PROGRAM(bank, HANDLERS);
