/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that batches leave a pipeline in order and once. If not, the pipeline
 * names the stage and the error.
 */

#include <peal/memory.h>
#include <peal/pipeline.h>
#include "runtime/both_lanes.h"
#include "runtime/steps.h"

PEAL_DECLARE_PROGRAM(steps);
PEAL_DECLARE_PROGRAM(tasks);

#define STAGES 3
#define BATCH_MOST 1600
#define CAPACITY 4

struct fixture {
	struct peal_runtime *rt;
	struct peal_pipeline *p;
	struct step_config config[STAGES];
	struct peal_pipeline_stage stage[STAGES];
	struct peal_link_options link;
	struct peal_pipeline_options options;
	uint64_t word; /* host word that gates wait for */
};

/*
 * Returns the options of three stages on two devices. The pipeline does not
 * exist yet.
 */
static struct fixture plan(void)
{
	struct fixture s = { .rt = harness_open(2, "") };
	uint32_t i;

	s.link.size = sizeof(s.link);
	s.link.capacity = CAPACITY;
	s.link.message_bytes = BATCH_MOST;
	s.options.size = sizeof(s.options);
	CHECK_OK(peal_memory_alloc(s.rt, PEAL_HOST_MEMORY, 64, &s.word));
	for (i = 0; i < STAGES; i++) {
		s.config[i].add = 1000 * (i + 1);
		s.stage[i].size = sizeof(s.stage[i]);
		s.stage[i].device = (int32_t)(i & 1);
		s.stage[i].program = &peal_program_steps;
		s.stage[i].handler = "step";
		s.stage[i].init_bytes = sizeof(s.config[i]);
		s.stage[i].lanes = lanes;
	}
	return s;
}

static int make(struct fixture *s, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < STAGES; i++)
		s->stage[i].init = &s->config[i];
	s->options.link = &s->link;
	return peal_pipeline_create(s->rt, s->stage, n, &s->options, &s->p);
}

static void open_gate(struct fixture *s)
{
	peal_store_release_sys((uint64_t *)(uintptr_t)s->word, 1);
}

static void finish(struct fixture *s)
{
	CHECK_OK(peal_pipeline_destroy(s->p));
	CHECK_OK(peal_memory_free(s->rt, PEAL_HOST_MEMORY, s->word));
	CHECK_OK(peal_runtime_close(s->rt)); /* nothing is left */
}

/* ---- batches ------------------------------------------------------------- */

/*
 * Returns the length of a batch in bytes, 16 to BATCH_MOST. It depends on the
 * number of the batch.
 */
static uint64_t length_of(uint64_t number)
{
	return sizeof(struct step_batch) + number * 37 % (BATCH_MOST - 15);
}

static uint8_t byte_of(uint64_t number, uint64_t i)
{
	return (uint8_t)(number * 131 + i * 7);
}

static void fill(uint8_t *to, uint64_t number)
{
	struct step_batch head = { number, number * 3 };
	uint64_t i;

	memcpy(to, &head, sizeof(head));
	for (i = sizeof(head); i < length_of(number); i++)
		to[i] = byte_of(number, i);
}

static int push(struct fixture *s, uint64_t number, int64_t timeout_ns)
{
	uint8_t batch[BATCH_MOST];
	void *place;
	int result;

	if (number & 1) {
		fill(batch, number);
		return peal_pipeline_push(s->p, (uint16_t)number, batch,
					  length_of(number), timeout_ns);
	}
	result = peal_pipeline_reserve(s->p, length_of(number), timeout_ns,
				       &place);
	if (result)
		return result;
	fill(place, number);
	return peal_pipeline_commit(s->p, (uint16_t)number);
}

/*
 * Checks that the message is batch `number`, after `before` earlier batches.
 * `added` is the sum that the stages have added to its value.
 */
static void is_batch(const struct peal_received *r, uint64_t number,
		     uint64_t before, uint64_t added)
{
	const uint8_t *data = (const uint8_t *)r->data;
	struct step_batch head;
	uint64_t i;

	CHECK_EQ(r->length, length_of(number));
	CHECK_EQ(r->type, (uint16_t)number);
	CHECK_EQ(r->sequence, before);
	memcpy(&head, data, sizeof(head));
	CHECK_EQ(head.number, number);
	CHECK_EQ(head.value, number * 3 + added);
	for (i = sizeof(head); i < r->length; i++)
		CHECK_EQ(data[i], byte_of(number, i));
}

static void pull(struct fixture *s, uint64_t number, uint64_t before,
		 uint64_t added)
{
	uint8_t batch[BATCH_MOST];
	struct peal_received r;

	if (number % 3) {
		CHECK_OK(peal_pipeline_pull(s->p, batch, sizeof(batch), &r,
					    MAX_WAIT));
		is_batch(&r, number, before, added);
		return;
	}
	CHECK_OK(peal_pipeline_peek(s->p, &r, MAX_WAIT));
	is_batch(&r, number, before, added);
	CHECK_OK(peal_pipeline_release(s->p));
}

static int pull_fails(struct fixture *s, int64_t timeout_ns)
{
	struct peal_received r;
	uint8_t batch[BATCH_MOST];

	return peal_pipeline_pull(s->p, batch, sizeof(batch), &r, timeout_ns);
}

static struct peal_pipeline_info info_of(struct fixture *s)
{
	struct peal_pipeline_info info;

	CHECK_OK(peal_pipeline_info(s->p, &info));
	return info;
}

/* ---- order and number ---------------------------------------------------- */

struct pusher {
	struct fixture *s;
	uint64_t n;
};

static void *push_all(void *argument)
{
	struct pusher *pusher = (struct pusher *)argument;
	uint64_t i;

	for (i = 0; i < pusher->n; i++)
		CHECK_OK(push(pusher->s, i, MAX_WAIT));
	CHECK_OK(peal_pipeline_close(pusher->s->p, MAX_WAIT));
	return NULL;
}

/* Checks that each stage has handled n batches and that no link holds one. */
static void is_conserved(struct fixture *s, uint64_t n)
{
	struct peal_pipeline_info info = info_of(s);
	uint32_t i;

	CHECK_EQ(info.pushed, n);
	CHECK_EQ(info.pulled, n);
	CHECK_EQ(info.pushed_bytes, info.pulled_bytes);
	CHECK_EQ(info.in_flight, 0);
	CHECK_EQ(info.dead, 0);
	CHECK_EQ(info.failed_stage, -1);
	CHECK_EQ(info.closed, 1);
	for (i = 0; i < info.stages; i++) {
		struct peal_pipeline_stage_info stage;

		CHECK_OK(peal_pipeline_stage_info(s->p, i, &stage));
		CHECK_EQ(stage.accepted, n);
		CHECK_EQ(stage.delivered, n);
		CHECK_EQ(stage.delivered_bytes, info.pushed_bytes);
		CHECK_EQ(stage.handled, n);
		CHECK_EQ(stage.failed, 0);
		CHECK_EQ(stage.dead, 0);
		CHECK_EQ(stage.queued, 0);
		CHECK_EQ(stage.workers, info.workers);
		CHECK_EQ(stage.lanes, lanes);
		CHECK_EQ(stage.device, i & 1);
		CHECK(stage.busy_ns + stage.blocked_ns <= stage.worker_ns);
	}
	harness_conserved(s->rt);
}

static void go_through(uint32_t stages, uint32_t workers, uint64_t n)
{
	struct fixture s = plan();
	struct pusher pusher = { &s, n };
	pthread_t thread;
	uint64_t i, added = 0;

	s.options.workers = workers;
	CHECK_OK(make(&s, stages));
	for (i = 0; i < stages; i++)
		added += s.config[i].add;
	CHECK(!pthread_create(&thread, NULL, push_all, &pusher));
	for (i = 0; i < n; i++)
		pull(&s, i, i, added);
	CHECK_EQ(pull_fails(&s, MAX_WAIT), PEAL_EEND);
	CHECK_EQ(pull_fails(&s, 0), PEAL_EEND); /* and again */
	CHECK(!pthread_join(thread, NULL));
	CHECK_OK(peal_pipeline_drain(s.p, MAX_WAIT));
	is_conserved(&s, n);
	finish(&s);
}

PEAL_TEST(batches_arrive_once_in_order)
{
	go_through(3, 1, 300);
	go_through(1, 1, 50);
	go_through(2, 1, 0);
}

PEAL_TEST(batches_of_several_workers_arrive_once_in_order)
{
	go_through(3, 3, 200);
	go_through(2, 4, 3); /* fewer batches than workers */
}

PEAL_TEST(one_worker_stage_may_drop_and_multiply)
{
	struct fixture s = plan();
	uint64_t i;

	s.config[1].drop = 1;
	s.stage[2].handler = "twice";
	s.stage[2].init_bytes = 0;
	CHECK_OK(make(&s, 3));
	for (i = 0; i < 4; i++)
		CHECK_OK(push(&s, i, MAX_WAIT));
	for (i = 0; i < 4; i++)
		pull(&s, i / 2 * 2, i, 3000 + i % 2);
	CHECK_OK(peal_pipeline_close(s.p, MAX_WAIT));
	CHECK_EQ(pull_fails(&s, MAX_WAIT), PEAL_EEND);
	harness_conserved(s.rt);
	finish(&s);
}

/* ---- flow control -------------------------------------------------------- */

static uint64_t queued_at(struct fixture *s, uint32_t stage)
{
	return harness_info(peal_pipeline_link(s->p, stage, 0)).queued;
}

static struct peal_worker_info worker_of(struct fixture *s, uint32_t stage)
{
	struct peal_worker_info info;

	CHECK_OK(peal_worker_info(peal_pipeline_kernel(s->p, stage), 0, &info));
	return info;
}

static int push_more(struct fixture *s, uint64_t *n)
{
	/* then the first stage takes no more batches from its link */
	int blocked = queued_at(s, 1) == CAPACITY &&
		      worker_of(s, 0).blocked_port >= 0;

	while (!push(s, *n, 0))
		(*n)++;
	return blocked && queued_at(s, 0) == CAPACITY;
}

/*
 * Pushes until the second stage, which is held, blocks all links before it.
 * Returns the number of batches.
 */
static uint64_t fill_up(struct fixture *s)
{
	uint64_t n = 0;

	EVENTUALLY(push_more(s, &n));
	EVENTUALLY(worker_of(s, 1).actor >= 0);
	return n;
}

PEAL_TEST(blocked_stage_blocks_push_in_bounded_memory)
{
	struct fixture s = plan();
	struct peal_pipeline_info info, full;
	uint64_t n, i;

	s.config[1].gate = s.word;
	CHECK_OK(make(&s, 3));
	info = info_of(&s);
	CHECK_EQ(info.in_flight_max, 4 * CAPACITY);
	CHECK_EQ(info.capacity, CAPACITY);
	CHECK(info.memory_bytes > 0);
	n = fill_up(&s);
	CHECK_EQ(push(&s, n, 2 * MS), PEAL_ETIMEDOUT);
	CHECK_EQ(push(&s, n, 0), PEAL_EAGAIN);
	CHECK_EQ(n, 2 * CAPACITY);
	full = info_of(&s);
	CHECK_EQ(full.pushed, n);
	CHECK_EQ(full.in_flight, n);
	CHECK(full.in_flight <= full.in_flight_max);
	CHECK_EQ(full.memory_bytes, info.memory_bytes);
	CHECK_EQ(pull_fails(&s, 0), PEAL_EAGAIN);
	CHECK_FAILS(pull_fails(&s, 2 * MS), PEAL_ETIMEDOUT, "in time");
	CHECK_FAILS(peal_pipeline_drain(s.p, 2 * MS), PEAL_ETIMEDOUT,
		    "stage 0");
	open_gate(&s);
	for (i = 0; i < n; i++)
		pull(&s, i, i, 6000);
	CHECK_OK(peal_pipeline_drain(s.p, MAX_WAIT));
	CHECK_EQ(pull_fails(&s, MAX_WAIT), PEAL_EEND);
	is_conserved(&s, n);
	finish(&s);
}

/*
 * Returns the counters of a stage over five samples or more, while the pipeline
 * does not change.
 */
static struct peal_pipeline_stage_info looked_at(struct fixture *s,
						 uint32_t stage)
{
	struct peal_pipeline_stage_info before, after;

	CHECK_OK(peal_pipeline_stage_info(s->p, stage, &before));
	do { /* the first sample may have begun before the call */
		identity_sleep_us(1000);
		CHECK_OK(peal_pipeline_stage_info(s->p, stage, &after));
	} while (after.samples < before.samples + 2);
	before = after;
	do {
		identity_sleep_us(1000);
		CHECK_OK(peal_pipeline_stage_info(s->p, stage, &after));
	} while (after.samples < before.samples + 5);
	after.samples -= before.samples;
	after.worker_ns -= before.worker_ns;
	after.busy_ns -= before.busy_ns;
	after.blocked_ns -= before.blocked_ns;
	after.residence_ns -= before.residence_ns;
	return after;
}

PEAL_TEST(stage_times_identify_the_bottleneck)
{
	struct fixture s = plan();
	struct peal_pipeline_stage_info stage;

	s.config[1].gate = s.word;
	CHECK_OK(make(&s, 3));
	fill_up(&s);
	stage = looked_at(&s, 0);
	CHECK(stage.worker_ns > 0);
	CHECK_EQ(stage.busy_ns, 0);
	CHECK_EQ(stage.blocked_ns, stage.worker_ns);
	CHECK(stage.residence_ns > 0);
	CHECK(stage.full_count > 0);
	stage = looked_at(&s, 1);
	CHECK_EQ(stage.busy_ns, stage.worker_ns);
	CHECK_EQ(stage.blocked_ns, 0);
	CHECK(stage.residence_ns > 0);
	CHECK_CONTAINS(stage.name, "step@1");
	stage = looked_at(&s, 2);
	CHECK_EQ(stage.busy_ns + stage.blocked_ns, 0);
	CHECK_EQ(stage.residence_ns, 0);
	CHECK_EQ(stage.delivered, 0);
	open_gate(&s);
	/* with batches inside */
	finish(&s);
}

/* ---- failures ------------------------------------------------------------ */

static uint64_t dead_at(struct fixture *s, uint32_t stage)
{
	struct peal_link_info info =
		harness_info(peal_pipeline_link(s->p, stage, 0));

	return harness_dead(&info);
}

PEAL_TEST(batches_before_failure_arrive_and_stage_is_named)
{
	struct fixture s = plan();
	uint64_t i;
	int result = 0;

	s.config[1].fail_at = 1 + 3;
	s.config[2].gate = s.word;
	s.stage[1].name = "the second";
	CHECK_OK(make(&s, 3));
	for (i = 0; i < 6 && !result; i++)
		result = push(&s, i, MAX_WAIT);
	CHECK(!result || result == PEAL_EHANDLER);
	EVENTUALLY(dead_at(&s, 1) > 0);
	/* the batches before the failed one are still inside */
	CHECK_EQ(pull_fails(&s, 0), PEAL_EAGAIN);
	CHECK_EQ(pull_fails(&s, MS), PEAL_ETIMEDOUT);
	open_gate(&s);
	for (i = 0; i < 3; i++)
		pull(&s, i, i, 6000);
	CHECK_FAILS(pull_fails(&s, MAX_WAIT), PEAL_EHANDLER, "stage 1");
	CHECK_CONTAINS(peal_last_error()->text, "'the second' on device 1");
	CHECK_CONTAINS(peal_last_error()->text,
		       "on batch 3, counted from 0, with ");
	CHECK_CONTAINS(peal_last_error()->text,
		       peal_error_name(peal_last_error()->driver_code));
	CHECK(peal_last_error()->driver_code < 0);
	CHECK_FAILS(push(&s, 9, MAX_WAIT), PEAL_EHANDLER, "'the second'");
	CHECK_EQ(info_of(&s).failed_stage, 1);
	CHECK_FAILS(peal_pipeline_drain(s.p, MAX_WAIT), PEAL_EHANDLER,
		    "'the second'");
	/* also after the end */
	CHECK_EQ(pull_fails(&s, MAX_WAIT), PEAL_EHANDLER);
	CHECK_EQ(info_of(&s).pulled, 3);
	EVENTUALLY(info_of(&s).in_flight == 0);
	/* each pushed batch is pulled or counted as dead */
	CHECK_EQ(info_of(&s).pushed, 3 + info_of(&s).dead);
	harness_conserved(s.rt);
	finish(&s);
}

PEAL_TEST(failure_of_one_worker_ends_the_pipeline)
{
	struct fixture s = plan();
	uint64_t i;
	int result = 0;

	s.options.workers = 3;
	s.config[2].fail_at = 1 + 4;
	CHECK_OK(make(&s, 3));
	for (i = 0; i < 7 && !result; i++)
		result = push(&s, i, MAX_WAIT);
	CHECK(!result || result == PEAL_EHANDLER);
	for (i = 0; i < 4; i++)
		pull(&s, i, i, 6000);
	CHECK_FAILS(pull_fails(&s, MAX_WAIT), PEAL_EHANDLER, "stage 2");
	CHECK_CONTAINS(peal_last_error()->text, "on batch 4, counted from 0");
	CHECK_EQ(info_of(&s).failed_stage, 2);
	finish(&s);
}

PEAL_TEST(skip_failed_skips_failed_batches)
{
	struct fixture s = plan();
	uint64_t i, n = 0;

	s.options.skip_failed = 1;
	s.config[1].fail_at = 1 + 2;
	CHECK_OK(make(&s, 3));
	for (i = 0; i < 5; i++)
		CHECK_OK(push(&s, i, MAX_WAIT));
	CHECK_OK(peal_pipeline_close(s.p, MAX_WAIT));
	for (i = 0; i < 5; i++)
		if (i != 2)
			pull(&s, i, n++, 6000);
	CHECK_EQ(pull_fails(&s, MAX_WAIT), PEAL_EEND);
	CHECK_OK(peal_pipeline_drain(s.p, MAX_WAIT));
	CHECK_EQ(info_of(&s).dead, 1);
	CHECK_EQ(info_of(&s).pushed, info_of(&s).pulled + 1);
	CHECK_EQ(info_of(&s).failed_stage, -1);
	harness_conserved(s.rt);
	finish(&s);
}

PEAL_TEST(worker_that_drops_a_batch_is_detected)
{
	struct fixture s = plan();
	uint64_t i;

	s.options.workers = 2;
	/* all batches of the second worker */
	s.config[0].drop = 1;
	CHECK_OK(make(&s, 2));
	for (i = 0; i < 4; i++)
		CHECK_OK(push(&s, i, MAX_WAIT));
	CHECK_OK(peal_pipeline_close(s.p, MAX_WAIT));
	pull(&s, 0, 0, 3000);
	CHECK_FAILS(pull_fails(&s, MAX_WAIT), PEAL_EPROTO, "worker 0");
	finish(&s);
}

PEAL_TEST(stopped_stage_kernel_is_named)
{
	struct fixture s = plan();

	CHECK_OK(make(&s, 3));
	CHECK_OK(push(&s, 0, MAX_WAIT));
	pull(&s, 0, 0, 6000);
	CHECK_OK(peal_kernel_stop(peal_pipeline_kernel(s.p, 2), MAX_WAIT));
	CHECK_FAILS(pull_fails(&s, MAX_WAIT), PEAL_ESTOPPED, "stage 2");
	CHECK_OK(peal_kernel_stop(peal_pipeline_kernel(s.p, 0), MAX_WAIT));
	EVENTUALLY(push(&s, 2, 0) == PEAL_ESTOPPED);
	CHECK_CONTAINS(peal_last_error()->text, "stage 0");
	CHECK_FAILS(peal_pipeline_drain(s.p, MAX_WAIT), PEAL_ESTOPPED, "stage");
	finish(&s);
}

PEAL_TEST(stopped_middle_kernel_is_no_end_of_stream)
{
	struct fixture s = plan();
	uint64_t i;

	s.config[1].gate = s.word;
	CHECK_OK(make(&s, 3));
	for (i = 0; i < 5; i++)
		CHECK_OK(push(&s, i, MAX_WAIT));
	CHECK_OK(peal_kernel_stop(peal_pipeline_kernel(s.p, 1), 0));
	open_gate(&s);
	while (!(pull_fails(&s, MAX_WAIT)))
		;
	CHECK_EQ(peal_last_error()->code, PEAL_ESTOPPED);
	CHECK_CONTAINS(peal_last_error()->text, "stage 1");
	finish(&s);
}

PEAL_TEST(too_small_pull_buffer_keeps_the_batch)
{
	struct fixture s = plan();
	uint8_t small[32];
	struct peal_received r;

	CHECK_OK(make(&s, 1));
	CHECK_OK(push(&s, 7, MAX_WAIT));
	CHECK_FAILS(peal_pipeline_pull(s.p, small, sizeof(small), &r, MAX_WAIT),
		    PEAL_EMSGSIZE,
		    "'pipeline': has a message that is longer "
		    "than the buffer (32, allowed 275 bytes or more)");
	CHECK_EQ(r.length, length_of(7));
	CHECK_EQ(info_of(&s).pulled, 0);
	pull(&s, 7, 0, 1000);
	CHECK_EQ(info_of(&s).pulled, 1);
	finish(&s);
}

PEAL_TEST(stop_ends_pipeline_with_batches_in_flight)
{
	struct fixture s = plan();
	uint64_t i;

	s.config[2].gate = s.word;
	CHECK_OK(make(&s, 3));
	for (i = 0; i < 5; i++)
		CHECK_OK(push(&s, i, MAX_WAIT));
	EVENTUALLY(worker_of(&s, 2).actor >= 0);
	EVENTUALLY(info_of(&s).in_flight == 5);
	CHECK_OK(peal_pipeline_stop(s.p, 0));
	CHECK_FAILS(peal_pipeline_stop(s.p, 2 * MS), PEAL_ETIMEDOUT, "'step@");
	open_gate(&s);
	CHECK_OK(peal_pipeline_stop(s.p, MAX_WAIT));
	/* One batch can still be pulled. A worker of a GPU may pass all batches
	 * before it hears of the stop. */
	EVENTUALLY(info_of(&s).in_flight <= (test_on_gpu() ? 5 : 1));
	finish(&s);
}

PEAL_TEST(runtime_shutdown_destroys_pipelines)
{
	struct fixture s = plan();

	CHECK_OK(make(&s, 3));
	CHECK_OK(push(&s, 0, MAX_WAIT));
	CHECK_FAILS(peal_runtime_close(s.rt), PEAL_EBUSY, "3 kernels");
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/* ---- errors -------------------------------------------------------------- */

/* Checks that the pipeline cannot be made and that no object is left. */
static void refused(struct fixture *s, uint32_t n, int error, const char *text)
{
	struct peal_runtime_info info;

	CHECK_FAILS(make(s, n), error, text);
	CHECK_OK(peal_runtime_info(s->rt, &info));
	CHECK_EQ(info.n_kernels, 0);
	CHECK_EQ(info.n_links, 0);
	CHECK_EQ(info.n_endpoints, 0);
}

/* Calls refused() with one field of the fixture changed. */
#define REFUSED_WITH(field, value, error, text)                                \
	do {                                                                   \
		struct fixture other_ = s;                                     \
		other_.field = value;                                          \
		refused(&other_, 2, error, text);                              \
	} while (0)

/* Only port 0 of a stage is linked. */
static void several_ports_are_refused(struct fixture s)
{
	s.stage[1].program = &peal_program_relay;
	s.stage[1].handler = "burst";
	refused(&s, 2, PEAL_EINVAL,
		"'burst': has several ports, and a stage has one (2, allowed "
		"1); use a handler with one port");
}

PEAL_TEST(invalid_pipelines_are_refused_without_leak)
{
	struct fixture s = plan();

	refused(&s, 0, PEAL_EINVAL,
		"'n': is out of range (0, allowed "
		"1..4294967295)");
	CHECK_FAILS(peal_pipeline_create(NULL, s.stage, 1, NULL, &s.p),
		    PEAL_EINVAL, "NULL");
	CHECK_FAILS(peal_pipeline_create(s.rt, NULL, 1, NULL, &s.p),
		    PEAL_EINVAL, "NULL");
	CHECK_FAILS(peal_pipeline_create(s.rt, s.stage, 1, NULL, NULL),
		    PEAL_EINVAL, "NULL");
	REFUSED_WITH(stage[1].handler, "stepp", PEAL_ENOENT,
		     "stage 1, 'stepp@1': program 'steps': has no such handler "
		     "(stepp, allowed step, twice, swallow); use step");
	several_ports_are_refused(s);
	REFUSED_WITH(stage[1].handler, NULL, PEAL_EINVAL, "stage 1: has no h");
	REFUSED_WITH(stage[1].program, NULL, PEAL_EINVAL, "stage 1: has no p");
	REFUSED_WITH(
		stage[1].device, 2, PEAL_ENODEV,
		"stage 1, 'step@2': device 2: does not exist (2, allowed 0..1)");
	REFUSED_WITH(stage[0].device, -1, PEAL_ENODEV, "stage 0");
	REFUSED_WITH(
		stage[1].init_bytes, 4096, PEAL_EINVAL,
		"'step@1': has "
		"init_bytes beyond the state of its handler on device 1, or no "
		"init (4096, allowed 0..40)");
	REFUSED_WITH(stage[1].size, 8, PEAL_EINVAL,
		     "stage 1: has another struct size than the first stage "
		     "(8, allowed 56)");
	REFUSED_WITH(stage[1].lanes, 1u << 20, PEAL_EINVAL, "stage 1");
	REFUSED_WITH(stage[0].require, PEAL_ROUTE_PEER, PEAL_EINVAL, "stage 0");
	REFUSED_WITH(stage[1].require, PEAL_ROUTE_LOCAL, PEAL_ENOPEER,
		     "from 'step@0' to 'step@1'");
	REFUSED_WITH(link.capacity, 3, PEAL_EINVAL, "the host");
	REFUSED_WITH(link.require, PEAL_ROUTE_PEER, PEAL_EINVAL, "require");
	REFUSED_WITH(options.workers, 5000, PEAL_EINVAL,
		     "'workers': is out of "
		     "range (5000, allowed 0..4096)");
	REFUSED_WITH(options.skip_failed, 2, PEAL_EINVAL, "skip_failed");
	s.stage[1].handler = "swallow";
	s.stage[1].init_bytes = 0;
	refused(&s, 2, PEAL_EINVAL, "no port to emit on");
	s.stage[1].program = &peal_program_tasks;
	s.stage[1].handler = "combine";
	refused(&s, 2, PEAL_EINVAL,
		"handler 'combine': is a handler of jobs, which PEAL_TASK "
		"makes");
	s.stage[1].program = &peal_program_steps;
	s.stage[1].handler = "twice";
	s.options.workers = 2;
	refused(&s, 2, PEAL_EINVAL, "more than one message");
	s.options.skip_failed = 1;
	refused(&s, 2, PEAL_EINVAL,
		"'workers': is too large with skip_failed, "
		"as a missing batch breaks the order (2, allowed 0..1)");
	CHECK_OK(peal_memory_free(s.rt, PEAL_HOST_MEMORY, s.word));
	CHECK_OK(peal_runtime_close(s.rt));
}

PEAL_TEST(invalid_pipeline_calls_are_refused)
{
	struct peal_pipeline_stage_info stage;
	struct peal_pipeline_info info;
	struct peal_received r;
	struct fixture s = plan();
	uint8_t batch[2 * BATCH_MOST] = { 0 };
	void *place;

	CHECK_OK(make(&s, 2));
	CHECK_FAILS(peal_pipeline_push(NULL, 0, batch, 1, 0), PEAL_EINVAL, "");
	CHECK_FAILS(peal_pipeline_push(s.p, 0, NULL, 1, 0), PEAL_EINVAL, "");
	CHECK_EQ(peal_pipeline_push(s.p, 0, batch, sizeof(batch), 0),
		 PEAL_EMSGSIZE);
	CHECK(!strcmp(peal_last_error()->call, "peal_pipeline_push"));
	CHECK_FAILS(peal_pipeline_reserve(NULL, 1, 0, &place), PEAL_EINVAL, "");
	CHECK_FAILS(peal_pipeline_reserve(s.p, 1, 0, NULL), PEAL_EINVAL, "");
	CHECK_FAILS(peal_pipeline_commit(NULL, 0), PEAL_EINVAL, "NULL");
	CHECK_FAILS(peal_pipeline_commit(s.p, 0), PEAL_EINVAL, "reserved");
	CHECK_FAILS(peal_pipeline_pull(NULL, batch, 1, &r, 0), PEAL_EINVAL, "");
	CHECK_FAILS(peal_pipeline_pull(s.p, NULL, 1, &r, 0), PEAL_EINVAL, "");
	CHECK_FAILS(peal_pipeline_pull(s.p, batch, 1, NULL, 0), PEAL_EINVAL,
		    "");
	CHECK_FAILS(peal_pipeline_peek(s.p, NULL, 0), PEAL_EINVAL, "");
	CHECK_FAILS(peal_pipeline_release(s.p), PEAL_EINVAL, "held");
	CHECK_FAILS(peal_pipeline_release(NULL), PEAL_EINVAL, "NULL");
	CHECK_FAILS(peal_pipeline_close(NULL, 0), PEAL_EINVAL, "NULL");
	CHECK_FAILS(peal_pipeline_drain(NULL, 0), PEAL_EINVAL, "NULL");
	CHECK_FAILS(peal_pipeline_stop(NULL, 0), PEAL_EINVAL, "NULL");
	CHECK_FAILS(peal_pipeline_info(s.p, NULL), PEAL_EINVAL, "NULL");
	CHECK_FAILS(peal_pipeline_info(NULL, &info), PEAL_EINVAL, "NULL");
	CHECK_FAILS(peal_pipeline_stage_info(s.p, 0, NULL), PEAL_EINVAL, "");
	CHECK_FAILS(peal_pipeline_stage_info(s.p, 2, &stage), PEAL_ENOENT,
		    "'pipeline': has no such stage (2, allowed 0..1)");
	CHECK(!peal_pipeline_kernel(s.p, 2) && !peal_pipeline_kernel(NULL, 0));
	CHECK(!peal_pipeline_actor(s.p, 2, 0) &&
	      !peal_pipeline_actor(s.p, 0, 1));
	CHECK(!peal_pipeline_link(s.p, 3, 0) && !peal_pipeline_link(s.p, 0, 1));
	CHECK(peal_pipeline_link(s.p, 2, 0) && peal_pipeline_actor(s.p, 1, 0));
	CHECK_OK(peal_pipeline_reserve(s.p, 64, MAX_WAIT, &place));
	/* drops the reserved batch */
	CHECK_OK(peal_pipeline_close(s.p, MAX_WAIT));
	CHECK_FAILS(peal_pipeline_commit(s.p, 0), PEAL_EINVAL, "reserved");
	CHECK_FAILS(push(&s, 1, 0), PEAL_EPIPE, "closed");
	CHECK_FAILS(push(&s, 2, 0), PEAL_EPIPE, "closed");
	CHECK_FAILS(peal_pipeline_close(s.p, 0), PEAL_EPIPE, "closed before");
	CHECK_EQ(pull_fails(&s, MAX_WAIT), PEAL_EEND);
	CHECK_OK(peal_pipeline_drain(s.p, MAX_WAIT));
	CHECK_OK(peal_pipeline_destroy(NULL));
	finish(&s);
}

PEAL_TEST_MAIN(RUN_LANES(batches_arrive_once_in_order);
	       RUN_LANES(batches_of_several_workers_arrive_once_in_order);
	       RUN_LANES(one_worker_stage_may_drop_and_multiply);
	       RUN_LANES(blocked_stage_blocks_push_in_bounded_memory);
	       RUN_LANES(stage_times_identify_the_bottleneck);
	       RUN_LANES(batches_before_failure_arrive_and_stage_is_named);
	       RUN_LANES(failure_of_one_worker_ends_the_pipeline);
	       RUN_LANES(skip_failed_skips_failed_batches);
	       RUN_LANES(worker_that_drops_a_batch_is_detected); lanes = 1;
	       RUN(stopped_stage_kernel_is_named);
	       RUN(stopped_middle_kernel_is_no_end_of_stream);
	       RUN(too_small_pull_buffer_keeps_the_batch);
	       RUN(stop_ends_pipeline_with_batches_in_flight);
	       RUN(runtime_shutdown_destroys_pipelines);
	       RUN(invalid_pipelines_are_refused_without_leak);
	       RUN(invalid_pipeline_calls_are_refused);)
