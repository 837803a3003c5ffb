/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A group's ring prefers peer routes. Errors name members that are late or have
 * ended. Refused collectives have no effect.
 */
#include "runtime/communicator_fixture.h"

#include "runtime/collective/communicator.h"

#define COUNT 1000

static const struct peal_comm_options plain;

static const struct act sum = { .kind = PEAL_ALL_REDUCE,
				.element = PEAL_I32,
				.reduction = PEAL_SUM,
				.count = COUNT,
				.algorithm = PEAL_ALGORITHM_RING };

static struct fixture s;

static void open_three(void)
{
	fixture_open(&s, 3, "", 8 * COUNT, plain);
}

static struct peal_kernel *kernel_of(uint32_t rank)
{
	return s.g->members[s.g->place_of[rank]].kernel;
}

/* ---- the ring ------------------------------------------------------------ */

/* Of all rings of these five devices, one has peer routes alone. */
PEAL_TEST(ring_prefers_peer_routes)
{
	static const char *const links =
		"0-1:none,0-3:none,1-2:none,2-4:none,3-4:none";
	uint32_t i;

	fixture_open(&s, 5, links, 4 * COUNT, plain);
	for (i = 0; i < 5; i++)
		CHECK_EQ(s.info.route[i], PEAL_ROUTE_PEER);
	fixture_check(&s, sum);
	CHECK_OK(peal_comm_info(s.g, &s.info));
	CHECK_EQ(s.info.done, 1);
	CHECK_EQ(s.info.lanes, lanes);
	CHECK_EQ(s.info.channels, 1);
	CHECK_EQ(s.info.slice_bytes, 262144);
	CHECK(s.info.memory_bytes > 5 * 17 * 262144);
	fixture_close(&s);
}

PEAL_TEST(ring_without_peers_contains_all_members)
{
	uint32_t i, seen = 0;

	fixture_open(&s, 3, "0-1:none,0-2:none,1-2:none", 4 * COUNT, plain);
	for (i = 0; i < 3; i++) {
		CHECK(s.info.route[i] == PEAL_ROUTE_MAPPED_HOST ||
		      s.info.route[i] == PEAL_ROUTE_STAGED);
		seen |= 1u << s.info.ring[i];
	}
	CHECK_EQ(seen, 7);
	fixture_check(&s, sum);
	fixture_close(&s);
}

/* ---- barriers ------------------------------------------------------------ */

static void barrier_waits(uint32_t algorithm)
{
	struct peal_collective c = { .size = sizeof(c),
				     .kind = PEAL_COMM_BARRIER,
				     .algorithm = algorithm };

	open_three();
	CHECK_OK(peal_collective_run(s.g, &c, MAX_WAIT));
	CHECK_OK(peal_kernel_suspend(kernel_of(1), MAX_WAIT));
	CHECK_OK(peal_collective_start(s.g, &c));
	CHECK_EQ(peal_collective_wait(s.g, 50 * MS), PEAL_ETIMEDOUT);
	/* no member has passed */
	CHECK(strstr(peal_last_error()->text, "0 (device 1)"));
	CHECK(strstr(peal_last_error()->text, "1 (device 2)"));
	CHECK(strstr(peal_last_error()->text, "2 (device 0)"));
	CHECK_EQ(peal_collective_start(s.g, &c), PEAL_EBUSY);
	CHECK_OK(peal_kernel_resume(kernel_of(1)));
	CHECK_OK(peal_collective_wait(s.g, MAX_WAIT));
	CHECK_OK(peal_collective_wait(s.g, 0)); /* no collective */
	fixture_close(&s);
}

PEAL_TEST(collective_barrier_waits_for_all_members)
{
	barrier_waits(PEAL_ALGORITHM_DEFAULT);
	barrier_waits(PEAL_ALGORITHM_TREE);
}

/* ---- late and ended members ---------------------------------------------- */

PEAL_TEST(slow_member_is_named_and_its_memory_is_held)
{
	struct peal_collective c = act_asks(&sum, s.in, s.out);

	open_three();
	c.kind = PEAL_GATHER;
	c.reduction = 0;
	c.root = 2;
	CHECK_OK(peal_kernel_suspend(kernel_of(0), MAX_WAIT));
	CHECK_OK(peal_collective_start(s.g, &c));
	CHECK_EQ(peal_collective_wait(s.g, 20 * MS), PEAL_ETIMEDOUT);
	CHECK(strstr(peal_last_error()->text, "0 (device 1)"));
	CHECK_EQ(peal_memory_free(s.rt, s.info.device[2], s.in[2]), PEAL_EBUSY);
	CHECK_EQ(peal_memory_free(s.rt, s.info.device[2], s.out[2]),
		 PEAL_EBUSY);
	CHECK_EQ(peal_collective_wait(s.g, 0), PEAL_ETIMEDOUT);
	CHECK_OK(peal_kernel_resume(kernel_of(0)));
	CHECK_OK(peal_collective_wait(s.g, -1));
	fixture_check(&s, sum);
	fixture_close(&s);
}

PEAL_TEST(ended_member_is_named)
{
	struct peal_collective c = act_asks(&sum, s.in, s.out);

	open_three();
	CHECK_OK(peal_kernel_suspend(kernel_of(2), MAX_WAIT));
	CHECK_OK(peal_collective_start(s.g, &c));
	CHECK_OK(peal_kernel_abort(kernel_of(2), MAX_WAIT));
	CHECK_EQ(peal_collective_wait(s.g, -1), PEAL_EABORTED);
	CHECK(strstr(peal_last_error()->text, "rank 2 on device 0"));
	CHECK_EQ(peal_collective_wait(s.g, -1), PEAL_EABORTED);
	CHECK_EQ(peal_collective_start(s.g, &c), PEAL_EABORTED);
	fixture_close(&s);
	open_three();
	CHECK_OK(peal_kernel_stop(kernel_of(1), MAX_WAIT));
	CHECK_EQ(peal_collective_start(s.g, &c), PEAL_EABORTED);
	CHECK(strstr(peal_last_error()->text, "rank 1 on device 2"));
	fixture_close(&s);
}

/* Sends a member an invalid message during a collective. */
static void send_nonsense(uint32_t algorithm, uint32_t channel)
{
	struct peal_collective c = act_asks(&sum, s.in, s.out);
	struct peal_member_head odd = { .sequence = 77, .owner = 99 };

	open_three();
	c.algorithm = algorithm;
	CHECK_OK(peal_kernel_suspend(kernel_of(0), MAX_WAIT));
	CHECK_OK(peal_collective_start(s.g, &c));
	CHECK_OK(peal_send(
		s.g->host, peali_comm_port(s.g, s.g->place_of[1], channel),
		PEAL_MEMBER_DATA, &odd, sizeof(odd), MAX_WAIT, NULL));
	CHECK_EQ(peal_collective_wait(s.g, MAX_WAIT), PEAL_EPROTO);
	CHECK_CONTAINS(peal_last_error()->text, "rank 1 received invalid data");
	CHECK_OK(peal_kernel_resume(kernel_of(0)));
	fixture_close(&s);
}

PEAL_TEST(member_with_invalid_messages_is_named)
{
	send_nonsense(PEAL_ALGORITHM_EXCHANGE, 1);
	send_nonsense(PEAL_ALGORITHM_RING, 0);
}

PEAL_TEST(communicator_can_be_destroyed_while_running)
{
	struct peal_collective c = act_asks(&sum, s.in, s.out);

	open_three();
	CHECK_OK(peal_collective_start(s.g, &c));
	fixture_close(&s);
	open_three();
	CHECK_OK(peal_collective_start(s.g, &c));
	CHECK_EQ(peal_runtime_close(s.rt), PEAL_EBUSY);
	CHECK(strstr(peal_last_error()->text, "1 communicator"));
	CHECK_OK(peal_runtime_shutdown(s.rt));
	fixture_free_host(&s);
}

/* ---- refused calls ------------------------------------------------------- */

static void refused(struct peal_collective c, int result, const char *text)
{
	CHECK_EQ(peal_collective_start(s.g, &c), result);
	if (!strstr(peal_last_error()->text, text))
		fprintf(stderr, "'%s' in '%s'\n", text,
			peal_last_error()->text);
	CHECK(strstr(peal_last_error()->text, text));
}

PEAL_TEST(invalid_arguments_return_einval)
{
	struct peal_collective c = act_asks(&sum, s.in, s.out), d;

	open_three();
	CHECK_EQ(peal_collective_start(NULL, &c), PEAL_EINVAL);
	CHECK_EQ(peal_collective_start(s.g, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_collective_wait(NULL, 0), PEAL_EINVAL);
	CHECK_EQ(peal_comm_info(NULL, &s.info), PEAL_EINVAL);
	d = c, d.kind = 0,
	refused(d, PEAL_EINVAL, "'kind': is out of range (0, allowed 1..9)");
	d = c, d.kind = 10,
	refused(d, PEAL_EINVAL, "'kind': is out of range (10, allowed 1..9)");
	d = c, d.element = 0,
	refused(d, PEAL_EINVAL, "'element': is out of range (0, allowed 1..6)");
	d = c, d.element = 7,
	refused(d, PEAL_EINVAL, "'element': is out of range (7, allowed 1..6)");
	d = c, d.reduction = 0,
	refused(d, PEAL_EINVAL,
		"'reduction': is out of range (0, allowed 1..5)");
	d = c, d.reduction = 6,
	refused(d, PEAL_EINVAL,
		"'reduction': is out of range (6, allowed 1..5)");
	d = c, d.algorithm = 4,
	refused(d, PEAL_EINVAL,
		"'algorithm': is out of range (4, allowed 0..3)");
	d = c, d.root = 1,
	refused(d, PEAL_EINVAL, "'root': is out of range (1, allowed 0)");
	d = c, d.count = UINT64_MAX / 4,
	refused(d, PEAL_EINVAL, "'count': is too large for the memory (");
	d = c, d.in = NULL, refused(d, PEAL_EINVAL, "'in': is NULL");
	d = c, d.out = NULL, refused(d, PEAL_EINVAL, "'out': is NULL");
	d = c, d.kind = PEAL_BROADCAST;
	refused(d, PEAL_EINVAL, "'reduction': is out of range (1, allowed 0)");
	d.reduction = 0, d.root = 3,
	refused(d, PEAL_EINVAL, "'root': is out of range (3, allowed 0..2)");
	d = c, d.algorithm = PEAL_ALGORITHM_EXCHANGE, d.count = 1025;
	refused(d, PEAL_EMSGSIZE, "(4100 bytes, allowed 0..4096)");
	d.algorithm = PEAL_ALGORITHM_TREE;
	refused(d, PEAL_EMSGSIZE, "(4100 bytes, allowed 0..4096)");
	d.count = 3, d.kind = PEAL_REDUCE_SCATTER;
	refused(d, PEAL_EINVAL, "'algorithm': does not split elements");
	d.kind = PEAL_ALL_TO_ALL;
	refused(d, PEAL_EINVAL, "'reduction': is out of range (1, allowed 0)");
	d.reduction = 0;
	refused(d, PEAL_EINVAL, "'algorithm': does not split elements");
	d.algorithm = PEAL_ALGORITHM_EXCHANGE, d.count = 3073;
	refused(d, PEAL_EMSGSIZE, "(4100 bytes, allowed 0..4096)");
	CHECK_OK(peal_comm_info(s.g, &s.info));
	CHECK_EQ(s.info.done, 0);
	fixture_check(&s, sum);
	fixture_close(&s);
}

PEAL_TEST(invalid_or_overlapping_memory_is_refused)
{
	uint64_t in[3], out[3];
	struct peal_collective c = act_asks(&sum, in, out);
	uint32_t i;

	open_three();
	for (i = 0; i < 3; i++) {
		in[i] = s.in[i];
		out[i] = s.out[i];
	}
	in[1] += 2;
	refused(c, PEAL_EINVAL, "'in': of rank 1 is not aligned");
	c.element = PEAL_BF16;
	CHECK_OK(peal_collective_run(s.g, &c, MAX_WAIT));
	in[1]--;
	refused(c, PEAL_EINVAL,
		"1, allowed multiples of 2); pass another address");
	in[1]++;
	c.element = PEAL_I32;
	in[1] += 8 * COUNT - 2;
	refused(c, PEAL_EFAULT, "device 2");
	in[1] = 0;
	refused(c, PEAL_EFAULT, "device 2");
	in[1] = out[1] + 4; /* overlaps, and is not in place */
	refused(c, PEAL_EINVAL,
		"'out': overlaps a range of rank 1 on device 2");
	in[1] = out[1];
	CHECK_OK(peal_collective_run(s.g, &c, MAX_WAIT));
	/* in place, the input of an all-gather is its part of the output */
	c.kind = PEAL_ALL_GATHER;
	c.reduction = 0;
	refused(c, PEAL_EINVAL,
		"'out': overlaps a range of rank 1 on device 2");
	in[1] = out[1] + 4 * part_first(COUNT, 3, 1);
	CHECK_OK(peal_collective_run(s.g, &c, MAX_WAIT));
	/* no member of an all-to-all works in place */
	c.kind = PEAL_ALL_TO_ALL;
	in[1] = out[1];
	refused(c, PEAL_EINVAL,
		"'out': overlaps a range of rank 1 on device 2");
	/* its output is three parts of 334, more than COUNT elements */
	in[1] = out[1] + 4 * 3 * 333;
	CHECK_OK(peal_collective_run(s.g, &c, MAX_WAIT));
	in[0] = out[0] + 4 * COUNT;
	refused(c, PEAL_EINVAL,
		"'out': overlaps a range of rank 0 on device 1");
	/* refused calls hold no memory: it can be freed */
	fixture_close(&s);
}

/* Two members write to one range of host memory. */
PEAL_TEST(members_writing_one_range_are_refused)
{
	uint64_t out[3], place;
	struct peal_collective c = act_asks(&sum, s.in, out);

	open_three();
	CHECK_OK(peal_memory_alloc(s.rt, PEAL_HOST_MEMORY, 8 * COUNT, &place));
	out[0] = place;
	out[1] = place + 4 * COUNT - 4;
	out[2] = s.out[2];
	refused(c, PEAL_EINVAL, "'out': overlaps a range of rank");
	out[1] += 4;
	CHECK_OK(peal_collective_run(s.g, &c, MAX_WAIT));
	CHECK_OK(peal_memory_free(s.rt, PEAL_HOST_MEMORY, place));
	fixture_close(&s);
}

PEAL_TEST(invalid_communicators_are_refused)
{
	static const int devices[] = { 0, 1,  2,  3,  4,  5,  6,  7, 8,
				       9, 10, 11, 12, 13, 14, 15, 16 };
	static const int twice[] = { 0, 1, 0 }, none[] = { 0, 7 };
	struct peal_comm_options o = { .size = sizeof(o) };
	struct peal_comm *g = NULL;

	if (lanes > 1)
		return;
	open_three();
	CHECK_EQ(peal_comm_create(NULL, devices, 2, NULL, &g), PEAL_EINVAL);
	CHECK_EQ(peal_comm_create(s.rt, NULL, 2, NULL, &g), PEAL_EINVAL);
	CHECK_EQ(peal_comm_create(s.rt, devices, 2, NULL, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_comm_create(s.rt, devices, 0, NULL, &g), PEAL_EINVAL);
	CHECK_EQ(peal_comm_create(s.rt, devices, 65, NULL, &g), PEAL_EINVAL);
	CHECK(strstr(peal_last_error()->text,
		     "'n': is out of range (65, allowed 1..64)"));
	CHECK_EQ(peal_comm_create(s.rt, twice, 3, NULL, &g), PEAL_EINVAL);
	CHECK(strstr(peal_last_error()->text,
		     "device 0: is in a group twice (ranks 0 and 2, allowed "
		     "one "
		     "rank)"));
	CHECK_EQ(peal_comm_create(s.rt, none, 2, NULL, &g), PEAL_ENODEV);
	o.channels = 65;
	CHECK_EQ(peal_comm_create(s.rt, devices, 2, &o, &g), PEAL_EINVAL);
	CHECK(strstr(peal_last_error()->text,
		     "'channels': is out of range (65, allowed 0..64)"));
	o.channels = 0, o.slice_bytes = 12;
	CHECK_EQ(peal_comm_create(s.rt, devices, 2, &o, &g), PEAL_EINVAL);
	CHECK(strstr(peal_last_error()->text,
		     "'slice_bytes': must be a multiple of 8 (12"));
	o.slice_bytes = 0, o.lanes = 1000000;
	CHECK_EQ(peal_comm_create(s.rt, devices, 2, &o, &g), PEAL_EINVAL);
	/* a communicator of one member launches no kernel */
	CHECK_FAILS(peal_comm_create(s.rt, devices, 1, &o, &g), PEAL_EINVAL,
		    "'lanes': is out of range (1000000, allowed 0..1024)");
	CHECK_EQ(g == NULL, 1);
	CHECK_OK(peal_comm_destroy(NULL));
	fixture_check(&s, sum);
	fixture_close(&s);
}

/* Two groups on the same devices run collectives at the same time. */
PEAL_TEST(several_communicators_run_concurrently)
{
	struct peal_collective c = act_asks(&sum, s.in, s.out), d = c;
	uint64_t in[2], out[2];
	struct peal_comm *pair = NULL;
	int devices[2], i, turn;

	open_three();
	for (i = 0; i < 2; i++) {
		devices[i] = i;
		CHECK_OK(peal_memory_alloc(s.rt, i, 4 * COUNT, &in[i]));
		CHECK_OK(peal_memory_alloc(s.rt, i, 4 * COUNT, &out[i]));
	}
	CHECK_OK(peal_comm_create(s.rt, devices, 2, NULL, &pair));
	d.in = in;
	d.out = out;
	for (turn = 0; turn < 20; turn++) {
		CHECK_OK(peal_collective_start(pair, &d));
		CHECK_OK(peal_collective_start(s.g, &c));
		CHECK_OK(peal_collective_wait(pair, MAX_WAIT));
		CHECK_OK(peal_collective_wait(s.g, MAX_WAIT));
	}
	fixture_check(&s, sum);
	CHECK_OK(peal_comm_destroy(pair));
	for (i = 0; i < 2; i++) {
		CHECK_OK(peal_memory_free(s.rt, i, in[i]));
		CHECK_OK(peal_memory_free(s.rt, i, out[i]));
	}
	fixture_close(&s);
}

PEAL_TEST_MAIN(RUN_LANES(ring_prefers_peer_routes);
	       RUN_LANES(ring_without_peers_contains_all_members);
	       RUN_LANES(collective_barrier_waits_for_all_members);
	       RUN_LANES(slow_member_is_named_and_its_memory_is_held);
	       RUN_LANES(ended_member_is_named);
	       RUN_LANES(member_with_invalid_messages_is_named);
	       RUN_LANES(communicator_can_be_destroyed_while_running);
	       RUN_LANES(invalid_arguments_return_einval);
	       RUN_LANES(invalid_or_overlapping_memory_is_refused);
	       RUN_LANES(members_writing_one_range_are_refused);
	       RUN_LANES(invalid_communicators_are_refused);
	       RUN_LANES(several_communicators_run_concurrently);)
