/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of a group. Each member has one actor `ring` per channel. Port 0
 * of this actor leads to the next member's. Each member also has an actor
 * `exchange_N` with a port to each other member. The last port of every actor
 * leads to the host.
 *
 * The ring, with N members. Places are counted around the ring, from 0.
 *
 * 1. A member begins slices, at most PEAL_RING_WINDOW at a time.
 * 2. Each slice goes around the ring, back to the member that began it.
 * 3. That member then begins its next slice.
 *
 * The kind of the collective decides on the begin and the hops:
 *
 * - Kinds that reduce: the member behind the part's owner begins. After N - 1
 *   hops the slice is reduced, at the owner.
 * - All-reduce: the slice then makes N - 1 more hops, to all other members.
 * - All-to-all: each member begins a part of each other member. A slice is
 *   written at the owner of its part alone.
 * - Other kinds: the member that has the data begins.
 *
 * After the last member that needs the data, a message carries only its head. A
 * member is done with a collective when all its messages have passed.
 *
 * At most PEAL_RING_WINDOW slices per `ring` actor are in flight, in an
 * all-reduce twice as many. A link holds more than three times PEAL_RING_WINDOW
 * slices. So the links are never all full, and the members never all wait for
 * free slots. This is the ring of Patarasu and Yuan, "Bandwidth Optimal
 * All-reduce Algorithms for Clusters of Workstations" (2009).
 *
 * The tree is binomial. Let v be a place counted from the root. Child k of v is
 * v + 2^k, for each k where v is a multiple of 2^(k + 1). Each member reduces
 * its elements and those of its children, and sends the result up once. Each
 * member sends data from above on to its children. One description is R.
 * Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
 * Operations in MPICH" (2005).
 *
 * The order of a reduction is fixed:
 *
 * - ring: from the member behind the owner, around to the owner
 * - exchange: by rank
 * - tree: the member's own elements, then its children, the nearest first
 *
 * In a group of processes, the host sends BEGIN only to the exchange. The
 * exchange sends a description of the collective, the call, to all other
 * members. Once all calls are known and equal, the exchange starts, or the
 * first channel of the ring does.
 */
#include <peal/device/kernel.h>

#include "ringkernels/collective_ring.h"
#include "ringkernels/collective_tree.h"
#include "ringkernels/fixed_port_handlers.h"

/* ---- exchange and tree --------------------------------------------------- */

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

/*
 * Collective: called on the host's BEGIN. In a group of processes, called once
 * all calls are known and equal.
 */
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

/* ---- groups of processes: comparison of the calls ------------------------ */

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

/*
 * Called once all calls are known: starts the collective, or reports
 * PEAL_EINVAL if the calls differ.
 */
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
			e->member.sequence = p->sequence; /* for the report */
	}
	peal_sync(w);
	if (!same)
		return say_done(w, &e->member, p->members - 1, PEAL_EINVAL);
	if (p->algorithm == PEAL_ALGORITHM_RING)
		return peal_tell(w, e->member.init.next, PEAL_MEMBER_BEGIN, 0,
				 0, 0);
	return begin(w, e, p);
}

/*
 * Collective: records the call of a member, this one or another. Returns 1 for
 * the last call. Reads nothing of the plan, which the host may be writing.
 */
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

/* Handles the call of another member, which may be one collective ahead. */
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

	peal_fence_acquire_sys(); /* the plan and the elements */
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
EACH_PORT_COUNT_TO_64(EXCHANGE, )

/* The state without the rows of `data` for more than n members. */
#define EXCHANGE_BYTES(n)                                                      \
	(sizeof(struct exchange) - (PEAL_COMM_MAX - (n)) * PEAL_EXCHANGE_BYTES)
#define EXCHANGE_OF(X, n)                                                      \
	X(exchange_##n, EXCHANGE_BYTES(n), PEAL_LIMITS(n, 2, 1, 0, 0))
#define HANDLERS(X)                                                            \
	X(ring, sizeof(struct member),                                         \
	  PEAL_LIMITS(2, PEAL_RING_WINDOW, 1, 0, 0))                           \
	EACH_PORT_COUNT_TO_64(EXCHANGE_OF, X)
PEAL_PROGRAM(peal_collective, HANDLERS);
