/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RUNTIME_CLI_RUN_H
#define PEAL_RUNTIME_CLI_RUN_H

/*
 * `peal run`: an input, one ring kernel per stage, an output.
 *
 *	main thread		reads items and sends them	run_flow.c
 *	receiver		checks and writes them		run_flow.c
 *	monitor			signals, progress, sampling	run_monitor.c
 *
 * Everything is made by the main thread before the other two touch it
 * (run_graph.c) and reported by it when they are done (run_report.c).
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include <peal/abi/stage.h>
#include <peal/peal.h>

#include "runtime/cli/format.h"
#include "runtime/cli/histogram.h"
#include "runtime/cli/output.h"
#include "runtime/cli/pipeline.h"
#include "runtime/cli/run_verify.h"

/* Waits inside the library end so often, to look at `halt`. */
#define PEALI_RUN_WAIT_NS INT64_C(100000000)
#define PEALI_RUN_LINKS_MAX (PEALI_STAGES_MAX + 1)

struct peali_run_options {
	const char *text; /* the pipeline */
	const char *input;
	const char *output; /* NULL: count and check only */
	const char *format; /* NULL: look at the input */
	enum peal_route require; /* of links between kernels; 0: any */
	uint32_t capacity; /* of every link; 0: by the size of items */
	uint32_t line_bytes; /* 0: the format's default */
	uint32_t lanes; /* per worker; 0: what suits the device */
	int verify;
	int json;
	int progress; /* even if stderr is no terminal */
	int profile;
};

struct peali_run_node {
	char text[96]; /* peali_stage_describe */
	struct peal_kernel_info info; /* at the end */
	struct peal_pipeline_stage_info stage; /* the same */
	struct peal_stage_state state; /* at the end; crc32c only */
	int has_state;
};

struct peali_run_link {
	struct peal_link *link;
	const char *from; /* text of a stage, "input" or "output" */
	const char *to;
	struct peal_link_info info; /* at the end */
};

enum peali_run_phase {
	PEALI_RUN_OPENING, /* nothing to drain: a signal ends the process */
	PEALI_RUN_FLOWING,
	PEALI_RUN_CLOSING
};

struct peali_run {
	struct peali_run_options options;
	struct peali_pipeline pipeline;
	struct peal_runtime *runtime;
	int emulated;

	/* graph */
	struct peali_run_node nodes[PEALI_STAGES_MAX]; /* n_stages */
	struct peali_run_link links[PEALI_RUN_LINKS_MAX]; /* n_stages + 1 */
	uint32_t n_links; /* that there are so far */
	struct peal_pipeline *flow;
	struct peal_metrics before, after; /* of --profile */
	uint64_t message_bytes;
	int ended; /* every kernel has ended by itself */

	/* main thread: the sender */
	struct peali_reader reader;
	unsigned char *buffer; /* one message; NULL where none is needed */

	/* receiver */
	struct peali_writer writer;
	struct peali_verify verify;
	struct peali_histogram *latency;
	uint64_t n_wrong; /* messages that are not what they should be */
	uint64_t next_sequence;
	int finished; /* every link has told its end */

	/* shared */
	atomic_int phase;
	atomic_int halt; /* stop now; what is queued is left */
	atomic_int interrupted; /* by how many signals */
	atomic_int input_waits; /* the sender waits for input */
	atomic_ullong items_in, bytes_in, items_out, bytes_out;
	atomic_ullong bytes_read; /* of the input, with what is no body */
	int stop_fd; /* readable: end reading */
	int halt_fd; /* readable: end writing */
	uint64_t start_ns, end_ns;

	/* monitor */
	pthread_t monitor;
	int signal_fd;
	int done_fd; /* readable: end the monitor */
	pthread_mutex_t sampled; /* held while links are looked at */
	int sampling;
	uint64_t input_bytes; /* size of a regular input, else 0 */
	uint64_t queued[PEALI_RUN_LINKS_MAX]; /* as the last sample found */
	uint64_t n_samples, n_violations;
	char violation[256]; /* the first one */
	int line_open; /* the progress line stands on the terminal */

	pthread_mutex_t failing;
	char failure[PEALI_MESSAGE_BYTES + 64]; /* the first one; "" if none */
};

/** CLOCK_MONOTONIC in nanoseconds. */
uint64_t peali_run_now_ns(void);

/** Keeps the first sentence about what failed. Thread-safe. */
void peali_run_fail(struct peali_run *run, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** The same with the text of the thread's latest failed call. */
void peali_run_fail_call(struct peali_run *run, const char *doing);

/** Ends all waits of all threads; what is queued is left. Thread-safe. */
void peali_run_halt(struct peali_run *run);

/* ---- run_graph.c --------------------------------------------------------- */

/**
 * Launches the kernels, spawns their actors and connects everything.
 *
 * @return 0, or -1 with the failure kept.
 */
int peali_run_build(struct peali_run *run);

/**
 * Waits for the kernels' end, or stops them after a halt, and reads what links
 * and kernels have counted.
 */
void peali_run_collect(struct peali_run *run);

/* ---- run_flow.c ---------------------------------------------------------- */

/** Streams the input through; returns when both ends are done. */
void peali_run_flow(struct peali_run *run);

/* ---- run_monitor.c ------------------------------------------------------- */

/**
 * Takes SIGINT and SIGTERM over and starts the monitor; before any other thread
 * is made. The first signal ends reading; what is under way is drained for up
 * to 1.5 s, then halted; after 1.9 s, or by the second signal, the process
 * ends at once.
 *
 * @return 0, or -1 with the failure kept.
 */
int peali_run_monitor_start(struct peali_run *run);

/** From now on links are sampled and progress is shown. */
void peali_run_monitor_flow(struct peali_run *run);

/** From now on links are left alone. */
void peali_run_monitor_rest(struct peali_run *run);

/** Ends the monitor. */
void peali_run_monitor_stop(struct peali_run *run);

/* ---- run_report.c, run_profile.c -------------------------------------------------------- */

/** What --profile adds to the report: to its object, and as tables. */
void peali_run_profile(const struct peali_run *run, json_t *object);
void peali_run_profile_print(FILE *to, const json_t *object);

/** Where the report goes: not where the items go. */
FILE *peali_run_report_to(const struct peali_run_options *options);

/** Prints the report; the exit status. */
int peali_run_report(struct peali_run *run);

#endif
