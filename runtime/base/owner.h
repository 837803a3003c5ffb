/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_OWNER_H
#define PEALI_OWNER_H

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

#include <peal/device/platform.h>

/*
 * The process that owns an object.
 *
 * fork copies the objects of a runtime to the child. The child has neither
 * their threads nor their device memory, and it shares their sockets with the
 * parent. So public calls on such an object fail in the child with
 * PEAL_EFORKED, before they read more than the owner.
 *
 * Each process that owns objects has a number. The number differs from the
 * numbers of all ancestors. Its page is cleared in a child of fork, by the
 * system itself. So this holds also without the C library's fork.
 */
struct peali_owner {
	uint64_t number; /* from 1 */
	pid_t pid;
};

/* The number of the calling process; 0: it owns nothing yet. */
extern uint64_t *peali_process_number;

/* Returns the calling process as an owner. Gives it a number if necessary. */
struct peali_owner peali_owner_self(void);

/*
 * Checks the owner of an object at the begin of a public call. Returns 1 with
 * an error text if it is another process, else 0. Asks the system for the pid,
 * because a child of vfork has the memory of its parent.
 */
int peali_foreign(const struct peali_owner *owner, const char *call);

/*
 * Works as peali_foreign, without a system call. Does not detect a child of
 * vfork. For calls that move messages or data: a system call costs more than a
 * small copy.
 */
static inline int peali_forked(const struct peali_owner *owner,
			       const char *call)
{
	if (PEAL_LIKELY(*peali_process_number == owner->number))
		return 0;
	return peali_foreign(owner, call);
}

/*
 * Locks a static mutex. At a fork another thread may hold the mutex, and the
 * child has no such thread. So the child begins with a free mutex.
 */
void peali_static_lock(pthread_mutex_t *mutex);

/* Keeps shared memory out of the children of fork. An access there faults. */
void peali_keep_from_children(void *memory, size_t bytes);

#endif
