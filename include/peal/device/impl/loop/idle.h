/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_IDLE_H
#define PEAL_DEVICE_IDLE_H

#include <peal/device/impl/worker/mail.h>

/* How a worker waits that finds nothing to do. For the leader; the loop calls
 * it. */

/* One turn of waiting, longer and longer; after so many looks. */
static PEAL_DEV PEAL_INLINE void peali_wait_turn(struct peal_worker *w,
						 uint32_t looks)
{
#if PEAL_ON_HOST
	peal_host_idle(peali_bell_of(w, w->index), looks);
#else
	(void)looks;
	if (w->state->source.idle > 64)
		peal_pause();
#endif
}

/* Whether the next waiting turn sleeps: look at everything before it. */
static PEAL_DEV PEAL_INLINE int
peali_wait_announced(const struct peal_worker *w)
{
#if PEAL_ON_HOST
	return peal_load_relaxed_sys_u32(&peali_bell_of(w, w->index)->asleep) !=
	       0;
#else
	(void)w;
	return 0;
#endif
}

/* No sleep may be so long that the lease is not looked at in time. */
static PEAL_DEV PEAL_INLINE void peali_wait_limit(struct peal_worker *w)
{
#if PEAL_ON_HOST
	uint64_t ms = w->params->lease_ns / 8000000;

	if (w->params->epoch_ns && w->params->epoch_ns / 1000000 < ms)
		ms = w->params->epoch_ns / 1000000;
	if (!w->params->lease_ns || ms > 50)
		ms = 50;
	if (w->unrung)
		ms = 1;
	peali_bell_of(w, w->index)->max_sleep_us = ms ? (uint32_t)ms * 1000 :
							1000;
#else
	(void)w;
#endif
}

/* One of its rings has that bell; 0: it has to look for itself. */
static PEAL_DEV PEAL_INLINE void peali_wait_heed(struct peal_worker *w,
						 uint64_t bell)
{
#if PEAL_ON_HOST
	if (bell || w->unrung)
		return;
	w->unrung = 1;
	peali_wait_limit(w);
#else
	(void)w;
	(void)bell;
#endif
}

/* There was something: the next wait begins short again. */
static PEAL_DEV PEAL_INLINE void peali_wait_reset(struct peal_worker *w)
{
#if PEAL_ON_HOST
	peal_bell_reset(peali_bell_of(w, w->index));
#else
	(void)w;
#endif
}

#endif
