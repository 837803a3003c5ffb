/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_HOST_LAUNCH_H
#define PEALI_HOST_LAUNCH_H

#include <pthread.h>
#include <stdint.h>

#include <peal/program.h>
#include "runtime/device/host/host.h"

/* A launch of the host backend, for workers.c and process.c. */

struct peali_process;

enum peali_gate { PEALI_GATE_SHUT, PEALI_GATE_OPEN, PEALI_GATE_CANCELLED };

struct peali_host_worker {
	struct peali_launch *launch;
	struct peali_fibers *fibers; /* NULL: one lane, no fiber */
	pthread_t thread;
	uint32_t index;
	int core; /* core that the worker is bound to; -1: none */
};

struct peali_launch {
	struct peali_host *host;
	struct peali_launch_desc desc;
	peal_host_entry_fn entry;
	pthread_mutex_t lock;
	/* signals a new gate state or the return of a worker */
	pthread_cond_t changed;
	enum peali_gate gate;
	uint32_t running; /* workers that have not returned */
	uint32_t started; /* threads of this process to join */
	struct peali_clock_skew clock; /* the device's */
	struct peali_host_worker *worker;
	struct peali_process *process; /* NULL: threads of this process */
};

/* Starts the threads of all workers, which wait at the gate. Returns 0 or
 * errno. launch->started then counts the threads. */
int peali_host_start_workers(struct peali_launch *launch);
/* Records that a worker's thread could not start. Returns the error code. */
int peali_host_no_worker(const struct peali_launch *launch, int error,
			 uint32_t index);
/* Opens or cancels the gate. PEALI_GATE_OPEN: all workers run from now on. */
void peali_host_set_gate(struct peali_launch *launch, enum peali_gate gate);

#endif
