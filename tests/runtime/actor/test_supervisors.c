/* SPDX-License-Identifier: Apache-2.0 */
/* Supervisors restart the actors that their strategy selects. After too many
 * failures a supervisor is exhausted, and its actors get no messages. */

#include "runtime/supervised_fixture.h"

PEAL_DECLARE_PROGRAM(pools);

/* ---- strategies ---------------------------------------------------------- */

/* Actor 3 of six on three workers fails. Actors first..last must restart. */
static void strategy(uint32_t lanes, uint32_t strategy, uint32_t first,
		     uint32_t last)
{
	struct peal_supervisor_info info;
	struct peal_supervisor *s;
	struct fixture h;
	uint32_t i;

	open_fixture(&h, lanes, 2);
	s = make(&h, strategy, 0, 0, NULL);
	for (i = 0; i < 6; i++)
		add(&h, s);
	add(&h, NULL); /* without supervisor */
	count_all(&h);
	fail(&h, 3);
	for (i = 0; i < h.n; i++)
		expect_count(&h, i, i >= first && i <= last ? 0 : 2);
	info = info_of(s);
	CHECK_EQ(info.members, 6);
	CHECK_EQ(info.failures, 1);
	CHECK_EQ(info.restarted, last - first + 1);
	CHECK_EQ(info.exhausted, 0);
	CHECK_EQ(info.last_actor, h.actor[3]);
	CHECK_EQ(info.last_error, SUPERVISED_ERROR);
	close_fixture(&h);
}

PEAL_TEST(one_for_one_restarts_only_the_failed_actor)
{
	strategy(1, PEAL_ONE_FOR_ONE, 3, 3);
	strategy(32, PEAL_ONE_FOR_ONE, 3, 3);
}

PEAL_TEST(one_for_all_restarts_the_whole_group)
{
	strategy(1, PEAL_ONE_FOR_ALL, 0, 5);
	strategy(32, PEAL_ONE_FOR_ALL, 0, 5);
}

PEAL_TEST(rest_for_one_restarts_the_following_members)
{
	strategy(1, PEAL_REST_FOR_ONE, 3, 5);
	strategy(32, PEAL_REST_FOR_ONE, 3, 5);
}

PEAL_TEST(unsupervised_actor_keeps_its_state)
{
	struct fixture h;
	struct supervised state;

	open_fixture(&h, 1, 1);
	add(&h, NULL);
	fail(&h, 0);
	state = ask(&h, 0);
	CHECK_EQ(state.count, 2);
	CHECK_EQ(state.spoilt, 1);
	close_fixture(&h);
}

/* ---- limits of restarts -------------------------------------------------- */

/* Checks that a message to an actor is dead, reason "down". */
static void expect_down(struct fixture *h, uint32_t i)
{
	uint64_t down = harness_info(h->link[i]).dead[PEAL_REASON_DOWN];

	tell(h, i, SUPERVISED_COUNT);
	EVENTUALLY(harness_info(h->link[i]).dead[PEAL_REASON_DOWN] == down + 1);
}

PEAL_TEST(too_many_failures_exhaust_the_whole_group)
{
	struct peal_supervisor *s, *other;
	struct fixture h;
	uint32_t i;

	open_fixture(&h, 1, 2);
	s = make(&h, PEAL_ONE_FOR_ONE, 2, LONG_NS, NULL);
	other = make(&h, PEAL_ONE_FOR_ONE, 0, 0, NULL);
	add(&h, s);
	add(&h, s);
	add(&h, other);
	add(&h, NULL);
	for (i = 0; i < 2; i++) {
		fail(&h, 0);
		expect_count(&h, 0, 0);
		CHECK(!info_of(s).exhausted);
	}
	fail(&h, 1); /* third failure below s */
	expect_down(&h, 0);
	expect_down(&h, 1);
	expect_count(&h, 2, 0);
	expect_count(&h, 3, 0);
	CHECK(info_of(s).exhausted);
	CHECK_EQ(info_of(s).failures, 3);
	CHECK_EQ(info_of(s).restarted, 2);
	CHECK(!info_of(other).exhausted);
	CHECK_OK(peal_supervisor_restart(s));
	all_look(&h);
	expect_count(&h, 0, 0);
	expect_count(&h, 1, 0);
	CHECK(!info_of(s).exhausted);
	fail(&h, 0); /* s counts failures from zero */
	expect_count(&h, 0, 0);
	close_fixture(&h);
}

PEAL_TEST(zero_restarts_exhaust_at_the_first_failure)
{
	struct peal_supervisor *s;
	struct fixture h;

	open_fixture(&h, 1, 1);
	s = make(&h, PEAL_ONE_FOR_ALL, PEAL_RESTARTS_NONE, LONG_NS, NULL);
	add(&h, s);
	add(&h, s);
	fail(&h, 0);
	expect_down(&h, 0);
	expect_down(&h, 1);
	CHECK_EQ(info_of(s).restarted, 0);
	close_fixture(&h);
}

PEAL_TEST(failures_outside_the_period_do_not_exhaust)
{
	struct peal_supervisor *s;
	struct fixture h;
	uint32_t i;

	open_fixture(&h, 1, 1);
	s = make(&h, PEAL_ONE_FOR_ONE, 2, MS, NULL);
	add(&h, s);
	for (i = 0; i < 8; i++) {
		fail(&h, 0);
		expect_count(&h, 0, 0);
		identity_sleep_us(3000);
	}
	CHECK_EQ(info_of(s).failures, 8);
	CHECK_EQ(info_of(s).restarted, 8);
	CHECK(!info_of(s).exhausted);
	close_fixture(&h);
}

PEAL_TEST(maximum_restart_count_is_exact)
{
	struct peal_supervisor *s;
	struct fixture h;

	open_fixture(&h, 1, 1);
	s = make(&h, PEAL_ONE_FOR_ONE, PEAL_RESTARTS_MAX, LONG_NS, NULL);
	add(&h, s);
	fail_and_restart(&h, 0, PEAL_RESTARTS_MAX);
	fail(&h, 0);
	expect_down(&h, 0);
	close_fixture(&h);
}

/* ---- supervisors of supervisors ------------------------------------------ */

/* When `middle` gives up, left_too and right_too say which siblings restart. */
static void tree(uint32_t top_strategy, int left_too, int right_too)
{
	struct peal_supervisor *top, *left, *middle, *right;
	struct fixture h;
	uint32_t i;

	open_fixture(&h, 1, 4);
	top = make(&h, top_strategy, 2, LONG_NS, NULL);
	left = make(&h, PEAL_ONE_FOR_ONE, 1, LONG_NS, top);
	middle = make(&h, PEAL_ONE_FOR_ONE, 1, LONG_NS, top);
	right = make(&h, PEAL_ONE_FOR_ONE, 1, LONG_NS, top);
	for (i = 0; i < 2; i++)
		add(&h, left); /* 0, 1 */
	for (i = 0; i < 2; i++)
		add(&h, middle); /* 2, 3 */
	for (i = 0; i < 2; i++)
		add(&h, right); /* 4, 5 */
	CHECK_EQ(info_of(top).members, 3);
	count_all(&h);
	fail(&h, 2);
	expect_count(&h, 2, 0);
	expect_count(&h, 3, 2);
	fail(&h, 2); /* middle gives up, top restarts it */
	expect_count(&h, 2, 0);
	expect_count(&h, 3, 0);
	expect_count(&h, 0, left_too ? 0 : 2);
	expect_count(&h, 1, left_too ? 0 : 2);
	expect_count(&h, 4, right_too ? 0 : 2);
	expect_count(&h, 5, right_too ? 0 : 2);
	CHECK(!info_of(middle).exhausted);
	CHECK_EQ(info_of(top).failures, 1);
	for (i = 0; i < 2; i++) { /* a restarted `middle` counts from zero */
		fail(&h, 2);
		expect_count(&h, 2, 0);
		fail(&h, 2);
		if (!i)
			expect_count(&h, 2, 0);
	}
	CHECK(info_of(top).exhausted); /* third failure in its period */
	for (i = 0; i < 6; i++)
		expect_down(&h, i);
	CHECK_OK(peal_supervisor_restart(top));
	all_look(&h);
	for (i = 0; i < 6; i++)
		expect_count(&h, i, 0);
	CHECK_FAILS(peal_supervisor_destroy(top), PEAL_EBUSY, "3 members");
	close_fixture(&h);
}

PEAL_TEST(exhausted_supervisor_fails_its_parent)
{
	tree(PEAL_ONE_FOR_ONE, 0, 0);
	tree(PEAL_REST_FOR_ONE, 0, 1);
	tree(PEAL_ONE_FOR_ALL, 1, 1);
}

/* ---- states and messages ------------------------------------------------- */

static void large_state(uint32_t lanes)
{
	struct supervised_large *init = calloc(1, sizeof(*init));
	struct peal_supervisor *s;
	struct fixture h;
	uint64_t i;

	CHECK(init);
	open_fixture(&h, lanes, 1);
	s = make(&h, PEAL_ONE_FOR_ALL, 9, LONG_NS, NULL);
	for (i = 0; i < SUPERVISED_LARGE_WORDS; i++)
		init->word[i] = i;
	for (i = 0; i < 3; i++) {
		init->base.name = 77 + i;
		add_to(&h, "supervised_large", s, init, sizeof(*init));
	}
	for (i = 0; i < 3; i++) {
		fail(&h, (uint32_t)i);
		expect_count(&h, 0, 0);
		expect_count(&h, 1, 0);
		expect_count(&h, 2, 0);
	}
	free(init);
	close_fixture(&h);
}

PEAL_TEST(restart_resets_every_byte_of_a_large_state)
{
	large_state(1);
	large_state(32);
}

/* Spawns N actors with different init bytes, and one without init bytes. */
PEAL_TEST(each_actor_restarts_with_its_init_bytes)
{
	enum { N = 2000 };
	struct peal_kernel_options big = { .size = sizeof(big),
					   .max_actors = N + 1,
					   .max_supervisors = 1 };
	struct peal_actor_options o = { .size = sizeof(o) };
	struct peal_link_options none = { .capacity = 0 };
	struct peal_received r;
	static uint64_t name[2 * N], address[N];
	struct peal_supervisor *s;
	struct supervised state;
	struct fixture h;
	uint32_t i, k;
	uint64_t zero = 0;

	open_fixture(&h, 1, 1);
	CHECK_OK(peal_kernel_stop(h.k, MAX_WAIT));
	CHECK_OK(peal_kernel_destroy(h.k));
	h.k = NULL;
	CHECK_OK(peal_kernel_launch(h.rt, 0, &peal_program_supervised, &big,
				    &h.k));
	s = make(&h, PEAL_ONE_FOR_ALL, 1, LONG_NS, NULL);
	o.supervisor = s;
	CHECK_OK(peal_actor_spawn(h.k, "supervised", &o, &h.actor[0]));
	harness_from(h.rt, h.e, 0, h.actor[0], none);
	harness_to(h.rt, h.actor[0], h.e, none);
	for (i = 0; i < 2 * N; i++)
		name[i] = 5000 + i;
	o.share_ports_with = h.actor[0];
	o.init = name;
	o.init_bytes = sizeof(name[0]);
	o.init_stride = 2 * sizeof(name[0]);
	CHECK_OK(peal_actor_spawn_many(h.k, "supervised", &o, N, address));
	for (k = 0; k < 2; k++)
		for (i = 0; i < N; i++) {
			CHECK_OK(peal_send_to(h.e, 0, address[i],
					      SUPERVISED_ASK, &zero,
					      sizeof(zero), MAX_WAIT, NULL));
			CHECK_OK(peal_receive(h.e, &state, sizeof(state), &r,
					      MAX_WAIT));
			CHECK_EQ(state.name, name[2 * i]);
			CHECK_EQ(state.count, 1);
			if (i == N - 1 && !k)
				CHECK_OK(peal_send_to(
					h.e, 0, address[N / 2], SUPERVISED_FAIL,
					&zero, sizeof(zero), MAX_WAIT, NULL));
		}
	CHECK_OK(peal_send_to(h.e, 0, h.actor[0], SUPERVISED_ASK, &zero,
			      sizeof(zero), MAX_WAIT, NULL));
	CHECK_OK(peal_receive(h.e, &state, sizeof(state), &r, MAX_WAIT));
	CHECK_EQ(state.name, 0);
	CHECK_EQ(info_of(s).members, N + 1);
	CHECK_EQ(info_of(s).restarted, N + 1);
	close_fixture(&h);
}

/* The restarted actor handles the messages behind a failure, in order. */
static void queued(uint32_t lanes)
{
	struct peal_supervisor *s;
	struct peal_received r;
	struct supervised state;
	struct fixture h;
	uint64_t i, j;

	open_fixture(&h, lanes, 1);
	s = make(&h, PEAL_ONE_FOR_ONE, PEAL_RESTARTS_MAX, MS, NULL);
	add(&h, s);
	CHECK_OK(peal_kernel_suspend(h.k, MAX_WAIT));
	for (i = 0; i < 9; i++) {
		for (j = 0; j < i; j++)
			tell(&h, 0, SUPERVISED_COUNT);
		tell(&h, 0, SUPERVISED_ASK);
		tell(&h, 0, SUPERVISED_FAIL);
	}
	CHECK_OK(peal_kernel_resume(h.k));
	for (i = 0; i < 9; i++) {
		CHECK_OK(
			peal_receive(h.e, &state, sizeof(state), &r, MAX_WAIT));
		CHECK_EQ(state.count, i + 1);
		CHECK_EQ(state.spoilt, 0);
	}
	EVENTUALLY(harness_info(h.link[0]).dead[PEAL_REASON_HANDLER] == 9);
	EVENTUALLY(harness_info(h.link[0]).delivered == 36 + 9);
	close_fixture(&h);
}

PEAL_TEST(queued_messages_are_handled_after_restart)
{
	queued(1);
	queued(32);
}

/* Eight actors fail at random. A ninth actor must handle all its messages in
 * order. Only messages on which a handler failed become dead. */
static void storm(uint32_t lanes)
{
	const uint64_t rounds = IDENTITY_SANITIZED ? 300 : 3000;
	unsigned long long random = 4711;
	struct peal_supervisor *top, *s[2];
	uint64_t failed = 0, i;
	struct fixture h;
	uint32_t calm, k;

	open_fixture(&h, lanes, 3);
	/* the period is so short that `top` never gives up */
	top = make(&h, PEAL_ONE_FOR_ALL, PEAL_RESTARTS_MAX, 1, NULL);
	s[0] = make(&h, PEAL_REST_FOR_ONE, 1, 1, top);
	s[1] = make(&h, PEAL_ONE_FOR_ALL, PEAL_RESTARTS_MAX, 1, top);
	for (k = 0; k < 8; k++)
		add(&h, s[k & 1]);
	calm = add(&h, NULL);
	for (i = 0; i < rounds; i++) {
		k = (uint32_t)(test_random(&random) % 8);
		tell(&h, k, i % 3 ? SUPERVISED_COUNT : SUPERVISED_FAIL);
		failed += i % 3 == 0;
		tell(&h, calm, SUPERVISED_COUNT);
		if (i % 16 == 15)
			expect_count(&h, calm, i + 1 + i / 16);
	}
	for (k = 0, i = 0; k < 8; k++) {
		EVENTUALLY(!harness_info(h.link[k]).queued);
		i += harness_info(h.link[k]).dead[PEAL_REASON_HANDLER];
		CHECK_EQ(harness_info(h.link[k]).dead[PEAL_REASON_DOWN], 0);
	}
	CHECK_EQ(i, failed);
	/* a failure of an actor that is due for a restart does not count */
	i = info_of(s[0]).failures + info_of(s[1]).failures;
	CHECK(i <= failed && i > failed / 2);
	close_fixture(&h);
}

PEAL_TEST(failure_storm_does_not_affect_other_actors)
{
	storm(1);
	storm(32);
}

/* ---- members that come and go -------------------------------------------- */

PEAL_TEST(reused_slot_is_not_supervised)
{
	struct peal_actor_options o = { .size = sizeof(o), .worker = 1 };
	struct peal_link_options none = { .capacity = 0 };
	struct peal_supervisor *s;
	struct peal_link *link;
	uint64_t first, second;
	struct fixture h;
	uint32_t i;

	open_fixture(&h, 1, 1);
	s = make(&h, PEAL_ONE_FOR_ALL, 9, LONG_NS, NULL);
	add(&h, s);
	o.supervisor = s;
	for (i = 0; i < 5; i++) {
		CHECK_OK(peal_actor_spawn(h.k, "supervised", &o, &first));
		CHECK_EQ(info_of(s).members, 2);
		CHECK_OK(peal_actor_retire(h.rt, first));
		CHECK_EQ(info_of(s).members, 1);
	}
	o.supervisor = NULL;
	CHECK_OK(peal_actor_spawn(h.k, "supervised", &o, &second));
	CHECK_EQ(PEAL_ACTOR_INDEX(second), PEAL_ACTOR_INDEX(first));
	h.actor[h.n] = second;
	h.name[h.n] = 0;
	link = harness_from(h.rt, h.e, h.n, second, none);
	harness_to(h.rt, second, h.e, none);
	h.link[h.n++] = link;
	expect_count(&h, 1, 0);
	fail(&h, 0);
	expect_count(&h, 0, 0);
	expect_count(&h, 1, 1); /* it did not restart */
	CHECK_EQ(info_of(s).restarted, 1);
	close_fixture(&h);
}

PEAL_TEST(empty_supervisor_is_destroyed_and_entry_reused)
{
	struct peal_supervisor *s, *t;
	struct peal_supervisor_options o = { .size = sizeof(o) };
	struct peal_link *links[8];
	struct fixture h;
	int n;

	open_fixture(&h, 1, 1);
	s = make(&h, PEAL_ONE_FOR_ONE, PEAL_RESTARTS_NONE, 0, NULL);
	add(&h, s);
	fail(&h, 0);
	expect_down(&h, 0);
	CHECK_FAILS(peal_supervisor_create(h.k, &o, &t), PEAL_ENOSPC,
		    "max_supervisors");
	CHECK_FAILS(peal_supervisor_destroy(s), PEAL_EBUSY, "1 member;");
	n = peal_link_list(h.rt, links, 8);
	while (n-- > 0)
		CHECK_OK(peal_link_destroy(links[n]));
	CHECK_OK(peal_actor_retire(h.rt, h.actor[0]));
	CHECK_OK(peal_supervisor_destroy(s));
	t = make(&h, PEAL_ONE_FOR_ONE, 0, 0, NULL);
	CHECK_EQ(info_of(t).failures, 0);
	CHECK_EQ(info_of(t).exhausted, 0);
	h.n = 0;
	add(&h, t);
	fail(&h, 0);
	expect_count(&h, 0, 0);
	CHECK_OK(peal_kernel_stop(h.k, MAX_WAIT));
	CHECK_EQ(info_of(t).failures, 1); /* from the memory of its kernel */
	CHECK_EQ(info_of(t).last_actor, h.actor[0]);
	CHECK_FAILS(peal_supervisor_restart(t), PEAL_ESTOPPED, "ended");
	close_fixture(&h);
}

PEAL_TEST(invalid_supervision_is_refused)
{
	struct peal_supervisor_options o = { .size = sizeof(o) };
	struct peal_actor_options a = { .size = sizeof(a) };
	struct peal_kernel_options ko = { .size = sizeof(ko),
					  .max_supervisors = 65536 };
	struct peal_supervisor_info info;
	struct peal_supervisor *s = NULL, *deep;
	struct peal_kernel *other;
	struct fixture h;
	uint64_t address;
	uint32_t i;

	open_fixture(&h, 1, 16);
	CHECK_FAILS(peal_kernel_launch(h.rt, 0, &peal_program_supervised, &ko,
				       &other),
		    PEAL_EINVAL,
		    "'max_supervisors': is out of range (65536, "
		    "allowed 0..65535)");
	ko.max_supervisors = 0;
	CHECK_OK(peal_kernel_launch(h.rt, 0, &peal_program_supervised, &ko,
				    &other));
	CHECK_FAILS(peal_supervisor_create(other, NULL, &s), PEAL_ENOSPC,
		    "has no free supervisor (max_supervisors 0)");
	CHECK_FAILS(peal_supervisor_create(NULL, NULL, &s), PEAL_EINVAL,
		    "NULL");
	CHECK_FAILS(peal_supervisor_create(h.k, NULL, NULL), PEAL_EINVAL,
		    "NULL");
	o.strategy = 3;
	CHECK_FAILS(peal_supervisor_create(h.k, &o, &s), PEAL_EINVAL,
		    "'strategy': is out of range (3, allowed 0..2)");
	o.strategy = 0;
	o.max_restarts = PEAL_RESTARTS_MAX + 1;
	CHECK_FAILS(peal_supervisor_create(h.k, &o, &s), PEAL_EINVAL,
		    "'max_restarts': is too large (31, allowed 0..30, "
		    "PEAL_RESTARTS_NONE or PEAL_RESTARTS_UNLIMITED)");
	o.max_restarts = 0;
	o.timers = 7;
	CHECK_FAILS(peal_supervisor_create(h.k, &o, &s), PEAL_EINVAL,
		    "'timers': is out of range (7, allowed 0..1)");
	o.timers = 0;
	CHECK_OK(peal_supervisor_create(h.k, &o, &s));
	a.supervisor = s;
	CHECK_FAILS(peal_actor_spawn(other, "supervised", &a, &address),
		    PEAL_EINVAL,
		    "supervisor: is not of kernel 'supervised', "
		    "which has the actor (supervised, allowed 'supervised')");
	o.parent = s;
	CHECK_FAILS(peal_supervisor_create(other, &o, &deep), PEAL_EINVAL,
		    "'parent': is a supervisor of another kernel (supervised, "
		    "allowed 'supervised')");
	for (i = 1; i < PEAL_SUPERVISOR_DEPTH; i++) {
		CHECK_OK(peal_supervisor_create(h.k, &o, &deep));
		o.parent = deep;
	}
	CHECK_FAILS(peal_supervisor_create(h.k, &o, &deep), PEAL_EINVAL,
		    "'parent': has too many supervisors above it (9, allowed "
		    "0..8)");
	CHECK_FAILS(peal_supervisor_info(NULL, &info), PEAL_EINVAL, "NULL");
	CHECK_FAILS(peal_supervisor_info(s, NULL), PEAL_EINVAL, "NULL");
	CHECK_FAILS(peal_supervisor_restart(NULL), PEAL_EINVAL,
		    "argument 'supervisor': is NULL (NULL, ");
	CHECK_OK(peal_supervisor_destroy(NULL));
	CHECK_OK(peal_runtime_shutdown(h.rt));
}

/* A pool would not wait for the restart of a member. */
PEAL_TEST(supervised_actor_joins_no_pool)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .max_supervisors = 1 };
	struct peal_actor_options a = { .size = sizeof(a) };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k;
	uint64_t pool, actor;

	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_pools, &o, &k));
	CHECK_OK(peal_pool_create(k, NULL, &pool));
	CHECK_OK(peal_supervisor_create(k, NULL, &a.supervisor));
	CHECK_OK(peal_actor_spawn(k, "refuse", &a, &actor));
	CHECK_FAILS(peal_pool_join(rt, pool, actor), PEAL_EINVAL,
		    "has a supervisor");
	CHECK_OK(peal_actor_retire(rt, actor));
	CHECK_OK(peal_pool_join(rt, pool, harness_spawn(k, "refuse", 0)));
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* An actor spawned below a supervisor that gave up is down until a restart. */
PEAL_TEST(spawn_under_exhausted_supervisor_is_down)
{
	struct peal_supervisor *top, *s;
	struct fixture h;

	open_fixture(&h, 1, 2);
	top = make(&h, PEAL_ONE_FOR_ONE, PEAL_RESTARTS_NONE, 0, NULL);
	add(&h, top);
	fail(&h, 0);
	add(&h, top);
	s = make(&h, PEAL_ONE_FOR_ONE, 0, 0, top);
	add(&h, s);
	expect_down(&h, 1);
	expect_down(&h, 2);
	CHECK_OK(peal_supervisor_restart(top));
	all_look(&h);
	expect_count(&h, 1, 0);
	expect_count(&h, 2, 0);
	close_fixture(&h);
}

/* A failing actor makes `waits` due for a restart all the time. `waits` must
 * still get its messages, although its worker has a busy input. */
PEAL_TEST(restarting_actor_gets_messages_beside_busy_input)
{
	struct peal_supervisor *s;
	struct fixture h;
	uint32_t i, k, busy, waits;

	open_fixture(&h, 1, 1);
	s = make(&h, PEAL_ONE_FOR_ALL, 1, 1, NULL);
	waits = add(&h, s); /* worker 0 */
	add(&h, s); /* worker 1, which fails */
	add(&h, NULL);
	busy = add(&h, NULL); /* worker 0 */
	for (i = 0; i < 100; i++) {
		EVENTUALLY(harness_info(h.link[busy]).queued == 0);
		CHECK_OK(peal_kernel_suspend(h.k, MAX_WAIT));
		for (k = 0; k < 32; k++)
			tell(&h, busy, SUPERVISED_COUNT);
		tell(&h, waits, SUPERVISED_COUNT);
		tell(&h, 1, SUPERVISED_FAIL);
		CHECK_OK(peal_kernel_resume(h.k));
		tell(&h, 1, SUPERVISED_FAIL);
	}
	EVENTUALLY(harness_info(h.link[waits]).delivered == 100);
	close_fixture(&h);
}

/* A chain of supervisors. All but the topmost give up at the first failure. */
PEAL_TEST(failure_escalates_to_the_top_supervisor)
{
	struct peal_supervisor *s[PEAL_SUPERVISOR_DEPTH];
	struct fixture h;
	uint32_t i;

	open_fixture(&h, 1, PEAL_SUPERVISOR_DEPTH);
	for (i = 0; i < PEAL_SUPERVISOR_DEPTH; i++)
		s[i] = make(&h, PEAL_ONE_FOR_ALL, i ? PEAL_RESTARTS_NONE : 1,
			    LONG_NS, i ? s[i - 1] : NULL);
	add(&h, s[PEAL_SUPERVISOR_DEPTH - 1]);
	add(&h, s[0]);
	count_all(&h);
	fail(&h, 0);
	expect_count(&h, 0, 0);
	expect_count(&h, 1, 0);
	CHECK_EQ(info_of(s[0]).failures, 1);
	for (i = 0; i < PEAL_SUPERVISOR_DEPTH; i++)
		CHECK(!info_of(s[i]).exhausted);
	fail(&h, 0);
	expect_down(&h, 0);
	expect_down(&h, 1);
	close_fixture(&h);
}

PEAL_TEST_MAIN(RUN(one_for_one_restarts_only_the_failed_actor);
	       RUN(one_for_all_restarts_the_whole_group);
	       RUN(rest_for_one_restarts_the_following_members);
	       RUN(unsupervised_actor_keeps_its_state);
	       RUN(too_many_failures_exhaust_the_whole_group);
	       RUN(zero_restarts_exhaust_at_the_first_failure);
	       RUN(failures_outside_the_period_do_not_exhaust);
	       RUN(maximum_restart_count_is_exact);
	       RUN(exhausted_supervisor_fails_its_parent);
	       RUN(restart_resets_every_byte_of_a_large_state);
	       RUN(each_actor_restarts_with_its_init_bytes);
	       RUN(queued_messages_are_handled_after_restart);
	       RUN(failure_storm_does_not_affect_other_actors);
	       RUN(reused_slot_is_not_supervised);
	       RUN(empty_supervisor_is_destroyed_and_entry_reused);
	       RUN(invalid_supervision_is_refused);
	       RUN(supervised_actor_joins_no_pool);
	       RUN(spawn_under_exhausted_supervisor_is_down);
	       RUN(restarting_actor_gets_messages_beside_busy_input);
	       RUN(failure_escalates_to_the_top_supervisor);)
