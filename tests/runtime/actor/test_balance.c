/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peal_kernel_balance evens out the load of workers and moves actors to the
 * worker of their links. The first cases check plans, the others check running
 * kernels.
 */

#include <peal/balance.h>
#include <peal/migration.h>
#include "runtime/actor/balance.h"
#include "runtime/both_lanes.h"
#include "runtime/load.h"

PEAL_DECLARE_PROGRAM(load);

/* ---- plans --------------------------------------------------------------- */

#define PLAN_MAX 8

/* An actor of a plan: its worker, its load in samples, the worker where its
 * messages arrive, and their number. */
struct part {
	uint32_t worker, load, home;
	uint64_t traffic;
};

static uint32_t plan(const struct part *part, uint32_t n, uint64_t *load,
		     uint32_t workers, uint32_t tolerance, uint32_t moves,
		     uint32_t to[PLAN_MAX])
{
	struct peali_balance_actor a[PLAN_MAX];
	uint32_t i, planned;

	memset(a, 0, sizeof(a));
	for (i = 0; i < n; i++) {
		a[i].worker = part[i].worker;
		a[i].load = part[i].load;
		a[i].home = part[i].home;
		a[i].traffic = part[i].traffic;
	}
	planned = peali_balance_plan(a, n, load, workers, tolerance, moves);
	for (i = 0; i < n; i++)
		to[i] = a[i].to;
	return planned;
}

PEAL_TEST(load_is_balanced_with_the_fewest_moves)
{
	struct part four[] = { { 0, 25, 0, 0 },
			       { 0, 25, 0, 0 },
			       { 0, 25, 0, 0 },
			       { 0, 25, 0, 0 } };
	struct part two[] = { { 0, 70, 0, 0 }, { 0, 30, 0, 0 } };
	uint64_t load[] = { 100, 0 }, third[] = { 100, 0, 0 },
		 uneven[] = { 100, 0 };
	uint32_t to[PLAN_MAX];

	CHECK_EQ(plan(four, 4, load, 2, 20, 32, to), 2);
	CHECK_EQ(to[0] + to[1] + to[2] + to[3], 2);
	CHECK_EQ(load[0], 50);
	CHECK_EQ(load[1], 50);
	/* 50, 25, 25 exceeds the mean by more than 20 %, but no move helps */
	CHECK_EQ(plan(four, 4, third, 3, 20, 32, to), 2);
	CHECK_EQ(third[0], 50);
	CHECK_EQ(third[1], 25);
	CHECK_EQ(third[2], 25);
	/* either move leaves loads of 70 and 30 */
	CHECK_EQ(plan(two, 2, uneven, 2, 20, 32, to), 1);
	CHECK_EQ(uneven[0] + uneven[1], 100);
	CHECK(uneven[0] == 70 || uneven[1] == 70);
}

PEAL_TEST(even_load_and_single_actors_do_not_move)
{
	struct part even[] = { { 0, 50, 0, 0 }, { 1, 45, 1, 0 } };
	struct part one[] = { { 0, 100, 0, 0 } };
	uint64_t load[] = { 50, 45 }, alone[] = { 100, 0 }, fixed[] = { 90, 0 };
	uint32_t to[PLAN_MAX];

	CHECK_EQ(plan(even, 2, load, 2, 20, 32, to), 0);
	CHECK_EQ(plan(even, 2, load, 2, 1, 32, to), 0); /* no move helps */
	CHECK_EQ(plan(one, 1, alone, 2, 20, 32, to), 0);
	CHECK_EQ(alone[0], 100);
	CHECK_EQ(plan(even, 0, fixed, 2, 20, 32, to), 0); /* none may move */
}

PEAL_TEST(moves_stay_within_the_limit)
{
	struct part four[] = { { 0, 25, 0, 0 },
			       { 0, 25, 0, 0 },
			       { 0, 25, 0, 0 },
			       { 0, 25, 1, 9 } };
	uint64_t load[] = { 100, 0 };
	uint32_t to[PLAN_MAX];

	CHECK_EQ(plan(four, 4, load, 2, 20, 1, to), 1);
	CHECK_EQ(to[3], 1); /* moves to the home worker come first */
}

PEAL_TEST(actor_moves_to_its_link_worker_if_load_allows)
{
	struct part parts[] = { { 0, 20, 1, 1000 },
				{ 1, 20, 1, 1000 },
				{ 0, 20, 0, 1000 },
				{ 1, 20, 0, 5 } };
	struct part busy[] = { { 0, 10, 1, 1000 }, { 1, 90, 1, 1000 } };
	uint64_t load[] = { 40, 40 }, full[] = { 10, 90 };
	uint32_t to[PLAN_MAX];

	/* 20 to 60 is within the tolerance; traffic of 5 counts as none */
	CHECK_EQ(plan(parts, 4, load, 2, 60, 32, to), 1);
	CHECK_EQ(to[0], 1);
	CHECK_EQ(to[3], 1);
	CHECK_EQ(load[0], 20);
	CHECK_EQ(plan(busy, 2, full, 2, 20, 32, to), 0);
}

/* ---- kernels ------------------------------------------------------------- */

#define BUSY 4

/* Busy actors, all on worker 0, and a thread that keeps their links full. */
struct fixture {
	struct peal_runtime *rt;
	struct peal_kernel *k;
	struct peal_endpoint *e;
	uint64_t actor[BUSY];
	struct peal_link *link[BUSY];
	uint32_t n;
	_Atomic int over;
	pthread_t sender;
};

static uint64_t spawn(struct fixture *s, uint32_t worker, uint64_t spin_ns)
{
	uint64_t init[2] = { 0, spin_ns }, address;
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = worker,
					.init = init,
					.init_bytes = sizeof(init) };

	CHECK_OK(peal_actor_spawn(s->k, "record", &o, &address));
	return address;
}

static struct fixture fixture_open(uint32_t n, int pinned)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = 2,
					 .mailbox.slots = 256,
					 .max_inputs = 16,
					 .arena_bytes = 1 << 20,
					 .lanes = lanes };
	struct peal_link_options none = { .capacity = 0 };
	struct fixture s = { .rt = harness_open(1, ""), .n = n };
	uint32_t i;

	s.e = harness_endpoint(s.rt);
	CHECK_OK(peal_kernel_launch(s.rt, 0, &peal_program_load, &o, &s.k));
	for (i = 0; i < n; i++) {
		s.actor[i] = spawn(&s, pinned ? 1 : 0, 50000);
		if (!pinned) /* workers alternate: an idle actor for worker 1 */
			spawn(&s, 0, 0);
		s.link[i] = harness_from(s.rt, s.e, i, s.actor[i], none);
	}
	return s;
}

static void *send_all(void *argument)
{
	struct fixture *s = argument;
	struct load_note note = { 0, 0, 0 };
	uint32_t i;
	int result;

	while (!s->over) {
		for (i = 0; i < s->n; i++) {
			result = peal_send(s->e, i, 0, &note, sizeof(note), 0,
					   NULL);
			CHECK(result == 0 || result == PEAL_EAGAIN);
		}
		identity_sleep_us(10);
	}
	return NULL;
}

static void fixture_begin(struct fixture *s)
{
	CHECK(!pthread_create(&s->sender, NULL, send_all, s));
	for (uint32_t i = 0; i < s->n; i++)
		EVENTUALLY(harness_info(s->link[i]).delivered > 0);
}

static void fixture_close(struct fixture *s)
{
	struct peal_kernel_info info;

	s->over = 1;
	CHECK(!pthread_join(s->sender, NULL));
	harness_conserved(s->rt);
	EVENTUALLY(!peal_kernel_info(s->k, &info) &&
		   info.mailbox_sends == info.mailbox_done);
	CHECK_EQ(info.mailbox_dead, 0);
	CHECK_EQ(info.failed, 0);
	CHECK_OK(peal_runtime_shutdown(s->rt));
}

PEAL_TEST(split_load_of_one_worker_stays_stable)
{
	struct fixture s = fixture_open(BUSY, 0);
	struct peal_balance_move move[8];
	struct peal_balance_options o = { .size = sizeof(o),
					  .sample_ms = 400,
					  .max_moves = 8,
					  .moves_out = move };
	struct peal_balance_report r;
	uint32_t i, j, known = 0;

	fixture_begin(&s);
	o.dry_run = 1;
	o.sample_ms = 100;
	EVENTUALLY(!peal_kernel_balance(s.k, &o, &r) && r.moves > 0);
	CHECK_EQ(r.moved, 0);
	o.dry_run = 0;
	o.sample_ms = 400;
	CHECK_OK(peal_kernel_balance(s.k, &o, &r));
	CHECK(r.samples > 0 && r.load > 0);
	CHECK(r.moves > 0 && r.moves < BUSY);
	CHECK_EQ(r.moved, r.moves);
	CHECK(r.predicted_max_load < r.max_load);
	CHECK(r.predicted_min_load > r.min_load);
	for (i = 0; i < r.moves; i++) {
		CHECK_EQ(move[i].from, 0);
		CHECK_EQ(move[i].to, 1);
		CHECK_EQ(move[i].result, 0);
		for (j = 0; j < BUSY; j++) /* a moved actor has a new address */
			known += move[i].actor == s.actor[j];
	}
	CHECK_EQ(known, 0);
	/* now both workers are always busy */
	o.sample_ms = 100;
	EVENTUALLY(!peal_kernel_balance(s.k, &o, &r) && r.moves == 0 &&
		   r.min_load > 0);
	fixture_close(&s);
}

PEAL_TEST(pinned_actors_do_not_move)
{
	struct fixture s = fixture_open(BUSY, 1);
	struct peal_balance_report r;

	fixture_begin(&s);
	CHECK_OK(peal_kernel_balance(s.k, NULL, &r));
	CHECK(r.max_load > 0);
	CHECK_EQ(r.min_load, 0);
	CHECK_EQ(r.moves, 0);
	CHECK(r.pinned > 0);
	fixture_close(&s);
}

PEAL_TEST(migrated_actor_returns_to_its_link_worker)
{
	struct fixture s = fixture_open(1, 0);
	struct peal_migration_options mo = { .size = sizeof(mo), .worker = 2 };
	struct peal_balance_move move[8];
	struct peal_balance_options o = { .size = sizeof(o),
					  .max_moves = 8,
					  .moves_out = move };
	struct peal_balance_report r;
	uint64_t now;

	CHECK_OK(peal_actor_migrate(s.rt, s.actor[0], &mo, &now));
	fixture_begin(&s);
	CHECK_OK(peal_kernel_balance(s.k, &o, &r));
	CHECK_EQ(r.moves, 1);
	CHECK_EQ(r.moved, 1);
	CHECK_EQ(move[0].from, 1);
	CHECK_EQ(move[0].to, 0);
	CHECK(move[0].traffic > 0);
	CHECK(move[0].actor != now);
	CHECK_OK(peal_kernel_balance(s.k, &o, &r));
	CHECK_EQ(r.moves, 0);
	fixture_close(&s);
}

PEAL_TEST(unmovable_actors_are_reported_without_loss)
{
	struct fixture s = fixture_open(1, 0);
	struct peal_migration_options mo = { .size = sizeof(mo), .worker = 2 };
	struct peal_balance_report r;
	uint64_t now, init[2] = { 0, 0 };
	struct peal_actor_options ao = { .size = sizeof(ao),
					 .init = init,
					 .init_bytes = sizeof(init) };
	struct peal_balance_move move[8];
	struct peal_balance_options o = { .size = sizeof(o),
					  .max_moves = 8,
					  .moves_out = move };

	CHECK_OK(peal_actor_migrate(s.rt, s.actor[0], &mo, &now));
	/* a migration needs an actor slot: none is left */
	while (!peal_actor_spawn(s.k, "tell", &ao, &init[1]))
		;
	ao.init_bytes = 0;
	while (!peal_actor_spawn(s.k, "tell", &ao, &init[1]))
		;
	fixture_begin(&s);
	CHECK_OK(peal_kernel_balance(s.k, &o, &r));
	CHECK_EQ(r.moves, 1);
	CHECK_EQ(r.moved, 0);
	CHECK_EQ(move[0].result, PEAL_ENOSPC);
	CHECK_EQ(move[0].actor, now);
	fixture_close(&s);
}

PEAL_TEST(idle_kernel_is_not_rebalanced)
{
	struct fixture s = fixture_open(2, 0);
	struct peal_balance_options o = { .size = sizeof(o), .sample_ms = 20 };
	struct peal_balance_report r;

	CHECK_OK(peal_kernel_balance(s.k, &o, &r));
	CHECK(r.samples > 0);
	CHECK_EQ(r.load, 0);
	CHECK_EQ(r.moves, 0);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/* ---- errors -------------------------------------------------------------- */

PEAL_TEST(invalid_balance_arguments_are_refused)
{
	struct fixture s = fixture_open(1, 0);
	struct peal_kernel_options none = { .size = sizeof(none),
					    .lanes = lanes };
	struct peal_balance_options o = { .size = sizeof(o), .sample_ms = 1 };
	struct peal_balance_report r;
	struct peal_kernel *plain;

	CHECK_FAILS(peal_kernel_balance(NULL, NULL, &r), PEAL_EINVAL, "NULL");
	CHECK_OK(peal_kernel_balance(s.k, &o, NULL));
	o.sample_interval_us = 101;
	CHECK_FAILS(peal_kernel_balance(s.k, &o, &r), PEAL_EINVAL,
		    "'sample_interval_us': is out of range (101, allowed "
		    "0..100)");
	CHECK_EQ(r.samples, 0);
	o.sample_interval_us = 0;
	o.sample_ms = 60001;
	CHECK_FAILS(peal_kernel_balance(s.k, &o, &r), PEAL_EINVAL, "sample_ms");
	o.sample_ms = 1;
	o.max_moves = 4097;
	CHECK_FAILS(peal_kernel_balance(s.k, &o, &r), PEAL_EINVAL, "moves");
	o.max_moves = 0;
	o.tolerance = 1001;
	CHECK_FAILS(peal_kernel_balance(s.k, &o, &r), PEAL_EINVAL, "tolerance");
	o.tolerance = 0;
	o.dry_run = 2;
	CHECK_FAILS(peal_kernel_balance(s.k, &o, &r), PEAL_EINVAL, "dry_run");
	o.dry_run = 0;
	CHECK_OK(
		peal_kernel_launch(s.rt, 0, &peal_program_load, &none, &plain));
	CHECK_FAILS(peal_kernel_balance(plain, &o, &r), PEAL_ENOTSUP,
		    "no mailboxes");
	CHECK_OK(peal_kernel_stop(s.k, MAX_WAIT));
	CHECK_FAILS(peal_kernel_balance(s.k, &o, &r), PEAL_ESTOPPED,
		    "has ended");
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

PEAL_TEST_MAIN(RUN(load_is_balanced_with_the_fewest_moves);
	       RUN(even_load_and_single_actors_do_not_move);
	       RUN(moves_stay_within_the_limit);
	       RUN(actor_moves_to_its_link_worker_if_load_allows);
	       RUN_LANES(split_load_of_one_worker_stays_stable);
	       RUN_LANES(pinned_actors_do_not_move);
	       RUN_LANES(migrated_actor_returns_to_its_link_worker);
	       RUN_LANES(unmovable_actors_are_reported_without_loss);
	       RUN_LANES(idle_kernel_is_not_rebalanced);
	       RUN_LANES(invalid_balance_arguments_are_refused);)
