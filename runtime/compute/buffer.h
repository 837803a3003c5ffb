/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_COMPUTE_BUFFER_H
#define PEALI_COMPUTE_BUFFER_H

#include <peal/buffer.h>
#include "runtime/runtime.h"

/* Buffers. */

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

#endif
