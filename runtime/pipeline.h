/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_PIPELINE_H
#define PEALI_PIPELINE_H

#include <peal/pipeline.h>
#include "runtime/runtime.h"

/*
 * The inside of a pipeline, for pipeline.c, which makes it, and pipeline_flow.c, by
 * which it is used. One thread pushes and one pulls; who else looks reads atomics.
 */

/** A stage, and its actors by worker. */
struct peali_pipeline_stage {
	char name[96];
	int device;
	struct peal_kernel *kernel;
	uint64_t *actors;
};

struct peal_pipeline {
	struct peal_runtime *rt;
	struct peal_pipeline
		*next; /* of the runtime's; its lock guards the list */
	char name[48];
	uint32_t n, workers, capacity;
	uint32_t skip_failed;
	struct peali_pipeline_stage *stages; /* n */
	struct peal_link **links; /* [(n + 1) * workers], by stage */
	struct peal_endpoint *source; /* a port for each worker */
	struct peal_endpoint **sinks; /* one for each worker */
	_Atomic uint64_t pushed, pushed_bytes, pulled, pulled_bytes;
	_Atomic int closed; /* 1: all workers of the first stage know it */
	_Atomic uint32_t failed; /* 1 + stage; 0: none that is known */
	/* of who pushes */
	uint32_t n_closed; /* workers that know it already */
	uint64_t reserved_bytes;
	int reserved;
	/* of who pulls */
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
