/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_ABI_FLOAT16_H
#define PEAL_ABI_FLOAT16_H

#include <peal/device/platform.h>

/*
 * Floats of 16 bits, as bits in a uint16_t:
 *
 *	f16	binary16 of IEEE 754: 5 bits of exponent, 10 of fraction
 *	bf16	the upper half of an f32: 8 bits of exponent, 7 of fraction
 *
 * The functions use integers and one f32 addition. So all compilers and devices
 * return the same bits. They need no instructions for 16-bit floats.
 */

static PEAL_HD PEAL_INLINE uint32_t peali_f32_bits(float x)
{
	uint32_t bits;

	__builtin_memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static PEAL_HD PEAL_INLINE float peali_f32_of(uint32_t bits)
{
	float x;

	__builtin_memcpy(&x, &bits, sizeof(x));
	return x;
}

/**
 * Converts f16 to f32. The result is exact. A NaN keeps its sign and fraction.
 *
 * Host or device, thread-safe, does not block.
 *
 * @param bits an f16.
 * @return the f32.
 */
static PEAL_HD PEAL_INLINE float peal_f16_to_f32(uint16_t bits)
{
	uint32_t fraction = bits & 0x3ffu, sign = (bits & 0x8000u) << 16;
	uint32_t size = (bits & 0x7fffu) << 13;

	if (size >= 0x0f800000u) /* infinity or NaN */
		size += 0x70000000u;
	else if (size >= 0x00800000u)
		size += 0x38000000u; /* exponents differ by 127 - 15 */
	else /* subnormal: units of 2^-24 */
		size = peali_f32_bits((float)fraction * 5.9604644775390625e-8f);
	return peali_f32_of(sign | size);
}

/**
 * Converts f32 to f16, rounded to nearest, ties to even.
 *
 * Sizes of 65,520 or more become infinite. A NaN becomes a quiet NaN with its
 * sign and the upper bits of its fraction.
 *
 * Host or device, thread-safe, does not block.
 *
 * @param x an f32.
 * @return the f16.
 */
static PEAL_HD PEAL_INLINE uint16_t peal_f16_from_f32(float x)
{
	uint32_t bits = peali_f32_bits(x), sign = bits >> 16 & 0x8000u;
	uint32_t size = bits & 0x7fffffffu;

	if (size > 0x7f800000u) /* NaN */
		size = 0x7e00u | (size >> 13 & 0x3ffu);
	else if (size >= 0x47800000u) /* 2^16 or more */
		size = 0x7c00u;
	else if (size >= 0x38800000u) /* 2^-14 or more: normal */
		size = (size - 0x38000000u + 0xfffu + (size >> 13 & 1)) >> 13;
	else /* the addition rounds to a unit of 2^-24 */
		size = peali_f32_bits(peali_f32_of(size) + 0.5f) - 0x3f000000u;
	return (uint16_t)(sign | size);
}

/**
 * Converts bf16 to f32. The result is exact. A NaN keeps its sign and fraction.
 *
 * Host or device, thread-safe, does not block.
 *
 * @param bits a bf16.
 * @return the f32.
 */
static PEAL_HD PEAL_INLINE float peal_bf16_to_f32(uint16_t bits)
{
	return peali_f32_of((uint32_t)bits << 16);
}

/**
 * Converts f32 to bf16, rounded to nearest, ties to even.
 *
 * Sizes of at least 2^128 - 2^119 become infinite. A NaN becomes a quiet NaN
 * with its sign and the upper bits of its fraction.
 *
 * Host or device, thread-safe, does not block.
 *
 * @param x an f32.
 * @return the bf16.
 */
static PEAL_HD PEAL_INLINE uint16_t peal_bf16_from_f32(float x)
{
	uint32_t bits = peali_f32_bits(x);

	if ((bits & 0x7fffffffu) > 0x7f800000u) /* NaN */
		return (uint16_t)(bits >> 16 | 0x40u);
	return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

#endif
