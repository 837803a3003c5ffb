/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The checked longjmp of _FORTIFY_SOURCE takes a jump to another stack for a
 * mistake; jumping to another stack is what this file is for.
 */
#undef _FORTIFY_SOURCE
#define _FORTIFY_SOURCE 0

#include "runtime/backend/host/fibers.h"

#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <peal/device/host.h>
#include "runtime/backend/error.h"
#include "runtime/backend/host/sanitize.h"

#define STACK_BYTES ((size_t)256 << 10)

/*
 * A lane is entered through its ucontext. After that lanes change over by
 * _setjmp and _longjmp, because swapcontext makes a system call for the signal
 * mask each time (R. S. Engelschall, "Portable Multithreading", USENIX 2000).
 * ThreadSanitizer keeps books of setjmp by thread, so it gets swapcontext.
 */
#define SWITCH_BY_JUMP (!PEAL_TSAN)

/* A lane, or the thread itself as it was before the lanes ran. */
struct fiber {
	ucontext_t context;
#if SWITCH_BY_JUMP
	jmp_buf jump;
#endif
	uint8_t *stack;
	size_t stack_bytes;
	int entered, done, result;
	uint32_t syncs; /* parity counts: see TSAN_SYNC */
	void *asan_stack; /* AddressSanitizer's side of the stack */
	void *tsan_fiber;
};

struct peali_fibers {
	uint32_t n, now, left; /* lanes; the one that runs; not done */
	uint8_t *stacks;
	size_t stacks_bytes;
	peali_lane_fn fn;
	void *context;
	struct fiber thread;
	struct fiber *lane;
	/* Addresses that stand for "start", "end" and syncs, for TSAN_SYNC. */
	char start_mark, end_mark, sync_mark[2];
};

static _Thread_local struct peali_fibers *current;

/*
 * ThreadSanitizer sees each lane as a thread of its own, and between lanes it
 * gets to know the order that a GPU promises and no more: what a lane did
 * before its n-th sync comes before what any lane does after its n-th. So it
 * reports lanes that race between two syncs, although here they take turns.
 * Two marks, used in turn, keep a lane that goes on to sync n + 1 from handing
 * that to a lane that only just returns from sync n.
 */
#if PEAL_TSAN
#define TSAN_RELEASE(mark) __tsan_release(mark)
#define TSAN_ACQUIRE(mark) __tsan_acquire(mark)
#else
#define TSAN_RELEASE(mark) ((void)(mark))
#define TSAN_ACQUIRE(mark) ((void)(mark))
#endif

/* The stack is about to change to that of `to`; `from` comes back or not. */
PEALI_NO_TSAN static void before_switch(struct fiber *from, struct fiber *to)
{
#if PEAL_ASAN
	__sanitizer_start_switch_fiber(from->done ? NULL : &from->asan_stack,
				       to->stack, to->stack_bytes);
#elif PEAL_TSAN
	__tsan_switch_to_fiber(to->tsan_fiber, __tsan_switch_to_fiber_no_sync);
#endif
	(void)from;
	(void)to;
}

PEALI_NO_TSAN static void after_switch(struct fiber *self)
{
#if PEAL_ASAN
	__sanitizer_finish_switch_fiber(self->asan_stack, NULL, NULL);
#endif
	(void)self;
}

PEALI_NO_TSAN static void switch_fiber(struct fiber *from, struct fiber *to)
{
	before_switch(from, to);
#if SWITCH_BY_JUMP
	if (!_setjmp(from->jump)) {
		if (to->entered)
			_longjmp(to->jump, 1);
		to->entered = 1;
		setcontext(&to->context);
	}
#else
	to->entered = 1;
	swapcontext(&from->context, &to->context);
#endif
	after_switch(from);
}

/* The next lane after the current one that is not done. */
PEALI_NO_TSAN static struct fiber *next_lane(struct peali_fibers *f)
{
	do
		f->now = f->now + 1 < f->n ? f->now + 1 : 0;
	while (f->lane[f->now].done);
	return &f->lane[f->now];
}

PEALI_NO_TSAN void peal_host_sync_lanes(void)
{
	struct peali_fibers *f = current;
	struct fiber *self, *next;
	char *mark;

	if (!f)
		return;
	self = &f->lane[f->now];
	mark = &f->sync_mark[self->syncs++ & 1];
	TSAN_RELEASE(mark);
	next = next_lane(f);
	if (next != self)
		switch_fiber(self, next);
	TSAN_ACQUIRE(mark);
}

/* The first and last thing on a lane's stack; never returns. */
PEALI_NO_TSAN static void lane_main(void)
{
	struct peali_fibers *f = current;
	struct fiber *self = &f->lane[f->now];

#if PEAL_ASAN
	/* Lane 0 comes from the thread: that is where to learn its stack. */
	if (f->now == 0)
		__sanitizer_finish_switch_fiber(NULL,
						(const void **)&f->thread.stack,
						&f->thread.stack_bytes);
	else
		__sanitizer_finish_switch_fiber(NULL, NULL, NULL);
#endif
	TSAN_ACQUIRE(&f->start_mark);
	self->result = f->fn(f->context, f->now);
	TSAN_RELEASE(&f->sync_mark[self->syncs & 1]);
	TSAN_RELEASE(&f->end_mark);
	self->done = 1;
	f->left--;
	switch_fiber(self, f->left ? next_lane(f) : &f->thread);
}

PEALI_NO_TSAN static void prepare(struct fiber *fiber)
{
	fiber->entered = 0;
	fiber->done = 0;
	fiber->syncs = 0;
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = fiber->stack;
	fiber->context.uc_stack.ss_size = fiber->stack_bytes;
	fiber->context.uc_link = NULL;
	makecontext(&fiber->context, lane_main, 0);
#if PEAL_TSAN
	fiber->tsan_fiber = __tsan_create_fiber(0);
#endif
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
	f->thread.entered = 1;
#if PEAL_TSAN
	f->thread.tsan_fiber = __tsan_get_current_fiber();
#endif
	for (i = 0; i < f->n; i++)
		prepare(&f->lane[i]);
	current = f;
	TSAN_RELEASE(&f->start_mark);
	switch_fiber(&f->thread, &f->lane[0]);
	TSAN_ACQUIRE(&f->end_mark);
	current = NULL;
	for (i = 0; i < f->n; i++) {
		again = again && f->lane[i].result == 1;
#if PEAL_TSAN
		__tsan_destroy_fiber(f->lane[i].tsan_fiber);
#endif
	}
	return again;
}

/* Stacks lie one above the other, each with a guard page at its low end. */
static int make_stacks(struct peali_fibers *f)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t stride = STACK_BYTES + page;
	uint32_t i;

	f->stacks_bytes = stride * f->n;
	f->stacks = mmap(NULL, f->stacks_bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (f->stacks == MAP_FAILED) {
		f->stacks = NULL;
		return -1;
	}
	for (i = 0; i < f->n; i++) {
		if (mprotect(f->stacks + i * stride, page, PROT_NONE) < 0)
			return -1;
		f->lane[i].stack = f->stacks + i * stride + page;
		f->lane[i].stack_bytes = STACK_BYTES;
	}
	return 0;
}

int peali_fibers_create(uint32_t lanes, struct peali_fibers **out)
{
	struct peali_fibers *f = calloc(1, sizeof(*f));

	if (f) {
		f->n = lanes;
		f->lane = calloc(lanes, sizeof(*f->lane));
	}
	if (!f || !f->lane || make_stacks(f) < 0) {
		int error = errno;

		peali_fibers_destroy(f);
		return peali_fail_driver(PEAL_ENOMEM, error, "host: launch",
					 "no stacks for a worker of %u lanes: "
					 "%s; use fewer lanes or workers",
					 (unsigned)lanes, strerror(error));
	}
	*out = f;
	return 0;
}

void peali_fibers_destroy(struct peali_fibers *f)
{
	if (!f)
		return;
	if (f->stacks)
		munmap(f->stacks, f->stacks_bytes);
	free(f->lane);
	free(f);
}
