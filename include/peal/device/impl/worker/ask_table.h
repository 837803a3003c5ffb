/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_ASK_TABLE_H
#define PEAL_DEVICE_ASK_TABLE_H

#include <peal/device/impl/worker/mail.h>
#include <peal/device/impl/worker/timer_count.h>

/*
 * The end of asks (device/ask.h). An open ask has an entry in the table of its
 * worker. The word `open` of the entry holds the ask's number. An ask ends by a
 * reply, a refusal, its timeout, or the dead letter of its request.
 *
 * The worker that ends an ask clears the word with a compare-and-swap. The
 * first worker succeeds, and puts the answer into the mailbox of the asking
 * worker. For all others the ask is over.
 *
 *	asking worker				worker that ends the ask
 *	number (acq_rel), request ----------->	request; the word has the number
 *	answer; the entry is free <-----------	the word is 0; answer
 *
 * A worker that has read the request sees the number in the word. With atom
 * policies this rests on the device, as for the mailbox's ticket (mailbox.h).
 *
 * An answer never waits for a free slot. The mailbox has an extra slot for each
 * ask that may be open at its worker. It has one more for the answer that the
 * worker handles. So the mailbox never holds more messages than it has slots.
 *
 * Slots of admission and slots of asks have the same rule. A worker uses a slot
 * again only if it knows that the slot's message was taken. So the rules of
 * admission.h for slots hold for slots of asks, too.
 */

/* ---- the table ----------------------------------------------------------- */

static PEAL_DEV PEAL_INLINE struct peal_ask_entry *
peali_ask_entry(const struct peal_asks *asks, uint32_t place)
{
	return (struct peal_ask_entry *)(uintptr_t)(const void *)(asks + 1) +
	       place;
}

/* Returns the entry of an ask's number; 0: no ask of this kernel has it. */
static PEAL_DEV PEAL_UNUSED inline struct peal_ask_entry *
peali_ask_of(const struct peal_worker *w, uint64_t number)
{
	uint64_t worker = PEAL_ASK_WORKER(number);
	uint64_t stride = w->params->worker_stride;

	if (!(number & PEAL_ASK_BIT) || !peali_own_asks(w) ||
	    worker >= w->params->n_workers)
		return 0;
	return peali_ask_entry(
		(const struct peal_asks *)((uintptr_t)peali_own_asks(w) +
					   (uintptr_t)(worker * stride) -
					   (uintptr_t)(w->index * stride)),
		(uint32_t)(PEAL_ASK_TURN(number) %
			   (w->params->max_asks + 1ULL)));
}

/* Adds n to a counter. The host may read it at any time. */
static PEAL_DEV PEAL_UNUSED inline void
peali_ask_count(struct peal_worker *w, uint32_t what, int64_t n)
{
	struct peal_ask_status *status =
		(struct peal_ask_status *)(uintptr_t)w->params->ask_status +
		w->index;

	peali_own_asks(w)->count[what] += (uint64_t)n;
	peal_store_relaxed_sys(&status->count[what],
			       peali_own_asks(w)->count[what]);
}

/*
 * Takes a free entry: one that was never used, or else the one that has been
 * free for longest. So it takes long until a number is used again. The caller
 * knows that there is a free entry.
 */
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

/* Frees an entry. */
static PEAL_DEV PEAL_UNUSED inline void peali_ask_give(struct peal_asks *a,
						       uint32_t place)
{
	peali_ask_entry(a, place)->next = 0;
	peali_ask_entry(a, place)->actor = ~0u; /* none: see migrate.h */
	if (a->free_last)
		peali_ask_entry(a, a->free_last - 1)->next = place + 1;
	else
		a->free_first = place + 1;
	a->free_last = place + 1;
	a->used--;
}

/* ---- ending -------------------------------------------------------------- */

/*
 * Ends an ask that is still open. Returns 1, with the answer in the mailbox of
 * the asking worker. Returns 0 if the ask was over before.
 *
 * The answer holds the ask's number, then the bytes at data. They fit a message
 * of the mailbox.
 */
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
	/* the asking worker adds the actor: see peali_answer_address */
	header.flags = (uint16_t)(PEAL_FLAG_REQUEST | PEAL_FLAG_ANSWER | flags);
	m = peali_mailbox(w, worker);
	/* counted first, as in peali_mail_ticket */
	peal_store_relaxed_sys(&w->status->mailbox_sends,
			       ++w->state->count.mailbox_sends);
	ticket = peali_mailbox_ticket(m, 1);
	peali_slot_put(peali_policy(m->policy), peali_mailbox_slot(m, ticket),
		       m->slot_bytes, peali_mailbox_lap(m, ticket),
		       peali_content_word(header, number, data, bytes));
#if PEAL_ON_HOST
	if (worker != w->index)
		peal_bell_ring((uint64_t)(uintptr_t)peali_bell_of(w, worker));
#endif
	return 1;
}

/* Ends an ask with an error in place of a reply. */
static PEAL_DEV PEAL_UNUSED inline void
peali_ask_fail(struct peal_worker *w, uint64_t number, int32_t error)
{
	peali_ask_end(w, number, PEAL_FLAG_ERROR_REPLY | PEAL_FLAG_UNANSWERED,
		      &error, sizeof(error));
}

/* ---- the answer ---------------------------------------------------------- */

/* Returns the number of the ask that w->message answers. The message is from
 * the worker's mailbox. */
static PEAL_DEV PEAL_INLINE uint64_t
peali_answer_number(const struct peal_worker *w)
{
	return *(const uint64_t *)w->message.data;
}

/* Fills in the receiving actor and the type of the answer in w->message. */
static PEAL_DEV PEAL_UNUSED inline void
peali_answer_address(struct peal_worker *w)
{
	const struct peal_ask_entry *entry =
		peali_ask_of(w, peali_answer_number(w));

	if (!entry)
		return; /* the answer has no receiving actor */
	w->message.header.actor = entry->actor;
	w->message.header.type = entry->type;
}

/* Cancels the timer of an ask that is over, if the timer still waits. Else
 * publishes the number of open timers and asks. */
static PEAL_DEV PEAL_UNUSED inline void
peali_ask_disarm(struct peal_worker *w, const struct peal_ask_entry *entry)
{
	struct peal_timers *t = peali_own_timers(w);

	if (peali_timer_entry(t, entry->timer_place)->number != entry->timer) {
		peali_timers_waiting(w, 0);
		return;
	}
	t->asking--;
	peali_timer_out(w, entry->timer_place);
	peali_timer_over(w, entry->timer_place, PEAL_TIMERS_CANCELLED);
}

/* The worker is done with the answer in w->message, from its mailbox. The ask
 * is over. The next ask may use the answer's slot. */
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
	if (++peali_own_mailbox(w)->taken - peali_own_mailbox(w)->head >=
	    w->state->mail.flush_every)
		peali_mail_give(w);
	if (!entry || entry->number != number)
		return;
	peali_ask_count(w, why, 1);
	peali_ask_count(w, PEAL_ASKS_OPEN, -1);
	peali_ask_give(
		peali_own_asks(w),
		(uint32_t)(entry - peali_ask_entry(peali_own_asks(w), 0)));
	peali_ask_disarm(w, entry);
}

/* The worker is done with the message in w->message, from its mailbox. */
static PEAL_DEV PEAL_INLINE void peali_mail_over(struct peal_worker *w)
{
	if (PEAL_UNLIKELY(w->message.header.flags & PEAL_FLAG_ANSWER))
		peali_answer_over(w);
	else
		peali_mail_release(w, 1);
}

/* ---- other ends ---------------------------------------------------------- */

/* The timer at `place` belongs to an ask and is due: ends the ask. */
PEALI_SLOW(void, peali_ask_time_out, struct peal_worker *w, uint32_t place)
{
	peali_ask_fail(w,
		       *(const uint64_t *)(const void *)peali_timer_message(
			       peali_own_timers(w), place),
		       PEAL_ETIMEDOUT);
	peali_own_timers(w)->asking--;
	peali_timer_over(w, place, PEAL_TIMERS_FIRED);
}

/* The worker ends. Its actors get no more answers. */
PEALI_SLOW(void, peali_asks_stopped, struct peal_worker *w)
{
	uint32_t n = peali_own_asks(w)->used;

	peali_own_asks(w)->used = 0;
	peali_ask_count(w, PEAL_ASKS_STOPPED, n);
	peali_ask_count(w, PEAL_ASKS_OPEN, -(int64_t)n);
	peali_timers_waiting(w, 0);
}

#endif
