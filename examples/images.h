/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IMAGES_H
#define IMAGES_H

#include <math.h>
#include <stdint.h>

#include <peal/partition.h>

#include "example.h"
#include "vectors.h"

/* The weights of 20_image_batch.c and 28_image_files.c, and a plain loop. */

#define SIGMA 1.1

/*
 * Computes the weight of each tap. The partition divides BLUR_WHOLE in
 * proportion to the exact values, by largest remainders. So the weights have
 * the exact sum.
 */
static inline void make_weights(uint32_t *weights)
{
	uint64_t exact[BLUR_TAPS], sum = 0;
	struct peal_partition p;

	for (int i = 0; i < BLUR_TAPS; i++) {
		int dx = i % 5 - BLUR_REACH, dy = i / 5 - BLUR_REACH;

		exact[i] = (uint64_t)(1e9 * exp(-(dx * dx + dy * dy) /
						(2 * SIGMA * SIGMA)));
	}
	check(peal_partition_weighted(BLUR_WHOLE, exact, NULL, BLUR_TAPS, &p),
	      "normalise");
	for (uint32_t i = 0; i < BLUR_TAPS; i++) {
		weights[i] = (uint32_t)peal_partition_length(&p, i);
		sum += weights[i];
	}
	expect(sum == BLUR_WHOLE, "the sum of the weights");
}

/* Returns the nearest index from 0 to end - 1. */
static inline int inside(int at, int end)
{
	return at < 0 ? 0 : at < end ? at : end - 1;
}

/* Returns the expected value of a channel of a blurred pixel. */
static inline uint8_t reference(struct image_size size, const uint32_t *weights,
				const uint8_t *image, int x, int y, int channel)
{
	uint64_t sum = BLUR_WHOLE / 2;

	for (int i = 0; i < BLUR_TAPS; i++) {
		int px = inside(x + i % 5 - BLUR_REACH, (int)size.width);
		int py = inside(y + i / 5 - BLUR_REACH, (int)size.height);
		int pixel = py * (int)size.width + px;

		sum += (uint64_t)weights[i] *
		       image[pixel * (int)size.channels + channel];
	}
	return (uint8_t)(sum / BLUR_WHOLE);
}

/* Blurs an image by a plain loop. */
static inline void blur_image(struct image_size size, const uint32_t *weights,
			      const uint8_t *image, uint8_t *to)
{
	for (int y = 0; y < (int)size.height; y++)
		for (int x = 0; x < (int)size.width; x++)
			for (int c = 0; c < (int)size.channels; c++)
				*to++ = reference(size, weights, image, x, y,
						  c);
}

#endif
