/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_PIPELINE_H
#define PEAL_PIPELINE_H

#include <stdint.h>

#include <peal/endpoint.h>
#include <peal/errors.h>
#include <peal/link.h>

PEAL_BEGIN_C

struct peal_kernel;
struct peal_program;
struct peal_runtime;

/*
 * Pipelines: batches of the host pass through one ring kernel per stage.
 *
 *	push -> link 0 -> stage 0 -> link 1 -> ... -> link n -> pull
 *
 * Links carry the batches from device to device. The host pulls the batches in
 * the order of the pushes. All stages work at the same time, on different
 * batches.
 *
 *	peal_pipeline_create(runtime, stages, n, NULL, &pipeline);
 *	thread 1: peal_pipeline_push(pipeline, type, data, bytes, -1); ...
 *		  peal_pipeline_close(pipeline, -1);
 *	thread 2: peal_pipeline_pull(pipeline, buffer, size, &received, -1); ...
 *		  until PEAL_EEND
 *	peal_pipeline_destroy(pipeline);
 *
 * - The handler of a stage receives a batch and emits its result on port 0.
 *   With one worker per stage it may emit no message or several messages. With
 *   more workers it emits exactly one.
 * - With w workers per stage, the pipeline has w parallel chains of actors. It
 *   gives the batches to the chains in turn. So a stage handles w batches at a
 *   time, and the order is kept.
 * - peal_pipeline_create allocates all memory. The pipeline holds at most
 *   w * (n + 1) * capacity batches, including those that a handler works on.
 *   Each staged link holds `capacity` batches more. When the pipeline is full,
 *   the host must pull before it can push.
 * - A handler that returns an error for a batch ends its actor. The host can
 *   still pull the earlier batches. Then peal_pipeline_pull names the failed
 *   stage, the batch and the error. `driver_code` of the error record has the
 *   error. With `skip_failed`, the pipeline drops and counts the batch instead,
 *   and the next batches go on.
 *
 * One thread at a time pushes, reserves, commits, closes and drains: the
 * pushing thread. One thread at a time pulls, peeks and releases: the pulling
 * thread. The pushing and the pulling thread may differ.
 */
struct peal_pipeline;

/** A stage; a field that is 0 has its default. */
struct peal_pipeline_stage {
	uint32_t size; /* sizeof(struct peal_pipeline_stage); equal in all */
	int32_t device; /* device index */
	const struct peal_program *program; /* required */
	const char *handler; /* name of a handler of the program; required */
	const void *init; /* first bytes of each actor's state, copied; the rest
			   * of the state is 0 (default NULL) */
	uint64_t init_bytes; /* bytes of init (default 0, 0..state size) */
	uint32_t lanes; /* per worker (default: 1 on emulated devices, elsewhere
			 * 128 or the device's maximum, if less) */
	uint32_t require; /* mask of enum peal_route for the link from the stage
			   * before (default 0: any route); 0 in stage 0 */
	const char *name; /* for texts (default "handler@device"); copied, at
			   * most 95 bytes: "..." replaces the middle of
			   * more */
};

/** Options of a pipeline; a field that is 0 has its default. */
struct peal_pipeline_options {
	uint32_t size; /* sizeof(struct peal_pipeline_options) */
	uint32_t workers; /* per stage (default 1, 1..4096) */
	/*
	 * Options of every link (default NULL: all defaults). `capacity` is the
	 * number of batches per link. `message_bytes` is the largest batch. A
	 * batch that exceeds a slot uses the slab. `require` and `priority`
	 * must be 0.
	 */
	const struct peal_link_options *link;
	const char *name; /* for texts (default "pipeline"); copied, at most 47
			   * bytes: "..." replaces the middle of more */
	uint32_t skip_failed; /* 1: drop and count failed batches; needs one
			       * worker per stage (default 0: a failure ends the
			       * pipeline) */
	uint32_t reserved; /* 0 */
};

/** A pipeline and its counters. */
struct peal_pipeline_info {
	char name[48];
	uint32_t stages, workers, capacity; /* workers per stage; of a link */
	int32_t failed_stage; /* index of a stage that failed; -1: none */
	uint64_t pushed, pushed_bytes; /* batches that the pipeline accepted */
	uint64_t pulled, pulled_bytes; /* batches that the host has pulled */
	uint64_t dead; /* batches, over all links, that no stage handled, or
			* that a handler failed on */
	uint64_t in_flight; /* batches in links and in handlers now */
	uint64_t in_flight_max; /* the maximum of `in_flight` */
	uint64_t memory_bytes; /* of kernels and links, on all devices and the
				* host; constant */
	int closed; /* 1: the pipeline accepts no more batches */
};

/**
 * A stage, its counters and its times, summed over its workers.
 *
 * The times begin when the pipeline is made. The runtime samples them, as
 * peal/metrics.h describes. Derived values:
 *
 *	busy_ns / handled		mean time in the handler
 *	busy_ns / worker_ns		share of time in the handler
 *	residence_ns / (delivered + dead)	mean time from acceptance of
 *					a batch to the end of its handler
 */
struct peal_pipeline_stage_info {
	char name[96];
	int device; /* device index */
	uint32_t workers, lanes; /* lanes per worker */
	uint64_t accepted, accepted_bytes; /* by the links to the stage */
	uint64_t delivered, delivered_bytes; /* from these links */
	uint64_t dead; /* batches of these links, for any reason */
	uint64_t queued; /* batches in these links and in handlers now */
	uint64_t full_count; /* of these links, as in struct peal_link_info */
	uint64_t handled, failed; /* as in struct peal_kernel_info */
	uint64_t samples; /* each is one look at one worker */
	uint64_t worker_ns, busy_ns; /* all time; time in the handler */
	uint64_t blocked_ns; /* time with a batch that the next link has no free
			      * slot for */
	uint64_t residence_ns; /* sum over batches: time in links to the stage
			   * and in its handler */
};

/**
 * Makes a pipeline: launches its kernels, spawns the actors and connects them.
 *
 * After an error nothing remains. Thread-safe. Blocks as peal_kernel_launch.
 *
 * @param runtime      an open runtime.
 * @param stages       n stages, in order.
 * @param n            1 or more.
 * @param options      NULL: all defaults.
 * @param pipeline_out receives the pipeline; the caller destroys it.
 * @return 0, or an error as peal_kernel_launch, peal_actor_spawn and peal_connect,
 *         and the following. The error text names the stage. PEAL_ENOTSUP: without
 *         skip_failed the programs need PEAL_USE_SUPERVISION.
 * @retval PEAL_EINVAL  a pointer is NULL, n is 0, or an option is out of range.
 *                      A handler is a task, or its ports are not exactly one.
 *                      Or `workers` is above 1 and its messages are not one.
 * @retval PEAL_ENODEV  there is no such device.
 * @retval PEAL_ENOENT  the program has no such handler.
 * @retval PEAL_ENOMEM  there is too little memory.
 */
int peal_pipeline_create(struct peal_runtime *runtime,
			 const struct peal_pipeline_stage *stages, uint32_t n,
			 const struct peal_pipeline_options *options,
			 struct peal_pipeline **pipeline_out);

/**
 * Pushes a copy of a batch.
 *
 * A push looks for failed stages at every 64th batch and when the pipeline is
 * full. After peal_pipeline_pull has reported a failure, every push reports it.
 * A push drops a reserved batch.
 *
 * Only the pushing thread may call this. Blocks while the pipeline is full, at
 * most timeout_ns. Another thread must then pull.
 *
 * @param pipeline   a pipeline.
 * @param type       the batch's type; the program defines it.
 * @param data       `bytes` bytes; may be NULL if bytes is 0.
 * @param bytes      0 to the links' message_bytes.
 * @param timeout_ns ns to wait for a free slot; 0: do not wait; negative: no
 *                   limit.
 * @return 0, or a negative error code:
 * @retval PEAL_EAGAIN     the pipeline is full and timeout_ns is 0.
 * @retval PEAL_ETIMEDOUT  the pipeline was full for timeout_ns.
 * @retval PEAL_EMSGSIZE   the batch is too long.
 * @retval PEAL_EPIPE      the pipeline was closed.
 * @retval PEAL_EHANDLER   a handler has failed; the text names its stage.
 * @retval PEAL_ESTOPPED   a kernel has ended; the text names its stage.
 * @retval PEAL_EINVAL     a pointer is NULL.
 */
int peal_pipeline_push(struct peal_pipeline *pipeline, uint16_t type,
		       const void *data, uint64_t bytes, int64_t timeout_ns);

/**
 * Reserves a slot for a batch, so that the caller writes it without a copy.
 *
 * peal_pipeline_commit pushes the batch. A second reserve replaces the first.
 * Threads and waiting are as for peal_pipeline_push.
 *
 * @param pipeline   a pipeline.
 * @param bytes      exact length of the batch.
 * @param timeout_ns as peal_pipeline_push.
 * @param place_out  receives the address of `bytes` bytes, aligned to 8. The
 *                   caller may write there until the commit.
 * @return as peal_pipeline_push.
 */
int peal_pipeline_reserve(struct peal_pipeline *pipeline, uint64_t bytes,
			  int64_t timeout_ns, void **place_out);

/**
 * Pushes the reserved batch.
 *
 * Only the pushing thread may call this. Wait-free.
 *
 * @param pipeline a pipeline.
 * @param type     the batch's type; the program defines it.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  no batch is reserved, or pipeline is NULL.
 */
int peal_pipeline_commit(struct peal_pipeline *pipeline, uint16_t type);

/**
 * Pulls the next batch into a buffer.
 *
 * Only the pulling thread may call this. Blocks until the last stage emits a
 * batch, at most timeout_ns.
 *
 * @param pipeline     a pipeline.
 * @param buffer       receives the batch; `buffer_bytes` bytes.
 * @param buffer_bytes bytes of the buffer.
 * @param received_out filled on success. Its `sequence` counts the batches that
 *                     were pulled before.
 * @param timeout_ns   ns to wait for a batch; 0: do not wait; negative: no
 *                     limit.
 * @return 0, or a negative error code:
 * @retval PEAL_EAGAIN     there is no batch and timeout_ns is 0.
 * @retval PEAL_ETIMEDOUT  there was no batch for timeout_ns.
 * @retval PEAL_EEND       the pipeline was closed, and all batches are pulled.
 * @retval PEAL_EMSGSIZE   the buffer is too short. The batch remains, and
 *                         received_out->length is the required size.
 * @retval PEAL_EHANDLER   a handler has failed; the text names its stage. All
 *                         batches from before the failure are pulled.
 * @retval PEAL_ESTOPPED   a kernel has ended early; the text names its stage.
 * @retval PEAL_EPROTO     a handler of several workers did not emit exactly one
 *                         message per batch.
 * @retval PEAL_EINVAL     a pointer is NULL.
 */
int peal_pipeline_pull(struct peal_pipeline *pipeline, void *buffer,
		       uint64_t buffer_bytes,
		       struct peal_received *received_out, int64_t timeout_ns);

/**
 * Returns the next batch in place, without a copy.
 *
 * peal_pipeline_release ends the access. Until then, a second peek returns the
 * same batch. Threads and waiting are as for peal_pipeline_pull.
 *
 * @param pipeline     a pipeline.
 * @param received_out filled on success; its data are valid until the release.
 * @param timeout_ns   as peal_pipeline_pull.
 * @return as peal_pipeline_pull, but never PEAL_EMSGSIZE.
 */
int peal_pipeline_peek(struct peal_pipeline *pipeline,
		       struct peal_received *received_out, int64_t timeout_ns);

/**
 * Removes the batch of the last peek. Wait-free.
 *
 * Only the pulling thread may call this.
 *
 * @param pipeline a pipeline.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  no batch was peeked, or pipeline is NULL.
 */
int peal_pipeline_release(struct peal_pipeline *pipeline);

/**
 * Declares that no batch follows.
 *
 * The stages handle all batches inside, and then the kernels end. A reserved
 * batch is dropped. After the first call, even a failed one, a push may fail
 * with PEAL_EPIPE. Only the pushing thread may call this. Blocks until the
 * first links have free slots for the end marks, at most timeout_ns.
 *
 * @param pipeline   a pipeline.
 * @param timeout_ns as peal_pipeline_push.
 * @return 0, or a negative error code:
 * @retval PEAL_EAGAIN     no slot was free and timeout_ns is 0: call again.
 * @retval PEAL_ETIMEDOUT  no slot was free for timeout_ns: call again.
 * @retval PEAL_EPIPE      the pipeline was closed before.
 * @retval PEAL_ESTOPPED   a kernel has ended; the text names its stage.
 * @retval PEAL_EINVAL     pipeline is NULL.
 */
int peal_pipeline_close(struct peal_pipeline *pipeline, int64_t timeout_ns);

/**
 * Closes the pipeline, if it is open, and waits until its kernels have ended.
 *
 * Only the pushing thread may call this. Another thread must pull if the last
 * links cannot hold all remaining batches. After a time-out, call again.
 *
 * @param pipeline   a pipeline.
 * @param timeout_ns ns to wait; 0: do not wait; negative: no limit.
 * @return 0: every stage has handled every batch, and the host can pull the
 *         rest; or a negative error code:
 * @retval PEAL_ETIMEDOUT  a stage has not ended; the text names it.
 * @retval PEAL_EHANDLER   a handler has failed; the text names its stage.
 * @retval PEAL_ESTOPPED   a kernel has ended early; the text names its stage.
 * @retval PEAL_EINVAL     pipeline is NULL.
 */
int peal_pipeline_drain(struct peal_pipeline *pipeline, int64_t timeout_ns);

/**
 * Ends the kernels after the batches that the handlers work on.
 *
 * The host can still pull the batches in the last links. The batches in other
 * links become dead. Thread-safe.
 *
 * @param pipeline   a pipeline.
 * @param timeout_ns ns to wait for all kernels; negative: no limit; 0: only
 *                   request the end and return 0.
 * @return 0, or a negative error code:
 * @retval PEAL_ETIMEDOUT  a handler still runs; the text names it.
 * @retval PEAL_EINVAL     pipeline is NULL.
 */
int peal_pipeline_stop(struct peal_pipeline *pipeline, int64_t timeout_ns);

/**
 * Reads the counters of a pipeline, without stopping it. Thread-safe.
 *
 * @param pipeline a pipeline.
 * @param info_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  a pointer is NULL.
 */
int peal_pipeline_info(struct peal_pipeline *pipeline,
		       struct peal_pipeline_info *info_out);

/**
 * Reads the counters and times of a stage, without stopping it. Thread-safe.
 *
 * @param pipeline a pipeline.
 * @param stage    0 to stages - 1.
 * @param info_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT  there is no such stage.
 * @retval PEAL_EINVAL  a pointer is NULL.
 */
int peal_pipeline_stage_info(struct peal_pipeline *pipeline, uint32_t stage,
			     struct peal_pipeline_stage_info *info_out);

/**
 * Returns the kernel of a stage. Thread-safe, wait-free.
 *
 * The pipeline owns the kernel: do not destroy the kernel.
 *
 * @param pipeline a pipeline.
 * @param stage    0 to stages - 1.
 * @return the kernel; NULL: there is no such stage.
 */
struct peal_kernel *peal_pipeline_kernel(struct peal_pipeline *pipeline,
					 uint32_t stage);

/**
 * Returns the address of a stage's actor, for example for peal_actor_state.
 * Thread-safe, wait-free.
 *
 * @param pipeline a pipeline.
 * @param stage    0 to stages - 1.
 * @param worker   0 to workers - 1.
 * @return the address; 0: there is no such actor.
 */
uint64_t peal_pipeline_actor(struct peal_pipeline *pipeline, uint32_t stage,
			     uint32_t worker);

/**
 * Returns a link of a pipeline.
 *
 * The pipeline owns the link: do not destroy the link. Thread-safe, wait-free.
 *
 * @param pipeline a pipeline.
 * @param stage    the stage that the link leads to; `stages`: the link to the
 *                 host.
 * @param worker   0 to workers - 1.
 * @return the link; NULL: there is no such link.
 */
struct peal_link *peal_pipeline_link(struct peal_pipeline *pipeline,
				     uint32_t stage, uint32_t worker);

/**
 * Stops a pipeline in any state and frees it; batches inside are lost.
 *
 * No other call on the pipeline may run at the same time. The call waits 1 s
 * for the kernels. Then it aborts each and waits up to PEAL_CONTROL_TIMEOUT_MS.
 *
 * @param pipeline a pipeline; NULL does nothing.
 * @return 0, or a negative error code:
 * @retval PEAL_EHUNG  a handler does not end (the text names it): call again.
 * @retval PEAL_EBUSY  a link, topic or barrier of the caller names a kernel.
 */
int peal_pipeline_destroy(struct peal_pipeline *pipeline);

PEAL_END_C
#endif
