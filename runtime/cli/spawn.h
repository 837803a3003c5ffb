/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RUNTIME_CLI_SPAWN_H
#define PEAL_RUNTIME_CLI_SPAWN_H

#include <stddef.h>

/*
 * What the processes of `peal spawn` print, a line at a time, with the rank of
 * who printed it in front.
 */

/** One of a process's two streams. */
struct peali_labelled {
	int from; /* the reading end of its pipe, not blocking; -1: closed */
	int to; /* the descriptor that lines go to */
	int rank;
	size_t used;
	char line[4096]; /* what of a line has come; a longer one is cut */
};

/**
 * Passes on some of what has come, without waiting. At the end of the stream the
 * rest of a line gets a newline, and the pipe is closed.
 *
 * @return 1 it has read something; 0 nothing more has come
 */
int peali_labelled_pass(struct peali_labelled *stream);

/** The same, then closes the pipe, whoever may still hold its other end. */
void peali_labelled_end(struct peali_labelled *stream);

#endif
