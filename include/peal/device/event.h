/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_EVENT_H
#define PEAL_DEVICE_EVENT_H

#include <peal/abi/event.h>
#include <peal/device/clock.h>
#include <peal/device/barrier.h>

/*
 * Events (peal/event.h): a worker records an event. Handlers of other devices
 * and the host read its count, without help of the host. Each side uses the
 * event's address for its own device. The host passes the addresses in
 * messages, init bytes or parameters of tasks.
 *
 *	recorder				watcher
 *	earlier writes, count (R26) --------->	A26 count: writes can be read
 */

/* Longest sleep between two looks on an emulated device. The recorder does not
 * know the watchers, so it cannot wake them. */
#define PEALI_EVENT_SLEEP_US 200

static PEAL_DEV PEAL_INLINE struct peal_event_cell *
peali_event_cell(uint64_t event)
{
	return (struct peal_event_cell *)(uintptr_t)event;
}

/* The leader writes a cell. The host's cell also gets the time. */
static PEAL_DEV PEAL_UNUSED inline void
peali_event_write(const struct peal_worker *w, uint64_t cell, uint64_t count,
		  int with_time)
{
	struct peal_event_cell *c = peali_event_cell(cell);

	if (with_time) {
		uint64_t uncertainty = 0, common;

		common = peal_host_time_ns(w, &uncertainty);
		peal_store_relaxed_sys(&c->begun, count);
		/* R27: pair with A27 in read_cell() of
		 * runtime/collective/event.c. After one of the three new words,
		 * the reader sees `begun`, too. */
		peal_store_release_sys(&c->device_ns, peal_clock_ns());
		peal_store_release_sys(&c->host_ns, common);
		peal_store_release_sys(&c->uncertainty_ns, uncertainty);
	}
	/* R26: pairs with A26 in peal_event_count. */
	peal_store_release_sys(&c->count, count);
}

PEALI_NAMESAKES_BEGIN
/**
 * Records an event.
 *
 * A watcher that sees this record sees all earlier writes of the lanes. One
 * worker at a time may record an event. Collective, wait-free.
 *
 * @param w     a worker of the recorder's device.
 * @param event the event's address for that device.
 * @return the number of records, with this one.
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
PEALI_NAMESAKES_END

/**
 * Returns the number of records of an event.
 *
 * The caller sees all writes before the last of these records. Any lane,
 * wait-free. Two lanes can see different counts.
 *
 * @param event the event's address for the device.
 * @return the number of records.
 */
static PEAL_DEV PEAL_INLINE uint64_t peal_event_count(uint64_t event)
{
	/* A26: pairs with R26 in peali_event_write. */
	return peal_load_acquire_sys(&peali_event_cell(event)->count);
}

/* One turn of waiting, with a short sleep: the recorder rings no bell. */
static PEAL_DEV PEAL_UNUSED inline void peali_event_turn(struct peal_worker *w)
{
#if PEAL_ON_HOST
	peali_bell_of(w, w->index)->max_sleep_us = PEALI_EVENT_SLEEP_US;
#endif
	peali_wait_turn(w, 1);
}

/* The leader's part of peal_event_await. */
static PEAL_DEV PEAL_UNUSED inline int peali_event_poll(struct peal_worker *w,
							uint64_t event,
							uint64_t count,
							int64_t timeout_ns)
{
	uint64_t began = 0;
	uint32_t polls = 0;
	int result = 0;

	while (peal_event_count(event) < count) {
		if (!polls)
			began = peal_clock_ns();
		if ((polls++ & 63) == 0 || peali_wait_announced(w)) {
			result = peali_wait_over(w, began, timeout_ns);
			if (result && peal_event_count(event) >= count)
				result = 0; /* recorded meanwhile */
			if (result)
				break;
		}
		peali_event_turn(w);
	}
	return result;
}

/**
 * Waits until an event has a given number of records.
 *
 * After 0 the lanes see all writes before that record. Collective. Blocks the
 * worker: do not wait for a record that needs this worker.
 *
 * @param w          the worker.
 * @param event      the event's address for the worker's device.
 * @param count      number of records, 1 or more.
 * @param timeout_ns ns. 0: only checks; -1: no limit.
 * @return 0, or a negative error code:
 * @retval PEAL_ETIMEDOUT  the event has fewer records.
 * @retval PEAL_ESTOPPED   the kernel is being stopped.
 * @retval PEAL_ELEASE     the host is silent for longer than the lease.
 */
static PEAL_DEV PEAL_UNUSED inline int peal_event_await(struct peal_worker *w,
							uint64_t event,
							uint64_t count,
							int64_t timeout_ns)
{
	int result = 0;

	if (peal_is_leader(w)) {
		result = peali_event_poll(w, event, count, timeout_ns);
		peali_wait_limit(w);
		peali_wait_reset(w);
	}
	return (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
}

#endif
