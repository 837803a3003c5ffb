/* SPDX-License-Identifier: Apache-2.0 */
/* The estimate of a function's registers: the most that are live. */
#include "module.h"
#include "run.h"

/* %rd0, the address of the memory, has 64 bits: two registers. */
#define MEMORY 2

static uint32_t estimate(const char *functions, const char *body)
{
	struct ptx_module *m;
	char text[4096];
	uint32_t n;

	snprintf(text, sizeof(text), "%s%s%s%s\nret; }\n", RUN_HEAD, functions,
		 RUN_ENTRY, body);
	m = run_load(text);
	n = ptx_find(m, "t")->max_live_registers;
	ptx_unload(m);
	return n;
}

#define LOAD3                                                                  \
	"ld.global.u32 %r1, [%rd0]; ld.global.u32 %r2, [%rd0+4];\n"            \
	"ld.global.u32 %r3, [%rd0+8];\n"
#define STORE_SUM                                                              \
	"add.s32 %r4, %r1, %r2; add.s32 %r5, %r4, %r3;\n"                      \
	"st.global.u32 [%rd0], %r5;\n"

PEAL_TEST(values_that_are_read_later_are_live)
{
	CHECK_EQ(estimate("", LOAD3 STORE_SUM), MEMORY + 3);
	CHECK_EQ(estimate("", LOAD3 STORE_SUM LOAD3 STORE_SUM), MEMORY + 3);
	CHECK_EQ(estimate("", "ld.global.u32 %r1, [%rd0];\n"
			      "st.global.u32 [%rd0], %r1;\n" LOAD3),
		 MEMORY + 1);
}

PEAL_TEST(width_of_a_value_counts)
{
	CHECK_EQ(estimate("", "ld.global.v2.u64 {%rd1, %rd2}, [%rd0];\n"
			      "st.global.v2.u64 [%rd0], {%rd1, %rd2};"),
		 MEMORY + 4);
	CHECK_EQ(estimate("", "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd0];\n"
			      "st.global.v4.u32 [%rd0], {%r1, %r2, %r3, %r4};"),
		 MEMORY + 4);
	CHECK_EQ(estimate("", "ld.global.u16 %rs1, [%rd0];\n"
			      "ld.global.u64 %rd1, [%rd0+8];\n"
			      "st.global.u16 [%rd0], %rs1;\n"
			      "st.global.u64 [%rd0], %rd1;"),
		 MEMORY + 3);
}

PEAL_TEST(predicates_and_constants_need_no_register)
{
	CHECK_EQ(estimate("", LOAD3 "setp.eq.s32 %p1, %r1, 7;\n"
				    "setp.eq.s32 %p2, %r2, 8;\n"
				    "setp.eq.s32 %p3, %r3, 9;\n"
				    "@%p1 bra end; @%p2 bra end; @%p3 bra end;"
				    "st.global.u32 [%rd0], 1;\nend:"),
		 MEMORY + 3);
}

#define LOOP                                                                   \
	"ld.global.u32 %r2, [%rd0]; mov.u32 %r1, 0;\n"                         \
	"again: add.s32 %r1, %r1, 1;\n"                                        \
	"setp.lt.s32 %p1, %r1, 9; @%p1 bra again;\n"

PEAL_TEST(value_is_live_through_a_loop_to_its_use)
{
	CHECK_EQ(estimate("", LOOP "st.global.u32 [%rd0], %r2;"), MEMORY + 2);
	CHECK_EQ(estimate("", LOOP "st.global.u32 [%rd0], %r1;"), MEMORY + 1);
}

PEAL_TEST(each_path_counts_alone)
{
	CHECK_EQ(estimate("",
			  "setp.eq.u64 %p1, %rd0, 0; @%p1 bra other;\n" LOAD3
				  STORE_SUM "bra end;\n"
			  "other: ld.global.u32 %r6, [%rd0];\n"
			  "st.global.u32 [%rd0], %r6;\nend:"),
		 MEMORY + 3);
}

/* The predicate may skip the second value of %r1. */
PEAL_TEST(skipped_instruction_keeps_the_value_before)
{
	const char *body = LOAD3 "add.s32 %r4, %r2, %r3;\n"
				 "setp.eq.s32 %p1, %r4, 0;\n"
				 "@%p1 mov.u32 %r1, 2;\n"
				 "st.global.u32 [%rd0], %r1;";
	const char *certain = LOAD3 "add.s32 %r4, %r2, %r3;\n"
				    "st.global.u32 [%rd0], %r4;\n"
				    "mov.u32 %r1, 2;\n"
				    "st.global.u32 [%rd0], %r1;";

	CHECK_EQ(estimate("", body), MEMORY + 3);
	CHECK_EQ(estimate("", certain), MEMORY + 2);
}

/* f needs 4 registers. The value of %r1 is live across its call. */
PEAL_TEST(callee_adds_its_registers)
{
	const char *f = ".func f(.param .b64 a) { .reg .b64 %a<3>;\n"
			"ld.param.u64 %a1, [a]; ld.global.u64 %a2, [%a1+8];\n"
			"st.global.u64 [%a1], %a2; ret; }\n";
	const char *body = "ld.global.u32 %r1, [%rd0];\n"
			   "{ .param .b64 x; st.param.b64 [x], %rd0;\n"
			   "call f, (x); }\nst.global.u32 [%rd0], %r1;";

	CHECK_EQ(estimate(f, body), MEMORY + 1 + 4);
	CHECK_EQ(estimate(".func f() { call f; ret; }\n", "call f;"), MEMORY);
}

PEAL_TEST(info_is_in_the_range_of_a_gpu)
{
	struct ptx_function_info info;
	struct ptx_module *m = run_load(RUN_HEAD RUN_ENTRY "ret; }\n");
	char text[32768];
	int n, i;

	ptx_function_info(ptx_find(m, "t"), &info);
	CHECK_EQ(info.registers, 16);
	ptx_unload(m);
	n = snprintf(text, sizeof(text), "%s%s.reg .b64 %%x<200>;\n", RUN_HEAD,
		     RUN_ENTRY);
	for (i = 0; i < 200; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			      "ld.global.u64 %%x%d, [%%rd0];\n", i);
	for (i = 0; i < 200; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			      "st.global.u64 [%%rd0], %%x%d;\n", i);
	snprintf(text + n, sizeof(text) - (size_t)n, "ret; }\n");
	m = run_load(text);
	CHECK_EQ(ptx_find(m, "t")->max_live_registers, MEMORY + 400);
	ptx_function_info(ptx_find(m, "t"), &info);
	CHECK_EQ(info.registers, 255);
	ptx_unload(m);
}

PEAL_TEST_MAIN(RUN(values_that_are_read_later_are_live);
	       RUN(width_of_a_value_counts);
	       RUN(predicates_and_constants_need_no_register);
	       RUN(value_is_live_through_a_loop_to_its_use);
	       RUN(each_path_counts_alone);
	       RUN(skipped_instruction_keeps_the_value_before);
	       RUN(callee_adds_its_registers);
	       RUN(info_is_in_the_range_of_a_gpu);)
