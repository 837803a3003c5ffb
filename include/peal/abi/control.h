/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_CONTROL_H
#define PEAL_ABI_CONTROL_H

#include <peal/abi/barrier.h>
#include <peal/abi/place.h>
#include <peal/abi/ring.h>
#include <peal/abi/room.h>

/*
 * How the host and a resident kernel talk: words in host memory that both map,
 * each with one writer, and a link from the host to each worker that carries
 * control messages like any other message.
 */

#define PEAL_CONTROL_MAGIC 0x4c5254434c414550ULL /* "PEALCTRL" */

/** Values of peal_kernel_control.stop. */
enum peal_stop {
	PEAL_STOP_NONE = 0,
	PEAL_STOP_STOP = 1, /* finish the message in hand, then end */
	PEAL_STOP_ABORT = 2 /* end at the next look, also inside waits */
};

/** What a worker says of itself. */
enum peal_worker_phase {
	PEAL_WORKER_ABSENT = 0, /* has not checked in */
	PEAL_WORKER_RUNNING = 1,
	PEAL_WORKER_SUSPENDED = 2,
	PEAL_WORKER_EPOCH = 3, /* returned to be launched again */
	PEAL_WORKER_STOPPED = 4, /* saw stop or abort */
	PEAL_WORKER_DRAINED = 5, /* all inputs ended and empty */
	PEAL_WORKER_FAILED = 6 /* result says why */
};

/** How a worker stands to the end of its kernel. */
enum peal_drained {
	PEAL_DRAINED_NOT = 0, /* inputs are open */
	PEAL_DRAINED_NO_INPUT = 1, /* it never had one */
	PEAL_DRAINED_ENDED = 2, /* all have ended: it may end with the others */
	PEAL_DRAINED_EXITED = 4, /* a bit beside: its actors' exits have run */
	PEAL_DRAINED_OPEN =
		8 /* another one: what passages bring is taken yet */
};

/** Host to kernel. Only writer of each word: the host. */
struct peal_kernel_control {
	uint64_t magic;
	uint64_t stop; /* enum peal_stop */
	uint64_t suspend; /* 0 or 1 */
	uint64_t drain; /* 1: end once all inputs have ended */
	uint64_t lease; /* moves as long as the host lives: the host's clock */
	/* what the host's clock is less the device's: see struct peal_clock */
	uint64_t clock_turn; /* odd while those change; 0: not known yet */
	uint64_t clock_at; /* when, by the device's clock */
	uint64_t clock_low, clock_high; /* at least and at most */
	uint8_t reserved[PEAL_SHARED_LINE - 72];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_kernel_control) == PEAL_SHARED_LINE,
		   "control size");

/** Kernel to host, one per worker. Only writer: that worker. */
struct peal_worker_status {
	uint64_t phase; /* enum peal_worker_phase */
	uint64_t beat; /* moves as long as the worker turns */
	uint64_t handled; /* messages whose handler returned */
	uint64_t emitted; /* messages sent through ports */
	uint64_t told; /* messages put into mailboxes and pools */
	uint64_t mail_done; /* messages from there that it handled */
	uint64_t mail_dead; /* of those: no actor, or the handler failed */
	uint64_t failed; /* handler runs that returned an error */
	uint64_t idle_turns;
	uint64_t result; /* -PEAL_E... of a failed worker */
	uint64_t control_done; /* control messages handled */
	uint64_t control_result; /* of the latest that failed: its number,
				  * as in control_done, << 16 | -PEAL_E... */
	uint64_t hand; /* PEAL_HAND: whose handler runs on which message, or
			* ran last without a pause since; 0: none */
	uint64_t blocked; /* what keeps a message waiting: PEAL_BLOCKED; or 0 */
	uint64_t drained; /* enum peal_drained */
	uint64_t mail_poisoned; /* of mail_dead: who told them died over it */
	uint64_t mail_expired; /* of mail_dead: had passed their deadline */
	/* by which the host knows the worker's clock: */
	uint64_t clock_seen; /* the lease that it saw last */
	uint64_t clock_first; /* its clock after it had seen that */
	uint64_t clock_latest; /* its clock at its latest look */
	uint64_t spawned; /* actors that its handlers have made */
	uint64_t retired; /* of those, ended, by whomever */
	uint64_t mail_full; /* of mail_dead: their actor's limit was reached */
	uint64_t inits, exits; /* of its actors, that have run */
	uint64_t mail_duplicate; /* of mail_dead: their actor has had them */
	uint8_t reserved[PEAL_SHARED_LINE - 80];
};

/**
 * What a worker has in hand: 1 + the actor's number, the type of the message,
 * and its `input` in struct peal_message. From max_inputs on that is
 * PEAL_HAND_MAIL or PEAL_HAND_POOL more, and the low bits of its number: each
 * is told from the next.
 */
#define PEAL_HAND(actor, type, input)                                          \
	((uint64_t)((uint32_t)(type) | (uint32_t)(input) << 16) << 32 |        \
	 (1u + (uint32_t)(actor)))
#define PEAL_HAND_ACTOR(hand) ((uint32_t)(hand)-1u)
#define PEAL_HAND_TYPE(hand) ((uint16_t)((hand) >> 32))
#define PEAL_HAND_INPUT(hand) ((uint32_t)((hand) >> 48))
#define PEAL_HAND_MAIL 0u
#define PEAL_HAND_POOL 0x4000u
#define PEAL_HAND_NUMBER(number) ((uint32_t)(number)&0x3fffu)

/**
 * A message for an actor waits for a port: for room, or (lost 1) for a link.
 * Port PEAL_BLOCKED_MAIL stands for the mailboxes of the actors it tells.
 */
#define PEAL_BLOCKED(actor, lost, port)                                        \
	((uint64_t)(actor) << 32 | (uint64_t)(lost) << 16 | ((port) + 1u))
#define PEAL_BLOCKED_PORT(blocked) ((uint32_t)((blocked)&0xffff) - 1u)
#define PEAL_BLOCKED_MAIL 0xfffeu
/** The same, of a timer's message that is due, for the actor itself. */
#define PEAL_BLOCKED_TIMER 0xfffdu
/** The same, of a down message for the actor. */
#define PEAL_BLOCKED_DOWN 0xfffcu
/** The same, of any message for the actor, which lives in another kernel. */
#define PEAL_BLOCKED_AWAY 0xfffbu

PEAL_STATIC_ASSERT(sizeof(struct peal_worker_status) == 2 * PEAL_SHARED_LINE,
		   "status size");
PEAL_STATIC_ASSERT(offsetof(struct peal_worker_status, mail_expired) ==
			   PEAL_SHARED_LINE,
		   "status layout");

/**
 * How a device's clock stands to the host's, which is CLOCK_MONOTONIC in ns: at
 * `at` of the device's the host's is at least at + low and at most at + high,
 * modulo 2^64. What is known from then on grows wider by PEAL_CLOCK_WIDER of
 * what has passed, as the two may not be equally fast.
 */
struct peal_clock {
	uint64_t at, low, high;
};

/** By how much bounds are wider after so many ns: 1 in 1024, to either side. */
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
	PEAL_CONTROL_MEND = 11, /* struct peal_control_mend */
	PEAL_CONTROL_POOL = 12, /* struct peal_pool_view: it is there */
	PEAL_CONTROL_POOL_MEMBER = 13, /* the same: who handles, or nobody */
	PEAL_CONTROL_POOL_GONE = 14, /* the same: what it holds is dead */
	/* the input and the port of a topic end as those of links do */
	PEAL_CONTROL_SUBSCRIBE = 15, /* struct peal_topic_view */
	PEAL_CONTROL_PUBLISH = 16, /* struct peal_topic_view */
	PEAL_CONTROL_FORGET = 17, /* struct peal_topic_view: index of the port,
				   * cursor; nobody subscribes there now */
	PEAL_CONTROL_SUPERVISOR = 18, /* struct peal_control_supervisor */
	PEAL_CONTROL_CARE = 19, /* struct peal_control_care; SPAWN follows */
	PEAL_CONTROL_LIMIT = 20, /* struct peal_control_limit */
	PEAL_CONTROL_MONITOR = 21, /* struct peal_control_monitor */
	PEAL_CONTROL_MOVE = 28, /* struct peal_control_move; it was made where
				 * it moves to, by SPAWN */
	PEAL_CONTROL_LEAVE = 29, /* struct peal_control_leave: the same, to
				  * another kernel */
	PEAL_CONTROL_ARRIVE = 30, /* struct peal_control_move: actor; its state
				   * is there. `next`: 1 if it begins anew */
	PEAL_CONTROL_LEAD = 31 /* struct peal_control_leave: one that has left
				* is elsewhere by now, and its way over the other
				* kernel has ended */
};

/** A pool, for one of its kernel's workers. */
struct peal_pool_view {
	uint64_t set; /* struct peal_work_set: a shard for each worker */
	uint64_t message; /* room for a message, 16-aligned, the worker's */
	uint64_t stage; /* for atom policies a slot's content, the worker's */
	uint32_t index; /* in the workers' tables */
	uint32_t actor; /* the number by which it is addressed */
	uint32_t member; /* 1 + the worker's actor that handles; 0: none */
	uint32_t message_bytes;
};

PEAL_STATIC_ASSERT(sizeof(struct peal_pool_view) == 40, "pool view size");

/*
 * A worker has died: its mailbox messages whose slot was taken and whose tag
 * never came are given up. Each step follows when all live workers have done
 * the one before.
 */
enum peal_mend {
	PEAL_MEND_NOTE = 1, /* the mailbox: how many tickets there are by now */
	PEAL_MEND_PASS = 2, /* what was being put by then has its tag */
	PEAL_MEND_POISON = 3 /* of those tickets, who has no tag gets none */
};

/** One step of giving up what a dead worker has left half done. */
struct peal_control_mend {
	uint32_t step; /* enum peal_mend */
	uint32_t reserved;
};

PEAL_STATIC_ASSERT(sizeof(struct peal_control_mend) == 8, "mend size");

/** An actor moves on: from the entry that it has, of the worker that gets this,
 * to one that awaits it. */
struct peal_control_move {
	uint32_t actor; /* its number there */
	uint32_t next; /* its number from then on */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_control_move) == 8, "move size");

/** An actor leaves for another kernel. */
struct peal_control_leave {
	uint32_t actor; /* its number here */
	uint32_t to; /* its number there */
	uint32_t port; /* of this worker's table: the passage there. To LEAD:
			* PEAL_CONTROL_BACK, `to` is another number here */
	uint32_t reserved;
};

#define PEAL_CONTROL_BACK 0xffffffffu
PEAL_STATIC_ASSERT(sizeof(struct peal_control_leave) == 16, "leave size");

/** A control message's payload is at most this. */
#define PEAL_CONTROL_BYTES 112

/** First bytes of a state that a control message has room for. */
#define PEAL_CONTROL_INIT 56
/** As init_bytes: the host has written the states already. */
#define PEAL_CONTROL_WRITTEN 0xffffffffu
/** The same, where actors are ended: whoever is no more has ended since the host
 * has first asked for it, by its exit. */
#define PEAL_CONTROL_AGAIN 0xfffffffeu

/** A limit and what it comes to, as one word. */
#define PEAL_SPAWN_LIMIT(limit, full) ((uint32_t)(full) << 24 | (limit))
#define PEAL_SPAWN_LIMIT_OF(word) ((word)&0xffffffu)
#define PEAL_SPAWN_FULL_OF(word) ((word) >> 24)

/** Makes or ends actors that follow one another, in the table and in memory. */
struct peal_control_spawn {
	struct peal_actor_entry entry; /* of the first */
	uint32_t actor; /* number of the first; all are of its generation */
	uint32_t count; /* of actors */
	uint32_t state_step; /* bytes from one's state to the next one's */
	uint32_t port_step; /* ports from one's to the next one's; 0: they
			     * share them */
	uint32_t init_bytes; /* that each state begins with, zeros behind it;
			      * or PEAL_CONTROL_WRITTEN */
	uint32_t limit; /* of each, and above it enum peal_mailbox_full; their
			 * places follow one another. 0: they have none */
	uint8_t init[PEAL_CONTROL_INIT];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_control_spawn) == PEAL_CONTROL_BYTES,
		   "spawn size");

#define PEAL_CLUSTER_WORKERS_MAX 8 /* that every device with clusters takes */

/** What a kernel is launched with; in device memory, all addresses are the
 * device's own. */
struct peal_kernel_params {
	uint64_t magic;
	uint64_t control; /* struct peal_kernel_control */
	uint64_t status; /* struct peal_worker_status[n_workers] */
	uint64_t workers; /* struct peal_worker_state, worker_stride apart */
	uint64_t worker_stride;
	uint64_t actors; /* struct peal_actor_entry[max_actors] */
	uint64_t mailboxes; /* struct peal_mailbox[n_workers + high_boxes],
			     * mailbox_stride apart; 0 */
	uint64_t mailbox_stride;
	uint64_t bells; /* host only: struct peal_bell[n_workers] */
	uint64_t lease_ns; /* end when the lease has not moved for so long */
	uint64_t epoch_ns; /* return to be launched again; 0: never */
	uint32_t n_workers;
	uint32_t lanes;
	uint32_t max_actors;
	uint32_t max_inputs; /* per worker */
	uint32_t max_ports; /* per worker */
	uint32_t max_barriers;
	uint32_t end_with_inputs; /* 1: end once all inputs have ended */
	uint32_t max_pools;
	uint32_t cluster_workers; /* of a cluster; 0: there are none */
	uint32_t cluster_bytes; /* of its memory that each worker has */
	uint64_t cluster_home; /* where that is kept from one epoch to the next,
				* cluster_bytes for each worker; 0: no epochs */
	uint64_t address; /* of its actors, but for their numbers */
	uint64_t supervisors; /* struct peal_supervisor_record[max_supervisors];
			       * 0: nobody is supervised */
	uint64_t care; /* struct peal_care[max_actors], if there are some */
	uint32_t max_supervisors;
	uint32_t high_boxes; /* n_workers: behind their mailboxes they have as
			      * many for messages of high priority; 0 */
	uint64_t timer_status; /* struct peal_timer_status[n_workers]; 0 */
	uint32_t max_timers; /* per worker; 0: there are none */
	uint32_t timer_bytes; /* from one's message to the next one's */
	uint64_t admission; /* struct peal_admission, to the mailboxes */
	uint64_t monitors; /* struct peal_monitors; 0: there are none */
	uint32_t max_monitors;
	uint32_t max_asks; /* open at a time, per worker; 0: there are none */
	uint32_t max_limits;
	/* what a handler may use for one message, see device/budget.h; 0: all */
	uint64_t max_steps;
	uint64_t max_handler_ns;
	/* for actors that handlers make, see abi/room.h; of max_actors, those
	 * from first_room on, spawn_rooms for each worker */
	uint64_t handlers; /* struct peal_handler_entry[n_handlers] */
	uint64_t rooms; /* host only: a PEAL_ROOM for each */
	uint64_t room_states; /* a state for each */
	uint64_t room_step; /* from one's to the next one's */
	uint32_t n_handlers;
	uint32_t first_room;
	uint32_t spawn_rooms; /* per worker; 0: there are none */
	uint32_t spawn_state_bytes; /* most that such an actor's state has */
	uint64_t ask_status; /* struct peal_ask_status[n_workers]; 0 */
	uint64_t limits; /* struct peal_limit_record[max_limits]; 0: nobody has
			  * a limit */
	uint64_t boards; /* addresses of PEAL_BOARDS_MAX struct peal_board, in
			  * host memory; 0: there are none */
	uint32_t hooks; /* 1: some of its handlers have hooks */
	uint32_t reserved;
};

PEAL_STATIC_ASSERT(sizeof(struct peal_kernel_params) == 312, "params size");

#endif
