/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_TOPIC_H
#define PEAL_ABI_TOPIC_H

#include <peal/abi/ring.h>

/*
 * A topic: one publishes, every subscriber gets each message. In the memory of
 * one device, or in host memory that threads share. Behind the header lie the
 * cursors, one per subscriber, and the slots. Zeroed memory with the first line
 * filled is empty and has no subscriber.
 */

#define PEAL_TOPIC_MAGIC 0x4349504f544c4550ULL /* "PELTOPIC" */

/** What becomes of a message that not all have taken when its slot is due. */
enum peal_topic_mode {
	PEAL_TOPIC_WAIT = 0, /* the publisher waits for the slowest */
	PEAL_TOPIC_OVERWRITE = 1 /* it is lost to those; they are told */
};

/** Header of a topic. */
struct peal_topic {
	/* written by the host before the first message */
	uint64_t magic;
	uint32_t slot_bytes; /* multiple of 16 */
	uint32_t capacity_log2;
	uint32_t message_bytes; /* largest payload */
	uint32_t policy; /* enum peal_policy: how slots are published */
	uint32_t mode; /* enum peal_topic_mode */
	uint32_t n_cursors; /* the most subscribers at a time */
	uint64_t first; /* number of the first message; 0 */
	uint64_t cursors_offset; /* from the start of this struct */
	uint64_t slots_offset;
	/* only writer: the publisher, if it is a worker, when it ends */
	uint64_t end; /* 1 + messages published by then; 0: it goes on */
	uint8_t host_reserved[PEAL_SHARED_LINE - 64];
	/* only writer: the publisher */
	uint64_t tail; /* messages published */
	uint64_t promised; /* it does not write past that without a look at
			    * the cursors */
	uint8_t publisher_reserved[PEAL_SHARED_LINE - 16];
	/* added to by who joins, and by the publisher */
	uint64_t gate; /* subscribers that ever joined */
	uint8_t gate_reserved[PEAL_SHARED_LINE - 8];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_topic) == 3 * PEAL_SHARED_LINE,
		   "topic size");
PEAL_STATIC_ASSERT(offsetof(struct peal_topic, tail) == PEAL_SHARED_LINE,
		   "topic layout");
PEAL_STATIC_ASSERT(offsetof(struct peal_topic, gate) == 2 * PEAL_SHARED_LINE,
		   "topic layout");

/** Where a subscriber is; its only writer. */
struct peal_topic_cursor {
	uint64_t number; /* of the next message it takes, as last told */
	uint64_t active; /* 1: the publisher heeds it */
	uint8_t reserved[PEAL_SHARED_LINE - 16];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_topic_cursor) == PEAL_SHARED_LINE,
		   "topic cursor size");

/** The publisher's place; private to it. */
struct peal_topic_publisher {
	uint64_t tail; /* messages published */
	uint64_t limit; /* it may go so far without a look at the cursors */
};

/** A subscriber's place; private to it. */
struct peal_topic_subscriber {
	uint64_t number; /* of the next message */
	uint64_t told; /* as in its cursor */
	uint64_t missed; /* messages lost since the last one it got */
	uint64_t taken, lost; /* messages that it got, and did not, in all */
	struct peal_topic_cursor *cursor;
	uint8_t *stage; /* for atom policies: a content long; else unused */
	uint32_t looks; /* in vain */
	uint32_t reserved;
};

/** What came with a message. */
struct peal_topic_got {
	uint64_t number; /* of the message in the topic */
	uint64_t missed; /* messages just before it that were lost */
	uint32_t length; /* bytes of payload */
	uint16_t type; /* of its header */
	uint16_t flags;
};

/* ---- topics of workers --------------------------------------------------- */

/** What a publisher says of itself, in host memory. Its only writer. */
struct peal_topic_published {
	uint64_t messages; /* counted before they can be seen */
	uint64_t bytes;
	uint64_t ended; /* 1: it has said the end */
	uint8_t reserved[PEAL_SHARED_LINE - 24];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_topic_published) == PEAL_SHARED_LINE,
		   "published size");

/** What a subscriber says of itself, in host memory. Its only writer. */
struct peal_topic_counts {
	struct peal_link_counts link; /* delivered and dead alone */
	uint64_t first; /* number of the first message for it */
	uint64_t missed;
	uint64_t ended; /* 1 + messages published by the end; 0: not yet */
	uint8_t reserved[PEAL_SHARED_LINE - 24];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_topic_counts) == 3 * PEAL_SHARED_LINE,
		   "subscriber's counts size");

/** A publisher's or a subscriber's view of its topic; see peal_link_view. */
struct peal_topic_view {
	uint64_t topic; /* struct peal_topic */
	uint64_t own; /* its place and its stages, private to it */
	uint64_t counts; /* struct peal_topic_published or _counts */
	uint64_t bells; /* host only: addresses of the publisher's bell, then
			 * of those of the subscribers; 0 if none */
	uint32_t actor; /* of a subscriber: who gets the messages */
	uint32_t cursor; /* of a subscriber */
	uint32_t index; /* the input or port that this view is for */
	uint16_t oldest; /* 1: begins with the oldest message */
	uint16_t priority; /* of a subscriber: enum peal_priority */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_topic_view) == 48, "view size");

/** Bytes of a stage: what a slot of that size holds, and more. */
#define PEAL_TOPIC_STAGE(slot_bytes) (((uint64_t)(slot_bytes) + 15) / 16 * 16)

#endif
