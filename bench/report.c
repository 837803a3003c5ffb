/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a benchmark: see bench/report.h. */
#include "bench/report.h"

#include <string.h>

#include <peal/runtime.h>
#include "runtime/base/core_set.h"
#include "runtime/base/text.h"

int peali_report_cores(void)
{
	return peali_usable_cores();
}

/* Copies the name of the CPU to text, from /proc/cpuinfo. Returns text. */
static const char *cpu_model(char *text, size_t size)
{
	FILE *file = fopen("/proc/cpuinfo", "r");
	char line[256];

	snprintf(text, size, "unknown");
	while (file && fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':');

		if (!colon || strncmp(line, "model name", 10))
			continue;
		line[strcspn(line, "\n")] = 0;
		snprintf(text, size, "%s", colon + 2);
		break;
	}
	if (file)
		fclose(file);
	return text;
}

void peali_report_init(struct peali_report *report, const char *benchmark,
		       int emulated)
{
	json_t *machine = json_object();
	char model[128];

	report->benchmark = benchmark;
	report->emulated = emulated;
	report->object = json_object();
	report->rows = json_array();
	peali_row_text(machine, "cpu", "%s", cpu_model(model, sizeof(model)));
	peali_row_uint(machine, "cores", (uint64_t)peali_report_cores());
	peali_row_uint(report->object, "schema_version", PEALI_BENCH_SCHEMA);
	peali_row_text(report->object, "peal_version", "%s", peal_version());
	json_object_set_new(report->object, "machine", machine);
	peali_row_flag(report->object, "emulated", emulated);
	json_object_set(report->object, "rows", report->rows);
}

void peali_report_fini(struct peali_report *report)
{
	json_decref(report->rows);
	json_decref(report->object);
}

json_t *peali_report_row(struct peali_report *report, const char *subject)
{
	json_t *row = peali_row_append(report->rows);

	peali_row_text(row, "benchmark", "%s", report->benchmark);
	peali_row_text(row, "subject", "%s", subject);
	peali_row_flag(row, "emulated", report->emulated);
	return row;
}

int peali_report_print(const struct peali_report *report, int json,
		       const char *title, const struct peali_column *columns,
		       int status)
{
	int cores = peali_report_cores();
	char model[128];

	if (json && status)
		peali_row_error(report->object, status);
	if (json) {
		peali_json_print(stdout, report->object);
		return peali_finish(status);
	}
	peali_paragraph_print(stdout, 0, 4, "%s: %s", report->benchmark, title);
	peali_paragraph_print(stdout, 0, 4, "%s, %d core%s; %s",
			      cpu_model(model, sizeof(model)), cores,
			      peali_s((uint64_t)cores),
			      report->emulated ?
				      "devices are emulated by CPU threads" :
				      "devices as `peal info` lists them");
	peali_table_print(stdout, NULL, columns, report->rows);
	return peali_finish(status);
}

int peali_report_write(const struct peali_report *report, FILE *to,
		       const char *path)
{
	int result = peali_json_print(to, report->object);

	if (fclose(to))
		result = -1;
	if (result)
		peali_say("cannot write '%s'", path);
	return result;
}
