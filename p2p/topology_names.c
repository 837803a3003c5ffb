/* SPDX-License-Identifier: Apache-2.0 */
/* Names of routes and verdicts. */
#include <peal/topology.h>

#include <stddef.h>
#include <string.h>

#include "runtime/base/refusal.h"

static const struct {
	enum peal_route route;
	const char *name;
} routes[] = {
	{ PEAL_ROUTE_LOCAL, "local" },
	{ PEAL_ROUTE_PEER, "peer" },
	{ PEAL_ROUTE_MAPPED_HOST, "mapped-host" },
	{ PEAL_ROUTE_STAGED, "staged" },
	{ PEAL_ROUTE_PROCESS, "process" },
	{ PEAL_ROUTE_NONE, "none" },
};

#define N_ROUTES (sizeof(routes) / sizeof(routes[0]))

static const char *const verdicts[] = {
	[PEAL_VERDICT_UNKNOWN] = "unknown",
	[PEAL_VERDICT_OK] = "ok",
	[PEAL_VERDICT_NO_ACCESS] = "no-access",
	[PEAL_VERDICT_WRONG_DATA] = "wrong-data",
	[PEAL_VERDICT_NEVER_VISIBLE] = "never-visible",
	[PEAL_VERDICT_FAULTED] = "faulted",
	[PEAL_VERDICT_SLOW] = "slow",
};

const char *peal_route_name(enum peal_route route)
{
	size_t i;

	for (i = 0; i < N_ROUTES; i++) {
		if (routes[i].route == route)
			return routes[i].name;
	}
	return "?";
}

int peal_route_parse(const char *name)
{
	size_t i;

	for (i = 0; name && i < N_ROUTES; i++) {
		if (!strcmp(routes[i].name, name))
			return (int)routes[i].route;
	}
	return PEALI_REFUSE(
		PEAL_EINVAL, "peal_route_parse", .object = "argument",
		.name = "name", .problem = "is no route",
		.value = name ? name : "NULL",
		.allowed = "local, peer, mapped-host, staged, process or "
			   "none",
		.remedy = "use staged");
}

const char *peal_verdict_name(enum peal_verdict verdict)
{
	size_t i = (size_t)verdict;

	return i < sizeof(verdicts) / sizeof(verdicts[0]) ? verdicts[i] : "?";
}
