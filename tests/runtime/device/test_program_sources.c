/* SPDX-License-Identifier: Apache-2.0 */
/* Shows that programs embed their sources. The library embeds the dialect. */
#include "runtime/harness.h"

PEAL_DECLARE_PROGRAM(peal_stages);
PEAL_DECLARE_PROGRAM(peal_probe);

extern const struct peal_source_file peali_dialect[];

static const struct peal_source_file *find(const struct peal_source_file *file,
					   const char *name)
{
	for (; file && file->name; file++)
		if (!strcmp(file->name, name))
			return file;
	return NULL;
}

/* Checks that the text equals the file in the tree and ends in a zero byte. */
static void check_text(const struct peal_source_file *file, const char *path)
{
	char name[512], *text;
	FILE *in;
	size_t n;

	CHECK(getenv("PEAL_SOURCE_DIR")); /* set by ctest */
	snprintf(name, sizeof(name), "%s/%s", getenv("PEAL_SOURCE_DIR"), path);
	in = fopen(name, "r");
	CHECK(in);
	n = (size_t)(file->end - file->begin);
	text = (char *)malloc(n + 1);
	CHECK(text);
	CHECK_EQ(fread(text, 1, n + 1, in), n);
	CHECK(!memcmp(text, file->begin, n));
	CHECK_EQ(*file->end, 0);
	free(text);
	fclose(in);
}

/* Returns the bytes of all texts of a table. */
static size_t sum(const struct peal_source_file *file)
{
	size_t n = 0;

	for (; file && file->name; file++)
		n += (size_t)(file->end - file->begin);
	return n;
}

PEAL_TEST(program_embeds_source_and_included_headers)
{
	const struct peal_source_file *file = peal_program_peal_stages.sources;
	const struct peal_source_file *header;

	if (!file)
		SKIP("PEAL_EMBED_SOURCES is OFF");
	CHECK(!strcmp(file->name, "ringkernels/programs/stages.c"));
	check_text(file, "ringkernels/programs/stages.c");
	header = find(file, "ringkernels/stage_math.h");
	CHECK(header);
	check_text(header, "ringkernels/stage_math.h");
	CHECK(find(file, "ringkernels/stage_crc32c.h"));
	for (; file->name; file++) {
		printf("    %s\n", file->name);
		CHECK(strncmp(file->name, "peal/", 5) != 0);
	}
	file = peal_program_peal_probe.sources;
	CHECK(file && !strcmp(file->name, "ringkernels/programs/probe.c"));
	CHECK(find(file, "ringkernels/no_loop_program.h"));
	CHECK(!file[2].name);
}

PEAL_TEST(headers_keep_their_include_names)
{
	const struct peal_source_file *file = peal_program_relay.sources;

	CHECK(file && !strcmp(file->name, "runtime/programs/relay.c"));
	check_text(file, "tests/runtime/programs/relay.c");
	file = find(file, "../relay.h");
	CHECK(file);
	check_text(file, "tests/runtime/relay.h");
}

PEAL_TEST(library_embeds_device_headers_once)
{
	static const char *const names[] = {
		"peal/device/kernel.h", "peal/device/impl/base/atomic_cuda.h",
		"peal/abi/message.h", "peal/errors.h"
	};
	const struct peal_source_file *file;
	char path[128];
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		file = find(peali_dialect, names[i]);
		CHECK(file);
		snprintf(path, sizeof(path), "include/%s", names[i]);
		check_text(file, path);
		CHECK(!find(file + 1, names[i]));
	}
	printf("    dialect %zu bytes, stages %zu, probe %zu\n",
	       sum(peali_dialect), sum(peal_program_peal_stages.sources),
	       sum(peal_program_peal_probe.sources));
}

PEAL_TEST_MAIN(RUN(program_embeds_source_and_included_headers);
	       RUN(headers_keep_their_include_names);
	       RUN(library_embeds_device_headers_once);)
