/* SPDX-License-Identifier: Apache-2.0 */
#include "access.h"
#include "half.h"

/* atom and red. Each operation is sequentially consistent. */

/* Returns the new value for an old one. `sum` and `less` (b < old) depend on the
 * type. Only 32-bit words have INC and DEC. */
static uint64_t new_value(const struct ptx_instruction *in, uint64_t old,
			  uint64_t b, uint64_t sum, int less)
{
	switch ((enum ptx_operation)in->mode) {
	case PTX_ATOM_ADD:
		return sum;
	case PTX_ATOM_AND:
		return old & b;
	case PTX_ATOM_OR:
		return old | b;
	case PTX_ATOM_XOR:
		return old ^ b;
	case PTX_ATOM_MIN:
		return less ? b : old;
	case PTX_ATOM_MAX:
		return less ? old : b;
	case PTX_ATOM_INC:
		return old >= b ? 0 : old + 1;
	case PTX_ATOM_DEC:
		return !old || old > b ? b : old - 1;
	default:
		return b;
	}
}

/* Adds numbers of 16 bits: one, or one in each half. */
static uint32_t half_sum(const struct ptx_instruction *in, uint32_t a,
			 uint32_t b)
{
	int fraction = in->mode == PTX_ATOM_ADD_F16 ? PTX_F16 : PTX_BF16;
	uint32_t c = 0;

	return PTX_PAIR(uint16_t, ptx_half_add(x, y, fraction, PTX_HALF_PLAIN));
}

static uint64_t new_32(const struct ptx_instruction *in, uint32_t old,
		       uint32_t b)
{
	int is_signed = in->kind == PTX_TYPE_SIGNED;
	int less = is_signed ? (int32_t)b < (int32_t)old : b < old;
	uint64_t sum = (uint32_t)(old + b);
	float x, y;

	if (in->mode >= PTX_ATOM_ADD_F16)
		return half_sum(in, old, b);
	if (in->kind == PTX_TYPE_FLOAT) {
		memcpy(&x, &old, sizeof(x));
		memcpy(&y, &b, sizeof(y));
		sum = ptx_slot_of_float(ptx_f32(x + y));
	}
	return new_value(in, old, b, sum, less);
}

static uint64_t new_64(const struct ptx_instruction *in, uint64_t old,
		       uint64_t b)
{
	int is_signed = in->kind == PTX_TYPE_SIGNED;
	int less = is_signed ? (int64_t)b < (int64_t)old : b < old;
	uint64_t sum = old + b;
	double x, y;

	if (in->kind == PTX_TYPE_FLOAT) {
		memcpy(&x, &old, sizeof(x));
		memcpy(&y, &b, sizeof(y));
		sum = ptx_slot_of_double(x + y);
	}
	return new_value(in, old, b, sum, less);
}

#define COMPARE_AND_SWAP(type, at, old, value)                                 \
	atomic_compare_exchange_strong((_Atomic type *)(at), &(old),           \
				       (type)(value))

static uint64_t swap_if(void *at, uint32_t size, uint64_t b, uint64_t c)
{
	uint64_t old64 = b;
	uint32_t old32 = (uint32_t)b;
	uint16_t old16 = (uint16_t)b;

	if (size == 8) {
		COMPARE_AND_SWAP(uint64_t, at, old64, c);
		return old64;
	}
	if (size == 4) {
		COMPARE_AND_SWAP(uint32_t, at, old32, c);
		return old32;
	}
	COMPARE_AND_SWAP(uint16_t, at, old16, c);
	return old16;
}

static uint64_t modify_16(uint16_t *at, const struct ptx_instruction *in,
			  uint16_t b)
{
	uint16_t old = PTX_GET(uint16_t, at);

	while (!COMPARE_AND_SWAP(uint16_t, at, old, half_sum(in, old, b)))
		;
	return old;
}

static uint64_t modify_32(uint32_t *at, const struct ptx_instruction *in,
			  uint32_t b)
{
	uint32_t old = PTX_GET(uint32_t, at);

	while (!COMPARE_AND_SWAP(uint32_t, at, old, new_32(in, old, b)))
		;
	return old;
}

static uint64_t modify_64(uint64_t *at, const struct ptx_instruction *in,
			  uint64_t b)
{
	uint64_t old = PTX_GET(uint64_t, at);

	while (!COMPARE_AND_SWAP(uint64_t, at, old, new_64(in, old, b)))
		;
	return old;
}

/* Exchanges 16 bytes. With a comparison, only if they equal the slots in->b. */
static void swap_16(struct ptx_lane *lane, const struct ptx_instruction *in,
		    void *at)
{
	uint64_t *r = lane->registers, words[2];
	int compares = in->mode == PTX_ATOM_CAS;
	const uint64_t *from = compares ? &r[in->c] : &r[in->b];
	unsigned __int128 seen, value;

	memcpy(&value, from, sizeof(value));
	memcpy(&seen, compares ? (void *)&r[in->b] : at, sizeof(seen));
	while (!COMPARE_AND_SWAP(unsigned __int128, at, seen, value) &&
	       !compares)
		;
	memcpy(words, &seen, sizeof(words));
	r[in->d] = words[0];
	r[in->d + 1] = words[1];
}

void ptx_atom_at(struct ptx_lane *lane, const struct ptx_instruction *in,
		 void *at)
{
	uint64_t *r = lane->registers;

	if (in->whole)
		swap_16(lane, in, at);
	else if (in->mode == PTX_ATOM_CAS)
		r[in->d] = swap_if(at, in->size, r[in->b], r[in->c]);
	else if (in->size == 8)
		r[in->d] = modify_64(at, in, r[in->b]);
	else if (in->size == 2)
		r[in->d] = modify_16(at, in, (uint16_t)r[in->b]);
	else
		r[in->d] = modify_32(at, in, (uint32_t)r[in->b]);
}

int ptx_atom(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	void *at = ptx_memory(lane, in, (uint32_t)in->size * in->count, 1);

	if (at)
		ptx_atom_at(lane, in, at);
	return at != NULL;
}
