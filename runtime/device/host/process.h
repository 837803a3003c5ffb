/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_HOST_PROCESS_H
#define PEALI_HOST_PROCESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/device/host/host.h"

/*
 * The process of a launch, with PEAL_HOST_PROCESSES=on. It runs the workers of
 * the launch. If it crashes, its device is lost. The other devices continue.
 *
 * The process is a child of fork. So it has the code of the program, also of
 * files that were loaded late. It sees the memory of its device, host memory and
 * the windows of its device. The addresses are those of the parent. All other
 * memory is a copy.
 *
 * A thread of the parent forks the child and waits for its end. The system ends
 * the child with this thread (PR_SET_PDEATHSIG). A socket carries commands to the
 * child. The child ends when the other side of the socket is closed.
 */

struct peali_launch;

/* What both processes see. */
struct peali_process_page {
	atomic_uint running; /* workers that have not returned */
	atomic_int done; /* 1: all workers have returned */
	/* 1: `signal` and the words below describe the first crash */
	atomic_int crashed;
	atomic_int recorded; /* 1: a thread writes these words, or has */
	int signal; /* 0: a handler has called exit() */
	uint32_t worker;
	uint64_t address; /* of the access that failed; 0: none, or NULL */
};

struct peali_process {
	struct peali_process *next; /* in host->process */
	struct peali_launch *launch;
	struct peali_process_page *page;
	pthread_t thread; /* waits for the child */
	int has_thread;
	int fd, child_fd; /* ends of the socket; -1: closed */
	pid_t parent, pid;
	int settled; /* 1: start_error is 0 or errno. launch->lock guards both */
	int start_error;
	uint32_t n_commands;
	atomic_int lost; /* 1: the workers did not all return */
	char why[PEALI_HOST_WHY]; /* if lost */
};

/* A command to the child: a window has changed. The answer has the same number
 * in `number`, and an errno in `to`. */
struct peali_process_command {
	uint32_t number;
	int32_t to; /* the window shows the memory of this device */
	int32_t enabled;
};

/* Returns 0, or PEAL_EDRIVER if the device is lost. */
int peali_process_check(struct peali_host *host, int device);
/* Starts the process of a launch, and waits until its workers run. */
int peali_process_start(struct peali_launch *launch);
/* Waits for the end of a process that has no running workers, and frees it.
 * NULL does nothing. */
void peali_process_close(struct peali_process *process);
/* Returns 0, or PEAL_EDRIVER with a text if the process has crashed. NULL: 0. */
int peali_process_result(const struct peali_process *process);
/* Makes the processes of device `from` change their window into `to`. The caller
 * holds host->lock. */
int peali_process_tell_window(struct peali_host *host, int from, int to,
			      int enabled);
/* Returns the worker that has crashed, or -1. */
int peali_host_launch_culprit(struct peali_launch *launch);

/* ---- process_child.c: in the child --------------------------------------- */

/* Runs the workers, and commands of the parent. Never returns. */
_Noreturn void peali_process_child(struct peali_process *process);
/* The begin and the end of a worker's thread. */
void peali_process_worker_begin(struct peali_process *process, uint32_t index);
void peali_process_worker_end(struct peali_process *process);

#endif
