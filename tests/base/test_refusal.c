/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the form of texts that refuse a value, and that they propose a legal
 * number. */
#include <peal/errors.h>

#include "peal_test.h"
#include "runtime/base/refusal.h"

static void is_text(const struct peali_refusal *refusal, const char *expected)
{
	char text[PEALI_REFUSAL_BYTES];

	if (strcmp(peali_refusal_text(refusal, text), expected)) {
		fprintf(stderr, "'%s' is not '%s'\n", text, expected);
		exit(1);
	}
}

PEAL_TEST(text_has_object_name_problem_value_range_and_remedy)
{
	is_text(PEALI_REFUSAL(.object = "option", .name = "n", .number = 9,
			      .least = 1, .most = 4),
		"option 'n': is out of range (9, allowed 1..4); use 4");
	is_text(PEALI_REFUSAL(.object = "device 3", .problem = "is no GPU",
			      .value = "host", .allowed = "cuda or hip",
			      .remedy = "name another device"),
		"device 3: is no GPU (host, allowed cuda or hip); name another "
		"device");
	is_text(PEALI_REFUSAL(.object = "option", .name = "count", .least = 3,
			      .most = UINT64_MAX),
		"option 'count': is out of range (0, allowed 3 or more); use "
		"3");
	is_text(PEALI_REFUSAL(.object = "option", .name = "reserved",
			      .number = 5),
		"option 'reserved': is out of range (5, allowed 0); use 0");
}

PEAL_TEST(proposed_number_is_legal)
{
	static const struct {
		struct peali_refusal r;
		const char *expected;
	} cases[] = {
		{ { .number = 0, .least = 2, .most = 9 }, "2..9); use 2" },
		{ { .number = UINT64_MAX, .most = 9 }, "0..9); use 9" },
		{ { .number = 100, .least = 1, .most = 256, .power_of_two = 1 },
		  "1..256); use 128" },
		{ { .number = 300, .least = 1, .most = 256, .power_of_two = 1 },
		  "1..256); use 256" },
		{ { .number = 300, .least = 1, .most = 300, .power_of_two = 1 },
		  "1..300); use 256" },
		{ { .number = 0, .least = 1, .most = 256, .power_of_two = 1 },
		  "1..256); use 1" },
		{ { .number = UINT64_MAX,
		    .most = UINT64_MAX,
		    .power_of_two = 1 },
		  "use 9223372036854775808" },
		{ { .number = 33, .least = 16, .most = 64, .multiple = 16 },
		  "16..64); use 48" },
		{ { .number = 65, .least = 16, .most = 70, .multiple = 16 },
		  "16..70); use 64" },
		{ { .number = UINT64_MAX,
		    .least = 16,
		    .most = UINT64_MAX,
		    .multiple = 16 },
		  "use 18446744073709551600" },
	};
	char text[PEALI_REFUSAL_BYTES];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct peali_refusal r = cases[i].r;

		r.object = "option";
		CHECK_CONTAINS(peali_refusal_text(&r, text), cases[i].expected);
	}
}

PEAL_TEST(problem_names_the_rule_of_numbers)
{
	char text[PEALI_REFUSAL_BYTES];
	struct peali_refusal r = { .object = "option", .most = 64 };

	r.power_of_two = 1;
	CHECK_CONTAINS(peali_refusal_text(&r, text),
		       "must be a power of two (");
	r.number = 128;
	CHECK_CONTAINS(peali_refusal_text(&r, text), "is out of range (128");
	r.power_of_two = 0;
	r.number = 17;
	r.multiple = 16;
	CHECK_CONTAINS(peali_refusal_text(&r, text),
		       "must be a multiple of 16 (17");
	r.number = 80;
	CHECK_CONTAINS(peali_refusal_text(&r, text), "is out of range (80");
	r.value = "";
	CHECK_CONTAINS(peali_refusal_text(&r, text), "range ('', allowed");
}

PEAL_TEST(long_name_and_value_leave_space_for_the_remedy)
{
	char name[400], value[400];

	memset(name, 'n', sizeof(name) - 1);
	memset(value, 'v', sizeof(value) - 1);
	name[sizeof(name) - 1] = value[sizeof(value) - 1] = 0;
	CHECK_FAILS(PEALI_REFUSE(PEAL_ENOENT, "peal_name_find",
				 .object = "name", .name = name,
				 .problem = "is too long", .value = value,
				 .allowed = "1..31 bytes",
				 .remedy = "use a shorter name"),
		    PEAL_ENOENT, "vvv, allowed 1..31 bytes); use a shorter");
	CHECK_CONTAINS(peal_last_error()->text, "name 'nnn");
	CHECK_CONTAINS(peal_last_error()->text, "...");
}

/* The other parts are long, too: name and value then get fewer bytes. */
PEAL_TEST(long_list_of_allowed_values_leaves_space_for_the_remedy)
{
	char name[400], value[400];

	memset(name, 'n', sizeof(name) - 1);
	memset(value, 'v', sizeof(value) - 1);
	name[sizeof(name) - 1] = value[sizeof(value) - 1] = 0;
	CHECK_FAILS(
		PEALI_REFUSE(PEAL_ENOENT, "peal_actor_spawn",
			     .object = "program", .name = name,
			     .problem = "has no such handler", .value = value,
			     .allowed = "a_handler_with_a_long_name, another_"
					"handler_with_a_long_name, ...",
			     .remedy = "use a_handler_with_a_long_name_of_"
				       "sixty_bytes_as_the_nearest_one"),
		PEAL_ENOENT, "_as_the_nearest_one");
	CHECK_CONTAINS(peal_last_error()->text, "program 'nnn");
	CHECK_CONTAINS(peal_last_error()->text, "vvv, allowed a_handler_");
}

PEAL_TEST(texts_from_outside_are_escaped)
{
	CHECK_FAILS(PEALI_REFUSE(PEAL_EINVAL, "peal_name_find",
				 .object = "name", .name = "a\033[1m",
				 .value = "b\n"),
		    PEAL_EINVAL, "name 'a\\x1b[1m': is out of range (b\\n,");
}

PEAL_TEST(option_and_index_have_their_code_and_call)
{
	CHECK_FAILS(peali_refuse_option("peal_connect", "capacity", 7, 8, 16),
		    PEAL_EINVAL,
		    "option 'capacity': is out of range (7, allowed 8..16); "
		    "use 8");
	CHECK(!strcmp(peal_last_error()->call, "peal_connect"));
	CHECK_FAILS(peali_refuse_index("peal_worker_info", "kernel", "k",
				       "worker", 4, 4, NULL),
		    PEAL_ENOENT,
		    "kernel 'k': has no such worker (4, allowed 0..3); use 3");
	CHECK_FAILS(peali_refuse_range("peal_send", "argument", "n", 0, 1, 4),
		    PEAL_EINVAL,
		    "argument 'n': is out of range (0, allowed 1..4); use 1");
	CHECK_FAILS(peali_refuse_index("peal_worker_info", "graph", "g", "node",
				       0, 0, "add a node first"),
		    PEAL_ENOENT,
		    "graph 'g': has no such node (0, allowed none); add a node "
		    "first");
}

PEAL_TEST(mask_name_and_buffer_have_legal_remedies)
{
	CHECK_FAILS(peali_refuse_bits("peal_connect", "option", "flags", 0x15,
				      0x7),
		    PEAL_EINVAL,
		    "option 'flags': has unknown bits (0x15, allowed bits of "
		    "0x7); use 0x5");
	CHECK_FAILS(peali_refuse_name("peal_name_set", "", 31), PEAL_EINVAL,
		    "name '': is empty (0 bytes, allowed 1..31); use a name");
	CHECK_FAILS(peali_refuse_name("peal_name_set", NULL, 31), PEAL_EINVAL,
		    "name: is NULL (0 bytes, allowed 1..31); use a name");
	CHECK_FAILS(peali_refuse_name("peal_name_set", "abcd", 3), PEAL_EINVAL,
		    "name 'abcd': is too long (4 bytes, allowed 1..3); use a "
		    "shorter name");
	CHECK_FAILS(peali_refuse_buffer("peal_receive", "endpoint", "e", 4, 8),
		    PEAL_EMSGSIZE,
		    "endpoint 'e': has a message that is longer than the "
		    "buffer (4, allowed 8 bytes or more); pass a larger "
		    "buffer");
}

PEAL_TEST_MAIN(RUN(text_has_object_name_problem_value_range_and_remedy);
	       RUN(proposed_number_is_legal);
	       RUN(problem_names_the_rule_of_numbers);
	       RUN(long_name_and_value_leave_space_for_the_remedy);
	       RUN(long_list_of_allowed_values_leaves_space_for_the_remedy);
	       RUN(texts_from_outside_are_escaped);
	       RUN(option_and_index_have_their_code_and_call);
	       RUN(mask_name_and_buffer_have_legal_remedies);)
