/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_RTC_LIBRARY_H
#define PEALI_RTC_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

/*
 * The compilers of the machine at run time: NVRTC and hipRTC. Each one is
 * loaded on the first use and stays loaded. The build needs neither. Not
 * thread-safe.
 */

/** A source text and the headers that it may include, by name. */
struct peali_rtc_source {
	const char *name, *text;
	int n_headers;
	const char *const *header_names;
	const char *const *header_texts;
};

/** The output of a compiler. */
struct peali_rtc_output {
	uint32_t kind; /* enum peal_image_kind */
	char target[20];
	unsigned char *bytes; /* the caller frees them */
	size_t n;
};

struct peali_rtc_library;

/*
 * Finds and loads the compiler for a target such as "sm_90", "compute_75" or
 * "gfx90a". Returns 0, or PEAL_EPROGRAM. The error text begins with `what`. It
 * lists the libraries that were tried, or names a missing function. The next
 * call tries again.
 */
int peali_rtc_library_open(const char *target,
			   const struct peali_rtc_library **out,
			   const char *what, const char *call);

/**
 * Returns name and version, as in "NVRTC 13.0". Each version has its own name.
 */
const char *peali_rtc_library_name(const struct peali_rtc_library *library);

/*
 * Compiles with the options that the build uses. sm_NN gives a cubin, or PTX
 * for compute_NN if the compiler makes no cubins. Returns 0, or PEAL_EPROGRAM.
 * The error text begins with `what` and has the compiler's first error lines.
 * The complete output goes to the log.
 */
int peali_rtc_library_compile(const struct peali_rtc_library *library,
			      const char *target,
			      const struct peali_rtc_source *source,
			      struct peali_rtc_output *out, const char *what,
			      const char *call);

#endif
