/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_PIPELINE_H
#define PEALI_PIPELINE_H

#include <peal/pipeline.h>
#include "runtime/runtime.h"

/*
 * Private structures of pipelines. pipeline.c creates and destroys pipelines.
 * pipeline_io.c moves batches through them. One thread pushes and one thread
 * pulls. Other threads only read the atomic fields.
 */

/** A stage. */
struct peali_pipeline_stage {
	char name[96];
	int device;
	struct peal_kernel *kernel;
	uint64_t *actors;
};

struct peal_pipeline {
	struct peal_runtime *rt;
	struct peal_pipeline
		*next; /* in the runtime's list, guarded by its lock */
	char name[48];
	uint32_t n, workers, capacity;
	uint32_t skip_failed;
	struct peali_pipeline_stage *stages; /* [n] */
	struct peal_link **links; /* [(n + 1) * workers], by stage */
	struct peal_endpoint *source; /* a port for each worker */
	struct peal_endpoint **sinks; /* one for each worker */
	_Atomic uint64_t pushed, pushed_bytes, pulled, pulled_bytes;
	_Atomic int closed; /* 1: all workers of stage 0 have got the end */
	_Atomic uint32_t failed; /* 1 + the failed stage; 0: no known failure */
	/* fields of the pushing thread */
	uint32_t n_closed; /* workers of stage 0 that have got the end */
	uint64_t reserved_bytes;
	int reserved;
	/* fields of the pulling thread */
	int peeked;
	uint64_t peeked_bytes;
};

static inline struct peal_link *
peali_pipeline_link(const struct peal_pipeline *p, uint32_t stage,
		    uint32_t worker)
{
	return p->links[(size_t)stage * p->workers + worker];
}

#endif
