/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, header and checks of a link's ring: see ring.h. */
#include "queues/ring.h"

#include <string.h>

#include <peal/device/impl/queue/slot.h>

#include "queues/publication.h"
#include "runtime/base/math.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"

#define HEADER_BYTES ((uint32_t)sizeof(struct peal_header))
/* Bytes that a slot holds for a message in the slab. */
#define DESCRIBED_BYTES                                                        \
	(HEADER_BYTES + (uint32_t)sizeof(struct peal_slab_descriptor))

/*
 * The largest message that is stored in a slot by default.
 *
 * sequence: up to this size the slot is faster than the slab. The measure is
 * the mean over single messages, bursts and round trips, on near and far cores.
 * `peal bench queues --what slab` ran on 2 virtual cores of an AMD EPYC (Zen
 * 5), 2026-11-22. See bench/RESULTS.md.
 *
 * atom16, atom8: an estimate. These policies are for GPUs, and no GPU was
 * measured yet. All routes of emulated devices use the same memory.
 */
static const uint32_t in_slot_max[] = {
	[PEAL_POLICY_SEQUENCE] = 256,
	[PEAL_POLICY_ATOM16] = 512,
	[PEAL_POLICY_ATOM8] = 512,
};

uint32_t peali_ring_in_slot_max(uint32_t policy)
{
	return in_slot_max[policy];
}

static uint64_t payload_max(const struct peali_ring_spec *spec)
{
	return peal_slot_content_max(spec->policy, spec->slot_bytes) -
	       HEADER_BYTES;
}

static int complete_capacity(struct peali_ring_spec *s, const char *call)
{
	if (!s->capacity)
		s->capacity = PEALI_RING_CAPACITY_DEFAULT;
	return peali_slots_check("capacity", s->capacity, 0, call);
}

static int complete_slot(struct peali_ring_spec *s, const char *call)
{
	uint32_t limit = peali_publication_slot_max(s->policy);

	if (!s->message_bytes)
		s->message_bytes = PEALI_MESSAGE_DEFAULT;
	if (s->message_bytes > PEALI_RING_MESSAGE_MAX)
		return PEALI_REFUSE(PEAL_EINVAL, call, .object = "option",
				    .name = "message_bytes",
				    .number = s->message_bytes, .least = 1,
				    .most = PEALI_RING_MESSAGE_MAX);
	if (!s->slot_bytes && s->message_bytes <= in_slot_max[s->policy])
		s->slot_bytes = peali_publication_slot(
			s->policy, HEADER_BYTES + (uint32_t)s->message_bytes);
	else if (!s->slot_bytes)
		s->slot_bytes = PEALI_RING_SLOT_WITH_SLAB;
	if (s->slot_bytes % 16 || s->slot_bytes < PEALI_RING_SLOT_MIN ||
	    s->slot_bytes > limit)
		return PEALI_REFUSE(PEAL_EINVAL, call, .object = "option",
				    .name = "slot_bytes",
				    .problem = PEALI_PRINT(
					    "%s for policy %s",
					    s->slot_bytes % 16 ?
						    "must be a multiple of 16" :
						    "is out of range",
					    peali_publication_name(s->policy)),
				    .number = s->slot_bytes,
				    .least = PEALI_RING_SLOT_MIN, .most = limit,
				    .multiple = 16);
	return 0;
}

/*
 * If all messages of a link fit a slot, the link gets no slab. Then slab_bytes
 * is ignored.
 */
static int complete_slab(struct peali_ring_spec *s, const char *call)
{
	uint64_t each = PEAL_SLAB_ROUND(s->message_bytes), bytes, most;

	if (s->slab_bytes > PEALI_RING_SLAB_MAX)
		return peali_refuse_option(call, "slab_bytes", s->slab_bytes, 0,
					   PEALI_RING_SLAB_MAX);
	if (s->message_bytes <= payload_max(s)) {
		s->slab_bytes = 0;
		return 0;
	}
	if (peal_slot_content_max(s->policy, s->slot_bytes) < DESCRIBED_BYTES)
		return PEALI_REFUSE(
			PEAL_EMSGSIZE, call, .object = "option",
			.name = "slot_bytes",
			.problem = PEALI_PRINT(
				"is too small for a slab descriptor, "
				"which messages of %llu bytes need",
				(unsigned long long)s->message_bytes),
			.number = s->slot_bytes,
			.least = peali_publication_slot(s->policy,
							DESCRIBED_BYTES),
			.most = peali_publication_slot_max(s->policy));
	bytes = s->slab_bytes;
	if (!bytes) {
		bytes = ((uint64_t)s->capacity + 1) * each;
		most = 9 * each;
		if (most < PEALI_RING_SLAB_DEFAULT_MAX)
			most = PEALI_RING_SLAB_DEFAULT_MAX;
		if (bytes > most)
			bytes = most;
	}
	bytes = PEAL_SLAB_ROUND(bytes);
	if (bytes < 2 * each)
		return PEALI_REFUSE(
			PEAL_EMSGSIZE, call, .object = "option",
			.name = "slab_bytes",
			.problem = PEALI_PRINT(
				"is too small for two messages of %llu "
				"bytes",
				(unsigned long long)s->message_bytes),
			.number = s->slab_bytes, .least = 2 * each,
			.most = PEALI_RING_SLAB_MAX);
	s->slab_bytes = bytes;
	return 0;
}

int peali_ring_spec_complete(struct peali_ring_spec *spec, uint32_t policies,
			     uint32_t default_policy, const char *call)
{
	struct peali_ring_spec s = *spec;
	int result;

	result = peali_publication_choose(&s.policy, policies, default_policy,
					  "policy", "an end of the link", call);
	if (result == 0)
		result = complete_capacity(&s, call);
	if (result == 0)
		result = complete_slot(&s, call);
	if (result == 0)
		result = complete_slab(&s, call);
	if (result == 0)
		*spec = s;
	return result;
}

int peali_ring_spec_emits(const struct peali_ring_spec *spec, uint32_t n,
			  const char *call)
{
	uint64_t slab =
		((uint64_t)n + 1) * PEAL_SLAB_ROUND(spec->message_bytes);

	if (n > spec->capacity)
		return peali_slots_refuse(
			"capacity", spec->capacity, peali_slots_for(n),
			PEALI_PRINT(
				"is too small for a sender that emits up to %u "
				"message%s at a time",
				n, peali_s(n)),
			"messages at a time", call);
	if (spec->slab_bytes && n && slab > spec->slab_bytes)
		return PEALI_REFUSE(
			PEAL_EINVAL, call, .object = "option",
			.name = "slab_bytes",
			.problem = PEALI_PRINT(
				"is too small for a sender that emits "
				"up to %u message%s of %llu bytes at a "
				"time",
				n, peali_s(n),
				(unsigned long long)spec->message_bytes),
			.number = spec->slab_bytes, .least = slab,
			.most = PEALI_RING_SLAB_MAX);
	return 0;
}

/* Returns the offset of the slab: the first whole line behind the slots. */
static uint64_t slab_offset(uint64_t capacity, uint64_t slot_bytes)
{
	return peali_whole_lines(sizeof(struct peal_ring) +
				 capacity * slot_bytes);
}

uint64_t peali_ring_bytes(const struct peali_ring_spec *spec)
{
	return slab_offset(spec->capacity, spec->slot_bytes) +
	       peali_whole_lines(spec->slab_bytes);
}

void peali_ring_header(struct peal_ring *out,
		       const struct peali_ring_spec *spec, uint64_t link_id)
{
	memset(out, 0, sizeof(*out));
	out->magic = PEAL_RING_MAGIC;
	out->version = PEAL_RING_VERSION;
	out->policy = spec->policy;
	out->slot_bytes = spec->slot_bytes;
	out->capacity_log2 = peali_log2(spec->capacity);
	out->slab_bytes = spec->slab_bytes;
	out->slots_offset = sizeof(*out);
	out->slab_offset = slab_offset(spec->capacity, spec->slot_bytes);
	out->total_bytes = peali_ring_bytes(spec);
	out->link_id = link_id;
}

uint64_t peali_ring_stage_bytes(const struct peali_ring_spec *spec)
{
	return peali_round_up(
		peali_publication_stage(spec->policy, spec->slot_bytes), 16);
}

uint64_t peali_ring_mirror_bytes(const struct peali_ring_spec *spec,
				 uint32_t lanes)
{
	uint64_t bytes = (spec->capacity + 1ull) * spec->slot_bytes;
	uint32_t atom = spec->policy == PEAL_POLICY_ATOM16 ? 16 : 8;

	if (spec->policy == PEAL_POLICY_SEQUENCE ||
	    bytes > PEALI_RING_MIRROR_MAX ||
	    lanes * PEAL_MIRROR_FLIGHT * atom < 2 * spec->slot_bytes)
		return 0;
	return bytes;
}

static int refuse(const char *call, const char *field, uint64_t value,
		  const char *expected)
{
	return PEALI_REFUSE(
		PEAL_EPROTO, call, .object = "ring header", .name = field,
		.problem = "is damaged or of another library",
		.value = PEALI_PRINT("%llu, 0x%llx", (unsigned long long)value,
				     (unsigned long long)value),
		.allowed = expected,
		.remedy = "use one version of Peal at both ends");
}

/* Checks the fields that determine all other fields. */
static int check_sizes(const struct peal_ring *r, const char *call)
{
	if (r->magic != PEAL_RING_MAGIC)
		return refuse(call, "magic", r->magic, "\"PEALRING\"");
	if (r->version != PEAL_RING_VERSION)
		return refuse(call, "version", r->version, "1");
	if (r->policy < PEAL_POLICY_SEQUENCE || r->policy > PEAL_POLICY_ATOM8)
		return refuse(call, "policy", r->policy, "1 to 3");
	if (r->slot_bytes % 16 || r->slot_bytes < PEALI_RING_SLOT_MIN ||
	    r->slot_bytes > peali_publication_slot_max(r->policy))
		return refuse(call, "slot_bytes", r->slot_bytes,
			      "a multiple of 16 from 16 to 4096, for atom8 to "
			      "2048");
	if (r->capacity_log2 > 20)
		return refuse(call, "capacity_log2", r->capacity_log2,
			      "at most 20");
	if (r->slab_bytes % PEAL_SLAB_ALIGN ||
	    r->slab_bytes > PEALI_RING_SLAB_MAX)
		return refuse(call, "slab_bytes", r->slab_bytes,
			      "a multiple of 16 up to 1 TiB");
	if (r->slab_bytes &&
	    peal_slot_content_max(r->policy, r->slot_bytes) < DESCRIBED_BYTES)
		return refuse(call, "slot_bytes", r->slot_bytes,
			      "space for a slab descriptor");
	return 0;
}

int peali_ring_check(const struct peal_ring *ring, uint64_t bytes,
		     const char *call)
{
	struct peal_ring r, made;
	struct peali_ring_spec spec = { 0, 0, 0, 0, 0 };
	int result;

	if (bytes < sizeof(r))
		return refuse(call, "size of its mapping", bytes,
			      "at least 128 bytes");
	memcpy(&r, ring, sizeof(r));
	result = check_sizes(&r, call);
	if (result)
		return result;
	spec.capacity = 1u << r.capacity_log2;
	spec.slot_bytes = r.slot_bytes;
	spec.policy = r.policy;
	spec.slab_bytes = r.slab_bytes;
	peali_ring_header(&made, &spec, r.link_id);
	if (r.slots_offset != made.slots_offset)
		return refuse(call, "slots_offset", r.slots_offset, "128");
	if (r.slab_offset != made.slab_offset)
		return refuse(call, "slab_offset", r.slab_offset,
			      "the first line behind the slots");
	if (r.total_bytes != made.total_bytes)
		return refuse(call, "total_bytes", r.total_bytes,
			      "the sum of header, slots and slab");
	if (r.total_bytes > bytes)
		return refuse(call, "total_bytes", r.total_bytes,
			      "at most the mapped bytes");
	return 0;
}
