/* SPDX-License-Identifier: Apache-2.0 */
/* The parent's side of a process of a launch, see process.h. */
#include "runtime/device/host/process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/socket.h"
#include "runtime/base/system_call.h"
#include "runtime/base/text.h"
#include "runtime/base/thread.h"
#include "runtime/base/wait.h"
#include "runtime/device/devices.h"
#include "runtime/device/host/launch.h"

#define CALL "host: launch"
/* The longest wait for an answer of a child. It answers within milliseconds. */
#define ANSWER_NS ((int64_t)60000000000)
#define STATUS_UNKNOWN (-1)

int peali_process_check(struct peali_host *host, int device)
{
	int lost;

	pthread_mutex_lock(&host->lock);
	lost = host->lost && host->lost[device][0];
	pthread_mutex_unlock(&host->lock);
	return lost ? peali_fail(PEAL_EDRIVER, CALL,
				 "%s; open the runtime again",
				 host->lost[device]) :
		      0;
}

int peali_process_result(const struct peali_process *p)
{
	return p && atomic_load(&p->lost) ?
		       peali_fail(PEAL_EDRIVER, "host: launch_wait", "%s",
				  p->why) :
		       0;
}

int peali_host_launch_culprit(struct peali_launch *launch)
{
	const struct peali_process *p = launch->process;

	if (!p || !atomic_load(&p->lost) || !atomic_load(&p->page->crashed))
		return -1;
	return (int)p->page->worker;
}

/* ---- the end of the child ------------------------------------------------ */

/* Writes the crash that a worker has recorded. */
static void describe_crash(const struct peali_process_page *page, char *out,
			   size_t bytes)
{
	int n = snprintf(out, bytes, "worker %u ", (unsigned)page->worker);

	out += n;
	bytes -= (size_t)n;
	if (!page->signal)
		snprintf(out, bytes, "called exit");
	else if (page->signal == SIGSEGV || page->signal == SIGBUS)
		snprintf(out, bytes, "got signal %d (%s) at address 0x%llx",
			 page->signal, strsignal(page->signal),
			 (unsigned long long)page->address);
	else
		snprintf(out, bytes, "got signal %d (%s)", page->signal,
			 strsignal(page->signal));
}

/* Writes how the child ended, for a text that begins with the device. */
static void describe_end(const struct peali_process *p, int status, char *out,
			 size_t bytes)
{
	if (atomic_load(&p->page->crashed))
		describe_crash(p->page, out, bytes);
	else if (status == STATUS_UNKNOWN)
		snprintf(out, bytes, "the process %d of its workers has ended",
			 (int)p->pid);
	else if (WIFSIGNALED(status))
		snprintf(out, bytes,
			 "the process %d of its workers got signal %d (%s)",
			 (int)p->pid, WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(out, bytes,
			 "the process %d of its workers has ended with status "
			 "%d",
			 (int)p->pid, WEXITSTATUS(status));
}

/* Ends the other processes of a lost device. The caller holds host->lock. */
static void end_others(struct peali_host *host, int device)
{
	struct peali_process *p;

	for (p = host->process; p; p = p->next)
		if (p->launch->desc.device == device)
			shutdown(p->fd, SHUT_RDWR);
}

/* Loses the device of a process that has crashed. The caller holds host->lock. */
static void lose(struct peali_process *p, int status)
{
	const struct peali_launch *launch = p->launch;
	int device = launch->desc.device;
	char *lost = launch->host->lost[device], end[PEALI_HOST_WHY - 32];

	if (!lost[0]) {
		describe_end(p, status, end, sizeof(end));
		snprintf(lost, PEALI_HOST_WHY, "device %d is lost: %s", device,
			 end);
		peali_log(1, "%s, program '%s'", lost,
			  launch->desc.program->name ?
				  launch->desc.program->name :
				  "?");
	}
	memcpy(p->why, lost, PEALI_HOST_WHY);
	atomic_store(&p->lost, 1);
	end_others(launch->host, device);
}

static void delist(struct peali_process *p)
{
	struct peali_process **at = &p->launch->host->process;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
}

/* Waits for the child. Returns its status, or STATUS_UNKNOWN: the program
 * ignores SIGCHLD, or another thread has taken the status. */
static int await_child(const struct peali_process *p)
{
	int status = 0;

	return peali_waitpid(p->pid, &status, 0) == p->pid ? status :
							     STATUS_UNKNOWN;
}

static void child_ended(struct peali_process *p, int status)
{
	struct peali_launch *launch = p->launch;

	pthread_mutex_lock(&launch->host->lock);
	delist(p);
	if (!atomic_load(&p->page->done))
		lose(p, status);
	pthread_mutex_unlock(&launch->host->lock);
	if (atomic_load(&p->lost))
		peali_launch_fail_workers(&launch->desc);
	pthread_mutex_lock(&launch->lock);
	launch->running = 0;
	pthread_cond_broadcast(&launch->changed);
	pthread_mutex_unlock(&launch->lock);
}

/* ---- the thread that forks and waits ------------------------------------- */

/* Waits until the workers run. Returns 0 or errno. */
static int await_start(const struct peali_process *p)
{
	struct peali_process_command answer = { 0, 0, 0 };
	ssize_t n = peali_socket_receive(p->fd, &answer, sizeof(answer),
					 peali_deadline(ANSWER_NS));

	if (n == (ssize_t)sizeof(answer))
		return answer.to;
	return n < 0 ? errno : ECHILD;
}

/*
 * Forks the child, and lists it when its workers run. The lock keeps all windows
 * as they are until the list has the child. Returns 0 or errno.
 */
static int fork_child(struct peali_process *p)
{
	struct peali_host *host = p->launch->host;
	int error = 0;

	pthread_mutex_lock(&host->lock);
	p->pid = fork();
	if (!p->pid)
		peali_process_child(p);
	if (p->pid < 0)
		error = errno;
	close(p->child_fd);
	p->child_fd = -1;
	if (!error)
		error = await_start(p);
	if (!error) {
		p->next = host->process;
		host->process = p;
	}
	pthread_mutex_unlock(&host->lock);
	return error;
}

/* Tells the launching thread whether the workers run. */
static void settle(struct peali_process *p, int error)
{
	pthread_mutex_lock(&p->launch->lock);
	p->settled = 1;
	p->start_error = error;
	pthread_cond_broadcast(&p->launch->changed);
	pthread_mutex_unlock(&p->launch->lock);
}

static void *run(void *argument)
{
	struct peali_process *p = argument;
	char name[16];
	int error, status;

	snprintf(name, sizeof(name), "peal-d%d-wait", p->launch->desc.device);
	pthread_setname_np(pthread_self(), name);
	error = fork_child(p);
	if (error && p->pid > 0) {
		kill(p->pid, SIGKILL);
		await_child(p);
	}
	settle(p, error);
	if (error)
		return NULL;
	status = await_child(p);
	/* ends the wait for an answer, also while another process has a copy of
	 * the child's end */
	shutdown(p->fd, SHUT_RDWR);
	child_ended(p, status);
	return NULL;
}

/* ---- start and close ----------------------------------------------------- */

static struct peali_process *new_process(struct peali_launch *launch)
{
	struct peali_process *p = calloc(1, sizeof(*p));
	int fd[2];

	if (!p)
		return NULL;
	p->launch = launch;
	p->parent = getpid();
	p->page = mmap(NULL, sizeof(*p->page), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p->page == MAP_FAILED)
		goto free_process;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
		goto unmap_page;
	p->fd = fd[0];
	p->child_fd = fd[1];
	return p;
unmap_page:
	munmap(p->page, sizeof(*p->page));
free_process:
	free(p);
	return NULL;
}

/* Waits until the thread has forked. Returns 0 or errno. */
static int await_settled(const struct peali_process *p)
{
	struct peali_launch *launch = p->launch;

	pthread_mutex_lock(&launch->lock);
	while (!p->settled)
		pthread_cond_wait(&launch->changed, &launch->lock);
	pthread_mutex_unlock(&launch->lock);
	return p->start_error;
}

/* Frees the process of a launch that failed, and records the error. */
static int give_up(struct peali_launch *launch, int error, const char *what)
{
	peali_process_close(launch->process);
	launch->process = NULL;
	return peali_fail_system(error, CALL,
				 "%s for the %u worker%s of device %d", what,
				 (unsigned)launch->desc.n_workers,
				 peali_s(launch->desc.n_workers),
				 launch->desc.device);
}

int peali_process_start(struct peali_launch *launch)
{
	struct peali_process *p = new_process(launch);
	int error;

	if (!p)
		return give_up(launch, errno, "no socket or page");
	launch->process = p;
	launch->running = launch->desc.n_workers;
	atomic_store(&p->page->running, launch->desc.n_workers);
	error = peali_thread_start(&p->thread, run, p);
	if (error)
		return give_up(launch, error, "no thread");
	p->has_thread = 1;
	error = await_settled(p);
	return error ? give_up(launch, error, "no process") : 0;
}

void peali_process_close(struct peali_process *p)
{
	if (!p)
		return;
	if (p->has_thread)
		pthread_join(p->thread, NULL);
	if (p->child_fd >= 0)
		close(p->child_fd);
	close(p->fd);
	munmap(p->page, sizeof(*p->page));
	free(p);
}

/* ---- windows ------------------------------------------------------------- */

/* Waits for the answer to a command. Returns 0 or errno; EPIPE: the child has
 * ended. Leaves out the late answer to a command before. */
static int await_answer(struct peali_process *p)
{
	uint64_t deadline = peali_deadline(ANSWER_NS);
	struct peali_process_command answer;
	ssize_t n;

	do {
		n = peali_socket_receive(p->fd, &answer, sizeof(answer),
					 deadline);
		if (n != (ssize_t)sizeof(answer))
			return n < 0 ? errno : EPIPE;
	} while (answer.number != p->n_commands);
	return answer.to;
}

static int tell(struct peali_process *p, int to, int enabled)
{
	struct peali_process_command c = { ++p->n_commands, to, enabled };

	if (peali_socket_send(p->fd, &c, sizeof(c), peali_deadline(ANSWER_NS)))
		return errno;
	return await_answer(p);
}

int peali_process_tell_window(struct peali_host *host, int from, int to,
			      int enabled)
{
	struct peali_process *p;
	int error, result = 0;

	for (p = host->process; p; p = p->next) {
		if (p->launch->desc.device != from)
			continue;
		error = tell(p, to, enabled);
		/* a child that has ended has no window */
		if (error && error != EPIPE && error != ECONNRESET)
			result = peali_fail_system(
				error, "host: peer_enable",
				"process %d of the workers of device %d "
				"cannot change its window into device %d",
				(int)p->pid, from, to);
	}
	for (p = host->process; result && enabled && p; p = p->next)
		if (p->launch->desc.device == from)
			(void)tell(p, to, 0); /* none keeps the window */
	return result;
}
