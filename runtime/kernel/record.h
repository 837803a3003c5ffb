/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_KERNEL_RECORD_H
#define PEALI_KERNEL_RECORD_H

#include "queues/work.h"
#include "runtime/device/memory_block.h"
#include "runtime/runtime.h"

/* The host's records of actors and pools. */

struct peali_work_spec;

/** The host's record of an actor. */
struct peali_actor {
	uint32_t handler; /* PEAL_NO_HANDLER: the entry is free */
	uint32_t worker;
	uint32_t port_base;
	uint32_t n_links; /* links of it, and actors that share its ports */
	uint32_t pool; /* 1 + the index of its pool; 0: none */
	uint32_t generation; /* earlier actors of this entry, modulo 255 */
	/* 1 + the next and the previous entry of the actor, see migration.c.
	 * PEALI_ELSEWHERE: in another kernel; 0: none. */
	uint32_t moved_to, moved_from;
	/* While the worker has not answered a migration: 1 + the next entry, or
	 * PEALI_ELSEWHERE. Else 0. */
	uint32_t moving;
	union {
		uint32_t share_ports_with; /* 1 + the owner's entry; 0: own
					    * ports */
		uint32_t next; /* in a list of free slots: see `slots.c` */
	};
	/* The address to which its worker forwards messages; 0: the actor is
	 * here. A shortcut leads past `moved_to`, see shortcut.c. */
	uint64_t leads_to;
	uint32_t unsettled; /* 1: the worker has not answered about leads_to */
	uint64_t state_offset; /* in the kernel's device memory */
	uint32_t limit; /* 1 + the index of its limit; 0: none */
	uint32_t mailbox_limit, mailbox_overflow; /* as in its options */
	uint32_t pinned; /* 1: the options named its worker */
	uint32_t bare; /* 1: the state belongs to a former entry's slot */
	uint16_t end_number; /* of the actor, see end_number.h; 0: none */
};

/* As moved_to, moved_from or moving: in another kernel. See forwarding.c. */
#define PEALI_ELSEWHERE UINT32_MAX

/* Values of `handler` for entries without an actor: pools, and proxies for
 * addresses of other kernels. */
#define PEALI_POOL_HANDLER 0xfffffffeu
#define PEALI_PROXY_HANDLER 0xfffffffdu

/** The host's record of a pool. */
struct peali_pool {
	uint32_t used; /* 1: in use; 0: free */
	uint32_t ending; /* 1: its end has begun */
	uint32_t actor; /* the entry for its address */
	uint32_t n_members;
	uint32_t *members; /* per worker: 1 + its member's entry; 0: none */
	struct peali_work_spec spec; /* of each worker's shard */
	struct peali_block block; /* the set, then private memory per worker */
	uint64_t worker_offset, worker_bytes; /* of the private memory */
};

/** A count, and when it changed. The watchdog sets it under rt->lock. */
struct peali_progress {
	uint64_t done;
	uint64_t moved_ns; /* ns of the last change; 0: never read */
};

#endif
