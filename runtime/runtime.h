/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_RUNTIME_H
#define PEALI_RUNTIME_H

#include <pthread.h>
#include <stdatomic.h>

#include <peal/abi/control.h>
#include <peal/abi/monitor.h>
#include <peal/abi/ask.h>
#include <peal/abi/timer.h>
#include <peal/device/link.h>
#include <peal/peal.h>
#include "p2p/peer.h"
#include "queues/ring.h"
#include "queues/work.h"
#include "runtime/device/devices.h"
#include "runtime/base/wait.h"
#include "runtime/device/range_alloc.h"
#include "runtime/device/clock.h"
#include "runtime/link/endpoint_ref.h"
#include "runtime/actor/name.h"
#include "runtime/kernel/busy_times.h"

/*
 * The private objects of a runtime, and the locks that guard them.
 *
 * `lock` guards the object lists and all connections between objects. A call
 * that waits for a worker holds `lock` during the wait. Workers, endpoints, the
 * stager and readers of counters never take it.
 */

struct peali_buffers;
struct peali_meter;
struct peali_far;
struct peali_router;
struct peali_topic;
struct peali_watchdog;

#define PEALI_BACKENDS_MAX 8
#define PEALI_LEASE_NS_MIN 10000000ULL
#define PEALI_CHECK_IN_NS 5000000000LL
#define PEALI_SILENT_NS 2000000000ULL
#define PEALI_END_NS 1000000000LL
#define PEALI_STOP_NS 2000000000LL

struct peal_runtime {
	pthread_mutex_t lock;
	struct peali_devices devices;
	struct peali_backend *backends[PEALI_BACKENDS_MAX];
	struct peal_backend_info backend_info[PEALI_BACKENDS_MAX];
	int n_backends;
	/* Serializes probes of pairs and loads of programs at a launch. Taken
	 * before `lock`. */
	pthread_mutex_t launch_lock;
	int proved[PEALI_BACKENDS_MAX]; /* per backend; 1: pairs were probed */
	struct peali_peers *peers;
	struct peali_router *router;
	struct peali_watchdog *watchdog;
	struct peali_meter *meter;
	struct peali_stuck_socket *stuck_socket; /* NULL: not open */
	uint64_t lease_ns;
	uint64_t answer_ms; /* ms for an answer, else a worker is hung */
	int64_t check_in_ns; /* ns for all workers of a new kernel to start */
	_Atomic uint64_t silent_ns; /* ns until a silent worker is logged */
	/* ns for a stop before an abort. stop_ns: of an executor, a group or a
	 * graph. end_ns: of a shutdown, also for each abort there. */
	int64_t stop_ns, end_ns;
	struct peal_kernel *kernels; /* lists, newest first */
	struct peal_link *links;
	struct peal_endpoint *endpoints;
	struct peal_requester *requesters;
	struct peal_barrier *barriers;
	struct peal_group *groups;
	struct peal_event *events;
	struct peal_executor *executors;
	struct peal_graph *graphs;
	struct peal_pipeline *pipelines;
	struct peali_topic *topics;
	struct peali_buffers *buffers; /* guarded by their own lock */
	struct peal_processes *sets; /* process groups */
	struct peali_names names;
	uint32_t next_kernel; /* id of the next kernel, from 1 */
	uint32_t next_endpoint;
	uint64_t next_link;
	uint32_t next_topic;
	const struct peal_program **programs;
	uint32_t n_programs;
	struct peali_program_file *program_files;
	struct peali_board **boards; /* PEAL_BOARDS_MAX refusal tables */
	uint32_t n_boards; /* made so far */
	_Atomic int limited; /* 1: some kernel has or had limits */
	struct peali_crossing *crossings; /* between kernels */
	uint32_t n_crossings, max_crossings;
};

/** An allocation and its owner. */
struct peali_area {
	int owner; /* the runtime's index of a device, or PEALI_HOST */
	uint64_t bytes; /* 0: no allocation */
	struct peali_memory memory;
};

int peali_area_alloc(struct peal_runtime *rt, int owner, uint64_t bytes,
		     struct peali_area *out);
void peali_area_free(struct peal_runtime *rt, struct peali_area *area);
/* Returns the address of an area for a device or PEALI_HOST; 0: none. */
uint64_t peali_area_view(const struct peal_runtime *rt, int viewer,
			 const struct peali_area *area);
/* Copies from host memory into an area, or back. */
int peali_area_write(struct peal_runtime *rt, const struct peali_area *area,
		     uint64_t offset, const void *from, uint64_t bytes);
int peali_area_read(struct peal_runtime *rt, const struct peali_area *area,
		    uint64_t offset, void *to, uint64_t bytes);

/* ---- addresses: device 8 | kernel 16 | generation 8 | actor 24 bits ------ */

#define PEALI_ADDRESS_HOST 0xff
#define PEALI_ADDRESS_DEAD_LETTERS 0xffffffffu /* generation 255: no actor's */
#define PEALI_ADDRESS_TOPIC (1ULL << 56) /* bit of topics, above the device */

static inline uint64_t peali_address(uint32_t device, uint32_t object,
				     uint32_t actor)
{
	return (uint64_t)device << 48 | (uint64_t)object << 32 | actor;
}

/* Returns the kernel of an actor's or a pool's address, or NULL. */
struct peal_kernel *peali_kernel_at(struct peal_runtime *rt, uint64_t address);
/* Returns the kernel of an actor's address, or NULL. */
struct peal_kernel *peali_kernel_of(struct peal_runtime *rt, uint64_t address);
struct peal_endpoint *peali_endpoint_of(struct peal_runtime *rt,
					uint64_t address);
/* Returns the kernel with this address for dead letters, or NULL. */
struct peal_kernel *peali_dead_letters_of(struct peal_runtime *rt,
					  uint64_t address);

/* ---- programs ------------------------------------------------------------ */

int peali_programs_init(struct peal_runtime *rt);
uint32_t peali_programs_count(struct peal_runtime *rt);
const struct peal_program *peali_programs_at(struct peal_runtime *rt,
					     uint32_t index);
/* Unloads program files. No kernel runs their code any more. */
void peali_program_files_close(struct peal_runtime *rt);
/* Returns 0 if a program can be launched, PEAL_EPROGRAM or PEAL_EINVAL. */
int peali_program_check(const struct peal_program *program, const char *call);

/* ---- barriers ------------------------------------------------------------ */

struct peal_barrier *peali_barrier_next(struct peal_barrier *barrier);
/* Returns 1 if a worker of the kernel has joined a barrier. */
int peali_barrier_names(struct peal_runtime *rt,
			const struct peal_kernel *kernel);

/* ---- groups -------------------------------------------------------------- */

struct peal_group *peali_group_next(struct peal_group *group);

/* ---- events -------------------------------------------------------------- */

struct peal_event *peali_event_next(struct peal_event *event);

/* ---- buffers ------------------------------------------------------------- */

int peali_buffers_open(struct peal_runtime *rt);
uint32_t peali_buffers_count(const struct peal_runtime *rt);
/* Reports and forgets all buffers. Their memory is freed with the runtime's
 * peers. Does nothing if rt->buffers is NULL. */
void peali_buffers_close(struct peal_runtime *rt,
			 struct peal_leak_report *report_out);
/* Finds the runtime and the place of a range inside its buffer. Returns 0, or
 * an error as peal_buffer_write. */
int peali_range_place(struct peal_range range, const char *call,
		      struct peal_runtime **rt_out,
		      struct peali_place *place_out);

/* ---- executors, graphs --------------------------------------------------- */

struct peal_executor *peali_executor_next(struct peal_executor *executor);

struct peal_graph *peali_graph_next(struct peal_graph *graph);

/* ---- topics -------------------------------------------------------------- */

/* Returns 1 if an actor of the kernel publishes or subscribes. */
int peali_topic_names(const struct peal_runtime *rt,
		      const struct peal_kernel *kernel);
/* Returns the name of the topic at an actor's port, or NULL. */
const char *peali_topic_at_port(const struct peal_runtime *rt, uint64_t address,
				uint32_t port);
/* Tells neighbours that a kernel has ended. Returns 0 once all are told. */
int peali_topics_reap(struct peal_kernel *kernel);
uint32_t peali_topics_count(const struct peal_runtime *rt);
/* Frees all topics. Every kernel has ended. */
void peali_topics_clear(struct peal_runtime *rt);

/* ---- kernels ------------------------------------------------------------- */

/** The host's record of an actor. */
struct peali_actor {
	uint32_t handler; /* PEAL_NO_HANDLER: the entry is free */
	uint32_t worker;
	uint32_t port_base;
	uint32_t n_links; /* links of it, and actors that share its ports */
	uint32_t pool; /* 1 + the index of its pool; 0: none */
	uint32_t generation; /* earlier actors of this entry, modulo 255 */
	/* 1 + the next and the previous entry of the actor, see migrate.c.
	 * PEALI_ELSEWHERE: in another kernel; 0: none. */
	uint32_t moved_to, moved_from;
	/* While the worker has not answered a migration: 1 + the next entry, or
	 * PEALI_ELSEWHERE. Else 0. */
	uint32_t moving;
	union {
		uint32_t ports_of; /* 1 + the owner's entry; 0: own ports */
		uint32_t next; /* in a list of free slots: see `room.c` */
	};
	uint64_t state_offset; /* in the kernel's device memory */
	uint32_t limit; /* 1 + the index of its limit; 0: none */
	uint32_t mailbox_limit, mailbox_full; /* as in its options */
	uint32_t pinned; /* 1: the options named its worker */
	uint32_t bare; /* 1: the state belongs to a former entry's slot */
};

/* As moved_to, moved_from or moving: in another kernel. See cross.c. */
#define PEALI_ELSEWHERE UINT32_MAX

/* Values of `handler` for entries without an actor: pools, and proxies for
 * addresses of other kernels. */
#define PEALI_POOL_HANDLER 0xfffffffeu
#define PEALI_PROXY_HANDLER 0xfffffffdu

/* Returns the low half of an entry's address. */
uint32_t peali_actor_number(const struct peal_kernel *kernel, uint32_t index);

/** The host's record of a pool. */
struct peali_pool {
	uint32_t used; /* 1: in use; 0: free */
	uint32_t ending; /* 1: its end has begun */
	uint32_t actor; /* the entry for its address */
	uint32_t n_members;
	uint32_t *members; /* per worker: 1 + its member's entry; 0: none */
	struct peali_work_spec spec; /* of each worker's shard */
	struct peali_area area; /* the set, then private memory per worker */
	uint64_t worker_offset, worker_bytes; /* of the private memory */
};

/** A count, and when it changed. The watchdog sets it under rt->lock. */
struct peali_progress {
	uint64_t done;
	uint64_t moved_ns; /* ns of the last change; 0: never read */
};

/** The host's side of one worker. */
struct peali_worker {
	struct peal_link_producer control; /* for control messages */
	uint64_t control_sent;
	uint32_t n_ports; /* end of the used ports, from PEAL_PORTS_FIRST */
	uint32_t n_barriers;
	uint8_t *input_used; /* max_inputs flags */
	struct peali_space cluster; /* its part of the cluster's memory */
	uint64_t mend_number; /* message number of mend_step; 0: not sent */
	uint64_t beat_seen; /* the watchdog's latest value */
	struct peali_progress progress; /* of `status.hand` */
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
	struct peali_area shared; /* host memory: words that both sides read */
	struct peali_area own; /* device memory: everything else */
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
	struct peali_ward *wards; /* max_actors, if there are supervisors */
	struct peali_inits *inits; /* initial states of supervised actors */
	uint64_t report_offset; /* in `shared`: reports of workers */
	struct peali_monitor *monitors; /* max_monitors; for endpoints */
	struct peal_down_slot *down_slots; /* max_monitors; in `shared` */
	uint32_t *free_limits; /* stack of 1 + the index of free limits */
	uint32_t n_free_limits;
	uint64_t *boards; /* refusal tables, in `shared`; NULL: no limits */
	uint32_t mailbox_message_bytes;
	uint32_t mailbox_slots; /* for all messages of the kernel together */
	uint32_t passage_slots; /* further slots, for forwarding links only */
	uint32_t next_worker; /* gets the next actor, modulo n_workers */
	uint64_t arena_offset, arena_bytes, arena_used;
	uint64_t *rooms; /* words about handlers' actors: see spawned.c */
	uint64_t rooms_offset; /* of the states of these actors */
	uint32_t n_rooms; /* used part of `actors`, without handlers' actors */
	uint32_t *retired; /* lists of free slots: see `room.c` */
	struct peali_span *spans; /* free ranges of the arena and of ports */
	uint32_t n_spans, max_spans;
	uint32_t arena_span; /* span of the latest arena bytes */
	struct peali_launch *launch;
	pthread_mutex_t call_lock; /* one control call at a time */
	/* guards the control links' producers and the stop word */
	pthread_mutex_t push_lock;
	_Atomic int draining, stopping;
	_Atomic int reaped; /* 1: all neighbours know that it has ended */
	uint32_t mend_step; /* the reclaim step, enum peal_mend; 0: none */
	uint32_t n_mended; /* dead workers that were reclaimed */
	struct peali_clock clock; /* of the device */
	struct peali_times times;
};

/* Fills in defaults and checks ranges. Returns 0 or PEAL_EINVAL. */
int peali_kernel_options_complete(struct peal_kernel_options *options,
				  const struct peal_runtime *rt,
				  const struct peal_program *program);

/* ---- actors that handlers make ------------------------------------------- */

/* Checks the options for such actors, and sets a default. Returns 0 or
 * PEAL_EINVAL. */
int peali_spawned_check(struct peal_kernel_options *options,
			const struct peal_program *program);
/* Sets the kernel's parameters for such actors. */
void peali_spawned_plan(struct peal_kernel *kernel,
			const struct peal_kernel_options *options);
/* Return the bytes of the slots' words in host memory, and of their states. */
uint64_t peali_spawned_words(const struct peal_kernel_params *params);
uint64_t peali_spawned_states(const struct peal_kernel_params *params);
/* Marks all slots as free. `rooms` are their words. */
void peali_spawned_open(struct peal_kernel *kernel, uint64_t *rooms);
/* Fills in the table of the program's handlers for the device. */
void peali_spawned_handlers(const struct peal_kernel *kernel,
			    struct peal_handler_entry *out);
/* Returns 1 if an address names a slot for handlers' actors. */
int peali_is_spawned(const struct peal_kernel *kernel, uint64_t address);
/* Returns the host's record of any actor. Without rt->lock an actor of a
 * handler may end at any moment. */
struct peali_actor peali_actor_look(const struct peal_kernel *kernel,
				    uint32_t index);
/* Returns the live actors of handlers: *spawned minus *retired. */
uint32_t peali_spawned_live(const struct peal_kernel *kernel, uint64_t *spawned,
			    uint64_t *retired);

/* ---- limits -------------------------------------------------------------- */

/* Checks the options for limits. Returns 0 or PEAL_EINVAL. */
int peali_limits_plan(const struct peal_kernel_options *options);
/* Returns 0, or PEAL_ENOMEM without an error text. */
int peali_limits_open(struct peal_kernel *kernel);
/* Checks that n actors can have the limit in their options. */
int peali_limits_check(const struct peal_kernel *kernel,
		       const struct peal_actor_options *options, uint32_t n);
/* Takes limits for n actors. peali_limits_check must have passed. */
void peali_limits_take(struct peal_kernel *kernel, const uint32_t *index,
		       uint32_t n);
/* Frees the limit of an actor, if it has one. */
void peali_limit_give(struct peal_kernel *kernel, uint32_t index);

/* ---- actor slots: see room.c --------------------------------------------- */

/* The slots for the actors of one spawn: an entry, a state and ports each. */
struct peali_rooms {
	struct peal_kernel *kernel;
	uint32_t handler;
	uint32_t worker;
	uint32_t ports_of; /* 1 + the entry of the owner; 0: own ports */
	uint32_t moved; /* 1: a migrated actor, which has a state */
};

/* Returns 0, or PEAL_ENOMEM without an error text. */
int peali_rooms_open(struct peal_kernel *kernel);
void peali_rooms_close(struct peal_kernel *kernel);
/* Returns the bytes from one state to the next. */
uint64_t peali_room_step(const struct peal_handler_info *handler);
/* Returns the kind of slot of an actor. */
struct peali_rooms peali_rooms_of(struct peal_kernel *kernel, uint32_t handler,
				  const struct peali_actor *actor);
/* Takes n slots, or none: PEAL_ENOSPC. index_out gets their entries. */
int peali_rooms_take(const struct peali_rooms *rooms, uint32_t n,
		     uint32_t *index_out, const char *call);
/* Frees a slot, for the next actor of its kind. */
void peali_rooms_give(const struct peali_rooms *rooms, uint32_t index);
/* Take and free only an entry, for a pool or a proxy. -1: none is left. */
int64_t peali_entry_take(struct peal_kernel *kernel);
void peali_entry_give(struct peal_kernel *kernel, uint32_t index);
/* Take and free a port in a worker's table, for no actor. -1: none is left. */
int64_t peali_port_take(struct peal_kernel *kernel, uint32_t worker);
void peali_port_give(struct peal_kernel *kernel, uint32_t worker,
		     uint32_t port);

/* peal_actor_retire_many for callers that hold rt->lock. */
int peali_actors_retire(struct peal_runtime *rt, const uint64_t *addresses,
			uint32_t n);
/* Ends an address that leads to another kernel. */
int peali_crossing_end(struct peal_runtime *rt, uint64_t address);

/* ---- migration ----------------------------------------------------------- */

/* Returns the newest entry of an actor in this kernel. */
uint32_t peali_actor_lives(const struct peal_kernel *kernel, uint32_t index);
/* Returns the newest address of an actor; any other address unchanged. */
uint64_t peali_address_lives(struct peal_runtime *rt, uint64_t address);
/* Return an actor's first address, and the address after this one or 0. */
uint64_t peali_address_first(struct peal_runtime *rt, uint64_t address);
uint64_t peali_address_next(struct peal_runtime *rt, uint64_t address);
/* Returns the previous address of an actor, or 0. */
uint64_t peali_address_before(struct peal_runtime *rt, uint64_t address);
/* Asks a worker again that has not answered whether an actor has moved. `index`
 * is the newest entry of the actor. */
int peali_move_settle(struct peal_kernel *kernel, uint32_t index,
		      const char *call);
/* Checks that a handler can send by the ports of another handler's actor. */
int peali_sharing_check(const struct peal_handler_info *handler,
			const struct peal_handler_info *owner,
			const char *call);

/* ---- migration to other kernels ------------------------------------------ */

/** An address that leads to another kernel. */
struct peali_crossing {
	uint64_t from, to;
	struct peal_link *passage; /* of an unfinished migration; NULL: none */
	int proxy; /* 1: a proxy */
};

/* Return the crossing from an address, and the migration to an address. NULL:
 * there is none. */
struct peali_crossing *peali_crossing_from(const struct peal_runtime *rt,
					   uint64_t address);
struct peali_crossing *peali_crossing_to(const struct peal_runtime *rt,
					 uint64_t address);
/* Add a crossing, or return PEAL_ENOMEM, and remove one. */
int peali_crossing_add(struct peal_runtime *rt,
		       const struct peali_crossing *crossing, const char *call);
void peali_crossing_remove(struct peal_runtime *rt,
			   struct peali_crossing *crossing);
/* Returns the forwarding link from a worker to another kernel, or NULL. */
struct peal_link *peali_passage_find(const struct peal_kernel *from,
				     uint32_t worker,
				     const struct peal_kernel *to);
/* Check that a kernel can forward messages, and that it can forward them to
 * `to`. Return 0 or an error with its text. */
int peali_kernel_passes_on(struct peal_kernel *kernel, const char *call);
int peali_passage_check(struct peal_kernel *from, struct peal_kernel *to,
			const char *call);
/* Finds or makes the forwarding link. A new link ends at to_worker. */
int peali_passage_make(struct peal_kernel *from, uint32_t worker,
		       struct peal_kernel *to, uint32_t to_worker,
		       struct peal_link **link_out, const char *call);
/* Removes the forwarding links and crossings of a kernel that has ended.
 * PEAL_EBUSY: its messages wait in a link; PEAL_EHUNG: a worker hangs. */
int peali_passages_end(struct peal_kernel *kernel);

/* ---- supervisors --------------------------------------------------------- */

/** Initial states of the supervised actors of one call. */
struct peali_inits {
	struct peali_inits *next;
	struct peali_area area;
	uint64_t bytes; /* of each; the rest of a state is 0 */
	uint64_t step; /* bytes from one state to the next; 0: all are equal */
	uint32_t actors; /* that still use this; at 0 it is freed */
};

/** The supervision of an actor. */
struct peali_ward {
	struct peal_supervisor *supervisor; /* NULL: the actor has none */
	struct peali_inits *inits; /* NULL: the actor starts with zeros */
	uint64_t init_offset; /* of its state in inits->area */
};

/* Returns 0, or PEAL_ENOMEM without an error text. */
int peali_supervisors_open(struct peal_kernel *kernel);
void peali_supervisors_close(struct peal_kernel *kernel);
/* Checks that n actors of the kernel can join a supervisor. */
int peali_supervisor_check(const struct peal_supervisor *supervisor,
			   const struct peal_kernel *kernel, uint32_t n,
			   const char *call);
/* Stores the initial states of n actors. *inits_out: NULL for zeros. */
int peali_inits_make(struct peal_kernel *kernel,
		     const struct peal_actor_options *options, uint32_t n,
		     struct peali_inits **inits_out, const char *call);
/* Stores the initial state of an actor of another kernel. */
int peali_inits_carry(const struct peal_kernel *from, uint32_t index,
		      struct peal_kernel *kernel,
		      struct peali_inits **inits_out, const char *call);
/* Frees initial states that no actor uses. */
void peali_inits_free(struct peal_kernel *kernel, struct peali_inits *inits);
/* Returns the control message that makes actors from number `at` on
 * supervised. */
struct peal_control_care
peali_supervisor_care(const struct peal_supervisor *supervisor,
		      const struct peali_inits *inits,
		      const struct peal_actor_options *options, uint32_t at);
/* Record that n actors have joined, and that an actor has left. */
void peali_supervisor_enrol(struct peal_supervisor *supervisor,
			    struct peali_inits *inits, const uint32_t *index,
			    uint32_t n);
void peali_supervisor_strike(struct peal_kernel *kernel, uint32_t index);

/* ---- monitors ------------------------------------------------------------ */

/* Returns 0, or PEAL_ENOMEM without an error text. */
int peali_monitors_open(struct peal_kernel *kernel);
/* Checks that down messages fit into the mailboxes of the options. */
int peali_monitors_plan(const struct peal_kernel *kernel,
			const struct peal_kernel_options *options);
/* Removes the kernel's monitors from all endpoints. */
void peali_monitors_close(struct peal_kernel *kernel);
/* Takes off all monitors of an endpoint. The caller holds rt->lock. */
void peali_monitors_leave(struct peal_endpoint *endpoint);
/* Takes the next down message for an endpoint. Returns 1 with it, or 0. */
int peali_monitors_look(struct peal_endpoint *endpoint, struct peal_down *out,
			uint16_t *type_out);

/* ---- pools --------------------------------------------------------------- */

/* Returns the pool of an address and its kernel, or NULL. */
struct peali_pool *peali_pool_at(struct peal_runtime *rt, uint64_t address,
				 struct peal_kernel **kernel_out);
/* Returns PEAL_EBUSY if the end of the pool has begun, else 0. */
int peali_pool_open(const struct peali_pool *pool, const char *call);
/* Frees the memory of all pools of a kernel that has ended. */
void peali_pools_free(struct peal_kernel *kernel);

/* Returns 1 if every worker has ended for good. */
int peali_kernel_ended(struct peal_kernel *kernel);
/* Stops a kernel, and aborts it after the deadline. Returns 0 or PEAL_EHUNG. */
int peali_kernel_end(struct peal_kernel *kernel, uint64_t deadline);
/* Sends a control message to a worker and waits for its answer. */
int peali_kernel_tell(struct peal_kernel *kernel, uint32_t worker,
		      uint16_t type, const void *data, uint32_t bytes,
		      const char *call);
/* Return the address of the report area for a worker, and copy the report once
 * the worker has answered. */
uint64_t peali_report_view(const struct peal_kernel *kernel);
void peali_report_read(const struct peal_kernel *kernel, void *out,
		       size_t bytes);
/* Sends n messages, laid out one after another, and waits for all answers.
 * worker[i] gets message i. */
int peali_kernel_tell_all(struct peal_kernel *kernel, const uint32_t *worker,
			  uint16_t type, const void *data, uint32_t bytes,
			  uint32_t n, const char *call);
/* Sends a message without waiting. Returns PEAL_EAGAIN if its link is full. */
int peali_kernel_post(struct peal_kernel *kernel, uint32_t worker,
		      uint16_t type, const void *data, uint32_t bytes);
/* Like peali_kernel_post, with the number of the message. The worker's
 * control_done reaches the number once the message is handled. */
int peali_kernel_post_number(struct peal_kernel *kernel, uint32_t worker,
			     uint16_t type, const void *data, uint32_t bytes,
			     uint64_t *number_out);
/* Continues to reclaim mailbox slots that dead workers hold. Never waits. The
 * caller holds rt->lock. */
void peali_kernel_mend(struct peal_kernel *kernel);
/* Returns the address of a worker's bell. */
uint64_t peali_kernel_bell(const struct peal_kernel *kernel, uint32_t worker);
/* Returns the state of a kernel. *result_out is the first failure or 0. */
enum peal_kernel_state peali_kernel_state(struct peal_kernel *kernel,
					  int *result_out);
const char *peali_phase_name(uint64_t phase);

/* ---- links --------------------------------------------------------------- */

/** A ring and its memory. */
struct peali_segment {
	struct peali_area ring, credit, stage_producer, stage_consumer;
	uint32_t mirror; /* 1: a mirror follows the receiver's stage */
	/* PEAL_CLUSTER_PLACE of the slots, and the space that has them. 0: they
	 * are in the ring. */
	uint32_t cluster_place;
	struct peali_space *cluster;
};

/** The memory of a route: one segment, or two with the stager between. */
struct peali_path {
	enum peal_route route;
	uint32_t n_segments;
	int held; /* 1: peer access is held in both directions */
	struct peali_segment segment[2];
	struct peali_stager *stager;
};

struct peal_link {
	struct peal_runtime *rt;
	struct peal_link *next;
	uint64_t id;
	struct peali_end from, to;
	uint32_t from_port; /* as in peal_connect */
	struct peali_ring_spec spec; /* of the sender's ring */
	struct peali_ring_spec last_spec; /* of the receiver's ring; equal,
					   * unless the ends share no policy */
	struct peali_area counts_area;
	struct peal_link_counts *counts; /* the host's view */
	struct peali_far *far; /* the end in another process; NULL: none */
	/*
	 * The current route, and the old one during a hand-over (else its
	 * n_segments is 0). Writers hold rt->lock and path_lock, so readers
	 * need only one of both locks.
	 */
	pthread_mutex_t path_lock;
	struct peali_path path, old;
	char why[160];
	uint32_t require, forbid;
	uint32_t priority; /* enum peal_priority */
	uint64_t n_switches; /* hand-overs begun */
	_Atomic uint64_t staged; /* copied on former paths */
	_Atomic int staged_error; /* why the stager stopped; 0 */
	/* 1: that end is gone, and the other end knows it. */
	_Atomic int sender_gone, receiver_gone;
	struct peali_progress progress; /* messages delivered or dead */
	struct peali_stay stay;
};

/* Return the sender's view of the first segment and the receiver's view of the
 * last. */
struct peal_link_view peali_link_sender_view(const struct peal_link *link,
					     const struct peali_path *path);
struct peal_link_view peali_link_receiver_view(const struct peal_link *link,
					       const struct peali_path *path);
/*
 * Steps of making a link. peali_link_taker returns the receiving handler, or
 * NULL. peali_link_check_types compares declared sizes. peali_link_enlist adds
 * the link to the runtime's list, or frees it after an error.
 */
struct peal_link *peali_link_new(struct peal_runtime *rt);
void peali_link_free(struct peal_link *link);
const struct peal_handler_info *peali_link_taker(const struct peal_link *link);
int peali_link_check_types(const struct peal_link *link, const char *call);
int peali_link_attach_input(struct peal_link *link, const char *call);
int peali_link_attach_port(struct peal_link *link, const char *call);
int peali_link_enlist(struct peal_link *link, int result);
/* Frees a path. Both ends must have left it. */
void peali_path_free(struct peal_link *link, struct peali_path *path);
int peali_path_make(struct peal_link *link, enum peal_route route,
		    struct peali_path *out, const char *call);

/* Returns the bell of an end, for the other end to ring. */
uint64_t peali_end_bell(const struct peali_end *end, int receiving);

/* Makes a link with the ends and the spec of `like`, at any free input. The
 * caller holds rt->lock. */
int peali_link_make(const struct peal_link *like, struct peal_link **link_out,
		    const char *call);
/* peal_link_destroy for callers that hold rt->lock. */
int peali_link_take_down(struct peal_link *link, const char *call);

/* Returns the messages that the receiver has handled or dropped. */
uint64_t peali_counts_done(const struct peal_link_counts *counts);
/* Returns the bytes of a link on all devices. */
uint64_t peali_link_memory(const struct peal_link *link);
/* Closes broken links for their senders. The caller holds rt->lock. */
void peali_links_close_broken(struct peal_runtime *rt);
/* Returns 1 if an end of a link cannot ring the bell of the other end. */
int peali_link_silent(const struct peal_link *link);
/* Tells neighbours that a kernel has ended. The caller holds rt->lock. */
void peali_links_reap(struct peal_kernel *kernel);

/* ---- routes -------------------------------------------------------------- */

/* Chooses a route between two places. Returns 0, with route and reason, or
 * PEAL_ENOPEER. `require` and `forbid` are masks of enum peal_route. */
int peali_route_choose(struct peal_runtime *rt, int from, int to,
		       uint32_t require, uint32_t forbid,
		       enum peal_route *route_out, char why[160],
		       const char *call);

/* ---- endpoints ----------------------------------------------------------- */

struct peali_endpoint_port {
	struct peal_link *_Atomic link; /* NULL: free */
	struct peal_link_producer producer;
	uint64_t reserved_bytes;
	int reserved;
};

struct peali_endpoint_input {
	struct peal_link *_Atomic link; /* NULL: free */
	struct peal_link_consumer consumer;
	int done; /* 0: open; PEAL_EEND or an error: ended */
};

/** A refusal of a request, laid out as a message of a link. */
struct peali_refused {
	uint64_t request;
	int32_t error;
	uint32_t reserved;
};

struct peal_endpoint {
	struct peal_runtime *rt;
	struct peal_endpoint *next;
	char name[48];
	uint32_t id;
	uint32_t max_ports, max_inputs;
	struct peali_endpoint_port *ports;
	struct peali_endpoint_input *inputs;
	_Atomic uint32_t n_inputs; /* used part of inputs */
	struct peal_bell *send_bell, *receive_bell;
	_Atomic int silent; /* 1: a link has or had an end that cannot ring */
	uint32_t cursor; /* input that it receives from */
	uint32_t burst; /* messages taken there in a row */
	/* guards its monitors; no other lock is taken under it */
	pthread_mutex_t monitors_lock;
	struct peali_monitor *monitors;
	_Atomic uint32_t n_monitors;
	struct peal_down down; /* the held message, if it is of a monitor */
	struct peali_board *board; /* refusal table; NULL: none */
	struct peali_refused refused; /* the held message, if it is a refusal */
	int peeked; /* 1: a message is held */
	struct peal_message message; /* the held message */
};

void peali_endpoint_attach_port(struct peal_endpoint *endpoint, uint32_t port,
				struct peal_link *link);
void peali_endpoint_attach_input(struct peal_endpoint *endpoint, uint32_t input,
				 struct peal_link *link);
void peali_endpoint_wake(struct peal_endpoint *endpoint);
/* peal_send_to with type and flags of `header`. */
int peali_endpoint_send_to(struct peal_endpoint *endpoint, uint32_t port,
			   uint64_t to, struct peal_header header,
			   const void *data, uint64_t bytes, int64_t timeout_ns,
			   const char *call);

/** The properties of a message to send. */
struct peali_cover {
	uint64_t to; /* 0: the receiver of the link */
	uint64_t deadline; /* ns of the host's clock; 0: none */
	uint64_t request; /* number; 0: no request */
	uint16_t type;
};

/* peal_send_to with these properties. */
int peali_endpoint_send(struct peal_endpoint *endpoint, uint32_t port,
			const struct peali_cover *cover, const void *data,
			uint64_t bytes, int64_t timeout_ns, const char *call);
/* peal_receive_peek for a wait over several calls. *deadline is 0 until a call
 * computes it. */
int peali_endpoint_peek(struct peal_endpoint *endpoint,
			struct peal_received *received_out, int64_t timeout_ns,
			uint64_t *deadline);
/* Drops the peeked message as dead, for a reason of enum peal_reason. */
void peali_endpoint_drop(struct peal_endpoint *endpoint, uint32_t reason);

/* Finds the cause that stalls a worker, as peal_stuck does. Returns 1 with the
 * text, or 0. The caller does not hold rt->lock. */
int peali_stuck_why(struct peal_kernel *kernel, uint32_t worker,
		    char text[256]);

/* Logs the causes of peal_stuck, after a wait that timed out. */
void peali_stuck_log(struct peal_runtime *rt);

/* Starts a thread that answers peal_stuck_of. Only logs a failure. */
void peali_stuck_serve(struct peal_runtime *rt);
/* Ends that thread after the answer in progress. May be called again. */
void peali_stuck_unserve(struct peal_runtime *rt);

uint32_t peali_requesters_count(const struct peal_runtime *rt);
/* Frees all requesters. Their links and endpoints are gone. */
void peali_requesters_clear(struct peal_runtime *rt);

/* ---- stager, watchdog ---------------------------------------------------- */

int peali_router_start(struct peal_runtime *rt);
void peali_router_stop(struct peal_runtime *rt);
/* Makes the stager copy messages from a path's first ring to its second. */
int peali_router_add(struct peal_link *link, struct peali_path *path,
		     const char *call);
/* Removes a path. Returns once the stager does not access it any more. */
void peali_router_remove(struct peal_link *link, struct peali_path *path);
/* Returns the messages that were copied so far. */
uint64_t peali_router_carried(const struct peali_stager *stager);
/* Returns 1 once all messages of a sender that is gone are copied. */
int peali_router_empty(struct peal_runtime *rt, struct peali_stager *stager);
/* Returns the stager's bell, for the ends of staged links. */
uint64_t peali_router_bell(const struct peal_runtime *rt);

int peali_watchdog_start(struct peal_runtime *rt);
void peali_watchdog_stop(struct peal_runtime *rt);
int peali_watchdog_watch(struct peal_kernel *kernel);
void peali_watchdog_forget(struct peal_kernel *kernel);

#endif
