/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RINGKERNELS_RIVALS_RINGS_H
#define PEAL_RINGKERNELS_RIVALS_RINGS_H

#include "ringkernels/rivals_base.h"

/* Rings as one writes them without Peal; each job has a sender and a taker. */

/* ---- slots ----------------------------------------------------------------- */

static PEAL_DEV PEAL_INLINE uint8_t *slot_of(const struct rival *r,
					     uint8_t *area, uint64_t number)
{
	return area + PEALI_RIVAL_SLOTS_AT +
	       (number & (r->side->slots - 1)) *
		       peali_rival_stride(r->side->bytes);
}

static PEAL_DEV PEAL_INLINE uint64_t *payload_in(uint8_t *slot)
{
	return (uint64_t *)(void *)(slot + 16);
}

/* The turn word of a slot: in its receiver's area it says that it is full, in
 * its sender's that it is free. */
static PEAL_DEV PEAL_INLINE uint64_t *turn_in(uint8_t *slot)
{
	return (uint64_t *)(void *)slot;
}

/* ---- a ticket and two fences for each message ------------------------------ */

static PEAL_DEV void ticket_send(struct rival *r)
{
	uint64_t n = 0, ticket = 0, slots = r->side->slots;

	for (; n < r->side->messages; n++) {
		uint64_t fine = 1;

		if (!r->share.lane) {
			ticket = peal_add_relaxed_dev(r->own + 1, 1);
			if (ticket >= slots) {
				fine = await(r,
					     turn_in(slot_of(r, r->in, ticket)),
					     ticket - slots + 1);
				fence_acquire(r);
			}
			ticket = fine ? ticket : PEALI_RIVAL_ENDED;
		}
		ticket = say(r, ticket);
		if (ticket == PEALI_RIVAL_ENDED)
			break;
		peali_bench_fill(payload_in(slot_of(r, r->out, ticket)),
				 r->base, ticket, r->share);
		raise_flag(r, turn_in(slot_of(r, r->out, ticket)), ticket + 1);
	}
	ring_end(r, n);
}

static PEAL_DEV void ticket_take(struct rival *r)
{
	uint64_t n = 0;

	for (; n < r->side->messages; n++) {
		uint8_t *slot = slot_of(r, r->in, n);

		if (!await_flag(r, turn_in(slot), n + 1))
			break;
		check(r, payload_in(slot), n, 0);
		raise_flag(r, turn_in(slot_of(r, r->out, n)), n + 1);
		count(r, n);
	}
	ring_end(r, n);
}

/* ---- head and tail, released and acquired ---------------------------------- */

static PEAL_DEV PEAL_INLINE uint64_t *head_of(uint8_t *area)
{
	return (uint64_t *)(void *)(area + PEALI_RIVAL_HEAD_AT);
}

/* Lanes have met: releases all that they have done. */
static PEAL_DEV PEAL_INLINE void release(const struct rival *r, uint64_t *word,
					 uint64_t value)
{
	meet(r);
	if (r->share.lane)
		return;
	if (r->side->across)
		peal_store_release_sys(word, value);
	else
		peal_store_release_dev(word, value);
}

/* Leader awaits by relaxed looks, and acquires what it has seen. */
static PEAL_DEV PEAL_INLINE uint64_t acquire(const struct rival *r,
					     const uint64_t *word,
					     uint64_t least)
{
	uint64_t v = 0;

	if (!r->share.lane && await(r, word, least))
		v = r->side->across ? peal_load_acquire_sys(word) :
				      peal_load_acquire_dev(word);
	return say(r, v);
}

static PEAL_DEV void acqrel_send(struct rival *r)
{
	uint64_t n = 0, head = 0, slots = r->side->slots;

	for (; n < r->side->messages; n++) {
		if (n - head >= slots) {
			if (n % r->side->batch) /* what is owed comes first */
				release(r, flag_of(r->out), n);
			head = acquire(r, head_of(r->in), n - slots + 1);
			if (!head)
				break;
		}
		peali_bench_fill(payload_in(slot_of(r, r->out, n)), r->base, n,
				 r->share);
		if ((n + 1) % r->side->batch == 0 || n + 1 == r->side->messages)
			release(r, flag_of(r->out), n + 1);
	}
	ring_end(r, n);
}

static PEAL_DEV void acqrel_take(struct rival *r)
{
	uint64_t n = 0, tail = 0;

	for (; n < r->side->messages; n++) {
		if (n >= tail) {
			tail = acquire(r, flag_of(r->in), n + 1);
			if (!tail)
				break;
		}
		check(r, payload_in(slot_of(r, r->in, n)), n, 0);
		if ((n + 1) % (r->side->slots / 4) == 0)
			release(r, head_of(r->out), n + 1);
		count(r, n);
	}
	ring_end(r, n);
}

#endif
