/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the two threads of a process group: the reader thread and the job
 * thread.
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/socket.h"
#include "runtime/base/thread.h"
#include "runtime/base/text.h"
#include "runtime/base/wait.h"
#include "runtime/ipc/process_group.h"
#include "runtime/ipc/rendezvous.h"

#define CALL "peal_process_connect"
#define BURST 64 /* records read from a peer in a row */
#define SEND_NS 1000000000 /* timeout of a send */
#define CROWDED_NS 1000000000 /* ns of retries after ETOOMANYREFS */
#define JOBS_MAX 1024 /* per peer; a peer with more is faulty */
/*
 * Maximum ms from the end of a connection to the end of its process. A process
 * with a large memory takes long to end.
 */
#define END_MS 2000
/* Maximum ms until the reader thread finds the end of its work, even if the
 * write to its event fails. */
#define QUIT_MS 2000

/* ---- sending ------------------------------------------------------------- */

int peali_peer_send(struct peali_peer *p, const struct peali_record *record,
		    int fd)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec part = { (void *)(uintptr_t)record, sizeof(*record) };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
	uint64_t until = peali_deadline(CROWDED_NS);
	struct cmsghdr *c;
	ssize_t n;

	if (fd >= 0) {
		memset(control, 0, sizeof(control));
		m.msg_control = control;
		m.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	/* a record is sent as a whole, also beside other threads */
	while ((n = peali_socket_sendmsg(p->fd, &m, peali_deadline(SEND_NS))) <
		       0 &&
	       errno == ETOOMANYREFS && !peali_late(until))
		usleep(1000); /* too many descriptors in flight */
	if (n == (ssize_t)sizeof(*record))
		return 0;
	if (n < 0 && (errno == EAGAIN || errno == ETOOMANYREFS))
		return peali_fail(PEAL_ETIMEDOUT, CALL,
				  "rank %u (pid %d) does not read its "
				  "messages; it may be stopped",
				  p->rank, p->member.pid);
	if (n >= 0 || errno == EPIPE || errno == ECONNRESET)
		return PEAL_EPIPE;
	return peali_fail_system(errno, CALL,
				 "cannot send a record to rank %u (pid %d)",
				 p->rank, p->member.pid);
}

/* Drops a peer that misses a record: it would keep invalid links. The reader
 * thread reports the reason, a literal, and its errno or 0. */
static void drop(struct peali_peer *p, const char *reason, int error)
{
	atomic_store(&p->drop_error, error);
	atomic_store(&p->dropped, reason);
	shutdown(p->fd, SHUT_RDWR);
}

void peali_peer_answer(struct peali_peer *p, const struct peali_record *record,
		       int fd)
{
	int result = peali_peer_send(p, record, fd);

	if (result == PEAL_ETIMEDOUT)
		drop(p, "does not read its messages", 0);
	else if (result && result != PEAL_EPIPE)
		drop(p, "misses a record that this process could not send",
		     peal_last_error()->driver_code);
	/* else sent, or the reader thread finds the peer gone */
}

/* Appends a job for the job thread. Without memory for it, drops the peer. The
 * caller holds set->lock. */
static void post(struct peali_peer *p, const struct peali_record *record,
		 int answer)
{
	struct peal_process_group *set = p->set;
	struct peali_job *job = calloc(1, sizeof(*job));

	if (!job) {
		drop(p, "misses a record: this process has no memory for it",
		     ENOMEM);
		return;
	}
	job->peer = p;
	job->answer = answer;
	job->record = *record;
	*set->last_job = job;
	set->last_job = &job->next;
	p->n_jobs += answer != 0;
	pthread_cond_broadcast(&set->changed);
}

void peali_peer_post(struct peali_peer *p, const struct peali_record *record)
{
	if (p->state == PEAL_PROCESS_ALIVE)
		post(p, record, 0);
}

/* ---- end of a peer ------------------------------------------------------- */

int peali_peer_gone(const struct peali_peer *p, const char *call)
{
	return peali_fail(p->error, call, "%s", p->why);
}

__attribute__((format(printf, 4, 5))) static void
gone(struct peali_peer *p, enum peal_process_state state, int error,
     const char *format, ...)
{
	struct peal_process_group *set = p->set;
	struct peali_question *q;
	struct peali_remote_link *remote;
	va_list arguments;
	int n;

	pthread_mutex_lock(&set->lock);
	n = snprintf(p->why, sizeof(p->why), "rank %u (pid %d) ", p->rank,
		     p->member.pid);
	va_start(arguments, format);
	peali_text_vformat(p->why + n, sizeof(p->why) - (size_t)n, format,
			   arguments);
	va_end(arguments);
	p->gone_ns = peali_now_ns();
	p->error = error;
	p->state = state;
	for (remote = p->links; remote; remote = remote->next)
		set->rt->hooks->link_closed(remote, error);
	for (q = set->questions; q; q = q->next)
		if (q->peer == p && !q->answered) {
			q->error = error;
			q->answered = 1;
		}
	pthread_cond_broadcast(&set->changed);
	pthread_mutex_unlock(&set->lock);
	if (state != PEAL_PROCESS_LEFT)
		peali_log(1, "rank %u: %s", set->plan.rank, p->why);
	shutdown(p->fd, SHUT_RDWR);
}

static int has_ended(const struct peali_peer *p)
{
	struct pollfd fd = { .fd = p->pidfd, .events = POLLIN };

	return p->pidfd >= 0 && poll(&fd, 1, 0) == 1;
}

/*
 * Handles the death of a peer. Its kernels have ended with it, so its parts are
 * freed before its links end.
 */
static void died(struct peali_peer *p)
{
	pthread_mutex_lock(&p->set->lock);
	peali_parts_freed(p);
	pthread_mutex_unlock(&p->set->lock);
	gone(p, PEAL_PROCESS_DEAD, PEAL_EDIED, "has died");
}

/* Handles the end of a connection without a LEAVE. */
static void broke_off(struct peali_peer *p)
{
	const char *reason = atomic_load(&p->dropped);
	int error = atomic_load(&p->drop_error);

	if (reason)
		gone(p, PEAL_PROCESS_LOST, PEAL_EDIED, "%s%s%s", reason,
		     error ? ": " : "", error ? strerror(error) : "");
	else if (p->heard)
		gone(p, PEAL_PROCESS_LEFT, PEAL_ESTOPPED,
		     "has confirmed that this process leaves");
	else if (has_ended(p) || !peali_member_lives(&p->member))
		died(p);
	else if (p->pidfd < 0)
		gone(p, PEAL_PROCESS_DEAD, PEAL_EDIED,
		     "has died, or closed its connection");
	else if (!p->broken_ns)
		p->broken_ns = peali_now_ns(); /* the process may end soon */
}

/*
 * Returns the ms until a peer is given up after the end of its connection; -1:
 * the connection is open.
 */
static int ms_to_end(const struct peali_peer *p)
{
	uint64_t passed = (peali_now_ns() - p->broken_ns) / 1000000;

	if (!p->broken_ns)
		return -1;
	return passed < END_MS ? END_MS - (int)passed : 0;
}

/* ---- records ------------------------------------------------------------- */

/*
 * Passes an ACCEPT or REFUSE to its question. Without a pending question the
 * answer is late: an accepted link is declined.
 */
static void take_answer(struct peali_peer *p, const struct peali_record *r,
			int fd)
{
	struct peal_process_group *set = p->set;
	struct peali_question *q;

	pthread_mutex_lock(&set->lock);
	for (q = set->questions; q; q = q->next)
		if (q->peer == p && q->number == r->number && !q->answered)
			break;
	if (q) {
		q->answer = *r;
		q->fd = fd;
		q->answered = 1;
		pthread_cond_broadcast(&set->changed);
	} else if (r->type == PEALI_RECORD_ACCEPT) {
		set->rt->hooks->decline(p, r->number, 1);
	}
	if (!q && !set->rt->hooks->gives_credit(
			  r)) /* the peer will not write credit */
		peali_part_freed(p, r->number, 1);
	pthread_mutex_unlock(&set->lock);
	if (!q && fd >= 0)
		close(fd);
}

static void take_close(struct peali_peer *p, const struct peali_record *r)
{
	int error = r->error == PEAL_EPROTO || r->error == PEAL_EABORTED ?
			    r->error :
			    PEAL_ESTOPPED;
	struct peali_remote_link *remote;

	pthread_mutex_lock(&p->set->lock);
	for (remote = p->links; remote; remote = remote->next)
		if (remote->number == r->number &&
		    remote->sends != (int)r->sender) {
			remote->told =
				1; /* the peer needs no CLOSE in return */
			peali_record_text(r, remote->why, sizeof(remote->why));
			p->set->rt->hooks->link_closed(remote, error);
			break;
		}
	pthread_mutex_unlock(&p->set->lock);
}

/*
 * Posts a record for the job thread. Returns 0 if the peer has too many there.
 */
static int take_job(struct peali_peer *p, const struct peali_record *r)
{
	int space;

	pthread_mutex_lock(&p->set->lock);
	space = p->n_jobs < JOBS_MAX;
	if (space)
		post(p, r, 1);
	pthread_mutex_unlock(&p->set->lock);
	return space;
}

/* Handles a record. Returns NULL, or the text of an error in the record. */
static const char *take(struct peali_peer *p, struct peali_record *r, int fd)
{
	struct peali_record left;

	if (fd >= 0 && r->type != PEALI_RECORD_ACCEPT)
		return "sent an unexpected descriptor";
	switch (r->type) {
	case PEALI_RECORD_CONNECT:
		return take_job(p, r) ? NULL : "has too many open requests";
	case PEALI_RECORD_ACCEPT:
	case PEALI_RECORD_REFUSE:
		take_answer(p, r, fd);
		return NULL;
	case PEALI_RECORD_CLOSE:
		take_close(p, r);
		return NULL;
	case PEALI_RECORD_LEAVE:
		left = peali_record(PEALI_RECORD_LEFT);
		send(p->fd, &left, sizeof(left), MSG_NOSIGNAL | MSG_DONTWAIT);
		pthread_mutex_lock(&p->set->lock);
		if (!r->error) /* else a hung worker there may still write */
			peali_parts_freed(p);
		pthread_mutex_unlock(&p->set->lock);
		gone(p, PEAL_PROCESS_LEFT, PEAL_ESTOPPED, "has left the set");
		return NULL;
	case PEALI_RECORD_FREED:
		pthread_mutex_lock(&p->set->lock);
		peali_part_freed(p, r->number, !r->sender);
		pthread_mutex_unlock(&p->set->lock);
		return NULL;
	case PEALI_RECORD_LEFT:
		pthread_mutex_lock(&p->set->lock);
		p->heard = 1;
		pthread_cond_broadcast(&p->set->changed);
		pthread_mutex_unlock(&p->set->lock);
		return NULL;
	default:
		return "sent a record of an unknown kind";
	}
}

/*
 * Returns the first descriptor that came with a record, or -1. Closes all other
 * descriptors and sets *too_many.
 */
static int descriptor_of(struct msghdr *m, int *too_many)
{
	struct cmsghdr *c;
	int kept = -1, fd;
	size_t i, n;

	for (c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (kept < 0) {
				kept = fd;
			} else {
				close(fd);
				*too_many = 1;
			}
		}
	}
	return kept;
}

int peali_record_receive(int from, struct peali_record *out, int *descriptor,
			 const char **wrong)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(8 * sizeof(int))];
	} control;
	struct iovec part = { out, sizeof(*out) };
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	int too_many = 0;
	ssize_t n;

	*wrong = NULL;
	*descriptor = -1;
	n = recvmsg(from, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0 && errno == ECONNRESET) /* earlier records follow the reset */
		n = recvmsg(from, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (!n)
		errno = ECONNRESET; /* the end of the connection */
	if (n <= 0)
		return -1;
	*descriptor = descriptor_of(&m, &too_many);
	if (n != (ssize_t)sizeof(*out) || m.msg_flags & MSG_TRUNC)
		*wrong = "sent a record of a wrong length";
	/* MSG_CTRUNC without one: this process has no free descriptor */
	else if (too_many || (*descriptor >= 0 && m.msg_flags & MSG_CTRUNC))
		*wrong = "sent too many descriptors";
	else if (out->magic != PEALI_RECORD_MAGIC ||
		 out->version != PEALI_RECORD_VERSION)
		*wrong = "sent a record of another version";
	out->text[sizeof(out->text) - 1] = 0;
	out->name[sizeof(out->name) - 1] = 0;
	return 1;
}

int peali_peer_read(struct peali_peer *p)
{
	struct peali_record r;
	const char *wrong;
	int fd, result = peali_record_receive(p->fd, &r, &fd, &wrong);

	if (result < 0 && errno != ECONNRESET)
		gone(p, PEAL_PROCESS_LOST, PEAL_EDIED, "cannot be read: %s",
		     strerror(errno));
	else if (result < 0)
		broke_off(p);
	if (result <= 0)
		return result;
	if (!wrong)
		wrong = take(p, &r, fd);
	if (!wrong)
		return p->state == PEAL_PROCESS_ALIVE ? 1 : -1;
	if (fd >= 0)
		close(fd);
	gone(p, PEAL_PROCESS_LOST, PEAL_EPROTO, "%s", wrong);
	return -1;
}

/* ---- reader thread ------------------------------------------------------- */

/* Reads the records of a peer. `ended` 1: its process has ended. */
static void look_at_peer(struct peali_peer *p, int ended)
{
	int i, result = 1;

	/* read all records of an ended process before reporting its death */
	for (i = 0; (i < BURST || ended) && result > 0; i++)
		result = peali_peer_read(p);
	if (ended && p->state == PEAL_PROCESS_ALIVE)
		died(p);
}

static void *read_all(void *argument)
{
	struct peal_process_group *set = argument;
	struct pollfd fds[1 + 2 * PEAL_PROCESS_GROUP_MAX];
	struct peali_peer *of[1 + 2 * PEAL_PROCESS_GROUP_MAX];
	nfds_t n, i;
	uint32_t rank;
	int wait_ms, ms;

	pthread_setname_np(pthread_self(), "peal-processes");
	while (!atomic_load(&set->quit)) {
		n = 1;
		wait_ms = QUIT_MS;
		fds[0].fd = set->event_fd;
		fds[0].events = POLLIN;
		for (rank = 0; rank < set->plan.ranks; rank++) {
			struct peali_peer *p = &set->peers[rank];

			if (p->state != PEAL_PROCESS_ALIVE)
				continue;
			ms = ms_to_end(p);
			if (!ms) {
				gone(p, PEAL_PROCESS_LOST, PEAL_EDIED,
				     "has closed its connection without "
				     "leaving");
				continue;
			}
			if (ms > 0 && ms < wait_ms)
				wait_ms = ms;
			of[n] = p;
			fds[n].events = fds[n + 1].events = POLLIN;
			fds[n].fd = p->broken_ns ? -1 : p->fd;
			fds[n + 1].fd = p->pidfd; /* poll ignores -1 */
			n += 2;
		}
		if (poll(fds, n, wait_ms) <= 0)
			continue;
		for (i = 1; i < n; i += 2)
			if (fds[i].revents || fds[i + 1].revents)
				look_at_peer(of[i], fds[i + 1].revents != 0);
	}
	return NULL;
}

/* ---- job thread ---------------------------------------------------------- */

static void do_job(struct peali_job *job, int here)
{
	if (!here)
		return;
	if (job->answer)
		job->peer->set->rt->hooks->answer(job->peer, &job->record);
	else
		peali_peer_answer(job->peer, &job->record, -1);
}

static void *work(void *argument)
{
	struct peal_process_group *set = argument;
	struct peali_job *job;
	int here;

	pthread_setname_np(pthread_self(), "peal-connects");
	pthread_mutex_lock(&set->lock);
	for (;;) {
		job = set->jobs;
		if (!job && atomic_load(&set->quit))
			break;
		if (!job) {
			pthread_cond_wait(&set->changed, &set->lock);
			continue;
		}
		set->jobs = job->next;
		if (!set->jobs)
			set->last_job = &set->jobs;
		set->working = 1;
		here = job->peer->state == PEAL_PROCESS_ALIVE;
		pthread_mutex_unlock(&set->lock);
		do_job(job, here);
		pthread_mutex_lock(&set->lock);
		job->peer->n_jobs -= job->answer != 0;
		set->working = 0;
		set->n_worked++;
		pthread_cond_broadcast(&set->changed);
		free(job);
	}
	pthread_mutex_unlock(&set->lock);
	return NULL;
}

/* ---- start, stop --------------------------------------------------------- */

int peali_service_start(struct peal_process_group *set)
{
	int error;

	set->event_fd = eventfd(0, EFD_CLOEXEC);
	if (set->event_fd < 0)
		return peali_fail_system(errno, "peal_process_group_join",
					 "no eventfd");
	error = peali_thread_start(&set->reading, read_all, set);
	set->reading_started = !error;
	if (!error)
		error = peali_thread_start(&set->worker, work, set);
	set->working_started = !error;
	if (!error)
		return 0;
	return peali_fail_system(error, "peal_process_group_join",
				 "a thread of the process group does not "
				 "start");
}

void peali_service_stop(struct peal_process_group *set)
{
	pthread_mutex_lock(&set->lock);
	atomic_store(&set->quit, 1);
	pthread_cond_broadcast(&set->changed);
	pthread_mutex_unlock(&set->lock);
	if (set->event_fd >= 0)
		eventfd_write(set->event_fd, 1);
	if (set->working_started)
		pthread_join(set->worker, NULL);
	if (set->reading_started)
		pthread_join(set->reading, NULL);
	if (set->event_fd >= 0)
		close(set->event_fd);
	set->event_fd = -1;
	set->reading_started = set->working_started = 0;
}
