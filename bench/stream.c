/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmark `stream`: large payloads through one to three links. A feeder
 * copies its template into the first link. Relays copy from link to link. A
 * drain adds up every word. All actors run on two workers, of one device or of
 * two. Baseline: the same copies and sums by one thread. Baseline on GPUs: the
 * same copies by the driver.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <peal/memory.h>
#include <peal/peer.h>

#include "bench/bench.h"
#include "bench/runner.h"
#include "bench/samples.h"
#include "bench/stream.h"

#define SECONDS 10
#define ROUND_NS 8e6
#define ROUNDS_LEAST 3
#define STAGES_MOST 3
#define DEPTH_BYTES (1u << 18) /* bytes in a link; more would miss the caches */
#define DEPTH_LEAST 3
#define DEPTH_MOST 64
#define MESSAGES_LEAST 4

static const struct row {
	enum peal_route route;
	uint32_t bytes;
	uint32_t stages; /* copies between the feeder and the drain */
} rows[] = {
	{ PEAL_ROUTE_PEER, 4096, 1 },
	{ PEAL_ROUTE_PEER, 4096, 2 },
	{ PEAL_ROUTE_PEER, 4096, 3 },
	{ PEAL_ROUTE_PEER, 65536, 1 },
	{ PEAL_ROUTE_PEER, 65536, 2 },
	{ PEAL_ROUTE_PEER, 65536, 3 },
	{ PEAL_ROUTE_PEER, 1048576, 1 },
	{ PEAL_ROUTE_PEER, 1048576, 2 },
	{ PEAL_ROUTE_PEER, 1048576, 3 },
	{ PEAL_ROUTE_PEER, 16777216, 1 },
	{ PEAL_ROUTE_PEER, 16777216, 2 },
	{ PEAL_ROUTE_PEER, 16777216, 3 },
	{ PEAL_ROUTE_LOCAL, 65536, 1 },
	{ PEAL_ROUTE_LOCAL, 1048576, 1 },
	{ PEAL_ROUTE_MAPPED_HOST, 65536, 1 },
	{ PEAL_ROUTE_MAPPED_HOST, 1048576, 1 },
	{ PEAL_ROUTE_STAGED, 65536, 1 },
	{ PEAL_ROUTE_STAGED, 1048576, 1 },
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

/* A row while it runs. */
struct flow {
	struct peali_fixture *fixture;
	const struct row *row;
	uint32_t depth; /* capacity of a link, messages */
	uint64_t messages; /* messages of a round that are timed */
	uint64_t sum; /* sum of the template's words, with 0 in word 0 */
	uint64_t *template; /* on the host */
	/* of the baseline: `depth` payloads each */
	uint8_t *rings[STAGES_MOST];
	/* of the baseline on GPUs: addresses of a payload each */
	uint64_t copies[STAGES_MOST];
	int feeder_port, drain_port;
	int link; /* index of the first link */
	struct peali_cores cores;
	int has_cores;
};

/* ---- ours ---------------------------------------------------------------- */

static int connect_stages(struct flow *f, const uint64_t *actors)
{
	const struct peal_link_options tick = {
		.size = sizeof(tick),
		.message_bytes = 8,
	};
	const struct peal_link_options options = {
		.size = sizeof(options),
		.capacity = DEPTH_MOST,
		.message_bytes = f->row->bytes,
		.slot_bytes = 64,
		.slab_bytes = (uint64_t)f->depth * f->row->bytes,
		.require = f->row->route,
	};

	for (uint32_t i = 0; i < f->row->stages; i++) {
		int link = peali_fixture_connect(f->fixture, actors[i], 0,
						 actors[i + 1], &options);

		if (link < 0)
			return -1;
		f->link = i ? f->link : link;
	}
	return peali_fixture_connect(f->fixture, actors[0], 1, actors[0],
				     &tick) < 0 ?
		       -1 :
		       0;
}

/* Spawns actor i on worker i mod 2, of two devices or of one. */
static int build(struct flow *f)
{
	struct peali_fixture *fixture = f->fixture;
	uint32_t n = f->row->stages + 1;
	int local = f->row->route == PEAL_ROUTE_LOCAL;
	uint64_t actors[STAGES_MOST + 1];
	int kernels[2];

	kernels[0] = peali_fixture_launch(fixture, 0, &peal_program_peal_bench,
					  local ? 2 : 1);
	kernels[1] = local ? kernels[0] :
			     peali_fixture_launch(fixture, 1,
						  &peal_program_peal_bench, 1);
	for (uint32_t i = 0; i < n; i++) {
		const char *handler = i == 0	 ? "feeder" :
				      i == n - 1 ? "drain" :
						   "relay";

		actors[i] = peali_fixture_spawn(fixture, kernels[i % 2],
						handler, local ? i % 2 : 0);
		if (!actors[i])
			return -1;
	}
	f->has_cores = peali_fixture_cores(
			       fixture, (struct peali_fixture_worker){ 0, 0 },
			       (struct peali_fixture_worker){ !local, local },
			       &f->cores) == 0;
	if (connect_stages(f, actors) ||
	    peali_fixture_to_host(fixture, actors[n - 1], 0))
		return -1;
	f->feeder_port = peali_fixture_from_host(
		fixture, actors[0], sizeof(struct peali_bench_start));
	f->drain_port = peali_fixture_from_host(
		fixture, actors[n - 1], sizeof(struct peali_bench_start));
	return f->feeder_port < 0 || f->drain_port < 0 ? -1 : 0;
}

/* Makes the template, also on the feeder's device, and the baseline's rings. */
static int make_memory(struct flow *f)
{
	uint64_t words = f->row->bytes / 8;
	uint64_t seed = peali_bench_seed();
	uint64_t address;

	f->template = malloc(f->row->bytes);
	for (uint32_t i = 0; i < f->row->stages; i++) {
		size_t bytes = (size_t)f->depth * f->row->bytes;

		f->rings[i] = malloc(bytes);
		if (!f->rings[i])
			goto no_memory;
		memset(f->rings[i], 1, bytes);
	}
	if (!f->template)
		goto no_memory;
	for (uint64_t i = 0; i < words; i++)
		f->template[i] = peali_bench_word(seed, i);
	f->template[0] = 0;
	f->sum = peali_bench_sum(f->template, words, 0, 1);
	address = peali_fixture_memory(f->fixture, 0, f->row->bytes);
	if (!address)
		return -1;
	if (peal_peer_copy(f->fixture->runtime, 0, address, PEAL_HOST_MEMORY,
			   (uint64_t)(uintptr_t)f->template,
			   f->row->bytes) == 0)
		return 0;
	peali_say_error("copy the template to the device");
	return -1;
no_memory:
	peali_say("out of memory");
	return -1;
}

/*
 * Runs a round of ours. Returns bytes per second, or a negative value after an
 * error.
 */
static double run_ours(struct flow *f)
{
	const struct peali_bench_start start = {
		.seed = f->sum,
		.messages = f->messages + f->depth,
		.address = f->fixture->memory.address,
		.bytes = f->row->bytes,
		.warm = f->depth,
	};
	struct peali_fixture_report report;

	if (peali_fixture_start(f->fixture, f->drain_port, &start) ||
	    peali_fixture_wait(f->fixture, &report) ||
	    peali_fixture_start(f->fixture, f->feeder_port, &start) ||
	    peali_fixture_wait(f->fixture, &report))
		return -1;
	if (report.head.messages != f->messages) {
		peali_say("a round of %llu payloads delivered %llu",
			  (unsigned long long)f->messages,
			  (unsigned long long)report.head.messages);
		return -1;
	}
	return (double)f->messages * f->row->bytes * 1e9 /
	       (double)(report.head.elapsed_ns + 1);
}

/* ---- the baseline -------------------------------------------------------- */

/*
 * Runs the copies by one thread, and with `check` the sums. Returns bytes per
 * second, or a negative value if data are wrong.
 */
static double run_copies(struct flow *f, int check)
{
	uint64_t began = peali_bench_now_ns();
	uint64_t words = f->row->bytes / 8;
	uint64_t wrong = 0, ns;

	for (uint64_t i = 0; i < f->messages; i++) {
		size_t at = (size_t)(i % f->depth) * f->row->bytes;
		const uint8_t *from = (const uint8_t *)f->template;

		for (uint32_t k = 0; k < f->row->stages; k++) {
			uint8_t *to = f->rings[k] + at;

			memcpy(to, from, f->row->bytes);
			if (k == 0)
				memcpy(to, &i, sizeof(i));
			from = to;
		}
		if (check)
			wrong |= peali_bench_sum(
					 (const uint64_t *)(const void *)from,
					 words, 0, 1) ^
				 (f->sum + i);
	}
	ns = peali_bench_now_ns() - began + 1;
	if (!wrong)
		return (double)f->messages * f->row->bytes * 1e9 / (double)ns;
	peali_say("the copies of one thread read wrong data");
	return -1;
}

/* ---- the baseline on GPUs ------------------------------------------------ */

/* Returns the device of actor i. */
static int device_of(const struct flow *f, uint32_t i)
{
	return f->row->route == PEAL_ROUTE_LOCAL ? 0 : (int)(i % 2);
}

static int take_copies(struct flow *f)
{
	for (uint32_t k = 0; k < f->row->stages; k++)
		if (peal_memory_alloc(f->fixture->runtime, device_of(f, k + 1),
				      f->row->bytes, f->copies + k) < 0)
			return -peali_say_error("allocate memory for copies");
	return 0;
}

static void give_copies(const struct flow *f)
{
	for (uint32_t k = 0; k < STAGES_MOST; k++)
		if (f->copies[k] &&
		    peal_memory_free(f->fixture->runtime, device_of(f, k + 1),
				     f->copies[k]) < 0)
			peali_say_error("free the memory of copies");
}

/*
 * Reads the last stage's payload and compares it with the template. Returns 0
 * or -1.
 */
static int check_copies(const struct flow *f)
{
	uint32_t last = f->row->stages - 1;
	uint8_t *got = f->rings[0];

	if (peal_peer_copy(f->fixture->runtime, PEAL_HOST_MEMORY,
			   (uint64_t)(uintptr_t)got, device_of(f, last + 1),
			   f->copies[last], f->row->bytes) < 0)
		return -peali_say_error("read the copy");
	if (memcmp(got, f->template, f->row->bytes) == 0)
		return 0;
	peali_say("the driver's copies differ from their source");
	return -1;
}

/*
 * Runs the copies by the driver. Returns bytes per second, or a negative value
 * after an error.
 */
static double run_device_copies(const struct flow *f)
{
	uint64_t began = peali_bench_now_ns();
	uint64_t ns;

	for (uint64_t i = 0; i < f->messages; i++) {
		uint64_t from = f->fixture->memory.address;

		for (uint32_t k = 0; k < f->row->stages; k++) {
			if (peal_peer_copy(f->fixture->runtime,
					   device_of(f, k + 1), f->copies[k],
					   device_of(f, k), from,
					   f->row->bytes) < 0)
				return -peali_say_error("copy");
			from = f->copies[k];
		}
	}
	ns = peali_bench_now_ns() - began + 1;
	if (check_copies(f))
		return -1;
	return (double)f->messages * f->row->bytes * 1e9 / (double)ns;
}

/* ---- rounds -------------------------------------------------------------- */

static int run_round(struct flow *f, struct peali_samples *ours,
		     struct peali_samples *peers, struct peali_samples *copies)
{
	int before = f->has_cores ? peali_cores_distance(&f->cores) : 0;
	double copy = NAN, peer = NAN, rate;

	if (f->has_cores)
		peali_core_bind(f->cores.a);
	if (f->fixture->on_host) {
		copy = run_copies(f, 0) * f->row->stages;
		peer = run_copies(f, 1);
	} else {
		peer = run_device_copies(f);
	}
	peali_core_bind(-1);
	rate = run_ours(f);
	if (peer < 0 || rate < 0)
		return -1;
	if (f->has_cores && peali_cores_distance(&f->cores) != before)
		before = PEALI_TAG_MIXED;
	peali_samples_add(ours, rate / 1e9);
	peali_samples_add(peers, peer / 1e9);
	peali_samples_add(copies, copy / 1e9);
	peali_samples_close(ours, before, rate / peer);
	peali_samples_close(peers, before, NAN);
	peali_samples_close(copies, before, NAN);
	return 0;
}

/* ---- rows ---------------------------------------------------------------- */

static void fill(struct peali_stream *stream, const struct flow *f,
		 const struct peali_samples *ours,
		 const struct peali_samples *peers,
		 const struct peali_samples *copies)
{
	json_t *cells = peali_report_row(&stream->report, "payloads");

	peali_row_text(
		cells, "route", "%s",
		peal_route_name(peali_fixture_route(f->fixture, f->link)));
	peali_row_uint(cells, "message_bytes", f->row->bytes);
	peali_row_uint(cells, "stages", f->row->stages);
	peali_row_uint(cells, "depth", f->depth);
	peali_row_text(cells, "timed_by", "receiving worker");
	peali_fixture_cells(f->fixture, f->row->route != PEAL_ROUTE_LOCAL,
			    cells);
	peali_samples_row_rates(ours, cells, "gigabytes_per_s");
	if (!f->fixture->on_host) {
		peali_samples_row_cores(ours, cells,
					peali_fixture_no_cores(f->fixture));
		peali_row_real(cells, "versus_gigabytes_per_s",
			       peali_samples_spread(peers).median);
		peali_row_text(cells, "versus_timed_by", "host");
		peali_samples_row_versus(ours, cells, "the driver's copies",
					 NULL);
		return;
	}
	peali_samples_row_cores(ours, cells, NULL);
	peali_row_real(cells, "memcpy_gigabytes_per_s",
		       peali_samples_spread(copies).median);
	peali_row_real(cells, "versus_gigabytes_per_s",
		       peali_samples_spread(peers).median);
	peali_samples_row_versus(ours, cells, "memcpy and check in one loop",
				 NULL);
}

static int calibrate(struct flow *f)
{
	double rate;

	f->messages = MESSAGES_LEAST;
	rate = run_ours(f);
	if (rate < 0)
		return -1;
	f->messages = (uint64_t)(rate * ROUND_NS / 1e9 / f->row->bytes);
	if (f->messages < MESSAGES_LEAST)
		f->messages = MESSAGES_LEAST;
	return 0;
}

static int run_row(struct peali_stream *stream, const struct row *row)
{
	struct flow f = { .fixture = &stream->fixture, .row = row };
	struct peali_samples ours = { 0 };
	struct peali_samples peers = { 0 };
	struct peali_samples copies = { 0 };
	uint64_t until = peali_bench_now_ns() + stream->row_ns;
	char label[64];
	int result;

	if (!peali_fixture_can(f.fixture, row->route))
		return 0;
	peali_fixture_fit_lanes(f.fixture, row->bytes);
	f.depth = DEPTH_BYTES / row->bytes;
	f.depth = f.depth < DEPTH_LEAST ? DEPTH_LEAST :
		  f.depth > DEPTH_MOST	? DEPTH_MOST :
					  f.depth;
	result = build(&f) || make_memory(&f) || calibrate(&f) ? -1 : 0;
	if (!result && !f.fixture->on_host)
		result = take_copies(&f);
	for (int i = 0;
	     !result && (i < ROUNDS_LEAST || peali_bench_now_ns() < until); i++)
		result = run_round(&f, &ours, &peers, &copies);
	if (!result) {
		fill(stream, &f, &ours, &peers, &copies);
		snprintf(label, sizeof(label), "%s-%u-%u",
			 peal_route_name(row->route), row->bytes, row->stages);
		result = peali_samples_write(&ours, &stream->options, "stream",
					     label, stream->n_rows == 1);
	}
	if (peali_fixture_clear(f.fixture))
		result = -1;
	peali_samples_fini(&ours);
	peali_samples_fini(&peers);
	give_copies(&f);
	peali_samples_fini(&copies);
	for (uint32_t i = 0; i < STAGES_MOST; i++)
		free(f.rings[i]);
	free(f.template);
	return result;
}

static int wanted(const struct peali_stream *stream, const struct row *row)
{
	return peali_bench_wanted(&stream->options, row->route, row->bytes);
}

static const struct peali_column columns[] = {
	{ "subject", "subject", 0 },
	{ "route", "route", 0 },
	{ "message_bytes", "size", PEALI_AS_SIZE },
	{ "stages", "stages", 0 },
	{ "core_distance", "cores", 0 },
	{ "gigabytes_per_s", "payload", PEALI_AS_GB_PER_S },
	{ "frames_per_s", "frames", PEALI_AS_PER_S },
	{ "n_samples", "rounds", 0 },
	{ "memcpy_gigabytes_per_s", "memcpy", PEALI_AS_GB_PER_S },
	PEALI_COLUMNS_VERSUS("versus_gigabytes_per_s", "its rate",
			     PEALI_AS_GB_PER_S),
};

static int run_rows(struct peali_stream *stream)
{
	for (size_t i = 0; i < N_ROWS; i++)
		if (wanted(stream, rows + i) && run_row(stream, rows + i))
			return -1;
	return peali_stream_y4m_wanted(stream) ? peali_stream_y4m(stream) : 0;
}

static int measure_rows(void *context)
{
	struct peali_stream *stream = context;

	return run_rows(stream) ? -1 : 0;
}

static int run(int argc, char **argv, int json)
{
	struct peali_stream stream = { 0 };
	int video;
	const struct peali_runner runner = {
		.benchmark = "stream",
		.title = "payload delivered and checked; ratio above 1: faster "
			 "than the peer",
		.columns = columns,
		.fixture = &stream.fixture,
		.report = &stream.report,
		.rows = measure_rows,
		.context = &stream,
	};

	peali_bench_parse(argc, argv,
			  "Large payloads through one to three links, and "
			  "video through three filters.",
			  SECONDS, &stream.options);
	for (size_t i = 0; i < N_ROWS; i++)
		stream.n_rows += wanted(&stream, rows + i);
	video = peali_stream_y4m_wanted(&stream);
	stream.n_rows += video;
	if (!stream.n_rows)
		return peali_bench_refuse("stream", &stream.options);
	/* The row of video frames gets as much time as three other rows. */
	stream.row_ns = (uint64_t)(stream.options.seconds * 1e9 /
				   (stream.n_rows + (video ? 2 : 0)));
	return peali_runner_run(&runner, json);
}

const struct peali_bench peali_bench_stream = {
	.name = "stream",
	.help = "large payloads through one to three links; video filters",
	.run = run,
};
