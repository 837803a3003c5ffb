/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_ASK_TABLE_H
#define PEAL_DEVICE_ASK_TABLE_H

#include <peal/device/impl/worker/mail.h>
#include <peal/device/impl/worker/timer_count.h>

/*
 * How asks end (device/ask.h). An ask is a word in the table of its worker,
 * which holds its number. Who has an answer - a reply, a refusal, that its time
 * is up, that its message is dead - takes the number away with a
 * compare-and-swap: the first one has ended it, and puts the answer into the
 * worker's mailbox; for all others it is over.
 *
 *	who asks				who ends it
 *	number (acq_rel), request ----------->	request; the word has the number
 *	answer; the place is free <-----------	the word is 0; answer
 *
 * That who has read the request sees the number in the word rests, where slots
 * are atoms, on the device, as the mailbox's ticket does (mailbox.h).
 *
 * An answer needs no room that somebody would have to wait for: the mailbox has
 * a slot more for each ask that may be open at its worker and for the answer in
 * hand. As many messages may lie there as it has slots, and of those of
 * admission and those of asks each is used again only by who knows that its
 * message was taken: so what admission.h says of slots holds for these, too.
 */

/* ---- the table ----------------------------------------------------------- */

static PEAL_DEV PEAL_INLINE struct peal_ask_entry *
peali_ask_entry(const struct peal_asks *asks, uint32_t place)
{
	return (struct peal_ask_entry *)(uintptr_t)(const void *)(asks + 1) +
	       place;
}

/* The place that belongs to a number; 0: it is none of this kernel. */
static PEAL_DEV PEAL_UNUSED inline struct peal_ask_entry *
peali_ask_of(const struct peal_worker *w, uint64_t number)
{
	uint64_t worker = PEAL_ASK_WORKER(number);
	uint64_t stride = w->params->worker_stride;

	if (!(number & PEAL_ASK_BIT) || !w->asks ||
	    worker >= w->params->n_workers)
		return 0;
	return peali_ask_entry(
		(const struct peal_asks *)((uintptr_t)w->asks +
					   (uintptr_t)(worker * stride) -
					   (uintptr_t)(w->index * stride)),
		(uint32_t)(PEAL_ASK_TURN(number) %
			   (w->params->max_asks + 1ULL)));
}

/* Counts; the host may look at any time. */
static PEAL_DEV PEAL_UNUSED inline void
peali_ask_count(struct peal_worker *w, uint32_t what, int64_t n)
{
	struct peal_ask_status *status =
		(struct peal_ask_status *)(uintptr_t)w->params->ask_status +
		w->index;

	w->asks->count[what] += (uint64_t)n;
	peal_store_relaxed_sys(&status->count[what], w->asks->count[what]);
}

/* Takes a place: the one that has been free for longest, so that numbers come
 * again as late as can be. There is one. */
static PEAL_DEV PEAL_UNUSED inline uint32_t peali_ask_take(struct peal_asks *a)
{
	uint32_t place = a->free_first - 1;

	a->used++;
	if (a->fresh <= a->max)
		return a->fresh++;
	a->free_first = peali_ask_entry(a, place)->next;
	if (!a->free_first)
		a->free_last = 0;
	return place;
}

static PEAL_DEV PEAL_UNUSED inline void peali_ask_give(struct peal_asks *a,
						       uint32_t place)
{
	peali_ask_entry(a, place)->next = 0;
	peali_ask_entry(a, place)->actor = ~0u; /* nobody: see migrate.h */
	if (a->free_last)
		peali_ask_entry(a, a->free_last - 1)->next = place + 1;
	else
		a->free_first = place + 1;
	a->free_last = place + 1;
	a->used--;
}

/* ---- ending -------------------------------------------------------------- */

/* Ends an ask, if nobody has: 1, and its answer is in the mailbox of who has
 * asked; else 0. The bytes, which the mailbox takes, come behind the number. */
PEALI_SLOW(int, peali_ask_end, struct peal_worker *w, uint64_t number,
	   uint32_t flags, const void *data, uint64_t bytes)
{
	struct peal_ask_entry *entry = peali_ask_of(w, number);
	uint32_t worker = PEAL_ASK_WORKER(number);
	struct peal_header header = { ~0u, 0, 0 };
	struct peal_mailbox *m;
	uint64_t ticket;

	if (!entry)
		return 0;
	if (PEALI_SIM_FAULT(TWO_ANSWER) && entry->number == number)
		peal_store_relaxed_dev(&entry->open, 0);
	else if (!peal_cas_relaxed_dev(&entry->open, number, 0))
		return 0;
	/* its worker knows for whom it is */
	header.flags = (uint16_t)(PEAL_FLAG_REQUEST | PEAL_FLAG_ANSWER | flags);
	m = peali_mailbox(w, worker);
	/* counted first, as in peali_mail_ticket */
	peal_store_relaxed_sys(&w->status->mailbox_sends,
			       ++w->state->mailbox_sends);
	ticket = peali_mailbox_ticket(m, 1);
	peali_slot_put_word(peali_policy(m->policy),
			    peali_mailbox_slot(m, ticket), m->slot_bytes,
			    peali_mailbox_lap(m, ticket), header, number, data,
			    (uint32_t)bytes);
#if PEAL_ON_HOST
	if (worker != w->index)
		peal_bell_ring((uint64_t)(uintptr_t)peali_bell_of(w, worker));
#endif
	return 1;
}

/* The same for that reason: nobody answers. */
static PEAL_DEV PEAL_UNUSED inline void
peali_ask_fail(struct peal_worker *w, uint64_t number, int32_t error)
{
	peali_ask_end(w, number, PEAL_FLAG_ERROR_REPLY | PEAL_FLAG_UNANSWERED,
		      &error, sizeof(error));
}

/* The message in w->message is dead, a request: if it is an ask's, that is
 * over. */
PEALI_SLOW(void, peali_ask_died, struct peal_worker *w, uint32_t reason)
{
	uint64_t number = peali_message_request(&w->message);
	int32_t error = PEAL_EPROTO;

	if (!(number & PEAL_ASK_BIT))
		return;
	if (reason == PEAL_REASON_NO_ACTOR)
		error = PEAL_ENOENT;
	else if (reason == PEAL_REASON_HANDLER)
		error = PEAL_EHANDLER;
	else if (reason == PEAL_REASON_DOWN)
		error = PEAL_ESTOPPED;
	else if (reason == PEAL_REASON_TOO_LONG)
		error = PEAL_EMSGSIZE;
	else if (reason == PEAL_REASON_FULL)
		error = PEAL_ENOSPC;
	else if (reason == PEAL_REASON_DUPLICATE)
		error = PEAL_EDUPLICATE;
	peali_ask_fail(w, number, error);
}

/* ---- the answer ---------------------------------------------------------- */

/* The number of the ask that the message in w->message answers, the
 * mailbox's. */
static PEAL_DEV PEAL_INLINE uint64_t
peali_answer_number(const struct peal_worker *w)
{
	return *(const uint64_t *)w->message.data;
}

/* Such an answer says for whom it is. */
static PEAL_DEV PEAL_UNUSED inline void
peali_answer_address(struct peal_worker *w)
{
	const struct peal_ask_entry *entry =
		peali_ask_of(w, peali_answer_number(w));

	if (!entry)
		return; /* nor is it for anybody */
	w->message.header.actor = entry->actor;
	w->message.header.type = entry->type;
}

/* An ask's timer is no more, if it still was. */
static PEAL_DEV PEAL_UNUSED inline void
peali_ask_disarm(struct peal_worker *w, const struct peal_ask_entry *entry)
{
	struct peal_timers *t = w->timers;

	if (peali_timer_entry(t, entry->timer_place)->number != entry->timer) {
		peali_timers_waiting(w, 0);
		return;
	}
	t->asking--;
	peali_timer_out(w, entry->timer_place);
	peali_timer_over(w, entry->timer_place, PEAL_TIMERS_CANCELLED);
}

/* The answer in w->message, the mailbox's, is done with: its ask is over, and
 * its slot is for the next one. */
PEALI_SLOW(void, peali_answer_over, struct peal_worker *w)
{
	uint64_t number = peali_answer_number(w);
	struct peal_ask_entry *entry = peali_ask_of(w, number);
	uint32_t flags = w->message.header.flags, why = PEAL_ASKS_ANSWERED;

	if (flags & PEAL_FLAG_UNANSWERED)
		why = *((const int32_t *)w->message.data + 2) ==
				      PEAL_ETIMEDOUT ?
			      PEAL_ASKS_TIMED_OUT :
			      PEAL_ASKS_FAILED;
	else if (flags & PEAL_FLAG_ERROR_REPLY)
		why = PEAL_ASKS_ERROR_REPLIES;
	if (++w->mailbox->taken - w->mailbox->head >=
	    w->state->mail_flush_every)
		peali_mail_give(w);
	if (!entry || entry->number != number)
		return;
	peali_ask_count(w, why, 1);
	peali_ask_count(w, PEAL_ASKS_OPEN, -1);
	peali_ask_give(w->asks,
		       (uint32_t)(entry - peali_ask_entry(w->asks, 0)));
	peali_ask_disarm(w, entry);
}

/* The message in w->message, the mailbox's, is done with. */
static PEAL_DEV PEAL_INLINE void peali_mail_over(struct peal_worker *w)
{
	if (PEAL_UNLIKELY(w->message.header.flags & PEAL_FLAG_ANSWER))
		peali_answer_over(w);
	else
		peali_mail_release(w);
}

/* ---- other ends ---------------------------------------------------------- */

/* The timer in that place, an ask's, is due. */
PEALI_SLOW(void, peali_ask_time_out, struct peal_worker *w, uint32_t place)
{
	peali_ask_fail(w,
		       *(const uint64_t *)(const void *)peali_timer_message(
			       w->timers, place),
		       PEAL_ETIMEDOUT);
	w->timers->asking--;
	peali_timer_over(w, place, PEAL_TIMERS_FIRED);
}

/* The worker ends: who has asked hears nothing any more. */
PEALI_SLOW(void, peali_asks_stopped, struct peal_worker *w)
{
	uint32_t n = w->asks->used;

	w->asks->used = 0;
	peali_ask_count(w, PEAL_ASKS_STOPPED, n);
	peali_ask_count(w, PEAL_ASKS_OPEN, -(int64_t)n);
	peali_timers_waiting(w, 0);
}

#endif
