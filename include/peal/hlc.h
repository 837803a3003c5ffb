/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_HLC_H
#define PEAL_HLC_H

/*
 * Hybrid logical clocks, after Kulkarni, Demirbas, Madappa, Avva, Leone,
 * "Logical Physical Clocks" (OPODIS 2014). A clock returns words. A word gives
 * both a time and an order: of two causally ordered events, the earlier has
 * the smaller word. The order holds across devices. The sender puts the word of
 * peal_hlc_now into its message. The receiver passes that word to
 * peal_hlc_merge:
 *
 *	struct peal_hlc clock = { 0 };
 *
 *	order.when = peal_hlc_now(&clock);
 *	peal_send(host, 0, 0, &order, sizeof(order), SECOND, NULL);
 *	...
 *	peal_hlc_merge(&clock, reply->when, &when);
 *
 * The word is a field of the program's own messages. Peal adds no word to a
 * message. Handlers use peal/device/hlc.h.
 */

#include <stdint.h>

#include <peal/errors.h>

PEAL_BEGIN_C

/*
 * Layout of a word. The high 48 bits hold the time: the host's CLOCK_MONOTONIC
 * in units of 4096 ns (peal/clock.h). The low 16 bits hold a count of words
 * within one unit. A full count continues in the next unit. A word stays
 * within PEAL_HLC_DRIFT_NS of the host's clock. Words of different machines
 * have no common time.
 */

#define PEAL_HLC_COUNT_BITS 16 /* low bits of a word that hold the count */
#define PEAL_HLC_UNIT_BITS 12 /* a unit of time is 2^12 ns */

/** ns. peal_hlc_merge refuses a word further ahead of the host's clock. */
#define PEAL_HLC_DRIFT_NS 1000000000ULL

/**
 * A clock of the host, in the caller's memory.
 *
 * Initialize the struct with zeros. Any number of threads can share a clock.
 */
struct peal_hlc {
	uint64_t word; /* the latest word; only the functions below access it */
};

/**
 * Returns a new word for a local event or for a message to send.
 *
 * Thread-safe, lock-free.
 *
 * @param clock a clock, not NULL.
 * @return a word that is greater than all earlier words of the clock.
 */
uint64_t peal_hlc_now(struct peal_hlc *clock);

/**
 * Merges the word of a received message into a clock.
 *
 * Thread-safe, lock-free.
 *
 * @param clock    a clock.
 * @param received the word in the received message.
 * @param word_out filled on success: a new word for the receipt. The new word
 *                 is greater than `received` and than all earlier words of the
 *                 clock. NULL: not wanted.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL  `clock` is NULL. Or `received` is more than
 *                      PEAL_HLC_DRIFT_NS ahead of the host's clock, so it is
 *                      not a word of this machine. The clock is unchanged.
 */
int peal_hlc_merge(struct peal_hlc *clock, uint64_t received,
		   uint64_t *word_out);

/**
 * Returns the time in a word.
 *
 * Thread-safe, wait-free.
 *
 * @param word a word of a clock.
 * @return CLOCK_MONOTONIC in ns, rounded down to a multiple of 4096.
 */
uint64_t peal_hlc_ns(uint64_t word);

PEAL_END_C
#endif
