/* SPDX-License-Identifier: Apache-2.0 */
/* Later work of a device waits for events, while the host goes on. */

#include <peal/collective.h>
#include <peal/communicator.h>
#include <peal/copy.h>
#include <peal/graph.h>
#include <peal/memory.h>
#include <peal/peer.h>
#include <peal/stall.h>
#include <peal/worker.h>
#include "runtime/event_fixture.h"

#define WORDS 1024
#define BYTES (WORDS * sizeof(uint64_t))

static int try_send(uint32_t port, int64_t timeout_ns)
{
	const uint64_t one = 1;

	return peal_send(s.e, port, 0, &one, sizeof(one), timeout_ns, NULL);
}

static void send(uint32_t port)
{
	CHECK_OK(try_send(port, MAX_WAIT));
}

/* Waits until a worker leaves its messages for an event. */
static void await_gated(struct peal_kernel *k)
{
	struct peal_worker_info info;

	EVENTUALLY(!peal_worker_info(k, 0, &info) &&
		   info.blocked_port == PEAL_BLOCKED_GATE);
}

/* Records an event of an idle device. */
static void record(struct peal_event *e, uint64_t count)
{
	CHECK_OK(peal_event_record_behind(e));
	CHECK_OK(peal_event_wait(e, count, MAX_WAIT));
}

static uint64_t memory(int device, uint64_t value)
{
	uint64_t words[WORDS], address = 0;
	uint64_t i;

	for (i = 0; i < WORDS; i++)
		words[i] = value;
	CHECK_OK(peal_memory_alloc(s.rt, device, BYTES, &address));
	CHECK_OK(peal_peer_copy(s.rt, device, address, PEAL_HOST_MEMORY,
				(uint64_t)(uintptr_t)words, BYTES));
	return address;
}

static struct peal_copy *copy(int to, uint64_t to_address, int from,
			      uint64_t from_address)
{
	struct peal_copy *c = NULL;

	CHECK_OK(peal_peer_copy_async(s.rt, to, to_address, from, from_address,
				      BYTES, &c));
	return c;
}

static void end_copy(struct peal_copy *c, int result)
{
	CHECK_EQ(peal_copy_wait(c, MAX_WAIT), result);
	peal_copy_destroy(c);
}

/* ---- messages ------------------------------------------------------------ */

PEAL_TEST(later_messages_wait)
{
	open_stage(plain);
	send(1);
	CHECK_OK(peal_event_await_before(s.event[0], 1, 1));
	send(1);
	send(1);
	send(0); /* of a device without a gate */
	await_gated(s.k[1]);
	CHECK_EQ(counted(s.k[1], s.actor[1]), 1);
	CHECK_EQ(peal_device_sync(s.rt, 1, MS), PEAL_ETIMEDOUT);
	CHECK_OK(peal_device_sync(s.rt, 0, MAX_WAIT));
	CHECK_EQ(counted(s.k[0], s.actor[0]), 1);
	record(s.event[0], 1);
	CHECK_OK(peal_device_sync(s.rt, 1, MAX_WAIT));
	CHECK_EQ(counted(s.k[1], s.actor[1]), 3);
	send(1);
	CHECK_OK(peal_device_sync(s.rt, 1, MAX_WAIT));
	CHECK_EQ(counted(s.k[1], s.actor[1]), 4);
	close_stage();
}

/* The event that later work awaits is recorded behind earlier work, and not
 * behind the work that waits for it. */
PEAL_TEST(device_waits_for_its_own_earlier_work)
{
	uint64_t zero, one;
	struct peal_copy *c;

	open_stage(plain);
	zero = memory(0, 1);
	one = memory(1, 2);
	CHECK_OK(peal_kernel_suspend(s.k[0], MAX_WAIT));
	send(0);
	CHECK_OK(peal_event_record_behind(s.event[0]));
	CHECK_OK(peal_event_await_before(s.event[0], 1, 1));
	c = copy(0, zero, 1, one);
	CHECK_OK(peal_event_await_before(s.event[0], 1, 0));
	send(0);
	send(1);
	await_gated(s.k[1]);
	CHECK_EQ(peal_copy_wait(c, 0), PEAL_ETIMEDOUT);
	CHECK_OK(peal_kernel_resume(s.k[0]));
	end_copy(c, 0);
	CHECK_OK(peal_device_sync(s.rt, PEAL_ALL_DEVICES, MAX_WAIT));
	CHECK_EQ(counted(s.k[0], s.actor[0]), 2);
	CHECK_EQ(counted(s.k[1], s.actor[1]), 1);
	close_stage();
}

/* A record that is made behind an await waits for the work of that await. */
PEAL_TEST(record_waits_for_earlier_messages_that_wait)
{
	struct peal_event *second;

	open_stage(plain);
	second = host_event(s.rt, 1);
	CHECK_OK(peal_event_await_before(s.event[0], 1, 1));
	send(1);
	CHECK_OK(peal_event_record_behind(second));
	CHECK_OK(peal_event_await_before(second, 1, 1));
	send(1);
	await_gated(s.k[1]);
	CHECK_EQ(counted(s.k[1], s.actor[1]), 0);
	CHECK_EQ(peal_event_wait(second, 1, 20 * MS), PEAL_ETIMEDOUT);
	record(s.event[0], 1);
	CHECK_OK(peal_event_wait(second, 1, MAX_WAIT));
	CHECK_OK(peal_device_sync(s.rt, 1, MAX_WAIT));
	CHECK_EQ(counted(s.k[1], s.actor[1]), 2);
	CHECK_OK(peal_event_destroy(second));
	close_stage();
}

PEAL_TEST(messages_wait_for_a_record_of_a_handler)
{
	struct peal_event *e;
	uint64_t there, marker;

	open_stage(plain);
	CHECK_OK(peal_event_create(s.rt, 0, NULL, 0, NULL, &e));
	CHECK_OK(peal_event_address(e, 0, &there));
	marker = harness_spawn(s.k[0], "mark", -1);
	harness_from(s.rt, s.e, 2, marker, plain);
	CHECK_OK(peal_event_await_before(e, 2, 1));
	send(1);
	CHECK_OK(peal_send(s.e, 2, 0, &there, sizeof(there), MAX_WAIT, NULL));
	CHECK_OK(peal_event_wait(e, 1, MAX_WAIT));
	await_gated(s.k[1]);
	CHECK_EQ(counted(s.k[1], s.actor[1]), 0);
	CHECK_OK(peal_send(s.e, 2, 0, &there, sizeof(there), MAX_WAIT, NULL));
	CHECK_OK(peal_device_sync(s.rt, 1, MAX_WAIT));
	CHECK_EQ(counted(s.k[1], s.actor[1]), 1);
	/* the event has its records: no later work waits */
	CHECK_OK(peal_event_await_before(e, 2, 1));
	CHECK_OK(peal_device_sync(s.rt, 0, MAX_WAIT)); /* `mark` has returned */
	CHECK_OK(peal_event_destroy(e));
	close_stage();
}

PEAL_TEST(gates_open_in_their_order)
{
	open_stage(plain);
	CHECK_OK(peal_event_await_before(s.event[0], 1, 1));
	send(1);
	CHECK_OK(peal_event_await_before(s.event[0], 2, 0));
	CHECK_OK(peal_event_await_before(s.event[1], 1, 1));
	send(1);
	await_gated(s.k[1]);
	CHECK_OK(peal_event_cancel(s.event[1])); /* the second gate */
	await_gated(s.k[1]);
	CHECK_EQ(counted(s.k[1], s.actor[1]), 0);
	record(s.event[0], 1);
	CHECK_OK(peal_device_sync(s.rt, 1, MAX_WAIT));
	CHECK_EQ(counted(s.k[1], s.actor[1]), 2);
	send(0);
	await_gated(s.k[0]);
	CHECK_OK(peal_event_cancel(s.event[0]));
	close_stage();
}

PEAL_TEST(full_link_makes_the_sender_wait)
{
	struct peal_link_options o = { .capacity = 4 };
	struct peal_stall cause;
	uint64_t n = 0;

	open_stage(o);
	CHECK_OK(peal_event_await_before(s.event[0], 1, 1));
	while (!try_send(1, 0))
		n++;
	CHECK_EQ(n, 3); /* and a mark */
	CHECK_EQ(try_send(1, MS), PEAL_ETIMEDOUT);
	await_gated(s.k[1]);
	EVENTUALLY(peal_stall_report(s.rt, 20 * MS, &cause, 1) == 1 &&
		   cause.cause == PEAL_STALL_EVENT);
	CHECK(strstr(cause.text, "has messages that wait for an event"));
	record(s.event[0], 1);
	send(1);
	CHECK_OK(peal_device_sync(s.rt, 1, MAX_WAIT));
	CHECK_EQ(counted(s.k[1], s.actor[1]), 4);
	close_stage();
}

PEAL_TEST(kernel_launched_later_waits)
{
	struct peal_kernel *late;
	uint64_t a;

	open_stage(plain);
	CHECK_OK(peal_event_await_before(s.event[0], 1, 1));
	late = launch(1);
	a = harness_spawn(late, "countdown", -1);
	harness_from(s.rt, s.e, 2, a, plain);
	send(2);
	await_gated(late);
	CHECK_EQ(counted(late, a), 0);
	record(s.event[0], 1);
	CHECK_OK(peal_device_sync(s.rt, 1, MAX_WAIT));
	CHECK_EQ(counted(late, a), 1);
	CHECK_OK(peal_kernel_stop(late, MAX_WAIT));
	close_stage();
}

/* The end of a stream waits behind its messages, so the kernel drains later. */
PEAL_TEST(kernel_drains_after_the_event)
{
	struct peal_kernel *k;
	uint64_t a, n = 0;

	open_stage(plain);
	k = launch(1);
	a = harness_spawn(k, "countdown", -1);
	harness_from(s.rt, s.e, 2, a, plain);
	CHECK_OK(peal_event_await_before(s.event[0], 1, 1));
	CHECK_OK(peal_send_end(s.e, 2, MAX_WAIT));
	await_gated(k);
	CHECK_EQ(peal_kernel_drain(k, 20 * MS), PEAL_ETIMEDOUT);
	record(s.event[0], 1);
	CHECK_OK(peal_kernel_drain(k, MAX_WAIT));
	CHECK_OK(peal_actor_state(s.rt, a, &n, sizeof(n)));
	CHECK_EQ(n, 0);
	close_stage();
}

/* ---- other work ---------------------------------------------------------- */

PEAL_TEST(later_job_waits)
{
	struct peal_event *e;
	struct fixture f;

	fixture_open(&f, 2, 1);
	e = host_event(f.rt, 0);
	fixture_clear(&f);
	f.job.count = 100;
	/* a job that has begun assigns all its tasks */
	fixture_gate(&f, 0);
	CHECK_OK(peal_executor_start(f.e, &f.job));
	CHECK_OK(peal_event_await_before(e, 1, 1));
	fixture_gate(&f, 1);
	CHECK_OK(peal_executor_wait(f.e, MAX_WAIT));
	CHECK_EQ(fixture_count(&f, 1), 100);
	CHECK_OK(peal_executor_start(f.e, &f.job));
	CHECK_EQ(peal_executor_wait(f.e, 20 * MS), PEAL_ETIMEDOUT);
	CHECK(strstr(peal_last_error()->text, "job waits for an event"));
	CHECK_EQ(fixture_handed(&f), 0);
	CHECK_OK(peal_event_record_behind(e)); /* behind the job: never */
	CHECK_OK(peal_event_cancel(e));
	CHECK_OK(peal_executor_wait(f.e, MAX_WAIT));
	CHECK_EQ(fixture_count(&f, 2), 100);
	/* a cancelled job need not wait for the event */
	CHECK_OK(peal_event_await_before(e, 1, 0));
	CHECK_OK(peal_executor_start(f.e, &f.job));
	CHECK_OK(peal_executor_cancel(f.e));
	CHECK_EQ(peal_executor_wait(f.e, MAX_WAIT), PEAL_ECANCELED);
	CHECK_OK(peal_event_cancel(e));
	CHECK_OK(peal_event_destroy(e));
	fixture_close(&f);
}

/* Makes a graph with a task for each of both devices. */
static struct peal_graph *two_tasks(struct fixture *f)
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

	argument[0].element_bytes = 4;
	argument[1].element_bytes = 8;
	CHECK_OK(peal_graph_create(f->rt, devices, 2, &peal_program_tasks, &o,
				   &g));
	for (t.rank = 0; t.rank < 2; t.rank++) {
		argument[0].address = f->visits[0] + 4 * 10 * t.rank;
		argument[1].address = f->number[0] + 8 * 10 * t.rank;
		CHECK_OK(peal_graph_add_task(g, &t, NULL));
	}
	return g;
}

PEAL_TEST(later_run_of_a_graph_waits_on_its_device)
{
	const uint32_t *visits;
	struct peal_graph *g;
	struct peal_event *e;
	struct fixture f;

	fixture_open(&f, 2, 1);
	e = host_event(f.rt, 0);
	fixture_clear(&f);
	g = two_tasks(&f);
	visits = fixture_visits(&f);
	CHECK_OK(peal_event_await_before(e, 1, 1));
	CHECK_OK(peal_graph_start(g));
	CHECK_EQ(peal_graph_wait(g, 50 * MS), PEAL_ETIMEDOUT);
	EVENTUALLY(peal_load_relaxed_sys_u32(&visits[9]) == 1);
	CHECK_EQ(peal_load_relaxed_sys_u32(&visits[10]), 0);
	CHECK_OK(peal_event_cancel(e));
	CHECK_OK(peal_graph_wait(g, MAX_WAIT));
	f.job.count = 20;
	CHECK_EQ(fixture_count(&f, 1), 20);
	CHECK_OK(peal_graph_destroy(g));
	CHECK_OK(peal_event_destroy(e));
	fixture_close(&f);
}

PEAL_TEST(later_copies_wait)
{
	uint64_t zero, one, there, other;
	struct peal_copy *gated, *reader, *apart, *cancelled;

	open_stage(plain);
	zero = memory(0, 10);
	one = memory(1, 11);
	there = memory(PEAL_HOST_MEMORY, 1);
	other = memory(PEAL_HOST_MEMORY, 2);
	CHECK_OK(peal_event_await_before(s.event[0], 1, 1));
	/* three copies to the host: the second one needs no event */
	gated = copy(PEAL_HOST_MEMORY, there, 1, one);
	apart = copy(PEAL_HOST_MEMORY, other, 0, zero);
	cancelled = copy(PEAL_HOST_MEMORY, other, 1, one);
	end_copy(apart, 0);
	CHECK_EQ(*(const uint64_t *)(uintptr_t)other, 10);
	/* of device 0, but it reads what the first copy writes */
	reader = copy(0, zero, PEAL_HOST_MEMORY, there);
	/* to the same device, and needs neither the event nor the reader */
	end_copy(copy(0, memory(0, 12), PEAL_HOST_MEMORY,
		      memory(PEAL_HOST_MEMORY, 3)),
		 0);
	CHECK_EQ(peal_copy_wait(reader, 20 * MS), PEAL_ETIMEDOUT);
	CHECK_EQ(peal_copy_wait(gated, 0), PEAL_ETIMEDOUT);
	CHECK_EQ(*(const uint64_t *)(uintptr_t)there, 1);
	CHECK_OK(peal_copy_cancel(cancelled));
	end_copy(cancelled, PEAL_ECANCELED);
	CHECK_EQ(*(const uint64_t *)(uintptr_t)other, 10);
	/* device 0 has work: the copy that waits for the gated one */
	CHECK_EQ(peal_device_sync(s.rt, 0, MS), PEAL_ETIMEDOUT);
	CHECK_OK(peal_event_cancel(s.event[0]));
	end_copy(gated, 0);
	end_copy(reader, 0);
	CHECK_EQ(*(const uint64_t *)(uintptr_t)there, 11);
	close_stage();
}

PEAL_TEST(later_collective_waits_or_is_refused)
{
	static const int devices[] = { 0, 1 };
	uint64_t in[2], out[2];
	struct peal_collective c = { .size = sizeof(c),
				     .kind = PEAL_ALL_REDUCE,
				     .element = PEAL_I64,
				     .reduction = PEAL_SUM,
				     .count = WORDS,
				     .in = in,
				     .out = out };
	struct peal_comm *g = NULL;
	uint64_t word = 0;
	int i;

	open_stage(plain);
	CHECK_OK(peal_comm_create(s.rt, devices, 2, NULL, &g));
	for (i = 0; i < 2; i++) {
		in[i] = memory(i, 20 + (uint64_t)i);
		out[i] = memory(i, 0);
	}
	CHECK_OK(peal_event_await_before(s.event[0], 1, 1));
	CHECK_OK(peal_collective_start(g, &c));
	CHECK_EQ(peal_collective_wait(g, 20 * MS), PEAL_ETIMEDOUT);
	CHECK_OK(peal_event_cancel(s.event[0]));
	CHECK_OK(peal_collective_wait(g, MAX_WAIT));
	CHECK_OK(peal_peer_copy(s.rt, PEAL_HOST_MEMORY,
				(uint64_t)(uintptr_t)&word, 1, out[1],
				sizeof(word)));
	CHECK_EQ(word, 41);
	/* the root's own part would be copied at once */
	c.kind = PEAL_BROADCAST;
	c.reduction = 0;
	c.root = 1;
	CHECK_OK(peal_event_await_before(s.event[0], 1, 1));
	CHECK_EQ(peal_collective_start(g, &c), PEAL_EBUSY);
	CHECK(strstr(peal_last_error()->text, "device 1 waits for an event"));
	CHECK_OK(peal_event_cancel(s.event[0]));
	CHECK_OK(peal_collective_run(g, &c, MAX_WAIT));
	CHECK_OK(peal_comm_destroy(g));
	close_stage();
}

/* ---- the end ------------------------------------------------------------- */

PEAL_TEST(pending_await_keeps_the_event_until_a_cancel)
{
	open_stage(plain);
	CHECK_OK(peal_event_await_before(s.event[0], 1, 1));
	send(1);
	CHECK_EQ(peal_event_destroy(s.event[0]), PEAL_EBUSY);
	await_gated(s.k[1]);
	CHECK_OK(peal_event_cancel(s.event[0]));
	CHECK_OK(peal_device_sync(s.rt, 1, MAX_WAIT));
	CHECK_EQ(counted(s.k[1], s.actor[1]), 1);
	CHECK_OK(peal_event_destroy(s.event[0]));
	close_stage();
}

PEAL_TEST(abort_drops_the_messages_that_wait)
{
	struct peal_link *links[2];
	struct peal_link_info info;

	open_stage(plain);
	CHECK_OK(peal_event_await_before(s.event[0], 1, 1));
	send(1);
	await_gated(s.k[1]);
	CHECK_OK(peal_kernel_abort(s.k[1], MAX_WAIT));
	CHECK_EQ(try_send(1, MS), PEAL_ESTOPPED);
	CHECK_OK(peal_device_sync(s.rt, 1, MAX_WAIT));
	CHECK_EQ(peal_link_list(s.rt, links, 2), 2);
	info = harness_info(links[harness_info(links[1]).to == s.actor[1]]);
	CHECK_EQ(info.accepted, 1);
	CHECK_EQ(info.dead[PEAL_REASON_STOPPED], 1);
	CHECK_OK(peal_event_cancel(s.event[0]));
	close_stage();
}

/* Work that waits for an event does not begin during the shutdown. */
PEAL_TEST(shutdown_ends_the_work_that_waits)
{
	struct peal_event *e;
	struct peal_copy *c = NULL;
	struct fixture f;

	fixture_open(&f, 2, 1);
	e = host_event(f.rt, 0);
	fixture_clear(&f);
	f.job.count = 100;
	CHECK_OK(peal_event_await_before(e, 1, 0));
	CHECK_OK(peal_executor_start(f.e, &f.job));
	CHECK_OK(peal_peer_copy_async(f.rt, 0, f.visits[0], 0, f.number[0], 8,
				      &c));
	CHECK_EQ(peal_copy_wait(c, 20 * MS), PEAL_ETIMEDOUT);
	CHECK_EQ(peal_runtime_close(f.rt), PEAL_EBUSY);
	CHECK_EQ(fixture_count(&f, 0), 100);
	CHECK_OK(peal_runtime_shutdown(f.rt));
}

PEAL_TEST(gates_of_two_runtimes_are_apart)
{
	struct peal_runtime *rt;
	struct peal_event *e;

	HOST_CASE("one runtime of a process uses the GPUs");
	open_stage(plain);
	rt = harness_open(2, "");
	e = host_event(rt, 0);
	CHECK_OK(peal_event_await_before(e, 1, 1));
	send(1);
	CHECK_OK(peal_device_sync(s.rt, 1, MAX_WAIT));
	CHECK_EQ(counted(s.k[1], s.actor[1]), 1);
	CHECK_EQ(peal_runtime_close(rt), PEAL_EBUSY);
	CHECK_OK(peal_runtime_shutdown(rt));
	close_stage();
}

PEAL_TEST(invalid_calls_are_refused)
{
	open_stage(plain);
	CHECK_EQ(peal_event_await_before(NULL, 1, 0), PEAL_EINVAL);
	CHECK_EQ(peal_event_await_before(s.event[0], 1, 2), PEAL_ENODEV);
	CHECK_EQ(peal_event_await_before(s.event[0], 1, PEAL_HOST_MEMORY),
		 PEAL_ENODEV);
	CHECK_OK(peal_event_await_before(s.event[0], 0, 1));
	CHECK_OK(peal_event_destroy(s.event[0])); /* nothing is pending */
	close_stage();
}

PEAL_TEST_MAIN(RUN_LANES(later_messages_wait);
	       RUN_LANES(device_waits_for_its_own_earlier_work);
	       RUN_LANES(record_waits_for_earlier_messages_that_wait);
	       RUN_LANES(messages_wait_for_a_record_of_a_handler);
	       RUN_LANES(gates_open_in_their_order);
	       RUN_LANES(full_link_makes_the_sender_wait);
	       RUN_LANES(kernel_launched_later_waits);
	       RUN_LANES(kernel_drains_after_the_event);
	       RUN_LANES(later_job_waits);
	       RUN_LANES(later_run_of_a_graph_waits_on_its_device);
	       RUN_LANES(later_copies_wait);
	       RUN_LANES(later_collective_waits_or_is_refused);
	       RUN_LANES(pending_await_keeps_the_event_until_a_cancel);
	       RUN_LANES(abort_drops_the_messages_that_wait);
	       RUN_LANES(shutdown_ends_the_work_that_waits);
	       RUN_LANES(gates_of_two_runtimes_are_apart);
	       RUN_LANES(invalid_calls_are_refused);)
