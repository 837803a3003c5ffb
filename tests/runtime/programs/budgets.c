/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers that take steps of their budget, and `exact`, which declares the
 * length of its messages. */
#include <peal/device/kernel.h>

#include "../budgets.h"

/* Takes one step. Counts steps with different results in the lanes. */
static PEAL_DEV int step(struct peal_worker *w)
{
	struct budgets *s = (struct budgets *)peal_state(w);
	int over = peal_budget_check(w);
	int least = peal_vote_all(w, over != 0), most;

	most = peal_vote_any(w, over != 0);
	if (peal_is_leader(w)) {
		s->split += least != most;
		s->steps += !over;
	}
	return over;
}

static PEAL_DEV int answer(struct peal_worker *w)
{
	struct budgets *s = (struct budgets *)peal_state(w);
	const struct budgets_wish *in =
		(const struct budgets_wish *)peal_data(w);

	if (peal_is_leader(w)) {
		s->count++;
		s->number = in->number;
	}
	peal_sync(w);
	return peal_emit(w, 0, peal_type(w), s, sizeof(*s), 0);
}

static PEAL_DEV int work(struct peal_worker *w)
{
	const struct budgets_wish *in =
		(const struct budgets_wish *)peal_data(w);
	uint64_t most = peal_type(w) >= BUDGETS_ENDLESS ? ~0ULL : in->steps, i;
	int over = 0;

	if (peal_type(w) == BUDGETS_COUNT)
		most = 0;
	for (i = 0; i < most && !over; i++)
		over = step(w);
	if (over && peal_type(w) == BUDGETS_DEAF)
		over = step(w);
	return over ? over : answer(w);
}

/* Declares the length of its messages. */
static PEAL_DEV int exact(struct peal_worker *w)
{
	const struct budgets_wish *in =
		(const struct budgets_wish *)peal_data(w);
	int result = 0;

	if (peal_type(w) == BUDGETS_WATCH)
		result = peal_monitor_set(w, (uint32_t)in->number, 0,
					  BUDGETS_COUNT, 0, 0);
	return result ? result : answer(w);
}

/* Tells the actor `number` the first `steps` bytes of the message. */
static PEAL_DEV int teller(struct peal_worker *w)
{
	const struct budgets_wish *in =
		(const struct budgets_wish *)peal_data(w);

	return peal_tell(w, (uint32_t)in->number, BUDGETS_COUNT, in, in->steps,
			 0);
}

#define HANDLERS(X)                                                            \
	X(work, sizeof(struct budgets), PEAL_EMITS(1, 1))                      \
	X(exact, sizeof(struct budgets),                                       \
	  PEAL_LIMITS(1, 1, 0, sizeof(struct budgets_wish), 0))                \
	X(teller, 0, PEAL_TELLS(1))
PEAL_PROGRAM(budgets, HANDLERS);
