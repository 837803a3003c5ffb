/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_ATOMIC_HOST_H
#define PEAL_DEVICE_ATOMIC_HOST_H

#include <peal/abi/message.h>

/* The host's part of atomic.h, which says what all this is. */

#if PEAL_ON_HOST

#define PEAL_HAVE_CLUSTERS 1 /* of driver doubles */

#if PEAL_SIM
PEAL_BEGIN_C
/** A yield point of the simulator: another thread may go on first. */
void peal_sim_step(void);
/** The same of a thread that waits for others: one of them goes on first. */
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

/** Stores v if the word is `old`: 1; else 0. Relaxed, for words of a device. */
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
 * As on CUDA. Stand-alone fences serve the slab path of the atom policies,
 * where the descriptor is an ordinary atom. ThreadSanitizer cannot see fences;
 * there the atoms themselves carry the order (peal_atom16_store,
 * peal_atom8_store).
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

/** Keeps the compiler, not the processor, from moving accesses across. */
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
 * Between two looks at a word that another core is about to write, in a short
 * wait: a time during which no look is under way. A look that asks for a line
 * while its writer does makes both slow, and without a fence a processor has
 * many looks under way at once. peal_pause is no fence, and on some machines
 * it is longer than all the rest of a round trip.
 */
static PEAL_INLINE void peal_poll_gap(void)
{
#if PEAL_SIM
	peal_sim_pause();
#elif defined(__x86_64__) || defined(__i386__)
	/*
	 * Each waits for all before it. A round trip of 48 bytes (`peal bench
	 * latency`, 2 cores of an EPYC (Zen 5), 2026-11-21, cores near / far)
	 * takes 120 / 420 ns with ten, 137 / 610 ns with five, and
	 * 129 / 475 ns with one peal_pause instead.
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
