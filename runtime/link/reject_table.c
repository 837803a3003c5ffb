/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reject tables of requesters (reject_table.h): allocates them, publishes them
 * to kernels, and reads the refusals.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "runtime/link/reject_table.h"

#include "runtime/base/error.h"
#include "runtime/base/wait.h"
#include "runtime/device/backend.h"
#include "runtime/device/memory_block.h"
#include "runtime/kernel/kernel.h"
#include "runtime/link/endpoint.h"

#define CALL "peal_requester_create"

/* Publishes the address of a table to the workers of a kernel. */
static void show(const struct peal_kernel *k,
		 const struct peali_reject_table *b)
{
	/* R21: pairs with A21 in peali_reject_entry. */
	peal_store_release_sys(&k->reject_tables[b->number - 1],
			       peali_block_view(k->rt, k->device, &b->block));
}

void peali_reject_tables_show(struct peal_kernel *k)
{
	uint32_t i;

	for (i = 0; i < k->rt->n_reject_tables; i++)
		show(k, k->rt->reject_tables[i]);
}

static void free_table(struct peal_runtime *rt, struct peali_reject_table *b)
{
	peali_block_free(rt, &b->block);
	free(b->bell);
	free(b->seen);
	free(b);
}

void peali_reject_tables_clear(struct peal_runtime *rt)
{
	while (rt->n_reject_tables)
		free_table(rt, rt->reject_tables[--rt->n_reject_tables]);
	free(rt->reject_tables);
	rt->reject_tables = NULL;
}

/*
 * Returns a random number. The numbers of requests continue from it. So a
 * process that gets requests of another process does not take them for its own.
 */
static uint64_t first_id(void)
{
	uint64_t id = 0;

	if (getrandom(&id, sizeof(id), GRND_NONBLOCK) != (ssize_t)sizeof(id))
		id = peali_now_ns() ^ (uint64_t)getpid() << 20;
	return id & 0xfffffffffULL;
}

/* Returns 1 if the workers of a device can ring the bell of a thread. */
static int any_rings(const struct peali_devices *devices)
{
	int i;

	for (i = 0; i < devices->n; i++)
		if (peali_devices_ring(devices, i))
			return 1;
	return 0;
}

static struct peali_reject_table *make(struct peal_runtime *rt, uint32_t places)
{
	struct peali_reject_table *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->places = places;
	b->n_ids = first_id();
	b->seen = calloc(places, sizeof(*b->seen));
	b->bell = peali_bell_new();
	if (!b->seen || !b->bell ||
	    peali_block_alloc(rt, PEALI_HOST,
			      sizeof(struct peal_reject_table) +
				      places * sizeof(struct peal_reject_entry),
			      &b->block)) {
		free_table(rt, b);
		return NULL;
	}
	b->words = (struct peal_reject_table *)(uintptr_t)peali_block_view(
		rt, PEALI_HOST, &b->block);
	memset(b->words, 0, b->block.bytes);
	b->words->places = places;
	if (any_rings(&rt->devices))
		b->words->bell = (uint64_t)(uintptr_t)b->bell;
	return b;
}

/*
 * Allocates one more table and publishes it to all kernels. The caller holds
 * rt->lock. NULL: no memory.
 */
static struct peali_reject_table *add(struct peal_runtime *rt, uint32_t places)
{
	struct peali_reject_table *b;
	struct peal_kernel *k;

	if (!rt->reject_tables)
		rt->reject_tables = calloc(PEAL_REJECT_TABLES_MAX,
					   sizeof(struct peali_reject_table *));
	b = rt->reject_tables ? make(rt, places) : NULL;
	if (!b)
		return NULL;
	rt->reject_tables[rt->n_reject_tables++] = b;
	b->number = rt->n_reject_tables;
	for (k = rt->kernels; k; k = k->next)
		show(k, b);
	return b;
}

int peali_reject_table_take(struct peal_runtime *rt, uint32_t places,
			    struct peali_reject_table **out)
{
	struct peali_reject_table *b = NULL;
	uint32_t i;

	for (i = 0; i < rt->n_reject_tables && !b; i++)
		if (!rt->reject_tables[i]->used &&
		    rt->reject_tables[i]->places >= places)
			b = rt->reject_tables[i];
	*out = NULL;
	if (!b && rt->n_reject_tables == PEAL_REJECT_TABLES_MAX)
		return 0;
	if (!b)
		b = add(rt, places);
	if (!b)
		return peali_fail(PEAL_ENOMEM, CALL,
				  "no memory for a table of %u requests",
				  places);
	b->used = 1;
	b->at = b->places;
	*out = b;
	return 0;
}

void peali_reject_table_give(struct peali_reject_table *b)
{
	if (b)
		b->used = 0;
}

/*
 * Finds a report that the endpoint has not seen yet. Returns 1 and fills *out,
 * or returns 0.
 */
static int look(struct peali_reject_table *b, struct peali_refused *out)
{
	const struct peal_reject_entry *refusal =
		(const struct peal_reject_entry *)(const void *)(b->words + 1);
	/* A20: pairs with R20 in peali_host_request_fail. The replies that the
	 * worker has sent before are in their links. */
	uint64_t latest = peal_load_acquire_sys(&b->words->latest), word;

	if (latest != b->latest) {
		b->latest = latest;
		b->at = 0;
	}
	for (; b->at < b->places; b->at++) {
		/* A20: pairs with R20, too. */
		word = peal_load_acquire_sys(&refusal[b->at].word);
		if (word == b->seen[b->at])
			continue;
		b->seen[b->at] = word;
		b->at++;
		out->request =
			PEAL_REQUEST_NUMBER(word >> 27, b->number, b->at);
		out->error = PEAL_REJECT_ERROR(word);
		out->detail = PEAL_REJECT_DETAIL(word);
		return 1;
	}
	return 0;
}

int peali_reject_table_look(struct peal_endpoint *e)
{
	if (!e->refused.request)
		look(e->reject_table, &e->refused);
	return e->refused.request != 0;
}

void peali_reject_table_receive(struct peal_endpoint *e, uint32_t input)
{
	e->refusal = e->refused;
	e->refused.request = 0;
	memset(&e->message, 0, sizeof(e->message));
	e->message.header.flags = PEAL_FLAG_REQUEST | PEAL_FLAG_ERROR_REPLY;
	e->message.data = &e->refusal;
	e->message.length = PEAL_REQUEST_BYTES + sizeof(e->refusal.error) +
			    sizeof(e->refusal.detail);
	e->message.kind = PEAL_KIND_DATA;
	e->message.input = input;
}
