/* SPDX-License-Identifier: Apache-2.0 */
/* Counts and samples the work of a runtime. See counters.h. */
#include "runtime/kernel/counters.h"

#include "runtime/base/error.h"
#include "runtime/base/wait.h"
#include "runtime/kernel/busy_times.h"
#include "runtime/kernel/kernel.h"

#include <stdlib.h>
#include <string.h>

static _Atomic uint64_t n_runtimes;

int peali_counters_open(struct peal_runtime *rt)
{
	struct peali_counters *m = calloc(1, sizeof(*m));

	if (m)
		m->kept = calloc((size_t)rt->devices.n + 1, sizeof(*m->kept));
	if (!m || !m->kept) {
		free(m);
		return peali_fail(PEAL_ENOMEM, "peal_runtime_open",
				  "no memory for the counts of %d devices",
				  rt->devices.n);
	}
	pthread_mutex_init(&m->lock, NULL);
	m->n_devices = rt->devices.n;
	m->runtime = atomic_fetch_add(&n_runtimes, 1) + 1;
	m->opened_ns = peali_now_ns();
	rt->counters = m;
	return 0;
}

void peali_counters_close(struct peal_runtime *rt)
{
	if (!rt->counters)
		return;
	pthread_mutex_destroy(&rt->counters->lock);
	free(rt->counters->kept);
	free(rt->counters);
	rt->counters = NULL;
}

/* ---- samples ------------------------------------------------------------- */

void peali_times_add(struct peali_busy_times *to,
		     const struct peali_busy_times *more)
{
	to->samples += more->samples;
	to->worker_ns += more->worker_ns;
	to->busy_ns += more->busy_ns;
	to->blocked_ns += more->blocked_ns;
}

void peali_counters_sample(struct peal_kernel *k, uint64_t ns)
{
	struct peali_counters *m = k->rt->counters;
	struct peali_busy_times seen = { 0 };
	uint32_t i;

	for (i = 0; i < k->params.n_workers; i++) {
		const struct peal_worker_status *s = &k->status[i];
		uint64_t phase = peal_load_relaxed_sys(&s->phase);

		if (phase == PEAL_WORKER_ABSENT || phase >= PEAL_WORKER_STOPPED)
			continue;
		seen.samples++;
		seen.worker_ns += ns;
		if (peal_load_relaxed_sys(&s->inflight))
			seen.busy_ns += ns;
		else if (peal_load_relaxed_sys(&s->blocked))
			seen.blocked_ns += ns;
	}
	pthread_mutex_lock(&m->lock);
	peali_times_add(&k->times, &seen);
	peali_times_add(&m->kept[k->device].times, &seen);
	pthread_mutex_unlock(&m->lock);
}

void peali_counters_times(struct peal_kernel *k, struct peali_busy_times *out)
{
	pthread_mutex_lock(&k->rt->counters->lock);
	*out = k->times;
	pthread_mutex_unlock(&k->rt->counters->lock);
}

/* ---- counts -------------------------------------------------------------- */

void peali_kept_add_kernel(struct peali_kept *to, const struct peal_kernel *k)
{
	uint32_t i;

	for (i = 0; i < k->params.n_workers; i++) {
		const struct peal_worker_status *s = &k->status[i];

		to->handled += peal_load_relaxed_sys(&s->handled);
		to->failed += peal_load_relaxed_sys(&s->failed);
		to->emitted += peal_load_relaxed_sys(&s->emitted);
		to->told += peal_load_relaxed_sys(&s->mailbox_sends);
	}
}

void peali_counters_keep_kernel(const struct peal_kernel *k)
{
	peali_kept_add_kernel(&k->rt->counters->kept[k->device], k);
}

void peali_counters_waited(struct peal_runtime *rt, enum peal_wait_kind kind,
			   uint64_t began_ns)
{
	atomic_fetch_add(&rt->counters->waits[kind], 1);
	atomic_fetch_add(&rt->counters->wait_ns[kind],
			 peali_now_ns() - began_ns);
}

void peali_counters_wait_end(struct peal_runtime *rt, uint32_t kind,
			     struct peali_bell_wait *wait)
{
	peali_bell_wait_end(wait);
	if (wait->slept_ns && kind < PEAL_WAIT_KINDS)
		peali_counters_waited(rt, (enum peal_wait_kind)kind,
				      wait->slept_ns);
}
