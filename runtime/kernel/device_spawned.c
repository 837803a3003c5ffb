/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots for actors that handlers make. For each slot, its worker writes a word
 * in host memory. The word names the actor in the slot. So the host needs
 * neither a copy from the device nor an answer of the worker.
 */
#include "runtime/kernel/device_spawned.h"

#include <string.h>
#include <peal/device/impl/worker/ask_table.h>
#include <peal/device/atomic.h>

#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/device/program.h"
#include "runtime/kernel/kernel.h"
#include "runtime/runtime.h"

#define CALL "peal_kernel_launch"

static uint64_t n_spawn_slots(const struct peal_kernel *k)
{
	return (uint64_t)k->params.n_workers * k->params.max_spawned_actors;
}

static uint32_t largest_state(const struct peal_program *program)
{
	uint32_t most = 0, i;

	for (i = 0; i < program->n_handlers; i++)
		if (program->handlers[i].state_bytes > most)
			most = program->handlers[i].state_bytes;
	return most;
}

int peali_spawned_check(struct peal_kernel_options *o,
			const struct peal_program *program)
{
	uint64_t all =
		o->max_actors + (uint64_t)o->workers * o->spawn.max_actors;

	if (all > 1ULL << PEAL_ACTOR_BITS)
		return PEALI_REFUSE(
			PEAL_EINVAL, CALL, .object = "option",
			.name = "spawn.max_actors",
			.problem = PEALI_PRINT(
				"is too large for %u worker%s, with "
				"max_actors %u",
				o->workers, peali_s(o->workers), o->max_actors),
			.number = o->spawn.max_actors,
			.most = ((1ULL << PEAL_ACTOR_BITS) - o->max_actors) /
				o->workers);
	if (o->spawn.state_bytes && !o->spawn.max_actors)
		return PEALI_REFUSE(
			PEAL_EINVAL, CALL, .object = "option",
			.name = "spawn.state_bytes",
			.problem = "needs spawn.max_actors, which is 0",
			.number = o->spawn.state_bytes,
			.remedy = "set spawn.max_actors");
	if (o->spawn.max_actors && !o->spawn.state_bytes)
		o->spawn.state_bytes = largest_state(program);
	return 0;
}

void peali_spawned_plan(struct peal_kernel *k,
			const struct peal_kernel_options *o)
{
	struct peal_kernel_params *p = &k->params;
	uint32_t i;

	p->n_handlers = k->program->n_handlers;
	for (i = 0; i < p->n_handlers; i++)
		p->hooks |= k->program->handlers[i].kind & PEAL_HANDLER_HOOKS;
	p->first_actor_slot = o->max_actors;
	p->max_spawned_actors = o->spawn.max_actors;
	p->spawned_state_bytes = o->spawn.state_bytes;
	p->slot_state_step = ((uint64_t)o->spawn.state_bytes + 15) / 16 * 16;
	p->max_actors = o->max_actors + (uint32_t)n_spawn_slots(k);
}

uint64_t peali_spawned_words(const struct peal_kernel_params *p)
{
	return (uint64_t)p->n_workers * p->max_spawned_actors *
	       sizeof(uint64_t);
}

uint64_t peali_spawned_states(const struct peal_kernel_params *p)
{
	return (uint64_t)p->n_workers * p->max_spawned_actors *
	       p->slot_state_step;
}

void peali_spawned_open(struct peal_kernel *k, uint64_t *slots)
{
	uint64_t i;

	k->spawn.slots = slots;
	for (i = 0; i < n_spawn_slots(k); i++)
		peal_store_relaxed_sys(
			&slots[i], PEAL_ACTOR_SLOT(0, PEAL_ACTOR_SLOT_FREE, 0));
}

void peali_spawned_handlers(const struct peal_kernel *k,
			    struct peal_handler_entry *out)
{
	uint32_t i;

	for (i = 0; i < k->program->n_handlers; i++) {
		const struct peal_handler_info *h = &k->program->handlers[i];

		out[i].state_bytes = h->state_bytes;
		out[i].output_bytes = h->output_bytes;
		out[i].ports = h->ports;
		out[i].emits = h->emits;
		out[i].tells =
			(uint16_t)peali_handler_tells(h, k->params.n_workers);
		out[i].hooks = h->kind & PEAL_HANDLER_HOOKS;
	}
}

uint32_t peali_spawned_live(const struct peal_kernel *k, uint64_t *spawned,
			    uint64_t *retired)
{
	uint32_t i;

	*spawned = *retired = 0;
	for (i = 0; i < k->params.n_workers; i++)
		*retired += peal_load_relaxed_sys(&k->status[i].retired);
	for (i = 0; i < k->params.n_workers; i++)
		*spawned += peal_load_relaxed_sys(&k->status[i].spawned);
	if (*spawned < *retired) /* the words of a GPU may become visible in any
				  * order */
		*spawned = *retired;
	return (uint32_t)(*spawned - *retired);
}
