/* SPDX-License-Identifier: Apache-2.0 */
/* The process that owns an object. See owner.h. */
#include "runtime/base/owner.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/error.h"
#include "runtime/host_support/idle.h"

#define LOCKS_MAX 8 /* static mutexes of the library */

/* The place of the number if there is no memory for a page. */
static uint64_t own_place;
uint64_t *peali_process_number = &own_place;

static _Atomic uint64_t latest; /* number, also of the ancestors */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t *_Atomic locks[LOCKS_MAX];

/* Runs in a child of fork, which has only this thread. */
static void begin_child(void)
{
	int i;

	*peali_process_number = 0;
	peali_wait_forget();
	for (i = 0; i < LOCKS_MAX && locks[i]; i++)
		pthread_mutex_init(locks[i], NULL);
}

static void set_up(void)
{
	size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/* Both, as an old system has no such pages. A child that was made
	 * without the C library runs no handler. */
	pthread_atfork(NULL, NULL, begin_child);
	if (page == MAP_FAILED)
		return;
	madvise(page, bytes, MADV_WIPEONFORK);
	peali_process_number = (uint64_t *)page;
}

struct peali_owner peali_owner_self(void)
{
	struct peali_owner self = { 0, getpid() };
	uint64_t number;

	pthread_once(&once, set_up);
	number = atomic_fetch_add(&latest, 1) + 1;
	/* Several threads may come here at once: the first number counts. */
	if (atomic_compare_exchange_strong(
		    (_Atomic uint64_t *)peali_process_number, &self.number,
		    number))
		self.number = number;
	return self;
}

int peali_foreign(const struct peali_owner *owner, const char *call)
{
	pid_t pid = getpid();

	if (owner->pid == pid && *peali_process_number == owner->number)
		return 0;
	peali_fail(PEAL_EFORKED, call,
		   "runtime of process %d: process %d is a child of that "
		   "process and has no access; open a runtime in the child",
		   (int)owner->pid, (int)pid);
	return 1;
}

void peali_static_lock(pthread_mutex_t *mutex)
{
	pthread_mutex_t *there = NULL;
	int i;

	pthread_once(&once, set_up);
	for (i = 0; i < LOCKS_MAX && there != mutex; i++) {
		there = NULL;
		if (atomic_compare_exchange_strong(&locks[i], &there, mutex))
			break;
	}
	pthread_mutex_lock(mutex);
}

void peali_keep_from_children(void *memory, size_t bytes)
{
	madvise(memory, bytes, MADV_DONTFORK);
}
