/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_STOPPED_H
#define PEAL_DEVICE_STOPPED_H

#include <peal/device/impl/worker/dead_letter.h>
#include <peal/device/mailbox.h>

/*
 * The end of a worker that still has messages. It ends the requests of the host
 * among them, with PEAL_ESTOPPED: no handler has seen them. The messages stay
 * where they are, and count as before. For the leader.
 *
 * Requests that a pool holds do not end here. Neither do requests that arrive
 * later.
 */

/* Ends the request in w->message if it is one of the host. */
static PEAL_DEV PEAL_UNUSED inline void
peali_request_stopped(struct peal_worker *w)
{
	uint64_t number;

	w->message.kind &= ~(uint32_t)PEAL_KIND_TIMED;
	if (w->message.kind > PEAL_KIND_SLAB)
		return;
	number = peali_message_request(&w->message);
	if (number && !(number & PEAL_ASK_BIT) &&
	    !(w->message.header.flags & PEAL_FLAG_ERROR_REPLY))
		peali_host_request_fail(w, number, PEAL_ESTOPPED, 0);
}

/* Ends the requests that wait in an input. Moves on without credit for the
 * sender, so at most one ring of messages is there. */
PEALI_SLOW(void, peali_input_stopped, struct peal_worker *w,
	   struct peal_link_consumer *c)
{
	uint64_t left = 1ULL << c->capacity_log2;

	while (left-- > 0 && !peali_link_peek_slowly(c, &w->message)) {
		peali_request_stopped(w);
		c->slab_head = c->slab_next;
		c->head++;
		peali_consumer_place(c);
	}
}

/* Ends the requests that wait in a mailbox of the worker. */
PEALI_SLOW(void, peali_mail_stopped, struct peal_worker *w,
	   struct peal_mailbox *m)
{
	uint64_t left = 1ULL << m->capacity_log2;
	struct peal_slot_view view = { 0, 0, 0 };

	while (left-- > 0 && peal_mailbox_peek(m, &view)) {
		w->message.header =
			*(const struct peal_header *)(const void *)view.content;
		w->message.data = view.content + sizeof(struct peal_header);
		w->message.length = view.length - sizeof(struct peal_header);
		w->message.kind = view.kind;
		peali_request_stopped(w);
		m->taken++;
	}
}

/* The worker ends. Ends the requests that wait at it. */
PEALI_SLOW(void, peali_requests_stopped, struct peal_worker *w)
{
	uint32_t i;

	for (i = 0; i < w->state->table.n_inputs; i++)
		if (w->inputs[i].flags & PEAL_INPUT_USED &&
		    !peali_is_topic(w->inputs[i].link.state))
			peali_input_stopped(w, &w->inputs[i].link);
	if (peali_own_mailbox(w))
		peali_mail_stopped(w, peali_own_mailbox(w));
	if (peali_priority_mailbox(w))
		peali_mail_stopped(w, peali_priority_mailbox(w));
}

#endif
