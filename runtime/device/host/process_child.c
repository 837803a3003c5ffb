/* SPDX-License-Identifier: Apache-2.0 */
/* The child's side of a process of a launch, see process.h. */
#include "runtime/device/host/process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/wait.h"
#include "runtime/device/host/launch.h"
#include "runtime/host_support/idle.h"
#include "runtime/host_support/sanitize.h"

#define SIGNAL_STACK_BYTES ((size_t)64 << 10)

static struct peali_process *self; /* the process of this child */
static _Thread_local uint32_t worker; /* of the thread, from 1; 0: none */

/* ---- crashes ------------------------------------------------------------- */

/* Returns 1 if a signal of these two numbers comes from an access. */
static int is_access(int number)
{
	return number == SIGSEGV || number == SIGBUS;
}

/* Records the first crash of a worker for the parent. */
static void record(int number, const void *address)
{
	struct peali_process_page *page = self->page;

	if (!worker || atomic_exchange(&page->recorded, 1))
		return;
	page->signal = number;
	page->worker = worker - 1;
	page->address = (uint64_t)(uintptr_t)address;
	atomic_store(&page->crashed, 1);
}

/*
 * Records a crash. The instruction of a fault then runs
 * again, without this handler. So a core dump shows the fault.
 */
static void on_crash(int number, siginfo_t *info, void *context)
{
	int is_fault = info->si_code > 0 && number != SIGTRAP &&
		       number != SIGSYS;

	(void)context;
	record(number, is_fault && is_access(number) ? info->si_addr : NULL);
	if (!is_fault)
		raise(number);
}

/* Sets the handlers of a child. Handlers of the program do not run there. The
 * handlers of AddressSanitizer do: its reports say more. */
static void set_handlers(void)
{
	static const int own[] = { SIGSEGV, SIGBUS,  SIGILL, SIGFPE,
				   SIGTRAP, SIGABRT, SIGSYS };
	struct sigaction action;
	size_t i;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = on_crash;
	action.sa_flags = SA_SIGINFO | SA_ONSTACK | (int)SA_RESETHAND |
			  SA_NODEFER;
	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (!PEAL_ASAN || own[i] == SIGABRT)
			sigaction(own[i], &action, NULL);
}

/* Gives the calling thread a stack for on_crash, as its own one may be full. */
static void take_signal_stack(void)
{
	stack_t stack = { .ss_size = SIGNAL_STACK_BYTES };

	if (PEAL_ASAN)
		return;
	stack.ss_sp = mmap(NULL, SIGNAL_STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack.ss_sp != MAP_FAILED)
		sigaltstack(&stack, NULL);
}

/* ---- workers ------------------------------------------------------------- */

void peali_process_worker_begin(struct peali_process *p, uint32_t index)
{
	(void)p;
	worker = index + 1;
	take_signal_stack();
	peali_wait_unrung_long();
}

void peali_process_worker_end(struct peali_process *p)
{
	if (atomic_fetch_sub(&p->page->running, 1) != 1)
		return;
	fflush(stdout);
	atomic_store(&p->page->done, 1);
	_exit(0);
}

/* ---- memory and descriptors ---------------------------------------------- */

/* Maps what a device sees: its memory, host memory, its windows. */
static int map_memory(const struct peali_host *host, int device)
{
	const struct peali_host_window *w =
		&host->window[device * host->n_devices];
	int to, error = peali_heap_map_in_child(&host->heap[device]);

	if (!error)
		error = peali_heap_map_in_child(&host->heap[host->n_devices]);
	for (to = 0; !error && to < host->n_devices; to++)
		if (w[to].enabled && peali_host_window_set(host, device, to, 1))
			error = errno;
	return error;
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/*
 * Closes all descriptors but the standard ones, the memory and the socket. Else
 * the other ends of pipes and sockets of the program would see no end. Old
 * systems do not have the call; there they stay open.
 */
static void close_descriptors(const struct peali_process *p)
{
	const struct peali_host *host = p->launch->host;
	int keep[64 + 3], n = 0, i;
	unsigned next = STDERR_FILENO + 1;

	for (i = 0; i <= host->n_devices; i++)
		keep[n++] = host->heap[i].fd;
	keep[n++] = p->child_fd;
	qsort(keep, (size_t)n, sizeof(keep[0]), compare);
	for (i = 0; i < n; i++) {
		if ((unsigned)keep[i] > next)
			syscall(SYS_close_range, next, (unsigned)keep[i] - 1,
				0);
		if ((unsigned)keep[i] >= next)
			next = (unsigned)keep[i] + 1;
	}
	syscall(SYS_close_range, next, ~0U, 0);
}

/* ---- the child ----------------------------------------------------------- */

static void answer(const struct peali_process *p, uint32_t number, int error)
{
	struct peali_process_command c = { number, error, 0 };

	if (send(p->child_fd, &c, sizeof(c), MSG_NOSIGNAL) != sizeof(c))
		_exit(1);
}

/* Runs commands until the parent closes the socket, or all workers have
 * returned. */
static void serve(const struct peali_process *p)
{
	const struct peali_launch *launch = p->launch;
	struct peali_process_command c;
	ssize_t n;

	for (;;) {
		do
			n = recv(p->child_fd, &c, sizeof(c), 0);
		while (n < 0 && errno == EINTR);
		if (n != (ssize_t)sizeof(c))
			return;
		answer(p, c.number,
		       peali_host_window_set(launch->host, launch->desc.device,
					     c.to, c.enabled) ?
			       errno :
			       0);
	}
}

/* A handler has called exit(). Ends the child before the functions run that the
 * program has registered. */
static void on_exit_call(void)
{
	record(0, NULL);
	_exit(1);
}

_Noreturn void peali_process_child(struct peali_process *p)
{
	struct peali_launch *launch = p->launch;
	int error = 0;

	self = p;
	/* a thread of the parent may have held it at the fork */
	pthread_mutex_init(&launch->lock, NULL);
	peali_cond_init(&launch->changed);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != p->parent)
		_exit(1);
	set_handlers();
	__fpurge(stdout); /* the parent writes it */
	error = map_memory(launch->host, launch->desc.device);
	close_descriptors(p);
	if (!error && atexit(on_exit_call))
		error = ENOMEM;
	if (!error)
		error = peali_host_start_workers(launch);
	answer(p, 0, error);
	if (!error) {
		peali_host_set_gate(launch, PEALI_GATE_OPEN);
		serve(p);
	}
	_exit(1);
}
