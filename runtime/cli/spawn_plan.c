/* SPDX-License-Identifier: Apache-2.0 */
/* Plans the processes of `peal spawn`: their number, devices and cores. */
#include <errno.h>
#include <string.h>

#include "runtime/base/env.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/cli/command.h"
#include "runtime/cli/output.h"
#include "runtime/cli/spawn_state.h"

static int refuse(const char *problem, int value, const char *allowed,
		  const char *remedy)
{
	peali_say_refused(PEALI_REFUSAL(.object = "option",
					.name = "--processes",
					.problem = problem,
					.value = PEALI_PRINT("%d", value),
					.allowed = allowed, .remedy = remedy));
	return PEALI_EXIT_FAILED;
}

/* The parts of one GPU cannot be hidden one by one. */
static int check_split(const struct spawn *s)
{
	uint64_t parts = 1;
	int rank;

	if (peali_env_number(PEALI_ENV_GPU_SPLIT, &parts))
		return peali_say_error(NULL);
	for (rank = 0; rank < s->n && parts > 1; rank++) {
		if (!strcmp(s->device[rank].backend, "host"))
			continue;
		peali_say_refused(PEALI_REFUSAL(
				.object = "variable", .name = "PEAL_GPU_SPLIT",
				.problem =
					"splits GPUs, but a process sees whole GPUs",
				.number = parts, .least = 1, .most = 1,
				.remedy =
					"unset it, or give -n N without --bind "
					"device"));
		return PEALI_EXIT_FAILED;
	}
	return 0;
}

static int refuse_no_device(const struct spawn *s)
{
	if (!s->n)
		return refuse("is missing, and no device can be used", 0,
			      PEALI_PRINT("1..%d", PROCESS_GROUP_MAX),
			      "set it by -n N");
	peali_say_refused(
		PEALI_REFUSAL(.object = "option", .name = "--bind",
			      .problem = "finds no device that can be used",
			      .value = "device", .allowed = "numa or none",
			      .remedy = "use --bind none"));
	return PEALI_EXIT_FAILED;
}

/* Process i gets device i. */
static int assign_devices(struct spawn *s)
{
	int n = peali_spawn_devices(s->device, PROCESS_GROUP_MAX);

	if (n < 0) /* the process that opened them has said why */
		return PEALI_EXIT_FAILED;
	if (!n)
		return refuse_no_device(s);
	if (n > PROCESS_GROUP_MAX && !s->n)
		return refuse("is missing, and the devices are too many", n,
			      PEALI_PRINT("1..%d", PROCESS_GROUP_MAX),
			      "set it by -n N");
	if (s->n > n)
		return refuse("exceeds the devices for --bind device", s->n,
			      PEALI_PRINT("1..%d", n),
			      PEALI_PRINT("use -n %d, or --bind numa", n));
	if (!s->n)
		s->n = n;
	s->assigns = 1;
	return check_split(s);
}

static int no_memory(void)
{
	peali_say("no memory");
	return PEALI_EXIT_FAILED;
}

/* A device without a known NUMA node leaves its process unbound. */
static int bind_to_devices(struct spawn *s)
{
	int rank;

	for (rank = 0; rank < s->n; rank++)
		if (s->device[rank].numa_node >= 0 &&
		    peali_node_cores("", s->device[rank].numa_node,
				     peali_process_cores(),
				     &s->process[rank].cores))
			return no_memory();
	return 0;
}

/* Without NUMA nodes in /sys, the machine has one node, and binds nothing. */
static int bind_to_nodes(struct spawn *s)
{
	int nodes[PROCESS_GROUP_MAX], rank;
	int n = peali_numa_nodes("", peali_process_cores(), nodes,
				 PROCESS_GROUP_MAX);

	if (n < 0)
		return no_memory();
	for (rank = 0; rank < s->n && n; rank++)
		if (peali_node_cores("", nodes[rank % n], peali_process_cores(),
				     &s->process[rank].cores))
			return no_memory();
	return 0;
}

int peali_spawn_plan(struct spawn *s)
{
	int result = 0;

	if (!s->n || s->bind == PEALI_BIND_DEVICE)
		result = assign_devices(s);
	if (!result && s->bind == PEALI_BIND_DEVICE)
		result = bind_to_devices(s);
	if (!result && s->bind == PEALI_BIND_NUMA)
		result = bind_to_nodes(s);
	return result;
}

int peali_spawn_place(const struct spawn *s, int rank)
{
	const struct peali_core_set *cores = &s->process[rank].cores;

	if (s->assigns)
		peali_spawn_see_only(&s->device[rank]);
	if (cores->n && sched_setaffinity(0, cores->bytes, cores->bits))
		return errno;
	return 0;
}
