/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_BENCH_MPI_H
#define PEAL_BENCH_MPI_H

/*
 * Open MPI as a peer: ranks that are processes of this machine, and sleep between
 * what they are asked for, so that they take no core from ours. The program that
 * they run is peers/mpi.c; the command itself needs no library of MPI.
 */

#include <semaphore.h>
#include <stdint.h>

#define PEALI_MPI_RANKS 16 /* most */
#define PEALI_MPI_REPEATS 64 /* most */

enum peali_mpi_kind {
	PEALI_MPI_QUIT = 0,
	PEALI_MPI_ALL_REDUCE = 1, /* of 32-bit integers, sum */
	PEALI_MPI_SEND = 2 /* rank 0 to 1 and back; half of that is counted */
};

/** What both sides map. Only writer of all but `done`, `failed` and `ns`: the
 * command. */
struct peali_mpi_board {
	sem_t go[PEALI_MPI_RANKS]; /* for each rank: there is something */
	sem_t done; /* once by each rank */
	int32_t command; /* the process that asks: without it ranks end */
	uint32_t kind; /* enum peali_mpi_kind */
	uint32_t repeats;
	uint64_t bytes;
	uint32_t failed; /* 1: a result was wrong, or MPI said an error */
	double ns[PEALI_MPI_RANKS][PEALI_MPI_REPEATS];
};

struct peali_mpi;

/**
 * Starts the ranks and waits until they are there.
 *
 * @param ranks   2 .. PEALI_MPI_RANKS
 * @param mpi_out the ranks; NULL: there are none
 * @param why     set to why there are none; static
 */
void peali_mpi_open(uint32_t ranks, struct peali_mpi **mpi_out,
		    const char **why);

/**
 * Lets the ranks do something, and sleep again.
 *
 * @param mpi     of peali_mpi_open
 * @param kind    what
 * @param bytes   of each rank's buffer, a multiple of 4
 * @param repeats 1 .. PEALI_MPI_REPEATS
 * @param ns      of each repeat, of the rank that took longest
 * @return 0, or -1 with a message
 */
int peali_mpi_run(struct peali_mpi *mpi, enum peali_mpi_kind kind,
		  uint64_t bytes, uint32_t repeats, double *ns);

/** Ends the ranks; NULL does nothing. */
void peali_mpi_close(struct peali_mpi *mpi);

#endif
