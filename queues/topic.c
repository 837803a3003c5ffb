/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes and header of a topic: see topic.h. */
#include "queues/topic.h"

#include <string.h>

#include "queues/publication.h"
#include "runtime/base/math.h"
#include "runtime/base/refusal.h"

static int check(const struct peali_topic_spec *s, const char *call)
{
	if (!s->n_subscribers || s->n_subscribers > PEALI_TOPIC_SUBSCRIBERS_MAX)
		return peali_refuse_option(call, "max_subscribers",
					   s->n_subscribers, 1,
					   PEALI_TOPIC_SUBSCRIBERS_MAX);
	if (s->mode > PEAL_TOPIC_OVERWRITE)
		return peali_refuse_option(call, "overwrite", s->mode, 0,
					   PEAL_TOPIC_OVERWRITE);
	return 0;
}

int peali_topic_spec_complete(struct peali_topic_spec *spec, uint32_t policies,
			      uint32_t default_policy, const char *call)
{
	struct peali_topic_spec s = *spec;
	struct peali_slots slots = { s.slots, s.message_bytes, s.policy, 0 };
	int result;

	result = peali_slots_complete(&slots, "", policies, default_policy,
				      call);
	if (result)
		return result;
	s.message_bytes = slots.message_bytes;
	s.policy = slots.policy;
	s.slot_bytes = slots.bytes;
	result = check(&s, call);
	if (!result)
		*spec = s;
	return result;
}

static uint64_t slots_offset(const struct peali_topic_spec *spec)
{
	return sizeof(struct peal_topic) +
	       (uint64_t)spec->n_subscribers * sizeof(struct peal_topic_cursor);
}

uint64_t peali_topic_bytes(const struct peali_topic_spec *spec)
{
	return peali_whole_lines(slots_offset(spec) +
				 (uint64_t)spec->slots * spec->slot_bytes);
}

void peali_topic_header(struct peal_topic *out,
			const struct peali_topic_spec *spec)
{
	memset(out, 0, sizeof(*out));
	out->magic = PEAL_TOPIC_MAGIC;
	out->slot_bytes = spec->slot_bytes;
	out->capacity_log2 = peali_log2(spec->slots);
	out->message_bytes = spec->message_bytes;
	out->policy = spec->policy;
	out->mode = spec->mode;
	out->n_cursors = spec->n_subscribers;
	out->cursors_offset = sizeof(*out);
	out->slots_offset = slots_offset(spec);
}
