/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_SPAWN_H
#define PEAL_DEVICE_SPAWN_H

#include <peal/device/hook.h>

/*
 * Actors that handlers make, on their own worker, in a kernel that was launched
 * with the option `spawn_rooms`. It takes neither the host nor its driver: all
 * that such an actor has was reserved at the launch. It is addressed, told,
 * monitored and found by its address as any other, `w->params->address | number`,
 * but has no ports of its own, no supervisor, and is no member of a pool.
 *
 * A handler names another one of its program by PEAL_HANDLER(name), where
 * PEAL_HANDLERS(HANDLERS) stands before it, see kernel.h.
 */

/* Whose ports an actor of a handler would share: the index of the entry; or
 * PEAL_E... */
static PEAL_DEV PEAL_UNUSED inline int64_t
peali_spawn_ports(const struct peal_worker *w,
		  const struct peal_handler_entry *h, uint32_t ports_of)
{
	uint32_t index = PEAL_ACTOR_INDEX(ports_of);
	const struct peal_handler_entry *owner;
	const struct peal_actor_entry *entry;
	uint64_t place;

	if (index >= w->params->max_actors)
		return PEAL_ENOENT;
	entry = peali_entry(w, index);
	place = peal_load_relaxed_dev(&entry->place);
	if (!PEAL_PLACE_IS_OF(place, ports_of) ||
	    PEAL_PLACE_WORKER(place) != w->index ||
	    PEAL_PLACE_IS_MOVED(place) || PEAL_PLACE_IS_EXIT(place))
		return PEAL_ENOENT;
	if (entry->shares & PEAL_SHARES) {
		index = PEAL_ACTOR_INDEX(entry->shares);
		entry = peali_entry(w, index);
		place = peal_load_relaxed_dev(&entry->place);
	}
	owner = (const struct peal_handler_entry *)(uintptr_t)
			w->params->handlers +
		(PEAL_PLACE_HANDLER(place) & PEAL_HANDLER_MASK);
	if (h->ports > entry->ports || h->emits > entry->emits ||
	    h->output_bytes != owner->output_bytes)
		return PEAL_EINVAL;
	return index;
}

/* Takes a room and fills its entry in, but for the place: the number of who is to
 * have it; or PEAL_E... For the leader. */
PEALI_SLOW(int64_t, peali_spawn_begin, struct peal_worker *w, uint32_t handler,
	   uint64_t init_bytes, uint32_t ports_of)
{
	const struct peal_kernel_params *p = w->params;
	const struct peal_handler_entry *h =
		(const struct peal_handler_entry *)(uintptr_t)p->handlers +
		handler;
	struct peal_actor_entry *entry;
	int64_t owner = -1;
	uint32_t index;

	if (!p->spawn_rooms)
		return PEAL_ENOTSUP;
	if (handler >= p->n_handlers || h->state_bytes > p->spawn_state_bytes ||
	    init_bytes > h->state_bytes)
		return PEAL_EINVAL;
	if (h->ports) {
		owner = peali_spawn_ports(w, h, ports_of);
		if (owner < 0)
			return owner;
	}
	index = peali_room_take(w);
	if (!index--)
		return PEAL_ENOSPC;
	entry = peali_entry(w, index);
	entry->state = p->room_states +
		       (uint64_t)(index - p->first_room) * p->room_step;
	entry->state_bytes = h->state_bytes;
	entry->ports = h->ports;
	entry->emits = h->emits;
	entry->tells = h->tells;
	entry->port_base = 0;
	entry->shares = 0;
	if (owner >= 0) {
		struct peal_actor_entry *of = peali_entry(w, (uint32_t)owner);

		entry->port_base = of->port_base;
		entry->shares = PEAL_SHARES | (uint32_t)owner;
		of->shares++;
	}
	return PEAL_ACTOR_GENERATION(peal_load_relaxed_dev(&entry->place) >>
				     32) |
	       index;
}

/* Its state is there: from now on, or from its init on, it has messages. Others read nothing but this
 * word. */
static PEAL_DEV PEAL_UNUSED inline void
peali_spawn_end(struct peal_worker *w, uint32_t actor, uint32_t handler)
{
	struct peal_actor_entry *entry =
		peali_entry(w, PEAL_ACTOR_INDEX(actor));
	uint64_t place = PEAL_PLACE(actor, w->index, handler);
	int hooks = peali_has_hooks(w, place);

	if (hooks)
		place |= PEAL_PLACE_MARK | PEAL_PLACE_HOOK;
	peal_store_relaxed_dev(&entry->place, place);
	if (hooks)
		peali_hooks_due(w, PEAL_ACTOR_INDEX(actor),
				PEAL_ACTOR_INDEX(actor));
	peali_room_say(w, actor, handler,
		       entry->shares ? 1 + PEAL_ACTOR_INDEX(entry->shares) : 0);
	peal_store_relaxed_sys(&w->status->spawned, ++w->state->spawned);
}

/**
 * Collective: makes an actor of the running one's worker. It has the messages
 * that are sent to it from then on.
 *
 * @param w          the worker
 * @param handler    PEAL_HANDLER(name) of this program
 * @param init       first bytes of its state, which every lane can read; the
 *                   rest is 0. Copied
 * @param init_bytes of those, at most the handler's state
 * @param ports_of   the number of an actor of this worker whose ports it uses,
 *                   if its handler has some: that one's are as many or more, for
 *                   as many messages or more, of the same size. One that shares
 *                   another's ports stands for that one, peal_self for itself.
 *                   The host does not end who has the ports before those that
 *                   share them. Where the handler has no ports: anything
 * @param actor_out  each lane's own: its number, the low half of its address; 0:
 *                   nobody wants to know
 * @return 0; PEAL_ENOSPC all of the worker's spawn_rooms are used; one that has
 *         ended itself is free with the next message; PEAL_EINVAL no such
 *         handler, its state is larger than the kernel's spawn_state_bytes or
 *         smaller than init_bytes, or the ports of that actor are not for it;
 *         PEAL_ENOENT ports_of is no actor of this worker; PEAL_ENOTSUP the
 *         kernel was launched without spawn_rooms. Wait-free.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_spawn(struct peal_worker *w, uint32_t handler, const void *init,
	   uint64_t init_bytes, uint32_t ports_of, uint32_t *actor_out)
{
	int64_t actor = 0; /* or an error */
	uint64_t *state, words, i;

	peal_sync(w);
	if (peal_is_leader(w))
		actor = peali_spawn_begin(w, handler, init_bytes, ports_of);
	actor = (int64_t)peal_broadcast(w, (uint64_t)actor);
	if (actor < 0)
		return (int)actor;
	state = (uint64_t *)(uintptr_t)peali_entry(w, PEAL_ACTOR_INDEX(actor))
			->state;
	words = ((uint64_t)peali_entry(w, PEAL_ACTOR_INDEX(actor))->state_bytes +
		 15) /
		16 * 2;
	for (i = peal_lane(w); i < words; i += peal_lanes(w))
		state[i] = 0;
	peal_sync(w);
	peal_copy_lanes(w, state, init, init_bytes);
	if (peal_is_leader(w))
		peali_spawn_end(w, (uint32_t)actor, handler);
	if (actor_out)
		*actor_out = (uint32_t)actor;
	return 0;
}

/* The leader's part of peal_retire. */
PEALI_SLOW(int, peali_spawn_retire, struct peal_worker *w, uint32_t actor)
{
	uint32_t index = PEAL_ACTOR_INDEX(actor);
	uint64_t place;
	int result;

	if (!w->params->spawn_rooms)
		return PEAL_ENOTSUP;
	if (!peali_is_room(w, index))
		return PEAL_EINVAL;
	peali_room_settle(w);
	place = peal_load_relaxed_dev(&peali_entry(w, index)->place);
	if (PEAL_PLACE_IS_OF(place, actor) && peali_has_hooks(w, place)) {
		if (PEAL_PLACE_IS_EXIT(place))
			return PEAL_ENOENT;
		if (peali_exit_due(w, index))
			return 0;
	}
	result = peali_room_end(w, actor);
	if (result)
		return result;
	if (actor != peal_self(w)) {
		peali_room_free(w, index);
		return 0;
	}
	/* its handler goes on, and has its state and its ports */
	w->state->leaving = 1 + index;
	w->state->leaving_at = w->state->handled;
	return 0;
}

/**
 * Collective: ends an actor that a handler of this worker has made; also the
 * running one, whose message in hand is then its last: its handler goes on, has
 * its state, emits and tells. Messages that come later, or are under way, are
 * dead, reason "no-actor"; monitors hear of it.
 *
 * @param w     the worker
 * @param actor its number, the low half of its address
 * @return 0; PEAL_ENOENT it is no more; PEAL_EINVAL it was made by the host,
 *         which ends it, or is another worker's; PEAL_ENOTSUP the kernel was
 *         launched without spawn_rooms. Wait-free, but for monitors: looks at
 *         all that are set.
 */
static PEAL_DEV PEAL_UNUSED inline int peal_retire(struct peal_worker *w,
						   uint32_t actor)
{
	int result = 0;

	peal_sync(w);
	if (peal_is_leader(w))
		result = peali_spawn_retire(w, actor);
	return (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
}

#endif
