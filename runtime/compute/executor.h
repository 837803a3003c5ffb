/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_EXECUTOR_H
#define PEALI_EXECUTOR_H

#include <peal/executor_arrays.h>
#include "p2p/peer.h"
#include "runtime/runtime.h"

/*
 * Internals of executors, shared by these files:
 *
 *	executor.c	creates and destroys executors
 *	executor_prepare.c	prepares a handler on all devices
 *	executor_queue.c	jobs that wait, and outcomes of jobs
 *	executor_check.c	checks a job, finds its handler
 *	executor_grid.c	checks the grid of a job
 *	executor_arrays.c	jobs on arrays of the host, their ranges
 *	executor_arrays_stage.c	memory of devices for ranges, their copies
 *	executor_run.c	runs jobs, step by step
 *	executor_wait.c	starts jobs and waits for them
 *	schedule.c	chooses the device and the size of the next task
 *
 * A call holds `lock` while it uses the job, and so does the executor's thread.
 * The atomic members need no lock.
 */

/** A task in flight, or elements that have yet to be assigned. */
struct peali_chunk {
	uint64_t first, count; /* adjacent elements; count 0: none */
	uint64_t at; /* index of `first` in the device's arguments */
	uint64_t range; /* job on arrays: 1 + the index of its range; 0: none */
};

/** Memory of a device for the ranges of a job on arrays. */
struct peali_executor_stage {
	struct peal_buffer *buffer; /* NULL: none */
	uint64_t address; /* of the buffer, as the device sees it */
	uint64_t whole_bytes; /* at its begin: arrays that all ranges get */
	uint64_t slot_bytes; /* behind them, for each task slot */
	/* by array: offset in the slot, or in the buffer of a whole array */
	uint64_t at[PEAL_TASK_ARGUMENTS];
};

/** A device of an executor. */
struct peali_executor_device {
	int device;
	uint32_t workers; /* workers that run tasks */
	uint32_t window; /* task slots */
	uint32_t slots; /* most tasks in flight in this job: window, or fewer */
	struct peal_kernel *kernel;
	uint64_t *owner; /* by worker: address of the actor that owns the port
			  * of all task actors; 0: none yet */
	uint64_t gate; /* its latest gate when the job began; 0: none closed */
	int is_linked; /* 1: the host has a link to it */
	int result; /* error of its kernel or of a send; 0: it is live */
	/* 1: only this job leaves it out, as a task returned PEAL_EABORTED */
	int is_left_out;
	struct peali_chunk *chunks; /* by task slot: `window` of them */
	uint32_t in_flight; /* tasks */
	uint64_t out; /* elements in flight */
	uint64_t most; /* most elements in flight, and of a static part;
			* UINT64_MAX: no limit */
	uint64_t task_most; /* most elements of a task; UINT64_MAX: no limit */
	struct peali_executor_stage stage;
	/* static schedule: the device's part */
	uint64_t extents; /* extents that were begun */
	struct peali_chunk rest; /* rest of the extent begun last */
	uint64_t length; /* elements of the part */
	/* memory of the arguments, not to be freed during the job */
	struct peali_range kept[PEAL_TASK_ARGUMENTS];
	struct peal_executor_part share;
};

/** A handler of the program, and the measured speed of each device. */
struct peali_executor_handler {
	int is_task; /* 1: a task handler */
	int ready; /* 1: all live devices have its pool, and are measured */
	uint64_t pool[PEAL_PARTS_MAX]; /* by rank: pool address; 0: none */
	/*
	 * By rank: finished elements, and ns that workers were busy with them.
	 * The begin of each job halves both, so recent jobs count most.
	 */
	double elements[PEAL_PARTS_MAX], busy_ns[PEAL_PARTS_MAX];
	/* Round trip of a task without elements, in ns: by rank; on all devices
	 * at the same time. */
	uint64_t empty_ns[PEAL_PARTS_MAX], empty_all_ns;
};

#define PEALI_JOBS_MAX 64 /* most jobs in flight of an executor */

/** A job behind the current one, with copies of all but its arguments. */
struct peali_executor_queued {
	struct peali_executor_queued *next;
	struct peal_job job; /* its pointers lead to the members below */
	uint32_t handler; /* index in the program */
	struct peal_job_argument argument[PEAL_TASK_ARGUMENTS];
	uint64_t address[PEAL_TASK_ARGUMENTS][PEAL_PARTS_MAX]; /* by rank */
	uint64_t parameters[PEAL_TASK_PARAMETERS / 8];
	struct peal_partition partition;
	uint64_t weights[PEAL_PARTS_MAX], limits[PEAL_PARTS_MAX];
	uint64_t gate[PEAL_PARTS_MAX]; /* by rank: latest gate at its start */
	uint64_t submission, number; /* number: jobs started, with this one */
	/* by rank: memory of the arguments, not to be freed */
	struct peali_range kept[][PEAL_TASK_ARGUMENTS];
};

/** The current job on arrays, and the ranges of the last one. */
struct peali_executor_arrays {
	const struct peal_executor_array *array; /* NULL: the job has none */
	uint32_t n; /* arrays */
	struct peal_executor_range *range;
	uint64_t n_ranges, max_ranges; /* max_ranges: elements of `range` */
};

/** The end of a job that no wait has reported. */
struct peali_executor_outcome {
	int result;
	char why[256]; /* text of `result` */
	struct peal_executor_report report;
};

struct peal_executor {
	struct peal_runtime *rt;
	struct peal_executor *next; /* runtime's list, under rt->lock */
	const struct peal_program *program;
	uint32_t n; /* devices */
	struct peali_executor_device *devices; /* n */
	struct peali_executor_handler *handlers; /* one for each handler */
	struct peal_endpoint *host; /* port i leads to the device of rank i */
	struct peal_link **links;
	uint32_t n_links, max_links;
	uint16_t empty; /* number of the latest tasks without elements */
	/* the current job, or the last one */
	uint32_t number; /* 0: no job yet */
	int goes_on; /* 1: peal_executor_wait has not reported its end */
	struct peal_job job; /* The caller owns the memory of its pointers.
			      * They are valid in peal_executor_start alone. */
	struct peali_executor_arrays arrays;
	uint32_t schedule; /* PEAL_SCHEDULE_STATIC, _DYNAMIC or _GUIDED */
	int only; /* rank of the device with the whole job; -1: all share */
	int packed; /* 1: each device has only the elements of its part */
	struct peal_job_argument argument[PEAL_TASK_ARGUMENTS];
	uint64_t address[PEAL_TASK_ARGUMENTS][PEAL_PARTS_MAX]; /* by rank */
	struct peal_partition partition; /* static schedule */
	struct peal_task task; /* fields that all tasks of the job share */
	struct peali_executor_handler *handler; /* the job's handler */
	uint64_t element_bytes; /* bytes of an element, all arguments */
	uint64_t fresh; /* dynamic, guided: first element never assigned */
	uint64_t handed; /* elements that are done or in flight */
	struct peali_chunk *back; /* elements to assign to another device */
	uint32_t n_back;
	uint64_t began_ns, ended_ns, threshold; /* threshold: elements */
	int result; /* error that ends the job early; 0: none */
	char why[256]; /* text of `result` */
	/* jobs behind it in the order of their starts, see executor_queue.c */
	uint32_t max_jobs; /* jobs that no wait has reported, at most */
	struct peali_executor_queued *queued;
	uint32_t n_queued;
	const struct peali_executor_queued *from; /* the queued job that begins;
						   * NULL: none */
	struct peali_executor_outcome *outcomes; /* ring of max_jobs */
	uint32_t first_outcome, n_outcomes;
	_Atomic uint64_t started; /* jobs */
	_Atomic uint64_t cancelled_to; /* `started` at the last cancel */
	_Atomic int cancelled;
	_Atomic uint64_t submission; /* number of the job */
	_Atomic int unfinished; /* 1: a job has begun, and is not over */
	/* the executor's thread, see executor_wait.c */
	pthread_mutex_t lock;
	pthread_cond_t work; /* a job has begun, or a call has ended */
	pthread_t thread;
	int has_thread;
	int ends; /* 1: the thread ends */
	_Atomic int callers; /* threads in a call, which holds or awaits `lock` */
};

/* ---- executor_run.c ------------------------------------------------------ */

/* Begins a job: peal_executor_start without checks of its arguments. `alone` 1:
 * no thread will wait for it. The caller holds the lock, also for the next two
 * functions. */
int peali_executor_begin(struct peal_executor *executor,
			 const struct peal_job *job, int alone);
/* Assigns tasks, waits up to timeout_ns for a report, and handles all reports.
 * Returns 1 if the job is over, PEAL_EAGAIN if no report came, else 0. */
int peali_executor_step(struct peal_executor *executor, int64_t timeout_ns);
/* Returns 1 if the job waits for an event: a gate of a device, made before the
 * job, is closed. */
int peali_executor_is_gated(const struct peal_executor *executor);
/* Lets the memory of the arguments be freed. */
void peali_executor_let_go(struct peal_executor *executor);

/* ---- executor_queue.c ---------------------------------------------------- */

/* Queues a checked job behind the current one. Returns 0 or an error. */
int peali_executor_queue(struct peal_executor *executor,
			 const struct peal_job *job, uint32_t handler);
/* Stores the outcome of the current job, which is over. Begins the next one. */
void peali_executor_advance(struct peal_executor *executor);
/* Removes the oldest outcome, which must exist. Returns its result. */
int peali_executor_take_outcome(struct peal_executor *executor,
				const char *call,
				struct peal_executor_report *report_out);
/* Frees all jobs of the queue. */
void peali_executor_drop_queue(struct peal_executor *executor);

/* ---- executor_wait.c ----------------------------------------------------- */

/* Locks an executor for a call: the executor's thread pauses. */
void peali_executor_lock(struct peal_executor *executor);
void peali_executor_unlock(struct peal_executor *executor);
/* Begins a job and waits for its end, as peal_executor_run. The caller holds the
 * lock. */
int peali_executor_run_locked(struct peal_executor *executor,
			      const struct peal_job *job, int64_t timeout_ns);
/* Fills the report of the current or the last job. */
void peali_executor_fill_report(struct peal_executor *executor,
				struct peal_executor_report *report_out);
/* Initialises the lock. The thread starts when a job needs it. */
void peali_executor_open_thread(struct peal_executor *executor);
/* Starts it, if there is none. Returns 0 or an error. The caller holds the lock. */
int peali_executor_need_thread(struct peal_executor *executor,
			       const char *call);
/* Starts it again after its end, if a job is unfinished. */
void peali_executor_resume_thread(struct peal_executor *executor);
/* Ends the thread, if there is one. */
void peali_executor_end_thread(struct peal_executor *executor);
/* Returns 1 if a job is unfinished, may use a device, or PEAL_ALL_DEVICES, and has
 * a submission number below `before`. */
int peali_executor_is_busy(const struct peal_executor *executor, int device,
			   uint64_t before);

/* ---- executor_prepare.c -------------------------------------------------- */

/*
 * Makes pools and actors of a handler on all live devices. Then measures the
 * round trip of tasks without elements. Returns 0, PEAL_EHUNG, or an error of
 * peal_pool_create or peal_actor_spawn.
 */
int peali_executor_prepare(struct peal_executor *executor, uint32_t handler);

/* ---- executor_check.c ---------------------------------------------------- */

/* Checks all fields of a job but its grid. Returns 0 or PEAL_EINVAL. */
int peali_executor_check(const struct peal_executor *executor,
			 const struct peal_job *job);
/* Returns the index of the job's handler, or an error. */
int peali_executor_find_handler(const struct peal_executor *executor,
				const struct peal_job *job);

/* ---- executor_grid.c ----------------------------------------------------- */

/*
 * Checks the grid of a job. Sets the job's `count` and *grid_out by it. Without
 * a grid *grid_out becomes all 0. Returns 0 or PEAL_EINVAL.
 */
int peali_executor_grid(struct peal_job *job, struct peal_task_grid *grid_out,
			const char *call);

/* ---- executor_arrays.c --------------------------------------------------- */

/* A range begins on a device. Stores its number in the chunk. Returns 0 or
 * PEAL_ENOMEM. */
int peali_arrays_add(struct peal_executor *executor, int device,
		     struct peali_chunk *chunk);
/* Returns the range of a chunk; NULL: it has none, or the call is over. */
struct peal_executor_range *peali_arrays_of(struct peal_executor *executor,
					    const struct peali_chunk *chunk);
/* Another device repeats the range of a chunk. */
void peali_arrays_drop(struct peal_executor *executor,
		       struct peali_chunk *chunk);
/* The range of a chunk is over. */
void peali_arrays_end(struct peal_executor *executor,
		      const struct peali_chunk *chunk, int result);

/* ---- executor_arrays_stage.c --------------------------------------------- */

/* Sets the weights of PEAL_SCHEDULE_MEMORY. Devices of weight 0 keep it. Returns
 * PEAL_ENOSPC if no device has memory for an element. */
int peali_arrays_weigh(const struct peal_executor *executor,
		       const struct peal_job *job, uint64_t *weight);
/* Allocates the memory for a job's ranges, and copies whole arrays. Returns 0, or
 * an error with nothing allocated. */
int peali_arrays_prepare(struct peal_executor *executor,
			 const struct peal_job *job);
/* Frees it. No task may use it any more. */
void peali_arrays_free(struct peal_executor *executor);
/* Returns the address of an array in a task slot, for the device. */
uint64_t peali_arrays_address(const struct peal_executor *executor,
			      uint32_t rank, uint32_t slot, uint32_t array);
/* Copies inputs of a chunk to a task slot, or outputs back. Return 0 or an error.
 * Its text names the elements. */
int peali_arrays_scatter(struct peal_executor *executor, uint32_t rank,
			 uint32_t slot, struct peali_chunk *chunk);
int peali_arrays_gather(struct peal_executor *executor, uint32_t rank,
			uint32_t slot, const struct peali_chunk *chunk);

/* ---- schedule.c ----------------------------------------------------- */

/* Returns the elements per ns of all workers of a device; 0: not known yet. */
double peali_executor_speed(const struct peal_executor *executor,
			    uint32_t rank);
/*
 * Returns the break-even number of elements. For it, the fastest device alone
 * takes as long as all devices together. *fastest_out is the fastest device.
 * Returns 0 if there is no such number, or if a speed is not known yet. Then
 * *fastest_out does not change.
 */
uint64_t peali_schedule_threshold(const struct peal_executor *executor,
				  uint32_t *fastest_out);
/*
 * Begins the next extent of a device's part once the last one is assigned. Does
 * nothing if the job has no static schedule, or if the part has no further extent.
 */
void peali_schedule_extent(struct peal_executor *executor, uint32_t rank);
/*
 * Chooses the next task and its device. Returns 1, or 0 if no device is to get
 * a task now.
 */
int peali_schedule_next(struct peal_executor *executor, uint32_t *rank_out,
			struct peali_chunk *chunk_out);

struct peal_executor *peali_executor_next(struct peal_executor *executor);

#endif
