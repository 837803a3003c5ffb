/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_TOPIC_H
#define PEAL_ABI_TOPIC_H

#include <peal/abi/ring.h>

/*
 * A topic: one publisher, and every subscriber gets each message. It lies in
 * the memory of a device, or in host memory for threads. The header is followed
 * by a cursor per subscriber, then by the slots. Zeroed memory with the first
 * line filled is an empty topic without subscribers.
 */

#define PEAL_TOPIC_MAGIC 0x4349504f544c4550ULL /* "PELTOPIC" */

/** The effect of a full ring on the publisher. */
enum peal_topic_mode {
	PEAL_TOPIC_WAIT = 0, /* it waits for the slowest subscriber */
	PEAL_TOPIC_OVERWRITE = 1 /* it overwrites the oldest message, which slow
				  * subscribers miss */
};

/** Header of a topic. */
struct peal_topic {
	/* written by the host before the first message */
	uint64_t magic;
	uint32_t slot_bytes; /* multiple of 16 */
	uint32_t capacity_log2;
	uint32_t message_bytes; /* largest payload */
	uint32_t policy; /* enum peal_slot_policy: how slots are published */
	uint32_t mode; /* enum peal_topic_mode */
	uint32_t n_cursors; /* most subscribers at a time */
	uint64_t first; /* number of the first message (default 0) */
	uint64_t cursors_offset; /* from the start of this struct */
	uint64_t slots_offset;
	/* only writer: a worker as publisher, when it ends */
	uint64_t end; /* 1 + messages published by then; 0: not ended */
	uint8_t host_reserved[PEAL_SHARED_LINE - 64];
	/* only writer: the publisher */
	uint64_t tail; /* messages published */
	uint64_t promised; /* the publisher writes no message with this or a
			    * later number before a look at the cursors */
	uint8_t publisher_reserved[PEAL_SHARED_LINE - 16];
	/* added to by subscribers that join, and by the publisher */
	uint64_t gate; /* number of joins so far */
	uint8_t gate_reserved[PEAL_SHARED_LINE - 8];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_topic) == 3 * PEAL_SHARED_LINE,
		   "topic size");
PEAL_STATIC_ASSERT(offsetof(struct peal_topic, tail) == PEAL_SHARED_LINE,
		   "topic layout");
PEAL_STATIC_ASSERT(offsetof(struct peal_topic, gate) == 2 * PEAL_SHARED_LINE,
		   "topic layout");

/** The published position of a subscriber. Only writer: the subscriber. */
struct peal_topic_cursor {
	uint64_t number; /* number of its next message, as last published */
	uint64_t active; /* 1: the publisher waits for the subscriber */
	uint8_t reserved[PEAL_SHARED_LINE - 16];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_topic_cursor) == PEAL_SHARED_LINE,
		   "topic cursor size");

/** The publisher's private state. */
struct peal_topic_publisher {
	uint64_t tail; /* messages published */
	uint64_t limit; /* value of `tail` that needs a look at the cursors */
};

/** A subscriber's private state. */
struct peal_topic_subscriber {
	uint64_t number; /* of the next message */
	uint64_t told; /* `number` of its cursor */
	uint64_t missed; /* messages missed since the last taken one */
	uint64_t taken, lost; /* messages taken, and missed, in total */
	struct peal_topic_cursor *cursor;
	uint8_t *stage; /* atom policies: buffer for a content; else unused */
	uint32_t looks; /* looks without a message */
	uint32_t reserved;
};

/** Data about a taken message. */
struct peal_topic_received {
	uint64_t number; /* of the message in the topic */
	uint64_t missed; /* messages missed just before it */
	uint32_t length; /* bytes of payload */
	uint16_t type; /* of its header */
	uint16_t flags;
};

/* ---- topics of workers --------------------------------------------------- */

/** Counters of a publisher, in host memory. Only writer: the publisher. */
struct peal_topic_published {
	uint64_t messages; /* counted before a subscriber can see them */
	uint64_t bytes;
	uint64_t ended; /* 1: it has published the end */
	uint8_t reserved[PEAL_SHARED_LINE - 24];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_topic_published) == PEAL_SHARED_LINE,
		   "published size");

/** Counters of a subscriber, in host memory. Only writer: the subscriber. */
struct peal_topic_counts {
	struct peal_link_counts link; /* only `delivered...` and `dead` */
	uint64_t first; /* number of its first message */
	uint64_t missed;
	uint64_t ended; /* 1 + messages published by the end; 0: not ended */
	uint8_t reserved[PEAL_SHARED_LINE - 24];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_topic_counts) == 3 * PEAL_SHARED_LINE,
		   "subscriber's counts size");

/** A publisher's or subscriber's view of a topic, as struct peal_link_view. */
struct peal_topic_view {
	uint64_t topic; /* struct peal_topic */
	uint64_t own; /* its private state and stages */
	uint64_t counts; /* struct peal_topic_published or _counts */
	uint64_t bells; /* host only: uint64_t[], addresses of the publisher's
			 * bell, then of the subscribers' bells; 0: none */
	uint32_t actor; /* subscriber: number of the actor */
	uint32_t cursor; /* subscriber: index of its cursor */
	uint32_t index; /* of the input or port */
	uint16_t oldest; /* 1: begin with the oldest message */
	uint16_t priority; /* subscriber: enum peal_priority */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_topic_view) == 48, "view size");

/** Bytes of a stage, at least the content of a slot of that size. */
#define PEAL_TOPIC_STAGE(slot_bytes) (((uint64_t)(slot_bytes) + 15) / 16 * 16)

#endif
