/* SPDX-License-Identifier: Apache-2.0 */
/* Shows that no temporary file of a write remains at a sudden exit. */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <peal/errors.h>

#include "peal_test.h"
#include "runtime/base/file.h"

static char folder[] = "/tmp/peal-file-XXXXXX";
static char path[64];
static char bytes[1 << 20];
static atomic_int n_written;

static void *write_on(void *argument)
{
	(void)argument;
	for (;;)
		if (peali_file_write(path, bytes, sizeof(bytes)) == 0)
			atomic_fetch_add(&n_written, 1);
	return NULL;
}

/* Returns the number of files in the folder beside the target. */
static int count_others(void)
{
	DIR *files = opendir(folder);
	const struct dirent *entry;
	int n = 0;

	CHECK(files != NULL);
	while ((entry = readdir(files)))
		n += entry->d_name[0] != '.' && strcmp(entry->d_name, "file");
	closedir(files);
	return n;
}

/* Exits while two threads write. Returns 0 if no write ends after the hold. */
static int exit_while_writing(void)
{
	const struct timespec moment = { 0, 20000000 };
	pthread_t thread;
	int before;

	for (int i = 0; i < 2; i++)
		CHECK(!pthread_create(&thread, NULL, write_on, NULL));
	while (atomic_load(&n_written) < 3)
		nanosleep(&moment, NULL);
	peali_file_hold();
	before = atomic_load(&n_written);
	nanosleep(&moment, NULL);
	/* A thread may count the write that ended before the hold. */
	return atomic_load(&n_written) > before + 2;
}

PEAL_TEST(a_sudden_exit_leaves_no_temporary_file)
{
	int status = 0;
	pid_t child;

	CHECK(mkdtemp(folder) != NULL);
	snprintf(path, sizeof(path), "%s/file", folder);
	for (int i = 0; i < 10; i++) {
		child = fork();
		if (child == 0)
			_exit(exit_while_writing());
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK_EQ(status, 0);
		CHECK_EQ(count_others(), 0);
	}
	CHECK_EQ(unlink(path), 0);
	CHECK_EQ(rmdir(folder), 0);
}

PEAL_TEST_MAIN(RUN(a_sudden_exit_leaves_no_temporary_file);)
