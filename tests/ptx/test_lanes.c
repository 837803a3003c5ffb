/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes, blocks and clusters: barriers, shared memory, atomics, opcodes of a
 * warp, calls; and each fault with its place. */
#include "run.h"

#define THREADS 256
#define SEEDS 20

static uint64_t memory[4096] __attribute__((aligned(256)));

/* %r1 is the lane's number, %rd1 the address of its word, %r2 the lane's
 * number in its warp. */
#define LANE                                                                   \
	"mov.u32 %r1, %tid.x; mul.wide.u32 %rd1, %r1, 8;\n"                    \
	"add.s64 %rd1, %rd1, %rd0; mov.u32 %r2, %laneid;\n"

static struct run new_run(uint64_t seed)
{
	struct run run = { .memory = memory, .bytes = sizeof(memory) };

	memset(memory, 0, sizeof(memory));
	run.options.seed = seed;
	return run;
}

/* Runs the body of an entry with some seeds. check() looks at the memory. */
static void run_seeds(const char *body, uint32_t threads, void (*check)(void))
{
	char text[8192];
	uint64_t seed;

	snprintf(text, sizeof(text), "%s%s\nret; }\n", RUN_HEAD RUN_ENTRY LANE,
		 body);
	for (seed = 0; seed < SEEDS; seed++) {
		struct run run = new_run(seed);

		run_text(&run, text, threads);
		check();
	}
}

/* ---- blocks -------------------------------------------------------------- */

static void check_reversed(void)
{
	uint32_t i;

	for (i = 0; i < THREADS; i++)
		CHECK_EQ(memory[i], 3 * (THREADS - 1 - i));
}

PEAL_TEST(lanes_read_after_a_barrier_what_others_stored_before)
{
	run_seeds(".shared .align 4 .b8 words[1024]; mov.u32 %r3, words;\n"
		  "shl.b32 %r4, %r1, 2; add.s32 %r5, %r3, %r4;\n"
		  "mul.lo.s32 %r6, %r1, 3; st.shared.u32 [%r5], %r6;\n"
		  "bar.sync 0;\nsub.s32 %r7, 1020, %r4;\n"
		  "add.s32 %r8, %r3, %r7; ld.shared.u32 %r9, [%r8];\n"
		  "cvt.u64.u32 %rd2, %r9; st.global.u64 [%rd1], %rd2;",
		  THREADS, check_reversed);
}

static void check_reductions(void)
{
	uint32_t i;

	for (i = 0; i < 64; i++)
		CHECK_EQ(memory[i], 100 * 21 + 10 * 1 + 0);
}

PEAL_TEST(reductions_of_barriers_see_all_lanes)
{
	/* 21 of 64 lanes have numbers below 21 */
	run_seeds("setp.lt.u32 %p1, %r1, 21;\n"
		  "bar.red.popc.u32 %r3, 0, %p1;\n"
		  "bar.red.or.pred %p2, 1, %p1;\n"
		  "barrier.red.and.pred %p3, 2, 64, %p1;\n"
		  "selp.u32 %r4, 10, 0, %p2; selp.u32 %r5, 1, 0, %p3;\n"
		  "mad.lo.s32 %r6, %r3, 100, %r4; add.s32 %r6, %r6, %r5;\n"
		  "cvt.u64.u32 %rd2, %r6; st.global.u64 [%rd1], %rd2;",
		  64, check_reductions);
}

static void check_handed_over(void)
{
	CHECK_EQ(memory[40], 7);
}

PEAL_TEST(producers_arrive_and_consumers_wait)
{
	run_seeds(".shared .u32 word; setp.ge.u32 %p1, %r1, 32;\n"
		  "@%p1 bra $consume;\n"
		  "setp.eq.u32 %p2, %r1, 0; @%p2 st.shared.u32 [word], 7;\n"
		  "barrier.arrive 3, 64; ret;\n"
		  "$consume: barrier.sync 3, 64;\n"
		  "ld.shared.u32 %r3, [word]; cvt.u64.u32 %rd2, %r3;\n"
		  "st.global.u64 [%rd1], %rd2;",
		  64, check_handed_over);
}

static void check_counts(void)
{
	CHECK_EQ(memory[0], THREADS);
	CHECK_EQ(memory[1], THREADS - 1);
	CHECK_EQ((uint32_t)memory[2], THREADS % 10);
	CHECK_EQ((int64_t)memory[3], -(THREADS - 1));
	CHECK_EQ(memory[4], 1);
	CHECK_EQ((uint32_t)memory[5], 0x43800000); /* 256.0f */
	CHECK_EQ(memory[6], (uint64_t)THREADS * (THREADS - 1) / 2);
}

PEAL_TEST(atomics_lose_no_update)
{
	run_seeds("cvt.u64.u32 %rd2, %r1; neg.s64 %rd3, %rd2;\n"
		  "atom.acq_rel.gpu.global.add.u64 %rd4, [%rd0], 1;\n"
		  "red.global.max.u64 [%rd0+8], %rd2;\n"
		  "atom.global.inc.u32 %r3, [%rd0+16], 9;\n"
		  "atom.global.min.s64 %rd4, [%rd0+24], %rd3;\n"
		  "atom.global.cas.b64 %rd5, [%rd0+32], 0, 1;\n"
		  "red.global.add.f32 [%rd0+40], 0f3F800000;\n"
		  /* a lock by exch, and an increment that is not atomic */
		  "$lock: atom.acquire.gpu.global.exch.b32 %r4, [%rd0+56], 1;\n"
		  "setp.ne.u32 %p1, %r4, 0; @%p1 bra $lock;\n"
		  "ld.global.u64 %rd6, [%rd0+48]; add.s64 %rd6, %rd6, %rd2;\n"
		  "st.global.u64 [%rd0+48], %rd6;\n"
		  "st.release.gpu.global.u32 [%rd0+56], 0;",
		  THREADS, check_counts);
}

/* ---- warps --------------------------------------------------------------- */

static void check_shuffles(void)
{
	uint32_t i;

	for (i = 0; i < 32; i++) {
		CHECK_EQ(memory[i] & 255, i >= 2 ? i - 2 : i);
		CHECK_EQ(memory[i] >> 8 & 255, i < 30 ? i + 2 : i);
		CHECK_EQ(memory[i] >> 16 & 255, i ^ 5);
		CHECK_EQ(memory[i] >> 24 & 255, (i & 24) + 3); /* of 8 */
		CHECK_EQ(memory[i] >> 32, i >= 2);
	}
}

/* Each lane adds 1, or 1 and 2 to two halves. */
PEAL_TEST(atomics_add_numbers_of_16_bits)
{
	static const char text[] = RUN_HEAD RUN_ENTRY
		"mov.b16 %rs1, 0x3c00; mov.b16 %rs2, 0x3f80;\n"
		"mov.b32 %r1, 0x40003c00; mov.b32 %r2, 0x40003f80;\n"
		"atom.add.noftz.f16 %rs3, [%rd0], %rs1;\n"
		"red.global.add.noftz.bf16 [%rd0+4], %rs2;\n"
		"red.relaxed.gpu.global.add.noftz.f16x2 [%rd0+8], %r1;\n"
		"atom.add.noftz.bf16x2 %r3, [%rd0+12], %r2; ret; }";
	struct run run = new_run(1);

	memset(memory, 0, 16);
	run_text(&run, text, 64);
	CHECK_EQ((uint32_t)memory[0], 0x5400);
	CHECK_EQ(memory[0] >> 32, 0x4280);
	CHECK_EQ((uint32_t)memory[1], 0x58005400);
	CHECK_EQ(memory[1] >> 32, 0x43004280);
}

PEAL_TEST(shuffles_exchange_values)
{
	run_seeds("shfl.sync.up.b32 %r3|%p1, %r2, 2, 0, -1;\n"
		  "shfl.sync.down.b32 %r4, %r2, 2, 31, -1;\n"
		  "shfl.sync.bfly.b32 %r5, %r2, 5, 31, -1;\n"
		  "shfl.sync.idx.b32 %r6, %r2, 3, 0x181f, -1;\n"
		  "prmt.b32 %r7, %r3, %r4, 0x7740;\n"
		  "shl.b32 %r5, %r5, 16; shl.b32 %r6, %r6, 24;\n"
		  "or.b32 %r7, %r7, %r5; or.b32 %r7, %r7, %r6;\n"
		  "selp.u32 %r8, 1, 0, %p1; mov.b64 %rd2, {%r7, %r8};\n"
		  "st.global.u64 [%rd1], %rd2;",
		  32, check_shuffles);
}

static void check_votes(void)
{
	uint32_t i;

	for (i = 0; i < 32; i++) {
		CHECK_EQ((uint32_t)memory[i], 0x0000ffff);
		CHECK_EQ(memory[i] >> 32, i < 16 ? 0x6 + 8 : 0x2);
	}
}

PEAL_TEST(votes_count_the_lanes_of_their_mask)
{
	/* the lower half votes apart from the upper one, too */
	run_seeds("setp.lt.u32 %p1, %r2, 16; selp.b32 %r3, 0xffff, "
		  "0xffff0000, %p1;\n"
		  "vote.sync.ballot.b32 %r4, %p1, -1;\n"
		  "vote.sync.all.pred %p2, %p1, -1;\n"
		  "vote.sync.any.pred %p3, !%p1, -1;\n"
		  "vote.sync.all.pred %p4, %p1, %r3;\n"
		  "vote.sync.uni.pred %p5, %p1, %r3;\n"
		  "not.pred %p6, %p4; and.pred %p6, %p6, %p5;\n"
		  "selp.u32 %r5, 1, 0, %p2; selp.u32 %r6, 2, 0, %p3;\n"
		  "or.b32 %r5, %r5, %r6; selp.u32 %r6, 12, 0, %p4;\n"
		  "or.b32 %r5, %r5, %r6;\n"
		  "mov.b64 %rd2, {%r4, %r5}; st.global.u64 [%rd1], %rd2;",
		  32, check_votes);
}

static void check_matches(void)
{
	uint32_t i;

	for (i = 0; i < 32; i++) {
		CHECK_EQ((uint32_t)memory[i], i % 2 ? 0xaaaaaaaa : 0x55555555);
		CHECK_EQ(memory[i] >> 32, 0xffffffff);
		CHECK_EQ((uint32_t)memory[32 + i], 31 * 32 / 2);
		CHECK_EQ(memory[32 + i] >> 32, (uint32_t)-31);
	}
}

PEAL_TEST(matches_and_reductions_compare_all_lanes)
{
	run_seeds("and.b32 %r3, %r2, 1; match.any.sync.b32 %r4, %r3, -1;\n"
		  "cvt.u64.u32 %rd2, 5; match.all.sync.b64 %r5|%p1, %rd2, "
		  "-1;\n"
		  "match.all.sync.b32 %r6|%p2, %r2, -1;\n"
		  "@%p2 trap; @!%p1 trap; setp.ne.u32 %p3, %r6, 0;\n"
		  "@%p3 trap;\n"
		  "mov.b64 %rd3, {%r4, %r5}; st.global.u64 [%rd1], %rd3;\n"
		  "neg.s32 %r7, %r2; redux.sync.add.u32 %r8, %r2, -1;\n"
		  "redux.sync.min.s32 %r9, %r7, -1;\n"
		  "mov.b64 %rd3, {%r8, %r9};\n"
		  "st.global.u64 [%rd1+256], %rd3;",
		  32, check_matches);
}

static void check_leaders(void)
{
	uint32_t i;
	uint64_t sum = 0;

	for (i = 0; i < 32; i++) {
		CHECK(memory[i] >> i & 1);
		sum += memory[100 + i];
	}
	/* each group of activemask adds its size once, by its leader */
	CHECK_EQ(sum, 32);
	CHECK_EQ(memory[99], 32);
}

PEAL_TEST(lanes_of_an_activemask_agree_on_it)
{
	run_seeds("activemask.b32 %r3; cvt.u64.u32 %rd2, %r3;\n"
		  "st.global.u64 [%rd1], %rd2; bar.warp.sync %r3;\n"
		  "elect.sync %r4|%p1, %r3; @!%p1 bra $end;\n"
		  "setp.ne.u32 %p2, %r4, %r2; @%p2 trap;\n"
		  "popc.b32 %r5, %r3; cvt.u64.u32 %rd3, %r5;\n"
		  "st.global.u64 [%rd1+800], %rd3;\n"
		  "red.global.add.u64 [%rd0+792], %rd3;\n$end:",
		  32, check_leaders);
}

static void check_ended(void)
{
	uint32_t i;

	for (i = 0; i < 64; i++)
		CHECK_EQ(memory[i], i % 32 < 16 ? 0xffff : 0);
}

/* The upper half of each warp ends while the lower one waits. */
#define HALF_ENDS(wait)                                                        \
	"mov.u32 %r3, 0; setp.lt.u32 %p1, %r2, 16;\n"                          \
	"@%p1 bra $wait;\n"                                                    \
	"$again: add.s32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 2000;\n"           \
	"@%p2 bra $again; ret;\n$wait: " wait                                  \
	"vote.sync.ballot.b32 %r4, %p1, -1;\n"                                 \
	"cvt.u64.u32 %rd2, %r4; st.global.u64 [%rd1], %rd2;\n"

PEAL_TEST(lanes_wait_for_no_lane_that_has_ended)
{
	run_seeds(HALF_ENDS("bar.sync 0;"), 64, check_ended);
	run_seeds(HALF_ENDS(""), 64, check_ended);
}

static void check_groups(void)
{
	uint32_t i;

	for (i = 0; i < 32; i++)
		CHECK_EQ(memory[i], i ? 0xfffffffeffffffff : 0xffffffff);
}

PEAL_TEST(a_lane_waits_for_lanes_with_its_mask)
{
	/* lane 0 waits for all while the others vote with another mask */
	run_seeds("setp.ge.u32 %p1, %r2, 0; setp.eq.u32 %p2, %r2, 0;\n"
		  "mov.u32 %r4, 0; @%p2 bra $all;\n"
		  "vote.sync.ballot.b32 %r4, %p1, 0xfffffffe;\n"
		  "$all: vote.sync.ballot.b32 %r3, %p1, -1;\n"
		  "mov.b64 %rd2, {%r3, %r4}; st.global.u64 [%rd1], %rd2;",
		  32, check_groups);
}

/* ---- grids --------------------------------------------------------------- */

PEAL_TEST(blocks_of_a_cluster_read_each_others_shared_memory)
{
	static const char text[] = RUN_HEAD RUN_ENTRY LANE
		".shared .align 8 .u64 word; mov.u32 %r3, %ctaid.x;\n"
		"mov.u32 %r4, %cluster_ctarank; mov.u32 %r5, "
		"%cluster_nctarank;\n"
		"cvt.u64.u32 %rd2, %r3; add.s64 %rd2, %rd2, 100;\n"
		"setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u64 [word], %rd2;\n"
		"barrier.cluster.arrive.release.aligned;\n"
		"barrier.cluster.wait.acquire.aligned;\n"
		"add.s32 %r6, %r4, 1; rem.u32 %r6, %r6, %r5;\n"
		"mov.u64 %rd3, word; cvta.shared.u64 %rd3, %rd3;\n"
		"mapa.u64 %rd4, %rd3, %r6; ld.u64 %rd5, [%rd4];\n"
		"mul.wide.u32 %rd6, %r3, 8; add.s64 %rd6, %rd6, %rd0;\n"
		"@%p1 st.global.u64 [%rd6], %rd5;\n"
		"barrier.cluster.arrive; barrier.cluster.wait; ret; }";
	struct ptx_module *m = run_load(text);
	uint64_t seed, i;

	for (seed = 0; seed < SEEDS; seed++) {
		struct run run = new_run(seed);

		run_grid(&run, m, 6, 40, 3);
		if (run.fault)
			fprintf(stderr, "%s\n", run.text);
		CHECK_EQ(run.fault, PTX_FAULT_NONE);
		for (i = 0; i < 6; i++)
			CHECK_EQ(memory[i], 100 + i / 3 * 3 + (i + 1) % 3);
	}
	ptx_unload(m);
}

static int tears_all(void *context, int device, uint64_t address)
{
	(void)context;
	(void)device;
	return address == (uintptr_t)memory;
}

/* Block 0 stores 16 equal bytes again and again while block 1 loads them. Returns
 * how many loads saw parts of two stores. */
static uint64_t count_torn(int (*tears)(void *, int, uint64_t), int weak)
{
	static const char text[] = RUN_HEAD RUN_ENTRY
		"mov.u32 %r3, %ctaid.x; setp.ne.u32 %p1, %r3, 0;\n"
		"mov.u64 %rd2, 0; mov.u32 %r4, 0; @%p1 bra $load;\n"
		"$await: ld.relaxed.sys.u32 %r5, [%rd0+64];\n"
		"setp.eq.u32 %p2, %r5, 0; @%p2 bra $await;\n"
		"$store: add.s32 %r4, %r4, 1;\n"
		"st.relaxed.sys.v4.u32 [%rd0], {%r4, %r4, %r4, %r4};\n"
		"setp.lt.u32 %p3, %r4, 2000; @%p3 bra $store;\n"
		"st.release.sys.u32 [%rd0+68], %r4; ret;\n"
		"$load: st.relaxed.sys.u32 [%rd0+64], 1;\n"
		"$again: ld.relaxed.sys.v4.u32 {%r6, %r7, %r8, %r9}, [%rd0];\n"
		"setp.ne.u32 %p4, %r6, %r9; @%p4 add.s64 %rd2, %rd2, 1;\n"
		"ld.relaxed.sys.u32 %r5, [%rd0+68];\n"
		"setp.eq.u32 %p5, %r5, 0; @%p5 bra $again;\n"
		"st.global.u64 [%rd0+128], %rd2; ret; }";
	struct ptx_module *m = run_load(text);
	struct run run = new_run(1);

	run.tears = tears;
	run.options.weak = weak;
	run_grid(&run, m, 2, 1, 0);
	CHECK_EQ(run.fault, PTX_FAULT_NONE);
	ptx_unload(m);
	return memory[16];
}

PEAL_TEST(stores_of_16_bytes_are_torn_where_the_host_says_so)
{
	int weak, i;

	for (weak = 0; weak < 2; weak++) {
		CHECK_EQ(count_torn(NULL, weak), 0);
		/* block 1 may get no core in a run */
		for (i = 0; i < 100 && !count_torn(tears_all, weak); i++)
			;
		CHECK(i < 100);
	}
}

PEAL_TEST(calls_pass_arguments_and_results)
{
	/* recursion, an indirect call, and an aggregate in local memory */
	static const char text[] = RUN_HEAD
		".global .u64 table[2] = {fact, twice};\n"
		".extern .shared .b8 dynamic[];\n"
		".func (.param .b64 r) twice(.param .b64 n) {\n"
		".reg .b64 %a; ld.param.u64 %a, [n]; add.s64 %a, %a, %a;\n"
		"st.param.b64 [r], %a; ret; }\n"
		".func (.param .b64 r) fact(.param .b64 n) {\n"
		".reg .b64 %a<4>; .reg .pred %p; ld.param.u64 %a0, [n];\n"
		"mov.u64 %a2, 1; setp.le.u64 %p, %a0, 1; @%p bra $end;\n"
		"sub.s64 %a1, %a0, 1; { .param .b64 x; .param .b64 y;\n"
		"st.param.b64 [x], %a1; call.uni (y), fact, (x);\n"
		"ld.param.b64 %a2, [y]; }\nmul.lo.s64 %a2, %a2, %a0;\n"
		"$end: st.param.b64 [r], %a2; ret; }\n" RUN_ENTRY LANE
		".local .align 16 .b8 depot[32]; mov.u64 %rd9, depot;\n"
		"cvta.local.u64 %rd10, %rd9; st.v2.u64 [%rd10+16], {1, 2};\n"
		"and.b32 %r3, %r1, 1; mul.wide.u32 %rd2, %r3, 8;\n"
		"mov.u64 %rd3, table; add.s64 %rd3, %rd3, %rd2;\n"
		"ld.global.u64 %rd4, [%rd3]; cvt.u64.u32 %rd5, %r1;\n"
		"{ .param .b64 x; .param .b64 y; st.param.b64 [x], %rd5;\n"
		"p: .callprototype (.param .b64 _) _ (.param .b64 _);\n"
		"call (y), %rd4, (x), p; ld.param.b64 %rd6, [y]; }\n"
		"mov.u32 %r4, dynamic; cvt.u64.u32 %rd11, %r4;\n"
		"st.shared.u64 [%rd11+8], 3; ld.shared.u64 %rd12, "
		"[dynamic+8];\n"
		"ld.local.v2.u64 {%rd7, %rd8}, [depot+16];\n"
		"mad.lo.s64 %rd6, %rd6, %rd8, %rd7;\n"
		"mul.lo.s64 %rd6, %rd6, %rd12;\n"
		"st.global.u64 [%rd1], %rd6; ret; }";
	static const uint64_t factorials[] = { 1, 0, 2, 0, 24, 0, 720, 0 };
	struct run run = new_run(1);
	uint64_t i;

	run.dynamic_shared_bytes = 16;
	run_text(&run, text, 8);
	for (i = 0; i < 8; i++)
		CHECK_EQ(memory[i],
			 3 * (2 * (i % 2 ? 2 * i : factorials[i]) + 1));
}

PEAL_TEST(a_return_frees_the_memory_of_a_call)
{
	/* 2,000 calls of 1 KiB: a lane has 256 KiB */
	static const char text[] = RUN_HEAD
		".func f(.param .b64 a) { .local .align 8 .b8 d[1024];\n"
		".reg .b64 %a; ld.param.u64 %a, [a]; st.local.u64 [d], %a;\n"
		"ret; }\n" RUN_ENTRY "mov.u64 %rd1, 0;\n"
		"$again: { .param .b64 x; st.param.b64 [x], %rd1;\n"
		"call f, (x); }\nadd.s64 %rd1, %rd1, 1;\n"
		"setp.lt.u64 %p1, %rd1, 2000; @%p1 bra $again;\n"
		"st.global.u64 [%rd0], %rd1; ret; }";
	struct run run = new_run(1);

	run_text(&run, text, 1);
	CHECK_EQ(memory[0], 2000);
}

PEAL_TEST(a_seed_repeats_a_run_and_seeds_differ)
{
	/* each lane notes its place in the order of arrivals */
	static const char text[] = RUN_HEAD RUN_ENTRY LANE
		"mov.u32 %r3, 0;\n"
		"$again: atom.global.add.u64 %rd2, [%rd0+8192], 1;\n"
		"add.s32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 50;\n"
		"@%p1 bra $again; st.global.u64 [%rd1], %rd2; ret; }";
	static uint64_t first[64];
	struct ptx_module *m = run_load(text);
	int seed, differ = 0;

	for (seed = 0; seed < 8; seed++) {
		struct run run = new_run((uint64_t)seed / 2);

		run_grid(&run, m, 1, 64, 0);
		CHECK_EQ(run.fault, PTX_FAULT_NONE);
		if (seed % 2)
			CHECK(!memcmp(first, memory, sizeof(first)));
		else
			differ += memcmp(first, memory, sizeof(first)) != 0;
		memcpy(first, memory, sizeof(first));
	}
	CHECK_EQ(differ, 4);
	ptx_unload(m);
}

/* ---- faults -------------------------------------------------------------- */

struct fault_row {
	enum ptx_fault fault;
	const char *part; /* of the report */
	const char *body;
};

static void check_fault(const struct fault_row *row)
{
	struct run run = new_run(3);
	char text[4096];
	struct ptx_module *m;

	/* the instruction with the fault is in line 8 of source.cu */
	snprintf(text, sizeof(text), "%s%s%s\nret; }\n",
		 RUN_HEAD ".file 1 \"source.cu\"\n"
			  ".const .u64 fixed = 1;\n"
			  ".extern .func __assertfail();\n"
			  ".func endless() { call endless; ret; }\n",
		 RUN_ENTRY LANE ".loc 1 8 1\n", row->body);
	m = run_load(text);
	run.options.step_limit = 100000;
	run_grid(&run, m, 1, 64, 0);
	if (run.fault != row->fault)
		fprintf(stderr, "%s gives: %s\n", row->body, run.text);
	CHECK_EQ(run.fault, row->fault);
	CHECK_CONTAINS(run.text, row->part);
	CHECK_CONTAINS(run.text, ptx_fault_name(row->fault));
	CHECK(run.lane < 64);
	ptx_unload(m);
}

PEAL_TEST(each_fault_is_reported)
{
	static const struct fault_row rows[] = {
		{ PTX_FAULT_BOUNDS, "t: st.global.u32: source.cu: store of 4",
		  "st.global.u32 [64], 1;" },
		{ PTX_FAULT_BOUNDS, "load of 8 bytes",
		  "ld.global.u64 %rd2, [%rd0+32768];" },
		{ PTX_FAULT_BOUNDS, "load", "ld.u64 %rd2, [%rd0+-8];" },
		{ PTX_FAULT_BOUNDS, "shared", "ld.shared.u32 %r3, [64];" },
		{ PTX_FAULT_BOUNDS, "store", "st.u64 [fixed], 2;" },
		{ PTX_FAULT_BOUNDS, "local memory",
		  ".local .b8 d[8]; mov.u64 %rd2, d; ld.global.u8 %r3, "
		  "[%rd2];" },
		{ PTX_FAULT_BOUNDS, "load",
		  ".local .b8 d[8]; ld.local.u8 %r3, [d+16];" },
		{ PTX_FAULT_BOUNDS, "another space",
		  "cvta.to.shared.u64 %rd2, %rd0;" },
		{ PTX_FAULT_BOUNDS, "mapa",
		  ".shared .u64 s; mov.u64 %rd2, s; cvta.shared.u64 %rd2, "
		  "%rd2; mapa.u64 %rd2, %rd2, 1;" },
		{ PTX_FAULT_ALIGNMENT, "misaligned by 4",
		  "ld.global.u64 %rd2, [%rd0+4];" },
		{ PTX_FAULT_ALIGNMENT, "16 bytes",
		  "st.global.v4.u32 [%rd0+8], {1, 2, 3, 4};" },
		{ PTX_FAULT_ALIGNMENT, "misaligned",
		  "red.global.add.u32 [%rd0+2], 1;" },
		{ PTX_FAULT_JUMP, "index 2 of a branch (allowed 0 .. 1)",
		  "l: .branchtargets $a, $b; brx.idx 2, l;\n$a: $b:" },
		{ PTX_FAULT_JUMP, "not a function",
		  "p: .callprototype _ (); call %rd0, p;" },
		{ PTX_FAULT_STACK, "nested calls", "call endless;" },
		{ PTX_FAULT_MASK, "not in it", "bar.warp.sync 2;" },
		{ PTX_FAULT_MASK, "different opcodes",
		  "setp.eq.u32 %p1, %r2, 0; @%p1 bra $other;\n"
		  "bar.warp.sync -1; ret;\n"
		  "$other: vote.sync.any.pred %p2, %p1, -1;" },
		{ PTX_FAULT_BARRIER, "above 15 (16)", "bar.sync 16;" },
		{ PTX_FAULT_BARRIER, "no multiple of 32", "bar.sync 0, 33;" },
		{ PTX_FAULT_BARRIER, "different instructions",
		  "setp.eq.u32 %p1, %r1, 0; @%p1 bra $other;\n"
		  "bar.sync 0; ret;\n$other: bar.sync 0;" },
		{ PTX_FAULT_BARRIER, "different numbers",
		  "and.b32 %r3, %r1, 32; add.s32 %r3, %r3, 64;\n"
		  "barrier.sync 0, %r3;" },
		{ PTX_FAULT_BARRIER, "twice",
		  "barrier.cluster.arrive; barrier.cluster.arrive;" },
		{ PTX_FAULT_DEADLOCK, "waits for a barrier",
		  "setp.eq.u32 %p1, %r1, 0; @%p1 bra $other;\n"
		  "barrier.sync 1; ret;\n$other: barrier.sync 2;" },
		{ PTX_FAULT_DEADLOCK, "lanes of a mask",
		  /* lane 0 waits for 1, 1 for 2, and 2 for 0 */
		  "setp.gt.u32 %p1, %r2, 2; @%p1 ret;\n"
		  "setp.eq.u32 %p1, %r2, 1; selp.u32 %r3, 6, 3, %p1;\n"
		  "setp.eq.u32 %p1, %r2, 2; selp.u32 %r3, 5, %r3, %p1;\n"
		  "bar.warp.sync %r3;" },
		{ PTX_FAULT_STEPS, "more than 100000", "$l: bra $l;" },
		{ PTX_FAULT_TRAP, "trap", "trap;" },
		{ PTX_FAULT_TRAP, "an assertion of the program failed",
		  "call.uni __assertfail;" },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check_fault(&rows[i]);
}

PEAL_TEST(a_fault_names_its_lane_and_its_address)
{
	static const char text[] = RUN_HEAD RUN_ENTRY LANE
		"setp.ne.u32 %p1, %r1, 37; @%p1 ret;\n"
		"st.global.u8 [%rd0+40000], 1; ret; }";
	struct ptx_module *m = run_load(text);
	struct run run = new_run(5);

	run_grid(&run, m, 1, 64, 0);
	CHECK_EQ(run.fault, PTX_FAULT_BOUNDS);
	CHECK_EQ(run.lane, 37);
	CHECK_EQ(run.address, (uintptr_t)memory + 40000);
	CHECK_EQ(run.ptx_line, 11);
	ptx_unload(m);
}

PEAL_TEST(an_access_may_not_pass_the_end_of_its_range)
{
	static const char text[] = RUN_HEAD RUN_ENTRY
		"ld.global.u32 %r1, [%rd0+32760];\n"
		"ld.global.u64 %rd2, [%rd0+32760]; ret; }";
	struct ptx_module *m = run_load(text);
	struct run run = new_run(1);

	run.bytes = 32764;
	run_grid(&run, m, 1, 1, 0);
	CHECK_EQ(run.fault, PTX_FAULT_BOUNDS);
	CHECK_CONTAINS(run.text, "load of 8 bytes");
	ptx_unload(m);
}

PEAL_TEST(wrong_options_are_refused)
{
	struct ptx_options options = { .trace_from = 4, .trace_to = 3 };
	struct ptx_error error = { 0 };

	CHECK_EQ(ptx_options_check(&options, &error), -1);
	CHECK_CONTAINS(error.text, "is above trace_to (4, allowed 0 to 3)");
	options.trace_to = 0;
	CHECK_EQ(ptx_options_check(&options, &error), 0);
	CHECK_CONTAINS(ptx_fault_name((enum ptx_fault)99), "unknown");
}

static void check_wide(void)
{
	CHECK_EQ(memory[2], 12);
	CHECK_EQ(memory[3], 11);
	CHECK_EQ(memory[4], 11); /* after cas, which found its value */
	CHECK_EQ(memory[5], 12);
	CHECK_EQ(memory[6], 12); /* cas left another value */
	CHECK_EQ(memory[7], 11);
	CHECK_EQ(memory[8], 12); /* exch */
	CHECK_EQ(memory[9], 11);
	CHECK_EQ(memory[0], 11);
	CHECK_EQ(memory[1], 12);
}

PEAL_TEST(registers_of_128_bits_move_whole)
{
	run_seeds(
		".reg .b128 %rq<4>, %one; mov.u64 %rd2, 11; mov.u64 %rd3, 12;\n"
		"mov.b128 %rq1, {%rd2, %rd3}; st.global.b128 [%rd0], %rq1;\n"
		"ld.relaxed.sys.global.b128 %one, [%rd0];\n"
		"mov.b128 {%rd3, %rd2}, %one; mov.b128 %rq2, {%rd2, %rd3};\n"
		"mov.b128 {%rd2, %rd3}, %rq2; mov.b128 %rq2, {%rd2, %rd3};\n"
		"st.global.b128 [%rd0+16], %rq2;\n"
		"atom.acq_rel.gpu.global.cas.b128 %rq3, [%rd0], %rq1, %rq2;\n"
		"st.global.b128 [%rd0+32], %rq3;\n"
		"atom.global.cas.b128 %rq3, [%rd0], %rq1, %rq1;\n"
		"st.global.b128 [%rd0+48], %rq3;\n"
		"atom.global.exch.b128 %rq0, [%rd0], %rq1; mov.b128 %rq3, %rq0;\n"
		"st.global.b128 [%rd0+64], %rq3;",
		1, check_wide);
}

PEAL_TEST_MAIN(RUN(registers_of_128_bits_move_whole);
	       RUN(lanes_read_after_a_barrier_what_others_stored_before);
	       RUN(reductions_of_barriers_see_all_lanes);
	       RUN(producers_arrive_and_consumers_wait);
	       RUN(atomics_lose_no_update); RUN(atomics_add_numbers_of_16_bits);
	       RUN(shuffles_exchange_values);
	       RUN(votes_count_the_lanes_of_their_mask);
	       RUN(matches_and_reductions_compare_all_lanes);
	       RUN(lanes_of_an_activemask_agree_on_it);
	       RUN(lanes_wait_for_no_lane_that_has_ended);
	       RUN(a_lane_waits_for_lanes_with_its_mask);
	       RUN(blocks_of_a_cluster_read_each_others_shared_memory);
	       RUN(stores_of_16_bytes_are_torn_where_the_host_says_so);
	       RUN(calls_pass_arguments_and_results);
	       RUN(a_return_frees_the_memory_of_a_call);
	       RUN(a_seed_repeats_a_run_and_seeds_differ);
	       RUN(each_fault_is_reported);
	       RUN(a_fault_names_its_lane_and_its_address);
	       RUN(an_access_may_not_pass_the_end_of_its_range);
	       RUN(wrong_options_are_refused);)
