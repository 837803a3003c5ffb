/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_SLOT_WRITE_DIRECT_H
#define PEAL_DEVICE_SLOT_WRITE_DIRECT_H

#include <peal/device/impl/queue/slot.h>

/*
 * Writes a message directly into a slot's atoms, without a stage. Mailboxes,
 * work queues and topics use it to put messages. For one lane.
 */

/* Returns the atoms of a slot. A content has no more, for any first atom. */
static PEAL_DEV PEAL_INLINE uint32_t peali_slot_atoms(uint32_t policy,
						      uint32_t slot_bytes)
{
	return slot_bytes / (policy == PEAL_POLICY_ATOM8 ? 8 : 16);
}

/* Returns the 4 bytes at offset `at` of a content. The content is a header and
 * the `bytes` bytes at data, then zeros. */
static PEAL_DEV PEAL_INLINE uint32_t peali_slot_direct_word(uint64_t header,
							    const uint8_t *data,
							    uint32_t bytes,
							    uint32_t at)
{
	uint32_t word = 0, i;

	if (at < sizeof(header))
		return (uint32_t)(header >> 8 * at);
	at -= (uint32_t)sizeof(header);
	if (at + 4 <= bytes && !((uintptr_t)data & 3))
		return *(const uint32_t *)(const void *)(data + at);
	for (i = 0; i < 4; i++)
		if (at + i < bytes)
			word |= (uint32_t)data[at + i] << 8 * i;
	return word;
}

/* Packs a message into its slot's atoms. The policy is an atom policy. */
static PEAL_DEV PEAL_UNUSED PEAL_HOST_NOINLINE void
peali_slot_write_direct(uint32_t policy, uint8_t *slot, uint32_t slot_bytes,
			uint32_t lap, uint64_t header, const uint8_t *data,
			uint32_t bytes)
{
	uint32_t each = peali_atom_payload(policy);
	uint32_t length = bytes + (uint32_t)sizeof(header);
	uint32_t atoms = (length + each - 1) / each, i, k;

	if (PEAL_UNLIKELY(lap % PEAL_SLOT_REFRESH_LAPS == 0))
		peal_slot_refresh(policy, slot, slot_bytes, lap, length, 0, 1);
	for (i = 0; i < atoms; i++) {
		uint32_t word[3] = { 0, 0, 0 };

		for (k = 0; k < each / 4; k++)
			word[k] = peali_slot_direct_word(header, data, bytes,
							 i * each + 4 * k);
		peali_atom_write(policy, slot, i,
				 peali_atom_tag(each, lap, PEAL_KIND_DATA, i,
						length),
				 (const uint8_t *)word, each);
	}
}

/* Returns the lap in the tag of a slot. The policy is sequence. */
static PEAL_DEV PEAL_INLINE uint32_t peali_tag_lap(const uint8_t *slot)
{
	return (uint32_t)(peal_load_acquire_sys(
				  (const uint64_t *)(const void *)slot) >>
			  48);
}

/*
 * Returns 1 if the slot's content of this lap is not complete. All of it may be
 * missing, or only the atoms that a producer has not written yet. A damaged
 * count of atoms is complete, as for peal_slot_unpack.
 */
static PEAL_DEV PEAL_UNUSED inline int peali_slot_open(uint32_t policy,
						       const uint8_t *slot,
						       uint32_t slot_bytes,
						       uint32_t lap)
{
	uint32_t word[3], tag, last, i;

	if (policy == PEAL_POLICY_SEQUENCE)
		return (int16_t)(peali_tag_lap(slot) - lap) < 0;
	tag = peali_atom_read(policy, slot, 0, word);
	if ((int16_t)((tag >> 16) - lap) || !(tag >> 8 & PEAL_TAG_MANY))
		return (int16_t)((tag >> 16) - lap) < 0;
	last = tag & 0xff;
	if (last >= peali_slot_atoms(policy, slot_bytes))
		return 0;
	for (i = 1; i <= last; i++)
		if ((peali_atom_read(policy, slot, i, word) ^ tag) >> 16)
			return 1;
	return 0;
}

/* Writes a message to a slot and publishes it, as mailboxes and work queues do.
 * Also writes the word `first` before the payload. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_slot_put_word(uint32_t policy, uint8_t *slot, uint32_t slot_bytes,
		    uint32_t lap, struct peal_header header, uint64_t first,
		    const void *data, uint32_t bytes)
{
	const uint32_t before = sizeof(header) + sizeof(first);
	uint32_t each = peali_atom_payload(policy), length = before + bytes;
	uint32_t i, k;

	if (policy == PEAL_POLICY_SEQUENCE) {
		peal_header_store(slot + 8, header);
		peal_copy(slot + 16, &first, sizeof(first));
		peal_copy(slot + 24, data, bytes);
		peal_slot_publish(slot, lap, PEAL_KIND_DATA, length);
		return;
	}
	if (lap % PEAL_SLOT_REFRESH_LAPS == 0)
		peal_slot_refresh(policy, slot, slot_bytes, lap, length, 0, 1);
	for (i = 0; i * each < length; i++) {
		uint32_t word[3] = { 0, 0, 0 };

		for (k = 0; k < each / 4; k++) {
			uint32_t at = i * each + 4 * k;

			/* then `first` takes the header's place */
			word[k] =
				at < sizeof(header) ?
					peali_slot_direct_word(
						peali_header_word(header),
						(const uint8_t *)data, bytes,
						at) :
					peali_slot_direct_word(
						first, (const uint8_t *)data,
						bytes,
						at - (uint32_t)sizeof(header));
		}
		peali_atom_write(policy, slot, i,
				 peali_atom_tag(each, lap, PEAL_KIND_DATA, i,
						length),
				 (const uint8_t *)word, each);
	}
}

#endif
