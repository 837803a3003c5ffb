/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A handler with peal_budget_check ends by its steps, its time, an abort or the
 * lease. A message of a wrong length does not run its handler. Only that
 * message is dead.
 */
#include <peal/dead_letter.h>
#include <peal/deadline.h>
#include <peal/monitor.h>
#include <peal/supervisor.h>

#include "runtime/both_lanes.h"
#include "runtime/budgets.h"
#include "runtime/launch/watchdog.h"
#include "runtime/runtime.h"

PEAL_DECLARE_PROGRAM(budgets);

#define ACTORS 3 /* the first two on worker 0, the third on worker 1 */
#define STEPS                                                                  \
	(IDENTITY_SANITIZED ? 2000u : 5000u) /* several reads of the clock */

/* A received dead letter. */
struct letter {
	struct peal_dead_letter about;
	uint8_t kept[64];
};

/* Actors with links from and to endpoint `e`. `dead` gets the dead letters. */
struct fixture {
	struct peal_runtime *rt;
	struct peal_endpoint *e, *dead;
	struct peal_kernel *k;
	struct peal_supervisor *supervisor;
	uint64_t actor[ACTORS];
	struct peal_link *link[ACTORS];
};

static void spawn(struct fixture *s, uint32_t i, const char *handler)
{
	uint64_t name = 1000 + i;
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = 1 + i / 2,
					.init = &name,
					.init_bytes = sizeof(name),
					.supervisor = s->supervisor };
	struct peal_link_options none = { .capacity = 0 };

	CHECK_OK(peal_actor_spawn(s->k, handler, &o, &s->actor[i]));
	s->link[i] = harness_from(s->rt, s->e, i, s->actor[i], none);
	harness_to(s->rt, s->actor[i], s->e, none);
}

static struct fixture open_fixture(struct peal_kernel_options o,
				   const char *handler)
{
	struct peal_link_options none = { .size = sizeof(none) };
	/* with a period of 1 ns it never gives up */
	struct peal_supervisor_options so = { .size = sizeof(so),
					      .max_restarts = 1,
					      .period_ns = 1 };
	struct fixture s = { .rt = harness_open(1, "") };
	uint32_t i;

	o.size = sizeof(o);
	o.workers = 2;
	o.lanes = lanes;
	o.mailbox.slots = 64;
	s.e = harness_endpoint(s.rt);
	s.dead = harness_endpoint(s.rt);
	CHECK_OK(peal_kernel_launch(s.rt, 0, &peal_program_budgets, &o, &s.k));
	if (o.max_supervisors)
		CHECK_OK(peal_supervisor_create(s.k, &so, &s.supervisor));
	for (i = 0; i < ACTORS; i++)
		spawn(&s, i, handler);
	CHECK_OK(peal_dead_letter_connect(s.k, peal_endpoint_address(s.dead),
					  &none));
	return s;
}

static void close_fixture(struct fixture *s)
{
	CHECK_OK(peal_kernel_stop(s->k, MAX_WAIT));
	harness_conserved(s->rt);
	CHECK_OK(peal_runtime_shutdown(s->rt));
}

static void tell(struct fixture *s, uint32_t i, uint16_t type, uint64_t steps)
{
	struct budgets_wish m = { steps, 77 };

	CHECK_OK(peal_send(s->e, i, type, &m, sizeof(m), MAX_WAIT, NULL));
}

/* Returns the next answer, which actor i must have sent. */
static struct budgets heard(struct fixture *s, uint32_t i)
{
	struct peal_received r;
	struct budgets state;

	CHECK_OK(peal_receive(s->e, &state, sizeof(state), &r, MAX_WAIT));
	CHECK_EQ(r.from, s->actor[i]);
	CHECK_EQ(r.length, sizeof(state));
	CHECK_EQ(state.name, 1000 + i);
	CHECK_EQ(state.split, 0);
	return state;
}

static struct budgets ask(struct fixture *s, uint32_t i)
{
	tell(s, i, BUDGETS_COUNT, 0);
	return heard(s, i);
}

/* Starts an endless handler of actor 0. Returns when it runs. */
static void begin_endless(struct fixture *s)
{
	struct peal_worker_info info;

	tell(s, 0, BUDGETS_ENDLESS, 0);
	EVENTUALLY(!peal_worker_info(s->k, 0, &info) &&
		   info.actor == (int64_t)(uint32_t)s->actor[0]);
}

/* Receives the letter about a message that failed with `error`. */
static void died(struct fixture *s, uint64_t to, int error, uint16_t type)
{
	struct peal_received r;
	struct letter l;

	CHECK_OK(peal_receive(s->dead, &l, sizeof(l), &r, MAX_WAIT));
	CHECK_EQ(r.dead_letter, 1);
	CHECK_EQ(l.about.to, to);
	CHECK_EQ(l.about.reason, PEAL_REASON_HANDLER);
	CHECK_EQ(l.about.error, error);
	CHECK_EQ(l.about.type, type);
}

/* ---- budgets ------------------------------------------------------------- */

PEAL_TEST(handler_is_limited_to_kernel_steps)
{
	struct fixture s = open_fixture(
		(struct peal_kernel_options){ .budget.max_steps = STEPS },
		"work");
	struct budgets state;

	tell(&s, 0, BUDGETS_STEPS, STEPS);
	CHECK_EQ(heard(&s, 0).steps, STEPS);
	tell(&s, 0, BUDGETS_STEPS, STEPS + 1);
	died(&s, s.actor[0], PEAL_EBUDGET, BUDGETS_STEPS);
	/* a used-up budget stays used up; the next message has a new one */
	tell(&s, 0, BUDGETS_DEAF, 0);
	died(&s, s.actor[0], PEAL_EBUDGET, BUDGETS_DEAF);
	tell(&s, 0, BUDGETS_STEPS, STEPS);
	state = heard(&s, 0);
	CHECK_EQ(state.steps, 4ULL * STEPS);
	CHECK_EQ(state.count, 2);
	close_fixture(&s);
}

PEAL_TEST(handler_without_budget_is_not_stopped)
{
	struct fixture s = open_fixture(
		(struct peal_kernel_options){ .name = "" }, "work");

	tell(&s, 0, BUDGETS_STEPS, 4 * STEPS);
	CHECK_EQ(heard(&s, 0).steps, 4 * STEPS);
	close_fixture(&s);
}

PEAL_TEST(handler_ends_by_its_time_budget)
{
	struct fixture s = open_fixture(
		(struct peal_kernel_options){ .budget.max_ns = 200 * MS },
		"work");
	uint64_t began = harness_now_ns(), took;

	tell(&s, 0, BUDGETS_ENDLESS, 0);
	died(&s, s.actor[0], PEAL_EBUDGET, BUDGETS_ENDLESS);
	took = harness_now_ns() - began;
	CHECK(took >= (uint64_t)(200 * MS));
	CHECK(took < (uint64_t)(MAX_WAIT / 2));
	/* the next message has its own time */
	tell(&s, 0, BUDGETS_STEPS, 10);
	CHECK(heard(&s, 0).steps > 10);
	close_fixture(&s);
}

PEAL_TEST(abort_ends_handler_that_checks_its_budget)
{
	struct fixture s = open_fixture(
		(struct peal_kernel_options){ .name = "" }, "work");
	struct peal_link_info info;

	begin_endless(&s);
	CHECK_EQ(peal_kernel_stop(s.k, 50 * MS), PEAL_ETIMEDOUT);
	CHECK_OK(peal_kernel_abort(s.k, MAX_WAIT));
	died(&s, s.actor[0], PEAL_EABORTED, BUDGETS_ENDLESS);
	info = harness_info(s.link[0]);
	CHECK_EQ(info.dead[PEAL_REASON_HANDLER], 1);
	close_fixture(&s);
}

PEAL_TEST(expired_lease_ends_handler_that_checks_budget)
{
	struct fixture s = open_fixture(
		(struct peal_kernel_options){ .lease_ns = SECOND }, "work");

	begin_endless(&s);
	peali_watchdog_forget(s.k);
	died(&s, s.actor[0], PEAL_ELEASE, BUDGETS_ENDLESS);
	CHECK_FAILS(peal_kernel_wait(s.k, MAX_WAIT), PEAL_ELEASE, "lease");
	close_fixture(&s);
}

/* Actor 0 runs endless handlers. Actor 1 shares its worker, actor 2 not. */
PEAL_TEST(endless_handler_does_not_starve_neighbours)
{
	struct fixture s = open_fixture(
		(struct peal_kernel_options){ .budget.max_steps = STEPS,
					      .max_supervisors = 1 },
		"work");
	uint64_t i;

	for (i = 0; i < 20; i++) {
		tell(&s, 0, BUDGETS_ENDLESS, 0);
		tell(&s, 1, BUDGETS_COUNT, 0);
		CHECK_EQ(heard(&s, 1).count, i + 1);
		CHECK_EQ(ask(&s, 2).count, i + 1);
		died(&s, s.actor[0], PEAL_EBUDGET, BUDGETS_ENDLESS);
	}
	close_fixture(&s);
}

PEAL_TEST(supervisor_restarts_actor_over_budget)
{
	struct fixture s = open_fixture(
		(struct peal_kernel_options){ .budget.max_steps = STEPS,
					      .max_supervisors = 1 },
		"work");
	struct peal_supervisor_info info;
	struct budgets state;

	CHECK_EQ(ask(&s, 0).count, 1);
	tell(&s, 0, BUDGETS_ENDLESS, 0);
	died(&s, s.actor[0], PEAL_EBUDGET, BUDGETS_ENDLESS);
	state = ask(&s, 0);
	CHECK_EQ(state.count, 1);
	CHECK_EQ(state.steps, 0);
	CHECK_EQ(ask(&s, 1).count, 1);
	CHECK_OK(peal_supervisor_info(s.supervisor, &info));
	CHECK_EQ(info.failures, 1);
	CHECK_EQ(info.restarted, 1);
	CHECK_EQ(info.last_error, PEAL_EBUDGET);
	close_fixture(&s);
}

/* ---- messages of a wrong length ------------------------------------------ */

PEAL_TEST(message_of_wrong_length_runs_no_handler)
{
	struct fixture s = open_fixture(
		(struct peal_kernel_options){ .name = "" }, "exact");
	uint8_t bytes[48] = { 0 };
	uint64_t n;

	for (n = 0; n <= sizeof(bytes); n += 8) {
		if (n == sizeof(struct budgets_wish))
			continue;
		CHECK_OK(peal_send(s.e, 0, 5, bytes, n, MAX_WAIT, NULL));
		died(&s, s.actor[0], PEAL_EMALFORMED, 5);
	}
	CHECK_EQ(ask(&s, 0).count, 1);
	CHECK_EQ(ask(&s, 2).count, 1);
	EVENTUALLY(harness_info(s.link[0]).dead[PEAL_REASON_HANDLER] == 6);
	EVENTUALLY(harness_info(s.link[0]).delivered == 1);
	close_fixture(&s);
}

PEAL_TEST(tell_of_wrong_length_runs_no_handler)
{
	struct peal_link_options none = { .capacity = 0 };
	struct fixture s = open_fixture(
		(struct peal_kernel_options){ .name = "" }, "exact");
	struct peal_kernel_info info;
	struct budgets_wish m;
	uint64_t teller = harness_spawn(s.k, "teller", 0);
	uint32_t i;

	harness_from(s.rt, s.e, ACTORS, teller, none);
	for (i = 0; i < ACTORS; i++) { /* actors of both workers */
		m.number = (uint32_t)s.actor[i];
		m.steps = 8;
		CHECK_OK(peal_send(s.e, ACTORS, 0, &m, sizeof(m), MAX_WAIT,
				   NULL));
		died(&s, s.actor[i], PEAL_EMALFORMED, BUDGETS_COUNT);
		m.steps = sizeof(m);
		CHECK_OK(peal_send(s.e, ACTORS, 0, &m, sizeof(m), MAX_WAIT,
				   NULL));
		CHECK_EQ(heard(&s, i).count, 1);
	}
	EVENTUALLY(!peal_kernel_info(s.k, &info) &&
		   info.mailbox_done == 2 * ACTORS);
	CHECK_EQ(info.mailbox_dead, ACTORS);
	close_fixture(&s);
}

/* The deadline precedes the payload and does not count as its length. */
PEAL_TEST(deadline_does_not_change_message_length)
{
	struct fixture s = open_fixture(
		(struct peal_kernel_options){ .name = "" }, "exact");
	struct budgets_wish m = { 0, 5 };
	struct peal_send_options options = { .size = sizeof(options) };

	options.deadline = harness_now_ns() + MAX_WAIT;
	CHECK_OK(peal_send_to(s.e, 0, s.actor[0], BUDGETS_COUNT, &m, sizeof(m),
			      MAX_WAIT, &options));
	CHECK_EQ(heard(&s, 0).number, 5);
	CHECK_OK(peal_send_to(s.e, 0, s.actor[0], BUDGETS_COUNT, &m, 8,
			      MAX_WAIT, &options));
	died(&s, s.actor[0], PEAL_EMALFORMED, BUDGETS_COUNT);
	close_fixture(&s);
}

/* The declared length does not apply to messages of the runtime. */
PEAL_TEST(down_message_ignores_declared_length)
{
	struct fixture s = open_fixture(
		(struct peal_kernel_options){ .max_monitors = 4,
					      .on_failure = PEAL_FAILURE_END },
		"exact");
	struct budgets_wish m = { 0, (uint32_t)s.actor[2] };

	CHECK_OK(peal_send(s.e, 0, BUDGETS_WATCH, &m, sizeof(m), MAX_WAIT,
			   NULL));
	CHECK_EQ(heard(&s, 0).count, 1);
	CHECK_OK(peal_send(s.e, 2, 5, "", 0, MAX_WAIT, NULL));
	died(&s, s.actor[2], PEAL_EMALFORMED, 5);
	CHECK_EQ(heard(&s, 0).count, 2);
	close_fixture(&s);
}

PEAL_TEST(supervisor_restarts_after_malformed_message)
{
	struct fixture s = open_fixture(
		(struct peal_kernel_options){ .max_supervisors = 1 }, "exact");
	struct peal_supervisor_info info;

	CHECK_EQ(ask(&s, 0).count, 1);
	CHECK_OK(peal_send(s.e, 0, 5, "", 0, MAX_WAIT, NULL));
	died(&s, s.actor[0], PEAL_EMALFORMED, 5);
	CHECK_EQ(ask(&s, 0).count, 1);
	CHECK_OK(peal_supervisor_info(s.supervisor, &info));
	CHECK_EQ(info.last_error, PEAL_EMALFORMED);
	close_fixture(&s);
}

PEAL_TEST_MAIN(RUN_LANES(handler_is_limited_to_kernel_steps);
	       RUN_LANES(handler_without_budget_is_not_stopped);
	       RUN_LANES(handler_ends_by_its_time_budget);
	       RUN_LANES(abort_ends_handler_that_checks_its_budget);
	       RUN_LANES(expired_lease_ends_handler_that_checks_budget);
	       RUN_LANES(endless_handler_does_not_starve_neighbours);
	       RUN_LANES(supervisor_restarts_actor_over_budget);
	       RUN_LANES(message_of_wrong_length_runs_no_handler);
	       RUN_LANES(tell_of_wrong_length_runs_no_handler);
	       RUN_LANES(deadline_does_not_change_message_length);
	       RUN_LANES(down_message_ignores_declared_length);
	       RUN_LANES(supervisor_restarts_after_malformed_message);)
