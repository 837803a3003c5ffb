/* SPDX-License-Identifier: Apache-2.0 */
/* Shows check-in, suspend, resume and epochs of kernels while messages flow. */
#include "runtime/harness.h"

#include <peal/abi/control.h>

#define COUNT 20000

/* endpoint -> actor -> endpoint. `out` is NULL if the handler emits nothing. */
struct loop {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *k;
	uint64_t actor;
	struct peal_link *in, *out;
};

static void open_loop(struct loop *l, struct peal_kernel_options o,
		      const char *handler)
{
	struct peal_link_options none = { .capacity = 0 };

	o.drain_when_inputs_end = 1;
	l->rt = harness_open(1, "");
	l->e = harness_endpoint(l->rt);
	l->k = harness_launch_with(l->rt, 0, o);
	l->actor = harness_spawn(l->k, handler, -1);
	l->in = harness_from(l->rt, l->e, 0, l->actor, none);
	l->out = NULL;
	if (!strcmp(handler, "echo"))
		l->out = harness_to(l->rt, l->actor, l->e, none);
}

static void close_loop(struct loop *l, uint64_t count)
{
	CHECK_OK(peal_send_end(l->e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(l->k, MAX_WAIT));
	harness_delivered(l->in, count);
	if (l->out)
		harness_delivered(l->out, count);
	CHECK_OK(peal_runtime_shutdown(l->rt));
}

static enum peal_kernel_state state_of(struct peal_kernel *k)
{
	struct peal_kernel_info info;

	CHECK_OK(peal_kernel_info(k, &info));
	return info.state;
}

PEAL_TEST(launch_returns_when_every_worker_has_checked_in)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel_options o = { .workers = 8, .name = "eight" };
	struct peal_kernel *k = harness_launch_with(rt, 0, o);
	struct peal_kernel_info kernel;
	struct peal_worker_info info;
	uint32_t i;

	for (i = 0; i < 8; i++) {
		CHECK_OK(peal_worker_info(k, i, &info));
		CHECK_EQ(info.phase, PEAL_WORKER_RUNNING);
		CHECK_EQ(info.actor, -1);
		CHECK_EQ(info.blocked_port, -1);
	}
	CHECK_OK(peal_kernel_info(k, &kernel));
	CHECK_EQ(kernel.workers, 8);
	CHECK_EQ(kernel.lanes, 1);
	CHECK_EQ(kernel.state, PEAL_KERNEL_RUNNING);
	CHECK(!strcmp(kernel.name, "eight"));
	CHECK(!strcmp(kernel.program, "relay"));
	CHECK(kernel.memory_bytes > 0);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_EQ(state_of(k), PEAL_KERNEL_STOPPED);
	CHECK_OK(peal_kernel_destroy(k));
	CHECK_OK(peal_runtime_close(rt));
}

static void *send_count(void *argument)
{
	harness_send(argument, 0, 1, 0, COUNT);
	return NULL;
}

/* Suspends and resumes while the loop carries its messages. */
static void disturb(struct loop *l)
{
	struct peal_kernel_info before, after;
	int i;

	for (i = 0; i < 20; i++) {
		CHECK_OK(peal_kernel_suspend(l->k, MAX_WAIT));
		CHECK_OK(peal_kernel_suspend(l->k, MAX_WAIT));
		CHECK_OK(peal_kernel_info(l->k, &before));
		identity_sleep_us(3000);
		CHECK_OK(peal_kernel_info(l->k, &after));
		CHECK_EQ(after.handled, before.handled);
		CHECK_EQ(after.emitted, before.emitted);
		CHECK_OK(peal_kernel_resume(l->k));
		identity_sleep_us(500);
	}
}

static void *receive_count(void *argument)
{
	harness_receive(argument, 1, 0, COUNT);
	return NULL;
}

static void suspend_under_traffic(struct peal_kernel_options o)
{
	pthread_t sender, receiver;
	struct loop l;

	open_loop(&l, o, "echo");
	CHECK(!pthread_create(&sender, NULL, send_count, l.e));
	CHECK(!pthread_create(&receiver, NULL, receive_count, l.e));
	disturb(&l);
	CHECK(!pthread_join(sender, NULL));
	CHECK(!pthread_join(receiver, NULL));
	close_loop(&l, COUNT);
}

PEAL_TEST(suspended_kernel_handles_nothing_until_resumed)
{
	struct peal_kernel_options o = { .workers = 1 };

	suspend_under_traffic(o);
	o.workers = 3;
	suspend_under_traffic(o);
}

PEAL_TEST(kernel_with_epochs_suspends)
{
	struct peal_kernel_options o = { .epoch_ns = 1 * MS };

	suspend_under_traffic(o);
}

PEAL_TEST(actor_state_is_readable_only_while_suspended)
{
	struct peal_kernel_options o = { .epoch_ns = 0 };
	struct relay_sink sink;
	struct loop l;

	open_loop(&l, o, "sink");
	harness_send(l.e, 0, 1, 0, 100);
	EVENTUALLY(harness_info(l.in).queued == 0);
	CHECK_FAILS(peal_actor_state(l.rt, l.actor, &sink, sizeof(sink)),
		    PEAL_EBUSY, "relay");
	CHECK_OK(peal_kernel_suspend(l.k, MAX_WAIT));
	CHECK_EQ(state_of(l.k), PEAL_KERNEL_SUSPENDED);
	CHECK_OK(peal_actor_state(l.rt, l.actor, &sink, sizeof(sink)));
	CHECK_EQ(sink.received, 100);
	CHECK_EQ(sink.damaged, 0);
	CHECK_FAILS(peal_actor_state(l.rt, l.actor, &sink, sizeof(sink) + 1),
		    PEAL_EINVAL,
		    "argument 'bytes': is larger than the state of handler "
		    "'sink' (");
	harness_send(l.e, 0, 1, 100, 5);
	identity_sleep_us(20000);
	EVENTUALLY(harness_info(l.in).queued == 5);
	CHECK_OK(peal_kernel_resume(l.k));
	EVENTUALLY(harness_info(l.in).queued == 0);
	close_loop(&l, 105);
}

PEAL_TEST(suspended_kernel_with_epochs_stays_suspended)
{
	struct peal_kernel_options o = { .epoch_ns = 1 };
	struct relay_sink sink;
	struct loop l;
	int i;

	open_loop(&l, o, "sink");
	/* each suspend wakes the kernel, which begins a new epoch */
	for (i = 0; i < 2000; i++) {
		CHECK_OK(peal_kernel_suspend(l.k, MAX_WAIT));
		CHECK_EQ(state_of(l.k), PEAL_KERNEL_SUSPENDED);
		CHECK_OK(peal_actor_state(l.rt, l.actor, &sink, sizeof(sink)));
		if (i % 16 == 0)
			identity_sleep_us(100);
	}
	CHECK_OK(peal_kernel_resume(l.k));
	EVENTUALLY(state_of(l.k) == PEAL_KERNEL_RUNNING);
	close_loop(&l, 0);
}

PEAL_TEST(suspend_timeout_counts_workers_in_handlers)
{
	struct peal_kernel_options o = { .workers = 2 };
	struct relay_gate gate;
	struct peal_worker_info info;
	struct loop l;
	uint64_t *word;

	open_loop(&l, o, "gate");
	word = harness_gate(l.rt);
	gate.word = harness_address(word);
	CHECK_OK(peal_send(l.e, 0, 0, &gate, sizeof(gate), MAX_WAIT, NULL));
	EVENTUALLY(!peal_worker_info(l.k, 0, &info) && info.actor == 0);
	CHECK_OK(peal_kernel_suspend(l.k, 0));
	EVENTUALLY(!peal_worker_info(l.k, 1, &info) &&
		   info.phase == PEAL_WORKER_SUSPENDED);
	CHECK_FAILS(peal_kernel_suspend(l.k, 20 * MS), PEAL_ETIMEDOUT,
		    "kernel 'relay': a handler still runs in 1 of 2 workers");
	peal_store_release_sys(word, 1);
	CHECK_OK(peal_kernel_suspend(l.k, MAX_WAIT));
	CHECK_EQ(state_of(l.k), PEAL_KERNEL_SUSPENDED);
	CHECK_OK(peal_kernel_resume(l.k));
	close_loop(&l, 1);
	CHECK_EQ(peal_last_error()->code, PEAL_ETIMEDOUT);
}

PEAL_TEST(epochs_change_no_result)
{
	struct peal_kernel_options o = { .epoch_ns = 1 * MS };
	struct relay_sink sink;
	struct loop l;
	uint64_t i;

	open_loop(&l, o, "sink");
	for (i = 0; i < 40; i++) {
		harness_send(l.e, 0, 1, i * 500, 500);
		identity_sleep_us(3000);
	}
	EVENTUALLY(harness_info(l.in).queued == 0);
	CHECK_OK(peal_kernel_suspend(l.k, MAX_WAIT));
	CHECK_OK(peal_actor_state(l.rt, l.actor, &sink, sizeof(sink)));
	CHECK_EQ(sink.received, 20000);
	CHECK_EQ(sink.damaged, 0);
	CHECK_EQ(sink.misordered, 0);
	CHECK(sink.epochs > 3);
	CHECK_OK(peal_kernel_resume(l.k));
	close_loop(&l, 20000);
}

PEAL_TEST(kernel_without_epochs_counts_one_epoch)
{
	struct peal_kernel_options o = { .workers = 1 };
	struct relay_sink sink;
	struct loop l;

	open_loop(&l, o, "sink");
	harness_send(l.e, 0, 1, 0, 100);
	identity_sleep_us(30000);
	harness_send(l.e, 0, 1, 100, 100);
	EVENTUALLY(harness_info(l.in).queued == 0);
	CHECK_OK(peal_kernel_suspend(l.k, MAX_WAIT));
	CHECK_OK(peal_actor_state(l.rt, l.actor, &sink, sizeof(sink)));
	CHECK_EQ(sink.epochs, 1);
	CHECK_OK(peal_kernel_resume(l.k));
	close_loop(&l, 200);
}

PEAL_TEST_MAIN(RUN(launch_returns_when_every_worker_has_checked_in);
	       RUN(suspended_kernel_handles_nothing_until_resumed);
	       RUN(kernel_with_epochs_suspends);
	       RUN(actor_state_is_readable_only_while_suspended);
	       RUN(suspended_kernel_with_epochs_stays_suspended);
	       RUN(suspend_timeout_counts_workers_in_handlers);
	       RUN(epochs_change_no_result);
	       RUN(kernel_without_epochs_counts_one_epoch);)
