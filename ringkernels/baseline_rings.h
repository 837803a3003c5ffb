/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RINGKERNELS_BASELINE_RINGS_H
#define PEAL_RINGKERNELS_BASELINE_RINGS_H

#include "ringkernels/baseline_base.h"

/*
 * Rings as one writes them without Peal. Each job has a sender and a receiver.
 */

/* ---- slots --------------------------------------------------------------- */

static PEAL_DEV PEAL_INLINE uint8_t *slot_of(const struct baseline_worker *r,
					     uint8_t *area, uint64_t number)
{
	return area + PEALI_BASELINE_SLOTS_AT +
	       (number & (r->side->slots - 1)) *
		       peali_baseline_stride(r->side->bytes);
}

static PEAL_DEV PEAL_INLINE uint64_t *payload_in(uint8_t *slot)
{
	return (uint64_t *)(void *)(slot + 16);
}

/*
 * Returns the turn word of a slot. In the receiver's area the word says that
 * the slot is full. In the sender's area the word says that the slot is free.
 */
static PEAL_DEV PEAL_INLINE uint64_t *turn_in(uint8_t *slot)
{
	return (uint64_t *)(void *)slot;
}

/* ---- a ticket and two fences for each message ---------------------------- */

static PEAL_DEV void ticket_send(struct baseline_worker *r)
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
			ticket = fine ? ticket : PEALI_BASELINE_ENDED;
		}
		ticket = say(r, ticket);
		if (ticket == PEALI_BASELINE_ENDED)
			break;
		peali_bench_fill(payload_in(slot_of(r, r->out, ticket)),
				 r->base, ticket, r->share);
		raise_flag(r, turn_in(slot_of(r, r->out, ticket)), ticket + 1);
	}
	ring_end(r, n);
}

static PEAL_DEV void ticket_take(struct baseline_worker *r)
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

/* ---- head and tail, released and acquired -------------------------------- */

static PEAL_DEV PEAL_INLINE uint64_t *head_of(uint8_t *area)
{
	return (uint64_t *)(void *)(area + PEALI_BASELINE_HEAD_AT);
}

/* Releases the writes of all lanes, after a barrier of the lanes. */
static PEAL_DEV PEAL_INLINE void release(const struct baseline_worker *r,
					 uint64_t *word, uint64_t value)
{
	meet(r);
	if (r->share.lane)
		return;
	if (r->side->across)
		peal_store_release_sys(word, value);
	else
		peal_store_release_dev(word, value);
}

/* The leader waits by relaxed loads, then acquires the word for all lanes. */
static PEAL_DEV PEAL_INLINE uint64_t acquire(const struct baseline_worker *r,
					     const uint64_t *word,
					     uint64_t least)
{
	uint64_t v = 0;

	if (!r->share.lane && await(r, word, least))
		v = r->side->across ? peal_load_acquire_sys(word) :
				      peal_load_acquire_dev(word);
	return say(r, v);
}

static PEAL_DEV void acqrel_send(struct baseline_worker *r)
{
	uint64_t n = 0, head = 0, slots = r->side->slots;

	for (; n < r->side->messages; n++) {
		if (n - head >= slots) {
			if (n % r->side->batch) /* publish first */
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

static PEAL_DEV void acqrel_take(struct baseline_worker *r)
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

/* ---- semaphores: one for messages, one for free slots -------------------- */

static PEAL_DEV void semaphore_send(struct baseline_worker *r)
{
	uint64_t n = 0, slots = r->side->slots;

	for (; n < r->side->messages; n++) {
		if (n >= slots && !acquire(r, head_of(r->in), n - slots + 1))
			break;
		peali_bench_fill(payload_in(slot_of(r, r->out, n)), r->base, n,
				 r->share);
		release(r, flag_of(r->out), n + 1);
	}
	ring_end(r, n);
}

static PEAL_DEV void semaphore_take(struct baseline_worker *r)
{
	uint64_t n = 0;

	for (; n < r->side->messages; n++) {
		if (!acquire(r, flag_of(r->in), n + 1))
			break;
		check(r, payload_in(slot_of(r, r->in, n)), n, 0);
		release(r, head_of(r->out), n + 1);
		count(r, n);
	}
	ring_end(r, n);
}

/* ---- compare-and-swap ---------------------------------------------------- */

/*
 * All lanes: claims the next slot. The slot's turn word in `in` must be the
 * slot's number plus `ahead`. Slots with numbers below `free` need no check.
 * Returns the number, or PEALI_BASELINE_ENDED.
 */
static PEAL_DEV uint64_t claim(struct baseline_worker *r, int64_t ahead,
			       uint64_t free)
{
	uint64_t *next = r->own + 1, number = 0;

	while (!r->share.lane) {
		number = peal_load_relaxed_dev(next);
		if (number >= free &&
		    !await(r, turn_in(slot_of(r, r->in, number)),
			   number + (uint64_t)ahead)) {
			number = PEALI_BASELINE_ENDED;
			break;
		}
		if (peal_cas_relaxed_dev(next, number, number + 1))
			break;
	}
	if (!r->share.lane)
		fence_acquire(r);
	return say(r, number);
}

static PEAL_DEV void cas_send(struct baseline_worker *r)
{
	uint64_t n = 0, number, slots = r->side->slots;

	for (; n < r->side->messages; n++) {
		number = claim(r, 1 - (int64_t)slots, slots);
		if (number == PEALI_BASELINE_ENDED)
			break;
		peali_bench_fill(payload_in(slot_of(r, r->out, number)),
				 r->base, number, r->share);
		raise_flag(r, turn_in(slot_of(r, r->out, number)), number + 1);
	}
	ring_end(r, n);
}

static PEAL_DEV void cas_take(struct baseline_worker *r)
{
	uint64_t n = 0, number;

	for (; n < r->side->messages; n++) {
		number = claim(r, 1, 0);
		if (number == PEALI_BASELINE_ENDED)
			break;
		check(r, payload_in(slot_of(r, r->in, number)), number, 0);
		raise_flag(r, turn_in(slot_of(r, r->out, number)), number + 1);
		count(r, number);
	}
	ring_end(r, n);
}

/* ---- a ticket for each lane ---------------------------------------------- */

/*
 * Ends a lane, after a ticket above the last message. The leader waits for all
 * lanes before the report.
 */
static PEAL_DEV void lanes_end(struct baseline_worker *r, uint64_t ticket)
{
	uint64_t *ended = r->own + 3;

	peal_add_acqrel_dev(ended, 1);
	if (!r->share.lane) {
		r->wrong += await_by(r, ended, r->share.lanes, 1) == 0;
		r->began_ns = peal_load_relaxed_dev(r->own + 2);
	}
	ring_end(r, ticket < r->side->messages ? ticket : r->side->messages);
}

static PEAL_DEV void lanes_send(struct baseline_worker *r)
{
	const struct peali_bench_share alone = { r->share.words, 0, 1 };
	uint64_t ticket, slots = r->side->slots;

	for (;;) {
		ticket = peal_add_relaxed_dev(r->own + 1, 1);
		if (ticket >= r->side->messages)
			break;
		if (ticket >= slots &&
		    !await_by(r, turn_in(slot_of(r, r->in, ticket)),
			      ticket - slots + 1, 1))
			break;
		fence_acquire(r);
		peali_bench_fill(payload_in(slot_of(r, r->out, ticket)),
				 r->base, ticket, alone);
		fence_release(r);
		put(r, turn_in(slot_of(r, r->out, ticket)), ticket + 1);
	}
	lanes_end(r, ticket);
}

static PEAL_DEV void lanes_take(struct baseline_worker *r)
{
	const struct peali_bench_share alone = { r->share.words, 0, 1 };
	uint64_t ticket;

	for (;;) {
		ticket = peal_add_relaxed_dev(r->own + 1, 1);
		if (ticket >= r->side->messages)
			break;
		if (!await_by(r, turn_in(slot_of(r, r->in, ticket)), ticket + 1,
			      1))
			break;
		fence_acquire(r);
		r->wrong +=
			peali_bench_check(payload_in(slot_of(r, r->in, ticket)),
					  r->base, ticket, 0, alone) != 0;
		fence_release(r);
		put(r, turn_in(slot_of(r, r->out, ticket)), ticket + 1);
		if (ticket + 1 == r->side->warm)
			peal_store_relaxed_dev(r->own + 2, peal_clock_ns());
	}
	lanes_end(r, ticket);
}

/* ---- flags in the data, as in NCCL's LL protocol ------------------------- */

/*
 * Returns the place of word i: 16 bytes for 8 bytes of data. Each half of the
 * data has a flag.
 */
static PEAL_DEV PEAL_INLINE uint8_t *ll_word(const struct baseline_worker *r,
					     uint8_t *area, uint64_t number,
					     uint32_t i)
{
	return area + PEALI_BASELINE_SLOTS_AT +
	       (number & (r->side->slots - 1)) *
		       peali_baseline_ll_stride(r->side->bytes) +
	       16 * (uint64_t)i;
}

static PEAL_DEV PEAL_INLINE void ll_put(uint8_t *at, uint64_t word,
					uint32_t flag)
{
#if PEAL_HAVE_ATOM16
	struct peal_atom16 atom;

	atom.word[0] = (uint32_t)word;
	atom.word[1] = atom.word[3] = flag;
	atom.word[2] = (uint32_t)(word >> 32);
	peal_atom16_store((struct peal_atom16 *)(void *)at, atom);
#else
	uint64_t *half = (uint64_t *)(void *)at;

	peal_atom8_store(half, (uint64_t)flag << 32 | (uint32_t)word);
	peal_atom8_store(half + 1, (uint64_t)flag << 32 | word >> 32);
#endif
}

/* Returns 1 and the word if both flags are set. */
static PEAL_DEV PEAL_INLINE int ll_get(uint8_t *at, uint32_t flag,
				       uint64_t *word_out)
{
#if PEAL_HAVE_ATOM16
	struct peal_atom16 atom =
		peal_atom16_load((const struct peal_atom16 *)(const void *)at);

	*word_out = (uint64_t)atom.word[2] << 32 | atom.word[0];
	return atom.word[1] == flag && atom.word[3] == flag;
#else
	uint64_t *half = (uint64_t *)(void *)at;
	uint64_t low = peal_atom8_load(half), high = peal_atom8_load(half + 1);

	*word_out = high << 32 | (uint32_t)low;
	return low >> 32 == flag && high >> 32 == flag;
#endif
}

static PEAL_DEV void ll_send(struct baseline_worker *r)
{
	uint64_t n = 0, head = 0, slots = r->side->slots;
	uint32_t i;

	for (; n < r->side->messages; n++) {
		if (n - head >= slots) {
			meet(r); /* all lanes have stored */
			head = acquire(r, head_of(r->in), n - slots + 1);
			if (!head)
				break;
		}
		for (i = r->share.lane; i < r->share.words; i += r->share.lanes)
			ll_put(ll_word(r, r->out, n, i), r->base[i] + n,
			       (uint32_t)n + 1);
	}
	ring_end(r, n);
}

/*
 * Waits for word `i` of message `n`. Returns 1 if it is late. Then `word_out` is
 * an older word.
 */
static PEAL_DEV uint32_t ll_wait(struct baseline_worker *r, uint64_t n,
				 uint32_t i, uint32_t *turn, uint64_t *word_out)
{
	while (!ll_get(ll_word(r, r->in, n, i), (uint32_t)n + 1, word_out)) {
		if (++*turn % LOOKS == 0 && is_late(r))
			return 1;
		idle(r);
	}
	return 0;
}

/*
 * Each lane waits for its own words. After the limit, a late lane waits no more
 * and continues with the other lanes to the end.
 */
static PEAL_DEV void ll_take(struct baseline_worker *r)
{
	uint64_t n, word = 0;
	uint32_t i, turn = 0, late = 0;

	for (n = 0; n < r->side->messages; n++) {
		for (i = r->share.lane; i < r->share.words && !late;
		     i += r->share.lanes) {
			late = ll_wait(r, n, i, &turn, &word);
			r->wrong += word != r->base[i] + n;
		}
		if ((n + 1) % (r->side->slots / 4) == 0)
			release(r, head_of(r->out), n + 1);
		awake(r);
		count(r, n);
	}
	ring_end(r, n);
}

#endif
