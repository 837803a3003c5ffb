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
	return peal_emit(w, 0, 0, &out, sizeof(out), 0);
}

/* Returns options with the deadline of the message that the handler sends. */
static PEAL_DEV struct peal_send_options deadline_of(struct peal_worker *w)
{
	const struct deadline_order *in =
		(const struct deadline_order *)peal_data(w);
	struct peal_send_options options = PEAL_SEND_OPTIONS;

	options.deadline = peal_type(w) == DEADLINE_AFTER ?
				   peal_deadline_after(w, in->lifetime_ns) :
				   peal_deadline_current(w);
	return options;
}

/* Emits the message. */
static PEAL_DEV int pass(struct peal_worker *w)
{
	struct peal_send_options options = deadline_of(w);

	return peal_emit(w, 0, 0, peal_data(w), peal_length(w), &options);
}

/* Emits the message to the actor that it names. */
static PEAL_DEV int pass_to(struct peal_worker *w)
{
	const struct deadline_order *in =
		(const struct deadline_order *)peal_data(w);
	struct peal_send_options options = deadline_of(w);

	return peal_emit_to(w, 0, (uint32_t)in->actor, 0, peal_data(w),
			    peal_length(w), &options);
}

/* Delegates the message by its port. */
static PEAL_DEV int hand_on(struct peal_worker *w)
{
	struct peal_send_options options = PEAL_SEND_OPTIONS;

	options.by_port = 1;
	return peal_request_forward(w, 0, &options);
}

/* Tells the message to the actor that it names. */
static PEAL_DEV int tell(struct peal_worker *w)
{
	const struct deadline_order *in =
		(const struct deadline_order *)peal_data(w);
	struct peal_send_options options = deadline_of(w);

	return peal_tell(w, (uint32_t)in->actor, 0, peal_data(w),
			 peal_length(w), &options);
}

/* Delegates the message to the actor that it names. */
static PEAL_DEV int delegate(struct peal_worker *w)
{
	return peal_request_forward(
		w,
		(uint32_t)((const struct deadline_order *)peal_data(w))->actor,
		0);
}

/* Sets a field of the options for each bit of `fields`. */
static PEAL_DEV void refuse_set(struct peal_send_options *o, uint32_t fields,
				struct peal_timer *timer)
{
	o->priority = fields & 1 ? PEAL_PRIORITY_HIGH : 0;
	o->deadline = fields & 2 ? PEAL_DEADLINE_NEVER : 0;
	o->delay_ns = fields >> 2 & 1;
	o->period_ns = fields >> 3 & 1;
	o->timer_out = fields & 16 ? timer : 0;
	o->by_port = fields >> 5 & 1;
	o->with_sender = fields >> 8 & 1;
	if (fields & 64)
		o->size = 0;
	if (fields & 128)
		o->priority = PEAL_PRIORITY_HIGH + 1;
}

/* Returns 1 if a send has refused its options. */
static PEAL_DEV int refuses(struct peal_worker *w, uint32_t call,
			    const struct peal_send_options *o)
{
	uint32_t self = peal_self(w);

	switch (call) {
	case 0:
		return peal_emit(w, 0, 0, 0, 0, o) == PEAL_EINVAL;
	case 1:
		return peal_emit_to(w, 0, self, 0, 0, 0, o) == PEAL_EINVAL;
	case 2:
		return peal_tell(w, self, 0, 0, 0, o) == PEAL_EINVAL;
	default:
		return peal_request_forward(w, self, o) == PEAL_EINVAL;
	}
}

/* Calls each send with all combinations of fields that it does not support.
 * Reports the number of refusals. */
static PEAL_DEV int refuse(struct peal_worker *w)
{
	/* the sets of fields that each call supports */
	const uint32_t ok[4][3] = {
		{ 2, 2, 2 }, { 2, 2, 2 }, { 3, 28, 257 }, { 1, 32, 32 }
	};
	struct deadline_report out = { 0, 0, 0, 0, 0, 0, 0, 0 };
	struct peal_timer timer = { 0, 0, 0 };
	uint32_t call, fields;

	for (call = 0; call < 4; call++)
		for (fields = 1; fields < 512; fields++) {
			struct peal_send_options o = PEAL_SEND_OPTIONS;

			refuse_set(&o, fields, &timer);
			if (fields & ~ok[call][0] && fields & ~ok[call][1] &&
			    fields & ~ok[call][2])
				out.number += refuses(w, call, &o);
		}
	return peal_emit(w, 0, 0, &out, sizeof(out), 0);
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
	return peal_emit(w, 0, 0, &m, sizeof(m), 0);
}

#define DEADLINE_HANDLERS(X)                                                   \
	X(mark, 0, PEAL_EMITS(1, 1))                                           \
	X(pass, 0, PEAL_EMITS(1, 1))                                           \
	X(pass_to, 0, PEAL_EMITS(1, 1))                                        \
	X(hand_on, 0, PEAL_EMITS(1, 1))                                        \
	X(stamp, 0, PEAL_EMITS(1, 1))                                          \
	X(refuse, 0, PEAL_LIMITS(1, 1, 1, 0, 0))                               \
	X(tell, 0, PEAL_TELLS(1))                                              \
	X(delegate, 0, PEAL_TELLS(1))
