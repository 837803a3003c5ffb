/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peal_stall_report for other processes (peal_stall_report_pid).
 *
 * Each runtime has a thread that listens on a socket of the abstract namespace.
 * The name of a socket is "peal-stall-PID-SPACE-RANDOM". PID is the pid in the
 * PID namespace with the number SPACE. Without SPACE, the sockets of two
 * containers could need one name. Without RANDOM, another user could take it.
 *
 * The asking process finds the names in /proc/net/unix. It sends a question. It
 * receives an answer, then the causes. Both sides check the other side's
 * credentials, as the kernel reports them.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <peal/device/atomic.h>
#include <peal/stall.h>
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/process.h"
#include "runtime/base/refusal.h"
#include "runtime/base/socket.h"
#include "runtime/base/text.h"
#include "runtime/base/thread.h"
#include "runtime/base/wait.h"
#include "runtime/observe/stall.h"
#include "runtime/runtime.h"

#define CALL "peal_stall_report_pid"
#define SOCKETS_MAX 64 /* sockets of a process that are asked */
#define LISTENS 0x10000u /* of /proc/net/unix: __SO_ACCEPTCON */
#define NAME_TRIES 8 /* random names that are tried */
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
	uint32_t ending; /* 1: the thread ends as soon as it can */
};

/* Writes the name of a process's sockets up to RANDOM. `pid` is its pid in its
 * PID namespace. Without the number of this namespace, the name ends behind
 * PID. */
static void prefix_of(int pid, uint64_t space, struct peali_stall_name *out)
{
	int n = snprintf(out->text, sizeof(out->text), "peal-stall-%d-", pid);

	if (space)
		snprintf(out->text + n, sizeof(out->text) - (size_t)n, "%llu-",
			 (unsigned long long)space);
}

/* Receives all bytes. Returns 0, or -1 with errno. ENODATA: an early end. */
static int receive_all(int fd, void *data, size_t bytes, uint64_t deadline)
{
	char *at = data;
	ssize_t n;

	for (; bytes; at += n, bytes -= (size_t)n) {
		n = peali_socket_receive(fd, at, bytes, deadline);
		if (n == 0)
			errno = ENODATA;
		if (n <= 0)
			return -1;
	}
	return 0;
}

/* Returns the number of causes that an answer contains. `causes` is the number
 * of all causes, or PEAL_E... */
static uint32_t rows_of(int32_t causes)
{
	if (causes <= 0)
		return 0;
	return causes < PEAL_STALL_CAUSES_MAX ? (uint32_t)causes :
						PEAL_STALL_CAUSES_MAX;
}

/* ---- the answering process ----------------------------------------------- */

/* Logs that a call failed, so that the asking process gets no answer. */
static void cannot_answer(const char *step)
{
	peali_log(1, "a query of stalls gets no answer: %s: %s", step,
		  strerror(errno));
}

void peali_stall_answer(struct peal_runtime *rt, int fd, const uint32_t *ending)
{
	struct answer a = { .magic = MAGIC,
			    .bytes = sizeof(struct peal_stall) };
	struct question q = { 0, 0 };
	struct peal_stall *causes;
	struct ucred credentials;

	if (peali_socket_peer(fd, &credentials)) {
		cannot_answer("getsockopt");
		return;
	}
	if (credentials.uid != geteuid() && credentials.uid != 0)
		return;
	if (receive_all(fd, &q, sizeof(q), peali_deadline(QUESTION_NS))) {
		cannot_answer("recv");
		return;
	}
	if (q.magic != MAGIC)
		return;
	causes = calloc(PEAL_STALL_CAUSES_MAX, sizeof(*causes));
	a.causes = causes ? peali_stall_report(rt, q.watch_ns, ending, causes,
					       PEAL_STALL_CAUSES_MAX) :
			    PEAL_ENOMEM;
	a.told = rows_of(a.causes);
	if (peali_socket_send(fd, &a, sizeof(a), peali_deadline(QUESTION_NS)) ||
	    peali_socket_send(fd, causes, a.told * sizeof(*causes),
			      peali_deadline(QUESTION_NS)))
		cannot_answer("sendmsg");
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
			peali_stall_answer(s->rt, fd, &s->ending);
			close(fd);
		} else if (errno == EINVAL ||
			   peal_load_relaxed_sys_u32(&s->ending)) {
			/* peali_stall_unserve has shut the socket down. Without
			 * a free descriptor, accept4 does not find it so. */
			return NULL;
		} else if (errno != EINTR && errno != ECONNABORTED) {
			usleep(10000); /* perhaps no free descriptors: retry */
		}
	}
}

/* Returns a socket that listens under a new name. -1: none. */
static int listen_again(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), i;
	unsigned long long random;
	struct sockaddr_un at;
	struct peali_stall_name prefix;
	socklen_t bytes;

	prefix_of((int)getpid(), peali_process_namespace(0, "pid"), &prefix);
	for (i = 0; fd >= 0 && i < NAME_TRIES; i++) {
		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			break;
		bytes = peali_socket_name(&at, "%s%016llx", prefix.text,
					  random);
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
		s->fd = listen_again();
		if (s->fd >= 0 && !peali_thread_start(&s->thread, serve, s)) {
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
	peal_store_relaxed_sys_u32(&s->ending, 1);
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
	struct peali_process_stat stat;

	return !peali_process_stat(pid, &stat) && stat.state == 'T';
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

/* Checks the causes that another process has sent, and ends their texts.
 * Returns 1 if all are valid, else 0. */
static int are_valid(struct peal_stall *causes, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		if ((uint32_t)causes[i].cause >= PEAL_STALL_COUNT ||
		    causes[i].device < -1)
			return 0;
		causes[i].text[sizeof(causes[i].text) - 1] = 0;
	}
	return 1;
}

/* Reports that a connection brought no answer, by errno. Returns the error. */
static int no_answer(int pid)
{
	switch (errno) {
	case EAGAIN:
		return peali_fail(PEAL_ETIMEDOUT, CALL,
				  "process %d does not answer; it may be "
				  "stopped",
				  pid);
	case EPIPE:
	case ECONNRESET:
	case ENODATA:
		return peali_fail(PEAL_ENOENT, CALL,
				  "process %d gives no answer; it belongs to "
				  "another user, or ends",
				  pid);
	default:
		return peali_fail_system(errno, CALL, "cannot ask process %d",
					 pid);
	}
}

static int other_version(int pid)
{
	return peali_fail(PEAL_EPROTO, CALL,
			  "process %d has another version of Peal", pid);
}

int peali_stall_ask(int fd, int pid, uint64_t watch_ns,
		    struct peal_stall *causes)
{
	struct question q = { MAGIC, watch_ns };
	uint64_t until = peali_deadline((int64_t)(ANSWER_NS + watch_ns));
	struct answer a;

	if (peali_socket_send(fd, &q, sizeof(q), until))
		return no_answer(pid);
	if (!await_answer(fd, pid, ANSWER_NS + watch_ns)) {
		errno = EAGAIN;
		return no_answer(pid);
	}
	if (receive_all(fd, &a, sizeof(a), until))
		return no_answer(pid);
	if (a.magic != MAGIC || a.bytes != sizeof(*causes) ||
	    a.told != rows_of(a.causes))
		return other_version(pid);
	if (receive_all(fd, causes, a.told * sizeof(*causes), until))
		return no_answer(pid);
	if (!are_valid(causes, a.told))
		return other_version(pid);
	if (a.causes < 0)
		return peali_fail(peali_error_received(a.causes), CALL,
				  "process %d: %s", pid,
				  peal_error_text(a.causes));
	return (int)a.told;
}

/* Connects a socket to a runtime of a process. Returns 0, or an error with its
 * text. *fd_out is -1 if no process listens. It is also -1 if another process
 * has opened the name. */
static int connect_to(int pid, const struct peali_stall_name *name, int *fd_out)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un at;
	socklen_t bytes = peali_socket_name(&at, "%s", name->text);
	struct ucred peer = { 0, 0, 0 };
	int result = 0;

	*fd_out = -1;
	if (fd < 0)
		return peali_fail_system(errno, CALL,
					 "no socket to ask process %d", pid);
	if (peali_socket_connect(fd, &at, bytes, peali_deadline(ANSWER_NS))) {
		if (errno != ECONNREFUSED) /* it has closed the socket */
			result = no_answer(pid);
	} else if (peali_socket_peer(fd, &peer)) {
		result = no_answer(pid);
	} else if (peer.pid == pid) {
		*fd_out = fd;
		return 0;
	} else {
		peali_log(1,
			  "socket @%s: process %d has opened it, not process "
			  "%d; it is not asked",
			  name->text, (int)peer.pid, pid);
	}
	close(fd);
	return result;
}

/* An accepted connection has a line of its own with the name of the listening
 * socket. */
int peali_stall_name_parse(const char *line, const char *prefix,
			   struct peali_stall_name *out)
{
	const char *at = strchr(line, '@');
	unsigned flags = 0;

	if (!at || strncmp(at + 1, prefix, strlen(prefix)) ||
	    sscanf(line, "%*s %*s %*s %x", &flags) != 1 || !(flags & LISTENS))
		return 0;
	return sscanf(at + 1, "%95[a-z0-9-]", out->text) == 1;
}

/* Finds the sockets that a process may have opened. Returns their number, at
 * most SOCKETS_MAX, or an error with its text. */
static int find_names(int pid, struct peali_stall_name out[SOCKETS_MAX])
{
	FILE *list = fopen("/proc/net/unix", "re");
	struct peali_stall_name prefix;
	char line[256];
	int n = 0;

	if (!list)
		return peali_fail_system(errno, CALL,
					 "cannot open /proc/net/unix");
	prefix_of(peali_process_inner_pid(pid),
		  peali_process_namespace(pid, "pid"), &prefix);
	while (n < SOCKETS_MAX && fgets(line, sizeof(line), list))
		n += peali_stall_name_parse(line, prefix.text, &out[n]);
	if (ferror(list))
		n = peali_fail_system(errno, CALL,
				      "cannot read /proc/net/unix");
	fclose(list);
	return n;
}

/* Asks all runtimes of a process. Returns the number of causes, or an error
 * with its text. *asked_out receives the number of runtimes. */
static int ask_all(int pid, uint64_t watch_ns, struct peal_stall *causes,
		   struct peal_stall *causes_out, uint32_t n, int *asked_out)
{
	struct peali_stall_name names[SOCKETS_MAX];
	uint32_t used = 0, i;
	int count = find_names(pid, names), at, fd, result, there = 0;

	if (count < 0)
		return count;
	for (at = 0; at < count; at++) {
		result = connect_to(pid, &names[at], &fd);
		if (result)
			return result;
		if (fd < 0)
			continue;
		++*asked_out;
		result = peali_stall_ask(fd, pid, watch_ns, causes);
		close(fd);
		if (result < 0)
			return result;
		there += result;
		for (i = 0; i < (uint32_t)result && used < n; i++)
			causes_out[used++] = causes[i];
	}
	return there;
}

int peal_stall_report_pid(int pid, uint64_t watch_ns,
			  struct peal_stall *causes_out, uint32_t n)
{
	struct peal_stall *causes;
	int result, asked = 0;

	if (pid <= 0 || (n && !causes_out))
		return pid > 0 ?
			       peali_refuse_null(CALL, "causes_out") :
			       PEALI_REFUSE(PEAL_EINVAL, CALL,
					    .object = "argument", .name = "pid",
					    .problem = "is no process",
					    .value = PEALI_PRINT("%d", pid),
					    .allowed = "1..2147483647",
					    .remedy = "pass the number of a "
						      "process");
	causes = calloc(PEAL_STALL_CAUSES_MAX, sizeof(*causes));
	if (!causes)
		return peali_fail(PEAL_ENOMEM, CALL, "no memory for causes");
	result = ask_all(pid, watch_ns, causes, causes_out, n, &asked);
	free(causes);
	if (result < 0 || asked)
		return result;
	if (kill(pid, 0) && errno == ESRCH)
		return PEALI_REFUSE(
			PEAL_ENOENT, CALL, .object = "argument", .name = "pid",
			.problem = "is no process of this PID namespace",
			.value = PEALI_PRINT("%d", pid),
			.allowed = "active processes",
			.remedy = "find the process by pidof");
	return peali_fail(PEAL_ENOENT, CALL,
			  "no runtime of process %d can be queried; it has "
			  "none, or is in another network namespace",
			  pid);
}
