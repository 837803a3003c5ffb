/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel of 13_graph: a vertex, which computes its PageRank. In every round
 * it sends each neighbour a share of its rank, and adds up the shares that the
 * neighbours send. When it has sent all of its own and has heard all neighbours
 * it goes on to the next round, whatever the rest of the graph does.
 *
 * A neighbour is at most one round ahead: it cannot end a round before it has
 * this vertex's share of it. So a vertex keeps two sums, that of its own round
 * and that of the next one. And of the shares that one neighbour has sent, at most
 * two are not handled yet; the host makes all queues as large as that takes.
 */
#include <peal/device/kernel.h>

#include "../graph.h"

struct vertex {
	struct begin is; /* all 0: it has not begun */
	uint32_t round; /* 1 .. is.rounds; behind that: it is done */
	uint32_t next; /* edge that gets this round's share next */
	uint32_t heard[2]; /* shares that came, of even and odd rounds */
	uint64_t sum[2]; /* of these */
	uint64_t rank;
};

/* Adds a share to the sum of its round. */
static PEAL_DEV int hear(struct vertex *v, const struct share *share)
{
	if (share->round - v->round > 1)
		return PEAL_EPROTO; /* see above: there is no such share */
	v->heard[share->round & 1]++;
	v->sum[share->round & 1] += share->rank;
	return 0;
}

/* To a neighbour: the upper half of an address is the same for all actors of a
 * kernel, the lower one is the actor's number there. */
static PEAL_DEV int give(struct peal_worker *w, const struct vertex *v,
			 uint64_t neighbour, const struct share *share)
{
	if (neighbour >> 32 == v->is.self >> 32)
		return share_tell(w, (uint32_t)neighbour, share);
	return peal_emit_to(w, PORT_AWAY, (uint32_t)neighbour, share_number,
			    share, sizeof(*share));
}

/* Sends the next few neighbours their share. Those who are left get it at the
 * next step, for which the vertex sends itself a message. */
static PEAL_DEV int walk(struct peal_worker *w, struct vertex *v)
{
	const uint64_t *edge = (const uint64_t *)(uintptr_t)v->is.edges;
	struct share share = { 0, v->round };
	struct step step = { 0 };
	uint32_t i;
	int result = 0;

	if (v->is.degree)
		share.rank = v->rank / v->is.degree;
	for (i = 0; i < AT_ONCE && v->next < v->is.degree && !result; i++)
		result = give(w, v, peal_load_relaxed_dev(edge + v->next++),
			      &share);
	if (result || v->next == v->is.degree)
		return result;
	return step_tell(w, peal_self(w), &step);
}

/* The rank of this round; and the first step of the next one, if there is. */
static PEAL_DEV int end_round(struct peal_worker *w, struct vertex *v)
{
	uint32_t odd = v->round & 1;
	struct ranked ranked;
	struct step step = { 0 };

	v->rank = RANK_KEPT + v->sum[odd] * 85 / 100;
	v->sum[odd] = 0;
	v->heard[odd] = 0;
	v->next = 0;
	if (v->round++ < v->is.rounds)
		return step_tell(w, peal_self(w), &step);
	ranked.vertex = v->is.vertex;
	ranked.rank = v->rank;
	return ranked_emit(w, PORT_HOST, &ranked);
}

/* All lanes go through the same steps, each with a copy of the state; the
 * leader's is kept. */
static PEAL_DEV int vertex(struct peal_worker *w)
{
	struct vertex *kept = (struct vertex *)peal_state(w);
	const struct begin *begin = begin_in(w);
	const struct share *share = share_in(w);
	struct vertex v = *kept;
	int result = 0;

	if (begin) {
		v.is = *begin;
		v.round = 1;
		v.rank = RANK_ONE;
	} else if (!share && !step_in(w)) {
		return PEAL_EPROTO;
	}
	result = share ? hear(&v, share) : walk(w, &v);
	if (!result && v.is.rounds && v.next == v.is.degree &&
	    v.heard[v.round & 1] == v.is.degree)
		result = end_round(w, &v);
	peal_sync(w); /* all lanes have read what the leader writes now */
	if (peal_is_leader(w))
		*kept = v;
	return result;
}

#define HANDLERS(X)                                                            \
	X(vertex, sizeof(struct vertex),                                       \
	  PEAL_LIMITS(2, AT_ONCE, AT_ONCE + 1, 0, 0))
PEAL_PROGRAM(graph, HANDLERS);
