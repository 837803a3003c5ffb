/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_ONCE_H
#define PEAL_DEVICE_ONCE_H

#include <peal/device/lanes.h>

/*
 * Duplicates: who sends a message again because he does not know whether it has
 * come, after a time-out or a restart, gives both the same number; an actor that
 * has had it drops the second one. The sender's name and number are where the
 * program puts them, as a rule at the begin of the payload:
 *
 *	struct account {
 *		struct peal_once_sender once[8]; // as many as may send
 *		int64_t balance;
 *	};
 *
 *	static PEAL_DEV int account(struct peal_worker *w)
 *	{
 *		struct account *a = (struct account *)peal_state(w);
 *		const struct order *o = (const struct order *)peal_data(w);
 *		int result = peal_once(w, a->once, 8, o->sender, o->number);
 *
 *		if (result)
 *			return result;
 *		...
 *
 * A handler that returns PEAL_EDUPLICATE has not failed: the message is dead,
 * reason "duplicate"; an ask is answered with that error, a request of the host is not
 * answered.
 *
 * What an actor remembers is in its state. So it goes where the actor goes, and an
 * actor that begins anew has forgotten it, with all that came of those messages. Of
 * each sender it is the largest number and a window of those below: S. Xie and
 * T. Tsou's way without shifts, RFC 6479, with blocks of 64 bits.
 */

#define PEAL_ONCE_BLOCKS 4u
/** Numbers below a sender's largest of which it is known whether they have come. */
#define PEAL_ONCE_WINDOW ((PEAL_ONCE_BLOCKS - 1) * 64)

/** What is known of one sender; all zero: the place is free. */
struct peal_once_sender {
	uint64_t sender;
	uint64_t next; /* 1 + the largest number that has come; 0: free */
	uint64_t block[PEAL_ONCE_BLOCKS]; /* a bit for each that has come; that of
					   * number n is in n / 64 of them, in
					   * turn */
};

/* A sender's place, or a free one, or 0. */
static PEAL_DEV PEAL_UNUSED inline struct peal_once_sender *
peali_once_find(struct peal_once_sender *senders, uint32_t n, uint64_t sender)
{
	struct peal_once_sender *free = 0;
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (!senders[i].next)
			free = free ? free : &senders[i];
		else if (senders[i].sender == sender)
			return &senders[i];
	}
	return free;
}

/* A number above all that have come: those between have not. */
static PEAL_DEV PEAL_UNUSED inline void
peali_once_advance(struct peal_once_sender *s, uint64_t number)
{
	uint64_t top = s->next ? (s->next - 1) / 64 : 0;
	uint64_t n = s->next ? number / 64 - top : PEAL_ONCE_BLOCKS, i;

	if (n > PEAL_ONCE_BLOCKS)
		n = PEAL_ONCE_BLOCKS;
	for (i = 1; i <= n; i++)
		s->block[(top + i) % PEAL_ONCE_BLOCKS] = 0;
	s->next = number + 1;
}

/**
 * Notes that a message has come, if it has not before. By one thread at a time; the
 * host may do the same with what an endpoint gets. Wait-free: looks at all places.
 *
 * @param senders n of them, zeros at first
 * @param n       how many
 * @param sender  its name: any number
 * @param number  of the message, below 2^64 - 1; a sender's numbers rise, and come
 *                in any order. Of one that lies more than PEAL_ONCE_WINDOW to
 *                PEAL_ONCE_WINDOW + 63 below the largest it is not known whether
 *                it has come: then it is a duplicate
 * @return 0 it is the first; PEAL_EDUPLICATE; PEAL_ENOSPC n other senders have all
 *         places, and nothing is noted; PEAL_EINVAL no such number.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_once_note(struct peal_once_sender *senders, uint32_t n, uint64_t sender,
	       uint64_t number)
{
	struct peal_once_sender *s = peali_once_find(senders, n, sender);
	uint64_t bit = 1ULL << number % 64, *block;

	if (number == ~0ULL)
		return PEAL_EINVAL;
	if (!s)
		return PEAL_ENOSPC;
	s->sender = sender;
	if (number >= s->next)
		peali_once_advance(s, number);
	else if ((s->next - 1) / 64 - number / 64 >= PEAL_ONCE_BLOCKS)
		return PEAL_EDUPLICATE;
	block = &s->block[number / 64 % PEAL_ONCE_BLOCKS];
	if (*block & bit)
		return PEAL_EDUPLICATE;
	*block |= bit;
	return 0;
}

/** A sender's place is free: it has no more to send. 0; PEAL_ENOENT it has none. As
 * peal_once_note. */
static PEAL_DEV PEAL_UNUSED inline int
peal_once_forget(struct peal_once_sender *senders, uint32_t n, uint64_t sender)
{
	struct peal_once_sender *s = peali_once_find(senders, n, sender);

	if (!s || !s->next)
		return PEAL_ENOENT;
	s->next = 0;
	return 0;
}

/**
 * Collective: the same for an actor's message in hand, with the same result for all
 * lanes, which a handler returns as it is.
 *
 * @param w       the worker
 * @param senders as for peal_once_note, in the actor's state
 * @param n       how many
 * @param sender  as there
 * @param number  as there
 * @return as peal_once_note.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_once(struct peal_worker *w, struct peal_once_sender *senders, uint32_t n,
	  uint64_t sender, uint64_t number)
{
	int result = 0;

	peal_sync(w);
	if (peal_is_leader(w))
		result = peal_once_note(senders, n, sender, number);
	return (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
}

#endif
