/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_SPAWN_FIXTURE_H
#define PEAL_TESTS_SPAWN_FIXTURE_H

#include "runtime/both_lanes.h"
#include "runtime/spawns.h"

PEAL_DECLARE_PROGRAM(spawns);

#define WORKERS_MAX 4

/* A kernel with a maker on each worker. Each maker has a link from the endpoint
 * and a link to it. */
struct fixture {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *k;
	uint32_t n;
	uint64_t maker[WORKERS_MAX];
	struct peal_link *link[WORKERS_MAX];
};

static inline struct fixture fixture_open(struct peal_kernel_options o)
{
	struct fixture s = { .rt = harness_open(1, "") };
	struct peal_link_options none = { .capacity = 0 };
	struct peal_link_options orders = { .message_bytes = sizeof(
						    struct spawns_state) };
	uint32_t i;

	s.e = harness_endpoint(s.rt);
	s.n = o.workers ? o.workers : 1;
	o.size = sizeof(o);
	o.lanes = lanes;
	if (!o.mailbox.slots)
		o.mailbox.slots = 256;
	CHECK_OK(peal_kernel_launch(s.rt, 0, &peal_program_spawns, &o, &s.k));
	for (i = 0; i < s.n; i++) {
		s.maker[i] = harness_spawn(s.k, "maker", (int)i);
		s.link[i] = harness_from(s.rt, s.e, i, s.maker[i], none);
		harness_to(s.rt, s.maker[i], s.e, orders);
	}
	return s;
}

/* Opens one worker with `slots` actor slots for children. */
static inline struct fixture fixture_plain(uint32_t slots)
{
	struct peal_kernel_options o = {
		.spawn.max_actors = slots,
		.spawn.state_bytes = sizeof(struct spawns_state),
		.max_monitors = 8,
		.on_failure = PEAL_FAILURE_END,
	};

	return fixture_open(o);
}

/* Sends an order to a maker and returns the completed order. */
static inline struct spawns_order obey(struct fixture *s, uint32_t worker,
				       uint16_t type, struct spawns_order o)
{
	struct peal_received r;

	CHECK_OK(peal_send(s->e, worker, type, &o, sizeof(o), MAX_WAIT, NULL));
	CHECK_OK(peal_receive(s->e, &o, sizeof(o), &r, MAX_WAIT));
	CHECK_EQ(r.type, type);
	CHECK_EQ(r.from, s->maker[worker]);
	CHECK_EQ(o.self, (uint32_t)s->maker[worker]);
	return o;
}

/* Maker 0 spawns one actor. Returns the result. On 0 the address is valid. */
static inline int try_make(struct fixture *s, uint32_t handler, uint64_t value,
			   uint64_t share_ports_with, uint64_t *address_out)
{
	struct spawns_order o = { .handler = handler,
				  .n = 1,
				  .value = value,
				  .share_ports_with =
					  (uint32_t)share_ports_with,
				  .init_bytes = 16 };

	o = obey(s, 0, SPAWNS_MAKE, o);
	*address_out = (s->maker[0] >> 32 << 32) | o.actor;
	return o.result;
}

static inline uint64_t make(struct fixture *s, uint64_t value)
{
	uint64_t address;

	CHECK_OK(try_make(s, SPAWNS_CHILD, value, 0, &address));
	return address;
}

static inline int end(struct fixture *s, uint64_t address)
{
	struct spawns_order o = { .actor = (uint32_t)address };

	return obey(s, 0, SPAWNS_END, o).result;
}

static inline struct peal_kernel_info info_of(struct fixture *s)
{
	struct peal_kernel_info info;

	CHECK_OK(peal_kernel_info(s->k, &info));
	return info;
}

/* Sends a message to a spawned actor by the link of maker 0. */
static inline void say(struct fixture *s, uint64_t address, uint16_t type)
{
	uint64_t nothing = 0;

	CHECK_OK(peal_send_to(s->e, 0, address, type, &nothing, sizeof(nothing),
			      MAX_WAIT, NULL));
}

/* Waits until all sent and told messages are handled. */
static inline void fixture_quiet(struct fixture *s)
{
	struct peal_kernel_info info = info_of(s);
	uint32_t i;

	for (i = 0; i < 2; i++) {
		harness_conserved(s->rt);
		EVENTUALLY(!peal_kernel_info(s->k, &info) &&
			   info.mailbox_sends == info.mailbox_done);
	}
}

/* Returns the state of an actor. Suspends the kernel meanwhile. */
static inline struct spawns_state state_of(struct fixture *s, uint64_t address)
{
	struct spawns_state state;

	fixture_quiet(s);
	CHECK_OK(peal_kernel_suspend(s->k, MAX_WAIT));
	CHECK_OK(peal_actor_state(s->rt, address, &state, sizeof(state)));
	CHECK_OK(peal_kernel_resume(s->k));
	return state;
}

/* Closes the fixture. Checks that `left` spawned actors exist. */
static inline void fixture_close(struct fixture *s, uint64_t left)
{
	struct peal_kernel_info info;

	if (info_of(s).state != PEAL_KERNEL_STOPPED)
		fixture_quiet(s);
	info = info_of(s);
	CHECK_EQ(info.spawned - info.retired, left);
	CHECK_EQ(info.actors, s->n + left);
	harness_conserved(s->rt);
	CHECK_OK(peal_runtime_shutdown(s->rt));
}

#endif
