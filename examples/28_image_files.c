/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows how much faster several devices blur the images of a folder. It uses 1,
 * 2 and 4 devices, as far as they exist. The job has a grid of 16 x 16 blocks.
 *
 *	make_images FOLDER; 28_image_files FOLDER
 *
 * Without an argument it makes nine small images. For each number of devices it
 * prints images per second and the speed-up. The time includes reading, and the
 * copies to the devices and back. All bytes must equal those of a plain loop.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <peal/device/kernel.h>
#include <peal/executor.h>
#include <peal/memory.h>
#include <peal/peer.h>

#include "images.h"
#include "ppm.h"

PEAL_DECLARE_PROGRAM(vectors);

#define DEVICES 4
#define BATCH 4 /* images of a device at a time */

static struct ppm_folder images;
static struct image_size size;
static uint8_t *expected, *whole; /* all images; those of a batch */
static uint32_t weights[BLUR_TAPS];
static int devices[DEVICES];
/* by device: input images, weights, output images */
static uint64_t at[3][DEVICES];

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void print_rate(const char *what, uint64_t ns)
{
	printf("%s: %.1f images/s", what, (double)images.n * 1e9 / (double)ns);
}

/* Blurs all images by a plain loop. */
static void blur_by_loop(void)
{
	uint64_t began = now_ns();

	for (size_t i = 0; i < images.n; i++) {
		ppm_load(&images, i, whole);
		blur_image(size, weights, whole, expected + i * images.bytes);
	}
	print_rate("plain loop", now_ns() - began);
	printf("\n");
}

/* Allocates the memory of a device and copies the weights there. */
static void prepare(struct peal_runtime *runtime, int device)
{
	const uint64_t size_of[] = { BATCH * images.bytes, sizeof(weights),
				     BATCH * images.bytes };

	devices[device] = device;
	for (int k = 0; k < 3; k++)
		check(peal_memory_alloc(runtime, device, size_of[k],
					&at[k][device]),
		      "allocate");
	check(peal_peer_copy(runtime, device, at[1][device], PEAL_HOST_MEMORY,
			     (uintptr_t)weights, sizeof(weights)),
	      "copy the weights");
}

/* Blurs a batch: `count` images from number `first` on. Returns the ns. */
static uint64_t blur_batch(struct peal_runtime *runtime,
			   struct peal_executor *executor, uint32_t n,
			   size_t first, size_t count)
{
	struct peal_job_argument arguments[] = { { at[0], images.bytes, 0 },
						 { at[1], 0, sizeof(weights) },
						 { at[2], images.bytes, 0 } };
	struct peal_partition p;
	struct peal_partition_memory parts = { .size = sizeof(parts),
					       .element_bytes =
						       (uint32_t)images.bytes,
					       .partition = &p,
					       .whole_device = PEAL_HOST_MEMORY,
					       .whole = (uintptr_t)whole,
					       .devices = devices,
					       .parts = at[0] };
	const struct peal_job job = { .size = sizeof(job),
				      .handler = "blur",
				      .dimensions = 3,
				      .grid = { size.width * PPM_CHANNELS,
						size.height, (uint32_t)count },
				      .threads_per_block = { 16, 16, 1 },
				      .n_arguments = 3,
				      .arguments = arguments,
				      .parameters = &size,
				      .parameter_bytes = sizeof(size),
				      .partition = &p };
	uint64_t began = now_ns();

	for (size_t i = 0; i < count; i++)
		ppm_load(&images, first + i, whole + i * images.bytes);
	check(peal_partition_block(count, n, &p), "cut");
	check(peal_scatter(runtime, &parts), "scatter");
	check(peal_executor_run(executor, &job, 600 * SECOND), "blur");
	parts.parts = at[2];
	check(peal_gather(runtime, &parts), "gather");
	return now_ns() - began;
}

/* Blurs all images on the first n devices. Returns the ns. */
static uint64_t blur_all(struct peal_runtime *runtime, uint32_t n)
{
	struct peal_executor *executor;
	size_t first, count, most = BATCH * n;
	uint64_t ns = 0;

	check(peal_executor_create(runtime, devices, n, &peal_program_vectors,
				   NULL, &executor),
	      "make an executor");
	for (first = 0; first < images.n; first += count) {
		count = images.n - first < most ? images.n - first : most;
		ns += blur_batch(runtime, executor, n, first, count);
		expect(!memcmp(whole, expected + first * images.bytes,
			       count * images.bytes),
		       "a blurred byte");
	}
	check(peal_executor_destroy(executor), "end the executor");
	return ns;
}

int main(int argc, char **argv)
{
	char made[] = "/tmp/peal-images-XXXXXX";
	const char *folder = argc > 1 ? argv[1] : mkdtemp(made);
	struct peal_runtime *runtime;
	uint64_t ns[DEVICES + 1] = { 0 };

	setenv("PEAL_HOST_DEVICES", "4", 0); /* emulated ones */
	expect(argc <= 2 && folder, "usage: 28_image_files [FOLDER]");
	if (argc < 2)
		ppm_make(folder, 9, 61, 43);
	ppm_find(folder, &images);
	size = (struct image_size){ images.width, images.height, PPM_CHANNELS };
	expected = malloc(images.n * images.bytes);
	whole = malloc(DEVICES * BATCH * images.bytes);
	expect(expected && whole, "there is no memory for the images");
	make_weights(weights);
	runtime = open_runtime(1);
	printf("%zu images of %u x %u\n", images.n, size.width, size.height);
	blur_by_loop();
	for (int n = 1; n <= DEVICES && n <= peal_device_count(runtime); n++) {
		prepare(runtime, n - 1);
		if (n & (n - 1)) /* 1, 2 and 4 */
			continue;
		ns[n] = blur_all(runtime, (uint32_t)n);
		printf("devices %d, ", n);
		print_rate("with copies", ns[n]);
		printf(", speed-up %.2f\n", (double)ns[1] / (double)ns[n]);
	}
	printf("each byte is as by the plain loop\n");
	if (argc < 2)
		ppm_remove(&images);
	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
