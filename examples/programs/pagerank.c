/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handler of 13_pagerank.c: a vertex, which computes its PageRank.
 *
 * 1. In each round the vertex sends every neighbour a share of its rank.
 * 2. It adds up the shares that the neighbours send.
 * 3. When all shares of the round are sent and received, it starts the next
 *    round. It does not wait for the rest of the graph.
 *
 * A neighbour is at most one round ahead: to end a round it needs this vertex's
 * share of that round. So a vertex keeps two sums, one for its own round and
 * one for the next round. At most two shares of one neighbour are in flight.
 * The host makes all queues large enough for them.
 */
#include <peal/device/kernel.h>

#include "../pagerank.h"

struct vertex {
	struct begin is; /* all 0: not started */
	uint32_t round; /* 1 .. is.rounds; greater: it has ended */
	uint32_t next; /* index of the next edge to send a share to */
	uint32_t heard[2]; /* shares received, of even and of odd rounds */
	uint64_t sum[2]; /* sums of these shares */
	uint64_t rank;
};

/* Adds a share to the sum of its round. */
static PEAL_DEV int hear(struct vertex *v, const struct share *share)
{
	if (share->round - v->round > 1)
		return PEAL_EPROTO; /* no neighbour is further ahead */
	v->heard[share->round & 1]++;
	v->sum[share->round & 1] += share->rank;
	return 0;
}

/*
 * Sends a share to a neighbour. All actors of a kernel have the same upper half
 * of their addresses. The lower half is the actor's number in the kernel.
 */
static PEAL_DEV int give(struct peal_worker *w, const struct vertex *v,
			 uint64_t neighbour, const struct share *share)
{
	if (neighbour >> 32 == v->is.self >> 32)
		return share_tell(w, (uint32_t)neighbour, share, 0);
	return peal_emit_to(w, PORT_REMOTE, (uint32_t)neighbour, share_number,
			    share, sizeof(*share), 0);
}

/*
 * Sends shares to the next AT_ONCE neighbours. If neighbours remain, the vertex
 * sends itself a message and continues then.
 */
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
	return step_tell(w, peal_self(w), &step, 0);
}

/*
 * Computes the rank of the round. Starts the next round, or sends the rank to
 * the host after the last one.
 */
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
		return step_tell(w, peal_self(w), &step, 0);
	ranked.vertex = v->is.vertex;
	ranked.rank = v->rank;
	return ranked_emit(w, PORT_HOST, &ranked, 0);
}

/*
 * All lanes do the same steps with copies of the state. Only the leader stores
 * its copy.
 */
static PEAL_DEV int vertex(struct peal_worker *w)
{
	struct vertex *kept = (struct vertex *)peal_state(w);
	const struct begin *begin = begin_data(w);
	const struct share *share = share_data(w);
	struct vertex v = *kept;
	int result = 0;

	if (begin) {
		v.is = *begin;
		v.round = 1;
		v.rank = RANK_ONE;
	} else if (!share && !step_data(w)) {
		return PEAL_EPROTO;
	}
	result = share ? hear(&v, share) : walk(w, &v);
	if (!result && v.is.rounds && v.next == v.is.degree &&
	    v.heard[v.round & 1] == v.is.degree)
		result = end_round(w, &v);
	/* all lanes have read the state before the leader writes */
	peal_sync(w);
	if (peal_is_leader(w))
		*kept = v;
	return result;
}

#define HANDLERS(X)                                                            \
	X(vertex, sizeof(struct vertex),                                       \
	  PEAL_LIMITS(2, AT_ONCE, AT_ONCE + 1, 0, 0))
PEAL_PROGRAM(pagerank, HANDLERS);
