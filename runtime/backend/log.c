/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/backend/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "runtime/backend/settings.h"

void peali_log(int level, const char *format, ...)
{
	uint64_t wanted = 0;
	va_list arguments;

	if (peali_setting_number(PEALI_SETTING_LOG, &wanted) ||
	    level > (int)wanted)
		return;
	va_start(arguments, format);
	fputs("peal: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
}
