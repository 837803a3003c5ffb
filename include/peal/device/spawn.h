/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_SPAWN_H
#define PEAL_DEVICE_SPAWN_H

#include <peal/device/lifecycle.h>
#include <peal/device/message.h>

/*
 * Handlers spawn actors on their own worker. The kernel needs the option
 * `spawn.max_actors`, the number of slots per worker. Neither the host nor
 * its driver takes part: the launch has reserved all memory.
 *
 * Such an actor has the address `w->params->address | number`. It can be told
 * and monitored as any other actor. It has no ports of its own and no
 * supervisor, and cannot be a member of a pool.
 *
 * PEAL_HANDLER(name) names the handler. Write PEAL_HANDLERS(HANDLERS) before
 * the handlers, see kernel.h.
 */

/* Returns the index of the entry with the ports that an actor of a handler
 * would use, or an error. */
static PEAL_DEV PEAL_UNUSED inline int64_t
peali_spawn_ports(const struct peal_worker *w,
		  const struct peal_handler_entry *h, uint32_t share_ports_with)
{
	uint32_t index = PEAL_ACTOR_INDEX(share_ports_with);
	const struct peal_handler_entry *owner;
	const struct peal_actor_entry *entry;
	uint64_t place;

	if (index >= w->params->max_actors)
		return PEAL_ENOENT;
	entry = peali_entry(w, index);
	place = peal_load_relaxed_dev(&entry->location);
	if (!PEAL_ENTRY_IS_OF(place, share_ports_with) ||
	    PEAL_ENTRY_WORKER(place) != w->index ||
	    PEAL_ENTRY_IS_FORWARDED(place) || PEAL_ENTRY_IS_EXIT(place))
		return PEAL_ENOENT;
	if (entry->shares & PEAL_SHARES_PORTS) {
		index = PEAL_ACTOR_INDEX(entry->shares);
		entry = peali_entry(w, index);
		place = peal_load_relaxed_dev(&entry->location);
	}
	owner = (const struct peal_handler_entry *)(uintptr_t)
			w->params->handlers +
		(PEAL_ENTRY_HANDLER(place) & PEAL_HANDLER_MASK);
	if (h->ports > entry->ports || h->emits > entry->emits ||
	    h->output_bytes != owner->output_bytes)
		return PEAL_EINVAL;
	return index;
}

/* Takes a slot and fills in its entry except the location. Returns the number
 * of the new actor, or an error. For the leader. */
PEALI_SLOW(int64_t, peali_spawn_begin, struct peal_worker *w, uint32_t handler,
	   uint64_t init_bytes, uint32_t share_ports_with)
{
	const struct peal_kernel_params *p = w->params;
	const struct peal_handler_entry *h =
		(const struct peal_handler_entry *)(uintptr_t)p->handlers +
		handler;
	struct peal_actor_entry *entry;
	int64_t owner = -1;
	uint32_t index;

	if (!p->max_spawned_actors)
		return PEAL_ENOTSUP;
	if (handler >= p->n_handlers ||
	    h->state_bytes > p->spawned_state_bytes ||
	    init_bytes > h->state_bytes)
		return PEAL_EINVAL;
	if (h->ports) {
		owner = peali_spawn_ports(w, h, share_ports_with);
		if (owner < 0)
			return owner;
	}
	index = peali_actor_slot_take(w);
	if (!index--)
		return PEAL_ENOSPC;
	entry = peali_entry(w, index);
	entry->state =
		p->slot_states +
		(uint64_t)(index - p->first_actor_slot) * p->slot_state_step;
	entry->state_bytes = h->state_bytes;
	entry->ports = h->ports;
	entry->emits = h->emits;
	entry->tells = h->tells;
	entry->port_base = 0;
	entry->shares = 0;
	if (owner >= 0) {
		struct peal_actor_entry *of = peali_entry(w, (uint32_t)owner);

		entry->port_base = of->port_base;
		entry->shares = PEAL_SHARES_PORTS | (uint32_t)owner;
		of->shares++;
	}
	return PEAL_ACTOR_GENERATION(peal_load_relaxed_dev(&entry->location) >>
				     32) |
	       index;
}

/* Publishes a new actor, after its state was written. Others read only the
 * location. The actor gets messages from now on, or after its init. */
static PEAL_DEV PEAL_UNUSED inline void
peali_spawn_end(struct peal_worker *w, uint32_t actor, uint32_t handler)
{
	struct peal_actor_entry *entry =
		peali_entry(w, PEAL_ACTOR_INDEX(actor));
	uint64_t place = PEAL_ENTRY(actor, w->index, handler);
	int hooks = peali_has_hooks(w, place);

	if (hooks)
		place |= PEAL_ENTRY_RESTART_PENDING | PEAL_ENTRY_HOOK;
	peal_store_relaxed_dev(&entry->location, place);
	if (hooks)
		peali_hooks_due(w, PEAL_ACTOR_INDEX(actor),
				PEAL_ACTOR_INDEX(actor));
	peali_actor_slot_publish(
		w, actor, handler,
		entry->shares ? 1 + PEAL_ACTOR_INDEX(entry->shares) : 0);
	peal_store_relaxed_sys(&w->status->spawned, ++w->state->actors.spawned);
}

/**
 * Spawns an actor on the running actor's worker.
 *
 * The actor gets messages that are sent from now on. Collective, wait-free.
 *
 * @param w          the worker.
 * @param handler    PEAL_HANDLER(name) of this program.
 * @param init       first bytes of the actor's state, readable by every lane;
 *                   copied. The rest of the state is 0.
 * @param init_bytes length of `init`, at most the handler's state.
 * @param share_ports_with   an actor of this worker; the new actor uses its
 *                   ports. peal_self: the running actor. Ignored if the handler
 *                   has no ports. That actor needs at least as many ports and
 *                   messages per port, and messages of the same size. If it
 *                   uses the ports of a third actor, so does the new actor. The
 *                   host cannot retire the owner of shared ports (PEAL_EBUSY).
 * @param actor_out  each lane's own: receives the new actor's number, the low
 *                   half of its address. 0: not wanted.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOSPC   all spawn.max_actors of the worker are used. The slot
 *                       of an actor that has retired itself is free from the
 *                       next message on.
 * @retval PEAL_EINVAL   there is no such handler. Or its state exceeds the
 *                       kernel's spawn.state_bytes, or init_bytes exceeds the
 *                       state. Or `share_ports_with` has too few ports.
 * @retval PEAL_ENOENT   share_ports_with is no actor of this worker.
 * @retval PEAL_ENOTSUP  the kernel was launched without spawn.max_actors.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_spawn(struct peal_worker *w, uint32_t handler, const void *init,
	   uint64_t init_bytes, uint32_t share_ports_with, uint32_t *actor_out)
{
	int64_t actor = 0; /* or an error */
	uint64_t *state, words, i;

	peal_sync(w);
	if (peal_is_leader(w))
		actor = peali_spawn_begin(w, handler, init_bytes,
					  share_ports_with);
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

	if (!w->params->max_spawned_actors)
		return PEAL_ENOTSUP;
	if (!peali_is_actor_slot(w, index))
		return PEAL_EINVAL;
	peali_actor_slot_settle(w);
	place = peal_load_relaxed_dev(&peali_entry(w, index)->location);
	if (PEAL_ENTRY_IS_OF(place, actor) && peali_has_hooks(w, place)) {
		if (PEAL_ENTRY_IS_EXIT(place))
			return PEAL_ENOENT;
		if (peali_exit_due(w, index))
			return 0;
	}
	result = peali_actor_slot_end(w, actor);
	if (result)
		return result;
	if (actor != peal_self(w)) {
		peali_actor_slot_free(w, index);
		return 0;
	}
	/* the running handler keeps its state and ports until it returns */
	w->state->actors.leaving = 1 + index;
	w->state->actors.leaving_at = w->state->count.handled;
	return 0;
}

/**
 * Ends an actor that a handler of this worker has spawned.
 *
 * Later messages, and messages in flight, are dead, reason "no-actor". Its
 * monitors send their messages. An exit hook runs first, if the handler has
 * one. The running actor can end itself: its handler continues, with its state
 * and ports, until it returns.
 *
 * Collective, wait-free. With monitors, scans all records of monitors.
 *
 * @param w     the worker.
 * @param actor the actor's number, the low half of its address.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT   there is no such actor any more.
 * @retval PEAL_EINVAL   the host has spawned the actor, or it is of another
 *                       worker.
 * @retval PEAL_ENOTSUP  the kernel was launched without spawn.max_actors.
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
