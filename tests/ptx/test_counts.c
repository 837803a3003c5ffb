/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of executed instructions: classes, memories, orders, lanes. */
#include "run.h"

#define VARIABLES                                                              \
	".global .align 8 .u64 variable; .const .align 8 .u64 constant;\n"

static uint64_t memory[64] __attribute__((aligned(256)));

/* The first words are the device's, the second ones a peer's, then the host's. */
static enum ptx_memory memory_at(void *context, int device, uint64_t address)
{
	uint64_t word = (address - (uintptr_t)memory) / 8;

	(void)context;
	CHECK_EQ(device, 0);
	CHECK(word < 64);
	return word < 16 ? PTX_MEMORY_GLOBAL :
	       word < 32 ? PTX_MEMORY_PEER :
			   PTX_MEMORY_HOST;
}

/* Runs the body of an entry. Returns the counts of one lane or of all. */
static struct ptx_counts count(const char *body, uint32_t blocks,
			       uint32_t threads, uint32_t lane, int on)
{
	struct run run = { .memory = memory, .bytes = sizeof(memory) };
	uint64_t params[1] = { (uintptr_t)memory };
	struct ptx_launch launch = {
		.blocks = blocks,
		.threads = threads,
		.params = params,
		.host = { .range = run_range,
			  .fault = run_fault,
			  .context = &run,
			  .memory = memory_at },
		.options = { .seed = 1, .count = on },
	};
	struct ptx_counts counts;
	struct ptx_module *m;
	struct ptx_grid *grid;
	char text[4096];
	uint32_t i;

	snprintf(text, sizeof(text), "%s%s\nret; }\n",
		 RUN_HEAD VARIABLES RUN_ENTRY, body);
	m = run_load(text);
	launch.function = ptx_find(m, "t");
	grid = ptx_grid_create(&launch);
	CHECK(grid != NULL);
	for (i = 0; i < blocks; i++)
		ptx_grid_run_block(grid, i);
	CHECK_EQ(ptx_grid_faulted(grid), 0);
	counts = ptx_grid_counts(grid, lane);
	ptx_grid_destroy(grid);
	ptx_unload(m);
	return counts;
}

/* Counts a body, without the ld.param and the ret of each entry. */
static struct ptx_counts count_body(const char *body)
{
	struct ptx_counts c = count(body, 1, 1, PTX_ALL_LANES, 1);

	CHECK(c.instructions >= 2);
	c.instructions -= 2;
	c.by_class[PTX_CLASS_PARAM]--;
	c.by_class[PTX_CLASS_CALL]--;
	return c;
}

/* All counts apart from these are 0. */
static void check_classes(const struct ptx_counts *c, enum ptx_class a,
			  uint64_t n_a, enum ptx_class b, uint64_t n_b)
{
	int i;

	CHECK_EQ(c->instructions, n_a + n_b);
	for (i = 0; i < PTX_N_CLASSES; i++)
		CHECK_EQ(c->by_class[i],
			 i == (int)a ? n_a : (i == (int)b ? n_b : 0));
}

PEAL_TEST(instructions_have_classes)
{
	struct ptx_counts c = count_body("add.s32 %r1, %r2, 1;\n"
					 "setp.eq.s32 %p1, %r1, 0;\n"
					 "mov.u32 %r3, %tid.x; mov.u32 %r4, 7;"
					 "mov.u32 %r5, %r4;");

	check_classes(&c, PTX_CLASS_VALUE, 2, PTX_CLASS_MOVE, 3);
	c = count_body("bar.sync 0; bar.warp.sync 1;");
	check_classes(&c, PTX_CLASS_BARRIER, 1, PTX_CLASS_WARP, 1);
	c = count_body("bra next;\nnext:\nnanosleep.u32 20;");
	check_classes(&c, PTX_CLASS_BRANCH, 1, PTX_CLASS_OTHER, 1);
}

PEAL_TEST(loop_counts_each_turn)
{
	struct ptx_counts c =
		count_body("mov.u32 %r1, 0;\nagain: add.s32 %r1, %r1, 1;\n"
			   "setp.lt.s32 %p1, %r1, 9; @%p1 bra again;");

	CHECK_EQ(c.instructions, 1 + 9 * 3);
	CHECK_EQ(c.by_class[PTX_CLASS_VALUE], 18);
	CHECK_EQ(c.by_class[PTX_CLASS_BRANCH], 9);
}

/* One instruction, whether it runs or not. */
PEAL_TEST(skipped_instruction_counts_once_and_makes_no_access)
{
	struct ptx_counts c = count_body("setp.eq.s32 %p1, 0, 0;\n"
					 "@%p1 st.global.u64 [%rd0], %rd0;\n"
					 "@!%p1 st.global.u64 [%rd0], %rd0;\n"
					 "@!%p1 fence.acq_rel.sys;");

	CHECK_EQ(c.instructions, 4);
	CHECK_EQ(c.by_class[PTX_CLASS_STORE], 2);
	CHECK_EQ(c.by_class[PTX_CLASS_FENCE], 1);
	CHECK_EQ(c.accesses[PTX_ACCESS_STORE][PTX_MEMORY_GLOBAL], 1);
	CHECK_EQ(c.fences[PTX_COUNT_SYS], 0);
}

PEAL_TEST(accesses_have_the_memory_of_their_address)
{
	struct ptx_counts c = count_body(
		".shared .align 8 .b8 s[8]; .local .align 8 .b8 l[8];\n"
		"ld.global.u64 %rd1, [%rd0]; ld.u64 %rd1, [%rd0+128];\n"
		"st.global.u64 [%rd0+8], %rd1; st.u64 [%rd0+256], %rd1;\n"
		"st.volatile.u64 [%rd0+264], %rd1;\n"
		"atom.global.add.u64 %rd2, [%rd0+136], 1;\n"
		"mov.u32 %r1, s; st.shared.u64 [%r1], %rd1;\n"
		"cvt.u64.u32 %rd3, %r1; cvta.shared.u64 %rd4, %rd3;\n"
		"ld.u64 %rd2, [%rd4];\n"
		"mov.u64 %rd5, l; st.local.u64 [%rd5], %rd1;\n"
		"ld.global.v2.u64 {%rd6, %rd7}, [%rd0+256];");

	CHECK_EQ(c.accesses[PTX_ACCESS_LOAD][PTX_MEMORY_GLOBAL], 1);
	CHECK_EQ(c.accesses[PTX_ACCESS_LOAD][PTX_MEMORY_PEER], 1);
	CHECK_EQ(c.accesses[PTX_ACCESS_STORE][PTX_MEMORY_GLOBAL], 1);
	CHECK_EQ(c.accesses[PTX_ACCESS_STORE][PTX_MEMORY_HOST], 2);
	CHECK_EQ(c.accesses[PTX_ACCESS_ATOM][PTX_MEMORY_PEER], 1);
	CHECK_EQ(c.accesses[PTX_ACCESS_STORE][PTX_MEMORY_SHARED], 1);
	CHECK_EQ(c.accesses[PTX_ACCESS_LOAD][PTX_MEMORY_SHARED], 1);
	CHECK_EQ(c.accesses[PTX_ACCESS_STORE][PTX_MEMORY_LOCAL], 1);
	CHECK_EQ(c.accesses[PTX_ACCESS_LOAD][PTX_MEMORY_HOST], 1);
	CHECK_EQ(c.by_class[PTX_CLASS_LOAD], 4);
	CHECK_EQ(c.by_class[PTX_CLASS_STORE], 5);
	CHECK_EQ(c.by_class[PTX_CLASS_ATOM], 1);
}

/* The host does not know the variables of a module. */
PEAL_TEST(variables_of_the_module_are_memory_of_the_device)
{
	struct ptx_counts c = count_body("mov.u64 %rd1, variable;\n"
					 "ld.global.u64 %rd2, [%rd1];\n"
					 "mov.u64 %rd1, constant;\n"
					 "ld.const.u64 %rd2, [%rd1];\n"
					 "cvta.const.u64 %rd3, %rd1;\n"
					 "ld.u64 %rd2, [%rd3];");

	CHECK_EQ(c.accesses[PTX_ACCESS_LOAD][PTX_MEMORY_GLOBAL], 1);
	CHECK_EQ(c.accesses[PTX_ACCESS_LOAD][PTX_MEMORY_CONST], 2);
	CHECK_EQ(c.by_class[PTX_CLASS_MOVE], 3);
}

PEAL_TEST(orders_and_fences_have_scopes)
{
	struct ptx_counts c =
		count_body("ld.acquire.sys.global.u64 %rd1, [%rd0];\n"
			   "ld.relaxed.sys.global.u64 %rd1, [%rd0];\n"
			   "st.release.gpu.global.u64 [%rd0], %rd1;\n"
			   "atom.acq_rel.sys.global.add.u64 %rd2, [%rd0], 1;\n"
			   "atom.relaxed.sys.global.add.u64 %rd2, [%rd0], 1;\n"
			   "fence.acq_rel.gpu; fence.sc.sys; membar.cta;");

	CHECK_EQ(c.orders[PTX_COUNT_SYS], 2);
	CHECK_EQ(c.orders[PTX_COUNT_GPU], 1);
	CHECK_EQ(c.orders[PTX_COUNT_CTA], 0);
	CHECK_EQ(c.fences[PTX_COUNT_GPU], 1);
	CHECK_EQ(c.fences[PTX_COUNT_SYS], 1);
	CHECK_EQ(c.fences[PTX_COUNT_CTA], 1);
}

/* Lane 3 of each of two blocks stores. */
PEAL_TEST(lanes_are_counted_apart)
{
	const char *body = "mov.u32 %r1, %tid.x; setp.eq.s32 %p1, %r1, 3;\n"
			   "@!%p1 bra over; st.global.u64 [%rd0], %rd0;\n"
			   "over: bar.sync 0;";
	struct ptx_counts all = count(body, 2, 8, PTX_ALL_LANES, 1);
	struct ptx_counts third = count(body, 2, 8, 3, 1);
	struct ptx_counts other = count(body, 2, 8, 4, 1);

	CHECK_EQ(third.accesses[PTX_ACCESS_STORE][PTX_MEMORY_GLOBAL], 2);
	CHECK_EQ(other.accesses[PTX_ACCESS_STORE][PTX_MEMORY_GLOBAL], 0);
	CHECK_EQ(third.instructions, other.instructions + 2);
	CHECK_EQ(all.instructions, 7 * other.instructions + third.instructions);
}

PEAL_TEST(counts_are_zero_without_the_option)
{
	struct ptx_counts c = count("add.s32 %r1, %r2, 1;", 1, 1, 0, 0);

	CHECK_EQ(c.instructions, 0);
}

PEAL_TEST(counts_subtract)
{
	struct ptx_counts c = count_body("add.s32 %r1, %r2, 1;"), zero = c;

	ptx_counts_add(&zero, &c, -1);
	CHECK_EQ(zero.instructions, 0);
	CHECK_EQ(zero.by_class[PTX_CLASS_VALUE], 0);
	ptx_counts_add(&zero, &c, 3);
	CHECK_EQ(zero.instructions, 3);
}

PEAL_TEST_MAIN(RUN(instructions_have_classes); RUN(loop_counts_each_turn);
	       RUN(skipped_instruction_counts_once_and_makes_no_access);
	       RUN(accesses_have_the_memory_of_their_address);
	       RUN(variables_of_the_module_are_memory_of_the_device);
	       RUN(orders_and_fences_have_scopes); RUN(lanes_are_counted_apart);
	       RUN(counts_are_zero_without_the_option); RUN(counts_subtract);)
