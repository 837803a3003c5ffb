/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_WORK_H
#define PEAL_ABI_WORK_H

#include <peal/abi/message.h>

/*
 * A work queue: many producers, many consumers. One consumer gets each message.
 * The queue lies in the memory of a device, or in host memory for threads. The
 * header is followed by the blocks and the slots. Zeroed memory with the first
 * line filled is an empty queue.
 */

#define PEAL_WORK_MAGIC 0x4b524f574c414550ULL /* "PEALWORK" */
#define PEAL_WORK_SET_MAGIC 0x54455357414550ULL /* "PEAWSET" */

/** Most messages that a consumer takes at a time. */
#define PEAL_WORK_BURST 32

/** Header of a work queue. */
struct peal_work {
	/* written by the host before the first message */
	uint64_t magic;
	uint32_t slot_bytes; /* multiple of 16 */
	uint32_t capacity_log2;
	uint32_t message_bytes; /* largest payload */
	uint32_t lease; /* slots that a producer leases at a time */
	uint32_t policy; /* enum peal_slot_policy: how slots are published */
	uint32_t block_log2; /* slots of a block, freed together */
	uint64_t blocks_offset; /* from the start of this struct */
	uint64_t slots_offset;
	uint32_t solo; /* 1: one producer; its words need no atomic add */
	uint8_t host_reserved[PEAL_SHARED_LINE - 52];
	/* added to by all producers */
	uint64_t leased; /* slots ever leased, minus returned ones */
	uint64_t ticket; /* messages ever put: the next slot's number */
	uint8_t producers_reserved[PEAL_SHARED_LINE - 16];
	/* added to by all consumers */
	uint64_t claimed; /* messages ever claimed, minus claims undone */
	uint64_t turn; /* numbers given to claims: the next claim's number */
	uint8_t consumers_reserved[PEAL_SHARED_LINE - 16];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_work) == 3 * PEAL_SHARED_LINE,
		   "work queue size");
PEAL_STATIC_ASSERT(offsetof(struct peal_work, leased) == PEAL_SHARED_LINE,
		   "work queue layout");
PEAL_STATIC_ASSERT(offsetof(struct peal_work, claimed) == 2 * PEAL_SHARED_LINE,
		   "work queue layout");

/** A block of slots, which are free once all their messages are taken. */
struct peal_work_block {
	uint64_t taken; /* messages ever taken; added to by consumers */
	uint8_t reserved[PEAL_SHARED_LINE - 8];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_work_block) == PEAL_SHARED_LINE,
		   "work block size");

/** A producer's private state. */
struct peal_work_producer {
	uint64_t granted; /* slots it may put into now */
	uint64_t freed; /* slots before this number are known to be free */
	uint64_t undone; /* leases returned because others were faster */
};

/** A consumer's private state. It has no claims between two calls. */
struct peal_work_consumer {
	uint64_t limit; /* all messages before this number are published */
	uint64_t seen; /* `claimed` as last seen */
	uint64_t block; /* the block of `kept` */
	uint64_t kept; /* messages taken, not published in the block yet */
	uint64_t taken; /* messages that it got */
	uint64_t dead; /* slots skipped: the producer was gone, or the content
			* was no message */
	uint64_t undone; /* claims returned because others were faster */
	uint8_t *stage; /* atom policies: buffer for a content; else unused */
};

/** Data about a taken message. */
struct peal_work_received {
	struct peal_header header;
	uint32_t length; /* bytes of payload */
	uint32_t reserved;
	uint64_t number; /* its ticket */
};

/** Header of a set of work queues (shards), one per worker. */
struct peal_work_set {
	/* written by the host before the first message */
	uint64_t magic;
	uint32_t n_shards;
	uint32_t reserved;
	uint64_t shards_offset; /* from the start of this struct */
	uint64_t shard_bytes; /* from a shard to the next */
	uint8_t host_reserved[PEAL_SHARED_LINE - 32];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_work_set) == PEAL_SHARED_LINE,
		   "work set size");

/** A worker's private state for a set. */
struct peal_work_member {
	struct peal_work_set *set;
	uint32_t own; /* index of its own shard */
	uint32_t victim; /* index of the shard to steal from next */
	uint64_t rounds; /* searches in the other shards */
	uint64_t stolen; /* messages taken from them */
	struct peal_work_consumer mine; /* at its own shard */
	struct peal_work_consumer guest; /* at the victim's shard */
};

#endif
