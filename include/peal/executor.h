/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_EXECUTOR_H
#define PEAL_EXECUTOR_H

#include <stdint.h>

#include <peal/errors.h>
#include <peal/job.h>
#include <peal/partition.h>

PEAL_BEGIN_C

struct peal_program;
struct peal_runtime;

/*
 * Executors run data-parallel jobs on several devices.
 * A job runs one handler for each of its elements (peal/job.h).
 * Typical sequence: peal_executor_create, peal_executor_run for each job, then
 * peal_executor_destroy.
 * peal_executor_start and peal_executor_wait let the host work during jobs.
 * peal_executor_report says how the devices have shared the job.
 * peal_executor_run_once runs a single job without an executor.
 * peal_executor_arrays_run copies arrays of the host and runs a job on them
 * (peal/executor_arrays.h).
 */

/**
 * An executor: one resident kernel on each of its devices.
 *
 * A job needs a few messages and no launch.
 *
 * The executor splits a job into tasks of adjacent elements. On a device, a
 * free worker takes the next task from a work queue (peal/pool.h). The devices
 * share the elements as enum peal_schedule says.
 *
 * The host assigns the tasks: the thread that waits for the job, or else a
 * thread of the executor. A device has at most two tasks for each worker.
 *
 * If the kernel of a device ends during a job, the error text names the device.
 * Its unfinished tasks are lost, unless the job is repeatable. The other
 * devices finish their tasks and run the jobs that follow.
 */
struct peal_executor;

/** Options of an executor. A field with value 0 takes its default. */
struct peal_executor_options {
	uint32_t size; /* sizeof(struct peal_executor_options) */
	/*
	 * Workers of each device that run tasks (1..1024; 0: default).
	 * Default on emulated devices, or with less than 4 compute units: 1.
	 * Default on other devices: half of the compute units.
	 * With more than one, the kernel has another worker. It distributes
	 * the tasks.
	 */
	uint32_t workers;
	/*
	 * Lanes of each worker (1..1024; 0: default).
	 * Default on emulated devices: 1.
	 * Default on other devices: 256, or the device's maximum if smaller.
	 */
	uint32_t lanes;
	const char *name; /* for error texts (default "executor"); copied, at
			   * most 47 bytes: "..." replaces the middle of
			   * more */
	uint32_t max_jobs; /* most jobs in flight: started, and no wait has
			    * reported the end (1..64; default 1) */
	uint32_t reserved; /* 0 */
};

/** The part of one device in a job. */
struct peal_executor_part {
	int device; /* index of the device */
	/*
	 * 0, or the error with which its kernel has ended. PEAL_EABORTED also if
	 * a task of a repeatable job returned it. The next job then has the
	 * device again, unless its kernel ends.
	 */
	int result;
	uint64_t tasks, elements; /* finished tasks and their elements */
	uint64_t busy_ns; /* ns in handlers, summed over the workers */
	/*
	 * ns from the job's begin.
	 * first_ns: until the host assigned the first task to the device.
	 * last_ns: until the host received the report of its last task.
	 */
	uint64_t first_ns, last_ns;
};

/** The report of a job. */
struct peal_executor_report {
	uint32_t devices; /* devices of the executor */
	uint32_t n_active; /* devices that have finished a task */
	uint64_t tasks, elements; /* finished tasks and their elements */
	uint64_t ns; /* ns from the job's begin to its last finished task */
	double imbalance; /* largest busy_ns by the mean busy_ns of the devices
			   * that were busy; 1: all equal */
	/*
	 * Elements for which one device takes as long as all devices do. It
	 * follows from the measured speeds, empty_one_ns and empty_all_ns.
	 * With the default schedule, smaller jobs stay on one device.
	 * 0: not known yet, or all devices are always faster.
	 */
	uint64_t threshold;
	/*
	 * ns of a task without elements, from the host to a device and back.
	 * empty_one_ns: on one device, the smallest of all devices.
	 * empty_all_ns: on all devices at the same time.
	 */
	uint64_t empty_one_ns, empty_all_ns;
	struct peal_executor_part part[PEAL_PARTS_MAX]; /* by rank */
};

/**
 * Creates an executor and launches its kernels.
 *
 * Thread-safe. Blocks until all kernels are launched.
 *
 * @param runtime      an open runtime.
 * @param devices      n device indexes, each once. devices[i] has rank i.
 * @param n            1 .. PEAL_PARTS_MAX.
 * @param program      the program with the task handlers. It must exist as long
 *                     as the executor.
 * @param options      NULL for all defaults.
 * @param executor_out the executor. The caller frees it with
 *                     peal_executor_destroy.
 * @return as peal_kernel_launch, and:
 * @retval PEAL_EINVAL  an argument is NULL, a device is listed twice, or an
 *                      option is out of range (the text names it).
 * @retval PEAL_ENODEV  there is no such device.
 * @retval PEAL_ENOTSUP the program has no task handler.
 * @retval PEAL_ENOMEM  the host is out of memory.
 */
int peal_executor_create(struct peal_runtime *runtime, const int *devices,
			 uint32_t n, const struct peal_program *program,
			 const struct peal_executor_options *options,
			 struct peal_executor **executor_out);

/**
 * Begins a job without waiting for its end.
 *
 * A thread of the executor assigns the other tasks while no thread waits.
 * peal_executor_wait reports the end. peal_device_sync waits for the job, too.
 * An executor has up to max_jobs jobs in flight. They run one after another, in
 * the order of their starts. A job sees all that earlier jobs have written. A
 * job that fails does not end later jobs. A job behind another one begins when
 * that job is over. If it cannot begin then, a wait reports the error.
 *
 * The executor copies the job, but not the memory of its arguments. Until the job
 * is over, peal_memory_free of an argument returns PEAL_EBUSY. After an error the
 * job has not begun.
 *
 * One thread at a time for an executor. The first job of a handler creates its
 * actors and measures tasks without elements. The call blocks for that. It
 * waits at most PEAL_CONTROL_TIMEOUT_MS for each answer of a worker.
 *
 * @param executor an executor.
 * @param job      the job.
 * @return as peal_pool_create and peal_actor_spawn, and:
 * @retval PEAL_EINVAL   a field is out of range (the text names it).
 * @retval PEAL_ENOENT   the program has no such handler.
 * @retval PEAL_ENOTSUP  the handler is not a task handler.
 * @retval PEAL_EFAULT   an argument is in no allocation that its device sees
 *                       (the text names both).
 * @retval PEAL_ENOSPC   the limit of a device is too small for a task or its
 *                       part (the text names the device). Or all limits
 *                       together are too small for the job.
 * @retval PEAL_EBUSY    max_jobs jobs are in flight: no wait has reported their
 *                       ends.
 * @retval PEAL_EABORTED the kernels of all devices have ended. Or the kernel of
 *                       a device with a part has ended (the text names it).
 * @retval PEAL_EHUNG    a worker did not answer.
 * @retval PEAL_ENOMEM   the host is out of memory, or has no thread left.
 */
int peal_executor_start(struct peal_executor *executor,
			const struct peal_job *job);

/**
 * Assigns tasks to devices and waits for the end of all jobs.
 *
 * After return value 0 all jobs are done. The host can then read the memory that
 * they have written. The call also returns 0 if there is no job.
 *
 * After any error but PEAL_ETIMEDOUT all jobs are over, if the executor is not
 * NULL. No task runs any more. The error is that of the first job that failed. A
 * code that is not listed below is the error of a task. Or it is the error of a
 * job that could not begin (peal_executor_start). The text of a task's error
 * names device and elements.
 *
 * One thread at a time for an executor. Blocks for timeout_ns at most, and for
 * the preparation of later jobs (peal_executor_start).
 *
 * @param executor   an executor.
 * @param timeout_ns ns; 0: does not wait, -1: no limit.
 * @return 0, or a negative error code:
 * @retval PEAL_ETIMEDOUT the job goes on. The text names the devices that have
 *                        tasks.
 * @retval PEAL_EHANDLER  a task returned PEAL_EHANDLER, PEAL_ETIMEDOUT or a
 *                        positive value.
 * @retval PEAL_ECANCELED peal_executor_cancel has ended the job.
 * @retval PEAL_EABORTED  the kernel of a device with tasks has ended and its
 *                        tasks are lost (the text names it). Or the kernels of
 *                        all devices have ended.
 * @retval PEAL_EINVAL    executor is NULL.
 */
int peal_executor_wait(struct peal_executor *executor, int64_t timeout_ns);

/**
 * Waits for the end of the oldest job in flight and reports it.
 * Other jobs go on. Calls report the jobs in the order of their starts.
 *
 * One thread at a time for an executor. Blocks for timeout_ns at most, and for
 * the preparation of the next job (peal_executor_start).
 *
 * @param executor   an executor.
 * @param timeout_ns ns; 0: does not wait, -1: no limit.
 * @param report_out the report of the job, if it is over, also after its error.
 *                   It is all 0 if the job could not begin. NULL: not wanted.
 * @return as peal_executor_wait, for this job alone, and:
 * @retval PEAL_ENOENT no job is in flight. A task can return this code, too: the
 *                     text tells which.
 */
int peal_executor_wait_next(struct peal_executor *executor, int64_t timeout_ns,
			    struct peal_executor_report *report_out);

/**
 * Begins a job and waits for its end.
 * While another job is in flight, it returns PEAL_EBUSY.
 *
 * After PEAL_ETIMEDOUT the job is cancelled, but may have running tasks. Call
 * peal_executor_wait until it reports the end.
 *
 * One thread at a time for an executor. Blocks as peal_executor_start and
 * peal_executor_wait.
 *
 * @param executor   an executor.
 * @param job        the job.
 * @param timeout_ns ns, for the wait alone; -1: no limit.
 * @return as peal_executor_start and peal_executor_wait.
 */
int peal_executor_run(struct peal_executor *executor,
		      const struct peal_job *job, int64_t timeout_ns);

/**
 * Asks all jobs in flight to end early.
 *
 * No more tasks are assigned. A job with all tasks assigned before ends as done.
 *
 * Thread-safe. Does not block.
 *
 * @param executor an executor.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL executor is NULL.
 */
int peal_executor_cancel(struct peal_executor *executor);

/**
 * Gets the report of the current job so far, or of the last job.
 * peal_executor_wait_next reports each of several jobs.
 *
 * The threshold and its two times are those of the latest job that began, or
 * that could not begin.
 *
 * One thread at a time for an executor. Blocks while a thread of the executor
 * prepares the next job (peal_executor_start).
 *
 * @param executor   an executor.
 * @param report_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL an argument is NULL.
 * @retval PEAL_ENOENT the executor has had no job.
 */
int peal_executor_report(struct peal_executor *executor,
			 struct peal_executor_report *report_out);

/**
 * Ends the kernels of an executor and frees it, also during a job.
 *
 * The runtime stops the kernels and aborts them after 2 s.
 *
 * No other call on the executor may run at the same time. Blocks until the
 * kernels have ended: after an abort up to PEAL_CONTROL_TIMEOUT_MS each.
 *
 * @param executor an executor. NULL does nothing.
 * @return 0, or a negative error code:
 * @retval PEAL_EHUNG a handler does not end (the text names it). The executor
 *                    stays, and the caller can destroy it again.
 */
int peal_executor_destroy(struct peal_executor *executor);

/**
 * Launches kernels for one job, runs the job and ends the kernels.
 *
 * The runtime stops a job that takes longer than timeout_ns. When the call
 * returns, no task runs, except after PEAL_EHUNG. After PEAL_EHUNG the kernels
 * stay until peal_runtime_shutdown.
 *
 * Thread-safe. Blocks until the kernels have ended.
 *
 * @param runtime    as peal_executor_create.
 * @param devices    as peal_executor_create.
 * @param n          as peal_executor_create.
 * @param program    as peal_executor_create.
 * @param options    as peal_executor_create.
 * @param job        as peal_executor_run.
 * @param timeout_ns ns, for the job without launches and ends; -1: no limit.
 * @return as peal_executor_create, peal_executor_run and peal_executor_destroy.
 */
int peal_executor_run_once(struct peal_runtime *runtime, const int *devices,
			   uint32_t n, const struct peal_program *program,
			   const struct peal_executor_options *options,
			   const struct peal_job *job, int64_t timeout_ns);

PEAL_END_C
#endif
