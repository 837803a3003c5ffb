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
 * The main thread builds everything before the receiver and the monitor use it
 * (run_graph.c). It prints the report after they have finished (run_report.c).
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include <peal/abi/stage.h>
#include <peal/metrics.h>
#include <peal/peal.h>
#include <peal/pipeline.h>

#include "runtime/cli/format.h"
#include "runtime/cli/histogram.h"
#include "runtime/cli/output.h"
#include "runtime/cli/pipeline.h"
#include "runtime/cli/run_verify.h"

/* Timeout of waits inside the library, after which `halt` is checked. */
#define PEALI_RUN_WAIT_NS INT64_C(100000000)
#define PEALI_RUN_LINKS_MAX (PEALI_STAGES_MAX + 1)

struct peali_run_options {
	const char *text; /* the pipeline */
	const char *input;
	const char *output; /* NULL: no output, only counts and checks */
	const char *format; /* NULL: detect from the input */
	enum peal_route require; /* of links between kernels; 0: any */
	uint32_t capacity; /* slots of every link; 0: chosen by item size */
	uint32_t line_bytes; /* 0: the format's default */
	uint32_t lanes; /* per worker; 0: default of the device */
	int verify;
	int json;
	int progress; /* also if stderr is no terminal */
	int profile;
};

struct peali_run_node {
	char text[96]; /* from peali_stage_describe */
	struct peal_kernel_info info; /* at the end */
	struct peal_pipeline_stage_info stage; /* at the end */
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
	PEALI_RUN_OPENING, /* nothing to drain yet: a signal ends the process */
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
	uint32_t n_links; /* links that exist so far */
	struct peal_pipeline *flow;
	struct peal_metrics before, after; /* for --profile */
	uint64_t message_bytes;
	int ended; /* 1: every kernel has ended by itself */

	/* main thread: the sender */
	struct peali_reader reader;
	unsigned char *buffer; /* one message; NULL if not needed */

	/* receiver */
	struct peali_writer writer;
	struct peali_verify verify;
	struct peali_histogram *latency;
	uint64_t n_wrong; /* messages that differ from the expected item */
	uint64_t next_sequence;
	int finished; /* 1: every link has delivered its end */

	/* shared */
	atomic_int phase;
	atomic_int halt; /* 1: stop now; queued messages are abandoned */
	atomic_int interrupted; /* number of signals received */
	atomic_int signal; /* the first of them */
	atomic_int input_waits; /* 1: the sender waits for input */
	atomic_ullong items_in, bytes_in, items_out, bytes_out;
	atomic_ullong bytes_read; /* of the input, including headers */
	int stop_fd; /* readable: stop reading */
	int halt_fd; /* readable: stop writing */
	uint64_t start_ns, end_ns;

	/* monitor */
	pthread_t monitor;
	int signal_fd;
	int done_fd; /* readable: end the monitor */
	pthread_mutex_t sampled; /* held while links are sampled */
	int sampling;
	uint64_t input_bytes; /* size of a regular input file; else 0 */
	uint64_t queued[PEALI_RUN_LINKS_MAX]; /* from the last sample */
	uint64_t n_samples, n_violations;
	char violation[256]; /* the first one */
	int line_open; /* 1: the terminal's line shows progress */

	pthread_mutex_t failing;
	char failure[PEALI_MESSAGE_BYTES + 64]; /* first failure; "": none */
};

/** Returns CLOCK_MONOTONIC in ns. */
uint64_t peali_run_now_ns(void);

/** Records a failure. Only the first one is kept. Thread-safe. */
void peali_run_fail(struct peali_run *run, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** Records the text of the thread's latest failed call by peali_run_fail. */
void peali_run_fail_call(struct peali_run *run, const char *doing);

/**
 * Ends all waits of all threads. Queued messages are abandoned. Thread-safe.
 */
void peali_run_halt(struct peali_run *run);

/* ---- run_graph.c --------------------------------------------------------- */

/**
 * Launches the kernels, spawns their actors and connects them.
 *
 * @return 0, or -1 with a recorded failure.
 */
int peali_run_build(struct peali_run *run);

/**
 * Waits for the kernels' end, or stops them after a halt. Then reads the
 * counters of links and kernels.
 */
void peali_run_collect(struct peali_run *run);

/* ---- run_flow.c ---------------------------------------------------------- */

/**
 * Streams the input through. Returns when sender and receiver have finished.
 */
void peali_run_flow(struct peali_run *run);

/* ---- run_monitor.c ------------------------------------------------------- */

/**
 * Takes over SIGINT and SIGTERM and starts the monitor. Call it before any
 * other thread is created.
 *
 * 1. The first signal ends reading. Messages in flight are drained.
 * 2. 1.5 s later the run is halted.
 * 3. 1.9 s after the first signal, or at the second signal, the process ends by
 *    peali_interrupt_exit.
 *
 * @return 0, or -1 with a recorded failure.
 */
int peali_run_monitor_start(struct peali_run *run);

/** Starts sampling of links and progress output. */
void peali_run_monitor_flow(struct peali_run *run);

/** Ends sampling of links. */
void peali_run_monitor_rest(struct peali_run *run);

/** Stops the monitor. */
void peali_run_monitor_stop(struct peali_run *run);

/* ---- run_report.c, run_profile.c ----------------------------------------- */

/** Adds the output of --profile to the report: its object and its tables. */
void peali_run_profile(const struct peali_run *run, json_t *object);
void peali_run_profile_print(FILE *to, const json_t *object);

/** Returns the report's output: stderr if items go to stdout, else stdout. */
FILE *peali_run_report_to(const struct peali_run_options *options);

/** Prints the report. Returns the exit status. */
int peali_run_report(struct peali_run *run);

#endif
