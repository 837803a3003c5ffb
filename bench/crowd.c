/* SPDX-License-Identifier: Apache-2.0 */
/* A crowd of actors: see bench/crowd.h. */
#include <sched.h>
#include <string.h>

#include <peal/barrier.h>
#include <peal/device/atomic.h>
#include <peal/memory.h>

#include "bench/crowd.h"

#define SLOTS 1024 /* of the mailboxes */
#define STATE_BYTES 4096 /* at least those of a member */

static int launch(struct peali_crowd *crowd, uint32_t lanes)
{
	struct peali_fixture *fixture = crowd->fixture;

	fixture->lanes = lanes;
	fixture->mailbox_slots = SLOTS;
	fixture->mailbox_bytes = sizeof(struct peali_bench_start);
	fixture->max_actors = crowd->n;
	fixture->arena_bytes = (uint64_t)crowd->n * STATE_BYTES;
	crowd->kernel = peali_fixture_launch(
		fixture, 0, &peal_program_peal_bench, crowd->n);
	fixture->mailbox_slots = fixture->mailbox_bytes = 0;
	fixture->max_actors = 0;
	fixture->arena_bytes = 0;
	return crowd->kernel < 0 ? -1 : 0;
}

/* Spawns a member and joins it. Members have successive numbers. */
static int add(struct peali_crowd *crowd, const char *handler, uint32_t member,
	       uint64_t *first)
{
	struct peali_fixture *fixture = crowd->fixture;
	uint64_t actor =
		peali_fixture_spawn(fixture, crowd->kernel, handler, member);

	if (!actor)
		return -1;
	if (!member)
		*first = actor;
	if (actor != *first + member) {
		peali_say("member %u of a crowd has a wrong number", member);
		return -1;
	}
	if (peal_barrier_join(fixture->barrier, fixture->kernels[crowd->kernel],
			      member) < 0)
		return -peali_say_error("join a barrier");
	return 0;
}

int peali_crowd_build(struct peali_crowd *crowd, struct peali_fixture *fixture,
		      const char *handler, uint32_t members, uint32_t lanes)
{
	static const int device = 0;
	uint64_t lines, first = 0;

	crowd->fixture = fixture;
	crowd->n = members;
	lines = peali_fixture_memory(fixture, PEAL_HOST_MEMORY,
				     (uint64_t)(members + 1) *
					     sizeof(struct peali_crowd_line));
	if (!lines)
		return -1;
	crowd->lines = (struct peali_crowd_line *)(uintptr_t)lines;
	memset(crowd->lines, 0, (members + 1) * sizeof(*crowd->lines));
	if (peal_barrier_create(fixture->runtime, &device, 1, members, NULL,
				&fixture->barrier) < 0) {
		fixture->barrier = NULL;
		return -peali_say_error("create a barrier");
	}
	if (launch(crowd, lanes))
		return -1;
	for (uint32_t i = 0; i < members; i++)
		if (add(crowd, handler, i, &first))
			return -1;
	crowd->port = peali_fixture_from_host(fixture, first,
					      sizeof(struct peali_bench_start));
	return crowd->port < 0 ? -1 : 0;
}

int peali_crowd_begin(const struct peali_crowd *crowd,
		      struct peali_bench_start *start)
{
	start->seed = peali_bench_seed();
	start->address = (uint64_t)(uintptr_t)crowd->lines;
	start->participants = crowd->n;
	return peali_fixture_start(crowd->fixture, crowd->port, start);
}

int peali_crowd_wait(const struct peali_crowd *crowd,
		     const struct peali_bench_start *start)
{
	uint64_t until = peali_bench_now_ns() + PEALI_FIXTURE_WAIT_NS;
	const uint64_t *done = &crowd->lines[crowd->n].done;

	while (peal_load_acquire_sys(done) != start->seed) {
		if (peali_bench_now_ns() > until) {
			peali_say("a crowd of %u workers did not end its round",
				  crowd->n);
			return -1;
		}
		sched_yield();
	}
	return 0;
}

int peali_crowd_run(const struct peali_crowd *crowd,
		    struct peali_bench_start *start)
{
	return peali_crowd_begin(crowd, start) ||
			       peali_crowd_wait(crowd, start) ?
		       -1 :
		       0;
}

struct peali_crowd_total peali_crowd_add(const struct peali_crowd_line *lines,
					 uint32_t n)
{
	struct peali_crowd_total t = { 0 };

	for (uint32_t i = 0; i < n; i++) {
		if (lines[i].put_ns > t.put_ns)
			t.put_ns = lines[i].put_ns;
		if (lines[i].elapsed_ns > t.elapsed_ns)
			t.elapsed_ns = lines[i].elapsed_ns;
		t.messages += lines[i].messages;
		t.sum += lines[i].sum;
		t.wrong += lines[i].wrong;
	}
	return t;
}
