/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_ATOMIC_H
#define PEAL_DEVICE_ATOMIC_H

#include <peal/device/impl/base/atomic_cuda.h>
#include <peal/device/impl/base/atomic_hip.h>
#include <peal/device/impl/base/atomic_host.h>

/*
 * The atomic accesses, fences, clock and hardware registers of the dialect. See
 * atomic_{cuda,hip,host}.h for each kind of device. No other file uses asm or
 * atomic builtins of a compiler.
 *
 * The name gives order and scope. Scope _dev: the workers of one device. Scope
 * _sys: also other devices and the host. A word has 64 bits, or 32 with _u32.
 * Only workers of its device may access a word by _dev functions.
 *
 *	peal_load_{relaxed,acquire}_{dev,sys}[_u32](p)
 *	peal_store_{relaxed,release}_{dev,sys}[_u32](p, v)
 *	peal_add_{relaxed,acqrel}_dev[_u32](p, v)	returns the old value
 *	peal_cas_relaxed_dev(p, old, v)			1: stored v, 0: not old
 *	peal_fence_{release,acquire}_{dev,sys}()
 *	peal_{load,store}_lanes_u32	in memory of the worker; GPUs only
 *	peal_hw_{lane,lanes,worker}()	position in the launch; GPUs only
 */

/* HIP documents no 16-byte atomicity; other hosts may lack it. */
#ifndef PEAL_HAVE_ATOM16
#define PEAL_HAVE_ATOM16 0
#endif

/**
 * Stores 4 bytes of payload and their tag (high half) as one 64-bit word.
 * Devices use relaxed accesses. The host uses release and acquire: they are
 * free on x86. ThreadSanitizer and topics that overwrite need them.
 */
static PEAL_DEV PEAL_INLINE void peal_atom8_store(uint64_t *p, uint64_t v)
{
#if PEAL_ON_HOST
	peal_store_release_sys(p, v);
#else
	peal_store_relaxed_sys(p, v);
#endif
}

/** Loads a word that peal_atom8_store has stored. */
static PEAL_DEV PEAL_INLINE uint64_t peal_atom8_load(const uint64_t *p)
{
#if PEAL_ON_HOST
	return peal_load_acquire_sys(p);
#else
	return peal_load_relaxed_sys(p);
#endif
}

#if !PEAL_ON_HOST
/**
 * Stores a value in the worker's memory. Other lanes may store it at once: PTX
 * promises nothing for plain stores that race, even of equal values.
 */
static PEAL_DEV PEAL_INLINE void peal_store_lanes_u32(uint32_t *p, uint32_t v)
{
	*(volatile uint32_t *)p = v;
}

/**
 * Loads a value from the worker's memory. Only the lanes that call it load: a
 * compiler may move a plain load before the condition that guards it.
 */
static PEAL_DEV PEAL_INLINE uint32_t peal_load_lanes_u32(const uint32_t *p)
{
	return *(const volatile uint32_t *)p;
}
#endif

/* Stores a value in the worker's memory. Other lanes may store it at once. */
static PEAL_DEV PEAL_INLINE void peali_store_lanes(uint64_t *p, uint64_t v)
{
#if PEAL_ON_HOST
	peal_store_relaxed_dev(p, v);
#else
	*(volatile uint64_t *)p = v; /* it may be shared memory */
#endif
}

/* Adds v to a word of the worker. Other lanes of the worker may add at once. */
static PEAL_DEV PEAL_INLINE void peali_add_lanes(uint64_t *p, uint64_t v)
{
#if PEAL_ON_HOST
	/* its lanes take turns on one thread */
	peal_store_relaxed_dev(p, peal_load_relaxed_dev(p) + v);
#else
	peal_hw_add_lanes(p, v);
#endif
}

#endif
