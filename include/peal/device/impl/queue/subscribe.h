/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_SUBSCRIBE_H
#define PEAL_DEVICE_SUBSCRIBE_H

#include <peal/device/link_consumer.h>
#include <peal/device/topic_subscriber.h>

/*
 * A worker's input that gets the messages of a topic; see topic.h for the
 * protocol. The link of the input is a placeholder with PEALI_STATE_TOPIC. No
 * tag equals its expected tag. So the loop takes its slow path for topics, and
 * links have no extra cost. The placeholder has the polled slot and the
 * counters. For the leader.
 */

/** A subscription, private to its worker. Its two stages follow. */
struct peal_subscription {
	struct peal_topic_subscriber at;
	struct peal_topic *topic;
	struct peal_topic_counts *counts;
	const uint64_t *bell; /* host only: word with the address of the
			       * publisher's bell; 0: none */
	uint64_t end; /* the topic's `end` at the join */
	uint8_t *payload; /* of the held message: taken, not released */
	struct peal_topic_received got; /* data about the held message */
	uint32_t actor; /* the receiving actor */
	uint32_t lapped; /* 1: the latest look found lost messages */
	uint64_t lost_said; /* lost messages, as last published */
};

PEAL_STATIC_ASSERT(sizeof(struct peal_subscription) % 16 == 0, "stages follow");

/* Makes the link poll the slot of the next message. */
static PEAL_DEV PEAL_INLINE void
peali_subscribe_place(struct peal_link_consumer *link,
		      const struct peal_subscription *s)
{
	link->slot = peali_topic_slot(s->topic, s->at.number);
	link->lap = peali_topic_lap(s->topic, s->at.number);
}

/* Joins the topic, and fills in the input's link as its placeholder. */
static PEAL_DEV PEAL_UNUSED inline int
peali_subscribe_begin(struct peal_link_consumer *link,
		      struct peal_subscription *s,
		      const struct peal_topic_view *view)
{
	struct peal_topic *t = (struct peal_topic *)(uintptr_t)view->topic;
	uint8_t *stage = (uint8_t *)(s + 1);
	int result;

	s->topic = t;
	s->counts = (struct peal_topic_counts *)(uintptr_t)view->counts;
	s->bell = (const uint64_t *)(uintptr_t)view->bells;
	s->payload = stage + PEAL_TOPIC_STAGE(t->slot_bytes);
	s->got.missed = 0;
	s->lapped = 0;
	s->lost_said = 0;
	s->actor = view->actor;
	s->end = peal_load_relaxed_dev(&t->end);
	result = peal_topic_join(t, &s->at, view->cursor, (int)view->oldest,
				 stage);
	if (result)
		return result;
	peal_store_relaxed_sys(&s->counts->first, s->at.number);
	link->head = link->slab_head = link->slab_next = 0;
	link->slab_sent = link->credit_sent = 0;
	link->stop = link->credit_due = ~0ULL >> 1; /* never */
	link->expect = PEALI_EXPECT_NOTHING;
	link->slot_bytes = 0; /* a release does not move the slot */
	link->policy = (uint16_t)t->policy;
	link->state = PEALI_STATE_TOPIC;
	link->sequence_base = link->delivered_base = link->delivered_bytes = 0;
	link->counts = &s->counts->link;
	link->source = 0;
	link->more = 0;
	link->listed = 0;
	peali_subscribe_place(link, s);
	return 0;
}

/* Wakes the publisher. It may wait for this subscriber's position. */
static PEAL_DEV PEAL_INLINE void
peali_subscribe_ring(const struct peal_subscription *s)
{
#if PEAL_ON_HOST
	if (s->bell)
		peal_bell_ring(peal_load_relaxed_sys(s->bell));
#else
	(void)s;
#endif
}

/* Publishes the subscriber's position. */
static PEAL_DEV PEAL_UNUSED inline void
peali_subscribe_flush(struct peal_subscription *s)
{
	if (s->at.told == s->at.number)
		return;
	peal_topic_flush(&s->at);
	peali_subscribe_ring(s);
}

/* Returns 1 if there may be a message to take. It may have been overwritten
 * since. */
static PEAL_DEV PEAL_INLINE int
peali_subscribe_ready(struct peal_link_consumer *link,
		      const struct peal_subscription *s)
{
	return peal_link_ready(link) ||
	       (s->topic->mode == PEAL_TOPIC_OVERWRITE &&
		peal_load_relaxed_dev(&s->topic->tail) != s->at.number);
}

/* Takes the next message into the payload's stage, if there is one. */
static PEAL_DEV PEAL_UNUSED inline void
peali_subscribe_take(struct peal_link_consumer *link,
		     struct peal_subscription *s)
{
	uint64_t told = s->at.told;

	peal_topic_take(s->topic, &s->at, s->payload, s->topic->message_bytes,
			&s->got);
	if (s->at.lost != s->lost_said) {
		s->lost_said = s->at.lost;
		s->lapped = 1;
		peali_store_count(&s->counts->missed, s->at.lost);
	}
	if (s->at.told != told)
		peali_subscribe_ring(s);
	peali_subscribe_place(link, s);
}

/* Returns 1 if a message is held: taken, and not released by the loop. */
static PEAL_DEV PEAL_INLINE int
peali_subscribe_holds(const struct peal_link_consumer *link,
		      const struct peal_subscription *s)
{
	return s->at.taken != peali_link_sequence(link);
}

/*
 * Looks at the next message. Returns 1 with the message in *m, or 0 if there is
 * none. The message is held until the link's release. Its header has the
 * subscriber as the receiving actor.
 */
static PEAL_DEV PEAL_UNUSED inline int
peali_subscribe_peek(struct peal_link_consumer *link,
		     struct peal_subscription *s, struct peal_message *m)
{
	s->lapped = 0;
	if (!peali_subscribe_holds(link, s) && peali_subscribe_ready(link, s))
		peali_subscribe_take(link, s);
	if (!peali_subscribe_holds(link, s))
		return 0;
	m->header.actor = s->actor;
	m->header.type = s->got.type;
	m->header.flags = s->got.flags;
	m->data = s->payload;
	m->length = s->got.length;
	m->sequence = peali_link_sequence(link);
	m->kind = peali_kind(PEAL_KIND_DATA, m->header);
	return 1;
}

/* Ends the input: closes its link and leaves the topic. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_subscribe_end(struct peal_link_consumer *link,
		    struct peal_subscription *s)
{
	peali_consumer_close(link, PEAL_EEND);
	peal_topic_leave(&s->at);
	peali_subscribe_ring(s);
	peali_store_count(&s->counts->ended, 1 + s->at.number);
}

/*
 * There is no message. Closes the input and returns 1 if the topic has ended,
 * else returns 0. `last`: the publisher is gone. A message that it has begun
 * never becomes complete. The input stays open while the latest look has found
 * lost messages, or the next look may find some.
 */
static PEAL_DEV PEAL_INLINE int
peali_subscribe_over(struct peal_link_consumer *link,
		     struct peal_subscription *s, int last)
{
	/* messages below it were published earlier, and were taken */
	uint64_t end = peal_load_relaxed_dev(&s->topic->end);

	if ((!last || s->lapped ||
	     peali_topic_is_past(s->topic, s->at.number)) &&
	    (end == s->end || end != 1 + s->at.number))
		return 0;
	peali_subscribe_end(link, s);
	return 1;
}

#endif
