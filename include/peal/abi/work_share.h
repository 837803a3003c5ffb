/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_WORK_SHARE_H
#define PEAL_ABI_WORK_SHARE_H

#include <peal/abi/message.h>

/*
 * Shared work queues: the data that the host (peal/work_share.h) shares with the
 * forwarders, and the messages of the forwarders. A forwarder is a resident actor
 * on a device. It moves messages between the work queue of its device and the
 * forwarders of the other devices.
 *
 * 1. A forwarder sends an ASK if its queue has fewer than `low` messages. It asks
 *    the other forwarders in turn.
 * 2. That forwarder takes messages from its queue and sends them as GIVE. An ANSWER
 *    with their number follows. It keeps `low` messages in its queue.
 * 3. The first forwarder puts the messages into its queue. While the queue is full,
 *    it holds them and does not ask.
 */

/** The most queues of a share. */
#define PEAL_WORK_SHARE_MAX 24
/** The most messages of an answer. */
#define PEAL_WORK_SHARE_BATCH 8

/** Types of messages to and from forwarders. */
enum peal_work_share_type {
	PEAL_WORK_SHARE_TICK = 1, /* from the forwarder itself, by a timer */
	PEAL_WORK_SHARE_ASK = 2, /* a struct peal_work_share_word */
	PEAL_WORK_SHARE_GIVE = 3, /* a struct peal_header, then the payload */
	PEAL_WORK_SHARE_ANSWER = 4, /* a struct peal_work_share_word */
	PEAL_WORK_SHARE_QUIT = 5, /* from the host: ask no more */
	PEAL_WORK_SHARE_DONE = 6 /* to the host: no message is held or asked */
};

struct peal_work_share_word {
	uint32_t rank; /* of the sender */
	uint32_t n; /* messages: asked for, or given */
};

/** Counts of a forwarder, in host memory. The forwarder writes them. */
struct peal_work_share_counts {
	uint64_t asked, refused; /* answers: all, and those without a message */
	uint64_t given, taken; /* messages to and from other forwarders */
	uint64_t held; /* now: taken, and not yet in the queue */
	uint64_t looks; /* at its queue, by time */
	uint64_t reserved[2];
};

/** First bytes of a forwarder's state. Addresses are the device's. */
struct peal_work_share_init {
	uint64_t queue; /* the placed work queue */
	uint64_t items; /* memory for 2 * batch items */
	uint64_t counts; /* struct peal_work_share_counts */
	uint64_t least_ns, most_ns; /* between two looks at the queue */
	uint32_t item_bytes; /* a header and a payload, a multiple of 8 */
	uint32_t message_bytes;
	uint32_t consumer; /* the forwarder's number among the consumers */
	uint32_t rank, n; /* number of the forwarder, and of all */
	uint32_t batch, low;
	uint32_t reserved;
};

#endif
