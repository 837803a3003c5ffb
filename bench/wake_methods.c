/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to wait for a number: ours, and ways of the system as baselines. */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <peal/device/impl/base/host_support.h>

#include "bench/wake.h"

static int nothing(struct peali_wake *w)
{
	(void)w;
	return 0;
}

static struct timespec timespec_of(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000),
			      (long)(ns % 1000000000) };

	return t;
}

/* ---- a queue of peal/queue.h --------------------------------------------- */

static int queue_open(struct peali_wake *w)
{
	const struct peal_queue_options options = {
		.size = sizeof(options),
		.message_bytes = sizeof(uint64_t),
	};

	if (peal_queue_create(&options, &w->at.queue.queue) ||
	    peal_queue_open(w->at.queue.queue, PEAL_QUEUE_PRODUCER,
			    &w->at.queue.producer) ||
	    peal_queue_open(w->at.queue.queue, PEAL_QUEUE_CONSUMER,
			    &w->at.queue.consumer))
		return -peali_say_error("create a queue");
	return 0;
}

static int queue_close(struct peali_wake *w)
{
	peal_queue_close(w->at.queue.producer);
	peal_queue_close(w->at.queue.consumer);
	return peal_queue_destroy(w->at.queue.queue) ? -1 : 0;
}

static int queue_put(struct peali_wake *w, uint64_t number)
{
	if (peal_queue_push(w->at.queue.producer, &number, sizeof(number), 0))
		return -peali_say_error("push a message");
	return 0;
}

static int queue_take(struct peali_wake *w, uint64_t *number_out)
{
	return peal_queue_pop(w->at.queue.consumer, number_out,
			      sizeof(*number_out), NULL,
			      (int64_t)peali_wake_limit_ns(w)) ?
		       PEALI_WAKE_LATE :
		       0;
}

const struct peali_wake_method peali_wake_queue = {
	.name = "queue",
	.rings = 1,
	.open = queue_open,
	.close = queue_close,
	.put = queue_put,
	.take = queue_take,
};

/* ---- a worker of a kernel, with an answer by a link ---------------------- */

static int worker_open(struct peali_wake *w)
{
	struct peali_fixture *fixture = w->fixture;
	int kernel =
		peali_fixture_launch(fixture, 0, &peal_program_peal_bench, 1);
	uint64_t bounce = peali_fixture_spawn(fixture, kernel, "bounce", 0);

	w->at.worker.port = bounce ? peali_fixture_from_host(fixture, bounce,
							     sizeof(uint64_t)) :
				     -1;
	if (w->at.worker.port < 0 ||
	    peali_fixture_connect(fixture, bounce, 0,
				  peal_endpoint_address(fixture->host),
				  NULL) < 0)
		return -1;
	return 0;
}

static int worker_close(struct peali_wake *w)
{
	return peali_fixture_clear(w->fixture);
}

static int worker_put(struct peali_wake *w, uint64_t number)
{
	if (peal_send(w->fixture->host, (uint32_t)w->at.worker.port,
		      PEALI_BENCH_DATA, &number, sizeof(number), 0, NULL) < 0)
		return -peali_say_error("send a message");
	return 0;
}

static int worker_answered(struct peali_wake *w, uint64_t *number_out)
{
	struct peal_received got;

	if (peal_receive(w->fixture->host, number_out, sizeof(*number_out),
			 &got, 0))
		return 0;
	*number_out = ~*number_out; /* the handler inverts all bits */
	return 1;
}

const struct peali_wake_method peali_wake_worker = {
	.name = "worker",
	.rings = 1,
	.open = worker_open,
	.close = worker_close,
	.put = worker_put,
	.answered = worker_answered,
	.thread = "peal-d0-w0",
};

/* ---- a word -------------------------------------------------------------- */

static int poll_put(struct peali_wake *w, uint64_t number)
{
	peal_store_release_sys(&w->number, number);
	return 0;
}

static int poll_take(struct peali_wake *w, uint64_t *number_out)
{
	uint64_t until = peal_clock_ns() + peali_wake_limit_ns(w), looks = 0;

	while (!(*number_out = peal_load_acquire_sys(&w->number)))
		if (++looks % 1024 == 0 && peal_clock_ns() > until)
			return PEALI_WAKE_LATE;
	peal_store_relaxed_sys(&w->number, 0);
	return 0;
}

const struct peali_wake_method peali_wake_poll = {
	.name = "a poll that never sleeps",
	.open = nothing,
	.close = nothing,
	.put = poll_put,
	.take = poll_take,
};

/* The shortest way through the system: a store and a system call. */
static int futex_put(struct peali_wake *w, uint64_t number)
{
	peal_store_release_sys(&w->number, number);
	peal_store_release_sys_u32(&w->full, 1);
	syscall(SYS_futex, &w->full, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	return 0;
}

static int futex_take(struct peali_wake *w, uint64_t *number_out)
{
	const struct timespec t = timespec_of(peali_wake_limit_ns(w));

	while (!peal_load_acquire_sys_u32(&w->full))
		if (syscall(SYS_futex, &w->full, FUTEX_WAIT_PRIVATE, 0, &t,
			    NULL, 0) < 0 &&
		    errno == ETIMEDOUT)
			return PEALI_WAKE_LATE;
	*number_out = peal_load_relaxed_sys(&w->number);
	peal_store_relaxed_sys_u32(&w->full, 0);
	return 0;
}

const struct peali_wake_method peali_wake_futex = {
	.name = "futex",
	.open = nothing,
	.close = nothing,
	.put = futex_put,
	.take = futex_take,
};

/* ---- a condition variable ------------------------------------------------ */

static int cond_open(struct peali_wake *w)
{
	pthread_mutex_init(&w->at.cond.mutex, NULL);
	pthread_cond_init(&w->at.cond.cond, NULL);
	return 0;
}

static int cond_close(struct peali_wake *w)
{
	pthread_cond_destroy(&w->at.cond.cond);
	pthread_mutex_destroy(&w->at.cond.mutex);
	return 0;
}

static int cond_put(struct peali_wake *w, uint64_t number)
{
	pthread_mutex_lock(&w->at.cond.mutex);
	w->at.cond.number = number;
	pthread_mutex_unlock(&w->at.cond.mutex);
	pthread_cond_signal(&w->at.cond.cond);
	return 0;
}

static int cond_take(struct peali_wake *w, uint64_t *number_out)
{
	struct timespec until;
	int result = 0;
	uint64_t ns;

	clock_gettime(CLOCK_REALTIME, &until);
	ns = (uint64_t)until.tv_sec * 1000000000 + (uint64_t)until.tv_nsec;
	until = timespec_of(ns + peali_wake_limit_ns(w));
	pthread_mutex_lock(&w->at.cond.mutex);
	while (!w->at.cond.number && !result)
		result = pthread_cond_timedwait(&w->at.cond.cond,
						&w->at.cond.mutex, &until);
	*number_out = w->at.cond.number;
	w->at.cond.number = 0;
	pthread_mutex_unlock(&w->at.cond.mutex);
	return *number_out ? 0 : PEALI_WAKE_LATE;
}

const struct peali_wake_method peali_wake_cond = {
	.name = "mutex and condvar",
	.open = cond_open,
	.close = cond_close,
	.put = cond_put,
	.take = cond_take,
};

/* ---- descriptors --------------------------------------------------------- */

/* A pipe and an eventfd both carry eight bytes by write() and read(). */
static int fd_put(struct peali_wake *w, uint64_t number)
{
	if (write(w->at.fd[1], &number, sizeof(number)) == sizeof(number))
		return 0;
	peali_say("cannot write to a descriptor");
	return -1;
}

/* Waits without a time limit. After an error the sender writes once more. */
static int fd_take(struct peali_wake *w, uint64_t *number_out)
{
	return read(w->at.fd[0], number_out, sizeof(*number_out)) ==
			       sizeof(*number_out) ?
		       0 :
		       PEALI_WAKE_LATE;
}

static int fd_close(struct peali_wake *w)
{
	close(w->at.fd[0]);
	if (w->at.fd[1] != w->at.fd[0])
		close(w->at.fd[1]);
	return 0;
}

static int eventfd_open(struct peali_wake *w)
{
	w->at.fd[0] = w->at.fd[1] = eventfd(0, EFD_CLOEXEC);
	if (w->at.fd[0] >= 0)
		return 0;
	peali_say("cannot create an eventfd");
	return -1;
}

const struct peali_wake_method peali_wake_eventfd = {
	.name = "eventfd",
	.open = eventfd_open,
	.close = fd_close,
	.put = fd_put,
	.take = fd_take,
};

static int pipe_open(struct peali_wake *w)
{
	if (!pipe(w->at.fd))
		return 0;
	w->at.fd[0] = w->at.fd[1] = -1;
	peali_say("cannot create a pipe");
	return -1;
}

const struct peali_wake_method peali_wake_pipe = {
	.name = "pipe",
	.open = pipe_open,
	.close = fd_close,
	.put = fd_put,
	.take = fd_take,
};
