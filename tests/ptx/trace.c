/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Traces: one line for each instruction that a chosen lane has executed. */

#define DEFAULT_LINES 100000
#define LINE_BYTES 400

/* A line that grows. Text that does not fit is cut. */
struct line {
	char text[LINE_BYTES];
	size_t n;
};

__attribute__((format(printf, 2, 3))) static void
append(struct line *line, const char *format, ...)
{
	size_t left = sizeof(line->text) - line->n;
	va_list values;
	int n;

	va_start(values, format);
	n = vsnprintf(line->text + line->n, left, format, values);
	va_end(values);
	if (n > 0)
		line->n += (size_t)n < left ? (size_t)n : left - 1;
}

static int is_chosen(const struct ptx_lane *lane)
{
	const struct ptx_options *options = &lane->block->grid->launch.options;
	uint32_t to = options->trace_to;

	return lane->number >= options->trace_from &&
	       (!to || lane->number <= to);
}

/* Appends an instruction as the PTX text has it, up to its semicolon. */
static void append_text(struct line *line, const struct ptx_function *f,
			const struct ptx_place *place)
{
	const struct ptx_module *m = f->module;
	const char *at = m->text + place->opcode_at;
	size_t left = m->text_bytes - place->opcode_at;
	const char *end = memchr(at, ';', left < 160 ? left : 160);
	size_t n = end ? (size_t)(end - at) : place->opcode_bytes, i;

	for (i = 0; i < n; i++)
		append(line, "%c", at[i] < ' ' ? ' ' : at[i]);
}

/* Appends the values of the registers that an instruction writes, or the value
 * that it stores. */
static void append_values(struct line *line, const struct ptx_traced *traced)
{
	const struct ptx_instruction *in = traced->in;
	uint32_t slots[PTX_MAX_VECTOR], n, i;
	uint64_t address = traced->address + (uint64_t)in->offset;

	if (ptx_is_store(in)) {
		n = ptx_stored(in, slots);
		append(line, " -> [%#llx]", (unsigned long long)address);
	} else {
		n = ptx_written(in, slots);
		append(line, "%s", n ? " ->" : "");
	}
	for (i = 0; i < n; i++)
		append(line, " %#llx",
		       (unsigned long long)traced->registers[slots[i]]);
}

static void print(struct ptx_lane *lane)
{
	const struct ptx_traced *traced = &lane->traced;
	const struct ptx_function *f = traced->function;
	const struct ptx_place *place = ptx_place_of(f, traced->in);
	const struct ptx_grid *grid = lane->block->grid;
	FILE *file = grid->launch.options.trace_file;
	const char *source = place->file < f->module->n_files ?
				     f->module->files[place->file] :
				     NULL;
	struct line line = { .n = 0 };

	append(&line, "PTX trace: %s, block %u, lane %u, %s, %s:%u: ",
	       grid->function->text_name, lane->block->number, lane->number,
	       f->text_name, source ? source : "line of PTX",
	       source ? place->line : place->ptx_line);
	append_text(&line, f, place);
	append_values(&line, traced);
	fprintf(file ? file : stderr, "%s\n", line.text);
}

/* Counts a line. Returns 0 if the grid has printed its last one. */
static int take_line(struct ptx_grid *grid)
{
	uint64_t most = grid->launch.options.trace_lines;
	FILE *file = grid->launch.options.trace_file;
	uint64_t n = atomic_fetch_add(&grid->trace_lines, 1);

	most = most ? most : DEFAULT_LINES;
	if (n == most)
		fprintf(file ? file : stderr,
			"PTX trace: %s has printed %llu lines, its limit\n",
			grid->function->text_name, (unsigned long long)most);
	return n < most;
}

void ptx_trace_begin(struct ptx_lane *lane, const struct ptx_instruction *in)
{
	if (!is_chosen(lane))
		return;
	lane->traced.function = lane->function;
	lane->traced.in = in;
	lane->traced.registers = lane->registers;
	lane->traced.address = lane->registers[in->a];
}

void ptx_trace_end(struct ptx_lane *lane)
{
	if (!lane->traced.in)
		return;
	if (take_line(lane->block->grid))
		print(lane);
	lane->traced.in = NULL;
}
