/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_HLC_H
#define PEAL_HLC_H

#include <stdint.h>

#include <peal/errors.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Hybrid logical clocks: Kulkarni, Demirbas, Madappa, Avva, Leone, "Logical
 * Physical Clocks" (OPODIS 2014). A word is a time and an order: what has
 * happened before something else has the smaller word, on whatever device, if
 * each who sends puts its word into the message and each who receives merges it;
 * and a word is within PEAL_HLC_DRIFT_NS of the host's clock. High 48 bits: that
 * clock (CLOCK_MONOTONIC of this machine, peal/clock.h) in units of 4,096 ns;
 * low 16 bits: a count within one unit, which goes on in the next one if it is
 * more than that takes.
 *
 *	struct peal_hlc clock = { 0 };
 *
 *	order.when = peal_hlc_now(&clock);
 *	peal_send(host, 0, 0, &order, sizeof(order), SECOND);
 *	...
 *	peal_hlc_merge(&clock, reply->when, &when);
 *
 * A word is a member of the program's own messages: Peal puts none into them. In
 * handlers: peal/device/hlc.h.
 */

#define PEAL_HLC_COUNT_BITS 16
#define PEAL_HLC_UNIT_BITS 12 /* of ns */

/** A word that is so much ahead of the host's clock is refused. */
#define PEAL_HLC_DRIFT_NS 1000000000ULL

/** A clock of the host, in the caller's memory; zero: it has begun. */
struct peal_hlc {
	uint64_t word; /* the latest; any number of threads */
};

/**
 * The word of something that happens now, or is sent.
 *
 * @param clock a clock of any number of threads.
 * @return more than any word before. Thread-safe, lock-free.
 */
uint64_t peal_hlc_now(struct peal_hlc *clock);

/**
 * The word of a receipt.
 *
 * @param clock    a clock of any number of threads.
 * @param received the word that came with the message.
 * @param word_out more than any word before, and than that one; NULL: not
 *                 wanted.
 * @return 0; PEAL_EINVAL the word is more than PEAL_HLC_DRIFT_NS ahead of the
 *         host's clock, and no clock's here: nothing has changed. Thread-safe,
 *         lock-free.
 */
int peal_hlc_merge(struct peal_hlc *clock, uint64_t received,
		   uint64_t *word_out);

/**
 * The time in a word.
 *
 * @param word of a clock.
 * @return CLOCK_MONOTONIC in ns, rounded down to 4,096. Thread-safe, wait-free.
 */
uint64_t peal_hlc_ns(uint64_t word);

#ifdef __cplusplus
}
#endif
#endif
