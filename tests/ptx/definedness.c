/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "half.h"

#include <pthread.h>

/*
 * Which bits of a result are undefined if some bits of its sources are. A set
 * bit is undefined. The rules are those of Memcheck (Seward, Nethercote, USENIX
 * 2005). They are exact for moves, logic and shifts. Sums know carries.
 */

enum rule {
	ANY, /* an undefined bit makes all bits undefined */
	UNION, /* each bit depends on this bit of the sources */
	AND,
	OR,
	LOP3,
	DATA_A, /* moves bits of a; the other sources say where to */
	DATA_AB, /* moves bits of a and b */
	SELECT,
	ADD,
	SUB,
	LOW, /* each bit depends on this bit and lower ones */
	EQUAL,
	ORDER
};

/* What a row of PTX_VALUES says. */
struct row {
	const char *text;
	uint8_t bytes[3]; /* of a, b and c */
	uint8_t is_signed; /* a */
};

static const struct row rows[PTX_N_VALUES] = {
#define IS_SIGNED(type)                                                        \
	_Generic((type)0, int8_t : 1, int16_t : 1, int32_t : 1, int64_t : 1,   \
		 default : 0)
#define ROW(text, id, n, tr, ta, tb, tc, e)                                    \
	{ text, { sizeof(ta), sizeof(tb), sizeof(tc) }, IS_SIGNED(ta) },
	PTX_VALUES(ROW)
#undef ROW
};

static uint8_t rules[PTX_N_VALUES];
static pthread_once_t rules_once = PTHREAD_ONCE_INIT;

/* ---- rules --------------------------------------------------------------- */

/* Opcodes by the begin of their text. Others have the rule ANY. */
static const struct {
	const char *begin;
	enum rule rule;
} begins[] = {
	{ "mov.", DATA_A },    { "cvt.", DATA_A },     { "brev.", DATA_A },
	{ "shl.", DATA_A },    { "shr.", DATA_A },     { "bfe.", DATA_A },
	{ "shf.", DATA_AB },   { "prmt.", DATA_AB },   { "bfi.", DATA_AB },
	{ "selp.", SELECT },   { "lop3.", LOP3 },      { "not.", UNION },
	{ "xor.", UNION },     { "and.", AND },	       { "or.", OR },
	{ "addc.cc.", ANY },   { "addc.", LOW },       { "subc.cc.", ANY },
	{ "subc.", LOW },      { "madc.lo.cc.", ANY }, { "madc.lo.", LOW },
	{ "add.", ADD },       { "sub.", SUB },	       { "neg.", LOW },
	{ "mul.lo.", LOW },    { "mad.lo.", LOW },     { "mul.wide.", LOW },
	{ "mad.wide.", LOW },  { "mul24.lo.", LOW },   { "setp.eq.", EQUAL },
	{ "setp.ne.", EQUAL }, { "setp.", ORDER },
};

static enum rule rule_of(const char *text)
{
	int is_move = !strncmp(text, "mov.", 4) || !strncmp(text, "selp.", 5);
	size_t i;

	if (!is_move && (strstr(text, ".f32") || strstr(text, ".f64") ||
			 strstr(text, "f16") || strstr(text, "x2")))
		return ANY;
	for (i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (!strncmp(text, begins[i].begin, strlen(begins[i].begin)))
			return begins[i].rule;
	return ANY;
}

static void fill_rules(void)
{
	size_t i;

	for (i = 0; i < PTX_N_VALUES; i++)
		rules[i] = (uint8_t)rule_of(rows[i].text);
}

/* ---- results ------------------------------------------------------------- */

#define VALUE(text, id, n, tr, ta, tb, tc, e)                                  \
	case PTX_##id: {                                                       \
		ta a;                                                          \
		tb b;                                                          \
		tc c;                                                          \
		uint32_t d = (uint32_t)s[3];                                   \
                                                                               \
		memcpy(&a, &s[0], sizeof(a));                                  \
		memcpy(&b, &s[1], sizeof(b));                                  \
		memcpy(&c, &s[2], sizeof(c));                                  \
		(void)b;                                                       \
		(void)c;                                                       \
		(void)d;                                                       \
		return PTX_SLOT((tr)(e));                                      \
	}

/* Computes an opcode that a rule below evaluates. */
static uint64_t evaluate(uint16_t opcode, const uint64_t s[4])
{
	switch (opcode) {
		PTX_LOGIC(VALUE)
		PTX_SHIFTS(VALUE)
		PTX_MOVES(VALUE)
		PTX_COMPARISONS(VALUE)
		PTX_CONVERSIONS(VALUE)
	default:
		return 0;
	}
}

/* The bits of lop3 that differ for some values of the undefined bits. */
static uint64_t lop3(const uint64_t s[4], const uint64_t u[4])
{
	uint32_t all = ~0u, any = 0, i, r;

	for (i = 0; i < 8; i++) {
		r = ptx_lop3((uint32_t)(i & 1 ? s[0] | u[0] : s[0] & ~u[0]),
			     (uint32_t)(i & 2 ? s[1] | u[1] : s[1] & ~u[1]),
			     (uint32_t)(i & 4 ? s[2] | u[2] : s[2] & ~u[2]),
			     (uint32_t)s[3]);
		all &= r;
		any |= r;
	}
	return all ^ any;
}

/* The least and the greatest sum differ where a carry is undefined. */
static uint64_t sum(const uint64_t s[4], const uint64_t u[4])
{
	return u[0] | u[1] |
	       (((s[0] & ~u[0]) + (s[1] & ~u[1])) ^
		((s[0] | u[0]) + (s[1] | u[1])));
}

static uint64_t difference(const uint64_t s[4], const uint64_t u[4])
{
	return u[0] | u[1] |
	       (((s[0] & ~u[0]) - (s[1] | u[1])) ^
		((s[0] | u[0]) - (s[1] & ~u[1])));
}

/* The least or the greatest value of a source. */
static uint64_t bound(uint64_t s, uint64_t u, uint64_t sign, int greatest)
{
	return greatest ? (s | u) & ~(u & sign) : (s & ~u) | (u & sign);
}

/* A comparison is defined if its bounds agree. */
static uint64_t order(uint16_t opcode, const uint64_t s[4], const uint64_t u[4])
{
	const struct row *row = &rows[opcode];
	uint64_t sign = row->is_signed ? 1ULL << (8 * row->bytes[0] - 1) : 0;
	uint64_t low[4] = { bound(s[0], u[0], sign, 0),
			    bound(s[1], u[1], sign, 1) };
	uint64_t high[4] = { bound(s[0], u[0], sign, 1),
			     bound(s[1], u[1], sign, 0) };

	return evaluate(opcode, low) == evaluate(opcode, high) ? 0 : ~0ULL;
}

/* Moves the undefined bits as the opcode moves its data. */
static uint64_t move(uint16_t opcode, const uint64_t s[4], const uint64_t u[4],
		     int data)
{
	uint64_t moved[4];
	int i;

	for (i = 0; i < 4; i++) {
		if (i >= data && u[i])
			return ~0ULL;
		moved[i] = i < data ? u[i] : s[i];
	}
	return evaluate(opcode, moved);
}

static uint64_t apply(uint16_t opcode, const uint64_t s[4], const uint64_t u[4])
{
	uint64_t any = u[0] | u[1] | u[2] | (u[3] & 1);

	switch ((enum rule)rules[opcode]) {
	case UNION:
		return any;
	case AND:
		return any & (u[0] | s[0]) & (u[1] | s[1]);
	case OR:
		return any & (u[0] | ~s[0]) & (u[1] | ~s[1]);
	case LOP3:
		return u[3] ? ~0ULL : lop3(s, u);
	case DATA_A:
		return move(opcode, s, u, 1);
	case DATA_AB:
		return move(opcode, s, u, 2);
	case SELECT:
		if (u[2] & 1)
			return any | (s[0] ^ s[1]);
		return s[2] & 1 ? u[0] : u[1];
	case ADD:
		return sum(s, u);
	case SUB:
		return difference(s, u);
	case LOW:
		return ~((any & (0 - any)) - 1);
	case EQUAL:
		return (s[0] ^ s[1]) & ~(u[0] | u[1]) ? 0 : ~0ULL;
	case ORDER:
		return order(opcode, s, u);
	default:
		return ~0ULL;
	}
}

uint64_t ptx_undefined_result(uint16_t opcode, const uint64_t sources[4],
			      const uint64_t undefined[4])
{
	uint64_t s[4] = { 0, 0, 0, sources[3] }, u[4] = { 0, 0, 0, 0 }, mask;
	int n = ptx_opcode_infos[opcode].sources, i;

	pthread_once(&rules_once, fill_rules);
	for (i = 0; i < n && i < 3; i++) {
		mask = ~0ULL >> (64 - 8 * rows[opcode].bytes[i]);
		s[i] = sources[i] & mask;
		u[i] = undefined[i] & mask;
	}
	if (n == 4)
		u[3] = undefined[3] & UINT32_MAX;
	return u[0] | u[1] | u[2] | u[3] ? apply(opcode, s, u) : 0;
}
