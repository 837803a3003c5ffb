/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PTX_MODEL_H
#define PTX_MODEL_H

/* A second implementation of opcodes, for test_opcodes.c: integers and bits. It
 * reads the text of an opcode and computes with wide integers. */

#include "soft_float.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef __int128 wide;
typedef unsigned __int128 uwide;

/* ---- types --------------------------------------------------------------- */

struct type {
	char kind; /* 'u', 's', 'b', 'f' or 'p' */
	int bits;
	int format; /* of a float, for soft_float.h */
};

/* An opcode in parts, its sources and its result. */
struct model {
	char text[64];
	const char *part[8];
	int n;
	struct type type; /* of the last part */
	uint64_t in[4];
	uint64_t result;
	int result_bits;
	int is_close; /* an approximation: the result may differ a little */
	int is_pair; /* two numbers of 16 bits in a register */
};

static inline int read_type(const char *text, struct type *type)
{
	type->format = 0;
	if (!strcmp(text, "pred")) {
		type->kind = 'p';
		type->bits = 1;
		return 1;
	}
	type->kind = *text;
	type->bits = atoi(text + 1);
	type->format = type->bits;
	if (!strncmp(text, "bf", 2)) {
		type->kind = 'f';
		type->bits = 16;
		type->format = SOFT_BF16;
	}
	return strchr("usbf", *text) && type->bits;
}

static inline int has(const struct model *m, const char *part)
{
	int i;

	for (i = 1; i < m->n; i++)
		if (!strcmp(m->part[i], part))
			return 1;
	return 0;
}

static inline uint64_t low(uint64_t value, int bits)
{
	return bits < 64 ? value & ((1ULL << bits) - 1) : value;
}

static inline wide read_as(uint64_t value, struct type type)
{
	value = low(value, type.bits);
	if (type.kind == 's' && value >> (type.bits - 1))
		return (wide)value - ((wide)1 << type.bits);
	return (wide)value;
}

static inline wide in_of(const struct model *m, int i)
{
	return read_as(m->in[i], m->type);
}

static inline int bit(uint64_t value, int i)
{
	return (int)(value >> i & 1);
}

/* ---- integers ------------------------------------------------------------ */

static inline int multiply(struct model *m)
{
	int is_mad = m->part[0][1] == 'a', bits = m->type.bits;
	wide product = (wide)((uwide)in_of(m, 0) * (uwide)in_of(m, 1));
	struct type wider = { m->type.kind, bits * 2, 0 };

	if (!strcmp(m->part[1], "wide")) {
		m->result_bits = bits * 2;
		m->result = (uint64_t)product +
			    (is_mad ? (uint64_t)read_as(m->in[2], wider) : 0);
		return 1;
	}
	if (!strcmp(m->part[1], "hi"))
		product = m->type.kind == 'u' ? (wide)((uwide)product >> bits) :
						product >> bits;
	m->result = (uint64_t)product + (is_mad ? (uint64_t)in_of(m, 2) : 0);
	return 1;
}

static inline int divide(struct model *m)
{
	wide a = in_of(m, 0), b = in_of(m, 1);
	int is_rem = !strcmp(m->part[0], "rem");

	if (!b)
		m->result = is_rem ? (uint64_t)a : ~0ULL;
	else
		m->result = (uint64_t)(is_rem ? a - a / b * b : a / b);
	return 1;
}

static inline int integer(struct model *m)
{
	const char *name = m->part[0];
	wide a = in_of(m, 0), b = in_of(m, 1), c = in_of(m, 2);
	struct type type24 = { m->type.kind, 24, 0 };

	if (!strcmp(name, "add"))
		m->result = (uint64_t)(a + b);
	else if (!strcmp(name, "sub"))
		m->result = (uint64_t)(a - b);
	else if (!strcmp(name, "mul") || !strcmp(name, "mad"))
		return multiply(m);
	else if (!strcmp(name, "mul24"))
		m->result = (uint64_t)(read_as(m->in[0], type24) *
				       read_as(m->in[1], type24));
	else if (!strcmp(name, "div") || !strcmp(name, "rem"))
		return divide(m);
	else if (!strcmp(name, "min"))
		m->result = (uint64_t)(b < a ? b : a);
	else if (!strcmp(name, "max"))
		m->result = (uint64_t)(b < a ? a : b);
	else if (!strcmp(name, "neg"))
		m->result = (uint64_t)(0 - a);
	else if (!strcmp(name, "abs"))
		m->result = (uint64_t)(a < 0 ? 0 - a : a);
	else if (!strcmp(name, "sad"))
		m->result = (uint64_t)(c + (a < b ? b - a : a - b));
	else
		return 0;
	if (has(m, "relu") && read_as(m->result, m->type) < 0)
		m->result = 0;
	return 1;
}

/* Which value CC.CF has before and after an opcode: the last source, and the
 * result of an opcode with .cc. */
static inline int is_carry(const char *text)
{
	return !strncmp(text, "addc", 4) || !strncmp(text, "subc", 4) ||
	       !strncmp(text, "madc", 4);
}

static inline int carry(struct model *m)
{
	int bits = m->type.bits, is_mad = *m->part[0] == 'm';
	uwide x = low(m->in[0], bits), y = low(m->in[1], bits), sum;
	uint32_t in = m->in[is_mad ? 3 : 2] & 1;

	if (*m->part[0] == 's') {
		sum = x + low(~(uint64_t)y, bits) + in;
	} else if (is_mad) {
		uwide product = (uwide)in_of(m, 0) * (uwide)in_of(m, 1);

		x = has(m, "hi") ? product >> bits : product;
		sum = (uwide)low((uint64_t)x, bits) + low(m->in[2], bits) + in;
	} else {
		sum = x + y + in;
	}
	m->result = (uint64_t)sum;
	if (has(m, "cc")) {
		m->result_bits = 32;
		m->result = (uint64_t)(sum >> bits) & 1;
	}
	return 1;
}

/* Sums of products of bytes. A part of the opcode is the type of a source. */
static inline int dot(struct model *m)
{
	int k, n = strcmp(m->part[0], "dp4a") ? 2 : 4;
	int first = has(m, "hi") ? 2 : 0;
	struct type x = { *m->part[m->n - 2], 32 / n, 0 },
		    y = { m->type.kind, 8, 0 };
	wide sum = low(m->in[2], 32);

	for (k = 0; k < n; k++)
		sum += read_as(m->in[0] >> (k * x.bits), x) *
		       read_as(m->in[1] >> ((first + k) * 8), y);
	m->result = (uint64_t)sum;
	return 1;
}

static inline int distances(struct model *m)
{
	uint64_t byte[2], distance;
	int k;

	m->result = has(m, "add") ? m->in[2] : 0;
	for (k = 0; k < 32; k += 8) {
		byte[0] = low(m->in[0] >> k, 8);
		byte[1] = low(m->in[1] >> k, 8);
		distance = byte[0] < byte[1] ? byte[1] - byte[0] :
					       byte[0] - byte[1];
		m->result += has(m, "add") ? distance : distance << k;
	}
	return 1;
}

static inline int packed(struct model *m)
{
	if (!strncmp(m->part[0], "dp", 2))
		return dot(m);
	if (!strcmp(m->part[0], "vabsdiff4"))
		return distances(m);
	return is_carry(m->text) ? carry(m) : 0;
}

/* ---- bits ---------------------------------------------------------------- */

/* bfe and bfi as the PTX ISA states them, bit by bit. */
static inline void extract(struct model *m)
{
	int at = (int)low(m->in[1], 8), n = (int)low(m->in[2], 8), i;
	int top = m->type.bits - 1;
	int last = at + n - 1 < top ? at + n - 1 : top;
	int sign = m->type.kind == 'u' || !n ? 0 : bit(m->in[0], last);

	m->result = 0;
	for (i = 0; i <= top; i++) {
		int inside = i < n && at + i <= top;

		m->result |= (uint64_t)(inside ? bit(m->in[0], at + i) : sign)
			     << i;
	}
}

static inline void insert(struct model *m)
{
	int at = (int)low(m->in[2], 8), n = (int)low(m->in[3], 8), i;

	m->result = m->in[1];
	for (i = 0; i < n && at + i < m->type.bits; i++) {
		m->result &= ~(1ULL << (at + i));
		m->result |= (uint64_t)bit(m->in[0], i) << (at + i);
	}
}

static inline void find(struct model *m)
{
	int i = m->type.bits - 1;
	int sign = m->type.kind == 's' && bit(m->in[0], i);

	while (i >= 0 && bit(m->in[0], i) == sign)
		i--;
	m->result_bits = 32;
	m->result = i < 0	       ? ~0ULL :
		    has(m, "shiftamt") ? (uint64_t)(m->type.bits - 1 - i) :
					 (uint64_t)i;
}

static inline void funnel(struct model *m)
{
	uint32_t n = (uint32_t)m->in[2];
	uwide both = (uwide)low(m->in[1], 32) << 32 | low(m->in[0], 32);

	n = has(m, "wrap") ? n % 32 : n > 32 ? 32 : n;
	m->result = (uint64_t)(has(m, "l") ? both << n >> 32 : both >> n);
}

/* By halves and doubles. A number of steps above the width is the width. */
static inline void shift(struct model *m)
{
	uint32_t n = (uint32_t)m->in[1];
	wide a = in_of(m, 0);

	n = n > (uint32_t)m->type.bits ? (uint32_t)m->type.bits : n;
	for (; n; n--)
		a = !strcmp(m->part[0], "shl") ? (wide)((uwide)a * 2) :
						 (a - (a & 1)) / 2;
	m->result = (uint64_t)a;
}

static inline void permute(struct model *m)
{
	int i, k, selector, byte;

	m->result = 0;
	for (i = 0; i < 4; i++) {
		selector = (int)(m->in[2] >> (4 * i)) & 15;
		k = selector & 7;
		byte = (int)(m->in[k / 4] >> (8 * (k % 4))) & 255;
		if (selector > 7)
			byte = byte > 127 ? 255 : 0;
		m->result |= (uint64_t)byte << (8 * i);
	}
}

static inline void lop3(struct model *m)
{
	int i, index;

	m->result = 0;
	for (i = 0; i < 32; i++) {
		index = bit(m->in[0], i) * 4 + bit(m->in[1], i) * 2 +
			bit(m->in[2], i);
		m->result |= (uint64_t)bit(m->in[3], index) << i;
	}
}

static inline void count(struct model *m)
{
	int i;

	m->result = 0;
	m->result_bits = 32;
	if (!strcmp(m->part[0], "popc"))
		for (i = 0; i < m->type.bits; i++)
			m->result += (uint64_t)bit(m->in[0], i);
	else
		for (i = m->type.bits - 1; i >= 0 && !bit(m->in[0], i); i--)
			m->result++;
}

static inline void reverse(struct model *m)
{
	int i;

	m->result = 0;
	for (i = 0; i < m->type.bits; i++)
		m->result = m->result * 2 + (uint64_t)bit(m->in[0], i);
}

static inline int logic(struct model *m)
{
	const char *name = m->part[0];
	int i, x, y;

	m->result = 0;
	for (i = 0; i < m->type.bits; i++) {
		x = bit(m->in[0], i);
		y = bit(m->in[1], i);
		if (!strcmp(name, "and"))
			x = x + y == 2;
		else if (!strcmp(name, "or"))
			x = x + y > 0;
		else if (!strcmp(name, "xor"))
			x = x != y;
		else if (!strcmp(name, "not"))
			x = 1 - x;
		else
			return 0;
		m->result |= (uint64_t)x << i;
	}
	return 1;
}

static inline int bits(struct model *m)
{
	static const struct {
		const char *name;
		void (*compute)(struct model *m);
	} rows[] = { { "bfe", extract },  { "bfi", insert },  { "bfind", find },
		     { "shf", funnel },	  { "shl", shift },   { "shr", shift },
		     { "prmt", permute }, { "lop3", lop3 },   { "popc", count },
		     { "clz", count },	  { "brev", reverse } };
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strcmp(m->part[0], rows[i].name)) {
			rows[i].compute(m);
			return 1;
		}
	if (!strcmp(m->part[0], "mov"))
		m->result = m->in[0];
	else if (!strcmp(m->part[0], "selp"))
		m->result = m->in[2] & 1 ? m->in[0] : m->in[1];
	else if (!strcmp(m->part[0], "cnot"))
		m->result = low(m->in[0], m->type.bits) == 0;
	else
		return logic(m);
	return 1;
}

#endif
