/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmark `work`: one work queue of a device by its number of poppers. All
 * poppers put messages, then all take messages until there are none. A popper is
 * a lane. Baselines on GPUs: such queues of plain kernels.
 */
#include <math.h>
#include <string.h>

#include <peal/device_queue.h>

#include "bench/baseline/gpu.h"
#include "bench/bench.h"
#include "bench/crowd.h"
#include "bench/runner.h"

#define SECONDS 4
#define MESSAGES 65536 /* of a round on GPUs; at most half of the slots */
#define MESSAGES_EMULATED 4096
#define WORKERS_MOST 16

struct row {
	uint32_t workers, lanes;
};

static const struct row rows[] = { { 1, 1 }, { 1, 32 }, { 16, 1 }, { 16, 32 } };
#define N_ROWS (int)(sizeof(rows) / sizeof(rows[0]))

static const struct {
	enum peali_baseline_job job;
	const char *name;
} peers[] = {
	{ PEALI_BASELINE_BROKER, "broker queue, a ticket add per worker" },
	{ PEALI_BASELINE_POPPERS, "ring, a ticket per lane" },
};
#define PEERS (int)(sizeof(peers) / sizeof(peers[0]))

/* Samples of a side: megatakes per second, and puts and takes together. */
struct rates {
	struct peali_samples takes, both;
};

struct work {
	struct peali_bench_options options;
	struct peali_report report;
	struct peali_fixture fixture;
	uint64_t row_ns;
	int n_rows;
	const struct row *row;
	struct peali_crowd crowd;
	struct peal_device_queue queue;
	struct peali_baseline baseline;
	uint64_t messages; /* of a round */
};

/* Returns the number of baselines. */
static int n_peers(const struct work *b)
{
	return b->fixture.on_host ? 0 : PEERS;
}

static int make_queue(struct work *b)
{
	const struct peal_queue_options options = {
		.size = sizeof(options),
		.kind = PEAL_QUEUE_WORK,
		.max_producers = WORKERS_MOST,
		.max_consumers = WORKERS_MOST,
		.capacity = 2 * (uint32_t)b->messages,
		.message_bytes = sizeof(struct peali_crowd_item),
	};

	if (peal_device_queue_create(b->fixture.runtime, 0, &options,
				     &b->queue) == 0)
		return 0;
	return -peali_say_error("create a queue");
}

static int build(struct work *b)
{
	const struct row *row = b->row;

	b->messages = b->fixture.emulated ? MESSAGES_EMULATED : MESSAGES;
	b->fixture.lanes = row->lanes;
	/* The baselines must be set up before our kernel is resident. */
	if (n_peers(b) &&
	    peali_baseline_open_crowd(&b->baseline, &b->fixture, row->workers,
				      2 * (uint32_t)b->messages))
		return -1;
	return make_queue(b) || peali_crowd_build(&b->crowd, &b->fixture,
						  "popper", row->workers,
						  row->lanes) ?
		       -1 :
		       0;
}

/* Returns the messages of a lane in a round. */
static uint64_t share(const struct work *b)
{
	return b->messages / (b->row->workers * b->row->lanes);
}

/*
 * Adds the rates of a round after checking it: each message was taken once.
 * Returns the megatakes per second, or a negative value.
 */
static double add_rates(const struct work *b,
			const struct peali_crowd_line *lines,
			struct rates *rates)
{
	struct peali_crowd_total t = peali_crowd_add(lines, b->row->workers);
	double takes = (double)t.messages * 1e3 / (double)(t.elapsed_ns + 1);

	if (t.wrong || t.messages != b->messages ||
	    t.sum != b->messages * (b->messages - 1) / 2) {
		peali_say("%llu of %llu messages of a work queue arrived, "
			  "%llu were wrong",
			  (unsigned long long)t.messages,
			  (unsigned long long)b->messages,
			  (unsigned long long)t.wrong);
		return -1;
	}
	peali_samples_add(&rates->takes, takes);
	peali_samples_add(&rates->both,
			  2e3 * (double)t.messages /
				  (double)(t.elapsed_ns + t.put_ns + 1));
	return takes;
}

static double run_ours(const struct work *b, struct rates *rates)
{
	struct peali_bench_start start = {
		.mask = b->queue.address,
		.messages = share(b),
	};

	if (peali_crowd_run(&b->crowd, &start))
		return -1;
	return add_rates(b, b->crowd.lines, rates);
}

static double run_peer(struct work *b, int peer, struct rates *rates)
{
	const struct peali_baseline_order order = {
		.job = peers[peer].job,
		.messages = share(b),
		.slots = 2 * (uint32_t)b->messages,
	};
	struct peali_crowd_line lines[WORKERS_MOST];

	if (peali_baseline_run_crowd(&b->baseline, &order, lines))
		return -1;
	return add_rates(b, lines, rates);
}

static int run_round(struct work *b, struct rates *ours, struct rates *theirs)
{
	double rate, peer[PEERS];

	for (int p = 0; p < n_peers(b); p++) {
		peer[p] = run_peer(b, p, theirs + p);
		if (peer[p] < 0)
			return -1;
	}
	rate = run_ours(b, ours);
	if (rate < 0)
		return -1;
	for (int p = 0; p < n_peers(b); p++) {
		peali_samples_close(&theirs[p].takes, 0, rate / peer[p]);
		peali_samples_close(&theirs[p].both, 0, NAN);
	}
	peali_samples_close(&ours->takes, 0, NAN);
	peali_samples_close(&ours->both, 0, NAN);
	return 0;
}

static void fill(struct work *b, int peer, const struct rates *ours,
		 const struct rates *theirs)
{
	static const char why[] =
		"`peal bench queues` compares work queues of threads";
	json_t *cells = peali_report_row(&b->report, "work queue");
	const struct row *row = b->row;
	double takes = peali_samples_spread(&ours->takes).median;
	uint32_t poppers = row->workers * row->lanes;

	peali_row_uint(cells, "poppers", poppers);
	peali_row_uint(cells, "workers", row->workers);
	peali_row_uint(cells, "message_bytes", sizeof(struct peali_crowd_item));
	peali_row_uint(cells, "messages", b->messages);
	peali_row_text(cells, "timed_by", "slowest worker");
	peali_fixture_cells(&b->fixture, 0, cells);
	peali_samples_row_rates(&ours->takes, cells, "megapops_per_s");
	peali_row_real(cells, "pop_ns", poppers * 1e3 / takes);
	peali_row_real(cells, "megaoperations_per_s",
		       peali_samples_spread(&ours->both).median);
	if (n_peers(b)) {
		peali_row_real(cells, "versus_megapops_per_s",
			       peali_samples_spread(&theirs->takes).median);
		peali_row_real(cells, "versus_megaoperations_per_s",
			       peali_samples_spread(&theirs->both).median);
		peali_samples_row_versus(&theirs->takes, cells,
					 peers[peer].name, NULL);
		return;
	}
	peali_row_null(cells, "versus_megapops_per_s", "%s", why);
	peali_row_null(cells, "versus_megaoperations_per_s", "%s", why);
	peali_samples_row_versus(&ours->takes, cells, NULL, why);
}

static int clear(struct work *b)
{
	int failed = peali_fixture_clear(&b->fixture);

	if (b->queue.address &&
	    peal_memory_free(b->fixture.runtime, 0, b->queue.address) < 0)
		failed = peali_say_error("free a queue");
	b->queue.address = 0;
	peali_baseline_close(&b->baseline);
	return failed ? -1 : 0;
}

static int run_row(struct work *b)
{
	struct rates ours = { 0 }, theirs[PEERS] = { 0 };
	uint64_t until = peali_bench_now_ns() + b->row_ns;
	char label[32];
	int result = build(b);

	for (int i = 0; !result && (i < PEALI_RUNNER_ROUNDS ||
				    peali_bench_now_ns() < until);
	     i++)
		result = run_round(b, &ours, theirs);
	for (int p = 0; !result && p < (n_peers(b) ? n_peers(b) : 1); p++)
		fill(b, p, &ours, theirs + p);
	snprintf(label, sizeof(label), "%ux%u", b->row->workers, b->row->lanes);
	if (!result)
		result = peali_samples_write(&ours.takes, &b->options, "work",
					     label, 0);
	if (clear(b))
		result = -1;
	peali_samples_fini(&ours.takes);
	peali_samples_fini(&ours.both);
	for (int p = 0; p < PEERS; p++) {
		peali_samples_fini(&theirs[p].takes);
		peali_samples_fini(&theirs[p].both);
	}
	return result;
}

/* Runs the selected rows, or only counts them. Returns their number, or -1. */
static int each_row(void *context, int count_only)
{
	struct work *b = context;
	int n = 0;

	for (int i = 0; i < N_ROWS; i++) {
		if (!peali_bench_wanted(&b->options, PEAL_ROUTE_NONE,
					sizeof(struct peali_crowd_item)))
			continue;
		n++;
		b->row = rows + i;
		if (!count_only && run_row(b))
			return -1;
	}
	return n;
}

static const struct peali_column columns[] = {
	{ "poppers", "poppers", 0 },
	{ "workers", "workers", 0 },
	{ "megapops_per_s", "pops", PEALI_AS_MEGA_PER_S },
	{ "pop_ns", "a pop", PEALI_AS_NS },
	{ "megaoperations_per_s", "operations", PEALI_AS_MEGA_PER_S },
	{ "n_samples", "rounds", 0 },
	PEALI_COLUMNS_VERSUS("versus_megapops_per_s", "its pops",
			     PEALI_AS_MEGA_PER_S),
};

static int run(int argc, char **argv, int json)
{
	struct work b = { 0 };
	const struct peali_runner runner = {
		.benchmark = "work",
		.title = "one work queue, every message checked; an operation "
			 "is a put or a pop; ratio of the pops",
		.columns = columns,
		.devices = 1,
		PEALI_RUNNER_STATE(b),
		.about = "Puts and pops of one work queue of a device, by its "
			 "number of poppers. A popper is a lane of a worker.",
		.seconds = SECONDS,
		.each_row = each_row,
	};

	return peali_runner_main(&runner, argc, argv, json);
}

const struct peali_bench peali_bench_work = {
	.name = "work",
	.help = "pops of one work queue, per number of poppers",
	.run = run,
};
