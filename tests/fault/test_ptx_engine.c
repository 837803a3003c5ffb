/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that the CUDA double executes PTX by the PTX machine. A fault of a
 * program is an error of the driver with a text. Each case has a process of its
 * own, as the double reads its environment once.
 */
#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <peal/abi/control.h>
#include <peal/device.h>
#include <peal/device/impl/worker/worker.h>
#include "runtime/harness.h"

#define ENTRY(name, body)                                                      \
	".visible .entry " name "(.param .u64 p)\n{\n"                         \
	"\t.reg .pred %p1;\n\t.reg .b32 %r<5>;\n\t.reg .b64 %rd<5>;\n"         \
	"\tld.param.u64 %rd1, [p];\n" body "\tret;\n}\n"

#define PTX(entries) ".version 7.0\n.target sm_75\n.address_size 64\n" entries

/* An entry of 96 KiB of shared memory, which waits until its word is not 0. */
#define SHARED_ENTRY(name)                                                     \
	".shared .align 16 .b8 peal_shared[98304];\n" ENTRY(                   \
		name,                                                          \
		"\tmov.u32 %r1, peal_shared;\n\tst.shared.u32 [%r1], %r1;\n"   \
		"again:\n\tld.volatile.global.u32 %r1, [%rd1];\n"              \
		"\tsetp.eq.u32 %p1, %r1, 0;\n\t@%p1 bra again;\n")

static const char wide[] = PTX(SHARED_ENTRY("wide"));
/* Reads the timer 64 times, and stores the bits that are set in some value. */
static const char timer[] =
	PTX(ENTRY("timer", "\tmov.u32 %r1, 0;\n\tmov.u64 %rd3, 0;\nagain:\n"
			   "\tmov.u64 %rd2, %globaltimer;\n"
			   "\tor.b64 %rd3, %rd3, %rd2;\n"
			   "\tadd.s32 %r1, %r1, 1;\n"
			   "\tsetp.lt.u32 %p1, %r1, 64;\n\t@%p1 bra again;\n"
			   "\tst.global.u64 [%rd1], %rd3;\n"));
/* Each lane of each block stores its number. */
static const char numbers[] = PTX(
	ENTRY("numbers", "\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %ntid.x;\n"
			 "\tmov.u32 %r3, %tid.x;\n"
			 "\tmad.lo.s32 %r4, %r1, %r2, %r3;\n"
			 "\tmul.wide.u32 %rd2, %r4, 4;\n"
			 "\tadd.s64 %rd3, %rd1, %rd2;\n"
			 "\tst.global.u32 [%rd3], %r4;\n"));
static const char store[] = PTX(
	ENTRY("store", "\tmov.u32 %r1, 1;\n\tst.global.u32 [%rd1], %r1;\n"));
static const char crooked[] =
	PTX(ENTRY("crooked", "\tmov.u32 %r1, 1;\n\tadd.s64 %rd2, %rd1, 2;\n"
			     "\tst.global.u32 [%rd2], %r1;\n"));
static const char forever[] = PTX(
	ENTRY("forever", "again:\n\tld.volatile.global.u32 %r1, [%rd1];\n"
			 "\tsetp.eq.u32 %p1, %r1, 0;\n\t@%p1 bra again;\n"));
/* As `forever`, but waits for the word behind 4000 bytes. */
static const char held[] =
	PTX(ENTRY("held", "again:\n\tld.volatile.global.u32 %r1, [%rd1+4000];\n"
			  "\tsetp.eq.u32 %p1, %r1, 0;\n\t@%p1 bra again;\n"));
/* Branches on the word at its address. */
static const char judge[] = PTX(ENTRY("judge", "\tld.global.u32 %r1, [%rd1];\n"
					       "\tsetp.eq.u32 %p1, %r1, 0;\n"
					       "\t@%p1 bra end;\nend:\n"));
/* All lanes store to one word of shared memory. */
static const char crowd[] = PTX(".shared .u32 word;\n" ENTRY(
	"crowd", "\tmov.u32 %r1, 1;\n\tst.shared.u32 [word], %r1;\n"));
/* Lane 0 stores to two words without an order. Lane 1 loads the first word when
 * it sees the second one. It counts the zeros that it loads. */
static const char letters[] = PTX(ENTRY(
	"letters", "\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r2, 0;\n"
		   "\tsetp.ne.u32 %p1, %r1, 0;\n\t@%p1 bra get;\n"
		   "put:\n\tadd.s32 %r2, %r2, 1;\n"
		   "\tst.relaxed.gpu.global.u32 [%rd1], %r2;\n"
		   "\tst.relaxed.gpu.global.u32 [%rd1+256], %r2;\n"
		   "\tsetp.lt.u32 %p1, %r2, 1000;\n\t@%p1 bra put;\n"
		   "\tret;\n"
		   "get:\n\tld.relaxed.gpu.global.u32 %r3, [%rd1+256];\n"
		   "\tld.relaxed.gpu.global.u32 %r4, [%rd1];\n"
		   "\tsetp.ge.u32 %p1, %r4, %r3;\n\t@%p1 bra next;\n"
		   "\tadd.s32 %r2, %r2, 1;\n"
		   "next:\n\tsetp.lt.u32 %p1, %r3, 1000;\n\t@%p1 bra get;\n"
		   "\tst.global.u32 [%rd1+512], %r2;\n"));
/* Adds 1 to a variable and stores its value. */
static const char tally[] = PTX(".global .align 4 .u32 sum = 41;\n" ENTRY(
	"tally", "\tld.global.u32 %r1, [sum];\n"
		 "\tadd.s32 %r1, %r1, 1;\n\tst.global.u32 [sum], %r1;\n"
		 "\tst.global.u32 [%rd1], %r1;\n"));
static const char unknown[] = PTX(ENTRY("unknown", "\tfrobnicate.u32 %r1;\n"));

/* ---- calls of the driver ------------------------------------------------- */

static void *driver;
static void *stream, *module, *function;
static uint32_t *words; /* pinned */

/* Returns a function of the driver. */
static void *cu(const char *symbol)
{
	int (*find)(const char *, void **, int, uint64_t, int *);
	void *found = dlsym(driver, "cuGetProcAddress_v2");
	int status;

	memcpy(&find, &found, sizeof(found));
	CHECK_EQ(find(symbol, &found, 12000, 0, &status), 0);
	return found;
}

/* Calls a function of the driver. Yields its error. */
#define CU(symbol, types, ...)                                                 \
	({                                                                     \
		void *peal_f_ = cu(symbol);                                    \
		int(*peal_call_) types;                                        \
		memcpy(&peal_call_, &peal_f_, sizeof(peal_f_));                \
		peal_call_(__VA_ARGS__);                                       \
	})

static void open_driver(void)
{
	void *context;

	setenv("PEAL_DOUBLE_ENGINE", "ptx", 0);
	driver = dlopen("libcuda.so.1", RTLD_NOW);
	if (!driver)
		SKIP("there is no double of the driver: run it by ctest");
	CHECK_EQ(CU("cuInit", (unsigned), 0), 0);
	CHECK_EQ(CU("cuDevicePrimaryCtxRetain", (void **, int), &context, 0),
		 0);
	CHECK_EQ(CU("cuCtxPushCurrent", (void *), context), 0);
	CHECK_EQ(CU("cuStreamCreate", (void **, unsigned), &stream, 1), 0);
	CHECK_EQ(CU("cuMemHostAlloc", (void **, size_t, unsigned),
		    (void **)&words, 4096, 3),
		 0);
	memset(words, 0, 4096);
}

static int load(const char *text)
{
	return CU("cuModuleLoadData", (void **, const void *), &module, text);
}

/* Loads a module and finds its entry. */
static void find(const char *text, const char *entry)
{
	CHECK_EQ(load(text), 0);
	CHECK_EQ(CU("cuModuleGetFunction", (void **, void *, const char *),
		    &function, module, entry),
		 0);
}

/* Launches the entry with an address as its parameter. */
static void start(unsigned blocks, unsigned lanes, void *address)
{
	void *arguments[] = { &address };

	CHECK_EQ(CU("cuLaunchKernel",
		    (void *, unsigned, unsigned, unsigned, unsigned, unsigned,
		     unsigned, unsigned, void *, void **, void **),
		    function, blocks, 1, 1, lanes, 1, 1, 0, stream, arguments,
		    NULL),
		 0);
}

static void launch(const char *text, const char *entry, unsigned blocks,
		   unsigned lanes, void *address)
{
	find(text, entry);
	start(blocks, lanes, address);
}

static int query(void)
{
	return CU("cuStreamQuery", (void *), stream);
}

/* Waits until the stream has the result, 0 or an error. */
#define ENDS_WITH(result) EVENTUALLY(query() == (result))

/* ---- processes ----------------------------------------------------------- */

static char output[4096]; /* what the child wrote to stderr */

/* Runs a function in a child. Returns its exit status, as a shell does. */
static int child(void (*run)(void))
{
	size_t n = 0;
	ssize_t got;
	int ends[2], status = 0;
	pid_t pid;

	if (PEAL_TSAN)
		SKIP("a driver does not join its threads: TSan reports them");
	CHECK_EQ(pipe(ends), 0);
	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		dup2(ends[1], STDERR_FILENO);
		run();
		exit(0);
	}
	close(ends[1]);
	while (n < sizeof(output) - 1 &&
	       (got = read(ends[0], output + n, sizeof(output) - 1 - n)) > 0)
		n += (size_t)got;
	output[n] = 0;
	close(ends[0]);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	if (WEXITSTATUS(status) == 77)
		SKIP("there is no double of the driver: run it by ctest");
	return WEXITSTATUS(status);
}

#define PASSES(run)                                                            \
	do {                                                                   \
		if (child(run)) {                                              \
			fprintf(stderr, "%s", output);                         \
			exit(1);                                               \
		}                                                              \
	} while (0)

/* ---- cases --------------------------------------------------------------- */

static void run_numbers(void)
{
	uint32_t i;

	open_driver();
	launch(numbers, "numbers", 3, 8, words);
	ENDS_WITH(0);
	for (i = 0; i < 1024; i++)
		CHECK_EQ(words[i], i < 24 ? i : 0);
}

PEAL_TEST(lanes_of_all_blocks_execute_the_ptx)
{
	PASSES(run_numbers);
	CHECK_EQ(strlen(output), 0);
}

static void run_count(void)
{
	open_driver();
	launch(numbers, "numbers", 3, 8, words);
	ENDS_WITH(0);
}

/* Each lane stores a word in pinned memory. */
PEAL_TEST(kernel_prints_what_it_has_executed)
{
	setenv("PEAL_DOUBLE_COUNT", "1", 1);
	PASSES(run_count);
	unsetenv("PEAL_DOUBLE_COUNT");
	CHECK_CONTAINS(output, "{\"entry\": \"numbers\", \"device\": 0, "
			       "\"blocks\": 3, \"lanes\": 8, "
			       "\"instructions\": 216.00, ");
	CHECK_CONTAINS(output, "\"host_accesses\": 24.00");
	CHECK_CONTAINS(output, "\"global_accesses\": 0.00");
}

static void run_outside(void)
{
	/* No memory of the driver. The double reads 8 bytes of an argument. */
	static uint32_t global[2];

	open_driver();
	launch(store, "store", 1, 1, global);
	ENDS_WITH(700); /* CUDA_ERROR_ILLEGAL_ADDRESS */
	CHECK_EQ(global[0], 0);
	CHECK_EQ(load(store), 700); /* the device is lost */
}

PEAL_TEST(access_outside_of_the_drivers_memory_is_an_error)
{
	PASSES(run_outside);
	CHECK_CONTAINS(output, "PTX machine 0: fault 'bounds' of entry "
			       "'store', block 0, lane 0, in ");
}

static void run_crooked(void)
{
	open_driver();
	launch(crooked, "crooked", 1, 1, words);
	ENDS_WITH(716); /* CUDA_ERROR_MISALIGNED_ADDRESS */
}

PEAL_TEST(misaligned_access_is_an_error)
{
	PASSES(run_crooked);
	CHECK_CONTAINS(output, "fault 'alignment' of entry 'crooked'");
}

static void expect_tally(uint32_t value)
{
	start(1, 1, words);
	ENDS_WITH(0);
	CHECK_EQ(words[0], value);
}

static void run_tally(void)
{
	open_driver();
	find(tally, "tally");
	expect_tally(42);
	expect_tally(43);
	CHECK_EQ(CU("cuModuleUnload", (void *), module), 0);
	find(tally, "tally");
	expect_tally(42);
}

PEAL_TEST(variables_of_a_module_loaded_again_have_their_first_values)
{
	PASSES(run_tally);
}

static void run_unknown(void)
{
	open_driver();
	CHECK_EQ(load(unknown), 218); /* CUDA_ERROR_INVALID_PTX */
	CHECK_EQ(load("\177ELF"
		      "0123456789abcdef0123456789abcdef"
		      "0123456789abcdef0123456789abcdef"),
		 209); /* CUDA_ERROR_NO_BINARY_FOR_GPU */
}

PEAL_TEST(image_that_the_machine_cannot_execute_is_refused)
{
	PASSES(run_unknown);
	CHECK_CONTAINS(output, "frobnicate");
}

static void run_lost(void)
{
	void (*lose)(int device, int error);
	void *found;

	open_driver();
	launch(forever, "forever", 2, 4, words);
	found = dlsym(driver, "peal_driver_double_lose");
	memcpy(&lose, &found, sizeof(found));
	CHECK_EQ(query(), 600); /* CUDA_ERROR_NOT_READY */
	lose(0, 719);
	ENDS_WITH(719);
}

PEAL_TEST(lost_device_ends_its_kernels)
{
	PASSES(run_lost);
}

/* ---- the hardware -------------------------------------------------------- */

static int occupancy(size_t shared_bytes)
{
	int blocks = 0;

	CHECK_EQ(CU("cuOccupancyMaxActiveBlocksPerMultiprocessor",
		    (int *, void *, int, size_t), &blocks, function, 32,
		    shared_bytes),
		 0);
	return blocks;
}

static void run_occupancy(void)
{
	int bytes = 0;

	open_driver();
	find(wide, "wide");
	CHECK_EQ(CU("cuFuncGetAttribute", (int *, int, void *), &bytes, 1,
		    function),
		 0);
	CHECK_EQ(bytes, 98304);
	CHECK_EQ(occupancy(0), 2);
	CHECK_EQ(occupancy(65536), 1);
	CHECK_EQ(CU("cuModuleUnload", (void *), module), 0);
	find(store, "store");
	CHECK_EQ(occupancy(0), 32);
}

PEAL_TEST(shared_memory_limits_the_blocks_of_a_multiprocessor)
{
	PASSES(run_occupancy);
}

static unsigned first_blocks; /* of the first kernel of run_placement() */

/* Two multiprocessors have space for two wide blocks each. The second kernel
 * has two blocks. */
static void run_placement(void)
{
	void *second;

	open_driver();
	CHECK_EQ(CU("cuStreamCreate", (void **, unsigned), &second, 1), 0);
	launch(wide, "wide", first_blocks, 1, words);
	stream = second;
	start(2, 1, words);
	words[0] = 1;
	ENDS_WITH(0);
}

PEAL_TEST(grid_that_waits_for_resident_blocks_breaks_the_contract)
{
	setenv("PEAL_DOUBLE_UNITS", "2", 1);
	first_blocks = 2;
	PASSES(run_placement);
	first_blocks = 3;
	CHECK_EQ(child(run_placement), 128 + SIGABRT);
	unsetenv("PEAL_DOUBLE_UNITS");
	CHECK_CONTAINS(output, "some of 2 blocks on device 0 wait for resident "
			       "kernels: no multiprocessor has 1 threads");
}

static void run_watchdog(void)
{
	open_driver();
	launch(forever, "forever", 1, 1, words);
	ENDS_WITH(702); /* CUDA_ERROR_LAUNCH_TIMEOUT */
}

PEAL_TEST(watchdog_of_a_display_ends_a_long_kernel)
{
	setenv("PEAL_DOUBLE_WATCHDOG", "20", 1);
	PASSES(run_watchdog);
	unsetenv("PEAL_DOUBLE_WATCHDOG");
}

static void run_timer(void)
{
	uint64_t bits;

	open_driver();
	launch(timer, "timer", 1, 1, words);
	ENDS_WITH(0);
	memcpy(&bits, words, sizeof(bits));
	CHECK(bits > 0);
	CHECK_EQ(bits % 1024, 0);
}

PEAL_TEST(timer_advances_by_its_step)
{
	setenv("PEAL_DOUBLE_TIMER", "1024", 1);
	PASSES(run_timer);
	unsetenv("PEAL_DOUBLE_TIMER");
}

/* ---- options of the machine ---------------------------------------------- */

static uint64_t new_memory(void)
{
	uint64_t address;

	CHECK_EQ(CU("cuMemAlloc", (uint64_t *, size_t), &address, 4096), 0);
	return address;
}

static void run_undefined(void)
{
	uint64_t from, to;

	open_driver();
	from = new_memory();
	to = new_memory();
	launch(judge, "judge", 1, 1, words); /* host memory is defined */
	ENDS_WITH(0);
	CHECK_EQ(CU("cuMemsetD8Async", (uint64_t, uint8_t, size_t, void *),
		    from, 0, 4096, stream),
		 0);
	start(1, 1, (void *)(uintptr_t)from);
	ENDS_WITH(0);
	CHECK_EQ(CU("cuMemcpyAsync", (uint64_t, uint64_t, size_t, void *), to,
		    from, 4096, stream),
		 0);
	start(1, 1, (void *)(uintptr_t)to);
	ENDS_WITH(0);
	start(1, 1, (void *)(uintptr_t)new_memory());
	ENDS_WITH(719); /* CUDA_ERROR_LAUNCH_FAILED */
}

PEAL_TEST(use_of_device_memory_that_nothing_wrote_is_an_error)
{
	setenv("PEAL_DOUBLE_UNDEFINED", "1", 1);
	PASSES(run_undefined);
	unsetenv("PEAL_DOUBLE_UNDEFINED");
	CHECK_CONTAINS(output, "fault 'undefined' of entry 'judge'");
}

static void run_crowd(void)
{
	open_driver();
	launch(crowd, "crowd", 1, 4, words);
	ENDS_WITH(719);
}

PEAL_TEST(race_on_shared_memory_is_an_error)
{
	setenv("PEAL_DOUBLE_RACE", "1", 1);
	PASSES(run_crowd);
	unsetenv("PEAL_DOUBLE_RACE");
	CHECK_CONTAINS(output, "fault 'race' of entry 'crowd'");
}

static int is_weak; /* the option of the next run */

static void run_letters(void)
{
	open_driver();
	launch(letters, "letters", 1, 2, words);
	ENDS_WITH(0);
	CHECK_EQ(words[128] > 0, is_weak);
}

PEAL_TEST(stores_pass_each_other_on_weak_memory_only)
{
	PASSES(run_letters);
	is_weak = 1;
	setenv("PEAL_DOUBLE_WEAK", "1", 1);
	PASSES(run_letters);
	unsetenv("PEAL_DOUBLE_WEAK");
}

static void run_traced(void)
{
	open_driver();
	launch(store, "store", 1, 4, words);
	ENDS_WITH(0);
}

PEAL_TEST(trace_has_the_instructions_of_the_chosen_lanes)
{
	setenv("PEAL_DOUBLE_TRACE", "1", 1);
	setenv("PEAL_DOUBLE_TRACE_FROM", "1", 1);
	setenv("PEAL_DOUBLE_TRACE_TO", "2", 1);
	PASSES(run_traced);
	unsetenv("PEAL_DOUBLE_TRACE");
	unsetenv("PEAL_DOUBLE_TRACE_FROM");
	unsetenv("PEAL_DOUBLE_TRACE_TO");
	CHECK_CONTAINS(output, "PTX trace: store, block 0, lane 1, ");
	CHECK_CONTAINS(output, "PTX trace: store, block 0, lane 2, ");
	CHECK(!strstr(output, "lane 3, "));
	CHECK_CONTAINS(output, "mov.u32 %r1, 1 -> 0x1\n");
}

/* ---- kernels that do not move -------------------------------------------- */

/* Reads what the process has printed to the file of its stderr. */
static int printed(char *text, size_t bytes, const char *part)
{
	ssize_t n = pread(STDERR_FILENO, text, bytes - 1, 0);

	text[n > 0 ? n : 0] = 0;
	return strstr(text, part) != NULL;
}

/* Launches an entry as a ring kernel of one worker with two lanes. */
static void run_stall(void)
{
	static struct peal_worker_state state;
	static struct peal_ring ring = { .policy = PEAL_POLICY_ATOM16 };
	struct peal_kernel_params *p;
	int before = dup(STDERR_FILENO);
	char text[4096];

	CHECK(dup2(fileno(tmpfile()), STDERR_FILENO) >= 0);
	open_driver();
	p = (struct peal_kernel_params *)words;
	p->magic = PEAL_CONTROL_MAGIC;
	p->n_workers = 1;
	p->workers = (uintptr_t)&state;
	p->status = (uintptr_t)words + 2048;
	state.control.view.ring = (uintptr_t)&ring;
	launch(held, "held", 1, 2, words);
	EVENTUALLY(printed(text, sizeof(text), "lane 1 "));
	words[1000] = 1;
	ENDS_WITH(0);
	CHECK(write(before, text, strlen(text)) > 0);
}

PEAL_TEST(lanes_of_a_kernel_that_does_not_move_print_their_places)
{
	const char *first;

	setenv("PEAL_DOUBLE_STALL", "1", 1);
	PASSES(run_stall);
	unsetenv("PEAL_DOUBLE_STALL");
	CHECK_CONTAINS(output, "PTX machine: no worker moves for 1 s");
	CHECK_CONTAINS(output, "PTX machine 0: entry 'held', block 0, lane 0 ");
	first = strstr(output, "block 0, lane 1 ");
	CHECK(first != NULL);
	CHECK(!strstr(first + 1, "block 0, lane 1 ")); /* once */
}

static void run_device(void)
{
	struct peal_runtime *rt;
	struct peal_device_info info;

	setenv("PEAL_DOUBLE_ENGINE", "ptx", 1);
	setenv("PEAL_BACKENDS", "cuda", 1);
	rt = harness_open(1, "");
	CHECK_OK(peal_device_info(rt, 0, &info));
	CHECK_EQ(info.emulated, 0);
	CHECK_CONTAINS(info.name, "PTX machine");
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(device_is_no_emulated_one_and_has_the_machines_name)
{
	PASSES(run_device);
}

/* A wrong value ends the process with status 2 and this text. */
static void refused(const char *variable, const char *value, const char *text)
{
	setenv(variable, value, 1);
	CHECK_EQ(child(open_driver), 2);
	CHECK_CONTAINS(output, variable);
	CHECK_CONTAINS(output, text);
	unsetenv(variable);
}

PEAL_TEST(wrong_value_of_a_variable_is_refused)
{
	refused("PEAL_DOUBLE_ENGINE", "gpu",
		"names no engine (gpu, allowed host or ptx); unset it");
	refused("PEAL_DOUBLE_SEED", "1x", "is no whole number in the range");
	refused("PEAL_DOUBLE_WEAK", "2", "(2, allowed 0 to 1)");
	refused("PEAL_DOUBLE_TIMER", "-1", "(-1, allowed 0 to 1000000)");
	refused("PEAL_DOUBLE_TRACE_FILE", "/", "(/); name another one");
}

PEAL_TEST_MAIN(RUN(lanes_of_all_blocks_execute_the_ptx);
	       RUN(kernel_prints_what_it_has_executed);
	       RUN(access_outside_of_the_drivers_memory_is_an_error);
	       RUN(misaligned_access_is_an_error);
	       RUN(variables_of_a_module_loaded_again_have_their_first_values);
	       RUN(image_that_the_machine_cannot_execute_is_refused);
	       RUN(lost_device_ends_its_kernels);
	       RUN(shared_memory_limits_the_blocks_of_a_multiprocessor);
	       RUN(grid_that_waits_for_resident_blocks_breaks_the_contract);
	       RUN(watchdog_of_a_display_ends_a_long_kernel);
	       RUN(timer_advances_by_its_step);
	       RUN(use_of_device_memory_that_nothing_wrote_is_an_error);
	       RUN(race_on_shared_memory_is_an_error);
	       RUN(stores_pass_each_other_on_weak_memory_only);
	       RUN(trace_has_the_instructions_of_the_chosen_lanes);
	       RUN(lanes_of_a_kernel_that_does_not_move_print_their_places);
	       RUN(device_is_no_emulated_one_and_has_the_machines_name);
	       RUN(wrong_value_of_a_variable_is_refused);)
