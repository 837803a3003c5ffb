/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A group's ring prefers peer routes. Errors name members that are late or have
 * ended. Refused collectives have no effect.
 */
#include "runtime/group_scene.h"

#include "runtime/collective/communicator.h"

#define COUNT 1000

static const struct peal_group_options plain;

static const struct act sum = { .kind = PEAL_ALL_REDUCE,
				.element = PEAL_I32,
				.reduction = PEAL_SUM,
				.count = COUNT,
				.algorithm = PEAL_ALGORITHM_RING };

static struct scene s;

static void open_three(void)
{
	scene_open(&s, 3, "", 8 * COUNT, plain);
}

static struct peal_kernel *kernel_of(uint32_t rank)
{
	return s.g->members[s.g->place_of[rank]].kernel;
}

/* ---- the ring ------------------------------------------------------------ */

/* Of all rings of these five devices, one has peer routes alone. */
PEAL_TEST(a_ring_goes_by_peers)
{
	static const char *const links =
		"0-1:none,0-3:none,1-2:none,2-4:none,3-4:none";
	uint32_t i;

	scene_open(&s, 5, links, 4 * COUNT, plain);
	for (i = 0; i < 5; i++)
		CHECK_EQ(s.info.route[i], PEAL_ROUTE_PEER);
	scene_check(&s, sum);
	CHECK_OK(peal_group_info(s.g, &s.info));
	CHECK_EQ(s.info.done, 1);
	CHECK_EQ(s.info.lanes, lanes);
	CHECK_EQ(s.info.channels, 1);
	CHECK_EQ(s.info.slice_bytes, 262144);
	CHECK(s.info.memory_bytes > 5 * 17 * 262144);
	scene_close(&s);
}

PEAL_TEST(without_peers_all_have_a_place_in_it)
{
	uint32_t i, seen = 0;

	scene_open(&s, 3, "0-1:none,0-2:none,1-2:none", 4 * COUNT, plain);
	for (i = 0; i < 3; i++) {
		CHECK(s.info.route[i] == PEAL_ROUTE_MAPPED_HOST ||
		      s.info.route[i] == PEAL_ROUTE_STAGED);
		seen |= 1u << s.info.ring[i];
	}
	CHECK_EQ(seen, 7);
	scene_check(&s, sum);
	scene_close(&s);
}

/* ---- barriers ------------------------------------------------------------ */

static void barrier_waits(uint32_t algorithm)
{
	struct peal_collective c = { .size = sizeof(c),
				     .kind = PEAL_GROUP_BARRIER,
				     .algorithm = algorithm };

	open_three();
	CHECK_OK(peal_collective_run(s.g, &c, PATIENCE));
	CHECK_OK(peal_kernel_suspend(kernel_of(1), PATIENCE));
	CHECK_OK(peal_collective_start(s.g, &c));
	CHECK_EQ(peal_collective_wait(s.g, 50 * MS), PEAL_ETIMEDOUT);
	/* no member has passed */
	CHECK(strstr(peal_last_error()->text, "0 (device 1)"));
	CHECK(strstr(peal_last_error()->text, "1 (device 2)"));
	CHECK(strstr(peal_last_error()->text, "2 (device 0)"));
	CHECK_EQ(peal_collective_start(s.g, &c), PEAL_EBUSY);
	CHECK_OK(peal_kernel_resume(kernel_of(1)));
	CHECK_OK(peal_collective_wait(s.g, PATIENCE));
	CHECK_OK(peal_collective_wait(s.g, 0)); /* no collective */
	scene_close(&s);
}

PEAL_TEST(a_barrier_waits_for_all)
{
	barrier_waits(PEAL_ALGORITHM_DEFAULT);
	barrier_waits(PEAL_ALGORITHM_TREE);
}

/* ---- late and ended members ---------------------------------------------- */

PEAL_TEST(memory_in_use_is_kept_and_who_is_late_is_named)
{
	struct peal_collective c = act_asks(&sum, s.in, s.out);

	open_three();
	c.kind = PEAL_GATHER;
	c.reduction = 0;
	c.root = 2;
	CHECK_OK(peal_kernel_suspend(kernel_of(0), PATIENCE));
	CHECK_OK(peal_collective_start(s.g, &c));
	CHECK_EQ(peal_collective_wait(s.g, 20 * MS), PEAL_ETIMEDOUT);
	CHECK(strstr(peal_last_error()->text, "0 (device 1)"));
	CHECK_EQ(peal_memory_free(s.rt, s.info.device[2], s.in[2]), PEAL_EBUSY);
	CHECK_EQ(peal_memory_free(s.rt, s.info.device[2], s.out[2]),
		 PEAL_EBUSY);
	CHECK_EQ(peal_collective_wait(s.g, 0), PEAL_ETIMEDOUT);
	CHECK_OK(peal_kernel_resume(kernel_of(0)));
	CHECK_OK(peal_collective_wait(s.g, -1));
	scene_check(&s, sum);
	scene_close(&s);
}

PEAL_TEST(a_member_that_ends_is_named)
{
	struct peal_collective c = act_asks(&sum, s.in, s.out);

	open_three();
	CHECK_OK(peal_kernel_suspend(kernel_of(2), PATIENCE));
	CHECK_OK(peal_collective_start(s.g, &c));
	CHECK_OK(peal_kernel_abort(kernel_of(2), PATIENCE));
	CHECK_EQ(peal_collective_wait(s.g, -1), PEAL_EABORTED);
	CHECK(strstr(peal_last_error()->text, "rank 2 on device 0"));
	CHECK_EQ(peal_collective_wait(s.g, -1), PEAL_EABORTED);
	CHECK_EQ(peal_collective_start(s.g, &c), PEAL_EABORTED);
	scene_close(&s);
	open_three();
	CHECK_OK(peal_kernel_stop(kernel_of(1), PATIENCE));
	CHECK_EQ(peal_collective_start(s.g, &c), PEAL_EABORTED);
	CHECK(strstr(peal_last_error()->text, "rank 1 on device 2"));
	scene_close(&s);
}

/* Sends a member an invalid message during a collective. */
static void send_nonsense(uint32_t algorithm, uint32_t channel)
{
	struct peal_collective c = act_asks(&sum, s.in, s.out);
	struct peal_member_head odd = { .sequence = 77, .owner = 99 };

	open_three();
	c.algorithm = algorithm;
	CHECK_OK(peal_kernel_suspend(kernel_of(0), PATIENCE));
	CHECK_OK(peal_collective_start(s.g, &c));
	CHECK_OK(peal_send(s.g->host,
			   peali_group_port(s.g, s.g->place_of[1], channel),
			   PEAL_MEMBER_DATA, &odd, sizeof(odd), PATIENCE));
	CHECK_EQ(peal_collective_wait(s.g, PATIENCE), PEAL_EPROTO);
	CHECK_CONTAINS(peal_last_error()->text,
		       "rank 1 got what makes no sense");
	CHECK_OK(peal_kernel_resume(kernel_of(0)));
	scene_close(&s);
}

PEAL_TEST(a_member_that_gets_nonsense_is_named)
{
	send_nonsense(PEAL_ALGORITHM_EXCHANGE, 1);
	send_nonsense(PEAL_ALGORITHM_RING, 0);
}

PEAL_TEST(a_group_ends_at_any_time)
{
	struct peal_collective c = act_asks(&sum, s.in, s.out);

	open_three();
	CHECK_OK(peal_collective_start(s.g, &c));
	scene_close(&s);
	open_three();
	CHECK_OK(peal_collective_start(s.g, &c));
	CHECK_EQ(peal_runtime_close(s.rt), PEAL_EBUSY);
	CHECK(strstr(peal_last_error()->text, "1 groups"));
	CHECK_OK(peal_runtime_shutdown(s.rt));
	scene_free_host(&s);
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

PEAL_TEST(what_makes_no_sense_is_refused)
{
	struct peal_collective c = act_asks(&sum, s.in, s.out), d;

	open_three();
	CHECK_EQ(peal_collective_start(NULL, &c), PEAL_EINVAL);
	CHECK_EQ(peal_collective_start(s.g, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_collective_wait(NULL, 0), PEAL_EINVAL);
	CHECK_EQ(peal_group_info(NULL, &s.info), PEAL_EINVAL);
	d = c, d.kind = 0, refused(d, PEAL_EINVAL, "kind is 0: it is 1 to 8");
	d = c, d.kind = 9, refused(d, PEAL_EINVAL, "kind is 9");
	d = c, d.element = 0, refused(d, PEAL_EINVAL, "element is 0");
	d = c, d.element = 5, refused(d, PEAL_EINVAL, "element is 5");
	d = c, d.reduction = 0, refused(d, PEAL_EINVAL, "reduction is 0");
	d = c, d.reduction = 5, refused(d, PEAL_EINVAL, "reduction is 5");
	d = c, d.algorithm = 4, refused(d, PEAL_EINVAL, "algorithm is 4");
	d = c, d.root = 1, refused(d, PEAL_EINVAL, "root is 1: it is to be 0");
	d = c, d.count = UINT64_MAX / 4, refused(d, PEAL_EINVAL, "count is");
	d = c, d.in = NULL, refused(d, PEAL_EINVAL, "in is NULL");
	d = c, d.out = NULL, refused(d, PEAL_EINVAL, "out is NULL");
	d = c, d.kind = PEAL_BROADCAST;
	refused(d, PEAL_EINVAL, "reduction is 1");
	d.reduction = 0, d.root = 3, refused(d, PEAL_EINVAL, "root is 3");
	d = c, d.algorithm = PEAL_ALGORITHM_EXCHANGE, d.count = 1025;
	refused(d, PEAL_EMSGSIZE, "4100 bytes");
	d.algorithm = PEAL_ALGORITHM_TREE;
	refused(d, PEAL_EMSGSIZE, "4100 bytes");
	d.count = 3, d.kind = PEAL_REDUCE_SCATTER;
	refused(d, PEAL_EINVAL, "a tree");
	CHECK_OK(peal_group_info(s.g, &s.info));
	CHECK_EQ(s.info.done, 0);
	scene_check(&s, sum);
	scene_close(&s);
}

PEAL_TEST(memory_that_is_not_there_or_overlaps_is_refused)
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
	refused(c, PEAL_EINVAL, "`in` of rank 1");
	in[1] += 8 * COUNT - 2;
	refused(c, PEAL_EFAULT, "device 2");
	in[1] = 0;
	refused(c, PEAL_EFAULT, "device 2");
	in[1] = out[1] + 4; /* overlaps, and is not in place */
	refused(c, PEAL_EINVAL, "`out` of rank 1 (device 2) overlaps `in`");
	in[1] = out[1];
	CHECK_OK(peal_collective_run(s.g, &c, PATIENCE));
	/* in place, the input of an all-gather is its part of the output */
	c.kind = PEAL_ALL_GATHER;
	c.reduction = 0;
	refused(c, PEAL_EINVAL, "`out` of rank 1 (device 2) overlaps `in`");
	in[1] = out[1] + 4 * part_first(COUNT, 3, 1);
	CHECK_OK(peal_collective_run(s.g, &c, PATIENCE));
	/* refused calls hold no memory: it can be freed */
	scene_close(&s);
}

/* Two members write to one range of host memory. */
PEAL_TEST(members_that_write_to_one_place_are_refused)
{
	uint64_t out[3], place;
	struct peal_collective c = act_asks(&sum, s.in, out);

	open_three();
	CHECK_OK(peal_memory_alloc(s.rt, PEAL_HOST_MEMORY, 8 * COUNT, &place));
	out[0] = place;
	out[1] = place + 4 * COUNT - 4;
	out[2] = s.out[2];
	refused(c, PEAL_EINVAL, "`out` of rank");
	out[1] += 4;
	CHECK_OK(peal_collective_run(s.g, &c, PATIENCE));
	CHECK_OK(peal_memory_free(s.rt, PEAL_HOST_MEMORY, place));
	scene_close(&s);
}

PEAL_TEST(groups_that_cannot_be_are_refused)
{
	static const int devices[] = { 0, 1,  2,  3,  4,  5,  6,  7, 8,
				       9, 10, 11, 12, 13, 14, 15, 16 };
	static const int twice[] = { 0, 1, 0 }, none[] = { 0, 7 };
	struct peal_group_options o = { .size = sizeof(o) };
	struct peal_group *g = NULL;

	if (lanes > 1)
		return;
	open_three();
	CHECK_EQ(peal_group_create(NULL, devices, 2, NULL, &g), PEAL_EINVAL);
	CHECK_EQ(peal_group_create(s.rt, NULL, 2, NULL, &g), PEAL_EINVAL);
	CHECK_EQ(peal_group_create(s.rt, devices, 2, NULL, NULL), PEAL_EINVAL);
	CHECK_EQ(peal_group_create(s.rt, devices, 0, NULL, &g), PEAL_EINVAL);
	CHECK_EQ(peal_group_create(s.rt, devices, 17, NULL, &g), PEAL_EINVAL);
	CHECK(strstr(peal_last_error()->text, "17 devices"));
	CHECK_EQ(peal_group_create(s.rt, twice, 3, NULL, &g), PEAL_EINVAL);
	CHECK(strstr(peal_last_error()->text, "device 0 has two ranks"));
	CHECK_EQ(peal_group_create(s.rt, none, 2, NULL, &g), PEAL_ENODEV);
	o.channels = 65;
	CHECK_EQ(peal_group_create(s.rt, devices, 2, &o, &g), PEAL_EINVAL);
	CHECK(strstr(peal_last_error()->text, "channels is 65"));
	o.channels = 0, o.slice_bytes = 12;
	CHECK_EQ(peal_group_create(s.rt, devices, 2, &o, &g), PEAL_EINVAL);
	CHECK(strstr(peal_last_error()->text, "slice_bytes is 12"));
	o.slice_bytes = 0, o.lanes = 1000000;
	CHECK_EQ(peal_group_create(s.rt, devices, 2, &o, &g), PEAL_EINVAL);
	CHECK_EQ(g == NULL, 1);
	CHECK_OK(peal_group_destroy(NULL));
	scene_check(&s, sum);
	scene_close(&s);
}

/* Two groups on the same devices run collectives at the same time. */
PEAL_TEST(several_groups_at_a_time)
{
	struct peal_collective c = act_asks(&sum, s.in, s.out), d = c;
	uint64_t in[2], out[2];
	struct peal_group *pair = NULL;
	int devices[2], i, turn;

	open_three();
	for (i = 0; i < 2; i++) {
		devices[i] = i;
		CHECK_OK(peal_memory_alloc(s.rt, i, 4 * COUNT, &in[i]));
		CHECK_OK(peal_memory_alloc(s.rt, i, 4 * COUNT, &out[i]));
	}
	CHECK_OK(peal_group_create(s.rt, devices, 2, NULL, &pair));
	d.in = in;
	d.out = out;
	for (turn = 0; turn < 20; turn++) {
		CHECK_OK(peal_collective_start(pair, &d));
		CHECK_OK(peal_collective_start(s.g, &c));
		CHECK_OK(peal_collective_wait(pair, PATIENCE));
		CHECK_OK(peal_collective_wait(s.g, PATIENCE));
	}
	scene_check(&s, sum);
	CHECK_OK(peal_group_destroy(pair));
	for (i = 0; i < 2; i++) {
		CHECK_OK(peal_memory_free(s.rt, i, in[i]));
		CHECK_OK(peal_memory_free(s.rt, i, out[i]));
	}
	scene_close(&s);
}

PEAL_TEST_MAIN(RUN_LANES(a_ring_goes_by_peers);
	       RUN_LANES(without_peers_all_have_a_place_in_it);
	       RUN_LANES(a_barrier_waits_for_all);
	       RUN_LANES(memory_in_use_is_kept_and_who_is_late_is_named);
	       RUN_LANES(a_member_that_ends_is_named);
	       RUN_LANES(a_member_that_gets_nonsense_is_named);
	       RUN_LANES(a_group_ends_at_any_time);
	       RUN_LANES(what_makes_no_sense_is_refused);
	       RUN_LANES(memory_that_is_not_there_or_overlaps_is_refused);
	       RUN_LANES(members_that_write_to_one_place_are_refused);
	       RUN_LANES(groups_that_cannot_be_are_refused);
	       RUN_LANES(several_groups_at_a_time);)
