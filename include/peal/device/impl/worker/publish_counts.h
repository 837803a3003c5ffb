/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_PUBLISH_COUNTS_H
#define PEAL_DEVICE_PUBLISH_COUNTS_H

#include <peal/device/impl/queue/link_write.h>
#include <peal/device/link_consumer.h>
#include <peal/device/impl/worker/worker.h>

/*
 * What a worker tells the host: its counters, the counts of its links, and the
 * message being handled. For the leader.
 *
 * On the host a worker publishes the counts of a link with each message. On a
 * GPU each such store would cross PCIe. So a GPU worker lists the ends with new
 * counts, and publishes them:
 *
 * - when it is idle, suspended or ended, and before it reports a failure,
 * - at each look at the control words, after at most 96 messages or batches,
 * - after a message, if the last time was PEALI_UNTOLD_CYCLES ago; then with the
 *   number of handled messages,
 * - when a list is full.
 *
 * It publishes the counts of its ports before those of its inputs. A function
 * that forwards messages publishes its counts at once. A port may count less than
 * its receiver: see runtime/link/link_info.c.
 */

/* ---- handled messages ---------------------------------------------------- */

/* Publishes how many messages the worker has handled. */
static PEAL_DEV PEAL_INLINE void peali_publish_handled(struct peal_worker *w)
{
	peal_store_relaxed_sys(&w->status->handled,
			       w->state->count.handled - w->state->hook.inits -
				       w->state->hook.exits);
}

/* ---- links --------------------------------------------------------------- */

#if PEAL_ON_HOST

/* Counts a message of a port as accepted. */
static PEAL_INLINE void peali_port_count(struct peal_worker *w,
					 struct peal_output *o, uint64_t bytes)
{
	(void)w;
	peali_link_count(&o->link, 1, bytes);
}

/* Takes the peeked message off its input and counts it as delivered. */
static PEAL_INLINE void peali_input_release(struct peal_worker *w,
					    struct peal_input *in)
{
	peal_link_release(&in->link, &w->message);
}

/* Publishes the counts of all links that the host does not have. */
static PEAL_INLINE void peali_publish_links(struct peal_worker *w)
{
	(void)w;
}

/* peali_publish_links if the last time was too long ago. */
static PEAL_INLINE void peali_publish_in_time(struct peal_worker *w)
{
	(void)w;
}

#else

/* Publishes the counts of the listed ports, and empties their list. */
PEALI_SLOW(void, peali_publish_ports, struct peal_worker *w)
{
	uint32_t i;

	for (i = 0; i < w->n_sent_by; i++) {
		peali_link_tell_sent(&w->sent_by[i]->link);
		w->sent_by[i]->link.listed = 0;
	}
	w->n_sent_by = 0;
}

PEALI_SLOW(void, peali_publish_links, struct peal_worker *w)
{
	uint32_t i;

	w->told_at = peali_cycles();
	if (!(w->n_sent_by | w->n_got_by))
		return;
	peali_publish_ports(w);
	for (i = 0; i < w->n_got_by; i++) {
		peali_link_tell_received(&w->got_by[i]->link, 0);
		w->got_by[i]->link.listed = 0;
	}
	w->n_got_by = 0;
}

/* About 100 us. */
#define PEALI_UNTOLD_CYCLES (1u << 17)

static PEAL_DEV PEAL_INLINE void peali_publish_in_time(struct peal_worker *w)
{
	if (PEAL_LIKELY(peali_cycles() - w->told_at <= PEALI_UNTOLD_CYCLES))
		return;
	peali_publish_links(w);
	peali_publish_handled(w); /* shows that its mailbox moves */
}

/* Lists a port with new counts. If the list is full, publishes its ports. */
PEALI_SLOW(void, peali_port_list, struct peal_worker *w, struct peal_output *o)
{
	if (w->n_sent_by == PEALI_UNTOLD)
		peali_publish_ports(w);
	w->sent_by[w->n_sent_by++] = o;
	o->link.listed = 1;
}

/* As peali_port_list, for an input. */
PEALI_SLOW(void, peali_input_list, struct peal_worker *w, struct peal_input *in)
{
	if (w->n_got_by == PEALI_UNTOLD)
		peali_publish_links(w);
	w->got_by[w->n_got_by++] = in;
	in->link.listed = 1;
}

static PEAL_DEV PEAL_INLINE void
peali_port_count(struct peal_worker *w, struct peal_output *o, uint64_t bytes)
{
	o->link.accepted_bytes += bytes;
	if (PEAL_UNLIKELY(!o->link.listed))
		peali_port_list(w, o);
}

static PEAL_DEV PEAL_INLINE void peali_input_release(struct peal_worker *w,
						     struct peal_input *in)
{
	in->link.delivered_bytes += w->message.length;
	if (PEAL_UNLIKELY(!in->link.listed))
		peali_input_list(w, in);
	peali_link_step(&in->link, 1);
}

#endif

/* ---- the message being handled ------------------------------------------- */

/* No word of a header: no message has all flags. */
#define PEALI_NO_HEADER (~0ULL)

/* Publishes the message being handled: PEAL_INFLIGHT, or 0 for none. */
static PEAL_DEV PEAL_INLINE void peali_publish_inflight(struct peal_worker *w,
							uint64_t inflight)
{
	if (PEAL_UNLIKELY(inflight != w->state->published.inflight)) {
		w->state->published.inflight = inflight;
		w->state->published.header = PEALI_NO_HEADER;
		peal_store_relaxed_sys(&w->status->inflight, inflight);
	}
}

/* Notes the source of the next message, its `input`. The messages of one burst
 * have one source, so they need no call. */
static PEAL_DEV PEAL_INLINE void peali_inflight_source(struct peal_worker *w,
						       uint32_t input)
{
	if (input != w->state->published.input)
		w->state->published.header = PEALI_NO_HEADER;
}

/* Publishes w->message as being handled, if it differs from the last one by its
 * header or its source. */
static PEAL_DEV PEAL_INLINE void peali_publish_message(struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	uint64_t header = peali_header_load(&w->message.header);

	if (PEAL_LIKELY(header == s->published.header))
		return;
	peali_publish_inflight(w, PEAL_INFLIGHT(w->message.header.actor,
						w->message.header.type,
						w->message.input));
	s->published.header = header;
	s->published.input = w->message.input;
}

/* ---- counters ------------------------------------------------------------ */

/* Publishes the counters, and that no handler runs. */
static PEAL_DEV PEAL_UNUSED inline void
peali_publish_counters(struct peal_worker *w)
{
	peali_publish_links(w);
	peali_publish_handled(w);
	peal_store_relaxed_sys(&w->status->emitted, w->state->count.emitted);
	peal_store_relaxed_sys(&w->status->mailbox_dead,
			       w->state->count.mailbox_dead);
	peali_store_count(&w->status->mailbox_done,
			  w->state->count.mailbox_done);
	peali_publish_inflight(w, 0);
}

#endif
