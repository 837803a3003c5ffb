/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that a mailbox limit holds when several workers tell the actor at once.
 * Links bring more messages meanwhile. Each message is handled, refused or
 * dropped, once.
 */
#include "runtime/limit_fixture.h"
#include "sim/seeds.h"

struct plan {
	struct fixture s;
	uint32_t orders, links, full, limit;
	uint64_t told;
};

static void check(struct plan *p)
{
	struct peal_actor_mailbox_info m = fixture_mailbox(&p->s);
	uint64_t told = 0, refused = 0, dead = 0;
	uint32_t t;

	for (t = 0; t < FIXTURE_TELLERS; t++) {
		told += fixture_teller(&p->s, t).told;
		refused += fixture_teller(&p->s, t).refused;
		dead += harness_info(p->s.to[t]).dead[PEAL_REASON_FULL];
	}
	CHECK_EQ(told + refused, p->told);
	CHECK_EQ(m.waiting, 0);
	CHECK(m.max_waiting <= p->limit);
	CHECK_EQ(m.refused, refused);
	CHECK_EQ(m.dropped, fixture_info(&p->s).mailbox_dropped + dead);
	CHECK_EQ(fixture_note(&p->s).seen + m.dropped, told + p->links);
}

static void limits(uint64_t random)
{
	struct peal_kernel_options o = { .mailbox.slots = 256 };
	struct limits_order order = { .what = LIMITS_TELL };
	struct plan p;
	uint32_t i;

	memset(&p, 0, sizeof(p));
	lanes = random % 8 ? 1 : 3;
	p.full = PEAL_OVERFLOW_FAIL + (random >> 8) % 3;
	p.limit = 1 + (random >> 16) % 4;
	p.orders = 1 + (random >> 24) % 6;
	fixture_open(&p.s, o, "note", p.limit, p.full);
	seeds_report_stalls(p.s.rt);
	for (i = 0; i < p.orders; i++) {
		order.n = 1 + (uint32_t)(random >> (32 + i)) % 4;
		p.told += order.n;
		fixture_order_as(&p.s, i % FIXTURE_TELLERS, order);
		if ((random >> (40 + i)) % 2) {
			fixture_send(&p.s, (i + 1) % FIXTURE_TELLERS, 0, 1);
			p.links++;
		}
	}
	fixture_drain(&p.s);
	check(&p);
	fixture_close(&p.s);
}

static const struct seeds_scenario scene = { .name = "limits",
					     .run = limits,
					     .least = 1000 };

PEAL_TEST(limit_holds_and_each_message_is_accounted_for)
{
	seeds_run(&scene);
}

PEAL_TEST(torn_limit_count_is_caught)
{
	seeds_find(&scene, PEALI_FAULT_TORN_LIMIT);
}

PEAL_TEST_MAIN(RUN(limit_holds_and_each_message_is_accounted_for);
	       RUN(torn_limit_count_is_caught);)
