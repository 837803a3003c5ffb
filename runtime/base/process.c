/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc. See process.h. */
#include "runtime/base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/system_call.h"

/* Reads a file of a process in /proc as text. pid 0: the caller. Returns 0, or
 * -1 with errno. */
static int read_text(int pid, const char *file, char *text, size_t bytes)
{
	char path[64] = "/proc/self/";
	int fd, error;
	ssize_t n;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/", pid);
	strcat(path, file);
	fd = peali_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	n = peali_read(fd, text, bytes - 1);
	error = n < 0 ? errno : ESRCH;
	close(fd);
	text[n > 0 ? n : 0] = 0;
	errno = error;
	return n > 0 ? 0 : -1;
}

int peali_process_stat_parse(const char *text, struct peali_process_stat *out)
{
	const char *after = strrchr(text, ')'); /* the name may contain any */
	unsigned long long start = 0;

	if (!after ||
	    sscanf(after + 1,
		   " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d "
		   "%*d %*d %*d %*d %*d %llu",
		   &out->state, &start) != 2) {
		errno = EPROTO;
		return -1;
	}
	out->start = start;
	return 0;
}

int peali_process_stat(int pid, struct peali_process_stat *out)
{
	char text[1024];

	if (read_text(pid, "stat", text, sizeof(text)))
		return -1;
	return peali_process_stat_parse(text, out);
}

int peali_process_sees_proc(void)
{
	char text[64];

	return !read_text(0, "stat", text, sizeof(text)) &&
	       atoi(text) == (int)getpid();
}

uint64_t peali_process_namespace(int pid, const char *kind)
{
	char path[64], text[64] = "";
	unsigned long long number = 0;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, kind);
	else
		snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	if (readlink(path, text, sizeof(text) - 1) <= 0 ||
	    sscanf(text, "%*[a-z]:[%llu]", &number) != 1)
		return 0;
	return number;
}

int peali_process_inner_pid_parse(char *text, int pid)
{
	char *line, *last;

	line = strstr(text, "\nNSpid:");
	if (!line)
		return pid;
	line[1 + strcspn(line + 1, "\n")] = 0;
	last = strrchr(line, '\t');
	return last && atoi(last) > 0 ? atoi(last) : pid;
}

int peali_process_inner_pid(int pid)
{
	char text[4096];

	if (read_text(pid, "status", text, sizeof(text)))
		return pid;
	return peali_process_inner_pid_parse(text, pid);
}
