/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request that its handler fails on has a number. Its dead letter has it, too.
 * The links of requesters and of dead letters can be listed.
 */
#include <peal/dead_letter.h>
#include <peal/request.h>

#include "runtime/harness.h"
#include "runtime/requests.h"

PEAL_DECLARE_PROGRAM(requests);

#define LETTER sizeof(struct peal_dead_letter)

/* One kernel with two workers. `out` receives its dead letters. */
struct fixture {
	struct peal_runtime *rt;
	struct peal_kernel *k;
	struct peal_requester *r;
	struct peal_endpoint *out;
	uint64_t server;
};

/* A received letter, with its payload. */
struct letter {
	struct peal_dead_letter about;
	uint8_t kept[256];
	uint64_t bytes; /* of both */
};

static struct fixture open_fixture(uint32_t deadlines)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = 2,
					 .mailbox.slots = 64 };
	struct peal_requester_options asks = { .size = sizeof(asks),
					       .message_bytes =
						       sizeof(struct ask),
					       .deadlines = deadlines };
	struct fixture s = { .rt = harness_open(1, "") };

	CHECK_OK(peal_kernel_launch(s.rt, 0, &peal_program_requests, &o, &s.k));
	s.server = harness_spawn(s.k, "serve", 0);
	s.out = harness_endpoint(s.rt);
	CHECK_OK(peal_requester_create(s.rt, s.server, &asks, &s.r));
	CHECK_OK(peal_requester_listen(s.r, s.server, 0));
	return s;
}

static void close_fixture(struct fixture *s)
{
	CHECK_OK(peal_requester_destroy(s->r));
	CHECK_OK(peal_kernel_stop(s->k, MAX_WAIT));
	harness_conserved(s->rt);
	CHECK_OK(peal_runtime_shutdown(s->rt));
}

static struct letter take(struct peal_endpoint *e)
{
	struct letter l = { 0 };
	struct peal_received got;

	CHECK_OK(peal_receive(e, &l, sizeof(l.about) + sizeof(l.kept), &got,
			      MAX_WAIT));
	CHECK_EQ(got.dead_letter, 1);
	l.bytes = got.length;
	return l;
}

/* Sends a request that its handler fails on. Returns its number. */
static uint64_t fail(struct fixture *s, uint64_t number)
{
	const struct ask a = { number, ASK_FAILURE, 0 };
	struct peal_received reply;

	memset(&reply, 0xff, sizeof(reply));
	CHECK_EQ(peal_request(s->r, ask_number, &a, sizeof(a), NULL, 0, &reply,
			      MAX_WAIT),
		 PEAL_EHANDLER);
	CHECK(reply.request);
	CHECK(!reply.data && !reply.length && reply.error_reply);
	return reply.request;
}

static void check_payload(const struct letter *l, uint64_t request,
			  uint64_t number)
{
	struct peal_dead_letter_payload p;
	struct ask a;

	CHECK_OK(peal_dead_letter_payload(&l->about, l->bytes, &p));
	CHECK_EQ(p.request, request);
	CHECK_EQ(p.length, sizeof(a));
	CHECK_EQ(p.full_length, sizeof(a));
	memcpy(&a, p.data, sizeof(a));
	CHECK_EQ(a.number, number);
}

PEAL_TEST(letter_has_the_number_of_the_request)
{
	struct fixture s = open_fixture(0);
	struct peal_dead_letter_payload p;
	struct letter l;
	uint64_t first, second;

	CHECK_OK(peal_dead_letter_connect(s.k, peal_endpoint_address(s.out),
					  NULL));
	first = fail(&s, 5);
	second = fail(&s, 6);
	CHECK(first != second);
	l = take(s.out);
	check_payload(&l, first, 5);
	l = take(s.out);
	check_payload(&l, second, 6);
	CHECK_OK(peal_dead_letter_payload(&l.about, l.bytes, &p));
	CHECK_EQ(p.deadline, 0);
	close_fixture(&s);
}

PEAL_TEST(letter_has_deadline_and_number)
{
	struct fixture s = open_fixture(1);
	struct peal_dead_letter_payload p;
	struct letter l;
	uint64_t request;

	CHECK_OK(peal_dead_letter_connect(s.k, peal_endpoint_address(s.out),
					  NULL));
	request = fail(&s, 7);
	l = take(s.out);
	check_payload(&l, request, 7);
	CHECK_OK(peal_dead_letter_payload(&l.about, l.bytes, &p));
	CHECK(p.deadline);
	CHECK((const uint8_t *)p.data == l.kept + 16);
	close_fixture(&s);
}

PEAL_TEST(short_letter_says_full_length)
{
	struct peal_dead_letter l[2];
	struct peal_dead_letter_payload p;
	uint64_t words[2] = { 11, 22 };

	memset(l, 0, sizeof(l));
	l[0].length = 40;
	l[0].reason = PEAL_REASON_HANDLER;
	l[0].flags = PEAL_FLAG_DEADLINE | PEAL_FLAG_REQUEST;
	memcpy(&l[1], words, sizeof(words));
	CHECK_OK(peal_dead_letter_payload(l, LETTER + 20, &p));
	CHECK_EQ(p.deadline, 11);
	CHECK_EQ(p.request, 22);
	CHECK_EQ(p.length, 4);
	CHECK_EQ(p.full_length, 24);
	CHECK_OK(peal_dead_letter_payload(l, LETTER + 12, &p));
	CHECK_EQ(p.deadline, 11);
	CHECK_EQ(p.request, 0);
	CHECK_EQ(p.length, 0);
	CHECK_EQ(p.full_length, 24);
	CHECK_OK(peal_dead_letter_payload(l, LETTER, &p));
	CHECK_EQ(p.deadline, 0);
	CHECK_EQ(p.full_length, 24);
	l[0].flags = PEAL_FLAG_DEADLINE;
	l[0].length = 4; /* less than a deadline: no such message exists */
	CHECK_OK(peal_dead_letter_payload(l, LETTER + 4, &p));
	CHECK_EQ(p.length, 0);
	CHECK_EQ(p.full_length, 0);
	CHECK_FAILS(peal_dead_letter_payload(l, LETTER - 1, &p), PEAL_EINVAL,
		    "no dead letter");
	CHECK_EQ(peal_dead_letter_payload(NULL, LETTER, &p), PEAL_EINVAL);
	CHECK_EQ(peal_dead_letter_payload(l, LETTER, NULL), PEAL_EINVAL);
	l[0].reason = PEAL_REASON_COUNT;
	CHECK_EQ(peal_dead_letter_payload(l, LETTER, &p), PEAL_EINVAL);
}

PEAL_TEST(links_of_dead_letters_are_listed_by_worker)
{
	struct fixture s = open_fixture(0);
	struct peal_link *links[3] = { NULL, NULL, NULL };

	CHECK_EQ(peal_dead_letter_links(s.k, links, 3), 2);
	CHECK(!links[0] && !links[1]);
	CHECK_OK(peal_dead_letter_connect(s.k, peal_endpoint_address(s.out),
					  NULL));
	CHECK_EQ(peal_dead_letter_links(s.k, NULL, 0), 2);
	CHECK_EQ(peal_dead_letter_links(s.k, links, 1), 2);
	CHECK(links[0] && !links[1]);
	CHECK_EQ(peal_dead_letter_links(s.k, links, 3), 2);
	CHECK(links[1] && !links[2]);
	CHECK_EQ(harness_info(links[1]).from_port, 1);
	fail(&s, 1);
	EVENTUALLY(harness_info(links[0]).accepted == 1);
	CHECK_EQ(harness_info(links[1]).accepted, 0);
	CHECK_EQ(peal_dead_letter_links(NULL, links, 3), PEAL_EINVAL);
	CHECK_EQ(peal_dead_letter_links(s.k, NULL, 1), PEAL_EINVAL);
	take(s.out);
	close_fixture(&s);
}

PEAL_TEST(links_of_a_requester_are_listed)
{
	struct fixture s = open_fixture(0);
	struct peal_link *links[3] = { NULL, NULL, NULL };
	const struct ask a = { 21, ASK_TWICE, 0 };
	struct told told;

	CHECK_EQ(peal_requester_links(s.r, NULL, 0), 2);
	CHECK_EQ(peal_requester_links(s.r, links, 3), 2);
	CHECK(links[0] && links[1] && !links[2]);
	CHECK_OK(peal_request(s.r, ask_number, &a, sizeof(a), &told,
			      sizeof(told), NULL, MAX_WAIT));
	CHECK_EQ(harness_info(links[0]).to, s.server);
	CHECK_EQ(harness_info(links[0]).accepted, 1);
	CHECK_EQ(harness_info(links[1]).from, s.server);
	CHECK_EQ(harness_info(links[1]).accepted, 1);
	CHECK_EQ(peal_requester_links(NULL, links, 3), PEAL_EINVAL);
	CHECK_EQ(peal_requester_links(s.r, NULL, 1), PEAL_EINVAL);
	close_fixture(&s);
}

PEAL_TEST(request_that_is_not_sent_has_no_number)
{
	struct fixture s = open_fixture(0);
	const struct ask a = { 1, ASK_TWICE, 0 };
	struct peal_received reply;

	memset(&reply, 0xff, sizeof(reply));
	CHECK_OK(peal_kernel_stop(s.k, MAX_WAIT));
	EVENTUALLY(peal_request(s.r, ask_number, &a, sizeof(a), NULL, 0, &reply,
				0) == PEAL_ESTOPPED);
	CHECK_EQ(reply.request, 0);
	memset(&reply, 0xff, sizeof(reply));
	CHECK_EQ(peal_request(s.r, ask_number, &a, sizeof(a) + 1, NULL, 0,
			      &reply, 0),
		 PEAL_EMSGSIZE);
	CHECK_EQ(reply.request, 0);
	memset(&reply, 0xff, sizeof(reply));
	CHECK_EQ(peal_request_to(s.r, 0, ask_number, &a, sizeof(a), NULL, 0,
				 &reply, 0),
		 PEAL_ENOENT);
	CHECK_EQ(reply.request, 0);
	close_fixture(&s);
}

PEAL_TEST_MAIN(RUN(letter_has_the_number_of_the_request);
	       RUN(letter_has_deadline_and_number);
	       RUN(short_letter_says_full_length);
	       RUN(links_of_dead_letters_are_listed_by_worker);
	       RUN(links_of_a_requester_are_listed);
	       RUN(request_that_is_not_sent_has_no_number);)
