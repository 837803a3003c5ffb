/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank of Open MPI, the baseline of `peal bench collectives`. The launcher
 * mpirun gives the shared memory's path (bench/baseline/mpi.h), which holds the
 * commands.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <mpi.h>

#include "bench/baseline/mpi.h"

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Returns 1 if every element is the sum over all ranks. */
static int is_sum(const int32_t *to, uint64_t n, int ranks, uint32_t turn)
{
	uint64_t i;

	for (i = 0; i < n; i++) {
		uint32_t sum = (uint32_t)(ranks * (ranks - 1) / 2) +
			       (uint32_t)ranks * ((uint32_t)i + turn);

		if ((uint32_t)to[i] != sum)
			return 0;
	}
	return 1;
}

static int all_reduce(struct peali_mpi_board *board, int rank, int ranks,
		      int32_t *from, int32_t *to)
{
	uint64_t n = board->bytes / 4, i;
	uint32_t k;

	for (k = 0; k < board->repeats; k++) {
		double began;

		for (i = 0; i < n; i++)
			from[i] = (int32_t)((uint32_t)(rank + (int)k) +
					    (uint32_t)i);
		MPI_Barrier(MPI_COMM_WORLD);
		began = now_ns();
		if (MPI_Allreduce(from, to, (int)n, MPI_INT32_T, MPI_SUM,
				  MPI_COMM_WORLD))
			return -1;
		board->ns[rank][k] = now_ns() - began;
		if (!is_sum(to, n, ranks, k))
			return -1;
	}
	return 0;
}

/* Sends messages between ranks 0 and 1. The other ranks do nothing. */
static int send(struct peali_mpi_board *board, int rank, int32_t *from,
		int32_t *to)
{
	int n = (int)(board->bytes / 4);
	uint32_t k;

	for (k = 0; rank < 2 && k < board->repeats; k++) {
		double began = now_ns();
		int failed;

		from[0] = from[n - 1] = (int32_t)k;
		if (!rank)
			failed = MPI_Send(from, n, MPI_INT32_T, 1, 0,
					  MPI_COMM_WORLD) ||
				 MPI_Recv(to, n, MPI_INT32_T, 1, 0,
					  MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		else
			failed = MPI_Recv(to, n, MPI_INT32_T, 0, 0,
					  MPI_COMM_WORLD, MPI_STATUS_IGNORE) ||
				 MPI_Send(from, n, MPI_INT32_T, 0, 0,
					  MPI_COMM_WORLD);
		board->ns[rank][k] = (now_ns() - began) / 2;
		if (failed || to[0] != (int32_t)k || to[n - 1] != (int32_t)k)
			return -1;
	}
	return 0;
}

/*
 * Waits for a command. Returns 0, or -1 if the process that sends commands has
 * ended.
 */
static int wait_for_turn(struct peali_mpi_board *board, int rank)
{
	struct timespec until;

	for (;;) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec++;
		if (!sem_timedwait(&board->go[rank], &until))
			return 0;
		if (kill(board->command, 0) && errno == ESRCH)
			return -1;
	}
}

/* Executes a command. Returns 0, or nonzero after an error. */
static int serve(struct peali_mpi_board *board, int rank, int ranks)
{
	int32_t *from, *to;
	int failed;

	from = calloc(1, board->bytes);
	to = calloc(1, board->bytes);
	failed = !from || !to ||
		 (board->kind == PEALI_MPI_ALL_REDUCE ?
			  all_reduce(board, rank, ranks, from, to) :
			  send(board, rank, from, to));
	free(from);
	free(to);
	return failed;
}

int main(int argc, char **argv)
{
	struct peali_mpi_board *board = MAP_FAILED;
	int rank, ranks, file, failed = 0;

	if (MPI_Init(&argc, &argv))
		return 1;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	file = argc == 2 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;
	if (file >= 0)
		board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
			     MAP_SHARED, file, 0);
	if (board == MAP_FAILED || ranks > PEALI_MPI_RANKS) {
		fprintf(stderr, "mpi: no shared memory, or too many ranks");
		MPI_Abort(MPI_COMM_WORLD, 1);
		return 1;
	}
	while (!failed) {
		/* the first time: the rank has started */
		sem_post(&board->done);
		if (wait_for_turn(board, rank) || board->kind == PEALI_MPI_QUIT)
			break;
		failed = serve(board, rank, ranks);
		if (failed) {
			board->failed = 1;
			sem_post(&board->done);
		}
	}
	MPI_Finalize();
	return failed;
}
