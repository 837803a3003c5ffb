/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fibers, see fiber.h. _FORTIFY_SOURCE takes a longjmp to another stack for an
 * error. This file needs such jumps, so it disables the check.
 */
#undef _FORTIFY_SOURCE
#define _FORTIFY_SOURCE 0

#include "runtime/host_support/fiber.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Announces a switch to the sanitizers. from->done: `from` never runs again. */
PEALI_NO_TSAN static void before_switch(struct peali_fiber *from,
					struct peali_fiber *to)
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

PEALI_NO_TSAN static void after_switch(struct peali_fiber *self)
{
#if PEAL_ASAN
	__sanitizer_finish_switch_fiber(self->asan_stack, NULL, NULL);
#endif
	(void)self;
}

#if PEAL_ASAN
/*
 * AddressSanitizer's _longjmp makes system calls, and marks the whole stack as
 * valid. before_switch() has told it of the switch. So this is the _longjmp of libc.
 * gcc adds such calls before each call that does not return. PEALI_NO_ASAN forbids it.
 */
static void (*libc_longjmp)(jmp_buf, int);

static void find_longjmp(void)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	void *found = libc ? dlsym(libc, "_longjmp") : NULL;

	memcpy(&libc_longjmp, &found, sizeof(found));
}

PEALI_NO_ASAN static void jump(struct peali_fiber *to)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_longjmp);
	if (libc_longjmp)
		libc_longjmp(to->jump, 1);
	_longjmp(to->jump, 1);
}
#elif !PEAL_TSAN
static void jump(struct peali_fiber *to)
{
	_longjmp(to->jump, 1);
}
#endif

PEALI_NO_TSAN PEALI_NO_ASAN void peali_fiber_switch(struct peali_fiber *from,
						    struct peali_fiber *to)
{
	before_switch(from, to);
#if !PEAL_TSAN
	if (!_setjmp(from->jump)) {
		if (to->entered)
			jump(to);
		to->entered = 1;
		setcontext(&to->context);
	}
#else
	to->entered = 1;
	swapcontext(&from->context, &to->context);
#endif
	after_switch(from);
}

PEALI_NO_TSAN void peali_fiber_entered(struct peali_fiber *thread)
{
#if PEAL_ASAN
	if (thread)
		__sanitizer_finish_switch_fiber(NULL,
						(const void **)&thread->stack,
						&thread->stack_bytes);
	else
		__sanitizer_finish_switch_fiber(NULL, NULL, NULL);
#endif
	(void)thread;
}

PEALI_NO_TSAN void peali_fiber_of_thread(struct peali_fiber *thread)
{
	thread->entered = 1;
#if PEAL_TSAN
	thread->tsan_fiber = __tsan_get_current_fiber();
#endif
}

PEALI_NO_TSAN void peali_fiber_prepare(struct peali_fiber *fiber,
				       void (*main)(void))
{
	fiber->entered = 0;
	fiber->done = 0;
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = fiber->stack;
	fiber->context.uc_stack.ss_size = fiber->stack_bytes;
	fiber->context.uc_link = NULL;
	makecontext(&fiber->context, main, 0);
#if PEAL_TSAN
	if (!fiber->tsan_fiber)
		fiber->tsan_fiber = __tsan_create_fiber(0);
#endif
}

PEALI_NO_TSAN void peali_fiber_forget(struct peali_fiber *fiber)
{
#if PEAL_TSAN
	if (fiber->tsan_fiber)
		__tsan_destroy_fiber(fiber->tsan_fiber);
	fiber->tsan_fiber = NULL;
#endif
	(void)fiber;
}

size_t peali_fiber_stacks(struct peali_fiber *first, size_t stride, uint32_t n,
			  uint8_t **memory_out)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t each = PEALI_FIBER_STACK_BYTES + page;
	uint8_t *memory = mmap(NULL, each * n, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			       0);
	uint32_t i;

	if (memory == MAP_FAILED)
		return 0;
	*memory_out = memory;
	for (i = 0; i < n; i++) {
		struct peali_fiber *fiber =
			(struct peali_fiber *)((char *)first + i * stride);

		if (mprotect(memory + i * each, page, PROT_NONE) < 0) {
			munmap(memory, each * n);
			return 0;
		}
		fiber->stack = memory + i * each + page;
		fiber->stack_bytes = PEALI_FIBER_STACK_BYTES;
	}
	return each * n;
}
