/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VECTORS_H
#define VECTORS_H

#include <peal/device/platform.h>

/* What the host sides and the kernel of 18 to 20 agree on. */

#define BLUR_REACH 2 /* pixels to each side */
#define BLUR_TAPS 25 /* (2 * BLUR_REACH + 1) squared */
#define BLUR_WHOLE 65536 /* what the weights of all taps add up to */

/* Parameters of `blur`. */
struct image_size {
	uint32_t width, height;
};

#endif
