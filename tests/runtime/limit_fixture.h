/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_LIMIT_FIXTURE_H
#define PEAL_TESTS_LIMIT_FIXTURE_H

/*
 * A kernel with an actor that has a mailbox limit, on the last worker. The test
 * can hold this worker. Meanwhile tellers on the other workers, links, timers
 * and requests send to the actor.
 */

#include <peal/dead_letter.h>
#include <peal/supervisor.h>

#include "runtime/both_lanes.h"
#include "runtime/limits.h"

PEAL_DECLARE_PROGRAM(limits);

#define FIXTURE_TELLERS 2
#define FIXTURE_PORT_KEEP 10 /* leads to `keep`, lower ports to tellers */
#define FIXTURE_PORT_NEAR 11 /* leads to the actor */

struct fixture {
	struct peal_runtime *rt;
	struct peal_endpoint *e, *letters;
	struct peal_kernel *k;
	struct peal_supervisor *supervisor;
	uint64_t teller[FIXTURE_TELLERS], actor, keep;
	struct peal_link *to[FIXTURE_TELLERS], *near;
	uint64_t *gate; /* pinned; 0: `keep` holds the worker */
};

static inline uint64_t fixture_spawn(struct fixture *s, const char *handler,
				     uint32_t limit, uint32_t full)
{
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = PEAL_WORKER(FIXTURE_TELLERS),
					.supervisor = s->supervisor,
					.mailbox_limit = limit,
					.mailbox_overflow = full };
	uint64_t address = 0;

	CHECK_OK(peal_actor_spawn(s->k, handler, &o, &address));
	return address;
}

/* Fills in the options that every case shares, and defaults. */
static inline struct peal_kernel_options
fixture_options(struct peal_kernel_options o)
{
	o.size = sizeof(o);
	o.workers = 1 + FIXTURE_TELLERS;
	o.lanes = lanes;
	o.max_inputs = 32;
	o.max_ports = 8;
	if (!o.mailbox.slots)
		o.mailbox.slots = 256;
	if (!o.mailbox.max_limits)
		o.mailbox.max_limits = 4;
	return o;
}

static inline void fixture_open(struct fixture *s, struct peal_kernel_options o,
				const char *handler, uint32_t limit,
				uint32_t full)
{
	struct peal_link_options wide = { .capacity = 64 };
	uint32_t i;

	memset(s, 0, sizeof(*s));
	o = fixture_options(o);
	s->rt = harness_open(1, "");
	s->gate = harness_gate(s->rt);
	s->e = harness_endpoint(s->rt);
	CHECK_OK(peal_kernel_launch(s->rt, 0, &peal_program_limits, &o, &s->k));
	if (o.max_supervisors)
		CHECK_OK(peal_supervisor_create(s->k, NULL, &s->supervisor));
	s->actor = fixture_spawn(s, handler, limit, full);
	for (i = 0; i < FIXTURE_TELLERS; i++) {
		s->teller[i] = harness_spawn(s->k, "teller", (int)i);
		s->to[i] = harness_from(s->rt, s->e, i, s->teller[i], wide);
	}
	s->keep = harness_spawn(s->k, "keep", FIXTURE_TELLERS);
	harness_from(s->rt, s->e, FIXTURE_PORT_KEEP, s->keep, wide);
	s->near = harness_from(s->rt, s->e, FIXTURE_PORT_NEAR, s->actor, wide);
}

/* Holds the actor's worker in `keep` until fixture_let_go(). */
static inline void fixture_hold(struct fixture *s)
{
	const uint64_t word = harness_address(s->gate);
	struct peal_worker_info info;

	peal_store_release_sys(s->gate, 0);
	CHECK_OK(peal_send(s->e, FIXTURE_PORT_KEEP, 0, &word, sizeof(word),
			   MAX_WAIT, NULL));
	EVENTUALLY(!peal_worker_info(s->k, FIXTURE_TELLERS, &info) &&
		   info.actor == (int64_t)(uint32_t)s->keep);
}

static inline void fixture_let_go(struct fixture *s)
{
	peal_store_release_sys(s->gate, 1);
}

/* From now on the endpoint `letters` receives the dead letters. */
static inline void fixture_take_letters(struct fixture *s)
{
	struct peal_link_options wide = { .size = sizeof(wide),
					  .capacity = 256 };

	s->letters = harness_endpoint(s->rt);
	CHECK_OK(peal_dead_letter_connect(
		s->k, peal_endpoint_address(s->letters), &wide));
}

static inline void fixture_order_as(struct fixture *s, uint32_t teller,
				    struct limits_order o)
{
	if (!o.actor)
		o.actor = (uint32_t)s->actor;
	CHECK_OK(peal_send(s->e, teller, limits_order_number, &o, sizeof(o),
			   MAX_WAIT, NULL));
}

/* Orders a teller to send n numbers to the actor, and waits until it has. */
static inline void fixture_order(struct fixture *s, uint32_t teller,
				 uint32_t what, uint64_t first, uint32_t n)
{
	struct limits_order o = { .what = what };
	uint64_t sent = harness_info(s->to[teller]).accepted;

	for (; n; n -= o.n) {
		o.number = first;
		o.n = n < LIMITS_BURST ? n : LIMITS_BURST;
		fixture_order_as(s, teller, o);
		first += o.n;
		sent++;
	}
	EVENTUALLY(harness_info(s->to[teller]).delivered == sent);
}

/* Sends n numbers to the actor by the link to a teller. The teller's worker
 * passes them on. */
static inline void fixture_send(struct fixture *s, uint32_t teller,
				uint64_t first, uint32_t n)
{
	for (; n--; first++)
		CHECK_OK(peal_send_to(s->e, teller, s->actor, 0, &first,
				      sizeof(first), MAX_WAIT, NULL));
}

static inline struct peal_actor_mailbox_info fixture_mailbox(struct fixture *s)
{
	struct peal_actor_mailbox_info info;

	CHECK_OK(peal_actor_mailbox(s->rt, s->actor, &info));
	return info;
}

static inline struct peal_kernel_info fixture_info(struct fixture *s)
{
	struct peal_kernel_info info;

	CHECK_OK(peal_kernel_info(s->k, &info));
	return info;
}

static inline struct limits_teller fixture_teller(struct fixture *s, uint32_t i)
{
	struct limits_teller state;

	CHECK_OK(peal_actor_state(s->rt, s->teller[i], &state, sizeof(state)));
	return state;
}

static inline struct limits_note fixture_note(struct fixture *s)
{
	struct limits_note state;

	CHECK_OK(peal_actor_state(s->rt, s->actor, &state, sizeof(state)));
	return state;
}

/* Waits until all told messages are done. */
static inline void fixture_done(struct fixture *s)
{
	EVENTUALLY(fixture_info(s).mailbox_sends ==
		   fixture_info(s).mailbox_done);
}

/* Ends all links and drains the kernel. No message is left. */
static inline void fixture_drain(struct fixture *s)
{
	uint32_t i;

	for (i = 0; i < FIXTURE_TELLERS; i++)
		CHECK_OK(peal_send_end(s->e, i, MAX_WAIT));
	CHECK_OK(peal_send_end(s->e, FIXTURE_PORT_KEEP, MAX_WAIT));
	CHECK_OK(peal_send_end(s->e, FIXTURE_PORT_NEAR, MAX_WAIT));
	CHECK_OK(peal_kernel_drain(s->k, MAX_WAIT));
	EVENTUALLY(fixture_info(s).mailbox_sends ==
		   fixture_info(s).mailbox_done);
	for (i = 0; i < FIXTURE_TELLERS; i++)
		CHECK_EQ(fixture_teller(s, i).odd, 0);
}

static inline void fixture_close(struct fixture *s)
{
	CHECK_OK(peal_kernel_stop(s->k, MAX_WAIT));
	harness_conserved(s->rt);
	CHECK_OK(peal_runtime_shutdown(s->rt));
}

#endif
