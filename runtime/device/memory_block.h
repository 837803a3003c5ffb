/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_DEVICE_MEMORY_BLOCK_H
#define PEALI_DEVICE_MEMORY_BLOCK_H

#include "runtime/runtime.h"

/* Memory of devices and of the host. */

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

#endif
