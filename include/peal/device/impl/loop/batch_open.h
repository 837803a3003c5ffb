/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_BATCH_OPEN_H
#define PEAL_DEVICE_BATCH_OPEN_H

#include <peal/device/impl/queue/batch_slot.h>
#include <peal/device/impl/worker/admit_message.h>
#include <peal/device/impl/worker/batch_lanes.h>
#include <peal/device/message.h>

/*
 * How a worker extends the message that it has chosen to a batch. The lanes read
 * the slots behind this message, a lane per slot. The batch ends before the first
 * message that needs its own turn:
 *
 * - a mark, a message in a slab, or a message with a flag in its header,
 * - a message of another length than the handler takes,
 * - a message for another handler, or for no actor of this worker,
 * - a message for which a port of its actor lacks free slots,
 * - a second message for an actor, unless the handler is shared.
 *
 * A message from a mailbox, pool, topic or hook is a batch of one message. So is
 * a message for an actor with a port that publishes, is closed, or has a slab.
 */

/** What a lane knows of a batch. The header batch.h has its functions. */
struct peal_batch {
	struct peali_batch_slot at; /* its message */
	struct peal_actor_entry *actor; /* that handles its message */
	uint32_t number; /* of this actor */
	uint16_t type; /* of its message */
	uint16_t has; /* 1: the lane has a message */
	uint32_t n; /* messages of the batch: the first n lanes have them */
	uint32_t of_port; /* messages of the batch for actors with its ports */
};

/* Makes a batch of w->message, which lane 0 has. */
static PEAL_DEV PEAL_INLINE void peali_batch_one(const struct peal_worker *w,
						 struct peal_batch *b)
{
	b->at.data = (const uint8_t *)peal_data(w);
	b->at.slot = 0;
	b->at.policy = PEAL_POLICY_SEQUENCE;
	b->at.length = (uint32_t)peal_length(w);
	b->actor = w->actor;
	b->number = w->message.header.actor;
	b->type = w->message.header.type;
	b->has = (uint16_t)peal_is_leader(w);
	b->n = b->of_port = 1;
}

/* Returns the most messages that a batch with w->message may have. High sources
 * have turns of an exact number of messages. For the leader. */
static PEAL_DEV PEAL_INLINE uint32_t
peali_batch_limit(const struct peal_worker *w)
{
	uint32_t most = peali_batch_lanes(w);

	if ((PEALI_HAS_OTHER_SOURCES && w->state->source.current) ||
	    w->message.kind != PEAL_KIND_DATA || w->message.header.flags ||
	    w->inputs[w->message.input].link.state)
		return 1;
	if (PEAL_UNLIKELY(peali_prioritized(w)) &&
	    w->state->source.burst_left < most)
		return w->state->source.burst_left + 1;
	return most;
}

/* Returns the number of an actor's handler. */
static PEAL_DEV PEAL_INLINE uint32_t
peali_batch_handler(const struct peal_actor_entry *actor)
{
	return PEAL_ENTRY_HANDLER(peali_entry_location(actor)) &
	       PEAL_HANDLER_MASK;
}

/* Returns 1 if the ports of an actor have free slots for n of its messages. */
static PEAL_DEV PEAL_INLINE int
peali_batch_fits(const struct peal_worker *w,
		 const struct peal_actor_entry *actor, uint32_t n)
{
	uint32_t port;

	for (port = 0; port < actor->ports; port++)
		if (!peali_link_fits_slots(
			    &w->outputs[actor->port_base + port].link,
			    (uint64_t)actor->emits * n))
			return 0;
	return 1;
}

/* Reads the message of the calling lane. Returns 1 if it may be in the batch. */
static PEAL_DEV PEAL_INLINE int peali_batch_read(const struct peal_worker *w,
						 struct peal_batch *b,
						 uint32_t most, uint32_t bytes)
{
	uint32_t lane = peal_lane(w);

	if (lane >= most ||
	    !peali_batch_look(&w->inputs[w->message.input].link, lane, &b->at))
		return 0;
	b->number = b->at.word[0];
	b->type = (uint16_t)b->at.word[1];
	b->actor = peali_actor(w, b->number);
	return b->actor && (!bytes || b->at.length == bytes) &&
	       peali_batch_handler(b->actor) == peali_batch_handler(w->actor);
}

/* Makes a batch of at most `most` messages. Returns 0 if it found none. Actors
 * may share their ports. */
static PEAL_DEV PEAL_INLINE int peali_batch_find(const struct peal_worker *w,
						 struct peal_batch *b,
						 uint32_t most, uint32_t bytes,
						 int shared)
{
	const uint32_t lane = peal_lane(w), other = 0x80000000u | lane;
	int may = peali_batch_read(w, b, most, bytes);
	uint32_t ports, before;

	if (!shared)
		before = peali_batch_below(
			w,
			peali_batch_match(w, may ? PEAL_ACTOR_INDEX(b->number) :
						   other));
	else
		before = 0;
	ports = peali_batch_match(w, may ? b->actor->port_base : other);
	may = may && !before &&
	      peali_batch_fits(
		      w, b->actor,
		      1 + peali_batch_size(peali_batch_below(w, ports)));
	b->n = peali_batch_prefix(peali_batch_ballot(w, may));
	b->has = lane < b->n;
	b->of_port = peali_batch_size(b->n < 32 ? ports & ((1u << b->n) - 1) :
						  ports);
	return b->n != 0;
}

/*
 * Makes the batch that begins with w->message. Collective.
 *
 * `bytes` is the length that the handler takes; 0: any. If it is not `shared`,
 * the batch has one message for each of its actors. Returns 0 if the handler
 * does not take the message.
 */
static PEAL_DEV PEAL_INLINE int peali_batch_open(const struct peal_worker *w,
						 struct peal_batch *b,
						 uint32_t bytes, int shared)
{
	uint32_t most = 1;

	if (peal_lanes(w) > 1) {
		if (peal_is_leader(w))
			most = peali_batch_limit(w);
		most = peali_batch_first(w, most);
	}
	if (most > 1 &&
	    PEAL_LIKELY(peali_batch_find(w, b, most, bytes, shared)))
		return 1;
	peali_batch_one(w, b);
	return peali_takes(w, bytes);
}

#endif
