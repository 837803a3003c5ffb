/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_DEADLINE_FIXTURE_H
#define PEAL_TESTS_DEADLINE_FIXTURE_H

#include <peal/clock.h>
#include <peal/dead_letter.h>
#include <peal/deadline.h>

/*
 * Shared by the tests of clocks and deadlines: devices, kernels, orders,
 * reports. The devices' clocks differ by hours from the host's clock and from
 * each other.
 */

#include "runtime/deadlines.h"
#include "runtime/harness.h"

PEAL_DECLARE_PROGRAM(deadlines);
PEAL_DECLARE_PROGRAM(deadline_pools);

static uint32_t fixture_lanes = 1;
static const struct peal_program *fixture_program;

static inline struct peal_runtime *fixture_open(const char *links)
{
	setenv("PEAL_HOST_CLOCKS", "0:7200:400,1:-86400:-400", 1);
	return harness_open(2, links);
}

static inline struct peal_kernel *fixture_kernel(struct peal_runtime *rt,
						 int device, uint32_t workers)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .workers = workers,
					 .lanes = fixture_lanes,
					 .max_actors = 16,
					 .max_inputs = 8,
					 .max_ports = 8,
					 .mailbox.slots = 64 };
	struct peal_kernel *k = NULL;

	CHECK_OK(peal_kernel_launch(rt, device, fixture_program, &o, &k));
	return k;
}

/* Spawns a `mark`. Links it to the endpoint `to`, unless that is NULL. */
static inline uint64_t fixture_mark(struct peal_runtime *rt,
				    struct peal_kernel *k, int worker,
				    struct peal_endpoint *to)
{
	struct peal_link_options wide = {
		.capacity = 256,
		.message_bytes =
			sizeof(struct deadline_report) + PEAL_REQUEST_BYTES
	};
	uint64_t actor = harness_spawn(k, "mark", worker);

	if (to)
		harness_to(rt, actor, to, wide);
	return actor;
}

static inline struct peal_link *fixture_from(struct peal_runtime *rt,
					     struct peal_endpoint *e,
					     uint32_t port, uint64_t to)
{
	struct peal_link_options o = { .capacity = 256 };

	return harness_from(rt, e, port, to, o);
}

/* Sends an order with a deadline. 0: without a deadline. */
static inline void fixture_send(struct peal_endpoint *e, uint32_t port,
				uint64_t to, uint64_t deadline, uint16_t type,
				struct deadline_order o)
{
	struct peal_send_options options = { .size = sizeof(options),
					     .deadline = deadline };

	if (to)
		CHECK_OK(peal_send_to(e, port, to, type, &o, sizeof(o),
				      MAX_WAIT, &options));
	else
		CHECK_OK(peal_send(e, port, type, &o, sizeof(o), MAX_WAIT,
				   &options));
}

static inline struct deadline_report fixture_report(struct peal_endpoint *e)
{
	struct deadline_report out;
	struct peal_received r;

	CHECK_OK(peal_receive(e, &out, sizeof(out), &r, MAX_WAIT));
	CHECK_EQ(r.length, sizeof(out));
	CHECK_EQ(r.dead_letter, 0);
	return out;
}

/* The next report has this number and this deadline. */
static inline void fixture_reported(struct peal_endpoint *e, uint64_t number,
				    uint64_t deadline)
{
	struct deadline_report r = fixture_report(e);

	CHECK_EQ(r.number, number);
	CHECK_EQ(r.deadline, deadline);
}

/* No message has come. The caller knows that the kernel has no work left. */
static inline void fixture_silent(struct peal_endpoint *e)
{
	struct deadline_report out;
	struct peal_received r;

	CHECK_EQ(peal_receive(e, &out, sizeof(out), &r, 0), PEAL_EAGAIN);
}

/*
 * Waits until the workers of a kernel use narrow bounds of the host's clock.
 * The bounds of a launch may be wide if the host is busy. A worker reads new
 * bounds at the latest when it handles a control message.
 */
static inline void fixture_settle(struct peal_kernel *k)
{
	struct peal_clock clock;

	EVENTUALLY(!peal_kernel_clock(k, &clock) &&
		   clock.high - clock.low <= 5 * (uint64_t)MS);
	CHECK_OK(peal_kernel_suspend(k, MAX_WAIT));
	CHECK_OK(peal_kernel_resume(k));
}

/*
 * Waits until all workers of a kernel must know that a deadline has passed.
 * After fixture_settle, a worker's bounds are at most 10 ms wide.
 */
static inline void fixture_await(struct peal_kernel *k, uint64_t deadline)
{
	struct peal_clock clock;

	CHECK_OK(peal_kernel_clock(k, &clock));
	deadline += 2 * (clock.high - clock.low) + 20 * (uint64_t)MS;
	EVENTUALLY(peal_clock_host_ns() > deadline);
}

/* ---- dead letters -------------------------------------------------------- */

struct fixture_letter {
	struct peal_dead_letter about;
	uint64_t deadline;
	struct deadline_order order;
	uint8_t more[4096];
};

static inline void fixture_letters(struct peal_kernel *k,
				   struct peal_endpoint *e)
{
	struct peal_link_options o = { .size = sizeof(o), .capacity = 4096 };

	CHECK_OK(peal_dead_letter_connect(k, peal_endpoint_address(e), &o));
}

/* Receives the next dead letter and returns its length. It is about an expired
 * order. No order expires before its deadline. */
static inline uint64_t fixture_expired(struct peal_endpoint *e,
				       struct fixture_letter *out)
{
	struct peal_received r;

	memset(out, 0, sizeof(*out));
	CHECK_OK(peal_receive(e, out, sizeof(*out), &r, MAX_WAIT));
	CHECK_EQ(r.dead_letter, 1);
	CHECK_EQ(out->about.reason, PEAL_REASON_EXPIRED);
	CHECK_EQ(out->about.error, 0);
	CHECK(out->about.flags & PEAL_FLAG_DEADLINE);
	CHECK(r.length >= sizeof(out->about) + PEAL_DEADLINE_BYTES);
	CHECK(peal_clock_host_ns() >= out->deadline);
	return r.length;
}

static inline uint64_t fixture_mail_expired(struct peal_kernel *k)
{
	struct peal_kernel_info info;

	CHECK_OK(peal_kernel_info(k, &info));
	return info.mailbox_expired;
}

/* Stops the kernels and ends the runtime. All told messages are done. Each dead
 * message has expired. */
static inline void fixture_close(struct peal_runtime *rt,
				 struct peal_kernel *const *k, int n)
{
	struct peal_kernel_info info;
	int i;

	harness_conserved(rt);
	for (i = 0; i < n; i++) {
		CHECK_OK(peal_kernel_stop(k[i], MAX_WAIT));
		CHECK_OK(peal_kernel_info(k[i], &info));
		CHECK_EQ(info.mailbox_sends, info.mailbox_done);
		CHECK_EQ(info.mailbox_dead, info.mailbox_expired);
	}
	CHECK_OK(peal_runtime_shutdown(rt));
}

static inline struct deadline_order fixture_order(uint64_t number)
{
	struct deadline_order o = { .number = number };

	return o;
}

/* Returns the deadline of order i: soon, late or none (0), in turn. */
static inline uint64_t fixture_deadline_of(uint64_t i, uint64_t soon,
					   uint64_t late)
{
	return i % 3 == 0 ? soon : i % 3 == 1 ? late : 0;
}

#endif
