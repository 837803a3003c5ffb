/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes images for 28_image_files: image_000.ppm and so on, with the same
 * bytes on every machine.
 *
 *	make_images FOLDER [COUNT=100] [WIDTH=1920] [HEIGHT=1080]
 */
#include "ppm.h"

#define COUNT_MAX 1000

/* Returns argument `at` as a number from 1 to `most`, or the default. */
static uint32_t number(int argc, char **argv, int at, uint32_t most,
		       uint32_t usual)
{
	char *end = NULL;
	unsigned long value;

	if (at >= argc)
		return usual;
	errno = 0;
	value = strtoul(argv[at], &end, 10);
	if (errno || !isdigit((unsigned char)argv[at][0]) || *end ||
	    value < 1 || value > most) {
		fprintf(stderr,
			"argument '%s': is no such number (allowed 1..%u)\n",
			argv[at], most);
		exit(2);
	}
	return (uint32_t)value;
}

int main(int argc, char **argv)
{
	int help = argc == 2 && !strcmp(argv[1], "--help");

	if (help || argc < 2 || argc > 5) {
		fprintf(help ? stdout : stderr,
			"usage: make_images FOLDER [COUNT=100] [WIDTH=1920] "
			"[HEIGHT=1080]\n");
		return help ? 0 : 2;
	}
	ppm_make(argv[1], (int)number(argc, argv, 2, COUNT_MAX, 100),
		 number(argc, argv, 3, PPM_SIDE_MAX, 1920),
		 number(argc, argv, 4, PPM_SIDE_MAX, 1080));
	return 0;
}
