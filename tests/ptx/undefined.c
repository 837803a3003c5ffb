/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <string.h>
#include <sys/mman.h>

/*
 * Undefined values: bits of registers and memory that nothing has written. To
 * copy them is correct. A fault is a use: a branch, an address, a mask, or a
 * store that other lanes may act on.
 */

/* ---- memory -------------------------------------------------------------- */

/* Undefined bits of a lane: of its registers, then of its local memory. */
static size_t lane_bytes(void)
{
	return PTX_N_SLOTS * sizeof(uint64_t) + PTX_LOCAL_BYTES;
}

static size_t block_bytes(const struct ptx_block *block)
{
	return block->grid->launch.threads * lane_bytes();
}

int ptx_undefined_create(struct ptx_block *block)
{
	void *memory = mmap(NULL, block_bytes(block), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return 0;
	block->undefined_memory = memory;
	return 1;
}

void ptx_undefined_destroy(struct ptx_block *block)
{
	if (block->undefined_memory)
		munmap(block->undefined_memory, block_bytes(block));
	block->undefined_memory = NULL;
}

void ptx_undefined_lane(struct ptx_lane *lane)
{
	uint8_t *memory = lane->block->undefined_memory;

	if (!memory)
		return;
	memory += lane->number * lane_bytes();
	lane->slots_undefined = (uint64_t *)(void *)memory;
	lane->local_undefined = memory + PTX_N_SLOTS * sizeof(uint64_t);
}

void ptx_undefined_enter(struct ptx_lane *lane)
{
	const struct ptx_function *f = lane->function;
	uint64_t *bits;

	if (!lane->slots_undefined)
		return;
	bits = lane->slots_undefined + (lane->registers - lane->slots);
	memset(bits, 0xff, f->n_registers * sizeof(*bits));
	memset(bits + f->n_registers, 0, f->n_constants * sizeof(*bits));
	memset(lane->local_undefined + (lane->memory - lane->local), 0xff,
	       f->memory_bytes);
}

void ptx_undefined_copy(struct ptx_lane *lane, const uint8_t *to,
			const uint8_t *from, uint32_t bytes)
{
	uint8_t *bits = lane->local_undefined;

	if (!bits)
		return;
	if (from)
		memmove(bits + (to - lane->local), bits + (from - lane->local),
			bytes);
	else
		memset(bits + (to - lane->local), 0, bytes);
}

/* Returns the undefined bits of an address in local memory or in the cluster's
 * shared memory. Returns NULL for device memory. */
static uint8_t *bits_at(const struct ptx_lane *lane, const void *at)
{
	const struct ptx_grid *grid = lane->block->grid;
	uint64_t address = (uintptr_t)at;
	uint64_t offset = address - (uintptr_t)lane->local;

	if (offset < PTX_LOCAL_BYTES)
		return lane->local_undefined + offset;
	offset = address - (uintptr_t)grid->shared;
	if (offset < (uint64_t)grid->launch.blocks * grid->shared_stride)
		return grid->shared_undefined + offset;
	return NULL;
}

static void get_bits(const struct ptx_lane *lane, const void *at, uint32_t n,
		     uint8_t *bits)
{
	const uint8_t *from = bits_at(lane, at);

	if (from)
		memcpy(bits, from, n);
	else
		ptx_shadow_get((uintptr_t)at, n, bits);
}

static void put_bits(const struct ptx_lane *lane, const void *at, uint32_t n,
		     const uint8_t *bits)
{
	uint8_t *to = bits_at(lane, at);

	if (to)
		memcpy(to, bits, n);
	else
		ptx_shadow_put((uintptr_t)at, n, bits);
}

void ptx_undefined_put(const struct ptx_lane *lane, const void *to, uint32_t n,
		       const uint8_t *bits)
{
	if (lane->slots_undefined)
		put_bits(lane, to, n, bits);
}

void ptx_undefined_move(const struct ptx_lane *lane, const uint8_t *to,
			const uint8_t *from, uint32_t n)
{
	uint8_t bits[16];
	uint32_t i;

	for (i = 0; lane->slots_undefined && i < n; i += sizeof(bits)) {
		get_bits(lane, from + i, sizeof(bits), bits);
		put_bits(lane, to + i, sizeof(bits), bits);
	}
}

/* ---- registers ----------------------------------------------------------- */

uint64_t ptx_undefined_get(const struct ptx_lane *lane, uint32_t slot)
{
	const uint64_t *bits = lane->slots_undefined;

	return bits ? bits[lane->registers - lane->slots + slot] : 0;
}

void ptx_undefined_set(struct ptx_lane *lane, uint32_t slot, uint64_t bits)
{
	if (lane->slots_undefined)
		lane->slots_undefined[lane->registers - lane->slots + slot] =
			bits;
}

static uint64_t low(uint64_t bits, uint32_t bytes)
{
	return bits & ~0ULL >> (64 - 8 * bytes);
}

/* Returns 0 and reports the fault if one of these bits is undefined. */
static int need(struct ptx_lane *lane, const struct ptx_instruction *in,
		uint32_t slot, uint64_t bits, const char *use)
{
	uint64_t undefined = ptx_undefined_get(lane, slot) & bits;

	if (!undefined)
		return 1;
	ptx_fault(lane, in, PTX_FAULT_UNDEFINED, 0,
		  "%s has bits that nothing wrote (%#llx)", use,
		  (unsigned long long)undefined);
	return 0;
}

/* ---- memory accesses ----------------------------------------------------- */

/* Returns 1 if other lanes may act on what an instruction stores. */
static int is_strong_store(const struct ptx_lane *lane,
			   const struct ptx_instruction *in)
{
	uint64_t address = lane->registers[in->a] + (uint64_t)in->offset;

	return in->order != PTX_WEAK && in->space != PTX_SPACE_LOCAL &&
	       address - (uintptr_t)lane->local >= PTX_LOCAL_BYTES;
}

/* Checks what an atomic compares and stores. .b128 has two slots of each. */
static int check_operands(struct ptx_lane *lane,
			  const struct ptx_instruction *in, uint64_t bits)
{
	const char *use = "an operand of an atomic";
	uint32_t i;

	for (i = 0; i < in->count; i++)
		if (!need(lane, in, in->b + i, bits, use) ||
		    (in->mode == PTX_ATOM_CAS &&
		     !need(lane, in, in->c + i, bits, use)))
			return 0;
	return 1;
}

static int check_access(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	uint64_t bits = low(~0ULL, in->size);
	uint32_t slots[PTX_MAX_VECTOR], n, i;

	if (!need(lane, in, in->a, ~0ULL, "the address of the access"))
		return 0;
	if (in->opcode == PTX_ATOM)
		return check_operands(lane, in, bits);
	if (!ptx_is_store(in) || !is_strong_store(lane, in))
		return 1;
	n = ptx_stored(in, slots);
	for (i = 0; i < n; i++)
		if (!need(lane, in, slots[i], bits,
			  "the value of a volatile, relaxed or release store"))
			return 0;
	return 1;
}

void ptx_undefined_store(struct ptx_lane *lane,
			 const struct ptx_instruction *in, const void *at)
{
	uint8_t bits[16];
	uint64_t undefined;
	uint32_t slots[PTX_MAX_VECTOR], n, i;

	n = ptx_stored(in, slots);
	for (i = 0; i < n; i++) {
		undefined = ptx_undefined_get(lane, slots[i]);
		memcpy(bits + i * in->size, &undefined, in->size);
	}
	put_bits(lane, at, n * in->size, bits);
}

/* Returns the undefined bits of a loaded element. A signed one fills its
 * register. */
static uint64_t element(const uint8_t *bits, const struct ptx_instruction *in)
{
	uint32_t unused = 64 - 8u * in->size;
	uint64_t undefined = 0;

	memcpy(&undefined, bits, in->size);
	if (in->kind == PTX_TYPE_SIGNED)
		undefined =
			(uint64_t)((int64_t)(undefined << unused) >> unused);
	return undefined;
}

void ptx_undefined_load(struct ptx_lane *lane, const struct ptx_instruction *in,
			const void *at)
{
	uint8_t bits[16];
	uint32_t i;

	get_bits(lane, at, (uint32_t)in->size * in->count, bits);
	for (i = 0; i < in->count; i++)
		ptx_undefined_set(lane, in->v[i],
				  element(bits + i * in->size, in));
}

void ptx_undefined_atom(struct ptx_lane *lane, const struct ptx_instruction *in,
			const void *at)
{
	static const uint8_t none[16];
	uint32_t slots[PTX_MAX_VECTOR], n = ptx_written(in, slots), i;
	uint8_t bits[16];

	get_bits(lane, at, n * in->size, bits);
	for (i = 0; i < n; i++)
		ptx_undefined_set(lane, slots[i],
				  element(bits + i * in->size, in));
	if (in->mode == PTX_ATOM_EXCH)
		put_bits(lane, at, n * in->size, none);
}

/* ---- instructions -------------------------------------------------------- */

static void set_value(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	const uint32_t slots[4] = { in->a, in->b, in->c, in->v[0] };
	int n = ptx_opcode_infos[in->opcode].sources, i;
	uint64_t values[4] = { 0 }, undefined[4] = { 0 }, any = 0;

	for (i = 0; i < n; i++) {
		undefined[i] = ptx_undefined_get(lane, slots[i]);
		any |= undefined[i];
	}
	for (i = 0; any && i < n; i++)
		values[i] = lane->registers[slots[i]];
	ptx_undefined_set(
		lane, in->d,
		any ? ptx_undefined_result(in->opcode, values, undefined) : 0);
}

static void set_pack(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	uint32_t half = in->size / 2u;

	ptx_undefined_set(lane, in->d,
			  low(ptx_undefined_get(lane, in->v[0]), half) |
				  low(ptx_undefined_get(lane, in->v[1]), half)
					  << 8 * half);
}

static void set_unpack(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	uint64_t undefined = ptx_undefined_get(lane, in->a);
	uint32_t half = in->size / 2u;

	ptx_undefined_set(lane, in->v[0], low(undefined, half));
	ptx_undefined_set(lane, in->v[1], low(undefined >> 8 * half, half));
}

/* A result that has all bits undefined if one of a source is. */
static void set_any(struct ptx_lane *lane, const struct ptx_instruction *in,
		    uint64_t undefined)
{
	ptx_undefined_set(lane, in->d, undefined ? ~0ULL : 0);
}

static void set_written(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	uint32_t slots[PTX_MAX_VECTOR], n = ptx_written(in, slots), i;

	for (i = 0; i < n; i++)
		ptx_undefined_set(lane, slots[i], 0);
}

/* Parameters are in the frame's memory. */
static void set_param(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	const uint8_t *at = lane->memory + in->offset;

	if (in->opcode == PTX_LOAD_PARAM)
		ptx_undefined_load(lane, in, at);
	else
		ptx_undefined_store(lane, in, at);
}

static int check_barrier(struct ptx_lane *lane,
			 const struct ptx_instruction *in)
{
	int reduces = in->mode != PTX_MODE_NONE && in->mode != PTX_MODE_ARRIVE;

	if (!need(lane, in, in->a, UINT32_MAX, "the number of a barrier") ||
	    (in->count && !need(lane, in, in->b, UINT32_MAX,
				"the number of lanes of a barrier")) ||
	    (reduces && !need(lane, in, in->c, 1, "a predicate")))
		return 0;
	set_written(lane, in);
	return 1;
}

static int check_warp(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	uint64_t bits = in->opcode == PTX_VOTE ? 1 :
			in->size == 8	       ? ~0ULL :
						 UINT32_MAX;

	if (!need(lane, in, in->c, UINT32_MAX, "a mask"))
		return 0;
	if (in->opcode == PTX_SHFL) {
		if (in->v[2] != PTX_NO_SLOT)
			ptx_undefined_set(lane, in->v[2], 0);
		return need(lane, in, in->b, UINT32_MAX, "a lane of shfl") &&
		       need(lane, in, in->v[0], UINT32_MAX, "a clamp of shfl");
	}
	if (in->opcode == PTX_WARP_BARRIER)
		return 1;
	if (in->opcode != PTX_ELECT &&
	    !need(lane, in, in->a, bits, "an operand of the warp"))
		return 0;
	set_written(lane, in);
	return 1;
}

static int check_async(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	const char *use = "an address of an asynchronous copy";

	if (in->opcode == PTX_BULK && in->mode >= PTX_BULK_COMMIT)
		return 1;
	if (!need(lane, in, in->a, ~0ULL, use) ||
	    !need(lane, in, in->b, ~0ULL, use))
		return 0;
	return in->opcode == PTX_STORE_ASYNC ||
	       (need(lane, in, in->c, UINT32_MAX, "the size of a bulk copy") &&
		(in->mode != PTX_BULK_TO_SHARED ||
		 need(lane, in, in->v[0], ~0ULL, use)));
}

static int check_mbarrier(struct ptx_lane *lane,
			  const struct ptx_instruction *in)
{
	int has_address = in->mode != PTX_MBARRIER_PENDING;

	if (has_address &&
	    !need(lane, in, in->a, ~0ULL, "the address of an mbarrier"))
		return 0;
	set_written(lane, in);
	return need(lane, in, in->b, UINT32_MAX, "an operand of an mbarrier");
}

int ptx_undefined_check(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	if (in->opcode < PTX_N_VALUES) {
		set_value(lane, in);
		return 1;
	}
	switch (in->opcode) {
	case PTX_PACK:
		set_pack(lane, in);
		return 1;
	case PTX_UNPACK:
		set_unpack(lane, in);
		return 1;
	case PTX_LOAD_PARAM:
	case PTX_STORE_PARAM:
		set_param(lane, in);
		return 1;
	case PTX_CVTA:
	case PTX_CVTA_SHARED:
	case PTX_CVTA_TO_GLOBAL:
	case PTX_CVTA_TO_SHARED:
	case PTX_CVTA_TO_LOCAL:
	case PTX_ISSPACEP:
		set_any(lane, in, ptx_undefined_get(lane, in->a));
		return 1;
	case PTX_MAPA:
		return need(lane, in, in->a, ~0ULL, "the address of mapa") &&
		       need(lane, in, in->b, UINT32_MAX, "the rank of mapa") &&
		       (set_written(lane, in), 1);
	case PTX_BRANCH_IF:
	case PTX_BRANCH_UNLESS:
		return need(lane, in, in->a, 1, "the predicate of a branch");
	case PTX_BRANCH_TABLE:
		return need(lane, in, in->a, UINT32_MAX,
			    "the index of a branch");
	case PTX_CALL_INDIRECT:
		return need(lane, in, in->a, ~0ULL, "the address of a call");
	case PTX_BARRIER:
		return check_barrier(lane, in);
	case PTX_MBARRIER:
		return check_mbarrier(lane, in);
	case PTX_STORE_ASYNC:
	case PTX_BULK:
		return check_async(lane, in);
	case PTX_WARP_BARRIER:
	case PTX_SHFL:
	case PTX_VOTE:
	case PTX_MATCH:
	case PTX_REDUX:
	case PTX_ELECT:
		return check_warp(lane, in);
	default:
		if (ptx_is_access(in))
			return check_access(lane, in);
		set_written(lane, in);
		return 1;
	}
}
