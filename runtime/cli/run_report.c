/* SPDX-License-Identifier: Apache-2.0 */
/* The report of `peal run`, as tables or JSON. */
#include "runtime/cli/run.h"

#include <string.h>

#include <peal/dead_letter.h>

static const struct peali_column summary_columns[] = {
	{ "pipeline", "pipeline", 0 },
	{ "verified", "verified bit for bit", 0 },
	{ "max_difference", "largest difference", 6 },
	{ "items", "items", 0 },
	{ "seconds", "time", PEALI_AS_SECONDS },
	{ "throughput_items_per_s", "throughput, items", PEALI_AS_PER_S },
	{ "throughput_mb_per_s", "throughput, bytes", PEALI_AS_MB_PER_S },
	{ "latency_ns_p50", "latency, in to out, p50", PEALI_AS_NS },
	{ "latency_ns_p90", "  p90", PEALI_AS_NS },
	{ "latency_ns_p99", "  p99", PEALI_AS_NS },
	{ "latency_ns_p999", "  p99.9", PEALI_AS_NS },
	{ "latency_ns_max", "  max", PEALI_AS_NS },
	{ "accepted", "messages accepted", 0 },
	{ "delivered", "messages delivered", 0 },
	{ "dead_lettered", "messages dead-lettered", 0 },
	{ "queued", "messages queued", 0 },
	{ "conservation_samples", "conservation samples", 0 },
	{ "conservation_violations", "conservation violations", 0 },
	{ NULL, NULL, 0 },
};

static const struct peali_column link_columns[] = {
	{ "from", "from", 0 },
	{ "to", "to", 0 },
	{ "route", "route", 0 },
	{ "capacity", "depth", 0 },
	{ "accepted", "accepted", 0 },
	{ "delivered", "delivered", 0 },
	{ "dead_lettered", "dead", 0 },
	{ "queued", "queued", 0 },
	{ "memory_bytes", "memory", PEALI_AS_BYTES },
	PEALI_COLUMN_BREAK,
	{ "why", "why this route", 0 },
	{ NULL, NULL, 0 },
};

static const struct peali_column kernel_columns[] = {
	{ "stage", "stage", 0 },     { "device", "device", 0 },
	{ "workers", "workers", 0 }, { "lanes", "lanes", 0 },
	{ "handled", "handled", 0 }, { "failed", "failed", 0 },
	{ NULL, NULL, 0 },
};

static const struct peali_column checksum_columns[] = {
	{ "stage", "stage", 0 },
	{ "items", "items", 0 },
	{ "bytes", "bytes", PEALI_AS_BYTES },
	{ "crc_sum", "sum of CRC-32C", 0 },
	{ "expected", "expected", 0 },
	{ "matches", "matches", 0 },
	{ NULL, NULL, 0 },
};

static uint64_t dead_of(const struct peal_link_info *info)
{
	uint64_t dead = 0;

	for (int reason = 0; reason < PEAL_REASON_COUNT; reason++)
		dead += info->dead[reason];
	return dead;
}

static void link_row(json_t *rows, const struct peali_run_link *link)
{
	const struct peal_link_info *info = &link->info;
	json_t *row = peali_row_append(rows);
	json_t *reasons = json_object();

	peali_row_uint(row, "id", info->id);
	peali_row_text(row, "from", "%s", link->from);
	peali_row_text(row, "to", "%s", link->to);
	peali_row_text(row, "route", "%s", peal_route_name(info->route));
	peali_row_text(row, "why", "%s", info->route_reason);
	peali_row_uint(row, "capacity", info->capacity);
	peali_row_uint(row, "slot_bytes", info->slot_bytes);
	peali_row_uint(row, "slab_bytes", info->slab_bytes);
	peali_row_uint(row, "memory_bytes", info->memory_bytes);
	peali_row_uint(row, "accepted", info->accepted);
	peali_row_uint(row, "accepted_bytes", info->accepted_bytes);
	peali_row_uint(row, "delivered", info->delivered);
	peali_row_uint(row, "dead_lettered", dead_of(info));
	for (uint32_t reason = 0; reason < PEAL_REASON_COUNT; reason++)
		if (info->dead[reason])
			peali_row_uint(reasons, peal_reason_name(reason),
				       info->dead[reason]);
	json_object_set_new(row, "dead_by_reason", reasons);
	peali_row_uint(row, "queued", info->queued);
	peali_row_uint(row, "full_count", info->full_count);
	peali_row_uint(row, "staged", info->staged);
	peali_row_uint(row, "handovers", info->handovers);
}

/*
 * Adds the sums over all links. Returns 1 if accepted = delivered + dead +
 * queued for each link.
 */
static int add_totals(const struct peali_run *run, json_t *object)
{
	uint64_t accepted = 0, delivered = 0, dead = 0, queued = 0;
	int holds = 1;

	for (uint32_t i = 0; i < run->n_links; i++) {
		const struct peal_link_info *info = &run->links[i].info;

		accepted += info->accepted;
		delivered += info->delivered;
		dead += dead_of(info);
		queued += info->queued;
		holds &= info->accepted ==
			 info->delivered + dead_of(info) + info->queued;
	}
	peali_row_uint(object, "accepted", accepted);
	peali_row_uint(object, "delivered", delivered);
	peali_row_uint(object, "dead_lettered", dead);
	peali_row_uint(object, "queued", queued);
	return holds;
}

static json_t *kernel_rows(const struct peali_run *run)
{
	json_t *rows = json_array();

	for (uint32_t i = 0; i < run->pipeline.n_stages; i++) {
		const struct peali_run_node *node = run->nodes + i;
		json_t *row = peali_row_append(rows);

		peali_row_text(row, "stage", "%s", node->text);
		peali_row_uint(row, "device", (uint64_t)node->info.device);
		peali_row_uint(row, "workers", node->info.workers);
		peali_row_uint(row, "lanes", node->info.lanes);
		peali_row_uint(row, "handled", node->info.handled);
		peali_row_uint(row, "failed", node->info.failed);
		peali_row_uint(row, "emitted", node->info.emitted);
		peali_row_uint(row, "memory_bytes", node->info.memory_bytes);
	}
	return rows;
}

/* Lists the checksums. JSON numbers are too short for 64-bit sums: use text. */
static json_t *checksum_rows(struct peali_run *run)
{
	json_t *rows = json_array();

	for (uint32_t i = 0; i < run->pipeline.n_stages; i++) {
		const struct peali_run_node *node = run->nodes + i;
		uint64_t expected = run->verify.crc_sum[i];
		json_t *row;

		if (!node->has_state)
			continue;
		row = peali_row_append(rows);
		peali_row_text(row, "stage", "%s", node->text);
		peali_row_uint(row, "items", node->state.items);
		peali_row_uint(row, "bytes", node->state.bytes);
		peali_row_text(row, "crc_sum", "0x%016llx",
			       (unsigned long long)node->state.crc_sum);
		if (!run->options.verify || !run->ended) {
			peali_row_null(row, "expected", "%s",
				       run->ended ? "needs --verify" :
						    "the run was halted");
			continue;
		}
		peali_row_text(row, "expected", "0x%016llx",
			       (unsigned long long)expected);
		peali_row_flag(row, "matches", expected == node->state.crc_sum);
		if (expected != node->state.crc_sum)
			peali_run_fail(run,
				       "the checksum of '%s' is 0x%016llx, "
				       "expected 0x%016llx",
				       node->text,
				       (unsigned long long)node->state.crc_sum,
				       (unsigned long long)expected);
	}
	return rows;
}

static void add_throughput(const struct peali_run *run, json_t *object)
{
	double seconds = (double)(run->end_ns - run->start_ns) / 1e9;
	uint64_t items = atomic_load(&run->items_out);
	uint64_t bytes = atomic_load(&run->bytes_out);

	peali_row_uint(object, "items_read", atomic_load(&run->items_in));
	peali_row_uint(object, "items", items);
	peali_row_uint(object, "bytes", bytes);
	peali_row_real(object, "seconds", seconds);
	if (seconds <= 0 || !items) {
		peali_row_null(object, "throughput_items_per_s",
			       "no item arrived");
		return;
	}
	peali_row_real(object, "throughput_items_per_s",
		       (double)items / seconds);
	peali_row_real(object, "throughput_mb_per_s",
		       (double)bytes / 1e6 / seconds);
}

static void add_verified(const struct peali_run *run, json_t *object)
{
	if (!run->options.verify) {
		peali_row_null(object, "verified", "needs --verify");
		return;
	}
	peali_row_flag(object, "verified",
		       run->finished && run->n_wrong == 0 && run->ended &&
			       run->verify.n_checked ==
				       atomic_load(&run->items_in));
	peali_row_uint(object, "verified_items",
		       run->verify.n_checked - run->verify.n_mismatches);
	peali_row_real(object, "max_difference", run->verify.difference);
}

static void judge(struct peali_run *run, int holds)
{
	if (!holds || run->n_violations)
		peali_run_fail(run, "messages were not conserved: %s",
			       run->n_violations ? run->violation :
						   "see the links' counters");
	for (uint32_t i = 0; i < run->n_links; i++)
		if (dead_of(&run->links[i].info) &&
		    !atomic_load(&run->interrupted))
			peali_run_fail(run,
				       "messages from '%s' to '%s': %llu not "
				       "delivered",
				       run->links[i].from, run->links[i].to,
				       (unsigned long long)dead_of(
					       &run->links[i].info));
	if (atomic_load(&run->interrupted))
		peali_run_fail(run, "interrupted");
}

/* Returns the exit status: a signal goes before other failures. */
static int status_of(struct peali_run *run)
{
	if (atomic_load(&run->interrupted))
		return 128 + atomic_load(&run->signal);
	return run->failure[0] ? PEALI_EXIT_FAILED : PEALI_EXIT_OK;
}

static json_t *make_object(struct peali_run *run)
{
	json_t *object = json_object();
	json_t *links = json_array();
	json_t *checksums;
	int holds;

	peali_row_text(object, "pipeline", "%s", run->options.text);
	peali_row_text(object, "format", "%s", run->reader.stream.format->name);
	peali_row_flag(object, "emulated", run->emulated);
	add_verified(run, object);
	add_throughput(run, object);
	peali_histogram_row(run->latency, object, "latency_ns");
	holds = add_totals(run, object);
	peali_row_uint(object, "conservation_samples", run->n_samples);
	peali_row_uint(object, "conservation_violations", run->n_violations);
	for (uint32_t i = 0; i < run->n_links; i++)
		link_row(links, run->links + i);
	json_object_set_new(object, "links", links);
	json_object_set_new(object, "kernels", kernel_rows(run));
	if (run->options.profile)
		peali_run_profile(run, object);
	checksums = checksum_rows(run);
	json_object_set_new(object, "checksums", checksums);
	judge(run, holds);
	peali_row_flag(object, "interrupted", atomic_load(&run->interrupted));
	if (run->failure[0])
		peali_row_text(object, "error", "%s", run->failure);
	else
		peali_row_null(object, "error", "there was none");
	if (status_of(run))
		peali_row_uint(object, "exit_status", (uint64_t)status_of(run));
	return object;
}

static void print_tables(FILE *to, const struct peali_run *run,
			 const json_t *object)
{
	const json_t *checksums = json_object_get(object, "checksums");

	if (run->emulated)
		fprintf(to, "emulated devices: CPU threads, no GPUs\n");
	peali_record_print(to, NULL, summary_columns, object);
	fprintf(to, "\n");
	peali_table_print(to, "Links", link_columns,
			  json_object_get(object, "links"));
	fprintf(to, "\n");
	peali_table_print(to, "Kernels", kernel_columns,
			  json_object_get(object, "kernels"));
	if (run->options.profile)
		peali_run_profile_print(to, object);
	if (json_array_size(checksums) == 0)
		return;
	fprintf(to, "\n");
	peali_table_print(to, "Checksums", checksum_columns, checksums);
}

FILE *peali_run_report_to(const struct peali_run_options *options)
{
	return options->output && strcmp(options->output, "-") == 0 ? stderr :
								      stdout;
}

int peali_run_report(struct peali_run *run)
{
	FILE *to = peali_run_report_to(&run->options);
	json_t *object = make_object(run);

	if (run->options.json)
		peali_json_print(to, object);
	else
		print_tables(to, run, object);
	fflush(to);
	json_decref(object);
	if (run->failure[0])
		peali_say("%s", run->failure);
	return status_of(run);
}
