/* SPDX-License-Identifier: Apache-2.0 */
#include "half.h"

/*
 * Sums are rounded to odd as doubles, then to 16 bits. So the result is rounded
 * once (Boldo, Melquiond, IEEE Trans. Computers 2008).
 */

double ptx_half(uint16_t a, int fraction)
{
	int max = (1 << (15 - fraction)) - 1, exponent = a >> fraction & max;
	int mantissa = a & ((1 << fraction) - 1);
	double value = mantissa ? NAN : INFINITY;

	if (exponent < max)
		value = ldexp(exponent ? mantissa | 1 << fraction : mantissa,
			      (exponent ? exponent : 1) - max / 2 - fraction);
	return a >> 15 ? -value : value;
}

/* Rounds |a| / 2^n to an integer. */
static uint32_t ptx_half_round(long double a, int n, int negative, int mode)
{
	long double units = ldexpl(a, -n), whole = floorl(units);
	long double lost = units - whole;
	uint32_t r = (uint32_t)whole;

	if (mode == FE_TONEAREST)
		return r + (lost > 0.5L || (lost == 0.5L && (r & 1)));
	if (mode == FE_TOWARDZERO)
		return r;
	return r + (lost > 0 && negative == (mode == FE_DOWNWARD));
}

/* A number above the largest one: infinity, or the largest number. */
static uint32_t ptx_half_overflow(int fraction, int negative, int mode)
{
	uint32_t infinity = (uint32_t)((1 << (15 - fraction)) - 1) << fraction;

	if (mode == FE_TOWARDZERO)
		return infinity - 1;
	return mode == FE_TONEAREST || negative == (mode == FE_DOWNWARD) ?
		       infinity :
		       infinity - 1;
}

uint16_t ptx_to_half(long double a, int fraction, int mode)
{
	int max = (1 << (15 - fraction)) - 1, least = 1 - max / 2, exponent;
	uint32_t infinity = (uint32_t)max << fraction, r;
	int negative = signbit(a) != 0;

	if (a != a)
		return PTX_HALF_NAN;
	a = fabsl(a);
	exponent = a > 0 && a < 0x1p200L ? ilogbl(a) : least;
	exponent = exponent < least ? least : exponent;
	if (isinf(a)) {
		r = infinity;
	} else if (a < 0x1p200L) {
		r = ptx_half_round(a, exponent - fraction, negative, mode);
		r += (uint32_t)(exponent - least) << fraction;
	} else {
		r = infinity + 1;
	}
	if (r > infinity || (r == infinity && !isinf(a)))
		r = ptx_half_overflow(fraction, negative, mode);
	return (uint16_t)(negative << 15 | (int)r);
}

/* a + b, rounded to odd. */
static double ptx_odd_sum(double a, double b)
{
	double sum = a + b, part = sum - a;
	double lost = (a - (sum - part)) + (b - part);
	uint64_t bits;

	memcpy(&bits, &sum, sizeof(bits));
	if (!isfinite(sum) || lost == 0 || bits & 1)
		return sum;
	return nextafter(sum, lost > 0 ? INFINITY : -INFINITY);
}

static uint16_t ptx_half_result(double a, int fraction, enum ptx_half_end end)
{
	if (end == PTX_HALF_SAT)
		a = a > 0 ? (a < 1 ? a : 1) : 0;
	if (end == PTX_HALF_RELU && a <= 0)
		a = 0;
	return ptx_to_half(a, fraction, FE_TONEAREST);
}

uint16_t ptx_half_add(uint16_t a, uint16_t b, int fraction,
		      enum ptx_half_end end)
{
	return ptx_half_result(ptx_odd_sum(ptx_half(a, fraction),
					   ptx_half(b, fraction)),
			       fraction, end);
}

uint16_t ptx_half_sub(uint16_t a, uint16_t b, int fraction,
		      enum ptx_half_end end)
{
	return ptx_half_result(ptx_odd_sum(ptx_half(a, fraction),
					   -ptx_half(b, fraction)),
			       fraction, end);
}

uint16_t ptx_half_mul(uint16_t a, uint16_t b, int fraction,
		      enum ptx_half_end end)
{
	return ptx_half_result(ptx_half(a, fraction) * ptx_half(b, fraction),
			       fraction, end);
}

uint16_t ptx_half_fma(uint16_t a, uint16_t b, uint16_t c, int fraction,
		      enum ptx_half_end end)
{
	return ptx_half_result(
		ptx_odd_sum(ptx_half(a, fraction) * ptx_half(b, fraction),
			    ptx_half(c, fraction)),
		fraction, end);
}

uint16_t ptx_half_min(uint16_t a, uint16_t b, int fraction, int is_max, int nan)
{
	double x = ptx_half(a, fraction), y = ptx_half(b, fraction);

	if (nan && (x != x || y != y))
		return PTX_HALF_NAN;
	return ptx_to_half(is_max ? ptx_max(x, y) : ptx_min(x, y), fraction,
			   FE_TONEAREST);
}

uint16_t ptx_half_one(int fraction)
{
	return ptx_to_half(1, fraction, FE_TONEAREST);
}
