/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_TIMER_TABLE_H
#define PEAL_DEVICE_TIMER_TABLE_H

#include <peal/abi/control.h>
#include <peal/abi/timer.h>

/*
 * The table of a worker's timers: a binary heap by due time for those that are
 * not due, and for those that are a list for each queue that they go out by, so
 * that who has no room holds up nobody who goes elsewhere. Where two are due at
 * the same time, the one that was set first comes first. Setting, cancelling
 * and taking the next one cost some log2(n) steps at most. For one lane.
 */

/** Where the parts of a table lie, in bytes from its begin. */
struct peal_timer_layout {
	uint64_t ways, heap, entries, messages, total;
};

/** The table that kernel parameters ask for; total 0: none. Host and device. */
static PEAL_HD PEAL_UNUSED inline struct peal_timer_layout
peal_timer_table(const struct peal_kernel_params *params)
{
	uint64_t n = params->max_timers;
	struct peal_timer_layout at;

	at.ways = sizeof(struct peal_timers);
	at.heap = at.ways + ((uint64_t)params->n_workers + params->max_pools) *
				    sizeof(struct peal_timer_way);
	at.entries = at.heap + n * sizeof(struct peal_timer_due);
	at.messages = at.entries + n * sizeof(struct peal_timer_entry);
	at.total = (at.messages + n * params->timer_bytes + 127) / 128 * 128;
	if (!n)
		at.total = 0;
	return at;
}

static PEAL_DEV PEAL_INLINE struct peal_timer_way *
peali_timer_way(const struct peal_timers *t, uint32_t way)
{
	return (struct peal_timer_way *)(uintptr_t)t->ways + way;
}

static PEAL_DEV PEAL_INLINE struct peal_timer_due *
peali_timer_heap(const struct peal_timers *t)
{
	return (struct peal_timer_due *)(uintptr_t)t->heap;
}

static PEAL_DEV PEAL_INLINE struct peal_timer_entry *
peali_timer_entry(const struct peal_timers *t, uint32_t place)
{
	return (struct peal_timer_entry *)(uintptr_t)t->entries + place;
}

static PEAL_DEV PEAL_INLINE uint8_t *
peali_timer_message(const struct peal_timers *t, uint32_t place)
{
	return (uint8_t *)(uintptr_t)(t->messages +
				      (uint64_t)place * t->message_step);
}

/* The first launch: the memory is zeroed. */
static PEAL_DEV PEAL_UNUSED inline void
peali_timers_init(struct peal_timers *t,
		  const struct peal_kernel_params *params)
{
	struct peal_timer_layout at = peal_timer_table(params);
	uint64_t base = (uint64_t)(uintptr_t)t;

	t->ways = base + at.ways;
	t->heap = base + at.heap;
	t->entries = base + at.entries;
	t->messages = base + at.messages;
	t->n_ways = params->n_workers + params->max_pools;
	t->max = params->max_timers;
	t->own = t->max - (params->max_asks ? params->max_asks + 1 : 0);
	t->message_step = params->timer_bytes;
	t->every = 1;
}

/* ---- places -------------------------------------------------------------- */

/* A place that is free; `max`: there is none. */
static PEAL_DEV PEAL_INLINE uint32_t peali_timer_take(struct peal_timers *t)
{
	uint32_t place = t->free - 1;

	if (t->free)
		t->free = peali_timer_entry(t, place)->next;
	else if (t->fresh < t->max)
		place = t->fresh++;
	else
		place = t->max;
	return place;
}

static PEAL_DEV PEAL_INLINE void peali_timer_give(struct peal_timers *t,
						  uint32_t place)
{
	struct peal_timer_entry *entry = peali_timer_entry(t, place);

	entry->number = 0;
	entry->next = t->free;
	t->free = place + 1;
}

/* ---- the heap ------------------------------------------------------------ */

static PEAL_DEV PEAL_INLINE int
peali_timer_before(const struct peal_timers *t, const struct peal_timer_due *a,
		   const struct peal_timer_due *b)
{
	if (a->due_ns != b->due_ns)
		return a->due_ns < b->due_ns;
	return peali_timer_entry(t, a->place)->number <
	       peali_timer_entry(t, b->place)->number;
}

/* Finds a place for one that may be due before those above it or after those
 * below it, of which `i` is the index that is free. */
static PEAL_DEV PEAL_UNUSED inline void
peali_timer_sift(struct peal_timers *t, uint32_t i, struct peal_timer_due due)
{
	struct peal_timer_due *heap = peali_timer_heap(t);
	uint32_t to;

	for (;;) {
		to = (i - 1) / 2;
		if (i == 0 || !peali_timer_before(t, &due, &heap[to])) {
			to = 2 * i + 1;
			if (to + 1 < t->n_heap &&
			    peali_timer_before(t, &heap[to + 1], &heap[to]))
				to++;
			if (to >= t->n_heap ||
			    !peali_timer_before(t, &heap[to], &due))
				break;
		}
		heap[i] = heap[to];
		peali_timer_entry(t, heap[i].place)->at = i;
		i = to;
	}
	heap[i] = due;
	peali_timer_entry(t, due.place)->at = i;
}

/* The place waits from now on; its entry says until when. */
static PEAL_DEV PEAL_UNUSED inline void peali_timer_add(struct peal_timers *t,
							uint32_t place)
{
	struct peal_timer_due due;
	uint32_t i = t->n_heap++;

	due.due_ns = peali_timer_entry(t, place)->due_ns;
	due.place = place;
	due.reserved = 0;
	peali_timer_sift(t, i, due);
}

/* Takes the one of that index out. */
static PEAL_DEV PEAL_UNUSED inline void
peali_timer_remove(struct peal_timers *t, uint32_t i)
{
	struct peal_timer_due last = peali_timer_heap(t)[--t->n_heap];

	if (i < t->n_heap)
		peali_timer_sift(t, i, last);
}

/* ---- those that are due -------------------------------------------------- */

/* The place, which is in no heap, waits for room behind others. */
static PEAL_DEV PEAL_UNUSED inline void
peali_timer_hold(struct peal_timers *t, uint32_t place, uint32_t way)
{
	struct peal_timer_way *list = peali_timer_way(t, way);
	struct peal_timer_entry *entry = peali_timer_entry(t, place);

	entry->at = PEAL_TIMER_HELD;
	entry->way = way;
	entry->prev = list->last;
	entry->next = 0;
	if (list->last)
		peali_timer_entry(t, list->last - 1)->next = place + 1;
	else
		list->first = place + 1;
	list->last = place + 1;
	t->n_held++;
}

static PEAL_DEV PEAL_UNUSED inline void
peali_timer_unhold(struct peal_timers *t, uint32_t place)
{
	struct peal_timer_entry *entry = peali_timer_entry(t, place);
	struct peal_timer_way *list = peali_timer_way(t, entry->way);

	if (entry->prev)
		peali_timer_entry(t, entry->prev - 1)->next = entry->next;
	else
		list->first = entry->next;
	if (entry->next)
		peali_timer_entry(t, entry->next - 1)->prev = entry->prev;
	else
		list->last = entry->prev;
	t->n_held--;
}

/* Takes a place that waits out of heap or list. */
static PEAL_DEV PEAL_UNUSED inline void peali_timer_leave(struct peal_timers *t,
							  uint32_t place)
{
	uint32_t at = peali_timer_entry(t, place)->at;

	if (at == PEAL_TIMER_HELD)
		peali_timer_unhold(t, place);
	else
		peali_timer_remove(t, at);
}

#endif
