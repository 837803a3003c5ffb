/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_OWN_PROCESS_H
#define PEAL_TESTS_OWN_PROCESS_H

/*
 * Cases in processes of their own. A driver reads its variables once in a
 * process.
 */

#include <sys/wait.h>
#include <unistd.h>

#include "peal_test.h"

/*
 * Runs a case in a child and reads its stderr into `text`, up to `bytes` - 1.
 * Returns the child's status, as wait(2) does.
 */
static inline int own_process(void (*run)(void), char *text, size_t bytes)
{
	size_t n = 0;
	ssize_t got;
	int ends[2], status = 0;
	pid_t pid;

	CHECK_EQ(pipe(ends), 0);
	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		run();
		exit(0);
	}
	close(ends[1]);
	while (n < bytes - 1 &&
	       (got = read(ends[0], text + n, bytes - 1 - n)) > 0)
		n += (size_t)got;
	text[n] = 0;
	close(ends[0]);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return status;
}

/* Runs a case in a child, and fails with the child. */
static inline void own_process_ok(void (*run)(void))
{
	char text[4096];
	int status = own_process(run, text, sizeof(text));

	fputs(text, stderr);
	CHECK_EQ(status, 0);
}

/* Defines a case that runs in a child. */
#define OWN_PROCESS_TEST(name)                                                 \
	static void name##_child(void);                                        \
	PEAL_TEST(name)                                                        \
	{                                                                      \
		own_process_ok(name##_child);                                  \
	}                                                                      \
	static void name##_child(void)

#endif
