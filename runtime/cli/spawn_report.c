/* SPDX-License-Identifier: Apache-2.0 */
/* The end of `peal spawn`: exit status, survivors and the report as JSON. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "runtime/cli/command.h"
#include "runtime/cli/output.h"
#include "runtime/cli/spawn_state.h"

#define NOT_EXECUTABLE 126
#define NOT_FOUND 127

int peali_spawn_not_started(int error)
{
	return error == ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
}

/* Returns the rank of a process group; -1: none. */
static int rank_of(const struct spawn *s, pid_t group)
{
	int rank;

	for (rank = 0; rank < s->n; rank++)
		if (s->process[rank].pid == group)
			return rank;
	return -1;
}

void peali_spawn_survivors(struct spawn *s)
{
	pid_t groups[PROCESS_GROUP_MAX];
	int rank, i, n = 0;

	for (rank = 0; rank < s->n; rank++)
		if (s->process[rank].pid && !s->process[rank].gone)
			groups[n++] = s->process[rank].pid;
	s->n_survivors = peali_survivors(groups, n, s->guard.pid, s->survivor,
					 SURVIVORS_MOST);
	for (i = 0; i < s->n_survivors; i++) {
		const struct peali_survivor *one = &s->survivor[i];

		rank = rank_of(s, one->group);
		if (rank >= 0)
			peali_say("process %d (%s) of rank %d still runs",
				  (int)one->pid, one->name, rank);
		else
			peali_say("process %d (%s) still runs; it has left "
				  "the process group of its rank",
				  (int)one->pid, one->name);
	}
}

int peali_spawn_status(const struct spawn *s)
{
	const struct process *first;
	int status;

	if (s->interrupted)
		return 128 + SIGINT;
	if (s->first_failed < 0)
		return PEALI_EXIT_OK;
	first = s->process + s->first_failed;
	if (first->error)
		return peali_spawn_not_started(first->error);
	status = first->status;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
				     WEXITSTATUS(status);
}

/* Writes the cores of a set as a list, such as "0-3,8". */
static const char *core_list(const struct peali_core_set *cores, char *text,
			     size_t bytes)
{
	int first, last, next = peali_core_set_next(cores, -1);

	text[0] = '\0';
	while (next >= 0) {
		first = last = next;
		while ((next = peali_core_set_next(cores, last)) == last + 1)
			last = next;
		peali_range_append(text, bytes, ",", first, last);
	}
	return text;
}

/* Describes the device and the cores of a process. */
static void describe_place(json_t *row, const struct spawn *s, int rank)
{
	const struct peali_spawn_device *device = &s->device[rank];
	const struct peali_core_set *cores = &s->process[rank].cores;
	char text[16384]; /* fits 4096 cores, every second one */

	if (s->assigns)
		peali_row_text(row, "device", "%s %d", device->backend,
			       device->local);
	else
		peali_row_null(row, "device", "it sees all devices");
	if (cores->n)
		peali_row_text(row, "cores", "%s",
			       core_list(cores, text, sizeof(text)));
	else
		peali_row_null(row, "cores", "it is not bound");
}

static void describe(json_t *row, const struct spawn *s, int rank)
{
	const struct process *p = &s->process[rank];

	peali_row_uint(row, "rank", (uint64_t)rank);
	describe_place(row, s, rank);
	if (!p->pid) {
		const char *why = p->error ? strerror(p->error) :
					     "another one could not be started";

		peali_row_null(row, "pid", "%s", why);
		peali_row_null(row, "exit_status", "%s", why);
		peali_row_null(row, "signal", "%s", why);
		peali_row_flag(row, "told_to_end", 0);
		peali_row_null(row, "seconds", "%s", why);
		return;
	}
	peali_row_uint(row, "pid", (uint64_t)p->pid);
	if (WIFSIGNALED(p->status)) {
		peali_row_null(row, "exit_status", "a signal ended it");
		peali_row_uint(row, "signal", (uint64_t)WTERMSIG(p->status));
	} else {
		peali_row_uint(row, "exit_status",
			       (uint64_t)WEXITSTATUS(p->status));
		peali_row_null(row, "signal", "no signal ended it");
	}
	peali_row_flag(row, "told_to_end", p->told);
	peali_row_real(row, "seconds", (double)(p->end_ns - s->start_ns) / 1e9);
}

static void describe_survivor(json_t *row, const struct spawn *s,
			      const struct peali_survivor *survivor)
{
	int rank = rank_of(s, survivor->group);

	if (rank < 0)
		peali_row_null(row, "rank", "it has left its process group");
	else
		peali_row_uint(row, "rank", (uint64_t)rank);
	peali_row_uint(row, "pid", (uint64_t)survivor->pid);
	peali_row_text(row, "name", "%s", survivor->name);
}

void peali_spawn_report(const struct spawn *s)
{
	json_t *object = json_object(), *rows = json_array();
	json_t *survivors = json_array();
	int rank, i;

	for (rank = 0; rank < s->n; rank++)
		describe(peali_row_append(rows), s, rank);
	for (i = 0; i < s->n_survivors; i++)
		describe_survivor(peali_row_append(survivors), s,
				  &s->survivor[i]);
	peali_row_uint(object, "n", (uint64_t)s->n);
	peali_row_flag(object, "ok", peali_spawn_status(s) == 0);
	if (s->failure[0])
		peali_row_text(object, "error", "%s", s->failure);
	else
		peali_row_null(object, "error", "there was none");
	peali_row_uint(object, "exit_status", (uint64_t)peali_spawn_status(s));
	if (s->first_failed < 0)
		peali_row_null(object, "first_failed", "none failed");
	else
		peali_row_uint(object, "first_failed",
			       (uint64_t)s->first_failed);
	json_object_set_new(object, "processes", rows);
	json_object_set_new(object, "survivors", survivors);
	peali_json_print(stdout, object);
	json_decref(object);
}
