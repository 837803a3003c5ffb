/* SPDX-License-Identifier: Apache-2.0 */
/* Actors that pass messages on to each other, and fail on demand. */
#include <peal/device/kernel.h>

#include "../sim_senders.h"

static PEAL_DEV int sim_sender(struct peal_worker *w)
{
	const struct sim_sender_message *in =
		(const struct sim_sender_message *)peal_data(w);
	struct sim_sender *s = (struct sim_sender *)peal_state(w);
	struct sim_sender_message out = *in;
	int fails = peal_type(w) == SIM_SENDER_POISON && !in->hops;

	out.spoilt += s->spoilt;
	peal_sync(w);
	if (peal_is_leader(w)) {
		s->seen++;
		s->spoilt += (uint64_t)fails;
	}
	peal_sync(w);
	if (fails)
		return SIM_SENDER_ERROR;
	if (!in->hops)
		return peal_emit(w, 0, peal_type(w), &out, sizeof(out), 0);
	out.hops--;
	out.random = sim_sender_random(in->random);
	return peal_tell(w, out.random % in->actors, peal_type(w), &out,
			 sizeof(out), 0);
}

#define HANDLERS(X)                                                            \
	X(sim_sender, sizeof(struct sim_sender), PEAL_LIMITS(1, 1, 1, 0, 0))
PEAL_PROGRAM(sim_senders, HANDLERS);
