/* SPDX-License-Identifier: Apache-2.0 */
/* The shim of shim.h. __wrap_NAME is called for NAME, __real_NAME is libc's. */
#include "fault/libc/shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <liburing.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <ucontext.h>
#include <unistd.h>

#include "fault/libc/calls.h"

#define OBJECTS 65536 /* at a time, a power of two */
#define MAPPINGS 1024 /* at a time */

#define NUMBER(result, name, parameters, arguments, error, failure) CALL_##name,
enum { LIBC_CALLS(NUMBER) N_CALLS };

#define NAME(result, name, parameters, arguments, error, failure)              \
	{ #name, error },
static const struct {
	const char *name;
	int error;
} calls[] = { LIBC_CALLS(NAME) };

/* An object that the library has made. Key 0: free; 1: was used. */
struct object {
	uintptr_t key;
	int path; /* index */
};

static struct libc_run *_Atomic current;
static atomic_flag held = ATOMIC_FLAG_INIT; /* guards all below */
static struct object objects[OBJECTS];
static const void *path_root;

const char *libc_call_name(int call)
{
	return calls[call].name;
}

int libc_call_error(int call)
{
	return calls[call].error;
}

static void lock(void)
{
	while (atomic_flag_test_and_set_explicit(&held, memory_order_acquire))
		sched_yield();
}

static void unlock(void)
{
	atomic_flag_clear_explicit(&held, memory_order_release);
}

void libc_shim_use(struct libc_run *run, const void *root)
{
	void *functions[2];

	path_root = root;
	backtrace(functions, 2); /* loads the unwinder */
	atomic_store(&current, run);
}

/* ---- paths --------------------------------------------------------------- */

static uint64_t hash(int call, void *const functions[LIBC_DEPTH])
{
	uint64_t h = (uint64_t)call + 1;
	int i;

	for (i = 0; i < LIBC_DEPTH; i++) {
		h = (h ^ (uintptr_t)functions[i]) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	return h ? h : 1;
}

/* Returns the index of a path, or -1 if no more paths fit. */
static int path_index(struct libc_run *run, int call,
		      void *const functions[LIBC_DEPTH])
{
	uint64_t id = hash(call, functions);
	struct libc_path *p;
	int i;

	for (i = 0; i < run->n_paths; i++)
		if (run->paths[i].id == id)
			return i;
	if (i == LIBC_PATHS) {
		run->n_lost++;
		return -1;
	}
	p = &run->paths[run->n_paths++];
	p->id = id;
	p->call = call;
	memcpy(p->functions, functions, sizeof(p->functions));
	prctl(PR_GET_NAME, p->thread);
	return i;
}

const struct libc_path *libc_path_find(const struct libc_run *run, uint64_t id)
{
	int i;

	for (i = 0; i < run->n_paths; i++)
		if (run->paths[i].id == id)
			return &run->paths[i];
	return NULL;
}

/*
 * Counts a call. Returns 1 if it is to fail. *path gets the index of its path;
 * -1: no run.
 */
static int __attribute__((noinline)) reach(int call, int *path)
{
	struct libc_run *run = atomic_load(&current);
	void *all[LIBC_DEPTH + 2] = { NULL };
	struct libc_path *p;
	int i = 0, fails = 0, error = errno;

	*path = -1;
	if (!run)
		return 0;
	backtrace(all, LIBC_DEPTH + 2); /* this function and the wrapper, too */
	while (i < LIBC_DEPTH + 2 && all[i] != path_root)
		i++;
	for (; i < LIBC_DEPTH + 2; i++)
		all[i] = NULL;
	lock();
	*path = path_index(run, call, all + 2);
	if (*path >= 0) {
		p = &run->paths[*path];
		p->count++;
		fails = p->id == run->fault_id && p->count == run->fault_nth;
		run->fault_reached |= fails;
	}
	unlock();
	errno = error;
	return fails;
}

/* ---- objects ------------------------------------------------------------- */

static unsigned first_place(uintptr_t key)
{
	return (unsigned)((key * 0x9e3779b97f4a7c15u) >> 40) % OBJECTS;
}

static void made(const void *object, int path)
{
	struct libc_run *run = atomic_load(&current);
	unsigned i, at = first_place((uintptr_t)object);

	if (!object || !run || path < 0)
		return;
	lock();
	for (i = 0; i < OBJECTS && objects[at].key > 1; i++)
		at = (at + 1) % OBJECTS;
	if (i < OBJECTS) {
		objects[at].key = (uintptr_t)object;
		objects[at].path = path;
		run->paths[path].live++;
	}
	unlock();
}

/* Called before the object is freed: its address may be used again at once. */
static void freed(const void *object)
{
	struct libc_run *run = atomic_load(&current);
	unsigned i, at = first_place((uintptr_t)object);

	if (!object || !run)
		return;
	lock();
	for (i = 0; i < OBJECTS && objects[at].key; i++) {
		if (objects[at].key == (uintptr_t)object) {
			run->paths[objects[at].path].live--;
			objects[at].key = 1;
			break;
		}
		at = (at + 1) % OBJECTS;
	}
	unlock();
}

/* ---- mappings ------------------------------------------------------------ */

static struct object mappings[MAPPINGS];

static void map(const void *at, int path)
{
	struct libc_run *run = atomic_load(&current);
	int i;

	if (!run || path < 0)
		return;
	lock();
	for (i = 0; i < MAPPINGS && mappings[i].key; i++)
		;
	if (i < MAPPINGS) {
		mappings[i].key = (uintptr_t)at;
		mappings[i].path = path;
		run->paths[path].live++;
	}
	unlock();
}

/* Ends all mappings that begin in these bytes. */
static void unmap(const void *at, size_t bytes)
{
	struct libc_run *run = atomic_load(&current);
	int i;

	if (!run)
		return;
	lock();
	for (i = 0; i < MAPPINGS; i++)
		if (mappings[i].key &&
		    mappings[i].key - (uintptr_t)at < bytes) {
			run->paths[mappings[i].path].live--;
			mappings[i].key = 0;
		}
	unlock();
}

/* ---- wrappers ------------------------------------------------------------ */

#define PLAIN(result, name, parameters, arguments, error, failure)             \
	result __real_##name parameters;                                       \
	result __wrap_##name parameters;                                       \
	result __wrap_##name parameters                                        \
	{                                                                      \
		int path;                                                      \
                                                                               \
		if (!reach(CALL_##name, &path))                                \
			return __real_##name arguments;                        \
		errno = (error);                                               \
		return failure;                                                \
	}
LIBC_PLAIN_CALLS(PLAIN)

#define MAKING(result, name, parameters, arguments, error, failure)            \
	result __real_##name parameters;                                       \
	result __wrap_##name parameters;                                       \
	result __wrap_##name parameters                                        \
	{                                                                      \
		result made_one;                                               \
		int path;                                                      \
                                                                               \
		if (reach(CALL_##name, &path)) {                               \
			errno = (error);                                       \
			return failure;                                        \
		}                                                              \
		made_one = __real_##name arguments;                            \
		if (made_one != (result)(failure))                             \
			made(made_one, path);                                  \
		return made_one;                                               \
	}
LIBC_MAKING_CALLS(MAKING)

char *__real_fgets(char *to, int bytes, FILE *file);
char *__wrap_fgets(char *to, int bytes, FILE *file);
char *__wrap_fgets(char *to, int bytes, FILE *file)
{
	int path;

	if (!reach(CALL_fgets, &path))
		return __real_fgets(to, bytes, file);
	file->_flags |= 0x20; /* of glibc: ferror() returns 1 */
	errno = EIO;
	return NULL;
}

int __real_fclose(FILE *file);
int __wrap_fclose(FILE *file);
int __wrap_fclose(FILE *file)
{
	int path, fails = reach(CALL_fclose, &path), result;

	freed(file);
	result = __real_fclose(file);
	if (!fails)
		return result;
	errno = ENOSPC;
	return EOF;
}

void *__real_mmap(void *at, size_t bytes, int access, int flags, int fd,
		  off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int access, int flags, int fd,
		  off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int access, int flags, int fd,
		  off_t offset)
{
	void *mapped;
	int path;

	if (reach(CALL_mmap, &path)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	if (flags & MAP_FIXED) /* it replaces others */
		unmap(at, bytes);
	mapped = __real_mmap(at, bytes, access, flags, fd, offset);
	if (mapped != MAP_FAILED)
		map(mapped, path);
	return mapped;
}

int __real_munmap(void *at, size_t bytes);
int __wrap_munmap(void *at, size_t bytes);
int __wrap_munmap(void *at, size_t bytes)
{
	int path, fails = reach(CALL_munmap, &path), result;

	unmap(at, bytes);
	result = __real_munmap(at, bytes);
	if (!fails)
		return result;
	errno = ENOMEM;
	return -1;
}

long __real_sysconf(int name);
long __wrap_sysconf(int name);
long __wrap_sysconf(int name)
{
	int path;

	/* the size of a page is always known */
	if (name == _SC_PAGESIZE || !reach(CALL_sysconf, &path))
		return __real_sysconf(name);
	errno = EINVAL;
	return -1;
}

void __real_free(void *object);
void __wrap_free(void *object);
void __wrap_free(void *object)
{
	freed(object);
	__real_free(object);
}

void __real___sched_cpufree(cpu_set_t *set);
void __wrap___sched_cpufree(cpu_set_t *set);
void __wrap___sched_cpufree(cpu_set_t *set)
{
	freed(set);
	__real___sched_cpufree(set);
}

void *__real_realloc(void *object, size_t bytes);
void *__wrap_realloc(void *object, size_t bytes);
void *__wrap_realloc(void *object, size_t bytes)
{
	void *moved;
	int path;

	if (reach(CALL_realloc, &path)) {
		errno = ENOMEM;
		return NULL;
	}
	freed(object);
	moved = __real_realloc(object, bytes);
	made(moved, path);
	return moved;
}

int __real_posix_memalign(void **out, size_t alignment, size_t bytes);
int __wrap_posix_memalign(void **out, size_t alignment, size_t bytes);
int __wrap_posix_memalign(void **out, size_t alignment, size_t bytes)
{
	int error, path;

	if (reach(CALL_posix_memalign, &path))
		return ENOMEM;
	error = __real_posix_memalign(out, alignment, bytes);
	if (!error)
		made(*out, path);
	return error;
}

void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags)
{
	int path;

	/* dlerror() has a text for the failure */
	return __real_dlopen(reach(CALL_dlopen, &path) ? "/fault_libc" : name,
			     flags);
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
	int path, fails = reach(CALL_close, &path), result = __real_close(fd);

	if (!fails)
		return result;
	errno = EIO;
	return -1;
}

long __real_syscall(long number, long a, long b, long c, long d, long e,
		    long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e,
		    long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	int path;

	if (!reach(CALL_syscall, &path))
		return __real_syscall(number, a, b, c, d, e, f);
	/* a signal may end a wait on a futex */
	errno = number == SYS_futex ? EINTR : EMFILE;
	return -1;
}
