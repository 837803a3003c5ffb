/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_SLOW_H
#define PEAL_DEVICE_SLOW_H

#include <peal/device/features.h>
#include <peal/device/platform.h>

/* 1 in the sources of libpeal that contain the loop's slow functions. */
#ifndef PEALI_LOOP_BODIES
#define PEALI_LOOP_BODIES 0
#endif

/*
 * PEALI_SLOW(int, name, parameters...) { body } defines a slow function of the
 * resident loop. On a GPU each program contains it, out of line;
 * PEALI_HOST_SLOW is in line there.
 *
 * On the host, libpeal contains the function once for each variant of the loop
 * (PEALI_LOOP_BODIES, ringkernels/loop_*.c). A program calls it there. The
 * program's own copy of the body has another name. No code calls this copy, so
 * the compiler drops it. Compiled copies were two thirds of the compile time of
 * a program.
 *
 * Each variant has its own symbols. PEALI_LOOP_LAYOUT must change with the
 * layout of struct peal_worker, and with the parameters of a slow function. A
 * program that was compiled for another layout then does not link, or does not
 * load. The error names the symbol.
 */
#if !PEAL_ON_HOST
#define PEALI_SLOW(type, name, ...)                                            \
	static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE type name(__VA_ARGS__)
#define PEALI_HOST_SLOW(type, name, ...)                                       \
	static PEAL_DEV PEAL_UNUSED inline type name(__VA_ARGS__)
#else
#if PEAL_SINGLE_LANE && PEALI_USES(POOLS)
#define PEALI_LOOP_VARIANT "single_pools_"
#elif PEAL_SINGLE_LANE
#define PEALI_LOOP_VARIANT "single_"
#elif PEALI_USES(POOLS)
#define PEALI_LOOP_VARIANT "lanes_pools_"
#else
#define PEALI_LOOP_VARIANT "lanes_"
#endif
#define PEALI_LOOP_LAYOUT "peal_loop8_"
#define PEALI_SLOW_EXTERN(type, name, ...)                                     \
	PEAL_EXTERN_C PEAL_NOINLINE type name(__VA_ARGS__) __asm__(            \
		PEALI_LOOP_LAYOUT PEALI_LOOP_VARIANT #name);
#if PEALI_LOOP_BODIES
#define PEALI_SLOW(type, name, ...)                                            \
	PEALI_SLOW_EXTERN(type, name, __VA_ARGS__)                             \
	type name(__VA_ARGS__)
#else
#define PEALI_SLOW(type, name, ...)                                            \
	PEALI_SLOW_EXTERN(type, name, __VA_ARGS__)                             \
	static PEAL_UNUSED inline type name##_body(__VA_ARGS__)
#endif
#define PEALI_HOST_SLOW(type, name, ...) PEALI_SLOW(type, name, __VA_ARGS__)
#endif

#endif
