/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_HOST_SANITIZE_H
#define PEALI_HOST_SANITIZE_H

#include <peal/device/atomic.h>

/* Annotations for the sanitizers. They do nothing in a plain build. */

#if PEAL_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define PEALI_NO_ASAN __attribute__((no_sanitize("address")))
#define PEALI_ASAN_FORBID(p, n) __asan_poison_memory_region((p), (n))
#define PEALI_ASAN_PERMIT(p, n) __asan_unpoison_memory_region((p), (n))
#else
#define PEALI_NO_ASAN
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
