/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_RING_H
#define PEAL_ABI_RING_H

#include <peal/abi/message.h>

/*
 * A link's memory. Three pieces, each where its reader polls it:
 *
 *	ring	in the consumer's memory: header, slots, slab
 *	credit	in the producer's memory
 *	counts	in host memory, for whoever watches
 *
 * All-zero slots and credit are the empty state.
 */

#define PEAL_RING_MAGIC 0x474e49524c414550ULL /* "PEALRING" */
#define PEAL_RING_VERSION 1
#define PEAL_MIRROR_FLIGHT 4 /* atoms that a lane fetches at a time */

/** First bytes of the ring; the host writes them once, then all only read. */
struct peal_ring {
	uint64_t magic;
	uint32_t version;
	uint32_t policy; /* enum peal_policy, never DEFAULT */
	uint32_t slot_bytes; /* multiple of 16 */
	uint32_t capacity_log2; /* slots */
	uint64_t slab_bytes; /* multiple of PEAL_SLAB_ALIGN; 0: no slab */
	uint64_t slots_offset; /* from the start of this struct */
	uint64_t slab_offset;
	uint64_t total_bytes;
	uint64_t link_id;
	uint32_t cluster_place; /* PEAL_CLUSTER_PLACE: there the slots lie; 0:
				 * at slots_offset */
	uint8_t reserved[PEAL_SHARED_LINE - 68];
};

/**
 * A place in the memory that the workers of a cluster share: the rank of the
 * worker that has it, and the bytes from where its own begins, a multiple of
 * PEAL_SHARED_LINE. Never 0.
 */
#define PEAL_CLUSTER_PLACE(rank, offset)                                       \
	((uint32_t)(rank) << 24 | ((uint32_t)(offset) / PEAL_SHARED_LINE + 1))
#define PEAL_CLUSTER_RANK(place) ((place) >> 24)
#define PEAL_CLUSTER_OFFSET(place) ((((place)&0xffffff) - 1) * PEAL_SHARED_LINE)

PEAL_STATIC_ASSERT(sizeof(struct peal_ring) == PEAL_SHARED_LINE, "ring size");
PEAL_STATIC_ASSERT(offsetof(struct peal_ring, slab_bytes) == 24, "ring");
PEAL_STATIC_ASSERT(offsetof(struct peal_ring, link_id) == 56, "ring");

/** How far the consumer is. Only writer: the consumer. */
struct peal_credit {
	uint64_t slots; /* slots given back since the ring began */
	uint64_t slab; /* slab position up to which bytes are free again */
	uint8_t reserved[PEAL_SHARED_LINE - 16];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_credit) == PEAL_SHARED_LINE, "credit");

/** Counts over the link's life, across its rings. */
struct peal_link_counts {
	/* only writer: the producer */
	uint64_t accepted; /* messages; marks are not counted */
	uint64_t accepted_bytes;
	uint64_t seals; /* SEAL marks written */
	uint64_t closed; /* messages dropped with PEAL_REASON_CLOSED */
	uint64_t ended; /* 1 once END is written */
	uint64_t full; /* times that no slot or slab space was free */
	uint64_t lost; /* dead letters for which there was no room */
	uint8_t producer_reserved[PEAL_SHARED_LINE - 56];
	/* only writer: the consumer */
	uint64_t delivered; /* handled messages */
	uint64_t delivered_bytes;
	uint64_t switches; /* SEAL marks followed */
	uint64_t error; /* 0 or -PEAL_E...: why the consumer closed it */
	uint64_t dead[PEAL_REASON_COUNT]; /* by reason, but for CLOSED */
	uint64_t id; /* the link's; the host writes it before all else */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_link_counts) == 2 * PEAL_SHARED_LINE,
		   "counts size");
PEAL_STATIC_ASSERT(offsetof(struct peal_link_counts, delivered) ==
			   PEAL_SHARED_LINE,
		   "counts layout");

/**
 * One end's view of a link: addresses as that end's device sees them. Made by
 * the host, sent to a worker by control message or used by an endpoint.
 */
struct peal_link_view {
	uint64_t ring; /* struct peal_ring */
	uint64_t credit; /* struct peal_credit */
	uint64_t counts; /* struct peal_link_counts */
	uint64_t stage; /* slot_bytes of private memory; 0 if not needed */
	uint64_t bell; /* host only: the other side's doorbell; 0 if none */
	uint32_t message_bytes; /* largest payload of the link */
	uint16_t mirror; /* 1: of a worker's input, whose stage has slot_bytes,
			  * and behind them the mirror of all slots */
	uint16_t priority; /* enum peal_priority, of a worker's input */
	uint32_t actor; /* receiver's actor number for emitted messages;
			 * PEAL_PASSAGE_ACTOR */
	uint32_t index; /* the input or port that this view is for */
};

/** No actor's number: the link is a passage, each message says whom it is for. */
#define PEAL_PASSAGE_ACTOR 0xfffffffeu

PEAL_STATIC_ASSERT(sizeof(struct peal_link_view) == 56, "view size");

#endif
