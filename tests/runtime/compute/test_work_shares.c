/* SPDX-License-Identifier: Apache-2.0 */
/* Work queues of several devices share their messages by forwarders. */

#include <stdlib.h>
#include <string.h>

#include <peal/device/atomic.h>
#include <peal/device_queue.h>
#include <peal/memory.h>
#include <peal/program.h>
#include <peal/work_share.h>
#include "runtime/harness.h"
#include "runtime/kernel/kernel.h"
#include "runtime/work_shares.h"

PEAL_DECLARE_PROGRAM(work_shares);

#define DEVICES 3
#define TAKERS 2 /* of each device */
#define TASKS 600 /* that a test puts at once */
#define MOST (4 * TASKS) /* of a test */

struct fixture {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_device_queue queue[DEVICES];
	struct peal_kernel *k[DEVICES], *filler;
	struct peal_link *link;
	uint64_t taker[DEVICES][TAKERS], memory;
	uint64_t *seen; /* 1: the task was handled */
	uint64_t *done; /* of each taker */
	uint64_t *put; /* tasks that were put into the queue of device 0 */
	uint64_t due; /* tasks that the test has put */
	struct peal_work_share *share;
};

static const int devices[DEVICES] = { 0, 1, 2 };

static void make_queues(struct fixture *s, uint32_t capacity)
{
	struct peal_queue_options o = { .size = sizeof(o),
					.kind = PEAL_QUEUE_WORK,
					.max_producers = 2,
					.max_consumers = TAKERS + 1,
					.capacity = capacity,
					.message_bytes =
						sizeof(struct ws_task) };
	uint64_t bytes = (MOST + DEVICES * TAKERS + 1) * sizeof(uint64_t);
	int d;

	for (d = 0; d < DEVICES; d++)
		CHECK_OK(peal_device_queue_create(s->rt, d, &o, &s->queue[d]));
	CHECK_OK(peal_memory_alloc(s->rt, PEAL_HOST_MEMORY, bytes, &s->memory));
	s->seen = (uint64_t *)(uintptr_t)s->memory;
	s->done = s->seen + MOST;
	s->put = s->done + DEVICES * TAKERS;
	memset(s->seen, 0, bytes);
}

/* A kernel with an actor `fill` on device 0. */
static void make_filler(struct fixture *s)
{
	const uint64_t init[] = { s->queue[0].address,
				  (uint64_t)(uintptr_t)s->put };
	struct peal_actor_options o = { .size = sizeof(o),
					.init = init,
					.init_bytes = sizeof(init) };
	struct peal_kernel_options k = { .size = sizeof(k) };
	struct peal_link_options none = { .capacity = 0 };
	uint64_t filler;

	CHECK_OK(peal_kernel_launch(s->rt, 0, &peal_program_work_shares, &k,
				    &s->filler));
	CHECK_OK(peal_actor_spawn(s->filler, "fill", &o, &filler));
	s->link = harness_from(s->rt, s->e, 0, filler, none);
}

/* Sends the number of tasks that are due. Returns 1 if all are in the queue. */
static int puts_all(struct fixture *s)
{
	uint64_t before = harness_info(s->link).delivered;

	CHECK_OK(
		peal_send(s->e, 0, 1, &s->due, sizeof(s->due), MAX_WAIT, NULL));
	EVENTUALLY(harness_info(s->link).delivered == before + 1);
	return peal_load_relaxed_sys(s->put) == s->due;
}

/* Puts n more tasks. A worker that does not run can keep slots for some time. */
static void fill(struct fixture *s, uint64_t n)
{
	s->due += n;
	EVENTUALLY(puts_all(s));
}

/* Starts the takers of a device. They wait for `task_ns` after each task. */
static void start(struct fixture *s, int d, uint64_t task_ns)
{
	struct peal_kernel_options k = { .size = sizeof(k),
					 .workers = TAKERS,
					 .max_timers = 2,
					 .mailbox.slots = 16 };
	struct ws_init init = { .queue = s->queue[d].address,
				.seen = s->memory,
				.n_tasks = MOST,
				.task_ns = task_ns };
	struct peal_actor_options o = { .size = sizeof(o),
					.init = &init,
					.init_bytes = sizeof(init) };
	struct peal_link_options none = { .capacity = 0 };
	uint32_t i, port;

	CHECK_OK(peal_kernel_launch(s->rt, d, &peal_program_work_shares, &k,
				    &s->k[d]));
	for (i = 0; i < TAKERS; i++) {
		init.consumer = i;
		init.done = (uint64_t)(uintptr_t)&s->done[d * TAKERS + i];
		o.worker = PEAL_WORKER(i);
		CHECK_OK(
			peal_actor_spawn(s->k[d], "work", &o, &s->taker[d][i]));
		port = 1 + (uint32_t)d * TAKERS + i;
		harness_from(s->rt, s->e, port, s->taker[d][i], none);
		CHECK_OK(peal_send(s->e, port, 0, NULL, 0, MAX_WAIT, NULL));
	}
}

static uint64_t done_on(const struct fixture *s, int d)
{
	uint64_t n = 0;
	int i;

	for (i = 0; i < TAKERS; i++)
		n += peal_load_relaxed_sys(&s->done[d * TAKERS + i]);
	return n;
}

static uint64_t done(const struct fixture *s)
{
	uint64_t n = 0;
	int d;

	for (d = 0; d < DEVICES; d++)
		n += done_on(s, d);
	return n;
}

/* As many tasks were handled as there are, and each one: so each one once. The
 * kernels have ended. */
static void check_once(const struct fixture *s, uint64_t n)
{
	struct ws_taker taker;
	uint64_t i;
	int d;

	CHECK_EQ(done(s), n);
	for (i = 0; i < n; i++)
		CHECK_EQ(peal_load_relaxed_sys(&s->seen[i]), 1);
	for (d = 0; d < DEVICES; d++)
		for (i = 0; s->k[d] && i < TAKERS; i++) {
			CHECK_OK(peal_actor_state(s->rt, s->taker[d][i], &taker,
						  sizeof(taker)));
			CHECK_EQ(taker.damaged, 0);
		}
}

static void stop(struct fixture *s)
{
	int d;

	for (d = 0; d < DEVICES; d++)
		if (s->k[d])
			CHECK_OK(peal_kernel_stop(s->k[d], MAX_WAIT));
}

static struct peal_work_share_info info_of(struct fixture *s, uint32_t i)
{
	struct peal_work_share_info info;

	CHECK_OK(peal_work_share_info(s->share, i, &info));
	return info;
}

static void begin(struct fixture *s, uint32_t capacity)
{
	memset(s, 0, sizeof(*s));
	s->rt = harness_open(DEVICES, "");
	CHECK_OK(peal_program_add(s->rt, &peal_program_work_shares));
	s->e = harness_endpoint(s->rt);
	make_queues(s, capacity);
	make_filler(s);
}

/* Returns the messages that all forwarders have given, or taken. */
static uint64_t moved(struct fixture *s, int taken)
{
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < DEVICES; i++)
		n += taken ? info_of(s, i).taken : info_of(s, i).given;
	return n;
}

PEAL_TEST(idle_devices_take_work_of_another_device_once_each)
{
	struct fixture s;
	uint32_t i;

	begin(&s, 1024);
	fill(&s, TASKS);
	CHECK_OK(peal_work_share_create(s.rt, devices, s.queue, DEVICES, NULL,
					&s.share));
	start(&s, 1, 1000000);
	start(&s, 2, 1000000);
	EVENTUALLY(done_on(&s, 1) >= 20 && done_on(&s, 2) >= 20);
	start(&s, 0, 1000);
	EVENTUALLY(done(&s) == TASKS);
	EVENTUALLY(moved(&s, 0) == moved(&s, 1));
	CHECK(moved(&s, 0) >= done_on(&s, 1) + done_on(&s, 2));
	for (i = 0; i < DEVICES; i++)
		CHECK_EQ(info_of(&s, i).device, (int)i);
	stop(&s);
	CHECK_OK(peal_work_share_destroy(s.share));
	check_once(&s, TASKS);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/* All queues are empty. For the first 8 looks a forwarder asks both others. */
PEAL_TEST(next_forwarder_is_asked_after_a_refusal)
{
	const struct peal_work_share_options o = { .size = sizeof(o),
						   .least_ns = 50000000,
						   .most_ns = 50000000 };
	struct peal_work_share_info info;
	struct fixture s;

	begin(&s, 64);
	CHECK_OK(peal_work_share_create(s.rt, devices, s.queue, DEVICES, &o,
					&s.share));
	EVENTUALLY((info = info_of(&s, 1)).looks >= 12);
	CHECK(info.asked > info.looks);
	CHECK(info.asked <= info.looks + 8);
	CHECK_EQ(info.taken, 0);
	CHECK_OK(peal_work_share_destroy(s.share));
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/* A forwarder of two keeps `low` messages and gives half of the others: 4 of 9. The
 * other one then has enough, and asks no more. */
PEAL_TEST(forwarder_gives_the_part_of_one_device)
{
	const struct peal_work_share_options o = { .size = sizeof(o),
						   .low = 2,
						   .least_ns = 1000000,
						   .most_ns = 1000000 };
	struct peal_work_share_info info;
	struct fixture s;
	uint64_t looks;

	begin(&s, 64);
	fill(&s, 9);
	CHECK_OK(peal_work_share_create(s.rt, devices, s.queue, 2, &o,
					&s.share));
	EVENTUALLY(info_of(&s, 1).taken == 4);
	looks = info_of(&s, 1).looks;
	EVENTUALLY((info = info_of(&s, 1)).looks >= looks + 10);
	CHECK_EQ(info.taken, 4);
	CHECK_EQ(info_of(&s, 0).given, 4);
	CHECK_EQ(info_of(&s, 0).taken, 0);
	CHECK_OK(peal_work_share_destroy(s.share));
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST(without_a_share_the_other_devices_stay_idle)
{
	struct fixture s;

	begin(&s, 1024);
	fill(&s, 50);
	start(&s, 1, 1000);
	start(&s, 0, 1000);
	EVENTUALLY(done_on(&s, 0) == 50);
	CHECK_EQ(done_on(&s, 1), 0);
	stop(&s);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST(destroy_leaves_all_messages_in_the_queues)
{
	struct fixture s;
	uint64_t i;

	begin(&s, 1024);
	fill(&s, TASKS);
	CHECK_OK(peal_work_share_create(s.rt, devices, s.queue, DEVICES, NULL,
					&s.share));
	start(&s, 1, 200000);
	EVENTUALLY(done_on(&s, 1) >= 20);
	CHECK_OK(peal_work_share_destroy(s.share));
	start(&s, 0, 1000);
	start(&s, 2, 1000);
	EVENTUALLY(done(&s) == TASKS);
	for (i = 2; i <= 4; i++) { /* all slots are free again */
		fill(&s, TASKS);
		EVENTUALLY(done(&s) == i * TASKS);
	}
	stop(&s);
	check_once(&s, 4 * TASKS);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/* Device 1 steals a few tasks, and then none. The slots of these tasks come back,
 * although the forwarder takes no more messages. */
PEAL_TEST(slots_of_stolen_messages_are_free_at_once)
{
	struct fixture s;
	uint64_t i;

	begin(&s, 1024);
	fill(&s, TASKS);
	CHECK_OK(peal_work_share_create(s.rt, devices, s.queue, 2, NULL,
					&s.share));
	start(&s, 1, 1000000);
	EVENTUALLY(done_on(&s, 1) >= 5);
	CHECK_OK(peal_kernel_stop(s.k[1], MAX_WAIT));
	start(&s, 0, 1000);
	for (i = 2; i <= 4; i++) { /* the queue of device 1 keeps a few */
		EVENTUALLY(done(&s) >= (i - 1) * TASKS - 64);
		fill(&s, TASKS);
	}
	EVENTUALLY(done(&s) >= 4 * TASKS - 64);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST(shares_that_follow_each_other_keep_no_slots)
{
	struct peal_work_share_options o = { .size = sizeof(o), .low = 1 };
	struct fixture s;
	uint64_t i;

	begin(&s, 256); /* a producer leases up to 32 slots */
	start(&s, 1, 1000);
	start(&s, 0, 2000000);
	for (i = 1; i <= 20; i++) {
		CHECK_OK(peal_work_share_create(s.rt, devices, s.queue, 2, &o,
						&s.share));
		fill(&s, 6); /* few of the slots of a lease */
		EVENTUALLY(done(&s) == 6 * i);
		CHECK_OK(peal_work_share_destroy(s.share));
	}
	CHECK(done_on(&s, 1) > 0);
	stop(&s);
	check_once(&s, 120);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/* A share finds out whether a description is that of a work queue. */
PEAL_TEST(addresses_without_a_work_queue_are_refused)
{
	struct peal_queue_options o = { .size = sizeof(o),
					.kind = PEAL_QUEUE_MAILBOX,
					.max_producers = 2,
					.message_bytes =
						sizeof(struct ws_task) };
	struct peal_device_queue wrong[2], mailbox;
	static const int swapped[2] = { 1, 0 };
	struct fixture s;

	begin(&s, 64);
	memcpy(wrong, s.queue, sizeof(wrong));
	wrong[1].address = 0;
	CHECK_EQ(peal_work_share_create(s.rt, devices, wrong, 2, NULL,
					&s.share),
		 PEAL_EFAULT);
	wrong[1].address = s.queue[1].address + s.queue[1].bytes + (1u << 20);
	CHECK_EQ(peal_work_share_create(s.rt, devices, wrong, 2, NULL,
					&s.share),
		 PEAL_EFAULT);
	wrong[1].address = s.queue[1].address + 128;
	wrong[1].bytes -= 128;
	CHECK_FAILS(peal_work_share_create(s.rt, devices, wrong, 2, NULL,
					   &s.share),
		    PEAL_EINVAL, "queue '1': is not what its description says");
	CHECK_OK(peal_device_queue_create(s.rt, 1, &o, &mailbox));
	wrong[1] = s.queue[1];
	wrong[1].address = mailbox.address;
	wrong[1].bytes = mailbox.bytes;
	CHECK_FAILS(peal_work_share_create(s.rt, devices, wrong, 2, NULL,
					   &s.share),
		    PEAL_EINVAL, "queue '1': is not what its description says");
	CHECK(peal_work_share_create(s.rt, swapped, s.queue, 2, NULL,
				     &s.share) < 0);
	CHECK_OK(peal_memory_free(s.rt, 1, s.queue[1].address));
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST(queue_of_a_share_is_in_use)
{
	struct peal_work_share *second = NULL;
	struct fixture s;

	begin(&s, 64);
	CHECK_OK(peal_work_share_create(s.rt, devices, s.queue, 2, NULL,
					&s.share));
	CHECK_FAILS(peal_work_share_create(s.rt, devices, s.queue, DEVICES,
					   NULL, &second),
		    PEAL_EINVAL, "queue '0': is in another share");
	CHECK_FAILS(peal_memory_free(s.rt, 1, s.queue[1].address), PEAL_EBUSY,
		    "shares");
	CHECK_OK(peal_work_share_destroy(s.share));
	CHECK_OK(peal_memory_free(s.rt, 1, s.queue[1].address));
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/* The kernel of a forwarder ends, as after a failure of its device. */
PEAL_TEST(share_with_an_ended_forwarder_ends)
{
	struct peal_kernel *k;
	struct fixture s;

	begin(&s, 64);
	CHECK_OK(peal_work_share_create(s.rt, devices, s.queue, DEVICES, NULL,
					&s.share));
	for (k = s.rt->kernels; strcmp(k->name, "share"); k = k->next)
		;
	CHECK_OK(peal_kernel_abort(k, MAX_WAIT));
	CHECK_OK(peal_work_share_destroy(s.share));
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST(full_queue_delays_the_end_and_no_message_is_lost)
{
	struct peal_queue_options o = { .size = sizeof(o),
					.kind = PEAL_QUEUE_WORK,
					.max_producers = 2,
					.max_consumers = TAKERS + 1,
					.capacity = 4,
					.message_bytes =
						sizeof(struct ws_task) };
	struct fixture s;

	CHECK_EQ(setenv("PEAL_CONTROL_TIMEOUT_MS", "2000", 1), 0);
	begin(&s, 1024);
	CHECK_OK(peal_device_queue_create(s.rt, 1, &o, &s.queue[1]));
	fill(&s, 100);
	CHECK_OK(peal_work_share_create(s.rt, devices, s.queue, 2, NULL,
					&s.share));
	EVENTUALLY(info_of(&s, 1).held > 0);
	CHECK_FAILS(peal_work_share_destroy(s.share), PEAL_ETIMEDOUT,
		    "share 'share': the queue of device 1 is full, and its "
		    "forwarder holds");
	start(&s, 1, 1000);
	EVENTUALLY(info_of(&s, 1).held == 0);
	CHECK_OK(peal_work_share_destroy(s.share));
	start(&s, 0, 1000);
	EVENTUALLY(done(&s) == 100);
	stop(&s);
	check_once(&s, 100);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST(shutdown_ends_a_share)
{
	struct fixture s;

	begin(&s, 64);
	fill(&s, 40);
	CHECK_OK(peal_work_share_create(s.rt, devices, s.queue, DEVICES, NULL,
					&s.share));
	start(&s, 2, 1000);
	EVENTUALLY(done(&s) >= 10);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST(wrong_arguments_are_refused)
{
	struct peal_work_share_options o = { .size = sizeof(o) };
	struct peal_work_share_info info;
	struct peal_device_queue wrong[DEVICES];
	struct fixture s;
	const int twice[2] = { 0, 0 };

	begin(&s, 64);
	CHECK_EQ(peal_work_share_create(NULL, devices, s.queue, 2, NULL,
					&s.share),
		 PEAL_EINVAL);
	CHECK_FAILS(peal_work_share_create(s.rt, devices, s.queue, 1, NULL,
					   &s.share),
		    PEAL_EINVAL, "'n': is out of range (1, allowed 2..24)");
	o.batch = 9;
	CHECK_FAILS(peal_work_share_create(s.rt, devices, s.queue, 2, &o,
					   &s.share),
		    PEAL_EINVAL, "'batch': is out of range (9, allowed 1..8)");
	o.batch = 0;
	o.most_ns = 500;
	CHECK_FAILS(peal_work_share_create(s.rt, devices, s.queue, 2, &o,
					   &s.share),
		    PEAL_EINVAL, "'most_ns'");
	memcpy(wrong, s.queue, sizeof(wrong));
	wrong[1].kind = PEAL_QUEUE_MAILBOX;
	CHECK_FAILS(peal_work_share_create(s.rt, devices, wrong, 2, NULL,
					   &s.share),
		    PEAL_EINVAL, "queue '1': is no work queue");
	wrong[1] = s.queue[1];
	wrong[1].message_bytes = 8;
	CHECK_FAILS(peal_work_share_create(s.rt, devices, wrong, 2, NULL,
					   &s.share),
		    PEAL_EINVAL, "has other message_bytes than queue 0 (8");
	wrong[1] = s.queue[1];
	wrong[1].max_consumers = 1;
	CHECK_FAILS(peal_work_share_create(s.rt, devices, wrong, 2, NULL,
					   &s.share),
		    PEAL_EINVAL,
		    "queue '1': has too few max_consumers (1, allowed 2 or "
		    "more");
	wrong[1] = s.queue[0];
	CHECK_FAILS(peal_work_share_create(s.rt, twice, wrong, 2, NULL,
					   &s.share),
		    PEAL_EINVAL, "queue '1': is given twice");
	CHECK_OK(peal_work_share_create(s.rt, devices, s.queue, 2, NULL,
					&s.share));
	CHECK_FAILS(peal_work_share_info(s.share, 2, &info), PEAL_ENOENT,
		    "is the number of no queue (2, allowed 0..1)");
	CHECK_EQ(peal_work_share_info(s.share, 0, NULL), PEAL_EINVAL);
	CHECK_OK(peal_work_share_destroy(s.share));
	CHECK_OK(peal_work_share_destroy(NULL));
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST_MAIN(RUN(idle_devices_take_work_of_another_device_once_each);
	       RUN(next_forwarder_is_asked_after_a_refusal);
	       RUN(forwarder_gives_the_part_of_one_device);
	       RUN(without_a_share_the_other_devices_stay_idle);
	       RUN(destroy_leaves_all_messages_in_the_queues);
	       RUN(slots_of_stolen_messages_are_free_at_once);
	       RUN(shares_that_follow_each_other_keep_no_slots);
	       RUN(shutdown_ends_a_share); RUN(wrong_arguments_are_refused);
	       RUN(addresses_without_a_work_queue_are_refused);
	       RUN(queue_of_a_share_is_in_use);
	       RUN(share_with_an_ended_forwarder_ends);
	       RUN(full_queue_delays_the_end_and_no_message_is_lost);)
