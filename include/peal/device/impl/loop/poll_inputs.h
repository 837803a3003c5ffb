/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_POLL_INPUTS_H
#define PEAL_DEVICE_POLL_INPUTS_H

#include <peal/device/impl/worker/cluster.h>
#include <peal/device/impl/worker/mailbox_forward.h>
#include <peal/device/impl/loop/priority_scheduler.h>
#include <peal/device/impl/loop/poll_hooks.h>
#include <peal/device/impl/loop/poll_pools.h>
#include <peal/device/impl/loop/poll_to_all.h>

/*
 * Selects the message that a worker handles next, from its inputs, its mailbox
 * and its pools. The message's actor is alive. The outputs of this actor have
 * free slots for all messages that it may emit. For the leader; the loop calls
 * it.
 */

/* ---- inputs -------------------------------------------------------------- */

/* Returns 1 if w->message is a GATE mark and its gate is closed: the messages
 * behind it wait. Then the worker may sleep, as if a port were full. */
static PEAL_DEV PEAL_INLINE int peali_input_gated(struct peal_worker *w)
{
	/* A32: pairs with R32 in runtime/kernel/kernel_control.c. The handlers
	 * see what the event's recorder wrote. */
	uint32_t open = (uint32_t)peal_load_acquire_sys(&w->control->gates);

	if (w->message.kind != PEAL_KIND_GATE ||
	    (int32_t)(w->message.header.actor - open) <= 0)
		return 0;
	if (!w->state->published.blocked_now)
		w->state->published.blocked_now =
			PEAL_BLOCKED(0, 0, PEAL_BLOCKED_GATE);
	return 1;
}

/* Handles a mark at the head of an input. The host tells of the next ring before
 * a SEAL: else the mark is an error. */
PEALI_SLOW(void, peali_input_mark, struct peal_worker *w, struct peal_input *in,
	   uint32_t kind)
{
	const int next = kind == PEAL_KIND_SEAL && in->flags & PEAL_INPUT_NEXT;

	peali_publish_links(
		w); /* the host may free the counts of an ended link */
	if (kind == PEAL_KIND_SEAL && !next)
		peali_link_fail(&in->link);
	else
		peal_link_release_mark(&in->link, kind);
	if (kind == PEAL_KIND_GATE)
		return;
	if (next) {
		peali_input_ring(w, in, &in->next);
		in->flags &= ~(uint32_t)PEAL_INPUT_NEXT;
	} else {
		in->flags = 0;
		w->state->table.n_ended++;
	}
}

/*
 * Looks for the next message of an input that is a topic. Returns 0 with the
 * message in w->message. Else returns PEALI_STATE_TOPIC. The input may have
 * ended then.
 */
PEALI_SLOW(int, peali_input_topic, struct peal_worker *w, struct peal_input *in)
{
	int last = (in->flags & PEAL_INPUT_LAST) != 0;

	if (peali_subscribe_peek(&in->link, in->topic, &w->message))
		return 0;
	peali_publish_links(
		w); /* before the host sees that the input has ended */
	if (peali_subscribe_over(&in->link, in->topic, last)) {
		w->state->source.idle = 0;
		in->flags = 0;
		w->state->table.n_ended++;
	}
	return PEALI_STATE_TOPIC;
}

/* Result of a look at an input: its next entry is a mark. */
#define PEALI_MARK 2

/*
 * Classifies the result of a look at an input that found no payload in a slot:
 *
 * - A message in a slab or of a topic: returns 0.
 * - A message with a deadline that has not passed: returns 0.
 * - A message with a deadline that has passed: returns PEALI_STATE_TOPIC, as if
 *   there were no message. The next turn drops it as dead.
 * - A mark: returns PEALI_MARK.
 * - No message: returns the result.
 */
PEALI_SLOW(int, peali_input_classify, struct peal_worker *w, int result)
{
	if (result && result != PEALI_PEEKED)
		return result;
	if (w->message.kind <= PEAL_KIND_SLAB)
		return 0;
	if (!(w->message.kind & PEAL_KIND_TIMED))
		return PEALI_MARK;
	w->message.kind &= ~(uint32_t)PEAL_KIND_TIMED;
	if (!peali_expired(w))
		return 0;
	w->state->deferred.action = PEALI_ACT_DROP;
	w->state->deferred.arg = PEAL_REASON_EXPIRED;
	return PEALI_STATE_TOPIC;
}

/*
 * Handles an input that has no message at its head, or none for an actor of
 * this worker. Returns 1 if a member of a pool handles the message now, else
 * 0. It may set a deferred action for the worker's next step.
 */
PEALI_SLOW(int, peali_input_slow, struct peal_worker *w, struct peal_input *in,
	   int result)
{
	int64_t pool;
	int fits;

	if (result == PEALI_STATE_TOPIC)
		return 0;
	if (result == PEAL_EAGAIN && in->link.more) {
		w->state->deferred.action = PEALI_ACT_FETCH;
		w->state->deferred.arg = (uint32_t)(in - w->inputs);
		return 0;
	}
	if (result == PEAL_EAGAIN && !(in->flags & PEAL_INPUT_LAST))
		return 0;
	if (!result) {
		if (peali_hook_holds(w))
			return 0;
		pool = peali_pool_index(w, w->message.header.actor);
		if (pool >= 0)
			return peali_input_pool(w, in, (uint32_t)pool);
		fits = peali_actor_forward_fits(w);
		if (fits >= 0)
			return 0;
		fits = peali_has_mail(w) ? peali_mail_forward_fits(w, in) : -1;
		if (fits > 0) {
			w->state->deferred.action = PEALI_ACT_FORWARD_MAIL;
			w->state->deferred.arg = (uint32_t)(in - w->inputs);
			w->state->forward.to = (uint32_t)fits;
		}
		if (fits >= 0)
			return 0;
	}
	if (result == PEALI_MARK && peali_input_gated(w))
		return 0;
	w->state->source.idle = 0;
	if (result < 0) { /* failed, as the host sees; or empty and ended */
		peali_publish_links(w);
		in->flags = 0;
		w->state->table.n_ended++;
	} else if (result == PEALI_MARK) {
		peali_input_mark(w, in, w->message.kind);
	} else {
		w->state->deferred.action = PEALI_ACT_DROP;
		w->state->deferred.arg = PEAL_REASON_NO_ACTOR;
	}
	return 0;
}

/* Looks for the next message of a used input. Returns 1 with a message in
 * w->message that its actor can handle now, else 0. */
static PEAL_DEV PEAL_INLINE int peali_input_poll(struct peal_worker *w,
						 uint32_t index)
{
	struct peal_input *in = &w->inputs[index];
	uint32_t actor = 0;
	int result = peali_link_peek(&in->link, &w->message, &actor);
	int taken = -1;

	if (PEAL_UNLIKELY(result)) {
		/* here, as a deeper call would need more registers */
		if (peali_is_topic(result))
			result = peali_input_topic(w, in);
		result = peali_input_classify(w, result);
		actor = w->message.header.actor;
	}
	if (PEAL_LIKELY(!result))
		taken = peali_actor_take(w, actor);
	if (PEAL_UNLIKELY(taken < 0))
		taken = peali_input_slow(w, in, result);
	w->message.input = index;
	return taken > 0;
}

/* Makes the worker drop the mailbox's next message as dead. Returns 0. */
static PEAL_DEV PEAL_INLINE int peali_mail_dead(struct peal_worker *w,
						uint32_t reason)
{
	w->state->deferred.action = PEALI_ACT_DROP;
	w->state->deferred.arg = reason;
	return 0;
}

/*
 * Handles a message of the mailbox that its actor cannot handle now. If the
 * actor is `alive`, the message is for all actors and waits. Else the message
 * may wait for the init of its actor, or follow an actor to another kernel.
 * Else PEALI_ACT_DROP restarts its actor first, forwards the message to another
 * worker, or drops it as dead.
 */
PEALI_SLOW(int, peali_mail_slow, struct peal_worker *w, int alive)
{
	if (alive) {
		peali_round_blocks(w);
		return 0;
	}
	if (peali_hook_holds(w))
		return 0;
	return w->message.header.flags & PEAL_FLAG_TO_ALL ||
			       peali_actor_forward_fits(w) < 0 ?
		       peali_mail_dead(w, PEAL_REASON_NO_ACTOR) :
		       0;
}

/*
 * Handles a message of the mailbox that has a deadline, is an answer, or is for
 * all actors. An answer gets the address of the asking actor. Returns 1 if no
 * actor handles the message now. The worker drops it as dead if its deadline
 * has passed.
 */
PEALI_SLOW(int, peali_mail_classify, struct peal_worker *w)
{
	if (w->message.header.flags & PEAL_FLAG_TO_ALL)
		return peali_round_waits(w);
	if (w->message.header.flags & PEAL_FLAG_ANSWER) {
		peali_answer_address(w);
		return 0;
	}
	if (!peali_expired(w))
		return 0;
	peali_mail_dead(w, PEAL_REASON_EXPIRED);
	return 1;
}

/*
 * The mailbox's next message can be handled now. It is for all actors, or it
 * counts for its actor's limit. Returns 1 if the actor handles it now. Returns
 * 0 if PEALI_ACT_UNCOUNT must first take it off that count, between two turns.
 */
PEALI_SLOW(int, peali_mail_take, struct peal_worker *w)
{
	if (w->message.header.flags & PEAL_FLAG_TO_ALL) {
		peali_round_taken(w);
		return 1;
	}
	if (!peali_mail_is_cleared(w)) {
		w->state->deferred.action = PEALI_ACT_UNCOUNT;
		w->state->source.current = 0;
		return 0;
	}
	w->message.header.flags &= (uint16_t)~PEAL_FLAG_COUNTED;
	return 1;
}

/* Makes the next message of w->box the current message. Returns 0 if there is
 * none. */
static PEAL_DEV PEAL_INLINE int peali_mail_peek(struct peal_worker *w)
{
	if (!peali_mail_read(w))
		return 0;
	w->message.input = w->params->max_inputs + PEAL_INFLIGHT_MAIL;
#if PEAL_ON_HOST
	w->message.input += PEAL_INFLIGHT_NUMBER(w->state->count.mailbox_done);
#endif
	w->message.sequence = w->state->count.mailbox_done;
	return 1;
}

/* Looks for the next message of w->box. Returns 1 with a message in w->message
 * that its actor can handle now, else 0. */
static PEAL_DEV PEAL_UNUSED inline int peali_mail_poll(struct peal_worker *w)
{
	int taken;

	if (!peali_mail_peek(w)) {
		if (PEAL_UNLIKELY(
			    w->state->mail.abandon_until[peali_box_is_high(w)]))
			peal_mailbox_abandon(
				w->box,
				w->state->mail
					.abandon_until[peali_box_is_high(w)]);
		return 0;
	}
	if (PEAL_UNLIKELY(w->message.header.flags &
			  (PEAL_FLAG_DEADLINE | PEAL_FLAG_ANSWER |
			   PEAL_FLAG_TO_ALL)) &&
	    peali_mail_classify(w))
		return 0;
	taken = peali_actor_take(w, w->message.header.actor);
	if (PEAL_LIKELY(taken > 0)) {
		w->state->source.current = 1;
		w->state->source.mail_run++;
		return !PEAL_UNLIKELY(w->message.header.flags &
				      (PEAL_FLAG_COUNTED | PEAL_FLAG_TO_ALL)) ||
		       peali_mail_take(w);
	}
	return taken < 0 || w->message.header.flags & PEAL_FLAG_TO_ALL ?
		       peali_mail_slow(w, !taken) :
		       0;
}

/* Ends the handled message if it is from a mailbox or pool, or is a hook. A
 * message to all actors stays in the mailbox for the next actor. */
static PEAL_DEV PEAL_INLINE void peali_mail_done(struct peal_worker *w,
						 int result)
{
	struct peal_worker_state *s = w->state;

	if (PEAL_UNLIKELY(s->source.current >= PEALI_TO_ALL)) {
		if (PEALI_USES(HOOKS) && s->source.current == PEALI_HOOK) {
			peali_hook_over(w);
			return;
		}
	} else if (!PEALI_USES(POOLS) || PEAL_LIKELY(s->source.current == 1))
		peali_mail_over(w);
	else
		w->pools[s->source.current - 2].handled++;
	s->source.current = 0;
	s->count.mailbox_dead += result != 0;
	s->count.mailbox_done++;
}

/*
 * Makes one round over all sources, from the cursor on. Stops at a message that
 * can be handled now, and returns 1. Stops at a source that needs a deferred
 * action first, and returns 0. Returns 0 after a round without either.
 *
 * If the message is from an input, peali_turn itself takes the rest of the
 * burst.
 */
static PEAL_DEV PEAL_INLINE int peali_poll_inputs(struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	uint32_t sources = s->table.n_inputs + peali_other_sources(w) +
			   peali_prioritized(w),
		 i;

	for (i = 0; i < sources; i++, s->source.cursor++) {
		if (PEAL_UNLIKELY(peali_prioritized(w))) {
			if (!peali_source_next(w, i))
				return 0;
		} else if (s->source.cursor >= sources) {
			s->source.cursor = 0;
		}
		if (PEALI_USES(POOLS) && s->source.cursor > s->table.n_inputs) {
			peali_pool_poll(w, s->source.cursor -
						   s->table.n_inputs - 1);
			if (s->deferred.action)
				return 0;
		} else if (s->source.cursor >= s->table.n_inputs) {
			if (PEALI_USES(MAIL) &&
			    (!PEALI_USES(POOLS) || peali_own_mailbox(w)) &&
			    peali_mail_poll(w))
				return 1;
			s->source.mail_run = 0;
			if (s->deferred.action)
				return 0;
		} else if (w->inputs[s->source.cursor].flags &
				   PEAL_INPUT_USED &&
			   peali_input_poll(w, s->source.cursor)) {
			s->source.mail_run = 0;
			peali_burst_start(w, PEALI_BURST - 1);
			return 1;
		} else if (s->deferred.action) {
			return 0;
		}
	}
	return 0;
}

#endif
