/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_HOST_FIBER_H
#define PEALI_HOST_FIBER_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "runtime/backend/host/sanitize.h"

/*
 * A stack that a thread can change over to and from: lanes of a worker
 * (fibers.c), and all threads of a process in the simulator (../sim).
 *
 * A fiber is entered through its ucontext. After that fibers change over by
 * _setjmp and _longjmp, because swapcontext makes a system call for the signal
 * mask each time (R. S. Engelschall, "Portable Multithreading", USENIX 2000).
 * ThreadSanitizer keeps books of setjmp by thread, so it gets swapcontext.
 */

#define PEALI_FIBER_STACK_BYTES ((size_t)256 << 10)

/** A fiber, or the thread itself as it was before its first fiber ran. */
struct peali_fiber {
	ucontext_t context;
#if !PEAL_TSAN
	jmp_buf jump;
#endif
	uint8_t *stack;
	size_t stack_bytes;
	int entered, done;
	void *asan_stack; /* AddressSanitizer's side of the stack */
	void *tsan_fiber;
};

/*
 * Stacks for n fibers that lie `stride` bytes apart, one above the other, each
 * with a guard page at its low end. Returns how many bytes *memory_out has; 0
 * with errno.
 */
size_t peali_fiber_stacks(struct peali_fiber *first, size_t stride, uint32_t n,
			  uint8_t **memory_out);

/* *thread is the calling thread itself. */
void peali_fiber_of_thread(struct peali_fiber *thread);
/* It will begin with main, which never returns: it sets `done` and switches. */
void peali_fiber_prepare(struct peali_fiber *fiber, void (*main)(void));
/* The first thing that main does. `thread`: what it was entered from, if that
 * is the thread itself; else NULL. */
void peali_fiber_entered(struct peali_fiber *thread);
/* `from` is the running one; returns when somebody switches back to it. */
void peali_fiber_switch(struct peali_fiber *from, struct peali_fiber *to);
/* Of one that is done, or has never been entered. */
void peali_fiber_forget(struct peali_fiber *fiber);

#endif
