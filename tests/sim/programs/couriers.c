/* SPDX-License-Identifier: Apache-2.0 */
/* Actors that pass messages on to each other, and fail on demand. */
#include <peal/device/kernel.h>

#include "../couriers.h"

static PEAL_DEV int courier(struct peal_worker *w)
{
	const struct courier_message *in =
		(const struct courier_message *)peal_data(w);
	struct courier *s = (struct courier *)peal_state(w);
	struct courier_message out = *in;
	int fails = peal_type(w) == COURIER_POISON && !in->hops;

	out.spoilt += s->spoilt;
	peal_sync(w);
	if (peal_is_leader(w)) {
		s->seen++;
		s->spoilt += (uint64_t)fails;
	}
	peal_sync(w);
	if (fails)
		return COURIER_ERROR;
	if (!in->hops)
		return peal_emit(w, 0, peal_type(w), &out, sizeof(out));
	out.hops--;
	out.random = courier_random(in->random);
	return peal_tell(w, out.random % in->actors, peal_type(w), &out,
			 sizeof(out));
}

#define HANDLERS(X)                                                            \
	X(courier, sizeof(struct courier), PEAL_LIMITS(1, 1, 1, 0, 0))
PEAL_PROGRAM(couriers, HANDLERS);
