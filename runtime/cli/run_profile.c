/* SPDX-License-Identifier: Apache-2.0 */
/* The report of `peal run --profile`: stages, devices and totals. */

#include <peal/metrics.h>
#include <peal/pipeline.h>
#include "runtime/cli/run.h"

static const struct peali_column stage_columns[] = {
	{ "stage", "stage", 0 },
	{ "device", "device", 0 },
	{ "busy_percent", "busy [%]", 1 },
	{ "blocked_percent", "blocked [%]", 1 },
	{ "samples", "samples", 0 },
	{ "handler_ns_mean", "in handler, mean", PEALI_AS_NS },
	{ "residence_ns_mean", "from arrival, mean", PEALI_AS_NS },
	PEALI_COLUMN_BREAK,
	{ "delivered", "items", 0 },
	{ "delivered_bytes", "bytes", PEALI_AS_BYTES },
	{ "full_count", "found full", 0 },
	{ NULL, NULL, 0 },
};

static const struct peali_column device_columns[] = {
	{ "device", "device", 0 },
	{ "busy_percent", "busy [%]", 1 },
	{ "samples", "samples", 0 },
	{ "handled", "handled", 0 },
	{ "sent_bytes", "sent", PEALI_AS_BYTES },
	{ "received_bytes", "received", PEALI_AS_BYTES },
	{ "copied_bytes", "copied to it", PEALI_AS_BYTES },
	{ "memory_used_bytes", "memory used", PEALI_AS_BYTES },
	{ "memory_bytes", "of", PEALI_AS_BYTES },
	{ NULL, NULL, 0 },
};

static const struct peali_column whole_columns[] = {
	{ "interval_ns", "interval", PEALI_AS_NS },
	{ "compute_ns", "compute, of all workers", PEALI_AS_NS },
	{ "transfer_ns", "transfer, of all copies", PEALI_AS_NS },
	{ "sync_ns", "sync, of all threads", PEALI_AS_NS },
	{ "imbalance", "load imbalance, max / mean", 2 },
	{ "imbalance_percent", "load imbalance, percent", 1 },
	{ "samples", "samples of workers", 0 },
	{ NULL, NULL, 0 },
};

/* Adds a share of sampled time in percent, as "busy_percent". */
static void add_share(json_t *row, const char *key, uint64_t part,
		      uint64_t whole)
{
	if (whole)
		peali_row_real(row, key, 100 * (double)part / (double)whole);
	else
		peali_row_null(row, key, "the run was too short for a sample");
}

/* Adds a mean of sampled values. */
static void add_mean(json_t *row, const char *key, uint64_t sum, uint64_t n,
		     uint64_t samples)
{
	if (n && samples)
		peali_row_real(row, key, (double)sum / (double)n);
	else
		peali_row_null(row, key, "%s",
			       n ? "the run was too short for a sample" :
				   "there was no item");
}

static void stage_row(json_t *rows, const struct peali_run_node *node)
{
	const struct peal_pipeline_stage_info *s = &node->stage;
	json_t *row = peali_row_append(rows);

	peali_row_text(row, "stage", "%s", node->text);
	peali_row_uint(row, "device", (uint64_t)s->device);
	add_share(row, "busy_percent", s->busy_ns, s->worker_ns);
	add_share(row, "blocked_percent", s->blocked_ns, s->worker_ns);
	peali_row_uint(row, "samples", s->samples);
	add_mean(row, "handler_ns_mean", s->busy_ns, s->handled, s->samples);
	add_mean(row, "residence_ns_mean", s->residence_ns,
		 s->delivered + s->dead, s->samples);
	peali_row_uint(row, "accepted", s->accepted);
	peali_row_uint(row, "delivered", s->delivered);
	peali_row_uint(row, "delivered_bytes", s->delivered_bytes);
	peali_row_uint(row, "full_count", s->full_count);
}

static void device_row(json_t *rows, const struct peal_device_metrics *d)
{
	json_t *row = peali_row_append(rows);
	uint64_t copied = 0;

	for (int way = 0; way < PEAL_COPY_KINDS; way++)
		copied += d->written[way].bytes;
	peali_row_uint(row, "device", (uint64_t)d->device);
	add_share(row, "busy_percent", d->busy_ns, d->worker_ns);
	add_share(row, "blocked_percent", d->blocked_ns, d->worker_ns);
	peali_row_uint(row, "samples", d->samples);
	peali_row_uint(row, "handled", d->handled);
	peali_row_uint(row, "emitted", d->emitted);
	peali_row_uint(row, "sent_bytes", d->sent.bytes);
	peali_row_uint(row, "received_bytes", d->received.bytes);
	peali_row_uint(row, "copied_bytes", copied);
	peali_row_uint(row, "memory_used_bytes", d->memory_used_bytes);
	peali_row_uint(row, "memory_bytes", d->memory_bytes);
}

static json_t *whole_row(const struct peal_metrics *m)
{
	json_t *row = json_object();
	double imbalance = peal_metrics_imbalance(m);

	peali_row_uint(row, "interval_ns", m->interval_ns);
	peali_row_uint(row, "compute_ns", m->compute_ns);
	peali_row_uint(row, "transfer_ns", m->transfer_ns);
	peali_row_uint(row, "sync_ns", m->sync_ns);
	if (imbalance > 0) {
		peali_row_real(row, "imbalance", imbalance);
		peali_row_real(row, "imbalance_percent", 100 * (imbalance - 1));
	} else {
		peali_row_null(row, "imbalance", "no device was seen busy");
		peali_row_null(row, "imbalance_percent",
			       "no device was seen busy");
	}
	peali_row_uint(row, "samples", m->total.samples);
	return row;
}

void peali_run_profile(const struct peali_run *run, json_t *object)
{
	json_t *stages = json_array();
	json_t *devices = json_array();
	/* static because it is large; a process has one run */
	static struct peal_metrics m;

	if (peal_metrics_delta(&run->before, &run->after, &m) < 0) {
		peali_row_null(object, "profile", "%s",
			       peal_last_error()->text);
		json_decref(stages);
		json_decref(devices);
		return;
	}
	for (uint32_t i = 0; i < run->pipeline.n_stages; i++)
		stage_row(stages, run->nodes + i);
	for (uint32_t i = 0; i < m.n_devices && i < PEAL_METRICS_DEVICES; i++)
		device_row(devices, m.device + i);
	json_object_set_new(object, "profile", whole_row(&m));
	json_object_set_new(object, "profile_stages", stages);
	json_object_set_new(object, "profile_devices", devices);
}

void peali_run_profile_print(FILE *to, const json_t *object)
{
	const json_t *whole = json_object_get(object, "profile");

	if (!json_is_object(whole))
		return;
	fprintf(to, "\n");
	peali_record_print(to, "Profile", whole_columns, whole);
	fprintf(to, "\n");
	peali_table_print(to, "Stages, sampled", stage_columns,
			  json_object_get(object, "profile_stages"));
	fprintf(to, "\n");
	peali_table_print(to, "Devices", device_columns,
			  json_object_get(object, "profile_devices"));
}
