/* SPDX-License-Identifier: Apache-2.0 */
/* The order of members in a ring: a search of all rings, and a local search. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/error.h"
#include "runtime/collective/ring_order.h"

#define SEGMENT_MAX 3 /* places that a move takes elsewhere */

uint32_t peali_ring_worth(uint32_t n,
			  uint32_t way[PEAL_COMM_MAX][PEAL_COMM_MAX],
			  const uint32_t *ring)
{
	uint32_t sum = way[ring[n - 1]][ring[0]], i;

	for (i = 0; i + 1 < n; i++)
		sum += way[ring[i]][ring[i + 1]];
	return sum;
}

/* ---- all rings ----------------------------------------------------------- */

/*
 * Returns the worth of the best way of a rank through all ranks that
 * `set` lacks, back to rank 0. `way` is the row of the rank. `most` is the least
 * result.
 */
static uint8_t best_from(uint32_t others, const uint32_t *way,
			 const uint8_t *best, uint32_t set, uint8_t most)
{
	for (uint32_t j = 0; j < others; j++) {
		uint32_t value;

		if (set & 1u << j)
			continue;
		value = way[j + 1] + best[(set | 1u << j) * others + j];
		if (value > most)
			most = (uint8_t)value;
	}
	return most;
}

/*
 * Finds the ring of the largest total worth. Of equal rings it takes the first
 * by ranks. The algorithm is dynamic programming: M. Held, R. M. Karp, "A
 * Dynamic Programming Approach to Sequencing Problems" (1962).
 *
 * 1. A set has one bit for each rank but 0. It holds the ranks already visited.
 * 2. best[set][i] is the largest worth of the rest of a ring. The rest begins
 *    at rank i + 1, visits all ranks that are not in `set`, and ends at rank 0.
 * 3. The first loop fills `best`, the largest sets first.
 * 4. The second loop begins at rank 0 and takes the best next rank each time.
 *
 * `way` has the worth of each pair. `best` has (n - 1) << (n - 1) entries.
 */
static void best_ring(uint32_t n, uint32_t way[PEAL_COMM_MAX][PEAL_COMM_MAX],
		      uint8_t *best, uint32_t *ring_out)
{
	uint32_t others = n - 1, sets = 1u << others, set, i, j, at;

	for (set = sets - 1; set; set--)
		for (i = 0; i < others; i++) {
			uint32_t home = set == sets - 1 ? way[i + 1][0] : 0;

			best[set * others + i] = best_from(
				others, way[i + 1], best, set, (uint8_t)home);
		}
	ring_out[0] = 0;
	for (at = 1, set = 0; at < n; at++) {
		uint32_t from = ring_out[at - 1], next = n;
		uint32_t most = 0;

		for (j = 0; j < others; j++) {
			uint32_t value;

			if (set & 1u << j)
				continue;
			value = way[from][j + 1] +
				best[(set | 1u << j) * others + j];
			if (next == n || value > most) {
				next = j;
				most = value;
			}
		}
		set |= 1u << next;
		ring_out[at] = next + 1;
	}
}

static int search_all(uint32_t n, uint32_t way[PEAL_COMM_MAX][PEAL_COMM_MAX],
		      uint32_t *ring_out, const char *call)
{
	uint8_t *best = malloc((size_t)(n - 1) << (n - 1));

	if (!best)
		return peali_fail(PEAL_ENOMEM, call,
				  "no memory to arrange a ring of %u members",
				  n);
	best_ring(n, way, best, ring_out);
	free(best);
	return 0;
}

/* ---- local search -------------------------------------------------------- */

/* A ring, and a copy of it for the next move. */
struct search {
	uint32_t n, worth;
	uint32_t (*way)[PEAL_COMM_MAX];
	uint32_t *ring, moved[PEAL_COMM_MAX];
};

/* Begins with the best next rank each time. Of equal ones it takes the first. */
static void take_nearest(struct search *s)
{
	uint32_t at, to, best, used[PEAL_COMM_MAX] = { 1 };

	s->ring[0] = 0;
	for (at = 1; at < s->n; at++) {
		const uint32_t *way = s->way[s->ring[at - 1]];

		for (best = s->n, to = 1; to < s->n; to++)
			if (!used[to] && (best == s->n || way[to] > way[best]))
				best = to;
		s->ring[at] = best;
		used[best] = 1;
	}
	s->worth = peali_ring_worth(s->n, s->way, s->ring);
}

/* Takes the moved ring if it is better. Returns 1 then. */
static int take_if_better(struct search *s)
{
	uint32_t worth = peali_ring_worth(s->n, s->way, s->moved);

	if (worth <= s->worth)
		return 0;
	memcpy(s->ring, s->moved, s->n * sizeof(*s->ring));
	s->worth = worth;
	return 1;
}

/* Reverses the places from `first` to `last`. */
static int try_reversal(struct search *s, uint32_t first, uint32_t last)
{
	uint32_t i;

	memcpy(s->moved, s->ring, s->n * sizeof(*s->ring));
	for (i = first; i <= last; i++)
		s->moved[i] = s->ring[first + last - i];
	return take_if_better(s);
}

/* Moves `length` places from `first` to `to`. */
static int try_segment(struct search *s, uint32_t first, uint32_t length,
		       uint32_t to)
{
	uint32_t rest = s->n - first - length, size = sizeof(*s->ring);
	uint32_t others[PEAL_COMM_MAX];

	memcpy(others, s->ring, first * size);
	memcpy(others + first, s->ring + first + length, rest * size);
	memcpy(s->moved, others, to * size);
	memcpy(s->moved + to, s->ring + first, length * size);
	memcpy(s->moved + to + length, others + to,
	       (s->n - length - to) * size);
	return take_if_better(s);
}

/* Tries all moves once. Place 0 keeps rank 0. Returns the number of gains. */
static uint32_t try_all(struct search *s)
{
	uint32_t first, other, length, gains = 0;

	for (first = 1; first < s->n; first++)
		for (other = first + 1; other < s->n; other++)
			gains += (uint32_t)try_reversal(s, first, other);
	for (length = 1; length <= SEGMENT_MAX; length++)
		for (first = 1; first + length <= s->n; first++)
			for (other = 1; other + length <= s->n; other++)
				gains += (uint32_t)try_segment(s, first, length,
							       other);
	return gains;
}

/*
 * Begins with the nearest neighbour and makes moves while one is a gain:
 *
 * - It reverses a part of the ring. G. A. Croes, "A Method for Solving
 *   Traveling-Salesman Problems" (1958).
 * - It moves up to three members elsewhere. I. Or, "Traveling Salesman-Type
 *   Combinatorial Problems" (1976).
 *
 * Each gain is at least 1, so the search ends.
 */
void peali_ring_improve(uint32_t n, uint32_t way[PEAL_COMM_MAX][PEAL_COMM_MAX],
			uint32_t *ring_out)
{
	struct search s = { .n = n, .way = way, .ring = ring_out };

	take_nearest(&s);
	while (try_all(&s))
		;
}

int peali_ring_order(uint32_t n, uint32_t way[PEAL_COMM_MAX][PEAL_COMM_MAX],
		     uint32_t *ring_out, const char *call)
{
	if (n <= PEALI_RING_EXACT_MAX)
		return search_all(n, way, ring_out, call);
	peali_ring_improve(n, way, ring_out);
	return 0;
}
