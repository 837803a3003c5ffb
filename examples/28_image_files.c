/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows how much faster several devices blur the images of a folder. It uses 1,
 * 2 and 4 devices. With fewer than 4 it ends with all devices. The job has a
 * grid of 16 x 16 blocks. One call copies the images to the devices, blurs them
 * and copies them back.
 *
 *	make_images FOLDER; 28_image_files FOLDER
 *
 * Without an argument it makes nine small images. For each number of devices it
 * prints images per second, the speed-up, and where the images were blurred.
 * The time includes reading, and the copies to the devices and back. All bytes
 * must equal those of a plain loop.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <peal/device/kernel.h>
#include <peal/executor_arrays.h>

#include "images.h"
#include "ppm.h"

PEAL_DECLARE_PROGRAM(vectors);

#define DEVICES 4

static struct ppm_folder images;
static struct image_size size;
static uint8_t *expected, *whole; /* all images */
static uint32_t weights[BLUR_TAPS];
static const int devices[DEVICES] = { 0, 1, 2, 3 };

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

/* Prints where the images were blurred. */
static void print_ranges(struct peal_executor *executor)
{
	struct peal_executor_range range = { 0 };

	for (uint64_t i = 0; range.first + range.count < images.n; i++) {
		check(peal_executor_arrays_range(executor, i, &range),
		      "ask for a range");
		printf("  device %d: images %" PRIu64 " to %" PRIu64 "\n",
		       range.device, range.first,
		       range.first + range.count - 1);
	}
}

/* Blurs all images on the first n devices. Returns the ns. */
static uint64_t blur_all(struct peal_runtime *runtime, uint32_t n)
{
	/* the images, the weights for each device, and the blurred images */
	const struct peal_executor_array arrays[] = {
		{ .input = whole, .element_bytes = images.bytes },
		{ .input = weights, .bytes = sizeof(weights) },
		{ .output = whole, .element_bytes = images.bytes },
	};
	const struct peal_job job = { .size = sizeof(job),
				      .handler = "blur",
				      .schedule = PEAL_SCHEDULE_MEMORY,
				      .dimensions = 3,
				      .grid = { size.width * PPM_CHANNELS,
						size.height,
						(uint32_t)images.n },
				      .threads_per_block = { 16, 16, 1 },
				      .parameters = &size,
				      .parameter_bytes = sizeof(size) };
	struct peal_executor *executor;
	uint64_t began, ns;

	check(peal_executor_create(runtime, devices, n, &peal_program_vectors,
				   NULL, &executor),
	      "make an executor");
	began = now_ns();
	for (size_t i = 0; i < images.n; i++)
		ppm_load(&images, i, whole + i * images.bytes);
	check(peal_executor_arrays_run(executor, &job, arrays, 3, 600 * SECOND),
	      "blur");
	ns = now_ns() - began;
	expect(!memcmp(whole, expected, images.n * images.bytes),
	       "a blurred byte");
	printf("devices %u, ", n);
	print_rate("with copies", ns);
	printf("\n");
	print_ranges(executor);
	check(peal_executor_destroy(executor), "end the executor");
	return ns;
}

int main(int argc, char **argv)
{
	char made[] = "/tmp/peal-images-XXXXXX";
	const char *folder = argc > 1 ? argv[1] : mkdtemp(made);
	struct peal_runtime *runtime;
	uint64_t ns[DEVICES + 1] = { 0 };
	int most;

	setenv("PEAL_HOST_DEVICES", "4", 0); /* emulated ones */
	expect(argc <= 2 && folder, "usage: 28_image_files [FOLDER]");
	if (argc < 2)
		ppm_make(folder, 9, 61, 43);
	ppm_find(folder, &images);
	size = (struct image_size){ images.width, images.height, PPM_CHANNELS };
	expected = malloc(images.n * images.bytes);
	whole = malloc(images.n * images.bytes);
	expect(expected && whole, "there is no memory for the images");
	make_weights(weights);
	runtime = open_runtime(DEVICES);
	most = devices_in_use(runtime, DEVICES);
	printf("%zu images of %u x %u\n", images.n, size.width, size.height);
	blur_by_loop();
	for (int n = 1, last = 0; n != last;) {
		ns[n] = blur_all(runtime, (uint32_t)n);
		printf("  speed-up %.2f\n", (double)ns[1] / (double)ns[n]);
		last = n;
		n = 2 * n < most ? 2 * n : most;
	}
	printf("each byte is as by the plain loop\n");
	if (argc < 2)
		ppm_remove(&images);
	check(peal_runtime_shutdown(runtime), "shut down");
	return 0;
}
