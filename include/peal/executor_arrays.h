/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_EXECUTOR_ARRAYS_H
#define PEAL_EXECUTOR_ARRAYS_H

#include <stdint.h>

#include <peal/executor.h>
#include <peal/memory.h>

PEAL_BEGIN_C

/*
 * Jobs on arrays of the host: one call scatters them, runs the job and gathers
 * the results (peal/executor.h).
 *
 * The executor splits the elements into ranges. Each range runs on one device:
 *
 *	1. The executor chooses the device and the range by the schedule of the
 *	   job (enum peal_schedule).
 *	2. It copies the range of each input to memory of the device.
 *	3. A worker runs the handler on the range, as one task.
 *	4. After success the executor copies the range of each output back.
 *
 * A device has several ranges at a time, so copies overlap with handlers. The
 * memory of a device limits the size of its ranges. The data may be larger than
 * the memory of all devices.
 *
 * peal_executor_arrays_range tells which elements ran where.
 */

/** An array of host memory. It is one argument of the handler. */
struct peal_executor_array {
	/*
	 * Element 0 of the values that the handler reads, in any memory of the
	 * process. NULL: the handler only writes. The handler then finds
	 * undefined values.
	 */
	const void *input;
	/*
	 * Element 0 of the results, in any memory of the process. It may be the
	 * input of an array with the same element_bytes. It overlaps no other
	 * memory of the job. NULL: no results.
	 */
	void *output;
	uint64_t element_bytes; /* bytes of one element, below 2^32; 0: all
				 * ranges get the whole input */
	uint64_t bytes; /* bytes of the whole input if element_bytes is 0, else
			 * 0; it has no output */
};

/** A range of elements: where it ran, and its result. */
struct peal_executor_range {
	uint64_t first, count; /* elements first .. first + count - 1 */
	int device; /* index of the device, or PEAL_HOST_MEMORY: on none */
	/*
	 * 0: the outputs have the results. Else the outputs are unchanged:
	 *
	 *	PEAL_ECANCELED	no device got the range, because the job ended
	 *			early
	 *	PEAL_EABORTED	the kernel of the device ended
	 *	PEAL_ETIMEDOUT	the range was incomplete when the call returned
	 *	others		the error of the handler, or of a copy. After a
	 *			failed copy of outputs some may have changed.
	 */
	int result;
	/* ns from the job's begin: until the copy of inputs began, and until
	 * the range was over. 0 on no device. */
	uint64_t begin_ns, end_ns;
	uint64_t scatter_ns; /* ns in copies to the device */
	uint64_t busy_ns; /* ns in the handler */
	uint64_t gather_ns; /* ns in copies from the device */
};

/**
 * Scatters arrays, runs a job on them and gathers the results.
 *
 * Fields of the job have these meanings here:
 *
 *	n_arguments	0; the handler has n_arrays arguments
 *	partition	NULL
 *	schedule	any; the default is that of peal_executor_start
 *	grain		a range can be smaller if the memory is short
 *	weights		of the devices' shares, for a static schedule
 *	limits		for each rank: bytes of arrays at a time, in all
 *			schedules, with the alignment below; NULL: no limits
 *	repeatable	1: other devices repeat the ranges of a device when its
 *			kernel has ended
 *
 * During the job each device has one buffer for its ranges (peal/buffer.h). So
 * peal_memory_limit applies. The buffer leaves an eighth of the device's free
 * memory. A device has up to two ranges for each worker, and fewer if its memory
 * is short.
 *
 * The buffer has one piece for each array with element_bytes 0. It also has one
 * piece per range for each other array. Each piece takes a multiple of 128 bytes.
 * So the least limit is the sum over all arrays of their `bytes`, or of their
 * element_bytes. Round up each of them to a multiple of 128. For example, two
 * arrays with elements of 16 bytes need a limit of 256. A smaller limit is too
 * little memory for one element.
 *
 * Each device needs memory for one element, also with a weight of 0. It may get
 * ranges of a device that ends.
 *
 * With PEAL_SCHEDULE_MEMORY the devices share the elements in
 * proportion to this memory. A device without memory for one element then gets
 * none. With other schedules the call fails.
 *
 * A handler that fails ends the job early. Ranges that run at that time are
 * completed. After PEAL_ETIMEDOUT the job is cancelled, but handlers may still
 * run. They use none of the arrays. Call peal_executor_wait until it reports the
 * end. peal_executor_report gives the part of each device.
 *
 * One thread at a time for an executor. Blocks until the job is over, for
 * timeout_ns and some copies at most. A copy moves one array of a range, and
 * nothing interrupts it. A range can take half of a device's memory, so set `limits`
 * or `grain` if the call must end soon. The first job of a handler blocks as
 * peal_executor_start does.
 *
 * @param executor   an executor without a job in flight.
 * @param job        the job.
 * @param arrays     n_arrays arrays of `count` elements each, in the order of
 *                   the handler's arguments. The caller owns them. No other
 *                   thread may write an input or use an output during the call.
 * @param n_arrays   1 .. PEAL_TASK_ARGUMENTS.
 * @param timeout_ns ns, for the wait alone; -1: no limit.
 * @return as peal_executor_run, and:
 * @retval PEAL_EINVAL   a pointer is NULL, or n_arrays is out of range. Or an
 *                       array or a field of the job is wrong (the text names
 *                       it).
 * @retval PEAL_ENOSPC   the memory of a device is too small for one element. The
 *                       text names the device and the bytes. With
 *                       PEAL_SCHEDULE_MEMORY: of all devices, or of a device
 *                       that lost memory to another thread during the call.
 * @retval PEAL_EABORTED as peal_executor_run. Or elements are left, and each
 *                       live device has too little memory for one.
 * @retval PEAL_EDRIVER  a driver call failed. The text names the elements.
 */
int peal_executor_arrays_run(struct peal_executor *executor,
			     const struct peal_job *job,
			     const struct peal_executor_array *arrays,
			     uint32_t n_arrays, int64_t timeout_ns);

/**
 * Reads a range of the last job on arrays.
 *
 * The ranges are in the order of their elements. Each element is in one range.
 * A job that could not begin leaves the ranges of the job before it.
 *
 * One thread at a time for an executor. Blocks while a thread of the executor
 * prepares the next job (peal_executor_start).
 *
 * @param executor  an executor.
 * @param i         index of the range, from 0.
 * @param range_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL an argument is NULL.
 * @retval PEAL_ENOENT there is no such range (the text says how many there are).
 */
int peal_executor_arrays_range(struct peal_executor *executor, uint64_t i,
			       struct peal_executor_range *range_out);

PEAL_END_C
#endif
