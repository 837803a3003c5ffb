/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_TESTS_PROCESS_FIXTURE_H
#define PEAL_TESTS_PROCESS_FIXTURE_H

#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <peal/process_group.h>

#include "runtime/harness.h"
#include "runtime/ipc/process_group.h"

/*
 * Runs the processes of a process group for a test. The test forks them before
 * any process opens a runtime. Each process runs a function, then exits with 0
 * or fails. The test waits for all processes with a time limit. The test then
 * checks that no file is left in their folder.
 */

#define PROCS_MAX 8

/** Shared memory by which the processes wait for each other without Peal. */
struct procs_board {
	_Atomic uint64_t word[64];
};

struct procs {
	int n;
	pid_t pid[PROCS_MAX];
	int status[PROCS_MAX];
	int gone[PROCS_MAX];
	char folder[32];
	struct procs_board *board;
};

static int procs_ranks; /* in the group of the calling process */
static struct procs_board *procs_board;

typedef void (*procs_fn)(int rank);

/* Makes a folder and shared memory for n processes. */
static inline void procs_prepare(struct procs *c, int n)
{
	memset(c, 0, sizeof(*c));
	c->n = n;
	strcpy(c->folder, "/tmp/peal-procs-XXXXXX");
	CHECK(mkdtemp(c->folder));
	c->board = mmap(NULL, sizeof(*c->board), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(c->board != MAP_FAILED);
	memset(c->board, 0, sizeof(*c->board));
}

static inline void procs_environment(const struct procs *c, int rank)
{
	char text[128];

	snprintf(text, sizeof(text), "%d", rank);
	setenv("PEAL_RANK", text, 1);
	snprintf(text, sizeof(text), "%d", c->n);
	setenv("PEAL_RANKS", text, 1);
	snprintf(text, sizeof(text), "%s/meet", c->folder);
	setenv("PEAL_RENDEZVOUS", text, 1);
}

static inline void procs_fork(struct procs *c, int rank, procs_fn run)
{
	fflush(stdout);
	c->pid[rank] = fork();
	CHECK(c->pid[rank] >= 0);
	if (c->pid[rank])
		return;
	procs_environment(c, rank);
	/* One cache for all processes. procs_tidy() removes it even if a
	 * process was killed. */
	snprintf(harness_cache, sizeof(harness_cache), "%s/cache", c->folder);
	procs_ranks = c->n;
	procs_board = c->board;
	alarm(240); /* no process outlives its test for long */
	run(rank);
	exit(0);
}

static inline void procs_start(struct procs *c, int n, procs_fn run)
{
	int rank;

	procs_prepare(c, n);
	for (rank = 0; rank < n; rank++)
		procs_fork(c, rank, run);
}

/* Waits for a process and returns its wait status. After 2 * MAX_WAIT it kills
 * all processes and exits. */
static inline int procs_await(struct procs *c, int rank)
{
	uint64_t until = harness_now_ns() + 2 * MAX_WAIT;

	while (!c->gone[rank]) {
		if (waitpid(c->pid[rank], &c->status[rank], WNOHANG) ==
		    c->pid[rank]) {
			c->gone[rank] = 1;
		} else if (harness_now_ns() > until) {
			fprintf(stderr, "rank %d hangs\n", rank);
			for (rank = 0; rank < c->n; rank++)
				if (c->pid[rank] && !c->gone[rank])
					kill(c->pid[rank], SIGKILL);
			exit(1);
		} else {
			identity_sleep_us(500);
		}
	}
	return c->status[rank];
}

/* Removes the folder. Exits with 1 if a file other than the cache is left. */
static inline void procs_tidy(struct procs *c)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf '%s/cache'", c->folder);
	CHECK(!system(command));
	if (rmdir(c->folder)) {
		fprintf(stderr, "something is left in %s\n", c->folder);
		exit(1);
	}
	munmap(c->board, sizeof(*c->board));
}

/* Waits until all processes have exited with 0. */
static inline void procs_join(struct procs *c)
{
	int rank, bad = 0;

	for (rank = 0; rank < c->n; rank++)
		if (procs_await(c, rank)) {
			fprintf(stderr, "rank %d: status %#x\n", rank,
				(unsigned)c->status[rank]);
			bad = 1;
		}
	CHECK(!bad);
	procs_tidy(c);
}

#define PROCS(n, run)                                                          \
	do {                                                                   \
		struct procs procs_;                                           \
		procs_start(&procs_, n, run);                                  \
		procs_join(&procs_);                                           \
	} while (0)

/* Returns the start time of the calling process. */
static inline uint64_t procs_start_time(void)
{
	struct peali_member self;

	CHECK_OK(peali_member_self(&self));
	return self.start;
}

/* ---- in a process -------------------------------------------------------- */

static inline struct peal_process_group *procs_enter(struct peal_runtime *rt)
{
	struct peal_process_group_options o = { .size = sizeof(o),
						.timeout_ns = MAX_WAIT };
	struct peal_process_group *set = NULL;

	CHECK_OK(peal_process_group_join(rt, &o, &set));
	return set;
}

static inline struct peal_link *procs_connect(struct peal_process_group *set,
					      int rank, const char *name,
					      uint64_t from, uint32_t port,
					      struct peal_link_options o)
{
	struct peal_link *link = NULL;

	o.size = sizeof(o);
	CHECK_OK(peal_process_connect(set, (uint32_t)rank, name, from, port, &o,
				      MAX_WAIT, &link));
	return link;
}

/* Waits until all processes of the group have come here. Use each `place`
 * once. */
static inline void procs_meet(int place)
{
	atomic_fetch_add(&procs_board->word[place], 1);
	EVENTUALLY(atomic_load(&procs_board->word[place]) >=
		   (uint64_t)procs_ranks);
}

static inline struct peal_process_info
procs_info(struct peal_process_group *set, int rank)
{
	struct peal_process_info info;

	CHECK_OK(peal_process_info(set, (uint32_t)rank, &info));
	return info;
}

/* Counts the entries of /proc/self/fd: 3 more than the open descriptors. */
static inline int procs_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	CHECK(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

#endif
