/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_SENDER_WORD_H
#define PEAL_DEVICE_SENDER_WORD_H

#include <peal/device/impl/worker/worker.h>

/*
 * The word that names the sender of a message, when the message moves on. A
 * message of a link gets the number of the link's sending end. For the leader.
 */

/*
 * Returns the sender of w->message, which is of a link and moves to a mailbox,
 * pool or forwarding link. 0: it moves without a sender. Only a plain message
 * gets one: a request has a number, and Peal's own payloads need none. `most`:
 * bytes that fit there.
 */
PEALI_SLOW(uint64_t, peali_sender_to_keep, const struct peal_worker *w,
	   const struct peal_input *in, uint64_t most)
{
	uint32_t end = PEALI_INPUT_FAR_END(in->flags);

	if (PEAL_LIKELY(!end) ||
	    w->message.header.flags & ~PEAL_FLAG_DEADLINE ||
	    w->message.length + PEAL_SENDER_BYTES > most)
		return 0;
	return PEAL_SENDER_END(end);
}

/*
 * Copies w->message into the next slot of a forwarding link. Returns its length
 * there. It loses the sender that told it: that number is of this kernel. It
 * gets the sending end of its link: that number is of the runtime.
 */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peali_sender_copy(struct peal_worker *w, struct peal_link_producer *p,
		  struct peal_header *header)
{
	const struct peal_message *m = &w->message;
	const uint8_t *data = (const uint8_t *)m->data;
	uint8_t *to = (uint8_t *)peali_link_payload(p);
	uint64_t sender = 0, bytes = m->length;

	if (PEAL_SENDER_IS_ACTOR(peali_message_sender(m))) {
		header->flags &= (uint16_t)~PEAL_FLAG_SENDER;
		data += PEAL_SENDER_BYTES;
		bytes -= PEAL_SENDER_BYTES;
	}
	if (m->input < w->params->max_inputs)
		sender = peali_sender_to_keep(w, &w->inputs[m->input],
					      p->fits_slot);
	if (sender) {
		header->flags |= PEAL_FLAG_SENDER;
		*(uint64_t *)(void *)to = sender;
		to += PEAL_SENDER_BYTES;
	}
	peal_copy(to, data, bytes);
	return bytes + (sender ? PEAL_SENDER_BYTES : 0);
}

#endif
