/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_BATCH_HANDLERS_H
#define PEAL_TESTS_BATCH_HANDLERS_H

/* Handlers of the programs batches and batches_checked. */

#include <peal/device/kernel.h>

#include "batches.h"

/* Emits an item `times` times. Returns the first error. */
static PEAL_DEV int batch_echo(struct peal_worker *w,
			       const struct peal_batch *b,
			       const struct batch_item *item, uint32_t times)
{
	int first = 0, result;
	uint32_t i;

	for (i = 0; i < 3; i++) {
		result = peal_batch_emit(w, b, i < times, 0, peal_batch_type(b),
					 item, sizeof(*item));
		first = first ? first : result;
	}
	return first;
}

/* Emits what no port takes. Every lane calls it. */
static PEAL_DEV int batch_misuse(struct peal_worker *w,
				 const struct peal_batch *b, uint32_t action)
{
	uint64_t words[32] = { 0 };
	int result = peal_batch_emit(w, b, action == BATCH_TOO_LONG, 0, 1,
				     words, sizeof(words));

	return result | peal_batch_emit(w, b, action == BATCH_WRONG_PORT, 1, 1,
					words, 8);
}

/* Waits at a gate. Its second word says that a lane waits. */
static PEAL_DEV void batch_hold(const struct peal_worker *w,
				const struct batch_item *item)
{
	uint64_t *gate = (uint64_t *)(uintptr_t)item->gate;

	peal_store_relaxed_sys(gate + 1, 1);
	while (!peal_load_relaxed_sys(gate) && !peal_aborting(w))
		peal_pause();
}

/* Does what the lane's message says. */
static PEAL_DEV int batch_act(struct peal_worker *w, const struct peal_batch *b,
			      const struct batch_item *item)
{
	uint32_t action = peal_batch_has(b) ? peal_batch_type(b) : 0;
	uint32_t times = action == BATCH_ECHO	   ? 1 :
			 action == BATCH_TWICE	   ? 2 :
			 action == BATCH_TOO_OFTEN ? 3 :
						     0;
	int result;

	if (action == BATCH_HOLD)
		batch_hold(w, item);
	if (action == BATCH_COUNT && peal_is_leader(w))
		*(uint64_t *)(uintptr_t)item->gate += peal_batch_size(b);
	result = batch_echo(w, b, item, times) | batch_misuse(w, b, action);
	return action == BATCH_FAIL ? BATCH_ERROR : result;
}

/* The lanes have different actors. */
static PEAL_DEV int each(struct peal_worker *w, struct peal_batch *b)
{
	struct batch_state *s = (struct batch_state *)peal_batch_state(b);
	struct batch_item item = { 0, 0, 0 };

	if (peal_batch_load(b, &item, sizeof(item))) {
		s->handled++;
		s->disorder += item.number < s->last;
		s->last = item.number + 1;
		s->self = peal_batch_self(b);
		s->corrupt += item.check != batch_check(item.number);
		if (s->largest < peal_batch_size(b))
			s->largest = peal_batch_size(b);
	}
	return batch_act(w, b, &item);
}

/* The lanes may share an actor. */
static PEAL_DEV int shared(struct peal_worker *w, struct peal_batch *b)
{
	struct batch_state *s = (struct batch_state *)peal_batch_state(b);
	struct batch_item item = { 0, 0, 0 };

	if (peal_batch_load(b, &item, sizeof(item))) {
		peal_add_relaxed_dev(&s->handled, 1);
		if (item.check != batch_check(item.number))
			peal_add_relaxed_dev(&s->corrupt, 1);
	}
	if (peal_is_leader(w) && s->largest < peal_batch_size(b))
		s->largest = peal_batch_size(b);
	return batch_act(w, b, &item);
}

/* Takes one length only, and counts in its init. Lane 0 has a message in each run. */
static PEAL_DEV int sized(struct peal_worker *w, struct peal_batch *b)
{
	struct batch_state *s = (struct batch_state *)peal_batch_state(b);
	struct batch_item item = { 0, 0, 0 };

	if (peal_is_leader(w) && s->largest < peal_batch_size(b))
		s->largest = peal_batch_size(b);
	if (peal_batch_size(b) == 1 && peal_is_init(w)) {
		if (peal_is_leader(w))
			s->inits++;
		return 0;
	}
	if (peal_batch_load(b, &item, sizeof(item)))
		peal_add_relaxed_dev(&s->handled, 1);
	return batch_echo(w, b, &item, 1);
}

/* Returns a text of any length. */
static PEAL_DEV int text(struct peal_worker *w, struct peal_batch *b)
{
	uint8_t bytes[BATCH_TEXT_MOST];
	uint32_t length = (uint32_t)peal_batch_length(b);
	int has = length <= sizeof(bytes) && peal_batch_load(b, bytes, length);

	return peal_batch_emit(w, b, has, 0, peal_batch_type(b), bytes, length);
}

/* No batch handler: it emits its item. */
static PEAL_DEV int plain(struct peal_worker *w)
{
	return peal_emit(w, 0, peal_type(w), peal_data(w), peal_length(w), 0);
}

/* Tells the letter's item to an actor, as often as the letter says. */
static PEAL_DEV int teller(struct peal_worker *w, struct peal_batch *b)
{
	struct batch_state *s = (struct batch_state *)peal_batch_state(b);
	struct batch_letter l = { { 0, 0, 0 }, 0, 0, 0 };
	int first = 0, result;
	uint32_t i;

	if (peal_batch_load(b, &l, sizeof(l)))
		peal_add_relaxed_dev(&s->handled, 1);
	if (peal_is_leader(w) && s->largest < peal_batch_size(b))
		s->largest = peal_batch_size(b);
	for (i = 0; i < BATCH_TELLS + 1; i++) {
		/* in a batch of one all lanes may read the message */
		result = peal_batch_tell(w, b, i < l.times, l.to,
					 peal_batch_size(b) == 1 ?
						 peal_type(w) :
						 peal_batch_type(b),
					 &l.item, l.bytes);
		first = first ? first : result;
	}
	return first;
}

/* No batch handler: it tells several items. Their checks are right. */
static PEAL_DEV int flood(struct peal_worker *w)
{
	const struct batch_letter *l =
		(const struct batch_letter *)peal_data(w);
	uint32_t how = peal_type(w), i;
	int result = 0;

	for (i = 0; i < l->times && !result; i++) {
		struct peal_send_options o = PEAL_SEND_OPTIONS;
		struct batch_item item = { l->item.number + i, l->item.gate,
					   batch_check(l->item.number + i) };

		if (how == BATCH_FLOOD_HIGH)
			o.priority = PEAL_PRIORITY_HIGH;
		if (how == BATCH_FLOOD_MIXED && i % 8 == 1)
			o.deadline = ~0ULL >> 1;
		if (how == BATCH_FLOOD_MIXED && i % 8 == 5)
			o.with_sender = 1;
		result = peal_tell(w, l->to, BATCH_ECHO, &item, sizeof(item),
				   &o);
	}
	return result;
}

/* No batch handler: it notes the count of BATCH_COUNT. */
static PEAL_DEV int note(struct peal_worker *w)
{
	const struct batch_item *item = (const struct batch_item *)peal_data(w);
	struct batch_notes *s = (struct batch_notes *)peal_state(w);
	uint64_t now;

	if (!peal_is_leader(w))
		return 0;
	now = *(const uint64_t *)(uintptr_t)item->gate;
	if (s->notes++ && s->most_between < now - s->before)
		s->most_between = now - s->before;
	s->before = now;
	return 0;
}

#define BATCH_HANDLERS(X)                                                      \
	X(each, sizeof(struct batch_state),                                    \
	  PEAL_BATCH(PEAL_EMITS(1, BATCH_EMITS)))                              \
	X(shared, sizeof(struct batch_state),                                  \
	  PEAL_BATCH_SHARED(PEAL_EMITS(1, BATCH_EMITS)))                       \
	X(sized, sizeof(struct batch_state),                                   \
	  PEAL_WITH_HOOKS(PEAL_BATCH_SHARED(                                   \
		  PEAL_LIMITS(1, 1, 0, sizeof(struct batch_item),              \
			      sizeof(struct batch_item)))))                    \
	X(text, 0, PEAL_BATCH_SHARED(PEAL_EMITS(1, 1)))                        \
	X(plain, 0, PEAL_EMITS(1, 1))                                          \
	X(teller, sizeof(struct batch_state),                                  \
	  PEAL_BATCH_SHARED(PEAL_TELLS(BATCH_TELLS)))                          \
	X(flood, 0, PEAL_TELLS(BATCH_FLOOD))                                   \
	X(note, sizeof(struct batch_notes), PEAL_SINK)

#endif
