/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_PEER_H
#define PEALI_PEER_H

#include <peal/memory.h>
#include <peal/peer.h>
#include <peal/transfer.h>
#include "runtime/backend/devices.h"

/*
 * What a runtime keeps of its devices' access to each other: who has enabled
 * it, what is mapped, allocated and being copied, and what the probe found.
 * Thread-safe throughout, but for create and destroy.
 */
struct peali_peers;

/** A range that was looked up: where it is, and what keeps it there. */
struct peali_range {
	struct peali_place place; /* by the runtime's numbers */
	uint64_t bytes;
	struct peali_record *record; /* NULL: nothing to keep */
};

/* ---- what runtime/runtime.c defines --------------------------------------- */

struct peali_peers *peali_runtime_peers(struct peal_runtime *runtime);

/* ---- its life -------------------------------------------------------------- */

/* `devices` outlives it. PEAL_ENOMEM. */
int peali_peers_create(const struct peali_devices *devices,
		       struct peali_peers **out);
/* 0, or PEAL_EBUSY with a text that names what is left beside buffers. */
int peali_peers_check_idle(struct peali_peers *peers);
/* As peali_peers_check_idle, and then nothing is done. NULL: 0. */
int peali_peers_destroy(struct peali_peers *peers);
/*
 * For a shutdown: cancels and frees copies, takes mappings, enables, holds and
 * memory back. Pointers to them are gone. No kernel may be resident.
 */
void peali_peers_clear(struct peali_peers *peers);
struct peali_ledger;
/* Of what was copied. */
struct peali_ledger *peali_peers_ledger(struct peali_peers *peers);
/* Allocations of peal_memory_alloc; not those of buffers. */
uint32_t peali_peers_n_memories(struct peali_peers *peers);

/* ---- access of one device to another --------------------------------------- */

/*
 * A link's share in the access of `from` to the memory of `to`: enables the
 * pair if nobody has. The errors of peal_peer_enable.
 */
int peali_peer_hold(struct peali_peers *peers, int from, int to);
/* Gives one hold back; the last user of any kind disables the pair. */
void peali_peer_release(struct peali_peers *peers, int from, int to);

/* The public functions of <peal/peer.h> and <peal/memory.h>, below the runtime.
 */
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
 * Memory of a buffer: it is counted apart, peali_memory_free refuses it, and no
 * check for what is left names it. `device` and `bytes` are checked already.
 */
int peali_buffer_alloc(struct peali_peers *peers, int device, uint64_t bytes,
		       uint64_t *address_out);
/* PEAL_EBUSY as peal_memory_free. */
int peali_buffer_free(struct peali_peers *peers, int device, uint64_t address);
/*
 * Where another device sees it, and a share in the pair's access until that is
 * given back. The errors of peal_peer_enable.
 */
int peali_buffer_view_take(struct peali_peers *peers, int viewer, int owner,
			   uint64_t address, uint64_t *view_out);
void peali_buffer_view_give(struct peali_peers *peers, int viewer, int owner);
/*
 * Looks up memory at a place, of so many bytes, 0 too, and keeps it from being freed
 * until it is let go of, once or more: then `range` is empty. PEAL_EFAULT: there is
 * none, for `call`.
 */
int peali_range_keep(struct peali_peers *peers, struct peali_place place,
		     uint64_t bytes, const char *call, struct peali_range *out);
void peali_range_let_go(struct peali_peers *peers, struct peali_range *range);
/** How copies are to be done. */
struct peali_order {
	const char *call; /* for texts */
	uint32_t routes; /* as in peal_transfer_options */
	uint64_t chunk_bytes; /* likewise */
};

/* Places as their devices see them. PEAL_ENODEV, PEAL_EFAULT, and as carry.h. */
int peali_move_now(struct peali_peers *peers, const struct peali_move *moves,
		   uint32_t n, const struct peali_order *order,
		   struct peal_copy_result *result_out);
int peali_move_begin(struct peali_peers *peers, const struct peali_move *moves,
		     uint32_t n, const struct peali_order *order,
		     struct peal_copy **out);
int peali_copy_now(struct peali_peers *peers, struct peali_place to,
		   struct peali_place from, uint64_t bytes);
int peali_copy_begin(struct peali_peers *peers, struct peali_place to,
		     struct peali_place from, uint64_t bytes,
		     struct peal_copy **out);

#endif
