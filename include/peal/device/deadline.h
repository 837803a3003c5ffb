/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_DEADLINE_H
#define PEAL_DEVICE_DEADLINE_H

#include <peal/device/clock.h>
#include <peal/device/request.h>

/*
 * Messages with a deadline (peal/deadline.h). A deadline is a time of the
 * host's clock. The message carries it before its payload, unchanged on all
 * devices. A handler that forwards a message passes the deadline on:
 *
 *	static PEAL_DEV int stage(struct peal_worker *w)
 *	{
 *		uint64_t deadline = peal_deadline_current(w);
 *		...
 *		return peal_emit_before(w, 0, deadline, peal_type(w), &out,
 *					sizeof(out));
 *	}
 *
 * peal_request_forward (request.h) and peal_request_forward_by keep the
 * deadline. The link, mailbox, pool or topic of the message must take
 * PEAL_DEADLINE_BYTES more than the payload.
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

/* ---- by ports ------------------------------------------------------------ */

/* Emits a message with a deadline and a given header. */
static PEAL_DEV PEAL_UNUSED inline int
peali_emit_before(struct peal_worker *w, uint32_t port, uint64_t deadline,
		  struct peal_header header, const void *data, uint64_t bytes)
{
	void *place = 0;
	int result = peal_reserve(w, port, PEAL_DEADLINE_BYTES + bytes, &place);

	if (PEAL_UNLIKELY(result))
		return result == PEAL_EPIPE ? 0 : result;
	if (peal_is_leader(w))
		*(uint64_t *)place = deadline;
	peal_copy_lanes(w, (uint8_t *)place + PEAL_DEADLINE_BYTES, data, bytes);
	header.flags |= PEAL_FLAG_DEADLINE;
	peali_commit(w, port, header, PEAL_DEADLINE_BYTES + bytes);
	return 0;
}

/**
 * Sends a message with a deadline, as peal_emit. Collective, wait-free.
 *
 * @param w        the worker.
 * @param port     port of the running actor. Its link or topic takes
 *                 PEAL_DEADLINE_BYTES more than `bytes`.
 * @param deadline from peal_deadline_after or peal_deadline_current; the
 *                 leader's value counts. 0, then in all lanes: no deadline.
 * @param type     the program's own number.
 * @param data     `bytes` bytes that every lane can read; copied.
 * @param bytes    length of the payload.
 * @return as peal_emit.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_emit_before(struct peal_worker *w, uint32_t port, uint64_t deadline,
		 uint16_t type, const void *data, uint64_t bytes)
{
	if (!deadline)
		return peal_emit(w, port, type, data, bytes);
	if (port >= w->actor->ports)
		return PEAL_EINVAL;
	return peali_emit_before(w, port, deadline,
				 peali_header(w, port, type, 0), data, bytes);
}

/**
 * Sends a message with a deadline, as peal_emit_to. Collective, wait-free.
 *
 * @param w        the worker.
 * @param port     as for peal_emit_before.
 * @param actor    as for peal_commit_to.
 * @param deadline as for peal_emit_before.
 * @param type     the program's own number.
 * @param data     `bytes` bytes that every lane can read; copied.
 * @param bytes    length of the payload.
 * @return as peal_emit.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_emit_to_before(struct peal_worker *w, uint32_t port, uint32_t actor,
		    uint64_t deadline, uint16_t type, const void *data,
		    uint64_t bytes)
{
	struct peal_header header = { actor, type, 0 };

	if (!deadline)
		return peal_emit_to(w, port, actor, type, data, bytes);
	return peali_emit_before(w, port, deadline, header, data, bytes);
}

/**
 * Sends the message being handled by a port, unchanged.
 *
 * The message keeps its deadline. A request keeps its number, so the receiver
 * replies to it. Collective, wait-free.
 *
 * @param w    the worker.
 * @param port port of the running actor. Its link takes messages as long as the
 *             link that brought the message.
 * @return as peal_emit, and:
 * @retval PEAL_EINVAL  the message is a request or a dead letter, and the port
 *                      leads to a topic. Or it is an answer. Or it is the
 *                      request of an ask, for which only actors of the kernel
 *                      can reply.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_request_forward_by(struct peal_worker *w, uint32_t port)
{
	uint16_t flags = w->message.header.flags;
	uint64_t bytes = w->message.length;
	void *place = 0;
	int result;

	if (port >= w->actor->ports)
		return PEAL_EINVAL;
	if (flags & PEAL_FLAG_ANSWER || peal_request_current(w) & PEAL_ASK_BIT)
		return PEAL_EINVAL;
	if (flags & (PEAL_FLAG_REQUEST | PEAL_FLAG_DEAD_LETTER) &&
	    peali_output(w, port)->link.state == PEALI_STATE_TOPIC)
		return PEAL_EINVAL;
	result = peal_reserve(w, port, bytes, &place);
	if (PEAL_UNLIKELY(result))
		return result == PEAL_EPIPE ? 0 : result;
	peal_copy_lanes(w, place, w->message.data, bytes);
	peali_commit(w, port, peali_header(w, port, peal_type(w), flags),
		     bytes);
	return 0;
}

/* ---- by mailboxes and pools ---------------------------------------------- */

/**
 * Sends a message with a deadline to an actor or pool, as peal_tell.
 *
 * The message can also expire in the mailbox or pool. Collective, wait-free.
 *
 * @param w        the worker.
 * @param actor    number of the actor or pool, the low half of its address.
 * @param deadline as for peal_emit_before.
 * @param type     the program's own number.
 * @param data     `bytes` bytes that the leader can read; copied.
 * @param bytes    at most the limit of peal_tell less PEAL_DEADLINE_BYTES.
 * @return as peal_tell.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_tell_before(struct peal_worker *w, uint32_t actor, uint64_t deadline,
		 uint16_t type, const void *data, uint64_t bytes)
{
	struct peal_header header = { actor, type, PEAL_FLAG_DEADLINE };
	int result = 0;

	if (!deadline)
		return peal_tell(w, actor, type, data, bytes);
	peal_sync(w);
	if (peal_is_leader(w))
		result = peali_tell_word(w, deadline, header, data, bytes);
	return (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
}

#endif
