/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals of a timer interrupt the calls of a process, with and without
 * SA_RESTART. No call fails because of a signal, and no wait ends early or
 * begins again.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <peal/barrier.h>
#include <peal/request.h>
#include <peal/stall.h>

#include "runtime/base/socket.h"
#include "runtime/base/system_call.h"
#include "runtime/base/wait.h"
#include "runtime/process_fixture.h"
#include "runtime/requests.h"

PEAL_DECLARE_PROGRAM(requests);

#define PROCESSES 3
#define ROUNDS 20 /* requests */
#define JOINS 100
#define PERIOD_US 200

static volatile sig_atomic_t n_signals;

static void count_signal(int number)
{
	(void)number;
	n_signals = n_signals + 1;
}

/* Begins signals every `us`; 0: ends them. Library threads get none. */
static void interrupt_every(int us, int flags)
{
	const struct itimerval t = { { 0, us }, { 0, us } };
	struct sigaction a;

	memset(&a, 0, sizeof(a));
	a.sa_handler = count_signal;
	a.sa_flags = flags;
	CHECK_EQ(sigaction(SIGALRM, &a, NULL), 0);
	CHECK_EQ(setitimer(ITIMER_REAL, &t, NULL), 0);
}

/* ---- a process group ----------------------------------------------------- */

/* Sends to the next rank and receives from the previous one. */
static void pass_on(struct peal_process_group *set, struct peal_endpoint *e,
		    int rank)
{
	const struct peal_link_options plain = { .capacity = 16 };
	uint64_t from = (uint64_t)(rank + PROCESSES - 1) % PROCESSES;

	CHECK_OK(peal_process_export(set, "in", peal_endpoint_address(e)));
	procs_connect(set, (rank + 1) % PROCESSES, "in",
		      peal_endpoint_address(e), 0, plain);
	procs_meet(0);
	harness_send(e, 0, (uint64_t)rank, 0, 16);
	harness_receive(e, from, 0, 16);
}

static void ask(struct peal_runtime *rt)
{
	const struct peal_kernel_options o = { .size = sizeof(o),
					       .mailbox.slots = 64 };
	const struct peal_requester_options r = { .size = sizeof(r),
						  .reply_bytes = 48 };
	struct peal_requester *requester;
	struct peal_kernel *k;
	struct told told;
	uint64_t server, i;

	CHECK_OK(peal_kernel_launch(rt, 0, &peal_program_requests, &o, &k));
	server = harness_spawn(k, "serve", 0);
	CHECK_OK(peal_requester_create(rt, server, &r, &requester));
	CHECK_OK(peal_requester_listen(requester, server, 0));
	for (i = 0; i < ROUNDS; i++) {
		const struct ask a = { i, ASK_TWICE, 0 };

		CHECK_OK(peal_request(requester, ask_number, &a, sizeof(a),
				      &told, sizeof(told), NULL, MAX_WAIT));
		CHECK_EQ(told.twice, 2 * i);
	}
	CHECK_OK(peal_requester_destroy(requester));
	CHECK_OK(peal_kernel_stop(k, MAX_WAIT));
	CHECK_OK(peal_kernel_destroy(k));
}

/* Waits that nothing ends last as long as their timeouts. */
static void wait_in_vain(struct peal_runtime *rt, struct peal_endpoint *e)
{
	const struct peal_barrier_options host = { .size = sizeof(host),
						   .host_participants = 1 };
	const int device = 0;
	struct peal_barrier *barrier;
	struct peal_received got;
	uint64_t began, number;

	CHECK_OK(peal_barrier_create(rt, &device, 1, 1, &host, &barrier));
	CHECK_OK(peal_barrier_arrive(barrier, 0));
	began = harness_now_ns();
	CHECK_EQ(peal_barrier_wait(barrier, 0, 20 * MS), PEAL_ETIMEDOUT);
	CHECK(harness_now_ns() - began >= 20 * MS);
	began = harness_now_ns();
	CHECK_EQ(peal_receive(e, &number, 8, &got, 20 * MS), PEAL_ETIMEDOUT);
	CHECK(harness_now_ns() - began >= 20 * MS);
	CHECK(peal_stall_report_pid((int)getpid(), 5 * MS, NULL, 0) >= 0);
	CHECK_OK(peal_barrier_destroy(barrier));
}

static void do_all(int rank, int flags)
{
	struct peal_process_group *set;
	struct peal_endpoint *e;
	struct peal_runtime *rt;
	int i;

	interrupt_every(PERIOD_US, flags);
	rt = harness_open(1, "");
	for (i = 0; i < JOINS; i++)
		CHECK_OK(peal_process_group_leave(procs_enter(rt), MAX_WAIT));
	set = procs_enter(rt);
	e = harness_endpoint(rt);
	pass_on(set, e, rank);
	ask(rt);
	wait_in_vain(rt, e);
	procs_meet(1);
	CHECK_OK(peal_process_group_leave(set, MAX_WAIT));
	CHECK_OK(peal_endpoint_destroy(e));
	CHECK_OK(peal_runtime_close(rt));
	interrupt_every(0, flags);
	CHECK(n_signals > 0);
}

static void interrupted(int rank)
{
	do_all(rank, 0);
}

static void restarted(int rank)
{
	do_all(rank, SA_RESTART);
}

PEAL_TEST(signals_interrupt_no_call)
{
	PROCS(PROCESSES, interrupted);
}

PEAL_TEST(signals_with_restart_interrupt_no_call)
{
	PROCS(PROCESSES, restarted);
}

/* ---- calls of base ------------------------------------------------------- */

/* Makes a pair of sockets. The first one takes no more bytes. */
static void fill_pair(int ends[2])
{
	char bytes[512] = { 0 };

	CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	while (!peali_socket_send(ends[0], bytes, sizeof(bytes), 0))
		;
	CHECK_EQ(errno, EAGAIN);
}

/* A signal every 0.2 ms neither ends a wait nor begins it again. */
static void check_waits(void)
{
	struct pollfd p = { .events = POLLIN };
	uint64_t began = harness_now_ns();
	char byte = 0;
	int ends[2];

	fill_pair(ends);
	p.fd = ends[0];
	CHECK_EQ(peali_poll(&p, 1, peali_deadline(20 * MS)), 0);
	CHECK(harness_now_ns() - began >= 20 * MS);
	began = harness_now_ns();
	CHECK_EQ(peali_socket_receive(ends[0], &byte, 1,
				      peali_deadline(20 * MS)),
		 -1);
	CHECK_EQ(errno, EAGAIN);
	CHECK(harness_now_ns() - began >= 20 * MS);
	began = harness_now_ns();
	CHECK_EQ(peali_socket_send(ends[0], &byte, 1, peali_deadline(20 * MS)),
		 -1);
	CHECK_EQ(errno, EAGAIN);
	CHECK(harness_now_ns() - began >= 20 * MS);
	began = harness_now_ns();
	peali_sleep_ns(20 * MS);
	CHECK(harness_now_ns() - began >= 20 * MS);
	close(ends[0]);
	close(ends[1]);
}

/* The other end of a FIFO and of a pipe comes after some signals. */
static void check_blocking_calls(const char *fifo)
{
	char got[8] = "";
	pid_t child;
	int fd, status = 1;

	child = fork();
	CHECK(child >= 0);
	if (!child) {
		identity_sleep_us(10000);
		fd = peali_open(fifo, O_WRONLY, 0);
		identity_sleep_us(10000);
		_exit(fd < 0 || peali_write_all(fd, "abc", 3));
	}
	interrupt_every(PERIOD_US, 0);
	fd = peali_open(fifo, O_RDONLY, 0);
	CHECK(fd >= 0);
	CHECK_EQ(peali_read(fd, got, sizeof(got)), 3);
	CHECK_EQ(peali_waitpid(child, &status, 0), child);
	interrupt_every(0, 0);
	CHECK_EQ(status, 0);
	close(fd);
}

PEAL_TEST(signals_neither_end_nor_prolong_a_wait)
{
	char folder[] = "/tmp/peal-signals-XXXXXX", fifo[64];

	n_signals = 0;
	interrupt_every(PERIOD_US, 0);
	check_waits();
	interrupt_every(0, 0);
	interrupt_every(PERIOD_US, SA_RESTART);
	check_waits();
	interrupt_every(0, 0);
	CHECK(mkdtemp(folder));
	snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
	CHECK_EQ(mkfifo(fifo, 0600), 0);
	check_blocking_calls(fifo);
	unlink(fifo);
	rmdir(folder);
	CHECK(n_signals > 0);
}

PEAL_TEST_MAIN(RUN(signals_interrupt_no_call);
	       RUN(signals_with_restart_interrupt_no_call);
	       RUN(signals_neither_end_nor_prolong_a_wait);)
