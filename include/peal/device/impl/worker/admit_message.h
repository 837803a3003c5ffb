/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_ADMIT_MESSAGE_H
#define PEAL_DEVICE_ADMIT_MESSAGE_H

#include <peal/device/impl/worker/pool.h>

/*
 * Checks if a worker can handle a message now. Its actor must be alive. There
 * must be free slots for all messages that the actor may emit and tell. For the
 * leader; poll_inputs.h calls these functions.
 */

/*
 * Returns 1 if mailboxes and pools have free slots for the messages that the
 * actor tells. The handler of mail may use the slots that a worker keeps. The
 * handler of a message from an input or a pool must leave them. So mail is
 * handled, however many other messages were sent. An actor that waits for an
 * answer cannot take the slots of the actor that must answer. A message from a
 * forwarding link was mail in its former kernel. Its handler may use forward
 * slots, too.
 */
PEALI_SLOW(int, peali_sends_fit, struct peal_worker *w, uint32_t tells)
{
	uint32_t from = w->state->source.cursor, i;
	int mail = from == w->state->table.n_inputs, fit = 1;

	for (i = 0; i < peali_pools(w); i++)
		if (w->pools[i].set)
			fit &= peali_pool_fits(&w->pools[i], tells);
	if (!peali_has_mail(w))
		return fit; /* peal_tell returns PEAL_ENOTSUP */
	return fit &
	       (mail ? peal_admission_admit(peali_admission(w),
					    &w->state->mail.lease, tells, 1) :
		       peali_links_fit(
			       w, tells,
			       from < w->state->table.n_inputs &&
				       peali_is_fwd_link(&w->inputs[from])));
}

/*
 * Returns the location of an entry. Only the actor's worker changes it, except
 * for the mark for a restart. So a plain load is enough on a GPU, although it
 * may read an old value from the L1 cache. It never returns this worker for an
 * actor of another worker. The worker sees a mark of another worker at its next
 * look at the control words.
 */
static PEAL_DEV PEAL_INLINE uint64_t
peali_entry_location(const struct peal_actor_entry *entry)
{
#if PEAL_ON_HOST
	return peal_load_relaxed_dev(&entry->location);
#else
	return entry->location;
#endif
}

/* Returns the entry of an actor of this worker that can handle messages now, or
 * 0. */
static PEAL_DEV PEAL_INLINE struct peal_actor_entry *
peali_actor(const struct peal_worker *w, uint32_t actor)
{
	uint32_t index = PEAL_ACTOR_INDEX(actor);
	struct peal_actor_entry *entry =
		(struct peal_actor_entry *)(uintptr_t)w->params->actors + index;
	uint64_t place;

	if (PEAL_UNLIKELY(index >= w->params->max_actors))
		return 0;
	place = peali_entry_location(entry);
	if (PEAL_UNLIKELY(PEAL_ENTRY_IS_CLOSED(place)) ||
	    PEAL_UNLIKELY((uint32_t)(place >> 32) !=
			  (PEAL_ACTOR_GENERATION(actor) | w->index)))
		return 0;
	return entry;
}

/* Most messages of an actor in sequence without a check. Each look at the control
 * words ends such a sequence. */
#define PEALI_UNCHECKED 4096

/* Returns how many times `emits` more messages fit into a port; 0: not now. */
static PEAL_DEV PEAL_INLINE uint64_t peali_port_fits(struct peal_output *o,
						     uint32_t emits)
{
	uint64_t free = o->link.limit - o->link.tail;

	/* never true for a port without a link, nor before a SEAL */
	if (PEAL_LIKELY(peali_link_fits_slots(&o->link, emits)))
		return emits == 1 ? free :
		       emits	  ? (uint32_t)free / emits :
				    PEALI_UNCHECKED;
	if (peali_is_topic(o->link.state))
		return peali_publish_fits(o->topic, emits);
	return o->used && !o->switching && peal_link_fits(&o->link, emits);
}

/* Returns the cause for `blocked`: a message waits for the actor's port. If the
 * port's link is full, the link counts that. */
PEALI_SLOW(uint64_t, peali_port_blocks, struct peal_worker *w, uint32_t actor,
	   const struct peal_actor_entry *entry, uint32_t port)
{
	struct peal_output *o = &w->outputs[entry->port_base + port];

	if (o->used && !o->switching && !o->link.state)
		peali_link_count_full(&o->link);
	return PEAL_BLOCKED(actor, !o->used, port);
}

#if PEAL_ON_HOST
/* Distance of the prefetch of an actor's entry, in messages. The distance for
 * its state is half as long. It covers the latency of the memory. */
#define PEALI_AHEAD 16
/* Messages until the next look, if the last look found too few messages. */
#define PEALI_AHEAD_PAUSE 32

/* Returns the actor entry of the message that is `ahead` slots behind the
 * current one. Returns 0 if the message has not arrived, if its actor has no
 * entry, or if the ring is shorter. */
static PEAL_INLINE struct peal_actor_entry *
peali_actor_ahead(const struct peal_worker *w,
		  const struct peal_link_consumer *c, uint32_t ahead)
{
	uint8_t *slot = c->slot + (uint64_t)ahead * c->slot_bytes;
	uint32_t actor, lap = c->lap;
	struct peal_slot_view view;

	if (ahead >> c->capacity_log2)
		return 0;
	if (c->head + ahead >= peali_consumer_wrap(c)) {
		slot -= (uint64_t)c->slot_bytes << c->capacity_log2;
		lap++;
	}
	/* needs the acquire of the peek: the sender wrote the header with a
	 * plain store */
	if (!peal_slot_peek(slot, lap, &view))
		return 0;
	__builtin_memcpy(&actor, view.content, sizeof(actor));
	actor = PEAL_ACTOR_INDEX(actor);
	if (actor >= w->params->max_actors)
		return 0;
	return (struct peal_actor_entry *)(uintptr_t)w->params->actors + actor;
}

/*
 * Prefetches the memory that later messages of the input need, while the worker
 * handles the current one. This helps if each message is for another actor. It
 * needs a link that holds enough messages. Then the looks do not touch slots
 * that the sender is about to write.
 */
static PEAL_UNUSED PEAL_INLINE void peali_fetch_ahead(struct peal_worker *w)
{
	const struct peal_input *in = &w->inputs[w->state->source.cursor];
	const struct peal_actor_entry *far, *near;

	if (w->ahead_pause) {
		w->ahead_pause--;
		return;
	}
	if (w->state->source.cursor >= w->state->table.n_inputs ||
	    in->link.policy != PEAL_POLICY_SEQUENCE || in->link.state)
		return;
	far = peali_actor_ahead(w, &in->link, PEALI_AHEAD);
	if (!far) {
		w->ahead_pause = PEALI_AHEAD_PAUSE;
		return;
	}
	__builtin_prefetch(far);
	near = peali_actor_ahead(w, &in->link, PEALI_AHEAD / 2);
	/* only the actor's worker writes an entry */
	if (near && PEAL_ENTRY_WORKER(peal_load_relaxed_dev(&near->location)) ==
			    w->index)
		__builtin_prefetch((const void *)(uintptr_t)near->state, 1);
}
#endif

/*
 * Returns 1 if the actor can handle a message now, and stores its entry in
 * w->actor. Returns 0 if it cannot yet, and says why in `blocked`. Returns -1
 * if the worker has no such actor. Stores in fits_left how many more messages
 * of this actor it can handle without a check.
 */
PEALI_HOST_SLOW(int, peali_actor_choose, struct peal_worker *w, uint32_t number)
{
	struct peal_actor_entry *actor = peali_actor(w, number);
	uint64_t n_fit = PEALI_UNCHECKED;
	uint32_t port;

	w->fits_left = 0;
#if PEAL_ON_HOST
	peali_fetch_ahead(w);
#endif
	if (!actor)
		return -1;
	for (port = 0; port < actor->ports; port++) {
		struct peal_output *o = &w->outputs[actor->port_base + port];
		uint64_t fits = peali_port_fits(o, actor->emits);

		if (PEAL_UNLIKELY(!fits)) {
			w->state->published.blocked_now =
				peali_port_blocks(w, number, actor, port);
			return 0;
		}
		if (fits < n_fit)
			n_fit = fits;
	}
	if (actor->tells && !peali_sends_fit(w, actor->tells)) {
		w->state->published.blocked_now =
			PEAL_BLOCKED(number, 0, PEAL_BLOCKED_MAIL);
		return 0;
	}
	w->actor = actor;
	w->fits_actor = number;
	w->fits_left = actor->tells ? 0 : (uint32_t)n_fit - 1;
	return 1;
}

/* As peali_actor_choose, but skips the check for the next messages of the same
 * actor. A burst is often for one actor. */
static PEAL_DEV PEAL_INLINE int peali_actor_take(struct peal_worker *w,
						 uint32_t number)
{
	if (PEAL_UNLIKELY(!w->fits_left) ||
	    PEAL_UNLIKELY(number != w->fits_actor))
		return peali_actor_choose(w, number);
	w->fits_left--;
	return 1;
}

#endif
