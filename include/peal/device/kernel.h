/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_KERNEL_H
#define PEAL_DEVICE_KERNEL_H

#include <peal/abi/program.h>
#include <peal/device/ask.h>
#include <peal/device/batch_tell.h>
#include <peal/device/budget.h>
#include <peal/device/deadline.h>
#include <peal/device/hlc.h>
#include <peal/device/impl/loop/batch_done.h>
#include <peal/device/impl/loop/loop.h>
#include <peal/device/message.h>
#include <peal/device/monitor.h>
#include <peal/device/dedup.h>
#include <peal/device/barrier.h>
#include <peal/device/device_queue.h>
#include <peal/device/request.h>
#include <peal/device/sender.h>
#include <peal/device/spawn.h>
#include <peal/device/tell.h>
#include <peal/device/timer.h>
#include <peal/device/typed_message.h>
#include <peal/device/typed_queue.h>
#include <peal/device/work_lanes.h>

/*
 * The header for a kernel source.
 *
 * 1. Define the handlers. A handler returns 0 or an error. Each value but 0,
 *    also a positive one, is a failure.
 * 2. List them, each with the bytes of its actors' state and its limits.
 * 3. Make a program of the list.
 *
 *	static PEAL_DEV int scale(struct peal_worker *w) { ... return 0; }
 *
 *	#define HANDLERS(X) X(scale, sizeof(struct scale), PEAL_EMITS(1, 1))
 *	PEAL_PROGRAM(scaler, HANDLERS);
 *
 * The host gets the program as `peal_program_scaler`. Another source declares
 * it by PEAL_DECLARE_PROGRAM(scaler). Program names that begin with peal_ are
 * reserved for libpeal.
 *
 * Compile the source with peal-cc or peal_add_program, not with a plain compiler:
 * a program has several objects. Else the linker misses the symbol
 * peal_entry_scaler_single_needs_peal_cc_or_peal_add_program.
 *
 * If handlers spawn actors (spawn.h), define the list before the handlers, then
 * write PEAL_HANDLERS(HANDLERS). PEAL_HANDLER(scale) then names a handler.
 *
 * A program pays for its features on a GPU. Define PEAL_USES before this header
 * to choose them: see features.h. By default it has all features but pools.
 *
 * A handler run that sends more than its limits gets PEAL_EAGAIN. For GPUs,
 * define PEAL_CHECK_LIMITS as 1 before this header to check that for each
 * message: see emit.h.
 */

/** Limits of a handler that sends nothing. */
#define PEAL_SINK 0, 0, 0, 0, 0, 0
/** Limits: number of ports, and most messages per port for one message. */
#define PEAL_EMITS(ports, per_port) (ports), (per_port), 0, 0, 0, 0
/** Limits: most messages by peal_tell for one message, below 32768. Add
 * PEAL_TO_ALL for a call of peal_tell_all: PEAL_TELLS(PEAL_TO_ALL | 2). */
#define PEAL_TELLS(messages) 0, 0, (messages), 0, 0, 0
/**
 * All limits, and the exact payload bytes that the handler takes and emits (0:
 * any length). For a message of another length the handler does not run. That
 * message is dead with error PEAL_EMALFORMED. Down messages and dead letters
 * may have any length.
 */
#define PEAL_LIMITS(ports, per_port, tells, input_bytes, output_bytes)         \
	(ports), (per_port), (tells), 0, (input_bytes), (output_bytes)

/**
 * Such limits, for a handler with init and exit hooks: see lifecycle.h. Example:
 * PEAL_WITH_HOOKS(PEAL_EMITS(1, 1)).
 */
#define PEAL_WITH_HOOKS(...) PEALI_WITH_HOOKS(__VA_ARGS__)
#define PEALI_WITH_HOOKS(ports, per_port, tells, kind, input, output)          \
	(ports), (per_port), (tells), PEALI_HOOKS_##kind, (input), (output)
#define PEALI_HOOKS_0 1
#define PEALI_HOOKS_1 1
#define PEALI_HOOKS_2 3
#define PEALI_HOOKS_3 3
#define PEALI_HOOKS_6 7
#define PEALI_HOOKS_7 7

/* The compiler shows this name if PEAL_HANDLER gets an unknown handler. */
#define PEALI_INDEX(function, ...) peali_not_in_PEAL_HANDLERS_##function,
#define PEALI_ENUM(function, ...) peali_handler_##function,
#define PEALI_CASE(function, state_bytes, ...)                                 \
	case peali_handler_##function:                                         \
		PEALI_RUN(function, __VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define PEALI_RUN(function, ports, emits, tells, kind, input, ...)             \
	PEALI_RUN_##kind(function, input)
#define PEALI_RUN_0(function, input)                                           \
	return peali_takes(w, (input)) ? function(w) : PEAL_EMALFORMED;
#define PEALI_RUN_1(function, input) PEALI_RUN_0(function, input)
#define PEALI_RUN_2(function, input) PEALI_RUN_BATCH(function, input, 0)
#define PEALI_RUN_3(function, input) PEALI_RUN_BATCH(function, input, 0)
#define PEALI_RUN_6(function, input) PEALI_RUN_BATCH(function, input, 1)
#define PEALI_RUN_7(function, input) PEALI_RUN_BATCH(function, input, 1)
#define PEALI_RUN_BATCH(function, input, shared)                               \
	{                                                                      \
		struct peal_batch peali_b;                                     \
                                                                               \
		if (!peali_batch_open(w, &peali_b, (input), shared))           \
			return PEAL_EMALFORMED;                                \
		return peali_batch_done(w, &peali_b, function(w, &peali_b));   \
	}
#define PEALI_ROW(function, state_bytes, ...)                                  \
	{ #function, (uint32_t)(state_bytes), __VA_ARGS__ },

/* The number of arguments, 1 to 8. */
#define PEALI_COUNT(...) PEALI_COUNT_AT(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define PEALI_COUNT_AT(a, b, c, d, e, f, g, h, n, ...) n
#define PEALI_CHECK_USES(function, ports, emits, tells, kind, ...)             \
	PEAL_STATIC_ASSERT(!(tells) || PEALI_USES(MAIL) || PEALI_USES(POOLS),  \
			   "PEAL_PROGRAM: the handler " #function              \
			   " tells messages, and PEAL_USES lacks "             \
			   "PEAL_USE_MAIL");                                   \
	PEAL_STATIC_ASSERT(!((tells)&PEAL_TO_ALL) || PEALI_USES(MAIL),         \
			   "PEAL_PROGRAM: the handler " #function              \
			   " tells all actors, and PEAL_USES lacks "           \
			   "PEAL_USE_MAIL");                                   \
	PEAL_STATIC_ASSERT(!((tells)&PEAL_TO_ALL) ||                           \
				   !((kind)&PEAL_HANDLER_BATCH),               \
			   "PEAL_PROGRAM: the batch handler " #function        \
			   " declares PEAL_TO_ALL, and such a handler "        \
			   "tells no message to all actors");                  \
	PEAL_STATIC_ASSERT(!((kind)&PEAL_HANDLER_HOOKS) || PEALI_USES(HOOKS),  \
			   "PEAL_PROGRAM: the handler " #function              \
			   " has hooks, and PEAL_USES lacks PEAL_USE_HOOKS");
#define PEALI_CHECK(function, state_bytes, ...)                                \
	PEAL_STATIC_ASSERT(PEALI_COUNT(__VA_ARGS__) == 6,                      \
			   "PEAL_PROGRAM: the list must be X(" #function       \
			   ", state bytes, limits), the limits PEAL_SINK, "    \
			   "PEAL_EMITS, PEAL_TELLS, PEAL_LIMITS, "             \
			   "PEAL_WITH_HOOKS or PEAL_BATCH");                   \
	PEALI_CHECK_USES(function, __VA_ARGS__, 0, 0, 0, 0, 0, 0)

/**
 * Declares the numbers for PEAL_HANDLER, before handlers that spawn actors.
 * HANDLERS is the list of PEAL_PROGRAM.
 */
#define PEAL_HANDLERS(HANDLERS)                                                \
	enum peali_indices { HANDLERS(PEALI_INDEX) peali_n_indices }

/** The number of a handler in its program, for peal_spawn. */
#define PEAL_HANDLER(function) ((uint32_t)peali_not_in_PEAL_HANDLERS_##function)

/* Fills in a worker, or on the host a lane's view of it. */
static PEAL_DEV PEAL_UNUSED inline void
peali_worker_init(struct peal_worker *w,
		  const struct peal_kernel_params *params, uint32_t worker,
		  uint32_t lane)
{
	struct peal_worker_layout at = peal_worker_tables(params);
	uint8_t *base = (uint8_t *)(uintptr_t)(params->workers +
					       worker * params->worker_stride);

	w->params = params;
	w->control =
		(const struct peal_kernel_control *)(uintptr_t)params->control;
	w->status =
		(struct peal_worker_status *)(uintptr_t)params->status + worker;
	w->state = (struct peal_worker_state *)(void *)base;
	w->inputs = (struct peal_input *)(void *)(base + at.inputs);
	w->outputs = (struct peal_output *)(void *)(base + at.outputs);
	w->pools = (struct peal_pool_place *)(void *)(base + at.pools);
	w->barriers = (struct peal_barrier_view *)(void *)(base + at.barriers);
	w->sent = (uint64_t *)(void *)(base + at.sent);
#if PEALI_CHECK_LIMITS
	w->spent = (uint64_t *)(void *)(base + at.spent);
#endif
	w->priority_inputs = (uint32_t *)(void *)(base + at.priority_inputs);
	w->scratch = (uint64_t *)(void *)(base + at.scratch);
	w->timers = params->max_timers ?
			    (struct peal_timers *)(void *)(base + at.timers) :
			    0;
	w->asks = params->max_asks ?
			  (struct peal_asks *)(void *)(base + at.asks) :
			  0;
	w->mailbox = 0;
	if (params->mailboxes)
		w->mailbox = peali_mailbox(w, worker);
	w->box = w->mailbox;
	w->actor = 0;
	w->index = worker;
	w->ended = 0;
#if PEAL_ON_HOST
	w->lane = lane;
	w->lanes = params->lanes;
	w->ahead_pause = 0;
	w->unrung = 0;
#else
	(void)lane;
	w->turn = 0;
	w->events = 0;
	w->failed = 0;
	w->aborted = 0;
	w->error = 0;
	w->broadcast_at = &w->broadcast_word;
	w->n_sent_by = w->n_got_by = 0;
#if PEALI_HAS_WARPS
	w->warp = peali_is_one_warp(w) ? peal_hw_warp() : 0;
#endif
	w->told_at = peali_cycles();
#endif
	w->fits_left = 0;
	w->fits_actor = 0;
}

/* The leader checks in, once per launch. */
PEALI_SLOW(void, peali_worker_begin, struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;

	s->epoch.began_ns = peal_clock_ns();
	s->epoch.polls = 0;
	if (!s->started) {
		s->started = 1;
		peal_store_relaxed_sys(&w->status->clock_step,
				       peali_clock_step());
		if (!PEAL_ON_HOST)
			peal_store_relaxed_sys(&w->status->uses,
					       1 + PEALI_USED);
		s->lease.seen_ns = s->epoch.began_ns;
		peal_link_consumer_init(&s->control.link, &s->control.view);
		s->source.burst_max = PEALI_BURST;
		s->published.header = PEALI_NO_HEADER;
		s->published.input = ~0u;
		if (peali_own_mailbox(w)) {
			s->mail.lease.granted = peali_admission(w)->keep;
			s->mail.lease_high_water =
				peali_admission(w)->keep +
				2 * (uint64_t)peali_admission(w)->lease;
			s->mail.flush_every = peali_admission(w)->tell;
			s->priority.used = peali_high_boxes(w) != 0;
		}
		if (peali_own_timers(w))
			peali_timers_init(peali_own_timers(w), w->params);
		if (peali_own_asks(w))
			peali_own_asks(w)->max = w->params->max_asks;
	}
	s->source.idle = 0;
	peali_wait_limit(w);
	s->source.burst_quota = s->source.burst_left = s->source.mail_run = 0;
	s->source.turns_since_poll =
		PEALI_CONTROL_POLL_INTERVAL; /* begin with the control words */
	if (!s->published.suspended)
		peal_store_release_sys(&w->status->phase, PEAL_WORKER_RUNNING);
}

/* All lanes call this before the worker's loop. */
static PEAL_DEV PEAL_UNUSED inline void
peali_worker_enter(struct peal_worker *w,
		   const struct peal_kernel_params *params, uint32_t worker,
		   uint32_t lane)
{
	if (PEAL_ON_HOST || lane == 0)
		peali_worker_init(w, params, worker, lane);
#if !PEAL_ON_HOST
	peal_hw_sync();
#endif
	peali_hot_begin(w);
	if (lane == 0)
		peali_worker_begin(w);
#if !PEAL_ON_HOST
	peal_hw_sync();
#endif
	peali_cluster_begin(w);
}

#if PEAL_ON_HOST

/*
 * The entry for workers of one lane, in a second object of the source. The linker
 * shows this name if a plain compiler has made only the first object.
 */
#define PEALI_SINGLE_ENTRY(program)                                            \
	peal_entry_##program##_single_needs_peal_cc_or_peal_add_program

#define PEALI_WORKER struct peal_worker
#if PEAL_SINGLE_LANE
#define PEALI_ENTRY(program) PEALI_SINGLE_ENTRY(program)
#define PEALI_DESCRIPTOR(program, HANDLERS)
#else
#define PEALI_ENTRY(program) peal_entry_##program
#define PEALI_DESCRIPTOR(program, HANDLERS)                                    \
	PEAL_EXTERN_C int PEALI_SINGLE_ENTRY(                                  \
		program)(const struct peal_kernel_params *params,              \
			 uint32_t worker, uint32_t lane);                      \
	static const struct peal_handler_info peali_handlers_##program[] = {   \
		HANDLERS(PEALI_ROW)                                            \
	};                                                                     \
	PEAL_EXTERN_C const struct peal_program peal_program_##program;        \
	const struct peal_program peal_program_##program = {                   \
		sizeof(struct peal_program),                                   \
		sizeof(peali_handlers_##program) /                             \
			sizeof(peali_handlers_##program[0]),                   \
		#program,                                                      \
		peali_handlers_##program,                                      \
		peal_entry_##program,                                          \
		PEALI_SINGLE_ENTRY(program),                                   \
		PEAL_IMAGES,                                                   \
		PEAL_SOURCES,                                                  \
		PEALI_USED,                                                    \
		0,                                                             \
	};
#endif

/* The entry: runs a lane of a worker until the worker ends. */
#define PEALI_ENTRIES(program, HANDLERS)                                       \
	PEAL_EXTERN_C int PEALI_ENTRY(                                         \
		program)(const struct peal_kernel_params *params,              \
			 uint32_t worker, uint32_t lane);                      \
	int PEALI_ENTRY(program)(const struct peal_kernel_params *params,      \
				 uint32_t worker, uint32_t lane)               \
	{                                                                      \
		return peali_run_##program(params, worker, lane);              \
	}                                                                      \
	PEALI_DESCRIPTOR(program, HANDLERS)

#else

/* The entry: launched with a block per worker and a thread per lane. */
#define PEALI_WORKER PEAL_SHARED struct peal_worker
#define PEALI_ENTRIES(program, HANDLERS)                                       \
	PEAL_KERNEL PEAL_KERNEL_MAX_LANES void peal_entry_##program(           \
		const struct peal_kernel_params *params)                       \
	{                                                                      \
		peali_run_##program(params, peal_hw_worker(), peal_hw_lane()); \
	}

#endif

/** Defines a program with a list of handlers; see the top of this file. */
#define PEAL_PROGRAM(program, HANDLERS)                                        \
	PEAL_STATIC_ASSERT(PEALI_USED == ((PEAL_USES) | PEALI_USE_MORE),       \
			   "define PEAL_USES before the first include");       \
	HANDLERS(PEALI_CHECK)                                                  \
	enum peali_handlers_of_##program{ HANDLERS(                            \
		PEALI_ENUM) peali_n_handlers_##program };                      \
	static PEAL_DEV PEAL_INLINE int peali_dispatch_##program(              \
		struct peal_worker *w)                                         \
	{                                                                      \
		switch (PEAL_ENTRY_HANDLER(peali_entry_location(w->actor)) &   \
			PEAL_HANDLER_MASK) {                                   \
			HANDLERS(PEALI_CASE)                                   \
		default:                                                       \
			return PEAL_EHANDLER;                                  \
		}                                                              \
	}                                                                      \
	static PEAL_DEV inline int peali_run_##program(                        \
		const struct peal_kernel_params *params, uint32_t worker,      \
		uint32_t lane)                                                 \
	{                                                                      \
		PEALI_WORKER w;                                                \
                                                                               \
		peali_worker_enter(&w, params, worker, lane);                  \
		while (peal_loop_next(&w))                                     \
			peal_loop_done(&w, peali_dispatch_##program(&w));      \
		peali_cluster_end(&w);                                         \
		return w.ended ? 1 : 0;                                        \
	}                                                                      \
	PEALI_ENTRIES(program, HANDLERS)                                       \
	struct peali_end_of_##program

#endif
