/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_LIBC_SHIM_H
#define PEAL_TESTS_LIBC_SHIM_H

#include <stddef.h>
#include <stdint.h>

/*
 * A shim between the library and libc. The linker's option --wrap directs calls
 * of the program and of libpeal.a to the shim. Calls inside libc and inside a
 * sanitizer do not reach it.
 *
 * A path is a call of libc with the functions that have led to it. A point is
 * the nth call on a path. The shim counts the calls on each path, and makes the
 * call of one point fail. It also counts the objects that each path has made and
 * that are not freed.
 */

#define LIBC_DEPTH 7 /* functions of a path */
#define LIBC_PATHS 2048

struct libc_path {
	uint64_t id; /* equal in all children of a process */
	int call; /* row of LIBC_CALLS */
	int count; /* calls on the path */
	int live; /* objects that are not freed */
	char thread[16]; /* name of the first caller */
	void *functions[LIBC_DEPTH]; /* return addresses, innermost first */
};

/* The records of a run, in memory that its process provides. */
struct libc_run {
	uint64_t fault_id; /* path of the fault; 0: no call fails */
	int fault_nth; /* from 1 on */
	int fault_reached; /* 1: the call has failed */
	int n_paths, n_lost; /* paths that are recorded, and that do not fit */
	struct libc_path paths[LIBC_PATHS];
};

/* Begins to record and to fail calls of all threads; NULL: ends it. The paths of
 * the calling thread begin with its caller, which calls from `root`. */
void libc_shim_use(struct libc_run *run, const void *root);

/* Returns the name of a call, and the error that it gets. */
const char *libc_call_name(int call);
int libc_call_error(int call);

/* Returns the path with this id, or NULL. */
const struct libc_path *libc_path_find(const struct libc_run *run, uint64_t id);

#endif
