/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_HOST_SANITIZE_H
#define PEALI_HOST_SANITIZE_H

#include <peal/device/atomic.h>

/* What the host backend tells the sanitizers; nothing in a plain build. */

#if defined(__SANITIZE_ADDRESS__)
#define PEALI_ASAN 1
#elif defined(__clang__)
#if __has_feature(address_sanitizer)
#define PEALI_ASAN 1
#endif
#endif
#ifndef PEALI_ASAN
#define PEALI_ASAN 0
#endif

#if PEALI_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define PEALI_ASAN_FORBID(p, n) __asan_poison_memory_region((p), (n))
#define PEALI_ASAN_PERMIT(p, n) __asan_unpoison_memory_region((p), (n))
#else
#define PEALI_ASAN_FORBID(p, n) ((void)(p), (void)(n))
#define PEALI_ASAN_PERMIT(p, n) ((void)(p), (void)(n))
#endif

#if PEAL_TSAN
#include <sanitizer/tsan_interface.h>
#define PEALI_NO_TSAN __attribute__((no_sanitize("thread")))
#else
#define PEALI_NO_TSAN
#endif

#endif
