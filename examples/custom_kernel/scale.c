/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A handler that multiplies every float of a message by the factor in its
 * state.
 */
#include <peal/device/kernel.h>

/* State of the actor. The host gives its first bytes at the spawn. */
struct scale {
	float factor;
	uint32_t messages;
};

static PEAL_DEV int scale(struct peal_worker *w)
{
	struct scale *state = (struct scale *)peal_state(w);
	const float *in = (const float *)peal_data(w);
	uint64_t n = peal_length(w) / sizeof(float), i;
	void *place = 0;
	int result = peal_reserve(w, 0, peal_length(w), &place);

	if (result) /* a closed link has counted a dead letter */
		return result == PEAL_EPIPE ? 0 : result;
	for (i = peal_lane(w); i < n; i += peal_lanes(w))
		((float *)place)[i] = in[i] * state->factor;
	peal_commit(w, 0, peal_type(w), peal_length(w));
	if (peal_is_leader(w))
		state->messages++;
	return 0;
}

#define HANDLERS(X) X(scale, sizeof(struct scale), PEAL_EMITS(1, 1))
PEAL_PROGRAM(scaler, HANDLERS);
