/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VECTORS_H
#define VECTORS_H

#include <peal/device/platform.h>

/*
 * Constants and types that 18_vector_add.c, 19_stealing.c, 20_image_batch.c,
 * 28_image_files.c and programs/vectors.c share.
 */

#define BLUR_REACH 2 /* pixels on each side of the center */
#define BLUR_TAPS 25 /* (2 * BLUR_REACH + 1) squared */
#define BLUR_WHOLE 65536 /* sum of the weights of all taps */

/* Parameters of `blur`. */
struct image_size {
	uint32_t width, height; /* pixels */
	uint32_t channels; /* bytes of a pixel, 1 or more */
};

#endif
