/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/thread.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

#include <peal/device/platform.h>

#define STACK_BYTES_MIN ((size_t)1 << 20)

/*
 * A thread that starts takes locks of AddressSanitizer. Its runtime does not
 * release them in a child of fork, unlike the C library. So a launch that forks
 * must find all threads of the library started.
 */
#if PEAL_ASAN
struct start {
	void *(*run)(void *);
	void *argument;
	atomic_int begun;
};

static void *begin(void *start)
{
	struct start *s = start, own = { s->run, s->argument, 0 };

	atomic_store(&s->begun, 1); /* from here on *s may be gone */
	return own.run(own.argument);
}

static int start(pthread_t *thread_out, const pthread_attr_t *attributes,
		 void *(*run)(void *), void *argument)
{
	struct start s = { run, argument, 0 };
	int error = pthread_create(thread_out, attributes, begin, &s);

	while (!error && !atomic_load(&s.begun))
		sched_yield();
	return error;
}
#else
#define start pthread_create
#endif

static int create(pthread_t *thread_out, void *(*run)(void *), void *argument)
{
	pthread_attr_t attributes;
	size_t bytes = 0;
	int error = pthread_attr_init(&attributes);

	if (error)
		return error;
	pthread_attr_getstacksize(&attributes, &bytes);
	if (bytes < STACK_BYTES_MIN)
		pthread_attr_setstacksize(&attributes, STACK_BYTES_MIN);
	error = start(thread_out, &attributes, run, argument);
	pthread_attr_destroy(&attributes);
	return error;
}

int peali_thread_start(pthread_t *thread_out, void *(*run)(void *),
		       void *argument)
{
	static const int own[] = { SIGSEGV, SIGBUS,  SIGILL, SIGFPE,
				   SIGTRAP, SIGABRT, SIGSYS };
	sigset_t blocked, before;
	size_t i;
	int error;

	sigfillset(&blocked);
	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		sigdelset(&blocked, own[i]);
	pthread_sigmask(SIG_SETMASK, &blocked, &before);
	error = create(thread_out, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}
