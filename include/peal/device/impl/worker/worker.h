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

/* Messages in a row from one input before the next has its turn. */
#define PEALI_BURST 32

/* What a worker is made of; what its handlers call is in lanes.h,
 * emit.h and tell.h. */

/** A worker's input: the receiving end of a link, and its next ring; or a
 * topic, if the link's state is PEALI_STATE_TOPIC. */
struct peal_input {
	struct peal_link_consumer link;
	union {
		struct peal_link_view next; /* to follow a SEAL to */
		struct peal_subscription *topic;
	};
	uint32_t flags; /* enum peal_input_flag */
	uint32_t cluster_place; /* of its ring's slots; 0: not in a cluster */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_input) == 256, "found by a shift");

enum peal_input_flag {
	PEAL_INPUT_USED = 1, /* has a link */
	PEAL_INPUT_NEXT = 2, /* `next` is filled */
	PEAL_INPUT_LAST = 4, /* the sender is gone: ends when empty */
	PEAL_INPUT_PRIORITY = 8, /* of high priority */
	PEAL_INPUT_FWD_LINK = 16 /* what follows actors from another kernel */
};

/** One port's sending end: a link's, or a topic's as for an input. */
struct peal_output {
	struct peal_link_producer link;
	uint16_t used; /* 1: has a link, or a topic; PEAL_OUTPUT_FWD_LINK */
	uint16_t switching; /* 1: `next` is filled */
	union {
		uint32_t cluster_place; /* as an input's */
		uint32_t fwd_slots_held; /* a forwarding link's: slots of
				 * mailboxes that messages in it have, see
				 * impl/loop/actor_forward.h */
	};
	union {
		struct peal_link_view next; /* after the SEAL that waits */
		struct peal_publication *topic;
	};
};

PEAL_STATIC_ASSERT(sizeof(struct peal_output) == 256, "found by a shift");

/** As `used`: it is what follows actors to another kernel. */
#define PEAL_OUTPUT_FWD_LINK 2

/** A worker's place at a pool: its shard of the pool's work queues. */
struct peal_pool_place {
	uint64_t set; /* struct peal_work_set; 0: no pool is here */
	struct peal_work_producer producer; /* of its shard; there is no
					     * other */
	struct peal_work_member taker; /* from its shard, and from others' */
	struct peal_work_received got; /* of the message that it took last */
	uint8_t *message; /* where that is */
	uint32_t message_bytes;
	uint32_t member; /* 1 + its actor that handles; 0: it only puts. Others
			  * look whether there is one. */
	uint32_t waits; /* 1: its member has no room for what it sends: others
			 * are woken instead */
	uint32_t woken; /* the neighbour that was woken last */
	uint64_t handled; /* messages that it took and is done with */
	uint8_t worker_reserved[16];
	/* read by the other workers, for the end of their kernel */
	uint64_t done; /* of `handled`, as last told */
	uint8_t reserved[PEAL_SHARED_LINE - 8];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_pool_place) % PEAL_SHARED_LINE == 0 &&
			   offsetof(struct peal_pool_place, done) %
					   PEAL_SHARED_LINE ==
				   0,
		   "place at a pool");

/**
 * What a worker keeps between two messages and over epochs; in device memory,
 * shared by its lanes, written by its leader. Behind it lie its tables, see
 * peal_worker_tables.
 */
struct peal_worker_state {
	struct peal_link_view control_view; /* the host fills it in */
	struct peal_link_consumer control;
	uint64_t started; /* 0 until the first launch */
	uint64_t handled, mailbox_sends, mailbox_done, mailbox_dead,
		mailbox_abandoned, failed;
	/* of its mailbox, and of that of high priority: */
	uint64_t mail_snapshot[2]; /* tickets at PEAL_RECLAIM_SNAPSHOT */
	uint64_t mail_abandon_until[2]; /* those below it that have no tag never
				 * get one */
	uint64_t idle_turns, heartbeat, control_done;
	uint64_t emitted; /* not beside handled: the two would be stored as one
			   * and read as two, which the store buffer delays */
	/* kept here, as calls that are deep cost the loop registers: */
	struct peal_dead_letter letter; /* the last one that was written */
	struct peal_message
		saved_message; /* while there is one of another message */
	uint64_t failure; /* of an actor with a supervisor: error << 32 | actor;
			   * 0: that is dealt with */
	uint64_t blocked, blocked_published; /* in this turn; in the status */
	uint64_t inflight_published; /* in the status */
	uint64_t lease, lease_seen_ns; /* the lease word, and when it moved */
	uint64_t doubt_ns; /* since when it may be that the host is gone; 0 */
	uint64_t epoch_began_ns, epoch_polls;
	uint64_t clock_turn; /* with which `clock` came; 0: it is not known */
	struct peal_clock clock; /* its own, as the host has told it */
	uint64_t hlc; /* its latest word, see hlc.h */
	uint32_t n_inputs, n_outputs, n_pools; /* used parts of the tables */
	uint32_t cursor; /* the input in hand; n_inputs: the mailbox; then the
			  * pools */
	uint32_t burst_quota; /* messages that may be taken from it in a row */
	uint32_t burst_left; /* of those, not tried yet */
	uint32_t idle; /* turns without a message in a row */
	uint32_t turns_since_poll; /* turns since then */
	uint32_t ended; /* inputs that have had their END */
	uint32_t mail; /* 1: the message in hand is from the mailbox; 2 and
			* more: from a pool; PEALI_HOOK: none at all; 0: from
			* an input */
	uint32_t mails; /* taken from the mailbox in a row */
	uint32_t drained; /* said in the status */
	uint32_t suspended; /* as the phase in the status says */
	int32_t deferred_action; /* what is to be done before the turn goes on,
			 * by a value of control.h; 0: nothing */
	uint32_t deferred_arg; /* for which input or pool; of which actor */
	uint32_t timers; /* that wait */
	uint32_t burst_max; /* of PEALI_BURST, while they do */
	uint32_t cluster_kept; /* 1: there was an epoch, which kept its part of
				* the cluster's memory */
	struct peal_mailbox_lease mail_lease; /* of the kernel's mailboxes */
	uint64_t lease_high_water; /* granted above which it gives some back */
	uint64_t mail_flush_every; /* messages taken before it tells so */
	uint32_t downs; /* monitors that are due, for the worker to send */
	uint32_t down_first, down_last; /* 1 + the places of their records */
	struct peal_mailbox_lease down_lease; /* a slot for one of those */
	/* of the handler run that asks for steps, see budget.h */
	uint64_t step_run; /* 1 + `handled` at that time; another: it has not
			    * asked yet */
	uint64_t steps; /* that it has got */
	uint64_t steps_until; /* so many: then there is a look */
	uint64_t step_stride; /* from one look to the next */
	uint64_t step_began_ns, step_checked_ns; /* by the device's clock */
	/* of its rooms, see actor_slots.h */
	uint64_t spawned, retired;
	uint64_t leaving_at; /* `handled`, when the actor in hand has ended */
	uint32_t leaving; /* 1 + the entry of that one; 0 */
	uint32_t actor_slots_used; /* those from there on never were */
	uint32_t actor_slot_first,
		actor_slot_last; /* 1 + the entries of those that are
					 * free again, in line; 0 */
	/* of inits and exits that are due, see lifecycle.h */
	uint64_t hooks; /* 1: there may be some. Others look at it */
	uint64_t hook_blocked; /* what one of them waits for, as `blocked` */
	uint64_t inits, exits; /* that have run */
	uint32_t hook_at, hook_to; /* entries that this round has yet to see */
	uint32_t hook_first, hook_last; /* 1 + those that it leaves for the next
					 * one, from and to; 0: none */
	uint32_t hook_tried; /* 1: it is the turn of others */
	uint32_t hook_may; /* 1: since the last wait none has had no room */
	uint32_t exiting; /* 1: the kernel ends: all exits have been made due */
	uint64_t fwd_slots_held; /* slots that messages in all its forwarding
				  * links have */
	uint64_t fwd_untaken; /* of those messages, that nobody has taken */
	uint32_t forward_to; /* of the message in w->message: 1 + the box that
			      * it goes to */
	/* of its mailbox, and of that of high priority: */
	uint64_t mail_cleared[2]; /* 1 + the number of the message that counts
				   * for its actor's limit no more */
	/* for sources of high priority, see priority.h */
	uint32_t has_priority; /* 1: there are some */
	uint32_t n_priority_inputs; /* inputs in `highs` */
	uint32_t priority_next; /* place in `highs` of the next one;
			     * n_priority_inputs: the mailbox */
	uint32_t normal_next; /* the next one of the others, as `cursor` */
	uint32_t normal_run; /* messages taken from that in a row */
	uint32_t source_order; /* which of them are tried: see
			        * priority_scheduler.h */
	uint32_t sources_tried; /* of those, in this turn */
	uint64_t priority_mark; /* `handled` less what was taken from high ones
			     * since one of the others had its turn */
	/* for the lanes, on the host: what the leader decided */
	int32_t turn;
	uint32_t actor;
	struct peal_message message;
};

/** Where a worker's tables lie, in bytes from its state. */
struct peal_worker_layout {
	uint64_t inputs, outputs, pools, barriers, sent, priority_inputs,
		timers, asks, scratch;
	uint64_t total;
};

/** The tables that kernel parameters ask for. Host and device. */
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
	at.priority_inputs = at.sent + ((uint64_t)params->n_workers +
					params->priority_boxes) *
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
 * A worker as its handlers know it; lives as long as the entry runs. On the
 * host each lane has its own. On a GPU there is one for all lanes, in memory
 * that they share: the leader writes it, the others read it after a peal_sync.
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
	uint64_t *sent; /* for each mailbox: see peal_admission_open */
	uint32_t *priority_inputs; /* its inputs of high priority: see
				    * priority.h */
	struct peal_mailbox *mailbox; /* its own; 0: none */
	struct peal_mailbox *box; /* of its own the one that is looked at, for
				   * the leader: the same, or that of high
				   * priority */
	struct peal_timers *timers; /* 0: none */
	struct peal_asks *asks; /* 0: none */
	uint64_t *scratch; /* one word per lane */
	struct peal_actor_entry *actor; /* whose handler runs */
	struct peal_message message; /* that it runs for */
	uint32_t index; /* the worker's number */
	uint32_t ended; /* 1: the loop is over, for an epoch's end */
#if PEAL_ON_HOST
	uint32_t lane, lanes;
	uint32_t ahead_pause; /* the leader's: see peali_fetch_ahead */
	uint32_t unrung; /* the leader's: 1: who writes to it, or takes from it,
			  * is in another process and cannot ring its bell */
#else
	int32_t turn; /* what the leader decided */
	uint32_t failed; /* 1: some lane's handler returned an error */
	int32_t error; /* the leader's, if it did */
	uint64_t *broadcast_at; /* what the leader broadcasts: the next word */
	uint64_t broadcast_word;
#endif
	/* the leader's: */
	uint32_t fits_left; /* messages for which `actor` has room; 0: look */
	uint32_t fits_actor; /* its number */
};

/* ---- its inputs and ports ------------------------------------------------ */

/* An input of that index is used from now on. */
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

/* A port of that index is as at the launch, whatever it was before. */
static PEAL_DEV PEAL_INLINE void peali_port_clear(struct peal_worker *w,
						  uint32_t index)
{
	struct peal_output *o = &w->outputs[index];

	o->used = 0;
	o->switching = 0;
	o->link.state = 0;
	o->link.limit = o->link.tail;
}

/* A port of that index is used from now on. */
static PEAL_DEV PEAL_UNUSED inline void peali_port_begins(struct peal_worker *w,
							  uint32_t index)
{
	w->outputs[index].used = 1;
	w->outputs[index].switching = 0;
	w->outputs[index].cluster_place = 0;
	if (index >= w->state->n_outputs)
		w->state->n_outputs = index + 1;
}

/* ---- what it says -------------------------------------------------------- */

/* Says what is in hand, PEAL_INFLIGHT, or 0 for nothing. */
static PEAL_DEV PEAL_INLINE void peali_publish_inflight(struct peal_worker *w,
							uint64_t hand)
{
	if (PEAL_UNLIKELY(hand != w->state->inflight_published)) {
		w->state->inflight_published = hand;
		peal_store_relaxed_sys(&w->status->inflight, hand);
	}
}

/* Says what was done so far, and that no handler runs. */
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
