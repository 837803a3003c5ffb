/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_SENDER_H
#define PEAL_DEVICE_SENDER_H

#include <peal/device/request.h>
#include <peal/device/tell.h>

/*
 * The sender of the message being handled. An actor with several clients
 * replies to the client that has sent the message:
 *
 *	static PEAL_DEV int serve(struct peal_worker *w)
 *	{
 *		struct price p = price_of(peal_data(w));
 *
 *		return peal_reply_sender(w, PRICE, &p, sizeof(p), 0);
 *	}
 *
 * No client writes a port or an actor number into its payload:
 *
 * - A request of the host names its requester by its number. The requester
 *   listens to a port of the actor (peal_requester_listen).
 * - A message of a link comes from an endpoint or an actor. A link from a port
 *   of the handling actor leads back to it. Both links may be made in any
 *   order.
 * - A handler that tells a message sets the option `with_sender`. Asks need no
 *   option.
 *
 *	struct peal_send_options options = PEAL_SEND_OPTIONS;
 *
 *	options.with_sender = 1;
 *	return peal_tell(w, shop, QUERY, &q, sizeof(q), &options);
 *
 * A message keeps its sender in pools and at mailbox limits. It also keeps it
 * in peal_request_forward, but not with `by_port`. A sender of a link also
 * stays if the message follows its actor to another worker or kernel. These
 * messages have no sender:
 *
 * - a told message that follows its actor to another kernel, as the number is
 *   valid only in the former kernel
 * - the replay of a dead letter
 * - a message of a topic, of another process, or of a timer
 * - a message of a link that moves to a mailbox or pool without
 *   PEAL_SENDER_BYTES to spare
 *
 * The sender may migrate. A reply to its former number follows it. A link from
 * an actor has the owner of the port as its sender (share_ports_with).
 */

/** No actor has this number. */
#define PEAL_NO_ACTOR 0xffffffffu

/**
 * Returns the number of the actor that has told the message being handled.
 *
 * Any lane. Wait-free.
 *
 * @param w the worker.
 * @return a number for peal_tell, the low half of an address. PEAL_NO_ACTOR:
 *         the message was told without the option `with_sender`, or it was not
 *         told.
 */
static PEAL_DEV PEAL_INLINE uint32_t peal_sender(const struct peal_worker *w)
{
	uint64_t sender = peali_message_sender(&w->message);

	return PEAL_SENDER_IS_ACTOR(sender) ? (uint32_t)sender : PEAL_NO_ACTOR;
}

/* Returns the number of the end that has sent the message being handled. For a
 * request this is its requester. 0: none is known. Any lane. */
static PEAL_DEV PEAL_UNUSED inline uint32_t
peali_sending_end(const struct peal_worker *w)
{
	uint64_t request = peali_message_request(&w->message);
	uint64_t sender = peali_message_sender(&w->message);

	if (request)
		return request & PEAL_ASK_BIT ? 0 : PEAL_REQUEST_TABLE(request);
	if (sender)
		return PEAL_SENDER_IS_END(sender) ? (uint32_t)sender : 0;
	if (w->message.input >= w->params->max_inputs)
		return 0;
	return PEALI_INPUT_FAR_END(w->inputs[w->message.input].flags);
}

/**
 * Returns the port of the running actor that leads to the sender of the message
 * being handled.
 *
 * The sender is an endpoint, an actor with a port, or the requester of a
 * request. If several ports lead to it, the result is an open port.
 *
 * Any lane. Wait-free. The search takes time in proportion to the actor's
 * ports.
 *
 * @param w the worker.
 * @return a port for peal_emit, from 0. PEAL_NO_PORT: no port of the actor
 *         leads to the sender, or no sender is known.
 */
static PEAL_DEV PEAL_INLINE uint32_t
peal_sender_port(const struct peal_worker *w)
{
	return peali_port_to(w, peali_sending_end(w));
}

/**
 * Replies to the sender of the message being handled.
 *
 * The call is one of these, and counts as that call:
 *
 *	message				call		declaration
 *	request, ask			peal_reply	PEAL_EMITS for a request
 *	told with `with_sender`		peal_tell	PEAL_TELLS
 *	by a link			peal_emit	PEAL_EMITS
 *
 * Collective, wait-free.
 *
 * @param w       the worker.
 * @param type    the program's own number, as for that call.
 * @param data    `bytes` bytes, equal in all lanes; copied.
 * @param bytes   length of the payload, as for that call.
 * @param options as for that call; peal_reply supports no option. 0: none.
 * @return as that call, and:
 * @retval PEAL_ENOTCONN the message has no sender, or no port of the actor
 *                       leads to the sender.
 * @retval PEAL_EAGAIN   the handler has not declared the call, or has declared
 *                       fewer messages.
 * @retval PEAL_EINVAL   an option is not supported by that call.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_reply_sender(struct peal_worker *w, uint16_t type, const void *data,
		  uint64_t bytes, const struct peal_send_options *options)
{
	uint32_t actor = peal_sender(w), port;

	if (peal_request_is_current(w))
		return options && !peali_send_supports(options, 0) ?
			       PEAL_EINVAL :
			       peal_reply(w, PEAL_PORT_SENDER, type, data,
					  bytes);
	if (actor != PEAL_NO_ACTOR)
		return peal_tell(w, actor, type, data, bytes, options);
	port = peal_sender_port(w);
	return port == PEAL_NO_PORT ?
		       PEAL_ENOTCONN :
		       peal_emit(w, port, type, data, bytes, options);
}

#endif
