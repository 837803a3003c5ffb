/* SPDX-License-Identifier: Apache-2.0 */
/* Prints lines of several processes, each with the rank of its process. */
#include "runtime/base/system_call.h"
#include "runtime/cli/spawn.h"

#define READS_MOST 256 /* at the end of a process */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/log.h"

/* Prints one line without newline by one write, so that lines stay whole. */
static void print(struct peali_labelled *s, const char *line, size_t n)
{
	char text[sizeof(s->line) + 32];
	size_t label = (size_t)snprintf(text, 24, "[%d] ", s->rank);

	memcpy(text + label, line, n);
	text[label + n] = '\n';
	if (peali_line_write(s->to, text, label + n + 1))
		s->lost = 1;
}

/* Prints all complete lines, and a part that fills the buffer. */
static void print_lines(struct peali_labelled *s)
{
	size_t at = 0;
	char *end;

	for (;;) {
		end = memchr(s->line + at, '\n', s->used - at);
		if (!end)
			break;
		print(s, s->line + at, (size_t)(end - s->line) - at);
		at = (size_t)(end - s->line) + 1;
	}
	if (at == 0 && s->used == sizeof(s->line)) {
		print(s, s->line, s->used);
		at = s->used;
	}
	memmove(s->line, s->line + at, s->used - at);
	s->used -= at;
}

static void finish(struct peali_labelled *s)
{
	if (s->used)
		print(s, s->line, s->used);
	s->used = 0;
	close(s->from);
	s->from = -1;
}

int peali_labelled_pass(struct peali_labelled *s)
{
	ssize_t n;

	if (s->from < 0)
		return 0;
	n = peali_read(s->from, s->line + s->used, sizeof(s->line) - s->used);
	if (n > 0) {
		s->used += (size_t)n;
		print_lines(s);
		if (s->lost)
			s->used = 0;
		else
			return 1;
	}
	if (n >= 0 || errno != EAGAIN)
		finish(s);
	return 0;
}

void peali_labelled_end(struct peali_labelled *s)
{
	int i;

	/* Reads the rest. Does not wait for other holders of the pipe. */
	for (i = 0; i < READS_MOST && peali_labelled_pass(s); i++)
		;
	if (s->from >= 0)
		finish(s);
}
