/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows compilation at run time, with a double of NVRTC. Its results are
 * checked, used and saved, and its failures are reported. Each case runs in a
 * process of its own, where the loader finds the double.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <peal/peal.h>
#include "peal_test.h"
#include "runtime/base/file.h"
#include "runtime/device/image.h"
#include "runtime/device/rtc.h"

PEAL_DECLARE_PROGRAM(peal_stages);
PEAL_DECLARE_PROGRAM(peal_probe);
PEAL_DECLARE_PROGRAM(relay);

#define CALL "test"

static int compilations(void)
{
	void *handle = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_NOLOAD);
	int (*count)(void);

	if (!handle)
		return 0;
	*(void **)(void *)&count = dlsym(handle, "double_nvrtc_compilations");
	CHECK(count); /* only the double has it */
	dlclose(handle);
	return count();
}

/* A program without images, so that every device needs its text. */
static struct peal_program bare(const struct peal_program *program)
{
	struct peal_program copy = *program;

	copy.images = NULL;
	return copy;
}

static void check_image(const struct peali_image *image, const char *target,
			uint32_t kind)
{
	CHECK(!strcmp(image->target, target));
	CHECK_EQ(image->kind, kind);
	CHECK_EQ((uintptr_t)image->begin % 16, 0);
	CHECK_OK(peali_image_check(image, "peal_entry_relay", "it", CALL));
}

static void check_fails(const char *mode, const char *part)
{
	struct peali_image image;

	setenv("DOUBLE_NVRTC", mode, 1);
	CHECK_EQ(peali_rtc_compile(&peal_program_relay, "sm_70", &image, CALL),
		 PEAL_EPROGRAM);
	CHECK_CONTAINS(peal_last_error()->text, "program 'relay'");
	CHECK_CONTAINS(peal_last_error()->text, part);
	unsetenv("DOUBLE_NVRTC");
}

/* Finds the only saved file. */
static void kept_path(char *path, size_t bytes)
{
	struct dirent *entry;
	DIR *folder;
	int n = 0;
	char name[512];

	snprintf(name, sizeof(name), "%s/images", getenv("PEAL_CACHE_DIR"));
	folder = opendir(name);
	CHECK(folder);
	while ((entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		CHECK_CONTAINS(entry->d_name, "relay-sm_70-");
		snprintf(path, bytes, "%s/%s", name, entry->d_name);
		n++;
	}
	closedir(folder);
	CHECK_EQ(n, 1);
}

/* ---- cases --------------------------------------------------------------- */

PEAL_TEST(device_without_image_gets_compiled_ptx)
{
	struct peal_program program = bare(&peal_program_relay);
	struct peali_image image, again;

	CHECK_OK(peali_image_choose(&program, "sm_70", &image, CALL));
	check_image(&image, "compute_70", PEAL_IMAGE_PTX);
	CHECK_EQ(compilations(), 2); /* the cubin was refused */
	CHECK_OK(peali_image_choose(&program, "sm_70", &again, CALL));
	CHECK(again.begin == image.begin);
	CHECK_EQ(compilations(), 2);
	CHECK_OK(peali_rtc_compile(&program, "compute_75", &image, CALL));
	check_image(&image, "compute_75", PEAL_IMAGE_PTX);
	CHECK_EQ(compilations(), 3);
	setenv("DOUBLE_NVRTC", "cubin", 1);
	CHECK_OK(peali_image_choose(&program, "sm_90", &image, CALL));
	check_image(&image, "sm_90", PEAL_IMAGE_CUBIN);
	CHECK_EQ(compilations(), 4);
}

PEAL_TEST(embedded_sources_are_complete)
{
	struct peal_program program = bare(&peal_program_relay);
	struct peal_source_file files[2] = { program.sources[0], { 0, 0, 0 } };
	struct peali_image image;

	CHECK_OK(peali_rtc_compile(&peal_program_peal_stages, "sm_70", &image,
				   CALL));
	CHECK_OK(peali_rtc_compile(&peal_program_peal_probe, "sm_70", &image,
				   CALL));
	CHECK_OK(peali_rtc_compile(&program, "sm_70", &image, CALL));
	program.sources = files; /* the double finds the missing file */
	CHECK_EQ(peali_rtc_compile(&program, "sm_70", &image, CALL),
		 PEAL_EPROGRAM);
	CHECK_CONTAINS(peal_last_error()->text,
		       "cannot open source file \"../gate.h\"");
}

PEAL_TEST(next_process_uses_the_cached_image)
{
	struct peal_program program = bare(&peal_program_relay);
	struct peali_image image;

	CHECK_OK(peali_image_choose(&program, "sm_70", &image, CALL));
	check_image(&image, "compute_70", PEAL_IMAGE_PTX);
	CHECK_EQ(compilations(), 0);
}

/* Runs after the case above, with a damaged file. */
PEAL_TEST(damaged_cache_file_is_recompiled)
{
	struct peali_image image;

	CHECK_OK(peali_rtc_compile(&peal_program_relay, "sm_70", &image, CALL));
	check_image(&image, "compute_70", PEAL_IMAGE_PTX);
	CHECK_EQ(compilations(), 2);
}

PEAL_TEST(compile_failures_are_reported)
{
	struct peali_image image;

	check_fails("create", "cannot start (error 2)");
	check_fails("error", "does not compile for sm_70 by NVRTC 13.99: "
			     "runtime/programs/relay.c(7): error: identifier "
			     "\"nonsense\" is undefined nonsense;");
	CHECK_EQ(peal_last_error()->driver_code, 6);
	check_fails("silent", "the compiler gives no reason");
	check_fails("garbage", "it is no PTX");
	check_fails("short", "braces");
	check_fails("nothing", "the output is empty");
	/* no result of a failure was saved */
	CHECK_OK(peali_rtc_compile(&peal_program_relay, "sm_70", &image, CALL));
	check_image(&image, "compute_70", PEAL_IMAGE_PTX);
}

PEAL_TEST(missing_library_function_is_named)
{
	check_fails("", "libnvrtc.so.13 has no function nvrtcCreateProgram");
}

PEAL_TEST(missing_compiler_error_names_searched_libraries)
{
	struct peali_image image;

	if (dlopen("libhiprtc.so", RTLD_NOW))
		return; /* this machine has hipRTC */
	CHECK_EQ(peali_rtc_compile(&peal_program_relay, "gfx1201", &image,
				   CALL),
		 PEAL_EPROGRAM);
	CHECK_CONTAINS(peal_last_error()->text,
		       "program 'relay' cannot be compiled for gfx1201: "
		       "install ROCm's hipRTC, or build the program for "
		       "this target; not "
		       "found: libhiprtc.so, libhiprtc.so.7");
}

PEAL_TEST(unwritable_image_cache_is_no_error)
{
	struct peali_image image;

	setenv("PEAL_CACHE_DIR", "/proc/no/such/folder", 1);
	CHECK_OK(peali_rtc_compile(&peal_program_relay, "sm_70", &image, CALL));
	check_image(&image, "compute_70", PEAL_IMAGE_PTX);
}

static void *compile_one(void *out)
{
	CHECK_OK(peali_rtc_compile(&peal_program_relay, "sm_70",
				   (struct peali_image *)out, CALL));
	return NULL;
}

PEAL_TEST(threads_share_one_compilation)
{
	struct peali_image images[4];
	pthread_t threads[4];
	int i;

	for (i = 0; i < 4; i++)
		CHECK(!pthread_create(&threads[i], NULL, compile_one,
				      &images[i]));
	for (i = 0; i < 4; i++) {
		CHECK(!pthread_join(threads[i], NULL));
		CHECK(images[i].begin == images[0].begin);
	}
	CHECK_EQ(compilations(), 2);
}

PEAL_TEST(program_compile_returns_image_info)
{
	struct peal_program broken = peal_program_relay;
	struct peal_image_info info;
	struct peal_runtime *rt;

	CHECK_OK(peal_runtime_open(NULL, &rt));
	CHECK_OK(peal_program_compile(rt, &peal_program_relay, "compute_75",
				      &info));
	CHECK(!strcmp(info.target, "compute_75"));
	CHECK(!strcmp(info.kind, "ptx"));
	CHECK(info.bytes > 0);
	CHECK_EQ(peal_program_compile(NULL, &broken, "sm_90", &info),
		 PEAL_EINVAL);
	CHECK_EQ(peal_program_compile(rt, NULL, "sm_90", &info), PEAL_EINVAL);
	CHECK_EQ(peal_program_compile(rt, &broken, NULL, &info), PEAL_EINVAL);
	CHECK_EQ(peal_program_compile(rt, &broken, "sm_90", NULL), PEAL_EINVAL);
	CHECK_EQ(peal_program_compile(rt, &broken, "sm_9", &info),
		 PEAL_EPROGRAM);
	CHECK_CONTAINS(peal_last_error()->text,
		       "'sm_9': is no target of a "
		       "program (sm_9, allowed sm_NN, compute_NN or gfxNNN)");
	CHECK_EQ(peal_program_compile(rt, &broken, "../../gfx90a", &info),
		 PEAL_EPROGRAM);
	broken.sources = NULL;
	CHECK_EQ(peal_program_compile(rt, &broken, "sm_90", &info),
		 PEAL_EPROGRAM);
	CHECK_CONTAINS(peal_last_error()->text, "PEAL_EMBED_SOURCES");
	broken.size--;
	CHECK_EQ(peal_program_compile(rt, &broken, "sm_90", &info),
		 PEAL_EPROGRAM);
	CHECK_OK(peal_runtime_close(rt));
}

/* ---- processes ----------------------------------------------------------- */

static char cache[64];

/* Runs one case in a process that loads the double of `folder`. */
static void in_process(const char *name, const char *folder)
{
	char path[512], *arguments[] = { (char *)"case",
					 (char *)(uintptr_t)name, NULL };
	int status;
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child) {
		snprintf(path, sizeof(path), "%s/tests/fault/%s",
			 getenv("PEAL_BUILD_DIR"), folder);
		setenv("LD_LIBRARY_PATH", path, 1);
		setenv("PEAL_TEST_CASE", "1", 1);
		execv("/proc/self/exe", arguments);
		_exit(9);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 0);
}

static void clear_cache(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf '%s'/images", cache);
	CHECK_EQ(system(command), 0);
}

/*
 * Damages the saved file in several ways. Each time the next process saves a
 * whole one.
 */
static void damage(void)
{
	unsigned char *bytes;
	char path[1024];
	size_t n, i, cuts[] = { 0, 10, 64, 80 };
	size_t flips[] = { 0, 9, 17, 25, 33, 41, 64, 100 };

	kept_path(path, sizeof(path));
	bytes = (unsigned char *)peali_file_read(path, 1u << 20, &n);
	CHECK(bytes && n > 101);
	for (i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		CHECK(!peali_file_write(path, bytes, cuts[i]));
		in_process("damaged_cache_file_is_recompiled", "whole");
		in_process("next_process_uses_the_cached_image", "whole");
	}
	for (i = 0; i < sizeof(flips) / sizeof(flips[0]); i++) {
		bytes[flips[i]] ^= 0x11;
		CHECK(!peali_file_write(path, bytes, n));
		in_process("damaged_cache_file_is_recompiled", "whole");
		bytes[flips[i]] ^= 0x11;
	}
	CHECK(!unlink(path) && !mkdir(path, 0700)); /* a folder in its place */
	in_process("damaged_cache_file_is_recompiled", "whole");
	CHECK(!rmdir(path));
	free(bytes);
}

static int run_all(void)
{
	static const char *const alone[] = {
		"embedded_sources_are_complete",
		"compile_failures_are_reported",
		"missing_compiler_error_names_searched_libraries",
		"unwritable_image_cache_is_no_error",
		"threads_share_one_compilation",
		"program_compile_returns_image_info",
		"device_without_image_gets_compiled_ptx"
	};
	size_t i;

	CHECK(getenv("PEAL_BUILD_DIR")); /* run by ctest */
	snprintf(cache, sizeof(cache), "/tmp/peal_rtc_XXXXXX");
	CHECK(mkdtemp(cache));
	setenv("PEAL_CACHE_DIR", cache, 1);
	unsetenv("DOUBLE_NVRTC");
	in_process("missing_library_function_is_named", "partial");
	for (i = 0; i < sizeof(alone) / sizeof(alone[0]); i++) {
		in_process(alone[i], "whole");
		clear_cache();
	}
	in_process("damaged_cache_file_is_recompiled",
		   "whole"); /* makes the file */
	in_process("next_process_uses_the_cached_image", "whole");
	damage();
	clear_cache();
	CHECK(!rmdir(cache));
	return 0;
}

int main(int argc, char **argv)
{
	int peal_cases_ = 0;

	if (!peal_program_relay.sources || !peali_dialect->name)
		SKIP("PEAL_EMBED_SOURCES is OFF");
	if (!getenv("PEAL_TEST_CASE"))
		return run_all();
	RUN(device_without_image_gets_compiled_ptx);
	RUN(embedded_sources_are_complete);
	RUN(next_process_uses_the_cached_image);
	RUN(damaged_cache_file_is_recompiled);
	RUN(compile_failures_are_reported);
	RUN(missing_library_function_is_named);
	RUN(missing_compiler_error_names_searched_libraries);
	RUN(unwritable_image_cache_is_no_error);
	RUN(threads_share_one_compilation);
	RUN(program_compile_returns_image_info);
	return peal_cases_ == 1 ? 0 : 1;
}
