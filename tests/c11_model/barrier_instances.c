/* SPDX-License-Identifier: Apache-2.0 */
#include <peal/device/impl/queue/barrier_signal.h>

#include "c11_model/instances.h"

/* Instances of the barrier. Each participant writes its cell, meets the others,
 * reads all cells and meets the others again. */

struct barrier_case {
	uint32_t n, rounds;
};

static struct group {
	struct peal_barrier_view views[3];
	uint64_t addresses[3];
	uint32_t *cells[3]; /* plain: the barrier orders them */
} g;

static void barrier_setup(const void *config)
{
	const struct barrier_case *k = (const struct barrier_case *)config;
	uint64_t abort = (uintptr_t)model_memory("abort", 8);
	uint32_t i;

	memset(&g, 0, sizeof(g));
	for (i = 0; i < k->n; i++) {
		struct peal_barrier_view *v = &g.views[i];

		g.addresses[i] = (uintptr_t)model_memory(
			i ? "array1" : "array0",
			k->n * sizeof(struct peal_barrier_word));
		g.cells[i] = (uint32_t *)model_memory("cell", 4);
		v->arrays = (uintptr_t)g.addresses;
		v->abort = abort;
		v->state = (uintptr_t)model_memory(
			"state", sizeof(struct peal_barrier_state));
		v->participants = k->n;
		v->self = i;
	}
}

static void meet(uint32_t self)
{
	int result;

	peal_barrier_signal(&g.views[self]);
	MODEL_UNTIL((result = peal_barrier_test(&g.views[self])) !=
		    PEAL_EAGAIN);
	model_expect(!result);
}

static void barrier_thread(const void *config, uint32_t self)
{
	const struct barrier_case *k = (const struct barrier_case *)config;
	uint32_t round, i;

	for (round = 1; round <= k->rounds; round++) {
		*g.cells[self] = round;
		meet(self);
		for (i = 0; i < k->n; i++)
			model_expect(*g.cells[i] == round);
		if (round < k->rounds)
			meet(self);
	}
}

static const struct model_instance instances[] = {
	{ "barrier of 2, 2 rounds", 2, &(const struct barrier_case){ 2, 2 },
	  barrier_setup, barrier_thread, NULL, NULL, 0 },
	{ "barrier of 3, 1 round", 3, &(const struct barrier_case){ 3, 1 },
	  barrier_setup, barrier_thread, NULL, NULL, 0 },
};

INSTANCE_LIST(barrier_instances, instances);
