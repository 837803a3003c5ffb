/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_KERNEL_KERNEL_H
#define PEALI_KERNEL_KERNEL_H

#include <peal/abi/failure_log.h>
#include <peal/device/impl/queue/link.h>

#include "runtime/device/memory_block.h"
#include "runtime/kernel/busy_times.h"
#include "runtime/kernel/clock.h"
#include "runtime/kernel/record.h"
#include "runtime/runtime.h"

/* Kernels and their workers. */

struct peali_inits;
struct peali_launch;
struct peali_logged;
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
	struct peali_progress handled, blocked; /* of these words there */
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
	struct peali_launch *launch;
	struct peali_block shared; /* host memory: words that both sides read */
	struct peali_block own; /* device memory: everything else */
	/* the host's view of words in `shared` */
	struct peal_kernel_control *control;
	struct peal_worker_status *status;
	struct peal_timer_status *timers; /* for max_timers > 0 */
	struct peal_ask_status *asks; /* for max_asks > 0 */
	struct peal_bell *bells;
	uint64_t *reject_tables; /* addresses, for its workers */
	struct peal_failure_log *failures; /* of each worker */
	struct peali_logged *logged; /* launch/failure_log.c; NULL: nothing
				      * was logged */
	struct peali_worker *workers;
	uint32_t next_worker; /* gets the next actor, modulo n_workers */
	struct peali_pool *pools; /* max_pools */
	struct {
		struct peali_actor *entries; /* max_actors; peali_kernel_at
					      * refreshes entries of actors
					      * that handlers spawned */
		_Atomic uint32_t n; /* live actors made by the host */
		uint32_t n_moved; /* former entries of live actors, proxies */
	} actors;
	/* Free slots for actors of the host, and their memory: slots.c. */
	struct {
		uint32_t n_entries; /* used part of actors.entries, without
				     * actors that handlers spawned */
		uint32_t *retired; /* lists of free slots */
		struct peali_span *spans; /* free ranges of arena and ports */
		uint32_t n_spans, max_spans;
	} slots;
	/* Memory for the states of the host's actors, in `own`. */
	struct {
		uint64_t offset, bytes, used;
		uint32_t span; /* of the latest bytes */
	} arena;
	/* Actors that handlers spawn: device_spawned.c. */
	struct {
		uint64_t *slots; /* a word for each slot, in `shared` */
		uint64_t states_offset; /* in `own` */
	} spawn;
	struct {
		uint32_t message_bytes;
		uint32_t slots; /* for all messages of the kernel together */
		uint32_t forward_slots; /* further slots, for forwarding links */
		/* outside of the reserve, without those that workers keep */
		uint32_t free_slots;
		uint32_t *free_limits; /* stack: 1 + the index of free limits */
		uint32_t n_free_limits;
	} mailbox;
	struct {
		struct peal_supervisor *supervisors; /* max_supervisors */
		struct peali_supervised *actors; /* max_actors; NULL: no
						  * supervisors */
		struct peali_inits *inits; /* initial states of actors */
		uint64_t report_offset; /* in `shared`: reports of workers */
	} supervision;
	struct {
		struct peali_monitor *table; /* max_monitors; for endpoints */
		struct peal_down_slot *slots; /* max_monitors; in `shared` */
	} monitors;
	/* Messages of the host to all actors: kernel_tell_all.c. */
	struct {
		pthread_mutex_t lock; /* one such call at a time */
		uint8_t *data; /* the payload, in `shared` */
		uint64_t view; /* the device's address of `data` */
		uint64_t requests; /* number of the latest request */
		uint32_t worker; /* has to answer it */
		int open; /* 1: no answer yet */
		uint64_t accepted; /* requests with the answer 0 */
	} to_all;
	pthread_mutex_t call_lock; /* one control call at a time */
	/* guards the control links' producers and the stop word */
	pthread_mutex_t push_lock;
	_Atomic int draining, stopping;
	struct peali_progress drains; /* of `draining` */
	_Atomic int reaped; /* 1: all neighbours know that it has ended */
	char crash[128]; /* what crashed, see peali_inflight_note_crash; "": nothing */
	uint32_t n_barrier_joins; /* of barriers that exist; by rt->lock */
	struct {
		uint32_t step; /* enum peal_reclaim_step; 0: none */
		uint32_t n; /* dead workers that were reclaimed */
	} reclaim;
	struct peali_clock clock; /* of the device */
	struct peali_busy_times times;
};

#endif
