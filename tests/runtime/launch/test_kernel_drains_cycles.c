/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels send messages to each other in a cycle. Shows that
 * peal_kernel_drain_many ends them after all messages and timers, and not
 * before.
 */
#include "runtime/both_lanes.h"
#include "runtime/cycle.h"

PEAL_DECLARE_PROGRAM(cycle);

#define KERNELS_MAX 3
#define WORKERS 2

struct fixture {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *k[KERNELS_MAX];
	struct peal_link *link[KERNELS_MAX]; /* from kernel i to kernel i + 1 */
	uint64_t runner[KERNELS_MAX];
	uint32_t n;
};

/* Opens n kernels in a cycle, and a link from the host to the first runner. */
static void open_fixture(struct fixture *f, uint32_t n)
{
	static const char *const names[] = { "first", "second", "third" };
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = WORKERS,
					 .lanes = lanes,
					 .mailbox.slots = 64,
					 .max_timers = 16 };
	/* more than all tokens: full links in a cycle would stall */
	struct peal_link_options link = { .capacity = 64 };
	uint32_t i;

	memset(f, 0, sizeof(*f));
	f->n = n;
	f->rt = harness_open(2, "");
	f->e = harness_endpoint(f->rt);
	for (i = 0; i < n; i++) {
		o.name = names[i];
		CHECK_OK(peal_kernel_launch(f->rt, (int)(i % 2),
					    &peal_program_cycle, &o, &f->k[i]));
		f->runner[i] = harness_spawn(f->k[i], "runner", (int)(i & 1));
	}
	for (i = 0; i < n; i++)
		f->link[i] = harness_link(f->rt, f->runner[i], 0,
					  f->runner[(i + 1) % n], link);
	harness_from(f->rt, f->e, 0, f->runner[0], link);
}

static void send_token(struct fixture *f, uint16_t type, uint64_t left,
		       uint64_t delay_ns)
{
	struct cycle_token t = { left, delay_ns };

	CHECK_OK(peal_send(f->e, 0, type, &t, sizeof(t), MAX_WAIT, NULL));
}

static uint64_t tokens(struct fixture *f)
{
	struct cycle_state s;
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < f->n; i++) {
		CHECK_OK(peal_actor_state(f->rt, f->runner[i], &s, sizeof(s)));
		sum += s.tokens;
	}
	return sum;
}

/* All kernels have ended by a drain. No message is dead. */
static void expect_drained(struct fixture *f)
{
	struct peal_kernel_info info;
	uint32_t i;

	for (i = 0; i < f->n; i++) {
		CHECK_OK(peal_kernel_info(f->k[i], &info));
		CHECK_EQ(info.state, PEAL_KERNEL_STOPPED);
		CHECK_EQ(info.mailbox_sends, info.mailbox_done);
		CHECK_EQ(info.mailbox_dead, 0);
		CHECK_EQ(info.timers.stopped, 0);
		CHECK_EQ(harness_info(f->link[i]).accepted,
			 harness_info(f->link[i]).delivered);
		CHECK_OK(peal_kernel_drain(f->k[i], 0));
	}
	harness_conserved(f->rt);
	CHECK_OK(peal_runtime_shutdown(f->rt));
}

/* ---- ends ---------------------------------------------------------------- */

/* Single drains would wait for each other. */
static void drain_cycle(uint32_t n)
{
	struct fixture f;
	uint64_t sum = 0, i;

	open_fixture(&f, n);
	for (i = 0; i < 40; i++) {
		send_token(&f, CYCLE_TOKEN, 10 * i, 0);
		sum += 1 + 10 * i;
	}
	CHECK_OK(peal_send_end(f.e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_drain_many(f.k, n, MAX_WAIT));
	CHECK_EQ(tokens(&f), sum);
	expect_drained(&f);
}

PEAL_TEST(cycle_of_two_kernels_drains_after_all_messages)
{
	drain_cycle(2);
}

PEAL_TEST(cycle_of_three_kernels_drains_after_all_messages)
{
	drain_cycle(3);
}

PEAL_TEST(kernel_that_feeds_itself_drains)
{
	drain_cycle(1);
}

/* While the timers wait, no message is anywhere. */
PEAL_TEST(pending_timers_keep_the_group)
{
	struct fixture f;
	uint32_t i;

	open_fixture(&f, 2);
	for (i = 1; i <= 8; i++)
		send_token(&f, CYCLE_LATER, 100, i * 5 * MS);
	CHECK_OK(peal_send_end(f.e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_drain_many(f.k, 2, MAX_WAIT));
	CHECK_EQ(tokens(&f), 8 * 101);
	expect_drained(&f);
}

PEAL_TEST(periodic_timers_end_with_the_group)
{
	struct peal_kernel_info info;
	struct fixture f;

	open_fixture(&f, 2);
	send_token(&f, CYCLE_TICKS, 0, 0);
	send_token(&f, CYCLE_LATER, 100, 20 * MS);
	CHECK_OK(peal_send_end(f.e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_drain_many(f.k, 2, MAX_WAIT));
	CHECK_EQ(tokens(&f), 101);
	CHECK_OK(peal_kernel_info(f.k[0], &info));
	CHECK_EQ(info.timers.drained, 1);
	expect_drained(&f);
}

PEAL_TEST(suspended_and_ended_kernels_are_drained_too)
{
	struct fixture f;

	open_fixture(&f, 2);
	send_token(&f, CYCLE_TOKEN, 20, 0);
	CHECK_OK(peal_send_end(f.e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_suspend(f.k[1], MAX_WAIT));
	CHECK_OK(peal_kernel_drain_many(f.k, 2, MAX_WAIT));
	CHECK_EQ(tokens(&f), 21);
	CHECK_OK(peal_kernel_drain_many(f.k, 2, MAX_WAIT));
	CHECK_OK(peal_kernel_drain_many(f.k, 2, 0));
	expect_drained(&f);
}

/* ---- does not end -------------------------------------------------------- */

PEAL_TEST(endless_cycle_times_out)
{
	struct peal_kernel_info info;
	struct fixture f;
	uint64_t handled;

	open_fixture(&f, 2);
	send_token(&f, CYCLE_TOKEN, CYCLE_FOR_EVER, 0);
	CHECK_OK(peal_send_end(f.e, 0, MAX_WAIT));
	CHECK_FAILS(peal_kernel_drain_many(f.k, 2, 100 * MS), PEAL_ETIMEDOUT,
		    "group of 2 kernels still has work: ");
	CHECK_OK(peal_kernel_info(f.k[1], &info));
	CHECK_EQ(info.state, PEAL_KERNEL_DRAINING);
	handled = info.handled; /* the kernels go on */
	EVENTUALLY(!peal_kernel_info(f.k[1], &info) &&
		   info.handled > handled + 200);
	CHECK_OK(peal_kernel_stop(f.k[0], MAX_WAIT));
	CHECK_FAILS(peal_kernel_drain_many(f.k, 2, MAX_WAIT), PEAL_ESTOPPED,
		    "'first' was stopped before it had drained");
	CHECK_OK(peal_runtime_shutdown(f.rt));
}

PEAL_TEST(timeout_names_the_cause)
{
	struct fixture f;

	open_fixture(&f, 2);
	CHECK_OK(peal_kernel_drain_many(f.k, 2, 0));
	CHECK_FAILS(peal_kernel_drain_many(f.k, 2, 30 * MS), PEAL_ETIMEDOUT,
		    "to kernel 'first', from '");
	CHECK_CONTAINS(peal_last_error()->text, "has not been ended");
	/* the input of the second kernel is from outside of this group */
	CHECK_FAILS(peal_kernel_drain_many(&f.k[1], 1, 30 * MS), PEAL_ETIMEDOUT,
		    "to kernel 'second', from 'first' port 0");
	send_token(&f, CYCLE_LATER, 3, 3600 * SECOND);
	CHECK_OK(peal_send_end(f.e, 0, MAX_WAIT));
	EVENTUALLY(peal_kernel_drain_many(f.k, 2, 30 * MS) == PEAL_ETIMEDOUT &&
		   strstr(peal_last_error()->text,
			  "kernel 'first': open timers and asks: 1"));
	CHECK_OK(peal_runtime_shutdown(f.rt));
}

PEAL_TEST(invalid_groups_are_refused)
{
	struct peal_kernel *k[3], *none = NULL;
	struct fixture f;

	open_fixture(&f, 2);
	k[0] = f.k[0];
	k[1] = f.k[1];
	k[2] = f.k[0];
	CHECK_FAILS(peal_kernel_drain_many(NULL, 1, 0), PEAL_EINVAL,
		    "'kernels': is NULL (NULL, allowed an address)");
	CHECK_FAILS(peal_kernel_drain_many(k, 0, 0), PEAL_EINVAL,
		    "'n': is out "
		    "of range (0, allowed 1..4294967295)");
	CHECK_FAILS(peal_kernel_drain_many(&none, 1, 0), PEAL_EINVAL,
		    "'kernels[0]': is NULL (NULL, allowed an address)");
	CHECK_FAILS(peal_kernel_drain_many(k, 3, 0), PEAL_EINVAL,
		    "'first': is listed twice (2 times, allowed 1)");
	CHECK_OK(peal_runtime_shutdown(f.rt));
}

PEAL_TEST(kernel_of_another_runtime_is_refused)
{
	struct fixture f, other;
	struct peal_kernel *k[2];

	HOST_CASE("a process has one runtime with a GPU");
	open_fixture(&f, 2);
	open_fixture(&other, 1);
	k[0] = f.k[0];
	k[1] = other.k[0];
	CHECK_FAILS(peal_kernel_drain_many(k, 2, 0), PEAL_EINVAL,
		    "is of another runtime");
	CHECK_OK(peal_runtime_shutdown(other.rt));
	CHECK_OK(peal_runtime_shutdown(f.rt));
}

PEAL_TEST_MAIN(RUN_LANES(cycle_of_two_kernels_drains_after_all_messages);
	       RUN_LANES(cycle_of_three_kernels_drains_after_all_messages);
	       RUN_LANES(kernel_that_feeds_itself_drains);
	       RUN_LANES(pending_timers_keep_the_group);
	       RUN_LANES(periodic_timers_end_with_the_group);
	       RUN_LANES(suspended_and_ended_kernels_are_drained_too);
	       RUN_LANES(endless_cycle_times_out);
	       RUN_LANES(timeout_names_the_cause); lanes = 1;
	       RUN(invalid_groups_are_refused);
	       RUN(kernel_of_another_runtime_is_refused);)
