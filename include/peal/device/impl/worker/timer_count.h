/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_TIMER_COUNT_H
#define PEAL_DEVICE_TIMER_COUNT_H

#include <peal/device/impl/worker/worker.h>

/* What a worker counts of its timers, and how one ends. For the leader. */

/* Counts; the host may look at any time. */
static PEAL_DEV PEAL_UNUSED inline void
peali_timer_count(struct peal_worker *w, uint32_t what, int64_t n)
{
	struct peal_timer_status *status =
		(struct peal_timer_status *)(uintptr_t)w->params->timer_status +
		w->index;

	w->timers->count[what] += (uint64_t)n;
	peal_store_relaxed_sys(&status->count[what], w->timers->count[what]);
}

/* So many timers more wait; what others know of them and of asks. */
static PEAL_DEV PEAL_UNUSED inline void
peali_timers_waiting(struct peal_worker *w, int64_t more)
{
	struct peal_timers *t = w->timers;

	w->state->timers += (uint32_t)more;
	if (!w->state->timers)
		w->state->burst_max = PEALI_BURST;
	peali_timer_count(w, PEAL_TIMERS_WAITING, more);
	/* R11: pairs with A11 in peali_timers_open: who sees that a timer is no
	 * more sees the ticket of its message. An ask is over when its answer
	 * was handled. */
	peal_store_release_dev(&t->open, w->state->timers +
						 (w->asks ? w->asks->used : 0));
}

/* A timer is over, for the reason that is counted. */
static PEAL_DEV PEAL_UNUSED inline void
peali_timer_over(struct peal_worker *w, uint32_t place, uint32_t why)
{
	peali_timer_give(w->timers, place);
	peali_timer_count(w, why, 1);
	peali_timers_waiting(w, -1);
}

/* Takes a place that waits out of the table's order. */
static PEAL_DEV PEAL_UNUSED inline void peali_timer_out(struct peal_worker *w,
							uint32_t place)
{
	if (peali_timer_entry(w->timers, place)->at == PEAL_TIMER_HELD)
		peali_timer_count(w, PEAL_TIMERS_HELD, -1);
	peali_timer_leave(w->timers, place);
}

#endif
