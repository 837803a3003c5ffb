/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server with several clients finds the port that leads to the sender of a
 * message. Shows that each client gets exactly its own replies.
 */

#include "runtime/senders_fixture.h"

#define CLIENTS 3
#define EACH 40

/* A server with a port for each of its clients, which are endpoints. */
struct service {
	struct peal_endpoint *client[CLIENTS];
	struct peal_link *to[CLIENTS], *back[CLIENTS];
};

static struct peal_link *link_back(struct fixture *s, uint64_t server,
				   uint32_t port, struct peal_endpoint *e)
{
	return harness_link(s->rt, server, port, peal_endpoint_address(e),
			    plain);
}

/* Connects the clients and their server. `ports_of`: the actor with the
 * server's ports. */
static struct service connect_clients(struct fixture *s, uint64_t server,
				      uint64_t ports_of, int back_first)
{
	struct service c;
	uint32_t i;

	for (i = 0; i < CLIENTS; i++) {
		c.client[i] = harness_endpoint(s->rt);
		if (back_first)
			c.back[i] = link_back(s, ports_of, i, c.client[i]);
		c.to[i] = harness_from(s->rt, c.client[i], 0, server, plain);
		if (!back_first)
			c.back[i] = link_back(s, ports_of, i, c.client[i]);
	}
	return c;
}

/* Client i queries `server` by its port 0. */
static void ask(struct fixture *s, const struct service *c, uint32_t i,
		uint64_t server, uint32_t how)
{
	struct senders_query q = query(s, server, how);

	CHECK_OK(peal_send_to(c->client[i], 0, server, SENDERS_QUERY, &q,
			      sizeof(q), MAX_WAIT, NULL));
}

/* Client i gets the replies to its queries of the last `n` ids, in order. */
static void take_replies(struct fixture *s, const struct service *c, uint32_t i,
			 uint32_t n, uint32_t port)
{
	struct peal_received got;
	struct senders_reply r;
	uint64_t id;

	for (id = s->ids - n + 1; id <= s->ids; id++) {
		if (id % CLIENTS != i)
			continue;
		r = take(c->client[i], SENDERS_REPLY);
		CHECK_EQ(r.id, id);
		CHECK_EQ(r.port, port);
		CHECK_EQ(r.sender, PEAL_NO_ACTOR);
		CHECK_EQ(r.bytes, sizeof(struct senders_query));
	}
	CHECK_EQ(peal_receive(c->client[i], &r, sizeof(r), &got, 0),
		 PEAL_EAGAIN);
}

/* Each client queries the server EACH times, and gets its own replies. */
static void exchange(struct fixture *s, const struct service *c,
		     uint64_t server)
{
	uint32_t i;

	for (i = 0; i < CLIENTS * EACH; i++)
		ask(s, c, (uint32_t)((s->ids + 1) % CLIENTS), server, 0);
	for (i = 0; i < CLIENTS; i++)
		take_replies(s, c, i, CLIENTS * EACH, i);
}

static void endpoints_get_replies(int back_first)
{
	struct service c;
	struct fixture s;
	uint64_t server;

	open_fixture(&s);
	server = harness_spawn(s.k[0], "serve3", 1);
	c = connect_clients(&s, server, server, back_first);
	exchange(&s, &c, server);
	close_fixture(&s);
}

PEAL_TEST(endpoints_get_their_own_replies)
{
	endpoints_get_replies(0);
	endpoints_get_replies(1);
}

/* The links lead to an actor of worker 1. The server is on worker 0, and gets
 * the messages by its mailbox. Its ports lead to the clients, and those of the
 * other actor do not. */
PEAL_TEST(server_of_another_worker_finds_the_sender)
{
	uint64_t other, server;
	struct service c;
	struct fixture s;

	open_fixture(&s);
	other = spawn(&s, s.k[0], "serve1", 1);
	server = harness_spawn(s.k[0], "serve3", 0);
	c = connect_clients(&s, other, server, 0);
	exchange(&s, &c, server);
	ask(&s, &c, 0, other, 0);
	CHECK_EQ(take_report(&s, s.ids, PEAL_ENOTCONN).port, PEAL_NO_PORT);
	close_fixture(&s);
}

/* The server migrates to another worker, and to another kernel. There its ports
 * lead to the same clients, in another order. */
PEAL_TEST(migrated_server_finds_the_sender)
{
	uint64_t owner[3], server;
	struct service c;
	struct fixture s;
	uint32_t i;
	int o;

	open_fixture(&s);
	for (o = 0; o < 3; o++)
		owner[o] = harness_spawn(s.k[o == 2], "serve3", o == 1);
	server = spawn_sharing(s.k[0], "serve3", 0, owner[0]);
	c = connect_clients(&s, server, owner[0], 0);
	for (o = 1; o < 3; o++)
		for (i = 0; i < CLIENTS; i++)
			link_back(&s, owner[o], (i + (uint32_t)o) % CLIENTS,
				  c.client[i]);
	exchange(&s, &c, server);
	for (o = 1; o < 3; o++) {
		migrate(&s, server, o == 2, o == 1, owner[o]);
		for (i = 0; i < CLIENTS * EACH; i++)
			ask(&s, &c, (uint32_t)((s.ids + 1) % CLIENTS), server,
			    0);
		for (i = 0; i < CLIENTS; i++)
			take_replies(&s, &c, i, CLIENTS * EACH,
				     (i + (uint32_t)o) % CLIENTS);
	}
	close_fixture(&s);
}

/* A reconnected client gets its replies by its new port. Without a port to it
 * there is no way back. */
PEAL_TEST(reconnected_client_gets_its_replies)
{
	struct senders_reply r;
	struct fixture s;
	struct service c;
	uint64_t server, i;

	open_fixture(&s);
	server = harness_spawn(s.k[0], "serve3", 1);
	c = connect_clients(&s, server, server, 0);
	exchange(&s, &c, server);
	CHECK_OK(peal_link_destroy(c.back[1]));
	CHECK_OK(peal_link_destroy(c.back[2]));
	c.back[1] = link_back(&s, server, 2, c.client[1]);
	link_back(&s, server, 1, s.log);
	for (i = 1; i < CLIENTS; i++) {
		ask(&s, &c, (uint32_t)i, server, 0);
		if (i == 1) {
			r = take(c.client[1], SENDERS_REPLY);
			CHECK_EQ(r.port, 2);
		} else {
			r = take(c.client[0], SENDERS_REPORT);
			CHECK_EQ(r.port, PEAL_NO_PORT);
			CHECK_EQ(r.result, PEAL_ENOTCONN);
		}
		CHECK_EQ(r.id, s.ids);
	}
	CHECK_OK(peal_link_destroy(c.to[1]));
	c.to[1] = harness_from(s.rt, c.client[1], 0, server, plain);
	ask(&s, &c, 1, server, 0);
	CHECK_EQ(take(c.client[1], SENDERS_REPLY).id, s.ids);
	close_fixture(&s);
}

/* Actors of two kernels. Each one is a client of the server of the other
 * kernel. A hand-over of the link between them changes nothing. */
PEAL_TEST(actors_of_two_kernels_reply_to_each_other)
{
	uint64_t caller[KERNELS], server[KERNELS];
	struct peal_link *to[KERNELS];
	struct senders_reply r;
	struct fixture s;
	uint32_t i, n;

	open_fixture(&s);
	for (i = 0; i < KERNELS; i++) {
		caller[i] = spawn(&s, s.k[i], "caller", (int)i);
		server[i] = spawn(&s, s.k[i], "serve2", 0);
		harness_from(s.rt, s.in, i, caller[i], plain);
	}
	for (i = 0; i < KERNELS; i++) {
		to[i] = harness_link(s.rt, caller[i], 1, server[!i], plain);
		harness_link(s.rt, server[!i], 1, caller[i], plain);
	}
	for (n = 0; n < 4 * EACH; n++) {
		if (n == 2 * EACH)
			CHECK_OK(peal_link_set_route(
				to[0], PEAL_ROUTE_MAPPED_HOST, MAX_WAIT));
		send_query(s.in, n % KERNELS, SENDERS_ORDER,
			   query(&s, server[!(n % KERNELS)], 0));
		r = take_report(&s, s.ids, 0);
		CHECK_EQ(r.client, (uint32_t)caller[n % KERNELS]);
		CHECK_EQ(r.server, (uint32_t)server[!(n % KERNELS)]);
		CHECK_EQ(r.port, 1);
	}
	close_fixture(&s);
}

/* A client that migrates keeps its number: the port that led to it still does.
 * Its new link to the server comes from its new entry. */
PEAL_TEST(migrated_client_gets_its_replies)
{
	uint64_t caller, server;
	struct peal_link *log, *to;
	struct senders_reply r;
	struct fixture s;

	open_fixture(&s);
	caller = harness_spawn(s.k[0], "caller", 0);
	log = harness_to(s.rt, caller, s.log, plain);
	server = spawn(&s, s.k[1], "serve2", 0);
	harness_link(s.rt, server, 1, caller, plain);
	to = harness_link(s.rt, caller, 1, server, plain);
	harness_from(s.rt, s.in, 0, caller, plain);
	send_query(s.in, 0, SENDERS_ORDER, query(&s, server, 0));
	take_report(&s, s.ids, 0);
	CHECK_OK(peal_link_destroy(log));
	CHECK_OK(peal_link_destroy(to));
	caller = migrate(&s, caller, 0, 1, 0);
	harness_to(s.rt, caller, s.log, plain);
	harness_link(s.rt, caller, 1, server, plain);
	send_query(s.in, 0, SENDERS_ORDER, query(&s, server, 0));
	r = take_report(&s, s.ids, 0);
	CHECK_EQ(r.client, (uint32_t)caller);
	CHECK_EQ(r.port, 1);
	close_fixture(&s);
}

/* Members of a pool, with ports of their own, reply to the endpoints. */
PEAL_TEST(pool_members_find_the_sender)
{
	struct peal_pool_options o = { .size = sizeof(o),
				       .message_bytes =
					       sizeof(struct senders_query) +
					       PEAL_SENDER_BYTES };
	struct peal_link_options narrow = {
		.capacity = 64, .message_bytes = sizeof(struct senders_query)
	};
	struct senders_reply r;
	struct fixture s;
	struct service c;
	uint64_t pool = 0, member, i, seen[CLIENTS] = { 0 };
	uint32_t m, k;

	open_fixture(&s);
	CHECK_OK(peal_pool_create(s.k[0], &o, &pool));
	for (k = 0; k < CLIENTS; k++)
		c.client[k] = harness_endpoint(s.rt);
	for (m = 0; m < WORKERS; m++) {
		member = harness_spawn(s.k[0], "serve3", (int)m);
		for (k = 0; k < CLIENTS; k++)
			link_back(&s, member, (k + m) % CLIENTS, c.client[k]);
		CHECK_OK(peal_pool_join(s.rt, pool, member));
	}
	for (k = 0; k < CLIENTS; k++)
		c.to[k] = harness_from(s.rt, c.client[k], 0, pool, narrow);
	for (i = 0; i < CLIENTS * EACH; i++)
		send_query(c.client[i % CLIENTS], 0, SENDERS_QUERY,
			   query(&s, pool, 0));
	for (i = 0; i < CLIENTS * EACH; i++) {
		r = take(c.client[i % CLIENTS], SENDERS_REPLY);
		CHECK_EQ((r.id - 1) % CLIENTS, i % CLIENTS);
		seen[i % CLIENTS] += r.id;
	}
	for (i = 0; i < CLIENTS; i++)
		CHECK_EQ(seen[i],
			 EACH * (i + 1) + CLIENTS * (EACH * (EACH - 1) / 2));
	close_fixture(&s);
}

/* ---- requests -------------------------------------------------------------- */

static struct peal_requester *make_requester(struct fixture *s, uint64_t to)
{
	struct peal_requester_options o = {
		.size = sizeof(o),
		.message_bytes = sizeof(struct senders_query),
		.reply_bytes = sizeof(struct senders_reply)
	};
	struct peal_requester *r = NULL;

	CHECK_OK(peal_requester_create(s->rt, to, &o, &r));
	return r;
}

static int request(struct peal_requester *from, struct senders_query q,
		   struct senders_reply *r)
{
	return peal_request(from, SENDERS_QUERY, &q, sizeof(q), r,
			    r ? sizeof(*r) : 0, NULL, MAX_WAIT);
}

/* Sends a request and checks its reply. */
static void is_answered(struct peal_requester *from, struct senders_query q,
			uint32_t port)
{
	struct senders_reply r = { 0 };

	CHECK_OK(request(from, q, &r));
	CHECK_EQ(r.id, q.id);
	CHECK_EQ(r.port, port);
	CHECK_EQ(r.bytes, sizeof(q));
}

PEAL_TEST(requesters_get_their_own_replies)
{
	struct peal_requester *r[CLIENTS];
	struct senders_query q;
	struct fixture s;
	uint64_t server, n;
	uint32_t i;

	open_fixture(&s);
	server = harness_spawn(s.k[0], "serve3", 1);
	for (i = 0; i < CLIENTS; i++) {
		r[i] = make_requester(&s, server);
		CHECK_OK(peal_requester_listen(r[i], server, 2 - i));
	}
	for (n = 0; n < CLIENTS * EACH; n++)
		is_answered(r[n % CLIENTS], query(&s, server, 0),
			    2 - n % CLIENTS);
	q = query(&s, server, SENDERS_REFUSE);
	CHECK_EQ(request(r[0], q, NULL), PEAL_EIO);
	close_fixture(&s);
}

/* The other server has ports to the same requesters, in another order. */
PEAL_TEST(forwarded_request_is_answered_by_the_sender)
{
	struct peal_requester *r[CLIENTS];
	struct senders_query q;
	struct fixture s;
	uint64_t server, other, n;
	uint32_t i;

	open_fixture(&s);
	server = harness_spawn(s.k[0], "serve3", 1);
	other = harness_spawn(s.k[0], "serve3", 0);
	for (i = 0; i < CLIENTS; i++) {
		r[i] = make_requester(&s, server);
		CHECK_OK(peal_requester_listen(r[i], server, i));
		CHECK_OK(peal_requester_listen(r[i], other, (i + 1) % CLIENTS));
	}
	for (n = 0; n < CLIENTS * EACH; n++) {
		q = query(&s, server, 0);
		q.next = 1 + (uint32_t)other;
		is_answered(r[n % CLIENTS], q, (n + 1) % CLIENTS);
	}
	close_fixture(&s);
}

PEAL_TEST(kept_request_is_answered_by_its_number)
{
	struct peal_requester *r[2];
	struct senders_reply reply = { 0 };
	struct senders_query q;
	struct fixture s;
	uint64_t server, number = 0;
	uint32_t i;

	open_fixture(&s);
	server = harness_spawn(s.k[0], "serve2", 1);
	harness_from(s.rt, s.in, 0, server, plain);
	for (i = 0; i < 2; i++) {
		r[i] = make_requester(&s, server);
		CHECK_OK(peal_requester_listen(r[i], server, i));
	}
	for (i = 0; i < 2; i++) {
		q = query(&s, server, SENDERS_KEEP);
		CHECK_OK(peal_request_start(r[i], SENDERS_QUERY, &q, sizeof(q),
					    MAX_WAIT, &number));
		/* the same link: the server keeps the first query by now */
		is_answered(r[i], query(&s, server, 0), i);
		is_answered(r[!i], query(&s, server, 0), !i);
		EVENTUALLY(peal_request_wait(r[i], number, &reply, 0, NULL,
					     0) == PEAL_EAGAIN);
		send_query(s.in, 0, SENDERS_RELEASE, q);
		CHECK_OK(peal_request_wait(r[i], number, &reply, sizeof(reply),
					   NULL, MAX_WAIT));
		CHECK_EQ(reply.id, q.id);
	}
	close_fixture(&s);
}

/* A reply to a request supports no option. */
PEAL_TEST(reply_to_a_request_refuses_options)
{
	struct peal_requester *r;
	struct senders_query q;
	struct fixture s;
	uint64_t server;

	open_fixture(&s);
	server = spawn(&s, s.k[0], "serve2", 1);
	r = make_requester(&s, server);
	CHECK_OK(peal_requester_listen(r, server, 1));
	q = query(&s, server, SENDERS_OPTIONS);
	CHECK_EQ(request(r, q, NULL), PEAL_ENOREPLY);
	take_report(&s, q.id, PEAL_EINVAL);
	close_fixture(&s);
}

/* A server without a port to the requester reports ENOTCONN. A later requester
 * with the number of an earlier one gets its own replies only. */
PEAL_TEST(requester_without_a_port_gets_no_reply)
{
	struct peal_requester *r[2];
	struct senders_reply reply;
	struct senders_query q;
	struct fixture s;
	uint64_t server;

	open_fixture(&s);
	server = spawn(&s, s.k[0], "serve2", 1);
	r[0] = make_requester(&s, server);
	CHECK_OK(peal_requester_listen(r[0], server, 1));
	is_answered(r[0], query(&s, server, 0), 1);
	r[1] = make_requester(&s, server);
	CHECK_OK(peal_requester_listen(r[1], harness_spawn(s.k[0], "serve1", 0),
				       0));
	q = query(&s, server, 0);
	CHECK_EQ(request(r[1], q, NULL), PEAL_ENOREPLY);
	reply = take_report(&s, q.id, PEAL_ENOTCONN);
	CHECK_EQ(reply.port, PEAL_NO_PORT);
	CHECK_OK(peal_requester_destroy(r[0]));
	r[0] = make_requester(&s, server);
	CHECK_OK(peal_requester_listen(r[0], server, 1));
	is_answered(r[0], query(&s, server, 0), 1);
	close_fixture(&s);
}

PEAL_TEST_MAIN(RUN_LANES(endpoints_get_their_own_replies);
	       RUN_LANES(server_of_another_worker_finds_the_sender);
	       RUN_LANES(migrated_server_finds_the_sender);
	       RUN_LANES(reconnected_client_gets_its_replies);
	       RUN_LANES(actors_of_two_kernels_reply_to_each_other);
	       RUN_LANES(migrated_client_gets_its_replies);
	       RUN_LANES(pool_members_find_the_sender);
	       RUN_LANES(requesters_get_their_own_replies);
	       RUN_LANES(forwarded_request_is_answered_by_the_sender);
	       RUN_LANES(kept_request_is_answered_by_its_number);
	       RUN_LANES(reply_to_a_request_refuses_options);
	       RUN_LANES(requester_without_a_port_gets_no_reply);)
