/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and commands processes of Open MPI: see bench/baseline/mpi.h. */
#include "bench/baseline/mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/cli/interrupt.h"
#include "runtime/cli/output.h"

#ifdef PEALI_MPI_PROGRAM

#define PATIENCE_S 60 /* limit for a command; the longest takes seconds */

struct peali_mpi {
	struct peali_mpi_board *board;
	uint32_t ranks;
	pid_t launcher;
	char path[64];
};

extern char **environ;

/* Starts mpirun. Run by root it refuses to work without the two variables. */
static int start(struct peali_mpi *mpi)
{
	char ranks[16];
	const char *const argv[] = { "mpirun",		"-n",	     ranks,
				     "--oversubscribe", "--bind-to", "none",
				     PEALI_MPI_PROGRAM, mpi->path,   NULL };

	posix_spawnattr_t attributes;
	sigset_t none;
	int error;

	snprintf(ranks, sizeof(ranks), "%u", mpi->ranks);
	setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
	setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
	/* This process blocks SIGTERM, which has to end mpirun. */
	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attributes, &none);
	/* posix_spawnp does not write to argv */
	error = posix_spawnp(&mpi->launcher, argv[0], NULL, &attributes,
			     (char *const *)(uintptr_t)argv, environ);
	posix_spawnattr_destroy(&attributes);
	return error;
}

/*
 * Waits until all ranks have posted `done`. Returns 0, or -1 after a failure, a
 * timeout or the end of mpirun.
 */
static int wait_for_all(struct peali_mpi *mpi)
{
	struct timespec until;
	uint32_t n = 0;
	int waited = 0;

	while (n < mpi->ranks) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec++;
		if (!sem_timedwait(&mpi->board->done, &until)) {
			n++;
			if (mpi->board->failed)
				return -1;
			continue;
		}
		if (errno != EINTR && errno != ETIMEDOUT)
			return -1;
		if (++waited > PATIENCE_S)
			return -1;
		if (waitpid(mpi->launcher, NULL, WNOHANG) == mpi->launcher) {
			mpi->launcher = 0;
			return -1;
		}
	}
	return mpi->board->failed ? -1 : 0;
}

/* Writes a command and wakes all ranks. */
static void begin(struct peali_mpi *mpi, enum peali_mpi_kind kind,
		  uint64_t bytes, uint32_t repeats)
{
	uint32_t i;

	mpi->board->kind = kind;
	mpi->board->bytes = bytes;
	mpi->board->repeats = repeats;
	memset(mpi->board->ns, 0, sizeof(mpi->board->ns));
	for (i = 0; i < mpi->ranks; i++)
		sem_post(&mpi->board->go[i]);
}

/* Makes the shared memory in a file that the ranks can map. */
static int make_board(struct peali_mpi *mpi)
{
	uint32_t i;
	int file;

	snprintf(mpi->path, sizeof(mpi->path), "/tmp/peal-bench-mpi-XXXXXX");
	file = mkostemp(mpi->path, O_CLOEXEC);
	if (file < 0)
		return -1;
	peali_interrupt_file(mpi->path);
	if (ftruncate(file, sizeof(*mpi->board)) == 0)
		mpi->board = mmap(NULL, sizeof(*mpi->board),
				  PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (mpi->board == MAP_FAILED) {
		peali_interrupt_file(NULL);
		unlink(mpi->path);
		return -1;
	}
	for (i = 0; i < mpi->ranks; i++)
		sem_init(&mpi->board->go[i], 1, 0);
	sem_init(&mpi->board->done, 1, 0);
	mpi->board->command = getpid();
	return 0;
}

void peali_mpi_open(uint32_t ranks, struct peali_mpi **mpi_out,
		    const char **why)
{
	struct peali_mpi *mpi = calloc(1, sizeof(*mpi));

	*mpi_out = NULL;
	*why = "mpirun was not found, or its ranks did not start (Debian: "
	       "openmpi-bin)";
	if (!mpi)
		return;
	mpi->ranks = ranks;
	mpi->board = MAP_FAILED;
	if (make_board(mpi)) {
		free(mpi);
		return;
	}
	if (start(mpi) || wait_for_all(mpi)) {
		peali_mpi_close(mpi);
		return;
	}
	peali_interrupt_file(NULL);
	unlink(mpi->path); /* all ranks have mapped it */
	mpi->path[0] = 0;
	*mpi_out = mpi;
}

int peali_mpi_run(struct peali_mpi *mpi, enum peali_mpi_kind kind,
		  uint64_t bytes, uint32_t repeats, double *ns)
{
	uint32_t i, k;

	begin(mpi, kind, bytes, repeats);
	if (wait_for_all(mpi)) {
		peali_say("Open MPI: a rank ended, does not answer, or has a "
			  "wrong result");
		return -1;
	}
	for (k = 0; k < repeats; k++)
		for (i = 0, ns[k] = 0; i < mpi->ranks; i++)
			if (mpi->board->ns[i][k] > ns[k])
				ns[k] = mpi->board->ns[i][k];
	return 0;
}

/* Returns 1 if the launcher ends within `tenths` tenths of a second. */
static int ended_in(struct peali_mpi *mpi, int tenths)
{
	const struct timespec tenth = { 0, 100000000 };

	while (waitpid(mpi->launcher, NULL, WNOHANG) != mpi->launcher) {
		if (!tenths--)
			return 0;
		nanosleep(&tenth, NULL);
	}
	return 1;
}

void peali_mpi_close(struct peali_mpi *mpi)
{
	if (!mpi)
		return;
	if (mpi->launcher) {
		begin(mpi, PEALI_MPI_QUIT, 0, 0);
		if (!ended_in(mpi, 100)) {
			kill(mpi->launcher, SIGTERM);
			if (!ended_in(mpi, 50)) {
				kill(mpi->launcher, SIGKILL);
				waitpid(mpi->launcher, NULL, 0);
			}
		}
	}
	if (mpi->path[0]) {
		peali_interrupt_file(NULL);
		unlink(mpi->path);
	}
	munmap(mpi->board, sizeof(*mpi->board));
	free(mpi);
}

#else

void peali_mpi_open(uint32_t ranks, struct peali_mpi **mpi_out,
		    const char **why)
{
	(void)ranks;
	*mpi_out = NULL;
	*why = PEALI_NO_MPI;
}

int peali_mpi_run(struct peali_mpi *mpi, enum peali_mpi_kind kind,
		  uint64_t bytes, uint32_t repeats, double *ns)
{
	(void)mpi;
	(void)kind;
	(void)bytes;
	(void)repeats;
	(void)ns;
	return -1;
}

void peali_mpi_close(struct peali_mpi *mpi)
{
	(void)mpi;
}

#endif
