/* SPDX-License-Identifier: Apache-2.0 */
/* Shows that programs embed the device images that the build lists. */
#include <elf.h>

#include "runtime/harness.h"

PEAL_DECLARE_PROGRAM(imaged);
PEAL_DECLARE_PROGRAM(peal_stages);

#define MACHINE_CUDA 190
#define MACHINE_AMDGPU 224

static int contains(const struct peal_image *image, const char *text)
{
	return memmem(image->begin, (size_t)(image->end - image->begin), text,
		      strlen(text)) != NULL;
}

/* Checks that an image has the format of its kind, its target and the entry. */
static void check_image(const struct peal_image *image, const char *entry)
{
	size_t bytes = (size_t)(image->end - image->begin);
	char line[64];
	Elf64_Ehdr head;

	printf("%s: %zu bytes\n", image->target, bytes);
	CHECK_EQ((uintptr_t)image->begin % 16, 0);
	CHECK(contains(image, entry));
	if (image->kind == PEAL_IMAGE_PTX) {
		snprintf(line, sizeof(line), ".target sm_%s",
			 image->target + strlen("compute_"));
		CHECK(contains(image, line));
		/* PTX is loaded as a string */
		CHECK_EQ(image->end[-1], 0);
		CHECK_EQ(strlen((const char *)image->begin), bytes - 1);
		return;
	}
	CHECK(bytes > sizeof(head));
	memcpy(&head, image->begin, sizeof(head));
	CHECK(!memcmp(head.e_ident, ELFMAG, SELFMAG));
	if (image->kind == PEAL_IMAGE_CUBIN) {
		CHECK_EQ(head.e_machine, MACHINE_CUDA);
		CHECK(contains(image, image->target));
	} else {
		CHECK_EQ(image->kind, PEAL_IMAGE_HSACO);
		CHECK_EQ(head.e_machine, MACHINE_AMDGPU);
		snprintf(line, sizeof(line), "amdgcn-amd-amdhsa--%s",
			 image->target);
		CHECK(contains(image, line));
	}
}

/*
 * Checks that the program has an image for each target of the list and no
 * other.
 */
static void check_images(const struct peal_program *program,
			 const char *targets, const char *entry)
{
	const struct peal_image *image = program->images;
	char rest[256], *target, *at = rest;

	CHECK(targets); /* set by ctest */
	snprintf(rest, sizeof(rest), "%s", targets);
	while ((target = strsep(&at, ";")) && *target) {
		CHECK(image && image->target);
		CHECK(!strcmp(image->target, target));
		check_image(image, entry);
		image++;
	}
	CHECK(!image || !image->target);
}

PEAL_TEST(library_programs_have_an_image_for_each_target)
{
	check_images(&peal_program_peal_stages, getenv("PEAL_IMAGE_TARGETS"),
		     "peal_entry_peal_stages");
}

PEAL_TEST(program_has_images_of_its_own_targets)
{
	check_images(&peal_program_imaged, getenv("PEAL_TEST_TARGETS"),
		     "peal_entry_imaged");
}

PEAL_TEST(the_runtime_lists_programs_and_images)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_program_info program;
	struct peal_image_info image;
	uint32_t i;

	CHECK_OK(peal_program_info(rt, 0, &program));
	CHECK(!strcmp(program.name, "peal_stages"));
	CHECK_EQ(program.handlers, 1);
	for (i = 0; i < program.images; i++) {
		const struct peal_image *own =
			peal_program_peal_stages.images + i - (i ? 1 : 0);

		CHECK_OK(peal_image_info(&peal_program_peal_stages, (int)i,
					 &image));
		if (i == 0) {
			CHECK(!strcmp(image.target, "host"));
			CHECK_EQ(image.bytes, 0);
			continue;
		}
		CHECK(!strcmp(image.target, own->target));
		CHECK_EQ(image.bytes, (uint64_t)(own->end - own->begin));
	}
	CHECK_FAILS(peal_image_info(&peal_program_peal_stages, (int)i, &image),
		    PEAL_ENOENT, "peal_stages");
	CHECK_FAILS(peal_image_info(&peal_program_peal_stages, -1, &image),
		    PEAL_ENOENT, "-1");
	CHECK_EQ(peal_image_info(NULL, 0, &image), PEAL_EINVAL);
	CHECK_EQ(peal_image_info(&peal_program_peal_stages, 0, NULL),
		 PEAL_EINVAL);
	CHECK_FAILS(peal_program_info(rt, 5, &program), PEAL_ENOENT,
		    "runtime: has no such program (5, allowed 0..4)");
	CHECK_EQ(peal_program_info(rt, -1, &program), PEAL_ENOENT);
	CHECK_EQ(peal_program_info(NULL, 0, &program), PEAL_EINVAL);
	CHECK_EQ(peal_program_info(rt, 0, NULL), PEAL_EINVAL);
	CHECK_OK(peal_program_add(rt, &peal_program_relay));
	CHECK_OK(peal_program_info(rt, 1, &program));
	CHECK(!strcmp(program.name, "peal_collective"));
	CHECK_OK(peal_program_info(rt, 2, &program));
	CHECK(!strcmp(program.name, "peal_graph"));
	CHECK_OK(peal_program_info(rt, 5, &program));
	CHECK(!strcmp(program.name, "relay"));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST_MAIN(RUN(library_programs_have_an_image_for_each_target);
	       RUN(program_has_images_of_its_own_targets);
	       RUN(the_runtime_lists_programs_and_images);)
