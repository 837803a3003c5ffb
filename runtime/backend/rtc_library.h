/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_RTC_LIBRARY_H
#define PEALI_RTC_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

/*
 * The compilers that a machine may have at run time: NVRTC and hipRTC, loaded
 * when the first source needs one, and kept. Building needs neither. Not
 * thread-safe.
 */

/** A text and the headers that it may include, by their names. */
struct peali_rtc_source {
	const char *name, *text;
	int n_headers;
	const char *const *header_names;
	const char *const *header_texts;
};

/** What a compiler made of it. */
struct peali_rtc_output {
	uint32_t kind; /* enum peal_image_kind */
	char target[20];
	unsigned char *bytes; /* the caller's to free */
	size_t n;
};

struct peali_rtc_library;

/*
 * The compiler for a target, "sm_90", "compute_75" or "gfx90a". PEAL_EPROGRAM
 * with `what` and the libraries that were looked for, or what one of them lacks;
 * the next call looks again.
 */
int peali_rtc_library_open(const char *target,
			   const struct peali_rtc_library **out,
			   const char *what, const char *call);

/** "NVRTC 13.0": one text for each version. */
const char *peali_rtc_library_name(const struct peali_rtc_library *library);

/*
 * Compiles, with the options that the build uses. For sm_NN that is a cubin, or
 * PTX for compute_NN if the compiler makes no cubins. PEAL_EPROGRAM with `what`
 * and the first lines that the compiler says; all of them go to the log.
 */
int peali_rtc_library_compile(const struct peali_rtc_library *library,
			      const char *target,
			      const struct peali_rtc_source *source,
			      struct peali_rtc_output *out, const char *what,
			      const char *call);

#endif
