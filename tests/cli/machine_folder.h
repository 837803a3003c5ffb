/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_CLI_MACHINE_FOLDER_H
#define PEAL_TESTS_CLI_MACHINE_FOLDER_H

/* A folder with the /proc, /sys and /dev of a machine that does not exist. */

#include <errno.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "peal_test.h"

static char root[] = "/tmp/peal-machine-XXXXXX";

static inline int remove_one(const char *path, const struct stat *info,
			     int flag, struct FTW *ftw)
{
	(void)info;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static inline void clean(void)
{
	nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Writes a file below the root, with all folders above it. */
static inline void put_bytes(const char *path, const void *bytes, size_t n)
{
	char name[512];
	FILE *file;

	snprintf(name, sizeof(name), "%s%s", root, path);
	for (char *slash = name + strlen(root) + 1;
	     (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		CHECK(mkdir(name, 0755) == 0 || errno == EEXIST);
		*slash = '/';
	}
	file = fopen(name, "w");
	CHECK(file != NULL);
	CHECK(fwrite(bytes, 1, n, file) == n);
	fclose(file);
}

static inline void put(const char *path, const char *text)
{
	put_bytes(path, text, strlen(text));
}

#endif
