/* SPDX-License-Identifier: Apache-2.0 */
/* `peal info`: version, backends, devices, programs and settings. */
#include <string.h>

#include <peal/peal.h>
#include <peal/peer.h>

#include "runtime/base/env.h"
#include "runtime/cli/command.h"
#include "runtime/cli/output.h"

static const struct peali_column backend_columns[] = {
	{ "name", "name", 0 },	     { "available", "available", 0 },
	{ "devices", "devices", 0 }, { "reason", "reason", 0 },
	{ NULL, NULL, 0 },
};

static const struct peali_column device_columns[] = {
	{ "index", "index", 0 },
	{ "backend", "backend", 0 },
	{ "emulated", "emulated", 0 },
	{ "name", "name", 0 },
	{ "memory_bytes", "memory", PEALI_AS_BYTES },
	{ "compute_units", "compute units", 0 },
	{ "max_lanes", "lanes", 0 },
	{ "policies", "policies", 0 },
	PEALI_COLUMN_BREAK,
	{ "architecture", "architecture", 0 },
	{ "capabilities", "capabilities", 0 },
	{ "max_cluster_workers", "workers per cluster", 0 },
	PEALI_COLUMN_BREAK,
	{ "uuid", "uuid", 0 },
	{ "memory_used_bytes", "memory used", PEALI_AS_BYTES },
	{ "numa_node", "NUMA node", 0 },
	{ "peers", "peers", 0 },
	{ "lost", "lost", 0 },
	{ NULL, NULL, 0 },
};

static const struct peali_column program_columns[] = {
	{ "name", "name", 0 },
	{ "handlers", "handlers", 0 },
	{ "targets", "images", 0 },
	{ NULL, NULL, 0 },
};

static const struct peali_column setting_columns[] = {
	{ "name", "name", 0 },	   { "value", "value", 0 },
	{ "origin", "origin", 0 }, { "default", "default", 0 },
	PEALI_COLUMN_BREAK,	   { "help", "help", 0 },
	{ NULL, NULL, 0 },
};

static json_t *backend_rows(struct peal_runtime *runtime)
{
	json_t *rows = json_array();
	struct peal_backend_info info;

	for (int i = 0; peal_backend_info(runtime, i, &info) == 0; i++) {
		json_t *row = peali_row_append(rows);

		peali_row_text(row, "name", "%s", info.name);
		peali_row_flag(row, "available", info.available);
		peali_row_uint(row, "devices", (uint64_t)info.n_devices);
		if (info.available)
			peali_row_null(row, "reason", "it is available");
		else
			peali_row_text(row, "reason", "%s", info.reason);
	}
	return rows;
}

static void add_word(char *text, size_t size, const char *word)
{
	size_t used = strlen(text);

	snprintf(text + used, size - used, "%s%s", used ? " " : "", word);
}

static void capabilities_text(uint32_t mask, char *text, size_t size)
{
	uint32_t bit;

	text[0] = 0;
	for (bit = PEAL_CAN_PEER; bit <= PEAL_CAN_MANAGED; bit <<= 1)
		if (mask & bit)
			add_word(text, size,
				 peal_device_capability_name(
					 (enum peal_device_capability)bit));
}

/* Writes the devices with memory that a device can map, for example "0 2-5". */
static void peers_text(struct peal_runtime *runtime, int device, char *text,
		       size_t size)
{
	int n = peal_device_count(runtime), first = -1;

	text[0] = 0;
	for (int to = 0; to <= n; to++) {
		int is_peer = to < n &&
			      peal_peer_can_access(runtime, device, to) == 1;

		if (!is_peer && first >= 0)
			peali_range_append(text, size, " ", first, to - 1);
		if (!is_peer)
			first = -1;
		else if (first < 0)
			first = to;
	}
}

static void add_device(json_t *rows, struct peal_runtime *runtime,
		       const struct peal_device_info *info)
{
	json_t *row = peali_row_append(rows);
	char text[400]; /* fits 64 devices, every second one a peer */

	peali_row_uint(row, "index", (uint64_t)info->index);
	peali_row_text(row, "backend", "%s", info->backend);
	peali_row_flag(row, "emulated", info->emulated);
	peali_row_text(row, "name", "%s", info->name);
	peali_row_text(row, "uuid", "%s", info->uuid);
	peali_row_uint(row, "memory_bytes", info->memory_bytes);
	peali_row_uint(row, "memory_used_bytes", info->memory_used_bytes);
	peali_row_uint(row, "compute_units", info->compute_units);
	peali_row_uint(row, "max_lanes", info->max_lanes);
	peali_row_uint(row, "max_cluster_workers", info->max_cluster_workers);
	if (info->numa_node >= 0)
		peali_row_uint(row, "numa_node", (uint64_t)info->numa_node);
	else
		peali_row_null(row, "numa_node", "not known");
	peali_row_policies(row, info->policies);
	peali_row_text(row, "architecture", "%s", info->architecture);
	peali_row_flag(row, "lost", info->lost);
	capabilities_text(info->capabilities, text, sizeof(text));
	peali_row_text(row, "capabilities", "%s", text);
	peers_text(runtime, info->index, text, sizeof(text));
	if (text[0])
		peali_row_text(row, "peers", "%s", text);
	else
		peali_row_null(row, "peers", "it can map no other device");
}

static json_t *device_rows(struct peal_runtime *runtime)
{
	json_t *rows = json_array();
	struct peal_device_info info;
	int n = peal_device_count(runtime);

	for (int i = 0; i < n; i++)
		if (peal_device_info(runtime, i, &info) == 0)
			add_device(rows, runtime, &info);
	return rows;
}

/* Returns a program's images as rows. Writes their targets as text, too. */
static json_t *image_rows(const struct peal_program *program, char *text,
			  size_t size)
{
	json_t *rows = json_array();
	struct peal_image_info image;

	text[0] = 0;
	for (int i = 0; peal_image_info(program, i, &image) == 0; i++) {
		json_t *row = peali_row_append(rows);
		size_t used = strlen(text);

		peali_row_text(row, "target", "%s", image.target);
		peali_row_text(row, "kind", "%s", image.kind);
		if (i)
			peali_row_uint(row, "bytes", image.bytes);
		else
			peali_row_null(row, "bytes", "it is linked");
		snprintf(text + used, size - used, "%s%s", used ? " " : "",
			 image.target);
	}
	return rows;
}

static json_t *program_rows(struct peal_runtime *runtime)
{
	json_t *rows = json_array();
	struct peal_program_info info;

	for (int i = 0; peal_program_info(runtime, i, &info) == 0; i++) {
		json_t *row = peali_row_append(rows);
		char targets[256];

		peali_row_text(row, "name", "%s", info.name);
		peali_row_uint(row, "handlers", info.handlers);
		json_object_set_new(
			row, "images",
			image_rows(peal_program_find(runtime, info.name),
				   targets, sizeof(targets)));
		peali_row_text(row, "targets", "%s", targets);
	}
	return rows;
}

static json_t *setting_rows(void)
{
	json_t *rows = json_array();

	for (int i = 0; i < PEALI_ENV_COUNT; i++) {
		struct peali_env_view view = { 0 };
		json_t *row = peali_row_append(rows);
		int result = peali_env_show((enum peali_env)i, &view);

		peali_row_text(row, "name", "%s", view.name ? view.name : "");
		peali_row_text(row, "value", "%s", view.value);
		peali_row_text(row, "origin", "%s",
			       view.origin ? view.origin : "");
		peali_row_text(row, "default", "%s",
			       view.default_text ? view.default_text : "");
		peali_row_text(row, "allowed", "%s", view.allowed);
		peali_row_flag(row, "valid", result >= 0);
		peali_row_text(row, "help", "%s", view.help ? view.help : "");
	}
	return rows;
}

static void print_tables(const json_t *object)
{
	printf("peal %s\n\n", peal_version());
	peali_table_print(stdout, "Backends", backend_columns,
			  json_object_get(object, "backends"));
	if (json_is_true(json_object_get(object, "emulated")))
		printf("\nDevices (emulated: CPU threads, no GPUs)\n");
	else
		printf("\nDevices\n");
	peali_table_print(stdout, NULL, device_columns,
			  json_object_get(object, "devices"));
	printf("\n");
	peali_table_print(stdout, "Programs", program_columns,
			  json_object_get(object, "programs"));
	printf("\n");
	peali_table_print(stdout, "Settings (environment variables)",
			  setting_columns, json_object_get(object, "settings"));
}

static int info_run(int argc, char **argv)
{
	int json = peali_parse_json_only(
		argc, argv,
		"Prints the version, the backends, the devices, the programs "
		"with their images, and every setting with its value and "
		"origin. A missing backend has its reason.");
	struct peal_runtime *runtime = NULL;
	json_t *object = json_object();
	int status = peali_open_runtime(&runtime);

	peali_row_text(object, "version", "%s", peal_version());
	/* Without a runtime the user looks for an invalid setting. */
	if (runtime) {
		peali_row_flag(object, "emulated", peali_all_emulated(runtime));
		json_object_set_new(object, "backends", backend_rows(runtime));
		json_object_set_new(object, "devices", device_rows(runtime));
		json_object_set_new(object, "programs", program_rows(runtime));
	}
	json_object_set_new(object, "settings", setting_rows());
	if (json && status)
		peali_row_error(object, status);
	if (json)
		peali_json_print(stdout, object);
	else if (runtime)
		print_tables(object);
	else
		peali_table_print(stdout, "Settings (environment variables)",
				  setting_columns,
				  json_object_get(object, "settings"));
	json_decref(object);
	if (runtime && peal_runtime_close(runtime) < 0 && !status)
		status = peali_say_error("close the runtime");
	return status;
}

const struct peali_command peali_command_info = {
	.name = "info",
	.help = "version, backends, devices, programs and settings",
	.run = info_run,
};
