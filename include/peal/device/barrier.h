/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_BARRIER_H
#define PEAL_DEVICE_BARRIER_H

#include <peal/device/impl/queue/barrier_signal.h>
#include <peal/device/impl/loop/control.h>
#include <peal/device/lanes.h>

/*
 * Barriers in handlers. peal_barrier_join on the host returns the number of the
 * barrier for a worker.
 */

static PEAL_DEV PEAL_INLINE const struct peal_barrier_view *
peali_barrier(const struct peal_worker *w, uint32_t barrier)
{
	const struct peal_barrier_view *view = &w->barriers[barrier];

	return barrier < w->params->max_barriers && view->participants ? view :
									 0;
}

/**
 * Arrives at the barrier's next phase without waiting.
 *
 * A participant that passes the phase sees all earlier writes of the lanes.
 * Collective, wait-free.
 *
 * @param w       the worker.
 * @param barrier the barrier's number for this worker.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT  the worker has not joined the barrier.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_barrier_arrive_lanes(struct peal_worker *w, uint32_t barrier)
{
	const struct peal_barrier_view *view = peali_barrier(w, barrier);

	if (!view)
		return PEAL_ENOENT;
	peal_sync(w);
	if (peal_is_leader(w))
		peal_barrier_signal(view);
	return 0;
}

/* Returns the error with which a wait in a handler must end; 0: none. It also
 * updates `heartbeat` and returns free slots: awaited workers may need them. */
PEALI_SLOW(int, peali_wait_over, struct peal_worker *w, uint64_t began_ns,
	   int64_t timeout_ns)
{
	struct peal_worker_state *s = w->state;
	uint64_t now = peal_clock_ns();

	peali_flush_credits(w);
	peal_store_relaxed_sys(&w->status->heartbeat, ++s->count.heartbeat);
	if (peal_load_relaxed_sys(&w->control->stop))
		return PEAL_ESTOPPED;
	if (peali_lease_over(w, now))
		return PEAL_ELEASE;
	if (timeout_ns >= 0 && now - began_ns >= (uint64_t)timeout_ns)
		return PEAL_ETIMEDOUT;
	return 0;
}

/* The leader's part of peal_barrier_wait_lanes. */
static PEAL_DEV PEAL_UNUSED inline int
peali_barrier_poll(struct peal_worker *w, const struct peal_barrier_view *view,
		   int64_t timeout_ns)
{
	uint64_t began = 0;
	uint32_t polls = 0;
	int result;

	while ((result = peal_barrier_test(view)) == PEAL_EAGAIN) {
		if (polls == 0)
			began = peal_clock_ns();
		if ((polls++ & 63) == 0 || peali_wait_announced(w)) {
			result = peali_wait_over(w, began, timeout_ns);
			if (result)
				break;
		}
		peali_wait_turn(w, 1);
	}
	return result;
}

/**
 * Waits until all participants have arrived at the phase at which this worker
 * arrived last.
 *
 * Collective. Blocks the worker.
 *
 * @param w          the worker.
 * @param barrier    the barrier's number for this worker.
 * @param timeout_ns ns. 0: only checks; -1: no limit.
 * @return 0, or a negative error code:
 * @retval PEAL_ETIMEDOUT not all have arrived. Wait again.
 * @retval PEAL_EABORTED  the host has aborted the barrier.
 * @retval PEAL_EINVAL    the worker has not arrived since it passed.
 * @retval PEAL_ENOENT    the worker has not joined the barrier.
 * @retval PEAL_ESTOPPED  the kernel is being stopped.
 * @retval PEAL_ELEASE    the host is silent for longer than the lease.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_barrier_wait_lanes(struct peal_worker *w, uint32_t barrier,
			int64_t timeout_ns)
{
	const struct peal_barrier_view *view = peali_barrier(w, barrier);
	int result = 0;

	if (!view)
		return PEAL_ENOENT;
	if (peal_is_leader(w)) {
		result = peali_barrier_poll(w, view, timeout_ns);
		peali_wait_reset(w);
	}
	return (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
}

#endif
