/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cli/output.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <peal/errors.h>

json_t *peali_row_append(json_t *rows)
{
	json_t *row = json_object();

	json_array_append_new(rows, row);
	return row;
}

/*
 * Returns a JSON string. jansson rejects text that is not UTF-8, such as some
 * file names. Such text gets '?' for each byte above 0x7f.
 */
static json_t *text_value(char *text)
{
	json_t *value = json_string(text);

	if (value)
		return value;
	for (char *p = text; *p; p++)
		if ((unsigned char)*p >= 0x80)
			*p = '?';
	return json_string(text);
}

static json_t *__attribute__((format(printf, 1, 0)))
formatted(const char *format, va_list arguments)
{
	char *text;
	json_t *value;

	if (vasprintf(&text, format, arguments) < 0)
		return NULL;
	value = text_value(text);
	free(text);
	return value;
}

void peali_row_text(json_t *row, const char *key, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	json_object_set_new(row, key, formatted(format, arguments));
	va_end(arguments);
}

void peali_row_uint(json_t *row, const char *key, uint64_t value)
{
	json_int_t most = INT64_MAX;

	json_object_set_new(row, key,
			    json_integer(value > (uint64_t)most ?
						 most :
						 (json_int_t)value));
}

void peali_row_real(json_t *row, const char *key, double value)
{
	json_t *number = json_real(value);

	if (number)
		json_object_set_new(row, key, number);
	else
		peali_row_null(row, key, "not measured");
}

void peali_row_flag(json_t *row, const char *key, int value)
{
	json_object_set_new(row, key, json_boolean(value));
}

void peali_row_null(json_t *row, const char *key, const char *format, ...)
{
	char why[96];
	va_list arguments;

	snprintf(why, sizeof(why), "%s_why", key);
	json_object_set_new(row, key, json_null());
	va_start(arguments, format);
	json_object_set_new(row, why, formatted(format, arguments));
	va_end(arguments);
}

#define DUMP (JSON_ENCODE_ANY | JSON_REAL_PRECISION(9))

static int is_table(const json_t *value)
{
	return json_is_array(value) && json_is_object(json_array_get(value, 0));
}

/* output of the JSON object that the command owes; NULL: none */
static FILE *_Atomic due;
static pthread_mutex_t saying = PTHREAD_MUTEX_INITIALIZER;
static char said[1024]; /* last message on stderr */
static FILE *say_to; /* NULL: stderr; `saying` guards it */

void peali_json_due(FILE *to)
{
	atomic_store(&due, to);
}

int peali_json_is_due(void)
{
	return atomic_load(&due) != NULL;
}

void peali_row_error(json_t *object, int status)
{
	pthread_mutex_lock(&saying);
	if (said[0])
		peali_row_text(object, "error", "%s", said);
	else
		peali_row_null(object, "error", "no message was printed");
	pthread_mutex_unlock(&saying);
	peali_row_uint(object, "exit_status", (uint64_t)status);
}

void peali_json_settle(int status)
{
	FILE *to = atomic_exchange(&due, NULL);
	json_t *object;

	if (!to)
		return;
	object = json_object();
	peali_row_error(object, status);
	peali_json_print(to, object);
	json_decref(object);
}

int peali_json_print(FILE *to, const json_t *object)
{
	const char *separator = "\n";
	const char *key;
	json_t *value;
	json_t *row;
	size_t i;
	FILE *owed = to;

	atomic_compare_exchange_strong(&due, &owed, NULL);
	fputs("{", to);
	/* jansson's macro needs a pointer to a mutable object. */
	json_object_foreach((json_t *)(uintptr_t)object, key, value)
	{
		json_t *name = json_string(key);

		fputs(separator, to);
		separator = ",\n";
		fputs("  ", to);
		json_dumpf(name, to, DUMP);
		json_decref(name);
		fputs(": ", to);
		if (!is_table(value)) {
			json_dumpf(value, to, DUMP);
			continue;
		}
		json_array_foreach(value, i, row)
		{
			fputs(i ? ",\n    " : "[\n    ", to);
			json_dumpf(row, to, DUMP);
		}
		fputs("\n  ]", to);
	}
	fputs("\n}\n", to);
	return fflush(to) || ferror(to) ? -1 : 0;
}

int peali_is_terminal(FILE *to)
{
	const char *kind = getenv("TERM");

	return kind && *kind && strcmp(kind, "dumb") != 0 && isatty(fileno(to));
}

int peali_colours(FILE *to)
{
	const char *unwanted = getenv("NO_COLOR");

	return !(unwanted && *unwanted) && peali_is_terminal(to);
}

void peali_say_to(FILE *to)
{
	pthread_mutex_lock(&saying);
	say_to = to;
	pthread_mutex_unlock(&saying);
}

void peali_say(const char *format, ...)
{
	va_list arguments;
	FILE *to;

	/* Print each message as a unit, even with two threads. */
	pthread_mutex_lock(&saying);
	to = say_to ? say_to : stderr;
	va_start(arguments, format);
	vsnprintf(said, sizeof(said), format, arguments);
	va_end(arguments);
	fputs("peal: ", to);
	va_start(arguments, format);
	vfprintf(to, format, arguments);
	va_end(arguments);
	fputc('\n', to);
	pthread_mutex_unlock(&saying);
}

int peali_say_error(const char *doing)
{
	const struct peal_error_info *error = peal_last_error();
	const char *text = error->text[0] ? error->text :
					    peal_error_text(error->code);

	if (doing)
		peali_say("cannot %s: %s (%s)", doing, text,
			  peal_error_name(error->code));
	else
		peali_say("%s (%s)", text, peal_error_name(error->code));
	return PEALI_EXIT_FAILED;
}

int peali_finish(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	peali_say("cannot write the standard output: %s", strerror(errno));
	return PEALI_EXIT_FAILED;
}
