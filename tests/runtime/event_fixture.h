/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_EVENT_FIXTURE_H
#define PEAL_TESTS_EVENT_FIXTURE_H

/* Two devices with a kernel, an actor that counts, and an event of the host each. */

#include <peal/event.h>

#include "runtime/both_lanes.h"
#include "runtime/events.h"
#include "runtime/task_fixture.h"

PEAL_DECLARE_PROGRAM(events);

static const struct peal_link_options plain = { .capacity = 0 };

struct stage {
	struct peal_runtime *rt;
	struct peal_endpoint *e;
	struct peal_kernel *k[2];
	uint64_t actor[2]; /* counts its messages; port i leads to it */
	struct peal_event *event[2]; /* the host records them on device i */
};

static struct stage s;

/* Makes an event of the host on device 0 or 1. The other device watches it. */
static inline struct peal_event *host_event(struct peal_runtime *rt, int device)
{
	struct peal_event_options o = { .size = sizeof(o),
					.by_host = 1,
					.name = device ? "one" : "zero" };
	const int other = 1 - device;
	struct peal_event *e = NULL;

	CHECK_OK(peal_event_create(rt, device, &other, 1, &o, &e));
	return e;
}

static inline struct peal_kernel *launch(int device)
{
	struct peal_kernel_options o = { .size = sizeof(o),
					 .lanes = lanes,
					 .mailbox.slots = 16 };
	struct peal_kernel *k = NULL;

	CHECK_OK(
		peal_kernel_launch(s.rt, device, &peal_program_events, &o, &k));
	return k;
}

static inline void open_stage(struct peal_link_options link)
{
	int i;

	memset(&s, 0, sizeof(s));
	s.rt = harness_open(2, "");
	s.e = harness_endpoint(s.rt);
	for (i = 0; i < 2; i++) {
		s.k[i] = launch(i);
		s.actor[i] = harness_spawn(s.k[i], "countdown", -1);
		harness_from(s.rt, s.e, (uint32_t)i, s.actor[i], link);
		s.event[i] = host_event(s.rt, i);
	}
}

static inline void close_stage(void)
{
	int i;

	CHECK_OK(peal_device_sync(s.rt, PEAL_ALL_DEVICES, MAX_WAIT));
	for (i = 0; i < 2; i++)
		CHECK_OK(peal_kernel_stop(s.k[i], MAX_WAIT));
	harness_conserved(s.rt);
	CHECK_OK(peal_runtime_shutdown(s.rt));
}

/* Returns the messages that an actor has handled, while its kernel pauses. The
 * worker has polled its inputs before. */
static inline uint64_t counted(struct peal_kernel *k, uint64_t actor)
{
	uint64_t n = 0;

	CHECK_OK(peal_kernel_suspend(k, MAX_WAIT));
	CHECK_OK(peal_actor_state(s.rt, actor, &n, sizeof(n)));
	CHECK_OK(peal_kernel_resume(k));
	return n;
}

#endif
