/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_PRIORITY_SCHEDULER_H
#define PEAL_DEVICE_PRIORITY_SCHEDULER_H

#include <peal/device/impl/worker/mail.h>

/* Selects the source that a worker tries next, if some sources have high
 * priority (priority.h). This code is outside of the loop. So turns without
 * such sources cost no more. For the leader; poll_inputs.h calls it. */

/* Returns the number of sources that are not inputs: the mailbox and the pools.
 * In a program with pools the mailbox counts even if there is none. */
static PEAL_DEV PEAL_INLINE uint32_t
peali_other_sources(const struct peal_worker *w)
{
	if (PEALI_USES(POOLS))
		return 1 + peali_pools(w);
	return peali_own_mailbox(w) ? 1 : 0;
}

/* Starts a burst of at most n messages from the input at the cursor. */
static PEAL_DEV PEAL_INLINE void peali_burst_start(struct peal_worker *w,
						   uint32_t n)
{
	if (n > w->state->source.burst_max)
		n = w->state->source.burst_max;
	w->state->source.burst_quota = w->state->source.burst_left = n;
}

/* Returns 1 if the mailbox of high priority has a message. */
PEALI_SLOW(int, peali_priority_mail_ready, const struct peal_worker *w)
{
	struct peal_mailbox *m = peali_priority_mailbox(w);

	return m && peal_mailbox_ready(m);
}

/* The sources that a turn tries now. High and low: see priority.h. */
enum peali_source_order {
	PEALI_ORDER_NORMAL_FIRST = 0, /* low ones: it is their turn */
	PEALI_ORDER_PRIORITY_AFTER = 1, /* high ones, after the low ones */
	PEALI_ORDER_PRIORITY_FIRST = 2, /* high ones: it is their turn */
	PEALI_ORDER_NORMAL_AFTER = 3 /* low ones, after the high ones */
};

static PEAL_DEV PEAL_INLINE int
peali_order_is_priority(const struct peal_worker_state *s)
{
	return s->priority.order == PEALI_ORDER_PRIORITY_FIRST ||
	       s->priority.order == PEALI_ORDER_PRIORITY_AFTER;
}

/* Removes inputs that no longer have high priority from priority_inputs. */
static PEAL_DEV PEAL_UNUSED inline void
peali_priority_compact(struct peal_worker *w)
{
	const uint32_t both = PEAL_INPUT_USED | PEAL_INPUT_PRIORITY;
	uint32_t i, n = 0;

	for (i = 0; i < w->state->priority.n_inputs; i++)
		if ((w->inputs[w->priority_inputs[i]].flags & both) == both)
			w->priority_inputs[n++] = w->priority_inputs[i];
	w->state->priority.n_inputs = n;
}

/* Returns the number of high sources. If it is 0, the worker ignores priorities
 * from the next turn on. */
static PEAL_DEV PEAL_INLINE uint32_t
peali_priority_sources(const struct peal_worker *w)
{
	return w->state->priority.n_inputs + (peali_high_boxes(w) != 0);
}

/* Moves the cursor to the next high source. Returns 0 if all were tried. */
static PEAL_DEV PEAL_UNUSED inline int
peali_priority_next(struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;

	w->box = peali_own_mailbox(w);
	if (s->priority.tried)
		s->priority.next++;
	else
		peali_priority_compact(w);
	if (s->priority.tried >= peali_priority_sources(w))
		return 0;
	s->priority.tried++;
	if (s->priority.next >= peali_priority_sources(w))
		s->priority.next = 0;
	if (s->priority.next < s->priority.n_inputs) {
		s->source.cursor = w->priority_inputs[s->priority.next];
	} else {
		s->source.cursor = s->table.n_inputs;
		w->box = peali_priority_mailbox(w);
	}
	return 1;
}

/* Moves the cursor to the next low source. Returns 0 if all were tried. */
static PEAL_DEV PEAL_UNUSED inline int peali_normal_next(struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	uint32_t sources = s->table.n_inputs + peali_other_sources(w);

	if (s->priority.tried) {
		s->priority.normal_next++;
		s->priority.normal_run = 0;
	}
	w->box = peali_own_mailbox(w);
	for (; s->priority.tried < sources; s->priority.normal_next++) {
		s->priority.tried++;
		if (s->priority.normal_next >= sources)
			s->priority.normal_next = 0;
		s->source.cursor = s->priority.normal_next;
		if (s->source.cursor >= s->table.n_inputs ||
		    !(w->inputs[s->source.cursor].flags & PEAL_INPUT_PRIORITY))
			return 1;
	}
	return 0;
}

/*
 * Moves the cursor to the source that this turn tries next. `tried`: sources
 * that this turn has tried, 0 at its begin. Returns 0 if all were tried.
 */
PEALI_SLOW(int, peali_source_next, struct peal_worker *w, uint32_t tried)
{
	struct peal_worker_state *s = w->state;

	if (!tried) {
		s->priority.tried = 0;
		s->priority.order = peali_priority_left(s) > 0 ?
					    PEALI_ORDER_PRIORITY_FIRST :
					    PEALI_ORDER_NORMAL_FIRST;
	}
	while (!(peali_order_is_priority(s) ? peali_priority_next(w) :
					      peali_normal_next(w))) {
		s->priority.tried = 0;
		if (s->priority.order == PEALI_ORDER_PRIORITY_FIRST) {
			s->priority.order = PEALI_ORDER_NORMAL_AFTER;
		} else if (s->priority.order == PEALI_ORDER_NORMAL_FIRST) {
			/* no low source has a message to take */
			s->priority.mark = s->count.handled;
			s->priority.next++;
			s->priority.order = PEALI_ORDER_PRIORITY_AFTER;
		} else {
			s->priority.used = peali_priority_sources(w) != 0;
			return 0;
		}
	}
	return 1;
}

/* The worker has taken a message from the source at the cursor: counts it. A
 * high input starts a burst for the rest of its turn. */
PEALI_SLOW(void, peali_source_taken, struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;

	s->source.burst_quota = s->source.burst_left = 0;
	s->priority.used = peali_priority_sources(w) != 0;
	if (!peali_order_is_priority(s))
		peali_normal_had(w, 1);
	else if (!s->source.current) /* from an input */
		peali_burst_start(w, (uint32_t)peali_priority_left(s) - 1);
}

#endif
