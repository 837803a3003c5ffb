/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_MAILBOX_H
#define PEAL_DEVICE_MAILBOX_H

#include <peal/abi/mailbox.h>
#include <peal/device/impl/queue/slot_write_direct.h>
#include <peal/errors.h>

/*
 * The mailbox: a queue from many producers of a device to one worker. A handler
 * opens one by device_queue.h. Handlers send to actors by tell.h.
 *
 * - A producer keeps a struct peal_mailbox_lease, zeroed at first. It calls
 *   peal_mailbox_put, and peal_mailbox_lease_release before it is idle.
 * - The consumer calls peal_mailbox_peek, then peal_mailbox_release. It calls
 *   peal_mailbox_flush when it is idle.
 *
 * Admission precedes the ticket, so a producer with a ticket never waits:
 *
 * 1. The producer leases a block of slots by one add to `leased`.
 * 2. Slots are granted one by one, in the order of the requests. The first E
 *    leased slots are granted once E <= head + returned + capacity.
 * 3. The producer takes tickets for granted slots by one add to `ticket`.
 *
 * A producer may return only granted slots. So granted and queued slots
 * together never exceed the capacity. No compare-and-swap loop is needed.
 *
 * Producers publish single slots. A producer that stops between ticket and tag
 * delays the later messages of this mailbox, and no others.
 *
 *	producer				consumer
 *	ticket, content, tag (R1) ---------->	A1 tag: content may be read
 *	A3 head, returned: slot is free <----	R3 head: content was read
 *
 * With atoms the pair R1, A1 is not needed: tag and content are one store. On
 * GPUs the ticket has no order either. A producer may write to a slot that only
 * another producer has seen free. That other producer then took an earlier
 * ticket. The address of the write follows from the ticket. So no message needs
 * a fence.
 *
 * This depends on the device. By C11 alone, the later store could precede the
 * earlier one. It cannot if no store precedes a store that its thread has heard
 * of (tests/c11_model, "ticket of GPUs").
 *
 * All mailboxes of a kernel share one admission: impl/queue/admission.h.
 *
 * Order: first in, first out per producer. Progress: every call is wait-free.
 * One lane calls each function.
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

/* Grants the requested slots with numbers up to `free`. So many of all
 * slots ever leased may be in use. */
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

/* An admission for which the granted slots do not suffice. */
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
 * Checks whether a producer may put n messages. Leases slots if needed.
 *
 * Wait-free, one lane.
 *
 * @param m     the mailbox.
 * @param lease the producer's private lease of this mailbox.
 * @param n     number of messages, at most the mailbox's lease.
 * @return 1: it may. 0: not now; call again later.
 */
static PEAL_DEV PEAL_INLINE int
peal_mailbox_admit(struct peal_mailbox *m, struct peal_mailbox_lease *lease,
		   uint64_t n)
{
	return PEAL_LIKELY(lease->granted >= n) ||
	       peali_mailbox_admit_slow(m, lease, n);
}

/**
 * Returns granted slots that a producer has not used.
 *
 * The producer calls it before it is idle, so that others can lease the slots.
 * Requested slots that are not granted yet stay requested. Wait-free, one lane.
 *
 * @param m     the mailbox.
 * @param lease the producer's private lease of this mailbox.
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

/* Takes the numbers of the next n slots. Returns the first number. */
static PEAL_DEV PEAL_INLINE uint64_t
peali_mailbox_ticket(struct peal_mailbox *m, uint64_t n)
{
#if PEAL_ON_HOST
	if (PEALI_SIM_FAULT(TORN_TICKET)) {
		uint64_t number = peal_load_relaxed_dev(&m->ticket);

		peal_store_relaxed_dev(&m->ticket, number + n);
		return number;
	}
	/* acq_rel: the producer of a later ticket knows the slots that were
	 * free for this ticket */
	return peal_add_acqrel_dev(&m->ticket, n);
#else
	return peal_add_relaxed_dev(&m->ticket, n);
#endif
}

/* Writes a message to the slot of a number and publishes it. */
static PEAL_DEV PEAL_INLINE void
peali_mailbox_write(struct peal_mailbox *m, uint64_t number,
		    struct peal_header header, const void *data, uint64_t bytes)
{
	peali_slot_put(peali_policy(m->policy), peali_mailbox_slot(m, number),
		       m->slot_bytes, peali_mailbox_lap(m, number),
		       peali_content_of(header, data, bytes));
}

/**
 * Puts one message.
 *
 * Leases slots if needed. Wait-free, one lane.
 *
 * @param m      the mailbox.
 * @param lease  the producer's private lease of this mailbox.
 * @param header the number of the receiving actor, type and flags.
 * @param data   `bytes` bytes; copied.
 * @param bytes  length of the payload, at most the mailbox's message_bytes.
 * @return 0, or a negative error code:
 * @retval PEAL_EAGAIN   no leased slot is granted yet; call again later.
 * @retval PEAL_EMSGSIZE `bytes` is too large.
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
 * Puts n messages of equal length, all of them or none.
 *
 * The messages are adjacent in the mailbox, as one add takes all tickets. They
 * are written from the last to the first. The consumer polls the first slot, so
 * it takes no cache line that the producer has yet to write. Wait-free, one
 * lane.
 *
 * @param m      the mailbox.
 * @param lease  the producer's private lease of this mailbox.
 * @param header the header of all messages, as for peal_mailbox_put.
 * @param data   n * `bytes` bytes, one payload after another; copied.
 * @param bytes  length of each payload, at most the mailbox's message_bytes.
 * @param n      number of messages, at most the mailbox's lease.
 * @return 0, or a negative error code:
 * @retval PEAL_EAGAIN   fewer than n slots are granted yet; call again later.
 * @retval PEAL_EMSGSIZE `bytes` or n is too large.
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

/* Returns the next slot and its lap, for peal_slot_ready. */
static PEAL_DEV PEAL_INLINE const uint8_t *
peali_mailbox_next(struct peal_mailbox *m, uint32_t *lap_out)
{
	*lap_out = peali_mailbox_lap(m, m->taken);
	return peali_mailbox_slot(m, m->taken);
}

/**
 * Checks whether the next slot has a message: one load. Only the consumer.
 *
 * With atoms it looks at the first atom only: peal_mailbox_peek may still find
 * nothing. Wait-free, one lane.
 *
 * @param m the mailbox.
 * @return 1: yes. 0: no.
 */
static PEAL_DEV PEAL_INLINE int peal_mailbox_ready(struct peal_mailbox *m)
{
	uint32_t lap;
	const uint8_t *slot = peali_mailbox_next(m, &lap);

	return peal_slot_ready(peali_policy(m->policy), slot, lap);
}

/* Replaces a content that no producer writes by an empty message of
 * PEAL_KIND_EMPTY, for no actor. */
static PEAL_DEV PEAL_INLINE void peali_mailbox_slow(struct peal_slot_view *view)
{
	const struct peal_header no_actor = { ~0u, 0, 0 };

	peal_header_store(view->content, no_actor);
	view->kind = PEAL_KIND_EMPTY;
	view->length = sizeof(no_actor);
}

/**
 * Looks at the next message without taking it. Only the consumer.
 *
 * The length is always that of a header and at most message_bytes. A content
 * with another length becomes PEAL_KIND_EMPTY, for actor ~0, without a payload.
 * A slot given up by peal_mailbox_abandon has PEAL_KIND_DEAD. Wait-free, one
 * lane.
 *
 * @param m    the mailbox.
 * @param view receives kind, length in bytes, and content. The content begins
 *             with the header. It is valid until peal_mailbox_release.
 * @return 1: there is a message. 0: none.
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
 * Publishes the number of taken messages. Only the consumer.
 *
 * Producers may then write to the slots again. They also see the messages that
 * the consumer has put elsewhere before. peal_mailbox_release calls it every
 * capacity/4 messages. The consumer calls it before it is idle. Wait-free, one
 * lane.
 *
 * @param m the mailbox.
 */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peal_mailbox_flush(struct peal_mailbox *m)
{
	/* R3: pairs with A3 in peali_mailbox_grant: the content was read. */
	if (m->head != m->taken)
		peal_store_release_dev(&m->head, m->taken);
}

/* Takes the peeked message off. Returns 1 if a flush is due. */
static PEAL_DEV PEAL_INLINE int peali_mailbox_drop(struct peal_mailbox *m)
{
	uint64_t kept = ++m->taken - m->head;

	return PEAL_UNLIKELY(4 * kept >= 1ULL << m->capacity_log2) != 0;
}

/**
 * Takes the peeked message off. Only the consumer, after peal_mailbox_peek has
 * returned 1. Wait-free, one lane.
 *
 * @param m the mailbox.
 */
static PEAL_DEV PEAL_INLINE void peal_mailbox_release(struct peal_mailbox *m)
{
	if (peali_mailbox_drop(m))
		peal_mailbox_flush(m);
}

/* Publishes the slot of a dead producer's ticket, for no actor. */
static PEAL_DEV PEAL_UNUSED inline void
peali_mailbox_drop_dead(struct peal_mailbox *m, uint64_t number)
{
	const struct peal_header no_actor = { ~0u, 0, 0 };
	const uint32_t atom[3] = { ~0u, 0, 0 }; /* begins with that header */
	uint32_t policy = peali_policy(m->policy), length = sizeof(no_actor);
	uint8_t *slot = peali_mailbox_slot(m, number);
	uint32_t lap = peali_mailbox_lap(m, number);

	if (policy == PEAL_POLICY_SEQUENCE) {
		peal_header_store(slot + 8, no_actor);
		peal_slot_publish(slot, lap, PEAL_KIND_DEAD, length);
		return;
	}
	if (lap % PEAL_SLOT_REFRESH_LAPS == 0)
		peal_slot_refresh(policy, slot, m->slot_bytes, lap, length, 0,
				  1);
	peal_slot_pack(policy, slot, lap, PEAL_KIND_DEAD, (const uint8_t *)atom,
		       length, 0, 1);
}

/**
 * Gives up the next slot, if its ticket is below `until`. Only the consumer.
 *
 * The consumer then finds PEAL_KIND_DEAD there, for actor ~0. It can release
 * the slot and go on to later messages. Call it only if both are true:
 *
 * - Each producer is known to be dead, or to have published all its tickets
 *   below `until`.
 * - A peek after this was known has found nothing.
 *
 * Wait-free, one lane.
 *
 * @param m     the mailbox.
 * @param until a number that `ticket` has reached.
 * @return 1: peal_mailbox_peek finds the slot. 0: its ticket is not below
 *         `until`.
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
