/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `peal doctor --stall PID`: stalled parts of another process and their causes.
 */
#include "runtime/cli/doctor.h"
#include "runtime/base/text.h"

#include <stdlib.h>

#include <peal/stall.h>

#define CAUSES 256

void peali_doctor_cause(json_t *row, const struct peal_stall *c)
{
	peali_row_text(row, "cause", "%s", peal_stall_cause_name(c->cause));
	if (c->device >= 0)
		peali_row_uint(row, "device", (uint64_t)c->device);
	else
		peali_row_null(row, "device", "it is at the host");
	peali_row_uint(row, "messages", c->held);
	peali_row_uint(row, "links", c->n_links);
	if (c->link) {
		peali_row_uint(row, "link", c->link);
		peali_row_uint(row, "message", c->message);
	} else {
		peali_row_null(row, "link", "no link waits for it");
		peali_row_null(row, "message", "no link waits for it");
	}
	if (c->address)
		peali_row_text(row, "address", "%#llx",
			       (unsigned long long)c->address);
	else
		peali_row_null(row, "address",
			       "the cause is at no actor or endpoint");
	if (c->cause == PEAL_STALL_HANDLER)
		peali_row_uint(row, "inflight_type", c->inflight_type);
	else
		peali_row_null(row, "inflight_type", "no handler runs there");
	if (c->inflight_link) {
		peali_row_uint(row, "inflight_link", c->inflight_link);
		peali_row_uint(row, "inflight_message", c->inflight_message);
	} else {
		peali_row_null(row, "inflight_link", "no link has brought it");
		peali_row_null(row, "inflight_message",
			       "no link has brought it");
	}
	peali_row_uint(row, "without_progress_ms",
		       c->without_progress_ns / 1000000);
	peali_row_text(row, "finding", "%s", c->text);
	peali_row_text(row, "fix", "%s", peal_stall_remedy(c->cause));
}

int peali_doctor_stall(int pid, int json)
{
	static const struct peali_column columns[] = {
		{ "cause", "cause", 0 },
		{ "messages", "messages", 0 },
		{ "without_progress_ms", "no progress for", PEALI_AS_MS },
		{ "finding", "finding", 0 },
		PEALI_COLUMN_BREAK,
		{ "fix", "what to do", 0 },
		{ NULL, NULL, 0 },
	};
	struct peal_stall *causes = calloc(CAUSES, sizeof(*causes));
	json_t *rows = json_array(), *object;
	int n = causes ? peal_stall_report_pid(pid, 0, causes, CAUSES) : 0;

	if (!causes || n < 0) {
		json_decref(rows);
		free(causes);
		if (n < 0)
			return peali_say_error(NULL);
		peali_say("no memory for %d causes", CAUSES);
		return PEALI_EXIT_FAILED;
	}
	for (int i = 0; i < n && i < CAUSES; i++)
		peali_doctor_cause(peali_row_append(rows), &causes[i]);
	if (json) {
		object = json_object();
		peali_row_uint(object, "pid", (uint64_t)pid);
		peali_row_flag(object, "ok", n == 0);
		peali_row_uint(object, "n_causes", (uint64_t)n);
		json_object_set(object, "causes", rows);
		peali_json_print(stdout, object);
		json_decref(object);
	} else if (n) {
		peali_table_print(stdout, NULL, columns, rows);
		printf("\n%d cause%s\n", n, peali_s((uint64_t)n));
	} else {
		printf("process %d: no stall\n", pid);
	}
	json_decref(rows);
	free(causes);
	return n ? PEALI_EXIT_FAILED : PEALI_EXIT_OK;
}
