/* SPDX-License-Identifier: Apache-2.0 */
/* Keepers handle each message once. Heralds pass messages on to keepers. */
#include <peal/device/kernel.h>

#include "../dedup.h"

#define SECOND_NS 1000000000ULL

static PEAL_DEV int keeper(struct peal_worker *w)
{
	struct dedup_keeper *k = (struct dedup_keeper *)peal_state(w);
	const struct dedup_note *note = (const struct dedup_note *)peal_data(w);
	int result;

	if (peal_type(w) == DEDUP_FORGET) {
		result = 0;
		if (peal_is_leader(w))
			result = peal_dedup_forget(k->senders, DEDUP_SENDERS,
						   note->sender);
		return result;
	}
	result = peal_dedup_check(w, k->senders, DEDUP_SENDERS, note->sender,
				  note->number);
	if (result)
		return result;
	if (peal_type(w) == DEDUP_FAIL)
		return PEAL_EPROTO;
	if (peal_is_leader(w)) {
		k->count++;
		k->sum += note->number;
	}
	if (peal_request_current(w))
		return peal_reply(w, 0, 0, note, sizeof(*note));
	return 0;
}

static PEAL_DEV int herald(struct peal_worker *w)
{
	struct dedup_herald *h = (struct dedup_herald *)peal_state(w);
	const struct dedup_note *note = (const struct dedup_note *)peal_data(w);

	if (peal_type(w) == DEDUP_ANSWER) {
		if (peal_is_leader(w)) {
			h->answers++;
			h->duplicates += peal_answer_error(w) ==
					 PEAL_EDUPLICATE;
		}
		return 0;
	}
	if (note->asks)
		return peal_ask(w, note->to - 1, DEDUP_ADD, note, sizeof(*note),
				DEDUP_ANSWER, 60 * SECOND_NS, 0);
	return peal_tell(w, note->to - 1, peal_type(w), note, sizeof(*note), 0);
}

#define HANDLERS(X)                                                            \
	X(keeper, sizeof(struct dedup_keeper), PEAL_TELLS(1))                  \
	X(herald, sizeof(struct dedup_herald), PEAL_TELLS(1))
PEAL_PROGRAM(dedup, HANDLERS);
