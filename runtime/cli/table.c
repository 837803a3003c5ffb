/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables as text. A table that is wider than PEALI_LINE_MAX has more than one
 * line per row. Long text continues below itself.
 */
#include "runtime/cli/output.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/text.h"

/* Maximum length of a cell's text; longer text is cut. */
#define CELL_BYTES 512
#define COLUMNS_MAX 32
#define INDENT 4 /* of a row's second and later lines */
#define GAP 2
/* A narrower rest of a line gets no text that has to continue below. */
#define TEXT_LEAST 40

/* ---- cells --------------------------------------------------------------- */

/* Writes a number in the format of its column. */
static void number_text(double value, int format, char *text)
{
	static const struct {
		int format;
		double ns, per_s; /* of one unit of the value */
		const char *unit;
	} kinds[] = {
		{ PEALI_AS_NS, 1, 0, "" },
		{ PEALI_AS_US, 1e3, 0, "" },
		{ PEALI_AS_MS, 1e6, 0, "" },
		{ PEALI_AS_SECONDS, 1e9, 0, "" },
		{ PEALI_AS_PER_S, 0, 1, "" },
		{ PEALI_AS_MEGA_PER_S, 0, 1e6, "" },
		{ PEALI_AS_BYTES_PER_S, 0, 1, "B" },
		{ PEALI_AS_MB_PER_S, 0, 1e6, "B" },
		{ PEALI_AS_GB_PER_S, 0, 1e9, "B" },
	};
	size_t i = 0;

	while (i < sizeof(kinds) / sizeof(kinds[0]) &&
	       kinds[i].format != format)
		i++;
	if (i == sizeof(kinds) / sizeof(kinds[0]))
		snprintf(text, CELL_BYTES, "%.*f", format < 0 ? 0 : format,
			 value);
	else if (kinds[i].per_s > 0)
		peali_rate_text(value * kinds[i].per_s, kinds[i].unit, text,
				CELL_BYTES);
	else
		peali_duration_text(value * kinds[i].ns, text, CELL_BYTES);
}

static void integer_text(json_int_t value, int format, char *text)
{
	if (format == PEALI_AS_BYTES)
		peali_bytes_text((uint64_t)value, text, CELL_BYTES);
	else if (format == PEALI_AS_SIZE)
		peali_size_text((uint64_t)value, text, CELL_BYTES);
	else if (format < 0)
		number_text((double)value, format, text);
	else
		snprintf(text, CELL_BYTES, "%lld", (long long)value);
}

/* Counts characters: UTF-8 continuation bytes have no width. */
static int width_of(const char *text, size_t n)
{
	int width = 0;

	for (size_t i = 0; i < n && text[i]; i++)
		width += ((unsigned char)text[i] & 0xc0) != 0x80;
	return width;
}

/* Writes a value as text for a table. Returns its width in characters. */
static int cell_text(const json_t *value, int format, char *text)
{
	switch (value ? json_typeof(value) : JSON_NULL) {
	case JSON_STRING:
		peali_text_escape(text, CELL_BYTES, json_string_value(value),
				  json_string_length(value));
		break;
	case JSON_INTEGER:
		integer_text(json_integer_value(value), format, text);
		break;
	case JSON_REAL:
		if (format == PEALI_AS_BYTES || format == PEALI_AS_SIZE)
			integer_text((json_int_t)json_real_value(value), format,
				     text);
		else
			number_text(json_real_value(value), format, text);
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
	return width_of(text, CELL_BYTES);
}

int peali_cell_width(const json_t *value, int format)
{
	char text[CELL_BYTES];

	return cell_text(value, format, text);
}

/* ---- long text ----------------------------------------------------------- */

/*
 * Returns the bytes of a line's share of a text. The line ends at a space, or
 * inside a word that is longer than the line.
 */
static size_t line_bytes(const char *text, int width)
{
	size_t space = 0;
	size_t n = 0;

	if (width_of(text, strlen(text)) <= width)
		return strlen(text);
	for (; text[n]; n++) {
		if (((unsigned char)text[n] & 0xc0) != 0x80 && width-- == 0)
			break;
		if (text[n] == ' ')
			space = n;
	}
	if (text[n] == ' ')
		space = n;
	return space ? space : n;
}

/* Prints a text from the current column on; its later lines begin at `at`. */
static void print_text(FILE *to, const char *text, int at, int width)
{
	size_t n = line_bytes(text, width);

	for (;;) {
		fprintf(to, "%.*s", (int)n, text);
		text += n;
		text += strspn(text, " ");
		if (!*text)
			return;
		fprintf(to, "\n%*s", at, "");
		n = line_bytes(text, width);
	}
}

void peali_paragraph_print(FILE *to, int used, int indent, const char *format,
			   ...)
{
	va_list arguments;
	char *text;
	int n;

	va_start(arguments, format);
	text = peali_text_print(format, arguments);
	va_end(arguments);
	if (!text)
		return;
	/* The first line has another width than the later ones. */
	n = (int)line_bytes(text, PEALI_LINE_MAX - used);
	fprintf(to, "%.*s", n, text);
	n += (int)strspn(text + n, " ");
	if (text[n]) {
		fprintf(to, "\n%*s", indent, "");
		print_text(to, text + n, indent, PEALI_LINE_MAX - indent);
	}
	fputc('\n', to);
	free(text);
}

/* ---- layout -------------------------------------------------------------- */

/* Layout of one column, computed from all rows. */
struct layout {
	int width; /* 0: no row has the column */
	int left; /* 1: left-aligned, as the column has text */
	int line; /* of the lines of a row */
	int at; /* offset in its line */
};

/* A table with its layout. */
struct table {
	FILE *to;
	const struct peali_column *columns;
	const json_t *rows;
	size_t n; /* columns */
	int lines; /* of a row */
	int pad; /* spaces that come before the next text */
	struct layout layouts[COLUMNS_MAX];
};

static void measure(const struct peali_column *column, const json_t *rows,
		    struct layout *layout)
{
	const json_t *row;
	size_t i;

	*layout = (struct layout){ 0 };
	json_array_foreach(rows, i, row)
	{
		const json_t *value = json_object_get(row, column->key);
		int width;

		if (!value)
			continue;
		width = peali_cell_width(value, column->decimals);
		layout->width = width > layout->width ? width : layout->width;
		layout->left |= json_is_string(value);
	}
	if (layout->width && layout->width < (int)strlen(column->title))
		layout->width = (int)strlen(column->title);
}

/* Returns 1 if a column fits at an offset, perhaps as text of several lines. */
static int fits(struct layout *layout, int at)
{
	int rest = PEALI_LINE_MAX - at;

	if (layout->width <= rest)
		return 1;
	if (!layout->left || rest < TEXT_LEAST)
		return 0;
	layout->width = rest;
	return 1;
}

/* Places a column behind the one before, or on a new line. */
static void place(struct table *table, struct layout *layout,
		  struct layout *before, int wants_line)
{
	int at = before ? before->at + before->width + GAP : 0;

	if (before && (wants_line || !fits(layout, at))) {
		table->lines++;
		at = INDENT;
	}
	fits(layout, at);
	layout->at = at;
	layout->line = table->lines - 1;
}

/* Places the columns on as many lines as they need. */
static void lay_out(struct table *table)
{
	struct layout *before = NULL;
	int sum = -GAP, wants_line = 0;

	for (size_t i = 0; i < table->n; i++) {
		measure(table->columns + i, table->rows, table->layouts + i);
		if (table->layouts[i].width)
			sum += table->layouts[i].width + GAP;
	}
	table->lines = 1;
	for (size_t i = 0; i < table->n; i++) {
		wants_line |= sum > PEALI_LINE_MAX && !*table->columns[i].key;
		if (!table->layouts[i].width)
			continue;
		place(table, table->layouts + i, before, wants_line);
		wants_line = 0;
		before = table->layouts + i;
	}
}

/* ---- printing ------------------------------------------------------------ */

/* Returns the colour of a verdict; "": none. */
static const char *colour_of(const char *text)
{
	static const char *const colours[][2] = {
		{ "PASS", "\033[32m" },
		{ "WARN", "\033[33m" },
		{ "FAIL", "\033[31m" },
	};

	for (size_t i = 0; i < sizeof(colours) / sizeof(colours[0]); i++)
		if (strcmp(text, colours[i][0]) == 0)
			return colours[i][1];
	return "";
}

void peali_verdict_print(FILE *to, const char *text)
{
	const char *colour = peali_colours(to) ? colour_of(text) : "";

	fprintf(to, "%s%s%s", colour, text, *colour ? "\033[0m" : "");
}

/* Prints a cell. The space up to the next one is printed before its text. */
static void print_cell(struct table *table, size_t column, const char *text)
{
	const struct layout *layout = table->layouts + column;
	int pad = layout->width - width_of(text, strlen(text));

	pad = pad > 0 ? pad : 0;
	table->pad += layout->left ? 0 : pad;
	if (*text) {
		fprintf(table->to, "%*s", table->pad, "");
		table->pad = 0;
	}
	if (table->columns[column].decimals == PEALI_AS_VERDICT)
		peali_verdict_print(table->to, text);
	else
		print_text(table->to, text, layout->at, layout->width);
	table->pad += layout->left ? pad + GAP : GAP;
}

/* Returns 1 if a row has a value in a line. The first line always counts. */
static int has_line(const struct table *table, const json_t *row, int line)
{
	for (size_t i = 0; i < table->n; i++) {
		const json_t *value =
			json_object_get(row, table->columns[i].key);

		if (!table->layouts[i].width || table->layouts[i].line != line)
			continue;
		if (line == 0 || (value && !json_is_null(value)))
			return 1;
	}
	return 0;
}

/* Prints one line of a row; `row` NULL: of the titles. */
static void print_line(struct table *table, const json_t *row, int line)
{
	char text[CELL_BYTES];

	if (row && !has_line(table, row, line))
		return;
	table->pad = line ? INDENT : 0;
	for (size_t i = 0; i < table->n; i++) {
		const struct peali_column *column = table->columns + i;

		if (!table->layouts[i].width || table->layouts[i].line != line)
			continue;
		if (row)
			cell_text(json_object_get(row, column->key),
				  column->decimals, text);
		else
			snprintf(text, sizeof(text), "%s", column->title);
		print_cell(table, i, text);
	}
	fputc('\n', table->to);
}

void peali_table_print(FILE *to, const char *title,
		       const struct peali_column *columns, const json_t *rows)
{
	struct table table = { .to = to, .columns = columns, .rows = rows };
	const json_t *row;
	size_t i;

	while (columns[table.n].key && table.n < COLUMNS_MAX)
		table.n++;
	lay_out(&table);
	if (title)
		peali_paragraph_print(to, 0, 0, "%s", title);
	for (int line = 0; json_array_size(rows) && line < table.lines; line++)
		print_line(&table, NULL, line);
	json_array_foreach(rows, i, row)
	{
		for (int line = 0; line < table.lines; line++)
			print_line(&table, row, line);
	}
}

void peali_record_print(FILE *to, const char *title,
			const struct peali_column *columns, const json_t *row)
{
	char text[2 * CELL_BYTES];
	char key[CELL_BYTES];
	int width = 0;

	for (const struct peali_column *c = columns; c->key; c++)
		if (json_object_get(row, c->key) &&
		    (int)strlen(c->title) > width)
			width = (int)strlen(c->title);
	if (title)
		fprintf(to, "%s\n", title);
	for (const struct peali_column *c = columns; c->key; c++) {
		const json_t *value = json_object_get(row, c->key);
		size_t used;

		if (!value)
			continue;
		cell_text(value, c->decimals, text);
		used = strlen(text);
		snprintf(key, sizeof(key), "%s_why", c->key);
		value = json_object_get(row, key);
		if (value)
			peali_text_format(text + used, sizeof(text) - used,
					  " (%s)", json_string_value(value));
		fprintf(to, "%-*s  ", width, c->title);
		print_text(to, text, width + GAP, PEALI_LINE_MAX - width - GAP);
		fputc('\n', to);
	}
}
