/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_MODEL_FLOAT_H
#define PTX_MODEL_FLOAT_H

/* A second implementation of opcodes, for test_opcodes.c: floats, comparisons and
 * conversions. */

#include "model.h"
#include "soft_float.h"

#include <math.h>

/* ---- comparisons --------------------------------------------------------- */

/* A subnormal number of 32 bits is 0 with .ftz. */
static inline uint64_t flushed(const struct model *m, uint64_t value)
{
	value = low(value, m->type.bits);
	if (has(m, "ftz") && m->type.bits == 32 && !(value & 0x7f800000))
		value &= 0x80000000;
	return value;
}

/* Is an order -1, 0, 1 (or 2 with a NaN) what a comparison asks for? */
static inline int holds(const char *name, int order)
{
	static const struct {
		const char *name, *orders; /* '<', '=', '>', '?' */
	} rows[] = { { "eq", "=" },    { "ne", "<>" },	 { "lt", "<" },
		     { "le", "<=" },   { "gt", ">" },	 { "ge", ">=" },
		     { "lo", "<" },    { "ls", "<=" },	 { "hi", ">" },
		     { "hs", ">=" },   { "equ", "=?" },	 { "neu", "<>?" },
		     { "ltu", "<?" },  { "leu", "<=?" }, { "gtu", ">?" },
		     { "geu", ">=?" }, { "num", "<=>" }, { "nan", "?" } };
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strcmp(rows[i].name, name))
			return strchr(rows[i].orders, "<=>?"[order + 1]) !=
			       NULL;
	return -1;
}

static inline int compare(struct model *m)
{
	wide a = in_of(m, 0), b = in_of(m, 1);
	int order = m->type.kind == 'f' ?
			    soft_compare(flushed(m, m->in[0]),
					 flushed(m, m->in[1]), m->type.format) :
			    (a > b) - (a < b);
	int result = holds(m->part[1], order);

	m->result_bits = 1;
	m->result = (uint64_t)result;
	if (!strcmp(m->part[0], "set")) {
		struct soft one = { SOFT_NUMBER, 0, 1, 0 };

		m->result_bits = 16;
		m->result = !result ? 0 :
			    has(m, "u32") ?
				      0xffff :
				      soft_write(one, m->type.format, 'n');
	}
	return result >= 0;
}

/* ---- floats -------------------------------------------------------------- */

static inline soft_mode mode_of(const struct model *m)
{
	return has(m, "rz") || has(m, "rzi") ? 'z' :
	       has(m, "rm") || has(m, "rmi") ? 'm' :
	       has(m, "rp") || has(m, "rpi") ? 'p' :
					       'n';
}

static inline struct soft soft_in(const struct model *m, int i)
{
	return soft_read(flushed(m, m->in[i]), m->type.format);
}

static inline void choose(struct model *m, int wanted)
{
	int width = m->type.bits, format = m->type.format;
	uint64_t x = flushed(m, m->in[0]), y = flushed(m, m->in[1]);
	int order = soft_compare(x, y, format);

	if (order == 0) /* only the signs of zeros differ */
		order = (y >> (width - 1) & 1) > (x >> (width - 1) & 1) ? 1 :
									  -1;
	if (order == 2 && has(m, "NaN"))
		m->result = soft_write(soft_nan(), format, 'n');
	else if (order == 2 && soft_read(x, format).class == SOFT_NAN)
		m->result = y;
	else if (order == 2)
		m->result = x;
	else
		m->result = order == wanted ? x : y;
	if (soft_read(m->result, format).class == SOFT_NAN)
		m->result = soft_write(soft_nan(), format, 'n');
}

static inline int sign_bits(struct model *m)
{
	uint64_t sign = 1ULL << (m->type.bits - 1);

	if (!strcmp(m->part[0], "neg"))
		m->result = flushed(m, m->in[0]) ^ sign;
	else if (!strcmp(m->part[0], "abs"))
		m->result = flushed(m, m->in[0]) & ~sign;
	else if (!strcmp(m->part[0], "copysign"))
		m->result = (m->in[1] & ~sign) | (m->in[0] & sign);
	else
		return 0;
	return 1;
}

static inline double soft_double(uint64_t value, int format)
{
	uint64_t bits = soft_write(soft_read(low(value, 16), format), 64, 'n');
	double d;

	memcpy(&d, &bits, sizeof(d));
	return d;
}

static inline struct soft soft_of(double d)
{
	uint64_t bits;

	memcpy(&bits, &d, sizeof(bits));
	return soft_read(bits, 64);
}

/* The high half of a double, or a zero instead of a subnormal number. */
static inline uint64_t high_half(uint64_t value)
{
	return value >> 52 & 0x7ff ? value & ~0xffffffffULL :
				     value & 1ULL << 63;
}

static inline double as_double(uint64_t value, int format, int flush)
{
	int width = soft_width(format);
	float f;
	double d;
	uint32_t w = (uint32_t)value;

	if (soft_width(format) == 16)
		return soft_double(value, format);
	if (width == 64) {
		value = flush ? high_half(value) : value;
		memcpy(&d, &value, sizeof(d));
		return d;
	}
	if (flush && !(w & 0x7f800000))
		w &= 0x80000000;
	memcpy(&f, &w, sizeof(f));
	return (double)f;
}

static inline int approximate(struct model *m)
{
	int flush = has(m, "ftz"), width = m->type.bits;
	int format = m->type.format;
	long double a = as_double(m->in[0], format, flush);
	long double b = as_double(m->in[1], format, flush);
	const char *name = m->part[0];
	long double r = !strcmp(name, "rcp")   ? 1 / a :
			!strcmp(name, "sqrt")  ? sqrtl(a) :
			!strcmp(name, "rsqrt") ? 1 / sqrtl(a) :
			!strcmp(name, "ex2")   ? exp2l(a) :
			!strcmp(name, "lg2")   ? log2l(a) :
			!strcmp(name, "sin")   ? sinl(a) :
			!strcmp(name, "cos")   ? cosl(a) :
			!strcmp(name, "tanh")  ? tanhl(a) :
						 a / b;
	double d = (double)r;
	float f = (float)r;
	uint32_t w;

	m->is_close = 1;
	if (width == 16) {
		m->result = soft_write(soft_of(d), format, 'n');
		return 1;
	}
	if (width == 64) {
		memcpy(&m->result, &d, sizeof(d));
		m->result = flush ? high_half(m->result) : m->result;
		return 1;
	}
	memcpy(&w, &f, sizeof(f));
	if (flush && !(w & 0x7f800000))
		w &= 0x80000000;
	m->result = w;
	return 1;
}

static inline int is_special_number(const struct model *m)
{
	return has(m, "approx") || has(m, "full");
}

/* Clamps to 0 .. 1. NaN becomes 0. */
static inline uint64_t saturated(uint64_t value, int width)
{
	struct soft one = { SOFT_NUMBER, 0, 1, 0 };
	uint64_t most = soft_write(one, width, 'n');

	if (soft_compare(value, 0, width) != 1)
		return 0;
	return soft_compare(value, most, width) == 1 ? most : value;
}

static inline int arithmetic(struct model *m)
{
	const char *name = m->part[0];
	soft_mode mode = mode_of(m);
	struct soft a = soft_in(m, 0), b = soft_in(m, 1), c = soft_in(m, 2), r;
	struct soft one = { SOFT_NUMBER, 0, 1, 0 };

	if (!strcmp(name, "sub"))
		b.negative = !b.negative;
	if (!strcmp(name, "add") || !strcmp(name, "sub"))
		r = soft_add(a, b, mode);
	else if (!strcmp(name, "mul"))
		r = soft_mul(a, b);
	else if (!strcmp(name, "div"))
		r = soft_div(a, b);
	else if (!strcmp(name, "rcp"))
		r = soft_div(one, a);
	else if (!strcmp(name, "sqrt"))
		r = soft_sqrt(a);
	else if (!strcmp(name, "fma"))
		r = soft_add(soft_mul(a, b), c, mode);
	else
		return sign_bits(m);
	m->result = flushed(m, soft_write(r, m->type.format, mode));
	if (has(m, "sat"))
		m->result = saturated(m->result, m->type.format);
	if (has(m, "relu") && m->result >> (m->type.bits - 1))
		m->result = 0;
	return 1;
}

static inline int floats(struct model *m)
{
	if (is_special_number(m))
		return approximate(m);
	if (!strcmp(m->part[0], "min"))
		choose(m, -1);
	else if (!strcmp(m->part[0], "max"))
		choose(m, 1);
	else
		return arithmetic(m);
	return 1;
}

/* ---- conversions --------------------------------------------------------- */

static inline void to_integer(struct model *m, struct type to, struct soft s)
{
	wide max = ((wide)1 << (to.kind == 's' ? to.bits - 1 : to.bits)) - 1;
	wide min = to.kind == 's' ? -max - 1 : 0, value;

	if (s.class == SOFT_NAN) {
		m->result = m->type.bits == 64 || to.bits == 64 ?
				    1ULL << (to.bits - 1) :
				    0;
		return;
	}
	s = soft_whole(s, mode_of(m));
	if (s.class == SOFT_INFINITE || (s.mantissa && s.exponent > 64))
		value = s.negative ? min : max;
	else
		value = (wide)(s.mantissa << s.exponent) *
			(s.negative ? -1 : 1);
	value = value < min ? min : value > max ? max : value;
	m->result = (uint64_t)value;
}

static inline void to_float(struct model *m, struct type to, wide value)
{
	struct soft s = { SOFT_NUMBER, value < 0,
			  (soft_wide)(value < 0 ? -value : value), 0 };

	m->result = soft_write(s, to.format, mode_of(m));
}

static inline void float_to_float(struct model *m, struct type to)
{
	int is_whole = strlen(m->part[1]) == 3 && m->part[1][0] == 'r';
	struct soft s = soft_in(m, 0);

	if (has(m, "sat")) {
		m->result = saturated(flushed(m, m->in[0]), 32);
		return;
	}
	if (to.format == m->type.format && !is_whole) {
		m->result = flushed(m, m->in[0]);
		return;
	}
	if (is_whole)
		s = soft_whole(s, mode_of(m));
	m->result = soft_write(s, to.format, mode_of(m));
	if (has(m, "ftz") && to.bits == 32 && !(m->result & 0x7f800000))
		m->result &= 0x80000000;
}

/* Two numbers into one register. */
static inline int both(struct model *m, struct type to)
{
	uint64_t upper = soft_write(soft_in(m, 0), to.format, mode_of(m));

	m->result = upper << 16 |
		    soft_write(soft_in(m, 1), to.format, mode_of(m));
	m->result_bits = 32;
	return 1;
}

static inline int convert(struct model *m)
{
	struct type to = { 0 };

	if (!read_type(m->part[m->n - 2], &to))
		return 0;
	if (strstr(m->part[m->n - 2], "x2"))
		return both(m, to);
	m->result_bits = to.bits;
	if (to.kind == 'f' && m->type.kind == 'f')
		float_to_float(m, to);
	else if (to.kind == 'f')
		to_float(m, to, in_of(m, 0));
	else if (m->type.kind == 'f')
		to_integer(m, to, soft_in(m, 0));
	else
		m->result = (uint64_t)in_of(m, 0);
	/* a short signed result fills the register */
	if (to.kind == 's' && to.bits < 32) {
		m->result = (uint64_t)read_as(m->result, to);
		m->result_bits = 32;
	}
	return 1;
}

#endif
