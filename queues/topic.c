/* SPDX-License-Identifier: Apache-2.0 */
#include "queues/topic.h"

#include <string.h>

#include <peal/device/slot.h>

#include "queues/policy.h"
#include "runtime/backend/error.h"

static int check(const struct peali_topic_spec *s, const char *call)
{
	uint32_t most = peal_slot_content_max(
				s->policy, peali_policy_slot_max(s->policy)) -
			(uint32_t)sizeof(struct peal_header);

	if (!s->slots || s->slots & (s->slots - 1) ||
	    s->slots > PEALI_TOPIC_SLOTS_MAX)
		return peali_fail(PEAL_EINVAL, call,
				  "capacity is %u; it must be a power of two "
				  "from 1 to %u",
				  s->slots, PEALI_TOPIC_SLOTS_MAX);
	if (s->message_bytes > most)
		return peali_fail(PEAL_EINVAL, call,
				  "message_bytes is %u; at most %u are "
				  "allowed (policy %s)",
				  s->message_bytes, most,
				  peali_policy_name(s->policy));
	if (!s->n_subscribers || s->n_subscribers > PEALI_TOPIC_SUBSCRIBERS_MAX)
		return peali_fail(PEAL_EINVAL, call,
				  "subscribers is %u; allowed are 1 to %u",
				  s->n_subscribers,
				  PEALI_TOPIC_SUBSCRIBERS_MAX);
	if (s->mode > PEAL_TOPIC_OVERWRITE)
		return peali_fail(PEAL_EINVAL, call,
				  "overwrite is %u; allowed are 0 (wait) and "
				  "1 (overwrite)",
				  s->mode);
	return 0;
}

int peali_topic_spec_complete(struct peali_topic_spec *spec, uint32_t policies,
			      uint32_t default_policy, const char *call)
{
	struct peali_topic_spec s = *spec;
	int result;

	if (!s.message_bytes)
		s.message_bytes = PEALI_TOPIC_MESSAGE_DEFAULT;
	result = peali_policy_choose(&s.policy, policies, default_policy,
				     "policy", "the device", call);
	if (result == 0)
		result = check(&s, call);
	if (result)
		return result;
	s.slot_bytes = peali_policy_slot(s.policy,
					 (uint32_t)sizeof(struct peal_header) +
						 s.message_bytes);
	*spec = s;
	return 0;
}

static uint64_t slots_offset(const struct peali_topic_spec *spec)
{
	return sizeof(struct peal_topic) +
	       (uint64_t)spec->n_subscribers * sizeof(struct peal_topic_cursor);
}

uint64_t peali_topic_bytes(const struct peali_topic_spec *spec)
{
	uint64_t bytes =
		slots_offset(spec) + (uint64_t)spec->slots * spec->slot_bytes;

	return (bytes + PEAL_SHARED_LINE - 1) / PEAL_SHARED_LINE *
	       PEAL_SHARED_LINE;
}

void peali_topic_header(struct peal_topic *out,
			const struct peali_topic_spec *spec)
{
	memset(out, 0, sizeof(*out));
	out->magic = PEAL_TOPIC_MAGIC;
	out->slot_bytes = spec->slot_bytes;
	while (1u << out->capacity_log2 < spec->slots)
		out->capacity_log2++;
	out->message_bytes = spec->message_bytes;
	out->policy = spec->policy;
	out->mode = spec->mode;
	out->n_cursors = spec->n_subscribers;
	out->cursors_offset = sizeof(*out);
	out->slots_offset = slots_offset(spec);
}
