/* SPDX-License-Identifier: Apache-2.0 */
/* A program without features, for test_features.c. */
#define PEAL_USES 0
#include <peal/device/kernel.h>

/* Makes a call for each feature that the program lacks. Returns how many calls
 * have not returned PEAL_ENOTSUP. */
static PEAL_DEV int supported(struct peal_worker *w)
{
	struct peal_timer none = { 0, 0, 0 };
	uint64_t number = 0;
	uint32_t actor = 0;

	return (peal_timer_cancel(w, none) != PEAL_ENOTSUP) +
	       (peal_ask(w, 0, 0, 0, 0, 0, 0, &number) != PEAL_ENOTSUP) +
	       (peal_spawn(w, 0, 0, 0, 0, &actor) != PEAL_ENOTSUP) +
	       (peal_monitor_set(w, 1, 0, 0, 0, &number) != PEAL_ENOTSUP);
}

/* Passes every message on. Fails on type 1001. On type 1002 it first makes the
 * calls of supported(). */
static PEAL_DEV int pass(struct peal_worker *w)
{
	if (peal_type(w) == 1001)
		return PEAL_EHANDLER;
	if (peal_type(w) == 1002 && supported(w))
		return PEAL_EPROTO;
	return peal_emit(w, 0, peal_type(w), peal_data(w), peal_length(w), 0);
}

#define HANDLERS(X) X(pass, 0, PEAL_EMITS(1, 1))
PEAL_PROGRAM(plain, HANDLERS);
