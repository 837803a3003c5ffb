/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a supervisor: no limit of restarts, and the timers of an actor
 * that restarts. */

#include "runtime/supervised_fixture.h"

PEAL_TEST(supervisor_without_limit_never_gives_up)
{
	struct peal_supervisor *s;
	struct fixture h;

	open_fixture(&h, 1, 1);
	s = make(&h, PEAL_ONE_FOR_ONE, PEAL_RESTARTS_UNLIMITED, LONG_NS, NULL);
	add(&h, s);
	fail_and_restart(&h, 0, 2 * PEAL_RESTARTS_MAX);
	CHECK_EQ(info_of(s).failures, 2 * PEAL_RESTARTS_MAX);
	CHECK(!info_of(s).exhausted);
	close_fixture(&h);
}

/* ---- timers ---------------------------------------------------------------- */

static struct peal_kernel_info kernel_of(const struct fixture *h)
{
	struct peal_kernel_info info;

	CHECK_OK(peal_kernel_info(h->k, &info));
	return info;
}

static struct peal_timer_counts timers_of(const struct fixture *h)
{
	return kernel_of(h).timers;
}

/* Waits until an actor has handled the first message of a timer. The message is
 * in a mailbox: a message that the host sends by a link can overtake it. */
static void timer_message_handled(const struct fixture *h)
{
	EVENTUALLY(kernel_of(h).mailbox_done >= 1);
}

/* An actor sets a timer and fails. Its handler does both, so that the timer is
 * not due between them. Returns the state after the timer is over. */
static struct supervised fail_with_timer(struct fixture *h, uint32_t timers,
					 uint16_t type)
{
	struct peal_supervisor_options o = { .size = sizeof(o),
					     .timers = timers };
	struct peal_supervisor *s = NULL;

	open_with_timers(h, 1, 1, 2);
	CHECK_OK(peal_supervisor_create(h->k, &o, &s));
	add(h, s);
	tell(h, 0, type);
	if (timers == PEAL_RESTART_ENDS_TIMERS)
		EVENTUALLY(timers_of(h).cancelled == 1);
	else
		timer_message_handled(h);
	EVENTUALLY(timers_of(h).set == 1);
	return ask(h, 0);
}

PEAL_TEST(timers_of_a_restarted_actor_continue_by_default)
{
	struct fixture h;

	CHECK_EQ(fail_with_timer(&h, PEAL_RESTART_KEEPS_TIMERS, SUPERVISED_ONCE)
			 .count,
		 2);
	close_fixture(&h);
	CHECK(fail_with_timer(&h, PEAL_RESTART_KEEPS_TIMERS, SUPERVISED_TICKS)
		      .count >= 2);
	CHECK_EQ(timers_of(&h).waiting, 1);
	CHECK_OK(peal_kernel_stop(h.k, MAX_WAIT));
	CHECK_OK(peal_runtime_shutdown(h.rt));
}

PEAL_TEST(timers_of_a_restarted_actor_end_on_request)
{
	static const uint16_t types[] = { SUPERVISED_ONCE, SUPERVISED_TICKS };
	struct fixture h;
	int i;

	for (i = 0; i < 2; i++) {
		CHECK_EQ(fail_with_timer(&h, PEAL_RESTART_ENDS_TIMERS, types[i])
				 .count,
			 1);
		EVENTUALLY(timers_of(&h).waiting == 0);
		CHECK_EQ(timers_of(&h).fired, 0);
		CHECK_EQ(timers_of(&h).ticks, 0);
		/* a timer that the new life sets is not ended */
		tell(&h, 0, SUPERVISED_LATER);
		timer_message_handled(&h);
		EVENTUALLY(timers_of(&h).fired == 1);
		CHECK_EQ(ask(&h, 0).count, 4);
		close_fixture(&h);
	}
}

PEAL_TEST(unknown_effect_on_timers_is_refused)
{
	struct peal_supervisor_options o = { .size = sizeof(o), .timers = 2 };
	struct peal_supervisor *s = NULL;
	struct fixture h;

	open_fixture(&h, 1, 1);
	CHECK_FAILS(peal_supervisor_create(h.k, &o, &s), PEAL_EINVAL,
		    "'timers': is out of range (2, allowed 0..1)");
	o.timers = PEAL_RESTART_KEEPS_TIMERS;
	o.max_restarts = PEAL_RESTARTS_MAX + 1;
	CHECK_FAILS(peal_supervisor_create(h.k, &o, &s), PEAL_EINVAL,
		    "PEAL_RESTARTS_UNLIMITED); use 30");
	close_fixture(&h);
}

PEAL_TEST_MAIN(RUN(supervisor_without_limit_never_gives_up);
	       RUN(timers_of_a_restarted_actor_continue_by_default);
	       RUN(timers_of_a_restarted_actor_end_on_request);
	       RUN(unknown_effect_on_timers_is_refused);)
