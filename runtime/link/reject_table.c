/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refusal tables of requesters (board.h): allocates them, publishes them to
 * kernels, and reads the refusals.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/link/reject_table.h"

#include "runtime/base/error.h"
#include "runtime/device/backend.h"
#include "runtime/device/memory_block.h"
#include "runtime/kernel/kernel.h"
#include "runtime/link/endpoint.h"

#define CALL "peal_requester_open"

/* Publishes the address of a table to the workers of a kernel with limits. */
static void show(const struct peal_kernel *k, const struct peali_board *b)
{
	if (k->boards)
		/* R21: pairs with A21 in peali_nobody_answers. */
		peal_store_release_sys(&k->boards[b->number - 1],
				       peali_area_view(k->rt, k->device,
						       &b->area));
}

void peali_boards_show(struct peal_kernel *k)
{
	uint32_t i;

	for (i = 0; i < k->rt->n_boards; i++)
		show(k, k->rt->boards[i]);
}

static void free_board(struct peal_runtime *rt, struct peali_board *b)
{
	peali_area_free(rt, &b->area);
	free(b->seen);
	free(b);
}

void peali_boards_clear(struct peal_runtime *rt)
{
	while (rt->n_boards)
		free_board(rt, rt->boards[--rt->n_boards]);
	free(rt->boards);
	rt->boards = NULL;
}

static struct peali_board *make(struct peal_runtime *rt, uint32_t places)
{
	struct peali_board *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->places = places;
	b->seen = calloc(places, sizeof(*b->seen));
	if (!b->seen ||
	    peali_area_alloc(rt, PEALI_HOST,
			     sizeof(struct peal_board) +
				     places * sizeof(struct peal_refusal),
			     &b->area)) {
		free_board(rt, b);
		return NULL;
	}
	b->words = (struct peal_board *)(uintptr_t)peali_area_view(
		rt, PEALI_HOST, &b->area);
	memset(b->words, 0, b->area.bytes);
	b->words->places = places;
	return b;
}

/*
 * Allocates one more table and publishes it to all kernels. The caller holds
 * rt->lock. NULL: no memory.
 */
static struct peali_board *add(struct peal_runtime *rt, uint32_t places)
{
	struct peali_board *b;
	struct peal_kernel *k;

	if (!rt->boards)
		rt->boards =
			calloc(PEAL_BOARDS_MAX, sizeof(struct peali_board *));
	b = rt->boards ? make(rt, places) : NULL;
	if (!b)
		return NULL;
	rt->boards[rt->n_boards++] = b;
	b->number = rt->n_boards;
	for (k = rt->kernels; k; k = k->next)
		show(k, b);
	return b;
}

int peali_board_take(struct peal_runtime *rt, uint32_t places,
		     struct peali_board **out)
{
	struct peali_board *b = NULL;
	uint32_t i;

	for (i = 0; i < rt->n_boards && !b; i++)
		if (!rt->boards[i]->used && rt->boards[i]->places >= places)
			b = rt->boards[i];
	*out = NULL;
	if (!b && rt->n_boards == PEAL_BOARDS_MAX)
		return 0;
	if (!b)
		b = add(rt, places);
	if (!b)
		return peali_fail(PEAL_ENOMEM, CALL,
				  "no memory for a board of %u requests",
				  places);
	b->used = 1;
	b->at = b->places;
	*out = b;
	return 0;
}

void peali_board_give(struct peali_board *b)
{
	if (b)
		b->used = 0;
}

/*
 * Finds a refusal that was not reported yet. Returns 1 and fills *out with the
 * request's number and error, or returns 0.
 */
static int look(struct peali_board *b, struct peali_refused *out)
{
	const struct peal_refusal *refusal =
		(const struct peal_refusal *)(const void *)(b->words + 1);
	/* A20: pairs with R20 in peali_nobody_answers. */
	uint64_t latest = peal_load_acquire_sys(&b->words->latest), number;

	if (latest != b->latest) {
		b->latest = latest;
		b->at = 0;
	}
	for (; b->at < b->places; b->at++) {
		/* A20: pairs with R20, too. The error was written before. */
		number = peal_load_acquire_sys(&refusal[b->at].number);
		if (number == b->seen[b->at])
			continue;
		b->seen[b->at] = number;
		out->request = number;
		out->error =
			-(int32_t)peal_load_relaxed_sys(&refusal[b->at].error);
		b->at++;
		return 1;
	}
	return 0;
}

int peali_board_receive(struct peal_endpoint *e, uint32_t input)
{
	if (!atomic_load_explicit(&e->rt->limited, memory_order_relaxed) ||
	    !look(e->board, &e->refused))
		return 0;
	memset(&e->message, 0, sizeof(e->message));
	e->message.header.flags = PEAL_FLAG_REQUEST | PEAL_FLAG_REFUSED;
	e->message.data = &e->refused;
	e->message.length = PEAL_REQUEST_BYTES + sizeof(e->refused.error);
	e->message.kind = PEAL_KIND_DATA;
	e->message.input = input;
	return 1;
}
