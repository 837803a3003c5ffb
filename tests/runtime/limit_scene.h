/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_LIMIT_SCENE_H
#define PEAL_TESTS_LIMIT_SCENE_H

/*
 * A kernel with an actor that has a mailbox limit, on the last worker. The test
 * can hold this worker. Meanwhile tellers on the other workers, links, timers
 * and requests send to the actor.
 */

#include <peal/dead_letter.h>

#include "runtime/both_lanes.h"
#include "runtime/limits.h"

PEAL_DECLARE_PROGRAM(limits);

#define SCENE_TELLERS 2
#define SCENE_PORT_KEEP 10 /* leads to `keep`, lower ports to tellers */
#define SCENE_PORT_NEAR 11 /* leads to the actor */

struct scene {
	struct peal_runtime *rt;
	struct peal_endpoint *e, *letters;
	struct peal_kernel *k;
	struct peal_supervisor *supervisor;
	uint64_t teller[SCENE_TELLERS], actor, keep;
	struct peal_link *to[SCENE_TELLERS], *near;
	uint64_t gate; /* a host word; 0: `keep` holds the worker */
};

static inline uint64_t scene_spawn(struct scene *s, const char *handler,
				   uint32_t limit, uint32_t full)
{
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = 1 + SCENE_TELLERS,
					.supervisor = s->supervisor,
					.mailbox_limit = limit,
					.mailbox_full = full };
	uint64_t address = 0;

	CHECK_OK(peal_actor_spawn(s->k, handler, &o, &address));
	return address;
}

/* Fills in the options that every case shares, and defaults. */
static inline struct peal_kernel_options
scene_options(struct peal_kernel_options o)
{
	o.size = sizeof(o);
	o.workers = 1 + SCENE_TELLERS;
	o.lanes = lanes;
	o.max_inputs = 32;
	o.max_ports = 8;
	if (!o.mailbox_slots)
		o.mailbox_slots = 256;
	if (!o.max_limits)
		o.max_limits = 4;
	return o;
}

static inline void scene_open(struct scene *s, struct peal_kernel_options o,
			      const char *handler, uint32_t limit,
			      uint32_t full)
{
	struct peal_link_options wide = { .capacity = 64 };
	uint32_t i;

	memset(s, 0, sizeof(*s));
	o = scene_options(o);
	s->rt = harness_open(1, "");
	s->e = harness_endpoint(s->rt);
	CHECK_OK(peal_kernel_launch(s->rt, 0, &peal_program_limits, &o, &s->k));
	if (o.max_supervisors)
		CHECK_OK(peal_supervisor_create(s->k, NULL, &s->supervisor));
	s->actor = scene_spawn(s, handler, limit, full);
	for (i = 0; i < SCENE_TELLERS; i++) {
		s->teller[i] = harness_spawn(s->k, "teller", (int)i);
		s->to[i] = harness_from(s->rt, s->e, i, s->teller[i], wide);
	}
	s->keep = harness_spawn(s->k, "keep", SCENE_TELLERS);
	harness_from(s->rt, s->e, SCENE_PORT_KEEP, s->keep, wide);
	s->near = harness_from(s->rt, s->e, SCENE_PORT_NEAR, s->actor, wide);
}

/* Holds the actor's worker in `keep` until scene_let_go(). */
static inline void scene_hold(struct scene *s)
{
	const uint64_t word = (uint64_t)(uintptr_t)&s->gate;
	struct peal_worker_info info;

	peal_store_release_sys(&s->gate, 0);
	CHECK_OK(peal_send(s->e, SCENE_PORT_KEEP, 0, &word, sizeof(word),
			   PATIENCE));
	EVENTUALLY(!peal_worker_info(s->k, SCENE_TELLERS, &info) &&
		   info.actor == (int64_t)(uint32_t)s->keep);
}

static inline void scene_let_go(struct scene *s)
{
	peal_store_release_sys(&s->gate, 1);
}

/* From now on the endpoint `letters` receives the dead letters. */
static inline void scene_take_letters(struct scene *s)
{
	struct peal_link_options wide = { .size = sizeof(wide),
					  .capacity = 256 };

	s->letters = harness_endpoint(s->rt);
	CHECK_OK(peal_dead_letters(s->k, peal_endpoint_address(s->letters),
				   &wide));
}

static inline void scene_order_as(struct scene *s, uint32_t teller,
				  struct limits_order o)
{
	if (!o.actor)
		o.actor = (uint32_t)s->actor;
	CHECK_OK(peal_send(s->e, teller, limits_order_number, &o, sizeof(o),
			   PATIENCE));
}

/* Orders a teller to send n numbers to the actor, and waits until it has. */
static inline void scene_order(struct scene *s, uint32_t teller, uint32_t what,
			       uint64_t first, uint32_t n)
{
	struct limits_order o = { .what = what };
	uint64_t sent = harness_info(s->to[teller]).accepted;

	for (; n; n -= o.n) {
		o.number = first;
		o.n = n < LIMITS_BURST ? n : LIMITS_BURST;
		scene_order_as(s, teller, o);
		first += o.n;
		sent++;
	}
	EVENTUALLY(harness_info(s->to[teller]).delivered == sent);
}

/* Sends n numbers to the actor by the link to a teller. The teller's worker
 * passes them on. */
static inline void scene_send(struct scene *s, uint32_t teller, uint64_t first,
			      uint32_t n)
{
	for (; n--; first++)
		CHECK_OK(peal_send_to(s->e, teller, s->actor, 0, &first,
				      sizeof(first), PATIENCE));
}

static inline struct peal_actor_mailbox_info scene_mailbox(struct scene *s)
{
	struct peal_actor_mailbox_info info;

	CHECK_OK(peal_actor_mailbox(s->rt, s->actor, &info));
	return info;
}

static inline struct peal_kernel_info scene_info(struct scene *s)
{
	struct peal_kernel_info info;

	CHECK_OK(peal_kernel_info(s->k, &info));
	return info;
}

static inline struct limits_teller scene_teller(struct scene *s, uint32_t i)
{
	struct limits_teller state;

	CHECK_OK(peal_actor_state(s->rt, s->teller[i], &state, sizeof(state)));
	return state;
}

static inline struct limits_note scene_note(struct scene *s)
{
	struct limits_note state;

	CHECK_OK(peal_actor_state(s->rt, s->actor, &state, sizeof(state)));
	return state;
}

/* Waits until all told messages are done. */
static inline void scene_done(struct scene *s)
{
	EVENTUALLY(scene_info(s).told == scene_info(s).mail_done);
}

/* Ends all links and drains the kernel. No message is left. */
static inline void scene_drain(struct scene *s)
{
	uint32_t i;

	for (i = 0; i < SCENE_TELLERS; i++)
		CHECK_OK(peal_send_end(s->e, i, PATIENCE));
	CHECK_OK(peal_send_end(s->e, SCENE_PORT_KEEP, PATIENCE));
	CHECK_OK(peal_send_end(s->e, SCENE_PORT_NEAR, PATIENCE));
	CHECK_OK(peal_kernel_drain(s->k, PATIENCE));
	EVENTUALLY(scene_info(s).told == scene_info(s).mail_done);
	for (i = 0; i < SCENE_TELLERS; i++)
		CHECK_EQ(scene_teller(s, i).odd, 0);
}

static inline void scene_close(struct scene *s)
{
	CHECK_OK(peal_kernel_stop(s->k, PATIENCE));
	harness_conserved(s->rt);
	CHECK_OK(peal_runtime_shutdown(s->rt));
}

#endif
