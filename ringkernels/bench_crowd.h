/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RINGKERNELS_BENCH_CROWD_H
#define PEAL_RINGKERNELS_BENCH_CROWD_H

/*
 * Handlers of a crowd: one actor per worker. The host sends START to member 0.
 * Each member tells it to two further members. A barrier of the crowd begins the
 * timed part and ends the round. Then member 0 stores the seed as the last word.
 */
#include <peal/device/kernel.h>

#include "ringkernels/bench_program.h"
#include "ringkernels/crowd_program.h"

/* Members that a member starts. */
#define CROWD_TELLS 2

static PEAL_DEV struct peali_crowd_line *
crowd_line(const struct peali_bench_start *start, uint32_t member)
{
	return (struct peali_crowd_line *)(uintptr_t)start->address + member;
}

/* Passes the barrier of the crowd, with all lanes. */
static PEAL_DEV int crowd_meet(struct peal_worker *w)
{
	int result = peal_barrier_arrive_lanes(w, 0);

	return result ? result : peal_barrier_wait_lanes(w, 0, -1);
}

/* Copies START and tells it to the members below this one. */
static PEAL_DEV int crowd_start(struct peal_worker *w,
				struct peali_bench_start *start)
{
	struct peali_bench_start next;
	uint32_t child = 1;
	int result = 0;

	if (peal_length(w) != sizeof(*start))
		return PEAL_EPROTO;
	*start = *(const struct peali_bench_start *)peal_data(w);
	next = *start;
	for (; child <= CROWD_TELLS && !result; child++) {
		next.self = CROWD_TELLS * start->self + child;
		if (next.self >= start->participants)
			break;
		result = peal_tell(w, peal_self(w) + next.self - start->self,
				   PEALI_BENCH_START, &next, sizeof(next), 0);
	}
	return result;
}

/* Ends the round, after each member has written its line. */
static PEAL_DEV int crowd_end(struct peal_worker *w,
			      const struct peali_bench_start *start)
{
	int result = crowd_meet(w);

	if (!result && !start->self && peal_is_leader(w))
		peal_store_release_sys(
			&crowd_line(start, start->participants)->done,
			start->seed);
	return result;
}

/* ---- work queue ---------------------------------------------------------- */

/* The state of `popper`. */
struct popper {
	struct peal_work_producer producer;
	struct peal_work_consumer consumer;
};

/* What a lane has taken. */
struct popped {
	uint64_t messages, sum, wrong;
};

static PEAL_DEV int popper_open(struct peal_worker *w, struct popper *p,
				const struct peali_bench_start *start)
{
	int result = 0;

	if (peal_is_leader(w)) {
		result = peal_device_queue_work_producer(start->mask,
							 &p->producer);
		if (!result)
			result = peal_device_queue_work_consumer(
				start->mask, start->self, &p->consumer);
	}
	return (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
}

static PEAL_DEV PEAL_INLINE int popper_put(struct peal_worker *w,
					   struct peal_work *q,
					   struct popper *p,
					   const struct peali_crowd_item *item)
{
	const struct peal_header header = { 0, 0, 0 };

	if (peal_lanes(w) == 1)
		return peal_work_push(q, &p->producer, header, item,
				      sizeof(*item));
	return peal_work_push_lanes(w, q, &p->producer, 1, header, item,
				    sizeof(*item));
}

static PEAL_DEV PEAL_INLINE int popper_take(struct peal_worker *w,
					    struct peal_work *q,
					    struct popper *p,
					    struct peali_crowd_item *item)
{
	struct peal_work_received got;

	if (peal_lanes(w) == 1)
		return peal_work_pop(q, &p->consumer, item, sizeof(*item),
				     &got) == 1;
	return peal_work_pop_lanes(w, q, &p->consumer, item, sizeof(*item),
				   &got) == 1;
}

/* Puts `messages` messages of each lane. The queue has slots for all. */
static PEAL_DEV int popper_fill(struct peal_worker *w, struct peal_work *q,
				struct popper *p,
				const struct peali_bench_start *start)
{
	struct peali_crowd_item item;
	uint64_t i;
	int result = 0;

	for (i = 0; i < start->messages && !result; i++) {
		item.number =
			(start->self * start->messages + i) * peal_lanes(w) +
			peal_lane(w);
		item.check = item.number ^ start->seed;
		do
			result = popper_put(w, q, p, &item);
		while (result == PEAL_EAGAIN &&
		       !peal_broadcast(w, (uint64_t)peal_aborting(w)));
	}
	if (peal_is_leader(w))
		peal_work_lease_release(q, &p->producer);
	return result;
}

/* Returns 1 if all messages have been taken. Collective. */
static PEAL_DEV int popper_is_empty(struct peal_worker *w, struct peal_work *q)
{
	int ended = 0;

	if (peal_is_leader(w))
		ended = peal_aborting(w) ||
			peal_load_relaxed_dev(&q->turn) ==
				peal_load_relaxed_dev(&q->ticket);
	return (int)peal_broadcast(w, (uint64_t)ended);
}

/* Takes messages until there are none. */
static PEAL_DEV void popper_drain(struct peal_worker *w, struct peal_work *q,
				  struct popper *p, uint64_t seed,
				  struct popped *lane)
{
	struct peali_crowd_item item;
	int found;

	do {
		found = popper_take(w, q, p, &item);
		if (found) {
			lane->messages++;
			lane->sum += item.number;
			lane->wrong += item.check != (item.number ^ seed);
		}
	} while (peali_batch_ballot(w, found) || !popper_is_empty(w, q));
	if (peal_is_leader(w))
		peal_work_unclaim(q, &p->consumer);
}

/* Writes the line of a member. */
static PEAL_DEV void popper_report(struct peal_worker *w,
				   struct peali_crowd_line *line,
				   const struct popped *lane)
{
	uint64_t messages = peal_sum(w, lane->messages);
	uint64_t sum = peal_sum(w, lane->sum);
	uint64_t wrong = peal_sum(w, lane->wrong);

	if (!peal_is_leader(w))
		return;
	line->messages = messages;
	line->sum = sum;
	line->wrong = wrong;
}

/*
 * START has the address of a work queue in `mask`. All members put messages,
 * then all take messages until there are none. Both parts are timed.
 */
static PEAL_DEV int popper(struct peal_worker *w)
{
	struct popper *p = (struct popper *)peal_state(w);
	struct popped lane = { 0, 0, 0 };
	struct peali_bench_start start;
	struct peali_crowd_line *line;
	struct peal_work *q;
	uint64_t began;
	int result = crowd_start(w, &start);

	if (!result)
		result = popper_open(w, p, &start);
	if (!result)
		result = crowd_meet(w);
	if (result)
		return result;
	q = peal_device_queue_work(start.mask);
	line = crowd_line(&start, start.self);
	began = peal_clock_ns();
	result = popper_fill(w, q, p, &start);
	if (peal_is_leader(w))
		line->put_ns = peal_clock_ns() - began;
	if (!result)
		result = crowd_meet(w);
	if (result)
		return result;
	began = peal_clock_ns();
	popper_drain(w, q, p, start.seed, &lane);
	if (peal_is_leader(w))
		line->elapsed_ns = peal_clock_ns() - began;
	popper_report(w, line, &lane);
	return crowd_end(w, &start);
}

/* ---- phases -------------------------------------------------------------- */

/* Phases between two checks of another member. */
#define CROWD_LOOK_EVERY 64

/* Returns the phase word of a member, in memory of the device. */
static PEAL_DEV uint64_t *crowd_word(const struct peali_bench_start *start,
				     uint64_t member)
{
	return (uint64_t *)(uintptr_t)(start->mask +
				       member % start->participants *
					       PEAL_SHARED_LINE);
}

/*
 * All members pass the barrier `messages` times. START has the phase words in
 * `mask`. At some phases each member looks for the phase of another one.
 */
static PEAL_DEV int phases_all(struct peal_worker *w)
{
	struct peali_bench_start start;
	struct peali_crowd_line *line;
	uint64_t i, began = 0, wrong = 0;
	int result = crowd_start(w, &start);

	for (i = 1; !result && i <= start.messages; i++) {
		int look = peal_is_leader(w) && i % CROWD_LOOK_EVERY == 0;

		if (look)
			peal_store_relaxed_dev(crowd_word(&start, start.self),
					       start.seed + i);
		result = crowd_meet(w);
		if (look)
			wrong += peal_load_relaxed_dev(
					 crowd_word(&start, start.self + i)) !=
				 start.seed + i;
		if (i == start.warm)
			began = peal_clock_ns();
	}
	if (result)
		return result;
	line = crowd_line(&start, start.self);
	if (peal_is_leader(w)) {
		line->elapsed_ns = peal_clock_ns() - began;
		line->messages = start.messages - start.warm;
		line->wrong = wrong;
	}
	return crowd_end(w, &start);
}

/* ---- copies ------------------------------------------------------------ */

/* Copies in flight of a lane. */
#define COPIER_DEPTH 4

struct copier_atom {
	PEAL_ALIGNED(16) uint64_t word[2];
};

/* Copies n atoms, a multiple of COPIER_DEPTH * lanes. */
static PEAL_DEV void copier_pass(const struct peal_worker *w,
				 struct copier_atom *to,
				 const struct copier_atom *from, uint64_t n)
{
	uint32_t lanes = peal_lanes(w), k;
	struct copier_atom atom[COPIER_DEPTH];
	uint64_t i;

	for (i = peal_lane(w); i < n; i += (uint64_t)COPIER_DEPTH * lanes) {
		for (k = 0; k < COPIER_DEPTH; k++)
			atom[k] = from[i + (uint64_t)k * lanes];
		for (k = 0; k < COPIER_DEPTH; k++)
			to[i + (uint64_t)k * lanes] = atom[k];
	}
}

/* Returns 1 if the copies shall end. Collective. */
static PEAL_DEV int copier_is_over(struct peal_worker *w,
				   const struct peali_bench_start *start)
{
	int over = 0;

	if (peal_is_leader(w))
		over = peal_aborting(w) ||
		       peal_load_relaxed_sys(
			       &crowd_line(start, start->participants)->stop) ==
			       start->seed;
	return (int)peal_broadcast(w, (uint64_t)over);
}

/*
 * START has a source in `mask`, a target in `messages`, and the bytes of a
 * member in `budget_ns`. Each member copies its part until the host ends it, and
 * then checks the target.
 */
static PEAL_DEV int copier(struct peal_worker *w)
{
	uint64_t i, first, n, wrong = 0, began, elapsed, bytes = 0;
	struct peali_bench_start start;
	struct peali_crowd_line *line;
	uint64_t *from, *to;
	int result = crowd_start(w, &start);

	if (result)
		return result;
	n = start.budget_ns / sizeof(*from);
	first = start.self * n;
	from = (uint64_t *)(uintptr_t)start.mask + first;
	to = (uint64_t *)(uintptr_t)start.messages + first;
	line = crowd_line(&start, start.self);
	for (i = peal_lane(w); i < n; i += peal_lanes(w))
		from[i] = peali_bench_word(start.seed, first + i);
	peal_sync(w);
	began = peal_clock_ns();
	do {
		copier_pass(w, (struct copier_atom *)(void *)to,
			    (const struct copier_atom *)(const void *)from,
			    n / 2);
		if (!bytes && peal_is_leader(w))
			peal_store_release_sys(&line->done, start.seed);
		bytes += start.budget_ns;
	} while (!copier_is_over(w, &start));
	elapsed = peal_clock_ns() - began;
	peal_sync(w);
	for (i = peal_lane(w); i < n; i += peal_lanes(w))
		wrong += to[i] != peali_bench_word(start.seed, first + i);
	wrong = peal_sum(w, wrong);
	if (peal_is_leader(w)) {
		line->elapsed_ns = elapsed;
		line->messages = bytes;
		line->wrong = wrong;
	}
	return crowd_end(w, &start);
}

#endif
