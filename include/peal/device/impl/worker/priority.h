/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_PRIORITY_H
#define PEAL_DEVICE_PRIORITY_H

#include <peal/device/impl/worker/worker.h>

/*
 * Priorities. A worker's sources are inputs, mailboxes and pools. An input has
 * high priority if its link or subscription has it. A kernel can also have a
 * second mailbox of high priority for each worker. All other sources are low.
 *
 * 1. A message of a high source comes first if its handler can run now.
 * 2. After PEALI_PRIORITY_BURST successive high messages, the next low source
 *    with a message has a turn of one message.
 * 3. So a high message waits for at most one low message. With n low sources,
 *    each of them has a turn within n rounds.
 *
 * The counters count messages that were handled, forwarded or dropped, not
 * turns of the loop. A low turn ends when a message was taken. A source keeps
 * its turn while its slots are fetched or its actor restarts.
 *
 * A high message that waits for free slots stalls no other source. The worker
 * tries the message again before each low message.
 *
 * The high sources have turns of PEALI_PRIORITY_BURST messages, one after the
 * other. While no high source has a message, low sources have turns of
 * PEALI_BURST.
 *
 * Control messages, timers and down messages come before all sources, as
 * without priorities. For the leader; priority_scheduler.h selects the sources.
 */

/* Successive messages of high sources before a low source has a turn. */
#define PEALI_PRIORITY_BURST 32

/* Returns the messages that high sources may still have; <= 0: a low turn. */
static PEAL_DEV PEAL_INLINE int64_t
peali_priority_left(const struct peal_worker_state *s)
{
	return (int64_t)(s->priority.mark + PEALI_PRIORITY_BURST -
			 s->count.handled);
}

static PEAL_DEV PEAL_INLINE int
peali_input_is_priority(const struct peal_input *in)
{
	return PEALI_USES(PRIORITIES) && (in->flags & PEAL_INPUT_PRIORITY);
}

static PEAL_DEV PEAL_INLINE int peali_is_fwd_link(const struct peal_input *in)
{
	return PEALI_USES(MIGRATION) && (in->flags & PEAL_INPUT_FWD_LINK);
}

/* Returns 1 if w->message, the next message of an input or mailbox, is of a
 * high source. */
static PEAL_DEV PEAL_UNUSED inline int
peali_is_priority(const struct peal_worker *w)
{
	if (w->message.input < w->params->max_inputs)
		return peali_input_is_priority(&w->inputs[w->message.input]);
	return peali_box_is_high(w);
}

/* Sets the priority of a new input. */
static PEAL_DEV PEAL_UNUSED inline void
peali_input_set_priority(struct peal_worker *w, uint32_t index,
			 uint32_t priority)
{
	struct peal_worker_state *s = w->state;
	uint32_t i;

	if (!PEALI_USES(PRIORITIES) || priority != PEAL_PRIORITY_HIGH)
		return;
	w->inputs[index].flags |= PEAL_INPUT_PRIORITY;
	for (i = 0; i < s->priority.n_inputs; i++)
		if (w->priority_inputs[i] == index)
			return; /* still in the list, from an earlier input */
	w->priority_inputs[s->priority.n_inputs++] = index;
	if (!s->priority.used)
		s->priority.mark = s->count.handled;
	s->priority.used = 1;
}

/* Ends a turn of a low source. `taken`: messages taken but not counted yet. */
static PEAL_DEV PEAL_UNUSED inline void peali_normal_had(struct peal_worker *w,
							 uint32_t taken)
{
	struct peal_worker_state *s = w->state;

	int over = peali_priority_left(s) <= 0;

	s->priority.next += (uint32_t)over; /* the high turn is over, too */
	if (over || ++s->priority.normal_run >= PEALI_BURST) {
		s->priority.normal_next++;
		s->priority.normal_run = 0;
	}
	s->priority.mark = s->count.handled + taken;
}

/* Counts n messages of a high or low source that were forwarded or dropped. */
static PEAL_DEV PEAL_UNUSED inline void peali_passed(struct peal_worker *w,
						     int high, uint32_t n)
{
	struct peal_worker_state *s = w->state;

	if (PEAL_LIKELY(!peali_prioritized(w)) || !n)
		return;
	if (!high) {
		peali_normal_had(w, 0);
		return;
	}
	s->priority.mark -= n;
	s->source.burst_left = 0; /* it was computed before these messages */
}

/* Returns the messages of a source that may be forwarded at a time. */
static PEAL_DEV PEAL_UNUSED inline uint32_t
peali_moves(const struct peal_worker *w, int high)
{
	int64_t left = peali_priority_left(w->state);

	if (PEAL_LIKELY(!peali_prioritized(w)))
		return PEALI_BURST;
	if (!high || left < 1)
		return 1;
	return (uint32_t)left;
}

#endif
