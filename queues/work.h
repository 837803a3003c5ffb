/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_WORK_H
#define PEALI_WORK_H

#include <peal/abi/work.h>

/*
 * The host's side of work queues: what their options come to in memory.
 *
 * A producer leases slots in blocks and may keep them as long as it is busy.
 * With leases of L, n producers that put up to B messages at a time, and room
 * that comes back by blocks of K slots, the others hold at most
 * (n - 1) * (L + B - 1) slots, whatever they do or wherever they have stopped,
 * and K - 1 free ones may lie in a block that is not free yet. So
 *
 *	slots >= n_producers * (lease + bulk - 1) + block - 1
 *
 * admits every bulk once the consumers have taken all and told so. It is
 *
 *	block = 1 up to 32 slots, then slots / 32, at most 32
 *	lease = min(32, slots / (2 * n_producers)) if that is not too many
 */

#define PEALI_WORK_LEASE_MAX 32
#define PEALI_WORK_BLOCK_MAX 32
#define PEALI_WORK_SHARDS_MAX 256

/* The sizes of a work queue, or of each shard of a set. */
struct peali_work_spec {
	uint32_t slots; /* a power of two up to 2^20 */
	uint32_t message_bytes; /* largest payload, up to what a slot of the
				 * policy holds: 4080, 3064 or 1016; 0: 48 */
	uint32_t n_producers; /* who may put */
	uint32_t bulk; /* the most messages put at a time; 0: 1 */
	uint32_t slot_bytes; /* out */
	uint32_t block; /* out */
	uint32_t lease; /* 0: by the formula above; out */
	uint32_t policy; /* enum peal_policy; 0: the default; out */
};

/*
 * Fills in what is zero and checks all. Returns 0, or PEAL_EINVAL with text
 * that names the option, its value and what is allowed; the spec is then
 * unchanged. The policies are those of the device, as for peali_policy_choose;
 * `call` is the name of the public function.
 */
int peali_work_spec_complete(struct peali_work_spec *spec, uint32_t policies,
			     uint32_t default_policy, const char *call);

/* Memory of one work queue of a completed spec, and the distance from one to
 * the next in a set: a multiple of PEAL_SHARED_LINE. */
uint64_t peali_work_bytes(const struct peali_work_spec *spec);

/* The header of an empty work queue; all behind it is zero. */
void peali_work_header(struct peal_work *out,
		       const struct peali_work_spec *spec);

/* Memory of a set of n shards, n from 1 to PEALI_WORK_SHARDS_MAX. */
uint64_t peali_work_set_bytes(const struct peali_work_spec *spec, uint32_t n);

/* The header of such a set. Each shard has a header of its own. */
void peali_work_set_header(struct peal_work_set *out,
			   const struct peali_work_spec *spec, uint32_t n);

#endif
