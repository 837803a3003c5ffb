/* SPDX-License-Identifier: Apache-2.0 */
#include "cost.h"

#include <stdio.h>

/* Rows as JSON. Each number is a mean per message. */

struct column {
	const char *name;
	uint64_t count;
};

static uint64_t in_memory(const struct ptx_counts *c, enum ptx_memory memory)
{
	uint64_t n = 0;
	int i;

	for (i = 0; i < PTX_N_ACCESSES; i++)
		n += c->accesses[i][memory];
	return n;
}

static uint64_t of_scopes(const uint64_t *counts)
{
	uint64_t n = 0;
	int i;

	for (i = 0; i < PTX_N_COUNT_SCOPES; i++)
		n += counts[i];
	return n;
}

void cost_print(const struct cost_row *row, const char *target)
{
	static const char *separator = "";
	const struct ptx_counts *c = &row->counts;
	const struct column columns[] = {
		{ "instructions", c->instructions },
		{ "moves", c->by_class[PTX_CLASS_MOVE] },
		{ "branches", c->by_class[PTX_CLASS_BRANCH] },
		{ "loads", c->by_class[PTX_CLASS_LOAD] },
		{ "stores", c->by_class[PTX_CLASS_STORE] },
		{ "atomics", c->by_class[PTX_CLASS_ATOM] },
		{ "host_accesses", in_memory(c, PTX_MEMORY_HOST) },
		{ "global_accesses", in_memory(c, PTX_MEMORY_GLOBAL) },
		{ "shared_accesses", in_memory(c, PTX_MEMORY_SHARED) },
		{ "local_accesses", in_memory(c, PTX_MEMORY_LOCAL) },
		{ "barriers", c->by_class[PTX_CLASS_BARRIER] },
		{ "fences", of_scopes(c->fences) },
		{ "orders", of_scopes(c->orders) },
		{ "system_orders",
		  c->orders[PTX_COUNT_SYS] + c->fences[PTX_COUNT_SYS] },
	};
	uint32_t i;

	printf("%s{\"path\": \"%s\", \"by\": \"%s\", \"message_bytes\": %u, "
	       "\"batch\": %u, \"lanes\": %u, \"target\": \"%s\"",
	       separator, row->path, row->by, row->bytes, row->batch,
	       row->lanes, target);
	for (i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		printf(", \"%s\": %.2f", columns[i].name,
		       (double)columns[i].count / (double)row->messages);
	printf("}");
	separator = ",\n";
}
