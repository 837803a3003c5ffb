/* SPDX-License-Identifier: Apache-2.0 */
/* Counts and samples the work of a runtime. See meter.h. */
#include "runtime/kernel/counters.h"

#include "runtime/link/remote.h"

#include <stdlib.h>
#include <string.h>

/**
 * Counts of one device or of the host. The counts are those of kernels and
 * links that are gone. The times also include live kernels. The meter's lock
 * guards the times, the runtime's lock guards the counts.
 */
struct kept {
	struct peali_times times;
	uint64_t handled, failed, emitted, told;
	struct peal_traffic sent, received;
};

struct peali_meter {
	pthread_mutex_t lock;
	uint64_t runtime; /* number of the runtime in the process, from 1 */
	uint64_t opened_ns;
	_Atomic uint64_t waits[PEAL_WAIT_KINDS], wait_ns[PEAL_WAIT_KINDS];
	struct kept *kept; /* [n_devices + 1]: devices, then the host */
	int n_devices;
};

static _Atomic uint64_t n_runtimes;

int peali_meter_open(struct peal_runtime *rt)
{
	struct peali_meter *m = calloc(1, sizeof(*m));

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
	rt->meter = m;
	return 0;
}

void peali_meter_close(struct peal_runtime *rt)
{
	if (!rt->meter)
		return;
	pthread_mutex_destroy(&rt->meter->lock);
	free(rt->meter->kept);
	free(rt->meter);
	rt->meter = NULL;
}

/* ---- samples ------------------------------------------------------------- */

static void add_times(struct peali_times *to, const struct peali_times *more)
{
	to->samples += more->samples;
	to->worker_ns += more->worker_ns;
	to->busy_ns += more->busy_ns;
	to->blocked_ns += more->blocked_ns;
}

void peali_meter_look(struct peal_kernel *k, uint64_t ns)
{
	struct peali_meter *m = k->rt->meter;
	struct peali_times seen = { 0 };
	uint32_t i;

	for (i = 0; i < k->params.n_workers; i++) {
		const struct peal_worker_status *s = &k->status[i];
		uint64_t phase = peal_load_relaxed_sys(&s->phase);

		if (phase == PEAL_WORKER_ABSENT || phase >= PEAL_WORKER_STOPPED)
			continue;
		seen.samples++;
		seen.worker_ns += ns;
		if (peal_load_relaxed_sys(&s->hand))
			seen.busy_ns += ns;
		else if (peal_load_relaxed_sys(&s->blocked))
			seen.blocked_ns += ns;
	}
	pthread_mutex_lock(&m->lock);
	add_times(&k->times, &seen);
	add_times(&m->kept[k->device].times, &seen);
	pthread_mutex_unlock(&m->lock);
}

void peali_meter_look_links(struct peal_runtime *rt, uint64_t now)
{
	struct peal_link *link;

	for (link = rt->links; link; link = link->next) {
		uint64_t done = peali_counts_done(link->counts);
		uint64_t accepted =
			peal_load_acquire_sys(&link->counts->accepted);
		uint64_t since = link->stay.at_ns;

		link->stay.at_ns = now;
		if (since && accepted > done)
			atomic_fetch_add(&link->stay.ns,
					 (accepted - done) * (now - since));
	}
}

void peali_meter_times(struct peal_kernel *k, struct peali_times *out)
{
	pthread_mutex_lock(&k->rt->meter->lock);
	*out = k->times;
	pthread_mutex_unlock(&k->rt->meter->lock);
}

/* ---- counts -------------------------------------------------------------- */

static void add_kernel(struct kept *to, const struct peal_kernel *k)
{
	uint32_t i;

	for (i = 0; i < k->params.n_workers; i++) {
		const struct peal_worker_status *s = &k->status[i];

		to->handled += peal_load_relaxed_sys(&s->handled);
		to->failed += peal_load_relaxed_sys(&s->failed);
		to->emitted += peal_load_relaxed_sys(&s->emitted);
		to->told += peal_load_relaxed_sys(&s->told);
	}
}

static struct kept *place_of(const struct peali_meter *m, struct kept *kept,
			     const struct peal_kernel *k)
{
	return &kept[k ? k->device : m->n_devices];
}

static void add_link(const struct peali_meter *m, struct kept *to,
		     const struct peal_link *link)
{
	const struct peal_link_counts *in = peali_far_receiver_counts(link);
	const struct peal_link_counts *out = peali_far_sender_counts(link);
	struct kept *receiver = place_of(m, to, link->to.kernel);
	struct kept *sender = place_of(m, to, link->from.kernel);

	/*
	 * The receiver is read first, so that received never exceeds sent. The
	 * counts of an end in another process belong to that process.
	 */
	if (!peali_end_is_far(&link->to)) {
		receiver->received.messages +=
			peal_load_acquire_sys(&in->delivered);
		receiver->received.bytes +=
			peal_load_acquire_sys(&in->delivered_bytes);
	}
	if (!peali_end_is_far(&link->from)) {
		sender->sent.messages += peal_load_acquire_sys(&out->accepted);
		sender->sent.bytes +=
			peal_load_acquire_sys(&out->accepted_bytes);
	}
}

void peali_meter_keep_kernel(const struct peal_kernel *k)
{
	add_kernel(&k->rt->meter->kept[k->device], k);
}

void peali_meter_keep_link(const struct peal_link *link)
{
	add_link(link->rt->meter, link->rt->meter->kept, link);
}

void peali_meter_waited(struct peal_runtime *rt, enum peal_wait_kind kind,
			uint64_t began_ns)
{
	atomic_fetch_add(&rt->meter->waits[kind], 1);
	atomic_fetch_add(&rt->meter->wait_ns[kind], peali_now_ns() - began_ns);
}

/* ---- reading ------------------------------------------------------------- */

static void fill_device(struct peal_device_metrics *out,
			const struct kept *from)
{
	out->handled = from->handled;
	out->failed = from->failed;
	out->emitted = from->emitted;
	out->told = from->told;
	out->sent = from->sent;
	out->received = from->received;
	out->samples = from->times.samples;
	out->worker_ns = from->times.worker_ns;
	out->busy_ns = from->times.busy_ns;
	out->blocked_ns = from->times.blocked_ns;
}

static void add_kept(struct kept *to, const struct kept *more)
{
	add_times(&to->times, &more->times);
	to->handled += more->handled;
	to->failed += more->failed;
	to->emitted += more->emitted;
	to->told += more->told;
	to->sent.messages += more->sent.messages;
	to->sent.bytes += more->sent.bytes;
	to->received.messages += more->received.messages;
	to->received.bytes += more->received.bytes;
}

/* Returns the entry of a device in a snapshot, or NULL if it has none. */
static struct peal_device_metrics *entry_of(struct peal_metrics *out,
					    int device)
{
	return device < PEAL_METRICS_DEVICES ? &out->device[device] : NULL;
}

static void count_kernel(struct peal_metrics *out, struct peal_kernel *k)
{
	struct peal_device_metrics *d = entry_of(out, k->device);

	if (peali_kernel_ended(k))
		return;
	out->total.kernels++;
	out->total.workers += k->params.n_workers;
	if (!d)
		return;
	d->kernels++;
	d->workers += k->params.n_workers;
}

/*
 * Copies the kept counts of all devices and of the host. Adds the counts of
 * live kernels and links.
 */
static void gather(struct peal_runtime *rt, struct peal_metrics *out,
		   struct kept *kept)
{
	struct peali_meter *m = rt->meter;
	struct peal_kernel *k;
	struct peal_link *link;

	pthread_mutex_lock(&rt->lock);
	pthread_mutex_lock(&m->lock);
	memcpy(kept, m->kept, ((size_t)m->n_devices + 1) * sizeof(*kept));
	pthread_mutex_unlock(&m->lock);
	for (k = rt->kernels; k; k = k->next) {
		add_kernel(&kept[k->device], k);
		count_kernel(out, k);
	}
	for (link = rt->links; link; link = link->next)
		add_link(m, kept, link);
	pthread_mutex_unlock(&rt->lock);
}

int peali_meter_read(struct peal_runtime *rt, struct peal_metrics *out)
{
	struct peali_meter *m = rt->meter;
	struct kept total = { 0 };
	struct kept *kept = malloc(((size_t)m->n_devices + 1) * sizeof(*kept));
	int i;

	if (!kept)
		return PEAL_ENOMEM;
	out->runtime = m->runtime;
	out->n_devices = (uint32_t)m->n_devices;
	for (i = 0; i < PEAL_WAIT_KINDS; i++) {
		out->waits[i].ns = atomic_load(&m->wait_ns[i]);
		out->waits[i].waits = atomic_load(&m->waits[i]);
	}
	gather(rt, out, kept);
	for (i = 0; i < m->n_devices; i++) {
		struct peal_device_metrics *d = entry_of(out, i);

		add_kept(&total, &kept[i]);
		if (d)
			fill_device(d, &kept[i]);
	}
	fill_device(&out->total, &total);
	out->host_sent = kept[m->n_devices].sent;
	out->host_received = kept[m->n_devices].received;
	out->at_ns = peali_now_ns();
	out->interval_ns = out->at_ns - m->opened_ns;
	free(kept);
	return 0;
}
