/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_TIMES_H
#define PEALI_TIMES_H

#include <stdatomic.h>
#include <stdint.h>

/* Times that the watchdog adds up by its looks, as parts of what they are of. */

/** Of workers; the meter's lock. */
struct peali_times {
	uint64_t samples, worker_ns, busy_ns, blocked_ns;
};

/** Of messages in a link, or in their handler. */
struct peali_stay {
	_Atomic uint64_t ns; /* messages times ns */
	uint64_t at_ns; /* when that was added up last; the runtime's lock */
};

#endif
