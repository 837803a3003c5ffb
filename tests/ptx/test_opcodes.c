/* SPDX-License-Identifier: Apache-2.0 */
/* Each opcode of opcodes.h agrees with a second implementation, which reads the
 * opcode's text and computes with wide integers. */
#include "opcodes.h"
#include "run.h"
#include "soft_float.h"

#include <math.h>

typedef __int128 wide;
typedef unsigned __int128 uwide;

/* ---- types --------------------------------------------------------------- */

struct type {
	char kind; /* 'u', 's', 'b', 'f' or 'p' */
	int bits;
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
};

static int read_type(const char *text, struct type *type)
{
	if (!strcmp(text, "pred")) {
		type->kind = 'p';
		type->bits = 1;
		return 1;
	}
	type->kind = *text;
	type->bits = atoi(text + 1);
	return strchr("usbf", *text) && type->bits;
}

static int has(const struct model *m, const char *part)
{
	int i;

	for (i = 1; i < m->n; i++)
		if (!strcmp(m->part[i], part))
			return 1;
	return 0;
}

static uint64_t low(uint64_t value, int bits)
{
	return bits < 64 ? value & ((1ULL << bits) - 1) : value;
}

static wide read_as(uint64_t value, struct type type)
{
	value = low(value, type.bits);
	if (type.kind == 's' && value >> (type.bits - 1))
		return (wide)value - ((wide)1 << type.bits);
	return (wide)value;
}

static wide in_of(const struct model *m, int i)
{
	return read_as(m->in[i], m->type);
}

static int bit(uint64_t value, int i)
{
	return (int)(value >> i & 1);
}

/* ---- integers ------------------------------------------------------------ */

static int multiply(struct model *m)
{
	int is_mad = m->part[0][1] == 'a', bits = m->type.bits;
	wide product = (wide)((uwide)in_of(m, 0) * (uwide)in_of(m, 1));
	struct type wider = { m->type.kind, bits * 2 };

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

static int divide(struct model *m)
{
	wide a = in_of(m, 0), b = in_of(m, 1);
	int is_rem = !strcmp(m->part[0], "rem");

	if (!b)
		m->result = is_rem ? (uint64_t)a : ~0ULL;
	else
		m->result = (uint64_t)(is_rem ? a - a / b * b : a / b);
	return 1;
}

static int integer(struct model *m)
{
	const char *name = m->part[0];
	wide a = in_of(m, 0), b = in_of(m, 1), c = in_of(m, 2);
	struct type type24 = { m->type.kind, 24 };

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
	return 1;
}

/* ---- bits ---------------------------------------------------------------- */

/* bfe and bfi as the PTX ISA states them, bit by bit. */
static void extract(struct model *m)
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

static void insert(struct model *m)
{
	int at = (int)low(m->in[2], 8), n = (int)low(m->in[3], 8), i;

	m->result = m->in[1];
	for (i = 0; i < n && at + i < m->type.bits; i++) {
		m->result &= ~(1ULL << (at + i));
		m->result |= (uint64_t)bit(m->in[0], i) << (at + i);
	}
}

static void find(struct model *m)
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

static void funnel(struct model *m)
{
	uint32_t n = (uint32_t)m->in[2];
	uwide both = (uwide)low(m->in[1], 32) << 32 | low(m->in[0], 32);

	n = has(m, "wrap") ? n % 32 : n > 32 ? 32 : n;
	m->result = (uint64_t)(has(m, "l") ? both << n >> 32 : both >> n);
}

/* By halves and doubles. A number of steps above the width is the width. */
static void shift(struct model *m)
{
	uint32_t n = (uint32_t)m->in[1];
	wide a = in_of(m, 0);

	n = n > (uint32_t)m->type.bits ? (uint32_t)m->type.bits : n;
	for (; n; n--)
		a = !strcmp(m->part[0], "shl") ? (wide)((uwide)a * 2) :
						 (a - (a & 1)) / 2;
	m->result = (uint64_t)a;
}

static void permute(struct model *m)
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

static void lop3(struct model *m)
{
	int i, index;

	m->result = 0;
	for (i = 0; i < 32; i++) {
		index = bit(m->in[0], i) * 4 + bit(m->in[1], i) * 2 +
			bit(m->in[2], i);
		m->result |= (uint64_t)bit(m->in[3], index) << i;
	}
}

static void count(struct model *m)
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

static void reverse(struct model *m)
{
	int i;

	m->result = 0;
	for (i = 0; i < m->type.bits; i++)
		m->result = m->result * 2 + (uint64_t)bit(m->in[0], i);
}

static int logic(struct model *m)
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

static int bits(struct model *m)
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

/* ---- comparisons --------------------------------------------------------- */

/* Is an order -1, 0, 1 (or 2 with a NaN) what a comparison asks for? */
static int holds(const char *name, int order)
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

static int compare(struct model *m)
{
	wide a = in_of(m, 0), b = in_of(m, 1);
	int order = m->type.kind == 'f' ?
			    soft_compare(low(m->in[0], m->type.bits),
					 low(m->in[1], m->type.bits),
					 m->type.bits) :
			    (a > b) - (a < b);
	int result = holds(m->part[1], order);

	m->result_bits = 1;
	m->result = (uint64_t)result;
	return result >= 0;
}

/* ---- floats -------------------------------------------------------------- */

static soft_mode mode_of(const struct model *m)
{
	return has(m, "rz") || has(m, "rzi") ? 'z' :
	       has(m, "rm") || has(m, "rmi") ? 'm' :
	       has(m, "rp") || has(m, "rpi") ? 'p' :
					       'n';
}

static struct soft soft_in(const struct model *m, int i)
{
	return soft_read(low(m->in[i], m->type.bits), m->type.bits);
}

static void choose(struct model *m, int wanted)
{
	int width = m->type.bits;
	uint64_t x = low(m->in[0], width), y = low(m->in[1], width);
	int order = soft_compare(x, y, width);

	if (order == 0) /* only the signs of zeros differ */
		order = (y >> (width - 1) & 1) > (x >> (width - 1) & 1) ? 1 :
									  -1;
	if (order == 2 && soft_read(x, width).class == SOFT_NAN)
		m->result = y;
	else if (order == 2)
		m->result = x;
	else
		m->result = order == wanted ? x : y;
	if (soft_read(m->result, width).class == SOFT_NAN)
		m->result = soft_write(soft_nan(), width, 'n');
}

static int sign_bits(struct model *m)
{
	uint64_t sign = 1ULL << (m->type.bits - 1);

	if (!strcmp(m->part[0], "neg"))
		m->result = m->in[0] ^ sign;
	else if (!strcmp(m->part[0], "abs"))
		m->result = m->in[0] & ~sign;
	else if (!strcmp(m->part[0], "copysign"))
		m->result = (m->in[1] & ~sign) | (m->in[0] & sign);
	else
		return 0;
	return 1;
}

static double as_double(uint64_t value, int width, int flush)
{
	float f;
	double d;
	uint32_t w = (uint32_t)value;

	if (width == 64) {
		memcpy(&d, &value, sizeof(d));
		return d;
	}
	if (flush && !(w & 0x7f800000))
		w &= 0x80000000;
	memcpy(&f, &w, sizeof(f));
	return (double)f;
}

static int approximate(struct model *m)
{
	int flush = has(m, "ftz"), width = m->type.bits;
	long double a = as_double(m->in[0], width, flush);
	long double b = as_double(m->in[1], width, flush);
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
	if (width == 64) {
		memcpy(&m->result, &d, sizeof(d));
		return 1;
	}
	memcpy(&w, &f, sizeof(f));
	if (flush && !(w & 0x7f800000))
		w &= 0x80000000;
	m->result = w;
	return 1;
}

static int is_special_number(const struct model *m)
{
	return has(m, "approx") || has(m, "full");
}

static int arithmetic(struct model *m)
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
	m->result = soft_write(r, m->type.bits, mode);
	return 1;
}

static int floats(struct model *m)
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

static void to_integer(struct model *m, struct type to, struct soft s)
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

static void to_float(struct model *m, struct type to, wide value)
{
	struct soft s = { SOFT_NUMBER, value < 0,
			  (soft_wide)(value < 0 ? -value : value), 0 };

	m->result = soft_write(s, to.bits, mode_of(m));
}

static void float_to_float(struct model *m, struct type to)
{
	int is_whole = strlen(m->part[1]) == 3 && m->part[1][0] == 'r';
	struct soft s = soft_in(m, 0);

	if (has(m, "sat")) {
		if (s.class == SOFT_NAN || s.negative)
			m->result = 0;
		else if (soft_compare(low(m->in[0], 32), 0x3f800000, 32) > 0)
			m->result = 0x3f800000;
		else
			m->result = low(m->in[0], 32);
		return;
	}
	if (to.bits == m->type.bits && !is_whole) {
		m->result = m->in[0];
		return;
	}
	if (is_whole)
		s = soft_whole(s, mode_of(m));
	m->result = soft_write(s, to.bits, mode_of(m));
}

static int convert(struct model *m)
{
	struct type to;

	if (!read_type(m->part[m->n - 2], &to))
		return 0;
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

/* ---- comparison of both -------------------------------------------------- */

/* Computes m->result. Returns 0 if the opcode is unknown. */
static int compute(struct model *m)
{
	m->result_bits = m->type.bits;
	m->is_close = 0;
	if (!strcmp(m->part[0], "setp"))
		return compare(m);
	if (!strcmp(m->part[0], "cvt"))
		return convert(m);
	if (bits(m))
		return 1;
	return m->type.kind == 'f' ? floats(m) : integer(m);
}

static void split(struct model *m, const char *text)
{
	char *at, *rest = m->text;

	snprintf(m->text, sizeof(m->text), "%s", text);
	m->n = 0;
	while (m->n < 8 && (at = strsep(&rest, ".")))
		m->part[m->n++] = at;
	CHECK(read_type(m->part[m->n - 1], &m->type));
}

static const uint64_t integers[] = { 0,
				     1,
				     2,
				     7,
				     31,
				     32,
				     33,
				     63,
				     64,
				     127,
				     128,
				     255,
				     256,
				     0x7fff,
				     0x8000,
				     0xffff,
				     0x12345678,
				     INT32_MAX,
				     0x80000000,
				     UINT32_MAX - 1,
				     UINT32_MAX,
				     0x123456789abcdef0,
				     INT64_MAX,
				     1ULL << 63,
				     ~0ULL - 1,
				     ~0ULL,
				     0xa5a5a5a500000003 };
static const uint64_t floats32[] = {
	0,	    0x80000000, 0x3f800000, 0xbf800000, 0x40490fdb, 0x3f000000,
	0x3fc00000, 0xc0200000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000,
	0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x33800001,
	0x4b000001, 0x4f000000, 0xcf000000, 0x5f800000, 0x42fe0000, 0xdead0000
};
static const uint64_t floats64[] = { 0,
				     1ULL << 63,
				     0x3ff0000000000000,
				     0xbff0000000000000,
				     0x400921fb54442d18,
				     0x3fe0000000000000,
				     0x3ff8000000000000,
				     0xc004000000000000,
				     1,
				     0x8000000000000001,
				     0x000fffffffffffff,
				     0x0010000000000000,
				     0x7fefffffffffffff,
				     0xffefffffffffffff,
				     0x7ff0000000000000,
				     0xfff0000000000000,
				     0x7ff8000000000000,
				     0x3ca0000000000001,
				     0x41dfffffffc00000,
				     0xc1e0000000000000,
				     0x43e0000000000000,
				     0x43f0000000000000,
				     0x38100000000fffff,
				     0x47efffffe8000000 };
#define COUNT(a) (sizeof(a) / sizeof(*(a)))

#define ROWS 2000

struct row {
	uint64_t in[4], out;
};

/* Chooses a source: often an edge value, else random bits. */
static uint64_t pick(unsigned long long *state, struct type type)
{
	unsigned long long r = test_random(state), i = r >> 16;

	if (r % 4 == 0)
		return test_random(state);
	if (type.kind == 'f' && type.bits == 32)
		return floats32[i % COUNT(floats32)] |
		       (r & 0xff00) << 48; /* the upper half is not read */
	if (type.kind == 'f')
		return floats64[i % COUNT(floats64)];
	return integers[i % COUNT(integers)];
}

static void fill(struct row *rows, const struct model *m)
{
	static const struct type word = { 'u', 32 };
	unsigned long long state = 7;
	int i, k, is_selp = !strcmp(m->part[0], "selp");
	int mixed = !strncmp(m->part[0], "bf", 2) || *m->part[0] == 's';

	for (i = 0; i < ROWS; i++) {
		for (k = 0; k < 4; k++)
			rows[i].in[k] = pick(
				&state,
				k && mixed && i % 2 && m->type.kind != 'f' ?
					word :
					m->type);
		if (m->type.kind == 'p')
			for (k = 0; k < 4; k++)
				rows[i].in[k] &= 1;
		if (is_selp)
			rows[i].in[2] &= 1;
		/* amounts of shifts and fields, mostly small */
		if (mixed && i % 3)
			rows[i].in[1 + i % 3] %= 70;
		rows[i].out = 0x5a5a5a5a5a5a5a5a;
	}
}

/* Executes an opcode on all rows. */
static void execute(const struct ptx_opcode_info *info, struct row *rows)
{
	static const char *const sources[] = { "", ", %rd1", ", %rd1, %rd2",
					       ", %rd1, %rd2, %rd3",
					       ", %rd1, %rd2, %rd3, %rd4" };
	struct run run = { .memory = rows, .bytes = ROWS * sizeof(*rows) };
	char text[2048];

	snprintf(text, sizeof(text),
		 "%s"
		 "mov.u32 %%r1, 0;\n"
		 "$again: ld.global.u64 %%rd1, [%%rd0];\n"
		 "ld.global.u64 %%rd2, [%%rd0+8];\n"
		 "ld.global.u64 %%rd3, [%%rd0+16];\n"
		 "ld.global.u64 %%rd4, [%%rd0+24];\n"
		 "%s %%rd5%s;\n"
		 "st.global.u64 [%%rd0+32], %%rd5;\n"
		 "add.s64 %%rd0, %%rd0, %u; add.s32 %%r1, %%r1, 1;\n"
		 "setp.lt.u32 %%p1, %%r1, %u;\n@%%p1 bra $again;\nret; }\n",
		 RUN_HEAD RUN_ENTRY, info->text, sources[info->sources],
		 (unsigned)sizeof(*rows), ROWS);
	run_text(&run, text, 1);
}

static int is_close(const struct model *m, uint64_t out)
{
	double a = as_double(m->result, m->type.bits, 0);
	double b = as_double(out, m->type.bits, 0);

	if (a != a)
		return b != b;
	return a == b || fabs(a - b) <= 1e-5 * fabs(a) || fabs(a - b) < 1e-40;
}

/* NaN of 64 bits may have any payload. */
static int same(const struct model *m, uint64_t out)
{
	uint64_t wanted = low(m->result, m->result_bits);
	int is_float = m->result_bits == 64 &&
		       (m->type.kind == 'f' || m->text[0] == 'c');

	out = low(out, m->result_bits);
	if (m->is_close)
		return is_close(m, out);
	if (is_float && soft_read(wanted, 64).class == SOFT_NAN &&
	    soft_read(out, 64).class == SOFT_NAN)
		return 1;
	return wanted == out;
}

PEAL_TEST(each_opcode_agrees_with_its_model)
{
	static struct row rows[ROWS];
	struct model m;
	int i, k;

	for (i = 0; i < PTX_N_VALUES; i++) {
		const struct ptx_opcode_info *info = &ptx_opcode_infos[i];

		split(&m, info->text);
		fill(rows, &m);
		execute(info, rows);
		for (k = 0; k < ROWS; k++) {
			memcpy(m.in, rows[k].in, sizeof(m.in));
			if (!compute(&m)) {
				fprintf(stderr, "%s has no model\n",
					info->text);
				exit(1);
			}
			if (same(&m, rows[k].out))
				continue;
			fprintf(stderr,
				"%s: sources %#llx %#llx %#llx %#llx: "
				"%#llx, not %#llx\n",
				info->text, (unsigned long long)m.in[0],
				(unsigned long long)m.in[1],
				(unsigned long long)m.in[2],
				(unsigned long long)m.in[3],
				(unsigned long long)rows[k].out,
				(unsigned long long)m.result);
			exit(1);
		}
	}
	CHECK(i > 500);
}

PEAL_TEST_MAIN(RUN(each_opcode_agrees_with_its_model);)
