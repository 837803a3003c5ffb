/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_WORKER_H
#define PEAL_DEVICE_WORKER_H

#include <peal/abi/ask.h>
#include <peal/abi/control.h>
#include <peal/device/impl/queue/admission.h>
#include <peal/device/impl/queue/publish.h>
#include <peal/device/impl/base/slow.h>
#include <peal/device/work_set.h>
#include <peal/device/impl/queue/subscribe.h>
#include <peal/device/impl/worker/timer_table.h>
#include <peal/device/impl/worker/worker_state.h>

/* Most successive messages from one input before the next input's turn. */
#define PEALI_BURST 32

/* Most inputs, and most ports, with counts that the host may not have yet. */
#define PEALI_UNTOLD 4

/* The parts of a worker. The functions that its handlers call are in lanes.h,
 * emit.h and tell.h. */

/** A worker's input: the receiving end of a link with its next ring. It is a
 * topic if the link's state is PEALI_STATE_TOPIC. */
struct peal_input {
	struct peal_link_consumer link;
	union {
		struct peal_link_view next; /* the ring after a SEAL */
		struct peal_subscription *topic;
	};
	uint32_t flags; /* enum peal_input_flag, and PEALI_INPUT_FAR_END */
	uint32_t cluster_place; /* PEAL_CLUSTER_PLACE of its slots; 0: not in
				 * a cluster */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_input) == 256, "found by a shift");

enum peal_input_flag {
	PEAL_INPUT_USED = 1, /* has a link */
	PEAL_INPUT_NEXT = 2, /* `next` is filled */
	PEAL_INPUT_LAST = 4, /* the sender is gone: ends when empty */
	PEAL_INPUT_PRIORITY = 8, /* of high priority */
	PEAL_INPUT_FWD_LINK = 16 /* a forwarding link from another
				 * kernel */
};

/* The number of the sending end, in the upper half of the flags; 0: none. */
#define PEALI_INPUT_FAR_END(flags) ((flags) >> 16)

/** The sending end of a port: of a link, or of a topic as for an input. */
struct peal_output {
	struct peal_link_producer link;
	uint8_t used; /* 1: has a link or topic; or PEAL_OUTPUT_FWD_LINK */
	uint8_t switching; /* 1: `next` is filled */
	uint16_t far_end; /* number of the receiving end; 0: none */
	union {
		uint32_t cluster_place; /* as for an input */
		uint32_t fwd_slots_held; /* of a forwarding link: mailbox slots
				 * that its messages hold, see
				 * impl/loop/actor_forward.h */
	};
	union {
		struct peal_link_view next; /* the ring after a SEAL to send */
		struct peal_publication *topic;
	};
};

PEAL_STATIC_ASSERT(sizeof(struct peal_output) == 256, "found by a shift");

/** As `used`: a forwarding link to another kernel. */
#define PEAL_OUTPUT_FWD_LINK 2

/** A worker's part in a pool: its shard of the pool's work queues. */
struct peal_pool_place {
	uint64_t set; /* struct peal_work_set; 0: no pool is here */
	struct peal_work_producer producer; /* the only producer of
					     * its shard */
	struct peal_work_member taker; /* of its shard, then of others */
	struct peal_work_received got; /* about the message taken last */
	uint8_t *message; /* buffer for the message taken last */
	uint32_t message_bytes; /* largest payload */
	uint32_t member; /* 1 + the worker's actor that handles; 0: the worker
			  * only puts. Other workers read it. */
	uint32_t waits; /* 1: its member waits for free slots to send:
			 * producers wake other workers instead */
	uint32_t woken; /* number of the worker that it woke last */
	uint64_t handled; /* messages taken and done */
	uint8_t worker_reserved[8];
	/* other workers read it to detect the end of the kernel */
	uint64_t done; /* `handled`, as last published */
	uint8_t reserved[PEAL_SHARED_LINE - 8];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_pool_place) % PEAL_SHARED_LINE == 0 &&
			   offsetof(struct peal_pool_place, done) %
					   PEAL_SHARED_LINE ==
				   0,
		   "place at a pool");

/** Largest content of a message in the stage of hot_tables.h: header and payload.
 * The last atom may be longer by 8 bytes. */
#define PEALI_HOT_STAGE_CONTENT 248

/** Offsets of a worker's tables, in bytes from its state. Shared memory has the
 * tables before `hot_stage`, then a stage, up to hot_bytes. */
struct peal_worker_layout {
	uint64_t hot_stage, hot_bytes;
	uint64_t inputs, outputs, pools, barriers, sent, spent, priority_inputs,
		timers, asks, scratch;
	uint64_t total;
};

/** Returns the offsets of the tables for kernel parameters. Host and device. */
static PEAL_HD PEAL_UNUSED inline struct peal_worker_layout
peal_worker_tables(const struct peal_kernel_params *params)
{
	struct peal_worker_layout at;

	at.inputs = (sizeof(struct peal_worker_state) + 127) / 128 * 128;
	at.outputs = at.inputs +
		     (uint64_t)params->max_inputs * sizeof(struct peal_input);
	at.pools =
		at.outputs + (PEAL_PORTS_FIRST + (uint64_t)params->max_ports) *
				     sizeof(struct peal_output);
	at.hot_stage = at.pools;
	at.hot_bytes = at.hot_stage + PEALI_HOT_STAGE_CONTENT + 8;
	at.barriers = at.pools + (uint64_t)params->max_pools *
					 sizeof(struct peal_pool_place);
	at.sent = at.barriers + (uint64_t)params->max_barriers *
					sizeof(struct peal_barrier_view);
	at.spent = at.sent +
		   ((uint64_t)params->n_workers + params->priority_boxes) *
			   sizeof(uint64_t);
	at.priority_inputs =
		at.spent + (PEAL_PORTS_FIRST + (uint64_t)params->max_ports) *
				   sizeof(uint64_t);
	at.timers = at.priority_inputs +
		    (uint64_t)params->max_inputs * sizeof(uint32_t);
	at.timers = (at.timers + 127) / 128 * 128;
	at.asks = at.timers + peal_timer_table(params).total;
	at.scratch = at.asks;
	if (params->max_asks)
		at.scratch += sizeof(struct peal_asks) +
			      (params->max_asks + 1ULL) *
				      sizeof(struct peal_ask_entry);
	at.total = at.scratch + (uint64_t)params->lanes * sizeof(uint64_t);
	at.total = (at.total + 127) / 128 * 128;
	return at;
}

/**
 * A worker as its handlers see it. It lives as long as the kernel's entry
 * function runs. On the host each lane has its own. On a GPU all lanes share
 * one in shared memory. The leader writes it. The other lanes read it after a
 * peal_sync.
 */
struct peal_worker {
	const struct peal_kernel_params *params;
	const struct peal_kernel_control *control;
	struct peal_worker_status *status;
	struct peal_worker_state *state;
	struct peal_input *inputs;
	struct peal_output *outputs;
	struct peal_pool_place *pools;
	struct peal_barrier_view *barriers;
	uint64_t *sent; /* per mailbox, see peal_admission_open */
#if PEALI_CHECK_LIMITS
	uint64_t *spent; /* per port, see send_limits.h */
#endif
	uint32_t *priority_inputs; /* its inputs of high priority, see
				    * priority.h */
	struct peal_mailbox *mailbox; /* its own; 0: none */
	struct peal_mailbox *box; /* for the leader: the one that it polls,
				   * `mailbox` or its mailbox of high
				   * priority */
	struct peal_timers *timers; /* 0: none */
	struct peal_asks *asks; /* 0: none */
	uint64_t *scratch; /* one word per lane */
	struct peal_actor_entry *actor; /* of the running handler */
	struct peal_message message; /* for the running handler */
	uint32_t index; /* the worker's number */
	uint32_t ended; /* 1: the loop has ended because the epoch ends */
#if PEAL_ON_HOST
	uint32_t lane, lanes;
	uint32_t ahead_pause; /* the leader's, see peali_fetch_ahead */
	uint32_t unrung; /* the leader's. 1: the sender or receiver of one of
			  * its links is in another process and cannot ring its
			  * bell */
#else
	int32_t turn; /* the leader's decision */
	uint32_t events; /* 1: one of the next two words is 1 */
	uint32_t failed; /* 1: some lane's handler returned an error */
	uint32_t aborted; /* 1: some lane has seen an abort */
	int32_t error; /* of the leader's handler, if it failed */
	uint64_t *broadcast_at; /* the word by which the leader broadcasts */
	uint64_t broadcast_word;
	struct peal_output *sent_by[PEALI_UNTOLD]; /* see publish_counts.h */
	struct peal_input *got_by[PEALI_UNTOLD];
	uint32_t n_sent_by, n_got_by; /* listed ones */
#if PEAL_ON_CUDA
	uint32_t warp; /* the lanes of its only warp; 0: several warps */
#endif
	uint32_t told_at; /* peali_cycles when they were published last */
#endif
	/* the leader's: */
	uint32_t fits_left; /* messages that `actor` can handle unchecked; 0:
			     * check again */
	uint32_t fits_actor; /* number of `actor` */
};

/* ---- its features -------------------------------------------------------- */

/* Each function yields 0, a constant, if the program lacks the feature. So the
 * compiler drops the code that depends on it. */

static PEAL_DEV PEAL_INLINE struct peal_mailbox *
peali_own_mailbox(const struct peal_worker *w)
{
	return PEALI_USES(MAIL) ? w->mailbox : 0;
}

static PEAL_DEV PEAL_INLINE struct peal_timers *
peali_own_timers(const struct peal_worker *w)
{
	return PEALI_USES(TIMERS) || PEALI_USES(ASKS) ? w->timers : 0;
}

static PEAL_DEV PEAL_INLINE struct peal_asks *
peali_own_asks(const struct peal_worker *w)
{
	return PEALI_USES(ASKS) ? w->asks : 0;
}

/* Returns the number of its timers and asks that wait. */
static PEAL_DEV PEAL_INLINE uint32_t
peali_timers_set(const struct peal_worker *w)
{
	return peali_own_timers(w) ? w->state->timers : 0;
}

static PEAL_DEV PEAL_INLINE int peali_has_mail(const struct peal_worker *w)
{
	return PEALI_USES(MAIL) && w->params->mailboxes;
}

static PEAL_DEV PEAL_INLINE int
peali_has_supervision(const struct peal_worker *w)
{
	return PEALI_USES(SUPERVISION) && w->params->supervision;
}

static PEAL_DEV PEAL_INLINE int peali_has_limits(const struct peal_worker *w)
{
	return PEALI_USES(LIMITS) && w->params->limits;
}

static PEAL_DEV PEAL_INLINE int peali_uses_hooks(const struct peal_worker *w)
{
	return PEALI_USES(HOOKS) && w->params->hooks;
}

/* 1: some messages come from no input: they are of a mailbox, a pool or a hook. */
#define PEALI_HAS_OTHER_SOURCES                                                \
	(PEALI_USES(MAIL) || PEALI_USES(POOLS) || PEALI_USES(HOOKS))

/* Returns the state of a worker of the kernel in device memory. Only its `due`
 * of hooks is current while that worker runs. */
static PEAL_DEV PEAL_INLINE struct peal_worker_state *
peali_worker_home(const struct peal_worker *w, uint32_t worker)
{
	return (struct peal_worker_state
			*)(uintptr_t)(w->params->workers +
				      worker * w->params->worker_stride);
}

/* Returns the word that tells whether hooks of its actors are due. */
static PEAL_DEV PEAL_INLINE uint64_t *
peali_hooks_word(const struct peal_worker *w)
{
	return &peali_worker_home(w, w->index)->hook.due;
}

/* Returns whether hooks of its actors are due. */
static PEAL_DEV PEAL_INLINE int peali_has_due_hooks(const struct peal_worker *w)
{
	return PEALI_USES(HOOKS) && *peali_hooks_word(w);
}

/* Returns whether it has down messages to send. */
static PEAL_DEV PEAL_INLINE int peali_has_due_downs(const struct peal_worker *w)
{
	return PEALI_USES(SUPERVISION) && w->state->down.n_due;
}

/* Returns the number of mailboxes of high priority of the kernel. */
static PEAL_DEV PEAL_INLINE uint32_t
peali_high_boxes(const struct peal_worker *w)
{
	return PEALI_USES(PRIORITIES) && PEALI_USES(MAIL) ?
		       w->params->priority_boxes :
		       0;
}

/* Returns whether it polls a mailbox of high priority now. */
static PEAL_DEV PEAL_INLINE int peali_box_is_high(const struct peal_worker *w)
{
	return peali_high_boxes(w) && w->box != w->mailbox;
}

/* Returns whether some of its sources have high priority. */
static PEAL_DEV PEAL_INLINE uint32_t
peali_prioritized(const struct peal_worker *w)
{
	return PEALI_USES(PRIORITIES) ? w->state->priority.used : 0;
}

/* ---- its inputs and ports ------------------------------------------------ */

/* Marks an input as used. It raises n_inputs and resets `drained`. */
static PEAL_DEV PEAL_UNUSED inline void
peali_input_begins(struct peal_worker *w, uint32_t index)
{
	w->inputs[index].flags = PEAL_INPUT_USED;
	w->inputs[index].cluster_place = 0;
	w->state->published.drained = 0;
	peal_store_release_sys(&w->status->drained, 0);
	if (index >= w->state->table.n_inputs)
		w->state->table.n_inputs = index + 1;
}

/* Resets a port to its state at the launch. */
static PEAL_DEV PEAL_INLINE void peali_port_clear(struct peal_worker *w,
						  uint32_t index)
{
	struct peal_output *o = &w->outputs[index];

	o->used = 0;
	o->switching = 0;
	o->far_end = 0;
	o->link.state = 0;
	o->link.limit = o->link.tail;
}

/* Marks a port as used. It raises n_outputs. */
static PEAL_DEV PEAL_UNUSED inline void peali_port_begins(struct peal_worker *w,
							  uint32_t index)
{
	w->outputs[index].used = 1;
	w->outputs[index].switching = 0;
	w->outputs[index].far_end = 0;
	w->outputs[index].cluster_place = 0;
	if (index >= w->state->table.n_outputs)
		w->state->table.n_outputs = index + 1;
}

#endif
