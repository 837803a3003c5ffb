/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RINGKERNELS_COLLECTIVE_EXCHANGE_H
#define PEAL_RINGKERNELS_COLLECTIVE_EXCHANGE_H

/* The exchange: each member sends directly to each other member. */

#include "ringkernels/collective_member.h"

struct exchange {
	struct member member;
	/*
	 * For a group of processes: the call of each member, and the number of
	 * known calls. The first index is the lowest bit of the collective's
	 * number.
	 */
	struct peal_member_call called[2][PEAL_COMM_MAX];
	uint32_t n_called[2];
	/*
	 * Received elements to reduce. Exchange: by rank. Tree: the k-th
	 * child's at 1 + k. The state has a row per member.
	 */
	uint8_t data[PEAL_COMM_MAX][PEAL_EXCHANGE_BYTES];
};

/* Returns 1 if one member sends to another. */
static PEAL_DEV int sends(const struct peal_collective_plan *p, uint32_t from,
			  uint32_t to)
{
	switch (p->kind) {
	case PEAL_REDUCE:
	case PEAL_GATHER:
		return to == p->root;
	case PEAL_BROADCAST:
	case PEAL_SCATTER:
		return from == p->root;
	default:
		return from != to;
	}
}

/*
 * Returns the address, in the sender's memory, of the elements for another
 * member. *n is their number.
 */
static PEAL_DEV const void *sent(const struct peal_collective_plan *p,
				 uint32_t from, uint32_t to, uint64_t *n)
{
	int is_of_receiver = peali_kind_gives_parts(p->kind) ||
			     p->kind == PEAL_ALL_TO_ALL;
	uint32_t owner = is_of_receiver ? to : from;

	if (p->kind == PEAL_COMM_BARRIER)
		*n = 0;
	else if (p->kind == PEAL_ALL_REDUCE || is_whole(p))
		*n = p->count;
	else
		peal_part(p->count, p->members, p->rank[owner], n);
	if (p->kind == PEAL_ALL_REDUCE)
		return (const void *)(uintptr_t)p->in[from];
	return in_at(p, from, owner, 0);
}

static PEAL_DEV void enter_exchange(struct peal_worker *w, struct member *m,
				    const struct peal_collective_plan *p)
{
	uint32_t from, left = 0;

	for (from = 0; from < p->members; from++)
		left += from != m->init.place && sends(p, from, m->init.place);
	enter(w, m, left);
}

/*
 * Reduces the received elements in the order of ranks. Only the last step
 * writes to `out`: the member's own elements may be there, and earlier steps
 * read them.
 */
static PEAL_DEV void fold_all(struct peal_worker *w, struct exchange *e,
			      const struct peal_collective_plan *p)
{
	uint32_t place = e->member.init.place, rank;
	void *out = (void *)(uintptr_t)p->out[place];
	uint64_t n;
	const void *own = sent(p, place, place, &n), *before = 0, *next;

	for (rank = 0; rank < p->members; rank++) {
		next = rank == p->rank[place] ? own : e->data[rank];
		if (rank + 1 == p->members)
			fold_last(w, p, out, before, next, n);
		else if (rank)
			fold(w, p, e->data[0], before, next, n);
		before = rank ? e->data[0] : next;
	}
}

/* Collective: called once all messages and the host's BEGIN have arrived. */
static PEAL_DEV int finish(struct peal_worker *w, struct exchange *e,
			   const struct peal_collective_plan *p)
{
	if (peali_kind_reduces(p->kind) &&
	    (p->kind != PEAL_REDUCE || p->root == e->member.init.place))
		fold_all(w, e, p);
	return say_done(w, &e->member, p->members - 1, 0);
}

static PEAL_DEV int exchange_data(struct peal_worker *w, struct exchange *e,
				  const struct peal_collective_plan *p,
				  const struct peal_member_head *head)
{
	uint32_t place = e->member.init.place, from = head->owner;
	uint64_t n;

	sent(p, from, place, &n);
	if (peal_length(w) !=
	    sizeof(*head) + n * peal_element_bytes(p->element))
		return PEAL_EPROTO;
	if (peali_kind_reduces(p->kind))
		copy(w, p, e->data[p->rank[from]], head + 1, n);
	else
		copy(w, p,
		     received_at(p, place, from,
				 p->kind == PEAL_SCATTER ? place : from, 0),
		     head + 1, n);
	return count(w, &e->member, 1, 0) ? finish(w, e, p) : 0;
}

static PEAL_DEV uint32_t port_to(const struct exchange *e, uint32_t to)
{
	return to < e->member.init.place ? to : to - 1;
}

/*
 * Collective: reserves a message with `bytes` bytes of data to another member.
 */
static PEAL_DEV int reserve_bytes_to(struct peal_worker *w,
				     const struct exchange *e,
				     const struct peal_collective_plan *p,
				     uint32_t to, uint32_t hop, uint64_t bytes,
				     void **data_out)
{
	struct peal_member_head *put = 0;
	void *place = 0;
	int result =
		peal_reserve(w, port_to(e, to), sizeof(*put) + bytes, &place);

	if (result)
		return result;
	put = (struct peal_member_head *)place;
	if (peal_is_leader(w)) {
		put->sequence = p->sequence;
		put->owner = e->member.init.place;
		put->slice = 0;
		put->hop = hop;
	}
	*data_out = put + 1;
	return 0;
}

/* As reserve_bytes_to, for n elements. */
static PEAL_DEV int reserve_to(struct peal_worker *w, const struct exchange *e,
			       const struct peal_collective_plan *p,
			       uint32_t to, uint32_t hop, uint64_t n,
			       void **data_out)
{
	return reserve_bytes_to(w, e, p, to, hop,
				n * peal_element_bytes(p->element), data_out);
}

static PEAL_DEV void commit_to(struct peal_worker *w, const struct exchange *e,
			       const struct peal_collective_plan *p,
			       uint32_t to, uint64_t n)
{
	peal_commit(w, port_to(e, to), PEAL_MEMBER_DATA,
		    sizeof(struct peal_member_head) +
			    n * peal_element_bytes(p->element));
}

static PEAL_DEV int send_to(struct peal_worker *w, const struct exchange *e,
			    const struct peal_collective_plan *p, uint32_t to,
			    uint32_t hop, const void *from, uint64_t n)
{
	void *data = 0;
	int result = reserve_to(w, e, p, to, hop, n, &data);

	if (result)
		return result;
	copy(w, p, data, from, n);
	commit_to(w, e, p, to, n);
	return 0;
}

/* Sends to each member that must receive from this member. */
static PEAL_DEV int exchange_begin(struct peal_worker *w,
				   const struct exchange *e,
				   const struct peal_collective_plan *p)
{
	uint32_t place = e->member.init.place, to;
	const void *from;
	uint64_t n;
	int result = 0;

	for (to = 0; to < p->members && !result; to++)
		if (to != place && sends(p, place, to)) {
			from = sent(p, place, to, &n);
			result = send_to(w, e, p, to, 0, from, n);
		}
	return result;
}

#endif
