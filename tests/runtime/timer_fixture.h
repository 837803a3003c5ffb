/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_TIMER_FIXTURE_H
#define PEAL_TESTS_TIMER_FIXTURE_H

#include "runtime/both_lanes.h"
#include "runtime/timers.h"

PEAL_DECLARE_PROGRAM(timers);
PEAL_DECLARE_PROGRAM(timer_pools);

#define HOUR (3600 * SECOND)

/* A kernel of up to two workers. On each worker an actor sets timers, as an
 * endpoint orders. */
struct fixture {
	struct peal_runtime *rt;
	struct peal_kernel *k;
	struct peal_endpoint *e;
	uint32_t workers, next_port;
	uint64_t setter[2];
	struct peal_link *orders[2];
};

static inline void fixture_launch(struct fixture *s, int device,
				  struct peal_kernel_options o,
				  const struct peal_program *program)
{
	struct peal_link_options none = { .capacity = 0 };
	uint32_t i;

	memset(s->setter, 0, sizeof(s->setter));
	o.size = sizeof(o);
	o.lanes = lanes;
	if (!o.workers)
		o.workers = 1;
	if (!o.mailbox.slots)
		o.mailbox.slots = 64;
	if (!o.max_timers)
		o.max_timers = 64;
	s->workers = o.workers;
	CHECK_OK(peal_kernel_launch(s->rt, device, program, &o, &s->k));
	for (i = 0; i < o.workers; i++) {
		s->setter[i] = harness_spawn(s->k, "order", (int)i);
		s->orders[i] = harness_from(s->rt, s->e, i, s->setter[i], none);
		harness_to(s->rt, s->setter[i], s->e, none);
	}
	s->next_port = o.workers;
}

static inline struct fixture fixture_open(struct peal_kernel_options o)
{
	struct fixture s = { .rt = harness_open(1, "") };

	s.e = harness_endpoint(s.rt);
	fixture_launch(&s, 0, o, &peal_program_timers);
	return s;
}

/* Sends an order to the setter of a worker and returns its answer. */
static inline struct timer_answer fixture_order(struct fixture *s,
						uint32_t worker, uint16_t type,
						struct timer_order o)
{
	struct timer_answer answer;
	struct peal_received r;

	if (!o.bytes)
		o.bytes = TIMER_BYTES;
	CHECK_OK(peal_send(s->e, worker, type, &o, sizeof(o), MAX_WAIT, NULL));
	CHECK_OK(peal_receive(s->e, &answer, sizeof(answer), &r, MAX_WAIT));
	CHECK_EQ(r.type, type);
	CHECK_EQ(r.length, sizeof(answer));
	return answer;
}

/* Orders n timers that fire once. All are set. */
static inline void fixture_after(struct fixture *s, uint32_t worker,
				 uint64_t ns, uint64_t actor, uint32_t n)
{
	struct timer_order o = { .ns = ns, .actor = (uint32_t)actor, .n = n };
	struct timer_answer a = fixture_order(s, worker, TIMER_AFTER, o);

	CHECK_EQ(a.result, 0);
	CHECK_EQ(a.n, n);
}

static inline void fixture_every(struct fixture *s, uint32_t worker,
				 uint64_t ns, uint64_t actor)
{
	struct timer_order o = { .ns = ns, .actor = (uint32_t)actor, .n = 1 };

	CHECK_EQ(fixture_order(s, worker, TIMER_EVERY, o).result, 0);
}

static inline int64_t fixture_cancel(struct fixture *s, uint32_t worker,
				     uint32_t slot)
{
	struct timer_order o = { .slot = slot };

	return fixture_order(s, worker, TIMER_CANCEL, o).result;
}

static inline struct timer_notes fixture_notes(const struct fixture *s,
					       uint64_t actor)
{
	struct peal_kernel_info info;
	struct timer_notes notes;
	int runs;

	CHECK_OK(peal_kernel_info(s->k, &info));
	runs = info.state == PEAL_KERNEL_RUNNING;
	if (runs)
		CHECK_OK(peal_kernel_suspend(s->k, MAX_WAIT));
	CHECK_OK(peal_actor_state(s->rt, actor, &notes, sizeof(notes)));
	if (runs) { /* the kernel runs again before the case continues */
		CHECK_OK(peal_kernel_resume(s->k));
		EVENTUALLY(!peal_kernel_info(s->k, &info) &&
			   info.state != PEAL_KERNEL_SUSPENDED);
	}
	return notes;
}

/* Returns the number of messages that were handled or dead. */
static inline uint64_t fixture_done(const struct fixture *s)
{
	struct peal_kernel_info info;

	CHECK_OK(peal_kernel_info(s->k, &info));
	return info.mailbox_done;
}

static inline struct peal_timer_counts fixture_counts(const struct fixture *s)
{
	struct peal_kernel_info info;

	CHECK_OK(peal_kernel_info(s->k, &info));
	return info.timers;
}

/* Checks that all messages were right. Returns their number. */
static inline uint64_t fixture_good(const struct fixture *s, uint64_t actor)
{
	struct timer_notes n = fixture_notes(s, actor);

	CHECK_EQ(n.early, 0);
	CHECK_EQ(n.early_ticks, 0);
	CHECK_EQ(n.misordered, 0);
	CHECK_EQ(n.damaged, 0);
	return n.received;
}

/* Checks that each timer has one outcome. Each told message comes from a timer
 * or from a handler. All links conserve. */
static inline struct peal_timer_counts fixture_account(const struct fixture *s,
						       uint64_t by_handlers)
{
	struct peal_timer_counts t = fixture_counts(s);
	struct peal_kernel_info info;

	CHECK_EQ(t.set, t.fired + t.cancelled + t.gone + t.drained + t.stopped +
				t.waiting);
	CHECK_OK(peal_kernel_info(s->k, &info));
	CHECK_EQ(info.mailbox_sends, t.fired + t.ticks + t.gone + by_handlers);
	harness_conserved(s->rt);
	return t;
}

/* Stops the kernel. No timer waits any more. */
static inline struct peal_timer_counts fixture_stop(struct fixture *s)
{
	struct peal_timer_counts t;

	CHECK_OK(peal_kernel_stop(s->k, MAX_WAIT));
	t = fixture_account(s, 0);
	CHECK_EQ(t.waiting, 0);
	CHECK_EQ(t.held, 0);
	CHECK_OK(peal_runtime_shutdown(s->rt));
	return t;
}

/* Drains the kernel. All told messages are handled. */
static inline struct peal_timer_counts fixture_drain(struct fixture *s)
{
	struct peal_timer_counts t;
	struct peal_kernel_info info;
	uint32_t i;

	for (i = 0; i < s->workers; i++)
		CHECK_OK(peal_send_end(s->e, i, MAX_WAIT));
	CHECK_OK(peal_kernel_drain(s->k, MAX_WAIT));
	t = fixture_account(s, 0);
	CHECK_EQ(t.waiting, 0);
	CHECK_EQ(t.stopped, 0);
	CHECK_OK(peal_kernel_info(s->k, &info));
	CHECK_EQ(info.mailbox_done, info.mailbox_sends);
	return t;
}

#endif
