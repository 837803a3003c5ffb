/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_DEAD_LETTER_H
#define PEAL_DEVICE_DEAD_LETTER_H

#include <peal/device/impl/worker/ask_table.h>
#include <peal/device/impl/worker/failure_log.h>
#include <peal/device/impl/worker/limit.h>

/*
 * Dead letters (peal/dead_letter.h). A worker that finds a dead message sends a
 * letter to the kernel's receiver of dead letters. The letter has a report
 * about the message, and its payload.
 *
 * Each worker has a port for dead letters, before the ports of its actors. No
 * worker waits for space at this port, so dead messages delay no other message.
 * A letter that does not fit is counted as lost. There is no letter about a
 * letter. So a receiver that fails on a letter gets no further letter.
 *
 * All functions are for the leader, unless they say otherwise.
 */

/* Returns a worker's port for dead letters. It is `used` if the kernel has a
 * receiver of dead letters. */
static PEAL_DEV PEAL_INLINE struct peal_output *
peali_dead_letters(const struct peal_worker *w)
{
	return &w->outputs[PEAL_PORT_DEAD_LETTERS];
}

/*
 * Reserves space for a letter. Returns 0 and sets *out. If the link is closed
 * or gone, returns its state. If the letter does not fit, counts it as lost and
 * returns PEAL_EAGAIN. The last slot stays free for an END or a SEAL.
 */
static PEAL_DEV PEAL_UNUSED inline int
peali_dead_letter_reserve(struct peal_link_producer *p, uint64_t bytes,
			  void **out)
{
	if (p->state) {
		if (p->counts) /* 0: the link is gone */
			peal_link_drop_closed(p, bytes);
		return p->state;
	}
	if (peal_link_free_slots(p, 2) >= 2 &&
	    !peal_link_reserve(p, bytes, out))
		return 0;
	peali_link_count_full(p);
	peal_store_relaxed_sys(&p->counts->lost,
			       peal_load_relaxed_sys(&p->counts->lost) + 1);
	return PEAL_EAGAIN;
}

/* Publishes the letter that the caller has written. */
static PEAL_DEV PEAL_UNUSED inline void
peali_dead_letter_commit(struct peal_link_producer *p, uint64_t bytes)
{
	struct peal_header header;

	header.actor = p->actor;
	header.type = 0;
	header.flags = PEAL_FLAG_DEAD_LETTER;
	peal_link_commit(p, header, bytes);
}

/* Sends the letter in dead_letter.record. It ends with as much of the message's
 * payload as fits. */
PEALI_SLOW(void, peali_dead_letter_send, struct peal_worker *w)
{
	struct peal_link_producer *p = &peali_dead_letters(w)->link;
	uint64_t kept = w->message.length;
	struct peal_dead_letter *letter;
	void *place = 0;

	if (kept > p->message_bytes - sizeof(*letter))
		kept = p->message_bytes - sizeof(*letter);
	switch (peali_dead_letter_reserve(p, sizeof(*letter) + kept, &place)) {
	case 0:
		break;
	case PEAL_EAGAIN:
		peali_failure_note(w, PEAL_FAILED_LETTER,
				   w->message.header.actor, 0, 0);
		return;
	default:
		return;
	}
	letter = (struct peal_dead_letter *)place;
	*letter = w->state->dead_letter.record;
	peal_copy(letter + 1, w->message.data, kept);
	peali_dead_letter_commit(p, sizeof(*letter) + kept);
}

/* ---- requests without a reply -------------------------------------------- */

/* Returns the entry of a request of the host in its reject table; 0: none. */
static PEAL_DEV PEAL_UNUSED inline struct peal_reject_entry *
peali_reject_entry(const struct peal_worker *w, uint64_t number,
		   struct peal_reject_table **table_out)
{
	const uint64_t *tables =
		(const uint64_t *)(uintptr_t)w->params->reject_tables;
	uint32_t at = PEAL_REQUEST_TABLE(number) - 1;
	uint32_t place = PEAL_REQUEST_PLACE(number) - 1;
	struct peal_reject_table *table;

	if (!tables || at >= PEAL_REJECT_TABLES_MAX)
		return 0;
	/* A21: pairs with R21 in peali_reject_tables_show: the table's words
	 * are initialized. */
	table = (struct peal_reject_table *)(uintptr_t)peal_load_acquire_sys(
		&tables[at]);
	if (!table || place >= table->places)
		return 0;
	*table_out = table;
	return (struct peal_reject_entry *)(void *)(table + 1) + place;
}

/*
 * Ends the request of the host with this number: its requester gets the error
 * at once. The requester reads it in its reject table.
 *
 * A replayed dead letter repeats the number of a request that is over. Such a
 * report does not replace the report about a later request.
 */
PEALI_SLOW(void, peali_host_request_fail, const struct peal_worker *w,
	   uint64_t number, int error, int detail)
{
	struct peal_reject_table *table = 0;
	struct peal_reject_entry *refusal =
		peali_reject_entry(w, number, &table);
	uint64_t word;

	if (detail > 0x7fff || detail < -0x7fff)
		detail = 0; /* the word has no bits for it */
	word = PEAL_REJECT_WORD(number, error, detail);
	if (!refusal ||
	    PEAL_REJECT_IS_OLDER(word, peal_load_relaxed_sys(&refusal->word)))
		return;
	/* R20: both stores pair with A20 in look in
	 * runtime/link/reject_table.c. */
	peal_store_release_sys(&refusal->word, word);
	peal_store_release_sys(&table->latest, number);
#if PEAL_ON_HOST
	peal_bell_ring(table->bell);
#endif
}

/* Returns the error of a request that ends because its message is dead. */
static PEAL_DEV PEAL_UNUSED inline int peali_reason_error(uint32_t reason)
{
	switch (reason) {
	case PEAL_REASON_NO_ACTOR:
		return PEAL_ENOENT;
	case PEAL_REASON_HANDLER:
		return PEAL_EHANDLER;
	case PEAL_REASON_STOPPED:
	case PEAL_REASON_DOWN:
		return PEAL_ESTOPPED;
	case PEAL_REASON_TOO_LONG:
		return PEAL_EMSGSIZE;
	case PEAL_REASON_FULL:
		return PEAL_ENOSPC;
	case PEAL_REASON_DUPLICATE:
		return PEAL_EDUPLICATE;
	case PEAL_REASON_EXPIRED:
		return PEAL_EEXPIRED;
	default:
		return PEAL_EPROTO;
	}
}

/* Ends the request in w->message, of an actor or of the host, with an error. A
 * message that is no request stays as it is. */
PEALI_SLOW(void, peali_request_fail, struct peal_worker *w, int error,
	   int detail)
{
	uint64_t number = peali_message_request(&w->message);

	if (number & PEAL_ASK_BIT)
		peali_ask_fail(w, number, error);
	else if (number && !(w->message.header.flags & PEAL_FLAG_ERROR_REPLY))
		peali_host_request_fail(w, number, error, detail);
}

/* Returns 1 if the handler run that ends has replied to its request, or has
 * forwarded it. */
static PEAL_DEV PEAL_INLINE int peali_is_answered(const struct peal_worker *w)
{
	return w->state->run.answered == w->state->count.handled;
}

/* The request in w->message is dead for `reason`. */
static PEAL_DEV PEAL_UNUSED inline void
peali_request_died(struct peal_worker *w, uint32_t reason, int error)
{
	if ((reason == PEAL_REASON_HANDLER ||
	     reason == PEAL_REASON_DUPLICATE) &&
	    peali_is_answered(w))
		return; /* its reply is on the way, or another actor has it */
	peali_request_fail(w, peali_reason_error(reason), error);
}

/*
 * The handler of the request in w->message has returned 0. It may have replied,
 * forwarded the request, or asked for its number. Otherwise no reply can come.
 */
PEALI_SLOW(void, peali_request_over, struct peal_worker *w)
{
	if (!peali_is_answered(w) &&
	    w->state->run.kept != w->state->count.handled)
		peali_request_fail(w, PEAL_ENOREPLY, 0);
}

/* ---- letters ------------------------------------------------------------- */

/**
 * Sends a letter about the message in w->message, if the kernel has a receiver
 * of letters.
 *
 * If the message is an ask, the asking actor gets an error as its answer. If it
 * is a request of the host, its requester gets the error.
 *
 * @param w      the worker. Its leader calls.
 * @param c      the input of the message; 0: it came by no input.
 * @param reason enum peal_reason.
 * @param error  result of the handler; 0: the handler did not run.
 */
PEALI_SLOW(void, peali_dead_letter, struct peal_worker *w,
	   const struct peal_link_consumer *c, uint32_t reason, int error)
{
	struct peal_dead_letter *letter = &w->state->dead_letter.record;
	const struct peal_message *m = &w->message;

	letter->to = w->params->address | m->header.actor;
	letter->link = PEAL_NO_LINK;
	if (c && !peali_is_topic(c->state))
		letter->link = peal_load_relaxed_sys(&c->counts->id);
	letter->sequence = c ? peali_link_sequence(c) : 0;
	letter->length = m->length;
	letter->reason = reason;
	letter->error = error;
	letter->worker = w->index;
	letter->type = m->header.type;
	letter->flags = m->header.flags;
	/* a deep call: no value is kept in a register from here on */
	if (PEALI_USES(REQUESTS) &&
	    PEAL_UNLIKELY(m->header.flags & PEAL_FLAG_REQUEST))
		peali_request_died(w, reason, error);
	if (PEALI_USES(DEAD_LETTERS) && peali_dead_letters(w)->used &&
	    !(w->message.header.flags & PEAL_FLAG_DEAD_LETTER))
		peali_dead_letter_send(w);
}

/* Counts a message of the mailbox or of a pool as dead, by its reason. */
static PEAL_DEV PEAL_UNUSED inline void peali_mail_died(struct peal_worker *w,
							uint32_t reason)
{
	struct peal_worker_status *status = w->status;
	uint64_t *count = 0;

	if (reason == PEAL_REASON_EXPIRED)
		count = &status->mailbox_expired;
	else if (reason == PEAL_REASON_FULL)
		count = &status->mailbox_dropped;
	if (count)
		peal_store_relaxed_sys(count, peal_load_relaxed_sys(count) + 1);
	w->state->count.mailbox_dead++;
	w->state->count.mailbox_done++;
}

/* Removes the mailbox's next message, which is dead, from the count of its
 * actor's limit. Returns 1 if the limit has dropped the message, else 0. */
static PEAL_DEV PEAL_UNUSED inline int peali_mail_uncount(struct peal_worker *w)
{
	int counted = w->message.header.flags & PEAL_FLAG_COUNTED &&
		      !peali_mail_is_cleared(w);

	w->message.header.flags &= (uint16_t)~PEAL_FLAG_COUNTED;
	return counted && peali_limit_leave(w, w->message.header.actor, 1);
}

/*
 * Drops the dead message in w->message with this reason. It is the next message
 * of an input or of the mailbox. Either it has no live actor, or its deadline
 * has passed, or a mailbox limit has dropped it.
 */
static PEAL_DEV PEAL_UNUSED inline void
peali_dead_letter_current(struct peal_worker *w, uint32_t reason)
{
	struct peal_worker_state *s = w->state;
	struct peal_link_consumer *c = 0;

	s->deferred.action = 0;
	s->source.idle = 0;
	if (!PEALI_HAS_OTHER_SOURCES ||
	    w->message.input < w->params->max_inputs) {
		c = &w->inputs[w->message.input].link;
	} else if (peali_mail_uncount(w)) {
		reason = PEAL_REASON_FULL; /* also if it has another reason */
	}
	peali_passed(w, peali_is_priority(w), 1);
	if (w->message.kind != PEAL_KIND_DEAD) /* else no message was written */
		peali_dead_letter(w, c, reason, 0);
	else
		peal_store_relaxed_sys(&w->status->mailbox_abandoned,
				       ++s->count.mailbox_abandoned);
	if (!PEALI_HAS_OTHER_SOURCES || c) {
		peal_link_release_dead(c, reason);
		return;
	}
	peali_mail_over(w);
	peali_mail_died(w, reason);
}

/*
 * Removes the mailbox's next message, in w->message, from the count of messages
 * that wait for its actor. The worker then handles the message before others
 * have their turns. If the limit has dropped the message, it is dead.
 *
 * Collective. Runs between two turns, where it costs the loop no registers.
 */
PEALI_SLOW(void, peali_limits_turn, struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;

	if (peal_is_leader(w)) {
		s->deferred.action = 0;
		s->source.idle = 0;
		if (peali_limit_leave(w, w->message.header.actor, 0)) {
			peali_dead_letter_current(w, PEAL_REASON_FULL);
		} else {
			s->mail.cleared[peali_box_is_high(w)] =
				1 + w->box->taken;
			s->source.mail_run = 1;
		}
	}
	peal_sync(w); /* all lanes read this turn before the next one */
}

/* Drops the message in w->message, because the mailbox limit of its actor is
 * reached. The message counts as told and as done. */
PEALI_SLOW(void, peali_limit_drop, struct peal_worker *w)
{
	struct peal_limit_record *r =
		peali_limit_of(w, w->message.header.actor);

	if (r)
		peal_add_relaxed_dev(&r->dropped, 1);
	peal_store_relaxed_sys(&w->status->mailbox_sends,
			       ++w->state->count.mailbox_sends);
	peali_dead_letter(w, 0, PEAL_REASON_FULL, 0);
	peali_mail_died(w, PEAL_REASON_FULL);
}

/* As peali_limit_drop, for a message that a handler tells. The message that the
 * handler handles is saved meanwhile. */
PEALI_SLOW(void, peali_limit_drop_told, struct peal_worker *w,
	   struct peal_header header, const void *data, uint64_t bytes)
{
	w->state->dead_letter.saved_message = w->message;
	w->message.header = header;
	w->message.data = data;
	w->message.length = bytes;
	peali_limit_drop(w);
	w->message = w->state->dead_letter.saved_message;
}

/*
 * Drops an input's next message, in w->message, which the worker cannot
 * forward. Either the mailbox or pool takes no message of its length, or its
 * actor's limit is reached.
 */
PEALI_SLOW(void, peali_input_dead, struct peal_worker *w, struct peal_input *in,
	   uint32_t reason)
{
	struct peal_limit_record *r = 0;

	if (reason == PEAL_REASON_FULL)
		r = peali_limit_of(w, w->message.header.actor);
	if (r)
		peal_add_relaxed_dev(&r->dropped, 1);
	peali_dead_letter(w, &in->link, reason, 0);
	peal_link_release_dead(&in->link, reason);
}

#endif
