/* SPDX-License-Identifier: Apache-2.0 */
/* A guest: one of very many actors. It sends back what it is called with, and
 * says how often it was called. */
#include <peal/device/kernel.h>

#include "../guests.h"

static PEAL_DEV int guest(struct peal_worker *w)
{
	struct call *mine = (struct call *)peal_state(w);
	const struct call *c = call_in(w);
	struct call answer;

	if (!c || c->guest != mine->guest)
		return PEAL_EPROTO; /* it was meant for somebody else */
	answer.guest = mine->guest;
	answer.calls = mine->calls + 1;
	peal_sync(w); /* all lanes have read what the leader writes now */
	if (peal_is_leader(w))
		*mine = answer;
	return call_emit(w, 0, &answer);
}

#define HANDLERS(X) X(guest, sizeof(struct call), PEAL_EMITS(1, 1))
PEAL_PROGRAM(guests, HANDLERS);
