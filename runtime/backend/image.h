/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_IMAGE_H
#define PEALI_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include <peal/abi/program.h>

/*
 * Which image of a program a device runs, and whether bytes are such an image:
 * what there is to say of both without a driver.
 */

/** An image that a device can load; `begin` stays valid as long as its program,
 * and that of a file is gone when the last runtime that loaded it has closed. */
struct peali_image {
	const char *target; /* "sm_90", "compute_75", "gfx90a" */
	uint32_t kind; /* enum peal_image_kind */
	const unsigned char *begin;
	size_t bytes;
};

/*
 * The image of a program that runs best on a device of that architecture,
 * "sm_90" or "gfx90a"; what AMD puts behind a colon ("gfx90a:sramecc+:xnack-")
 * does not count. In this order:
 *
 *	NVIDIA	the cubin of exactly it; that of the same major number and the
 *		highest minor one below; the PTX of the highest number that is
 *		not above. A target with a letter is for fewer devices: sm_90a
 *		for 9.0 alone, sm_100f for 10.0 and above, but not for 11.0.
 *	AMD	the code object of exactly it
 *	both	else the program's text, compiled for it (rtc.h): takes seconds
 *
 * 0 with *out checked by peali_image_check, or PEAL_EPROGRAM: there is none, and
 * the text names the program, the architecture, the targets there are and what
 * to do; or it is damaged. Thread-safe.
 */
int peali_image_choose(const struct peal_program *program, const char *arch,
		       struct peali_image *out, const char *call);

/*
 * Whether bytes are an image of that kind and target, whole enough to hand to a
 * driver, which has the kernel `entry`: 0, or PEAL_EPROGRAM with what is wrong
 * and where. `what` names it in the text, as in "program 'stages'". PTX has to
 * end with a zero byte. Reads nothing beyond the bytes, whatever they are; does
 * not look at machine code. Thread-safe.
 */
int peali_image_check(const struct peali_image *image, const char *entry,
		      const char *what, const char *call);
/* The same for a program's image: its entry, its name. */
int peali_image_check_program(const struct peal_program *program,
			      const struct peali_image *image,
			      const char *call);

/** Whether a text is sm_NN, compute_NN or gfxNNN, short enough for a name. */
int peali_image_is_target(const char *text);

#endif
