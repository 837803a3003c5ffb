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

/* Fails if the status of its worker names another message. */
static PEAL_DEV int sim_named(struct peal_worker *w)
{
	const struct peal_message *m = &w->message;
	uint64_t named = PEAL_INFLIGHT(m->header.actor, peal_type(w), m->input);

	if (!peal_is_leader(w))
		return 0;
	return peal_load_relaxed_sys(&w->status->inflight) == named ?
		       0 :
		       SIM_SENDER_ERROR;
}

#define HANDLERS(X)                                                            \
	X(sim_sender, sizeof(struct sim_sender), PEAL_LIMITS(1, 1, 1, 0, 0))   \
	X(sim_named, 0, PEAL_SINK)
PEAL_PROGRAM(sim_senders, HANDLERS);
