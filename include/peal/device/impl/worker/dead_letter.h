/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_DEAD_LETTER_H
#define PEAL_DEVICE_DEAD_LETTER_H

#include <peal/device/impl/worker/ask_table.h>
#include <peal/device/impl/worker/limit.h>

/*
 * Dead letters: a worker that finds a message dead sends what it knows of it,
 * and the payload, to whoever takes the kernel's dead letters
 * (peal/dead_letter.h). Each worker has a port for them, before those of its
 * actors. Nothing ever waits for space there, so that the dead hold nobody up:
 * a letter that does not fit is counted as lost. Nor is there a letter about a
 * letter, so that who fails on one gets no other. For the leader.
 */

/* The port of a worker's dead letters; `used` if somebody takes them. */
static PEAL_DEV PEAL_INLINE struct peal_output *
peali_dead_letters(const struct peal_worker *w)
{
	return &w->outputs[PEAL_PORT_DEAD_LETTERS];
}

/* Room for a letter: 0. The last slot is kept free for an END or a SEAL. */
static PEAL_DEV PEAL_UNUSED inline int
peali_dead_letter_reserve(struct peal_link_producer *p, uint64_t bytes,
			  void **out)
{
	if (p->state) {
		if (p->counts) /* else the link is gone */
			peal_link_drop_closed(p, bytes);
		return p->state;
	}
	if (peal_link_free_slots(p, 2) >= 2 &&
	    !peal_link_reserve(p, bytes, out))
		return 0;
	peal_store_relaxed_sys(&p->counts->lost,
			       peal_load_relaxed_sys(&p->counts->lost) + 1);
	return PEAL_EAGAIN;
}

/* Sends the letter that was written. */
static PEAL_DEV PEAL_UNUSED inline void
peali_dead_letter_commit(struct peal_link_producer *p, uint64_t bytes)
{
	struct peal_header header;

	header.actor = p->actor;
	header.type = 0;
	header.flags = PEAL_FLAG_DEAD_LETTER;
	peal_link_commit(p, header, bytes);
}

/* Sends the letter in w->state->letter, with as much of the message's payload
 * as it has space for. */
PEALI_SLOW(void, peali_dead_letter_send, struct peal_worker *w)
{
	struct peal_link_producer *p = &peali_dead_letters(w)->link;
	uint64_t kept = w->message.length;
	struct peal_dead_letter *letter;
	void *place = 0;

	if (kept > p->message_bytes - sizeof(*letter))
		kept = p->message_bytes - sizeof(*letter);
	if (peali_dead_letter_reserve(p, sizeof(*letter) + kept, &place))
		return;
	letter = (struct peal_dead_letter *)place;
	*letter = w->state->letter;
	peal_copy(letter + 1, w->message.data, kept);
	peali_dead_letter_commit(p, sizeof(*letter) + kept);
}

/**
 * Sends a letter about the message in w->message, if somebody takes letters;
 * who has asked by it hears that nobody answers.
 *
 * @param w      the worker; its leader calls
 * @param c      the input that has brought it; 0: none has
 * @param reason enum peal_reason
 * @param error  what the handler has returned; 0: it did not run
 */
PEALI_SLOW(void, peali_dead_letter, struct peal_worker *w,
	   const struct peal_link_consumer *c, uint32_t reason, int error)
{
	struct peal_dead_letter *letter = &w->state->letter;
	const struct peal_message *m = &w->message;

	letter->to = w->params->address | m->header.actor;
	letter->link = PEAL_NO_LINK;
	if (c && c->state != PEALI_STATE_TOPIC)
		letter->link = peal_load_relaxed_sys(&c->counts->id);
	letter->sequence = c ? m->sequence : 0;
	letter->length = m->length;
	letter->reason = reason;
	letter->error = error;
	letter->worker = w->index;
	letter->type = m->header.type;
	letter->flags = m->header.flags;
	/* nothing is kept in registers from here on: this is a deep call */
	if (PEAL_UNLIKELY(m->header.flags & PEAL_FLAG_REQUEST))
		peali_ask_died(w, reason);
	if (peali_dead_letters(w)->used &&
	    !(w->message.header.flags & PEAL_FLAG_DEAD_LETTER))
		peali_dead_letter_send(w);
}

/*
 * Nobody can answer the message in w->message any more: if it is a request of
 * the host's, its requester hears at once with which error it is over. Where
 * its board is, any kernel that has limits knows.
 */
PEALI_SLOW(void, peali_nobody_answers, const struct peal_worker *w, int error)
{
	const struct peal_message *m = &w->message;
	const uint64_t *boards =
		(const uint64_t *)(uintptr_t)w->params->reject_tables;
	uint64_t number = peali_message_request(m);
	uint32_t at = PEAL_REQUEST_TABLE(number) - 1;
	uint32_t place = PEAL_REQUEST_PLACE(number) - 1;
	struct peal_reject_entry *refusal;
	struct peal_reject_table *board;

	if (!boards || m->header.flags & PEAL_FLAG_ERROR_REPLY || !number ||
	    number & PEAL_ASK_BIT || at >= PEAL_REJECT_TABLES_MAX)
		return;
	/* A21: pairs with R21 in peali_reject_tables_show: it is there. */
	board = (struct peal_reject_table *)(uintptr_t)peal_load_acquire_sys(
		&boards[at]);
	if (!board || place >= board->places)
		return;
	refusal = (struct peal_reject_entry *)(void *)(board + 1) + place;
	peal_store_relaxed_sys(&refusal->error, (uint64_t)-error);
	/* R20: pairs with A20 in look in runtime/link/reject_table.c, both
	 *   times. */
	peal_store_release_sys(&refusal->number, number);
	peal_store_release_sys(&board->latest, number);
}

/* A message of the mailbox or a pool is dead, for that reason. */
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
	w->state->mailbox_dead++;
	w->state->mailbox_done++;
}

/* The mailbox's next message is dead: if it is counted for its actor's limit it
 * is no more. 1: it was dropped for that. */
static PEAL_DEV PEAL_UNUSED inline int peali_mail_uncount(struct peal_worker *w)
{
	int counted = w->message.header.flags & PEAL_FLAG_COUNTED &&
		      !peali_mail_is_cleared(w);

	w->message.header.flags &= (uint16_t)~PEAL_FLAG_COUNTED;
	return counted && peali_limit_leave(w, w->message.header.actor, 1);
}

/* The message in w->message, an input's or the mailbox's next, is for nobody,
 * or its deadline has passed: for that reason. */
static PEAL_DEV PEAL_UNUSED inline void
peali_dead_letter_current(struct peal_worker *w, uint32_t reason)
{
	struct peal_worker_state *s = w->state;
	struct peal_link_consumer *c = 0;

	s->deferred_action = 0;
	s->idle = 0;
	if (w->message.input < w->params->max_inputs) {
		c = &w->inputs[w->message.input].link;
	} else if (peali_mail_uncount(w)) {
		reason = PEAL_REASON_FULL; /* whatever else it is dead of */
	}
	peali_passed(w, peali_is_priority(w), 1);
	if (w->message.kind != PEAL_KIND_DEAD) /* that never was a message */
		peali_dead_letter(w, c, reason, 0);
	else
		peal_store_relaxed_sys(&w->status->mailbox_abandoned,
				       ++s->mailbox_abandoned);
	if (c) {
		peal_link_release_dead(c, reason);
		return;
	}
	if (reason == PEAL_REASON_FULL)
		peali_nobody_answers(w, PEAL_ENOSPC);
	peali_mail_over(w);
	peali_mail_died(w, reason);
}

/* Collective: the mailbox's next message, in w->message, is taken away from
 * what waits for its actor, and handled before others have their turns; or it
 * is dead, as it was dropped. Between two turns, where it costs the loop no
 * registers. */
PEALI_SLOW(void, peali_limits_turn, struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;

	if (peal_is_leader(w)) {
		s->deferred_action = 0;
		s->idle = 0;
		if (peali_limit_leave(w, w->message.header.actor, 0)) {
			peali_dead_letter_current(w, PEAL_REASON_FULL);
		} else {
			s->mail_cleared[w->box != w->mailbox] =
				1 + w->box->taken;
			s->mails = 1;
		}
	}
	peal_sync(w); /* all have read the turn before there is another one */
}

/* The message in w->message is not let into the mailbox of an actor with a
 * limit: it was told, and is done. */
PEALI_SLOW(void, peali_limit_drop, struct peal_worker *w)
{
	struct peal_limit_record *r =
		peali_limit_of(w, w->message.header.actor);

	if (r)
		peal_add_relaxed_dev(&r->dropped, 1);
	peal_store_relaxed_sys(&w->status->mailbox_sends,
			       ++w->state->mailbox_sends);
	peali_dead_letter(w, 0, PEAL_REASON_FULL, 0);
	peali_nobody_answers(w, PEAL_ENOSPC);
	peali_mail_died(w, PEAL_REASON_FULL);
}

/* The same, of one that a handler tells while it has another one in hand. */
PEALI_SLOW(void, peali_limit_drop_told, struct peal_worker *w,
	   struct peal_header header, const void *data, uint64_t bytes)
{
	w->state->saved_message = w->message;
	w->message.header = header;
	w->message.data = data;
	w->message.length = bytes;
	peali_limit_drop(w);
	w->message = w->state->saved_message;
}

/* An input's next message, in w->message, does not get to whom it goes on: it
 * is longer than what it goes on by, or its actor's limit does not let it
 * in. */
PEALI_SLOW(void, peali_input_dead, struct peal_worker *w, struct peal_input *in,
	   uint32_t reason)
{
	struct peal_limit_record *r = 0;

	if (reason == PEAL_REASON_FULL) {
		r = peali_limit_of(w, w->message.header.actor);
		peali_nobody_answers(w, PEAL_ENOSPC);
	}
	if (r)
		peal_add_relaxed_dev(&r->dropped, 1);
	peali_dead_letter(w, &in->link, reason, 0);
	peal_link_release_dead(&in->link, reason);
}

#endif
