/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of a group. Each has an actor `ring` for each channel, whose port 0
 * leads to the next member's, and one `exchange_N` with a port to each other member's;
 * the last port of all leads to the host.
 *
 * By the ring every slice makes its way from the member that begins it back to that
 * one, which then sends its next one: so no more than PEAL_RING_WINDOW of a part are
 * on their way, twice as many in an all-reduce, and no member ever waits for room
 * that waits for it (the links have room for more than three times as many). With N
 * members, places are counted around the ring from 0:
 *
 *	reduces		begins behind the part's owner, and has been at all of them
 *			at the owner, after N - 1 hops
 *	all-reduce	goes on from there to all others, N - 1 more
 *	else		begins where the data are
 *
 * What no later member needs is left away, but the message comes all the way: a
 * member is done with a collective when all of it has passed. This is the ring of
 * Patarasu and Yuan, "Bandwidth Optimal All-reduce Algorithms for Clusters of
 * Workstations" (2009).
 *
 * The tree is the binomial one of places behind the root: that at v has the children
 * v + 1, v + 2, v + 4, ..., as long as v is a multiple of twice the step (R. Thakur,
 * R. Rabenseifner, W. Gropp, "Optimization of Collective Communication Operations in
 * MPICH", 2005, is one of many that describe it). Each sends what it and all below it
 * have up once, and what comes down on to its children.
 *
 * The order in which elements are reduced is fixed: by the ring from the member
 * behind the owner on, around to the owner; by an exchange in order of ranks; by a
 * tree each member's own, then what its children send, the nearest first.
 *
 * In a group of processes the host tells the exchange alone, which says to all others
 * what it is called for. When it has heard that of all it goes on, or has the first
 * channel of the ring begin.
 */
#include <peal/device/kernel.h>

#include "ringkernels/collective_ring.h"
#include "ringkernels/collective_tree.h"
#include "ringkernels/each_number.h"

/* ---- either ---------------------------------------------------------------------------- */

static PEAL_DEV void enter_either(struct peal_worker *w, struct member *m,
				  const struct peal_collective_plan *p)
{
	if (m->sequence == p->sequence)
		return;
	if (p->algorithm == PEAL_ALGORITHM_TREE)
		enter_tree(w, m, p);
	else
		enter_exchange(w, m, p);
}

/* Collective: the host has said that it begins, and all others that they do. */
static PEAL_DEV int begin(struct peal_worker *w, struct exchange *e,
			  const struct peal_collective_plan *p)
{
	int is_tree = p->algorithm == PEAL_ALGORITHM_TREE, result;

	enter_either(w, &e->member, p);
	result = is_tree ? 0 : exchange_begin(w, e, p);
	if (result || !count(w, &e->member, 0, 1))
		return result;
	return is_tree ? tree_ready(w, e, p) : finish(w, e, p);
}

static PEAL_DEV int take_data(struct peal_worker *w, struct exchange *e,
			      const struct peal_collective_plan *p)
{
	const struct peal_member_head *head =
		(const struct peal_member_head *)peal_data(w);
	int is_tree = p->algorithm == PEAL_ALGORITHM_TREE;

	if (peal_length(w) < sizeof(*head) || head->sequence != p->sequence ||
	    head->owner >= p->members)
		return PEAL_EPROTO;
	enter_either(w, &e->member, p);
	return is_tree ? tree_data(w, e, p, head) :
			 exchange_data(w, e, p, head);
}

/* ---- between processes: what all are called for ------------------------------------------ */

static PEAL_DEV struct peal_member_call
own_call(const struct peal_collective_plan *p)
{
	struct peal_member_call c;

	c.sequence = p->sequence;
	c.kind = p->kind;
	c.element = p->element;
	c.reduction = p->reduction;
	c.root = p->root;
	c.algorithm = p->algorithm;
	c.channels = p->channels;
	c.count = p->count;
	c.slice = p->slice;
	c.ranks = p->ranks;
	return c;
}

static PEAL_DEV int is_same(const struct peal_member_call *a,
			    const struct peal_member_call *b)
{
	return a->kind == b->kind && a->element == b->element &&
	       a->reduction == b->reduction && a->root == b->root &&
	       a->algorithm == b->algorithm && a->channels == b->channels &&
	       a->count == b->count && a->slice == b->slice &&
	       a->ranks == b->ranks;
}

/* All have been called: what comes of it. */
static PEAL_DEV int agree(struct peal_worker *w, struct exchange *e,
			  const struct peal_collective_plan *p)
{
	const struct peal_member_call own = own_call(p),
				      *all = e->called[p->sequence & 1];
	uint32_t place;
	int same = 1;

	for (place = 0; place < p->members; place++)
		same &= is_same(&all[place], &own);
	peal_sync(w);
	if (peal_is_leader(w)) {
		e->n_called[p->sequence & 1] = 0;
		if (!same)
			e->member.sequence = p->sequence; /* of its report */
	}
	peal_sync(w);
	if (!same)
		return say_done(w, &e->member, p->members - 1, PEAL_EINVAL);
	if (p->algorithm == PEAL_ALGORITHM_RING)
		return peal_tell(w, e->member.init.next, PEAL_MEMBER_BEGIN, 0,
				 0);
	return begin(w, e, p);
}

/* Collective: a member has been called, this one or another; 1: it was the last. Of
 * the plan nothing is read, which the host may be writing. */
static PEAL_DEV int note_call(struct peal_worker *w, struct exchange *e,
			      uint32_t place,
			      const struct peal_member_call *call)
{
	struct peal_collective_plan *p =
		(struct peal_collective_plan *)(uintptr_t)e->member.init.plan;
	uint32_t which = call->sequence & 1, n = e->n_called[which] + 1;

	peal_sync(w);
	if (peal_is_leader(w)) {
		struct peal_member_call *say = &p->called[which][place];

		e->called[which][place] = *call;
		e->n_called[which] = n;
		say->count = call->count;
		say->slice = call->slice;
		say->ranks = call->ranks;
		say->kind = call->kind;
		say->element = call->element;
		say->reduction = call->reduction;
		say->root = call->root;
		say->algorithm = call->algorithm;
		say->channels = call->channels;
		peal_store_release_sys(&say->sequence, call->sequence);
	}
	peal_sync(w);
	return n == e->member.init.members;
}

static PEAL_DEV int say_called(struct peal_worker *w, const struct exchange *e,
			       const struct peal_collective_plan *p,
			       const struct peal_member_call *call)
{
	uint32_t place = e->member.init.place, to;
	int result = 0;

	for (to = 0; to < p->members && !result; to++) {
		void *data = 0;

		if (to == place)
			continue;
		result = reserve_bytes_to(w, e, p, to, 0, sizeof(*call), &data);
		if (result)
			break;
		if (peal_is_leader(w))
			*(struct peal_member_call *)data = *call;
		peal_commit(w, port_to(e, to), PEAL_MEMBER_CALLED,
			    sizeof(struct peal_member_head) + sizeof(*call));
	}
	return result;
}

/* Another one says what it is called for; it may be one ahead. */
static PEAL_DEV int hear_called(struct peal_worker *w, struct exchange *e,
				const struct peal_collective_plan *p)
{
	const struct peal_member_head *head =
		(const struct peal_member_head *)peal_data(w);
	const struct peal_member_call *call =
		(const struct peal_member_call *)(head + 1);

	if (peal_length(w) != sizeof(*head) + sizeof(*call) ||
	    head->owner >= e->member.init.members ||
	    (uint32_t)call->sequence !=
		    (uint32_t)e->called[~call->sequence & 1][head->owner]
				    .sequence +
			    1)
		return PEAL_EPROTO;
	return note_call(w, e, head->owner, call) ? agree(w, e, p) : 0;
}

static PEAL_DEV int exchange_message(struct peal_worker *w)
{
	struct exchange *e = (struct exchange *)peal_state(w);
	const struct peal_collective_plan *p = plan_of(&e->member);
	struct peal_member_call call;
	int is_last, result;

	peal_fence_acquire_sys(); /* the plan, and what it is for */
	if (peal_type(w) == PEAL_MEMBER_DATA)
		return take_data(w, e, p);
	if (peal_type(w) == PEAL_MEMBER_CALLED)
		return hear_called(w, e, p);
	if (!p->processes)
		return begin(w, e, p);
	call = own_call(p);
	is_last = note_call(w, e, e->member.init.place, &call);
	result = say_called(w, e, p, &call);
	return !result && is_last ? agree(w, e, p) : result;
}

static PEAL_DEV PEAL_NOINLINE int exchange(struct peal_worker *w)
{
	const struct exchange *e = (const struct exchange *)peal_state(w);
	int result = exchange_message(w);

	if (result)
		say_done(w, &e->member, e->member.init.members - 1, result);
	return result;
}

static PEAL_DEV int ring(struct peal_worker *w)
{
	int result = ring_message(w);

	if (result)
		say_done(w, (const struct member *)peal_state(w), 1, result);
	return result;
}

#define EXCHANGE(X, n)                                                         \
	static PEAL_DEV int exchange_##n(struct peal_worker *w)                \
	{                                                                      \
		return exchange(w);                                            \
	}
EACH_NUMBER_TO_16(EXCHANGE, )

#define EXCHANGE_OF(X, n)                                                      \
	X(exchange_##n, sizeof(struct exchange), PEAL_LIMITS(n, 2, 1, 0, 0))
#define HANDLERS(X)                                                            \
	X(ring, sizeof(struct member),                                         \
	  PEAL_LIMITS(2, PEAL_RING_WINDOW, 1, 0, 0))                           \
	EACH_NUMBER_TO_16(EXCHANGE_OF, X)
PEAL_PROGRAM(peal_collective, HANDLERS);
