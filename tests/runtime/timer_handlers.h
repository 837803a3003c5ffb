/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_TIMER_HANDLERS_H
#define PEAL_TESTS_TIMER_HANDLERS_H

#include <peal/device/kernel.h>

#include "gate.h"
#include "relay.h"
#include "timers.h"

/* Handlers of programs/timers.c and timer_pools.c. */

/* Writes the due time and number of a timer's table entry to its message. */
static PEAL_DEV void timer_stamp(struct peal_worker *w, struct peal_timer timer,
				 uint32_t bytes)
{
	const struct peal_timer_entry *entry =
		peali_timer_entry(w->timers, timer.place);
	struct timer_note *note =
		(struct timer_note *)(void *)peali_timer_message(w->timers,
								 timer.place);

	if (!peal_is_leader(w) || bytes < sizeof(*note))
		return;
	note->due_ns = entry->due_ns;
	note->number = entry->number;
	note->check = relay_check(entry->due_ns, entry->number);
}

/* Sets timers as ordered, and keeps their handles. */
static PEAL_DEV void timer_setting(struct peal_worker *w,
				   struct timer_answer *out)
{
	const struct timer_order *in = (const struct timer_order *)peal_data(w);
	struct timer_notes *s = (struct timer_notes *)peal_state(w);
	struct timer_note note = { 0, 0, 0, 0, 0, 0, 0 };
	struct peal_send_options options = PEAL_SEND_OPTIONS;
	struct peal_timer timer = { 0, 0, 0 };
	uint64_t ns;
	uint32_t i;

	for (i = 0; i < in->n; i++) {
		ns = in->ns + i * in->step_ns;
		if (peal_type(w) == TIMER_MIX)
			ns = in->ns + i * 7919ull % in->n * in->step_ns;
		if (peal_type(w) != TIMER_EVERY)
			options.delay_ns = ns;
		if (peal_type(w) == TIMER_EVERY)
			options.period_ns = note.period_ns = ns;
		else if (peal_type(w) == TIMER_PHASE)
			options.period_ns = note.period_ns = in->step_ns;
		options.timer_out = &timer;
		note.chain = in->slot;
		note.set_ns = peal_clock_ns();
		if (peal_type(w) == TIMER_PHASE) /* as if a period before */
			note.set_ns += ns - in->step_ns;
		out->result =
			peal_tell(w, in->actor, 9, &note, in->bytes, &options);
		if (out->result)
			break;
		timer_stamp(w, timer, in->bytes);
		out->n++;
		out->timer = timer;
		if (peal_is_leader(w))
			s->timer[(in->slot + i) % TIMER_SLOTS] = timer;
	}
}

static PEAL_DEV int order(struct peal_worker *w)
{
	const struct timer_order *in = (const struct timer_order *)peal_data(w);
	struct timer_notes *s = (struct timer_notes *)peal_state(w);
	struct timer_answer out = { 0, 0, { 0, 0, 0 } };

	if (peal_type(w) == TIMER_CANCEL)
		out.result =
			peal_timer_cancel(w, s->timer[in->slot % TIMER_SLOTS]);
	else if (peal_type(w) == TIMER_COPY)
		out.timer = s->timer[in->slot % TIMER_SLOTS];
	else if (peal_type(w) == TIMER_USE)
		out.result = peal_timer_cancel(w, in->timer);
	else
		timer_setting(w, &out);
	return peal_emit(w, 0, peal_type(w), &out, sizeof(out), 0);
}

/* Checks and counts a message of a timer. Only the leader calls it. */
static PEAL_DEV void timer_seen(struct peal_worker *w, struct timer_notes *s)
{
	const struct timer_note *in = (const struct timer_note *)peal_data(w);
	uint64_t now = peal_clock_ns(), late = now - in->due_ns;

	s->received++;
	if (s->epoch_began_ns != w->state->epoch.began_ns) {
		s->epoch_began_ns = w->state->epoch.began_ns;
		s->epochs++;
	}
	if (peal_length(w) < sizeof(*in))
		return;
	s->damaged += in->check != relay_check(in->due_ns, in->number);
	if (in->period_ns) {
		s->ticks++;
		s->early_ticks += now < in->set_ns + s->ticks * in->period_ns;
		return;
	}
	s->early += now < in->due_ns;
	s->misordered +=
		in->due_ns < s->last_due_ns ||
		(in->due_ns == s->last_due_ns && in->number <= s->last_number);
	s->last_due_ns = in->due_ns;
	s->last_number = in->number;
	if (!s->least_late_ns || late < s->least_late_ns)
		s->least_late_ns = late;
}

/* Counts messages of timers, and checks their time and order. */
static PEAL_DEV int note(struct peal_worker *w)
{
	if (peal_is_leader(w))
		timer_seen(w, (struct timer_notes *)peal_state(w));
	return 0;
}

/* As `note`. While the chain lasts, sets a timer for the other actor, too. */
static PEAL_DEV int chain(struct peal_worker *w)
{
	struct timer_note next = *(const struct timer_note *)peal_data(w);
	struct peal_send_options options = PEAL_SEND_OPTIONS;
	struct peal_timer timer = { 0, 0, 0 };
	int result = 0;

	if (peal_is_leader(w))
		timer_seen(w, (struct timer_notes *)peal_state(w));
	if (next.chain == 0)
		return 0;
	next.chain--;
	options.delay_ns = next.chain % 3 * 1000;
	options.timer_out = &timer;
	result = peal_tell(w, peal_self(w) ^ 1, 9, &next, sizeof(next),
			   &options);
	if (!result)
		timer_stamp(w, timer, sizeof(next));
	return result;
}

static PEAL_DEV void timer_spend(uint64_t ns)
{
	uint64_t began = peal_clock_ns();

	while (peal_clock_ns() - began < ns)
		peal_pause();
}

/* Tells itself each message again until the gate opens. */
static PEAL_DEV int churn(struct peal_worker *w)
{
	const struct timer_spin *in = (const struct timer_spin *)peal_data(w);
	struct timer_spins *s = (struct timer_spins *)peal_state(w);
	uint64_t open = 0;

	if (peal_is_leader(w)) {
		s->turns++;
		timer_spend(in->ns);
		open = peal_load_acquire_sys(
			(const uint64_t *)(uintptr_t)in->gate);
	}
	if (peal_broadcast(w, open)) /* all lanes agree */
		return 0;
	return peal_tell(w, peal_self(w), 0, in, sizeof(*in), 0);
}

/* Tells each message to another actor. */
static PEAL_DEV int pass(struct peal_worker *w)
{
	const struct timer_spin *in = (const struct timer_spin *)peal_data(w);

	return peal_tell(w, in->actor, 0, in, sizeof(*in), 0);
}

/* Spins for `ns`. */
static PEAL_DEV int slow(struct peal_worker *w)
{
	const struct timer_spin *in = (const struct timer_spin *)peal_data(w);
	struct timer_spins *s = (struct timer_spins *)peal_state(w);

	if (peal_is_leader(w))
		s->turns++;
	if (peal_is_leader(w))
		timer_spend(in->ns);
	return 0;
}

/* Waits until the gate opens. */
static PEAL_DEV int hold(struct peal_worker *w)
{
	const struct timer_spin *in = (const struct timer_spin *)peal_data(w);

	while (!peal_load_acquire_sys((const uint64_t *)(uintptr_t)in->gate) &&
	       !peal_aborting(w))
		gate_pause();
	return 0;
}

#define TIMER_HANDLERS(X)                                                      \
	X(order, sizeof(struct timer_notes), PEAL_EMITS(1, 1))                 \
	X(note, sizeof(struct timer_notes), PEAL_SINK)                         \
	X(chain, sizeof(struct timer_notes), PEAL_SINK)                        \
	X(churn, sizeof(struct timer_spins), PEAL_TELLS(1))                    \
	X(pass, 0, PEAL_TELLS(1))                                              \
	X(slow, sizeof(struct timer_spins), PEAL_SINK)                         \
	X(hold, 0, PEAL_SINK)

#endif
