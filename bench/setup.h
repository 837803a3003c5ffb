/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_BENCH_SETUP_H
#define PEALI_BENCH_SETUP_H

#include "bench/report.h"

/*
 * Appends the rows of `setup` for objects of 16, 32 and 64 devices. A machine
 * of GPUs has no such rows. There is at least one round, else about one for each
 * 5 seconds. Returns 0, or -1 after a message.
 */
int peali_setup_objects(struct peali_report *report, double seconds);

#endif
