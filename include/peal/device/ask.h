/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_ASK_H
#define PEAL_DEVICE_ASK_H

#include <peal/device/request.h>
#include <peal/device/timer.h>

/*
 * Asks: how a handler asks another actor of its kernel, or a pool, and goes on
 * with the answer. A kernel has them if its option `asks` says how many may be
 * open at a time for each worker.
 *
 *	static PEAL_DEV int customer(struct peal_worker *w)
 *	{
 *		const struct customer *c = (const struct customer *)peal_state(w);
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
 * Who is asked replies as to a request of the host (device/request.h), now or
 * later, or hands the request on; the port that it names does not matter.
 *
 * For each ask exactly one message comes to who has asked, of the type that it
 * has said: the reply, or an error, which peal_answer_error says. Either way it
 * is in order with what the worker that sends it tells otherwise.
 *
 *	PEAL_ETIMEDOUT	nobody has answered in time
 *	PEAL_ENOENT	the request came to an actor or pool that was no more
 *	PEAL_EHANDLER	the handler that had the request has failed, or has
 *			refused it with an error that says less
 *	PEAL_ESTOPPED	the actor that had it is over: given up by its
 *			supervisor, or ended by a failure
 *	PEAL_ENOSPC	the request was dropped for its actor's limit, while it
 *			waited or where it was handed on (mailbox_full)
 *	PEAL_EMSGSIZE	it is longer than what it was handed on by
 *	PEAL_EPROTO	it is a dead letter for another reason
 *	another one	what it was refused with
 *
 * Who ends itself in the handler of a request, or ends it without a reply, has not
 * answered: that is the first one. All but the first and the last come as soon as a worker finds the request
 * dead. A reply that comes when the ask is over is dropped: it is counted as
 * `late` (struct peal_ask_counts) and a dead letter, reason "late", for no actor.
 * That of a request that is handed on twice, for one. Only a worker that dies
 * itself says nothing of the requests that it has: those time out.
 *
 * The answer goes to the address that has asked. If the actor there has begun
 * anew meanwhile, for its supervisor, it gets an answer that it knows nothing of:
 * peal_answer_in_hand tells it which. If it is retired, or over, the answer is
 * dead, reason "no-actor" or "down", and the ask is over as it would have been.
 *
 * An answer needs no room for which anybody would have to wait: there is a slot
 * for it in the mailbox from the ask on. A kernel that drains, or ends with its
 * inputs, waits for the asks that are open; a stop counts them as `stopped`.
 */

/* What is asked. */
struct peali_asking {
	struct peal_header header;
	const void *data;
	uint64_t bytes, timeout_ns;
	uint16_t answer_type;
};

/* The number that a place has next: of the worker's it is no second time. */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peali_ask_number(const struct peal_worker *w, uint32_t place)
{
	uint64_t before = peali_ask_entry(w->asks, place)->number;
	uint64_t turn = PEAL_ASK_TURN(before) + w->asks->max + 1;

	if (!before || turn >> PEAL_ASK_WORKER_BIT)
		turn = place;
	return PEAL_ASK_BIT | (uint64_t)w->index << PEAL_ASK_WORKER_BIT | turn;
}

/* Its time begins. */
static PEAL_DEV PEAL_UNUSED inline void
peali_ask_arm(struct peal_worker *w, struct peal_ask_entry *entry,
	      uint64_t timeout_ns)
{
	struct peal_timers *t = w->timers;
	/* there is one: as many as there are places are nobody else's */
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
	struct peal_asks *a = w->asks;
	struct peal_ask_entry *entry;
	uint32_t place;
	int result;

	if (!a)
		return PEAL_ENOTSUP;
	if (!ask->timeout_ns)
		return PEAL_EINVAL;
	/* the answer in hand has its place until the handler returns */
	if (a->used - ((w->message.header.flags & PEAL_FLAG_ANSWER) != 0) >=
	    a->max)
		return PEAL_ENOSPC;
	place = peali_ask_take(a);
	entry = peali_ask_entry(a, place);
	entry->number = peali_ask_number(w, place);
	entry->actor = peal_self(w);
	entry->type = ask->answer_type;
	/* before the request: see ask_table.h */
	peal_add_acqrel_dev(&entry->open, entry->number);
	result = peali_tell_word(w, entry->number, ask->header, ask->data,
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
 * Collective: asks an actor of the same kernel, or a pool; the answer comes to
 * the running actor as a message of its own. Counts as a peal_tell.
 *
 * @param w           the worker
 * @param actor       its number in the kernel, the low half of its address; the
 *                    running one itself, too
 * @param type        of the request, the program's own number
 * @param data        `bytes` bytes that the leader can read; they are copied
 * @param bytes       at most what peal_tell takes less PEAL_REQUEST_BYTES
 * @param answer_type of the answer, the program's own number, whatever type the
 *                    reply was given
 * @param timeout_ns  above 0, by the device's clock, never early. One that leads
 *                    past its end: it is never over
 * @param ask_out     each lane's own: its number, as peal_answer_in_hand says it
 *                    later; 0: not wanted
 * @return 0 an answer will come; PEAL_ENOSPC as many asks of the worker are open
 *         as the kernel's option `asks` says, or the actor's limit is reached
 *         and what it drops is not the oldest: of an ask who asks is told, and
 *         nothing is dead; PEAL_ENOENT no such actor, and no answer comes, nor
 *         after any other error; PEAL_EMSGSIZE; PEAL_EAGAIN
 *         more messages than the handler declared; PEAL_EINVAL timeout_ns is 0;
 *         PEAL_ENOTSUP the kernel was launched without asks. Wait-free.
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
 * The number of the ask that the message in hand answers.
 *
 * @param w the worker
 * @return as peal_ask said it, never 0; 0: the message is no answer
 */
static PEAL_DEV PEAL_UNUSED inline uint64_t
peal_answer_in_hand(const struct peal_worker *w)
{
	return w->message.header.flags & PEAL_FLAG_ANSWER &&
			       peali_message_prefix(&w->message) ?
		       peali_answer_number(w) :
		       0;
}

/**
 * Why an ask was not answered. Its answer's payload then says nothing else.
 *
 * @param w the worker; its message in hand is an answer
 * @return 0 it was: the message in hand is the reply, or is no answer at all;
 *         else one of the errors above
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_answer_error(const struct peal_worker *w)
{
	uint32_t flags = w->message.header.flags;
	int32_t error;

	if (!(flags & PEAL_FLAG_ANSWER) || !(flags & PEAL_FLAG_REFUSED) ||
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
