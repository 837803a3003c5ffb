/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_SLOT_WRITE_DIRECT_H
#define PEAL_DEVICE_SLOT_WRITE_DIRECT_H

#include <peal/device/impl/queue/slot.h>

/*
 * Writes a message directly into a slot's atoms, without a stage. The policy is
 * an atom policy.
 */

/** A content as its writer has it: a head of one or two words, and data. */
struct peali_content {
	uint64_t header;
	uint64_t first; /* the second word of a head of 16 bytes */
	const uint8_t *data;
	uint32_t head; /* bytes of the head: 8 or 16, a constant */
	uint64_t bytes; /* of the data */
};

/* Returns the atoms of a slot. A content has no more, for any first atom. */
static PEAL_DEV PEAL_INLINE uint32_t peali_slot_atoms(uint32_t policy,
						      uint32_t slot_bytes)
{
	return slot_bytes / (policy == PEAL_POLICY_ATOM8 ? 8 : 16);
}

/* Returns a content of a header and data. */
static PEAL_DEV PEAL_INLINE struct peali_content
peali_content_of(struct peal_header header, const void *data, uint64_t bytes)
{
	struct peali_content c;

	c.header = peali_header_word(header);
	c.first = 0;
	c.data = (const uint8_t *)data;
	c.head = (uint32_t)sizeof(c.header);
	c.bytes = bytes;
	return c;
}

/* Returns a content with a word before the data. */
static PEAL_DEV PEAL_INLINE struct peali_content
peali_content_word(struct peal_header header, uint64_t first, const void *data,
		   uint64_t bytes)
{
	struct peali_content c = peali_content_of(header, data, bytes);

	c.first = first;
	c.head += (uint32_t)sizeof(first);
	return c;
}

/* Returns whether the data has whole words only, at their alignment. */
static PEAL_DEV PEAL_INLINE int peali_content_is_words(struct peali_content c)
{
	return !(((uintptr_t)c.data | c.bytes) & 3);
}

/* Returns a word of the data, at the offset `at`. */
static PEAL_DEV PEAL_INLINE uint32_t peali_content_word_at(const uint8_t *at)
{
	uint32_t word;

	__builtin_memcpy(&word, __builtin_assume_aligned(at, 4), 4);
	return word;
}

/* Returns 4 bytes at the data's offset `at`; `words`: they are one word. Bytes
 * behind the data are 0. */
static PEAL_DEV PEAL_INLINE uint32_t peali_content_data(struct peali_content c,
							uint32_t at, int words)
{
	uint32_t bytes = (uint32_t)c.bytes, word = 0, i;

	if (words)
		return at < bytes ? peali_content_word_at(c.data + at) : 0;
	for (i = 0; i < 4; i++)
		if (at + i < bytes)
			word |= (uint32_t)c.data[at + i] << 8 * i;
	return word;
}

/* Returns the 4 bytes at offset `at` of a content. */
static PEAL_DEV PEAL_INLINE uint32_t peali_content_at(struct peali_content c,
						      uint32_t at, int words)
{
	if (at < 8)
		return (uint32_t)(c.header >> 8 * at);
	if (at < c.head)
		return (uint32_t)(c.first >> 8 * (at - 8));
	return peali_content_data(c, at - c.head, words);
}

/* Writes an atom of the head of a content; `low`: of its tag. */
static PEAL_DEV PEAL_INLINE void
peali_content_head(uint32_t policy, uint8_t *slot, uint32_t lap, uint32_t kind,
		   uint32_t i, uint32_t low, struct peali_content c, int words)
{
	uint32_t each = peali_atom_payload(policy), k;
	uint32_t word[3] = { 0, 0, 0 };

	for (k = 0; k < each / 4; k++)
		word[k] = peali_content_at(c, i * each + 4 * k, words);
	peali_atom_write(policy, slot, i, peali_tag32(lap, kind, low),
			 (const uint8_t *)word, each);
}

/* Writes the atom i of a content, behind the head. */
static PEAL_DEV PEAL_INLINE void
peali_content_rest(uint32_t policy, uint8_t *slot, uint32_t lap, uint32_t kind,
		   uint32_t i, struct peali_content c, int words)
{
	uint32_t each = peali_atom_payload(policy), at = i * each - c.head, k;
	uint32_t left = (uint32_t)c.bytes - at;
	uint32_t word[3] = { 0, 0, 0 };

	if (words && PEAL_LIKELY(left >= each)) {
		for (k = 0; k < each / 4; k++)
			word[k] = peali_content_word_at(c.data + at + 4 * k);
		left = each;
	} else {
		for (k = 0; k < each / 4; k++)
			word[k] = peali_content_data(c, at + 4 * k, words);
	}
	peali_atom_write(policy, slot, i,
			 peali_tag32(lap, kind, peali_min_u32(left, each)),
			 (const uint8_t *)word, each);
}

/*
 * Writes a lane's share of the atoms. The first lane writes the atoms of the
 * head. A lane writes the atoms behind them in strides; the first lane is the
 * last one there.
 */
static PEAL_DEV PEAL_INLINE void
peali_content_atoms(uint32_t policy, uint8_t *slot, uint32_t lap, uint32_t kind,
		    struct peali_content c, uint32_t lane, uint32_t lanes,
		    int words)
{
	uint32_t each = peali_atom_payload(policy);
	uint32_t length = c.head + (uint32_t)c.bytes;
	uint32_t n_head = (c.head + each - 1) / each, i;

	if (lane == 0 && length <= each) {
		peali_content_head(policy, slot, lap, kind, 0, length, c,
				   words);
		return;
	}
	kind |= PEAL_TAG_MANY;
	for (i = 0; lane == 0 && i < n_head; i++)
		peali_content_head(policy, slot, lap, kind, i,
				   i ? peali_min_u32(each, length - i * each) :
				       (length - 1) / each,
				   c, words);
	for (i = n_head + (lane ? lane : lanes) - 1; i * each < length;
	     i += lanes)
		peali_content_rest(policy, slot, lap, kind, i, c, words);
}

/* peali_content_atoms for data that is not in words. */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peali_content_bytes(uint8_t *slot, uint32_t policy, uint32_t lap, uint32_t kind,
		    uint64_t header, uint64_t first, const uint8_t *data,
		    uint32_t head, uint32_t bytes, uint32_t lane,
		    uint32_t lanes)
{
	struct peali_content c;

	c.header = header;
	c.first = first;
	c.data = data;
	c.head = head;
	c.bytes = bytes;
	peali_content_atoms(policy, slot, lap, kind, c, lane, lanes, 0);
}

/*
 * Writes a message into its slot's atoms. Every lane of the worker calls it with
 * its lane. The atoms may become visible in any order, because the reader waits
 * for all of them. No fence.
 */
static PEAL_DEV PEAL_UNUSED PEAL_HOST_NOINLINE void
peali_slot_write_direct(uint32_t policy, uint8_t *slot, uint32_t slot_bytes,
			uint32_t lap, uint32_t kind, struct peali_content c,
			uint32_t lane, uint32_t lanes)
{
	if (PEAL_UNLIKELY(lap % PEAL_SLOT_REFRESH_LAPS == 0))
		peal_slot_refresh(policy, slot, slot_bytes, lap,
				  c.head + (uint32_t)c.bytes, lane, lanes);
	if (PEAL_LIKELY(peali_content_is_words(c)))
		peali_content_atoms(policy, slot, lap, kind, c, lane, lanes, 1);
	else
		peali_content_bytes(slot, policy, lap, kind, c.header, c.first,
				    c.data, c.head, (uint32_t)c.bytes, lane,
				    lanes);
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
 * For one lane. */
static PEAL_DEV PEAL_INLINE void peali_slot_put(uint32_t policy, uint8_t *slot,
						uint32_t slot_bytes,
						uint32_t lap,
						struct peali_content c)
{
	if (policy != PEAL_POLICY_SEQUENCE) {
		peali_slot_write_direct(policy, slot, slot_bytes, lap,
					PEAL_KIND_DATA, c, 0, 1);
		return;
	}
	peal_copy(slot + 8, &c.header, c.head);
	peal_copy(slot + 8 + c.head, c.data, c.bytes);
	peal_slot_publish(slot, lap, PEAL_KIND_DATA,
			  c.head + (uint32_t)c.bytes);
}

#endif
