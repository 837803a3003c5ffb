/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_RUNTIME_TOPIC_H
#define PEALI_RUNTIME_TOPIC_H

#include <peal/abi/topic.h>
#include "queues/topic.h"
#include "runtime/runtime.h"

/* A topic as the host knows it; the runtime's lock guards it. */

/** Who subscribes by a cursor. */
struct peali_subscriber {
	struct peali_end end; /* no kernel: the cursor is free */
	int gone; /* its kernel has ended */
	int forgotten; /* and the publisher does not heed it any more */
	int told; /* that the publisher is gone */
	struct peali_progress progress; /* as a link's */
	uint32_t priority; /* enum peal_priority */
	/* Once either is gone: messages that were published by then. */
	int closed;
	uint64_t published;
};

struct peali_topic {
	struct peal_runtime *rt;
	struct peali_topic *next;
	uint64_t address;
	char name[48];
	int device;
	struct peali_topic_spec spec;
	struct peali_area own; /* device memory: the topic, then its ends' */
	struct peali_area shared; /* host memory: counts, then bells */
	struct peal_topic_published *published; /* host views */
	struct peal_topic_counts *counts; /* of each cursor */
	uint64_t *bells; /* the publisher's, then of each cursor */
	struct peali_end publisher; /* no kernel: none */
	uint32_t port; /* of it, as the caller said it */
	int ended; /* the latest publisher's kernel: all are told */
	struct peali_subscriber *subscribers; /* n_subscribers cursors */
};

/* The topic of an address; NULL, with the text recorded: there is none. */
struct peali_topic *peali_topic_of(struct peal_runtime *rt, uint64_t address,
				   const char *call);
/* The view of an end: cursor -1 is the publisher. */
struct peal_topic_view peali_topic_view(const struct peali_topic *t,
					int cursor);
/* What a subscriber has seen so far. */
void peali_subscriber_read(const struct peali_topic *t, uint32_t cursor,
			   struct peal_subscriber_info *out);

#endif
