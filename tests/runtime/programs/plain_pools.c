/* SPDX-License-Identifier: Apache-2.0 */
/* A program with pools and proxies, and without requests, for test_features.c. */
#define PEAL_USES (PEAL_USE_POOLS | PEAL_USE_MIGRATION)
#include <peal/device/kernel.h>

static PEAL_DEV int drop(struct peal_worker *w)
{
	(void)w;
	return 0;
}

#define HANDLERS(X) X(drop, 0, PEAL_SINK)
PEAL_PROGRAM(plain_pools, HANDLERS);
