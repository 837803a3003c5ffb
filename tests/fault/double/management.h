/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MANAGEMENT_H
#define MANAGEMENT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Shared by the doubles of NVML and ROCm SMI. They describe the devices of the
 * driver doubles, under the PCI addresses of these devices. The peal command
 * knows by the symbol peal_management_double that the library is a double.
 *
 * Environment:
 *	PEAL_DOUBLE_SMI		KEY=NUMBER, commas between; see nvml.c
 *	PEAL_DOUBLE_TOPOLOGY	A-B:LINK, commas between, as in
 *				0-1:NV4,0-2:PXB,3-S:NV6 (S: a switch); of
 *				ROCm SMI 0-1:XGMI
 *	PEAL_DOUBLE_FAIL_SMI	a symbol: all its calls fail
 */

#define MANAGEMENT_API __attribute__((visibility("default")))
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

MANAGEMENT_API const int peal_management_double = 1;

static inline const char *management_environment(const char *name)
{
	const char *text = getenv(name);

	return text ? text : "";
}

static inline long management_number(const char *key, long otherwise)
{
	const char *at = management_environment("PEAL_DOUBLE_SMI");
	size_t n = strlen(key);

	for (; *at; at += strcspn(at, ","), at += *at == ',')
		if (!strncmp(at, key, n) && at[n] == '=')
			return atol(at + n + 1);
	return otherwise;
}

static inline int management_fails(const char *symbol)
{
	return !strcmp(management_environment("PEAL_DOUBLE_FAIL_SMI"), symbol);
}

/** One entry of the topology. */
struct management_entry {
	int a, b; /* b -1: a switch */
	char link[8];
};

/* Reads the entry at *at and moves on. Returns 0 behind the last entry. */
static inline int management_entry(const char **at,
				   struct management_entry *out)
{
	char other[8];
	int used = 0;

	if (sscanf(*at, "%d-%7[^:]:%7[^,]%n", &out->a, other, out->link,
		   &used) != 3)
		return 0;
	out->b = *other == 'S' ? -1 : atoi(other);
	*at += used;
	*at += **at == ',';
	return 1;
}

#endif
