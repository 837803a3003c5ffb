/* SPDX-License-Identifier: Apache-2.0 */
/* Stages of a pipeline under test. */
#include <peal/device/kernel.h>

#include "../gate.h"
#include "../steps.h"

/* Waits for the gate. */
static PEAL_DEV void step_wait(struct peal_worker *w, uint64_t gate)
{
	const uint64_t *word = (const uint64_t *)(uintptr_t)gate;

	while (gate && !peal_load_acquire_sys(word) && !peal_aborting(w))
		gate_pause();
}

/* Emits the batch with `add` added to its value. */
static PEAL_DEV int step_emit(struct peal_worker *w, uint64_t add)
{
	const uint8_t *in = (const uint8_t *)peal_data(w);
	struct step_batch *out;
	uint64_t n = peal_length(w), i;
	void *place = 0;
	int result = peal_reserve(w, 0, n, &place);

	if (result)
		return result;
	for (i = peal_lane(w); i < n; i += peal_lanes(w))
		((uint8_t *)place)[i] = in[i];
	peal_sync(w);
	if (peal_is_leader(w)) {
		out = (struct step_batch *)place;
		out->value += add;
	}
	peal_commit(w, 0, peal_type(w), n);
	return 0;
}

static PEAL_DEV int step(struct peal_worker *w)
{
	struct step_state *s = (struct step_state *)peal_state(w);
	const struct step_batch *in = (const struct step_batch *)peal_data(w);

	step_wait(w, s->config.gate);
	if (peal_is_leader(w))
		s->seen++;
	if (s->config.fail_at == in->number + 1)
		return PEAL_EHANDLER;
	if (s->config.drop && in->number % 2)
		return 0;
	return step_emit(w, s->config.add);
}

/* Emits the batch twice, the second time with value + 1. */
static PEAL_DEV int twice(struct peal_worker *w)
{
	int result = step_emit(w, 0);

	return result ? result : step_emit(w, 1);
}

/* Has no port to emit by, which a stage needs. */
static PEAL_DEV int swallow(struct peal_worker *w)
{
	(void)w;
	return 0;
}

#define HANDLERS(X)                                                            \
	X(step, sizeof(struct step_state), PEAL_EMITS(1, 1))                   \
	X(twice, 0, PEAL_EMITS(1, 2))                                          \
	X(swallow, 0, PEAL_SINK)
PEAL_PROGRAM(steps, HANDLERS);
