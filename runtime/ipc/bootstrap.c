/* SPDX-License-Identifier: Apache-2.0 */
/* Connects each pair of processes of a group, by the rendezvous file. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/socket.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/ipc/process_group.h"
#include "runtime/ipc/rendezvous.h"

#define CALL "peal_process_group_join"
#define HELLO_NS 2000000000ULL /* limit for the HELLO of a new connection */
#define LOOK_MS 20 /* ms between two checks for ended processes */

struct peali_record peali_record(enum peali_record_type type)
{
	struct peali_record r;

	memset(&r, 0, sizeof(r));
	r.magic = PEALI_RECORD_MAGIC;
	r.version = PEALI_RECORD_VERSION;
	r.type = (uint32_t)type;
	return r;
}

void peali_record_text(const struct peali_record *r, char *text, size_t size)
{
	peali_text_escape(text, size, r->text,
			  strnlen(r->text, sizeof(r->text)));
}

/* Returns the ms until a deadline, at most `most`. */
static int ms_left(uint64_t deadline, int most)
{
	uint64_t now = peali_now_ns();

	if (now >= deadline)
		return 0;
	if ((deadline - now) / 1000000 < (uint64_t)most)
		return (int)((deadline - now) / 1000000) + 1;
	return most;
}

/* ---- rendezvous file ----------------------------------------------------- */

static int late_for_file(const struct peal_process_group *set)
{
	return peali_fail(
		PEAL_ETIMEDOUT, CALL,
		"rank %u of %u (by %s): the rendezvous file %s, which rank 0 "
		"makes, did not appear in time; %s",
		set->plan.rank, set->plan.ranks, set->plan.counted,
		PEALI_CUT(72, set->plan.path), set->plan.remedy);
}

/* Reports the missing ranks. */
static int late_for(const struct peal_process_group *set,
		    const struct peali_rendezvous *r)
{
	char names[80] = "";
	size_t used = 0;
	uint32_t rank;

	for (rank = 0; rank < r->ranks && used < sizeof(names) - 12; rank++)
		if (!r->member[rank].pid)
			used += (size_t)snprintf(names + used,
						 sizeof(names) - used, "%s%u",
						 used ? ", " : "", rank);
	return peali_fail(PEAL_ETIMEDOUT, CALL,
			  "%u of %u processes (by %s) have come to %s in "
			  "time; rank %s is missing; %s",
			  r->here, r->ranks, set->plan.counted,
			  PEALI_CUT(60, set->plan.path), PEALI_CUT(40, names),
			  set->plan.remedy);
}

/* Returns a listening socket with the name of the rank, or an error. */
static int listen_at(const char *id, uint32_t rank)
{
	struct sockaddr_un at;
	socklen_t bytes = peali_socket_name(&at, "peal-%s-%u", id, rank);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), error;

	if (fd >= 0 && !bind(fd, (const struct sockaddr *)&at, bytes) &&
	    !listen(fd, PEAL_PROCESS_GROUP_MAX))
		return fd;
	error = peali_fail_system(errno, CALL, "socket @%s cannot be opened",
				  at.sun_path + 1);
	if (fd >= 0)
		close(fd);
	return error;
}

/*
 * Adds this process to the file and opens its listening socket. Waits only for
 * the file of rank 0.
 */
static int enter(struct peal_process_group *set, uint64_t deadline,
		 struct peali_rendezvous *r, int *listener)
{
	int result = PEAL_EAGAIN;

	if (set->plan.rank == 0)
		result = peali_rendezvous_begin(&set->plan, r);
	while (result == PEAL_EAGAIN) {
		result = peali_rendezvous_enter(&set->plan, r);
		if (result != PEAL_EAGAIN)
			break;
		if (peali_late(deadline))
			return late_for_file(set);
		usleep(2000);
	}
	if (result)
		return result;
	*listener = listen_at(r->id, set->plan.rank);
	return *listener < 0 ? *listener : 0;
}

/* Waits until all processes are in the file. */
static int await_all(struct peal_process_group *set, uint64_t deadline,
		     struct peali_rendezvous *r)
{
	int result = r->here == r->ranks ? 0 : PEAL_EAGAIN;

	while (result == PEAL_EAGAIN) {
		result = peali_rendezvous_look(&set->plan, r);
		if (result != PEAL_EAGAIN)
			break;
		if (peali_late(deadline))
			return late_for(set, r);
		usleep(2000);
	}
	return result;
}

/* ---- hello --------------------------------------------------------------- */

static struct peali_record hello(const struct peal_process_group *set,
				 const struct peali_rendezvous *r)
{
	struct peali_record h = peali_record(PEALI_RECORD_HELLO);

	memcpy(h.id, r->id, sizeof(h.id));
	h.rank = set->plan.rank;
	h.ranks = set->plan.ranks;
	h.windows = set->n_windows;
	h.start = r->member[set->plan.rank].start;
	return h;
}

/* Returns 1 if a call on a connection has failed in this process. Otherwise the
 * other end has closed it, or is late. */
static int failed_here(void)
{
	return errno != EPIPE && errno != ECONNRESET && errno != EAGAIN;
}

/* Closes a connection on which a call has failed in this process. */
static int fail_here(int fd, const char *what)
{
	int error = peali_fail_system(errno, CALL,
				      "a connection to another rank: %s", what);

	close(fd);
	return error;
}

/*
 * Checks that the process at the other end is the one in the file. The
 * operating system confirms its user and pid.
 */
static int is_member(const struct ucred *credentials,
		     const struct peali_rendezvous *r, uint32_t rank,
		     const char **why)
{
	*why = "a process of another user answers there";
	if (credentials->uid != geteuid())
		return 0;
	*why = "another process answers there";
	return credentials->pid == r->member[rank].pid;
}

int peali_is_hello(const struct peali_record *h, ssize_t bytes,
		   const struct peali_rendezvous *r)
{
	return bytes == sizeof(*h) && h->magic == PEALI_RECORD_MAGIC &&
	       h->version == PEALI_RECORD_VERSION &&
	       h->type == PEALI_RECORD_HELLO &&
	       !memcmp(h->id, r->id, sizeof(h->id)) && h->ranks == r->ranks &&
	       h->rank < r->ranks && h->start == r->member[h->rank].start;
}

/* Stores a connection that both processes have checked. */
static void keep(struct peal_process_group *set,
		 const struct peali_rendezvous *r, const struct peali_record *h,
		 int fd)
{
	uint32_t rank = h->rank;
	struct peali_peer *p = &set->peers[rank];

	p->fd = fd;
	p->n_windows = h->windows;
	p->member = r->member[rank];
#ifdef SYS_pidfd_open
	p->pidfd = (int)syscall(SYS_pidfd_open, p->member.pid, 0);
	if (p->pidfd >= 0 && !peali_member_lives(&p->member)) {
		close(p->pidfd); /* the pid may be in use again */
		p->pidfd = -1;
	}
#endif
	if (p->pidfd < 0)
		peali_log(2,
			  "no pidfd of rank %u (pid %d); its connection "
			  "shows its end",
			  rank, p->member.pid);
	p->state = PEAL_PROCESS_ALIVE;
}

/* Reports why a rank cannot be reached: it has ended, or `why`. */
static int cannot_meet(const struct peali_rendezvous *r, uint32_t rank,
		       int code, const char *why)
{
	if (!peali_member_lives(&r->member[rank]))
		return peali_fail(
			PEAL_EDIED, CALL,
			"rank %u (pid %d) has ended before all ranks had "
			"connected",
			rank, r->member[rank].pid);
	return peali_fail(code, CALL, "rank %u (pid %d) cannot be reached: %s",
			  rank, r->member[rank].pid, why);
}

/* Connects to a lower rank. That rank answers when it accepts. */
static int call_on(struct peal_process_group *set, uint64_t deadline,
		   const struct peali_rendezvous *r, uint32_t rank)
{
	struct peali_record mine = hello(set, r), h;
	struct sockaddr_un at;
	socklen_t bytes = peali_socket_name(&at, "peal-%s-%u", r->id, rank);
	struct pollfd answer = { .events = POLLIN };
	const char *why = "it does not answer";
	struct ucred credentials;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	ssize_t n;

	if (fd < 0)
		return peali_fail_system(errno, CALL,
					 "no socket to meet rank %u", rank);
	while (peali_socket_connect(fd, &at, bytes,
				    peali_deadline(LOOK_MS * 1000000))) {
		/* the rank is in the file and will listen soon */
		if (peali_late(deadline) ||
		    !peali_member_lives(&r->member[rank]))
			goto refused;
		usleep(2000);
	}
	if (peali_socket_peer(fd, &credentials))
		return fail_here(fd, "getsockopt");
	if (!is_member(&credentials, r, rank, &why))
		goto refused;
	why = "it closes the connection";
	if (peali_socket_send(fd, &mine, sizeof(mine), deadline)) {
		if (failed_here())
			return fail_here(fd, "sendmsg");
		goto refused;
	}
	answer.fd = fd;
	while (poll(&answer, 1, ms_left(deadline, LOOK_MS)) <= 0) {
		if (peali_member_lives(&r->member[rank]) &&
		    !peali_late(deadline))
			continue;
		why = "it does not answer";
		goto refused;
	}
	n = peali_socket_receive(fd, &h, sizeof(h), 0);
	if (n < 0 && failed_here())
		return fail_here(fd, "recv");
	if (!peali_is_hello(&h, n, r) || h.rank != rank)
		goto refused;
	keep(set, r, &h, fd);
	return 0;
refused:
	close(fd);
	return cannot_meet(r, rank,
			   peali_late(deadline) ? PEAL_ETIMEDOUT : PEAL_EPROTO,
			   why);
}

/*
 * Checks a new connection. Keeps it if it comes from a higher rank of the
 * group, or else closes it. Returns 0, or the error of a call that failed in
 * this process.
 */
static int welcome(struct peal_process_group *set, uint64_t deadline,
		   const struct peali_rendezvous *r, int fd)
{
	struct peali_record mine = hello(set, r), h;
	const char *why = "its first message is not of this set";
	uint64_t until = peali_deadline(HELLO_NS);
	struct ucred credentials;
	ssize_t n = 0;

	if (until > deadline)
		until = deadline;
	if (peali_socket_peer(fd, &credentials))
		return fail_here(fd, "getsockopt");
	if (credentials.uid != geteuid())
		why = "it belongs to another user";
	else
		n = peali_socket_receive(fd, &h, sizeof(h), until);
	if (n < 0 && failed_here())
		return fail_here(fd, "recv");
	if (peali_is_hello(&h, n, r) && h.rank > set->plan.rank &&
	    set->peers[h.rank].fd < 0 &&
	    is_member(&credentials, r, h.rank, &why)) {
		if (!peali_socket_send(fd, &mine, sizeof(mine), until)) {
			keep(set, r, &h, fd);
			return 0;
		}
		if (failed_here())
			return fail_here(fd, "sendmsg");
	}
	peali_log(1, "a connection to rank %u is refused: %s", set->plan.rank,
		  why);
	close(fd);
	return 0;
}

/* Waits until all higher ranks have connected. */
static int receive_all(struct peal_process_group *set, uint64_t deadline,
		       const struct peali_rendezvous *r, int listener)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };
	uint32_t rank = set->plan.rank + 1;
	int fd, result;

	while (rank < set->plan.ranks) {
		if (set->peers[rank].fd >= 0) {
			rank++;
			continue;
		}
		if (poll(&p, 1, ms_left(deadline, LOOK_MS)) > 0) {
			fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
			result = fd < 0 ? 0 : welcome(set, deadline, r, fd);
			if (result)
				return result;
			if (fd < 0 && errno != EAGAIN && errno != EINTR &&
			    errno != ECONNABORTED)
				return cannot_meet(r, rank, PEAL_EDRIVER,
						   strerror(errno));
		}
		if (set->peers[rank].fd < 0 &&
		    (peali_late(deadline) ||
		     !peali_member_lives(&r->member[rank])))
			return cannot_meet(r, rank, PEAL_ETIMEDOUT,
					   "it does not connect");
	}
	return 0;
}

/* ---- meeting ------------------------------------------------------------- */

/* Meets in a process group of one process. */
static int meet_oneself(struct peal_process_group *set)
{
	int result = peali_member_self(&set->peers[0].member);

	return result ? result : peali_rendezvous_id(set->id);
}

int peali_processes_bootstrap(struct peal_process_group *set, uint64_t deadline)
{
	struct peali_rendezvous r;
	int listener = -1, result;
	uint32_t rank;

	if (set->plan.ranks == 1)
		return meet_oneself(set);
	memset(&r, 0, sizeof(r));
	result = enter(set, deadline, &r, &listener);
	if (!result)
		result = await_all(set, deadline, &r);
	for (rank = 0; rank < set->plan.rank && !result; rank++)
		result = call_on(set, deadline, &r, rank);
	if (!result)
		result = receive_all(set, deadline, &r, listener);
	if (!result)
		result = peali_windows_swap(set, deadline);
	if (listener >= 0)
		close(listener);
	/* each connected peer has read the complete file */
	if (set->plan.rank == 0 && r.id[0])
		peali_rendezvous_end(&set->plan, &r);
	memcpy(set->id, r.id, sizeof(set->id));
	set->peers[set->plan.rank].member = r.member[set->plan.rank];
	return result;
}

void peali_peers_close(struct peal_process_group *set)
{
	uint32_t rank;

	for (rank = 0; rank < set->plan.ranks; rank++) {
		if (set->peers[rank].fd >= 0)
			close(set->peers[rank].fd);
		if (set->peers[rank].pidfd >= 0)
			close(set->peers[rank].pidfd);
		set->peers[rank].fd = set->peers[rank].pidfd = -1;
	}
}
