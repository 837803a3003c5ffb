/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAL_DEVICE_SLOT_H
#define PEAL_DEVICE_SLOT_H

#include <peal/abi/message.h>
#include <peal/device/atomic.h>
#include <peal/device/impl/queue/copy_bytes.h>

/*
 * One slot, three ways to publish it. A slot holds a content: the header, and a
 * payload or a slab descriptor. A reader that sees the tag of the expected lap
 * has the content. Slots are never cleared. Zeroed memory is "lap 0: empty".
 *
 *	sequence  [tag 8][content]	content, then a release store of the tag
 *	atom16    {12 content, tag 4}*	one 16-byte store per atom
 *	atom8     {4 content, tag 4}*	one 8-byte store per atom
 *
 *	tag of 64 bits	lap 16 | kind 8 | 0 | length 32	(length of the content)
 *	tag of 32 bits	lap 16 | kind 8 | low 8
 *	one atom	low = content bytes in it
 *	several		kind has PEAL_TAG_MANY; low = atoms - 1 in the first,
 *			content bytes in the others (the first is full)
 *
 * A short message leaves the atoms behind it unchanged. The lap has 16 bits and
 * must not wrap around to their old tags. Therefore the producer writes all
 * atoms of the slot every PEAL_SLOT_REFRESH_LAPS laps.
 */

#define PEAL_TAG_MANY 0x80u
#define PEAL_SLOT_ATOMS_MAX 256
#define PEAL_SLOT_REFRESH_LAPS 0x4000u

/** A slot as read. The first bytes of the content are the header. */
struct peal_slot_view {
	uint32_t kind; /* enum peal_kind */
	uint32_t length; /* content bytes, header included */
	uint8_t *content; /* in the slot, or in the stage for atom policies */
};

/*
 * The publication policy of a queue. A GPU knows only one, and its compiler
 * drops the code of the others. A queue gets a policy that both ends know.
 */
static PEAL_DEV PEAL_INLINE uint32_t peali_policy(uint32_t policy)
{
#if PEAL_ON_CUDA
	(void)policy;
	return PEAL_POLICY_ATOM16;
#elif PEAL_ON_HIP
	(void)policy;
	return PEAL_POLICY_ATOM8;
#else
	return policy;
#endif
}

/** Returns the content bytes that fit into a slot. Wait-free. */
static PEAL_HD PEAL_INLINE uint32_t peal_slot_content_max(uint32_t policy,
							  uint32_t slot_bytes)
{
	if (policy == PEAL_POLICY_ATOM16)
		return slot_bytes / 16 * 12;
	if (policy == PEAL_POLICY_ATOM8)
		return slot_bytes / 8 * 4;
	return slot_bytes - 8;
}

static PEAL_DEV PEAL_INLINE uint32_t peali_tag32(uint32_t lap, uint32_t kind,
						 uint32_t low)
{
	return (lap & 0xffff) << 16 | (kind & 0xff) << 8 | (low & 0xff);
}

static PEAL_DEV PEAL_INLINE uint32_t peali_min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* ---- sequence ------------------------------------------------------------ */

/** The high 24 bits of a tag of 64 bits. */
static PEAL_HD PEAL_INLINE uint32_t peal_tag_high(uint32_t lap, uint32_t kind)
{
	return (lap & 0xffff) << 8 | (kind & 0xff);
}

/**
 * Publishes a slot. The content is already in place behind the tag.
 *
 * Call by one lane, after a barrier with the lanes that wrote the content.
 * Everything that the caller wrote before is visible to the reader.
 */
static PEAL_DEV PEAL_INLINE void
peal_slot_publish(uint8_t *slot, uint32_t lap, uint32_t kind, uint32_t length)
{
	uint64_t tag = (uint64_t)peal_tag_high(lap, kind) << 40 | length;

	/* R1: pairs with A1 in peal_slot_peek: the content is written. */
	peal_store_release_sys((uint64_t *)(void *)slot, tag);
}

/** Reads a slot. Returns 1 and *view if it holds the lap, else 0. Wait-free. */
static PEAL_DEV PEAL_INLINE int peal_slot_peek(uint8_t *slot, uint32_t lap,
					       struct peal_slot_view *view)
{
	/* A1: pairs with R1 in peal_slot_publish. */
	uint64_t tag = peal_load_acquire_sys((uint64_t *)(void *)slot);

	if ((uint32_t)(tag >> 48) != (lap & 0xffff))
		return 0;
	view->kind = (uint32_t)(tag >> 40) & 0xff;
	view->length = (uint32_t)tag;
	view->content = slot + 8;
	return 1;
}

/* ---- atom16, atom8 ------------------------------------------------------- */

static PEAL_DEV PEAL_INLINE uint32_t peali_atom_payload(uint32_t policy)
{
	return policy == PEAL_POLICY_ATOM16 ? 12 : 4;
}

/* Returns the atoms of a content of `length` bytes. */
static PEAL_DEV PEAL_INLINE uint32_t peali_atoms_of(uint32_t policy,
						    uint32_t length)
{
	uint32_t each = peali_atom_payload(policy);

	return length ? (length + each - 1) / each : 1;
}

/* Returns the tag of atom i. An atom has `each` of the `length` bytes. */
static PEAL_DEV PEAL_INLINE uint32_t peali_atom_tag(uint32_t each, uint32_t lap,
						    uint32_t kind, uint32_t i,
						    uint32_t length)
{
	if (length <= each)
		return peali_tag32(lap, kind, length);
	return peali_tag32(lap, kind | PEAL_TAG_MANY,
			   i ? peali_min_u32(each, length - i * each) :
			       (length + each - 1) / each - 1);
}

static PEAL_DEV PEAL_INLINE void
peali_atom_write(uint32_t policy, uint8_t *slot, uint32_t index, uint32_t tag,
		 const uint8_t *from, uint32_t n)
{
	if (policy == PEAL_POLICY_ATOM8) {
		uint32_t word = 0;

		peali_copy_bytes(&word, from, peali_min_u32(n, 4));
		peal_atom8_store((uint64_t *)(void *)slot + index,
				 (uint64_t)tag << 32 | word);
	} else {
#if PEAL_HAVE_ATOM16
		struct peal_atom16 atom;

		peali_copy_padded(atom.word, from, n);
		atom.word[3] = tag;
		peal_atom16_store((struct peal_atom16 *)(void *)slot + index,
				  atom);
#endif
	}
}

/* Reads an atom's content into `to` (12 or 4 bytes). Returns its tag. */
static PEAL_DEV PEAL_INLINE uint32_t peali_atom_read(uint32_t policy,
						     const uint8_t *slot,
						     uint32_t index,
						     uint32_t *to)
{
	if (policy == PEAL_POLICY_ATOM8) {
		uint64_t v = peal_atom8_load(
			(const uint64_t *)(const void *)slot + index);

		to[0] = (uint32_t)v;
		return (uint32_t)(v >> 32);
	}
#if PEAL_HAVE_ATOM16
	{
		struct peal_atom16 atom = peal_atom16_load(
			(const struct peal_atom16 *)(const void *)slot + index);

		to[0] = atom.word[0];
		to[1] = atom.word[1];
		to[2] = atom.word[2];
		return atom.word[3];
	}
#else
	return 0;
#endif
}

/**
 * Packs this lane's share of a staged content into the slot's atoms.
 *
 * A GPU reads `content` up to the end of its last atom, which has 12 bytes.
 * Every lane of the worker calls it with its lane. The atoms may become visible
 * in any order, because the reader waits for all of them. No fence.
 */
static PEAL_DEV PEAL_UNUSED inline void
peal_slot_pack(uint32_t policy, uint8_t *slot, uint32_t lap, uint32_t kind,
	       const uint8_t *content, uint32_t length, uint32_t lane,
	       uint32_t lanes)
{
	uint32_t each = peali_atom_payload(policy);
	uint32_t atoms = peali_atoms_of(policy, length);
	uint32_t i;

	for (i = lane; i < atoms; i += lanes) {
		uint32_t n = peali_min_u32(each, length - i * each);

		peali_atom_write(policy, slot, i,
				 peali_atom_tag(each, lap, kind, i, length),
				 content + i * each, n);
	}
}

/**
 * Tags this lane's share of the atoms behind a content of `length` bytes as
 * empty on this lap. Call it on every lap that is a multiple of
 * PEAL_SLOT_REFRESH_LAPS, before peal_slot_pack, with the same lanes.
 */
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE void
peal_slot_refresh(uint32_t policy, uint8_t *slot, uint32_t slot_bytes,
		  uint32_t lap, uint32_t length, uint32_t lane, uint32_t lanes)
{
	uint32_t each = peali_atom_payload(policy);
	uint32_t used = peali_atoms_of(policy, length);
	uint32_t atoms = peal_slot_content_max(policy, slot_bytes) / each;
	uint32_t i;

	for (i = lane; i < atoms; i += lanes)
		if (i >= used)
			peali_atom_write(policy, slot, i,
					 peali_tag32(lap, PEAL_KIND_EMPTY, 0),
					 slot, 0);
}

/*
 * Unpacks n atoms, from `index` to at most `last`; n is a constant. Returns the
 * tag of the highest one, or 0 if an atom has another lap than `tag`. All loads
 * come first, because a GPU waits for a load at the first use of its result.
 */
static PEAL_DEV PEAL_INLINE uint32_t
peali_atoms_unpack(uint32_t policy, const uint8_t *slot, uint32_t index,
		   uint32_t n, uint32_t last, uint32_t tag, uint8_t *stage)
{
	uint32_t each = peali_atom_payload(policy);
	uint32_t at[4], word[4][3], end = 0, odd = 0, k;

	for (k = 0; k < n; k++) {
		at[k] = peali_min_u32(index + k, last);
		end = peali_atom_read(policy, slot, at[k], word[k]);
		odd |= end ^ tag;
	}
	if (odd >> 16)
		return 0;
	for (k = 0; k < n; k++)
		peali_copy_bytes(stage + at[k] * each, word[k], each);
	return end;
}

/* Unpacks the atoms 1 to `last` of a slot, as peali_atoms_unpack does. */
static PEAL_DEV PEAL_INLINE uint32_t
peali_atoms_unpack_rest(uint32_t policy, const uint8_t *slot, uint32_t last,
			uint32_t tag, uint8_t *stage)
{
	uint32_t end = 1, i;

	if (PEAL_LIKELY(last == 1))
		return peali_atoms_unpack(policy, slot, 1, 1, 1, tag, stage);
	for (i = 1; i < last; i += 4) {
		end = peali_atoms_unpack(policy, slot, i, 4, last, tag, stage);
		if (!end)
			return 0;
	}
	return i == last ?
		       peali_atoms_unpack(policy, slot, i, 1, i, tag, stage) :
		       end;
}

/*
 * As peal_slot_unpack, for the expected upper half of the tag. It also returns
 * the words of the first atom.
 */
static PEAL_DEV PEAL_INLINE int
peali_slot_unpack(uint32_t policy, const uint8_t *slot, uint32_t expect,
		  uint8_t *stage, uint32_t atoms_max,
		  struct peal_slot_view *view, uint32_t word_out[3])
{
	uint32_t each = peali_atom_payload(policy);
	uint32_t tag = peali_atom_read(policy, slot, 0, word_out);
	uint32_t low = tag & 0xff;

	if (tag >> 16 != expect)
		return 0;
	peali_copy_bytes(stage, word_out, each);
	view->kind = tag >> 8 & 0xff & ~PEAL_TAG_MANY;
	view->content = stage;
	view->length = low;
	if (!(tag & PEAL_TAG_MANY << 8)) {
		if (low > each)
			view->length = ~0u; /* hostile: the caller checks it */
		return 1;
	}
	if (low >= atoms_max) {
		view->length = ~0u; /* hostile, too */
		return 1;
	}
	tag = peali_atoms_unpack_rest(policy, slot, low, tag, stage);
	view->length = low * each + peali_min_u32(tag & 0xff, each);
	return tag != 0;
}

/**
 * Unpacks the slot's atoms into the stage, if all atoms of the lap are there.
 *
 * For one lane. `stage` holds peal_slot_content_max bytes. The peer writes the
 * atom count, so it is checked against atoms_max. Returns 1 and *view, or 0.
 * Wait-free.
 */
static PEAL_DEV PEAL_UNUSED inline int
peal_slot_unpack(uint32_t policy, const uint8_t *slot, uint32_t lap,
		 uint8_t *stage, uint32_t atoms_max,
		 struct peal_slot_view *view)
{
	uint32_t word[3] = { 0, 0, 0 };

	return peali_slot_unpack(policy, slot, lap & 0xffff, stage, atoms_max,
				 view, word);
}

/* peal_slot_unpack, out of line. Returns 0, or PEALI_UNPACKED with the kind in bits
 * 32 to 39 and the length in bits 0 to 31. */
#define PEALI_UNPACKED (1ULL << 40)
static PEAL_DEV PEAL_UNUSED PEAL_NOINLINE uint64_t
peali_slot_unpacked(uint32_t policy, const uint8_t *slot, uint32_t lap,
		    uint8_t *stage, uint32_t atoms_max)
{
	struct peal_slot_view view = { 0, 0, 0 };

	if (!peal_slot_unpack(policy, slot, lap, stage, atoms_max, &view))
		return 0;
	return PEALI_UNPACKED | (uint64_t)view.kind << 32 | view.length;
}

/**
 * Tells with one load whether a slot holds the lap. The kind may be any, and
 * atoms of a longer message may still be missing. Wait-free.
 */
static PEAL_DEV PEAL_INLINE int
peal_slot_ready(uint32_t policy, const uint8_t *slot, uint32_t lap)
{
	uint32_t word[3];

	if (PEAL_UNLIKELY(policy != PEAL_POLICY_SEQUENCE))
		return peali_atom_read(policy, slot, 0, word) >> 16 ==
		       (lap & 0xffff);
	return (uint32_t)(peal_load_relaxed_sys(
				  (const uint64_t *)(const void *)slot) >>
			  48) == (lap & 0xffff);
}

#endif
