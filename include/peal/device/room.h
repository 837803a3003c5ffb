/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_ROOM_H
#define PEAL_DEVICE_ROOM_H

#include <peal/device/monitor.h>

/*
 * The rooms of a worker, for actors that its handlers make: which of them are
 * free, and who has them. Nobody else writes their entries, but for the mark.
 *
 * Rooms that were never used come first, then those that are free the longest:
 * so it takes long until an address is given again. Free ones are in line, each
 * with the next one's in the place of its state's address. For the leader.
 */

/* Whether an entry is one of the worker's rooms. */
static PEAL_DEV PEAL_INLINE int peali_is_room(const struct peal_worker *w,
					      uint32_t index)
{
	const struct peal_kernel_params *p = w->params;

	return index - p->first_room - w->index * p->spawn_rooms <
		       p->spawn_rooms &&
	       index >= p->first_room;
}

/* Says to the host who has a room. */
static PEAL_DEV PEAL_INLINE void peali_room_say(const struct peal_worker *w,
						uint32_t actor,
						uint32_t handler,
						uint32_t ports_of)
{
	uint64_t *room = (uint64_t *)(uintptr_t)w->params->rooms +
			 (PEAL_ACTOR_INDEX(actor) - w->params->first_room);

	peal_store_relaxed_sys(room, PEAL_ROOM(actor, handler, ports_of));
}

/* It is the last one in line from now on. */
static PEAL_DEV PEAL_UNUSED inline void peali_room_free(struct peal_worker *w,
							uint32_t index)
{
	struct peal_worker_state *s = w->state;

	peali_entry(w, index)->state = 0;
	if (s->room_last)
		peali_entry(w, s->room_last - 1)->state = 1 + (uint64_t)index;
	else
		s->room_first = 1 + index;
	s->room_last = 1 + index;
}

/* What an actor had that has ended itself is free with the next message, when
 * its handler has returned. */
static PEAL_DEV PEAL_INLINE void peali_room_settle(struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;

	if (!s->leaving || s->leaving_at == s->handled)
		return;
	peali_room_free(w, s->leaving - 1);
	s->leaving = 0;
}

/* A room that is free, which nobody else has from now on: 1 + its entry's index;
 * 0: there is none. */
static PEAL_DEV PEAL_UNUSED inline uint32_t
peali_room_take(struct peal_worker *w)
{
	const struct peal_kernel_params *p = w->params;
	struct peal_worker_state *s = w->state;
	uint32_t room;

	peali_room_settle(w);
	if (s->rooms_used < p->spawn_rooms)
		return 1 + p->first_room + w->index * p->spawn_rooms +
		       s->rooms_used++;
	room = s->room_first;
	if (!room)
		return 0;
	s->room_first = (uint32_t)peali_entry(w, room - 1)->state;
	if (!s->room_first)
		s->room_last = 0;
	return room;
}

/* Ends the actor that has a room of this worker: 0, and the room is nobody's but
 * not free yet; PEAL_ENOENT it has ended before. Who has it next has another
 * address. */
PEALI_SLOW(int, peali_room_end, struct peal_worker *w, uint32_t actor)
{
	uint32_t index = PEAL_ACTOR_INDEX(actor), next = actor >> 24;
	struct peal_actor_entry *entry = peali_entry(w, index);

	if (!PEAL_PLACE_IS_OF(peal_load_relaxed_dev(&entry->place), actor))
		return PEAL_ENOENT;
	next = (next + !PEALI_SIM_FAULT(SAME_ADDRESS)) % PEAL_ACTOR_GENERATIONS
		       << 24 |
	       index;
	peal_store_relaxed_dev(&entry->place,
			       PEAL_PLACE(next, w->index, PEAL_NO_HANDLER));
	peali_room_say(w, next, PEAL_ROOM_FREE, 0);
	if (entry->shares)
		peali_entry(w, PEAL_ACTOR_INDEX(entry->shares))->shares--;
	w->room_left = 0;
	peal_store_relaxed_sys(&w->status->retired, ++w->state->retired);
	peali_monitors_ended(w, actor, 1, PEAL_DOWN_RETIRED, 0);
	return 0;
}

#endif
