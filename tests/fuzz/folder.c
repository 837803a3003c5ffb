/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a process for files that a parser reads. See fuzz.h. */
#include "fuzz/fuzz.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static int remove_one(const char *path, const struct stat *is, int type,
		      struct FTW *place)
{
	(void)is;
	(void)type;
	(void)place;
	remove(path);
	return 0;
}

static void remove_folder(void)
{
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Prefers a folder in memory. */
const char *fuzz_folder(void)
{
	if (folder[0])
		return folder;
	snprintf(folder, sizeof(folder), "%s/peal-fuzz-XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	FUZZ_CHECK(mkdtemp(folder));
	atexit(remove_folder);
	return folder;
}

static void make_folders(char *path)
{
	char *slash;

	for (slash = strchr(path + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(path, 0700);
		*slash = '/';
	}
}

void fuzz_write(const char *path, const void *bytes, size_t n)
{
	static const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
	char name[512];
	int fd;

	snprintf(name, sizeof(name), "%s%s", fuzz_folder(), path);
	fd = open(name, flags, 0600);
	if (fd < 0) {
		make_folders(name);
		fd = open(name, flags, 0600);
	}
	FUZZ_CHECK(fd >= 0);
	FUZZ_CHECK(write(fd, bytes, n) == (ssize_t)n);
	close(fd);
}
