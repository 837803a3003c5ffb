/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_ASK_H
#define PEAL_DEVICE_ASK_H

#include <peal/device/request.h>
#include <peal/device/timer.h>

/*
 * Asks: a handler sends a request to an actor or pool of its kernel. It later
 * gets the answer as a message. The kernel's option `max_asks` sets the most
 * open asks per worker.
 *
 *	static PEAL_DEV int customer(struct peal_worker *w)
 *	{
 *		const struct customer *c =
 *			(const struct customer *)peal_state(w);
 *
 *		switch (peal_type(w)) {
 *		case BUY:
 *			return peal_ask(w, c->shop, PRICE, peal_data(w),
 *					peal_length(w), PRICED, 1000000, 0);
 *		case PRICED:
 *			if (peal_answer_error(w))
 *				return give_up(w, peal_answer_error(w));
 *			return pay(w, *(const uint64_t *)peal_data(w));
 *		...
 *
 * The asked actor replies as to a request of the host (device/request.h), now
 * or later. It can also forward the request. The port of the reply is not
 * used.
 *
 * The asking actor gets exactly one answer, of the type that it has given: the
 * reply, or an error (peal_answer_error). The answer is in order with other
 * messages that its sending worker tells.
 *
 *	PEAL_ETIMEDOUT	no reply has arrived in time
 *	PEAL_ENOENT	the asked actor or pool was gone
 *	PEAL_EHANDLER	the handler failed on the request, or refused it with
 *			an error that peal_reply_error replaces
 *	PEAL_ENOREPLY	the handler has returned 0 without a reply, has not
 *			forwarded the request and has not asked for its number
 *	PEAL_EEXPIRED	the deadline of the request has passed
 *	PEAL_ESTOPPED	the asked actor has ended by a failure, or its
 *			supervisor has given up
 *	PEAL_ENOSPC	dropped at the actor's mailbox_limit, while it
 *			waited or was forwarded
 *	PEAL_EMSGSIZE	too long for a mailbox or pool to which it was forwarded
 *	PEAL_EDUPLICATE	the asked actor had it before (device/dedup.h)
 *	PEAL_EPROTO	the request is a dead letter for another reason
 *	others		the error of peal_reply_error
 *
 * If an actor asks for the number of the request and never replies, the ask
 * times out. It also times out if the worker with the request dies. All other
 * errors arrive as soon as a worker finds the request dead. A reply to an ask
 * that is over is dropped, such as the second reply to a request forwarded
 * twice. It
 * counts as `late` in struct peal_ask_counts. It also becomes a dead letter for
 * no actor, with reason "late".
 *
 * The answer goes to the address of the asking actor. If that actor has
 * restarted meanwhile, peal_answer_current tells it which ask is answered. If
 * the actor is retired or has ended, the answer is dead, with reason "no-actor"
 * or "down". The ask then counts as if the answer had arrived.
 *
 * Each open ask reserves a mailbox slot for its answer. So an answer never
 * waits for a free slot. A kernel that drains, or ends with its inputs, waits
 * for open asks. A stop counts them as `stopped`.
 */

/* Arguments of peal_ask for the leader. */
struct peali_asking {
	struct peal_header header;
	const void *data;
	uint64_t bytes, timeout_ns;
	uint16_t answer_type;
};

/* Returns the next number for an entry, not used by the worker before. */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peali_ask_number(const struct peal_worker *w, uint32_t place)
{
	uint64_t before = peali_ask_entry(peali_own_asks(w), place)->number;
	uint64_t turn = PEAL_ASK_TURN(before) + peali_own_asks(w)->max + 1;

	if (!before || turn >> PEAL_ASK_WORKER_BIT)
		turn = place;
	return PEAL_ASK_BIT | (uint64_t)w->index << PEAL_ASK_WORKER_BIT | turn;
}

/* Starts the timer of an ask's timeout. */
static PEAL_DEV PEAL_UNUSED inline void
peali_ask_arm(struct peal_worker *w, struct peal_ask_entry *entry,
	      uint64_t timeout_ns)
{
	struct peal_timers *t = peali_own_timers(w);
	/* one is free: as many timers as asks are reserved */
	uint32_t place = peali_timer_take(t);
	struct peal_timer_entry *timer = peali_timer_entry(t, place);

	timer->header.actor = entry->actor;
	timer->header.type = entry->type;
	timer->header.flags = PEAL_FLAG_ANSWER;
	timer->length = sizeof(entry->number);
	peal_copy(peali_timer_message(t, place), &entry->number,
		  sizeof(entry->number));
	t->asking++;
	peali_timer_begin(w, place, timeout_ns, 0);
	entry->timer = timer->number;
	entry->timer_place = place;
}

/* The leader's part of peal_ask. */
PEALI_SLOW(int, peali_ask, struct peal_worker *w,
	   const struct peali_asking *ask, uint64_t *number_out)
{
	struct peal_asks *a = peali_own_asks(w);
	struct peal_ask_entry *entry;
	uint32_t place;
	int result;

	if (!a)
		return PEAL_ENOTSUP;
	if (!ask->timeout_ns)
		return PEAL_EINVAL;
	/* an answer keeps its entry until the handler returns */
	if (a->used - ((w->message.header.flags & PEAL_FLAG_ANSWER) != 0) >=
	    a->max)
		return PEAL_ENOSPC;
	place = peali_ask_take(a);
	entry = peali_ask_entry(a, place);
	entry->number = peali_ask_number(w, place);
	entry->actor = peal_self(w);
	entry->type = ask->answer_type;
	/* acq_rel, before the request: see ask_table.h */
	peal_add_acqrel_dev(&entry->open, entry->number);
	result = peali_tell_word(w, 0, ask->header, entry->number, ask->data,
				 ask->bytes);
	if (result) {
		peal_store_relaxed_dev(&entry->open, 0);
		peali_ask_give(a, place);
		return result;
	}
	peali_ask_count(w, PEAL_ASKS_ASKED, 1);
	peali_ask_count(w, PEAL_ASKS_OPEN, 1);
	peali_ask_arm(w, entry, ask->timeout_ns);
	*number_out = entry->number;
	return 0;
}

/**
 * Asks an actor or a pool of the same kernel.
 *
 * The running actor gets the answer as a message. The request counts as a
 * peal_tell. Collective, wait-free.
 *
 * @param w           the worker.
 * @param actor       number of the actor or pool, the low half of its address.
 *                    It may be the running actor.
 * @param type        type of the request, the program's own number.
 * @param data        `bytes` bytes that the leader can read; copied.
 * @param bytes       at most the limit of peal_tell less PEAL_REQUEST_BYTES.
 * @param answer_type type of the answer, the program's own number.
 * @param timeout_ns  ns of the device's clock, above 0; never early. Beyond the
 *                    clock's end: no timeout.
 * @param ask_out     each lane's own: receives the number of the ask, for
 *                    peal_answer_current. 0: not wanted.
 * @return 0: an answer will arrive. After an error no answer arrives:
 * @retval PEAL_ENOSPC   the worker has its most open asks. Or the actor's limit
 *                       is reached, and the policy does not drop the oldest.
 * @retval PEAL_ENOENT   there is no such actor.
 * @retval PEAL_EMSGSIZE `bytes` is too large.
 * @retval PEAL_EAGAIN   more messages than the handler has declared.
 * @retval PEAL_EINVAL   timeout_ns is 0.
 * @retval PEAL_ENOTSUP  the kernel was launched without asks.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_ask(struct peal_worker *w, uint32_t actor, uint16_t type, const void *data,
	 uint64_t bytes, uint16_t answer_type, uint64_t timeout_ns,
	 uint64_t *ask_out)
{
	struct peali_asking ask;
	uint64_t number = 0;
	int result = 0;

	peal_sync(w);
	if (peal_is_leader(w)) {
		ask.header.actor = actor;
		ask.header.type = type;
		ask.header.flags = PEAL_FLAG_REQUEST;
		ask.data = data;
		ask.bytes = bytes;
		ask.timeout_ns = timeout_ns;
		ask.answer_type = answer_type;
		result = peali_ask(w, &ask, &number);
	}
	result = (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
	number = peal_broadcast(w, number);
	if (!result && ask_out)
		*ask_out = number;
	return result;
}

/**
 * Returns the number of the ask that this message answers. Any lane.
 *
 * @param w the worker.
 * @return the number from peal_ask, never 0. 0: the message is no answer.
 */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peal_answer_current(const struct peal_worker *w)
{
	return w->message.header.flags & PEAL_FLAG_ANSWER &&
			       peali_message_prefix(&w->message) ?
		       peali_answer_number(w) :
		       0;
}

/**
 * Returns the error of the answer being handled.
 *
 * An answer with an error has no other payload. Any lane.
 *
 * @param w the worker.
 * @return 0: the message is a reply, or no answer. Else an error of the list at
 *         the top of this file.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_answer_error(const struct peal_worker *w)
{
	uint32_t flags = w->message.header.flags;
	int32_t error;

	if (!(flags & PEAL_FLAG_ANSWER) || !(flags & PEAL_FLAG_ERROR_REPLY) ||
	    peal_length(w) != sizeof(error))
		return 0;
	error = *(const int32_t *)peal_data(w);
	if (flags & PEAL_FLAG_UNANSWERED)
		return error;
	return error >= 0 || error == PEAL_EAGAIN || error == PEAL_ETIMEDOUT ||
			       error == PEAL_EMSGSIZE || error == PEAL_EBUSY ?
		       PEAL_EHANDLER :
		       error;
}

#endif
