/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of a kernel: defaults and ranges. kernel_launch.c checks the limits
 * of the device. Files of single features, such as timer.c, check further rules.
 */

#include <peal/abi/monitor.h>
#include "runtime/kernel/options.h"

#include "queues/mailbox.h"
#include "runtime/base/math.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/kernel/device_spawned.h"
#include "runtime/kernel/features.h"
#include "runtime/runtime.h"

#define CALL "peal_kernel_launch"

/* An option: `standard` replaces 0. Then low <= option <= high must hold. */
struct option {
	const char *name;
	size_t offset, bytes;
	uint64_t standard, low, high;
};

#define OPTION(field, standard, low, high)                                     \
	{                                                                      \
#field, offsetof(struct peal_kernel_options, field),           \
			sizeof(((struct peal_kernel_options *)0)->field),      \
			standard, low, high                                    \
	}

/* The comments name the file or function that checks the largest value. */
static const struct option options[] = {
	OPTION(workers, 1, 1, 65535),
	OPTION(lanes, 1, 1, 1024),
	OPTION(max_actors, 64, 1, 1 << 24),
	OPTION(max_inputs, 16, 1, 4096),
	OPTION(max_ports, 16, 1, 4096),
	OPTION(max_barriers, 4, 1, 256),
	OPTION(max_pools, 1, 1, 64),
	OPTION(max_supervisors, 0, 0, 65535),
	OPTION(max_timers, 0, 0, 1 << 20),
	OPTION(max_asks, 0, 0, 65535),
	OPTION(max_monitors, 0, 0, 1 << PEAL_MONITOR_BITS),
	OPTION(mailbox.max_limits, 0, 0, PEAL_LIMITS_MAX),
	OPTION(mailbox.priority, 0, 0, 1),
	OPTION(mailbox.message_bytes, 48, 0, UINT32_MAX), /* queues/mailbox.h */
	OPTION(spawn.max_actors, 0, 0, 1 << 24),
	OPTION(spawn.state_bytes, 0, 0, UINT32_MAX), /* device_spawned.c */
	OPTION(arena_bytes, 1 << 20, 1, 1ULL << 40),
	OPTION(cluster.bytes, 32 << 10, 0, UINT32_MAX), /* check_cluster */
	OPTION(on_failure, PEAL_FAILURE_CONTINUE, 0, PEAL_FAILURE_END),
	OPTION(drain_when_inputs_end, 0, 0, 1),
	OPTION(reserved, 0, 0, 0),
};

static int check_range(const char *name, uint64_t value, uint64_t low,
		       uint64_t high)
{
	if (value >= low && value <= high)
		return 0;
	return peali_refuse_option(CALL, name, value, low, high);
}

int peali_refuse_without_mailboxes(const char *name, uint32_t value)
{
	return PEALI_REFUSE(PEAL_EINVAL, CALL, .object = "option", .name = name,
			    .problem = "needs mailboxes, and "
				       "mailbox.slots is 0",
			    .number = value, .remedy = "set mailbox.slots");
}

/* Sets the default of one option if it is 0, and checks its range. */
static int complete(struct peal_kernel_options *o, const struct option *option)
{
	uint8_t *field = (uint8_t *)o + option->offset;
	uint64_t value;

	if (option->bytes == sizeof(uint32_t)) {
		if (!*(uint32_t *)(void *)field)
			*(uint32_t *)(void *)field = (uint32_t)option->standard;
		value = *(uint32_t *)(void *)field;
	} else {
		if (!*(uint64_t *)(void *)field)
			*(uint64_t *)(void *)field = option->standard;
		value = *(uint64_t *)(void *)field;
	}
	return check_range(option->name, value, option->low, option->high);
}

/*
 * Checks the cluster options, whatever the device. Clears them for clusters of
 * one worker.
 */
static int check_cluster(struct peal_kernel_options *o)
{
	uint32_t n = o->cluster.workers;

	if (n > PEAL_CLUSTER_WORKERS_MAX || (n & (n - 1)))
		return PEALI_REFUSE(PEAL_EINVAL, CALL, .object = "option",
				    .name = "cluster.workers", .number = n,
				    .allowed = "0, 1, 2, 4 or 8",
				    .most = PEAL_CLUSTER_WORKERS_MAX,
				    .power_of_two = 1);
	if (n && o->workers % n)
		return PEALI_REFUSE(
			PEAL_EINVAL, CALL, .object = "option",
			.name = "workers",
			.problem = "must be a multiple of cluster.workers",
			.number = o->workers,
			.allowed = PEALI_PRINT("multiples of %u", n),
			.least = n, .most = 65535, .multiple = n);
	if (n < 2) {
		o->cluster.workers = o->cluster.bytes = 0;
		return 0;
	}
	if (o->cluster.bytes > 1 << 20)
		return check_range("cluster.bytes", o->cluster.bytes, 1,
				   1 << 20);
	o->cluster.bytes = (uint32_t)peali_whole_lines(o->cluster.bytes);
	return 0;
}

/* Returns PEAL_EINVAL if an option needs mailboxes and there are none. */
static int check_mailboxes(const struct peal_kernel_options *o)
{
	const char *name = o->mailbox.priority ? "mailbox.priority" :
						 "mailbox.forward_slots";
	uint32_t value = o->mailbox.priority ? o->mailbox.priority :
					       o->mailbox.forward_slots;

	if (!value || o->mailbox.slots)
		return 0;
	return peali_refuse_without_mailboxes(name, value);
}

/*
 * Sets the default of mailbox.forward_slots: mailbox.slots, or less if
 * mailbox.slots and asks leave fewer slots of a mailbox.
 */
static void complete_forward_slots(struct peal_kernel_options *o)
{
	uint64_t used = (uint64_t)o->mailbox.slots +
			(o->max_asks ? o->max_asks + 1ULL : 0);
	uint64_t left = used < PEALI_MAILBOX_SLOTS_MAX ?
				PEALI_MAILBOX_SLOTS_MAX - used :
				0;

	if (!o->mailbox.forward_slots)
		o->mailbox.forward_slots = o->mailbox.slots < left ?
						   o->mailbox.slots :
						   (uint32_t)left;
}

int peali_kernel_options_complete(struct peal_kernel_options *o,
				  const struct peal_runtime *rt,
				  const struct peal_program *program)
{
	size_t i;
	int result = 0;

	if (!o->lease_ns)
		o->lease_ns = rt->lease_ns;
	if (!o->name)
		o->name = program->name;
	for (i = 0; i < sizeof(options) / sizeof(options[0]) && !result; i++)
		result = complete(o, &options[i]);
	if (!result)
		result = check_range("lease_ns", o->lease_ns,
				     PEALI_LEASE_NS_MIN, UINT64_MAX);
	if (!result)
		result = peali_spawned_check(o, program);
	if (!result)
		result = check_cluster(o);
	if (!result)
		result = peali_features_check(o, program);
	complete_forward_slots(o);
	return result ? result : check_mailboxes(o);
}
