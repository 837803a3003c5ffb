/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_COMPUTE_BUFFER_H
#define PEALI_COMPUTE_BUFFER_H

#include <pthread.h>

#include <peal/buffer.h>
#include "runtime/device/devices.h"
#include "runtime/runtime.h"

/* Buffers, and the accounts of their memory. */

/** The memory that buffers use on one device or on the host. */
struct peali_memory_account {
	uint64_t limit; /* bytes; 0: no limit */
	uint64_t bytes;
	uint32_t n_buffers;
};

struct peali_buffers {
	pthread_mutex_t lock; /* guards all below, and `seen` of buffers */
	struct peal_buffer *first, *last;
	uint32_t n;
	struct peali_memory_account
		*account; /* one per device, then the host's */
};

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
/* Finds the address of a range of managed memory. Returns 0, PEAL_ENOTSUP, or an
 * error as peal_buffer_write. */
int peali_range_managed(struct peal_range range, const char *call,
			struct peal_runtime **rt_out, uint64_t *address_out);

/* ---- memory.c ------------------------------------------------------------ */

struct peali_memory_account *peali_memory_account_of(struct peal_runtime *rt,
						     int device);
/*
 * Returns the size of the largest possible buffer, in bytes, within the limit.
 * Also returns the device's free memory, with zeros after an error. The caller
 * holds the lock.
 */
uint64_t peali_memory_space(struct peal_runtime *rt, int device,
			    struct peali_heap_usage *usage);

#endif
