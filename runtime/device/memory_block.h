/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_DEVICE_MEMORY_BLOCK_H
#define PEALI_DEVICE_MEMORY_BLOCK_H

#include "runtime/runtime.h"

/* Memory of devices and of the host. */

/** An allocation and its owner. */
struct peali_block {
	int owner; /* the runtime's index of a device, or PEALI_HOST */
	uint64_t bytes; /* 0: no allocation */
	struct peali_memory memory;
};

int peali_block_alloc(struct peal_runtime *rt, int owner, uint64_t bytes,
		      struct peali_block *out);
void peali_block_free(struct peal_runtime *rt, struct peali_block *area);
/* Returns the address of a block for a device or PEALI_HOST; 0: none. */
uint64_t peali_block_view(const struct peal_runtime *rt, int viewer,
			  const struct peali_block *area);
/* Copies from host memory into a block, or back. */
int peali_block_write(struct peal_runtime *rt, const struct peali_block *area,
		      uint64_t offset, const void *from, uint64_t bytes);
int peali_block_read(struct peal_runtime *rt, const struct peali_block *area,
		     uint64_t offset, void *to, uint64_t bytes);

#endif
