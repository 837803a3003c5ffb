/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_SLOT_PREFETCH_H
#define PEAL_DEVICE_SLOT_PREFETCH_H

#include <peal/device/impl/queue/link.h>

/*
 * The mirror of a ring that lies in the host's memory: a copy of its next slots
 * in the memory of the device that receives from it. A load from the host takes
 * a microsecond, whether it is one or many at a time, so a worker fetches many
 * slots in one such trip and then takes its messages from the mirror.
 *
 *	head slot not in the mirror	the leader reads it from the ring, and
 *					whether the next one is there: `more`
 *	and `more`			all lanes fetch as many slots as they
 *					can in one trip
 *
 * A worker whose lanes cannot have two slots on their way has no mirror, nor
 * has one for which the host's memory is its own. So a single message costs one
 * trip, as without a mirror, and nobody fetches slots of which nothing is
 * known. Only atoms are mirrored: each says by its tag whether it is there,
 * wherever it is copied to, and an atom that was copied too early is copied
 * again. The mirror has a slot for each of the ring, since a tag tells laps
 * apart, not slots; and whenever the first atom of a slot is copied all atoms
 * of its message are, so that none is older than the ring's. A slot is given
 * back to the sender as without a mirror, when its message is released.
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

/* Where the ring has the slot of that number. */
static PEAL_DEV PEAL_INLINE const uint8_t *
peali_mirror_source(const struct peal_link_consumer *c, uint64_t number)
{
	uint64_t index = number & ((1ULL << c->capacity_log2) - 1);

	return c->source + index * c->slot_bytes;
}

/* Whether the ring has a message of that number, by its first atom. */
static PEAL_DEV PEAL_INLINE int
peali_mirror_has(const struct peal_link_consumer *c, const uint8_t *slot,
		 uint64_t number)
{
	return peal_slot_ready(peali_policy(c->policy), slot,
			       (uint32_t)(number >> c->capacity_log2) + 1);
}

/* Stores an atom as it was read: 4 words, of which atom8 has words 0 and 3. */
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
 * Copies atoms first, first + step, ... below `end`, up to PEAL_MIRROR_FLIGHT
 * of them: first all loads, then all stores.
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
 * Reads the head slot into the mirror; 1 if its message is there, and then
 * whether the next one is as well. For the leader. One trip for a slot of up to
 * PEAL_MIRROR_FLIGHT atoms, else one for each so many that the message has.
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
	c->more = (uint32_t)more;
	return 1;
}

/*
 * Fetches the slots from the head on: as many as the lanes have on their way at
 * a time, at least one, to the end of the ring. Every lane calls it with the
 * end as it is between two syncs. Returns how many.
 */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE uint32_t peali_mirror_fetch(
	const struct peal_link_consumer *c, uint32_t lane, uint32_t lanes)
{
	const uint8_t *from = peali_mirror_source(c, c->head);
	uint32_t atoms = peali_mirror_atoms(c), slots, i;

	slots = lanes * PEAL_MIRROR_FLIGHT / atoms;
	slots = peali_min_u32(slots ? slots : 1, (uint32_t)(c->wrap - c->head));
	for (i = lane; i < slots * atoms; i += lanes * PEAL_MIRROR_FLIGHT)
		peali_mirror_copy(peali_policy(c->policy), c->slot, from, i,
				  lanes, slots * atoms);
	return slots;
}

/*
 * After a fetch of so many slots: whether the last of them is there, in which
 * case it is worth fetching again when they are used up; not if the leader can
 * read as many. For the leader.
 */
static PEAL_DEV PEAL_UNUSED inline void
peali_mirror_fetched(struct peal_link_consumer *c, uint32_t slots)
{
	const uint8_t *last = c->slot + (slots - 1) * c->slot_bytes;

	c->more = slots > 1 && peali_mirror_has(c, last, c->head + slots - 1);
}

#endif
