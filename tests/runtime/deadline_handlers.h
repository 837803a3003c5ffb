/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers of the tests of deadlines, for programs with and without pools. */
#include <peal/device/kernel.h>

#include "deadlines.h"
#include "gate.h"

/* Notes the clocks and waits at the gate. Then emits or replies with a report
 * about the message and the time. */
static PEAL_DEV int mark(struct peal_worker *w)
{
	const struct deadline_order *in =
		(const struct deadline_order *)peal_data(w);
	struct deadline_report out = { 0, 0, 0, 0, 0, 0, 0, 0 };

	out.device_ns = peal_clock_ns();
	peali_clock_bounds(w, &out.low, &out.high);
	out.common = peal_host_time_ns(w, &out.uncertainty);
	out.number = in->number;
	out.deadline = peal_deadline_current(w);
	if (in->gate)
		peal_store_release_sys((uint64_t *)(uintptr_t)in->gate + 1, 1);
	while (in->gate && !peal_aborting(w) &&
	       !peal_load_acquire_sys((const uint64_t *)(uintptr_t)in->gate))
		gate_pause();
	if (peal_request_current(w))
		return peal_reply(w, 0, 0, &out, sizeof(out));
	return peal_emit(w, 0, 0, &out, sizeof(out));
}

/* Returns the deadline of the message that the handler sends. */
static PEAL_DEV uint64_t deadline_of(struct peal_worker *w)
{
	const struct deadline_order *in =
		(const struct deadline_order *)peal_data(w);

	return peal_type(w) == DEADLINE_AFTER ?
		       peal_deadline_after(w, in->lifetime_ns) :
		       peal_deadline_current(w);
}

/* Emits the message. */
static PEAL_DEV int pass(struct peal_worker *w)
{
	return peal_emit_before(w, 0, deadline_of(w), 0, peal_data(w),
				peal_length(w));
}

/* Emits the message to the actor that it names. */
static PEAL_DEV int pass_to(struct peal_worker *w)
{
	const struct deadline_order *in =
		(const struct deadline_order *)peal_data(w);

	return peal_emit_to_before(w, 0, (uint32_t)in->actor, deadline_of(w), 0,
				   peal_data(w), peal_length(w));
}

/* Delegates the message by its port. */
static PEAL_DEV int hand_on(struct peal_worker *w)
{
	return peal_request_forward_by(w, 0);
}

/* Tells the message to the actor that it names. */
static PEAL_DEV int tell(struct peal_worker *w)
{
	const struct deadline_order *in =
		(const struct deadline_order *)peal_data(w);

	return peal_tell_before(w, (uint32_t)in->actor, deadline_of(w), 0,
				peal_data(w), peal_length(w));
}

/* Delegates the message to the actor that it names. */
static PEAL_DEV int delegate(struct peal_worker *w)
{
	return peal_request_forward(
		w,
		(uint32_t)((const struct deadline_order *)peal_data(w))->actor);
}

/* Merges the latest word of a message into the worker's clock. Appends the word
 * of the receipt and emits the message. */
static PEAL_DEV int stamp(struct peal_worker *w)
{
	struct deadline_words m = *(const struct deadline_words *)peal_data(w);
	uint64_t word = 0;

	if (m.n == 0 || m.n > 3)
		return PEAL_EPROTO;
	m.refused = peal_worker_hlc_merge(w, m.word[m.n - 1], &word);
	m.word[m.n++] = word ? word : peal_worker_hlc_now(w);
	return peal_emit(w, 0, 0, &m, sizeof(m));
}

#define DEADLINE_HANDLERS(X)                                                   \
	X(mark, 0, PEAL_EMITS(1, 1))                                           \
	X(pass, 0, PEAL_EMITS(1, 1))                                           \
	X(pass_to, 0, PEAL_EMITS(1, 1))                                        \
	X(hand_on, 0, PEAL_EMITS(1, 1))                                        \
	X(stamp, 0, PEAL_EMITS(1, 1))                                          \
	X(tell, 0, PEAL_TELLS(1))                                              \
	X(delegate, 0, PEAL_TELLS(1))
