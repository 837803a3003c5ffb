/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/thread.h"

#include <signal.h>
#include <stddef.h>

#define STACK_BYTES_MIN ((size_t)1 << 20)

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
	error = pthread_create(thread_out, &attributes, run, argument);
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
