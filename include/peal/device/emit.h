/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_EMIT_H
#define PEAL_DEVICE_EMIT_H

#include <peal/device/lanes.h>
#include <peal/device/impl/worker/pool.h>
#include <peal/device/impl/worker/send_limits.h>
#include <peal/device/impl/worker/send_options.h>

/*
 * How a handler sends messages by its ports. tell.h sends by addresses.
 *
 * peal_emit copies a message and sends it. To build a large message in place,
 * call peal_reserve, write by all lanes, then call peal_commit.
 *
 * A handler may send as many messages per port as it has declared. The worker
 * runs the handler only if all its ports have free slots for so many. A call
 * for a further message returns PEAL_EAGAIN and sends nothing. On a GPU this is
 * certain in a source compiled with PEAL_CHECK_LIMITS=1. Else the call succeeds
 * there while slots are free.
 *
 * All calls are wait-free and collective: every lane of the worker calls them.
 * All lanes pass equal arguments, in `data` also equal bytes. Each lane may
 * pass its own copy of the data, with the same alignment. The lanes share the
 * copying, and each lane reads its part from its own copy.
 */

/* Returns the output of a port that the running actor has. */
static PEAL_DEV PEAL_INLINE struct peal_output *
peali_output(const struct peal_worker *w, uint32_t port)
{
	return &w->outputs[w->actor->port_base + port];
}

/* Reserves if the next slot of an open link does not suffice. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE int
peali_reserve_slow(struct peal_output *output, uint64_t bytes)
{
	if (!output->used)
		return PEAL_ENOTCONN;
	if (peali_is_topic(output->link.state))
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
	if (PEAL_UNLIKELY(!peali_may_emit(w, port)))
		return PEAL_EAGAIN;
	if (PEAL_LIKELY(peali_link_takes(&output->link, bytes))) {
		*out = peali_link_payload(&output->link);
		return 0;
	}
	result = peali_reserve_slow(output, bytes);
	if (!result)
		*out = peali_link_reserved(&output->link, bytes);
	else if (result == PEAL_EPIPE)
		peali_emits(w, port); /* sent, and dead at once */
	return result;
}

/**
 * Reserves the memory for one message, to write the message in place.
 *
 * The memory is in the receiver's memory if possible. After the return 0 all
 * lanes write the message, then call peal_commit. A second reserve without a
 * commit replaces the first one. Collective, wait-free.
 *
 * @param w     the worker.
 * @param port  port of the running actor.
 * @param bytes exact length of the message.
 * @param out   each lane's own: receives the address of `bytes` bytes, aligned
 *              to 8, equal in all lanes. Valid until peal_commit.
 * @return 0, or a negative error code. After an error do not commit:
 * @retval PEAL_EPIPE    the port's link is closed. The message counts as dead.
 * @retval PEAL_EMSGSIZE the message is longer than the link or topic takes.
 * @retval PEAL_EAGAIN   more messages than the handler has declared.
 * @retval PEAL_EINVAL   there is no such port.
 * @retval PEAL_ENOTCONN the port has no link. Only an init or a test gets this:
 *                       other handlers run only if all their ports have one.
 */
static PEAL_DEV PEAL_INLINE int
peal_reserve(struct peal_worker *w, uint32_t port, uint64_t bytes, void **out)
{
	int64_t both = 0; /* a positive address, or a negative error */
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

/* Returns the header of a message to the actor that the port's link names. */
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

/* Sends the message that all lanes have written, if the port publishes to a
 * topic. */
PEALI_SLOW(void, peali_commit_topic, struct peal_worker *w,
	   struct peal_output *output, struct peal_header header,
	   uint64_t bytes)
{
	if (!peal_is_leader(w) || !peali_is_topic(output->link.state))
		return;
	peali_publish_stage(&output->link, output->topic, header, bytes);
	w->state->count.emitted++;
}

/* Sends the message in the reserved memory. */
static PEAL_DEV PEAL_INLINE void peali_commit(struct peal_worker *w,
					      uint32_t port,
					      struct peal_header header,
					      uint64_t bytes)
{
	struct peal_output *output = peali_output(w, port);
	struct peal_link_producer *p = &output->link;
	uint32_t length = 0, kind = 0;

	peal_sync(w);
	if (peal_is_leader(w))
		peali_emits(w, port);
	if (PEAL_UNLIKELY(p->state)) {
		peali_commit_topic(w, output, header, bytes);
		return;
	}
	if (peal_is_leader(w)) {
		peali_port_count(w, output, bytes);
		kind = peali_link_prepare(p, header, bytes, &length);
	}
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
		w->state->count.emitted++;
	}
}

/**
 * Sends the message that all lanes have written into the reserved memory.
 *
 * Call it after peal_reserve has returned 0 for the port. Collective,
 * wait-free.
 *
 * @param w     the worker.
 * @param port  the port of peal_reserve.
 * @param type  the program's own number.
 * @param bytes the length given to peal_reserve.
 */
static PEAL_DEV PEAL_INLINE void
peal_commit(struct peal_worker *w, uint32_t port, uint16_t type, uint64_t bytes)
{
	peali_commit(w, port, peali_header(w, port, type, 0), bytes);
}

/**
 * Sends the message in the reserved memory to any actor of the kernel that the
 * port leads to.
 *
 * The link leads to one worker. An actor of another worker gets the message by
 * its mailbox (see peal_send_to). If there is no such actor, the message is
 * dead at the receiver, with reason "no-actor". Collective, wait-free.
 *
 * @param w     the worker.
 * @param port  the port of peal_reserve. If it publishes to a topic or leads to
 *              an endpoint, `actor` has no effect.
 * @param actor number of the actor in that kernel, the low half of its address.
 * @param type  the program's own number.
 * @param bytes the length given to peal_reserve.
 */
static PEAL_DEV PEAL_INLINE void peal_commit_to(struct peal_worker *w,
						uint32_t port, uint32_t actor,
						uint16_t type, uint64_t bytes)
{
	struct peal_header header = { actor, type, 0 };

	peali_commit(w, port, header, bytes);
}

/*
 * Writes a message into the atoms of its slot. Returns 0: it has done nothing,
 * as the message needs a reserve. The lanes read the data before the return, so
 * the caller may reuse it. Collective.
 */
static PEAL_DEV PEAL_INLINE int peali_emit_atoms(struct peal_worker *w,
						 uint32_t port,
						 struct peal_header header,
						 struct peali_content c)
{
	struct peal_output *output = peali_output(w, port);
	struct peal_link_producer *p = &output->link;
	uint64_t bytes = c.head - sizeof(header) + c.bytes;
	int writes;

	if (peali_policy(p->policy) == PEAL_POLICY_SEQUENCE)
		return 0;
	peal_sync(w); /* all lanes see the state after the last emit */
	writes = peali_may_emit(w, port) && peali_link_writes(p, bytes);
	if (PEAL_LIKELY(writes)) {
		if (peal_is_leader(w))
			peali_port_count(w, output, bytes);
		peali_link_write(p, peali_kind(PEAL_KIND_DATA, header), c,
				 peal_lane(w), peal_lanes(w));
	}
	peal_sync(w);
	if (PEAL_LIKELY(writes) && peal_is_leader(w)) {
		peali_emits(w, port);
		peali_link_advance(p, PEAL_KIND_DATA, bytes);
		w->state->count.emitted++;
	}
	return writes;
}

/* Sends a message by a reserve and a commit. Returns as peal_reserve, but
 * `closed` instead of PEAL_EPIPE. */
static PEAL_DEV PEAL_UNUSED PEAL_GPU_NOINLINE int
peali_emit_reserved(struct peal_worker *w, uint32_t port,
		    struct peal_header header, uint32_t prefix, uint64_t first,
		    const void *data, uint64_t bytes, int closed)
{
	void *place = 0;
	int result = peal_reserve(w, port, prefix + bytes, &place);

	if (PEAL_UNLIKELY(result))
		return result == PEAL_EPIPE ? closed : result;
	if (prefix && peal_is_leader(w))
		*(uint64_t *)place = first;
	peal_copy_lanes(w, (uint8_t *)place + prefix, data, bytes);
	peali_commit(w, port, header, prefix + bytes);
	return 0;
}

/* Sends a message by a port that the actor has. Returns as peali_emit_reserved. */
static PEAL_DEV PEAL_INLINE int peali_emit_content(struct peal_worker *w,
						   uint32_t port,
						   struct peal_header header,
						   struct peali_content c,
						   int closed)
{
	if (PEAL_LIKELY(peali_emit_atoms(w, port, header, c)))
		return 0;
	return peali_emit_reserved(w, port, header,
				   c.head - (uint32_t)sizeof(header), c.first,
				   c.data, c.bytes, closed);
}

/* peal_emit with the whole header. */
static PEAL_DEV PEAL_INLINE int peali_emit(struct peal_worker *w, uint32_t port,
					   struct peal_header header,
					   const void *data, uint64_t bytes,
					   const struct peal_send_options *o)
{
	struct peali_content c = peali_content_of(header, data, bytes);

	if (o) {
		if (!peali_send_supports(o, PEALI_SEND_DEADLINE))
			return PEAL_EINVAL;
		if (o->deadline) {
			header.flags |= PEAL_FLAG_DEADLINE;
			c = peali_content_word(header, o->deadline, data,
					       bytes);
		}
	}
	return peali_emit_content(w, port, header, c, 0);
}

/**
 * Sends a message by a port.
 *
 * The caller may reuse `data` after the return. Collective, wait-free.
 *
 * @param w       the worker.
 * @param port    port of the running actor.
 * @param type    the program's own number.
 * @param data    `bytes` bytes, equal in all lanes; copied.
 * @param bytes   length of the payload.
 * @param options deadline, for which the link or topic must take
 *                PEAL_DEADLINE_BYTES more. Equal fields in all lanes. 0: none.
 * @return 0, also if the link is closed: the message then counts as dead. Or a
 *         negative error code:
 * @retval PEAL_EMSGSIZE the message is longer than the link or topic takes.
 * @retval PEAL_EAGAIN   more messages than the handler has declared.
 * @retval PEAL_EINVAL   there is no such port, or another option is set.
 * @retval PEAL_ENOTCONN the port has no link. Only an init or a test gets this.
 */
static PEAL_DEV PEAL_INLINE int
peal_emit(struct peal_worker *w, uint32_t port, uint16_t type, const void *data,
	  uint64_t bytes, const struct peal_send_options *options)
{
	if (PEAL_UNLIKELY(port >= w->actor->ports))
		return PEAL_EINVAL;
	return peali_emit(w, port, peali_header(w, port, type, 0), data, bytes,
			  options);
}

/**
 * Sends a message by a port, to any actor of the kernel that the port leads to.
 *
 * The message reaches the actor as described for peal_commit_to. Collective,
 * wait-free.
 *
 * @param w       the worker.
 * @param port    port of the running actor.
 * @param actor   as for peal_commit_to.
 * @param type    the program's own number.
 * @param data    `bytes` bytes, equal in all lanes; copied.
 * @param bytes   length of the payload.
 * @param options as for peal_emit.
 * @return as peal_emit.
 */
static PEAL_DEV PEAL_INLINE int
peal_emit_to(struct peal_worker *w, uint32_t port, uint32_t actor,
	     uint16_t type, const void *data, uint64_t bytes,
	     const struct peal_send_options *options)
{
	struct peal_header header = { actor, type, 0 };

	if (PEAL_UNLIKELY(port >= w->actor->ports))
		return PEAL_EINVAL;
	return peali_emit(w, port, header, data, bytes, options);
}

#endif
