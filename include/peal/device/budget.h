/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_BUDGET_H
#define PEAL_DEVICE_BUDGET_H

#include <peal/device/control.h>
#include <peal/device/lanes.h>

/*
 * Budgets. A handler that may run long asks in its loop whether it may go on:
 *
 *	while (!found) {
 *		int over = peal_step(w);
 *
 *		if (over)
 *			return over;
 *		...
 *	}
 *
 * So it ends within the kernel's max_steps and max_handler_ns, when the kernel is
 * aborted, and when the host is gone for longer than the lease; and its message
 * is failed on like any other: the actor's supervisor restarts it, the worker
 * goes on. A handler that never asks cannot be interrupted: no GPU has a way to.
 * The watchdog and peal/stuck.h name it, and it keeps its worker.
 */

/* Looks at the clock and the host's words: so far apart, if steps are short
 * enough, but never after more steps than that. On a GPU the host's words are
 * behind the bus. */
#define PEALI_STEP_LOOK_NS 20000
#define PEALI_STEP_LOOK_MOST 1024

/* Why the handler that runs is over now; 0: it is not. */
static PEAL_DEV PEAL_UNUSED inline int peali_step_over(struct peal_worker *w,
						       uint64_t now)
{
	const struct peal_kernel_params *params = w->params;
	const struct peal_worker_state *s = w->state;

	if (params->max_steps && s->steps >= params->max_steps)
		return PEAL_EBUDGET;
	if (params->max_handler_ns &&
	    now - s->step_began_ns > params->max_handler_ns)
		return PEAL_EBUDGET;
	if (peal_aborting(w))
		return PEAL_EABORTED;
	return peali_lease_over(w, now) ? PEAL_ELEASE : 0;
}

/* A step that is not simply the next one. What is over stays over. */
PEALI_SLOW(int, peali_step_look, struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	uint64_t now = peal_clock_ns(), most = w->params->max_steps;
	int over;

	if (s->step_run != s->handled + 1) { /* its first one */
		s->step_run = s->handled + 1;
		s->steps = 0;
		s->step_stride = 1;
		s->step_began_ns = now;
	} else {
		over = peali_step_over(w, now);
		if (over)
			return over;
		if (now - s->step_looked_ns >= PEALI_STEP_LOOK_NS)
			s->step_stride = (s->step_stride + 1) / 2;
		else if (s->step_stride < PEALI_STEP_LOOK_MOST)
			s->step_stride *= 2;
	}
	s->step_looked_ns = now;
	s->steps_until = s->steps + s->step_stride;
	if (most && s->steps_until > most)
		s->steps_until = most;
	s->steps++;
	return 0;
}

/* The leader's part of peal_step. */
static PEAL_DEV PEAL_INLINE int peali_step(struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;

	if (PEAL_UNLIKELY(s->steps >= s->steps_until) ||
	    PEAL_UNLIKELY(s->step_run != s->handled + 1))
		return peali_step_look(w);
	s->steps++;
	return 0;
}

/**
 * Collective: asks for one more step of the handler that runs. A step is
 * whatever the handler does between two calls: with one lane asking costs a
 * compare, with several they meet, and then a step is better some work of each.
 * The time of a run counts from its first call, and is looked at about every
 * 20 us, but not after each step.
 *
 * @param w the worker
 * @return 0: go on; else the handler shall return this: PEAL_EBUDGET it has had
 *         max_steps steps for this message, or max_handler_ns have passed;
 *         PEAL_EABORTED the kernel is being aborted; PEAL_ELEASE the host is
 *         gone. All lanes get the same, and it stays so until it returns.
 */
static PEAL_DEV PEAL_UNUSED inline int peal_step(struct peal_worker *w)
{
	int over = 0;

	if (peal_is_leader(w))
		over = peali_step(w);
	return (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)over);
}

#endif
