/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handler of 11_million_actors.c and 12_dead_letters.c: a callee. It sends each
 * call back with the count of its calls. It fails on a call for another callee.
 */
#include <peal/device/kernel.h>

#include "../addressed_actors.h"

static PEAL_DEV int callee(struct peal_worker *w)
{
	struct call *mine = (struct call *)peal_state(w);
	const struct call *c = call_data(w);
	struct call answer;

	if (!c || c->callee != mine->callee)
		return PEAL_EPROTO; /* the call becomes a dead letter */
	answer.callee = mine->callee;
	answer.calls = mine->calls + 1;
	/* all lanes have read the state before the leader writes */
	peal_sync(w);
	if (peal_is_leader(w))
		*mine = answer;
	return call_emit(w, 0, &answer, 0);
}

#define HANDLERS(X) X(callee, sizeof(struct call), PEAL_EMITS(1, 1))
PEAL_PROGRAM(addressed_actors, HANDLERS);
