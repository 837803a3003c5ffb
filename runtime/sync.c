/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for a moment at which devices have nothing to do. */
#include <peal/event.h>

#include <stdio.h>

#include "runtime/runtime.h"
#include "runtime/topic.h"

#define CALL "peal_device_sync"

/*
 * What was done is read of all that counts, then of all what was given: each
 * message is counted as given before it can be seen, and as done behind its
 * handler, so done is never more. If both sums are the same, at the moment between
 * the two nothing was under way: no count of what was given has grown since, for
 * that of what was done would have had to be less.
 */
struct look {
	struct peal_runtime *rt;
	int device; /* PEAL_ALL_DEVICES */
	uint64_t done, given;
	char busy[128]; /* what has something to do, of the second reading */
};

static int is_meant(const struct look *l, struct peal_kernel *k)
{
	return k && (l->device == PEAL_ALL_DEVICES || k->device == l->device) &&
	       !peali_kernel_ended(k);
}

static int is_open(const struct look *l, const struct peal_link *link)
{
	return is_meant(l, link->to.kernel) &&
	       !atomic_load(&link->receiver_gone) &&
	       !peal_load_relaxed_sys(&link->counts->error) &&
	       !atomic_load(&link->staged_error);
}

static uint64_t link_done(const struct peal_link *link)
{
	return peali_counts_done(link->counts) +
	       peal_load_acquire_sys(&link->counts->closed);
}

static uint64_t mail_done(const struct peal_kernel *k)
{
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < k->params.n_workers; i++)
		n += peal_load_acquire_sys(&k->status[i].mail_done);
	return n;
}

static uint64_t mail_told(const struct peal_kernel *k)
{
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < k->params.n_workers; i++)
		n += peal_load_relaxed_sys(&k->status[i].told);
	return n;
}

/* What the subscribers of a topic have done, or were given. */
static uint64_t topic_sum(const struct look *l, const struct peali_topic *t,
			  int done)
{
	struct peal_subscriber_info s;
	uint64_t n = 0, reason;
	uint32_t i;

	for (i = 0; i < t->spec.n_subscribers; i++) {
		if (!is_meant(l, t->subscribers[i].end.kernel))
			continue;
		peali_subscriber_read(t, i, &s);
		n += done ? s.delivered + s.missed : s.published;
		for (reason = 0; done && reason < PEAL_REASON_COUNT; reason++)
			n += s.dead[reason];
	}
	return n;
}

static void read_done(struct look *l)
{
	struct peal_kernel *k;
	const struct peal_link *link;
	const struct peali_topic *t;

	l->done = 0;
	for (k = l->rt->kernels; k; k = k->next)
		if (is_meant(l, k))
			l->done += mail_done(k);
	for (link = l->rt->links; link; link = link->next)
		if (is_open(l, link))
			l->done += link_done(link);
	for (t = l->rt->topics; t; t = t->next)
		l->done += topic_sum(l, t, 1);
}

static void read_given(struct look *l)
{
	struct peal_kernel *k;
	const struct peal_link *link;
	const struct peali_topic *t;
	uint64_t n;

	l->given = 0;
	l->busy[0] = 0;
	for (k = l->rt->kernels; k; k = k->next)
		if (is_meant(l, k)) {
			n = mail_told(k);
			l->given += n;
			if (n != mail_done(k) && !l->busy[0])
				snprintf(l->busy, sizeof(l->busy),
					 "messages in mailboxes and pools of "
					 "kernel '%s' on device %d",
					 k->name, k->device);
		}
	for (link = l->rt->links; link; link = link->next)
		if (is_open(l, link)) {
			n = peal_load_acquire_sys(&link->counts->accepted);
			l->given += n;
			if (n != link_done(link) && !l->busy[0])
				snprintf(l->busy, sizeof(l->busy),
					 "messages on link %llu to kernel '%s' "
					 "on device %d",
					 (unsigned long long)link->id,
					 link->to.kernel->name,
					 link->to.device);
		}
	for (t = l->rt->topics; t; t = t->next) {
		n = topic_sum(l, t, 0);
		l->given += n;
		if (n != topic_sum(l, t, 1) && !l->busy[0])
			snprintf(l->busy, sizeof(l->busy),
				 "messages of topic '%s' on device %d", t->name,
				 t->device);
	}
}

int peal_device_sync(struct peal_runtime *rt, int device, int64_t timeout_ns)
{
	uint64_t deadline = peali_deadline(timeout_ns);
	struct look l = { .rt = rt, .device = device };
	uint32_t turns = 0;
	int result = 0;

	if (!rt)
		return peali_fail(PEAL_EINVAL, CALL, "runtime is NULL");
	if (device != PEAL_ALL_DEVICES)
		result = peali_devices_check(&rt->devices, device, CALL);
	if (result)
		return result;
	for (;;) {
		pthread_mutex_lock(&rt->lock);
		read_done(&l);
		read_given(&l);
		pthread_mutex_unlock(&rt->lock);
		if (l.done == l.given)
			return 0;
		if (!timeout_ns)
			return PEAL_EAGAIN;
		if (peali_late(deadline))
			break;
		peali_poll_pause(&turns);
	}
	return peali_fail(PEAL_ETIMEDOUT, CALL,
			  "%lld ns long there was always something to do, at "
			  "last %s",
			  (long long)timeout_ns,
			  l.busy[0] ? l.busy : "what is done by now");
}
