/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A told message names its sender by the option with_sender. Shows that each
 * client of a server gets exactly its own replies.
 */

#include "runtime/senders_fixture.h"

#define CLIENTS 4
#define EACH 40

/* Clients on both workers. `in` sends orders to client i by port i. */
struct clients {
	uint64_t actor[CLIENTS];
};

static struct clients make_clients(struct fixture *s)
{
	struct clients c;
	uint32_t i;

	for (i = 0; i < CLIENTS; i++) {
		c.actor[i] = spawn(s, s->k[0], "client", (int)(i % WORKERS));
		harness_from(s->rt, s->in, i, c.actor[i], plain);
	}
	return c;
}

/*
 * Each client queries `to` EACH times. Each query is answered exactly once, to
 * the client that has sent it.
 */
static void each_client_gets_its_replies(struct fixture *s,
					 const struct clients *c, uint64_t to,
					 uint32_t how, uint32_t next)
{
	uint64_t first = s->ids + 1;
	uint8_t seen[CLIENTS * EACH] = { 0 };
	struct senders_reply r;
	struct senders_query q;
	uint32_t i;

	for (i = 0; i < CLIENTS * EACH; i++) {
		q = query(s, to, how);
		q.next = next;
		send_query(s->in, i % CLIENTS, SENDERS_ORDER, q);
	}
	for (i = 0; i < CLIENTS * EACH; i++) {
		r = take(s->log, SENDERS_REPORT);
		CHECK_EQ(r.result, 0);
		CHECK(r.id >= first && r.id - first < CLIENTS * EACH);
		CHECK(!seen[r.id - first]++);
		CHECK_EQ(r.client,
			 (uint32_t)c->actor[(r.id - first) % CLIENTS]);
		CHECK_EQ(r.sender, r.client);
		CHECK_EQ(r.port, PEAL_NO_PORT);
		CHECK_EQ(r.bytes, sizeof(struct senders_query));
	}
}

PEAL_TEST(clients_get_their_own_replies)
{
	struct fixture s;
	struct clients c;
	uint64_t server, other;

	open_fixture(&s);
	c = make_clients(&s);
	server = spawn(&s, s.k[0], "serve1", 1);
	other = spawn(&s, s.k[0], "serve1", 0);
	each_client_gets_its_replies(&s, &c, server, SENDERS_NAMED, 0);
	each_client_gets_its_replies(&s, &c, server,
				     SENDERS_NAMED | SENDERS_HIGH, 0);
	each_client_gets_its_replies(&s, &c, server,
				     SENDERS_NAMED | SENDERS_OPTIONS, 0);
	each_client_gets_its_replies(&s, &c, server, SENDERS_NAMED,
				     1 + (uint32_t)other);
	close_fixture(&s);
}

PEAL_TEST(pool_members_reply_to_the_sender)
{
	struct peal_pool_options o = {
		.size = sizeof(o),
		.capacity = 256, /* more than all queries */
		.message_bytes =
			sizeof(struct senders_query) + PEAL_SENDER_BYTES
	};
	struct fixture s;
	struct clients c;
	uint64_t pool = 0;
	int i;

	open_fixture(&s);
	c = make_clients(&s);
	CHECK_OK(peal_pool_create(s.k[0], &o, &pool));
	for (i = 0; i < WORKERS; i++)
		CHECK_OK(peal_pool_join(s.rt, pool,
					spawn(&s, s.k[0], "serve1", i)));
	each_client_gets_its_replies(&s, &c, pool, SENDERS_NAMED, 0);
	each_client_gets_its_replies(&s, &c, pool, SENDERS_NAMED | SENDERS_HIGH,
				     0);
	close_fixture(&s);
}

/* Returns an actor with a mailbox limit of one message. */
static uint64_t spawn_limited(struct fixture *s, uint32_t overflow,
			      uint32_t limit)
{
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = PEAL_WORKER(1),
					.mailbox_limit = limit,
					.mailbox_overflow = overflow };
	uint64_t address = 0;

	CHECK_OK(peal_actor_spawn(s->k[0], "serve1", &o, &address));
	harness_to(s->rt, address, s->log, plain);
	return address;
}

PEAL_TEST(actor_with_a_limit_replies_to_the_sender)
{
	struct fixture s;
	struct clients c;

	open_fixture(&s);
	c = make_clients(&s);
	each_client_gets_its_replies(
		&s, &c, spawn_limited(&s, PEAL_OVERFLOW_FAIL, CLIENTS * EACH),
		SENDERS_NAMED, 0);
	close_fixture(&s);
}

/* A message without the option has no sender, and there is no way back. */
PEAL_TEST(unnamed_message_has_no_sender)
{
	struct senders_reply r;
	struct senders_query q;
	struct fixture s;
	struct clients c;

	open_fixture(&s);
	c = make_clients(&s);
	q = query(&s, spawn(&s, s.k[0], "serve1", 1), 0);
	send_query(s.in, 0, SENDERS_ORDER, q);
	r = take_report(&s, q.id, PEAL_ENOTCONN);
	CHECK_EQ(r.sender, PEAL_NO_ACTOR);
	CHECK_EQ(r.port, PEAL_NO_PORT);
	CHECK(c.actor[0] != 0);
	close_fixture(&s);
}

PEAL_TEST(unsupported_combinations_fail)
{
	struct senders_query q;
	struct fixture s;
	uint64_t server;

	open_fixture(&s);
	make_clients(&s);
	server = spawn(&s, s.k[0], "serve1", 1);
	q = query(&s, server, SENDERS_NAMED | SENDERS_TIMED);
	send_query(s.in, 0, SENDERS_ORDER, q);
	take_report(&s, q.id, PEAL_EINVAL);
	q = query(&s, server, SENDERS_NAMED | SENDERS_LATER);
	send_query(s.in, 0, SENDERS_ORDER, q);
	take_report(&s, q.id, PEAL_EINVAL);
	close_fixture(&s);
}

/* The handler of `mute` declares no tells. */
PEAL_TEST(undeclared_reply_fails)
{
	struct senders_query q;
	struct fixture s;

	open_fixture(&s);
	make_clients(&s);
	q = query(&s, spawn(&s, s.k[0], "mute", 1), SENDERS_NAMED);
	send_query(s.in, 0, SENDERS_ORDER, q);
	take_report(&s, q.id, PEAL_EAGAIN);
	close_fixture(&s);
}

/* The sender migrates before the reply. Its former number leads to it. */
PEAL_TEST(reply_follows_a_migrated_sender)
{
	uint64_t owner[WORKERS], client, server, next;
	struct peal_kernel_info info;
	struct senders_reply r;
	struct senders_query q;
	struct fixture s;
	uint32_t i;

	open_fixture(&s);
	for (i = 0; i < WORKERS; i++)
		owner[i] = spawn(&s, s.k[0], "client", (int)i);
	client = spawn_sharing(s.k[0], "client", 0, owner[0]);
	server = spawn(&s, s.k[0], "serve1", 0);
	harness_from(s.rt, s.in, 0, client, plain);
	harness_from(s.rt, s.in, 1, server, plain);
	q = query(&s, server, SENDERS_NAMED | SENDERS_KEEP);
	send_query(s.in, 0, SENDERS_ORDER, q);
	EVENTUALLY(!peal_kernel_info(s.k[0], &info) && info.mailbox_done == 1);
	next = migrate(&s, client, 0, 1, owner[1]);
	send_query(s.in, 1, SENDERS_RELEASE, q);
	r = take_report(&s, q.id, 0);
	CHECK_EQ(r.sender, (uint32_t)client);
	CHECK_EQ(r.client, (uint32_t)next);
	close_fixture(&s);
}

/* The number of the sender is of the former kernel. */
PEAL_TEST(message_to_another_kernel_loses_its_sender)
{
	struct peal_proxy_options o = { .size = sizeof(o),
					.worker = PEAL_WORKER(1) };
	struct senders_reply r;
	struct senders_query q;
	struct fixture s;
	uint64_t server, proxy = 0;

	open_fixture(&s);
	make_clients(&s);
	server = spawn(&s, s.k[1], "serve1", 1);
	CHECK_OK(peal_proxy_create(s.k[0], server, &o, &proxy));
	q = query(&s, proxy, SENDERS_NAMED);
	send_query(s.in, 0, SENDERS_ORDER, q);
	r = take_report(&s, q.id, PEAL_ENOTCONN);
	CHECK_EQ(r.server, (uint32_t)server);
	CHECK_EQ(r.sender, PEAL_NO_ACTOR);
	CHECK_EQ(r.bytes, sizeof(struct senders_query));
	close_fixture(&s);
}

struct letter {
	struct peal_dead_letter about;
	uint8_t kept[64];
	uint64_t bytes;
};

static struct letter take_letter(struct fixture *s)
{
	struct peal_received got;
	struct letter l;

	CHECK_OK(peal_receive(s->log, &l, sizeof(l.about) + sizeof(l.kept),
			      &got, MAX_WAIT));
	CHECK_EQ(got.dead_letter, 1);
	l.bytes = got.length;
	return l;
}

/* Returns the id of the dead query. The letter has the whole payload. */
static uint64_t dead_id(const struct letter *l, uint64_t sender)
{
	struct peal_dead_letter_payload p;
	struct senders_query q;

	CHECK_OK(peal_dead_letter_payload(&l->about, l->bytes, &p));
	CHECK_EQ(p.sender, sender);
	CHECK_EQ(p.length, sizeof(q));
	CHECK_EQ(p.full_length, sizeof(q));
	memcpy(&q, p.data, sizeof(q));
	return q.id;
}

static void connect_letters(struct fixture *s)
{
	struct peal_link_options wide = { .size = sizeof(wide),
					  .capacity = 256 };

	CHECK_OK(peal_dead_letter_connect(
		s->k[0], peal_endpoint_address(s->log), &wide));
}

/* A dead letter has the sender. Its replay has none. */
PEAL_TEST(dead_letter_has_the_sender)
{
	struct senders_reply r;
	struct senders_query q;
	struct fixture s;
	struct clients c;
	struct letter l;
	uint64_t server;

	open_fixture(&s);
	c = make_clients(&s);
	connect_letters(&s);
	server = spawn(&s, s.k[0], "serve1", 1);
	harness_from(s.rt, s.in, CLIENTS, server, plain);
	q = query(&s, spawn(&s, s.k[0], "mute", 0),
		  SENDERS_NAMED | SENDERS_FAIL);
	send_query(s.in, 1, SENDERS_ORDER, q);
	l = take_letter(&s);
	CHECK_EQ(dead_id(&l, c.actor[1]), q.id);
	CHECK_OK(peal_dead_letter_replay(s.in, CLIENTS, server, &l.about,
					 l.bytes, MAX_WAIT));
	r = take_report(&s, q.id, PEAL_ENOTCONN);
	CHECK_EQ(r.sender, PEAL_NO_ACTOR);
	CHECK_EQ(r.bytes, sizeof(q));
	close_fixture(&s);
}

/* The letter about a message above a limit has no sender, and its payload. */
PEAL_TEST(dropped_message_loses_its_sender)
{
	uint32_t dead = 0, answered = 0;
	struct peal_received got;
	struct fixture s;
	struct letter l;
	uint64_t server, i;

	open_fixture(&s);
	make_clients(&s);
	connect_letters(&s);
	server = spawn_limited(&s, PEAL_OVERFLOW_DROP_NEWEST, 1);
	CHECK_OK(peal_kernel_suspend(s.k[0], MAX_WAIT));
	for (i = 0; i < 16; i++)
		send_query(s.in, 1, SENDERS_ORDER,
			   query(&s, server, SENDERS_NAMED));
	CHECK_OK(peal_kernel_resume(s.k[0]));
	while (dead + answered < 16) {
		CHECK_OK(peal_receive(s.log, &l, sizeof(l), &got, MAX_WAIT));
		answered += !got.dead_letter;
		if (!got.dead_letter)
			continue;
		l.bytes = got.length;
		CHECK_EQ(l.about.reason, PEAL_REASON_FULL);
		i = dead_id(&l, 0);
		CHECK(i >= 1 && i <= 16);
		dead++;
	}
	CHECK(dead > 0 && answered > 0);
	close_fixture(&s);
}

PEAL_TEST_MAIN(RUN_LANES(clients_get_their_own_replies);
	       RUN_LANES(pool_members_reply_to_the_sender);
	       RUN_LANES(actor_with_a_limit_replies_to_the_sender);
	       RUN_LANES(unnamed_message_has_no_sender);
	       RUN_LANES(unsupported_combinations_fail);
	       RUN_LANES(undeclared_reply_fails);
	       RUN_LANES(reply_follows_a_migrated_sender);
	       RUN_LANES(message_to_another_kernel_loses_its_sender);
	       RUN_LANES(dead_letter_has_the_sender);
	       RUN_LANES(dropped_message_loses_its_sender);)
