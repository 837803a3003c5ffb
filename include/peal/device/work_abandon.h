/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_WORK_ABANDON_H
#define PEAL_DEVICE_WORK_ABANDON_H

#include <peal/device/work.h>

/*
 * Recovery of a work queue from producers that end between ticket and tag. The
 * slot of such a ticket hides all later messages.
 *
 * First make sure that the producer has ended. Then call peal_work_open_ticket
 * and peal_work_abandon_ticket until no open ticket is left. The next call
 * starts behind the number found before. At last call peal_work_lease_release
 * with the state of the ended producer.
 */

/**
 * Finds an open ticket: a producer has taken it, but its message is incomplete.
 *
 * A producer within a put also has an open ticket. So an open ticket is lost
 * only if its producer is known to have ended. Otherwise look again later.
 *
 * Wait-free: looks at one lap at most. Any lane.
 *
 * @param q          the queue.
 * @param from       first ticket to look at; 0 at first. At most the number of
 *                   tickets taken so far.
 * @param number_out receives the first open ticket from `from` on.
 * @return 1: an open ticket was found. 0: none; *number_out is unchanged.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_work_open_ticket(struct peal_work *q, uint64_t from, uint64_t *number_out)
{
	uint64_t end = peal_load_acquire_dev(&q->ticket);
	uint64_t n = end - from, number;

	if (n > peal_work_capacity(q))
		n = peal_work_capacity(q); /* older ones were put */
	for (number = end - n; number != end; number++)
		if (peali_slot_open(peali_policy(q->policy),
				    peali_work_slot(q, number), q->slot_bytes,
				    peali_work_lap(q, number))) {
			*number_out = number;
			return 1;
		}
	return 0;
}

/**
 * Publishes the slot of an open ticket as dead.
 *
 * The consumer that claims the slot skips it and counts it in `dead` of its
 * struct peal_work_consumer. Leased slots of the producer stay leased. Return
 * them by peal_work_lease_release with the producer's state. Wait-free, any
 * lane, but only one thread for each ticket.
 *
 * @param q      the queue.
 * @param number a number from peal_work_open_ticket. Its producer must be known
 *               never to write again.
 * @return 0, or a negative error code:
 * @retval PEAL_EINVAL the ticket is not open.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_work_abandon_ticket(struct peal_work *q, uint64_t number)
{
	const uint32_t none[3] = { 0, 0, 0 };
	const uint32_t length = sizeof(none[0]);
	uint32_t policy = peali_policy(q->policy);
	uint8_t *slot = peali_work_slot(q, number);
	uint32_t lap = peali_work_lap(q, number);
	uint64_t back = peal_load_acquire_dev(&q->ticket) - number;

	if (!back || back > peal_work_capacity(q) ||
	    !peali_slot_open(policy, slot, q->slot_bytes, lap))
		return PEAL_EINVAL;
	if (policy == PEAL_POLICY_SEQUENCE) {
		peal_slot_publish(slot, lap, PEAL_KIND_DEAD, 0);
		return 0;
	}
	/* Refresh before a consumer can take the slot off: afterwards the slot
	 * may belong to another producer. Tag with the lap before: atoms with
	 * this lap could complete a message. */
	if (lap % PEAL_SLOT_REFRESH_LAPS == 0)
		peal_slot_refresh(policy, slot, q->slot_bytes, lap - 1, length,
				  0, 1);
	/* one atom by one store: the producer's writes do not matter */
	peal_slot_pack(policy, slot, lap, PEAL_KIND_DEAD, (const uint8_t *)none,
		       length, 0, 1);
	return 0;
}

#endif
