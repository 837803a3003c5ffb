/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_TIMER_H
#define PEAL_DEVICE_TIMER_H

#include <peal/device/lanes.h>
#include <peal/device/impl/worker/pool.h>
#include <peal/device/impl/worker/send_options.h>
#include <peal/device/impl/worker/supervisor_records.h>
#include <peal/device/impl/worker/timer_count.h>

/*
 * Timers: a handler sends a message later, once or periodically, by the
 * device's clock. peal_tell (tell.h) sets a timer if its options have delay_ns,
 * period_ns or timer_out:
 *
 *	struct peal_send_options later = PEAL_SEND_OPTIONS;
 *	struct peal_timer timer;
 *
 *	later.delay_ns = 1000000;
 *	later.timer_out = &timer;
 *	peal_tell(w, peal_self(w), 1, 0, 0, &later);
 *	...
 *	peal_timer_cancel(w, timer);
 *
 * The kernel's option `max_timers` sets the most pending timers per worker. The
 * calls are collective and wait-free. They need no free mailbox slot: the
 * worker waits for one when the message is due (poll_timers.h). A timer counts
 * as no message of PEAL_TELLS.
 *
 * Order. The worker sends a message at its due time or later, never earlier.
 * Messages for one actor go out in the order of their due times. If due times
 * are equal, they go out in the order of setting. This also holds after a wait
 * for free slots. The worker tells a message as peal_tell does.
 *
 * A timer outlives the actor that set it. If the receiving actor is gone at the
 * due time, the message is dead, reason "no-actor". The timer is then over.
 *
 * A restart of the actor does not end its timers, unless the supervisor has
 * PEAL_RESTART_ENDS_TIMERS. Its state then has no handle of the old timer. So an
 * init hook that sets a periodic timer sets a second one at each restart.
 *
 * End. A suspended kernel sends due messages after it resumes. A kernel that
 * drains, or ends with its inputs, waits for all one-shot timers. Periodic
 * timers end with the inputs. A stopped kernel drops pending timers. The
 * counters are in struct peal_timer_counts.
 */

/* ---- setting ---------------------------------------------------------- */

/* Checks the arguments of a timer. Returns 0 or an error. */
static PEAL_DEV PEAL_UNUSED inline int
peali_timer_check(const struct peal_worker *w, uint32_t actor, uint64_t bytes)
{
	const struct peal_actor_entry *entry =
		(const struct peal_actor_entry *)(uintptr_t)w->params->actors +
		PEAL_ACTOR_INDEX(actor);
	uint64_t place;

	if (!peali_own_timers(w) || !peali_own_timers(w)->own)
		return PEAL_ENOTSUP;
	if (PEAL_ACTOR_INDEX(actor) >= w->params->max_actors)
		return PEAL_ENOENT;
	place = peal_load_relaxed_dev(&entry->location);
	if (!PEAL_ENTRY_IS_OF(place, actor))
		return PEAL_ENOENT;
	if (bytes > peali_own_mailbox(w)->message_bytes)
		return PEAL_EMSGSIZE;
	if (PEALI_USES(POOLS) && PEAL_ENTRY_WORKER(place) == PEAL_POOL_WORKER &&
	    PEAL_ENTRY_HANDLER(place) < peali_pools(w) &&
	    bytes > w->pools[PEAL_ENTRY_HANDLER(place)].message_bytes)
		return PEAL_EMSGSIZE;
	return 0;
}

/* Notes the actor that sets a timer, and how often the actor has restarted. */
static PEAL_DEV PEAL_UNUSED inline void
peali_timer_note_setter(const struct peal_worker *w,
			struct peal_timer_entry *entry)
{
	uint32_t actor = w->message.header.actor;

	entry->setter = actor;
	entry->setter_restarts = 0;
	if (peali_has_supervision(w) &&
	    PEAL_ACTOR_INDEX(actor) < w->params->max_actors)
		entry->setter_restarts = peal_load_relaxed_dev(
			&peali_supervision(w, PEAL_ACTOR_INDEX(actor))
				 ->restarts);
}

/* Starts a timer, after the leader has copied its message to the entry. */
static PEAL_DEV PEAL_UNUSED inline void peali_timer_begin(struct peal_worker *w,
							  uint32_t place,
							  uint64_t delay_ns,
							  uint64_t period_ns)
{
	struct peal_timers *t = peali_own_timers(w);
	struct peal_timer_entry *entry = peali_timer_entry(t, place);
	uint64_t now = peal_clock_ns();

	entry->number = ++t->numbers;
	entry->period_ns = period_ns;
	/* beyond the clock's end: never due */
	entry->due_ns = now + delay_ns < now ? ~0ULL : now + delay_ns;
	peali_timer_add(t, place);
	peali_timer_count(w, PEAL_TIMERS_SET, 1);
	peali_timers_waiting(w, 1);
}

PEALI_SLOW(int, peali_timer_set, struct peal_worker *w, uint64_t delay_ns,
	   uint64_t period_ns, struct peal_header header, const void *data,
	   uint64_t bytes, struct peal_timer *out)
{
	struct peal_timers *t = peali_own_timers(w);
	struct peal_timer_entry *entry;
	int result = peali_timer_check(w, header.actor, bytes);
	uint32_t place;

	if (result)
		return result;
	if (w->state->timers - t->asking >= t->own)
		return PEAL_ENOSPC;
	place = peali_timer_take(t);
	entry = peali_timer_entry(t, place);
	entry->header = header;
	entry->length = (uint32_t)bytes;
	peali_timer_note_setter(w, entry);
	peal_copy(peali_timer_message(t, place), data, bytes);
	peali_timer_begin(w, place, delay_ns, period_ns);
	out->number = entry->number;
	out->place = place;
	out->worker = w->index;
	return 0;
}

/* peal_tell with options that set a timer. */
static PEAL_DEV PEAL_UNUSED inline int
peali_tell_later(struct peal_worker *w, struct peal_header header,
		 const void *data, uint64_t bytes,
		 const struct peal_send_options *o)
{
	uint64_t delay_ns = o->delay_ns ? o->delay_ns : o->period_ns;
	struct peal_timer timer = { 0, 0, 0 };
	int result = 0;

	peal_sync(w);
	if (peal_is_leader(w))
		result = peali_timer_set(w, delay_ns, o->period_ns, header,
					 data, bytes, &timer);
	result = (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
	if (result || !o->timer_out)
		return result;
	o->timer_out->number = peal_broadcast(w, timer.number);
	o->timer_out->place = (uint32_t)peal_broadcast(w, timer.place);
	o->timer_out->worker = w->index;
	return 0;
}

/* ---- ending ----------------------------------------------------------- */

/* Ends the periodic timers, after the kernel's inputs have ended. */
PEALI_SLOW(void, peali_timers_drained, struct peal_worker *w)
{
	struct peal_timers *t = peali_own_timers(w);
	uint32_t place;

	for (place = 0; place < t->fresh; place++) {
		const struct peal_timer_entry *entry =
			peali_timer_entry(t, place);

		if (!entry->number || !entry->period_ns)
			continue;
		peali_timer_out(w, place);
		peali_timer_over(w, place, PEAL_TIMERS_DRAINED);
	}
}

/* Counts the pending timers as stopped. The worker ends. */
PEALI_SLOW(void, peali_timers_stopped, struct peal_worker *w)
{
	struct peal_timers *t = peali_own_timers(w);

	peali_timer_count(w, PEAL_TIMERS_STOPPED, w->state->timers);
	peali_timer_count(w, PEAL_TIMERS_HELD, -(int64_t)t->n_held);
	peali_timers_waiting(w, -(int64_t)w->state->timers);
}

/* The leader's part of peal_timer_cancel. */
PEALI_SLOW(int, peali_timer_cancel, struct peal_worker *w,
	   struct peal_timer timer)
{
	struct peal_timers *t = peali_own_timers(w);

	if (!t)
		return PEAL_ENOTSUP;
	if (timer.number && timer.worker != w->index)
		return PEAL_EINVAL;
	if (!timer.number || timer.place >= t->fresh ||
	    peali_timer_entry(t, timer.place)->number != timer.number)
		return PEAL_ENOENT;
	peali_timer_out(w, timer.place);
	peali_timer_over(w, timer.place, PEAL_TIMERS_CANCELLED);
	return 0;
}

/**
 * Cancels a timer. Any actor of the worker that has set it may call this.
 *
 * The timer sends nothing afterwards, even if its message was due and waited
 * for a free slot. Collective, wait-free.
 *
 * @param w     the worker.
 * @param timer the handle that peal_tell wrote to timer_out. All zeros: no
 *              timer.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT  the timer is over: its message was sent, and may still
 *                      be in the mailbox. Or it was cancelled, or is no timer.
 * @retval PEAL_EINVAL  the timer is of another worker.
 * @retval PEAL_ENOTSUP the kernel was launched without timers.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_timer_cancel(struct peal_worker *w, struct peal_timer timer)
{
	int result = 0;

	peal_sync(w);
	if (peal_is_leader(w))
		result = peali_timer_cancel(w, timer);
	return (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
}

#endif
