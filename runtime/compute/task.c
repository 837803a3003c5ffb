/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels with workers that run tasks, and the pools that give them tasks. */

#include <peal/pool.h>
#include "runtime/compute/task.h"

#include "runtime/base/error.h"
#include "runtime/kernel/kernel.h"

#define INPUTS 16 /* the default of max_inputs */

int peali_is_task(const struct peal_handler_info *h)
{
	return h->ports == 1 &&
	       h->output_bytes == sizeof(struct peal_task_done);
}

uint32_t peali_task_count(const struct peal_program *program)
{
	uint32_t i, n = 0;

	for (i = 0; i < program->n_handlers; i++)
		n += (uint32_t)peali_is_task(&program->handlers[i]);
	return program->uses & PEAL_USE_POOLS ? n : 0;
}

int peali_task_launch(struct peal_runtime *rt, struct peali_task_kernel *what,
		      struct peal_kernel **kernel_out, const char *call)
{
	uint32_t tasks = peali_task_count(what->program);
	struct peal_kernel_options o = { .size = sizeof(o),
					 .lanes = what->lanes,
					 .max_pools = tasks,
					 .name = what->name };
	struct peal_device_info device;
	int result = peal_device_info(rt, what->device, &device);

	if (result)
		return result;
	if (!tasks)
		return peali_fail(PEAL_ENOTSUP, call,
				  "no handler of '%s' does tasks; "
				  "peal/device/task.h describes handlers "
				  "that do",
				  what->program->name);
	if (!what->workers)
		what->workers = device.emulated || device.compute_units < 4 ?
					1 :
					device.compute_units / 2;
	if (!o.lanes && !device.emulated)
		o.lanes = device.max_lanes < 256 ? device.max_lanes : 256;
	/* a worker without a member forwards tasks while the others run them */
	o.workers = what->workers + (what->workers > 1);
	o.max_actors = tasks * (what->workers + 1) + 1;
	if (tasks > INPUTS) /* each pool has an input, all at one worker */
		o.max_inputs = tasks;
	return peal_kernel_launch(rt, what->device, what->program, &o,
				  kernel_out);
}

/* Adds an actor on a worker to the pool, and connects it if necessary. */
static int add_member(struct peal_kernel *k, const char *handler,
		      uint32_t worker, const struct peali_task_reports *r,
		      uint64_t pool)
{
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = 1 + worker,
					.share_ports_with = r->owner[worker] };
	struct peal_link_options link = { .size = sizeof(link),
					  .capacity = r->capacity,
					  .message_bytes = sizeof(
						  struct peal_task_done) };
	uint64_t actor;
	int result = peal_actor_spawn(k, handler, &o, &actor);

	if (!result && !r->owner[worker]) {
		result = peal_connect(k->rt, actor, 0, r->to, &link,
				      &r->links[*r->n_links]);
		if (!result) {
			++*r->n_links;
			r->owner[worker] = actor;
		}
	}
	return result ? result : peal_pool_join(k->rt, pool, actor);
}

int peali_task_pool(struct peal_kernel *k, const char *handler,
		    uint32_t workers, uint32_t capacity,
		    const struct peali_task_reports *reports,
		    uint64_t *pool_out)
{
	struct peal_pool_options o = { .size = sizeof(o),
				       .capacity = capacity,
				       .message_bytes =
					       sizeof(struct peal_task) };
	uint32_t i;
	int result = peal_pool_create(k, &o, pool_out);

	for (i = 0; i < workers && !result; i++)
		result = add_member(k, handler, i, reports, *pool_out);
	return result;
}
