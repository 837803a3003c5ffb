/* SPDX-License-Identifier: Apache-2.0 */
/* Traces: a line for each instruction of the chosen lanes. */
#include "run.h"

static uint64_t memory[64] __attribute__((aligned(256)));
static char lines[1u << 20];

#define TRACED                                                                 \
	RUN_HEAD ".file 1 \"source.cu\"\n" RUN_ENTRY                           \
		 "mov.u32 %r1, %tid.x; .loc 1 8 1\nadd.s32 %r2, %r1, 5;\n"     \
		 "setp.lt.u32 %p1, %r1, 2; bar.sync 0;\n"                      \
		 "vote.sync.ballot.b32 %r3, %p1, -1;\n"                        \
		 "st.global.v2.u32 [%rd0+16], {9, 8};\n"                       \
		 "ld.global.v2.u32 {%r4, %r5}, [%rd0+16]; ret; }\n"

/* Runs the text with 4 lanes, and reads its trace. */
static void trace(struct ptx_options options)
{
	struct run run = { .memory = memory, .bytes = sizeof(memory) };
	size_t n;

	options.trace = 1;
	options.trace_file = tmpfile();
	CHECK(options.trace_file != NULL);
	run.options = options;
	run_text(&run, TRACED, 4);
	rewind(options.trace_file);
	n = fread(lines, 1, sizeof(lines) - 1, options.trace_file);
	lines[n] = 0;
	fclose(options.trace_file);
}

static int count(const char *part)
{
	const char *at = lines;
	int n = 0;

	for (; (at = strstr(at, part)); at++)
		n++;
	return n;
}

PEAL_TEST(each_instruction_of_each_lane_has_a_line)
{
	trace((struct ptx_options){ .seed = 1 });
	CHECK_EQ(count("\n"), 4 * 9);
	CHECK_EQ(count("lane 3,"), 9);
	CHECK_CONTAINS(lines, "PTX trace: t, block 0, lane 3, t, source.cu:8: "
			      "add.s32 %r2, %r1, 5 -> 0x8\n");
	CHECK_EQ(count("vote.sync.ballot.b32 %r3, %p1, -1 -> 0x3\n"), 4);
	CHECK_EQ(count("] 0x9 0x8\n"), 4);
	CHECK_EQ(count("{%r4, %r5}, [%rd0+16] -> 0x9 0x8\n"), 4);
	CHECK_EQ(count(": bar.sync 0\n"), 4);
	CHECK_EQ(count(": ret\n"), 4);
}

PEAL_TEST(only_chosen_lanes_are_traced)
{
	trace((struct ptx_options){ .trace_from = 1, .trace_to = 2 });
	CHECK_EQ(count("\n"), 2 * 9);
	CHECK_EQ(count("lane 1,"), 9);
	CHECK_EQ(count("lane 2,"), 9);
}

PEAL_TEST(trace_ends_at_its_limit)
{
	trace((struct ptx_options){ .trace_lines = 5 });
	CHECK_EQ(count("\n"), 6);
	CHECK_CONTAINS(lines, "t has printed 5 lines, its limit\n");
}

PEAL_TEST_MAIN(RUN(each_instruction_of_each_lane_has_a_line);
	       RUN(only_chosen_lanes_are_traced); RUN(trace_ends_at_its_limit);)
