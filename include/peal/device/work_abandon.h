/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_WORK_ABANDON_H
#define PEAL_DEVICE_WORK_ABANDON_H

#include <peal/device/work.h>

/*
 * Producers of a work queue that end between ticket and tag: how to see it, and
 * how to put an end to it, so that the queue does not stand a lap later.
 */

/**
 * Looks for a ticket that was taken and not put. A producer that is in the
 * middle of it has one too, so who looks for those that will never be put asks
 * again later, or once it knows that a producer is gone.
 *
 * @param q          the queue
 * @param from       look from this ticket on; 0 at first
 * @param number_out the first that is open
 * @return 1 there is one; 0 there is none. Looks at one lap at most. Any lane.
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
 * Puts nothing for a ticket whose producer is gone: whoever has claimed it
 * skips and counts it. What the producer had leased is given back by
 * peal_work_lease_release on its place.
 *
 * @param q      the queue
 * @param number from peal_work_open_ticket; its producer must be known never
 *               to write again, and nobody else puts for it at the same time
 * @return 0; PEAL_EINVAL that ticket is not open. Any lane.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_work_abandon_ticket(struct peal_work *q, uint64_t number)
{
	const uint8_t none[4] = { 0, 0, 0, 0 };
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
	/* before a consumer can take it off, after which the slot is another's;
	 * with the lap before, as atoms of this one could complete a message */
	if (lap % PEAL_SLOT_REFRESH_LAPS == 0)
		peal_slot_refresh(policy, slot, q->slot_bytes, lap - 1,
				  sizeof(none), 0, 1);
	/* one atom, with one store, whatever the producer had written */
	peal_slot_pack(policy, slot, lap, PEAL_KIND_DEAD, none, sizeof(none), 0,
		       1);
	return 0;
}

#endif
