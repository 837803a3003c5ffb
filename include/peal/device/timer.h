/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_TIMER_H
#define PEAL_DEVICE_TIMER_H

#include <peal/device/lanes.h>
#include <peal/device/pool.h>
#include <peal/device/timer_count.h>

/*
 * Timers: how a handler sends later, once or again and again, by the device's
 * clock. A kernel has them if its option `timers` says how many may wait at a
 * time for each worker. All calls are collective and wait-free, and need no
 * room in mailboxes: that is seen to when the message is due (take_timer.h).
 *
 * A message goes out when it is due or later, never before; messages for one
 * actor go out in the order of their due times, and of those that are due at one
 * time in the order in which they were set, also when they had to wait for room.
 * They are told as by peal_tell, from the worker that has set them. A timer
 * outlives the actor that has set it. If the actor that it is for is no more
 * when it is due, the message is dead, reason "no-actor", and there is no other.
 *
 * A suspended kernel sends nothing; what was due meanwhile goes out when it is
 * resumed. A kernel that drains, or ends with its inputs, ends when every timer
 * that fires once has fired; periodic ones hold it up no longer than the kernel
 * has inputs, then they are over. What waits when a kernel is stopped never goes
 * out. The counts of all that: struct peal_timer_counts.
 */

/* ---- setting --------------------------------------------------------------- */

/* Whether such a message may be sent later: 0 or PEAL_E... */
static PEAL_DEV PEAL_UNUSED inline int
peali_timer_check(const struct peal_worker *w, uint32_t actor, uint64_t bytes)
{
	const struct peal_actor_entry *entry =
		(const struct peal_actor_entry *)(uintptr_t)w->params->actors +
		PEAL_ACTOR_INDEX(actor);
	uint64_t place;

	if (!w->timers || !w->timers->own)
		return PEAL_ENOTSUP;
	if (PEAL_ACTOR_INDEX(actor) >= w->params->max_actors)
		return PEAL_ENOENT;
	place = peal_load_relaxed_dev(&entry->place);
	if (!PEAL_PLACE_IS_OF(place, actor))
		return PEAL_ENOENT;
	if (bytes > w->mailbox->message_bytes)
		return PEAL_EMSGSIZE;
	if (PEAL_USES_POOLS && PEAL_PLACE_WORKER(place) == PEAL_POOL_WORKER &&
	    PEAL_PLACE_HANDLER(place) < peali_pools(w) &&
	    bytes > w->pools[PEAL_PLACE_HANDLER(place)].message_bytes)
		return PEAL_EMSGSIZE;
	return 0;
}

/* The leader's part of peal_tell_after and peal_tell_every: the message is in
 * the place. */
static PEAL_DEV PEAL_UNUSED inline void peali_timer_begin(struct peal_worker *w,
							  uint32_t place,
							  uint64_t delay_ns,
							  uint64_t period_ns)
{
	struct peal_timers *t = w->timers;
	struct peal_timer_entry *entry = peali_timer_entry(t, place);
	uint64_t now = peal_clock_ns();

	entry->number = ++t->numbers;
	entry->period_ns = period_ns;
	/* past the end of time is never */
	entry->due_ns = now + delay_ns < now ? ~0ULL : now + delay_ns;
	peali_timer_add(t, place);
	peali_timer_count(w, PEAL_TIMERS_SET, 1);
	peali_timers_waiting(w, 1);
}

PEALI_SLOW(int, peali_timer_set, struct peal_worker *w, uint64_t delay_ns,
	   uint64_t period_ns, struct peal_header header, const void *data,
	   uint64_t bytes, struct peal_timer *out)
{
	struct peal_timers *t = w->timers;
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
	peal_copy(peali_timer_message(t, place), data, bytes);
	peali_timer_begin(w, place, delay_ns, period_ns);
	out->number = entry->number;
	out->place = place;
	out->worker = w->index;
	return 0;
}

/* What both calls come to. */
static PEAL_DEV PEAL_UNUSED inline int
peali_tell_later(struct peal_worker *w, uint64_t delay_ns, uint64_t period_ns,
		 uint32_t actor, uint16_t type, const void *data,
		 uint64_t bytes, struct peal_timer *timer_out)
{
	struct peal_header header = { actor, type, 0 };
	struct peal_timer timer = { 0, 0, 0 };
	int result = 0;

	peal_sync(w);
	if (peal_is_leader(w))
		result = peali_timer_set(w, delay_ns, period_ns, header, data,
					 bytes, &timer);
	result = (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
	if (result || !timer_out)
		return result;
	timer_out->number = peal_broadcast(w, timer.number);
	timer_out->place = (uint32_t)peal_broadcast(w, timer.place);
	timer_out->worker = w->index;
	return 0;
}

/**
 * Collective: sends one message to an actor of the same kernel, or to a pool,
 * later.
 *
 * @param w         the worker
 * @param delay_ns  after which it is due; 0: when the handler has returned. One
 *                  that leads past the clock's end: it is never due
 * @param actor     its number in the kernel, the low half of its address
 * @param type      the program's own number
 * @param data      `bytes` bytes that the leader can read; they are copied
 * @param bytes     at most the kernel's mailbox_message_bytes, and the pool's
 *                  message_bytes
 * @param timer_out each lane's own; 0: nobody will cancel it
 * @return 0; PEAL_ENOSPC as many timers of the worker wait as the kernel's
 *         option `timers` says; PEAL_ENOENT no such actor; PEAL_EMSGSIZE;
 *         PEAL_ENOTSUP the kernel was launched without timers. Wait-free.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_tell_after(struct peal_worker *w, uint64_t delay_ns, uint32_t actor,
		uint16_t type, const void *data, uint64_t bytes,
		struct peal_timer *timer_out)
{
	return peali_tell_later(w, delay_ns, 0, actor, type, data, bytes,
				timer_out);
}

/**
 * Collective: the same again and again, until it is cancelled, its actor is no
 * more or the kernel has drained. It is due one period after it was set and then
 * at every multiple of it: one that is late makes none of the later ones so. Of
 * one timer there is never more than one message that waits for room: times that
 * it misses meanwhile are counted, not made up for.
 *
 * @param w         the worker
 * @param period_ns above 0
 * @param actor     as peal_tell_after
 * @param type      the program's own number
 * @param data      `bytes` bytes that the leader can read; they are copied
 * @param bytes     as peal_tell_after
 * @param timer_out each lane's own; 0: nobody will cancel it
 * @return as peal_tell_after; PEAL_EINVAL the period is 0. Wait-free.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_tell_every(struct peal_worker *w, uint64_t period_ns, uint32_t actor,
		uint16_t type, const void *data, uint64_t bytes,
		struct peal_timer *timer_out)
{
	if (!period_ns)
		return PEAL_EINVAL;
	return peali_tell_later(w, period_ns, period_ns, actor, type, data,
				bytes, timer_out);
}

/* ---- ending ---------------------------------------------------------------- */

/* The kernel's inputs have ended: periodic ones are over. */
PEALI_SLOW(void, peali_timers_drained, struct peal_worker *w)
{
	struct peal_timers *t = w->timers;
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

/* The worker ends: whatever still waits never goes out. */
PEALI_SLOW(void, peali_timers_stopped, struct peal_worker *w)
{
	struct peal_timers *t = w->timers;

	peali_timer_count(w, PEAL_TIMERS_STOPPED, w->state->timers);
	peali_timer_count(w, PEAL_TIMERS_HELD, -(int64_t)t->n_held);
	peali_timers_waiting(w, -(int64_t)w->state->timers);
}

/* The leader's part of peal_timer_cancel. */
PEALI_SLOW(int, peali_timer_cancel, struct peal_worker *w,
	   struct peal_timer timer)
{
	struct peal_timers *t = w->timers;

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
 * Collective: ends a timer. Any actor of the worker that has set it may.
 *
 * @param w     the worker
 * @param timer as it was set; one of all zeros is no timer
 * @return 0 it was cancelled, and sends nothing from now on, also if it was due
 *         and waited for room; PEAL_ENOENT it was no more: its message has gone
 *         out, may be in the actor's mailbox still, or it was cancelled, or is
 *         none; PEAL_EINVAL it is another worker's; PEAL_ENOTSUP the kernel was
 *         launched without timers. Wait-free.
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
