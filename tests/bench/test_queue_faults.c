/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that `peal bench queues` fails for each fault of a queue. The build of
 * this test has no optional peers. The peer that is always present is broken on
 * request.
 */
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "peal_test.h"

/* The reasons that CMake would give. They replace the library's table. */
#define PEALI_NO_CK "ck_ring.h was left out"
#define PEALI_NO_RTE "rte_ring.h was left out"
#define PEALI_NO_BOOST "boost was left out"
#define PEALI_NO_MOODYCAMEL "moodycamel was left out"
#include "bench/baseline/cpu/baselines.c"

#include "bench/bench.h"
#include "bench/queues.h"

enum fault {
	NO_FAULT,
	LOSES,
	CHANGES,
	CHANGES_LAST_WORD,
	DOUBLES,
	SWAPS,
	LOSES_AND_DOUBLES /* the counts of sent and received messages agree */
};

#define FAULTY 20 /* the faults begin at this message */
#define WORDS 8
#define SLOTS 256

static enum fault fault;
static useconds_t nap_us; /* before each put */

struct ring {
	pthread_mutex_t mutex;
	uint64_t head, tail;
	uint64_t slots[SLOTS][PEALI_BENCH_WORDS];
	/* each producer's last message: put, or kept back for a swap */
	uint64_t last[PEALI_BENCH_QUEUE_ENDS][PEALI_BENCH_WORDS];
};

static void *ring_open(const struct peali_bench_queue_shape *shape)
{
	struct ring *r = calloc(1, sizeof(*r));

	(void)shape;
	if (r)
		pthread_mutex_init(&r->mutex, NULL);
	return r;
}

static void ring_close(void *queue)
{
	free(queue);
}

static void ring_push(struct ring *r, const uint64_t *words, uint32_t bytes)
{
	memcpy(r->slots[r->tail++ % SLOTS], words, bytes);
}

/* Applies the fault. It depends neither on time nor on other threads. */
static void ring_push_broken(struct ring *r, uint64_t *words, uint32_t bytes,
			     uint64_t *last, uint64_t number)
{
	if (fault == LOSES || (fault == SWAPS && number == FAULTY))
		return;
	if (fault == CHANGES)
		words[0] ^= 1;
	if (fault == CHANGES_LAST_WORD)
		words[bytes / 8 - 1] ^= UINT64_C(1) << 63;
	if (fault == DOUBLES)
		ring_push(r, words, bytes);
	ring_push(r, fault == LOSES_AND_DOUBLES ? last : words, bytes);
	if (fault == SWAPS && number == FAULTY + 1)
		ring_push(r, last, bytes);
}

static PEAL_INLINE uint32_t ring_put(void *queue,
				     struct peali_bench_queue_end *end,
				     uint32_t bytes, uint32_t burst)
{
	struct ring *r = queue;
	uint64_t words[PEALI_BENCH_WORDS], *last = r->last[end->index];
	uint32_t n = peali_bench_queue_space(end, burst), i;

	if (nap_us)
		usleep(nap_us);
	pthread_mutex_lock(&r->mutex);
	for (i = 0; i < n && r->tail - r->head < SLOTS - 1; i++) {
		peali_bench_queue_fill(end, words, bytes, i);
		if (end->sent + i >= FAULTY && fault)
			ring_push_broken(r, words, bytes, last, end->sent + i);
		else
			ring_push(r, words, bytes);
		memcpy(last, words, bytes);
	}
	pthread_mutex_unlock(&r->mutex);
	return i;
}

static PEAL_INLINE uint32_t ring_get(void *queue,
				     struct peali_bench_queue_end *end,
				     uint32_t bytes, uint32_t burst)
{
	struct ring *r = queue;
	uint32_t i;

	pthread_mutex_lock(&r->mutex);
	for (i = 0; i < burst && r->tail != r->head; i++)
		peali_bench_queue_check(end, r->slots[r->head++ % SLOTS],
					bytes);
	pthread_mutex_unlock(&r->mutex);
	return i;
}

PEALI_BENCH_QUEUE_LOOPS(ring, ring_put, ring_get)

const struct peali_bench_queue_kind peali_baseline_mutex = {
	.name = "faulty ring",
	.open = ring_open,
	.close = ring_close,
	.send = ring_send,
	.take = ring_take,
	.trips = ring_trips,
};

/*
 * As ring_put, but slow. It yields, as on a busy machine a yield of the other
 * queue can take longer than the sleep.
 */
#define YIELDS 20
static PEAL_INLINE uint32_t slow_put(void *queue,
				     struct peali_bench_queue_end *end,
				     uint32_t bytes, uint32_t burst)
{
	int i;

	usleep(200);
	for (i = 0; i < YIELDS; i++)
		sched_yield();
	return ring_put(queue, end, bytes, burst);
}

PEALI_BENCH_QUEUE_LOOPS(slow, slow_put, ring_get)

static const struct peali_bench_queue_kind slow_ring = {
	.name = "slow ring",
	.open = ring_open,
	.close = ring_close,
	.send = slow_send,
	.take = slow_take,
	.trips = slow_trips,
};

static struct peali_bench_queue_job
job_of(uint32_t bytes, uint32_t burst, uint32_t producers, uint32_t consumers)
{
	struct peali_bench_queue_job job = {
		.kind = &peali_baseline_mutex,
		.shape = { .bytes = bytes,
			   .burst = burst,
			   .producers = producers,
			   .consumers = consumers,
			   .slots = SLOTS,
			   .both = producers > 1 },
		.placement = producers > 1 ? PEALI_PLACE_BOTH :
					     PEALI_PLACE_APART,
		.gap = PEALI_GAP_YIELD,
	};

	CHECK_EQ(peali_cores_pick(&job.cores), 0);
	return job;
}

/*
 * Sets the fault of the queues. If messages are lost or doubled, only the limit
 * ends a run.
 */
static void set_fault(enum fault f)
{
	int waits = f == LOSES || f == DOUBLES || f == LOSES_AND_DOUBLES;

	fault = f;
	peali_bench_queue_limit_ns = waits ? 50000000 : 10000000000;
}

static int delivers(struct peali_bench_queue_job job)
{
	return peali_bench_queue_rate(&job, 384) > 0;
}

static int answers(struct peali_bench_queue_job job)
{
	struct peali_samples samples = { 0 };
	int result;

	result = peali_bench_queue_round_trips(&job, 8, 5, &samples);

	peali_samples_fini(&samples);
	return !result;
}

PEAL_TEST(every_fault_fails_the_throughput_of_any_shape)
{
	static const struct {
		uint32_t producers, consumers;
	} ways[] = { { 1, 1 }, { 2, 1 }, { 2, 2 } };

	for (int way = 0; way < 3; way++) {
		for (uint32_t burst = 1; burst <= 32; burst += 31) {
			const struct peali_bench_queue_job job =
				job_of(64, burst, ways[way].producers,
				       ways[way].consumers);

			set_fault(NO_FAULT);
			CHECK(delivers(job));
			for (int f = LOSES; f <= LOSES_AND_DOUBLES; f++) {
				/* two consumers do not see a swap */
				if (f == SWAPS && ways[way].consumers > 1)
					continue;
				set_fault((enum fault)f);
				CHECK(!delivers(job));
			}
		}
	}
	set_fault(NO_FAULT);
}

PEAL_TEST(every_fault_fails_round_trips)
{
	const struct peali_bench_queue_job job = job_of(64, 1, 1, 1);

	set_fault(NO_FAULT);
	CHECK(answers(job));
	set_fault(LOSES);
	CHECK(!answers(job));
	set_fault(CHANGES);
	CHECK(!answers(job));
	set_fault(CHANGES_LAST_WORD);
	CHECK(!answers(job));
	set_fault(DOUBLES);
	CHECK(!answers(job));
	set_fault(NO_FAULT);
}

/*
 * The time ends long before all messages are sent. The sent ones are checked
 * nevertheless.
 */
PEAL_TEST(messages_before_the_time_limit_are_checked)
{
	struct peali_bench_queue_job job = job_of(64, 1, 2, 1);

	job.budget_ns = 1000000;
	set_fault(NO_FAULT);
	CHECK(peali_bench_queue_rate(&job, UINT64_C(1) << 40) > 0);
	set_fault(CHANGES);
	CHECK(peali_bench_queue_rate(&job, UINT64_C(1) << 40) < 0);
	set_fault(NO_FAULT);
}

static int bench(const char *json_out, const char *what)
{
	char program[] = "queues", seconds[] = "--seconds=0.01";
	char bytes[] = "--bytes=8", out[512], rows[64];
	char *argv[] = { program, seconds, bytes, rows, out, NULL };

	snprintf(rows, sizeof(rows), "--what=%s", what);
	snprintf(out, sizeof(out), "--json-out=%s", json_out);
	return peali_bench_queues.run(5, argv, 0);
}

/*
 * Runs the benchmark and returns its rows. Checks that it fails if no row is
 * decided.
 */
static json_t *bench_rows(json_t **object_out)
{
	char path[] = "/tmp/test_queue_faults.XXXXXX";
	int fd = mkstemp(path), status, decided = 0;
	const char *verdict;
	json_t *rows, *row;
	size_t i;

	CHECK(fd >= 0);
	close(fd);
	status = bench(path, "throughput");
	*object_out = json_load_file(path, 0, NULL);
	unlink(path);
	CHECK(*object_out);
	rows = json_object_get(*object_out, "rows");
	json_array_foreach(rows, i, row)
	{
		verdict = json_string_value(json_object_get(row, "verdict"));
		CHECK(verdict);
		decided |= !strcmp(verdict, "reached") ||
			   !strcmp(verdict, "missed");
		CHECK_EQ(!strcmp(verdict, "unsure"),
			 json_is_string(json_object_get(row, "verdict_why")));
	}
	CHECK_EQ(status, !decided);
	return rows;
}

PEAL_TEST(missing_baselines_are_rows_with_a_reason)
{
	json_t *object, *row, *rows;
	const char *text;
	size_t i, n = 0, measured = 0;
	json_int_t kept;

	set_fault(NO_FAULT);
	rows = bench_rows(&object);
	json_array_foreach(rows, i, row)
	{
		text = json_string_value(json_object_get(row, "skipped"));
		if (!text) {
			measured++;
			CHECK(json_is_string(json_object_get(row, "versus")));
			kept = json_integer_value(
				json_object_get(row, "n_rounds"));
			/* other programs on these cores can spoil all rounds */
			CHECK_EQ(json_is_real(json_object_get(row, "ratio")),
				 kept > 0);
			continue;
		}
		n++;
		CHECK(strstr(text, "left out") != NULL);
		CHECK(json_is_null(json_object_get(row, "versus")));
		CHECK(json_is_null(json_object_get(row, "ratio")));
		text = json_string_value(json_object_get(row, "versus_why"));
		CHECK(text && !strncmp(text, "skipped: ", 9));
	}
	CHECK_EQ(n, 5); /* ck, two of rte, boost, moodycamel */
	/* single messages and bursts, against the ring of this file */
	CHECK_EQ(measured, 2);
	json_decref(object);
}

/* The first run of the peer takes longer than the whole time. */
PEAL_TEST(undecided_run_fails_with_a_reason)
{
	json_t *object, *row, *rows;
	const char *text;
	size_t i;

	nap_us = 200; /* for each of hundreds of messages */
	rows = bench_rows(&object); /* checks the exit status, too */
	nap_us = 0;
	json_array_foreach(rows, i, row)
	{
		if (json_object_get(row, "skipped"))
			continue;
		text = json_string_value(json_object_get(row, "verdict_why"));
		CHECK(text && !strcmp(text, "time"));
		CHECK(json_integer_value(json_object_get(row, "n_rounds")) <=
		      1);
	}
	json_decref(object);
}

PEAL_TEST(corrupting_baseline_fails_the_benchmark)
{
	for (int f = CHANGES; f <= LOSES_AND_DOUBLES; f++) {
		set_fault((enum fault)f);
		CHECK_EQ(bench("/dev/null", "throughput"), 1);
	}
	set_fault(NO_FAULT);
	CHECK_EQ(bench("/nowhere/rows.json", "throughput"), 1);
	CHECK_EQ(bench("/dev/null", "nothing"), 2);
}

/* Returns the percentage of rounds in which our queue was better. */
static size_t percent_better(int trips, int ours_is_slow)
{
	struct peali_bench_queue_contest c = { .trips = trips,
					       .round_ns = 1000000 };
	const struct peali_samples *s = &c.peer.samples;
	size_t better = 0, n;

	c.ours.job = c.peer.job = job_of(8, 1, 1, 1);
	(ours_is_slow ? &c.ours : &c.peer)->job.kind = &slow_ring;
	CHECK_EQ(peali_bench_queue_pass(&c, 0, 0), 0);
	for (n = 0; n < s->n_rounds; n++)
		better += s->rounds[n].ratio > 1;
	CHECK(n > 0);
	peali_bench_queue_contest_fini(&c);
	return 100 * better / n;
}

PEAL_TEST(ratio_above_one_means_peal_is_faster)
{
	for (int trips = 0; trips < 2; trips++) {
		CHECK(percent_better(trips, 0) >= 75);
		CHECK(percent_better(trips, 1) <= 25);
	}
}

#define NEAR 0
#define FAR 2

/*
 * Ratios of a pass's rounds, in turn. Below 0: the threads moved to other
 * cores.
 */
struct turns {
	double first, second;
	int distance;
	int more; /* rounds besides the first two */
};

/* Returns the verdict for these passes. The other passes have no rounds. */
static enum peali_verdict judge_passes(const struct turns *pass, int n)
{
	struct peali_bench_queue_contest contest = { 0 };
	struct peali_samples *s = &contest.peer.samples;
	enum peali_verdict verdict;

	for (int i = 0; i < PEALI_PASSES; i++) {
		for (int k = 0; i < n && k < 2 + pass[i].more; k++) {
			double ratio = k % 2 ? pass[i].second : pass[i].first;

			peali_samples_close(s,
					    ratio < 0 ? PEALI_TAG_MIXED :
							pass[i].distance,
					    ratio);
		}
		contest.pass_end[i] = s->n_rounds;
	}
	verdict = peali_bench_queue_verdict(&contest, 1);
	peali_bench_queue_contest_fini(&contest);
	return verdict;
}
#define JUDGE(...)                                                             \
	judge_passes((const struct turns[]){ __VA_ARGS__ },                    \
		     (int)(sizeof((const struct turns[]){ __VA_ARGS__ }) /     \
			   sizeof(struct turns)))
#define PASS(ratio)                                                            \
	{                                                                      \
		ratio, ratio, NEAR, 0                                          \
	}

PEAL_TEST(verdict_needs_three_quarters_of_the_votes)
{
	CHECK_EQ(JUDGE(PASS(1.0), PASS(1.2), PASS(3.0)), PEALI_REACHED);
	CHECK_EQ(JUDGE(PASS(0.99), PASS(0.5), PASS(0.1)), PEALI_MISSED);
	CHECK_EQ(JUDGE(PASS(1.5), PASS(0.99), PASS(1.5)), PEALI_UNSURE);
	CHECK_EQ(JUDGE(PASS(1.5), PASS(0.99), PASS(1.5), PASS(1.5)),
		 PEALI_REACHED);
	CHECK_EQ(JUDGE(PASS(0.5), PASS(0.9), PASS(1.5), PASS(0.7)),
		 PEALI_MISSED);
	/* no rounds, no vote */
	CHECK_EQ(JUDGE(PASS(1.5), PASS(-1), PASS(1.5)), PEALI_REACHED);
	CHECK_EQ(JUDGE(PASS(-1), PASS(0.5), PASS(0.5)), PEALI_MISSED);
	CHECK_EQ(JUDGE(PASS(1.5), PASS(0.5), PASS(-1)), PEALI_UNSURE);
	/* a single vote */
	CHECK_EQ(JUDGE(PASS(-1), PASS(1.5), PASS(-1)), PEALI_UNSURE);
	CHECK_EQ(JUDGE(PASS(-1)), PEALI_UNSURE);
}

/* The medians of all passes agree here. */
PEAL_TEST(verdict_needs_three_quarters_of_the_rounds)
{
	CHECK_EQ(JUDGE(PASS(1.2), PASS(1.2), { 2.5, 0.9, NEAR, 0 }),
		 PEALI_REACHED);
	CHECK_EQ(JUDGE({ 1.5, 0.9, NEAR, 0 }, { 1.5, 0.9, NEAR, 0 }, PASS(1.2)),
		 PEALI_UNSURE);
	CHECK_EQ(JUDGE(PASS(0.8), { 0.5, 1.1, NEAR, 0 }), PEALI_MISSED);
	CHECK_EQ(JUDGE({ 0.5, 1.1, NEAR, 0 }, { 0.5, 1.1, NEAR, 0 }),
		 PEALI_UNSURE);
}

/* Three quarters of all rounds agree here. */
PEAL_TEST(long_passes_have_one_vote)
{
	CHECK_EQ(JUDGE({ 1.5, 1.5, NEAR, 20 }, PASS(0.5)), PEALI_UNSURE);
	CHECK_EQ(JUDGE({ 0.5, 0.5, NEAR, 20 }, PASS(1.5)), PEALI_UNSURE);
	CHECK_EQ(JUDGE({ 1.5, 1.5, NEAR, 20 }, PASS(1.5)), PEALI_REACHED);
}

PEAL_TEST(each_distance_of_a_pass_has_a_vote)
{
	const struct turns far = { 0.5, 0.5, FAR, 0 }, high = { 5, 5, FAR, 0 };

	CHECK_EQ(JUDGE(PASS(1.2), high), PEALI_REACHED);
	CHECK_EQ(JUDGE(far, far), PEALI_MISSED);
	CHECK_EQ(JUDGE(PASS(1.2), PASS(1.2), far, far), PEALI_UNSURE);
	CHECK_EQ(JUDGE(PASS(1.2), far), PEALI_UNSURE);
	CHECK_EQ(JUDGE(PASS(1.2), PASS(1.3), PASS(1.1), far), PEALI_REACHED);
}

static void need_two_cores(void)
{
	struct peali_cores cores;

	if (!peali_cores_pick(&cores))
		return;
	printf("skipped: needs two cores\n");
	exit(77);
}

PEAL_TEST_MAIN(need_two_cores();
	       RUN(every_fault_fails_the_throughput_of_any_shape);
	       RUN(every_fault_fails_round_trips);
	       RUN(messages_before_the_time_limit_are_checked);
	       RUN(missing_baselines_are_rows_with_a_reason);
	       RUN(undecided_run_fails_with_a_reason);
	       RUN(corrupting_baseline_fails_the_benchmark);
	       RUN(ratio_above_one_means_peal_is_faster);
	       RUN(verdict_needs_three_quarters_of_the_votes);
	       RUN(verdict_needs_three_quarters_of_the_rounds);
	       RUN(long_passes_have_one_vote);
	       RUN(each_distance_of_a_pass_has_a_vote);)
