/* SPDX-License-Identifier: Apache-2.0 */
#include "access.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

/*
 * Copies that complete after their instruction: st.async and cp.async.bulk. The
 * block completes them at random times, in a random order. So a program that
 * reads too early finds old bytes.
 */

struct ptx_async {
	struct ptx_async *next;
	struct ptx_lane *lane; /* that began the copy */
	uint8_t *to;
	const uint8_t *from; /* NULL: `value` */
	uint8_t value[16], undefined[16]; /* bits of `value` */
	uint32_t bytes;
	uint64_t *mbarrier; /* counts the bytes, or NULL */
	uint64_t group; /* of the lane, without an mbarrier */
	const struct ptx_instruction *in;
};

/* ---- copies -------------------------------------------------------------- */

static int begin(struct ptx_lane *lane, const struct ptx_instruction *in,
		 const struct ptx_async *what)
{
	struct ptx_async *copy = malloc(sizeof(*copy));

	if (!copy) {
		ptx_fault(lane, in, PTX_FAULT_STACK, 0,
			  "no memory for an asynchronous copy");
		return 0;
	}
	*copy = *what;
	copy->lane = lane;
	copy->in = in;
	copy->group = lane->bulk_group;
	copy->next = lane->block->asyncs;
	lane->block->asyncs = copy;
	return 1;
}

static void complete(struct ptx_async *copy)
{
	const char *wrong = NULL;

	if (copy->from)
		ptx_undefined_move(copy->lane, copy->to, copy->from,
				   copy->bytes);
	else
		ptx_undefined_put(copy->lane, copy->to, copy->bytes,
				  copy->undefined);
	memmove(copy->to, copy->from ? copy->from : copy->value, copy->bytes);
	ptx_weak_written(copy->lane->block, (uintptr_t)copy->to, copy->bytes);
	atomic_thread_fence(memory_order_seq_cst);
	if (copy->mbarrier)
		wrong = ptx_mbarrier_complete(copy->mbarrier, copy->bytes);
	if (wrong)
		ptx_fault(copy->lane, copy->in, PTX_FAULT_BARRIER,
			  (uintptr_t)copy->mbarrier, "%s (%u bytes)", wrong,
			  copy->bytes);
	free(copy);
}

static uint32_t count(const struct ptx_async *copy)
{
	uint32_t n = 0;

	for (; copy; copy = copy->next)
		n++;
	return n;
}

int ptx_async_step(struct ptx_block *block)
{
	struct ptx_async **at = &block->asyncs, *copy;
	uint32_t i;

	if (!*at)
		return 0;
	for (i = (uint32_t)(ptx_random(block) % count(*at)); i; i--)
		at = &(*at)->next;
	copy = *at;
	*at = copy->next;
	complete(copy);
	return 1;
}

void ptx_async_end(struct ptx_block *block, int drop)
{
	struct ptx_async *copy;

	while (!drop && ptx_async_step(block))
		;
	while (block->asyncs) {
		copy = block->asyncs;
		block->asyncs = copy->next;
		free(copy);
	}
}

/* ---- instructions -------------------------------------------------------- */

int ptx_store_async(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	uint64_t *r = lane->registers;
	struct ptx_async what = { .bytes = (uint32_t)in->size * in->count };
	uint32_t i;

	what.to = ptx_memory_span(lane, in, PTX_SPACE_CLUSTER,
				  r[in->a] + (uint64_t)in->offset, what.bytes,
				  what.bytes, 1);
	what.mbarrier = what.to ? ptx_mbarrier_at(lane, in, r[in->b],
						  PTX_SPACE_CLUSTER) :
				  NULL;
	if (!what.mbarrier)
		return 0;
	for (i = 0; i < in->count; i++) {
		uint64_t undefined = ptx_undefined_get(lane, in->v[i]);

		memcpy(what.value + i * in->size, &r[in->v[i]], in->size);
		memcpy(what.undefined + i * in->size, &undefined, in->size);
	}
	return begin(lane, in, &what);
}

/* Begins a copy of a multiple of 16 bytes. */
static int begin_bulk(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	int to_shared = in->mode == PTX_BULK_TO_SHARED;
	uint64_t *r = lane->registers;
	struct ptx_async what = { .bytes = (uint32_t)r[in->c] };

	if (what.bytes % 16 || what.bytes > PTX_BULK_MAX) {
		ptx_fault(lane, in, PTX_FAULT_BOUNDS, r[in->a],
			  "a bulk copy of %u bytes (allowed: multiples of 16 "
			  "up to %u)",
			  what.bytes, PTX_BULK_MAX);
		return 0;
	}
	what.to = ptx_memory_span(
		lane, in, to_shared ? PTX_SPACE_CLUSTER : PTX_SPACE_GLOBAL,
		r[in->a], what.bytes, 16, 1);
	if (what.to)
		what.from = ptx_memory_span(lane, in, (enum ptx_space)in->space,
					    r[in->b], what.bytes, 16, 0);
	if (what.from && to_shared)
		what.mbarrier = ptx_mbarrier_at(lane, in, r[in->v[0]],
						PTX_SPACE_CLUSTER);
	return what.from && (what.mbarrier || !to_shared) &&
	       begin(lane, in, &what);
}

/* Returns 1 if at most `n` of the lane's last groups are not complete. */
static int groups_done(const struct ptx_lane *lane, uint64_t n)
{
	const struct ptx_async *copy = lane->block->asyncs;

	for (; copy; copy = copy->next)
		if (copy->lane == lane && !copy->mbarrier &&
		    copy->group + n < lane->bulk_group)
			return 0;
	return 1;
}

int ptx_bulk(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	switch ((enum ptx_bulk)in->mode) {
	case PTX_BULK_COMMIT:
		lane->bulk_group++;
		return 1;
	case PTX_BULK_WAIT:
		if (groups_done(lane, lane->registers[in->b]))
			return 1;
		lane->in = in;
		lane->state = PTX_SLEEPS;
		return 1;
	default:
		return begin_bulk(lane, in);
	}
}
