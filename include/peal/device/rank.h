/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_RANK_H
#define PEAL_DEVICE_RANK_H

#include <peal/device/mail.h>

/* Which source a worker tries next where some are of high priority, see
 * priority.h. Aside from the loop, whose turns cost no more without such. For the
 * leader; take.h calls it. */

/* What there is to take from beside inputs: the mailbox, which has its number
 * where there are pools even if there is none, and the pools. */
static PEAL_DEV PEAL_INLINE uint32_t
peali_other_sources(const struct peal_worker *w)
{
	if (PEAL_USES_POOLS)
		return 1 + peali_pools(w);
	return w->mailbox ? 1 : 0;
}

/* The input at the cursor is next, for so many messages at most. */
static PEAL_DEV PEAL_INLINE void peali_grant(struct peal_worker *w, uint32_t n)
{
	if (n > w->state->burst_most)
		n = w->state->burst_most;
	w->state->granted = w->state->burst = n;
}

/* Whether the mailbox of high priority has something. */
PEALI_SLOW(int, peali_high_mail_ready, const struct peal_worker *w)
{
	struct peal_mailbox *m = peali_high_mailbox(w);

	return m && peal_mailbox_ready(m);
}

/* Which sources are tried. */
enum peali_rank {
	PEALI_RANK_DUE = 0, /* the others, as it is their turn */
	PEALI_RANK_AFTER = 1, /* high ones, after those */
	PEALI_RANK_HIGH = 2, /* high ones */
	PEALI_RANK_OTHERS = 3 /* the others, after those */
};

static PEAL_DEV PEAL_INLINE int
peali_rank_is_high(const struct peal_worker_state *s)
{
	return s->rank == PEALI_RANK_HIGH || s->rank == PEALI_RANK_AFTER;
}

/* Takes inputs that are no high ones any more out of the list of those. */
static PEAL_DEV PEAL_UNUSED inline void peali_rank_list(struct peal_worker *w)
{
	const uint32_t both = PEAL_INPUT_USED | PEAL_INPUT_HIGH;
	uint32_t i, n = 0;

	for (i = 0; i < w->state->n_highs; i++)
		if ((w->inputs[w->highs[i]].flags & both) == both)
			w->highs[n++] = w->highs[i];
	w->state->n_highs = n;
}

/* How many high sources there are; without any, all is as without priorities
 * from the next turn on. */
static PEAL_DEV PEAL_INLINE uint32_t
peali_rank_highs(const struct peal_worker *w)
{
	return w->state->n_highs + (w->params->high_boxes != 0);
}

/* The cursor to the next high source; 0: all were tried. */
static PEAL_DEV PEAL_UNUSED inline int peali_rank_high(struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;

	w->box = w->mailbox;
	if (s->tried)
		s->high_next++;
	else
		peali_rank_list(w);
	if (s->tried >= peali_rank_highs(w))
		return 0;
	s->tried++;
	if (s->high_next >= peali_rank_highs(w))
		s->high_next = 0;
	if (s->high_next < s->n_highs) {
		s->cursor = w->highs[s->high_next];
	} else {
		s->cursor = s->n_inputs;
		w->box = peali_high_mailbox(w);
	}
	return 1;
}

/* The same for the others. */
static PEAL_DEV PEAL_UNUSED inline int peali_rank_other(struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	uint32_t sources = s->n_inputs + peali_other_sources(w);

	if (s->tried) {
		s->low_next++;
		s->low_row = 0;
	}
	w->box = w->mailbox;
	for (; s->tried < sources; s->low_next++) {
		s->tried++;
		if (s->low_next >= sources)
			s->low_next = 0;
		s->cursor = s->low_next;
		if (s->cursor >= s->n_inputs ||
		    !(w->inputs[s->cursor].flags & PEAL_INPUT_HIGH))
			return 1;
	}
	return 0;
}

/*
 * The cursor to the source that is tried next in this turn, in which some were
 * or, with `tried` 0, none was; 0: all were.
 */
PEALI_SLOW(int, peali_rank_next, struct peal_worker *w, uint32_t tried)
{
	struct peal_worker_state *s = w->state;

	if (!tried) {
		s->tried = 0;
		s->rank = peali_high_left(s) > 0 ? PEALI_RANK_HIGH :
						   PEALI_RANK_DUE;
	}
	while (!(peali_rank_is_high(s) ? peali_rank_high(w) :
					 peali_rank_other(w))) {
		s->tried = 0;
		if (s->rank == PEALI_RANK_HIGH) {
			s->rank = PEALI_RANK_OTHERS;
		} else if (s->rank == PEALI_RANK_DUE) {
			/* none of them has anything */
			s->high_mark = s->handled;
			s->high_next++;
			s->rank = PEALI_RANK_AFTER;
		} else {
			s->ranked = peali_rank_highs(w) != 0;
			return 0;
		}
	}
	return 1;
}

/* A message of the source at the cursor is in hand. */
PEALI_SLOW(void, peali_rank_taken, struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;

	s->granted = s->burst = 0;
	s->ranked = peali_rank_highs(w) != 0;
	if (!peali_rank_is_high(s))
		peali_low_had(w, 1);
	else if (!s->mail) /* from an input: with others of its turn */
		peali_grant(w, (uint32_t)peali_high_left(s) - 1);
}

#endif
