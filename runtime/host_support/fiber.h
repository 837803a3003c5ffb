/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_HOST_FIBER_H
#define PEALI_HOST_FIBER_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "runtime/host_support/sanitize.h"

/*
 * Stacks that a thread can switch between. They carry the lanes of a worker
 * (fibers.c), and all threads of a process in the simulator (../sim).
 *
 * A fiber is entered through its ucontext. After that, fibers switch by _setjmp
 * and _longjmp. They are faster than swapcontext, which makes a system call for
 * the signal mask (R. S. Engelschall, "Portable Multithreading", USENIX 2000).
 * ThreadSanitizer tracks setjmp per thread, so its builds use swapcontext.
 */

#define PEALI_FIBER_STACK_BYTES ((size_t)256 << 10)

/** A fiber, or the state of the thread before its first fiber ran. */
struct peali_fiber {
	ucontext_t context;
#if !PEAL_TSAN
	jmp_buf jump;
#endif
	uint8_t *stack;
	size_t stack_bytes;
	int entered, done;
	void *asan_stack; /* AddressSanitizer's state of the stack */
	void *tsan_fiber; /* ThreadSanitizer's state; NULL: none yet */
};

/*
 * Allocates stacks for n fibers, which lie `stride` bytes apart in memory. Each
 * stack has a guard page at its low end. Returns the size of *memory_out in
 * bytes; 0 with errno.
 */
size_t peali_fiber_stacks(struct peali_fiber *first, size_t stride, uint32_t n,
			  uint8_t **memory_out);

/* Makes *thread stand for the calling thread. */
void peali_fiber_of_thread(struct peali_fiber *thread);
/*
 * Prepares a fiber to begin with `main`. `main` never returns: it sets `done`
 * and switches to another fiber.
 */
void peali_fiber_prepare(struct peali_fiber *fiber, void (*main)(void));
/*
 * Completes the first switch to a fiber; main calls it first. `thread` is the
 * thread itself if the fiber was entered from it, else NULL.
 */
void peali_fiber_entered(struct peali_fiber *thread);
/*
 * Switches from the running fiber to another one. Returns when another fiber
 * switches back to `from`.
 */
void peali_fiber_switch(struct peali_fiber *from, struct peali_fiber *to);
/* Frees the sanitizer's state of a fiber that is done or was never entered. Without
 * it, the next use of the fiber continues the state. */
void peali_fiber_forget(struct peali_fiber *fiber);

#endif
