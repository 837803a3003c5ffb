/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_DEVICE_QUEUE_H
#define PEAL_ABI_DEVICE_QUEUE_H

#include <peal/abi/message.h>

/*
 * A queue that the host has placed for kernels to share: this header, then the
 * queue. The queue begins with its own header: struct peal_ring, peal_mailbox,
 * peal_work or peal_topic. The magic number there gives the kind.
 */

#define PEAL_DEVICE_QUEUE_MAGIC 0x4543414c504c4550ULL /* "PELPLACE" */

/** Header of a placed queue. Only the host writes it, once. */
struct peal_device_queue_header {
	uint64_t magic;
	uint64_t stages_offset; /* from the start of this struct, to buffers for
				 * unpacking: one per consumer; link: one per
				 * end */
	uint64_t stage_bytes; /* from a stage to the next; 0: no stages */
	uint64_t credit_offset; /* link: to its struct peal_credit; struct
				 * peal_link_counts follows */
	uint32_t message_bytes; /* largest payload */
	uint32_t consumers; /* most consumers */
	uint8_t reserved[PEAL_SHARED_LINE - 40];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_device_queue_header) == PEAL_SHARED_LINE,
		   "placed size");
PEAL_STATIC_ASSERT(offsetof(struct peal_device_queue_header, message_bytes) ==
			   32,
		   "placed layout");

#endif
