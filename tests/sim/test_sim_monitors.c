/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that a monitor reports an end once, though two workers know of it. Two
 * bound actors fail at any two moments. Each failure ends both of them.
 */
#include <pthread.h>

#include "runtime/monitor_fixture.h"
#include "sim/seeds.h"

enum { LEFT, RIGHT, OWNER, MEMBERS };

struct failing {
	struct fixture *s;
	uint32_t member;
	uint64_t after_us;
};

static void *fail_later(void *argument)
{
	const struct failing *f = argument;

	identity_sleep_us(f->after_us);
	tell(f->s, f->member, MONITORS_FAIL);
	return NULL;
}

/* Checks that the endpoint `ear` hears of each end once, in any order. */
static void hear_both(struct fixture *s)
{
	struct peal_received r;
	struct peal_down down;
	uint32_t heard[2] = { 0, 0 }, i;

	for (i = 0; i < 2; i++) {
		CHECK_OK(peal_receive(s->ear, &down, sizeof(down), &r,
				      MAX_WAIT));
		CHECK_EQ(r.down, 1);
		CHECK(down.reason == PEAL_DOWN_FAILED ||
		      down.reason == PEAL_DOWN_BOUND);
		CHECK_EQ(down.error, MONITORS_ERROR);
		heard[down.actor == s->actor[RIGHT]]++;
	}
	CHECK_EQ(heard[0], 1);
	CHECK_EQ(heard[1], 1);
	heard_all(s, 0);
}

static void pairs(uint64_t random)
{
	struct peal_kernel_options o = { .max_monitors = 8 };
	struct failing failing[2];
	pthread_t thread[2];
	struct fixture s;
	uint32_t i;

	lanes = random % 8 ? 1 : 3;
	s = fixture_open(o);
	seeds_report_stalls(s.rt);
	add_some(&s, MEMBERS);
	CHECK_OK(peal_actor_bind(s.k, s.actor[LEFT], s.actor[RIGHT], NULL));
	for (i = LEFT; i <= RIGHT; i++) {
		hear(&s, s.actor[i], 0);
		monitor(&s, s.actor[OWNER], s.actor[i], 0, MONITORS_DOWN, 0);
	}
	for (i = LEFT; i <= RIGHT; i++) {
		failing[i].s = &s;
		failing[i].member = i;
		failing[i].after_us = (random >> (8 + 8 * i)) % 4;
		CHECK(!pthread_create(&thread[i], NULL, fail_later,
				      &failing[i]));
	}
	for (i = LEFT; i <= RIGHT; i++)
		CHECK(!pthread_join(thread[i], NULL));
	hear_both(&s);
	EVENTUALLY(ask(&s, OWNER).downs >= 2);
	/* after this, a second report would have come */
	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	CHECK_OK(peal_kernel_resume(s.k));
	CHECK_EQ(ask(&s, OWNER).downs, 2);
	fixture_close(&s);
}

static const struct seeds_scenario bound = { .name = "bonds",
					     .run = pairs,
					     .least = 2000 };

PEAL_TEST(actor_end_is_reported_once_by_two_workers)
{
	seeds_run(&bound);
}

PEAL_TEST(doubly_reported_end_is_caught)
{
	seeds_find(&bound, PEALI_FAULT_TWO_TELL);
}

PEAL_TEST_MAIN(RUN(actor_end_is_reported_once_by_two_workers);
	       RUN(doubly_reported_end_is_caught);)
