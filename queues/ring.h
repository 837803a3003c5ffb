/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_RING_H
#define PEALI_RING_H

#include <peal/abi/ring.h>

/*
 * The host's side of a link's ring: what the options of a link come to in
 * memory. Nothing here allocates; the caller places peali_ring_bytes of zeroed
 * memory (aligned to PEAL_SHARED_LINE) where the consumer polls it and writes
 * the header over its first line.
 */

#define PEALI_RING_CAPACITY_DEFAULT 64
#define PEALI_RING_SLOT_MIN 16
#define PEALI_RING_SLOT_WITH_SLAB 64 /* default slot of a link with a slab */
#define PEALI_RING_MESSAGE_MAX (256ULL << 20)
#define PEALI_RING_SLAB_DEFAULT_MAX (64ULL << 20)
#define PEALI_RING_SLAB_MAX (1ULL << 40)
#define PEALI_RING_MIRROR_MAX (4ull << 20)

/* A ring's sizes. Zero in a field: the default, see struct peal_link_options.
 */
struct peali_ring_spec {
	uint32_t capacity; /* slots, a power of two up to 2^20 */
	uint32_t slot_bytes; /* multiple of 16, 16..4096 */
	uint32_t policy; /* enum peal_policy */
	uint64_t message_bytes; /* largest payload, up to 256 MiB */
	uint64_t slab_bytes; /* 0 after completion: all messages fit a slot */
};

/*
 * Fills zero fields with their defaults and checks all of them.
 *
 * The slab, if any message needs one, is rounded up to PEAL_SLAB_ALIGN and
 * holds at least two messages of the largest size, so that one always fits into
 * an empty slab whatever the position of its end. To emit n such messages at a
 * time (peal_link_fits) it has to hold n + 1; who knows n asks for that with
 * peali_ring_spec_emits.
 *
 * policies       mask of 1 << enum peal_policy that both ends can do
 * default_policy as for peali_policy_choose
 * call           name of the public function, for the error
 *
 * Returns 0; PEAL_EINVAL an option out of its range; PEAL_EMSGSIZE the largest
 * message fits neither slot nor slab. The text names the option, its value and
 * what is allowed. The spec is unchanged on failure.
 */
int peali_ring_spec_complete(struct peali_ring_spec *spec, uint32_t policies,
			     uint32_t default_policy, const char *call);

/*
 * Checks that a completed spec has room for n messages of the largest size at a
 * time, as an actor that emits n per input needs it: n slots, and n + 1
 * messages of slab. Returns 0 or PEAL_EINVAL with text.
 */
int peali_ring_spec_emits(const struct peali_ring_spec *spec, uint32_t n,
			  const char *call);

/* The largest message that lies in a slot by default, a larger one in the slab;
 * of a policy that is one. */
uint32_t peali_ring_in_slot_max(uint32_t policy);

/* Memory of a completed spec's ring: header, slots and slab. */
uint64_t peali_ring_bytes(const struct peali_ring_spec *spec);

/* The header of a completed spec's ring. */
void peali_ring_header(struct peal_ring *out,
		       const struct peali_ring_spec *spec, uint64_t link_id);

/* Private memory that each end needs, 16-byte aligned; 0 for sequence. */
uint64_t peali_ring_stage_bytes(const struct peali_ring_spec *spec);

/*
 * Memory of a stage with a mirror of the ring behind it: what a worker that
 * polls the host's memory keeps of it in its own, see peal/device/mirror.h. 0
 * for sequence, which has none, for a ring of more slots than are worth it, and
 * where so many lanes do not fetch two slots at a time.
 */
uint64_t peali_ring_mirror_bytes(const struct peali_ring_spec *spec,
				 uint32_t lanes);

/*
 * Checks a header that came from elsewhere: magic, version, sizes and offsets,
 * all of which must be what peali_ring_header makes of the sizes.
 *
 * ring  its bytes are read once; pass a private copy if its writer is not
 *       trusted, and use that
 * bytes memory that is mapped there
 * Returns 0, or PEAL_EPROTO with text that names the field.
 */
int peali_ring_check(const struct peal_ring *ring, uint64_t bytes,
		     const char *call);

#endif
