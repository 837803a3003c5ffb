/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_RANK_HANDLERS_H
#define PEAL_TESTS_RANK_HANDLERS_H

/* Handlers that note in which order a worker takes its messages. */
#include <peal/device/kernel.h>

#include "gate.h"
#include "ranks.h"

/* Notes a message, or waits at the gate. Only the leader calls it. */
static PEAL_DEV void rank_write(struct peal_worker *w)
{
	const struct rank_note *in = (const struct rank_note *)peal_data(w);
	struct rank_list *list = (struct rank_list *)(uintptr_t)in->list;

	if (peal_type(w) & RANK_GATE) {
		peal_store_release_sys(&list->waits, 1);
		while (!peal_load_acquire_sys(&list->word) && !peal_aborting(w))
			gate_pause();
		peal_store_release_sys(&list->waits, 0);
	} else if (in->from && list->n < RANK_LIST) {
		list->from[list->n] = (uint8_t)in->from;
		list->told[list->n] = (uint32_t)w->state->count.mailbox_sends;
		/* the test reads it while the kernel runs */
		peal_store_release_sys(&list->n, list->n + 1);
	}
}

static PEAL_DEV int note(struct peal_worker *w)
{
	if (peal_is_leader(w))
		rank_write(w);
	return 0;
}

static PEAL_DEV int echo(struct peal_worker *w)
{
	return peal_emit(w, 0, peal_type(w), peal_data(w), peal_length(w), 0);
}

/* Notes and emits the message. */
static PEAL_DEV int relate(struct peal_worker *w)
{
	note(w);
	return echo(w);
}

/* Tells or forwards the message with high priority. */
static PEAL_DEV int pass_high(struct peal_worker *w, uint32_t to,
			      const struct rank_note *out)
{
	struct peal_send_options high = PEAL_SEND_OPTIONS;
	uint16_t type = (uint16_t)(peal_type(w) & ~(RANK_HIGH | RANK_TIMED));

	high.priority = PEAL_PRIORITY_HIGH;
	if (type & RANK_FORWARD)
		return peal_request_forward(w, to, &high);
	if (peal_type(w) & RANK_TIMED)
		high.deadline = PEAL_DEADLINE_NEVER;
	return peal_tell(w, to, type, out, sizeof(*out), &high);
}

/* Tells the message to `to`, with high priority for a type with RANK_HIGH. For
 * the type RANK_GATE it first waits at the gate. */
static PEAL_DEV int pass_on(struct peal_worker *w)
{
	struct rank_note out = *(const struct rank_note *)peal_data(w);
	uint32_t to = out.to;
	uint16_t type = peal_type(w);

	if (peal_is_leader(w) && type == RANK_GATE)
		rank_write(w);
	out.to = out.then;
	if (type & RANK_HIGH)
		return pass_high(w, to, &out);
	return peal_tell(w, to, type == RANK_GATE ? 0 : type, &out, sizeof(out),
			 0);
}

struct rank_death {
	struct peal_kernel_control control;
};

/* Takes the ticket of a message, then ends its worker before the message is
 * written. The worker finds a request to stop. Works with one lane only. */
static PEAL_DEV int perish(struct peal_worker *w)
{
	const struct rank_note *in = (const struct rank_note *)peal_data(w);
	const struct peal_actor_entry *entry =
		(const struct peal_actor_entry *)(uintptr_t)w->params->actors +
		PEAL_ACTOR_INDEX(in->to);
	struct rank_death *d = (struct rank_death *)peal_state(w);
	uint32_t box = PEAL_ENTRY_WORKER(entry->location);

	if (!w->state->mail.lease.granted)
		return PEAL_EHANDLER;
	if (peal_type(w) & RANK_HIGH)
		box += w->params->priority_boxes;
	peali_mail_ticket(w, box, &w->state->mail.lease);
	d->control.stop = PEAL_STOP_STOP;
	w->control = &d->control;
	return 0;
}

#define RANK_HANDLERS(X)                                                       \
	X(note, 0, PEAL_SINK)                                                  \
	X(echo, 0, PEAL_EMITS(1, 1))                                           \
	X(relate, 0, PEAL_EMITS(1, 1))                                         \
	X(pass_on, 0, PEAL_TELLS(1))                                           \
	X(perish, sizeof(struct rank_death), PEAL_TELLS(1))

#endif
