/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_MAILBOX_H
#define PEAL_ABI_MAILBOX_H

#include <peal/abi/message.h>

/*
 * A mailbox: many workers of one device put, one takes. In device memory; slots
 * follow the header, and the stage that messages are unpacked to. Zeroed memory
 * with the first line filled is empty.
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
	uint64_t stage_offset; /* the consumer's, for atom policies */
	uint32_t policy; /* enum peal_policy: how slots are published */
	uint32_t reserved;
	uint8_t host_reserved[PEAL_SHARED_LINE - 48];
	/* added to by all producers */
	uint64_t leased; /* slots ever asked for */
	uint64_t returned; /* of those, given back unused */
	uint64_t ticket; /* messages ever put: the next slot's number */
	uint8_t producers_reserved[PEAL_SHARED_LINE - 24];
	/* only writer: the consumer */
	uint64_t head; /* messages taken off, as last told */
	uint64_t taken; /* messages taken off; for the consumer alone */
	uint8_t consumer_reserved[PEAL_SHARED_LINE - 16];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_mailbox) == 3 * PEAL_SHARED_LINE,
		   "mailbox size");
PEAL_STATIC_ASSERT(offsetof(struct peal_mailbox, leased) == PEAL_SHARED_LINE,
		   "mailbox layout");
PEAL_STATIC_ASSERT(offsetof(struct peal_mailbox, head) == 2 * PEAL_SHARED_LINE,
		   "mailbox layout");

/** What a producer has leased of a mailbox, or a worker of all; its own. */
struct peal_mailbox_lease {
	uint64_t granted; /* slots it may put into now */
	uint64_t asked; /* slots of the lease that are not granted yet; 0 */
	uint64_t asked_end; /* where that lease ends in `leased` */
	uint64_t owes; /* slots to other kernels: see device/away.h */
};

/**
 * Admission to all mailboxes of a kernel, whose own `leased` and `returned` are
 * not used. In device memory.
 */
struct peal_admission {
	/* written by the host before the launch */
	uint64_t slots; /* that anyone may lease; each mailbox has those, and
			 * `reserve` and at first `passing` more */
	uint64_t reserve; /* for handlers of mail alone */
	uint64_t each; /* in one mailbox, past which a worker puts a single
			* message there at a time that comes by links or is
			* a timer's */
	uint32_t lease; /* slots that a worker leases at a time, if there are
			 * so many */
	uint32_t keep; /* that it has from the start and does not give back */
	uint32_t tell; /* messages taken before `head` says so */
	uint8_t host_reserved[PEAL_SHARED_LINE - 36];
	/* added to by all workers */
	uint64_t leased; /* slots ever asked for */
	uint8_t leased_reserved[PEAL_SHARED_LINE - 8];
	uint64_t returned; /* of those, given back: unused, or by who took the
			    * message */
	uint8_t returned_reserved[PEAL_SHARED_LINE - 8];
	uint64_t spare; /* of the reserve, not in use; two's complement */
	uint64_t passing; /* the same of places beside all those, for what
			   * passages bring alone: see device/away.h */
	uint64_t lent; /* of what is granted, so many are such places that
			* nobody misses */
	uint64_t owed; /* and so many such that another kernel is owed a slot
			* for */
	uint64_t paid; /* slots for those, and the other kernel does not know
			* yet */
	uint8_t spare_reserved[PEAL_SHARED_LINE - 40];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_admission) == 4 * PEAL_SHARED_LINE,
		   "admission size");
PEAL_STATIC_ASSERT(offsetof(struct peal_admission, leased) == PEAL_SHARED_LINE,
		   "admission layout");

#endif
