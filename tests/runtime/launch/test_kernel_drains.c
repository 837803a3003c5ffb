/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that kernels end in order: a kernel handles all messages before its END
 * marks travel on.
 */
#include "runtime/harness.h"

PEAL_TEST(end_mark_passes_through_three_kernels)
{
	struct peal_kernel_options plain = { .workers = 1 };
	struct peal_link_options o = { .capacity = 4 };
	struct peal_runtime *rt = harness_open(3, "1-2:none");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k[3];
	struct peal_kernel_info info;
	uint64_t actor[3];
	struct peal_received r;
	char buffer[64];
	int i;

	for (i = 0; i < 3; i++) {
		k[i] = harness_launch_with(rt, i, plain);
		actor[i] = harness_spawn(k[i], "echo", 0);
	}
	harness_from(rt, e, 0, actor[0], o);
	harness_link(rt, actor[0], 0, actor[1], o);
	o.require = PEAL_ROUTE_STAGED;
	harness_link(rt, actor[1], 0, actor[2], o);
	o.require = 0;
	harness_to(rt, actor[2], e, o);
	harness_send(e, 0, 1, 0, 16); /* as many as the rings hold */
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	CHECK_EQ(peal_send_end(e, 0, MAX_WAIT), PEAL_EPIPE);
	CHECK_EQ(peal_send(e, 0, 0, "", 0, 0, NULL), PEAL_EPIPE);
	/* the kernels run on until the host drains them */
	for (i = 0; i < 3; i++)
		CHECK_EQ(peal_kernel_wait(k[i], 1), PEAL_ETIMEDOUT);
	for (i = 2; i >= 0; i--)
		CHECK_OK(peal_kernel_drain(k[i], 0));
	harness_receive(e, 1, 0, 16);
	CHECK_EQ(peal_receive(e, buffer, sizeof(buffer), &r, MAX_WAIT),
		 PEAL_EEND);
	for (i = 0; i < 3; i++) {
		CHECK_OK(peal_kernel_drain(k[i], MAX_WAIT));
		CHECK_OK(peal_kernel_info(k[i], &info));
		CHECK_EQ(info.state, PEAL_KERNEL_STOPPED);
		CHECK_EQ(info.handled, 16);
		CHECK_EQ(info.emitted, 16);
	}
	harness_conserved(rt);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(drain_timeout_names_the_open_input)
{
	struct peal_link_options o = { .capacity = 4 };
	struct peal_kernel_options named = { .name = "waiting" };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = harness_launch_with(rt, 0, named);
	struct peal_kernel_info info;
	uint64_t actor = harness_spawn(k, "sink", 0);
	struct peal_link *link = harness_from(rt, e, 0, actor, o);

	harness_send(e, 0, 1, 0, 3);
	CHECK_FAILS(peal_kernel_drain(k, 30 * MS), PEAL_ETIMEDOUT,
		    "an input has not ended");
	CHECK_CONTAINS(peal_last_error()->text, "worker 0 of kernel 'waiting'");
	CHECK_OK(peal_kernel_info(k, &info));
	CHECK_EQ(info.state, PEAL_KERNEL_DRAINING);
	harness_send(e, 0, 1, 3, 3); /* still handled */
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_drain(k, MAX_WAIT));
	CHECK_OK(peal_kernel_drain(k, 0));
	CHECK_OK(peal_kernel_drain(k, INT64_MAX));
	harness_delivered(link, 6);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(drain_timeout_names_the_blocked_port)
{
	struct peal_link_options o = { .capacity = 1 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = harness_launch(rt, 0);
	struct peal_worker_info info;
	uint64_t actor = harness_spawn(k, "echo", 0);

	harness_from(rt, e, 0, actor, o);
	harness_to(rt, actor, e, o);
	harness_send(e, 0, 1, 0, 2);
	EVENTUALLY(!peal_worker_info(k, 0, &info) && info.blocked_port == 0);
	CHECK_FAILS(peal_kernel_drain(k, 30 * MS), PEAL_ETIMEDOUT, "port 0");
	harness_receive(e, 1, 0, 2);
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_drain(k, MAX_WAIT));
	harness_conserved(rt);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(drain_of_a_suspended_kernel_resumes_it)
{
	struct peal_link_options o = { .capacity = 8 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel_options plain = { .workers = 2 };
	struct peal_kernel *k = harness_launch_with(rt, 0, plain);
	struct peal_link *link =
		harness_from(rt, e, 0, harness_spawn(k, "sink", 1), o);

	CHECK_OK(peal_kernel_suspend(k, MAX_WAIT));
	harness_send(e, 0, 1, 0, 5);
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_drain(k, MAX_WAIT));
	harness_delivered(link, 5);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(drain_of_stopped_kernel_returns_estopped)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = harness_launch(rt, 0);

	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_FAILS(peal_kernel_drain(k, MAX_WAIT), PEAL_ESTOPPED, "relay");
	CHECK_FAILS(peal_kernel_suspend(k, 0), PEAL_ESTOPPED, "relay");
	CHECK_FAILS(peal_kernel_resume(k), PEAL_ESTOPPED, "relay");
	CHECK_OK(peal_kernel_stop(k, 0));
	CHECK_OK(peal_kernel_abort(k, 0));
	CHECK_OK(peal_kernel_wait(k, 0));
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* One chain per worker, all in one kernel: endpoint -> echo -> endpoint. */
static void many_workers(uint32_t n)
{
	struct peal_link_options o = { .capacity = 16 };
	struct peal_kernel_options options = { .workers = n,
					       .drain_when_inputs_end = 1 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_endpoint *back[8];
	struct peal_kernel *k = harness_launch_with(rt, 0, options);
	struct peal_worker_info info;
	struct peal_received r;
	uint64_t actor, i, round;
	char buffer[64];

	for (i = 0; i < n; i++) {
		actor = harness_spawn(k, "echo", -1);
		back[i] = harness_endpoint(rt);
		harness_from(rt, e, (uint32_t)i, actor, o);
		harness_to(rt, actor, back[i], o);
	}
	for (round = 0; round < 100; round++) {
		for (i = 0; i < n; i++)
			harness_send(e, (uint32_t)i, i, round * 10, 10);
		for (i = 0; i < n; i++)
			harness_receive(back[i], i, round * 10, 10);
	}
	for (i = 0; i < n; i++) /* no worker ends before the last input */
		CHECK_OK(peal_send_end(e, (uint32_t)i, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(k, MAX_WAIT));
	for (i = 0; i < n; i++) {
		CHECK_OK(peal_worker_info(k, (uint32_t)i, &info));
		CHECK_EQ(info.handled, 1000);
		CHECK_EQ(info.phase, PEAL_WORKER_DRAINED);
		CHECK_EQ(peal_receive(back[i], buffer, sizeof(buffer), &r,
				      MAX_WAIT),
			 PEAL_EEND);
	}
	harness_conserved(rt);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(one_to_eight_workers_end_with_their_inputs)
{
	many_workers(1);
	many_workers(2);
	many_workers(8);
}

PEAL_TEST(worker_without_inputs_ends_with_its_kernel)
{
	struct peal_link_options o = { .capacity = 4 };
	struct peal_kernel_options options = { .workers = 4,
					       .drain_when_inputs_end = 1 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = harness_launch_with(rt, 0, options);
	struct peal_link *link;

	CHECK_EQ(peal_kernel_wait(k, 50 * MS), PEAL_ETIMEDOUT);
	link = harness_from(rt, e, 0, harness_spawn(k, "sink", 2), o);
	harness_send(e, 0, 1, 0, 10);
	CHECK_EQ(peal_kernel_wait(k, 50 * MS), PEAL_ETIMEDOUT);
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(k, MAX_WAIT));
	harness_delivered(link, 10);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST_MAIN(RUN(end_mark_passes_through_three_kernels);
	       RUN(drain_timeout_names_the_open_input);
	       RUN(drain_timeout_names_the_blocked_port);
	       RUN(drain_of_a_suspended_kernel_resumes_it);
	       RUN(drain_of_stopped_kernel_returns_estopped);
	       RUN(one_to_eight_workers_end_with_their_inputs);
	       RUN(worker_without_inputs_ends_with_its_kernel);)
