/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RINGKERNELS_JOBS_PROGRAM_H
#define PEAL_RINGKERNELS_JOBS_PROGRAM_H

/* What `peal bench balance` and its kernel program agree on. Device dialect. */

#include <peal/device/platform.h>

#define PEALI_CRAWL_DEVICES 3

/** Parameters of `crawl`. */
struct peali_crawl {
	uint64_t element_ns[PEALI_CRAWL_DEVICES]; /* by rank */
};

#endif
