/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmark `queues`: our queues by their device functions, between pinned
 * threads. Rows measure round trips, messages per second and many producers. A
 * row compares one of our queues with one baseline. Both are measured in turn,
 * in several passes.
 */
#include "bench/queues.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/kinds/kinds.h"
#include "bench/options.h"
#include "bench/baseline/cpu/baselines.h"
#include "bench/report.h"
#include "bench/fixture.h"
#include "runtime/base/refusal.h"
#include "runtime/base/text.h"
#include "runtime/cli/command.h"
#include "runtime/cli/interrupt.h"

#define SECONDS 120
#define SLOTS 1024
#define SIZES 8 /* most sizes of a group */
/* slots above 256 bytes, so that both rings fit into a cache */
#define SLOTS_LARGE 64
/* short, because other processes may take the cores */
#define ROUND_MOST_NS 1e6
#define ROUND_LEAST_NS 2e5
#define CONTESTS_MOST 256
#define OVERHEAD 16 /* bytes of a slot besides the payload */
#define LINE 64

/* Rows of one kind of queue and one use. */
struct group {
	const char *what;
	const struct peali_bench_queue_kind *const *ours;
	const struct peali_bench_queue_kind *const *peers;
	int trips;
	enum peali_bench_queue_placement placement;
	uint32_t producers, consumers, every;
	uint32_t bursts; /* 1: single messages; 2: bursts, too */
	uint32_t bytes[SIZES]; /* 0 ends the list */
	uint32_t slots; /* 0: by the size */
	int asked; /* 1: only if --what names the group */
};

/*
 * Links with payloads in slots, compared with links with payloads in a slab.
 * The sizes go up to the largest slot.
 */
#define FORMS(policy, trips_, ...)                                             \
	{                                                                      \
		.what = (trips_) ? "slab round trip" : "slab",                 \
		.ours = &peali_bench_queue_slots[policy],                      \
		.peers = peali_bench_queue_slabs[policy], .trips = (trips_),   \
		.placement = PEALI_PLACE_APART, .producers = 1,                \
		.consumers = 1, .bursts = (trips_) ? 1 : 2,                    \
		.bytes = { __VA_ARGS__ }, .slots = SLOTS_LARGE, .asked = 1     \
	}

static const struct group groups[] = {
	{ .what = "round trip",
	  .ours = &peali_bench_queue_pair,
	  .peers = peali_baselines_pair,
	  .trips = 1,
	  .placement = PEALI_PLACE_APART,
	  .producers = 1,
	  .consumers = 1,
	  .bursts = 1,
	  .bytes = { 8, 48, 64, 256 } },
	{ .what = "throughput",
	  .ours = &peali_bench_queue_pair,
	  .peers = peali_baselines_pair,
	  .placement = PEALI_PLACE_APART,
	  .producers = 1,
	  .consumers = 1,
	  .bursts = 2,
	  .bytes = { 8, 64, 256, 4096 } },
	{ .what = "gather",
	  .ours = &peali_bench_queue_gather,
	  .peers = peali_baselines_gather,
	  .placement = PEALI_PLACE_APART,
	  .producers = 1,
	  .consumers = 1,
	  .bursts = 2,
	  .bytes = { 8, 64 } },
	{ .what = "gather",
	  .ours = &peali_bench_queue_gather,
	  .peers = peali_baselines_gather,
	  .placement = PEALI_PLACE_BOTH,
	  .producers = 2,
	  .consumers = 1,
	  .bursts = 2,
	  .bytes = { 8, 64 } },
	{ .what = "gather",
	  .ours = &peali_bench_queue_gather,
	  .peers = peali_baselines_gather,
	  .placement = PEALI_PLACE_ONE_CORE,
	  .producers = 2,
	  .consumers = 1,
	  .bursts = 2,
	  .bytes = { 8, 64 } },
	{ .what = "share",
	  .ours = &peali_bench_queue_share,
	  .peers = peali_baselines_share,
	  .placement = PEALI_PLACE_BOTH,
	  .producers = 2,
	  .consumers = 2,
	  .bursts = 2,
	  .bytes = { 8, 64 } },
	{ .what = "spread",
	  .ours = &peali_bench_queue_spread,
	  .peers = peali_baselines_spread,
	  .placement = PEALI_PLACE_BOTH,
	  .producers = 1,
	  .consumers = 2,
	  .every = 1,
	  .bursts = 2,
	  .bytes = { 8, 64 } },
	FORMS(0, 0, 64, 128, 256, 384, 512, 1024, 2048, 4064),
	FORMS(0, 1, 64, 128, 256, 384, 512, 1024, 2048, 4064),
	FORMS(1, 0, 64, 128, 256, 384, 512, 1024, 2048, 3056),
	FORMS(1, 1, 64, 128, 256, 384, 512, 1024, 2048, 3056),
	FORMS(2, 0, 64, 128, 256, 384, 512, 768, 1008),
	FORMS(2, 1, 64, 128, 256, 384, 512, 768, 1008),
};
#define GROUPS (sizeof(groups) / sizeof(groups[0]))

struct queues {
	struct peali_bench_options options;
	const char *what, *peer, *json_out; /* own options; NULL: not given */
	int front;
	struct peali_report report;
	struct peali_cores cores;
	struct peali_bench_queue_contest contests[CONTESTS_MOST];
	const struct group *groups[CONTESTS_MOST]; /* group of each row */
	uint32_t n, n_skipped, n_verdicts[3];
	FILE *json;
};

/* ---- selection of rows --------------------------------------------------- */

static uint32_t lines_of(uint32_t bytes)
{
	return (bytes + OVERHEAD + LINE - 1) / LINE;
}

/* Returns our kind for a group, or NULL if there is none. */
static const struct peali_bench_queue_kind *ours_of(const struct queues *q,
						    const struct group *group)
{
	return q->front ? peali_bench_queue_front(*group->ours) : *group->ours;
}

static void name_peer(const struct peali_bench_queue_contest *c, char *text,
		      size_t size)
{
	if (c->peer.job.kind)
		snprintf(text, size, "%s", c->peer.job.kind->name);
	else
		snprintf(text, size, "bare bounce of %u line%s", c->lines,
			 c->lines > 1 ? "s" : "");
}

/*
 * Adds a row of the group with a baseline (NULL: the bounce), unless --peer
 * excludes it.
 */
static void add_contest(struct queues *q, const struct group *group,
			uint32_t bytes, uint32_t burst,
			const struct peali_bench_queue_kind *peer)
{
	struct peali_bench_queue_contest *c = q->contests + q->n;
	const struct peali_bench_queue_shape shape = {
		.bytes = bytes,
		.burst = burst,
		.producers = group->producers,
		.consumers = group->consumers,
		.slots = group->slots ? group->slots :
			 bytes > 256  ? SLOTS_LARGE :
					SLOTS,
		.every = group->every,
		.trips = (uint32_t)group->trips,
		.both = group->placement == PEALI_PLACE_BOTH,
	};
	char name[64];

	c->trips = group->trips;
	c->lines = lines_of(bytes);
	c->ours.job.kind = ours_of(q, group);
	c->peer.job.kind = peer;
	c->ours.job.shape = c->peer.job.shape = shape;
	c->ours.job.placement = c->peer.job.placement = group->placement;
	c->ours.job.cores = c->peer.job.cores = q->cores;
	name_peer(c, name, sizeof(name));
	if (q->peer && !strstr(name, q->peer))
		return;
	q->groups[q->n++] = group;
}

static int is_group(const char *what)
{
	for (size_t i = 0; i < GROUPS; i++)
		if (!strcmp(what, groups[i].what))
			return 1;
	return 0;
}

/* Prints the names of all groups. */
static int no_group(const char *what)
{
	char names[256];
	size_t n = 0;

	for (size_t i = 0, k; i < GROUPS; i++) {
		for (k = 0; strcmp(groups[i].what, groups[k].what); k++)
			;
		if (k == i)
			n += (size_t)snprintf(names + n, sizeof(names) - n,
					      "%s'%s'", i ? ", " : "",
					      groups[i].what);
	}
	peali_say_refused(PEALI_REFUSAL(.object = "option", .name = "--what",
					.problem = "names no kind",
					.value = what, .allowed = names,
					.remedy = "leave it out"));
	return PEALI_EXIT_USAGE;
}

/* Returns 1 if the options select the group and one of its sizes. */
static int is_wanted(const struct queues *q, const struct group *group)
{
	if (!ours_of(q, group) || (group->asked && !q->what) ||
	    (q->what && strcmp(q->what, group->what)))
		return 0;
	for (int i = 0; i < SIZES && group->bytes[i]; i++)
		if (peali_bench_wanted(&q->options, PEAL_ROUTE_NONE,
				       group->bytes[i]))
			return 1;
	return 0;
}

static void add_contests(struct queues *q, const struct group *group,
			 uint32_t bytes, uint32_t burst)
{
	if (group->trips && !group->asked)
		add_contest(q, group, bytes, burst, NULL);
	for (int p = 0; group->peers[p]; p++)
		if (!group->peers[p]->missing)
			add_contest(q, group, bytes, burst, group->peers[p]);
}

static void add_group(struct queues *q, const struct group *group)
{
	for (int i = 0; i < SIZES && group->bytes[i]; i++) {
		uint32_t bytes = group->bytes[i];

		if (!peali_bench_wanted(&q->options, PEAL_ROUTE_NONE, bytes))
			continue;
		for (uint32_t b = 0; b < group->bursts; b++)
			add_contests(q, group, bytes,
				     b ? PEALI_BENCH_QUEUE_BURST : 1);
	}
}

/* ---- results ------------------------------------------------------------- */

static void fill_head(const struct group *group, json_t *row)
{
	peali_row_text(row, "what", "%s", group->what);
	peali_row_uint(row, "producers", group->producers);
	peali_row_uint(row, "consumers", group->consumers);
	peali_row_text(row, "placement", "%s",
		       peali_bench_queue_placement_name(group->placement));
}

static void fill_values(const struct peali_bench_queue_contest *c, json_t *row)
{
	struct peali_spread ours = peali_samples_spread(&c->ours.samples);
	struct peali_spread peer = peali_samples_spread(&c->peer.samples);

	if (c->trips) {
		peali_samples_row_durations(&c->ours.samples, row,
					    "latency_ns");
		peali_row_real(row, "versus_ns_p50", peer.median);
		return;
	}
	peali_samples_row_rates(&c->ours.samples, row, "messages_per_s");
	peali_row_real(row, "megamessages_per_s", ours.median / 1e6);
	peali_row_real(row, "versus_megamessages_per_s", peer.median / 1e6);
}

/* Fills in the gaps that the passes have chosen, such as "none, fences". */
static void fill_gaps(json_t *row, const char *key, uint32_t gaps)
{
	char names[64] = "";

	for (int gap = 0; gap < PEALI_GAPS; gap++) {
		size_t n = strlen(names);

		if (gaps >> gap & 1)
			snprintf(names + n, sizeof(names) - n, "%s%s",
				 n ? ", " : "",
				 peali_bench_queue_gap_name(
					 (enum peali_bench_queue_gap)gap));
	}
	peali_row_text(row, key, "%s", names);
}

static void fill(struct queues *q, uint32_t index)
{
	static const char *const verdicts[] = { "reached", "missed", "unsure" };
	const struct peali_bench_queue_contest *c = q->contests + index;
	json_t *row = peali_report_row(&q->report, c->ours.job.kind->name);
	const double goal = peali_bench_queue_goal(c);
	enum peali_verdict verdict = peali_bench_queue_verdict(c, goal);
	char name[64];

	name_peer(c, name, sizeof(name));
	fill_head(q->groups[index], row);
	peali_row_uint(row, "message_bytes", c->ours.job.shape.bytes);
	peali_row_uint(row, "burst", c->ours.job.shape.burst);
	peali_row_uint(row, "slots", c->ours.job.shape.slots);
	peali_row_text(row, "timed_by", "%s",
		       c->trips ? "initiating thread" : "receiving thread");
	peali_samples_row_cores(&c->peer.samples, row, NULL);
	fill_gaps(row, "gap", c->ours.gaps);
	fill_gaps(row, "versus_gap", c->peer.gaps);
	fill_values(c, row);
	peali_samples_row_versus(&c->peer.samples, row, name, NULL);
	peali_row_real(row, "goal", goal);
	peali_row_text(row, "verdict", "%s", verdicts[verdict]);
	if (verdict == PEALI_UNSURE)
		peali_row_text(row, "verdict_why", "%s",
			       peali_bench_queue_why(c, goal));
	q->n_verdicts[verdict]++;
}

/* Returns 1 if the options select a baseline that this build does not have. */
static int is_skipped(const struct queues *q,
		      const struct peali_bench_queue_kind *peer)
{
	return peer->missing && (!q->peer || strstr(peer->name, q->peer));
}

/* Fills a row for each selected baseline that this build does not have. */
static void fill_skipped(struct queues *q, const struct group *group)
{
	for (int p = 0; group->peers[p]; p++) {
		const struct peali_bench_queue_kind *peer = group->peers[p];
		const struct peali_samples none = { 0 };
		char why[256];
		json_t *row;

		if (!is_skipped(q, peer))
			continue;
		snprintf(why, sizeof(why), "skipped: %s: %s", peer->name,
			 peer->missing);
		row = peali_report_row(&q->report, ours_of(q, group)->name);
		fill_head(group, row);
		peali_row_text(row, "peer", "%s", peer->name);
		peali_row_text(row, "skipped", "%s", peer->missing);
		peali_row_uint(row, "n_samples", 0);
		peali_samples_row_versus(&none, row, NULL, why);
		peali_row_text(row, "verdict", "skipped");
		q->n_skipped++;
	}
}

/* ---- measuring ----------------------------------------------------------- */

static void progress(const struct queues *q, uint32_t pass)
{
	char line[80];
	int n = snprintf(line, sizeof(line),
			 "queues: pass %u of %u, %u row%s\n", pass + 1,
			 PEALI_PASSES, q->n, peali_s(q->n));

	peali_line_print(stderr, line, (size_t)n);
}

static int write_samples(struct queues *q)
{
	int result = 0;
	char label[160];

	for (uint32_t i = 0; i < q->n && !result; i++) {
		struct peali_bench_queue_contest *c = q->contests + i;

		snprintf(label, sizeof(label), "%s-%u-%u-%u-%u-%u",
			 q->groups[i]->what, q->groups[i]->producers,
			 (unsigned)c->ours.job.placement,
			 c->ours.job.shape.bytes, c->ours.job.shape.burst, i);
		for (char *at = label; *at; at++)
			if (*at == ' ')
				*at = '-';
		result = peali_samples_write(&c->ours.samples, &q->options,
					     "queues", label, q->n == 1);
	}
	return result;
}

/*
 * Returns the end of a pass of one row: an equal part of the time left. `left`
 * counts the passes of all rows that remain.
 */
static uint64_t row_ends_ns(uint64_t end_ns, uint32_t left)
{
	const uint64_t now = peali_bench_now_ns();

	return now + (now < end_ns ? (end_ns - now) / left : 0);
}

/*
 * Measures all passes of all rows. Leaves out a row's first pass only after
 * twice the time.
 */
static int measure_rows(struct queues *q, uint64_t asked_ns)
{
	const uint64_t end_ns = peali_bench_now_ns() + asked_ns;
	uint32_t left = PEALI_PASSES * q->n;

	for (uint32_t pass = 0; pass < PEALI_PASSES; pass++) {
		progress(q, pass);
		for (uint32_t i = 0; i < q->n; i++, left--) {
			if (!pass && peali_bench_now_ns() > end_ns + asked_ns)
				continue;
			if (peali_bench_queue_pass(q->contests + i, pass,
						   row_ends_ns(end_ns, left)))
				return -1;
		}
	}
	return 0;
}

static int measure(struct queues *q)
{
	const double asked = q->options.seconds * 1e9;
	double round = asked / PEALI_PASSES / (q->n ? q->n : 1) / 8;

	round = round < ROUND_LEAST_NS ? ROUND_LEAST_NS : round;
	round = round > ROUND_MOST_NS ? ROUND_MOST_NS : round;
	for (uint32_t i = 0; i < q->n; i++)
		q->contests[i].round_ns = (uint64_t)round;
	if (measure_rows(q, (uint64_t)asked))
		return -1;
	for (uint32_t i = 0; i < q->n; i++)
		fill(q, i);
	for (size_t i = 0; i < GROUPS; i++)
		if (is_wanted(q, groups + i))
			fill_skipped(q, groups + i);
	return write_samples(q);
}

/* ---- printing ------------------------------------------------------------ */

static const struct peali_column columns[] = {
	{ "subject", "subject", 0 },
	{ "what", "what", 0 },
	{ "message_bytes", "size", PEALI_AS_SIZE },
	{ "burst", "burst", 0 },
	{ "producers", "producers", 0 },
	{ "placement", "placement", 0 },
	{ "core_distance", "cores", 0 },
	{ "latency_ns_p50", "p50", PEALI_AS_NS },
	{ "megamessages_per_s", "messages", PEALI_AS_MEGA_PER_S },
	PEALI_COLUMN_BREAK,
	{ "versus", "versus", 0 },
	{ "versus_ns_p50", "its p50", PEALI_AS_NS },
	{ "versus_megamessages_per_s", "its rate", PEALI_AS_MEGA_PER_S },
	{ "ratio", "ratio", 2 },
	{ "ratio_min", "min", 2 },
	{ "ratio_max", "max", 2 },
	{ "n_rounds", "rounds", 0 },
	{ "n_rounds_dropped", "dropped", 0 },
	{ "verdict", "verdict", 0 },
	{ NULL, NULL, 0 },
};

static const char *cell(const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text ? text : "";
}

static double number(const json_t *row, const char *key)
{
	return json_number_value(json_object_get(row, key));
}

/* Writes "0.61 (0.47 .. 0.63)", or the reason for no ratio. */
static void ratio_text(const json_t *row, char text[128])
{
	if (json_is_real(json_object_get(row, "ratio")))
		snprintf(text, 128, "%.2f (%.2f .. %.2f)", number(row, "ratio"),
			 number(row, "ratio_min"), number(row, "ratio_max"));
	else
		snprintf(text, 128, "%s", cell(row, "ratio_why"));
}

static void print_row(const json_t *row, const char *verdict)
{
	const char *why = cell(row, "verdict_why");
	char size[32], ratio[128];

	if (strcmp(cell(row, "verdict"), verdict))
		return;
	if (!strcmp(verdict, "skipped")) {
		peali_paragraph_print(stdout, 0, 4, "skipped: %s, %s: %s",
				      cell(row, "what"), cell(row, "peer"),
				      cell(row, "skipped"));
		return;
	}
	peali_size_text((uint64_t)number(row, "message_bytes"), size,
			sizeof(size));
	ratio_text(row, ratio);
	peali_paragraph_print(
		stdout, 0, 4,
		"%s%s%s%s: %s, %s, %s, burst %g, %s, cores %s, versus %s: %s",
		verdict, *why ? " (" : "", why, *why ? ")" : "",
		cell(row, "subject"), cell(row, "what"), size,
		number(row, "burst"), cell(row, "placement"),
		cell(row, "core_distance"), cell(row, "versus"), ratio);
}

/* Prints the counts, then the rows that did not reach the goal. */
static void print_summary(const struct queues *q)
{
	static const char *const verdicts[] = { "missed", "unsure", "skipped" };
	uint32_t n = q->n + q->n_skipped;
	const json_t *row;
	size_t i;

	printf("\n");
	peali_paragraph_print(
		stdout, 0, 4,
		"%u row%s, %d passes: at least as good as the peer, or within "
		"1.10 times the bounce: %u; worse: %u; unsure: %u; skipped: %u",
		n, peali_s(n), PEALI_PASSES, q->n_verdicts[PEALI_REACHED],
		q->n_verdicts[PEALI_MISSED], q->n_verdicts[PEALI_UNSURE],
		q->n_skipped);
	for (int v = 0; v < 3; v++)
		json_array_foreach(q->report.rows, i, row)
			print_row(row, verdicts[v]);
}

/* ---- the benchmark ------------------------------------------------------- */

static const struct argp_option own_list[] = {
	{ "what", 'w', "NAME", 0,
	  "Only these rows: 'round trip', throughput, gather, share or "
	  "spread; or slab or 'slab round trip', which are not among all",
	  0 },
	{ "peer", 'p', "TEXT", 0, "Only peers with TEXT in their name", 0 },
	{ "front", 'f', NULL, 0,
	  "Ours as threads have them, by the calls of peal/queue.h, instead of "
	  "by the functions of devices",
	  0 },
	{ "json-out", 'J', "FILE", 0,
	  "Write the rows to FILE as JSON, in addition to the table", 0 },
	{ 0 },
};

static error_t own_parse(int key, char *argument, struct argp_state *state)
{
	struct queues *q = state->input;

	switch (key) {
	case 'w':
		q->what = argument;
		return 0;
	case 'p':
		q->peer = argument;
		return 0;
	case 'f':
		q->front = 1;
		return 0;
	case 'J':
		q->json_out = argument;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp own_argp = { own_list, own_parse, NULL, NULL,
				      NULL,	NULL,	   NULL };

/*
 * Selects the rows and the cores, and opens the file. Returns 0 or an exit
 * status.
 */
static int prepare(struct queues *q)
{
	int skipped = 0;

	if (peali_cores_pick(&q->cores)) {
		peali_say("queues needs two cores, but this process has one");
		return PEALI_EXIT_WAIVED;
	}
	if (q->what && !is_group(q->what)) {
		return no_group(q->what);
	}
	for (size_t i = 0; i < GROUPS; i++) {
		if (!is_wanted(q, groups + i))
			continue;
		add_group(q, groups + i);
		for (int p = 0; groups[i].peers[p]; p++)
			skipped += is_skipped(q, groups[i].peers[p]);
	}
	if (!q->n && !skipped) {
		peali_say_refused(PEALI_REFUSAL(
				.object = "benchmark", .name = "queues",
				.problem = "has no such row",
				.value = "these options",
				.allowed = "the rows of this build",
				.remedy =
					"leave out --route, --bytes, --what and --peer"));
		return PEALI_EXIT_USAGE;
	}
	if (!q->json_out)
		return 0;
	q->json = fopen(q->json_out, "w");
	if (q->json) {
		/* an interrupted run has no rows for it */
		peali_interrupt_file(q->json_out);
		return 0;
	}
	peali_say("cannot write '%s': %s", q->json_out, strerror(errno));
	return PEALI_EXIT_FAILED;
}

/* Returns the number of rows that are unsure for this reason. */
static unsigned unsure_by(const struct queues *q, const char *why)
{
	const json_t *row;
	unsigned n = 0;
	size_t i;

	json_array_foreach(q->report.rows, i, row)
		n += !strcmp(cell(row, "verdict_why"), why);
	return n;
}

/* Returns an error status if all rows are unsure. */
static int check_decided(const struct queues *q)
{
	if (!q->n || q->n_verdicts[PEALI_UNSURE] < q->n)
		return PEALI_EXIT_OK;
	peali_say("queues: no row was decided; of %u unsure rows %u lack "
		  "time (raise --seconds), %u had busy cores (stop other "
		  "programs), %u have a spread (rounds disagree)",
		  q->n, unsure_by(q, "time"), unsure_by(q, "cores"),
		  unsure_by(q, "spread"));
	return PEALI_EXIT_FAILED;
}

static int run_prepared(struct queues *q, int json)
{
	int status = measure(q) ? PEALI_EXIT_FAILED : check_decided(q);

	peali_interrupt_file(NULL);
	if (status)
		peali_row_error(q->report.object, status);
	if (q->json && peali_report_write(&q->report, q->json, q->json_out))
		status = PEALI_EXIT_FAILED;
	status = peali_report_print(
		&q->report, json,
		"queues of Peal compared with queues of other libraries; each "
		"payload is checked; ratio above 1: Peal is better",
		columns, status);
	if (!json)
		print_summary(q);
	return peali_finish(status);
}

static int run(int argc, char **argv, int json)
{
	struct queues *q = calloc(1, sizeof(*q));
	int status;

	if (!q) {
		peali_say("out of memory");
		return PEALI_EXIT_FAILED;
	}
	peali_bench_parse_more(
		argc, argv,
		"Compares queues of Peal between two threads with queues of "
		"other libraries that this build has found.\vAll rows share the time of --seconds "
		"(120) in four passes. A long row shortens the later rows. "
		"The run ends with that time, or after one short measurement "
		"of each row, at the latest after about twice the time. A "
		"row with too little time is 'unsure (time)'. Exit status 1: "
		"a message was lost or changed, or all rows are unsure.",
		SECONDS, &own_argp, q, &q->options);
	status = prepare(q);
	if (!status) {
		/* threads of the host run the device functions */
		peali_report_init(&q->report, "queues", 1);
		status = run_prepared(q, json);
		peali_report_fini(&q->report);
	}
	for (uint32_t i = 0; i < q->n; i++)
		peali_bench_queue_contest_fini(q->contests + i);
	free(q);
	return status;
}

const struct peali_bench peali_bench_queues = {
	.name = "queues",
	.help = "queues of Peal and of other libraries, between two threads",
	.run = run,
};
