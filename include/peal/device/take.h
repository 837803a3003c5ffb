/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_TAKE_H
#define PEAL_DEVICE_TAKE_H

#include <peal/device/worker.h>

/*
 * Which message a worker takes next, from its inputs and its mailbox: one for
 * an actor that is alive, and whose outputs have room for all that it may emit.
 * For the leader; the loop calls it.
 */

/* Messages in a row from one input before the next has its turn. */
#define PEALI_BURST 32

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
		fit &= peal_mailbox_admit(peali_mailbox(w, i), &w->leases[i],
					  tells);
	}
	return fit;
}

/* The live actor of an index, or 0. Only its worker changes the entry. */
static PEAL_DEV PEAL_INLINE struct peal_actor_entry *
peali_actor(const struct peal_worker *w, uint32_t index)
{
	struct peal_actor_entry *entry =
		(struct peal_actor_entry *)(uintptr_t)w->params->actors + index;

	if (PEAL_UNLIKELY(index >= w->params->max_actors) ||
	    PEAL_UNLIKELY(PEAL_PLACE_HANDLER(entry->place) ==
			  PEAL_NO_HANDLER) ||
	    PEAL_UNLIKELY(PEAL_PLACE_WORKER(entry->place) != w->index))
		return 0;
	return entry;
}

/* How often `emits` more messages fit into a port; 0 not now. */
static PEAL_DEV PEAL_INLINE uint64_t peali_port_room(struct peal_output *o,
						     uint32_t emits)
{
	uint64_t free = o->link.limit - o->link.tail;

	/* never so for a port without a link, nor before a SEAL */
	if (PEAL_LIKELY(peali_link_fits_slots(&o->link, emits)))
		return emits == 1 ? free : emits ? free / emits : PEALI_BURST;
	if (o->link.state == PEALI_STATE_TOPIC)
		return peali_publish_room(o->topic, emits);
	return o->used && !o->switching && peal_link_fits(&o->link, emits);
}

/*
 * Whether the actor of that index can handle a message now: 1 and w->actor, 0
 * not now, -1 there is no such actor. Finds out for how many messages in a row
 * that will be so.
 */
static PEAL_DEV PEAL_UNUSED PEAL_HOST_NOINLINE int
peali_actor_choose(struct peal_worker *w, uint32_t index)
{
	struct peal_actor_entry *actor = peali_actor(w, index);
	uint64_t room = PEALI_BURST;
	uint32_t port;

	w->room_left = 0;
	if (!actor)
		return -1;
	for (port = 0; port < actor->ports; port++) {
		struct peal_output *o = &w->outputs[actor->port_base + port];
		uint64_t fits = peali_port_room(o, actor->emits);

		if (!fits) {
			w->state->blocked = PEAL_BLOCKED(index, !o->used, port);
			return 0;
		}
		if (fits < room)
			room = fits;
	}
	if (actor->tells && !peali_tells_fit(w, actor->tells)) {
		w->state->blocked = PEAL_BLOCKED(index, 0, PEAL_BLOCKED_MAIL);
		return 0;
	}
	w->actor = actor;
	w->room_actor = index;
	w->room_left = actor->tells ? 0 : (uint32_t)room - 1;
	return 1;
}

/* The same, mostly without a look: a burst tends to be for one actor. */
static PEAL_DEV PEAL_INLINE int peali_actor_take(struct peal_worker *w,
						 uint32_t index)
{
	if (PEAL_UNLIKELY(!w->room_left) ||
	    PEAL_UNLIKELY(index != w->room_actor))
		return peali_actor_choose(w, index);
	w->room_left--;
	return 1;
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

/*
 * The next message of an input that is a topic: 0 and w->message; else
 * PEALI_STATE_TOPIC, and the input may have ended.
 */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE int
peali_input_topic(struct peal_worker *w, struct peal_input *in)
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

/* An input whose head is no message for a handler, or that has none. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_input_odd(struct peal_worker *w, struct peal_input *in, int result)
{
	if (result == PEALI_STATE_TOPIC)
		return;
	if (result == PEAL_EAGAIN && in->link.more) {
		w->state->fetch = 1 + (uint32_t)(in - w->inputs);
		return;
	}
	if (result == PEAL_EAGAIN && !(in->flags & PEAL_INPUT_LAST))
		return;
	w->state->idle = 0;
	if (result) { /* failed, which the host sees; or empty for good */
		in->flags = 0;
		w->state->ended++;
	} else if (w->message.kind > PEAL_KIND_SLAB) {
		peali_input_mark(w, in, w->message.kind);
	} else {
		peal_link_release_dead(&in->link, PEAL_REASON_NO_ACTOR);
	}
}

/* Takes the next message of a used input into w->message; 1 if there is one. */
static PEAL_DEV PEAL_INLINE int peali_input_take(struct peal_worker *w,
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
	if (PEAL_LIKELY(!result) &&
	    PEAL_LIKELY(w->message.kind <= PEAL_KIND_SLAB))
		taken = peali_actor_take(w, header.actor);
	if (PEAL_UNLIKELY(taken < 0))
		peali_input_odd(w, in, result);
	w->message.input = index;
	return taken > 0;
}

/* The same for the mailbox. */
static PEAL_DEV PEAL_UNUSED inline int peali_mail_take(struct peal_worker *w)
{
	struct peal_slot_view view = { 0, 0, 0 };
	int taken;

	if (!peal_mailbox_peek(w->mailbox, &view)) {
		if (PEAL_UNLIKELY(w->state->mail_until))
			peal_mailbox_poison(w->mailbox, w->state->mail_until);
		return 0;
	}
	w->message.header =
		*(const struct peal_header *)(const void *)view.content;
	w->message.data = view.content + sizeof(struct peal_header);
	w->message.length = view.length - sizeof(struct peal_header);
	w->message.kind = PEAL_KIND_DATA;
	w->message.input = w->params->max_inputs;
	w->message.sequence = w->state->mail_done;
	taken = peali_actor_take(w, w->message.header.actor);
	if (PEAL_LIKELY(taken > 0)) {
		w->state->mail = 1;
		w->state->mails++;
		return 1;
	}
	if (taken < 0) {
		if (view.kind == PEAL_KIND_DEAD)
			peal_store_relaxed_sys(&w->status->mail_poisoned,
					       ++w->state->mail_poisoned);
		peal_mailbox_release(w->mailbox);
		w->state->mail_dead++;
		w->state->mail_done++;
	}
	return 0;
}

/* The input at the cursor is next, for so many messages. */
static PEAL_DEV PEAL_INLINE void peali_grant(struct peal_worker *w, uint32_t n)
{
	w->state->granted = w->state->burst = n;
}

/*
 * One round over all inputs, from the cursor on, or up to one whose mirror wants
 * its next slots. Where one has a message, the
 * next messages of its burst are taken by peali_turn itself.
 */
static PEAL_DEV PEAL_INLINE int peali_take(struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	uint32_t sources = s->n_inputs + (w->mailbox ? 1 : 0), i;

	for (i = 0; i < sources; i++, s->cursor++) {
		if (s->cursor >= sources)
			s->cursor = 0;
		if (s->cursor >= s->n_inputs) {
			if (peali_mail_take(w))
				return 1;
			s->mails = 0;
		} else if (w->inputs[s->cursor].flags & PEAL_INPUT_USED &&
			   peali_input_take(w, s->cursor)) {
			s->mails = 0;
			peali_grant(w, PEALI_BURST - 1);
			return 1;
		} else if (s->fetch) {
			return 0;
		}
	}
	return 0;
}

#endif
