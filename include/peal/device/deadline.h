/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_DEADLINE_H
#define PEAL_DEVICE_DEADLINE_H

#include <peal/device/clock.h>
#include <peal/device/request.h>

/*
 * Messages with a deadline (peal/deadline.h). It is a time of the host's clock,
 * which travels in front of the payload: no route, worker or device that it
 * passes converts it. Who hands a message on hands its deadline on as well:
 *
 *	static PEAL_DEV int stage(struct peal_worker *w)
 *	{
 *		uint64_t deadline = peal_deadline_in_hand(w);
 *		...
 *		return peal_emit_before(w, 0, deadline, peal_type(w), &out,
 *					sizeof(out));
 *	}
 *
 * peal_delegate (request.h) and peal_delegate_by keep it by themselves. The
 * link, mailbox, pool or topic that it goes by has to take PEAL_DEADLINE_BYTES
 * more than the payload.
 */

/**
 * The deadline of the message in hand.
 *
 * @param w the worker
 * @return in ns of the host's clock; 0: it has none
 */
static PEAL_DEV PEAL_INLINE uint64_t
peal_deadline_in_hand(const struct peal_worker *w)
{
	return peali_message_deadline(&w->message);
}

/**
 * When so long will have passed, at least: by the upper bound of the host's
 * clock (peal_common_ns).
 *
 * @param w           the worker
 * @param lifetime_ns 0 or less: the message is dead when it arrives
 * @return a deadline, never 0; PEAL_DEADLINE_NEVER also if the host's clock is
 *         not known. Any lane; what the leader gets is what is sent.
 */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peal_deadline_after(const struct peal_worker *w, int64_t lifetime_ns)
{
	uint64_t low = 0, high = PEAL_DEADLINE_NEVER;

	peali_clock_bounds(w, &low, &high);
	return peali_deadline_at(high, lifetime_ns);
}

/* ---- by ports ------------------------------------------------------------ */

/* Sends a message with what stands before its payload: that header's. */
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
 * Collective: peal_emit of a message with a deadline.
 *
 * @param w        the worker
 * @param port     of the running actor; its link or topic takes
 *                 PEAL_DEADLINE_BYTES more
 * @param deadline of peal_deadline_after or peal_deadline_in_hand; 0: none. In
 *                 no lane 0 or in all
 * @param type     the program's own number
 * @param data     `bytes` bytes that every lane can read
 * @param bytes    how many
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
 * Collective: peal_emit_to of a message with a deadline.
 *
 * @param w        the worker
 * @param port     as peal_emit_before
 * @param actor    as peal_commit_to
 * @param deadline as peal_emit_before
 * @param type     the program's own number
 * @param data     `bytes` bytes that every lane can read
 * @param bytes    how many
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
 * Collective: emits the message in hand as it is, with its deadline and, if it
 * is a request, with its number: who gets it replies to it.
 *
 * @param w    the worker
 * @param port of the running actor; its link takes as much as that which has
 *             brought the message
 * @return as peal_emit; PEAL_EINVAL it is a request, and the port is a topic's; it
 *         is an ask's, which only actors of the kernel can reply to, or an answer.
 */
static PEAL_DEV PEAL_UNUSED inline int peal_delegate_by(struct peal_worker *w,
							uint32_t port)
{
	uint16_t flags = w->message.header.flags;
	uint64_t bytes = w->message.length;
	void *place = 0;
	int result;

	if (port >= w->actor->ports)
		return PEAL_EINVAL;
	if (flags & PEAL_FLAG_ANSWER || peal_request_in_hand(w) & PEAL_ASK_BIT)
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
 * Collective: peal_tell of a message with a deadline. It also expires while it
 * waits in the mailbox or the pool.
 *
 * @param w        the worker
 * @param actor    its number in the kernel, the low half of its address
 * @param deadline as peal_emit_before
 * @param type     the program's own number
 * @param data     `bytes` bytes that the leader can read
 * @param bytes    at most what peal_tell takes less PEAL_DEADLINE_BYTES
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
