/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_DEDUP_H
#define PEAL_DEVICE_DEDUP_H

#include <peal/device/lanes.h>

/*
 * Duplicates. A sender may repeat a message, for example after a time-out or a
 * restart. Both messages have the same number, and the actor drops the second.
 * The program chooses where the message holds the sender's name and the number,
 * usually at its begin:
 *
 *	struct account {
 *		struct peal_dedup_sender log[8]; // as many as may send
 *		int64_t balance;
 *	};
 *
 *	static PEAL_DEV int account(struct peal_worker *w)
 *	{
 *		struct account *a = (struct account *)peal_state(w);
 *		const struct order *o = (const struct order *)peal_data(w);
 *		int result = peal_dedup_check(w, a->log, 8, o->from, o->number);
 *
 *		if (result)
 *			return result;
 *		...
 *
 * PEAL_EDUPLICATE is no failure of the handler. The message is dead, reason
 * "duplicate". An ask gets that error as its answer. A request of the host gets
 * no reply.
 *
 * The record of the numbers is in the actor's state. It migrates with the
 * actor, and a restart clears it together with the effects of those messages.
 * For each sender, the record has the largest number and a window of bits for
 * numbers below it. Algorithm: X. Zhang, T. Tsou, "IPsec Anti-Replay Algorithm
 * without Bit Shifting", RFC 6479 (2012), with blocks of 64 bits.
 */

#define PEAL_DEDUP_BLOCKS 4u
/** Size of the window: recorded numbers below a sender's largest number. */
#define PEAL_DEDUP_WINDOW ((PEAL_DEDUP_BLOCKS - 1) * 64)

/** The record of a sender. All zero: the entry is free. */
struct peal_dedup_sender {
	uint64_t sender; /* its name */
	uint64_t next; /* 1 + the largest number so far; 0: free */
	/* a bit per number; number n is in block n / 64 % PEAL_DEDUP_BLOCKS */
	uint64_t block[PEAL_DEDUP_BLOCKS];
};

/* Returns the sender's entry, else a free entry, else 0. */
static PEAL_DEV PEAL_UNUSED inline struct peal_dedup_sender *
peali_dedup_find(struct peal_dedup_sender *senders, uint32_t n, uint64_t sender)
{
	struct peal_dedup_sender *free = 0;
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (!senders[i].next)
			free = free ? free : &senders[i];
		else if (senders[i].sender == sender)
			return &senders[i];
	}
	return free;
}

/* Records a new largest number. The numbers in between have not arrived. */
static PEAL_DEV PEAL_UNUSED inline void
peali_dedup_advance(struct peal_dedup_sender *s, uint64_t number)
{
	uint64_t top = s->next ? (s->next - 1) / 64 : 0;
	uint64_t n = s->next ? number / 64 - top : PEAL_DEDUP_BLOCKS, i;

	if (n > PEAL_DEDUP_BLOCKS)
		n = PEAL_DEDUP_BLOCKS;
	for (i = 1; i <= n; i++)
		s->block[(top + i) % PEAL_DEDUP_BLOCKS] = 0;
	s->next = number + 1;
}

/**
 * Records the number of a message, and finds duplicates.
 *
 * For one thread at a time. The host can call it, too, for messages of an
 * endpoint. Wait-free: scans all n entries.
 *
 * @param senders n entries, initially zero.
 * @param n       number of entries.
 * @param sender  name of the sender, any value.
 * @param number  number of the message, below 2^64 - 1. The sender counts up.
 *                Messages may arrive in any order. A number more than
 *                PEAL_DEDUP_WINDOW below the largest may count as a duplicate.
 *                From PEAL_DEDUP_WINDOW + 64 below on it always does.
 * @return 0: the message is the first one. Or a negative error code:
 * @retval PEAL_EDUPLICATE  a message with that number has arrived before.
 * @retval PEAL_ENOSPC      n other senders have all entries; nothing recorded.
 * @retval PEAL_EINVAL      number is 2^64 - 1.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_dedup_record(struct peal_dedup_sender *senders, uint32_t n,
		  uint64_t sender, uint64_t number)
{
	struct peal_dedup_sender *s = peali_dedup_find(senders, n, sender);
	uint64_t bit = 1ULL << number % 64, *block;

	if (number == ~0ULL)
		return PEAL_EINVAL;
	if (!s)
		return PEAL_ENOSPC;
	s->sender = sender;
	if (number >= s->next)
		peali_dedup_advance(s, number);
	else if ((s->next - 1) / 64 - number / 64 >= PEAL_DEDUP_BLOCKS)
		return PEAL_EDUPLICATE;
	block = &s->block[number / 64 % PEAL_DEDUP_BLOCKS];
	if (*block & bit)
		return PEAL_EDUPLICATE;
	*block |= bit;
	return 0;
}

/**
 * Frees the entry of a sender that sends no more. One thread at a time.
 *
 * @param senders as for peal_dedup_record.
 * @param n       number of entries.
 * @param sender  name of the sender.
 * @return 0, or a negative error code:
 * @retval PEAL_ENOENT  the sender has no entry.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_dedup_forget(struct peal_dedup_sender *senders, uint32_t n,
		  uint64_t sender)
{
	struct peal_dedup_sender *s = peali_dedup_find(senders, n, sender);

	if (!s || !s->next)
		return PEAL_ENOENT;
	s->next = 0;
	return 0;
}

/**
 * Calls peal_dedup_record for the message being handled.
 *
 * The handler returns an error of this call unchanged. Collective, wait-free.
 *
 * @param w       the worker.
 * @param senders as for peal_dedup_record, in the actor's state.
 * @param n       number of entries.
 * @param sender  as for peal_dedup_record.
 * @param number  as for peal_dedup_record.
 * @return as peal_dedup_record.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_dedup_check(struct peal_worker *w, struct peal_dedup_sender *senders,
		 uint32_t n, uint64_t sender, uint64_t number)
{
	int result = 0;

	peal_sync(w);
	if (peal_is_leader(w))
		result = peal_dedup_record(senders, n, sender, number);
	return (int)(int64_t)peal_broadcast(w, (uint64_t)(int64_t)result);
}

#endif
