/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmark `tells`: messages between actors of one kernel by peal_tell and
 * mailboxes. Rows and their baselines:
 *
 * - to and fro between two actors: the same by links, and by CAF actors
 * - asks and their answers: peal_tell to and fro
 * - many actors tell one actor: CAF actors
 * - to and fro between two kernels, by proxies: links between the kernels
 *
 * CAF has as many threads as the kernel has workers.
 */
#include <math.h>
#include <sched.h>

#include <peal/proxy.h>

#include "bench/bench.h"
#include "bench/baseline/caf.h"
#include "bench/runner.h"
#include "bench/options.h"
#include "bench/report.h"
#include "bench/samples.h"
#include "bench/fixture.h"

#define SECONDS 4
#define RALLY 20001 /* messages of a round, less one; odd */
#define EACH 4000 /* messages of a caller in a round */
#define CALLERS 8
#define SLOTS 1024

enum what { RALLY_OF, GATHER, ASKS, FAR };
enum peer { LINKS, CAF, TELLS };

static const char *const labels[] = { "rally", "gather", "asks", "far" };
static const char *const subjects[] = { "to and fro", "many to one",
					"asked and answered",
					"between two kernels" };
static const char *const peers[] = { "links", "caf", "tells" };
static const char *const peer_names[] = { "links", "CAF, as many threads",
					  "told to and fro" };

struct row {
	enum what what;
	uint32_t workers;
	enum peer peer;
};
static const struct row rows[] = {
	{ RALLY_OF, 1, LINKS }, { RALLY_OF, 2, LINKS }, { ASKS, 1, TELLS },
	{ ASKS, 2, TELLS },	{ RALLY_OF, 1, CAF },	{ RALLY_OF, 2, CAF },
	{ GATHER, 1, CAF },	{ GATHER, 2, CAF },	{ FAR, 1, LINKS },
};
#define ROWS (int)(sizeof(rows) / sizeof(rows[0]))

/* The two actors of a rally. Or the actor that is called, and its callers. */
struct team {
	uint64_t address[1 + CALLERS];
	/* number that the other actors tell it by */
	uint32_t number[1 + CALLERS];
	int port[1 + CALLERS]; /* ports of the host that lead to the actors */
	uint32_t n;
};

struct tells {
	struct peali_bench_options options;
	struct peali_report report;
	struct peali_fixture fixture;
	uint64_t row_ns; /* time for each row */
	int n_rows;
	const struct row *row; /* current row */
	struct peali_cores cores; /* cores of the workers */
	int has_cores;
	/* kernel of the actor that gets START first */
	struct peal_kernel *kernel;
	/* index of the second kernel of FAR, which has actor 1; else 0 */
	int far;
	struct team ours, links, asks;
	const struct peali_caf *caf;
	const char *no_caf;
};

/* ---- rounds -------------------------------------------------------------- */

/* Waits until the kernel has handled `messages` messages. Returns 0 or -1. */
static int await_handled(struct tells *t, uint64_t messages)
{
	uint64_t until = peali_bench_now_ns() + PEALI_FIXTURE_WAIT_NS;
	struct peal_kernel_info info;

	do {
		if (peal_kernel_info(t->kernel, &info) < 0)
			return -peali_say_error("read the state of the kernel");
		if (info.handled >= messages)
			return 0;
		sched_yield();
	} while (peali_bench_now_ns() < until);
	peali_say("the actors did not start");
	return -1;
}

/*
 * Sends START to an actor and waits until it has been handled. Returns 0 or -1.
 */
static int prepare(struct tells *t, const struct team *team, uint32_t index,
		   const struct peali_bench_start *start)
{
	struct peal_kernel_info info;

	if (peal_kernel_info(t->kernel, &info) < 0)
		return -peali_say_error("read the state of the kernel");
	if (peali_fixture_start(&t->fixture, team->port[index], start))
		return -1;
	return await_handled(t, info.handled + 1);
}

/*
 * Waits for the report of a round. Returns messages per second, or a negative
 * value after an error.
 */
static double result_of(struct tells *t)
{
	struct peali_fixture_report report;

	if (peali_fixture_wait(&t->fixture, &report))
		return -1;
	return (double)report.head.messages * 1e9 /
	       (double)report.head.elapsed_ns;
}

static double rally(struct tells *t, const struct team *team)
{
	struct peali_bench_start start = { .messages = RALLY, .self = 1 };

	start.address = team->number[0];
	if (prepare(t, team, 1, &start))
		return -1;
	start.self = 0;
	start.address = team->number[1];
	if (peali_fixture_start(&t->fixture, team->port[0], &start))
		return -1;
	return result_of(t);
}

static double asks(struct tells *t)
{
	struct peali_bench_start start = { .messages = RALLY };

	start.address = (uint32_t)t->asks.address[1];
	if (peali_fixture_start(&t->fixture, t->asks.port[0], &start))
		return -1;
	return result_of(t);
}

static double gather(struct tells *t)
{
	struct peali_bench_start start = { .messages = CALLERS * EACH };

	if (prepare(t, &t->ours, 0, &start))
		return -1;
	start.messages = EACH;
	start.address = (uint32_t)t->ours.address[0];
	for (uint32_t i = 1; i <= CALLERS; i++) {
		start.self = i - 1;
		if (peali_fixture_start(&t->fixture, t->ours.port[i], &start))
			return -1;
	}
	return result_of(t);
}

/*
 * Runs a round of the baseline. Returns messages per second, 0 if there is no
 * baseline, or a negative value after an error.
 */
static double versus(struct tells *t, const struct row *row)
{
	uint64_t n = row->what == GATHER ? CALLERS * EACH : RALLY + 1;
	double seconds = 0;
	int result;

	if (row->peer == LINKS)
		return rally(t, &t->links);
	if (row->peer == TELLS)
		return rally(t, &t->ours);
	if (!t->caf)
		return 0;
	result = row->what == GATHER ?
			 t->caf->gather(row->workers, CALLERS, EACH, &seconds) :
			 t->caf->rally(row->workers, RALLY, &seconds);
	if (!result)
		return (double)n / seconds;
	peali_say("a message between actors of CAF was wrong");
	return -1;
}

/* ---- rows ---------------------------------------------------------------- */

/*
 * Adds an actor to a team and connects it with the host. Parameter reports: 1
 * if the actor reports to the host.
 */
static int add(struct tells *t, struct team *team, const char *handler,
	       uint32_t worker, int reports)
{
	uint32_t i = team->n++;

	team->address[i] = peali_fixture_spawn(&t->fixture, i ? t->far : 0,
					       handler, worker);
	team->number[i] = (uint32_t)team->address[i];
	if (!team->address[i] ||
	    (reports &&
	     peali_fixture_to_host(&t->fixture, team->address[i], 0)))
		return -1;
	team->port[i] =
		peali_fixture_from_host(&t->fixture, team->address[i],
					sizeof(struct peali_bench_start));
	return team->port[i] < 0 ? -1 : 0;
}

/*
 * Makes a proxy for each of two actors, in the kernel of the other actor.
 * Returns 0 or -1.
 */
static int add_proxies(struct tells *t, struct team *team)
{
	uint64_t proxy;
	int i;

	for (i = 0; i < 2; i++) {
		if (peal_proxy_create(t->fixture.kernels[i ? 0 : t->far],
				      team->address[i], NULL, &proxy))
			return -peali_say_error("create a proxy");
		team->number[i] = (uint32_t)proxy;
	}
	return 0;
}

static int launch(struct tells *t)
{
	const struct row *row = t->row;
	struct peali_fixture *fixture = &t->fixture;
	int kernel;

	fixture->mailbox_slots = SLOTS;
	fixture->asks = row->what == ASKS;
	kernel = peali_fixture_launch(fixture, 0, &peal_program_peal_bench,
				      row->workers);
	t->far = 0;
	if (kernel >= 0 && row->what == FAR)
		kernel = t->far = peali_fixture_launch(fixture,
						       fixture->n_devices > 1,
						       &peal_program_peal_bench,
						       row->workers);
	fixture->mailbox_slots = fixture->asks = 0;
	if (kernel < 0)
		return -1;
	t->kernel = fixture->kernels[kernel];
	return 0;
}

static int build(void *context)
{
	struct tells *t = context;
	const struct row *row = t->row;
	const struct peal_link_options link = { .size = sizeof(link) };
	struct peali_fixture *fixture = &t->fixture;
	uint32_t last = row->workers - 1;

	t->ours.n = t->links.n = t->asks.n = 0;
	if (launch(t))
		return -1;
	t->has_cores = fixture->on_host && (row->workers > 1 || t->far) &&
		       peali_cores_pick(&t->cores) == 0;
	if (row->what == GATHER) {
		if (add(t, &t->ours, "callee", last, 1))
			return -1;
		for (uint32_t i = 0; i < CALLERS; i++)
			if (add(t, &t->ours, "caller", 0, 0))
				return -1;
		return 0;
	}
	if (add(t, &t->ours, "rally_tell", 0, 1) ||
	    add(t, &t->ours, "rally_tell", last, 1))
		return -1;
	if (row->what == ASKS)
		return add(t, &t->asks, "rally_ask", 0, 1) ||
				       add(t, &t->asks, "answer", last, 0) ?
			       -1 :
			       0;
	if (t->far && add_proxies(t, &t->ours))
		return -1;
	if (add(t, &t->links, "rally_emit", 0, 1) ||
	    add(t, &t->links, "rally_emit", last, 1))
		return -1;
	return peali_fixture_connect(fixture, t->links.address[0], 1,
				     t->links.address[1], &link) < 0 ||
			       peali_fixture_connect(fixture,
						     t->links.address[1], 1,
						     t->links.address[0],
						     &link) < 0 ?
		       -1 :
		       0;
}

static int run_round(void *context, struct peali_samples *ours,
		     struct peali_samples *peer)
{
	struct tells *t = context;
	const struct row *row = t->row;
	int before = t->has_cores ? peali_cores_distance(&t->cores) : 0;
	double other = versus(t, row);
	double rate = other < 0		  ? -1 :
		      row->what == GATHER ? gather(t) :
		      row->what == ASKS	  ? asks(t) :
					    rally(t, &t->ours);

	if (rate < 0)
		return -1;
	if (t->has_cores && peali_cores_distance(&t->cores) != before)
		before = PEALI_TAG_MIXED;
	peali_samples_add(peer, other / 1e6);
	peali_samples_add(ours, rate / 1e6);
	peali_samples_close(peer, before, other > 0 ? rate / other : NAN);
	peali_samples_close(ours, before, NAN);
	return 0;
}

static void fill(void *context, const struct peali_samples *ours,
		 const struct peali_samples *peer)
{
	struct tells *t = context;
	const struct row *row = t->row;
	int has_peer = row->peer != CAF || t->caf;
	json_t *cells = peali_report_row(&t->report, subjects[row->what]);

	peali_row_uint(cells, "workers", row->workers);
	peali_row_text(cells, "timed_by", "receiver of the last message");
	peali_fixture_cells(&t->fixture, 0, cells);
	peali_samples_row_cores(ours, cells,
				t->has_cores ?
					NULL :
				row->workers == 1 && !t->far ?
					"one worker has one core" :
					peali_fixture_no_cores(&t->fixture));
	peali_samples_row_rates(ours, cells, "mega_per_s");
	if (has_peer)
		peali_row_real(cells, "versus_mega_per_s",
			       peali_samples_spread(peer).median);
	peali_samples_row_versus(peer, cells,
				 has_peer ? peer_names[row->peer] : NULL,
				 t->no_caf);
}

static int run_row(struct tells *t, const struct row *row)
{
	char label[64];
	const struct peali_runner_row runner = {
		.benchmark = "tells",
		.label = label,
		.options = &t->options,
		.fixture = &t->fixture,
		.for_ns = t->row_ns,
		.bytes = sizeof(struct peali_bench_call),
		.alone = t->n_rows == 1,
		.build = build,
		.round = run_round,
		.fill = fill,
		.context = t,
	};

	t->row = row;
	snprintf(label, sizeof(label), "%s-%u-%s", labels[row->what],
		 row->workers, peers[row->peer]);
	return peali_runner_row(&runner);
}

/* Runs the selected rows, or only counts them. Returns their number, or -1. */
static int each_row(void *context, int count_only)
{
	struct tells *t = context;
	int n = 0;

	if (!peali_bench_wanted(&t->options, PEAL_ROUTE_LOCAL,
				sizeof(struct peali_bench_call)))
		return 0;
	for (; n < ROWS; n++)
		if (!count_only && run_row(t, &rows[n]))
			return -1;
	return n;
}

static const struct peali_column columns[] = {
	{ "subject", "subject", 0 },
	{ "workers", "workers", 0 },
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
	struct tells *t = context;

	t->no_caf = "the devices are not emulated by threads of this machine";
	if (t->fixture.on_host)
		t->caf = peali_caf_open(&t->no_caf);
	return each_row(t, 0);
}

static int run(int argc, char **argv, int json)
{
	struct tells t = { 0 };
	const struct peali_runner runner = {
		.benchmark = "tells",
		.title = "messages between actors of a kernel, by the clock "
			 "of the receiver of the last; ratio above 1: faster "
			 "than the peer",
		.columns = columns,
		.rows = measure_rows,
		PEALI_RUNNER_STATE(t),
		.about = "Messages between actors of one kernel: to and fro "
			 "between two, and from many to one; and of two "
			 "kernels, by proxies.",
		.seconds = SECONDS,
		.each_row = each_row,
	};

	return peali_runner_main(&runner, argc, argv, json);
}

const struct peali_bench peali_bench_actor_messages = {
	.name = "tells",
	.help = "messages between actors of a kernel, by mailboxes",
	.run = run,
};
