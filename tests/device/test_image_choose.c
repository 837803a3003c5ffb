/* SPDX-License-Identifier: Apache-2.0 */
/* Shows which image of a program a device runs. */
#include <peal/errors.h>

#include "device/image_maker.h"

#define MOST 8

/* A program with images for a list of targets: "compute_75 sm_80 gfx90a". */
struct made {
	struct peal_program program;
	struct peal_image images[MOST + 1];
	char text[128];
	void *bytes[MOST];
};

static void add(struct made *made, int n, char *target)
{
	struct peal_image *image = &made->images[n];
	size_t bytes = sizeof(struct maker_file);
	uint32_t number =
		(uint32_t)strtoul(strpbrk(target, "0123456789"), NULL, 10);
	char text[256];

	CHECK(n < MOST);
	image->target = target;
	if (!strncmp(target, "gfx", 3)) {
		image->kind = PEAL_IMAGE_HSACO;
		made->bytes[n] = maker_hsaco(
			MAKER_ENTRY, strcmp(target, "gfx90a") ? 0x4c : 0x3f);
	} else if (!strncmp(target, "sm_", 3)) {
		image->kind = PEAL_IMAGE_CUBIN;
		made->bytes[n] = maker_cubin(MAKER_ENTRY, number, 8);
	} else {
		image->kind = PEAL_IMAGE_PTX;
		snprintf(text, sizeof(text),
			 ".version 9.0\n.target sm_%s\n"
			 ".entry " MAKER_ENTRY "() {}\n",
			 target + strlen("compute_"));
		bytes = strlen(text) + 1;
		made->bytes[n] = maker_copy(text, bytes);
	}
	image->begin = (const unsigned char *)made->bytes[n];
	image->end = image->begin + bytes;
}

static void make(struct made *made, const char *targets)
{
	char *at, *target;
	int n = 0;

	memset(made, 0, sizeof(*made));
	made->program.name = "made";
	made->program.images = made->images;
	snprintf(made->text, sizeof(made->text), "%s", targets);
	at = made->text;
	while ((target = strsep(&at, " ")))
		add(made, n++, target);
}

static void unmake(struct made *made)
{
	int i;

	for (i = 0; i < MOST; i++)
		free(made->bytes[i]);
}

/* Checks the target that an architecture gets from the list. "": none. */
static void expect(const char *targets, const char *arch, const char *wanted)
{
	struct peali_image image;
	struct made made;
	int result;

	make(&made, targets);
	result = peali_image_choose(&made.program, arch, &image, "test");
	if (!wanted[0]) {
		CHECK_EQ(result, PEAL_EPROGRAM);
		CHECK_CONTAINS(peal_last_error()->text, "program 'made'");
		CHECK_CONTAINS(peal_last_error()->text, "no image for");
	} else {
		CHECK_OK(result);
		if (strcmp(image.target, wanted) != 0)
			fprintf(stderr, "%s of %s: %s, not %s\n", arch, targets,
				image.target, wanted);
		CHECK(!strcmp(image.target, wanted));
		CHECK(image.begin && image.bytes);
	}
	unmake(&made);
}

PEAL_TEST(nvidia_devices_get_the_nearest_image_below)
{
	const char *all = "compute_75 sm_80 sm_90 sm_100 sm_120";

	expect(all, "sm_75", "compute_75");
	expect(all, "sm_80", "sm_80");
	expect(all, "sm_86", "sm_80");
	expect(all, "sm_89", "sm_80");
	expect(all, "sm_90", "sm_90");
	expect(all, "sm_103", "sm_100");
	expect(all, "sm_110", "compute_75");
	expect(all, "sm_121", "sm_120");
	expect("sm_80 sm_86 compute_90", "sm_89", "sm_86");
	expect("sm_86 compute_75 compute_80", "sm_80", "compute_80");
	expect("sm_86", "sm_80", "");
	expect("compute_90", "sm_89", "");
	expect("gfx90a", "sm_90", "");
}

PEAL_TEST(suffixed_targets_match_fewer_devices)
{
	expect("compute_75 sm_90a", "sm_90", "sm_90a");
	expect("sm_90 sm_90a", "sm_90", "sm_90a");
	expect("compute_75 sm_100a", "sm_103", "compute_75");
	expect("compute_75 sm_100f", "sm_103", "sm_100f");
	expect("compute_75 sm_100f", "sm_110", "compute_75");
	expect("compute_75 compute_90a", "sm_90", "compute_90a");
	expect("compute_75 compute_90a", "sm_100", "compute_75");
	expect("compute_75 compute_100f", "sm_103", "compute_100f");
	expect("compute_75 compute_100f", "sm_120", "compute_75");
}

PEAL_TEST(amd_devices_get_only_their_own_target)
{
	expect("gfx90a gfx942", "gfx90a", "gfx90a");
	expect("gfx90a gfx942", "gfx90a:sramecc+:xnack-", "gfx90a");
	expect("gfx90a gfx942", "gfx942:xnack-", "gfx942");
	expect("gfx90a", "gfx90", "");
	expect("gfx90a", "gfx908", "");
}

PEAL_TEST(missing_image_error_names_targets_and_remedy)
{
	struct peali_image image;
	struct made made;

	make(&made, "sm_80 gfx942");
	CHECK_EQ(peali_image_choose(&made.program, "sm_75", &image, "test"),
		 PEAL_EPROGRAM);
	CHECK_CONTAINS(peal_last_error()->text,
		       "'made': has no image for the device (sm_75, allowed "
		       "sm_80, gfx942)");
	CHECK_EQ(peali_image_choose(&made.program, "gfx90a:xnack-", &image,
				    "test"),
		 PEAL_EPROGRAM);
	CHECK_CONTAINS(peal_last_error()->text,
		       "build it with gfx90a in PEAL_TARGETS");
	CHECK_EQ(peali_image_choose(&made.program, "", &image, "test"),
		 PEAL_EPROGRAM);
	made.program.images = NULL;
	CHECK_EQ(peali_image_choose(&made.program, "sm_80", &image, "test"),
		 PEAL_EPROGRAM);
	CHECK_CONTAINS(peal_last_error()->text,
		       "'made': has no image for the "
		       "device (sm_80, allowed that of the host)");
	unmake(&made);
}

PEAL_TEST(the_chosen_image_is_checked)
{
	struct peali_image image;
	struct made made;

	make(&made, "compute_75 sm_80");
	made.images[1].end--;
	CHECK_EQ(peali_image_choose(&made.program, "sm_80", &image, "test"),
		 PEAL_EPROGRAM);
	CHECK_CONTAINS(peal_last_error()->text,
		       "image sm_80 of program 'made': ");
	CHECK_OK(peali_image_choose(&made.program, "sm_75", &image, "test"));
	made.images[1].end = made.images[1].begin - 1;
	CHECK_EQ(peali_image_choose(&made.program, "sm_80", &image, "test"),
		 PEAL_EPROGRAM);
	CHECK_CONTAINS(peal_last_error()->text, "0 bytes");
	unmake(&made);
}

PEAL_TEST_MAIN(RUN(nvidia_devices_get_the_nearest_image_below);
	       RUN(suffixed_targets_match_fewer_devices);
	       RUN(amd_devices_get_only_their_own_target);
	       RUN(missing_image_error_names_targets_and_remedy);
	       RUN(the_chosen_image_is_checked);)
