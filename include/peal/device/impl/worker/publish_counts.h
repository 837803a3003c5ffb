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
 * GPU each such store would cross PCIe. So a GPU worker remembers the ends with
 * new counts, and publishes them:
 *
 * - when it is idle, suspended or ended, and before it reports a failure,
 * - at each look at the control words, after at most 96 messages or batches,
 * - after a message, if the last time was PEALI_UNTOLD_CYCLES ago,
 * - when it forgets an end for another one.
 *
 * It publishes the counts of its ports before those of its inputs. A function
 * that forwards messages publishes its counts at once. A port may count less than
 * its receiver: see runtime/link/link_info.c.
 */

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

/* Publishes the counts of the remembered ports, and forgets them. */
PEALI_SLOW(void, peali_publish_ports, struct peal_worker *w)
{
	uint32_t i;

	for (i = 0; i < PEALI_UNTOLD; i++) {
		if (w->sent_by[i])
			peali_link_tell_sent(&w->sent_by[i]->link);
		w->sent_by[i] = 0;
	}
}

PEALI_SLOW(void, peali_publish_links, struct peal_worker *w)
{
	uint32_t i;

	w->told_at = peali_cycles();
	if (!w->untold)
		return;
	w->untold = 0;
	peali_publish_ports(w);
	for (i = 0; i < PEALI_UNTOLD; i++) {
		if (w->got_by[i])
			peali_link_tell_received(&w->got_by[i]->link);
		w->got_by[i] = 0;
	}
}

/* About 100 us. */
#define PEALI_UNTOLD_CYCLES (1u << 17)

static PEAL_DEV PEAL_INLINE void peali_publish_in_time(struct peal_worker *w)
{
	if (PEAL_UNLIKELY(peali_cycles() - w->told_at > PEALI_UNTOLD_CYCLES))
		peali_publish_links(w);
}

/* Publishes the counts of the port at a place. Then remembers another port
 * there. */
PEALI_SLOW(void, peali_port_remember, struct peal_worker *w,
	   struct peal_output **place, struct peal_output *o)
{
	w->untold = 1;
	if (*place)
		peali_link_tell_sent(&(*place)->link);
	*place = o;
}

/* As peali_port_remember, for an input. */
PEALI_SLOW(void, peali_input_remember, struct peal_worker *w,
	   struct peal_input **place, struct peal_input *in)
{
	w->untold = 1;
	if (*place) {
		peali_publish_ports(w);
		peali_link_tell_received(&(*place)->link);
	}
	*place = in;
}

static PEAL_DEV PEAL_INLINE void
peali_port_count(struct peal_worker *w, struct peal_output *o, uint64_t bytes)
{
	struct peal_output **place =
		&w->sent_by[((uintptr_t)o / sizeof(*o)) % PEALI_UNTOLD];

	o->link.accepted++;
	o->link.accepted_bytes += bytes;
	if (PEAL_UNLIKELY(*place != o))
		peali_port_remember(w, place, o);
}

static PEAL_DEV PEAL_INLINE void peali_input_release(struct peal_worker *w,
						     struct peal_input *in)
{
	struct peal_link_consumer *c = &in->link;
	struct peal_input **place =
		&w->got_by[((uintptr_t)in / sizeof(*in)) % PEALI_UNTOLD];

	peali_link_got(c, &w->message);
	if (PEAL_UNLIKELY(*place != in))
		peali_input_remember(w, place, in);
	peali_link_step(c);
}

#endif

/* ---- the message being handled ------------------------------------------- */

/* Publishes the message being handled: PEAL_INFLIGHT, or 0 for none. */
static PEAL_DEV PEAL_INLINE void peali_publish_inflight(struct peal_worker *w,
							uint64_t inflight)
{
	if (PEAL_UNLIKELY(inflight != w->state->published.inflight)) {
		w->state->published.inflight = inflight;
		w->state->published.input = ~0u;
		peal_store_relaxed_sys(&w->status->inflight, inflight);
	}
}

/* Publishes w->message as being handled, if it differs from the last one by its
 * header or its input. */
static PEAL_DEV PEAL_INLINE void peali_publish_message(struct peal_worker *w)
{
	struct peal_worker_state *s = w->state;
	uint64_t header = peali_header_load(&w->message.header);

	if (PEAL_LIKELY(header == s->published.header) &&
	    PEAL_LIKELY(w->message.input == s->published.input))
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
	peal_store_relaxed_sys(&w->status->handled,
			       w->state->count.handled - w->state->hook.inits -
				       w->state->hook.exits);
	peal_store_relaxed_sys(&w->status->emitted, w->state->count.emitted);
	peal_store_relaxed_sys(&w->status->mailbox_dead,
			       w->state->count.mailbox_dead);
	peali_store_count(&w->status->mailbox_done,
			  w->state->count.mailbox_done);
	peali_publish_inflight(w, 0);
}

#endif
