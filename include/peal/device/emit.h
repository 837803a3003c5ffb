/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_EMIT_H
#define PEAL_DEVICE_EMIT_H

#include <peal/device/lanes.h>
#include <peal/device/pool.h>

/*
 * How a handler sends. All of it is collective and wait-free. A handler may
 * send as many messages per port as it has declared; for those there is room,
 * as the loop took its message only when there was.
 */

/* A port of the running actor that it has. */
static PEAL_DEV PEAL_INLINE struct peal_output *
peali_output(const struct peal_worker *w, uint32_t port)
{
	return &w->outputs[w->actor->port_base + port];
}

/* A reserve that is not simply the next slot of an open link. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE int
peali_reserve_slow(struct peal_output *output, uint64_t bytes)
{
	if (!output->used)
		return PEAL_ENOTCONN;
	if (output->link.state == PEALI_STATE_TOPIC)
		return peali_publish_reserve(output->topic, bytes);
	if (output->link.state) {
		if (output->link.counts)
			peal_link_drop_closed(&output->link, bytes);
		return PEAL_EPIPE;
	}
	return peali_link_reserve_slow(&output->link, bytes);
}

/* The leader's part of peal_reserve. */
static PEAL_DEV PEAL_INLINE int
peali_reserve(struct peal_worker *w, uint32_t port, uint64_t bytes, void **out)
{
	struct peal_output *output = peali_output(w, port);
	int result;

	if (PEAL_UNLIKELY(port >= w->actor->ports))
		return PEAL_EINVAL;
	if (PEAL_LIKELY(peali_link_takes(&output->link, bytes))) {
		*out = peali_link_payload(&output->link);
		return 0;
	}
	result = peali_reserve_slow(output, bytes);
	if (!result)
		*out = peali_link_reserved(&output->link, bytes);
	return result;
}

/**
 * Collective: makes room for a message and gives the place to write it, in the
 * receiver's memory where that is possible.
 *
 * @param w     the worker
 * @param port  of the running actor
 * @param bytes exact length of the message
 * @param out   `bytes` bytes, aligned to 8, until peal_commit
 * @return 0; PEAL_EPIPE the port's link is closed: the message counts as dead,
 *         do not commit; PEAL_EMSGSIZE longer than the link takes; PEAL_EAGAIN
 *         more messages than the handler declared; PEAL_EINVAL no such port;
 *         PEAL_ENOTCONN no link at the port (a handler runs only when all its
 *         ports have one, so that this is seen by an init or a test only).
 */
static PEAL_DEV PEAL_INLINE int
peal_reserve(struct peal_worker *w, uint32_t port, uint64_t bytes, void **out)
{
	int64_t both = 0; /* an address, which is positive; or an error */
	int result = 0;

	if (peal_is_leader(w))
		result = peali_reserve(w, port, bytes, out);
	if (peal_lanes(w) == 1)
		return result;
	if (peal_is_leader(w))
		both = result ? result : (int64_t)(uintptr_t)*out;
	both = (int64_t)peal_broadcast(w, (uint64_t)both);
	if (both < 0)
		return (int)both;
	*out = (void *)(uintptr_t)both;
	return 0;
}

/* The header of what goes to the actor that the port's link names. */
static PEAL_DEV PEAL_INLINE struct peal_header
peali_header(const struct peal_worker *w, uint32_t port, uint16_t type,
	     uint16_t flags)
{
	struct peal_header header;

	header.actor = peali_output(w, port)->link.actor;
	header.type = type;
	header.flags = flags;
	return header;
}

/* The same at a port that is a topic's; all lanes have written. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_commit_topic(struct peal_worker *w, struct peal_output *output,
		   struct peal_header header, uint64_t bytes)
{
	if (!peal_is_leader(w) || output->link.state != PEALI_STATE_TOPIC)
		return;
	peali_publish_stage(&output->link, output->topic, header, bytes);
	w->state->emitted++;
}

/* Sends what was written to the reserved place. */
static PEAL_DEV PEAL_INLINE void peali_commit(struct peal_worker *w,
					      uint32_t port,
					      struct peal_header header,
					      uint64_t bytes)
{
	struct peal_output *output = peali_output(w, port);
	struct peal_link_producer *p = &output->link;
	uint32_t length = 0, kind = 0;

	peal_sync(w);
	if (PEAL_UNLIKELY(p->state)) {
		peali_commit_topic(w, output, header, bytes);
		return;
	}
	if (peal_is_leader(w))
		kind = peali_link_prepare(p, header, bytes, &length);
	if (peal_lanes(w) > 1 &&
	    peali_policy(p->policy) != PEAL_POLICY_SEQUENCE) {
		uint64_t both =
			peal_broadcast(w, (uint64_t)kind << 32 | length);

		peali_link_publish(p, (uint32_t)(both >> 32), (uint32_t)both,
				   peal_lane(w), peal_lanes(w));
		peal_sync(w);
	} else if (peal_is_leader(w)) {
		peali_link_publish(p, kind, length, 0, 1);
	}
	if (peal_is_leader(w)) {
		peali_link_advance(p, kind, bytes);
		w->state->emitted++;
	}
}

/**
 * Collective: sends what all lanes have written to the reserved place.
 *
 * @param w     the worker
 * @param port  as at the reserve
 * @param type  the program's own number
 * @param bytes as at the reserve
 */
static PEAL_DEV PEAL_INLINE void
peal_commit(struct peal_worker *w, uint32_t port, uint16_t type, uint64_t bytes)
{
	peali_commit(w, port, peali_header(w, port, type, 0), bytes);
}

/**
 * Collective: the same, to any actor of the kernel that the port leads to.
 *
 * @param w     the worker
 * @param port  as at the reserve; one that publishes to a topic or leads to an
 *              endpoint sends there, whatever `actor` is
 * @param actor its number in that kernel, the low half of its address. If
 *              there is none the message is dead there, reason "no-actor". One
 *              of another worker than the link leads to gets it by its mailbox,
 *              see peal_send_to
 * @param type  the program's own number
 * @param bytes as at the reserve
 */
static PEAL_DEV PEAL_INLINE void peal_commit_to(struct peal_worker *w,
						uint32_t port, uint32_t actor,
						uint16_t type, uint64_t bytes)
{
	struct peal_header header = { actor, type, 0 };

	peali_commit(w, port, header, bytes);
}

/**
 * Collective: sends `bytes` bytes at data, which every lane can read.
 *
 * @param w     the worker
 * @param port  of the running actor
 * @param type  the program's own number
 * @param data  the bytes
 * @param bytes how many
 * @return as peal_reserve, but 0 where the link is closed: the message was
 *         counted as dead.
 */
static PEAL_DEV PEAL_INLINE int peal_emit(struct peal_worker *w, uint32_t port,
					  uint16_t type, const void *data,
					  uint64_t bytes)
{
	void *place = 0;
	int result = peal_reserve(w, port, bytes, &place);

	if (PEAL_UNLIKELY(result))
		return result == PEAL_EPIPE ? 0 : result;
	peal_copy_lanes(w, place, data, bytes);
	peal_commit(w, port, type, bytes);
	return 0;
}

/**
 * Collective: sends `bytes` bytes at data, which every lane can read, to any
 * actor of the kernel that the port leads to.
 *
 * @param w     the worker
 * @param port  of the running actor
 * @param actor as peal_commit_to
 * @param type  the program's own number
 * @param data  the bytes
 * @param bytes how many
 * @return as peal_emit.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_emit_to(struct peal_worker *w, uint32_t port, uint32_t actor,
	     uint16_t type, const void *data, uint64_t bytes)
{
	void *place = 0;
	int result = peal_reserve(w, port, bytes, &place);

	if (PEAL_UNLIKELY(result))
		return result == PEAL_EPIPE ? 0 : result;
	peal_copy_lanes(w, place, data, bytes);
	peal_commit_to(w, port, actor, type, bytes);
	return 0;
}

/*
 * Takes a slot that was leased for a message into a worker's mailbox: the number
 * of it, and that it is told. Counted first: nobody shall see it done and not yet
 * told.
 */
static PEAL_DEV PEAL_INLINE uint64_t
peali_mail_ticket(struct peal_worker *w, uint32_t worker,
		  struct peal_mailbox_lease *lease)
{
	lease->granted--;
	peal_store_relaxed_sys(&w->status->told, ++w->state->told);
	return peali_mailbox_ticket(peali_mailbox(w, worker), 1);
}

/* A message into a worker's mailbox, by a slot that was leased. */
static PEAL_DEV PEAL_UNUSED inline int
peali_mail_put(struct peal_worker *w, uint32_t worker,
	       struct peal_mailbox_lease *lease, struct peal_header header,
	       const void *data, uint64_t bytes)
{
	struct peal_mailbox *m = peali_mailbox(w, worker);

	if (PEAL_UNLIKELY(bytes > m->message_bytes))
		return PEAL_EMSGSIZE;
	if (PEAL_UNLIKELY(!lease->granted))
		return PEAL_EAGAIN;
	peali_mailbox_write(m, peali_mail_ticket(w, worker, lease), header,
			    data, bytes);
#if PEAL_ON_HOST
	if (worker != w->index)
		peal_bell_ring((uint64_t)(uintptr_t)peali_bell_of(w, worker));
#endif
	return 0;
}

/*
 * Whether a message may be put into the mailbox of an actor with a limit: 0, and it
 * is counted; 1 it is dead, for that is what becomes of the newest; else an error.
 * `before`: bytes that do not stand in its data yet. Of a deadline there the letter
 * knows nothing; an ask is never dead of it, who asks is told at once.
 */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE int
peali_limit_admit(struct peal_worker *w, uint64_t place, uint32_t before,
		  struct peal_header header, const void *data, uint64_t bytes)
{
	struct peal_limit_record *r =
		peali_limit_record(w, PEAL_PLACE_LIMIT(place) - 1);
	int result;

	if (before + bytes > w->mailbox->message_bytes)
		return PEAL_EMSGSIZE;
	if (!w->state->mail_lease.granted)
		return PEAL_EAGAIN;
	result = peali_limit_enter(w, place, header.actor);
	if (result != PEAL_ENOSPC)
		return result;
	if (peal_load_relaxed_dev_u32(&r->full) == PEAL_FULL_FAIL ||
	    (before && header.flags & PEAL_FLAG_REQUEST)) {
		peal_add_relaxed_dev(&r->refused, 1);
		return PEAL_ENOSPC;
	}
	if (before)
		header.flags &= (uint16_t)~PEAL_FLAG_DEADLINE;
	peali_limit_drop_told(w, header, data, bytes);
	return 1;
}

/* The leader's part of peal_tell to an actor with a limit. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE int
peali_tell_limited(struct peal_worker *w, uint64_t place,
		   struct peal_header header, const void *data, uint64_t bytes)
{
	int result = peali_limit_admit(w, place, 0, header, data, bytes);

	if (result)
		return result > 0 ? 0 : result;
	header.flags |= PEAL_FLAG_COUNTED;
	return peali_mail_put(w, PEAL_PLACE_WORKER(place),
			      &w->state->mail_lease, header, data, bytes);
}

/* The leader's part of peal_tell. */
static PEAL_DEV PEAL_UNUSED inline int
peali_tell(struct peal_worker *w, uint32_t actor, uint16_t type, uint16_t flags,
	   const void *data, uint64_t bytes)
{
	const struct peal_actor_entry *entry =
		(const struct peal_actor_entry *)(uintptr_t)w->params->actors +
		PEAL_ACTOR_INDEX(actor);
	struct peal_header header;
	uint64_t place;
	uint32_t worker;

	if (PEAL_ACTOR_INDEX(actor) >= w->params->max_actors)
		return PEAL_ENOENT;
	place = peal_load_relaxed_dev(&entry->place);
	if (!PEAL_PLACE_IS_OF(place, actor))
		return PEAL_ENOENT;
	worker = PEAL_PLACE_WORKER(place);
	header.actor = actor;
	header.type = type;
	header.flags = flags;
	if (PEAL_USES_POOLS && PEAL_UNLIKELY(worker == PEAL_POOL_WORKER))
		return peali_pool_put(w, PEAL_PLACE_HANDLER(place), header,
				      data, bytes);
	if (!w->params->mailboxes)
		return PEAL_ENOTSUP;
	if (PEAL_UNLIKELY(PEAL_PLACE_LIMIT(place)))
		return peali_tell_limited(w, place, header, data, bytes);
	return peali_mail_put(w, worker, &w->state->mail_lease, header, data,
			      bytes);
}

/**
 * Collective: sends to an actor of the same kernel, whichever worker it
 * belongs to, by its worker's mailbox; or to a pool, one of whose members
 * handles it.
 *
 * @param w     the worker
 * @param actor its number in the kernel, the low half of its address
 * @param type  the program's own number
 * @param data  `bytes` bytes that the leader can read
 * @param bytes at most the kernel's mailbox_message_bytes, or the pool's
 *              message_bytes
 * @return 0, also where the actor's limit has made this message or another one
 *         dead; PEAL_ENOENT no such actor; PEAL_EMSGSIZE; PEAL_EAGAIN more
 *         messages than the handler declared; PEAL_ENOSPC as many wait for the
 *         actor as its limit says (PEAL_FULL_FAIL), and nothing was sent;
 *         PEAL_ENOTSUP it is no pool and the kernel was launched without
 *         mailboxes.
 */
static PEAL_DEV PEAL_UNUSED inline int peal_tell(struct peal_worker *w,
						 uint32_t actor, uint16_t type,
						 const void *data,
						 uint64_t bytes)
{
	int result = 0;

	peal_sync(w);
	if (peal_is_leader(w))
		result = peali_tell(w, actor, type, 0, data, bytes);
	return (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
}

#endif
