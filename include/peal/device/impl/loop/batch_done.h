/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_BATCH_DONE_H
#define PEAL_DEVICE_BATCH_DONE_H

#include <peal/device/impl/loop/batch_open.h>
#include <peal/device/impl/loop/loop.h>

/*
 * How a worker ends the messages of a batch. It ends all but the last one here.
 * peal_loop_done ends the last one.
 *
 * All handlers of a batch have returned before its first message ends. If some
 * have failed, the messages end one by one, in their order. Each failure makes a
 * dead letter. Failures of one actor restart it once.
 */

/* Returns 1 if the messages of a batch are of a mailbox. */
static PEAL_DEV PEAL_INLINE int peali_batch_is_mail(const struct peal_batch *b)
{
	return PEALI_USES(MAIL) && b->mail;
}

/* Ends w->message, for the leader. Returns 1 if a supervisor must learn of its
 * failure first. */
static PEAL_DEV PEAL_UNUSED inline int peali_batch_end(struct peal_worker *w,
						       int mail, int result)
{
	w->state->count.handled++;
	if (result)
		peali_failed(w, result);
	else if (mail)
		peali_mail_done(w, 0);
	else
		peali_input_release(w, &w->inputs[w->message.input]);
	return w->state->failure != 0;
}

/* Makes the next message of a batch the current message, for the leader. */
static PEAL_DEV PEAL_UNUSED inline void peali_batch_next(struct peal_worker *w,
							 int mail)
{
	if (!mail) {
		(void)peali_link_peek_slowly(&w->inputs[w->message.input].link,
					     &w->message);
		return;
	}
	(void)peali_mail_peek(w);
	w->state->source.current = PEALI_FROM_MAILBOX;
}

/* Ends the messages of a batch of n. Some of them have failed. Returns the result
 * of the last one to the leader, else 0. Collective. */
PEALI_SLOW(int, peali_batch_end_each, struct peal_worker *w, uint32_t n,
	   int mail, int result)
{
	struct peal_worker_state *s = w->state;
	uint32_t lane = peal_lane(w), i;
	int pending = 0;

	if (lane < n)
		s->batch_results[lane] = result;
	peal_sync(w);
	for (i = 0; i + 1 < n; i++) {
		if (peal_is_leader(w))
			pending = peali_batch_end(w, mail, s->batch_results[i]);
		if (PEALI_USES(SUPERVISION) &&
		    peal_broadcast(w, (uint64_t)pending))
			peali_supervise(w);
		if (peal_is_leader(w))
			peali_batch_next(w, mail);
	}
	if (!peal_is_leader(w))
		return 0;
	w->fits_left = 0;
	return s->batch_results[n - 1];
}

/* Takes all messages of a batch of mail but one, for the leader. */
static PEAL_DEV PEAL_INLINE void peali_batch_end_mail(struct peal_worker *w,
						      uint32_t more)
{
	w->state->count.mailbox_done += more;
	peali_mail_release(w, more);
}

/* Ends all messages of a batch but one. No handler has failed. Collective. */
static PEAL_DEV PEAL_INLINE void peali_batch_end_all(struct peal_worker *w,
						     const struct peal_batch *b)
{
	const int mail = peali_batch_is_mail(b);
	uint32_t more = b->n - 1;

	/* peal_loop_done counts the bytes of lane 0 */
	if (b->has && !mail && !peal_is_leader(w))
		peali_add_lanes(
			&w->inputs[w->message.input].link.delivered_bytes,
			b->at.length);
	peali_batch_sync(w); /* all lanes have read their slots */
	if (!peal_is_leader(w))
		return;
	if (mail)
		peali_batch_end_mail(w, more);
	else
		peali_link_step(&w->inputs[w->message.input].link, more);
	w->state->count.handled += more;
	w->fits_left = w->fits_left > more ? w->fits_left - more : 0;
}

/* Messages of a burst as which a batch counts at most. A burst of 32 messages thus
 * has at least 4 batches. */
#define PEALI_BATCH_COST 8

/* Shortens the present burst by a batch of n messages, for the leader. High sources
 * have turns of an exact number of messages. */
static PEAL_DEV PEAL_INLINE void peali_batch_charge(struct peal_worker *w,
						    int mail, uint32_t n)
{
	uint32_t *left = &w->state->source.burst_left;
	uint32_t more = n - 1;

	if (more >= PEALI_BATCH_COST && PEAL_LIKELY(!peali_prioritized(w)))
		more = PEALI_BATCH_COST - 1;
	if (mail)
		w->state->source.mail_run += more;
	else
		*left = *left > more ? *left - more : 0;
}

/*
 * Ends all messages of a batch but the last one, which peal_loop_done ends.
 * `result` is that of the calling lane's message. Returns the result of the last
 * message. Collective.
 */
static PEAL_DEV PEAL_INLINE int
peali_batch_done(struct peal_worker *w, const struct peal_batch *b, int result)
{
	if (!b->has)
		result = 0;
	if (b->n == 1)
		return result;
	if (peal_is_leader(w))
		peali_batch_charge(w, peali_batch_is_mail(b), b->n);
	if (PEAL_UNLIKELY(peali_batch_ballot(w, result != 0)))
		return peali_batch_end_each(w, b->n, peali_batch_is_mail(b),
					    result);
	peali_batch_end_all(w, b);
	return 0;
}

#endif
