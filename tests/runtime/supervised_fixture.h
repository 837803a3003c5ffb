/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_SUPERVISED_FIXTURE_H
#define PEAL_TESTS_SUPERVISED_FIXTURE_H

/* Opens a runtime with actors that fail on demand, for tests of supervisors. */

#include "runtime/harness.h"
#include "runtime/supervised.h"

PEAL_DECLARE_PROGRAM(supervised);

#define WORKERS 3
#define SUPERVISED_MAX 16
#define LONG_NS (3600 * SECOND)

/* Actors that may fail. Each has a link from and to the endpoint. */
struct fixture {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *k;
	uint32_t workers;
	uint64_t actor[SUPERVISED_MAX], name[SUPERVISED_MAX];
	struct peal_link *link[SUPERVISED_MAX];
	uint32_t n;
	struct peal_link *letters[WORKERS];
};

static inline void open_with_timers(struct fixture *h, uint32_t lanes,
				    uint32_t n, uint32_t timers)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = WORKERS,
					 .lanes = lanes,
					 .max_inputs = SUPERVISED_MAX,
					 .max_timers = timers,
					 .mailbox.slots = timers ? 64 : 0,
					 .max_supervisors = n };

	memset(h, 0, sizeof(*h));
	h->rt = harness_open(1, "");
	h->e = harness_endpoint(h->rt);
	CHECK_OK(peal_kernel_launch(h->rt, 0, &peal_program_supervised, &o,
				    &h->k));
}

static inline void open_fixture(struct fixture *h, uint32_t lanes, uint32_t n)
{
	open_with_timers(h, lanes, n, 0);
}

static inline struct peal_supervisor *make(struct fixture *h, uint32_t strategy,
					   uint32_t restarts, int64_t period_ns,
					   struct peal_supervisor *parent)
{
	struct peal_supervisor_options o = { .size = sizeof(o),
					     .strategy = strategy,
					     .max_restarts = restarts,
					     .period_ns = (uint64_t)period_ns,
					     .parent = parent };
	struct peal_supervisor *s = NULL;

	CHECK_OK(peal_supervisor_create(h->k, &o, &s));
	return s;
}

/* Spawns an actor. Its name is the first word of `init`. Returns its index. */
static inline uint32_t add_to(struct fixture *h, const char *handler,
			      struct peal_supervisor *s, const void *init,
			      uint64_t bytes)
{
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = PEAL_WORKER(h->n % WORKERS),
					.init = init,
					.init_bytes = bytes,
					.supervisor = s };
	struct peal_link_options none = { .capacity = 0 };
	uint32_t i = h->n++;

	CHECK(i < SUPERVISED_MAX);
	memcpy(&h->name[i], init, sizeof(h->name[i]));
	CHECK_OK(peal_actor_spawn(h->k, handler, &o, &h->actor[i]));
	h->link[i] = harness_from(h->rt, h->e, i, h->actor[i], none);
	harness_to(h->rt, h->actor[i], h->e, none);
	return i;
}

static inline uint32_t add(struct fixture *h, struct peal_supervisor *s)
{
	uint64_t name = 1000 + h->n;

	return add_to(h, "supervised", s, &name, sizeof(name));
}

static inline void tell(struct fixture *h, uint32_t i, uint16_t type)
{
	uint64_t zero = 0;

	CHECK_OK(peal_send(h->e, i, type, &zero, sizeof(zero), MAX_WAIT, NULL));
}

/* Asks an actor for its state. */
static inline struct supervised ask(struct fixture *h, uint32_t i)
{
	struct peal_received r;
	struct supervised state;

	tell(h, i, SUPERVISED_ASK);
	CHECK_OK(peal_receive(h->e, &state, sizeof(state), &r, MAX_WAIT));
	CHECK_EQ(r.from, h->actor[i]);
	CHECK_EQ(state.name, h->name[i]);
	return state;
}

/* Checks that an actor has counted `before` messages since it last started. */
static inline void expect_count(struct fixture *h, uint32_t i, uint64_t before)
{
	struct supervised state = ask(h, i);

	CHECK_EQ(state.count, before + 1);
	CHECK_EQ(state.spoilt, 0);
}

static inline struct peal_supervisor_info info_of(struct peal_supervisor *s)
{
	struct peal_supervisor_info info;

	CHECK_OK(peal_supervisor_info(s, &info));
	return info;
}

/* Waits until all workers have polled their control words. */
static inline void all_look(struct fixture *h)
{
	CHECK_OK(peal_kernel_suspend(h->k, MAX_WAIT));
	CHECK_OK(peal_kernel_resume(h->k));
}

/* Makes an actor fail. Waits until all workers know of the failure. */
static inline void fail(struct fixture *h, uint32_t i)
{
	struct peal_link *l = h->link[i];
	uint64_t dead = harness_info(l).dead[PEAL_REASON_HANDLER];

	tell(h, i, SUPERVISED_FAIL);
	EVENTUALLY(harness_info(l).dead[PEAL_REASON_HANDLER] == dead + 1);
	all_look(h);
}

/* Makes an actor fail `times` times. It must restart each time. */
static inline void fail_and_restart(struct fixture *h, uint32_t i,
				    uint32_t times)
{
	while (times--) {
		fail(h, i);
		expect_count(h, i, 0);
	}
}

static inline void count_all(struct fixture *h)
{
	uint32_t i;

	for (i = 0; i < h->n; i++)
		tell(h, i, SUPERVISED_COUNT);
	for (i = 0; i < h->n; i++)
		ask(h, i);
}

static inline void close_fixture(struct fixture *h)
{
	harness_conserved(h->rt);
	CHECK_OK(peal_runtime_shutdown(h->rt));
}

#endif
