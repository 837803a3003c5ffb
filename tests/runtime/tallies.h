/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_TALLIES_H
#define PEAL_TESTS_TALLIES_H

/* Kernels of the program tally, with many actors. */

#include "runtime/harness.h"
#include "runtime/tally.h"

PEAL_DECLARE_PROGRAM(tally);

/* Lanes of a worker, unless the options say otherwise. */
static uint32_t tallies_lanes = 1;

static inline struct peal_kernel *tallies_launch(struct peal_runtime *rt,
						 int device,
						 struct peal_kernel_options o)
{
	struct peal_kernel *k = NULL;

	o.size = sizeof(o);
	if (!o.lanes)
		o.lanes = tallies_lanes;
	CHECK_OK(peal_kernel_launch(rt, device, &peal_program_tally, &o, &k));
	return k;
}

/* Spawns n actors with the ids first, first + 1, ... Worker -1: on all. */
static inline void tallies_spawn(struct peal_kernel *k, const char *handler,
				 int worker, uint64_t first, uint32_t n,
				 uint64_t *addresses)
{
	uint64_t *ids = calloc(n, sizeof(*ids));
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = PEAL_WORKER(worker),
					.init = ids,
					.init_bytes = sizeof(*ids),
					.init_stride = sizeof(*ids) };
	uint32_t i;

	CHECK(ids);
	for (i = 0; i < n; i++)
		ids[i] = first + i;
	CHECK_OK(peal_actor_spawn_many(k, handler, &o, n, addresses));
	free(ids);
}

/* Sends an actor its message with this number. */
static inline void tallies_send(struct peal_endpoint *e, uint32_t port,
				uint64_t to, uint64_t id, uint64_t number)
{
	struct tally_message m = { id, number, (uint32_t)to };

	CHECK_OK(peal_send_to(e, port, to, 0, &m, sizeof(m), MAX_WAIT, NULL));
}

static inline struct tally tallies_state(struct peal_runtime *rt,
					 uint64_t address)
{
	struct tally t;

	CHECK_OK(peal_actor_state(rt, address, &t, sizeof(t)));
	return t;
}

static inline struct peal_kernel_info tallies_info(struct peal_kernel *k)
{
	struct peal_kernel_info info;

	CHECK_OK(peal_kernel_info(k, &info));
	return info;
}

#endif
