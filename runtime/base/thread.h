/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_THREAD_H
#define PEALI_THREAD_H

#include <pthread.h>

/*
 * Starts a thread of the library with signals blocked: they are for the
 * application's threads. Signals that the thread itself causes stay unblocked.
 * Blocked, such a fault would end the process without any message. The stack has
 * the size of RLIMIT_STACK, but at least 1 MiB. So a small limit does not let
 * the library overflow. Returns 0 or an error of pthread_create.
 */
int peali_thread_start(pthread_t *thread_out, void *(*run)(void *),
		       void *argument);

#endif
