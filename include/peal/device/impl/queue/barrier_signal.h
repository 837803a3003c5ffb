/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_BARRIER_SIGNAL_H
#define PEAL_DEVICE_BARRIER_SIGNAL_H

#include <peal/abi/barrier.h>
#include <peal/device/atomic.h>
#include <peal/errors.h>
#if PEAL_ON_HOST
#include <peal/device/impl/base/host_support.h>
#endif

/*
 * A participant of a barrier across devices; see <peal/abi/barrier.h> for the
 * algorithm. Handlers call peal_barrier_arrive_lanes and
 * peal_barrier_wait_lanes (barrier.h). The host calls peal_barrier_arrive and
 * peal_barrier_wait.
 *
 *	arriving participant			waiting participant
 *	earlier writes, word (R6) --------->	A6 word: writes can be read
 */

/** Returns a participant's word in the array at an address. Wait-free. */
static PEAL_DEV PEAL_INLINE uint64_t *peali_barrier_word(uint64_t array,
							 uint32_t participant)
{
	return &((struct peal_barrier_word *)(uintptr_t)array)[participant]
			.generation;
}

/**
 * Arrives at the next phase.
 *
 * It stores one word to each participant's array. A participant that passes the
 * phase sees all earlier writes of the caller. Wait-free.
 *
 * @param view the view of the arriving participant.
 */
static PEAL_DEV PEAL_UNUSED inline void
peal_barrier_signal(const struct peal_barrier_view *view)
{
	struct peal_barrier_state *state =
		(struct peal_barrier_state *)(uintptr_t)view->state;
	const uint64_t *arrays = (const uint64_t *)(uintptr_t)view->arrays;
	uint32_t i;

	state->arrived++;
	for (i = 0; i < view->participants; i++)
		/* R6: pairs with A6 in peal_barrier_test. */
		peal_store_release_sys(peali_barrier_word(arrays[i],
							  view->self),
				       state->arrived);
	if (view->observer)
		peal_store_relaxed_sys(peali_barrier_word(view->observer,
							  view->self),
				       state->arrived);
#if PEAL_ON_HOST
	if (view->bells) {
		const uint64_t *bells =
			(const uint64_t *)(uintptr_t)view->bells;

		for (i = 0; i < view->participants; i++)
			peal_bell_ring(peal_load_relaxed_sys(&bells[i]));
	}
#endif
}

/**
 * Checks whether all participants have arrived at the phase at which this
 * participant arrived last.
 *
 * Wait-free.
 *
 * @param view the participant's view.
 * @return 0: all have arrived. Or a negative error code:
 * @retval PEAL_EAGAIN   not all have arrived.
 * @retval PEAL_EABORTED the host has aborted the barrier.
 * @retval PEAL_EINVAL   the participant has not arrived since it passed.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_barrier_test(const struct peal_barrier_view *view)
{
	struct peal_barrier_state *state =
		(struct peal_barrier_state *)(uintptr_t)view->state;
	const uint64_t *arrays = (const uint64_t *)(uintptr_t)view->arrays;
	uint32_t i;

	if (state->passed == state->arrived)
		return PEAL_EINVAL;
	for (i = 0; i < view->participants; i++)
		/* A6: pairs with R6 in peal_barrier_signal. */
		if (peal_load_acquire_sys(peali_barrier_word(
			    arrays[view->self], i)) < state->arrived)
			return peal_load_relaxed_sys(
				       (const uint64_t *)(uintptr_t)
					       view->abort) ?
				       PEAL_EABORTED :
				       PEAL_EAGAIN;
	state->passed = state->arrived;
	return 0;
}

#endif
