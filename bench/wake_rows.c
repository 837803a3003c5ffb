/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of waking. Sleeping threads of a queue and sleeping workers are
 * compared with calls of the system. Threads of a queue that still spin or
 * yield are compared with a poll that never sleeps.
 */
#include <math.h>
#include <string.h>

#include "bench/wake.h"

#define SLEEPS 40 /* messages of a side in a round, if the waiter sleeps */
#define SLEEPS_SHORT 20 /* of a row below SHORT_NS: 100 samples in 5 rounds */
#define SHORT_NS 100000000
#define GAPS 100
#define GAPS_NS 20000000 /* most ns of a side in a round */
#define ROUNDS_LEAST 5

struct row {
	const struct peali_wake_method *ours, *peer;
	uint64_t gap_ns; /* 0: the waiter sleeps */
};

static const struct row rows[] = {
	{ &peali_wake_queue, &peali_wake_futex, 0 },
	{ &peali_wake_queue, &peali_wake_cond, 0 },
	{ &peali_wake_queue, &peali_wake_eventfd, 0 },
	{ &peali_wake_queue, &peali_wake_pipe, 0 },
	{ &peali_wake_worker, &peali_wake_futex, 0 },
	{ &peali_wake_worker, &peali_wake_cond, 0 },
	{ &peali_wake_worker, &peali_wake_eventfd, 0 },
	{ &peali_wake_worker, &peali_wake_pipe, 0 },
	{ &peali_wake_queue, &peali_wake_poll, 1000 },
	{ &peali_wake_queue, &peali_wake_poll, 10000 },
	{ &peali_wake_queue, &peali_wake_poll, 100000 },
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

struct sides {
	const struct row *row;
	struct peali_wake wake;
	uint64_t sleeps; /* messages of a side in a round */
	struct peali_samples ours, peer;
};

/*
 * Runs a round of a side. Returns the median, NAN if no thread was woken, or a
 * negative value after an error.
 */
static double run_side(struct sides *s, const struct peali_wake_method *method,
		       struct peali_samples *samples)
{
	uint64_t n = s->sleeps;

	if (s->row->gap_ns)
		n = GAPS_NS / s->row->gap_ns;
	s->wake.method = method;
	if (peali_wake_round(&s->wake, n < GAPS ? n : GAPS, samples))
		return -1;
	return peali_samples_open_median(samples);
}

static int run_round(struct sides *s)
{
	const struct peali_cores *cores = &s->wake.cores;
	int tag = peali_cores_distance(cores);
	double peer, ours;

	peer = run_side(s, s->row->peer, &s->peer);
	ours = peer < 0 ? -1 : run_side(s, s->row->ours, &s->ours);
	if (ours < 0)
		return -1;
	/* If other processes take a core, that is part of the time to wake. */
	if (peali_cores_distance(cores) != tag)
		tag = PEALI_TAG_MIXED;
	peali_samples_close(&s->peer, tag, peer / ours);
	peali_samples_close(&s->ours, tag, NAN);
	return 0;
}

static void fill(struct peali_report *report, const struct sides *s,
		 const char *why)
{
	json_t *row = peali_report_row(report, s->row->ours->name);

	peali_row_text(row, "what", "%s",
		       s->row->gap_ns ? "waits for a while" : "asleep");
	if (s->row->gap_ns)
		peali_row_uint(row, "gap_ns", s->row->gap_ns);
	peali_row_text(row, "timed_by",
		       "sender, until the answer in a cache line");
	peali_samples_row_cores(&s->ours, row, why);
	peali_samples_row_durations(&s->ours, row, "wake_ns");
	peali_row_real(row, "versus_ns_p50",
		       peali_samples_spread(&s->peer).median);
	peali_samples_row_versus(&s->peer, row, why ? NULL : s->row->peer->name,
				 why);
}

static int run_row(struct peali_report *report, struct peali_fixture *fixture,
		   const struct row *row, uint64_t ns,
		   const struct peali_bench_options *options)
{
	static struct sides s;
	uint64_t until = peali_bench_now_ns() + ns;
	const char *why = NULL;
	char label[64];
	int result = 0;

	memset(&s, 0, sizeof(s));
	s.row = row;
	s.wake.fixture = fixture;
	s.sleeps = ns < SHORT_NS ? SLEEPS_SHORT : SLEEPS;
	s.wake.gap_ns = row->gap_ns;
	if (peali_cores_pick(&s.wake.cores))
		why = "this process has one core";
	for (int i = 0; !why && !result &&
			(i < ROUNDS_LEAST || peali_bench_now_ns() < until);
	     i++)
		result = run_round(&s);
	if (!result) {
		fill(report, &s, why);
		snprintf(label, sizeof(label), "wake-%s-%s-%llu",
			 row->ours->name, row->peer->name,
			 (unsigned long long)row->gap_ns);
		for (char *at = label; *at; at++)
			*at = *at == ' ' ? '-' : *at;
		result =
			peali_samples_write(&s.ours, options, "idle", label, 0);
	}
	peali_samples_fini(&s.ours);
	peali_samples_fini(&s.peer);
	return result;
}

int peali_wake_rows(struct peali_report *report, struct peali_fixture *fixture,
		    const struct peali_bench_options *options)
{
	uint64_t each = (uint64_t)(options->seconds / 2 * 1e9 / ROWS);
	int result = 0;

	for (size_t i = 0; i < ROWS && !result; i++)
		result = run_row(report, fixture, rows + i, each, options);
	return result;
}
