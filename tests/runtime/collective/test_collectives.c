/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each collective gives the bytes of a plain reference, for all members and bit
 * by bit. The reference reduces in the promised order.
 */
#include "runtime/communicator_fixture.h"

static const uint32_t sizes[] = { 1, 2, 3, 5, 8, 16 };

/* Short runs check fewer lengths and sizes with all pairs of elements. */
static int is_quick(void)
{
	return test_part(2) < 2;
}

/* Few elements make many of these small slices. */
static const struct peal_comm_options small = { .slice_bytes = 64 };

/* ---- all kinds ----------------------------------------------------------- */

/* Varies in_place and root with the turn. */
static void vary(struct act *a, const struct fixture *s, uint64_t turn)
{
	a->in_place = turn & 1 && a->kind != PEAL_ALL_TO_ALL;
	if (a->kind == PEAL_REDUCE || a->kind == PEAL_BROADCAST ||
	    a->kind == PEAL_GATHER || a->kind == PEAL_SCATTER)
		a->root = (uint32_t)(turn / 2 % s->n);
}

/* Checks all element types and reductions, or one pair by the turn. */
static void each_element(struct fixture *s, struct act a, int all,
			 uint64_t *turn)
{
	uint32_t reductions = act_reduces(&a) ? PEAL_REDUCTIONS - 1 : 1;
	uint64_t i, n = (PEAL_ELEMENTS - 1) * reductions;

	for (i = all ? 0 : *turn % n; i < n; i = all ? i + 1 : n) {
		a.element = PEAL_I32 + (uint32_t)(i / reductions);
		a.reduction = act_reduces(&a) ?
				      PEAL_SUM + (uint32_t)(i % reductions) :
				      0;
		vary(&a, s, (*turn)++);
		fixture_check(s, a);
	}
}

static void each_kind(uint32_t n, const char *links, struct peal_comm_options o)
{
	uint64_t lengths[] = { 211, 0, 1, n - 1, n, n + 1, 337 }, turn = 0;
	struct act a = { 0 };
	struct fixture s;
	int all; /* 1: all element types and reductions */
	size_t i;

	fixture_open(&s, n, links, 4096, o);
	for (a.kind = 1; a.kind < PEAL_COLLECTIVE_KINDS; a.kind++)
		for (i = 0; a.kind != PEAL_COMM_BARRIER &&
			    i < sizeof(lengths) / sizeof(lengths[0]);
		     i++) {
			a.count = lengths[i];
			all = is_quick() ?
				      n == 3 && !i :
				      !i || (n == 3 && !IDENTITY_SANITIZED);
			a.algorithm = PEAL_ALGORITHM_RING;
			each_element(&s, a, all, &turn);
			a.algorithm = PEAL_ALGORITHM_EXCHANGE;
			each_element(&s, a, all, &turn);
			if (a.kind > PEAL_REDUCE && a.kind != PEAL_BROADCAST)
				continue;
			a.algorithm = PEAL_ALGORITHM_TREE;
			each_element(&s, a, all, &turn);
		}
	fixture_close(&s);
}

PEAL_TEST(all_kinds_are_correct_for_all_member_counts)
{
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if ((lanes == 1 &&
		     (sizes[i] < 8 || !(IDENTITY_SANITIZED || is_quick()))) ||
		    sizes[i] == 3)
			each_kind(sizes[i], "", small);
}

/* Three workers of each member send slices. */
PEAL_TEST(all_kinds_are_correct_with_three_channels)
{
	struct peal_comm_options o = { .slice_bytes = 64, .channels = 3 };

	each_kind(3, "", o);
}

/* Pairs without access use host memory or the staged route. */
PEAL_TEST(all_kinds_are_correct_in_random_topologies)
{
	static const char *const kinds[] = { "nvlink", "pcie", "none" };
	char links[256];
	size_t at;
	uint32_t turn, i, j;

	if (lanes > 1)
		return;
	for (turn = 0; turn < (IDENTITY_SANITIZED ? 1 : test_part(3)); turn++) {
		for (i = at = 0; i < 5; i++)
			for (j = i + 1; j < 5; j++)
				at += (size_t)snprintf(
					links + at, sizeof(links) - at,
					"%s%u-%u:%s", at ? "," : "", i, j,
					kinds[mix(turn * 100 + i * 10 + j) % 3]);
		each_kind(5, links, small);
	}
}

/* ---- long arrays --------------------------------------------------------- */

static void long_one(uint32_t n, uint64_t count)
{
	struct peal_comm_options o = { 0 };
	struct act a = { .kind = PEAL_ALL_REDUCE,
			 .element = PEAL_I32,
			 .reduction = PEAL_SUM,
			 .count = count };
	struct fixture s;

	fixture_open(&s, n, "", 4 * a.count, o);
	fixture_check(&s, a);
	a.kind = PEAL_BROADCAST;
	a.reduction = 0;
	a.root = n / 2;
	fixture_check(&s, a);
	fixture_close(&s);
}

PEAL_TEST(ten_million_elements_are_correct)
{
	if (lanes == 1)
		long_one(3, test_part(IDENTITY_COUNT(10000000)));
}

PEAL_TEST(three_million_elements_are_correct_for_other_sizes)
{
	HOST_CASE("it takes much memory, and the program is the same on all");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	if (lanes == 1) { /* sanitizers would need even more memory */
		long_one(1, 3000017);
		long_one(2, 3000017);
		long_one(5, 3000017);
		long_one(8, 3000017);
	}
#endif
}

/* Default slices and the ring by default. No length divides evenly. */
PEAL_TEST(uneven_element_count_is_correct_for_all_kinds)
{
	struct peal_comm_options o = { 0 };
	struct act a = { .element = PEAL_F32, .count = test_part(300007) };
	struct fixture s;

	fixture_open(&s, 5, "", 4 * a.count, o);
	for (a.kind = 1; a.kind < PEAL_COLLECTIVE_KINDS; a.kind++) {
		if (a.kind == PEAL_COMM_BARRIER)
			continue;
		a.reduction = act_reduces(&a) ? PEAL_SUM : 0;
		vary(&a, &s, 3 + a.kind);
		if (a.kind == PEAL_REDUCE_SCATTER || a.kind == PEAL_ALL_GATHER)
			a.root = 0;
		fixture_check(&s, a);
		a.root = 0;
	}
	fixture_close(&s);
}

/* ---- order --------------------------------------------------------------- */

/* Repeated runs with the same values give the same bits. */
PEAL_TEST(repeated_runs_give_equal_bits)
{
	struct peal_comm_options o = { .slice_bytes = 1024, .channels = 2 };
	struct act a = { .kind = PEAL_ALL_REDUCE,
			 .element = PEAL_F32,
			 .reduction = PEAL_SUM,
			 .count = 20011,
			 .algorithm = PEAL_ALGORITHM_RING };
	uint64_t out[PEAL_COMM_MAX], bytes = 4 * a.count, turn;
	struct fixture s;
	uint32_t i, k;

	fixture_open(&s, 3, "", bytes, o);
	for (k = 0; k < test_part(IDENTITY_SANITIZED ? 20 : 100); k++) {
		turn = s.turn;
		fixture_do(&s, &a, out);
		s.turn = turn; /* the same values again */
		for (i = 0; i < s.n; i++) {
			fixture_copy(&s, i, 1, out[i], s.got, bytes);
			if (!k && !i)
				memcpy(s.due, s.got, bytes);
			CHECK(!memcmp(s.got, s.due, bytes));
		}
	}
	fixture_close(&s);
}

/* ---- a naive ring -------------------------------------------------------- */

/* Each member adds the present sum of its neighbour, N - 1 times. */
static void naive_ring(const struct fixture *s, const struct act *a,
		       uint8_t *last_out)
{
	static int32_t now[PEAL_COMM_MAX][64], before[PEAL_COMM_MAX][64];
	uint32_t step, rank, i;

	CHECK(a->count <= 64 && a->element == PEAL_I32);
	for (rank = 0; rank < s->n; rank++)
		memcpy(now[rank], s->given[rank], 4 * a->count);
	for (step = 0; step + 1 < s->n; step++) {
		memcpy(before, now, sizeof(now));
		for (rank = 0; rank < s->n; rank++)
			for (i = 0; i < a->count; i++)
				now[rank][i] =
					(int32_t)((uint32_t)now[rank][i] +
						  (uint32_t)before[(rank +
								    s->n - 1) %
								   s->n][i]);
	}
	memcpy(last_out, now[0], 4 * a->count);
}

/* The naive ring is right for two members. For three it counts values twice,
 * and the check finds that. */
PEAL_TEST(ring_that_counts_twice_is_caught)
{
	struct act a = { .kind = PEAL_ALL_REDUCE,
			 .element = PEAL_I32,
			 .reduction = PEAL_SUM,
			 .count = 50 };
	uint32_t n;

	for (n = 2; n <= 3; n++) {
		uint64_t out[PEAL_COMM_MAX];
		struct fixture s;

		fixture_open(&s, n, "", 4096, small);
		fixture_do(&s, &a, out);
		make_due(&s, &a, 0);
		naive_ring(&s, &a, s.got);
		CHECK_EQ(!memcmp(s.got, s.due, 4 * a.count), n == 2);
		fixture_close(&s);
	}
}

PEAL_TEST_MAIN(RUN_LANES(all_kinds_are_correct_for_all_member_counts);
	       RUN_LANES(all_kinds_are_correct_with_three_channels);
	       RUN_LANES(all_kinds_are_correct_in_random_topologies);
	       RUN_LANES(ten_million_elements_are_correct);
	       RUN_LANES(three_million_elements_are_correct_for_other_sizes);
	       RUN_LANES(uneven_element_count_is_correct_for_all_kinds);
	       RUN_LANES(repeated_runs_give_equal_bits);
	       RUN_LANES(ring_that_counts_twice_is_caught);)
