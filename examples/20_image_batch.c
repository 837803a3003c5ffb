/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows a batch of images that all devices blur. Each device gets some of the
 * images. The job has a grid with a thread for each pixel, in blocks of 16 x 16.
 * The weights of the Gaussian filter are integers with the sum 65536.
 * So an image keeps its brightness, and all devices compute the same bits. The
 * handler is in programs/vectors.c.
 *
 * Prints the number of images of each device, then the number of images after
 * all pixels were compared.
 */
#include <inttypes.h>
#include <string.h>

#include <peal/device/kernel.h>
#include <peal/executor.h>
#include <peal/memory.h>
#include <peal/partition.h>
#include <peal/peer.h>

#include "example.h"
#include "images.h"

PEAL_DECLARE_PROGRAM(vectors);

#define IMAGES 22
#define DEVICES IMAGES /* maximum: each device has an image at least */
#define PIXELS (96 * 64)

static const struct image_size size = { 96, 64, 1 };

static uint8_t images[IMAGES][PIXELS], got[IMAGES][PIXELS];
static uint8_t expected[PIXELS];
static uint32_t weights[BLUR_TAPS];

/*
 * Makes the images. The first has one grey value, the others have random
 * pixels.
 */
static void make_images(void)
{
	uint32_t noise = 1;

	memset(images[0], 137, PIXELS);
	for (int i = 1; i < IMAGES; i++)
		for (int k = 0; k < PIXELS; k++) {
			noise = noise * 1664525u + 1013904223u;
			images[i][k] = (uint8_t)(noise >> 24);
		}
}

int main(void)
{
	struct peal_runtime *runtime;
	int devices[DEVICES], n;
	uint64_t at[3][DEVICES];
	/*
	 * The arguments of the handler: input images, weights, output images.
	 */
	struct peal_job_argument arguments[3] = { { at[0], PIXELS, 0 },
						  { at[1], 0, sizeof(weights) },
						  { at[2], PIXELS, 0 } };
	struct peal_partition p;
	struct peal_partition_memory parts = { .size = sizeof(parts),
					       .element_bytes = PIXELS,
					       .partition = &p,
					       .whole_device = PEAL_HOST_MEMORY,
					       .whole = (uintptr_t)images,
					       .devices = devices,
					       .parts = at[0] };
	struct peal_job job = { .size = sizeof(job),
				.handler = "blur",
				.dimensions = 3,
				.grid = { size.width, size.height, IMAGES },
				.threads_per_block = { 16, 16, 1 },
				.n_arguments = 3,
				.arguments = arguments,
				.parameters = &size,
				.parameter_bytes = sizeof(size),
				.partition = &p };
	struct peal_executor *executor;

	/*
	 * Emulated devices: ask for four, unless the environment says
	 * otherwise.
	 */
	setenv("PEAL_HOST_DEVICES", "4", 0);
	runtime = open_runtime(DEVICES);
	n = devices_in_use(runtime, DEVICES);
	make_weights(weights);
	make_images();
	check(peal_partition_block(IMAGES, (uint32_t)n, &p), "cut");
	/* Allocate memory on each device and copy the weights there. */
	for (int i = 0; i < n; i++) {
		uint64_t bytes =
			PIXELS * peal_partition_length(&p, (uint32_t)i);

		devices[i] = i;
		printf("device %d has %" PRIu64 " images\n", i, bytes / PIXELS);
		check(peal_memory_alloc(runtime, i, bytes, &at[0][i]), "in");
		check(peal_memory_alloc(runtime, i, sizeof(weights), &at[1][i]),
		      "weights");
		check(peal_memory_alloc(runtime, i, bytes, &at[2][i]), "out");
		check(peal_peer_copy(runtime, i, at[1][i], PEAL_HOST_MEMORY,
				     (uintptr_t)weights, sizeof(weights)),
		      "copy the weights");
	}
	check(peal_executor_create(runtime, devices, (uint32_t)n,
				   &peal_program_vectors, NULL, &executor),
	      "make an executor");
	/* Scatter the images, blur them, and gather the results. */
	check(peal_scatter(runtime, &parts), "scatter");
	check(peal_executor_run(executor, &job, 60 * SECOND), "blur");
	parts.whole = (uintptr_t)got;
	parts.parts = at[2];
	check(peal_gather(runtime, &parts), "gather");
	for (int i = 0; i < IMAGES; i++) {
		blur_image(size, weights, images[i], expected);
		expect(!memcmp(got[i], expected, PIXELS), "a pixel");
	}
	expect(!memcmp(got[0], images[0], PIXELS), "one grey stays as it is");
	printf("%d images are blurred, each pixel as by a plain loop; one grey "
	       "stays as it is\n",
	       IMAGES);
	check(peal_executor_destroy(executor), "end the executor");
	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
