/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_REQUEST_H
#define PEAL_DEVICE_REQUEST_H

#include <peal/device/emit.h>
#include <peal/device/impl/worker/mailbox_put_word.h>
#include <peal/device/message.h>

/*
 * Replies to the requests of peal/request.h. A request is a message with a
 * number, which its reply carries back; a handler that does not look at the
 * number handles a request as any other message.
 *
 *	static PEAL_DEV int twice(struct peal_worker *w)
 *	{
 *		uint64_t n;
 *
 *		if (peal_length(w) != sizeof(n))
 *			return peal_reply_error(w, 0, PEAL_EPROTO);
 *		n = 2 * *(const uint64_t *)peal_data(w);
 *		return peal_reply(w, 0, peal_type(w), &n, sizeof(n));
 *	}
 *
 * A reply leaves by a port and counts as one of its messages. A handler that
 * fails sends none: its request times out.
 *
 * Requests of other actors of the kernel (device/ask.h) are replied to by the
 * same calls: then whatever port is named is not used, and need not be there,
 * and the reply counts as no message. A handler that fails on one refuses it
 * thereby.
 */

/**
 * The number of the request in hand.
 *
 * @param w the worker
 * @return never 0 for a request; 0: the message in hand is none
 */
static PEAL_DEV PEAL_INLINE uint64_t
peal_request_current(const struct peal_worker *w)
{
	return peali_message_request(&w->message);
}

/* Counts a reply to an ask that was over. */
static PEAL_DEV PEAL_UNUSED inline void peali_ask_late(struct peal_worker *w,
						       uint16_t type,
						       const void *data,
						       uint64_t bytes)
{
	struct peal_message in_hand = w->message;

	peali_ask_count(w, PEAL_ASKS_LATE, 1);
	w->message.header.actor = ~0u;
	w->message.header.type = type;
	w->message.header.flags = 0;
	w->message.data = data;
	w->message.length = bytes;
	peali_dead_letter(w, 0, PEAL_REASON_LATE, 0);
	w->message = in_hand;
}

/* Collective: a reply to an ask. */
PEALI_SLOW(int, peali_reply_ask, struct peal_worker *w, uint64_t request,
	   uint16_t type, uint16_t flags, const void *data, uint64_t bytes)
{
	int result = 0;

	peal_sync(w);
	if (peal_is_leader(w)) {
		if (!peali_ask_of(w, request))
			result = PEAL_EINVAL;
		else if (PEAL_REQUEST_BYTES + bytes > w->mailbox->message_bytes)
			result = PEAL_EMSGSIZE;
		else if (!peali_ask_end(w, request, flags, data, bytes))
			peali_ask_late(w, type, data, bytes);
	}
	return (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
}

/* A numbered message: the number, then `bytes` bytes at data. */
static PEAL_DEV PEAL_UNUSED inline int
peali_reply(struct peal_worker *w, uint32_t port, uint64_t request,
	    uint16_t type, uint16_t flags, const void *data, uint64_t bytes)
{
	void *place = 0;
	int result;

	if (PEAL_UNLIKELY(request & PEAL_ASK_BIT))
		return peali_reply_ask(w, request, type, flags, data, bytes);
	if (!request ||
	    (port < w->actor->ports &&
	     peali_output(w, port)->link.state == PEALI_STATE_TOPIC))
		return PEAL_EINVAL;
	result = peal_reserve(w, port, PEAL_REQUEST_BYTES + bytes, &place);
	if (PEAL_UNLIKELY(result))
		return result == PEAL_EPIPE ? 0 : result;
	if (peal_is_leader(w))
		*(uint64_t *)place = request;
	peal_copy_lanes(w, (uint8_t *)place + PEAL_REQUEST_BYTES, data, bytes);
	peali_commit(w, port,
		     peali_header(w, port, type,
				  (uint16_t)(PEAL_FLAG_REQUEST | flags)),
		     PEAL_REQUEST_BYTES + bytes);
	return 0;
}

/**
 * Collective: sends a message with the number of a request. To the endpoint of
 * the requester it is the reply, also long after the request was handled; to
 * another actor it is the request itself, which that actor replies to.
 *
 * @param w       the worker
 * @param port    of the running actor, a link's
 * @param request what peal_request_current said, the same in all lanes
 * @param type    the program's own number
 * @param data    `bytes` bytes that every lane can read
 * @param bytes   how many; the port's link takes PEAL_REQUEST_BYTES more, as
 *                those of a requester do
 * @return as peal_emit; PEAL_EINVAL request is 0, or the port is a topic's. To
 *         an ask: 0, also if it is over: the reply then counts as late;
 *         PEAL_EMSGSIZE longer than the kernel's mailbox.message_bytes less
 *         PEAL_REQUEST_BYTES, and the ask is still open; PEAL_EINVAL none of
 *         the kernel has that number.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_reply_to(struct peal_worker *w, uint32_t port, uint64_t request,
	      uint16_t type, const void *data, uint64_t bytes)
{
	return peali_reply(w, port, request, type, 0, data, bytes);
}

/**
 * Collective: peal_reply_to for the request in hand.
 *
 * @param w     the worker
 * @param port  of the running actor, a link's
 * @param type  the program's own number
 * @param data  `bytes` bytes that every lane can read
 * @param bytes how many
 * @return as peal_reply_to; PEAL_EINVAL the message in hand is no request.
 */
static PEAL_DEV PEAL_UNUSED inline int peal_reply(struct peal_worker *w,
						  uint32_t port, uint16_t type,
						  const void *data,
						  uint64_t bytes)
{
	return peal_reply_to(w, port, peal_request_current(w), type, data,
			     bytes);
}

/**
 * Collective: answers the request in hand with an error, which peal_request
 * then returns, and peal_answer_error says.
 *
 * @param w     the worker
 * @param port  of the running actor, a link's
 * @param error PEAL_E...; anything else arrives as PEAL_EHANDLER, and so do
 *              PEAL_EAGAIN, _ETIMEDOUT, _EMSGSIZE and _EBUSY, by which who
 *              waits knows that its request is not over
 * @return as peal_reply.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_reply_error(struct peal_worker *w, uint32_t port, int error)
{
	int32_t value = error;

	return peali_reply(w, port, peal_request_current(w), peal_type(w),
			   PEAL_FLAG_ERROR_REPLY, &value, sizeof(value));
}

/* Sends the message being handled by a port. */
static PEAL_DEV PEAL_UNUSED inline int
peali_forward_by_port(struct peal_worker *w, uint32_t port)
{
	uint16_t flags = w->message.header.flags;
	uint64_t bytes = w->message.length;
	void *place = 0;
	int result;

	if (port >= w->actor->ports || peal_request_current(w) & PEAL_ASK_BIT)
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

/* Tells the message being handled to an actor. */
static PEAL_DEV PEAL_UNUSED inline int
peali_forward(struct peal_worker *w, uint32_t further, uint32_t actor)
{
	struct peal_header header = w->message.header;

	header.actor = actor;
	return peali_tell_lanes(w, further, header, w->message.data,
				w->message.length);
}

/* peal_request_forward with options. */
static PEAL_DEV PEAL_UNUSED inline int
peali_forward_options(struct peal_worker *w, uint32_t to,
		      const struct peal_send_options *o)
{
	if (peali_send_supports(o, PEALI_SEND_PRIORITY))
		return peali_forward(
			w, o->priority ? w->params->priority_boxes : 0, to);
	if (peali_send_supports(o, PEALI_SEND_BY_PORT))
		return peali_forward_by_port(w, to);
	return PEAL_EINVAL;
}

/**
 * Sends the message being handled to another receiver, unchanged.
 *
 * The message keeps its deadline. A request keeps its number, so the receiver
 * replies to it. The receiver is an actor or a pool of the same kernel, and the
 * message counts as that of a peal_tell. With the option by_port the receiver
 * is that of a port, and the message counts as that of a peal_emit. Collective,
 * wait-free.
 *
 * @param w       the worker.
 * @param to      number of the actor or pool, the low half of its address. With
 *                by_port: port of the running actor. Its link takes messages as
 *                long as the link that brought the message.
 * @param options priority, as for peal_tell; or by_port. 0: none.
 * @return as peal_tell, with by_port as peal_emit, and:
 * @retval PEAL_EMSGSIZE the message is too long for the mailbox or pool. There
 *                       a request has PEAL_REQUEST_BYTES more than peal_length.
 * @retval PEAL_EINVAL   the message is an answer, or another option is set.
 *                       With by_port, the message is the request of an ask, for
 *                       which only actors of the kernel can reply. Or it is a
 *                       request or a dead letter, and the port leads to a
 *                       topic.
 */
static PEAL_DEV PEAL_INLINE int
peal_request_forward(struct peal_worker *w, uint32_t to,
		     const struct peal_send_options *options)
{
	if (w->message.header.flags & PEAL_FLAG_ANSWER)
		return PEAL_EINVAL;
	if (options)
		return peali_forward_options(w, to, options);
	return peali_forward(w, 0, to);
}

#endif
