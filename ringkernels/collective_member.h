/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RINGKERNELS_COLLECTIVE_MEMBER_H
#define PEAL_RINGKERNELS_COLLECTIVE_MEMBER_H

/* Members of a group: which part of the elements is whose, and what each of its
 * actors counts. */

#include "ringkernels/collective_math.h"

struct member {
	struct peal_member_init init; /* by the host */
	uint32_t sequence; /* of the collective that it is in, or was in last */
	uint32_t begun; /* 1: the host has said so */
	uint64_t left; /* messages that are to come to it */
	/* the slice that it begins next */
	uint32_t owner; /* how many owners it is through with */
	uint32_t slice;
};

/* ---- which part, and where ---------------------------------------------------- */

/* Whether all is one part, the root's. */
static PEAL_DEV int is_whole(const struct peal_collective_plan *p)
{
	return p->kind == PEAL_REDUCE || p->kind == PEAL_BROADCAST;
}

/* The part of the member at a place. */
static PEAL_DEV uint64_t part(const struct peal_collective_plan *p,
			      uint32_t owner, uint64_t *length)
{
	if (is_whole(p)) {
		*length = owner == p->root ? p->count : 0;
		return 0;
	}
	if (owner == p->root &&
	    (p->kind == PEAL_GATHER || p->kind == PEAL_SCATTER)) {
		*length = 0; /* it has that already */
		return 0;
	}
	return peal_part(p->count, p->members, p->rank[owner], length);
}

/* How many slices of it go by a channel of the ring. */
static PEAL_DEV uint64_t slices(const struct peal_collective_plan *p,
				uint32_t owner, uint32_t channel)
{
	uint64_t length, n;

	part(p, owner, &length);
	n = (length + p->slice - 1) / p->slice;
	return (n + p->channels - 1 - channel) / p->channels;
}

/* Where elements of a part are in a member's memory: `whole` or only that part. */
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

/* Places from one to another, around. */
static PEAL_DEV uint32_t way(const struct peal_collective_plan *p,
			     uint32_t from, uint32_t to)
{
	return to >= from ? to - from : to + p->members - from;
}

/* ---- what has come ------------------------------------------------------------- */

static PEAL_DEV int say_done(struct peal_worker *w, const struct member *m,
			     uint32_t port, int32_t error)
{
	struct peal_member_done done;

	/* of each lane: what it has written is there for who hears of it */
	peal_fence_release_sys();
	peal_sync(w);
	done.sequence = m->sequence;
	done.place = m->init.place;
	done.channel = m->init.channel;
	done.error = error;
	return peal_emit(w, port, PEAL_MEMBER_DONE, &done, sizeof(done));
}

static PEAL_DEV const struct peal_collective_plan *
plan_of(const struct member *m)
{
	return (const struct peal_collective_plan *)(uintptr_t)m->init.plan;
}

/* Collective: it takes part in what the plan says from now on. */
static PEAL_DEV void enter(struct peal_worker *w, struct member *m,
			   uint64_t left)
{
	peal_sync(w);
	if (peal_is_leader(w)) {
		m->sequence = plan_of(m)->sequence;
		m->begun = 0;
		m->left = left;
		m->owner = m->slice = 0;
	}
	peal_sync(w);
}

/* Collective: so many messages that it waited for have come, and the host's too. */
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
