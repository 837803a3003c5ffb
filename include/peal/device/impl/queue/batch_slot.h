/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_BATCH_SLOT_H
#define PEAL_DEVICE_BATCH_SLOT_H

#include <peal/device/link_consumer.h>
#include <peal/device/link_producer.h>
#include <peal/device/mailbox.h>

/*
 * How each lane of a worker reads and writes a slot of its own. The slots of a
 * link or mailbox follow each other, so neighbouring lanes use neighbouring
 * memory.
 */

/* Words of a content that a lane keeps in registers: three atoms of 16 bytes. */
#define PEALI_BATCH_WORDS 9

/** A message in a slot, as a lane has read it. */
struct peali_batch_slot {
	const uint8_t *data; /* its payload in one piece; 0: in the atoms */
	const uint8_t *slot; /* of the atoms */
	uint32_t policy;
	uint32_t length; /* of the payload */
	uint32_t word[PEALI_BATCH_WORDS]; /* of a content in atoms */
};

/* The place of a slot in its ring. */
struct peali_batch_place {
	uint8_t *slot;
	uint32_t lap;
};

/*
 * Returns the place of the slot that is `ahead` slots behind a slot with a number
 * and a place. The ring restarts at the number `wrap`. A ring with fewer slots
 * than `ahead` gives a wrong place: a caller excludes that.
 */
static PEAL_DEV PEAL_INLINE struct peali_batch_place
peali_batch_ahead(struct peali_batch_place place, uint64_t number,
		  uint64_t wrap, uint32_t ahead, uint32_t slot_bytes,
		  uint32_t capacity_log2)
{
	place.slot += (uint64_t)ahead * slot_bytes;
	if (PEAL_UNLIKELY(wrap - number <= ahead)) {
		place.slot -= (uint64_t)slot_bytes << capacity_log2;
		place.lap++;
	}
	return place;
}

/* Reads the atoms 1 to `last` of a slot. Keeps the words of the first ones.
 * Returns the tag of the last one; 0: an atom is missing. */
static PEAL_DEV PEAL_INLINE uint32_t
peali_batch_atoms(struct peali_batch_slot *b, uint32_t last, uint32_t tag)
{
	const uint32_t n = peali_atom_payload(peali_policy(b->policy)) / 4;
	uint32_t end = tag, odd = 0, spare[3], i;

	for (i = 1; i < PEALI_BATCH_WORDS / n; i++) {
		if (i > last)
			break;
		end = peali_atom_read(peali_policy(b->policy), b->slot, i,
				      b->word + i * n);
		odd |= end ^ tag;
	}
	PEAL_NO_UNROLL
	for (i = PEALI_BATCH_WORDS / n; i <= last; i++) {
		end = peali_atom_read(peali_policy(b->policy), b->slot, i,
				      spare);
		odd |= end ^ tag;
	}
	return odd >> 16 ? 0 : end;
}

/* Reads a slot of atoms. Returns the length of its content if it has a payload
 * of this lap, else 0. */
static PEAL_DEV PEAL_INLINE uint32_t peali_batch_read_atoms(
	struct peali_batch_slot *b, uint32_t lap, uint32_t atoms_max)
{
	const uint32_t each = peali_atom_payload(peali_policy(b->policy));
	uint32_t tag =
		peali_atom_read(peali_policy(b->policy), b->slot, 0, b->word);
	uint32_t low = tag & 0xff;

	if (tag >> 16 != (lap & 0xffff) ||
	    (tag >> 8 & 0xff & ~PEAL_TAG_MANY) != PEAL_KIND_DATA)
		return 0;
	if (!(tag & PEAL_TAG_MANY << 8))
		return low <= each ? low : 0;
	if (low >= atoms_max)
		return 0;
	tag = peali_batch_atoms(b, low, tag);
	return tag ? low * each + peali_min_u32(tag & 0xff, each) : 0;
}

/* Reads a slot in one piece. Returns as peali_batch_read_atoms. */
static PEAL_DEV PEAL_INLINE uint32_t
peali_batch_read_piece(struct peali_batch_slot *b, uint32_t lap)
{
	/* A1: pairs with R1 in peal_slot_publish. */
	uint64_t tag =
		peal_load_acquire_sys((const uint64_t *)(const void *)b->slot);

	if ((uint32_t)(tag >> 40) != peal_tag_high(lap, PEAL_KIND_DATA))
		return 0;
	__builtin_memcpy(b->word, b->slot + 8, sizeof(struct peal_header));
	b->data = b->slot + 8 + sizeof(struct peal_header);
	return (uint32_t)tag;
}

/* Reads the slot at a place. Its content has at most `most` bytes, in at most
 * `atoms_max` atoms. Returns 1 if it has a payload. */
static PEAL_DEV PEAL_INLINE int peali_batch_read(struct peali_batch_slot *b,
						 uint32_t policy,
						 struct peali_batch_place place,
						 uint32_t most,
						 uint32_t atoms_max)
{
	const uint32_t header = (uint32_t)sizeof(struct peal_header);
	uint32_t length;

	b->policy = policy;
	b->slot = place.slot;
	b->data = 0;
	if (peali_policy(b->policy) == PEAL_POLICY_SEQUENCE)
		length = peali_batch_read_piece(b, place.lap);
	else
		length = peali_batch_read_atoms(b, place.lap, atoms_max);
	b->length = length - header;
	return length >= header && length <= most;
}

/* Returns 1 if the header of a message that was read has flags. */
static PEAL_DEV PEAL_INLINE int
peali_batch_flags(const struct peali_batch_slot *b)
{
	return b->word[1] >> 16 != 0;
}

/*
 * Reads the slot that is `ahead` slots behind the head of a link. Returns 1 if it
 * has a payload, and no flag in the header. Else 0, also if the peer has written
 * invalid data: a peek reports that later. Wait-free.
 */
static PEAL_DEV PEAL_INLINE int
peali_batch_look(const struct peal_link_consumer *c, uint32_t ahead,
		 struct peali_batch_slot *b)
{
	struct peali_batch_place place = { c->slot, c->lap };

	if (PEAL_UNLIKELY(ahead >> c->capacity_log2))
		return 0;
	place = peali_batch_ahead(place, c->head, peali_consumer_wrap(c), ahead,
				  c->slot_bytes, c->capacity_log2);
	return peali_batch_read(b, c->policy, place, c->content_max,
				c->atoms_max) &&
	       !peali_batch_flags(b);
}

/* As peali_batch_look, for the next slots of a mailbox. */
static PEAL_DEV PEAL_INLINE int
peali_batch_look_mail(struct peal_mailbox *m, uint32_t ahead,
		      struct peali_batch_slot *b)
{
	struct peali_batch_place place;

	if (PEAL_UNLIKELY(ahead >> m->capacity_log2))
		return 0;
	place.slot = peali_mailbox_slot(m, m->taken + ahead);
	place.lap = peali_mailbox_lap(m, m->taken + ahead);
	return peali_batch_read(b, m->policy, place,
				m->message_bytes +
					(uint32_t)sizeof(struct peal_header),
				peali_slot_atoms(peali_policy(m->policy),
						 m->slot_bytes)) &&
	       !peali_batch_flags(b);
}

/* Copies the words of one atom to `to`, which begins with the payload. The
 * header has the first two words of the content. */
static PEAL_DEV PEAL_INLINE void
peali_batch_copy_atom(uint8_t *to, uint32_t bytes, uint32_t atom, uint32_t each,
		      const uint32_t *word)
{
	uint32_t k;

	for (k = 0; k < each / 4; k++) {
		uint32_t at = atom * each + 4 * k - 8;

		if (atom * each + 4 * k >= 8 && at < bytes)
			__builtin_memcpy(to + at, word + k,
					 bytes - at < 4 ? bytes - at : 4);
	}
}

/* Copies the first bytes of a payload. The payload has so many. */
static PEAL_DEV PEAL_INLINE void
peali_batch_copy(const struct peali_batch_slot *b, void *to, uint32_t bytes)
{
	const uint32_t each = peali_atom_payload(peali_policy(b->policy));
	uint32_t word[3], i;

	if (b->data) {
		__builtin_memcpy(to, b->data, bytes);
		return;
	}
	for (i = 0; i * each < 8 + bytes; i++) {
		if (i < PEALI_BATCH_WORDS / (each / 4)) {
			peali_batch_copy_atom((uint8_t *)to, bytes, i, each,
					      b->word + i * (each / 4));
			continue;
		}
		(void)peali_atom_read(peali_policy(b->policy), b->slot, i,
				      word);
		peali_batch_copy_atom((uint8_t *)to, bytes, i, each, word);
	}
}

/* Returns the 4 bytes at offset `at` of a content. Bytes behind it are 0. */
static PEAL_DEV PEAL_INLINE uint32_t peali_batch_word(uint64_t header,
						      const uint8_t *data,
						      uint32_t bytes,
						      uint32_t at)
{
	uint32_t word = 0;

	if (at < 8)
		return (uint32_t)(header >> 8 * at);
	at -= 8;
	if (at + 4 <= bytes)
		__builtin_memcpy(&word, data + at, 4);
	else if (at < bytes)
		__builtin_memcpy(&word, data + at, bytes - at);
	return word;
}

/* Writes a message into the atoms of a slot. For a constant length the words stay
 * in registers. */
static PEAL_DEV PEAL_INLINE void
peali_batch_write(uint32_t policy, struct peali_batch_place place,
		  struct peal_header header, const uint8_t *data,
		  uint32_t bytes)
{
	const uint32_t each = peali_atom_payload(policy);
	const uint32_t length = bytes + (uint32_t)sizeof(header);
	uint32_t word[3] = { 0, 0, 0 }, i, k;

	for (i = 0; i * each < length; i++) {
		for (k = 0; k < each / 4; k++)
			word[k] = peali_batch_word(peali_header_word(header),
						   data, bytes,
						   i * each + 4 * k);
		peali_atom_write(policy, place.slot, i,
				 peali_atom_tag(each, place.lap, PEAL_KIND_DATA,
						i, length),
				 (const uint8_t *)word, each);
	}
}

/* Writes a message to the slot at a place. The slot is free, and it takes so many
 * bytes. */
static PEAL_DEV PEAL_INLINE void
peali_batch_put_at(uint32_t policy, struct peali_batch_place place,
		   uint32_t slot_bytes, struct peal_header header,
		   const void *data, uint32_t bytes)
{
	if (policy == PEAL_POLICY_SEQUENCE) {
		peali_slot_put(policy, place.slot, slot_bytes, place.lap,
			       peali_content_of(header, data, bytes));
		return;
	}
	if (PEAL_UNLIKELY(place.lap % PEAL_SLOT_REFRESH_LAPS == 0))
		peal_slot_refresh(policy, place.slot, slot_bytes, place.lap,
				  bytes + (uint32_t)sizeof(header), 0, 1);
	peali_batch_write(policy, place, header, (const uint8_t *)data, bytes);
}

/* As peali_batch_put_at, for the slot that is `ahead` slots behind the tail of a
 * link. */
static PEAL_DEV PEAL_INLINE void
peali_batch_put(const struct peal_link_producer *p, uint32_t ahead,
		struct peal_header header, const void *data, uint32_t bytes)
{
	struct peali_batch_place place = { p->slot, p->lap };

	place = peali_batch_ahead(place, p->tail, p->wrap, ahead, p->slot_bytes,
				  p->capacity_log2);
	peali_batch_put_at(peali_policy(p->policy), place, p->slot_bytes,
			   header, data, bytes);
}

/* As peali_batch_put_at, for the slot of a mailbox with a number. */
static PEAL_DEV PEAL_INLINE void peali_batch_put_mail(struct peal_mailbox *m,
						      uint64_t number,
						      struct peal_header header,
						      const void *data,
						      uint32_t bytes)
{
	struct peali_batch_place place = { peali_mailbox_slot(m, number),
					   peali_mailbox_lap(m, number) };

	peali_batch_put_at(peali_policy(m->policy), place, m->slot_bytes,
			   header, data, bytes);
}

/* Advances the sending end by k slots. For one lane. */
static PEAL_DEV PEAL_INLINE void
peali_batch_advance(struct peal_link_producer *p, uint32_t k)
{
	p->tail += k;
	p->slot += (uint64_t)k * p->slot_bytes;
	if (PEAL_UNLIKELY((int64_t)(p->tail - p->wrap) >= 0))
		peali_producer_place(p);
#if PEAL_ON_HOST
	peal_bell_ring(p->bell);
#endif
}

#endif
