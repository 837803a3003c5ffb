/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_BATCH_H
#define PEAL_DEVICE_BATCH_H

#include <peal/device/emit.h>
#include <peal/device/impl/loop/batch_open.h>

/*
 * Batch handlers. A batch handler gets a message per lane, and all lanes run it
 * at once. So the cost of a turn of the loop is divided by up to 32 messages.
 *
 *	static PEAL_DEV int scale(struct peal_worker *w, struct peal_batch *b)
 *	{
 *		float value = 0;
 *		int has = peal_batch_load(b, &value, sizeof(value));
 *
 *		value *= 2;
 *		return peal_batch_emit(w, b, has, 0, 7, &value, sizeof(value));
 *	}
 *
 *	#define HANDLERS(X) X(scale, 0, PEAL_BATCH(PEAL_EMITS(1, 1)))
 *
 * A batch has successive messages of one link or of the worker's mailbox. It has
 * at most one for each lane, and at most 32. On an emulated device of one lane
 * each batch has one message. Lanes without a message run the handler, too,
 * because the collective functions need all lanes. There peal_batch_has returns
 * 0, and the handler's result counts for nothing.
 *
 * - PEAL_BATCH: the messages of a batch are for different actors. So a lane may
 *   change the state of its actor as any handler does.
 * - PEAL_BATCH_SHARED: several messages of a batch may be for one actor. Lanes
 *   then share its state, and change it by atomic functions.
 *
 * The messages of one actor are handled in their order. With PEAL_BATCH_SHARED
 * some of them are handled at once. The messages of one call of peal_batch_emit
 * leave by a port in the order of the lanes. The messages of a later call follow.
 *
 * Each message has its own result. A message with an error is dead, as that of
 * any handler, and the others are not. Failures take effect after all handlers
 * of the batch have returned. So several failures of an actor in a batch count as
 * one for its supervisor, and restart it once.
 *
 * A message of a pool or topic comes as a batch of one. So does a message to all
 * actors, and one with a sender, deadline or request number. An actor with a
 * mailbox limit gets its mail as batches of one. An actor with a port that
 * publishes, is closed, or has a slab gets batches of one only. For such a batch
 * the functions of message.h, sender.h and request.h are valid, too. For another
 * batch they are not. A batch handler sends by peal_batch_emit and
 * peal_batch_tell (batch_tell.h) only.
 *
 * Other sources of the worker have their turn after at least 4 batches. A batch
 * of a source with high priority counts with all its messages.
 */

/**
 * Limits of a batch handler, of the macros in kernel.h. They hold for one
 * message. Example: PEAL_BATCH(PEAL_EMITS(1, 1)).
 */
#define PEAL_BATCH(...) PEALI_BATCH(2, __VA_ARGS__)
/** As PEAL_BATCH. A batch may have several messages for one actor. */
#define PEAL_BATCH_SHARED(...) PEALI_BATCH(6, __VA_ARGS__)
#define PEALI_BATCH(...) PEALI_BATCH_LIMITS(__VA_ARGS__)
#define PEALI_BATCH_LIMITS(batch, ports, per_port, tells, kind, input, output) \
	(ports), (per_port), (tells), PEALI_BATCH_##batch##_##kind, (input),   \
		(output)
#define PEALI_BATCH_2_0 2
#define PEALI_BATCH_2_1 3
#define PEALI_BATCH_6_0 6
#define PEALI_BATCH_6_1 7

/** Returns the number of messages in the batch, 1..32. Equal in all lanes. */
static PEAL_DEV PEAL_INLINE uint32_t peal_batch_size(const struct peal_batch *b)
{
	return b->n;
}

/** Returns 1 if the calling lane has a message. */
static PEAL_DEV PEAL_INLINE int peal_batch_has(const struct peal_batch *b)
{
	return b->has;
}

/** Returns the type of the lane's message; 0: the lane has none. */
static PEAL_DEV PEAL_INLINE uint16_t peal_batch_type(const struct peal_batch *b)
{
	return b->has ? b->type : 0;
}

/** Returns the length in bytes of the lane's payload; 0: the lane has none. */
static PEAL_DEV PEAL_INLINE uint64_t
peal_batch_length(const struct peal_batch *b)
{
	return b->has ? b->at.length : 0;
}

/** Returns the state of the actor that gets the lane's message. The caller casts
 * it. 0: the lane has no message. */
static PEAL_DEV PEAL_INLINE void *peal_batch_state(const struct peal_batch *b)
{
	return b->has ? (void *)(uintptr_t)b->actor->state : 0;
}

/** Returns the number of this actor, the low half of its address; 0 also if the
 * lane has no message. */
static PEAL_DEV PEAL_INLINE uint32_t peal_batch_self(const struct peal_batch *b)
{
	return b->has ? b->number : 0;
}

/**
 * Copies the first bytes of the lane's payload.
 *
 * Fast for a constant length below 29 bytes: the payload is in registers. Any
 * lane may call it.
 *
 * @param b     the batch.
 * @param to    memory of the lane, `bytes` bytes; receives the bytes.
 * @param bytes number of bytes.
 * @return 1: copied. 0: the lane has no message, or a shorter one; `to` is
 *         unchanged.
 */
static PEAL_DEV PEAL_INLINE int peal_batch_load(const struct peal_batch *b,
						void *to, uint32_t bytes)
{
	if (!b->has || PEAL_UNLIKELY(bytes > b->at.length))
		return 0;
	peali_batch_copy(&b->at, to, bytes);
	return 1;
}

/* ---- sending ------------------------------------------------------------- */

/* Sends a message of lane 0 by a port that the actor has. For the leader. */
static PEAL_DEV PEAL_UNUSED inline int
peali_batch_emit_one(struct peal_worker *w, uint32_t port, uint16_t type,
		     const void *data, uint64_t bytes)
{
	struct peal_output *output = peali_output(w, port);
	struct peal_header header = peali_header(w, port, type, 0);
	uint32_t length = 0, kind;
	void *place = 0;
	int result = peali_reserve(w, port, bytes, &place);

	if (PEAL_UNLIKELY(result))
		return result == PEAL_EPIPE ? 0 : result;
	/* a copy that keeps data of a constant length in registers */
	__builtin_memcpy(__builtin_assume_aligned(place, 8), data, bytes);
	peali_emits(w, port);
	if (PEAL_UNLIKELY(output->link.state)) {
		peali_commit_topic(w, output, header, bytes);
		return 0;
	}
	peali_port_count(w, output, bytes);
	kind = peali_link_prepare(&output->link, header, bytes, &length);
	peali_link_publish(&output->link, kind, length, 0, 1);
	peali_link_advance(&output->link, kind, bytes);
	w->state->count.emitted++;
	return 0;
}

/* Returns how many messages the lanes may send now by a port of an actor. The
 * port's link is open, and all its messages fit into slots. */
static PEAL_DEV PEAL_INLINE uint64_t peali_batch_free(
	const struct peal_worker *w, const struct peal_batch *b, uint32_t index)
{
	const struct peal_link_producer *p = &w->outputs[index].link;
	uint64_t n = p->limit - p->tail;

#if PEALI_CHECK_LIMITS
	uint64_t none = w->state->count.handled << PEALI_RUN_SHIFT;
	uint64_t may = (uint64_t)b->actor->emits * b->of_port;
	uint64_t spent = peali_spent(w, w->spent[index]) - none;

	may = spent < may ? may - spent : 0;
	n = may < n ? may : n;
#else
	(void)b;
#endif
	return n;
}

/* Counts n messages that the lanes have sent by a port: the part of one lane. */
static PEAL_DEV PEAL_INLINE void peali_batch_sent(struct peal_worker *w,
						  uint32_t index, uint32_t n)
{
#if PEALI_CHECK_LIMITS
	w->spent[index] = peali_spent(w, w->spent[index]) + n;
#endif
	peali_batch_advance(&w->outputs[index].link, n);
}

#if PEAL_ON_HOST
/* Counts n messages of a port, before they are visible. Only one lane of the port
 * passes n, the others pass 0. Collective. */
static PEAL_INLINE void peali_batch_count(struct peal_worker *w,
					  struct peal_output *o, uint64_t n)
{
	peal_sync(w);
	if (n)
		peali_link_count(&o->link, n, 0);
	peal_sync(w);
}
#else
/* Lists a port with n new messages. Collective. */
static PEAL_DEV PEAL_INLINE void
peali_batch_count(struct peal_worker *w, struct peal_output *o, uint64_t n)
{
	uint32_t due = peali_batch_ballot(w, n && !o->link.listed);

	while (PEAL_UNLIKELY(due)) {
		uint32_t lane = peali_batch_lowest(due);

		peali_batch_sync(w); /* the ballot orders no accesses */
		if (peal_lane(w) == lane)
			peali_port_list(w, o);
		due &= due - 1;
	}
}
#endif

/* Sends a message of each lane that `sends`, of a batch of several messages. */
static PEAL_DEV PEAL_INLINE int
peali_batch_emit_lanes(struct peal_worker *w, const struct peal_batch *b,
		       int sends, uint32_t port, uint16_t type,
		       const void *data, uint64_t bytes)
{
	uint32_t index = sends ? b->actor->port_base + port : 0, peers, rank;
	struct peal_link_producer *p = &w->outputs[index].link;
	struct peal_header header = { 0, type, 0 };
	uint64_t n_free = 0, n;
	int result = 0;

	if (sends && bytes > p->fits_slot) {
		result = PEAL_EMSGSIZE;
		sends = 0;
	}
	peers = peali_batch_match(w,
				  sends ? index : 0x80000000u | peal_lane(w));
	rank = peali_batch_size(peali_batch_below(w, peers));
	if (sends)
		n_free = peali_batch_free(w, b, index);
	if (sends && rank >= n_free) {
		result = PEAL_EAGAIN;
		sends = 0;
	}
	n = peali_batch_size(peers);
	n = n < n_free ? n : n_free;
	if (sends)
		peali_add_lanes(&p->accepted_bytes, bytes);
	peali_batch_count(w, &w->outputs[index], sends && !rank ? n : 0);
	if (sends) {
		header.actor = p->actor;
		peali_batch_put(p, rank, header, data, (uint32_t)bytes);
	}
	peers = peali_batch_ballot(w, sends);
	peali_batch_sync(w);
	if (sends && !rank)
		peali_batch_sent(w, index, (uint32_t)n);
	if (peal_is_leader(w))
		w->state->count.emitted += peali_batch_size(peers);
	peali_batch_sync(w);
	return result;
}

/**
 * Sends a message of each lane by a port of the actor that gets its message.
 *
 * A lane with `sends` 1 and a message sends one. The messages of one port leave
 * in the order of the lanes. All messages of the batch that may send by a port
 * share a limit: the sum of their limits. Collective, wait-free.
 *
 * @param w     the worker.
 * @param b     the batch.
 * @param sends 1: the lane sends a message, if it has one. 0: it sends none.
 * @param port  port of the actor. Lanes may pass different ports.
 * @param type  the program's own number.
 * @param data  `bytes` bytes, the lane's own; copied.
 * @param bytes length of the payload.
 * @return the lane's own result. 0, also if it sent none, or if the link is
 *         closed: the message then counts as dead. Or a negative error code:
 * @retval PEAL_EMSGSIZE the message is longer than the link or topic takes.
 * @retval PEAL_EAGAIN   more messages than the handler has declared. If another
 *                       lane has sent too many by this port, any lane may get
 *                       this error.
 * @retval PEAL_EINVAL   there is no such port.
 * @retval PEAL_ENOTCONN the port has no link. Only an init gets this.
 */
static PEAL_DEV PEAL_INLINE int
peal_batch_emit(struct peal_worker *w, const struct peal_batch *b, int sends,
		uint32_t port, uint16_t type, const void *data, uint64_t bytes)
{
	int result = 0;

	sends = sends && b->has;
	if (sends && PEAL_UNLIKELY(port >= b->actor->ports)) {
		result = PEAL_EINVAL;
		sends = 0;
	}
	if (b->n > 1)
		return peali_batch_emit_lanes(w, b, sends, port, type, data,
					      bytes) |
		       result;
	/* lanes may have looked at the port's free slots */
	peali_batch_sync(w);
	if (sends)
		result = peali_batch_emit_one(w, port, type, data, bytes);
	peali_batch_sync(w);
	return result;
}

#endif
