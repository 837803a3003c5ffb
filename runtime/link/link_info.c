/* SPDX-License-Identifier: Apache-2.0 */
/* Links: reads their counters, and closes them after the end of a kernel. */
#include <string.h>

#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/refusal.h"
#include "runtime/ipc/process_group.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/kernel_control.h"
#include "runtime/link/endpoint.h"
#include "runtime/link/endpoint_ref.h"
#include "runtime/link/inflight.h"
#include "runtime/link/link.h"
#include "runtime/link/remote.h"
#include "runtime/link/stager.h"
#include "runtime/link/topic.h"
#include "runtime/runtime.h"

/* Maximum number of reads until the sender's count must have caught up. */
#define COUNT_LOOKS 100000

/* Another process may have written the word. */
static int error_of(const struct peal_link_counts *c)
{
	uint64_t code = peal_load_relaxed_sys(&c->error);

	return code ? peali_error_received((int)(0 - code)) : 0;
}

/*
 * Reads the counters of both ends so that `queued` is not negative.
 *
 * 1. The sender counts a message as accepted before the message is visible. A
 *    GPU counts later, see `sent_lags`.
 * 2. So this function reads the receiver's counters first, then the sender's.
 * 3. If the receiver's counter is a release, accepted >= done holds.
 * 4. Elsewhere the sender's counter may lag. It is read again until it has
 *    caught up.
 * 5. A device may show it even later. A lag of at most `capacity` messages is
 *    no error: the sender has accepted what the receiver is done with.
 *
 * `taken` is a lower bound of the messages that the receiver is done with. The
 * receiver of a GPU counts late, too. So at most `holds` messages are in the
 * link: its rings have no more slots. 0: unknown. A hand-over raises `holds`, so
 * that bound can fall. `seen` is the number of an earlier report; 0 once the
 * receiver is gone, as its counts are final then.
 *
 * `sent_lags` is 1 if the sender's counters may be old. out->capacity is set.
 */
static void read_counts(const struct peal_link_counts *c,
			const struct peal_link_counts *sent, int sent_lags,
			uint64_t taken, uint64_t holds, uint64_t seen,
			struct peal_link_info *out)
{
	uint64_t accepted, done, gates, i;

	/* before the counts: none may change behind it */
	out->ended = (int)peal_load_acquire_sys(&sent->ended);
	accepted = peal_load_acquire_sys(&sent->accepted);
	out->delivered = peal_load_acquire_sys(&c->delivered);
	done = out->delivered;
	for (i = 0; i < PEAL_REASON_COUNT; i++) {
		out->dead[i] = peal_load_acquire_sys(&c->dead[i]);
		done += out->dead[i];
	}
	out->dead[PEAL_REASON_CLOSED] = peal_load_acquire_sys(&sent->closed);
	gates = peal_load_acquire_sys(&sent->gates);
	taken -= taken < gates ? taken : gates;
	if (taken > accepted) /* credit also counts slots of other marks */
		taken = accepted;
	if (holds && accepted > holds + out->dead[PEAL_REASON_CLOSED] &&
	    taken < accepted - holds - out->dead[PEAL_REASON_CLOSED])
		taken = accepted - holds - out->dead[PEAL_REASON_CLOSED];
	taken = taken < seen ? seen : taken;
	if (taken > done) {
		out->delivered += taken - done;
		done = taken;
	}
	out->undelivered_first = done;
	done += out->dead[PEAL_REASON_CLOSED];
	out->accepted = peal_load_acquire_sys(&sent->accepted);
	if (sent_lags && out->accepted < done)
		out->accepted = done;
	for (i = 0; i < COUNT_LOOKS && out->accepted < done; i++) {
		peal_pause();
		out->accepted = peal_load_acquire_sys(&sent->accepted);
	}
	if (out->accepted < done && done - out->accepted <= out->capacity)
		out->accepted = done;
	out->queued = out->accepted < done ? 0 : out->accepted - done;
	out->accepted_bytes = peal_load_relaxed_sys(&sent->accepted_bytes);
	out->delivered_bytes = peal_load_relaxed_sys(&c->delivered_bytes);
	out->full_count = peal_load_relaxed_sys(&sent->full);
	out->dead_letters_dropped = peal_load_relaxed_sys(&sent->lost);
	out->handovers = peal_load_relaxed_sys(&c->switches);
	out->error = error_of(c);
	if (out->accepted < done) /* another writer has changed the counters */
		out->error = PEAL_EPROTO;
}

/*
 * Returns whether the receiver or the stager has found invalid data in the
 * link.
 */
static int is_broken(const struct peal_link *link)
{
	const struct peal_link_counts *c = peali_remote_receiver_counts(link);

	return peal_load_relaxed_sys(&c->error) ||
	       atomic_load(&link->staged_error);
}

/* Returns whether no receiver will take the queued messages any more. */
static int receiver_is_gone(const struct peal_link *link)
{
	return atomic_load(&link->receiver_gone) || is_broken(link);
}

/* Fills in the fields that a link hand-over changes. Takes path_lock. Returns
 * peali_link_holds. */
static uint64_t describe_path(struct peal_link *link,
			      struct peal_link_info *out)
{
	uint64_t holds;

	pthread_mutex_lock(&link->path_lock);
	holds = peali_link_holds(link);
	out->route = link->path.route;
	memcpy(out->route_reason, link->why, sizeof(out->route_reason));
	out->memory_bytes = peali_link_memory(link);
	out->in_cluster = link->path.segment[0].cluster_place != 0;
	out->staged = atomic_load(&link->staged);
	if (link->path.staged)
		out->staged += peali_stager_carried(link->path.staged);
	if (link->old.staged)
		out->staged += peali_stager_carried(link->old.staged);
	pthread_mutex_unlock(&link->path_lock);
	return holds;
}

/* Notes that a report has `done` messages as delivered or dead. It used `holds`. If
 * a hand-over has changed that number since, the report may have too many. */
static void note_seen(struct peal_link *link, uint64_t holds, uint64_t done)
{
	uint64_t seen = atomic_load(&link->done_seen);
	int changed;

	pthread_mutex_lock(&link->path_lock);
	changed = peali_link_holds(link) != holds;
	pthread_mutex_unlock(&link->path_lock);
	while (!changed && seen < done &&
	       !atomic_compare_exchange_weak(&link->done_seen, &seen, done))
		;
}

int peal_link_info(struct peal_link *link, struct peal_link_info *info_out)
{
	uint64_t holds;
	int gone;

	if (!link || !info_out)
		return peali_refuse_null("peal_link_info", "link or info_out");
	if (peali_foreign(&link->rt->owner, "peal_link_info"))
		return PEAL_EFORKED;
	memset(info_out, 0, sizeof(*info_out));
	info_out->id = link->id;
	info_out->from = link->from.address;
	info_out->to = link->to.address;
	info_out->from_port = link->from_port;
	info_out->capacity = link->spec.capacity;
	info_out->slot_bytes = link->spec.slot_bytes;
	info_out->policy = link->spec.policy;
	info_out->message_bytes = link->spec.message_bytes;
	info_out->slab_bytes = link->spec.slab_bytes;
	info_out->priority = link->priority;
	holds = describe_path(link, info_out);
	gone = receiver_is_gone(link);
	read_counts(peali_remote_receiver_counts(link),
		    peali_remote_sender_counts(link),
		    peali_link_sent_lags(link), peali_remote_taken(link), holds,
		    gone ? 0 : atomic_load(&link->done_seen), info_out);
	if (!info_out->error)
		note_seen(link, holds, info_out->undelivered_first);
	if (!info_out->error)
		info_out->error = atomic_load(&link->staged_error);
	if (gone) {
		uint32_t reason = info_out->error ? PEAL_REASON_PROTOCOL :
						    PEAL_REASON_STOPPED;

		info_out->undelivered = info_out->queued;
		info_out->dead[reason] += info_out->queued;
		info_out->queued = 0;
	}
	if (!info_out->error)
		info_out->error = peali_remote_error(link);
	return 0;
}

int peal_link_list(struct peal_runtime *rt, struct peal_link **links_out,
		   uint32_t n)
{
	struct peal_link *link;
	uint32_t there = 0, i = 0;

	if (!rt || (n && !links_out))
		return peali_refuse_null("peal_link_list",
					 "runtime or links_out");
	if (peali_foreign(&rt->owner, "peal_link_list"))
		return PEAL_EFORKED;
	pthread_mutex_lock(&rt->lock);
	for (link = rt->links; link; link = link->next)
		there++;
	for (link = rt->links; link; link = link->next, i++)
		if (there - 1 - i < n)
			links_out[there - 1 - i] = link;
	pthread_mutex_unlock(&rt->lock);
	return (int)there;
}

/* ---- closing ------------------------------------------------------------- */

/*
 * Closes the link for its sender: the receiver's kernel has ended, or the link
 * is broken. Returns 0, or an error if the sender could not be told yet.
 */
static int tell_sender(struct peal_link *link)
{
	int result;

	if (atomic_load(&link->receiver_gone))
		return 0;
	if (peali_link_end_is_remote(&link->from)) {
		peali_remote_tell(link, is_broken(link) ? PEAL_EPROTO :
							  PEAL_ESTOPPED);
		atomic_store(&link->receiver_gone, 1);
		return 0;
	}
	if (link->from.endpoint) {
		atomic_store(&link->receiver_gone, 1);
		peali_endpoint_wake(link->from.endpoint);
		return 0;
	}
	/* the link stays, and the sender counts emitted messages as dead */
	result = peali_link_end_post(
		&link->from, PEAL_CONTROL_CLOSE_PORT,
		peali_link_sender_view(link, &link->path).counts);
	if (result)
		return result;
	atomic_store(&link->receiver_gone, 1);
	return 0;
}

/* Returns whether the stager has carried all messages of that path. */
static int carried(struct peal_link *link, const struct peali_route_path *path)
{
	return !path->staged || peali_stager_empty(link->rt, path->staged);
}

/*
 * Ends the receiver's input: the sender's kernel has ended. The receiver first
 * takes all queued messages. Returns 0, or an error if the receiver could not
 * be told yet.
 */
static int tell_receiver(struct peal_link *link)
{
	int result;

	if (atomic_load(&link->sender_gone))
		return 0;
	if ((peali_link_end_is_live(&link->to) || link->to.endpoint ||
	     peali_link_end_is_remote(&link->to)) &&
	    (!carried(link, &link->old) || !carried(link, &link->path)))
		return PEAL_EAGAIN; /* the stager has messages left */
	if (peali_link_end_is_remote(&link->to))
		peali_remote_tell(link, PEAL_ESTOPPED);
	if (peali_link_end_is_live(&link->to)) {
		result = peali_link_end_post(&link->to, PEAL_CONTROL_END_INPUT,
					     0);
		if (result)
			return result;
	}
	atomic_store(&link->sender_gone, 1);
	if (link->to.endpoint)
		peali_endpoint_wake(link->to.endpoint);
	return 0;
}

void peali_links_reap(struct peal_kernel *k)
{
	struct peal_link *link;
	int left = 0, result = 0;

	if (atomic_load(&k->reaped))
		return;
	peali_inflight_note_crash(k);
	for (link = k->rt->links; link; link = link->next) {
		if (link->to.kernel == k)
			left |= tell_sender(link);
		if (link->from.kernel == k && !link->counts->ended)
			left |= tell_receiver(link);
	}
	left |= peali_topics_reap(k);
	if (left)
		return;
	atomic_store(&k->reaped, 1);
	peali_log(2, "kernel '%s' has ended: %s", k->name,
		  peali_kernel_drained(k) ? "drained" :
		  peali_kernel_state(k, &result) == PEAL_KERNEL_FAILED ?
					    peal_error_text(result) :
					    "stopped");
}

void peali_links_close_broken(struct peal_runtime *rt)
{
	struct peal_link *link;

	for (link = rt->links; link; link = link->next) {
		if (link->remote && link->remote->windows)
			peali_remote_publish(link);
		if (is_broken(link))
			tell_sender(link);
		if (!peali_remote_error(link))
			continue;
		if (peali_remote_sends(link))
			tell_sender(link);
		else if (!peal_load_relaxed_sys(&link->remote->counts->ended))
			tell_receiver(link);
	}
}
