/* SPDX-License-Identifier: Apache-2.0 */
#include "queues/mailbox.h"

#include <string.h>

#include <peal/device/slot.h>

#include "queues/policy.h"
#include "runtime/backend/error.h"
#include "runtime/backend/round.h"

static int check_slots(const struct peali_mailbox_spec *s, const char *call)
{
	uint32_t most = peal_slot_content_max(
				s->policy, peali_policy_slot_max(s->policy)) -
			(uint32_t)sizeof(struct peal_header);

	if (!s->slots || s->slots & (s->slots - 1) ||
	    s->slots > PEALI_MAILBOX_SLOTS_MAX)
		return peali_fail(PEAL_EINVAL, call,
				  "mailbox_slots is %u; it must be a power of "
				  "two from 1 to %u",
				  s->slots, PEALI_MAILBOX_SLOTS_MAX);
	if (s->message_bytes > most)
		return peali_fail(PEAL_EINVAL, call,
				  "mailbox_message_bytes is %u; at most %u are "
				  "allowed (policy %s)",
				  s->message_bytes, most,
				  peali_policy_name(s->policy));
	if (!s->n_workers)
		return peali_fail(PEAL_EINVAL, call,
				  "workers is 0; a mailbox needs at least one");
	return 0;
}

/* See mailbox.h for where the bound comes from. */
static int complete_lease(struct peali_mailbox_spec *s, const char *call)
{
	uint64_t tells = s->tells ? s->tells : 1, least;

	if (!s->lease) {
		s->lease = s->slots / 2 / s->n_workers;
		if (s->lease > PEALI_MAILBOX_LEASE_MAX)
			s->lease = PEALI_MAILBOX_LEASE_MAX;
		if (s->lease < tells)
			s->lease = (uint32_t)tells;
	}
	if (s->lease < tells)
		return peali_fail(
			PEAL_EINVAL, call,
			"a mailbox lease is %u slots, but a handler "
			"tells up to %u messages at a time; the lease "
			"must be at least that",
			s->lease, s->tells);
	least = s->n_workers * (s->lease + tells - 1);
	/* the first two keep absurd numbers from overflowing the third */
	if (s->n_workers > s->slots || s->lease > s->slots || s->slots < least)
		return peali_fail(
			PEAL_EINVAL, call,
			"mailbox_slots is %u, too few for %u workers "
			"with leases of %u and handlers that tell up "
			"to %u messages at a time; it must be a power "
			"of two of at least %llu",
			s->slots, s->n_workers, s->lease, s->tells,
			(unsigned long long)least);
	return 0;
}

int peali_mailbox_spec_complete(struct peali_mailbox_spec *spec,
				uint32_t policies, uint32_t default_policy,
				const char *call)
{
	struct peali_mailbox_spec s = *spec;
	int result;

	if (!s.message_bytes)
		s.message_bytes = PEALI_MAILBOX_MESSAGE_DEFAULT;
	result = peali_policy_choose(&s.policy, policies, default_policy,
				     "mailbox_policy", "the device", call);
	if (result == 0)
		result = check_slots(&s, call);
	if (result == 0)
		result = complete_lease(&s, call);
	if (result)
		return result;
	s.slot_bytes = peali_policy_slot(s.policy,
					 (uint32_t)sizeof(struct peal_header) +
						 s.message_bytes);
	*spec = s;
	return 0;
}

/* The stage lies behind the slots. */
static uint64_t stage_offset(const struct peali_mailbox_spec *spec)
{
	return sizeof(struct peal_mailbox) +
	       (uint64_t)spec->slots * spec->slot_bytes;
}

uint64_t peali_mailbox_bytes(const struct peali_mailbox_spec *spec)
{
	uint64_t stage = 0;

	if (spec->policy != PEAL_POLICY_SEQUENCE)
		stage = peal_slot_content_max(spec->policy, spec->slot_bytes);
	return peali_whole_lines(stage_offset(spec) + stage);
}

void peali_mailbox_header(struct peal_mailbox *out,
			  const struct peali_mailbox_spec *spec)
{
	memset(out, 0, sizeof(*out));
	out->magic = PEAL_MAILBOX_MAGIC;
	out->slot_bytes = spec->slot_bytes;
	while (1u << out->capacity_log2 < spec->slots)
		out->capacity_log2++;
	out->message_bytes = spec->message_bytes;
	out->lease = spec->lease;
	out->slots_offset = sizeof(*out);
	out->stage_offset = stage_offset(spec);
	out->policy = spec->policy;
}
