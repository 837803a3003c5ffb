/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that links between processes keep order, content and counts, apply
 * back-pressure and report their end.
 */

#include <peal/process_group.h>
#include "runtime/process_fixture.h"
#include "runtime/both_lanes.h"

#define N IDENTITY_COUNT(20000)
#define SHORT 500

static const struct peal_link_options plain = { .capacity = 16 };

/* ---- endpoints ----------------------------------------------------------- */

/* Sends SHORT messages of different lengths, by slots and by the slab. */
static void send_lengths(struct peal_endpoint *e, uint64_t producer)
{
	static uint8_t data[5000];
	uint64_t i;

	for (i = 0; i < SHORT; i++) {
		uint64_t n = 24 + i * 9;

		harness_fill(data, n, producer, i);
		CHECK_OK(peal_send(e, 0, (uint16_t)i, data, n, MAX_WAIT, NULL));
	}
}

static void receive_lengths(struct peal_endpoint *e, uint64_t producer)
{
	static uint8_t data[5000];
	struct peal_received r;
	uint64_t i;

	for (i = 0; i < SHORT; i++) {
		CHECK_OK(peal_receive(e, data, sizeof(data), &r, MAX_WAIT));
		CHECK_EQ(r.length, 24 + i * 9);
		CHECK_EQ(r.sequence, i);
		CHECK(harness_intact(data, r.length, producer, i));
	}
}

static void exchange(int rank)
{
	const struct peal_link_options slab = { .capacity = 16,
						.message_bytes = 5000 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_process_group *set = procs_enter(rt);
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_link *link, *both[4];
	struct peal_link_info info;
	struct peal_received r;
	int other = 1 - rank;

	CHECK_OK(peal_process_export(set, "in", peal_endpoint_address(e)));
	link = procs_connect(set, other, "in", peal_endpoint_address(e), 0,
			     slab);
	info = harness_info(link);
	CHECK_EQ(info.route, PEAL_ROUTE_PROCESS);
	CHECK_EQ(peal_process_rank_of(info.to), other);
	CHECK_EQ(peal_process_rank_of(info.from), -1);
	CHECK_EQ(info.from, peal_endpoint_address(e));
	CHECK_CONTAINS(info.route_reason, "rank");
	CHECK(info.memory_bytes > 16 * 64);
	CHECK_FAILS(peal_link_set_route(link, PEAL_ROUTE_STAGED, 0),
		    PEAL_ENOTSUP, "another process");
	procs_meet(0); /* both links exist */
	CHECK_EQ(peal_link_list(rt, both, 4), 2);
	CHECK_EQ(procs_info(set, other).n_links, 2);
	if (rank == 0) {
		send_lengths(e, 0);
		receive_lengths(e, 1);
	} else {
		receive_lengths(e, 0);
		send_lengths(e, 1);
	}
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	CHECK_EQ(peal_receive(e, NULL, 0, &r, MAX_WAIT), PEAL_EEND);
	procs_meet(1); /* the counts of both links are final */
	harness_conserved(rt);
	info = harness_info(link);
	CHECK_EQ(info.accepted, SHORT);
	CHECK_EQ(info.delivered, SHORT);
	CHECK_EQ(info.ended, 1);
	CHECK_EQ(info.error, 0);
	procs_meet(2);
	CHECK_OK(peal_process_group_leave(set, MAX_WAIT));
	CHECK_EQ(peal_link_list(rt, both, 4), 0);
	CHECK_OK(peal_endpoint_destroy(e));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(two_processes_exchange_messages_of_all_lengths)
{
	PROCS(2, exchange);
}

/* All ranks send to all other ranks at once. */
static void all_pairs(int rank)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_process_group *set = procs_enter(rt);
	struct peal_endpoint *e = harness_endpoint(rt);
	uint64_t sent[PROCS_MAX] = { 0 }, got[PROCS_MAX] = { 0 }, left;
	uint64_t each = N / 4;
	struct relay_message m;
	struct peal_received r;
	int other, n = procs_ranks;

	CHECK_OK(peal_process_export(set, "in", peal_endpoint_address(e)));
	for (other = 0; other < n; other++)
		if (other != rank)
			procs_connect(set, other, "in",
				      peal_endpoint_address(e), (uint32_t)other,
				      plain);
	left = 2 * each * (uint64_t)(n - 1);
	while (left) {
		uint64_t before = left;

		for (other = 0; other < n; other++) {
			if (other == rank || sent[other] == each)
				continue;
			harness_fill(&m, sizeof(m), (uint64_t)rank,
				     sent[other]);
			if (!peal_send(e, (uint32_t)other, 1, &m, sizeof(m), 0,
				       NULL)) {
				sent[other]++;
				left--;
			}
		}
		while (!peal_receive(e, &m, sizeof(m), &r,
				     before == left ? 1000000 : 0)) {
			int from = peal_process_rank_of(r.from);

			CHECK_EQ(m.producer, from);
			CHECK_EQ(m.sequence, got[from]);
			CHECK(harness_intact(&m, sizeof(m), m.producer,
					     m.sequence));
			got[from]++;
			left--;
		}
	}
	procs_meet(0);
	harness_conserved(rt);
	procs_meet(1);
	CHECK_OK(peal_process_group_leave(set, MAX_WAIT));
	CHECK_OK(peal_endpoint_destroy(e));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(four_processes_all_send_to_all)
{
	PROCS(4, all_pairs);
}

/* ---- flow control -------------------------------------------------------- */

static void full(int rank)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_process_group *set = procs_enter(rt);
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_link_info info;
	struct relay_message m = { 0, 0, 0 };
	struct peal_link *link;

	if (rank == 1) {
		CHECK_OK(peal_process_export(set, "in",
					     peal_endpoint_address(e)));
		procs_meet(0);
		/* rank 0 waits for free slots while this rank sleeps on */
		identity_sleep_us(100000);
		harness_receive(e, 0, 0, 40);
		procs_meet(1);
		CHECK_OK(peal_process_group_leave(set, MAX_WAIT));
	} else {
		link = procs_connect(set, 1, "in", peal_endpoint_address(e), 0,
				     plain);
		harness_send(e, 0, 0, 0, 16);
		CHECK_EQ(peal_send(e, 0, 0, &m, sizeof(m), 0, NULL),
			 PEAL_EAGAIN);
		CHECK_FAILS(peal_send(e, 0, 0, &m, sizeof(m), MS, NULL),
			    PEAL_ETIMEDOUT, "full");
		info = harness_info(link);
		CHECK_EQ(info.queued, 16);
		CHECK_EQ(info.full_count, 1); /* attempts for one message */
		CHECK_FAILS(peal_send(e, 0, 0, &m, 49, 0, NULL), PEAL_EMSGSIZE,
			    "'endpoint': has a link for shorter messages (49 "
			    "bytes, allowed 0..48)");
		CHECK_FAILS(peal_send_to(e, 0, info.to, 0, &m, sizeof(m), 0,
					 NULL),
			    PEAL_ENOTSUP, "another process");
		procs_meet(0);
		harness_send(e, 0, 0, 16, 24);
		procs_meet(1);
		CHECK_OK(peal_process_group_leave(set, MAX_WAIT));
	}
	CHECK_OK(peal_endpoint_destroy(e));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(full_link_blocks_sender_until_peer_receives)
{
	PROCS(2, full);
}

/* ---- actors -------------------------------------------------------------- */

/*
 * Rank 0 sends to an actor of rank 1. That actor echoes to an actor of rank 0,
 * which echoes to the endpoint of rank 0.
 */
static void by_actors(int rank)
{
	struct peal_kernel_options o = { .drain_when_inputs_end = 1,
					 .lanes = lanes };
	const struct peal_link_options link = { .capacity = 32,
						.message_bytes = 400 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_process_group *set = procs_enter(rt);
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = harness_launch_with(rt, 0, o);
	uint64_t actor = harness_spawn(k, "echo", -1), i;
	struct peal_received r;
	uint8_t data[400];

	CHECK_OK(peal_process_export(set, "actor", actor));
	procs_connect(set, 1 - rank, "actor",
		      rank ? actor : peal_endpoint_address(e), 0, link);
	procs_meet(0);
	if (rank == 0) {
		harness_to(rt, actor, e, link);
		for (i = 0; i < SHORT; i++) {
			uint64_t n = 24 + i % 376;

			harness_fill(data, n, 7, i);
			CHECK_OK(peal_send(e, 0, (uint16_t)i, data, n, MAX_WAIT,
					   NULL));
			if (i % 8 != 7)
				continue;
			for (uint64_t j = i - 7; j <= i; j++) {
				n = 24 + j % 376;
				CHECK_OK(peal_receive(e, data, sizeof(data), &r,
						      MAX_WAIT));
				CHECK_EQ(r.length, n);
				CHECK_EQ(r.type, (uint16_t)j);
				CHECK(harness_intact(data, n, 7, j));
			}
		}
		for (i = SHORT / 8 * 8; i < SHORT; i++)
			CHECK_OK(peal_receive(e, data, sizeof(data), &r,
					      MAX_WAIT));
		/* the END mark passes through both kernels, too */
		CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
		CHECK_EQ(peal_receive(e, NULL, 0, &r, MAX_WAIT), PEAL_EEND);
	}
	CHECK_OK(peal_kernel_wait(k, MAX_WAIT));
	procs_meet(1);
	harness_conserved(rt);
	procs_meet(2);
	CHECK_OK(peal_process_group_leave(set, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(actors_of_two_processes_are_linked)
{
	PROCS(2, by_actors);
}

/*
 * The kernel of rank 1 is idle before each message of rank 0, and must still
 * take the message.
 */
static void waits_long(int rank)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_process_group *set = procs_enter(rt);
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = harness_launch(rt, 0);
	uint64_t actor = harness_spawn(k, "echo", -1), i;

	if (rank == 1) {
		CHECK_OK(peal_process_export(set, "actor", actor));
		procs_connect(set, 0, "back", actor, 0, plain);
		procs_meet(1);
	} else {
		CHECK_OK(peal_process_export(set, "back",
					     peal_endpoint_address(e)));
		procs_connect(set, 1, "actor", peal_endpoint_address(e), 0,
			      plain);
		procs_meet(1); /* the link back exists, too */
		for (i = 0; i < 5; i++) {
			identity_sleep_us(60000);
			harness_send(e, 0, 3, i, 1);
			harness_receive(e, 3, i, 1);
		}
		CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	}
	procs_meet(0);
	CHECK_OK(peal_process_group_leave(set, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(sleeping_kernel_wakes_for_remote_message)
{
	PROCS(2, waits_long);
}

/* ---- ends of links ------------------------------------------------------- */

/*
 * How rank 1 ends the link. 0: destroys it. 1: leaves the set. 2: shuts down
 * its runtime.
 */
static int how;

static void other_goes(int rank)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_process_group *set = procs_enter(rt);
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_link *link = NULL, *there[4];
	struct peal_process_info info;
	struct relay_message m = { 0, 0, 0 };
	struct peal_received r;

	CHECK_OK(peal_process_export(set, "in", peal_endpoint_address(e)));
	link = procs_connect(set, 1 - rank, "in", peal_endpoint_address(e), 0,
			     plain);
	procs_meet(0);
	if (rank == 1) {
		harness_send(e, 0, 1, 0, 5);
		CHECK_EQ(peal_link_list(rt, there, 4), 2);
		if (how == 0) {
			CHECK_OK(peal_link_destroy(there[0]));
			CHECK_OK(peal_link_destroy(there[1]));
			CHECK_EQ(procs_info(set, 0).n_links, 0);
			procs_meet(1);
			CHECK_OK(peal_process_group_leave(set, MAX_WAIT));
		} else if (how == 1) {
			CHECK_OK(peal_process_group_leave(set, MAX_WAIT));
			procs_meet(1);
		}
		CHECK_OK(peal_runtime_shutdown(rt));
		if (how == 2)
			procs_meet(1);
		return;
	}
	/* first the arrived messages, then an error that gives the cause */
	harness_receive(e, 1, 0, 5);
	CHECK_FAILS(peal_receive(e, NULL, 0, &r, MAX_WAIT), PEAL_ESTOPPED,
		    "rank 1 (pid ");
	if (!how)
		CHECK_CONTAINS(peal_last_error()->text, "closed its end");
	EVENTUALLY(peal_send(e, 0, 0, &m, sizeof(m), 0, NULL) == PEAL_ESTOPPED);
	CHECK_FAILS(peal_send(e, 0, 0, &m, sizeof(m), 0, NULL), PEAL_ESTOPPED,
		    "rank 1 (pid ");
	CHECK_EQ(harness_info(link).error, PEAL_ESTOPPED);
	CHECK_EQ(harness_info(link).queued, 0);
	if (how) {
		EVENTUALLY(procs_info(set, 1).state == PEAL_PROCESS_LEFT);
		info = procs_info(set, 1);
		CHECK_CONTAINS(info.reason, "has left the set");
		CHECK(info.gone_ns > 0);
		CHECK_FAILS(peal_process_connect(set, 1, "in",
						 peal_endpoint_address(e), 1,
						 NULL, MAX_WAIT, NULL),
			    PEAL_ESTOPPED, "has left the set");
	}
	procs_meet(1);
	CHECK_OK(peal_process_group_leave(set, MAX_WAIT));
	CHECK_OK(peal_endpoint_destroy(e));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(link_destroyed_by_peer_process_is_closed)
{
	how = 0;
	PROCS(2, other_goes);
}

PEAL_TEST(leaving_process_closes_its_links)
{
	how = 1;
	PROCS(2, other_goes);
}

PEAL_TEST(runtime_shutdown_leaves_process_groups)
{
	how = 2;
	PROCS(2, other_goes);
}

/*
 * Rank 1 stops a kernel with links in both directions. Both ends at rank 0
 * fail.
 */
static void kernel_ends(int rank)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_process_group *set = procs_enter(rt);
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_kernel *k = harness_launch(rt, 0);
	uint64_t actor = harness_spawn(k, "echo", -1);
	struct relay_message m = { 0, 0, 0 };
	struct peal_received r;

	if (rank == 1) {
		CHECK_OK(peal_process_export(set, "actor", actor));
		procs_connect(set, 0, "back", actor, 0, plain);
		procs_meet(2); /* both links exist */
		procs_meet(0);
		CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	} else {
		CHECK_OK(peal_process_export(set, "back",
					     peal_endpoint_address(e)));
		procs_connect(set, 1, "actor", peal_endpoint_address(e), 0,
			      plain);
		procs_meet(2);
		harness_send(e, 0, 3, 0, 4);
		harness_receive(e, 3, 0, 4);
		procs_meet(0);
		CHECK_FAILS(peal_receive(e, NULL, 0, &r, MAX_WAIT),
			    PEAL_ESTOPPED, "rank 1 (pid ");
		EVENTUALLY(peal_send(e, 0, 0, &m, sizeof(m), 0, NULL) ==
			   PEAL_ESTOPPED);
	}
	procs_meet(1);
	CHECK_OK(peal_process_group_leave(set, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(ended_kernel_closes_its_remote_links)
{
	PROCS(2, kernel_ends);
}

/* ---- resources ----------------------------------------------------------- */

static void many_links(int rank)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_process_group *set = procs_enter(rt);
	struct peal_endpoint *e = harness_endpoint(rt);
	int before = procs_descriptors(), i;
	struct peal_runtime_info info;

	CHECK_OK(peal_process_export(set, "in", peal_endpoint_address(e)));
	procs_meet(0);
	for (i = 0; i < 50; i++)
		CHECK_OK(peal_link_destroy(
			procs_connect(set, 1 - rank, "in",
				      peal_endpoint_address(e), 0, plain)));
	procs_meet(1);
	/* closed links that the other rank made still belong to this runtime */
	EVENTUALLY(procs_descriptors() == before);
	CHECK_OK(peal_runtime_info(rt, &info));
	CHECK(info.n_links <= 50);
	CHECK_EQ(info.n_process_groups, 1);
	CHECK_FAILS(peal_runtime_close(rt), PEAL_EBUSY, "1 process group");
	procs_meet(2);
	CHECK_OK(peal_process_group_leave(set, MAX_WAIT));
	CHECK_OK(peal_endpoint_destroy(e));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(repeated_remote_links_leak_no_descriptor)
{
	PROCS(2, many_links);
}

PEAL_TEST_MAIN(RUN(two_processes_exchange_messages_of_all_lengths);
	       RUN(four_processes_all_send_to_all);
	       RUN(full_link_blocks_sender_until_peer_receives);
	       RUN_LANES(actors_of_two_processes_are_linked);
	       RUN(sleeping_kernel_wakes_for_remote_message);
	       RUN(link_destroyed_by_peer_process_is_closed);
	       RUN(leaving_process_closes_its_links);
	       RUN(runtime_shutdown_leaves_process_groups);
	       RUN(ended_kernel_closes_its_remote_links);
	       RUN(repeated_remote_links_leak_no_descriptor);)
