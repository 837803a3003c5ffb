/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_FAILURE_LOG_H
#define PEALI_FAILURE_LOG_H

#include "runtime/runtime.h"

/*
 * Allocates the memory of the log, which the kernel frees. The watchdog
 * allocates nothing, because a launch may fork at any time. The child of a fork
 * inherits a locked allocator from AddressSanitizer. Returns 0 or PEAL_ENOMEM.
 */
int peali_failures_open(struct peal_kernel *kernel);

/*
 * Logs the reports of the workers of a kernel since the last call. These are
 * failed handlers and hooks, exhausted supervisors and lost dead letters. It
 * also logs the number of actors that handlers have made and retired.
 *
 * `last` 1: no call follows, so all counts that have grown are logged. The
 * caller holds rt->lock. Never waits.
 */
void peali_failures_log(struct peal_kernel *kernel, uint64_t now, int last);

#endif
