/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_BUSY_TIMES_H
#define PEALI_BUSY_TIMES_H

#include <stdatomic.h>
#include <stdint.h>

/* Times that the watchdog sums up, one sample per look. */

/** Times of workers in ns. The lock of the counters guards them. */
struct peali_busy_times {
	uint64_t samples, worker_ns, busy_ns, blocked_ns;
};

/** Time of messages in a link, up to the end of their handlers. */
struct peali_residence {
	_Atomic uint64_t ns; /* sum over all looks: messages times ns */
	uint64_t at_ns; /* time of the last look; rt->lock guards it */
};

#endif
