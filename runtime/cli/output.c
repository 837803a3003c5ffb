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

#include "runtime/base/log.h"
#include "runtime/base/text.h"

json_t *peali_row_append(json_t *rows)
{
	json_t *row = json_object();

	json_array_append_new(rows, row);
	return row;
}

/*
 * Returns a text in escaped form; NULL: no memory. The caller frees it. All
 * texts of rows and paragraphs pass here.
 */
static char *escaped(const char *text)
{
	size_t n = strlen(text), size = 4 * n + 1; /* \xHH for each byte */
	char *out = malloc(size);

	if (out)
		peali_text_escape(out, size, text, n);
	return out;
}

char *peali_text_print(const char *format, va_list arguments)
{
	char *text, *out;

	if (vasprintf(&text, format, arguments) < 0)
		return NULL;
	out = escaped(text);
	free(text);
	return out;
}

static json_t *__attribute__((format(printf, 1, 0)))
formatted(const char *format, va_list arguments)
{
	char *text = peali_text_print(format, arguments);
	json_t *value = text ? json_string(text) : NULL;

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

void peali_row_policies(json_t *row, uint32_t mask)
{
	static const char *const names[] = { NULL, "sequence", "atom16",
					     "atom8" };
	char text[32] = "";
	size_t used = 0, i;

	for (i = 1; i < sizeof(names) / sizeof(names[0]); i++)
		if (mask & 1u << i)
			used += (size_t)snprintf(text + used,
						 sizeof(text) - used, "%s%s",
						 used ? " " : "", names[i]);
	if (used)
		peali_row_text(row, "policies", "%s", text);
	else
		peali_row_null(row, "policies", "none is verified");
}

#define DUMP (JSON_ENCODE_ANY | JSON_REAL_PRECISION(9))

static int is_table(const json_t *value)
{
	return json_is_array(value) && json_is_object(json_array_get(value, 0));
}

/* output of the JSON object that the command owes; NULL: none */
static FILE *_Atomic due;
static pthread_mutex_t saying = PTHREAD_MUTEX_INITIALIZER;
static char said[PEALI_LOG_BYTES]; /* last message on stderr */
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

void peali_line_print(FILE *to, const char *line, size_t n)
{
	fflush(to);
	if (fileno(to) >= 0)
		peali_line_write(fileno(to), line, n);
	else
		fwrite(line, 1, n, to);
}

void peali_say_to(FILE *to)
{
	pthread_mutex_lock(&saying);
	say_to = to;
	pthread_mutex_unlock(&saying);
}

/* Keeps a message for peali_json_settle. The caller holds `saying`. */
static void keep(const char *message, size_t n)
{
	snprintf(said, sizeof(said), "%.*s", (int)n, message);
}

void peali_say_to_json(const char *message)
{
	pthread_mutex_lock(&saying);
	keep(message, strlen(message));
	pthread_mutex_unlock(&saying);
}

void peali_say(const char *format, ...)
{
	char line[PEALI_LOG_BYTES];
	va_list arguments;
	size_t n;

	va_start(arguments, format);
	n = peali_line_format(line, format, arguments);
	va_end(arguments);
	pthread_mutex_lock(&saying);
	keep(line + strlen("peal: "), n - strlen("peal: ") - 1);
	peali_line_print(say_to ? say_to : stderr, line, n);
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
