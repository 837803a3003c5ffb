/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_RING_H
#define PEALI_RING_H

#include <peal/abi/ring.h>

/*
 * The host's side of a link's ring: options, sizes, header, checks. Nothing
 * here allocates memory. The caller provides peali_ring_bytes of zeroed memory,
 * aligned to PEAL_SHARED_LINE, where the consumer polls it. The caller then
 * writes the header to the first line.
 */

#define PEALI_RING_CAPACITY_DEFAULT 64
#define PEALI_RING_SLOT_MIN 16
#define PEALI_RING_SLOT_WITH_SLAB 64 /* default slot of a link with a slab */
#define PEALI_RING_MESSAGE_MAX (256ULL << 20)
#define PEALI_RING_SLAB_DEFAULT_MAX (64ULL << 20)
#define PEALI_RING_SLAB_MAX (1ULL << 40)
#define PEALI_RING_MIRROR_MAX (4ull << 20)

/* The sizes of a ring. 0 means the default of struct peal_link_options. */
struct peali_ring_spec {
	uint32_t capacity; /* slots, a power of two up to 2^20 */
	uint32_t slot_bytes; /* multiple of 16, 16..4096 */
	uint32_t policy; /* enum peal_slot_policy */
	uint64_t message_bytes; /* largest payload, up to 256 MiB */
	/* 0 after completion: no slab, all messages fit a slot */
	uint64_t slab_bytes;
};

/*
 * Fills fields that are 0 with their defaults and checks all fields.
 *
 * The slab, if needed, is rounded up to PEAL_SLAB_ALIGN and holds at least two
 * messages of the largest size. Then one message always fits an empty slab, at
 * every position of the slab's end. To emit n messages at a time
 * (peal_link_fits), the slab must hold n + 1. peali_ring_spec_emits checks this
 * size.
 *
 * - policies: mask of 1 << enum peal_slot_policy that both ends support.
 * - default_policy: as for peali_publication_choose.
 * - call: name of the public function, for the error.
 *
 * Returns 0, or:
 *
 * - PEAL_EINVAL: an option is out of range.
 * - PEAL_EMSGSIZE: the largest message fits neither slot nor slab.
 *
 * The error text names the option, its value and the allowed range. On failure
 * the spec is unchanged.
 */
int peali_ring_spec_complete(struct peali_ring_spec *spec, uint32_t policies,
			     uint32_t default_policy, const char *call);

/*
 * Checks that a completed spec can hold n messages of the largest size at a
 * time. An actor that emits n messages per input needs n slots. The slab must
 * hold one message more. Returns 0, or PEAL_EINVAL with text.
 */
int peali_ring_spec_emits(const struct peali_ring_spec *spec, uint32_t n,
			  const char *call);

/*
 * Returns the bytes of the largest message that is stored in a slot by default.
 * Longer messages go to the slab. `policy` is valid.
 */
uint32_t peali_ring_in_slot_max(uint32_t policy);

/* Returns the bytes of a completed spec's ring: header, slots and slab. */
uint64_t peali_ring_bytes(const struct peali_ring_spec *spec);

/* Fills the header of a completed spec's ring. */
void peali_ring_header(struct peal_ring *out,
		       const struct peali_ring_spec *spec, uint64_t link_id);

/*
 * Returns the bytes of private memory per end, 16-byte aligned; 0 for sequence.
 */
uint64_t peali_ring_stage_bytes(const struct peali_ring_spec *spec);

/*
 * Returns the bytes of a stage with a mirror of the ring behind it. A mirror is
 * the copy of ring slots that a worker keeps in its own memory
 * (peal/device/impl/queue/slot_prefetch.h). Returns 0 if the ring gets no
 * mirror:
 *
 * - The policy is sequence.
 * - Stage and mirror are larger than PEALI_RING_MIRROR_MAX.
 * - `lanes` lanes cannot fetch two slots at a time.
 */
uint64_t peali_ring_mirror_bytes(const struct peali_ring_spec *spec,
				 uint32_t lanes);

/*
 * Checks a header from an untrusted source: magic, version, sizes and offsets.
 * All must equal the values that peali_ring_header computes from the sizes.
 * Returns 0, or PEAL_EPROTO with text that names the field.
 *
 * - ring: read once. If its writer is not trusted, pass a private copy and use
 *   that copy.
 * - bytes: mapped memory at `ring`.
 */
int peali_ring_check(const struct peal_ring *ring, uint64_t bytes,
		     const char *call);

#endif
