/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_PUBLISH_H
#define PEAL_DEVICE_PUBLISH_H

#include <peal/device/link_producer.h>
#include <peal/device/topic.h>

/*
 * A worker's port that publishes to a topic; see topic.h for the protocol. The
 * link of the port is a placeholder with PEALI_STATE_TOPIC. It never has a free
 * slot. So emit.h takes its slow path for topics, and links have no extra cost.
 * A handler writes to a stage, and the commit publishes the stage. For the
 * leader.
 */

/** A publishing port, private to its worker. Its stage follows. */
struct peal_publication {
	struct peal_topic_publisher at;
	struct peal_topic *topic;
	struct peal_topic_published *counts;
	const uint64_t *bells; /* host only: see peal_topic_view; 0: none */
	uint64_t bytes; /* all published bytes */
	uint64_t reserved[2];
};

PEAL_STATIC_ASSERT(sizeof(struct peal_publication) == 64, "a stage follows");

/* Connects a port to a topic: fills in the link and the publication. */
static PEAL_DEV PEAL_UNUSED inline void
peali_publish_begin(struct peal_link_producer *link, struct peal_publication *p,
		    const struct peal_topic_view *view)
{
	p->topic = (struct peal_topic *)(uintptr_t)view->topic;
	p->counts = (struct peal_topic_published *)(uintptr_t)view->counts;
	p->bells = (const uint64_t *)(uintptr_t)view->bells;
	p->bytes = peal_load_relaxed_sys(&p->counts->bytes);
	peal_topic_publisher_init(p->topic, &p->at);
	peal_store_relaxed_sys(&p->counts->ended, 0);
	/* no free slots, no slab; payloads are in the stage */
	link->tail = link->limit = 0;
	link->slab_bytes = 0;
	link->fits_slot = 0;
	link->policy = PEAL_POLICY_ATOM16;
	link->stage = (uint8_t *)(p + 1);
	link->message_bytes = p->topic->message_bytes;
	link->payload_max = p->topic->message_bytes;
	link->counts = 0;
	link->listed = 0;
	link->state = PEALI_STATE_TOPIC;
}

/* Returns how many times n messages fit now. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE uint64_t
peali_publish_fits(struct peal_publication *p, uint32_t n)
{
	if (p->topic->mode != PEAL_TOPIC_WAIT)
		return peal_topic_capacity(p->topic);
	if (p->at.limit - p->at.tail < n)
		peali_topic_look(p->topic, &p->at);
	return (p->at.limit - p->at.tail) / n;
}

/* Returns 0 if a message fits now, or PEAL_EMSGSIZE, or PEAL_EAGAIN. */
static PEAL_DEV PEAL_UNUSED inline int
peali_publish_reserve(struct peal_publication *p, uint64_t bytes)
{
	if (bytes > p->topic->message_bytes)
		return PEAL_EMSGSIZE;
	return peali_publish_fits(p, 1) ? 0 : PEAL_EAGAIN;
}

/* Wakes sleeping subscribers. */
static PEAL_DEV PEAL_INLINE void
peali_publish_ring(const struct peal_publication *p)
{
#if PEAL_ON_HOST
	uint32_t i;

	for (i = 0; p->bells && i < p->topic->n_cursors; i++)
		peal_bell_ring(peal_load_relaxed_sys(&p->bells[1 + i]));
#else
	(void)p;
#endif
}

/* Publishes the port's stage. The topic has a free slot. */
static PEAL_DEV PEAL_UNUSED inline void
peali_publish_stage(struct peal_link_producer *link, struct peal_publication *p,
		    struct peal_header header, uint64_t bytes)
{
	header.actor = 0;
	p->bytes += bytes;
	peal_store_relaxed_sys(&p->counts->bytes, p->bytes);
	/* first, so that a taken message always counts as published */
	peal_store_relaxed_sys(&p->counts->messages, p->at.tail + 1);
	peal_topic_publish(p->topic, &p->at, header, peali_link_payload(link),
			   bytes);
	peali_publish_ring(p);
}

/* Publishes the end of the stream and closes the port. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_publish_end(struct peal_link_producer *link, struct peal_publication *p)
{
	peal_store_relaxed_dev(&p->topic->end, 1 + p->at.tail);
	peal_store_relaxed_sys(&p->counts->ended, 1);
	peali_producer_close(link, PEAL_EPIPE);
	peali_publish_ring(p);
}

#endif
