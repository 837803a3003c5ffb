/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_DEADLINE_H
#define PEAL_DEVICE_DEADLINE_H

#include <peal/device/clock.h>
#include <peal/device/impl/worker/worker.h>

/*
 * Messages with a deadline (peal/deadline.h). A deadline is a time of the
 * host's clock. The message carries it before its payload, unchanged on all
 * devices. A handler that forwards a message passes the deadline on:
 *
 *	static PEAL_DEV int stage(struct peal_worker *w)
 *	{
 *		struct peal_send_options options = PEAL_SEND_OPTIONS;
 *
 *		options.deadline = peal_deadline_current(w);
 *		...
 *		return peal_emit(w, 0, peal_type(w), &out, sizeof(out),
 *				 &options);
 *	}
 *
 * Deadline 0 means no deadline: all lanes then pass 0. Else the leader's value
 * counts. peal_request_forward (request.h) keeps the deadline. The link,
 * mailbox, pool or topic of the message must take PEAL_DEADLINE_BYTES more than
 * the payload.
 */

/**
 * Returns the deadline of the message being handled. Any lane.
 *
 * @param w the worker.
 * @return ns of the host's clock. 0: no deadline.
 */
static PEAL_DEV PEAL_INLINE uint64_t
peal_deadline_current(const struct peal_worker *w)
{
	return peali_message_deadline(&w->message);
}

/**
 * Returns the deadline that lies a given time after now.
 *
 * The time counts from the worker's upper bound of the host's clock
 * (peal_host_time_ns). So the message never expires early. Any lane. A send
 * function uses the leader's value.
 *
 * @param w           the worker.
 * @param lifetime_ns ns from now. 0 or less: the message is dead on arrival.
 * @return a deadline, never 0. PEAL_DEADLINE_NEVER also if the worker does not
 *         know the host's clock.
 */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peal_deadline_after(const struct peal_worker *w, int64_t lifetime_ns)
{
	uint64_t low = 0, high = PEAL_DEADLINE_NEVER;

	peali_clock_bounds(w, &low, &high);
	return peali_deadline_at(high, lifetime_ns);
}

#endif
