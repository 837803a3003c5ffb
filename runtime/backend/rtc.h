/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_RTC_H
#define PEALI_RTC_H

#include <peal/abi/program.h>
#include "runtime/backend/image.h"

/** The headers of the dialect, "peal/device/kernel.h" and so on; made by the
 * build, nothing in it with PEAL_EMBED_SOURCES=OFF. */
extern const struct peal_source_file peali_dialect[];

/*
 * Compiles a program's text for a target, "sm_90", "compute_75" or "gfx90a", by
 * NVRTC or hipRTC, and checks what comes of it. An image is compiled once per
 * process, and once per machine where PEAL_CACHE_DIR can be written: a file
 * there holds for one text, target, version of the compiler and of Peal; one
 * that is damaged is as good as none.
 *
 * 0, or PEAL_EPROGRAM: no text, no such target, no compiler (the text says which
 * were looked for), or it does not compile (the text has the compiler's first
 * lines). Takes seconds; others wait meanwhile. Thread-safe.
 */
int peali_rtc_compile(const struct peal_program *program, const char *target,
		      struct peali_image *out, const char *call);

#endif
