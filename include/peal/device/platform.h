/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_PLATFORM_H
#define PEAL_DEVICE_PLATFORM_H

#include <peal/abi/linkage.h>

/*
 * Detection of the compiler, and the keywords of the device dialect. Kernel
 * sources use this common subset of C11, C++17, CUDA C++ and HIP. Exactly one
 * of PEAL_ON_CUDA, PEAL_ON_HIP and PEAL_ON_HOST is 1.
 */

#if defined(__HIP__) || defined(__HIPCC_RTC__)
#define PEAL_ON_CUDA 0
#define PEAL_ON_HIP 1
#define PEAL_ON_HOST 0
#elif defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define PEAL_ON_CUDA 1
#define PEAL_ON_HIP 0
#define PEAL_ON_HOST 0
#else
#define PEAL_ON_CUDA 0
#define PEAL_ON_HIP 0
#define PEAL_ON_HOST 1
#endif

/*
 * NVRTC and hipRTC have no system headers. NVRTC declares size_t and memcpy
 * itself. It lacks the builtin functions of gcc that are replaced here.
 */
#if defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__)
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef uint64_t uintptr_t;
#if defined(__CUDACC_RTC__)
#define offsetof(type, member) ((size_t)__INTADDR__(&((type *)0)->member))
#define __builtin_memcpy memcpy
#else
typedef __SIZE_TYPE__ size_t;
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
#else
#include <stddef.h>
#include <stdint.h>
#endif

#ifdef __cplusplus
#define PEAL_RESTRICT __restrict__
#define PEAL_STATIC_ASSERT(condition, text) static_assert(condition, text)
#define PEAL_ALIGNED(bytes) alignas(bytes)
#else
#define PEAL_RESTRICT restrict
#define PEAL_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#define PEAL_ALIGNED(bytes) _Alignas(bytes)
#endif

/* A message is copied as bytes. */
#ifdef __cplusplus
#define PEALI_PLAIN(type)                                                      \
	PEAL_STATIC_ASSERT(__is_trivially_copyable(type),                      \
			   "a message must be trivially copyable");
#else
#define PEALI_PLAIN(type)
#endif

/* PEAL_KERNEL_MAX_LANES limits the registers of a kernel. So a worker of 1,024
 * lanes fits a multiprocessor. On HIP that is the default. */
#if PEAL_ON_CUDA && defined(__CUDACC_RTC__)
#define PEAL_DEV __device__
#define PEAL_HD __device__
#define PEAL_KERNEL extern "C" __global__
#define PEAL_KERNEL_MAX_LANES __launch_bounds__(1024)
#elif PEAL_ON_CUDA
#define PEAL_DEV __device__
#define PEAL_HD __host__ __device__
#define PEAL_KERNEL extern "C" __global__
#define PEAL_KERNEL_MAX_LANES __launch_bounds__(1024)
#elif PEAL_ON_HIP
#define PEAL_DEV __attribute__((device))
#define PEAL_HD __attribute__((host)) __attribute__((device))
#define PEAL_KERNEL extern "C" __attribute__((global))
#define PEAL_KERNEL_MAX_LANES
#else
#define PEAL_DEV
#define PEAL_HD
#define PEAL_KERNEL PEAL_EXTERN_C
#endif

/* For functions that are rarely called on the host: inline only on GPUs. For
 * functions that are rarely called on a GPU: inline only on the host. */
#if PEAL_ON_HOST
#define PEAL_HOST_NOINLINE PEAL_NOINLINE
#define PEAL_GPU_NOINLINE inline
#else
#define PEAL_HOST_NOINLINE inline
#define PEAL_GPU_NOINLINE PEAL_NOINLINE
#endif

/* Before a loop that runs rarely: a GPU's compiler does not unroll it. */
#if PEAL_ON_HOST
#define PEAL_NO_UNROLL
#else
#define PEAL_NO_UNROLL _Pragma("unroll 1")
#endif

/* Storage that the lanes of one worker share; GPUs only. */
#if PEAL_ON_CUDA
#define PEAL_SHARED __shared__
#elif PEAL_ON_HIP
#define PEAL_SHARED __attribute__((shared))
#endif

/* NVRTC has these attributes, but defines neither compiler's macro. */
#if defined(__GNUC__) || defined(__clang__) || defined(__CUDACC_RTC__)
#define PEAL_LIKELY(x) __builtin_expect(!!(x), 1)
#define PEAL_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define PEAL_UNUSED __attribute__((unused))
#define PEAL_INLINE inline __attribute__((always_inline, unused))
#define PEAL_NOINLINE __attribute__((noinline))
#else
#define PEAL_LIKELY(x) (x)
#define PEAL_UNLIKELY(x) (x)
#define PEAL_UNUSED
#define PEAL_INLINE inline
#define PEAL_NOINLINE
#endif

/* Detection of ThreadSanitizer and AddressSanitizer: gcc defines a macro, clang
 * has a feature. */
#if PEAL_ON_HOST && defined(__clang__)
#if __has_feature(thread_sanitizer)
#define PEAL_TSAN 1
#endif
#if __has_feature(address_sanitizer)
#define PEAL_ASAN 1
#endif
#elif PEAL_ON_HOST && defined(__SANITIZE_THREAD__)
#define PEAL_TSAN 1
#elif PEAL_ON_HOST && defined(__SANITIZE_ADDRESS__)
#define PEAL_ASAN 1
#endif
#ifndef PEAL_TSAN
#define PEAL_TSAN 0
#endif
#ifndef PEAL_ASAN
#define PEAL_ASAN 0
#endif

/*
 * 1 in the one-lane build of a kernel source. Lane and number of lanes are then
 * constants, and the compiler can vectorize lane-stride loops.
 */
#ifndef PEAL_SINGLE_LANE
#define PEAL_SINGLE_LANE 0
#endif

/*
 * 1: calls that send check the limits that the handler declares, also on a GPU.
 * The default for GPUs is 0, because the check has a cost for each message. On
 * the host the calls always check.
 */
#ifndef PEAL_CHECK_LIMITS
#define PEAL_CHECK_LIMITS 0
#endif
#define PEALI_CHECK_LIMITS (PEAL_ON_HOST || PEAL_CHECK_LIMITS)

/*
 * 1 in a build for the simulator (tests/sim/engine). Each access to a shared
 * word is then a possible switch to another thread.
 */
#ifndef PEAL_SIM
#define PEAL_SIM 0
#endif

/* Faults that a test of the simulator plants, to check that it finds them. */
#if PEAL_SIM
enum peali_sim_fault {
	PEALI_FAULT_NONE,
	PEALI_FAULT_EARLY_CREDIT, /* a slot is free before it was read */
	PEALI_FAULT_EARLY_FOLLOW, /* a receiver does not wait for the SEAL */
	PEALI_FAULT_DEAF_SLEEP, /* no last look before a sleep */
	PEALI_FAULT_TORN_TICKET, /* two producers can get the same slot */
	PEALI_FAULT_TWO_TELL, /* two workers can report the same end */
	PEALI_FAULT_SAME_ADDRESS, /* the next actor in a slot has its address */
	PEALI_FAULT_EARLY_LEAVE, /* a worker ends before others' exits ran */
	PEALI_FAULT_TWO_ANSWER, /* two workers can end the same ask */
	PEALI_FAULT_TORN_LIMIT, /* a limit counts two messages as one */
	PEALI_FAULT_OVERTAKES, /* a forwarded message skips an entry */
	PEALI_FAULT_REDIRECT_TWICE, /* a message is forwarded twice */
	PEALI_FAULTS
};
PEAL_EXTERN_C int peali_sim_planted;
#define PEALI_SIM_FAULT(name) (peali_sim_planted == PEALI_FAULT_##name)
#else
#define PEALI_SIM_FAULT(name) 0
#endif

/* Least distance in bytes of words with different writers. */
#define PEAL_SHARED_LINE 128

/* Definitions of functions with one expression or statement. */
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

#endif
