/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that a spawned actor ends once, and that no message for it reaches the
 * next actor in its slot. A handler spawns actors in few slots. The handler or
 * the host ends them, while messages from another worker are in flight.
 */
#include <pthread.h>

#include "runtime/spawn_fixture.h"
#include "sim/seeds.h"

#define TURNS 6
#define MESSAGES 3

/* A thread that sends to an actor, or retires it for the host. */
struct other {
	struct fixture *s;
	struct peal_endpoint *e;
	uint64_t actor, value, after_us;
	int result;
};

static void *send_some(void *argument)
{
	struct other *o = argument;
	uint32_t i;

	identity_sleep_us(o->after_us);
	for (i = 0; i < MESSAGES; i++)
		CHECK_OK(peal_send_to(o->e, 0, o->actor, SPAWNS_COUNT,
				      &o->value, sizeof(o->value), MAX_WAIT,
				      NULL));
	return NULL;
}

static void *end_it(void *argument)
{
	struct other *o = argument;

	identity_sleep_us(o->after_us);
	o->result = peal_actor_retire(o->s->rt, o->actor);
	CHECK(o->result == 0 || o->result == PEAL_ENOENT);
	return NULL;
}

/* Spawns one actor and waits for its end. */
static void one(struct fixture *s, struct peal_endpoint *e, uint64_t random,
		uint64_t value)
{
	struct other other[2];
	pthread_t thread[2];
	uint32_t i, ended;

	for (i = 0; i < 2; i++) {
		other[i].s = s;
		other[i].e = e;
		other[i].value = value;
		other[i].after_us = (random >> 8 * i) % 5;
		other[i].result = PEAL_ENOENT;
	}
	other[0].actor = other[1].actor = make(s, value);
	CHECK(!pthread_create(&thread[0], NULL, send_some, &other[0]));
	if (random >> 32 & 1)
		CHECK(!pthread_create(&thread[1], NULL, end_it, &other[1]));
	identity_sleep_us((random >> 16) % 5);
	ended = end(s, other[0].actor) == 0;
	if (random >> 33 & 1) { /* its slot gets the next actor meanwhile */
		uint64_t next = make(s, value + 1000);

		CHECK(next != other[0].actor);
		CHECK_OK(end(s, next));
	}
	CHECK(!pthread_join(thread[0], NULL));
	if (random >> 32 & 1)
		CHECK(!pthread_join(thread[1], NULL));
	CHECK_EQ(ended + (other[1].result == 0), 1);
}

static void ends(uint64_t random)
{
	struct peal_link_options none = { .capacity = 0 };
	struct peal_kernel_options k = {
		.workers = 2,
		.spawn.max_actors = 1 + random % 2,
		.mailbox.slots = 64,
	};
	unsigned long long draw = random;
	struct peal_endpoint *e;
	struct peal_link *link;
	struct fixture s;
	uint32_t i;

	lanes = random % 16 ? 1 : 3;
	s = fixture_open(k);
	seeds_report_stalls(s.rt);
	e = harness_endpoint(s.rt);
	link = harness_from(s.rt, e, 0, s.maker[random >> 9 & 1], none);
	for (i = 0; i < TURNS; i++)
		one(&s, e, test_random(&draw), 1 + i);
	fixture_quiet(&s);
	CHECK_EQ(info_of(&s).failed, 0);
	CHECK_EQ(harness_info(link).accepted, TURNS * MESSAGES);
	fixture_close(&s, 0);
}

static const struct seeds_scenario scenario_of_ends = { .name = "spawns",
							.run = ends,
							.least = 300 };

PEAL_TEST(doubly_retired_actor_ends_once)
{
	seeds_run(&scenario_of_ends);
}

PEAL_TEST(duplicate_address_is_caught)
{
	seeds_find(&scenario_of_ends, PEALI_FAULT_SAME_ADDRESS);
}

PEAL_TEST_MAIN(RUN(doubly_retired_actor_ends_once);
	       RUN(duplicate_address_is_caught);)
