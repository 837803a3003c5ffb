/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_POLL_INPUTS_H
#define PEAL_DEVICE_POLL_INPUTS_H

#include <peal/device/impl/worker/cluster.h>
#include <peal/device/impl/worker/mailbox_forward.h>
#include <peal/device/impl/loop/priority_scheduler.h>
#include <peal/device/impl/loop/poll_hooks.h>
#include <peal/device/impl/loop/poll_pools.h>

/*
 * Which message a worker takes next, from its inputs, its mailbox and its
 * pools: one for an actor that is alive, and whose outputs have space for all
 * that it may emit. For the leader; the loop calls it.
 */

/* ---- inputs -------------------------------------------------------------- */

/* END and SEAL at the head of an input. */
PEALI_SLOW(void, peali_input_mark, struct peal_worker *w, struct peal_input *in,
	   uint32_t kind)
{
	if (kind == PEAL_KIND_END) {
		peal_link_release_mark(&in->link, kind);
		in->flags = 0;
		w->state->ended++;
	} else if (in->flags & PEAL_INPUT_NEXT) {
		peal_link_release_mark(&in->link, kind);
		peali_input_ring(in, &in->next);
		in->flags &= ~(uint32_t)PEAL_INPUT_NEXT;
	} else { /* who has to seal is told after this end: not by the host */
		peali_link_fail(&in->link);
		in->flags = 0;
		w->state->ended++;
	}
}

/*
 * The next message of an input that is a topic: 0 and w->message; else
 * PEALI_STATE_TOPIC, and the input may have ended.
 */
PEALI_SLOW(int, peali_input_topic, struct peal_worker *w, struct peal_input *in)
{
	int last = (in->flags & PEAL_INPUT_LAST) != 0;

	if (peali_subscribe_peek(&in->link, in->topic, &w->message))
		return 0;
	if (peali_subscribe_over(&in->link, in->topic, last)) {
		w->state->idle = 0;
		in->flags = 0;
		w->state->ended++;
	}
	return PEALI_STATE_TOPIC;
}

/* A mark, as the result of a look at an input. */
#define PEALI_MARK 2

/*
 * A look at an input that has not simply found a message. One that has a
 * deadline is as any other: 0; if that has passed it is dropped as dead, as if
 * there were none: PEALI_STATE_TOPIC. A mark: PEALI_MARK.
 */
PEALI_SLOW(int, peali_input_classify, struct peal_worker *w, int result)
{
	if (result)
		return result;
	if (!(w->message.kind & PEAL_KIND_TIMED))
		return PEALI_MARK;
	w->message.kind &= ~(uint32_t)PEAL_KIND_TIMED;
	if (!peali_expired(w))
		return 0;
	w->state->deferred_action = PEALI_ACT_DROP;
	w->state->deferred_arg = PEAL_REASON_EXPIRED;
	return PEALI_STATE_TOPIC;
}

/* An input whose head is no message for one of the worker's actors, or that has
 * none. 1: it is, for a member of a pool. */
PEALI_SLOW(int, peali_input_slow, struct peal_worker *w, struct peal_input *in,
	   int result)
{
	int64_t pool;
	int fits;

	if (result == PEALI_STATE_TOPIC)
		return 0;
	if (result == PEAL_EAGAIN && in->link.more) {
		w->state->deferred_action = PEALI_ACT_FETCH;
		w->state->deferred_arg = (uint32_t)(in - w->inputs);
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
		fits = w->params->mailboxes ? peali_mail_forward_fits(w, in) :
					      -1;
		if (fits > 0) {
			w->state->deferred_action = PEALI_ACT_FORWARD_MAIL;
			w->state->deferred_arg = (uint32_t)(in - w->inputs);
			w->state->forward_to = (uint32_t)fits;
		}
		if (fits >= 0)
			return 0;
	}
	w->state->idle = 0;
	if (result < 0) { /* failed, which the host sees; or empty for good */
		in->flags = 0;
		w->state->ended++;
	} else if (result == PEALI_MARK) {
		peali_input_mark(w, in, w->message.kind);
	} else {
		w->state->deferred_action = PEALI_ACT_DROP;
		w->state->deferred_arg = PEAL_REASON_NO_ACTOR;
	}
	return 0;
}

/* Takes the next message of a used input into w->message; 1 if there is one. */
static PEAL_DEV PEAL_INLINE int peali_input_poll(struct peal_worker *w,
						 uint32_t index)
{
	struct peal_input *in = &w->inputs[index];
	struct peal_header header = { 0, 0, 0 };
	int result = peali_link_peek(&in->link, &w->message, &header);
	int taken = -1;

	if (PEAL_UNLIKELY(result == PEALI_STATE_TOPIC)) {
		result = peali_input_topic(w, in);
		header = w->message.header;
	}
	if (PEAL_UNLIKELY(result) ||
	    PEAL_UNLIKELY(w->message.kind > PEAL_KIND_SLAB)) {
		result = peali_input_classify(w, result);
		header = w->message.header;
	}
	if (PEAL_LIKELY(!result))
		taken = peali_actor_take(w, header.actor);
	if (PEAL_UNLIKELY(taken < 0))
		taken = peali_input_slow(w, in, result);
	w->message.input = index;
	return taken > 0;
}

/* The mailbox's next message is to be dead, for that reason. */
static PEAL_DEV PEAL_INLINE int peali_mail_dead(struct peal_worker *w,
						uint32_t reason)
{
	w->state->deferred_action = PEALI_ACT_DROP;
	w->state->deferred_arg = reason;
	return 0;
}

/* It is for no actor of the worker: for one that is away, or it is to be dead,
 * or its actor restarts first. */
PEALI_SLOW(int, peali_mail_slow, struct peal_worker *w)
{
	if (peali_hook_holds(w))
		return 0;
	return peali_actor_forward_fits(w) < 0 ?
		       peali_mail_dead(w, PEAL_REASON_NO_ACTOR) :
		       0;
}

/* The mailbox's next message has a deadline, or is an answer, which is for who
 * has asked. 1: it is dropped as dead. */
PEALI_SLOW(int, peali_mail_classify, struct peal_worker *w)
{
	if (w->message.header.flags & PEAL_FLAG_ANSWER) {
		peali_answer_address(w);
		return 0;
	}
	if (!peali_expired(w))
		return 0;
	peali_mail_dead(w, PEAL_REASON_EXPIRED);
	return 1;
}

/* The mailbox's next message, which can be handled now, is counted for its
 * actor's limit: 1 it is to be taken away there first, aside; 0 it has been. */
static PEAL_DEV PEAL_INLINE int peali_mail_counts(struct peal_worker *w)
{
	if (!peali_mail_is_cleared(w)) {
		w->state->deferred_action = PEALI_ACT_UNCOUNT;
		return 1;
	}
	w->message.header.flags &= (uint16_t)~PEAL_FLAG_COUNTED;
	return 0;
}

/* The same for a mailbox: w->box. */
static PEAL_DEV PEAL_UNUSED inline int peali_mail_poll(struct peal_worker *w)
{
	struct peal_slot_view view = { 0, 0, 0 };
	int taken;

	if (!peal_mailbox_peek(w->box, &view)) {
		if (PEAL_UNLIKELY(
			    w->state->mail_abandon_until[w->box != w->mailbox]))
			peal_mailbox_abandon(
				w->box,
				w->state->mail_abandon_until[w->box !=
							     w->mailbox]);
		return 0;
	}
	w->message.header =
		*(const struct peal_header *)(const void *)view.content;
	w->message.data = view.content + sizeof(struct peal_header);
	w->message.length = view.length - sizeof(struct peal_header);
	w->message.kind = view.kind;
	w->message.input = w->params->max_inputs + PEAL_INFLIGHT_MAIL +
			   PEAL_INFLIGHT_NUMBER(w->state->mailbox_done);
	w->message.sequence = w->state->mailbox_done;
	if (PEAL_UNLIKELY(w->message.header.flags &
			  (PEAL_FLAG_DEADLINE | PEAL_FLAG_ANSWER)) &&
	    peali_mail_classify(w))
		return 0;
	taken = peali_actor_take(w, w->message.header.actor);
	if (PEAL_LIKELY(taken > 0)) {
		if (PEAL_UNLIKELY(w->message.header.flags &
				  PEAL_FLAG_COUNTED) &&
		    peali_mail_counts(w))
			return 0;
		w->state->mail = 1;
		w->state->mails++;
		return 1;
	}
	return taken < 0 ? peali_mail_slow(w) : 0;
}

/* Ends a message in hand that is not from an input. */
static PEAL_DEV PEAL_INLINE void peali_mail_done(struct peal_worker *w,
						 int result)
{
	struct peal_worker_state *s = w->state;

	if (PEAL_UNLIKELY(s->mail == PEALI_HOOK)) {
		peali_hook_over(w);
		return;
	}
	if (!PEAL_USES_POOLS || PEAL_LIKELY(s->mail == 1))
		peali_mail_over(w);
	else
		w->pools[s->mail - 2].handled++;
	s->mail = 0;
	s->mailbox_dead += result != 0;
	s->mailbox_done++;
}

/*
 * One round over all inputs, from the cursor on, or up to one for which
 * something is to be done first. Where one has a message, the next ones of its
 * burst are taken by peali_turn itself.
 */
static PEAL_DEV PEAL_INLINE int peali_poll_inputs(struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	uint32_t sources =
			 s->n_inputs + peali_other_sources(w) + s->has_priority,
		 i;

	for (i = 0; i < sources; i++, s->cursor++) {
		if (PEAL_UNLIKELY(s->has_priority)) {
			if (!peali_source_next(w, i))
				return 0;
		} else if (s->cursor >= sources) {
			s->cursor = 0;
		}
		if (PEAL_USES_POOLS && s->cursor > s->n_inputs) {
			peali_pool_poll(w, s->cursor - s->n_inputs - 1);
			if (s->deferred_action)
				return 0;
		} else if (s->cursor >= s->n_inputs) {
			if ((!PEAL_USES_POOLS || w->mailbox) &&
			    peali_mail_poll(w))
				return 1;
			s->mails = 0;
			if (s->deferred_action)
				return 0;
		} else if (w->inputs[s->cursor].flags & PEAL_INPUT_USED &&
			   peali_input_poll(w, s->cursor)) {
			s->mails = 0;
			peali_burst_start(w, PEALI_BURST - 1);
			return 1;
		} else if (s->deferred_action) {
			return 0;
		}
	}
	return 0;
}

#endif
