/* SPDX-License-Identifier: Apache-2.0 */
/* Shows that the benchmarks detect every wrong payload. */
#include "peal_test.h"

#include "ringkernels/bench_program.h"

#define WORDS 64

static uint64_t base[WORDS];
static uint64_t words[WORDS];
static const struct peali_bench_share all = { WORDS, 0, 1 };

static void fill(uint64_t number)
{
	for (uint32_t i = 0; i < WORDS; i++)
		base[i] = peali_bench_word(12345, i);
	peali_bench_fill(words, base, number, all);
}

static int right(uint64_t number, uint64_t mask)
{
	return !peali_bench_check(words, base, number, mask, all);
}

PEAL_TEST(payload_check_accepts_only_its_own_number)
{
	fill(7);
	CHECK(right(7, 0));
	CHECK(!right(6, 0) && !right(8, 0) && !right(7, ~UINT64_C(0)));
	for (uint32_t i = 0; i < WORDS; i++)
		words[i] = ~words[i];
	CHECK(right(7, ~UINT64_C(0)) && !right(7, 0));
}

PEAL_TEST(changed_bit_in_any_word_is_detected)
{
	for (uint32_t i = 0; i < WORDS; i++) {
		uint64_t sum;

		fill(3);
		sum = peali_bench_sum(words, WORDS, 0, 1);
		words[i] ^= UINT64_C(1) << i;
		CHECK(!right(3, 0));
		CHECK(peali_bench_sum(words, WORDS, 0, 1) != sum);
	}
}

PEAL_TEST(sum_detects_missing_and_moved_words)
{
	uint64_t sum, word;

	fill(0);
	sum = peali_bench_sum(words, WORDS, 0, 1);
	word = words[10];
	words[10] = words[11];
	words[11] = word;
	CHECK(peali_bench_sum(words, WORDS, 0, 1) != sum);
	fill(0);
	words[10] = 0;
	CHECK(peali_bench_sum(words, WORDS, 0, 1) != sum);
	fill(0);
	words[10] = words[9];
	CHECK(peali_bench_sum(words, WORDS, 0, 1) != sum);
}

PEAL_TEST(fill_check_and_sum_are_equal_for_any_lane_count)
{
	uint64_t whole, part[2 * WORDS];

	fill(9);
	whole = peali_bench_sum(words, WORDS, 0, 1);
	for (uint32_t lanes = 1; lanes <= 2 * WORDS; lanes++) {
		uint64_t sum = 0;

		memset(words, 0, sizeof(words));
		for (uint32_t lane = 0; lane < lanes; lane++) {
			const struct peali_bench_share share = { WORDS, lane,
								 lanes };

			peali_bench_fill(words, base, 9, share);
		}
		CHECK(right(9, 0));
		for (uint32_t lane = 0; lane < lanes; lane++) {
			part[lane] = peali_bench_sum(words, WORDS, lane, lanes);
			sum += part[lane];
		}
		CHECK(sum == whole);
	}
}

PEAL_TEST(payload_words_are_nonzero_and_distinct)
{
	fill(1);
	for (uint32_t i = 0; i < WORDS; i++) {
		CHECK(words[i] != 0);
		for (uint32_t k = 0; k < i; k++)
			CHECK(words[i] != words[k]);
	}
}

PEAL_TEST_MAIN(RUN(payload_check_accepts_only_its_own_number);
	       RUN(changed_bit_in_any_word_is_detected);
	       RUN(sum_detects_missing_and_moved_words);
	       RUN(fill_check_and_sum_are_equal_for_any_lane_count);
	       RUN(payload_words_are_nonzero_and_distinct);)
