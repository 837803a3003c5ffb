/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/host_support/fibers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <peal/device/impl/base/host_support.h>
#include "runtime/host_support/fiber.h"

struct lane {
	struct peali_fiber fiber;
	int result;
	uint32_t syncs; /* the parity selects a sync_mark */
};

struct peali_fibers {
	/* all lanes; the running lane; lanes that are not done */
	uint32_t n, now, left;
	uint8_t *stacks;
	size_t stacks_bytes;
	peali_lane_fn fn;
	void *context;
	struct peali_fiber thread;
	struct lane *lane;
	/* Addresses for TSAN_RELEASE and TSAN_ACQUIRE: start, end and syncs. */
	char start_mark, end_mark, sync_mark[2];
};

static _Thread_local struct peali_fibers *current;

/*
 * Tells ThreadSanitizer the order that a GPU guarantees between lanes.
 *
 * It treats each lane as a thread. Memory accesses of a lane before its n-th
 * sync happen before accesses of all lanes after their n-th sync. No other
 * order is declared. So it reports lanes that race between two syncs, although
 * the lanes run one at a time here.
 *
 * There are two sync marks, used alternately. Otherwise a release at sync n + 1
 * would also order a lane that only returns from sync n.
 */
#if PEAL_TSAN
#define TSAN_RELEASE(mark) __tsan_release(mark)
#define TSAN_ACQUIRE(mark) __tsan_acquire(mark)
#else
#define TSAN_RELEASE(mark) ((void)(mark))
#define TSAN_ACQUIRE(mark) ((void)(mark))
#endif

/*
 * Lanes keep ThreadSanitizer's states from one epoch to the next, as a new state
 * takes milliseconds. Lanes of other workers never get these states: a state has
 * the order of its past, which would hide races. With clang a state grows with
 * each use, since lane_main() does not return.
 */
#ifdef __clang__
#define KEEPS_STATES 0
#else
#define KEEPS_STATES 1
#endif

/* Returns the next lane after the current lane that is not done. */
PEALI_NO_TSAN static struct lane *next_lane(struct peali_fibers *f)
{
	do
		f->now = f->now + 1 < f->n ? f->now + 1 : 0;
	while (f->lane[f->now].fiber.done);
	return &f->lane[f->now];
}

PEALI_NO_TSAN void peal_host_sync_lanes(void)
{
	struct peali_fibers *f = current;
	struct lane *self, *next;
	char *mark;

	if (!f)
		return;
	self = &f->lane[f->now];
	mark = &f->sync_mark[self->syncs++ & 1];
	TSAN_RELEASE(mark);
	next = next_lane(f);
	if (next != self)
		peali_fiber_switch(&self->fiber, &next->fiber);
	TSAN_ACQUIRE(mark);
}

/* The first and last function on a lane's stack. Never returns. */
PEALI_NO_TSAN static void lane_main(void)
{
	struct peali_fibers *f = current;
	struct lane *self = &f->lane[f->now];

	peali_fiber_entered(f->now == 0 ? &f->thread : NULL);
	TSAN_ACQUIRE(&f->start_mark);
	self->result = f->fn(f->context, f->now);
	TSAN_RELEASE(&f->sync_mark[self->syncs & 1]);
	TSAN_RELEASE(&f->end_mark);
	self->fiber.done = 1;
	f->left--;
	peali_fiber_switch(&self->fiber,
			   f->left ? &next_lane(f)->fiber : &f->thread);
}

PEALI_NO_TSAN int peali_fibers_run(struct peali_fibers *f, peali_lane_fn fn,
				   void *context)
{
	int again = 1;
	uint32_t i;

	f->fn = fn;
	f->context = context;
	f->now = 0;
	f->left = f->n;
	peali_fiber_of_thread(&f->thread);
	for (i = 0; i < f->n; i++) {
		f->lane[i].syncs = 0;
		peali_fiber_prepare(&f->lane[i].fiber, lane_main);
	}
	current = f;
	TSAN_RELEASE(&f->start_mark);
	peali_fiber_switch(&f->thread, &f->lane[0].fiber);
	TSAN_ACQUIRE(&f->end_mark);
	current = NULL;
	for (i = 0; i < f->n; i++) {
		again = again && f->lane[i].result == 1;
		if (!KEEPS_STATES)
			peali_fiber_forget(&f->lane[i].fiber);
	}
	return again;
}

struct peali_fibers *peali_fibers_create(uint32_t lanes)
{
	struct peali_fibers *f = calloc(1, sizeof(*f));

	if (f) {
		f->n = lanes;
		f->lane = calloc(lanes, sizeof(*f->lane));
	}
	if (f && f->lane)
		f->stacks_bytes = peali_fiber_stacks(
			&f->lane->fiber, sizeof(*f->lane), lanes, &f->stacks);
	if (!f || !f->stacks_bytes) {
		int error = errno;

		peali_fibers_destroy(f);
		errno = error;
		return NULL;
	}
	return f;
}

void peali_fibers_destroy(struct peali_fibers *f)
{
	uint32_t i;

	if (!f)
		return;
	for (i = 0; f->lane && i < f->n; i++)
		peali_fiber_forget(&f->lane[i].fiber);
	if (f->stacks)
		munmap(f->stacks, f->stacks_bytes);
	free(f->lane);
	free(f);
}
