/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images of programs: cubins, code objects and PTX. The first line is the
 * target, as in sm_90, gfx90a or compute_80, and decides the kind.
 */
#include "fuzz/fuzz.h"

#include <peal/errors.h>

#include "runtime/device/image.h"

static uint32_t kind_of(const char *target)
{
	if (!strncmp(target, "sm_", 3))
		return PEAL_IMAGE_CUBIN;
	return !strncmp(target, "gfx", 3) ? PEAL_IMAGE_HSACO : PEAL_IMAGE_PTX;
}

FUZZ_TARGET(image)
{
	struct fuzz_input in = { data, size };
	char *target = fuzz_line(&in);
	void *bytes = fuzz_copy(in.at, in.left);
	struct peali_image image = { target, kind_of(target), bytes, in.left };
	int result = peali_image_check(&image, "peal_entry_made",
				       "program 'made'", "fuzz");

	FUZZ_CHECK(!result || result == PEAL_EPROGRAM);
	FUZZ_CHECK(!result || peal_last_error()->text[0]);
	if (!result)
		FUZZ_CHECK(peali_image_is_target(target) ||
			   image.kind == PEAL_IMAGE_HSACO);
	free(bytes);
	free(target);
	return 0;
}
