/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_RUNTIME_CLI_SPAWN_STATE_H
#define PEAL_RUNTIME_CLI_SPAWN_STATE_H

#include <signal.h>

#include "runtime/cli/spawn.h"
#include "runtime/cli/spawn_device.h"
#include "runtime/cli/spawn_group.h"

/* The state of `peal spawn`, for spawn.c and spawn_report.c. */

#define PROCESS_GROUP_MAX 64 /* of a set, see peal/process_group.h */
#define SURVIVORS_MOST 32 /* that are named */

struct process {
	pid_t pid; /* 0: not started */
	int gone; /* 1: its process group has no process */
	int ended; /* 1: it was waited for, and `status` is valid */
	int status;
	int told; /* 1: it was told to end because another process failed */
	int error; /* errno if it could not be started; else 0 */
	uint64_t end_ns;
	struct peali_core_set cores; /* it is bound to; n is 0: not bound */
	struct peali_labelled output[2]; /* stdout, stderr */
};

struct spawn {
	/* arguments */
	int n;
	int label, keep, json;
	uint64_t grace_ms;
	const char *given; /* --rendezvous */
	enum peali_bind bind;
	char **program;
	/* state */
	char rendezvous[4096];
	char folder[4096]; /* temporary folder of this run; "": none */
	int signals; /* the signalfd */
	sigset_t before; /* signal mask of the processes */
	int assigns; /* 1: process i sees only device[i] */
	struct peali_spawn_device device[PROCESS_GROUP_MAX];
	uint64_t start_ns, kill_ns; /* kill_ns: time of SIGKILL; 0: not set */
	uint64_t give_up_ns; /* SIGKILL was sent: the end of all waits */
	struct peali_guard guard;
	struct peali_input input; /* of rank 0, from a terminal */
	int n_survivors;
	struct peali_survivor survivor[SURVIVORS_MOST];
	int first_failed; /* rank of the first failed process; -1: none */
	int interrupted; /* 1: SIGINT has come */
	char failure[256]; /* the first one; "": none */
	struct process process[PROCESS_GROUP_MAX];
};

/*
 * Finds the number of processes, their devices and their cores. Returns 0, or
 * an exit status with a message.
 */
int peali_spawn_plan(struct spawn *s);
/* Gives the calling process the device and the cores of a rank. Returns 0, or
 * an errno. */
int peali_spawn_place(const struct spawn *s, int rank);
/* Returns the exit status of a program that cannot be started, as in shells. */
int peali_spawn_not_started(int error);
/* Returns the command's exit status, from the first failed process. */
int peali_spawn_status(const struct spawn *s);
/* Finds and names processes that the ranks have left behind. */
void peali_spawn_survivors(struct spawn *s);
/* Prints the result of each process as JSON. */
void peali_spawn_report(const struct spawn *s);

#endif
