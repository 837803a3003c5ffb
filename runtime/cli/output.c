/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cli/output.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <peal/errors.h>

/* Maximum length of a cell's text; longer text is cut. */
#define CELL_BYTES 512
#define COLUMNS_MAX 32

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

/* Writes a value as text for a table. Returns its width in characters. */
static int cell_text(const json_t *value, int decimals, char *text)
{
	int width = 0;

	switch (value ? json_typeof(value) : JSON_NULL) {
	case JSON_STRING:
		snprintf(text, CELL_BYTES, "%s", json_string_value(value));
		break;
	case JSON_INTEGER:
		if (decimals == PEALI_AS_BYTES)
			peali_bytes_text((uint64_t)json_integer_value(value),
					 text, CELL_BYTES);
		else
			snprintf(text, CELL_BYTES, "%lld",
				 (long long)json_integer_value(value));
		break;
	case JSON_REAL:
		snprintf(text, CELL_BYTES, "%.*f", decimals < 0 ? 0 : decimals,
			 json_real_value(value));
		break;
	case JSON_TRUE:
		strcpy(text, "yes");
		break;
	case JSON_FALSE:
		strcpy(text, "no");
		break;
	default:
		strcpy(text, "-");
		break;
	}
	/* UTF-8 continuation bytes have no width. */
	for (char *p = text; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
		width += ((unsigned char)*p & 0xc0) != 0x80;
	}
	return width;
}

/* Layout of one column, computed from all rows. */
struct layout {
	int width; /* 0: no row has the column */
	int left; /* 1: left-aligned, as the column has text */
};

static void lay_out(const struct peali_column *column, const json_t *rows,
		    struct layout *layout)
{
	char text[CELL_BYTES];
	const json_t *row;
	size_t i;

	layout->width = 0;
	layout->left = 0;
	json_array_foreach(rows, i, row)
	{
		const json_t *value = json_object_get(row, column->key);
		int width;

		if (!value)
			continue;
		width = cell_text(value, column->decimals, text);
		layout->width = width > layout->width ? width : layout->width;
		layout->left |= json_is_string(value);
	}
	if (layout->width && layout->width < (int)strlen(column->title))
		layout->width = (int)strlen(column->title);
}

/*
 * Prints a cell. `gap` is 0 for the first cell; the last cell has no padding.
 */
static void print_cell(FILE *to, const char *text, int width,
		       const struct layout *layout, int gap, int last)
{
	int pad = layout->width - width;

	fprintf(to, "%*s", gap, "");
	if (!layout->left)
		fprintf(to, "%*s", pad, "");
	fputs(text, to);
	if (layout->left && !last)
		fprintf(to, "%*s", pad, "");
}

void peali_table_print(FILE *to, const char *title,
		       const struct peali_column *columns, const json_t *rows)
{
	struct layout layouts[COLUMNS_MAX];
	char text[CELL_BYTES];
	const json_t *row;
	size_t n = 0;
	size_t last = 0;
	size_t i;
	int gap = 0;

	for (; columns[n].key && n < COLUMNS_MAX; n++) {
		lay_out(columns + n, rows, layouts + n);
		if (layouts[n].width)
			last = n;
	}
	if (title)
		fprintf(to, "%s\n", title);
	for (size_t c = 0; c < n; c++) {
		if (!layouts[c].width)
			continue;
		print_cell(to, columns[c].title, (int)strlen(columns[c].title),
			   layouts + c, gap, c == last);
		gap = 2;
	}
	fprintf(to, "%s", gap ? "\n" : "");
	json_array_foreach(rows, i, row)
	{
		gap = 0;
		for (size_t c = 0; c < n; c++) {
			int width;

			if (!layouts[c].width)
				continue;
			width = cell_text(json_object_get(row, columns[c].key),
					  columns[c].decimals, text);
			print_cell(to, text, width, layouts + c, gap,
				   c == last);
			gap = 2;
		}
		fputc('\n', to);
	}
}

void peali_record_print(FILE *to, const char *title,
			const struct peali_column *columns, const json_t *row)
{
	char text[CELL_BYTES];
	int width = 0;

	for (const struct peali_column *c = columns; c->key; c++)
		if (json_object_get(row, c->key) &&
		    (int)strlen(c->title) > width)
			width = (int)strlen(c->title);
	if (title)
		fprintf(to, "%s\n", title);
	for (const struct peali_column *c = columns; c->key; c++) {
		const json_t *value = json_object_get(row, c->key);

		if (!value)
			continue;
		cell_text(value, c->decimals, text);
		fprintf(to, "%-*s  %s", width, c->title, text);
		snprintf(text, sizeof(text), "%s_why", c->key);
		value = json_object_get(row, text);
		if (value)
			fprintf(to, " (%s)", json_string_value(value));
		fputc('\n', to);
	}
}

#define DUMP (JSON_ENCODE_ANY | JSON_REAL_PRECISION(9))

static int is_table(const json_t *value)
{
	return json_is_array(value) && json_is_object(json_array_get(value, 0));
}

/* output of the JSON object that the command owes; NULL: none */
static FILE *due;
static pthread_mutex_t saying = PTHREAD_MUTEX_INITIALIZER;
static char said[1024]; /* last message on stderr */

void peali_json_due(FILE *to)
{
	due = to;
}

void peali_json_settle(int status)
{
	FILE *to = due;
	json_t *object;

	if (!to)
		return;
	object = json_object();
	if (said[0])
		peali_row_text(object, "error", "%s", said);
	else
		peali_row_null(object, "error", "nothing was said");
	peali_row_uint(object, "exit_status", (uint64_t)status);
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

	if (to == due)
		due = NULL;
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

const char *peali_bytes_text(uint64_t bytes, char *text, size_t size)
{
	static const char *const units[] = { "B",   "KiB", "MiB", "GiB",
					     "TiB", "PiB", "EiB" };
	double value = (double)bytes;
	int unit = 0;

	for (; value >= 1024; unit++)
		value /= 1024;
	snprintf(text, size, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return text;
}

void peali_say(const char *format, ...)
{
	va_list arguments;

	/* Print each message as a unit, even with two threads. */
	pthread_mutex_lock(&saying);
	va_start(arguments, format);
	vsnprintf(said, sizeof(said), format, arguments);
	va_end(arguments);
	fputs("peal: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
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
