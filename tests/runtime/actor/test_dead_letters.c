/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each dead message makes one dead letter, with its cause and payload. Unread
 * letters block no worker. A letter can be replayed.
 */
#include <peal/dead_letter.h>
#include <peal/pool.h>
#include <peal/request.h>
#include <peal/topic.h>
#include <peal/typed_endpoint.h>

#include "runtime/pools.h"
#include "runtime/tallies.h"

PEAL_DECLARE_PROGRAM(pools);
PEAL_TYPED_ENDPOINT(parcel)

#define N 32
#define LETTER sizeof(struct peal_dead_letter)

static const struct peal_kernel_options two = { .workers = 2,
						.max_actors = 2 * N,
						.max_inputs = 8,
						.max_ports = 2,
						.mailbox.slots = 64 };
static const struct peal_link_options small = { .capacity = 16 };
static uint64_t address[N];

/* A received dead letter. */
struct letter {
	struct peal_dead_letter about;
	uint8_t kept[4096];
};

/* A kernel with N actors on two workers. Endpoint `in` sends to each actor by
 * `link`. Endpoint `out` receives the dead letters. */
struct fixture {
	struct peal_runtime *rt;
	struct peal_kernel *k;
	struct peal_endpoint *in, *out;
	struct peal_link *link;
};

static struct fixture open_fixture(struct peal_link_options o)
{
	struct fixture s = { .rt = harness_open(1, "") };

	o.size = sizeof(o);
	s.k = tallies_launch(s.rt, 0, two);
	s.in = harness_endpoint(s.rt);
	s.out = harness_endpoint(s.rt);
	tallies_spawn(s.k, "tally", -1, 0, N, address);
	CHECK_OK(peal_dead_letter_connect(s.k, peal_endpoint_address(s.out),
					  &o));
	s.link = harness_from(s.rt, s.in, 0, address[0], small);
	CHECK(harness_info(s.link).id > 0);
	return s;
}

static void close_fixture(struct fixture *s)
{
	CHECK_OK(peal_kernel_stop(s->k, MAX_WAIT));
	harness_conserved(s->rt);
	CHECK_OK(peal_runtime_shutdown(s->rt));
}

/* Receives the next letter. Returns the number of payload bytes in it. */
static uint64_t take(struct peal_endpoint *e, struct letter *out)
{
	struct peal_received r;

	memset(out, 0, sizeof(*out));
	CHECK_OK(peal_receive(e, out, sizeof(*out), &r, MAX_WAIT));
	CHECK_EQ(r.dead_letter, 1);
	CHECK(!parcel_received(&r));
	CHECK_EQ(r.type, 0);
	CHECK_EQ(r.request, 0);
	CHECK(r.length >= LETTER);
	CHECK(out->about.reason < PEAL_REASON_COUNT);
	CHECK(out->about.worker < 2);
	return r.length - LETTER;
}

static void check_letter(const struct letter *l, uint64_t to, uint32_t reason,
			 int error, uint32_t worker)
{
	CHECK_EQ(l->about.to, to);
	CHECK_EQ(l->about.reason, reason);
	CHECK_EQ(l->about.error, error);
	CHECK_EQ(l->about.worker, worker);
}

static void check_kept(const struct letter *l, uint64_t id, uint64_t number)
{
	struct tally_message m;

	memcpy(&m, l->kept, sizeof(m));
	CHECK_EQ(m.id, id);
	CHECK_EQ(m.number, number);
}

PEAL_TEST(letter_reports_message_actor_and_reason)
{
	struct fixture s = open_fixture(small);
	struct tally_message m = { 0, 7, 0 };
	struct letter l;

	/* by a link: to a retired actor, then to an actor that fails */
	CHECK_OK(peal_actor_retire(s.rt, address[1]));
	tallies_send(s.in, 0, address[0], 0, 0);
	CHECK_OK(peal_send_to(s.in, 0, address[1], 77, &m, sizeof(m), MAX_WAIT,
			      NULL));
	CHECK_EQ(take(s.out, &l), sizeof(m));
	check_letter(&l, address[1], PEAL_REASON_NO_ACTOR, 0, 0);
	check_kept(&l, 0, 7);
	CHECK_EQ(l.about.link, harness_info(s.link).id);
	CHECK_EQ(l.about.sequence, 1);
	CHECK_EQ(l.about.length, sizeof(m));
	CHECK_EQ(l.about.type, 77);
	CHECK_EQ(l.about.flags, 0);
	CHECK_OK(peal_send_to(s.in, 0, address[0], 78, &m, sizeof(m), MAX_WAIT,
			      NULL));
	CHECK_EQ(take(s.out, &l), sizeof(m));
	check_letter(&l, address[0], PEAL_REASON_HANDLER, PEAL_EPROTO, 0);
	CHECK_EQ(l.about.sequence, 2);
	CHECK_EQ(l.about.type, 78);
	/* by a mailbox: to an actor of worker 1 */
	tallies_send(s.in, 0, address[N - 1], N - 1, 5);
	CHECK_EQ(take(s.out, &l), sizeof(m));
	check_letter(&l, address[N - 1], PEAL_REASON_HANDLER, PEAL_EPROTO, 1);
	check_kept(&l, N - 1, 5);
	CHECK_EQ(l.about.link, PEAL_NO_LINK);
	tallies_send(s.in, 0, address[N - 1], N - 1, 5);
	take(s.out, &l);
	CHECK_EQ(l.about.sequence, 0); /* 0 for each message of a mailbox */
	close_fixture(&s);
}

/* The message is in a mailbox when its actor is retired. */
PEAL_TEST(mail_of_retired_actor_makes_letters)
{
	struct fixture s = open_fixture(small);
	struct peal_actor_options on_1 = { .size = sizeof(on_1), .worker = 2 };
	struct peal_link_options two_slots = { .capacity = 2 };
	struct tally_message m = { 0, 0, 0 };
	struct peal_endpoint *e = harness_endpoint(s.rt);
	struct peal_received r;
	struct letter l;
	uint64_t answer;

	CHECK_OK(peal_actor_spawn(s.k, "answer", &on_1, &answer));
	harness_to(s.rt, answer, e, two_slots);
	for (m.number = 0; m.number < 3; m.number++)
		CHECK_OK(peal_send_to(s.in, 0, answer, 0, &m, sizeof(m),
				      MAX_WAIT, NULL));
	/* behind a message that waits for a free slot of a link */
	tallies_send(s.in, 0, address[N - 1], N - 1, 0);
	EVENTUALLY(harness_info(s.link).delivered == 4);
	CHECK_OK(peal_actor_retire(s.rt, address[N - 1]));
	for (m.number = 0; m.number < 3; m.number++)
		CHECK_OK(peal_receive(e, &m, sizeof(m), &r, MAX_WAIT));
	CHECK_EQ(take(s.out, &l), sizeof(m));
	check_letter(&l, address[N - 1], PEAL_REASON_NO_ACTOR, 0, 1);
	check_kept(&l, N - 1, 0);
	CHECK_EQ(l.about.link, PEAL_NO_LINK);
	EVENTUALLY(tallies_info(s.k).mailbox_dead == 1);
	close_fixture(&s);
}

/* A worker drops dead mail while one of its inputs waits for free slots. The
 * input keeps its messages. */
PEAL_TEST(dropping_dead_mail_keeps_input_messages)
{
	struct fixture s = open_fixture(small);
	struct peal_actor_options on_1 = { .size = sizeof(on_1), .worker = 2 };
	struct peal_link_options two_slots = { .capacity = 2 };
	struct peal_endpoint *e = harness_endpoint(s.rt);
	struct tally_message m = { 0, 0, 0 };
	struct peal_received r;
	uint64_t post, i, sum = 0;
	struct letter l;

	CHECK_OK(peal_actor_spawn(s.k, "post", &on_1, &post));
	harness_to(s.rt, post, e, two_slots);
	harness_from(s.rt, s.in, 1, post, small);
	for (m.number = 0; m.number < 10; m.number++)
		CHECK_OK(peal_send_to(s.in, 1, post, 0, &m, sizeof(m), MAX_WAIT,
				      NULL));
	for (i = 0; i < 3; i++) /* the output has two slots */
		CHECK_OK(peal_send_to(s.in, 0, post, 0, &m, sizeof(m), MAX_WAIT,
				      NULL));
	tallies_send(s.in, 0, address[N - 1], N - 1, 0);
	EVENTUALLY(harness_info(s.link).delivered == 4);
	CHECK_OK(peal_actor_retire(s.rt, address[N - 1]));
	for (i = 0; i < 13; i++) {
		CHECK_OK(peal_receive(e, &m, sizeof(m), &r, MAX_WAIT));
		sum += m.number;
		identity_sleep_us(2000); /* until `post` waits again */
	}
	CHECK_EQ(sum, 45 + 3 * 10);
	take(s.out, &l);
	check_letter(&l, address[N - 1], PEAL_REASON_NO_ACTOR, 0, 1);
	close_fixture(&s);
}

/* The payloads are in a slab. A letter keeps only their first bytes if its link
 * takes no more. */
PEAL_TEST(letter_payload_is_cut_to_link_size)
{
	const uint64_t keeps[] = { 0, 8, 200, 4000 };
	struct peal_link_options wide = { .capacity = 16,
					  .message_bytes = 4000 };
	struct peal_link_options o = small;
	uint8_t payload[4000];
	struct letter l;
	uint32_t i;

	harness_fill(payload, sizeof(payload), 3, 4);
	for (i = 0; i < 4; i++) {
		struct fixture s;

		o.message_bytes = LETTER + keeps[i];
		s = open_fixture(o);
		harness_from(s.rt, s.in, 1, address[0], wide);
		CHECK_OK(peal_actor_retire(s.rt, address[1]));
		CHECK_OK(peal_send_to(s.in, 1, address[1], 0, payload,
				      sizeof(payload), MAX_WAIT, NULL));
		CHECK_EQ(take(s.out, &l), keeps[i]);
		CHECK_EQ(l.about.length, sizeof(payload));
		CHECK(!memcmp(l.kept, payload, keeps[i]));
		/* to worker 1: longer than the 48 bytes of its mailbox */
		CHECK_OK(peal_send_to(s.in, 1, address[N - 1], 0, payload,
				      sizeof(payload), MAX_WAIT, NULL));
		CHECK_EQ(take(s.out, &l), keeps[i]);
		check_letter(&l, address[N - 1], PEAL_REASON_TOO_LONG, 0, 0);
		CHECK_EQ(l.about.sequence, 1);
		if (keeps[i] == sizeof(payload)) {
			CHECK_FAILS(
				peal_dead_letter_replay(s.in, 0, 0, &l.about,
							LETTER + keeps[i], 0),
				PEAL_EMSGSIZE, "(4000 bytes, allowed 0..48)");
			CHECK_OK(peal_dead_letter_replay(
				s.in, 1, address[0], &l.about,
				LETTER + keeps[i], MAX_WAIT));
			CHECK_EQ(take(s.out, &l), keeps[i]);
			check_letter(&l, address[0], PEAL_REASON_HANDLER,
				     PEAL_EPROTO, 0);
			CHECK(!memcmp(l.kept, payload, keeps[i]));
		} else {
			CHECK_FAILS(peal_dead_letter_replay(
					    s.in, 1, address[0], &l.about,
					    LETTER + keeps[i], 0),
				    PEAL_EMSGSIZE, "has only a part of its");
		}
		close_fixture(&s);
	}
}

static struct peal_link_info letters_of(const struct fixture *s,
					uint32_t worker)
{
	return harness_info(harness_letters(s->rt, s->k, worker));
}

/* The host reads no letters. The worker continues, and the kernel ends. */
PEAL_TEST(unread_letters_do_not_block_the_kernel)
{
	struct peal_link_options four = { .capacity = 4 };
	struct fixture s = open_fixture(four);
	struct peal_received r;
	struct letter l;
	uint64_t i;

	CHECK_OK(peal_actor_retire(s.rt, address[1]));
	for (i = 0; i < 100; i++)
		tallies_send(s.in, 0, address[1], 1, i);
	for (i = 0; i < 100; i++)
		tallies_send(s.in, 0, address[0], 0, i);
	EVENTUALLY(tallies_info(s.k).handled == 100);
	CHECK_EQ(tallies_info(s.k).failed, 0);
	EVENTUALLY(harness_info(s.link).dead[PEAL_REASON_NO_ACTOR] == 100);
	CHECK_EQ(letters_of(&s, 0).accepted, 3);
	CHECK_EQ(letters_of(&s, 0).dead_letters_dropped, 97);
	/* now a slot is free */
	CHECK_EQ(take(s.out, &l), sizeof(struct tally_message));
	check_kept(&l, 1, 0);
	for (i = 100; letters_of(&s, 0).accepted == 3; i++)
		tallies_send(s.in, 0, address[1], 1, i);
	EVENTUALLY(harness_info(s.link).queued == 0);
	CHECK_EQ(letters_of(&s, 0).accepted +
			 letters_of(&s, 0).dead_letters_dropped,
		 i);
	/* all links of the kernel end, also the link of the letters */
	CHECK_OK(peal_send_end(s.in, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_drain(s.k, MAX_WAIT));
	CHECK_EQ(letters_of(&s, 0).ended, 1);
	for (i = letters_of(&s, 0).queued; i; i--)
		take(s.out, &l);
	CHECK_EQ(peal_receive(s.out, &l, sizeof(l), &r, MAX_WAIT), PEAL_EEND);
	close_fixture(&s);
}

/* One third of the actors is retired, one third fails on each message. */
PEAL_TEST(each_dead_message_makes_one_letter)
{
	enum { MESSAGES = 2000 };
	struct peal_link_options wide = { .capacity = 4096 };
	struct fixture s = open_fixture(wide);
	uint8_t seen[MESSAGES] = { 0 };
	unsigned long long state = 5;
	uint64_t dead = 0, at, i;
	struct tally_message m;
	struct peal_link *other;
	struct letter l;

	/* each worker has a link, and mailboxes connect both workers */
	other = harness_from(s.rt, s.in, 1, address[N - 1], small);
	for (i = 3; i < N; i += 3) /* not 0: a link holds it */
		CHECK_OK(peal_actor_retire(s.rt, address[i]));
	for (i = 0; i < MESSAGES; i++) {
		at = test_random(&state) % N;
		/* the next number for one third, else a number that fails */
		dead += at % 3 != 2;
		tallies_send(s.in, at / 3 % 2, address[at], at,
			     at % 3 == 2 ? seen[at]++ : MESSAGES + i);
	}
	memset(seen, 0, sizeof(seen));
	EVENTUALLY(!harness_info(s.link).queued && !harness_info(other).queued);
	for (i = 0; i < dead; i++) {
		CHECK_EQ(take(s.out, &l), sizeof(m));
		memcpy(&m, l.kept, sizeof(m));
		CHECK(m.number >= MESSAGES && m.number < 2 * MESSAGES);
		CHECK_EQ(seen[m.number - MESSAGES]++, 0);
		CHECK_EQ(l.about.to, address[m.id]);
		CHECK_EQ(l.about.reason, m.id % 3 || !m.id ?
						 PEAL_REASON_HANDLER :
						 PEAL_REASON_NO_ACTOR);
	}
	EVENTUALLY(tallies_info(s.k).handled - tallies_info(s.k).failed ==
		   MESSAGES - dead);
	CHECK_EQ(letters_of(&s, 0).dead_letters_dropped +
			 letters_of(&s, 1).dead_letters_dropped,
		 0);
	CHECK_EQ(letters_of(&s, 0).accepted + letters_of(&s, 1).accepted, dead);
	close_fixture(&s);
}

PEAL_TEST(replay_sends_the_kept_message)
{
	struct fixture s = open_fixture(small);
	struct tally_message m = { 1, 0, 0 };
	struct letter l, odd;
	uint64_t next;

#define REPLAY(to, letter, bytes)                                              \
	peal_dead_letter_replay(s.in, 0, to, letter, bytes, MAX_WAIT)
	/* number 1 fails before number 0; its replay after 0 succeeds */
	tallies_send(s.in, 0, address[0], 0, 1);
	CHECK_EQ(take(s.out, &l), sizeof(struct tally_message));
	tallies_send(s.in, 0, address[0], 0, 0);
	CHECK_OK(REPLAY(0, &l.about, LETTER + sizeof(struct tally_message)));
	EVENTUALLY(tallies_info(s.k).handled == 3);
	EVENTUALLY(tallies_info(s.k).failed == 1);
	/* the letter of a retired actor, to the next actor of its slot */
	CHECK_OK(peal_actor_retire(s.rt, address[1]));
	CHECK_OK(peal_send_to(s.in, 0, address[1], 55, &m, sizeof(m), MAX_WAIT,
			      NULL));
	CHECK_EQ(take(s.out, &l), sizeof(struct tally_message));
	tallies_spawn(s.k, "tally", 0, 1, 1, &next);
	CHECK_OK(REPLAY(next, &l.about, LETTER + sizeof(struct tally_message)));
	EVENTUALLY(tallies_info(s.k).handled == 4);
	EVENTUALLY(tallies_info(s.k).failed == 1);
	/* to the retired actor again: the replay makes the same letter */
	odd = l;
	CHECK_OK(REPLAY(0, &l.about, LETTER + sizeof(struct tally_message)));
	CHECK_EQ(take(s.out, &l), sizeof(struct tally_message));
	CHECK_EQ(l.about.to, odd.about.to);
	CHECK_EQ(l.about.type, 55);
	CHECK_EQ(l.about.sequence, 5);
	/* invalid letters */
	CHECK_FAILS(REPLAY(0, NULL, 100), PEAL_EINVAL, "no dead letter");
	CHECK_FAILS(REPLAY(0, &l.about, LETTER - 1), PEAL_EINVAL,
		    "'letter': is no dead letter (47 bytes");
	CHECK_FAILS(REPLAY(0, &l.about, LETTER + 23), PEAL_EMSGSIZE,
		    "of its message (23 bytes, allowed 24)");
	odd.about.reason = PEAL_REASON_COUNT;
	CHECK_EQ(REPLAY(0, &odd.about, LETTER + 24), PEAL_EINVAL);
	odd.about.reason = PEAL_REASON_NO_ACTOR;
	odd.about.flags = PEAL_FLAG_DEAD_LETTER;
	CHECK_EQ(REPLAY(0, &odd.about, LETTER + 24), PEAL_EINVAL);
	CHECK_FAILS(REPLAY(peal_endpoint_address(s.in), &l.about, LETTER + 24),
		    PEAL_ENOENT, "kernel 'tally', which has no such actor");
	CHECK_FAILS(peal_dead_letter_replay(s.in, 1, 0, &l.about, LETTER + 24,
					    0),
		    PEAL_ENOTCONN, "no link at port 1");
#undef REPLAY
	close_fixture(&s);
}

/* The dead request has ended at its requester. */
PEAL_TEST(replayed_request_is_handled_and_its_reply_is_late)
{
	struct fixture s = open_fixture(small);
	struct tally_message m = { N, 0, 0 };
	struct peal_requester *r = NULL;
	uint64_t asked[2], number = 0, handled;
	struct peal_requester_info info;
	struct letter l;
	struct tally t;

	tallies_spawn(s.k, "asked", 0, N, 2, asked);
	CHECK_OK(peal_requester_create(s.rt, asked[1], NULL, &r));
	CHECK_OK(peal_requester_listen(r, asked[1], 0));
	CHECK_OK(peal_actor_retire(s.rt, asked[0]));
	m.id = N + 1;
	CHECK_OK(peal_request_start_to(r, asked[0], 0, &m, sizeof(m), MAX_WAIT,
				       &number));
	CHECK_EQ(take(s.out, &l), PEAL_REQUEST_BYTES + sizeof(m));
	check_letter(&l, asked[0], PEAL_REASON_NO_ACTOR, 0, 0);
	CHECK_FAILS(peal_request_wait(r, number, &t, sizeof(t), NULL, MAX_WAIT),
		    PEAL_ENOENT, "no actor handles the request");
	handled = tallies_info(s.k).handled;
	CHECK_OK(peal_dead_letter_replay(s.in, 0, asked[1], &l.about,
					 LETTER + l.about.length, MAX_WAIT));
	EVENTUALLY(tallies_info(s.k).handled == handled + 1);
	m.number = 1;
	CHECK_OK(peal_request_to(r, asked[1], 0, &m, sizeof(m), &t, sizeof(t),
				 NULL, MAX_WAIT));
	CHECK_EQ(t.next, 2);
	CHECK_OK(peal_requester_info(r, &info));
	CHECK_EQ(info.late, 1);
	CHECK_OK(peal_requester_destroy(r));
	close_fixture(&s);
}

/* ---- receivers of letters ------------------------------------------------ */

static struct tally_mourner mourner_of(struct peal_runtime *rt,
				       struct peal_kernel *k, uint64_t actor)
{
	struct tally_mourner m;

	CHECK_OK(peal_kernel_suspend(k, MAX_WAIT));
	CHECK_OK(peal_actor_state(rt, actor, &m, sizeof(m)));
	CHECK_OK(peal_kernel_resume(k));
	return m;
}

/* Two workers send letters to an actor of another device. It receives the
 * letters of its own kernel, too. A failure on a letter makes no further
 * letter. */
PEAL_TEST(failing_letter_handler_makes_no_letters)
{
	struct peal_runtime *rt = harness_open(2, "");
	struct peal_kernel *k = tallies_launch(rt, 0, two);
	struct peal_kernel *far = tallies_launch(rt, 1, two);
	struct peal_endpoint *e = harness_endpoint(rt);
	struct tally_message m = { 0, 0, 0 };
	struct tally_mourner seen;
	uint64_t mourner, at, i;

	tallies_spawn(k, "tally", -1, 0, N, address);
	harness_from(rt, e, 0, address[0], small);
	CHECK_OK(peal_actor_spawn(far, "mourn", NULL, &mourner));
	CHECK_OK(peal_dead_letter_connect(k, mourner, NULL));
	CHECK_OK(peal_dead_letter_connect(far, mourner, NULL));
	CHECK_FAILS(peal_actor_retire(rt, mourner), PEAL_EBUSY, "links");
	for (i = 0; i < 100; i++) {
		/* the actor always fails, the mourner on each tenth letter */
		at = i % 2 ? N - 1 : 0;
		m.id = at;
		m.number = 1000 + i;
		CHECK_OK(peal_send_to(e, 0, address[at],
				      i % 10 ? 1 : TALLY_TOO_MUCH, &m,
				      sizeof(m), MAX_WAIT, NULL));
		EVENTUALLY(tallies_info(far).handled > i);
	}
	EVENTUALLY(tallies_info(far).failed == 10);
	seen = mourner_of(rt, far, mourner);
	CHECK_EQ(seen.letters, 100);
	CHECK_EQ(seen.others, 0);
	CHECK_EQ(seen.mistaken, 0);
	CHECK_EQ(seen.numbers, 100 * 1000 + 99 * 50);
	CHECK_EQ(harness_info(harness_letters(rt, far, 0)).accepted, 0);
	CHECK_EQ(harness_info(harness_letters(rt, far, 0)).dead_letters_dropped,
		 0);
	/* a dead message of the mourner's own kernel makes a letter */
	harness_from(rt, e, 1, mourner, small);
	CHECK_OK(peal_send_to(e, 1, mourner + 1, 1, &m, sizeof(m), MAX_WAIT,
			      NULL));
	EVENTUALLY(tallies_info(far).handled == 101);
	seen = mourner_of(rt, far, mourner);
	CHECK_EQ(seen.letters, 101);
	/* no receiver any more */
	CHECK_OK(peal_dead_letter_connect(k, 0, NULL));
	CHECK_OK(peal_dead_letter_connect(far, 0, NULL));
	CHECK(!harness_letters(rt, k, 0) && !harness_letters(rt, far, 1));
	tallies_send(e, 0, address[0], 0, 9);
	EVENTUALLY(tallies_info(k).failed == 101);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_kernel_stop(far, MAX_WAIT));
	harness_conserved(rt);
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* The link of the letters can change its route. Its receiver can end. */
PEAL_TEST(letters_survive_handover_and_end_with_receiver)
{
	struct peal_runtime *rt = harness_open(2, "");
	struct peal_kernel_options one = { .workers = 1 };
	struct peal_kernel *k = tallies_launch(rt, 0, one);
	struct peal_kernel *far = tallies_launch(rt, 1, one);
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_link *link, *in;
	uint64_t mourner, i;

	tallies_spawn(k, "tally", 0, 0, 2, address);
	in = harness_from(rt, e, 0, address[0], small);
	CHECK_OK(peal_actor_retire(rt, address[1]));
	CHECK_OK(peal_actor_spawn(far, "mourn", NULL, &mourner));
	CHECK_OK(peal_dead_letter_connect(k, mourner, NULL));
	link = harness_letters(rt, k, 0);
	for (i = 0; i < 10; i++)
		tallies_send(e, 0, address[1], 1, i);
	CHECK_OK(peal_link_set_route(link,
				     harness_info(link).route ==
						     PEAL_ROUTE_STAGED ?
					     PEAL_ROUTE_MAPPED_HOST :
					     PEAL_ROUTE_STAGED,
				     MAX_WAIT));
	for (; i < 20; i++)
		tallies_send(e, 0, address[1], 1, i);
	EVENTUALLY(tallies_info(far).handled == 20);
	CHECK_EQ(mourner_of(rt, far, mourner).numbers, 190);
	CHECK_OK(peal_kernel_stop(far, MAX_WAIT));
	/* the worker learns of the end before the suspend returns */
	CHECK_OK(peal_kernel_suspend(k, MAX_WAIT));
	CHECK_OK(peal_kernel_resume(k));
	for (; i < 30; i++)
		tallies_send(e, 0, address[1], 1, i);
	EVENTUALLY(harness_info(in).dead[PEAL_REASON_NO_ACTOR] == 30);
	EVENTUALLY(harness_info(link).accepted == 30);
	EVENTUALLY(harness_info(link).delivered == 20);
	EVENTUALLY(harness_info(link).dead[PEAL_REASON_CLOSED] == 10);
	CHECK_EQ(harness_info(link).dead_letters_dropped, 0);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_link_destroy(in));
	CHECK_FAILS(peal_kernel_destroy(k), PEAL_EBUSY, "destroy the link");
	CHECK_OK(peal_dead_letter_connect(k, 0, NULL)); /* also after its end */
	CHECK_OK(peal_kernel_destroy(k));
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* ---- pools --------------------------------------------------------------- */

/* A member fails on messages. Then the pool is destroyed with messages. */
PEAL_TEST(destroyed_pool_makes_letters_of_its_messages)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = 2,
					 .lanes = tallies_lanes,
					 .mailbox.slots = 64 };
	struct peal_pool_options po = { .size = sizeof(po) };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *in = harness_endpoint(rt);
	struct peal_endpoint *out = harness_endpoint(rt);
	uint64_t pool, member, i, seen = 0;
	struct relay_message id;
	struct peal_kernel *k;
	struct peal_link *link;
	struct letter l;

	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_pools, &o, &k));
	CHECK_OK(peal_dead_letter_connect(k, peal_endpoint_address(out), NULL));
	CHECK_OK(peal_pool_create(k, &po, &pool));
	member = harness_spawn(k, "refuse", 0);
	CHECK_OK(peal_pool_join(rt, pool, member));
	link = harness_from(rt, in, 0, pool, small);
	harness_send(in, 0, 1, 0, 5);
	for (i = 0; i < 5; i++) {
		CHECK_EQ(take(out, &l), sizeof(id));
		check_letter(&l, member, PEAL_REASON_HANDLER, PEAL_EHANDLER, 0);
		memcpy(&id, l.kept, sizeof(id));
		CHECK(harness_intact(&id, sizeof(id), 1, id.sequence));
		seen += id.sequence;
	}
	CHECK_EQ(seen, 10);
	CHECK_OK(peal_pool_leave(rt, pool, member));
	harness_send(in, 0, 1, 5, 5);
	EVENTUALLY(harness_info(link).delivered == 10);
	CHECK_OK(peal_link_destroy(link));
	CHECK_OK(peal_pool_destroy(rt, pool));
	for (i = 5; i < 10; i++) {
		CHECK_EQ(take(out, &l), sizeof(id));
		CHECK_EQ(l.about.to, pool);
		CHECK_EQ(l.about.reason, PEAL_REASON_NO_ACTOR);
		CHECK_EQ(l.about.link, PEAL_NO_LINK);
		memcpy(&id, l.kept, sizeof(id));
		CHECK_EQ(id.sequence, i);
	}
	EVENTUALLY(tallies_info(k).mailbox_dead == 10);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	harness_conserved(rt);
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* Members of a pool receive letters, some about too long messages. */
PEAL_TEST(pool_members_receive_letters)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = 2,
					 .lanes = tallies_lanes,
					 .max_pools = 2,
					 .mailbox.slots = 64,
					 .mailbox.message_bytes = 200 };
	struct peal_pool_options small_pool = { .size = sizeof(small_pool) };
	struct peal_pool_options large_pool = { .size = sizeof(large_pool),
						.message_bytes = 256 };
	struct peal_link_options wide = { .capacity = 16, .message_bytes = 64 };
	uint64_t little, large, member, picky, other, i;
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_endpoint *e = harness_endpoint(rt);
	uint8_t longer[64] = { 0 };
	struct pool_toil done;
	struct peal_kernel *k;
	struct peal_link *link;

	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_pools, &o, &k));
	CHECK_OK(peal_pool_create(k, &small_pool, &little));
	CHECK_OK(peal_pool_create(k, &large_pool, &large));
	other = harness_spawn(k, "tally", 0);
	member = harness_spawn(k, "tally", 1);
	picky = harness_spawn(k, "picky", 0);
	link = harness_from(rt, e, 0, other, wide);
	CHECK_FAILS(peal_dead_letter_connect(k, little, NULL), PEAL_EMSGSIZE,
		    "message_bytes of the pool (248, allowed 1..48)");
	CHECK_OK(peal_dead_letter_connect(k, large, NULL));
	CHECK_EQ(harness_info(harness_letters(rt, k, 0)).message_bytes,
		 LETTER + 200);
	CHECK_FAILS(peal_pool_join(rt, large, picky), PEAL_EINVAL,
		    "any length (32 bytes, allowed 0, any length)");
	CHECK_OK(peal_pool_join(rt, large, member));
	for (i = 0; i < 30; i++) /* no actor, too long, valid */
		CHECK_OK(peal_send_to(e, 0, i % 3 ? little : other + 50, 0,
				      longer, i % 3 == 1 ? 64 : 8, MAX_WAIT,
				      NULL));
	EVENTUALLY(harness_info(link).queued == 0);
	EVENTUALLY(harness_info(link).dead[PEAL_REASON_TOO_LONG] == 10);
	EVENTUALLY(harness_info(link).dead[PEAL_REASON_NO_ACTOR] == 10);
	EVENTUALLY(tallies_info(k).handled == 20);
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_actor_state(rt, member, &done, sizeof(done)));
	CHECK_EQ(done.done, 20);
	harness_conserved(rt);
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* A kernel that receives its own letters ends only after the letters are
 * switched off. It runs in epochs. */
PEAL_TEST(kernel_with_own_letters_ends_after_switch_off)
{
	struct peal_kernel_options o = { .workers = 2,
					 .max_actors = 2 * N,
					 .mailbox.slots = 64,
					 .epoch_ns = 2 * MS };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = tallies_launch(rt, 0, o);
	struct peal_endpoint *e = harness_endpoint(rt);
	struct tally_mourner seen;
	struct peal_link *link;
	uint64_t mourner, i;

	tallies_spawn(k, "tally", 0, 0, 2, address);
	CHECK_OK(peal_actor_spawn(k, "mourn", NULL, &mourner));
	CHECK_OK(peal_dead_letter_connect(k, mourner, NULL));
	link = harness_from(rt, e, 0, address[0], small);
	CHECK_OK(peal_actor_retire(rt, address[1]));
	for (i = 0; i < 100; i++) {
		tallies_send(e, 0, address[1], 1, i);
		EVENTUALLY(tallies_info(k).handled > i);
	}
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	EVENTUALLY(peal_kernel_drain(k, 20 * MS) == PEAL_ETIMEDOUT &&
		   strstr(peal_last_error()->text, "an input has not ended"));
	CHECK_OK(peal_dead_letter_connect(k, 0, NULL));
	CHECK_OK(peal_kernel_drain(k, MAX_WAIT));
	EVENTUALLY(harness_info(link).dead[PEAL_REASON_NO_ACTOR] == 100);
	CHECK_OK(peal_actor_state(rt, mourner, &seen, sizeof(seen)));
	CHECK_EQ(seen.letters, 100);
	CHECK_EQ(seen.numbers, 99 * 50);
	CHECK_OK(peal_runtime_shutdown(rt));
}

/* ---- topics -------------------------------------------------------------- */

PEAL_TEST(failing_subscriber_makes_a_letter)
{
	struct peal_topic_options to = { .size = sizeof(to), .capacity = 16 };
	struct tally_message m = { 0, 5, 0 };
	struct fixture s = open_fixture(small);
	uint64_t post, topic;
	struct letter l;

	CHECK_OK(peal_topic_create(s.rt, 0, &to, &topic));
	CHECK_OK(peal_actor_spawn(s.k, "post", NULL, &post));
	CHECK_OK(peal_publish(s.rt, post, 0, topic));
	CHECK_OK(peal_subscribe(s.rt, topic, address[N - 1], 0));
	CHECK_OK(peal_send_to(s.in, 0, post, 9, &m, sizeof(m), MAX_WAIT, NULL));
	CHECK_EQ(take(s.out, &l), sizeof(m));
	check_letter(&l, address[N - 1], PEAL_REASON_HANDLER, PEAL_EPROTO, 1);
	check_kept(&l, 0, 5);
	CHECK_EQ(l.about.link, PEAL_NO_LINK);
	CHECK_EQ(l.about.sequence, 0);
	CHECK_EQ(l.about.type, 9);
	close_fixture(&s);
}

/* ---- errors -------------------------------------------------------------- */

PEAL_TEST(invalid_letter_receivers_are_refused)
{
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = tallies_launch(rt, 0, two);
	struct peal_endpoint_options one_input = { .size = sizeof(one_input),
						   .max_inputs = 1 };
	struct peal_link_options o = { .size = sizeof(o) };
	struct peal_endpoint *e = harness_endpoint(rt), *narrow;
	uint64_t to = peal_endpoint_address(e), exact;
	uint64_t from = peal_dead_letter_address(k);

#define LETTERS(to) peal_dead_letter_connect(k, to, &o)
	CHECK_OK(peal_endpoint_create(rt, &one_input, &narrow));
	CHECK_OK(peal_actor_spawn(k, "exact", NULL, &exact));
	CHECK_EQ(peal_dead_letter_address(NULL), 0);
	CHECK_FAILS(peal_dead_letter_connect(NULL, to, NULL), PEAL_EINVAL,
		    "'kernel': is NULL (NULL, allowed an address)");
	CHECK_FAILS(LETTERS(to + 1), PEAL_ENOENT, "no actor, pool or endpoint");
	CHECK_FAILS(LETTERS(from), PEAL_ENOENT, "no actor, pool or endpoint");
	CHECK_FAILS(LETTERS(exact), PEAL_EINVAL,
		    "any length (24 bytes, allowed 0, any length)");
	CHECK_FAILS(LETTERS(peal_endpoint_address(narrow)), PEAL_ENOSPC,
		    "all 1 of the receiver's max_inputs");
	o.message_bytes = LETTER - 1;
	CHECK_FAILS(LETTERS(to), PEAL_EMSGSIZE, "(47, allowed 48..268435456)");
	o.message_bytes = 0;
	o.capacity = 1;
	CHECK_FAILS(LETTERS(to), PEAL_EINVAL, "(1, allowed 2..1048576); use 2");
	o.capacity = 3;
	CHECK_FAILS(LETTERS(to), PEAL_EINVAL, "capacity");
	o.capacity = 0;
	CHECK_EQ(peal_link_list(rt, NULL, 0), 0); /* no call made a link */
	CHECK_OK(peal_dead_letter_connect(k, 0, NULL)); /* no receiver */
	CHECK_OK(peal_kernel_suspend(k, MAX_WAIT));
	CHECK_OK(LETTERS(to));
	CHECK_OK(peal_kernel_resume(k));
	CHECK_EQ(harness_info(harness_letters(rt, k, 1)).message_bytes,
		 LETTER + 48 + PEAL_REQUEST_BYTES);
	CHECK_FAILS(LETTERS(to), PEAL_EEXIST, "port 0 of the dead letters");
	CHECK_EQ(peal_link_list(rt, NULL, 0), 2);
	CHECK_OK(peal_actor_retire(rt, exact)); /* no link holds it */
	CHECK_FAILS(peal_connect(rt, from, 2, to, NULL, NULL), PEAL_ENOENT,
		    "'tally': has no such port (2, allowed 0..1)");
	CHECK_OK(LETTERS(0));
	CHECK_OK(peal_connect(rt, from, 1, to, NULL, NULL)); /* for worker 1 */
	CHECK_EQ(harness_info(harness_letters(rt, k, 1)).message_bytes, LETTER);
	CHECK_FAILS(LETTERS(to), PEAL_EEXIST, "port 1");
	CHECK_EQ(peal_link_list(rt, NULL, 0), 1);
	CHECK_OK(LETTERS(0));
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_FAILS(LETTERS(to), PEAL_ESTOPPED, "has ended");
#undef LETTERS
	CHECK_OK(peal_runtime_shutdown(rt));
}

static int run_all(int argc, char **argv, uint32_t lanes)
{
	int peal_cases_ = 0;

	tallies_lanes = lanes;
	printf("%u lanes\n", lanes);
	RUN(letter_reports_message_actor_and_reason);
	RUN(mail_of_retired_actor_makes_letters);
	RUN(dropping_dead_mail_keeps_input_messages);
	RUN(letter_payload_is_cut_to_link_size);
	RUN(unread_letters_do_not_block_the_kernel);
	RUN(each_dead_message_makes_one_letter);
	RUN(replay_sends_the_kept_message);
	RUN(replayed_request_is_handled_and_its_reply_is_late);
	RUN(failing_letter_handler_makes_no_letters);
	RUN(letters_survive_handover_and_end_with_receiver);
	RUN(destroyed_pool_makes_letters_of_its_messages);
	RUN(pool_members_receive_letters);
	RUN(kernel_with_own_letters_ends_after_switch_off);
	RUN(failing_subscriber_makes_a_letter);
	RUN(invalid_letter_receivers_are_refused);
	return peal_cases_;
}

PEAL_TEST_MAIN(peal_cases_ += run_all(argc, argv, 1);
	       peal_cases_ += run_all(argc, argv, 32);)
