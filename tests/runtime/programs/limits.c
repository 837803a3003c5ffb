/* SPDX-License-Identifier: Apache-2.0 */
/* Actors with a mailbox limit, tellers that exceed it, and `keep`, which holds
 * a worker. */
#include <peal/device/kernel.h>

#include "../gate.h"
#include "../limits.h"

/* Notes the number of each message; 1000 for a down message. */
static PEAL_DEV int note(struct peal_worker *w)
{
	struct limits_note *s = (struct limits_note *)peal_state(w);
	const uint64_t *data = (const uint64_t *)peal_data(w);
	uint64_t number = peal_down_current(w) ? 1000 : data[0];

	if (peal_type(w) == LIMITS_FAIL)
		return PEAL_EIO;
	peal_sync(w);
	if (peal_is_leader(w)) {
		if (s->seen < LIMITS_LOG)
			s->log[s->seen] = number;
		s->seen++;
		s->sum += number;
	}
	return 0;
}

/* As `note`, and replies to requests. */
static PEAL_DEV int answer(struct peal_worker *w)
{
	int result = note(w);

	if (result || !peal_request_current(w))
		return result;
	return peal_reply(w, 0, peal_type(w), peal_data(w), peal_length(w));
}

static PEAL_DEV int one(struct peal_worker *w, const struct limits_order *o,
			uint64_t number)
{
	struct peal_send_options options = PEAL_SEND_OPTIONS;
	struct peal_timer timer;

	switch (o->what) {
	case LIMITS_BEFORE:
		options.deadline = o->ns;
		return peal_tell(w, o->actor, 0, &number, sizeof(number),
				 &options);
	case LIMITS_AFTER:
		options.delay_ns = o->ns; /* may be 0 */
		options.timer_out = &timer;
		return peal_tell(w, o->actor, 0, &number, sizeof(number),
				 &options);
	case LIMITS_DELEGATE:
		return peal_request_forward(w, o->actor, 0);
	case LIMITS_MONITOR:
		return peal_monitor_set(w, o->actor, 0, 0, number, 0);
	default:
		return peal_tell(w, o->actor, 0, &number, sizeof(number), 0);
	}
}

/* Sends messages as ordered, and counts the results. */
static PEAL_DEV int teller(struct peal_worker *w)
{
	struct limits_teller *s = (struct limits_teller *)peal_state(w);
	const struct limits_order *in = limits_order_data(w);
	struct limits_order o;
	uint64_t i;
	int result;

	if (!in)
		return PEAL_EPROTO;
	o = *in;
	for (i = 0; i < o.n; i++) {
		result = one(w, &o, o.number + i);
		if (!peal_is_leader(w))
			continue;
		s->told += result == 0;
		s->refused += result == PEAL_ENOSPC;
		s->odd += result && result != PEAL_ENOSPC;
	}
	return 0;
}

/* Waits until the host word is not 0. */
static PEAL_DEV int keep(struct peal_worker *w)
{
	const uint64_t *word =
		*(const uint64_t *const *)(const void *)peal_data(w);

	while (!peal_load_acquire_sys(word) && !peal_aborting(w))
		gate_pause();
	return 0;
}

#define HANDLERS(X)                                                            \
	X(note, sizeof(struct limits_note), PEAL_SINK)                         \
	X(answer, sizeof(struct limits_note), PEAL_EMITS(1, 1))                \
	X(teller, sizeof(struct limits_teller), PEAL_TELLS(LIMITS_BURST))      \
	X(keep, 0, PEAL_SINK)
PEAL_PROGRAM(limits, HANDLERS);
