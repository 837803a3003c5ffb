/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A link carries messages to any actor of the kernel to which it leads. Each
 * actor gets its own messages once and in order. Messages without a receiver
 * are dead.
 */

#include <peal/request.h>
#include "runtime/tallies.h"

#define N 64
#define EACH 40

static const struct peal_kernel_options two = { .workers = 2,
						.max_actors = 2 * N,
						.mailbox.slots = 64 };
static const struct peal_link_options small = { .capacity = 16 };
static uint64_t address[N];

/* Sends n messages to random actors, in order for each actor. */
static void send_any(struct peal_endpoint *e, uint32_t port, uint64_t n,
		     uint64_t sent[N])
{
	unsigned long long state = 1;
	uint64_t i, at;

	for (i = 0; i < n; i++) {
		at = test_random(&state) % N;
		tallies_send(e, port, address[at], at, sent[at]++);
	}
}

PEAL_TEST(each_actor_gets_its_messages_in_order)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = tallies_launch(rt, 0, two);
	struct peal_endpoint *e = harness_endpoint(rt);
	uint64_t sent[N] = { 0 };
	struct peal_link *link;

	tallies_spawn(k, "tally", -1, 0, N, address);
	link = harness_from(rt, e, 0, address[3], small);
	send_any(e, 0, N * EACH, sent);
	EVENTUALLY(tallies_info(k).handled == N * EACH);
	CHECK_EQ(tallies_info(k).failed, 0);
	harness_delivered(link, N * EACH);
	/* only messages to the other worker pass its mailbox: about half */
	CHECK(tallies_info(k).mailbox_sends > N * EACH / 4);
	CHECK(tallies_info(k).mailbox_sends < N * EACH * 3 / 4);
	EVENTUALLY(tallies_info(k).mailbox_sends ==
		   tallies_info(k).mailbox_done);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(handler_sends_to_any_actor_of_other_device)
{
	struct peal_runtime *rt = harness_open(2, "");
	struct peal_kernel_options one = { .workers = 1 };
	struct peal_kernel *near = tallies_launch(rt, 0, one);
	struct peal_kernel *far = tallies_launch(rt, 1, two);
	struct peal_endpoint *e = harness_endpoint(rt);
	uint64_t sent[N] = { 0 }, post, i, at;
	unsigned long long state = 1;
	struct peal_link *link;

	CHECK_OK(peal_actor_spawn(near, "post", NULL, &post));
	tallies_spawn(far, "tally", -1, 0, N, address);
	harness_from(rt, e, 0, post, small);
	link = harness_link(rt, post, 0, address[0], small);
	for (i = 0; i < N * EACH; i++) {
		struct tally_message m;

		at = test_random(&state) % N;
		m.id = at;
		m.number = sent[at]++;
		m.actor = (uint32_t)address[at];
		CHECK_OK(peal_send(e, 0, 1, &m, sizeof(m), MAX_WAIT, NULL));
	}
	EVENTUALLY(tallies_info(far).handled == N * EACH);
	CHECK_EQ(tallies_info(far).failed, 0);
	harness_delivered(link, N * EACH);
	CHECK_OK(peal_kernel_stop(near, MAX_WAIT));
	CHECK_OK(peal_kernel_stop(far, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* One retired actor is on the link's worker, one on the other worker. */
PEAL_TEST(reused_slot_gets_no_messages_of_old_actor)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = tallies_launch(rt, 0, two);
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_link_options lo = { .capacity = 16 };
	uint64_t next[2], old[2] = { 1, 3 };
	struct peal_link *link;
	uint32_t i;

	tallies_spawn(k, "tally", -1, 0, 4, address);
	link = harness_from(rt, e, 0, address[0], lo);
	for (i = 0; i < 2; i++) {
		CHECK_OK(peal_actor_retire(rt, address[old[i]]));
		tallies_spawn(k, "tally", (int)i, 10 + i, 1, &next[i]);
		CHECK(next[i] != address[old[i]]);
		CHECK_EQ(PEAL_ACTOR_INDEX(next[i]),
			 PEAL_ACTOR_INDEX(address[old[i]]));
	}
	for (i = 0; i < 2; i++) {
		tallies_send(e, 0, address[old[i]], old[i], 0);
		tallies_send(e, 0, next[i], 10 + i, 0);
	}
	EVENTUALLY(tallies_info(k).handled == 2);
	EVENTUALLY(harness_info(link).dead[PEAL_REASON_NO_ACTOR] == 2);
	CHECK_EQ(tallies_info(k).failed, 0);
	harness_conserved(rt);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	for (i = 0; i < 2; i++)
		CHECK_EQ(tallies_state(rt, next[i]).next, 1);
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(undeliverable_messages_are_dead_with_reason)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel_options with = { .workers = 2,
					    .mailbox.slots = 64,
					    .mailbox.message_bytes = 24 };
	struct peal_kernel *k = tallies_launch(rt, 0, with);
	struct peal_kernel_options without = { .workers = 2 };
	struct peal_kernel *bare = tallies_launch(rt, 0, without);
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_link_options lo = { .capacity = 16, .message_bytes = 64 };
	struct peal_link *link, *other;
	uint8_t longer[64] = { 0 };
	uint64_t retired;

	tallies_spawn(k, "tally", -1, 0, 4, address);
	tallies_spawn(bare, "tally", -1, 0, 2, address + 4);
	link = harness_from(rt, e, 0, address[0], lo);
	other = harness_from(rt, e, 1, address[4], lo);
	retired = address[3];
	CHECK_OK(peal_actor_retire(rt, retired));
	tallies_send(e, 0, retired, 0, 0);
	tallies_send(e, 0, address[3] + 50, 0, 0); /* never existed */
	EVENTUALLY(harness_info(link).dead[PEAL_REASON_NO_ACTOR] == 2);
	/* too long for the mailbox of worker 1, but not for the link */
	CHECK_OK(peal_send_to(e, 0, address[2], 0, longer, 64, MAX_WAIT, NULL));
	EVENTUALLY(harness_info(link).dead[PEAL_REASON_TOO_LONG] == 1);
	CHECK_OK(peal_send_to(e, 0, address[0], 0, longer, 64, MAX_WAIT, NULL));
	EVENTUALLY(harness_info(link).delivered == 1);
	/* the next message to worker 1 arrives */
	tallies_send(e, 0, address[2], 2, 0);
	EVENTUALLY(tallies_info(k).handled == 2);
	CHECK_EQ(tallies_info(k).failed, 0);
	/* without mailboxes, no message reaches the other worker */
	tallies_send(e, 1, address[5], 1, 0);
	EVENTUALLY(harness_info(other).dead[PEAL_REASON_NO_ACTOR] == 1);
	tallies_send(e, 1, address[4], 0, 0);
	EVENTUALLY(tallies_info(bare).handled == 1);
	harness_conserved(rt);
	CHECK_CONTAINS(peal_reason_name(PEAL_REASON_TOO_LONG), "too-long");
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_kernel_stop(bare, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(address_of_other_kernel_is_refused)
{
	struct peal_runtime *rt = harness_open(2, "");
	struct peal_kernel_options o = { .workers = 2, .name = "here" };
	struct peal_kernel *k = tallies_launch(rt, 0, o);
	struct peal_kernel *far = tallies_launch(rt, 1, o);
	struct peal_endpoint *e = harness_endpoint(rt);
	uint64_t there;

#define SEND(port, to) peal_send_to(e, port, to, 0, "x", 1, 0, NULL)
	tallies_spawn(k, "tally", -1, 0, 2, address);
	CHECK_OK(peal_actor_spawn(far, "tally", NULL, &there));
	CHECK_FAILS(SEND(0, address[0]), PEAL_ENOTCONN, "no link at port 0");
	harness_from(rt, e, 0, address[0], small);
	CHECK_FAILS(SEND(0, there), PEAL_ENOENT, "leads to kernel 'here'");
	CHECK_FAILS(SEND(0, address[0] + (1 << 20)), PEAL_ENOENT,
		    "', which has no such actor");
	CHECK_FAILS(SEND(0, peal_endpoint_address(e)), PEAL_ENOENT, "port 0");
	CHECK_EQ(peal_send_to(e, 0, address[0], 0, NULL, 1, 0, NULL),
		 PEAL_EINVAL);
	CHECK_EQ(peal_send_to(NULL, 0, address[0], 0, "x", 1, 0, NULL),
		 PEAL_EINVAL);
	CHECK_FAILS(peal_send_to(e, 0, address[0], 0, "x", 1 << 20, 0, NULL),
		    PEAL_EMSGSIZE,
		    "'endpoint': has a link for shorter "
		    "messages (1048576 bytes, allowed 0..48)");
#undef SEND
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_kernel_stop(far, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* Sends to the actor until the link is full. Returns 1 if worker 0 waits for
 * free slots and the link took no message. */
static int is_full(struct peal_endpoint *e, struct peal_kernel *k,
		   uint64_t actor, uint64_t *sent)
{
	struct tally_message m = { 0, 0, 0 };
	struct peal_worker_info info;
	uint64_t before = *sent;

	CHECK_OK(peal_worker_info(k, 0, &info));
	for (;; ++*sent) {
		m.number = *sent;
		if (peal_send_to(e, 0, actor, 0, &m, sizeof(m), 20 * MS, NULL))
			break;
	}
	return info.blocked_port >= 0 && *sent == before;
}

/* The actor's worker blocks on a full output. No message is lost. Messages
 * continue in order after the host receives. */
PEAL_TEST(full_mailbox_blocks_the_link)
{
	struct peal_kernel_options o = { .workers = 2, .mailbox.slots = 64 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = tallies_launch(rt, 0, o);
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_actor_options second = { .size = sizeof(second),
					     .worker = 2 };
	struct tally_message m;
	struct peal_worker_info info;
	struct peal_link *link, *out;
	struct peal_received r;
	uint64_t answer, sent = 0, got = 0;

	tallies_spawn(k, "tally", 0, 0, 1, address);
	CHECK_OK(peal_actor_spawn(k, "answer", &second, &answer));
	link = harness_from(rt, e, 0, address[0], small);
	out = harness_to(rt, answer, e, small);
	/* slots: 16 in the output, 64 in the mailbox, 16 in the link */
	EVENTUALLY(is_full(e, k, answer, &sent));
	CHECK(sent > 32 && sent <= 16 + 64 + 16 + 1);
	CHECK_OK(peal_worker_info(k, 0, &info));
	CHECK_EQ(info.blocked_actor, (int64_t)(uint32_t)answer);
	CHECK_EQ(info.blocked_port, PEAL_BLOCKED_MAIL);
	for (; got < sent; got++) {
		CHECK_OK(peal_receive(e, &m, sizeof(m), &r, MAX_WAIT));
		CHECK_EQ(m.number, got);
	}
	tallies_send(e, 0, answer, 0, sent);
	CHECK_OK(peal_receive(e, &m, sizeof(m), &r, MAX_WAIT));
	CHECK_EQ(m.number, sent);
	harness_delivered(link, sent + 1);
	harness_delivered(out, sent + 1);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* Messages for the other worker are handled before the kernel ends. */
PEAL_TEST(drain_waits_for_messages_to_other_worker)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = tallies_launch(rt, 0, two);
	struct peal_endpoint *e = harness_endpoint(rt);
	uint64_t sent[N] = { 0 };

	tallies_spawn(k, "tally", -1, 0, N, address);
	harness_from(rt, e, 0, address[0], small);
	send_any(e, 0, N * EACH, sent);
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_drain(k, MAX_WAIT));
	EVENTUALLY(tallies_info(k).handled == N * EACH);
	CHECK_EQ(tallies_info(k).failed, 0);
	harness_conserved(rt);
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* Spawns n `asked` actors on a worker, with ids from `first` on. All of them
 * reply by the ports of addresses[0]. */
static void spawn_asked(struct peal_kernel *k, uint32_t worker, uint64_t first,
			uint32_t n, uint64_t *addresses)
{
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = PEAL_WORKER(worker),
					.init_bytes = sizeof(first) };
	uint32_t i;

	for (i = 0; i < n; i++, first++) {
		o.init = &first;
		o.share_ports_with = i ? addresses[0] : 0;
		CHECK_OK(peal_actor_spawn(k, "asked", &o, &addresses[i]));
	}
}

/* Spawns the first half of the addresses on worker 0, the other half on worker
 * 1. The requester's link leads to worker 0. */
static struct peal_requester *ask_open(struct peal_runtime *rt,
				       struct peal_kernel *k)
{
	struct peal_requester *r = NULL;

	spawn_asked(k, 0, 0, N / 2, address);
	spawn_asked(k, 1, N / 2, N / 2, address + N / 2);
	CHECK_OK(peal_requester_create(rt, address[0], NULL, &r));
	CHECK_OK(peal_requester_listen(r, address[0], 0));
	CHECK_OK(peal_requester_listen(r, address[N / 2], 0));
	return r;
}

struct asker {
	struct peal_requester *requester;
	uint32_t first; /* asks actors first, first + 2, ... */
};

/* Makes requests to all actors at once, then one request at a time. */
static void *ask_all(void *argument)
{
	const struct asker *a = argument;
	struct tally_message m = { 0, 0, 0 };
	struct tally t = { 0, 0, 0 };
	struct peal_received r;
	uint64_t out[N];
	uint32_t i;

	for (i = a->first; i < N; i += 2) {
		m.id = i;
		CHECK_OK(peal_request_start_to(a->requester, address[i], 0, &m,
					       sizeof(m), MAX_WAIT, &out[i]));
	}
	for (i = a->first; i < N; i += 2) {
		CHECK_OK(peal_request_wait(a->requester, out[i], &t, sizeof(t),
					   &r, MAX_WAIT));
		CHECK_EQ(t.id, i);
		CHECK_EQ(t.next, 1);
		CHECK_EQ(r.from, address[i / (N / 2) * (N / 2)]);
	}
	for (m.number = 1; m.number < EACH / 4; m.number++) {
		for (i = a->first; i < N; i += 2) {
			m.id = i;
			CHECK_OK(peal_request_to(a->requester, address[i], 0,
						 &m, sizeof(m), &t, sizeof(t),
						 NULL, MAX_WAIT));
			CHECK_EQ(t.id, i);
			CHECK_EQ(t.next, m.number + 1);
		}
	}
	return NULL;
}

PEAL_TEST(one_requester_reaches_any_actor_of_a_kernel)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = tallies_launch(rt, 0, two);
	struct peal_requester *r = ask_open(rt, k);
	struct asker odd = { r, 1 }, even = { r, 0 };
	struct peal_requester_info info;
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, ask_all, &odd));
	ask_all(&even);
	CHECK(!pthread_join(thread, NULL));
	CHECK_OK(peal_requester_info(r, &info));
	CHECK_EQ(info.asked, N * (EACH / 4));
	CHECK_EQ(info.replied, info.asked);
	EVENTUALLY(tallies_info(k).handled == info.asked);
	EVENTUALLY(tallies_info(k).mailbox_sends == info.asked / 2);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST(undeliverable_request_reports_an_error)
{
	struct peal_runtime *rt = harness_open(2, "");
	struct peal_kernel *k = tallies_launch(rt, 0, two);
	struct peal_kernel *far = tallies_launch(rt, 1, two);
	struct peal_requester *r = ask_open(rt, k);
	struct peal_requester_info info;
	struct tally_message m = { 0, 0, 0 };
	struct tally t = { 7, 7, 7 };
	const uint8_t longer[48] = { 0 }; /* a tally_message: id 0, number 0 */
	uint64_t there, number = 0;

#define ASK(to)                                                                \
	peal_request_to(r, to, 0, &m, sizeof(m), &t, sizeof(t), NULL, MAX_WAIT)
#define BEGIN(to)                                                              \
	peal_request_start_to(r, to, 0, &m, sizeof(m), SECOND, &number)
	CHECK_OK(peal_actor_spawn(far, "tally", NULL, &there));
	CHECK_FAILS(ASK(there), PEAL_ENOENT,
		    "'requester': leads to kernel "
		    "'tally', which has no such actor");
	CHECK_FAILS(ASK(0), PEAL_ENOENT,
		    "'to': is no address of an actor (0, "
		    "allowed an address of an actor)");
	CHECK_FAILS(BEGIN(there), PEAL_ENOENT, "', which has no such actor");
	CHECK_FAILS(BEGIN(0), PEAL_ENOENT,
		    "'to': is no address of an actor "
		    "(0, allowed an address of an actor)");
	CHECK_EQ(number, 0);
	CHECK_OK(peal_requester_info(r, &info));
	CHECK_EQ(info.asked, 0);
	/* too long for the mailbox of worker 1; worker 0 has the link */
	CHECK_FAILS(peal_request_to(r, address[N / 2], 0, longer, 41, &t,
				    sizeof(t), NULL, SECOND),
		    PEAL_EMSGSIZE,
		    "'tally': takes no such message for actor 32 of worker 1 "
		    "by a link to worker 0 (49 bytes and 8, allowed 0..48)");
	CHECK_CONTAINS(
		peal_last_error()->text,
		"'tally': takes no such "
		"message for actor 32 of worker 1 by a link to worker 0 (49 "
		"bytes and 8, allowed 0..48)");
	CHECK_OK(peal_requester_info(r, &info));
	CHECK_EQ(info.asked, 0);
	CHECK_OK(peal_request_to(r, address[0], 0, longer, 48, &t, sizeof(t),
				 NULL, MAX_WAIT));
	m.number = 1;
	t.id = 7;
	CHECK_OK(peal_actor_retire(rt, address[N - 1]));
	CHECK_FAILS(peal_request_to(r, address[N - 1], 0, &m, sizeof(m), &t,
				    sizeof(t), NULL, MAX_WAIT),
		    PEAL_ENOENT, "no actor handles the request");
	CHECK_EQ(t.id, 7);
	/* m.id is not the id of this actor: it refuses the request */
	CHECK_FAILS(ASK(address[1]), PEAL_EPROTO, "has refused the request");
	CHECK_OK(ASK(address[0]));
	CHECK_OK(peal_requester_info(r, &info));
	CHECK_EQ(info.asked, 4);
	CHECK_EQ(info.cancelled, 0);
	CHECK_EQ(info.error_replies, 2);
	CHECK_EQ(info.replied, 2);
#undef BEGIN
#undef ASK
	harness_conserved(rt);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_kernel_stop(far, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(rt));
}

static int run_all(int argc, char **argv, uint32_t lanes)
{
	int peal_cases_ = 0;

	tallies_lanes = lanes;
	printf("%u lanes\n", lanes);
	RUN(each_actor_gets_its_messages_in_order);
	RUN(handler_sends_to_any_actor_of_other_device);
	RUN(reused_slot_gets_no_messages_of_old_actor);
	RUN(undeliverable_messages_are_dead_with_reason);
	RUN(address_of_other_kernel_is_refused);
	RUN(full_mailbox_blocks_the_link);
	RUN(drain_waits_for_messages_to_other_worker);
	RUN(one_requester_reaches_any_actor_of_a_kernel);
	RUN(undeliverable_request_reports_an_error);
	return peal_cases_;
}

PEAL_TEST_MAIN(peal_cases_ += run_all(argc, argv, 1);
	       peal_cases_ += run_all(argc, argv, 32);)
