/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_HLC_H
#define PEAL_DEVICE_HLC_H

#include <peal/device/clock.h>

/*
 * Hybrid logical clocks in handlers (peal/hlc.h): each worker has one, by what
 * it knows of the host's clock.
 *
 *	if (peal_worker_hlc_merge(w, in->when, &out.when))
 *		return PEAL_EPROTO;
 *	return peal_emit(w, 0, 0, &out, sizeof(out));
 */

/* The word at a time of the host's clock, without a count. */
static PEAL_HD PEAL_UNUSED inline uint64_t peali_hlc_at(uint64_t ns)
{
	return ns >> 12 << 16;
}

/*
 * The next word. The count is the low end of the word: where it is full the next
 * unit has begun, as far as words go.
 */
static PEAL_HD PEAL_UNUSED inline uint64_t peali_hlc_next(uint64_t last,
							  uint64_t ns)
{
	uint64_t at = peali_hlc_at(ns);

	return at > last ? at : last + 1;
}

/* Whether a word is ahead of any clock that is in order. */
static PEAL_HD PEAL_UNUSED inline int peali_hlc_is_ahead(uint64_t word,
							 uint64_t ns)
{
	return word > peali_hlc_at(ns + 1000000000ULL);
}

/* The leader's next word, which is more than `least`. */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peali_worker_hlc(struct peal_worker *w, uint64_t least)
{
	uint64_t last = w->state->hlc > least ? w->state->hlc : least;

	w->state->hlc = peali_hlc_next(last, peal_common_ns(w, 0));
	return w->state->hlc;
}

/**
 * Collective: the word of something that happens now, or is sent.
 *
 * @param w the worker
 * @return more than any before of this worker, the same in all lanes. Wait-free.
 */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peal_worker_hlc_now(struct peal_worker *w)
{
	uint64_t word = 0;

	if (peal_is_leader(w))
		word = peali_worker_hlc(w, 0);
	return peal_broadcast(w, word);
}

/**
 * Collective: the word of a receipt.
 *
 * @param w        the worker
 * @param received the word that came with the message
 * @param word_out more than any before of this worker, and than that one
 * @return 0; PEAL_EINVAL the word is more than PEAL_HLC_DRIFT_NS ahead of what
 *         the host's clock is at most, or that is not known: nothing has
 *         changed. Wait-free.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_worker_hlc_merge(struct peal_worker *w, uint64_t received,
		      uint64_t *word_out)
{
	uint64_t low = 0, high = 0, word = 0;

	if (peal_is_leader(w) && peali_clock_bounds(w, &low, &high) &&
	    !peali_hlc_is_ahead(received, high))
		word = peali_worker_hlc(w, received);
	word = peal_broadcast(w, word);
	if (!word)
		return PEAL_EINVAL;
	*word_out = word;
	return 0;
}

#endif
