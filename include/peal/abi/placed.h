/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_PLACED_H
#define PEAL_ABI_PLACED_H

#include <peal/abi/message.h>

/*
 * A queue that the host has placed for kernels to share: this header, and behind
 * it the queue, which begins with a header of its own (struct peal_ring,
 * peal_mailbox, peal_work or peal_topic) and with what says which of them it is.
 */

#define PEAL_PLACED_MAGIC 0x4543414c504c4550ULL /* "PELPLACE" */

/** Header of a placed queue; the host writes it once, then all only read. */
struct peal_placed {
	uint64_t magic;
	uint64_t stages_offset; /* from the start of this struct: where messages
				 * are unpacked to, a link's two ends', else one
				 * for each consumer */
	uint64_t stage_bytes; /* from one to the next; 0: there are none */
	uint64_t credit_offset; /* a link's struct peal_credit, and behind it its
				 * struct peal_link_counts */
	uint32_t message_bytes; /* largest payload */
	uint32_t consumers; /* the most */
	uint8_t reserved[PEAL_SHARED_LINE - 40];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_placed) == PEAL_SHARED_LINE,
		   "placed size");
PEAL_STATIC_ASSERT(offsetof(struct peal_placed, message_bytes) == 32,
		   "placed layout");

#endif
