/* SPDX-License-Identifier: Apache-2.0 */
#include <peal/device/atomic.h>

/*
 * Shows that calls are wait-free: each ends within STEPS_MAX steps. The other
 * threads may do anything, stop anywhere and write any words. A step is an
 * access to a shared word, and macros count the steps.
 */

#define STEPS_MAX 1000

static _Thread_local unsigned long steps, steps_armed, steps_most;
static _Thread_local unsigned long steps_adds; /* read-modify-writes */
/* step_between runs just before step number step_due. */
static _Thread_local unsigned long step_due;
static void (*step_between)(void);
static void step_count(void);

#define STEP(call) (step_count(), call)
#define STEP_ADD(call) (steps_adds++, STEP(call))
#define peal_load_relaxed_dev(p) STEP(peal_load_relaxed_dev(p))
#define peal_load_acquire_dev(p) STEP(peal_load_acquire_dev(p))
#define peal_load_relaxed_sys(p) STEP(peal_load_relaxed_sys(p))
#define peal_load_acquire_sys(p) STEP(peal_load_acquire_sys(p))
#define peal_load_relaxed_dev_u32(p) STEP(peal_load_relaxed_dev_u32(p))
#define peal_load_acquire_dev_u32(p) STEP(peal_load_acquire_dev_u32(p))
#define peal_store_relaxed_dev(p, v) STEP(peal_store_relaxed_dev(p, v))
#define peal_store_release_dev(p, v) STEP(peal_store_release_dev(p, v))
#define peal_store_relaxed_sys(p, v) STEP(peal_store_relaxed_sys(p, v))
#define peal_store_release_sys(p, v) STEP(peal_store_release_sys(p, v))
#define peal_add_relaxed_dev(p, v) STEP_ADD(peal_add_relaxed_dev(p, v))
#define peal_add_acqrel_dev(p, v) STEP_ADD(peal_add_acqrel_dev(p, v))
#define peal_add_acqrel_dev_u32(p, v) STEP_ADD(peal_add_acqrel_dev_u32(p, v))
#define peal_atom8_load(p) STEP(peal_atom8_load(p))
#define peal_atom8_store(p, v) STEP(peal_atom8_store(p, v))
#define peal_atom16_load(p) STEP(peal_atom16_load(p))
#define peal_atom16_store(p, v) STEP(peal_atom16_store(p, v))
#define peal_pause() STEP(peal_pause())

/* Counts the steps of a call. */
#define VICTIM_CALL(call)                                                      \
	do {                                                                   \
		steps = 0;                                                     \
		steps_armed = 1;                                               \
		call;                                                          \
		steps_armed = 0;                                               \
		steps_most = steps > steps_most ? steps : steps_most;          \
	} while (0)

#include "corruption_fixture.h"

static void step_count(void)
{
	if (!steps_armed)
		return;
	CHECK(++steps < STEPS_MAX);
	if (steps != step_due)
		return;
	steps_armed = 0; /* do not count its steps */
	step_between();
	steps_armed = 1;
}

/* ---- links --------------------------------------------------------------- */

/* Calls a full link and an empty one, with nonsense from the other end. */
static void link_suffers(uint32_t policy)
{
	struct peali_ring_spec spec = { SLOTS, 64, policy, 500, 4 * 512 };
	static const struct peal_header h = { 0, 0, 0 };
	unsigned long long random = SEED + policy;
	uint64_t lengths[BURST], i, pushed = 0, popped = 0;
	uint8_t data[BURST * 512] = { 0 };
	struct link_pair l;
	int r;

	link_pair_open(&l, spec);
	for (i = 0; i < CALLS; i++) {
		uint64_t bytes = test_random(&random) % 2 ?
					 24 :
					 test_random(&random) % 500;
		uint64_t n = 1 + test_random(&random) % BURST;

		if (bytes > 24)
			VICTIM_CALL(r = peal_link_push(&l.p, h, data, bytes));
		else
			VICTIM_CALL(r = peal_link_push_bulk(&l.p, h, data,
							    bytes, n));
		pushed += !r;
		VICTIM_CALL(r = peal_link_pop_burst(&l.c, data, 500, BURST,
						    lengths));
		popped += r > 0;
		VICTIM_CALL(peal_link_flush_credit(&l.c));
		if (i % 8 == 0)
			l.credit->slots = l.p.tail - nonsense(&random) % 8;
		if (i % 8 == 1)
			((uint64_t *)(void *)l.c
				 .slots)[test_random(&random) % (SLOTS * 8)] =
				nonsense(&random);
		if (i % 64)
			continue;
		memset(l.c.slots, 0, SLOTS * 64);
		l.credit->slots = l.credit->slab = 0;
		link_pair_init(&l);
	}
	CHECK(pushed > CALLS / 100);
	CHECK(popped > CALLS / 100);
	link_pair_close(&l);
}

static void say(const char *what, uint32_t policy)
{
	printf("    %s, policy %u: at most %lu steps\n", what, policy,
	       steps_most);
	CHECK(steps_most > 0);
	steps_most = 0;
}

PEAL_TEST(link_calls_end_for_any_peer_behaviour)
{
	EACH_POLICY(policy)
	{
		link_suffers(policy);
		say("link", policy);
	}
}

/* ---- the other kinds ----------------------------------------------------- */

PEAL_TEST(calls_end_for_any_memory_content)
{
	size_t i;

	for (i = 0; i < KINDS; i++)
		EACH_POLICY(policy)
		{
			suffer_by_turns(&kinds[i], policy);
			say(kinds[i].name, policy);
		}
}

PEAL_TEST(calls_end_under_concurrent_corruption)
{
	size_t i;

	if (!AT_ONCE)
		test_leave_out("what is written at once is a race");
	for (i = 0; i < KINDS; i++)
		EACH_POLICY(policy)
		{
			suffer_at_once(&kinds[i], policy);
			say(kinds[i].name, policy);
		}
}

/* ---- actions between two steps ------------------------------------------- */

static struct work_pool between_pool;
static uint64_t between_number; /* first of the late tickets */
static uint64_t between_late; /* how many of the two messages are late */

/* A late producer puts both messages, in order. */
static void between_put(void)
{
	struct peal_header h = { 0, 0, 3 };
	struct identity_message m;
	uint64_t i;

	for (i = 0; i < between_late; i++) {
		m = identity_make(0, i);
		peal_work_put_at(between_pool.q, between_number + i, h, &m,
				 sizeof(m));
	}
	for (; i < 2; i++)
		CHECK_EQ(work_put(&between_pool, 0, i), 0);
	step_due = 0;
}

/*
 * The messages come before step `due` of a take. Returns 1 if the takes get
 * them in order. The tickets of `late` messages were taken before. *more: 1 if
 * the take has such a step.
 */
static int late_in_order(uint32_t policy, uint64_t late, unsigned long due,
			 int *more)
{
	struct peal_work_received got[2];
	struct identity_message m[2];
	struct work_pool *w = &between_pool;
	uint64_t next = 0, looks;
	int i, r, sound = 1;

	work_pool_open(w, policy, 16, 1, 2);
	between_late = late;
	CHECK_EQ(peal_work_take_tickets(w->q, &w->at[0].p, late,
					&between_number),
		 0);
	for (looks = 0; looks < 20; looks++)
		CHECK_EQ(peal_work_pop_burst(w->q, &w->at[0].c, m, sizeof(*m),
					     2, got),
			 PEAL_EAGAIN);
	step_between = between_put;
	step_due = due;
	for (looks = 0; next < 2 && looks < 4; looks++) {
		VICTIM_CALL(r = peal_work_pop_burst(w->q, &w->at[0].c, m,
						    sizeof(*m), 2, got));
		for (i = 0; i < r; i++)
			sound &= m[i].sequence == next++;
		if (!looks)
			*more = !step_due;
		if (step_due)
			between_put();
	}
	CHECK_EQ(next, 2);
	work_pool_close(w);
	return sound;
}

PEAL_TEST(late_messages_stay_in_order_at_any_step)
{
	unsigned long due;
	uint64_t late;
	int more;

	EACH_POLICY(policy)
	for (late = 1; late <= 2; late++) {
		for (due = more = 1; more; due++)
			CHECK(late_in_order(policy, late, due, &more));
		CHECK(due > 4);
	}
}

/* ---- read-modify-writes -------------------------------------------------- */

/* Counts the read-modify-writes of a call. */
#define ADDS(call) (steps_adds = 0, (void)(call), steps_adds)

static const struct peal_header no_header = { 0, 0, 0 };

PEAL_TEST(links_need_no_read_modify_write)
{
	struct peali_ring_spec spec = { SLOTS, 64, 0, 500, 4 * 512 };
	uint8_t data[SLOTS * 500] = { 0 };
	uint64_t lengths[SLOTS];

	EACH_POLICY(policy)
	{
		struct link_pair l;

		spec.policy = policy;
		link_pair_open(&l, spec);
		CHECK_EQ(
			ADDS(peal_link_push_bulk(&l.p, no_header, data, 24, 2)),
			0);
		CHECK_EQ(ADDS(peal_link_push(&l.p, no_header, data, 500)), 0);
		CHECK_EQ(ADDS(peal_link_pop_burst(&l.c, data, 500, SLOTS,
						  lengths)),
			 0);
		CHECK_EQ(l.counts->delivered, 3);
		link_pair_close(&l);
	}
}

PEAL_TEST(mailbox_needs_one_add_per_bulk_and_per_lease)
{
	EACH_POLICY(policy)
	{
		struct stage *s = stage_open(&kinds[0], policy);
		struct peal_mailbox *m = QUEUE(s, peal_mailbox);
		uint32_t lease = m->lease;

		s->random = 1; /* no lease is returned */
		CHECK(lease >= 2);
		CHECK_EQ(ADDS(peal_mailbox_admit(m, &s->lease, 1)), 1);
		CHECK_EQ(s->lease.granted, lease);
		CHECK_EQ(ADDS(mailbox_put(s, lease)), 1);
		CHECK_EQ(ADDS(mailbox_take(s, lease)), 0);
		CHECK_EQ(s->taken, lease);
		stage_close(s);
	}
}

PEAL_TEST(work_queue_atomic_adds_are_bounded)
{
	uint32_t solo;

	EACH_POLICY(policy)
	for (solo = 0; solo < 2; solo++) {
		struct stage *s = stage_open(&kinds[1], policy);
		struct peal_work *q = QUEUE(s, peal_work);

		s->random = 1; /* no lease is returned, no ticket is poisoned */
		q->solo = solo;
		CHECK_EQ(q->block_log2, 0);
		CHECK_EQ(ADDS(peal_work_admit(q, &s->worker, 3)), 1);
		CHECK_EQ(ADDS(work_put_some(s, 3)), !solo);
		CHECK_EQ(ADDS(work_take_some(s, 3)), 2 + 3);
		CHECK_EQ(s->taken, 3);
		q->solo = 0;
		stage_close(s);
	}
}

PEAL_TEST(topic_put_needs_at_most_one_add)
{
	size_t i;

	EACH_POLICY(policy)
	for (i = 2; i < KINDS; i++) {
		struct stage *s = stage_open(&kinds[i], policy);
		int waits = QUEUE(s, peal_topic)->mode == PEAL_TOPIC_WAIT;

		CHECK_EQ(ADDS(topic_put_some(s, 1)), waits);
		CHECK_EQ(ADDS(topic_put_some(s, 2)), 0);
		CHECK_EQ(ADDS(topic_take_some(s, 3)), 0);
		CHECK_EQ(s->taken, 3);
		stage_close(s);
	}
}

/* ---- negative controls --------------------------------------------------- */

/* Waits for a free slot, as a queue with a lock or a retry loop does. */
static void mailbox_put_waiting(struct stage *s, uint32_t n)
{
	struct peal_mailbox *m = QUEUE(s, peal_mailbox);

	while (!peal_mailbox_admit(m, &s->lease, 1))
		peal_pause();
	mailbox_put(s, n);
}

static void work_put_waiting(struct stage *s, uint32_t n)
{
	while (!peal_work_admit(QUEUE(s, peal_work), &s->worker, 1))
		peal_pause();
	work_put_some(s, n);
}

static void topic_put_waiting(struct stage *s, uint32_t n)
{
	struct peal_topic *t = QUEUE(s, peal_topic);
	struct peal_header h = { 1, 2, 3 };

	(void)n;
	while (peal_topic_publish(t, &s->publisher, h, s->data.at, BYTES))
		peal_pause();
}

/* Waits for a message. */
static int mailbox_take_waiting(struct stage *s, uint32_t n)
{
	while (!peal_mailbox_ready(QUEUE(s, peal_mailbox)))
		peal_pause();
	return mailbox_take(s, n);
}

static int work_take_waiting(struct stage *s, uint32_t n)
{
	int r;

	while ((r = work_take_some(s, n)) == PEAL_EAGAIN)
		peal_pause();
	return r;
}

static int topic_take_waiting(struct stage *s, uint32_t n)
{
	int r;

	while ((r = topic_take_some(s, n)) == PEAL_EAGAIN)
		peal_pause();
	return r;
}

PEAL_TEST(puts_that_wait_for_free_slots_are_caught)
{
	static void (*const puts[])(struct stage *, uint32_t) = {
		mailbox_put_waiting, work_put_waiting, topic_put_waiting
	};
	size_t i;

	for (i = 0; i < sizeof(puts) / sizeof(puts[0]); i++)
		EACH_POLICY(policy)
		{
			struct kind broken = kinds[i];

			broken.put = puts[i];
			CHECK(ends_badly(broken, policy));
			CHECK(!ends_badly(kinds[i], policy));
		}
}

PEAL_TEST(takes_that_wait_for_a_message_are_caught)
{
	static int (*const takes[])(struct stage *, uint32_t) = {
		mailbox_take_waiting, work_take_waiting, topic_take_waiting,
		topic_take_waiting
	};
	size_t i;

	for (i = 0; i < KINDS; i++)
		EACH_POLICY(policy)
		{
			struct kind broken = kinds[i];

			broken.take = takes[i];
			CHECK(ends_badly(broken, policy));
		}
}

PEAL_TEST_MAIN(RUN(link_calls_end_for_any_peer_behaviour);
	       RUN(calls_end_for_any_memory_content);
	       RUN(calls_end_under_concurrent_corruption);
	       RUN(late_messages_stay_in_order_at_any_step);
	       RUN(links_need_no_read_modify_write);
	       RUN(mailbox_needs_one_add_per_bulk_and_per_lease);
	       RUN(work_queue_atomic_adds_are_bounded);
	       RUN(topic_put_needs_at_most_one_add);
	       RUN(puts_that_wait_for_free_slots_are_caught);
	       RUN(takes_that_wait_for_a_message_are_caught);)
