/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/owner.h"
#include "runtime/base/system_call.h"

/* held while a temporary file exists */
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

/*
 * Makes all folders of a path, as mkdir -p does for the parent. Errors are
 * ignored here: opening the file reports them.
 */
static void make_folders(char *path)
{
	char *at = path;

	while ((at = strchr(at + 1, '/'))) {
		*at = '\0';
		mkdir(path, 0700);
		*at = '/';
	}
}

/*
 * Writes the file `temporary` beside the target, then renames it onto the
 * target. Returns 0, or -1 with errno.
 */
static int write_beside(char *temporary, const char *path, const void *bytes,
			size_t n)
{
	int fd = mkostemp(temporary, O_CLOEXEC), error;

	if (fd < 0)
		return -1;
	error = peali_write_all(fd, bytes, n) ? errno : 0;
	if (close(fd) && !error)
		error = errno;
	if (!error && !rename(temporary, path))
		return 0;
	if (!error)
		error = errno;
	unlink(temporary);
	errno = error;
	return -1;
}

int peali_file_write(const char *path, const void *bytes, size_t n)
{
	char temporary[PATH_MAX];
	int result, error;

	if (snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path) >=
	    (int)sizeof(temporary)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	make_folders(temporary);
	peali_static_lock(&writing);
	result = write_beside(temporary, path, bytes, n);
	error = errno;
	pthread_mutex_unlock(&writing);
	errno = error;
	return result;
}

void peali_file_hold(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	/* The lock stays, so later writes wait for the exit. */
	pthread_mutex_timedlock(&writing, &until);
}

/*
 * Reads up to n bytes of an open file; fewer if the file ends before. Returns
 * NULL with errno.
 */
static void *read_all(int fd, size_t n, size_t *n_out)
{
	char *bytes = (char *)malloc(n + 1);
	size_t have = 0;
	ssize_t got;

	if (!bytes)
		return NULL;
	while (have < n) {
		got = peali_read(fd, bytes + have, n - have);
		if (got < 0) {
			free(bytes);
			return NULL;
		}
		if (got == 0)
			break;
		have += (size_t)got;
	}
	bytes[have] = '\0';
	*n_out = have;
	return bytes;
}

void *peali_file_read(const char *path, size_t most, size_t *n_out)
{
	/* O_NONBLOCK: opening a pipe would else wait for a writer. */
	int fd = peali_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0), error;
	void *bytes = NULL;
	struct stat info;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &info) == 0) {
		errno = !S_ISREG(info.st_mode)			? EINVAL :
			(unsigned long long)info.st_size > most ? EFBIG :
								  0;
		if (!errno)
			bytes = read_all(fd, (size_t)info.st_size, n_out);
	}
	error = errno;
	close(fd);
	errno = error;
	return bytes;
}
