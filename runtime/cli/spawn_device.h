/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RUNTIME_CLI_SPAWN_DEVICE_H
#define PEAL_RUNTIME_CLI_SPAWN_DEVICE_H

#include "runtime/base/core_set.h"

/* The devices of the machine and the cores near them, for `peal spawn`. */

/** A value of --bind: the cores of each process. */
enum peali_bind {
	PEALI_BIND_NONE, /* all cores of `peal spawn` */
	PEALI_BIND_DEVICE, /* the cores of the NUMA node of its device */
	PEALI_BIND_NUMA /* the cores of one NUMA node, in turn */
};

#define PEALI_BIND_ALLOWED "device, numa or none"

/** A device of the machine. */
struct peali_spawn_device {
	char backend[16]; /* "host", "cuda" or "hip" */
	int local; /* number among the devices of its backend */
	int numa_node; /* -1: not known */
};

/** Parses a value of --bind. Returns 0, or -1 for another text. */
int peali_bind_parse(const char *text, enum peali_bind *out);

/**
 * Lists the devices of the enabled backends. A child process opens the runtime,
 * so that this process holds no device. The process ends the child if a driver
 * does not answer for 12 times PEAL_CONTROL_TIMEOUT_MS.
 *
 * @param out receives at most `most` devices.
 * @return the number of devices, which may exceed `most`. 0: no backend has a
 *         device. -1: a failure with a message.
 */
int peali_spawn_devices(struct peali_spawn_device *out, int most);

/** Sets the environment of this process, so that it sees only the device. */
void peali_spawn_see_only(const struct peali_spawn_device *device);

/**
 * Finds the cores of a NUMA node that are also in a set.
 *
 * @param root put in front of /sys; the system itself has "".
 * @param out the cores, freed by peali_core_set_free. Without such a core, `n`
 *            is 0.
 * @return 0, or -1: no memory.
 */
int peali_node_cores(const char *root, int node,
		     const struct peali_core_set *among,
		     struct peali_core_set *out);

/**
 * Lists the NUMA nodes with a core in a set, in ascending order.
 *
 * @return the number of nodes, at most `most`; -1: no memory.
 */
int peali_numa_nodes(const char *root, const struct peali_core_set *among,
		     int *out, int most);

#endif
