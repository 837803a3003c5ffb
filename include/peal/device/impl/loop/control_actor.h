/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_CONTROL_ACTOR_H
#define PEAL_DEVICE_CONTROL_ACTOR_H

#include <peal/device/impl/loop/actor_shortcut.h>
#include <peal/device/impl/loop/control_hook.h>
#include <peal/device/impl/worker/limit.h>
#include <peal/device/impl/worker/tell_all.h>

/* Control messages that make or end actors. All lanes make actors, because they
 * fill the states. The loop and control.h call it. */

/* The leader takes a control message off and publishes its result. */
static PEAL_DEV PEAL_UNUSED inline void
peali_control_done(struct peal_worker *w, struct peal_message *m, int result)
{
	peal_link_release(&w->state->control.link, m);
	peal_link_flush_credit(&w->state->control.link);
	w->state->control.done++;
	if (result)
		peal_store_relaxed_sys(&w->status->control_result,
				       w->state->control.done << 16 |
					       (uint32_t)-result);
	/* R5: pairs with A5 in await_answer, which peali_kernel_tell uses, and
	 * with A5 in has_done (runtime/kernel/reclaim.c). */
	peal_store_release_sys(&w->status->control_done,
			       w->state->control.done);
}

/* Whether the entries and ports of a message exist and the entries belong to
 * this worker. Then the worker may write them. */
static PEAL_DEV PEAL_INLINE int
peali_control_has(const struct peal_worker *w,
		  const struct peal_control_spawn *spawn)
{
	uint64_t ports = spawn->entry.port_base + (uint64_t)spawn->entry.ports +
			 (uint64_t)spawn->port_step * (spawn->count - 1);
	uint32_t first = PEAL_ACTOR_INDEX(spawn->actor);

	return first < w->params->max_actors && spawn->count &&
	       spawn->count <= w->params->max_actors - first &&
	       (!spawn->entry.ports ||
		ports <= PEAL_PORTS_FIRST + w->params->max_ports) &&
	       PEAL_ENTRY_WORKER(spawn->entry.location) == w->index;
}

static PEAL_DEV PEAL_INLINE struct peal_actor_entry *
peali_control_first(const struct peal_worker *w,
		    const struct peal_control_spawn *spawn)
{
	return (struct peal_actor_entry *)(uintptr_t)w->params->actors +
	       PEAL_ACTOR_INDEX(spawn->actor);
}

/* Whether the actors of a message can end. An actor that a handler spawned may
 * have ended itself. Spawned actors may share the ports of an actor of the
 * message. Returns 0 or PEAL_E... */
static PEAL_DEV PEAL_UNUSED inline int
peali_control_may_end(const struct peal_worker *w,
		      const struct peal_control_spawn *spawn)
{
	const struct peal_actor_entry *entry = peali_control_first(w, spawn);
	uint32_t i;

	if (!peali_control_has(w, spawn))
		return PEAL_EINVAL;
	for (i = 0; i < spawn->count; i++, entry++) {
		if (peali_is_actor_slot(w,
					PEAL_ACTOR_INDEX(spawn->actor) + i) &&
		    spawn->init_bytes != PEAL_CONTROL_AGAIN &&
		    !PEAL_ENTRY_IS_OF(peal_load_relaxed_dev(&entry->location),
				      spawn->actor))
			return PEAL_ENOENT;
		if (entry->shares && !(entry->shares & PEAL_SHARES_PORTS))
			return PEAL_EBUSY;
	}
	return 0;
}

/* Ends an actor of the worker, or an entry that an actor has had. */
static PEAL_DEV PEAL_UNUSED inline void peali_control_end(struct peal_worker *w,
							  uint32_t actor)
{
	uint32_t index = PEAL_ACTOR_INDEX(actor);
	struct peal_actor_entry *entry = peali_entry(w, index);

	if (peali_is_actor_slot(w, index)) {
		peali_actor_slot_end(w, actor);
		peali_actor_slot_free(w, index);
		return;
	}
	if (peali_has_limits(w))
		peali_limit_end(w, peal_load_relaxed_dev(&entry->location));
	peal_store_relaxed_dev(&entry->location,
			       PEAL_ENTRY(actor, w->index, PEAL_NO_HANDLER));
	if (peali_has_supervision(w))
		peal_store_relaxed_dev(&peali_supervision(w, index)->member, 0);
}

static PEAL_DEV PEAL_UNUSED inline int
peali_control_retire(struct peal_worker *w,
		     const struct peal_control_spawn *spawn)
{
	uint32_t first = PEAL_ACTOR_INDEX(spawn->actor), i, exits = 0;
	int result = peali_control_may_end(w, spawn);

	if (result)
		return result;
	for (i = 0; peali_uses_hooks(w) && i < spawn->count; i++)
		exits |= (uint32_t)peali_exit_ask(w, first + i);
	if (exits)
		return PEAL_EAGAIN;
	for (i = 0; i < spawn->count; i++)
		if (PEAL_ENTRY_IS_OF(
			    peal_load_relaxed_dev(
				    &peali_entry(w, first + i)->location),
			    spawn->actor)) /* else its exit hook has run */
			peali_control_end(w, spawn->actor + i);
	/* peali_actor_slot_end has told the monitors of spawned actors. */
	if (!peali_is_actor_slot(w, first))
		peali_monitors_ended(w, spawn->actor, spawn->count,
				     PEAL_DOWN_RETIRED, 0);
	return 0;
}

/* Collective: writes the initial states, which are adjacent in memory. */
static PEAL_DEV PEAL_INLINE void
peali_spawn_states(struct peal_worker *w,
		   const struct peal_control_spawn *spawn)
{
	uint64_t *state = (uint64_t *)(uintptr_t)spawn->entry.state;
	uint32_t step = spawn->state_step / 8, i;

	for (i = peal_lane(w); i < spawn->count * step; i += peal_lanes(w))
		state[i] = 0;
	if (!spawn->init_bytes)
		return;
	peal_sync(w);
	for (i = peal_lane(w); i < spawn->count; i += peal_lanes(w))
		peal_copy(state + (uint64_t)i * step, spawn->init,
			  spawn->init_bytes);
}

/* Collective: writes the entries, by which other workers find the actors. */
static PEAL_DEV PEAL_INLINE void
peali_spawn_entries(struct peal_worker *w,
		    const struct peal_control_spawn *spawn)
{
	struct peal_actor_entry *first = peali_control_first(w, spawn);
	uint64_t place = spawn->entry.location;
	uint64_t next = spawn->limit ? 1u << PEAL_LIMIT_SHIFT : 0;
	uint32_t i, p;

	/* an actor gets no messages if its supervisor has given up */
	if (peali_has_supervision(w) &&
	    peali_is_given_up(
		    w, peali_supervision(w, PEAL_ACTOR_INDEX(spawn->actor))
			       ->member))
		place |= PEAL_ENTRY_IS_ARRIVING(place) ?
				 PEAL_ENTRY_RESTART_ON_ARRIVAL :
				 PEAL_ENTRY_RESTART_PENDING;

	for (i = peal_lane(w); i < spawn->count; i += peal_lanes(w)) {
		struct peal_actor_entry *entry = &first[i];

		entry->state =
			spawn->entry.state + (uint64_t)i * spawn->state_step;
		entry->state_bytes = spawn->entry.state_bytes;
		entry->ports = spawn->entry.ports;
		entry->emits = spawn->entry.emits;
		entry->tells = spawn->entry.tells;
		entry->shares = spawn->entry.shares;
		entry->port_base = (uint16_t)(spawn->entry.port_base +
					      i * spawn->port_step);
		/* The actor's own ports begin without links. Another actor may
		 * have used the ports before. */
		for (p = 0; p < entry->ports && spawn->port_step; p++)
			peali_port_clear(w, entry->port_base + p);
		if (spawn->limit)
			peali_limit_begin(w, place + i * next, spawn->actor + i,
					  PEAL_SPAWN_LIMIT_OF(spawn->limit),
					  PEAL_SPAWN_FULL_OF(spawn->limit));
		/* Other workers read only this word, see peali_tell, and the
		 * supervisor of the actor. */
		if (peali_has_supervision(w)) /* R11: pairs with A11 in
					     *   peali_mark_restart_all */
			peal_store_release_dev(&entry->location,
					       place + i * next);
		else
			peal_store_relaxed_dev(&entry->location,
					       place + i * next);
	}
}

/* Handles a control message that needs no other lanes. */
static PEAL_DEV PEAL_UNUSED inline int
peali_control_alone(struct peal_worker *w)
{
	const void *data = w->message.data;

	switch (w->message.header.type) {
	case PEAL_CONTROL_TELL_ALL:
		if (!PEALI_USES(MAIL))
			return PEAL_ENOTSUP;
		return peali_control_tell_all(
			w, (const struct peal_control_tell_all *)data);
	case PEAL_CONTROL_SHORTCUT:
		if (!PEALI_USES(MIGRATION))
			return PEAL_ENOTSUP;
		return peali_control_shortcut(
			w, (const struct peal_control_shortcut *)data);
	default:
		return peali_control_retire(
			w, (const struct peal_control_spawn *)data);
	}
}

/* Collective: handles the control message in w->message. It makes, ends or
 * tells several actors, or shortens the way to them. Only the first needs all
 * lanes. The loop calls it, where it costs no registers. */
PEALI_SLOW(void, peali_spawn, struct peal_worker *w)
{
	const struct peal_control_spawn *spawn =
		(const struct peal_control_spawn *)w->message.data;
	int good;

	if (w->message.header.type != PEAL_CONTROL_SPAWN) {
		if (peal_is_leader(w))
			peali_control_done(w, &w->message,
					   peali_control_alone(w));
		peal_sync(w); /* all lanes have read the message type */
		return;
	}
	good = peali_control_has(w, spawn);
	if (good && spawn->init_bytes != PEAL_CONTROL_WRITTEN)
		peali_spawn_states(w, spawn);
	if (good)
		peali_spawn_entries(w, spawn);
	peal_sync(w);
	if (!peal_is_leader(w))
		return;
	if (PEALI_USES(HOOKS) && good &&
	    PEAL_ENTRY_IS_HOOK(spawn->entry.location))
		peali_hooks_due(w, PEAL_ACTOR_INDEX(spawn->actor),
				PEAL_ACTOR_INDEX(spawn->actor) + spawn->count -
					1);
	peali_control_done(w, &w->message, good ? 0 : PEAL_EINVAL);
}

#endif
