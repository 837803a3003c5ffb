/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RINGKERNELS_COLLECTIVE_MEMBER_H
#define PEAL_RINGKERNELS_COLLECTIVE_MEMBER_H

/*
 * State of a group's actors: parts of the elements, and counting of messages.
 */

#include "ringkernels/collective_math.h"

struct member {
	struct peal_member_init init; /* written by the host */
	uint32_t sequence; /* number of the present or last collective */
	uint32_t begun; /* 1: the host's BEGIN has arrived */
	uint64_t left; /* messages that have not arrived yet */
	/* the next slice that this member begins */
	uint32_t turn; /* index of its part; earlier parts are done */
	uint32_t slice;
};

/* ---- parts --------------------------------------------------------------- */

/* Returns 1 if all elements are one part, the root's. */
static PEAL_DEV int is_whole(const struct peal_collective_plan *p)
{
	return p->kind == PEAL_REDUCE || p->kind == PEAL_BROADCAST;
}

/* Returns the first element of an owner's part; *length is its elements. */
static PEAL_DEV uint64_t part(const struct peal_collective_plan *p,
			      uint32_t owner, uint64_t *length)
{
	if (is_whole(p)) {
		*length = owner == p->root ? p->count : 0;
		return 0;
	}
	if (owner == p->root &&
	    (p->kind == PEAL_GATHER || p->kind == PEAL_SCATTER)) {
		*length = 0; /* the root has its part already */
		return 0;
	}
	return peal_part(p->count, p->members, p->rank[owner], length);
}

/* Returns the slices of an owner's part on a channel of the ring. */
static PEAL_DEV uint64_t slices(const struct peal_collective_plan *p,
				uint32_t owner, uint32_t channel)
{
	uint64_t length, n;

	part(p, owner, &length);
	n = (length + p->slice - 1) / p->slice;
	return (n + p->channels - 1 - channel) / p->channels;
}

/*
 * Returns the address of element `index` of an owner's part in a member's
 * memory. `whole`: the memory has all elements, else only this part.
 */
static PEAL_DEV void *at(const struct peal_collective_plan *p, uint64_t base,
			 int whole, uint32_t owner, uint64_t index)
{
	uint64_t length, first = peal_part(p->count, p->members, p->rank[owner],
					   &length);

	if (whole && !is_whole(p))
		index += first;
	return (void *)(uintptr_t)(base +
				   index * peal_element_bytes(p->element));
}

static PEAL_DEV const void *in_at(const struct peal_collective_plan *p,
				  uint32_t place, uint32_t owner,
				  uint64_t index)
{
	return at(p, p->in[place], !peali_kind_takes_parts(p->kind), owner,
		  index);
}

static PEAL_DEV void *out_at(const struct peal_collective_plan *p,
			     uint32_t place, uint32_t owner, uint64_t index)
{
	return at(p, p->out[place], !peali_kind_gives_parts(p->kind), owner,
		  index);
}

/*
 * Returns the address of an element in the `out` of a member. `from` is the
 * member that it comes from. `owner` and `index` are as in at().
 */
static PEAL_DEV void *received_at(const struct peal_collective_plan *p,
				  uint32_t place, uint32_t from, uint32_t owner,
				  uint64_t index)
{
	uint64_t length;

	if (p->kind != PEAL_ALL_TO_ALL)
		return out_at(p, place, owner, index);
	peal_part(p->count, p->members, p->rank[place], &length);
	index += p->rank[from] * length;
	return (void *)(uintptr_t)(p->out[place] +
				   index * peal_element_bytes(p->element));
}

/* Returns the distance from one place to another along the ring. */
static PEAL_DEV uint32_t way(const struct peal_collective_plan *p,
			     uint32_t from, uint32_t to)
{
	return to >= from ? to - from : to + p->members - from;
}

/* ---- counting ------------------------------------------------------------ */

static PEAL_DEV int say_done(struct peal_worker *w, const struct member *m,
			     uint32_t port, int32_t error)
{
	struct peal_member_done done;

	/* each lane: its writes are visible before the DONE message */
	peal_fence_release_sys();
	peal_sync(w);
	done.sequence = m->sequence;
	done.place = m->init.place;
	done.channel = m->init.channel;
	done.error = error;
	return peal_emit(w, port, PEAL_MEMBER_DONE, &done, sizeof(done), 0);
}

static PEAL_DEV const struct peal_collective_plan *
plan_of(const struct member *m)
{
	return (const struct peal_collective_plan *)(uintptr_t)m->init.plan;
}

/*
 * Collective: starts to take part in the plan's collective, which will send
 * `left` messages.
 */
static PEAL_DEV void enter(struct peal_worker *w, struct member *m,
			   uint64_t left)
{
	peal_sync(w);
	if (peal_is_leader(w)) {
		m->sequence = plan_of(m)->sequence;
		m->begun = 0;
		m->left = left;
		m->turn = m->slice = 0;
	}
	peal_sync(w);
}

/*
 * Collective: counts n arrived messages and, if `begun`, the host's BEGIN.
 * Returns 1 once all messages and BEGIN have arrived.
 */
static PEAL_DEV int count(struct peal_worker *w, struct member *m, uint32_t n,
			  int begun)
{
	uint64_t left = m->left - n;
	int done = !left && (begun || m->begun);

	peal_sync(w);
	if (peal_is_leader(w)) {
		m->left = left;
		m->begun |= (uint32_t)begun;
	}
	peal_sync(w);
	return done;
}

#endif
