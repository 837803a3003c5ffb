/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_CONTROL_HOOK_H
#define PEAL_DEVICE_CONTROL_HOOK_H

#include <peal/device/lifecycle.h>
#include <peal/device/impl/worker/migrate.h>

/* Exit hooks that the host or the end of the kernel requests. For the leader;
 * control_actor.h and termination.h call it. */

/* Makes the exit of the actor at an entry due. Returns 1, or 0 if this worker
 * has no actor with hooks there. Also returns 0 if the actor has not arrived
 * yet, or peali_exit_due refuses. */
static PEAL_DEV PEAL_UNUSED inline int peali_exit_ask(struct peal_worker *w,
						      uint32_t index)
{
	struct peal_actor_entry *entry = peali_entry(w, index);
	uint64_t place = peal_load_relaxed_dev(&entry->location);

	return peali_has_hooks(w, place) &&
	       (!PEAL_ENTRY_IS_ARRIVING(place) || peali_arrive(w, entry)) &&
	       peali_exit_due(w, index);
}

/* Returns 1 if any worker of the kernel has inits or exits to run. */
static PEAL_DEV PEAL_UNUSED inline int
peali_hooks_open(const struct peal_worker *w)
{
	uint32_t i;

	for (i = 0; peali_uses_hooks(w) && i < w->params->n_workers; i++)
		/* A23: pairs with R23 in peali_hook_poll. */
		if (peal_load_acquire_dev(&peali_worker_home(w, i)->hook.due))
			return 1;
	return 0;
}

/* Called when no message can arrive any more. The first call makes the exits of
 * this worker's actors due. Returns 1 once the exits of all workers' actors
 * have run. The messages of these exits may still wait for their handlers. */
PEALI_SLOW(int, peali_exits_over, struct peal_worker *w)
{
	const struct peal_worker_status *status =
		(const struct peal_worker_status *)(uintptr_t)w->params->status;
	struct peal_worker_state *s = w->state;
	uint32_t i;

	if (!s->hook.exiting) {
		s->hook.exiting = 1;
		for (i = 0; i < w->params->max_actors; i++)
			peali_exit_ask(w, i);
	}
	if (peali_has_due_hooks(w))
		return 0;
	if (!(s->published.drained & PEAL_DRAINED_EXITED)) {
		s->published.drained |= PEAL_DRAINED_EXITED;
		/* R24: pairs with A24 below. A worker that sees the flag sees
		 * all messages that these exits have told. */
		peal_store_release_sys(&w->status->drained,
				       s->published.drained);
	}
	if (PEALI_SIM_FAULT(EARLY_LEAVE))
		return 1;
	for (i = 0; i < w->params->n_workers; i++)
		/* A24: pairs with R24 above. */
		if (!(peal_load_acquire_sys(&status[i].drained) &
		      PEAL_DRAINED_EXITED))
			return 0;
	return 1;
}

#endif
