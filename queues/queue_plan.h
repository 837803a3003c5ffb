/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_QUEUE_PLAN_H
#define PEALI_QUEUE_PLAN_H

#include <peal/queue.h>

#include "queues/mailbox.h"
#include "queues/ring.h"
#include "queues/topic.h"
#include "queues/work.h"

/*
 * What the options of a queue come to: which kind serves, its sizes, its memory.
 * For the queues of threads, and for those that are placed on a device.
 */

struct peali_queue_kind;

/* No header of a queue is longer. */
#define PEALI_QUEUE_HEADER_MAX (3 * PEAL_SHARED_LINE)

/*
 * A plan. Its memory begins with the queue itself; behind it lie a stage for
 * each end that unpacks messages (a link's two, the producer's first; else one a
 * consumer, but a mailbox has its own inside) and a link's credit and counts.
 */
struct peali_queue_plan {
	/* in: who uses it, as for peali_policy_choose */
	uint32_t policies, default_policy;
	const char *whose;
	/* out */
	const struct peali_queue_kind *kind;
	struct peal_queue_options options; /* completed, but for the name */
	uint32_t bulk; /* the most messages that are put at a time */
	union {
		struct peali_ring_spec ring;
		struct peali_mailbox_spec mailbox;
		struct peali_work_spec work;
		struct peali_topic_spec topic;
	} spec;
	uint64_t stages; /* where the first one lies */
	uint64_t stage; /* from one to the next; 0: messages are not unpacked */
	uint64_t credit; /* of a link; its counts follow */
	uint64_t bytes; /* of all */
};

/*
 * Makes a plan. `each`: bytes of all messages; 0: they differ. Returns 0;
 * PEAL_EINVAL with text that names the option, its value and what
 * is allowed. `call` is the name of the public function.
 */
int peali_queue_plan(struct peali_queue_plan *plan,
		     const struct peal_queue_options *options, uint64_t each,
		     const char *call);

/* Writes the header of the queue of a plan; how many bytes that are. */
uint64_t peali_queue_header(const struct peali_queue_plan *plan, void *out);

#endif
