/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_MPI_H
#define PEAL_BENCH_MPI_H

/*
 * Open MPI as a baseline: processes on this machine, one for each rank. They
 * sleep between two commands, so that they use no core of ours. Their program
 * is cpu/mpi.c. So the command `peal` does not depend on a library of MPI.
 */

#include <semaphore.h>
#include <stdint.h>

#define PEALI_MPI_RANKS 16 /* maximum */
#define PEALI_MPI_REPEATS 64 /* maximum */

enum peali_mpi_kind {
	PEALI_MPI_QUIT = 0,
	PEALI_MPI_ALL_REDUCE = 1, /* sum of 32-bit integers */
	/* from rank 0 to rank 1 and back; counts half of the time */
	PEALI_MPI_SEND = 2
};

/**
 * Shared memory of the command and the ranks. The ranks write `done`, `failed`
 * and `ns`. Only the command writes the other fields.
 */
struct peali_mpi_board {
	/* for each rank: posted when there is a command */
	sem_t go[PEALI_MPI_RANKS];
	sem_t done; /* posted once by each rank */
	/* process id of the command; the ranks end when it ends */
	int32_t command;
	uint32_t kind; /* enum peali_mpi_kind */
	uint32_t repeats;
	uint64_t bytes;
	uint32_t failed; /* 1: a result was wrong, or MPI returned an error */
	double ns[PEALI_MPI_RANKS][PEALI_MPI_REPEATS];
};

struct peali_mpi;

/**
 * Starts the ranks and waits until they are ready.
 *
 * @param ranks 2 .. PEALI_MPI_RANKS.
 * @param mpi_out receives the ranks, or NULL.
 * @param why receives the reason if there are no ranks; static text.
 */
void peali_mpi_open(uint32_t ranks, struct peali_mpi **mpi_out,
		    const char **why);

/**
 * Makes the ranks execute a command. They sleep again when this returns.
 *
 * @param mpi ranks of peali_mpi_open.
 * @param kind the command.
 * @param bytes bytes of each rank's buffer, a multiple of 4.
 * @param repeats 1 .. PEALI_MPI_REPEATS.
 * @param ns receives the time of each repeat on the slowest rank.
 * @return 0, or -1 with a message.
 */
int peali_mpi_run(struct peali_mpi *mpi, enum peali_mpi_kind kind,
		  uint64_t bytes, uint32_t repeats, double *ns);

/** Ends the ranks and frees them. NULL does nothing. */
void peali_mpi_close(struct peali_mpi *mpi);

#endif
