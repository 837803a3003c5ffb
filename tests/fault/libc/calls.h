/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_LIBC_CALLS_H
#define PEAL_TESTS_LIBC_CALLS_H

/*
 * The calls of libc and liburing that the shim can make fail. Calls on mutexes,
 * conditions and clocks are not here: glibc fails them only for wrong arguments.
 *
 * A row has the type, name, parameters, arguments, error and result of a call. A
 * failing call sets errno to the error and returns the result. The file
 * tests/CMakeLists.txt reads the names.
 */
#define LIBC_PLAIN_CALLS(CALL)                                                 \
	CALL(int, open, (const char *a, int b, mode_t c), (a, b, c), EMFILE,   \
	     -1)                                                               \
	CALL(int, mkostemp, (char *a, int b), (a, b), EACCES, -1)              \
	CALL(int, memfd_create, (const char *a, unsigned b), (a, b), EMFILE,   \
	     -1)                                                               \
	CALL(int, eventfd, (unsigned a, int b), (a, b), EMFILE, -1)            \
	CALL(int, eventfd_write, (int a, eventfd_t b), (a, b), EBADF, -1)      \
	CALL(int, socket, (int a, int b, int c), (a, b, c), EMFILE, -1)        \
	CALL(int, bind, (int a, const void *b, socklen_t c), (a, b, c),        \
	     EADDRINUSE, -1)                                                   \
	CALL(int, listen, (int a, int b), (a, b), EADDRINUSE, -1)              \
	CALL(int, accept4, (int a, void *b, socklen_t *c, int d),              \
	     (a, b, c, d), EMFILE, -1)                                         \
	CALL(int, connect, (int a, const void *b, socklen_t c), (a, b, c),     \
	     ENOMEM, -1)                                                       \
	CALL(ssize_t, send, (int a, const void *b, size_t c, int d),           \
	     (a, b, c, d), ENOBUFS, -1)                                        \
	CALL(ssize_t, sendmsg, (int a, const struct msghdr *b, int c),         \
	     (a, b, c), ENOBUFS, -1)                                           \
	CALL(ssize_t, recv, (int a, void *b, size_t c, int d), (a, b, c, d),   \
	     ENOMEM, -1)                                                       \
	CALL(ssize_t, recvmsg, (int a, struct msghdr *b, int c), (a, b, c),    \
	     ENOMEM, -1)                                                       \
	CALL(int, getsockopt, (int a, int b, int c, void *d, socklen_t *e),    \
	     (a, b, c, d, e), ENOBUFS, -1)                                     \
	CALL(int, setsockopt,                                                  \
	     (int a, int b, int c, const void *d, socklen_t e),                \
	     (a, b, c, d, e), ENOMEM, -1)                                      \
	CALL(int, poll, (struct pollfd * a, nfds_t b, int c), (a, b, c),       \
	     ENOMEM, -1)                                                       \
	CALL(int, ppoll,                                                       \
	     (struct pollfd * a, nfds_t b, const struct timespec *c,           \
	      const sigset_t *d),                                              \
	     (a, b, c, d), ENOMEM, -1)                                         \
	CALL(ssize_t, read, (int a, void *b, size_t c), (a, b, c), EIO, -1)    \
	CALL(ssize_t, pread, (int a, void *b, size_t c, off_t d),              \
	     (a, b, c, d), EIO, -1)                                            \
	CALL(ssize_t, write, (int a, const void *b, size_t c), (a, b, c),      \
	     ENOSPC, -1)                                                       \
	CALL(off_t, lseek, (int a, off_t b, int c), (a, b, c), ESPIPE, -1)     \
	CALL(int, ftruncate, (int a, off_t b), (a, b), EFBIG, -1)              \
	CALL(int, fallocate, (int a, int b, off_t c, off_t d), (a, b, c, d),   \
	     ENOSPC, -1)                                                       \
	CALL(int, flock, (int a, int b), (a, b), ENOLCK, -1)                   \
	CALL(int, fcntl, (int a, int b, long c), (a, b, c), ENOLCK, -1)        \
	CALL(int, fstat, (int a, struct stat *b), (a, b), EOVERFLOW, -1)       \
	CALL(int, access, (const char *a, int b), (a, b), EACCES, -1)          \
	CALL(int, mkdir, (const char *a, mode_t b), (a, b), ENOSPC, -1)        \
	CALL(int, rename, (const char *a, const char *b), (a, b), ENOSPC, -1)  \
	CALL(int, link, (const char *a, const char *b), (a, b), EMLINK, -1)    \
	CALL(int, linkat, (int a, const char *b, int c, const char *d, int e), \
	     (a, b, c, d, e), ENOSPC, -1)                                      \
	CALL(int, unlink, (const char *a), (a), EBUSY, -1)                     \
	CALL(ssize_t, readlink, (const char *a, char *b, size_t c), (a, b, c), \
	     EACCES, -1)                                                       \
	CALL(int, mprotect, (void *a, size_t b, int c), (a, b, c), ENOMEM, -1) \
	CALL(int, madvise, (void *a, size_t b, int c), (a, b, c), EAGAIN, -1)  \
	CALL(int, sched_getaffinity, (pid_t a, size_t b, cpu_set_t * c),       \
	     (a, b, c), EINVAL, -1)                                            \
	CALL(int, getrlimit, (int a, struct rlimit *b), (a, b), EINVAL, -1)    \
	CALL(ssize_t, getrandom, (void *a, size_t b, unsigned c), (a, b, c),   \
	     ENOSYS, -1)                                                       \
	CALL(pid_t, waitpid, (pid_t a, int *b, int c), (a, b, c), ECHILD, -1)  \
	CALL(int, getcontext, (ucontext_t * a), (a), ENOSYS, -1)               \
	CALL(void *, dlsym, (void *a, const char *b), (a, b), 0, NULL)         \
	CALL(int, dladdr, (const void *a, Dl_info *b), (a, b), 0, 0)           \
	CALL(int, dladdr1, (const void *a, Dl_info *b, void **c, int d),       \
	     (a, b, c, d), 0, 0)                                               \
	CALL(void *, tsearch,                                                  \
	     (const void *a, void **b, int (*c)(const void *, const void *)),  \
	     (a, b, c), ENOMEM, NULL)                                          \
	/* these return their error */                                         \
	CALL(int, pthread_create,                                              \
	     (pthread_t * a, const pthread_attr_t *b, void *(*c)(void *),      \
	      void *d),                                                        \
	     (a, b, c, d), EAGAIN, EAGAIN)                                     \
	CALL(int, pthread_attr_init, (pthread_attr_t * a), (a), ENOMEM,        \
	     ENOMEM)                                                           \
	CALL(int, pthread_attr_setstacksize, (pthread_attr_t * a, size_t b),   \
	     (a, b), EINVAL, EINVAL)                                           \
	CALL(int, pthread_setaffinity_np,                                      \
	     (pthread_t a, size_t b, const cpu_set_t *c), (a, b, c), EINVAL,   \
	     EINVAL)                                                           \
	CALL(int, pthread_setname_np, (pthread_t a, const char *b), (a, b),    \
	     EIO, EIO)                                                         \
	CALL(int, pthread_atfork,                                              \
	     (void (*a)(void), void (*b)(void), void (*c)(void)), (a, b, c),   \
	     ENOMEM, ENOMEM)                                                   \
	CALL(int, io_uring_queue_init,                                         \
	     (unsigned a, struct io_uring *b, unsigned c), (a, b, c), EMFILE,  \
	     -EMFILE)                                                          \
	CALL(int, io_uring_submit, (struct io_uring * a), (a), EBUSY, -EBUSY)

/* Calls that make an object. NULL: the call fails. */
#define LIBC_MAKING_CALLS(CALL)                                                \
	CALL(void *, malloc, (size_t a), (a), ENOMEM, NULL)                    \
	CALL(void *, calloc, (size_t a, size_t b), (a, b), ENOMEM, NULL)       \
	CALL(void *, aligned_alloc, (size_t a, size_t b), (a, b), ENOMEM,      \
	     NULL)                                                             \
	CALL(char *, strdup, (const char *a), (a), ENOMEM, NULL)               \
	CALL(char *, realpath, (const char *a, char *b), (a, b), EACCES, NULL) \
	CALL(cpu_set_t *, __sched_cpualloc, (size_t a), (a), ENOMEM, NULL)     \
	CALL(FILE *, fopen, (const char *a, const char *b), (a, b), EMFILE,    \
	     NULL)

/* Calls that the shim defines by itself. Those that free an object do so even if
 * they fail. */
#define LIBC_OTHER_CALLS(CALL)                                                 \
	CALL(char *, fgets, , , EIO, )                                         \
	CALL(int, fclose, , , ENOSPC, )                                        \
	CALL(void *, mmap, , , ENOMEM, )                                       \
	CALL(int, munmap, , , ENOMEM, )                                        \
	CALL(long, sysconf, , , EINVAL, )                                      \
	CALL(void *, realloc, , , ENOMEM, )                                    \
	CALL(int, posix_memalign, , , ENOMEM, )                                \
	CALL(void *, dlopen, , , 0, )                                          \
	CALL(int, close, , , EIO, )                                            \
	CALL(long, syscall, , , EINTR, )

#define LIBC_CALLS(CALL)                                                       \
	LIBC_PLAIN_CALLS(CALL)                                                 \
	LIBC_MAKING_CALLS(CALL)                                                \
	LIBC_OTHER_CALLS(CALL)

#endif
