/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_TELL_H
#define PEAL_DEVICE_TELL_H

#include <peal/device/impl/worker/mailbox_put_word.h>
#include <peal/device/impl/worker/tell_all.h>
#include <peal/device/message.h>
#include <peal/device/timer.h>

/*
 * How a handler sends to actors of its own kernel, by their mailboxes. emit.h
 * sends by ports.
 */

/* Tells a message with a deadline or a sender, but not with both. */
static PEAL_DEV PEAL_UNUSED inline int
peali_tell_prefixed(struct peal_worker *w, uint32_t further,
		    struct peal_header header, const void *data, uint64_t bytes,
		    const struct peal_send_options *o)
{
	header.flags |= o->deadline ? PEAL_FLAG_DEADLINE : PEAL_FLAG_SENDER;
	return peali_tell_word_lanes(
		w, further, header,
		o->deadline ? o->deadline : PEAL_SENDER_ACTOR(peal_self(w)),
		data, bytes);
}

/* peal_tell with options. */
static PEAL_DEV PEAL_UNUSED inline int
peali_tell_options(struct peal_worker *w, struct peal_header header,
		   const void *data, uint64_t bytes,
		   const struct peal_send_options *o)
{
	uint32_t further = o->priority ? peali_high_boxes(w) : 0;

	if (peali_send_supports(o, PEALI_SEND_PRIORITY))
		return peali_tell_lanes(w, further, header, data, bytes);
	if (peali_send_supports(o, PEALI_SEND_DEADLINE | PEALI_SEND_PRIORITY) ||
	    peali_send_supports(o,
				PEALI_SEND_WITH_SENDER | PEALI_SEND_PRIORITY))
		return peali_tell_prefixed(w, further, header, data, bytes, o);
	if (peali_send_supports(o, PEALI_SEND_TIMER))
		return peali_tell_later(w, header, data, bytes, o);
	return PEAL_EINVAL;
}

/**
 * Sends a message to an actor or a pool of the same kernel.
 *
 * The message goes into the mailbox of the actor's worker, whichever that is,
 * or into the pool. The address may also be a proxy (peal/proxy.h) for an actor
 * of another kernel. Collective, wait-free.
 *
 * With the option `deadline` the message can also expire in the mailbox or
 * pool. It takes PEAL_DEADLINE_BYTES more there.
 *
 * With the option `with_sender` the receiver learns the number of the telling
 * actor (peal_sender in sender.h). The message takes PEAL_SENDER_BYTES more in
 * the mailbox or pool. The call supports no deadline and no timer with it.
 *
 * With priority PEAL_PRIORITY_HIGH the message overtakes messages of normal
 * priority, also those of this actor. Messages of high priority keep their
 * order. This needs the kernel option mailbox.priority. Else, and in a pool,
 * the priority has no effect.
 *
 * The options delay_ns, period_ns and timer_out set a timer (timer.h):
 *
 * - delay_ns: the message is due so long after the call. 0 without a period:
 *   due after the handler has returned. Beyond the clock's end: never due.
 * - period_ns: a message is due again after each period. The first one is due
 *   after delay_ns, or after a period if delay_ns is 0. A late message does not
 *   delay later ones. At most one message of the timer waits for a free slot.
 *   Due times in between count as `missed`. The timer ends if it is cancelled,
 *   if its actor is gone, or with the kernel's inputs.
 * - timer_out: receives the timer, for peal_timer_cancel.
 *
 * @param w       the worker.
 * @param actor   number of the actor or pool, the low half of its address.
 * @param type    the program's own number.
 * @param data    `bytes` bytes that the leader can read; copied.
 * @param bytes   at most the kernel's mailbox.message_bytes, or the pool's
 *                message_bytes.
 * @param options priority, and deadline or with_sender; or delay_ns, period_ns
 *                and timer_out. 0: none.
 * @return 0, also if the actor's limit made this or another message dead; or a
 *         negative error code:
 * @retval PEAL_ENOENT   there is no such actor.
 * @retval PEAL_EMSGSIZE `bytes` is too large, with the bytes of a deadline or
 *                       a sender.
 * @retval PEAL_EAGAIN   the handler has declared fewer messages.
 * @retval PEAL_ENOSPC   the actor's limit is reached (PEAL_OVERFLOW_FAIL). Or
 *                       the worker has its most pending timers.
 * @retval PEAL_ENOTSUP  the kernel was launched without mailboxes, and the
 *                       address is no pool. Or it was launched without timers.
 * @retval PEAL_EINVAL   an option is not supported, alone or with the others.
 */
static PEAL_DEV PEAL_INLINE int
peal_tell(struct peal_worker *w, uint32_t actor, uint16_t type,
	  const void *data, uint64_t bytes,
	  const struct peal_send_options *options)
{
	struct peal_header header = { actor, type, 0 };

	if (options)
		return peali_tell_options(w, header, data, bytes, options);
	return peali_tell_lanes(w, 0, header, data, bytes);
}

/**
 * Sends a message to all actors of the same kernel, also to the caller.
 *
 * Each worker of the kernel gets the message in its mailbox. When the message
 * is the next one there, the actors of the worker handle it, one after another.
 * An actor with a full port delays the actors after it. An actor that lacks
 * free mailbox slots does, too, but later messages of the mailbox may pass. The
 * limit of an actor's mailbox (mailbox_limit) has no effect.
 *
 * - An actor that lives from this call until its worker has told all its actors
 *   gets the message exactly once. It may migrate to another worker meanwhile.
 * - An actor that is spawned, retired, or moved to another kernel meanwhile
 *   gets the message at most once.
 * - Actors behind a proxy, and actors that have ended, do not get it.
 *
 * An actor handles messages of one worker and of equal priority in
 * their order. The order may change while the actor migrates to another worker.
 * It may also change while actors lack free mailbox slots. A handler that fails
 * ends the message for its own actor only. The dead letter names this actor.
 *
 * A handler that calls it adds PEAL_TO_ALL to its declared messages, such as
 * PEAL_TELLS(PEAL_TO_ALL) or PEAL_TELLS(PEAL_TO_ALL | 2). This allows one call
 * for one message. It needs as many free mailbox slots as the kernel has
 * workers.
 *
 * Collective, wait-free.
 *
 * @param w       the worker.
 * @param type    the program's own number.
 * @param data    `bytes` bytes that the leader can read; copied.
 * @param bytes   at most the kernel's mailbox.message_bytes less
 *                PEAL_TO_ALL_BYTES, 8.
 * @param options priority, as for peal_tell; 0: none.
 * @return 0, or a negative error code:
 * @retval PEAL_EMSGSIZE `bytes` is too large.
 * @retval PEAL_EAGAIN   the handler has not declared PEAL_TO_ALL, or has told
 *                       its messages.
 * @retval PEAL_ENOTSUP  the kernel was launched without mailboxes.
 * @retval PEAL_EINVAL   another option is set.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_tell_all(struct peal_worker *w, uint16_t type, const void *data,
	      uint64_t bytes, const struct peal_send_options *options)
{
	const struct peal_header header = { 0, type, 0 };
	uint32_t further = 0;
	int result = PEAL_EAGAIN;

	if (options && !peali_send_supports(options, PEALI_SEND_PRIORITY))
		return PEAL_EINVAL;
	if (options && options->priority)
		further = peali_high_boxes(w);
	peal_sync(w);
	if (peal_is_leader(w) && peali_may_tell_all(w))
		result = peali_tell_all(w, further, header, data, bytes);
	if (peal_is_leader(w) && !result)
		peali_tells_all(w);
	return (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
}

#endif
