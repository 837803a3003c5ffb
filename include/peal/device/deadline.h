/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_DEADLINE_H
#define PEAL_DEVICE_DEADLINE_H

#include <peal/device/clock.h>
#include <peal/device/request.h>

/*
 * Messages with a deadline (peal/deadline.h). It is a time of the host's clock,
 * which travels in front of the payload: no route, worker or device that it
 * passes converts it. Who hands a message on hands its deadline on as well:
 *
 *	static PEAL_DEV int stage(struct peal_worker *w)
 *	{
 *		uint64_t deadline = peal_deadline_in_hand(w);
 *		...
 *		return peal_emit_before(w, 0, deadline, peal_type(w), &out,
 *					sizeof(out));
 *	}
 *
 * peal_delegate (request.h) and peal_delegate_by keep it by themselves. The
 * link, mailbox, pool or topic that it goes by has to take PEAL_DEADLINE_BYTES
 * more than the payload.
 */

/**
 * The deadline of the message in hand.
 *
 * @param w the worker
 * @return in ns of the host's clock; 0: it has none
 */
static PEAL_DEV PEAL_INLINE uint64_t
peal_deadline_in_hand(const struct peal_worker *w)
{
	return peali_message_deadline(&w->message);
}

/**
 * When so long will have passed, at least: by the upper bound of the host's
 * clock (peal_common_ns).
 *
 * @param w           the worker
 * @param lifetime_ns 0 or less: the message is dead when it arrives
 * @return a deadline, never 0; PEAL_DEADLINE_NEVER also if the host's clock is
 *         not known. Any lane; what the leader gets is what is sent.
 */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peal_deadline_after(const struct peal_worker *w, int64_t lifetime_ns)
{
	uint64_t low = 0, high = PEAL_DEADLINE_NEVER;

	peali_clock_bounds(w, &low, &high);
	return peali_deadline_at(high, lifetime_ns);
}

/* ---- by ports ------------------------------------------------------------ */

/* Sends a message with what stands before its payload: that header's. */
static PEAL_DEV PEAL_UNUSED inline int
peali_emit_before(struct peal_worker *w, uint32_t port, uint64_t deadline,
		  struct peal_header header, const void *data, uint64_t bytes)
{
	void *place = 0;
	int result = peal_reserve(w, port, PEAL_DEADLINE_BYTES + bytes, &place);

	if (PEAL_UNLIKELY(result))
		return result == PEAL_EPIPE ? 0 : result;
	if (peal_is_leader(w))
		*(uint64_t *)place = deadline;
	peal_copy_lanes(w, (uint8_t *)place + PEAL_DEADLINE_BYTES, data, bytes);
	header.flags |= PEAL_FLAG_DEADLINE;
	peali_commit(w, port, header, PEAL_DEADLINE_BYTES + bytes);
	return 0;
}

/**
 * Collective: peal_emit of a message with a deadline.
 *
 * @param w        the worker
 * @param port     of the running actor; its link or topic takes
 *                 PEAL_DEADLINE_BYTES more
 * @param deadline of peal_deadline_after or peal_deadline_in_hand; 0: none. In
 *                 no lane 0 or in all
 * @param type     the program's own number
 * @param data     `bytes` bytes that every lane can read
 * @param bytes    how many
 * @return as peal_emit.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_emit_before(struct peal_worker *w, uint32_t port, uint64_t deadline,
		 uint16_t type, const void *data, uint64_t bytes)
{
	if (!deadline)
		return peal_emit(w, port, type, data, bytes);
	if (port >= w->actor->ports)
		return PEAL_EINVAL;
	return peali_emit_before(w, port, deadline,
				 peali_header(w, port, type, 0), data, bytes);
}

/**
 * Collective: peal_emit_to of a message with a deadline.
 *
 * @param w        the worker
 * @param port     as peal_emit_before
 * @param actor    as peal_commit_to
 * @param deadline as peal_emit_before
 * @param type     the program's own number
 * @param data     `bytes` bytes that every lane can read
 * @param bytes    how many
 * @return as peal_emit.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_emit_to_before(struct peal_worker *w, uint32_t port, uint32_t actor,
		    uint64_t deadline, uint16_t type, const void *data,
		    uint64_t bytes)
{
	struct peal_header header = { actor, type, 0 };

	if (!deadline)
		return peal_emit_to(w, port, actor, type, data, bytes);
	return peali_emit_before(w, port, deadline, header, data, bytes);
}

/**
 * Collective: emits the message in hand as it is, with its deadline and, if it
 * is a request, with its number: who gets it replies to it.
 *
 * @param w    the worker
 * @param port of the running actor; its link takes as much as that which has
 *             brought the message
 * @return as peal_emit; PEAL_EINVAL it is a request, and the port is a topic's.
 */
static PEAL_DEV PEAL_UNUSED inline int peal_delegate_by(struct peal_worker *w,
							uint32_t port)
{
	uint16_t flags = w->message.header.flags;
	uint64_t bytes = w->message.length;
	void *place = 0;
	int result;

	if (port >= w->actor->ports)
		return PEAL_EINVAL;
	if (flags & (PEAL_FLAG_REQUEST | PEAL_FLAG_DEAD_LETTER) &&
	    peali_output(w, port)->link.state == PEALI_STATE_TOPIC)
		return PEAL_EINVAL;
	result = peal_reserve(w, port, bytes, &place);
	if (PEAL_UNLIKELY(result))
		return result == PEAL_EPIPE ? 0 : result;
	peal_copy_lanes(w, place, w->message.data, bytes);
	peali_commit(w, port, peali_header(w, port, peal_type(w), flags),
		     bytes);
	return 0;
}

/* ---- by mailboxes and pools ---------------------------------------------- */

/* Writes a message and its deadline to a slot and publishes it: what mailboxes
 * and work queues do with one that has none. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_slot_put_before(uint32_t policy, uint8_t *slot, uint32_t slot_bytes,
		      uint32_t lap, struct peal_header header,
		      uint64_t deadline, const void *data, uint32_t bytes)
{
	const uint32_t before = sizeof(header) + sizeof(deadline);
	uint32_t each = peali_atom_payload(policy), length = before + bytes;
	uint32_t i, k;

	if (policy == PEAL_POLICY_SEQUENCE) {
		peal_header_store(slot + 8, header);
		peal_copy(slot + 16, &deadline, sizeof(deadline));
		peal_copy(slot + 24, data, bytes);
		peal_slot_publish(slot, lap, PEAL_KIND_DATA, length);
		return;
	}
	if (lap % PEAL_SLOT_REFRESH_LAPS == 0)
		peal_slot_refresh(policy, slot, slot_bytes, lap, length, 0, 1);
	for (i = 0; i * each < length; i++) {
		uint32_t word[3] = { 0, 0, 0 };

		for (k = 0; k < each / 4; k++) {
			uint32_t at = i * each + 4 * k;

			/* the header's place is the deadline's 8 bytes on */
			word[k] =
				at < sizeof(header) ?
					peali_pack_word(
						peali_header_word(header),
						(const uint8_t *)data, bytes,
						at) :
					peali_pack_word(
						deadline, (const uint8_t *)data,
						bytes,
						at - (uint32_t)sizeof(header));
		}
		peali_atom_write(policy, slot, i,
				 peali_atom_tag(each, lap, PEAL_KIND_DATA, i,
						length),
				 (const uint8_t *)word, each);
	}
}

/* Into a pool; it is counted as told. */
static PEAL_DEV PEAL_UNUSED inline int
peali_pool_put_before(struct peal_worker *w, uint32_t pool,
		      struct peal_header header, uint64_t deadline,
		      const void *data, uint64_t bytes)
{
	struct peal_pool_place *p = &w->pools[pool];
	struct peal_work *q;
	uint64_t number = 0;
	int result;

	if (pool >= peali_pools(w) || !p->set)
		return PEAL_ENOENT;
	q = peali_pool_shard(p, w->index);
	if (PEAL_DEADLINE_BYTES + bytes > q->message_bytes)
		return PEAL_EMSGSIZE;
	result = peal_work_take_tickets(q, &p->producer, 1, &number);
	if (result)
		return result;
	peali_slot_put_before(peali_policy(q->policy),
			      peali_work_slot(q, number), q->slot_bytes,
			      peali_work_lap(q, number), header, deadline, data,
			      (uint32_t)bytes);
	peali_pool_wake(w, p);
	return 0;
}

/* Into a worker's mailbox; it is counted as told. */
static PEAL_DEV PEAL_UNUSED inline int
peali_mailbox_put_before(struct peal_worker *w, uint32_t worker,
			 struct peal_header header, uint64_t deadline,
			 const void *data, uint64_t bytes)
{
	struct peal_mailbox *m = peali_mailbox(w, worker);
	uint64_t number;

	if (PEAL_DEADLINE_BYTES + bytes > m->message_bytes)
		return PEAL_EMSGSIZE;
	if (!w->state->mail_lease.granted)
		return PEAL_EAGAIN;
	number = peali_mail_ticket(w, worker, &w->state->mail_lease);
	peali_slot_put_before(peali_policy(m->policy),
			      peali_mailbox_slot(m, number), m->slot_bytes,
			      peali_mailbox_lap(m, number), header, deadline,
			      data, (uint32_t)bytes);
#if PEAL_ON_HOST
	peal_bell_ring((uint64_t)(uintptr_t)peali_bell_of(w, worker));
#endif
	return 0;
}

/* The leader's part of peal_tell_before. */
static PEAL_DEV PEAL_UNUSED inline int
peali_tell_before(struct peal_worker *w, uint64_t deadline,
		  struct peal_header header, const void *data, uint64_t bytes)
{
	const struct peal_actor_entry *entry =
		(const struct peal_actor_entry *)(uintptr_t)w->params->actors +
		PEAL_ACTOR_INDEX(header.actor);
	uint64_t place;
	int result;

	if (PEAL_ACTOR_INDEX(header.actor) >= w->params->max_actors)
		return PEAL_ENOENT;
	place = peal_load_relaxed_dev(&entry->place);
	if (!PEAL_PLACE_IS_OF(place, header.actor))
		return PEAL_ENOENT;
	header.flags |= PEAL_FLAG_DEADLINE;
	if (!PEAL_USES_POOLS || PEAL_PLACE_WORKER(place) != PEAL_POOL_WORKER)
		return w->params->mailboxes ?
			       peali_mailbox_put_before(
				       w, PEAL_PLACE_WORKER(place), header,
				       deadline, data, bytes) :
			       PEAL_ENOTSUP;
	/* counted first: nobody shall see it done and not yet told */
	peal_store_relaxed_sys(&w->status->told, w->state->told + 1);
	result = peali_pool_put_before(w, PEAL_PLACE_HANDLER(place), header,
				       deadline, data, bytes);
	if (PEAL_UNLIKELY(result))
		peal_store_relaxed_sys(&w->status->told, w->state->told);
	else
		w->state->told++;
	return result;
}

/**
 * Collective: peal_tell of a message with a deadline. It also expires while it
 * waits in the mailbox or the pool.
 *
 * @param w        the worker
 * @param actor    its number in the kernel, the low half of its address
 * @param deadline as peal_emit_before
 * @param type     the program's own number
 * @param data     `bytes` bytes that the leader can read
 * @param bytes    at most what peal_tell takes less PEAL_DEADLINE_BYTES
 * @return as peal_tell.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_tell_before(struct peal_worker *w, uint32_t actor, uint64_t deadline,
		 uint16_t type, const void *data, uint64_t bytes)
{
	struct peal_header header = { actor, type, 0 };
	int result = 0;

	if (!deadline)
		return peal_tell(w, actor, type, data, bytes);
	peal_sync(w);
	if (peal_is_leader(w))
		result = peali_tell_before(w, deadline, header, data, bytes);
	return (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
}

#endif
