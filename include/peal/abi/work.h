/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_WORK_H
#define PEAL_ABI_WORK_H

#include <peal/abi/message.h>

/*
 * A work queue: many put, many take, each message goes to one of them. In the
 * memory of one device, or in host memory that threads share. Behind the
 * header lie the blocks, one word per slot of what was handed back, the slots.
 * Zeroed memory with the first line filled is empty.
 */

#define PEAL_WORK_MAGIC 0x4b524f574c414550ULL /* "PEALWORK" */
#define PEAL_WORK_SET_MAGIC 0x54455357414550ULL /* "PEAWSET" */

/** What a consumer takes at a time, at most; also what it can wait for. */
#define PEAL_WORK_BURST 32

/** Header of a work queue. */
struct peal_work {
	/* written by the host before the first message */
	uint64_t magic;
	uint32_t slot_bytes; /* multiple of 16 */
	uint32_t capacity_log2;
	uint32_t message_bytes; /* largest payload */
	uint32_t lease; /* slots that a producer leases at a time */
	uint32_t policy; /* enum peal_policy: how slots are published */
	uint32_t block_log2; /* slots whose room comes back together */
	uint64_t blocks_offset; /* from the start of this struct */
	uint64_t handed_offset;
	uint64_t slots_offset;
	uint32_t solo; /* 1: one producer only, whose words need no add */
	uint8_t host_reserved[PEAL_SHARED_LINE - 60];
	/* added to by all producers */
	uint64_t leased; /* slots ever leased, less those given back */
	uint64_t ticket; /* messages ever put: the next slot's number */
	uint8_t producers_reserved[PEAL_SHARED_LINE - 16];
	/* added to by all consumers */
	uint64_t claimed; /* messages ever claimed, less those given back */
	uint64_t turn; /* messages ever taken: the next one's number */
	uint64_t handed; /* claims that were handed back, for others */
	uint8_t consumers_reserved[PEAL_SHARED_LINE - 24];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_work) == 3 * PEAL_SHARED_LINE,
		   "work queue size");
PEAL_STATIC_ASSERT(offsetof(struct peal_work, leased) == PEAL_SHARED_LINE,
		   "work queue layout");
PEAL_STATIC_ASSERT(offsetof(struct peal_work, claimed) == 2 * PEAL_SHARED_LINE,
		   "work queue layout");

/** Slots of which all are free again when each has been taken. */
struct peal_work_block {
	uint64_t taken; /* messages ever taken off; added to by consumers */
	uint8_t reserved[PEAL_SHARED_LINE - 8];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_work_block) == PEAL_SHARED_LINE,
		   "work block size");

/** A producer's admission; private to that producer. */
struct peal_work_producer {
	uint64_t granted; /* slots it may put into now */
	uint64_t freed; /* all slots before this number are known to be free */
};

/** A consumer's place; private to that consumer. */
struct peal_work_consumer {
	uint64_t limit; /* messages up to here were put, as far as it knows */
	uint64_t seen; /* `claimed` as last seen */
	uint64_t block; /* the block that `kept` is of */
	uint64_t kept; /* messages taken off and not told yet */
	uint64_t taken; /* messages it got */
	uint64_t dead; /* slots it skipped: their producers were gone, or had
			* written no message */
	uint8_t *stage; /* for atom policies: a content long; else unused */
	uint32_t looks; /* in vain, for the next message */
	uint32_t n_pending; /* claimed and not there yet: these numbers */
	uint64_t pending[PEAL_WORK_BURST];
};

/** What came with a message. */
struct peal_work_got {
	struct peal_header header;
	uint32_t length; /* bytes of payload */
	uint32_t reserved;
	uint64_t number; /* its ticket */
};

/** Header of a set of work queues, one per worker. */
struct peal_work_set {
	/* written by the host before the first message */
	uint64_t magic;
	uint32_t n_shards;
	uint32_t reserved;
	uint64_t shards_offset; /* from the start of this struct */
	uint64_t shard_bytes; /* from one shard to the next */
	uint8_t host_reserved[PEAL_SHARED_LINE - 32];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_work_set) == PEAL_SHARED_LINE,
		   "work set size");

/** A worker's place in a set; private to that worker. */
struct peal_work_member {
	struct peal_work_set *set;
	uint32_t own; /* its shard */
	uint32_t victim; /* the shard that it looks at when its own is empty */
	uint64_t rounds; /* looks at its neighbours */
	uint64_t stolen; /* messages from them */
	struct peal_work_consumer mine; /* at its own shard */
	struct peal_work_consumer guest; /* at the victim's */
};

#endif
