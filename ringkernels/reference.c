/* SPDX-License-Identifier: Apache-2.0 */
/* The host reference of the built-in stages: see reference.h. */
#include "ringkernels/reference.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <peal/errors.h>

static uint32_t crc_table[8][256];
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

/* Fills crc_table: [k][v] is the CRC of byte v and k zero bytes. */
static void crc_table_fill(void)
{
	for (uint32_t v = 0; v < 256; v++) {
		uint32_t crc = v;

		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? (crc >> 1) ^ 0x82f63b78u : crc >> 1;
		crc_table[0][v] = crc;
	}
	for (int k = 1; k < 8; k++)
		for (uint32_t v = 0; v < 256; v++) {
			uint32_t crc = crc_table[k - 1][v];

			crc_table[k][v] = (crc >> 8) ^ crc_table[0][crc & 255];
		}
}

uint32_t peali_crc32c_reference(const void *bytes, size_t n_bytes)
{
	const uint8_t *p = bytes;
	uint32_t crc = 0xffffffffu;

	pthread_once(&crc_once, crc_table_fill);
	for (; n_bytes >= 8; p += 8, n_bytes -= 8) {
		uint64_t w;

		memcpy(&w, p, 8);
		w ^= crc;
		crc = 0;
		for (int k = 0; k < 8; k++)
			crc ^= crc_table[7 - k][(w >> (8 * k)) & 255];
	}
	for (; n_bytes; p++, n_bytes--)
		crc = (crc >> 8) ^ crc_table[0][(crc ^ *p) & 255];
	return ~crc;
}

/* Filters one row. Each sum weighs five columns by 1 4 6 4 1: 0 .. 16 * 255. */
static void blur_row(const uint8_t *row, uint32_t width, uint16_t *sums)
{
	for (uint32_t x = 0; x < width; x++) {
		if (x == 2 && width > 4) {
			for (; x < width - 2; x++)
				sums[x] =
					(uint16_t)(row[x - 2] + 4 * row[x - 1] +
						   6 * row[x] + 4 * row[x + 1] +
						   row[x + 2]);
		}
		uint32_t left2 = x < 2 ? 0 : x - 2;
		uint32_t left = x < 1 ? 0 : x - 1;
		uint32_t right = width - x > 1 ? x + 1 : width - 1;
		uint32_t right2 = width - x > 2 ? x + 2 : width - 1;

		sums[x] = (uint16_t)(row[left2] + 4 * row[left] + 6 * row[x] +
				     4 * row[right] + row[right2]);
	}
}

/*
 * Filters each row once across; a ring keeps the five rows of one output row.
 */
static int blur(const struct peal_item *head, const uint8_t *in, uint8_t *out)
{
	size_t width = head->width;
	int64_t height = head->height;
	int64_t ready = 0;
	uint16_t *ring = malloc(5 * width * sizeof(*ring));

	if (!ring)
		return PEAL_ENOMEM;
	for (int64_t y = 0; y < height; y++) {
		const uint16_t *rows[5];

		for (; ready < height && ready <= y + 2; ready++)
			blur_row(in + ready * width, width,
				 ring + ready % 5 * width);
		for (int64_t k = 0; k < 5; k++) {
			int64_t row = y + k - 2;

			row = row < 0 ? 0 : row >= height ? height - 1 : row;
			rows[k] = ring + row % 5 * width;
		}
		for (size_t x = 0; x < width; x++) {
			uint16_t sum =
				(uint16_t)(rows[0][x] + rows[4][x] +
					   4 * rows[1][x] + 4 * rows[3][x] +
					   6 * rows[2][x] + 128);

			out[y * width + x] = (uint8_t)(sum >> 8);
		}
	}
	free(ring);
	return 0;
}

static int sobel_at(const uint8_t *above, const uint8_t *here,
		    const uint8_t *below, size_t left, size_t x, size_t right)
{
	int gx = above[right] + 2 * here[right] + below[right] - above[left] -
		 2 * here[left] - below[left];
	int gy = below[left] + 2 * below[x] + below[right] - above[left] -
		 2 * above[x] - above[right];
	int sum = abs(gx) + abs(gy);

	return sum > 255 ? 255 : sum;
}

static void sobel_row(const uint8_t *above, const uint8_t *here,
		      const uint8_t *below, uint8_t *restrict out, size_t width)
{
	size_t last = width - 1;

	out[0] = (uint8_t)sobel_at(above, here, below, 0, 0, last > 0);
	for (size_t x = 1; x < last; x++)
		out[x] = (uint8_t)sobel_at(above, here, below, x - 1, x, x + 1);
	if (last > 0)
		out[last] = (uint8_t)sobel_at(above, here, below, last - 1,
					      last, last);
}

static void sobel(const struct peal_item *head, const uint8_t *in, uint8_t *out)
{
	size_t width = head->width;
	size_t height = width ? head->height : 0;

	for (size_t y = 0; y < height; y++)
		sobel_row(in + (y > 0 ? y - 1 : 0) * width, in + y * width,
			  in + (y + 1 < height ? y + 1 : y) * width,
			  out + y * width, width);
}

/*
 * Returns the rounded product. A compiler may fuse a plain product with the
 * later sum, and then rounds only once. An explicit fused operation prevents
 * this.
 */
static float product(float a, float x)
{
#ifdef __FP_FAST_FMAF
	return fmaf(a, x, -0.0f);
#else
	return a * x;
#endif
}

static void affine(const struct peal_stage_config *config, const float *in,
		   float *restrict out, size_t n)
{
	float a = config->a;
	float b = config->b;

	for (size_t i = 0; i < n; i++)
		out[i] = product(a, in[i]) + b;
}

/* Replaces all NaNs by one pattern: machines make different NaNs. */
static void unify_nans(float *out, size_t n)
{
	const uint32_t bits = 0x7fc00000u;
	float unified;

	memcpy(&unified, &bits, 4);
	for (size_t i = 0; i < n; i++)
		out[i] = isnan(out[i]) ? unified : out[i];
}

static void pixels(const struct peal_stage_config *config, const uint8_t *in,
		   uint8_t *out, size_t n)
{
	uint8_t level = (uint8_t)config->level;
	uint8_t key = (uint8_t)config->key;

	switch (config->kind) {
	case PEAL_STAGE_THRESHOLD:
		for (size_t i = 0; i < n; i++)
			out[i] = in[i] >= level ? 255 : 0;
		break;
	case PEAL_STAGE_INVERT:
		for (size_t i = 0; i < n; i++)
			out[i] = (uint8_t)(255 - in[i]);
		break;
	case PEAL_STAGE_XOR:
		for (size_t i = 0; i < n; i++)
			out[i] = in[i] ^ key;
		break;
	default:
		memcpy(out, in, n);
		break;
	}
}

int peali_stage_reference(const struct peal_stage_config *config,
			  const struct peal_item *head, const void *in,
			  void *out)
{
	size_t image = (size_t)head->width * head->height;
	size_t done = image;
	int result = 0;

	if (config->kind >= PEAL_STAGE_KINDS)
		return PEAL_EINVAL;
	if (image > head->body_bytes)
		return PEAL_EPROTO;
	switch (config->kind) {
	case PEAL_STAGE_BLUR:
		if (image)
			result = blur(head, in, out);
		break;
	case PEAL_STAGE_SOBEL:
		sobel(head, in, out);
		break;
	case PEAL_STAGE_AFFINE:
		done = head->body_bytes / 4 * 4;
		affine(config, in, out, done / 4);
		unify_nans(out, done / 4);
		break;
	case PEAL_STAGE_SQRT:
		done = head->body_bytes / 4 * 4;
		for (size_t i = 0; i < done / 4; i++)
			((float *)out)[i] = sqrtf(((const float *)in)[i]);
		unify_nans(out, done / 4);
		break;
	default:
		pixels(config, in, out, image);
		break;
	}
	if (result)
		return result;
	if (head->body_bytes > done)
		memcpy((uint8_t *)out + done, (const uint8_t *)in + done,
		       head->body_bytes - done);
	return 0;
}
