/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmark `request`: requests of the host and their replies, timed by the
 * host. A batch begins all its requests, then waits for the replies. A sample
 * is the time per request. Baseline: messages to an actor of the same worker,
 * which sends them back. The difference is the cost of request numbers,
 * deadlines and separate links.
 */
#include <math.h>

#include <peal/request.h>

#include "bench/bench.h"
#include "bench/runner.h"
#include "bench/options.h"
#include "bench/report.h"
#include "bench/host_round_trip.h"

#define SECONDS 3
#define BATCH_MOST 32
#define BYTES_MOST 512

static const uint32_t sizes[] = { 8, 64, BYTES_MOST };
static const uint32_t batches[] = { 1, BATCH_MOST };

struct asks {
	struct peali_bench_options options;
	struct peali_report report;
	struct peali_fixture fixture;
	uint64_t row_ns; /* time for each row */
	int n_rows;
	struct peali_cores cores; /* cores of the worker and of the host */
	int has_cores;
	struct peali_host_trip trip; /* the baseline */
	struct peal_requester *requester;
};

static int build(void *context)
{
	struct asks *a = context;
	const struct peal_requester_options options = {
		.size = sizeof(options),
		.max_outstanding = BATCH_MOST,
		.message_bytes = a->trip.bytes,
		.reply_bytes = a->trip.bytes,
	};
	struct peali_fixture *fixture = &a->fixture;
	int kernel =
		peali_fixture_launch(fixture, 0, &peal_program_peal_bench, 1);
	uint64_t respond;

	a->trip.fixture = fixture;
	if (kernel < 0 || peali_host_trip_open(&a->trip, kernel))
		return -1;
	respond = peali_fixture_spawn(fixture, kernel, "respond", 0);
	if (!respond)
		return -1;
	if (peal_requester_create(fixture->runtime, respond, &options,
				  &a->requester) ||
	    peal_requester_listen(a->requester, respond, 0))
		return -peali_say_error("open a requester");
	/* The worker has the first core, so the host takes the second one. */
	a->has_cores = fixture->on_host && peali_cores_pick(&a->cores) == 0;
	return 0;
}

/* ---- ours ---------------------------------------------------------------- */

/* Returns 1 if this is the payload of request `number`. */
static int is_right(const struct asks *a, const uint64_t *payload,
		    uint64_t number)
{
	const struct peali_bench_share share = { a->trip.bytes / 8, 0, 1 };

	if (!peali_bench_check(payload, a->trip.base, number, 0, share))
		return 1;
	peali_say("the reply to request %llu is wrong",
		  (unsigned long long)number);
	return 0;
}

static int ask_one(struct asks *a, uint64_t number)
{
	const struct peali_bench_share share = { a->trip.bytes / 8, 0, 1 };
	uint64_t payload[BYTES_MOST / 8], reply[BYTES_MOST / 8];

	peali_bench_fill(payload, a->trip.base, number, share);
	if (peal_request(a->requester, PEALI_BENCH_DATA, payload, a->trip.bytes,
			 reply, sizeof(reply), NULL, PEALI_FIXTURE_WAIT_NS) < 0)
		return -peali_say_error("request");
	return is_right(a, reply, number) ? 0 : -1;
}

static int ask_many(struct asks *a, uint64_t first)
{
	const struct peali_bench_share share = { a->trip.bytes / 8, 0, 1 };
	uint64_t payload[BYTES_MOST / 8], out[BATCH_MOST];

	for (uint32_t i = 0; i < a->trip.batch; i++) {
		peali_bench_fill(payload, a->trip.base, first + i, share);
		if (peal_request_start(a->requester, PEALI_BENCH_DATA, payload,
				       a->trip.bytes, PEALI_FIXTURE_WAIT_NS,
				       &out[i]) < 0)
			return -peali_say_error("begin a request");
	}
	for (uint32_t i = 0; i < a->trip.batch; i++) {
		if (peal_request_wait(a->requester, out[i], payload,
				      sizeof(payload), NULL,
				      PEALI_FIXTURE_WAIT_NS) < 0)
			return -peali_say_error("wait for a reply");
		if (!is_right(a, payload, first + i))
			return -1;
	}
	return 0;
}

/*
 * Measures one batch. Returns ns per request, or a negative value after an
 * error.
 */
static double once(void *context)
{
	struct asks *a = context;
	uint64_t began = peali_bench_now_ns();
	uint64_t first = a->trip.next;
	int failed = a->trip.batch == 1 ? ask_one(a, first) :
					  ask_many(a, first);

	a->trip.next += a->trip.batch;
	return failed ? -1 :
			(double)(peali_bench_now_ns() - began) / a->trip.batch;
}

static int run_round(void *context, struct peali_samples *ours,
		     struct peali_samples *peer)
{
	struct asks *a = context;
	int before = a->has_cores ? peali_cores_distance(&a->cores) : 0;
	int result;

	if (a->has_cores)
		peali_core_bind(a->cores.b);
	result = peali_host_trip_samples(peali_host_trip_once, &a->trip, peer);
	if (!result)
		result = peali_host_trip_samples(once, a, ours);
	peali_core_bind(-1);
	if (result)
		return -1;
	if (a->has_cores && peali_cores_distance(&a->cores) != before)
		before = PEALI_TAG_MIXED;
	peali_samples_close(peer, before,
			    peali_samples_open_median(peer) /
				    peali_samples_open_median(ours));
	peali_samples_close(ours, before, NAN);
	return 0;
}

/* ---- rows ---------------------------------------------------------------- */

static void fill(void *context, const struct peali_samples *ours,
		 const struct peali_samples *peer)
{
	struct asks *a = context;
	json_t *cells = peali_report_row(&a->report, "request and reply");

	peali_row_text(cells, "route", "%s",
		       peal_route_name(
			       peali_fixture_route(&a->fixture, a->trip.link)));
	peali_row_uint(cells, "message_bytes", a->trip.bytes);
	peali_row_uint(cells, "batch", a->trip.batch);
	peali_row_text(cells, "timed_by", "host");
	peali_fixture_cells(&a->fixture, 0, cells);
	peali_samples_row_cores(
		ours, cells,
		a->has_cores ? NULL : peali_fixture_no_cores(&a->fixture));
	peali_samples_row_durations(ours, cells, "request_ns");
	peali_row_real(cells, "versus_ns_p50",
		       peali_samples_spread(peer).median);
	peali_samples_row_versus(peer, cells, "send, and receive the answer",
				 NULL);
}

static int destroy_requester(void *context)
{
	struct asks *a = context;
	int result = peal_requester_destroy(a->requester);

	a->requester = NULL;
	return result ? -peali_say_error("close the requester") : 0;
}

static int run_row(struct asks *a, uint32_t bytes, uint32_t batch)
{
	char label[64];
	const struct peali_runner_row runner = {
		.benchmark = "request",
		.label = label,
		.options = &a->options,
		.fixture = &a->fixture,
		.for_ns = a->row_ns,
		.bytes = bytes,
		.alone = a->n_rows == 1,
		.build = build,
		.round = run_round,
		.fill = fill,
		.close = destroy_requester,
		.context = a,
	};

	a->trip.bytes = bytes;
	a->trip.batch = batch;
	snprintf(label, sizeof(label), "%u-%u", bytes, batch);
	return peali_runner_row(&runner);
}

/* Runs the selected rows, or only counts them. Returns their number, or -1. */
static int each_row(void *context, int count_only)
{
	struct asks *a = context;
	int n = 0;

	for (int b = 0; b < 2; b++) {
		for (int s = 0; s < 3; s++) {
			if (!peali_bench_wanted(&a->options,
						PEAL_ROUTE_MAPPED_HOST,
						sizes[s]))
				continue;
			n++;
			if (!count_only && run_row(a, sizes[s], batches[b]))
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
	{ "request_ns_p50", "p50", PEALI_AS_NS },
	{ "request_ns_p90", "p90", PEALI_AS_NS },
	{ "request_ns_p99", "p99", PEALI_AS_NS },
	{ "request_ns_p999", "p99.9", PEALI_AS_NS },
	{ "request_ns_max", "max", PEALI_AS_NS },
	{ "n_samples", "samples", 0 },
	PEALI_COLUMNS_VERSUS("versus_ns_p50", "its p50", PEALI_AS_NS),
};

static int run(int argc, char **argv, int json)
{
	struct asks a = { 0 };
	const struct peali_runner runner = {
		.benchmark = "request",
		.title = "a request and its reply, by the host's clock; ratio "
			 "above 1: faster than plain messages",
		.columns = columns,
		PEALI_RUNNER_STATE(a),
		.about = "Requests from the host to a worker and their "
			 "replies, by the clock of the host.",
		.seconds = SECONDS,
		.each_row = each_row,
	};

	return peali_runner_main(&runner, argc, argv, json);
}

const struct peali_bench peali_bench_request = {
	.name = "request",
	.help = "requests of the host and their replies, per size and batch",
	.run = run,
};
