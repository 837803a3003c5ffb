/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stager: a thread that copies messages for
 * staged links. The two devices of such a link cannot write to each other's
 * memory.
 *
 * For each staged path, the stager copies messages and marks from the first
 * ring to the second, in order. Commands reach it by a ck_ring. While there is
 * no traffic the stager backs off with ck_backoff, then sleeps on an eventfd.
 * It waits there with io_uring, or with ppoll where the system refuses
 * io_uring. Its bell writes the eventfd.
 */
#include "runtime/link/stager.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <ck_backoff.h>
#include <ck_ring.h>
#include <liburing.h>

#include <peal/device/link_consumer.h>
#include <peal/device/link_producer.h>
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/thread.h"
#include "runtime/base/wait.h"
#include "runtime/device/backend.h"
#include "runtime/device/memory_block.h"
#include "runtime/link/link.h"
#include "runtime/link/remote.h"
#include "runtime/runtime.h"

#define COMMANDS 64
#define BURST 64
/*
 * Rounds without a message. In the first BACKOFF_ROUNDS the stager waits with
 * ck_backoff. These waits double from about 0.2 us and must stay far below a
 * time slice. Up to IDLE_ROUNDS the stager yields the core. Then it sleeps, for
 * at most SLEEP_US us.
 */
#define BACKOFF_ROUNDS 4
#define IDLE_ROUNDS 20
#define SLEEP_US 100000

/** A staged path, as the stager sees it. */
struct peali_staged_path {
	struct peali_staged_path *next; /* in the stager's list */
	struct peal_link_consumer in;
	struct peal_link_producer out;
	struct peal_link_counts in_counts, out_counts;
	_Atomic int done; /* 1: nothing more to copy, because of an END, a SEAL
			   * or a corrupt ring */
	_Atomic int closing; /* 1: the sender has ended; the stager sets
			      * `empty` */
	_Atomic int empty; /* 1: all messages are copied */
	struct peal_link *link;
	_Atomic uint64_t carried; /* messages copied */
};

struct command {
	enum { ADD, REMOVE, QUIT } kind;
	struct peali_staged_path *stager;
	_Atomic int handled;
};

struct peali_stager {
	struct peal_bell bell; /* must be first: aligned */
	pthread_t thread;
	int event_fd;
	int have_uring;
	struct io_uring uring;
	uint64_t event_count; /* buffer for reads by io_uring */
	int reading; /* 1: a read of the eventfd is in flight */
	_Atomic uint64_t posted; /* commands put into the ring */
	uint64_t taken; /* commands that the stager has taken */
	ck_ring_t commands;
	ck_ring_buffer_t slots[COMMANDS];
	struct peali_staged_path *stagers;
	int silent; /* paths with an end that cannot ring the bell */
	unsigned nap_us; /* us of the next sleep while `silent` is not 0 */
};

/* ---- copying ------------------------------------------------------------- */

/* Copies a mark. Returns 1, or 0 without a free slot. */
static int carry_mark(struct peali_staged_path *s, const struct peal_message *m)
{
	if (peali_link_push_mark(&s->out, m->kind, m->header.actor) ==
	    PEAL_EAGAIN)
		return 0;
	peal_link_release_mark(&s->in, m->kind);
	if (m->kind != PEAL_KIND_GATE)
		atomic_store(&s->done, 1);
	return 1;
}

/* Stops copying on a path with a corrupt ring. Returns 0. */
static int give_up(struct peali_staged_path *s, int error)
{
	atomic_store(&s->link->staged_error, error);
	atomic_store(&s->done, 1);
	return 0;
}

/* Copies one message or mark. Returns 1 if it did, else 0. */
static int carry(struct peali_staged_path *s)
{
	struct peal_message m;
	void *place = NULL;
	int result = peal_link_peek(&s->in, &m);

	if (result == PEAL_EAGAIN || result == PEAL_EEND)
		return 0;
	if (result)
		return give_up(s, result);
	if (peali_kind_is_mark(m.kind))
		return carry_mark(s, &m);
	result = peal_link_reserve(&s->out, m.length, &place);
	if (result)
		return result == PEAL_EAGAIN ? 0 : give_up(s, result);
	if (m.length)
		memcpy(place, m.data, m.length);
	/* before the commit: the count is then at least that of delivered messages */
	atomic_fetch_add_explicit(&s->carried, 1, memory_order_relaxed);
	peal_link_commit(&s->out, m.header, m.length);
	peal_link_release(&s->in, &m);
	return 1;
}

static int carry_burst(struct peali_staged_path *s)
{
	/* read before the ring, so that the sender's last message is seen */
	int closing = atomic_load_explicit(&s->closing, memory_order_acquire);
	struct peal_message m;
	int n = 0;

	if (peali_remote_staged(s->link))
		peali_remote_publish(s->link);
	if (atomic_load_explicit(&s->done, memory_order_relaxed))
		return 0;
	while (n < BURST && carry(s))
		n++;
	if (n == 0)
		peal_link_flush_credit(&s->in);
	if (closing && peal_link_peek(&s->in, &m) == PEAL_EAGAIN)
		atomic_store(&s->empty, 1);
	return n;
}

static int carry_all(struct peali_stager *r)
{
	struct peali_staged_path *s;
	int n = 0;

	for (s = r->stagers; s; s = s->next)
		n += carry_burst(s);
	return n;
}

/* ---- commands ------------------------------------------------------------ */

/* Executes the commands in the ring. Returns 1 after QUIT. */
static int obey(struct peali_stager *r)
{
	struct peali_staged_path **p;
	void *item;
	int quit = 0;

	/* the acquire of `posted` orders the slots, also for sanitizers that do
	 * not see ck's fences */
	while (r->taken !=
		       atomic_load_explicit(&r->posted, memory_order_acquire) &&
	       ck_ring_dequeue_mpsc(&r->commands, r->slots, &item)) {
		struct command *c = item;

		r->taken++;
		if (c->kind == ADD) {
			c->stager->next = r->stagers;
			r->stagers = c->stager;
			r->silent += peali_link_silent(c->stager->link);
		} else if (c->kind == REMOVE) {
			for (p = &r->stagers; *p && *p != c->stager;
			     p = &(*p)->next)
				;
			if (*p) {
				*p = c->stager->next;
				r->silent -= peali_link_silent(c->stager->link);
			}
		} else {
			quit = 1;
		}
		atomic_store(&c->handled, 1);
	}
	return quit;
}

static void command(struct peali_stager *r, int kind,
		    struct peali_staged_path *stager)
{
	struct command c = { .stager = stager };
	uint32_t turns = 0;

	c.kind = kind;
	while (!ck_ring_enqueue_mpsc(&r->commands, r->slots, &c))
		peali_poll_pause(&turns);
	atomic_fetch_add_explicit(&r->posted, 1, memory_order_release);
	peal_bell_ring((uint64_t)(uintptr_t)&r->bell);
	turns = 0;
	while (!atomic_load(&c.handled))
		peali_poll_pause(&turns);
}

/* ---- sleeping ------------------------------------------------------------ */

/* Waits on the eventfd by io_uring for at most `us` microseconds. */
static void sleep_uring(struct peali_stager *r, unsigned us)
{
	struct __kernel_timespec t = { .tv_nsec = (long long)us * 1000 };
	struct io_uring_cqe *cqe = NULL;
	struct io_uring_sqe *sqe;

	if (!r->reading) {
		sqe = io_uring_get_sqe(&r->uring);
		if (!sqe)
			return;
		io_uring_prep_read(sqe, r->event_fd, &r->event_count,
				   sizeof(r->event_count), 0);
		io_uring_submit(&r->uring);
		r->reading = 1;
	}
	if (!io_uring_wait_cqe_timeout(&r->uring, &cqe, &t)) {
		io_uring_cqe_seen(&r->uring, cqe);
		r->reading = 0;
	}
}

static void sleep_poll(struct peali_stager *r, unsigned us)
{
	struct pollfd p = { .fd = r->event_fd, .events = POLLIN };
	const struct timespec t = { 0, (long)us * 1000 };
	uint64_t count;

	if (ppoll(&p, 1, &t, NULL) == 1 &&
	    read(r->event_fd, &count, sizeof(count)) < 0)
		return;
}

/*
 * Sleeps until the bell rings or a time-out passes. Returns the number of
 * messages copied in step 2. If there are any, the stager does not sleep.
 *
 * 1. The stager announces that it will sleep.
 * 2. It looks at all rings and at the commands once more.
 * 3. It waits.
 *
 * Step 2 sees every message and command that was sent before step 1. Later ones
 * ring the bell. Where an end cannot ring, the time-out is short.
 */
static int sleep_on_bell(struct peali_stager *r)
{
	int safe = peal_host_announce(&r->bell);
	unsigned most_us = SLEEP_US;
	int n = carry_all(r);

	if (r->silent)
		most_us = r->nap_us;
	else if (!safe)
		most_us = 1000;
	if (n == 0 && r->nap_us < PEALI_SILENT_US)
		r->nap_us *= 2;
	if (n == 0 && r->taken == atomic_load(&r->posted)) {
		if (r->have_uring)
			sleep_uring(r, most_us);
		else
			sleep_poll(r, most_us);
	}
	peal_store_relaxed_sys_u32(&r->bell.asleep, 0);
	return n;
}

static void *run(void *argument)
{
	struct peali_stager *r = argument;
	ck_backoff_t backoff = CK_BACKOFF_INITIALIZER;
	unsigned idle = 0;

	pthread_setname_np(pthread_self(), "peal-stager");
	r->nap_us = PEALI_SILENT_US_FIRST;
	while (!obey(r)) {
		if (carry_all(r)) {
			idle = 0;
			r->nap_us = PEALI_SILENT_US_FIRST;
			backoff = CK_BACKOFF_INITIALIZER;
		} else if (r->stagers && idle < IDLE_ROUNDS) {
			idle++;
			if (idle <= BACKOFF_ROUNDS)
				ck_backoff_eb(&backoff);
			else
				sched_yield();
		} else if (sleep_on_bell(r)) {
			idle = 0;
			r->nap_us = PEALI_SILENT_US_FIRST;
		}
	}
	return NULL;
}

/* ---- start, stop --------------------------------------------------------- */

static int open_fds(struct peali_stager *r)
{
	r->event_fd = eventfd(0, EFD_CLOEXEC);
	if (r->event_fd < 0)
		return peali_fail_system(errno, "peal_runtime_open",
					 "the stager has no eventfd");
	r->bell.event_fd = r->event_fd;
	r->have_uring = io_uring_queue_init(8, &r->uring, 0) == 0;
	if (!r->have_uring)
		peali_log(2, "io_uring is refused here; the stager uses poll");
	return 0;
}

static void close_fds(struct peali_stager *r)
{
	if (r->have_uring)
		io_uring_queue_exit(&r->uring);
	if (r->event_fd >= 0)
		close(r->event_fd);
}

int peali_stager_start(struct peal_runtime *rt)
{
	struct peali_stager *r = NULL;
	int result, error;

	if (posix_memalign((void **)&r, PEAL_SHARED_LINE, sizeof(*r)))
		return peali_fail(PEAL_ENOMEM, "peal_runtime_open",
				  "no memory for the stager");
	memset(r, 0, sizeof(*r));
	ck_ring_init(&r->commands, COMMANDS);
	result = open_fds(r);
	error = result ? 0 : peali_thread_start(&r->thread, run, r);
	if (error)
		result = peali_fail_system(error, "peal_runtime_open",
					   "the thread of the stager does not "
					   "start");
	if (result) {
		close_fds(r);
		free(r);
		return result;
	}
	rt->stager = r;
	return 0;
}

void peali_stager_stop(struct peal_runtime *rt)
{
	struct peali_stager *r = rt->stager;

	command(r, QUIT, NULL);
	pthread_join(r->thread, NULL);
	close_fds(r);
	free(r);
	rt->stager = NULL;
}

/* ---- paths --------------------------------------------------------------- */

uint64_t peali_stager_bell(const struct peal_runtime *rt)
{
	return (uint64_t)(uintptr_t)&rt->stager->bell;
}

uint64_t peali_stager_carried(const struct peali_staged_path *s)
{
	return atomic_load_explicit(&s->carried, memory_order_relaxed);
}

int peali_stager_empty(struct peal_runtime *rt, struct peali_staged_path *s)
{
	atomic_store(&s->closing, 1);
	peal_bell_ring(peali_stager_bell(rt));
	return atomic_load(&s->empty) || atomic_load(&s->done);
}

/* Fills in the host's views of the two rings. */
static void views(struct peal_link *link, struct peali_route_path *path,
		  struct peali_staged_path *s, struct peal_link_view *in,
		  struct peal_link_view *out)
{
	struct peal_runtime *rt = link->rt;
	struct peali_segment *a = &path->segment[0], *b = &path->segment[1];

	memset(in, 0, sizeof(*in));
	in->ring = peali_block_view(rt, PEALI_HOST, &a->ring);
	in->credit = peali_block_view(rt, PEALI_HOST, &a->credit);
	in->stage = peali_block_view(rt, PEALI_HOST, &a->stage_consumer);
	in->counts = (uint64_t)(uintptr_t)&s->in_counts;
	in->bell = peali_link_end_bell(&link->from, 0);
	in->message_bytes = (uint32_t)link->spec.message_bytes;
	*out = *in;
	out->ring = peali_block_view(rt, PEALI_HOST, &b->ring);
	out->credit = peali_block_view(rt, PEALI_HOST, &b->credit);
	out->stage = peali_block_view(rt, PEALI_HOST, &b->stage_producer);
	out->counts = (uint64_t)(uintptr_t)&s->out_counts;
	out->bell = peali_link_end_bell(&link->to, 1);
	if (!peali_remote_staged(link))
		return;
	/* one of the rings is shared with another process */
	peali_remote_view(link, peali_remote_sends(link) ? out : in);
	/* The shared counts are the receiver's. The stager counts privately. */
	if (!peali_remote_sends(link))
		in->counts = (uint64_t)(uintptr_t)&s->in_counts;
}

int peali_stager_add(struct peal_link *link, struct peali_route_path *path,
		     const char *call)
{
	struct peali_staged_path *s = calloc(1, sizeof(*s));
	struct peal_link_view in, out;

	if (!s)
		return peali_fail(PEAL_ENOMEM, call,
				  "no memory for a staged link");
	views(link, path, s, &in, &out);
	peal_link_consumer_init(&s->in, &in);
	peal_link_producer_init(&s->out, &out);
	s->link = link;
	path->staged = s;
	command(link->rt->stager, ADD, s);
	return 0;
}

void peali_stager_remove(struct peal_link *link, struct peali_route_path *path)
{
	command(link->rt->stager, REMOVE, path->staged);
	if (peali_remote_staged(
		    link)) /* counts since the stager's last round */
		peali_remote_publish(link);
	free(path->staged);
	path->staged = NULL;
}
