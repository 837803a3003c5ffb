/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_EXECUTE_H
#define PEAL_EXECUTE_H

#include <stdint.h>

#include <peal/abi/task.h>
#include <peal/errors.h>
#include <peal/partition.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_program;
struct peal_runtime;

/*
 * Executors do data-parallel jobs on several devices: a handler, for each of
 * `count` elements. An executor has a kernel on each device, which stays, so that
 * a job is a few messages and no launch. A job is cut into tasks, elements side by
 * side; who is free on a device takes its next task from a work queue (peal/pool.h).
 * Which device has which elements is the job's sharing:
 *
 *	static		each has a part from the beginning: one that the caller
 *			gives, or by weights
 *	dynamic		tasks go to the device that would be through with one
 *			first, by the speeds that were measured, half of what is
 *			left at a time (S. F. Hummel, E. Schonberg, L. E. Flynn,
 *			"Factoring", 1992), so that all end together if elements
 *			take alike
 *	guided		who is free gets the P-th part of what is left, of P
 *			workers (C. D. Polychronopoulos, D. J. Kuck, "Guided
 *			Self-Scheduling", 1987), whatever their speeds, and
 *			however uneven elements are
 *
 * Tasks are handed out by who waits: between peal_execute_start and
 * peal_execute_wait devices go on with what they have, two tasks for each worker.
 *
 * A device whose kernel ends in the middle is named. What it had is lost, unless
 * the job says that a task may be done twice; the others end what they have, and
 * do the jobs that follow.
 */
struct peal_executor;

/** Zero in a field: its default. */
struct peal_executor_options {
	uint32_t size; /* sizeof(struct peal_executor_options) */
	uint32_t workers; /* of each device, up to 1024; 1 on emulated devices, on
			   * others half of their compute units. Where it is more
			   * than one, another worker passes tasks on */
	uint32_t lanes; /* of each worker; 1 on emulated devices, on others 256
			 * or as many as they have */
	const char *name; /* for texts; "executor". Copied. */
};

/** How elements are shared among devices. */
enum peal_sharing {
	PEAL_SHARING_DEFAULT = 0, /* dynamic, but that a small job stays on the
				   * fastest device; static with a partition */
	PEAL_SHARING_STATIC = 1,
	PEAL_SHARING_DYNAMIC = 2,
	PEAL_SHARING_GUIDED = 3,
	PEAL_SHARINGS = 4
};

/** What a handler works on. */
struct peal_argument {
	/*
	 * By rank of the device in the executor: where it is, as that device
	 * sees it: its own memory, host memory, or what peal_peer_map gave. Stays
	 * allocated until the job has ended.
	 */
	const uint64_t *address;
	uint64_t element_bytes; /* of one element; 0: the same for all tasks */
	uint64_t bytes; /* of one that is the same for all tasks; else 0 */
};

/** What is to be done. Zero in a field: its default. */
struct peal_job {
	uint32_t size; /* sizeof(struct peal_job) */
	uint32_t sharing; /* enum peal_sharing */
	const char *handler; /* its name; PEAL_TASK defines it */
	uint64_t count; /* elements; 0 does nothing */
	uint64_t grain; /* the fewest of a task, but for what is left, or
			* what a limit leaves; 1 */
	uint32_t n_arguments; /* up to PEAL_TASK_ARGUMENTS */
	uint32_t parameter_bytes; /* up to PEAL_TASK_PARAMETERS */
	const struct peal_argument *arguments;
	const void *parameters;
	/*
	 * Static: by rank, which part each device has; it has as many parts as
	 * the executor devices. Arguments with elements are then packed: each
	 * device has those of its part alone (peal_scatter). No task goes beyond
	 * an extent. NULL: each device has all elements of an argument.
	 */
	const struct peal_partition *partition;
	const uint64_t *weights; /* static, by rank; NULL: all alike */
	/*
	 * By rank, bytes of elements that a device has at most: static of its
	 * part, else of its tasks at a time; NULL: as many as there are. Each is
	 * enough for `grain` elements, or for all.
	 */
	const uint64_t *limits;
	uint32_t repeatable; /* 1: a task may be done twice. What a device had
			      * that ended others then do again, unless there is
			      * a partition */
	uint32_t reserved; /* 0 */
};

/** What one device did of a job. */
struct peal_execute_share {
	int device;
	int result; /* 0; why its kernel has ended */
	uint64_t tasks, elements; /* that were done */
	uint64_t busy_ns; /* of its workers in handlers, together */
	uint64_t first_ns, last_ns; /* from the job's begin until it was handed
				     * its first task, and was through */
};

/** A job. */
struct peal_execute_report {
	uint32_t devices;
	uint32_t took_part; /* of them, that have done a task */
	uint64_t tasks, elements; /* done */
	uint64_t ns; /* from its begin to its end */
	double imbalance; /* the largest busy_ns by the mean of those that were
			   * busy; 1: all alike */
	/*
	 * The threshold: as many elements take one device as long as all of them,
	 * by the time that a task of none takes there and back on one and on all,
	 * and the speeds: a job of fewer stays on one. 0: not known yet, or it is
	 * always better to share.
	 */
	uint64_t threshold;
	uint64_t empty_one_ns, empty_all_ns; /* those two times */
	struct peal_execute_share share[PEAL_PARTS_MAX]; /* by rank */
};

/**
 * Makes an executor, and launches its kernels.
 *
 * @param runtime      an open runtime.
 * @param devices      n indexes, each once: the i-th has rank i.
 * @param n            1 .. PEAL_PARTS_MAX.
 * @param program      whose handlers do jobs; see peal/device/task.h.
 * @param options      NULL for all defaults.
 * @param executor_out the executor; the caller destroys it.
 * @return 0; PEAL_EINVAL a device twice, or an option out of its range (named);
 *         PEAL_ENODEV; PEAL_ENOTSUP the program has no tasks; PEAL_ENOMEM; what
 *         peal_kernel_launch says. Thread-safe; on GPUs as long as the launches
 *         take.
 */
int peal_executor_create(struct peal_runtime *runtime, const int *devices,
			 uint32_t n, const struct peal_program *program,
			 const struct peal_executor_options *options,
			 struct peal_executor **executor_out);

/**
 * Begins a job and returns; peal_execute_wait ends it. An executor has one at a
 * time. The first job of a handler makes what that needs on all devices, and
 * measures tasks of no elements.
 *
 * @param executor of the devices.
 * @param job      what is to be done; copied, but for memory of arguments.
 * @return 0; PEAL_EINVAL a field is out of its range (named); PEAL_ENOENT no such
 *         handler; PEAL_ENOTSUP it does no tasks; PEAL_EFAULT an argument is in no
 *         allocation that its device sees (both named); PEAL_ENOSPC the limit of a
 *         device (named) is less than a task or its part, or all limits together
 *         are less than the job; PEAL_EBUSY the job before has not been waited for
 *         to its end; PEAL_EABORTED all devices have ended, or one that has a part
 *         (named); PEAL_EHUNG a worker did not answer; PEAL_ENOMEM; what
 *         peal_pool_create and peal_actor_spawn say. Then nothing has begun. One
 *         thread at a time for an executor.
 */
int peal_execute_start(struct peal_executor *executor,
		       const struct peal_job *job);

/**
 * Hands out tasks and waits for the end of the job.
 *
 * @param executor   an executor.
 * @param timeout_ns 0 looks, -1 waits for ever.
 * @return 0 it is done, and what it has written can be read; 0 too if there is none;
 *         PEAL_ETIMEDOUT it goes on (the text names the devices that have tasks).
 *         Else it is over, no task runs and nothing is handed out any more: what the
 *         handler returned (the text names the device and the elements), for
 *         PEAL_ETIMEDOUT and what is no error PEAL_EHANDLER; PEAL_ECANCELED;
 *         PEAL_EABORTED a device has ended (named) that had tasks, and they are
 *         lost, or nobody is left. One thread at a time for an executor.
 */
int peal_execute_wait(struct peal_executor *executor, int64_t timeout_ns);

/**
 * Both: begins a job and waits for it. One that takes longer is cancelled, and goes on
 * until peal_execute_wait says that it is over.
 *
 * @param executor   an executor.
 * @param job        what is to be done.
 * @param timeout_ns -1 waits for ever.
 * @return as the two.
 */
int peal_execute(struct peal_executor *executor, const struct peal_job *job,
		 int64_t timeout_ns);

/**
 * Asks the job to end early: no more tasks are handed out. It may still end as done.
 *
 * @param executor an executor.
 * @return 0; PEAL_EINVAL. Thread-safe; does not wait.
 */
int peal_execute_cancel(struct peal_executor *executor);

/**
 * What was done of the job in hand so far, or of the last one. The threshold and its
 * two times are those of the latest peal_execute_start, also of one that was refused.
 *
 * @param executor   an executor.
 * @param report_out filled on success.
 * @return 0; PEAL_EINVAL; PEAL_ENOENT there was none. One thread at a time for an
 *         executor.
 */
int peal_execute_report(struct peal_executor *executor,
			struct peal_execute_report *report_out);

/**
 * Ends the kernels of an executor and frees it. A job in hand is over then.
 *
 * @param executor an executor; NULL does nothing.
 * @return 0; PEAL_EHUNG a handler does not end (named): it stays, and may be
 *         destroyed again. No other call on it may run at the same time.
 */
int peal_executor_destroy(struct peal_executor *executor);

/**
 * Does one job by kernels that are launched for it alone and end with it: arguments
 * as peal_executor_create and peal_execute.
 *
 * @param runtime    as peal_executor_create.
 * @param devices    as peal_executor_create.
 * @param n          as peal_executor_create.
 * @param program    as peal_executor_create.
 * @param options    as peal_executor_create.
 * @param job        as peal_execute.
 * @param timeout_ns for the job, without launches and ends; -1 for ever. One that
 *                   takes longer is stopped.
 * @return as peal_executor_create, peal_execute and peal_executor_destroy, but that
 *         nothing goes on when it returns; after PEAL_EHUNG what there is stays
 *         until peal_runtime_shutdown. Thread-safe.
 */
int peal_execute_launch(struct peal_runtime *runtime, const int *devices,
			uint32_t n, const struct peal_program *program,
			const struct peal_executor_options *options,
			const struct peal_job *job, int64_t timeout_ns);

#ifdef __cplusplus
}
#endif
#endif
