/* SPDX-License-Identifier: Apache-2.0 */
/* A program with a symbol for another name. */
#include <peal/device/kernel.h>

static PEAL_DEV int ignore(struct peal_worker *w)
{
	(void)w;
	return 0;
}

#define peal_program_named peal_program_misnamed
#define HANDLERS(X) X(ignore, 0, PEAL_SINK)
PEAL_PROGRAM(named, HANDLERS);
