/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_RUNTIME_H
#define PEALI_RUNTIME_H

#include <pthread.h>
#include <stdatomic.h>

#include <peal/peal.h>
#include <peal/stall.h>

#include "runtime/base/owner.h"
#include "runtime/device/devices.h"

/*
 * The private objects of a runtime, and the locks that guard them.
 *
 * `lock` guards the object lists and all connections between objects. A call
 * that waits for a worker holds `lock` during the wait. Workers, endpoints, the
 * stager and readers of counters never take it.
 */

struct peal_down;
struct peal_process_group;
struct peali_reject_table;
struct peali_buffers;
struct peali_fwd_entry;
struct peali_remote_link;
struct peali_counters;
struct peali_event_orders;
struct peali_peer;
struct peali_peers;
struct peali_program_file;
struct peali_record;
struct peali_stager;
struct peali_stall_socket;
struct peali_topic;
struct peali_watchdog;

#define PEALI_BACKENDS_MAX 8
/* Four of the watchdog's longest ticks, 25 ms. PEAL_LEASE_MS has it, too. */
#define PEALI_LEASE_NS_MIN 100000000ULL
#define PEALI_CHECK_IN_NS 5000000000LL
#define PEALI_SILENT_NS 2000000000ULL
#define PEALI_END_NS 1000000000LL
#define PEALI_STOP_NS 2000000000LL

/**
 * Functions of upper layers that lower layers call. runtime.c fills in the
 * table. All callers hold rt->lock, unless a line says otherwise.
 */
#define PEALI_INPUT_TEXT_BYTES 160

struct peali_hooks {
	/* Tells the neighbours of a kernel that it has ended. */
	void (*kernel_ended)(struct peal_kernel *kernel);
	/* Describes the message that a worker handles. Returns 1 with a text,
	 * or 0. */
	int (*describe_inflight)(struct peal_kernel *kernel, uint32_t worker,
				 char text[256]);
	/* Describes an input of a worker that has not ended. Returns 1 with a
	 * text, or 0. The caller holds rt->lock, also for topic_at_port. */
	int (*describe_input)(const struct peal_kernel *kernel, uint32_t worker,
			      char text[PEALI_INPUT_TEXT_BYTES]);
	/* Returns the name of the topic at an actor's port, or NULL. */
	const char *(*topic_at_port)(const struct peal_runtime *rt,
				     uint64_t address, uint32_t port);
	/* Finds what stalls a worker. Returns 1 with the text, or 0. The caller
	 * does not hold rt->lock, also for log_stalls. */
	int (*explain_stall)(struct peal_kernel *kernel, uint32_t worker,
			     char text[256]);
	void (*log_stalls)(struct peal_runtime *rt);
	/* Takes the next down message of an endpoint. Returns 1 with it, or 0.
	 * The caller receives at the endpoint. */
	int (*next_down)(struct peal_endpoint *endpoint, struct peal_down *out,
			 uint16_t *type_out);
	/* Removes all monitors of an endpoint. */
	void (*endpoint_ends)(struct peal_endpoint *endpoint);
	/* Checks that an address is of a receiver. Returns 0 or an error. */
	int (*check_receiver)(struct peal_runtime *rt, uint64_t address,
			      const char *call);
	/* Checks that no communicator uses a process group. */
	int (*check_unused)(struct peal_process_group *set, const char *call);
	/* Destroys all links of a process group. */
	int (*remove_links)(struct peal_process_group *set, const char *call);
	/* Link records of another process. The caller holds set->lock. */
	void (*link_closed)(struct peali_remote_link *far, int error);
	void (*decline)(struct peali_peer *peer, uint64_t number, int freed);
	int (*gives_credit)(const struct peali_record *answer);
	/* Answers a CONNECT. The caller holds no lock. */
	void (*answer)(struct peali_peer *peer, const struct peali_record *r);
};

/* A cause of a stall that was logged. peali_stall_log does not log it again for
 * some seconds. */
struct peali_stall_logged {
	struct peal_stall cause; /* only its members that name the place */
	uint64_t at_ns; /* 0: none */
};

#define PEALI_STALLS_LOGGED 16

/* Names of addresses: see kernel/name_table.h. */
struct peali_names {
	pthread_mutex_t lock;
	/* Trees of tsearch(3) with struct named and with struct known. */
	void *by_name, *by_address;
	uint32_t n;
};

struct peal_runtime {
	const struct peali_hooks *hooks;
	struct peali_owner owner; /* the process that opened it */
	pthread_mutex_t lock;
	struct peali_devices devices;
	struct peali_backend *backends[PEALI_BACKENDS_MAX];
	struct peal_backend_info backend_info[PEALI_BACKENDS_MAX];
	int n_backends;
	/* Serializes probes of pairs and loads of programs at a launch. Taken
	 * before `lock`. */
	pthread_mutex_t launch_lock;
	int probed[PEALI_BACKENDS_MAX]; /* per backend; 1: pairs were probed */
	struct peali_peers *peers;
	struct peali_stager *stager;
	struct peali_watchdog *watchdog;
	struct peali_counters *counters;
	struct peali_stall_socket *stall_socket; /* NULL: not open */
	struct peali_stall_logged stalls_logged[PEALI_STALLS_LOGGED];
	uint64_t lease_ns;
	uint64_t control_timeout_ms; /* ms for an answer, else a worker is
				      * hung */
	int64_t check_in_ns; /* ns for all workers of a new kernel to start */
	_Atomic uint64_t silent_ns; /* ns until a silent worker is logged */
	/* ns for a stop before an abort. stop_ns: of an executor, a group or a
	 * graph. end_ns: of a shutdown, also for each abort there. */
	int64_t stop_ns, end_ns;
	struct peal_kernel *kernels; /* lists, newest first */
	struct peal_link *links;
	/* Numbers of ends of links: a bit for each used one, and the next one
	 * to try. See end_number.h. */
	uint64_t end_numbers[1024];
	uint32_t next_end_number;
	struct peal_endpoint *endpoints;
	struct peal_requester *requesters;
	struct peal_barrier *barriers;
	struct peal_comm *groups;
	struct peal_event *events;
	struct peali_event_orders *event_orders; /* have their own lock */
	struct peal_executor *executors;
	struct peal_graph *graphs;
	struct peal_pipeline *pipelines;
	struct peal_work_share *work_shares;
	struct peali_topic *topics;
	/* of topics: a list, and the lock of its changes. Taken before `lock`.
	 * See collective/topic_forward.c. */
	struct peali_topic_forwarder *forwarders;
	pthread_mutex_t forward_lock;
	struct peali_buffers *buffers; /* guarded by their own lock */
	struct peal_process_group *sets; /* process groups */
	struct peali_names names;
	uint32_t next_kernel; /* id of the next kernel, from 1 */
	uint32_t next_endpoint;
	uint64_t next_link;
	uint32_t next_topic;
	const struct peal_program **programs;
	uint32_t n_programs;
	struct peali_program_file *program_files;
	struct peali_reject_table *
		*reject_tables; /* PEAL_REJECT_TABLES_MAX of them */
	uint32_t n_reject_tables; /* made so far */
	struct peali_fwd_entry *fwd_entries; /* between kernels */
	uint32_t n_fwd_entries, max_fwd_entries;
};

#endif
