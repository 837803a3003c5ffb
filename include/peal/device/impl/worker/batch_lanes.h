/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_BATCH_LANES_H
#define PEAL_DEVICE_BATCH_LANES_H

#include <peal/device/atomic.h>
#include <peal/device/lanes.h>

/*
 * How the lanes of a batch agree. A batch has at most PEAL_BATCH_MOST lanes, the
 * first ones of the worker. So a set of them is a word with a bit per lane.
 *
 * On CUDA a worker of one warp uses the instructions of the warp. Other workers
 * exchange words in the scratch memory. All functions are collective.
 */

/* Returns the number of lanes that can have a message of a batch. */
static PEAL_DEV PEAL_INLINE uint32_t
peali_batch_lanes(const struct peal_worker *w)
{
	return peal_lanes(w) < PEAL_BATCH_MOST ? peal_lanes(w) :
						 PEAL_BATCH_MOST;
}

/* Synchronizes the lanes as peal_sync does. The number of lanes is in a register
 * here. */
static PEAL_DEV PEAL_INLINE void peali_batch_sync(const struct peal_worker *w)
{
#if PEALI_HAS_WARPS
	if (PEAL_LIKELY(peali_is_one_warp(w))) {
		peal_hw_warp_sync(peal_hw_warp());
		return;
	}
#endif
	peali_sync_warps(w);
}

/* Returns the set of lanes with a condition that holds. */
static PEAL_DEV PEAL_INLINE uint32_t
peali_batch_ballot(const struct peal_worker *w, int condition)
{
	uint32_t set = 0, i;

	if (peal_lanes(w) == 1)
		return condition != 0;
#if PEALI_HAS_WARPS
	if (PEAL_LIKELY(peali_is_one_warp(w)))
		return peal_hw_warp_ballot(condition);
#endif
	w->scratch[peal_lane(w)] = condition != 0;
	peali_sync_warps(w);
	PEAL_NO_UNROLL
	for (i = 0; i < peali_batch_lanes(w); i++)
		set |= (uint32_t)w->scratch[i] << i;
	peali_sync_warps(w);
	return set;
}

/* Returns the set of lanes that have the value of the calling lane. */
static PEAL_DEV PEAL_INLINE uint32_t
peali_batch_match(const struct peal_worker *w, uint32_t value)
{
	uint32_t set = 0, i;

	if (peal_lanes(w) == 1)
		return 1;
#if PEALI_HAS_WARPS
	if (PEAL_LIKELY(peali_is_one_warp(w)))
		return peal_hw_warp_match(value);
#endif
	w->scratch[peal_lane(w)] = value;
	peali_sync_warps(w);
	PEAL_NO_UNROLL
	for (i = 0; i < peali_batch_lanes(w); i++)
		set |= (uint32_t)(w->scratch[i] == value) << i;
	peali_sync_warps(w);
	return set;
}

/* Returns the leader's value. */
static PEAL_DEV PEAL_INLINE uint32_t
peali_batch_first(const struct peal_worker *w, uint32_t value)
{
#if PEALI_HAS_WARPS
	if (PEAL_LIKELY(peali_is_one_warp(w)))
		return peal_hw_warp_first(value);
#endif
	return (uint32_t)peal_broadcast(w, value);
}

/* Returns the value of a lane. Lanes may ask for different ones. */
static PEAL_DEV PEAL_INLINE uint64_t
peali_batch_from(const struct peal_worker *w, uint64_t value, uint32_t lane)
{
#if PEALI_HAS_WARPS
	if (PEAL_LIKELY(peali_is_one_warp(w)))
		return peal_hw_warp_from(value, lane);
#endif
	return peal_shuffle(w, value, lane);
}

/* Returns the lanes of a set that are below the calling lane. */
static PEAL_DEV PEAL_INLINE uint32_t
peali_batch_below(const struct peal_worker *w, uint32_t set)
{
	uint32_t lane = peal_lane(w);

	return lane < 32 ? set & ((1u << lane) - 1) : set;
}

/* Returns the number of lanes in a set. */
static PEAL_DEV PEAL_INLINE uint32_t peali_batch_size(uint32_t set)
{
#if PEAL_ON_CUDA
	return (uint32_t)__popc((int)set);
#else
	return (uint32_t)__builtin_popcount(set);
#endif
}

/* Returns the number of lanes below the first one in a set; 32: it is empty. */
static PEAL_DEV PEAL_INLINE uint32_t peali_batch_lowest(uint32_t set)
{
#if PEAL_ON_CUDA
	return set ? (uint32_t)__ffs((int)set) - 1 : 32;
#else
	return set ? (uint32_t)__builtin_ctz(set) : 32;
#endif
}

/* Returns the number of the first lanes that are all in a set. */
static PEAL_DEV PEAL_INLINE uint32_t peali_batch_prefix(uint32_t set)
{
	return peali_batch_lowest(~set);
}

#endif
