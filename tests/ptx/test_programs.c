/* SPDX-License-Identifier: Apache-2.0 */
/* labels: fast quick */
/* The device code of Peal's programs loads, as nvcc compiles it. Tier 1 has one
 * program, <test>_all has all. The slices of tier 2 share them. */
#include "machine.h"

#include <glob.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault/sweep_slice.h"
#include "peal_test.h"

static const char *need(const char *variable)
{
	const char *value = getenv(variable);

	if (!value || !*value || access(value, R_OK))
		SKIP("needs nvcc and the source tree");
	return value;
}

/* Compiles a program. Returns its PTX, which the caller frees. */
static char *compile(const char *source, const char *architecture,
		     size_t *bytes_out)
{
	static char path[] = "/tmp/peal_ptx_XXXXXX";
	char command[4096];
	FILE *f;
	char *text;
	int file;

	memcpy(path + sizeof(path) - 7, "XXXXXX", 6);
	file = mkstemp(path);
	CHECK(file >= 0);
	close(file);
	snprintf(command, sizeof(command),
		 "cd '%s' && '%s' -x cu -O3 -std=c++17 -lineinfo -ptx "
		 "-arch=%s -Iinclude -I. -Itests -o %s '%s'",
		 getenv("PEAL_SOURCE_DIR"), getenv("PTX_NVCC"), architecture,
		 path, source);
	CHECK_EQ(system(command), 0);
	f = fopen(path, "r");
	CHECK(f != NULL);
	CHECK_EQ(fseek(f, 0, SEEK_END), 0);
	*bytes_out = (size_t)ftell(f);
	rewind(f);
	text = malloc(*bytes_out);
	CHECK(text != NULL);
	CHECK_EQ(fread(text, 1, *bytes_out, f), *bytes_out);
	fclose(f);
	unlink(path);
	return text;
}

static void check_program(const char *source, const char *architecture)
{
	struct ptx_error error = { 0 };
	struct ptx_module *m;
	size_t bytes;
	char *text = compile(source, architecture, &bytes);

	m = ptx_load(text, bytes, source, &error);
	if (!m)
		fprintf(stderr, "%s: %s\n", architecture, error.text);
	CHECK(m != NULL);
	CHECK(strstr(text, ".entry") != NULL);
	ptx_unload(m);
	free(text);
}

static void check_all(const char *architecture, int parity)
{
	static const char *const patterns[] = { "ringkernels/programs/*.c",
						"examples/programs/*.c",
						"tests/*/programs/*.c", NULL };
	const char *root = need("PEAL_SOURCE_DIR");
	char pattern[1024];
	glob_t found;
	size_t i, n = 0;
	int k;

	for (k = 0; patterns[k]; k++) {
		snprintf(pattern, sizeof(pattern), "%s/%s", root, patterns[k]);
		CHECK_EQ(glob(pattern, 0, NULL, &found), 0);
		for (i = 0; i < found.gl_pathc; i++, n++)
			if (is_in_slice(2 * (int)n + parity))
				check_program(found.gl_pathv[i] + strlen(root) +
						      1,
					      architecture);
		globfree(&found);
	}
	CHECK(n > 50);
}

/* `parity`: the programs of two architectures go to different slices. */
static void check_tier(const char *architecture, int parity)
{
	need("PTX_NVCC");
	take_slice();
	if (test_part(2) == 2)
		check_all(architecture, parity);
	else
		check_program("ringkernels/programs/probe.c", architecture);
}

PEAL_TEST(programs_load_for_compute_75)
{
	check_tier("compute_75", 0);
}

PEAL_TEST(programs_load_for_compute_90)
{
	check_tier("compute_90", 1);
}

PEAL_TEST_MAIN(RUN(programs_load_for_compute_75);
	       RUN(programs_load_for_compute_90);)
