/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_COUNTERS_H
#define PEALI_COUNTERS_H

#include <peal/metrics.h>
#include "runtime/runtime.h"

/*
 * The meter: counts of a runtime for peal/metrics.h. The watchdog samples the
 * activity of workers. The meter keeps the counts of kernels and links that are
 * gone. It also adds up the time that threads have waited. The meter's lock
 * guards the times. It is the last in the lock order.
 */

/* Creates the runtime's meter. Returns 0 or PEAL_ENOMEM. */
int peali_meter_open(struct peal_runtime *rt);
void peali_meter_close(struct peal_runtime *rt);

/*
 * Samples the activity of a kernel's workers. The sample counts for `ns`, the
 * time since the last sample.
 */
void peali_meter_look(struct peal_kernel *kernel, uint64_t ns);
/*
 * Adds queued messages times elapsed ns to each link. The caller holds the
 * runtime's lock.
 */
void peali_meter_look_links(struct peal_runtime *rt, uint64_t now);
/* Copies the worker times of a kernel under the meter's lock. */
void peali_meter_times(struct peal_kernel *kernel, struct peali_times *out);

/*
 * Keeps the counts of a kernel, or of a link, that is about to be freed. The
 * caller holds the runtime's lock.
 */
void peali_meter_keep_kernel(const struct peal_kernel *kernel);
void peali_meter_keep_link(const struct peal_link *link);

/* Counts a wait of a thread from `began_ns` until now. */
void peali_meter_waited(struct peal_runtime *rt, enum peal_wait_kind kind,
			uint64_t began_ns);

/*
 * Fills in a snapshot except memory and copies. Returns 0, or PEAL_ENOMEM
 * without a text.
 */
int peali_meter_read(struct peal_runtime *rt, struct peal_metrics *out);

#endif
