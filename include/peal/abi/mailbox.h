/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_MAILBOX_H
#define PEAL_ABI_MAILBOX_H

#include <peal/abi/message.h>

/*
 * A mailbox: many workers of one device put messages, one worker takes them. It
 * lies in device memory: header, slots, and the stage for unpacking messages.
 * Zeroed memory with the first line filled is an empty mailbox.
 */

#define PEAL_MAILBOX_MAGIC 0x584f424c414550ULL /* "PEALBOX" */

/** Header of a mailbox. */
struct peal_mailbox {
	/* written by the host before the launch */
	uint64_t magic;
	uint32_t slot_bytes; /* multiple of 16 */
	uint32_t capacity_log2;
	uint32_t message_bytes; /* largest payload */
	uint32_t lease; /* slots that a producer leases at a time */
	uint64_t slots_offset; /* from the start of this struct */
	uint64_t stage_offset; /* the consumer's stage, for atom policies */
	uint32_t policy; /* enum peal_slot_policy: how slots are published */
	uint32_t reserved;
	uint8_t host_reserved[PEAL_SHARED_LINE - 48];
	/* added to by all producers */
	uint64_t leased; /* slots ever asked for */
	uint64_t returned; /* of those, returned unused */
	uint64_t ticket; /* messages ever put: the next slot's number */
	uint8_t producers_reserved[PEAL_SHARED_LINE - 24];
	/* only writer: the consumer */
	uint64_t head; /* messages taken, as published to producers */
	uint64_t taken; /* messages taken; only the consumer reads it */
	uint8_t consumer_reserved[PEAL_SHARED_LINE - 16];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_mailbox) == 3 * PEAL_SHARED_LINE,
		   "mailbox size");
PEAL_STATIC_ASSERT(offsetof(struct peal_mailbox, leased) == PEAL_SHARED_LINE,
		   "mailbox layout");
PEAL_STATIC_ASSERT(offsetof(struct peal_mailbox, head) == 2 * PEAL_SHARED_LINE,
		   "mailbox layout");

/** A producer's lease of slots of a mailbox, or a worker's of all mailboxes. */
struct peal_mailbox_lease {
	uint64_t granted; /* slots it may put into now */
	uint64_t asked; /* slots asked for, not granted yet; 0: none */
	uint64_t asked_end; /* value of `leased` behind those slots */
	uint64_t owes; /* slots owed to other kernels, see
		        * impl/loop/actor_forward.h */
};

/**
 * Admission to all mailboxes of a kernel, in device memory. Their own `leased`
 * and `returned` are not used (impl/queue/admission.h).
 */
struct peal_admission {
	/* written by the host before the launch */
	uint64_t slots; /* slots that all may lease; each mailbox has as many,
			 * and `reserve` and the initial `passing` more */
	uint64_t reserve; /* slots only for handlers of mailbox messages */
	uint64_t each; /* messages in a mailbox. Beyond them, a worker may have
			* one message of a link or timer in the mailbox */
	uint32_t lease; /* slots that a worker leases at a time, if free */
	uint32_t keep; /* slots that a worker has from the launch on and never
			* returns */
	uint32_t tell; /* messages taken before an update of `head` */
	uint8_t host_reserved[PEAL_SHARED_LINE - 36];
	/* added to by all workers */
	uint64_t leased; /* slots ever asked for */
	uint8_t leased_reserved[PEAL_SHARED_LINE - 8];
	uint64_t returned; /* of those: returned unused, or after the message
			    * was taken */
	uint8_t returned_reserved[PEAL_SHARED_LINE - 8];
	uint64_t spare; /* unused slots of the reserve; two's complement */
	/* for messages of forwarding links, see impl/loop/actor_forward.h: */
	uint64_t passing; /* unused slots that only they may use; two's
			   * complement */
	uint64_t lent; /* such slots in use, and no kernel is owed a slot */
	uint64_t owed; /* such slots in use, and another kernel is owed a
			* slot */
	uint64_t paid; /* slots free for those kernels, not told to them yet */
	uint64_t to_all; /* messages to all actors ever told */
	uint8_t spare_reserved[PEAL_SHARED_LINE - 48];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_admission) == 4 * PEAL_SHARED_LINE,
		   "admission size");
PEAL_STATIC_ASSERT(offsetof(struct peal_admission, leased) == PEAL_SHARED_LINE,
		   "admission layout");

#endif
