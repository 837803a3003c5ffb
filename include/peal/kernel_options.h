/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_KERNEL_OPTIONS_H
#define PEAL_KERNEL_OPTIONS_H

#include <stdint.h>

/*
 * Options of peal_kernel_launch. peal/kernel.h includes this header. Options of
 * one feature are in a struct of their own.
 */

/** Mailboxes of a kernel. With slots 0 a kernel has no mailboxes. */
struct peal_mailbox_options {
	/*
	 * Messages that all mailboxes together may hold; each worker's mailbox
	 * has as many slots. A power of two up to 2^20 (default 0: no mailbox).
	 *
	 * Let n be the most messages that a handler tells for one message. The
	 * least value is workers * n + n (plus 1 if n is 0). Add one per worker
	 * for timers, and one per worker for monitors. Links and timers wait
	 * while only a quarter is free. That quarter serves handlers that tell
	 * more messages than they receive. If such handlers need more slots,
	 * they stall, and peal/stall.h reports the stall.
	 */
	uint32_t slots;
	uint32_t message_bytes; /* payload (default 48, up to 4080; with policy
				 * atom16 3064, atom8 1016) */
	uint32_t policy; /* enum peal_slot_policy (0: the backend's) */
	/*
	 * 1: each worker has a second mailbox, as large, for messages of high
	 * priority. These messages come by peal_tell with high priority, or by
	 * high-priority links for an actor of another worker. Both mailboxes
	 * share `slots`. 0: mailboxes ignore the priority.
	 */
	uint32_t priority;
	uint32_t max_limits; /* actors with a mailbox_limit (default 0,
			      * 0..8191), 64 bytes each */
	/*
	 * Slots per mailbox for messages from other kernels while all of
	 * `slots` are in use. Such messages come by forwarding links
	 * (peal/migration.h, peal/proxy.h), which need at least n slots, n as
	 * above. Default: `slots`, or the rest of 2^20 if less. The sum
	 * slots + forward_slots + max_asks is at most 2^20.
	 *
	 * K kernels that fill each other's mailboxes may deadlock. They do not
	 * if forward_slots of each exceed half the sum of `slots` over any
	 * K - 2 of them. Two kernels need only n. The default serves three
	 * kernels of equal size.
	 */
	uint32_t forward_slots;
};

/**
 * Clusters of workers. On a GPU with clusters (NVIDIA, sm_90 and later), links
 * within a cluster use its shared memory. Polls there should be faster (not
 * measured). On other devices these links are ordinary. peal_kernel_info and
 * peal_link_info report the result.
 */
struct peal_cluster_options {
	uint32_t workers; /* per cluster: 1, 2, 4 or 8; a divisor of the
			   * kernel's workers (default 0: no clusters) */
	uint32_t bytes; /* shared memory per worker for its input rings, as many
			 * as fit (default 32 KiB). Rounded up to 128; at most
			 * 1 MiB and a block's limit */
};

/** Actors that handlers spawn: see peal/device/spawn.h. */
struct peal_spawn_options {
	/* Actor slots per worker (default 0), of some 80 bytes and a state
	 * each. A kernel has at most 2^24 slots, with the host's. */
	uint32_t max_actors;
	uint32_t state_bytes; /* their state (default: the largest) */
};

/**
 * Budget of a handler for one message (default 0: no limit). Beyond the budget,
 * peal_budget_check (device/budget.h) returns PEAL_EBUDGET. The handler returns
 * that error, and its message becomes a dead letter.
 */
struct peal_budget_options {
	uint64_t max_steps; /* calls of peal_budget_check */
	uint64_t max_ns;
};

/**
 * Actions after the handler of an actor without a supervisor has failed. They
 * do not apply to a member of a pool, which always continues. A failed init
 * hook always ends its actor.
 */
enum peal_failure_action {
	PEAL_FAILURE_CONTINUE = 0, /* the actor keeps its state and handles its
				    * next message */
	PEAL_FAILURE_END = 1 /* the actor ends: its later messages are dead,
			      * reason "down" */
};

/** Options of a kernel; a field that is 0 has its default. */
struct peal_kernel_options {
	uint32_t size; /* sizeof(struct peal_kernel_options) */
	uint32_t workers; /* (default 1, 1..65535) */
	uint32_t lanes; /* per worker (default 1, 1..1024) */
	uint32_t max_actors; /* that the host spawns (default 64, 1..2^24) */
	uint32_t max_inputs; /* links into a worker (default 16, 1..4096) */
	uint32_t max_ports; /* of a worker's actors (default 16, 1..4096) */
	uint32_t max_barriers; /* per worker (default 4, 1..256) */
	uint32_t max_pools; /* (default 1, 1..64) */
	uint32_t max_supervisors; /* (default 0, 0..65535), peal/supervisor.h */
	uint32_t max_timers; /* pending timers per worker (default 0, 0..2^20).
			  * Needs mailboxes; see peal/device/timer.h */
	/*
	 * Most monitors at a time (default 0, 0..2^20), see peal/monitor.h.
	 * Each takes 64 bytes on the device and as much on the host. A monitor
	 * reports a failure of its actor only if on_failure, or a supervisor,
	 * ends the actor.
	 */
	uint32_t max_monitors;
	uint32_t max_asks; /* open asks per worker (default 0, 0..65535), some
			 * 200 bytes each. Needs mailboxes: device/ask.h */
	uint64_t arena_bytes; /* for actors' states (default 1 MiB, to 2^40) */
	uint64_t lease_ns; /* the kernel fails if the host is silent for so long
			    * (default: the runtime's; 100 ms or more) */
	uint64_t epoch_ns; /* return after this time and launch again (default
			    * 0: never, 100 ms if the driver limits it) */
	const char *name; /* for texts (default: the program's name); copied, at
			   * most 47 bytes: "..." replaces the middle of
			   * more */
	uint32_t drain_when_inputs_end; /* 1: end when all inputs have ended */
	struct peal_mailbox_options mailbox;
	struct peal_cluster_options cluster;
	struct peal_spawn_options spawn;
	struct peal_budget_options budget;
	uint32_t on_failure; /* enum peal_failure_action, for actors without a
			      * supervisor (default PEAL_FAILURE_CONTINUE) */
	uint32_t reserved; /* 0 */
};

#endif
