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

/* Most successive messages from one input before the next input's turn. */
#define PEALI_BURST 32

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
	uint32_t flags; /* enum peal_input_flag */
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

/** The sending end of a port: of a link, or of a topic as for an input. */
struct peal_output {
	struct peal_link_producer link;
	uint16_t used; /* 1: has a link or topic; or PEAL_OUTPUT_FWD_LINK */
	uint16_t switching; /* 1: `next` is filled */
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

/**
 * State that a worker keeps between two messages and over epochs. It lies in
 * device memory. The lanes share it, and the leader writes it. The worker's
 * tables follow, see peal_worker_tables.
 */
struct peal_worker_state {
	struct peal_link_view control_view; /* the host fills it in */
	struct peal_link_consumer control;
	uint64_t started; /* 0 until the first launch */
	uint64_t handled, mailbox_sends, mailbox_done, mailbox_dead,
		mailbox_abandoned, failed;
	/* [0]: of its mailbox, [1]: of its mailbox of high priority */
	uint64_t mail_snapshot[2]; /* tickets at PEAL_RECLAIM_SNAPSHOT */
	uint64_t mail_abandon_until[2]; /* tickets below it without a tag never
				 * get a tag */
	uint64_t mail_due[2]; /* tickets at PEAL_SHORTCUT_SNAPSHOT */
	uint64_t idle_turns, heartbeat, control_done;
	/* Not next to `handled`: the compiler would store both by one
	 * instruction and load them by two. The store buffer delays such
	 * loads. */
	uint64_t emitted;
	/* kept here because deep calls would cost the loop registers: */
	struct peal_dead_letter letter; /* the last one written */
	struct peal_message
		saved_message; /* during a dead letter of another message */
	uint64_t failure; /* of an actor with a supervisor: error << 32 | actor;
			   * 0: none is pending */
	uint64_t blocked, blocked_published; /* PEAL_BLOCKED: of this turn; in
					      * the status */
	uint64_t inflight_published; /* PEAL_INFLIGHT in the status */
	uint64_t lease, lease_seen_ns; /* the lease word; time of its change */
	uint64_t doubt_ns; /* since then the host may be gone; 0: no doubt */
	uint64_t epoch_began_ns, epoch_polls;
	uint64_t clock_turn; /* came with `clock`; 0: `clock` is unknown */
	struct peal_clock clock; /* from the host, for this worker's clock */
	uint64_t hlc; /* its latest word, see hlc.h */
	uint32_t n_inputs, n_outputs, n_pools; /* used parts of the tables */
	uint32_t cursor; /* the present source: an input; n_inputs: the
			  * mailbox; above: a pool */
	uint32_t burst_quota; /* successive messages allowed from `cursor` */
	uint32_t burst_left; /* of burst_quota: not tried yet */
	uint32_t idle; /* successive turns without a message */
	uint32_t turns_since_poll; /* since the last look at control words */
	uint32_t ended; /* inputs that have ended */
	/* Source of the current message. 0: an input. 1: the mailbox. 2 and
	 * more: a pool. PEALI_HOOK: a hook, without a message. */
	uint32_t mail;
	uint32_t mails; /* successive messages taken from the mailbox */
	uint32_t drained; /* enum peal_drained, as in the status */
	uint32_t suspended; /* 1: suspended, as the phase in the status */
	int32_t deferred_action; /* PEALI_ACT_... to run before the turn goes
				  * on, see loop_action.h; 0: none */
	uint32_t deferred_arg; /* its input, pool, supervisor or reason */
	uint32_t timers; /* timers that wait */
	uint32_t burst_max; /* longest burst; below PEALI_BURST only while
			     * timers wait */
	uint32_t cluster_kept; /* 1: an epoch has ended and has saved its part
				* of the cluster's memory */
	struct peal_mailbox_lease mail_lease; /* of the kernel's mailboxes */
	uint64_t lease_high_water; /* above it, it returns granted slots */
	uint64_t mail_flush_every; /* messages taken until it reports them */
	uint32_t downs; /* due monitors: the worker sends their messages */
	uint32_t down_first, down_last; /* 1 + index of their records */
	struct peal_mailbox_lease down_lease; /* a slot for a down message */
	/* of the handler run that asks for steps, see budget.h */
	uint64_t step_run; /* 1 + `handled` at its first step; other values:
			    * the present run has not asked yet */
	uint64_t steps; /* steps granted to the run */
	uint64_t steps_until; /* value of `steps` at the next check */
	uint64_t step_stride; /* steps from one check to the next */
	uint64_t step_began_ns, step_checked_ns; /* by the device's clock */
	uint64_t exit_phase; /* enum peal_worker_phase, of a worker that ends */
	int64_t exit_result; /* 0, or the error that ends the worker */
	uint64_t tells_spent; /* see send_limits.h */
	uint64_t answered_run; /* 1 + `handled` of the last handler run that
				* replied to its request or forwarded it */
	uint64_t kept_run; /* as answered_run: the last run that asked for the
			    * number of its request */
	/* of its actor slots, see actor_slots.h */
	uint64_t spawned, retired;
	uint64_t leaving_at; /* `handled` when the running actor ended itself */
	uint32_t leaving; /* 1 + entry of that actor; 0: none */
	uint32_t actor_slots_used; /* later slots were never used */
	uint32_t actor_slot_first,
		actor_slot_last; /* 1 + entry: list of freed slots; 0:
				  * empty */
	/* of inits and exits that are due, see lifecycle.h */
	uint64_t hooks; /* 1: hooks may be due. Other workers read it */
	uint64_t hook_blocked; /* cause for which a hook waits, as `blocked` */
	uint64_t inits, exits; /* hook runs */
	uint32_t hook_at, hook_to; /* entries left to search in this round */
	uint32_t hook_first, hook_last; /* 1 + entries: range for the next
					 * round; 0: none */
	uint32_t hook_tried; /* 1: the next turn is for other work */
	uint32_t hook_may; /* 1: since the last wait, no hook lacked slots */
	uint32_t exiting; /* 1: the kernel ends: all exits were made due */
	uint64_t fwd_slots_held; /* mailbox slots that messages in all its
				  * forwarding links hold */
	uint64_t fwd_untaken; /* of these messages: not taken yet */
	uint32_t forward_to; /* 1 + the box to which w->message goes */
	/* [0]: of its mailbox, [1]: of its mailbox of high priority */
	uint64_t mail_cleared[2]; /* 1 + number of the message that no longer
				   * counts for its actor's limit */
	/* for sources of high priority, see priority.h */
	uint32_t has_priority; /* 1: there are such sources */
	uint32_t n_priority_inputs; /* entries of w->priority_inputs */
	uint32_t priority_next; /* index there of the next high source;
				 * n_priority_inputs: the mailbox */
	uint32_t normal_next; /* the next low source, as `cursor` */
	uint32_t normal_run; /* successive messages from normal_next */
	uint32_t source_order; /* enum peali_source_order */
	uint32_t sources_tried; /* of this order, in this turn */
	uint64_t priority_mark; /* `handled` less the messages taken from high
				 * sources since the last low turn */
	/* for the lanes, on the host: the leader's decision */
	int32_t turn;
	uint32_t actor;
	struct peal_message message;
};

/** Offsets of a worker's tables, in bytes from its state. */
struct peal_worker_layout {
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
	uint32_t failed; /* 1: some lane's handler returned an error */
	int32_t error; /* of the leader's handler, if it failed */
	uint64_t *broadcast_at; /* the word by which the leader broadcasts */
	uint64_t broadcast_word;
#endif
	/* the leader's: */
	uint32_t fits_left; /* messages that `actor` can handle unchecked; 0:
			     * check again */
	uint32_t fits_actor; /* number of `actor` */
};

/* ---- its inputs and ports ------------------------------------------------ */

/* Marks an input as used. It raises n_inputs and resets `drained`. */
static PEAL_DEV PEAL_UNUSED inline void
peali_input_begins(struct peal_worker *w, uint32_t index)
{
	w->inputs[index].flags = PEAL_INPUT_USED;
	w->inputs[index].cluster_place = 0;
	w->state->drained = 0;
	peal_store_release_sys(&w->status->drained, 0);
	if (index >= w->state->n_inputs)
		w->state->n_inputs = index + 1;
}

/* Resets a port to its state at the launch. */
static PEAL_DEV PEAL_INLINE void peali_port_clear(struct peal_worker *w,
						  uint32_t index)
{
	struct peal_output *o = &w->outputs[index];

	o->used = 0;
	o->switching = 0;
	o->link.state = 0;
	o->link.limit = o->link.tail;
}

/* Marks a port as used. It raises n_outputs. */
static PEAL_DEV PEAL_UNUSED inline void peali_port_begins(struct peal_worker *w,
							  uint32_t index)
{
	w->outputs[index].used = 1;
	w->outputs[index].switching = 0;
	w->outputs[index].cluster_place = 0;
	if (index >= w->state->n_outputs)
		w->state->n_outputs = index + 1;
}

/* ---- its published status ------------------------------------------------ */

/* Publishes the message being handled: PEAL_INFLIGHT, or 0 for none. */
static PEAL_DEV PEAL_INLINE void peali_publish_inflight(struct peal_worker *w,
							uint64_t inflight)
{
	if (PEAL_UNLIKELY(inflight != w->state->inflight_published)) {
		w->state->inflight_published = inflight;
		peal_store_relaxed_sys(&w->status->inflight, inflight);
	}
}

/* Publishes the counters, and that no handler runs. */
static PEAL_DEV PEAL_UNUSED inline void
peali_publish_counters(struct peal_worker *w)
{
	peal_store_relaxed_sys(&w->status->handled, w->state->handled -
							    w->state->inits -
							    w->state->exits);
	peal_store_relaxed_sys(&w->status->emitted, w->state->emitted);
	peal_store_relaxed_sys(&w->status->mailbox_dead,
			       w->state->mailbox_dead);
	peali_store_count(&w->status->mailbox_done, w->state->mailbox_done);
	peali_publish_inflight(w, 0);
}

#endif
