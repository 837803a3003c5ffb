/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_PEER_INTERNAL_H
#define PEALI_PEER_INTERNAL_H

#include <pthread.h>
#include <stddef.h>

#include <peal/transfer.h>
#include "p2p/copy_stats.h"
#include "p2p/peer.h"
#include "p2p/probe_cache.h"
#include "runtime/base/owner.h"

/*
 * Internals of struct peali_peers, for the files of this folder only.
 *
 * `lock` protects all fields except where a comment says otherwise. The lock is
 * held while a backend enables or disables a pair. `probe_lock` admits one
 * probe at a time. Lock order: `probe_lock`, then `lock`.
 */

/** The users of a pair's access. */
enum peali_use {
	PEALI_USE_CALLER, /* peal_peer_enable */
	PEALI_USE_LINK, /* peali_peer_hold */
	PEALI_USE_MAP, /* peal_peer_map */
	PEALI_USE_BUFFER, /* peali_buffer_view_take */
	PEALI_USE_PROBE,
	PEALI_N_USES
};

/** How much is known about a pair. */
enum peali_probed {
	PEALI_PROBED_NONE,
	PEALI_PROBED_VERDICT, /* slots and pattern are checked; not measured */
	PEALI_PROBED_COMPLETE
};

/** An ordered pair. */
struct peali_pair {
	uint32_t n_uses[PEALI_N_USES];
	enum peali_probed probed;
	struct peal_pair_info info;
};

/** An allocation of peal_memory_alloc. */
struct peali_allocation {
	int device; /* device, or PEALI_HOST */
	uint64_t address; /* the owner's address */
	uint64_t bytes;
	struct peali_memory memory;
	int is_buffer; /* 1: made by peali_buffer_alloc */
	uint32_t n_maps, n_copies; /* users; > 0: not freed */
};

/** A mapping of peal_peer_map, one entry per address. */
struct peali_mapping {
	int remote;
	uint64_t address; /* the remote device's address */
	int owner;
	uint64_t owner_address;
	uint64_t bytes; /* largest requested length */
	uint32_t count;
	struct peali_allocation *record; /* NULL: the runtime's own memory */
};

/** The baseline of a link kind: bandwidth through host memory. */
struct peali_reference {
	struct peali_backend *backend;
	char kind[16];
	uint64_t bytes_per_s;
};

#define PEALI_REFERENCES 16

struct peali_staging_pool;

/** A queue of background copies for one thread. */
struct peali_line {
	pthread_mutex_t lock;
	pthread_cond_t work; /* a copy is queued, or `stop` is set */
	struct peal_copy *first, **last;
	int has_thread, stop;
	pthread_t thread;
};

struct peali_peers {
	struct peali_devices *devices;
	struct peali_owner owner; /* the process that made it */
	pthread_mutex_t lock;
	struct peali_pair *pair; /* [from * devices->n + to] */
	struct peali_allocation **record; /* by device, then by address */
	size_t n_records, max_records;
	size_t n_buffers; /* buffers among the records */
	struct peali_mapping *mapping;
	size_t n_mappings, max_mappings;
	struct peali_staging_pool *stages; /* NULL until a copy is staged */
	/* [1 + device]: copies to that device; [0]: to the host */
	struct peali_line *line;
	/* all copies and changes of access that are not destroyed */
	struct peal_copy *copies;
	uint32_t n_copies; /* copies in that list */
	uint64_t n_started; /* background copies started so far */
	pthread_cond_t copy_ended; /* a copy may run: see copy_async.c */
	uint32_t n_running; /* copies of running synchronous calls */
	struct peali_copy_stats stats; /* has its own lock */
	pthread_mutex_t probe_lock;
	/* probe_lock protects the fields below */
	struct peali_reference reference[PEALI_REFERENCES];
	int n_references;
	struct peali_probe_cache cache;
};

static inline struct peali_pair *peali_pair_of(struct peali_peers *peers,
					       int from, int to)
{
	return &peers->pair[(size_t)from * (size_t)peers->devices->n +
			    (size_t)to];
}

/* peer.c. Adds or removes one use of a pair. The caller holds `lock`. */
int peali_pair_take(struct peali_peers *peers, int from, int to,
		    enum peali_use use, const char *call);
void peali_pair_give(struct peali_peers *peers, int from, int to,
		     enum peali_use use);
/*
 * Returns the peers of a runtime. Records an error and returns NULL if the
 * runtime is NULL or of the parent process.
 */
struct peali_peers *peali_peers_of(struct peal_runtime *runtime,
				   const char *call);

/*
 * memory.c. Returns the record that contains the address, or NULL. The caller
 * holds `lock`.
 */
struct peali_allocation *peali_allocation_find(struct peali_peers *peers,
					       int device, uint64_t address);
/* Returns 1 if [address, +bytes) is inside [start, +size). */
int peali_range_inside(uint64_t address, uint64_t bytes, uint64_t start,
		       uint64_t size);
/* Frees all remaining records and their memory. */
void peali_allocations_clear(struct peali_peers *peers);

/*
 * peer_mapping.c. Returns the mapping that contains the range, or NULL. The
 * caller holds `lock`.
 */
const struct peali_mapping *peali_mapping_find(const struct peali_peers *peers,
					       int remote, uint64_t address,
					       uint64_t bytes);
void peali_mappings_clear(struct peali_peers *peers);

/* copy_async.c. Makes and destroys the lines. Returns 0 or PEAL_ENOMEM. */
int peali_lines_open(struct peali_peers *peers);
void peali_lines_close(struct peali_peers *peers);
/*
 * copy_async.c. Releases the memory of ended copies. The caller holds `lock`.
 */
void peali_copies_settle(struct peali_peers *peers);
/* Cancels and frees all copies. The caller does not hold `lock`. */
void peali_copies_clear(struct peali_peers *peers);

/** The kinds of changes of peer access in the background. */
enum peali_change_kind {
	PEALI_CHANGE_NONE, /* a copy */
	PEALI_CHANGE_ENABLE,
	PEALI_CHANGE_DISABLE,
	PEALI_CHANGE_MAP,
	PEALI_CHANGE_UNMAP
};

/** A change of peer access in the background. */
struct peali_peer_change {
	enum peali_change_kind kind;
	int from; /* the device that gets or loses access */
	int to; /* the owner of the memory; unmap: unused */
	uint64_t address; /* map: the owner's; unmap: that of `from` */
	uint64_t bytes; /* map */
	uint64_t mapped; /* map: the address for `from`, after its end */
};

/*
 * copy_async.c. Starts a change, with checked arguments. Returns 0,
 * PEAL_ENOMEM or PEAL_EDRIVER.
 */
int peali_change_submit(struct peali_peers *peers,
			const struct peali_peer_change *change,
			const char *call, struct peal_copy **out);
/*
 * copy_async.c. Returns the number of changes of a device that have not ended.
 * Their numbers are at most `last`. The caller holds `lock`.
 */
uint32_t peali_changes_before(struct peali_peers *peers, int from,
			      uint64_t last);
/*
 * copy_async.c. Gets the change of a copy; PEALI_CHANGE_NONE: a copy of bytes.
 * Returns PEAL_EAGAIN until its end, then 0 or its error. PEAL_EFORKED: with an
 * error text.
 */
int peali_change_result(const struct peal_copy *c, const char *call,
			const struct peali_peer_change **change_out);
/* peer_async.c. Does a change. Returns 0, or as the blocking call. */
int peali_peer_change_do(struct peali_peers *peers,
			 struct peali_peer_change *change);
/*
 * peer_async.c. Waits for the changes of a device that were started before the
 * call. Returns 0 or PEAL_ETIMEDOUT. The caller does not hold `lock`.
 */
int peali_changes_await(struct peali_peers *peers, int from, int64_t timeout_ns,
			const char *call);
/* peer.c. Checks two different devices. */
int peali_pair_check(struct peali_peers *peers, int from, int to,
		     const char *call);
/* peer_mapping.c. Checks the arguments of peal_peer_map. */
int peali_map_check(struct peali_peers *peers, int device, uint64_t address,
		    int remote, uint64_t bytes, const char *call);

#endif
