/* SPDX-License-Identifier: Apache-2.0 */
/* The host records events behind the work of a device. */

#include <peal/graph.h>
#include <peal/memory.h>
#include "runtime/event_fixture.h"

static void send(int device, uint64_t n)
{
	CHECK_OK(peal_send(s.e, (uint32_t)device, 0, &n, sizeof(n), MAX_WAIT,
			   NULL));
}

/* Waits for a record on an idle device, made after all pending ones. Then the
 * thread of the runtime has looked at those as well. */
static void let_look(struct peal_runtime *rt, int idle)
{
	struct peal_event *e = host_event(rt, idle);
	uint64_t i;

	for (i = 1; i <= 3; i++) {
		CHECK_OK(peal_event_record_behind(e));
		CHECK_OK(peal_event_wait(e, i, MAX_WAIT));
	}
	CHECK_OK(peal_event_destroy(e));
}

/* ---- messages ------------------------------------------------------------ */

PEAL_TEST(record_waits_for_earlier_messages)
{
	open_stage(plain);
	CHECK_OK(peal_kernel_suspend(s.k[1], MAX_WAIT));
	send(1, 1);
	CHECK_OK(peal_event_record_behind(s.event[1]));
	let_look(s.rt, 0);
	CHECK_EQ(peal_event_wait(s.event[1], 1, 0), PEAL_EAGAIN);
	CHECK_OK(peal_kernel_resume(s.k[1]));
	CHECK_OK(peal_event_wait(s.event[1], 1, MAX_WAIT));
	CHECK_EQ(counted(s.k[1], s.actor[1]), 1);
	close_stage();
}

/* The record also follows the messages that handlers send each other. */
PEAL_TEST(record_waits_for_messages_between_handlers)
{
	const uint64_t most = 5000;

	open_stage(plain);
	send(0, most);
	CHECK_OK(peal_event_record_behind(s.event[0]));
	CHECK_OK(peal_event_wait(s.event[0], 1, MAX_WAIT));
	CHECK_EQ(counted(s.k[0], s.actor[0]), most);
	close_stage();
}

PEAL_TEST(each_record_counts)
{
	struct peal_event_info first, last;
	uint64_t i;
	int64_t ns;

	open_stage(plain);
	CHECK_OK(peal_event_info(s.event[0], &first));
	CHECK_EQ(first.by_host, 1);
	CHECK_EQ(first.in_host_memory, 1);
	CHECK_EQ(first.count, 0);
	CHECK_OK(peal_event_record_behind(s.event[0]));
	CHECK_OK(peal_event_wait(s.event[0], 1, MAX_WAIT));
	CHECK_OK(peal_event_info(s.event[0], &first));
	for (i = 0; i < 20; i++)
		CHECK_OK(peal_event_record_behind(s.event[0]));
	CHECK_OK(peal_event_wait(s.event[0], 21, MAX_WAIT));
	CHECK_OK(peal_event_info(s.event[0], &last));
	CHECK_EQ(last.count, 21);
	CHECK_EQ(last.device_ns, last.host_ns);
	CHECK_OK(peal_event_elapsed(&first, &last, &ns, NULL));
	CHECK_EQ(ns, (int64_t)(last.host_ns - first.host_ns));
	CHECK(ns >= 0);
	close_stage();
}

/* A handler of another device waits for a record of the host. */
PEAL_TEST(handler_waits_for_a_record_of_the_host)
{
	struct events_await a = { .count = 1, .timeout_ns = -1 };
	struct peal_event *started;
	struct events_report r;
	struct peal_received got;
	uint64_t waiter;

	open_stage(plain);
	CHECK_OK(peal_event_create(s.rt, 1, NULL, 0, NULL, &started));
	CHECK_OK(peal_event_address(started, 1, &a.mine));
	CHECK_OK(peal_event_address(s.event[0], 1, &a.event));
	waiter = harness_spawn(s.k[1], "await", -1);
	harness_from(s.rt, s.e, 2, waiter, plain);
	harness_link(s.rt, waiter, 0, peal_endpoint_address(s.e), plain);
	CHECK_OK(peal_send(s.e, 2, 0, &a, sizeof(a), MAX_WAIT, NULL));
	CHECK_OK(peal_event_wait(started, 1, MAX_WAIT));
	CHECK_OK(peal_event_record_behind(s.event[0]));
	CHECK_OK(peal_receive(s.e, &r, sizeof(r), &got, MAX_WAIT));
	CHECK_EQ(r.result, 0);
	CHECK_EQ(r.count, 1);
	close_stage();
}

/* ---- other work ---------------------------------------------------------- */

PEAL_TEST(record_waits_for_a_job)
{
	struct peal_event *e;
	struct fixture f;

	fixture_open(&f, 2, 1);
	e = host_event(f.rt, 0);
	fixture_clear(&f);
	fixture_gate(&f, 0);
	f.job.count = 100;
	CHECK_OK(peal_executor_start(f.e, &f.job));
	CHECK_OK(peal_event_record_behind(e));
	CHECK_EQ(peal_event_wait(e, 1, 20 * MS), PEAL_ETIMEDOUT);
	fixture_gate(&f, 1);
	CHECK_OK(peal_event_wait(e, 1, MAX_WAIT));
	CHECK_EQ(fixture_count(&f, 1), 100);
	CHECK_OK(peal_executor_wait(f.e, MAX_WAIT));
	CHECK_OK(peal_event_destroy(e));
	fixture_close(&f);
}

/*
 * Makes a graph: a task on device 0 waits at the gate, then one follows on
 * device 1. Device 1 has no message while the first task waits.
 */
static struct peal_graph *chain(struct fixture *f)
{
	struct peal_graph_options o = { .size = sizeof(o), .lanes = lanes };
	static const int devices[] = { 0, 1 };
	struct peal_graph_argument argument[2] = { 0 };
	struct peal_graph_task t = { .size = sizeof(t),
				     .handler = "visit",
				     .count = 10,
				     .n_arguments = 2,
				     .arguments = argument,
				     .parameters = &f->visit,
				     .parameter_bytes = sizeof(f->visit) };
	struct peal_graph *g = NULL;
	uint32_t node[2];

	argument[0].address = f->visits[0];
	argument[0].element_bytes = 4;
	argument[1].address = f->number[0];
	argument[1].element_bytes = 8;
	CHECK_OK(peal_graph_create(f->rt, devices, 2, &peal_program_tasks, &o,
				   &g));
	CHECK_OK(peal_graph_add_task(g, &t, &node[0]));
	t.rank = 1;
	CHECK_OK(peal_graph_add_task(g, &t, &node[1]));
	CHECK_OK(peal_graph_add_edge(g, node[0], node[1]));
	return g;
}

PEAL_TEST(record_waits_for_a_run_of_a_graph)
{
	struct peal_graph *g;
	struct peal_event *e;
	struct fixture f;

	fixture_open(&f, 2, 1);
	e = host_event(f.rt, 1);
	fixture_clear(&f);
	fixture_gate(&f, 0);
	g = chain(&f);
	CHECK_OK(peal_graph_start(g));
	CHECK_OK(peal_event_record_behind(e));
	CHECK_EQ(peal_event_wait(e, 1, 20 * MS), PEAL_ETIMEDOUT);
	CHECK_EQ(peal_device_sync(f.rt, 1, 0), PEAL_EAGAIN);
	CHECK_EQ(peal_device_sync(f.rt, 1, 20 * MS), PEAL_ETIMEDOUT);
	EVENTUALLY(peal_device_sync(f.rt, 1, MS) == PEAL_ETIMEDOUT &&
		   strstr(peal_last_error()->text, "a run of a graph"));
	fixture_gate(&f, 1);
	/* no thread waits for the graph */
	CHECK_OK(peal_event_wait(e, 1, MAX_WAIT));
	f.job.count = 10;
	CHECK_EQ(fixture_count(&f, 2), 10);
	CHECK_OK(peal_graph_wait(g, MAX_WAIT));
	CHECK_OK(peal_graph_destroy(g));
	CHECK_OK(peal_event_destroy(e));
	fixture_close(&f);
}

/* ---- the end ------------------------------------------------------------- */

PEAL_TEST(record_follows_the_abort_of_a_kernel)
{
	open_stage(plain);
	CHECK_OK(peal_kernel_suspend(s.k[1], MAX_WAIT));
	send(1, 1);
	CHECK_OK(peal_event_record_behind(s.event[1]));
	let_look(s.rt, 0);
	CHECK_EQ(peal_event_wait(s.event[1], 1, 0), PEAL_EAGAIN);
	CHECK_OK(peal_kernel_abort(s.k[1], MAX_WAIT));
	CHECK_OK(peal_event_wait(s.event[1], 1, MAX_WAIT));
	close_stage();
}

PEAL_TEST(pending_record_keeps_the_event_until_a_cancel)
{
	open_stage(plain);
	CHECK_OK(peal_kernel_suspend(s.k[1], MAX_WAIT));
	send(1, 1);
	CHECK_OK(peal_event_record_behind(s.event[1]));
	CHECK_OK(peal_event_record_behind(s.event[1]));
	let_look(s.rt, 0);
	CHECK_EQ(peal_event_destroy(s.event[1]), PEAL_EBUSY);
	CHECK(strstr(peal_last_error()->text,
		     "event 'one' has 2 pending orders"));
	CHECK_OK(peal_event_cancel(s.event[1]));
	CHECK_OK(peal_kernel_resume(s.k[1]));
	CHECK_OK(peal_device_sync(s.rt, 1, MAX_WAIT));
	let_look(s.rt, 1);
	CHECK_EQ(peal_event_wait(s.event[1], 1, 0), PEAL_EAGAIN);
	CHECK_OK(peal_event_cancel(s.event[1])); /* nothing is left */
	CHECK_OK(peal_event_destroy(s.event[1]));
	close_stage();
}

PEAL_TEST(shutdown_ends_pending_records)
{
	open_stage(plain);
	CHECK_OK(peal_kernel_suspend(s.k[1], MAX_WAIT));
	send(1, 1);
	CHECK_OK(peal_event_record_behind(s.event[1]));
	CHECK_EQ(peal_runtime_close(s.rt), PEAL_EBUSY);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST(records_of_two_runtimes_are_apart)
{
	struct peal_runtime *other;
	struct peal_event *e;

	HOST_CASE("one runtime of a process uses the GPUs");
	open_stage(plain);
	other = harness_open(2, "");
	e = host_event(other, 1);
	CHECK_OK(peal_kernel_suspend(s.k[1], MAX_WAIT));
	send(1, 1);
	CHECK_OK(peal_event_record_behind(s.event[1]));
	CHECK_OK(peal_event_record_behind(e));
	CHECK_OK(peal_event_wait(e, 1, MAX_WAIT));
	let_look(s.rt, 0);
	CHECK_EQ(peal_event_wait(s.event[1], 1, 0), PEAL_EAGAIN);
	CHECK_OK(peal_event_destroy(e));
	CHECK_OK(peal_runtime_close(other));
	CHECK_OK(peal_kernel_resume(s.k[1]));
	CHECK_OK(peal_event_wait(s.event[1], 1, MAX_WAIT));
	close_stage();
}

PEAL_TEST(invalid_calls_are_refused)
{
	struct peal_event *e;

	open_stage(plain);
	CHECK_OK(peal_event_create(s.rt, 0, NULL, 0, NULL, &e));
	CHECK_EQ(peal_event_record_behind(e), PEAL_ENOTSUP);
	CHECK(strstr(peal_last_error()->text,
		     "event 'event': is recorded by handlers "
		     "(by_host 0, allowed by_host 1)"));
	CHECK_EQ(peal_event_record_behind(NULL), PEAL_EINVAL);
	CHECK_EQ(peal_event_cancel(NULL), PEAL_EINVAL);
	CHECK_OK(peal_event_cancel(e));
	CHECK_OK(peal_event_destroy(e));
	close_stage();
}

PEAL_TEST_MAIN(RUN_LANES(record_waits_for_earlier_messages);
	       RUN_LANES(record_waits_for_messages_between_handlers);
	       RUN_LANES(each_record_counts);
	       RUN_LANES(handler_waits_for_a_record_of_the_host);
	       RUN_LANES(record_waits_for_a_job);
	       RUN_LANES(record_waits_for_a_run_of_a_graph);
	       RUN_LANES(record_follows_the_abort_of_a_kernel);
	       RUN_LANES(pending_record_keeps_the_event_until_a_cancel);
	       RUN_LANES(shutdown_ends_pending_records);
	       RUN_LANES(records_of_two_runtimes_are_apart);
	       RUN_LANES(invalid_calls_are_refused);)
