/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile writer overwrites the ring of a live link. Shows that the runtime
 * closes only this link.
 */

#include <peal/device/impl/loop/actor_restart.h>
#include <peal/kernel.h>
#include <peal/topology.h>

#include "runtime/device/memory_block.h"
#include "runtime/harness.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/link/link.h"
#include "runtime/link/stager.h"
#include "runtime/runtime.h"

/*
 * A kernel with a sound loop (endpoint -> echo -> endpoint), and a link that
 * the test corrupts.
 */
struct corrupt_fixture {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *k, *source;
	uint64_t echo, sink;
	struct peal_link *in, *out, *bad;
};

/*
 * Opens the fixture. route: route of the bad link, which then comes from kernel
 * `source`. 0: the bad link comes from the endpoint.
 */
static void open_corrupt_fixture(struct corrupt_fixture *v, uint32_t route,
				 uint32_t policy)
{
	struct peal_link_options o = { .capacity = 8 };

	v->rt = harness_open(2, "");
	v->e = harness_endpoint(v->rt);
	v->source = harness_launch(v->rt, 0);
	v->k = harness_launch(v->rt, 1);
	v->echo = harness_spawn(v->k, "echo", 0);
	v->sink = harness_spawn(v->k, "sink", 0);
	v->in = harness_from(v->rt, v->e, 0, v->echo, o);
	v->out = harness_to(v->rt, v->echo, v->e, o);
	o.policy = harness_policy(v->rt, policy);
	if (route) {
		uint64_t actor = harness_spawn(v->source, "echo", 0);

		harness_from(v->rt, v->e, 1, actor, o);
		o.require = route;
		v->bad = harness_link(v->rt, actor, 0, v->sink, o);
	} else {
		v->bad = harness_from(v->rt, v->e, 1, v->sink, o);
	}
	harness_send(v->e, 1, 1, 0, 3);
	EVENTUALLY(harness_info(v->bad).delivered == 3);
}

/* Returns the slots of a segment's ring, in the host's view. */
static uint8_t *slots_of(struct corrupt_fixture *v, uint32_t segment)
{
	struct peal_ring *ring =
		(struct peal_ring *)(uintptr_t)peali_block_view(
			v->rt, PEALI_HOST, &v->bad->path.segment[segment].ring);

	return (uint8_t *)ring + ring->slots_offset;
}

static uint64_t slot_bytes(struct corrupt_fixture *v)
{
	return (uint64_t)v->bad->spec.slot_bytes * v->bad->spec.capacity;
}

/* Checks that the kernel's other link still works and that the kernel ends. */
static void close_corrupt_fixture(struct corrupt_fixture *v)
{
	struct peal_link_info info;
	struct relay_sink sink;

	harness_send(v->e, 0, 2, 100, 8);
	harness_receive(v->e, 2, 100, 8);
	CHECK_EQ(peal_kernel_wait(v->k, 0), PEAL_ETIMEDOUT);
	CHECK_OK(peal_send_end(v->e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(v->k, MAX_WAIT));
	info = harness_info(v->bad);
	CHECK(harness_holds(&info));
	CHECK_EQ(info.delivered, 3);
	CHECK_EQ(info.queued, 0);
	CHECK_EQ(info.undelivered_first, 3);
	CHECK_OK(peal_actor_state(v->rt, v->sink, &sink, sizeof(sink)));
	CHECK_EQ(sink.received, 3);
	CHECK_EQ(sink.damaged, 0);
	harness_conserved(v->rt);
	CHECK_OK(peal_runtime_shutdown(v->rt));
}

/*
 * Fills all slots with a word, atomically. The words of the tests have lap 1
 * and an invalid length or kind.
 */
static void scribble(uint8_t *slots, uint64_t bytes, uint64_t word)
{
	uint64_t i;

	for (i = 0; i < bytes; i += 8)
		peal_store_release_sys((uint64_t *)(void *)(slots + i), word);
}

PEAL_TEST(corrupt_ring_closes_only_its_link)
{
	static const uint64_t words[] = { 0x0001ffffffffffffULL,
					  0x0001040000000010ULL,
					  0x0001020000000008ULL,
					  0x0001010000000004ULL };
	struct corrupt_fixture v;
	size_t i;

	HOST_CASE("the words are those of policy sequence");
	for (i = 0; i < 4; i++) {
		open_corrupt_fixture(&v, 0, PEAL_POLICY_SEQUENCE);
		scribble(slots_of(&v, 0), slot_bytes(&v), words[i]);
		peal_bell_ring(peali_kernel_bell(v.k, 0));
		EVENTUALLY(harness_info(v.bad).error == PEAL_EPROTO);
		close_corrupt_fixture(&v);
	}
}

PEAL_TEST(sender_of_corrupt_link_gets_an_error)
{
	struct peal_link_info info;
	struct corrupt_fixture v;
	int result = 0, i;

	HOST_CASE("the words are those of policy sequence");
	open_corrupt_fixture(&v, 0, PEAL_POLICY_SEQUENCE);
	scribble(slots_of(&v, 0), slot_bytes(&v), 0x0001ffffffffffffULL);
	peal_bell_ring(peali_kernel_bell(v.k, 0));
	/* otherwise the next messages may overwrite the words unread */
	EVENTUALLY(harness_info(v.bad).error == PEAL_EPROTO);
	for (i = 0; !result && i < 1000; i++)
		result = peal_send(v.e, 1, 0, "x", 1, MAX_WAIT, NULL);
	CHECK_EQ(result, PEAL_EPROTO);
	CHECK_CONTAINS(peal_last_error()->text, "port 1");
	info = harness_info(v.bad);
	CHECK_EQ(info.dead[PEAL_REASON_PROTOCOL], info.accepted - 3);
	CHECK_EQ(info.undelivered, info.accepted - 3);
	close_corrupt_fixture(&v);
}

PEAL_TEST(kernel_continues_after_link_corruption)
{
	static const uint32_t routes[] = { PEAL_ROUTE_MAPPED_HOST,
					   PEAL_ROUTE_STAGED };
	struct peal_link_info info;
	struct corrupt_fixture v;
	int i;

	HOST_CASE("the words are those of policy sequence");
	for (i = 0; i < 2; i++) {
		open_corrupt_fixture(&v, routes[i], PEAL_POLICY_SEQUENCE);
		/* the last ring of the route, which kernel `k` reads */
		scribble(slots_of(&v, (uint32_t)i), slot_bytes(&v),
			 0x0001ffffffffffffULL);
		peal_bell_ring(peali_kernel_bell(v.k, 0));
		EVENTUALLY(harness_info(v.bad).error == PEAL_EPROTO);
		/* more than fit */
		harness_send(v.e, 1, 1, 3, 200);
		CHECK_OK(peal_send_end(v.e, 1, MAX_WAIT));
		CHECK_OK(peal_kernel_wait(v.source, MAX_WAIT));
		info = harness_info(v.bad);
		CHECK_EQ(info.accepted, 203);
		CHECK_EQ(info.dead[PEAL_REASON_CLOSED] +
				 info.dead[PEAL_REASON_PROTOCOL],
			 200);
		close_corrupt_fixture(&v);
	}
}

PEAL_TEST(corruption_before_the_stager_is_reported)
{
	struct corrupt_fixture v;

	HOST_CASE("the words are those of policy sequence");
	open_corrupt_fixture(&v, PEAL_ROUTE_STAGED, PEAL_POLICY_SEQUENCE);
	scribble(slots_of(&v, 0), slot_bytes(&v), 0x0001ffffffffffffULL);
	peal_bell_ring(peali_stager_bell(v.rt));
	EVENTUALLY(harness_info(v.bad).error == PEAL_EPROTO);
	harness_send(v.e, 1, 1, 3, 200);
	CHECK_OK(peal_send_end(v.e, 1, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(v.source, MAX_WAIT));
	EVENTUALLY(harness_info(v.bad).accepted == 203);
	CHECK_EQ(harness_info(v.bad).queued, 0);
	/* no other call ends that input */
	CHECK_OK(peal_link_destroy(v.bad));
	v.bad = v.in;
	harness_send(v.e, 0, 2, 0, 5);
	harness_receive(v.e, 2, 0, 5);
	CHECK_OK(peal_send_end(v.e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_wait(v.k, MAX_WAIT));
	harness_conserved(v.rt);
	CHECK_OK(peal_runtime_shutdown(v.rt));
}

PEAL_TEST(random_slots_never_stop_the_kernel)
{
	unsigned long long random = 7;
	struct corrupt_fixture v;
	uint32_t policy;
	uint8_t *slots;
	uint64_t i;

	for (policy = PEAL_POLICY_SEQUENCE; policy <= PEAL_POLICY_ATOM8;
	     policy += 2) {
		open_corrupt_fixture(&v, 0, policy);
		slots = slots_of(&v, 0);
		for (i = 0; i < 20000; i++) {
			uint64_t at = test_random(&random) % slot_bytes(&v);

			peal_store_release_sys(
				(uint64_t *)(void *)(slots + at / 8 * 8),
				(test_random(&random) % 3 + 1) << 48 |
					test_random(&random) >> 16);
		}
		peal_bell_ring(peali_kernel_bell(v.k, 0));
		harness_send(v.e, 0, 2, 0, 5);
		harness_receive(v.e, 2, 0, 5);
		/* a worker publishes its counts with a delay */
		EVENTUALLY(harness_info(v.in).delivered == 5);
		CHECK_OK(peal_kernel_stop(v.k, MAX_WAIT));
		CHECK_OK(peal_runtime_shutdown(v.rt));
	}
}

PEAL_TEST(invalid_credit_closes_the_link_for_its_sender)
{
	struct peal_credit *credit;
	struct corrupt_fixture v;
	int result = 0, i;

	open_corrupt_fixture(&v, 0, PEAL_POLICY_SEQUENCE);
	CHECK_OK(peal_kernel_suspend(v.k, MAX_WAIT));
	credit = (struct peal_credit *)(uintptr_t)peali_block_view(
		v.rt, PEALI_HOST, &v.bad->path.segment[0].credit);
	peal_store_release_sys(&credit->slots, 1ULL << 40);
	for (i = 0; !result && i < 100; i++)
		result = peal_send(v.e, 1, 0, "x", 1, 0, NULL);
	CHECK_EQ(result, PEAL_EPROTO);
	CHECK(i < 10);
	CHECK_CONTAINS(peal_last_error()->text, "port 1");
	CHECK_OK(peal_kernel_resume(v.k));
	harness_send(v.e, 0, 2, 0, 5);
	harness_receive(v.e, 2, 0, 5);
	CHECK_OK(peal_kernel_stop(v.k, MAX_WAIT));
	harness_conserved(v.rt);
	CHECK_OK(peal_runtime_shutdown(v.rt));
}

/* ThreadSanitizer would rightly report the writes of the hostile writer. */
static void skip_where_races_are_found(void)
{
	if (PEAL_TSAN)
		SKIP("a hostile writer is a data race");
}

PEAL_TEST_MAIN(skip_where_races_are_found();
	       RUN(corrupt_ring_closes_only_its_link);
	       RUN(sender_of_corrupt_link_gets_an_error);
	       RUN(kernel_continues_after_link_corruption);
	       RUN(corruption_before_the_stager_is_reported);
	       RUN(random_slots_never_stop_the_kernel);
	       RUN(invalid_credit_closes_the_link_for_its_sender);)
