/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_EVENT_H
#define PEAL_DEVICE_EVENT_H

#include <peal/abi/event.h>
#include <peal/device/clock.h>
#include <peal/device/phase.h>

/*
 * Events: a worker records one, handlers of other devices and the host see it,
 * without the host in between (peal/event.h). Who records one has its address for
 * the recorder's device, who looks that for its own; they come by a message, an
 * init or the parameters of a task.
 *
 *	who records				who looks
 *	earlier writes, count (R26) --------->	A26 count: they can be read
 */

/* Of an emulated device, how long who waits sleeps between two looks: a recorder
 * does not know who waits. */
#define PEALI_EVENT_SLEEP_US 200

static PEAL_DEV PEAL_INLINE struct peal_event_cell *
peali_event_cell(uint64_t event)
{
	return (struct peal_event_cell *)(uintptr_t)event;
}

/* Leader: writes a cell, the host's with the time. */
static PEAL_DEV PEAL_UNUSED inline void
peali_event_write(const struct peal_worker *w, uint64_t cell, uint64_t count,
		  int with_time)
{
	struct peal_event_cell *c = peali_event_cell(cell);

	if (with_time) {
		uint64_t uncertainty = 0, common;

		common = peal_common_ns(w, &uncertainty);
		peal_store_relaxed_sys(&c->begun, count);
		/* R27: pair with A27 in read_cell() of runtime/event.c: who
		 * sees one of three new words sees that it has begun. */
		peal_store_release_sys(&c->device_ns, peal_clock_ns());
		peal_store_release_sys(&c->common_ns, common);
		peal_store_release_sys(&c->uncertainty_ns, uncertainty);
	}
	/* R26: pairs with A26 in peal_event_count. */
	peal_store_release_sys(&c->count, count);
}

/**
 * Collective: records an event once more. What the lanes have written before can be
 * read by whoever sees it. One worker at a time records an event.
 *
 * @param w     the worker, of the recorder's device
 * @param event its address for that device
 * @return how often it was recorded by now, this time too. Wait-free.
 */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peal_event_record(struct peal_worker *w, uint64_t event)
{
	struct peal_event_record *r =
		(struct peal_event_record *)(uintptr_t)event;
	uint64_t count = 0, i;

	peal_sync(w);
	if (peal_is_leader(w)) {
		count = ++r->count;
		for (i = 0; i < r->n_cells; i++)
			peali_event_write(w, r->cell[i], count, !i);
	}
	return peal_broadcast(w, count);
}

/**
 * How often an event was recorded by now. Any lane; lanes that call it may see
 * different counts.
 *
 * @param event its address for the device
 * @return the count; what was written before the latest one of it can be read.
 *         Wait-free.
 */
static PEAL_DEV PEAL_INLINE uint64_t peal_event_count(uint64_t event)
{
	/* A26: pairs with R26 in peali_event_write. */
	return peal_load_acquire_sys(&peali_event_cell(event)->count);
}

/* One turn of waiting for who rings no bell: a sleep is short. */
static PEAL_DEV PEAL_UNUSED inline void peali_event_turn(struct peal_worker *w)
{
#if PEAL_ON_HOST
	peali_bell_of(w, w->index)->max_sleep_us = PEALI_EVENT_SLEEP_US;
#endif
	peali_wait_turn(w, 1);
}

/**
 * Collective: waits until an event was recorded so often. The worker does nothing
 * else meanwhile: never wait for who needs this worker.
 *
 * @param w          the worker
 * @param event      its address for the worker's device
 * @param count      1 or more
 * @param timeout_ns 0 looks, -1 for ever (but for a stop and the lease)
 * @return 0 it was, and what was written before can be read; PEAL_ETIMEDOUT;
 *         PEAL_ESTOPPED the kernel is being stopped; PEAL_ELEASE the host is gone.
 */
static PEAL_DEV PEAL_UNUSED inline int peal_event_await(struct peal_worker *w,
							uint64_t event,
							uint64_t count,
							int64_t timeout_ns)
{
	int result = 0;

	if (peal_is_leader(w)) {
		uint64_t began = 0;
		uint32_t polls = 0;

		while (peal_event_count(event) < count) {
			if (!polls)
				began = peal_clock_ns();
			if ((polls++ & 63) == 0 || peali_wait_announced(w)) {
				result = peali_wait_over(w, began, timeout_ns);
				if (result && peal_event_count(event) >= count)
					result = 0; /* while it was too late */
				if (result)
					break;
			}
			peali_event_turn(w);
		}
		peali_wait_limit(w);
		peali_wait_reset(w);
	}
	return (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
}

#endif
