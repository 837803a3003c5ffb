/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_BUDGET_H
#define PEAL_DEVICE_BUDGET_H

#include <peal/device/impl/loop/control.h>
#include <peal/device/lanes.h>
#include <peal/device/message.h>

/*
 * Budgets. A handler that may run long calls peal_budget_check in its loop:
 *
 *	while (!found) {
 *		int over = peal_budget_check(w);
 *
 *		if (over)
 *			return over;
 *		...
 *	}
 *
 * The handler then ends in these cases:
 *
 * - It has used budget.max_steps or budget.max_ns of the kernel's options.
 * - The kernel is aborted.
 * - The host is silent for longer than the lease.
 *
 * The message is dead as after any failure. The actor's supervisor restarts the
 * actor, and the worker continues.
 *
 * Nothing interrupts a handler that does not call peal_budget_check. Its worker
 * stalls. The watchdog and peal/stall.h report it.
 */

/* Target distance in ns of two looks at the clock and the host's words, and the
 * most steps between them. A GPU reads the host's words over the bus. */
#define PEALI_BUDGET_CHECK_NS 20000
#define PEALI_BUDGET_CHECK_MAX 1024

/* Returns the error with which the running handler must end; 0: none. */
static PEAL_DEV PEAL_UNUSED inline int
peali_budget_exceeded(struct peal_worker *w, uint64_t now)
{
	const struct peal_kernel_params *params = w->params;
	const struct peal_worker_state *s = w->state;

	if (params->max_steps && s->step.granted >= params->max_steps)
		return PEAL_EBUDGET;
	if (params->max_handler_ns &&
	    now - s->step.began_ns > params->max_handler_ns)
		return PEAL_EBUDGET;
	if (peal_aborting(w))
		return PEAL_EABORTED;
	return peali_lease_over(w, now) ? PEAL_ELEASE : 0;
}

/* A step with a look at the clock and the host's words. An error is returned
 * again at each later step of the run. */
PEALI_SLOW(int, peali_budget_check_slow, struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	uint64_t now = peal_clock_ns(), most = w->params->max_steps;
	int over;

	if (s->step.run != s->count.handled + 1) { /* first step of the run */
		s->step.run = s->count.handled + 1;
		s->step.granted = 0;
		s->step.stride = 1;
		s->step.began_ns = now;
	} else {
		over = peali_budget_exceeded(w, now);
		if (over)
			return over;
		if (now - s->step.checked_ns >= PEALI_BUDGET_CHECK_NS)
			s->step.stride = (s->step.stride + 1) / 2;
		else if (s->step.stride < PEALI_BUDGET_CHECK_MAX)
			s->step.stride *= 2;
	}
	s->step.checked_ns = now;
	s->step.check_at = s->step.granted + s->step.stride;
	if (most && s->step.check_at > most)
		s->step.check_at = most;
	s->step.granted++;
	return 0;
}

/* The leader's part of peal_budget_check. */
static PEAL_DEV PEAL_INLINE int peali_budget_check(struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;

	if (PEAL_UNLIKELY(s->step.granted >= s->step.check_at) ||
	    PEAL_UNLIKELY(s->step.run != s->count.handled + 1))
		return peali_budget_check_slow(w);
	s->step.granted++;
	return 0;
}

/**
 * Asks for one more step of the running handler.
 *
 * A step is the work between two calls. The time counts from the first call of
 * the run. The leader checks it about every 20 us, not at each step. With one
 * lane a call costs a compare. With several lanes it synchronizes the lanes, so
 * a step should be some work of each lane.
 *
 * Collective. After an error, each later call of the run returns an error, too.
 *
 * @param w the worker.
 * @return 0: continue. Else the handler shall return this error:
 * @retval PEAL_EBUDGET  the handler has used budget.max_steps steps, or
 *                       budget.max_ns, for this message.
 * @retval PEAL_EABORTED the kernel is being aborted.
 * @retval PEAL_ELEASE   the host is silent for longer than the lease.
 */
static PEAL_DEV PEAL_UNUSED inline int peal_budget_check(struct peal_worker *w)
{
	int over = 0;

	if (peal_is_leader(w))
		over = peali_budget_check(w);
	return (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)over);
}

#endif
