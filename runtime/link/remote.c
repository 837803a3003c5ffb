/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Far links: links with one end in another process. This file has the views of
 * the local end, the counters that both processes share, and the shutdown.
 */
#include "runtime/link/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "queues/ring.h"
#include "runtime/device/memory_block.h"
#include "runtime/ipc/process.h"
#include "runtime/link/endpoint.h"
#include "runtime/link/link.h"

int peali_far_direct(const struct peal_link *link)
{
	return link->far && !link->far->staged;
}

int peali_far_staged(const struct peal_link *link)
{
	return link->far && link->far->staged;
}

int peali_far_sends(const struct peal_link *link)
{
	return link->far && link->far->sends;
}

void peali_far_view(const struct peal_link *link, struct peal_link_view *out)
{
	const struct peali_far *far = link->far;

	if (far->windows) { /* out->counts stays the link's own */
		out->ring = far->ring_at;
		out->credit = far->credit_at;
		return;
	}
	out->ring = (uint64_t)(uintptr_t)far->ring;
	out->credit = (uint64_t)(uintptr_t)far->credit;
	out->counts = (uint64_t)(uintptr_t)far->counts;
}

uint64_t peali_far_stage_bytes(const struct peal_link *link)
{
	return peali_ring_stage_bytes(&link->far->spec);
}

uint64_t peali_far_memory(const struct peal_link *link)
{
	return link->far ? link->far->bytes + link->far->part.bytes +
				   link->far->header.bytes :
			   0;
}

const struct peal_link_counts *
peali_far_sender_counts(const struct peal_link *link)
{
	return link->far && !link->far->sends ? link->far->counts :
						link->counts;
}

const struct peal_link_counts *
peali_far_receiver_counts(const struct peal_link *link)
{
	return link->far && link->far->sends ? link->far->counts : link->counts;
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

void peali_far_publish(struct peal_link *link)
{
	struct peali_far *far = link->far;

	if (!far || (!far->staged && !far->windows))
		return;
	if (!far->sends)
		publish_receiver(far->counts, link->counts);
	else if (far->windows) /* if staged, the stager counts there itself */
		publish_sender(far->counts, link->counts);
}

uint64_t peali_far_taken(const struct peal_link *link)
{
	const struct peali_far *far = link->far;

	if (!far || !far->windows || !far->sends || !peali_far_error(link))
		return 0;
	return peali_part_word(far->peer->set, &far->part);
}

int peali_far_lags(const struct peal_link *link)
{
	return link->far && link->far->windows && !link->far->sends;
}

int peali_far_error(const struct peal_link *link)
{
	return link->far ? atomic_load_explicit(&link->far->error,
						memory_order_acquire) :
			   0;
}

const char *peali_far_why(const struct peal_link *link, char text[200])
{
	const char *what = "has closed its end of the link";
	struct peali_peer *p = link->far->peer;
	int error = peali_far_error(link);

	pthread_mutex_lock(&p->set->lock);
	if (error == PEAL_EABORTED)
		what = "has left in the middle";
	else if (error == PEAL_EPROTO)
		what = "has found the link broken";
	if (p->state != PEAL_PROCESS_HERE && error != PEAL_EABORTED &&
	    !*link->far->why)
		snprintf(text, 200, "%s", p->why);
	else
		snprintf(text, 200, "rank %u (pid %d) %s%s%s", p->rank,
			 p->member.pid, what, *link->far->why ? ": " : "",
			 link->far->why);
	pthread_mutex_unlock(&p->set->lock);
	return text;
}

void peali_far_end(struct peali_far *far, int error)
{
	struct peal_link *link = far->link;

	if (atomic_load(&far->error))
		return;
	atomic_store_explicit(&far->error, error, memory_order_release);
	/* the watchdog tells kernels: that takes rt->lock before set->lock */
	if (far->sends && link->from.endpoint) {
		atomic_store(&link->receiver_gone, 1);
		peali_endpoint_wake(link->from.endpoint);
	} else if (!far->sends && link->to.endpoint) {
		atomic_store(&link->sender_gone, 1);
		peali_endpoint_wake(link->to.endpoint);
	}
}

static void tell(struct peal_link *link, int error, const char *why)
{
	struct peali_record r = peali_record(PEALI_RECORD_CLOSE);
	struct peali_far *far = link->far;

	snprintf(r.text, sizeof(r.text), "%s", why);
	if (far->counts && link->counts) /* the peer reads them afterwards */
		peali_far_publish(link);
	pthread_mutex_lock(&far->peer->set->lock);
	if (far->listed && !far->told) {
		r.number = far->number;
		r.sender = (uint32_t)far->sends;
		r.error = error;
		peali_peer_post(far->peer, &r);
		far->told = 1;
	}
	pthread_mutex_unlock(&far->peer->set->lock);
}

void peali_far_tell(struct peal_link *link, int error)
{
	tell(link, error, "");
}

void peali_far_tell_why(struct peal_link *link, int error, const char *why)
{
	tell(link, error, why);
}

int peali_far_blames(const struct peal_link *link)
{
	struct peal_processes *set = link->far->peer->set;
	int blames;

	pthread_mutex_lock(&set->lock);
	blames = *link->far->why != 0;
	pthread_mutex_unlock(&set->lock);
	return blames;
}

/*
 * Tells the peer that this end no longer writes to the peer's window. Frees the
 * link's part of this process's window, or abandons it if the peer may still
 * write there. The caller holds set->lock.
 */
static void leave_windows(struct peali_far *far)
{
	struct peali_record r = peali_record(PEALI_RECORD_FREED);

	r.number = far->number;
	r.sender = (uint32_t)far->sends;
	peali_peer_post(far->peer, &r);
	if (far->freed || (!far->sends && !far->promised))
		peali_part_give(far->peer->set, &far->part);
	else
		peali_part_abandon(far->peer, far->number, far->sends,
				   &far->part);
}

void peali_far_free(struct peal_link *link)
{
	struct peali_far *far = link->far, **p;

	if (!far)
		return;
	peali_far_tell(link, PEAL_ESTOPPED);
	pthread_mutex_lock(&far->peer->set->lock);
	if (far->listed) {
		for (p = &far->peer->links; *p != far; p = &(*p)->next)
			;
		*p = far->next;
	}
	if (far->windows)
		leave_windows(far);
	pthread_mutex_unlock(&far->peer->set->lock);
	peali_area_free(link->rt, &far->header);
	if (far->base)
		munmap(far->base, far->bytes);
	free(far);
	link->far = NULL;
}

/* ---- process groups ------------------------------------------------------ */

/* Returns a link of the set, or NULL. The caller holds the runtime's lock. */
static struct peal_link *any_link(const struct peal_processes *set)
{
	struct peal_link *link;

	for (link = set->rt->links; link; link = link->next)
		if (link->far && link->far->peer->set == set)
			return link;
	return NULL;
}

int peali_far_remove_links(struct peal_processes *set, const char *call)
{
	struct peal_link *link;
	int result = 0;

	while (!result && (link = any_link(set)))
		result = peali_link_take_down(link, call);
	return result;
}
