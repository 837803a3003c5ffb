/* SPDX-License-Identifier: Apache-2.0 */
/* Counts and samples the messages of links. See link_counters.h. */
#include "runtime/link/link_counters.h"

#include "runtime/kernel/counters.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/link_counts.h"
#include "runtime/link/endpoint.h"
#include "runtime/link/endpoint_ref.h"
#include "runtime/link/link.h"
#include "runtime/link/remote.h"

/* Returns the messages in a link. A receiver on a GPU counts late, so its rings
 * are the limit. */
static uint64_t queued_in(const struct peal_link *link)
{
	uint64_t queued =
		peali_counts_queued(peali_remote_sender_counts(link),
				    peali_remote_receiver_counts(link));
	uint64_t most = peali_link_holds(link);

	return most && queued > most ? most : queued;
}

uint64_t peali_endpoint_queued(const struct peal_endpoint *e)
{
	const struct peal_link *link;
	uint64_t n = 0;

	for (link = e->rt->links; link; link = link->next)
		if (link->to.endpoint == e)
			n += queued_in(link);
	return n;
}

void peali_links_sample(struct peal_runtime *rt, uint64_t now)
{
	struct peal_link *link;

	for (link = rt->links; link; link = link->next) {
		uint64_t queued = queued_in(link);
		uint64_t since = link->residence.at_ns;

		link->residence.at_ns = now;
		if (since)
			atomic_fetch_add(&link->residence.ns,
					 queued * (now - since));
	}
}

/* Returns the entry of a kernel's device; NULL: of the host. */
static struct peali_kept *entry_of(const struct peali_counters *m,
				   struct peali_kept *kept,
				   const struct peal_kernel *k)
{
	return &kept[k ? k->device : m->n_devices];
}

void peali_kept_add_link(const struct peali_counters *m, struct peali_kept *to,
			 const struct peal_link *link)
{
	const struct peal_link_counts *in = peali_remote_receiver_counts(link);
	const struct peal_link_counts *out = peali_remote_sender_counts(link);
	struct peali_kept *receiver = entry_of(m, to, link->to.kernel);
	struct peali_kept *sender = entry_of(m, to, link->from.kernel);
	uint64_t done = peali_counts_done(in);

	/*
	 * The receiver is read first, so that received never exceeds sent. A GPU
	 * counts sent messages late: the receiver's count is a lower bound. The
	 * counts of an end in another process belong to that process.
	 */
	if (!peali_link_end_is_remote(&link->to)) {
		receiver->received.messages +=
			peal_load_acquire_sys(&in->delivered);
		receiver->received.bytes +=
			peal_load_acquire_sys(&in->delivered_bytes);
	}
	if (!peali_link_end_is_remote(&link->from)) {
		uint64_t sent = peal_load_acquire_sys(&out->accepted);

		if (peali_link_sent_lags(link) && sent < done)
			sent = done;
		sender->sent.messages += sent;
		sender->sent.bytes +=
			peal_load_acquire_sys(&out->accepted_bytes);
	}
}

void peali_link_keep(const struct peal_link *link)
{
	peali_kept_add_link(link->rt->counters, link->rt->counters->kept, link);
}
