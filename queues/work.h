/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_WORK_H
#define PEALI_WORK_H

#include <peal/abi/work.h>

/*
 * The host's side of work queues: options, sizes, headers.
 *
 * A producer leases slots in blocks and may keep them while it is busy. Let n
 * be the producers, L the lease, and B the messages of one push. Slots become
 * free in whole blocks. Let K be the slots of a block.
 *
 * 1. The other producers hold at most (n - 1) * (L + B - 1) slots, wherever
 *    they stop.
 * 2. At most K - 1 free slots can be in a block that is not free yet.
 * 3. So every push is admitted if the bound below holds. The consumers must
 *    have taken all messages and published the free slots.
 *
 *	slots >= n_producers * (lease + bulk - 1) + block - 1
 *
 * The sizes are
 *
 *	block = 1 up to 32 slots, then slots / 32, at most 32
 *	lease = min(32, slots / (2 * n_producers)), less if the bound requires
 */

#define PEALI_WORK_LEASE_MAX 32
#define PEALI_WORK_BLOCK_MAX 32
#define PEALI_WORK_SHARDS_MAX 256

/* The sizes of a work queue, or of each shard of a set. out: computed. */
struct peali_work_spec {
	uint32_t slots; /* a power of two up to 2^20 */
	/*
	 * Bytes of the largest payload (default 48, 1..4080). atom16 allows up
	 * to 3064, atom8 up to 1016.
	 */
	uint32_t message_bytes;
	uint32_t n_producers; /* most producers */
	uint32_t bulk; /* most messages of one push (default 1) */
	uint32_t slot_bytes; /* out */
	uint32_t block; /* out */
	uint32_t lease; /* slots per lease; 0: the formula above; out */
	uint32_t policy; /* enum peal_slot_policy; 0: the default; out */
};

/*
 * Fills fields that are 0 with their defaults and checks all fields. The
 * policies are those of the device, see peali_publication_choose. `call` is the
 * name of the public function. Returns 0, or PEAL_EINVAL with text that names
 * the option, its value and the allowed range. On failure the spec is
 * unchanged.
 */
int peali_work_spec_complete(struct peali_work_spec *spec, uint32_t policies,
			     uint32_t default_policy, const char *call);

/*
 * Returns the bytes of one work queue of a completed spec. The result is a
 * multiple of PEAL_SHARED_LINE, and the distance of two queues in a set.
 */
uint64_t peali_work_bytes(const struct peali_work_spec *spec);

/* Fills the header of an empty work queue. The memory behind it is zero. */
void peali_work_header(struct peal_work *out,
		       const struct peali_work_spec *spec);

/* Returns the bytes of a set of n shards, n from 1 to PEALI_WORK_SHARDS_MAX. */
uint64_t peali_work_set_bytes(const struct peali_work_spec *spec, uint32_t n);

/* Fills the header of a set. Each shard also has its own header. */
void peali_work_set_header(struct peal_work_set *out,
			   const struct peali_work_spec *spec, uint32_t n);

#endif
