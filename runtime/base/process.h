/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_PROCESS_H
#define PEALI_PROCESS_H

#include <stdint.h>

/* Facts about processes of this machine, as /proc reports them. */

/** A process that exists. */
struct peali_process_stat {
	char state; /* 'R', 'S', 'T': stopped, 'Z': zombie, ... */
	uint64_t start; /* clock ticks since boot */
};

/* Reads /proc/PID/stat. Returns 0, or -1 with errno. ENOENT and ESRCH: there is
 * no such process. */
int peali_process_stat(int pid, struct peali_process_stat *out);
/* Parses the text of /proc/PID/stat. Returns 0, or -1 with EPROTO. */
int peali_process_stat_parse(const char *text, struct peali_process_stat *out);

/*
 * Returns 1 if /proc shows the processes of the caller's PID namespace, else 0.
 * It does not if it is not mounted, or if an outer namespace mounted it.
 */
int peali_process_sees_proc(void);

/*
 * Returns the number of a namespace of a process. Two processes are in one
 * namespace if they have one number. `kind` is "pid", "net" or "time". pid 0:
 * the caller. Returns 0 if the number is not known. Then the kernel has no such
 * namespaces, or the process belongs to another user.
 */
uint64_t peali_process_namespace(int pid, const char *kind);

/* Returns the pid of a process in its own PID namespace. `pid` is its pid in
 * the caller's namespace. Returns `pid` if the kernel does not report it. */
int peali_process_inner_pid(int pid);
/* As peali_process_inner_pid, from the text of /proc/PID/status. Changes the
 * text. */
int peali_process_inner_pid_parse(char *text, int pid);

#endif
