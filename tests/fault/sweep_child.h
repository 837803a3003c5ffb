/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_SWEEP_CHILD_H
#define PEAL_TESTS_SWEEP_CHILD_H

/* The children of a sweep. Each runs a scenario with one fault. */

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "fault/sweep_step.h"

#define SWEEP_ALARM_S 60 /* a longer run counts as a hang */
#define SWEEP_CHILDREN 8 /* at a time: they wait more than they compute */

/* Returns zeroed memory that children share with their parent. */
static inline void *sweep_share(size_t bytes)
{
	void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(shared != MAP_FAILED);
	return shared;
}

/* Makes the results of so many children. */
static inline void sweep_prepare(int slots)
{
	sweep_results = sweep_share((size_t)slots * sizeof(*sweep));
	sweep = sweep_results;
	harness_make_cache();
}

/* Starts a scenario in a child. `fault` names the fault in messages. */
static inline void sweep_fork(int slot, const char *fault,
			      void (*scenario)(void))
{
	pid_t child;

	sweep = &sweep_results[slot];
	memset(sweep, 0, sizeof(*sweep));
	snprintf(sweep->fault, sizeof(sweep->fault), "%s", fault);
	fflush(stdout);
	child = fork();
	CHECK(child >= 0);
	if (child) {
		sweep->child = child;
		return;
	}
	alarm(SWEEP_ALARM_S);
	scenario();
	harness_cache[0] = 0; /* the parent removes it */
	/* no leak check: it would report the resources that are left */
	if (sweep->left)
		_exit(0);
	exit(0);
}

/* Waits for the child. Returns 0 and prints why if it crashed, hung or
 * leaked. */
static inline int sweep_survived(int slot)
{
	int status = 0;

	sweep = &sweep_results[slot];
	CHECK_EQ(waitpid(sweep->child, &status, 0), sweep->child);
	if (WIFEXITED(status) && !WEXITSTATUS(status) && sweep->done)
		return 1;
	if (WIFSIGNALED(status))
		fprintf(stderr, "%s: %s (signal %d)\n", sweep->fault,
			WTERMSIG(status) == SIGALRM ? "it hangs" : "it crashed",
			WTERMSIG(status));
	else
		fprintf(stderr, "%s: exit status %d\n", sweep->fault,
			WEXITSTATUS(status));
	if (sweep->failed)
		fprintf(stderr, "    after %s: %s\n", sweep->step, sweep->text);
	return 0;
}

#endif
