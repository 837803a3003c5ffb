/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_ATOMIC_HOST_H
#define PEAL_DEVICE_ATOMIC_HOST_H

#include <peal/abi/message.h>

/* The host's implementation of atomic.h, which explains the functions. */

#if PEAL_ON_HOST

#define PEAL_HAVE_CLUSTERS 1 /* driver doubles have them */

#if PEAL_SIM
PEAL_BEGIN_C
/** A yield point of the simulator: another thread may continue first. */
void peal_sim_step(void);
/** As peal_sim_step, for a waiting thread: another thread continues first. */
void peal_sim_pause(void);
PEAL_END_C
#define PEALI_SIM_STEP() peal_sim_step()
#else
#define PEALI_SIM_STEP() ((void)0)
#endif

#define PEAL_HOST_SCOPE(scope, type, suffix)                                   \
	static PEAL_INLINE type peal_load_relaxed_##scope##suffix(             \
		const type *p)                                                 \
	{                                                                      \
		PEALI_SIM_STEP();                                              \
		return __atomic_load_n(p, __ATOMIC_RELAXED);                   \
	}                                                                      \
	static PEAL_INLINE type peal_load_acquire_##scope##suffix(             \
		const type *p)                                                 \
	{                                                                      \
		PEALI_SIM_STEP();                                              \
		return __atomic_load_n(p, __ATOMIC_ACQUIRE);                   \
	}                                                                      \
	PEALI_DO(peal_store_relaxed_##scope##suffix, (type * p, type v),       \
		 PEALI_SIM_STEP();                                             \
		 __atomic_store_n(p, v, __ATOMIC_RELAXED))                     \
	PEALI_DO(peal_store_release_##scope##suffix, (type * p, type v),       \
		 PEALI_SIM_STEP();                                             \
		 __atomic_store_n(p, v, __ATOMIC_RELEASE))
#define PEAL_HOST_WORD(type, suffix)                                           \
	PEAL_HOST_SCOPE(dev, type, suffix)                                     \
	PEAL_HOST_SCOPE(sys, type, suffix)                                     \
	static PEAL_INLINE type peal_add_relaxed_dev##suffix(type *p, type v)  \
	{                                                                      \
		PEALI_SIM_STEP();                                              \
		return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);             \
	}                                                                      \
	static PEAL_INLINE type peal_add_acqrel_dev##suffix(type *p, type v)   \
	{                                                                      \
		PEALI_SIM_STEP();                                              \
		return __atomic_fetch_add(p, v, __ATOMIC_ACQ_REL);             \
	}

/** Stores v if the word is `old`. Returns 1 if it has stored v, else 0. The
 * order is relaxed, the scope is the workers of one device. */
static PEAL_INLINE int peal_cas_relaxed_dev(uint64_t *p, uint64_t old,
					    uint64_t v)
{
	PEALI_SIM_STEP();
	return __atomic_compare_exchange_n(p, &old, v, 0, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

PEAL_HOST_WORD(uint64_t, )
PEAL_HOST_WORD(uint32_t, _u32)

/**
 * As on CUDA. The slab path of the atom policies needs stand-alone fences: its
 * descriptor is an ordinary atom. ThreadSanitizer cannot see fences. With it,
 * the atoms themselves carry the order (peal_atom16_store, peal_atom8_store).
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

/** As on CUDA. */
PEALI_DO(peal_fence_release_dev, (void), peal_fence_release_sys())

/** As on CUDA. */
PEALI_DO(peal_fence_acquire_dev, (void), peal_fence_acquire_sys())

/** Keeps the compiler from moving accesses across. The processor may do so. */
PEALI_DO(peal_compiler_barrier, (void), __atomic_signal_fence(__ATOMIC_SEQ_CST))

/** As on CUDA. */
static PEAL_INLINE void peal_pause(void)
{
#if PEAL_SIM
	peal_sim_pause();
#elif defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#endif
}

/**
 * Waits between two loads of a word that another core is about to write.
 *
 * It is for short waits. No load of the word is in flight during this time. A
 * load that requests a cache line at the same time as its writer makes both
 * slow. Without a fence, a processor has many such loads in flight at once.
 * peal_pause is no fence. On some machines it takes longer than the rest of a
 * round trip.
 */
static PEAL_INLINE void peal_poll_gap(void)
{
#if PEAL_SIM
	peal_sim_pause();
#elif defined(__x86_64__) || defined(__i386__)
	/*
	 * Each lfence waits for all instructions before it. The times are for a
	 * round trip of 48 bytes, cores near / far. Ten lfences: 120 / 420 ns.
	 * Five lfences: 137 / 610 ns. One peal_pause instead: 129 / 475 ns.
	 * Measured by `peal bench latency` on 2 cores of an EPYC (Zen 5),
	 * 2026-11-21.
	 */
	uint32_t i;

	for (i = 0; i < 10; i++)
		__asm__ volatile("lfence" ::: "memory");
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory");
#endif
}

#if defined(__x86_64__)
/*
 * An aligned 16-byte SSE access is atomic on every x86 processor with AVX. See
 * Intel SDM volume 3, 9.1.1, and AMD APM volume 2, 7.3.2. peal_runtime_open
 * checks the processor before it offers the policy.
 */
#define PEAL_HAVE_ATOM16 1
#if PEAL_TSAN
PEAL_BEGIN_C
void __tsan_acquire(void *address);
void __tsan_release(void *address);
PEAL_END_C
#endif

/** As on CUDA. */
static PEAL_INLINE void peal_atom16_store(struct peal_atom16 *p,
					  struct peal_atom16 v)
{
	PEALI_SIM_STEP();
#if PEAL_TSAN
	__tsan_release(p);
#endif
	__asm__ volatile("movdqa %1, %%xmm0\n\tmovdqa %%xmm0, %0"
			 : "=m"(*p)
			 : "m"(v)
			 : "xmm0", "memory");
}

/** As on CUDA. */
static PEAL_INLINE struct peal_atom16
peal_atom16_load(const struct peal_atom16 *p)
{
	struct peal_atom16 v;

	PEALI_SIM_STEP();
	__asm__ volatile("movdqa %1, %%xmm0\n\tmovdqa %%xmm0, %0"
			 : "=m"(v)
			 : "m"(*p)
			 : "xmm0", "memory");
#if PEAL_TSAN
	__tsan_acquire((void *)(uintptr_t)p);
#endif
	return v;
}
#endif

#endif /* PEAL_ON_HOST */

#endif
