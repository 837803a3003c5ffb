/* SPDX-License-Identifier: Apache-2.0 */
/* Actors that fail on demand. */
#include <peal/device/kernel.h>

#include "../ward.h"

/* Obeys a message. Spoils the state before it fails. */
static PEAL_DEV int do_as_told(struct peal_worker *w, struct ward *s)
{
	uint16_t type = peal_type(w);
	struct ward now;

	if (peal_is_leader(w)) {
		s->count++;
		s->spoilt += type == WARD_FAIL;
	}
	peal_sync(w);
	now = *s;
	if (type == WARD_FAIL)
		return WARD_ERROR;
	if (type == WARD_ASK)
		return peal_emit(w, 0, WARD_ASK, &now, sizeof(now));
	return 0;
}

static PEAL_DEV int ward(struct peal_worker *w)
{
	return do_as_told(w, (struct ward *)peal_state(w));
}

/* Counts the words that differ from their first value, then obeys. A failure
 * changes all words. */
static PEAL_DEV int ward_large(struct peal_worker *w)
{
	struct ward_large *s = (struct ward_large *)peal_state(w);
	uint64_t wrong = 0, i;
	int result;

	for (i = peal_lane(w); i < WARD_LARGE_WORDS; i += peal_lanes(w))
		wrong += s->word[i] != i;
	wrong = peal_sum(w, wrong);
	if (peal_is_leader(w))
		s->ward.spoilt = wrong;
	peal_sync(w);
	result = do_as_told(w, &s->ward);
	for (i = peal_lane(w); i < WARD_LARGE_WORDS && result;
	     i += peal_lanes(w))
		s->word[i] = ~i;
	return result;
}

#define HANDLERS(X)                                                            \
	X(ward, sizeof(struct ward), PEAL_EMITS(1, 1))                         \
	X(ward_large, sizeof(struct ward_large), PEAL_EMITS(1, 1))
PEAL_PROGRAM(ward, HANDLERS);
