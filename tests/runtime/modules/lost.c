/* SPDX-License-Identifier: Apache-2.0 */
/* A program that calls a function that does not exist. */
#include <peal/device/kernel.h>

#if PEAL_ON_HOST
PEAL_EXTERN_C int undefined_function(void);
#endif

static PEAL_DEV int call(struct peal_worker *w)
{
	(void)w;
#if PEAL_ON_HOST
	return undefined_function();
#else
	return 0;
#endif
}

#define HANDLERS(X) X(call, 0, PEAL_SINK)
PEAL_PROGRAM(lost, HANDLERS);
