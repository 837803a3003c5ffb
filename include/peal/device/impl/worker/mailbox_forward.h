/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_MAILBOX_FORWARD_H
#define PEAL_DEVICE_MAILBOX_FORWARD_H

#include <peal/device/impl/worker/admit_message.h>
#include <peal/device/impl/worker/mailbox_put_word.h>
#include <peal/device/impl/worker/sender_word.h>
#include <peal/device/impl/worker/actor_resolve.h>

/*
 * Forwards messages of links to actors of other workers. A link leads to one
 * worker. It puts messages for another worker's actor into that worker's
 * mailbox. This worker is one producer of the mailbox. So the messages of one
 * link for one actor stay in order.
 *
 * This also applies to an actor that has moved from this worker. Its messages
 * then get its next number.
 *
 * Messages of a link of high priority go into the mailbox of high priority, if
 * the kernel has such mailboxes. For the leader; poll_inputs.h calls it.
 */

/* Returns 1 if an actor belongs to another worker of the kernel. */
static PEAL_DEV PEAL_INLINE int peali_is_elsewhere(const struct peal_worker *w,
						   uint32_t actor)
{
	const struct peal_actor_entry *entry =
		(const struct peal_actor_entry *)(uintptr_t)w->params->actors +
		PEAL_ACTOR_INDEX(actor);
	uint64_t place;

	if (PEAL_ACTOR_INDEX(actor) >= w->params->max_actors)
		return 0;
	place = peal_load_relaxed_dev(&entry->location);
	return PEAL_ENTRY_IS_OF(place, actor) &&
	       PEAL_ENTRY_WORKER(place) != w->index &&
	       PEAL_ENTRY_WORKER(place) != PEAL_POOL_WORKER;
}

/* A worker's number plus this offset is the box for messages of an input.
 * Returns priority_boxes for an input of high priority, else 0. */
static PEAL_DEV PEAL_INLINE uint32_t peali_mail_forward_offset(
	const struct peal_worker *w, const struct peal_input *in)
{
	return peali_input_is_priority(in) ? peali_high_boxes(w) : 0;
}

/* Checks if w->message, of that input, can be forwarded now. Returns 1 + the
 * number of its box. Returns 0 if there are no free slots. Returns -1 if it is
 * not for another worker's actor. */
static PEAL_DEV PEAL_UNUSED inline int
peali_mail_forward_fits(struct peal_worker *w, const struct peal_input *in)
{
	const struct peal_actor_entry *actors =
		(const struct peal_actor_entry *)(uintptr_t)w->params->actors;
	int moved = peali_message_redirect(w);
	uint32_t actor = w->message.header.actor, box;
	uint64_t place;

	/* a moved actor may have returned from another kernel */
	if (!moved && !peali_is_elsewhere(w, actor))
		return -1;
	place = peal_load_relaxed_dev(
		&actors[PEAL_ACTOR_INDEX(actor)].location);
	if (!PEAL_ENTRY_IS_OF(place, actor))
		return -1;
	box = PEAL_ENTRY_WORKER(place) + peali_mail_forward_offset(w, in);
	if (peali_mail_open(w, box) &&
	    peali_links_fit(w, 1, peali_is_fwd_link(in)))
		return 1 + (int)box;
	w->state->published.blocked_now =
		PEAL_BLOCKED(actor, 0, PEAL_BLOCKED_MAIL);
	return 0;
}

/* Returns 1 if w->message is for an actor with a mailbox limit. */
static PEAL_DEV PEAL_INLINE int
peali_mail_forward_counts(const struct peal_worker *w)
{
	return PEAL_UNLIKELY(peali_has_limits(w) != 0) &&
	       peali_limit_of(w, w->message.header.actor);
}

/* Results for an input's message: it still waits, or it is in a box. Any other
 * value is the reason for which it is dead. */
#define PEALI_FORWARD_BLOCKS (-1)
#define PEALI_FORWARDED 0

/* Puts w->message, of that input, into a box, with its sender if it has one.
 * The caller has checked that there is a slot. It fails only if the message is
 * too long for the box's slots. Out of line, so that it costs the loop no
 * registers. */
PEALI_SLOW(int, peali_mail_forward_put, struct peal_worker *w,
	   const struct peal_input *in, uint32_t box, struct peal_header header)
{
	uint64_t sender = peali_sender_to_keep(
		w, in, peali_own_mailbox(w)->message_bytes);

	if (PEAL_LIKELY(!sender))
		return peali_mail_put(w, box, &w->state->mail.lease, header,
				      w->message.data, w->message.length);
	header.flags |= PEAL_FLAG_SENDER;
	return peali_mailbox_put_word(w, box, header, sender, w->message.data,
				      w->message.length);
}

/* Forwards one message of an input to an actor with a limit. The caller has
 * checked that there is a slot for it. The caller also sends the dead letter of
 * a dead message. So nothing else is kept in registers during that call. */
PEALI_SLOW(int, peali_mail_forward_limited, struct peal_worker *w,
	   struct peal_input *in)
{
	struct peal_message *m = &w->message;
	uint64_t place = peali_limit_entry_word(w, m->header.actor);
	uint32_t box =
		PEAL_ENTRY_WORKER(place) + peali_mail_forward_offset(w, in);
	struct peal_header header = m->header;
	int result;

	if (m->length > peali_own_mailbox(w)->message_bytes)
		return PEAL_REASON_TOO_LONG;
	result = peali_limit_enter(w, place, header.actor);
	if (result == PEAL_ENOSPC)
		return PEAL_REASON_FULL;
	if (result)
		return PEALI_FORWARD_BLOCKS;
	header.flags |= PEAL_FLAG_COUNTED;
	peali_mail_forward_put(w, in, box, header);
	peali_mail_sent(w, box);
	peal_link_release(&in->link, m);
	return PEALI_FORWARDED;
}

/* Forwards messages of an input, at most a burst. Stops before a message for an
 * actor with a limit. The first message is in w->message, and there is a slot
 * for it. */
static PEAL_DEV PEAL_INLINE void peali_mail_forward_burst(struct peal_worker *w,
							  struct peal_input *in)
{
	struct peal_message *m = &w->message;
	uint32_t n, most = peali_moves(w, peali_input_is_priority(in));
	int to = (int)w->state->forward.to;

	for (n = 0; n < most; n++) {
		if (n)
			to = peali_mail_forward_fits(w, in);
		if (to <= 0 || peali_mail_forward_counts(w))
			break;
		if (peali_mail_forward_put(w, in, (uint32_t)to - 1,
					   m->header)) {
			peali_input_dead(w, in, PEAL_REASON_TOO_LONG);
		} else {
			peali_mail_sent(w, (uint32_t)to - 1);
			peal_link_release(&in->link, m);
		}
		if (peali_link_peek_slowly(&in->link, m) ||
		    m->kind > PEAL_KIND_SLAB) {
			n++; /* the next turn treats the next entry */
			break;
		}
	}
	peali_passed(w, peali_input_is_priority(in), n);
}

/* The leader's part of peali_mail_forward. */
static PEAL_DEV PEAL_INLINE void peali_mail_forward_turn(struct peal_worker *w)
{
	struct peal_input *in = &w->inputs[w->state->deferred.arg];
	int became;

	w->state->deferred.action = 0;
	w->state->source.idle = 0;
	if (!peali_mail_forward_counts(w)) {
		peali_mail_forward_burst(w, in);
		return;
	}
	became = peali_mail_forward_limited(w, in);
	if (became == PEALI_FORWARD_BLOCKS)
		return;
	peali_passed(w, peali_input_is_priority(in), 1);
	if (became != PEALI_FORWARDED)
		peali_input_dead(w, in, (uint32_t)became);
}

/* Collective: forwards messages of the input that a turn has found. Runs
 * between two turns, where it costs the loop no registers. */
PEALI_SLOW(void, peali_mail_forward, struct peal_worker *w)
{
	if (peal_is_leader(w))
		peali_mail_forward_turn(w);
	peal_sync(w); /* all lanes have read this turn before the next one */
}

#endif
