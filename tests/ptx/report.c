/* SPDX-License-Identifier: Apache-2.0 */
#include "state.h"

#include <stdarg.h>
#include <stdio.h>

const char *ptx_fault_name(enum ptx_fault fault)
{
	static const char *const names[] = {
		"none", "bounds",  "alignment", "undefined", "jump", "stack",
		"mask", "barrier", "deadlock",	"steps",     "trap", "race"
	};

	return (size_t)fault < sizeof(names) / sizeof(*names) ? names[fault] :
								"unknown";
}

static void fill(struct ptx_report *report, const struct ptx_lane *lane,
		 const struct ptx_instruction *in, char *opcode, size_t n)
{
	const struct ptx_function *f = lane->function;
	const struct ptx_module *m = f->module;
	const struct ptx_place *place = ptx_place_of(f, in);
	const char *file = place->file < m->n_files ? m->files[place->file] :
						      NULL;

	report->module = m->name;
	report->entry = lane->block->grid->function->text_name;
	report->function = f->text_name;
	report->file = file ? file : "";
	report->line = place->line;
	report->ptx_line = place->ptx_line;
	report->block = lane->block->number;
	report->lane = lane->number;
	/* The text of a function need not end with its last `ret`. */
	if (place->opcode_bytes)
		snprintf(opcode, n, "%.*s", (int)place->opcode_bytes,
			 m->text + place->opcode_at);
	else
		snprintf(opcode, n, "ret");
	report->opcode = opcode;
}

void ptx_fault(struct ptx_lane *lane, const struct ptx_instruction *in,
	       enum ptx_fault fault, uint64_t address, const char *format, ...)
{
	struct ptx_grid *grid = lane->block->grid;
	const struct ptx_host *host = &grid->launch.host;
	struct ptx_report report = { .fault = fault, .address = address };
	char opcode[80], text[240];
	va_list values;

	lane->in = in;
	if (atomic_exchange(&grid->faulted, 1) || !host->fault)
		return;
	fill(&report, lane, in, opcode, sizeof(opcode));
	va_start(values, format);
	vsnprintf(text, sizeof(text), format, values);
	va_end(values);
	report.text = text;
	host->fault(host->context, &report);
}

static const char *doing(enum ptx_lane_state state)
{
	switch (state) {
	case PTX_SLEEPS:
		return "sleeps";
	case PTX_AT_BARRIER:
		return "waits at a barrier";
	case PTX_AT_WARP:
		return "waits for the lanes of its mask";
	case PTX_AT_CLUSTER:
		return "waits at the barrier of the cluster";
	default:
		return "runs";
	}
}

void ptx_describe(struct ptx_lane *lane)
{
	const struct ptx_host *host = &lane->block->grid->launch.host;
	struct ptx_report report = { .fault = PTX_FAULT_NONE };
	char opcode[80];

	if (!host->lane)
		return;
	fill(&report, lane, lane->in - (lane->state == PTX_AT_BARRIER), opcode,
	     sizeof(opcode));
	report.text = doing(lane->state);
	host->lane(host->context, &report);
}
