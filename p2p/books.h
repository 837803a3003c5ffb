/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_BOOKS_H
#define PEALI_BOOKS_H

#include <pthread.h>
#include <stddef.h>

#include <peal/transfer.h>
#include "p2p/cache.h"
#include "p2p/ledger.h"
#include "p2p/peer.h"

/*
 * The inside of struct peali_peers, for the files of this folder alone.
 *
 * `lock` guards everything but what says otherwise, and is held while a backend
 * enables or disables a pair. `probe_lock` lets in one probe at a time and is
 * taken before `lock`.
 */

/** Why the access of a pair is enabled. */
enum peali_use {
	PEALI_USE_CALLER, /* peal_peer_enable */
	PEALI_USE_LINK, /* peali_peer_hold */
	PEALI_USE_MAP, /* peal_peer_map */
	PEALI_USE_BUFFER, /* peali_buffer_view_take */
	PEALI_USE_PROBE,
	PEALI_USES
};

/** How far the probe of a pair has come. */
enum peali_proof {
	PEALI_PROOF_NONE,
	PEALI_PROOF_VERDICT, /* slots and pattern; nothing is measured */
	PEALI_PROOF_COMPLETE
};

/** An ordered pair. */
struct peali_pair {
	uint32_t n_uses[PEALI_USES];
	enum peali_proof proof;
	struct peal_pair_info info;
};

/** An allocation of peal_memory_alloc. */
struct peali_record {
	int device; /* or PEALI_HOST */
	uint64_t address; /* as the owner sees it */
	uint64_t bytes;
	struct peali_memory memory;
	int is_buffer; /* of peali_buffer_alloc */
	uint32_t n_maps, n_copies; /* that keep it from being freed */
};

/** What peal_peer_map gave, once for each address. */
struct peali_mapping {
	int remote;
	uint64_t address; /* for the remote */
	int owner;
	uint64_t owner_address;
	uint64_t bytes; /* the longest that was asked for */
	uint32_t count;
	struct peali_record *record; /* NULL: memory of the runtime's own */
};

/** The speed of host memory, what a pair's own is compared to. */
struct peali_reference {
	struct peali_backend *backend;
	char kind[16];
	uint64_t bytes_per_s;
};

#define PEALI_REFERENCES 16

struct peali_stages;

/** Copies in the background that wait for one thread. */
struct peali_line {
	pthread_mutex_t lock;
	pthread_cond_t work; /* something in line, or time to end */
	struct peal_copy *first, **last;
	int has_thread, stop;
	pthread_t thread;
};

struct peali_peers {
	const struct peali_devices *devices;
	pthread_mutex_t lock;
	struct peali_pair *pair; /* [from * devices->n + to] */
	struct peali_record **record; /* by device, then by address */
	size_t n_records, max_records;
	size_t n_buffers; /* of the records */
	struct peali_mapping *mapping;
	size_t n_mappings, max_mappings;
	struct peali_stages *stages; /* NULL: no copy was staged yet */
	struct peali_line *line; /* of copies to each device; first the host's */
	struct peal_copy *copies; /* that are not destroyed */
	uint32_t n_copies; /* of them */
	uint64_t n_started; /* so far */
	pthread_cond_t copy_ended; /* or cancelled */
	uint32_t n_running; /* copies that wait for their end in the call */
	struct peali_ledger ledger; /* has a lock of its own */
	pthread_mutex_t probe_lock;
	/* under probe_lock */
	struct peali_reference reference[PEALI_REFERENCES];
	int n_references;
	struct peali_cache cache;
};

static inline struct peali_pair *peali_pair_of(struct peali_peers *peers,
					       int from, int to)
{
	return &peers->pair[(size_t)from * (size_t)peers->devices->n +
			    (size_t)to];
}

/* peer.c; lock held: one more or one less use of a pair. */
int peali_pair_take(struct peali_peers *peers, int from, int to,
		    enum peali_use use, const char *call);
void peali_pair_give(struct peali_peers *peers, int from, int to,
		     enum peali_use use);
/* The peers of a runtime; NULL with the text recorded for a NULL runtime. */
struct peali_peers *peali_peers_of(struct peal_runtime *runtime,
				   const char *call);

/* memory.c; lock held. The record whose first byte or inside is there. */
struct peali_record *peali_record_find(struct peali_peers *peers, int device,
				       uint64_t address);
/* 1 if [address, +bytes) is inside [start, +size). */
int peali_range_inside(uint64_t address, uint64_t bytes, uint64_t start,
		       uint64_t size);
/* Frees what is left. */
void peali_records_clear(struct peali_peers *peers);

/* mapping.c; lock held. The mapping that the range lies in, or NULL. */
const struct peali_mapping *peali_mapping_find(const struct peali_peers *peers,
					       int remote, uint64_t address,
					       uint64_t bytes);
void peali_mappings_clear(struct peali_peers *peers);

/* copy_async.c: the lines, at the opening and the end. PEAL_ENOMEM. */
int peali_lines_open(struct peali_peers *peers);
void peali_lines_close(struct peali_peers *peers);
/* copy_async.c; lock held: lets go of the memory of copies that have ended. */
void peali_copies_settle(struct peali_peers *peers);
/* Cancels and frees all copies. Lock not held. */
void peali_copies_clear(struct peali_peers *peers);

#endif
