/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_CALL_GUARD_H
#define PEALI_CALL_GUARD_H

#include <peal/device/atomic.h>

/*
 * The call word of an end tells whether the end's thread is inside a call. Only
 * that thread writes the word. The word is odd during a call. A consumer uses
 * the words to find tickets that a dead producer will never publish:
 *
 * 1. The consumer reads the number of tickets.
 * 2. The consumer notes the call word of each open producer.
 * 3. The consumer waits until each producer that was inside a call has left
 *    that call.
 * 4. A ticket below the number that has no tag now will never have one.
 *
 * This is the quiescent-state scheme of read-copy-update (McKenney and
 * Slingwine, 1998). The scheme costs each end two stores per call, to a line of
 * the end's own.
 *
 *	producer				consumer
 *	enter ─ ticket (a release) -------->	tickets (an acquire) ─
 *						word: odd, or a later call
 *	content, tag ─ leave (R10) -------->	A10 word: even, or a later
 *						call ─ all tags of that call
 */

static inline void peali_call_enter(uint64_t *calls)
{
	peal_store_relaxed_sys(calls, peal_load_relaxed_sys(calls) + 1);
}

static inline void peali_call_leave(uint64_t *calls)
{
	/* R10: pairs with A10 in peali_call_note: publishes the whole call. */
	peal_store_release_sys(calls, peal_load_relaxed_sys(calls) + 1);
}

static inline int peali_call_inside(uint64_t noted)
{
	return (noted & 1) != 0;
}

static inline uint64_t peali_call_note(const uint64_t *calls)
{
	/* A10: pairs with R10 in peali_call_leave. */
	return peal_load_acquire_sys(calls);
}

/* Returns 1 if the thread has been outside a call since `noted` was read. */
static inline int peali_call_passed(const uint64_t *calls, uint64_t noted)
{
	return !peali_call_inside(noted) || peali_call_note(calls) != noted;
}

#endif
