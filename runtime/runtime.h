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
#include "runtime/backend/devices.h"
#include "runtime/backend/patience.h"
#include "runtime/backend/space.h"
#include "runtime/clock.h"
#include "runtime/end.h"
#include "runtime/name.h"
#include "runtime/times.h"

/*
 * The objects of a runtime and who may touch them.
 *
 * `lock` guards the object lists and every change to what is connected to what;
 * calls that wait for a worker hold it while they do. The data path (workers,
 * endpoints, router) never takes it. Reading counters does not take it.
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
	/* Held from the proof of pairs to when programs are loaded: neither
	 * may meet kernels of the other. Before `lock`. */
	pthread_mutex_t launch_lock;
	int proved[PEALI_BACKENDS_MAX]; /* all pairs of its devices */
	struct peali_peers *peers;
	struct peali_router *router;
	struct peali_watchdog *watchdog;
	struct peali_meter *meter;
	struct peali_stuck_socket *stuck_socket; /* NULL: nobody can ask */
	uint64_t lease_ns;
	uint64_t answer_ms; /* for a control message, or a worker is hung */
	int64_t check_in_ns; /* for all workers of a kernel to come up */
	_Atomic uint64_t silent_ns; /* then a worker is named in the log, once */
	/* for kernels to stop, before they are aborted: those of an executor, a group
	 * or a graph; all at a shutdown, and there for each abort, too */
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
	struct peali_buffers *buffers; /* with a lock of their own */
	struct peal_processes *sets; /* of processes */
	struct peali_names names;
	uint32_t next_kernel; /* of the next kernel's address; from 1 */
	uint32_t next_endpoint;
	uint64_t next_link;
	uint32_t next_topic;
	const struct peal_program **programs;
	uint32_t n_programs;
	struct peali_program_file *program_files;
	struct peali_board **boards; /* of requesters, PEAL_BOARDS_MAX */
	uint32_t n_boards; /* that were ever made */
	_Atomic int limited; /* 1: there is or was a kernel with limits */
	struct peali_crossing *crossings; /* addresses that lead elsewhere */
	uint32_t n_crossings, max_crossings;
};

/** An allocation that knows its owner by the runtime's number. */
struct peali_area {
	int owner; /* device, or PEALI_HOST */
	uint64_t bytes; /* 0: none */
	struct peali_memory memory;
};

int peali_area_alloc(struct peal_runtime *rt, int owner, uint64_t bytes,
		     struct peali_area *out);
void peali_area_free(struct peal_runtime *rt, struct peali_area *area);
/* Address at which a device or PEALI_HOST sees it; 0: it does not. */
uint64_t peali_area_view(const struct peal_runtime *rt, int viewer,
			 const struct peali_area *area);
/* Writes into it from host memory, or reads from it. */
int peali_area_write(struct peal_runtime *rt, const struct peali_area *area,
		     uint64_t offset, const void *from, uint64_t bytes);
int peali_area_read(struct peal_runtime *rt, const struct peali_area *area,
		    uint64_t offset, void *to, uint64_t bytes);

/* ---- addresses: device 8 | kernel 16 | generation 8 | actor 24 bits --------- */

#define PEALI_ADDRESS_HOST 0xff
#define PEALI_ADDRESS_DEAD_LETTERS 0xffffffffu /* no generation is 255 */
#define PEALI_ADDRESS_TOPIC (1ULL << 56) /* above the device */

static inline uint64_t peali_address(uint32_t device, uint32_t object,
				     uint32_t actor)
{
	return (uint64_t)device << 48 | (uint64_t)object << 32 | actor;
}

/* The kernel that an actor's or a pool's address names, or NULL. */
struct peal_kernel *peali_kernel_at(struct peal_runtime *rt, uint64_t address);
/* The kernel of an actor, or NULL. */
struct peal_kernel *peali_kernel_of(struct peal_runtime *rt, uint64_t address);
struct peal_endpoint *peali_endpoint_of(struct peal_runtime *rt,
					uint64_t address);
/* The kernel whose dead letters have that address, or NULL. */
struct peal_kernel *peali_dead_letters_of(struct peal_runtime *rt,
					  uint64_t address);

/* ---- programs ------------------------------------------------------------- */

int peali_programs_init(struct peal_runtime *rt);
uint32_t peali_programs_count(struct peal_runtime *rt);
const struct peal_program *peali_programs_at(struct peal_runtime *rt,
					     uint32_t index);
/* Unloads the files of programs; nothing of them is running any more. */
void peali_program_files_close(struct peal_runtime *rt);
/* 0 if it can be launched; PEAL_EPROGRAM, PEAL_EINVAL. */
int peali_program_check(const struct peal_program *program, const char *call);

/* ---- barriers ------------------------------------------------------------- */

struct peal_barrier *peali_barrier_next(struct peal_barrier *barrier);
/* Whether a worker of the kernel has joined a barrier. */
int peali_barrier_names(struct peal_runtime *rt,
			const struct peal_kernel *kernel);

/* ---- groups --------------------------------------------------------------- */

struct peal_group *peali_group_next(struct peal_group *group);

/* ---- events --------------------------------------------------------------- */

struct peal_event *peali_event_next(struct peal_event *event);

/* ---- buffers -------------------------------------------------------------- */

int peali_buffers_open(struct peal_runtime *rt);
uint32_t peali_buffers_count(const struct peal_runtime *rt);
/*
 * Reports and forgets those that are left, whose memory goes with the runtime's
 * peers. NULL or half opened: nothing.
 */
void peali_buffers_close(struct peal_runtime *rt,
			 struct peal_leak_report *report_out);
/* The runtime of a range that is inside its buffer, and where it is: 0, or as
 * peal_buffer_write. */
int peali_range_place(struct peal_range range, const char *call,
		      struct peal_runtime **rt_out,
		      struct peali_place *place_out);

/* ---- executors, graphs ------------------------------------------------------------ */

struct peal_executor *peali_executor_next(struct peal_executor *executor);

struct peal_graph *peali_graph_next(struct peal_graph *graph);

/* ---- topics --------------------------------------------------------------- */

/* Whether an actor of the kernel publishes or subscribes. */
int peali_topic_names(const struct peal_runtime *rt,
		      const struct peal_kernel *kernel);
/* The name of the topic that an actor's port publishes to; NULL. */
const char *peali_topic_at_port(const struct peal_runtime *rt, uint64_t address,
				uint32_t port);
/* Tells the neighbours of a kernel that has ended; 0 all are told. */
int peali_topics_reap(struct peal_kernel *kernel);
uint32_t peali_topics_count(const struct peal_runtime *rt);
/* Frees all; every kernel has ended. */
void peali_topics_clear(struct peal_runtime *rt);

/* ---- kernels -------------------------------------------------------------- */

/** The host's record of an actor. */
struct peali_actor {
	uint32_t handler; /* PEAL_NO_HANDLER: free, or retired */
	uint32_t worker;
	uint32_t port_base;
	uint32_t n_links; /* that come from or lead to it, and actors that share
			   * its ports */
	uint32_t pool; /* 1 + the pool of which it is a member; 0: none */
	uint32_t generation; /* so many had the entry before, in turn */
	uint32_t moved_to, moved_from; /* 1 + its next entry, and the one
					* before; PEALI_ELSEWHERE; 0: see
					* migrate.c */
	uint32_t moving; /* 1 + its next entry, if its worker has yet to say
			  * whether it has moved there; PEALI_ELSEWHERE; 0 */
	union {
		uint32_t ports_of; /* 1 + whose ports it shares; 0: its own */
		uint32_t next; /* of a retired one: see room.c */
	};
	uint64_t state_offset; /* in the kernel's device area */
	uint32_t limit; /* 1 + the place of its limit; 0: it has none */
	uint32_t mailbox_limit, mailbox_full; /* as its options said */
	uint32_t pinned; /* 1: they named its worker */
	uint32_t bare; /* 1: its state is where a former entry has it */
};

/* An entry of another kernel: see cross.c. */
#define PEALI_ELSEWHERE UINT32_MAX

/* As the handler of an entry: it is a pool, not an actor; or a proxy, which leads
 * to one of another kernel. */
#define PEALI_POOL_HANDLER 0xfffffffeu
#define PEALI_PROXY_HANDLER 0xfffffffdu

/* The low half of an entry's address. */
uint32_t peali_actor_number(const struct peal_kernel *kernel, uint32_t index);

/** The host's record of a pool. */
struct peali_pool {
	uint32_t used; /* 1: there is one; 0: the place is free */
	uint32_t ending; /* 1: some workers know it no more */
	uint32_t actor; /* the entry by which it is addressed */
	uint32_t n_members;
	uint32_t *members; /* by worker: 1 + its actor; 0: none */
	struct peali_work_spec spec; /* of each shard */
	struct peali_area area; /* the set, and what each worker has beside */
	uint64_t worker_offset, worker_bytes; /* of the latter, in the area */
};

/** How far something has come, as the watchdog has seen it: with the lock. */
struct peali_progress {
	uint64_t done;
	uint64_t moved_ns; /* when that was new; 0: never looked at */
};

/** The host's side of one worker. */
struct peali_worker {
	struct peal_link_producer control; /* to the worker */
	uint64_t control_sent;
	uint32_t n_ports; /* used in its table, from PEAL_PORTS_FIRST on */
	uint32_t n_barriers;
	uint8_t *input_used; /* max_inputs flags */
	struct peali_space cluster; /* of its cluster's memory its part */
	uint64_t mend_number; /* of the control message of this step; 0 */
	uint64_t beat_seen; /* by the watchdog */
	struct peali_progress progress; /* of what it has in hand */
	_Atomic uint64_t beat_moved_ns;
};

struct peal_kernel {
	struct peal_runtime *rt;
	struct peal_kernel *next;
	char name[48];
	uint32_t id;
	int device;
	const struct peal_program *program;
	struct peal_kernel_params params; /* a copy */
	struct peali_area shared; /* host memory: words that both sides read */
	struct peali_area own; /* device memory: all else */
	struct peal_kernel_control *control;
	struct peal_worker_status *status;
	struct peal_timer_status *timers; /* if it has some */
	struct peal_ask_status *asks; /* the same */
	struct peal_bell *bells;
	struct peali_worker *workers;
	struct peali_actor *actors; /* max_actors; of who was made by a handler
				     * as peali_kernel_at has found it */
	struct peali_pool *pools; /* max_pools */
	_Atomic uint32_t n_actors; /* live ones */
	uint32_t n_moved; /* entries that they have left, and keep */
	struct peal_supervisor *supervisors; /* max_supervisors */
	struct peali_ward *wards; /* max_actors, if there are supervisors */
	struct peali_inits *inits; /* what supervised actors begin with */
	uint64_t report_offset; /* in `shared`: what a worker answers */
	struct peali_monitor *monitors; /* max_monitors, of endpoints */
	struct peal_down_slot *down_slots; /* as many, in `shared` */
	uint32_t *free_limits; /* max_limits: 1 + places that nobody has */
	uint32_t n_free_limits;
	uint64_t *boards; /* PEAL_BOARDS_MAX, in `shared`, if it has limits */
	uint32_t mailbox_message_bytes;
	uint32_t mailbox_slots; /* that there are for all messages together */
	uint32_t passage_slots; /* places beside those for what passages bring */
	uint32_t next_worker; /* whose turn it is to get an actor */
	uint64_t arena_offset, arena_bytes, arena_used;
	uint64_t *rooms; /* who has those of workers, see spawned.c */
	uint64_t rooms_offset; /* of their states */
	uint32_t n_rooms; /* entries of `actors` that were ever used */
	uint32_t *retired; /* lists of those that are free again: see room.c */
	struct peali_span *spans; /* free arena and ports between others */
	uint32_t n_spans, max_spans;
	uint32_t arena_span; /* where the arena's were taken from last */
	struct peali_launch *launch;
	pthread_mutex_t call_lock; /* one control call at a time */
	/* the control links' producers, and the stop word */
	pthread_mutex_t push_lock;
	_Atomic int draining, stopping;
	_Atomic int reaped; /* neighbours know that it has ended */
	uint32_t mend_step; /* enum peal_mend that is under way; 0: none */
	uint32_t n_mended; /* dead workers that are dealt with */
	struct peali_clock clock; /* the device's */
	struct peali_times times;
};

/* Fills defaults in and checks ranges; 0 or PEAL_EINVAL. */
int peali_kernel_options_complete(struct peal_kernel_options *options,
				  const struct peal_runtime *rt,
				  const struct peal_program *program);

/* ---- actors that handlers make --------------------------------------------- */

/* What the options say of them: 0 and a default, or PEAL_EINVAL. */
int peali_spawned_check(struct peal_kernel_options *options,
			const struct peal_program *program);
/* The same, into the kernel's parameters. */
void peali_spawned_plan(struct peal_kernel *kernel,
			const struct peal_kernel_options *options);
/* Bytes of host memory that say who has a room, and of the rooms' states. */
uint64_t peali_spawned_words(const struct peal_kernel_params *params);
uint64_t peali_spawned_states(const struct peal_kernel_params *params);
/* The former are there: nobody has any. */
void peali_spawned_open(struct peal_kernel *kernel, uint64_t *rooms);
/* What devices need to know of the program's handlers. */
void peali_spawned_handlers(const struct peal_kernel *kernel,
			    struct peal_handler_entry *out);
/* Whether the entry that an address names is for an actor of a handler. */
int peali_is_spawned(const struct peal_kernel *kernel, uint64_t address);
/* What the host knows of an entry's actor, whoever has made it; without the
 * runtime's lock it may end at any moment. */
struct peali_actor peali_actor_look(const struct peal_kernel *kernel,
				    uint32_t index);
/* How many were made and ended by now; how many there are. */
uint32_t peali_spawned_live(const struct peal_kernel *kernel, uint64_t *spawned,
			    uint64_t *retired);

/* ---- limits ----------------------------------------------------------------- */

/* Whether a kernel's options make sense of limits. */
int peali_limits_plan(const struct peal_kernel_options *options);
/* 0; PEAL_ENOMEM without a text. */
int peali_limits_open(struct peal_kernel *kernel);
/* Whether n actors can have the limit that their options say. */
int peali_limits_check(const struct peal_kernel *kernel,
		       const struct peal_actor_options *options, uint32_t n);
/* Places for the limits of n actors, which there are. */
void peali_limits_take(struct peal_kernel *kernel, const uint32_t *index,
		       uint32_t n);
/* An actor that is not, or no more, has no limit. */
void peali_limit_give(struct peal_kernel *kernel, uint32_t index);

/* ---- rooms: what an actor takes of a kernel, see room.c -------------------- */

/* What the actors of one spawn have in common. */
struct peali_rooms {
	struct peal_kernel *kernel;
	uint32_t handler;
	uint32_t worker;
	uint32_t ports_of; /* 1 + whose ports they share; 0: their own */
	uint32_t moved; /* 1: it has moved there, and has a state already */
};

/* 0; PEAL_ENOMEM without a text. */
int peali_rooms_open(struct peal_kernel *kernel);
void peali_rooms_close(struct peal_kernel *kernel);
/* Bytes from one state to the next. */
uint64_t peali_room_step(const struct peal_handler_info *handler);
/* The room that an actor of that handler has. */
struct peali_rooms peali_rooms_of(struct peal_kernel *kernel, uint32_t handler,
				  const struct peali_actor *actor);
/* Takes n rooms, all or none; their indices. PEAL_ENOSPC. */
int peali_rooms_take(const struct peali_rooms *rooms, uint32_t n,
		     uint32_t *index_out, const char *call);
/* Gives one back: those of the same kind get it again. */
void peali_rooms_give(const struct peali_rooms *rooms, uint32_t index);
/* The same for an entry alone, a pool's or a proxy's; -1: none is left. */
int64_t peali_entry_take(struct peal_kernel *kernel);
void peali_entry_give(struct peal_kernel *kernel, uint32_t index);
/* A port of a worker that is no actor's, in its table; -1: none is left. */
int64_t peali_port_take(struct peal_kernel *kernel, uint32_t worker);
void peali_port_give(struct peal_kernel *kernel, uint32_t worker,
		     uint32_t port);

/* peal_actor_retire_many for who has the lock. */
int peali_actors_retire(struct peal_runtime *rt, const uint64_t *addresses,
			uint32_t n);
/* Ends an address that leads to another kernel. */
int peali_crossing_end(struct peal_runtime *rt, uint64_t address);

/* ---- migration -------------------------------------------------------------- */

/* The index of the entry where an actor lives that has, or had, that one. */
uint32_t peali_actor_lives(const struct peal_kernel *kernel, uint32_t index);
/* The newest address of an actor; of all else, the address. */
uint64_t peali_address_lives(struct peal_runtime *rt, uint64_t address);
/* The first one that it had; and the one that came after an address, or 0. */
uint64_t peali_address_first(struct peal_runtime *rt, uint64_t address);
uint64_t peali_address_next(struct peal_runtime *rt, uint64_t address);
/* The one that came before an address, or 0. */
uint64_t peali_address_before(struct peal_runtime *rt, uint64_t address);
/* If a worker has not answered yet whether an actor has moved, it is asked again;
 * the index is that of the entry where the actor lives. */
int peali_move_settle(struct peal_kernel *kernel, uint32_t index,
		      const char *call);
/* Whether messages of a handler may leave by the ports of another one's. */
int peali_sharing_check(const struct peal_handler_info *handler,
			const struct peal_handler_info *owner,
			const char *call);

/* ---- migration to other kernels ------------------------------------------------ */

/** An address that leads to one of another kernel. */
struct peali_crossing {
	uint64_t from, to;
	struct peal_link *passage; /* until it has moved: by which it does */
	int proxy; /* 1: nobody has lived there */
};

/* The crossing from an address; that of who has moved to one; NULL. */
struct peali_crossing *peali_crossing_from(const struct peal_runtime *rt,
					   uint64_t address);
struct peali_crossing *peali_crossing_to(const struct peal_runtime *rt,
					 uint64_t address);
/* One more: PEAL_ENOMEM. One less. */
int peali_crossing_add(struct peal_runtime *rt,
		       const struct peali_crossing *crossing, const char *call);
void peali_crossing_remove(struct peal_runtime *rt,
			   struct peali_crossing *crossing);
/* The passage from a worker to another kernel; NULL. */
struct peal_link *peali_passage_find(const struct peal_kernel *from,
				     uint32_t worker,
				     const struct peal_kernel *to);
/* Whether messages go on by a kernel's mailboxes, and whether by a passage between
 * two: 0 or PEAL_E..., said. */
int peali_kernel_passes_on(struct peal_kernel *kernel, const char *call);
int peali_passage_check(struct peal_kernel *from, struct peal_kernel *to,
			const char *call);
/* The one between these two, which is made if there is none; it ends at that worker
 * then. */
int peali_passage_make(struct peal_kernel *from, uint32_t worker,
		       struct peal_kernel *to, uint32_t to_worker,
		       struct peal_link **link_out, const char *call);
/* Takes down all of a kernel that has ended, and what is known of its addresses.
 * PEAL_EHUNG: a worker of another one does not let go. */
int peali_passages_end(struct peal_kernel *kernel);

/* ---- supervisors ------------------------------------------------------------ */

/** What supervised actors of one call begin with. */
struct peali_inits {
	struct peali_inits *next;
	struct peali_area area;
	uint64_t bytes; /* of each; its state has zeros behind them */
	uint64_t step; /* from one's to the next one's; 0: all alike */
	uint32_t actors; /* that are there yet; freed behind the last one */
};

/** Who supervises an actor. */
struct peali_ward {
	struct peal_supervisor *supervisor; /* NULL: nobody */
	struct peali_inits *inits; /* NULL: it begins with zeros */
	uint64_t init_offset; /* of its own in there */
};

/* 0; PEAL_ENOMEM without a text. */
int peali_supervisors_open(struct peal_kernel *kernel);
void peali_supervisors_close(struct peal_kernel *kernel);
/* Whether actors of the kernel can have it. */
int peali_supervisor_check(const struct peal_supervisor *supervisor,
			   const struct peal_kernel *kernel, uint32_t n,
			   const char *call);
/* Writes down what n actors begin with; *inits_out, NULL for zeros. */
int peali_inits_make(struct peal_kernel *kernel,
		     const struct peal_actor_options *options, uint32_t n,
		     struct peali_inits **inits_out, const char *call);
/* The same of what an actor of another kernel began with. */
int peali_inits_carry(const struct peal_kernel *from, uint32_t index,
		      struct peal_kernel *kernel,
		      struct peali_inits **inits_out, const char *call);
/* Frees it, if it has no actors. */
void peali_inits_free(struct peal_kernel *kernel, struct peali_inits *inits);
/* The control message about the actors from one of them on. */
struct peal_control_care
peali_supervisor_care(const struct peal_supervisor *supervisor,
		      const struct peali_inits *inits,
		      const struct peal_actor_options *options, uint32_t at);
/* They are there, the kernel's actors of those indices; one is gone. */
void peali_supervisor_enrol(struct peal_supervisor *supervisor,
			    struct peali_inits *inits, const uint32_t *index,
			    uint32_t n);
void peali_supervisor_strike(struct peal_kernel *kernel, uint32_t index);

/* ---- monitors --------------------------------------------------------------- */

/* 0; PEAL_ENOMEM without a text. */
int peali_monitors_open(struct peal_kernel *kernel);
/* Whether its mailboxes take what its options say of monitors. */
int peali_monitors_plan(const struct peal_kernel *kernel,
			const struct peal_kernel_options *options);
/* No endpoint knows any of the kernel's from then on. */
void peali_monitors_close(struct peal_kernel *kernel);
/* The endpoint monitors nobody any more; the caller has the runtime's lock. */
void peali_monitors_leave(struct peal_endpoint *endpoint);
/* Whether one that the endpoint monitors is down: 1 and what is said of it. */
int peali_monitors_look(struct peal_endpoint *endpoint, struct peal_down *out,
			uint16_t *type_out);

/* ---- pools ------------------------------------------------------------------ */

/* The pool of an address and its kernel, or NULL. */
struct peali_pool *peali_pool_at(struct peal_runtime *rt, uint64_t address,
				 struct peal_kernel **kernel_out);
/* PEAL_EBUSY if the pool's end has begun: nothing comes to it any more. */
int peali_pool_open(const struct peali_pool *pool, const char *call);
/* Frees the memory of all pools; the kernel has ended. */
void peali_pools_free(struct peal_kernel *kernel);

/* 1 if every worker has ended for good. */
int peali_kernel_ended(struct peal_kernel *kernel);
/* Stops it, and aborts it if it has not ended at a time: 0; PEAL_EHUNG. */
int peali_kernel_end(struct peal_kernel *kernel, uint64_t deadline);
/* Sends a control message to a worker and waits for its answer. */
int peali_kernel_tell(struct peal_kernel *kernel, uint32_t worker,
		      uint16_t type, const void *data, uint32_t bytes,
		      const char *call);
/* Where a worker that is asked to writes a report, as it sees that; and what it
 * has written, once it has answered. */
uint64_t peali_report_view(const struct peal_kernel *kernel);
void peali_report_read(const struct peal_kernel *kernel, void *out,
		       size_t bytes);
/* Sends n of them, laid out one after another, each to a worker, and then waits
 * for all answers. */
int peali_kernel_tell_all(struct peal_kernel *kernel, const uint32_t *worker,
			  uint16_t type, const void *data, uint32_t bytes,
			  uint32_t n, const char *call);
/* The same without waiting; PEAL_EAGAIN its control link is full. */
int peali_kernel_post(struct peal_kernel *kernel, uint32_t worker,
		      uint16_t type, const void *data, uint32_t bytes);
/* The same, and its number, which status.control_done reaches with it. */
int peali_kernel_post_number(struct peal_kernel *kernel, uint32_t worker,
			     uint16_t type, const void *data, uint32_t bytes,
			     uint64_t *number_out);
/* Goes on giving up what workers that died have left half done in mailboxes;
 * never waits. The caller has the lock. */
void peali_kernel_mend(struct peal_kernel *kernel);
/* Address of a worker's bell; 0 where the backend has none. */
uint64_t peali_kernel_bell(const struct peal_kernel *kernel, uint32_t worker);
/* The phase of the furthest worker as a state, and the first failure. */
enum peal_kernel_state peali_kernel_state(struct peal_kernel *kernel,
					  int *result_out);
const char *peali_phase_name(uint64_t phase);

/* ---- links ---------------------------------------------------------------- */

/** One ring and what belongs to it. */
struct peali_segment {
	struct peali_area ring, credit, stage_producer, stage_consumer;
	uint32_t mirror; /* 1: the receiver's stage has one behind it */
	/* where the slots are if not in the ring: PEAL_CLUSTER_PLACE, or 0; and
	 * whose */
	uint32_t cluster_place;
	struct peali_space *cluster;
};

/** A route's memory: one segment, or two with the router between. */
struct peali_path {
	enum peal_route route;
	uint32_t n_segments;
	int held; /* peers are held in both directions */
	struct peali_segment segment[2];
	struct peali_stager *stager;
};

struct peal_link {
	struct peal_runtime *rt;
	struct peal_link *next;
	uint64_t id;
	struct peali_end from, to;
	uint32_t from_port; /* as the caller said it */
	struct peali_ring_spec spec; /* of the sender's ring */
	struct peali_ring_spec last_spec; /* of the receiver's: the same, but
					   * where they share no policy */
	struct peali_area counts_area;
	struct peal_link_counts *counts; /* host view */
	struct peali_far *far; /* the end in another process; NULL: it has none */
	/*
	 * The route now, and the one being left (n_segments 0: none). Changed
	 * with the runtime's lock and path_lock held; so either will do to read.
	 */
	pthread_mutex_t path_lock;
	struct peali_path path, old;
	char why[160];
	uint32_t require, forbid;
	uint32_t priority; /* enum peal_priority */
	uint64_t n_switches; /* hand-overs begun */
	_Atomic uint64_t staged; /* carried by routers that are gone */
	_Atomic int staged_error; /* why the router gave it up */
	_Atomic int sender_gone, receiver_gone; /* ended before its time */
	struct peali_progress progress; /* messages delivered or dead */
	struct peali_stay stay;
};

/* The two ends' views of the path's first and last segment. */
struct peal_link_view peali_link_sender_view(const struct peal_link *link,
					     const struct peali_path *path);
struct peal_link_view peali_link_receiver_view(const struct peal_link *link,
					       const struct peali_path *path);
/* Steps of making a link, for who makes one of its ends: the struct; what takes the
 * messages, NULL if that is not known; whether declared sizes agree; the ends that
 * are there; what has become of it, which frees it if it failed. */
struct peal_link *peali_link_new(struct peal_runtime *rt);
void peali_link_free(struct peal_link *link);
const struct peal_handler_info *peali_link_taker(const struct peal_link *link);
int peali_link_check_types(const struct peal_link *link, const char *call);
int peali_link_attach_input(struct peal_link *link, const char *call);
int peali_link_attach_port(struct peal_link *link, const char *call);
int peali_link_enlist(struct peal_link *link, int result);
/* Takes down all of a link but the struct; the ends have let go of it. */
void peali_path_free(struct peal_link *link, struct peali_path *path);
int peali_path_make(struct peal_link *link, enum peal_route route,
		    struct peali_path *out, const char *call);

/* The bell of an end, for who sends to it or gives credit back. */
uint64_t peali_end_bell(const struct peali_end *end, int receiving);

/* Makes a link like that one, of which ends, but for the input's index, and spec
 * are known. The caller has the lock. */
int peali_link_make(const struct peal_link *like, struct peal_link **link_out,
		    const char *call);
/* peal_link_destroy for who has the lock. */
int peali_link_take_down(struct peal_link *link, const char *call);

/* Messages that the receiver is done with. */
uint64_t peali_counts_done(const struct peal_link_counts *counts);
/* Bytes of all its memory, on all devices. */
uint64_t peali_link_memory(const struct peal_link *link);
/* Closes broken links for their senders; the caller has the lock. */
void peali_links_close_broken(struct peal_runtime *rt);
/* Whether an end of the link cannot ring the bell of who waits for it. */
int peali_link_silent(const struct peal_link *link);
/* Tells the neighbours of a kernel that has ended; the caller has the lock. */
void peali_links_reap(struct peal_kernel *kernel);

/* ---- routes --------------------------------------------------------------- */

/*
 * Chooses a route for a pair of places: fills route and why, or PEAL_ENOPEER
 * with the pair and the reason. `require` and `forbid` are masks.
 */
int peali_route_choose(struct peal_runtime *rt, int from, int to,
		       uint32_t require, uint32_t forbid,
		       enum peal_route *route_out, char why[160],
		       const char *call);

/* ---- endpoints ------------------------------------------------------------ */

struct peali_endpoint_port {
	struct peal_link *_Atomic link; /* NULL: free */
	struct peal_link_producer producer;
	uint64_t reserved_bytes;
	int reserved;
};

struct peali_endpoint_input {
	struct peal_link *_Atomic link; /* NULL: free */
	struct peal_link_consumer consumer;
	int done; /* 0, PEAL_EEND or why it ended */
};

/** What a board says, as the message of a link would. */
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
	_Atomic int silent; /* it has or had a link with who cannot ring */
	uint32_t cursor; /* the input that is received from */
	uint32_t burst; /* messages from it in a row */
	/* what it monitors; the lock is for these alone, before no other */
	pthread_mutex_t monitors_lock;
	struct peali_monitor *monitors;
	_Atomic uint32_t n_monitors;
	struct peal_down down; /* the message that is held, if it is one */
	struct peali_board *board; /* a requester's; or NULL */
	struct peali_refused refused; /* a message that it has made */
	int peeked; /* a message is held */
	struct peal_message message; /* that one */
};

void peali_endpoint_attach_port(struct peal_endpoint *endpoint, uint32_t port,
				struct peal_link *link);
void peali_endpoint_attach_input(struct peal_endpoint *endpoint, uint32_t input,
				 struct peal_link *link);
void peali_endpoint_wake(struct peal_endpoint *endpoint);
/* peal_send_to with the type and the flags of that header. */
int peali_endpoint_send_to(struct peal_endpoint *endpoint, uint32_t port,
			   uint64_t to, struct peal_header header,
			   const void *data, uint64_t bytes, int64_t timeout_ns,
			   const char *call);

/** What a message is sent with. */
struct peali_cover {
	uint64_t to; /* 0: who the link was made for */
	uint64_t deadline; /* 0: none */
	uint64_t request; /* its number; 0: it is none */
	uint16_t type;
};

/* peal_send_to with that. */
int peali_endpoint_send(struct peal_endpoint *endpoint, uint32_t port,
			const struct peali_cover *cover, const void *data,
			uint64_t bytes, int64_t timeout_ns, const char *call);
/* peal_receive_peek of a wait that may go on: its deadline, 0 as long as it was
 * not needed. */
int peali_endpoint_peek(struct peal_endpoint *endpoint,
			struct peal_received *received_out, int64_t timeout_ns,
			uint64_t *deadline);
/* The peeked message is dead, for that reason. */
void peali_endpoint_drop(struct peal_endpoint *endpoint, uint32_t reason);

/* What keeps a worker from going on, as peal_stuck says it: 1 and the text, or 0.
 * Without the runtime's lock. */
int peali_stuck_why(struct peal_kernel *kernel, uint32_t worker,
		    char text[256]);

/* Writes what peal_stuck says to the log, for who has waited in vain. */
void peali_stuck_log(struct peal_runtime *rt);

/* Answers other processes' peal_stuck_of, from now to then; what keeps it from
 * that is no error. */
void peali_stuck_serve(struct peal_runtime *rt);
/* Waits for the answer that is under way; again is harmless. */
void peali_stuck_unserve(struct peal_runtime *rt);

uint32_t peali_requesters_count(const struct peal_runtime *rt);
/* Frees them all; their links and endpoints are gone. */
void peali_requesters_clear(struct peal_runtime *rt);

/* ---- router, watchdog ------------------------------------------------------ */

int peali_router_start(struct peal_runtime *rt);
void peali_router_stop(struct peal_runtime *rt);
/* Makes the router carry a path from its first ring to its second. */
int peali_router_add(struct peal_link *link, struct peali_path *path,
		     const char *call);
/* Ends that; returns once the router does not touch the path any more. */
void peali_router_remove(struct peal_link *link, struct peali_path *path);
/* Messages that it has carried so far. */
uint64_t peali_router_carried(const struct peali_stager *stager);
/* The sender is gone: 1 once all that it sent this way has been carried. */
int peali_router_empty(struct peal_runtime *rt, struct peali_stager *stager);
/* The router's bell, for who writes to a first ring or reads a second. */
uint64_t peali_router_bell(const struct peal_runtime *rt);

int peali_watchdog_start(struct peal_runtime *rt);
void peali_watchdog_stop(struct peal_runtime *rt);
int peali_watchdog_watch(struct peal_kernel *kernel);
void peali_watchdog_forget(struct peal_kernel *kernel);

#endif
