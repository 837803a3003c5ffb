/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch of images is blurred by four devices, some images each. The weights of the
 * Gaussian are whole numbers that add up to 65,536: so no image becomes lighter or
 * darker, and every device computes the same bits. The handler is in
 * programs/vectors.c.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <peal/device/kernel.h>

#include "example.h"
#include "images.h"

PEAL_DECLARE_PROGRAM(vectors);

#define DEVICES 4
#define SIGMA 1.1

static uint8_t images[IMAGES][PIXELS], got[IMAGES][PIXELS];
static uint32_t weights[BLUR_TAPS];

/* The Gaussian at each tap, normalised: its whole is cut by largest remainders. */
static void make_weights(void)
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

int main(void)
{
	struct peal_runtime *runtime;
	const int devices[DEVICES] = { 0, 1, 2, 3 };
	uint64_t at[3][DEVICES];
	struct peal_argument arguments[3] = { { at[0], PIXELS, 0 },
					      { at[1], 0, sizeof(weights) },
					      { at[2], PIXELS, 0 } };
	struct peal_partition p;
	struct peal_parts parts = { .size = sizeof(parts),
				    .element_bytes = PIXELS,
				    .partition = &p,
				    .whole_device = PEAL_HOST_MEMORY,
				    .whole = (uintptr_t)images,
				    .devices = devices,
				    .parts = at[0] };
	struct peal_job job = { .size = sizeof(job),
				.handler = "blur",
				.count = IMAGES,
				.n_arguments = 3,
				.arguments = arguments,
				.parameters = &size,
				.parameter_bytes = sizeof(size),
				.partition = &p };
	struct peal_executor *executor;

	setenv("PEAL_HOST_DEVICES", "4", 0);
	runtime = open_runtime(DEVICES);
	make_weights();
	make_images(images);
	check(peal_partition_block(IMAGES, DEVICES, &p), "cut");
	for (int i = 0; i < DEVICES; i++) {
		uint64_t bytes =
			PIXELS * peal_partition_length(&p, (uint32_t)i);

		printf("device %d has %" PRIu64 " images\n", i, bytes / PIXELS);
		check(peal_memory_alloc(runtime, i, bytes, &at[0][i]), "in");
		check(peal_memory_alloc(runtime, i, sizeof(weights), &at[1][i]),
		      "weights");
		check(peal_memory_alloc(runtime, i, bytes, &at[2][i]), "out");
		check(peal_peer_copy(runtime, i, at[1][i], PEAL_HOST_MEMORY,
				     (uintptr_t)weights, sizeof(weights)),
		      "copy the weights");
	}
	check(peal_executor_create(runtime, devices, DEVICES,
				   &peal_program_vectors, NULL, &executor),
	      "make an executor");
	check(peal_scatter(runtime, &parts), "scatter");
	check(peal_execute(executor, &job, 60 * SECOND), "blur");
	parts.whole = (uintptr_t)got;
	parts.parts = at[2];
	check(peal_gather(runtime, &parts), "gather");
	for (int i = 0; i < IMAGES; i++)
		for (int k = 0; k < PIXELS; k++)
			expect(got[i][k] == reference(weights, images[i],
						      k % 96, k / 96),
			       "a pixel");
	expect(!memcmp(got[0], images[0], PIXELS), "one grey stays as it is");
	printf("%d images are blurred, each pixel as by a plain loop; one grey "
	       "stays as it is\n",
	       IMAGES);
	check(peal_executor_destroy(executor), "end the executor");
	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
