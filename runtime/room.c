/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rooms: what an actor takes of its kernel, an entry of its table, a state in
 * its arena and ports of its worker. Those that were never used lie behind one
 * another; those of retired actors are kept in lists, one for each handler on
 * each worker, for they fit a later actor as they are. So to find one takes the
 * same time however many there are.
 */
#include <stdlib.h>

#include "runtime/runtime.h"

/* Lists by handler, worker, and whether the ports are shared; then that of
 * entries that were a pool's. A list is 1 + its first index, 0 if empty. */
static uint32_t n_lists(const struct peal_kernel *k)
{
	return k->program->n_handlers * k->params.n_workers * 2 + 1;
}

static uint32_t *list_of(const struct peali_rooms *r)
{
	const struct peal_kernel *k = r->kernel;

	return &k->retired[(r->handler * k->params.n_workers + r->worker) * 2 +
			   (r->ports_of != 0)];
}

static uint32_t *list_of_pools(const struct peal_kernel *k)
{
	return &k->retired[n_lists(k) - 1];
}

int peali_rooms_open(struct peal_kernel *k)
{
	uint32_t i;

	k->actors = calloc(k->params.max_actors, sizeof(*k->actors));
	k->retired = calloc(n_lists(k), sizeof(*k->retired));
	if (!k->actors || !k->retired)
		return PEAL_ENOMEM;
	for (i = 0; i < k->params.max_actors; i++)
		k->actors[i].handler = PEAL_NO_HANDLER;
	return 0;
}

void peali_rooms_close(struct peal_kernel *k)
{
	free(k->actors);
	free(k->retired);
}

uint64_t peali_room_step(const struct peal_handler_info *h)
{
	return ((uint64_t)h->state_bytes + 15) / 16 * 16;
}

/* ---- lists ----------------------------------------------------------------- */

static uint32_t pop(struct peal_kernel *k, uint32_t *list)
{
	uint32_t index = *list - 1;

	*list = k->actors[index].next;
	k->actors[index].next = 0;
	return index;
}

static void push(struct peal_kernel *k, uint32_t *list, uint32_t index)
{
	k->actors[index].handler = PEAL_NO_HANDLER;
	k->actors[index].next = *list;
	*list = 1 + index;
}

/* How many of a list there are, up to n. */
static uint32_t count(const struct peal_kernel *k, uint32_t list, uint32_t n)
{
	uint32_t found = 0;

	for (; list && found < n; list = k->actors[list - 1].next)
		found++;
	return found;
}

/* ---- room that was never used ------------------------------------------------ */

static int check_fresh(const struct peali_rooms *r, uint32_t n,
		       const char *call)
{
	const struct peal_kernel *k = r->kernel;
	const struct peal_handler_info *h = &k->program->handlers[r->handler];
	uint32_t entries = k->params.max_actors - k->n_rooms;
	uint64_t bytes = k->arena_bytes - k->arena_used;
	uint32_t ports = k->params.max_ports - k->workers[r->worker].n_ports;

	if (!entries && n)
		return peali_fail(
			PEAL_ENOSPC, call,
			"all %u of max_actors are used in kernel '%s': by %u "
			"actors, the others kept for such as were retired, of "
			"another handler or worker, or with ports of another "
			"kind",
			k->params.max_actors, k->name,
			atomic_load(&k->n_actors));
	if (n > entries)
		return peali_fail(PEAL_ENOSPC, call,
				  "%u more actors on worker %u and %u of "
				  "max_actors are left in kernel '%s'",
				  n, r->worker, entries, k->name);
	if (n * peali_room_step(h) > bytes)
		return peali_fail(PEAL_ENOSPC, call,
				  "the state of '%s' takes %llu bytes, those "
				  "of %u actors on worker %u %llu, and %llu of "
				  "arena_bytes are left in kernel '%s'",
				  h->name,
				  (unsigned long long)peali_room_step(h), n,
				  r->worker,
				  (unsigned long long)(n * peali_room_step(h)),
				  (unsigned long long)bytes, k->name);
	if (!r->ports_of && (uint64_t)n * h->ports > ports)
		return peali_fail(PEAL_ENOSPC, call,
				  "'%s' has %u ports, and for %u actors %u of "
				  "max_ports are left on worker %u of kernel "
				  "'%s': option ports_of shares one's",
				  h->name, h->ports, n, ports, r->worker,
				  k->name);
	return 0;
}

static uint32_t take_fresh(const struct peali_rooms *r)
{
	struct peal_kernel *k = r->kernel;
	const struct peal_handler_info *h = &k->program->handlers[r->handler];
	struct peali_actor *a = &k->actors[k->n_rooms];

	a->state_offset = k->arena_offset + k->arena_used;
	k->arena_used += peali_room_step(h);
	if (!r->ports_of) {
		a->port_base = k->workers[r->worker].n_ports;
		k->workers[r->worker].n_ports += h->ports;
	}
	return k->n_rooms++;
}

/* ---- what the others call ---------------------------------------------------- */

int peali_rooms_take(const struct peali_rooms *r, uint32_t n,
		     uint32_t *index_out, const char *call)
{
	struct peal_kernel *k = r->kernel;
	uint32_t reused = count(k, *list_of(r), n), i;
	int result = check_fresh(r, n - reused, call);

	if (result)
		return result;
	for (i = 0; i < n; i++) {
		struct peali_actor *a;

		index_out[i] = i < reused ? pop(k, list_of(r)) : take_fresh(r);
		a = &k->actors[index_out[i]];
		a->worker = r->worker;
		a->ports_of = r->ports_of;
		if (r->ports_of)
			a->port_base = k->actors[r->ports_of - 1].port_base;
	}
	return 0;
}

void peali_rooms_give(const struct peali_rooms *r, uint32_t index)
{
	struct peal_kernel *k = r->kernel;
	const struct peal_handler_info *h = &k->program->handlers[r->handler];

	push(k, list_of(r), index);
	if (index + 1 != k->n_rooms)
		return;
	/* the last one: nothing lies behind its state and its ports */
	pop(k, list_of(r));
	k->n_rooms--;
	k->arena_used -= peali_room_step(h);
	if (!r->ports_of)
		k->workers[r->worker].n_ports -= h->ports;
}

int64_t peali_pool_room_take(struct peal_kernel *k)
{
	uint32_t *list = list_of_pools(k);

	if (*list)
		return pop(k, list);
	return k->n_rooms < k->params.max_actors ? (int64_t)k->n_rooms++ : -1;
}

void peali_pool_room_give(struct peal_kernel *k, uint32_t index)
{
	push(k, list_of_pools(k), index);
	if (index + 1 == k->n_rooms) {
		pop(k, list_of_pools(k));
		k->n_rooms--;
	}
}
