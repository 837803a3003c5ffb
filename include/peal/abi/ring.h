/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_RING_H
#define PEAL_ABI_RING_H

#include <peal/abi/message.h>

/*
 * The memory of a link. Each of its three parts is in the reader's memory:
 *
 *	ring	in the consumer's memory: header, slots, slab
 *	credit	in the producer's memory
 *	counts	in host memory, for the host
 *
 * Zeroed slots and credit are an empty link.
 */

#define PEAL_RING_MAGIC 0x474e49524c414550ULL /* "PEALRING" */
#define PEAL_RING_VERSION 1
#define PEAL_MIRROR_FLIGHT 4 /* atoms that a lane fetches at a time */

/** First bytes of the ring. Only the host writes them, once. */
struct peal_ring {
	uint64_t magic;
	uint32_t version;
	uint32_t policy; /* enum peal_slot_policy, never DEFAULT */
	uint32_t slot_bytes; /* multiple of 16 */
	uint32_t capacity_log2; /* slots */
	uint64_t slab_bytes; /* multiple of PEAL_SLAB_ALIGN; 0: no slab */
	uint64_t slots_offset; /* from the start of this struct */
	uint64_t slab_offset;
	uint64_t total_bytes;
	uint64_t link_id;
	uint32_t cluster_place; /* PEAL_CLUSTER_PLACE of the slots; 0: they are
				 * at slots_offset */
	uint8_t reserved[PEAL_SHARED_LINE - 68];
};

/**
 * A position in the shared memory of a cluster. `rank`: of the owning worker.
 * `offset`: bytes in its part, a multiple of PEAL_SHARED_LINE. Never 0.
 */
#define PEAL_CLUSTER_PLACE(rank, offset)                                       \
	((uint32_t)(rank) << 24 | ((uint32_t)(offset) / PEAL_SHARED_LINE + 1))
#define PEAL_CLUSTER_RANK(place) ((place) >> 24)
#define PEAL_CLUSTER_OFFSET(place) ((((place)&0xffffff) - 1) * PEAL_SHARED_LINE)

PEAL_STATIC_ASSERT(sizeof(struct peal_ring) == PEAL_SHARED_LINE, "ring size");
PEAL_STATIC_ASSERT(offsetof(struct peal_ring, slab_bytes) == 24, "ring");
PEAL_STATIC_ASSERT(offsetof(struct peal_ring, link_id) == 56, "ring");

/** Free slots and bytes of the ring. Only writer: the consumer. */
struct peal_credit {
	uint64_t slots; /* slots freed since the ring began */
	uint64_t slab; /* bytes before this slab position are free */
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
	uint64_t full; /* times that no slot or slab space was free; at most one
			* between two accepted messages or marks */
	uint64_t lost; /* dead letters dropped, as no slot was free */
	uint64_t gates; /* GATE marks written */
	uint8_t producer_reserved[PEAL_SHARED_LINE - 64];
	/* only writer: the consumer */
	uint64_t delivered; /* handled messages */
	uint64_t delivered_bytes;
	uint64_t switches; /* SEAL marks followed */
	uint64_t error; /* -PEAL_E...: the consumer closed the link; or 0 */
	uint64_t dead[PEAL_REASON_COUNT]; /* by reason, without CLOSED */
	uint64_t id; /* of the link; the host writes it before all else */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_link_counts) == 2 * PEAL_SHARED_LINE,
		   "counts size");
PEAL_STATIC_ASSERT(offsetof(struct peal_link_counts, delivered) ==
			   PEAL_SHARED_LINE,
		   "counts layout");

/**
 * A view of a link for one end. Addresses are as that end's device sees them.
 * The host makes it for an endpoint, or sends it to a worker.
 */
struct peal_link_view {
	uint64_t ring; /* struct peal_ring */
	uint64_t credit; /* struct peal_credit */
	uint64_t counts; /* struct peal_link_counts */
	uint64_t stage; /* slot_bytes of private memory; 0: not needed */
	uint64_t bell; /* host only: the other end's struct peal_bell; or 0 */
	uint32_t message_bytes; /* largest payload of the link */
	uint8_t mirror; /* 1: a worker's input with a mirror; behind slot_bytes
			 * of the stage lies a copy of all slots */
	uint8_t priority; /* enum peal_priority, of a worker's input */
	uint16_t far_end; /* of a worker's input or port: number of the link's
			   * other end, see PEAL_END_NUMBER_FIRST; 0: none */
	uint32_t actor; /* number of the receiving actor; or
			 * PEAL_FWD_LINK_ACTOR */
	uint32_t index; /* of the input or port */
};

/**
 * Ends of links have numbers: actors and endpoints to which a port of an actor
 * leads. The number is unique in the runtime. It stays with an actor that
 * migrates. An endpoint with a refusal table has the number of its table
 * (PEAL_REQUEST_TABLE). Other ends have numbers from here on.
 */
#define PEAL_END_NUMBER_FIRST 2048u
#define PEAL_END_NUMBER_LAST 65535u

/** As `actor`: a forwarding link. Each message names its receiving actor. */
#define PEAL_FWD_LINK_ACTOR 0xfffffffeu

PEAL_STATIC_ASSERT(sizeof(struct peal_link_view) == 56, "view size");

#endif
