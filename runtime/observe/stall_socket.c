/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peal_stall_report for other processes (peal_stall_report_pid).
 *
 * Each runtime has a thread that listens on a socket of the abstract namespace.
 * The names of the sockets are "peal-stall-PID-0" and up. The asking process
 * sends a question. It receives an answer, then the causes. Both sides check
 * the other side's credentials, as the kernel reports them.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <peal/stall.h>
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/socket.h"
#include "runtime/base/wait.h"
#include "runtime/observe/stall.h"
#include "runtime/runtime.h"

#define CALL "peal_stall_report_pid"
#define SOCKETS_MAX 64 /* runtimes per process that answer */
#define MAGIC 0x6b6375747334656cULL /* of this version of the protocol */
#define QUESTION_NS 1000000000ULL /* ns, per receive or send of a runtime */
#define ANSWER_NS 10000000000ULL /* ns for the answer, beside watch_ns */
#define TURN_MS 200 /* ms between two checks for a stopped process */

struct question {
	uint64_t magic;
	uint64_t watch_ns;
};

struct answer {
	uint64_t magic;
	uint32_t bytes; /* size of a cause */
	int32_t causes; /* number of causes, or PEAL_E... */
	uint32_t told; /* causes that follow */
	uint32_t reserved;
};

struct peali_stall_socket {
	struct peal_runtime *rt;
	pthread_t thread;
	int fd;
};

/* Makes the address of a socket of a process. Returns its length. */
static socklen_t name_of(int pid, int index, struct sockaddr_un *out)
{
	return peali_socket_name(out, "peal-stall-%d-%d", pid, index);
}

/* Sends all bytes. Returns 1, or 0 after an error. */
static int send_all(int fd, const void *data, size_t bytes)
{
	const char *at = data;
	ssize_t n;

	for (; bytes; at += n, bytes -= (size_t)n) {
		n = send(fd, at, bytes, MSG_NOSIGNAL);
		if (n <= 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return 0;
	}
	return 1;
}

static int receive_all(int fd, void *data, size_t bytes)
{
	char *at = data;
	ssize_t n;

	for (; bytes; at += n, bytes -= (size_t)n) {
		n = recv(fd, at, bytes, 0);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return 0;
	}
	return 1;
}

/* ---- the answering process ----------------------------------------------- */

static void answer(struct peal_runtime *rt, int fd)
{
	struct answer a = { .magic = MAGIC,
			    .bytes = sizeof(struct peal_stall) };
	struct question q = { 0, 0 };
	struct peal_stall *causes;
	struct ucred credentials;

	if (peali_socket_peer(fd, &credentials) ||
	    (credentials.uid != geteuid() && credentials.uid != 0))
		return;
	peali_socket_limit(fd, SO_RCVTIMEO, QUESTION_NS);
	peali_socket_limit(fd, SO_SNDTIMEO, QUESTION_NS);
	if (!receive_all(fd, &q, sizeof(q)) || q.magic != MAGIC)
		return;
	causes = calloc(PEAL_STALL_CAUSES_MAX, sizeof(*causes));
	a.causes = causes ? peal_stall_report(rt, q.watch_ns, causes,
					      PEAL_STALL_CAUSES_MAX) :
			    PEAL_ENOMEM;
	if (a.causes > 0)
		a.told = a.causes < PEAL_STALL_CAUSES_MAX ?
				 (uint32_t)a.causes :
				 PEAL_STALL_CAUSES_MAX;
	if (send_all(fd, &a, sizeof(a)))
		send_all(fd, causes, a.told * sizeof(*causes));
	free(causes);
}

static void *serve(void *argument)
{
	struct peali_stall_socket *s = argument;
	int fd;

	pthread_setname_np(pthread_self(), "peal-stall");
	for (;;) {
		fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0) {
			answer(s->rt, fd);
			close(fd);
		} else if (errno == EINVAL) {
			return NULL; /* peali_stall_unserve has shut it down */
		} else if (errno != EINTR && errno != ECONNABORTED) {
			usleep(10000); /* perhaps no free descriptors: retry */
		}
	}
}

/* Returns a socket that listens under the first free name. -1: none. */
static int listen_at(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), i;
	struct sockaddr_un at;

	for (i = 0; fd >= 0 && i < SOCKETS_MAX; i++) {
		socklen_t bytes = name_of((int)getpid(), i, &at);

		if (bind(fd, (const struct sockaddr *)&at, bytes))
			continue;
		if (!listen(fd, 4))
			return fd;
		break;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

void peali_stall_serve(struct peal_runtime *rt)
{
	struct peali_stall_socket *s = calloc(1, sizeof(*s));

	if (s) {
		s->rt = rt;
		s->fd = listen_at();
		if (s->fd >= 0 && !pthread_create(&s->thread, NULL, serve, s)) {
			rt->stall_socket = s;
			return;
		}
		if (s->fd >= 0)
			close(s->fd);
	}
	free(s);
	peali_log(1, "other processes cannot query stalls here: no socket, no "
		     "thread or no memory for it");
}

void peali_stall_unserve(struct peal_runtime *rt)
{
	struct peali_stall_socket *s = rt->stall_socket;

	if (!s)
		return;
	shutdown(s->fd, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->fd);
	free(s);
	rt->stall_socket = NULL;
}

/* ---- the asking process -------------------------------------------------- */

/* Returns 1 if a signal has stopped the process. 0: not so, or not known. */
static int is_stopped(int pid)
{
	char name[32], text[256], *end;
	size_t n;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/stat", pid);
	f = fopen(name, "re");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	end = strrchr(text, ')'); /* the name may contain any character */
	return end && !strncmp(end, ") T", 3);
}

/* Returns 1 if an answer arrives within `ns`, else 0. The wait also ends if two
 * checks in a row find the process stopped. */
static int await_answer(int fd, int pid, uint64_t ns)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t until = peali_now_ns() + ns;
	int stopped = is_stopped(pid);

	while (poll(&p, 1, TURN_MS) <= 0) {
		if (peali_now_ns() >= until)
			return 0;
		if (!is_stopped(pid))
			stopped = 0;
		else if (stopped++)
			return 0;
	}
	return 1;
}

/* Asks one runtime. Returns the number of its causes, or an error with its
 * text. *told_out receives the number of causes in `causes`. */
static int ask(int fd, int pid, uint64_t watch_ns, struct peal_stall *causes,
	       uint32_t *told_out)
{
	struct question q = { MAGIC, watch_ns };
	struct ucred credentials = { 0, 0, 0 };
	struct answer a;
	int sent;

	if (peali_socket_peer(fd, &credentials) || credentials.pid != pid)
		return peali_fail(PEAL_EPROTO, CALL,
				  "process %d answers for process %d",
				  (int)credentials.pid, pid);
	peali_socket_limit(fd, SO_RCVTIMEO, ANSWER_NS + watch_ns);
	peali_socket_limit(fd, SO_SNDTIMEO, ANSWER_NS);
	errno = 0;
	sent = send_all(fd, &q, sizeof(q));
	if (sent && !await_answer(fd, pid, ANSWER_NS + watch_ns)) {
		errno = EAGAIN;
		sent = 0;
	}
	if (!sent || !receive_all(fd, &a, sizeof(a)))
		return errno == EAGAIN ?
			       peali_fail(PEAL_ETIMEDOUT, CALL,
					  "process %d does not answer; it "
					  "may be stopped",
					  pid) :
			       peali_fail(PEAL_ENOENT, CALL,
					  "process %d gives no answer; it "
					  "belongs to another user, or ends",
					  pid);
	if (a.magic != MAGIC || a.bytes != sizeof(*causes) ||
	    a.told > PEAL_STALL_CAUSES_MAX ||
	    !receive_all(fd, causes, a.told * sizeof(*causes)))
		return peali_fail(PEAL_EPROTO, CALL,
				  "process %d has another version of Peal",
				  pid);
	if (a.causes < 0)
		return peali_fail(a.causes, CALL, "process %d: %s", pid,
				  peal_error_text(a.causes));
	*told_out = a.told;
	return a.causes;
}

/* Returns a socket that is connected to a runtime of a process. -1: none. */
static int connect_to(int pid, int index)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un at;
	socklen_t bytes = name_of(pid, index, &at);

	if (fd < 0)
		return -1;
	peali_socket_limit(fd, SO_SNDTIMEO,
			   ANSWER_NS); /* limits connect, too */
	if (!connect(fd, (const struct sockaddr *)&at, bytes))
		return fd;
	close(fd);
	return -1;
}

int peal_stall_report_pid(int pid, uint64_t watch_ns,
			  struct peal_stall *causes_out, uint32_t n)
{
	struct peal_stall *causes;
	uint32_t there = 0, told = 0, used = 0, i;
	int result = 0, index, fd, asked = 0;

	if (pid <= 0 || (n && !causes_out))
		return peali_fail(PEAL_EINVAL, CALL, "%s",
				  pid <= 0 ? "pid is not positive" :
					     "causes_out is NULL");
	causes = calloc(PEAL_STALL_CAUSES_MAX, sizeof(*causes));
	if (!causes)
		return peali_fail(PEAL_ENOMEM, CALL, "no memory for causes");
	for (index = 0; index < SOCKETS_MAX && result >= 0; index++) {
		fd = connect_to(pid, index);
		if (fd < 0)
			continue;
		asked = 1;
		result = ask(fd, pid, watch_ns, causes, &told);
		close(fd);
		if (result < 0)
			break;
		there += (uint32_t)result;
		for (i = 0; i < told && used < n; i++) {
			causes[i].text[sizeof(causes[i].text) - 1] = 0;
			causes_out[used++] = causes[i];
		}
	}
	free(causes);
	if (result < 0)
		return result;
	if (!asked)
		return peali_fail(PEAL_ENOENT, CALL,
				  "no runtime of process %d can be queried; "
				  "it has none, or is in another network "
				  "namespace",
				  pid);
	return (int)there;
}
