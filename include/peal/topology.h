/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TOPOLOGY_H
#define PEAL_TOPOLOGY_H

/*
 * The topology of devices: how messages get from one device to another.
 * peal_topology_pair reports the route between two devices. The call probes
 * an unknown pair: one device writes data and the other device checks the data.
 * peal_route_name and peal_verdict_name give printable names. peal_route_parse
 * reads a route from a text.
 */

#include <stdint.h>

#include <peal/errors.h>

PEAL_BEGIN_C

struct peal_runtime;

/** The way that messages take between two ends of a link. Bits, for masks. */
enum peal_route {
	PEAL_ROUTE_NONE = 0,
	PEAL_ROUTE_LOCAL = 1, /* one device: ring in its memory */
	PEAL_ROUTE_PEER = 2, /* ring in the consumer's memory, peer-mapped */
	PEAL_ROUTE_MAPPED_HOST = 4, /* ring in host memory that both map */
	PEAL_ROUTE_STAGED = 8, /* the stager copies between two rings */
	PEAL_ROUTE_PROCESS = 16 /* ring in memory that two processes share */
};

/** The result of probing an ordered pair of devices. */
enum peal_verdict {
	PEAL_VERDICT_UNKNOWN = 0, /* not probed: PEAL_PROBE=off */
	PEAL_VERDICT_OK = 1, /* all data arrived correctly */
	PEAL_VERDICT_NO_ACCESS = 2, /* `from` cannot map the memory of `to` */
	PEAL_VERDICT_WRONG_DATA = 3, /* the data arrived changed */
	PEAL_VERDICT_NEVER_VISIBLE = 4, /* some messages never arrived */
	PEAL_VERDICT_FAULTED = 5, /* the access or the probe failed */
	/*
	 * Correct, but less than half as fast as host memory (emulated devices:
	 * a quarter).
	 */
	PEAL_VERDICT_SLOW = 6
};

/** An ordered pair of devices: `from` writes to the memory of `to`. */
struct peal_pair_info {
	int from, to; /* device indices */
	char kind[16]; /* "nvlink", "xgmi", "pcie", "none", "self" */
	enum peal_route route; /* the default route of a link */
	enum peal_verdict verdict;
	int cached; /* 1: the verdict is from the cache of an earlier run */
	int atomics; /* 1: native read-modify-write works across devices */
	uint64_t latency_ns; /* one way, half a round trip; 0: not measured */
	uint64_t bandwidth_bytes_per_s; /* 0: not measured */
	char reason[160]; /* reason of the verdict or the route */
	/*
	 * Publication policies that links by PEAL_ROUTE_PEER may have: bits
	 * 1 << enum peal_slot_policy. 0: none is verified. A pair with torn
	 * 16-byte stores lacks PEAL_POLICY_ATOM16.
	 */
	uint32_t policies;
};

/**
 * Reports an ordered pair of devices, and probes the pair if it is unknown.
 *
 * A defective pair is no error: `verdict` names the defect. The default route
 * is PEAL_ROUTE_PEER only for two good directions. This direction must have
 * PEAL_VERDICT_OK, and `policies` must not be 0. The opposite direction, by
 * which credits return, may also have PEAL_VERDICT_SLOW.
 *
 * Thread-safe. Blocks while the pair is probed, usually for some milliseconds.
 * Each step of the probe is limited to 1 s. A repeated verification is limited
 * to 3 s. A runtime runs one probe at a time, and other calls wait.
 *
 * @param runtime  an open runtime.
 * @param from     index of the writing device.
 * @param to       index of the device that owns the written memory.
 * @param info_out filled on success.
 * @return 0, or a negative error code:
 * @retval PEAL_ENODEV  there is no such device. The error text names the index
 *                      and the number of devices.
 * @retval PEAL_EINVAL  an argument is NULL, or the setting PEAL_PROBE is
 *                      invalid.
 * @retval PEAL_ENOMEM  no memory for the probe.
 * @retval PEAL_EDRIVER the probe gave no result.
 */
int peal_topology_pair(struct peal_runtime *runtime, int from, int to,
		       struct peal_pair_info *info_out);

/**
 * Returns the name of a route.
 *
 * The names are "local", "peer", "mapped-host", "staged", "process" and
 * "none".
 *
 * Thread-safe, wait-free.
 *
 * @param route one route, not a mask.
 * @return a static string; "?" for any other value.
 */
const char *peal_route_name(enum peal_route route);

/**
 * Returns the route of a name.
 *
 * Thread-safe, wait-free.
 *
 * @param name a name that peal_route_name returns.
 * @return the enum peal_route, 0 or more, or a negative error code:
 * @retval PEAL_EINVAL  no route has the name, or `name` is NULL. The error
 *                      text lists the names.
 */
int peal_route_parse(const char *name);

/**
 * Returns the name of a verdict.
 *
 * The names are "unknown", "ok", "no-access", "wrong-data", "never-visible",
 * "faulted" and "slow".
 *
 * Thread-safe, wait-free.
 *
 * @param verdict a verdict.
 * @return a static string; "?" for any other value.
 */
const char *peal_verdict_name(enum peal_verdict verdict);

PEAL_END_C
#endif
