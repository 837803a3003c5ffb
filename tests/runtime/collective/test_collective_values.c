/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives of chosen values: the results are written down here, or follow
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

/* ---- f16 and bf16 -------------------------------------------------------- */

/* A reduction of the bits x and y. */
struct step {
	uint32_t reduction;
	uint16_t x, y, due;
};

static const struct step f16_steps[] = {
	{ PEAL_SUM, 0x3c00, 0x1000, 0x3c00 }, /* 1 + 2^-11: a tie, to even */
	{ PEAL_SUM, 0x3c01, 0x1000, 0x3c02 }, /* a tie, to even */
	{ PEAL_SUM, 0x3c00, 0x1001, 0x3c01 }, /* above the tie */
	{ PEAL_SUM, 0x7bff, 0x4bff, 0x7bff }, /* 65504 + 15.99 */
	{ PEAL_SUM, 0x7bff, 0x4c00, 0x7c00 }, /* 65504 + 16: infinity */
	{ PEAL_SUM, 0x0001, 0x0001, 0x0002 }, /* subnormals */
	{ PEAL_SUM, 0x03ff, 0x0001, 0x0400 }, /* the least normal number */
	{ PEAL_SUM, 0x0400, 0x8001, 0x03ff },
	{ PEAL_SUM, 0x8000, 0x8000, 0x8000 }, /* -0 */
	{ PEAL_SUM, 0x3c00, 0xbc00, 0x0000 },
	{ PEAL_SUM, 0xfc00, 0x7bff, 0xfc00 }, /* -infinity */
	{ PEAL_PROD, 0x3c01, 0x3c01, 0x3c02 },
	{ PEAL_PROD, 0x0400, 0x3800, 0x0200 }, /* to a subnormal */
	{ PEAL_PROD, 0x0001, 0x3800, 0x0000 }, /* 2^-25: a tie, to even */
	{ PEAL_PROD, 0x0001, 0x3801, 0x0001 },
	{ PEAL_PROD, 0x7bff, 0x4000, 0x7c00 },
	{ PEAL_MIN, 0xbc00, 0x0001, 0xbc00 },
	{ PEAL_MAX, 0xfc00, 0x8001, 0x8001 },
	/* an average rounds once: 65504 + 65504 is not infinite before */
	{ PEAL_AVERAGE, 0x7bff, 0x7bff, 0x7bff },
	{ PEAL_AVERAGE, 0x0001, 0x0002, 0x0002 }, /* 1.5 units: to even */
};

static const struct step bf16_steps[] = {
	{ PEAL_SUM, 0x3f80, 0x3b80, 0x3f80 }, /* 1 + 2^-8: a tie, to even */
	{ PEAL_SUM, 0x3f81, 0x3b80, 0x3f82 }, /* a tie, to even */
	{ PEAL_SUM, 0x3f80, 0x3b81, 0x3f81 }, /* above the tie */
	{ PEAL_SUM, 0x7f7f, 0x7aff, 0x7f7f },
	{ PEAL_SUM, 0x7f7f, 0x7b00, 0x7f80 }, /* a tie, to infinity */
	{ PEAL_SUM, 0x0001, 0x0001, 0x0002 }, /* subnormals */
	{ PEAL_SUM, 0x007f, 0x0001, 0x0080 }, /* the least normal number */
	{ PEAL_SUM, 0x8000, 0x8000, 0x8000 }, /* -0 */
	{ PEAL_SUM, 0xff80, 0x7f7f, 0xff80 }, /* -infinity */
	{ PEAL_PROD, 0x0080, 0x3f00, 0x0040 }, /* to a subnormal */
	{ PEAL_PROD, 0x0001, 0x3f00, 0x0000 }, /* a tie, to even */
	{ PEAL_PROD, 0x7f7f, 0x4000, 0x7f80 },
	{ PEAL_MIN, 0xbf80, 0x0001, 0xbf80 },
	{ PEAL_MAX, 0xff80, 0x8001, 0x8001 },
	{ PEAL_AVERAGE, 0x4040, 0x4080, 0x4060 },
	{ PEAL_AVERAGE, 0x0001, 0x0002, 0x0002 }, /* 1.5 units: to even */
};

/* Runs each step as a reduction of two members. */
static void check_steps(uint32_t element, const struct step *steps, size_t n)
{
	struct act a = { .element = element, .count = 1 };
	uint16_t values[2], got;
	size_t i, k;

	for (i = 0; i < n; i++)
		for (k = 0; k < N_ALGORITHMS; k++) {
			a.algorithm = algorithms[k];
			a.reduction = steps[i].reduction;
			values[0] = steps[i].x;
			values[1] = steps[i].y;
			all_reduce(a, values);
			memcpy(&got, s.got, 2);
			if (got != steps[i].due)
				fprintf(stderr, "element %u step %zu\n",
					element, i);
			CHECK_EQ(got, steps[i].due);
		}
}

PEAL_TEST(steps_of_f16_round_to_nearest_even)
{
	fixture_open(&s, 2, "", 8, small);
	check_steps(PEAL_F16, f16_steps,
		    sizeof(f16_steps) / sizeof(f16_steps[0]));
	fixture_close(&s);
}

PEAL_TEST(steps_of_bf16_round_to_nearest_even)
{
	fixture_open(&s, 2, "", 8, small);
	check_steps(PEAL_BF16, bf16_steps,
		    sizeof(bf16_steps) / sizeof(bf16_steps[0]));
	fixture_close(&s);
}

/* infinity - infinity, 0 times infinity, and a NaN of one member. */
static const struct {
	uint32_t reduction;
	uint16_t f16[2], bf16[2];
} to_nan[] = {
	{ PEAL_SUM, { 0x7c00, 0xfc00 }, { 0x7f80, 0xff80 } },
	{ PEAL_AVERAGE, { 0x7c00, 0xfc00 }, { 0x7f80, 0xff80 } },
	{ PEAL_PROD, { 0x0000, 0x7c00 }, { 0x0000, 0x7f80 } },
	{ PEAL_SUM, { 0x7e00, 0x3c00 }, { 0x7fc0, 0x3f80 } },
	{ PEAL_PROD, { 0x3c00, 0xfc01 }, { 0x3f80, 0xff81 } },
};

PEAL_TEST(nan_of_16_bits_reaches_all_members)
{
	struct act a = { .count = 1 };
	uint16_t got;
	size_t i;

	fixture_open(&s, 2, "", 8, small);
	for (i = 0; i < sizeof(to_nan) / sizeof(to_nan[0]); i++) {
		a.reduction = to_nan[i].reduction;
		a.element = PEAL_F16;
		all_reduce(a, to_nan[i].f16);
		memcpy(&got, s.got, 2);
		CHECK((got & 0x7fff) > 0x7c00);
		a.element = PEAL_BF16;
		all_reduce(a, to_nan[i].bf16);
		memcpy(&got, s.got, 2);
		CHECK((got & 0x7fff) > 0x7f80);
	}
	fixture_close(&s);
}

/* ---- all-to-all ---------------------------------------------------------- */

/* Element i of rank r is 1000 r + i. Checks the outputs of all ranks. */
static void check_all_to_all(uint32_t algorithm, uint32_t count)
{
	struct act a = { .kind = PEAL_ALL_TO_ALL,
			 .element = PEAL_I32,
			 .algorithm = algorithm,
			 .count = count };
	struct peal_collective c = act_asks(&a, s.in, s.out);
	int32_t *given, *got = (int32_t *)s.got;
	uint32_t rank, first, n, i;

	for (rank = 0; rank < s.n; rank++) {
		given = (int32_t *)s.given[rank];
		for (i = 0; i < count; i++)
			given[i] = (int32_t)(1000 * rank + i);
		fixture_copy(&s, rank, 0, s.in[rank], given, 4 * count);
	}
	CHECK_OK(peal_collective_run(s.g, &c, MAX_WAIT));
	for (rank = first = 0; rank < s.n; rank++, first += n) {
		n = count / s.n + (rank < count % s.n);
		fixture_copy(&s, rank, 1, s.out[rank], got, 4 * n * s.n);
		for (i = 0; i < n * s.n; i++)
			CHECK_EQ(got[i], 1000 * (i / n) + first + i % n);
	}
	CHECK_EQ(first, count);
}

PEAL_TEST(all_to_all_gives_each_member_its_part_of_each_input)
{
	static const uint32_t counts[] = { 0, 1, 4, 6, 20, 23, 61 };
	uint32_t n;
	size_t i, k;

	for (n = 1; n <= 5; n++) {
		fixture_open(&s, n, "", 4 * 61, small);
		for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
			for (k = 0; k < 2; k++)
				check_all_to_all(algorithms[k], counts[i]);
		fixture_close(&s);
	}
}

PEAL_TEST_MAIN(RUN_LANES(average_of_integers_rounds_toward_zero);
	       RUN_LANES(average_of_integers_wraps_the_sum);
	       RUN_LANES(average_of_floats_divides_the_sum_once);
	       RUN_LANES(steps_of_f16_round_to_nearest_even);
	       RUN_LANES(steps_of_bf16_round_to_nearest_even);
	       RUN_LANES(nan_of_16_bits_reaches_all_members);
	       RUN_LANES(all_to_all_gives_each_member_its_part_of_each_input);)
