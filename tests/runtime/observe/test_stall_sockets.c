/* SPDX-License-Identifier: Apache-2.0 */
/* labels: fast */
/*
 * Shows that peal_stall_report_pid finds the process that it is asked for. In
 * one case other processes take the names of its sockets. In another case a
 * process in another PID namespace has an equal pid. The last case closes a
 * runtime that is about to answer.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <peal/process_group.h>
#include <peal/stall.h>

#include "runtime/base/process.h"
#include "runtime/base/socket.h"
#include "runtime/harness.h"

/* What the processes tell each other, in shared memory. */
struct board {
	_Atomic int ready, done;
	_Atomic int refused; /* 1: the system lets no process mount /proc */
	_Atomic int inner_pid;
};

static struct board *board;

static void make_board(void)
{
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(board != MAP_FAILED);
}

static void end_child(pid_t child)
{
	int status = 0;

	atomic_store(&board->done, 1);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	munmap(board, sizeof(*board));
}

/* Opens the names that a process of this pid could have. */
static void take_names(int pid)
{
	struct sockaddr_un at;
	socklen_t bytes;
	int i, fd;

	for (i = 0; i < 4; i++) {
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		CHECK(fd >= 0);
		bytes = peali_socket_name(
			&at, "peal-stall-%d-%llu-%d", pid,
			(unsigned long long)peali_process_namespace(0, "pid"),
			i);
		CHECK(!bind(fd, (struct sockaddr *)&at, bytes));
		CHECK(!listen(fd, 4));
	}
}

PEAL_TEST(sockets_that_other_processes_opened_are_not_asked)
{
	struct peal_runtime *rt;
	pid_t child, parent = getpid();

	make_board();
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		take_names((int)parent);
		atomic_store(&board->ready, 1);
		EVENTUALLY(atomic_load(&board->done));
		_exit(0);
	}
	EVENTUALLY(atomic_load(&board->ready));
	CHECK_FAILS(peal_stall_report_pid((int)parent, 0, NULL, 0), PEAL_ENOENT,
		    "can be queried; it has none");
	rt = harness_open(1, "");
	CHECK_EQ(peal_stall_report_pid((int)parent, 0, NULL, 0), 0);
	CHECK_OK(peal_runtime_close(rt));
	end_child(child);
}

/* Forks into a new PID namespace. Returns -1 if the system refuses it. */
static pid_t fork_into_namespace(void)
{
	return (pid_t)syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNS | SIGCHLD,
			      NULL, NULL, NULL, NULL);
}

/* Joins a group of two as rank 1. Returns the result. */
static int join(struct peal_runtime *rt, const char *path)
{
	struct peal_process_group_options o = { .size = sizeof(o),
						.rank = 1,
						.ranks = 2,
						.rendezvous = path,
						.timeout_ns = SECOND / 10 };
	struct peal_process_group *set = NULL;

	return peal_process_group_join(rt, &o, &set);
}

/* Runs in the new namespace, first without a /proc of this namespace. */
static void live_in_namespace(void)
{
	struct peal_runtime *rt = harness_open(1, "");

	CHECK_FAILS(join(rt, "/nowhere/meet"), PEAL_EDRIVER,
		    "mount /proc in this PID namespace");
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("proc", "/proc", "proc", 0, NULL)) {
		atomic_store(&board->refused, 1);
		atomic_store(&board->ready, 1);
		return;
	}
	CHECK(join(rt, "/nowhere/meet") == PEAL_ETIMEDOUT);
	CHECK_OK(peal_runtime_close(rt));
	rt = harness_open(1, "");
	atomic_store(&board->inner_pid, (int)getpid());
	CHECK_EQ(peal_stall_report_pid((int)getpid(), 0, NULL, 0), 0);
	atomic_store(&board->ready, 1);
	EVENTUALLY(atomic_load(&board->done));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(process_in_another_pid_namespace_is_found_by_its_outer_pid)
{
	pid_t child;

	make_board();
	child = fork_into_namespace();
	if (child < 0)
		test_leave_out("this user cannot make a PID namespace");
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		live_in_namespace();
		_exit(0);
	}
	EVENTUALLY(atomic_load(&board->ready));
	if (atomic_load(&board->refused)) {
		end_child(child);
		test_leave_out("the system lets no process mount /proc");
	}
	CHECK_EQ(atomic_load(&board->inner_pid), 1);
	CHECK_EQ(peal_stall_report_pid((int)child, 0, NULL, 0), 0);
	/* pid 1 here is another process, with the pid of the child's name */
	CHECK_EQ(peal_stall_report_pid(1, 0, NULL, 0), PEAL_ENOENT);
	end_child(child);
}

#define LONG_WATCH (10 * SECOND)

static void *ask_for_long(void *result_out)
{
	*(int *)result_out =
		peal_stall_report_pid((int)getpid(), LONG_WATCH, NULL, 0);
	return NULL;
}

/* The answer would take LONG_WATCH. The runtime closes before. */
PEAL_TEST(close_ends_an_answer_in_progress)
{
	struct peal_runtime *rt = harness_open(1, "");
	pthread_t thread;
	int result = 1;

	CHECK(!pthread_create(&thread, NULL, ask_for_long, &result));
	usleep(200000); /* without it, the close may precede the question */
	CHECK_OK(peal_runtime_close(rt));
	CHECK(!pthread_join(thread, NULL));
	CHECK(result == PEAL_ESTOPPED || result == PEAL_ENOENT);
}

PEAL_TEST_MAIN(RUN(sockets_that_other_processes_opened_are_not_asked);
	       RUN(process_in_another_pid_namespace_is_found_by_its_outer_pid);
	       RUN(close_ends_an_answer_in_progress);)
