/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RINGKERNELS_STAGE_MATH_H
#define PEAL_RINGKERNELS_STAGE_MATH_H

/*
 * The arithmetic of the built-in stages for a worker of any number of lanes:
 * lane i of n calls the same function with (i, n), no lane reads what another
 * wrote, and the bytes are the same for every n. Device dialect.
 *
 * Where lanes is the constant 1 (PEAL_SINGLE_LANE) the code is shaped for a
 * vectorising compiler; otherwise neighbouring lanes take neighbouring columns
 * or words, which is what a GPU's memory wants.
 *
 * in and out do not overlap and are aligned to 4 bytes.
 */

#include <peal/abi/stage.h>
#include <peal/errors.h>

#include "ringkernels/stage_crc32c.h"

#if PEAL_ON_HOST
#include <math.h>
#include <string.h>
#endif

/* Rows that one lane filters in one column before it takes the next column. */
#define PEALI_STRIP_ROWS 16
/*
 * A lone lane takes the vectorising way only on the host: a GPU is to have
 * neither its code nor the buffers on its stack.
 */
#define PEALI_ALONE(lanes) (PEAL_ON_HOST && (lanes) == 1)
/* Columns that a lone lane filters at a time, through a buffer on its stack. */
#define PEALI_CHUNK_COLUMNS 512

/* out = in ^ key. Inverting is key 255, and copying by many lanes key 0. */
static PEAL_DEV PEAL_INLINE void
peali_stage_xor(const uint8_t *PEAL_RESTRICT in, uint8_t *PEAL_RESTRICT out,
		uint32_t n, uint32_t key, uint32_t lane, uint32_t lanes)
{
	const uint32_t *PEAL_RESTRICT from = (const uint32_t *)(const void *)in;
	uint32_t *PEAL_RESTRICT to = (uint32_t *)(void *)out;
	uint64_t i;

	if (PEALI_ALONE(lanes)) {
		for (i = 0; i < n; i++)
			out[i] = (uint8_t)(in[i] ^ key);
		return;
	}
	for (i = lane; i < n / 4; i += lanes)
		to[i] = from[i] ^ (key * 0x01010101u);
	for (i = (uint64_t)(n & ~3u) + lane; i < n; i += lanes)
		out[i] = (uint8_t)(in[i] ^ key);
}

/* Copies the bytes from begin to end: what a stage passes on. */
static PEAL_DEV PEAL_INLINE void peali_stage_copy(const struct peal_item *head,
						  uint32_t begin,
						  const void *in, void *out,
						  uint32_t lane, uint32_t lanes)
{
	const uint8_t *from = (const uint8_t *)in;
	uint8_t *to = (uint8_t *)out;
	uint32_t end = head->body_bytes;
	uint64_t i;

#if PEAL_ON_HOST
	if (PEALI_ALONE(lanes)) {
		if (begin < end)
			memcpy(to + begin, from + begin, end - begin);
		return;
	}
#endif
	/* The words start at a multiple of four: the bytes before go alone. */
	for (i = (uint64_t)begin + lane; i < end && i < ((begin + 3) & ~3u);
	     i += lanes)
		to[i] = from[i];
	begin = (begin + 3) & ~3u;
	if (begin < end)
		peali_stage_xor(from + begin, to + begin, end - begin, 0, lane,
				lanes);
}

/*
 * 0xff in each byte of x that is at least the same byte of y, else 0. With the
 * top bits set in x and clear in y no byte borrows from the next.
 */
static PEAL_DEV PEAL_INLINE uint32_t peali_bytes_at_least(uint32_t x,
							  uint32_t y)
{
	uint32_t low = (x | 0x80808080u) - (y & 0x7f7f7f7fu);
	uint32_t top = ((x & ~y) | (~(x ^ y) & low)) & 0x80808080u;

	return (top >> 7) * 255u;
}

/* Each byte: at least level becomes 255, less becomes 0. */
static PEAL_DEV PEAL_INLINE void
peali_stage_threshold(const uint8_t *PEAL_RESTRICT in,
		      uint8_t *PEAL_RESTRICT out, uint32_t n, uint32_t level,
		      uint32_t lane, uint32_t lanes)
{
	const uint32_t *PEAL_RESTRICT from = (const uint32_t *)(const void *)in;
	uint32_t *PEAL_RESTRICT to = (uint32_t *)(void *)out;
	uint8_t least = (uint8_t)level;
	uint64_t i;

	if (PEALI_ALONE(lanes)) {
		for (i = 0; i < n; i++)
			out[i] = in[i] >= least ? 255 : 0;
		return;
	}
	for (i = lane; i < n / 4; i += lanes)
		to[i] = peali_bytes_at_least(from[i], least * 0x01010101u);
	for (i = (uint64_t)(n & ~3u) + lane; i < n; i += lanes)
		out[i] = in[i] >= least ? 255 : 0;
}

/*
 * NaNs leave every machine as the same bits, so that backends can be compared
 * byte by byte: x86 sets the sign of a new NaN, ARM does not, NVIDIA sets all
 * bits of the fraction.
 */
static PEAL_DEV PEAL_INLINE void peali_store_f32(float *to, float value)
{
	union {
		float value;
		uint32_t bits;
	} word;

	word.value = value;
	if (value != value)
		word.bits = 0x7fc00000u;
	*to = word.value;
}

/*
 * a * x + b with the product rounded before the sum. Compilers like to fuse
 * the two where the machine can, which rounds once and gives other bits.
 */
static PEAL_DEV PEAL_INLINE float peali_multiply_add(float a, float x, float b)
{
#if PEAL_ON_CUDA
	return __fadd_rn(__fmul_rn(a, x), b);
#elif defined(__clang__)
#pragma clang fp contract(off)
	return a * x + b;
#elif defined(__FP_FAST_FMAF)
	/* A product that is no multiplication: nothing is left to fuse. */
	return fmaf(a, x, -0.0f) + b;
#else
	return a * x + b;
#endif
}

static PEAL_DEV PEAL_INLINE float peali_sqrt(float x)
{
#if PEAL_ON_CUDA
	return __fsqrt_rn(x);
#elif PEAL_ON_HIP
	return __builtin_sqrtf(x);
#else
	return sqrtf(x);
#endif
}

static PEAL_DEV PEAL_INLINE void
peali_stage_affine(const struct peal_stage_config *config,
		   const float *PEAL_RESTRICT in, float *PEAL_RESTRICT out,
		   uint32_t n, uint32_t lane, uint32_t lanes)
{
	float a = config->a;
	float b = config->b;
	uint64_t i;

	for (i = lane; i < n; i += lanes)
		peali_store_f32(out + i, peali_multiply_add(a, in[i], b));
}

static PEAL_DEV PEAL_INLINE void peali_stage_sqrt(const float *PEAL_RESTRICT in,
						  float *PEAL_RESTRICT out,
						  uint32_t n, uint32_t lane,
						  uint32_t lanes)
{
	uint64_t i;

	for (i = lane; i < n; i += lanes)
		peali_store_f32(out + i, peali_sqrt(in[i]));
}

/* x moved into 0 .. n - 1: borders are replicated. */
static PEAL_DEV PEAL_INLINE uint32_t peali_clamp(int64_t x, uint32_t n)
{
	return x < 0 ? 0 : x >= (int64_t)n ? n - 1 : (uint32_t)x;
}

/*
 * 1 4 6 4 1. At most 255 * 256 after both directions: 16 bits hold it, and a
 * vector holds twice as many of them. The additions keep compilers from
 * multiplying in 32 bits.
 */
static PEAL_DEV PEAL_INLINE uint16_t peali_binomial(uint16_t a, uint16_t b,
						    uint16_t c, uint16_t d,
						    uint16_t e)
{
	uint16_t outer = (uint16_t)(a + e);
	uint16_t inner = (uint16_t)(b + c + d);

	return (uint16_t)(outer + (uint16_t)(inner << 2) + (uint16_t)(c << 1));
}

/* The five columns around x, in the row at `row`. */
static PEAL_DEV PEAL_INLINE uint16_t peali_blur_across(const uint8_t *row,
						       uint32_t x,
						       uint32_t width)
{
	int64_t column = x;

	return peali_binomial(row[peali_clamp(column - 2, width)],
			      row[peali_clamp(column - 1, width)], row[x],
			      row[peali_clamp(column + 1, width)],
			      row[peali_clamp(column + 2, width)]);
}

/*
 * One column, rows from y to end: each row is summed across once and then
 * moves through five registers.
 */
static PEAL_DEV PEAL_INLINE void peali_blur_column(const struct peal_item *head,
						   const uint8_t *in,
						   uint8_t *out, uint32_t x,
						   uint32_t y, uint32_t end)
{
	uint32_t width = head->width;
	uint32_t height = head->height;
	uint16_t sums[5];
	uint32_t i;

	for (i = 0; i < 4; i++)
		sums[i + 1] = peali_blur_across(
			in + (size_t)width *
					peali_clamp((int64_t)y + i - 2, height),
			x, width);
	for (; y < end; y++) {
		sums[0] = sums[1];
		sums[1] = sums[2];
		sums[2] = sums[3];
		sums[3] = sums[4];
		sums[4] = peali_blur_across(
			in + (size_t)width *
					peali_clamp((int64_t)y + 2, height),
			x, width);
		out[(size_t)width * y + x] =
			(uint8_t)((peali_binomial(sums[0], sums[1], sums[2],
						  sums[3], sums[4]) +
				   128) >>
				  8);
	}
}

/* The five rows around y summed down, columns begin to end, into sums. */
static PEAL_DEV PEAL_INLINE void peali_blur_down(const struct peal_item *head,
						 const uint8_t *in, uint32_t y,
						 uint32_t begin, uint32_t end,
						 uint16_t *PEAL_RESTRICT sums)
{
	size_t width = head->width;
	int64_t row = y;
	const uint8_t *PEAL_RESTRICT a =
		in + width * peali_clamp(row - 2, head->height) + begin;
	const uint8_t *PEAL_RESTRICT b =
		in + width * peali_clamp(row - 1, head->height) + begin;
	const uint8_t *PEAL_RESTRICT c = in + width * y + begin;
	const uint8_t *PEAL_RESTRICT d =
		in + width * peali_clamp(row + 1, head->height) + begin;
	const uint8_t *PEAL_RESTRICT e =
		in + width * peali_clamp(row + 2, head->height) + begin;
	uint32_t i;

	for (i = 0; i < end - begin; i++)
		sums[i] = peali_binomial(a[i], b[i], c[i], d[i], e[i]);
}

/* Columns begin to end of row y, by way of a buffer: two plain loops. */
static PEAL_DEV PEAL_INLINE void peali_blur_chunk(const struct peal_item *head,
						  const uint8_t *in,
						  uint8_t *PEAL_RESTRICT out,
						  uint32_t y, uint32_t begin,
						  uint32_t end)
{
	uint16_t buffer[PEALI_CHUNK_COLUMNS + 4];
	uint32_t width = head->width;
	uint32_t first = begin >= 2 ? begin - 2 : 0;
	uint32_t last = width - end >= 2 ? end + 2 : width;
	/* sums[x - begin + 2] belongs to column x, from begin - 2 on. */
	uint32_t skip = first + 2 - begin;
	uint32_t i;

	peali_blur_down(head, in, y, first, last, buffer + skip);
	for (i = 0; i < skip; i++)
		buffer[i] = buffer[skip];
	for (i = skip + last - first; i < end - begin + 4; i++)
		buffer[i] = buffer[skip + last - first - 1];
	out += (size_t)width * y + begin;
	for (i = 0; i < end - begin; i++)
		out[i] = (uint8_t)((uint16_t)(peali_binomial(buffer[i],
							     buffer[i + 1],
							     buffer[i + 2],
							     buffer[i + 3],
							     buffer[i + 4]) +
					      128) >>
				   8);
}

/* Normalised 5x5 Gaussian of the image. */
static PEAL_DEV PEAL_INLINE void peali_stage_blur(const struct peal_item *head,
						  const uint8_t *in,
						  uint8_t *out, uint32_t lane,
						  uint32_t lanes)
{
	uint32_t width = head->width;
	uint32_t height = head->height;
	uint64_t unit, units;
	uint32_t x, y;

	if (PEALI_ALONE(lanes)) {
		for (y = 0; y < height; y++)
			for (x = 0; x < width;) {
				uint32_t n = width - x;

				if (n > PEALI_CHUNK_COLUMNS)
					n = PEALI_CHUNK_COLUMNS;
				peali_blur_chunk(head, in, out, y, x, x + n);
				x += n;
			}
		return;
	}
	units = ((uint64_t)height + PEALI_STRIP_ROWS - 1) / PEALI_STRIP_ROWS *
		width;
	for (unit = lane; unit < units; unit += lanes) {
		y = (uint32_t)(unit / width) * PEALI_STRIP_ROWS;
		x = (uint32_t)(unit % width);
		peali_blur_column(head, in, out, x, y,
				  height - y < PEALI_STRIP_ROWS ?
					  height :
					  y + PEALI_STRIP_ROWS);
	}
}

/*
 * The distance of two numbers, neither above 1020 in size: 16 bits hold it. gcc
 * and clang both vectorise this form, and not that of a conditional negation.
 */
static PEAL_DEV PEAL_INLINE int16_t peali_distance(int16_t a, int16_t b)
{
	return (int16_t)((a > b ? a : b) - (a > b ? b : a));
}

static PEAL_DEV PEAL_INLINE uint8_t peali_saturate(int16_t v)
{
	return (uint8_t)(v > 255 ? 255 : v);
}

/* One pixel out of its eight neighbours. */
static PEAL_DEV PEAL_INLINE uint8_t peali_sobel_pixel(const uint8_t *above,
						      const uint8_t *here,
						      const uint8_t *below,
						      uint32_t x,
						      uint32_t width)
{
	uint32_t left = x ? x - 1 : 0;
	uint32_t right = x + 1 < width ? x + 1 : x;
	int west = above[left] + 2 * here[left] + below[left];
	int east = above[right] + 2 * here[right] + below[right];
	int north = above[left] + 2 * above[x] + above[right];
	int south = below[left] + 2 * below[x] + below[right];

	return peali_saturate(
		(int16_t)(peali_distance((int16_t)east, (int16_t)west) +
			  peali_distance((int16_t)south, (int16_t)north)));
}

/*
 * Columns begin to end of a row, all of them inside: down first, into two
 * buffers, then across.
 */
static PEAL_DEV PEAL_INLINE void
peali_sobel_chunk(const uint8_t *PEAL_RESTRICT above,
		  const uint8_t *PEAL_RESTRICT here,
		  const uint8_t *PEAL_RESTRICT below,
		  uint8_t *PEAL_RESTRICT out, uint32_t begin, uint32_t end)
{
	int16_t smooth[PEALI_CHUNK_COLUMNS + 2];
	int16_t slope[PEALI_CHUNK_COLUMNS + 2];
	uint32_t n = end - begin;
	uint32_t i;

	above += begin - 1;
	here += begin - 1;
	below += begin - 1;
	out += begin;
	for (i = 0; i < n + 2; i++) {
		int16_t ends = (int16_t)(above[i] + below[i]);

		smooth[i] = (int16_t)(ends + here[i] + here[i]);
		slope[i] = (int16_t)(below[i] - above[i]);
	}
	for (i = 0; i < n; i++) {
		int16_t sides = (int16_t)(slope[i] + slope[i + 2]);
		int16_t middle = (int16_t)(-2 * slope[i + 1]);
		int16_t gx = peali_distance(smooth[i + 2], smooth[i]);
		int16_t gy = peali_distance(sides, middle);

		out[i] = peali_saturate((int16_t)(gx + gy));
	}
}

/* Sobel's gradient of the image. */
static PEAL_DEV PEAL_INLINE void peali_stage_sobel(const struct peal_item *head,
						   const uint8_t *in,
						   uint8_t *out, uint32_t lane,
						   uint32_t lanes)
{
	uint32_t width = head->width;
	uint32_t height = head->height;
	uint32_t y;

	for (y = 0; y < height; y++) {
		const uint8_t *here = in + (size_t)width * y;
		const uint8_t *above = y ? here - width : here;
		const uint8_t *below = y + 1 < height ? here + width : here;
		uint8_t *to = out + (size_t)width * y;
		uint64_t x = lane;
		uint64_t n;

		if (PEALI_ALONE(lanes) && width > 2) {
			to[0] = peali_sobel_pixel(above, here, below, 0, width);
			for (x = 1; x < width - 1; x += n) {
				n = width - 1 - x;
				if (n > PEALI_CHUNK_COLUMNS)
					n = PEALI_CHUNK_COLUMNS;
				peali_sobel_chunk(above, here, below, to,
						  (uint32_t)x,
						  (uint32_t)(x + n));
			}
		}
		for (; x < width; x += lanes)
			to[x] = peali_sobel_pixel(above, here, below,
						  (uint32_t)x, width);
	}
}

/*
 * Whether a stage can work on an item: 0, PEAL_EINVAL for a kind that does not
 * exist, PEAL_EPROTO for an image that is larger than its body.
 */
static PEAL_DEV PEAL_INLINE int
peali_stage_check(const struct peal_stage_config *config,
		  const struct peal_item *head)
{
	if (config->kind >= PEAL_STAGE_KINDS)
		return PEAL_EINVAL;
	if ((uint64_t)head->width * head->height > head->body_bytes)
		return PEAL_EPROTO;
	return 0;
}

/* The stages on bytes: the image is worked on, the rest passed on. */
static PEAL_DEV PEAL_INLINE void
peali_stage_image(const struct peal_stage_config *config,
		  const struct peal_item *head, const uint8_t *in, uint8_t *out,
		  uint32_t lane, uint32_t lanes)
{
	uint32_t n = head->width * head->height;
	uint32_t key;

	switch (config->kind) {
	case PEAL_STAGE_BLUR:
		peali_stage_blur(head, in, out, lane, lanes);
		break;
	case PEAL_STAGE_SOBEL:
		peali_stage_sobel(head, in, out, lane, lanes);
		break;
	case PEAL_STAGE_THRESHOLD:
		peali_stage_threshold(in, out, n, config->level, lane, lanes);
		break;
	case PEAL_STAGE_INVERT:
	case PEAL_STAGE_XOR:
		key = config->kind == PEAL_STAGE_XOR ? config->key & 255 : 255;
		peali_stage_xor(in, out, n, key, lane, lanes);
		break;
	default:
		n = 0;
		break;
	}
	peali_stage_copy(head, n, in, out, lane, lanes);
}

/*
 * Runs one stage on one item: reads body_bytes bytes at in, writes as many at
 * out. Every lane calls it; lanes need no barrier between them. crc32c only
 * copies here: call peali_stage_crc32c on the body for its sum.
 *
 * Returns 0, PEAL_EINVAL or PEAL_EPROTO as peali_stage_check; then nothing is
 * written.
 */
static PEAL_DEV PEAL_INLINE int
peali_stage_apply(const struct peal_stage_config *config,
		  const struct peal_item *head, const void *in, void *out,
		  uint32_t lane, uint32_t lanes)
{
	uint32_t n_floats = head->body_bytes / 4;
	int result = peali_stage_check(config, head);

	if (result)
		return result;
	if (config->kind == PEAL_STAGE_AFFINE)
		peali_stage_affine(config, (const float *)in, (float *)out,
				   n_floats, lane, lanes);
	else if (config->kind == PEAL_STAGE_SQRT)
		peali_stage_sqrt((const float *)in, (float *)out, n_floats,
				 lane, lanes);
	else
		peali_stage_image(config, head, (const uint8_t *)in,
				  (uint8_t *)out, lane, lanes);
	if (config->kind == PEAL_STAGE_AFFINE ||
	    config->kind == PEAL_STAGE_SQRT)
		peali_stage_copy(head, n_floats * 4, in, out, lane, lanes);
	return 0;
}

#endif
