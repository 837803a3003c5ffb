/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_SEND_LIMITS_H
#define PEAL_DEVICE_SEND_LIMITS_H

#include <peal/device/impl/worker/worker.h>

/*
 * Checks that a handler run sends no more messages than its handler declares.
 * The loop runs a handler only if the declared messages fit. Without the check,
 * further messages succeed while slots are free, so the error shows under load.
 *
 * A word counts the messages of one run, for each port and for all tells. Its
 * upper bits are the number of the run. So a new run needs no reset. Limits have
 * 16 bits. For the leader. Compiled if PEALI_CHECK_LIMITS is 1; else each run
 * may send.
 */

#if PEALI_CHECK_LIMITS
#define PEALI_RUN_SHIFT 16

/* Returns the word as of the present run. A word of an earlier run is lower. */
static PEAL_DEV PEAL_INLINE uint64_t peali_spent(const struct peal_worker *w,
						 uint64_t word)
{
	uint64_t none = w->state->count.handled << PEALI_RUN_SHIFT;

	return word < none ? none : word;
}

/* Returns 1 if the word counts fewer than `most` messages of this run. */
static PEAL_DEV PEAL_INLINE int peali_spends(const struct peal_worker *w,
					     uint64_t word, uint32_t most)
{
	uint64_t none = w->state->count.handled << PEALI_RUN_SHIFT;

	return peali_spent(w, word) - none < most;
}
#endif

/* Returns 1 if the running handler may send one more message by a port that it
 * has. */
static PEAL_DEV PEAL_INLINE int peali_may_emit(const struct peal_worker *w,
					       uint32_t port)
{
#if PEALI_CHECK_LIMITS
	return peali_spends(w, w->spent[w->actor->port_base + port],
			    w->actor->emits);
#else
	(void)w;
	(void)port;
	return 1;
#endif
}

/* Counts a message that the running handler has sent by a port. */
static PEAL_DEV PEAL_INLINE void peali_emits(struct peal_worker *w,
					     uint32_t port)
{
#if PEALI_CHECK_LIMITS
	uint64_t *word = &w->spent[w->actor->port_base + port];

	*word = peali_spent(w, *word) + 1;
#else
	(void)w;
	(void)port;
#endif
}

/* Returns 1 if the running handler may tell one more message. */
static PEAL_DEV PEAL_INLINE int peali_may_tell(const struct peal_worker *w)
{
#if PEALI_CHECK_LIMITS
	return peali_spends(w, w->state->run.tells_spent, w->actor->tells);
#else
	(void)w;
	return 1;
#endif
}

/* Counts a tell of the running handler, unless its result is an error. Returns
 * the result. */
static PEAL_DEV PEAL_INLINE int peali_tells(struct peal_worker *w, int result)
{
#if PEALI_CHECK_LIMITS
	uint64_t *word = &w->state->run.tells_spent;

	if (PEAL_LIKELY(!result))
		*word = peali_spent(w, *word) + 1;
#else
	(void)w;
#endif
	return result;
}

#endif
