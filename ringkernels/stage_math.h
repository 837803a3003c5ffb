/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RINGKERNELS_STAGE_MATH_H
#define PEAL_RINGKERNELS_STAGE_MATH_H

/*
 * The arithmetic of the built-in stages, for a worker with any number of lanes.
 * Device dialect.
 *
 * Each lane calls the same function with its index and the number of lanes. No
 * lane reads a result of another lane. The result is the same for every number
 * of lanes.
 *
 * With one constant lane (PEAL_SINGLE_LANE) the code suits a vectorising
 * compiler. Otherwise neighbouring lanes access neighbouring columns or words,
 * which suits the memory of GPUs.
 *
 * `in` and `out` do not overlap and are aligned to 4 bytes.
 */

#include <peal/abi/stage.h>
#include <peal/errors.h>

#include "ringkernels/stage_crc32c.h"

#if PEAL_ON_HOST
#include <math.h>
#include <string.h>
#endif

/* Rows that a lane filters before it takes the next column. */
#define PEALI_STRIP_ROWS 16
/*
 * 1: a single lane on the host, with code for vectorisation. A GPU must have
 * neither that code nor its buffers on the stack.
 */
#define PEALI_ALONE(lanes) (PEAL_ON_HOST && (lanes) == 1)
/* Columns per pass of PEALI_ALONE code, through a buffer on the stack. */
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

/* Copies the bytes from `begin` to the end, which a stage does not change. */
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
	/* Copy single bytes up to the first multiple of four, then words. */
	for (i = (uint64_t)begin + lane; i < end && i < ((begin + 3) & ~3u);
	     i += lanes)
		to[i] = from[i];
	begin = (begin + 3) & ~3u;
	if (begin < end)
		peali_stage_xor(from + begin, to + begin, end - begin, 0, lane,
				lanes);
}

/*
 * Returns 0xff in each byte of x that is at least the same byte of y, else 0.
 * The top bits are set in x and cleared in y before the subtraction. So no byte
 * borrows from the next.
 */
static PEAL_DEV PEAL_INLINE uint32_t peali_bytes_at_least(uint32_t x,
							  uint32_t y)
{
	uint32_t low = (x | 0x80808080u) - (y & 0x7f7f7f7fu);
	uint32_t top = ((x & ~y) | (~(x ^ y) & low)) & 0x80808080u;

	return (top >> 7) * 255u;
}

/* Sets each byte to 255 if it is at least `level`, else to 0. */
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
 * Stores a float. Every NaN gets the same bits, so that backends can be
 * compared byte by byte. Machines differ: x86 sets the sign of a new NaN and
 * ARM does not. NVIDIA sets all bits of the fraction.
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
 * Returns a * x + b, with the product rounded before the sum. A compiler may
 * fuse both operations, which rounds once and gives other bits.
 */
static PEAL_DEV PEAL_INLINE float peali_multiply_add(float a, float x, float b)
{
#if PEAL_ON_CUDA
	return __fadd_rn(__fmul_rn(a, x), b);
#elif defined(__clang__)
#pragma clang fp contract(off)
	return a * x + b;
#elif defined(__FP_FAST_FMAF)
	/* This product is already fused: nothing is left to fuse. */
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

/* Returns x limited to 0 .. n - 1, which replicates the borders. */
static PEAL_DEV PEAL_INLINE uint32_t peali_clamp(int64_t x, uint32_t n)
{
	return x < 0 ? 0 : x >= (int64_t)n ? n - 1 : (uint32_t)x;
}

/*
 * Returns the sum with weights 1 4 6 4 1. The sum after both directions is at
 * most 255 * 256 and fits 16 bits. A vector holds twice as many 16-bit sums.
 * The additions keep compilers from 32-bit multiplications.
 */
static PEAL_DEV PEAL_INLINE uint16_t peali_binomial(uint16_t a, uint16_t b,
						    uint16_t c, uint16_t d,
						    uint16_t e)
{
	uint16_t outer = (uint16_t)(a + e);
	uint16_t inner = (uint16_t)(b + c + d);

	return (uint16_t)(outer + (uint16_t)(inner << 2) + (uint16_t)(c << 1));
}

/* Returns the weighted sum of the five columns around x, in one row. */
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
 * Filters one column, rows from y to end. Each row is summed across once and
 * then moves through five registers.
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

/* Sums the five rows around y into `sums`, for columns begin to end. */
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

/*
 * Filters columns begin to end of row y through a buffer, in two plain loops.
 */
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

/* Filters row `y` with a normalised 5x5 Gaussian, by one lane. */
static PEAL_DEV PEAL_INLINE void peali_blur_row(const struct peal_item *head,
						const uint8_t *in, uint8_t *out,
						uint32_t y)
{
	uint32_t width = head->width;
	uint32_t x, n;

	for (x = 0; x < width; x += n) {
		n = width - x;
		if (n > PEALI_CHUNK_COLUMNS)
			n = PEALI_CHUNK_COLUMNS;
		peali_blur_chunk(head, in, out, y, x, x + n);
	}
}

/* Filters the image with a normalised 5x5 Gaussian. */
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
			peali_blur_row(head, in, out, y);
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
 * Returns the distance of two numbers. Neither is above 1020 in size, so the
 * result fits 16 bits. The compilers gcc and clang vectorise this form, but not
 * a conditional negation.
 */
static PEAL_DEV PEAL_INLINE int16_t peali_distance(int16_t a, int16_t b)
{
	return (int16_t)((a > b ? a : b) - (a > b ? b : a));
}

static PEAL_DEV PEAL_INLINE uint8_t peali_saturate(int16_t v)
{
	return (uint8_t)(v > 255 ? 255 : v);
}

/* Returns one pixel, from its eight neighbours. */
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
 * Filters columns begin to end of a row, none at a border. First down, into two
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

/*
 * Filters the inner pixels of a row with Sobel's gradient, by one lane. Returns
 * the column behind them.
 */
static PEAL_DEV PEAL_INLINE uint64_t peali_sobel_inner(const uint8_t *above,
						       const uint8_t *here,
						       const uint8_t *below,
						       uint8_t *to,
						       uint32_t width)
{
	uint32_t x, n;

	for (x = 1; x < width - 1; x += n) {
		n = width - 1 - x;
		if (n > PEALI_CHUNK_COLUMNS)
			n = PEALI_CHUNK_COLUMNS;
		peali_sobel_chunk(above, here, below, to, x, x + n);
	}
	return x;
}

/* Filters the image with Sobel's gradient. */
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

		if (PEALI_ALONE(lanes) && width > 2) {
			to[0] = peali_sobel_pixel(above, here, below, 0, width);
			x = peali_sobel_inner(above, here, below, to, width);
		}
		for (; x < width; x += lanes)
			to[x] = peali_sobel_pixel(above, here, below,
						  (uint32_t)x, width);
	}
}

/*
 * Checks a stage and an item. Returns 0, or:
 *
 * - PEAL_EINVAL: the kind does not exist.
 * - PEAL_EPROTO: the image is larger than its body.
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

/* Runs a stage on bytes: filters the image and copies the other bytes. */
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
 * Runs one stage on one item: reads body_bytes bytes at `in`, writes as many at
 * `out`. Every lane calls this function; lanes need no barrier between the
 * calls. PEAL_STAGE_CRC32C only copies here: peali_stage_crc32c computes its
 * sum.
 *
 * Returns 0, or PEAL_EINVAL or PEAL_EPROTO as peali_stage_check. After an error
 * nothing is written.
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
