/* SPDX-License-Identifier: Apache-2.0 */
/* Actors that tell each other more than a mailbox holds. */
#include <peal/device/kernel.h>

#include "../gate.h"
#include "../full_mailbox.h"

/* Passes each message on to the next actor, if there is one. */
static PEAL_DEV int pass(struct peal_worker *w)
{
	struct row_actor *s = (struct row_actor *)peal_state(w);
	uint32_t next = s->next;

	peal_sync(w);
	if (peal_is_leader(w)) {
		s->misordered += *(const uint64_t *)peal_data(w) != s->seen;
		s->seen++;
	}
	if (next == ROW_END)
		return 0;
	return peal_tell(w, next, peal_type(w), peal_data(w), peal_length(w),
			 0);
}

/* Tells the next actor each message as a question, and counts its answers. */
static PEAL_DEV int ask(struct peal_worker *w)
{
	struct row_actor *s = (struct row_actor *)peal_state(w);

	if (peal_type(w) != ROW_ANSWER)
		return peal_tell(w, s->next, ROW_QUESTION, peal_data(w),
				 peal_length(w), 0);
	if (peal_is_leader(w)) {
		s->misordered += *(const uint64_t *)peal_data(w) != s->seen;
		s->seen++;
	}
	return 0;
}

static PEAL_DEV int answer(struct peal_worker *w)
{
	struct row_actor *s = (struct row_actor *)peal_state(w);

	if (peal_is_leader(w))
		s->seen++;
	return peal_tell(w, s->next, ROW_ANSWER, peal_data(w), peal_length(w),
			 0);
}

/* Tells itself. The type counts the messages that are left. */
static PEAL_DEV int again(struct peal_worker *w)
{
	struct row_actor *s = (struct row_actor *)peal_state(w);

	if (peal_is_leader(w))
		s->seen++;
	if (!peal_type(w))
		return 0;
	return peal_tell(w, peal_self(w), (uint16_t)(peal_type(w) - 1),
			 peal_data(w), peal_length(w), 0);
}

/* Waits until the host word is not 0. */
static PEAL_DEV int hold(struct peal_worker *w)
{
	const uint64_t *word =
		*(const uint64_t *const *)(const void *)peal_data(w);

	while (!peal_load_acquire_sys(word) && !peal_aborting(w))
		gate_pause();
	return 0;
}

#define HANDLERS(X)                                                            \
	X(pass, sizeof(struct row_actor), PEAL_TELLS(1))                       \
	X(ask, sizeof(struct row_actor), PEAL_TELLS(1))                        \
	X(answer, sizeof(struct row_actor), PEAL_TELLS(1))                     \
	X(again, sizeof(struct row_actor), PEAL_TELLS(1))                      \
	X(hold, 0, PEAL_SINK)
PEAL_PROGRAM(full_mailbox, HANDLERS);
