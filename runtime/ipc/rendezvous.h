/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEALI_RENDEZVOUS_H
#define PEALI_RENDEZVOUS_H

#include <stdint.h>

#include <peal/process_group.h>

/*
 * The rendezvous file, by which the processes of a group find each other.
 *
 * 1. Rank 0 creates the complete file at its path.
 * 2. Each other process appends one line under the file lock.
 * 3. Rank 0 removes the file once all processes have met.
 *
 * The file is text:
 *
 *	peal-rendezvous 2 ID ranks 4 uid 1000 namespaces PID TIME NET
 *	rank 0 pid 4711 start 815 socket @peal-ID-0
 *	...
 *
 * Pids are reused, so a line also has the start time of the process. `start` is
 * in clock ticks since boot. A process trusts a line only as far as the kernel
 * confirms it for the peer at the socket.
 *
 * A pid has a meaning only in its PID namespace, and a start time only in its
 * time namespace. The sockets have their names in the network namespace. So the
 * first line has the numbers of the three namespaces of rank 0. Other
 * namespaces are refused. 0: the kernel has no such namespaces.
 */

#define PEALI_RENDEZVOUS_VERSION 2
#define PEALI_SET_ID 32 /* hexadecimal digits of a group's id */

/** A process, identified by pid and start time. */
struct peali_member {
	int pid; /* 0: it has not joined */
	uint64_t start; /* clock ticks since boot */
};

/** Namespaces of a process, by the numbers of process.h. */
struct peali_spaces {
	uint64_t pid, time, net;
};

/** The content of the file. */
struct peali_rendezvous {
	char id[PEALI_SET_ID + 1];
	uint32_t ranks, here; /* processes of the group; joined processes */
	uint32_t uid; /* effective user id of rank 0 */
	struct peali_spaces spaces; /* of all processes of the group */
	struct peali_member member[PEAL_PROCESS_GROUP_MAX];
};

/* The arguments of a join. */
struct peali_launcher_env {
	uint32_t rank, ranks;
	const char *source; /* origin of rank: "options" or a variable */
	const char *counted; /* origin of ranks */
	const char *remedy; /* against missing processes */
	char path[4096]; /* of the file; empty in a group of one process */
};

/* Takes rank, ranks and path from the options or the environment. Returns 0 or
 * PEAL_EINVAL. */
int peali_launcher_env(const struct peal_process_group_options *options,
		       struct peali_launcher_env *out);

/* Gets the calling process. Returns 0, PEAL_ENOMEM or PEAL_EDRIVER. */
int peali_member_self(struct peali_member *out);
/* Gets the namespaces of the calling process. Returns 0, PEAL_ENOMEM or
 * PEAL_EDRIVER. */
int peali_spaces_self(struct peali_spaces *out);
/* Returns 1 if the process still runs, else 0. It must be of the caller's PID
 * and time namespace. */
int peali_member_lives(const struct peali_member *member);

/*
 * Creates the file of a new group, as rank 0. Makes the group's id and writes
 * the caller's line. Returns PEAL_EEXIST if there is a file: the error text
 * describes it.
 */
int peali_rendezvous_begin(const struct peali_launcher_env *plan,
			   struct peali_rendezvous *out);
/* Reads the file and appends the caller's line, as a rank other than 0. Returns
 * PEAL_EAGAIN if there is no file yet. On success *out is the whole content. */
int peali_rendezvous_enter(const struct peali_launcher_env *plan,
			   struct peali_rendezvous *out);
/*
 * Reads the file again. Returns 0 if all processes have joined, else
 * PEAL_EAGAIN. Returns PEAL_EDIED if a joined process has ended, and
 * PEAL_ENOENT if the file was removed.
 */
int peali_rendezvous_look(const struct peali_launcher_env *plan,
			  struct peali_rendezvous *rendezvous);
/*
 * Parses the text of a file for the group of `plan`. Each line must end with a
 * newline. Changes the text. Returns 0 or PEAL_EPROTO.
 */
int peali_rendezvous_parse(const struct peali_launcher_env *plan, char *text,
			   struct peali_rendezvous *out);
/* Makes a random id. Returns 0 or PEAL_EDRIVER. */
int peali_rendezvous_id(char out[PEALI_SET_ID + 1]);
/* Removes the file, as rank 0, if it still belongs to the group. */
void peali_rendezvous_end(const struct peali_launcher_env *plan,
			  const struct peali_rendezvous *rendezvous);

#endif
