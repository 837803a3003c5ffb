/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_SOFT_FLOAT_H
#define PTX_SOFT_FLOAT_H

/*
 * IEEE 754 arithmetic by integers, for test_opcodes.c. A finite number is
 * mantissa * 2^exponent. A lost part behind the mantissa sets its lowest bit:
 * a mantissa has far more bits than a result.
 */

#include <stdint.h>

typedef unsigned __int128 soft_wide;

enum soft_class { SOFT_NUMBER, SOFT_INFINITE, SOFT_NAN };

struct soft {
	enum soft_class class;
	int negative;
	soft_wide mantissa; /* 0: zero */
	int exponent;
};

/* The formats are named by their bits. This one has 16, too. */
#define SOFT_BF16 (-16)

static inline int soft_width(int bits)
{
	return bits == SOFT_BF16 ? 16 : bits;
}

/* 'n' nearest even, 'z' towards zero, 'm' down, 'p' up. */
typedef char soft_mode;

static inline int soft_fraction_bits(int bits)
{
	return bits == SOFT_BF16 ? 7 : bits == 16 ? 10 : bits == 32 ? 23 : 52;
}

static inline struct soft soft_read(uint64_t value, int bits)
{
	int fraction = soft_fraction_bits(bits), exponent_bits;
	int max, exponent, width = soft_width(bits);
	uint64_t mantissa = value & ((1ULL << fraction) - 1);
	struct soft s = { SOFT_NUMBER, (int)(value >> (width - 1) & 1), 0, 0 };

	exponent_bits = width - 1 - fraction;
	max = (1 << exponent_bits) - 1;
	exponent = (int)(value >> fraction) & max;
	if (exponent == max) {
		s.class = mantissa ? SOFT_NAN : SOFT_INFINITE;
		return s;
	}
	if (exponent)
		mantissa |= 1ULL << fraction;
	else
		exponent = 1;
	s.mantissa = mantissa;
	s.exponent = exponent - max / 2 - fraction;
	return s;
}

static inline int soft_length(soft_wide mantissa)
{
	int n = 0;

	while (n < 128 && mantissa >> n)
		n++;
	return n;
}

/* Shifts right; lost bits set the lowest one. */
static inline soft_wide soft_shift(soft_wide mantissa, int n)
{
	if (n >= 128)
		return mantissa != 0;
	if (n <= 0)
		return mantissa;
	return mantissa >> n | ((mantissa << (128 - n)) != 0);
}

/* Rounds to a whole multiple of 2^n: returns mantissa / 2^n. */
static inline soft_wide soft_round(soft_wide mantissa, int n, int negative,
				   soft_mode mode)
{
	soft_wide whole, lost, half;

	if (n <= 0)
		return mantissa << -n;
	if (n > 126) {
		mantissa = soft_shift(mantissa, n - 126);
		n = 126;
	}
	whole = mantissa >> n;
	lost = mantissa - (whole << n);
	half = (soft_wide)1 << (n - 1);
	if (mode == 'n')
		return whole + (lost > half || (lost == half && (whole & 1)));
	if (mode == 'z' || !lost)
		return whole;
	return whole + (negative == (mode == 'm'));
}

/* Returns the bits of a number. */
static inline uint64_t soft_write(struct soft s, int bits, soft_mode mode)
{
	int fraction = soft_fraction_bits(bits), width = soft_width(bits);
	int max = (1 << (width - 1 - fraction)) - 1, bias = max / 2;
	uint64_t sign = (uint64_t)s.negative << (width - 1);
	uint64_t infinity = (uint64_t)max << fraction;
	int least = 1 - bias - fraction, exponent, n;
	soft_wide m;

	if (s.class == SOFT_NAN)
		return width == 16 ? 0x7fff :
		       width == 32 ? 0x7fffffff :
				     0x7ff8000000000000;
	if (s.class == SOFT_INFINITE)
		return sign | infinity;
	if (!s.mantissa)
		return sign;
	n = soft_length(s.mantissa) - 1 - fraction;
	if (s.exponent + n < least)
		n = least - s.exponent;
	m = soft_round(s.mantissa, n, s.negative, mode);
	exponent = s.exponent + n;
	if (m >> (fraction + 1)) {
		m >>= 1;
		exponent++;
	}
	if (m >> fraction)
		exponent += bias + fraction;
	else
		exponent = 0;
	if (exponent < max)
		return sign | (uint64_t)exponent << fraction |
		       ((uint64_t)m & ((1ULL << fraction) - 1));
	/* overflow: infinity, or the largest number if that is nearer to zero */
	if (mode == 'n' || (mode != 'z' && s.negative == (mode == 'm')))
		return sign | infinity;
	return sign | (infinity - 1);
}

/* Moves the highest bit to bit 124. */
static inline struct soft soft_normal(struct soft s)
{
	int n = 125 - soft_length(s.mantissa);

	if (s.mantissa && n > 0) {
		s.mantissa <<= n;
		s.exponent -= n;
	}
	return s;
}

static inline struct soft soft_nan(void)
{
	struct soft s = { SOFT_NAN, 0, 0, 0 };

	return s;
}

static inline struct soft soft_add(struct soft a, struct soft b, soft_mode mode)
{
	struct soft t;

	if (a.class == SOFT_NAN || b.class == SOFT_NAN ||
	    (a.class == SOFT_INFINITE && b.class == SOFT_INFINITE &&
	     a.negative != b.negative))
		return soft_nan();
	if (a.class == SOFT_INFINITE || b.class == SOFT_INFINITE)
		return a.class == SOFT_INFINITE ? a : b;
	if (!a.mantissa && !b.mantissa) {
		if (a.negative != b.negative)
			a.negative = mode == 'm';
		return a;
	}
	if (!a.mantissa || !b.mantissa)
		return a.mantissa ? a : b;
	a = soft_normal(a);
	b = soft_normal(b);
	if (a.exponent < b.exponent ||
	    (a.exponent == b.exponent && a.mantissa < b.mantissa)) {
		t = a;
		a = b;
		b = t;
	}
	b.mantissa = soft_shift(b.mantissa, a.exponent - b.exponent);
	if (a.negative == b.negative) {
		a.mantissa += b.mantissa;
		return a;
	}
	a.mantissa -= b.mantissa;
	if (!a.mantissa)
		a.negative = mode == 'm';
	return a;
}

static inline struct soft soft_mul(struct soft a, struct soft b)
{
	struct soft r = { SOFT_NUMBER, a.negative ^ b.negative, 0, 0 };

	if (a.class == SOFT_NAN || b.class == SOFT_NAN ||
	    (a.class == SOFT_INFINITE && b.class == SOFT_NUMBER &&
	     !b.mantissa) ||
	    (b.class == SOFT_INFINITE && a.class == SOFT_NUMBER && !a.mantissa))
		return soft_nan();
	if (a.class == SOFT_INFINITE || b.class == SOFT_INFINITE) {
		r.class = SOFT_INFINITE;
		return r;
	}
	r.mantissa = a.mantissa * b.mantissa; /* 106 bits at most */
	r.exponent = a.exponent + b.exponent;
	return r;
}

static inline struct soft soft_div(struct soft a, struct soft b)
{
	struct soft r = { SOFT_NUMBER, a.negative ^ b.negative, 0, 0 };

	if (a.class == SOFT_NAN || b.class == SOFT_NAN ||
	    (a.class == SOFT_INFINITE && b.class == SOFT_INFINITE))
		return soft_nan();
	if (b.class == SOFT_INFINITE)
		return r;
	if (a.class == SOFT_NUMBER && !a.mantissa && !b.mantissa)
		return soft_nan();
	if (a.class == SOFT_INFINITE || !b.mantissa) {
		r.class = SOFT_INFINITE;
		return r;
	}
	if (!a.mantissa)
		return r;
	a = soft_normal(a);
	/* 53 bits divide 125 bits: 72 bits or more are left */
	r.mantissa = a.mantissa / b.mantissa << 1 |
		     (a.mantissa % b.mantissa != 0);
	r.exponent = a.exponent - b.exponent - 1;
	return r;
}

/* Digit by digit. */
static inline struct soft soft_sqrt(struct soft a)
{
	soft_wide root = 0, rest, bit;

	if (a.class == SOFT_NAN || (a.class == SOFT_NUMBER && !a.mantissa) ||
	    (a.class == SOFT_INFINITE && !a.negative))
		return a;
	if (a.negative)
		return soft_nan();
	a = soft_normal(a);
	if (a.exponent & 1) {
		a.mantissa <<= 1;
		a.exponent--;
	}
	rest = a.mantissa;
	for (bit = (soft_wide)1 << 126; bit; bit >>= 2) {
		if (rest >= root + bit) {
			rest -= root + bit;
			root = (root >> 1) + bit;
		} else {
			root >>= 1;
		}
	}
	a.mantissa = root << 1 | (rest != 0);
	a.exponent = a.exponent / 2 - 1;
	return a;
}

/* Rounds to an integer. Infinity and NaN stay. */
static inline struct soft soft_whole(struct soft a, soft_mode mode)
{
	if (a.class != SOFT_NUMBER || a.exponent >= 0)
		return a;
	a.mantissa = soft_round(a.mantissa, -a.exponent, a.negative, mode);
	a.exponent = 0;
	return a;
}

/* Returns -1, 0, 1, or 2 if one of them is NaN. */
static inline int soft_compare(uint64_t x, uint64_t y, int bits)
{
	struct soft a = soft_read(x, bits), b = soft_read(y, bits);
	uint64_t rest = (1ULL << (soft_width(bits) - 1)) - 1;
	uint64_t m = x & rest, n = y & rest;
	int order;

	if (a.class == SOFT_NAN || b.class == SOFT_NAN)
		return 2;
	if (!m && !n)
		return 0;
	if (a.negative != b.negative)
		return a.negative ? -1 : 1;
	order = (m > n) - (m < n);
	return a.negative ? -order : order;
}

#endif
