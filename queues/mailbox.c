/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes and headers of mailboxes, and their admission: see mailbox.h. */
#include "queues/mailbox.h"

#include <string.h>

#include "queues/publication.h"
#include "runtime/base/math.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"

/* Fills the lease if it is 0. */
static void default_lease(struct peali_mailbox_spec *s, uint32_t tells)
{
	if (s->lease)
		return;
	s->lease = s->slots / 2 / s->n_workers;
	if (s->lease > PEALI_MAILBOX_LEASE_MAX)
		s->lease = PEALI_MAILBOX_LEASE_MAX;
	if (s->lease < tells)
		s->lease = tells;
}

/* Returns the least legal number of slots of a spec; 0: there is none. */
static uint32_t slots_for(const struct peali_mailbox_spec *spec, uint32_t tells)
{
	struct peali_mailbox_spec s;
	uint32_t slots;

	for (slots = 2; slots <= PEALI_MAILBOX_SLOTS_MAX; slots *= 2) {
		s = *spec;
		s.slots = slots;
		default_lease(&s, tells);
		/* the first two checks prevent an overflow in the third */
		if (s.n_workers <= slots && s.lease <= slots &&
		    s.n_workers * ((uint64_t)s.lease + tells - 1) <= slots)
			return slots;
	}
	return 0;
}

/* mailbox.h derives the bound. */
static int complete_lease(struct peali_mailbox_spec *s, const char *call)
{
	const struct peali_mailbox_spec given = *s;
	uint32_t tells = s->tells ? s->tells : 1;

	default_lease(s, tells);
	if (s->lease < tells)
		return PEALI_REFUSE(
			PEAL_EINVAL, call, .object = "option",
			.name = "mailbox.lease",
			.problem = PEALI_PRINT(
				"is too small for handlers that tell "
				"up to %u message%s at a time",
				s->tells, peali_s(s->tells)),
			.number = s->lease, .least = tells, .most = UINT32_MAX);
	/* the first two checks prevent an overflow in the third */
	if (s->n_workers > s->slots || s->lease > s->slots ||
	    s->n_workers * ((uint64_t)s->lease + tells - 1) > s->slots)
		return peali_slots_refuse(
			"mailbox.slots", s->slots, slots_for(&given, tells),
			PEALI_PRINT(
				"is too small for %u worker%s with leases of "
				"%u and up to %u message%s at a time",
				s->n_workers, peali_s(s->n_workers), s->lease,
				s->tells, peali_s(s->tells)),
			"workers", call);
	return 0;
}

int peali_mailbox_spec_complete(struct peali_mailbox_spec *spec,
				uint32_t policies, uint32_t default_policy,
				const char *call)
{
	struct peali_mailbox_spec s = *spec;
	struct peali_slots slots = { s.slots, s.message_bytes, s.policy, 0 };
	int result;

	result = peali_slots_complete(&slots, "mailbox.", policies,
				      default_policy, call);
	if (result)
		return result;
	s.message_bytes = slots.message_bytes;
	s.policy = slots.policy;
	s.slot_bytes = slots.bytes;
	if (!s.n_workers)
		return peali_refuse_option(call, "workers", 0, 1,
					   PEALI_SLOTS_MAX);
	result = complete_lease(&s, call);
	if (!result)
		*spec = s;
	return result;
}

/* Returns the offset of the stage, behind the slots. */
static uint64_t stage_offset(const struct peali_mailbox_spec *spec)
{
	return sizeof(struct peal_mailbox) +
	       (uint64_t)spec->slots * spec->slot_bytes;
}

uint64_t peali_mailbox_bytes(const struct peali_mailbox_spec *spec)
{
	return peali_whole_lines(
		stage_offset(spec) +
		peali_publication_stage(spec->policy, spec->slot_bytes));
}

void peali_mailbox_header(struct peal_mailbox *out,
			  const struct peali_mailbox_spec *spec)
{
	memset(out, 0, sizeof(*out));
	out->magic = PEAL_MAILBOX_MAGIC;
	out->slot_bytes = spec->slot_bytes;
	out->capacity_log2 = peali_log2(spec->slots);
	out->message_bytes = spec->message_bytes;
	out->lease = spec->lease;
	out->slots_offset = sizeof(*out);
	out->stage_offset = stage_offset(spec);
	out->policy = spec->policy;
}

int peali_admission_spec_complete(struct peali_admission_spec *spec,
				  const char *call)
{
	uint64_t tells = spec->tells ? spec->tells : 1;
	uint64_t held = (uint64_t)spec->n_workers *
			((uint64_t)spec->tells + spec->others);
	uint64_t rest = spec->slots - held, past;

	if (tells < spec->to_all)
		tells = spec->to_all;
	if (spec->slots < held + tells + spec->to_all)
		return peali_slots_refuse(
			"mailbox.slots", spec->slots,
			peali_slots_for(held + tells + spec->to_all),
			PEALI_PRINT("is too small for %u worker%s with %u "
				    "message%s at a time, and %u for timers and "
				    "monitors",
				    spec->n_workers, peali_s(spec->n_workers),
				    (uint32_t)tells, peali_s((uint32_t)tells),
				    spec->others),
			"workers", call);
	spec->links = (uint32_t)(held + rest / 4 * 3);
	if (spec->links < held + tells)
		spec->links = (uint32_t)(held + tells);
	if (spec->links > spec->slots - spec->to_all)
		spec->links = spec->slots - spec->to_all;
	/*
	 * Each sending worker may exceed the limit by one message per mailbox.
	 * `tells` slots remain for messages to other workers.
	 */
	past = (uint64_t)spec->n_workers * (spec->boxes > 1 ? 2 : 1) + tells;
	rest = spec->links - held;
	spec->each = rest > past ? (uint32_t)(rest - past) : 1;
	spec->tell = spec->each / 2 < spec->slots / 4 ? spec->each / 2 :
							spec->slots / 4;
	if (!spec->tell)
		spec->tell = 1;
	spec->lease = (uint32_t)((spec->slots - held) / 4 / spec->n_workers);
	if (spec->lease > PEALI_MAILBOX_LEASE_MAX)
		spec->lease = PEALI_MAILBOX_LEASE_MAX;
	return 0;
}

void peali_admission_header(struct peal_admission *out,
			    const struct peali_admission_spec *spec)
{
	memset(out, 0, sizeof(*out));
	out->slots = spec->links;
	out->passing = spec->passages;
	out->reserve = out->spare = spec->slots - spec->links;
	out->each = spec->each;
	out->tell = spec->tell;
	out->lease = spec->lease;
	out->keep = spec->tells;
	out->leased = (uint64_t)spec->n_workers * spec->tells;
}
