/* SPDX-License-Identifier: Apache-2.0 */
#include "operands.h"

int ptx_is_store(const struct ptx_instruction *in)
{
	switch (in->opcode) {
#define CASE(id, type) case PTX_STORE_##id:
		PTX_STORES(CASE)
#undef CASE
	case PTX_STORE_VECTOR:
		return 1;
	default:
		return 0;
	}
}

int ptx_is_load(const struct ptx_instruction *in)
{
	switch (in->opcode) {
#define CASE(id, type) case PTX_LOAD_##id:
		PTX_LOADS(CASE)
#undef CASE
	case PTX_LOAD_VECTOR:
		return 1;
	default:
		return 0;
	}
}

int ptx_is_access(const struct ptx_instruction *in)
{
	return ptx_is_load(in) || ptx_is_store(in) || in->opcode == PTX_ATOM;
}

int ptx_is_warp(const struct ptx_instruction *in)
{
	switch (in->opcode) {
	case PTX_SHFL:
	case PTX_VOTE:
	case PTX_MATCH:
	case PTX_REDUX:
	case PTX_ELECT:
		return 1;
	default:
		return 0;
	}
}

int ptx_is_phase_test(const struct ptx_instruction *in)
{
	return in->opcode == PTX_MBARRIER && (in->mode == PTX_MBARRIER_TEST ||
					      in->mode == PTX_MBARRIER_PARITY);
}

static uint32_t copy(uint32_t *to, const uint32_t *from, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		to[i] = from[i];
	return n;
}

uint32_t ptx_stored(const struct ptx_instruction *in,
		    uint32_t slots[PTX_MAX_VECTOR])
{
	return copy(slots, in->v, in->count);
}

/* Opcodes of a warp may have a second destination. */
static uint32_t written_by_warp(const struct ptx_instruction *in,
				uint32_t slots[PTX_MAX_VECTOR])
{
	slots[0] = in->d;
	slots[1] = in->v[2];
	return slots[1] == PTX_NO_SLOT ? 1 : 2;
}

uint32_t ptx_written(const struct ptx_instruction *in,
		     uint32_t slots[PTX_MAX_VECTOR])
{
	switch (in->opcode) {
	case PTX_LOAD_VECTOR:
	case PTX_LOAD_PARAM:
		return copy(slots, in->v, in->count);
	case PTX_UNPACK:
		return copy(slots, in->v, 2);
	case PTX_SHFL:
	case PTX_VOTE:
	case PTX_MATCH:
	case PTX_REDUX:
	case PTX_ELECT:
		return written_by_warp(in, slots);
	case PTX_BARRIER:
		if (in->mode == PTX_MODE_NONE || in->mode == PTX_MODE_ARRIVE)
			return 0;
		break;
	case PTX_ATOM:
		slots[0] = in->d;
		slots[1] = in->d + 1;
		return in->count;
	case PTX_MBARRIER:
		if (in->d == PTX_NO_SLOT)
			return 0;
		break;
	case PTX_PACK:
	case PTX_SPECIAL:
	case PTX_LOCAL_ADDRESS:
	case PTX_CVTA:
	case PTX_CVTA_SHARED:
	case PTX_CVTA_TO_GLOBAL:
	case PTX_CVTA_TO_SHARED:
	case PTX_CVTA_TO_LOCAL:
	case PTX_ISSPACEP:
	case PTX_MAPA:
	case PTX_ACTIVEMASK:
		break;
	default:
		if (in->opcode >= PTX_N_VALUES && !ptx_is_load(in))
			return 0;
	}
	slots[0] = in->d;
	return 1;
}

static uint32_t read_by_value(const struct ptx_instruction *in,
			      uint32_t slots[PTX_MAX_READ])
{
	const uint32_t sources[4] = { in->a, in->b, in->c, in->v[0] };

	return copy(slots, sources,
		    (uint32_t)ptx_opcode_infos[in->opcode].sources);
}

/* Fields that the opcode does not use are 0: register 0 is of no program. */
uint32_t ptx_read(const struct ptx_instruction *in,
		  uint32_t slots[PTX_MAX_READ])
{
	const uint32_t sources[3] = { in->a, in->b, in->c };

	if (in->opcode < PTX_N_VALUES)
		return read_by_value(in, slots);
	if (in->opcode == PTX_LOAD_PARAM)
		return 0;
	if (in->opcode == PTX_STORE_PARAM)
		return copy(slots, in->v, in->count);
	if (in->opcode == PTX_PACK)
		return copy(slots, in->v, 2);
	copy(slots, sources, 3);
	if (in->opcode == PTX_ATOM && in->whole) {
		slots[3] = in->b + 1;
		slots[4] = in->c + 1;
		return 5;
	}
	if (ptx_is_store(in) || in->opcode == PTX_STORE_ASYNC)
		return 3 + copy(slots + 3, in->v, in->count);
	if (in->opcode == PTX_SHFL || in->opcode == PTX_BULK)
		return 3 + copy(slots + 3, in->v, 1);
	return 3;
}
