/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handlers of 18_vector_add.c, 19_stealing.c, 20_image_batch.c,
 * 26_task_graph.c and 28_image_files.c. Each handler computes some elements of a job.
 */
#include <peal/device/grid.h>

#include "../vectors.h"

/* Adds two vectors. */
PEAL_TASK(add)
{
	const struct peal_task *t = peal_task(w);
	const float *a = (const float *)peal_task_argument(w, 0);
	const float *b = (const float *)peal_task_argument(w, 1);
	float *sum = (float *)peal_task_argument(w, 2);
	uint64_t i;

	for (i = peal_lane(w); i < t->count; i += peal_lanes(w))
		sum[i] = a[i] + b[i];
	return 0;
}

/*
 * Counts the divisors of each element's number by trying all candidates. Large
 * numbers take longer.
 */
PEAL_TASK(divide)
{
	const struct peal_task *t = peal_task(w);
	uint32_t *divisors = (uint32_t *)peal_task_argument(w, 0);
	uint64_t i;
	uint32_t n, d, found;

	for (i = peal_lane(w); i < t->count; i += peal_lanes(w)) {
		n = (uint32_t)(t->first + i);
		for (found = 0, d = 1; d <= n; d++)
			found += n % d == 0;
		divisors[i] = found;
	}
	return 0;
}

/*
 * Returns byte x of row y, blurred: the weighted mean of a channel of the pixels
 * around it. Outside of the image the nearest pixel counts.
 */
static PEAL_DEV uint8_t blurred(const uint8_t *image, struct image_size size,
				const uint32_t *weights, uint32_t x, uint32_t y)
{
	uint32_t sum = BLUR_WHOLE / 2, tap = 0, pixel;
	int dx, dy, px, py;

	for (dy = -BLUR_REACH; dy <= BLUR_REACH; dy++)
		for (dx = -BLUR_REACH; dx <= BLUR_REACH; dx++) {
			px = (int)(x / size.channels) + dx;
			py = (int)y + dy;
			px = px < 0 ? 0 : px;
			py = py < 0 ? 0 : py;
			px = px < (int)size.width ? px : (int)size.width - 1;
			py = py < (int)size.height ? py : (int)size.height - 1;
			pixel = (uint32_t)py * size.width + (uint32_t)px;
			sum += weights[tap++] *
			       image[pixel * size.channels + x % size.channels];
		}
	return (uint8_t)(sum / BLUR_WHOLE);
}

/*
 * Blurs images. A thread of the grid blurs byte x of row y. The number of the
 * image is z. An element is an image. All images use the same weights.
 */
PEAL_TASK(blur)
{
	const struct image_size size =
		*(const struct image_size *)peal_task_parameters(w);
	const uint8_t *in = (const uint8_t *)peal_task_argument(w, 0);
	const uint32_t *weights = (const uint32_t *)peal_task_argument(w, 1);
	uint8_t *out = (uint8_t *)peal_task_argument(w, 2);
	struct peal_grid g;
	int result = peal_grid_begin(w, &g);

	while (peal_grid_next(&g)) {
		uint64_t byte = (uint64_t)g.id.y * g.threads.x + g.id.x;

		out[g.at] = blurred(in + (g.at - byte), size, weights, g.id.x,
				    g.id.y);
	}
	return result;
}

#define HANDLERS(X)                                                            \
	X(add, 0, PEAL_TASKS)                                                  \
	X(divide, 0, PEAL_TASKS)                                               \
	X(blur, 0, PEAL_TASKS)
PEAL_PROGRAM(vectors, HANDLERS);
