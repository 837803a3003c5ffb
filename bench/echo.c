/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmark `echo`: messages from the host to a worker and back, timed by
 * the host. The host sends a batch of messages, then receives all answers. A
 * sample is the time per message. Baseline: the bare bounce of as many cache
 * lines between two threads. Baselines on GPUs: a launch per message, and the
 * replay of a launch as a graph.
 */
#include <math.h>

#include "bench/bench.h"
#include "bench/runner.h"
#include "bench/options.h"
#include "bench/report.h"
#include "bench/baseline/gpu.h"
#include "bench/samples.h"
#include "bench/fixture.h"
#include "bench/host_round_trip.h"

#define SECONDS 4
#define ROUNDS_LEAST 5
#define LAUNCHES 40 /* launches in a round */
#define BOUNCES 8 /* round trips in a sample of the bare bounce */
#define BOUNCED 125 /* samples in a round */
#define BATCH_MOST 32
#define OVERHEAD 16
#define LINE 64

static const uint32_t sizes[] = { 8, 64, 512, 4096 };
static const uint32_t batches[] = { 1, BATCH_MOST };

struct row {
	uint32_t bytes;
	uint32_t batch;
};

/* Baselines of a row. */
enum peer {
	PEER_LINES, /* threads of the host */
	PEER_LAUNCH, /* from here on: on GPUs */
	PEER_REPLAY,
	PEERS
};

struct echo {
	struct peali_bench_options options;
	struct peali_report report;
	struct peali_fixture fixture;
	uint64_t row_ns; /* time for each row */
	int n_rows;
	struct peali_cores cores; /* cores of the worker and of the host */
	int has_cores;
	struct peali_host_trip trip;
	struct peali_baseline launches;
	enum peer first, last; /* baselines of the row: first to last */
};

static int build(struct echo *e, const struct row *row)
{
	struct peali_fixture *fixture = &e->fixture;
	const struct peali_fixture_worker worker = { 0, 0 };
	int kernel;

	e->first = fixture->on_host ? PEER_LINES : PEER_LAUNCH;
	e->last = fixture->on_host ? PEER_LINES : PEER_REPLAY;
	if (!fixture->on_host &&
	    (peali_baseline_open(&e->launches, fixture, &worker, 1, 1, 0) ||
	     peali_baseline_record(&e->launches)))
		return -1;
	kernel = peali_fixture_launch(fixture, 0, &peal_program_peal_bench, 1);
	e->trip.fixture = fixture;
	e->trip.bytes = row->bytes;
	e->trip.batch = row->batch;
	if (kernel < 0 || peali_host_trip_open(&e->trip, kernel))
		return -1;
	/* The worker has the first core, so the host takes the second one. */
	e->has_cores = fixture->on_host && peali_cores_pick(&e->cores) == 0;
	return 0;
}

/* ---- ours ---------------------------------------------------------------- */

static int run_ours(struct echo *e, struct peali_samples *ours)
{
	int result;

	if (e->has_cores)
		peali_core_bind(e->cores.b);
	result = peali_host_trip_samples(peali_host_trip_once, &e->trip, ours);
	peali_core_bind(-1);
	return result;
}

/* ---- baselines ----------------------------------------------------------- */

static uint32_t lines_of(const struct row *row)
{
	return (row->bytes + OVERHEAD + LINE - 1) / LINE * row->batch;
}

static int run_launches(struct echo *e, const struct row *row,
			double (*send)(struct peali_baseline *baseline,
				       uint32_t bytes),
			struct peali_samples *samples)
{
	for (int i = 0; i < LAUNCHES; i++) {
		double ns = send(&e->launches, row->bytes);

		if (ns < 0)
			return -1;
		peali_samples_add(samples, ns);
	}
	return peali_baseline_check(&e->launches);
}

static int run_peer(struct echo *e, const struct row *row, enum peer peer,
		    struct peali_samples *samples)
{
	if (peer == PEER_LAUNCH)
		return run_launches(e, row, peali_baseline_launch, samples);
	if (peer == PEER_REPLAY && e->launches.recorded)
		return run_launches(e, row, peali_baseline_replay, samples);
	if (peer == PEER_LINES && e->has_cores)
		return peali_cacheline_bounce(&e->cores, lines_of(row), BOUNCES,
					      BOUNCED, samples);
	return 0;
}

/*
 * Runs a round of a baseline. Stores its median in ns per message, or NAN if it
 * cannot run. Returns 0 or -1.
 */
static int time_peer(struct echo *e, const struct row *row, enum peer peer,
		     double *ns_out)
{
	struct peali_samples samples = { 0 };
	int result = run_peer(e, row, peer, &samples);

	*ns_out = peali_samples_open_median(&samples);
	if (peer == PEER_LINES)
		*ns_out /= row->batch;
	peali_samples_fini(&samples);
	return result;
}

/*
 * Runs a round of all baselines and of ours. The samples of a baseline have its
 * ratio.
 */
static int run_round(struct echo *e, const struct row *row,
		     struct peali_samples *ours, struct peali_samples *peers)
{
	int before = e->has_cores ? peali_cores_distance(&e->cores) : 0;
	double ns[PEERS];

	for (enum peer p = e->first; p <= e->last; p++) {
		if (time_peer(e, row, p, ns + p))
			return -1;
		if (!isnan(ns[p]))
			peali_samples_add(peers + p, ns[p]);
	}
	if (run_ours(e, ours))
		return -1;
	if (e->has_cores && peali_cores_distance(&e->cores) != before)
		before = PEALI_TAG_MIXED;
	for (enum peer p = e->first; p <= e->last; p++)
		peali_samples_close(peers + p, before,
				    ns[p] / peali_samples_open_median(ours));
	peali_samples_close(ours, before, NAN);
	return 0;
}

/* ---- rows ---------------------------------------------------------------- */

static const char *name_peer(const struct echo *e, enum peer peer)
{
	if (peer == PEER_LAUNCH)
		return "launch and wait per message";
	if (peer == PEER_REPLAY)
		return e->launches.recorded ?
			       "graph replay and wait per message" :
			       NULL;
	return e->has_cores ? "bare bounce of as many lines" : NULL;
}

/* Fills a row of the report for one baseline. */
static void fill(struct echo *e, const struct row *row, enum peer peer,
		 const struct peali_samples *ours,
		 const struct peali_samples *peers)
{
	json_t *cells = peali_report_row(&e->report, "host to worker to host");
	const char *alone = peali_fixture_no_cores(&e->fixture);
	const char *why = peer == PEER_REPLAY ? "the driver has no graphs" :
						alone;
	const char *versus = name_peer(e, peer);

	peali_row_text(cells, "route", "%s",
		       peal_route_name(
			       peali_fixture_route(&e->fixture, e->trip.link)));
	peali_row_uint(cells, "message_bytes", row->bytes);
	peali_row_uint(cells, "batch", row->batch);
	peali_row_text(cells, "what", "round trip of a batch, per message");
	peali_row_text(cells, "timed_by", "host");
	peali_fixture_cells(&e->fixture, 0, cells);
	peali_samples_row_cores(ours, cells, e->has_cores ? NULL : alone);
	peali_samples_row_durations(ours, cells, "echo_ns");
	if (versus)
		peali_row_real(cells, "versus_ns_p50",
			       peali_samples_spread(peers).median);
	else
		peali_row_null(cells, "versus_ns_p50", "%s", why);
	peali_samples_row_versus(peers, cells, versus, why);
}

static int run_row(struct echo *e, const struct row *row)
{
	struct peali_samples ours = { 0 };
	struct peali_samples peers[PEERS] = { 0 };
	uint64_t until = peali_bench_now_ns() + e->row_ns;
	char label[64];
	int result;

	peali_fixture_fit_lanes(&e->fixture, row->bytes);
	result = build(e, row);
	for (int i = 0;
	     !result && (i < ROUNDS_LEAST || peali_bench_now_ns() < until); i++)
		result = run_round(e, row, &ours, peers);
	if (!result) {
		for (enum peer p = e->first; p <= e->last; p++)
			fill(e, row, p, &ours, peers + p);
		snprintf(label, sizeof(label), "%u-%u", row->bytes, row->batch);
		result = peali_samples_write(&ours, &e->options, "echo", label,
					     e->n_rows == 1);
	}
	if (peali_fixture_clear(&e->fixture))
		result = -1;
	peali_baseline_close(&e->launches);
	peali_samples_fini(&ours);
	for (int p = 0; p < PEERS; p++)
		peali_samples_fini(peers + p);
	return result;
}

/* Runs the selected rows, or only counts them. Returns their number, or -1. */
static int each_row(void *context, int count_only)
{
	struct echo *e = context;
	int n = 0;

	for (int b = 0; b < 2; b++) {
		for (int s = 0; s < 4; s++) {
			const struct row row = { sizes[s], batches[b] };

			if (!peali_bench_wanted(&e->options,
						PEAL_ROUTE_MAPPED_HOST,
						row.bytes))
				continue;
			n++;
			if (!count_only && run_row(e, &row))
				return -1;
		}
	}
	return n;
}

static const struct peali_column columns[] = {
	{ "subject", "subject", 0 },
	{ "message_bytes", "size", PEALI_AS_SIZE },
	{ "batch", "batch", 0 },
	{ "core_distance", "cores", 0 },
	{ "echo_ns_p50", "p50", PEALI_AS_NS },
	{ "echo_ns_p90", "p90", PEALI_AS_NS },
	{ "echo_ns_p99", "p99", PEALI_AS_NS },
	{ "echo_ns_p999", "p99.9", PEALI_AS_NS },
	{ "echo_ns_max", "max", PEALI_AS_NS },
	{ "n_samples", "samples", 0 },
	PEALI_COLUMNS_VERSUS("versus_ns_p50", "its p50", PEALI_AS_NS),
};

static int run(int argc, char **argv, int json)
{
	struct echo e = { 0 };
	const struct peali_runner runner = {
		.benchmark = "echo",
		.title = "there and back per message, by the host's clock; "
			 "ratio above 1: faster than the peer",
		.columns = columns,
		PEALI_RUNNER_STATE(e),
		.about = "Messages from the host to a worker and back, by the "
			 "clock of the host.",
		.seconds = SECONDS,
		.each_row = each_row,
	};

	return peali_runner_main(&runner, argc, argv, json);
}

const struct peali_bench peali_bench_echo = {
	.name = "echo",
	.help = "from the host to a worker and back, per size and batch",
	.run = run,
};
