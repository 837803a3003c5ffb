/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RINGKERNELS_COLLECTIVE_RING_H
#define PEAL_RINGKERNELS_COLLECTIVE_RING_H

/*
 * The ring: the meaning of each hop of a slice, and the handler of its actor.
 * See programs/collective.c for the algorithm.
 */

#include "ringkernels/collective_member.h"

/* ---- hops ---------------------------------------------------------------- */

/*
 * Returns the place of the member that begins the slices of a part. In an
 * all-to-all, all members but the owner begin slices of the part.
 */
static PEAL_DEV uint32_t beginner(const struct peal_collective_plan *p,
				  uint32_t owner)
{
	if (peali_kind_reduces(p->kind))
		return owner + 1 == p->members ? 0 : owner + 1;
	return peali_kind_takes_parts(p->kind) ? owner : p->root;
}

/* Returns 1 if the member at `place` begins slices of an owner's part. */
static PEAL_DEV int begins(const struct peal_collective_plan *p, uint32_t place,
			   uint32_t owner)
{
	return p->kind == PEAL_ALL_TO_ALL ? owner != place :
					    beginner(p, owner) == place;
}

/*
 * Returns the owner of the k-th part that a member begins. In an all-to-all it
 * is k places away, so that all links have equal loads.
 */
static PEAL_DEV uint32_t kth_owner(const struct peal_collective_plan *p,
				   uint32_t place, uint32_t k)
{
	if (p->kind != PEAL_ALL_TO_ALL)
		return k;
	return place + k < p->members ? place + k : place + k - p->members;
}

/* Returns the place of the member that began a slice, `hop` hops ago. */
static PEAL_DEV uint32_t origin(const struct peal_collective_plan *p,
				uint32_t place, uint32_t hop)
{
	return (place + p->members - hop % p->members) % p->members;
}

/*
 * Returns the last hop with data of a slice from the member at `from`. Later
 * hops carry the head only.
 */
static PEAL_DEV uint32_t last_data(const struct peal_collective_plan *p,
				   uint32_t from, uint32_t owner)
{
	switch (p->kind) {
	case PEAL_ALL_REDUCE:
		return 2 * p->members - 2;
	case PEAL_GATHER:
		return way(p, owner, p->root);
	case PEAL_SCATTER:
	case PEAL_ALL_TO_ALL:
		return way(p, from, owner);
	default:
		return p->members - 1;
	}
}

/*
 * Returns 1 if the member at this hop writes the slice to `out`. `most` is the
 * last hop with data.
 */
static PEAL_DEV int is_written(const struct peal_collective_plan *p,
			       uint32_t most, uint32_t hop)
{
	if (peali_kind_reduces(p->kind))
		return hop >= p->members - 1 && hop <= most;
	return p->kind == PEAL_BROADCAST || p->kind == PEAL_ALL_GATHER ?
		       hop < p->members :
		       hop == most;
}

/*
 * Returns how often a slice visits a member. In an all-to-all, it is the sum
 * over the slices of all beginners.
 */
static PEAL_DEV uint32_t comes(const struct peal_collective_plan *p,
			       uint32_t owner, uint32_t place)
{
	uint32_t n = p->members, first = way(p, beginner(p, owner), place);

	if (p->kind == PEAL_ALL_TO_ALL)
		return n - 1;
	return 1 + (uint32_t)(p->kind == PEAL_ALL_REDUCE && first &&
			      first + n <= 2 * n - 2);
}

/* ---- the actor ----------------------------------------------------------- */

static PEAL_DEV void enter_ring(struct peal_worker *w, struct member *m,
				const struct peal_collective_plan *p)
{
	uint64_t left = 0;
	uint32_t owner;

	for (owner = 0; owner < p->members; owner++)
		left += slices(p, owner, m->init.channel) *
			comes(p, owner, m->init.place);
	enter(w, m, left);
}

/*
 * Returns the elements of a slice. *first is the slice's first one in its part.
 */
static PEAL_DEV uint64_t slice_of(const struct peal_collective_plan *p,
				  uint32_t owner, uint32_t slice,
				  uint64_t *first)
{
	uint64_t length;

	part(p, owner, &length);
	*first = slice * p->slice;
	return length - *first < p->slice ? length - *first : p->slice;
}

/*
 * Collective: reserves a message for a slice to the next member. *data_out is
 * the place for n elements. Returns 0 or an error.
 */
static PEAL_DEV int reserve(struct peal_worker *w,
			    const struct peal_collective_plan *p,
			    struct peal_member_head head, uint64_t n,
			    void **data_out)
{
	struct peal_member_head *to = 0;
	void *place = 0;
	int result = peal_reserve(
		w, 0, sizeof(*to) + n * peal_element_bytes(p->element), &place);

	if (result)
		return result;
	to = (struct peal_member_head *)place;
	if (peal_is_leader(w))
		*to = head;
	*data_out = to + 1;
	return 0;
}

static PEAL_DEV void commit(struct peal_worker *w,
			    const struct peal_collective_plan *p, uint64_t n)
{
	peal_commit(w, 0, PEAL_MEMBER_DATA,
		    sizeof(struct peal_member_head) +
			    n * peal_element_bytes(p->element));
}

/*
 * Collective: begins the member's next slice. Returns 1, 0 if no slice is left,
 * or an error.
 */
static PEAL_DEV int begin_slice(struct peal_worker *w, struct member *m,
				const struct peal_collective_plan *p)
{
	uint32_t place = m->init.place, k = m->turn, number = m->slice, owner;
	struct peal_member_head head;
	uint64_t first, n;
	void *data = 0;
	int result;

	while (k < p->members &&
	       (!begins(p, place, kth_owner(p, place, k)) ||
		number >= slices(p, kth_owner(p, place, k), m->init.channel))) {
		k++;
		number = 0;
	}
	peal_sync(w);
	if (peal_is_leader(w)) {
		m->turn = k;
		m->slice = number + 1;
	}
	peal_sync(w);
	if (k == p->members)
		return 0;
	owner = kth_owner(p, place, k);
	head.sequence = p->sequence;
	head.owner = owner;
	head.slice = number * p->channels + m->init.channel;
	head.hop = 1;
	n = slice_of(p, owner, head.slice, &first);
	result = reserve(w, p, head, n, &data);
	if (result)
		return result;
	copy(w, p, data, in_at(p, place, owner, first), n);
	commit(w, p, n);
	return 1;
}

/*
 * Handles a slice that has arrived. Sends it to the next member, except at the
 * last hop.
 */
static PEAL_DEV int pass_on(struct peal_worker *w, const struct member *m,
			    const struct peal_collective_plan *p,
			    const struct peal_member_head *head)
{
	uint32_t hop = head->hop, owner = head->owner, place = m->init.place,
		 from = origin(p, place, hop), most = last_data(p, from, owner);
	uint32_t hops = p->kind == PEAL_ALL_REDUCE ? most : p->members;
	int folds = peali_kind_reduces(p->kind) && hop < p->members;
	int written = is_written(p, most, hop);
	struct peal_member_head next = *head;
	const void *data = head + 1;
	uint64_t first, n = slice_of(p, owner, head->slice, &first);
	uint64_t more = hop < most ? n : 0;
	void *to = 0, *out = received_at(p, place, from, owner, first);
	int result;

	if (peal_length(w) !=
	    sizeof(*head) +
		    (hop <= most ? n : 0) * peal_element_bytes(p->element))
		return PEAL_EPROTO;
	if (hop < hops) {
		next.hop++;
		result = reserve(w, p, next, more, &to);
		if (result)
			return result;
	}
	if (folds) {
		const void *own = in_at(p, place, owner, first);
		void *sum = more ? to : out;

		if (hop + 1 == p->members)
			fold_last(w, p, sum, data, own, n);
		else
			fold(w, p, sum, data, own, n);
		if (written && sum != out)
			copy(w, p, out, sum, n);
	} else {
		if (written)
			copy(w, p, out, data, n);
		if (more)
			copy(w, p, to, data, n);
	}
	if (hop < hops)
		commit(w, p, more);
	return 0;
}

/*
 * Returns 1 if the plan is for this collective number, which others have begun.
 */
static PEAL_DEV int is_called(const struct member *m,
			      const struct peal_collective_plan *p,
			      uint32_t sequence)
{
	if (m->sequence == sequence)
		return 1;
	/* the exchange stores this word after the plan is complete */
	if (m->init.processes &&
	    peal_load_acquire_sys(
		    &p->called[sequence & 1][m->init.place].sequence) !=
		    sequence)
		return 0;
	return p->sequence == sequence;
}

static PEAL_DEV int ring_data(struct peal_worker *w, struct member *m,
			      const struct peal_collective_plan *p)
{
	const struct peal_member_head *head =
		(const struct peal_member_head *)peal_data(w);
	int result;

	if (peal_length(w) < sizeof(*head) ||
	    !is_called(m, p, head->sequence) || head->owner >= p->members)
		return PEAL_EPROTO;
	if (m->sequence != p->sequence)
		enter_ring(w, m, p);
	result = pass_on(w, m, p, head);
	if (!result && head->hop == p->members) /* the slice is back */
		result = begin_slice(w, m, p);
	if (result < 0)
		return result;
	return count(w, m, 1, 0) ? say_done(w, m, 1, 0) : 0;
}

static PEAL_DEV int ring_message(struct peal_worker *w)
{
	struct member *m = (struct member *)peal_state(w);
	const struct peal_collective_plan *p = plan_of(m);
	int i, result = 1;

	peal_fence_acquire_sys(); /* the plan and the elements */
	if (peal_type(w) == PEAL_MEMBER_DATA)
		return ring_data(w, m, p);
	if (m->init.has_next) {
		result = peal_tell(w, m->init.next, PEAL_MEMBER_BEGIN, 0, 0, 0);
		if (result)
			return result;
		result = 1;
	}
	if (m->sequence != p->sequence)
		enter_ring(w, m, p);
	for (i = 0; i < PEAL_RING_WINDOW && result > 0; i++)
		result = begin_slice(w, m, p);
	if (result < 0)
		return result;
	return count(w, m, 0, 1) ? say_done(w, m, 1, 0) : 0;
}

#endif
