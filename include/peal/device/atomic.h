/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_ATOMIC_H
#define PEAL_DEVICE_ATOMIC_H

#include <peal/device/atomic_cuda.h>
#include <peal/device/atomic_hip.h>
#include <peal/device/atomic_host.h>

/*
 * Every atomic access, fence, clock and hardware register of the dialect, for
 * each kind of device in atomic_{cuda,hip,host}.h. No other file says asm or
 * names a compiler's atomic builtin.
 *
 * Order and scope are in the name: _dev orders among the workers of one
 * device, _sys among devices and the host as well. Without a suffix a word has
 * 64 bits, with _u32 it has 32. A _dev word is never touched from outside.
 *
 *	peal_load_{relaxed,acquire}_{dev,sys}[_u32](p)
 *	peal_store_{relaxed,release}_{dev,sys}[_u32](p, v)
 *	peal_add_{relaxed,acqrel}_dev[_u32](p, v)	returns the old value
 *	peal_cas_relaxed_dev(p, old, v)			1 if it was old and is v
 *	peal_fence_{release,acquire}_{dev,sys}()
 *	peal_hw_{lane,lanes,worker}()	position in the launch; GPUs only
 */

/* HIP documents no 16-byte atomicity; other hosts may lack it. */
#ifndef PEAL_HAVE_ATOM16
#define PEAL_HAVE_ATOM16 0
#endif

/**
 * Stores 4 bytes of payload and their tag (high half) as one 64-bit word. On
 * devices relaxed; on the host release and acquire, which cost nothing on x86
 * and let ThreadSanitizer follow.
 */
static PEAL_DEV PEAL_INLINE void peal_atom8_store(uint64_t *p, uint64_t v)
{
#if PEAL_ON_HOST
	peal_store_release_sys(p, v);
#else
	peal_store_relaxed_sys(p, v);
#endif
}

/** Loads what peal_atom8_store stored. */
static PEAL_DEV PEAL_INLINE uint64_t peal_atom8_load(const uint64_t *p)
{
#if PEAL_ON_HOST
	return peal_load_acquire_sys(p);
#else
	return peal_load_relaxed_sys(p);
#endif
}

#endif
