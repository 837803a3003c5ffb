/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_LAUNCH_WATCHDOG_H
#define PEALI_LAUNCH_WATCHDOG_H

#include "runtime/runtime.h"

/* The watchdog. */

int peali_watchdog_start(struct peal_runtime *rt);
void peali_watchdog_stop(struct peal_runtime *rt);
int peali_watchdog_watch(struct peal_kernel *kernel);
void peali_watchdog_forget(struct peal_kernel *kernel);

#endif
