/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_COST_H
#define PTX_COST_H

/*
 * Cost per message: runs kernels on the PTX machine and counts the instructions
 * of lane 0. One thread runs everything, so two runs give equal counts.
 */

#include "tests/ptx/machine.h"

/** A measured path. */
struct cost_row {
	const char *path; /* such as "put" */
	const char *by; /* the queue, such as "link" */
	uint32_t bytes; /* of a payload */
	uint32_t batch; /* messages by one call */
	uint32_t lanes;
	uint64_t messages; /* `counts` is their cost */
	struct ptx_counts counts;
};

/** Parameters of the kernels in queues.c and rings.cu. */
struct cost_params {
	void *queue, *end, *items;
	uint64_t n;
	uint64_t *done;
};

/** Called when a kernel reads its clock. */
typedef void (*cost_tick_fn)(void *context);

/* ---- machine.c ----------------------------------------------------------- */
/* Returns zeroed memory, aligned to a page: PTX_MEMORY_GLOBAL or _HOST. */
void *cost_alloc(enum ptx_memory memory, uint64_t bytes);
/* Frees all memory of cost_alloc(). */
void cost_free(void);
/* Runs an entry in one block, with shared memory beside that of its code. Returns
 * the counts of lane 0. Ends the process after a fault. tick may be NULL. */
struct ptx_counts cost_run(struct ptx_module *module, const char *entry,
			   uint32_t lanes, uint32_t shared_bytes,
			   const void *params, cost_tick_fn tick,
			   void *context);
/* Ends the process with a text. */
__attribute__((noreturn, format(printf, 1, 2))) void
cost_die(const char *format, ...);

/* ---- scene.c ------------------------------------------------------------- */
/* Loads the PTX of a file. Ends the process after an error. */
struct ptx_module *cost_load(const char *path);

/* ---- report.c ------------------------------------------------------------ */
/* Prints a row as JSON. */
void cost_print(const struct cost_row *row, const char *target);

/* ---- queue_paths.c, loop_paths.c ----------------------------------------- */
/* Each prints the rows of its paths. */
void cost_queues(struct ptx_module *queues, const char *target);
void cost_rings(struct ptx_module *rings, const char *target);
void cost_loops(struct ptx_module *loop, const char *target);
void cost_batches(struct ptx_module *batch, const char *target);

#endif
