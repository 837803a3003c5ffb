/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_VALUES_H
#define PTX_VALUES_H

/* Functions of the expressions in opcodes.h. */

#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* ---- integers ------------------------------------------------------------ */

/* PTX leaves division by zero open. GPUs return all ones. */
static inline int64_t ptx_div_signed(int64_t a, int64_t b)
{
	if (!b)
		return -1;
	return b == -1 ? (int64_t)(0ULL - (uint64_t)a) : a / b;
}

static inline uint64_t ptx_mul_hi(uint64_t a, uint64_t b)
{
	return (uint64_t)(((unsigned __int128)a * b) >> 64);
}

static inline int64_t ptx_mul_hi_signed(int64_t a, int64_t b)
{
	return (int64_t)(((__int128)a * b) >> 64);
}

/* Returns the low 24 bits, sign-extended. */
static inline uint32_t ptx_low24(uint32_t a)
{
	return (a & 0xffffff) | (a & 0x800000 ? 0xff000000 : 0);
}

/* CC.CF after a + b + in, of numbers with so many bits. */
static inline uint64_t ptx_carry(uint64_t a, uint64_t b, uint32_t in, int bits)
{
	unsigned __int128 sum = (unsigned __int128)a + b + (in & 1);

	return (uint64_t)(sum >> bits);
}

/* Returns 1 if a - b - in borrows. */
static inline uint64_t ptx_borrow(uint64_t a, uint64_t b, uint32_t in)
{
	return a < (unsigned __int128)b + (in & 1);
}

static inline int32_t ptx_byte(uint32_t a, int i, int is_signed)
{
	uint32_t byte = a >> (8 * i) & 255;

	return is_signed ? (int8_t)byte : (int32_t)byte;
}

static inline uint32_t ptx_dot4(uint32_t a, uint32_t b, uint32_t c,
				int a_signed, int b_signed)
{
	int i;

	for (i = 0; i < 4; i++)
		c += (uint32_t)(ptx_byte(a, i, a_signed) *
				ptx_byte(b, i, b_signed));
	return c;
}

/* Halves of a by the bytes first and first + 1 of b. */
static inline uint32_t ptx_dot2(uint32_t a, uint32_t b, uint32_t c,
				int a_signed, int b_signed, int first)
{
	int i;

	for (i = 0; i < 2; i++) {
		uint32_t half = a >> (16 * i) & 0xffff;
		int32_t x = a_signed ? (int16_t)half : (int32_t)half;

		c += (uint32_t)(x * ptx_byte(b, first + i, b_signed));
	}
	return c;
}

/* The sum of the four distances of bytes, or these distances as bytes. */
static inline uint32_t ptx_distances(uint32_t a, uint32_t b, uint32_t c,
				     int sums)
{
	uint32_t bytes = 0;
	int i;

	for (i = 0; i < 4; i++) {
		int32_t x = ptx_byte(a, i, 0) - ptx_byte(b, i, 0);
		uint32_t distance = (uint32_t)(x < 0 ? -x : x);

		c += distance;
		bytes |= distance << (8 * i);
	}
	return sums ? c : bytes;
}

/* Evaluates e for both halves: x, y and z are those of the sources. */
#define PTX_PAIR(t, e)                                                         \
	__extension__({                                                        \
		uint32_t r_ = 0;                                               \
		int h_;                                                        \
		for (h_ = 0; h_ < 32; h_ += 16) {                              \
			t x = (t)(a >> h_), y = (t)(b >> h_);                  \
			t z = (t)(c >> h_);                                    \
			(void)x;                                               \
			(void)y;                                               \
			(void)z;                                               \
			r_ |= (uint32_t)(uint16_t)(e) << h_;                   \
		}                                                              \
		r_;                                                            \
	})

/* ---- bits ---------------------------------------------------------------- */

static inline uint64_t ptx_reverse(uint64_t a)
{
	uint64_t r = 0;
	int i;

	for (i = 0; i < 64; i++)
		r |= (a >> i & 1) << (63 - i);
	return r;
}

/* Returns the number of the highest 1, or all ones if there is none. */
static inline uint32_t ptx_highest(uint64_t a)
{
	return a ? 63 - (uint32_t)__builtin_clzll(a) : ~0u;
}

static inline uint64_t ptx_low_ones(uint32_t n)
{
	return n < 64 ? (1ULL << n) - 1 : ~0ULL;
}

static inline uint64_t ptx_extract(uint64_t a, uint32_t at, uint32_t n)
{
	at &= 255;
	return at < 64 ? a >> at & ptx_low_ones(n & 255) : 0;
}

/* `top` is the number of the sign bit of a. A field behind it has its value. */
static inline int64_t ptx_extract_signed(int64_t a, uint32_t at, uint32_t n,
					 uint32_t top)
{
	uint64_t ones;

	at &= 255;
	n &= 255;
	if (!n)
		return 0;
	if (at > top)
		return a < 0 ? -1 : 0;
	a >>= at;
	if (n > 63)
		return a;
	ones = ptx_low_ones(n);
	return a >> (n - 1) & 1 ? (int64_t)((uint64_t)a | ~ones) :
				  (int64_t)((uint64_t)a & ones);
}

static inline uint64_t ptx_insert(uint64_t a, uint64_t b, uint32_t at,
				  uint32_t n)
{
	uint64_t mask;

	at &= 255;
	if (at > 63)
		return b;
	mask = ptx_low_ones(n & 255) << at;
	return (b & ~mask) | (a << at & mask);
}

static inline uint32_t ptx_lop3(uint32_t a, uint32_t b, uint32_t c,
				uint32_t table)
{
	uint32_t r = 0;
	int i;

	for (i = 0; i < 8; i++)
		if (table >> i & 1)
			r |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) &
			     (i & 1 ? c : ~c);
	return r;
}

static inline uint32_t ptx_permute(uint32_t a, uint32_t b, uint32_t selectors)
{
	uint64_t bytes = (uint64_t)b << 32 | a;
	uint32_t r = 0;
	int i;

	for (i = 0; i < 4; i++) {
		uint32_t selector = selectors >> (4 * i) & 15;
		uint32_t byte = bytes >> (8 * (selector & 7)) & 255;

		if (selector & 8)
			byte = byte & 128 ? 255 : 0;
		r |= byte << (8 * i);
	}
	return r;
}

/* Returns the low 32 bits of b:a shifted right by 0 .. 32. */
static inline uint32_t ptx_funnel(uint32_t a, uint32_t b, uint32_t n)
{
	return (uint32_t)(((uint64_t)b << 32 | a) >> n);
}

/* ---- floats -------------------------------------------------------------- */

/* Evaluates e in a rounding mode. Its operands must be opaque for the compiler,
 * which does not know that fesetround() changes results. */
#define PTX_ROUNDED(mode, e)                                                   \
	__extension__({                                                        \
		volatile __typeof__(e) r_;                                     \
		if ((mode) != FE_TONEAREST)                                    \
			fesetround(mode);                                      \
		r_ = (e);                                                      \
		if ((mode) != FE_TONEAREST)                                    \
			fesetround(FE_TONEAREST);                              \
		r_;                                                            \
	})
#define PTX_OPAQUE(type, a) (*(const volatile type *)&(a))

/* Arithmetic with .f32 returns one NaN. */
static inline float ptx_f32(float a)
{
	const uint32_t canonical = 0x7fffffff;

	if (a != a)
		memcpy(&a, &canonical, sizeof(a));
	return a;
}

/* .ftz: a subnormal number is 0 with its sign. */
static inline float ptx_flush(float a)
{
	return fpclassify(a) == FP_SUBNORMAL ? copysignf(0, a) : a;
}

/* .approx.ftz.f64: the low half of the source and of the result is 0. */
static inline double ptx_high_half(double a)
{
	uint64_t bits;

	memcpy(&bits, &a, sizeof(bits));
	bits &= ~0xffffffffULL;
	memcpy(&a, &bits, sizeof(a));
	return fpclassify(a) == FP_SUBNORMAL ? copysign(0, a) : a;
}

static inline float ptx_saturate(float a)
{
	return a > 0 ? (a < 1 ? a : 1) : 0;
}

/* Of a number and a NaN it is the number. -0 is less than 0. */
static inline double ptx_min(double a, double b)
{
	if (a != a || b != b)
		return a != a ? b : a;
	if (a == b)
		return signbit(a) ? a : b;
	return a < b ? a : b;
}

static inline double ptx_max(double a, double b)
{
	if (a != a || b != b)
		return a != a ? b : a;
	if (a == b)
		return signbit(a) ? b : a;
	return a > b ? a : b;
}

static inline double ptx_round_nearest(double a)
{
	return nearbyint(a);
}

static inline double ptx_round_zero(double a)
{
	return trunc(a);
}

static inline double ptx_round_down(double a)
{
	return floor(a);
}

static inline double ptx_round_up(double a)
{
	return ceil(a);
}

static inline int64_t ptx_to_integer(double a, int64_t low, int64_t high,
				     int64_t nan)
{
	if (a != a)
		return nan;
	if (a <= (double)low)
		return low;
	return a >= (double)high ? high : (int64_t)a;
}

static inline uint64_t ptx_to_u64(double a)
{
	if (a != a)
		return 1ULL << 63;
	if (a <= 0)
		return 0;
	return a >= 0x1p64 ? ~0ULL : (uint64_t)a;
}

/* ---- slots --------------------------------------------------------------- */

static inline uint64_t ptx_slot_of_float(float a)
{
	uint32_t bits;

	memcpy(&bits, &a, sizeof(bits));
	return bits;
}

static inline uint64_t ptx_slot_of_double(double a)
{
	uint64_t bits;

	memcpy(&bits, &a, sizeof(bits));
	return bits;
}

/* A signed integer fills the register that receives it. */
static inline uint64_t ptx_slot_of_integer(uint64_t a)
{
	return a;
}

#define PTX_SLOT(a)                                                            \
	_Generic((a), float                                                    \
		 : ptx_slot_of_float, double                                   \
		 : ptx_slot_of_double, default                                 \
		 : ptx_slot_of_integer)(a)

#endif
