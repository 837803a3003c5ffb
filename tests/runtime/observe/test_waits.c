/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics count the waits of each blocking call by its kind. A wait of a
 * call inside another one counts once.
 */
#include <peal/event.h>
#include <peal/graph.h>
#include <peal/metrics.h>
#include <peal/pipeline.h>
#include <peal/request.h>

#include "runtime/steps.h"
#include "runtime/task_fixture.h"

PEAL_DECLARE_PROGRAM(steps);

#define WAIT (60 * MS) /* timeout of a call that fails */

/* Checks the waits of a runtime so far: n of this kind, for WAIT each, and no
 * others. */
static void expect_waits(struct peal_runtime *rt, uint32_t kind, uint64_t n)
{
	struct peal_metrics *m = calloc(1, sizeof(*m));
	uint32_t i;

	CHECK(m);
	m->size = sizeof(*m);
	CHECK_OK(peal_metrics_snapshot(rt, m));
	for (i = PEAL_WAIT_GRAPH; i < PEAL_WAIT_KINDS; i++) {
		if (m->waits[i].waits != (i == kind ? n : 0))
			fprintf(stderr, "%s\n", peal_wait_kind_name(i));
		CHECK_EQ(m->waits[i].waits, i == kind ? n : 0);
	}
	/* the first turns of a wait do not count */
	CHECK(m->waits[kind].ns >= n * (uint64_t)WAIT / 2);
	CHECK(m->waits[kind].ns <= m->interval_ns);
	CHECK(m->sync_ns >= m->waits[kind].ns);
	free(m);
}

/* A kernel with an actor, and links from and to an endpoint. It is suspended. */
struct actor {
	struct peal_runtime *rt;
	struct peal_kernel *k;
	struct peal_endpoint *e;
	uint64_t actor;
};

static struct actor open_actor(void)
{
	struct peal_link_options one = { .capacity = 1 };
	struct actor a = { .rt = harness_open(1, "") };

	a.e = harness_endpoint(a.rt);
	a.k = harness_launch(a.rt, 0);
	a.actor = harness_spawn(a.k, "echo", -1);
	harness_from(a.rt, a.e, 0, a.actor, one);
	harness_to(a.rt, a.actor, a.e, one);
	CHECK_OK(peal_kernel_suspend(a.k, MAX_WAIT));
	return a;
}

static void close_actor(struct actor *a)
{
	CHECK_OK(peal_kernel_stop(a->k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(a->rt));
}

PEAL_TEST(waits_to_send_are_counted)
{
	struct actor a = open_actor();

	harness_send(a.e, 0, 1, 0, 1); /* the link is full now */
	CHECK_EQ(peal_send(a.e, 0, 0, "", 1, 0, NULL), PEAL_EAGAIN);
	expect_waits(a.rt, PEAL_WAIT_SEND, 0);
	CHECK_EQ(peal_send(a.e, 0, 0, "", 1, WAIT, NULL), PEAL_ETIMEDOUT);
	expect_waits(a.rt, PEAL_WAIT_SEND, 1);
	close_actor(&a);
}

PEAL_TEST(waits_to_receive_are_counted)
{
	struct actor a = open_actor();
	struct peal_received r;
	uint8_t buffer[8];

	CHECK_EQ(peal_receive(a.e, buffer, 8, &r, 0), PEAL_EAGAIN);
	expect_waits(a.rt, PEAL_WAIT_RECEIVE, 0);
	CHECK_EQ(peal_receive(a.e, buffer, 8, &r, WAIT), PEAL_ETIMEDOUT);
	CHECK_EQ(peal_receive_peek(a.e, &r, WAIT), PEAL_ETIMEDOUT);
	expect_waits(a.rt, PEAL_WAIT_RECEIVE, 2);
	close_actor(&a);
}

PEAL_TEST(waits_for_a_device_are_counted)
{
	struct actor a = open_actor();

	harness_send(a.e, 0, 1, 0, 1);
	CHECK_EQ(peal_device_sync(a.rt, 0, 0), PEAL_EAGAIN);
	expect_waits(a.rt, PEAL_WAIT_DEVICE, 0);
	CHECK_EQ(peal_device_sync(a.rt, 0, WAIT), PEAL_ETIMEDOUT);
	expect_waits(a.rt, PEAL_WAIT_DEVICE, 1);
	close_actor(&a);
}

PEAL_TEST(waits_for_an_event_are_counted)
{
	struct peal_event *event = NULL;
	struct actor a = open_actor();

	CHECK_OK(peal_event_create(a.rt, 0, NULL, 0, NULL, &event));
	CHECK_EQ(peal_event_wait(event, 1, WAIT), PEAL_ETIMEDOUT);
	expect_waits(a.rt, PEAL_WAIT_EVENT, 1);
	CHECK_OK(peal_event_destroy(event));
	close_actor(&a);
}

PEAL_TEST(waits_for_a_reply_are_counted)
{
	struct peal_requester *r = NULL;
	struct actor a = open_actor();
	uint64_t server;
	uint8_t buffer[8];

	CHECK_OK(peal_kernel_resume(a.k));
	server = harness_spawn(a.k, "echo", -1);
	CHECK_OK(peal_requester_create(a.rt, server, NULL, &r));
	CHECK_OK(peal_requester_listen(r, server, 0));
	CHECK_OK(peal_kernel_suspend(a.k, MAX_WAIT));
	CHECK_EQ(peal_request(r, 1, "", 1, buffer, 8, NULL, WAIT),
		 PEAL_ETIMEDOUT);
	expect_waits(a.rt, PEAL_WAIT_REQUEST, 1);
	CHECK_OK(peal_requester_destroy(r));
	close_actor(&a);
}

PEAL_TEST(waits_for_a_job_are_counted)
{
	struct fixture s;

	fixture_open(&s, 2, 1);
	s.visit.gate = s.gate;
	s.job.count = 10;
	CHECK_OK(peal_executor_start(s.e, &s.job));
	CHECK_EQ(peal_executor_wait(s.e, WAIT), PEAL_ETIMEDOUT);
	expect_waits(s.rt, PEAL_WAIT_EXECUTOR, 1);
	peal_store_release_sys((uint64_t *)(uintptr_t)s.gate, 1);
	CHECK_OK(peal_executor_wait(s.e, MAX_WAIT));
	CHECK_OK(peal_executor_wait(s.e, MAX_WAIT)); /* no job: no wait */
	fixture_close(&s);
}

/* Adds a task that waits for the gate of the fixture. */
static void add_gated(struct peal_graph *g, struct fixture *s)
{
	const struct peal_graph_argument arguments[] = {
		{ s->visits[0], 4, 0 },
		{ s->number[0], 8, 0 },
	};
	const struct peal_graph_task t = { .size = sizeof(t),
					   .handler = "visit",
					   .count = 1,
					   .n_arguments = 2,
					   .arguments = arguments,
					   .parameters = &s->visit,
					   .parameter_bytes =
						   sizeof(s->visit) };
	uint32_t node;

	CHECK_OK(peal_graph_add_task(g, &t, &node));
}

PEAL_TEST(waits_for_a_graph_are_counted)
{
	struct peal_graph_options o = { .size = sizeof(o), .lanes = lanes };
	struct peal_graph *g = NULL;
	struct fixture s;

	fixture_open(&s, 1, 1);
	CHECK_OK(peal_graph_create(s.rt, s.devices, 1, &peal_program_tasks, &o,
				   &g));
	fixture_gate(&s, 0);
	add_gated(g, &s);
	CHECK_OK(peal_graph_start(g));
	CHECK_EQ(peal_graph_wait(g, 0), PEAL_ETIMEDOUT);
	expect_waits(s.rt, PEAL_WAIT_GRAPH, 0);
	CHECK_EQ(peal_graph_wait(g, WAIT), PEAL_ETIMEDOUT);
	expect_waits(s.rt, PEAL_WAIT_GRAPH, 1);
	fixture_gate(&s, 1);
	CHECK_OK(peal_graph_wait(g, MAX_WAIT));
	CHECK_OK(peal_graph_destroy(g));
	fixture_close(&s);
}

PEAL_TEST(waits_for_a_batch_of_a_pipeline_are_counted)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_pipeline_stage stage = { .size = sizeof(stage),
					     .program = &peal_program_steps,
					     .handler = "step" };
	struct peal_pipeline *p = NULL;
	struct peal_received r;
	uint8_t buffer[64];

	CHECK_OK(peal_pipeline_create(rt, &stage, 1, NULL, &p));
	CHECK_EQ(peal_pipeline_pull(p, buffer, sizeof(buffer), &r, 0),
		 PEAL_EAGAIN);
	expect_waits(rt, PEAL_WAIT_PIPELINE, 0);
	CHECK_EQ(peal_pipeline_pull(p, buffer, sizeof(buffer), &r, WAIT),
		 PEAL_ETIMEDOUT);
	expect_waits(rt, PEAL_WAIT_PIPELINE, 1);
	CHECK_OK(peal_pipeline_destroy(p));
	CHECK_OK(peal_runtime_close(rt));
}

/* Returns the waits of a runtime so far, of one kind. */
static uint64_t waits_of(struct peal_runtime *rt, uint32_t kind)
{
	struct peal_metrics *m = calloc(1, sizeof(*m));
	uint64_t n;

	CHECK(m);
	m->size = sizeof(*m);
	CHECK_OK(peal_metrics_snapshot(rt, m));
	n = m->waits[kind].waits;
	CHECK(!n || m->waits[kind].ns > 0);
	free(m);
	return n;
}

/* A full link into stage 0 delays the end of a pipeline. */
PEAL_TEST(waits_to_close_a_pipeline_are_counted)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_pipeline_stage stage = { .size = sizeof(stage),
					     .program = &peal_program_steps,
					     .handler = "step" };
	struct peal_pipeline *p = NULL;
	uint64_t at = 0, pushes;

	CHECK_OK(peal_pipeline_create(rt, &stage, 1, NULL, &p));
	while (!peal_pipeline_push(p, 1, &at, sizeof(at), 10 * WAIT))
		at++;
	pushes = waits_of(rt, PEAL_WAIT_PIPELINE);
	CHECK_EQ(peal_pipeline_close(p, 0), PEAL_EAGAIN);
	CHECK_EQ(waits_of(rt, PEAL_WAIT_PIPELINE), pushes);
	CHECK_EQ(peal_pipeline_close(p, WAIT), PEAL_ETIMEDOUT);
	CHECK_EQ(waits_of(rt, PEAL_WAIT_PIPELINE), pushes + 1);
	CHECK_OK(peal_pipeline_destroy(p));
	CHECK_OK(peal_runtime_close(rt));
}

/* Resumes and suspends a kernel. Returns its waits so far. */
static uint64_t waits_after_suspend(struct actor *a)
{
	CHECK_OK(peal_kernel_resume(a->k));
	CHECK_OK(peal_kernel_suspend(a->k, MAX_WAIT));
	return waits_of(a->rt, PEAL_WAIT_KERNEL);
}

/* A suspended worker does not end, so the drain waits for its whole time. A worker
 * may suspend before the first look of the caller, which is then no wait. */
PEAL_TEST(waits_for_a_kernel_are_counted)
{
	struct actor a = open_actor();
	uint64_t before = waits_of(a.rt, PEAL_WAIT_KERNEL);

	harness_send(a.e, 0, 1, 0, 1);
	CHECK_EQ(peal_kernel_drain_many(&a.k, 1, WAIT), PEAL_ETIMEDOUT);
	CHECK_EQ(waits_of(a.rt, PEAL_WAIT_KERNEL), before + 1);
	EVENTUALLY(waits_after_suspend(&a) >= before + 2);
	close_actor(&a);
}

PEAL_TEST_MAIN(lanes = 1; RUN(waits_to_send_are_counted);
	       RUN(waits_to_receive_are_counted);
	       RUN(waits_for_a_device_are_counted);
	       RUN(waits_for_an_event_are_counted);
	       RUN(waits_for_a_reply_are_counted);
	       RUN(waits_for_a_job_are_counted);
	       RUN(waits_for_a_graph_are_counted);
	       RUN(waits_for_a_batch_of_a_pipeline_are_counted);
	       RUN(waits_to_close_a_pipeline_are_counted);
	       RUN(waits_for_a_kernel_are_counted);)
