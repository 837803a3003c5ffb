/* SPDX-License-Identifier: Apache-2.0 */
/* Creates, reads and removes the rendezvous file. See rendezvous.h. */
#include "runtime/ipc/rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/process.h"
#include "runtime/base/refusal.h"
#include "runtime/base/system_call.h"
#include "runtime/base/text.h"

#define CALL "peal_process_group_join"
#define BYTES_MAX 16384 /* a larger file is rejected */
#define LINE_BYTES 256 /* of a printed line, with its newline */
#define SHOWN(plan) PEALI_CUT(100, (plan)->path) /* in error texts */

/* ---- processes ----------------------------------------------------------- */

int peali_member_self(struct peali_member *out)
{
	struct peali_process_stat stat;

	out->pid = (int)getpid();
	if (peali_process_stat(out->pid, &stat))
		return peali_fail_system(errno, CALL,
					 "cannot read /proc/%d/stat", out->pid);
	out->start = stat.start;
	return 0;
}

int peali_member_lives(const struct peali_member *m)
{
	struct peali_process_stat stat;

	if (m->pid <= 0)
		return 0;
	if (peali_process_stat(m->pid,
			       &stat)) /* a limit of files tells nothing */
		return errno != ENOENT && errno != ESRCH;
	return stat.state != 'Z' && stat.state != 'X' && stat.start == m->start;
}

/* Gets a namespace of the caller. An older kernel may lack its kind. */
static int space_self(const char *kind, uint64_t *out)
{
	*out = peali_process_namespace(0, kind);
	if (*out || errno == ENOENT)
		return 0;
	return peali_fail_system(errno, CALL, "cannot read /proc/self/ns/%s",
				 kind);
}

int peali_spaces_self(struct peali_spaces *out)
{
	int result = space_self("pid", &out->pid);

	if (!result)
		result = space_self("time", &out->time);
	return result ? result : space_self("net", &out->net);
}

/* Returns the kind of namespace that differs, or NULL. Only processes of the
 * same PID and time namespace can check each other's pid and start time. The
 * network namespace has the names of sockets. */
static const char *foreign(const struct peali_spaces *s,
			   const struct peali_spaces *self)
{
	if (s->pid != self->pid)
		return "PID";
	if (s->time != self->time)
		return "time";
	return s->net != self->net ? "network" : NULL;
}

/* ---- the text ------------------------------------------------------------ */

static int print_head(char *text, size_t bytes,
		      const struct peali_rendezvous *r)
{
	return snprintf(text, bytes,
			"peal-rendezvous %d %s ranks %u uid %u namespaces %llu "
			"%llu %llu\n",
			PEALI_RENDEZVOUS_VERSION, r->id, r->ranks, r->uid,
			(unsigned long long)r->spaces.pid,
			(unsigned long long)r->spaces.time,
			(unsigned long long)r->spaces.net);
}

static int print_member(char *text, size_t bytes, const char *id, uint32_t rank,
			const struct peali_member *m)
{
	return snprintf(text, bytes,
			"rank %u pid %d start %llu socket @peal-%s-%u\n", rank,
			m->pid, (unsigned long long)m->start, id, rank);
}

/*
 * Compares a line without its newline to the printed text of its values. Returns
 * 1 if they are equal. sscanf also accepts signs, blanks and too large numbers.
 */
static int is_printed(const char *line, const char *text)
{
	size_t n = strlen(line);

	return !strncmp(text, line, n) && !strcmp(text + n, "\n");
}

static int damaged(const struct peali_launcher_env *plan, int line,
		   const char *what)
{
	return peali_fail(
		PEAL_EPROTO, CALL,
		"rendezvous file %s: line %d is not one of Peal's: %s; "
		"remove it",
		SHOWN(plan), line, what);
}

/* Parses the first line. Returns 0 or PEAL_EPROTO. */
static int parse_head(const struct peali_launcher_env *plan, const char *line,
		      struct peali_rendezvous *out)
{
	unsigned version = 0, ranks = 0, uid = 0;
	unsigned long long space[3] = { 0, 0, 0 };
	char text[LINE_BYTES];

	if (sscanf(line, "peal-rendezvous %u", &version) != 1)
		return damaged(plan, 1,
			       "it is no first line of a rendezvous file");
	if (version != PEALI_RENDEZVOUS_VERSION)
		return PEALI_REFUSE(
			PEAL_EPROTO, CALL, .object = "rendezvous file",
			.name = plan->path, .problem = "is of another version",
			.number = version, .least = PEALI_RENDEZVOUS_VERSION,
			.most = PEALI_RENDEZVOUS_VERSION,
			.remedy = "use one version of Peal in all "
				  "processes");
	if (sscanf(line,
		   "peal-rendezvous %u %32[0-9a-f] ranks %u uid %u namespaces "
		   "%llu %llu %llu",
		   &version, out->id, &ranks, &uid, &space[0], &space[1],
		   &space[2]) != 7 ||
	    strlen(out->id) != PEALI_SET_ID)
		return damaged(plan, 1, "id, ranks, uid or namespaces");
	out->ranks = ranks;
	out->uid = uid;
	out->spaces = (struct peali_spaces){ space[0], space[1], space[2] };
	print_head(text, sizeof(text), out);
	if (!is_printed(line, text))
		return damaged(plan, 1, "id, ranks, uid or namespaces");
	if (ranks != plan->ranks)
		return PEALI_REFUSE(
			PEAL_EPROTO, CALL, .object = "rendezvous file",
			.name = plan->path,
			.problem = "is for another number of processes",
			.number = ranks, .least = plan->ranks,
			.most = plan->ranks,
			.remedy = "remove it, or start as many processes");
	return 0;
}

static int parse_member(const struct peali_launcher_env *plan, int number,
			const char *line, struct peali_rendezvous *out)
{
	unsigned long long start = 0;
	struct peali_member member;
	char text[LINE_BYTES];
	unsigned rank = 0;
	int pid = 0;

	if (sscanf(line, "rank %u pid %d start %llu", &rank, &pid, &start) != 3)
		return damaged(plan, number, "rank, pid, start or socket");
	member = (struct peali_member){ pid, start };
	print_member(text, sizeof(text), out->id, rank, &member);
	if (!is_printed(line, text) || rank >= out->ranks || pid <= 0)
		return damaged(plan, number, "rank, pid, start or socket");
	if (out->member[rank].pid)
		return damaged(plan, number, "a rank is listed twice");
	out->member[rank] = member;
	out->here++;
	return 0;
}

int peali_rendezvous_parse(const struct peali_launcher_env *plan, char *text,
			   struct peali_rendezvous *out)
{
	char *line = text, *end;
	int result, number = 1;

	memset(out, 0, sizeof(*out));
	for (; *line; line = end + 1, number++) {
		end = strchr(line, '\n');
		if (!end)
			return damaged(plan, number, "it has no end");
		*end = 0;
		result = number == 1 ? parse_head(plan, line, out) :
				       parse_member(plan, number, line, out);
		if (result)
			return result;
	}
	if (number == 1)
		return damaged(plan, 1, "it is empty");
	if (!out->member[0].pid)
		return damaged(plan, 2, "rank 0 is missing");
	return 0;
}

/* ---- the file ------------------------------------------------------------ */

static int system_failed(const struct peali_launcher_env *plan,
			 const char *what)
{
	return peali_fail_system(errno, CALL, "rendezvous file %s: %s",
				 SHOWN(plan), what);
}

/* As system_failed, for a file system that lacks an operation. */
static int file_system_lacks(const struct peali_launcher_env *plan,
			     const char *what)
{
	return peali_fail_driver(
		PEAL_EDRIVER, errno, CALL,
		"rendezvous file %s: its file system has no %s: %s; set "
		"PEAL_RENDEZVOUS to a file on another file system, as /tmp",
		PEALI_CUT(70, plan->path), what, strerror(errno));
}

/* Returns 1 if errno says that a file system lacks an operation. */
static int is_lacking(void)
{
	return errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP ||
	       errno == EPERM || errno == EMLINK;
}

/* Checks that no other user can write the file. Returns 0, PEAL_EPERM or
 * PEAL_EDRIVER. */
static int check_owner(const struct peali_launcher_env *plan, int fd)
{
	struct stat is;

	if (fstat(fd, &is))
		return system_failed(plan, "fstat");
	if (!S_ISREG(is.st_mode))
		return peali_fail(PEAL_EPERM, CALL,
				  "rendezvous file %s is no plain file",
				  SHOWN(plan));
	if (is.st_uid != geteuid())
		return peali_fail(PEAL_EPERM, CALL,
				  "rendezvous file %s is foreign: it "
				  "belongs to user %u, this process to %u",
				  SHOWN(plan), (unsigned)is.st_uid,
				  (unsigned)geteuid());
	if (is.st_mode & (S_IWGRP | S_IWOTH))
		return peali_fail(PEAL_EPERM, CALL,
				  "rendezvous file %s is not safe: "
				  "others may write it (mode %o)",
				  SHOWN(plan), (unsigned)is.st_mode & 0777);
	return 0;
}

/* Opens the file and checks its owner. Returns PEAL_ENOENT, without an error
 * text, if there is no file. The caller closes *fd_out. */
static int open_file(const struct peali_launcher_env *plan, int flags,
		     int *fd_out)
{
	int fd, result;

	fd = peali_open(plan->path,
			flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
			0);
	if (fd < 0 && errno == ENOENT)
		return PEAL_ENOENT;
	if (fd < 0 && (errno == ELOOP || errno == EACCES || errno == EISDIR ||
		       errno == EPERM || errno == ENXIO))
		return peali_fail(PEAL_EPERM, CALL,
				  "rendezvous file %s is foreign or not "
				  "safe: %s",
				  SHOWN(plan), strerror(errno));
	if (fd < 0)
		return system_failed(plan, "open");
	result = check_owner(plan, fd);
	if (result)
		close(fd);
	else
		*fd_out = fd;
	return result;
}

/* Reads and parses an open file. Without the file lock, the last line may be
 * incomplete. */
static int read_file(const struct peali_launcher_env *plan, int fd,
		     struct peali_rendezvous *out)
{
	char text[BYTES_MAX + 1];
	size_t used = 0;
	ssize_t n = 1;

	while (n > 0 && used < BYTES_MAX) {
		n = pread(fd, text + used, BYTES_MAX - used, (off_t)used);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n < 0)
			return system_failed(plan, "read");
		else
			used += (size_t)n;
	}
	text[used] = 0;
	if (used == BYTES_MAX || strlen(text) != used)
		return damaged(plan, 1, "it is too long, or no text");
	return peali_rendezvous_parse(plan, text, out);
}

/* Takes the file lock. Other processes hold the lock only briefly. Returns 0,
 * PEAL_ETIMEDOUT after about 5 s, or PEAL_EDRIVER. */
static int lock_file(const struct peali_launcher_env *plan, int fd)
{
	int tries;

	for (tries = 0; tries < 5000; tries++) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return is_lacking() ?
				       file_system_lacks(plan, "file locks") :
				       system_failed(plan, "flock");
		usleep(1000);
	}
	return peali_fail(PEAL_ETIMEDOUT, CALL,
			  "rendezvous file %s is locked by another process",
			  SHOWN(plan));
}

/* Returns 0 if rank 0 of a file runs, else PEAL_EEXIST. In another namespace
 * the caller cannot know whether it runs. Then it returns PEAL_EPERM. Also
 * returns the errors of peali_spaces_self. */
static int check_first(const struct peali_launcher_env *plan,
		       const struct peali_rendezvous *r)
{
	struct peali_spaces self;
	int result = peali_spaces_self(&self);
	const char *kind = result ? NULL : foreign(&r->spaces, &self);

	if (result)
		return result;
	if (kind)
		return peali_fail(
			PEAL_EPERM, CALL,
			"rendezvous file %s is of another %s namespace, "
			"where rank 0 has pid %d; start all ranks in one "
			"container, or remove the file if that run has ended",
			SHOWN(plan), kind, r->member[0].pid);
	if (!peali_member_lives(&r->member[0]))
		return peali_fail(PEAL_EEXIST, CALL,
				  "rendezvous file %s is stale: its rank 0 "
				  "was pid %d, which has ended; remove it",
				  SHOWN(plan), r->member[0].pid);
	return 0;
}

/* Returns 0, or an error if /proc cannot tell whether a process runs. */
static int check_proc(void)
{
	if (peali_process_sees_proc())
		return 0;
	if (errno && errno != ENOENT)
		return peali_fail_system(errno, CALL,
					 "cannot read /proc/self/stat");
	return peali_fail(PEAL_EDRIVER, CALL,
			  "/proc: does not show this process (pid %d); mount "
			  "/proc in this PID namespace",
			  (int)getpid());
}

/* Describes the file that rank 0 has found at its path, in the error text.
 * Returns PEAL_EAGAIN if the file is gone, else an error. */
static int name_other(const struct peali_launcher_env *plan)
{
	struct peali_rendezvous r;
	int fd = -1, result = open_file(plan, O_RDONLY, &fd);

	if (result == PEAL_ENOENT)
		return PEAL_EAGAIN; /* it was removed meanwhile */
	if (result)
		return result;
	result = lock_file(plan, fd); /* so that each line is complete */
	if (!result)
		result = read_file(plan, fd, &r);
	close(fd);
	if (result)
		return result;
	result = check_first(plan, &r);
	if (result)
		return result;
	return peali_fail(PEAL_EEXIST, CALL,
			  "rendezvous file %s is of another active run: "
			  "its rank 0 is pid %d",
			  SHOWN(plan), r.member[0].pid);
}

/* Writes the text to a new file. Returns 0, PEAL_ENOMEM or PEAL_EDRIVER. */
static int fill(const struct peali_launcher_env *plan, int fd, const char *text,
		size_t bytes)
{
	return peali_write_all(fd, text, bytes) ? system_failed(plan, "write") :
						  0;
}

/*
 * Writes a file without a name, then links it to the path. A process that dies
 * here leaves no other file. Returns 1 if the system has no such files.
 */
static int publish_unnamed(const struct peali_launcher_env *plan,
			   const char *text, size_t bytes)
{
	char folder[4096], link[64];
	int fd, result;

	snprintf(folder, sizeof(folder), "%s", plan->path);
	fd = peali_open(dirname(folder), O_TMPFILE | O_WRONLY | O_CLOEXEC,
			0600);
	if (fd < 0)
		return 1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	result = fill(plan, fd, text, bytes);
	if (!result &&
	    linkat(AT_FDCWD, link, AT_FDCWD, plan->path, AT_SYMLINK_FOLLOW))
		result = errno == EEXIST ? PEAL_EEXIST : 1;
	close(fd);
	return result;
}

/* Writes the file under a temporary name, then links it to its path. */
static int publish_named(const struct peali_launcher_env *plan,
			 const char *text, size_t bytes)
{
	char name[4096 + 32];
	int fd, result;

	snprintf(name, sizeof(name), "%s.%d.new", plan->path, (int)getpid());
	unlink(name);
	fd = peali_open(name,
			O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
			0600);
	if (fd < 0)
		return system_failed(plan, "cannot be made");
	result = fill(plan, fd, text, bytes);
	close(fd);
	if (!result && link(name, plan->path))
		result = errno == EEXIST ? PEAL_EEXIST :
			 is_lacking() ? file_system_lacks(plan, "hard links") :
					system_failed(plan, "link");
	unlink(name);
	return result;
}

/*
 * Publishes the file. No process ever sees an incomplete file. Returns
 * PEAL_EEXIST, without an error text, if the path exists.
 */
static int publish(const struct peali_launcher_env *plan, const char *text,
		   size_t bytes)
{
	int result = 1;

	if (!access("/proc/self/fd", X_OK))
		result = publish_unnamed(plan, text, bytes);
	return result == 1 ? publish_named(plan, text, bytes) : result;
}

int peali_rendezvous_id(char out[PEALI_SET_ID + 1])
{
	uint8_t random[PEALI_SET_ID / 2];
	size_t i;

	ssize_t n;

	do { /* so few bytes come at once or not at all */
		n = getrandom(random, sizeof(random), 0);
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(random))
		return peali_fail_driver(PEAL_EDRIVER, errno, CALL,
					 "getrandom: %s", strerror(errno));
	for (i = 0; i < sizeof(random); i++)
		snprintf(out + 2 * i, 3, "%02x", random[i]);
	return 0;
}

int peali_rendezvous_begin(const struct peali_launcher_env *plan,
			   struct peali_rendezvous *out)
{
	struct peali_rendezvous r;
	char text[512];
	int n, result;

	memset(&r, 0, sizeof(r));
	r.ranks = plan->ranks;
	r.here = 1;
	r.uid = (uint32_t)geteuid();
	result = check_proc();
	if (!result)
		result = peali_member_self(&r.member[0]);
	if (!result)
		result = peali_spaces_self(&r.spaces);
	if (!result)
		result = peali_rendezvous_id(r.id);
	if (result)
		return result;
	n = print_head(text, sizeof(text), &r);
	n += print_member(text + n, sizeof(text) - (size_t)n, r.id, 0,
			  &r.member[0]);
	do {
		result = publish(plan, text, (size_t)n);
		if (result == PEAL_EEXIST)
			result = name_other(plan);
	} while (result == PEAL_EAGAIN);
	if (!result)
		*out = r;
	return result;
}

/* Appends the caller's line. The caller holds the file lock. */
static int add_member(const struct peali_launcher_env *plan, int fd,
		      struct peali_rendezvous *r)
{
	const struct peali_member *there = &r->member[plan->rank];
	struct peali_member self;
	char text[LINE_BYTES];
	int n, result = peali_member_self(&self);

	if (result)
		return result;
	/* the line of an earlier join: rank 0 is about to remove the file */
	if (there->pid == self.pid && there->start == self.start)
		return PEAL_EAGAIN;
	if (there->pid)
		return peali_fail(
			PEAL_EEXIST, CALL,
			"rendezvous file %s has a rank %u already, pid "
			"%d%s; it may be of another run",
			SHOWN(plan), plan->rank, there->pid,
			peali_member_lives(there) ? "" : ", which has ended");
	n = print_member(text, sizeof(text), r->id, plan->rank, &self);
	if (lseek(fd, 0, SEEK_END) < 0 || peali_write_all(fd, text, (size_t)n))
		return system_failed(plan, "write");
	r->member[plan->rank] = self;
	r->here++;
	return 0;
}

int peali_rendezvous_enter(const struct peali_launcher_env *plan,
			   struct peali_rendezvous *out)
{
	struct peali_rendezvous r;
	int fd = -1, result = check_proc();

	if (!result)
		result = open_file(plan, O_RDWR, &fd);
	if (result == PEAL_ENOENT)
		return PEAL_EAGAIN;
	if (result)
		return result;
	result = lock_file(plan, fd);
	if (!result)
		result = read_file(plan, fd, &r);
	if (!result)
		result = check_first(plan, &r);
	if (!result)
		result = add_member(plan, fd, &r);
	close(fd);
	if (!result)
		*out = r;
	return result;
}

/* Returns PEAL_EDIED if a process that has joined has ended, else 0. */
static int check_lives(const struct peali_rendezvous *r)
{
	uint32_t rank;

	for (rank = 0; rank < r->ranks; rank++)
		if (r->member[rank].pid &&
		    !peali_member_lives(&r->member[rank]))
			return peali_fail(
				PEAL_EDIED, CALL,
				"rank %u (pid %d) has ended before all ranks "
				"had come",
				rank, r->member[rank].pid);
	return 0;
}

int peali_rendezvous_look(const struct peali_launcher_env *plan,
			  struct peali_rendezvous *rendezvous)
{
	struct peali_rendezvous r;
	int fd = -1, result = open_file(plan, O_RDWR, &fd);

	if (result == PEAL_ENOENT)
		return peali_fail(PEAL_ENOENT, CALL,
				  "rendezvous file %s was removed before "
				  "all ranks had connected, by rank 0 (pid "
				  "%d) or another process",
				  SHOWN(plan), rendezvous->member[0].pid);
	if (result)
		return result;
	result = lock_file(plan, fd); /* so that each line is complete */
	if (!result)
		result = read_file(plan, fd, &r);
	close(fd);
	if (!result && strcmp(r.id, rendezvous->id))
		result = peali_fail(PEAL_EPROTO, CALL,
				    "rendezvous file %s now belongs to "
				    "another run",
				    SHOWN(plan));
	if (!result)
		result = check_lives(&r);
	if (result)
		return result;
	*rendezvous = r;
	return r.here == r.ranks ? 0 : PEAL_EAGAIN;
}

void peali_rendezvous_end(const struct peali_launcher_env *plan,
			  const struct peali_rendezvous *rendezvous)
{
	struct peali_rendezvous r;
	int fd = -1;

	int result = open_file(plan, O_RDONLY, &fd);

	if (result == PEAL_ENOENT)
		return;
	if (!result)
		result = lock_file(plan, fd);
	if (!result)
		result = read_file(plan, fd, &r);
	if (!result && !strcmp(r.id, rendezvous->id) && unlink(plan->path))
		result = system_failed(plan, "unlink");
	if (result)
		peali_log(1, "the rendezvous file stays: %s",
			  peal_last_error()->text);
	if (fd >= 0)
		close(fd);
}
