/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_MONITOR_FIXTURE_H
#define PEAL_TESTS_MONITOR_FIXTURE_H

#include <peal/monitor.h>
#include <peal/supervisor.h>

#include "runtime/both_lanes.h"
#include "runtime/monitors.h"

PEAL_DECLARE_PROGRAM(monitors);

#define WORKERS 3
#define MEMBERS_MAX 24
#define HOUR (3600 * SECOND)

/*
 * A kernel of members, one on each worker in turn. Each member has a link from
 * the endpoint `e` and a link to it. The endpoint `ear` receives the down
 * messages.
 */
struct fixture {
	struct peal_runtime *rt;
	struct peal_endpoint *e, *ear;
	struct peal_kernel *k;
	uint64_t actor[MEMBERS_MAX];
	struct peal_link *link[MEMBERS_MAX];
	uint32_t n;
};

static inline struct fixture fixture_open(struct peal_kernel_options o)
{
	struct fixture s = { .rt = harness_open(1, "") };

	s.e = harness_endpoint(s.rt);
	s.ear = harness_endpoint(s.rt);
	o.size = sizeof(o);
	o.workers = WORKERS;
	o.lanes = lanes;
	o.max_inputs = MEMBERS_MAX;
	o.max_supervisors = 3;
	o.on_failure = PEAL_FAILURE_END;
	if (!o.mailbox.slots)
		o.mailbox.slots = 128;
	if (!o.max_monitors)
		o.max_monitors = 64;
	CHECK_OK(peal_kernel_launch(s.rt, 0, &peal_program_monitors, &o, &s.k));
	return s;
}

static inline struct fixture fixture_plain(void)
{
	struct peal_kernel_options o = { .workers = 1 };

	return fixture_open(o);
}

/* Adds a member and returns its number. */
static inline uint32_t add(struct fixture *s,
			   struct peal_supervisor *supervisor)
{
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = PEAL_WORKER(s->n % WORKERS),
					.supervisor = supervisor };
	struct peal_link_options none = { .capacity = 0 };
	struct peal_link_options states = { .message_bytes = sizeof(
						    struct monitors_state) };
	uint32_t i = s->n++;

	CHECK(i < MEMBERS_MAX);
	CHECK_OK(peal_actor_spawn(s->k, "member", &o, &s->actor[i]));
	s->link[i] = harness_from(s->rt, s->e, i, s->actor[i], none);
	harness_to(s->rt, s->actor[i], s->e, states);
	return i;
}

static inline void add_some(struct fixture *s, uint32_t n)
{
	while (n--)
		add(s, NULL);
}

/* Spawns an actor without links, so that it can be retired. */
static inline uint64_t spawn(struct fixture *s, uint32_t worker)
{
	return harness_spawn(s->k, "mute", (int)worker);
}

static inline struct peal_supervisor *
supervise(struct fixture *s, uint32_t strategy, uint32_t restarts)
{
	struct peal_supervisor_options o = { .size = sizeof(o),
					     .strategy = strategy,
					     .max_restarts = restarts,
					     .period_ns = HOUR };
	struct peal_supervisor *supervisor = NULL;

	CHECK_OK(peal_supervisor_create(s->k, &o, &supervisor));
	return supervisor;
}

static inline void tell(struct fixture *s, uint32_t i, uint16_t type)
{
	struct monitors_order nothing = { 0, 0, 0, 0, 0, 0 };

	CHECK_OK(peal_send(s->e, i, type, &nothing, sizeof(nothing), MAX_WAIT,
			   NULL));
}

/* Returns the state that a member reports. */
static inline struct monitors_state ask(struct fixture *s, uint32_t i)
{
	struct monitors_state state;
	struct peal_received r;

	tell(s, i, MONITORS_ASK);
	CHECK_OK(peal_receive(s->e, &state, sizeof(state), &r, MAX_WAIT));
	CHECK_EQ(r.from, s->actor[i]);
	CHECK_EQ(r.type, MONITORS_ASK);
	return state;
}

/* Orders a member to set or cancel a monitor. Returns its answer. */
static inline struct monitors_order
order(struct fixture *s, uint32_t i, uint16_t type, struct monitors_order o)
{
	struct peal_received r;

	CHECK_OK(peal_send(s->e, i, type, &o, sizeof(o), MAX_WAIT, NULL));
	CHECK_OK(peal_receive(s->e, &o, sizeof(o), &r, MAX_WAIT));
	CHECK_EQ(r.from, s->actor[i]);
	CHECK_EQ(r.type, type);
	return o;
}

/* Makes a member fail on a message, and waits until it has. */
static inline void fail(struct fixture *s, uint32_t i)
{
	uint64_t dead = harness_info(s->link[i]).dead[PEAL_REASON_HANDLER];

	tell(s, i, MONITORS_FAIL);
	EVENTUALLY(harness_info(s->link[i]).dead[PEAL_REASON_HANDLER] ==
		   dead + 1);
}

static inline uint64_t monitor(struct fixture *s, uint64_t owner,
			       uint64_t actor, uint32_t flags, uint32_t type,
			       uint64_t tag)
{
	struct peal_monitor_options o = {
		.size = sizeof(o), .flags = flags, .type = type, .tag = tag
	};
	uint64_t monitor = 0;

	CHECK_OK(peal_monitor(s->k, owner, actor, &o, &monitor));
	CHECK(monitor != 0);
	return monitor;
}

/* The endpoint `ear` monitors an actor. */
static inline uint64_t hear(struct fixture *s, uint64_t actor, uint32_t flags)
{
	return monitor(s, peal_endpoint_address(s->ear), actor, flags,
		       MONITORS_DOWN, actor + 1);
}

static inline void check_down(const struct peal_down *down, uint64_t actor,
			      uint64_t monitor, uint32_t reason, int error)
{
	CHECK_EQ(down->actor, actor);
	CHECK_EQ(down->monitor, monitor);
	CHECK_EQ(down->tag, actor + 1);
	CHECK_EQ(down->reason, reason);
	CHECK_EQ(down->error, error);
}

/* The next message to `ear` is this down message. */
static inline void heard(struct fixture *s, uint64_t actor, uint64_t monitor,
			 uint32_t reason, int error)
{
	struct peal_received r;
	struct peal_down down;

	CHECK_OK(peal_receive(s->ear, &down, sizeof(down), &r, MAX_WAIT));
	CHECK_EQ(r.down, 1);
	CHECK_EQ(r.dead_letter, 0);
	CHECK_EQ(r.from, actor);
	CHECK_EQ(r.type, MONITORS_DOWN);
	CHECK_EQ(r.length, sizeof(down));
	check_down(&down, actor, monitor, reason, error);
}

/* No further message comes to `ear`. `open`: monitors of `ear` that are set. */
static inline void heard_all(struct fixture *s, uint32_t open)
{
	struct peal_received r;
	struct peal_down down;

	CHECK_EQ(peal_receive(s->ear, &down, sizeof(down), &r, 5 * MS),
		 open ? PEAL_ETIMEDOUT : PEAL_ENOTCONN);
}

/* Waits until a member has n down messages. The last has these values. */
static inline void told(struct fixture *s, uint32_t i, uint64_t n,
			uint64_t actor, uint64_t monitor, uint32_t reason,
			int error)
{
	struct monitors_state state;

	EVENTUALLY(ask(s, i).downs >= n);
	state = ask(s, i);
	CHECK_EQ(state.downs, n);
	check_down(&state.down, actor, monitor, reason, error);
}

/* Waits until all told messages are done, then checks the links and closes. */
static inline void fixture_close(struct fixture *s)
{
	struct peal_kernel_info info;
	uint32_t i;

	for (i = 0; i < 2; i++) { /* the first pass may cause messages */
		EVENTUALLY(!peal_kernel_info(s->k, &info) &&
			   (info.state != PEAL_KERNEL_RUNNING ||
			    info.mailbox_sends == info.mailbox_done));
	}
	CHECK(info.mailbox_dead <= info.mailbox_done);
	harness_conserved(s->rt);
	CHECK_OK(peal_runtime_shutdown(s->rt));
}

#endif
