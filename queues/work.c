/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes and headers of work queues and sets of them: see work.h. */
#include "queues/work.h"

#include <string.h>

#include "queues/publication.h"
#include "runtime/base/math.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"

/*
 * Fills the block, and the lease if it is 0. Returns the least slots for them.
 * Returns UINT64_MAX with fewer slots than producers or messages of a bulk.
 * work.h derives the bound.
 */
static uint64_t plan_lease(struct peali_work_spec *s)
{
	uint64_t each;

	s->block = s->slots / 32;
	if (!s->block)
		s->block = 1;
	if (s->block > PEALI_WORK_BLOCK_MAX)
		s->block = PEALI_WORK_BLOCK_MAX;
	each = (s->slots - s->block + 1) / s->n_producers;
	if (!s->lease) {
		s->lease = s->slots / 2 / s->n_producers;
		if (s->lease > PEALI_WORK_LEASE_MAX)
			s->lease = PEALI_WORK_LEASE_MAX;
		if (s->lease > each + 1 - s->bulk && each >= s->bulk)
			s->lease = (uint32_t)(each + 1 - s->bulk);
		if (!s->lease)
			s->lease = 1;
	}
	/* prevents an overflow in the product */
	if (s->n_producers > s->slots || s->bulk > s->slots)
		return UINT64_MAX;
	return (uint64_t)s->n_producers * ((uint64_t)s->lease + s->bulk - 1) +
	       s->block - 1;
}

/* Returns the least legal number of slots of a spec; 0: there is none. */
static uint32_t slots_for(const struct peali_work_spec *spec)
{
	struct peali_work_spec s;
	uint32_t slots;

	for (slots = 2; slots <= PEALI_SLOTS_MAX; slots *= 2) {
		s = *spec;
		s.slots = slots;
		if (plan_lease(&s) <= slots)
			return slots;
	}
	return 0;
}

static int complete_lease(struct peali_work_spec *s, const char *call)
{
	const struct peali_work_spec given = *s;

	if (plan_lease(s) <= s->slots)
		return 0;
	return peali_slots_refuse(
		"capacity", s->slots, slots_for(&given),
		PEALI_PRINT(
			"is too small for %u producer%s with leases of %u that "
			"put up to %u message%s at a time",
			s->n_producers, peali_s(s->n_producers), s->lease,
			s->bulk, peali_s(s->bulk)),
		"producers or messages at a time", call);
}

int peali_work_spec_complete(struct peali_work_spec *spec, uint32_t policies,
			     uint32_t default_policy, const char *call)
{
	struct peali_work_spec s = *spec;
	struct peali_slots slots = { s.slots, s.message_bytes, s.policy, 0 };
	int result;

	result = peali_slots_complete(&slots, "", policies, default_policy,
				      call);
	if (result)
		return result;
	s.message_bytes = slots.message_bytes;
	s.policy = slots.policy;
	s.slot_bytes = slots.bytes;
	if (!s.n_producers)
		return peali_refuse_option(call, "producers", 0, 1,
					   PEALI_SLOTS_MAX);
	if (!s.bulk)
		s.bulk = 1;
	result = complete_lease(&s, call);
	if (!result)
		*spec = s;
	return result;
}

static uint64_t slots_offset(const struct peali_work_spec *spec)
{
	return sizeof(struct peal_work) +
	       (uint64_t)(spec->slots / spec->block) *
		       sizeof(struct peal_work_block);
}

uint64_t peali_work_bytes(const struct peali_work_spec *spec)
{
	return peali_whole_lines(slots_offset(spec) +
				 (uint64_t)spec->slots * spec->slot_bytes);
}

void peali_work_header(struct peal_work *out,
		       const struct peali_work_spec *spec)
{
	memset(out, 0, sizeof(*out));
	out->magic = PEAL_WORK_MAGIC;
	out->slot_bytes = spec->slot_bytes;
	out->capacity_log2 = peali_log2(spec->slots);
	out->message_bytes = spec->message_bytes;
	out->lease = spec->lease;
	out->policy = spec->policy;
	out->block_log2 = peali_log2(spec->block);
	out->blocks_offset = sizeof(*out);
	out->slots_offset = slots_offset(spec);
	out->solo = spec->n_producers == 1;
}

uint64_t peali_work_set_bytes(const struct peali_work_spec *spec, uint32_t n)
{
	return sizeof(struct peal_work_set) + n * peali_work_bytes(spec);
}

void peali_work_set_header(struct peal_work_set *out,
			   const struct peali_work_spec *spec, uint32_t n)
{
	memset(out, 0, sizeof(*out));
	out->magic = PEAL_WORK_SET_MAGIC;
	out->n_shards = n;
	out->shards_offset = sizeof(*out);
	out->shard_bytes = peali_work_bytes(spec);
}
