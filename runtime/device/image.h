/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_IMAGE_H
#define PEALI_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include <peal/abi/program.h>

/*
 * Selects the image of a program that a device runs, and checks the bytes of an
 * image. Neither needs a driver.
 */

/**
 * An image that a device can load.
 *
 * `begin` is valid as long as the program. The bytes of a program file are
 * freed when the last runtime that loaded the file has closed.
 */
struct peali_image {
	const char *target; /* "sm_90", "compute_75", "gfx90a" */
	uint32_t kind; /* enum peal_image_kind */
	const unsigned char *begin;
	size_t bytes;
};

/*
 * Selects the image of a program that runs best on a device of architecture
 * `arch`, such as "sm_90" or "gfx90a". AMD's features behind a colon
 * ("gfx90a:sramecc+:xnack-") are ignored. The order of preference is:
 *
 * 1. NVIDIA: the cubin of exactly this architecture.
 * 2. NVIDIA: the cubin of the same major and the highest lower minor number.
 * 3. NVIDIA: the PTX with the highest number that is not above the device's.
 * 4. AMD: the code object of exactly this architecture.
 * 5. Both: the program's text, compiled for the architecture (rtc.h). Compiling
 *    takes seconds.
 *
 * A target with a letter runs on fewer devices: sm_90a only on 9.0, sm_100f on
 * 10.0 and later 10.x.
 *
 * Returns 0 with *out checked by peali_image_check, or PEAL_EPROGRAM. Then
 * there is no image, or the image is damaged. Without an image the error text
 * names the program, the architecture, the available targets and the remedy.
 * Thread-safe.
 */
int peali_image_choose(const struct peal_program *program, const char *arch,
		       struct peali_image *out, const char *call);

/*
 * Checks that bytes are a complete image of the given kind and target with the
 * kernel `entry`. Returns 0, or PEAL_EPROGRAM. The error text names the image
 * by `what`, as in "program 'stages'", and says where it is damaged.
 *
 * PTX has to end with a zero byte. The check never reads beyond the bytes, even
 * of malformed images. It does not check machine code. Thread-safe.
 */
int peali_image_check(const struct peali_image *image, const char *entry,
		      const char *what, const char *call);
/* Checks an image by peali_image_check with the program's entry and name. */
int peali_image_check_program(const struct peal_program *program,
			      const struct peali_image *image,
			      const char *call);

/**
 * Returns 1 if a text has the form sm_NN, compute_NN or gfxNNN, with at most 13
 * characters.
 */
int peali_image_is_target(const char *text);

#endif
