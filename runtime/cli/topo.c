/* SPDX-License-Identifier: Apache-2.0 */
/* `peal topo`: what is known of every ordered pair of devices. */
#include <peal/peal.h>

#include "runtime/cli/command.h"
#include "runtime/cli/output.h"

static json_t *pair_row(json_t *rows, const struct peal_pair_info *info)
{
	json_t *row = peali_row_append(rows);

	peali_row_uint(row, "from", (uint64_t)info->from);
	peali_row_uint(row, "to", (uint64_t)info->to);
	peali_row_text(row, "kind", "%s", info->kind);
	peali_row_text(row, "route", "%s", peal_route_name(info->route));
	peali_row_text(row, "verdict", "%s", peal_verdict_name(info->verdict));
	peali_row_flag(row, "cached", info->cached);
	peali_row_flag(row, "atomics", info->atomics);
	if (info->latency_ns)
		peali_row_uint(row, "latency_one_way_ns", info->latency_ns);
	else
		peali_row_null(row, "latency_one_way_ns", "not measured");
	if (info->bandwidth_bytes_per_s)
		peali_row_uint(row, "bandwidth_bytes_per_s",
			       info->bandwidth_bytes_per_s);
	else
		peali_row_null(row, "bandwidth_bytes_per_s", "not measured");
	peali_row_text(row, "why", "%s", info->why);
	return row;
}

/* The pairs, row by row of the matrix; NULL with the error said. */
static json_t *pair_rows(struct peal_runtime *runtime, int n)
{
	json_t *rows = json_array();

	for (int from = 0; from < n; from++)
		for (int to = 0; to < n; to++) {
			struct peal_pair_info info;

			if (peal_topology_pair(runtime, from, to, &info) < 0) {
				peali_say_error("look at the pair");
				json_decref(rows);
				return NULL;
			}
			pair_row(rows, &info);
		}
	return rows;
}

/* One cell of a matrix from the object of a pair. */
typedef void (*cell_fn)(json_t *row, const char *key, const json_t *pair);

static void route_cell(json_t *row, const char *key, const json_t *pair)
{
	peali_row_text(row, key, "%s",
		       json_string_value(json_object_get(pair, "route")));
}

static void verdict_cell(json_t *row, const char *key, const json_t *pair)
{
	peali_row_text(row, key, "%s",
		       json_string_value(json_object_get(pair, "verdict")));
}

static void latency_cell(json_t *row, const char *key, const json_t *pair)
{
	json_object_set(row, key, json_object_get(pair, "latency_one_way_ns"));
}

static void bandwidth_cell(json_t *row, const char *key, const json_t *pair)
{
	const json_t *value = json_object_get(pair, "bandwidth_bytes_per_s");

	if (json_is_integer(value))
		peali_row_real(row, key,
			       (double)json_integer_value(value) / 1e9);
	else
		peali_row_null(row, key, "not measured");
}

/* Column 0 names the row; PEAL_HOST_DEVICES goes up to 64. */
#define DEVICES_SHOWN 30

static void print_matrix(const char *title, const json_t *pairs, int n,
			 cell_fn cell)
{
	struct peali_column columns[DEVICES_SHOWN + 2];
	char keys[DEVICES_SHOWN][8];
	json_t *rows = json_array();
	int shown = n < DEVICES_SHOWN ? n : DEVICES_SHOWN;

	columns[0] = (struct peali_column){ "from", "", 0 };
	for (int to = 0; to < shown; to++) {
		snprintf(keys[to], sizeof(keys[to]), "%d", to);
		columns[to + 1] =
			(struct peali_column){ keys[to], keys[to], 1 };
	}
	columns[shown + 1] = (struct peali_column){ NULL, NULL, 0 };
	for (int from = 0; from < n; from++) {
		json_t *row = peali_row_append(rows);

		peali_row_uint(row, "from", (uint64_t)from);
		for (int to = 0; to < shown; to++)
			cell(row, keys[to],
			     json_array_get(pairs, (size_t)(from * n + to)));
	}
	printf("\n");
	peali_table_print(stdout, title, columns, rows);
	if (shown < n)
		printf("columns %d to %d: with --json\n", shown, n - 1);
	json_decref(rows);
}

static void print_legend(const json_t *pairs)
{
	static const struct peali_column columns[] = {
		{ "from", "from", 0 },		{ "to", "to", 0 },
		{ "kind", "kind", 0 },		{ "cached", "cached", 0 },
		{ "why", "why this route", 0 }, { NULL, NULL, 0 },
	};

	printf("\n");
	peali_table_print(stdout, "Pairs", columns, pairs);
	printf("\nRoutes: local = one device; peer = written straight into the "
	       "other's mapped memory;\nmapped-host = ring in host memory that "
	       "both map; staged = the router copies.\nVerdicts are of the "
	       "probe, which sends data and compares: ok; no-access;\n"
	       "wrong-data, never-visible, faulted, slow = not trusted, not "
	       "used.\n- = not measured. Cached = proved by an earlier run; "
	       "PEAL_PROBE=fresh proves again.\n");
}

static int topo_run(int argc, char **argv)
{
	int json = peali_parse_json_only(
		argc, argv,
		"Prints, for every ordered pair of devices, the route that "
		"messages take, what the probe found, and what it measured.");
	struct peal_runtime *runtime = NULL;
	int status = peali_open_runtime(&runtime);
	json_t *object = json_object();
	json_t *pairs;
	const char *emulated;
	int n;

	if (status)
		goto out;
	n = peal_device_count(runtime);
	peali_row_flag(object, "emulated", peali_all_emulated(runtime));
	peali_row_uint(object, "devices", (uint64_t)n);
	pairs = pair_rows(runtime, n);
	if (!pairs) {
		status = PEALI_EXIT_FAILED;
		goto close;
	}
	json_object_set_new(object, "pairs", pairs);
	if (json) {
		peali_json_print(stdout, object);
		goto close;
	}
	emulated = json_is_true(json_object_get(object, "emulated")) ?
			   " (emulated: CPU threads, no GPUs)" :
			   "";
	printf("%d devices%s; row = from, which writes; column = to, whose "
	       "memory is written\n",
	       n, emulated);
	print_matrix("Route", pairs, n, route_cell);
	print_matrix("Verdict of the probe", pairs, n, verdict_cell);
	print_matrix("Latency, one way (half a round trip) [ns]", pairs, n,
		     latency_cell);
	print_matrix("Bandwidth, one direction [GB/s]", pairs, n,
		     bandwidth_cell);
	print_legend(pairs);
close:
	if (peal_runtime_close(runtime) < 0 && !status)
		status = peali_say_error("close the runtime");
out:
	json_decref(object);
	return status;
}

const struct peali_command peali_command_topo = {
	.name = "topo",
	.help = "routes, verdicts, latency and bandwidth of every pair",
	.run = topo_run,
};
