/* SPDX-License-Identifier: Apache-2.0 */
/* labels: fast quick */
/*
 * Shows that the machine's own NVRTC compiles the embedded sources of programs,
 * even for devices that the machine lacks. test_rtc_double.c shows the
 * failures.
 */
#include <stdint.h>
#include <time.h>

#include <peal/peal.h>
#include "peal_test.h"
#include "runtime/device/image.h"
#include "runtime/device/rtc.h"
#include "runtime/device/rtc_library.h"

PEAL_DECLARE_PROGRAM(peal_probe);
PEAL_DECLARE_PROGRAM(ranks);

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Compiles a program. Checks the image as the loader does. */
static void compile_into(const struct peal_program *program, const char *target,
			 uint32_t kind, struct peali_image *image_out)
{
	struct peali_image image;
	double began = now();
	char entry[64];

	CHECK_OK(peali_rtc_compile(program, target, &image, "test"));
	printf("    %s for %s: %zu bytes, %.2f s\n", program->name, target,
	       image.bytes, now() - began);
	CHECK_EQ(image.kind, kind);
	CHECK(!strcmp(image.target, target));
	snprintf(entry, sizeof(entry), "peal_entry_%s", program->name);
	CHECK_OK(peali_image_check(&image, entry, "it", "test"));
	*image_out = image;
}

static void compile(const struct peal_program *program, const char *target,
		    uint32_t kind)
{
	struct peali_image image;

	compile_into(program, target, kind, &image);
}

PEAL_TEST(programs_compile_to_cubins_without_a_gpu)
{
	compile(&peal_program_peal_probe, "sm_90", PEAL_IMAGE_CUBIN);
}

/*
 * Code that the loop rarely runs must stay out of line, so that the loop has
 * enough registers. With all code inline a cubin was twice as large, and took
 * ten times as long.
 */
PEAL_TEST(rare_loop_code_stays_out_of_line)
{
	static const char *const seldom[] = { "peali_drop_dead",
					      "peali_ask_end", "peali_settle" };
	struct peali_image image;
	size_t i;

	if (PEAL_ASAN || PEAL_TSAN)
		return; /* sanitizers do not check NVRTC */
	compile_into(&peal_program_ranks, "sm_90", PEAL_IMAGE_CUBIN, &image);
	for (i = 0; i < sizeof(seldom) / sizeof(seldom[0]); i++)
		CHECK(memmem(image.begin, image.bytes, seldom[i],
			     strlen(seldom[i])));
}

PEAL_TEST(programs_compile_to_ptx)
{
	compile(&peal_program_peal_probe, "compute_75", PEAL_IMAGE_PTX);
}

PEAL_TEST(every_device_header_compiles_alone)
{
	const struct peal_source_file *file = peali_dialect;
	struct peal_source_file files[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
	struct peal_program program = peal_program_peal_probe;
	struct peali_image image;
	char text[256];
	int n = 0;

	if (getenv("PEAL_TEST_QUICK"))
		test_leave_out("tier 2 compiles each header");
	program.sources = files;
	files[0].name = "alone.c";
	files[0].begin = text;
	for (; file->name; file++, n++) {
		files[0].end = text + snprintf(text, sizeof(text),
					       "#include <%s>\n"
					       "#include <%s>\n"
					       "extern \"C\" __global__ void "
					       "peal_entry_peal_probe() {}\n",
					       file->name, file->name);
		CHECK_OK(peali_rtc_compile(&program, "compute_75", &image,
					   "test"));
	}
	printf("    %d headers\n", n);
	CHECK(n > 20);
}

PEAL_TEST(device_without_image_gets_compiled_cubin)
{
	struct peal_program bare = peal_program_peal_probe;
	struct peali_image image;

	bare.images = NULL;
	CHECK_OK(peali_image_choose(&bare, "sm_80", &image, "test"));
	CHECK_EQ(image.kind, PEAL_IMAGE_CUBIN);
}

PEAL_TEST(compile_error_names_the_source_line)
{
	static const char text[] = "#include <peal/device/kernel.h>\n"
				   "static PEAL_DEV int nothing(void)\n"
				   "{ return nonsense; }\n";
	const struct peal_source_file files[] = {
		{ "wrong.c", text, text + strlen(text) }, { 0, 0, 0 }
	};
	struct peal_program wrong = peal_program_peal_probe;
	struct peali_image image;

	wrong.sources = files;
	CHECK_EQ(peali_rtc_compile(&wrong, "sm_90", &image, "test"),
		 PEAL_EPROGRAM);
	CHECK_CONTAINS(peal_last_error()->text,
		       "wrong.c(3): error: identifier \"nonsense\"");
	CHECK_EQ(peali_rtc_compile(&wrong, "sm_17", &image, "test"),
		 PEAL_EPROGRAM);
	CHECK_CONTAINS(peal_last_error()->text, "sm_17");
}

int main(int argc, char **argv)
{
	const struct peali_rtc_library *library;
	char cache[] = "/tmp/peal_rtc_XXXXXX", command[96];
	int peal_cases_ = 0;

	if (!peal_program_peal_probe.sources)
		SKIP("PEAL_EMBED_SOURCES is OFF");
	if (peali_rtc_library_open("sm_90", &library, "a test", "test"))
		SKIP(peal_last_error()->text);
	printf("%s\n", peali_rtc_library_name(library));
	CHECK(mkdtemp(cache));
	setenv("PEAL_CACHE_DIR", cache, 1);
	RUN(programs_compile_to_cubins_without_a_gpu);
	RUN(programs_compile_to_ptx);
	RUN(rare_loop_code_stays_out_of_line);
	RUN(every_device_header_compiles_alone);
	RUN(device_without_image_gets_compiled_cubin);
	RUN(compile_error_names_the_source_line);
	snprintf(command, sizeof(command), "rm -rf '%s'", cache);
	CHECK_EQ(system(command), 0);
	printf("%d cases passed\n", peal_cases_);
	return peal_cases_ ? 0 : 1;
}
