/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_MAILBOX_H
#define PEAL_DEVICE_MAILBOX_H

#include <peal/abi/mailbox.h>
#include <peal/device/impl/queue/slot_write_direct.h>
#include <peal/errors.h>

/*
 * The mailbox: a queue from many producers of a device to one worker.
 *
 * Admission comes before the ticket, so that a producer that has a ticket never
 * waits: it leases slots in blocks by one add to `leased`. The slots up to E of
 * all that were ever leased are granted once E <= head + returned + capacity:
 * one by one, in the order in which they were asked for, and only granted slots
 * may be given back. So granted and queued slots together never exceed the
 * capacity, without a compare-and-swap loop. Then the ticket is one add, and
 * each slot is published by itself: a producer that stops between ticket and
 * tag delays those behind it in this mailbox, and nobody else.
 *
 *	producer				consumer
 *	ticket, content, tag (R1) ---------->	A1 tag: content may be read
 *	A3 head, returned: slot is free <----	R3 head: content was read
 *
 * With atoms there is no edge 1, tag and content are one store. On GPUs the
 * ticket has no order either: that a slot is free may be known to another
 * producer only, but that one took an earlier ticket after it knew, and where a
 * producer writes comes out of its ticket. So no message costs a fence. That
 * rests on the device: by C11 alone the later store could come to lie before
 * the earlier one; a memory that puts no store before what its thread has heard
 * of cannot do that (tests/c11_model, "ticket of GPUs").
 *
 * The mailboxes of a kernel have one admission for all of them: admission.h.
 *
 * Order: first in, first out per producer. Progress: putting with a granted
 * lease is wait-free, leasing is wait-free, taking is wait-free. One lane.
 */

static PEAL_DEV PEAL_INLINE uint8_t *peali_mailbox_slot(struct peal_mailbox *m,
							uint64_t number)
{
	uint64_t index = number & ((1ULL << m->capacity_log2) - 1);

	return (uint8_t *)m + m->slots_offset + index * m->slot_bytes;
}

static PEAL_DEV PEAL_INLINE uint32_t
peali_mailbox_lap(const struct peal_mailbox *m, uint64_t number)
{
	return (uint32_t)(number >> m->capacity_log2) + 1;
}

/* Grants what there is room for of a lease that was asked for, if `free` slots
 * of all that were ever leased may be in use. */
static PEAL_DEV PEAL_INLINE void
peali_lease_grant(struct peal_mailbox_lease *lease, uint64_t free)
{
	int64_t left = (int64_t)(lease->asked_end - free);

	if (left < 0)
		left = 0;
	if ((uint64_t)left >= lease->asked)
		return;
	lease->granted += lease->asked - (uint64_t)left;
	lease->asked = (uint64_t)left;
}

static PEAL_DEV PEAL_INLINE void
peali_mailbox_grant(struct peal_mailbox *m, struct peal_mailbox_lease *lease)
{
	/* A3: pairs with R3 in peal_mailbox_flush: the slots were read. */
	peali_lease_grant(lease, peal_load_acquire_dev(&m->head) +
					 peal_load_acquire_dev(&m->returned) +
					 (1ULL << m->capacity_log2));
}

/* An admission that is not simply granted already. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE int
peali_mailbox_admit_slow(struct peal_mailbox *m,
			 struct peal_mailbox_lease *lease, uint64_t n)
{
	if (!lease->asked) {
		lease->asked = m->lease;
		lease->asked_end =
			peal_add_acqrel_dev(&m->leased, lease->asked) +
			lease->asked;
	}
	peali_mailbox_grant(m, lease);
	return lease->granted >= n;
}

/**
 * Whether a producer may put n messages; asks for a lease if it may not.
 *
 * @param m     the mailbox
 * @param lease the producer's own for this mailbox
 * @param n     at most the mailbox's lease
 * @return 1 it may; 0 not yet, ask again. Wait-free.
 */
static PEAL_DEV PEAL_INLINE int
peal_mailbox_admit(struct peal_mailbox *m, struct peal_mailbox_lease *lease,
		   uint64_t n)
{
	return PEAL_LIKELY(lease->granted >= n) ||
	       peali_mailbox_admit_slow(m, lease, n);
}

/**
 * Gives back what a producer has leased and not used; it calls this when it
 * goes idle, so that others find room.
 */
static PEAL_DEV PEAL_UNUSED inline void
peal_mailbox_lease_release(struct peal_mailbox *m,
			   struct peal_mailbox_lease *lease)
{
	if (lease->asked)
		peali_mailbox_grant(m, lease);
	if (lease->granted) {
		peal_add_acqrel_dev(&m->returned, lease->granted);
		lease->granted = 0;
	}
}

/* The next n slots' numbers, from the one that is returned. */
static PEAL_DEV PEAL_INLINE uint64_t
peali_mailbox_ticket(struct peal_mailbox *m, uint64_t n)
{
#if PEAL_ON_HOST
	if (PEALI_SIM_FAULT(TORN_TICKET)) {
		uint64_t number = peal_load_relaxed_dev(&m->ticket);

		peal_store_relaxed_dev(&m->ticket, number + n);
		return number;
	}
	/* acq_rel: who takes a later ticket knows what was free for this one */
	return peal_add_acqrel_dev(&m->ticket, n);
#else
	return peal_add_relaxed_dev(&m->ticket, n);
#endif
}

/* Writes a message to the slot of its number. */
static PEAL_DEV PEAL_INLINE void
peali_mailbox_write(struct peal_mailbox *m, uint64_t number,
		    struct peal_header header, const void *data, uint64_t bytes)
{
	uint8_t *slot = peali_mailbox_slot(m, number);
	uint32_t lap = peali_mailbox_lap(m, number);

	if (peali_policy(m->policy) == PEAL_POLICY_SEQUENCE) {
		peal_header_store(slot + 8, header);
		peal_copy(slot + 8 + sizeof(header), data, bytes);
		peal_slot_publish(slot, lap, PEAL_KIND_DATA,
				  (uint32_t)(sizeof(header) + bytes));
	} else {
		peali_slot_write_direct(peali_policy(m->policy), slot,
					m->slot_bytes, lap,
					peali_header_word(header),
					(const uint8_t *)data, (uint32_t)bytes);
	}
}

/**
 * Puts one message.
 *
 * @param m      the mailbox
 * @param lease  the producer's own
 * @param header with the receiving actor
 * @param data   `bytes` bytes
 * @param bytes  at most the mailbox's message_bytes
 * @return 0; PEAL_EAGAIN not admitted; PEAL_EMSGSIZE. Wait-free.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_mailbox_put(struct peal_mailbox *m, struct peal_mailbox_lease *lease,
		 struct peal_header header, const void *data, uint64_t bytes)
{
	if (PEAL_UNLIKELY(bytes > m->message_bytes))
		return PEAL_EMSGSIZE;
	if (PEAL_UNLIKELY(!peal_mailbox_admit(m, lease, 1)))
		return PEAL_EAGAIN;
	lease->granted--;
	peali_mailbox_write(m, peali_mailbox_ticket(m, 1), header, data, bytes);
	return 0;
}

/**
 * Puts n messages of `bytes` each, laid out one after another at data, all or
 * none of them, with one add for all tickets: they lie together. Written from
 * the last to the first, at which the consumer looks, so that it takes no line
 * away that is still to be written.
 *
 * @param m      the mailbox
 * @param lease  the producer's own
 * @param header with the receiving actor, of all of them
 * @param data   n * `bytes` bytes
 * @param bytes  at most the mailbox's message_bytes
 * @param n      at most the mailbox's lease
 * @return 0; PEAL_EAGAIN not admitted; PEAL_EMSGSIZE, also for n past the
 *         lease. Wait-free.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_mailbox_put_bulk(struct peal_mailbox *m, struct peal_mailbox_lease *lease,
		      struct peal_header header, const void *data,
		      uint64_t bytes, uint64_t n)
{
	uint64_t number;

	if (PEAL_UNLIKELY(bytes > m->message_bytes || n > m->lease))
		return PEAL_EMSGSIZE;
	if (PEAL_UNLIKELY(!peal_mailbox_admit(m, lease, n)))
		return PEAL_EAGAIN;
	lease->granted -= n;
	number = peali_mailbox_ticket(m, n);
	while (n-- > 0)
		peali_mailbox_write(m, number + n, header,
				    (const uint8_t *)data + n * bytes, bytes);
	return 0;
}

/** Whether there is something to peek at; only the consumer. Wait-free. */
static PEAL_DEV PEAL_INLINE int peal_mailbox_ready(struct peal_mailbox *m)
{
	return peal_slot_ready(peali_policy(m->policy),
			       peali_mailbox_slot(m, m->taken),
			       peali_mailbox_lap(m, m->taken));
}

/* A content that no producer makes: nothing, of no kind, for no actor. */
static PEAL_DEV PEAL_INLINE void peali_mailbox_slow(struct peal_slot_view *view)
{
	const struct peal_header nobody = { ~0u, 0, 0 };

	peal_header_store(view->content, nobody);
	view->kind = PEAL_KIND_EMPTY;
	view->length = sizeof(nobody);
}

/**
 * Looks at the next message without taking it; only the consumer. Its length is
 * that of a header and of at most message_bytes, whatever was written: what is
 * no message is PEAL_KIND_EMPTY, for actor ~0, without a payload.
 *
 * @param m    the mailbox
 * @param view its kind, length and content (header first), valid until release
 * @return 1 there is one; 0 there is none. Wait-free.
 */
static PEAL_DEV PEAL_INLINE int peal_mailbox_peek(struct peal_mailbox *m,
						  struct peal_slot_view *view)
{
	uint32_t policy = peali_policy(m->policy);
	uint8_t *slot = peali_mailbox_slot(m, m->taken);
	uint32_t lap = peali_mailbox_lap(m, m->taken);

	if (!(policy == PEAL_POLICY_SEQUENCE ?
		      peal_slot_peek(slot, lap, view) :
		      peal_slot_unpack(
			      policy, slot, lap, (uint8_t *)m + m->stage_offset,
			      peali_slot_atoms(policy, m->slot_bytes), view)))
		return 0;
	if (PEAL_UNLIKELY(view->length - (uint32_t)sizeof(struct peal_header) >
			  m->message_bytes))
		peali_mailbox_slow(view);
	return 1;
}

/**
 * Tells the producers what was taken off: they may write to those slots again.
 * Every capacity/4 messages, and by the consumer whenever it goes idle; also
 * what it has put elsewhere while it handled them is then known. Wait-free.
 */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peal_mailbox_flush(struct peal_mailbox *m)
{
	/* R3: pairs with A3 in peali_mailbox_grant: the content was read. */
	if (m->head != m->taken)
		peal_store_release_dev(&m->head, m->taken);
}

/* Takes the peeked message off; 1 if it is time to tell the producers. */
static PEAL_DEV PEAL_INLINE int peali_mailbox_drop(struct peal_mailbox *m)
{
	uint64_t kept = ++m->taken - m->head;

	return PEAL_UNLIKELY(4 * kept >= 1ULL << m->capacity_log2) != 0;
}

/** Takes the peeked message off; only the consumer. Wait-free. */
static PEAL_DEV PEAL_INLINE void peal_mailbox_release(struct peal_mailbox *m)
{
	if (peali_mailbox_drop(m))
		peal_mailbox_flush(m);
}

/* Publishes the slot of a ticket whose owner is dead: for no actor at all. */
static PEAL_DEV PEAL_UNUSED inline void
peali_mailbox_drop_dead(struct peal_mailbox *m, uint64_t number)
{
	const struct peal_header nobody = { ~0u, 0, 0 };
	uint32_t policy = peali_policy(m->policy), length = sizeof(nobody);
	uint8_t *slot = peali_mailbox_slot(m, number);
	uint32_t lap = peali_mailbox_lap(m, number);

	if (policy == PEAL_POLICY_SEQUENCE) {
		peal_header_store(slot + 8, nobody);
		peal_slot_publish(slot, lap, PEAL_KIND_DEAD, length);
		return;
	}
	if (lap % PEAL_SLOT_REFRESH_LAPS == 0)
		peal_slot_refresh(policy, slot, m->slot_bytes, lap, length, 0,
				  1);
	peal_slot_pack(policy, slot, lap, PEAL_KIND_DEAD,
		       (const uint8_t *)&nobody, length, 0, 1);
}

/**
 * Gives the next slot up, if its ticket is below `until`: the consumer then
 * finds PEAL_KIND_DEAD there, for actor ~0, and comes to what lies behind it.
 * Only the consumer, and only when it is known of every producer that it is
 * dead or has published its tickets below `until`, and a peek that came after
 * that was known has found nothing.
 *
 * @param m     the mailbox
 * @param until a number that `ticket` has reached
 * @return 1 there is something to peek at now; 0 the slot is not below `until`.
 *         Wait-free.
 */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE int
peal_mailbox_abandon(struct peal_mailbox *m, uint64_t until)
{
	if ((int64_t)(until - m->taken) <= 0)
		return 0;
	peali_mailbox_drop_dead(m, m->taken);
	return 1;
}

#endif
