/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions of chosen values: the results are written down here, or follow
 * from a property. test_collectives.c compares random values to a reference.
 */
#include "runtime/communicator_fixture.h"

#define COUNT 15

static const uint32_t algorithms[] = { PEAL_ALGORITHM_RING,
				       PEAL_ALGORITHM_EXCHANGE,
				       PEAL_ALGORITHM_TREE };
#define N_ALGORITHMS (sizeof(algorithms) / sizeof(algorithms[0]))

/* Slices of 2 to 8 elements. */
static const struct peal_comm_options small = { .slice_bytes = 16 };

static struct fixture s;

/*
 * Runs an all-reduce. `values` has the elements of rank 0, then those of rank 1
 * and so on. Leaves the result of the last rank in s.got.
 */
static void all_reduce(struct act a, const void *values)
{
	uint64_t bytes = a.count * act_bytes(&a);
	struct peal_collective c;
	uint32_t rank;

	a.kind = PEAL_ALL_REDUCE;
	for (rank = 0; rank < s.n; rank++) {
		memcpy(s.given[rank], (const uint8_t *)values + rank * bytes,
		       bytes);
		fixture_copy(&s, rank, 0, s.in[rank], s.given[rank], bytes);
	}
	c = act_asks(&a, s.in, s.out);
	CHECK_OK(peal_collective_run(s.g, &c, MAX_WAIT));
	fixture_copy(&s, s.n - 1, 1, s.out[s.n - 1], s.got, bytes);
}

/* ---- averages ------------------------------------------------------------ */

/* Fills `values` so that element i has the sum i - 7 over all ranks. */
static void sums_around_zero(int64_t *values)
{
	uint32_t rank;
	int i;

	for (rank = 0; rank < s.n; rank++)
		for (i = 0; i < COUNT; i++)
			values[rank * COUNT + i] =
				rank ? 100 : i - 7 - 100 * ((int)s.n - 1);
}

static void check_average(int64_t sum, int64_t average)
{
	int64_t size = average < 0 ? -average : average;
	int64_t most = sum < 0 ? -sum : sum;

	CHECK(size * s.n <= most && most < (size + 1) * s.n);
	CHECK(!average || (average < 0) == (sum < 0));
}

PEAL_TEST(average_of_integers_rounds_toward_zero)
{
	struct act a = { .reduction = PEAL_AVERAGE, .count = COUNT };
	int64_t wide[5 * COUNT];
	int32_t narrow[5 * COUNT];
	uint32_t n, k;
	int i;

	for (n = 1; n <= 5; n++) {
		fixture_open(&s, n, "", 8 * COUNT, small);
		sums_around_zero(wide);
		for (i = 0; i < (int)n * COUNT; i++)
			narrow[i] = (int32_t)wide[i];
		for (k = 0; k < N_ALGORITHMS; k++) {
			a.algorithm = algorithms[k];
			a.element = PEAL_I64;
			all_reduce(a, wide);
			for (i = 0; i < COUNT; i++)
				check_average(i - 7, ((int64_t *)s.got)[i]);
			a.element = PEAL_I32;
			all_reduce(a, narrow);
			for (i = 0; i < COUNT; i++)
				check_average(i - 7, ((int32_t *)s.got)[i]);
		}
		fixture_close(&s);
	}
}

/* The sum of integers is modulo 2^32 also if it is divided afterwards. */
PEAL_TEST(average_of_integers_wraps_the_sum)
{
	static const int32_t values[] = { INT32_MAX, INT32_MIN, INT32_MAX,
					  INT32_MIN };
	struct act a = { .element = PEAL_I32,
			 .reduction = PEAL_AVERAGE,
			 .count = 2 };
	uint32_t k;

	fixture_open(&s, 2, "", 8, small);
	for (k = 0; k < N_ALGORITHMS; k++) {
		a.algorithm = algorithms[k];
		all_reduce(a, values);
		CHECK_EQ(((int32_t *)s.got)[0], -1);
		CHECK_EQ(((int32_t *)s.got)[1], 0);
	}
	fixture_close(&s);
}

PEAL_TEST(average_of_floats_divides_the_sum_once)
{
	static const float f32[] = { 1, 1, 0.5f, 2, 1, 0.5f, 4, 1, 0.5f };
	static const double f64[] = { 1, 1, 0.5, 2, 1, 0.5, 4, 1, 0.5 };
	struct act a = { .reduction = PEAL_AVERAGE, .count = 3 };
	const float *x;
	const double *y;
	uint32_t k;

	fixture_open(&s, 3, "", 24, small);
	for (k = 0; k < N_ALGORITHMS; k++) {
		a.algorithm = algorithms[k];
		a.element = PEAL_F32;
		all_reduce(a, f32);
		x = (const float *)s.got;
		CHECK(x[0] == 7.0f / 3 && x[1] == 1 && x[2] == 0.5f);
		a.element = PEAL_F64;
		all_reduce(a, f64);
		y = (const double *)s.got;
		CHECK(y[0] == 7.0 / 3 && y[1] == 1 && y[2] == 0.5);
	}
	fixture_close(&s);
}

PEAL_TEST_MAIN(RUN_LANES(average_of_integers_rounds_toward_zero);
	       RUN_LANES(average_of_integers_wraps_the_sum);
	       RUN_LANES(average_of_floats_divides_the_sum_once);)
