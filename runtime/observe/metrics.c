/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots of a runtime's counters, their differences and derived values. */
#include <peal/metrics.h>

#include <stdlib.h>
#include <string.h>

#include "p2p/copy_stats.h"
#include "p2p/peer.h"
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/wait.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/kernel/counters.h"
#include "runtime/kernel/kernel.h"
#include "runtime/link/link.h"
#include "runtime/link/link_counters.h"

#define SNAPSHOT "peal_metrics_snapshot"
#define DELTA "peal_metrics_delta"

/* All fields of a device from this offset on are counters. */
#define DEVICE_COUNTERS offsetof(struct peal_device_metrics, handled)
/* All fields of a snapshot from this offset up to `total` are counters. */
#define COUNTERS offsetof(struct peal_metrics, compute_ns)

PEAL_STATIC_ASSERT(
	DEVICE_COUNTERS % sizeof(uint64_t) == 0 &&
		sizeof(struct peal_device_metrics) % sizeof(uint64_t) == 0 &&
		offsetof(struct peal_metrics, total) % sizeof(uint64_t) == 0,
	"counters are words");

const char *peal_wait_kind_name(uint32_t kind)
{
	static const char *const names[PEAL_WAIT_KINDS] = {
		"kernel",   "copy",	"collective", "barrier",
		"graph",    "send",	"receive",    "request",
		"pipeline", "executor", "device",     "event",
	};

	return kind < PEAL_WAIT_KINDS ? names[kind] : "?";
}

static int check_size(const struct peal_metrics *metrics, const char *call)
{
	if (metrics->size == sizeof(*metrics))
		return 0;
	return PEALI_REFUSE(PEAL_EINVAL, call, .object = "option",
			    .name = "size",
			    .problem = "is not the size of this version",
			    .number = metrics->size, .least = sizeof(*metrics),
			    .most = sizeof(*metrics),
			    .remedy = "set it to sizeof(struct peal_metrics)");
}

/* ---- snapshot ------------------------------------------------------------ */

static void fill_device(struct peal_device_metrics *out,
			const struct peali_kept *from)
{
	out->handled = from->handled;
	out->failed = from->failed;
	out->emitted = from->emitted;
	out->mailbox_sends = from->told;
	out->sent = from->sent;
	out->received = from->received;
	out->samples = from->times.samples;
	out->worker_ns = from->times.worker_ns;
	out->busy_ns = from->times.busy_ns;
	out->blocked_ns = from->times.blocked_ns;
}

static void add_kept(struct peali_kept *to, const struct peali_kept *more)
{
	peali_times_add(&to->times, &more->times);
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
		   struct peali_kept *kept)
{
	struct peali_counters *m = rt->counters;
	struct peal_kernel *k;
	struct peal_link *link;

	pthread_mutex_lock(&rt->lock);
	pthread_mutex_lock(&m->lock);
	memcpy(kept, m->kept, ((size_t)m->n_devices + 1) * sizeof(*kept));
	pthread_mutex_unlock(&m->lock);
	for (k = rt->kernels; k; k = k->next) {
		peali_kept_add_kernel(&kept[k->device], k);
		count_kernel(out, k);
	}
	for (link = rt->links; link; link = link->next)
		peali_kept_add_link(m, kept, link);
	pthread_mutex_unlock(&rt->lock);
}

/* Fills in a snapshot except memory and copies. Returns 0 or PEAL_ENOMEM. */
static int read_counters(struct peal_runtime *rt, struct peal_metrics *out)
{
	struct peali_counters *m = rt->counters;
	struct peali_kept total = { 0 };
	struct peali_kept *kept =
		malloc(((size_t)m->n_devices + 1) * sizeof(*kept));
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

/* Adds each word of `more` to the word of `to` at the same place. */
static void add_words(void *to, const void *more, size_t bytes)
{
	uint64_t *sum = (uint64_t *)to;
	const uint64_t *words = (const uint64_t *)more;
	size_t i;

	for (i = 0; i < bytes / sizeof(*sum); i++)
		sum[i] += words[i];
}

static int read_copies(struct peal_runtime *rt, struct peal_metrics *out)
{
	struct peali_copy_stats_place *place =
		malloc(((size_t)rt->devices.n + 1) * sizeof(*place));
	int i;

	if (!place)
		return PEAL_ENOMEM;
	peali_copy_stats_read(peali_peers_copy_stats(rt->peers), place,
			      out->copies, &out->waits[PEAL_WAIT_COPY]);
	for (i = 0; i < rt->devices.n; i++) {
		add_words(out->total.read, place[i].read,
			  sizeof(place[i].read));
		add_words(out->total.written, place[i].written,
			  sizeof(place[i].written));
		if (i >= PEAL_METRICS_DEVICES)
			continue;
		memcpy(out->device[i].read, place[i].read,
		       sizeof(place[i].read));
		memcpy(out->device[i].written, place[i].written,
		       sizeof(place[i].written));
	}
	free(place);
	return 0;
}

static int read_memory(struct peal_runtime *rt, struct peal_metrics *out)
{
	struct peal_device_info info;
	int i, result = 0;

	out->total.device = -1;
	for (i = 0; i < rt->devices.n && !result; i++) {
		result = peal_device_info(rt, i, &info);
		if (result)
			break;
		out->total.memory_bytes += info.memory_bytes;
		out->total.memory_used_bytes += info.memory_used_bytes;
		if (i >= PEAL_METRICS_DEVICES)
			continue;
		out->device[i].device = i;
		out->device[i].memory_bytes = info.memory_bytes;
		out->device[i].memory_used_bytes = info.memory_used_bytes;
	}
	return result;
}

static void sum_up(struct peal_metrics *m)
{
	int i;

	m->compute_ns = m->total.busy_ns;
	for (i = 0; i < PEAL_COPY_KINDS; i++)
		m->transfer_ns += m->copies[i].ns;
	for (i = 0; i < PEAL_WAIT_KINDS; i++)
		m->sync_ns += m->waits[i].ns;
}

int peal_metrics_snapshot(struct peal_runtime *rt,
			  struct peal_metrics *metrics_out)
{
	struct peal_metrics *m;
	int result;

	if (!rt || !metrics_out)
		return peali_refuse_null(SNAPSHOT, "runtime or metrics_out");
	if (peali_foreign(&rt->owner, SNAPSHOT))
		return PEAL_EFORKED;
	result = check_size(metrics_out, SNAPSHOT);
	if (result)
		return result;
	m = calloc(1, sizeof(*m));
	if (!m)
		return peali_fail(PEAL_ENOMEM, SNAPSHOT,
				  "no memory for a snapshot");
	m->size = sizeof(*m);
	result = read_memory(rt, m);
	if (!result && (read_counters(rt, m) || read_copies(rt, m)))
		result = peali_fail(PEAL_ENOMEM, SNAPSHOT,
				    "no memory for a snapshot");
	if (!result) {
		sum_up(m);
		*metrics_out = *m;
	}
	free(m);
	return result;
}

/* ---- difference ---------------------------------------------------------- */

/*
 * Subtracts the words of `before` from those of `after`. `out` may be equal to
 * `after` or `before`.
 */
static void subtract(void *out, const void *after, const void *before,
		     size_t bytes)
{
	uint64_t *left = (uint64_t *)out;
	const uint64_t *a = (const uint64_t *)after;
	const uint64_t *b = (const uint64_t *)before;
	size_t i;

	/* mailbox_sends decreases by one if a put finds its pool full */
	for (i = 0; i < bytes / sizeof(*left); i++)
		left[i] = a[i] > b[i] ? a[i] - b[i] : 0;
}

static void subtract_device(struct peal_device_metrics *out,
			    const struct peal_device_metrics *after,
			    const struct peal_device_metrics *before)
{
	subtract((char *)out + DEVICE_COUNTERS,
		 (const char *)after + DEVICE_COUNTERS,
		 (const char *)before + DEVICE_COUNTERS,
		 sizeof(*out) - DEVICE_COUNTERS);
	if (out != after)
		memcpy(out, after, DEVICE_COUNTERS);
}

int peal_metrics_delta(const struct peal_metrics *before,
		       const struct peal_metrics *after,
		       struct peal_metrics *delta_out)
{
	uint64_t interval;
	int i, result;

	if (!before || !after || !delta_out)
		return peali_refuse_null(DELTA, "before, after or delta_out");
	result = check_size(before, DELTA);
	if (!result)
		result = check_size(after, DELTA);
	if (result)
		return result;
	if (before->runtime != after->runtime)
		return peali_fail(PEAL_EINVAL, DELTA,
				  "the snapshots are of two runtimes");
	interval = after->at_ns - before->at_ns;
	if (before->at_ns > after->at_ns ||
	    before->interval_ns + interval != after->interval_ns)
		return peali_fail(
			PEAL_EINVAL, DELTA,
			before->at_ns > after->at_ns ?
				"`before` is the later of the two snapshots" :
				"one of the two is a difference, not a "
				"snapshot");
	subtract((char *)delta_out + COUNTERS, (const char *)after + COUNTERS,
		 (const char *)before + COUNTERS,
		 offsetof(struct peal_metrics, total) - COUNTERS);
	subtract_device(&delta_out->total, &after->total, &before->total);
	for (i = 0; i < PEAL_METRICS_DEVICES; i++)
		subtract_device(&delta_out->device[i], &after->device[i],
				&before->device[i]);
	if (delta_out != after)
		memcpy(delta_out, after, COUNTERS);
	delta_out->interval_ns = interval;
	return 0;
}

/* ---- derived values ------------------------------------------------------ */

double peal_metrics_busy_share(const struct peal_device_metrics *d)
{
	if (!d || !d->worker_ns)
		return -1;
	return (double)d->busy_ns / (double)d->worker_ns;
}

double peal_metrics_imbalance(const struct peal_metrics *m)
{
	double sum = 0, most = 0;
	uint32_t i, n = 0;

	for (i = 0; m && i < m->n_devices && i < PEAL_METRICS_DEVICES; i++) {
		double share = peal_metrics_busy_share(&m->device[i]);

		if (share < 0)
			continue;
		n++;
		sum += share;
		if (share > most)
			most = share;
	}
	return sum > 0 ? most * n / sum : 0;
}

uint64_t peal_metrics_bandwidth(const struct peal_copy_counts *c)
{
	if (!c || !c->ns)
		return 0;
	return (uint64_t)((double)c->bytes * 1e9 / (double)c->ns);
}
