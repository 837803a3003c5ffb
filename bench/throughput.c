/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmark `throughput`: messages per second from a worker or the host to
 * another worker. The receiver measures from the end of its warm-up to its last
 * message. Baseline: a plain ring between two pinned threads, with the same
 * payload. Baselines on GPUs: rings of plain kernels on the same devices.
 */
#include <math.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/runner.h"
#include "bench/options.h"
#include "bench/report.h"
#include "bench/baseline/gpu.h"
#include "bench/fixture.h"
#include "bench/samples.h"

#define SECONDS 8
#define ROUND_NS 3e6 /* approximate time of a round */
#define ROUNDS_LEAST 5
#define MESSAGES_MOST 1000000
#define LINE 64
#define OVERHEAD 16
#define RING_BYTES 65536

static const uint32_t sizes[] = { 8, 64, 256, 4096 };

struct row {
	enum peal_route route; /* NONE: from the host */
	uint32_t bytes;
	uint32_t batch;
};

/* A baseline of a row. */
struct peer {
	/* job of a plain kernel; 0: threads of the host */
	enum peali_baseline_job job;
	const char *name;
};
static const struct peer ring_of_threads = { 0, "bare ring of cache lines" };
static const struct peer baseline_rings[] = {
	{ PEALI_BASELINE_TICKET, "ring, ticket and fence per message" },
	{ PEALI_BASELINE_ACQREL, "ring, acquire and release" },
	{ PEALI_BASELINE_CAS, "ring, compare-and-swap at both ends" },
	{ PEALI_BASELINE_LANES,
	  "ring, 32 lanes with a ticket and a message each" },
	{ PEALI_BASELINE_LL, "ring, flags among the data" },
	{ PEALI_BASELINE_SEMAPHORE, "ring, semaphores" },
};
#define BASELINES (int)(sizeof(baseline_rings) / sizeof(baseline_rings[0]))
/* lanes of PEALI_BASELINE_LANES, each with its own messages */
#define BASELINE_LANES 32

struct throughput {
	struct peali_bench_options options;
	struct peali_report report;
	struct peali_fixture fixture;
	uint64_t row_ns; /* time for each row */
	int n_rows;
	struct peali_cores cores;
	int has_cores;
	int source_port, sink_port; /* ports of the host */
	int link;
	uint32_t capacity;
	uint64_t messages; /* messages of a round */
	/* baseline kernels, in the places of our workers */
	struct peali_baseline baseline;
	const struct peer *peers; /* baselines of the row; NULL: none */
	int n_peers;
};

/*
 * Returns options for a link as deep as the plain ring. For payloads up to 512
 * bytes a slot has 32 bytes or whole lines.
 */
static struct peal_link_options link_options(const struct row *row)
{
	struct peal_link_options options = {
		.size = sizeof(options),
		.message_bytes = row->bytes,
		.require = row->route,
	};
	uint32_t slot = (row->bytes + OVERHEAD + LINE - 1) / LINE * LINE;

	if (row->bytes <= 8)
		slot = 32; /* two slots in a line */
	if (row->bytes <= 512)
		options.slot_bytes = slot;
	for (options.capacity = 64; options.capacity * 2 * slot <= RING_BYTES;
	     options.capacity *= 2)
		;
	return options;
}

/* Chooses the baselines and prepares them on GPUs. Returns 0 or -1. */
static int open_peers(struct throughput *t, const struct row *row)
{
	int local = row->route == PEAL_ROUTE_LOCAL;
	const struct peali_fixture_worker sides[] = { { 0, 0 },
						      { !local, local } };

	t->has_cores = t->fixture.on_host && peali_cores_pick(&t->cores) == 0;
	t->peers = NULL;
	t->n_peers = 1; /* a row without a baseline counts, too */
	if (t->has_cores)
		t->peers = &ring_of_threads;
	if (t->fixture.on_host || !row->route ||
	    row->route == PEAL_ROUTE_STAGED)
		return 0;
	t->peers = baseline_rings;
	t->n_peers = BASELINES;
	return peali_baseline_open(&t->baseline, &t->fixture, sides, 2,
				   row->route == PEAL_ROUTE_MAPPED_HOST, 0);
}

static int build(struct throughput *t, const struct row *row)
{
	struct peali_fixture *fixture = &t->fixture;
	int local = row->route == PEAL_ROUTE_LOCAL;
	const struct peal_link_options tick = {
		.size = sizeof(tick),
		.message_bytes = 8,
	};
	struct peal_link_options options = link_options(row);
	int a = peali_fixture_launch(fixture, 0, &peal_program_peal_bench,
				     local ? 2 : 1);
	int b = local || !row->route ?
			a :
			peali_fixture_launch(fixture, 1,
					     &peal_program_peal_bench, 1);
	uint64_t sink =
		b < 0 ? 0 :
			peali_fixture_spawn(fixture, b, "sink", local ? 1 : 0);
	uint64_t source;

	if (!sink || peali_fixture_to_host(fixture, sink, 0))
		return -1;
	t->sink_port = peali_fixture_from_host(
		fixture, sink, sizeof(struct peali_bench_start));
	t->capacity = options.capacity;
	if (!row->route) {
		t->source_port = (int)fixture->n_ports++;
		t->link = peali_fixture_connect(
			fixture, peal_endpoint_address(fixture->host),
			(uint32_t)t->source_port, sink, &options);
		return t->link < 0 ? -1 : 0;
	}
	source = peali_fixture_spawn(fixture, a, "source", 0);
	t->link = peali_fixture_connect(fixture, source, 0, sink, &options);
	if (t->link < 0 ||
	    peali_fixture_connect(fixture, source, 1, source, &tick) < 0)
		return -1;
	t->source_port = peali_fixture_from_host(
		fixture, source, sizeof(struct peali_bench_start));
	if (t->has_cores)
		t->has_cores =
			peali_fixture_cores(
				fixture, (struct peali_fixture_worker){ 0, 0 },
				(struct peali_fixture_worker){ !local, local },
				&t->cores) == 0;
	return t->source_port < 0 ? -1 : 0;
}

/* Sends all messages from the host. */
static int send_all(struct throughput *t, const struct peali_bench_start *start)
{
	uint64_t base[PEALI_BENCH_WORDS];
	const struct peali_bench_share share = { start->bytes / 8, 0, 1 };
	int result = 0;

	for (uint32_t i = 0; i < share.words; i++)
		base[i] = peali_bench_word(start->seed, i);
	for (uint64_t i = 0; !result && i < start->messages; i++) {
		void *place;

		result = peal_send_reserve(t->fixture.host,
					   (uint32_t)t->source_port,
					   start->bytes, PEALI_FIXTURE_WAIT_NS,
					   &place);
		if (result)
			break;
		peali_bench_fill(place, base, i, share);
		result = peal_send_commit(t->fixture.host,
					  (uint32_t)t->source_port,
					  PEALI_BENCH_DATA);
	}
	return result ? peali_say_error("send a message") : 0;
}

/*
 * Runs a round of ours. Returns messages per second, or a negative value after
 * an error.
 */
static double run_ours(struct throughput *t, const struct row *row)
{
	const struct peali_bench_start start = {
		.seed = peali_bench_seed(),
		.messages = t->messages + t->capacity,
		.bytes = row->bytes,
		.batch = row->batch,
		.warm = t->capacity,
	};
	struct peali_fixture_report report;
	int failed;

	if (peali_fixture_start(&t->fixture, t->sink_port, &start) ||
	    peali_fixture_wait(&t->fixture, &report))
		return -1;
	if (row->route)
		failed = peali_fixture_start(&t->fixture, t->source_port,
					     &start);
	else
		failed = send_all(t, &start);
	if (failed || peali_fixture_wait(&t->fixture, &report))
		return -1;
	if (report.head.messages != t->messages) {
		peali_say("a round of %llu messages delivered %llu",
			  (unsigned long long)t->messages,
			  (unsigned long long)report.head.messages);
		return -1;
	}
	return (double)report.head.messages * 1e9 /
	       (double)(report.head.elapsed_ns + 1);
}

/* Runs a round of a plain kernel's ring. Returns as run_ours. */
static double run_baseline(struct throughput *t, const struct row *row,
			   enum peali_baseline_job job)
{
	const struct peali_baseline_order order = {
		.job = job,
		.bytes = row->bytes,
		.batch = row->batch,
		.warm = t->capacity,
		.slots = t->capacity,
		.messages = t->messages + t->capacity,
		.lanes = job == PEALI_BASELINE_LANES ? BASELINE_LANES : 0,
	};
	struct peali_baseline_reports reports;
	const struct peali_bench_report *taker = &reports.side[1].head;

	if (peali_baseline_run(&t->baseline, &order, &reports))
		return -1;
	return (double)taker->messages * 1e9 / (double)(taker->elapsed_ns + 1);
}

/*
 * Runs a round of a baseline. Returns as run_ours, or NAN if there is no
 * baseline.
 */
static double run_peer(struct throughput *t, const struct row *row, int peer)
{
	if (!t->peers)
		return NAN;
	if (t->peers[peer].job)
		return run_baseline(t, row, t->peers[peer].job);
	return peali_cacheline_ring(&t->cores, row->bytes, row->batch,
				    t->messages);
}

/*
 * Runs a round of all baselines and of ours. The samples of a baseline have its
 * ratio.
 */
static int run_round(struct throughput *t, const struct row *row,
		     struct peali_samples *ours, struct peali_samples *peers)
{
	int before = 0, after = 0;
	double rate, peer[BASELINES];

	if (t->has_cores)
		before = peali_cores_distance(&t->cores);
	for (int p = 0; p < t->n_peers; p++) {
		peer[p] = run_peer(t, row, p);
		if (peer[p] < 0)
			return -1;
		if (!isnan(peer[p]))
			peali_samples_add(peers + p, peer[p]);
	}
	rate = run_ours(t, row);
	if (rate < 0)
		return -1;
	peali_samples_add(ours, rate);
	if (t->has_cores)
		after = peali_cores_distance(&t->cores);
	if (before != after)
		before = PEALI_TAG_MIXED;
	for (int p = 0; p < t->n_peers; p++)
		peali_samples_close(peers + p, before, rate / peer[p]);
	peali_samples_close(ours, before, NAN);
	return 0;
}

static const char *no_peer(const struct throughput *t, const struct row *row)
{
	if (t->fixture.on_host)
		return peali_fixture_no_cores(&t->fixture);
	return row->route ? "no plain kernel does what the stager does" :
			    "`peal bench echo` compares what the host sends";
}

/* Fills a row of the report for one baseline. */
static void fill(struct throughput *t, const struct row *row, int peer,
		 const struct peali_samples *ours,
		 const struct peali_samples *peers)
{
	const char *why = no_peer(t, row);
	const char *versus = t->peers ? t->peers[peer].name : NULL;
	json_t *cells = peali_report_row(&t->report,
					 row->route ? "link" : "host to link");

	peali_row_text(
		cells, "route", "%s",
		peal_route_name(peali_fixture_route(&t->fixture, t->link)));
	peali_row_uint(cells, "message_bytes", row->bytes);
	peali_row_uint(cells, "batch", row->batch);
	peali_row_uint(cells, "capacity", t->capacity);
	peali_row_uint(cells, "messages", t->messages);
	peali_row_text(cells, "timed_by", "receiving worker");
	peali_fixture_cells(&t->fixture,
			    row->route && row->route != PEAL_ROUTE_LOCAL,
			    cells);
	peali_samples_row_cores(
		ours, cells,
		t->has_cores ? NULL : peali_fixture_no_cores(&t->fixture));
	peali_samples_row_rates(ours, cells, "messages_per_s");
	peali_row_real(cells, "megamessages_per_s",
		       peali_samples_spread(ours).median / 1e6);
	peali_row_real(cells, "gigabytes_per_s",
		       peali_samples_spread(ours).median * row->bytes / 1e9);
	if (versus)
		peali_row_real(cells, "versus_megamessages_per_s",
			       peali_samples_spread(peers).median / 1e6);
	else
		peali_row_null(cells, "versus_megamessages_per_s", "%s", why);
	peali_samples_row_versus(peers, cells, versus, why);
}

/*
 * Chooses the messages of a round that takes about ROUND_NS. Returns 0 or -1.
 */
static int calibrate(struct throughput *t, const struct row *row)
{
	double rate;

	t->messages = 2 * t->capacity;
	rate = run_ours(t, row);
	if (rate < 0)
		return -1;
	t->messages = (uint64_t)(rate * ROUND_NS / 1e9) + 2 * t->capacity;
	if (t->messages > MESSAGES_MOST)
		t->messages = MESSAGES_MOST;
	return 0;
}

static int run_row(struct throughput *t, const struct row *row)
{
	struct peali_samples ours = { 0 };
	struct peali_samples peers[BASELINES] = { 0 };
	uint64_t until = peali_bench_now_ns() + t->row_ns;
	char label[64];
	int result;

	if (!peali_fixture_can(&t->fixture, row->route))
		return 0;
	peali_fixture_fit_lanes(&t->fixture, row->bytes);
	/* The baselines must be set up before our kernels are resident. */
	result = open_peers(t, row) || build(t, row) ? -1 : 0;

	if (!result)
		result = calibrate(t, row);
	for (int i = 0;
	     !result && (i < ROUNDS_LEAST || peali_bench_now_ns() < until); i++)
		result = run_round(t, row, &ours, peers);
	if (!result) {
		for (int p = 0; p < t->n_peers; p++)
			fill(t, row, p, &ours, peers + p);
		snprintf(label, sizeof(label), "%s-%u-%u",
			 row->route ? peal_route_name(row->route) : "host",
			 row->bytes, row->batch);
		result = peali_samples_write(&ours, &t->options, "throughput",
					     label, t->n_rows == 1);
	}
	if (peali_fixture_clear(&t->fixture))
		result = -1;
	peali_samples_fini(&ours);
	for (int p = 0; p < BASELINES; p++)
		peali_samples_fini(peers + p);
	peali_baseline_close(&t->baseline);
	return result;
}

/* Runs the selected rows, or only counts them. Returns their number, or -1. */
static int each_row(void *context, int count_only)
{
	struct throughput *t = context;
	static const struct {
		enum peal_route route;
		uint32_t batch;
	} links[] = {
		{ PEAL_ROUTE_PEER, 1 },	   { PEAL_ROUTE_PEER, 32 },
		{ PEAL_ROUTE_LOCAL, 32 },  { PEAL_ROUTE_MAPPED_HOST, 32 },
		{ PEAL_ROUTE_STAGED, 32 }, { PEAL_ROUTE_NONE, 1 },
	};
	int n = 0;

	for (int k = 0; k < 6; k++) {
		for (int s = 0; s < 4; s++) {
			const struct row row = { links[k].route, sizes[s],
						 links[k].batch };

			if (!peali_bench_wanted(&t->options, row.route,
						row.bytes))
				continue;
			n++;
			if (!count_only && run_row(t, &row))
				return -1;
		}
	}
	return n;
}

static const struct peali_column columns[] = {
	{ "subject", "subject", 0 },
	{ "route", "route", 0 },
	{ "message_bytes", "size", PEALI_AS_SIZE },
	{ "batch", "batch", 0 },
	{ "core_distance", "cores", 0 },
	{ "megamessages_per_s", "messages", PEALI_AS_MEGA_PER_S },
	{ "gigabytes_per_s", "payload", PEALI_AS_GB_PER_S },
	{ "n_samples", "rounds", 0 },
	PEALI_COLUMNS_VERSUS("versus_megamessages_per_s", "its rate",
			     PEALI_AS_MEGA_PER_S),
};

static int run(int argc, char **argv, int json)
{
	struct throughput t = { 0 };
	const struct peali_runner runner = {
		.benchmark = "throughput",
		.title =
			"messages delivered, every payload checked; ratio above "
			"1: faster than the peer",
		.columns = columns,
		PEALI_RUNNER_STATE(t),
		.about = "Messages per second over one link, by the clock of "
			 "the worker that receives them.",
		.seconds = SECONDS,
		.each_row = each_row,
	};

	return peali_runner_main(&runner, argc, argv, json);
}

const struct peali_bench peali_bench_throughput = {
	.name = "throughput",
	.help = "messages per second, per link, message size and batch",
	.run = run,
};
