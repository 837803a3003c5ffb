/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_TIMER_TABLE_H
#define PEAL_DEVICE_TIMER_TABLE_H

#include <peal/abi/control.h>
#include <peal/abi/timer.h>

/*
 * The table of a worker's timers. A binary heap by due time has the timers that
 * are not due. Each destination queue has a list of its due timers. So a timer
 * that waits for a full queue does not delay timers for other queues.
 *
 * If two timers have the same due time, the timer that was set first comes
 * first. To set, cancel or take a timer costs about log2(n) steps at most. For
 * one lane.
 */

/** Offsets of the parts of a table, in bytes from its begin. */
struct peal_timer_layout {
	uint64_t ways, heap, entries, messages, total;
};

/** Returns the layout of the table for a kernel's parameters. total 0: there is
 * no table. For host and device. */
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

/* Fills in the table at the first launch. Its memory is zeroed. */
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

/* ---- entries ------------------------------------------------------------- */

/* Takes a free entry and returns its index; `max`: no entry is free. */
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

/* Puts a timer into the heap, where index `i` is free. The timer moves up past
 * later timers, or down past earlier ones. */
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

/* Adds an entry to the heap. `due_ns` of the entry is its due time. */
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

/* Removes the timer at index `i` from the heap. */
static PEAL_DEV PEAL_UNUSED inline void
peali_timer_remove(struct peal_timers *t, uint32_t i)
{
	struct peal_timer_due last = peali_timer_heap(t)[--t->n_heap];

	if (i < t->n_heap)
		peali_timer_sift(t, i, last);
}

/* ---- due timers ---------------------------------------------------------- */

/* Appends an entry that is not in the heap to the list `way`. There the timer
 * waits for a free slot behind the others. */
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

/* Removes the entry of a pending timer from the heap or from its list. */
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
