/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watchdog: a thread that makes no backend call. Each tick has three steps.
 *
 * 1. It moves the lease of each kernel, by a store to memory that the kernel
 *    maps.
 * 2. It reads the heartbeats of the workers.
 * 3. If rt->lock is free, it tells the neighbours of kernels that have ended.
 *
 * So the watchdog continues when a driver hangs. When the watchdog stops, the
 * leases run out and the kernels end.
 */
#include "runtime/launch/watchdog.h"
#include "runtime/launch/failure_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/thread.h"
#include "runtime/base/wait.h"
#include "runtime/kernel/clock.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/kernel/counters.h"
#include "runtime/kernel/kernel.h"
#include "runtime/link/inflight.h"
#include "runtime/link/link.h"
#include "runtime/link/link_counters.h"

#define TICK_NS 20000000ULL
PEAL_STATIC_ASSERT(PEALI_LEASE_NS_MIN >= 4 * (TICK_NS * 5 / 4),
		   "a lease outlives late renewals");

struct watched {
	struct watched *next;
	struct peal_kernel *kernel;
	uint64_t looked_ns; /* time of the last look */
	uint32_t silent; /* 1 + the index of a silent worker; 0: none */
	int named; /* 1: the log names that worker */
};

struct peali_watchdog {
	struct peal_runtime *rt;
	pthread_t thread;
	pthread_mutex_t lock; /* guards the list and `quit` */
	pthread_cond_t wake;
	int quit;
	uint64_t random; /* see tick_end */
	struct watched *list;
};

/* Records whether the beat of a worker has moved. A worker without a new beat
 * for silent_ns is silent: it runs a handler, or hangs. */
static void look_at_worker(struct watched *w, uint32_t i, uint64_t now)
{
	struct peal_kernel *k = w->kernel;
	struct peali_worker *worker = &k->workers[i];
	uint64_t beat = peal_load_relaxed_sys(&k->status[i].heartbeat);
	uint64_t phase = peal_load_relaxed_sys(&k->status[i].phase);
	uint64_t moved = atomic_load(&worker->beat_moved_ns);

	if (beat != worker->beat_seen || !moved) {
		worker->beat_seen = beat;
		atomic_store(&worker->beat_moved_ns, now);
	} else if (phase < PEAL_WORKER_STOPPED &&
		   now - moved >= w->kernel->rt->silent_ns) {
		w->silent = i + 1;
	}
}

/*
 * Names the silent worker in the log, once. The details need rt->lock. A thread
 * that waits for this worker may hold the lock for long. So after twice
 * silent_ns the log gets a line without details.
 */
static void name_silent(struct watched *w, uint64_t now, int locked)
{
	struct peal_kernel *k = w->kernel;
	uint32_t i = w->silent - 1;
	char text[256] = "runs a handler, or hangs";
	struct peali_inflight inflight;
	uint64_t silence;

	if (!w->silent || w->named)
		return;
	silence = now - atomic_load(&k->workers[i].beat_moved_ns);
	if (!locked && silence < 2 * k->rt->silent_ns)
		return;
	w->named = 1;
	if (locked && peali_inflight_read(k, i, &inflight))
		peali_inflight_text(&inflight, k, text);
	else if (locked)
		snprintf(text, sizeof(text), "runs no handler, in phase '%s'",
			 peali_phase_name(
				 peal_load_relaxed_sys(&k->status[i].phase)));
	peali_log(1,
		  "worker %u of kernel '%s' has been silent for %llu ms: it %s",
		  i, k->name, (unsigned long long)(silence / 1000000), text);
}

/* Looks at one kernel. The caller holds d->lock. */
static void look_at_kernel(struct watched *w, uint64_t now)
{
	struct peal_kernel *k = w->kernel;
	uint32_t i;

	peali_clock_tick(k);
	peali_counters_sample(k, now - w->looked_ns);
	w->looked_ns = now;
	for (i = 0; i < k->params.n_workers; i++)
		look_at_worker(w, i, now);
}

/* Does all work that needs rt->lock, if the lock is free. The caller holds
 * d->lock. */
static void look_at_links(struct peali_watchdog *d, uint64_t now)
{
	/* the owner of rt->lock may wait for a worker, but the lease must not
	 * wait */
	int locked = !pthread_mutex_trylock(&d->rt->lock);
	struct watched *w;

	for (w = d->list; w; w = w->next)
		name_silent(w, now, locked);
	if (!locked)
		return;
	peali_inflight_watch(d->rt, now);
	peali_links_sample(d->rt, now);
	for (w = d->list; w; w = w->next) {
		peali_failures_log(w->kernel, now, 0);
		if (!atomic_load(&w->kernel->reaped) &&
		    peali_kernel_ended(w->kernel))
			peali_links_reap(w->kernel);
		peali_kernel_reclaim(w->kernel);
	}
	peali_links_close_broken(d->rt);
	pthread_mutex_unlock(&d->rt->lock);
}

/* Sets *t to the end of this tick, 3/4 to 5/4 TICK_NS from now. The random
 * length keeps the samples out of step with periodic work of 50 Hz. */
static void tick_end(struct peali_watchdog *d, struct timespec *t)
{
	d->random = d->random * 6364136223846793005ULL + 1442695040888963407ULL;
	clock_gettime(CLOCK_MONOTONIC, t);
	t->tv_nsec +=
		(long)(TICK_NS * 3 / 4 + (d->random >> 33) % (TICK_NS / 2));
	if (t->tv_nsec >= 1000000000L) {
		t->tv_nsec -= 1000000000L;
		t->tv_sec++;
	}
}

static void *run(void *argument)
{
	struct peali_watchdog *d = argument;
	struct watched *w;
	struct timespec t;

	pthread_setname_np(pthread_self(), "peal-watchdog");
	pthread_mutex_lock(&d->lock);
	while (!d->quit) {
		uint64_t now = peali_now_ns();

		for (w = d->list; w; w = w->next)
			look_at_kernel(w, now);
		look_at_links(d, now);
		tick_end(d, &t);
		if (d->list)
			pthread_cond_timedwait(&d->wake, &d->lock, &t);
		else
			pthread_cond_wait(&d->wake, &d->lock);
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

int peali_watchdog_start(struct peal_runtime *rt)
{
	struct peali_watchdog *d = calloc(1, sizeof(*d));
	int error;

	if (!d)
		return peali_fail(PEAL_ENOMEM, "peal_runtime_open",
				  "no memory for the watchdog");
	d->rt = rt;
	pthread_mutex_init(&d->lock, NULL);
	peali_cond_init(&d->wake);
	error = peali_thread_start(&d->thread, run, d);
	if (error) {
		pthread_cond_destroy(&d->wake);
		pthread_mutex_destroy(&d->lock);
		free(d);
		return peali_fail_system(error, "peal_runtime_open",
					 "the thread of the watchdog does not "
					 "start");
	}
	rt->watchdog = d;
	return 0;
}

void peali_watchdog_stop(struct peal_runtime *rt)
{
	struct peali_watchdog *d = rt->watchdog;

	pthread_mutex_lock(&d->lock);
	d->quit = 1;
	pthread_cond_signal(&d->wake);
	pthread_mutex_unlock(&d->lock);
	pthread_join(d->thread, NULL);
	pthread_cond_destroy(&d->wake);
	pthread_mutex_destroy(&d->lock);
	free(d);
	rt->watchdog = NULL;
}

int peali_watchdog_watch(struct peal_kernel *k)
{
	struct peali_watchdog *d = k->rt->watchdog;
	struct watched *w = calloc(1, sizeof(*w));

	if (!w)
		return peali_fail(PEAL_ENOMEM, "peal_kernel_launch",
				  "no memory to monitor a kernel");
	w->kernel = k;
	w->looked_ns = peali_now_ns();
	pthread_mutex_lock(&d->lock);
	w->next = d->list;
	d->list = w;
	pthread_cond_signal(&d->wake);
	pthread_mutex_unlock(&d->lock);
	return 0;
}

void peali_watchdog_forget(struct peal_kernel *k)
{
	struct peali_watchdog *d = k->rt->watchdog;
	struct watched **p, *w = NULL;

	pthread_mutex_lock(&d->lock);
	for (p = &d->list; *p; p = &(*p)->next)
		if ((*p)->kernel == k) {
			w = *p;
			*p = w->next;
			break;
		}
	pthread_mutex_unlock(&d->lock);
	free(w);
}
