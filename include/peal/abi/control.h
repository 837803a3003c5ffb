/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_CONTROL_H
#define PEAL_ABI_CONTROL_H

#include <peal/abi/barrier.h>
#include <peal/abi/actor_entry.h>
#include <peal/abi/ring.h>
#include <peal/abi/actor_slot.h>
#include <peal/abi/control_actor.h>

/*
 * Communication of the host with a resident kernel. Both map words in host
 * memory. Each word has one writer. A link from the host to each worker
 * carries control messages.
 */

#define PEAL_CONTROL_MAGIC 0x4c5254434c414550ULL /* "PEALCTRL" */

/** Values of peal_kernel_control.stop. */
enum peal_stop {
	PEAL_STOP_NONE = 0,
	PEAL_STOP_STOP = 1, /* finish the message being handled, then end */
	PEAL_STOP_ABORT = 2 /* as STOP, and handlers should return early */
};

/** Phases of a worker. */
enum peal_worker_phase {
	PEAL_WORKER_ABSENT = 0, /* has not checked in */
	PEAL_WORKER_RUNNING = 1,
	PEAL_WORKER_SUSPENDED = 2,
	PEAL_WORKER_EPOCH = 3, /* has returned for the next launch */
	PEAL_WORKER_STOPPED = 4, /* saw stop or abort */
	PEAL_WORKER_DRAINED = 5, /* all inputs ended and empty */
	PEAL_WORKER_FAILED = 6 /* see `result` */
};

/** A worker's progress toward the end of its kernel. */
enum peal_drained {
	PEAL_DRAINED_NOT = 0, /* inputs are open */
	PEAL_DRAINED_NO_INPUT = 1, /* it never had an input */
	PEAL_DRAINED_ENDED = 2, /* all inputs have ended, or it shall drain */
	/* flags beside NO_INPUT or ENDED */
	PEAL_DRAINED_EXITED = 4, /* exit hooks of its actors have run */
	PEAL_DRAINED_OPEN = 8 /* it still takes from forwarding links */
};

/** Requests to drain. */
enum peal_drain {
	PEAL_DRAIN_INPUTS = 1, /* end once all inputs have ended */
	PEAL_DRAIN_TIMERS = 2 /* end the periodic timers, and nothing else */
};

/** Host to kernel. Only writer of each word: the host. */
struct peal_kernel_control {
	uint64_t magic;
	uint64_t stop; /* enum peal_stop */
	uint64_t suspend; /* 0 or 1 */
	uint64_t drain; /* enum peal_drain */
	uint64_t lease; /* the host's clock; changes while the host lives */
	/* bounds of the host's clock, as in struct peal_clock */
	uint64_t clock_turn; /* odd while they change; 0: not known yet */
	uint64_t clock_at;
	uint64_t clock_low, clock_high;
	uint64_t gates; /* the gates of the device up to this number are open */
	uint8_t reserved[PEAL_SHARED_LINE - 80];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_kernel_control) == PEAL_SHARED_LINE,
		   "control size");

/** Kernel to host, one per worker. Only writer: that worker. */
struct peal_worker_status {
	uint64_t phase; /* enum peal_worker_phase */
	uint64_t heartbeat; /* changes while the worker's loop runs */
	uint64_t handled; /* messages that a handler has returned from */
	uint64_t emitted; /* messages sent through ports */
	uint64_t mailbox_sends; /* messages put into mailboxes and pools */
	uint64_t mailbox_done; /* messages taken from there, handled or dead */
	uint64_t mailbox_dead; /* of mailbox_done: dead */
	uint64_t failed; /* handler runs that returned an error */
	uint64_t idle_turns;
	uint64_t result; /* -PEAL_E... of a failed worker */
	uint64_t control_done; /* control messages handled */
	uint64_t control_result; /* latest failure: number of the message, as
				  * in control_done, << 16 | -PEAL_E... */
	uint64_t inflight; /* PEAL_INFLIGHT: the message being handled, or the
			 * last one if no pause followed; 0: none */
	uint64_t blocked; /* PEAL_BLOCKED: why a message waits; 0: none waits */
	uint64_t drained; /* enum peal_drained */
	uint64_t mailbox_abandoned; /* of mailbox_dead: a worker died */
	uint64_t mailbox_expired; /* of mailbox_dead: past their deadline */
	/* for the host's bounds of the worker's clock: */
	uint64_t clock_seen; /* the lease that it saw last */
	uint64_t clock_first; /* its clock, read after it saw that lease */
	uint64_t clock_latest; /* its clock at its latest look */
	uint64_t spawned; /* actors that its handlers have made */
	uint64_t retired; /* of those: ended, by a handler or the host */
	uint64_t mailbox_dropped; /* of mailbox_dead: above the limit */
	uint64_t inits, exits; /* hook runs of its actors */
	uint64_t mailbox_duplicates; /* of mailbox_dead: repeated */
	uint64_t handler_error; /* -PEAL_E... of the latest failed handler */
	/* of the host's messages to all actors: */
	uint64_t to_all_answer; /* PEAL_TO_ALL_ANSWER of the latest request */
	uint64_t to_all_done; /* messages that its actors have all handled */
	uint64_t to_all_told; /* actors that got the latest of them */
	uint64_t clock_step; /* most ns by which its clock lags; 0: unknown */
	uint64_t uses; /* 1 + PEAL_USES of its device image; 0: host code */
};

/**
 * A message being handled: 1 + the actor's number, the type of the message, and
 * `input` of its struct peal_message. For a mailbox or pool, `input` is
 * max_inputs + PEAL_INFLIGHT_MAIL or PEAL_INFLIGHT_POOL + the low bits of the
 * message's number. So two successive messages differ. A GPU would store each
 * such number to host memory, and leaves it 0 for a mailbox.
 */
#define PEAL_INFLIGHT(actor, type, input)                                      \
	((uint64_t)((uint32_t)(type) | (uint32_t)(input) << 16) << 32 |        \
	 (1u + (uint32_t)(actor)))
#define PEAL_INFLIGHT_ACTOR(inflight) ((uint32_t)(inflight)-1u)
#define PEAL_INFLIGHT_TYPE(inflight) ((uint16_t)((inflight) >> 32))
#define PEAL_INFLIGHT_INPUT(inflight) ((uint32_t)((inflight) >> 48))
#define PEAL_INFLIGHT_MAIL 0u
#define PEAL_INFLIGHT_POOL 0x4000u
#define PEAL_INFLIGHT_NUMBER(number) ((uint32_t)(number)&0x3fffu)

/**
 * Why a message for an actor waits. Its port has no free slots, or (lost 1) no
 * link. As port, PEAL_BLOCKED_MAIL: no free slots in mailboxes or pools.
 */
#define PEAL_BLOCKED(actor, lost, port)                                        \
	((uint64_t)(actor) << 32 | (uint64_t)(lost) << 16 | ((port) + 1u))
#define PEAL_BLOCKED_PORT(blocked) ((uint32_t)((blocked)&0xffff) - 1u)
#define PEAL_BLOCKED_MAIL 0xfffeu
/** As port: the message is of a timer that is due, for the actor. */
#define PEAL_BLOCKED_TIMER 0xfffdu
/** As port: the message is a down message for the actor. */
#define PEAL_BLOCKED_DOWN 0xfffcu
/** As port: the actor lives in another kernel; its forwarding link waits. */
#define PEAL_BLOCKED_FORWARD 0xfffbu
/** As port: messages of the host wait for an event (peal_event_await_before). */
#define PEAL_BLOCKED_GATE 0xfffau

PEAL_STATIC_ASSERT(sizeof(struct peal_worker_status) == 2 * PEAL_SHARED_LINE,
		   "status size");
PEAL_STATIC_ASSERT(offsetof(struct peal_worker_status, mailbox_expired) ==
			   PEAL_SHARED_LINE,
		   "status layout");

/**
 * Bounds of the host's clock, CLOCK_MONOTONIC in ns. At time `at` of the
 * device's clock, the host's clock is from at + low to at + high, modulo 2^64.
 * Later each bound is wider by PEAL_CLOCK_WIDER of the elapsed time, because
 * the clocks may differ in speed.
 */
struct peal_clock {
	uint64_t at, low, high;
};

/** Widening of each bound after a time: 1 ns per 1024 ns. */
#define PEAL_CLOCK_WIDER(ns) ((uint64_t)(ns) >> 10)

/** Types of control messages. */
enum peal_control_type {
	PEAL_CONTROL_ATTACH_INPUT = 1, /* struct peal_link_view */
	PEAL_CONTROL_NEXT_RING = 2, /* struct peal_link_view: after the SEAL */
	PEAL_CONTROL_DETACH_INPUT = 3, /* struct peal_link_view: index */
	PEAL_CONTROL_ATTACH_PORT = 4, /* struct peal_link_view */
	PEAL_CONTROL_SWITCH_PORT = 5, /* struct peal_link_view: SEAL, go on */
	PEAL_CONTROL_CLOSE_PORT = 6, /* struct peal_link_view: index */
	PEAL_CONTROL_SPAWN = 7, /* struct peal_control_spawn */
	PEAL_CONTROL_RETIRE = 8, /* struct peal_control_spawn: actor, count */
	PEAL_CONTROL_BARRIER = 9, /* struct peal_barrier_view */
	PEAL_CONTROL_END_INPUT = 10, /* struct peal_link_view: index; its sender
				      * is gone: ends when it is empty */
	PEAL_CONTROL_RECLAIM = 11, /* struct peal_control_reclaim */
	PEAL_CONTROL_POOL = 12, /* struct peal_pool_view: a new pool */
	PEAL_CONTROL_POOL_MEMBER = 13, /* struct peal_pool_view: its member */
	PEAL_CONTROL_POOL_GONE = 14, /* struct peal_pool_view: its messages are
				      * dead */
	/* the messages that end inputs and ports of links also end those of
	 * topics */
	PEAL_CONTROL_SUBSCRIBE = 15, /* struct peal_topic_view */
	PEAL_CONTROL_PUBLISH = 16, /* struct peal_topic_view */
	PEAL_CONTROL_REMOVE_SUBSCRIBER =
		17, /* struct peal_topic_view: index of the port,
				   * and a cursor without a subscriber now */
	PEAL_CONTROL_SUPERVISOR = 18, /* struct peal_control_supervisor */
	PEAL_CONTROL_SUPERVISE =
		19, /* struct peal_control_supervise; SPAWN follows */
	PEAL_CONTROL_LIMIT = 20, /* struct peal_control_limit */
	PEAL_CONTROL_MONITOR = 21, /* struct peal_control_monitor */
	PEAL_CONTROL_SHORTCUT = 22, /* struct peal_control_shortcut */
	PEAL_CONTROL_MOVE = 28, /* struct peal_control_move; SPAWN has made the
				 * new entry */
	PEAL_CONTROL_LEAVE = 29, /* struct peal_control_leave; SPAWN has made
				  * the entry in the other kernel */
	PEAL_CONTROL_ARRIVE = 30, /* struct peal_control_move: the state of
				   * `actor` is there; `next` 1: it restarts */
	PEAL_CONTROL_REDIRECT =
		31, /* struct peal_control_leave: new target for an
				* actor that left through a kernel which has
				* ended */
	PEAL_CONTROL_TELL_ALL = 32, /* struct peal_control_tell_all */
	PEAL_CONTROL_FAR_END = 33 /* struct peal_link_view: index of an input,
				   * and far_end, which was not known before */
};

/** A pool, for one of its kernel's workers. */
struct peal_pool_view {
	uint64_t set; /* struct peal_work_set: a shard for each worker */
	uint64_t message; /* the worker's buffer for a message, 16-aligned */
	uint64_t stage; /* atom policies: its buffer for a slot's content */
	uint32_t index; /* in the workers' tables */
	uint32_t actor; /* the pool's number, low half of its address */
	uint32_t member; /* 1 + the worker's actor that handles; 0: none */
	uint32_t message_bytes; /* largest payload */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_pool_view) == 40, "pool view size");

/*
 * Reclaims mailbox slots after the death of a worker: it took their tickets,
 * but published no tags. A step begins when all live workers have done the
 * step before. See `runtime/kernel/reclaim.c`.
 */
enum peal_reclaim_step {
	PEAL_RECLAIM_SNAPSHOT =
		1, /* note the number of tickets of the mailbox */
	PEAL_RECLAIM_FENCE = 2, /* the answer shows that live workers have
			     * published their noted tickets */
	PEAL_RECLAIM_ABANDON = 3 /* give up noted tickets without a tag */
};

/** A step of the reclamation. */
struct peal_control_reclaim {
	uint32_t step; /* enum peal_reclaim_step */
	uint32_t reserved;
};

PEAL_STATIC_ASSERT(sizeof(struct peal_control_reclaim) == 8, "reclaim size");

/** Most bytes of a control message's payload. */
#define PEAL_CONTROL_BYTES 112

/** Most init bytes in a control message. */
#define PEAL_CONTROL_INIT 56
/** As init_bytes: the host has written the states already. */
#define PEAL_CONTROL_WRITTEN 0xffffffffu
/** As init_bytes of a RETIRE: the host repeats the message. An actor that is
 * missing has run its exit hook since the first message. */
#define PEAL_CONTROL_AGAIN 0xfffffffeu

/** A mailbox limit and its enum peal_mailbox_overflow, as one word. */
#define PEAL_SPAWN_LIMIT(limit, full) ((uint32_t)(full) << 24 | (limit))
#define PEAL_SPAWN_LIMIT_OF(word) ((word)&0xffffffu)
#define PEAL_SPAWN_FULL_OF(word) ((word) >> 24)

/** Makes or ends actors with successive entries and states. */
struct peal_control_spawn {
	struct peal_actor_entry entry; /* of the first actor */
	uint32_t actor; /* number of the first; all have its generation */
	uint32_t count; /* number of actors */
	uint32_t state_step; /* bytes from a state to the next */
	uint32_t port_step; /* ports from an actor's first port to the next
			     * actor's; 0: all use the same ports */
	uint32_t init_bytes; /* bytes of `init`, copied to each state, zeros
			      * behind them; or PEAL_CONTROL_WRITTEN */
	uint32_t limit; /* PEAL_SPAWN_LIMIT of each actor, with successive
			 * records; 0: no limits */
	uint8_t init[PEAL_CONTROL_INIT];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_control_spawn) == PEAL_CONTROL_BYTES,
		   "spawn size");

#define PEAL_CLUSTER_WORKERS_MAX 8 /* each device with clusters supports it */

/** Parameters of a kernel, in device memory. Addresses are as the device sees
 * them. */
struct peal_kernel_params {
	uint64_t magic;
	uint64_t control; /* struct peal_kernel_control */
	uint64_t status; /* struct peal_worker_status[n_workers] */
	uint64_t workers; /* struct peal_worker_state, worker_stride apart */
	uint64_t worker_stride;
	uint64_t actors; /* struct peal_actor_entry[max_actors] */
	uint64_t mailboxes; /* struct peal_mailbox[n_workers + priority_boxes],
			     * mailbox_stride apart; 0: none */
	uint64_t mailbox_stride;
	uint64_t bells; /* host only: struct peal_bell[n_workers] */
	uint64_t lease_ns; /* end when the lease has not changed for so long */
	uint64_t epoch_ns; /* return for the next launch after this time; 0:
			    * never */
	uint32_t n_workers;
	uint32_t lanes;
	uint32_t max_actors;
	uint32_t max_inputs; /* per worker */
	uint32_t max_ports; /* per worker */
	uint32_t max_barriers;
	uint32_t drain_when_inputs_end; /* 1: end once all inputs have ended */
	uint32_t max_pools;
	uint32_t cluster_workers; /* workers per cluster; 0: no clusters */
	uint32_t cluster_bytes; /* cluster memory of each worker */
	uint64_t cluster_home; /* copy of that memory between two epochs,
				* cluster.bytes per worker; 0: no epochs */
	uint64_t address; /* of its actors, with 0 as their number */
	uint64_t supervisors; /* struct peal_supervisor_record[max_supervisors];
			       * 0: none */
	uint64_t supervision; /* struct peal_supervision[max_actors]; 0: no
			       * supervisors */
	uint32_t max_supervisors;
	uint32_t priority_boxes; /* n_workers: as many mailboxes for high
			      * priority follow the others; 0: none */
	uint64_t timer_status; /* struct peal_timer_status[n_workers]; or 0 */
	uint32_t max_timers; /* per worker; 0: none */
	uint32_t timer_bytes; /* from a timer's message to the next */
	uint64_t admission; /* struct peal_admission of the mailboxes */
	uint64_t monitors; /* struct peal_monitors; 0: none */
	uint32_t max_monitors;
	uint32_t max_asks; /* open asks per worker; 0: none */
	uint32_t max_mailbox_limits;
	/* budget of a handler for one message (device/budget.h); 0: no limit */
	uint64_t max_steps;
	uint64_t max_handler_ns;
	/* slots for actors that handlers spawn, see <peal/abi/actor_slot.h>:
	 * entries from first_actor_slot on, spawn.max_actors per worker */
	uint64_t handlers; /* struct peal_handler_entry[n_handlers] */
	uint64_t actor_slots; /* in host memory: a PEAL_ACTOR_SLOT for each
			       * slot */
	uint64_t slot_states; /* a state for each slot */
	uint64_t slot_state_step; /* bytes from a state to the next */
	uint32_t n_handlers;
	uint32_t first_actor_slot;
	uint32_t max_spawned_actors; /* per worker; 0: none */
	uint32_t spawned_state_bytes; /* largest state of such an actor */
	uint64_t ask_status; /* struct peal_ask_status[n_workers]; or 0 */
	uint64_t limits; /* peal_limit_record[mailbox.max_limits]; 0: none */
	uint64_t reject_tables; /* uint64_t[PEAL_REJECT_TABLES_MAX] in host
				 * memory, addresses of struct
				 * peal_reject_table */
	uint64_t failures; /* struct peal_failure_log[n_workers] in host memory */
	uint32_t hooks; /* 1: some of its handlers have hooks */
	uint32_t on_failure; /* enum peal_failure_action */
	uint64_t arrivals; /* uint64_t[max_actors]: see impl/worker/migrate.h; 0:
			    * no actor moves to another worker */
	uint32_t hot_bytes; /* of a worker's tables that its block keeps in
			     * shared memory, see impl/worker/hot_tables.h; 0:
			     * none */
	uint32_t reserved;
};

PEAL_STATIC_ASSERT(sizeof(struct peal_kernel_params) == 336, "params size");

#endif
