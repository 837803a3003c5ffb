/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel option on_failure says if a failed actor without a supervisor
 * continues or ends. Monitors do not change that. */
#include "runtime/monitor_fixture.h"

/* Opens a kernel with one member, which fails once. */
static struct fixture failed_once(uint32_t max_monitors, uint32_t on_failure)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .lanes = lanes,
					 .mailbox.slots = 32,
					 .max_monitors = max_monitors,
					 .on_failure = on_failure };
	struct fixture s = { .rt = harness_open(1, "") };
	struct peal_link_options none = { .capacity = 0 };
	struct peal_link_options states = { .message_bytes = sizeof(
						    struct monitors_state) };

	s.e = harness_endpoint(s.rt);
	CHECK_OK(peal_kernel_launch(s.rt, 0, &peal_program_monitors, &o, &s.k));
	s.actor[0] = harness_spawn(s.k, "member", 0);
	s.link[0] = harness_from(s.rt, s.e, 0, s.actor[0], none);
	harness_to(s.rt, s.actor[0], s.e, states);
	tell(&s, 0, MONITORS_COUNT);
	fail(&s, 0);
	return s;
}

/* Closes after the actor was found to continue with its state. */
static void continues(struct fixture s)
{
	tell(&s, 0, MONITORS_COUNT);
	CHECK_EQ(ask(&s, 0).count, 2);
	CHECK_EQ(harness_info(s.link[0]).dead[PEAL_REASON_DOWN], 0);
	fixture_close(&s);
}

/* Closes after the actor was found to have ended. */
static void has_ended(struct fixture s)
{
	tell(&s, 0, MONITORS_COUNT);
	tell(&s, 0, MONITORS_ASK);
	EVENTUALLY(harness_info(s.link[0]).dead[PEAL_REASON_DOWN] == 2);
	CHECK_EQ(harness_info(s.link[0]).dead[PEAL_REASON_HANDLER], 1);
	CHECK_OK(peal_link_destroy(s.link[0]));
	fixture_close(&s);
}

PEAL_TEST(failed_actor_continues_by_default)
{
	continues(failed_once(0, 0));
}

PEAL_TEST(failed_actor_continues_in_a_kernel_with_monitors)
{
	continues(failed_once(4, PEAL_FAILURE_CONTINUE));
}

PEAL_TEST(failed_actor_ends_if_the_option_says_so)
{
	has_ended(failed_once(0, PEAL_FAILURE_END));
	has_ended(failed_once(4, PEAL_FAILURE_END));
}

PEAL_TEST(unknown_failure_action_is_refused)
{
	struct peal_kernel_options o = { .size = sizeof(o), .on_failure = 2 };
	struct peal_runtime *rt = harness_open(1, "");
	struct peal_kernel *k = NULL;

	CHECK_FAILS(peal_kernel_launch(rt, 0, &peal_program_monitors, &o, &k),
		    PEAL_EINVAL,
		    "'on_failure': is out of range (2, allowed "
		    "0..1)");
	CHECK_OK(peal_runtime_shutdown(rt));
}

PEAL_TEST_MAIN(RUN_LANES(failed_actor_continues_by_default);
	       RUN_LANES(failed_actor_continues_in_a_kernel_with_monitors);
	       RUN_LANES(failed_actor_ends_if_the_option_says_so);
	       RUN(unknown_failure_action_is_refused);)
