/* SPDX-License-Identifier: Apache-2.0 */
/* Each opcode of opcodes.h agrees with a second implementation, which reads the
 * opcode's text and computes with wide integers. */
#include "model_float.h"
#include "opcodes.h"
#include "run.h"

/* ---- comparison of both -------------------------------------------------- */

static int compute(struct model *m);

/* Computes both halves of registers with two numbers. */
static int halves(struct model *m)
{
	struct model half = *m;
	int i, k;

	m->result = 0;
	m->result_bits = 32;
	half.is_pair = 0;
	for (i = 0; i < 32; i += 16) {
		for (k = 0; k < 4; k++)
			half.in[k] = low(m->in[k] >> i, 16);
		if (!compute(&half))
			return 0;
		m->result |= low(half.result, 16) << i;
	}
	m->is_close = half.is_close;
	return 1;
}

/* Computes m->result. Returns 0 if the opcode is unknown. */
static int compute(struct model *m)
{
	if (m->is_pair)
		return halves(m);
	m->result_bits = m->type.bits;
	m->is_close = 0;
	if (!strncmp(m->part[0], "set", 3))
		return compare(m);
	if (!strcmp(m->part[0], "cvt"))
		return convert(m);
	if (bits(m) || packed(m))
		return 1;
	return m->type.kind == 'f' ? floats(m) : integer(m);
}

static void split(struct model *m, const char *text)
{
	char *at, *rest = m->text;
	int type;

	snprintf(m->text, sizeof(m->text), "%s", text);
	m->n = 0;
	while (m->n < 8 && (at = strsep(&rest, ".")))
		m->part[m->n++] = at;
	type = m->n - 1;
	if (!strcmp(m->part[m->n - 1], "relu") ||
	    !strcmp(m->part[m->n - 1], "add"))
		type--;
	CHECK(read_type(m->part[type], &m->type));
	m->is_pair = strstr(m->part[type], "x2") != NULL;
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
static const uint64_t floats16[] = {
	0,	0x8000, 0x3c00, 0xbc00, 0x3f80, 0xbf80, 0x4248, 0x3800, 0x3e00,
	0xc100, 0x0001, 0x8001, 0x03ff, 0x0400, 0x7bff, 0xfbff, 0x7c00, 0xfc00,
	0x7e00, 0x7f7f, 0x7f80, 0xff80, 0x7fc0, 0x007f, 0x0080, 0x5bff, 0x4f00
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
	if (type.kind == 'f' && type.bits == 16) /* also the upper half */
		return floats16[i % COUNT(floats16)] |
		       floats16[(i >> 8) % COUNT(floats16)] << 16;
	if (type.kind == 'f')
		return floats64[i % COUNT(floats64)];
	return integers[i % COUNT(integers)];
}

static void fill(struct row *rows, const struct model *m)
{
	static const struct type word = { 'u', 32, 0 };
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

/* Writes the instructions for a row. Those of CC.CF set it before, and read it
 * behind. */
static void write_code(char *text, size_t bytes,
		       const struct ptx_opcode_info *info)
{
	static const char *const sources[] = { "", ", %rd1", ", %rd1, %rd2",
					       ", %rd1, %rd2, %rd3",
					       ", %rd1, %rd2, %rd3, %rd4" };
	int uses_carry = is_carry(info->text), n = info->sources - uses_carry;
	int reads = uses_carry && strstr(info->text, ".cc.");

	snprintf(text, bytes, "%s%s%s %%rd5%s;\n%s",
		 uses_carry ? "and.b32 %r2, " : "",
		 !uses_carry ? "" :
		 n == 2	     ? "%rd3, 1; add.cc.u32 %r2, %r2, -1;\n" :
			       "%rd4, 1; add.cc.u32 %r2, %r2, -1;\n",
		 info->text, sources[n], reads ? "addc.u32 %rd5, 0, 0;\n" : "");
}

/* Executes an opcode on all rows. */
static void execute(const struct ptx_opcode_info *info, struct row *rows)
{
	struct run run = { .memory = rows, .bytes = ROWS * sizeof(*rows) };
	char text[2048], code[256];

	write_code(code, sizeof(code), info);
	snprintf(text, sizeof(text),
		 "%s"
		 "mov.u32 %%r1, 0;\n"
		 "$again: ld.global.u64 %%rd1, [%%rd0];\n"
		 "ld.global.u64 %%rd2, [%%rd0+8];\n"
		 "ld.global.u64 %%rd3, [%%rd0+16];\n"
		 "ld.global.u64 %%rd4, [%%rd0+24];\n"
		 "%s"
		 "st.global.u64 [%%rd0+32], %%rd5;\n"
		 "add.s64 %%rd0, %%rd0, %u; add.s32 %%r1, %%r1, 1;\n"
		 "setp.lt.u32 %%p1, %%r1, %u;\n@%%p1 bra $again;\nret; }\n",
		 RUN_HEAD RUN_ENTRY, code, (unsigned)sizeof(*rows), ROWS);
	run_text(&run, text, 1);
}

static int is_close(const struct model *m, uint64_t out)
{
	double a = as_double(m->result, m->type.format, 0);
	double b = as_double(out, m->type.format, 0);

	if (a != a)
		return b != b;
	return a == b ||
	       fabs(a - b) <= (m->type.bits == 16 ? 8e-3 : 1e-5) * fabs(a) ||
	       fabs(a - b) < 1e-40;
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
