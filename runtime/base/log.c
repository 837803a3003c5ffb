/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "runtime/base/env.h"

int peali_log_wanted(int level)
{
	uint64_t wanted = 0;

	return !peali_env_number(PEALI_ENV_LOG, &wanted) &&
	       level <= (int)wanted;
}

void peali_log(int level, const char *format, ...)
{
	va_list arguments;

	if (!peali_log_wanted(level))
		return;
	va_start(arguments, format);
	fputs("peal: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
}
