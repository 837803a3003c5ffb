/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_ATOMIC_HIP_H
#define PEAL_DEVICE_ATOMIC_HIP_H

#include <peal/abi/message.h>

/* The HIP part of atomic.h. That header describes the functions. */

#if PEAL_ON_HIP

#define PEAL_HAVE_CLUSTERS 0

/*
 * A release is a write-back, then a store of a flag or a barrier. A compiler
 * may drop the wait between the two (llvm-project issues 178316 and 135340).
 * For example, clang 19 drops the wait for gfx12. Therefore the functions below
 * execute a fence, wait for the stores explicitly, then store relaxed.
 * tests/checks/check_amd_waits checks the machine code.
 */
static PEAL_DEV PEAL_INLINE void peali_hip_wait_stores(void)
{
#if defined(__GFX12__)
	asm volatile("s_wait_storecnt 0x0" ::: "memory");
#elif defined(__GFX10__) || defined(__GFX11__) || defined(__gfx1030__)
	asm volatile("s_waitcnt vmcnt(0)\n\ts_waitcnt_vscnt null, 0x0" ::
			     : "memory");
#else
	asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
#endif
}

#define PEAL_HIP_SCOPE(scope, type, suffix, hip_scope, fence_scope)            \
	PEALI_VALUE(peal_load_relaxed_##scope##suffix, type, (const type *p),  \
		    __hip_atomic_load(p, __ATOMIC_RELAXED, hip_scope))         \
	PEALI_VALUE(peal_load_acquire_##scope##suffix, type, (const type *p),  \
		    __hip_atomic_load(p, __ATOMIC_ACQUIRE, hip_scope))         \
	PEALI_DO(peal_store_relaxed_##scope##suffix, (type * p, type v),       \
		 __hip_atomic_store(p, v, __ATOMIC_RELAXED, hip_scope))        \
	static PEAL_DEV PEAL_INLINE void peal_store_release_##scope##suffix(   \
		type *p, type v)                                               \
	{                                                                      \
		__builtin_amdgcn_fence(__ATOMIC_RELEASE, fence_scope);         \
		peali_hip_wait_stores();                                       \
		__hip_atomic_store(p, v, __ATOMIC_RELAXED, hip_scope);         \
	}
#define PEAL_HIP_WORD(type, suffix)                                            \
	PEAL_HIP_SCOPE(dev, type, suffix, __HIP_MEMORY_SCOPE_AGENT, "agent")   \
	PEAL_HIP_SCOPE(sys, type, suffix, __HIP_MEMORY_SCOPE_SYSTEM, "")       \
	static PEAL_DEV PEAL_INLINE type peal_add_relaxed_dev##suffix(type *p, \
								      type v)  \
	{                                                                      \
		return __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED,          \
					      __HIP_MEMORY_SCOPE_AGENT);       \
	}                                                                      \
	static PEAL_DEV PEAL_INLINE type peal_add_acqrel_dev##suffix(type *p,  \
								     type v)   \
	{                                                                      \
		type old;                                                      \
                                                                               \
		__builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");             \
		peali_hip_wait_stores();                                       \
		old = __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED,           \
					     __HIP_MEMORY_SCOPE_AGENT);        \
		__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");             \
		return old;                                                    \
	}

/** Stores v if the word is `old`. Returns 1: stored, 0: not. Relaxed. Only for
 * words of a device. */
static PEAL_DEV PEAL_INLINE int peal_cas_relaxed_dev(uint64_t *p, uint64_t old,
						     uint64_t v)
{
	return __hip_atomic_compare_exchange_strong(p, &old, v,
						    __ATOMIC_RELAXED,
						    __ATOMIC_RELAXED,
						    __HIP_MEMORY_SCOPE_AGENT);
}

PEAL_HIP_WORD(uint64_t, )
PEAL_HIP_WORD(uint32_t, _u32)

/** As in atomic_cuda.h. */
static PEAL_DEV PEAL_INLINE void peal_fence_release_sys(void)
{
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
	peali_hip_wait_stores();
}

PEALI_DO(peal_fence_acquire_sys, (void),
	 __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, ""))

/** As in atomic_cuda.h. See peali_hip_wait_stores. */
static PEAL_DEV PEAL_INLINE void peal_fence_release_dev(void)
{
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
	peali_hip_wait_stores();
}

PEALI_DO(peal_fence_acquire_dev, (void),
	 __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent"))

PEALI_DO(peal_pause, (void), __builtin_amdgcn_s_sleep(1))

/** As in atomic_cuda.h. */
PEALI_DO(peal_poll_gap, (void), (void)0)

/*
 * ns of a tick of the clock: the whole ns, and the rest in units of 2^-64 ns.
 * The host sets it to the driver's rate when it loads the program. The values
 * here are for drivers without a rate: 25 or 100 MHz.
 */
#if defined(__gfx906__) || defined(__gfx908__) || defined(__gfx90a__)
#define PEALI_TICK_NS 40
#else
#define PEALI_TICK_NS 10
#endif
extern "C" __attribute__((constant, weak, used, visibility("protected")))
uint64_t peali_clock_scale[2] = { PEALI_TICK_NS, 0 };

/** As in atomic_cuda.h. gfx11 and newer have no s_memrealtime. They answer a
 * message instead. */
static PEAL_DEV PEAL_INLINE uint64_t peal_clock_ns(void)
{
	uint64_t ticks;

#if defined(__GFX11__) || defined(__GFX12__)
	asm volatile("s_sendmsg_rtn_b64 %0, sendmsg(MSG_RTN_GET_REALTIME)\n\t"
		     "s_waitcnt lgkmcnt(0)"
		     : "=s"(ticks)::"memory");
#else
	asm volatile("s_memrealtime %0\n\ts_waitcnt lgkmcnt(0)"
		     : "=s"(ticks)::"memory");
#endif
	return ticks * peali_clock_scale[0] +
	       (uint64_t)(((unsigned __int128)ticks * peali_clock_scale[1]) >>
			  64);
}

/* As in atomic_cuda.h, in ns. */
static PEAL_DEV PEAL_INLINE uint32_t peali_cycles(void)
{
	return (uint32_t)peal_clock_ns();
}

/** As in atomic_cuda.h. */
PEALI_DO(peal_hw_add_lanes, (uint64_t * p, uint64_t v),
	 (void)__hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED,
				      __HIP_MEMORY_SCOPE_WORKGROUP))

PEALI_HW(lane, __builtin_amdgcn_workitem_id_x())
PEALI_HW(lanes, __builtin_amdgcn_workgroup_size_x())
PEALI_HW(worker, __builtin_amdgcn_workgroup_id_x())

/** As in atomic_cuda.h. */
static PEAL_DEV PEAL_INLINE void peal_hw_sync(void)
{
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
	peali_hip_wait_stores();
	__builtin_amdgcn_s_barrier();
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

#endif /* PEAL_ON_HIP */

#endif
