/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_CALLS_H
#define PEALI_CALLS_H

#include <peal/device/atomic.h>

/*
 * Whether a thread is inside of a call: a word that only it writes, odd while it
 * is. Who has learned that some thread died between ticket and tag first notes
 * how many tickets there are, then this word of all who live, and waits until
 * each that was inside has been outside. What has no tag then below that number
 * will never have one: the quiescent states of read-copy-update (McKenney and
 * Slingwine, 1998). It costs those who put two stores to a line of their own.
 *
 *	producer				who mends
 *	enter ─ ticket (a release) -------->	tickets (an acquire) ─ the word: odd,
 *						or of a later call
 *	content, tag ─ leave (R10) -------->	A10 the word: even, or a later call
 *						─ tags of all that it had put
 */

static inline void peali_calls_enter(uint64_t *calls)
{
	peal_store_relaxed_sys(calls, peal_load_relaxed_sys(calls) + 1);
}

static inline void peali_calls_leave(uint64_t *calls)
{
	/* R10: pairs with A10 in peali_calls_note: all of the call is done. */
	peal_store_release_sys(calls, peal_load_relaxed_sys(calls) + 1);
}

static inline int peali_calls_inside(uint64_t noted)
{
	return (noted & 1) != 0;
}

static inline uint64_t peali_calls_note(const uint64_t *calls)
{
	/* A10: pairs with R10 in peali_calls_leave. */
	return peal_load_acquire_sys(calls);
}

/* Whether the thread has been outside since this was noted. */
static inline int peali_calls_passed(const uint64_t *calls, uint64_t noted)
{
	return !peali_calls_inside(noted) || peali_calls_note(calls) != noted;
}

#endif
