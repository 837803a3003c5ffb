/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/limits.h"
#include "runtime/base/text.h"

static _Thread_local struct peal_error_info last_error;

const char *peali_error_label(int error, char text[PEALI_ERROR_LABEL])
{
	const char *name = peal_error_name(error);

	if (error < 0 && strcmp(name, "PEAL_E?") != 0)
		return name;
	snprintf(text, PEALI_ERROR_LABEL, "error %d", error);
	return text;
}

int peali_error_received(int code)
{
#define PEALI_ERROR_CASE(name, value, text) case value:
	switch (code) {
		PEAL_ERRORS(PEALI_ERROR_CASE)
		return code;
	default:
		return PEAL_EPROTO;
	}
#undef PEALI_ERROR_CASE
}

const char *peal_error_name(int code)
{
#define PEAL_ERROR_NAME(name, value, text)                                     \
	case value:                                                            \
		return "PEAL_" #name;
	switch (code) {
		PEAL_ERRORS(PEAL_ERROR_NAME)
	default:
		return code >= 0 ? "PEAL_OK" : "PEAL_E?";
	}
#undef PEAL_ERROR_NAME
}

const char *peal_error_text(int code)
{
#define PEAL_ERROR_TEXT(name, value, text)                                     \
	case value:                                                            \
		return text;
	switch (code) {
		PEAL_ERRORS(PEAL_ERROR_TEXT)
	default:
		return code >= 0 ? "success" : "unknown error";
	}
#undef PEAL_ERROR_TEXT
}

const struct peal_error_info *peal_last_error(void)
{
	return &last_error;
}

static int __attribute__((format(printf, 4, 0)))
record(int code, int driver_code, const char *call, const char *format,
       va_list arguments)
{
	last_error.code = code;
	last_error.driver_code = driver_code;
	snprintf(last_error.call, sizeof(last_error.call), "%s", call);
	peali_text_vformat(last_error.text, sizeof(last_error.text), format,
			   arguments);
	return code;
}

/* Appends to the recorded text. */
static void append(const char *text)
{
	size_t used = strlen(last_error.text);

	snprintf(last_error.text + used, sizeof(last_error.text) - used, "%s",
		 text);
}

/* Names the limits if the process itself has no memory. */
static void name_memory_limits(int code, const char *format)
{
	char limits[128];

	if (code != PEAL_ENOMEM ||
	    (!strstr(format, "no memory") && !strstr(format, "no host memory")))
		return;
	peali_limits_text(ENOMEM, limits, sizeof(limits));
	append(limits);
}

int peali_fail(int code, const char *call, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	record(code, 0, call, format, arguments);
	va_end(arguments);
	name_memory_limits(code, format);
	return code;
}

int peali_failed_in_system(void)
{
	return last_error.driver_code != 0;
}

int peali_fail_in(int result, const char *call)
{
	if (result < 0 && result == last_error.code && result != PEAL_EAGAIN)
		snprintf(last_error.call, sizeof(last_error.call), "%s", call);
	return result;
}

int peali_fail_driver(int code, int driver_code, const char *call,
		      const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	record(code, driver_code, call, format, arguments);
	va_end(arguments);
	return code;
}

int peali_fail_system(int error, const char *call, const char *format, ...)
{
	int code = peali_limits_exhausted(error) ? PEAL_ENOMEM : PEAL_EDRIVER;
	char limits[176];
	va_list arguments;

	va_start(arguments, format);
	record(code, error, call, format, arguments);
	va_end(arguments);
	append(": ");
	append(strerror(error));
	peali_limits_text(error, limits, sizeof(limits));
	append(limits);
	return code;
}
