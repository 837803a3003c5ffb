/* SPDX-License-Identifier: Apache-2.0 */
#include "parser.h"

/*
 * add, sub and mad with CC.CF: a register of the function holds it. An opcode that
 * writes CC.CF becomes a row with .cc, which computes CC.CF, and a row without.
 */

/* What an opcode says. */
struct carry {
	int operation; /* of names[] */
	int reads, writes; /* CC.CF */
	char text[32]; /* of the row without .cc, up to the type */
	char type[8];
};

static int read_opcode(struct carry *c, const struct ptx_token *opcode)
{
	static const char *const names[] = { "add",  "sub",  "mad", "addc",
					     "subc", "madc", NULL };
	static const char *const halves[] = { "lo", "hi", NULL };
	struct ptx_parts parts;
	int half = -1, is_mad;

	ptx_split(&parts, opcode);
	c->operation = ptx_part_of(&parts, names);
	is_mad = c->operation % 3 == 2;
	if (is_mad)
		half = ptx_part_of(&parts, halves);
	c->writes = ptx_part(&parts, "cc");
	c->reads = c->operation >= 3;
	if (c->operation < 0 || is_mad != (half >= 0) ||
	    !(c->reads || c->writes) || parts.next + 1 != parts.n)
		return 0;
	snprintf(c->text, sizeof(c->text), "%sc%s%s", names[c->operation % 3],
		 is_mad ? "." : "", is_mad ? halves[half] : "");
	snprintf(c->type, sizeof(c->type), "%.*s", (int)parts.bytes[parts.next],
		 parts.at[parts.next]);
	return 1;
}

static int opcode_of(const struct carry *c, const char *middle)
{
	char text[64];

	snprintf(text, sizeof(text), "%s%s.%s", c->text, middle, c->type);
	return ptx_value_opcode(text);
}

/* The last source is CC.CF. */
static void emit(struct ptx_parser *p, int opcode, uint32_t d,
		 const uint32_t s[4])
{
	struct ptx_instruction *in = ptx_emit(p, (enum ptx_opcode)opcode);

	if (!in)
		return;
	in->d = d;
	in->a = s[0];
	in->b = s[1];
	in->c = s[2];
	in->v[0] = s[3];
}

int ptx_decode_carry(struct ptx_parser *p)
{
	uint32_t d, temporary = 0, s[4] = { 0 };
	int row, cc_row, n, i;
	struct carry c;

	if (!read_opcode(&c, &p->opcode))
		return 0;
	row = opcode_of(&c, "");
	cc_row = opcode_of(&c, ".cc");
	if (row < 0 || cc_row < 0)
		return 0;
	n = ptx_opcode_infos[row].sources - 1;
	d = ptx_destination(p);
	for (i = 0; i < n; i++) {
		ptx_need(p, ",");
		s[i] = ptx_source(p);
	}
	/* a subtraction without CC.CF borrows nothing before it */
	s[n] = c.reads ? PTX_CARRY_SLOT : ptx_constant(p, c.operation % 3 == 1);
	if (c.writes) {
		temporary = ptx_new_slot(p);
		emit(p, cc_row, temporary, s);
	}
	emit(p, row, d, s);
	if (c.writes)
		emit(p, PTX_MOV_B32, PTX_CARRY_SLOT,
		     (uint32_t[4]){ temporary, 0, 0, 0 });
	return 1;
}
