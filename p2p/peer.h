/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_PEER_H
#define PEALI_PEER_H

#include <peal/memory.h>
#include <peal/peer.h>
#include <peal/transfer.h>
#include "runtime/device/devices.h"

/*
 * The runtime's peer state: enabled pairs, mappings, allocations, copies in
 * flight, and probe results. All functions are thread-safe except create and
 * destroy.
 */
struct peali_peers;

/** A resolved range of memory, and the record that keeps it allocated. */
struct peali_range {
	struct peali_place place; /* device numbers of the runtime */
	uint64_t bytes;
	struct peali_allocation *record; /* NULL: nothing to keep */
};

/* ---- create and destroy -------------------------------------------------- */

/*
 * Creates the peer state. `devices` must outlive it. Returns 0 or PEAL_ENOMEM.
 */
int peali_peers_create(struct peali_devices *devices, struct peali_peers **out);
/*
 * Returns 0, or PEAL_EBUSY with a text that lists the remaining uses. Buffers
 * do not count.
 */
int peali_peers_check_idle(struct peali_peers *peers);
/*
 * Destroys the peer state. After PEAL_EBUSY (peali_peers_check_idle) nothing
 * has changed. NULL: 0.
 */
int peali_peers_destroy(struct peali_peers *peers);
/*
 * For a shutdown: cancels and frees all copies, mappings, enables, holds and
 * memory. Pointers to them are invalid afterwards. No kernel may be resident.
 */
void peali_peers_clear(struct peali_peers *peers);
struct peali_copy_stats;
/* Returns the counters of copies. */
struct peali_copy_stats *peali_peers_copy_stats(struct peali_peers *peers);
/* Returns the number of allocations of peal_memory_alloc, without buffers. */
uint32_t peali_peers_n_memories(struct peali_peers *peers);

/* ---- access of one device to another ------------------------------------- */

/*
 * Adds a link's use of the access from `from` to the memory of `to`. The first
 * use enables the pair. Errors are those of peal_peer_enable.
 */
int peali_peer_hold(struct peali_peers *peers, int from, int to);
/* Removes one hold. The last user of any kind disables the pair. */
void peali_peer_release(struct peali_peers *peers, int from, int to);

/* The functions behind <peal/peer.h> and <peal/memory.h>. */
int peali_peer_can_access(struct peali_peers *peers, int from, int to);
int peali_peer_enable(struct peali_peers *peers, int from, int to);
int peali_peer_disable(struct peali_peers *peers, int from, int to);
int peali_peer_map(struct peali_peers *peers, int device, uint64_t address,
		   int remote, uint64_t bytes, uint64_t *address_out);
int peali_peer_unmap(struct peali_peers *peers, int remote, uint64_t address);
int peali_memory_alloc(struct peali_peers *peers, int device, uint64_t bytes,
		       uint64_t *address_out);
int peali_memory_free(struct peali_peers *peers, int device, uint64_t address);
/*
 * Allocates the memory of a buffer. Buffers have a separate count,
 * peali_memory_free refuses them, and no idle check lists them. The caller has
 * checked `device` and `bytes`. *managed: 1 asks for managed memory, `device`
 * is PEALI_HOST then. A success sets *managed to 1 if the memory is managed,
 * else to 0.
 */
int peali_buffer_alloc(struct peali_peers *peers, int device, uint64_t bytes,
		       int *managed, uint64_t *address_out);
/*
 * Frees the memory of a buffer. Returns 0, or PEAL_EBUSY as peal_memory_free.
 */
int peali_buffer_free(struct peali_peers *peers, int device, uint64_t address);
/*
 * Returns the address of a buffer for another device. The pair's access stays
 * enabled until peali_buffer_view_give. Errors are those of peal_peer_enable.
 */
int peali_buffer_view_take(struct peali_peers *peers, int viewer, int owner,
			   uint64_t address, uint64_t *view_out);
void peali_buffer_view_give(struct peali_peers *peers, int viewer, int owner);
/*
 * Resolves a range of `bytes` bytes, 0 allowed. The range cannot be freed until
 * peali_range_let_go, which may be called again and empties `range`. Returns 0,
 * or PEAL_EFAULT if there is no such memory. `call` is for the error text.
 */
int peali_range_keep(struct peali_peers *peers, struct peali_place place,
		     uint64_t bytes, const char *call, struct peali_range *out);
void peali_range_let_go(struct peali_peers *peers, struct peali_range *range);
/** Options of a copy call. */
struct peali_copy_params {
	const char *call; /* public function, for error texts */
	uint32_t routes; /* as in peal_transfer_options */
	uint64_t chunk_bytes; /* as in peal_transfer_options */
};

/*
 * Copies in the call (now), or starts background copies (begin). Places are
 * addresses of their devices. Returns 0, PEAL_ENODEV, PEAL_EFAULT, or an error
 * of peali_copy_execute.
 */
int peali_copy_sync(struct peali_peers *peers,
		    const struct peali_copy_op *moves, uint32_t n,
		    const struct peali_copy_params *order,
		    struct peal_copy_result *result_out);
int peali_copy_submit(struct peali_peers *peers,
		      const struct peali_copy_op *moves, uint32_t n,
		      const struct peali_copy_params *order,
		      struct peal_copy **out);
int peali_copy_sync_one(struct peali_peers *peers, struct peali_place to,
			struct peali_place from, uint64_t bytes);
int peali_copy_submit_one(struct peali_peers *peers, struct peali_place to,
			  struct peali_place from, uint64_t bytes,
			  struct peal_copy **out);
/* Makes the threads of copies look at the gates of devices again. */
void peali_copies_look(struct peali_peers *peers);
/* Returns the kind of work that has not ended, or NULL. The work is a background
 * copy from or to a device, or a change of its access. It has a submission number
 * below `before`. PEAL_ALL_DEVICES: any device. */
const char *peali_copies_use(struct peali_peers *peers, int device,
			     uint64_t before);

#endif
