/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_ACCESS_H
#define PTX_ACCESS_H

/* The fast path of memory accesses. */

#include "state.h"

/* One access: no other thread sees a part of it. */
#define PTX_GET(type, at)                                                      \
	atomic_load_explicit((const _Atomic type *)(at), memory_order_acquire)
#define PTX_PUT(type, at, value)                                               \
	atomic_store_explicit((_Atomic type *)(at), (type)(value),             \
			      memory_order_release)

#define PTX_LIKELY(e) __builtin_expect(!!(e), 1)

static inline int ptx_in_range(const struct ptx_range *range, uint64_t address,
			       uint32_t bytes)
{
	uint64_t offset = address - range->from;

	return offset < range->bytes && range->bytes - offset >= bytes;
}

/* Returns the address on the host of [base + offset], or NULL after a fault. */
static inline void *ptx_memory(struct ptx_lane *lane,
			       const struct ptx_instruction *in, uint32_t bytes,
			       int is_store)
{
	uint64_t address = lane->registers[in->a] + (uint64_t)in->offset;

	if (PTX_LIKELY(!(address & (bytes - 1)))) {
		const struct ptx_block *block = lane->block;
		uint64_t offset = address - (uintptr_t)lane->local;

		if (in->space == PTX_SPACE_SHARED) {
			if (PTX_LIKELY(address + bytes <=
				       block->grid->shared_bytes))
				return block->shared + address;
		} else if (offset < PTX_LOCAL_BYTES) {
			if (in->space != PTX_SPACE_GLOBAL &&
			    (uint8_t *)(uintptr_t)address + bytes <=
				    lane->local_top)
				return (void *)(uintptr_t)address;
		} else if (in->space != PTX_SPACE_LOCAL &&
			   !(is_store && lane->ranges[0].is_const) &&
			   ptx_in_range(&lane->ranges[0], address, bytes)) {
			return (void *)(uintptr_t)address;
		}
	}
	return ptx_memory_slow(lane, in, address, bytes, is_store);
}

#endif
