/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the kind of a queue and completes its options: see queue_select.h. */
#include "queues/queue_select.h"

#include <string.h>

#include "queues/publication.h"
#include "queues/queue.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"

/* Cheapest first: the first kind that serves the options is chosen. */
static const struct peali_queue_kind *const kinds[] = {
	&peali_queue_link,
	&peali_queue_mailbox,
	&peali_queue_work,
	&peali_queue_topic,
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

#define CAPACITY_DEFAULT 1024

const char *peal_queue_kind_name(uint32_t kind)
{
	size_t i;

	for (i = 0; i < KINDS; i++)
		if (kinds[i]->kind == kind)
			return kinds[i]->name;
	return "?";
}

static int complete_ends(const char *option, uint32_t *n, const char *call)
{
	if (!*n)
		*n = 1;
	if (*n > PEAL_QUEUE_ENDS)
		return peali_refuse_option(call, option, *n, 0,
					   PEAL_QUEUE_ENDS);
	return 0;
}

static int choose_kind(const struct peal_queue_options *o,
		       const struct peali_queue_kind **out, const char *call)
{
	size_t i;

	for (i = 0; i < KINDS; i++) {
		if (o->kind ? o->kind != kinds[i]->kind : kinds[i]->to_each)
			continue;
		*out = kinds[i];
		if (o->max_producers <= kinds[i]->producers &&
		    o->max_consumers <= kinds[i]->consumers)
			return 0;
		if (o->kind)
			return PEALI_REFUSE(
				PEAL_EINVAL, call, .object = "option",
				.name = "kind",
				.problem = PEALI_PRINT(
					"is %s, which has too few ends",
					kinds[i]->name),
				.value = PEALI_PRINT("max_producers %u, "
						     "max_consumers %u",
						     o->max_producers,
						     o->max_consumers),
				.allowed = PEALI_PRINT("up to %u and %u",
						       kinds[i]->producers,
						       kinds[i]->consumers),
				.remedy = kinds[i]->to_each ?
						  "use fewer ends" :
						  "set kind to 0 to "
						  "select a kind that "
						  "fits");
	}
	return PEALI_REFUSE(PEAL_EINVAL, call, .object = "option",
			    .name = "kind",
			    .problem = "is not of enum peal_queue_kind",
			    .number = o->kind, .most = (uint32_t)KINDS,
			    .remedy = "use 0 to select a kind");
}

/* From 64 slots on, a work queue frees slots in blocks. */
static uint32_t slots_needed(const struct peali_queue_plan *plan,
			     uint32_t slots)
{
	uint32_t producers = plan->options.max_producers;

	return plan->kind == &peali_queue_work && slots > 32 ? 2 * producers :
							       producers;
}

/* Returns the least legal capacity for the producers. */
static uint32_t slots_for_producers(const struct peali_queue_plan *plan)
{
	uint32_t slots = peali_slots_for(plan->options.max_producers);

	return slots < slots_needed(plan, slots) ? 2 * slots : slots;
}

/* Refuses a capacity that cannot serve all producers at once. */
static int check_producers(const struct peali_queue_plan *plan,
			   const char *call)
{
	const struct peal_queue_options *o = &plan->options;

	if (o->capacity >= slots_needed(plan, o->capacity))
		return 0;
	return peali_slots_refuse(
		"capacity", o->capacity, slots_for_producers(plan),
		PEALI_PRINT("is too small for %u producer%s", o->max_producers,
			    peali_s(o->max_producers)),
		"max_producers", call);
}

/* Checks the sizes here, so that errors name these options. */
static int check_sizes(const struct peali_queue_plan *plan, const char *call)
{
	const struct peal_queue_options *o = &plan->options;
	uint32_t in_slot = peali_publication_message_max(o->policy);

	if (peali_slots_check("capacity", o->capacity,
			      slots_for_producers(plan), call) ||
	    check_producers(plan, call))
		return PEAL_EINVAL;
	if (o->reserved)
		return peali_refuse_option(call, "reserved", o->reserved, 0, 0);
	if (plan->kind != &peali_queue_link && o->message_bytes > in_slot)
		return PEALI_REFUSE(
			PEAL_EINVAL, call, .object = "option",
			.name = "message_bytes",
			.problem = PEALI_PRINT(
				"is too large for the slots of a %s",
				plan->kind->name),
			.number = o->message_bytes, .most = in_slot);
	if (o->overwrite > 1)
		return peali_refuse_option(call, "overwrite", o->overwrite, 0,
					   1);
	if (plan->kind != &peali_queue_topic && o->overwrite)
		return PEALI_REFUSE(
			PEAL_EINVAL, call, .object = "option",
			.name = "overwrite",
			.problem = PEALI_PRINT(
				"is only for topics, and kind is %s",
				plan->kind->name),
			.number = o->overwrite,
			.remedy = "use 0, or kind PEAL_QUEUE_TOPIC");
	return 0;
}

/*
 * Returns the most messages of one push. Producers that lease slots share the
 * capacity, and each can always get so many slots in the end.
 */
static uint32_t bulk_max(const struct peali_queue_plan *plan)
{
	uint32_t most = plan->options.capacity;

	if (plan->kind->leases)
		most /= 2 * plan->options.max_producers;
	if (most > PEAL_QUEUE_BURST)
		return PEAL_QUEUE_BURST;
	return most ? most : 1;
}

/* `each` is the bytes of every message; 0: lengths differ. */
static int complete_bytes(struct peali_queue_plan *plan, uint64_t each,
			  const char *call)
{
	uint64_t *most = &plan->options.message_bytes;

	if (each && *most && *most != each)
		return PEALI_REFUSE(
			PEAL_EINVAL, call, .object = "option",
			.name = "message_bytes",
			.problem = "differs from the length of the "
				   "messages",
			.number = *most,
			.allowed = PEALI_PRINT("0 or %llu",
					       (unsigned long long)each),
			.remedy = "use 0");
	if (each)
		*most = each;
	if (!*most)
		*most = PEALI_MESSAGE_DEFAULT;
	return 0;
}

/* Chooses the policy first: all sizes depend on it. */
static int complete_policy(struct peali_queue_plan *plan, const char *call)
{
	return peali_publication_choose(&plan->options.policy, plan->policies,
					plan->default_policy, "policy",
					plan->user, call);
}

int peali_queue_select(struct peali_queue_plan *plan,
		       const struct peal_queue_options *options, uint64_t each,
		       const char *call)
{
	struct peal_queue_options *mine = &plan->options;
	int result = peali_options_copy(mine, sizeof(*mine), options, call);

	if (result)
		return result;
	if (!mine->capacity)
		mine->capacity = CAPACITY_DEFAULT;
	result = complete_bytes(plan, each, call);
	if (!result)
		result = complete_ends("max_producers", &mine->max_producers,
				       call);
	if (!result)
		result = complete_ends("max_consumers", &mine->max_consumers,
				       call);
	if (!result)
		result = choose_kind(mine, &plan->kind, call);
	if (!result)
		result = complete_policy(plan, call);
	if (!result)
		result = check_sizes(plan, call);
	if (result)
		return result;
	mine->kind = plan->kind->kind;
	plan->bulk = bulk_max(plan);
	plan->stages = plan->stage = plan->credit = plan->bytes = 0;
	memset(&plan->spec, 0, sizeof(plan->spec));
	return plan->kind->plan(plan, call);
}

uint64_t peali_queue_header(const struct peali_queue_plan *plan, void *out)
{
	return plan->kind->header(plan, out);
}
