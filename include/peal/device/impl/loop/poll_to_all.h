/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_POLL_TO_ALL_H
#define PEAL_DEVICE_POLL_TO_ALL_H

#include <peal/device/lifecycle.h>
#include <peal/device/impl/loop/loop_action.h>
#include <peal/device/impl/worker/admit_message.h>
#include <peal/device/impl/worker/ask_table.h>
#include <peal/device/impl/worker/mailbox_put_word.h>
#include <peal/device/impl/worker/migrate.h>

/*
 * Messages to all actors of the kernel (peal_tell_all, peal_kernel_tell_all).
 * Each worker has a copy in its mailbox. When the copy is the next message
 * there, the worker makes a round. It looks at the entries of its actors, one
 * after another, and each actor handles the message. Later messages of the
 * mailbox wait. So an actor handles the messages of one worker in their order.
 *
 * The round waits for an actor with a full port. It also waits for an actor
 * that lacks free mailbox slots. But later messages of the mailbox may hold
 * these slots. Then the copy goes to the end of the mailbox, with the progress
 * of the round. It keeps its own slot, so it waits for none. Between two actors
 * the worker takes messages from other sources.
 *
 * An actor may migrate to another worker during the rounds. Then exactly one
 * worker tells it (impl/worker/migrate.h):
 *
 * - The former worker, if the message was numbered before the move. It forwards
 *   the message if the actor moves before its turn in the round.
 * - Else the new worker.
 *
 * The leader calls the functions; poll_inputs.h and the loop use them.
 */

/* Searches of all lanes in a turn. */
#define PEALI_ROUND_SEARCH_MAX 16

/* Returns the worker's progress with the next message of w->box. */
static PEAL_DEV PEAL_INLINE struct peali_round *
peali_round_of(const struct peal_worker *w)
{
	return &w->state->mail.rounds[peali_box_is_high(w)];
}

/* Returns all bits of the number of the round's message. */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peali_round_number(const struct peal_worker *w)
{
	uint64_t told = peal_load_relaxed_dev(&peali_admission(w)->to_all);

	return told - (uint64_t)(int64_t)(int32_t)((uint32_t)told -
						   peali_round_of(w)->number);
}

/* Returns 1 if an entry has, or had, an actor of this worker. */
static PEAL_DEV PEAL_INLINE int peali_round_has(const struct peal_worker *w,
						uint32_t index)
{
	uint64_t place =
		peal_load_relaxed_dev(&peali_entry(w, index)->location);

	return PEAL_ENTRY_WORKER(place) == w->index &&
	       PEAL_ENTRY_HANDLER(place) != PEAL_NO_HANDLER;
}

/* What the round does with an entry. */
#define PEALI_LOOK_SKIP 0
#define PEALI_LOOK_TELL 1
#define PEALI_LOOK_FORWARD 2
#define PEALI_LOOK_WAIT 3 /* the former worker is giving the actor up */

static PEAL_DEV PEAL_UNUSED inline int
peali_round_look(const struct peal_worker *w, uint32_t index)
{
	struct peal_actor_entry *entry = peali_entry(w, index);
	uint64_t place = peal_load_relaxed_dev(&entry->location), since;

	if (!peali_round_has(w, index) || PEAL_ENTRY_IS_OTHER_KERNEL(place))
		return PEALI_LOOK_SKIP;
	if (PEAL_ENTRY_IS_FORWARDED(place))
		return peali_round_number(w) < entry->state ?
			       PEALI_LOOK_FORWARD :
			       PEALI_LOOK_SKIP;
	/* A22: pairs with R22 in peali_control_move. Either this worker sees
	 * that the former worker has given the actor up. Or the former worker
	 * then sees the number of this message, and tells the actor. */
	if (PEAL_ENTRY_IS_ARRIVING(place) &&
	    (uint32_t)peal_add_acqrel_dev(&entry->location, 0) &
		    PEAL_ENTRY_STATE_PENDING)
		return PEALI_LOOK_SKIP;
	if (!((uint32_t)place & PEAL_ENTRY_MIGRATED_IN))
		return PEALI_LOOK_TELL;
	/* A29: pairs with R29 in peali_control_move. */
	since = peal_load_acquire_dev(peali_arrival(w, index));
	if (since == PEALI_ARRIVAL_UNKNOWN)
		return PEALI_LOOK_WAIT;
	return peali_round_number(w) >= since ? PEALI_LOOK_TELL :
						PEALI_LOOK_SKIP;
}

/* Forwards the message to the actor that had this entry and has moved to
 * another worker. Returns 0 if there is no free slot. */
static PEAL_DEV PEAL_UNUSED inline int
peali_round_forward(struct peal_worker *w, uint32_t index)
{
	struct peal_header header = w->message.header;
	uint32_t box;

	header.actor = peali_actor_next(
		w, peal_load_relaxed_dev(&peali_entry(w, index)->location));
	header.flags = 0;
	if (!peal_admission_admit(peali_admission(w), &w->state->mail.lease, 1,
				  1))
		return 0;
	box = PEAL_ENTRY_WORKER(peal_load_relaxed_dev(
		&peali_entry(w, PEAL_ACTOR_INDEX(header.actor))->location));
	if (peali_box_is_high(w))
		box += peali_high_boxes(w);
	peali_mail_put(w, box, &w->state->mail.lease, header,
		       (const uint8_t *)w->message.data + PEAL_TO_ALL_BYTES,
		       w->message.length - PEAL_TO_ALL_BYTES);
	peali_round_of(w)->told++;
	return 1;
}

/* Takes the copy off the mailbox after its slot was given to another message,
 * or to none. */
static PEAL_DEV PEAL_UNUSED inline void peali_round_close(struct peal_worker *w)
{
	peali_round_of(w)->open = 0;
	peali_round_of(w)->step = PEALI_ROUND_SEARCHES;
	peali_passed(w, peali_is_priority(w), 1);
	w->state->count.mailbox_done++;
}

/*
 * Moves the copy to the end of the mailbox, behind messages that hold slots.
 * Returns 0 if there are none, or the mailbox has no place for one more.
 */
static PEAL_DEV PEAL_UNUSED inline int peali_round_pass(struct peal_worker *w)
{
	uint64_t there = peal_load_relaxed_dev(&w->box->ticket) - w->box->taken;
	struct peali_round *r = peali_round_of(w);
	struct peal_header header = w->message.header;
	uint32_t box = w->index;

	if (there < 2 || there >= 1ULL << w->box->capacity_log2)
		return 0;
	if (peali_box_is_high(w))
		box += peali_high_boxes(w);
	header.actor = r->number;
	w->state->mail.lease.granted++; /* it is not read after the put */
	peali_mailbox_put_word(w, box, header, r->at | (uint64_t)r->told << 32,
			       (const uint8_t *)w->message.data +
				       PEAL_TO_ALL_BYTES,
			       w->message.length - PEAL_TO_ALL_BYTES);
	w->box->taken++;
	if (w->box->taken - w->box->head >= w->state->mail.flush_every)
		peali_mail_flush(w, w->box);
	peali_round_close(w);
	return 1;
}

/*
 * The next message of w->box, in w->message, is for all actors. Returns 0 with
 * the number of the next actor in its header. Returns 1 if no actor handles it
 * now: PEALI_ACT_TO_ALL searches first, or other sources have their turns.
 */
static PEAL_DEV PEAL_UNUSED inline int peali_round_waits(struct peal_worker *w)
{
	struct peali_round *r = peali_round_of(w);

	if (r->step == PEALI_ROUND_FOUND) {
		w->message.header.actor = r->actor;
		return 0;
	}
	if (r->step != PEALI_ROUND_PAUSES) {
		w->state->deferred.action = PEALI_ACT_TO_ALL;
		return 1;
	}
	w->state->published.blocked_now =
		PEAL_BLOCKED(r->actor, 0, PEAL_BLOCKED_MAIL);
	r->step = PEALI_ROUND_SEARCHES;
	return 1;
}

/* The actor that the search has found cannot handle the message yet. If it
 * lacks mailbox slots, PEALI_ACT_TO_ALL lets later messages pass. */
static PEAL_DEV PEAL_UNUSED inline void
peali_round_blocks(struct peal_worker *w)
{
	struct peali_round *r = peali_round_of(w);

	if (w->state->published.blocked_now !=
	    PEAL_BLOCKED(r->actor, 0, PEAL_BLOCKED_MAIL))
		return;
	r->step = PEALI_ROUND_PASSES;
	w->state->deferred.action = PEALI_ACT_TO_ALL;
}

/* The actor that the search has found handles the message now. */
static PEAL_DEV PEAL_UNUSED inline void peali_round_taken(struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	struct peali_round *r = peali_round_of(w);

	w->message.header.flags = 0;
	w->message.data = (const uint8_t *)w->message.data + PEAL_TO_ALL_BYTES;
	w->message.length -= PEAL_TO_ALL_BYTES;
	r->step = PEALI_ROUND_SEARCHES;
	r->at++;
	r->told++;
	s->mail.round_turns++;
	s->source.current = PEALI_TO_ALL;
	peal_store_relaxed_sys(&w->status->mailbox_sends,
			       ++s->count.mailbox_sends);
}

/* All actors of this worker have handled the message: takes it off. */
static PEAL_DEV PEAL_UNUSED inline void peali_round_over(struct peal_worker *w)
{
	struct peal_worker_status *status = w->status;

	if (w->message.header.flags & PEAL_FLAG_COUNT_ALL) {
		peal_store_relaxed_sys(&status->to_all_told,
				       peali_round_of(w)->told);
		/* R30: pairs with A30 in runtime/kernel/kernel_tell_all.c. */
		peal_store_release_sys(
			&status->to_all_done,
			peal_load_relaxed_sys(&status->to_all_done) + 1);
	}
	peali_mail_release(w, 1);
	peali_round_close(w);
}

/* The leader's part of peali_round_turn: treats the entry that the search has
 * found. */
static PEAL_DEV PEAL_UNUSED inline void peali_round_treat(struct peal_worker *w,
							  uint32_t at)
{
	struct peali_round *r = peali_round_of(w);
	int look = peali_round_look(w, at);

	r->actor =
		PEAL_ACTOR_GENERATION(
			peal_load_relaxed_dev(&peali_entry(w, at)->location) >>
			32) |
		at;
	if (look == PEALI_LOOK_TELL)
		r->step = PEALI_ROUND_FOUND;
	else if (look == PEALI_LOOK_SKIP ||
		 (look == PEALI_LOOK_FORWARD && peali_round_forward(w, at)))
		r->at++;
	else if (look == PEALI_LOOK_WAIT || !peali_round_pass(w))
		r->step = PEALI_ROUND_PAUSES;
}

/* Instead of an entry: there is no search in this turn. */
#define PEALI_ROUND_NO_SEARCH 0xffffffffu

/* The leader begins a turn for w->message. Returns the first entry to look at,
 * or PEALI_ROUND_NO_SEARCH. */
static PEAL_DEV PEAL_UNUSED inline uint32_t
peali_round_begin(struct peal_worker *w)
{
	const uint32_t *progress = (const uint32_t *)w->message.data;
	struct peali_round *r = peali_round_of(w);

	w->state->deferred.action = 0;
	w->state->source.idle = 0;
	w->state->source.mail_run =
		++w->state->mail.round_turns % PEALI_BURST != 0;
	if (!r->open) {
		r->open = 1;
		r->number = w->message.header.actor;
		r->at = progress[0];
		r->told = progress[1];
	}
	if (r->step != PEALI_ROUND_PASSES)
		return r->at;
	if (!peali_round_pass(w))
		r->step = PEALI_ROUND_FOUND;
	return PEALI_ROUND_NO_SEARCH;
}

/* Collective: searches for the worker's next actor. Ends the round after the
 * last one. Other sources have their turns after PEALI_BURST turns. */
PEALI_SLOW(void, peali_round_turn, struct peal_worker *w)
{
	uint32_t most = w->params->max_actors, at = 0, n;
	int found = -1;

	if (peal_is_leader(w))
		at = peali_round_begin(w);
	at = (uint32_t)peal_broadcast(w, at);
	for (n = 0; n < PEALI_ROUND_SEARCH_MAX && found < 0 && at < most; n++) {
		found = peal_elect(
			w, at + peal_lane(w) < most &&
				   peali_round_has(w, at + peal_lane(w)));
		at += found < 0 ? peal_lanes(w) : (uint32_t)found;
	}
	if (peal_is_leader(w) && at != PEALI_ROUND_NO_SEARCH) {
		peali_round_of(w)->at = at;
		if (at >= most)
			peali_round_over(w);
		else if (found >= 0)
			peali_round_treat(w, at);
	}
	peal_sync(w); /* all lanes have read this turn before the next one */
}

#endif
