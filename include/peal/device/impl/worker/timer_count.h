/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_TIMER_COUNT_H
#define PEAL_DEVICE_TIMER_COUNT_H

#include <peal/device/impl/worker/worker.h>

/* A worker's counters of timers, and the end of a timer. For the leader. */

/* Adds n to a counter. The host may read it at any time. */
static PEAL_DEV PEAL_UNUSED inline void
peali_timer_count(struct peal_worker *w, uint32_t what, int64_t n)
{
	struct peal_timer_status *status =
		(struct peal_timer_status *)(uintptr_t)w->params->timer_status +
		w->index;

	peali_own_timers(w)->count[what] += (uint64_t)n;
	peal_store_relaxed_sys(&status->count[what],
			       peali_own_timers(w)->count[what]);
}

/* Adds `more` to the number of waiting timers. Publishes the number of waiting
 * timers and open asks to other workers. */
static PEAL_DEV PEAL_UNUSED inline void
peali_timers_waiting(struct peal_worker *w, int64_t more)
{
	struct peal_timers *t = peali_own_timers(w);

	w->state->timers += (uint32_t)more;
	if (!w->state->timers)
		w->state->source.burst_max = PEALI_BURST;
	peali_timer_count(w, PEAL_TIMERS_WAITING, more);
	/* R11: pairs with A11 in peali_timers_open. A worker that sees the end
	 * of a timer sees the ticket of the timer's message. An ask is over
	 * when its answer was handled. */
	peal_store_release_dev(
		&t->open,
		w->state->timers +
			(peali_own_asks(w) ? peali_own_asks(w)->used : 0));
}

/* Ends a timer and frees its entry. `why` is the counter of the reason. */
static PEAL_DEV PEAL_UNUSED inline void
peali_timer_over(struct peal_worker *w, uint32_t place, uint32_t why)
{
	peali_timer_give(peali_own_timers(w), place);
	peali_timer_count(w, why, 1);
	peali_timers_waiting(w, -1);
}

/* Takes a waiting timer out of the order of the table. */
static PEAL_DEV PEAL_UNUSED inline void peali_timer_out(struct peal_worker *w,
							uint32_t place)
{
	if (peali_timer_entry(peali_own_timers(w), place)->at ==
	    PEAL_TIMER_HELD)
		peali_timer_count(w, PEAL_TIMERS_HELD, -1);
	peali_timer_leave(peali_own_timers(w), place);
}

#endif
