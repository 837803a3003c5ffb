/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RUNTIME_CLI_SPAWN_GROUP_H
#define PEAL_RUNTIME_CLI_SPAWN_GROUP_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Each rank of `peal spawn` leads a process group of its own. So a signal
 * reaches the programs that a wrapper script has started. The guard is a
 * process that ends these groups if `peal spawn` itself is killed.
 */

struct peali_guard {
	pid_t pid; /* 0: there is none */
	int to; /* pipe to the guard */
};

/* Starts the guard. Without a process for it, only the leaders of the groups
 * end with `peal spawn` (PR_SET_PDEATHSIG). */
void peali_guard_start(struct peali_guard *guard, uint64_t grace_ms);
/* Adds a group, or removes a group with no process left. */
void peali_guard_add(struct peali_guard *guard, pid_t group);
void peali_guard_remove(struct peali_guard *guard, pid_t group);
/* Ends the guard, but no group. */
void peali_guard_stop(struct peali_guard *guard);

/* Returns 1 if a process of the group is left. */
int peali_group_alive(pid_t group);

/** A process that a rank has left behind. */
struct peali_survivor {
	pid_t pid, group;
	char name[32];
};

/*
 * Finds processes of the groups, and processes that are now children of the
 * caller. Leaves out zombies and the process `except`. Returns their number,
 * at most `most`.
 */
int peali_survivors(const pid_t *groups, int n_groups, pid_t except,
		    struct peali_survivor *out, int most);

/** Copies a terminal's input to rank 0, which is no foreground process. */
struct peali_input {
	int to; /* pipe to rank 0, non-blocking; -1: none */
	size_t at, used; /* bytes of `text` that wait for the pipe */
	char text[4096];
};

/* Sets the descriptor to poll for input, or for space in the pipe; -1: none.
 * Returns the events. */
short peali_input_wants(const struct peali_input *input, int *fd_out);
/* Copies available input without waiting. */
void peali_input_pass(struct peali_input *input);

#endif
