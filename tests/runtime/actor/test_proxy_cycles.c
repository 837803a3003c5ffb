/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels tell each other by proxies, in cycles of both directions, and their
 * mailboxes are full. Each message makes one more message. Shows that the
 * kernels do not stall, even with few slots.
 */

#include <peal/proxy.h>
#include "runtime/both_lanes.h"
#include "runtime/guest.h"

PEAL_DECLARE_PROGRAM(players);

#define KERNELS 4 /* at most */
#define SLOTS 16
#define STATE ((sizeof(struct player) + 15) / 16 * 16)

/*
 * Each kernel has two players. The first tells the first player of the next
 * kernel. The second tells the second player of the kernel before.
 */
struct rounds {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *k[KERNELS];
	uint64_t player[2 * KERNELS];
	uint64_t sent[2 * KERNELS];
	uint32_t kernels;
};

/*
 * Spawns a player of a kernel. way: 0: tells the next kernel; 1: the kernel
 * before. Its partner is the actor of number 2 + way, a proxy.
 */
static void spawn_players(struct rounds *r, uint32_t kernel, uint32_t way)
{
	struct player init = { .partner = 2 + way };
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = PEAL_WORKER(way),
					.init = &init,
					.init_bytes = sizeof(init) };

	CHECK_OK(peal_actor_spawn(r->k[kernel], "player", &o,
				  &r->player[2 * kernel + way]));
}

static void make_proxy(struct rounds *r, uint32_t kernel, uint32_t way)
{
	uint32_t to = (kernel + (way ? r->kernels - 1 : 1)) % r->kernels;
	struct peal_proxy_options o = { .size = sizeof(o),
					.worker = PEAL_WORKER(way) };
	uint64_t proxy = 0;

	CHECK_OK(peal_proxy_create(r->k[kernel], r->player[2 * to + way], &o,
				   &proxy));
	CHECK_EQ((uint32_t)proxy, 2 + way);
}

static void open_rounds(struct rounds *r, uint32_t kernels, uint32_t places)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = 2,
					 .lanes = lanes,
					 .max_actors = 4,
					 .arena_bytes = 4 * STATE,
					 .mailbox.slots = SLOTS,
					 .mailbox.forward_slots = places };
	uint32_t i;

	memset(r, 0, sizeof(*r));
	r->kernels = kernels;
	r->rt = harness_open(2, "");
	r->e = harness_endpoint(r->rt);
	for (i = 0; i < kernels; i++)
		CHECK_OK(peal_kernel_launch(r->rt, (int)i % 2,
					    &peal_program_players, &o,
					    &r->k[i]));
	for (i = 0; i < 2 * kernels; i++)
		spawn_players(r, i / 2, i % 2);
	for (i = 0; i < 2 * kernels; i++)
		make_proxy(r, i / 2, i % 2);
	for (i = 0; i < 2 * kernels; i++)
		harness_from(r->rt, r->e, i, r->player[i],
			     (struct peal_link_options){ .capacity = 0 });
}

/* Sends until each player has got `balls` balls in all. */
static void play(struct rounds *r, uint64_t balls)
{
	uint64_t until = harness_now_ns() + MAX_WAIT, left;
	struct ball b = { .hops = BALL_HOPS - 1 };
	uint32_t i;
	int result;

	do {
		left = 0;
		for (i = 0; i < 2 * r->kernels; i++) {
			if (r->sent[i] == balls)
				continue;
			b.sender = i / 2;
			b.number = r->sent[i];
			result = peal_send(r->e, i, GUEST_BALL, &b, sizeof(b),
					   0, NULL);
			CHECK(!result || result == PEAL_EAGAIN);
			r->sent[i] += !result;
			left += balls - r->sent[i];
			if (!result)
				until = harness_now_ns() + MAX_WAIT;
		}
		/* otherwise the kernels stall */
		CHECK(harness_now_ns() < until);
		usleep(20);
	} while (left);
}

static uint64_t handled(const struct rounds *r)
{
	struct peal_kernel_info info;
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < r->kernels; i++) {
		CHECK_OK(peal_kernel_info(r->k[i], &info));
		sum += info.handled;
	}
	return sum;
}

static void close_rounds(struct rounds *r)
{
	struct player p;
	uint32_t i;

	for (i = 0; i < r->kernels; i++)
		harness_stop_quiet(r->k[i]);
	for (i = 0; i < 2 * r->kernels; i++) {
		CHECK_OK(peal_actor_state(r->rt, r->player[i], &p, sizeof(p)));
		CHECK_EQ(p.disorder, 0);
	}
	harness_conserved(r->rt);
	CHECK_OK(peal_runtime_shutdown(r->rt));
}

static void play_all(uint32_t kernels, uint32_t places, uint64_t balls)
{
	uint64_t each = 2 * kernels * BALL_HOPS;
	struct rounds r;

	open_rounds(&r, kernels, places);
	play(&r, balls);
	EVENTUALLY(handled(&r) == balls * each);
	/* again, after the kernels have returned the slots that they owed */
	play(&r, 2 * balls);
	EVENTUALLY(handled(&r) == 2 * balls * each);
	close_rounds(&r);
}

PEAL_TEST(proxy_cycle_of_two_kernels_does_not_deadlock)
{
	play_all(2, 2, 100);
}

PEAL_TEST(proxy_cycle_of_three_kernels_does_not_deadlock)
{
	play_all(3, 0, 50);
}

PEAL_TEST(proxy_cycle_of_four_kernels_does_not_deadlock)
{
	play_all(4, 2 * SLOTS, 30);
}

PEAL_TEST_MAIN(RUN_LANES(proxy_cycle_of_two_kernels_does_not_deadlock);
	       RUN_LANES(proxy_cycle_of_three_kernels_does_not_deadlock);
	       RUN_LANES(proxy_cycle_of_four_kernels_does_not_deadlock);)
