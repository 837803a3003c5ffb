/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that stop, abort and an expired lease end a kernel, with right counters
 * and errors.
 */

#include "runtime/harness.h"
#include "runtime/launch/watchdog.h"
#include "runtime/link/endpoint.h"
#include "runtime/runtime.h"

/* An endpoint that sends to one actor of a kernel. */
struct one {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *k;
	uint64_t actor;
	struct peal_link *link;
};

static void open_one(struct one *o, const char *handler,
		     struct peal_kernel_options options)
{
	struct peal_link_options small = { .capacity = 8 };

	o->rt = harness_open(2, "");
	o->e = harness_endpoint(o->rt);
	o->k = harness_launch_with(o->rt, 0, options);
	o->actor = harness_spawn(o->k, handler, -1);
	o->link = harness_from(o->rt, o->e, 0, o->actor, small);
}

static void send_type(struct one *o, uint16_t type)
{
	CHECK_OK(peal_send(o->e, 0, type, "x", 1, MAX_WAIT, NULL));
}

static struct peal_worker_info worker(struct one *o, uint32_t i)
{
	struct peal_worker_info info;

	CHECK_OK(peal_worker_info(o->k, i, &info));
	return info;
}

PEAL_TEST(stop_reports_unhandled_messages)
{
	struct peal_kernel_options options = { .workers = 1 };
	struct peal_link_info info;
	struct one o;

	open_one(&o, "sink", options);
	harness_send(o.e, 0, 1, 0, 5);
	EVENTUALLY(harness_info(o.link).queued == 0);
	CHECK_OK(peal_kernel_suspend(o.k, MAX_WAIT));
	harness_send(o.e, 0, 1, 5, 3);
	info = harness_info(o.link);
	CHECK_EQ(info.queued, 3);
	CHECK_EQ(info.undelivered, 0);
	CHECK_OK(peal_kernel_stop(o.k, MAX_WAIT));
	info = harness_info(o.link);
	CHECK(harness_holds(&info));
	CHECK_EQ(info.accepted, 8);
	CHECK_EQ(info.delivered, 5);
	CHECK_EQ(info.queued, 0);
	CHECK_EQ(info.undelivered, 3);
	CHECK_EQ(info.undelivered_first, 5);
	CHECK_EQ(info.dead[PEAL_REASON_STOPPED], 3);
	CHECK_FAILS(peal_send(o.e, 0, 0, "x", 1, MAX_WAIT, NULL), PEAL_ESTOPPED,
		    "port 0");
	CHECK_EQ(peal_send_end(o.e, 0, MAX_WAIT), PEAL_ESTOPPED);
	harness_conserved(o.rt);
	CHECK_OK(peal_runtime_shutdown(o.rt));
}

struct blocked {
	struct one *o;
	_Atomic int result;
};

static void *send_until_refused(void *argument)
{
	struct blocked *b = argument;
	int result;

	do
		result = peal_send(b->o->e, 0, 0, "x", 1, -1, NULL);
	while (!result);
	atomic_store(&b->result, result);
	return NULL;
}

PEAL_TEST(stop_releases_a_blocked_sender)
{
	struct peal_kernel_options options = { .workers = 1 };
	struct blocked b;
	struct one o;
	pthread_t thread;

	open_one(&o, "sink", options);
	CHECK_OK(peal_kernel_suspend(o.k, MAX_WAIT));
	b.o = &o;
	atomic_store(&b.result, 0);
	CHECK(!pthread_create(&thread, NULL, send_until_refused, &b));
	EVENTUALLY(harness_info(o.link).full_count > 0);
	CHECK_OK(peal_kernel_stop(o.k, MAX_WAIT));
	EVENTUALLY(atomic_load(&b.result));
	CHECK_EQ(atomic_load(&b.result), PEAL_ESTOPPED);
	CHECK(!pthread_join(thread, NULL));
	CHECK_EQ(harness_info(o.link).undelivered, 8);
	harness_conserved(o.rt);
	CHECK_OK(peal_runtime_shutdown(o.rt));
}

PEAL_TEST(abort_ends_a_handler_that_stop_names)
{
	struct peal_kernel_options options = { .workers = 2, .name = "stuck" };
	struct one o;
	uint64_t began;

	open_one(&o, "moody", options);
	send_type(&o, 2);
	EVENTUALLY(worker(&o, 0).actor == 0);
	CHECK_FAILS(peal_kernel_stop(o.k, 30 * MS), PEAL_ETIMEDOUT,
		    "worker 0 of kernel 'stuck' is in handler 'moody' of actor "
		    "0, on message 0 ");
	/* a GPU shows a lower bound of the number */
	CHECK_CONTAINS(peal_last_error()->text, " link ");
	CHECK_FAILS(peal_kernel_wait(o.k, 0), PEAL_ETIMEDOUT, "actor 0");
	CHECK_FAILS(peal_kernel_destroy(o.k), PEAL_EBUSY, "stuck");
	began = harness_now_ns();
	CHECK_OK(peal_kernel_abort(o.k, MAX_WAIT));
	CHECK(harness_now_ns() - began <
	      SECOND * (IDENTITY_SANITIZED ? 10 : 1));
	CHECK_OK(peal_kernel_wait(o.k, 0));
	harness_delivered(o.link, 1);
	CHECK_OK(peal_runtime_shutdown(o.rt));
}

PEAL_TEST(stop_does_not_undo_an_abort)
{
	struct peal_kernel_options options = { .workers = 8 };
	struct one o;
	int i;

	open_one(&o, "moody", options);
	for (i = 1; i < 8; i++) {
		struct peal_link_options small = { .capacity = 8 };

		harness_from(o.rt, o.e, (uint32_t)i,
			     harness_spawn(o.k, "moody", i), small);
		CHECK_OK(
			peal_send(o.e, (uint32_t)i, 2, "x", 1, MAX_WAIT, NULL));
	}
	send_type(&o, 2);
	for (i = 0; i < 8; i++)
		EVENTUALLY(worker(&o, (uint32_t)i).actor >= 0);
	CHECK_OK(peal_kernel_abort(o.k, 0));
	CHECK_OK(peal_kernel_stop(o.k, 0));
	CHECK_OK(peal_kernel_wait(o.k, 5 * SECOND));
	harness_conserved(o.rt);
	CHECK_OK(peal_runtime_shutdown(o.rt));
}

PEAL_TEST(abort_of_unresponsive_handler_returns_ehung)
{
	struct peal_kernel_options options = { .workers = 1 };
	struct relay_gate gate;
	struct one o;
	uint64_t *word;

	open_one(&o, "gate", options);
	word = harness_gate(o.rt);
	gate.word = harness_address(word);
	CHECK_OK(peal_send(o.e, 0, 1, &gate, sizeof(gate), MAX_WAIT, NULL));
	EVENTUALLY(worker(&o, 0).actor == 0);
	CHECK_FAILS(peal_kernel_abort(o.k, 30 * MS), PEAL_EHUNG, "actor 0");
	o.rt->end_ns = 20 * MS;
	CHECK_EQ(peal_runtime_shutdown(o.rt), PEAL_EHUNG);
	CHECK_CONTAINS(peal_last_error()->call, "peal_runtime_shutdown");
	peal_store_release_sys(word, 1);
	CHECK_OK(peal_kernel_wait(o.k, MAX_WAIT));
	harness_delivered(o.link, 1);
	CHECK_OK(peal_runtime_shutdown(o.rt));
}

PEAL_TEST(message_of_failing_handler_is_dead)
{
	struct peal_kernel_options options = { .drain_when_inputs_end = 1 };
	struct peal_kernel_info kernel;
	struct peal_link_info info;
	struct one o;
	int i;

	open_one(&o, "moody", options);
	for (i = 0; i < 30; i++)
		send_type(&o, i % 3 == 1);
	CHECK_OK(peal_send_end(o.e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(o.k, MAX_WAIT));
	info = harness_info(o.link);
	CHECK(harness_holds(&info));
	CHECK_EQ(info.delivered, 20);
	CHECK_EQ(info.dead[PEAL_REASON_HANDLER], 10);
	CHECK_OK(peal_kernel_info(o.k, &kernel));
	CHECK_EQ(kernel.failed, 10);
	CHECK_EQ(kernel.handled, 30);
	CHECK_EQ(kernel.state, PEAL_KERNEL_STOPPED);
	harness_conserved(o.rt);
	CHECK_OK(peal_runtime_shutdown(o.rt));
}

PEAL_TEST(message_without_actor_is_dead)
{
	struct peal_kernel_options options = { .drain_when_inputs_end = 1 };
	struct peal_link_info info;
	struct one o;

	open_one(&o, "sink", options);
	harness_send(o.e, 0, 1, 0, 2);
	o.e->ports[0].producer.actor = 63; /* no such actor */
	harness_send(o.e, 0, 1, 2, 3);
	o.e->ports[0].producer.actor = 0xffffffff; /* beyond the actor table */
	harness_send(o.e, 0, 1, 5, 3);
	o.e->ports[0].producer.actor = 0;
	harness_send(o.e, 0, 1, 8, 2);
	CHECK_OK(peal_send_end(o.e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(o.k, MAX_WAIT));
	info = harness_info(o.link);
	CHECK(harness_holds(&info));
	CHECK_EQ(info.delivered, 4);
	CHECK_EQ(info.dead[PEAL_REASON_NO_ACTOR], 6);
	harness_conserved(o.rt);
	CHECK_OK(peal_runtime_shutdown(o.rt));
}

/* Returns 1 if the lease has expired. Then also shuts the runtime down. */
static int lease_is_over(struct one *o)
{
	struct peal_kernel_info info;

	CHECK_OK(peal_kernel_info(o->k, &info));
	if (info.state != PEAL_KERNEL_FAILED)
		return 0;
	CHECK_EQ(info.result, PEAL_ELEASE);
	CHECK_OK(peal_runtime_shutdown(o->rt));
	return 1;
}

/*
 * Opens a kernel with a lease. Returns 0 if the lease has already expired: on a
 * busy machine the watchdog may renew the lease too late.
 */
static int open_leased(struct one *o, uint64_t lease_ns)
{
	struct peal_kernel_options options = { .lease_ns = lease_ns,
					       .workers = 2 };
	struct peal_link_options small = { .size = sizeof(small),
					   .capacity = 8 };
	struct peal_actor_options any = { .size = sizeof(any) };

	CHECK(lease_ns < (uint64_t)MAX_WAIT / 8);
	o->rt = harness_open(2, "");
	o->e = harness_endpoint(o->rt);
	o->k = harness_launch_with(o->rt, 0, options);
	if (!peal_actor_spawn(o->k, "sink", &any, &o->actor) &&
	    !peal_connect(o->rt, peal_endpoint_address(o->e), 0, o->actor,
			  &small, &o->link))
		return 1;
	CHECK(lease_is_over(o));
	return 0;
}

/*
 * Returns 1 if the kernel lives and works for 1.5 times its lease while the
 * watchdog renews the lease. From then on the watchdog does not renew it.
 */
static int outlives(struct one *o, uint64_t lease_ns)
{
	uint64_t until = harness_now_ns() + 3 * lease_ns / 2;
	struct peal_kernel_info info;
	int i, sent = 0;

	if (!open_leased(o, lease_ns))
		return 0;
	EVENTUALLY(harness_now_ns() > until);
	for (i = 0; i < 3; i++)
		sent += !peal_send(o->e, 0, 0, "x", 1, MAX_WAIT, NULL);
	EVENTUALLY(harness_info(o->link).delivered == 3 ||
		   (!peal_kernel_info(o->k, &info) &&
		    info.state == PEAL_KERNEL_FAILED));
	peali_watchdog_forget(o->k);
	if (sent == 3 && harness_info(o->link).delivered == 3)
		return 1;
	CHECK(lease_is_over(o));
	return 0;
}

PEAL_TEST(kernel_ends_when_its_lease_expires)
{
	struct peal_kernel_info info;
	uint64_t lease_ns = 100 * MS;
	struct one o;

	while (!outlives(&o, lease_ns))
		lease_ns *= 2;
	CHECK_FAILS(peal_kernel_wait(o.k, MAX_WAIT), PEAL_ELEASE, "relay");
	CHECK_OK(peal_kernel_info(o.k, &info));
	CHECK_EQ(info.state, PEAL_KERNEL_FAILED);
	CHECK_EQ(info.result, PEAL_ELEASE);
	CHECK_EQ(peal_kernel_drain(o.k, 0), PEAL_ELEASE);
	CHECK_OK(peal_kernel_stop(o.k, 0));
	CHECK_EQ(peal_send(o.e, 0, 0, "x", 1, MAX_WAIT, NULL), PEAL_ESTOPPED);
	harness_delivered(o.link, 3);
	CHECK_OK(peal_runtime_shutdown(o.rt));
}

/* Returns 1 if the kernel is suspended before its lease expires. */
static int suspends(struct one *o, uint64_t lease_ns)
{
	if (!open_leased(o, lease_ns))
		return 0;
	if (!peal_kernel_suspend(o->k, MAX_WAIT))
		return 1;
	CHECK(lease_is_over(o));
	return 0;
}

PEAL_TEST(suspended_kernel_ends_when_its_lease_expires)
{
	uint64_t lease_ns = 100 * MS;
	struct one o;

	while (!suspends(&o, lease_ns))
		lease_ns *= 2;
	peali_watchdog_forget(o.k);
	CHECK_EQ(peal_kernel_wait(o.k, MAX_WAIT), PEAL_ELEASE);
	harness_conserved(o.rt);
	CHECK_OK(peal_runtime_shutdown(o.rt));
}

PEAL_TEST(heartbeat_advances_and_silence_is_measured)
{
	struct peal_kernel_options options = { .workers = 1 };
	struct relay_gate gate;
	uint64_t *word, beat;
	struct one o;

	open_one(&o, "gate", options);
	word = harness_gate(o.rt);
	gate.word = harness_address(word);
	beat = worker(&o, 0).heartbeat;
	EVENTUALLY(worker(&o, 0).heartbeat > beat + 2);
	CHECK_OK(peal_send(o.e, 0, 0, &gate, sizeof(gate), MAX_WAIT, NULL));
	EVENTUALLY(worker(&o, 0).actor == 0);
	beat = worker(&o, 0).heartbeat;
	EVENTUALLY(worker(&o, 0).since_heartbeat_ns > (uint64_t)(100 * MS));
	CHECK_EQ(worker(&o, 0).heartbeat, beat);
	peal_store_release_sys(word, 1);
	EVENTUALLY(worker(&o, 0).since_heartbeat_ns < (uint64_t)(100 * MS));
	CHECK_EQ(worker(&o, 0).actor, -1);
	EVENTUALLY(harness_info(o.link).queued == 0);
	harness_delivered(o.link, 1);
	CHECK_OK(peal_runtime_shutdown(o.rt));
}

PEAL_TEST_MAIN(RUN(stop_reports_unhandled_messages);
	       RUN(stop_releases_a_blocked_sender);
	       RUN(abort_ends_a_handler_that_stop_names);
	       RUN(stop_does_not_undo_an_abort);
	       RUN(abort_of_unresponsive_handler_returns_ehung);
	       RUN(message_of_failing_handler_is_dead);
	       RUN(message_without_actor_is_dead);
	       RUN(kernel_ends_when_its_lease_expires);
	       RUN(suspended_kernel_ends_when_its_lease_expires);
	       RUN(heartbeat_advances_and_silence_is_measured);)
