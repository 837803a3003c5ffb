/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_ASK_FIXTURE_H
#define PEAL_TESTS_ASK_FIXTURE_H

#include <peal/dead_letter.h>

#include "runtime/asks.h"
#include "runtime/both_lanes.h"
#include "runtime/kernel/kernel.h"
#include "runtime/runtime.h"

PEAL_DECLARE_PROGRAM(asks);
PEAL_DECLARE_PROGRAM(ask_pools);

#define NEVER (3600ULL * SECOND)

/* A kernel with a `party` actor on each worker. An endpoint sends orders to
 * these actors and receives their reports. */
struct fixture {
	struct peal_runtime *rt;
	struct peal_kernel *k;
	struct peal_endpoint *e, *ear; /* orders and reports; dead letters */
	uint64_t party[2];
	uint32_t workers, next_port;
};

/* Spawns a `party` on a worker and links it with the endpoint, both ways. */
static inline uint64_t fixture_party(struct fixture *s, int worker,
				     struct peal_supervisor *supervisor)
{
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = PEAL_WORKER(worker),
					.supervisor = supervisor };
	struct peal_link_options none = { .capacity = 0 };
	uint64_t actor = 0;

	CHECK_OK(peal_actor_spawn(s->k, "party", &o, &actor));
	harness_from(s->rt, s->e, s->next_port++, actor, none);
	harness_to(s->rt, actor, s->e, none);
	return actor;
}

static inline void fixture_launch(struct fixture *s,
				  struct peal_kernel_options o,
				  const struct peal_program *program)
{
	uint32_t i;

	o.size = sizeof(o);
	o.lanes = lanes;
	if (!o.workers)
		o.workers = 2;
	if (!o.mailbox.slots)
		o.mailbox.slots = 64;
	if (!o.max_asks)
		o.max_asks = 16;
	s->workers = o.workers;
	CHECK_OK(peal_kernel_launch(s->rt, 0, program, &o, &s->k));
	for (i = 0; i < o.workers; i++)
		s->party[i] = fixture_party(s, (int)i, NULL);
}

static inline struct fixture fixture_open(struct peal_kernel_options o)
{
	struct fixture s = { .rt = harness_open(1, "") };

	s.e = harness_endpoint(s.rt);
	fixture_launch(&s, o, &peal_program_asks);
	return s;
}

/* From now on the endpoint `ear` receives the dead letters. */
static inline void fixture_letters(struct fixture *s)
{
	s->ear = harness_endpoint(s->rt);
	CHECK_OK(peal_dead_letter_connect(s->k, peal_endpoint_address(s->ear),
					  NULL));
}

/* Receives a dead letter. Returns its reason. */
static inline uint32_t fixture_next_letter(struct fixture *s)
{
	uint8_t buffer[256];
	const struct peal_dead_letter *letter = (const void *)buffer;
	struct peal_received r;

	CHECK_OK(peal_receive(s->ear, buffer, sizeof(buffer), &r, MAX_WAIT));
	return letter->reason;
}

static inline void fixture_letter(struct fixture *s, uint32_t reason)
{
	CHECK_EQ(fixture_next_letter(s), reason);
}

static inline void fixture_tell(struct fixture *s, uint32_t port, uint16_t type,
				uint64_t value)
{
	CHECK_OK(peal_send(s->e, port, type, &value, sizeof(value), MAX_WAIT,
			   NULL));
}

static inline struct asks_ordered fixture_ordered(struct fixture *s)
{
	struct asks_ordered out;
	struct peal_received r;

	CHECK_OK(peal_receive(s->e, &out, sizeof(out), &r, MAX_WAIT));
	CHECK_EQ(r.type, ASKS_ORDER);
	return out;
}

/* Runs a case that must act before an ask or a timer expires. Repeats it with
 * twice the time until it returns 1. */
static inline void fixture_in_time(int (*run)(uint64_t ns))
{
	uint64_t ns = 30 * MS;

	while (!run(ns)) {
		ns *= 2;
		CHECK(ns < (uint64_t)MAX_WAIT / 4);
	}
}

/* Sends an order and returns its report. A timeout_ns of 0 means NEVER. */
static inline struct asks_ordered
fixture_order(struct fixture *s, uint32_t port, struct asks_order o)
{
	if (!o.timeout_ns)
		o.timeout_ns = NEVER;
	CHECK_OK(peal_send(s->e, port, ASKS_ORDER, &o, sizeof(o), MAX_WAIT,
			   NULL));
	return fixture_ordered(s);
}

/* Orders one ask, which succeeds. */
static inline void fixture_ask(struct fixture *s, uint32_t port, uint64_t to,
			       uint32_t how, uint64_t timeout_ns)
{
	struct asks_order o = { .to = (uint32_t)to, .n = 1 };

	o.request.how = how;
	o.request.value = 20;
	o.timeout_ns = timeout_ns;
	CHECK_EQ(fixture_order(s, port, o).result, 0);
}

static inline struct asks_answer fixture_answer(struct fixture *s)
{
	struct asks_answer a = { 0 };
	struct peal_received r;

	CHECK_OK(peal_receive(s->e, &a, sizeof(a), &r, MAX_WAIT));
	CHECK_EQ(r.type, ASKS_ANSWER);
	CHECK_EQ(r.length, sizeof(a));
	return a;
}

/* The next answer has this error and this value, and its ask was open. */
static inline void fixture_expect(struct fixture *s, int error, uint64_t value)
{
	struct asks_answer a = fixture_answer(s);

	CHECK_EQ(a.error, error);
	CHECK_EQ(a.value, value);
	CHECK_EQ(a.known, 1);
}

static inline struct peal_ask_counts fixture_counts(const struct fixture *s)
{
	struct peal_kernel_info info;

	CHECK_OK(peal_kernel_info(s->k, &info));
	return info.asks;
}

static inline struct asks_state fixture_state(const struct fixture *s,
					      uint64_t actor)
{
	struct peal_kernel_info info;
	struct asks_state state;
	int runs;

	CHECK_OK(peal_kernel_info(s->k, &info));
	runs = info.state == PEAL_KERNEL_RUNNING;
	if (runs)
		CHECK_OK(peal_kernel_suspend(s->k, MAX_WAIT));
	CHECK_OK(peal_actor_state(s->rt, actor, &state, sizeof(state)));
	if (runs) { /* the kernel runs again before the case continues */
		CHECK_OK(peal_kernel_resume(s->k));
		EVENTUALLY(!peal_kernel_info(s->k, &info) &&
			   info.state != PEAL_KERNEL_SUSPENDED);
	}
	return state;
}

/* Waits until an actor has handled `requests` requests. The counters of asks do
 * not show this. */
static inline void fixture_requested(const struct fixture *s, uint64_t actor,
				     uint64_t requests)
{
	EVENTUALLY(fixture_state(s, actor).requests == requests);
}

/* Checks that each ask has one outcome and that the workers' counters add up.
 * Checks that the links conserve their messages. Returns the counters. */
static inline struct peal_ask_counts fixture_account(const struct fixture *s)
{
	struct peal_ask_counts a = fixture_counts(s);
	struct peal_worker_info info;
	uint64_t asked = 0;
	uint32_t i;

	CHECK_EQ(a.asked, a.answered + a.error_replies + a.timed_out +
				  a.failed + a.stopped + a.open);
	for (i = 0; i < s->workers; i++) {
		CHECK_OK(peal_worker_info(s->k, i, &info));
		asked += info.asks.asked;
	}
	CHECK_EQ(asked, a.asked);
	harness_conserved(s->rt);
	return a;
}

/* For a drained kernel: the mailbox capacity that is leased equals the
 * grants of the workers. An answer has its own capacity, and changes neither
 * number. */
static inline void fixture_check_grants(const struct fixture *s)
{
	const struct peal_kernel_params *p = &s->k->params;
	const struct peal_admission *a =
		(const struct peal_admission *)(uintptr_t)p->admission;
	uint64_t granted = 0;
	uint32_t i;

	if (test_on_gpu())
		return;
	for (i = 0; i < p->n_workers; i++) {
		const struct peal_worker_state *state =
			(const struct peal_worker_state
				 *)(uintptr_t)(p->workers +
					       i * p->worker_stride);

		granted += state->mail.lease.granted;
	}
	CHECK_EQ(a->leased - a->returned + a->reserve - a->spare, granted);
}

/* Drains the kernel. All told messages were handled and no ask is open. */
static inline struct peal_ask_counts fixture_close(struct fixture *s)
{
	struct peal_kernel_info info;
	struct peal_ask_counts a;
	uint32_t i;

	for (i = 0; i < s->next_port; i++)
		CHECK_OK(peal_send_end(s->e, i, MAX_WAIT));
	CHECK_OK(peal_kernel_drain(s->k, MAX_WAIT));
	CHECK_OK(peal_kernel_info(s->k, &info));
	a = fixture_account(s);
	CHECK_EQ(a.open, 0);
	CHECK_EQ(a.stopped, 0);
	CHECK_EQ(info.mailbox_sends, info.mailbox_done);
	CHECK_EQ(info.timers.waiting, 0);
	fixture_check_grants(s);
	CHECK_OK(peal_runtime_shutdown(s->rt));
	return a;
}

#endif
