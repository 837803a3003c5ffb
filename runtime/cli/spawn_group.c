/* SPDX-License-Identifier: Apache-2.0 */
/* The process groups of `peal spawn`: their guard, survivors and input. */
#include "runtime/cli/spawn_group.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/system_call.h"

#define GROUPS_MOST 64
#define LOOK_MS 20 /* between two looks at groups that have to end */

int peali_group_alive(pid_t group)
{
	return !kill(-group, 0) || errno != ESRCH;
}

/* ---- the guard's own process --------------------------------------------- */

struct groups {
	pid_t group[GROUPS_MOST];
	int n;
};

static void change(struct groups *g, pid_t word)
{
	int i;

	if (word > 0 && g->n < GROUPS_MOST)
		g->group[g->n++] = word;
	for (i = 0; i < g->n; i++)
		if (g->group[i] == -word)
			g->group[i--] = g->group[--g->n];
}

static void signal_groups(const struct groups *g, int number)
{
	int i;

	for (i = 0; i < g->n; i++)
		kill(-g->group[i], number);
}

static int any_alive(const struct groups *g)
{
	int i;

	for (i = 0; i < g->n; i++)
		if (peali_group_alive(g->group[i]))
			return 1;
	return 0;
}

static void end_groups(const struct groups *g, uint64_t grace_ms)
{
	uint64_t ms;

	signal_groups(g, SIGTERM);
	signal_groups(g, SIGCONT); /* a stopped process ends, too */
	for (ms = 0; ms < grace_ms && any_alive(g); ms += LOOK_MS)
		poll(NULL, 0, LOOK_MS);
	signal_groups(g, SIGKILL);
}

/* Reads changes until 0, or until `peal spawn` has ended without it. */
static void guard(int from, uint64_t grace_ms)
{
	struct groups g = { .n = 0 };
	pid_t word;
	ssize_t n;

	for (;;) {
		n = peali_read(from, &word, sizeof(word));
		if (n != (ssize_t)sizeof(word))
			break;
		if (!word)
			_exit(0);
		change(&g, word);
	}
	end_groups(&g, grace_ms);
	_exit(0);
}

/* Makes the guard independent of the terminal and of the caller's streams. */
static void detach(void)
{
	int null = peali_open("/dev/null", O_RDWR, 0), fd;
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	prctl(PR_SET_NAME, "peal-guard");
	for (fd = 0; fd <= 2; fd++)
		dup2(null, fd);
}

void peali_guard_start(struct peali_guard *g, uint64_t grace_ms)
{
	int ends[2];

	g->pid = 0;
	g->to = -1;
	if (pipe2(ends, O_CLOEXEC))
		return;
	g->pid = fork();
	if (!g->pid) {
		close(ends[1]);
		detach();
		guard(ends[0], grace_ms);
	}
	close(ends[0]);
	if (g->pid < 0) {
		g->pid = 0;
		close(ends[1]);
	} else {
		g->to = ends[1];
	}
}

static void tell(struct peali_guard *g, pid_t word)
{
	if (g->pid && peali_write_all(g->to, &word, sizeof(word)))
		g->pid = 0; /* it was killed */
}

void peali_guard_add(struct peali_guard *g, pid_t group)
{
	tell(g, group);
}

void peali_guard_remove(struct peali_guard *g, pid_t group)
{
	tell(g, -group);
}

void peali_guard_stop(struct peali_guard *g)
{
	pid_t pid = g->pid;

	tell(g, 0);
	if (g->to >= 0)
		close(g->to);
	if (pid)
		peali_waitpid(pid, NULL, 0);
	g->pid = 0;
	g->to = -1;
}

/* ---- survivors ----------------------------------------------------------- */

/* Reads one process. Returns 1 if it is no zombie. */
static int look(const char *pid, struct peali_survivor *out, pid_t *parent_out)
{
	char path[300], text[512], *open_at, *close_at, state;
	int fd, parent, group;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	fd = peali_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	n = peali_read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	open_at = strchr(text, '(');
	close_at = strrchr(text, ')');
	if (!open_at || !close_at ||
	    sscanf(close_at + 1, " %c %d %d", &state, &parent, &group) != 3)
		return 0;
	*close_at = '\0';
	out->pid = atoi(pid);
	out->group = group;
	*parent_out = parent;
	snprintf(out->name, sizeof(out->name), "%.31s", open_at + 1);
	return state != 'Z' && state != 'X';
}

static int is_one_of(pid_t group, const pid_t *groups, int n)
{
	while (n--)
		if (groups[n] == group)
			return 1;
	return 0;
}

int peali_survivors(const pid_t *groups, int n_groups, pid_t except,
		    struct peali_survivor *out, int most)
{
	DIR *all = opendir("/proc");
	struct peali_survivor one;
	const struct dirent *entry;
	pid_t parent;
	int n = 0;

	while (all && n < most && (entry = readdir(all))) {
		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    !look(entry->d_name, &one, &parent) || one.pid == except)
			continue;
		if (is_one_of(one.group, groups, n_groups) ||
		    parent == getpid())
			out[n++] = one;
	}
	if (all)
		closedir(all);
	return n;
}

/* ---- a terminal's input -------------------------------------------------- */

short peali_input_wants(const struct peali_input *in, int *fd_out)
{
	*fd_out = in->to;
	if (in->to < 0)
		return 0;
	if (in->used)
		return POLLOUT;
	/* a background process that reads the terminal is stopped */
	if (tcgetpgrp(STDIN_FILENO) != getpgrp())
		return 0;
	*fd_out = STDIN_FILENO;
	return POLLIN;
}

static void end_input(struct peali_input *in)
{
	close(in->to);
	in->to = -1;
}

void peali_input_pass(struct peali_input *in)
{
	ssize_t n;

	if (in->to < 0)
		return;
	if (!in->used) {
		n = read(STDIN_FILENO, in->text, sizeof(in->text));
		if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
			end_input(in);
		in->at = 0;
		in->used = n > 0 ? (size_t)n : 0;
	}
	if (in->to < 0 || !in->used)
		return;
	n = write(in->to, in->text + in->at, in->used);
	if (n < 0 && errno != EINTR && errno != EAGAIN)
		end_input(in); /* rank 0 reads no more */
	if (n > 0) {
		in->at += (size_t)n;
		in->used -= (size_t)n;
	}
}
