/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program of `peal run`. Each actor is one stage of a pipeline. The actor
 * receives items (struct peal_item and a body) and emits each result on port 0.
 */
#define PEAL_USES 0 /* links alone */
#include <peal/abi/stage.h>
#include <peal/device/kernel.h>

#include "ringkernels/stage_math.h"

/* Applies the stage: reads the received message, writes into the next link. */
static PEAL_DEV int stage(struct peal_worker *w)
{
	struct peal_stage_state *state =
		(struct peal_stage_state *)peal_state(w);
	const struct peal_item *head = (const struct peal_item *)peal_data(w);
	const uint8_t *in = (const uint8_t *)(head + 1);
	uint64_t length = peal_length(w);
	uint64_t sum = 0;
	void *place = 0;
	int result;

	if (length < sizeof(*head) ||
	    head->body_bytes != length - sizeof(*head))
		return PEAL_EPROTO;
	result = peal_reserve(w, 0, length, &place);
	if (result)
		return result == PEAL_EPIPE ? 0 : result;
	if (peal_is_leader(w))
		*(struct peal_item *)place = *head;
	result = peali_stage_apply(&state->config, head, in,
				   (uint8_t *)place + sizeof(*head),
				   peal_lane(w), peal_lanes(w));
	if (result)
		return result;
	if (state->config.kind == PEAL_STAGE_CRC32C)
		sum = peal_xor(w,
			       peali_stage_crc32c(in, head->body_bytes,
						  peal_lane(w), peal_lanes(w)));
	peal_commit(w, 0, peal_type(w), length);
	if (peal_is_leader(w)) {
		state->items++;
		state->bytes += head->body_bytes;
		state->crc_sum += sum;
	}
	return 0;
}

#define HANDLERS(X) X(stage, sizeof(struct peal_stage_state), PEAL_EMITS(1, 1))
PEAL_PROGRAM(peal_stages, HANDLERS);
