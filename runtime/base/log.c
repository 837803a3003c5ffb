/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "runtime/base/env.h"
#include "runtime/base/limits.h"

int peali_log_wanted(int level)
{
	uint64_t wanted = 0;

	return !peali_env_number(PEALI_ENV_LOG, &wanted) &&
	       level <= (int)wanted;
}

void peali_log(int level, const char *format, ...)
{
	struct peali_size_guard guard;
	va_list arguments;

	if (!peali_log_wanted(level))
		return;
	/* standard error may be a file of limited size */
	peali_size_guard_begin(&guard);
	va_start(arguments, format);
	fputs("peal: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	peali_size_guard_end(&guard);
}
