/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_LANES_H
#define PEAL_DEVICE_LANES_H

#include <peal/device/impl/worker/mail.h>

/*
 * Lanes. All lanes of a worker run the handler together. Handlers use loops in
 * lane-stride style, for any number of lanes:
 *
 *	for (i = peal_lane(w); i < n; i += peal_lanes(w)) ...
 *
 * Every lane of the worker must call a collective function, with the same
 * arguments except `value` and `condition`. Every lane gets the same result.
 * Any lane may call any other function.
 */

/** Returns the calling lane, 0..peal_lanes - 1. */
static PEAL_DEV PEAL_INLINE uint32_t peal_lane(const struct peal_worker *w)
{
#if PEAL_ON_HOST
	return PEAL_SINGLE_LANE ? 0 : w->lane;
#else
	(void)w;
	return peal_hw_lane();
#endif
}

/** Returns the number of lanes of the worker. */
static PEAL_DEV PEAL_INLINE uint32_t peal_lanes(const struct peal_worker *w)
{
#if PEAL_ON_HOST
	return PEAL_SINGLE_LANE ? 1 : w->lanes;
#else
	(void)w;
	return peal_hw_lanes();
#endif
}

/** Returns 1 if the calling lane is the leader, lane 0. */
static PEAL_DEV PEAL_INLINE int peal_is_leader(const struct peal_worker *w)
{
	return peal_lane(w) == 0;
}

/* On CUDA a worker of one warp uses the instructions of the warp, and no barrier
 * of the block. */
#define PEALI_HAS_WARPS PEAL_ON_CUDA

/* Returns 1 if one warp has all lanes of the worker. */
static PEAL_DEV PEAL_INLINE int peali_is_one_warp(const struct peal_worker *w)
{
	return PEALI_HAS_WARPS && peal_lanes(w) <= 32;
}

/** Synchronizes all lanes. Each lane sees earlier writes of the others.
 * Collective. */
static PEAL_DEV PEAL_INLINE void peal_sync(const struct peal_worker *w)
{
#if PEALI_HAS_WARPS
	if (PEAL_LIKELY(w->warp)) {
		peal_hw_warp_sync(w->warp);
		return;
	}
#endif
	if (peal_lanes(w) == 1)
		return;
#if PEAL_ON_HOST
	peal_host_sync_lanes();
#else
	peal_hw_sync();
#endif
}

/* As peal_sync, for a worker that has several warps on CUDA. */
static PEAL_DEV PEAL_INLINE void peali_sync_warps(const struct peal_worker *w)
{
#if PEALI_HAS_WARPS
	(void)w;
	peal_hw_sync();
#else
	peal_sync(w);
#endif
}

/* The functions below order memory as peal_sync does: each lane then sees what the
 * other lanes wrote before the call. */

/** Returns the value of lane `from`, below peal_lanes. Collective. */
static PEAL_DEV PEAL_INLINE uint64_t peal_shuffle(const struct peal_worker *w,
						  uint64_t value, uint32_t from)
{
	if (peal_lanes(w) == 1)
		return value;
#if PEALI_HAS_WARPS
	if (PEAL_LIKELY(peali_is_one_warp(w))) {
		peal_hw_warp_sync(peal_hw_warp());
		return peal_hw_warp_from(value, from);
	}
#endif
	w->scratch[peal_lane(w)] = value;
	peali_sync_warps(w);
	value = w->scratch[from];
	peali_sync_warps(w);
	return value;
}

/** Returns the leader's value. Collective. */
static PEAL_DEV PEAL_INLINE uint64_t peal_broadcast(const struct peal_worker *w,
						    uint64_t value)
{
#if PEAL_ON_HOST
	uint64_t *word = w->scratch;
#else
	uint64_t *word = w->broadcast_at;
#endif

	if (peal_lanes(w) == 1)
		return value;
	/* not by a shuffle: two of them and a barrier take as long */
	if (peal_is_leader(w))
		*word = value;
	peal_sync(w);
	value = *word;
	peal_sync(w);
	return value;
}

#if PEALI_HAS_WARPS
/*
 * Combines the values of a warp's lanes, in five steps. A step adds the value of a
 * higher lane, so lane 0 has the result for any number of lanes.
 */
static PEAL_DEV PEAL_UNUSED inline uint64_t peali_warp_combine(uint64_t value,
							       int exclusive_or)
{
	const uint32_t lane = peal_hw_lane(), n = peal_hw_lanes();
	uint32_t step;

	peal_hw_warp_sync(peal_hw_warp());
	PEAL_NO_UNROLL
	for (step = 16; step; step /= 2) {
		uint64_t other = peal_hw_warp_from(value, lane + step);

		if (lane + step < n)
			value = exclusive_or ? value ^ other : value + other;
	}
	return peal_hw_warp_from(value, 0);
}
#endif

/** Returns the sum of all lanes' values, modulo 2^64. Collective. */
static PEAL_DEV PEAL_INLINE uint64_t peal_sum(const struct peal_worker *w,
					      uint64_t value)
{
	uint64_t sum = 0;
	uint32_t i;

	if (peal_lanes(w) == 1)
		return value;
#if PEALI_HAS_WARPS
	if (PEAL_LIKELY(peali_is_one_warp(w)))
		return peali_warp_combine(value, 0);
#endif
	w->scratch[peal_lane(w)] = value;
	peali_sync_warps(w);
	for (i = 0; i < peal_lanes(w); i++)
		sum += w->scratch[i];
	peali_sync_warps(w);
	return sum;
}

/** Returns the exclusive or of all lanes' values. Collective. */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peal_xor(const struct peal_worker *w, uint64_t value)
{
	uint64_t mixed = 0;
	uint32_t i;

	if (peal_lanes(w) == 1)
		return value;
#if PEALI_HAS_WARPS
	if (PEAL_LIKELY(peali_is_one_warp(w)))
		return peali_warp_combine(value, 1);
#endif
	w->scratch[peal_lane(w)] = value;
	peali_sync_warps(w);
	for (i = 0; i < peal_lanes(w); i++)
		mixed ^= w->scratch[i];
	peali_sync_warps(w);
	return mixed;
}

#if PEALI_HAS_WARPS
/* Returns the set of a warp's lanes with a condition that holds. */
static PEAL_DEV PEAL_INLINE uint32_t peali_warp_vote(int condition)
{
	peal_hw_warp_sync(peal_hw_warp());
	return peal_hw_warp_ballot(condition);
}
#endif

/** Returns 1 if any lane's condition holds. Collective. */
static PEAL_DEV PEAL_INLINE int peal_vote_any(const struct peal_worker *w,
					      int condition)
{
#if PEALI_HAS_WARPS
	if (PEAL_LIKELY(peali_is_one_warp(w)))
		return peali_warp_vote(condition) != 0;
#endif
	return peal_sum(w, condition ? 1 : 0) != 0;
}

/** Returns 1 if every lane's condition holds. Collective. */
static PEAL_DEV PEAL_INLINE int peal_vote_all(const struct peal_worker *w,
					      int condition)
{
#if PEALI_HAS_WARPS
	if (PEAL_LIKELY(peali_is_one_warp(w)))
		return peali_warp_vote(condition) == peal_hw_warp();
#endif
	return peal_sum(w, condition ? 1 : 0) == peal_lanes(w);
}

/** Returns the lowest lane with a condition that holds, or -1. Collective. */
static PEAL_DEV PEAL_INLINE int peal_elect(const struct peal_worker *w,
					   int condition)
{
	int found = -1;
	uint32_t i;

	if (peal_lanes(w) == 1)
		return condition ? 0 : -1;
#if PEALI_HAS_WARPS
	if (PEAL_LIKELY(peali_is_one_warp(w)))
		return __ffs((int)peali_warp_vote(condition)) - 1;
#endif
	w->scratch[peal_lane(w)] = condition ? 1 : 0;
	peali_sync_warps(w);
	for (i = 0; i < peal_lanes(w) && found < 0; i++)
		if (w->scratch[i])
			found = (int)i;
	peali_sync_warps(w);
	return found;
}

/** Copies n bytes by all lanes together. At the return all bytes are there.
 * Collective. */
static PEAL_DEV PEAL_UNUSED inline void
peal_copy_lanes(const struct peal_worker *w, void *to, const void *from,
		uint64_t n)
{
	uint8_t *out = (uint8_t *)to;
	const uint8_t *in = (const uint8_t *)from;
	uint64_t words = 0, i;

	if (peal_lanes(w) == 1) {
		peal_copy(to, from, n);
		return;
	}
	if (!(((uintptr_t)to | (uintptr_t)from) & 7))
		words = n / 8;
	for (i = peal_lane(w); i < words; i += peal_lanes(w))
		((uint64_t *)to)[i] = ((const uint64_t *)from)[i];
	for (i = words * 8 + peal_lane(w); i < n; i += peal_lanes(w))
		out[i] = in[i];
	peal_sync(w);
}

#endif
