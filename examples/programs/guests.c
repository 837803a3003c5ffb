/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handler of 11_million.c and 12_dead_letters.c: a guest. It sends each
 * call back with the count of its calls. It fails on a call for another guest.
 */
#include <peal/device/kernel.h>

#include "../guests.h"

static PEAL_DEV int guest(struct peal_worker *w)
{
	struct call *mine = (struct call *)peal_state(w);
	const struct call *c = call_in(w);
	struct call answer;

	if (!c || c->guest != mine->guest)
		return PEAL_EPROTO; /* the call becomes a dead letter */
	answer.guest = mine->guest;
	answer.calls = mine->calls + 1;
	/* all lanes have read the state before the leader writes */
	peal_sync(w);
	if (peal_is_leader(w))
		*mine = answer;
	return call_emit(w, 0, &answer);
}

#define HANDLERS(X) X(guest, sizeof(struct call), PEAL_EMITS(1, 1))
PEAL_PROGRAM(guests, HANDLERS);
