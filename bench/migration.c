/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmark `moves`: an actor with a large state migrates to another worker
 * or to a kernel on another device. Messages wait for it. The host measures
 * from the call until the actor has handled all messages there, in order.
 * Baseline: a copy of as many bytes as state and messages have.
 *
 * Within a kernel the state stays in place and only the messages move. So ours
 * copies less than the baseline. But it includes control messages and handlers.
 */
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <peal/migration.h>

#include "bench/bench.h"
#include "bench/runner.h"
#include "bench/options.h"
#include "bench/report.h"
#include "bench/samples.h"
#include "bench/fixture.h"

#define SECONDS 2
#define SLOTS 2048 /* slots of the link and of the mailboxes */
#define MOVES 4 /* migrations in a round */
#define BYTES (uint32_t)sizeof(struct peali_bench_call)

#define KERNELS 2 /* on different devices if there are two */

struct row {
	int to_kernel; /* 1: to the other kernel */
	uint32_t waiting; /* messages that wait */
};

static const struct row rows[] = {
	{ 0, 0 }, { 0, 1000 }, { 1, 0 }, { 1, 1000 }
};
#define ROWS (int)(sizeof(rows) / sizeof(rows[0]))

struct moves {
	struct peali_bench_options options;
	struct peali_report report;
	struct peali_fixture fixture;
	uint64_t row_ns; /* time for each row */
	int n_rows;
	struct row row; /* current row */
	struct peali_cores cores; /* cores of the workers */
	int has_cores;
	/* the actor starts in the first kernel */
	struct peal_kernel *kernels[KERNELS];
	/* port of the host that leads to worker 0 of the first kernel */
	int port;
	uint64_t handled; /* messages that the kernels must have handled */
	uint8_t *from, *to; /* buffers of the baseline */
};

/* ---- rounds -------------------------------------------------------------- */

/* Adds up the counts of both kernels. *failed counts messages out of order. */
static int look(const struct moves *m, uint64_t *handled, uint64_t *failed)
{
	struct peal_kernel_info info;

	*handled = *failed = 0;
	for (int i = 0; i < KERNELS; i++) {
		if (peal_kernel_info(m->kernels[i], &info) < 0)
			return -peali_say_error("read the state of the kernel");
		*handled += info.handled;
		*failed += info.failed;
	}
	return 0;
}

/* Waits until all messages are handled. Returns 0 or -1. */
static int await_all(struct moves *m)
{
	uint64_t until = peali_bench_now_ns() + PEALI_FIXTURE_WAIT_NS;
	uint64_t handled, failed;

	do {
		if (look(m, &handled, &failed))
			return -1;
		if (failed) {
			peali_say("%llu messages were out of order",
				  (unsigned long long)failed);
			return -1;
		}
		if (handled >= m->handled)
			return 0;
		sched_yield(); /* the workers may have all cores */
	} while (peali_bench_now_ns() < until);
	peali_say("%llu of %llu messages were handled",
		  (unsigned long long)handled, (unsigned long long)m->handled);
	return -1;
}

/* Sends the messages to an actor of the suspended kernel. Returns 0 or -1. */
static int send_all(struct moves *m, uint64_t to)
{
	struct peali_bench_call call = { 0, 0 };

	for (; call.calls < m->row.waiting; call.calls++)
		if (peal_send_to(m->fixture.host, (uint32_t)m->port, to,
				 PEALI_BENCH_DATA, &call, sizeof(call),
				 PEALI_FIXTURE_WAIT_NS, NULL) < 0)
			return -peali_say_error("send a message");
	m->handled += m->row.waiting;
	return 0;
}

/* Measures one migration. Returns ns, or a negative value after an error. */
static double move(struct moves *m)
{
	const struct peal_migration_options there = {
		.size = sizeof(there),
		.worker = 2,
		.kernel = m->kernels[m->row.to_kernel],
	};
	uint64_t actor = peali_fixture_spawn(&m->fixture, 0, "mover", 0), began;
	double ns;

	if (!actor)
		return -1;
	if (peal_kernel_suspend(m->kernels[0], PEALI_FIXTURE_WAIT_NS) < 0)
		return -peali_say_error("suspend the kernel");
	if (send_all(m, actor))
		return -1;
	began = peali_bench_now_ns();
	if (peal_actor_migrate(m->fixture.runtime, actor, &there, NULL) < 0)
		return -peali_say_error("migrate an actor");
	if (peal_kernel_resume(m->kernels[0]) < 0)
		return -peali_say_error("resume the kernel");
	if (await_all(m))
		return -1;
	ns = (double)(peali_bench_now_ns() - began);
	if (peal_actor_retire(m->fixture.runtime, actor) < 0)
		return -peali_say_error("retire an actor");
	return ns;
}

/* Returns the ns of the baseline's copy. */
static double copy(struct moves *m)
{
	size_t bytes = PEALI_BENCH_MOVED + (size_t)m->row.waiting * BYTES;
	uint64_t began = peali_bench_now_ns();

	memcpy(m->to, m->from, bytes);
	return (double)(peali_bench_now_ns() - began);
}

static int run_round(void *context, struct peali_samples *ours,
		     struct peali_samples *peer)
{
	struct moves *m = context;
	int before = m->has_cores ? peali_cores_distance(&m->cores) : 0;

	for (int i = 0; i < MOVES; i++) {
		double other = copy(m), ns = move(m);

		if (ns < 0)
			return -1;
		peali_samples_add(peer, other);
		peali_samples_add(ours, ns);
	}
	if (m->has_cores && peali_cores_distance(&m->cores) != before)
		before = PEALI_TAG_MIXED;
	peali_samples_close(peer, before,
			    peali_samples_open_median(peer) /
				    peali_samples_open_median(ours));
	peali_samples_close(ours, before, NAN);
	return 0;
}

/* ---- rows ---------------------------------------------------------------- */

static int build(void *context)
{
	struct moves *m = context;
	struct peali_fixture *fixture = &m->fixture;
	const struct peal_link_options link = {
		.size = sizeof(link),
		.capacity = SLOTS,
		.message_bytes = BYTES,
	};
	uint64_t anchor;
	int kernel = 0;

	fixture->mailbox_slots = SLOTS;
	fixture->max_actors = 8;
	fixture->arena_bytes = 2 * PEALI_BENCH_MOVED;
	for (int i = 0; i < KERNELS && kernel >= 0; i++) {
		kernel = peali_fixture_launch(fixture, i % fixture->n_devices,
					      &peal_program_peal_bench, 2);
		if (kernel >= 0)
			m->kernels[i] = fixture->kernels[kernel];
	}
	fixture->arena_bytes = fixture->max_actors = fixture->mailbox_slots = 0;
	if (kernel < 0)
		return -1;
	m->handled = 0;
	m->has_cores = fixture->on_host && peali_cores_pick(&m->cores) == 0;
	anchor = peali_fixture_spawn(fixture, 0, "guest", 0);
	if (!anchor)
		return -1;
	m->port = peali_fixture_from_host_by(fixture, anchor, &link);
	return m->port < 0 ? -1 : 0;
}

static void fill(void *context, const struct peali_samples *ours,
		 const struct peali_samples *peer)
{
	struct moves *m = context;
	json_t *cells = peali_report_row(
		&m->report, !m->row.to_kernel	     ? "to another worker" :
			    m->fixture.n_devices > 1 ? "to another device" :
						       "to another kernel");

	peali_row_uint(cells, "state_bytes", PEALI_BENCH_MOVED);
	peali_row_uint(cells, "waiting", m->row.waiting);
	peali_row_uint(cells, "message_bytes", BYTES);
	peali_row_text(cells, "timed_by", "host");
	peali_fixture_cells(&m->fixture, 0, cells);
	peali_samples_row_cores(
		ours, cells,
		m->has_cores ? NULL : peali_fixture_no_cores(&m->fixture));
	peali_samples_row_durations(ours, cells, "move_ns");
	peali_row_real(cells, "versus_ns_p50",
		       peali_samples_spread(peer).median);
	peali_samples_row_versus(peer, cells,
				 "memcpy of the state and the messages", NULL);
}

static int run_row(struct moves *m, struct row row)
{
	char label[64];
	const struct peali_runner_row runner = {
		.benchmark = "moves",
		.label = label,
		.options = &m->options,
		.fixture = &m->fixture,
		.for_ns = m->row_ns,
		.bytes = BYTES,
		.alone = m->n_rows == 1,
		.build = build,
		.round = run_round,
		.fill = fill,
		.context = m,
	};

	m->row = row;
	snprintf(label, sizeof(label), "%s-%u",
		 row.to_kernel ? "kernel" : "worker", row.waiting);
	return peali_runner_row(&runner);
}

/* Runs the selected rows, or only counts them. Returns their number, or -1. */
static int each_row(void *context, int count_only)
{
	struct moves *m = context;
	int n = 0;

	if (!peali_bench_wanted(&m->options, PEAL_ROUTE_MAPPED_HOST, BYTES))
		return 0;
	for (; n < ROWS; n++)
		if (!count_only && run_row(m, rows[n]))
			return -1;
	return n;
}

static const struct peali_column columns[] = {
	{ "subject", "subject", 0 },
	{ "state_bytes", "state", PEALI_AS_SIZE },
	{ "waiting", "messages", 0 },
	{ "core_distance", "cores", 0 },
	{ "move_ns_p50", "p50", PEALI_AS_NS },
	{ "move_ns_p90", "p90", PEALI_AS_NS },
	{ "move_ns_p99", "p99", PEALI_AS_NS },
	{ "move_ns_max", "max", PEALI_AS_NS },
	{ "n_samples", "samples", 0 },
	PEALI_COLUMNS_VERSUS("versus_ns_p50", "its p50", PEALI_AS_NS),
};

static int measure_rows(void *context)
{
	struct moves *m = context;
	size_t most = PEALI_BENCH_MOVED + (size_t)SLOTS * BYTES;
	int result = -1;

	m->from = malloc(most);
	m->to = malloc(most);
	if (m->from && m->to) {
		/* touch all pages before the first copy */
		memset(m->from, 1, most);
		memset(m->to, 2, most);
		result = each_row(m, 0);
	} else {
		peali_say("no memory for two copies of %zu bytes", most);
	}
	free(m->from);
	free(m->to);
	return result;
}

static int run(int argc, char **argv, int json)
{
	struct moves m = { 0 };
	const struct peali_runner runner = {
		.benchmark = "moves",
		.title = "an actor moves to another worker, or device, and "
			 "handles there what waits, by the host's clock; ratio "
			 "above 1: faster than a copy of its bytes",
		.columns = columns,
		.rows = measure_rows,
		PEALI_RUNNER_STATE(m),
		.about = "Actors that move to another worker of their kernel, "
			 "or to a kernel on another device, with messages "
			 "that wait for them.",
		.seconds = SECONDS,
		.each_row = each_row,
	};

	return peali_runner_main(&runner, argc, argv, json);
}

const struct peali_bench peali_bench_migration = {
	.name = "moves",
	.help = "migration of an actor to another worker or device",
	.run = run,
};
