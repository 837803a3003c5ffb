/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RINGKERNELS_JOBS_PROGRAM_H
#define PEAL_RINGKERNELS_JOBS_PROGRAM_H

/* Interface of `peal bench balance` and its kernel program. Device dialect. */

#include <peal/device/platform.h>

#define PEALI_CRAWL_DEVICES 3

/** Parameters of `crawl`. */
struct peali_crawl {
	/* time per element, by rank of the device */
	uint64_t element_ns[PEALI_CRAWL_DEVICES];
};

#endif
