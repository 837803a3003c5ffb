/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker drops each message with a passed deadline, and no message before its
 * deadline. The cases cover all queues and routes. The device clocks are hours
 * away from the host's clock.
 */

#include <peal/dead_letter.h>
#include <peal/deadline.h>
#include <peal/pool.h>
#include <peal/request.h>
#include <peal/topic.h>
#include "runtime/deadline_fixture.h"

#define HOUR (3600 * SECOND)

/* Pinned words. [0]: 1 if open; [1]: 1 if a handler waits. */
static uint64_t *gate;

/* A kernel with an actor and a link to it. `dead` receives the dead letters. */
struct fixture {
	struct peal_runtime *rt;
	struct peal_kernel *k;
	struct peal_endpoint *in, *out, *dead;
	struct peal_link *link;
	uint64_t actor;
};

static struct fixture open_fixture(uint32_t workers, int worker)
{
	struct fixture s = { .rt = fixture_open("") };

	gate = (uint64_t *)harness_pinned(s.rt, 2 * sizeof(*gate));
	s.k = fixture_kernel(s.rt, 0, workers);
	fixture_settle(s.k);
	s.in = harness_endpoint(s.rt);
	s.out = harness_endpoint(s.rt);
	s.dead = harness_endpoint(s.rt);
	fixture_letters(s.k, s.dead);
	s.actor = fixture_mark(s.rt, s.k, worker, s.out);
	s.link = fixture_from(s.rt, s.in, 0, s.actor);
	return s;
}

static void close_fixture(struct fixture *s)
{
	fixture_silent(s->out);
	fixture_silent(s->dead);
	fixture_close(s->rt, &s->k, 1);
}

/* Keeps an actor's worker in a handler until the gate opens. Returns when the
 * handler runs. */
static void hold(struct fixture *s, uint32_t port)
{
	struct deadline_order o = { .gate = harness_address(gate) };

	fixture_send(s->in, port, 0, 0, 0, o);
	EVENTUALLY(peal_load_acquire_sys(&gate[1]));
}

static void open_gate(void)
{
	peal_store_release_sys(&gate[0], 1);
}

#define N 30

/* Sends the orders 1 to N. */
static void send_orders(struct fixture *s, uint64_t to, uint64_t soon,
			uint64_t late)
{
	uint64_t i;

	for (i = 1; i <= N; i++)
		fixture_send(s->in, 0, to, fixture_deadline_of(i, soon, late),
			     7, fixture_order(i));
}

/* Checks the reports of the orders that do not expire, from order `from` on. */
static void check_reports(struct fixture *s, uint64_t from, uint64_t soon,
			  uint64_t late)
{
	uint64_t i;

	for (i = from; i <= N; i++)
		if (i % 3)
			fixture_reported(s->out, i,
					 fixture_deadline_of(i, soon, late));
}

PEAL_TEST(message_expired_in_link_makes_a_letter)
{
	struct fixture s = open_fixture(1, 0);
	struct fixture_letter l[N / 3];
	uint64_t soon, late, i;

	hold(&s, 0);
	soon = peal_deadline_from_now(5 * MS);
	late = peal_deadline_from_now(HOUR);
	send_orders(&s, 0, soon, late);
	fixture_await(s.k, soon);
	open_gate();
	fixture_reported(s.out, 0, 0);
	check_reports(&s, 1, soon, late);
	for (i = 0; i < N / 3; i++) {
		CHECK_EQ(fixture_expired(s.dead, &l[i]),
			 offsetof(struct fixture_letter, more));
		CHECK_EQ(l[i].deadline, soon);
		CHECK_EQ(l[i].order.number, 3 * i + 3);
		CHECK_EQ(l[i].about.to, s.actor);
		CHECK_EQ(l[i].about.link, harness_info(s.link).id);
		CHECK_EQ(l[i].about.sequence, 3 * i + 3);
		CHECK_EQ(l[i].about.length, 8 + sizeof(struct deadline_order));
		CHECK_EQ(l[i].about.type, 7);
		CHECK_EQ(l[i].about.flags, PEAL_FLAG_DEADLINE);
	}
	EVENTUALLY(harness_info(s.link).dead[PEAL_REASON_EXPIRED] == N / 3);
	harness_conserved(s.rt);
	EVENTUALLY(harness_info(s.link).delivered == 1 + N - N / 3);
	CHECK(!strcmp(peal_reason_name(PEAL_REASON_EXPIRED), "expired"));
	/* the replay of an expired message has no deadline */
	for (i = 0; i < N / 3; i++)
		CHECK_OK(peal_dead_letter_replay(
			s.in, 0, 0, &l[i].about,
			offsetof(struct fixture_letter, more), MAX_WAIT));
	for (i = 0; i < N / 3; i++)
		fixture_reported(s.out, 3 * i + 3, 0);
	EVENTUALLY(harness_info(s.link).dead[PEAL_REASON_EXPIRED] == N / 3);
	close_fixture(&s);
}

/* A message that died for another reason keeps its deadline in the replay. */
PEAL_TEST(replay_keeps_the_deadline)
{
	struct fixture s = open_fixture(1, 0);
	uint64_t gone = harness_spawn(s.k, "mark", 0), late;
	struct fixture_letter l;
	struct peal_received r;

	CHECK_OK(peal_actor_retire(s.rt, gone));
	late = peal_deadline_from_now(HOUR);
	fixture_send(s.in, 0, gone, late, 7, fixture_order(9));
	CHECK_OK(peal_receive(s.dead, &l, sizeof(l), &r, MAX_WAIT));
	CHECK_EQ(l.about.reason, PEAL_REASON_NO_ACTOR);
	CHECK_EQ(l.deadline, late);
	CHECK_OK(peal_dead_letter_replay(s.in, 0, s.actor, &l.about, r.length,
					 MAX_WAIT));
	fixture_reported(s.out, 9, late);
	close_fixture(&s);
}

/* Runs a case with growing lifetimes until it returns more than 0. The case
 * returns the number of messages that expired in the tested queue. On a busy
 * machine they may expire before. */
static void some_come_there(uint64_t (*run)(int64_t lifetime))
{
	int64_t lifetime = 20 * MS;

	while (!run(lifetime)) {
		lifetime *= 4;
		CHECK(lifetime < MAX_WAIT / 2);
	}
}

/* Worker 0 passes the messages to the mailbox of worker 1. Returns how many
 * expired there. */
static uint64_t expire_in_mailbox(int64_t lifetime)
{
	struct fixture s = open_fixture(2, 1);
	uint64_t first = harness_spawn(s.k, "tell", 0), soon, late, mail = 0, i;
	struct peal_link *link = fixture_from(s.rt, s.in, 1, first);
	uint8_t seen[N + 1] = { 0 };
	uint64_t n;
	struct deadline_order o = fixture_order(0);
	struct fixture_letter l;

	hold(&s, 0);
	soon = peal_deadline_from_now(lifetime);
	late = peal_deadline_from_now(HOUR);
	o.actor = (uint32_t)s.actor;
	for (i = 1; i <= N; i++) { /* passed on, or told by a handler */
		o.number = i;
		fixture_send(s.in, 1, i & 1 ? s.actor : 0,
			     fixture_deadline_of(i, soon, late), 7, o);
	}
	EVENTUALLY(harness_info(link).queued == 0);
	fixture_await(s.k, soon);
	open_gate();
	fixture_reported(s.out, 0, 0);
	check_reports(&s, 1, soon, late);
	for (n = 3; n <= N; n += 3) {
		fixture_expired(s.dead, &l);
		i = l.order.number; /* in order on each of the two ways */
		CHECK(i && i <= N && i % 3 == 0 && !seen[i]);
		seen[i] = 1;
		CHECK_EQ(l.deadline, soon);
		if (i & 1)
			CHECK_EQ(l.about.to, s.actor);
		if (l.about.link != PEAL_NO_LINK)
			continue; /* expired before the mailbox */
		mail++;
		CHECK_EQ(l.about.worker, 1);
		CHECK_EQ(l.about.type, i & 1 ? 7 : 0);
	}
	EVENTUALLY(fixture_mail_expired(s.k) == mail);
	EVENTUALLY(harness_info(link).dead[PEAL_REASON_EXPIRED] ==
		   N / 3 - mail);
	close_fixture(&s);
	return mail;
}

PEAL_TEST(message_expired_in_mailbox_makes_a_letter)
{
	some_come_there(expire_in_mailbox);
}

/* Handlers set deadlines. A forwarded message keeps its deadline. */
PEAL_TEST(handlers_set_message_deadlines)
{
	struct fixture s = open_fixture(2, 1);
	uint64_t teller = harness_spawn(s.k, "tell", 0), before, i;
	uint64_t delegate = harness_spawn(s.k, "delegate", 0);
	struct peal_link *link = fixture_from(s.rt, s.in, 1, teller);
	struct deadline_order o = fixture_order(1);
	struct deadline_report r;
	struct fixture_letter l;

	o.actor = (uint32_t)s.actor;
	o.lifetime_ns = HOUR;
	before = peal_clock_host_ns();
	fixture_send(s.in, 1, 0, 0, DEADLINE_AFTER, o);
	r = fixture_report(s.out);
	CHECK(r.deadline >= before + (uint64_t)HOUR);
	CHECK(r.deadline <
	      peal_clock_host_ns() + (uint64_t)HOUR + (uint64_t)SECOND);
	o.number = 2;
	fixture_send(s.in, 1, delegate, before + (uint64_t)HOUR, 0, o);
	fixture_reported(s.out, 2, before + (uint64_t)HOUR);
	hold(&s, 0);
	o.lifetime_ns = 5 * MS;
	for (i = 3; i < 6; i++) {
		o.number = i;
		fixture_send(s.in, 1, 0, 0, DEADLINE_AFTER, o);
	}
	EVENTUALLY(harness_info(link).delivered == 5);
	fixture_await(s.k, peal_deadline_from_now(5 * MS));
	open_gate();
	fixture_reported(s.out, 0, 0);
	for (i = 3; i < 6; i++) {
		fixture_expired(s.dead, &l);
		CHECK_EQ(l.order.number, i);
	}
	EVENTUALLY(fixture_mail_expired(s.k) == 3);
	close_fixture(&s);
}

static uint64_t expire_in_pool(int64_t lifetime)
{
	struct peal_pool_options po = { .capacity = 64 };
	struct fixture s = open_fixture(2, 1);
	uint64_t first, pool, soon, late, mail = 0, i;
	uint64_t seen = 0, latest[2] = { 0, 0 };
	int in_pool;
	struct deadline_order o = fixture_order(0);
	struct fixture_letter l[N / 3];
	struct peal_link *link;

	po.size = sizeof(po);
	CHECK_OK(peal_pool_create(s.k, &po, &pool));
	CHECK_OK(peal_pool_join(s.rt, pool, s.actor));
	first = harness_spawn(s.k, "tell", 0);
	link = fixture_from(s.rt, s.in, 1, first);
	hold(&s, 0);
	soon = peal_deadline_from_now(lifetime);
	late = peal_deadline_from_now(HOUR);
	o.actor = (uint32_t)pool;
	for (i = 1; i <= N; i++) {
		o.number = i;
		fixture_send(s.in, 1, i & 1 ? pool : 0,
			     fixture_deadline_of(i, soon, late), 7, o);
	}
	EVENTUALLY(harness_info(link).queued == 0);
	fixture_await(s.k, soon);
	open_gate();
	fixture_reported(s.out, 0, 0);
	check_reports(&s, 1, soon, late);
	for (i = 0; i < N / 3; i++) {
		fixture_expired(s.dead, &l[i]);
		CHECK(l[i].order.number % 3 == 0);
		CHECK(!(seen & 1ULL << l[i].order.number));
		seen |= 1ULL << l[i].order.number;
		/* Other messages have expired before the pool. The letters of
		 * two places have no common order. */
		in_pool = l[i].about.link == PEAL_NO_LINK;
		CHECK(l[i].order.number > latest[in_pool]);
		latest[in_pool] = l[i].order.number;
		if (!in_pool)
			continue;
		mail++;
		CHECK_EQ(l[i].about.to, pool);
	}
	EVENTUALLY(fixture_mail_expired(s.k) == mail);
	for (i = 0; i < N / 3; i++) {
		CHECK_OK(peal_dead_letter_replay(
			s.in, 1, pool, &l[i].about,
			offsetof(struct fixture_letter, more), MAX_WAIT));
		fixture_reported(s.out, l[i].order.number, 0);
	}
	close_fixture(&s);
	return mail;
}

PEAL_TEST(message_expired_in_pool_makes_a_letter)
{
	some_come_there(expire_in_pool);
}

/* The pool is full: its member takes the other messages from the link. */
PEAL_TEST(message_expired_at_full_pool_is_not_handled)
{
	struct peal_pool_options po = { .capacity = 2 };
	struct fixture s = open_fixture(1, 0);
	uint64_t pool, soon, late, i;
	struct fixture_letter l;
	uint64_t seen = 0;

	po.size = sizeof(po);
	CHECK_OK(peal_pool_create(s.k, &po, &pool));
	CHECK_OK(peal_pool_join(s.rt, pool, s.actor));
	hold(&s, 0);
	soon = peal_deadline_from_now(5 * MS);
	late = peal_deadline_from_now(HOUR);
	send_orders(&s, pool, soon, late);
	fixture_await(s.k, soon);
	open_gate();
	fixture_reported(s.out, 0, 0);
	for (i = 0; i < N - N / 3; i++) {
		struct deadline_report r = fixture_report(s.out);

		CHECK(r.number % 3);
		CHECK(!(seen & 1ULL << r.number));
		seen |= 1ULL << r.number;
	}
	for (i = 0; i < N / 3; i++) {
		fixture_expired(s.dead, &l);
		CHECK(l.order.number % 3 == 0);
		CHECK_EQ(l.about.to, pool);
	}
	close_fixture(&s);
}

PEAL_TEST(messages_expire_while_kernel_is_suspended)
{
	struct fixture s = open_fixture(1, 0);
	struct fixture_letter l;
	uint64_t soon, late, i;

	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	soon = peal_deadline_from_now(5 * MS);
	late = peal_deadline_from_now(HOUR);
	send_orders(&s, 0, soon, late);
	fixture_await(s.k, soon);
	CHECK_EQ(harness_info(s.link).queued, N);
	CHECK_OK(peal_kernel_resume(s.k));
	check_reports(&s, 1, soon, late);
	for (i = 3; i <= N; i += 3) {
		fixture_expired(s.dead, &l);
		CHECK_EQ(l.order.number, i);
	}
	close_fixture(&s);
}

/* The messages wait for a free slot of their actor's output. */
PEAL_TEST(message_expires_at_head_of_blocked_link)
{
	struct fixture s = open_fixture(1, 0);
	struct peal_link_options two = {
		.capacity = 2, .message_bytes = sizeof(struct deadline_report)
	};
	struct peal_endpoint *e = harness_endpoint(s.rt);
	uint64_t narrow = harness_spawn(s.k, "mark", 0), i;
	uint64_t soon = peal_deadline_from_now(50 * MS);
	struct fixture_letter l;

	harness_to(s.rt, narrow, e, two);
	for (i = 1; i <= 6; i++)
		fixture_send(s.in, 0, narrow, i > 2 ? soon : 0, 0,
			     fixture_order(i));
	fixture_send(s.in, 0, s.actor, 0, 0, fixture_order(7));
	for (i = 3; i <= 6; i++) {
		fixture_expired(s.dead, &l);
		CHECK_EQ(l.order.number, i);
	}
	fixture_reported(s.out, 7, 0); /* order 7 waited behind 3 to 6 */
	fixture_reported(e, 1, 0);
	fixture_reported(e, 2, 0);
	close_fixture(&s);
}

PEAL_TEST(zero_lifetime_expires_and_maximum_never_does)
{
	const int64_t dead[] = { 0, -1, INT64_MIN };
	struct fixture s = open_fixture(1, 0);
	struct fixture_letter l;
	uint64_t i;

	CHECK_EQ(peal_deadline_from_now(INT64_MAX) > (uint64_t)INT64_MAX, 1);
	for (i = 0; i < 3; i++) {
		fixture_send(s.in, 0, 0, peal_deadline_from_now(dead[i]), 0,
			     fixture_order(i));
		fixture_expired(s.dead, &l);
		CHECK_EQ(l.order.number, i);
	}
	fixture_send(s.in, 0, 0, peal_deadline_from_now(INT64_MAX), 0,
		     fixture_order(3));
	CHECK_EQ(fixture_report(s.out).number, 3);
	fixture_send(s.in, 0, 0, PEAL_DEADLINE_NEVER, 0, fixture_order(4));
	fixture_reported(s.out, 4, PEAL_DEADLINE_NEVER);
	fixture_send(s.in, 0, 0, 0, 0, fixture_order(5));
	fixture_reported(s.out, 5, 0);
	/* deadlines are times of the host's clock: 2 ns has passed */
	fixture_send(s.in, 0, 0, 2, 0, fixture_order(6));
	fixture_expired(s.dead, &l);
	fixture_send(s.in, 0, 0, peal_deadline_from_now(SECOND), 0,
		     fixture_order(7));
	CHECK_EQ(fixture_report(s.out).number, 7);
	close_fixture(&s);
}

/* The slab holds the deadlines and payloads. */
PEAL_TEST(long_messages_have_deadlines)
{
	struct peal_link_options wide = { .capacity = 16,
					  .message_bytes = 4000 };
	struct peal_send_options options = { .size = sizeof(options) };
	struct fixture s = open_fixture(1, 0);
	uint8_t payload[4000];
	struct deadline_order o;
	struct fixture_letter l;
	uint64_t soon, i;

	harness_fill(payload, sizeof(payload), 5, 6);
	CHECK_OK(peal_dead_letter_connect(s.k, 0, NULL));
	wide.message_bytes = sizeof(l);
	wide.size = sizeof(wide);
	CHECK_OK(peal_dead_letter_connect(s.k, peal_endpoint_address(s.dead),
					  &wide));
	wide.message_bytes = 4000;
	harness_from(s.rt, s.in, 1, s.actor, wide);
	hold(&s, 1);
	soon = peal_deadline_from_now(5 * MS);
	for (i = 1; i < 8; i++) {
		o = fixture_order(i);
		memcpy(payload, &o, sizeof(o));
		options.deadline = i & 1 ? soon : soon + HOUR;
		CHECK_OK(peal_send(s.in, 1, 0, payload, sizeof(payload) - 8,
				   MAX_WAIT, &options));
	}
	fixture_await(s.k, soon);
	open_gate();
	fixture_reported(s.out, 0, 0);
	for (i = 2; i < 8; i += 2)
		fixture_reported(s.out, i, soon + HOUR);
	for (i = 1; i < 8; i += 2) {
		CHECK_EQ(fixture_expired(s.dead, &l),
			 sizeof(l.about) + sizeof(payload));
		CHECK_EQ(l.order.number, i);
		CHECK(!memcmp(l.more, payload + sizeof(o),
			      sizeof(payload) - 8 - sizeof(o)));
	}
	close_fixture(&s);
}

/* An endpoint drops expired messages and receives the others unchanged. */
PEAL_TEST(endpoint_drops_expired_messages)
{
	struct fixture s = open_fixture(1, 0);
	uint64_t pass = harness_spawn(s.k, "pass", 0), forwarder, i;
	struct peal_link_options o = { .capacity = 256 };
	struct peal_endpoint *e = harness_endpoint(s.rt);
	struct deadline_order got, sent = fixture_order(1);
	struct peal_link *link;
	struct peal_received r;

	link = harness_to(s.rt, pass, e, o);
	forwarder = harness_spawn(s.k, "hand_on", 0);
	harness_to(s.rt, forwarder, e, o);
	for (i = 0; i < 100; i++) {
		sent.number = i;
		sent.lifetime_ns = i % 4 == 3 ? HOUR : i % 4;
		fixture_send(s.in, 0, pass, 0, DEADLINE_AFTER, sent);
	}
	fixture_send(s.in, 0, forwarder, peal_deadline_from_now(HOUR), 3, sent);
	EVENTUALLY(harness_info(s.link).delivered == 101);
	fixture_await(s.k, peal_clock_host_ns());
	for (i = 3; i < 100; i += 4) {
		CHECK_OK(peal_receive(e, &got, sizeof(got), &r, 0));
		CHECK_EQ(r.length, sizeof(got));
		CHECK_EQ(got.number, i);
		CHECK_EQ(r.sequence, i);
	}
	EVENTUALLY(harness_info(link).dead[PEAL_REASON_EXPIRED] == 75);
	CHECK_OK(peal_receive(e, &got, sizeof(got), &r, 0));
	CHECK_EQ(r.type, 3);
	CHECK_EQ(r.length, sizeof(got));
	CHECK_EQ(peal_receive(e, &got, sizeof(got), &r, 0), PEAL_EAGAIN);
	close_fixture(&s);
}

static uint64_t expire_in_topic(int64_t lifetime)
{
	struct peal_topic_options to = { .size = sizeof(to), .capacity = 64 };
	struct fixture s = open_fixture(2, 1);
	uint64_t pass = harness_spawn(s.k, "pass", 0), topic, soon, late, i;
	struct peal_subscriber_info info;
	struct fixture_letter l;

	CHECK_OK(peal_topic_create(s.rt, 0, &to, &topic));
	CHECK_OK(peal_publish(s.rt, pass, 0, topic));
	CHECK_OK(peal_subscribe(s.rt, topic, s.actor, 0));
	fixture_from(s.rt, s.in, 1, pass);
	hold(&s, 0);
	soon = peal_deadline_from_now(lifetime);
	late = peal_deadline_from_now(HOUR);
	for (i = 1; i <= N; i++)
		fixture_send(s.in, 1, pass, fixture_deadline_of(i, soon, late),
			     7, fixture_order(i));
	fixture_await(s.k, soon);
	open_gate();
	fixture_reported(s.out, 0, 0);
	check_reports(&s, 1, soon, late);
	/* some messages may expire before `pass` publishes them */
	for (i = 3; i <= N; i += 3) {
		fixture_expired(s.dead, &l);
		CHECK_EQ(l.order.number % 3, 0);
	}
	CHECK_EQ(peal_topic_subscribers(s.rt, topic, &info, 1), 1);
	CHECK_EQ(info.published, info.delivered + info.missed + info.queued +
					 info.dead[PEAL_REASON_EXPIRED]);
	CHECK_OK(peal_unsubscribe(s.rt, topic, s.actor));
	CHECK_OK(peal_unpublish(s.rt, topic));
	close_fixture(&s);
	return info.dead[PEAL_REASON_EXPIRED];
}

PEAL_TEST(published_messages_have_deadlines)
{
	some_come_there(expire_in_topic);
}

/* ---- two devices --------------------------------------------------------- */

/* Device 0 sends orders to device 1. The clocks differ by more than a day. */
struct chain {
	struct peal_runtime *rt;
	struct peal_kernel *k[2];
	struct peal_endpoint *in, *out, *dead;
	struct peal_link *first, *second;
	uint64_t pass, mark;
};

static struct chain open_chain(const char *handler, uint32_t route)
{
	struct peal_link_options o = { .capacity = 256, .require = route };
	struct chain c = { .rt = fixture_open("0-1:nvlink") };
	int i;

	c.in = harness_endpoint(c.rt);
	c.out = harness_endpoint(c.rt);
	c.dead = harness_endpoint(c.rt);
	for (i = 0; i < 2; i++) {
		c.k[i] = fixture_kernel(c.rt, i, 1);
		fixture_settle(c.k[i]);
		fixture_letters(c.k[i], c.dead);
	}
	c.pass = harness_spawn(c.k[0], handler, 0);
	c.mark = fixture_mark(c.rt, c.k[1], 0, c.out);
	c.first = fixture_from(c.rt, c.in, 0, c.pass);
	c.second = harness_link(c.rt, c.pass, 0, c.mark, o);
	return c;
}

static void close_chain(struct chain *c)
{
	fixture_silent(c->out);
	fixture_silent(c->dead);
	fixture_close(c->rt, c->k, 2);
}

/* Messages keep their deadlines on each route and over link hand-overs. */
PEAL_TEST(deadlines_survive_every_route_and_handover)
{
	static const char *const handlers[] = { "pass", "hand_on", "pass_to" };
	const uint32_t routes[] = { PEAL_ROUTE_STAGED, PEAL_ROUTE_MAPPED_HOST };
	struct deadline_order o = fixture_order(0);
	struct fixture_letter l;
	uint64_t late, soon, i;
	uint32_t h;

	for (h = 0; h < 3; h++) {
		struct chain c = open_chain(handlers[h], routes[h % 2]);
		int result;

		/* a suspended kernel still takes part in hand-overs */
		CHECK_OK(peal_kernel_suspend(c.k[1], MAX_WAIT));
		soon = peal_deadline_from_now(20 * MS);
		late = peal_deadline_from_now(HOUR);
		o.actor = (uint32_t)c.mark;
		for (i = 1; i <= N; i++) {
			o.number = i;
			fixture_send(c.in, 0, 0, i & 1 ? late : 0, 0, o);
		}
		result = peal_link_set_route(
			c.second, (enum peal_route)routes[1 - h % 2], 1);
		if (result != PEAL_ETIMEDOUT)
			CHECK_OK(result);
		for (i = 1; i <= N; i++) {
			o.number = N + i;
			fixture_send(c.in, 0, 0, i & 1 ? late : soon, 0, o);
		}
		fixture_await(c.k[1], soon);
		CHECK_OK(peal_kernel_resume(c.k[1]));
		for (i = 1; i <= N; i++)
			fixture_reported(c.out, i, i & 1 ? late : 0);
		for (i = 1; i <= N; i += 2)
			fixture_reported(c.out, N + i, late);
		for (i = 2; i <= N; i += 2) { /* expired on either device */
			fixture_expired(c.dead, &l);
			CHECK(l.order.number > N && l.order.number % 2 == 0);
		}
		EVENTUALLY(harness_info(c.first).dead[PEAL_REASON_EXPIRED] +
				   harness_info(c.second)
					   .dead[PEAL_REASON_EXPIRED] ==
			   N / 2);
		close_chain(&c);
	}
}

#define MESSAGES 3000

/* The answers for messages with random lifetimes. */
struct tally {
	uint64_t deadline[MESSAGES];
	uint8_t seen[MESSAGES];
	uint64_t handled, expired;
	uint64_t late; /* handlers that began after the deadline */
};

/* Reads all reports and letters that have arrived. */
static void take_answers(struct chain *c, struct tally *t)
{
	struct peal_received r;
	union {
		struct deadline_report report;
		struct fixture_letter letter;
	} got;

	while (!peal_receive(c->out, &got, sizeof(got), &r, 0)) {
		struct deadline_report *p = &got.report;

		CHECK_EQ(p->deadline, t->deadline[p->number]);
		CHECK_EQ(t->seen[p->number]++, 0);
		t->late += p->low >= p->deadline;
		t->handled++;
	}
	while (!peal_receive(c->dead, &got, sizeof(got), &r, 0)) {
		struct fixture_letter *l = &got.letter;

		CHECK(peal_clock_host_ns() >= l->deadline);
		CHECK_EQ(l->about.reason, PEAL_REASON_EXPIRED);
		CHECK_EQ(l->deadline, t->deadline[l->order.number]);
		CHECK_EQ(t->seen[l->order.number]++, 0);
		t->expired++;
	}
}

static void send_random(struct chain *c, struct tally *t,
			unsigned long long *state)
{
	uint64_t sent = 0;

	memset(t, 0, sizeof(*t));
	while (t->handled + t->expired < MESSAGES) {
		if (sent < MESSAGES) {
			/* from a microsecond to half a minute */
			t->deadline[sent] = peal_deadline_from_now(
				1LL << (10 + test_random(state) % 26));
			fixture_send(c->in, 0, 0, t->deadline[sent], 0,
				     fixture_order(sent));
			sent++;
		}
		take_answers(c, t);
	}
	printf("    %llu handled, %llu expired, %llu between look and begin\n",
	       (unsigned long long)t->handled, (unsigned long long)t->expired,
	       (unsigned long long)t->late);
}

/* Messages with random lifetimes: each is handled or has a letter, once. No
 * message expires before its deadline by the host's clock. Few handlers begin
 * after it. On a busy machine a device may know the time of the host too badly
 * to expire a message. */
PEAL_TEST(each_message_is_handled_or_expires_once)
{
	struct chain c = open_chain("pass", PEAL_ROUTE_MAPPED_HOST);
	static struct tally t;
	unsigned long long state = 11;
	int tries = 0;

	do {
		send_random(&c, &t, &state);
		/* the worker checks the deadline right before the handler */
		CHECK(t.late < MESSAGES / 4);
	} while ((!t.handled || !t.expired) && ++tries < 100);
	CHECK(t.handled > 0 && t.expired > 0);
	close_chain(&c);
}

/* ---- requests ------------------------------------------------------------ */

PEAL_TEST(abandoned_request_is_not_handled)
{
	struct fixture s = open_fixture(1, 0);
	struct peal_requester_options o = { .size = sizeof(o), .deadlines = 1 };
	struct deadline_order ask = fixture_order(1);
	uint64_t server = harness_spawn(s.k, "mark", 0), id, left;
	struct deadline_report reply;
	struct peal_requester *q;
	struct fixture_letter l;
	struct peal_received r;

	o.reply_bytes = sizeof(reply);
	CHECK_OK(peal_requester_create(s.rt, server, &o, &q));
	CHECK_OK(peal_requester_listen(q, server, 0));
	CHECK_OK(peal_request(q, 0, &ask, sizeof(ask), &reply, sizeof(reply),
			      &r, HOUR));
	CHECK_EQ(reply.number, 1);
	left = reply.deadline - peal_clock_host_ns();
	CHECK(left <= (uint64_t)HOUR && left > (uint64_t)(HOUR - 60 * SECOND));
	CHECK_OK(peal_request_to(q, server, 0, &ask, sizeof(ask), &reply,
				 sizeof(reply), &r, -1));
	CHECK_EQ(reply.deadline, 0);
	hold(&s, 0);
	ask.number = 2;
	CHECK_EQ(peal_request(q, 0, &ask, sizeof(ask), &reply, sizeof(reply),
			      &r, 20 * MS),
		 PEAL_ETIMEDOUT);
	fixture_await(s.k, peal_clock_host_ns());
	open_gate();
	fixture_reported(s.out, 0, 0);
	fixture_expired(s.dead, &l);
	CHECK_EQ(l.about.flags, PEAL_FLAG_DEADLINE | PEAL_FLAG_REQUEST);
	CHECK_EQ(l.about.to, server);
	memcpy(&id, &l.order,
	       sizeof(id)); /* the request's number precedes the payload */
	CHECK(id != 0);
	/* peal_request_start sets no deadline */
	CHECK_OK(peal_request_start(q, 0, &ask, sizeof(ask), MAX_WAIT, &id));
	CHECK_OK(peal_request_wait(q, id, &reply, sizeof(reply), &r, MAX_WAIT));
	CHECK_EQ(reply.number, 2);
	CHECK_EQ(reply.deadline, 0);
	CHECK_OK(peal_requester_destroy(q));
	close_fixture(&s);
}

static int run_all(int argc, char **argv, uint32_t lanes,
		   const struct peal_program *program)
{
	int peal_cases_ = 0;

	fixture_lanes = lanes;
	fixture_program = program;
	printf("%u lanes, %s\n", lanes, program->name);
	RUN(message_expired_in_link_makes_a_letter);
	RUN(replay_keeps_the_deadline);
	RUN(message_expired_in_mailbox_makes_a_letter);
	RUN(handlers_set_message_deadlines);
	if (program == &peal_program_deadline_pools) {
		RUN(message_expired_in_pool_makes_a_letter);
		RUN(message_expired_at_full_pool_is_not_handled);
	}
	RUN(messages_expire_while_kernel_is_suspended);
	RUN(message_expires_at_head_of_blocked_link);
	RUN(zero_lifetime_expires_and_maximum_never_does);
	RUN(long_messages_have_deadlines);
	RUN(endpoint_drops_expired_messages);
	RUN(published_messages_have_deadlines);
	RUN(deadlines_survive_every_route_and_handover);
	RUN(each_message_is_handled_or_expires_once);
	RUN(abandoned_request_is_not_handled);
	return peal_cases_;
}

PEAL_TEST_MAIN(peal_cases_ += run_all(argc, argv, 1, &peal_program_deadlines);
	       peal_cases_ += run_all(argc, argv, 32, &peal_program_deadlines);
	       peal_cases_ +=
	       run_all(argc, argv, 1, &peal_program_deadline_pools);
	       peal_cases_ +=
	       run_all(argc, argv, 32, &peal_program_deadline_pools);)
