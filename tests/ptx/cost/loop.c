/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resident loop with handlers that return their message. `echo` gets and
 * emits by links. `pass` gets by its mailbox and tells an actor of the next
 * worker. `respond` replies to a request.
 */
#define PEAL_USES (PEAL_USE_MAIL | PEAL_USE_REQUESTS)
#include <peal/device/kernel.h>

#include "tests/ptx/cost/loop.h"

static PEAL_DEV int echo(struct peal_worker *w)
{
	return peal_emit(w, 0, peal_type(w), peal_data(w), peal_length(w), 0);
}

static PEAL_DEV int pass(struct peal_worker *w)
{
	return peal_tell(w, COST_NEXT, peal_type(w), peal_data(w),
			 peal_length(w), 0);
}

static PEAL_DEV int respond(struct peal_worker *w)
{
	return peal_reply(w, 0, peal_type(w), peal_data(w), peal_length(w));
}

#define HANDLERS(X)                                                            \
	X(echo, 0, PEAL_EMITS(1, 1))                                           \
	X(pass, 0, PEAL_TELLS(1))                                              \
	X(respond, 0, PEAL_EMITS(1, 1))
PEAL_PROGRAM(cost, HANDLERS);
