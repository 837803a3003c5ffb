/* SPDX-License-Identifier: Apache-2.0 */
/* Policies and slot sizes of all queues: see publication.h. */
#include "queues/publication.h"

#include <stddef.h>
#include <stdio.h>

#include <peal/device/impl/queue/slot.h>

#include "runtime/base/math.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"

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
		return PEALI_REFUSE(
			PEAL_EINVAL, call, .object = "option", .name = option,
			.problem = "is no policy", .number = chosen,
			.allowed = "0 (default), 1 (sequence), 2 (atom16) "
				   "or 3 (atom8)",
			.remedy = "use 0");
	for (i = 0; !*policy && i < 3 && !(policies & 1u << chosen); i++)
		chosen = others[i];
	if (!(policies & 1u << chosen))
		return PEALI_REFUSE(
			PEAL_EINVAL, call, .object = "option", .name = option,
			.problem = PEALI_PRINT("is a policy that %s cannot do",
					       user),
			.value = PEALI_PRINT("%u, %s", chosen, names[chosen]),
			.allowed = PEALI_PRINT(
				"%s%s%s%s", policies & 14 ? "0" : "none",
				policies & 2 ? ", 1 (sequence)" : "",
				policies & 4 ? ", 2 (atom16)" : "",
				policies & 8 ? ", 3 (atom8)" : ""),
			.remedy = policies & 14 ? "use 0" :
						  "use another device");
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

int peali_slots_refuse(const char *option, uint32_t n, uint32_t slots,
		       const char *problem, const char *fewer, const char *call)
{
	return PEALI_REFUSE(
		PEAL_EINVAL, call, .object = "option", .name = option,
		.problem = problem, .number = n,
		.allowed = slots ? NULL : "none", .least = slots,
		.most = PEALI_SLOTS_MAX,
		.remedy = slots ? NULL : PEALI_PRINT("use fewer %s", fewer));
}

int peali_slots_check(const char *option, uint32_t n, uint32_t least,
		      const char *call)
{
	uint32_t use = n > least ? n : least;

	if (n && !(n & (n - 1)) && n <= PEALI_SLOTS_MAX)
		return 0;
	return PEALI_REFUSE(
		PEAL_EINVAL, call, .object = "option", .name = option,
		.number = n, .least = 1, .most = PEALI_SLOTS_MAX,
		.power_of_two = 1,
		.remedy = PEALI_PRINT("use %u", use > PEALI_SLOTS_MAX ?
							PEALI_SLOTS_MAX :
							peali_slots_for(use)));
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
		return PEALI_REFUSE(
			PEAL_EINVAL, call, .object = "option",
			.name = PEALI_PRINT("%smessage_bytes", prefix),
			.problem = PEALI_PRINT("is too large for policy %s",
					       names[slots->policy]),
			.number = slots->message_bytes, .least = 1,
			.most = most);
	slots->bytes = peali_publication_slot(
		slots->policy, HEADER_BYTES + slots->message_bytes);
	return 0;
}
