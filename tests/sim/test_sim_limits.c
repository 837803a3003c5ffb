/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that a mailbox limit holds when several workers tell the actor at once.
 * Links bring more messages meanwhile. Each message is handled, refused or
 * dropped, once.
 */
#include "runtime/limit_scene.h"
#include "sim/seeds.h"

struct plan {
	struct scene s;
	uint32_t orders, links, full, limit;
	uint64_t told;
};

static void check(struct plan *p)
{
	struct peal_actor_mailbox_info m = scene_mailbox(&p->s);
	uint64_t told = 0, refused = 0, dead = 0;
	uint32_t t;

	for (t = 0; t < SCENE_TELLERS; t++) {
		told += scene_teller(&p->s, t).told;
		refused += scene_teller(&p->s, t).refused;
		dead += harness_info(p->s.to[t]).dead[PEAL_REASON_FULL];
	}
	CHECK_EQ(told + refused, p->told);
	CHECK_EQ(m.waiting, 0);
	CHECK(m.most <= p->limit);
	CHECK_EQ(m.refused, refused);
	CHECK_EQ(m.dropped, scene_info(&p->s).mail_full + dead);
	CHECK_EQ(scene_note(&p->s).seen + m.dropped, told + p->links);
}

static void limits(uint64_t random)
{
	struct peal_kernel_options o = { .mailbox_slots = 256 };
	struct limits_order order = { .what = LIMITS_TELL };
	struct plan p;
	uint32_t i;

	memset(&p, 0, sizeof(p));
	lanes = random % 8 ? 1 : 3;
	p.full = PEAL_FULL_FAIL + (random >> 8) % 3;
	p.limit = 1 + (random >> 16) % 4;
	p.orders = 1 + (random >> 24) % 6;
	scene_open(&p.s, o, "note", p.limit, p.full);
	seeds_tell_stuck(p.s.rt);
	for (i = 0; i < p.orders; i++) {
		order.n = 1 + (uint32_t)(random >> (32 + i)) % 4;
		p.told += order.n;
		scene_order_as(&p.s, i % SCENE_TELLERS, order);
		if ((random >> (40 + i)) % 2) {
			scene_send(&p.s, (i + 1) % SCENE_TELLERS, 0, 1);
			p.links++;
		}
	}
	scene_drain(&p.s);
	check(&p);
	scene_close(&p.s);
}

static const struct seeds_scene scene = { .name = "limits",
					  .run = limits,
					  .least = 1000 };

PEAL_TEST(a_limit_holds_and_every_message_has_its_end)
{
	seeds_run(&scene);
}

PEAL_TEST(two_messages_that_are_counted_as_one_are_found)
{
	seeds_find(&scene, PEALI_FAULT_TORN_LIMIT);
}

PEAL_TEST_MAIN(RUN(a_limit_holds_and_every_message_has_its_end);
	       RUN(two_messages_that_are_counted_as_one_are_found);)
