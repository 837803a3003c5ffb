/* SPDX-License-Identifier: Apache-2.0 */
/* Actors that fail on demand. */
#include <peal/device/kernel.h>

#include "../supervised.h"

/* Sets a timer of 1 ms. Its message is one that the actor counts. */
static PEAL_DEV int set_timer(struct peal_worker *w, uint16_t type)
{
	struct peal_send_options later = PEAL_SEND_OPTIONS;

	later.delay_ns = 1000000;
	later.period_ns = type == SUPERVISED_TICKS ? 1000000 : 0;
	return peal_tell(w, peal_self(w), SUPERVISED_COUNT, 0, 0, &later);
}

/* Obeys a message. Spoils the state before it fails. */
static PEAL_DEV int do_as_told(struct peal_worker *w, struct supervised *s)
{
	uint16_t type = peal_type(w);
	struct supervised now;

	if (peal_is_leader(w)) {
		s->count++;
		s->spoilt += type == SUPERVISED_FAIL;
	}
	peal_sync(w);
	now = *s;
	if (type >= SUPERVISED_ONCE && type <= SUPERVISED_LATER) {
		int result = set_timer(w, type);

		if (result)
			return result;
	}
	if (type == SUPERVISED_FAIL || type == SUPERVISED_ONCE ||
	    type == SUPERVISED_TICKS)
		return SUPERVISED_ERROR;
	if (type == SUPERVISED_ASK)
		return peal_emit(w, 0, SUPERVISED_ASK, &now, sizeof(now), 0);
	return 0;
}

static PEAL_DEV int supervised(struct peal_worker *w)
{
	return do_as_told(w, (struct supervised *)peal_state(w));
}

/* Counts the words that differ from their first value, then obeys. A failure
 * changes all words. */
static PEAL_DEV int supervised_large(struct peal_worker *w)
{
	struct supervised_large *s = (struct supervised_large *)peal_state(w);
	uint64_t wrong = 0, i;
	int result;

	for (i = peal_lane(w); i < SUPERVISED_LARGE_WORDS; i += peal_lanes(w))
		wrong += s->word[i] != i;
	wrong = peal_sum(w, wrong);
	if (peal_is_leader(w))
		s->base.spoilt = wrong;
	peal_sync(w);
	result = do_as_told(w, &s->base);
	for (i = peal_lane(w); i < SUPERVISED_LARGE_WORDS && result;
	     i += peal_lanes(w))
		s->word[i] = ~i;
	return result;
}

#define HANDLERS(X)                                                            \
	X(supervised, sizeof(struct supervised), PEAL_EMITS(1, 1))             \
	X(supervised_large, sizeof(struct supervised_large), PEAL_EMITS(1, 1))
PEAL_PROGRAM(supervised, HANDLERS);
