/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_QUEUE_SELECT_H
#define PEALI_QUEUE_SELECT_H

#include <peal/queue.h>

#include "queues/mailbox.h"
#include "queues/ring.h"
#include "queues/topic.h"
#include "queues/work.h"

/*
 * Turns the options of a queue into a plan: the kind, its sizes, its memory
 * layout. Queues of threads and queues on a device (peal/device_queue.h) use
 * the plan.
 */

struct peali_queue_kind;

/* Bytes of the longest header of any kind. */
#define PEALI_QUEUE_HEADER_MAX (3 * PEAL_SHARED_LINE)

/*
 * A plan of a queue. The memory begins with the queue itself. Behind it are:
 *
 * - The stages, one for each end that unpacks messages. A link has two, the
 *   producer's first. A mailbox has its stage inside the queue. The other kinds
 *   have one per consumer.
 * - The credit and the counts, for a link only.
 */
struct peali_queue_plan {
	/* in: the user of the queue, as for peali_publication_choose */
	uint32_t policies, default_policy;
	const char *user;
	/* out */
	const struct peali_queue_kind *kind;
	/* with defaults filled in, except the name */
	struct peal_queue_options options;
	uint32_t bulk; /* most messages of one push */
	union {
		struct peali_ring_spec ring;
		struct peali_mailbox_spec mailbox;
		struct peali_work_spec work;
		struct peali_topic_spec topic;
	} spec;
	uint64_t stages; /* offset of the first stage; 0: none */
	uint64_t stage; /* bytes of each stage; 0: messages are not unpacked */
	uint64_t credit; /* offset of a link's credit; the counts follow */
	uint64_t bytes; /* bytes of the whole memory */
};

/*
 * Makes a plan. `each` is the bytes of every message; 0: lengths differ. `call`
 * is the name of the public function. Returns 0, or PEAL_EINVAL with text that
 * names the option, its value and the allowed range.
 */
int peali_queue_select(struct peali_queue_plan *plan,
		       const struct peal_queue_options *options, uint64_t each,
		       const char *call);

/* Writes the header of a plan's queue to `out`. Returns its bytes. */
uint64_t peali_queue_header(const struct peali_queue_plan *plan, void *out);

#endif
