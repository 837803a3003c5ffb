/* SPDX-License-Identifier: Apache-2.0 */
/* Actors that check the identity and order of their messages. */
#include <peal/device/kernel.h>

#include "../tally.h"

/* Returns 0 if the message is the actor's next message. All lanes agree. */
static PEAL_DEV int count(struct peal_worker *w)
{
	struct tally *t = (struct tally *)peal_state(w);
	const struct tally_message *m =
		(const struct tally_message *)peal_data(w);
	int wrong = peal_length(w) < sizeof(*m) || m->id != t->id ||
		    m->number != t->next || t->zero;

	peal_sync(w);
	if (peal_is_leader(w) && !wrong)
		t->next++;
	return wrong ? PEAL_EPROTO : 0;
}

static PEAL_DEV int tally(struct peal_worker *w)
{
	return count(w);
}

static PEAL_DEV int large(struct peal_worker *w)
{
	return count(w);
}

/* Emits its message again. */
static PEAL_DEV int answer(struct peal_worker *w)
{
	int wrong = count(w);

	return wrong ? wrong :
		       peal_emit(w, 0, peal_type(w), peal_data(w),
				 peal_length(w), 0);
}

/* Replies with its state. */
static PEAL_DEV int asked(struct peal_worker *w)
{
	int wrong = count(w);

	peal_sync(w); /* the reply has the leader's new count */
	return wrong ? peal_reply_error(w, 0, PEAL_EPROTO) :
		       peal_reply(w, 0, 0, peal_state(w), sizeof(struct tally));
}

/* Emits to the actor that the message names, in the kernel behind its port. */
static PEAL_DEV int post(struct peal_worker *w)
{
	const struct tally_message *m =
		(const struct tally_message *)peal_data(w);

	return peal_emit_to(w, 0, (uint32_t)m->actor, peal_type(w), m,
			    peal_length(w), 0);
}

/* Counts dead letters. */
static PEAL_DEV int mourn(struct peal_worker *w)
{
	struct tally_mourner *s = (struct tally_mourner *)peal_state(w);
	const struct peal_dead_letter *letter = peal_dead_letter_current(w);
	const struct tally_message *m =
		(const struct tally_message *)(letter ? letter + 1 : 0);

	if (peal_is_leader(w)) {
		s->letters += letter != 0;
		s->others += !letter;
		s->mistaken += parcel_data(w) != 0;
		s->numbers += letter ? m->number : 0;
	}
	return letter && letter->type == TALLY_TOO_MUCH ? PEAL_EIO : 0;
}

/* Declares the length of its messages. */
static PEAL_DEV int exact(struct peal_worker *w)
{
	return count(w);
}

#define HANDLERS(X)                                                            \
	X(tally, sizeof(struct tally), PEAL_SINK)                              \
	X(large, sizeof(struct tally_large), PEAL_SINK)                        \
	X(answer, sizeof(struct tally), PEAL_EMITS(1, 1))                      \
	X(asked, sizeof(struct tally), PEAL_EMITS(1, 1))                       \
	X(post, 0, PEAL_EMITS(1, 1))                                           \
	X(mourn, sizeof(struct tally_mourner), PEAL_SINK)                      \
	X(exact, sizeof(struct tally),                                         \
	  PEAL_LIMITS(0, 0, 0, sizeof(struct tally_message), 0))
PEAL_PROGRAM(tally, HANDLERS);
