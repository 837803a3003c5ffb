/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that program files load and run, and that invalid or damaged files are
 * refused.
 */
#include <dlfcn.h>
#include <elf.h>
#include <sys/stat.h>

#include "runtime/base/file.h"
#include "runtime/harness.h"

#define DIGEST_LINE_BYTES 77

static char folder[64];

/* Returns the path of a module of the build. */
static const char *module(const char *name)
{
	static char path[512];

	CHECK(getenv("PEAL_BUILD_DIR")); /* set by ctest */
	snprintf(path, sizeof(path), "%s/tests/modules/%s.so",
		 getenv("PEAL_BUILD_DIR"), name);
	return path;
}

static void check_refused(const char *path, int error, const char *part)
{
	struct peal_runtime *rt = harness_open(1, "");
	const struct peal_program *program = NULL;

	CHECK_FAILS(peal_program_load_file(rt, path, &program), error, part);
	CHECK(!program);
	CHECK_OK(peal_runtime_close(rt));
}

static struct peal_endpoint *host;

/* Launches the program. */
static void start(struct peal_runtime *rt, const struct peal_program *program)
{
	struct peal_kernel *kernel;
	uint64_t actor, here;

	CHECK_OK(peal_endpoint_create(rt, NULL, &host));
	here = peal_endpoint_address(host);
	CHECK_OK(peal_kernel_launch(rt, 0, program, NULL, &kernel));
	CHECK_OK(peal_actor_spawn(kernel, "add_one", NULL, &actor));
	CHECK_OK(peal_connect(rt, here, 0, actor, NULL, NULL));
	CHECK_OK(peal_connect(rt, actor, 0, here, NULL, NULL));
}

/* Sends a number to the program and gets the next one. */
static void answer(void)
{
	uint32_t number = 41, got = 0;
	struct peal_received received;

	CHECK_OK(
		peal_send(host, 0, 0, &number, sizeof(number), MAX_WAIT, NULL));
	CHECK_OK(peal_receive(host, &got, sizeof(got), &received, MAX_WAIT));
	CHECK_EQ(got, 42);
}

static void use(struct peal_runtime *rt, const struct peal_program *program)
{
	start(rt, program);
	answer();
}

/* Returns 1 if a module is loaded. */
static int is_loaded(const char *name)
{
	void *handle = dlopen(module(name), RTLD_LAZY | RTLD_NOLOAD);

	if (handle)
		dlclose(handle);
	return handle != NULL;
}

/* A plugin with a program: its owner gives it up while a kernel runs it. */
PEAL_TEST(program_of_a_closed_plugin_stays_loaded_until_the_runtime_closes)
{
	struct peal_runtime *rt = harness_open(1, "");
	void *plugin = dlopen(module("one"), RTLD_NOW | RTLD_LOCAL);
	const struct peal_program *program;

	CHECK(plugin);
	program =
		(const struct peal_program *)dlsym(plugin, "peal_program_one");
	CHECK(program);
	start(rt, program);
	CHECK_EQ(dlclose(plugin), 0);
	CHECK(is_loaded("one"));
	answer();
	CHECK_OK(peal_runtime_shutdown(rt));
	CHECK(!is_loaded("one"));
}

PEAL_TEST(program_added_by_a_closed_plugin_is_found)
{
	struct peal_runtime *rt = harness_open(1, "");
	void *plugin = dlopen(module("one"), RTLD_NOW | RTLD_LOCAL);
	const struct peal_program *program;

	CHECK(plugin);
	program =
		(const struct peal_program *)dlsym(plugin, "peal_program_one");
	CHECK_OK(peal_program_add(rt, program));
	CHECK_EQ(dlclose(plugin), 0);
	CHECK(peal_program_find(rt, "one") == program);
	use(rt, program);
	CHECK_OK(peal_runtime_shutdown(rt));
	CHECK(!is_loaded("one"));
}

PEAL_TEST(program_file_loads_and_runs)
{
	struct peal_runtime *rt = harness_open(1, "");
	const struct peal_program *program = NULL, *again = NULL;

	CHECK_OK(peal_program_load_file(rt, module("one"), &program));
	CHECK(!strcmp(program->name, "one"));
	CHECK(peal_program_find(rt, "one") == program);
	if (program->sources)
		CHECK(strstr(program->sources->begin, "add_one"));
	use(rt, program);
	CHECK_FAILS(peal_program_load_file(rt, module("one"), &again),
		    PEAL_EALREADY, "'one' is known already");
	CHECK(!again);
	CHECK_OK(peal_runtime_shutdown(rt));
	/* again in a new runtime, which does not know the program */
	rt = harness_open(1, "");
	CHECK(!peal_program_find(rt, "one"));
	CHECK_OK(peal_program_load_file(rt, module("one"), &program));
	use(rt, program);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(runtimes_share_a_file_and_close_separately)
{
	struct peal_runtime *a, *b;
	const struct peal_program *first, *second;

	HOST_CASE("a process has one runtime for GPUs");
	a = harness_open(1, "");
	b = harness_open(1, "");
	CHECK_OK(peal_program_load_file(a, module("one"), &first));
	CHECK_OK(peal_program_load_file(b, module("one"), &second));
	CHECK_OK(peal_runtime_close(a));
	use(b, second);
	CHECK_OK(peal_runtime_shutdown(b));
}

PEAL_TEST(invalid_program_files_are_refused)
{
	struct peal_runtime *rt = harness_open(1, "");
	const struct peal_program *program = NULL;
	char path[128];

	CHECK_EQ(peal_program_load_file(NULL, "x", &program), PEAL_EINVAL);
	CHECK_EQ(peal_program_load_file(rt, NULL, &program), PEAL_EINVAL);
	CHECK_EQ(peal_program_load_file(rt, "x", NULL), PEAL_EINVAL);
	CHECK_OK(peal_runtime_close(rt));
	check_refused("/no/such/file.so", PEAL_ENOENT, "/no/such/file.so");
	check_refused("one.so", PEAL_ENOENT, "one.so");
	check_refused(folder, PEAL_EIO, "no regular file");
	snprintf(path, sizeof(path), "%s/pipe", folder);
	CHECK(!mkfifo(path, 0600));
	check_refused(path, PEAL_EIO, "no regular file");
	check_refused("/proc/self/exe", PEAL_EPROGRAM, "");
	check_refused(module("none"), PEAL_EPROGRAM, "exports no peal_program");
	check_refused(module("two"), PEAL_EPROGRAM, "exports 2 programs (");
	CHECK_CONTAINS(peal_last_error()->text, "left");
	CHECK_CONTAINS(peal_last_error()->text, "right");
	check_refused(module("old"), PEAL_EPROGRAM, "16 bytes");
	check_refused(module("misnamed"), PEAL_EPROGRAM, "the name 'named'");
	check_refused(module("lost"), PEAL_EPROGRAM, "undefined_function");
}

PEAL_TEST(file_does_not_replace_program_of_same_name)
{
	static const struct peal_handler_info handlers[] = { { .name = "h" } };
	static struct peal_program other;
	struct peal_runtime *rt = harness_open(1, "");
	const struct peal_program *program = NULL;

	other = peal_program_relay;
	other.name = "one";
	other.handlers = handlers;
	CHECK_OK(peal_program_add(rt, &other));
	CHECK_FAILS(peal_program_load_file(rt, module("one"), &program),
		    PEAL_EEXIST, "'one'");
	CHECK(peal_program_find(rt, "one") == &other);
	CHECK_OK(peal_runtime_close(rt));
}

/* ---- damaged files ------------------------------------------------------- */

/*
 * The runtime checks files before any backend gets them. Each check reads the
 * whole file, so sanitizers use larger steps.
 */
#define SAME_EVERYWHERE HOST_CASE("files are checked before a backend has them")
#define STEP (PEAL_ASAN || PEAL_TSAN ? 29 : 1)

struct torment {
	struct peal_runtime *rt;
	char path[128];
	unsigned char *bytes;
	size_t n;
};

static void begin(struct torment *t)
{
	t->rt = harness_open(1, "");
	snprintf(t->path, sizeof(t->path), "%s/damaged.so", folder);
	t->bytes = (unsigned char *)peali_file_read(module("one"), 1u << 30,
						    &t->n);
	CHECK(t->bytes);
}

static void end(struct torment *t)
{
	CHECK_OK(peal_runtime_close(t->rt));
	free(t->bytes);
}

static void expect(struct torment *t, size_t n, const char *part)
{
	const struct peal_program *program = NULL;

	CHECK(!peali_file_write(t->path, t->bytes, n));
	CHECK_FAILS(peal_program_load_file(t->rt, t->path, &program),
		    PEAL_EPROGRAM, part);
	CHECK(!program);
}

static void flip(struct torment *t, size_t at, unsigned char mask)
{
	t->bytes[at] ^= mask;
	expect(t, t->n, t->path);
	t->bytes[at] ^= mask;
}

PEAL_TEST(truncated_program_file_is_refused)
{
	struct torment t;
	size_t n;

	SAME_EVERYWHERE;
	begin(&t);
	for (n = 0; n < 80; n++)
		expect(&t, n, t.path);
	for (; n < t.n; n += 8009 * STEP)
		expect(&t, n, t.path);
	for (n = t.n - DIGEST_LINE_BYTES - 8; n < t.n; n += STEP)
		expect(&t, n, t.path);
	/* as after `strip` */
	expect(&t, t.n - DIGEST_LINE_BYTES, "no digest");
	end(&t);
}

PEAL_TEST(program_file_with_changed_byte_is_refused)
{
	unsigned long long seed = 11;
	Elf64_Ehdr head;
	struct torment t;
	size_t i;

	SAME_EVERYWHERE;
	begin(&t);
	memcpy(&head, t.bytes, sizeof(head));
	for (i = 0; i < sizeof(head); i++) {
		flip(&t, i, 0x01);
		flip(&t, i, 0xff);
	}
	for (i = 0; i < (size_t)head.e_phnum * head.e_phentsize; i += STEP)
		flip(&t, head.e_phoff + i, 0x10);
	for (i = 0; i < (size_t)head.e_shnum * head.e_shentsize; i += 16)
		flip(&t, head.e_shoff + i, 0x21);
	for (i = t.n - DIGEST_LINE_BYTES; i < t.n; i += STEP)
		flip(&t, i, 0x02);
	for (i = 0; i < 210 / STEP; i++)
		flip(&t, test_random(&seed) % t.n,
		     (unsigned char)(1u << test_random(&seed) % 8));
	end(&t);
}

PEAL_TEST(program_file_of_other_processor_is_named)
{
	Elf64_Half machine = EM_S390;
	struct torment t;

	SAME_EVERYWHERE;
	begin(&t);
	memcpy(t.bytes + offsetof(Elf64_Ehdr, e_machine), &machine,
	       sizeof(machine));
	expect(&t, t.n, "is for ELF machine 22");
	end(&t);
}

PEAL_TEST(digest_equals_sha256sum)
{
	static const size_t lengths[] = { 0, 1, 55, 56, 63, 64, 65, 119, 4096 };
	const struct peal_program *program = NULL;
	char command[2048];
	struct torment t;
	size_t i;

	SAME_EVERYWHERE;
	begin(&t);
	/* The same content with a digest by sha256sum is the same file. */
	CHECK(!peali_file_write(t.path, t.bytes, t.n - DIGEST_LINE_BYTES));
	snprintf(command, sizeof(command),
		 "printf 'peal-sha256:%%.64s\\n' \"$(sha256sum <%s)\" >>%s && "
		 "cmp -s %s %s",
		 t.path, t.path, t.path, module("one"));
	CHECK_EQ(system(command), 0);
	/* A longer file with a new digest loads, for all these lengths. */
	t.bytes = (unsigned char *)realloc(t.bytes, t.n + 8192);
	CHECK(t.bytes);
	memset(t.bytes + t.n - DIGEST_LINE_BYTES, 'x', 8192);
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		CHECK(!peali_file_write(t.path, t.bytes,
					t.n - DIGEST_LINE_BYTES + lengths[i]));
		snprintf(command, sizeof(command),
			 "printf 'peal-sha256:%%.64s\\n' "
			 "\"$(sha256sum <%s)\" >>%s",
			 t.path, t.path);
		CHECK_EQ(system(command), 0);
		program = NULL;
		CHECK_OK(peal_program_load_file(t.rt, t.path, &program));
		CHECK_OK(peal_runtime_close(t.rt));
		t.rt = harness_open(1, "");
	}
	end(&t);
}

static void clean(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	if (system(command))
		fprintf(stderr, "cannot remove %s\n", folder);
}

static void make_folder(void)
{
	snprintf(folder, sizeof(folder), "/tmp/peal_file_XXXXXX");
	CHECK(mkdtemp(folder));
	atexit(clean);
}

PEAL_TEST_MAIN(
	make_folder(); RUN(program_file_loads_and_runs);
	RUN(program_of_a_closed_plugin_stays_loaded_until_the_runtime_closes);
	RUN(program_added_by_a_closed_plugin_is_found);
	RUN(runtimes_share_a_file_and_close_separately);
	RUN(invalid_program_files_are_refused);
	RUN(file_does_not_replace_program_of_same_name);
	RUN(truncated_program_file_is_refused);
	RUN(program_file_with_changed_byte_is_refused);
	RUN(program_file_of_other_processor_is_named);
	RUN(digest_equals_sha256sum);)
