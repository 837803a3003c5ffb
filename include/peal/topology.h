/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TOPOLOGY_H
#define PEAL_TOPOLOGY_H

#include <stdint.h>

#include <peal/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peal_runtime;

/** How messages get from one place to another. Bits, for masks. */
enum peal_route {
	PEAL_ROUTE_NONE = 0,
	PEAL_ROUTE_LOCAL = 1, /* one device: ring in its memory */
	PEAL_ROUTE_PEER = 2, /* ring in the consumer's memory, mapped */
	PEAL_ROUTE_MAPPED_HOST = 4, /* ring in host memory that both map */
	PEAL_ROUTE_STAGED = 8, /* the router copies between two rings */
	PEAL_ROUTE_PROCESS = 16 /* ring in memory that two processes share */
};

/** What the probe found of an ordered pair. */
enum peal_verdict {
	PEAL_VERDICT_UNKNOWN = 0, /* not probed (yet) */
	PEAL_VERDICT_OK = 1,
	PEAL_VERDICT_NO_ACCESS = 2, /* the devices cannot map each other */
	PEAL_VERDICT_WRONG_DATA = 3, /* what arrived is not what was written */
	PEAL_VERDICT_NEVER_VISIBLE = 4, /* nothing arrived within the bound */
	PEAL_VERDICT_FAULTED = 5, /* the access failed */
	PEAL_VERDICT_SLOW = 6 /* right, but slower than through host memory */
};

/** An ordered pair of devices: `from` writes to `to`. */
struct peal_pair_info {
	int from, to;
	char kind[16]; /* "nvlink", "pcie", "none", "self" */
	enum peal_route route; /* what a link takes if it may choose */
	enum peal_verdict verdict;
	int cached; /* the verdict is of an earlier run */
	int atomics; /* native read-modify-write works across */
	uint64_t latency_ns; /* one way, half a round trip; 0: not measured */
	uint64_t bandwidth_bytes_per_s; /* 0: not measured */
	char why[160]; /* why this route */
};

/**
 * What is known of an ordered pair; probes it if that was not done yet.
 *
 * @param runtime  an open runtime.
 * @param from     the device that writes.
 * @param to       the device whose memory is written.
 * @param info_out filled on success.
 * @return 0; PEAL_ENODEV (the text says which index and how many there are);
 *         PEAL_EINVAL. Thread-safe; blocks while the pair is probed, at most
 *         about a second.
 */
int peal_topology_pair(struct peal_runtime *runtime, int from, int to,
		       struct peal_pair_info *info_out);

/**
 * The name of a route: "local", "peer", "mapped-host", "staged",
 * "process", "none".
 *
 * @param route one route, not a mask.
 * @return a static string. Thread-safe, wait-free.
 */
const char *peal_route_name(enum peal_route route);

/**
 * The route of a name.
 *
 * @param name as peal_route_name gives it.
 * @return the route, or PEAL_EINVAL (the text lists the names). Thread-safe.
 */
int peal_route_parse(const char *name);

/**
 * The name of a verdict: "ok", "wrong-data", ...
 *
 * @param verdict any.
 * @return a static string. Thread-safe, wait-free.
 */
const char *peal_verdict_name(enum peal_verdict verdict);

#ifdef __cplusplus
}
#endif
#endif
