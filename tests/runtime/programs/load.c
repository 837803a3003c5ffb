/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers that keep a worker busy. `record` notes messages in their order. */
#include <peal/device/kernel.h>

#include "../gate.h"
#include "../load.h"

/* Spins for `ns`, in place of work. Only the leader calls it. */
static PEAL_DEV void load_spin(uint64_t ns)
{
	uint64_t until = peal_clock_ns() + ns;

	while (ns && peal_clock_ns() < until)
		;
}

/* Notes the input of every message. Type 1 sets the work and waits for a
 * word. */
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
	if (r->n < LOAD_RECORDS) /* input numbers from max on are mailboxes */
		r->input[r->n] = (uint8_t)(w->message.input < max ?
						   w->message.input :
						   max);
	/* the test reads it while the kernel runs */
	peal_store_relaxed_sys(&r->n, r->n + 1);
	load_spin(r->spin_ns);
	return 0;
}

/* Tells its messages to the actor that they name. */
static PEAL_DEV int tell(struct peal_worker *w)
{
	const struct load_note *note = (const struct load_note *)peal_data(w);

	return peal_tell(w, (uint32_t)note->actor, peal_type(w), note,
			 sizeof(*note), 0);
}

/* Emits one message by port 0 and one by port 1, but declares up to eight. */
static PEAL_DEV int pour(struct peal_worker *w)
{
	uint64_t word = 0;
	int result = peal_emit(w, 0, 0, &word, sizeof(word), 0);

	return result ? result : peal_emit(w, 1, 0, &word, sizeof(word), 0);
}

#define HANDLERS(X)                                                            \
	X(record, sizeof(struct load_record), PEAL_SINK)                       \
	X(tell, 0, PEAL_TELLS(1))                                              \
	X(pour, 0, PEAL_EMITS(2, 8))
PEAL_PROGRAM(load, HANDLERS);
