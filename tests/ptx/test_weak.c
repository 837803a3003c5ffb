/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Litmus tests of weak memory. Each shows its weak result for some seed if PTX
 * allows the result, and for none if PTX forbids it.
 */
#include "run.h"

#define SEEDS_ALLOWED 2000
#define SEEDS_FORBIDDEN 200

static uint64_t memory[512] __attribute__((aligned(4096)));

/*
 * Words of the memory: x is at 0, y at 256. The flags are at 512 and 768. Each
 * is in a sector of its own. Results of thread n are in words 256 + 2n.
 *
 * A thread is a lane of one block, a block with one lane, or a device with one
 * block. The threads begin at the labels $t0, $t1 and $t2. The number of the
 * device is in %r3 at first.
 */
#define WORDS                                                                  \
	"mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n"                        \
	"add.s32 %r3, %r3, %r1; add.s32 %r3, %r3, %r2;\n"                      \
	"setp.eq.u32 %p0, %r3, 0; setp.eq.u32 %p1, %r3, 1;\n"                  \
	"setp.eq.u32 %p2, %r3, 2; mov.u32 %r20, 9; mov.u32 %r21, 9;\n"         \
	"mul.wide.u32 %rd2, %r3, 16; add.s64 %rd2, %rd2, %rd0;\n"              \
	"@%p0 bra $t0; @%p1 bra $t1; @%p2 bra $t2; bra $end;\n"
/* The results are in %r20 and %r21. A release makes them visible. */
#define RESULTS                                                                \
	"\n$end: fence.acq_rel.sys;\n"                                         \
	"st.global.u32 [%rd2+2048], %r20; st.global.u32 [%rd2+2056], %r21;\n"  \
	"ret; }"
#define UNTIL(load, label)                                                     \
	label ": " load " setp.eq.u32 %p5, %r5, 0; @%p5 bra " label ";\n"

/* Result k of a thread. */
static uint32_t result(int thread, int k)
{
	return (uint32_t)memory[256 + 2 * thread + k];
}

/* A litmus test. blocks 0: each of two devices has a block. */
struct litmus {
	const char *name;
	const char *threads; /* from $t0 on */
	uint32_t blocks, lanes;
	int (*is_weak)(void);
	int allowed;
};

static struct ptx_module *load(const struct litmus *litmus, int device)
{
	char text[8192];

	snprintf(text, sizeof(text), "%s%smov.u32 %%r3, %d;\n%s%s%s",
		 RUN_HEAD RUN_ENTRY, ".shared .align 16 .b8 s[1024];\n", device,
		 WORDS, litmus->threads, RESULTS);
	return run_load(text);
}

/* Runs a module on each of two devices at once. */
static void run_devices(struct run *run, struct ptx_module *const m[2],
			uint32_t lanes)
{
	struct run_thread t[2];
	int i;

	for (i = 0; i < 2; i++) {
		t[i].grid = run_create(run, m[i], 1, lanes, 0, i);
		t[i].block = 0;
	}
	for (i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&t[i].thread, NULL, run_block, &t[i]),
			 0);
	for (i = 0; i < 2; i++) {
		CHECK_EQ(pthread_join(t[i].thread, NULL), 0);
		ptx_grid_destroy(t[i].grid);
	}
}

/* Runs all blocks on this thread. blocks 0: each of two devices has a block. */
static void run_together(struct run *run, struct ptx_module *const m[2],
			 uint32_t blocks, uint32_t lanes)
{
	struct ptx_grid *grids[2];
	uint32_t n = blocks ? 1 : 2, i;

	for (i = 0; i < n; i++)
		grids[i] = run_create(run, m[i], blocks ? blocks : 1, lanes, 0,
				      (int)i);
	ptx_grids_run(grids, n, NULL, NULL);
	for (i = 0; i < n; i++)
		ptx_grid_destroy(grids[i]);
}

/* Runs a test with seeds until its weak result is there. Returns the number of
 * weak results. */
static int count_weak(const struct litmus *litmus, int together)
{
	struct ptx_module *m[2] = { load(litmus, 0), load(litmus, 1) };
	uint64_t seed,
		seeds = litmus->allowed ? SEEDS_ALLOWED : SEEDS_FORBIDDEN;
	int n = 0;

	for (seed = 0; seed < seeds && !n; seed++) {
		struct run run = { .memory = memory, .bytes = sizeof(memory) };

		memset(memory, 0, sizeof(memory));
		run.options.seed = seed;
		run.options.quantum = 2;
		run.options.weak = 1;
		if (together)
			run_together(&run, m, litmus->blocks, litmus->lanes);
		else if (litmus->blocks)
			run_grid(&run, m[0], litmus->blocks, litmus->lanes, 0);
		else
			run_devices(&run, m, litmus->lanes);
		if (run.fault)
			fprintf(stderr, "%s\n", run.text);
		CHECK_EQ(run.fault, PTX_FAULT_NONE);
		n += litmus->is_weak();
	}
	ptx_unload(m[0]);
	ptx_unload(m[1]);
	return n;
}

static void check_one(const struct litmus *test, int together)
{
	int weak = count_weak(test, together);

	if ((weak != 0) != (test->allowed != 0))
		fprintf(stderr, "%s, %s: %s\n", test->name,
			together ? "on one thread" : "with threads",
			weak ? "shows a weak result" : "shows no weak result");
	CHECK_EQ(weak != 0, test->allowed != 0);
}

/* Returns 1 if the scheduler of the threads decides about the weak result of a
 * test. Each block has a thread. The threads may run one after the other. */
static int depends_on_threads(const struct litmus *test)
{
	return test->blocks != 1 && test->allowed;
}

static void check(const struct litmus *tests, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (!depends_on_threads(&tests[i]))
			check_one(&tests[i], 0);
		check_one(&tests[i], 1);
	}
}

#define CHECK_LITMUS(tests) check(tests, sizeof(tests) / sizeof(*(tests)))

/* ---- message passing ----------------------------------------------------- */

/* Thread 0 stores x and sets the flag. Thread 1 sees the flag and loads x. */
#define MESSAGE(store, set, get, load)                                         \
	"$t0: " store set " bra $end;\n$t1: " UNTIL(get, "$wait") load         \
		" bra $end;\n$t2:"
#define ST "st.global.u32 [%rd0], 1;"
#define ST_RELAXED "st.relaxed.gpu.global.u32 [%rd0], 1;"
#define LD "ld.global.u32 %r20, [%rd0];"
#define LD_RELAXED "ld.relaxed.gpu.global.u32 %r20, [%rd0];"
#define SET "st.relaxed.gpu.global.u32 [%rd0+512], 1;"
#define SET_RELEASE "st.release.gpu.global.u32 [%rd0+512], 1;"
#define SET_CTA "st.release.cta.global.u32 [%rd0+512], 1;"
#define GET "ld.relaxed.gpu.global.u32 %r5, [%rd0+512];"
#define GET_ACQUIRE "ld.acquire.gpu.global.u32 %r5, [%rd0+512];"
#define GET_CTA "ld.acquire.cta.global.u32 %r5, [%rd0+512];"
#define FENCE "fence.acq_rel.gpu;"

static int lost_message(void)
{
	return result(1, 0) == 0;
}

PEAL_TEST(message_needs_a_release_and_an_acquire)
{
	static const struct litmus tests[] = {
		{ "relaxed", MESSAGE(ST_RELAXED, SET, GET, LD_RELAXED), 1, 2,
		  lost_message, 1 },
		{ "volatile",
		  MESSAGE("st.volatile.global.u32 [%rd0], 1;",
			  "st.volatile.global.u32 [%rd0+512], 1;",
			  "ld.volatile.global.u32 %r5, [%rd0+512];",
			  "ld.volatile.global.u32 %r20, [%rd0];"),
		  1, 2, lost_message, 1 },
		{ "no release", MESSAGE(ST, SET, GET_ACQUIRE, LD), 1, 2,
		  lost_message, 1 },
		{ "release", MESSAGE(ST, SET_RELEASE, GET_ACQUIRE, LD), 1, 2,
		  lost_message, 0 },
		{ "fences", MESSAGE(ST, FENCE SET, GET, FENCE LD), 1, 2,
		  lost_message, 0 },
		{ "atomics",
		  MESSAGE(ST, "red.release.gpu.global.add.u32 [%rd0+512], 1;",
			  "atom.acquire.gpu.global.or.b32 %r5, [%rd0+512], 0;",
			  LD),
		  1, 2, lost_message, 0 },
		{ "relaxed atomics",
		  MESSAGE(ST, "red.relaxed.gpu.global.add.u32 [%rd0+512], 1;",
			  "atom.relaxed.gpu.global.or.b32 %r5, [%rd0+512], 0;",
			  LD),
		  1, 2, lost_message, 1 },
		{ "shared memory, relaxed",
		  "$t0: st.relaxed.cta.shared.u32 [s], 0;\n"
		  "st.relaxed.cta.shared.u32 [s+512], 0; fence.acq_rel.cta;\n"
		  "st.relaxed.gpu.global.u32 [%rd0+512], 1;\n"
		  "st.shared.u32 [s], 1;\n"
		  "st.relaxed.cta.shared.u32 [s+512], 1; bra $end;\n"
		  "$t1: " UNTIL(GET_ACQUIRE, "$go")
			  UNTIL("ld.relaxed.cta.shared.u32 %r5, [s+512];",
				"$wait") "ld.relaxed.cta.shared.u32 %r20, [s];"
					 "bra $end;\n$t2:",
		  1, 2, lost_message, 1 },
		{ "blocks, relaxed", MESSAGE(ST_RELAXED, SET, GET, LD_RELAXED),
		  2, 1, lost_message, 1 },
		{ "blocks, release", MESSAGE(ST, SET_RELEASE, GET_ACQUIRE, LD),
		  2, 1, lost_message, 0 },
		{ "blocks, fences", MESSAGE(ST, FENCE SET, GET, FENCE LD), 2, 1,
		  lost_message, 0 },
	};

	CHECK_LITMUS(tests);
}

PEAL_TEST(scope_of_a_block_reaches_no_other_block)
{
	static const struct litmus tests[] = {
		{ "block", MESSAGE(ST, SET_CTA, GET_CTA, LD), 1, 2,
		  lost_message, 0 },
		{ "blocks", MESSAGE(ST, SET_CTA, GET_ACQUIRE, LD), 2, 1,
		  lost_message, 1 },
	};

	CHECK_LITMUS(tests);
}

#define SET_SYS "st.release.sys.global.u32 [%rd0+512], 1;"
#define GET_SYS "ld.acquire.sys.global.u32 %r5, [%rd0+512];"

PEAL_TEST(scope_of_a_device_reaches_no_other_device)
{
	static const struct litmus tests[] = {
		{ "blocks", MESSAGE(ST, SET_RELEASE, GET_ACQUIRE, LD), 2, 1,
		  lost_message, 0 },
		{ "devices, .gpu", MESSAGE(ST, SET_RELEASE, GET_SYS, LD), 0, 1,
		  lost_message, 1 },
		{ "devices, .sys", MESSAGE(ST, SET_SYS, GET_SYS, LD), 0, 1,
		  lost_message, 0 },
		{ "devices, fence.sys",
		  MESSAGE(ST, "fence.acq_rel.sys;" SET, GET_SYS, LD), 0, 1,
		  lost_message, 0 },
	};

	CHECK_LITMUS(tests);
}

/* Thread 1 has read x before the flag is set. */
#define STALE(get)                                                             \
	"$t0: " UNTIL("ld.relaxed.gpu.global.u32 %r5, [%rd0+768];", "$begin")  \
		ST SET_RELEASE                                                 \
		" bra $end;\n"                                                 \
		"$t1: ld.global.u32 %r6, [%rd0];\n"                            \
		"st.release.gpu.global.u32 [%rd0+768], 1;\n" UNTIL(get,        \
								   "$wait") LD \
		" bra $end;\n$t2:"

PEAL_TEST(weak_load_is_stale_without_an_acquire)
{
	static const struct litmus tests[] = {
		{ "relaxed", STALE(GET), 2, 1, lost_message, 1 },
		{ "acquire of the block", STALE(GET_CTA), 2, 1, lost_message,
		  1 },
		{ "acquire", STALE(GET_ACQUIRE), 2, 1, lost_message, 0 },
	};

	CHECK_LITMUS(tests);
}

/* Thread 0 stores x. Thread 1 sees it and sets the flag. Thread 2 loads x. */
#define RELAY(set)                                                             \
	"$t0: " ST_RELAXED " bra $end;\n"                                      \
	"$t1: " UNTIL("ld.relaxed.gpu.global.u32 %r5, [%rd0];", "$see") set    \
		" bra $end;\n"                                                 \
		"$t2: " UNTIL(GET_ACQUIRE, "$wait") LD " bra $end;\n"

static int lost_relay(void)
{
	return result(2, 0) == 0;
}

PEAL_TEST(release_gives_on_the_stores_that_its_lane_has_seen)
{
	static const struct litmus tests[] = {
		{ "lanes", RELAY(SET_RELEASE), 1, 3, lost_relay, 0 },
		{ "blocks", RELAY(SET_RELEASE), 3, 1, lost_relay, 0 },
	};

	CHECK_LITMUS(tests);
}

/* ---- store buffering ----------------------------------------------------- */

#define BUFFERING(fence)                                                       \
	"$t0: st.relaxed.gpu.global.u32 [%rd0], 1;" fence                      \
	"ld.relaxed.gpu.global.u32 %r20, [%rd0+256]; bra $end;\n"              \
	"$t1: st.relaxed.gpu.global.u32 [%rd0+256], 1;" fence                  \
	"ld.relaxed.gpu.global.u32 %r20, [%rd0]; bra $end;\n$t2:"

static int both_missed(void)
{
	return result(0, 0) == 0 && result(1, 0) == 0;
}

PEAL_TEST(loads_miss_both_stores_without_a_fence)
{
	static const struct litmus tests[] = {
		{ "relaxed", BUFFERING(""), 1, 2, both_missed, 1 },
		{ "fence.sc", BUFFERING("fence.sc.gpu;"), 1, 2, both_missed,
		  0 },
		{ "membar", BUFFERING("membar.gl;"), 1, 2, both_missed, 0 },
		{ "blocks, fence.sc", BUFFERING("fence.sc.gpu;"), 2, 1,
		  both_missed, 0 },
	};

	CHECK_LITMUS(tests);
}

/* ---- one location -------------------------------------------------------- */

/* Thread 0 stores 1 and 2 to x. Thread 1 loads x twice. */
#define COHERENCE(width)                                                       \
	"$t0: st.relaxed.gpu.global." width " [%rd0], 1;\n"                    \
	"st.relaxed.gpu.global." width " [%rd0], 2; bra $end;\n"               \
	"$t1: ld.relaxed.gpu.global." width " %r20, [%rd0];\n"                 \
	"ld.relaxed.gpu.global." width " %r21, [%rd0]; bra $end;\n$t2:"

static int went_back(void)
{
	return result(1, 0) > result(1, 1) || (uint32_t)memory[0] != 2;
}

/* A lane sees its own stores, in parts and as a whole. */
static int own_is_wrong(void)
{
	return result(0, 0) != 0x02010304 || result(0, 1) != 0x0304;
}

/* Thread 0 stores x, releases the flag, then stores y. Thread 1 sees y, and not
 * the flag. */
#define AFTER_RELEASE(between)                                                 \
	"$t0: " ST_RELAXED SET_RELEASE between                                 \
	" st.relaxed.gpu.global.u32 [%rd0+256], 1; bra $end;\n"                \
	"$t1: " UNTIL(                                                         \
		"ld.acquire.gpu.global.u32 %r5, [%rd0+256];",                  \
		"$wait") "ld.relaxed.gpu.global.u32 %r20, [%rd0+512]; bra $end;\n$t2:"

PEAL_TEST(store_passes_an_earlier_release)
{
	static const struct litmus tests[] = {
		{ "none", AFTER_RELEASE(""), 2, 1, lost_message, 1 },
		{ "fence", AFTER_RELEASE(FENCE), 2, 1, lost_message, 0 },
	};

	CHECK_LITMUS(tests);
}

/* ---- late loads ---------------------------------------------------------- */

/* Each thread loads a word, then stores to the word of the other. */
#define LOAD_STORE(between, store)                                             \
	"$t0: ld.relaxed.gpu.global.u32 %r20, [%rd0];" between store           \
	" [%rd0+256], 1; bra $end;\n"                                          \
	"$t1: ld.relaxed.gpu.global.u32 %r20, [%rd0+256];" between store       \
	" [%rd0], 1; bra $end;\n$t2:"
#define IF_SEVEN "setp.eq.u32 %p5, %r20, 7; @%p5 bra $end;\n"

static int got_both(void)
{
	return result(0, 0) == 1 && result(1, 0) == 1;
}

static int got_flag_alone(void)
{
	return result(1, 0) == 1 && result(1, 1) == 0;
}

/* Thread 0 stores x and releases the flag. Thread 1 loads the flag, then x. */
#define FLAG_FIRST(get)                                                        \
	"$t0: " ST_RELAXED SET_RELEASE " bra $end;\n"                          \
	"$t1: " get " %r20, [%rd0+512];\n"                                     \
	"ld.relaxed.gpu.global.u32 %r21, [%rd0]; bra $end;\n$t2:"

PEAL_TEST(load_without_an_acquire_is_late_until_its_use)
{
	static const struct litmus tests[] = {
		{ "load, store", LOAD_STORE("", "st.relaxed.gpu.global.u32"), 2,
		  1, got_both, 1 },
		{ "load, release", LOAD_STORE("", "st.release.gpu.global.u32"),
		  2, 1, got_both, 0 },
		{ "load, fence, store",
		  LOAD_STORE(FENCE, "st.relaxed.gpu.global.u32"), 2, 1,
		  got_both, 0 },
		{ "load, its use, store",
		  LOAD_STORE(IF_SEVEN, "st.relaxed.gpu.global.u32"), 2, 1,
		  got_both, 0 },
		{ "load, load", FLAG_FIRST("ld.relaxed.gpu.global.u32"), 2, 1,
		  got_flag_alone, 1 },
		{ "weak load, load", FLAG_FIRST("ld.global.u32"), 2, 1,
		  got_flag_alone, 1 },
		{ "acquire, load", FLAG_FIRST("ld.acquire.gpu.global.u32"), 2,
		  1, got_flag_alone, 0 },
	};

	CHECK_LITMUS(tests);
}

/* ---- late atomics -------------------------------------------------------- */

#define RED(order, word)                                                       \
	"red." order ".gpu.global.add.u32 [%rd0+" word "], 1;\n"
#define FETCH(order, result, word)                                             \
	"atom." order ".gpu.global.or.b32 " result ", [%rd0+" word "], 0;\n"
/* Each thread adds to its word, then loads the word of the other. */
#define ATOMIC_BUFFERING(between)                                              \
	"$t0: " RED("relaxed", "0") between                                    \
		"ld.relaxed.gpu.global.u32 %r20, [%rd0+256]; bra $end;\n"      \
		"$t1: " RED("relaxed", "256") between                          \
		"ld.relaxed.gpu.global.u32 %r20, [%rd0]; bra $end;\n$t2:"
/* Each thread reads a word by an atomic, then adds to the word of the other. */
#define ATOMIC_LOAD_STORE(between, order)                                      \
	"$t0: " FETCH("relaxed", "%r20", "0") between RED(                     \
		order, "256") "bra $end;\n"                                    \
			      "$t1: " FETCH("relaxed", "%r20", "256") between  \
			      RED(order, "0") "bra $end;\n$t2:"
#define ATOMIC_FLAG_FIRST(order)                                               \
	"$t0: " ST_RELAXED SET_RELEASE " bra $end;\n"                          \
	"$t1: " FETCH(                                                         \
		order, "%r20",                                                 \
		"512") "ld.relaxed.gpu.global.u32 %r21, [%rd0]; bra $end;\n$t2:"

PEAL_TEST(relaxed_atomic_is_late_until_its_use)
{
	static const struct litmus tests[] = {
		{ "message, relaxed",
		  MESSAGE(RED("relaxed", "0"), RED("relaxed", "512"),
			  GET_ACQUIRE, LD_RELAXED),
		  2, 1, lost_message, 1 },
		{ "message, release",
		  MESSAGE(RED("relaxed", "0"), RED("release", "512"),
			  GET_ACQUIRE, LD_RELAXED),
		  2, 1, lost_message, 0 },
		{ "message, fences",
		  MESSAGE(RED("relaxed", "0"), FENCE RED("relaxed", "512"), GET,
			  FENCE LD_RELAXED),
		  2, 1, lost_message, 0 },
		{ "message, release by a store",
		  MESSAGE(RED("relaxed", "0"), SET_RELEASE, GET_ACQUIRE,
			  LD_RELAXED),
		  2, 1, lost_message, 0 },
		{ "flag, relaxed", ATOMIC_FLAG_FIRST("relaxed"), 2, 1,
		  got_flag_alone, 1 },
		{ "flag, release", ATOMIC_FLAG_FIRST("release"), 2, 1,
		  got_flag_alone, 1 },
		{ "flag, acquire", ATOMIC_FLAG_FIRST("acquire"), 2, 1,
		  got_flag_alone, 0 },
		{ "flag, acq_rel", ATOMIC_FLAG_FIRST("acq_rel"), 2, 1,
		  got_flag_alone, 0 },
		{ "buffering", ATOMIC_BUFFERING(""), 2, 1, both_missed, 1 },
		{ "buffering, fence.sc", ATOMIC_BUFFERING("fence.sc.gpu;"), 2,
		  1, both_missed, 0 },
		{ "load, add", ATOMIC_LOAD_STORE("", "relaxed"), 2, 1, got_both,
		  1 },
		{ "load, release", ATOMIC_LOAD_STORE("", "release"), 2, 1,
		  got_both, 0 },
		{ "load, fence, add", ATOMIC_LOAD_STORE(FENCE, "relaxed"), 2, 1,
		  got_both, 0 },
		{ "load, its use, add", ATOMIC_LOAD_STORE(IF_SEVEN, "relaxed"),
		  2, 1, got_both, 0 },
	};

	CHECK_LITMUS(tests);
}

/* Each thread adds 1, 1 and 2 to x. */
#define SUM                                                                       \
	"mov.u32 %r6, 2;\n" RED(                                                  \
		"relaxed",                                                        \
		"0") "atom.relaxed.gpu.global.add.u32 %r20, [%rd0], 1;\n"         \
		     "atom.relaxed.gpu.global.add.u32 %r7, [%rd0], %r6;\n"        \
		     "mov.u32 %r6, 64; ld.relaxed.gpu.global.u32 %r21, [%rd0];\n" \
		     "bra $end;\n"

static int sum_is_wrong(void)
{
	return (uint32_t)memory[0] != 8 || result(0, 1) < result(0, 0) + 3 ||
	       result(1, 1) < result(1, 0) + 3;
}

/* Thread 1 waits for thread 0, which waits for its shuffle or its barrier. */
#define PROGRESS(wait)                                                         \
	"$t0: " RED("relaxed", "0") wait                                       \
		" bra $end;\n"                                                 \
		"$t1: " UNTIL("ld.relaxed.gpu.global.u32 %r5, [%rd0];",        \
			      "$see") wait " bra $end;\n$t2:"

static int never(void)
{
	return (uint32_t)memory[0] != 1;
}

PEAL_TEST(late_atomics_are_whole_and_end)
{
	static const struct litmus tests[] = {
		{ "sum, lanes", "$t0: $t1: " SUM "$t2:", 1, 2, sum_is_wrong,
		  0 },
		{ "sum, blocks", "$t0: $t1: " SUM "$t2:", 2, 1, sum_is_wrong,
		  0 },
		{ "shuffle", PROGRESS("shfl.sync.bfly.b32 %r6, %r5, 1, 31, 3;"),
		  1, 2, never, 0 },
		{ "barrier", PROGRESS("bar.warp.sync 3;"), 1, 2, never, 0 },
		{ "loop",
		  "$t0: " RED("relaxed", "0") UNTIL(
			  "ld.relaxed.gpu.global.u32 %r5, [%rd0+256];",
			  "$spin") "bra $end;\n$t1: " UNTIL("ld.relaxed.gpu.global.u32 %r5, [%rd0];",
							    "$see")
			  RED("relaxed", "256") " bra $end;\n$t2:",
		  2, 1, never, 0 },
	};

	CHECK_LITMUS(tests);
}

PEAL_TEST(location_is_coherent)
{
	static const struct litmus tests[] = {
		{ "words", COHERENCE("u32"), 1, 2, went_back, 0 },
		{ "words of blocks", COHERENCE("u32"), 2, 1, went_back, 0 },
		{ "own stores",
		  "$t0: st.global.u32 [%rd0], 0x01010101;\n"
		  "st.global.u8 [%rd0+3], 2; st.global.u16 [%rd0], 0x0304;\n"
		  "ld.global.u32 %r20, [%rd0]; ld.global.u16 %r21, [%rd0];\n"
		  "bra $end;\n$t1: $t2:",
		  1, 1, own_is_wrong, 0 },
		{ "own atomic",
		  "$t0: ld.global.u32 %r20, [%rd0];\n"
		  "st.global.u32 [%rd0], 0x02010303;\n"
		  "red.global.add.u32 [%rd0], 1; ld.global.u32 %r20, [%rd0];\n"
		  "cvt.u16.u32 %rs1, %r20; cvt.u32.u16 %r21, %rs1;\n"
		  "bra $end;\n$t1: $t2:",
		  1, 1, own_is_wrong, 0 },
	};

	CHECK_LITMUS(tests);
}

/* ---- vectors ------------------------------------------------------------- */

/* Thread 0 stores 16 bytes twice. Thread 1 loads them. */
#define VECTOR(order)                                                          \
	"$t0: st" order ".global.v4.u32 [%rd0], {1, 1, 1, 1};\n"               \
	"st" order ".global.v4.u32 [%rd0], {2, 2, 2, 2}; bra $end;\n"          \
	"$t1: ld" order ".global.v4.u32 {%r20, %r6, %r7, %r21}, [%rd0];\n"     \
	"bra $end;\n$t2:"

static int torn(void)
{
	return result(1, 0) != result(1, 1);
}

PEAL_TEST(weak_vector_is_torn_and_a_relaxed_one_is_not)
{
	static const struct litmus tests[] = {
		{ "weak", VECTOR(""), 1, 2, torn, 1 },
		{ "volatile", VECTOR(".volatile"), 1, 2, torn, 1 },
		{ "relaxed", VECTOR(".relaxed.sys"), 1, 2, torn, 0 },
		{ "relaxed, blocks", VECTOR(".relaxed.sys"), 2, 1, torn, 0 },
	};

	CHECK_LITMUS(tests);
}

/* ---- barriers ------------------------------------------------------------ */

/* Lane 0 stores, and all meet at the barrier. */
#define BARRIER(store, barrier, load)                                          \
	"$t0: " store "\n$t1: $t2: $meet: " barrier load "\nbra $end;"

static int missed_in_block(void)
{
	return result(0, 0) == 0 || result(1, 0) == 0;
}

/* Lane 0 stores, lane 1 tells another block. */
static int lost_by_leader(void)
{
	uint64_t got = memory[300];

	return got == 0;
}

PEAL_TEST(barrier_shows_stores_to_the_block)
{
	static const struct litmus tests[] = {
		{ "bar.sync", BARRIER(ST, "bar.sync 0;", LD), 1, 2,
		  missed_in_block, 0 },
		{ "bar.warp.sync", BARRIER(ST, "bar.warp.sync 3;", LD), 1, 2,
		  missed_in_block, 0 },
		{ "shared memory",
		  BARRIER("st.shared.u32 [s], 1;", "bar.sync 0;",
			  "ld.shared.u32 %r20, [s];"),
		  1, 2, missed_in_block, 0 },
		{ "vote", BARRIER(ST, "vote.sync.any.pred %p5, %p0, 3;", LD), 1,
		  2, missed_in_block, 1 },
	};

	CHECK_LITMUS(tests);
}

/* Two blocks of two lanes. In block 0, lane 0 stores, and lane 1 releases. In
 * block 1, lane 0 acquires, and lane 1 loads. */
#define LEADERS(arrive)                                                        \
	"$t0: $t1: $t2: setp.eq.u32 %p6, %r1, 0; setp.eq.u32 %p7, %r2, 0;\n"   \
	"@!%p7 bra $second; @!%p6 bra $tell; " ST " " arrive " bra $end;\n"    \
	"$tell: " arrive SET_RELEASE " bra $end;\n"                            \
	"$second: @!%p6 bra $late;\n" UNTIL(GET_ACQUIRE, "$wait") arrive       \
		" bra $end;\n"                                                 \
		"$late: " arrive " ld.global.u64 %rd5, [%rd0];\n"              \
		"st.global.u64 [%rd0+2400], %rd5; bra "                        \
		"$end;"

PEAL_TEST(leader_releases_the_stores_of_its_block)
{
	static const struct litmus tests[] = {
		{ "bar.sync", LEADERS("barrier.sync 0;"), 2, 2, lost_by_leader,
		  0 },
		{ "none", LEADERS(""), 2, 2, lost_by_leader, 1 },
	};

	CHECK_LITMUS(tests);
}

/* ---- runs ---------------------------------------------------------------- */

PEAL_TEST(seed_repeats_weak_results)
{
	static const char text[] = RUN_HEAD RUN_ENTRY
		"mov.u32 %r1, %tid.x; mul.wide.u32 %rd1, %r1, 8;\n"
		"add.s64 %rd1, %rd1, %rd0; mov.u32 %r3, 0;\n"
		"$again: st.global.u32 [%rd0+2048], %r1;\n"
		"ld.volatile.global.u32 %r4, [%rd0+2048];\n"
		"mad.lo.s32 %r5, %r5, 31, %r4; add.s32 %r3, %r3, 1;\n"
		"setp.lt.u32 %p1, %r3, 40; @%p1 bra $again;\n"
		"st.global.u32 [%rd1], %r5; ret; }";
	static uint64_t first[64];
	struct ptx_module *m = run_load(text);
	int i, differ = 0;

	for (i = 0; i < 8; i++) {
		struct run run = { .memory = memory, .bytes = sizeof(memory) };

		memset(memory, 0, sizeof(memory));
		run.options.weak = 1;
		run.options.seed = (uint64_t)i / 2;
		run_grid(&run, m, 1, 64, 0);
		CHECK_EQ(run.fault, PTX_FAULT_NONE);
		if (i % 2)
			CHECK(!memcmp(first, memory, sizeof(first)));
		else
			differ += memcmp(first, memory, sizeof(first)) != 0;
		memcpy(first, memory, sizeof(first));
	}
	CHECK_EQ(differ, 4);
	ptx_unload(m);
}

/* 8 blocks add their numbers to a chain of values, which depends on the order of
 * the blocks. */
PEAL_TEST(seed_repeats_blocks_on_one_thread)
{
	static const char text[] = RUN_HEAD RUN_ENTRY
		"mov.u32 %r2, %ctaid.x; mov.u32 %r3, 0;\n"
		"$again: ld.relaxed.gpu.global.u32 %r4, [%rd0];\n"
		"mad.lo.s32 %r4, %r4, 31, %r2; add.s32 %r3, %r3, 1;\n"
		"st.relaxed.gpu.global.u32 [%rd0], %r4;\n"
		"setp.lt.u32 %p1, %r3, 40; @%p1 bra $again; ret; }";
	struct ptx_module *m[2] = { run_load(text), NULL };
	uint64_t first = 0;
	int i, differ = 0;

	for (i = 0; i < 8; i++) {
		struct run run = { .memory = memory, .bytes = sizeof(memory) };

		memory[0] = 0;
		run.options.weak = 1;
		run.options.seed = (uint64_t)i / 2;
		run_together(&run, m, 8, 1);
		CHECK_EQ(run.fault, PTX_FAULT_NONE);
		if (i % 2)
			CHECK_EQ(memory[0], first);
		else
			differ += memory[0] != first;
		first = memory[0];
	}
	CHECK_EQ(differ, 4);
	ptx_unload(m[0]);
}

PEAL_TEST_MAIN(RUN(message_needs_a_release_and_an_acquire);
	       RUN(scope_of_a_block_reaches_no_other_block);
	       RUN(scope_of_a_device_reaches_no_other_device);
	       RUN(weak_load_is_stale_without_an_acquire);
	       RUN(release_gives_on_the_stores_that_its_lane_has_seen);
	       RUN(loads_miss_both_stores_without_a_fence);
	       RUN(store_passes_an_earlier_release);
	       RUN(load_without_an_acquire_is_late_until_its_use);
	       RUN(relaxed_atomic_is_late_until_its_use);
	       RUN(late_atomics_are_whole_and_end); RUN(location_is_coherent);
	       RUN(weak_vector_is_torn_and_a_relaxed_one_is_not);
	       RUN(barrier_shows_stores_to_the_block);
	       RUN(leader_releases_the_stores_of_its_block);
	       RUN(seed_repeats_weak_results);
	       RUN(seed_repeats_blocks_on_one_thread);)
