/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers that keep a worker busy; `record` writes down what came in turn. */
#include <peal/device/kernel.h>

#include "../gate.h"
#include "../load.h"

/* Leader: waits so long, as work would. */
static PEAL_DEV void load_spin(uint64_t ns)
{
	uint64_t until = peal_clock_ns() + ns;

	while (ns && peal_clock_ns() < until)
		;
}

/* Writes down the input of every message; type 1 waits for a word first. */
static PEAL_DEV int record(struct peal_worker *w)
{
	struct load_record *r = (struct load_record *)peal_state(w);
	const struct load_note *note = (const struct load_note *)peal_data(w);
	uint32_t max = w->params->max_inputs;

	if (!peal_is_leader(w))
		return 0;
	if (peal_type(w) == 1) {
		r->spin_ns = note->spin_ns;
		while (!peal_load_acquire_sys(
			       (const uint64_t *)(uintptr_t)note->word) &&
		       !peal_aborting(w))
			gate_pause();
		return 0;
	}
	if (r->n < LOAD_RECORDS) /* mail has a number behind the inputs' */
		r->input[r->n] = (uint8_t)(w->message.input < max ?
						   w->message.input :
						   max);
	/* for whoever watches while it goes on */
	peal_store_relaxed_sys(&r->n, r->n + 1);
	load_spin(r->spin_ns);
	return 0;
}

/* Tells its messages to the actor that they name. */
static PEAL_DEV int tell(struct peal_worker *w)
{
	const struct load_note *note = (const struct load_note *)peal_data(w);

	return peal_tell(w, (uint32_t)note->actor, peal_type(w), note,
			 sizeof(*note));
}

/* Sends one for each of its own messages to itself, and may send eight. */
static PEAL_DEV int pour(struct peal_worker *w)
{
	uint64_t word = 0;
	int result = peal_emit(w, 0, 0, &word, sizeof(word));

	return result ? result : peal_emit(w, 1, 0, &word, sizeof(word));
}

#define HANDLERS(X)                                                            \
	X(record, sizeof(struct load_record), PEAL_SINK)                       \
	X(tell, 0, PEAL_TELLS(1))                                              \
	X(pour, 0, PEAL_EMITS(2, 8))
PEAL_PROGRAM(load, HANDLERS);
