/* SPDX-License-Identifier: Apache-2.0 */
/* Keepers handle each message once. Heralds pass messages on to keepers. */
#include <peal/device/kernel.h>

#include "../once.h"

#define SECOND_NS 1000000000ULL

static PEAL_DEV int keeper(struct peal_worker *w)
{
	struct once_keeper *k = (struct once_keeper *)peal_state(w);
	const struct once_note *note = (const struct once_note *)peal_data(w);
	int result;

	if (peal_type(w) == ONCE_FORGET) {
		result = 0;
		if (peal_is_leader(w))
			result = peal_once_forget(k->senders, ONCE_SENDERS,
						  note->sender);
		return result;
	}
	result = peal_once(w, k->senders, ONCE_SENDERS, note->sender,
			   note->number);
	if (result)
		return result;
	if (peal_type(w) == ONCE_FAIL)
		return PEAL_EPROTO;
	if (peal_is_leader(w)) {
		k->count++;
		k->sum += note->number;
	}
	if (peal_request_in_hand(w))
		return peal_reply(w, 0, 0, note, sizeof(*note));
	return 0;
}

static PEAL_DEV int herald(struct peal_worker *w)
{
	struct once_herald *h = (struct once_herald *)peal_state(w);
	const struct once_note *note = (const struct once_note *)peal_data(w);

	if (peal_type(w) == ONCE_ANSWER) {
		if (peal_is_leader(w)) {
			h->answers++;
			h->duplicates += peal_answer_error(w) ==
					 PEAL_EDUPLICATE;
		}
		return 0;
	}
	if (note->asks)
		return peal_ask(w, note->to - 1, ONCE_ADD, note, sizeof(*note),
				ONCE_ANSWER, 60 * SECOND_NS, 0);
	return peal_tell(w, note->to - 1, peal_type(w), note, sizeof(*note));
}

#define HANDLERS(X)                                                            \
	X(keeper, sizeof(struct once_keeper), PEAL_TELLS(1))                   \
	X(herald, sizeof(struct once_herald), PEAL_TELLS(1))
PEAL_PROGRAM(once, HANDLERS);
