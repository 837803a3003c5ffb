/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_KERNEL_KERNEL_H
#define PEALI_KERNEL_KERNEL_H

#include <peal/device/impl/queue/link.h>

#include "runtime/device/memory_block.h"
#include "runtime/kernel/busy_times.h"
#include "runtime/kernel/clock.h"
#include "runtime/kernel/record.h"
#include "runtime/runtime.h"

/* Kernels and their workers. */

struct peali_inits;
struct peali_launch;
struct peali_monitor;
struct peali_span;
struct peali_supervised;

/** The host's side of one worker. */
struct peali_worker {
	struct peal_link_producer control; /* for control messages */
	uint64_t control_sent;
	uint32_t n_ports; /* end of the used ports, from PEAL_PORTS_FIRST */
	uint32_t n_barriers;
	uint8_t *input_used; /* max_inputs flags */
	struct peali_suballoc cluster; /* its part of the cluster's memory */
	uint64_t reclaim_number; /* message number of reclaim_step; 0: not
				  * sent */
	uint64_t beat_seen; /* the watchdog's latest value */
	struct peali_progress progress; /* of `status.inflight` */
	_Atomic uint64_t beat_moved_ns; /* when beat_seen changed */
};

struct peal_kernel {
	struct peal_runtime *rt;
	struct peal_kernel *next;
	char name[48];
	uint32_t id;
	int device;
	const struct peal_program *program;
	struct peal_kernel_params params; /* the host's copy */
	struct peali_block shared; /* host memory: words that both sides read */
	struct peali_block own; /* device memory: everything else */
	struct peal_kernel_control *control;
	struct peal_worker_status *status;
	struct peal_timer_status *timers; /* for max_timers > 0 */
	struct peal_ask_status *asks; /* for max_asks > 0 */
	struct peal_bell *bells;
	struct peali_worker *workers;
	struct peali_actor *actors; /* max_actors; entries of handlers' actors
				     * are refreshed by peali_kernel_at */
	struct peali_pool *pools; /* max_pools */
	_Atomic uint32_t n_actors; /* live actors made by the host */
	uint32_t n_moved; /* former entries of live actors, and proxies */
	struct peal_supervisor *supervisors; /* max_supervisors */
	struct peali_supervised
		*supervised; /* max_actors, if there are supervisors */
	struct peali_inits *inits; /* initial states of supervised actors */
	uint64_t report_offset; /* in `shared`: reports of workers */
	struct peali_monitor *monitors; /* max_monitors; for endpoints */
	struct peal_down_slot *down_slots; /* max_monitors; in `shared` */
	uint32_t *free_limits; /* stack of 1 + the index of free limits */
	uint32_t n_free_limits;
	uint64_t *reject_tables; /* in `shared`; NULL: no limits */
	uint32_t mailbox_message_bytes;
	uint32_t mailbox_slots; /* for all messages of the kernel together */
	uint32_t forward_slots; /* further slots, for forwarding links only */
	uint32_t next_worker; /* gets the next actor, modulo n_workers */
	uint64_t arena_offset, arena_bytes, arena_used;
	uint64_t *spawn_slots; /* words about handlers' actors: see
			        * device_spawned.c */
	uint64_t spawn_states_offset; /* of the states of these actors */
	uint32_t n_entries; /* used part of `actors`, without handlers'
			     * actors */
	uint32_t *retired; /* lists of free slots: see `slots.c` */
	struct peali_span *spans; /* free ranges of the arena and of ports */
	uint32_t n_spans, max_spans;
	uint32_t arena_span; /* span of the latest arena bytes */
	struct peali_launch *launch;
	pthread_mutex_t call_lock; /* one control call at a time */
	/* guards the control links' producers and the stop word */
	pthread_mutex_t push_lock;
	_Atomic int draining, stopping;
	_Atomic int reaped; /* 1: all neighbours know that it has ended */
	uint32_t n_barrier_joins; /* of barriers that exist; by rt->lock */
	uint32_t reclaim_step; /* the reclaim step, enum peal_reclaim_step; 0:
			        * none */
	uint32_t n_reclaimed; /* dead workers that were reclaimed */
	struct peali_clock clock; /* of the device */
	struct peali_busy_times times;
};

#endif
