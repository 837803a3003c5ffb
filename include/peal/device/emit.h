/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_EMIT_H
#define PEAL_DEVICE_EMIT_H

#include <peal/device/lanes.h>
#include <peal/device/impl/worker/pool.h>
#include <peal/device/impl/worker/send_options.h>

/*
 * How a handler sends by its ports; tell.h is by addresses. All of it is
 * collective and wait-free. A handler may send as many messages per port as it
 * has declared; for those there is space, as the loop took its message only
 * when there was.
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
 * Collective: makes space for a message and gives the place to write it, in the
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
PEALI_SLOW(void, peali_commit_topic, struct peal_worker *w,
	   struct peal_output *output, struct peal_header header,
	   uint64_t bytes)
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

/* Emits a message with a deadline. */
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

/* Emits a message without options to an actor of the receiving kernel. */
static PEAL_DEV PEAL_UNUSED inline int
peali_emit_to(struct peal_worker *w, uint32_t port, struct peal_header header,
	      const void *data, uint64_t bytes)
{
	void *place = 0;
	int result = peal_reserve(w, port, bytes, &place);

	if (PEAL_UNLIKELY(result))
		return result == PEAL_EPIPE ? 0 : result;
	peal_copy_lanes(w, place, data, bytes);
	peali_commit(w, port, header, bytes);
	return 0;
}

/* peal_emit_to with options. */
static PEAL_DEV PEAL_UNUSED inline int
peali_emit_options(struct peal_worker *w, uint32_t port,
		   struct peal_header header, const void *data, uint64_t bytes,
		   const struct peal_send_options *o)
{
	if (!peali_send_supports(o, PEALI_SEND_DEADLINE))
		return PEAL_EINVAL;
	if (o->deadline)
		return peali_emit_before(w, port, o->deadline, header, data,
					 bytes);
	return peali_emit_to(w, port, header, data, bytes);
}

/**
 * Sends a message by a port. Collective, wait-free.
 *
 * @param w       the worker.
 * @param port    port of the running actor.
 * @param type    the program's own number.
 * @param data    `bytes` bytes that every lane can read; copied.
 * @param bytes   length of the payload.
 * @param options deadline, for which the link or topic must take
 *                PEAL_DEADLINE_BYTES more. 0: none.
 * @return 0, also if the link is closed: the message then counts as dead. Or a
 *         negative error code:
 * @retval PEAL_EMSGSIZE the message is longer than the link takes.
 * @retval PEAL_EAGAIN   the handler has declared fewer messages.
 * @retval PEAL_EINVAL   there is no such port, or another option is set.
 * @retval PEAL_ENOTCONN the port has no link. Only an init or a test gets this.
 */
static PEAL_DEV PEAL_INLINE int
peal_emit(struct peal_worker *w, uint32_t port, uint16_t type, const void *data,
	  uint64_t bytes, const struct peal_send_options *options)
{
	void *place = 0;
	int result;

	if (options) {
		if (port >= w->actor->ports)
			return PEAL_EINVAL;
		return peali_emit_options(w, port,
					  peali_header(w, port, type, 0), data,
					  bytes, options);
	}
	result = peal_reserve(w, port, bytes, &place);
	if (PEAL_UNLIKELY(result))
		return result == PEAL_EPIPE ? 0 : result;
	peal_copy_lanes(w, place, data, bytes);
	peal_commit(w, port, type, bytes);
	return 0;
}

/**
 * Sends a message by a port, to any actor of the kernel that the port leads to.
 *
 * Collective, wait-free.
 *
 * @param w       the worker.
 * @param port    port of the running actor.
 * @param actor   as for peal_commit_to.
 * @param type    the program's own number.
 * @param data    `bytes` bytes that every lane can read; copied.
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

	if (options)
		return peali_emit_options(w, port, header, data, bytes,
					  options);
	return peali_emit_to(w, port, header, data, bytes);
}

#endif
