/* SPDX-License-Identifier: Apache-2.0 */
/* labels: fast */
/*
 * Conversions of f16 and bf16. Rounding is monotonic. So it is right for all
 * f32 if it is right around each midpoint of two neighbours.
 */
#include <math.h>
#include <string.h>

#include <peal/abi/float16.h>

#include "peal_test.h"

struct format {
	int digits, least; /* bits of the fraction, least normal exponent */
	uint16_t infinity;
	float (*to_f32)(uint16_t bits);
	uint16_t (*from_f32)(float x);
};

static const struct format formats[] = {
	{ 10, -14, 0x7c00, peal_f16_to_f32, peal_f16_from_f32 },
	{ 7, -126, 0x7f80, peal_bf16_to_f32, peal_bf16_from_f32 },
};

/* The definition of IEEE 754. Infinity is the next number after the largest. */
static double value(const struct format *f, uint16_t bits)
{
	int size = bits & 0x7fff, exponent = size >> f->digits;
	int fraction = size & ((1 << f->digits) - 1);
	double x = exponent ? ldexp((1 << f->digits) + fraction, exponent - 1) :
			      fraction;

	return ldexp(bits & 0x8000 ? -x : x, f->least - f->digits);
}

static uint32_t bits_of(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, 4);
	return bits;
}

static float float_of(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, 4);
	return x;
}

/* Calls `check` for both formats and both signs. */
static void each_format(void (*check)(const struct format *f, uint16_t sign))
{
	size_t i;

	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		check(&formats[i], 0);
		check(&formats[i], 0x8000);
	}
}

static void check_exact(const struct format *f, uint16_t sign)
{
	uint16_t size, bits;
	float x;

	for (size = 0; size < f->infinity; size++) {
		bits = size | sign;
		x = f->to_f32(bits);
		CHECK((double)x == value(f, bits));
		CHECK_EQ(bits_of(x) >> 31, sign >> 15);
		CHECK_EQ(f->from_f32(x), bits);
	}
	bits = f->infinity | sign;
	CHECK(f->to_f32(bits) == (sign ? -INFINITY : INFINITY));
	CHECK_EQ(f->from_f32(sign ? -INFINITY : INFINITY), bits);
}

PEAL_TEST(conversions_to_f32_are_exact)
{
	each_format(check_exact);
}

/* Checks the midpoint of each number and the next one, and its neighbours. */
static void check_midpoints(const struct format *f, uint16_t sign)
{
	uint16_t size;
	uint32_t middle, top = (uint32_t)sign << 16;

	for (size = 0; size < f->infinity; size++) {
		middle = bits_of((float)((value(f, size) +
					  value(f, (uint16_t)(size + 1))) /
					 2));
		CHECK_EQ(f->from_f32(float_of((middle - 1) | top)),
			 size | sign);
		CHECK_EQ(f->from_f32(float_of(middle | top)),
			 (size + (size & 1)) | sign);
		CHECK_EQ(f->from_f32(float_of((middle + 1) | top)),
			 (size + 1) | sign);
	}
	CHECK_EQ(f->from_f32(float_of(0x7f7fffff | top)), f->infinity | sign);
	CHECK_EQ(f->from_f32(float_of(1 | top)), sign);
}

PEAL_TEST(conversions_from_f32_round_to_nearest_even)
{
	each_format(check_midpoints);
}

static void check_nan(const struct format *f, uint16_t sign)
{
	uint16_t quiet = (uint16_t)(1 << (f->digits - 1)), bits;
	int fraction, most = 1 << f->digits;
	uint32_t x;

	for (fraction = 1; fraction < most; fraction++) {
		bits = (uint16_t)(f->infinity | fraction | sign);
		x = bits_of(f->to_f32(bits));
		CHECK_EQ(x, (uint32_t)sign << 16 | 0x7f800000u |
				    (uint32_t)fraction << (23 - f->digits));
		CHECK_EQ(f->from_f32(float_of(x)), bits | quiet);
	}
	/* only the lowest bit of the fraction is set */
	CHECK_EQ(f->from_f32(float_of(0x7f800001u | (uint32_t)sign << 16)),
		 f->infinity | quiet | sign);
}

PEAL_TEST(nan_stays_nan)
{
	each_format(check_nan);
}

/* 0.15625 is exact in all formats; 65519 is below the largest f16 plus a half. */
PEAL_TEST(values_of_the_formats_are_those_of_ieee_754)
{
	CHECK_EQ(peal_f16_from_f32(0.15625f), 0x3100);
	CHECK_EQ(peal_bf16_from_f32(0.15625f), 0x3e20);
	CHECK_EQ(peal_f16_from_f32(65519.f), 0x7bff);
	CHECK(peal_f16_to_f32(0x3100) == 0.15625f);
	CHECK(peal_bf16_to_f32(0x3e20) == 0.15625f);
}

PEAL_TEST_MAIN(RUN(conversions_to_f32_are_exact);
	       RUN(values_of_the_formats_are_those_of_ieee_754);
	       RUN(conversions_from_f32_round_to_nearest_even);
	       RUN(nan_stays_nan);)
