/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peal_device_sync waits until devices have no more messages to handle and take
 * part in no collective.
 */

#include <peal/communicator.h>
#include <peal/event.h>
#include <peal/topic.h>
#include "runtime/collective/communicator.h"
#include "runtime/both_lanes.h"
#include "runtime/events.h"

PEAL_DECLARE_PROGRAM(events);

#define LONG 20000 /* messages that an actor tells itself */

static const struct peal_link_options plain = { .capacity = 0 };

struct stage {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *k[2];
};

static struct stage s;

static void open_stage(void)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .lanes = lanes,
					 .mailbox.slots = 16 };
	int i;

	s.rt = harness_open(2, "");
	s.e = harness_endpoint(s.rt);
	for (i = 0; i < 2; i++) {
		o.name = i ? "second" : "first";
		CHECK_OK(peal_kernel_launch(s.rt, i, &peal_program_events, &o,
					    &s.k[i]));
	}
}

static void close_stage(void)
{
	int i;

	for (i = 0; i < 2; i++)
		CHECK_OK(peal_kernel_stop(s.k[i], MAX_WAIT));
	harness_conserved(s.rt);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/* Returns the count of an actor. The kernel is suspended during the read. */
static uint64_t counted(struct peal_kernel *k, uint64_t actor)
{
	uint64_t n = 0;

	CHECK_OK(peal_kernel_suspend(k, MAX_WAIT));
	CHECK_OK(peal_actor_state(s.rt, actor, &n, sizeof(n)));
	CHECK_OK(peal_kernel_resume(k));
	return n;
}

static void send(uint32_t port, uint64_t n)
{
	CHECK_OK(peal_send(s.e, port, 0, &n, sizeof(n), MAX_WAIT, NULL));
}

/* The call also waits for messages that handlers tell each other. */
PEAL_TEST(sync_waits_for_messages_between_handlers)
{
	uint64_t a[2];
	uint32_t i;

	open_stage();
	CHECK_OK(peal_device_sync(s.rt, PEAL_ALL_DEVICES, MAX_WAIT));
	for (i = 0; i < 2; i++) {
		a[i] = harness_spawn(s.k[i], "countdown", -1);
		harness_from(s.rt, s.e, i, a[i], plain);
	}
	send(0, LONG);
	CHECK_OK(peal_device_sync(s.rt, 0, MAX_WAIT));
	CHECK_EQ(counted(s.k[0], a[0]), LONG);
	send(0, LONG / 2);
	send(1, LONG);
	CHECK_OK(peal_device_sync(s.rt, PEAL_ALL_DEVICES, -1));
	CHECK_EQ(counted(s.k[0], a[0]), LONG + LONG / 2);
	CHECK_EQ(counted(s.k[1], a[1]), LONG);
	close_stage();
}

PEAL_TEST(sync_timeout_names_the_waiting_link)
{
	uint64_t a;

	open_stage();
	a = harness_spawn(s.k[1], "countdown", -1);
	harness_from(s.rt, s.e, 0, a, plain);
	CHECK_OK(peal_kernel_suspend(s.k[1], MAX_WAIT));
	send(0, 1);
	CHECK_EQ(peal_device_sync(s.rt, 1, 0), PEAL_EAGAIN);
	CHECK_EQ(peal_device_sync(s.rt, PEAL_ALL_DEVICES, 20 * MS),
		 PEAL_ETIMEDOUT);
	CHECK(strstr(peal_last_error()->text,
		     "to kernel 'second' on device 1"));
	CHECK_OK(peal_device_sync(s.rt, 0, MAX_WAIT)); /* device 0 is idle */
	CHECK_OK(peal_kernel_resume(s.k[1]));
	CHECK_OK(peal_device_sync(s.rt, 1, MAX_WAIT));
	CHECK_EQ(counted(s.k[1], a), 1);
	/* the call does not wait for a kernel that has ended */
	CHECK_OK(peal_kernel_suspend(s.k[1], MAX_WAIT));
	send(0, 1);
	CHECK_OK(peal_kernel_abort(s.k[1], MAX_WAIT));
	CHECK_OK(peal_device_sync(s.rt, PEAL_ALL_DEVICES, MAX_WAIT));
	close_stage();
}

/* The handler of another device has sent a message and still runs. A GPU has not
 * published the counts of that message yet. */
PEAL_TEST(sync_waits_for_messages_of_a_busy_handler)
{
	struct events_await order = { .count = 1, .timeout_ns = 400 * MS };
	struct peal_event *event[2];
	uint64_t from, to;
	int i;

	open_stage();
	for (i = 0; i < 2; i++)
		CHECK_OK(peal_event_create(s.rt, 0, NULL, 0, NULL, &event[i]));
	CHECK_OK(peal_event_address(event[0], 0, &order.mine));
	CHECK_OK(peal_event_address(event[1], 0, &order.event));
	from = harness_spawn(s.k[0], "linger", -1);
	to = harness_spawn(s.k[1], "countdown", -1);
	harness_from(s.rt, s.e, 0, from, plain);
	harness_link(s.rt, from, 0, to, plain);
	CHECK_OK(peal_kernel_suspend(s.k[1], MAX_WAIT));
	CHECK_OK(peal_send(s.e, 0, 0, &order, sizeof(order), MAX_WAIT, NULL));
	CHECK_OK(peal_event_wait(event[0], 1, MAX_WAIT));
	CHECK_EQ(peal_device_sync(s.rt, 1, 50 * MS), PEAL_ETIMEDOUT);
	CHECK_OK(peal_kernel_resume(s.k[1]));
	CHECK_OK(peal_device_sync(s.rt, 1, MAX_WAIT));
	CHECK_EQ(counted(s.k[1], to), 1);
	CHECK_OK(peal_device_sync(s.rt, PEAL_ALL_DEVICES, MAX_WAIT));
	for (i = 0; i < 2; i++)
		CHECK_OK(peal_event_destroy(event[i]));
	close_stage();
}

PEAL_TEST(sync_timeout_names_the_pending_topic)
{
	struct peal_topic_options o = { .size = sizeof(o), .name = "news" };
	struct peal_kernel_options ko = { .size = sizeof(ko),
					  .lanes = lanes,
					  .mailbox.slots = 16,
					  .name = "reader" };
	struct peal_kernel *reader;
	uint64_t topic, from, to;

	open_stage();
	CHECK_OK(peal_kernel_launch(s.rt, 0, &peal_program_events, &ko,
				    &reader));
	CHECK_OK(peal_topic_create(s.rt, 0, &o, &topic));
	from = harness_spawn(s.k[0], "herald", -1);
	to = harness_spawn(reader, "countdown", -1);
	harness_from(s.rt, s.e, 0, from, plain);
	CHECK_OK(peal_publish(s.rt, from, 0, topic));
	CHECK_OK(peal_subscribe(s.rt, topic, to, 0));
	CHECK_OK(peal_kernel_suspend(reader, MAX_WAIT));
	send(0, 1);
	CHECK_EQ(peal_device_sync(s.rt, 0, 20 * MS), PEAL_ETIMEDOUT);
	EVENTUALLY(peal_device_sync(s.rt, 0, MS) == PEAL_ETIMEDOUT &&
		   strstr(peal_last_error()->text, "topic 'news' on device 0"));
	CHECK_OK(peal_kernel_resume(reader));
	CHECK_OK(peal_device_sync(s.rt, 0, MAX_WAIT));
	CHECK_EQ(counted(reader, to), 1);
	CHECK_OK(peal_kernel_stop(reader, MAX_WAIT));
	close_stage();
}

/* Device 1 waits for the member on device 0 and has no message to handle. */
PEAL_TEST(sync_waits_for_a_collective)
{
	const int devices[] = { 0, 1 };
	struct peal_comm_options o = { .size = sizeof(o), .lanes = lanes };
	struct peal_collective barrier = { .size = sizeof(barrier),
					   .kind = PEAL_COMM_BARRIER };
	struct peal_comm *g = NULL;
	struct peal_kernel *held;

	s.rt = harness_open(2, "");
	CHECK_OK(peal_comm_create(s.rt, devices, 2, &o, &g));
	held = g->members[g->place_of[0]].kernel;
	CHECK_OK(peal_kernel_suspend(held, MAX_WAIT));
	CHECK_OK(peal_collective_start(g, &barrier));
	CHECK_EQ(peal_device_sync(s.rt, 1, 0), PEAL_EAGAIN);
	CHECK_FAILS(peal_device_sync(s.rt, 1, 50 * MS), PEAL_ETIMEDOUT,
		    "pending: a collective");
	CHECK_OK(peal_kernel_resume(held));
	CHECK_OK(peal_device_sync(s.rt, 1, MAX_WAIT));
	CHECK_OK(peal_collective_wait(g, 0));
	CHECK_OK(peal_comm_destroy(g));
	CHECK_OK(peal_runtime_close(s.rt));
}

PEAL_TEST(invalid_arguments_return_einval)
{
	open_stage();
	CHECK_EQ(peal_device_sync(NULL, 0, 0), PEAL_EINVAL);
	CHECK_EQ(peal_device_sync(s.rt, 2, 0), PEAL_ENODEV);
	CHECK_EQ(peal_device_sync(s.rt, -1, 0), PEAL_ENODEV);
	close_stage();
}

PEAL_TEST_MAIN(RUN_LANES(sync_waits_for_messages_between_handlers);
	       RUN_LANES(sync_timeout_names_the_waiting_link);
	       RUN_LANES(sync_waits_for_messages_of_a_busy_handler);
	       RUN_LANES(sync_timeout_names_the_pending_topic);
	       RUN_LANES(sync_waits_for_a_collective);
	       RUN_LANES(invalid_arguments_return_einval);)
