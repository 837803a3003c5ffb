/* SPDX-License-Identifier: Apache-2.0 */
/* Policies and slot sizes of all queues: see publication.h. */
#include "queues/publication.h"

#include <stddef.h>
#include <stdio.h>

#include <peal/device/impl/queue/slot.h>

#include "runtime/base/error.h"
#include "runtime/base/math.h"

#define SLOT_MAX 4096
#define HEADER_BYTES ((uint32_t)sizeof(struct peal_header))

static const char *const names[] = { "default", "sequence", "atom16", "atom8" };

const char *peali_publication_name(uint32_t policy)
{
	return names[policy];
}

int peali_publication_choose(uint32_t *policy, uint32_t policies,
			     uint32_t default_policy, const char *option,
			     const char *user, const char *call)
{
	static const uint32_t others[] = { PEAL_POLICY_ATOM16,
					   PEAL_POLICY_ATOM8,
					   PEAL_POLICY_SEQUENCE };
	uint32_t chosen = *policy ? *policy : default_policy;
	size_t i;

	if (chosen < PEAL_POLICY_SEQUENCE || chosen > PEAL_POLICY_ATOM8)
		return peali_fail(PEAL_EINVAL, call,
				  "%s is %u; allowed are 0 (default), 1 "
				  "(sequence), 2 (atom16) and 3 (atom8)",
				  option, chosen);
	for (i = 0; !*policy && i < 3 && !(policies & 1u << chosen); i++)
		chosen = others[i];
	if (!(policies & 1u << chosen))
		return peali_fail(PEAL_EINVAL, call,
				  "%s is %u (%s), which %s cannot do "
				  "(allowed:%s%s%s%s)",
				  option, chosen, names[chosen], user,
				  policies & 2 ? " sequence" : "",
				  policies & 4 ? " atom16" : "",
				  policies & 8 ? " atom8" : "",
				  policies & 14 ? "" : " none");
	*policy = chosen;
	return 0;
}

uint32_t peali_publication_slot(uint32_t policy, uint32_t content)
{
	uint32_t bytes = content + 8, unit;

	if (policy == PEAL_POLICY_ATOM16)
		bytes = (content + 11) / 12 * 16;
	else if (policy == PEAL_POLICY_ATOM8)
		bytes = (content + 3) / 4 * 8;
	/*
	 * Slots above one cache line get whole lines: no line holds parts of
	 * two slots.
	 */
	unit = bytes > 64 ? 64 : 16;
	return (uint32_t)peali_round_up(bytes, unit);
}

uint32_t peali_publication_slot_max(uint32_t policy)
{
	return policy == PEAL_POLICY_ATOM8 ? PEAL_SLOT_ATOMS_MAX * 8 : SLOT_MAX;
}

uint32_t peali_publication_message_max(uint32_t policy)
{
	return peal_slot_content_max(policy,
				     peali_publication_slot_max(policy)) -
	       HEADER_BYTES;
}

uint32_t peali_publication_stage(uint32_t policy, uint32_t slot_bytes)
{
	return policy == PEAL_POLICY_SEQUENCE ?
		       0 :
		       peal_slot_content_max(policy, slot_bytes);
}

uint32_t peali_log2(uint32_t power)
{
	uint32_t log2 = 0;

	while (1u << log2 < power)
		log2++;
	return log2;
}

uint32_t peali_slots_for(uint64_t n)
{
	return n > PEALI_SLOTS_MAX ? 0 : peali_power_of_two((uint32_t)n);
}

const char *peali_slots_remedy(uint32_t slots, const char *fewer,
			       char text[PEALI_REMEDY_BYTES])
{
	if (!slots)
		snprintf(text, PEALI_REMEDY_BYTES, "use fewer %s", fewer);
	else if (slots == PEALI_SLOTS_MAX)
		snprintf(text, PEALI_REMEDY_BYTES, "use %u", slots);
	else
		snprintf(text, PEALI_REMEDY_BYTES,
			 "use %u or a larger power of two", slots);
	return text;
}

int peali_slots_check(const char *option, uint32_t n, uint32_t least,
		      const char *call)
{
	uint32_t use = n > least ? n : least;

	if (n && !(n & (n - 1)) && n <= PEALI_SLOTS_MAX)
		return 0;
	return peali_fail(PEAL_EINVAL, call,
			  "%s is %u; it must be a power of two from 1 to %u; "
			  "use %u",
			  option, n, PEALI_SLOTS_MAX,
			  use > PEALI_SLOTS_MAX ? PEALI_SLOTS_MAX :
						  peali_slots_for(use));
}

int peali_slots_complete(struct peali_slots *slots, const char *prefix,
			 uint32_t policies, uint32_t default_policy,
			 const char *call)
{
	char option[32];
	uint32_t most;
	int result;

	if (!slots->message_bytes)
		slots->message_bytes = PEALI_MESSAGE_DEFAULT;
	snprintf(option, sizeof(option), "%spolicy", prefix);
	result = peali_publication_choose(&slots->policy, policies,
					  default_policy, option, "the device",
					  call);
	snprintf(option, sizeof(option), "%s%s", prefix,
		 *prefix ? "slots" : "capacity");
	if (!result)
		result = peali_slots_check(option, slots->n, 0, call);
	if (result)
		return result;
	most = peali_publication_message_max(slots->policy);
	if (slots->message_bytes > most)
		return peali_fail(PEAL_EINVAL, call,
				  "%smessage_bytes is %u; at most %u are "
				  "allowed (policy %s)",
				  prefix, slots->message_bytes, most,
				  names[slots->policy]);
	slots->bytes = peali_publication_slot(
		slots->policy, HEADER_BYTES + slots->message_bytes);
	return 0;
}
