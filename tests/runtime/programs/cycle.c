/* SPDX-License-Identifier: Apache-2.0 */
/* Runners pass tokens to each other in a cycle of links. */
#include <peal/device/kernel.h>

#include "../cycle.h"

#define HANDLERS(X)                                                            \
	X(runner, sizeof(struct cycle_state), PEAL_LIMITS(1, 1, 1, 0, 0))
PEAL_HANDLERS(HANDLERS);

/* Passes a token on, at once or later by a timer. */
static PEAL_DEV int pass_on(struct peal_worker *w, uint32_t type,
			    struct cycle_token t)
{
	struct peal_send_options later = PEAL_SEND_OPTIONS;

	if (type == CYCLE_LATER) {
		later.delay_ns = t.delay_ns;
		t.delay_ns = 0;
		return peal_tell(w, peal_self(w), CYCLE_TOKEN, &t, sizeof(t),
				 &later);
	}
	if (!t.left)
		return 0;
	if (t.left != CYCLE_FOR_EVER)
		t.left--;
	return peal_emit(w, 0, CYCLE_TOKEN, &t, sizeof(t), 0);
}

static PEAL_DEV int runner(struct peal_worker *w)
{
	struct cycle_state *s = (struct cycle_state *)peal_state(w);
	struct peal_send_options ticks = PEAL_SEND_OPTIONS;
	uint32_t type = peal_type(w);

	if (peal_is_leader(w)) {
		s->tokens += type == CYCLE_TOKEN;
		s->ticks += type == CYCLE_TICK;
	}
	if (type == CYCLE_TICK)
		return 0;
	ticks.period_ns = 1000000;
	if (type == CYCLE_TICKS)
		return peal_tell(w, peal_self(w), CYCLE_TICK, 0, 0, &ticks);
	return pass_on(w, type, *(const struct cycle_token *)peal_data(w));
}

PEAL_PROGRAM(cycle, HANDLERS);
