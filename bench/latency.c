/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmark `latency`: round trips of one message between two workers,
 * timed by the worker that starts them. Baseline: the bare bounce of as many
 * cache lines on the same two cores. Baselines on GPUs: plain kernels on the
 * same devices (baseline/gpu.h), and a launch per message.
 */
#include <math.h>

#include "bench/bench.h"
#include "bench/runner.h"
#include "bench/options.h"
#include "bench/report.h"
#include "bench/baseline/gpu.h"
#include "bench/fixture.h"
#include "bench/load.h"
#include "bench/samples.h"

#define SECONDS 8
/* round trips in a sample; reading the clock takes about 20 ns */
#define BATCH 8
#define WARM 800
#define BUDGET_NS 20000000 /* time of a round; slow routes take fewer samples */
#define ROUNDS_LEAST 5
#define LAUNCHES 40 /* launches in a round, each with a message */
#define PLACES 8 /* most places of the answering worker on a device */
#define PLACED_BYTES 8

static const uint32_t sizes[] = { 8, 48, 64, 256 };

/* Bytes of a message besides the payload: its tag and its header. */
#define OVERHEAD 16
#define LINE 64

struct row {
	enum peal_route route;
	uint32_t bytes;
	int null; /* 1: the link leads back to its sender */
	/*
	 * workers of the device, and index of the answering worker; 0: 2 and 1
	 */
	uint32_t workers, worker;
};

/* Baselines of a row. */
enum peer {
	PEER_NONE,
	PEER_LINES, /* threads of the host */
	PEER_FLAG, /* from here on: on GPUs */
	PEER_ATOM,
	PEER_LAUNCH,
	PEER_REPLAY
};
#define BASELINES_MAX 4

struct latency {
	struct peali_bench_options options;
	struct peali_report report;
	struct peali_fixture fixture;
	uint64_t row_ns; /* time for each row */
	int n_rows;
	struct peali_cores cores;
	int has_cores;
	int start_port;
	int link; /* link from `ping` to the worker that answers */
	/* baseline kernels, in the places of our workers */
	struct peali_baseline baseline;
	struct peali_baseline launches; /* baseline: a launch per message */
	enum peer peers[BASELINES_MAX]; /* baselines of the row */
	int n_peers;
};

static uint32_t lines_of(uint32_t bytes)
{
	return (bytes + OVERHEAD + LINE - 1) / LINE;
}

/* Chooses the baselines and prepares them on GPUs. Returns 0 or -1. */
static int open_peers(struct latency *l, const struct row *row)
{
	int local = row->route == PEAL_ROUTE_LOCAL;
	const struct peali_fixture_worker sides[] = { { 0, 0 },
						      { !local, local } };

	l->n_peers = 0;
	if (row->null)
		l->peers[l->n_peers++] = PEER_NONE;
	else if (l->fixture.on_host)
		l->peers[l->n_peers++] = PEER_LINES;
	if (l->n_peers)
		return 0;
	/* no plain kernel copies as the stager does */
	if (row->route != PEAL_ROUTE_STAGED) {
		l->peers[l->n_peers++] = PEER_FLAG;
		l->peers[l->n_peers++] = PEER_ATOM;
		if (peali_baseline_open(&l->baseline, &l->fixture, sides, 2,
					row->route == PEAL_ROUTE_MAPPED_HOST,
					0))
			return -1;
	}
	l->peers[l->n_peers++] = PEER_LAUNCH;
	l->peers[l->n_peers++] = PEER_REPLAY;
	if (peali_baseline_open(&l->launches, &l->fixture, sides, 1, 1, 0))
		return -1;
	return peali_baseline_record(&l->launches);
}

/*
 * Links `ping` with `bounce` on another worker, in both directions. In a null
 * row `ping` sends to itself.
 */
static int build(struct latency *l, const struct row *row)
{
	struct peali_fixture *fixture = &l->fixture;
	int local = row->route == PEAL_ROUTE_LOCAL;
	struct peal_link_options options = {
		.size = sizeof(options),
		.message_bytes = row->bytes,
		.slot_bytes = lines_of(row->bytes) * LINE,
		.require = row->route,
	};
	uint32_t two = row->workers ? row->workers : 2;
	uint32_t second = row->worker ? row->worker : 1;
	int a = peali_fixture_launch(fixture, 0, &peal_program_peal_bench,
				     local && !row->null ? two : 1);
	int b = local ? a :
			peali_fixture_launch(fixture, 1,
					     &peal_program_peal_bench, 1);
	uint64_t ping = peali_fixture_spawn(fixture, a, "ping", 0);
	uint64_t other = ping;

	if (!ping || b < 0)
		return -1;
	if (!row->null)
		other = peali_fixture_spawn(fixture, b, "bounce",
					    local ? second : 0);
	l->link = peali_fixture_connect(fixture, ping, 0, other, &options);
	if (l->link < 0 || peali_fixture_to_host(fixture, ping, 1))
		return -1;
	if (!row->null &&
	    peali_fixture_connect(fixture, other, 0, ping, &options) < 0)
		return -1;
	l->start_port = peali_fixture_from_host(
		fixture, ping, sizeof(struct peali_bench_start));
	if (!row->null)
		l->has_cores =
			peali_fixture_cores(
				fixture, (struct peali_fixture_worker){ 0, 0 },
				(struct peali_fixture_worker){ !local, local },
				&l->cores) == 0;
	else
		l->has_cores = 0;
	return l->start_port < 0 ? -1 : 0;
}

/* Runs a round of ours into the open round. Returns 0 or -1. */
static int run_ours(struct latency *l, const struct row *row,
		    struct peali_samples *samples)
{
	const struct peali_bench_start start = {
		.seed = peali_bench_seed(),
		.mask = row->null ? 0 : ~UINT64_C(0),
		.budget_ns = BUDGET_NS,
		.bytes = row->bytes,
		.batch = BATCH,
		.warm = WARM,
		.samples = PEALI_BENCH_SAMPLES,
	};
	struct peali_fixture_report report;

	if (peali_fixture_start(&l->fixture, l->start_port, &start) ||
	    peali_fixture_wait(&l->fixture, &report))
		return -1;
	for (uint32_t i = 0; i < report.head.n_samples; i++)
		peali_samples_add(samples, (double)report.samples[i] /
						   PEALI_BENCH_UNITS_PER_NS);
	return 0;
}

/* Runs a round of a plain kernel into the open round. Returns 0 or -1. */
static int run_baseline(struct latency *l, const struct row *row,
			enum peali_baseline_job job,
			struct peali_samples *samples)
{
	const struct peali_baseline_order order = {
		.job = job,
		.bytes = row->bytes,
		.batch = BATCH,
		.warm = WARM,
		.samples = PEALI_BENCH_SAMPLES,
		.budget_ns = BUDGET_NS,
	};
	struct peali_baseline_reports reports;

	if (peali_baseline_run(&l->baseline, &order, &reports))
		return -1;
	for (uint32_t i = 0; i < reports.side[0].head.n_samples; i++)
		peali_samples_add(samples, (double)reports.side[0].samples[i] /
						   PEALI_BENCH_UNITS_PER_NS);
	return 0;
}

static int run_launches(struct latency *l, const struct row *row,
			double (*send)(struct peali_baseline *baseline,
				       uint32_t bytes),
			struct peali_samples *samples)
{
	for (int i = 0; i < LAUNCHES; i++) {
		double ns = send(&l->launches, row->bytes);

		if (ns < 0)
			return -1;
		peali_samples_add(samples, ns);
	}
	return peali_baseline_check(&l->launches);
}

static int run_peer(struct latency *l, const struct row *row, enum peer peer,
		    struct peali_samples *samples)
{
	switch (peer) {
	case PEER_LINES:
		if (!l->has_cores)
			return 0;
		return peali_cacheline_bounce(&l->cores, lines_of(row->bytes),
					      BATCH, PEALI_BENCH_SAMPLES,
					      samples);
	case PEER_FLAG:
		return run_baseline(l, row, PEALI_BASELINE_FLAG, samples);
	case PEER_ATOM:
		return run_baseline(l, row, PEALI_BASELINE_ATOM, samples);
	case PEER_LAUNCH:
		return run_launches(l, row, peali_baseline_launch, samples);
	case PEER_REPLAY:
		return l->launches.recorded ?
			       run_launches(l, row, peali_baseline_replay,
					    samples) :
			       0;
	default:
		return 0;
	}
}

/*
 * Runs a round of the baselines, then of ours. Measures the distance of the
 * cores before and after. The samples of a baseline have its ratio.
 */
static int run_round(struct latency *l, const struct row *row,
		     struct peali_samples *ours, struct peali_samples *peers)
{
	int before = 0, after = 0;
	double median;

	if (l->has_cores)
		before = peali_cores_distance(&l->cores);
	for (int p = 0; p < l->n_peers; p++)
		if (run_peer(l, row, l->peers[p], peers + p))
			return -1;
	if (run_ours(l, row, ours))
		return -1;
	if (l->has_cores)
		after = peali_cores_distance(&l->cores);
	if (before != after)
		before = PEALI_TAG_MIXED;
	median = peali_samples_open_median(ours);
	for (int p = 0; p < l->n_peers; p++)
		peali_samples_close(peers + p, before,
				    peali_samples_open_median(peers + p) /
					    median);
	peali_samples_close(ours, before, NAN);
	return 0;
}

/*
 * Fills in how many times the limit our latency is. Not all baselines are a
 * limit.
 */
static void fill_limit(json_t *row, enum peer peer,
		       const struct peali_samples *peers, const char *why)
{
	struct peali_spread ratio = peali_samples_ratio(peers);

	if (peer == PEER_FLAG || peer >= PEER_LAUNCH) {
		ratio.n = 0;
		why = "the peer is no limit";
	}
	if (!ratio.n) {
		peali_row_null(row, "times_limit", "%s", why);
		peali_row_null(row, "times_limit_min", "%s", why);
		peali_row_null(row, "times_limit_max", "%s", why);
		return;
	}
	peali_row_real(row, "times_limit", 1 / ratio.median);
	peali_row_real(row, "times_limit_min", 1 / ratio.most);
	peali_row_real(row, "times_limit_max", 1 / ratio.least);
}

/* Returns a baseline's name, or NULL if there is none. */
static const char *name_peer(const struct latency *l, const struct row *row,
			     enum peer peer, char *text, size_t size)
{
	switch (peer) {
	case PEER_LINES:
		snprintf(text, size, "bare bounce of %u line%s",
			 lines_of(row->bytes),
			 lines_of(row->bytes) > 1 ? "s" : "");
		return l->has_cores ? text : NULL;
	case PEER_FLAG:
		return "flag and fence, payload apart";
	case PEER_ATOM:
		return "bare bounce of one atom";
	case PEER_LAUNCH:
		return "launch and wait per message";
	case PEER_REPLAY:
		return l->launches.recorded ?
			       "graph replay and wait per message" :
			       NULL;
	default:
		return NULL;
	}
}

/* Returns the reason why a row has no baseline. */
static const char *no_peer(const struct latency *l, const struct row *row,
			   enum peer peer)
{
	if (peer == PEER_REPLAY)
		return "the driver has no graphs";
	return row->null ? "no participant is on the other side" :
			   peali_fixture_no_cores(&l->fixture);
}

/* Fills a row of the report for one baseline. */
static void fill(struct latency *l, const struct row *row, enum peer peer,
		 const struct peali_samples *ours,
		 const struct peali_samples *peers)
{
	json_t *cells =
		peali_report_row(&l->report, row->null ? "null" : "link");
	const char *why = no_peer(l, row, peer);
	const char *alone = no_peer(l, row, PEER_LINES);
	char text[48];
	const char *versus = name_peer(l, row, peer, text, sizeof(text));

	peali_row_text(
		cells, "route", "%s",
		peal_route_name(peali_fixture_route(&l->fixture, l->link)));
	peali_row_uint(cells, "message_bytes", row->bytes);
	peali_row_uint(cells, "lines", lines_of(row->bytes));
	peali_row_text(cells, "what", "round trip");
	peali_fixture_cells(&l->fixture, row->route != PEAL_ROUTE_LOCAL, cells);
	peali_row_text(cells, "timed_by", "initiating worker");
	peali_row_uint(cells, "round_trips_per_sample", BATCH);
	peali_samples_row_cores(ours, cells, l->has_cores ? NULL : alone);
	peali_samples_row_durations(ours, cells, "latency_ns");
	if (versus)
		peali_row_real(cells, "versus_ns_p50",
			       peali_samples_spread(peers).median);
	else
		peali_row_null(cells, "versus_ns_p50", "%s", why);
	if (versus && peer != PEER_LINES)
		peali_row_text(cells, "versus_timed_by", "%s",
			       peer >= PEER_LAUNCH ? "host" :
						     "initiating worker");
	peali_samples_row_versus(peers, cells, versus, why);
	fill_limit(cells, peer, peers, why);
}

static int run_row(struct latency *l, const struct row *row)
{
	struct peali_samples ours = { 0 };
	struct peali_samples peers[BASELINES_MAX] = { 0 };
	uint64_t until = peali_bench_now_ns() + l->row_ns;
	char label[64];
	int result;

	if (!peali_fixture_can(&l->fixture, row->route))
		return 0;
	peali_fixture_fit_lanes(&l->fixture, row->bytes);
	/* The baselines must be set up before our kernels are resident. */
	result = open_peers(l, row) || build(l, row) ? -1 : 0;

	for (int i = 0;
	     !result && (i < ROUNDS_LEAST || peali_bench_now_ns() < until); i++)
		result = run_round(l, row, &ours, peers);
	if (!result) {
		for (int p = 0; p < l->n_peers; p++)
			fill(l, row, l->peers[p], &ours, peers + p);
		snprintf(label, sizeof(label), "%s-%u",
			 row->null ? "null" : peal_route_name(row->route),
			 row->bytes);
		result = peali_samples_write(&ours, &l->options, "latency",
					     label, l->n_rows == 1);
	}
	if (peali_fixture_clear(&l->fixture))
		result = -1;
	peali_samples_fini(&ours);
	for (int p = 0; p < BASELINES_MAX; p++)
		peali_samples_fini(peers + p);
	peali_baseline_close(&l->baseline);
	peali_baseline_close(&l->launches);
	return result;
}

/* ---- places on one device ------------------------------------------------ */

/*
 * Latencies between worker 0 and other workers of a device. They depend on the
 * multiprocessors' ways to the parts of the L2 cache.
 */
struct places {
	struct peali_samples all; /* round trips */
	double one_way[PLACES];
	uint32_t n, workers;
};

/*
 * Returns half of the device's multiprocessors, because parts of a GPU share
 * them.
 */
static uint32_t workers_of(const struct peali_fixture *fixture)
{
	struct peal_device_info info;

	if (peal_device_info(fixture->runtime, 0, &info) < 0 ||
	    info.compute_units < 4)
		return 2;
	return info.compute_units / 2;
}

/* Measures worker 0 and one other worker, in a round of its own. */
static int run_place(struct latency *l, struct places *places, uint32_t worker)
{
	const struct row row = { PEAL_ROUTE_LOCAL, PLACED_BYTES, 0,
				 places->workers, worker };
	int result;

	result = build(l, &row) || run_ours(l, &row, &places->all) ? -1 : 0;
	if (!result) {
		places->one_way[places->n++] =
			peali_samples_open_median(&places->all) / 2;
		peali_samples_close(&places->all, 0, NAN);
	}
	return peali_fixture_clear(&l->fixture) ? -1 : result;
}

static void fill_places(struct latency *l, struct places *places)
{
	json_t *cells = peali_report_row(&l->report, "link, by placement");
	const char *why = "where workers are, not a peer";

	peali_row_text(cells, "route", "%s", peal_route_name(PEAL_ROUTE_LOCAL));
	peali_row_uint(cells, "message_bytes", PLACED_BYTES);
	peali_row_text(cells, "what", "worker 0 and each of others");
	peali_fixture_cells(&l->fixture, 0, cells);
	peali_row_text(cells, "timed_by", "initiating worker");
	peali_row_uint(cells, "round_trips_per_sample", BATCH);
	peali_row_uint(cells, "workers", places->workers);
	peali_row_uint(cells, "pairs", places->n);
	/* half of a round trip, because two multiprocessors have two clocks */
	peali_row_real(cells, "one_way_ns_p50",
		       peali_median(places->one_way, places->n));
	peali_row_real(cells, "one_way_ns_min", places->one_way[0]);
	peali_row_real(cells, "one_way_ns_max", places->one_way[places->n - 1]);
	peali_row_null(cells, "core_distance", "%s", why);
	peali_samples_row_durations(&places->all, cells, "latency_ns");
	peali_samples_row_versus(&places->all, cells, NULL, why);
	fill_limit(cells, PEER_NONE, &places->all, why);
}

static int run_places(struct latency *l)
{
	struct places places = { .workers = workers_of(&l->fixture) };
	uint32_t others = places.workers - 1;
	uint32_t n = others < PLACES ? others : PLACES;
	int result = 0;

	peali_fixture_fit_lanes(&l->fixture, PLACED_BYTES);
	for (uint32_t i = 0; i < n && !result; i++)
		result = run_place(l, &places, 1 + i * others / n);
	if (!result)
		fill_places(l, &places);
	peali_samples_fini(&places.all);
	return result;
}

/* ---- in a cluster -------------------------------------------------------- */

/*
 * Runs a round between workers 0 and 1, in a cluster unless cluster.workers is
 * 0. Returns 0 or -1. Returns 1 if the program has no image with clusters for
 * this device.
 */
static int run_clustered(struct latency *l, uint32_t cluster_workers,
			 struct peali_samples *samples)
{
	const struct row row = { PEAL_ROUTE_LOCAL, PLACED_BYTES, 0, 0, 0 };
	int result;

	l->fixture.cluster_workers = cluster_workers;
	result = build(l, &row) ? -1 : 0;
	if (!result && cluster_workers &&
	    !peali_fixture_cluster(&l->fixture, 0))
		result = 1;
	if (!result && run_ours(l, &row, samples))
		result = -1;
	if (!result && cluster_workers &&
	    !peali_fixture_in_cluster(&l->fixture, l->link)) {
		peali_say("the link is not in the cluster's memory");
		result = -1;
	}
	l->fixture.cluster_workers = 0;
	return peali_fixture_clear(&l->fixture) ? -1 : result;
}

static void fill_clustered(struct latency *l, struct peali_samples *ours,
			   struct peali_samples *plain)
{
	json_t *cells = peali_report_row(&l->report, "link, in a cluster");
	struct peali_spread spread = peali_samples_spread(ours);

	peali_row_text(cells, "route", "%s", peal_route_name(PEAL_ROUTE_LOCAL));
	peali_row_uint(cells, "message_bytes", PLACED_BYTES);
	peali_row_text(cells, "what", "worker 0 and 1, of one cluster");
	peali_fixture_cells(&l->fixture, 0, cells);
	peali_row_text(cells, "timed_by", "initiating worker");
	peali_row_uint(cells, "round_trips_per_sample", BATCH);
	peali_row_real(cells, "one_way_ns_p50", spread.median / 2);
	peali_row_real(cells, "one_way_ns_min", spread.least / 2);
	peali_row_real(cells, "one_way_ns_max", spread.most / 2);
	peali_row_null(cells, "core_distance", "%s", "no cores");
	peali_samples_row_durations(ours, cells, "latency_ns");
	peali_row_real(cells, "versus_ns_p50",
		       peali_samples_spread(plain).median);
	peali_samples_row_versus(plain, cells,
				 "the same link in the device's memory", NULL);
	fill_limit(cells, PEER_FLAG, plain, "the peer is no limit");
}

/*
 * Runs rounds with and without a cluster in turn. Does nothing on devices
 * without clusters.
 */
static int run_clusters(struct latency *l)
{
	struct peali_samples ours = { 0 }, plain = { 0 };
	uint64_t until = peali_bench_now_ns() + l->row_ns;
	struct peal_device_info info;
	int i, result = 0;

	if (peal_device_info(l->fixture.runtime, 0, &info) < 0)
		return -1;
	if (!info.max_cluster_workers)
		return 0;
	peali_fixture_fit_lanes(&l->fixture, PLACED_BYTES);
	for (i = 0;
	     !result && (i < ROUNDS_LEAST || peali_bench_now_ns() < until);
	     i++) {
		result = run_clustered(l, 2, &ours);
		if (!result)
			result = run_clustered(l, 0, &plain);
		if (result)
			break;
		peali_samples_close(&plain, 0,
				    peali_samples_open_median(&plain) /
					    peali_samples_open_median(&ours));
		peali_samples_close(&ours, 0, NAN);
	}
	if (!result)
		fill_clustered(l, &ours, &plain);
	if (result > 0) {
		peali_say("no row in a cluster: no image of the benchmarks' "
			  "program is for clusters on %s; set sm_90 or newer "
			  "in PEAL_TARGETS",
			  info.name);
		result = 0;
	}
	peali_samples_fini(&ours);
	peali_samples_fini(&plain);
	return result;
}

/* ---- beside copies ------------------------------------------------------- */

/* Samples of a row beside copies: round trips, and the rate of the copies. */
struct loaded {
	struct peali_samples ours, peer, alone, rate;
};

/*
 * Runs a round of ours alone, then of the baseline and of ours beside copies.
 * Returns 0 or -1.
 */
static int round_loaded(struct latency *l, const struct row *row,
			struct peali_load *load, struct loaded *s)
{
	double rate;
	int failed = run_ours(l, row, &s->alone) || peali_load_begin(load) ||
		     run_peer(l, row, l->peers[0], &s->peer) ||
		     run_ours(l, row, &s->ours);

	if (failed)
		return -1;
	rate = peali_load_end(load);
	if (rate < 0)
		return -1;
	peali_samples_add(&s->rate, rate);
	peali_samples_close(&s->peer, 0,
			    peali_samples_open_median(&s->peer) /
				    peali_samples_open_median(&s->ours));
	peali_samples_close(&s->ours, 0, NAN);
	peali_samples_close(&s->alone, 0, NAN);
	peali_samples_close(&s->rate, 0, NAN);
	return 0;
}

static void fill_loaded(struct latency *l, const struct row *row,
			const struct peali_load *load, const struct loaded *s)
{
	json_t *cells = peali_report_row(&l->report, "link, beside copies");
	const char *why = no_peer(l, row, l->peers[0]);
	char text[48];
	const char *versus = name_peer(l, row, l->peers[0], text, sizeof(text));
	struct peali_spread spread = peali_samples_spread(&s->ours);

	peali_row_text(cells, "route", "%s", peal_route_name(row->route));
	peali_row_uint(cells, "message_bytes", row->bytes);
	peali_row_text(cells, "what", "round trip while workers copy memory");
	peali_fixture_cells(&l->fixture, 0, cells);
	peali_row_text(cells, "timed_by", "initiating worker");
	peali_row_uint(cells, "round_trips_per_sample", BATCH);
	peali_row_uint(cells, "copying_workers", load->crowd.n);
	peali_row_real(cells, "copied_gigabytes_per_s",
		       peali_samples_spread(&s->rate).median);
	peali_row_real(cells, "alone_ns_p50",
		       peali_samples_spread(&s->alone).median);
	peali_row_real(cells, "one_way_ns_p50", spread.median / 2);
	peali_row_real(cells, "one_way_ns_min", spread.least / 2);
	peali_row_real(cells, "one_way_ns_max", spread.most / 2);
	peali_row_null(cells, "core_distance", "%s", "the copies move workers");
	peali_samples_row_durations(&s->ours, cells, "latency_ns");
	if (versus)
		peali_row_real(cells, "versus_ns_p50",
			       peali_samples_spread(&s->peer).median);
	else
		peali_row_null(cells, "versus_ns_p50", "%s", why);
	peali_samples_row_versus(&s->peer, cells, versus, why);
	fill_limit(cells, l->peers[0], &s->peer, why);
}

/* Measures a link of one device while other workers copy its memory. */
static int run_loaded(struct latency *l)
{
	static const struct peali_fixture_worker sides[] = { { 0, 0 },
							     { 0, 1 } };
	const struct row row = { PEAL_ROUTE_LOCAL, PLACED_BYTES, 0, 0, 0 };
	uint64_t until = peali_bench_now_ns() + l->row_ns;
	struct peali_load load = { 0 };
	struct loaded s = { 0 };
	int result = 0;

	peali_fixture_fit_lanes(&l->fixture, row.bytes);
	l->peers[0] = l->fixture.on_host ? PEER_LINES : PEER_ATOM;
	if (!l->fixture.on_host)
		result = peali_baseline_open(&l->baseline, &l->fixture, sides,
					     2, 0, 0);
	if (!result)
		result = build(l, &row) || peali_load_build(&load, &l->fixture);
	for (int i = 0;
	     !result && (i < ROUNDS_LEAST || peali_bench_now_ns() < until); i++)
		result = round_loaded(l, &row, &load, &s);
	if (!result)
		fill_loaded(l, &row, &load, &s);
	if (peali_fixture_clear(&l->fixture) || peali_load_free(&load))
		result = -1;
	peali_baseline_close(&l->baseline);
	peali_samples_fini(&s.ours);
	peali_samples_fini(&s.peer);
	peali_samples_fini(&s.alone);
	peali_samples_fini(&s.rate);
	return result ? -1 : 0;
}

/* ---- rows ---------------------------------------------------------------- */

/* Runs the selected rows, or only counts them. Returns their number, or -1. */
static int each_row(void *context, int count_only)
{
	struct latency *l = context;
	static const enum peal_route routes[] = {
		PEAL_ROUTE_PEER,   PEAL_ROUTE_LOCAL, PEAL_ROUTE_MAPPED_HOST,
		PEAL_ROUTE_STAGED, PEAL_ROUTE_LOCAL, /* null */
	};
	int n = 0;

	for (int r = 0; r < 5; r++) {
		for (int s = 0; s < 4; s++) {
			const struct row row = { routes[r], sizes[s], r == 4, 0,
						 0 };

			if (!peali_bench_wanted(&l->options, row.route,
						row.bytes))
				continue;
			n++;
			if (!count_only && run_row(l, &row))
				return -1;
		}
	}
	return n;
}

static const struct peali_column columns[] = {
	{ "subject", "subject", 0 },
	{ "route", "route", 0 },
	{ "message_bytes", "size", PEALI_AS_SIZE },
	{ "core_distance", "cores", 0 },
	{ "latency_ns_p50", "p50", PEALI_AS_NS },
	{ "latency_ns_p90", "p90", PEALI_AS_NS },
	{ "latency_ns_p99", "p99", PEALI_AS_NS },
	{ "latency_ns_p999", "p99.9", PEALI_AS_NS },
	{ "latency_ns_max", "max", PEALI_AS_NS },
	{ "n_samples", "samples", 0 },
	{ "pairs", "pairs", 0 },
	{ "one_way_ns_p50", "one way", PEALI_AS_NS },
	{ "one_way_ns_min", "nearest", PEALI_AS_NS },
	{ "one_way_ns_max", "farthest", PEALI_AS_NS },
	PEALI_COLUMN_BREAK,
	{ "versus", "versus", 0 },
	{ "versus_ns_p50", "its p50", PEALI_AS_NS },
	{ "ratio", "ratio", 2 },
	{ "ratio_min", "min", 2 },
	{ "ratio_max", "max", 2 },
	{ "times_limit", "x limit", 2 },
	{ NULL, NULL, 0 },
};

static int measure_rows(void *context)
{
	struct latency *l = context;
	int n = each_row(l, 0);

	if (n < 0 ||
	    !peali_bench_wanted(&l->options, PEAL_ROUTE_LOCAL, PLACED_BYTES))
		return n;
	if (!l->fixture.on_host && (run_places(l) || run_clusters(l)))
		return -1;
	/* The copies need all of a GPU. */
	if (peali_fixture_close(&l->fixture) ||
	    peali_fixture_open(&l->fixture, 1))
		return -1;
	return run_loaded(l) ? -1 : n;
}

static int run(int argc, char **argv, int json)
{
	struct latency l = { 0 };
	const struct peali_runner runner = {
		.benchmark = "latency",
		.title =
			"round trip, a sample is the mean of 8; ratio above 1: "
			"faster than the peer",
		.columns = columns,
		.rows = measure_rows,
		PEALI_RUNNER_STATE(l),
		.about = "Round trips between two workers, by the clock of "
			 "the initiating worker.",
		.seconds = SECONDS,
		.each_row = each_row,
	};

	return peali_runner_main(&runner, argc, argv, json);
}

const struct peali_bench peali_bench_latency = {
	.name = "latency",
	.help = "round trips between two workers, per route and message size",
	.run = run,
};
