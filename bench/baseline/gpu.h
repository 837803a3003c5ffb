/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_GPU_H
#define PEAL_BENCH_GPU_H

/*
 * Baselines on GPUs: plain kernels of ringkernels/programs/baseline.c. The host
 * launches them for one round, and they end by themselves. Calls that fail
 * print the reason to stderr.
 */

#include <peal/peal.h>

#include "bench/crowd.h"
#include "bench/fixture.h"
#include "ringkernels/baseline_program.h"

/** A worker of the baseline kernels (a side), and its memory. */
struct peali_baseline_worker {
	int device;
	uint32_t worker; /* index in the launch of its device */
	uint64_t work;
	uint64_t in; /* area that other sides write, as this side sees it */
	uint64_t out; /* area that this side writes, as this side sees it */
	uint64_t mapped; /* `out` if it is a mapping, else 0 */
};

/** The sides of a baseline and the memory between them. All zero: closed. */
struct peali_baseline {
	struct peal_runtime *runtime;
	struct peali_baseline_worker worker[PEALI_BASELINE_SIDES];
	/* for the first side of each device */
	uint64_t params[PEALI_BASELINE_SIDES];
	uint64_t bells; /* in host memory */
	uint32_t n_sides;
	uint32_t crowd; /* workers of side 0 as a crowd; 0: no crowd */
	uint64_t area_bytes, work_bytes; /* of each side */
	uint32_t lanes;
	int memory; /* PEAL_HOST_MEMORY if the areas lie there, else 0 */
	int across;
	/* for a launch per message: sum of the payloads since the last check */
	uint64_t expected;
	struct peali_launch *recorded; /* recorded launch; NULL: none */
	uint32_t chain; /* tasks of the recorded launch */
};

/** The work of one round. */
struct peali_baseline_order {
	enum peali_baseline_job job;
	uint32_t bytes, batch, warm, samples, slots;
	uint32_t lanes; /* 0: as many as our workers have */
	uint64_t messages;
	uint64_t budget_ns;
};

/** The reports of all sides of a round. */
struct peali_baseline_reports {
	struct peali_baseline_report side[PEALI_BASELINE_SIDES];
};

/**
 * Loads the program, before the first launch on any device. Returns 0 or -1.
 */
int peali_baseline_load(struct peal_runtime *runtime);

/**
 * Allocates the memory, and maps it if the sides are on different devices. Call
 * it before the row's own kernels are launched.
 *
 * @param baseline all zero.
 * @param sides device and worker of each side. Workers of a device count from
 *     0.
 * @param n_sides 1 .. PEALI_BASELINE_SIDES.
 * @param in_host 1: the areas lie in host memory.
 * @param shared 1: all sides write to side 0, as in a barrier. 0: sides 0 and 1
 *     write to each other.
 * @return 0 or -1. The caller closes the sides in both cases.
 */
int peali_baseline_open(struct peali_baseline *baseline,
			const struct peali_fixture *fixture,
			const struct peali_fixture_worker *sides,
			uint32_t n_sides, int in_host, int shared);

/**
 * Allocates the memory of a crowd on device 0. Its workers share one area. Call it
 * before the row's own kernels are launched.
 *
 * @param baseline all zero.
 * @param workers 1 .. PEALI_CROWD_MOST.
 * @param slots of its queue; 0: no queue.
 * @return 0 or -1. The caller closes the crowd in both cases.
 */
int peali_baseline_open_crowd(struct peali_baseline *baseline,
			      const struct peali_fixture *fixture,
			      uint32_t workers, uint32_t slots);

/**
 * Runs one round of a crowd.
 *
 * @param lines_out receives the line of each worker.
 * @return 0 or -1.
 */
int peali_baseline_run_crowd(struct peali_baseline *baseline,
			     const struct peali_baseline_order *order,
			     struct peali_crowd_line *lines_out);

/** Frees all memory. Does nothing if closed. */
void peali_baseline_close(struct peali_baseline *baseline);

/**
 * Runs one round on all sides and checks that no message was wrong.
 *
 * @return 0 or -1.
 */
int peali_baseline_run(struct peali_baseline *baseline,
		       const struct peali_baseline_order *order,
		       struct peali_baseline_reports *reports_out);

/**
 * Sends one message by a launch. The host writes the payload into host memory.
 * A kernel of one worker adds it up. The host polls for the end of the kernel.
 * Needs one side and in_host.
 *
 * @return ns by the host's clock, or a negative number with a message.
 */
double peali_baseline_launch(struct peali_baseline *baseline, uint32_t bytes);

/**
 * Records the launch of peali_baseline_launch, for replays as a graph. Call it
 * before a kernel is resident on the device. Without graphs in the driver it
 * does nothing. Returns 0 or -1.
 */
int peali_baseline_record(struct peali_baseline *baseline);

/** Sends one message as peali_baseline_launch, by a replay. */
double peali_baseline_replay(struct peali_baseline *baseline, uint32_t bytes);

/**
 * Prepares tasks of so many ns, for one launch each. Records a chain of n
 * launches, too, as peali_baseline_record. Needs one side. Returns 0 or -1.
 */
int peali_baseline_open_tasks(struct peali_baseline *baseline, uint64_t task_ns,
			      uint32_t n);

/**
 * Runs tasks, one after another, and checks their number: n tasks with a launch
 * each, or the recorded chain.
 *
 * @return ns of a task by the host's clock, or a negative number with a message.
 */
double peali_baseline_launch_tasks(struct peali_baseline *baseline, uint32_t n);
double peali_baseline_replay_tasks(struct peali_baseline *baseline);

/** Checks the sum of all messages since the last check. Returns 0 or -1. */
int peali_baseline_check(struct peali_baseline *baseline);

#endif
