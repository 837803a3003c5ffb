/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_REQUEST_H
#define PEAL_DEVICE_REQUEST_H

#include <peal/device/emit.h>
#include <peal/device/impl/worker/mailbox_put_word.h>
#include <peal/device/impl/worker/sender_word.h>
#include <peal/device/message.h>

/*
 * Replies to the requests of peal/request.h. A request is a message with a
 * number. Its reply carries the same number. A handler that ignores the number
 * handles a request as any other message.
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
 * A reply leaves by a port and counts as a message of that port.
 *
 * A request ends at once if its handler fails. It also ends if its handler
 * returns 0 and has not done one of these:
 *
 * - It has replied (peal_reply, peal_reply_error).
 * - It has forwarded the request (peal_request_forward).
 * - It has asked for the request's number (peal_request_current). The actor can
 *   then reply later, or another actor can reply.
 *
 * A handler can fail after it has replied to its request or forwarded it. The
 * request does not end by such a failure.
 *
 * The calls also reply to asks: requests of other actors of the kernel (ask.h).
 * The port of such a reply is not used and need not exist. The reply counts as
 * no message. A handler that fails on an ask refuses it.
 *
 * All calls but peal_request_current are collective: every lane of the worker
 * calls them. All lanes pass equal arguments, in `data` also equal bytes. Each
 * lane may pass its own copy of the data, with the same alignment.
 */

/**
 * As the port of a reply: the port of the running actor that leads to the
 * requester. The worker finds it by the request's number. So an actor with
 * several requesters need not know which one has sent the request.
 */
#define PEAL_PORT_SENDER 0xfffffffeu
/** No port. */
#define PEAL_NO_PORT 0xffffffffu

/* Returns the port of the running actor that leads to the end with this number.
 * An open port comes first. PEAL_NO_PORT: none does. Any lane. */
PEALI_SLOW(uint32_t, peali_port_to, const struct peal_worker *w, uint32_t end)
{
	uint32_t port, closed = PEAL_NO_PORT;
	const struct peal_output *o;

	for (port = 0; end && port < w->actor->ports; port++) {
		o = peali_output(w, port);
		if (!o->used || o->far_end != end)
			continue;
		if (!o->link.state)
			return port;
		closed = port;
	}
	return closed;
}

/**
 * Returns the number of the request being handled. Any lane.
 *
 * An actor can keep the number and reply later by peal_reply_to. So after this
 * call the request stays open when the handler returns 0 without a reply.
 *
 * @param w the worker.
 * @return the number, never 0. 0: the message is no request.
 */
static PEAL_DEV PEAL_INLINE uint64_t
peal_request_current(const struct peal_worker *w)
{
	/* any lane, or all lanes: each stores the number of this run */
	peali_store_lanes(&w->state->run.kept, w->state->count.handled + 1);
	return peali_message_request(&w->message);
}

/**
 * Checks whether the message being handled is a request. Any lane.
 *
 * A handler that must reply calls this, and not peal_request_current.
 *
 * @param w the worker.
 * @return 1: it is a request. 0: it is not.
 */
static PEAL_DEV PEAL_INLINE int
peal_request_is_current(const struct peal_worker *w)
{
	return peali_message_request(&w->message) != 0;
}

/* Notes that the running handler has answered or forwarded its request. */
static PEAL_DEV PEAL_INLINE void peali_answered(struct peal_worker *w)
{
	if (peal_is_leader(w))
		w->state->run.answered = w->state->count.handled + 1;
}

/* Counts a reply to an ask that was over, and drops it as a dead letter. */
static PEAL_DEV PEAL_UNUSED inline void peali_ask_late(struct peal_worker *w,
						       uint16_t type,
						       const void *data,
						       uint64_t bytes)
{
	struct peal_message handled = w->message;

	peali_ask_count(w, PEAL_ASKS_LATE, 1);
	w->message.header.actor = ~0u;
	w->message.header.type = type;
	w->message.header.flags = 0;
	w->message.data = data;
	w->message.length = bytes;
	peali_dead_letter(w, 0, PEAL_REASON_LATE, 0);
	w->message = handled;
}

/* Replies to an ask. Collective. */
PEALI_SLOW(int, peali_reply_ask, struct peal_worker *w, uint64_t request,
	   uint16_t type, uint16_t flags, const void *data, uint64_t bytes)
{
	int result = 0;

	peal_sync(w);
	if (peal_is_leader(w)) {
		if (!peali_ask_of(w, request))
			result = PEAL_EINVAL;
		else if (PEAL_REQUEST_BYTES + bytes >
			 peali_own_mailbox(w)->message_bytes)
			result = PEAL_EMSGSIZE;
		else if (!peali_ask_end(w, request, flags, data, bytes))
			peali_ask_late(w, type, data, bytes);
	}
	return (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
}

/* A closed port drops the reply to a request, or the request itself. If the
 * request is of the host, it ends. Returns 0. */
PEALI_SLOW(int, peali_reply_lost, struct peal_worker *w, uint64_t request)
{
	if (peal_is_leader(w))
		peali_host_request_fail(w, request, PEAL_EPIPE, 0);
	return 0;
}

/* Sends a numbered message: the number, then `bytes` bytes at data. */
static PEAL_DEV PEAL_UNUSED inline int
peali_reply(struct peal_worker *w, uint32_t port, uint64_t request,
	    uint16_t type, uint16_t flags, const void *data, uint64_t bytes)
{
	struct peal_header header;
	int result;

	if (PEAL_UNLIKELY(request & PEAL_ASK_BIT))
		return peali_reply_ask(w, request, type, flags, data, bytes);
	if (request && port == PEAL_PORT_SENDER) {
		port = peali_port_to(w, PEAL_REQUEST_TABLE(request));
		if (port == PEAL_NO_PORT)
			return PEAL_ENOTCONN;
	}
	if (!request || port >= w->actor->ports ||
	    peali_is_topic(peali_output(w, port)->link.state))
		return PEAL_EINVAL;
	header = peali_header(w, port, type,
			      (uint16_t)(PEAL_FLAG_REQUEST | flags));
	result = peali_emit_content(
		w, port, header,
		peali_content_word(header, request, data, bytes), PEAL_EPIPE);
	return PEAL_UNLIKELY(result == PEAL_EPIPE) ?
		       peali_reply_lost(w, request) :
		       result;
}

/**
 * Sends a message with the number of a request.
 *
 * If the port leads to the endpoint of the requester, the message is the reply.
 * The request may have been handled long before. If the port leads to another
 * actor, the message is the request itself. That actor then replies to it.
 *
 * A reply to an ask that is over is dropped, and the call returns 0. The reply
 * counts as late and becomes a dead letter with reason "late". Collective,
 * wait-free.
 *
 * @param w       the worker.
 * @param port    port of the running actor, with a link; or PEAL_PORT_SENDER.
 *                Not used for an ask.
 * @param request the number from peal_request_current, equal in all lanes.
 * @param type    the program's own number. An answer to an ask has the type
 *                that the asking actor has given.
 * @param data    `bytes` bytes, equal in all lanes; copied.
 * @param bytes   length of the payload. The port's link must take
 *                PEAL_REQUEST_BYTES more. Links of a requester do.
 * @return as peal_emit, and:
 * @retval PEAL_EINVAL   `request` is 0, or the port publishes to a topic. Or no
 *                       ask of the kernel can have the number.
 * @retval PEAL_ENOTCONN `port` is PEAL_PORT_SENDER, and no port of the actor
 *                       leads to the requester. Or the runtime has more than
 *                       1024 requesters, and this one is a later one.
 * @retval PEAL_EMSGSIZE of an ask: the reply is longer than the kernel's
 *                       mailbox.message_bytes less PEAL_REQUEST_BYTES. The ask
 *                       is still open.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_reply_to(struct peal_worker *w, uint32_t port, uint64_t request,
	      uint16_t type, const void *data, uint64_t bytes)
{
	return peali_reply(w, port, request, type, 0, data, bytes);
}

/* Replies to the request being handled. */
static PEAL_DEV PEAL_UNUSED inline int
peali_reply_current(struct peal_worker *w, uint32_t port, uint16_t type,
		    uint16_t flags, const void *data, uint64_t bytes)
{
	int result = peali_reply(w, port, peali_message_request(&w->message),
				 type, flags, data, bytes);

	if (!result)
		peali_answered(w);
	return result;
}

/**
 * Replies to the request being handled. Collective, wait-free.
 *
 * @param w     the worker.
 * @param port  as for peal_reply_to.
 * @param type  as for peal_reply_to.
 * @param data  `bytes` bytes, equal in all lanes; copied.
 * @param bytes as for peal_reply_to.
 * @return as peal_reply_to, and:
 * @retval PEAL_EINVAL the message is no request.
 */
static PEAL_DEV PEAL_UNUSED inline int peal_reply(struct peal_worker *w,
						  uint32_t port, uint16_t type,
						  const void *data,
						  uint64_t bytes)
{
	return peali_reply_current(w, port, type, 0, data, bytes);
}

/**
 * Replies to the request being handled with an error.
 *
 * peal_request of the host returns the error. An asking actor gets it by
 * peal_answer_error. Collective, wait-free.
 *
 * @param w     the worker.
 * @param port  as for peal_reply_to.
 * @param error an error code PEAL_E..., equal in all lanes. Other values arrive
 *              as PEAL_EHANDLER. So do PEAL_EAGAIN, PEAL_ETIMEDOUT,
 *              PEAL_EMSGSIZE and PEAL_EBUSY. Those codes would tell the
 *              requester that the request is still in flight.
 * @return as peal_reply.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_reply_error(struct peal_worker *w, uint32_t port, int error)
{
	int32_t value = error;

	return peali_reply_current(w, port, peal_type(w), PEAL_FLAG_ERROR_REPLY,
				   &value, sizeof(value));
}

/* Sends the message being handled by a port. */
static PEAL_DEV PEAL_UNUSED inline int
peali_forward_by_port(struct peal_worker *w, uint32_t port)
{
	uint64_t request = peali_message_request(&w->message);
	uint64_t omits = peali_message_sender(&w->message) ? PEAL_SENDER_BYTES :
							     0;
	uint64_t bytes = w->message.length - omits;
	uint16_t flags = w->message.header.flags & (uint16_t)~PEAL_FLAG_SENDER;
	struct peal_header header;
	int result;

	if (port >= w->actor->ports || request & PEAL_ASK_BIT)
		return PEAL_EINVAL;
	if (flags & (PEAL_FLAG_REQUEST | PEAL_FLAG_DEAD_LETTER) &&
	    peali_is_topic(peali_output(w, port)->link.state))
		return PEAL_EINVAL;
	header = peali_header(w, port, peal_type(w), flags);
	result = peali_emit_content(
		w, port, header,
		peali_content_of(header,
				 (const uint8_t *)w->message.data + omits,
				 bytes),
		PEAL_EPIPE);
	return PEAL_UNLIKELY(result == PEAL_EPIPE) ?
		       peali_reply_lost(w, request) :
		       result;
}

/* Tells the message being handled to an actor. A message of a link gets its
 * sender if that fits. */
static PEAL_DEV PEAL_UNUSED inline int
peali_forward(struct peal_worker *w, uint32_t further, uint32_t actor)
{
	struct peal_header header = w->message.header, with_sender = header;
	uint64_t sender = 0;
	int result = PEAL_EMSGSIZE;

	header.actor = with_sender.actor = actor;
	with_sender.flags |= PEAL_FLAG_SENDER;
	if (w->message.input < w->params->max_inputs)
		sender = peali_sender_to_keep(w, &w->inputs[w->message.input],
					      ~0ULL);
	if (sender)
		result = peali_tell_word_lanes(w, further, with_sender, sender,
					       w->message.data,
					       w->message.length);
	if (result != PEAL_EMSGSIZE)
		return result;
	return peali_tell_lanes(w, further, header, w->message.data,
				w->message.length);
}

/* peal_request_forward with options. */
static PEAL_DEV PEAL_UNUSED inline int
peali_forward_options(struct peal_worker *w, uint32_t to,
		      const struct peal_send_options *o)
{
	if (peali_send_supports(o, PEALI_SEND_PRIORITY))
		return peali_forward(w, o->priority ? peali_high_boxes(w) : 0,
				     to);
	if (peali_send_supports(o, PEALI_SEND_BY_PORT))
		return peali_forward_by_port(w, to);
	return PEAL_EINVAL;
}

/**
 * Sends the message being handled to another receiver, unchanged.
 *
 * The message keeps its deadline. A request keeps its number, so the receiver
 * replies to it. Other messages keep their sender (sender.h), but not with
 * by_port. The receiver is an actor or a pool of the same kernel. The
 * message then counts as one of peal_tell. With the option by_port the receiver
 * is that of a port. The message then counts as one of peal_emit. Collective,
 * wait-free.
 *
 * @param w       the worker.
 * @param to      number of the actor or pool, the low half of its address. With
 *                by_port: port of the running actor. Its link must take
 *                messages as long as the link that brought the message.
 * @param options priority, as for peal_tell; or by_port. Equal fields in all
 *                lanes. 0: none.
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
	int result;

	if (w->message.header.flags & PEAL_FLAG_ANSWER)
		return PEAL_EINVAL;
	result = options ? peali_forward_options(w, to, options) :
			   peali_forward(w, 0, to);
	if (!result)
		peali_answered(w);
	return result;
}

#endif
