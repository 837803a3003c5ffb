/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Actors have migrated between kernels in both directions. Shows that two
 * kernels full of messages for each other do not stall. A kernel that takes no
 * messages stalls only its own senders.
 */

#include <peal/migration.h>
#include <peal/stall.h>
#include "runtime/both_lanes.h"
#include "runtime/guest.h"
#include "runtime/short_timeout.h"

PEAL_DECLARE_PROGRAM(players);

#define KERNELS 3
#define WORKERS 2
#define SLOTS 16
#define NEWS 1000
#define ACTORS 8
#define STATE ((sizeof(struct player) + 15) / 16 * 16)

struct fixture {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *k[KERNELS];
	uint64_t player[BALL_SENDERS]; /* their first addresses */
	uint64_t sent[BALL_SENDERS];
	uint32_t players;
};

static struct peal_kernel_options options(void)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = WORKERS,
					 .lanes = lanes,
					 .max_actors = ACTORS,
					 .arena_bytes = ACTORS * STATE,
					 .mailbox.slots = SLOTS };

	return o;
}

static void open_fixture(struct fixture *c)
{
	struct peal_kernel_options o = options();
	int i;

	memset(c, 0, sizeof(*c));
	c->rt = harness_open(2, "");
	c->e = harness_endpoint(c->rt);
	for (i = 0; i < KERNELS; i++)
		CHECK_OK(peal_kernel_launch(c->rt, i % 2, &peal_program_players,
					    &o, &c->k[i]));
}

static void close_fixture(struct fixture *c)
{
	struct peal_kernel_info info;
	int i;

	for (i = 0; i < KERNELS; i++) {
		harness_stop_quiet(c->k[i]);
		CHECK_OK(peal_kernel_info(c->k[i], &info));
		CHECK_EQ(info.mailbox_dead, 0);
	}
	harness_conserved(c->rt);
	CHECK_OK(peal_runtime_shutdown(c->rt));
}

/*
 * Spawns the next player, with a link from the host. The player gets the number
 * `place` in the kernel. It tells the number `partner` in the kernel where it
 * runs.
 */
static void spawn_as(struct fixture *c, const char *handler, uint32_t kernel,
		     uint32_t worker, uint32_t place, uint32_t partner)
{
	struct player init = { .partner = partner };
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = PEAL_WORKER(worker),
					.init = &init,
					.init_bytes = sizeof(init) };
	uint64_t *player = &c->player[c->players];

	CHECK_OK(peal_actor_spawn(c->k[kernel], handler, &o, player));
	CHECK_EQ((uint32_t)*player, place);
	/*
	 * The link is made before the migration. So its messages use a
	 * forwarding link, too.
	 */
	harness_from(c->rt, c->e, c->players, *player,
		     (struct peal_link_options){ .capacity = 0 });
	c->players++;
}

static void spawn_player(struct fixture *c, uint32_t kernel, uint32_t worker,
			 uint32_t place, uint32_t partner)
{
	spawn_as(c, "player", kernel, worker, place, partner);
}

static void move_to(struct fixture *c, uint64_t address, uint32_t kernel,
		    uint32_t worker)
{
	struct peal_migration_options o = { .size = sizeof(o),
					    .worker = PEAL_WORKER(worker),
					    .kernel = c->k[kernel] };

	CHECK_OK(peal_actor_migrate(c->rt, address, &o, NULL));
}

/*
 * Sends the next ball of a sender. Returns 0, or PEAL_EAGAIN if the link is
 * full.
 */
static int serve(struct fixture *c, uint32_t by, uint64_t hops)
{
	struct ball b = { .sender = by, .number = c->sent[by], .hops = hops };
	int result =
		peal_send(c->e, by, GUEST_BALL, &b, sizeof(b), 2 * MS, NULL);

	if (result == PEAL_ETIMEDOUT)
		return PEAL_EAGAIN;
	CHECK_OK(result);
	c->sent[by]++;
	return 0;
}

/*
 * Fills in *info for the link from the host's port. Returns 1, or 0 if there is
 * no such link.
 */
static int link_by(struct fixture *c, uint32_t port,
		   struct peal_link_info *info)
{
	struct peal_link *all[16];
	int i, n = peal_link_list(c->rt, all, 16);

	for (i = 0; i < n; i++)
		if (!peal_link_info(all[i], info) && info->from_port == port &&
		    info->from == peal_endpoint_address(c->e))
			return 1;
	return 0;
}

/* Serves until the link of a player is full. */
static void fill(struct fixture *c, uint32_t by, uint64_t hops)
{
	struct peal_link_info info;

	EVENTUALLY(serve(c, by, hops) && link_by(c, by, &info) &&
		   info.queued == info.capacity);
}

static struct player look_at(struct fixture *c, uint32_t index)
{
	struct player p;
	int still[KERNELS], i;

	for (i = 0; i < KERNELS; i++) {
		still[i] = peal_kernel_suspend(c->k[i], MAX_WAIT);
		CHECK(!still[i] || still[i] == PEAL_ESTOPPED);
	}
	CHECK_OK(peal_actor_state(c->rt, c->player[index], &p, sizeof(p)));
	for (i = 0; i < KERNELS; i++)
		if (!still[i])
			CHECK_OK(peal_kernel_resume(c->k[i]));
	return p;
}

/* Waits until all balls have made all hops. Checks their order. */
static void expect_all(struct fixture *c, uint64_t hops)
{
	uint64_t until = harness_now_ns() + MAX_WAIT, balls, due = 0;
	uint32_t i;

	for (i = 0; i < c->players; i++)
		due += c->sent[i] * (1 + hops);
	do {
		CHECK(harness_now_ns() < until);
		/* lets the kernels run between two suspensions */
		identity_sleep_us(2000);
		for (balls = i = 0; i < c->players; i++) {
			struct player p = look_at(c, i);

			balls += p.balls;
			CHECK_EQ(p.disorder, 0);
		}
	} while (balls < due);
	CHECK_EQ(balls, due);
}

/*
 * Serves `balls` balls of each player as fast as the links take them. Then
 * waits for all hops.
 */
static void play(struct fixture *c, uint64_t balls, uint64_t hops)
{
	uint64_t until = harness_now_ns() + MAX_WAIT, n = 0;
	uint32_t i;

	while (n < balls * c->players) {
		CHECK(harness_now_ns() < until);
		for (n = i = 0; i < c->players; i++) {
			if (c->sent[i] < balls)
				serve(c, i, hops);
			n += c->sent[i];
		}
	}
	expect_all(c, hops);
}

/* ---- kernels full of messages for each other ----------------------------- */

/*
 * Each player was spawned in the other player's kernel. So all messages to a
 * player come from the other kernel.
 */
PEAL_TEST(two_full_kernels_do_not_deadlock)
{
	struct fixture c;

	open_fixture(&c);
	spawn_player(&c, 0, 0, 0, 0);
	spawn_player(&c, 1, 0, 0, 0);
	move_to(&c, c.player[0], 1, 0);
	move_to(&c, c.player[1], 0, 0);
	play(&c, 200, 9);
	close_fixture(&c);
}

/*
 * Two such pairs. Messages for the second pair arrive at another worker than
 * the player's, which passes them on by a mailbox.
 */
PEAL_TEST(two_full_pairs_on_all_workers_do_not_deadlock)
{
	struct fixture c;
	uint32_t i;

	open_fixture(&c);
	for (i = 0; i < 4; i++)
		spawn_player(&c, i % 2, 0, i / 2, i / 2);
	for (i = 0; i < 4; i++)
		move_to(&c, c.player[i], 1 - i % 2, i / 2);
	play(&c, 100, 9);
	close_fixture(&c);
}

PEAL_TEST(three_full_kernels_in_a_cycle_do_not_deadlock)
{
	struct fixture c;
	uint32_t i;

	open_fixture(&c);
	for (i = 0; i < KERNELS; i++)
		spawn_player(&c, i, i % WORKERS, 0, 0);
	for (i = 0; i < KERNELS; i++)
		move_to(&c, c.player[i], (i + 1) % KERNELS, i % WORKERS);
	play(&c, 100, 11);
	close_fixture(&c);
}

/*
 * Actor `gossip` tells two messages for each message, so messages multiply. It
 * tells itself and a player that has migrated forth and back. All messages are
 * handled, even if the mailboxes get full.
 */
PEAL_TEST(multiplying_messages_do_not_deadlock_kernels)
{
	struct peal_kernel_info info;
	struct fixture c;
	uint32_t i;

	open_fixture(&c);
	spawn_as(&c, "gossip", 0, 0, 0, 1);
	spawn_player(&c, 0, 0, 1, 0);
	for (i = 0; i < 4; i++)
		move_to(&c, c.player[1], 1 - i % 2, 0);
	EVENTUALLY(!serve(&c, 0, NEWS - 1));
	/* look_at would suspend the kernels, so this only reads counters */
	EVENTUALLY(!peal_kernel_info(c.k[0], &info) &&
		   info.handled == 2 * NEWS);
	CHECK_EQ(look_at(&c, 1).balls, NEWS);
	CHECK_EQ(look_at(&c, 1).disorder, 0);
	close_fixture(&c);
}

/* ---- a suspended kernel -------------------------------------------------- */

/*
 * Opens three players of kernel 0. The first two tell the numbers `first` and
 * `second`. The third one migrates to kernel 1, which is then suspended.
 */
static void open_divided(struct fixture *c, uint32_t first, uint32_t second)
{
	open_fixture(c);
	spawn_player(c, 0, 0, 0, first);
	spawn_player(c, 0, 1, 1, second);
	spawn_player(c, 0, 0, 2, 0);
	move_to(c, c->player[2], 1, 0);
	CHECK_OK(peal_kernel_suspend(c->k[1], MAX_WAIT));
}

/*
 * Two players of kernel 0 continue to play while messages wait for the third
 * one in kernel 1.
 */
PEAL_TEST(forwarded_backlog_leaves_slots_for_local_actors)
{
	struct fixture c;
	uint32_t n;

	open_divided(&c, 1, 0);
	fill(&c, 2, 0);
	for (n = 0; n < 300; n++)
		while (serve(&c, n % 2, 9))
			;
	CHECK_OK(peal_kernel_resume(c.k[1]));
	/* expect_all does not apply: the balls differ in their hops */
	EVENTUALLY(look_at(&c, 2).balls == c.sent[2]);
	CHECK_EQ(look_at(&c, 2).disorder, 0);
	EVENTUALLY(look_at(&c, 0).balls + look_at(&c, 1).balls == 3000);
	close_fixture(&c);
}

/*
 * Messages for an actor in another kernel hold mailbox slots. The end of that
 * kernel frees these slots.
 */
PEAL_TEST(kernel_end_frees_slots_of_forwarded_messages)
{
	struct peal_link *all[8];
	struct peal_link_info info;
	struct peal_stall cause;
	struct fixture c;
	uint32_t n;
	int i, links;

	open_divided(&c, 2, 1);
	/* the first player tells each ball to the third one */
	fill(&c, 0, 1);
	EVENTUALLY(peal_stall_report(c.rt, 0, &cause, 1) == 1 &&
		   cause.cause == PEAL_STALL_SUSPENDED);
	CHECK_EQ(cause.device, 1);
	CHECK_OK(peal_kernel_stop(c.k[1], MAX_WAIT));
	for (n = 0; n < 200; n++)
		while (serve(&c, 1, 9))
			;
	EVENTUALLY(look_at(&c, 1).balls == 2000);
	EVENTUALLY(look_at(&c, 0).balls == c.sent[0]);
	links = peal_link_list(c.rt, all, 8);
	for (i = 0; i < links; i++) {
		CHECK_OK(peal_link_info(all[i], &info));
		if ((uint32_t)info.from != PEAL_FWD_LINK_ACTOR)
			continue;
		CHECK_EQ(info.accepted, c.sent[0]);
		CHECK_EQ(info.delivered, 0);
		CHECK_EQ(info.queued, 0);
		/* a user cannot destroy a forwarding link */
		CHECK_EQ(peal_link_destroy(all[i]), PEAL_EBUSY);
		CHECK_CONTAINS(peal_last_error()->text, "forwards messages");
		break;
	}
	CHECK(i < links);
	close_fixture(&c);
}

/* ---- a destroyed kernel -------------------------------------------------- */

static void expect_balls(struct fixture *c, uint64_t balls)
{
	while (c->sent[0] < balls)
		EVENTUALLY(!serve(c, 0, 0));
	EVENTUALLY(look_at(c, 0).next[0][0] == balls);
	CHECK_EQ(look_at(c, 0).disorder, 0);
}

/* Makes the second player tell the first one a ball, and waits for the ball. */
static void expect_told(struct fixture *c)
{
	uint64_t balls = look_at(c, 0).balls;

	EVENTUALLY(!serve(c, 1, 1));
	EVENTUALLY(look_at(c, 0).balls == balls + 1);
	CHECK_EQ(look_at(c, 0).disorder, 0);
}

/*
 * Player 0 of kernel 0 migrates to the given workers of kernel 1 in turn, and
 * then to kernel `last`. Then kernel 1 is destroyed. The first address of the
 * player must still lead to it.
 */
static void outlive(const int *workers, int n, uint32_t last, uint32_t worker)
{
	struct peal_migration_options o = { .size = sizeof(o) };
	uint64_t actors[ACTORS], newest = 0;
	struct peal_link *all[8];
	struct fixture c;
	int i, fwd_links = 0;

	open_fixture(&c);
	spawn_player(&c, 0, 0, 0, 0);
	spawn_player(&c, 0, 1, 1, 0);
	expect_balls(&c, 20);
	for (i = 0; i < n; i++)
		move_to(&c, c.player[0], 1, (uint32_t)workers[i]);
	expect_balls(&c, 40);
	o.kernel = c.k[last];
	o.worker = PEAL_WORKER(worker);
	CHECK_OK(peal_actor_migrate(c.rt, c.player[0], &o, &newest));
	expect_balls(&c, 60);
	CHECK_OK(peal_kernel_drain(c.k[1], MAX_WAIT));
	CHECK_OK(peal_kernel_destroy(c.k[1]));
	c.k[1] = c.k[0];
	expect_balls(&c, 80);
	expect_told(&c);
	/* the player can still migrate, and all its addresses lead to it */
	move_to(&c, c.player[0], last, 1 - worker);
	expect_balls(&c, 100);
	expect_told(&c);
	CHECK_EQ(peal_actor_retire(c.rt, newest), PEAL_EBUSY);
	for (i = peal_link_list(c.rt, all, 8); i-- > 0;)
		if ((uint32_t)harness_info(all[i]).from == PEAL_FWD_LINK_ACTOR)
			fwd_links++;
		else
			CHECK_OK(peal_link_destroy(all[i]));
	/* the forwarding link from kernel 0, also for told balls */
	CHECK_EQ(fwd_links, last ? 1 : 0);
	CHECK_OK(peal_actor_retire(c.rt, c.player[0]));
	CHECK_OK(peal_actor_retire(c.rt, c.player[1]));
	CHECK_EQ(peal_actor_retire(c.rt, newest), PEAL_ENOENT);
	for (i = 0; i < KERNELS; i++) {
		CHECK_OK(peal_actor_spawn_many(c.k[i], "player", NULL, ACTORS,
					       actors));
		CHECK_OK(peal_actor_retire_many(c.rt, actors, ACTORS));
	}
	close_fixture(&c);
}

PEAL_TEST(returned_actor_resolves_without_middle_kernel)
{
	outlive((const int[]){ 0 }, 1, 0, 0);
	outlive((const int[]){ 1 }, 1, 0, 1);
	outlive((const int[]){ 1, 0, 1 }, 3, 0, 0);
}

PEAL_TEST(onward_actor_resolves_without_middle_kernel)
{
	outlive((const int[]){ 1 }, 1, 2, 0);
	outlive((const int[]){ 0, 1 }, 2, 2, 1);
}

PEAL_TEST(forwarded_messages_arrive_before_kernel_end)
{
	struct peal_link_info info;
	struct peal_link *link;
	struct fixture c;
	uint32_t i;

	open_fixture(&c);
	spawn_player(&c, 0, 0, 0, 0);
	move_to(&c, c.player[0], 1, 0);
	link = harness_from(c.rt, c.e, 1, c.player[0],
			    (struct peal_link_options){ .capacity = 0 });
	move_to(&c, c.player[0], 0, 1);
	CHECK_OK(peal_kernel_suspend(c.k[0], MAX_WAIT));
	for (i = 0; i < 3; i++)
		EVENTUALLY(!serve(&c, 1, 0));
	EVENTUALLY(link_by(&c, 1, &info) && info.delivered == 3);
	CHECK_OK(peal_link_destroy(link));
	CHECK_OK(peal_kernel_drain(c.k[1], MAX_WAIT));
	CHECK_TIMES_OUT(c.rt, peal_kernel_destroy(c.k[1]), PEAL_EBUSY,
			"kernel 'players' still has 3 messages for actors of "
			"kernel 'players'; destroy it after");
	CHECK_OK(peal_kernel_resume(c.k[0]));
	CHECK_OK(peal_kernel_destroy(c.k[1]));
	c.k[1] = c.k[0];
	EVENTUALLY(look_at(&c, 0).balls == 3);
	EVENTUALLY(!serve(&c, 0, 0));
	EVENTUALLY(look_at(&c, 0).balls == 4);
	CHECK_EQ(look_at(&c, 0).disorder, 0);
	close_fixture(&c);
}

/*
 * Forwarded messages arrive at kernel 1 until its end. Some are for another
 * worker than the link's, some go on to another kernel. None keeps a worker
 * from its end.
 */
PEAL_TEST(kernel_drains_while_it_forwards_messages)
{
	struct fixture c;
	int i;

	for (i = 0; i < 5; i++) {
		open_fixture(&c);
		spawn_player(&c, 0, 0, 0, 0);
		move_to(&c, c.player[0], 1, 1);
		move_to(&c, c.player[0], 1, 0);
		move_to(&c, c.player[0], 0, 1);
		while (c.sent[0] < 100 + 50 * (uint64_t)i)
			serve(&c, 0, 0);
		CHECK_OK(peal_kernel_drain(c.k[1], MAX_WAIT));
		while (c.sent[0] < 500)
			EVENTUALLY(!serve(&c, 0, 0));
		EVENTUALLY(look_at(&c, 0).balls > 0);
		/* some balls may be lost with kernel 1, so the number varies */
		CHECK_OK(peal_kernel_stop(c.k[0], MAX_WAIT));
		CHECK_OK(peal_kernel_stop(c.k[2], MAX_WAIT));
		harness_conserved(c.rt);
		CHECK_OK(peal_runtime_shutdown(c.rt));
	}
}

/*
 * Player 0 has ended with kernel 1. Player 1 is in kernel 2, but kernel 0 has
 * no port for a forwarding link to it. So messages to both are dead.
 */
PEAL_TEST(messages_to_actors_of_ended_kernels_are_dead)
{
	struct peal_kernel_options o = options();
	struct peal_link_info info;
	struct fixture c;

	/* for one forwarding link */
	o.max_ports = 1;
	open_fixture(&c);
	CHECK_OK(peal_kernel_stop(c.k[0], MAX_WAIT));
	CHECK_OK(peal_kernel_destroy(c.k[0]));
	CHECK_OK(peal_kernel_launch(c.rt, 0, &peal_program_players, &o,
				    &c.k[0]));
	spawn_player(&c, 0, 0, 0, 0);
	spawn_player(&c, 0, 0, 1, 0);
	move_to(&c, c.player[0], 1, 0);
	move_to(&c, c.player[1], 1, 0);
	move_to(&c, c.player[1], 2, 0);
	EVENTUALLY(!serve(&c, 1, 0));
	EVENTUALLY(look_at(&c, 1).balls == 1);
	CHECK_OK(peal_kernel_drain(c.k[1], MAX_WAIT));
	CHECK_OK(peal_kernel_destroy(c.k[1]));
	c.k[1] = c.k[0];
	EVENTUALLY(!serve(&c, 0, 0));
	EVENTUALLY(!serve(&c, 1, 0));
	EVENTUALLY(link_by(&c, 0, &info) &&
		   info.dead[PEAL_REASON_NO_ACTOR] == 1);
	EVENTUALLY(link_by(&c, 1, &info) &&
		   info.dead[PEAL_REASON_NO_ACTOR] == 1);
	close_fixture(&c);
}

/* ---- refusals ------------------------------------------------------------ */

PEAL_TEST(kernel_without_forward_slots_refuses_migration)
{
	struct peal_kernel_options o = options();
	struct peal_migration_options m = { .size = sizeof(m) };
	struct peal_kernel *small = NULL;
	struct fixture c;

	open_fixture(&c);
	spawn_player(&c, 0, 0, 0, 0);
	o.workers = 1;
	/* too few: its handlers tell two */
	o.mailbox.forward_slots = 1;
	CHECK_OK(
		peal_kernel_launch(c.rt, 1, &peal_program_players, &o, &small));
	m.kernel = small;
	CHECK_EQ(peal_actor_migrate(c.rt, c.player[0], &m, NULL), PEAL_ENOTSUP);
	CHECK_CONTAINS(peal_last_error()->text,
		       "'players': has too few mailbox.forward_slots for its "
		       "handlers (1, allowed 2..16)");
	CHECK_OK(peal_kernel_stop(small, MAX_WAIT));
	play(&c, 1, 0);
	o.mailbox.forward_slots = 1 << 20;
	CHECK_EQ(peal_kernel_launch(c.rt, 1, &peal_program_players, &o, &small),
		 PEAL_EINVAL);
	CHECK_CONTAINS(peal_last_error()->text,
		       "mailbox.forward_slots 1048576 and");
	o.mailbox.forward_slots = 1;
	o.mailbox.slots = 0;
	CHECK_EQ(peal_kernel_launch(c.rt, 1, &peal_program_players, &o, &small),
		 PEAL_EINVAL);
	CHECK_CONTAINS(
		peal_last_error()->text,
		"'mailbox.forward_slots': needs mailboxes, and mailbox.slots "
		"is 0 (1, allowed 0)");
	close_fixture(&c);
}

PEAL_TEST_MAIN(RUN_LANES(two_full_kernels_do_not_deadlock);
	       RUN_LANES(two_full_pairs_on_all_workers_do_not_deadlock);
	       RUN_LANES(multiplying_messages_do_not_deadlock_kernels);
	       RUN_LANES(kernel_drains_while_it_forwards_messages);
	       RUN_LANES(three_full_kernels_in_a_cycle_do_not_deadlock);
	       RUN_LANES(forwarded_backlog_leaves_slots_for_local_actors);
	       RUN_LANES(kernel_end_frees_slots_of_forwarded_messages);
	       RUN_LANES(returned_actor_resolves_without_middle_kernel);
	       RUN_LANES(onward_actor_resolves_without_middle_kernel);
	       RUN_LANES(forwarded_messages_arrive_before_kernel_end);
	       RUN_LANES(messages_to_actors_of_ended_kernels_are_dead);
	       RUN(kernel_without_forward_slots_refuses_migration);)
