/* SPDX-License-Identifier: Apache-2.0 */
/* Scatter and gather: copies elements between a whole array and its parts. */
#include <stdlib.h>
#include <string.h>

#include <peal/memory.h>
#include <peal/partition.h>
#include <peal/peer.h>
#include "p2p/peer.h"
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/runtime.h"

/* Shorter extents are packed first. The whole then moves in pieces of at most
 * PIECE_BYTES bytes. */
#define SHORT_BYTES (16u << 10)
#define PIECE_BYTES (PEAL_PARTS_MAX * SHORT_BYTES)

/** The arguments and buffers of one call. */
struct moving {
	struct peal_runtime *rt;
	struct peal_partition_memory p;
	const char *call;
	int gathers; /* 1: gather; 0: scatter */
	uint8_t *piece; /* a piece of the whole, if the whole is not in host
			 * memory */
	uint8_t *packed; /* the elements of one part in that piece */
};

/*
 * Copies n elements between memory of `device` and a part. `whole` is the
 * address there: in the whole, or in m->packed. `index` is the first element in
 * the part.
 */
static int copy(const struct moving *m, uint32_t part, int device,
		uint64_t whole, uint64_t index, uint64_t n)
{
	uint64_t bytes = n * m->p.element_bytes;
	uint64_t there = m->p.parts[part] + index * m->p.element_bytes;
	struct peal_error_info failed;
	int result;

	if (m->gathers)
		result = peal_peer_copy(m->rt, device, whole,
					m->p.devices[part], there, bytes);
	else
		result = peal_peer_copy(m->rt, m->p.devices[part], there,
					device, whole, bytes);
	if (!result)
		return 0;
	failed = *peal_last_error();
	return peali_fail(result, m->call, "part %u: %s", part, failed.text);
}

/* Copies each extent by a copy of its own. */
static int move_long(const struct moving *m)
{
	const struct peal_partition *p = m->p.partition;
	struct peal_extent extent;
	uint64_t i, index;
	uint32_t part;
	int result = 0;

	for (part = 0; part < p->parts && !result; part++)
		for (i = index = 0;
		     !result && i < peal_partition_extents(p, part); i++) {
			peal_partition_extent(p, part, i, &extent);
			result = copy(m, part, m->p.whole_device,
				      m->p.whole + extent.offset *
							   m->p.element_bytes,
				      index, extent.count);
			index += extent.count;
		}
	return result;
}

/* Copies the elements of one part between a piece in host memory and m->packed.
 * The piece has a partition of its own. */
static void pack(const struct moving *m, const struct peal_partition *piece,
		 uint32_t part, uint8_t *whole)
{
	uint64_t n = peal_partition_extents(piece, part), i, bytes;
	uint8_t *packed = m->packed;
	struct peal_extent extent;

	for (i = 0; i < n; i++) {
		uint8_t *here;

		peal_partition_extent(piece, part, i, &extent);
		here = whole + extent.offset * m->p.element_bytes;
		bytes = extent.count * m->p.element_bytes;
		if (m->gathers)
			memcpy(here, packed, bytes);
		else
			memcpy(packed, here, bytes);
		packed += bytes;
	}
}

/* Copies the n elements of a piece, from element `first` on. The piece begins
 * with a block of part 0. Each part has had `index` elements before. */
static int move_piece(const struct moving *m, uint64_t first, uint64_t n,
		      uint64_t index)
{
	uint64_t there = m->p.whole + first * m->p.element_bytes;
	uint64_t bytes = n * m->p.element_bytes;
	int on_host = m->p.whole_device == PEAL_HOST_MEMORY;
	uint8_t *whole = on_host ? (uint8_t *)(uintptr_t)there : m->piece;
	struct peal_partition piece;
	uint32_t part;
	int result = peal_partition_cyclic(n, m->p.partition->block,
					   m->p.partition->parts, &piece);

	if (!result && !on_host && !m->gathers)
		result = peal_peer_copy(m->rt, PEAL_HOST_MEMORY,
					(uintptr_t)whole, m->p.whole_device,
					there, bytes);
	for (part = 0; part < piece.parts && !result; part++) {
		uint64_t has = peal_partition_length(&piece, part);

		if (!has)
			continue;
		if (!m->gathers)
			pack(m, &piece, part, whole);
		result = copy(m, part, PEAL_HOST_MEMORY, (uintptr_t)m->packed,
			      index, has);
		if (!result && m->gathers)
			pack(m, &piece, part, whole);
	}
	if (!result && !on_host && m->gathers)
		result = peal_peer_copy(m->rt, m->p.whole_device, there,
					PEAL_HOST_MEMORY, (uintptr_t)whole,
					bytes);
	return result;
}

static int move_short(struct moving *m)
{
	const struct peal_partition *p = m->p.partition;
	uint64_t turn = p->block * p->parts, first, n;
	uint64_t most = PIECE_BYTES / (turn * m->p.element_bytes) * turn;
	struct peali_place whole = { PEAL_HOST_MEMORY, m->p.whole };
	struct peali_range kept = { 0 };
	int result = 0;

	m->packed = malloc(PIECE_BYTES);
	m->piece = malloc(PIECE_BYTES);
	if (!m->packed || !m->piece)
		result = peali_fail(PEAL_ENOMEM, m->call,
				    "no memory to gather elements");
	else if (m->p.whole_device == PEAL_HOST_MEMORY)
		result = peali_range_keep(m->rt->peers, whole,
					  p->count * m->p.element_bytes,
					  m->call, &kept);
	for (first = 0; first < p->count && !result; first += n) {
		n = p->count - first < most ? p->count - first : most;
		result = move_piece(m, first, n, first / p->parts);
	}
	peali_range_let_go(m->rt->peers, &kept);
	free(m->piece);
	free(m->packed);
	return result;
}

static int check(struct moving *m, const struct peal_partition_memory *parts)
{
	const struct peal_partition *p;
	int result;

	if (!m->rt || !parts)
		return peali_refuse_null(m->call, "runtime or parts");
	if (peali_forked(&m->rt->owner, m->call))
		return PEAL_EFORKED;
	result = peali_options_copy(&m->p, sizeof(m->p), parts, m->call);
	if (result)
		return result;
	p = m->p.partition;
	if (!p || !m->p.devices || !m->p.parts)
		return peali_refuse_null(m->call, !p		? "partition" :
						  !m->p.devices ? "devices" :
								  "parts");
	if (!p->parts || p->parts > PEAL_PARTS_MAX ||
	    (p->kind == PEAL_PARTITION_CYCLIC && !p->block))
		return peali_fail(PEAL_EINVAL, m->call,
				  "the partition was not created by a call "
				  "of peal/partition.h");
	if (!m->p.element_bytes || p->count > UINT64_MAX / m->p.element_bytes)
		return PEALI_REFUSE(
			PEAL_EINVAL, m->call, .object = "option",
			.name = "element_bytes",
			.problem = PEALI_PRINT(
				"is 0, or too large for %llu elements",
				(unsigned long long)p->count),
			.number = m->p.element_bytes, .least = 1,
			.most = UINT64_MAX / (p->count ? p->count : 1));
	return 0;
}

static int move(struct peal_runtime *rt,
		const struct peal_partition_memory *parts, int gathers,
		const char *call)
{
	struct moving m = { .rt = rt, .gathers = gathers, .call = call };
	int result = check(&m, parts);

	if (result)
		return result;
	if (m.p.partition->kind == PEAL_PARTITION_CYCLIC &&
	    m.p.partition->block < SHORT_BYTES / m.p.element_bytes)
		return move_short(&m);
	return move_long(&m);
}

int peal_scatter(struct peal_runtime *rt,
		 const struct peal_partition_memory *parts)
{
	return move(rt, parts, 0, "peal_scatter");
}

int peal_gather(struct peal_runtime *rt,
		const struct peal_partition_memory *parts)
{
	return move(rt, parts, 1, "peal_gather");
}
