/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmark `balance`: jobs of an executor.
 *
 * - Three devices share a job. A delay per element gives them the speeds 4, 2
 *   and 1. Baseline: the ideal time, in which all devices finish at once.
 * - A small job runs on resident kernels. Baseline: a launch for each job.
 * - Work queues of the three devices share tasks (balance_queues.c).
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <peal/executor.h>
#include <peal/memory.h>

#include "bench/balance.h"
#include "bench/bench.h"
#include "bench/runner.h"
#include "ringkernels/jobs_program.h"

#define SECONDS 8
#define DEVICES PEALI_CRAWL_DEVICES
#define ELEMENTS 14000
#define SMALL 1000
#define BATCH 16 /* small jobs in a round */

extern const struct peal_program peal_program_peal_jobs;

const struct peali_crawl peali_balance_speeds = { { 25000, 50000, 100000 } };

static const struct {
	const char *name;
	uint32_t sharing;
	uint64_t elements;
} rows[] = {
	{ "dynamic", PEAL_SCHEDULE_DYNAMIC, ELEMENTS },
	{ "guided", PEAL_SCHEDULE_GUIDED, ELEMENTS },
	{ "static", PEAL_SCHEDULE_STATIC, ELEMENTS },
	{ "small", PEAL_SCHEDULE_DEFAULT, SMALL },
};
#define JOBS (int)(sizeof(rows) / sizeof(rows[0]))
#define ROWS (JOBS + 1) /* the last one by work queues */

struct balance {
	struct peali_bench_options options;
	struct peali_report report;
	struct peali_fixture fixture;
	uint64_t row_ns;
	int n_rows, row;
	uint32_t n; /* devices */
	int devices[DEVICES];
	struct peal_executor *executor;
	struct peal_executor_report last;
	uint64_t memory[3]; /* host memory that all devices map */
	uint64_t address[3][DEVICES];
	struct peal_job_argument argument[3];
	struct peal_job job;
	uint32_t round;
};

static int is_small(const struct balance *b)
{
	return b->job.count == SMALL;
}

double peali_balance_ideal_ns(uint64_t n, uint32_t n_devices)
{
	double all = 0;

	for (uint32_t i = 0; i < n_devices; i++)
		all += 1 / (double)peali_balance_speeds.element_ns[i];
	return (double)n / all;
}

static struct peal_executor_options executor_options(const struct balance *b)
{
	struct peal_executor_options o = { .size = sizeof(o),
					   .workers = 1,
					   .lanes = b->fixture.lanes };

	return o;
}

/* ---- one job ------------------------------------------------------------- */

/*
 * Runs the job on the resident kernels. Returns ns by the host's clock, or a
 * negative value after an error.
 */
static double run_one(struct balance *b)
{
	uint64_t began = peali_bench_now_ns();

	if (peal_executor_run(b->executor, &b->job, PEALI_FIXTURE_WAIT_NS) < 0)
		return -peali_say_error("run a job");
	return (double)(peali_bench_now_ns() - began);
}

/* Runs the job by a launch. Returns as run_one. */
static double run_launched(struct balance *b)
{
	struct peal_executor_options o = executor_options(b);
	uint64_t began = peali_bench_now_ns();

	if (peal_executor_run_once(b->fixture.runtime, b->devices, b->n,
				   &peal_program_peal_jobs, &o, &b->job,
				   PEALI_FIXTURE_WAIT_NS) < 0)
		return -peali_say_error("run a job by a launch");
	return (double)(peali_bench_now_ns() - began);
}

static uint32_t *word(const struct balance *b, int argument)
{
	return (uint32_t *)(uintptr_t)b->memory[argument];
}

/* Checks that each element was visited once, or is a sum. Resets it to 0. */
static int check(struct balance *b)
{
	for (uint32_t i = 0; i < b->job.count; i++) {
		uint32_t due = is_small(b) ? word(b, 0)[i] + word(b, 1)[i] : 1;
		uint32_t *got = &word(b, is_small(b) ? 2 : 0)[i];

		if (*got != due) {
			peali_say("element %u is %u, not %u", i, *got, due);
			return -1;
		}
		*got = 0;
	}
	return 0;
}

static int run_round(void *context, struct peali_samples *ours,
		     struct peali_samples *peer)
{
	struct balance *b = context;
	double ns, other;

	for (int i = 0; i < (is_small(b) ? BATCH : 1); i++) {
		ns = run_one(b);
		if (ns < 0 || check(b))
			return -1;
		other = is_small(b) ?
				run_launched(b) :
				peali_balance_ideal_ns(b->job.count, b->n);
		if (other < 0 || (is_small(b) && check(b)))
			return -1;
		peali_samples_add(ours, ns);
		peali_samples_add(peer, other);
	}
	if (peal_executor_report(b->executor, &b->last) < 0)
		return -peali_say_error("get a report");
	ns = peali_samples_open_median(ours);
	other = peali_samples_open_median(peer);
	peali_samples_close(peer, 0, other / ns);
	peali_samples_close(ours, 0, NAN);
	return 0;
}

/* ---- rows ---------------------------------------------------------------- */

static int take_memory(struct balance *b)
{
	uint32_t n = is_small(b) ? 3 : 1;

	for (uint32_t k = 0; k < n; k++) {
		if (peal_memory_alloc(b->fixture.runtime, PEAL_HOST_MEMORY,
				      4 * b->job.count, &b->memory[k]) < 0)
			return -peali_say_error("allocate host memory");
		for (uint32_t i = 0; i < b->n; i++)
			b->address[k][i] = b->memory[k];
		b->argument[k].address = b->address[k];
		b->argument[k].element_bytes = 4;
	}
	for (uint32_t i = 0; is_small(b) && i < SMALL; i++) {
		word(b, 0)[i] = i * 2654435761u;
		word(b, 1)[i] = i * 40503u;
	}
	b->job.arguments = b->argument;
	b->job.n_arguments = n;
	return 0;
}

static int build(void *context)
{
	struct balance *b = context;
	struct peal_executor_options o = executor_options(b);

	b->n = (uint32_t)b->fixture.n_devices < DEVICES ?
		       (uint32_t)b->fixture.n_devices :
		       DEVICES;
	for (uint32_t i = 0; i < b->n; i++)
		b->devices[i] = (int)i;
	memset(&b->job, 0, sizeof(b->job));
	b->job.size = sizeof(b->job);
	b->job.schedule = rows[b->row].sharing;
	b->job.count = rows[b->row].elements;
	b->job.handler = is_small(b) ? "add" : "crawl";
	b->job.parameters = is_small(b) ? NULL : &peali_balance_speeds;
	b->job.parameter_bytes = is_small(b) ? 0 : sizeof(peali_balance_speeds);
	if (take_memory(b))
		return -1;
	if (peal_executor_create(b->fixture.runtime, b->devices, b->n,
				 &peal_program_peal_jobs, &o, &b->executor) < 0)
		return -peali_say_error("create an executor");
	/* the first job measures the speeds of the devices */
	return run_one(b) < 0 || check(b) ? -1 : 0;
}

static int take_down(void *context)
{
	struct balance *b = context;
	int failed = 0;

	if (peal_executor_destroy(b->executor) < 0)
		failed = peali_say_error("destroy an executor");
	b->executor = NULL;
	for (int k = 0; k < 3; k++) {
		if (b->memory[k] &&
		    peal_memory_free(b->fixture.runtime, PEAL_HOST_MEMORY,
				     b->memory[k]) < 0)
			failed = peali_say_error("free memory");
		b->memory[k] = 0;
	}
	return failed ? -1 : 0;
}

static void fill(void *context, const struct peali_samples *ours,
		 const struct peali_samples *peer)
{
	struct balance *b = context;
	json_t *cells = peali_report_row(&b->report, rows[b->row].name);

	peali_row_uint(cells, "devices", b->n);
	peali_row_uint(cells, "elements", b->job.count);
	peali_row_text(cells, "timed_by", "host");
	peali_fixture_cells(&b->fixture, 1, cells);
	peali_samples_row_durations(ours, cells, "finish_ns");
	peali_row_uint(cells, "n_active", b->last.n_active);
	peali_row_uint(cells, "tasks", b->last.tasks);
	peali_row_real(cells, "imbalance", b->last.imbalance);
	peali_row_uint(cells, "threshold", b->last.threshold);
	peali_row_real(cells, "versus_ns_p50",
		       peali_samples_spread(peer).median);
	peali_samples_row_versus(peer, cells,
				 is_small(b) ? "kernels launched for it" :
					       "all through at once",
				 NULL);
}

static int run_row(struct balance *b, int row)
{
	const struct peali_runner_row runner = {
		.benchmark = "balance",
		.label = rows[row].name,
		.options = &b->options,
		.fixture = &b->fixture,
		.for_ns = b->row_ns,
		.bytes = 4,
		.alone = b->n_rows == 1,
		.build = build,
		.round = run_round,
		.fill = fill,
		.close = take_down,
		.context = b,
	};

	b->row = row;
	return peali_runner_row(&runner);
}

static int run_queues(struct balance *b)
{
	const struct peali_balance_queues what = { .options = &b->options,
						   .fixture = &b->fixture,
						   .report = &b->report,
						   .for_ns = b->row_ns,
						   .alone = b->n_rows == 1 };

	return peali_balance_queues(&what);
}

static const struct peali_column columns[] = {
	{ "subject", "schedule", 0 },
	{ "devices", "devices", 0 },
	{ "elements", "elements", 0 },
	{ "finish_ns_p50", "p50", PEALI_AS_NS },
	{ "finish_ns_max", "max", PEALI_AS_NS },
	{ "n_samples", "samples", 0 },
	{ "n_active", "active", 0 },
	{ "tasks", "tasks", 0 },
	{ "imbalance", "imbalance", 2 },
	{ "threshold", "threshold", 0 },
	PEALI_COLUMN_BREAK,
	{ "versus", "versus", 0 },
	{ "versus_ns_p50", "its p50", PEALI_AS_NS },
	{ "ratio", "ratio", 3 },
	{ "ratio_min", "min", 3 },
	{ "ratio_max", "max", 3 },
	{ NULL, NULL, 0 },
};

/* Runs the selected rows, or only counts them. Returns their number, or -1. */
static int each_row(void *context, int count_only)
{
	struct balance *b = context;

	if (!peali_bench_wanted(&b->options, PEAL_ROUTE_NONE, 4))
		return 0;
	for (int i = 0; i < JOBS && !count_only; i++)
		if (run_row(b, i))
			return -1;
	if (!count_only && run_queues(b))
		return -1;
	return ROWS;
}

static int run(int argc, char **argv, int json)
{
	struct balance b = { 0 };
	const struct peali_runner runner = {
		.benchmark = "balance",
		.title = "a job of devices that are made to be of speeds 4, 2 "
			 "and 1, to the end of the last; and a small one, by "
			 "the host's clock; ratio above 1: faster than the "
			 "baseline",
		.columns = columns,
		.devices = DEVICES,
		PEALI_RUNNER_STATE(b),
		.about = "Jobs of an executor, shared among devices of "
			 "different speed.",
		.seconds = SECONDS,
		.each_row = each_row,
	};

	return peali_runner_main(&runner, argc, argv, json);
}

const struct peali_bench peali_bench_balance = {
	.name = "balance",
	.help = "jobs shared among devices of different speed",
	.run = run,
};
