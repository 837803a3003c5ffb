/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that each ask has exactly one answer. Two actors ask each other,
 * themselves and a third actor, while timeouts expire. An asked actor replies,
 * refuses, fails, keeps the ask, forwards it or asks another actor.
 */
#include "runtime/ask_fixture.h"
#include "sim/seeds.h"

#define ORDERS 6

static uint64_t draw(uint64_t *random, uint64_t below)
{
	*random = *random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (*random >> 33) % below;
}

/* Orders a party to ask one of the three actors. */
static void send_order(struct fixture *s, const uint64_t *actor,
		       uint64_t *random)
{
	static const uint32_t how[] = { ASKS_REPLY,    ASKS_REPLY, ASKS_REFUSE,
					ASKS_KEEP,     ASKS_FAIL,  ASKS_TWICE,
					ASKS_DELEGATE, ASKS_CHAIN };
	struct asks_order o = { .quiet = 1 };

	o.request.how = how[draw(random, 8)];
	o.request.value = draw(random, 1000);
	o.request.error = PEAL_EPERM;
	o.request.other = (uint32_t)actor[draw(random, 2)];
	/* the third actor is a sink: its handler may not tell messages */
	o.to = (uint32_t)
		actor[draw(random, o.request.how < ASKS_DELEGATE ? 3 : 2)];
	o.n = 1 + (uint32_t)draw(random, 4);
	o.timeout_ns = draw(random, 4) ? 1 + draw(random, 30000) : SECOND;
	CHECK_OK(peal_send(s->e, (uint32_t)draw(random, 2), ASKS_ORDER, &o,
			   sizeof(o), MAX_WAIT, NULL));
}

static void asks(uint64_t random)
{
	struct peal_kernel_options o = { .max_asks = 1 + (uint32_t)(random % 5),
					 .mailbox.slots = 32 };
	struct asks_ordered out;
	struct peal_received r;
	struct asks_state state;
	struct peal_ask_counts a;
	uint64_t actor[3], asked = 0, heard = 0;
	struct fixture s;
	uint32_t i;

	lanes = random % 8 ? 1 : 3;
	s = fixture_open(o);
	seeds_report_stalls(s.rt);
	actor[0] = s.party[0];
	actor[1] = s.party[1];
	actor[2] = harness_spawn(s.k, "server", (int)draw(&random, 2));
	for (i = 0; i < ORDERS; i++) {
		send_order(&s, actor, &random);
		if (draw(&random, 2))
			fixture_tell(&s, (uint32_t)draw(&random, 2),
				     ASKS_RELEASE, 0);
	}
	for (i = 0; i < ORDERS; i++) {
		CHECK_OK(peal_receive(s.e, &out, sizeof(out), &r, MAX_WAIT));
		CHECK(!out.result || out.result == PEAL_ENOSPC);
		asked += out.n;
	}
	for (i = 0; i < 2; i++)
		CHECK_OK(peal_send_end(s.e, i, MAX_WAIT));
	CHECK_OK(peal_kernel_drain(s.k, MAX_WAIT));
	for (i = 0; i < 2; i++) {
		state = fixture_state(&s, s.party[i]);
		CHECK_EQ(state.unknown, 0);
		CHECK_EQ(state.wrong, 0);
		heard += state.replies + state.errors;
	}
	CHECK_EQ(heard, asked);
	a = fixture_account(&s);
	CHECK_EQ(a.open, 0);
	CHECK(a.asked >= asked); /* includes the asks of chains */
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

static const struct seeds_scenario scene = { .name = "asks",
					     .run = asks,
					     .least = 1000 };

PEAL_TEST(each_ask_gets_exactly_one_answer)
{
	seeds_run(&scene);
}

PEAL_TEST(second_answer_to_an_ask_is_caught)
{
	seeds_find(&scene, PEALI_FAULT_TWO_ANSWER);
}

PEAL_TEST_MAIN(RUN(each_ask_gets_exactly_one_answer);
	       RUN(second_answer_to_an_ask_is_caught);)
