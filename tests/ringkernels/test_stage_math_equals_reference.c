/* SPDX-License-Identifier: Apache-2.0 */
/* labels: fast */
/*
 * Shows that each stage computes the bytes of the host reference, with the code
 * for devices. Each case runs 1, 4 and 32 lanes one after another, so no lane
 * may need another one. The reference is compared with formulas for each pixel.
 */
#include "peal_test.h"

#include <math.h>

#include "ringkernels/reference.h"
#include "ringkernels/stage_math.h"

#define GUARD 64

static unsigned long long seed = 1;

static uint32_t below(uint32_t n)
{
	return (uint32_t)(test_random(&seed) % n);
}

static void *guarded(size_t n)
{
	uint8_t *p = aligned_alloc(64, (n + 2 * GUARD + 63) / 64 * 64);

	CHECK(p);
	memset(p, 0xa5, n + 2 * GUARD);
	return p + GUARD;
}

static void guarded_free(void *bytes, size_t n)
{
	uint8_t *p = (uint8_t *)bytes - GUARD;

	for (size_t i = 0; i < GUARD; i++)
		CHECK(p[i] == 0xa5 && p[GUARD + n + i] == 0xa5);
	free(p);
}

static void apply(const struct peal_stage_config *config,
		  const struct peal_item *head, const void *in, void *out,
		  uint32_t lanes)
{
	if (lanes == 1)
		CHECK_EQ(peali_stage_apply(config, head, in, out, 0, 1), 0);
	else
		for (uint32_t lane = lanes; lane-- > 0;)
			CHECK_EQ(peali_stage_apply(config, head, in, out, lane,
						   lanes),
				 0);
}

static void fill_floats(float *floats, uint32_t n)
{
	/* special values: infinities, NaNs, denormals, negative zero */
	static const uint32_t special[] = {
		0x00000000, 0x80000000, 0x7f800000, 0xff800000,
		0x7fc12345, 0xffc54321, 0x7f812345, 0x00000001,
		0x807fffff, 0x7f7fffff, 0x3f800001, 0xbf800000,
	};

	for (uint32_t i = 0; i < n; i++) {
		uint32_t bits = (uint32_t)test_random(&seed);

		if (below(4) == 0)
			bits = special[below(12)];
		memcpy(floats + i, &bits, 4);
	}
}

static struct peal_item random_item(uint32_t round)
{
	static const uint32_t sizes[] = {
		1, 2, 3, 4, 5, 6, 7, 31, 64, 127, 511, 512, 513, 514, 515, 1027
	};
	struct peal_item head = { 0 };

	head.width = round % 3 ? sizes[below(16)] : 1 + below(700);
	head.height = round % 5 == 0 ? 1 : 1 + below(40);
	if (round % 17 == 0)
		head.width = 0;
	if (round % 23 == 0) {
		head.width = 1;
		head.height = 1;
	}
	head.body_bytes = head.width * head.height + below(3) * below(500);
	return head;
}

static struct peal_stage_config random_config(uint32_t kind)
{
	struct peal_stage_config config = { 0 };

	config.kind = kind;
	config.level = below(8) ? below(256) : 255 * below(2);
	config.key = below(256);
	config.a = (float)((double)below(2000001) / 1e5 - 10);
	config.b = (float)((double)below(2000001) / 1e5 - 10);
	return config;
}

static void fill(const struct peal_item *head, uint8_t *in, uint32_t kind)
{
	uint32_t mode = below(4);

	for (uint32_t i = 0; i < head->body_bytes; i++)
		in[i] = mode ? (uint8_t)below(256) : (uint8_t)(255 * below(2));
	if (kind == PEAL_STAGE_AFFINE || kind == PEAL_STAGE_SQRT)
		fill_floats((float *)(void *)in, head->body_bytes / 4);
}

PEAL_TEST(every_stage_matches_reference_for_all_lane_counts)
{
	static const uint32_t lanes[] = { 1, 4, 32, 3 };

	for (uint32_t round = 0; round < 90 * PEAL_STAGE_KINDS; round++) {
		uint32_t kind = round % PEAL_STAGE_KINDS;
		struct peal_stage_config config = random_config(kind);
		struct peal_item head = random_item(round / PEAL_STAGE_KINDS);
		size_t n = head.body_bytes;
		uint8_t *in = guarded(n);
		uint8_t *want = guarded(n);

		fill(&head, in, kind);
		CHECK_EQ(peali_stage_reference(&config, &head, in, want), 0);
		for (uint32_t k = 0; k < 4; k++) {
			uint8_t *out = guarded(n);

			apply(&config, &head, in, out, lanes[k]);
			CHECK(memcmp(out, want, n) == 0);
			guarded_free(out, n);
		}
		guarded_free(want, n);
		guarded_free(in, n);
	}
}

static uint8_t at(const struct peal_item *head, const uint8_t *in, int64_t x,
		  int64_t y)
{
	x = x < 0 ? 0 : x >= head->width ? head->width - 1 : x;
	y = y < 0 ? 0 : y >= head->height ? head->height - 1 : y;
	return in[(size_t)y * head->width + (size_t)x];
}

/* Computes one pixel by the formulas of the definition. */
static int direct(const struct peal_item *head, const uint8_t *in, int64_t x,
		  int64_t y, uint32_t kind)
{
	static const int taps[5] = { 1, 4, 6, 4, 1 };
	static const int smooth[3] = { 1, 2, 1 };
	int sum = 0, gx = 0, gy = 0;

	for (int j = -2; j <= 2; j++)
		for (int i = -2; i <= 2; i++)
			sum += taps[j + 2] * taps[i + 2] *
			       at(head, in, x + i, y + j);
	for (int j = -1; j <= 1; j++)
		for (int i = -1; i <= 1; i++) {
			gx += i * smooth[j + 1] * at(head, in, x + i, y + j);
			gy += j * smooth[i + 1] * at(head, in, x + i, y + j);
		}
	gx = abs(gx) + abs(gy);
	return kind == PEAL_STAGE_BLUR ? (sum + 128) / 256 :
	       gx > 255		       ? 255 :
					 gx;
}

PEAL_TEST(blur_and_sobel_equal_the_two_dimensional_formula_exactly)
{
	for (uint32_t round = 0; round < 120; round++) {
		struct peal_stage_config config = random_config(
			round & 1 ? PEAL_STAGE_BLUR : PEAL_STAGE_SOBEL);
		struct peal_item head = random_item(round / 2);
		uint8_t *in = guarded(head.body_bytes);
		uint8_t *out = guarded(head.body_bytes);

		fill(&head, in, config.kind);
		CHECK_EQ(peali_stage_reference(&config, &head, in, out), 0);
		for (uint32_t y = 0; y < head.height; y++)
			for (uint32_t x = 0; x < head.width; x++)
				CHECK_EQ(out[y * head.width + x],
					 direct(&head, in, x, y, config.kind));
		guarded_free(out, head.body_bytes);
		guarded_free(in, head.body_bytes);
	}
}

PEAL_TEST(affine_rounds_the_product_before_the_sum)
{
	/* (1 + 2^-12)^2 - 1 - 2^-11 is 2^-24 fused and 0 in two roundings. */
	const float x[1] = { 1.0f + 0x1p-12f };
	struct peal_item head = { 0 };
	struct peal_stage_config config = { 0 };
	float out[1];

	head.height = 1;
	head.body_bytes = 4;
	config.kind = PEAL_STAGE_AFFINE;
	config.a = x[0];
	config.b = -1.0f - 0x1p-11f;
	CHECK(fmaf(config.a, x[0], config.b) != 0.0f);
	CHECK_EQ(peali_stage_apply(&config, &head, x, out, 0, 1), 0);
	CHECK(out[0] == 0.0f);
	CHECK_EQ(peali_stage_reference(&config, &head, x, out), 0);
	CHECK(out[0] == 0.0f);
}

static uint32_t crc_by_lanes(const uint8_t *bytes, uint32_t n, uint32_t lanes)
{
	uint32_t crc = 0;

	for (uint32_t lane = 0; lane < lanes; lane++)
		crc ^= peali_stage_crc32c(bytes, n, lane, lanes);
	return crc;
}

static uint32_t crc_bit_by_bit(const uint8_t *bytes, uint32_t n)
{
	uint32_t crc = 0xffffffffu;

	for (uint32_t i = 0; i < n * 8; i++) {
		if (i % 8 == 0)
			crc ^= bytes[i / 8];
		crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

PEAL_TEST(crc32c_of_lane_parts_equals_known_sum)
{
	const uint8_t *digits = (const uint8_t *)"123456789";
	static uint8_t bytes[70001];

	CHECK_EQ(peali_crc32c_reference(digits, 9), 0xe3069283u);
	CHECK_EQ(peali_crc32c_reference(digits, 0), 0);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)below(256);
	for (uint32_t n = 0; n < 70001; n = n < 600 ? n + 1 : n * 5 / 3) {
		uint32_t want = peali_crc32c_reference(bytes, n);

		CHECK_EQ(want, crc_bit_by_bit(bytes, n));
		CHECK_EQ(crc_by_lanes(bytes, n, 1), want);
		CHECK_EQ(crc_by_lanes(bytes, n, 4), want);
		CHECK_EQ(crc_by_lanes(bytes, n, 32), want);
		CHECK_EQ(crc_by_lanes(bytes, n, 37), want);
	}
	CHECK_EQ(crc_by_lanes(bytes, 70000, 32),
		 peali_crc32c_reference(bytes, 70000));
}

PEAL_TEST(image_larger_than_its_body_is_refused)
{
	struct peal_stage_config config = random_config(PEAL_STAGE_BLUR);
	struct peal_item head = { 0 };
	uint8_t in[16] = { 0 }, out[16];

	memset(out, 7, sizeof(out));
	head.width = 0x80000001u;
	head.height = 2;
	head.body_bytes = 16;
	CHECK_EQ(peali_stage_apply(&config, &head, in, out, 0, 1), PEAL_EPROTO);
	CHECK_EQ(peali_stage_reference(&config, &head, in, out), PEAL_EPROTO);
	config.kind = PEAL_STAGE_KINDS;
	CHECK_EQ(peali_stage_apply(&config, &head, in, out, 0, 1), PEAL_EINVAL);
	CHECK_EQ(peali_stage_reference(&config, &head, in, out), PEAL_EINVAL);
	CHECK_EQ(out[0], 7);
}

/* Computes the Gaussian of the definition without its rounding. */
static int truncated(const struct peal_item *head, const uint8_t *in, int64_t x,
		     int64_t y)
{
	static const int taps[5] = { 1, 4, 6, 4, 1 };
	int sum = 0;

	for (int j = -2; j <= 2; j++)
		for (int i = -2; i <= 2; i++)
			sum += taps[j + 2] * taps[i + 2] *
			       at(head, in, x + i, y + j);
	return sum / 256;
}

/* Returns the number of wrong bytes with one of three faults. */
static uint32_t differing_bytes(uint32_t fault)
{
	struct peal_stage_config config = random_config(PEAL_STAGE_BLUR);
	struct peal_item head = { 0 };
	uint32_t n = 640 * 48, differ = 0;
	uint8_t *in = guarded(n), *want = guarded(n), *out = guarded(n);

	head.width = 640;
	head.height = 48;
	head.body_bytes = n;
	fill(&head, in, PEAL_STAGE_BLUR);
	CHECK_EQ(peali_stage_reference(&config, &head, in, want), 0);
	apply(&config, &head, in, out, 4);
	for (uint32_t y = 0; y < 48; y++)
		for (uint32_t x = 0; x < 640; x++) {
			uint8_t *pixel = out + y * 640 + x;

			if (fault == 1) /* does not round */
				*pixel = (uint8_t)truncated(&head, in, x, y);
			if (fault == 2 && x == 639) /* border not replicated */
				*pixel = (uint8_t)direct(&head, in, 638, y,
							 PEAL_STAGE_BLUR);
			if (fault == 3 && (y * 640 + x) % 4 == 3) /* lane 3 */
				*pixel = 0xa5;
		}
	for (uint32_t i = 0; i < n; i++)
		differ += out[i] != want[i];
	guarded_free(in, n);
	guarded_free(want, n);
	guarded_free(out, n);
	return differ;
}

PEAL_TEST(wrong_stage_variant_is_caught)
{
	CHECK_EQ(differing_bytes(0), 0);
	CHECK(differing_bytes(1) > 0);
	CHECK(differing_bytes(2) > 0);
	CHECK(differing_bytes(3) > 0);
}

PEAL_TEST_MAIN(RUN(every_stage_matches_reference_for_all_lane_counts);
	       RUN(blur_and_sobel_equal_the_two_dimensional_formula_exactly);
	       RUN(affine_rounds_the_product_before_the_sum);
	       RUN(crc32c_of_lane_parts_equals_known_sum);
	       RUN(image_larger_than_its_body_is_refused);
	       RUN(wrong_stage_variant_is_caught);)
