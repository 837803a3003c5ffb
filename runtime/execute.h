/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_EXECUTE_H
#define PEALI_EXECUTE_H

#include <peal/execute.h>
#include "runtime/runtime.h"

/*
 * The inside of an executor, for execute.c, which makes it, execute_skill.c, which
 * prepares a handler, execute_job.c, which does jobs, and execute_share.c, which
 * says who is to do what. One thread at a time uses it, but for `cancelled`.
 */

/** A task that a device has; or elements that are to be done. */
struct peali_flight {
	uint64_t first, count; /* elements; 0: none */
	uint64_t at; /* where its first one is in arguments */
};

/** A device of an executor. */
struct peali_station {
	int device;
	uint32_t workers; /* that do tasks */
	uint32_t window; /* tasks that it has at a time */
	struct peal_kernel *kernel;
	uint64_t *owner; /* of each worker the actor whose ports all use; 0 */
	int is_linked; /* 1: a link leads to it */
	int result; /* why it has ended; 0: it has not */
	struct peali_flight *flight; /* `window` of them */
	uint32_t in_flight;
	uint64_t out; /* elements of them */
	uint64_t most; /* elements that it may have */
	/* static: its part */
	uint64_t extents; /* of it that were begun */
	struct peali_flight rest; /* of the last one of those */
	uint64_t length; /* elements of the part */
	struct peali_range kept[PEAL_TASK_ARGUMENTS];
	struct peal_execute_share share;
};

/** A handler that does jobs, and how fast each device does them. */
struct peali_skill {
	int is_task;
	int ready; /* 1: all devices have it */
	uint64_t pool[PEAL_PARTS_MAX]; /* by rank: its address; 0: none */
	/* by rank: elements that were done, and the time; those of earlier jobs
	 * count for half each time */
	double elements[PEAL_PARTS_MAX], busy_ns[PEAL_PARTS_MAX];
	uint64_t empty_ns[PEAL_PARTS_MAX], empty_all_ns;
};

struct peal_executor {
	struct peal_runtime *rt;
	struct peal_executor
		*next; /* of the runtime's; its lock guards the list */
	const struct peal_program *program;
	uint32_t n;
	struct peali_station *stations; /* n */
	struct peali_skill *skills; /* one for each handler */
	struct peal_endpoint *host; /* port: rank */
	struct peal_link **links;
	uint32_t n_links, max_links;
	uint16_t empty; /* number of the last tasks of no elements */
	/* the job in hand, or the last one */
	uint32_t number; /* 0: there was none */
	int goes_on; /* 1: it has not been waited for to its end */
	struct peal_job job; /* its pointers are of the caller's, and of the
			      * start alone */
	uint32_t sharing; /* enum peal_sharing, not the default */
	int only; /* the rank that does it alone; -1: all */
	int packed; /* 1: arguments are as the caller's partition says */
	struct peal_argument argument[PEAL_TASK_ARGUMENTS];
	uint64_t address[PEAL_TASK_ARGUMENTS][PEAL_PARTS_MAX];
	struct peal_partition partition; /* static */
	struct peal_task task; /* what all tasks have in common */
	struct peali_skill *skill;
	uint64_t element_bytes; /* of all arguments together */
	uint64_t fresh; /* dynamic, guided: the first that was never handed out */
	uint64_t handed; /* elements that are done or in flight */
	struct peali_flight *back; /* to be done again */
	uint32_t n_back;
	uint64_t began_ns, ended_ns, threshold;
	int result; /* why no more are handed out; 0 */
	char why[160];
	_Atomic int cancelled;
};

/* ---- execute_skill.c -------------------------------------------------------- */

/* Makes pools and actors of a handler on all devices that there are, and measures.
 * PEAL_EHUNG, or as peal_pool_create and peal_actor_spawn. */
int peali_skill_prepare(struct peal_executor *executor, uint32_t handler);

/* ---- execute_share.c -------------------------------------------------------- */

/* Elements that a device does in a ns; 0: it has done none. */
double peali_station_speed(const struct peal_executor *executor, uint32_t rank);
/* As many elements as are done in the same time by all as by the fastest: its rank in
 * *fastest_out. 0: not known, or there are none. */
uint64_t peali_share_threshold(const struct peal_executor *executor,
			       uint32_t *fastest_out);
/* The next task and who has room for it: 1; 0 none now. */
int peali_share_next(struct peal_executor *executor, uint32_t *rank_out,
		     struct peali_flight *flight_out);

#endif
