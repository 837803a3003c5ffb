/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_PIPELINE_H
#define PEAL_PIPELINE_H

#include <stdint.h>

#include <peal/endpoint.h>
#include <peal/errors.h>
#include <peal/link.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_kernel;
struct peal_program;
struct peal_runtime;

/*
 * Pipelines: what the host pushes goes through one ring kernel for each stage, from
 * device to device by links, and is pulled by the host in the same order. While one
 * stage works on a batch the stage before works on the next one, so all of them work
 * at a time.
 *
 *	push -> link 0 -> stage 0 -> link 1 -> stage 1 -> ... -> link n -> pull
 *
 * - A handler takes a batch, and emits what becomes of it on port 0. It may emit
 *   nothing, or more than one message, where the pipeline has one worker for each
 *   stage; with more of them it emits exactly one.
 * - With w workers for each stage, batches take turns: w chains of actors from
 *   worker to worker, each with links of its own. So w batches are in a stage at a
 *   time, and come out in order nevertheless.
 * - Memory is all taken when the pipeline is made. There are at most
 *   w * (n + 1) * capacity batches inside, those in hand among them, and as many again
 *   in each link that is staged; more is not accepted before something was pulled.
 * - A handler that fails on a batch ends its actor: what was emitted before can be
 *   pulled, then peal_pipeline_pull says which stage it was. With `skip_failed` the
 *   batch is dropped and counted, and the others go on.
 */
struct peal_pipeline;

/** A stage; zero in a field: its default. */
struct peal_pipeline_stage {
	uint32_t size; /* sizeof(struct peal_pipeline_stage), in all alike */
	int32_t device; /* its index */
	const struct peal_program *program;
	const char *handler; /* name of one of the program's */
	const void *init; /* first bytes of the state of each of its actors, the
			   * rest is 0; copied */
	uint64_t init_bytes;
	uint32_t lanes; /* of each worker; 1 on emulated devices, elsewhere 128 or
			 * as many as there are */
	uint32_t require; /* mask of enum peal_route: the link from the stage
			   * before takes one of these; any. Not for the first */
	const char *name; /* for texts; "handler@device". Copied. */
};

/** Zero in a field: its default. */
struct peal_pipeline_options {
	uint32_t size; /* sizeof(struct peal_pipeline_options) */
	uint32_t workers; /* of each stage, up to 4096; 1 */
	/*
	 * Of every link: `capacity` is how many batches it holds, `message_bytes`
	 * how long they may be, `require` nothing, see the stages. Those that the
	 * longest batch has no slot for go by a slab. NULL: all defaults.
	 */
	const struct peal_link_options *link;
	const char *name; /* for texts; "pipeline". Copied. */
	uint32_t skip_failed; /* 1: see above; with one worker for each stage */
	uint32_t reserved; /* 0 */
};

/** A pipeline. */
struct peal_pipeline_info {
	char name[48];
	uint32_t stages, workers, capacity;
	int32_t failed_stage; /* whose handler has failed; -1: none */
	uint64_t pushed, pushed_bytes; /* batches that were accepted */
	uint64_t pulled, pulled_bytes;
	uint64_t dead; /* batches of all links that no stage has handled, or that
			* its handler has failed on */
	uint64_t inside; /* in links and in hand, now */
	uint64_t inside_most; /* that there can be */
	uint64_t memory_bytes; /* of kernels and links, on all devices and the
				* host: from its making on the same */
	int closed; /* 1: nothing more is pushed */
};

/**
 * A stage, and its times since the pipeline was made: the sums over its workers. How
 * they are sampled peal/metrics.h says. busy_ns / handled is the mean time in the
 * handler, busy_ns / worker_ns the share of its time that it was busy, stay_ns /
 * (delivered + dead) the mean time from when a batch was accepted until it was
 * handled.
 */
struct peal_pipeline_stage_info {
	char name[96];
	int device;
	uint32_t workers, lanes;
	uint64_t accepted, accepted_bytes; /* by the links to it */
	uint64_t delivered, delivered_bytes;
	uint64_t dead; /* of the links to it, for any reason */
	uint64_t queued; /* in them and in hand, now */
	uint64_t full; /* times that who sends to it found no room */
	uint64_t handled, failed; /* as in struct peal_kernel_info */
	uint64_t samples; /* looks at one of its workers each */
	uint64_t worker_ns, busy_ns;
	uint64_t blocked_ns; /* with a batch for which the next stage has no
			      * room */
	uint64_t stay_ns; /* in links to it and in hand, added up over batches */
};

/**
 * Makes a pipeline: launches its kernels and connects them.
 *
 * @param runtime      an open runtime.
 * @param stages       n of them, in order.
 * @param n            1 or more.
 * @param options      NULL for all defaults.
 * @param pipeline_out the pipeline; the caller destroys it.
 * @return 0; PEAL_EINVAL no stage, an option out of its range (named), a handler
 *         that emits on no port, or not exactly one message where a stage has more
 *         workers; PEAL_ENODEV; PEAL_ENOENT no such handler; what
 *         peal_kernel_launch, peal_actor_spawn and peal_connect say. The text names
 *         the stage, and nothing is left. Thread-safe.
 */
int peal_pipeline_create(struct peal_runtime *runtime,
			 const struct peal_pipeline_stage *stages, uint32_t n,
			 const struct peal_pipeline_options *options,
			 struct peal_pipeline **pipeline_out);

/**
 * Pushes a batch.
 *
 * @param pipeline   a pipeline.
 * @param type       the program's own number.
 * @param data       `bytes` bytes.
 * @param bytes      at most the links' message_bytes.
 * @param timeout_ns how long to wait for room; 0: not, -1: for ever.
 * @return 0 it was accepted; PEAL_EAGAIN (timeout 0) or PEAL_ETIMEDOUT the pipeline
 *         is full, nothing was pushed; PEAL_EMSGSIZE; PEAL_EPIPE it was closed;
 *         PEAL_EHANDLER a stage has failed (named), which is known at the latest
 *         when that was pulled; PEAL_ESTOPPED a kernel has ended (named);
 *         PEAL_EINVAL. One thread at a time pushes, reserves, commits, closes and
 *         drains; another one may pull.
 */
int peal_pipeline_push(struct peal_pipeline *pipeline, uint16_t type,
		       const void *data, uint64_t bytes, int64_t timeout_ns);

/**
 * Makes room for a batch and gives the place to write it, with no copy.
 *
 * @param pipeline   a pipeline.
 * @param bytes      exact length of the batch.
 * @param timeout_ns as peal_pipeline_push.
 * @param place_out  `bytes` bytes, aligned to 8; the caller's until the commit. A
 *                   second reserve replaces the first.
 * @return as peal_pipeline_push. One thread at a time, see there.
 */
int peal_pipeline_reserve(struct peal_pipeline *pipeline, uint64_t bytes,
			  int64_t timeout_ns, void **place_out);

/**
 * Pushes what was written to the reserved place.
 *
 * @param pipeline a pipeline.
 * @param type     the program's own number.
 * @return 0; PEAL_EINVAL nothing is reserved. One thread at a time, see
 *         peal_pipeline_push; wait-free.
 */
int peal_pipeline_commit(struct peal_pipeline *pipeline, uint16_t type);

/**
 * Pulls the next batch into a buffer.
 *
 * @param pipeline     a pipeline.
 * @param buffer       `room` bytes.
 * @param room         size of the buffer.
 * @param received_out filled on success; its `sequence` is how many were pulled
 *                     before.
 * @param timeout_ns   0 looks, -1 waits for ever.
 * @return 0; PEAL_EAGAIN (timeout 0) or PEAL_ETIMEDOUT nothing is there; PEAL_EEND
 *         it was closed, and all was pulled; PEAL_EMSGSIZE the buffer is short, the
 *         batch stays and received_out->length says what it needs; PEAL_EHANDLER a
 *         stage has failed (named), and all that it had emitted before was pulled;
 *         PEAL_ESTOPPED a kernel has ended before its time (named); PEAL_EPROTO a
 *         stage of several workers has not emitted one for each; PEAL_EINVAL. One
 *         thread at a time.
 */
int peal_pipeline_pull(struct peal_pipeline *pipeline, void *buffer,
		       uint64_t room, struct peal_received *received_out,
		       int64_t timeout_ns);

/**
 * Gives the next batch in place, with no copy; peal_pipeline_release ends it.
 *
 * @param pipeline     a pipeline.
 * @param received_out filled on success; its data stay valid until the release.
 * @param timeout_ns   as peal_pipeline_pull.
 * @return as peal_pipeline_pull. One thread at a time.
 */
int peal_pipeline_peek(struct peal_pipeline *pipeline,
		       struct peal_received *received_out, int64_t timeout_ns);

/**
 * Takes the peeked batch off.
 *
 * @param pipeline a pipeline.
 * @return 0; PEAL_EINVAL nothing was peeked. One thread at a time; wait-free.
 */
int peal_pipeline_release(struct peal_pipeline *pipeline);

/**
 * Says that nothing more is pushed. What is inside goes through, and then the kernels
 * end. What is reserved and not committed is dropped.
 *
 * @param pipeline   a pipeline.
 * @param timeout_ns how long to wait for room for that mark, as peal_pipeline_push.
 * @return 0; PEAL_EAGAIN or PEAL_ETIMEDOUT there was none: call again; PEAL_EPIPE it
 *         was closed before; PEAL_ESTOPPED; PEAL_EINVAL. One thread at a time, see
 *         peal_pipeline_push.
 */
int peal_pipeline_close(struct peal_pipeline *pipeline, int64_t timeout_ns);

/**
 * Closes the pipeline, if it is not, and waits until its kernels have ended. Somebody
 * has to pull what the last link does not hold.
 *
 * @param pipeline   a pipeline.
 * @param timeout_ns 0 looks, -1 waits for ever.
 * @return 0 every batch was handled by every stage, and waits at most for being
 *         pulled; PEAL_ETIMEDOUT (the text names the stage that has not ended);
 *         PEAL_EHANDLER a stage has failed (named); PEAL_ESTOPPED; PEAL_EINVAL. One
 *         thread at a time, see peal_pipeline_push.
 */
int peal_pipeline_drain(struct peal_pipeline *pipeline, int64_t timeout_ns);

/**
 * Ends the kernels after the batches in hand. What is in links is dead then, but for
 * what can be pulled.
 *
 * @param pipeline   a pipeline.
 * @param timeout_ns for all of them; -1 for ever. 0 says it and does not wait.
 * @return 0; PEAL_ETIMEDOUT a handler still runs (named); PEAL_EINVAL. Thread-safe.
 */
int peal_pipeline_stop(struct peal_pipeline *pipeline, int64_t timeout_ns);

/**
 * A pipeline and its counters.
 *
 * @param pipeline a pipeline.
 * @param info_out filled on success.
 * @return 0; PEAL_EINVAL. Thread-safe.
 */
int peal_pipeline_info(struct peal_pipeline *pipeline,
		       struct peal_pipeline_info *info_out);

/**
 * A stage, its counters and times.
 *
 * @param pipeline a pipeline.
 * @param stage    0 .. stages - 1.
 * @param info_out filled on success.
 * @return 0; PEAL_ENOENT no such stage; PEAL_EINVAL. Thread-safe.
 */
int peal_pipeline_stage_info(struct peal_pipeline *pipeline, uint32_t stage,
			     struct peal_pipeline_stage_info *info_out);

/**
 * The kernel of a stage, for what there is no call for here. It stays the pipeline's.
 *
 * @param pipeline a pipeline.
 * @param stage    0 .. stages - 1.
 * @return the kernel; NULL: none such. Thread-safe, wait-free.
 */
struct peal_kernel *peal_pipeline_kernel(struct peal_pipeline *pipeline,
					 uint32_t stage);

/**
 * The address of a stage's actor, as for peal_actor_state.
 *
 * @param pipeline a pipeline.
 * @param stage    0 .. stages - 1.
 * @param worker   0 .. workers - 1.
 * @return the address; 0: none such. Thread-safe, wait-free.
 */
uint64_t peal_pipeline_actor(struct peal_pipeline *pipeline, uint32_t stage,
			     uint32_t worker);

/**
 * A link of a pipeline, which stays the pipeline's.
 *
 * @param pipeline a pipeline.
 * @param stage    to which stage it leads; `stages`: to who pulls.
 * @param worker   0 .. workers - 1.
 * @return the link; NULL: none such. Thread-safe, wait-free.
 */
struct peal_link *peal_pipeline_link(struct peal_pipeline *pipeline,
				     uint32_t stage, uint32_t worker);

/**
 * Ends a pipeline in whatever state, and frees it. What is inside is gone.
 *
 * @param pipeline a pipeline; NULL does nothing.
 * @return 0; PEAL_EHUNG a handler does not end (named): call again. No other call on
 *         it may run at the same time.
 */
int peal_pipeline_destroy(struct peal_pipeline *pipeline);

#ifdef __cplusplus
}
#endif
#endif
