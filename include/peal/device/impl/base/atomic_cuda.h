/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_ATOMIC_CUDA_H
#define PEAL_DEVICE_ATOMIC_CUDA_H

#include <peal/abi/message.h>

/* The CUDA part of atomic.h, which says what all this is. */

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

/** Stores v if the word is `old`: 1; else 0. Relaxed, for words of a device. */
static PEAL_DEV PEAL_INLINE int peal_cas_relaxed_dev(uint64_t *p, uint64_t old,
						     uint64_t v)
{
	uint64_t was;

	asm volatile("atom.relaxed.gpu.global.cas.b64 %0, [%1], %2, %3;"
		     : "=l"(was)
		     : "l"(__cvta_generic_to_global(p)), "l"(old), "l"(v)
		     : "memory");
	return was == old;
}

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

/** The same among the workers of one device. */
PEALI_DO(peal_fence_release_dev, (void),
	 asm volatile("fence.acq_rel.gpu;" ::
			      : "memory"))

/** As peal_fence_acquire_sys, among the workers of one device. */
PEALI_DO(peal_fence_acquire_dev, (void),
	 asm volatile("fence.acq_rel.gpu;" ::
			      : "memory"))

/** A breath between two looks at a word. */
PEALI_DO(peal_pause, (void), asm volatile("nanosleep.u32 20;" ::: "memory"))

/** Between two looks at a word in a short wait: nothing, a look takes long. */
PEALI_DO(peal_poll_gap, (void), (void)0)

/** Monotonic time in ns; of this device. */
static PEAL_DEV PEAL_INLINE uint64_t peal_clock_ns(void)
{
	uint64_t t;

	asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t)::"memory");
	return t;
}

/* A counter of cycles that wraps around; of this multiprocessor. */
static PEAL_DEV PEAL_INLINE uint32_t peali_cycles(void)
{
	uint32_t t;

	asm volatile("mov.u32 %0, %clock;" : "=r"(t));
	return t;
}

/** Adds v to a word. Other lanes of the worker may add at once. Relaxed. */
static PEAL_DEV PEAL_INLINE void peal_hw_add_lanes(uint64_t *p, uint64_t v)
{
	asm volatile("red.relaxed.cta.add.u64 [%0], %1;" ::"l"(p), "l"(v)
		     : "memory");
}

PEALI_HW(lane, threadIdx.x)
PEALI_HW(lanes, blockDim.x)
PEALI_HW(worker, blockIdx.x)

/** Where all lanes of the worker meet; GPUs only. */
PEALI_DO(peal_hw_sync, (void), __syncthreads())

/* The lanes of the calling warp, which is the worker's only warp. */
PEALI_HW(warp, ~0u >> (32 - blockDim.x))

/* Primitives of the worker's only warp. All its lanes call them. Only
 * peal_hw_warp_sync orders their accesses to memory. */
PEALI_DO(peal_hw_warp_sync, (uint32_t warp), __syncwarp(warp))
PEALI_VALUE(peal_hw_warp_ballot, uint32_t, (int condition),
	    __ballot_sync(peal_hw_warp(), condition))
PEALI_VALUE(peal_hw_warp_match, uint32_t, (uint32_t value),
	    __match_any_sync(peal_hw_warp(), value))
PEALI_VALUE(peal_hw_warp_first, uint32_t, (uint32_t value),
	    __shfl_sync(peal_hw_warp(), value, 0))
PEALI_VALUE(peal_hw_warp_from, uint64_t, (uint64_t value, uint32_t lane),
	    __shfl_sync(peal_hw_warp(), (unsigned long long)value, (int)lane))

/** Returns the shared memory of the calling block that the launch has added. */
static PEAL_DEV PEAL_INLINE uint8_t *peal_hw_block_memory(void)
{
	extern PEAL_SHARED __align__(16) uint8_t peali_block_memory[];

	return peali_block_memory;
}

/*
 * Where blocks can share memory as a cluster, a slot may lie there: its atoms
 * take a generic address.
 */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define PEAL_HAVE_CLUSTERS 1
#define PEAL_CUDA_ATOM_SPACE ""
#define PEAL_CUDA_ATOM_ADDRESS(p) (p)

/** Where the memory of a worker of the cluster begins that all of it share. */
static PEAL_DEV PEAL_INLINE uint8_t *peal_hw_cluster_memory(uint32_t rank)
{
	uint32_t own;
	uint8_t *at;

	asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(own));
	if (rank == own) /* no way over what connects the multiprocessors */
		return peal_hw_block_memory();
	asm("mapa.u64 %0, %1, %2;"
	    : "=l"(at)
	    : "l"(peal_hw_block_memory()), "r"(rank));
	return at;
}

/** Where all lanes of all workers of the cluster meet. */
PEALI_DO(peal_hw_cluster_sync, (void),
	 asm volatile("barrier.cluster.arrive.release;\n\t"
		      "barrier.cluster.wait.acquire;" ::
			      : "memory"))
#else
#define PEAL_HAVE_CLUSTERS 0
#define PEAL_CUDA_ATOM_SPACE ".global"
#define PEAL_CUDA_ATOM_ADDRESS(p) __cvta_generic_to_global(p)
#endif

/*
 * PTX promises one access of 16 bytes for .b128 alone (PTX ISA, "Memory
 * Consistency Model"). This comes to the same instruction, with fewer registers
 * around it; tests/checks/check_opcodes compares them.
 */
#define PEAL_HAVE_ATOM16 1
/** Stores 16 bytes at once; relaxed. 16-byte aligned. */
static PEAL_DEV PEAL_INLINE void peal_atom16_store(struct peal_atom16 *p,
						   struct peal_atom16 v)
{
	asm volatile("st.relaxed.sys" PEAL_CUDA_ATOM_SPACE
		     ".v4.u32 [%0], {%1, %2, %3, %4};"
		     :
		     : "l"(PEAL_CUDA_ATOM_ADDRESS(p)), "r"(v.word[0]),
		       "r"(v.word[1]), "r"(v.word[2]), "r"(v.word[3])
		     : "memory");
}

/** Loads 16 bytes at once; relaxed. 16-byte aligned. */
static PEAL_DEV PEAL_INLINE struct peal_atom16
peal_atom16_load(const struct peal_atom16 *p)
{
	struct peal_atom16 v;

	asm volatile("ld.relaxed.sys" PEAL_CUDA_ATOM_SPACE
		     ".v4.u32 {%0, %1, %2, %3}, [%4];"
		     : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]),
		       "=r"(v.word[3])
		     : "l"(PEAL_CUDA_ATOM_ADDRESS(p))
		     : "memory");
	return v;
}

#endif /* PEAL_ON_CUDA */

#endif
