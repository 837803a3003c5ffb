/* SPDX-License-Identifier: Apache-2.0 */
/* Each request of the host gets its own reply or an error, never the reply of
 * another request. */

#include <peal/pool.h>
#include <peal/request.h>
#include "runtime/harness.h"
#include "runtime/requests.h"
#include "runtime/rpc/requester.h"

PEAL_DECLARE_PROGRAM(requests);

#define OUT 8 /* max_outstanding */
#define SOON (20 * MS)

struct fixture {
	struct peal_runtime *rt;
	struct peal_kernel *k;
	struct peal_requester *r;
	uint64_t server; /* on worker 0; receives the requests */
	uint64_t member; /* on worker 1 */
};

static struct peal_requester_options few(void)
{
	struct peal_requester_options o = { .size = sizeof(o),
					    .max_outstanding = OUT,
					    .message_bytes = sizeof(struct ask),
					    .reply_bytes = 4096,
					    .name = "asker" };

	return o;
}

static struct fixture open_fixture(uint32_t lanes)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = 2,
					 .lanes = lanes,
					 .mailbox.slots = 64 };
	const struct peal_requester_options asks = few();
	struct fixture s = { .rt = harness_open(1, "") };

	CHECK_OK(peal_kernel_launch(s.rt, 0, &peal_program_requests, &o, &s.k));
	s.server = harness_spawn(s.k, "serve", 0);
	s.member = harness_spawn(s.k, "member", 1);
	CHECK_OK(peal_requester_create(s.rt, s.server, &asks, &s.r));
	CHECK_OK(peal_requester_listen(s.r, s.server, 0));
	CHECK_OK(peal_requester_listen(s.r, s.member, 0));
	return s;
}

static struct peal_requester_info counts(const struct fixture *s)
{
	struct peal_requester_info info;

	CHECK_OK(peal_requester_info(s->r, &info));
	CHECK_EQ(info.asked, info.replied + info.error_replies +
				     info.cancelled + info.in_flight);
	return info;
}

/* Returns the dead messages of all links with this reason. */
static uint64_t dead(const struct fixture *s, uint32_t reason)
{
	struct peal_link *links[64];
	int n = peal_link_list(s->rt, links, 64), i;
	uint64_t sum = 0;

	for (i = 0; i < n; i++)
		sum += harness_info(links[i]).dead[reason];
	return sum;
}

static void close_fixture(struct fixture *s)
{
	EVENTUALLY(counts(s).in_flight == 0);
	CHECK_EQ(dead(s, PEAL_REASON_LATE), counts(s).late);
	CHECK_OK(peal_requester_destroy(s->r));
	CHECK_OK(peal_kernel_stop(s->k, MAX_WAIT));
	harness_conserved(s->rt);
	CHECK_OK(peal_kernel_destroy(s->k));
	CHECK_OK(peal_runtime_close(s->rt)); /* nothing is left */
}

static int request(const struct fixture *s, uint32_t what, uint64_t number,
		   uint32_t actor, struct told *told, int64_t timeout_ns)
{
	const struct ask a = { number, what, actor };

	return peal_request(s->r, ask_number, &a, sizeof(a), told,
			    sizeof(*told), NULL, timeout_ns);
}

static int begin(const struct fixture *s, uint32_t what, uint64_t number,
		 int64_t timeout_ns, uint64_t *request_out)
{
	const struct ask a = { number, what, 0 };

	return peal_request_start(s->r, ask_number, &a, sizeof(a), timeout_ns,
				  request_out);
}

/* Sends a request and checks its reply. */
static void is_answered(const struct fixture *s, uint64_t number)
{
	struct told told;

	memset(&told, 0, sizeof(told));
	CHECK_OK(request(s, ASK_TWICE, number, 0, &told, MAX_WAIT));
	CHECK_EQ(told.number, number);
	CHECK_EQ(told.twice, 2 * number);
	CHECK_EQ(told.self, (uint32_t)s->server);
	CHECK_EQ(told.seen, sizeof(struct ask));
}

static void replies_are_those_of_their_requests(uint32_t lanes)
{
	struct fixture s = open_fixture(lanes);
	const struct ask a = { 5, ASK_TWICE, 0 };
	struct peal_received reply;
	struct told told;
	uint64_t i;

	for (i = 0; i < 200; i++)
		is_answered(&s, i);
	CHECK_OK(peal_request(s.r, ask_number, &a, sizeof(a), &told,
			      sizeof(told), &reply, MAX_WAIT));
	CHECK(reply.data == &told);
	CHECK_EQ(reply.length, sizeof(told));
	CHECK_EQ(reply.type, told_number);
	CHECK_EQ(reply.from, s.server);
	CHECK(reply.request && !reply.error_reply);
	CHECK_EQ(counts(&s).asked, 201);
	CHECK_EQ(counts(&s).replied, 201);
	close_fixture(&s);
}

PEAL_TEST(each_request_gets_its_reply)
{
	replies_are_those_of_their_requests(1);
	replies_are_those_of_their_requests(32);
}

#define THREADS 6
#define EACH 300

struct asker {
	const struct fixture *s;
	pthread_t thread;
	uint64_t first;
};

static void *ask_many(void *argument)
{
	const struct asker *a = argument;
	uint64_t i;

	for (i = 0; i < EACH; i++)
		is_answered(a->s, a->first + i);
	return NULL;
}

PEAL_TEST(concurrent_requests_get_their_replies)
{
	struct fixture s = open_fixture(1);
	struct asker askers[THREADS];
	int i;

	for (i = 0; i < THREADS; i++) {
		askers[i].s = &s;
		askers[i].first = (uint64_t)i * 1000000;
		CHECK(!pthread_create(&askers[i].thread, NULL, ask_many,
				      &askers[i]));
	}
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_join(askers[i].thread, NULL));
	CHECK_EQ(counts(&s).replied, THREADS * EACH);
	CHECK_EQ(counts(&s).late, 0);
	close_fixture(&s);
}

PEAL_TEST(started_requests_complete_in_any_order)
{
	struct fixture s = open_fixture(1);
	uint64_t out[OUT], more, i;
	struct told told;

	for (i = 0; i < OUT; i++)
		CHECK_OK(begin(&s, ASK_TWICE, i, MAX_WAIT, &out[i]));
	CHECK_EQ(begin(&s, ASK_TWICE, 99, 0, &more), PEAL_EAGAIN);
	CHECK_FAILS(begin(&s, ASK_TWICE, 99, SOON, &more), PEAL_EAGAIN,
		    "'asker': not sent: 8 requests in flight");
	CHECK_EQ(counts(&s).in_flight, OUT);
	for (i = OUT; i-- > 0;) {
		CHECK_OK(peal_request_wait(s.r, out[i], &told, sizeof(told),
					   NULL, MAX_WAIT));
		CHECK_EQ(told.number, i);
		CHECK_FAILS(peal_request_wait(s.r, out[i], &told, sizeof(told),
					      NULL, MAX_WAIT),
			    PEAL_ENOENT, "is in flight");
	}
	is_answered(&s, 77);
	close_fixture(&s);
}

PEAL_TEST(waiting_caller_gets_a_free_request_slot)
{
	struct fixture s = open_fixture(1);
	struct asker asker = { .s = &s };
	uint64_t out[OUT], i;

	for (i = 0; i < OUT; i++)
		CHECK_OK(begin(&s, ASK_TWICE, i, MAX_WAIT, &out[i]));
	CHECK(!pthread_create(&asker.thread, NULL, ask_many, &asker));
	identity_sleep_us(2000);
	CHECK_EQ(counts(&s).asked, OUT);
	for (i = 0; i < OUT; i++)
		CHECK_OK(peal_request_cancel(s.r, out[i]));
	CHECK(!pthread_join(asker.thread, NULL));
	CHECK_EQ(counts(&s).cancelled, OUT);
	CHECK_EQ(counts(&s).replied, EACH);
	close_fixture(&s);
}

PEAL_TEST(reply_after_timeout_is_discarded)
{
	struct fixture s = open_fixture(1);
	struct told told = { .number = 4711 };
	uint64_t out;

	CHECK_FAILS(request(&s, ASK_LATER, 1, 0, &told, SOON), PEAL_ETIMEDOUT,
		    "no reply in time");
	CHECK_EQ(told.number, 4711);
	CHECK_EQ(counts(&s).cancelled, 1);
	/* The late reply arrives before the reply to 2, and is dropped. */
	is_answered(&s, 2);
	CHECK_EQ(counts(&s).late, 1);
	/* A request that timed out can be waited for again. Its reply is then
	 * not late. */
	CHECK_OK(begin(&s, ASK_LATER, 3, MAX_WAIT, &out));
	CHECK_EQ(peal_request_wait(s.r, out, &told, sizeof(told), NULL, 0),
		 PEAL_EAGAIN);
	CHECK_FAILS(peal_request_wait(s.r, out, &told, sizeof(told), NULL,
				      SOON),
		    PEAL_ETIMEDOUT, "no reply in time");
	is_answered(&s, 4);
	CHECK_OK(peal_request_wait(s.r, out, &told, sizeof(told), NULL, 0));
	CHECK_EQ(told.number, 3);
	/* The reply to a cancelled request is late. */
	CHECK_OK(begin(&s, ASK_LATER, 5, MAX_WAIT, &out));
	CHECK_OK(peal_request_cancel(s.r, out));
	CHECK_FAILS(peal_request_cancel(s.r, out), PEAL_ENOENT, "is in flight");
	is_answered(&s, 6);
	CHECK_EQ(counts(&s).late, 2);
	CHECK_EQ(dead(&s, PEAL_REASON_LATE), 2);
	close_fixture(&s);
}

/* The late reply to a request does not answer a later request. */
PEAL_TEST(numbers_of_requests_do_not_repeat_soon)
{
	static const uint64_t later[] = { 1ULL << 31, 1ULL << 32, 1ULL << 35 };
	struct fixture s = open_fixture(1);
	uint64_t out;
	size_t i;

	for (i = 0; i < 3; i++) {
		CHECK_OK(begin(&s, ASK_LATER, 5, MAX_WAIT, &out));
		CHECK_OK(peal_request_cancel(s.r, out));
		s.r->n_ids += later[i] - 1;
		is_answered(&s, 6); /* behind the reply to 5 */
		CHECK_EQ(counts(&s).late, i + 1);
	}
	close_fixture(&s);
}

PEAL_TEST(second_reply_is_discarded)
{
	struct fixture s = open_fixture(1);
	struct told told;
	uint64_t out;

	CHECK_OK(begin(&s, ASK_BOTH, 7, MAX_WAIT, &out));
	is_answered(&s, 8); /* receives both replies to 7 */
	CHECK_EQ(counts(&s).late, 1);
	CHECK_OK(peal_request_wait(s.r, out, &told, sizeof(told), NULL, 0));
	CHECK_EQ(told.number, 7);
	close_fixture(&s);
}

PEAL_TEST(non_reply_message_is_discarded)
{
	struct fixture s = open_fixture(1);
	struct told told;

	CHECK_FAILS(request(&s, ASK_PLAIN, 1, 0, &told, MAX_WAIT),
		    PEAL_ENOREPLY, "the handler has returned without a reply");
	is_answered(&s, 2);
	CHECK_EQ(counts(&s).late, 1);
	CHECK_FAILS(request(&s, ASK_NOTHING, 3, 0, &told, MAX_WAIT),
		    PEAL_ENOREPLY, "the handler has returned without a reply");
	is_answered(&s, 4);
	CHECK_EQ(counts(&s).late, 1);
	close_fixture(&s);
}

PEAL_TEST(refusal_and_failure_return_their_errors)
{
	static const int unsaid[] = { PEAL_EAGAIN, PEAL_ETIMEDOUT,
				      PEAL_EMSGSIZE, PEAL_EBUSY };
	struct fixture s = open_fixture(32);
	struct told told = { .number = 4711 };
	int i;

	CHECK_FAILS(request(&s, ASK_REFUSAL, (uint64_t)PEAL_ENOSPC, 0, &told,
			    MAX_WAIT),
		    PEAL_ENOSPC, "refused the request (PEAL_ENOSPC)");
	CHECK_FAILS(request(&s, ASK_REFUSAL, 12, 0, &told, MAX_WAIT),
		    PEAL_EHANDLER, "refused");
	CHECK_FAILS(request(&s, ASK_REFUSAL, (uint64_t)-31, 0, &told, MAX_WAIT),
		    PEAL_EHANDLER, "refused");
	CHECK_FAILS(peal_request(s.r, ask_number, "no", 2, &told, sizeof(told),
				 NULL, MAX_WAIT),
		    PEAL_EPROTO, "refused");
	for (i = 0; i < 4; i++) /* these errors mean: still in flight */
		CHECK_FAILS(request(&s, ASK_REFUSAL, (uint64_t)unsaid[i], 0,
				    &told, MAX_WAIT),
			    PEAL_EHANDLER, peal_error_name(unsaid[i]));
	CHECK_EQ(told.number, 4711);
	CHECK_EQ(counts(&s).error_replies, 8);
	CHECK_FAILS(request(&s, ASK_FAILURE, 1, 0, &told, MAX_WAIT),
		    PEAL_EHANDLER,
		    "the handler has failed: input/output error (PEAL_EIO)");
	EVENTUALLY(dead(&s, PEAL_REASON_HANDLER) == 1);
	is_answered(&s, 1);
	close_fixture(&s);
}

static void are_known(const uint8_t *bytes, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		CHECK_EQ(bytes[i], (uint8_t)(i * 7 + n));
}

PEAL_TEST(replies_have_any_length)
{
	static uint8_t bytes[4096];
	struct fixture s = open_fixture(32);
	struct ask a = { 0, ASK_BYTES, 0 };
	struct peal_received reply;
	uint64_t n, out;

	for (n = 0; n <= 4096; n = n * 3 + 1) {
		a.number = n;
		CHECK_OK(peal_request(s.r, ask_number, &a, sizeof(a), bytes, n,
				      &reply, MAX_WAIT));
		CHECK_EQ(reply.length, n);
		are_known(bytes, n);
	}
	/* peal_request_wait keeps replies of growing length. No request
	 * has kept a longer one before. */
	for (n = 16; n <= 4096; n *= 16) {
		a.number = n;
		CHECK_OK(peal_request_start(s.r, ask_number, &a, sizeof(a),
					    MAX_WAIT, &out));
		CHECK_EQ(peal_request_wait(s.r, out, NULL, 0, NULL, MAX_WAIT),
			 PEAL_EMSGSIZE);
		CHECK_OK(peal_request_wait(s.r, out, bytes, n, NULL, 0));
		are_known(bytes, n);
	}
	a.number = 4096;
	memset(bytes, 1, sizeof(bytes));
	CHECK_FAILS(peal_request(s.r, ask_number, &a, sizeof(a), bytes, 4095,
				 &reply, MAX_WAIT),
		    PEAL_EMSGSIZE,
		    "'asker': has a message that is longer than "
		    "the buffer (4095, allowed 4096 bytes or more)");
	CHECK_EQ(reply.length, 4096);
	CHECK(!reply.data);
	CHECK_EQ(bytes[0], 1);
	/* peal_request_wait keeps a reply that is longer than the buffer. */
	CHECK_OK(peal_request_start(s.r, ask_number, &a, sizeof(a), MAX_WAIT,
				    &out));
	CHECK_FAILS(peal_request_wait(s.r, out, bytes, 100, &reply, MAX_WAIT),
		    PEAL_EMSGSIZE,
		    "'asker': has a message that is longer than "
		    "the buffer (100, allowed 4096 bytes or more)");
	CHECK_OK(peal_request_wait(s.r, out, bytes, sizeof(bytes), &reply, 0));
	CHECK(reply.data == bytes);
	are_known(bytes, 4096);
	CHECK_FAILS(peal_request(s.r, ask_number, bytes, sizeof(a) + 1, bytes,
				 100, NULL, MAX_WAIT),
		    PEAL_EMSGSIZE,
		    "'asker': takes no message of this length "
		    "(17 bytes, allowed 0..16)");
	close_fixture(&s);
}

PEAL_TEST(delegated_requests_are_answered)
{
	struct fixture s = open_fixture(1);
	struct peal_requester_options o = few();
	struct peal_requester *far = NULL, *pooled = NULL;
	const struct ask a = { 8, ASK_TWICE, 0 };
	uint64_t pass, pool;
	struct told told;

	/* an actor that the server forwards to */
	CHECK_OK(request(&s, ASK_TOLD, 7, (uint32_t)s.member, &told, MAX_WAIT));
	CHECK_EQ(told.self, (uint32_t)s.member);
	CHECK_EQ(told.twice, 14);
	CHECK_EQ(told.seen, sizeof(struct ask));
	/* an actor behind a link, which replies by its own port */
	pass = harness_spawn(s.k, "pass", 1);
	harness_link(s.rt, pass, 0, s.server,
		     (struct peal_link_options){ .message_bytes = 64 });
	CHECK_OK(peal_requester_create(s.rt, pass, &o, &far));
	CHECK_FAILS(peal_requester_listen(far, s.server, 0), PEAL_EEXIST, "");
	CHECK_OK(peal_requester_destroy(s.r));
	CHECK_OK(peal_requester_listen(far, s.server, 0));
	CHECK_OK(peal_request(far, ask_number, &a, sizeof(a), &told,
			      sizeof(told), NULL, MAX_WAIT));
	CHECK_EQ(told.self, (uint32_t)s.server);
	CHECK_EQ(told.twice, 16);
	/* a member of a pool */
	CHECK_OK(peal_pool_create(s.k, NULL, &pool));
	CHECK_OK(peal_pool_join(s.rt, pool, s.member));
	CHECK_FAILS(peal_requester_create(s.rt, pool, NULL, &pooled),
		    PEAL_EMSGSIZE,
		    "option 'message_bytes': is larger than the message_bytes "
		    "of the pool (48, allowed 1..40); use 40");
	CHECK_OK(peal_requester_create(s.rt, pool, &o, &pooled));
	CHECK_OK(peal_requester_listen(pooled, s.member, 0));
	CHECK_OK(peal_request(pooled, ask_number, &a, sizeof(a), &told,
			      sizeof(told), NULL, MAX_WAIT));
	CHECK_EQ(told.self, (uint32_t)s.member);
	CHECK_EQ(told.seen, sizeof(struct ask));
	CHECK_OK(peal_kernel_stop(s.k, MAX_WAIT));
	harness_conserved(s.rt);
	CHECK_OK(peal_runtime_shutdown(s.rt)); /* two requesters are open */
}

static void *stop_soon(void *argument)
{
	const struct fixture *s = argument;

	identity_sleep_us(20000);
	CHECK_OK(peal_kernel_stop(s->k, MAX_WAIT));
	return NULL;
}

PEAL_TEST(server_end_wakes_waiting_callers)
{
	struct fixture s = open_fixture(1);
	struct told told;
	pthread_t thread;
	uint64_t out;

	CHECK_OK(begin(&s, ASK_KEPT, 1, MAX_WAIT, &out));
	CHECK(!pthread_create(&thread, NULL, stop_soon, &s));
	CHECK_FAILS(request(&s, ASK_KEPT, 2, 0, &told, MAX_WAIT), PEAL_ENOREPLY,
		    "no sender of replies is left");
	CHECK(!pthread_join(thread, NULL));
	CHECK_FAILS(peal_request_wait(s.r, out, &told, sizeof(told), NULL,
				      MAX_WAIT),
		    PEAL_ENOREPLY, "no sender of replies");
	CHECK_FAILS(request(&s, ASK_TWICE, 3, 0, &told, MAX_WAIT),
		    PEAL_ESTOPPED, "the receiver has ended");
	CHECK_EQ(counts(&s).cancelled, 2);
	CHECK_EQ(counts(&s).asked, 2);
	close_fixture(&s);
}

/* A request also fails if the last sender of replies has ended its stream. */
PEAL_TEST(request_fails_after_reply_stream_ended)
{
	struct peal_kernel_options ends = { .size = sizeof(ends),
					    .drain_when_inputs_end = 1 };
	const struct peal_requester_options asks = few();
	struct fixture s = open_fixture(1);
	struct peal_endpoint *e = harness_endpoint(s.rt);
	struct peal_requester *other = NULL;
	struct peal_kernel *k = NULL;
	struct told told;
	uint64_t member;

	CHECK_OK(
		peal_kernel_launch(s.rt, 0, &peal_program_requests, &ends, &k));
	member = harness_spawn(k, "member", 0);
	CHECK_OK(peal_requester_create(s.rt, s.server, &asks, &other));
	CHECK_OK(peal_requester_listen(other, member, 0));
	harness_from(s.rt, e, 0, member, (struct peal_link_options){ 0 });
	CHECK_OK(peal_send_end(e, 0, MAX_WAIT));
	CHECK_FAILS(peal_request(other, ask_number, NULL, 0, &told,
				 sizeof(told), NULL, MAX_WAIT),
		    PEAL_ENOREPLY, "no sender of replies is left");
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

struct waiter {
	const struct fixture *s;
	uint64_t request;
	int64_t timeout_ns;
	int result;
	struct told told;
	pthread_t thread;
};

static void *wait_for_it(void *argument)
{
	struct waiter *w = argument;

	w->result = peal_request_wait(w->s->r, w->request, &w->told,
				      sizeof(w->told), NULL, w->timeout_ns);
	return NULL;
}

/* One waiting thread receives the replies of all. If that thread times out,
 * another waiting thread receives. */
PEAL_TEST(timed_out_waiter_passes_on_the_receiving)
{
	struct fixture s = open_fixture(1);
	struct waiter brief = { .s = &s, .timeout_ns = 10 * SOON };
	struct waiter patient = { .s = &s, .timeout_ns = MAX_WAIT };
	uint64_t began = harness_now_ns();
	struct peal_endpoint *e = harness_endpoint(s.rt);
	struct ask next = { 0, ASK_NOTHING, 0 };
	struct peal_link *to =
		harness_from(s.rt, e, 0, s.server,
			     (struct peal_link_options){ .capacity = 64 });

	CHECK_OK(begin(&s, ASK_KEPT, 1, MAX_WAIT, &brief.request));
	CHECK_OK(begin(&s, ASK_LATER, 2, MAX_WAIT, &patient.request));
	CHECK(!pthread_create(&brief.thread, NULL, wait_for_it, &brief));
	identity_sleep_us(20000);
	CHECK(!pthread_create(&patient.thread, NULL, wait_for_it, &patient));
	identity_sleep_us(20000);
	EVENTUALLY(peal_request_wait(s.r, patient.request, NULL, 0, NULL, 0) ==
		   PEAL_EBUSY); /* the thread waits */
	CHECK_EQ(peal_request_cancel(s.r, patient.request), PEAL_EBUSY);
	CHECK_FAILS(peal_request_wait(s.r, patient.request, NULL, 0, NULL, 0),
		    PEAL_EBUSY, "another thread waits for request");
	CHECK(!pthread_join(brief.thread, NULL));
	CHECK_EQ(brief.result, PEAL_ETIMEDOUT);
	/* a plain message makes the server send the late reply */
	CHECK_OK(peal_send(e, 0, ask_number, &next, sizeof(next), MAX_WAIT,
			   NULL));
	CHECK(!pthread_join(patient.thread, NULL));
	CHECK_OK(patient.result);
	CHECK_EQ(patient.told.number, 2);
	CHECK(harness_now_ns() - began < MAX_WAIT / 2);
	CHECK_OK(peal_request_cancel(s.r, brief.request));
	CHECK_OK(peal_link_destroy(to));
	CHECK_OK(peal_endpoint_destroy(e));
	close_fixture(&s);
}

PEAL_TEST(full_request_link_is_reported)
{
	struct fixture s = open_fixture(1);
	struct told told;
	uint64_t i, out;

	CHECK_OK(peal_kernel_suspend(s.k, MAX_WAIT));
	for (i = 0; i < OUT; i++) {
		CHECK_OK(begin(&s, ASK_TWICE, i, 0, &out));
		CHECK_OK(peal_request_cancel(s.r, out));
	}
	CHECK_EQ(begin(&s, ASK_TWICE, i, 0, &out), PEAL_EAGAIN);
	CHECK_FAILS(begin(&s, ASK_TWICE, i, SOON, &out), PEAL_EAGAIN,
		    "not sent: the link to the receiver is full");
	CHECK_FAILS(request(&s, ASK_TWICE, i, 0, &told, SOON), PEAL_EAGAIN,
		    "not sent: the link to the receiver is full");
	CHECK_FAILS(request(&s, ASK_TWICE, i, 0, &told, 0), PEAL_EAGAIN,
		    "not sent: no free request");
	CHECK_EQ(counts(&s).asked, OUT);
	CHECK_OK(peal_kernel_resume(s.k));
	is_answered(&s, i);
	CHECK_EQ(counts(&s).late, OUT);
	close_fixture(&s);
}

/* The caller only sends and cancels. Its sends must also receive the replies. A
 * full reply link would stall the server, and then fill the request link. */
PEAL_TEST(send_only_caller_does_not_stall)
{
	struct fixture s = open_fixture(1);
	uint64_t i, out;

	for (i = 0; i < 20 * OUT; i++) {
		CHECK_OK(begin(&s, ASK_TWICE, i, MAX_WAIT, &out));
		CHECK_OK(peal_request_cancel(s.r, out));
	}
	for (; i < 40 * OUT; i++) { /* with timeout 0 */
		EVENTUALLY(!begin(&s, ASK_TWICE, i, 0, &out));
		CHECK_OK(peal_request_cancel(s.r, out));
	}
	is_answered(&s, i);
	CHECK_EQ(counts(&s).late, 40 * OUT);
	close_fixture(&s);
}

static void *wait_long(void *argument)
{
	struct told told;

	CHECK_OK(request(argument, ASK_LATER, 1, 0, &told, MAX_WAIT));
	CHECK_EQ(told.number, 1);
	return NULL;
}

PEAL_TEST(requester_in_use_returns_ebusy)
{
	struct fixture s = open_fixture(1);
	struct peal_runtime_info info;
	pthread_t thread;

	CHECK_FAILS(peal_runtime_close(s.rt), PEAL_EBUSY, "1 requester");
	CHECK_OK(peal_runtime_info(s.rt, &info));
	CHECK_EQ(info.n_requesters, 1);
	CHECK(!pthread_create(&thread, NULL, wait_long, &s));
	EVENTUALLY(counts(&s).asked == 1);
	CHECK_FAILS(peal_requester_destroy(s.r), PEAL_EBUSY,
		    "'asker': threads that wait for replies: 1");
	is_answered(&s, 2);
	CHECK(!pthread_join(thread, NULL));
	close_fixture(&s);
}

PEAL_TEST(invalid_request_arguments_are_refused)
{
	struct fixture s = open_fixture(1);
	struct peal_requester_options o = few();
	struct peal_requester *other = NULL;
	struct told told;
	uint64_t out = 0;

	CHECK_EQ(peal_requester_create(NULL, s.server, NULL, &other),
		 PEAL_EINVAL);
	CHECK_EQ(peal_requester_create(s.rt, s.server, NULL, NULL),
		 PEAL_EINVAL);
	CHECK_FAILS(peal_requester_create(s.rt, 12345, NULL, &other),
		    PEAL_ENOENT, "");
	o.max_outstanding = 65536;
	CHECK_FAILS(peal_requester_create(s.rt, s.server, &o, &other),
		    PEAL_EINVAL,
		    "'max_outstanding': is out of range (65536, allowed "
		    "1..65535)");
	o = few();
	o.reply_bytes = UINT64_MAX;
	CHECK_FAILS(peal_requester_create(s.rt, s.server, &o, &other),
		    PEAL_EINVAL, "reply_bytes");
	o = few();
	o.max_sources = 4097;
	CHECK_FAILS(peal_requester_create(s.rt, s.server, &o, &other),
		    PEAL_EINVAL,
		    "'max_sources': is out of range (4097, "
		    "allowed 1..4096)");
	o = few();
	o.deadlines = 2;
	CHECK_FAILS(peal_requester_create(s.rt, s.server, &o, &other),
		    PEAL_EINVAL,
		    "'deadlines': is out of range (2, allowed "
		    "0..1)");
	CHECK(!other);
	o = few();
	o.max_sources = 1;
	CHECK_OK(peal_requester_create(s.rt, s.server, &o, &other));
	CHECK_FAILS(peal_request(other, 0, NULL, 0, NULL, 0, NULL, MAX_WAIT),
		    PEAL_ENOTCONN, "peal_requester_listen");
	CHECK_FAILS(peal_requester_listen(other, s.server, 0), PEAL_EEXIST, "");
	CHECK_FAILS(peal_requester_listen(other, s.server, 1), PEAL_ENOENT, "");
	CHECK_OK(
		peal_requester_listen(other, harness_spawn(s.k, "pass", 0), 0));
	CHECK_FAILS(peal_requester_listen(other, s.member, 0), PEAL_ENOSPC,
		    "max_sources");
	CHECK_OK(peal_requester_destroy(other));
	CHECK_OK(peal_requester_destroy(NULL));
	CHECK_EQ(peal_requester_listen(NULL, s.server, 0), PEAL_EINVAL);
	CHECK_EQ(peal_request(NULL, 0, NULL, 0, NULL, 0, NULL, 0), PEAL_EINVAL);
	CHECK_FAILS(peal_request(s.r, 0, NULL, 4, NULL, 0, NULL, 0),
		    PEAL_EINVAL, "'data': is NULL (NULL, allowed an address)");
	CHECK_FAILS(peal_request(s.r, 0, NULL, 0, NULL, 4, NULL, 0),
		    PEAL_EINVAL,
		    "'buffer': is NULL (NULL, allowed an address)");
	CHECK_FAILS(peal_request_start(s.r, 0, NULL, 0, 0, NULL), PEAL_EINVAL,
		    "'request_out': is NULL (NULL, allowed an address)");
	for (out = 0; out < 3; out++)
		CHECK_FAILS(peal_request_wait(s.r, out, &told, sizeof(told),
					      NULL, 0),
			    PEAL_ENOENT, "no request");
	CHECK_EQ(peal_request_wait(NULL, 1, NULL, 0, NULL, 0), PEAL_EINVAL);
	CHECK_FAILS(peal_request_wait(s.r, 1, NULL, 4, NULL, 0), PEAL_EINVAL,
		    "'buffer': is NULL (NULL, allowed an address)");
	CHECK_EQ(peal_request_cancel(NULL, 1), PEAL_EINVAL);
	CHECK_EQ(peal_requester_info(s.r, NULL), PEAL_EINVAL);
	close_fixture(&s);
}

/* A handler cannot reply to a message that is not a request. */
PEAL_TEST(reply_to_plain_message_fails)
{
	struct fixture s = open_fixture(1);
	struct peal_endpoint *e = harness_endpoint(s.rt);
	struct ask a = { 1, ASK_TWICE, 0 };
	struct peal_link *to =
		harness_from(s.rt, e, 0, s.server,
			     (struct peal_link_options){ .capacity = 64 });

	CHECK_OK(peal_send(e, 0, ask_number, &a, sizeof(a), MAX_WAIT, NULL));
	EVENTUALLY(harness_info(to).dead[PEAL_REASON_HANDLER] == 1);
	a.what = ASK_NOTHING;
	CHECK_OK(peal_send(e, 0, ask_number, &a, sizeof(a), MAX_WAIT, NULL));
	EVENTUALLY(harness_info(to).delivered == 1);
	is_answered(&s, 1);
	CHECK_OK(peal_link_destroy(to));
	CHECK_OK(peal_endpoint_destroy(e));
	close_fixture(&s);
}

PEAL_TEST_MAIN(RUN(each_request_gets_its_reply);
	       RUN(concurrent_requests_get_their_replies);
	       RUN(started_requests_complete_in_any_order);
	       RUN(waiting_caller_gets_a_free_request_slot);
	       RUN(reply_after_timeout_is_discarded);
	       RUN(numbers_of_requests_do_not_repeat_soon);
	       RUN(second_reply_is_discarded);
	       RUN(non_reply_message_is_discarded);
	       RUN(refusal_and_failure_return_their_errors);
	       RUN(replies_have_any_length);
	       RUN(delegated_requests_are_answered);
	       RUN(server_end_wakes_waiting_callers);
	       RUN(request_fails_after_reply_stream_ended);
	       RUN(timed_out_waiter_passes_on_the_receiving);
	       RUN(full_request_link_is_reported);
	       RUN(send_only_caller_does_not_stall);
	       RUN(requester_in_use_returns_ebusy);
	       RUN(invalid_request_arguments_are_refused);
	       RUN(reply_to_plain_message_fails);)
