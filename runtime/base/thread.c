/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/thread.h"

#include <signal.h>
#include <stddef.h>

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
	error = pthread_create(thread_out, NULL, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}
