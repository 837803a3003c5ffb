/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts that pass money on to each other, and fail on demand. */
#include <peal/device/kernel.h>

#include "../bank.h"

/* The leader records the begin of an account. After a restart the account has
 * forfeited its balance and has the initial one. */
static PEAL_DEV void begin(const struct bank_account *a, struct bank_line *line,
			   uint32_t fault)
{
	uint64_t written = peal_load_relaxed_dev(&line->balance);
	uint64_t lives = peal_load_relaxed_dev(&line->lives);

	if (a->began) {
		if (written != a->balance)
			peal_add_relaxed_dev(&line->spoilt, 1);
		return;
	}
	if (lives && fault != BANK_FORGETS)
		peal_add_relaxed_dev(&line->forfeited, written - a->balance);
	peal_store_relaxed_dev(&line->lives, lives + 1);
	peal_store_relaxed_dev(&line->balance, a->balance);
}

/* Spoils the state and fails. No later handler may see this state. */
static PEAL_DEV int fail(struct peal_worker *w)
{
	struct bank_account *kept = (struct bank_account *)peal_state(w);

	peal_sync(w);
	if (peal_is_leader(w)) {
		kept->balance += 1000000;
		kept->began = 1;
	}
	return BANK_ERROR;
}

/* Numbers the leg on its way, and records the number. */
static PEAL_DEV void number(struct peal_worker *w, struct bank_book *book,
			    struct bank_leg *out, uint32_t way, uint32_t next)
{
	uint64_t *sent = &book->sent[way][out->from][next];
	uint64_t n = 0;

	if (peal_is_leader(w)) {
		n = peal_load_relaxed_dev(sent) + 1;
		peal_store_relaxed_dev(sent, n);
	}
	out->way = way;
	out->order = (uint32_t)peal_broadcast(w, n);
}

/* The leader checks that the leg is not behind one that was sent later. */
static PEAL_DEV void look_at_order(struct bank_book *book,
				   const struct bank_account *a,
				   const struct bank_leg *in)
{
	uint64_t *got = &book->got[in->way][in->from][a->number];

	if (in->order <= peal_load_relaxed_dev(got))
		peal_add_relaxed_dev(&book->disorder, 1);
	peal_store_relaxed_dev(got, in->order);
}

/* Sends the leg to the next account, or tells the host that the transfer is
 * over. */
static PEAL_DEV int pass_on(struct peal_worker *w, const struct bank_account *a,
			    const struct bank_leg *in, int refused)
{
	struct bank_leg out = *in;
	struct bank_over over;
	uint32_t next;

	if (refused || in->leg + 1 == in->legs) {
		over.id = in->id;
		over.leg = in->leg;
		over.refused = (uint32_t)refused;
		over.reserved = 0;
		return peal_emit(w, BANK_HOST, BANK_OVER, &over, sizeof(over),
				 0);
	}
	out.leg++;
	out.from = (uint32_t)a->number;
	out.random = bank_random(in->random);
	next = bank_owner(&out);
	if (next / BANK_OF_EACH == out.from / BANK_OF_EACH) {
		number(w, (struct bank_book *)(uintptr_t)a->book, &out,
		       BANK_BY_MAIL, next);
		return peal_tell(w, BANK_NUMBER(next), BANK_LEG, &out,
				 sizeof(out), 0);
	}
	number(w, (struct bank_book *)(uintptr_t)a->book, &out, w->index, next);
	return peal_emit_to(w, BANK_REMOTE, BANK_NUMBER(next), BANK_LEG, &out,
			    sizeof(out), 0);
}

/* Applies a leg to a copy of the state. */
static PEAL_DEV int do_leg(struct peal_worker *w, struct bank_account *a,
			   const struct bank_leg *leg)
{
	struct bank_book *book = (struct bank_book *)(uintptr_t)a->book;
	int refused = !leg->leg && a->balance < leg->amount;
	uint64_t times = 1;

	if (leg->fault == BANK_TWICE && leg->leg &&
	    leg->from / BANK_OF_EACH != a->number / BANK_OF_EACH)
		times = 2;
	if (leg->leg)
		a->balance += leg->amount * times;
	if (leg->fault == BANK_DROPS && leg->leg &&
	    bank_failure(leg) == BANK_AFTER)
		a->balance -= leg->amount;
	if (leg->leg + 1 < leg->legs && !refused)
		a->balance -= leg->amount;
	if (peal_is_leader(w)) {
		if (!refused)
			peal_add_relaxed_dev(&book->done[leg->id][leg->leg],
					     times);
		peal_store_relaxed_dev(&book->line[a->number].balance,
				       a->balance);
	}
	return pass_on(w, a, leg, refused);
}

/* All lanes run the same steps, each with a copy of the state. The copy of the
 * leader is kept. */
static PEAL_DEV int account(struct peal_worker *w)
{
	struct bank_account *kept = (struct bank_account *)peal_state(w);
	const struct bank_leg *leg = (const struct bank_leg *)peal_data(w);
	struct bank_account a = *kept;
	struct bank_book *book = (struct bank_book *)(uintptr_t)a.book;
	uint32_t fault = peal_type(w) == BANK_LEG ? leg->fault : 0;
	struct bank_balance balance;
	int result;

	if (peal_is_leader(w)) {
		begin(&a, &book->line[a.number], fault);
		if (peal_type(w) == BANK_LEG)
			look_at_order(book, &a, leg);
	}
	a.began = 1;
	balance.account = a.number;
	balance.balance = a.balance;
	if (peal_type(w) == BANK_CLOSE)
		result = peal_emit(w, BANK_HOST, BANK_BALANCE, &balance,
				   sizeof(balance), 0);
	else if (bank_failure(leg) == BANK_BEFORE)
		return fail(w);
	else
		result = do_leg(w, &a, leg);
	if (result)
		return result;
	if (peal_type(w) == BANK_LEG && bank_failure(leg) == BANK_AFTER)
		return fail(w);
	peal_sync(w); /* all lanes have read the state */
	if (peal_is_leader(w))
		*kept = a;
	return 0;
}

#define HANDLERS(X)                                                            \
	X(account, sizeof(struct bank_account), PEAL_LIMITS(2, 1, 1, 0, 0))
PEAL_PROGRAM(bank, HANDLERS);
