/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMAGES_H
#define IMAGES_H

#include <stdint.h>
#include <string.h>

#include "vectors.h"

/* The images of 20_image_batch.c, and a plain loop that blurs a pixel. */

#define IMAGES 22
#define PIXELS (96 * 64)

static const struct image_size size = { 96, 64 };

/*
 * Makes the images. The first has one grey value, the others have random
 * pixels.
 */
static inline void make_images(uint8_t (*images)[PIXELS])
{
	uint32_t noise = 1;

	memset(images[0], 137, PIXELS);
	for (int i = 1; i < IMAGES; i++)
		for (int k = 0; k < PIXELS; k++) {
			noise = noise * 1664525u + 1013904223u;
			images[i][k] = (uint8_t)(noise >> 24);
		}
}

/* Returns the nearest index from 0 to end - 1. */
static inline int inside(int at, int end)
{
	return at < 0 ? 0 : at < end ? at : end - 1;
}

/* Returns the expected value of a blurred pixel. */
static inline uint8_t reference(const uint32_t *weights, const uint8_t *image,
				int x, int y)
{
	uint64_t sum = BLUR_WHOLE / 2;

	for (int i = 0; i < BLUR_TAPS; i++) {
		int px = inside(x + i % 5 - BLUR_REACH, (int)size.width);
		int py = inside(y + i / 5 - BLUR_REACH, (int)size.height);

		sum += (uint64_t)weights[i] * image[py * (int)size.width + px];
	}
	return (uint8_t)(sum / BLUR_WHOLE);
}

#endif
