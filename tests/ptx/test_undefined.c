/* SPDX-License-Identifier: Apache-2.0 */
/* Undefined values: each use is a fault, and a copy is none. */
#include "check.h"
#include "run.h"
#include "half.h"

static uint64_t memory[1024] __attribute__((aligned(4096)));

/* A variable in shared memory, and a function that returns its argument. */
#define HEAD                                                                   \
	RUN_HEAD ".file 1 \"source.cu\"\n.shared .align 16 .b8 s[64];\n"       \
		 ".func (.param .b64 r) same(.param .b64 n) {\n"               \
		 ".reg .b64 %a; .local .align 8 .b8 l[8];\n"                   \
		 "ld.param.u64 %a, [n];\n"                                     \
		 "st.local.u64 [l], %a; st.param.b64 [r], %a; ret; }\n"        \
		 ".func first() { .local .align 8 .b8 l[8];\n"                 \
		 "st.local.u64 [l], 1; ret; }\n"                               \
		 ".func second() { .local .align 8 .b8 l[8]; .reg .b64 %a;\n"  \
		 ".reg .pred %p;\n.loc 1 9 1\nld.local.u64 %a, [l];\n"         \
		 "setp.eq.u64 %p, %a, 0; @%p bra $e; $e: ret; }\n"
#define BRANCH "\nsetp.eq.u32 %p9, %r9, 0; @%p9 bra $end;"
#define CALL                                                                   \
	"{ .param .b64 x; .param .b64 y;\n"                                    \
	"st.param.b64 [x], %rd5; call.uni (y), same, (x);\n"                   \
	"ld.param.b64 %rd6, [y]; }\n"

/* Runs a body with 32 lanes. */
static struct run run_body(const char *body)
{
	struct run run = { .memory = memory, .bytes = sizeof(memory) };
	char text[4096];
	struct ptx_module *m;

	memset(memory, 0, sizeof(memory));
	ptx_memory_track((uintptr_t)memory, sizeof(memory));
	ptx_memory_written((uintptr_t)memory, 64);
	ptx_memory_copied((uintptr_t)memory + 64, (uintptr_t)memory, 32);
	ptx_memory_copied((uintptr_t)memory + 32,
			  (uintptr_t)memory + sizeof(memory) - 32, 32);
	snprintf(text, sizeof(text),
		 "%s%s.local .align 8 .b8 d[16];\nmov.u32 %%r1, %%tid.x;\n"
		 ".loc 1 8 1\n%s\n$end: ret; }\n",
		 HEAD, RUN_ENTRY, body);
	m = run_load(text);
	run.options.undefined = 1;
	run_grid(&run, m, 1, 32, 0);
	ptx_unload(m);
	ptx_memory_untrack((uintptr_t)memory, sizeof(memory));
	return run;
}

static const struct {
	const char *part, *body;
} uses[] = {
	{ "predicate of a branch", "@%p1 bra $end;" },
	{ "predicate of a branch", "@!%p1 mov.u32 %r2, 1;" },
	{ "index of a branch", "l: .branchtargets $end; brx.idx %r9, l;" },
	{ "address of the access", "ld.global.u32 %r3, [%rd5];" },
	{ "address of the access", "st.shared.u32 [%r5], 1;" },
	{ "address of a call", "p: .callprototype _ (); call %rd5, p;" },
	{ "store has bits that nothing wrote (0xffffffff)",
	  "st.relaxed.sys.global.u32 [%rd0], %r5;" },
	{ "store", "st.volatile.global.u32 [%rd0], %r5;" },
	{ "store", "st.release.gpu.global.u64 [%rd0], %rd5;" },
	{ "store", "st.relaxed.sys.global.v4.u32 [%rd0], {1, 2, %r5, 4};" },
	{ "operand of an atomic", "atom.global.add.u32 %r2, [%rd0], %r5;" },
	{ "operand of an atomic",
	  "atom.global.cas.b64 %rd2, [%rd0], 0, %rd5;" },
	/* memory that nothing wrote */
	{ "branch", "ld.local.u32 %r9, [d];" BRANCH },
	{ "branch", "ld.shared.u32 %r9, [s+4];" BRANCH },
	{ "branch", "ld.global.u32 %r9, [%rd0+96];" BRANCH },
	{ "branch", "ld.global.u32 %r9, [%rd0+32];" BRANCH },
	{ "branch", "ld.global.v2.u32 {%r8, %r9}, [%rd0+4088];" BRANCH },
	{ "branch", "atom.global.or.b32 %r9, [%rd0+96], 0;" BRANCH },
	{ "branch", "st.local.u8 [d], 0; ld.local.u32 %r9, [d];" BRANCH },
	/* a copy through each space */
	{ "branch", "st.local.u32 [d], %r5;\n"
		    "ld.local.u32 %r9, [d];" BRANCH },
	{ "branch", "st.shared.u32 [s], %r5;\n"
		    "ld.shared.u32 %r9, [s];" BRANCH },
	{ "branch", "st.global.u32 [%rd0], %r5;\n"
		    "ld.global.u32 %r9, [%rd0];" BRANCH },
	/* results */
	{ "branch", "add.s32 %r9, %r1, %r5;" BRANCH },
	{ "branch", "mov.b64 %rd2, {%r1, %r5};\n"
		    "mov.b64 {%r8, %r9}, %rd2;" BRANCH },
	{ "branch", "and.b32 %r9, %r5, 16;" BRANCH },
	{ "branch", "shl.b32 %r9, %r5, 31;" BRANCH },
	{ "branch", "setp.eq.u32 %p1, %r1, %r1;\n"
		    "selp.u32 %r9, %r5, 0, %p1;" BRANCH },
	{ "branch", "cvt.u32.u64 %r9, %rd5;" BRANCH },
	{ "branch", CALL "cvt.u32.u64 %r9, %rd6;" BRANCH },
	/* a parameter that the caller did not store */
	{ "branch", "{ .param .b64 x; .param .b64 y;\n"
		    "call.uni (y), same, (x); ld.param.b64 %rd6, [y]; }\n"
		    "cvt.u32.u64 %r9, %rd6;" BRANCH },
	/* registers and memory of the second call of a function */
	{ "branch", "call first, (); call second, ();" },
	/* lanes */
	{ "operand of the warp", "vote.sync.any.pred %p2, %p1, -1;" },
	{ "operand of the warp", "redux.sync.add.u32 %r2, %r5, -1;" },
	{ "a mask", "bar.warp.sync %r5;" },
	{ "a predicate", "bar.red.popc.u32 %r2, 0, %p1;" },
	{ "number of a barrier", "bar.sync %r5;" },
	{ "branch",
	  /* lane 31 gives an undefined value */
	  "setp.eq.u32 %p1, %r1, 31; @!%p1 mov.u32 %r5, 7;\n"
	  "shfl.sync.idx.b32 %r9, %r5, 31, 31, -1;" BRANCH },
};

PEAL_TEST(each_use_of_an_undefined_value_is_a_fault)
{
	size_t i;

	for (i = 0; i < sizeof(uses) / sizeof(*uses); i++) {
		struct run run = run_body(uses[i].body);

		if (run.fault != PTX_FAULT_UNDEFINED)
			fprintf(stderr, "%s gives: %s\n", uses[i].body,
				run.text);
		CHECK_EQ(run.fault, PTX_FAULT_UNDEFINED);
		CHECK_CONTAINS(run.text, uses[i].part);
		CHECK_CONTAINS(run.text, "source.cu");
	}
}

static const char *const defined[] = {
	/* padding that is copied: 1 of 8 bytes is defined */
	"st.local.u8 [d], 1; ld.local.u64 %rd2, [d];\n"
	"st.global.u64 [%rd0], %rd2; st.local.u64 [d+8], %rd2;\n"
	"ld.local.u8 %r9, [d+8];" BRANCH,
	"ld.global.u32 %r9, [%rd0];" BRANCH,
	"ld.global.u32 %r9, [%rd0+92];" BRANCH,
	"st.global.u32 [%rd0+96], 1; ld.global.u32 %r9, [%rd0+96];" BRANCH,
	"atom.global.exch.b32 %r8, [%rd0+96], 1;\n"
	"bar.sync 0; ld.global.u32 %r9, [%rd0+96];" BRANCH,
	"st.shared.v2.u32 [s+8], {1, 2}; ld.shared.u64 %rd2, [s+8];\n"
	"cvt.u32.u64 %r9, %rd2;" BRANCH,
	"st.volatile.local.u32 [d], %r5; mov.u64 %rd2, d;\n"
	"cvta.local.u64 %rd2, %rd2; st.volatile.u32 [%rd2], %r5;",
	/* results */
	"and.b32 %r9, %r5, 0;" BRANCH,
	"or.b32 %r9, %r5, -1;" BRANCH,
	"shr.u64 %rd2, %rd5, 60; shr.u64 %rd2, %rd2, 4;\n"
	"cvt.u32.u64 %r9, %rd2;" BRANCH,
	"mov.b64 %rd2, {%r5, %r1}; shr.u64 %rd2, %rd2, 32;\n"
	"cvt.u32.u64 %r9, %rd2;" BRANCH,
	"mov.b64 %rd2, {%r1, %r5}; add.s64 %rd2, %rd2, 1;\n"
	"cvt.u32.u64 %r9, %rd2;" BRANCH,
	"prmt.b32 %r9, %r1, %r5, 0x3210;" BRANCH,
	"setp.eq.u32 %p1, %r1, %r1; selp.u32 %r9, 1, %r5, %p1;" BRANCH,
	"or.b32 %r6, %r5, 1; setp.ne.u32 %p1, %r6, 0;\n"
	"@%p1 bra $end;",
	"shr.u32 %r6, %r5, 8; setp.lt.u32 %p1, %r6, 0x1000000;\n"
	"@%p1 bra $end;",
	"mov.u64 %rd5, 1;" CALL "cvt.u32.u64 %r9, %rd6;" BRANCH,
	/* lanes */
	"setp.lt.u32 %p1, %r1, 31; @%p1 mov.u32 %r5, 7;\n"
	"shfl.sync.idx.b32 %r9, %r5, 30, 31, -1;" BRANCH,
	"activemask.b32 %r9;" BRANCH,
	"setp.lt.u32 %p1, %r1, 31; vote.sync.ballot.b32 %r9, %p1, "
	"-1;" BRANCH,
};

PEAL_TEST(a_defined_value_is_no_fault)
{
	size_t i;

	for (i = 0; i < sizeof(defined) / sizeof(*defined); i++) {
		struct run run = run_body(defined[i]);

		if (run.fault)
			fprintf(stderr, "%s gives: %s\n", defined[i], run.text);
		CHECK_EQ(run.fault, PTX_FAULT_NONE);
	}
}

PEAL_TEST(without_the_option_nothing_is_undefined)
{
	struct run run = { .memory = memory, .bytes = sizeof(memory) };

	run_text(&run, HEAD RUN_ENTRY "@%p1 bra $end;\n$end: ret; }", 1);
}

/* ---- results of opcodes -------------------------------------------------- */

#define VALUE(text, id, n, tr, ta, tb, tc, e)                                  \
	case PTX_##id: {                                                       \
		ta a;                                                          \
		tb b;                                                          \
		tc c;                                                          \
		tr r;                                                          \
		uint64_t result = 0;                                           \
		uint32_t d = (uint32_t)s[3];                                   \
                                                                               \
		memcpy(&a, &s[0], sizeof(a));                                  \
		memcpy(&b, &s[1], sizeof(b));                                  \
		memcpy(&c, &s[2], sizeof(c));                                  \
		(void)b;                                                       \
		(void)c;                                                       \
		(void)d;                                                       \
		r = (tr)(e);                                                   \
		memcpy(&result, &r, sizeof(r));                                \
		return result;                                                 \
	}

static uint64_t compute(uint16_t opcode, const uint64_t s[4])
{
	switch (opcode) {
		PTX_VALUES(VALUE)
	default:
		return 0;
	}
}

static uint64_t seed = 88172645463325252u;

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Returns a number. Half of them are small, as amounts of shifts are. */
static uint64_t source(void)
{
	uint64_t value = next();

	return value & 1 ? value >> 1 & 63 : value;
}

/* A predicate is 0 or 1. */
static uint64_t used_bits(int opcode, int source)
{
	const char *text = ptx_opcode_infos[opcode].text;

	if (strstr(text, ".pred") ||
	    (!strncmp(text, "selp.", 5) && source == 2))
		return 1;
	return ~0ULL;
}

/* The bits of the result that differ if some of the four bits differ. */
static uint64_t differing(uint16_t opcode, const uint64_t s[4],
			  const uint64_t bits[4], const int of[4])
{
	uint64_t changed[4], first = compute(opcode, s), differ = 0;
	int i, k;

	for (i = 1; i < 16; i++) {
		memcpy(changed, s, sizeof(changed));
		for (k = 0; k < 4; k++)
			if (i >> k & 1)
				changed[of[k]] ^= bits[k];
		differ |= compute(opcode, changed) ^ first;
	}
	return differ;
}

PEAL_TEST(each_bit_that_depends_on_an_undefined_one_is_undefined)
{
	uint64_t s[4], bits[4], undefined[4], result;
	int opcode, trial, of[4], k, n;

	for (opcode = 0; opcode < PTX_N_VALUES; opcode++) {
		n = ptx_opcode_infos[opcode].sources;
		for (trial = 0; trial < 60; trial++) {
			memset(undefined, 0, sizeof(undefined));
			for (k = 0; k < 4; k++) {
				s[k] = source() & used_bits(opcode, k);
				of[k] = (int)(next() % (uint64_t)n);
				bits[k] = 1ULL << next() % 64 &
					  used_bits(opcode, of[k]);
			}
			for (k = 0; k < 4; k++)
				undefined[of[k]] |= bits[k];
			if (undefined[3] >> 32)
				continue;
			result = ptx_undefined_result((uint16_t)opcode, s,
						      undefined);
			if (differing((uint16_t)opcode, s, bits, of) & ~result)
				fprintf(stderr, "%s\n",
					ptx_opcode_infos[opcode].text);
			CHECK(!(differing((uint16_t)opcode, s, bits, of) &
				~result));
		}
	}
}

PEAL_TEST_MAIN(RUN(each_use_of_an_undefined_value_is_a_fault);
	       RUN(a_defined_value_is_no_fault);
	       RUN(without_the_option_nothing_is_undefined);
	       RUN(each_bit_that_depends_on_an_undefined_one_is_undefined);)
