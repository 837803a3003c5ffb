/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_SLOT_PREFETCH_H
#define PEAL_DEVICE_SLOT_PREFETCH_H

#include <peal/device/impl/queue/link.h>

/*
 * The mirror of a ring that lies in the host's memory. It is a copy of the next
 * slots of the ring in the memory of the receiving device. A load from the host
 * takes a microsecond. Many loads at a time take no longer. So a worker fetches
 * many slots in one trip, then takes the messages from the mirror.
 *
 *	head slot not in the mirror	the leader reads it from the ring, and
 *					sets `more` if the next message has
 *					arrived
 *	and `more` is set		all lanes fetch as many slots as they
 *					can in one trip
 *
 * So a single message costs one trip, as without a mirror. No lane fetches a
 * slot without a sign that it is filled. A worker has no mirror if its lanes
 * cannot fetch two slots in one trip. It has none either if the host's memory
 * is its own.
 *
 * Only rings of atoms have mirrors. The tag of an atom says whether the atom
 * has arrived, also in a copy. An atom that was copied too early is copied
 * again. The mirror has as many slots as the ring, because a tag identifies a
 * lap and not a slot. With the first atom of a slot, all atoms of its message
 * are copied. So no copied atom is older than the ring's. The sender gets a
 * slot back as without a mirror, when its message is released.
 *
 * A receiving end with a mirror belongs to a worker's loop, which fetches.
 */

static PEAL_DEV PEAL_INLINE uint32_t
peali_mirror_atoms(const struct peal_link_consumer *c)
{
	return peali_policy(c->policy) == PEAL_POLICY_ATOM16 ?
		       c->slot_bytes / 16 :
		       c->slot_bytes / 8;
}

/* Returns the ring's slot for the message with that number. */
static PEAL_DEV PEAL_INLINE const uint8_t *
peali_mirror_source(const struct peal_link_consumer *c, uint64_t number)
{
	uint64_t index = number & ((1ULL << c->capacity_log2) - 1);

	return c->source + index * c->slot_bytes;
}

/* Returns 1 if `slot` has the first atom of the message with that number. */
static PEAL_DEV PEAL_INLINE int
peali_mirror_has(const struct peal_link_consumer *c, const uint8_t *slot,
		 uint64_t number)
{
	return peal_slot_ready(peali_policy(c->policy), slot,
			       (uint32_t)(number >> c->capacity_log2) + 1);
}

/* Stores an atom as it was read, in 4 words. An atom of 8 bytes has words 0 and
 * 3. */
static PEAL_DEV PEAL_INLINE void peali_atom_put(uint32_t policy, uint8_t *slot,
						uint32_t index,
						const uint32_t *word)
{
	if (policy == PEAL_POLICY_ATOM8) {
		peal_atom8_store((uint64_t *)(void *)slot + index,
				 (uint64_t)word[3] << 32 | word[0]);
	} else {
#if PEAL_HAVE_ATOM16
		struct peal_atom16 atom = { { word[0], word[1], word[2],
					      word[3] } };

		peal_atom16_store((struct peal_atom16 *)(void *)slot + index,
				  atom);
#endif
	}
}

/*
 * Copies atoms first, first + step, ... below `end`, at most PEAL_MIRROR_FLIGHT
 * of them. All loads come before all stores.
 */
static PEAL_DEV PEAL_INLINE void peali_mirror_copy(uint32_t policy, uint8_t *to,
						   const uint8_t *from,
						   uint32_t first,
						   uint32_t step, uint32_t end)
{
	uint32_t word[PEAL_MIRROR_FLIGHT][4] = { { 0 } }, k;

	if (first >= end)
		return;
	for (k = 0; k < PEAL_MIRROR_FLIGHT; k++)
		word[k][3] = peali_atom_read(
			policy, from,
			first + k * step < end ? first + k * step : first,
			word[k]);
	for (k = 0; k < PEAL_MIRROR_FLIGHT; k++)
		if (first + k * step < end)
			peali_atom_put(policy, to, first + k * step, word[k]);
}

/*
 * Copies the head slot to the mirror. Returns 1 if its message has arrived, and
 * then sets `more` to 1 if the next message has arrived, too. For the leader.
 * A slot of up to PEAL_MIRROR_FLIGHT atoms takes one trip. In a larger slot,
 * each PEAL_MIRROR_FLIGHT atoms of the message take one trip.
 */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE int
peali_mirror_read(struct peal_link_consumer *c)
{
	const uint8_t *from = peali_mirror_source(c, c->head);
	const uint8_t *next = peali_mirror_source(c, c->head + 1);
	uint32_t policy = peali_policy(c->policy);
	uint32_t atoms = peali_mirror_atoms(c), word[3], low, i;
	int more = peali_mirror_has(c, next, c->head + 1);

	peali_mirror_copy(policy, c->slot, from, 0, 1, atoms);
	low = peali_atom_read(policy, c->slot, 0, word);
	if (low >> 16 != (c->lap & 0xffff))
		return 0;
	low = low >> 8 & PEAL_TAG_MANY ? low & 0xff : 0;
	atoms = peali_min_u32(atoms, low + 1);
	for (i = PEAL_MIRROR_FLIGHT; i < atoms; i += PEAL_MIRROR_FLIGHT)
		peali_mirror_copy(policy, c->slot, from, i, 1, atoms);
	c->more = (uint16_t)more;
	return 1;
}

/*
 * Fetches slots from the head on, and returns their number. It is the number
 * that the lanes can fetch in one trip, at least 1. The fetch stops at the end
 * of the ring. Every lane calls it between the same two syncs, while the
 * receiving end does not change.
 */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE uint32_t peali_mirror_fetch(
	const struct peal_link_consumer *c, uint32_t lane, uint32_t lanes)
{
	const uint8_t *from = peali_mirror_source(c, c->head);
	uint32_t atoms = peali_mirror_atoms(c), slots, i;

	slots = lanes * PEAL_MIRROR_FLIGHT / atoms;
	slots = peali_min_u32(slots ? slots : 1,
			      (uint32_t)(peali_consumer_wrap(c) - c->head));
	for (i = lane; i < slots * atoms; i += lanes * PEAL_MIRROR_FLIGHT)
		peali_mirror_copy(peali_policy(c->policy), c->slot, from, i,
				  lanes, slots * atoms);
	return slots;
}

/*
 * Sets `more` after a fetch of `slots` slots. It is 1 if the last of them has
 * arrived: another fetch pays when they are used up. It is 0 after a fetch of
 * one slot, because the leader alone can read as many. For the leader.
 */
static PEAL_DEV PEAL_UNUSED inline void
peali_mirror_fetched(struct peal_link_consumer *c, uint32_t slots)
{
	const uint8_t *last = c->slot + (slots - 1) * c->slot_bytes;

	c->more = slots > 1 && peali_mirror_has(c, last, c->head + slots - 1);
}

#endif
