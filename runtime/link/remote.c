/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remote links have one end in another process. This file has the views of
 * the local end, the counters that both processes share, and the shutdown.
 */
#include "runtime/link/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "queues/ring.h"
#include "runtime/base/text.h"
#include "runtime/device/memory_block.h"
#include "runtime/ipc/process_group.h"
#include "runtime/link/endpoint.h"
#include "runtime/link/link.h"

int peali_remote_direct(const struct peal_link *link)
{
	return link->remote && !link->remote->staged;
}

int peali_remote_staged(const struct peal_link *link)
{
	return link->remote && link->remote->staged;
}

int peali_remote_sends(const struct peal_link *link)
{
	return link->remote && link->remote->sends;
}

void peali_remote_view(const struct peal_link *link, struct peal_link_view *out)
{
	const struct peali_remote_link *remote = link->remote;

	if (remote->windows) { /* out->counts stays the link's own */
		out->ring = remote->ring_at;
		out->credit = remote->credit_at;
		return;
	}
	out->ring = (uint64_t)(uintptr_t)remote->ring;
	out->credit = (uint64_t)(uintptr_t)remote->credit;
	out->counts = (uint64_t)(uintptr_t)remote->counts;
}

uint64_t peali_remote_stage_bytes(const struct peal_link *link)
{
	return peali_ring_stage_bytes(&link->remote->spec);
}

uint64_t peali_remote_memory(const struct peal_link *link)
{
	return link->remote ? link->remote->bytes + link->remote->part.bytes +
				      link->remote->header.bytes :
			      0;
}

const struct peal_link_counts *
peali_remote_sender_counts(const struct peal_link *link)
{
	return link->remote && !link->remote->sends ? link->remote->counts :
						      link->counts;
}

const struct peal_link_counts *
peali_remote_receiver_counts(const struct peal_link *link)
{
	return link->remote && link->remote->sends ? link->remote->counts :
						     link->counts;
}

static void publish(uint64_t *to, const uint64_t *from)
{
	peal_store_release_sys(to, peal_load_acquire_sys(from));
}

/*
 * Publishes the counters of a receiver. `delivered` is last, so that a reader
 * never sees it ahead of the others.
 */
static void publish_receiver(struct peal_link_counts *to,
			     const struct peal_link_counts *from)
{
	uint32_t i;

	for (i = 0; i < PEAL_REASON_COUNT; i++)
		publish(&to->dead[i], &from->dead[i]);
	publish(&to->delivered_bytes, &from->delivered_bytes);
	publish(&to->switches, &from->switches);
	publish(&to->error, &from->error);
	publish(&to->delivered, &from->delivered);
}

static void publish_sender(struct peal_link_counts *to,
			   const struct peal_link_counts *from)
{
	publish(&to->accepted, &from->accepted);
	publish(&to->accepted_bytes, &from->accepted_bytes);
	publish(&to->seals, &from->seals);
	publish(&to->full, &from->full);
	publish(&to->lost, &from->lost);
	publish(&to->closed, &from->closed);
	publish(&to->ended, &from->ended);
}

void peali_remote_publish(struct peal_link *link)
{
	struct peali_remote_link *remote = link->remote;

	if (!remote || (!remote->staged && !remote->windows))
		return;
	if (!remote->sends)
		publish_receiver(remote->counts, link->counts);
	else if (remote->windows) /* if staged, the stager counts there
				   * itself */
		publish_sender(remote->counts, link->counts);
}

uint64_t peali_remote_taken(const struct peal_link *link)
{
	const struct peali_remote_link *remote = link->remote;

	if (!remote || !remote->windows || !remote->sends ||
	    !peali_remote_error(link))
		return 0;
	return peali_part_word(remote->peer->set, &remote->part);
}

int peali_is_on_gpu(const struct peal_runtime *rt,
		    const struct peali_link_end *end)
{
	return end->kernel &&
	       !peali_backend_is_host(rt->devices.device[end->device].backend);
}

int peali_link_sent_lags(const struct peal_link *link)
{
	if (link->from.kernel)
		return peali_is_on_gpu(link->rt, &link->from);
	return link->remote && link->remote->windows && !link->remote->sends;
}

uint64_t peali_link_holds(const struct peal_link *link)
{
	if (!peali_is_on_gpu(link->rt, &link->to))
		return 0;
	return (uint64_t)link->spec.capacity *
	       (link->path.n_segments + link->old.n_segments);
}

int peali_remote_error(const struct peal_link *link)
{
	return link->remote ? atomic_load_explicit(&link->remote->error,
						   memory_order_acquire) :
			      0;
}

const char *peali_remote_why(const struct peal_link *link, char text[200])
{
	const char *what = "has closed its end of the link";
	struct peali_peer *p = link->remote->peer;
	int error = peali_remote_error(link);

	pthread_mutex_lock(&p->set->lock);
	if (error == PEAL_EABORTED)
		what = "has aborted";
	else if (error == PEAL_EPROTO)
		what = "has found the link damaged";
	if (p->state != PEAL_PROCESS_ALIVE && error != PEAL_EABORTED &&
	    !*link->remote->why)
		peali_text_fit(text, 200, p->why);
	else
		peali_text_format(text, 200, "rank %u (pid %d) %s%s%s", p->rank,
				  p->member.pid, what,
				  *link->remote->why ? ": " : "",
				  link->remote->why);
	pthread_mutex_unlock(&p->set->lock);
	return text;
}

void peali_remote_end(struct peali_remote_link *remote, int error)
{
	struct peal_link *link = remote->link;

	if (atomic_load(&remote->error))
		return;
	atomic_store_explicit(&remote->error, error, memory_order_release);
	/* the watchdog tells kernels: that takes rt->lock before set->lock */
	if (remote->sends && link->from.endpoint) {
		atomic_store(&link->receiver_gone, 1);
		peali_endpoint_wake(link->from.endpoint);
	} else if (!remote->sends && link->to.endpoint) {
		atomic_store(&link->sender_gone, 1);
		peali_endpoint_wake(link->to.endpoint);
	}
}

static void tell(struct peal_link *link, int error, const char *why)
{
	struct peali_record r = peali_record(PEALI_RECORD_CLOSE);
	struct peali_remote_link *remote = link->remote;

	peali_text_fit(r.text, sizeof(r.text), why);
	if (remote->counts && link->counts) /* the peer reads them afterwards */
		peali_remote_publish(link);
	pthread_mutex_lock(&remote->peer->set->lock);
	if (remote->listed && !remote->told) {
		r.number = remote->number;
		r.sender = (uint32_t)remote->sends;
		r.error = error;
		peali_peer_post(remote->peer, &r);
		remote->told = 1;
	}
	pthread_mutex_unlock(&remote->peer->set->lock);
}

void peali_remote_tell(struct peal_link *link, int error)
{
	tell(link, error, "");
}

void peali_remote_tell_why(struct peal_link *link, int error, const char *why)
{
	tell(link, error, why);
}

int peali_remote_blames(const struct peal_link *link)
{
	struct peal_process_group *set = link->remote->peer->set;
	int blames;

	pthread_mutex_lock(&set->lock);
	blames = *link->remote->why != 0;
	pthread_mutex_unlock(&set->lock);
	return blames;
}

/*
 * Tells the peer that this end no longer writes to the peer's window. Frees the
 * link's part of this process's window, or abandons it if the peer may still
 * write there. The caller holds set->lock.
 */
static void leave_windows(struct peali_remote_link *remote)
{
	struct peali_record r = peali_record(PEALI_RECORD_FREED);

	r.number = remote->number;
	r.sender = (uint32_t)remote->sends;
	peali_peer_post(remote->peer, &r);
	if (remote->freed || (!remote->sends && !remote->promised))
		peali_part_give(remote->peer->set, &remote->part);
	else
		peali_part_abandon(remote->peer, remote->number, remote->sends,
				   &remote->part);
}

void peali_remote_free(struct peal_link *link)
{
	struct peali_remote_link *remote = link->remote, **p;

	if (!remote)
		return;
	peali_remote_tell(link, PEAL_ESTOPPED);
	pthread_mutex_lock(&remote->peer->set->lock);
	if (remote->listed) {
		for (p = &remote->peer->links; *p != remote; p = &(*p)->next)
			;
		*p = remote->next;
	}
	if (remote->windows)
		leave_windows(remote);
	pthread_mutex_unlock(&remote->peer->set->lock);
	peali_block_free(link->rt, &remote->header);
	if (remote->base)
		munmap(remote->base, remote->bytes);
	free(remote);
	link->remote = NULL;
}

/* ---- process groups ------------------------------------------------------ */

/* Returns a link of the set, or NULL. The caller holds the runtime's lock. */
static struct peal_link *any_link(const struct peal_process_group *set)
{
	struct peal_link *link;

	for (link = set->rt->links; link; link = link->next)
		if (link->remote && link->remote->peer->set == set)
			return link;
	return NULL;
}

int peali_remote_links_remove(struct peal_process_group *set, const char *call)
{
	struct peal_link *link;
	int result = 0;

	while (!result && (link = any_link(set)))
		result = peali_link_take_down(link, call);
	return result;
}
