/* SPDX-License-Identifier: Apache-2.0 */
/* Actors that migrate, and actors that send to them. */
#include <peal/device/kernel.h>

#include "../gate.h"
#include "../guest.h"

#define HANDLERS(X)                                                            \
	X(guest, sizeof(struct guest), PEAL_SINK)                              \
	X(porter, sizeof(struct guest), PEAL_EMITS(1, 1))                      \
	X(herald, sizeof(struct herald), PEAL_TELLS(1))                        \
	X(crier, 0, PEAL_EMITS(1, 1))                                          \
	X(lie, 0, PEAL_SINK)
PEAL_HANDLERS(HANDLERS);

static PEAL_DEV int guest(struct peal_worker *w)
{
	struct guest *g = (struct guest *)peal_state(w);
	const struct guest_note *n = (const struct guest_note *)peal_data(w);

	if (peal_type(w) == GUEST_FAIL) {
		if (peal_is_leader(w))
			g->id++;
		return GUEST_ERROR;
	}
	if (peal_is_leader(w)) {
		g->notes++;
		g->disorder += n->number != g->next[n->sender];
		g->next[n->sender] = n->number + 1;
	}
	return 0;
}

/* A guest that has a port. */
static PEAL_DEV int porter(struct peal_worker *w)
{
	const struct guest *g = (const struct guest *)peal_state(w);

	if (peal_type(w) == GUEST_FAIL || !peal_request_current(w))
		return guest(w);
	return peal_reply(w, 0, GUEST_ASK, &g->notes, sizeof(g->notes));
}

/* Tells the guest the next note, unless the type says otherwise. */
static PEAL_DEV int herald(struct peal_worker *w)
{
	struct herald *h = (struct herald *)peal_state(w);
	uint32_t to = (uint32_t)h->guest;
	struct peal_send_options later = PEAL_SEND_OPTIONS;
	struct guest_note n;

	if (peal_type(w) == GUEST_DELEGATE)
		return peal_request_forward(w, to, 0);
	if (peal_type(w) == GUEST_QUERY)
		return peal_ask(w, to, GUEST_FAIL, 0, 0, GUEST_ANSWERED,
				3600000000000ULL, 0);
	if (peal_type(w) == GUEST_ANSWERED)
		return 0;
	if (peal_type(w) == GUEST_BREED)
		return peal_spawn(w, PEAL_HANDLER(porter), 0, 0,
				  (uint32_t) * (const uint64_t *)peal_data(w),
				  0);
	n.sender = h->sender;
	n.number = h->number;
	peal_sync(w); /* all lanes have read the state */
	if (peal_is_leader(w))
		h->number++;
	later.delay_ns = 20000;
	if (peal_type(w) == GUEST_TIME)
		return peal_tell(w, to, GUEST_NOTE, &n, sizeof(n), &later);
	return peal_tell(w, to, GUEST_NOTE, &n, sizeof(n), 0);
}

/* Publishes the note to the topic at port 0. */
static PEAL_DEV int crier(struct peal_worker *w)
{
	return peal_emit(w, 0, GUEST_NOTE, peal_data(w), peal_length(w), 0);
}

/* Waits until a host word is not 0. */
static PEAL_DEV int lie(struct peal_worker *w)
{
	const uint64_t *word =
		*(const uint64_t *const *)(const void *)peal_data(w);

	while (!peal_load_acquire_sys(word) && !peal_aborting(w))
		gate_pause();
	return 0;
}

PEAL_PROGRAM(guest, HANDLERS);
