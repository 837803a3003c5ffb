/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call that sends refuses each option that it does not support, and then
 * sends nothing. Options without a field have no effect.
 */

#include "runtime/deadline_fixture.h"

/* A kernel with an actor and a link to it. */
struct fixture {
	struct peal_runtime *rt;
	struct peal_kernel *k;
	struct peal_endpoint *in, *out;
	uint64_t actor;
};

static struct fixture open_fixture(void)
{
	struct fixture s = { .rt = fixture_open("") };

	s.k = fixture_kernel(s.rt, 0, 1);
	s.in = harness_endpoint(s.rt);
	s.out = harness_endpoint(s.rt);
	s.actor = fixture_mark(s.rt, s.k, 0, s.out);
	fixture_from(s.rt, s.in, 0, s.actor);
	return s;
}

static void close_fixture(struct fixture *s)
{
	fixture_silent(s->out);
	fixture_close(s->rt, &s->k, 1);
}

static struct deadline_order order(uint64_t number)
{
	struct deadline_order o = { .number = number };

	return o;
}

/* ---- the host -------------------------------------------------------------- */

PEAL_TEST(send_with_deadline_reports_errors)
{
	struct fixture s = open_fixture();
	struct peal_send_options options = { .size = sizeof(options),
					     .deadline = 9 };
	struct fixture_letter l = { 0 };

	CHECK_FAILS(peal_send(s.in, 0, 0, NULL, 1, 0, &options), PEAL_EINVAL,
		    "'data': is NULL (NULL, allowed an address)");
	CHECK_FAILS(peal_send(s.in, 0, 0, &l, 41, 0, &options), PEAL_EMSGSIZE,
		    "(41 bytes, allowed 0..40)");
	CHECK_FAILS(peal_send(s.in, 9, 0, NULL, 0, 0, &options), PEAL_ENOTCONN,
		    "no link at port 9");
	CHECK_FAILS(peal_send_to(s.in, 0, 1, 0, NULL, 0, 0, &options),
		    PEAL_ENOENT, "'endpoint': leads to kernel 'deadline");
	CHECK_FAILS(peal_send_to(s.in, 0, 0, 0, NULL, 0, 0, &options),
		    PEAL_ENOENT,
		    "s', which has no such actor (0, allowed its "
		    "actors)");
	CHECK_FAILS(peal_send(NULL, 0, 0, NULL, 0, 0, &options), PEAL_EINVAL,
		    "'endpoint': is NULL (NULL, allowed an address)");
	close_fixture(&s);
}

/* An unsupported option fails, and the call sends nothing. */
PEAL_TEST(send_refuses_unsupported_options)
{
	struct peal_timer timer;
	struct peal_send_options bad[] = {
		{ .size = sizeof(bad[0]), .priority = PEAL_PRIORITY_HIGH },
		{ .size = sizeof(bad[0]), .delay_ns = 1 },
		{ .size = sizeof(bad[0]), .period_ns = 1 },
		{ .size = sizeof(bad[0]), .timer_out = &timer },
		{ .size = sizeof(bad[0]), .by_port = 1 },
		{ .size = sizeof(bad[0]), .with_sender = 1 },
	};
	const char *why[] = {
		"'priority': is not supported by this call (1, allowed 0)",
		"'delay_ns': is not supported by this call (1, allowed 0)",
		"'period_ns': is not supported by this call (1, allowed 0)",
		"'timer_out': is not supported by this call (1, allowed 0)",
		"'by_port': is not supported by this call (1, allowed 0)",
		"'with_sender': is not supported by this call (1, allowed 0)"
	};
	struct peal_send_options none = PEAL_SEND_OPTIONS;
	struct fixture s = open_fixture();
	struct deadline_order o = order(1);
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_FAILS(peal_send(s.in, 0, 0, &o, sizeof(o), 0, &bad[i]),
			    PEAL_EINVAL, why[i]);
		CHECK_FAILS(peal_send_to(s.in, 0, s.actor, 0, &o, sizeof(o), 0,
					 &bad[i]),
			    PEAL_EINVAL, why[i]);
	}
	none.size = 0;
	CHECK_FAILS(peal_send(s.in, 0, 0, &o, sizeof(o), 0, &none), PEAL_EINVAL,
		    "size");
	none.size = sizeof(none);
	o.number = 2;
	CHECK_OK(peal_send(s.in, 0, 0, &o, sizeof(o), MAX_WAIT, &none));
	fixture_reported(s.out, 2, 0);
	o.number = 3;
	CHECK_OK(peal_send_to(s.in, 0, s.actor, 0, &o, sizeof(o), MAX_WAIT,
			      &none));
	fixture_reported(s.out, 3, 0);
	close_fixture(&s);
}

/* ---- handlers -------------------------------------------------------------- */

PEAL_TEST(handlers_refuse_unsupported_options)
{
	struct fixture s = open_fixture();
	struct peal_link_options wide = {
		.capacity = 16, .message_bytes = sizeof(struct deadline_report)
	};
	uint64_t refuse = harness_spawn(s.k, "refuse", 0);
	struct peal_kernel_info info;

	harness_to(s.rt, refuse, s.out, wide);
	fixture_from(s.rt, s.in, 1, refuse);
	fixture_send(s.in, 1, 0, 0, 0, order(0));
	fixture_reported(s.out, DEADLINE_REFUSALS, 0);
	CHECK_OK(peal_kernel_info(s.k, &info));
	CHECK_EQ(info.mailbox_sends, 0);
	close_fixture(&s);
}

static int run_all(int argc, char **argv, uint32_t lanes,
		   const struct peal_program *program)
{
	int peal_cases_ = 0;

	fixture_lanes = lanes;
	fixture_program = program;
	printf("%u lanes, %s\n", lanes, program->name);
	RUN(send_with_deadline_reports_errors);
	RUN(send_refuses_unsupported_options);
	RUN(handlers_refuse_unsupported_options);
	return peal_cases_;
}

PEAL_TEST_MAIN(peal_cases_ += run_all(argc, argv, 1, &peal_program_deadlines);
	       peal_cases_ += run_all(argc, argv, 32, &peal_program_deadlines);
	       peal_cases_ +=
	       run_all(argc, argv, 32, &peal_program_deadline_pools);)
