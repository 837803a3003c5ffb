/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_MESSAGE_H
#define PEAL_ABI_MESSAGE_H

#include <peal/device/platform.h>

/*
 * What travels in a slot: a header of 8 bytes and a payload. The slot's tag
 * says on which lap it was written, what it is and how long it is.
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
	/* the payload begins with the number of a request, a uint64_t: what an
	 * actor gets is the request, what an endpoint gets is the reply */
	PEAL_FLAG_REQUEST = 1,
	PEAL_FLAG_REFUSED = 2, /* of a reply: an int32_t, PEAL_E... */
	/* the payload is a struct peal_dead_letter and what it kept */
	PEAL_FLAG_DEAD_LETTER = 4,
	/* the payload begins with a deadline, a uint64_t, in front of all else:
	 * when the host's clock says that it is dead */
	PEAL_FLAG_DEADLINE = 8,
	/* beside PEAL_FLAG_REQUEST: the number is that of an ask, of which this
	 * is the answer */
	PEAL_FLAG_ANSWER = 16,
	PEAL_FLAG_DOWN = 32, /* the payload is a struct peal_down */
	/* of an answer that is refused: not by who was asked, but because
	 * nobody has answered */
	PEAL_FLAG_UNANSWERED = 64,
	/* no message, but the actor's begin or end: see device/hook.h */
	PEAL_FLAG_INIT = 512,
	PEAL_FLAG_EXIT = 1024,
	/* in a slot of a mailbox alone: it was counted for its actor's limit */
	PEAL_FLAG_COUNTED = 2048
};

/** Of messages whose payload is Peal's own, whatever a handler declares. */
#define PEAL_FLAGS_OWN                                                         \
	(PEAL_FLAG_REFUSED | PEAL_FLAG_DEAD_LETTER | PEAL_FLAG_DOWN |          \
	 PEAL_FLAG_INIT | PEAL_FLAG_EXIT)

/** Bytes of that number; aligned as payloads are. */
#define PEAL_REQUEST_BYTES 8
/** Bytes of a deadline. */
#define PEAL_DEADLINE_BYTES 8
/** A deadline that has always passed, and one that never does. */
#define PEAL_DEADLINE_PAST 1
#define PEAL_DEADLINE_NEVER (~0ULL)

/** Which messages a worker takes first: see device/priority.h. */
enum peal_priority { PEAL_PRIORITY_NORMAL = 0, PEAL_PRIORITY_HIGH = 1 };

/** What a slot holds. */
enum peal_kind {
	PEAL_KIND_EMPTY = 0,
	PEAL_KIND_DATA = 1, /* payload in the slot */
	PEAL_KIND_SLAB = 2, /* payload in the slab, slot holds a descriptor */
	PEAL_KIND_END = 3, /* the producer sends no more: end of stream */
	PEAL_KIND_SEAL = 4, /* the producer goes on in the link's next ring */
	PEAL_KIND_DEAD =
		5, /* no message: its producer ended before it put it */
	/* a bit beside DATA or SLAB in a link: the message has a deadline. So
	 * one that has none is never asked for it. */
	PEAL_KIND_TIMED = 8
};

/** Where a slab payload lies; follows the header in the slot. */
struct peal_slab_descriptor {
	uint64_t offset; /* free-running byte position in the slab */
	uint32_t length; /* bytes */
	uint32_t reserved;
};

PEAL_STATIC_ASSERT(sizeof(struct peal_slab_descriptor) == 16, "slab size");
PEAL_STATIC_ASSERT(offsetof(struct peal_slab_descriptor, length) == 8,
		   "slab layout");

/** How a slot is published; see device/slot.h. */
enum peal_policy {
	PEAL_POLICY_DEFAULT = 0, /* what the backend likes best */
	PEAL_POLICY_SEQUENCE = 1,
	PEAL_POLICY_ATOM16 = 2,
	PEAL_POLICY_ATOM8 = 3
};

/** One atom of PEAL_POLICY_ATOM16: 12 bytes of content and their tag (word 3). */
struct peal_atom16 {
	PEAL_ALIGNED(16) uint32_t word[4];
};

/** Why an accepted message was not delivered. */
enum peal_reason {
	PEAL_REASON_STOPPED = 0, /* the receiving kernel stopped first */
	PEAL_REASON_NO_ACTOR = 1, /* no such actor at the receiver */
	PEAL_REASON_HANDLER = 2, /* the handler returned an error */
	PEAL_REASON_PROTOCOL = 3, /* the ring was corrupt */
	PEAL_REASON_CLOSED = 4, /* emitted to a port whose link is closed */
	PEAL_REASON_LATE = 5, /* no request or ask waits for it any more */
	PEAL_REASON_TOO_LONG =
		6, /* for the mailbox or the pool it goes on by */
	PEAL_REASON_DOWN = 7, /* the actor's supervisor has given up, or it has
			       * ended: peal/monitor.h */
	PEAL_REASON_EXPIRED = 8, /* its deadline had passed */
	PEAL_REASON_FULL = 9, /* its actor's limit was reached */
	PEAL_REASON_DUPLICATE =
		10, /* its actor has had it: peal/device/once.h */
	PEAL_REASON_COUNT = 11
};

/**
 * What is known of a dead message; its payload follows, as much of it as the
 * link takes. Of one with a deadline that begins with the deadline, of a request
 * with the number: PEAL_DEADLINE_BYTES, PEAL_REQUEST_BYTES.
 */
struct peal_dead_letter {
	uint64_t to; /* address of the actor that it was for; of a pool's
		      * message that a member has failed on, of that one */
	uint64_t link; /* id of the link that brought it; PEAL_NO_LINK: it
			* was in a mailbox, a pool or a topic */
	uint64_t sequence; /* its number in the link, or among those of the
			    * topic that the actor got, from 0; else 0 */
	uint64_t length; /* of its payload, kept or not */
	uint32_t reason; /* enum peal_reason */
	int32_t error; /* what the handler returned, of several lanes the first,
			* or PEAL_EHANDLER if that one did not fail; 0: it did
			* not run */
	uint32_t worker; /* of the kernel, that found it dead */
	uint16_t type; /* of its header */
	uint16_t flags;
};

PEAL_STATIC_ASSERT(sizeof(struct peal_dead_letter) == 48, "letter size");
PEAL_STATIC_ASSERT(offsetof(struct peal_dead_letter, reason) == 32,
		   "letter layout");

#define PEAL_NO_LINK ~0ULL

/** Bytes from one slab payload to the next start at a multiple of this. */
#define PEAL_SLAB_ALIGN 16
#define PEAL_SLAB_ROUND(n)                                                     \
	(((uint64_t)(n) + (PEAL_SLAB_ALIGN - 1)) &                             \
	 ~(uint64_t)(PEAL_SLAB_ALIGN - 1))

#endif
