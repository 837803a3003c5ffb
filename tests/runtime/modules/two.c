/* SPDX-License-Identifier: Apache-2.0 */
/* Two programs in one file. */
#include <peal/device/kernel.h>

static PEAL_DEV int left_handler(struct peal_worker *w)
{
	(void)w;
	return 0;
}

static PEAL_DEV int right_handler(struct peal_worker *w)
{
	(void)w;
	return 0;
}

#define LEFT(X) X(left_handler, 0, PEAL_SINK)
PEAL_PROGRAM(left, LEFT);
#define RIGHT(X) X(right_handler, 0, PEAL_SINK)
PEAL_PROGRAM(right, RIGHT);
