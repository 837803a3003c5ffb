/* SPDX-License-Identifier: Apache-2.0 */
#include "access.h"

#include <string.h>
#include <unistd.h>

#include <emmintrin.h>

/* ---- checks -------------------------------------------------------------- */

void ptx_refresh_ranges(struct ptx_lane *lane)
{
	const struct ptx_host *host = &lane->block->grid->launch.host;
	uint64_t generation;

	if (!host->generation)
		return;
	generation = host->generation(host->context);
	if (generation == lane->generation)
		return;
	lane->generation = generation;
	memset(lane->ranges, 0, sizeof(lane->ranges));
}

/* Puts a range first: the fast path reads only the first one. */
static void to_front(struct ptx_lane *lane, uint32_t i)
{
	struct ptx_range range = lane->ranges[i];

	lane->ranges[i] = lane->ranges[0];
	lane->ranges[0] = range;
}

static void remember(struct ptx_lane *lane, const struct ptx_range *range)
{
	uint32_t i = 1 + lane->next_range++ % (PTX_N_RANGES - 1);

	lane->ranges[i] = *range;
	to_front(lane, i);
}

static int find_variable(const struct ptx_lane *lane, uint64_t address,
			 struct ptx_range *range)
{
	const struct ptx_variable *v = lane->function->module->variables;

	for (; v; v = v->next) {
		range->from = (uintptr_t)v->memory;
		range->bytes = v->bytes;
		range->is_const = v->is_const;
		if (ptx_in_range(range, address, 1))
			return 1;
	}
	return 0;
}

/* Finds the range of an address of the device or of a module's variable. */
static int find_range(struct ptx_lane *lane, uint64_t address, uint32_t bytes,
		      struct ptx_range *range)
{
	const struct ptx_grid *grid = lane->block->grid;
	const struct ptx_host *host = &grid->launch.host;
	uint32_t i;

	for (i = 0; i < PTX_N_RANGES; i++)
		if (ptx_in_range(&lane->ranges[i], address, bytes)) {
			*range = lane->ranges[i];
			to_front(lane, i);
			return 1;
		}
	ptx_refresh_ranges(lane);
	range->is_const = 0;
	if (!find_variable(lane, address, range) &&
	    (!host->range ||
	     !host->range(host->context, grid->launch.device, address,
			  &range->from, &range->bytes)))
		return 0;
	if (!ptx_in_range(range, address, bytes))
		return 0;
	remember(lane, range);
	return 1;
}

int ptx_is_variable(const struct ptx_lane *lane, uint64_t address)
{
	struct ptx_range range;

	return find_variable(lane, address, &range);
}

/* Names memory that no other space may access, or returns NULL. */
static const char *private_memory(const struct ptx_lane *lane, uint64_t address)
{
	const struct ptx_block *block = lane->block;
	const struct ptx_grid *grid = block->grid;

	if (address - (uintptr_t)grid->shared <
	    (uint64_t)grid->launch.blocks * grid->shared_stride)
		return "shared memory";
	if (address - (uintptr_t)block->lane_memory <
	    (uint64_t)grid->launch.threads * PTX_LOCAL_BYTES)
		return "local memory";
	return NULL;
}

/* Finds the block of the cluster that has this address in its shared memory. */
static const struct ptx_block *shared_owner(const struct ptx_lane *lane,
					    uint64_t address, uint32_t bytes)
{
	const struct ptx_grid *grid = lane->block->grid;
	uint64_t offset = address - (uintptr_t)grid->shared;
	uint64_t i = offset / grid->shared_stride;

	if (i >= grid->launch.blocks ||
	    offset % grid->shared_stride + bytes > grid->shared_bytes ||
	    grid->blocks[i].cluster != lane->block->cluster)
		return NULL;
	return &grid->blocks[i];
}

static const char *verb(int is_store)
{
	return is_store ? "store" : "load";
}

/* Checks a generic access to shared memory of the cluster. */
static void *generic_shared(struct ptx_lane *lane,
			    const struct ptx_instruction *in, uint64_t address,
			    uint32_t bytes, int is_store)
{
	const struct ptx_block *owner = shared_owner(lane, address, bytes);

	if (!owner)
		return NULL;
	if (atomic_load(&((struct ptx_block *)owner)->ended)) {
		ptx_fault(lane, in, PTX_FAULT_BOUNDS, address,
			  "%s of shared memory of block %u, which has ended",
			  verb(is_store), owner->number);
		return NULL;
	}
	return (void *)(uintptr_t)address;
}

/* Returns the address on the host of shared memory of the cluster, or NULL. The
 * high bits of a shared address hold the block's rank + 1, see ptx_mapa(). */
static void *cluster_shared(const struct ptx_lane *lane, uint64_t address,
			    uint32_t bytes)
{
	const struct ptx_block *block = lane->block;
	const struct ptx_grid *grid = block->grid;
	uint64_t rank = address >> PTX_RANK_SHIFT;
	uint64_t offset = address & ((1u << PTX_RANK_SHIFT) - 1);
	uint32_t first = block->number - block->number % grid->cluster_blocks;

	if (rank > grid->cluster_blocks || offset + bytes > grid->shared_bytes)
		return NULL;
	if (rank)
		block = &grid->blocks[first + rank - 1];
	return atomic_load(&((struct ptx_block *)block)->ended) ?
		       NULL :
		       block->shared + offset;
}

static void fault_bounds(struct ptx_lane *lane,
			 const struct ptx_instruction *in, enum ptx_space space,
			 uint64_t address, uint32_t bytes, int is_store)
{
	static const char *const spaces[] = { "generic",	"global",
					      "shared",		"local",
					      "param",		"constant",
					      "shared::cluster" };
	const char *other = private_memory(lane, address);

	ptx_fault(lane, in, PTX_FAULT_BOUNDS, address,
		  "%s of %u bytes at %#llx: %s%s in no memory that device %d "
		  "may access by a %s address",
		  verb(is_store), bytes, (unsigned long long)address,
		  other ? other : "", other ? "," : "it is",
		  lane->block->grid->launch.device, spaces[space]);
}

/* Returns the address on the host, or NULL. */
static void *resolve(struct ptx_lane *lane, const struct ptx_instruction *in,
		     enum ptx_space space, uint64_t address, uint32_t bytes,
		     int is_store)
{
	struct ptx_range range;
	void *at = NULL;

	if (space == PTX_SPACE_CLUSTER)
		return cluster_shared(lane, address, bytes);
	if (space == PTX_SPACE_SHARED)
		return address + bytes <= lane->block->grid->shared_bytes ?
			       lane->block->shared + address :
			       NULL;
	if (space == PTX_SPACE_GENERIC)
		at = generic_shared(lane, in, address, bytes, is_store);
	if (!at && space != PTX_SPACE_LOCAL && !private_memory(lane, address) &&
	    find_range(lane, address, bytes, &range) &&
	    !(is_store && range.is_const))
		at = (void *)(uintptr_t)address;
	return at;
}

void *ptx_memory_span(struct ptx_lane *lane, const struct ptx_instruction *in,
		      enum ptx_space space, uint64_t address, uint32_t bytes,
		      uint32_t alignment, int is_store)
{
	void *at;

	if (address & (alignment - 1)) {
		ptx_fault(lane, in, PTX_FAULT_ALIGNMENT, address,
			  "%s of %u bytes at %#llx: misaligned by %u bytes",
			  verb(is_store), bytes, (unsigned long long)address,
			  (uint32_t)(address & (alignment - 1)));
		return NULL;
	}
	at = resolve(lane, in, space, address, bytes, is_store);
	if (!at)
		fault_bounds(lane, in, space, address, bytes, is_store);
	return at;
}

void *ptx_memory_slow(struct ptx_lane *lane, const struct ptx_instruction *in,
		      uint64_t address, uint32_t bytes, int is_store)
{
	return ptx_memory_span(lane, in, (enum ptx_space)in->space, address,
			       bytes, bytes, is_store);
}

/* ---- address spaces ------------------------------------------------------ */

static enum ptx_space space_of(const struct ptx_lane *lane, uint64_t address)
{
	if (address - (uintptr_t)lane->local < PTX_LOCAL_BYTES)
		return PTX_SPACE_LOCAL;
	return address - (uintptr_t)lane->block->shared <
			       lane->block->grid->shared_stride ?
		       PTX_SPACE_SHARED :
		       PTX_SPACE_GLOBAL;
}

int ptx_cvta_to(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	uint64_t address = lane->registers[in->a];
	enum ptx_space wanted =
		in->opcode == PTX_CVTA_TO_GLOBAL ? PTX_SPACE_GLOBAL :
		in->opcode == PTX_CVTA_TO_SHARED ? PTX_SPACE_SHARED :
						   PTX_SPACE_LOCAL;

	if (address && space_of(lane, address) != wanted) {
		ptx_fault(lane, in, PTX_FAULT_BOUNDS, address,
			  "%#llx is an address of another space",
			  (unsigned long long)address);
		return 0;
	}
	if (wanted == PTX_SPACE_SHARED)
		address -= (uintptr_t)lane->block->shared;
	lane->registers[in->d] = address;
	return 1;
}

void ptx_isspacep(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	enum ptx_space space = space_of(lane, lane->registers[in->a]);

	lane->registers[in->d] = space == in->space;
}

/* An address of shared::cluster has the block's rank + 1 above its offset. A
 * generic address is one of the host. */
int ptx_mapa(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	const struct ptx_block *block = lane->block;
	const struct ptx_grid *grid = block->grid;
	int is_generic = in->space == PTX_SPACE_GENERIC;
	uint64_t address = lane->registers[in->a];
	uint64_t offset = is_generic ? address - (uintptr_t)block->shared :
				       address;
	uint32_t rank = (uint32_t)lane->registers[in->b];
	uint32_t first = block->number - block->number % grid->cluster_blocks;

	if (offset >= grid->shared_stride || rank >= grid->cluster_blocks) {
		ptx_fault(lane, in, PTX_FAULT_BOUNDS, address,
			  "mapa of %#llx for block %u of a cluster of %u",
			  (unsigned long long)address, rank,
			  grid->cluster_blocks);
		return 0;
	}
	lane->registers[in->d] =
		is_generic ?
			(uintptr_t)grid->blocks[first + rank].shared + offset :
			(uint64_t)(rank + 1) << PTX_RANK_SHIFT | offset;
	return 1;
}

/* ---- vectors and parameters ---------------------------------------------- */

/* Reads an element. A signed one fills its register. */
static uint64_t element(const uint8_t *at, const struct ptx_instruction *in)
{
	uint64_t value = 0;
	uint32_t unused = 64 - 8u * in->size;

	memcpy(&value, at, in->size);
	if (in->kind == PTX_TYPE_SIGNED)
		value = (uint64_t)((int64_t)(value << unused) >> unused);
	return value;
}

/* One access, as that of a GPU. ThreadSanitizer knows no atomic access of 16
 * bytes, and must not report it. */
__attribute__((no_sanitize("thread"))) static void copy_16(void *to,
							   const void *from)
{
	*(__m128i *)to = *(const __m128i *)from;
}

void ptx_copy_in(uint8_t *to, const void *from, uint32_t bytes)
{
	uint64_t value;

	if (bytes == 16) {
		copy_16(to, from);
		return;
	}
	value = bytes == 8 ? PTX_GET(uint64_t, from) :
		bytes == 4 ? PTX_GET(uint32_t, from) :
		bytes == 2 ? PTX_GET(uint16_t, from) :
			     PTX_GET(uint8_t, from);
	memcpy(to, &value, bytes);
}

void ptx_copy_out(void *to, const uint8_t *from, uint32_t bytes)
{
	uint64_t value = 0;

	if (bytes == 16) {
		copy_16(to, from);
		return;
	}
	memcpy(&value, from, bytes);
	if (bytes == 8)
		PTX_PUT(uint64_t, to, value);
	else if (bytes == 4)
		PTX_PUT(uint32_t, to, value);
	else if (bytes == 2)
		PTX_PUT(uint16_t, to, value);
	else
		PTX_PUT(uint8_t, to, value);
}

void ptx_load_at(struct ptx_lane *lane, const struct ptx_instruction *in,
		 const void *at)
{
	uint32_t bytes = (uint32_t)in->size * in->count, i;
	uint8_t buffer[16] __attribute__((aligned(16)));

	ptx_copy_in(buffer, at, bytes);
	for (i = 0; i < in->count; i++)
		lane->registers[in->v[i]] = element(buffer + i * in->size, in);
}

/* One of so many stores arrives in two parts, as the gap takes long. */
#define TORN 16

int ptx_tears(const struct ptx_lane *lane, uint64_t at, uint32_t bytes)
{
	const struct ptx_launch *launch = &lane->block->grid->launch;

	return bytes == 16 && launch->host.tears &&
	       launch->host.tears(launch->host.context, launch->device, at) &&
	       ptx_random(lane->block) % TORN == 0;
}

/* Stores 16 bytes in two parts. A reader has time to see the first one. */
static void copy_torn(uint8_t *to, const uint8_t *from)
{
	ptx_copy_out(to + 8, from + 8, 8);
	usleep(20);
	ptx_copy_out(to, from, 8);
}

void ptx_store_at(struct ptx_lane *lane, const struct ptx_instruction *in,
		  void *at)
{
	uint32_t bytes = (uint32_t)in->size * in->count, i;
	uint8_t buffer[16] __attribute__((aligned(16)));

	for (i = 0; i < in->count; i++)
		memcpy(buffer + i * in->size, &lane->registers[in->v[i]],
		       in->size);
	if (ptx_tears(lane, (uintptr_t)at, bytes))
		copy_torn(at, buffer);
	else
		ptx_copy_out(at, buffer, bytes);
}

int ptx_load_vector(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	uint32_t bytes = (uint32_t)in->size * in->count;
	const void *at = ptx_memory(lane, in, bytes, 0);

	if (at)
		ptx_load_at(lane, in, at);
	return at != NULL;
}

int ptx_store_vector(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	uint32_t bytes = (uint32_t)in->size * in->count;
	void *at = ptx_memory(lane, in, bytes, 1);

	if (at)
		ptx_store_at(lane, in, at);
	return at != NULL;
}

void ptx_load_param(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	const uint8_t *at = lane->memory + in->offset;
	uint32_t i;

	for (i = 0; i < in->count; i++)
		lane->registers[in->v[i]] = element(at + i * in->size, in);
}

void ptx_store_param(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	uint8_t *at = lane->memory + in->offset;
	uint32_t i;

	for (i = 0; i < in->count; i++)
		memcpy(at + i * in->size, &lane->registers[in->v[i]], in->size);
}
