/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_RTC_H
#define PEALI_RTC_H

#include <peal/abi/program.h>
#include "runtime/device/image.h"

/**
 * Headers of the device dialect, such as "peal/device/kernel.h". The build
 * generates this list. It is empty with PEAL_EMBED_SOURCES=OFF.
 */
extern const struct peal_source_file peali_dialect[];

/*
 * Compiles a program's text for a target such as "sm_90", "compute_75" or
 * "gfx90a". Uses NVRTC or hipRTC and checks the resulting image.
 *
 * Each image is compiled once per process. If PEAL_CACHE_DIR is writable, each
 * image is compiled once per machine. A cache file is valid for one text,
 * target, compiler version and Peal version. A damaged cache file is ignored.
 *
 * Returns 0, or PEAL_EPROGRAM: there is no text, no such target or no compiler,
 * or the text does not compile. The error text lists the compilers that were
 * tried, or has the compiler's first lines. Takes seconds. Other callers wait
 * meanwhile. Thread-safe.
 */
int peali_rtc_compile(const struct peal_program *program, const char *target,
		      struct peali_image *out, const char *call);

#endif
