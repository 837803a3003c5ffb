/* SPDX-License-Identifier: Apache-2.0 */
/* Actors that spawn actors, which count, spawn and retire themselves. */
#include <peal/device/kernel.h>

#include "../gate.h"
#include "../spawns.h"

#define HANDLERS(X)                                                            \
	X(maker, sizeof(struct spawns_state),                                  \
	  PEAL_LIMITS(1, 1, SPAWNS_TELLS, 0, 0))                               \
	X(child, sizeof(struct spawns_state), PEAL_TELLS(SPAWNS_TELLS))        \
	X(speaker, sizeof(struct spawns_state),                                \
	  PEAL_LIMITS(1, 1, SPAWNS_TELLS, 0, 0))                               \
	X(wide, sizeof(struct spawns_state) + 1, PEAL_SINK)                    \
	X(other, sizeof(struct spawns_state), PEAL_LIMITS(1, 1, 0, 0, 8))      \
	X(mute, sizeof(struct spawns_state), PEAL_SINK)
PEAL_HANDLERS(HANDLERS);

/* Returns the program's number of a handler. Leaves other numbers alone. */
static PEAL_DEV uint32_t handler_of(uint32_t handler)
{
	switch (handler) {
	case SPAWNS_CHILD:
		return PEAL_HANDLER(child);
	case SPAWNS_SPEAKER:
		return PEAL_HANDLER(speaker);
	case SPAWNS_WIDE:
		return PEAL_HANDLER(wide);
	case SPAWNS_OTHER:
		return PEAL_HANDLER(other);
	case SPAWNS_MUTE:
		return PEAL_HANDLER(mute);
	default:
		return handler;
	}
}

/* ---- the maker ----------------------------------------------------------- */

static PEAL_DEV int make(struct peal_worker *w, struct spawns_order *o)
{
	struct spawns_state init = { 0, 0, 0, 0, 0, 0, 0, { 0, 0 } };

	init.value = o->value;
	init.maker = peal_self(w);
	return peal_spawn(w, handler_of(o->handler), &init, o->init_bytes,
			  o->share_ports_with, &o->actor);
}

static PEAL_DEV void make_some(struct peal_worker *w, struct spawns_order *o)
{
	uint32_t n;

	for (n = 0; n < o->n && !o->result; n += !o->result)
		o->result = make(w, o);
	o->n = n;
}

static PEAL_DEV void churn(struct peal_worker *w, struct spawns_order *o)
{
	uint32_t n;

	for (n = 0; n < o->n && !o->result; n++) {
		o->result = make(w, o);
		if (!o->result)
			o->result = peal_retire(w, o->actor);
	}
	o->n = n;
}

/* Messages to an actor are in flight when the next actor takes its slot. */
static PEAL_DEV void make_late(struct peal_worker *w, struct spawns_order *o)
{
	uint32_t n;

	o->result = make(w, o);
	for (n = 0; n < o->n && !o->result; n++)
		o->result = peal_tell(w, o->actor, SPAWNS_COUNT, &o->value,
				      sizeof(o->value), 0);
	if (!o->result)
		o->result = peal_retire(w, o->actor);
	o->value++;
	if (!o->result)
		o->result = make(w, o);
}

static PEAL_DEV int grow(struct peal_worker *w, uint32_t depth, uint32_t teller)
{
	struct spawns_state init = { 0, 0, 0, 0, 0, 0, 0, { 0, 0 } };
	struct spawns_tree tree;
	uint32_t actor = 0;
	int result;

	tree.depth = depth;
	tree.teller = teller;
	init.value = depth;
	init.maker = teller;
	result = peal_spawn(w, PEAL_HANDLER(child), &init, 16, 0, &actor);
	return result ?
		       result :
		       peal_tell(w, actor, SPAWNS_GROW, &tree, sizeof(tree), 0);
}

static PEAL_DEV void storm(struct peal_worker *w, struct spawns_order *o)
{
	uint32_t n;

	for (n = 0; n < o->n && !o->result; n++)
		o->result = grow(w, (uint32_t)o->value, o->actor);
}

static PEAL_DEV int maker(struct peal_worker *w)
{
	struct spawns_state *s = (struct spawns_state *)peal_state(w);
	struct spawns_order o;
	uint16_t type = peal_type(w);

	if (type == SPAWNS_LEAF) {
		uint64_t leaves = *(const uint64_t *)peal_data(w);

		if (peal_is_leader(w))
			s->count += leaves;
		return 0;
	}
	if (type == SPAWNS_FAIL)
		return SPAWNS_ERROR;
	o = *(const struct spawns_order *)peal_data(w);
	peal_sync(w);
	if (type == SPAWNS_MAKE)
		make_some(w, &o);
	else if (type == SPAWNS_END)
		o.result = peal_retire(w, o.actor);
	else if (type == SPAWNS_CHURN)
		churn(w, &o);
	else if (type == SPAWNS_LATE)
		make_late(w, &o);
	else if (type == SPAWNS_TELL)
		o.result = peal_tell(w, o.actor, (uint16_t)o.n, &o.value,
				     sizeof(o.value), 0);
	else if (type == SPAWNS_STORM)
		storm(w, &o);
	else
		o.value = s->count;
	o.self = peal_self(w);
	return peal_emit(w, 0, type, &o, sizeof(o), 0);
}

/* ---- spawned actors ------------------------------------------------------ */

/* Checks that the state is the initial bytes and zeros, also in a reused actor
 * slot. */
static PEAL_DEV int hello(struct peal_worker *w, struct spawns_state *s)
{
	int good = s->hellos == 0 && s->count == 0 && s->made == 0 &&
		   s->result == 0 && s->filler[0] == 0 && s->filler[1] == 0;

	peal_sync(w);
	if (peal_is_leader(w)) {
		s->hellos = 1;
		s->filler[0] = s->filler[1] = ~0ULL;
	}
	return good ? 0 : PEAL_EINVAL;
}

/* Retires itself. From then on its address is dead, but it keeps its state. Its
 * actor slot is free after its handler has returned. */
static PEAL_DEV int leave(struct peal_worker *w, struct spawns_state *s)
{
	uint32_t made = 0, self = peal_self(w), maker_of = s->maker;
	uint64_t value = s->value, said;
	int result = peal_retire(w, self);

	if (result)
		return result;
	if (peal_retire(w, self) != PEAL_ENOENT ||
	    peal_tell(w, self, SPAWNS_COUNT, &value, 8, 0) != PEAL_ENOENT)
		return PEAL_EINVAL;
	result = peal_spawn(w, PEAL_HANDLER(child), &value, 8, 0, &made);
	if (s->value != value || s->maker != maker_of)
		return PEAL_EINVAL;
	said = result == PEAL_ENOSPC ? 1 : 1000;
	return peal_tell(w, maker_of, SPAWNS_LEAF, &said, sizeof(said), 0);
}

/* Replaces itself by two subtrees of depth - 1. A leaf reports to `teller`.
 * Without a free actor slot it reports the leaves of the missing subtree. */
static PEAL_DEV int grow_on(struct peal_worker *w, const struct spawns_state *s)
{
	const struct spawns_tree *m = (const struct spawns_tree *)peal_data(w);
	uint32_t depth = m->depth, teller = m->teller, i;
	uint64_t leaves = depth ? 0 : 1;
	int result = 0;

	if (s->value != depth || s->maker != teller || s->count || s->filler[0])
		return PEAL_EINVAL;
	for (i = 0; i < 2 && depth && !result; i++) {
		result = grow(w, depth - 1, teller);
		if (result == PEAL_ENOSPC) {
			leaves += 1ULL << (depth - 1);
			result = 0;
		}
	}
	if (!result && leaves)
		result = peal_tell(w, teller, SPAWNS_LEAF, &leaves,
				   sizeof(leaves), 0);
	return result ? result : peal_retire(w, peal_self(w));
}

static PEAL_DEV int child(struct peal_worker *w)
{
	struct spawns_state *s = (struct spawns_state *)peal_state(w);
	uint16_t type = peal_type(w);
	int result = 0;

	if (type == SPAWNS_HELLO)
		return hello(w, s);
	if (type == SPAWNS_LEAVE)
		return leave(w, s);
	if (type == SPAWNS_FAIL)
		return SPAWNS_ERROR;
	if (type == SPAWNS_COUNT && *(const uint64_t *)peal_data(w) &&
	    *(const uint64_t *)peal_data(w) != s->value)
		return PEAL_EINVAL; /* the message is for another actor */
	while (type == SPAWNS_SPIN && !peal_aborting(w))
		gate_pause();
	if (type == SPAWNS_GROW)
		result = grow_on(w, s);
	peal_sync(w);
	if (peal_is_leader(w)) {
		s->count++;
		s->filler[0] = s->filler[1] = ~0ULL;
	}
	return result;
}

static PEAL_DEV int speaker(struct peal_worker *w)
{
	struct spawns_state *s = (struct spawns_state *)peal_state(w);
	uint64_t value = s->value + 1;
	uint32_t made = 0;
	int result;

	if (peal_type(w) == SPAWNS_SAY)
		return peal_emit(w, 0, SPAWNS_SAY, s, sizeof(*s), 0);
	if (peal_type(w) != SPAWNS_BREED)
		return child(w);
	result = peal_spawn(w, PEAL_HANDLER(speaker), &value, sizeof(value),
			    peal_self(w), &made);
	if (peal_is_leader(w)) {
		s->made = made;
		s->result = result;
	}
	peal_sync(w);
	return peal_emit(w, 0, SPAWNS_BREED, s, sizeof(*s), 0);
}

static PEAL_DEV int wide(struct peal_worker *w)
{
	(void)w;
	return 0;
}

static PEAL_DEV int other(struct peal_worker *w)
{
	(void)w;
	return 0;
}

static PEAL_DEV int mute(struct peal_worker *w)
{
	return peal_type(w) == SPAWNS_LEAVE ? peal_retire(w, peal_self(w)) : 0;
}

PEAL_PROGRAM(spawns, HANDLERS);
