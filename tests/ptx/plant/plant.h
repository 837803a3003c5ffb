/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_PLANT_H
#define PTX_PLANT_H

/*
 * Scenes: small programs of the device on the PTX machine, with checks of each
 * message. Everything runs on one thread, so a seed repeats a run. A scene runs
 * in PTX with a planted fault, too: then some check shall find the fault.
 */

#include "tests/ptx/cost/cost.h"

#define PLANT_TEXT 400

/** A run of a scene. */
struct plant_run {
	struct ptx_module *module;
	struct ptx_options options;
	const char *found; /* the check that found a fault; NULL: none */
	char text[PLANT_TEXT];
	uint64_t clock;
};

/** A grid of a scene. */
struct plant_grid {
	const char *entry;
	const void *params;
	uint32_t blocks, lanes, cluster, shared_bytes;
	int device;
};

struct plant_scene {
	const char *name;
	const char *program; /* its PTX: queues, loop or batch */
	void (*run)(struct plant_run *run);
};

/* ---- machine.c, with cost_alloc(), cost_free() and cost_die() -------------- */
/* As cost_alloc(), in global memory. Nothing has written it. */
void *plant_scratch(uint64_t bytes);
/* Notes what a check has found. Only the first fault counts. */
__attribute__((format(printf, 3, 4))) void
plant_found(struct plant_run *run, const char *check, const char *format, ...);
/* Runs grids together, and step() as the host. */
void plant_run_grids(struct plant_run *run, const struct plant_grid *grids,
		     uint32_t n, int (*step)(void *context), void *context);

/* ---- queue_scenes.c, loop_scenes.c, batch_scenes.c -------------------------- */
extern const struct plant_scene plant_queue_scenes[], plant_loop_scenes[],
	plant_batch_scenes[];
extern const uint32_t plant_n_queue_scenes, plant_n_loop_scenes,
	plant_n_batch_scenes;

#endif
