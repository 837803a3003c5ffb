/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_SENDERS_FIXTURE_H
#define PEAL_TESTS_SENDERS_FIXTURE_H

#include <peal/device/sender.h>
#include <peal/migration.h>
#include <peal/pool.h>
#include <peal/proxy.h>
#include <peal/request.h>
#include "runtime/both_lanes.h"
#include "runtime/senders.h"

/* Kernels of the program senders.c on two devices. `log` receives reports. */

PEAL_DECLARE_PROGRAM(senders);

#define KERNELS 2
#define WORKERS 2

struct fixture {
	struct peal_runtime *rt;
	struct peal_kernel *k[KERNELS]; /* kernel i on device i */
	struct peal_endpoint *in, *log;
	uint64_t ids; /* ids given so far */
};

static const struct peal_link_options plain = { .capacity = 64 };

static inline void open_fixture(struct fixture *s)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = WORKERS,
					 .lanes = lanes,
					 .max_inputs = 32,
					 .max_ports = 32,
					 .mailbox.slots = 256,
					 .mailbox.priority = 1,
					 .mailbox.max_limits = 4,
					 .max_timers = 4,
					 .max_asks = 4 };
	int i;

	memset(s, 0, sizeof(*s));
	s->rt = harness_open(KERNELS, "");
	s->in = harness_endpoint(s->rt);
	s->log = harness_endpoint(s->rt);
	for (i = 0; i < KERNELS; i++)
		CHECK_OK(peal_kernel_launch(s->rt, i, &peal_program_senders, &o,
					    &s->k[i]));
}

/* No report is left. Closes all. */
static inline void close_fixture(struct fixture *s)
{
	struct peal_received got;
	struct senders_reply r;
	int i;

	for (i = 0; i < KERNELS; i++)
		harness_stop_quiet(s->k[i]);
	CHECK(peal_receive(s->log, &r, sizeof(r), &got, 0) < 0);
	CHECK_OK(peal_runtime_shutdown(s->rt));
}

/* Spawns an actor, and connects its port 0 to the log. */
static inline uint64_t spawn(struct fixture *s, struct peal_kernel *k,
			     const char *handler, int worker)
{
	uint64_t actor = harness_spawn(k, handler, worker);

	harness_to(s->rt, actor, s->log, plain);
	return actor;
}

/* Returns a query with a new id. */
static inline struct senders_query query(struct fixture *s, uint64_t to,
					 uint32_t how)
{
	struct senders_query q = { .id = ++s->ids,
				   .to = (uint32_t)to,
				   .how = how };

	return q;
}

static inline void send_query(struct peal_endpoint *e, uint32_t port,
			      uint16_t type, struct senders_query q)
{
	CHECK_OK(peal_send(e, port, type, &q, sizeof(q), MAX_WAIT, NULL));
}

/* Receives a message of `type` at an endpoint. */
static inline struct senders_reply take(struct peal_endpoint *e, uint16_t type)
{
	struct peal_received got;
	struct senders_reply r;

	CHECK_OK(peal_receive(e, &r, sizeof(r), &got, MAX_WAIT));
	CHECK_EQ(got.type, type);
	CHECK_EQ(got.length, sizeof(r));
	return r;
}

/* Receives the report with this id and result. */
static inline struct senders_reply take_report(struct fixture *s, uint64_t id,
					       int result)
{
	struct senders_reply r = take(s->log, SENDERS_REPORT);

	CHECK_EQ(r.id, id);
	CHECK_EQ(r.result, result);
	return r;
}

static inline uint64_t migrate(struct fixture *s, uint64_t actor, int kernel,
			       uint32_t worker, uint64_t share_ports_with)
{
	struct peal_migration_options o = { .size = sizeof(o),
					    .worker = PEAL_WORKER(worker),
					    .kernel = s->k[kernel],
					    .share_ports_with =
						    share_ports_with };
	uint64_t next = 0;

	CHECK_OK(peal_actor_migrate(s->rt, actor, &o, &next));
	return next;
}

static inline uint64_t spawn_sharing(struct peal_kernel *k, const char *handler,
				     uint32_t worker, uint64_t share_ports_with)
{
	struct peal_actor_options o = { .size = sizeof(o),
					.worker = PEAL_WORKER(worker),
					.share_ports_with = share_ports_with };
	uint64_t address = 0;

	CHECK_OK(peal_actor_spawn(k, handler, &o, &address));
	return address;
}

#endif
