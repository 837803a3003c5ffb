/* SPDX-License-Identifier: Apache-2.0 */
/* `peal topo`: facts about every ordered pair of devices. */
#include <stdlib.h>
#include <string.h>

#include <peal/peal.h>

#include "runtime/cli/command.h"
#include "runtime/base/text.h"
#include "runtime/cli/output.h"
#include "runtime/cli/smi.h"
#include "runtime/device/device.h"

/* ---- facts of the management libraries ----------------------------------- */

struct device {
	struct peal_device_info info;
	char pci[24]; /* "": unknown */
	int smi; /* index of its management library in overlay.smi; -1: none */
};

struct overlay {
	struct peali_smi smi[2];
	int n; /* devices */
	struct device device[];
};

static void look_at_device(struct overlay *overlay,
			   struct peal_runtime *runtime, int i)
{
	struct device *d = &overlay->device[i];
	struct peali_fact facts[PEALI_FACTS_MAX];
	int n = peali_driver_facts(runtime, i, facts, PEALI_FACTS_MAX);

	d->smi = -1;
	if (peal_device_info(runtime, i, &d->info) < 0)
		return;
	for (int k = 0; k < n; k++)
		if (strcmp(facts[k].name, "pci") == 0)
			snprintf(d->pci, sizeof(d->pci), "%.23s",
				 facts[k].value);
	if (strcmp(d->info.backend, "host") != 0)
		d->smi = strcmp(d->info.backend, "hip") == 0;
}

static struct overlay *overlay_open(struct peal_runtime *runtime, int n)
{
	struct overlay *overlay = calloc(
		1, sizeof(*overlay) + (size_t)n * sizeof(overlay->device[0]));
	int used[2] = { 0, 0 };

	if (!overlay)
		return NULL;
	overlay->n = n;
	for (int i = 0; i < n; i++) {
		look_at_device(overlay, runtime, i);
		if (overlay->device[i].smi >= 0)
			used[overlay->device[i].smi] = 1;
	}
	if (used[0])
		peali_smi_open(&overlay->smi[0], "cuda");
	if (used[1])
		peali_smi_open(&overlay->smi[1], "hip");
	return overlay;
}

static void overlay_close(struct overlay *overlay)
{
	if (!overlay)
		return;
	peali_smi_close(&overlay->smi[0]);
	peali_smi_close(&overlay->smi[1]);
	free(overlay);
}

static json_t *device_rows(const struct overlay *overlay)
{
	json_t *rows = json_array();

	for (int i = 0; i < overlay->n; i++) {
		const struct device *d = &overlay->device[i];
		json_t *row = peali_row_append(rows);

		peali_row_uint(row, "device", (uint64_t)i);
		peali_row_text(row, "backend", "%s", d->info.backend);
		peali_row_flag(row, "emulated", d->info.emulated);
		peali_row_text(row, "name", "%s", d->info.name);
		if (d->pci[0])
			peali_row_text(row, "pci", "%s", d->pci);
		else
			peali_row_null(row, "pci", "it is no PCI device");
		if (d->info.numa_node >= 0)
			peali_row_uint(row, "numa_node",
				       (uint64_t)d->info.numa_node);
		else
			peali_row_null(row, "numa_node",
				       "unknown to the system");
	}
	return rows;
}

static json_t *management_rows(const struct overlay *overlay)
{
	json_t *rows = json_array();

	for (int i = 0; i < 2; i++) {
		const struct peali_smi *smi = &overlay->smi[i];
		json_t *row;

		if (!smi->file)
			continue;
		row = peali_row_append(rows);
		peali_row_text(row, "library", "%s", smi->file);
		peali_row_flag(row, "available", smi->library != NULL);
		peali_row_flag(row, "emulated", smi->emulated);
		if (smi->library)
			peali_row_null(row, "reason", "it is available");
		else
			peali_row_text(row, "reason", "%s", smi->why);
	}
	return rows;
}

static void link_field(json_t *row, const struct overlay *overlay, int from,
		       int to)
{
	const struct device *a = &overlay->device[from];
	const struct device *b = &overlay->device[to];
	char text[16];

	if (from == to)
		peali_row_null(row, "link", "it is one device");
	else if (a->smi < 0 || b->smi < 0)
		peali_row_null(row, "link",
			       "devices of the host backend have none");
	else if (a->smi != b->smi)
		peali_row_null(row, "link", "of two vendors");
	else if (!overlay->smi[a->smi].library)
		peali_row_null(row, "link", "%s", overlay->smi[a->smi].why);
	else if (peali_smi_link(&overlay->smi[a->smi], a->pci, b->pci, text,
				sizeof(text)))
		peali_row_null(row, "link", "%s does not know",
			       overlay->smi[a->smi].file);
	else
		peali_row_text(row, "link", "%s", text);
}

/* ---- pairs --------------------------------------------------------------- */

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
	peali_row_policies(row, info->policies);
	peali_row_text(row, "why", "%s", info->reason);
	return row;
}

/*
 * Returns all pairs, row by row of the matrix. Returns NULL after an error
 * message.
 */
static json_t *pair_rows(struct peal_runtime *runtime,
			 const struct overlay *overlay)
{
	int n = overlay->n;
	json_t *rows = json_array();

	for (int from = 0; from < n; from++)
		for (int to = 0; to < n; to++) {
			struct peal_pair_info info;

			if (peal_topology_pair(runtime, from, to, &info) < 0) {
				peali_say_error("read the data of the pair");
				json_decref(rows);
				return NULL;
			}
			link_field(pair_row(rows, &info), overlay, from, to);
		}
	return rows;
}

/* Writes one cell of a matrix from the object of a pair. */
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

static void link_cell(json_t *row, const char *key, const json_t *pair)
{
	json_object_set(row, key, json_object_get(pair, "link"));
}

static void latency_cell(json_t *row, const char *key, const json_t *pair)
{
	json_object_set(row, key, json_object_get(pair, "latency_one_way_ns"));
}

static void bandwidth_cell(json_t *row, const char *key, const json_t *pair)
{
	json_object_set(row, key,
			json_object_get(pair, "bandwidth_bytes_per_s"));
}

/* Column 0 has the row's name. */
#define COLUMNS_MOST 30

/* Prints some columns of a matrix, for all its rows. */
static void print_block(const char *title, const json_t *cells, int n,
			int first, int last, int format)
{
	struct peali_column columns[COLUMNS_MOST + 2];
	char keys[COLUMNS_MOST][12];
	int shown = 0;

	columns[0] = (struct peali_column){ "from", "", 0 };
	for (int to = first; to < last; to++, shown++) {
		snprintf(keys[shown], sizeof(keys[0]), "%d", to);
		columns[shown + 1] = (struct peali_column){ keys[shown],
							    keys[shown],
							    format };
	}
	columns[shown + 1] = (struct peali_column){ NULL, NULL, 0 };
	printf("\n");
	if (shown == n)
		peali_table_print(stdout, title, columns, cells);
	else {
		printf("%s, columns %d to %d\n", title, first, last - 1);
		peali_table_print(stdout, NULL, columns, cells);
	}
}

/* Prints a matrix, in blocks of as many columns as a line has. */
static void print_matrix(const char *title, const json_t *pairs, int n,
			 cell_fn cell, int format)
{
	json_t *cells = json_array();
	int widest = 2, block;
	char key[12];

	for (int from = 0; from < n; from++) {
		json_t *row = peali_row_append(cells);

		peali_row_uint(row, "from", (uint64_t)from);
		for (int to = 0; to < n; to++) {
			int width;

			snprintf(key, sizeof(key), "%d", to);
			cell(row, key,
			     json_array_get(pairs, (size_t)(from * n + to)));
			width = peali_cell_width(json_object_get(row, key),
						 format);
			widest = width > widest ? width : widest;
		}
	}
	/* the name of a row has at most 2 characters; gaps have 2 */
	block = (PEALI_LINE_MAX - 2) / (widest + 2);
	if (block > COLUMNS_MOST)
		block = COLUMNS_MOST;
	for (int to = 0; to < n; to += block)
		print_block(title, cells, n, to,
			    to + block < n ? to + block : n, format);
	json_decref(cells);
}

static void print_legend(const json_t *pairs)
{
	static const struct peali_column columns[] = {
		{ "from", "from", 0 },		{ "to", "to", 0 },
		{ "kind", "kind", 0 },		{ "link", "link", 0 },
		{ "cached", "cached", 0 },	{ "policies", "policies", 0 },
		{ "why", "why this route", 0 }, { NULL, NULL, 0 },
	};

	printf("\n");
	peali_table_print(stdout, "Pairs", columns, pairs);
	printf("\nRoutes: local = one device; peer = written straight into the "
	       "other's mapped memory;\nmapped-host = ring in host memory that "
	       "both map; staged = the stager copies.\nVerdicts are of the "
	       "probe, which sends data and compares: ok; no-access;\n"
	       "wrong-data, never-visible, faulted, slow = not trusted, not "
	       "used.\n- = not measured. Cached = probed by an earlier run; "
	       "PEAL_PROBE=fresh probes again.\n");
}

static void print_devices(const json_t *devices)
{
	static const struct peali_column columns[] = {
		{ "device", "device", 0 },
		{ "backend", "backend", 0 },
		{ "emulated", "emulated", 0 },
		{ "name", "name", 0 },
		{ "pci", "PCI", 0 },
		{ "numa_node", "NUMA node", 0 },
		{ NULL, NULL, 0 },
	};

	printf("\n");
	peali_table_print(stdout, "Devices", columns, devices);
}

/* Prints links if a management library was tried. */
static void print_links(const json_t *management, const json_t *pairs, int n)
{
	const json_t *row;
	size_t i, n_available = 0;

	json_array_foreach(management, i, row)
	{
		const char *file =
			json_string_value(json_object_get(row, "library"));

		if (!json_is_true(json_object_get(row, "available"))) {
			printf("\n");
			peali_paragraph_print(stdout, 0, 4,
					      "Links are not known: %s",
					      json_string_value(json_object_get(
						      row, "reason")));
			continue;
		}
		n_available++;
		printf("\nLinks are as %s names them%s.\n", file,
		       json_is_true(json_object_get(row, "emulated")) ?
			       " (emulated: a double of it)" :
			       "");
	}
	if (!n_available)
		return;
	print_matrix("Link, as the management library names it", pairs, n,
		     link_cell, 0);
	printf("NV4 = four NVLinks; XGMI; through PCIe: PIX = one bridge, "
	       "PXB = several,\nPHB = the host bridge, NODE = host bridges of "
	       "one NUMA node, SYS = between nodes,\nPCIE = not said how; "
	       "SAME = parts of one GPU.\n");
}

/* Collects everything in one object. Returns the exit status. */
static int look(struct peal_runtime *runtime, json_t *object)
{
	int n = peal_device_count(runtime);
	struct overlay *overlay = overlay_open(runtime, n);
	json_t *pairs;

	if (!overlay) {
		peali_say("out of memory");
		return PEALI_EXIT_FAILED;
	}
	pairs = pair_rows(runtime, overlay);
	peali_row_flag(object, "emulated", peali_all_emulated(runtime));
	peali_row_uint(object, "devices", (uint64_t)n);
	json_object_set_new(object, "nodes", device_rows(overlay));
	json_object_set_new(object, "management", management_rows(overlay));
	if (pairs)
		json_object_set_new(object, "pairs", pairs);
	overlay_close(overlay);
	return pairs ? PEALI_EXIT_OK : PEALI_EXIT_FAILED;
}

static void print_tables(const json_t *object)
{
	const json_t *pairs = json_object_get(object, "pairs");
	int n = (int)json_integer_value(json_object_get(object, "devices"));
	const char *emulated =
		json_is_true(json_object_get(object, "emulated")) ?
			" (emulated: CPU threads, no GPUs)" :
			"";

	printf("%d device%s%s\n", n, peali_s((uint64_t)n), emulated);
	printf("row = from, the writer; column = to, the owner of the "
	       "memory\n");
	print_devices(json_object_get(object, "nodes"));
	print_matrix("Route", pairs, n, route_cell, 0);
	print_matrix("Verdict of the probe", pairs, n, verdict_cell, 0);
	print_matrix("Latency, one way (half a round trip)", pairs, n,
		     latency_cell, PEALI_AS_NS);
	print_matrix("Bandwidth, one direction", pairs, n, bandwidth_cell,
		     PEALI_AS_BYTES_PER_S);
	print_links(json_object_get(object, "management"), pairs, n);
	print_legend(pairs);
}

static int topo_run(int argc, char **argv)
{
	int json = peali_parse_json_only(
		argc, argv,
		"Prints the routes, verdicts, latencies, bandwidths and "
		"links of all ordered pairs of devices. Messages take the "
		"route. The probe gives the verdict. The management library "
		"names the link.");
	struct peal_runtime *runtime = NULL;
	int status = peali_open_runtime(&runtime);
	json_t *object = json_object();

	if (!status) {
		status = look(runtime, object);
		if (!status && json)
			peali_json_print(stdout, object);
		else if (!status)
			print_tables(object);
		if (peal_runtime_close(runtime) < 0 && !status)
			status = peali_say_error("close the runtime");
	}
	json_decref(object);
	return status;
}

const struct peali_command peali_command_topo = {
	.name = "topo",
	.help = "routes, verdicts, latency, bandwidth and link of every pair",
	.run = topo_run,
};
