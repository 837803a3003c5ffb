/* SPDX-License-Identifier: Apache-2.0 */
/* Races on shared memory: each is a fault, and an order of lanes is none. */
#include "run.h"

static uint64_t memory[64] __attribute__((aligned(256)));

#define SEEDS 5
/* %p1 is true for lane 0, %p2 for lane 1, %p3 for lane 32. */
#define LANE                                                                   \
	".shared .align 16 .b8 s[256]; mov.u32 %r1, %tid.x;\n"                 \
	"shl.b32 %r2, %r1, 2; mov.u32 %r3, s; add.s32 %r3, %r3, %r2;\n"        \
	"setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, 1;\n"                  \
	"setp.eq.u32 %p3, %r1, 32;\n.loc 1 8 1\n"

/* Runs a body with 64 lanes. */
static struct run run_body(const char *body, uint64_t seed)
{
	struct run run = { .memory = memory, .bytes = sizeof(memory) };
	char text[4096];
	struct ptx_module *m;

	memset(memory, 0, sizeof(memory));
	snprintf(text, sizeof(text), "%s%s\n$end: ret; }\n",
		 RUN_HEAD ".file 1 \"source.cu\"\n" RUN_ENTRY LANE, body);
	m = run_load(text);
	run.options.race = 1;
	run.options.seed = seed;
	run_grid(&run, m, 1, 64, 0);
	ptx_unload(m);
	return run;
}

/* Lane 0 sets a flag after a store, and lane 1 loads after it has seen it. */
#define CLEAR "@%p1 st.shared.u32 [s+4], 0; bar.sync 0;\n"
#define MESSAGE(set, get)                                                      \
	CLEAR "@%p1 bra $send; @!%p2 bra $end;\n"                              \
	      "$wait: " get " setp.eq.u32 %p4, %r4, 0; @%p4 bra $wait;\n"      \
	      "ld.shared.u32 %r5, [s]; bra $end;\n"                            \
	      "$send: st.shared.u32 [s], 7; " set

static const struct {
	const char *part, *body;
} races[] = {
	{ "store of shared memory at 0 races with a store of lane ",
	  "st.shared.u32 [s], %r1;" },
	{ "at source.cu:8 (line ", "st.shared.u32 [s], %r1;" },
	/* equal values */
	{ "store of", "st.shared.u32 [s], 1;" },
	{ "races with a", "@%p1 st.shared.u32 [s], 1;\n"
			  "ld.shared.u32 %r4, [s];" },
	{ "races with a", "@%p1 st.shared.u32 [s], 1;\n"
			  "@%p3 ld.shared.u32 %r4, [s];" },
	/* a generic address, and a part of a word */
	{ "races with a",
	  "mov.u64 %rd2, s; cvta.shared.u64 %rd2, %rd2;\n"
	  "@%p1 st.u64 [%rd2], 1; @%p2 ld.shared.u8 %r4, [s+7];" },
	{ "races with a", "@%p1 st.shared.v4.u32 [s], {1, 2, 3, 4};\n"
			  "@%p2 ld.shared.u32 %r4, [s+12];" },
	/* one side is strong */
	{ "atomic of", "@!%p1 bra $other; st.shared.u32 [s], 1;\n"
		       "mov.u32 %r5, 1000; $again: sub.s32 %r5, %r5, 1;\n"
		       "setp.ne.u32 %p4, %r5, 0; @%p4 bra $again;\n"
		       "bra $end; $other: @!%p2 bra $end;\n"
		       "$see: ld.volatile.shared.u32 %r4, [s+4];\n"
		       "nanosleep.u32 20; add.s32 %r5, %r5, 0;\n"
		       "atom.shared.add.u32 %r4, [s], 1;" },
	{ "races with a", "@%p1 st.volatile.shared.u32 [s], 1;\n"
			  "@%p2 ld.shared.u32 %r4, [s];" },
	/* a barrier that is too early, or of other lanes */
	{ "races with a", "bar.sync 0; @%p1 st.shared.u32 [s], 1;\n"
			  "@%p2 ld.shared.u32 %r4, [s];" },
	{ "races with a", "@%p1 st.shared.u32 [s], 1;\n"
			  "bar.warp.sync -1;\n"
			  "@%p3 ld.shared.u32 %r4, [s];" },
	{ "races with a", "@%p1 st.shared.u32 [s], 1;\n"
			  "vote.sync.any.pred %p4, %p1, -1;\n"
			  "@%p2 ld.shared.u32 %r4, [s];" },
	/* a flag without an order */
	{ "races with a", MESSAGE("st.volatile.shared.u32 [s+4], 1;",
				  "ld.volatile.shared.u32 %r4, "
				  "[s+4];") },
	{ "races with a", MESSAGE("st.release.cta.shared.u32 [s+4], 1;",
				  "ld.relaxed.cta.shared.u32 %r4, [s+4];") },
	{ "races with a", MESSAGE("st.relaxed.cta.shared.u32 [s+4], 1;",
				  "ld.acquire.cta.shared.u32 %r4, [s+4];") },
	{ "races with a", MESSAGE("fence.acq_rel.cta; st.shared.u32 [s+4], 1;",
				  "ld.acquire.cta.shared.u32 %r4, [s+4];") },
};

PEAL_TEST(each_race_is_a_fault)
{
	size_t i;

	for (i = 0; i < sizeof(races) / sizeof(*races); i++) {
		struct run run = { 0 };
		uint64_t seed;

		for (seed = 0; seed < SEEDS && !run.fault; seed++)
			run = run_body(races[i].body, seed);
		if (run.fault != PTX_FAULT_RACE)
			fprintf(stderr, "%s gives: %s\n", races[i].body,
				run.text);
		CHECK_EQ(run.fault, PTX_FAULT_RACE);
		CHECK_CONTAINS(run.text, races[i].part);
	}
}

static const char *const ordered[] = {
	/* neighbours, also within one word */
	"st.shared.u32 [%r3], %r1; ld.shared.u32 %r4, [%r3];",
	"add.s32 %r4, %r1, s; st.shared.u8 [%r4], %r1;",
	/* loads, and strong accesses */
	"ld.shared.u32 %r4, [s];",
	"st.volatile.shared.u32 [s], %r1;\n"
	"ld.relaxed.cta.shared.u32 %r4, [s];\n"
	"atom.shared.add.u32 %r4, [s], 1;",
	/* barriers */
	"st.shared.u32 [%r3], %r1; bar.sync 0;\n"
	"xor.b32 %r4, %r3, 128; ld.shared.u32 %r4, [%r4];\n"
	"bar.sync 0; st.shared.u32 [%r3], 5;",
	"@%p1 st.shared.u32 [s], 1; bar.warp.sync -1;\n"
	"@%p2 ld.shared.u32 %r4, [s]; bar.warp.sync -1;\n"
	"@%p1 st.shared.u32 [s], 2;",
	"setp.lt.u32 %p5, %r1, 32; @%p5 bra $give;\n"
	"barrier.sync 3, 64; @%p3 ld.shared.u32 %r4, [s]; bra $end;\n"
	"$give: @%p1 st.shared.u32 [s], 1; barrier.arrive 3, 64;",
	"@%p1 st.shared.u32 [s], 1; barrier.cluster.arrive;\n"
	"barrier.cluster.wait; ld.shared.u32 %r4, [s];\n"
	"barrier.cluster.arrive; barrier.cluster.wait;\n"
	"@%p2 st.shared.u32 [s], 1;",
	/* a flag, in shared and in device memory */
	MESSAGE("st.release.cta.shared.u32 [s+4], 1;",
		"ld.acquire.cta.shared.u32 %r4, [s+4];"),
	MESSAGE("fence.acq_rel.cta; st.relaxed.cta.shared.u32 "
		"[s+4], 1;",
		"ld.relaxed.cta.shared.u32 %r4, [s+4];\n"
		"fence.acq_rel.cta;"),
	MESSAGE("fence.acq_rel.gpu; st.volatile.global.u32 [%rd0], 1;",
		"ld.acquire.gpu.global.u32 %r4, [%rd0];"),
	MESSAGE("atom.release.cta.shared.exch.b32 %r4, [s+4], 1;",
		"atom.acquire.cta.shared.or.b32 %r4, [s+4], 0;"),
	/* an atomic continues the release of lane 0 */
	CLEAR "@%p1 bra $send; @%p2 bra $relay; @!%p3 bra $end;\n"
	      "$wait: ld.acquire.cta.shared.u32 %r4, [s+4];\n"
	      "setp.ne.u32 %p4, %r4, 2; @%p4 bra $wait;\n"
	      "ld.shared.u32 %r5, [s]; bra $end;\n"
	      "$relay: atom.relaxed.cta.shared.cas.b32 %r4, [s+4], 1, 2;\n"
	      "setp.ne.u32 %p4, %r4, 1; @%p4 bra $relay; bra $end;\n"
	      "$send: st.shared.u32 [s], 7;\n"
	      "st.release.cta.shared.u32 [s+4], 1;",
	/* a lock */
	"$lock: atom.acquire.cta.shared.cas.b32 %r4, [s+8], "
	"0xa5a5a5a5, 1;\n"
	"setp.ne.u32 %p4, %r4, 0xa5a5a5a5; @%p4 bra $lock;\n"
	"ld.shared.u32 %r5, [s]; add.s32 %r5, %r5, 1;\n"
	"st.shared.u32 [s], %r5;\n"
	"st.release.cta.shared.u32 [s+8], 0xa5a5a5a5;",
};

PEAL_TEST(lanes_in_an_order_do_not_race)
{
	size_t i;
	uint64_t seed;

	for (i = 0; i < sizeof(ordered) / sizeof(*ordered); i++)
		for (seed = 0; seed < SEEDS; seed++) {
			struct run run = run_body(ordered[i], seed);

			if (run.fault)
				fprintf(stderr, "%s gives: %s\n", ordered[i],
					run.text);
			CHECK_EQ(run.fault, PTX_FAULT_NONE);
		}
}

PEAL_TEST_MAIN(RUN(each_race_is_a_fault); RUN(lanes_in_an_order_do_not_race);)
