/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_BATCH_FIXTURE_H
#define PEAL_TESTS_BATCH_FIXTURE_H

/*
 * A kernel of one worker with batch handlers, for tests. The messages wait in a
 * link while the kernel is suspended. So the worker finds as many as a batch can
 * have.
 */

#include <peal/deadline.h>

#include "runtime/batches.h"
#include "runtime/both_lanes.h"

PEAL_DECLARE_PROGRAM(batches);
PEAL_DECLARE_PROGRAM(batches_checked);

#define ACTORS 32
#define N 100 /* messages that wait */
#define CAPACITY 128
#define ITEM_BYTES sizeof(struct batch_item)

struct fixture {
	struct peal_runtime *rt;
	struct peal_kernel *k;
	struct peal_endpoint *in, *out;
	struct peal_link *link; /* to the first actor */
	struct peal_link *answers[ACTORS]; /* of each actor */
	uint64_t actor[ACTORS];
	uint64_t *gate; /* two pinned words */
	uint32_t n; /* actors */
};

static const struct peal_link_options usual = { .capacity = CAPACITY,
						.message_bytes = ITEM_BYTES };

static inline void open_kernel(struct fixture *s,
			       const struct peal_program *program,
			       struct peal_kernel_options o)
{
	memset(s, 0, sizeof(*s));
	s->rt = harness_open(1, "");
	s->in = harness_endpoint(s->rt);
	s->out = harness_endpoint(s->rt);
	s->gate = (uint64_t *)harness_pinned(s->rt, 2 * sizeof(*s->gate));
	o.size = sizeof(o);
	o.lanes = lanes;
	o.max_ports = ACTORS;
	/* drivers load programs before the first launch only */
	CHECK_OK(peal_program_add(s->rt, &peal_program_relay));
	CHECK_OK(peal_kernel_launch(s->rt, 0, program, &o, &s->k));
}

/* Adds an actor with a port. The first one gets the link. */
static inline void add_actor(struct fixture *s, const char *handler,
			     struct peal_supervisor *supervisor,
			     struct peal_link_options in,
			     struct peal_link_options out)
{
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = PEAL_WORKER(0),
					.supervisor = supervisor };

	CHECK(s->n < ACTORS);
	CHECK_OK(peal_actor_spawn(s->k, handler, &o, &s->actor[s->n]));
	s->answers[s->n] = harness_to(s->rt, s->actor[s->n], s->out, out);
	if (!s->n)
		s->link = harness_from(s->rt, s->in, 0, s->actor[0], in);
	s->n++;
}

/* Sends a letter to actor 0: it tells item `number` to an actor or pool. */
static inline void send_letter(struct fixture *s, uint16_t type, uint64_t to,
			       uint64_t number, uint32_t times)
{
	struct batch_letter l = { .to = (uint32_t)to,
				  .times = times,
				  .bytes = ITEM_BYTES };

	l.item.number = number;
	l.item.gate = harness_address(s->gate);
	l.item.check = batch_check(number);
	CHECK_OK(peal_send(s->in, 0, type, &l, sizeof(l), MAX_WAIT, NULL));
}

/* Opens a kernel of n actors with a handler, and suspends it. */
static inline void open_fixture(struct fixture *s, const char *handler,
				uint32_t n)
{
	struct peal_kernel_options none = { .size = 0 };
	uint32_t i;

	open_kernel(s, &peal_program_batches, none);
	for (i = 0; i < n; i++)
		add_actor(s, handler, NULL, usual, usual);
	CHECK_OK(peal_kernel_suspend(s->k, MAX_WAIT));
}

static inline struct batch_item item_of(uint64_t number)
{
	struct batch_item item = { .number = number,
				   .check = batch_check(number) };

	return item;
}

/* Sends item `number` to an actor. */
static inline void send_to(struct fixture *s, uint32_t actor, uint16_t action,
			   uint64_t number, uint64_t deadline)
{
	struct peal_send_options o = { .size = sizeof(o),
				       .deadline = deadline };
	struct batch_item item = item_of(number);

	item.gate = harness_address(s->gate);
	CHECK_OK(peal_send_to(s->in, 0, s->actor[actor], action, &item,
			      sizeof(item), MAX_WAIT, deadline ? &o : NULL));
}

/* Receives the echo of item `number` of an actor. */
static inline void receive_from(struct fixture *s, uint32_t actor,
				uint64_t number)
{
	struct peal_received r;
	struct batch_item item;

	CHECK_OK(peal_receive(s->out, &item, sizeof(item), &r, MAX_WAIT));
	CHECK_EQ(r.length, sizeof(item));
	CHECK_EQ(r.from, s->actor[actor]);
	CHECK_EQ(item.number, number);
	CHECK_EQ(item.check, batch_check(number));
}

/* Sends N items to actor 0, then lets the kernel run. */
static inline void send_all(struct fixture *s, uint16_t action)
{
	uint64_t i;

	for (i = 0; i < N; i++)
		send_to(s, 0, action, i, 0);
	CHECK_OK(peal_kernel_resume(s->k));
}

/* Receives the echoes of N items of actor 0. */
static inline void receive_all(struct fixture *s)
{
	uint64_t i;

	for (i = 0; i < N; i++)
		receive_from(s, 0, i);
}

static inline void expect_no_more(struct fixture *s)
{
	struct peal_received r;

	CHECK_EQ(peal_receive_peek(s->out, &r, 0), PEAL_EAGAIN);
}

/* Waits until the link has ended n messages: delivered or dead. */
static inline struct peal_link_info wait_ended(struct fixture *s, uint64_t n)
{
	struct peal_link_info info;

	do {
		info = harness_info(s->link);
		identity_sleep_us(100);
	} while (info.delivered + harness_dead(&info) < n);
	CHECK_EQ(info.accepted, n);
	CHECK(harness_holds(&info));
	return info;
}

static inline struct batch_state state_of(struct fixture *s, uint32_t actor)
{
	struct batch_state state;

	CHECK_OK(peal_kernel_suspend(s->k, MAX_WAIT));
	CHECK_OK(peal_actor_state(s->rt, s->actor[actor], &state,
				  sizeof(state)));
	CHECK_OK(peal_kernel_resume(s->k));
	CHECK_EQ(state.corrupt, 0);
	CHECK_EQ(state.disorder, 0);
	return state;
}

/* Takes the answers that a case has not looked at. */
static inline void take_answers(struct fixture *s)
{
	struct batch_item item;
	struct peal_received r;

	while (!peal_receive(s->out, &item, sizeof(item), &r, 0))
		;
}

static inline void close_fixture(struct fixture *s)
{
	harness_stop_quiet(s->k);
	take_answers(s);
	harness_conserved(s->rt);
	CHECK_OK(peal_runtime_shutdown(s->rt));
}

/* The largest batch that a worker finds. */
static inline uint64_t largest(void)
{
	return lanes < 32 ? lanes : 32;
}

#endif
