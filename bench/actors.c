/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmark `actors`: many actors on one worker, timed by the host.
 *
 * - made: actors per second, spawned by a single call. Baseline: a call per
 *   actor.
 * - by-handler: actors that a handler spawns and ends, per second. Its baseline
 *   is a call of the host per actor.
 * - messages: messages per second from the host to random actors. Baseline: as
 *   many messages to one actor.
 *
 * Each actor compares its own number with the number in the message.
 */
#include <math.h>
#include <stdlib.h>
#include <sched.h>

#include "bench/bench.h"
#include "bench/runner.h"
#include "bench/options.h"
#include "bench/report.h"
#include "bench/samples.h"
#include "bench/fixture.h"

#define SECONDS 4
#define MESSAGES 50000 /* messages in a round */
#define SINGLES 1000 /* actors in a round that the baseline spawns */
#define MOST 1000000

#define HATCHES 100 /* messages in a round to the actor that spawns */

enum what { MADE, BY_HANDLER, MESSAGES_TO };

static const char *const labels[] = { "made", "by-handler", "messages" };
static const char *const subjects[] = { "actors made",
					"actors made and ended by a handler",
					"messages to actors" };

struct row {
	enum what what;
	uint32_t actors; /* BY_HANDLER: actors to spawn for each message */
};
static const struct row rows[] = {
	{ MADE, 1000 },	       { MADE, MOST },	       { BY_HANDLER, 1000 },
	{ MESSAGES_TO, 1000 }, { MESSAGES_TO, 32000 }, { MESSAGES_TO, MOST },
};
#define ROWS (int)(sizeof(rows) / sizeof(rows[0]))

struct crowd {
	struct peali_bench_options options;
	struct peali_report report;
	struct peali_fixture fixture;
	uint64_t row_ns; /* time for each row */
	int n_rows;
	const struct row *row; /* current row */
	struct peali_cores cores; /* cores of the worker and of the host */
	int has_cores;
	struct peal_kernel *kernel;
	uint64_t *address, *id; /* addresses and numbers of MOST actors */
	int port; /* port of the host that leads to the worker */
	uint64_t sent; /* messages to the kernel since its launch */
	uint64_t random;
};

/* ---- spawning ------------------------------------------------------------ */

static int spawn(struct crowd *c, uint32_t n)
{
	const struct peal_actor_options options = {
		.size = sizeof(options),
		.init = c->id,
		.init_bytes = sizeof(*c->id),
		.init_stride = sizeof(*c->id),
	};

	if (peal_actor_spawn_many(c->kernel, "guest", &options, n, c->address) <
	    0)
		return -peali_say_error("spawn actors");
	return 0;
}

static int retire(struct crowd *c, uint32_t n)
{
	if (peal_actor_retire_many(c->fixture.runtime, c->address, n) < 0)
		return -peali_say_error("retire actors");
	return 0;
}

/*
 * Spawns n actors by a single call and ends them. Returns actors spawned per
 * second, or a negative value after an error.
 */
static double spawn_rate(struct crowd *c, uint32_t n)
{
	uint64_t began = peali_bench_now_ns(), ended;

	if (spawn(c, n))
		return -1;
	ended = peali_bench_now_ns();
	return retire(c, n) ? -1 : n * 1e9 / (double)(ended - began);
}

/*
 * Spawns SINGLES actors by one call each and ends them. Returns as spawn_rate.
 */
static double single_rate(struct crowd *c)
{
	struct peal_actor_options options = {
		.size = sizeof(options),
		.init_bytes = sizeof(*c->id),
	};
	uint64_t began = peali_bench_now_ns(), ended;

	for (uint32_t i = 0; i < SINGLES; i++) {
		options.init = c->id + i;
		if (peal_actor_spawn(c->kernel, "guest", &options,
				     c->address + i) < 0)
			return -peali_say_error("spawn an actor");
	}
	ended = peali_bench_now_ns();
	return retire(c, SINGLES) ? -1 :
				    SINGLES * 1e9 / (double)(ended - began);
}

/* ---- messages ------------------------------------------------------------ */

/*
 * Waits until the worker has handled all messages. Returns 0, or -1 after a
 * timeout or if an actor got a wrong number.
 */
static int await_all(struct crowd *c)
{
	uint64_t until = peali_bench_now_ns() + PEALI_FIXTURE_WAIT_NS;
	struct peal_kernel_info info;

	for (;;) {
		if (peal_kernel_info(c->kernel, &info) < 0)
			return -peali_say_error("read the state of the kernel");
		if (info.handled >= c->sent)
			break;
		if (peali_bench_now_ns() > until) {
			peali_say("%llu of %llu messages were handled",
				  (unsigned long long)info.handled,
				  (unsigned long long)c->sent);
			return -1;
		}
		sched_yield();
	}
	if (!info.failed)
		return 0;
	peali_say("%llu messages were delivered to the wrong actor",
		  (unsigned long long)info.failed);
	return -1;
}

/*
 * Returns messages per second to random actors of the first n. Returns a
 * negative value after an error.
 */
static double message_rate(struct crowd *c, uint32_t n)
{
	uint64_t began = peali_bench_now_ns();

	for (int i = 0; i < MESSAGES; i++) {
		struct peali_bench_call call = { 0 };
		uint32_t at;

		c->random =
			c->random * 6364136223846793005u + 1442695040888963407u;
		at = (uint32_t)((c->random >> 32) * n >> 32);
		call.guest = at;
		/*
		 * a single call spawned them, so the addresses follow one
		 * another
		 */
		if (peal_send_to(c->fixture.host, (uint32_t)c->port,
				 c->address[0] + at, PEALI_BENCH_DATA, &call,
				 sizeof(call), PEALI_FIXTURE_WAIT_NS, NULL) < 0)
			return -peali_say_error("send a message");
	}
	c->sent += MESSAGES;
	if (await_all(c))
		return -1;
	return MESSAGES * 1e9 / (double)(peali_bench_now_ns() - began);
}

/*
 * Returns actors per second that a handler spawns and ends, n for each message.
 * Returns a negative value after an error.
 */
static double handler_rate(struct crowd *c, uint32_t n)
{
	const struct peali_bench_call call = { .guest = n };
	uint64_t began = peali_bench_now_ns();

	for (int i = 0; i < HATCHES; i++)
		if (peal_send(c->fixture.host, (uint32_t)c->port,
			      PEALI_BENCH_DATA, &call, sizeof(call),
			      PEALI_FIXTURE_WAIT_NS, NULL) < 0)
			return -peali_say_error("send a message");
	c->sent += HATCHES;
	if (await_all(c))
		return -1;
	return HATCHES * (double)n * 1e9 /
	       (double)(peali_bench_now_ns() - began);
}

/* ---- rows ---------------------------------------------------------------- */

static int build(void *context)
{
	struct crowd *c = context;
	const struct row *row = c->row;
	struct peali_fixture *fixture = &c->fixture;
	int kernel;

	fixture->max_actors = row->actors + 1;
	fixture->max_spawned_actors = row->what == BY_HANDLER ? row->actors : 0;
	kernel = peali_fixture_launch(fixture, 0, &peal_program_peal_bench, 1);
	fixture->max_actors = fixture->max_spawned_actors = 0;
	if (kernel < 0)
		return -1;
	c->kernel = fixture->kernels[kernel];
	c->sent = 0;
	/* The worker has the first core, so the host takes the second one. */
	c->has_cores = fixture->on_host && peali_cores_pick(&c->cores) == 0;
	if (row->what == MADE)
		return 0;
	if (row->what == BY_HANDLER)
		c->address[0] =
			peali_fixture_spawn(fixture, kernel, "nursery", 0);
	else if (spawn(c, row->actors))
		return -1;
	c->port = peali_fixture_from_host(fixture, c->address[0],
					  sizeof(struct peali_bench_call));
	return c->port < 0 ? -1 : 0;
}

static int run_round(void *context, struct peali_samples *ours,
		     struct peali_samples *peer)
{
	struct crowd *c = context;
	const struct row *row = c->row;
	int before = c->has_cores ? peali_cores_distance(&c->cores) : 0;
	double rate, versus;

	if (c->has_cores)
		peali_core_bind(c->cores.b);
	versus = row->what == MESSAGES_TO ? message_rate(c, 1) : single_rate(c);
	rate = versus < 0	       ? -1 :
	       row->what == MADE       ? spawn_rate(c, row->actors) :
	       row->what == BY_HANDLER ? handler_rate(c, row->actors) :
					 message_rate(c, row->actors);
	peali_core_bind(-1);
	if (rate < 0)
		return -1;
	if (c->has_cores && peali_cores_distance(&c->cores) != before)
		before = PEALI_TAG_MIXED;
	peali_samples_add(peer, versus / 1e6);
	peali_samples_add(ours, rate / 1e6);
	peali_samples_close(peer, before, rate / versus);
	peali_samples_close(ours, before, NAN);
	return 0;
}

static void fill(void *context, const struct peali_samples *ours,
		 const struct peali_samples *peer)
{
	struct crowd *c = context;
	const struct row *row = c->row;
	json_t *cells = peali_report_row(&c->report, subjects[row->what]);

	peali_row_uint(cells, "actors", row->actors);
	peali_row_text(cells, "timed_by", "host");
	peali_fixture_cells(&c->fixture, 0, cells);
	peali_samples_row_cores(
		ours, cells,
		c->has_cores ? NULL : peali_fixture_no_cores(&c->fixture));
	peali_samples_row_rates(ours, cells, "mega_per_s");
	peali_row_real(cells, "versus_mega_per_s",
		       peali_samples_spread(peer).median);
	peali_samples_row_versus(peer, cells,
				 row->what == MESSAGES_TO ? "all to one actor" :
							    "a call for each",
				 NULL);
}

static int run_row(struct crowd *c, const struct row *row)
{
	char label[64];
	const struct peali_runner_row runner = {
		.benchmark = "actors",
		.label = label,
		.options = &c->options,
		.fixture = &c->fixture,
		.for_ns = c->row_ns,
		.bytes = sizeof(struct peali_bench_call),
		.alone = c->n_rows == 1,
		.build = build,
		.round = run_round,
		.fill = fill,
		.context = c,
	};

	c->row = row;
	snprintf(label, sizeof(label), "%s-%u", labels[row->what], row->actors);
	return peali_runner_row(&runner);
}

/* Runs the selected rows, or only counts them. Returns their number, or -1. */
static int each_row(void *context, int count_only)
{
	struct crowd *c = context;
	int n = 0;

	if (!peali_bench_wanted(&c->options, PEAL_ROUTE_MAPPED_HOST,
				sizeof(struct peali_bench_call)))
		return 0;
	for (; n < ROWS; n++)
		if (!count_only && run_row(c, &rows[n]))
			return -1;
	return n;
}

static const struct peali_column columns[] = {
	{ "subject", "subject", 0 },
	{ "actors", "actors", 0 },
	{ "core_distance", "cores", 0 },
	{ "mega_per_s", "rate", PEALI_AS_MEGA_PER_S },
	{ "mega_per_s_min", "min", PEALI_AS_MEGA_PER_S },
	{ "mega_per_s_max", "max", PEALI_AS_MEGA_PER_S },
	{ "n_samples", "rounds", 0 },
	PEALI_COLUMNS_VERSUS("versus_mega_per_s", "its rate",
			     PEALI_AS_MEGA_PER_S),
};

static int measure_rows(void *context)
{
	struct crowd *c = context;
	int result = -1;

	c->random = peali_bench_seed();
	c->address = calloc(MOST, sizeof(*c->address));
	c->id = calloc(MOST, sizeof(*c->id));
	for (uint64_t i = 0; c->id && i < MOST; i++)
		c->id[i] = i;
	if (c->address && c->id)
		result = each_row(c, 0);
	else
		peali_say("no memory for %d addresses", MOST);
	free(c->address);
	free(c->id);
	return result;
}

static int run(int argc, char **argv, int json)
{
	struct crowd c = { 0 };
	const struct peali_runner runner = {
		.benchmark = "actors",
		.title =
			"actors of one worker, by the host's clock; ratio above "
			"1: faster than the peer",
		.columns = columns,
		.rows = measure_rows,
		PEALI_RUNNER_STATE(c),
		.about = "Many actors of one worker: spawns per second, "
			 "and messages to any of them.",
		.seconds = SECONDS,
		.each_row = each_row,
	};

	return peali_runner_main(&runner, argc, argv, json);
}

const struct peali_bench peali_bench_actors = {
	.name = "actors",
	.help = "many actors: spawns per second, messages to any of them",
	.run = run,
};
