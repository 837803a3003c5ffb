/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_LOOP_H
#define PEAL_DEVICE_LOOP_H

#include <peal/device/control.h>
#include <peal/device/emit.h>

/*
 * The resident loop: one for all backends. The leader decides, the lanes
 * follow:
 *
 *	while (peal_loop_next(&w))
 *		peal_loop_done(&w, handler(&w));
 *
 * A message is taken only when everything that its handler may emit fits, so
 * that no handler ever waits for room.
 */

/* Messages in a row from one input before the next has its turn. */
#define PEALI_BURST 32
/* Looks at the inputs alone in one idle turn. */
#define PEALI_SPINS 32
/* Messages between two looks at the control words while there are messages. */
#define PEALI_LOOK_EVERY 64

/* ---- may this message be handled now ------------------------------------- */

/* Whether the actor's mailbox messages fit: a lease for every worker. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE int
peali_tells_fit(struct peal_worker *w, uint32_t tells)
{
	uint32_t i;
	int fit = 1;

	if (!w->params->mailboxes)
		return 1; /* peal_tell says PEAL_ENOTSUP */
	for (i = 0; i < w->params->n_workers; i++) {
		struct peal_mailbox *m =
			(struct peal_mailbox
				 *)(uintptr_t)(w->params->mailboxes +
					       i * w->params->mailbox_stride);

		fit &= peal_mailbox_admit(m, &w->leases[i], tells);
	}
	return fit;
}

/* Whether all that one message can make the actor emit fits. */
static PEAL_DEV PEAL_INLINE int
peali_outputs_fit(struct peal_worker *w, const struct peal_actor_entry *actor)
{
	uint32_t port;

	for (port = 0; port < actor->ports; port++) {
		struct peal_output *o = &w->outputs[actor->port_base + port];

		if (PEAL_UNLIKELY(!o->used || o->switching) ||
		    !peal_link_fits(&o->link, actor->emits)) {
			w->state->blocked = PEAL_BLOCKED(
				w->message.header.actor, !o->used, port);
			return 0;
		}
	}
	if (PEAL_UNLIKELY(actor->tells) && !peali_tells_fit(w, actor->tells)) {
		w->state->blocked = PEAL_BLOCKED(w->message.header.actor, 0,
						 PEAL_BLOCKED_MAIL);
		return 0;
	}
	return 1;
}

/* The live actor of an index, or 0. Only its worker changes the entry. */
static PEAL_DEV PEAL_INLINE struct peal_actor_entry *
peali_actor(struct peal_worker *w, uint32_t index)
{
	struct peal_actor_entry *entry =
		(struct peal_actor_entry *)(uintptr_t)w->params->actors + index;

	if (PEAL_UNLIKELY(index >= w->params->max_actors) ||
	    PEAL_UNLIKELY(entry->handler == PEAL_NO_HANDLER) ||
	    PEAL_UNLIKELY(entry->worker != w->index))
		return 0;
	return entry;
}

/* ---- inputs -------------------------------------------------------------- */

/* END and SEAL at the head of an input. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_input_mark(struct peal_worker *w, struct peal_input *in, uint32_t kind)
{
	if (kind == PEAL_KIND_END) {
		peal_link_release_mark(&in->link, kind);
		in->flags = 0;
		w->state->ended++;
	} else if (in->flags & PEAL_INPUT_NEXT) {
		peal_link_release_mark(&in->link, kind);
		peal_link_consumer_init(&in->link, &in->next);
		in->flags &= ~(uint32_t)PEAL_INPUT_NEXT;
	} else { /* who has to seal is told after this end: not by the host */
		peali_link_fail(&in->link);
		in->flags = 0;
		w->state->ended++;
	}
}

/* Takes the next message of an input into w->message; 1 if there is one. */
static PEAL_DEV PEAL_INLINE int peali_input_take(struct peal_worker *w,
						 uint32_t index)
{
	struct peal_input *in = &w->inputs[index];
	int result;

	if (PEAL_UNLIKELY(!(in->flags & PEAL_INPUT_USED)))
		return 0;
	result = peal_link_peek(&in->link, &w->message);
	if (result == PEAL_EAGAIN && !(in->flags & PEAL_INPUT_LAST))
		return 0;
	if (PEAL_UNLIKELY(
		    result)) { /* failed, which the host sees; or empty for good */
		in->flags = 0;
		w->state->ended++;
		w->state->idle = 0;
		return 0;
	}
	if (PEAL_UNLIKELY(w->message.kind > PEAL_KIND_SLAB)) {
		peali_input_mark(w, in, w->message.kind);
		w->state->idle = 0;
		return 0;
	}
	w->actor = peali_actor(w, w->message.header.actor);
	if (PEAL_UNLIKELY(!w->actor)) {
		peal_link_release_dead(&in->link, PEAL_REASON_NO_ACTOR);
		w->state->idle = 0;
		return 0;
	}
	if (PEAL_UNLIKELY(!peali_outputs_fit(w, w->actor)))
		return 0;
	w->message.input = index;
	w->state->mail = 0;
	return 1;
}

/* The same for the mailbox. */
static PEAL_DEV PEAL_UNUSED inline int peali_mail_take(struct peal_worker *w)
{
	struct peal_slot_view view = { 0, 0, 0 };

	if (!peal_mailbox_peek(w->mailbox, &view))
		return 0;
	w->message.header =
		*(const struct peal_header *)(const void *)view.content;
	w->message.data = view.content + sizeof(struct peal_header);
	w->message.length = view.length - sizeof(struct peal_header);
	w->message.kind = PEAL_KIND_DATA;
	w->message.input = w->params->max_inputs;
	w->message.sequence = w->state->mail_done;
	w->actor = peali_actor(w, w->message.header.actor);
	if (!w->actor) {
		peal_mailbox_release(w->mailbox);
		peal_store_relaxed_sys(&w->status->mail_dead,
				       ++w->state->mail_dead);
		peal_store_release_sys(&w->status->mail_done,
				       ++w->state->mail_done);
		return 0;
	}
	if (!peali_outputs_fit(w, w->actor))
		return 0;
	w->state->mail = 1;
	return 1;
}

/* One round over all inputs, from the one in hand on. */
static PEAL_DEV PEAL_INLINE int peali_take(struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	uint32_t sources = s->n_inputs + (w->mailbox ? 1 : 0), i;

	for (i = 0; i < sources; i++) {
		if (s->cursor >= sources) {
			s->cursor = 0;
			s->burst = 0;
		}
		if (s->cursor < s->n_inputs ? peali_input_take(w, s->cursor) :
					      peali_mail_take(w)) {
			if (++s->burst >= PEALI_BURST) {
				s->burst = 0;
				s->cursor++;
			}
			return 1;
		}
		s->burst = 0;
		s->cursor++;
	}
	return 0;
}

/* ---- nothing to do ------------------------------------------------------- */

/* What is owed to others, once per pause. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_settle(struct peal_worker *w)
{
	uint32_t i;

	for (i = 0; i < w->state->n_inputs; i++)
		if (w->inputs[i].flags & PEAL_INPUT_USED)
			peal_link_flush_credit(&w->inputs[i].link);
	if (!w->params->mailboxes)
		return;
	for (i = 0; i < w->params->n_workers; i++) {
		struct peal_mailbox *m =
			(struct peal_mailbox
				 *)(uintptr_t)(w->params->mailboxes +
					       i * w->params->mailbox_stride);

		if (w->leases[i].granted || w->leases[i].asked)
			peal_mailbox_return(m, &w->leases[i]);
	}
}

/*
 * Looks at the heads of all inputs and nothing else, some times: a message that
 * comes soon is seen within a few cycles. Only where nothing waits for room.
 */
static PEAL_DEV PEAL_INLINE int peali_spin(struct peal_worker *w)
{
	uint32_t n = w->state->n_inputs, spin, i;

	for (spin = 0; spin < PEALI_SPINS; spin++) {
		for (i = 0; i < n; i++)
			if (w->inputs[i].flags & PEAL_INPUT_USED &&
			    peal_link_ready(&w->inputs[i].link)) {
				w->state->cursor = i; /* and there first */
				return 1;
			}
#if PEAL_ON_HOST
		/* A round trip of 48 bytes is some 3 ns shorter with it: peal
		 * bench latency, 2 cores of an EPYC (Zen 5), 2026-11-21. */
		peal_pause();
#endif
	}
	return 0;
}

/* One idle turn; 0 go on, else the loop ends with that value. */
static PEAL_DEV PEAL_UNUSED inline int peali_idle(struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	int end;

	s->idle_turns++;
	if (s->idle++ == 0) {
		if (s->n_inputs + (w->mailbox ? 1u : 0u) > 0)
			peali_settle(w);
		/* messages for nobody could keep it from ever being idle */
		if (s->since_look++ < PEALI_LOOK_EVERY)
			return 0;
		s->since_look = 0;
		return peali_look(w);
	}
	if ((s->idle & 7) == 0 || s->idle > 256 || peali_wait_announced(w)) {
		end = peali_try_end(w);
		if (!end)
			end = peali_look(w);
		if (end)
			return end;
	}
	if (!s->blocked && peali_spin(w))
		return 0;
	if (s->blocked != s->blocked_said) {
		s->blocked_said = s->blocked;
		peal_store_relaxed_sys(&w->status->blocked, s->blocked);
	}
	peali_wait_turn(w);
	return 0;
}

/* The leader's turn: 1 a message in w->message, 0 or 2 the loop ends. */
static PEAL_DEV PEAL_UNUSED inline int peali_turn(struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	int end;

	if (PEAL_UNLIKELY(s->since_look++ >= PEALI_LOOK_EVERY) ||
	    PEAL_UNLIKELY(peal_load_relaxed_sys(&w->control->stop)) ||
	    PEAL_UNLIKELY(peal_load_relaxed_sys(&w->control->suspend))) {
		s->since_look = 0;
		end = peali_look(w);
		if (end)
			return end;
	}
	for (;;) {
		s->blocked = 0;
		if (PEAL_LIKELY(peali_take(w))) {
			if (s->idle)
				peali_wait_reset(w);
			s->idle = 0;
			return PEALI_GO_ON;
		}
		end = peali_idle(w);
		if (PEAL_UNLIKELY(end))
			return end;
	}
}

/* ---- what the entry calls ------------------------------------------------ */

/**
 * Collective: waits for the next message that can be handled.
 *
 * @param w the worker
 * @return 1 its handler shall run: w->message, w->actor; 0 the worker ends.
 *         Never longer without a look at the control words than 1,024 polls.
 */
static PEAL_DEV PEAL_INLINE int peal_loop_next(struct peal_worker *w)
{
	int turn = 0;

	if (peal_is_leader(w)) {
		turn = peali_turn(w);
		if (turn == PEALI_GO_ON)
			peal_store_relaxed_sys(&w->status->actor,
					       1 + w->message.header.actor);
	}
	if (!PEAL_SINGLE_LANE && w->lanes > 1) {
		if (peal_is_leader(w)) {
			w->state->turn = turn;
			w->state->message = w->message;
		}
		peal_sync(w);
		turn = w->state->turn;
		w->message = w->state->message;
		w->actor = (struct peal_actor_entry *)(uintptr_t)
				   w->params->actors +
			   w->message.header.actor;
		peal_sync(w);
	}
	w->ended = turn == PEALI_EPOCH;
	return turn == PEALI_GO_ON;
}

/**
 * Collective: ends the message in hand, as delivered or, with an error of its
 * handler, as dead.
 *
 * @param w      the worker
 * @param result of the handler: 0, or PEAL_E...
 */
static PEAL_DEV PEAL_INLINE void peal_loop_done(struct peal_worker *w,
						int result)
{
	struct peal_worker_state *s = w->state;

	if (!PEAL_SINGLE_LANE && w->lanes > 1) /* any lane's error is one */
		result = peal_vote_any(w, result != 0) ? PEAL_EHANDLER : 0;
	if (!peal_is_leader(w))
		return;
	peal_store_relaxed_sys(&w->status->handled, ++s->handled);
	peal_store_relaxed_sys(&w->status->emitted, s->emitted);
	if (PEAL_UNLIKELY(result))
		peal_store_relaxed_sys(&w->status->failed, ++s->failed);
	if (PEAL_UNLIKELY(s->mail)) {
		peal_mailbox_release(w->mailbox);
		if (result)
			peal_store_relaxed_sys(&w->status->mail_dead,
					       ++s->mail_dead);
		/* release: whoever counts it done sees what it has told */
		peal_store_release_sys(&w->status->mail_done, ++s->mail_done);
	} else if (PEAL_UNLIKELY(result)) {
		peal_link_release_dead(&w->inputs[w->message.input].link,
				       PEAL_REASON_HANDLER);
	} else {
		peal_link_release(&w->inputs[w->message.input].link,
				  &w->message);
	}
	peal_store_relaxed_sys(&w->status->actor, 0);
}

#endif
