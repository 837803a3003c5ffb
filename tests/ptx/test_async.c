/* SPDX-License-Identifier: Apache-2.0 */
/* mbarriers, st.async and cp.async.bulk: results, and each fault. */
#include "run.h"

#define THREADS 64
#define SEEDS 20

static uint64_t memory[1024] __attribute__((aligned(256)));

/* %r1 is the lane's number, %rd1 the address of its word. */
#define LANE                                                                   \
	"mov.u32 %r1, %tid.x; mul.wide.u32 %rd1, %r1, 8;\n"                    \
	"add.s64 %rd1, %rd1, %rd0; setp.eq.u32 %p1, %r1, 0;\n"
#define BARRIER ".shared .align 8 .b64 bar; .shared .align 16 .b8 data[1024];\n"
#define INIT(n)                                                                \
	"@%p1 mbarrier.init.shared::cta.b64 [bar], " #n ";\n"                  \
	"fence.mbarrier_init.release.cluster; bar.sync 0;\n"
/* Waits for the end of phase `parity`. */
#define WAIT(parity)                                                           \
	"$wait" #parity                                                        \
	": mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 "              \
	"%p2, [bar], " #parity ", 1000; @!%p2 bra $wait" #parity ";\n"

static struct run run_body(const char *body, uint32_t threads, uint64_t seed)
{
	struct run run = { .memory = memory, .bytes = sizeof(memory) };
	struct ptx_module *m;
	char text[8192];
	uint32_t i;

	for (i = 0; i < 1024; i++)
		memory[i] = i < 512 ? 0 : i;
	run.options.seed = seed;
	run.options.undefined = 1;
	run.options.weak = seed & 1;
	run.options.race = seed >> 1 & 1;
	run.options.step_limit = 100000;
	snprintf(text, sizeof(text), "%s%s\nret; }\n", RUN_HEAD RUN_ENTRY LANE,
		 body);
	m = run_load(text);
	run_grid(&run, m, 1, threads, 0);
	ptx_unload(m);
	return run;
}

/* Runs a body with some seeds. check() looks at the memory. */
static void run_seeds(const char *body, uint32_t threads, void (*check)(void))
{
	uint64_t seed;

	for (seed = 0; seed < SEEDS; seed++) {
		struct run run = run_body(body, threads, seed);

		if (run.fault)
			fprintf(stderr, "%s\n", run.text);
		CHECK_EQ(run.fault, PTX_FAULT_NONE);
		check();
	}
}

/* ---- mbarriers ----------------------------------------------------------- */

static void check_phases(void)
{
	uint32_t i;

	for (i = 0; i < THREADS; i++)
		CHECK_EQ(memory[i],
			 10 * ((i + 1) % THREADS) + (i + 2) % THREADS);
}

/* Each lane reads what its neighbours stored in the phase before. */
PEAL_TEST(lanes_meet_in_each_phase)
{
	run_seeds(
		BARRIER INIT(
			64) "mov.u32 %r3, data; shl.b32 %r4, %r1, 3; add.u32 %r5, %r3, %r4;\n"
			    "st.shared.u32 [%r5], %r1;\n"
			    "mbarrier.arrive.release.cta.shared::cta.b64 %rd2, [bar];\n"
			    "$w: mbarrier.test_wait.shared::cta.b64 %p2, [bar], %rd2;\n"
			    "@!%p2 bra $w;\n"
			    "add.u32 %r6, %r1, 1; rem.u32 %r6, %r6, 64; shl.b32 %r6, %r6, 3;\n"
			    "add.u32 %r6, %r6, %r3; ld.shared.u32 %r7, [%r6];\n"
			    "st.shared.u32 [%r5+4], %r7;\n"
			    "mbarrier.arrive.shared::cta.b64 _, [bar];\n" WAIT(
				    1) "ld.shared.u32 %r8, [%r6+4]; mul.lo.u32 %r7, %r7, 10;\n"
				       "add.u32 %r7, %r7, %r8; cvt.u64.u32 %rd3, %r7;\n"
				       "st.global.u64 [%rd1], %rd3;",
		THREADS, check_phases);
}

static void check_counts(void)
{
	CHECK_EQ(memory[0], 5); /* pending before the first arrival */
	CHECK_EQ(memory[1], 3); /* before the second one */
	CHECK_EQ(memory[2], 0); /* the phase has not ended */
	CHECK_EQ(memory[3], 1); /* it has */
	CHECK_EQ(memory[4], 4); /* one arrival less a phase, after the drop */
}

PEAL_TEST(arrivals_count_down_and_drops_lower_the_count)
{
	run_seeds(
		BARRIER INIT(
			5) "mbarrier.arrive.noComplete.release.cta.shared.b64 %rd2, [bar], 2;\n"
			   "mbarrier.pending_count.b64 %r3, %rd2;\n"
			   "mbarrier.arrive_drop.shared.b64 %rd3, [bar];\n"
			   "mbarrier.pending_count.b64 %r4, %rd3;\n"
			   "mbarrier.test_wait.shared.b64 %p2, [bar], %rd3;\n"
			   "mbarrier.arrive.shared.b64 %rd4, [bar], 2;\n"
			   "mbarrier.test_wait.shared.b64 %p3, [bar], %rd3;\n"
			   "mbarrier.arrive.shared.b64 %rd5, [bar];\n"
			   "mbarrier.pending_count.b64 %r5, %rd5;\n"
			   "selp.u32 %r6, 1, 0, %p2; selp.u32 %r7, 1, 0, %p3;\n"
			   "cvt.u64.u32 %rd6, %r3; st.global.u64 [%rd0], %rd6;\n"
			   "cvt.u64.u32 %rd6, %r4; st.global.u64 [%rd0+8], %rd6;\n"
			   "cvt.u64.u32 %rd6, %r6; st.global.u64 [%rd0+16], %rd6;\n"
			   "cvt.u64.u32 %rd6, %r7; st.global.u64 [%rd0+24], %rd6;\n"
			   "cvt.u64.u32 %rd6, %r5; st.global.u64 [%rd0+32], %rd6;",
		1, check_counts);
}

static void check_bytes(void)
{
	CHECK_EQ(memory[0], 0); /* bytes are missing */
	CHECK_EQ(memory[1], 1);
}

PEAL_TEST(a_phase_waits_for_announced_bytes)
{
	run_seeds(
		BARRIER INIT(
			1) "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 8;\n"
			   "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 24;\n"
			   "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 30;\n"
			   "mbarrier.test_wait.parity.shared::cta.b64 %p2, [bar], 0;\n"
			   "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 2;\n"
			   "mbarrier.test_wait.parity.shared::cta.b64 %p3, [bar], 0;\n"
			   "selp.u32 %r6, 1, 0, %p2; selp.u32 %r7, 1, 0, %p3;\n"
			   "cvt.u64.u32 %rd6, %r6; st.global.u64 [%rd0], %rd6;\n"
			   "cvt.u64.u32 %rd6, %r7; st.global.u64 [%rd0+8], %rd6;",
		1, check_bytes);
}

/* Without an order, the lanes race. */
PEAL_TEST(relaxed_arrivals_order_nothing)
{
	static const char body[] = BARRIER INIT(
		2) "@%p1 st.shared.u32 [data], 5;\n"
		   "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [bar];\n"
		   "$w: mbarrier.test_wait.parity.relaxed.cta.shared::cta.b64 %p2,"
		   " [bar], 0; @!%p2 bra $w;\n"
		   "@!%p1 ld.shared.u32 %r3, [data];\n";
	struct run run = run_body(body, 2, 2);

	CHECK_EQ(run.fault, PTX_FAULT_RACE);
}

/* ---- copies -------------------------------------------------------------- */

static void check_stored(void)
{
	uint32_t i;

	for (i = 0; i < 32; i++)
		CHECK_EQ(memory[i], 7 * i);
}

PEAL_TEST(asynchronous_stores_arrive_with_their_mbarrier)
{
	run_seeds(
		BARRIER INIT(
			1) "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;\n"
			   "mov.u32 %r3, data; shl.b32 %r4, %r1, 3; add.u32 %r5, %r3, %r4;\n"
			   "mov.u32 %r6, bar; mul.lo.u32 %r7, %r1, 7; mov.u32 %r8, 0;\n"
			   "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.u32\n"
			   " [%r5], {%r7, %r8}, [%r6];\n" WAIT(
				   0) "ld.shared.u64 %rd2, [%r5]; st.global.u64 [%rd1], %rd2;",
		32, check_stored);
}

/* A read without a wait finds old bytes for some seeds, and new ones for some. */
PEAL_TEST(asynchronous_stores_are_late)
{
	uint32_t late = 0, early = 0;
	uint64_t seed;

	for (seed = 0; seed < 200; seed++) {
		struct run run = run_body(
			BARRIER INIT(
				1) "mov.u32 %r5, 0; @!%p1 bra $l;\n"
				   "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 8;\n"
				   "mov.u64 %rd2, 0; st.shared.u64 [data], %rd2;\n"
				   "mov.u64 %rd2, 9; mov.u32 %r3, data; mov.u32 %r4, bar;\n"
				   "st.async.shared::cluster.mbarrier::complete_tx::bytes"
				   ".u64 [%r3], %rd2, [%r4];\n"
				   "$l: add.u32 %r5, %r5, 1; setp.lt.u32 %p3, %r5, 100;\n"
				   "@%p3 bra $l; @!%p1 bra $end;\n"
				   "ld.shared.u64 %rd3, [data];\n"
				   "st.global.u64 [%rd1], %rd3;\n" WAIT(
					   0) "$end:",
			2, seed);

		CHECK_EQ(run.fault, PTX_FAULT_NONE);
		CHECK(memory[0] == 0 || memory[0] == 9);
		late += memory[0] == 0;
		early += memory[0] == 9;
	}
	CHECK(early > 0);
	CHECK(late > 0);
}

static void check_bulk(void)
{
	uint32_t i;

	for (i = 0; i < 64; i++)
		CHECK_EQ(memory[128 + i], 512 + i);
}

/* Global memory to shared memory, and back. */
PEAL_TEST(bulk_copies_move_whole_blocks)
{
	run_seeds(
		BARRIER INIT(
			1) "@!%p1 bra $end; mov.u32 %r3, data; mov.u32 %r4, bar;\n"
			   "add.u64 %rd2, %rd0, 4096; add.u64 %rd3, %rd0, 1024;\n"
			   "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 512;\n"
			   "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes\n"
			   " [%r3], [%rd2], 256, [%r4];\n"
			   "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes\n"
			   " [%r3+256], [%rd2+256], 256, [%r4];\n" WAIT(
				   0) "fence.proxy.async.shared::cta;\n"
				      "cp.async.bulk.global.shared::cta.bulk_group [%rd3], [%r3], 512;\n"
				      "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n$end:",
		THREADS, check_bulk);
}

/* The next group may be open while the lane reads the first one. */
PEAL_TEST(a_wait_for_groups_leaves_the_last_ones_open)
{
	run_seeds(
		BARRIER
		"mov.u32 %r3, data; mov.u64 %rd4, 512; mov.u32 %r5, 0;\n"
		"$fill: cvt.u64.u32 %rd5, %r5; add.u64 %rd5, %rd5, 512;\n"
		"shl.b32 %r6, %r5, 3; add.u32 %r6, %r6, %r3;\n"
		"st.shared.u64 [%r6], %rd5; add.u32 %r5, %r5, 1;\n"
		"setp.lt.u32 %p2, %r5, 64; @%p2 bra $fill;\n"
		"fence.proxy.async.shared::cta;\n"
		"add.u64 %rd3, %rd0, 1024; add.u64 %rd6, %rd0, 2048;\n"
		"cp.async.bulk.global.shared::cta.bulk_group [%rd3], [%r3], 512;\n"
		"cp.async.bulk.commit_group;\n"
		"cp.async.bulk.global.shared::cta.bulk_group [%rd6], [%r3], 512;\n"
		"cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 1;\n"
		"ld.global.u64 %rd7, [%rd3+8]; setp.eq.u64 %p3, %rd7, 513;\n"
		"@%p3 bra $good; trap;\n$good:",
		1, check_bulk);
}

/* ---- clusters ------------------------------------------------------------ */

/* Lane 0 of each block stores into the other block. */
PEAL_TEST(asynchronous_stores_reach_another_block)
{
	static const char text[] = RUN_HEAD RUN_ENTRY LANE BARRIER
		"mbarrier.init.shared.b64 [bar], 1;\n"
		"mbarrier.arrive.expect_tx.shared.b64 _, [bar], 8;\n"
		"fence.mbarrier_init.release.cluster;\n"
		"barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
		"mov.u32 %r2, %cluster_ctarank; xor.b32 %r3, %r2, 1;\n"
		"mov.u32 %r4, data; mapa.shared::cluster.u32 %r5, %r4, %r3;\n"
		"mov.u32 %r6, bar; mapa.shared::cluster.u32 %r7, %r6, %r3;\n"
		"add.u32 %r8, %r2, 40; cvt.u64.u32 %rd2, %r8;\n"
		"st.async.shared::cluster.mbarrier::complete_tx::bytes.b64"
		" [%r5+8], %rd2, [%r7];\n" WAIT(
			0) "ld.shared.u64 %rd3, [data+8]; ld.shared::cluster.u64 %rd6, [%r5+8];\n"
			   "mul.wide.u32 %rd4, %r2, 16; add.u64 %rd4, %rd4, %rd0;\n"
			   "st.global.u64 [%rd4], %rd3; st.global.u64 [%rd4+8], %rd6;\n"
			   "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
			   "ret; }\n";
	struct ptx_module *m = run_load(text);
	uint64_t seed;

	for (seed = 0; seed < SEEDS; seed++) {
		struct run run = { .memory = memory, .bytes = sizeof(memory) };

		memset(memory, 0, sizeof(memory));
		run.options.seed = seed;
		run.options.weak = seed & 1;
		run_grid(&run, m, 2, 1, 2);
		if (run.fault)
			fprintf(stderr, "%s\n", run.text);
		CHECK_EQ(run.fault, PTX_FAULT_NONE);
		CHECK_EQ(memory[0], 41);
		CHECK_EQ(memory[2], 40);
	}
	ptx_unload(m);
}

/* ---- faults -------------------------------------------------------------- */

static const struct {
	const char *body;
	enum ptx_fault fault;
	const char *text;
} faults[] = {
	{ "mbarrier.arrive.shared.b64 _, [bar];", PTX_FAULT_BARRIER,
	  "no mbarrier is at this address" },
	{ "mbarrier.init.shared.b64 [bar], 1; mbarrier.inval.shared.b64 [bar];"
	  "mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0;",
	  PTX_FAULT_BARRIER, "no mbarrier is at this address" },
	{ "mbarrier.init.shared.b64 [bar], 0;", PTX_FAULT_BARRIER,
	  "the count of an mbarrier" },
	{ "mbarrier.init.shared.b64 [bar+4], 1;", PTX_FAULT_ALIGNMENT,
	  "misaligned by 4 bytes" },
	{ "mbarrier.init.shared.b64 [bar+4096], 1;", PTX_FAULT_BOUNDS,
	  "in no memory" },
	{ "mbarrier.init.b64 [%rd0], 1;", PTX_FAULT_BOUNDS,
	  "is not in shared memory" },
	{ "mbarrier.init.shared.b64 [bar], 2;"
	  "mbarrier.arrive.shared.b64 _, [bar], 3;",
	  PTX_FAULT_BARRIER, "more arrivals" },
	{ "mbarrier.init.shared.b64 [bar], 2;"
	  "mbarrier.arrive.noComplete.shared.b64 _, [bar], 2;",
	  PTX_FAULT_BARRIER, "ends the phase" },
	{ "mbarrier.init.shared.b64 [bar], 1;"
	  "mbarrier.expect_tx.shared.b64 [bar], 1048575;"
	  "mbarrier.expect_tx.shared.b64 [bar], 1;",
	  PTX_FAULT_BARRIER, "bytes of an mbarrier" },
	{ "mov.u32 %r3, data; mov.u32 %r4, bar;"
	  "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r3], 1,"
	  " [%r4];",
	  PTX_FAULT_BARRIER, "no mbarrier" },
	{ "mov.u32 %r3, data; mov.u32 %r4, bar;"
	  "st.async.shared::cluster.mbarrier::complete_tx::bytes.u64 [%r3+4], 1,"
	  " [%r4];",
	  PTX_FAULT_ALIGNMENT, "misaligned" },
	{ "mov.u32 %r3, data;"
	  "cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r3], 24;",
	  PTX_FAULT_BOUNDS, "multiples of 16" },
	{ "mov.u32 %r3, data;"
	  "cp.async.bulk.global.shared::cta.bulk_group [%rd0+8], [%r3], 16;",
	  PTX_FAULT_ALIGNMENT, "misaligned by 8" },
	{ "mov.u32 %r3, data;"
	  "cp.async.bulk.global.shared::cta.bulk_group [%rd0+8176], [%r3], 32;",
	  PTX_FAULT_BOUNDS, "in no memory" },
	{ "mov.u32 %r3, data; mapa.shared::cluster.u32 %r3, %r3, 1;",
	  PTX_FAULT_BOUNDS, "mapa" },
	{ "mov.u32 %r3, 0x5000000; ld.shared::cluster.u32 %r4, [%r3];",
	  PTX_FAULT_BOUNDS, "in no memory" },
	{ "mbarrier.init.shared.b64 [bar], %r9;", PTX_FAULT_UNDEFINED,
	  "an operand of an mbarrier" },
	{ "mov.u32 %r4, bar;"
	  "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r9], 1,"
	  " [%r4];",
	  PTX_FAULT_UNDEFINED, "an asynchronous copy" },
};

PEAL_TEST(wrong_uses_are_faults)
{
	char body[1024];
	size_t i;

	for (i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		struct run run;

		snprintf(body, sizeof(body), BARRIER "%s\n", faults[i].body);
		run = run_body(body, 1, 1);
		if (run.fault != faults[i].fault)
			fprintf(stderr, "%s: %s\n", faults[i].body, run.text);
		CHECK_EQ(run.fault, faults[i].fault);
		CHECK_CONTAINS(run.text, faults[i].text);
	}
}

/* Copies carry the bits of undefined values. */
PEAL_TEST(bulk_copies_carry_undefined_values)
{
	struct run run = run_body(
		BARRIER INIT(
			1) "mov.u32 %r3, data; mov.u32 %r4, bar;\n"
			   "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;\n"
			   "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::"
			   "bytes [%r3], [%r3+512], 64, [%r4];\n" WAIT(
				   0) "ld.shared.u32 %r5, [%r3]; setp.eq.u32 %p3, %r5, 1;\n"
				      "@%p3 bra $end; $end:",
		1, 1);

	CHECK_EQ(run.fault, PTX_FAULT_UNDEFINED);
}

PEAL_TEST_MAIN(RUN(lanes_meet_in_each_phase);
	       RUN(arrivals_count_down_and_drops_lower_the_count);
	       RUN(a_phase_waits_for_announced_bytes);
	       RUN(relaxed_arrivals_order_nothing);
	       RUN(asynchronous_stores_arrive_with_their_mbarrier);
	       RUN(asynchronous_stores_are_late);
	       RUN(bulk_copies_move_whole_blocks);
	       RUN(a_wait_for_groups_leaves_the_last_ones_open);
	       RUN(asynchronous_stores_reach_another_block);
	       RUN(wrong_uses_are_faults);
	       RUN(bulk_copies_carry_undefined_values);)
