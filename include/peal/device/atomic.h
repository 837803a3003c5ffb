/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_ATOMIC_H
#define PEAL_DEVICE_ATOMIC_H

#include <peal/device/platform.h>

/*
 * Every atomic access, fence, clock and hardware register of the dialect. No
 * other file says asm or names a compiler's atomic builtin.
 *
 * Order and scope are in the name: _dev orders among the workers of one
 * device, _sys among devices and the host as well. Without a suffix a word has
 * 64 bits, with _u32 it has 32. A _dev word is never touched from outside.
 *
 *	peal_load_{relaxed,acquire}_{dev,sys}[_u32](p)
 *	peal_store_{relaxed,release}_{dev,sys}[_u32](p, v)
 *	peal_add_{relaxed,acqrel}_dev[_u32](p, v)	returns the old value
 *	peal_hw_{lane,lanes,worker}()	position in the launch; GPUs only
 */

#if PEAL_ON_HOST && defined(__SANITIZE_THREAD__)
#define PEAL_TSAN 1
#elif PEAL_ON_HOST && defined(__clang__)
#if __has_feature(thread_sanitizer)
#define PEAL_TSAN 1
#endif
#endif
#ifndef PEAL_TSAN
#define PEAL_TSAN 0
#endif

#define PEALI_VALUE(name, type, parameters, value)                             \
	static PEAL_DEV PEAL_INLINE type name parameters                       \
	{                                                                      \
		return value;                                                  \
	}
#define PEALI_DO(name, parameters, statement)                                  \
	static PEAL_DEV PEAL_INLINE void name parameters                       \
	{                                                                      \
		statement;                                                     \
	}
#define PEALI_HW(name, value)                                                  \
	PEALI_VALUE(peal_hw_##name, uint32_t, (void), value)

#if PEAL_ON_CUDA

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 700
#error "Peal needs sm_70 or newer: older devices have no memory model"
#endif

#define PEAL_CUDA_LOAD(name, type, suffix, bits, letter, qualifiers)           \
	static PEAL_DEV PEAL_INLINE type peal_load_##name##suffix(             \
		const type *p)                                                 \
	{                                                                      \
		type v;                                                        \
                                                                               \
		asm volatile("ld." qualifiers ".global.u" bits " %0, [%1];"    \
			     : "=" letter(v)                                   \
			     : "l"(__cvta_generic_to_global(p))                \
			     : "memory");                                      \
		return v;                                                      \
	}
#define PEAL_CUDA_STORE(name, type, suffix, bits, letter, qualifiers)          \
	static PEAL_DEV PEAL_INLINE void peal_store_##name##suffix(type *p,    \
								   type v)     \
	{                                                                      \
		asm volatile("st." qualifiers ".global.u" bits " [%0], %1;"    \
			     :                                                 \
			     : "l"(__cvta_generic_to_global(p)), letter(v)     \
			     : "memory");                                      \
	}
#define PEAL_CUDA_ADD(name, type, suffix, bits, letter, qualifiers)            \
	static PEAL_DEV PEAL_INLINE type peal_add_##name##suffix(type *p,      \
								 type v)       \
	{                                                                      \
		type old;                                                      \
                                                                               \
		asm volatile("atom." qualifiers ".global.add.u" bits           \
			     " %0, [%1], %2;"                                  \
			     : "=" letter(old)                                 \
			     : "l"(__cvta_generic_to_global(p)), letter(v)     \
			     : "memory");                                      \
		return old;                                                    \
	}
#define PEAL_CUDA_WORD(type, suffix, bits, letter)                             \
	PEAL_CUDA_LOAD(relaxed_dev, type, suffix, bits, letter, "relaxed.gpu") \
	PEAL_CUDA_LOAD(acquire_dev, type, suffix, bits, letter, "acquire.gpu") \
	PEAL_CUDA_LOAD(relaxed_sys, type, suffix, bits, letter, "relaxed.sys") \
	PEAL_CUDA_LOAD(acquire_sys, type, suffix, bits, letter, "acquire.sys") \
	PEAL_CUDA_STORE(relaxed_dev, type, suffix, bits, letter,               \
			"relaxed.gpu")                                         \
	PEAL_CUDA_STORE(release_dev, type, suffix, bits, letter,               \
			"release.gpu")                                         \
	PEAL_CUDA_STORE(relaxed_sys, type, suffix, bits, letter,               \
			"relaxed.sys")                                         \
	PEAL_CUDA_STORE(release_sys, type, suffix, bits, letter,               \
			"release.sys")                                         \
	PEAL_CUDA_ADD(relaxed_dev, type, suffix, bits, letter, "relaxed.gpu")  \
	PEAL_CUDA_ADD(acqrel_dev, type, suffix, bits, letter, "acq_rel.gpu")

PEAL_CUDA_WORD(uint64_t, , "64", "l")
PEAL_CUDA_WORD(uint32_t, _u32, "32", "r")

/** Orders all earlier accesses before later stores, system wide. */
PEALI_DO(peal_fence_release_sys, (void),
	 asm volatile("fence.acq_rel.sys;" ::
			      : "memory"))

/** Orders earlier loads before all later accesses, system wide. */
PEALI_DO(peal_fence_acquire_sys, (void),
	 asm volatile("fence.acq_rel.sys;" ::
			      : "memory"))

/** A breath between two looks at a word. */
PEALI_DO(peal_pause, (void), asm volatile("nanosleep.u32 20;" ::: "memory"))

/** Monotonic time in ns; of this device. */
static PEAL_DEV PEAL_INLINE uint64_t peal_clock_ns(void)
{
	uint64_t t;

	asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t)::"memory");
	return t;
}

PEALI_HW(lane, threadIdx.x)
PEALI_HW(lanes, blockDim.x)
PEALI_HW(worker, blockIdx.x)

/** Where all lanes of the worker meet; GPUs only. */
PEALI_DO(peal_hw_sync, (void), __syncthreads())

#elif PEAL_ON_HIP

/*
 * A compiler may drop the wait between the write-back of a release and the
 * store of the flag (llvm-project issues 178316 and 135340): fence, wait for
 * the stores by hand, then store relaxed.
 */
static PEAL_DEV PEAL_INLINE void peali_hip_wait_stores(void)
{
#if defined(__gfx1200__) || defined(__gfx1201__)
	asm volatile("s_wait_storecnt 0x0" ::: "memory");
#elif defined(__GFX10__) || defined(__GFX11__) || defined(__gfx1030__) ||      \
	defined(__gfx1100__)
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

PEAL_HIP_WORD(uint64_t, )
PEAL_HIP_WORD(uint32_t, _u32)

/** As on CUDA. */
static PEAL_DEV PEAL_INLINE void peal_fence_release_sys(void)
{
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
	peali_hip_wait_stores();
}

PEALI_DO(peal_fence_acquire_sys, (void),
	 __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, ""))

PEALI_DO(peal_pause, (void), __builtin_amdgcn_s_sleep(1))

/* gfx11 and newer have no s_memrealtime; they answer a message instead. */
static PEAL_DEV PEAL_INLINE uint64_t peal_clock_ns(void)
{
	uint64_t ticks; /* 100 MHz */

#if defined(__gfx1100__) || defined(__gfx1200__) || defined(__gfx1201__)
	asm volatile("s_sendmsg_rtn_b64 %0, sendmsg(MSG_RTN_GET_REALTIME)\n\t"
		     "s_waitcnt lgkmcnt(0)"
		     : "=s"(ticks)::"memory");
#else
	asm volatile("s_memrealtime %0\n\ts_waitcnt lgkmcnt(0)"
		     : "=s"(ticks)::"memory");
#endif
	return ticks * 10;
}

PEALI_HW(lane, __builtin_amdgcn_workitem_id_x())
PEALI_HW(lanes, __builtin_amdgcn_workgroup_size_x())
PEALI_HW(worker, __builtin_amdgcn_workgroup_id_x())

/** As on CUDA. */
static PEAL_DEV PEAL_INLINE void peal_hw_sync(void)
{
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
	__builtin_amdgcn_s_barrier();
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

#else /* host: one scope */

#define PEAL_HOST_SCOPE(scope, type, suffix)                                   \
	static PEAL_INLINE type peal_load_relaxed_##scope##suffix(             \
		const type *p)                                                 \
	{                                                                      \
		return __atomic_load_n(p, __ATOMIC_RELAXED);                   \
	}                                                                      \
	static PEAL_INLINE type peal_load_acquire_##scope##suffix(             \
		const type *p)                                                 \
	{                                                                      \
		return __atomic_load_n(p, __ATOMIC_ACQUIRE);                   \
	}                                                                      \
	PEALI_DO(peal_store_relaxed_##scope##suffix, (type * p, type v),       \
		 __atomic_store_n(p, v, __ATOMIC_RELAXED))                     \
	PEALI_DO(peal_store_release_##scope##suffix, (type * p, type v),       \
		 __atomic_store_n(p, v, __ATOMIC_RELEASE))
#define PEAL_HOST_WORD(type, suffix)                                           \
	PEAL_HOST_SCOPE(dev, type, suffix)                                     \
	PEAL_HOST_SCOPE(sys, type, suffix)                                     \
	static PEAL_INLINE type peal_add_relaxed_dev##suffix(type *p, type v)  \
	{                                                                      \
		return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);             \
	}                                                                      \
	static PEAL_INLINE type peal_add_acqrel_dev##suffix(type *p, type v)   \
	{                                                                      \
		return __atomic_fetch_add(p, v, __ATOMIC_ACQ_REL);             \
	}

PEAL_HOST_WORD(uint64_t, )
PEAL_HOST_WORD(uint32_t, _u32)

/*
 * Stand-alone fences serve the slab path of the atom policies, where the
 * descriptor is an ordinary atom. ThreadSanitizer cannot see fences; there the
 * atoms themselves carry the order (peal_atom16_store, peal_atom8_store).
 */
static PEAL_INLINE void peal_fence_release_sys(void)
{
#if !PEAL_TSAN
	__atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}

/** As on CUDA. */
static PEAL_INLINE void peal_fence_acquire_sys(void)
{
#if !PEAL_TSAN
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
}

/** Keeps the compiler, not the processor, from moving accesses across. */
PEALI_DO(peal_compiler_barrier, (void), __atomic_signal_fence(__ATOMIC_SEQ_CST))

/** As on CUDA. */
static PEAL_INLINE void peal_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#endif
}
#endif /* PEAL_ON_CUDA, PEAL_ON_HIP, PEAL_ON_HOST */

/* ---- Atoms: 16 or 8 bytes that are stored and loaded indivisibly ---------- */

/** 12 bytes of payload and their tag (word 3). */
struct peal_atom16 {
	PEAL_ALIGNED(16) uint32_t word[4];
};

#if PEAL_ON_CUDA
#define PEAL_HAVE_ATOM16 1
/** Stores 16 bytes at once; relaxed. 16-byte aligned. */
static PEAL_DEV PEAL_INLINE void peal_atom16_store(struct peal_atom16 *p,
						   struct peal_atom16 v)
{
	asm volatile("st.relaxed.sys.global.v4.u32 [%0], {%1, %2, %3, %4};"
		     :
		     : "l"(__cvta_generic_to_global(p)), "r"(v.word[0]),
		       "r"(v.word[1]), "r"(v.word[2]), "r"(v.word[3])
		     : "memory");
}

/** Loads 16 bytes at once; relaxed. 16-byte aligned. */
static PEAL_DEV PEAL_INLINE struct peal_atom16
peal_atom16_load(const struct peal_atom16 *p)
{
	struct peal_atom16 v;

	asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
		     : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]),
		       "=r"(v.word[3])
		     : "l"(__cvta_generic_to_global(p))
		     : "memory");
	return v;
}
#elif PEAL_ON_HOST && defined(__x86_64__)
/*
 * An aligned 16-byte SSE access is indivisible on every x86 that has AVX
 * (Intel SDM volume 3, 9.1.1; AMD APM volume 2, 7.3.2); peal_runtime_open
 * looks at the processor before it offers the policy.
 */
#define PEAL_HAVE_ATOM16 1
#if PEAL_TSAN
PEAL_BEGIN_C
void __tsan_acquire(void *address);
void __tsan_release(void *address);
PEAL_END_C
#endif

static PEAL_INLINE void peal_atom16_store(struct peal_atom16 *p,
					  struct peal_atom16 v)
{
#if PEAL_TSAN
	__tsan_release(p);
#endif
	__asm__ volatile("movdqa %1, %%xmm0\n\tmovdqa %%xmm0, %0"
			 : "=m"(*p)
			 : "m"(v)
			 : "xmm0", "memory");
}

static PEAL_INLINE struct peal_atom16
peal_atom16_load(const struct peal_atom16 *p)
{
	struct peal_atom16 v;

	__asm__ volatile("movdqa %1, %%xmm0\n\tmovdqa %%xmm0, %0"
			 : "=m"(v)
			 : "m"(*p)
			 : "xmm0", "memory");
#if PEAL_TSAN
	__tsan_acquire((void *)(uintptr_t)p);
#endif
	return v;
}
#else
/* HIP documents no 16-byte atomicity; other hosts may lack it. */
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
