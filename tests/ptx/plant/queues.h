/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_PLANT_QUEUES_H
#define PTX_PLANT_QUEUES_H

#include <stdint.h>

#define QUEUE_LONG 200 /* most bytes of a message */
#define QUEUE_ROLES 4 /* most kernels at one queue */

/** Parameters of a kernel in queues.c. */
struct queue_role {
	void *queue, *end;
	uint64_t n; /* messages of each sender, or phases */
	uint64_t id; /* number of the sender; or see the kernel */
	uint64_t *words;
};

#endif
