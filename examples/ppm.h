/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PPM_H
#define PPM_H

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Images as files, for 28_image_files.c and make_images.c: binary PPM ("P6")
 * with three bytes per pixel.
 */

#define PPM_SIDE_MAX 16384 /* pixels */
#define PPM_CHANNELS 3

struct ppm {
	uint32_t width, height;
	uint8_t *bytes; /* width * height * PPM_CHANNELS, row by row */
};

static inline size_t ppm_bytes(const struct ppm *image)
{
	return (size_t)image->width * image->height * PPM_CHANNELS;
}

/* Ends the program with an error text. */
static inline void ppm_fail(const char *path, const char *problem)
{
	fprintf(stderr, "path '%s': %s\n", path, problem);
	exit(1);
}

/* Reads a number of the header, behind spaces and comments. */
static inline uint32_t ppm_number(FILE *file, const char *path, uint32_t most)
{
	uint32_t value = 0;
	int c = fgetc(file);

	while (c == '#' || isspace(c)) {
		while (c == '#' && (c = fgetc(file)) != '\n' && c != EOF)
			c = '#';
		c = fgetc(file);
	}
	for (; isdigit(c) && value <= most; c = fgetc(file))
		value = value * 10 + (uint32_t)(c - '0');
	if (value < 1 || value > most || !isspace(c))
		ppm_fail(path,
			 "has a wrong number in its header (allowed are "
			 "sides of 1..16384 pixels, and values of 1..255)");
	return value;
}

/* Reads an image into memory that the caller frees. Ends the program if it is no
 * such image. */
static inline void ppm_read(const char *path, struct ppm *image)
{
	FILE *file = fopen(path, "rb");

	if (!file)
		ppm_fail(path, strerror(errno));
	if (fgetc(file) != 'P' || fgetc(file) != '6')
		ppm_fail(path, "is no binary PPM (its first bytes must be P6)");
	image->width = ppm_number(file, path, PPM_SIDE_MAX);
	image->height = ppm_number(file, path, PPM_SIDE_MAX);
	ppm_number(file, path, 255);
	image->bytes = (uint8_t *)malloc(ppm_bytes(image));
	if (!image->bytes)
		ppm_fail(path, "there is no memory for its pixels");
	if (fread(image->bytes, 1, ppm_bytes(image), file) != ppm_bytes(image))
		ppm_fail(path, "ends before its last pixel");
	fclose(file);
}

/* Writes an image. Ends the program after an error. */
static inline void ppm_write(const char *path, const struct ppm *image)
{
	FILE *file = fopen(path, "wb");

	if (!file)
		ppm_fail(path, strerror(errno));
	if (fprintf(file, "P6\n%u %u\n255\n", image->width, image->height) <
		    0 ||
	    fwrite(image->bytes, 1, ppm_bytes(image), file) !=
		    ppm_bytes(image) ||
	    fclose(file))
		ppm_fail(path, strerror(errno));
}

#define PPM_PATH 4096 /* bytes of the longest path */

/* The images of a folder, in the order of their names. All have one size. */
struct ppm_folder {
	const char *path;
	uint32_t width, height;
	size_t n, bytes; /* images; bytes of an image */
	struct dirent **files;
};

/* Selects names that end with ".ppm". */
static inline int ppm_is_named(const struct dirent *entry)
{
	const char *end = strrchr(entry->d_name, '.');

	return end && !strcmp(end, ".ppm");
}

/* Writes the path of image i. Returns `path`. */
static inline const char *ppm_path(const struct ppm_folder *f, size_t i,
				   char path[PPM_PATH])
{
	if (snprintf(path, PPM_PATH, "%s/%s", f->path, f->files[i]->d_name) >=
	    PPM_PATH)
		ppm_fail(f->path, "has too long a name");
	return path;
}

/* Finds the images. Ends the program if there is none. */
static inline void ppm_find(const char *folder, struct ppm_folder *f)
{
	struct ppm first;
	char path[PPM_PATH];
	int n = scandir(folder, &f->files, ppm_is_named, alphasort);

	if (n < 0)
		ppm_fail(folder, strerror(errno));
	if (!n)
		ppm_fail(folder, "has no .ppm file; make_images writes some");
	f->path = folder;
	f->n = (size_t)n;
	ppm_read(ppm_path(f, 0, path), &first);
	f->width = first.width;
	f->height = first.height;
	f->bytes = ppm_bytes(&first);
	free(first.bytes);
}

/* Reads image i of the folder. */
static inline void ppm_load(const struct ppm_folder *f, size_t i, uint8_t *to)
{
	struct ppm image;
	char path[PPM_PATH];

	ppm_read(ppm_path(f, i, path), &image);
	if (image.width != f->width || image.height != f->height)
		ppm_fail(path, "differs in size from the first image");
	memcpy(to, image.bytes, f->bytes);
	free(image.bytes);
}

/*
 * Writes image_000.ppm and so on into a folder. All differ: gradients drift, and
 * noise adds texture. The bytes are equal on every machine.
 */
static inline void ppm_make(const char *folder, int n, uint32_t width,
			    uint32_t height)
{
	struct ppm image = { width, height, NULL };
	uint32_t noise = 1;
	char path[PPM_PATH];

	image.bytes = (uint8_t *)malloc(ppm_bytes(&image));
	if (!image.bytes)
		ppm_fail(folder, "there is no memory for an image");
	for (int i = 0; i < n; i++) {
		for (size_t k = 0; k < ppm_bytes(&image); k++) {
			size_t pixel = k / PPM_CHANNELS;

			noise = noise * 1664525u + 1013904223u;
			image.bytes[k] =
				(uint8_t)(pixel % width + pixel / width +
					  85 * (k % PPM_CHANNELS) +
					  7 * (size_t)i + (noise >> 27));
		}
		if (snprintf(path, sizeof(path), "%s/image_%03d.ppm", folder,
			     i) >= (int)sizeof(path))
			ppm_fail(folder, "has too long a name");
		ppm_write(path, &image);
	}
	free(image.bytes);
}

/* Removes the images and the folder. */
static inline void ppm_remove(struct ppm_folder *f)
{
	char path[PPM_PATH];

	for (size_t i = 0; i < f->n; i++) {
		if (unlink(ppm_path(f, i, path)))
			ppm_fail(path, strerror(errno));
		free(f->files[i]);
	}
	if (rmdir(f->path))
		ppm_fail(f->path, strerror(errno));
	free(f->files);
}

#endif
