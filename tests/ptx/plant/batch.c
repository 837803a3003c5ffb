/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch handlers: each lane checks its message and returns it. A wrong value
 * executes `trap`. Some messages fail.
 */
#define PEAL_USES 0
#include <peal/device/kernel.h>

#include "tests/ptx/plant/batch.h"
#include "tests/ptx/plant/item.h"

#define NEED(condition)                                                        \
	do {                                                                   \
		if (!(condition))                                              \
			__trap();                                              \
	} while (0)

/* Checks the message of the lane, and returns it unless it fails. The first half
 * of the lanes sends by one call, the second half by another one. */
static PEAL_DEV int answer(struct peal_worker *w, const struct peal_batch *b,
			   uint32_t *word)
{
	uint32_t bytes = (uint32_t)peal_batch_length(b);
	int has = bytes <= BATCH_MOST && peal_batch_load(b, word, bytes);
	int fails = has && batch_fails(word[0]);
	int early = peal_lane(w) < peal_batch_size(b) / 2;

	NEED(has == peal_batch_has(b));
	if (has) {
		NEED(item_is(word, bytes, BATCH_SENDER, word[0]));
		NEED(peal_batch_type(b) == (uint16_t)word[0]);
	}
	NEED(!peal_batch_emit(w, b, has && !fails && early, 0,
			      peal_batch_type(b), word, bytes));
	NEED(!peal_batch_emit(w, b, has && !fails && !early, 0,
			      peal_batch_type(b), word, bytes));
	return fails ? PEAL_EPROTO : 0;
}

/* All messages are for one actor. */
static PEAL_DEV int shared(struct peal_worker *w, struct peal_batch *b)
{
	struct batch_state *s = (struct batch_state *)peal_batch_state(b);
	uint32_t word[BATCH_MOST / 4] = { 0 };

	if (s)
		peal_add_relaxed_dev(&s->messages, 1);
	return answer(w, b, word);
}

/* The messages are for different actors. */
static PEAL_DEV int each(struct peal_worker *w, struct peal_batch *b)
{
	struct batch_state *s = (struct batch_state *)peal_batch_state(b);
	uint32_t word[BATCH_MOST / 4] = { 0 };
	int result = answer(w, b, word);

	if (s) {
		NEED(s->last <= word[0]);
		s->last = word[0] + 1;
		s->messages++;
	}
	return result;
}

#define HANDLERS(X)                                                            \
	X(shared, sizeof(struct batch_state),                                  \
	  PEAL_BATCH_SHARED(PEAL_EMITS(1, 1)))                                 \
	X(each, sizeof(struct batch_state), PEAL_BATCH(PEAL_EMITS(1, 1)))
PEAL_PROGRAM(plant_batch, HANDLERS);
