/* SPDX-License-Identifier: Apache-2.0 */
/* Waits until devices have no messages in flight. */
#include "runtime/collective/device_sync.h"

#include <stdio.h>
#include <string.h>

#include <peal/device.h>
#include <peal/topic.h>

#include "p2p/peer.h"
#include "runtime/base/error.h"
#include "runtime/base/refusal.h"
#include "runtime/base/wait.h"
#include "runtime/collective/communicator.h"
#include "runtime/compute/executor.h"
#include "runtime/compute/graph.h"
#include "runtime/device/devices.h"
#include "runtime/kernel/counters.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/link_counts.h"
#include "runtime/link/endpoint.h"
#include "runtime/link/link.h"
#include "runtime/link/remote.h"
#include "runtime/link/topic.h"
#include "runtime/runtime.h"

#define CALL "peal_device_sync"

/*
 * One look at all counts of messages.
 *
 * 1. The look sums the messages that are done.
 * 2. Then it sums the messages that were given.
 * 3. Equal sums mean that no message was in flight at the time T between the
 *    steps.
 *
 * A message counts as given before it is visible, and as done after its
 * handler. Only a GPU counts later. So at any time done <= given. Counts never shrink. So done of step 1
 * <= done at T <= given at T <= given of step 2. If the first and the last are
 * equal, all are.
 *
 * The sums must cover equal sets of objects. Objects that have ended do not
 * restart. So equal numbers of objects mean equal sets.
 *
 * Counts of a GPU become visible late and in any order. There the sums must stay
 * equal for some time. In this time each worker has to report a newer lease
 * (device/clock.h). A worker reports the lease after its earlier counts and
 * writes. So must each worker of another device that sends by a link.
 */

static int is_meant(const struct peali_idle_look *l, struct peal_kernel *k)
{
	return k && (l->device == PEAL_ALL_DEVICES || k->device == l->device) &&
	       !peali_kernel_ended(k);
}

static int is_open(const struct peali_idle_look *l,
		   const struct peal_link *link)
{
	return is_meant(l, link->to.kernel) &&
	       !atomic_load(&link->receiver_gone) &&
	       !peal_load_relaxed_sys(&link->counts->error) &&
	       !atomic_load(&link->staged_error);
}

static uint64_t link_done(const struct peal_link *link)
{
	return peali_counts_done(peali_remote_receiver_counts(link)) +
	       peal_load_acquire_sys(&peali_remote_sender_counts(link)->closed);
}

static uint64_t mailbox_done(const struct peal_kernel *k)
{
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < k->params.n_workers; i++)
		n += peal_load_acquire_sys(&k->status[i].mailbox_done);
	return n;
}

static uint64_t mail_told(const struct peal_kernel *k)
{
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < k->params.n_workers; i++)
		n += peal_load_relaxed_sys(&k->status[i].mailbox_sends);
	return n;
}

/* Sums the messages of a topic's subscribers. `done` is 1 for the done
 * messages, 0 for the given ones. *n_out counts the subscribers. */
static uint64_t topic_sum(const struct peali_idle_look *l,
			  const struct peali_topic *t, int done,
			  uint32_t *n_out)
{
	struct peal_subscriber_info s;
	uint64_t n = 0, reason;
	uint32_t i;

	for (i = 0; i < t->spec.n_subscribers; i++) {
		if (!is_meant(l, t->subscribers[i].end.kernel))
			continue;
		++*n_out;
		peali_subscriber_read(t, i, &s);
		n += done ? s.delivered + s.missed : s.published;
		for (reason = 0; done && reason < PEAL_REASON_COUNT; reason++)
			n += s.dead[reason];
	}
	return n;
}

static void read_done(struct peali_idle_look *l)
{
	struct peal_kernel *k;
	const struct peal_link *link;
	const struct peali_topic *t;

	l->done = l->n_done = 0;
	for (k = l->rt->kernels; k; k = k->next)
		if (is_meant(l, k)) {
			l->done += mailbox_done(k);
			l->n_done++;
		}
	for (link = l->rt->links; link; link = link->next)
		if (is_open(l, link)) {
			l->done += link_done(link);
			l->n_done++;
		}
	for (t = l->rt->topics; t; t = t->next)
		l->done += topic_sum(l, t, 1, &l->n_done);
}

static void read_given(struct peali_idle_look *l)
{
	struct peal_kernel *k;
	const struct peal_link *link;
	const struct peali_topic *t;
	uint32_t ignored = 0;
	uint64_t n;

	l->given = l->n_given = 0;
	l->busy[0] = 0;
	for (k = l->rt->kernels; k; k = k->next)
		if (is_meant(l, k)) {
			n = mail_told(k);
			l->given += n;
			l->n_given++;
			if (n != mailbox_done(k) && !l->busy[0])
				snprintf(l->busy, sizeof(l->busy),
					 "messages in mailboxes and pools of "
					 "kernel '%s' on device %d",
					 k->name, k->device);
		}
	for (link = l->rt->links; link; link = link->next)
		if (is_open(l, link)) {
			n = peal_load_acquire_sys(
				&peali_remote_sender_counts(link)->accepted);
			n = peali_endpoint_before_gate(link, n, l->gate);
			if (peali_link_sent_lags(link) && n < link_done(link))
				n = link_done(link);
			l->given += n;
			l->n_given++;
			if (n != link_done(link) && !l->busy[0])
				snprintf(l->busy, sizeof(l->busy),
					 "messages on link %llu to kernel '%s' "
					 "on device %d%s",
					 (unsigned long long)link->id,
					 link->to.kernel->name, link->to.device,
					 peali_remote_error(link) ?
						 "; its sender has ended, "
						 "destroy the link" :
						 "");
		}
	for (t = l->rt->topics; t; t = t->next) {
		n = topic_sum(l, t, 0, &l->n_given);
		l->given += n;
		if (n != topic_sum(l, t, 1, &ignored) && !l->busy[0])
			snprintf(l->busy, sizeof(l->busy),
				 "messages of topic '%s' on device %d", t->name,
				 t->device);
	}
}

/* Returns 1 if all counts become visible in order, as on emulated devices. */
static int is_in_order(const struct peali_idle_look *l)
{
	struct peal_device_info info;
	int i;

	for (i = 0; i < l->rt->devices.n; i++)
		if ((l->device == PEAL_ALL_DEVICES || l->device == i) &&
		    (peal_device_info(l->rt, i, &info) || !info.emulated))
			return 0;
	return 1;
}

/* Returns 1 if a worker has seen a lease that is newer than `since`. */
static int says(const struct peal_kernel *k, uint32_t worker, uint64_t since)
{
	return peal_load_acquire_sys(&k->status[worker].clock_seen) > since;
}

/* Returns 1 if the sender of a link counts its messages late, and lives. */
static int is_late(const struct peali_idle_look *l,
		   const struct peal_link *link)
{
	return is_open(l, link) && link->from.kernel &&
	       peali_link_sent_lags(link) &&
	       !peali_kernel_ended(link->from.kernel);
}

/* Returns 1 if no worker that sends by a link counts its messages late. */
static int none_is_late(const struct peali_idle_look *l)
{
	const struct peal_link *link = l->rt->links;

	while (link && !is_late(l, link))
		link = link->next;
	return !link;
}

/* Returns 1 if all workers have seen a lease that is newer than `since`. The
 * workers of other devices that send to the meant ones count, too. */
static int all_say(const struct peali_idle_look *l, uint64_t since)
{
	const struct peal_link *link;
	struct peal_kernel *k;
	uint32_t i;

	for (k = l->rt->kernels; k; k = k->next)
		for (i = 0; is_meant(l, k) && i < k->params.n_workers; i++)
			if (!says(k, i, since))
				return 0;
	for (link = l->rt->links; link; link = link->next)
		if (is_late(l, link) &&
		    !says(link->from.kernel, link->from.worker, since))
			return 0;
	return 1;
}

/* Returns the kind of the work that uses the devices and is no message, or NULL.
 * The caller holds rt->lock. */
static const char *find_run(const struct peali_idle_look *l)
{
	const struct peal_executor *e;
	struct peal_graph *g;
	struct peal_comm *c;

	for (e = l->rt->executors; e; e = e->next)
		if (peali_executor_is_busy(e, l->device, l->before))
			return "a job of an executor";
	for (g = l->rt->graphs; g; g = peali_graph_next(g))
		if (peali_graph_is_busy(g, l->device, l->before))
			return "a run of a graph";
	for (c = l->rt->groups; c; c = peali_comm_next(c))
		if (peali_comm_is_busy(c, l->device, l->before))
			return "a collective";
	return NULL;
}

/* Returns the kind of the work that goes on, or NULL. Also finds copies and changes
 * of peer access. */
static const char *find_work(const struct peali_idle_look *l)
{
	const char *found;

	pthread_mutex_lock(&l->rt->lock);
	found = find_run(l);
	pthread_mutex_unlock(&l->rt->lock);
	if (found)
		return found;
	return peali_copies_use(l->rt->peers, l->device, l->before);
}

void peali_idle_begin(struct peali_idle_look *l, struct peal_runtime *rt,
		      int device)
{
	memset(l, 0, sizeof(*l));
	l->rt = rt;
	l->device = device;
	l->before = l->gate = UINT64_MAX;
	l->in_order = is_in_order(l);
}

void peali_idle_begin_behind(struct peali_idle_look *l, struct peal_runtime *rt,
			     int device)
{
	peali_idle_begin(l, rt, device);
	l->gate = atomic_load(&rt->devices.device[device].gates.made);
	l->before = atomic_fetch_add(&rt->devices.submissions, 1);
}

int peali_idle_look(struct peali_idle_look *l)
{
	const char *goes_on = find_work(l);
	int result, in_order;

	pthread_mutex_lock(&l->rt->lock);
	in_order = l->in_order && none_is_late(l);
	result = in_order || !l->since || all_say(l, l->since);
	read_done(l);
	read_given(l);
	pthread_mutex_unlock(&l->rt->lock);
	if (goes_on)
		snprintf(l->busy, sizeof(l->busy), "%s", goes_on);
	if (goes_on || l->done != l->given || l->n_done != l->n_given) {
		l->since = 0;
		return 0;
	}
	if (in_order)
		return !find_work(l);
	if (!l->since || l->quiet != l->done) {
		l->since = peali_now_ns();
		l->quiet = l->done;
		return 0;
	}
	return result;
}

/* Waits for a quiet moment. Returns 0, PEAL_EAGAIN or PEAL_ETIMEDOUT, without a
 * text. */
static int await_quiet(struct peali_idle_look *l, int64_t timeout_ns)
{
	uint64_t deadline = peali_deadline(timeout_ns), began = 0;
	uint32_t turns = 0;
	int result;

	for (;;) {
		result = peali_idle_look(l)   ? 0 :
			 !timeout_ns	      ? PEAL_EAGAIN :
			 peali_late(deadline) ? PEAL_ETIMEDOUT :
						1;
		if (result <= 0)
			break;
		peali_poll_pause_since(&turns, &began);
	}
	if (began)
		peali_counters_waited(l->rt, PEAL_WAIT_DEVICE, began);
	return result;
}

int peal_device_sync(struct peal_runtime *rt, int device, int64_t timeout_ns)
{
	struct peali_idle_look l;
	int result = 0;

	if (!rt)
		return peali_refuse_null(CALL, "runtime");
	if (peali_foreign(&rt->owner, CALL))
		return PEAL_EFORKED;
	if (device != PEAL_ALL_DEVICES)
		result = peali_devices_check(&rt->devices, device, CALL);
	if (result)
		return result;
	peali_idle_begin(&l, rt, device);
	result = await_quiet(&l, timeout_ns);
	if (result != PEAL_ETIMEDOUT)
		return result;
	return peali_fail(PEAL_ETIMEDOUT, CALL,
			  "runtime is not quiescent after %lld ns; pending: %s",
			  (long long)timeout_ns,
			  l.busy[0] ? l.busy : "work that has just ended");
}
