/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/env.h"
#include "runtime/base/limits.h"
#include "runtime/base/system_call.h"
#include "runtime/base/text.h"

#define HEAD "peal: "

int peali_log_wanted(int level)
{
	int choice = PEALI_LOG_CHOICE_NOTHING;

	return !peali_env_choice(PEALI_ENV_LOG, &choice) &&
	       choice - PEALI_LOG_CHOICE_LEVEL_1 >= level - 1;
}

int peali_warnings_wanted(void)
{
	int choice = PEALI_LOG_CHOICE_NOTHING;

	return !peali_env_choice(PEALI_ENV_LOG, &choice) &&
	       choice >= PEALI_LOG_CHOICE_WARNINGS;
}

int peali_line_write(int fd, const char *line, size_t bytes)
{
	struct pollfd ready = { .fd = fd, .events = POLLOUT };
	int error = errno;
	ssize_t n;

	for (; bytes; line += n, bytes -= (size_t)n) {
		n = write(fd, line, bytes);
		if (n < 0 && errno == EAGAIN)
			peali_poll(&ready, 1, UINT64_MAX);
		else if (n < 0 && errno != EINTR)
			break;
		if (n < 0)
			n = 0;
	}
	errno = error;
	return bytes ? -1 : 0;
}

size_t peali_line_format(char line[PEALI_LOG_BYTES], const char *format,
			 va_list arguments)
{
	size_t head = sizeof(HEAD) - 1, n;

	_Static_assert(PEALI_LOG_BYTES <= PIPE_BUF,
		       "a pipe takes a line as a unit");
	memcpy(line, HEAD, head);
	n = head + peali_text_vformat(line + head, PEALI_LOG_BYTES - head - 1,
				      format, arguments);
	line[n] = '\n';
	line[n + 1] = 0;
	return n + 1;
}

static void write_line(const char *format, va_list arguments)
{
	struct peali_write_guard guard;
	char line[PEALI_LOG_BYTES];
	size_t n;

	/* standard error may be a file of limited size, or have no reader */
	peali_write_guard_begin(&guard);
	n = peali_line_format(line, format, arguments);
	peali_line_write(STDERR_FILENO, line, n);
	peali_write_guard_end(&guard);
}

void peali_log(int level, const char *format, ...)
{
	va_list arguments;

	if (!peali_log_wanted(level))
		return;
	va_start(arguments, format);
	write_line(format, arguments);
	va_end(arguments);
}

void peali_warn(const char *format, ...)
{
	va_list arguments;

	if (!peali_warnings_wanted())
		return;
	va_start(arguments, format);
	write_line(format, arguments);
	va_end(arguments);
}
