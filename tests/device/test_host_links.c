/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the parser for the links between emulated devices. */
#include <peal/errors.h>

#include "peal_test.h"
#include "runtime/device/host/links.h"

#define N 4

static struct peali_link_pair pair[N * N];

static int kind(int from, int to)
{
	return pair[from * N + to].kind;
}

static int fault(int from, int to)
{
	return pair[from * N + to].fault;
}

PEAL_TEST(empty_text_makes_all_pairs_nvlink)
{
	int i;

	memset(pair, 0xff, sizeof(pair));
	CHECK_OK(peali_links_parse("", N, pair));
	for (i = 0; i < N * N; i++) {
		CHECK_EQ(pair[i].kind, PEALI_LINK_NVLINK);
		CHECK_EQ(pair[i].fault, PEALI_LINK_SOUND);
	}
	CHECK_OK(peali_links_parse("  ", N, pair));
}

PEAL_TEST(dash_sets_both_directions_of_one_pair)
{
	CHECK_OK(peali_links_parse("0-1:nvlink,0-2:pcie,2-3:none", N, pair));
	CHECK_EQ(kind(0, 2), PEALI_LINK_PCIE);
	CHECK_EQ(kind(2, 0), PEALI_LINK_PCIE);
	CHECK_EQ(kind(2, 3), PEALI_LINK_NONE);
	CHECK_EQ(kind(3, 2), PEALI_LINK_NONE);
	CHECK_EQ(kind(0, 1), PEALI_LINK_NVLINK);
	CHECK_EQ(kind(1, 3), PEALI_LINK_NVLINK);
}

PEAL_TEST(arrow_sets_one_direction)
{
	CHECK_OK(peali_links_parse("0>1:none, 1>0:pcie", N, pair));
	CHECK_EQ(kind(0, 1), PEALI_LINK_NONE);
	CHECK_EQ(kind(1, 0), PEALI_LINK_PCIE);
	CHECK_EQ(kind(1, 2), PEALI_LINK_NVLINK);
}

PEAL_TEST(star_sets_pairs_without_own_entry)
{
	CHECK_OK(peali_links_parse("*:none,1-2:nvlink", N, pair));
	CHECK_EQ(kind(1, 2), PEALI_LINK_NVLINK);
	CHECK_EQ(kind(2, 1), PEALI_LINK_NVLINK);
	CHECK_EQ(kind(0, 1), PEALI_LINK_NONE);
	CHECK_EQ(kind(3, 2), PEALI_LINK_NONE);
	CHECK_OK(peali_links_parse("1>2:nvlink, *:pcie!lost", N, pair));
	CHECK_EQ(kind(1, 2), PEALI_LINK_NVLINK);
	CHECK_EQ(fault(1, 2), PEALI_LINK_SOUND);
	CHECK_EQ(kind(2, 1), PEALI_LINK_PCIE);
	CHECK_EQ(fault(2, 1), PEALI_LINK_LOST);
}

PEAL_TEST(faults_follow_an_exclamation_mark)
{
	CHECK_OK(
		peali_links_parse("0>1:nvlink!lost,1>0:pcie!swapped", N, pair));
	CHECK_EQ(fault(0, 1), PEALI_LINK_LOST);
	CHECK_EQ(kind(0, 1), PEALI_LINK_NVLINK);
	CHECK_EQ(fault(1, 0), PEALI_LINK_SWAPPED);
	CHECK_EQ(kind(1, 0), PEALI_LINK_PCIE);
	CHECK_EQ(fault(2, 3), PEALI_LINK_SOUND);
}

PEAL_TEST(link_text_error_names_column_part_and_choices)
{
	static const struct {
		const char *text, *column, *part, *allowed;
	} cases[] = {
		{ "0-1:fast", "column 5", "'fast'", "nvlink, pcie or none" },
		{ "0-1:nvlin", "column 5", "'nvlin'", "nvlink, pcie or none" },
		{ "0-1:nvlinks", "column 5", "'nvlinks'", "nvlink" },
		{ "0-1:", "column 5", "''", "nvlink, pcie or none" },
		{ "0-1", "column 4", "''",
		  "'PEAL_HOST_LINKS': is wrong at "
		  "column 4 ('', allowed : and a kind)" },
		{ "0-4:pcie", "column 3", "'4'",
		  "'PEAL_HOST_LINKS': is wrong "
		  "at column" },
		{ "99999999999-1:pcie", "column 1", "'99999999999'",
		  "'PEAL_HOST_LINKS': is wrong at column" },
		{ "0-0:pcie", "column 3", "'0'", "allowed another device" },
		{ "x-0:pcie", "column 1", "'x'",
		  "'PEAL_HOST_LINKS': is wrong "
		  "at column" },
		{ "0-:pcie", "column 3", "':'",
		  "'PEAL_HOST_LINKS': is wrong "
		  "at column" },
		{ "0+1:pcie", "column 2", "'+1'", "- or >" },
		{ "0 -1:pcie", "column 2", "' '", "- or >" },
		{ "0-1:pcie;", "column 9", "';'",
		  "'PEAL_HOST_LINKS': is wrong "
		  "at column 9 (';', allowed , or the end)" },
		{ "0-1:pcie,", "column 10", "''",
		  "'PEAL_HOST_LINKS': is wrong "
		  "at column 10 ('', allowed an entry behind the ,)" },
		{ ",0-1:pcie", "column 1", "','",
		  "'PEAL_HOST_LINKS': is wrong "
		  "at column" },
		{ "0-1:pcie!", "column 10", "''", "lost, swapped or torn" },
		{ "0-1:pcie!slow", "column 10", "'slow'",
		  "lost, swapped or torn" },
		{ "0-1:none!lost", "column 10", "'lost'", "no faults" },
		{ "0-1:pcie, 0-1:none", "column 11", "'0-1'",
		  "'PEAL_HOST_LINKS': is wrong at column" },
		{ "0-1:pcie,1>0:none", "column 10", "'1>0'",
		  "'PEAL_HOST_LINKS': is wrong at column" },
		{ "1>0:pcie,0-1:none", "column 10", "'0-1'",
		  "'PEAL_HOST_LINKS': is wrong at column" },
		{ "*:pcie,*:none", "column 8", "'*'",
		  "'PEAL_HOST_LINKS': is "
		  "wrong at column" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_EQ(peali_links_parse(cases[i].text, N, pair),
			 PEAL_EINVAL);
		CHECK_CONTAINS(peal_last_error()->text, "PEAL_HOST_LINKS");
		CHECK_CONTAINS(peal_last_error()->text, cases[i].column);
		CHECK_CONTAINS(peal_last_error()->text, cases[i].part);
		CHECK_CONTAINS(peal_last_error()->text, cases[i].allowed);
	}
}

/* Cuts the text and changes a byte. The parser must not read beyond it. */
PEAL_TEST(damaged_link_text_is_parsed_in_bounds)
{
	static const char good[] = "0-1:nvlink!lost, 0>2:pcie,*:none!x,3-1:";
	unsigned long long seed = 1;
	int i, refused = 0;

	for (i = 0; i < 20000; i++) {
		size_t length = test_random(&seed) % sizeof(good);
		char *text = malloc(length + 1);

		CHECK(text);
		memcpy(text, good, length);
		text[length] = 0;
		if (length)
			text[test_random(&seed) % length] =
				(char)test_random(&seed);
		refused += peali_links_parse(text, N, pair) < 0;
		free(text);
	}
	CHECK(refused > 10000);
}

PEAL_TEST_MAIN(RUN(empty_text_makes_all_pairs_nvlink);
	       RUN(dash_sets_both_directions_of_one_pair);
	       RUN(arrow_sets_one_direction);
	       RUN(star_sets_pairs_without_own_entry);
	       RUN(faults_follow_an_exclamation_mark);
	       RUN(link_text_error_names_column_part_and_choices);
	       RUN(damaged_link_text_is_parsed_in_bounds);)
