/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a test clip with the same bytes on every machine: YUV4MPEG2, 4:2:0, 30
 * frames per second. Gradients drift, and discs move over them. A checked
 * stripe and noise add edges and texture. All frames differ.
 *
 *	make_clip OUT.y4m|- [FRAMES=120] [WIDTH=640] [HEIGHT=480]
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIDE_MAX 16384
#define FRAMES_MAX 1000000
#define DISCS 5

struct clip {
	long frames;
	long width;
	long height;
	uint32_t noise; /* state of the random generator */
	unsigned char *planes;
};

/* xorshift32: short code, and equal results on every machine. */
static uint32_t next_noise(struct clip *clip)
{
	uint32_t x = clip->noise;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return clip->noise = x;
}

/*
 * Returns the position at time t of a point that moves from 0 to n - 1 and
 * back.
 */
static long bounce(long t, long n)
{
	long period = n > 1 ? 2 * (n - 1) : 1;

	t %= period;
	return t < n ? t : period - t;
}

/* Returns the luma of the disc that covers a pixel, or -1. */
static int disc_at(const struct clip *clip, long frame, long x, long y)
{
	for (long i = 0; i < DISCS; i++) {
		long radius = (clip->height / 16) * (i + 1) / 2 + 2;
		long dx = x - bounce(frame * (3 + i) + 97 * i, clip->width);
		long dy = y - bounce(frame * (2 + i) + 61 * i, clip->height);

		if (dx * dx + dy * dy < radius * radius)
			return (int)(40 + 45 * i);
	}
	return -1;
}

/* Returns the luma of a pixel: a gradient, a stripe or a disc, then noise. */
static unsigned char luma_at(struct clip *clip, long frame, long x, long y)
{
	long stripe = bounce(frame * 2, clip->height);
	long value =
		(x * 160 / clip->width + y * 64 / clip->height + frame * 3) &
		511;
	int disc = disc_at(clip, frame, x, y);

	value = value > 255 ? 511 - value : value;
	if (y >= stripe && y < stripe + clip->height / 12)
		value = ((x + frame) / 8 + y / 8) & 1 ? 230 : 25;
	if (disc >= 0)
		value = disc;
	value += (long)(next_noise(clip) >> 28) - 8;
	return (unsigned char)(value < 16 ? 16 : value > 235 ? 235 : value);
}

/* Fills the planes with a frame. Returns their size in bytes. */
static size_t draw(struct clip *clip, long frame)
{
	unsigned char *p = clip->planes;
	long across = (clip->width + 1) / 2;
	long down = (clip->height + 1) / 2;

	for (long y = 0; y < clip->height; y++)
		for (long x = 0; x < clip->width; x++)
			*p++ = luma_at(clip, frame, x, y);
	for (int plane = 0; plane < 2; plane++)
		for (long y = 0; y < down; y++)
			for (long x = 0; x < across; x++)
				*p++ = (unsigned char)(96 +
						       bounce((plane ? x :
								       y) / 2 +
								      frame * 2,
							      64));
	return (size_t)(p - clip->planes);
}

static int parse(const char *text, const char *what, long most, long *out)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (end == text || *end || errno || value < 1 || value > most) {
		fprintf(stderr,
			"make_clip: argument '%s': is no number of the range (%s, "
			"allowed 1..%ld); use %ld\n",
			what, text, most, value < 1 ? 1L : most);
		return -1;
	}
	*out = value;
	return 0;
}

static int write_clip(struct clip *clip, FILE *file)
{
	fprintf(file, "YUV4MPEG2 W%ld H%ld F30:1 Ip A1:1 C420jpeg\n",
		clip->width, clip->height);
	for (long i = 0; i < clip->frames && !ferror(file); i++) {
		size_t bytes = draw(clip, i);

		fputs("FRAME\n", file);
		fwrite(clip->planes, 1, bytes, file);
	}
	return fflush(file) || ferror(file) ? -1 : 0;
}

int main(int argc, char **argv)
{
	struct clip clip = { 120, 640, 480, 2463534242u, NULL };
	FILE *file;
	int result, help = argc == 2 && !strcmp(argv[1], "--help");

	if (help || argc < 2 || argc > 5) {
		fprintf(help ? stdout : stderr,
			"usage: make_clip OUT.y4m|- [FRAMES=120] [WIDTH=640] "
			"[HEIGHT=480]\n");
		return help ? 0 : 2;
	}
	if ((argc > 2 && parse(argv[2], "FRAMES", FRAMES_MAX, &clip.frames)) ||
	    (argc > 3 && parse(argv[3], "WIDTH", SIDE_MAX, &clip.width)) ||
	    (argc > 4 && parse(argv[4], "HEIGHT", SIDE_MAX, &clip.height)))
		return 2;
	clip.planes = malloc((size_t)(clip.width + 1) * (clip.height + 1) * 2);
	file = strcmp(argv[1], "-") ? fopen(argv[1], "wb") : stdout;
	if (!file || !clip.planes) {
		fprintf(stderr, "make_clip: cannot open '%s': %s\n", argv[1],
			strerror(errno));
		free(clip.planes);
		return 1;
	}
	result = write_clip(&clip, file);
	if (fclose(file) || result) {
		fprintf(stderr, "make_clip: cannot write '%s': %s\n", argv[1],
			strerror(errno));
		result = -1;
	}
	free(clip.planes);
	return result ? 1 : 0;
}
