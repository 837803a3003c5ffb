/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_WORKER_STATE_H
#define PEAL_DEVICE_WORKER_STATE_H

#include <peal/abi/control.h>
#include <peal/abi/mailbox.h>
#include <peal/abi/message.h>
#include <peal/device/impl/queue/link.h>

/* Turns between two polls of control messages, lease and epoch. */
#define PEALI_CONTROL_POLL_INTERVAL 64

/** Most messages of a batch. */
#define PEAL_BATCH_MOST 32

/** The progress of a message to all actors, the next one of a mailbox. */
struct peali_round {
	uint32_t open; /* 1: the other fields are of the next message */
	uint32_t number; /* of the message, low bits */
	uint32_t at; /* the worker has treated the entries before it */
	uint32_t told; /* actors that got it */
	uint32_t step; /* enum peali_round_step */
	uint32_t actor; /* FOUND: gets the message next. PAUSES: waits */
};

/** What the worker does with such a message in its next turn. */
enum peali_round_step {
	PEALI_ROUND_SEARCHES = 0, /* it searches for the next actor */
	PEALI_ROUND_FOUND = 1, /* that actor handles it */
	PEALI_ROUND_PAUSES = 2, /* it lets other sources have their turns */
	PEALI_ROUND_PASSES = 3 /* it handles later messages first */
};

/**
 * State that a worker keeps between two messages and over epochs. It lies in
 * device memory. The lanes share it, and the leader writes it. The worker's
 * tables follow, see peal_worker_tables.
 */
struct peal_worker_state {
	struct {
		struct peal_link_view view; /* the host fills it in */
		struct peal_link_consumer link;
		uint64_t done; /* control messages handled */
	} control;
	uint64_t started; /* 0 until the first launch */
	struct {
		uint64_t handled, mailbox_sends, mailbox_done, mailbox_dead,
			mailbox_abandoned, failed, idle_turns, heartbeat;
		/* Not next to `handled`: the compiler would store both by one
		 * instruction and load them by two. The store buffer delays
		 * such loads. */
		uint64_t emitted;
	} count;
	/* Its mailboxes. [0]: of normal priority, [1]: of high priority */
	struct {
		uint64_t snapshot[2]; /* tickets at PEAL_RECLAIM_SNAPSHOT */
		uint64_t abandon_until[2]; /* tickets below it without a tag
					    * never get a tag */
		uint64_t due[2]; /* tickets at PEAL_SHORTCUT_SNAPSHOT */
		uint64_t cleared[2]; /* 1 + number of the message that no longer
				      * counts for its actor's limit */
		struct peali_round rounds[2];
		uint32_t round_turns; /* successive turns for a message to all
				       * actors */
		struct peal_mailbox_lease lease; /* of the kernel's mailboxes */
		uint64_t lease_high_water; /* above it, it returns granted
					    * slots */
		uint64_t flush_every; /* messages taken until it reports them */
	} mail;
	/* Kept here because deep calls would cost the loop registers. */
	struct {
		struct peal_dead_letter record; /* the last one written */
		struct peal_message saved_message; /* during a dead letter of
						    * another message */
	} dead_letter;
	uint64_t failure; /* of an actor with a supervisor: error << 32 | actor;
			   * 0: none is pending */
	struct {
		uint64_t blocked_now; /* PEAL_BLOCKED of this turn */
		uint64_t blocked, inflight; /* PEAL_..., in the status */
		uint64_t header; /* of the message of `inflight` */
		uint32_t input; /* of that message; ~0u: of none */
		uint32_t drained; /* enum peal_drained, as in the status */
		uint32_t suspended; /* 1: suspended, as the phase in the
				     * status */
	} published;
	/* The host's lease. */
	struct {
		uint64_t word, seen_ns; /* the lease word; time of its change */
		uint64_t doubt_ns; /* since then the host may be gone; 0: no
				    * doubt */
	} lease;
	struct {
		uint64_t began_ns, polls;
		uint64_t exit_phase; /* enum peal_worker_phase, of a worker that
				      * ends */
		int64_t exit_result; /* 0, or the error that ends the worker */
		uint32_t cluster_kept; /* 1: an epoch has ended and has saved
					* its part of the cluster's memory */
	} epoch;
	struct {
		uint64_t turn; /* came with `host`; 0: `host` is unknown */
		struct peal_clock host; /* from the host, for this worker */
		uint64_t hlc; /* its latest word, see hlc.h */
	} clock;
	struct {
		uint32_t n_inputs, n_outputs, n_pools; /* used parts */
		uint32_t n_ended; /* inputs that have ended */
	} table;
	/* The source of the next message. */
	struct {
		uint32_t cursor; /* the present source: an input; n_inputs: the
				  * mailbox; above: a pool */
		uint32_t burst_quota; /* successive messages allowed from
				       * `cursor` */
		uint32_t burst_left; /* of burst_quota: not tried yet */
		uint32_t burst_max; /* longest burst; below PEALI_BURST only
				     * while timers wait */
		uint32_t idle; /* successive turns without a message */
		uint32_t turns_since_poll; /* since the last look at control
					    * words */
		uint32_t current; /* of the current message. 0: an input. 1:
				   * the mailbox. 2 and more: a pool.
				   * PEALI_HOOK: a hook, without a message.
				   * PEALI_TO_ALL: a message to all actors, in
				   * the mailbox until the last actor has it */
		uint32_t mail_run; /* successive messages from the mailbox */
	} source;
	struct {
		int32_t action; /* PEALI_ACT_... to run before the turn goes on,
				 * see loop_action.h; 0: none */
		uint32_t arg; /* its input, pool, supervisor or reason */
	} deferred;
	uint32_t timers; /* timers that wait */
	struct {
		uint32_t n_due; /* due monitors: the worker sends their
				 * messages */
		uint32_t first, last; /* 1 + index of their records */
		struct peal_mailbox_lease lease; /* a slot for a down message */
	} down;
	/* Of the handler run that asks for steps, see budget.h. */
	struct {
		uint64_t run; /* 1 + count.handled at its first step; other
			       * values: the present run has not asked yet */
		uint64_t granted; /* steps granted to the run */
		uint64_t check_at; /* value of `granted` at the next check */
		uint64_t stride; /* steps from one check to the next */
		uint64_t began_ns, checked_ns; /* by the device's clock */
	} step;
	/* Handler runs. */
	struct {
		uint64_t tells_spent; /* see send_limits.h */
		uint64_t answered; /* 1 + count.handled of the last run that
				    * replied to its request or forwarded it */
		uint64_t kept; /* as `answered`: the last run that asked for the
				* number of its request */
	} run;
	/* Its actor slots, see actor_slots.h. */
	struct {
		uint64_t spawned, retired;
		uint64_t leaving_at; /* count.handled when the running actor
				      * ended itself */
		uint32_t leaving; /* 1 + entry of that actor; 0: none */
		uint32_t slots_used; /* later slots were never used */
		uint32_t slot_first, slot_last; /* 1 + entry: list of freed
						 * slots; 0: empty */
	} actors;
	/* Inits and exits that are due, see lifecycle.h. */
	struct {
		uint64_t due; /* 1: hooks may be due. Other workers read it */
		uint64_t blocked; /* cause for which a hook waits, as
				   * published.blocked_now */
		uint64_t inits, exits; /* hook runs */
		uint32_t at, to; /* entries left to search in this round */
		uint32_t first, last; /* 1 + entries: range for the next round;
				       * 0: none */
		uint32_t tried; /* 1: the next turn is for other work */
		uint32_t may; /* 1: since the last wait, no hook lacked slots */
		uint32_t exiting; /* 1: the kernel ends: all exits were made
				   * due */
	} hook;
	struct {
		uint64_t slots_held; /* mailbox slots that messages in all its
				      * forwarding links hold */
		uint64_t untaken; /* of these messages: not taken yet */
		uint32_t to; /* 1 + the box to which w->message goes */
	} forward;
	/* Sources of high priority, see priority.h. */
	struct {
		uint32_t used; /* 1: there are such sources */
		uint32_t n_inputs; /* entries of w->priority_inputs */
		uint32_t next; /* index there of the next high source; n_inputs:
				* the mailbox */
		uint32_t normal_next; /* the next low source, as
				       * source.cursor */
		uint32_t normal_run; /* successive messages from normal_next */
		uint32_t order; /* enum peali_source_order */
		uint32_t tried; /* sources of this order, in this turn */
		uint64_t mark; /* count.handled less the messages taken from
				* high sources since the last low turn */
	} priority;
	/* The results of the messages of a batch, see impl/loop/batch_done.h. */
	int32_t batch_results[PEAL_BATCH_MOST];
	/* For the lanes, on the host: the leader's decision. */
	struct {
		int32_t turn;
		uint32_t actor;
		struct peal_message message;
	} lane;
};

#endif
