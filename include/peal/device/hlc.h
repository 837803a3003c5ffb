/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_HLC_H
#define PEAL_DEVICE_HLC_H

#include <peal/device/clock.h>

/*
 * Hybrid logical clocks in handlers (peal/hlc.h). Each worker has one clock. It
 * uses the worker's bounds of the host's clock.
 *
 *	if (peal_worker_hlc_merge(w, in->when, &out.when))
 *		return PEAL_EPROTO;
 *	return peal_emit(w, 0, 0, &out, sizeof(out), 0);
 */

/* Returns the word of a time of the host's clock, with a count of 0. */
static PEAL_HD PEAL_UNUSED inline uint64_t peali_hlc_at(uint64_t ns)
{
	return ns >> 12 << 16;
}

/*
 * Returns the word after `last`. The count is in the low bits: a full count
 * carries over into the time.
 */
static PEAL_HD PEAL_UNUSED inline uint64_t peali_hlc_next(uint64_t last,
							  uint64_t ns)
{
	uint64_t at = peali_hlc_at(ns);

	return at > last ? at : last + 1;
}

/* Returns 1 if a word is more than PEAL_HLC_DRIFT_NS ahead of a time. */
static PEAL_HD PEAL_UNUSED inline int peali_hlc_is_ahead(uint64_t word,
							 uint64_t ns)
{
	return word > peali_hlc_at(ns + 1000000000ULL);
}

/* The leader's part: returns the worker's next word, greater than `least`. */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peali_worker_hlc(struct peal_worker *w, uint64_t least)
{
	uint64_t last = w->state->clock.hlc > least ? w->state->clock.hlc :
						      least;

	w->state->clock.hlc = peali_hlc_next(last, peal_host_time_ns(w, 0));
	return w->state->clock.hlc;
}

/**
 * Returns a new word for a local event or for a message to send.
 *
 * Collective, wait-free.
 *
 * @param w the worker.
 * @return a word greater than all earlier words of this worker.
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
 * Merges the word of a received message into the worker's clock.
 *
 * Collective, wait-free.
 *
 * @param w        the worker.
 * @param received the word in the message.
 * @param word_out each lane's own: receives a new word for the receipt. It is
 *                 greater than `received` and all earlier words of this worker.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  `received` is more than PEAL_HLC_DRIFT_NS ahead of the
 *                      upper bound of the host's clock. Or the worker does not
 *                      know the host's clock. Nothing has changed.
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
