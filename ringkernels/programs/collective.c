/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of a group. Each has an actor `ring` for each channel, whose port 0
 * leads to the next member's, and one `exchange_N` with a port to each other member's;
 * the last port of all leads to the host.
 *
 * By the ring every slice makes its way from the member that begins it back to that
 * one, which then sends its next one: so no more than PEAL_RING_WINDOW of a part are on their
 * way, twice as many in an all-reduce, and no member ever waits for room that
 * waits for it (the links have room for more than three times PEAL_RING_WINDOW). With N
 * members, places are counted around the ring from 0:
 *
 *	reduces		begins behind the part's owner, and has been at all of them
 *			at the owner, after N - 1 hops
 *	all-reduce	goes on from there to all others, N - 1 more
 *	else		begins where the data are
 *
 * What no later member needs is left away. This is the ring of Patarasu and Yuan,
 * "Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations" (2009).
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
 */
#include <peal/device/kernel.h>

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

struct exchange {
	struct member member;
	/* what has come and is to be reduced, by rank; by a tree that of the
	 * k-th child at 1 + k */
	uint8_t data[PEAL_GROUP_MAX][PEAL_EXCHANGE_BYTES];
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

/* ---- the ring: which hop does what ---------------------------------------------- */

/* Places from one to another, around. */
static PEAL_DEV uint32_t way(const struct peal_collective_plan *p,
			     uint32_t from, uint32_t to)
{
	return to >= from ? to - from : to + p->members - from;
}

/* Who begins the slices of a part. */
static PEAL_DEV uint32_t beginner(const struct peal_collective_plan *p,
				  uint32_t owner)
{
	if (peali_kind_reduces(p->kind))
		return owner + 1 == p->members ? 0 : owner + 1;
	return peali_kind_takes_parts(p->kind) ? owner : p->root;
}

/* The hop after which nobody needs the data any more. */
static PEAL_DEV uint32_t last_data(const struct peal_collective_plan *p,
				   uint32_t owner)
{
	switch (p->kind) {
	case PEAL_ALL_REDUCE:
		return 2 * p->members - 2;
	case PEAL_GATHER:
		return way(p, owner, p->root);
	case PEAL_SCATTER:
		return way(p, p->root, owner);
	default:
		return p->members - 1;
	}
}

/* Whether the member that a slice has come to writes it. */
static PEAL_DEV int is_written(const struct peal_collective_plan *p,
			       uint32_t owner, uint32_t hop)
{
	if (peali_kind_reduces(p->kind))
		return hop >= p->members - 1 && hop <= last_data(p, owner);
	return p->kind == PEAL_BROADCAST || p->kind == PEAL_ALL_GATHER ?
		       hop < p->members :
		       hop == last_data(p, owner);
}

/* How often a slice comes to a member that waits for it: to write it, or back. */
static PEAL_DEV uint32_t comes(const struct peal_collective_plan *p,
			       uint32_t owner, uint32_t place)
{
	uint32_t n = p->members, first = way(p, beginner(p, owner), place);

	if (!first) /* itself: it is back, and may be the final one then */
		return 1;
	return (uint32_t)is_written(p, owner, first) +
	       (uint32_t)(p->kind == PEAL_ALL_REDUCE &&
			  first + n <= 2 * n - 2 &&
			  is_written(p, owner, first + n));
}

/* ---- both --------------------------------------------------------------------- */

static PEAL_DEV int say_done(struct peal_worker *w, const struct member *m,
			     uint32_t port)
{
	struct peal_member_done done;

	done.sequence = m->sequence;
	done.place = m->init.place;
	done.channel = m->init.channel;
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

/* ---- the ring -------------------------------------------------------------------- */

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

/* Elements of a slice, from *first on in its part. */
static PEAL_DEV uint64_t slice_of(const struct peal_collective_plan *p,
				  uint32_t owner, uint32_t slice,
				  uint64_t *first)
{
	uint64_t length;

	part(p, owner, &length);
	*first = slice * p->slice;
	return length - *first < p->slice ? length - *first : p->slice;
}

/* Collective: room for a slice on its way to the next one: where its elements go.
 * 0, or an error. */
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

/* Collective: begins its next slice, if it has one: 1; 0 it has none; or an error. */
static PEAL_DEV int begin_slice(struct peal_worker *w, struct member *m,
				const struct peal_collective_plan *p)
{
	uint32_t owner = m->owner, number = m->slice;
	struct peal_member_head head;
	uint64_t first, n;
	void *data = 0;
	int result;

	while (owner < p->members &&
	       (beginner(p, owner) != m->init.place ||
		number >= slices(p, owner, m->init.channel))) {
		owner++;
		number = 0;
	}
	peal_sync(w);
	if (peal_is_leader(w)) {
		m->owner = owner;
		m->slice = number + 1;
	}
	peal_sync(w);
	if (owner == p->members)
		return 0;
	head.sequence = p->sequence;
	head.owner = owner;
	head.slice = number * p->channels + m->init.channel;
	head.hop = 1;
	n = slice_of(p, owner, head.slice, &first);
	result = reserve(w, p, head, n, &data);
	if (result)
		return result;
	copy(w, p, data, in_at(p, m->init.place, owner, first), n);
	commit(w, p, n);
	return 1;
}

/* What a slice becomes at this member, which passes it on unless it was the last. */
static PEAL_DEV int pass_on(struct peal_worker *w, const struct member *m,
			    const struct peal_collective_plan *p,
			    const struct peal_member_head *head)
{
	uint32_t hop = head->hop, owner = head->owner,
		 most = last_data(p, owner);
	uint32_t hops = p->kind == PEAL_ALL_REDUCE ? most : p->members;
	int folds = peali_kind_reduces(p->kind) && hop < p->members;
	int written = is_written(p, owner, hop);
	struct peal_member_head next = *head;
	const void *data = head + 1;
	uint64_t first, n = slice_of(p, owner, head->slice, &first);
	uint64_t more = hop < most ? n : 0;
	void *to = 0, *out = out_at(p, m->init.place, owner, first);
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
		void *sum = more ? to : out;

		fold(w, p, sum, data, in_at(p, m->init.place, owner, first), n);
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

static PEAL_DEV int ring_data(struct peal_worker *w, struct member *m,
			      const struct peal_collective_plan *p)
{
	const struct peal_member_head *head =
		(const struct peal_member_head *)peal_data(w);
	int result, is_back, is_awaited;

	if (peal_length(w) < sizeof(*head) || head->sequence != p->sequence ||
	    head->owner >= p->members)
		return PEAL_EPROTO;
	if (m->sequence != p->sequence)
		enter_ring(w, m, p);
	is_back = head->hop == p->members;
	is_awaited = is_back || is_written(p, head->owner, head->hop);
	result = pass_on(w, m, p, head);
	/* Of what this member does not wait for all can be over by now, and the
	 * plan the next one. */
	if (!result && is_back)
		result = begin_slice(w, m, p);
	if (result < 0)
		return result;
	return is_awaited && count(w, m, 1, 0) ? say_done(w, m, 1) : 0;
}

static PEAL_DEV int ring(struct peal_worker *w)
{
	struct member *m = (struct member *)peal_state(w);
	const struct peal_collective_plan *p = plan_of(m);
	int i, result = 1;

	if (peal_type(w) == PEAL_MEMBER_DATA)
		return ring_data(w, m, p);
	if (m->sequence != p->sequence)
		enter_ring(w, m, p);
	for (i = 0; i < PEAL_RING_WINDOW && result > 0; i++)
		result = begin_slice(w, m, p);
	if (result < 0)
		return result;
	return count(w, m, 0, 1) ? say_done(w, m, 1) : 0;
}

/* ---- the exchange ------------------------------------------------------------------ */

/* Whether one member sends to another. */
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

/* What it sends: from where on in its own memory, and how many elements. */
static PEAL_DEV const void *sent(const struct peal_collective_plan *p,
				 uint32_t from, uint32_t to, uint64_t *n)
{
	uint32_t owner = peali_kind_gives_parts(p->kind) ? to : from;

	if (p->kind == PEAL_GROUP_BARRIER)
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

/* Reduces what has come, in order of ranks. The last step writes what it makes where
 * it belongs: there its own elements may lie, which are needed till then. */
static PEAL_DEV void fold_all(struct peal_worker *w, struct exchange *e,
			      const struct peal_collective_plan *p)
{
	uint32_t place = e->member.init.place, rank;
	void *out = (void *)(uintptr_t)p->out[place];
	uint64_t n;
	const void *own = sent(p, place, place, &n), *before = 0, *next;

	for (rank = 0; rank < p->members; rank++) {
		next = rank == p->rank[place] ? own : e->data[rank];
		if (rank)
			fold(w, p, rank + 1 < p->members ? e->data[0] : out,
			     before, next, n);
		before = rank ? e->data[0] : next;
	}
}

/* Collective: all is there that was to come, and the host has said so. */
static PEAL_DEV int finish(struct peal_worker *w, struct exchange *e,
			   const struct peal_collective_plan *p)
{
	if (peali_kind_reduces(p->kind) &&
	    (p->kind != PEAL_REDUCE || p->root == e->member.init.place))
		fold_all(w, e, p);
	return say_done(w, &e->member, p->members - 1);
}

static PEAL_DEV int exchange_data(struct peal_worker *w, struct exchange *e,
				  const struct peal_collective_plan *p,
				  const struct peal_member_head *head)
{
	uint32_t place = e->member.init.place;
	uint64_t n;

	sent(p, head->owner, place, &n);
	if (peal_length(w) !=
	    sizeof(*head) + n * peal_element_bytes(p->element))
		return PEAL_EPROTO;
	if (peali_kind_reduces(p->kind))
		copy(w, p, e->data[p->rank[head->owner]], head + 1, n);
	else
		copy(w, p,
		     out_at(p, place,
			    p->kind == PEAL_SCATTER ? place : head->owner, 0),
		     head + 1, n);
	return count(w, &e->member, 1, 0) ? finish(w, e, p) : 0;
}

/* Collective: room for n elements to another member, by the port to it. */
static PEAL_DEV int reserve_to(struct peal_worker *w, const struct exchange *e,
			       const struct peal_collective_plan *p,
			       uint32_t to, uint32_t hop, uint64_t n,
			       void **data_out)
{
	uint32_t place = e->member.init.place;
	struct peal_member_head *put = 0;
	void *room = 0;
	int result = peal_reserve(
		w, to < place ? to : to - 1,
		sizeof(*put) + n * peal_element_bytes(p->element), &room);

	if (result)
		return result;
	put = (struct peal_member_head *)room;
	if (peal_is_leader(w)) {
		put->sequence = p->sequence;
		put->owner = place;
		put->slice = 0;
		put->hop = hop;
	}
	*data_out = put + 1;
	return 0;
}

static PEAL_DEV void commit_to(struct peal_worker *w, const struct exchange *e,
			       const struct peal_collective_plan *p,
			       uint32_t to, uint64_t n)
{
	peal_commit(w, to < e->member.init.place ? to : to - 1,
		    PEAL_MEMBER_DATA,
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

/* To each of the others that it sends to. */
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

/* ---- the tree ------------------------------------------------------------------------ */

enum { UP = 1, DOWN = 2 };

/* The place so far behind the root. */
static PEAL_DEV uint32_t behind(const struct peal_collective_plan *p,
				uint32_t v)
{
	v += p->root;
	return v < p->members ? v : v - p->members;
}

/* Whether the member so far behind the root has a k-th child. */
static PEAL_DEV int has_child(const struct peal_collective_plan *p, uint32_t v,
			      uint32_t k)
{
	return !(v & ((2u << k) - 1)) && v + (1u << k) < p->members;
}

/* Whether messages go up, and down. */
static PEAL_DEV int goes_up(const struct peal_collective_plan *p)
{
	return p->kind != PEAL_BROADCAST;
}

static PEAL_DEV int goes_down(const struct peal_collective_plan *p)
{
	return p->kind != PEAL_REDUCE;
}

static PEAL_DEV void enter_tree(struct peal_worker *w, struct member *m,
				const struct peal_collective_plan *p)
{
	uint32_t v = way(p, p->root, m->init.place), k = 0;

	while (has_child(p, v, k))
		k++;
	enter(w, m, goes_up(p) ? k : v != 0);
}

/* What it has, and what its children have sent, into one. */
static PEAL_DEV void fold_children(struct peal_worker *w, struct exchange *e,
				   const struct peal_collective_plan *p,
				   uint32_t v, void *to)
{
	const void *before =
		(const void *)(uintptr_t)p->in[e->member.init.place];
	uint32_t k;

	if (!p->count)
		return;
	if (!has_child(p, v, 0))
		copy(w, p, to, before, p->count);
	for (k = 0; has_child(p, v, k); k++) {
		void *sum = has_child(p, v, k + 1) ? e->data[0] : to;

		fold(w, p, sum, before, e->data[1 + k], p->count);
		before = sum;
	}
}

static PEAL_DEV int send_down(struct peal_worker *w, const struct exchange *e,
			      const struct peal_collective_plan *p, uint32_t v,
			      const void *from)
{
	uint32_t k = 0;
	int result = 0;

	while (has_child(p, v, k))
		k++;
	while (k-- && !result) /* who has most below it first */
		result = send_to(w, e, p, behind(p, v + (1u << k)), DOWN, from,
				 p->count);
	return result;
}

/* Collective: all has come from below, or from above if nothing goes up, and the host
 * has said so. */
static PEAL_DEV int tree_ready(struct peal_worker *w, struct exchange *e,
			       const struct peal_collective_plan *p)
{
	uint32_t place = e->member.init.place, v = way(p, p->root, place);
	void *to = (void *)(uintptr_t)p->out[place];
	int result = 0;

	if (v && goes_up(p)) {
		uint32_t up = behind(p, v & (v - 1));

		result = reserve_to(w, e, p, up, UP, p->count, &to);
		if (result)
			return result;
		fold_children(w, e, p, v, to);
		commit_to(w, e, p, up, p->count);
		if (goes_down(p))
			return 0;
	} else if (!v) {
		if (goes_up(p))
			fold_children(w, e, p, v, to);
		else
			to = (void *)(uintptr_t)p->in[place];
		if (goes_down(p))
			result = send_down(w, e, p, v, to);
	}
	return result ? result : say_done(w, &e->member, p->members - 1);
}

static PEAL_DEV int tree_data(struct peal_worker *w, struct exchange *e,
			      const struct peal_collective_plan *p,
			      const struct peal_member_head *head)
{
	uint32_t place = e->member.init.place, v = way(p, p->root, place);
	uint32_t k = 0;
	int result;

	if (peal_length(w) !=
	    sizeof(*head) + p->count * peal_element_bytes(p->element))
		return PEAL_EPROTO;
	if (head->hop == UP) {
		while (has_child(p, v, k) &&
		       head->owner != behind(p, v + (1u << k)))
			k++;
		if (!has_child(p, v, k))
			return PEAL_EPROTO;
		copy(w, p, e->data[1 + k], head + 1, p->count);
		return count(w, &e->member, 1, 0) ? tree_ready(w, e, p) : 0;
	}
	copy(w, p, (void *)(uintptr_t)p->out[place], head + 1, p->count);
	result = send_down(w, e, p, v, head + 1);
	if (result || (!goes_up(p) && !count(w, &e->member, 1, 0)))
		return result;
	return say_done(w, &e->member, p->members - 1);
}

/* ---- either ---------------------------------------------------------------------------- */

static PEAL_DEV PEAL_NOINLINE int exchange(struct peal_worker *w)
{
	struct exchange *e = (struct exchange *)peal_state(w);
	const struct peal_collective_plan *p = plan_of(&e->member);
	const struct peal_member_head *head =
		(const struct peal_member_head *)peal_data(w);
	int is_data = peal_type(w) == PEAL_MEMBER_DATA,
	    is_tree = p->algorithm == PEAL_ALGORITHM_TREE, result;

	if (is_data &&
	    (peal_length(w) < sizeof(*head) || head->sequence != p->sequence ||
	     head->owner >= p->members))
		return PEAL_EPROTO;
	if (e->member.sequence != p->sequence) {
		if (is_tree)
			enter_tree(w, &e->member, p);
		else
			enter_exchange(w, &e->member, p);
	}
	if (is_data)
		return is_tree ? tree_data(w, e, p, head) :
				 exchange_data(w, e, p, head);
	result = is_tree ? 0 : exchange_begin(w, e, p);
	if (result || !count(w, &e->member, 0, 1))
		return result;
	return is_tree ? tree_ready(w, e, p) : finish(w, e, p);
}

/* A handler has as many ports as it declares: one for each number of members. */
#define EACH_NUMBER(F, X)                                                      \
	F(X, 2)                                                                \
	F(X, 3)                                                                \
	F(X, 4)                                                                \
	F(X, 5)                                                                \
	F(X, 6)                                                                \
	F(X, 7)                                                                \
	F(X, 8)                                                                \
	F(X, 9) F(X, 10) F(X, 11) F(X, 12) F(X, 13) F(X, 14) F(X, 15) F(X, 16)

#define EXCHANGE(X, n)                                                         \
	static PEAL_DEV int exchange_##n(struct peal_worker *w)                \
	{                                                                      \
		return exchange(w);                                            \
	}
EACH_NUMBER(EXCHANGE, )

#define EXCHANGE_OF(X, n)                                                      \
	X(exchange_##n, sizeof(struct exchange), PEAL_EMITS(n, 1))
#define HANDLERS(X)                                                            \
	X(ring, sizeof(struct member), PEAL_EMITS(2, PEAL_RING_WINDOW))        \
	EACH_NUMBER(EXCHANGE_OF, X)
PEAL_PROGRAM(collective, HANDLERS);
