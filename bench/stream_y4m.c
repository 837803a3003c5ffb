/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row of the benchmark `stream`: frames through the pipeline of `peal run
 * 'blur@0 ! sobel@1 ! threshold@0'`, without files. The host writes frames into
 * the first link and compares the results. Baseline: the same three filters one
 * after another, in a loop per core.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/samples.h"
#include "bench/stream.h"
#include "ringkernels/reference.h"
#include "ringkernels/stage_math.h"

#define WIDTH 640
#define HEIGHT 480
/* 4:2:0; the filters do not change chroma */
#define BODY (WIDTH * HEIGHT * 3 / 2)
#define MESSAGE (sizeof(struct peal_item) + BODY)
#define FRAMES 8 /* different frames, which are sent in turn */
/* frames of a round; filling the pipeline takes only a small part of it */
#define ROUND 256
#define ROUND_QUICK 16 /* frames of a round if there is little time */
#define QUICK_NS 1000000000 /* the row has less time than that */
#define ROUNDS_LEAST 3
#define ROWS_SHARE 3 /* the row gets the time of three rows */
#define STAGES 3
#define DEPTH 4
#define THREADS_MOST 64
#define WAIT_NS INT64_C(2000000)
#define QUIET_NS 2000000 /* idle workers fall asleep in this time */

static const struct peal_stage_config configs[STAGES] = {
	{ .kind = PEAL_STAGE_BLUR },
	{ .kind = PEAL_STAGE_SOBEL },
	{ .kind = PEAL_STAGE_THRESHOLD, .level = 96 },
};

struct video {
	struct peali_fixture *fixture;
	uint8_t *frames; /* FRAMES bodies */
	uint8_t *right; /* expected results of the frames */
	uint64_t wrong;
	uint64_t next; /* sequence of the next frame to send */
	uint32_t round; /* frames of a round */
	struct peali_cores cores; /* cores of the first two stages */
	int has_cores;
};

static const struct peal_item head = {
	.width = WIDTH,
	.height = HEIGHT,
	.body_bytes = BODY,
};

/* ---- frames -------------------------------------------------------------- */

/* Draws a frame: gradients and noise, different for every seed. */
static void draw(uint8_t *frame, uint64_t seed)
{
	for (uint32_t i = 0; i < BODY; i++) {
		uint64_t noise = peali_bench_word(seed, i / 8) >> (i % 8 * 8);
		uint32_t slope = i % WIDTH / 4 + i / WIDTH / 5 + seed % 64;

		frame[i] = (uint8_t)((slope & 0xff) / 2 + (noise & 0x3f));
	}
}

static int make_frames(struct video *v)
{
	uint8_t *scratch = malloc(BODY);
	int result = 0;

	v->frames = malloc((size_t)FRAMES * BODY);
	v->right = malloc((size_t)FRAMES * BODY);
	for (int i = 0; scratch && v->frames && v->right && i < FRAMES; i++) {
		uint8_t *frame = v->frames + (size_t)i * BODY;
		uint8_t *right = v->right + (size_t)i * BODY;

		draw(frame, peali_bench_seed());
		result |= peali_stage_reference(configs, &head, frame, right);
		result |= peali_stage_reference(configs + 1, &head, right,
						scratch);
		result |= peali_stage_reference(configs + 2, &head, scratch,
						right);
	}
	if (!scratch || !v->frames || !v->right || result)
		peali_say("cannot create the frames");
	result = !scratch || !v->frames || !v->right || result ? -1 : 0;
	free(scratch);
	return result;
}

static int is_right(const struct video *v, uint64_t number, const void *body)
{
	return memcmp(v->right + number % FRAMES * BODY, body, BODY) == 0;
}

/* ---- ours ---------------------------------------------------------------- */

static uint64_t launch(struct peali_fixture *fixture,
		       const struct peal_program *program, int i)
{
	static const int devices[STAGES] = { 0, 1, 0 };
	const struct peal_actor_options options = {
		.size = sizeof(options),
		.init = configs + i,
		.init_bytes = sizeof(configs[i]),
	};
	int kernel = peali_fixture_launch(fixture, devices[i], program, 1);
	uint64_t address;

	if (kernel < 0)
		return 0;
	if (peal_actor_spawn(fixture->kernels[kernel], "stage", &options,
			     &address) == 0)
		return address;
	peali_say_error("spawn a stage");
	return 0;
}

static int build(struct video *v)
{
	const struct peal_link_options options = {
		.size = sizeof(options),
		.capacity = DEPTH,
		.message_bytes = MESSAGE,
		.slab_bytes = (DEPTH + 1) * PEAL_SLAB_ROUND(MESSAGE),
	};
	const struct peal_program *program =
		peal_program_find(v->fixture->runtime, "peal_stages");
	uint64_t ends[STAGES + 2];

	if (!program) {
		peali_say_error("find the built-in stages");
		return -1;
	}
	if (peal_endpoint_create(v->fixture->runtime, NULL, &v->fixture->host) <
	    0) {
		peali_say_error("create the host's endpoint");
		return -1;
	}
	ends[0] = ends[STAGES + 1] = peal_endpoint_address(v->fixture->host);
	for (int i = 0; i < STAGES; i++) {
		ends[i + 1] = launch(v->fixture, program, i);
		if (!ends[i + 1])
			return -1;
	}
	for (int i = 0; i <= STAGES; i++)
		if (peali_fixture_connect(v->fixture, ends[i], 0, ends[i + 1],
					  &options) < 0)
			return -1;
	v->has_cores =
		peali_fixture_cores(v->fixture,
				    (struct peali_fixture_worker){ 0, 0 },
				    (struct peali_fixture_worker){ 1, 0 },
				    &v->cores) == 0;
	return 0;
}

/* Sends a frame unless the link is full. Returns 1, 0, or -1 with a message. */
static int try_send(struct video *v)
{
	void *place;
	int result = peal_send_reserve(v->fixture->host, 0, MESSAGE, 0, &place);
	struct peal_item item = head;

	if (result == PEAL_EAGAIN)
		return 0;
	if (result < 0) {
		peali_say_error("send a frame");
		return -1;
	}
	item.sequence = v->next;
	memcpy(place, &item, sizeof(item));
	memcpy((uint8_t *)place + sizeof(item),
	       v->frames + v->next % FRAMES * BODY, BODY);
	v->next++;
	return peal_send_commit(v->fixture->host, 0, 0) < 0 ? -1 : 1;
}

/*
 * Receives a frame and compares it. Returns 1, 0 if no frame arrived, or -1
 * with a message.
 */
static int try_take(struct video *v, uint64_t number, int64_t timeout_ns)
{
	struct peal_received received;
	const struct peal_item *item;
	int result = peal_receive_peek(v->fixture->host, &received, timeout_ns);

	if (result == PEAL_EAGAIN || result == PEAL_ETIMEDOUT)
		return 0;
	if (result < 0) {
		peali_say_error("take a frame");
		return -1;
	}
	item = received.data;
	if (received.length != MESSAGE || item->sequence != number ||
	    !is_right(v, number, item + 1))
		v->wrong++;
	return peal_receive_release(v->fixture->host) < 0 ? -1 : 1;
}

/*
 * Runs a round of ours. Returns frames per second, or a negative value after an
 * error.
 */
static double run_ours(struct video *v)
{
	uint64_t began = peali_bench_now_ns();
	uint64_t first = v->next;
	uint64_t taken = 0;

	while (taken < v->round) {
		int sent = v->next - first < v->round ? try_send(v) : 0;
		int got = sent < 0 ? -1 :
				     try_take(v, first + taken,
					      sent ? 0 : WAIT_NS);

		if (got < 0)
			return -1;
		taken += (uint64_t)got;
	}
	if (!v->wrong)
		return v->round * 1e9 / (double)(peali_bench_now_ns() - began);
	peali_say("%llu frames were wrong", (unsigned long long)v->wrong);
	return -1;
}

/* ---- the baseline -------------------------------------------------------- */

struct looper {
	const struct video *v;
	uint32_t first, step;
	uint64_t wrong;
	pthread_t thread;
};

/*
 * Runs in each thread: copies frames, applies the filters, compares the
 * results.
 */
static void *loop(void *argument)
{
	struct looper *l = argument;
	uint8_t *a = malloc(BODY);
	uint8_t *b = malloc(BODY);

	peali_core_bind(peali_core_at(l->first));
	l->wrong = !a || !b;
	for (uint32_t i = l->first; !l->wrong && i < l->v->round;
	     i += l->step) {
		memcpy(a, l->v->frames + (size_t)(i % FRAMES) * BODY, BODY);
		peali_stage_apply(configs, &head, a, b, 0, 1);
		peali_stage_apply(configs + 1, &head, b, a, 0, 1);
		peali_stage_apply(configs + 2, &head, a, b, 0, 1);
		l->wrong += !is_right(l->v, i, b);
	}
	free(a);
	free(b);
	return NULL;
}

/* Runs a round of the baseline. Returns as run_ours. */
static double run_peer(const struct video *v)
{
	struct looper loopers[THREADS_MOST];
	uint32_t n = (uint32_t)peali_report_cores();
	uint64_t began = peali_bench_now_ns();
	uint64_t wrong = 0;

	n = n < THREADS_MOST ? n : THREADS_MOST;
	for (uint32_t i = 0; i < n; i++) {
		loopers[i] = (struct looper){ .v = v, .first = i, .step = n };
		if (pthread_create(&loopers[i].thread, NULL, loop,
				   loopers + i)) {
			peali_say("cannot start a thread of the filter loop");
			n = i;
			wrong = 1;
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		pthread_join(loopers[i].thread, NULL);
		wrong += loopers[i].wrong;
	}
	if (!wrong)
		return v->round * 1e9 / (double)(peali_bench_now_ns() - began);
	peali_say("the filter loop failed");
	return -1;
}

/* ---- the row ------------------------------------------------------------- */

/*
 * Runs a round of the baseline and of ours. Measures the distance of the cores
 * before and after. Returns 0 or -1.
 */
static int run_round(struct video *v, struct peali_samples *ours,
		     struct peali_samples *peers)
{
	const struct timespec quiet = { .tv_nsec = QUIET_NS };
	double peer = NAN, rate;
	int before;

	nanosleep(&quiet, NULL);
	before = v->has_cores ? peali_cores_distance(&v->cores) : 0;
	if (v->fixture->on_host)
		peer = run_peer(v);
	rate = peer < 0 ? -1 : run_ours(v);
	if (rate < 0)
		return -1;
	if (v->has_cores && peali_cores_distance(&v->cores) != before)
		before = PEALI_TAG_MIXED;
	peali_samples_add(ours, rate);
	peali_samples_add(peers, peer);
	peali_samples_close(ours, before, rate / peer);
	peali_samples_close(peers, before, NAN);
	return 0;
}

static void fill(struct peali_stream *stream, const struct video *v,
		 const struct peali_samples *ours,
		 const struct peali_samples *peers)
{
	json_t *row = peali_report_row(&stream->report, "y4m filters");

	peali_row_text(row, "route", "%s",
		       peal_route_name(peali_fixture_route(v->fixture, 1)));
	peali_row_uint(row, "message_bytes", MESSAGE);
	peali_row_uint(row, "stages", STAGES);
	peali_row_text(row, "pipeline", "blur@0 ! sobel@1 ! threshold@0");
	peali_row_uint(row, "width", WIDTH);
	peali_row_uint(row, "height", HEIGHT);
	peali_row_uint(row, "frames_of_a_round", v->round);
	peali_row_text(row, "timed_by", "host");
	peali_samples_row_cores(
		ours, row,
		v->has_cores ? NULL : peali_fixture_no_cores(v->fixture));
	peali_fixture_cells(v->fixture, 1, row);
	peali_samples_row_rates(ours, row, "frames_per_s");
	peali_row_real(row, "gigabytes_per_s",
		       peali_samples_spread(ours).median * BODY / 1e9);
	if (!v->fixture->on_host) {
		peali_samples_row_versus(ours, row, NULL,
					 peali_fixture_no_cores(v->fixture));
		return;
	}
	peali_row_real(row, "versus_frames_per_s",
		       peali_samples_spread(peers).median);
	peali_row_real(row, "versus_gigabytes_per_s",
		       peali_samples_spread(peers).median * BODY / 1e9);
	peali_row_uint(row, "versus_threads", (uint64_t)peali_report_cores());
	peali_samples_row_versus(ours, row, "the filters in one loop per core",
				 NULL);
}

int peali_stream_y4m_wanted(const struct peali_stream *stream)
{
	return peali_bench_wanted(&stream->options, PEAL_ROUTE_PEER, MESSAGE);
}

int peali_stream_y4m(struct peali_stream *stream)
{
	const uint64_t ns = stream->row_ns * ROWS_SHARE;
	struct video v = { .fixture = &stream->fixture,
			   .round = ns < QUICK_NS ? ROUND_QUICK : ROUND };
	struct peali_samples ours = { 0 };
	struct peali_samples peers = { 0 };
	uint64_t until = peali_bench_now_ns() + ns;
	int result;

	peali_fixture_fit_lanes(v.fixture, MESSAGE);
	result = make_frames(&v) || build(&v) ? -1 : 0;

	/* The first round warms up caches and threads. */
	if (!result && run_ours(&v) < 0)
		result = -1;
	if (!result && v.fixture->on_host && run_peer(&v) < 0)
		result = -1;
	for (int i = 0;
	     !result && (i < ROUNDS_LEAST || peali_bench_now_ns() < until); i++)
		result = run_round(&v, &ours, &peers);
	if (!result) {
		fill(stream, &v, &ours, &peers);
		result = peali_samples_write(&ours, &stream->options, "stream",
					     "y4m", stream->n_rows == 1);
	}
	if (peali_fixture_clear(v.fixture))
		result = -1;
	peali_samples_fini(&ours);
	peali_samples_fini(&peers);
	free(v.frames);
	free(v.right);
	return result;
}
