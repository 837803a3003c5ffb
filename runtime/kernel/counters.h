/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_COUNTERS_H
#define PEALI_COUNTERS_H

#include <peal/metrics.h>
#include "runtime/base/wait.h"
#include "runtime/kernel/busy_times.h"
#include "runtime/runtime.h"

/*
 * Counters of a runtime, for peal/metrics.h. The watchdog samples the
 * activity of workers. The counters include kernels and links that are
 * gone, and the time that threads have waited. The lock of the counters
 * guards the times. It is the last in the lock order.
 */

/**
 * Counts of one device or of the host. The counts are those of kernels and
 * links that are gone. The times also include live kernels. The counters' lock
 * guards the times, the runtime's lock guards the counts.
 */
struct peali_kept {
	struct peali_busy_times times;
	uint64_t handled, failed, emitted, told;
	struct peal_traffic sent, received;
};

struct peali_counters {
	pthread_mutex_t lock;
	uint64_t runtime; /* number of the runtime in the process, from 1 */
	uint64_t opened_ns;
	_Atomic uint64_t waits[PEAL_WAIT_KINDS], wait_ns[PEAL_WAIT_KINDS];
	struct peali_kept *kept; /* [n_devices + 1]: devices, then the host */
	int n_devices;
};

/* Creates the runtime's counters. Returns 0 or PEAL_ENOMEM. */
int peali_counters_open(struct peal_runtime *rt);
void peali_counters_close(struct peal_runtime *rt);

/*
 * Samples the activity of a kernel's workers. The sample counts for `ns`, the
 * time since the last sample.
 */
void peali_counters_sample(struct peal_kernel *kernel, uint64_t ns);
/* Copies the worker times of a kernel under the lock of the counters. */
void peali_counters_times(struct peal_kernel *kernel,
			  struct peali_busy_times *out);

/*
 * Keeps the counts of a kernel that is about to be freed. The caller holds the
 * runtime's lock.
 */
void peali_counters_keep_kernel(const struct peal_kernel *kernel);
/* Adds the counts of a kernel's workers. */
void peali_kept_add_kernel(struct peali_kept *to,
			   const struct peal_kernel *kernel);
void peali_times_add(struct peali_busy_times *to,
		     const struct peali_busy_times *more);

/* Counts a wait of a thread from `began_ns` until now. */
void peali_counters_waited(struct peal_runtime *rt, enum peal_wait_kind kind,
			   uint64_t began_ns);
/* Ends a wait at a bell. Counts it if the thread has stopped to spin. The kind
 * PEAL_WAIT_KINDS counts nothing. */
void peali_counters_wait_end(struct peal_runtime *rt, uint32_t kind,
			     struct peali_bell_wait *wait);

#endif
