/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cli/interrupt.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/base/system_call.h"
#include "runtime/cli/output.h"

#define CHILDREN_MAX 64
/* mpirun ends its ranks within this time. */
#define TERM_TENTHS 20
#define KILL_TENTHS 10
/* The reader of a pipe may be gone or stopped: printing has a limit. */
#define PRINT_S 1

static atomic_int ending; /* the signal that ends the process */
static const char *_Atomic file;

/* ---- children ------------------------------------------------------------ */

/* Returns the parent of a process, or 0. */
static pid_t parent_of(const char *pid)
{
	char path[280], text[512] = "";
	const char *end;
	int parent = 0;
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	stat = fopen(path, "re");
	if (!stat)
		return 0;
	if (!fgets(text, sizeof(text), stat))
		text[0] = 0;
	fclose(stat);
	end = strrchr(text, ')'); /* of the name, which may have spaces */
	return end && sscanf(end, ") %*c %d", &parent) == 1 ? parent : 0;
}

/* Lists the children of this process. Returns their number. */
static int list_children(pid_t children[CHILDREN_MAX])
{
	DIR *folder = opendir("/proc");
	const struct dirent *entry;
	int n = 0;

	while (folder && n < CHILDREN_MAX) {
		entry = readdir(folder);
		if (!entry)
			break;
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    parent_of(entry->d_name) == getpid())
			children[n++] = (pid_t)atoi(entry->d_name);
	}
	if (folder)
		closedir(folder);
	return n;
}

/* Sends a signal to all children and waits for their end. Returns the rest. */
static int end_by(int number, int tenths)
{
	pid_t children[CHILDREN_MAX];
	int n = list_children(children), left;

	for (int i = 0; i < n; i++)
		kill(children[i], number);
	for (left = n; left; tenths--) {
		left = 0;
		/* Another thread may wait for the child first. */
		for (int i = 0; i < n; i++)
			left += peali_waitpid(children[i], NULL, WNOHANG) == 0;
		if (!left || tenths <= 0)
			break;
		peali_sleep_ns(100000000);
	}
	return left;
}

/* ---- files --------------------------------------------------------------- */

void peali_interrupt_file(const char *path)
{
	atomic_store(&file, path);
}

static void remove_files(void)
{
	const char *path = atomic_load(&file);
	struct stat is;

	peali_file_hold();
	if (path && lstat(path, &is) == 0 && S_ISREG(is.st_mode))
		unlink(path);
}

/* ---- the end ------------------------------------------------------------- */

static void exit_now(int number)
{
	(void)number;
	_exit(128 + atomic_load(&ending));
}

/* Ends the process after PRINT_S, even if a print waits. */
static void limit_print(void)
{
	sigset_t set;

	signal(SIGALRM, exit_now);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	alarm(PRINT_S);
}

void peali_interrupt_exit(int signal, const char *message)
{
	int none = 0;

	if (!atomic_compare_exchange_strong(&ending, &none, signal))
		for (;;)
			pause(); /* another thread ends the process */
	if (end_by(SIGTERM, TERM_TENTHS))
		end_by(SIGKILL, KILL_TENTHS);
	remove_files();
	limit_print();
	peali_say("%s", message);
	peali_json_settle(128 + signal);
	_exit(128 + signal);
}

/* ---- the thread ---------------------------------------------------------- */

static void *watch(void *argument)
{
	sigset_t *set = argument;
	int number;

	while (sigwait(set, &number))
		;
	peali_interrupt_exit(number, number == SIGINT ? "interrupted" :
							"ended by SIGTERM");
}

int peali_interrupt_start(void)
{
	static sigset_t set;
	pthread_t thread;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	/* Later threads inherit the mask, so sigwait gets the signals. */
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (pthread_create(&thread, NULL, watch, &set) == 0) {
		pthread_detach(thread);
		return 0;
	}
	peali_say("cannot start a thread for signals");
	return PEALI_EXIT_FAILED;
}
