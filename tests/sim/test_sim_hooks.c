/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that each actor begins once before its first message, and ends once
 * behind its last one. Guests on all workers report both, by small mailboxes.
 * All reports arrive, no matter which worker ends last. The host makes guests,
 * sends to them, migrates one, retires one, and drains the kernel.
 */

#include <peal/migration.h>
#include "runtime/hooks.h"
#include "sim/seeds.h"

PEAL_DECLARE_PROGRAM(hooks);

#define WORKERS 3
#define GUESTS 12 /* at most */
#define LINKS 3 /* guests with a link, at most */
#define MESSAGES 5 /* per link, at most */

struct fixture {
	struct peal_runtime *rt;
	struct peal_kernel *k;
	struct peal_endpoint *e;
	unsigned long long random;
	uint64_t teller;
	uint64_t guest[GUESTS];
	struct peal_link *link[LINKS];
	uint32_t guests, links, sent[LINKS];
	int mortal; /* 1: reports behind the end of the teller are lost */
	uint32_t worker[GUESTS], begun[GUESTS], ended[GUESTS];
};

static uint32_t draw(struct fixture *s, uint32_t n)
{
	return (uint32_t)(test_random(&s->random) >> 32) % n;
}

static void open_fixture(struct fixture *s)
{
	struct peal_link_options large = { .capacity = 256 };
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = WORKERS,
					 .mailbox.slots = 64 };

	o.lanes = draw(s, 16) ? 1 : 3;
	s->rt = harness_open(1, "");
	seeds_report_stalls(s->rt);
	s->e = harness_endpoint(s->rt);
	CHECK_OK(peal_kernel_launch(s->rt, 0, &peal_program_hooks, &o, &s->k));
	s->mortal = (int)draw(s, 2);
	s->teller = harness_spawn(s->k, s->mortal ? "mortal" : "teller",
				  (int)draw(s, WORKERS));
	harness_to(s->rt, s->teller, s->e, large);
}

static void make_guest(struct fixture *s)
{
	uint32_t init[3] = { s->guests, 1 + (uint32_t)s->teller, 0 };
	struct peal_actor_options o = { .size = sizeof(o),
					.init = init,
					.init_bytes = sizeof(init) };

	s->worker[s->guests] = draw(s, WORKERS);
	o.worker = 1 + s->worker[s->guests];
	CHECK_OK(peal_actor_spawn(s->k, "guest", &o, &s->guest[s->guests++]));
}

static void make_guests(struct fixture *s)
{
	struct peal_link_options none = { .capacity = 0 };
	uint32_t i, n = LINKS + 1 + draw(s, GUESTS - LINKS - 1);

	s->links = 1 + draw(s, LINKS);
	for (i = 0; i < n; i++) {
		make_guest(s);
		if (i < s->links)
			s->link[i] =
				harness_from(s->rt, s->e, i, s->guest[i], none);
	}
}

static void send_some(struct fixture *s)
{
	uint64_t nothing = 0;
	uint32_t i, n;

	for (i = 0; i < s->links; i++) {
		s->sent[i] = draw(s, MESSAGES + 1);
		for (n = 0; n < s->sent[i]; n++)
			CHECK_OK(peal_send(s->e, i, HOOKS_COUNT, &nothing,
					   sizeof(nothing), MAX_WAIT, NULL));
	}
}

/* Migrates a guest, unless the guest still waits for its init. */
static void move_one(struct fixture *s)
{
	struct peal_migration_options o = { .size = sizeof(o) };
	uint32_t i = draw(s, s->guests);
	uint64_t now;
	int result;

	o.worker = 1 + (s->worker[i] + 1 + draw(s, WORKERS - 1)) % WORKERS;
	result = peal_actor_migrate(s->rt, s->guest[i], &o, &now);
	CHECK(result == 0 || result == PEAL_EAGAIN);
}

static void hear_all(struct fixture *s)
{
	struct peal_received r;
	uint64_t message;
	uint32_t id;

	while (!peal_receive(s->e, &message, sizeof(message), &r, MAX_WAIT)) {
		id = (uint32_t)message;
		CHECK(id < s->guests);
		CHECK_EQ(s->begun[id], r.type == HOOKS_ENDED);
		s->begun[id] += r.type == HOOKS_BEGUN;
		s->ended[id] += r.type == HOOKS_ENDED;
		CHECK_EQ(message >> 32, r.type == HOOKS_ENDED && id < s->links ?
						s->sent[id] :
						0);
	}
}

/* Checks that all guests have begun, but one that may have been retired before.
 * All have reported their end, unless the teller is mortal. */
static void check_guests(struct fixture *s)
{
	struct peal_kernel_info info;
	uint32_t i, begun = 0, lost = 0;

	for (i = 0; i < s->guests; i++) {
		CHECK(s->mortal || s->begun[i] == s->ended[i]);
		begun += s->begun[i];
		lost += s->begun[i] - s->ended[i];
	}
	CHECK(begun + 1 >= s->guests);
	CHECK_OK(peal_kernel_info(s->k, &info));
	CHECK_EQ(info.inits, begun + (uint32_t)s->mortal);
	CHECK_EQ(info.exits, begun + (uint32_t)s->mortal);
	CHECK_EQ(info.failed, 0);
	CHECK(info.mailbox_dead <= lost);
	CHECK_EQ(info.mailbox_sends, info.mailbox_done);
}

static void begin_and_end(uint64_t random)
{
	struct fixture s = { .random = random };
	uint32_t i;

	open_fixture(&s);
	make_guests(&s);
	send_some(&s);
	if (draw(&s, 2))
		move_one(&s);
	if (draw(&s, 2)) /* whether or not its init has run */
		CHECK_OK(peal_actor_retire(s.rt, s.guest[s.guests - 1]));
	for (i = 0; i < s.links; i++)
		CHECK_OK(peal_send_end(s.e, i, MAX_WAIT));
	make_guest(&s);
	CHECK_OK(peal_kernel_drain(s.k, MAX_WAIT));
	hear_all(&s);
	check_guests(&s);
	harness_conserved(s.rt);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

static const struct seeds_scenario scenario_of_hooks = { .name = "hooks",
							 .run = begin_and_end,
							 .least = 300 };

PEAL_TEST(each_hook_runs_once_and_its_messages_arrive)
{
	seeds_run(&scenario_of_hooks);
}

PEAL_TEST(worker_ending_before_exit_hooks_is_caught)
{
	seeds_find(&scenario_of_hooks, PEALI_FAULT_EARLY_LEAVE);
}

PEAL_TEST_MAIN(RUN(each_hook_runs_once_and_its_messages_arrive);
	       RUN(worker_ending_before_exit_hooks_is_caught);)
