/* SPDX-License-Identifier: Apache-2.0 */
/* Actors that report their begin and end by hooks. */
#include <peal/device/kernel.h>

#include "../hooks.h"

#define HANDLERS(X)                                                            \
	X(maker, 0, PEAL_LIMITS(1, 1, HOOKS_TELLS, 0, 0))                      \
	X(guest, sizeof(struct hooks_state),                                   \
	  PEAL_WITH_HOOKS(PEAL_LIMITS(0, 0, 1, 8, 0)))                         \
	X(singer, sizeof(struct hooks_state),                                  \
	  PEAL_WITH_HOOKS(PEAL_EMITS(1, 1)))                                   \
	X(teller, 0, PEAL_EMITS(1, 1))                                         \
	X(mortal, 0, PEAL_WITH_HOOKS(PEAL_EMITS(1, 1)))                        \
	X(plain, sizeof(struct hooks_state), PEAL_SINK)
PEAL_HANDLERS(HANDLERS);

static PEAL_DEV struct hooks_state *guest_state(struct peal_worker *w)
{
	return (struct hooks_state *)peal_state(w);
}

/* ---- guests -------------------------------------------------------------- */

static PEAL_DEV uint64_t said(const struct hooks_state *s)
{
	return (uint64_t)s->messages << 32 | s->id;
}

static PEAL_DEV int tell(struct peal_worker *w, const struct hooks_state *s,
			 uint16_t type)
{
	uint64_t message = said(s);

	return s->teller ? peal_tell(w, s->teller - 1, type, &message,
				     sizeof(message), 0) :
			   0;
}

/* Counts the run as an init, an exit or a message. */
static PEAL_DEV void note(struct peal_worker *w, struct hooks_state *s)
{
	peal_sync(w);
	if (!peal_is_leader(w))
		return;
	if (peal_is_init(w))
		s->inits++;
	else if (peal_is_exit(w))
		s->exits++;
	else
		s->messages++;
	s->odd += !s->inits || (s->exits && !peal_is_exit(w));
}

static PEAL_DEV int begin(struct peal_worker *w, const struct hooks_state *s)
{
	if (peal_length(w) || peal_is_exit(w))
		return PEAL_EINVAL;
	if (s->wish & HOOKS_FAILS_INIT)
		return HOOKS_ERROR;
	if (s->wish & HOOKS_MEETS)
		return peal_retire(w, peal_self(w));
	return 0;
}

static PEAL_DEV int guest(struct peal_worker *w)
{
	struct hooks_state *s = guest_state(w);
	int result;

	if (!peal_is_exit(w))
		note(w, s);
	peal_sync(w);
	if (peal_is_init(w)) {
		result = tell(w, s, HOOKS_BEGUN);
		return result ? result : begin(w, s);
	}
	if (peal_is_exit(w)) {
		if (peal_retire(w, peal_self(w)) == 0)
			return PEAL_EINVAL;
		result = tell(w, s, HOOKS_ENDED);
		if (result == PEAL_ENOENT) /* the teller has ended */
			result = 0;
		note(w, s);
		if (s->wish & HOOKS_FAILS_EXIT)
			return HOOKS_ERROR;
		return result;
	}
	if (peal_type(w) == HOOKS_LEAVE)
		return peal_retire(w, peal_self(w));
	return peal_type(w) == HOOKS_FAIL ? HOOKS_ERROR : 0;
}

/* Emits its id and its count by port 0, also in its init and exit. */
static PEAL_DEV int singer(struct peal_worker *w)
{
	struct hooks_state *s = guest_state(w);
	uint64_t message;
	int result;

	note(w, s);
	peal_sync(w);
	message = said(s);
	if (peal_is_init(w)) {
		result = peal_emit(w, 0, HOOKS_BEGUN, &message, sizeof(message),
				   0);
		if (peal_is_leader(w))
			s->emitted = result;
		return 0;
	}
	if (peal_is_exit(w))
		return peal_emit(w, 0, HOOKS_ENDED, &message, sizeof(message),
				 0);
	return peal_emit(w, 0, peal_type(w), &message, sizeof(message), 0);
}

/* ---- others -------------------------------------------------------------- */

static PEAL_DEV int teller(struct peal_worker *w)
{
	return peal_emit(w, 0, peal_type(w), peal_data(w), peal_length(w), 0);
}

/* As the teller, but with hooks. */
static PEAL_DEV int mortal(struct peal_worker *w)
{
	return peal_is_init(w) || peal_is_exit(w) ? 0 : teller(w);
}

static PEAL_DEV int plain(struct peal_worker *w)
{
	note(w, guest_state(w));
	return 0;
}

static PEAL_DEV void make(struct peal_worker *w, struct hooks_order *o)
{
	uint64_t nothing = 0;
	uint32_t init[3], n;

	init[1] = o->teller;
	init[2] = o->wish;
	for (n = 0; n < o->n && !o->result; n++) {
		init[0] = n;
		o->result = peal_spawn(w, PEAL_HANDLER(guest), init,
				       sizeof(init), 0, &o->actor);
		if (!o->result)
			o->result = peal_tell(w, o->actor, HOOKS_COUNT,
					      &nothing, sizeof(nothing), 0);
	}
}

static PEAL_DEV int maker(struct peal_worker *w)
{
	struct hooks_order o = *(const struct hooks_order *)peal_data(w);

	peal_sync(w);
	if (peal_type(w) == HOOKS_MAKE)
		make(w, &o);
	else
		o.result = peal_retire(w, o.actor);
	return peal_emit(w, 0, peal_type(w), &o, sizeof(o), 0);
}

PEAL_PROGRAM(hooks, HANDLERS);
