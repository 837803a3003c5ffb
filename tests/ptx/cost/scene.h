/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_COST_SCENE_H
#define PTX_COST_SCENE_H

/*
 * A kernel of workers, as peal_kernel_launch() makes it, for the PTX machine.
 * All memory is that of cost_alloc(). An error ends the process.
 */

#include "cost.h"

#include <peal/device/impl/worker/worker.h>
#include <peal/device/link_consumer.h>
#include <peal/device/link_producer.h>

#define SCENE_KERNEL_ADDRESS (1ULL << 32)

struct scene {
	/* set before scene_make(): */
	uint32_t workers, lanes;
	uint32_t slots; /* of links and mailboxes */
	uint32_t message_bytes; /* largest payload, with a request's number */
	uint32_t actors; /* size of the table */
	uint32_t putters; /* of each mailbox */
	uint32_t barriers; /* of each worker */
	/* set by it: */
	struct peal_kernel_params *params;
	struct peal_kernel_control *control;
	struct peal_worker_status *status;
	struct peal_actor_entry *actor; /* the table; empty at first */
	struct peal_link_producer *control_links; /* of each worker */
};

/** The views of both ends of a link. */
struct scene_views {
	struct peal_link_view producer, consumer;
};

/** Makes the kernel. */
void scene_make(struct scene *s);
/** Ends the process if a result is not 0. */
void scene_need(int result, const char *what);
/** Makes a link with its ring in a memory. */
struct scene_views scene_link(enum ptx_memory memory, uint32_t slots,
			      uint32_t bytes);
/** Gives an input a mirror: a GPU copies a ring of the host to its own memory. */
void scene_mirror(struct peal_link_view *input, uint32_t lanes);
/** Sends a control message to a worker. */
void scene_control(struct scene *s, uint32_t worker, uint16_t type,
		   const void *data, uint64_t bytes);
/** Makes an input or a port 0 of a worker, with its ring in a memory. Returns
 *  the host's end. */
struct peal_link_producer scene_input(struct scene *s, uint32_t worker,
				      enum ptx_memory memory);
struct peal_link_consumer scene_output(struct scene *s, uint32_t worker,
				       enum ptx_memory memory);
struct peal_mailbox *scene_mailbox(const struct scene *s, uint32_t worker);
struct peal_worker_state *scene_state(const struct scene *s, uint32_t worker);

#endif
