/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows that processes find each other by a rendezvous file, with options or
 * with variables of launchers. An error names each obstacle.
 */
#include <fcntl.h>
#include <limits.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "runtime/process_fixture.h"
#include "runtime/ipc/process_group.h"
#include "runtime/base/socket.h"

#define ID "0123456789abcdef0123456789abcdef"

static struct peal_runtime *rt; /* of the calling process */

/* Checks that a join as rank `at` of `of`, with a timeout of `ns`, fails. */
#define REFUSED(c, at, of, ns, error, part)                                    \
	do {                                                                   \
		struct peal_process_group_options o_ = { .size = sizeof(o_),   \
							 .rank = at,           \
							 .ranks = of,          \
							 .rendezvous =         \
								 path_of(c),   \
							 .timeout_ns = ns };   \
		struct peal_process_group *set_ = NULL;                        \
		CHECK_FAILS(peal_process_group_join(rt, &o_, &set_), error,    \
			    part);                                             \
		CHECK(!set_);                                                  \
	} while (0)

static const char *path_of(const struct procs *c)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/meet", c->folder);
	return path;
}

static void write_file(const struct procs *c, const char *text, mode_t mode)
{
	int fd = open(path_of(c), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	CHECK(!chmod(path_of(c), mode));
}

/* Returns a pid without a process: the pid of an ended child. */
static int no_pid(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	CHECK(pid > 0 && waitpid(pid, NULL, 0) == pid);
	return (int)pid;
}

static int is_there(const struct procs *c)
{
	return !access(path_of(c), F_OK);
}

/* ---- the environment ----------------------------------------------------- */

static const char *const variables[] = { "PEAL_RANK",
					 "PEAL_RANKS",
					 "PEAL_RENDEZVOUS",
					 "OMPI_COMM_WORLD_RANK",
					 "OMPI_COMM_WORLD_SIZE",
					 "OMPI_MCA_ess_base_jobid",
					 "PMIX_RANK",
					 "PMIX_SIZE",
					 "PMIX_NAMESPACE",
					 "PMI_RANK",
					 "PMI_SIZE",
					 "PMI_JOBID",
					 "SLURM_PROCID",
					 "SLURM_NTASKS",
					 "SLURM_JOB_ID",
					 "SLURM_STEP_ID" };

static void clear_environment(void)
{
	size_t i;

	for (i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		unsetenv(variables[i]);
}

PEAL_TEST(group_of_one_process_needs_no_bootstrap)
{
	struct peal_process_group_options o = { .size = sizeof(o), .ranks = 1 };
	struct peal_process_group_info info;
	struct peal_process_info self;
	struct peal_process_group *set;

	CHECK_OK(peal_process_group_join(rt, &o, &set));
	CHECK_OK(peal_process_group_info(set, &info));
	CHECK_EQ(info.ranks, 1);
	CHECK_EQ(info.n_alive + info.n_left + info.n_dead + info.n_lost, 0);
	CHECK(!strcmp(info.rank_source, "options"));
	CHECK_EQ(strlen(info.id), 32);
	self = procs_info(set, 0);
	CHECK_EQ(self.pid, getpid());
	CHECK_EQ(self.state, PEAL_PROCESS_SELF);
	CHECK_OK(peal_process_group_leave(set, MAX_WAIT));
}

PEAL_TEST(invalid_arguments_are_named)
{
	struct peal_process_group_options o = { .size = sizeof(o), .ranks = 1 };
	struct peal_process_group *set = NULL;
	struct peal_process_group_info info;
	struct peal_process_info one;
	char name[64];

	CHECK_FAILS(peal_process_group_join(NULL, &o, &set), PEAL_EINVAL,
		    "NULL");
	CHECK_FAILS(peal_process_group_join(rt, &o, NULL), PEAL_EINVAL, "NULL");
	o.ranks = 65;
	CHECK_FAILS(peal_process_group_join(rt, &o, &set), PEAL_EINVAL,
		    "is out of range (65, allowed 1..64)");
	o.ranks = o.rank = 2;
	CHECK_FAILS(
		peal_process_group_join(rt, &o, &set), PEAL_EINVAL,
		"is not below the 2 processes by options (2, allowed 0..1)");
	o.rank = 0;
	CHECK_FAILS(peal_process_group_join(rt, &o, &set), PEAL_EINVAL,
		    "no rendezvous file");
	o.size = 3;
	CHECK_FAILS(peal_process_group_join(rt, &o, &set), PEAL_EINVAL, "size");
	CHECK_FAILS(peal_process_group_join(rt, NULL, &set), PEAL_EINVAL,
		    "rank and number of processes are unknown");
	CHECK(!set);
	CHECK_OK(peal_process_group_leave(NULL, 0));
	CHECK_FAILS(peal_process_group_info(NULL, &info), PEAL_EINVAL, "NULL");
	CHECK_FAILS(peal_process_info(NULL, 0, &one), PEAL_EINVAL, "NULL");
	CHECK_FAILS(peal_process_export(NULL, "a", 1), PEAL_EINVAL, "NULL");
	CHECK_FAILS(peal_process_unexport(NULL, "a"), PEAL_EINVAL, "NULL");
	CHECK_FAILS(peal_process_connect(NULL, 0, "a", 1, 0, NULL, 0, NULL),
		    PEAL_EINVAL, "NULL");
	o.size = sizeof(o);
	o.ranks = 1;
	CHECK_OK(peal_process_group_join(rt, &o, &set));
	CHECK_FAILS(peal_process_group_info(set, NULL), PEAL_EINVAL, "NULL");
	CHECK_FAILS(peal_process_info(set, 1, &one), PEAL_ENOENT,
		    "process group: has no such rank (1, allowed 0)");
	memset(name, 'n', sizeof(name));
	name[PEAL_PROCESS_NAME_BYTES] = 0;
	CHECK_FAILS(peal_process_export(set, name, 1), PEAL_EINVAL,
		    "'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn': is "
		    "too long (48 bytes, allowed 1..47)");
	CHECK_FAILS(peal_process_export(set, "", 1), PEAL_EINVAL,
		    "'': is empty (0 bytes, allowed 1..47)");
	CHECK_FAILS(peal_process_unexport(set, "x"), PEAL_ENOENT,
		    "'x' is not exported");
	CHECK_FAILS(peal_process_export(set, "x", 12345), PEAL_ENOENT,
		    "no actor, pool or endpoint");
	CHECK_FAILS(peal_process_connect(set, 1, "a", 1, 0, NULL, 0, NULL),
		    PEAL_ENOENT,
		    "process group: has no such rank (1, allowed "
		    "0)");
	CHECK_FAILS(peal_process_connect(set, 0, "a", 1, 0, NULL, 0, NULL),
		    PEAL_ENOENT, "rank 0 is this process");
	CHECK_OK(peal_process_group_leave(set, 0));
	CHECK(!strcmp(peal_process_state_name(PEAL_PROCESS_DEAD), "dead"));
	CHECK(!strcmp(peal_process_state_name((enum peal_process_state)9),
		      "?"));
	CHECK_EQ(peal_process_rank_of(0), -1);
}

PEAL_TEST(exported_names_are_unique_and_limited)
{
	struct peal_process_group_options o = { .size = sizeof(o), .ranks = 1 };
	struct peal_endpoint *e = harness_endpoint(rt);
	struct peal_process_group_info info;
	struct peal_process_group *set;
	char name[16];
	int i;

	CHECK_OK(peal_process_group_join(rt, &o, &set));
	for (i = 0; i < 1024; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		CHECK_OK(peal_process_export(set, name,
					     peal_endpoint_address(e)));
	}
	CHECK_FAILS(peal_process_export(set, "n7", peal_endpoint_address(e)),
		    PEAL_EEXIST, "'n7' is exported already");
	CHECK_FAILS(peal_process_export(set, "m", peal_endpoint_address(e)),
		    PEAL_ENOSPC, "1024");
	CHECK_OK(peal_process_unexport(set, "n7"));
	CHECK_OK(peal_process_export(set, "m", peal_endpoint_address(e)));
	CHECK_OK(peal_process_group_info(set, &info));
	CHECK_EQ(info.n_exports, 1024);
	CHECK_OK(peal_process_group_leave(set, 0));
	CHECK_OK(peal_endpoint_destroy(e));
}

PEAL_TEST(invalid_launcher_variables_are_named)
{
	struct peal_process_group *set = NULL;

	setenv("PMI_RANK", "0", 1);
	CHECK_FAILS(peal_process_group_join(rt, NULL, &set), PEAL_EINVAL,
		    "PMI_SIZE is missing");
	setenv("PMI_SIZE", "two", 1);
	CHECK_FAILS(peal_process_group_join(rt, NULL, &set), PEAL_EINVAL,
		    "'PMI_SIZE': is no number (two, allowed 0..4294967295)");
	setenv("PMI_SIZE", "2", 1);
	CHECK_FAILS(peal_process_group_join(rt, NULL, &set), PEAL_EINVAL,
		    "no variable names the job");
	/* these take precedence */
	setenv("PEAL_RANK", "1", 1);
	CHECK_FAILS(peal_process_group_join(rt, NULL, &set), PEAL_EINVAL,
		    "PEAL_RANKS is missing");
	setenv("PEAL_RANKS", "1", 1);
	CHECK_FAILS(peal_process_group_join(rt, NULL, &set), PEAL_EINVAL,
		    "is not below the 1 process by PEAL_RANKS (1, allowed 0)");
	clear_environment();
}

/* Variables that MPI launchers set: a job name, but no rendezvous file. */
static const struct launcher {
	const char *rank, *ranks, *job;
} launchers[] = {
	{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE" },
	{ "PMIX_RANK", "PMIX_SIZE", "PMIX_NAMESPACE" },
	{ "PMI_RANK", "PMI_SIZE", "PMI_JOBID" },
	{ "SLURM_PROCID", "SLURM_NTASKS", "SLURM_JOB_ID" },
};
static const struct launcher *launcher;

static void launched(int rank)
{
	struct peal_process_group_info info;
	struct peal_process_group *set;
	char text[64];

	snprintf(text, sizeof(text), "%d", rank);
	CHECK_EQ(atoi(getenv("PEAL_RANK")), rank);
	snprintf(text, sizeof(text), "%s", getenv("PEAL_RENDEZVOUS"));
	*strrchr(text, '/') = 0;
	clear_environment();
	setenv("XDG_RUNTIME_DIR", text, 1);
	setenv(launcher->job, "prterun-host/4711@1", 1);
	snprintf(text, sizeof(text), "%d", rank);
	setenv(launcher->rank, text, 1);
	setenv(launcher->ranks, "3", 1);
	rt = harness_open(1, "");
	set = procs_enter(rt);
	CHECK_OK(peal_process_group_info(set, &info));
	CHECK_EQ(info.rank, rank);
	CHECK_EQ(info.ranks, 3);
	CHECK(!strcmp(info.rank_source, launcher->rank));
	/* no rank leaves before the last one has joined */
	procs_meet(0);
	CHECK_OK(peal_process_group_leave(set, MAX_WAIT));
	CHECK_OK(peal_runtime_close(rt));
}

PEAL_TEST(mpi_launcher_variables_are_sufficient)
{
	size_t i;

	for (i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
		launcher = &launchers[i];
		PROCS(3, launched);
	}
}

/* ---- invalid rendezvous files -------------------------------------------- */

static struct peali_spaces own_spaces(void)
{
	struct peali_spaces self;

	CHECK_OK(peali_spaces_self(&self));
	return self;
}

/* Returns the first line of a file of processes in these namespaces. */
static const char *head_of(struct peali_spaces s)
{
	static char text[160];

	snprintf(text, sizeof(text),
		 "peal-rendezvous 2 " ID " ranks 2 uid 0 namespaces %llu %llu "
		 "%llu\n",
		 (unsigned long long)s.pid, (unsigned long long)s.time,
		 (unsigned long long)s.net);
	return text;
}

PEAL_TEST(stale_rendezvous_file_is_named_and_kept)
{
	struct procs c;
	char text[256];

	procs_prepare(&c, 2);
	snprintf(text, sizeof(text),
		 "%srank 0 pid %d start 17 socket @peal-" ID "-0\n",
		 head_of(own_spaces()), no_pid());
	write_file(&c, text, 0600);
	REFUSED(&c, 0, 2, SECOND, PEAL_EEXIST, "is stale: its rank 0 was pid");
	REFUSED(&c, 1, 2, SECOND, PEAL_EEXIST, "is stale");
	CHECK(is_there(&c));
	/* a process has the pid, but began at another time */
	snprintf(text, sizeof(text),
		 "%srank 0 pid %d start 17 socket @peal-" ID "-0\n",
		 head_of(own_spaces()), (int)getpid());
	write_file(&c, text, 0600);
	REFUSED(&c, 0, 2, SECOND, PEAL_EEXIST, "is stale");
	CHECK(!unlink(path_of(&c)));
	procs_tidy(&c);
}

/* Its pid means another process here, so it must not be called dead. */
PEAL_TEST(rendezvous_file_of_another_namespace_is_named_and_kept)
{
	static const char *const kinds[] = { "PID", "time", "network" };
	struct peali_spaces other;
	struct procs c;
	char text[256];
	int i;

	procs_prepare(&c, 2);
	for (i = 0; i < 3; i++) {
		other = own_spaces();
		other.pid += i == 0;
		other.time += i == 1;
		other.net += i == 2;
		snprintf(text, sizeof(text),
			 "%srank 0 pid %d start 17 socket @peal-" ID "-0\n",
			 head_of(other), no_pid());
		write_file(&c, text, 0600);
		snprintf(text, sizeof(text), "is of another %s namespace",
			 kinds[i]);
		REFUSED(&c, 0, 2, SECOND, PEAL_EPERM, text);
		REFUSED(&c, 1, 2, SECOND, PEAL_EPERM, text);
		CHECK(is_there(&c));
	}
	CHECK(!unlink(path_of(&c)));
	procs_tidy(&c);
}

#define SPACES " ranks 2 uid 0 namespaces 1 2 3"

PEAL_TEST(malformed_rendezvous_files_are_named)
{
	static const struct {
		const char *text, *part;
	} bad[] = {
		{ "", "it is empty" },
		{ "peal-rendezvous 2 " ID " ranks 2 uid 0\n",
		  "id, ranks, uid or namespaces" },
		{ "hello\n", "no first line of a rendezvous" },
		{ "peal-rendezvous 2 " ID SPACES, "it has no end" },
		{ "peal-rendezvous 1 " ID " ranks 2 uid 0\n",
		  "is of another version (1, allowed 2)" },
		{ "peal-rendezvous 2 abc" SPACES "\n", "id, ranks, uid or" },
		{ "peal-rendezvous 2 " ID SPACES " more\n",
		  "id, ranks, uid or" },
		{ "peal-rendezvous 2 " ID " ranks 3 uid 0 namespaces 1 2 3\n",
		  "is for another number of processes (3, allowed 2)" },
		{ "peal-rendezvous 2 " ID SPACES "\n", "rank 0 is missing" },
		{ "peal-rendezvous 2 " ID SPACES "\nrank 2 pid 1 start 1 "
		  "socket @peal-" ID "-2\n",
		  "line 2" },
		{ "peal-rendezvous 2 " ID SPACES "\nrank 0 pid -1 start 1 "
		  "socket @peal-" ID "-0\n",
		  "line 2" },
		{ "peal-rendezvous 2 " ID SPACES "\nrank 0 pid 1 start 1 "
		  "socket @peal-" ID "-1\n",
		  "line 2" },
		{ "peal-rendezvous 2 " ID SPACES "\nrank 0 pid 1 start 1 "
		  "socket @peal-" ID "-0\nrank 0 pid 1 start 1 socket @peal-" ID
		  "-0\n",
		  "a rank is listed twice" },
	};
	struct procs c;
	size_t i;

	procs_prepare(&c, 2);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		write_file(&c, bad[i].text, 0600);
		REFUSED(&c, 0, 2, SECOND, PEAL_EPROTO, bad[i].part);
		REFUSED(&c, 1, 2, SECOND, PEAL_EPROTO, bad[i].part);
	}
	/* zero bytes behind the text */
	CHECK(!truncate(path_of(&c), 100000));
	REFUSED(&c, 1, 2, SECOND, PEAL_EPROTO, "too long, or no text");
	CHECK(!unlink(path_of(&c)));
	procs_tidy(&c);
}

PEAL_TEST(rendezvous_files_writable_by_others_are_refused)
{
	struct procs c;

	procs_prepare(&c, 2);
	write_file(&c, "", 0620);
	REFUSED(&c, 1, 2, SECOND, PEAL_EPERM, "others may write it (mode 620)");
	REFUSED(&c, 0, 2, SECOND, PEAL_EPERM, "others may write it");
	write_file(&c, "", 0602);
	REFUSED(&c, 1, 2, SECOND, PEAL_EPERM, "others may write it (mode 602)");
	CHECK(!unlink(path_of(&c)));
	CHECK(!symlink("/etc/passwd", path_of(&c)));
	REFUSED(&c, 1, 2, SECOND, PEAL_EPERM, "foreign or not safe");
	REFUSED(&c, 0, 2, SECOND, PEAL_EPERM, "foreign or not safe");
	CHECK(!unlink(path_of(&c)));
	CHECK(!mkfifo(path_of(&c), 0600));
	REFUSED(&c, 1, 2, SECOND, PEAL_EPERM, "no plain file");
	CHECK(!unlink(path_of(&c)));
	CHECK(!mkdir(path_of(&c), 0700));
	REFUSED(&c, 1, 2, SECOND, PEAL_EPERM, "foreign or not safe");
	CHECK(!rmdir(path_of(&c)));
	if (!geteuid()) { /* only root can change the owner */
		write_file(&c, "", 0600);
		/* fails if the namespace has no such user */
		if (!chown(path_of(&c), 12345, 12345))
			REFUSED(&c, 1, 2, SECOND, PEAL_EPERM,
				"is foreign: it belongs to user 12345");
		CHECK(!unlink(path_of(&c)));
	}
	procs_tidy(&c);
}

PEAL_TEST(missing_rendezvous_folder_is_named)
{
	struct peal_process_group_options o = { .size = sizeof(o),
						.ranks = 2,
						.rendezvous = "/no/such/meet" };
	struct peal_process_group *set = NULL;
	char path[PATH_MAX + 16];

	CHECK_FAILS(peal_process_group_join(rt, &o, &set), PEAL_EDRIVER,
		    "/no/such/meet: cannot be made");
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = 0;
	o.rendezvous = path;
	CHECK_FAILS(peal_process_group_join(rt, &o, &set), PEAL_EINVAL,
		    "'xxxxxxxxxxxxxxxxxxxxxxx...xxxxxxxxxxxxxxxxxxxxxx': has a "
		    "path that is too long (4111 bytes, allowed 1..4095)");
}

/* ---- missing ranks ------------------------------------------------------- */

/* A job script of Slurm has these variables also without srun. */
PEAL_TEST(job_script_without_launcher_is_named)
{
	struct peal_process_group_options o = { .size = sizeof(o),
						.timeout_ns = 50 * MS };
	struct peal_process_group *set = NULL;
	struct procs c;

	procs_prepare(&c, 4);
	setenv("SLURM_NTASKS", "4", 1);
	CHECK_FAILS(peal_process_group_join(rt, &o, &set), PEAL_EINVAL,
		    "SLURM_PROCID is missing, but SLURM_NTASKS is '4'; start "
		    "all tasks by srun, or set PEAL_RANK and PEAL_RANKS");
	setenv("SLURM_PROCID", "0", 1);
	setenv("PEAL_RENDEZVOUS", path_of(&c), 1);
	CHECK_FAILS(peal_process_group_join(rt, &o, &set), PEAL_ETIMEDOUT,
		    "1 of 4 processes (by SLURM_NTASKS) have come");
	CHECK_CONTAINS(peal_last_error()->text, "start all tasks by srun");
	setenv("SLURM_NTASKS", "65", 1);
	CHECK_FAILS(peal_process_group_join(rt, &o, &set), PEAL_EINVAL,
		    "is out of range (65, allowed 1..64)");
	unsetenv("SLURM_NTASKS");
	unsetenv("SLURM_PROCID");
	unsetenv("PEAL_RENDEZVOUS");
	procs_tidy(&c);
}

PEAL_TEST(missing_ranks_are_named_and_file_is_removed)
{
	struct procs c;

	procs_prepare(&c, 4);
	REFUSED(&c, 2, 4, 50 * MS, PEAL_ETIMEDOUT,
		"rank 2 of 4 (by options): the rendezvous file");
	REFUSED(&c, 0, 4, 50 * MS, PEAL_ETIMEDOUT,
		"1 of 4 processes (by options) have come");
	CHECK_CONTAINS(peal_last_error()->text, "rank 1, 2, 3 is missing");
	procs_tidy(&c);
}

/* Joins a set and waits. The case kills the process. */
static void waits_for_all(int rank)
{
	(void)rank;
	procs_enter(harness_open(1, ""));
}

/* Returns 1 if the folder's file system has files without a name. */
static int has_unnamed_files(const char *folder)
{
	int fd = open(folder, O_TMPFILE | O_WRONLY, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Returns the number of names that the folder got since the watch began. None
 * is a temporary name. */
static int created_names(int watch)
{
	union {
		struct inotify_event event;
		char bytes[4096];
	} got;
	ssize_t at = 0, n = read(watch, &got, sizeof(got));
	int created = 0;

	while (at < n) {
		struct inotify_event e;

		memcpy(&e, got.bytes + at, sizeof(e));
		at += (ssize_t)sizeof(e);
		CHECK(!strstr(got.bytes + at, ".new"));
		at += e.len;
		created++;
	}
	return created;
}

/* So a process that dies meanwhile leaves no temporary file. */
PEAL_TEST(rendezvous_file_is_complete_before_it_has_a_name)
{
	struct procs c;
	int watch;

	procs_prepare(&c, 2);
	if (!has_unnamed_files(c.folder)) {
		printf("    the file system has no files without a name\n");
		procs_tidy(&c);
		return;
	}
	watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	CHECK(inotify_add_watch(watch, c.folder, IN_CREATE | IN_MOVED_TO) >= 0);
	REFUSED(&c, 0, 2, 50 * MS, PEAL_ETIMEDOUT, "");
	CHECK(created_names(watch) >= 1);
	close(watch);
	procs_tidy(&c);
}

PEAL_TEST(early_death_of_rank_0_leaves_a_stale_file)
{
	struct procs c;

	procs_prepare(&c, 3);
	procs_fork(&c, 0, waits_for_all);
	rt = harness_open(1, "");
	EVENTUALLY(is_there(&c));
	REFUSED(&c, 0, 3, SECOND, PEAL_EEXIST,
		"is of another active run: its rank 0 is pid");
	REFUSED(&c, 1, 4, SECOND, PEAL_EPROTO,
		"is for another number of processes (3, allowed 4)");
	kill(c.pid[0], SIGKILL);
	procs_await(&c, 0);
	REFUSED(&c, 1, 3, SECOND, PEAL_EEXIST, "is stale");
	CHECK_OK(peal_runtime_close(rt));
	CHECK(!unlink(path_of(&c)));
	procs_tidy(&c);
}

/* Joins a set. Fails at once when rank 1 dies before all have joined. */
static void hears_of_the_dead(int rank)
{
	struct peal_process_group_options o = { .size = sizeof(o),
						.timeout_ns = MAX_WAIT };
	struct peal_process_group *set = NULL;

	(void)rank;
	CHECK_FAILS(peal_process_group_join(harness_open(1, ""), &o, &set),
		    PEAL_EDIED, "rank 1 (pid ");
	CHECK_CONTAINS(peal_last_error()->text, "has ended before all ");
}

static int has_line(const struct procs *c, const char *part)
{
	char text[4096] = "";
	int fd = open(path_of(c), O_RDONLY);

	if (fd < 0)
		return 0;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(fd);
	return strstr(text, part) != NULL;
}

PEAL_TEST(rank_dead_during_bootstrap_is_named)
{
	struct procs c;

	procs_prepare(&c, 3);
	procs_fork(&c, 0, hears_of_the_dead);
	procs_fork(&c, 1, waits_for_all);
	rt = harness_open(1, "");
	EVENTUALLY(has_line(&c, "rank 1 pid"));
	REFUSED(&c, 1, 3, SECOND, PEAL_EEXIST, "has a rank 1 already, pid");
	kill(c.pid[1], SIGKILL);
	procs_await(&c, 1);
	CHECK_EQ(procs_await(&c, 0), 0);
	CHECK_OK(peal_runtime_close(rt));
	procs_tidy(&c); /* rank 0 has removed its file */
}

/* One of two ranks. A stranger connects to the socket of rank 0. */
static void late_rank_1(int rank)
{
	struct peal_process_group *set;
	struct peal_runtime *own = harness_open(1, "");

	set = procs_enter(own);
	procs_meet(0);
	CHECK_EQ(procs_info(set, 1 - rank).state, PEAL_PROCESS_ALIVE);
	procs_meet(1);
	CHECK_OK(peal_process_group_leave(set, MAX_WAIT));
	CHECK_OK(peal_runtime_close(own));
}

PEAL_TEST(unknown_connections_are_rejected)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	char id[64] = "", text[512] = "", got[512];
	struct procs c;
	int fd, i;

	procs_prepare(&c, 2);
	procs_fork(&c, 0, late_rank_1);
	EVENTUALLY(has_line(&c, "rank 0 pid"));
	fd = open(path_of(&c), O_RDONLY);
	CHECK(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	CHECK_EQ(sscanf(text, "peal-rendezvous 2 %32s", id), 1);
	i = snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1, "peal-%s-0", id);
	i += (int)offsetof(struct sockaddr_un, sun_path) + 1;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	EVENTUALLY(!connect(fd, (struct sockaddr *)&at, (socklen_t)i));
	memset(text, 'x', sizeof(text));
	CHECK(send(fd, text, 480, MSG_NOSIGNAL) == 480);
	procs_fork(&c, 1, late_rank_1);
	/* the connection is closed */
	CHECK_EQ(recv(fd, got, sizeof(got), 0), 0);
	close(fd);
	procs_join(&c);
}

/*
 * Acts as rank 1 of the rendezvous file. Another process sends the hello of
 * rank 1, but the operating system reports that process's own pid.
 */
static void is_only_named(int rank)
{
	atomic_store(&procs_board->word[1], procs_start_time());
	procs_meet(0);
	for (;;)
		pause();
	(void)rank;
}

PEAL_TEST(impersonating_process_is_rejected)
{
	struct peali_record hello = peali_record(PEALI_RECORD_HELLO), got;
	struct sockaddr_un at;
	socklen_t bytes;
	char id[64] = "", text[512] = "";
	struct procs c;
	int fd, n;

	procs_prepare(&c, 2);
	procs_fork(&c, 0, hears_of_the_dead);
	EVENTUALLY(has_line(&c, "rank 0 pid"));
	procs_fork(&c, 1, is_only_named);
	EVENTUALLY(atomic_load(&c.board->word[0]) == 1);
	fd = open(path_of(&c), O_RDWR);
	CHECK(read(fd, text, sizeof(text) - 1) > 0);
	CHECK_EQ(sscanf(text, "peal-rendezvous 2 %32s", id), 1);
	hello.rank = 1;
	hello.ranks = 2;
	hello.start = atomic_load(&c.board->word[1]);
	memcpy(hello.id, id, sizeof(hello.id));
	n = snprintf(text, sizeof(text),
		     "rank 1 pid %d start %llu socket @peal-%s-1\n",
		     (int)c.pid[1], (unsigned long long)hello.start, id);
	CHECK_EQ(write(fd, text, (size_t)n), n);
	close(fd);
	bytes = peali_socket_name(&at, "peal-%s-0", id);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	EVENTUALLY(!connect(fd, (struct sockaddr *)&at, bytes));
	CHECK(send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) == sizeof(hello));
	/* the stranger gets no hello */
	CHECK_EQ(recv(fd, &got, sizeof(got), 0), 0);
	close(fd);
	kill(c.pid[1], SIGKILL);
	procs_await(&c, 1);
	CHECK_EQ(procs_await(&c, 0), 0);
	procs_tidy(&c);
}

int main(int argc, char **argv)
{
	int peal_cases_ = 0;

	clear_environment();
	/* these cases fork, so no runtime may be open yet */
	RUN(mpi_launcher_variables_are_sufficient);
	RUN(unknown_connections_are_rejected);
	RUN(impersonating_process_is_rejected);
	RUN(early_death_of_rank_0_leaves_a_stale_file);
	RUN(rank_dead_during_bootstrap_is_named);
	rt = harness_open(1, "");
	RUN(group_of_one_process_needs_no_bootstrap);
	RUN(invalid_arguments_are_named);
	RUN(exported_names_are_unique_and_limited);
	RUN(invalid_launcher_variables_are_named);
	RUN(stale_rendezvous_file_is_named_and_kept);
	RUN(rendezvous_file_of_another_namespace_is_named_and_kept);
	RUN(malformed_rendezvous_files_are_named);
	RUN(rendezvous_files_writable_by_others_are_refused);
	RUN(missing_rendezvous_folder_is_named);
	RUN(job_script_without_launcher_is_named);
	RUN(missing_ranks_are_named_and_file_is_removed);
	RUN(rendezvous_file_is_complete_before_it_has_a_name);
	CHECK_OK(peal_runtime_close(rt));
	printf("%d cases passed\n", peal_cases_);
	return peal_cases_ ? 0 : 1;
}
