/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_PRIORITY_H
#define PEAL_DEVICE_PRIORITY_H

#include <peal/device/worker.h>

/*
 * Priorities. A worker's sources - inputs, the mailbox, pools - are of high
 * priority or others: inputs by their link's or subscription's, and a kernel can
 * have a second mailbox for each worker that is. As long as one of the high ones
 * has a message that can be handled that is next, but for this: after
 * PEALI_HIGH_ROW messages from high ones in a row one of the others has a turn,
 * if any of them has something. So whoever is high waits for one message of the
 * others at most, and each of the others has a turn in so many rounds of those
 * as there are others.
 *
 * What counts are messages, handled or moved on or buried, not turns of the
 * loop. And one of the others has its turn by being asked for a message, which
 * may need something else first: a turn is had when a message was taken, so that
 * who has slots fetched or an actor begin anew keeps it meanwhile.
 *
 * A high source whose message cannot be handled now, for want of room, holds up
 * nobody: the others go on as if it had none, and it is asked again before each
 * of their messages.
 *
 * High ones have turns of PEALI_HIGH_ROW each, one after the other. So have the
 * others while no high one has anything, else of one message each.
 *
 * Control messages, timers and down messages come before both, as without
 * priorities. For the leader; take_high.h is what takes.
 */

/* Messages from high sources before one of the others has a turn. */
#define PEALI_HIGH_ROW 32

/* How many more may come from high sources; 0 or less: another's turn. */
static PEAL_DEV PEAL_INLINE int64_t
peali_high_left(const struct peal_worker_state *s)
{
	return (int64_t)(s->high_mark + PEALI_HIGH_ROW - s->handled);
}

static PEAL_DEV PEAL_INLINE int peali_input_is_high(const struct peal_input *in)
{
	return (in->flags & PEAL_INPUT_HIGH) != 0;
}

static PEAL_DEV PEAL_INLINE int peali_is_passage(const struct peal_input *in)
{
	return (in->flags & PEAL_INPUT_PASSAGE) != 0;
}

/* Whether the message in w->message, an input's or a mailbox's next, is of a high
 * source. */
static PEAL_DEV PEAL_UNUSED inline int
peali_is_high(const struct peal_worker *w)
{
	if (w->message.input < w->params->max_inputs)
		return peali_input_is_high(&w->inputs[w->message.input]);
	return w->box != w->mailbox;
}

/* An input that was just made has that priority. */
static PEAL_DEV PEAL_UNUSED inline void
peali_input_rank(struct peal_worker *w, uint32_t index, uint32_t priority)
{
	struct peal_worker_state *s = w->state;
	uint32_t i;

	if (priority != PEAL_PRIORITY_HIGH)
		return;
	w->inputs[index].flags |= PEAL_INPUT_HIGH;
	for (i = 0; i < s->n_highs; i++)
		if (w->highs[i] == index)
			return; /* had it before, and that was not noticed */
	w->highs[s->n_highs++] = index;
	if (!s->ranked)
		s->high_mark = s->handled;
	s->ranked = 1;
}

/* One of the other sources had its turn: `taken` messages of it are in hand. */
static PEAL_DEV PEAL_UNUSED inline void peali_low_had(struct peal_worker *w,
						      uint32_t taken)
{
	struct peal_worker_state *s = w->state;

	int over = peali_high_left(s) <= 0;

	s->high_next += (uint32_t)over; /* its turn was over as well */
	if (over || ++s->low_row >= PEALI_BURST) {
		s->low_next++;
		s->low_row = 0;
	}
	s->high_mark = s->handled + taken;
}

/* So many messages that no handler has had came from a high source, or from
 * another one. */
static PEAL_DEV PEAL_UNUSED inline void peali_passed(struct peal_worker *w,
						     int high, uint32_t n)
{
	struct peal_worker_state *s = w->state;

	if (PEAL_LIKELY(!s->ranked) || !n)
		return;
	if (!high) {
		peali_low_had(w, 0);
		return;
	}
	s->high_mark -= n;
	s->burst = 0; /* was for so many less */
}

/* How many messages of a source may be moved elsewhere at a time. */
static PEAL_DEV PEAL_UNUSED inline uint32_t
peali_moves(const struct peal_worker *w, int high)
{
	int64_t left = peali_high_left(w->state);

	if (PEAL_LIKELY(!w->state->ranked))
		return PEALI_BURST;
	if (!high || left < 1)
		return 1;
	return (uint32_t)left;
}

#endif
