/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RUNTIME_CLI_SPAWN_H
#define PEAL_RUNTIME_CLI_SPAWN_H

#include <stddef.h>

/*
 * Forwards output of the processes of `peal spawn` line by line, with the rank
 * of the process in front.
 */

/** One of the two output streams of a process. */
struct peali_labelled {
	int from; /* read end of the pipe, non-blocking; -1: closed */
	int to; /* descriptor that gets the lines */
	int rank;
	int lost; /* 1: a write to `to` has failed */
	size_t used;
	/* bytes of an incomplete line; longer lines are split */
	char line[4096];
};

/**
 * Forwards available output without waiting. At the end of the stream it
 * completes the last line by a newline and closes the pipe. It also closes the
 * pipe if `to` takes no line. The process then gets SIGPIPE, or an error.
 *
 * @return 1: it has read output. 0: no output is available.
 */
int peali_labelled_pass(struct peali_labelled *stream);

/**
 * Forwards the available output, then closes the pipe. Other processes may
 * still hold the write end.
 */
void peali_labelled_end(struct peali_labelled *stream);

#endif
