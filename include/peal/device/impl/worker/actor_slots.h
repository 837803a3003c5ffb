/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_ACTOR_SLOTS_H
#define PEAL_DEVICE_ACTOR_SLOTS_H

#include <peal/device/monitor.h>

/*
 * The actor slots of a worker, for actors that its handlers spawn: their owners
 * and the free slots. Only the worker writes the entries of these slots, except
 * for the restart mark.
 *
 * Slots that were never used come first. Then comes the slot that has been free
 * for the longest time. So it takes long until an address is used again. The
 * free slots form a list. The `state` of a free entry is 1 + the index of the
 * next free entry, or 0. For the leader.
 */

/* Whether an entry is one of the worker's actor slots. */
static PEAL_DEV PEAL_INLINE int peali_is_actor_slot(const struct peal_worker *w,
						    uint32_t index)
{
	const struct peal_kernel_params *p = w->params;

	return PEALI_USES(SPAWNING) &&
	       index - p->first_actor_slot - w->index * p->max_spawned_actors <
		       p->max_spawned_actors &&
	       index >= p->first_actor_slot;
}

/* Tells the host the owner of a slot. */
static PEAL_DEV PEAL_INLINE void
peali_actor_slot_publish(const struct peal_worker *w, uint32_t actor,
			 uint32_t handler, uint32_t share_ports_with)
{
	uint64_t *slot =
		(uint64_t *)(uintptr_t)w->params->actor_slots +
		(PEAL_ACTOR_INDEX(actor) - w->params->first_actor_slot);

	peal_store_relaxed_sys(slot, PEAL_ACTOR_SLOT(actor, handler,
						     share_ports_with));
}

/* Appends a slot to the list of free slots. */
static PEAL_DEV PEAL_UNUSED inline void
peali_actor_slot_free(struct peal_worker *w, uint32_t index)
{
	struct peal_worker_state *s = w->state;

	peali_entry(w, index)->state = 0;
	if (s->actors.slot_last)
		peali_entry(w, s->actors.slot_last - 1)->state =
			1 + (uint64_t)index;
	else
		s->actors.slot_first = 1 + index;
	s->actors.slot_last = 1 + index;
}

/* Frees the slot of an actor that has ended itself, if its handler has
 * returned. That is so from the next message on. */
static PEAL_DEV PEAL_INLINE void peali_actor_slot_settle(struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;

	if (!s->actors.leaving || s->actors.leaving_at == s->count.handled)
		return;
	peali_actor_slot_free(w, s->actors.leaving - 1);
	s->actors.leaving = 0;
}

/* Takes a free slot. Returns 1 + the index of its entry, or 0: none is free. */
static PEAL_DEV PEAL_UNUSED inline uint32_t
peali_actor_slot_take(struct peal_worker *w)
{
	const struct peal_kernel_params *p = w->params;
	struct peal_worker_state *s = w->state;
	uint32_t slot;

	peali_actor_slot_settle(w);
	if (s->actors.slots_used < p->max_spawned_actors)
		return 1 + p->first_actor_slot +
		       w->index * p->max_spawned_actors +
		       s->actors.slots_used++;
	slot = s->actors.slot_first;
	if (!slot)
		return 0;
	s->actors.slot_first = (uint32_t)peali_entry(w, slot - 1)->state;
	if (!s->actors.slot_first)
		s->actors.slot_last = 0;
	return slot;
}

/* Ends the actor in a slot of this worker. Returns 0: the slot has no owner now
 * but is not free yet. Returns PEAL_ENOENT: the actor has ended before. The
 * next actor of the slot has another address. */
PEALI_SLOW(int, peali_actor_slot_end, struct peal_worker *w, uint32_t actor)
{
	uint32_t index = PEAL_ACTOR_INDEX(actor), next = actor >> 24;
	struct peal_actor_entry *entry = peali_entry(w, index);

	if (!PEAL_ENTRY_IS_OF(peal_load_relaxed_dev(&entry->location), actor))
		return PEAL_ENOENT;
	next = (next + !PEALI_SIM_FAULT(SAME_ADDRESS)) % PEAL_ACTOR_GENERATIONS
		       << 24 |
	       index;
	peal_store_relaxed_dev(&entry->location,
			       PEAL_ENTRY(next, w->index, PEAL_NO_HANDLER));
	peali_actor_slot_publish(w, next, PEAL_ACTOR_SLOT_FREE, 0);
	if (entry->shares)
		peali_entry(w, PEAL_ACTOR_INDEX(entry->shares))->shares--;
	w->fits_left = 0;
	peal_store_relaxed_sys(&w->status->retired, ++w->state->actors.retired);
	peali_monitors_ended(w, actor, 1, PEAL_DOWN_RETIRED, 0);
	return 0;
}

#endif
