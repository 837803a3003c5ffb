/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_TELL_ALL_H
#define PEAL_DEVICE_TELL_ALL_H

#include <peal/device/impl/worker/mailbox_put_word.h>

/*
 * Sends a message to all actors of the kernel: puts one copy into the mailbox
 * of each worker. The copy keeps its slot until all actors of the worker have
 * handled the message (impl/loop/poll_to_all.h). So a worker that is slow, or
 * has a full mailbox, delays no other worker.
 *
 * A handler with PEAL_TO_ALL needs a free slot for each worker. The workers do
 * not keep these slots: mailboxes would need memory by the cube of the number
 * of workers. The reserve has the slots instead. For the leader.
 */

/* Whether the running handler may tell all actors: one message per worker. */
static PEAL_DEV PEAL_INLINE int peali_may_tell_all(const struct peal_worker *w)
{
#if PEALI_CHECK_LIMITS
	uint64_t none = w->state->count.handled << PEALI_RUN_SHIFT;

	return peali_spent(w, w->state->run.tells_spent) - none +
		       w->params->n_workers <=
	       w->actor->tells;
#else
	(void)w;
	return 1;
#endif
}

/* Counts the messages of peali_tell_all for the running handler. */
static PEAL_DEV PEAL_INLINE void peali_tells_all(struct peal_worker *w)
{
#if PEALI_CHECK_LIMITS
	w->state->run.tells_spent = peali_spent(w, w->state->run.tells_spent) +
				    w->params->n_workers;
#else
	(void)w;
#endif
}

/*
 * Puts the copies, all of them or none. The number of the message is taken
 * before the first copy is put: peali_round_look depends on this order.
 * `further`: priority_boxes for the mailboxes of high priority, or 0.
 */
PEALI_SLOW(int, peali_tell_all, struct peal_worker *w, uint32_t further,
	   struct peal_header header, const void *data, uint64_t bytes)
{
	uint32_t i;

	if (!peali_own_mailbox(w))
		return PEAL_ENOTSUP;
	if (PEAL_TO_ALL_BYTES + bytes > peali_own_mailbox(w)->message_bytes)
		return PEAL_EMSGSIZE;
	if (w->state->mail.lease.granted < w->params->n_workers)
		return PEAL_EAGAIN;
	header.actor =
		(uint32_t)peal_add_acqrel_dev(&peali_admission(w)->to_all, 1);
	header.flags |= PEAL_FLAG_TO_ALL;
	for (i = 0; i < w->params->n_workers; i++)
		peali_mailbox_put_word(w, i + further, header, 0, data, bytes);
	return 0;
}

/*
 * Puts the copies of a message of the host. Returns PEAL_EAGAIN if there are
 * too few free slots: the host repeats the request. The kernel may be about to
 * end if the inputs of this worker have ended.
 */
static PEAL_DEV PEAL_UNUSED inline int
peali_host_tells_all(struct peal_worker *w,
		     const struct peal_control_tell_all *c)
{
	struct peal_header header = { 0, (uint16_t)c->type,
				      PEAL_FLAG_COUNT_ALL };

	if (!peali_own_mailbox(w))
		return PEAL_ENOTSUP;
	if (w->state->published.drained & PEAL_DRAINED_ENDED ||
	    w->state->hook.exiting)
		return PEAL_ESTOPPED;
	if (!peali_links_fit(w, w->params->n_workers, 0))
		return PEAL_EAGAIN;
	/* no worker ends now before it has seen the copies */
	w->state->published.drained = 0;
	peal_store_release_sys(&w->status->drained, 0);
	return peali_tell_all(w, 0, header, (const void *)(uintptr_t)c->data,
			      c->bytes);
}

/* Handles PEAL_CONTROL_TELL_ALL, and answers the request. */
PEALI_SLOW(int, peali_control_tell_all, struct peal_worker *w,
	   const struct peal_control_tell_all *c)
{
	int result = peali_host_tells_all(w, c);

	/* R31: pairs with A31 in runtime/kernel/kernel_tell_all.c: the payload
	 * was read. */
	peal_store_release_sys(&w->status->to_all_answer,
			       PEAL_TO_ALL_ANSWER(c->request, result));
	return 0;
}

#endif
