/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a ring: the best one, and good ones for many members. */
#include "runtime/communicator_fixture.h"

#include "runtime/collective/ring_order.h"

static uint32_t way[PEAL_COMM_MAX][PEAL_COMM_MAX];

static void is_ring(uint32_t n, const uint32_t *ring)
{
	uint64_t seen = 0;
	uint32_t i;

	for (i = 0; i < n; i++)
		seen |= 1ULL << ring[i];
	CHECK_EQ(seen, UINT64_MAX >> (64 - n));
	CHECK_EQ(ring[0], 0);
}

/* Pairs of the same group of ranks have the best route. Rank r is in group
 * r % groups. */
static void make_groups(uint32_t n, uint32_t groups)
{
	uint32_t i, j;

	for (i = 0; i < n; i++)
		for (j = 0; j < n; j++)
			way[i][j] = i % groups == j % groups ? 4 : 1;
}

PEAL_TEST(large_ring_enters_each_group_of_ranks_once)
{
	static const struct {
		uint32_t n, groups;
	} cases[] = { { 17, 2 }, { 32, 4 }, { 48, 6 }, { 64, 8 }, { 64, 32 } };
	uint32_t ring[PEAL_COMM_MAX], n, groups;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		n = cases[i].n;
		groups = cases[i].groups;
		make_groups(n, groups);
		CHECK_OK(peali_ring_order(n, way, ring, "test"));
		is_ring(n, ring);
		CHECK_EQ(peali_ring_worth(n, way, ring),
			 4 * (n - groups) + groups);
	}
}

/* Of an odd seed, both directions of a pair are equal. */
static void make_random(uint32_t n, uint64_t seed)
{
	uint32_t i, j;

	for (i = 0; i < n; i++)
		for (j = 0; j < n; j++)
			way[i][j] = seed & 1 && j < i ?
					    way[j][i] :
					    mix(seed * 4096 + i * 64 + j) % 16;
}

/* Of random ways, the local search finds at least 9/10 of the best worth. */
PEAL_TEST(local_search_is_near_the_best_ring)
{
	uint32_t best[PEAL_COMM_MAX], ring[PEAL_COMM_MAX], n, most, got;
	uint64_t seed, sum = 0, sum_best = 0;

	for (seed = 0; seed < test_part(200); seed++) {
		n = 2 + (uint32_t)(seed % 9);
		make_random(n, seed);
		CHECK_OK(peali_ring_order(n, way, best, "test"));
		peali_ring_improve(n, way, ring);
		is_ring(n, best);
		is_ring(n, ring);
		most = peali_ring_worth(n, way, best);
		got = peali_ring_worth(n, way, ring);
		CHECK(got <= most);
		sum += got;
		sum_best += most;
	}
	CHECK(10 * sum >= 9 * sum_best);
}

/* Returns the worth of a ring with the places first..last reversed. */
static uint32_t reversed(const uint32_t *ring, uint32_t first, uint32_t last)
{
	uint32_t other[PEAL_COMM_MAX], i;

	memcpy(other, ring, sizeof(other));
	for (i = first; i <= last; i++)
		other[i] = ring[first + last - i];
	return peali_ring_worth(PEAL_COMM_MAX, way, other);
}

/* Returns the worth of a ring with one member moved to another place. */
static uint32_t moved(const uint32_t *ring, uint32_t from, uint32_t to)
{
	uint32_t other[PEAL_COMM_MAX], i;

	memcpy(other, ring, sizeof(other));
	for (i = from; i < to; i++)
		other[i] = ring[i + 1];
	for (i = from; i > to; i--)
		other[i] = ring[i - 1];
	other[to] = ring[from];
	return peali_ring_worth(PEAL_COMM_MAX, way, other);
}

PEAL_TEST(no_move_improves_a_large_ring)
{
	uint32_t ring[PEAL_COMM_MAX], i, j, worth;
	uint64_t seed;

	for (seed = 0; seed < 6; seed++) {
		make_random(PEAL_COMM_MAX, 1000 + seed);
		CHECK_OK(peali_ring_order(PEAL_COMM_MAX, way, ring, "test"));
		is_ring(PEAL_COMM_MAX, ring);
		worth = peali_ring_worth(PEAL_COMM_MAX, way, ring);
		for (i = 1; i < PEAL_COMM_MAX; i++)
			for (j = 1; j < PEAL_COMM_MAX; j++)
				CHECK(reversed(ring, i, j) <= worth &&
				      moved(ring, i, j) <= worth);
	}
}

/* Kernels and links of 64 members, and each kind of collective. */
static void each_kind(struct fixture *s, uint32_t algorithm, uint64_t count)
{
	struct act a = { .element = PEAL_F32,
			 .algorithm = algorithm,
			 .count = count };

	for (a.kind = 1; a.kind < PEAL_COLLECTIVE_KINDS; a.kind++) {
		if (a.kind == PEAL_COMM_BARRIER ||
		    (algorithm == PEAL_ALGORITHM_TREE &&
		     !peali_kind_has_tree(a.kind)))
			continue;
		a.reduction = act_reduces(&a) ? PEAL_SUM : 0;
		a.root = a.kind == PEAL_REDUCE || a.kind == PEAL_BROADCAST ||
					 a.kind == PEAL_GATHER ||
					 a.kind == PEAL_SCATTER ?
				 s->n - 1 :
				 0;
		fixture_check(s, a);
	}
}

/* Driver doubles have fewer devices, but also more than the exact search. */
PEAL_TEST(all_kinds_are_correct_for_64_members)
{
	struct peal_comm_options o = { .slice_bytes = 256 };
	uint32_t n = test_on_gpu() ? PEALI_RING_EXACT_MAX + 1 : PEAL_COMM_MAX;
	struct fixture s;

	if (lanes > 1)
		return;
	setenv("PEAL_PROBE", "off", 1); /* 4,032 pairs take a minute */
	fixture_open(&s, n, "", 4096, o);
	unsetenv("PEAL_PROBE");
	each_kind(&s, PEAL_ALGORITHM_RING, 1000);
	each_kind(&s, PEAL_ALGORITHM_EXCHANGE, 1000);
	each_kind(&s, PEAL_ALGORITHM_TREE, 1000);
	fixture_close(&s);
}

/* The host endpoint has at most 4,096 ports: one to each actor. */
PEAL_TEST(too_many_channels_for_64_members_are_refused)
{
	struct peal_comm_options o = { .size = sizeof(o), .channels = 64 };
	int devices[PEAL_COMM_MAX], i;
	struct peal_runtime *rt;
	struct peal_comm *g = NULL;

	HOST_CASE("it needs 64 devices");
	for (i = 0; i < PEAL_COMM_MAX; i++)
		devices[i] = i;
	rt = harness_open(PEAL_COMM_MAX, "");
	CHECK_FAILS(peal_comm_create(rt, devices, PEAL_COMM_MAX, &o, &g),
		    PEAL_EINVAL,
		    "'channels': is out of range (64, allowed 0..63)");
	CHECK(!g);
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST_MAIN(RUN(large_ring_enters_each_group_of_ranks_once);
	       RUN(local_search_is_near_the_best_ring);
	       RUN(no_move_improves_a_large_ring);
	       RUN_LANES(all_kinds_are_correct_for_64_members);
	       RUN(too_many_channels_for_64_members_are_refused);)
