/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_METER_H
#define PEALI_METER_H

#include <peal/metrics.h>
#include "runtime/runtime.h"

/*
 * What a runtime counts of itself for peal/metrics.h: what workers do, as the
 * watchdog sees it; what kernels and links that are gone have counted; for how long
 * threads have waited. Its lock is for times, and taken behind all others.
 */

/* PEAL_ENOMEM. */
int peali_meter_open(struct peal_runtime *rt);
void peali_meter_close(struct peal_runtime *rt);

/* What the workers of a kernel do at this moment, for `ns` since the last look. */
void peali_meter_look(struct peal_kernel *kernel, uint64_t ns);
/* What lies in links, now; the caller has the runtime's lock. */
void peali_meter_look_links(struct peal_runtime *rt, uint64_t now);
/* Those of a kernel, in order. */
void peali_meter_times(struct peal_kernel *kernel, struct peali_times *out);

/* Keeps what a kernel, or a link, has counted, which is no more from now on; the
 * caller has the runtime's lock. */
void peali_meter_keep_kernel(const struct peal_kernel *kernel);
void peali_meter_keep_link(const struct peal_link *link);

/* A thread has waited since then. */
void peali_meter_waited(struct peal_runtime *rt, enum peal_wait_kind kind,
			uint64_t began_ns);

/* Fills a snapshot of a runtime in, but for memory and copies; PEAL_ENOMEM. */
int peali_meter_read(struct peal_runtime *rt, struct peal_metrics *out);

#endif
