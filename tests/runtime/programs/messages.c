/* SPDX-License-Identifier: Apache-2.0 */
/* A handler of two message types. */
#include <peal/device/kernel.h>

#include "../messages.h"

static PEAL_DEV struct answer to_it(const struct question *q)
{
	struct answer a;

	a.number = q->number;
	a.twice = 2 * q->number;
	return a;
}

/* Answers questions, passes answers on, and fails on other messages. */
static PEAL_DEV int reply(struct peal_worker *w)
{
	const struct question *q = question_data(w);
	struct answer a, *place = 0;
	int result;

	if (answer_data(w))
		return answer_emit(w, 0, answer_data(w), 0);
	if (!q)
		return PEAL_EPROTO;
	a = to_it(q);
	if (q->ways == 2)
		return answer_tell(w, q->ask, &a, 0);
	if (q->ways == 0)
		return answer_emit(w, 0, &a, 0);
	result = answer_reserve(w, 0, &place);
	if (result)
		return result;
	if (peal_is_leader(w))
		*place = a;
	answer_commit(w, 0);
	return 0;
}

#define HANDLERS(X) X(reply, 0, PEAL_LIMITS(1, 1, 1, 0, 0))
PEAL_PROGRAM(messages, HANDLERS);
