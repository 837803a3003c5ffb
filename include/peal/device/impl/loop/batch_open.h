/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_BATCH_OPEN_H
#define PEAL_DEVICE_BATCH_OPEN_H

#include <peal/device/impl/loop/priority_scheduler.h>
#include <peal/device/impl/queue/batch_slot.h>
#include <peal/device/impl/worker/admit_message.h>
#include <peal/device/impl/worker/batch_lanes.h>
#include <peal/device/message.h>

/*
 * How a worker extends the message that it has chosen to a batch. The message is
 * of a link or a mailbox. The lanes read the slots behind this message, a lane
 * per slot. The batch ends before the first message that needs its own turn:
 *
 * - a mark, a message in a slab, or a message with a flag in its header,
 * - a message of another length than the handler takes,
 * - a message for another handler, or for no actor of this worker,
 * - a message for which a port of its actor lacks free slots,
 * - a message for which the mailboxes or pools lack free slots,
 * - a second message for an actor, unless the handler is shared.
 *
 * A message from a pool, topic or hook, or to all actors, is a batch of one
 * message. So is a message for an actor with a port that publishes, is closed,
 * or has a slab.
 */

/** What a lane knows of a batch. The header batch.h has its functions. */
struct peal_batch {
	struct peali_batch_slot at; /* its message */
	struct peal_actor_entry *actor; /* that handles its message */
	uint32_t number; /* of this actor */
	uint16_t type; /* of its message */
	uint16_t has; /* 1: the lane has a message */
	uint32_t mail; /* not 0: they are of a mailbox */
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
	b->mail = 0;
}

/* Values of source.current of a message in a link and in a mailbox. */
#define PEALI_FROM_LINK 0
#define PEALI_FROM_MAILBOX 1

/* Returns the source of w->message, for the leader. */
static PEAL_DEV PEAL_INLINE uint32_t
peali_batch_source(const struct peal_worker *w)
{
	return PEALI_HAS_OTHER_SOURCES ? w->state->source.current :
					 PEALI_FROM_LINK;
}

/* Returns the messages that the present turn of w->message's source still has, 1
 * or more. High sources have turns of an exact number of messages. */
static PEAL_DEV PEAL_INLINE uint32_t
peali_batch_turn(const struct peal_worker *w, uint32_t source)
{
	int64_t left;

	if (PEAL_LIKELY(!peali_prioritized(w)))
		return PEAL_BATCH_MOST;
	if (source == PEALI_FROM_LINK)
		return w->state->source.burst_left + 1;
	left = peali_priority_left(w->state);
	return peali_order_is_priority(w->state) && left > 1 ? (uint32_t)left :
							       1;
}

/*
 * Returns for how many messages, at most `most`, the actor of w->message may
 * tell. There are slots for the first one. Leases more slots if they are free.
 */
PEALI_SLOW(uint32_t, peali_batch_tells_fit, struct peal_worker *w,
	   uint32_t source, uint32_t most)
{
	uint32_t tells = w->actor->tells, i;
	uint64_t keep, slots;

	for (i = 0; i < peali_pools(w); i++)
		while (most > 1 && w->pools[i].set &&
		       !peali_pool_fits(&w->pools[i], tells * most))
			most /= 2;
	if (!peali_has_mail(w))
		return most;
	if (source == PEALI_FROM_LINK &&
	    peali_is_fwd_link(&w->inputs[w->message.input]))
		return 1;
	keep = source == PEALI_FROM_LINK ? peali_admission(w)->keep : 0;
	slots = peal_admission_extend(peali_admission(w), &w->state->mail.lease,
				      keep + (uint64_t)tells * most);
	slots = slots > keep ? (slots - keep) / tells : 0;
	return slots < most ? (uint32_t)slots + !slots : most;
}

/* Returns the most messages that a batch with w->message may have, for the
 * leader. */
static PEAL_DEV PEAL_INLINE uint32_t peali_batch_limit(struct peal_worker *w,
						       uint32_t source)
{
	uint32_t most;

	if (source >
		    (PEALI_USES(MAIL) ? PEALI_FROM_MAILBOX : PEALI_FROM_LINK) ||
	    w->message.kind != PEAL_KIND_DATA || w->message.header.flags ||
	    (source == PEALI_FROM_LINK &&
	     w->inputs[w->message.input].link.state))
		return 1;
	most = peali_min_u32(peali_batch_lanes(w), peali_batch_turn(w, source));
	if (w->actor->tells && most > 1)
		most = peali_batch_tells_fit(w, source, most);
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

/* What the leader tells the lanes of a batch: the most messages, and these. */
#define PEALI_BATCH_MAIL 0x100u /* it is of a mailbox */
#define PEALI_BATCH_HIGH 0x200u /* it is of the mailbox of high priority */

/* Returns that word for a batch with w->message, for the leader. */
static PEAL_DEV PEAL_INLINE uint32_t peali_batch_plan(struct peal_worker *w)
{
	uint32_t source = peali_batch_source(w);
	uint32_t plan = peali_batch_limit(w, source);

	if (!PEALI_USES(MAIL) || source != PEALI_FROM_MAILBOX)
		return plan;
	return plan | PEALI_BATCH_MAIL |
	       (peali_box_is_high(w) ? PEALI_BATCH_HIGH : 0);
}

/* Reads the slot of the calling lane. Returns 1 if it has a message. */
static PEAL_DEV PEAL_INLINE int
peali_batch_read_slot(const struct peal_worker *w, struct peali_batch_slot *at,
		      uint32_t plan)
{
	uint32_t lane = peal_lane(w);

	if (lane >= (plan & 0xff))
		return 0;
	if (!PEALI_USES(MAIL) || !(plan & PEALI_BATCH_MAIL))
		return peali_batch_look(&w->inputs[w->message.input].link, lane,
					at);
	return peali_batch_look_mail(plan & PEALI_BATCH_HIGH ?
					     peali_priority_mailbox(w) :
					     peali_own_mailbox(w),
				     lane, at);
}

/* Reads the message of the calling lane. Returns 1 if it may be in the batch. */
static PEAL_DEV PEAL_INLINE int peali_batch_member(const struct peal_worker *w,
						   struct peal_batch *b,
						   uint32_t plan,
						   uint32_t bytes)
{
	if (!peali_batch_read_slot(w, &b->at, plan))
		return 0;
	b->number = b->at.word[0];
	b->type = (uint16_t)b->at.word[1];
	b->actor = peali_actor(w, b->number);
	return b->actor && (!bytes || b->at.length == bytes) &&
	       peali_batch_handler(b->actor) == peali_batch_handler(w->actor);
}

/* Makes a batch by a plan. Returns 0 if it found no message. Actors may share
 * their ports. */
static PEAL_DEV PEAL_INLINE int peali_batch_find(const struct peal_worker *w,
						 struct peal_batch *b,
						 uint32_t plan, uint32_t bytes,
						 int shared)
{
	const uint32_t lane = peal_lane(w), other = 0x80000000u | lane;
	int may = peali_batch_member(w, b, plan, bytes);
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
	b->mail = plan & PEALI_BATCH_MAIL;
	return b->n != 0;
}

/*
 * Makes the batch that begins with w->message. Collective.
 *
 * `bytes` is the length that the handler takes; 0: any. If it is not `shared`,
 * the batch has one message for each of its actors. Returns 0 if the handler
 * does not take the message.
 */
static PEAL_DEV PEAL_INLINE int peali_batch_open(struct peal_worker *w,
						 struct peal_batch *b,
						 uint32_t bytes, int shared)
{
	uint32_t plan = 1;

	if (peal_lanes(w) > 1) {
		if (peal_is_leader(w))
			plan = peali_batch_plan(w);
		plan = peali_batch_first(w, plan);
	}
	if ((plan & 0xff) > 1 &&
	    PEAL_LIKELY(peali_batch_find(w, b, plan, bytes, shared)))
		return 1;
	peali_batch_one(w, b);
	return peali_takes(w, bytes);
}

#endif
