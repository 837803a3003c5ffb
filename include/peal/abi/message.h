/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_MESSAGE_H
#define PEAL_ABI_MESSAGE_H

#include <peal/device/platform.h>

/*
 * Messages: a slot holds a header of 8 bytes and a payload. The slot's tag
 * gives the lap of the write, the kind and the length.
 */

/** First 8 bytes of every message. */
struct peal_header {
	uint32_t actor; /* number of the receiving actor in its kernel */
	uint16_t type; /* the program's own number */
	uint16_t flags; /* enum peal_flag */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_header) == 8, "header size");
PEAL_STATIC_ASSERT(offsetof(struct peal_header, type) == 4, "header layout");

/** Bits of a header's flags. */
enum peal_flag {
	/* the payload begins with the number of a request, a uint64_t. At an
	 * actor the message is the request, at an endpoint the reply. */
	PEAL_FLAG_REQUEST = 1,
	PEAL_FLAG_ERROR_REPLY = 2, /* the reply is an int32_t, PEAL_E... */
	/* the payload is a struct peal_dead_letter and the kept bytes */
	PEAL_FLAG_DEAD_LETTER = 4,
	/* the payload begins with a uint64_t, the deadline, before all else
	 * but the sender. The message is dead from that time of the host's
	 * clock on. */
	PEAL_FLAG_DEADLINE = 8,
	/* with PEAL_FLAG_REQUEST: the message is the answer to an ask, and the
	 * number is the ask's */
	PEAL_FLAG_ANSWER = 16,
	PEAL_FLAG_DOWN = 32, /* the payload is a struct peal_down */
	/* with REFUSED in an answer: no actor has answered or refused */
	PEAL_FLAG_UNANSWERED = 64,
	/* only in mailbox slots: for all actors of the mailbox's worker. `actor`
	 * of the header has the low bits of the message's number. The payload
	 * begins with PEAL_TO_ALL_BYTES: the worker's progress. */
	PEAL_FLAG_TO_ALL = 128,
	/* with TO_ALL: from the host; the worker reports the number of actors */
	PEAL_FLAG_COUNT_ALL = 256,
	/* no message, but the actor's begin or end: see device/lifecycle.h */
	PEAL_FLAG_INIT = 512,
	PEAL_FLAG_EXIT = 1024,
	/* only in mailbox slots: counted for the actor's limit */
	PEAL_FLAG_COUNTED = 2048,
	/* the payload begins with a uint64_t, the sender, before all else */
	PEAL_FLAG_SENDER = 4096
};

/** Flags of Peal's own payloads. PEAL_LIMITS does not bound their length. */
#define PEAL_FLAGS_OWN                                                         \
	(PEAL_FLAG_ERROR_REPLY | PEAL_FLAG_DEAD_LETTER | PEAL_FLAG_DOWN |      \
	 PEAL_FLAG_INIT | PEAL_FLAG_EXIT)

/** Bytes of a request's number; keeps the alignment of the payload. */
#define PEAL_REQUEST_BYTES 8
/** Bytes of a deadline. */
#define PEAL_DEADLINE_BYTES 8
/** Bytes of a sender. */
#define PEAL_SENDER_BYTES 8
/** Senders: an actor of the same kernel, by its number; or the sending end of a
 * link (PEAL_END_NUMBER_FIRST). A sender is never 0. */
#define PEAL_SENDER_ACTOR(number) (1ULL << 32 | (uint32_t)(number))
#define PEAL_SENDER_END(number) (2ULL << 32 | (uint32_t)(number))
#define PEAL_SENDER_IS_ACTOR(sender) ((sender) >> 32 == 1)
#define PEAL_SENDER_IS_END(sender) ((sender) >> 32 == 2)
/** Bytes of a worker's progress with a message to all actors. */
#define PEAL_TO_ALL_BYTES 8
/** Deadlines that have always passed, and that never pass. */
#define PEAL_DEADLINE_PAST 1
#define PEAL_DEADLINE_NEVER (~0ULL)

/** Priorities of messages: see impl/worker/priority.h. */
enum peal_priority { PEAL_PRIORITY_NORMAL = 0, PEAL_PRIORITY_HIGH = 1 };

/** Contents of a slot. */
enum peal_kind {
	PEAL_KIND_EMPTY = 0,
	PEAL_KIND_DATA = 1, /* payload in the slot */
	PEAL_KIND_SLAB = 2, /* payload in the slab, slot holds a descriptor */
	PEAL_KIND_END = 3, /* the producer sends no more: end of stream */
	PEAL_KIND_SEAL = 4, /* the producer continues in the next ring */
	/* no message: those behind it wait for a gate, by its number in the
	 * header's `actor` */
	PEAL_KIND_GATE = 6,
	PEAL_KIND_DEAD = 5, /* no message: the producer ended before its put */
	/* flag with DATA or SLAB in a link: the message has a deadline. Other
	 * messages need no check of it. */
	PEAL_KIND_TIMED = 8
};

/** Position of a payload in the slab; follows the header in the slot. */
struct peal_slab_descriptor {
	uint64_t offset; /* free-running byte position in the slab */
	uint32_t length; /* bytes */
	uint32_t reserved;
};

PEAL_STATIC_ASSERT(sizeof(struct peal_slab_descriptor) == 16, "slab size");
PEAL_STATIC_ASSERT(offsetof(struct peal_slab_descriptor, length) == 8,
		   "slab layout");

/** How a slot is published; see impl/queue/slot.h. */
enum peal_slot_policy {
	PEAL_POLICY_DEFAULT = 0, /* the backend's default */
	PEAL_POLICY_SEQUENCE = 1,
	PEAL_POLICY_ATOM16 = 2,
	PEAL_POLICY_ATOM8 = 3
};

/** An atom of PEAL_POLICY_ATOM16: 12 bytes of content, their tag in word 3. */
struct peal_atom16 {
	PEAL_ALIGNED(16) uint32_t word[4];
};

/** Reasons of dead messages: they were accepted, but not delivered. */
enum peal_reason {
	PEAL_REASON_STOPPED = 0, /* the receiving kernel stopped before */
	PEAL_REASON_NO_ACTOR = 1, /* no such actor at the receiver */
	PEAL_REASON_HANDLER = 2, /* the handler returned an error */
	PEAL_REASON_PROTOCOL = 3, /* the ring was corrupt */
	PEAL_REASON_CLOSED = 4, /* emitted to a port with a closed link */
	PEAL_REASON_LATE = 5, /* its request or ask was over */
	PEAL_REASON_TOO_LONG = 6, /* for its actor's mailbox, or its pool */
	PEAL_REASON_DOWN = 7, /* the actor's supervisor has given up, or the
			       * actor has ended by a failure */
	PEAL_REASON_EXPIRED = 8, /* its deadline had passed */
	PEAL_REASON_FULL = 9, /* above the actor's limit */
	PEAL_REASON_DUPLICATE =
		10, /* the actor had it before: device/dedup.h */
	PEAL_REASON_COUNT = 11
};

/**
 * A report on a dead message. The payload follows, as much as the link takes.
 * The payload then begins with the words that the message has: PEAL_SENDER_BYTES,
 * PEAL_DEADLINE_BYTES, PEAL_REQUEST_BYTES. On the host peal_dead_letter_payload
 * reads them.
 */
struct peal_dead_letter {
	uint64_t to; /* address of the receiving actor; if a member of a pool
		      * failed, of that member */
	uint64_t link; /* id of the message's link; PEAL_NO_LINK: it was in
			* a mailbox, a pool or a topic */
	uint64_t sequence; /* number in the link, or among the messages that the
			    * actor got from the topic, from 0; else 0 */
	uint64_t length; /* bytes of the payload, kept or not */
	uint32_t reason; /* enum peal_reason */
	int32_t error; /* of the handler: lane 0's, or PEAL_EHANDLER if only
			* other lanes failed; 0: the handler did not run */
	uint32_t worker; /* index of the worker that reports it */
	uint16_t type; /* of the message's header */
	uint16_t flags;
};

PEAL_STATIC_ASSERT(sizeof(struct peal_dead_letter) == 48, "letter size");
PEAL_STATIC_ASSERT(offsetof(struct peal_dead_letter, reason) == 32,
		   "letter layout");

#define PEAL_NO_LINK ~0ULL

/** Payloads in a slab begin at multiples of this, in bytes. */
#define PEAL_SLAB_ALIGN 16
#define PEAL_SLAB_ROUND(n)                                                     \
	(((uint64_t)(n) + (PEAL_SLAB_ALIGN - 1)) &                             \
	 ~(uint64_t)(PEAL_SLAB_ALIGN - 1))

#endif
