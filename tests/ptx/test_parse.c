/* SPDX-License-Identifier: Apache-2.0 */
/* labels: fast quick */
/* Correct PTX text loads; malformed text gives an error with its line. */
#include "machine.h"

#include "peal_test.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
#define ENTRY(body)                                                            \
	HEAD ".entry t(.param .u64 m) {\n.reg .b32 %r<4>;\n" body "\n}\n"

/* Uses most of the grammar. */
static const char sample[] = HEAD
	".file 1 \"source.c\"\n"
	".global .align 8 .u64 table[2] = {twice, generic(one)+8};\n"
	".const .align 4 .b8 bytes[8] = {1, 2, 0x3, 0b1, -1};\n"
	".global .align 8 .b8 one[16];\n"
	".extern .shared .align 16 .b8 dynamic[];\n"
	".shared .align 8 .u64 words[4];\n"
	".func (.param .b32 result) twice(.param .b32 x) ;\n"
	".visible .entry t(\n\t.param .u64 m,\n\t.param .align 4 .b8 s[12]\n)\n"
	".maxntid 64, 2, 1\n{\n"
	"\t.local .align 8 .b8 depot[24];\n"
	"\t.shared .align 4 .b8 own[64];\n"
	"\t.reg .pred %p<5>;\n\t.reg .b32 %r<9>;\n\t.reg .b64 %rd<9>, %x;\n"
	"\t.loc\t1 7 3, function_name $L__info, inlined_at 1 9 2\n"
	"\tld.param.u64 %rd1, [m];\n"
	"\tld.param.v2.u32 {%r1, _}, [s+4];\n"
	"\tmov.u64 %rd2, depot;\n\tmov.u64 %rd3, table;\n"
	"\tmov.b64 {%r2, %r3}, %rd1;\n\tmov.b64 %rd4, {%r2, %r3};\n"
	"\tsetp.lt.s32 %p1|%p2, %r1, -5;\n"
	"@!%p1\tbra $again;\n@%p2 st.global.u32 [%rd1+-4], 7;\n"
	"\t{ .reg .b32 temp; .param .b32 a; .param .b32 r;\n"
	"\tst.param.b32 [a+0], %r1;\n\tcall.uni (r), twice, (a);\n"
	"\tld.param.b32 %r4, [r];\n\t}\n"
	"\t{ .param .b32 a; .param .b32 r; .reg .b64 %f;\n"
	"\tld.global.u64 %f, [%rd3];\n\tst.param.b32 [a], 1;\n"
	"p0 : .callprototype (.param .b32 _) _ (.param .b32 _);\n"
	"\tcall (r), %f, (a), p0;\n\t}\n"
	"$again: // a label\n"
	"list: .branchtargets $again, $done;\n\tbrx.idx %r1, list;\n"
	"\t/* barriers */ bar.sync 0; bar.red.popc.u32 %r1, 0, %p1;\n"
	"\tbarrier.cluster.arrive.release; barrier.cluster.wait.acquire;\n"
	"\tshfl.sync.down.b32 %r1|%p1, %r2, 1, 31, -1;\n"
	"\tatom.acq_rel.gpu.global.cas.b64 %rd5, [%rd1], 1, 2;\n"
	"\tatom.add.acq_rel.gpu.s32 %r1, [%rd1], 2;\n"
	"\tatom.global.sys.add.u32 %r1, [%rd1], WARP_SZ; pmevent 1;\n"
	"\t{.reg.b32 low;mov.b32 low, 3;}\n"
	"\tadd.cc.u32 %r1, %r2, 1; madc.hi.cc.s32 %r1, %r2, 1, 2;\n"
	"\tst.release.sys.global.u64 [%rd1], %rd5; fence.sc.sys;\n"
	"$done: ret;\n}\n"
	".func (.param .b32 result) twice(.param .b32 x)\n{\n"
	"\t.reg .b32 %r<2>;\n\tld.param.b32 %r0, [x];\n"
	"\tadd.s32 %r1, %r0, %r0;\n\tst.param.b32 [result], %r1;\n\tret;\n}\n";

/* Loads text of a buffer of its own, so that sanitizers see each read behind
 * it. Returns 1 if it is correct. */
static int loads(const char *text, size_t bytes, struct ptx_error *error)
{
	char *copy = malloc(bytes + !bytes);
	struct ptx_module *m;

	CHECK(copy != NULL);
	memcpy(copy, text, bytes);
	memset(error, 0, sizeof(*error));
	m = ptx_load(copy, bytes, "test", error);
	free(copy);
	if (!m)
		CHECK_CONTAINS(error->text, "PTX module 'test'");
	ptx_unload(m);
	return m != NULL;
}

PEAL_TEST(text_with_most_of_the_grammar_loads)
{
	struct ptx_error error;

	if (!loads(sample, strlen(sample), &error))
		fprintf(stderr, "%s\n", error.text);
	CHECK(loads(sample, strlen(sample), &error));
}

PEAL_TEST(info_describes_the_entry)
{
	struct ptx_error error;
	struct ptx_module *m = ptx_load(sample, strlen(sample), "test", &error);
	struct ptx_function_info info;
	uint32_t bytes = 0;
	uint64_t size = 0;

	CHECK(m != NULL);
	CHECK(!ptx_find(m, "twice"));
	CHECK(!ptx_find(m, "other"));
	ptx_function_info(ptx_find(m, "t"), &info);
	CHECK_EQ(info.max_threads, 128);
	CHECK_EQ(info.params_bytes, 20);
	CHECK_EQ(info.static_shared_bytes, 32 + 64);
	CHECK_EQ(info.local_bytes, 24);
	CHECK_EQ(ptx_function_param(ptx_find(m, "t"), 1, &bytes), 8);
	CHECK_EQ(bytes, 12);
	CHECK_EQ(ptx_function_param(ptx_find(m, "t"), 2, &bytes), -1);
	CHECK(ptx_variable(m, "bytes", &size) != NULL);
	CHECK_EQ(size, 8);
	CHECK(!memcmp(ptx_variable(m, "bytes", &size), "\1\2\3\1\xff", 6));
	CHECK(!ptx_variable(m, "none", &size));
	ptx_unload(m);
}

PEAL_TEST(malformed_text_gives_an_error_with_its_line)
{
	static const struct {
		const char *text, *part;
		uint32_t line;
	} rows[] = {
		{ ENTRY("frob.u32 %r1, 2;"), "opcode 'frob.u32' is unknown",
		  6 },
		{ ENTRY("\nadd.s33 %r1, 2, 3;"), "'add.s33' is unknown", 7 },
		{ ENTRY("add.cc.f32 %r1, %r2, 3;"), "is unknown", 6 },
		{ ENTRY("madc.u32 %r1, %r2, 3, 4;"), "is unknown", 6 },
		{ ENTRY("atom.add.noftz.f32 %r1, [%r2], 1;"), "is unknown", 6 },
		{ ENTRY("atom.add.add.u32 %r1, [%r2], 1;"), "is unknown", 6 },
		{ ENTRY("ld.relaxed.global.u32 %r1, [%r2];"), "is unknown", 6 },
		{ ENTRY("ld.sys.global.u32 %r1, [%r2];"), "is unknown", 6 },
		{ ENTRY("ld.global.v4.u64 {%r1}, [%r2];"), "is unknown", 6 },
		{ ENTRY("atom.global.inc.s32 %r1, [%r2], 1;"), "is unknown",
		  6 },
		{ ENTRY("st.const.u32 [%r1], 1;"), "is unknown", 6 },
		{ ENTRY("add.s32 %r1, 2;"), "';' is not ','", 6 },
		{ ENTRY("add.s32 %r9, 2, 3;"), "'%r9' of 'add.s32'", 6 },
		{ ENTRY("add.s32 1, 2, 3;"), "is not a register", 6 },
		{ ENTRY("add.s32 %r1, 2, 09;"), "'0' of 'add.s32'", 6 },
		{ ENTRY("mov.b16 {%r1, %r2}, %r3;"), "has no vector", 6 },
		{ ENTRY("bra nowhere;"), "label 'nowhere'", 6 },
		{ ENTRY("bra 7;"), "'7' is not a label", 6 },
		{ ENTRY("brx.idx %r1, nowhere;"), "targets", 6 },
		{ ENTRY("call none;"), "'none' of 'call'", 6 },
		{ ENTRY("call %r1;"), "needs a prototype", 6 },
		{ ENTRY("ld.param.u64 %r1, [m+4];"), "this parameter", 6 },
		{ ENTRY("ld.param.u32 %r1, [m+-4];"), "an offset in", 6 },
		{ ENTRY("bar.arrive 0;"), "more operands", 6 },
		{ ENTRY(".local .align 64 .b8 x[4];"), "alignment 64", 6 },
		{ ENTRY(".local .b8 x[9999999];"), "too large", 6 },
		{ ENTRY(".reg .b32 %q<99999999>;"), "is too large", 6 },
		{ ENTRY("}}"), "is not a directive", 6 },
		{ HEAD ".entry t(", "the text ends", 4 },
		{ HEAD ".entry t() { ret;", "the text ends", 4 },
		{ HEAD ".global .b8 x[0];", "size is 0", 4 },
		{ HEAD ".global .b8 x[2] = {1, 2, 3};", "more than 2 bytes",
		  4 },
		{ HEAD ".global .u64 x = y;", "'y' has no address", 4 },
		{ HEAD ".global .align 3 .b8 x[4];", "no power of two", 4 },
		{ HEAD ".address_size 32\n", "64-bit", 4 },
		{ HEAD ".entry t() { ret; }\n.entry t() { ret; }", "two bodies",
		  5 },
		{ HEAD ".func f();\n.entry t() { call f; }", "has no body", 6 },
		{ HEAD ".func f(.param .b32 x) { ret; }\n.entry t() {\n"
		       "call f; }",
		  "other parameters", 7 },
		{ HEAD "@", "'@' is not a directive", 4 },
	};
	struct ptx_error error;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CHECK(!loads(rows[i].text, strlen(rows[i].text), &error));
		CHECK_CONTAINS(error.text, rows[i].part);
		if (strstr(rows[i].part, "body") ||
		    strstr(rows[i].part, "other"))
			continue; /* found at the end of the text */
		CHECK_EQ(error.line, rows[i].line);
	}
}

PEAL_TEST(each_beginning_of_a_text_gives_an_error)
{
	const size_t all = strlen(sample);
	struct ptx_error error;
	size_t n;
	int correct = 0;

	for (n = 0; n < all; n++)
		correct += loads(sample, n, &error);
	/* short beginnings have only directives, the last lacks a line end */
	CHECK(correct < 200);
}

PEAL_TEST(changed_text_never_crashes)
{
	static const char marks[] = "{}()[]<>,;:.+-@!|%$\"/*0 \n";
	const size_t all = strlen(sample);
	unsigned long long state = 1;
	struct ptx_error error;
	char text[sizeof(sample)];
	unsigned long long i;
	int k, wrong = 0;

	for (i = 0; i < test_part(80000); i++) {
		memcpy(text, sample, sizeof(sample));
		for (k = 0; k < 1 + (int)(i % 3); k++) {
			unsigned long long r = test_random(&state);
			size_t at = (r >> 32) % all;

			if (r & 1)
				text[at] =
					marks[(r >> 1) % (sizeof(marks) - 1)];
			else
				text[at] = sample[(r >> 8) % all];
		}
		wrong += !loads(text, all, &error);
	}
	CHECK(wrong > (int)(i / 4));
}

PEAL_TEST_MAIN(RUN(text_with_most_of_the_grammar_loads);
	       RUN(info_describes_the_entry);
	       RUN(malformed_text_gives_an_error_with_its_line);
	       RUN(each_beginning_of_a_text_gives_an_error);
	       RUN(changed_text_never_crashes);)
