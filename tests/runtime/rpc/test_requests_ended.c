/* SPDX-License-Identifier: Apache-2.0 */
/* A request of the host that gets no reply ends at once. Its code says whether a
 * handler has seen it. All waits are without a limit: a request that does not
 * end hangs the test. */

#include <peal/monitor.h>
#include <peal/request.h>
#include "runtime/harness.h"
#include "runtime/rpc/requester.h"
#include "runtime/requests.h"

PEAL_DECLARE_PROGRAM(requests);

#define EVER (-1)

/* A front kernel on device 0 gets the requests. A back kernel on device 1
 * replies to those that the front kernel passes on. */
struct fixture {
	struct peal_runtime *rt;
	struct peal_kernel *front, *back;
	struct peal_link *between;
	struct peal_requester *near, *far; /* ask `server`; ask `pass` */
	uint64_t server, member; /* in the front kernel, workers 0 and 1 */
	uint64_t pass, behind; /* front, back */
};

static struct peal_kernel *launch(struct peal_runtime *rt, int device,
				  uint32_t monitors)
{
	struct peal_kernel_options o = {
		.size = sizeof(o),
		.workers = 2,
		.mailbox.slots = 64,
		.max_monitors = monitors,
		.on_failure = monitors ? PEAL_FAILURE_END : 0
	};
	struct peal_kernel *k = NULL;

	CHECK_OK(
		peal_kernel_launch(rt, device, &peal_program_requests, &o, &k));
	return k;
}

static struct peal_requester *requester(struct peal_runtime *rt, uint64_t to)
{
	struct peal_requester_options o = { .size = sizeof(o) };
	struct peal_requester *r = NULL;

	CHECK_OK(peal_requester_create(rt, to, &o, &r));
	return r;
}

static struct fixture open_with(uint32_t require, uint32_t monitors)
{
	struct fixture s = { .rt = harness_open(2, "") };

	s.front = launch(s.rt, 0, monitors);
	s.back = launch(s.rt, 1, 0);
	s.server = harness_spawn(s.front, "serve", 0);
	s.member = harness_spawn(s.front, "member", 1);
	s.pass = harness_spawn(s.front, "pass", 1);
	s.behind = harness_spawn(s.back, "serve", 0);
	s.between =
		harness_link(s.rt, s.pass, 0, s.behind,
			     (struct peal_link_options){ .message_bytes = 64,
							 .require = require });
	s.near = requester(s.rt, s.server);
	CHECK_OK(peal_requester_listen(s.near, s.server, 0));
	s.far = requester(s.rt, s.pass);
	CHECK_OK(peal_requester_listen(s.far, s.behind, 0));
	return s;
}

static struct fixture open_fixture(void)
{
	return open_with(0, 0);
}

static void close_fixture(struct fixture *s)
{
	CHECK_OK(peal_requester_destroy(s->near));
	CHECK_OK(peal_requester_destroy(s->far));
	CHECK_OK(peal_runtime_shutdown(s->rt));
}

static int request(struct peal_requester *r, uint32_t what,
		   struct peal_received *reply_out)
{
	const struct ask a = { 7, what, 0 };
	struct told told;

	return peal_request(r, ask_number, &a, sizeof(a), &told, sizeof(told),
			    reply_out, EVER);
}

static int request_to(struct peal_requester *r, uint64_t to)
{
	const struct ask a = { 7, ASK_TWICE, 0 };
	struct told told;

	return peal_request_to(r, to, ask_number, &a, sizeof(a), &told,
			       sizeof(told), NULL, EVER);
}

static uint64_t begin(struct peal_requester *r, uint32_t what)
{
	const struct ask a = { 7, what, 0 };
	uint64_t number = 0;

	CHECK_OK(peal_request_start(r, ask_number, &a, sizeof(a), EVER,
				    &number));
	return number;
}

static int await(struct peal_requester *r, uint64_t number)
{
	struct told told;

	return peal_request_wait(r, number, &told, sizeof(told), NULL, EVER);
}

static void ends_by_its_handler(struct peal_requester *r)
{
	struct peal_received reply = { .from = 1 };

	CHECK_OK(request(r, ASK_TWICE, NULL));
	CHECK_FAILS(request(r, ASK_FAILURE, &reply), PEAL_EHANDLER,
		    "the handler has failed: input/output error");
	CHECK(reply.error_reply && !reply.from && !reply.data);
	CHECK_FAILS(request(r, ASK_NOTHING, &reply), PEAL_ENOREPLY,
		    "the handler has returned without a reply");
	CHECK(reply.error_reply && !reply.from);
	CHECK_FAILS(request(r, ASK_CHECKED, NULL), PEAL_ENOREPLY,
		    "without a reply");
	CHECK_OK(request(r, ASK_REPLY_FAILURE, NULL));
	CHECK_OK(request(r, ASK_TWICE, NULL));
}

PEAL_TEST(failed_or_silent_handler_ends_its_request)
{
	struct fixture s = open_fixture();

	ends_by_its_handler(s.near);
	ends_by_its_handler(s.far);
	close_fixture(&s);
}

PEAL_TEST(failed_handler_behind_a_staged_link_ends_its_request)
{
	struct fixture s = open_with(PEAL_ROUTE_STAGED, 0);

	ends_by_its_handler(s.far);
	close_fixture(&s);
}

/* A handler that has asked for the number can reply later. */
PEAL_TEST(kept_request_stays_open)
{
	struct fixture s = open_fixture();
	uint64_t number = begin(s.near, ASK_LATER);
	struct told told;

	CHECK_OK(request(s.near, ASK_TWICE, NULL)); /* sends the late reply */
	CHECK_OK(await(s.near, number));
	number = begin(s.near, ASK_KEPT);
	CHECK_OK(request(s.near, ASK_TWICE, NULL));
	CHECK_EQ(peal_request_wait(s.near, number, &told, sizeof(told), NULL,
				   0),
		 PEAL_EAGAIN);
	CHECK_OK(peal_request_cancel(s.near, number));
	close_fixture(&s);
}

PEAL_TEST(request_to_a_missing_actor_ends_with_enoent)
{
	struct fixture s = open_fixture();
	uint64_t other = harness_spawn(s.front, "member", 0);

	CHECK_OK(peal_requester_listen(s.near, s.member, 0));
	CHECK_OK(request_to(s.near, s.member));
	CHECK_OK(peal_actor_retire(s.rt, other));
	CHECK_FAILS(request_to(s.near, other), PEAL_ENOENT,
		    "no actor handles the request");
	CHECK_FAILS(request_to(s.near, other + 5), PEAL_ENOENT,
		    "no actor handles the request"); /* never existed */
	CHECK_OK(request(s.near, ASK_TWICE, NULL));
	close_fixture(&s);
}

PEAL_TEST(request_to_a_failed_actor_ends_with_estopped)
{
	struct fixture s = open_with(0, 1);

	CHECK_EQ(request(s.near, ASK_FAILURE, NULL), PEAL_EHANDLER);
	CHECK_FAILS(request(s.near, ASK_TWICE, NULL), PEAL_ESTOPPED,
		    "has ended before it handled the request");
	close_fixture(&s);
}

PEAL_TEST(request_that_meets_a_closed_port_ends_with_epipe)
{
	struct fixture s = open_fixture();

	CHECK_OK(peal_link_destroy(s.between));
	CHECK_FAILS(request(s.far, ASK_TWICE, NULL), PEAL_EPIPE, "closed port");
	close_fixture(&s);
}

/* The request waits in its link, or in a mailbox, when its kernel stops. */
PEAL_TEST(stopped_kernel_ends_requests_that_it_has_not_handled)
{
	struct fixture s = open_fixture();
	const struct ask a = { 7, ASK_TWICE, 0 };
	uint64_t waits, told = 0;

	CHECK_OK(peal_kernel_suspend(s.front, MAX_WAIT));
	waits = begin(s.near, ASK_TWICE);
	CHECK_OK(peal_request_start_to(s.near, s.member, ask_number, &a,
				       sizeof(a), EVER, &told));
	CHECK_OK(peal_kernel_stop(s.front, MAX_WAIT));
	CHECK_FAILS(await(s.near, waits), PEAL_ESTOPPED,
		    "has ended before it handled the request");
	CHECK_FAILS(await(s.near, told), PEAL_ESTOPPED, "before it handled");
	CHECK_FAILS(request(s.near, ASK_TWICE, NULL), PEAL_ESTOPPED,
		    "not sent: the receiver has ended");
	close_fixture(&s);
}

/* The request was passed on, and waits in the link between the kernels. */
PEAL_TEST(stopped_kernel_ends_requests_of_another_kernel)
{
	struct fixture s = open_fixture();
	struct peal_link_info info;
	uint64_t waits;

	CHECK_OK(peal_requester_listen(s.far, s.member, 0)); /* lives on */
	CHECK_OK(peal_kernel_suspend(s.back, MAX_WAIT));
	waits = begin(s.far, ASK_TWICE);
	EVENTUALLY(!peal_link_info(s.between, &info) && info.accepted == 1);
	CHECK_OK(peal_kernel_stop(s.back, MAX_WAIT));
	CHECK_FAILS(await(s.far, waits), PEAL_ESTOPPED, "before it handled");
	close_fixture(&s);
}

/* A source of replies in another kernel lives on. */
PEAL_TEST(stopped_kernel_ends_requests_that_it_kept)
{
	struct fixture s = open_fixture();
	struct peal_kernel_info info;
	uint64_t number;

	CHECK_OK(peal_requester_listen(s.near,
				       harness_spawn(s.back, "member", 1), 0));
	number = begin(s.near, ASK_KEPT);
	EVENTUALLY(!peal_kernel_info(s.front, &info) && info.handled == 1);
	CHECK_OK(peal_kernel_stop(s.front, MAX_WAIT));
	CHECK_FAILS(await(s.near, number), PEAL_ENOREPLY,
		    "the kernel of the receiver was stopped");
	close_fixture(&s);
}

/* A kernel that drains has handled its requests: another one replies. */
PEAL_TEST(drained_kernel_keeps_requests_that_it_passed_on)
{
	struct fixture s = open_fixture();
	struct peal_link_info info;
	uint64_t number;

	CHECK_OK(peal_kernel_suspend(s.back, MAX_WAIT));
	number = begin(s.far, ASK_TWICE);
	EVENTUALLY(!peal_link_info(s.between, &info) && info.accepted == 1);
	/* no more requests follow, so the kernel can drain */
	CHECK_OK(peal_send_end(s.near->endpoint, 0, MAX_WAIT));
	CHECK_OK(peal_send_end(s.far->endpoint, 0, MAX_WAIT));
	CHECK_OK(peal_kernel_drain(s.front, MAX_WAIT));
	CHECK_OK(peal_kernel_resume(s.back));
	CHECK_OK(await(s.far, number));
	close_fixture(&s);
}

PEAL_TEST_MAIN(RUN(failed_or_silent_handler_ends_its_request);
	       RUN(failed_handler_behind_a_staged_link_ends_its_request);
	       RUN(kept_request_stays_open);
	       RUN(request_to_a_missing_actor_ends_with_enoent);
	       RUN(request_to_a_failed_actor_ends_with_estopped);
	       RUN(request_that_meets_a_closed_port_ends_with_epipe);
	       RUN(stopped_kernel_ends_requests_that_it_has_not_handled);
	       RUN(stopped_kernel_ends_requests_of_another_kernel);
	       RUN(stopped_kernel_ends_requests_that_it_kept);
	       RUN(drained_kernel_keeps_requests_that_it_passed_on);)
