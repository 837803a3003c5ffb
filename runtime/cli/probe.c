/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `peal probe`: probes all pairs of devices and caches the results. The library
 * runs it before the first launch on GPUs. A probe that crashes then ends this
 * process and not the application.
 */
#include <peal/peal.h>

#include "p2p/probe.h"
#include "runtime/cli/command.h"
#include "runtime/cli/output.h"
#include "runtime/runtime.h"

static int probe_pair(struct peal_runtime *runtime, json_t *rows, int from,
		      int to)
{
	struct peal_pair_info info;
	json_t *row;

	if (peali_probe_verify(runtime->peers, from, to, &info) < 0)
		return peali_say_error("probe a pair");
	row = peali_row_append(rows);
	peali_row_uint(row, "from", (uint64_t)from);
	peali_row_uint(row, "to", (uint64_t)to);
	peali_row_text(row, "kind", "%s", info.kind);
	peali_row_text(row, "verdict", "%s", peal_verdict_name(info.verdict));
	peali_row_flag(row, "cached", info.cached);
	peali_row_policies(row, info.policies);
	peali_row_text(row, "why", "%s", info.reason);
	return 0;
}

static int probe_run(int argc, char **argv)
{
	static const struct peali_column columns[] = {
		{ "from", "from", 0 },	   { "to", "to", 0 },
		{ "kind", "kind", 0 },	   { "verdict", "verdict", 0 },
		{ "cached", "cached", 0 }, { "policies", "policies", 0 },
		{ "why", "why", 0 },	   { NULL, NULL, 0 },
	};
	int json = peali_parse_json_only(
		argc, argv,
		"Probes every ordered pair of devices: does data that the "
		"first writes reach the memory of the second? Keeps the "
		"verdicts. Nothing is measured: see `peal topo'.");
	struct peal_runtime *runtime = NULL;
	int status = peali_open_runtime(&runtime), from, to, n;
	json_t *object, *rows;

	if (status)
		return status;
	object = json_object();
	rows = json_array();
	n = peal_device_count(runtime);
	for (from = 0; from < n && !status; from++)
		for (to = 0; to < n && !status; to++)
			if (from != to)
				status = probe_pair(runtime, rows, from, to);
	if (peal_runtime_close(runtime) < 0 && !status)
		status = peali_say_error("close the runtime");
	json_object_set_new(object, "pairs", rows);
	if (!status && json)
		peali_json_print(stdout, object);
	else if (!status)
		peali_table_print(stdout, "Pairs", columns, rows);
	json_decref(object);
	return status;
}

const struct peali_command peali_command_probe = {
	.name = "probe",
	.help = "verdicts of all pairs of devices, without measurements",
	.run = probe_run,
};
