/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/kernel/features.h"

#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/kernel/kernel.h"

#include <peal/device/atomic.h>

#define CALL "peal_kernel_launch"

int peali_program_needs(const struct peal_program *program, uint32_t feature,
			const char *name, const char *call, const char *what)
{
	if ((program->uses & feature) == feature)
		return 0;
	return PEALI_REFUSE(
		PEAL_ENOTSUP, call, .object = "program", .name = program->name,
		.problem = PEALI_PRINT("lacks the feature that %s needs", what),
		.value = PEALI_PRINT("PEAL_USES %#x", program->uses),
		.allowed = PEALI_PRINT("a value with %s", name),
		.remedy =
			PEALI_PRINT("add %s to PEAL_USES in its source", name));
}

int peali_features_check_image(const struct peal_kernel *k, uint32_t worker,
			       const char *call)
{
	uint64_t told = peal_load_relaxed_sys(&k->status[worker].uses);

	if (!told || told == 1ULL + k->program->uses)
		return 0;
	return PEALI_REFUSE(
		PEAL_EPROGRAM, call, .object = "program",
		.name = k->program->name,
		.problem = PEALI_PRINT(
			"has a device image with other features on device %d",
			k->device),
		.value = PEALI_PRINT("PEAL_USES %#llx",
				     (unsigned long long)told - 1),
		.allowed = PEALI_PRINT("%#x", k->program->uses),
		.remedy = "define PEAL_USES in the source, not in the build");
}

/* An option that is not 0 needs a feature. */
struct need {
	const char *option;
	size_t offset;
	uint32_t feature;
	const char *name;
};

#define NEED(field, feature)                                                   \
	{                                                                      \
		"option '" #field "'",                                         \
			offsetof(struct peal_kernel_options, field),           \
			PEAL_USE_##feature, "PEAL_USE_" #feature               \
	}

static const struct need needs[] = {
	NEED(mailbox.slots, MAIL),	  NEED(mailbox.priority, PRIORITIES),
	NEED(mailbox.max_limits, LIMITS), NEED(max_supervisors, SUPERVISION),
	NEED(max_monitors, SUPERVISION),  NEED(on_failure, SUPERVISION),
	NEED(max_timers, TIMERS),	  NEED(max_asks, ASKS),
	NEED(spawn.max_actors, SPAWNING), NEED(cluster.workers, CLUSTERS),
};

int peali_features_check(const struct peal_kernel_options *options,
			 const struct peal_program *program)
{
	const uint8_t *base = (const uint8_t *)options;
	size_t i;
	int result = 0;

	for (i = 0; i < sizeof(needs) / sizeof(needs[0]) && !result; i++)
		if (*(const uint32_t *)(const void *)(base + needs[i].offset))
			result = peali_program_needs(program, needs[i].feature,
						     needs[i].name, CALL,
						     needs[i].option);
	return result;
}
