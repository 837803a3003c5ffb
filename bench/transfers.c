/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmark `transfers`: copies between two devices, timed by the host from
 * the call to its return. Rows and their baselines:
 *
 * - one direct copy: memcpy of as many bytes
 * - one copy staged through the host: the slower of its two hops alone
 * - many small copies in one call: a call for each copy
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <peal/buffer.h>
#include <peal/transfer.h>

#include "bench/bench.h"
#include "bench/runner.h"
#include "bench/options.h"
#include "bench/report.h"
#include "bench/samples.h"
#include "bench/fixture.h"

#define SECONDS 6
/* bytes of a small copy; as many bytes lie between two copies */
#define PIECE 256
#define PIECES 1024
#define BATCH 16 /* copies in a round, if they are small */
#define SMALL (2 << 20)

enum what { DIRECT, STAGED, MANY };

struct row {
	enum what what;
	enum peal_route route; /* --route selects rows by it */
	uint64_t bytes; /* bytes of all copies of a call */
};

static const struct row rows[] = {
	{ DIRECT, PEAL_ROUTE_PEER, 65536 },
	{ DIRECT, PEAL_ROUTE_PEER, 1 << 20 },
	{ DIRECT, PEAL_ROUTE_PEER, 64 << 20 },
	{ STAGED, PEAL_ROUTE_STAGED, 1 << 20 },
	{ STAGED, PEAL_ROUTE_STAGED, 64 << 20 },
	{ MANY, PEAL_ROUTE_PEER, PIECE *PIECES },
	{ MANY, PEAL_ROUTE_STAGED, PIECE *PIECES },
};
#define ROWS (int)(sizeof(rows) / sizeof(rows[0]))

static const char *const subjects[] = { "one copy", "one copy", "1024 copies" };

struct transfers {
	struct peali_bench_options options;
	struct peali_report report;
	struct peali_fixture fixture;
	uint64_t row_ns;
	int n_rows;
	struct row row; /* current row */
	uint64_t bytes; /* bytes of each buffer */
	struct peal_buffer *from, *to; /* on two devices, if there are two */
	struct peal_buffer *between; /* pinned host memory between two hops */
	struct peal_transfer *pieces;
	uint32_t *host; /* buffer for writing and checking */
	uint32_t round;
	enum peal_route route; /* route of the copies */
};

static int is_small(const struct transfers *t)
{
	return t->bytes <= SMALL;
}

static struct peal_transfer_options options_of(const struct transfers *t)
{
	struct peal_transfer_options o = { .size = sizeof(o) };

	if (t->row.route == PEAL_ROUTE_STAGED)
		o.routes = PEAL_ROUTE_STAGED;
	return o;
}

/* ---- measurements -------------------------------------------------------- */

/* Runs one call. Returns ns, or a negative value after an error. */
static double run(struct transfers *t, const struct peal_transfer *transfers,
		  uint32_t n, const struct peal_transfer_options *options,
		  struct peal_copy_result *result)
{
	uint64_t began = peali_bench_now_ns();

	if (peal_transfer_run(t->fixture.runtime, transfers, n, options,
			      result) < 0)
		return -peali_say_error("copy");
	return (double)(peali_bench_now_ns() - began);
}

static double run_ours(struct transfers *t)
{
	const struct peal_transfer_options o = options_of(t);
	const struct peal_transfer one = { peal_buffer_full_range(t->to),
					   peal_buffer_full_range(t->from) };
	struct peal_copy_result result;
	double ns;

	if (t->row.what == MANY)
		ns = run(t, t->pieces, PIECES, &o, &result);
	else
		ns = run(t, &one, 1, &o, &result);
	if (ns >= 0)
		t->route = result.route;
	return ns;
}

/* Copies the pieces by a call for each. Returns as run. */
static double run_each(struct transfers *t)
{
	const struct peal_transfer_options o = options_of(t);
	uint64_t began = peali_bench_now_ns();

	for (int i = 0; i < PIECES; i++)
		if (run(t, &t->pieces[i], 1, &o, NULL) < 0)
			return -1;
	return (double)(peali_bench_now_ns() - began);
}

/*
 * Runs both hops one after the other. Returns the ns of the slower one, or a
 * negative value after an error.
 */
static double run_hops(struct transfers *t)
{
	const struct peal_transfer in = { peal_buffer_full_range(t->between),
					  peal_buffer_full_range(t->from) };
	const struct peal_transfer out = { peal_buffer_full_range(t->to),
					   peal_buffer_full_range(t->between) };
	double first = run(t, &in, 1, NULL, NULL);
	double second = run(t, &out, 1, NULL, NULL);

	return first < 0 || second < 0 ? -1 : first > second ? first : second;
}

/*
 * Copies the buffers by memcpy. Addresses of emulated devices are addresses of
 * this process. Returns as run.
 */
static double run_memcpy(struct transfers *t)
{
	struct peal_range from = peal_buffer_full_range(t->from),
			  to = peal_buffer_full_range(t->to);
	uint64_t source = 0, target = 0, began;

	if (peal_buffer_address(from, 0, &source) < 0 ||
	    peal_buffer_address(to, t->fixture.n_devices > 1, &target) < 0)
		return -peali_say_error("create a view of a buffer");
	began = peali_bench_now_ns();
	memcpy((void *)(uintptr_t)target, (const void *)(uintptr_t)source,
	       t->bytes);
	return (double)(peali_bench_now_ns() - began);
}

/* Returns 1 if the row has a baseline. */
static int has_peer(const struct transfers *t)
{
	return t->row.what != DIRECT || t->fixture.on_host;
}

static double run_peer(struct transfers *t)
{
	return !has_peer(t)	     ? NAN :
	       t->row.what == DIRECT ? run_memcpy(t) :
	       t->row.what == STAGED ? run_hops(t) :
				       run_each(t);
}

/* ---- rounds -------------------------------------------------------------- */

static uint32_t word(const struct transfers *t, uint64_t i)
{
	return (uint32_t)(i * 2654435761u) + t->round * 97;
}

static int fill_in(struct transfers *t)
{
	t->round++;
	for (uint64_t i = 0; i < t->bytes / 4; i++)
		t->host[i] = word(t, i);
	if (peal_buffer_write(peal_buffer_full_range(t->from), t->host) < 0)
		return -peali_say_error("fill a buffer");
	return 0;
}

/* Checks every word of the target. Between two small copies it must be 0. */
static int check(struct transfers *t)
{
	if (peal_buffer_read(peal_buffer_full_range(t->to), t->host) < 0)
		return -peali_say_error("read a buffer");
	for (uint64_t i = 0; i < t->bytes / 4; i++) {
		int gap = t->row.what == MANY && 4 * i / PIECE % 2;

		if (t->host[i] == (gap ? 0 : word(t, i)))
			continue;
		peali_say("word %llu is wrong", (unsigned long long)i);
		return -1;
	}
	return 0;
}

static int run_round(void *context, struct peali_samples *ours,
		     struct peali_samples *peer)
{
	struct transfers *t = context;
	double ns, other;

	if (fill_in(t))
		return -1;
	for (int i = 0; i < (is_small(t) ? BATCH : 1); i++) {
		other = run_peer(t);
		ns = run_ours(t);
		if (ns < 0 || other < 0)
			return -1;
		peali_samples_add(ours, ns);
		if (has_peer(t))
			peali_samples_add(peer, other);
	}
	ns = peali_samples_open_median(ours);
	other = has_peer(t) ? peali_samples_open_median(peer) : NAN;
	peali_samples_close(peer, 0, other / ns);
	peali_samples_close(ours, 0, NAN);
	/* overwrite the baseline's bytes, so that the check sees ours */
	return fill_in(t) || run_ours(t) < 0 ? -1 : check(t);
}

/* ---- rows ---------------------------------------------------------------- */

static struct peal_buffer *make(struct transfers *t, uint32_t kind, int device)
{
	const struct peal_buffer_options o = { .size = sizeof(o),
					       .kind = kind,
					       .device = device,
					       .bytes = t->bytes,
					       .name = "bench" };
	struct peal_buffer *buffer = NULL;

	if (peal_buffer_create(t->fixture.runtime, &o, &buffer) < 0)
		peali_say_error("create a buffer");
	return buffer;
}

static int cut(struct transfers *t)
{
	t->pieces = calloc(PIECES, sizeof(*t->pieces));
	for (uint64_t i = 0; t->pieces && i < PIECES; i++)
		if (peal_buffer_range(t->to, 2 * PIECE * i, PIECE,
				      &t->pieces[i].to) < 0 ||
		    peal_buffer_range(t->from, 2 * PIECE * i, PIECE,
				      &t->pieces[i].from) < 0)
			return -peali_say_error("create a slice of a buffer");
	if (!t->pieces)
		peali_say("no memory for %d copies", PIECES);
	return t->pieces ? 0 : -1;
}

static int build(void *context)
{
	struct transfers *t = context;

	t->bytes = t->row.bytes * (t->row.what == MANY ? 2 : 1);
	t->host = malloc(t->bytes);
	t->from = make(t, PEAL_BUFFER_DEVICE, 0);
	t->to = make(t, PEAL_BUFFER_DEVICE, t->fixture.n_devices > 1 ? 1 : 0);
	t->between = make(t, PEAL_BUFFER_PINNED, 0);
	if (!t->host || !t->from || !t->to || !t->between)
		return -1;
	/* the first access to memory is slower */
	if (peal_buffer_fill(peal_buffer_full_range(t->between), "x", 1) < 0)
		return -peali_say_error("fill a buffer");
	if ((t->row.what == MANY && cut(t)) || fill_in(t) || run_ours(t) < 0)
		return -1;
	return 0;
}

static int take_down(void *context)
{
	struct transfers *t = context;
	struct peal_buffer **buffer[] = { &t->from, &t->to, &t->between };
	int failed = 0;

	for (int i = 0; i < 3; i++) {
		if (peal_buffer_destroy(*buffer[i]) < 0)
			failed = peali_say_error("destroy a buffer");
		*buffer[i] = NULL;
	}
	free(t->pieces);
	free(t->host);
	t->pieces = NULL;
	t->host = NULL;
	return failed ? -1 : 0;
}

static void fill(void *context, const struct peali_samples *ours,
		 const struct peali_samples *peer)
{
	static const char *const versus[] = { "memcpy",
					      "the slower of its two hops",
					      "a call for each" };
	struct transfers *t = context;
	json_t *cells = peali_report_row(&t->report, subjects[t->row.what]);
	double ns = peali_samples_spread(ours).median;

	peali_row_text(cells, "route", "%s", peal_route_name(t->route));
	peali_row_uint(cells, "bytes", t->row.bytes);
	peali_row_text(cells, "timed_by", "host");
	peali_fixture_cells(&t->fixture, 1, cells);
	peali_samples_row_durations(ours, cells, "copy_ns");
	peali_row_real(cells, "gigabytes_per_s", (double)t->row.bytes / ns);
	if (has_peer(t)) {
		peali_row_real(cells, "versus_ns_p50",
			       peali_samples_spread(peer).median);
		peali_samples_row_versus(peer, cells, versus[t->row.what],
					 NULL);
	} else {
		peali_row_null(cells, "versus_ns_p50", "no baseline yet");
		peali_samples_row_versus(peer, cells, NULL, "no baseline yet");
	}
}

static int run_row(struct transfers *t, const struct row *row)
{
	char label[64];
	const struct peali_runner_row runner = {
		.benchmark = "transfers",
		.label = label,
		.options = &t->options,
		.fixture = &t->fixture,
		.for_ns = t->row_ns,
		.bytes = (uint32_t)row->bytes,
		.alone = t->n_rows == 1,
		.build = build,
		.round = run_round,
		.fill = fill,
		.close = take_down,
		.context = t,
	};

	t->row = *row;
	snprintf(label, sizeof(label), "%s-%s-%llu",
		 row->what == MANY ? "many" : "one",
		 peal_route_name(row->route), (unsigned long long)row->bytes);
	return peali_runner_row(&runner);
}

/* Runs the selected rows, or only counts them. Returns their number, or -1. */
static int each_row(void *context, int count_only)
{
	struct transfers *t = context;
	int n = 0;

	for (int i = 0; i < ROWS; i++) {
		if (!peali_bench_wanted(&t->options, rows[i].route,
					rows[i].bytes))
			continue;
		if (!count_only && run_row(t, &rows[i]))
			return -1;
		n++;
	}
	return n;
}

static const struct peali_column columns[] = {
	{ "subject", "subject", 0 },
	{ "route", "route", 0 },
	{ "bytes", "size", PEALI_AS_SIZE },
	{ "copy_ns_p50", "p50", PEALI_AS_NS },
	{ "copy_ns_p90", "p90", PEALI_AS_NS },
	{ "copy_ns_max", "max", PEALI_AS_NS },
	{ "gigabytes_per_s", "payload", PEALI_AS_GB_PER_S },
	{ "n_samples", "samples", 0 },
	PEALI_COLUMNS_VERSUS("versus_ns_p50", "its p50", PEALI_AS_NS),
};

static int run_transfers(int argc, char **argv, int json)
{
	struct transfers t = { 0 };
	const struct peali_runner runner = {
		.benchmark = "transfers",
		.title = "copies between two devices, by the host's clock; "
			 "ratio above 1: faster than the baseline",
		.columns = columns,
		PEALI_RUNNER_STATE(t),
		.about = "Copies between two devices: direct ones, staged "
			 "ones, and many small ones in one call.",
		.seconds = SECONDS,
		.each_row = each_row,
	};

	return peali_runner_main(&runner, argc, argv, json);
}

const struct peali_bench peali_bench_transfers = {
	.name = "transfers",
	.help = "copies between two devices",
	.run = run_transfers,
};
