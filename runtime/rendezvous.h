/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_RENDEZVOUS_H
#define PEALI_RENDEZVOUS_H

#include <stdint.h>

#include <peal/process.h>

/*
 * The file by which the processes of a set find each other. Rank 0 makes it, whole,
 * under its name; the others add a line each, under a lock; rank 0 removes it once
 * all have met. It is text:
 *
 *	peal-rendezvous 1 ID ranks 4 uid 1000
 *	rank 0 pid 4711 start 815 socket @peal-ID-0
 *	...
 *
 * `start` is when the process began, in the kernel's ticks: pids come again. What
 * stands there is only believed as far as the kernel says the same of who answers
 * at the socket.
 */

#define PEALI_RENDEZVOUS_VERSION 1
#define PEALI_SET_ID 32 /* letters, hexadecimal */

/** A process by its pid. */
struct peali_member {
	int pid; /* 0: it has not come yet */
	uint64_t start;
};

/** What a file says. */
struct peali_rendezvous {
	char id[PEALI_SET_ID + 1];
	uint32_t ranks, here;
	uint32_t uid;
	struct peali_member member[PEAL_PROCESSES_MAX];
};

/* How a process is asked for and named. */
struct peali_set_plan {
	uint32_t rank, ranks;
	char source[32];
	char path[4096];
};

/* Rank, ranks and path from options or the environment; PEAL_EINVAL. */
int peali_set_plan(const struct peal_processes_options *options,
		   struct peali_set_plan *out);

/* The calling process; and whether one that was known is still there. */
struct peali_member peali_member_self(void);
int peali_member_lives(const struct peali_member *member);

/* Rank 0: a new file with its line, of a new set whose id it makes. PEAL_EEXIST,
 * whose text says what is there instead. */
int peali_rendezvous_begin(const struct peali_set_plan *plan,
			   struct peali_rendezvous *out);
/*
 * The others: PEAL_EAGAIN there is none yet, or reads it and adds the caller's
 * line; 0 and the whole of it.
 */
int peali_rendezvous_enter(const struct peali_set_plan *plan,
			   struct peali_rendezvous *out);
/* Reads it again: 0 all are there, PEAL_EAGAIN not yet; PEAL_EDIED one that was
 * there has ended, PEAL_ENOENT it was removed. */
int peali_rendezvous_look(const struct peali_set_plan *plan,
			  struct peali_rendezvous *rendezvous);
/* A random id. */
int peali_rendezvous_id(char out[PEALI_SET_ID + 1]);
/* Rank 0: removes it, if it is still the one of that set. */
void peali_rendezvous_end(const struct peali_set_plan *plan,
			  const struct peali_rendezvous *rendezvous);

#endif
