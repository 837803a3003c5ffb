/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RINGKERNELS_BASELINE_CROWD_H
#define PEAL_RINGKERNELS_BASELINE_CROWD_H

#include <peal/device/lanes.h>

#include "ringkernels/baseline_base.h"

/*
 * Work queues and barriers of many workers, as one writes them without Peal. All
 * workers and lanes of a crowd put messages, then take them. Source of the broker
 * queue: Kerbl et al., ICS 2018.
 */

static PEAL_DEV PEAL_INLINE uint64_t *
queue_word(const struct baseline_worker *r, uint64_t at)
{
	return (uint64_t *)(void *)(r->out + at);
}

static PEAL_DEV PEAL_INLINE struct peali_baseline_slot *
queue_slot(const struct baseline_worker *r, uint64_t number)
{
	struct peali_baseline_slot *slots =
		(struct peali_baseline_slot *)(void *)(r->out +
						       PEALI_BASELINE_QUEUE_AT);

	return slots + (number & (r->side->slots - 1));
}

/* Returns the turn of a free slot. */
static PEAL_DEV PEAL_INLINE uint64_t queue_turn(const struct baseline_worker *r,
						uint64_t number)
{
	return 2 * (number / r->side->slots);
}

/* Returns the leader's word. A worker of one warp needs no memory for it. */
static PEAL_DEV PEAL_INLINE uint64_t queue_say(const struct baseline_worker *r,
					       uint64_t word)
{
#if PEALI_HAS_WARPS
	if (r->share.lanes == 32)
		return peal_hw_warp_from(word, 0);
#endif
	return say(r, word);
}

/* Takes a ticket for this lane. One lane adds for all lanes, or each for itself. */
static PEAL_DEV PEAL_INLINE uint64_t
queue_ticket(const struct baseline_worker *r, uint64_t at, int together)
{
	uint64_t *next = queue_word(r, at), first = 0;

	if (!together)
		return peal_add_relaxed_dev(next, 1);
	if (!r->share.lane)
		first = peal_add_relaxed_dev(next, r->share.lanes);
	return queue_say(r, first) + r->share.lane;
}

/* The leader adds a message of each lane to the count. Returns 0 if the queue is
 * full. */
static PEAL_DEV PEAL_INLINE int
broker_admit_put(const struct baseline_worker *r)
{
	uint64_t *count = queue_word(r, PEALI_BASELINE_COUNT_AT);
	uint64_t n = r->share.lanes, fits = 0;

	if (!r->share.lane && look(r, count) + n <= r->side->slots) {
		fits = peal_add_relaxed_dev(count, n) + n <= r->side->slots;
		if (!fits)
			peal_add_relaxed_dev(count, 0 - n);
	}
	return (int)queue_say(r, fits);
}

/* The leader takes a message for each lane off the count. Returns 0 if the queue
 * has too few. */
static PEAL_DEV PEAL_INLINE int
broker_admit_take(const struct baseline_worker *r)
{
	uint64_t *count = queue_word(r, PEALI_BASELINE_COUNT_AT);
	int64_t n = (int64_t)r->share.lanes;
	uint64_t fits = 0;

	if (!r->share.lane && (int64_t)look(r, count) >= n) {
		fits = (int64_t)peal_add_relaxed_dev(count, 0 - (uint64_t)n) >=
		       n;
		if (!fits)
			peal_add_relaxed_dev(count, (uint64_t)n);
	}
	return (int)queue_say(r, fits);
}

/* Puts a message of this lane. Returns 0 if it is late. */
static PEAL_DEV PEAL_INLINE int queue_put(const struct baseline_worker *r,
					  uint64_t i, int is_broker)
{
	uint64_t n = r->side->messages, number, turn;
	struct peali_baseline_slot *slot;
	struct peali_crowd_item item;

	if (is_broker && !broker_admit_put(r))
		return 0;
	item.number = (r->member * n + i) * r->share.lanes + r->share.lane;
	item.check = item.number ^ r->side->seed;
	number = queue_ticket(r, PEALI_BASELINE_TAIL_AT, is_broker);
	slot = queue_slot(r, number);
	turn = queue_turn(r, number);
	if (turn && !await(r, &slot->turn, turn))
		return 0;
	slot->item = item;
	fence_release(r);
	put(r, &slot->turn, turn + 1);
	return 1;
}

/* Takes a message for this lane. Returns 0 if there is none. */
static PEAL_DEV PEAL_INLINE int queue_take(const struct baseline_worker *r,
					   struct peali_crowd_item *item,
					   int is_broker)
{
	struct peali_baseline_slot *slot;
	uint64_t number, turn;

	if (is_broker && !broker_admit_take(r))
		return 0;
	number = queue_ticket(r, PEALI_BASELINE_TURN_AT, is_broker);
	if (!is_broker &&
	    number >= look(r, queue_word(r, PEALI_BASELINE_TAIL_AT)))
		return 0;
	slot = queue_slot(r, number);
	turn = queue_turn(r, number);
	if (!await(r, &slot->turn, turn + 1))
		return 0;
	fence_acquire(r);
	*item = slot->item;
	fence_release(r);
	put(r, &slot->turn, turn + 2);
	return 1;
}

/* Adds what a lane has taken to the line of its worker. */
static PEAL_DEV void queue_report(const struct baseline_worker *r,
				  uint64_t messages, uint64_t sum,
				  uint64_t wrong)
{
	peal_add_relaxed_dev(&r->line->messages, messages);
	peal_add_relaxed_dev(&r->line->sum, sum);
	peal_add_relaxed_dev(&r->line->wrong, wrong);
}

static PEAL_DEV void queue_run(struct baseline_worker *r, int is_broker)
{
	struct peali_crowd_item item = { 0, 0 };
	uint64_t i, n = 0, sum = 0, wrong = 0, began;

	counter_pass(r, 1);
	began = peal_clock_ns();
	for (i = 0; i < r->side->messages; i++)
		wrong += !queue_put(r, i, is_broker);
	meet(r);
	if (!r->share.lane)
		r->line->put_ns = peal_clock_ns() - began;
	counter_pass(r, 2);
	began = peal_clock_ns();
	for (; queue_take(r, &item, is_broker); n++) {
		sum += item.number;
		wrong += item.check != (item.number ^ r->side->seed);
	}
	meet(r);
	if (!r->share.lane)
		r->line->elapsed_ns = peal_clock_ns() - began;
	queue_report(r, n, sum, wrong);
}

/* ---- a barrier of all workers -------------------------------------------- */

/* Phases between two checks of another member. */
#define GRID_LOOK_EVERY 64

static PEAL_DEV uint64_t *grid_word(const struct baseline_worker *r,
				    uint64_t member)
{
	return (uint64_t *)(void *)(r->out + PEALI_BASELINE_QUEUE_AT +
				    member % r->side->participants *
					    PEAL_SHARED_LINE);
}

static PEAL_DEV void grid_run(struct baseline_worker *r)
{
	const struct peali_baseline_side *side = r->side;
	uint64_t i;

	for (i = 1; i <= side->messages; i++) {
		int looks = !r->share.lane && i % GRID_LOOK_EVERY == 0;

		if (looks)
			put(r, grid_word(r, r->member), side->seed + i);
		if (!counter_pass(r, i))
			break;
		if (looks)
			r->wrong += look(r, grid_word(r, r->member + i)) !=
				    side->seed + i;
		count(r, i - 1);
	}
	if (r->share.lane)
		return;
	r->line->elapsed_ns = peal_clock_ns() - r->began_ns;
	r->line->messages = i - 1 - side->warm;
	r->line->wrong = r->wrong;
}

#endif
