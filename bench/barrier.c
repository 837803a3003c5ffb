/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmark `barrier`: phases of a barrier across devices, in handlers.
 * Baseline: as many phases of plain threads, or of plain kernels on GPUs. A
 * sample is the mean time of a phase in one round, of the slowest participant.
 */
#include <math.h>
#include <string.h>

#include <peal/barrier.h>
#include <peal/memory.h>

#include "bench/baseline/barrier.h"
#include "bench/bench.h"
#include "bench/crowd.h"
#include "bench/options.h"
#include "bench/report.h"
#include "bench/baseline/gpu.h"
#include "bench/fixture.h"
#include "bench/samples.h"

#define SECONDS 6
#define DEVICES 4
#define ROUND_NS 2e6
#define ROUNDS_LEAST 5
#define PHASES_LEAST 64
#define PHASES_MOST 100000
#define WARM 32
#define PARTICIPANTS_MOST 8
/* workers of an emulated device, and lanes of others, for a whole device */
#define WHOLE_EMULATED 4
#define WHOLE_LANES 32

struct row {
	uint32_t devices;
	uint32_t each; /* participants per device */
};

static const struct row rows[] = { { 2, 1 }, { 1, 2 }, { 2, 2 }, { 4, 1 } };
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))
#define N_ALL (N_ROWS + 1) /* and one for a whole device */

struct barrier {
	struct peali_bench_options options;
	struct peali_report report;
	struct peali_fixture fixture;
	uint64_t row_ns;
	/* ports of the host that lead to the participants */
	int ports[PARTICIPANTS_MOST];
	uint32_t participants;
	uint64_t phases; /* phases of a round that are timed */
	/* as `phases`, for each baseline */
	uint64_t peer_phases[PEALI_BARRIER_BASELINES];
	uint64_t total; /* phases of our barrier since it was made */
	struct peali_cores cores;
	/* baseline kernels, in the places of our workers */
	struct peali_baseline baseline;
	int is_whole; /* 1: a worker on each multiprocessor of one device */
	struct peali_crowd crowd; /* of a whole device */
	uint64_t words; /* its phase words on the device; 0: none */
	int pinned; /* 1: two participants, each bound to one of `cores` */
};

static int join(struct barrier *b, int kernel, uint32_t worker)
{
	struct peali_fixture *fixture = &b->fixture;
	uint64_t actor = peali_fixture_spawn(fixture, kernel, "phases", worker);
	int index;

	if (!actor || peali_fixture_to_host(fixture, actor, 0))
		return -1;
	b->ports[b->participants] = peali_fixture_from_host(
		fixture, actor, sizeof(struct peali_bench_start));
	if (b->ports[b->participants++] < 0)
		return -1;
	index = peal_barrier_join(fixture->barrier, fixture->kernels[kernel],
				  worker);
	if (index == 0)
		return 0;
	if (index < 0)
		peali_say_error("join a barrier");
	else
		peali_say("the first barrier of a worker has number %d", index);
	return -1;
}

/*
 * Prepares the baseline kernels. Their counter needs atomics that reach all
 * participants. So all of them must be on one GPU, or on parts of one GPU.
 */
static int open_baseline(struct barrier *b, const struct row *row)
{
	struct peali_fixture_worker sides[PARTICIPANTS_MOST];
	uint32_t n = 0;

	if (b->is_whole && !b->fixture.on_host)
		return peali_baseline_open_crowd(
			&b->baseline, &b->fixture, row->each,
			row->each * PEAL_SHARED_LINE /
				(uint32_t)sizeof(struct peali_baseline_slot));
	if (b->fixture.on_host ||
	    (row->devices > 1 &&
	     strcmp(b->fixture.device_link, "same-gpu") != 0))
		return 0;
	for (uint32_t i = 0; i < row->devices; i++)
		for (uint32_t worker = 0; worker < row->each; worker++)
			sides[n++] =
				(struct peali_fixture_worker){ (int)i, worker };
	return peali_baseline_open(&b->baseline, &b->fixture, sides, n, 0, 1);
}

static int build_whole(struct barrier *b, const struct row *row)
{
	struct peali_fixture *fixture = &b->fixture;

	b->participants = row->each;
	b->total = 0;
	b->pinned = 0;
	if (peal_memory_alloc(fixture->runtime, 0,
			      (uint64_t)row->each * PEAL_SHARED_LINE,
			      &b->words) < 0)
		return -peali_say_error("allocate memory");
	return peali_crowd_build(&b->crowd, fixture, "phases_all", row->each,
				 fixture->lanes);
}

static int build(struct barrier *b, const struct row *row)
{
	static const int devices[DEVICES] = { 0, 1, 2, 3 };
	struct peali_fixture *fixture = &b->fixture;

	b->participants = 0;
	b->total = 0;
	if (!peali_fixture_memory(fixture, PEAL_HOST_MEMORY,
				  (uint64_t)row->devices * row->each *
					  PEAL_SHARED_LINE))
		return -1;
	if (peal_barrier_create(fixture->runtime, devices, row->devices,
				row->each, NULL, &fixture->barrier) < 0) {
		fixture->barrier = NULL;
		peali_say_error("create a barrier");
		return -1;
	}
	for (uint32_t i = 0; i < row->devices; i++) {
		int kernel = peali_fixture_launch(
			fixture, (int)i, &peal_program_peal_bench, row->each);

		if (kernel < 0)
			return -1;
		for (uint32_t worker = 0; worker < row->each; worker++)
			if (join(b, kernel, worker))
				return -1;
	}
	b->pinned = fixture->on_host && b->participants == 2 &&
		    peali_cores_pick(&b->cores) == 0;
	return 0;
}

/* Returns ns per phase of the slowest member, or a negative value. */
static double phase_ns(const struct barrier *b,
		       const struct peali_crowd_line *lines, uint64_t phases)
{
	struct peali_crowd_total t = peali_crowd_add(lines, b->participants);

	if (!t.wrong && t.messages == phases * b->participants)
		return (double)t.elapsed_ns / (double)phases;
	peali_say("%llu checks of a phase failed, %llu of %llu phases passed",
		  (unsigned long long)t.wrong, (unsigned long long)t.messages,
		  (unsigned long long)(phases * b->participants));
	return -1;
}

static double run_whole(struct barrier *b)
{
	struct peali_bench_start start = {
		.mask = b->words,
		.messages = b->phases + WARM,
		.warm = WARM,
	};

	if (peali_crowd_run(&b->crowd, &start))
		return -1;
	b->total += b->phases + WARM + 1; /* one ends the round */
	return phase_ns(b, b->crowd.lines, b->phases);
}

/*
 * Runs a round of our barrier. Returns ns per phase of the slowest participant,
 * or a negative value after an error.
 */
static double run_ours(struct barrier *b)
{
	struct peali_bench_start start = {
		.seed = peali_bench_seed(),
		.messages = b->phases + WARM,
		.address = b->fixture.memory.address,
		.warm = WARM,
		.participants = b->participants,
	};
	uint64_t slowest = 0;

	if (b->is_whole)
		return run_whole(b);
	for (uint32_t i = 0; i < b->participants; i++) {
		start.self = i;
		if (peali_fixture_start(&b->fixture, b->ports[i], &start))
			return -1;
	}
	for (uint32_t i = 0; i < b->participants; i++) {
		struct peali_fixture_report report;

		if (peali_fixture_wait(&b->fixture, &report))
			return -1;
		if (report.head.elapsed_ns > slowest)
			slowest = report.head.elapsed_ns;
	}
	b->total += b->phases + WARM;
	return (double)slowest / (double)b->phases;
}

/* Returns the number of baselines. GPUs have one, with index 0. */
static int n_peers(const struct barrier *b)
{
	return b->fixture.on_host ? PEALI_BARRIER_BASELINES : 1;
}

static const char *name_peer(const struct barrier *b, int peer)
{
	return b->fixture.on_host ? peali_barrier_baseline_name(
					    (enum peali_barrier_baseline)peer) :
				    "one counter, as grid-wide barriers";
}

/* Returns the reason why a baseline cannot run, or NULL. */
static const char *skip_reason(const struct barrier *b, int peer)
{
	if (!b->fixture.on_host)
		return b->baseline.n_sides ?
			       NULL :
			       "a counter needs atomics across devices";
	if (peer == PEALI_BARRIER_CK &&
	    (int)b->participants > peali_report_cores())
		return "ck_barrier spins without yielding: more participants "
		       "than cores would not make progress";
	return NULL;
}

/* Returns the phases of a round of about ROUND_NS, if a phase takes `ns`. */
static uint64_t phases_for(double ns)
{
	double phases = ROUND_NS / (ns + 1);

	if (phases < PHASES_LEAST)
		return PHASES_LEAST;
	return phases < PHASES_MOST ? (uint64_t)phases : PHASES_MOST;
}

/* Runs a round of a baseline. Returns as run_ours. */
static double run_peer(struct barrier *b, int peer, uint64_t phases)
{
	const struct peali_baseline_order order = {
		.job = b->is_whole ? PEALI_BASELINE_GRID :
				     PEALI_BASELINE_COUNTER,
		.messages = phases + WARM,
		.warm = WARM,
	};
	struct peali_crowd_line lines[PEALI_CROWD_MOST];
	struct peali_baseline_reports reports;
	uint64_t slowest = 0;

	if (b->fixture.on_host)
		return peali_barrier_baseline_run(
			(enum peali_barrier_baseline)peer, b->participants,
			phases, WARM);
	if (b->is_whole)
		return peali_baseline_run_crowd(&b->baseline, &order, lines) ?
			       -1 :
			       phase_ns(b, lines, phases);
	if (peali_baseline_run(&b->baseline, &order, &reports))
		return -1;
	for (uint32_t i = 0; i < b->participants; i++)
		if (reports.side[i].head.elapsed_ns > slowest)
			slowest = reports.side[i].head.elapsed_ns;
	return (double)slowest / (double)phases;
}

static int run_round(struct barrier *b,
		     struct peali_samples samples[PEALI_BARRIER_BASELINES],
		     struct peali_samples peers[PEALI_BARRIER_BASELINES])
{
	int before = b->pinned ? peali_cores_distance(&b->cores) : 0;
	double peer_ns[PEALI_BARRIER_BASELINES];
	double ns;

	for (int p = 0; p < n_peers(b); p++) {
		peer_ns[p] = NAN;
		if (skip_reason(b, p))
			continue;
		peer_ns[p] = run_peer(b, p, b->peer_phases[p]);
		if (peer_ns[p] < 0)
			return -1;
		peali_samples_add(peers + p, peer_ns[p]);
		/*
		 * A barrier that sleeps gets slower with time: adjust the
		 * number of phases.
		 */
		b->peer_phases[p] = phases_for(peer_ns[p]);
	}
	ns = run_ours(b);
	if (ns < 0)
		return -1;
	if (b->pinned && peali_cores_distance(&b->cores) != before)
		before = PEALI_TAG_MIXED;
	for (int p = 0; p < n_peers(b); p++) {
		peali_samples_add(samples + p, ns);
		peali_samples_close(samples + p, before, peer_ns[p] / ns);
		peali_samples_close(peers + p, before, NAN);
	}
	return 0;
}

static void fill(struct barrier *b, const struct row *row, int peer,
		 const struct peali_samples *samples,
		 const struct peali_samples *peers)
{
	json_t *cells = peali_report_row(
		&b->report, b->is_whole ? "barrier, whole device" : "barrier");
	const char *skip = skip_reason(b, peer);

	peali_row_uint(cells, "devices", row->devices);
	peali_row_uint(cells, "participants", b->participants);
	peali_fixture_cells(&b->fixture, row->devices > 1, cells);
	if (b->fixture.on_host)
		peali_row_flag(cells, "more_than_cores",
			       (int)b->participants > peali_report_cores());
	peali_row_uint(cells, "phases", b->phases);
	peali_row_text(cells, "timed_by", "slowest participant");
	peali_samples_row_cores(
		samples, cells,
		b->pinned ? NULL : "participants are not bound to two cores");
	peali_samples_row_durations(samples, cells, "phase_ns");
	if (skip)
		peali_row_null(cells, "versus_ns_p50", "%s", skip);
	else
		peali_row_real(cells, "versus_ns_p50",
			       peali_samples_spread(peers).median);
	peali_samples_row_versus(samples, cells,
				 skip ? NULL : name_peer(b, peer), skip);
}

static int calibrate(struct barrier *b)
{
	double ns;

	b->phases = PHASES_LEAST;
	ns = run_ours(b);
	if (ns < 0)
		return -1;
	b->phases = phases_for(ns);
	for (int p = 0; p < n_peers(b); p++) {
		if (skip_reason(b, p))
			continue;
		ns = run_peer(b, p, PHASES_LEAST);
		if (ns < 0)
			return -1;
		b->peer_phases[p] = phases_for(ns);
	}
	return 0;
}

/* Compares the barrier's own count of phases with ours. */
static int check_generation(struct barrier *b)
{
	struct peal_barrier_info info;

	if (peal_barrier_info(b->fixture.barrier, &info) < 0) {
		peali_say_error("read a barrier");
		return -1;
	}
	if (info.generation == b->total)
		return 0;
	peali_say("barrier has %llu phases (expected %llu)",
		  (unsigned long long)info.generation,
		  (unsigned long long)b->total);
	return -1;
}

static int run_row(struct barrier *b, const struct row *row)
{
	struct peali_samples samples[PEALI_BARRIER_BASELINES] = { 0 };
	struct peali_samples peers[PEALI_BARRIER_BASELINES] = { 0 };
	uint64_t until = peali_bench_now_ns() + b->row_ns;
	char label[64];
	int result;

	if ((int)row->devices > b->fixture.n_devices)
		return 0;
	/* The baselines must be set up before our kernels are resident. */
	result = open_baseline(b, row) || (b->is_whole ? build_whole(b, row) :
							 build(b, row)) ?
			 -1 :
			 0;

	if (!result)
		result = calibrate(b);
	for (int i = 0;
	     !result && (i < ROUNDS_LEAST || peali_bench_now_ns() < until); i++)
		result = run_round(b, samples, peers);
	if (!result)
		result = check_generation(b);
	for (int p = 0; !result && p < n_peers(b); p++)
		fill(b, row, p, samples + p, peers + p);
	snprintf(label, sizeof(label), "%ux%u", row->devices, row->each);
	if (!result)
		result = peali_samples_write(samples, &b->options, "barrier",
					     label, 0);
	if (peali_fixture_clear(&b->fixture) ||
	    (b->words && peal_memory_free(b->fixture.runtime, 0, b->words) < 0))
		result = -1;
	b->words = 0;
	peali_baseline_close(&b->baseline);
	for (int p = 0; p < PEALI_BARRIER_BASELINES; p++) {
		peali_samples_fini(samples + p);
		peali_samples_fini(peers + p);
	}
	return result;
}

/* Measures one device with a worker on each multiprocessor. */
static int run_whole_row(struct barrier *b)
{
	struct row row = { 1, WHOLE_EMULATED };
	struct peal_device_info info;

	if (peali_fixture_close(&b->fixture) ||
	    peali_fixture_open(&b->fixture, 1))
		return -1;
	if (peal_device_info(b->fixture.runtime, 0, &info) < 0)
		return -peali_say_error("read the properties of a device");
	b->is_whole = 1;
	if (!info.emulated) {
		b->fixture.lanes = WHOLE_LANES;
		row.each = info.compute_units < PEALI_CROWD_MOST ?
				   info.compute_units :
				   PEALI_CROWD_MOST;
	}
	return run_row(b, &row);
}

static const struct peali_column columns[] = {
	{ "subject", "subject", 0 },
	{ "devices", "devices", 0 },
	{ "participants", "participants", 0 },
	{ "core_distance", "cores", 0 },
	{ "phase_ns_p50", "p50", PEALI_AS_NS },
	{ "phase_ns_p90", "p90", PEALI_AS_NS },
	{ "phase_ns_max", "max", PEALI_AS_NS },
	{ "n_samples", "rounds", 0 },
	PEALI_COLUMNS_VERSUS("versus_ns_p50", "its p50", PEALI_AS_NS),
};

static int run(int argc, char **argv, int json)
{
	struct barrier b = { 0 };
	int status = PEALI_EXIT_OK;

	peali_bench_parse(argc, argv,
			  "Phases of a barrier among workers of several "
			  "devices.",
			  SECONDS, &b.options);
	b.row_ns = (uint64_t)(b.options.seconds * 1e9 / N_ALL);
	if (peali_fixture_open(&b.fixture, DEVICES))
		return PEALI_EXIT_FAILED;
	peali_report_init(&b.report, "barrier", b.fixture.no_gpus);
	for (size_t i = 0; i < N_ROWS && status == PEALI_EXIT_OK; i++)
		if (run_row(&b, rows + i))
			status = PEALI_EXIT_FAILED;
	if (status == PEALI_EXIT_OK && run_whole_row(&b))
		status = PEALI_EXIT_FAILED;
	if (peali_fixture_close(&b.fixture))
		status = PEALI_EXIT_FAILED;
	status = peali_report_print(
		&b.report, json,
		"one phase, a sample is a round's mean; ratio above 1: faster "
		"than the peer",
		columns, status);
	peali_report_fini(&b.report);
	return status;
}

const struct peali_bench peali_bench_barrier = {
	.name = "barrier",
	.help = "phases of a barrier, per number of devices and participants",
	.run = run,
};
