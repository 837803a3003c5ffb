/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Actor slots of a kernel. A slot consists of a table entry, a state in the
 * arena and ports of a worker. See struct peali_actor_slots.
 *
 * 1. An actor gets the slot of a retired actor, if one fits. Free slots are in
 *    lists by handler, worker and port sharing. The search takes the same time
 *    for any number of slots.
 * 2. Otherwise the actor gets a new slot. Its state and ports come from spans,
 *    or else from the unused rest of the arena and of the ports.
 * 3. If the free memory does not suffice, the runtime dissolves all lists. The
 *    free states and ports become spans, and adjacent spans merge. Any actor
 *    can use a span. The free entries become bare: they have no state and no
 *    ports.
 *
 * A migrated actor keeps its state where it was made. It takes only an entry
 * and ports. When it ends, its entry becomes bare and its ports become a span.
 */
#include "runtime/actor/slots.h"

#include <stdlib.h>

#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/record.h"
#include "runtime/runtime.h"

/** A range of free bytes of the arena, or of free ports of a worker. */
struct peali_span {
	uint32_t worker; /* of the ports; ARENA: a range of bytes */
	uint64_t at, length; /* start and size, in bytes or ports */
};

#define ARENA UINT32_MAX

/*
 * Returns the number of lists. There is one list for each handler, worker and
 * port sharing (0 or 1). The list of bare entries follows. A list is 1 + its
 * first index, 0 if empty.
 */
static uint32_t n_lists(const struct peal_kernel *k)
{
	return k->program->n_handlers * k->params.n_workers * 2 + 1;
}

static uint32_t *list_of(const struct peali_actor_slots *r)
{
	const struct peal_kernel *k = r->kernel;

	return &k->slots.retired[(r->handler * k->params.n_workers + r->worker) *
					 2 +
				 (r->share_ports_with != 0)];
}

static uint32_t *list_of_bare(const struct peal_kernel *k)
{
	return &k->slots.retired[n_lists(k) - 1];
}

int peali_actor_slots_open(struct peal_kernel *k)
{
	uint32_t i;

	k->actors.entries =
		calloc(k->params.max_actors, sizeof(*k->actors.entries));
	k->slots.retired = calloc(n_lists(k), sizeof(*k->slots.retired));
	if (!k->actors.entries || !k->slots.retired)
		return PEAL_ENOMEM;
	for (i = 0; i < k->params.max_actors; i++)
		k->actors.entries[i].handler = PEAL_NO_HANDLER;
	for (i = 0; i < k->params.n_workers; i++)
		k->workers[i].n_ports = PEAL_PORTS_FIRST;
	return 0;
}

void peali_actor_slots_close(struct peal_kernel *k)
{
	free(k->actors.entries);
	free(k->slots.retired);
	free(k->slots.spans);
}

uint64_t peali_state_stride(const struct peal_handler_info *h)
{
	return ((uint64_t)h->state_bytes + 15) / 16 * 16;
}

/* Returns the arena bytes that a slot takes. A migrated actor takes 0. */
static uint64_t step_of(const struct peali_actor_slots *r)
{
	return r->moved ? 0 :
			  peali_state_stride(
				  &r->kernel->program->handlers[r->handler]);
}

/* ---- lists --------------------------------------------------------------- */

static uint32_t pop(struct peal_kernel *k, uint32_t *list)
{
	uint32_t index = *list - 1;

	*list = k->actors.entries[index].next;
	k->actors.entries[index].next = 0;
	return index;
}

static void push(struct peal_kernel *k, uint32_t *list, uint32_t index)
{
	k->actors.entries[index].next = *list;
	*list = 1 + index;
}

/*
 * Frees an entry. If an actor had it, the next actor gets another generation
 * and thus another address. A slot that was only reserved keeps its generation.
 */
static void vacate(struct peal_kernel *k, uint32_t index)
{
	struct peali_actor *a = &k->actors.entries[index];

	if (a->handler != PEAL_NO_HANDLER)
		a->generation = (a->generation + 1) % PEAL_ACTOR_GENERATIONS;
	a->handler = PEAL_NO_HANDLER;
}

/* Returns the length of a list, at most n. */
static uint32_t count(const struct peal_kernel *k, uint32_t list, uint32_t n)
{
	uint32_t found = 0;

	for (; list && found < n; list = k->actors.entries[list - 1].next)
		found++;
	return found;
}

/* ---- spans --------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
	const struct peali_span *x = a, *y = b;

	if (x->worker != y->worker)
		return x->worker < y->worker ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static int by_index(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void add_span(struct peal_kernel *k, uint32_t worker, uint64_t at,
		     uint64_t length)
{
	const struct peali_span span = { worker, at, length };

	if (length)
		k->slots.spans[k->slots.n_spans++] = span;
}

/* Merges adjacent spans. A span at the end of the used range becomes unused
 * again. */
static void merge_spans(struct peal_kernel *k)
{
	uint32_t i, n = 0;

	if (k->slots.n_spans)
		qsort(k->slots.spans, k->slots.n_spans, sizeof(*k->slots.spans),
		      by_place);
	for (i = 0; i < k->slots.n_spans; i++) {
		struct peali_span *last = n ? &k->slots.spans[n - 1] : NULL;

		if (last && last->worker == k->slots.spans[i].worker &&
		    last->at + last->length == k->slots.spans[i].at)
			last->length += k->slots.spans[i].length;
		else if (k->slots.spans[i].length)
			k->slots.spans[n++] = k->slots.spans[i];
	}
	k->slots.n_spans = n;
	k->arena.span = 0;
	for (i = n = 0; i < k->slots.n_spans; i++) {
		const struct peali_span *s = &k->slots.spans[i];

		if (s->worker == ARENA && s->at + s->length == k->arena.used)
			k->arena.used = s->at;
		else if (s->worker != ARENA &&
			 s->at + s->length == k->workers[s->worker].n_ports)
			k->workers[s->worker].n_ports = (uint32_t)s->at;
		else
			k->slots.spans[n++] = *s;
	}
	k->slots.n_spans = n;
}

/* Sorts the bare entries, so that actors made together get adjacent entries.
 * Bare entries at the end of the table become unused again. */
static void sort_bare(struct peal_kernel *k)
{
	uint32_t *list = list_of_bare(k), i, n = count(k, *list, UINT32_MAX);
	uint32_t *index = n ? malloc(n * sizeof(*index)) : NULL;

	if (!index)
		return;
	for (i = 0; i < n; i++)
		index[i] = pop(k, list);
	qsort(index, n, sizeof(*index), by_index);
	for (; n && index[n - 1] + 1 == k->slots.n_entries; n--)
		k->slots.n_entries--;
	while (n-- > 0)
		push(k, list, index[n]);
	free(index);
}

/* Dissolves all lists. Without memory for the spans it dissolves none. */
static void dissolve(struct peal_kernel *k)
{
	uint32_t lists = n_lists(k) - 1, n = 0, i, index;
	struct peali_span *more;

	for (i = 0; i < lists; i++)
		n += count(k, k->slots.retired[i], UINT32_MAX);
	if (!n)
		return;
	if (k->slots.n_spans + 2 * n > k->slots.max_spans) {
		more = realloc(k->slots.spans,
			       ((size_t)k->slots.n_spans + 2 * n) *
				       sizeof(*more));
		if (!more)
			return;
		k->slots.spans = more;
		k->slots.max_spans = k->slots.n_spans + 2 * n;
	}
	for (i = 0; i < lists; i++) {
		uint32_t worker = i / 2 % k->params.n_workers;
		const struct peal_handler_info *h =
			&k->program->handlers[i / 2 / k->params.n_workers];

		while (k->slots.retired[i]) {
			index = pop(k, &k->slots.retired[i]);
			add_span(k, ARENA,
				 k->actors.entries[index].state_offset -
					 k->arena.offset,
				 peali_state_stride(h));
			if (!(i & 1))
				add_span(k, worker,
					 k->actors.entries[index].port_base,
					 h->ports);
			push(k, list_of_bare(k), index);
		}
	}
	merge_spans(k);
	sort_bare(k);
	more = realloc(k->slots.spans, (k->slots.n_spans + 1u) * sizeof(*more));
	if (more) {
		k->slots.spans = more;
		k->slots.max_spans = k->slots.n_spans + 1;
	}
}

/* Takes `length` units from the start of a span, and returns their position. An
 * empty span stays until the next merge. */
static int64_t take_first(struct peali_span *s, uint64_t length)
{
	s->at += length;
	s->length -= length;
	return (int64_t)(s->at - length);
}

/* Takes bytes from the spans of the arena. The search begins at the last span
 * used. Returns the offset in the arena, or -1. */
static int64_t take_bytes(struct peal_kernel *k, uint64_t length)
{
	uint32_t n, i;

	for (n = 0; n < k->slots.n_spans; n++) {
		i = (k->arena.span + n) % k->slots.n_spans;
		if (k->slots.spans[i].worker != ARENA ||
		    k->slots.spans[i].length < length)
			continue;
		k->arena.span = i;
		return take_first(&k->slots.spans[i], length);
	}
	return -1;
}

/* Takes consecutive ports from the spans of a worker. The spans are sorted by
 * worker, and the arena's come last. Returns the first port, or -1. */
static int64_t take_ports(struct peal_kernel *k, uint32_t worker,
			  uint32_t ports)
{
	uint32_t i;

	for (i = 0; i < k->slots.n_spans && k->slots.spans[i].worker <= worker;
	     i++)
		if (k->slots.spans[i].worker == worker &&
		    k->slots.spans[i].length >= ports)
			return take_first(&k->slots.spans[i], ports);
	return -1;
}

/* Counts the pieces of `each` units in the spans of a worker and in the unused
 * `rest`. For the arena, worker is ARENA. *left_out receives all free units. */
static uint64_t pieces(const struct peal_kernel *k, uint32_t worker,
		       uint64_t each, uint64_t rest, uint64_t *left_out)
{
	uint64_t n = rest / each;
	uint32_t i;

	*left_out = rest;
	for (i = 0; i < k->slots.n_spans; i++) {
		if (k->slots.spans[i].worker != worker)
			continue;
		n += k->slots.spans[i].length / each;
		*left_out += k->slots.spans[i].length;
	}
	return n;
}

/* ---- new slots ----------------------------------------------------------- */

enum lack { LACK_NOTHING, LACK_ENTRIES, LACK_BYTES, LACK_PORTS };

/* Returns the resource that n more slots would exhaust. *left_out receives its
 * free amount. */
static enum lack what_lacks(const struct peali_actor_slots *r, uint32_t n,
			    uint64_t *left_out)
{
	const struct peal_kernel *k = r->kernel;
	const struct peal_handler_info *h = &k->program->handlers[r->handler];
	uint64_t step = step_of(r);

	*left_out = k->params.first_actor_slot - k->slots.n_entries +
		    count(k, *list_of_bare(k), n);
	if (n > *left_out)
		return LACK_ENTRIES;
	if (step && n > pieces(k, ARENA, step, k->arena.bytes - k->arena.used,
			       left_out))
		return LACK_BYTES;
	if (!r->share_ports_with && h->ports &&
	    n > pieces(k, r->worker, h->ports,
		       PEAL_PORTS_FIRST + k->params.max_ports -
			       k->workers[r->worker].n_ports,
		       left_out))
		return LACK_PORTS;
	return LACK_NOTHING;
}

static int say_lack(const struct peali_actor_slots *r, uint32_t n,
		    enum lack lack, uint64_t left, const char *call)
{
	const struct peal_kernel *k = r->kernel;
	const struct peal_handler_info *h = &k->program->handlers[r->handler];
	unsigned long long step = peali_state_stride(h);

	switch (lack) {
	case LACK_NOTHING:
		return 0;
	case LACK_ENTRIES:
		if (!left)
			return peali_fail(PEAL_ENOSPC, call,
					  "all %u of max_actors are used in "
					  "kernel '%s'",
					  k->params.first_actor_slot, k->name);
		return PEALI_REFUSE(
			PEAL_ENOSPC, call, .object = "kernel", .name = k->name,
			.problem = PEALI_PRINT(
				"has too few of max_actors left for "
				"actors on worker %u",
				r->worker),
			.number = n, .most = left,
			.remedy = "raise max_actors");
	case LACK_BYTES:
		return PEALI_REFUSE(
			PEAL_ENOSPC, call, .object = "kernel", .name = k->name,
			.problem = PEALI_PRINT(
				"has too few of arena_bytes left for "
				"%u state%s of '%s' on worker %u",
				n, peali_s(n), h->name, r->worker),
			.number = n * step, .most = left,
			.remedy = "raise arena_bytes");
	case LACK_PORTS:
		break;
	}
	return PEALI_REFUSE(
		PEAL_ENOSPC, call, .object = "kernel", .name = k->name,
		.problem = PEALI_PRINT(
			"has too few of max_ports left on worker %u "
			"for %u actor%s of '%s'",
			r->worker, n, peali_s(n), h->name),
		.number = (uint64_t)n * h->ports, .most = left,
		.remedy = "use option share_ports_with");
}

static uint32_t take_entry(struct peal_kernel *k)
{
	uint32_t *bare = list_of_bare(k);

	return *bare ? pop(k, bare) : k->slots.n_entries++;
}

static uint32_t take_fresh(const struct peali_actor_slots *r)
{
	struct peal_kernel *k = r->kernel;
	const struct peal_handler_info *h = &k->program->handlers[r->handler];
	uint64_t step = step_of(r);
	uint32_t index = take_entry(k);
	struct peali_actor *a = &k->actors.entries[index];
	int64_t at = step ? take_bytes(k, step) : -1;

	if (at < 0) {
		at = (int64_t)k->arena.used;
		k->arena.used += step;
	}
	a->state_offset = k->arena.offset + (uint64_t)at;
	if (r->share_ports_with)
		return index;
	at = h->ports ? take_ports(k, r->worker, h->ports) : -1;
	if (at < 0) {
		at = k->workers[r->worker].n_ports;
		k->workers[r->worker].n_ports += h->ports;
	}
	a->port_base = (uint32_t)at;
	return index;
}

/* ---- interface ----------------------------------------------------------- */

struct peali_actor_slots peali_actor_slots_of(struct peal_kernel *k,
					      uint32_t handler,
					      const struct peali_actor *a)
{
	struct peali_actor_slots slots = { k, handler, a->worker,
					   a->share_ports_with, a->bare };

	return slots;
}

int peali_actor_slots_take(const struct peali_actor_slots *r, uint32_t n,
			   uint32_t *index_out, const char *call)
{
	struct peal_kernel *k = r->kernel;
	uint32_t reused = r->moved ? 0 : count(k, *list_of(r), n), i;
	uint64_t left = 0;
	enum lack lack = what_lacks(r, n - reused, &left);

	if (lack) {
		dissolve(k);
		reused = r->moved ? 0 : count(k, *list_of(r), n);
		lack = what_lacks(r, n - reused, &left);
	}
	if (lack)
		return say_lack(r, n - reused, lack, left, call);
	for (i = 0; i < n; i++) {
		struct peali_actor *a;

		index_out[i] = i < reused ? pop(k, list_of(r)) : take_fresh(r);
		a = &k->actors.entries[index_out[i]];
		a->worker = r->worker;
		a->end_number = 0;
		a->share_ports_with = r->share_ports_with;
		if (r->share_ports_with)
			a->port_base =
				k->actors.entries[r->share_ports_with - 1]
					.port_base;
	}
	return 0;
}

/* Returns 1 if the slot's entry, state and ports are all the last used ones. */
static int is_last(const struct peali_actor_slots *r, uint32_t index)
{
	const struct peal_kernel *k = r->kernel;
	const struct peal_handler_info *h = &k->program->handlers[r->handler];
	const struct peali_actor *a = &k->actors.entries[index];
	uint64_t step = step_of(r);

	return index + 1 == k->slots.n_entries &&
	       (!step ||
		a->state_offset + step == k->arena.offset + k->arena.used) &&
	       (r->share_ports_with || !h->ports ||
		a->port_base + h->ports == k->workers[r->worker].n_ports);
}

/* Makes ports of a worker free, as a span. Without memory for the span the
 * ports stay unused until the kernel's end. */
static void give_ports(struct peal_kernel *k, uint32_t worker, uint64_t at,
		       uint32_t ports)
{
	struct peali_span *more;

	if (k->slots.n_spans == k->slots.max_spans) {
		more = realloc(k->slots.spans,
			       (k->slots.n_spans + 1u) * sizeof(*more));
		if (!more)
			return;
		k->slots.spans = more;
		k->slots.max_spans = k->slots.n_spans + 1;
	}
	add_span(k, worker, at, ports);
	merge_spans(k);
}

void peali_actor_slots_give(const struct peali_actor_slots *r, uint32_t index)
{
	struct peal_kernel *k = r->kernel;
	const struct peal_handler_info *h = &k->program->handlers[r->handler];

	vacate(k, index);
	if (!is_last(r, index)) {
		if (r->moved && !r->share_ports_with && h->ports)
			give_ports(k, r->worker,
				   k->actors.entries[index].port_base,
				   h->ports);
		push(k, r->moved ? list_of_bare(k) : list_of(r), index);
		return;
	}
	k->actors.entries[index].next = 0;
	k->slots.n_entries--;
	k->arena.used -= step_of(r);
	if (!r->share_ports_with)
		k->workers[r->worker].n_ports -= h->ports;
}

int64_t peali_port_take(struct peal_kernel *k, uint32_t worker)
{
	int64_t at = take_ports(k, worker, 1);

	if (at < 0 &&
	    k->workers[worker].n_ports < PEAL_PORTS_FIRST + k->params.max_ports)
		at = k->workers[worker].n_ports++;
	return at;
}

void peali_port_give(struct peal_kernel *k, uint32_t worker, uint32_t port)
{
	give_ports(k, worker, port, 1);
}

int64_t peali_entry_take(struct peal_kernel *k)
{
	if (!*list_of_bare(k) &&
	    k->slots.n_entries == k->params.first_actor_slot)
		dissolve(k);
	if (!*list_of_bare(k) &&
	    k->slots.n_entries == k->params.first_actor_slot)
		return -1;
	return take_entry(k);
}

void peali_entry_give(struct peal_kernel *k, uint32_t index)
{
	vacate(k, index);
	if (index + 1 != k->slots.n_entries) {
		push(k, list_of_bare(k), index);
		return;
	}
	k->actors.entries[index].next = 0;
	k->slots.n_entries--;
}
