/* SPDX-License-Identifier: Apache-2.0 */
/* A program without features, for test_features.c. */
#define PEAL_USES 0
#include <peal/device/kernel.h>

/* Passes every message on. Fails on type 1001. On type 1002 it first calls
 * for a feature that the program lacks. */
static PEAL_DEV int pass(struct peal_worker *w)
{
	struct peal_timer none = { 0, 0, 0 };

	if (peal_type(w) == 1001)
		return PEAL_EHANDLER;
	if (peal_type(w) == 1002 && peal_timer_cancel(w, none) != PEAL_ENOTSUP)
		return PEAL_EPROTO;
	return peal_emit(w, 0, peal_type(w), peal_data(w), peal_length(w), 0);
}

#define HANDLERS(X) X(pass, 0, PEAL_EMITS(1, 1))
PEAL_PROGRAM(plain, HANDLERS);
